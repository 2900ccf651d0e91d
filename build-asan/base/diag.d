build-asan/base/diag.o: src/base/diag.c src/base/base.h
src/base/base.h:
