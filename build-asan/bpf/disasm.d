build-asan/bpf/disasm.o: src/bpf/disasm.c src/ir/ir.h src/base/base.h
src/ir/ir.h:
src/base/base.h:
