build-asan/base/map.o: src/base/map.c src/base/base.h
src/base/base.h:
