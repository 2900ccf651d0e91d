build-asan/sym/demangle.o: src/sym/demangle.c src/sym/internal.h \
 src/sym/sym.h src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
