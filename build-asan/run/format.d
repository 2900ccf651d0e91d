build-asan/run/format.o: src/run/format.c src/run/run.h src/ir/program.h \
 src/ir/ir.h src/base/base.h src/lang/point.h src/lang/ast.h \
 src/lang/type.h src/lang/fmt.h src/out/report.h src/sym/sym.h \
 src/unwind/unwind.h src/ir/stack_src.h src/bpfrt/abi.h
src/run/run.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/lang/fmt.h:
src/out/report.h:
src/sym/sym.h:
src/unwind/unwind.h:
src/ir/stack_src.h:
src/bpfrt/abi.h:
