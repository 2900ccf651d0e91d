build-asan/lang/point.o: src/lang/point.c src/lang/point.h src/lang/ast.h \
 src/base/base.h src/lang/type.h
src/lang/point.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
