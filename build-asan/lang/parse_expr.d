build-asan/lang/parse_expr.o: src/lang/parse_expr.c src/lang/parse.h \
 src/lang/ast.h src/base/base.h src/lang/type.h src/lang/token.h \
 src/lang/check.h src/ctype/ctype.h src/ir/program.h src/ir/ir.h \
 src/lang/point.h src/lang/fmt.h src/lang/builtins.def
src/lang/parse.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
src/lang/token.h:
src/lang/check.h:
src/ctype/ctype.h:
src/ir/program.h:
src/ir/ir.h:
src/lang/point.h:
src/lang/fmt.h:
src/lang/builtins.def:
