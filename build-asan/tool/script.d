build-asan/tool/script.o: src/tool/script.c src/tool/internal.h \
 src/out/report.h src/base/base.h src/session.h src/ir/program.h \
 src/ir/ir.h src/lang/point.h src/lang/ast.h src/lang/type.h \
 src/lang/ast.h src/out/report.h src/run/run.h src/ir/program.h \
 src/lang/fmt.h src/sym/sym.h src/unwind/unwind.h src/ir/stack_src.h \
 src/tool/tool.h
src/tool/internal.h:
src/out/report.h:
src/base/base.h:
src/session.h:
src/ir/program.h:
src/ir/ir.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/lang/ast.h:
src/out/report.h:
src/run/run.h:
src/ir/program.h:
src/lang/fmt.h:
src/sym/sym.h:
src/unwind/unwind.h:
src/ir/stack_src.h:
src/tool/tool.h:
