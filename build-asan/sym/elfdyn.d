build-asan/sym/elfdyn.o: src/sym/elfdyn.c src/sym/internal.h \
 src/sym/sym.h src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
