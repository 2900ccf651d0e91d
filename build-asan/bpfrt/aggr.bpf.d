build-asan/bpfrt/aggr.bpf.o: src/bpfrt/aggr.bpf.c src/bpfrt/rt.h \
  src/bpfrt/abi.h

src/bpfrt/rt.h:

src/bpfrt/abi.h:
