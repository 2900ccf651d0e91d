build-asan/ir/stack_src.o: src/ir/stack_src.c src/ir/stack_src.h \
 src/lang/point.h src/lang/ast.h src/base/base.h src/lang/type.h \
 src/bpfrt/abi.h src/bpfrt/stack.h
src/ir/stack_src.h:
src/lang/point.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
src/bpfrt/abi.h:
src/bpfrt/stack.h:
