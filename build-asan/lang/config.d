build-asan/lang/config.o: src/lang/config.c src/lang/check.h \
 src/ctype/ctype.h src/lang/ast.h src/base/base.h src/lang/type.h \
 src/ir/program.h src/ir/ir.h src/lang/point.h src/lang/fmt.h \
 src/lang/builtins.def
src/lang/check.h:
src/ctype/ctype.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
src/ir/program.h:
src/ir/ir.h:
src/lang/point.h:
src/lang/fmt.h:
src/lang/builtins.def:
