build-asan/sym/dwarf.o: src/sym/dwarf.c src/sym/internal.h src/sym/sym.h \
 src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
