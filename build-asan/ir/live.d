build-asan/ir/live.o: src/ir/live.c src/ir/pass.h src/ir/ir.h \
 src/base/base.h
src/ir/pass.h:
src/ir/ir.h:
src/base/base.h:
