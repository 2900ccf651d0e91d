build-asan/ctype/btfset.o: src/ctype/btfset.c src/ctype/priv.h \
 src/ctype/ctype.h src/lang/ast.h src/base/base.h src/lang/type.h
src/ctype/priv.h:
src/ctype/ctype.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
