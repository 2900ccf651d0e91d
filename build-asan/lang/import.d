build-asan/lang/import.o: src/lang/import.c src/lang/ast.h \
 src/base/base.h src/lang/type.h
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
