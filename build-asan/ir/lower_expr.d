build-asan/ir/lower_expr.o: src/ir/lower_expr.c src/ir/lower.h \
 src/ir/program.h src/ir/ir.h src/base/base.h src/lang/point.h \
 src/lang/ast.h src/lang/type.h src/lang/check.h src/ctype/ctype.h \
 src/lang/fmt.h src/lang/builtins.def
src/ir/lower.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/lang/check.h:
src/ctype/ctype.h:
src/lang/fmt.h:
src/lang/builtins.def:
