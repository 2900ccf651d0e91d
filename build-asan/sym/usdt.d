build-asan/sym/usdt.o: src/sym/usdt.c src/sym/internal.h src/sym/sym.h \
 src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
