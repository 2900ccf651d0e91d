build-asan/lang/fmt.o: src/lang/fmt.c src/lang/fmt.h src/base/base.h
src/lang/fmt.h:
src/base/base.h:
