build-asan/ir/ops.o: src/ir/ops.c src/ir/pass.h src/ir/ir.h \
 src/base/base.h src/ir/ops.def
src/ir/pass.h:
src/ir/ir.h:
src/base/base.h:
src/ir/ops.def:
