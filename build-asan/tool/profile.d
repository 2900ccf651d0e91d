build-asan/tool/profile.o: src/tool/profile.c src/tool/internal.h \
 src/out/report.h src/base/base.h src/session.h src/ir/program.h \
 src/ir/ir.h src/lang/point.h src/lang/ast.h src/lang/type.h \
 src/lang/ast.h src/out/report.h src/run/run.h src/ir/program.h \
 src/lang/fmt.h src/sym/sym.h src/unwind/unwind.h src/ir/stack_src.h \
 src/tool/tool.h build-asan/gen/tool/profile.bt.inc
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
build-asan/gen/tool/profile.bt.inc:
