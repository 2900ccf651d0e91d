build-asan/tool/report.o: src/tool/report.c src/bpf/bpf.h \
 src/ir/program.h src/ir/ir.h src/base/base.h src/lang/point.h \
 src/lang/ast.h src/lang/type.h src/tool/internal.h src/out/report.h \
 src/session.h src/ir/program.h src/lang/ast.h src/out/report.h \
 src/run/run.h src/lang/fmt.h src/sym/sym.h src/unwind/unwind.h \
 src/ir/stack_src.h src/tool/tool.h
src/bpf/bpf.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/tool/internal.h:
src/out/report.h:
src/session.h:
src/ir/program.h:
src/lang/ast.h:
src/out/report.h:
src/run/run.h:
src/lang/fmt.h:
src/sym/sym.h:
src/unwind/unwind.h:
src/ir/stack_src.h:
src/tool/tool.h:
