build-asan/probe/provider.o: src/probe/provider.c src/lang/check.h \
 src/ctype/ctype.h src/lang/ast.h src/base/base.h src/lang/type.h \
 src/ir/program.h src/ir/ir.h src/lang/point.h src/lang/fmt.h \
 src/lang/builtins.def src/probe/internal.h src/lang/ptregs.h \
 src/probe/probe.h src/bpf/bpf.h src/sym/sym.h
src/lang/check.h:
src/ctype/ctype.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
src/ir/program.h:
src/ir/ir.h:
src/lang/point.h:
src/lang/fmt.h:
src/lang/builtins.def:
src/probe/internal.h:
src/lang/ptregs.h:
src/probe/probe.h:
src/bpf/bpf.h:
src/sym/sym.h:
