build-asan/ir/opt.o: src/ir/opt.c src/ir/pass.h src/ir/ir.h \
 src/base/base.h
src/ir/pass.h:
src/ir/ir.h:
src/base/base.h:
