build-asan/sym/sym.o: src/sym/sym.c src/sym/internal.h src/sym/sym.h \
 src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
