build-asan/ir/lower_call.o: src/ir/lower_call.c src/base/base.h \
 src/bpfrt/abi.h src/ir/lower.h src/ir/program.h src/ir/ir.h \
 src/lang/point.h src/lang/ast.h src/lang/type.h src/lang/check.h \
 src/ctype/ctype.h src/lang/fmt.h src/lang/builtins.def \
 src/ir/stack_src.h src/lang/ptregs.h
src/base/base.h:
src/bpfrt/abi.h:
src/ir/lower.h:
src/ir/program.h:
src/ir/ir.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/lang/check.h:
src/ctype/ctype.h:
src/lang/fmt.h:
src/lang/builtins.def:
src/ir/stack_src.h:
src/lang/ptregs.h:
