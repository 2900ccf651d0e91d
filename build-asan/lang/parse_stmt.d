build-asan/lang/parse_stmt.o: src/lang/parse_stmt.c src/lang/parse.h \
 src/lang/ast.h src/base/base.h src/lang/type.h src/lang/token.h
src/lang/parse.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
src/lang/token.h:
