build-asan/ir/emit.o: src/ir/emit.c src/ir/pass.h src/ir/ir.h \
 src/base/base.h
src/ir/pass.h:
src/ir/ir.h:
src/base/base.h:
