build-asan/ctype/macros.o: src/ctype/macros.c src/base/base.h \
 src/ctype/cpp.h src/ctype/priv.h src/ctype/ctype.h src/lang/ast.h \
 src/lang/type.h build-asan/gen/ctype_macros.inc
src/base/base.h:
src/ctype/cpp.h:
src/ctype/priv.h:
src/ctype/ctype.h:
src/lang/ast.h:
src/lang/type.h:
build-asan/gen/ctype_macros.inc:
