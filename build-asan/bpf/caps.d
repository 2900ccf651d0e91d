build-asan/bpf/caps.o: src/bpf/caps.c src/bpf/bpf.h src/ir/program.h \
 src/ir/ir.h src/base/base.h src/lang/point.h src/lang/ast.h \
 src/lang/type.h
src/bpf/bpf.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
