build-asan/base/arena.o: src/base/arena.c src/base/base.h
src/base/base.h:
