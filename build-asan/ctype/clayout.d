build-asan/ctype/clayout.o: src/ctype/clayout.c src/ctype/cpp.h \
 src/ctype/priv.h src/ctype/ctype.h src/lang/ast.h src/base/base.h \
 src/lang/type.h
src/ctype/cpp.h:
src/ctype/priv.h:
src/ctype/ctype.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
