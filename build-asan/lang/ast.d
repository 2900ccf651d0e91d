build-asan/lang/ast.o: src/lang/ast.c src/lang/ast.h src/base/base.h \
 src/lang/type.h
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
