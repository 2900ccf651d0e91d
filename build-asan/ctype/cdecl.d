build-asan/ctype/cdecl.o: src/ctype/cdecl.c src/ctype/cparse.h \
 src/ctype/cpp.h src/ctype/priv.h src/ctype/ctype.h src/lang/ast.h \
 src/base/base.h src/lang/type.h
src/ctype/cparse.h:
src/ctype/cpp.h:
src/ctype/priv.h:
src/ctype/ctype.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
