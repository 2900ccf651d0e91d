build-asan/sym/kallsyms.o: src/sym/kallsyms.c src/sym/internal.h \
 src/sym/sym.h src/base/base.h
src/sym/internal.h:
src/sym/sym.h:
src/base/base.h:
