build-asan/ir/legal.o: src/ir/legal.c src/ir/pass.h src/ir/ir.h \
 src/base/base.h
src/ir/pass.h:
src/ir/ir.h:
src/base/base.h:
