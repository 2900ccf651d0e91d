build-asan/bpfrt/unwind.bpf.o: src/bpfrt/unwind.bpf.c src/bpfrt/rt.h \
  src/bpfrt/abi.h src/bpfrt/stack.h src/bpfrt/stack_rt.h

src/bpfrt/rt.h:

src/bpfrt/abi.h:

src/bpfrt/stack.h:

src/bpfrt/stack_rt.h:
