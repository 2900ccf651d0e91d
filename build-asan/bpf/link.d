build-asan/bpf/link.o: src/bpf/link.c src/bpf/bpf.h src/ir/program.h \
 src/ir/ir.h src/base/base.h src/lang/point.h src/lang/ast.h \
 src/lang/type.h build-asan/gen/rt_tab.h
src/bpf/bpf.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
build-asan/gen/rt_tab.h:
