build-asan/ir/verify.o: src/ir/verify.c src/ir/pass.h src/ir/ir.h \
 src/base/base.h
src/ir/pass.h:
src/ir/ir.h:
src/base/base.h:
