build-asan/sym/ldcache.o: src/sym/ldcache.c src/sym/internal.h \
 src/sym/sym.h src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
