build-asan/unwind/clear.o: src/unwind/clear.c src/unwind/internal.h \
 src/bpf/bpf.h src/ir/program.h src/ir/ir.h src/base/base.h \
 src/lang/point.h src/lang/ast.h src/lang/type.h src/bpfrt/abi.h \
 src/bpfrt/stack.h src/unwind/unwind.h src/ir/stack_src.h \
 src/out/report.h src/sym/sym.h
src/unwind/internal.h:
src/bpf/bpf.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/bpfrt/abi.h:
src/bpfrt/stack.h:
src/unwind/unwind.h:
src/ir/stack_src.h:
src/out/report.h:
src/sym/sym.h:
