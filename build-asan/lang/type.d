build-asan/lang/type.o: src/lang/type.c src/lang/type.h src/base/base.h
src/lang/type.h:
src/base/base.h:
