build-asan/lang/parse.o: src/lang/parse.c src/lang/parse.h src/lang/ast.h \
 src/base/base.h src/lang/type.h src/lang/token.h
src/lang/parse.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
src/lang/token.h:
