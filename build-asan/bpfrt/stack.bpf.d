build-asan/bpfrt/stack.bpf.o: src/bpfrt/stack.bpf.c src/bpfrt/rt.h \
  src/bpfrt/abi.h src/bpfrt/stack.h src/bpfrt/stack_rt.h

src/bpfrt/rt.h:

src/bpfrt/abi.h:

src/bpfrt/stack.h:

src/bpfrt/stack_rt.h:
