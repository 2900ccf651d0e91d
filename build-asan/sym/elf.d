build-asan/sym/elf.o: src/sym/elf.c src/sym/internal.h src/sym/sym.h \
 src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
