build-asan/base/err.o: src/base/err.c src/base/base.h
src/base/base.h:
