build-asan/sym/path.o: src/sym/path.c src/sym/internal.h src/sym/sym.h \
 src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
