build-asan/bpf/feature.o: src/bpf/feature.c src/bpf/priv.h src/bpf/bpf.h \
 src/ir/program.h src/ir/ir.h src/base/base.h src/lang/point.h \
 src/lang/ast.h src/lang/type.h src/ctype/ctype.h
src/bpf/priv.h:
src/bpf/bpf.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/ctype/ctype.h:
