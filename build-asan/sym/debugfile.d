build-asan/sym/debugfile.o: src/sym/debugfile.c src/sym/internal.h \
 src/sym/sym.h src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
