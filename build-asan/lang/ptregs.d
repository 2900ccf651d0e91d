build-asan/lang/ptregs.o: src/lang/ptregs.c src/lang/ptregs.h \
 src/base/base.h
src/lang/ptregs.h:
src/base/base.h:
