build-asan/base/str.o: src/base/str.c src/base/base.h
src/base/base.h:
