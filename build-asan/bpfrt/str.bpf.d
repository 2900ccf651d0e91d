build-asan/bpfrt/str.bpf.o: src/bpfrt/str.bpf.c src/bpfrt/rt.h \
  src/bpfrt/abi.h

src/bpfrt/rt.h:

src/bpfrt/abi.h:
