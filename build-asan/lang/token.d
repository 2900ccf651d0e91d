build-asan/lang/token.o: src/lang/token.c src/lang/token.h \
 src/base/base.h
src/lang/token.h:
src/base/base.h:
