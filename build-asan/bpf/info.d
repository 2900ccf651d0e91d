build-asan/bpf/info.o: src/bpf/info.c src/bpf/priv.h src/bpf/bpf.h \
 src/ir/program.h src/ir/ir.h src/base/base.h src/lang/point.h \
 src/lang/ast.h src/lang/type.h
src/bpf/priv.h:
src/bpf/bpf.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
