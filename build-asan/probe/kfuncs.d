build-asan/probe/kfuncs.o: src/probe/kfuncs.c src/probe/internal.h \
 src/lang/ptregs.h src/base/base.h src/probe/probe.h src/bpf/bpf.h \
 src/ir/program.h src/ir/ir.h src/lang/point.h src/lang/ast.h \
 src/lang/type.h src/ctype/ctype.h src/sym/sym.h
src/probe/internal.h:
src/lang/ptregs.h:
src/base/base.h:
src/probe/probe.h:
src/bpf/bpf.h:
src/ir/program.h:
src/ir/ir.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/ctype/ctype.h:
src/sym/sym.h:
