build-asan/probe/special.o: src/probe/special.c src/bpf/bpf.h \
 src/ir/program.h src/ir/ir.h src/base/base.h src/lang/point.h \
 src/lang/ast.h src/lang/type.h src/probe/internal.h src/lang/ptregs.h \
 src/probe/probe.h src/ctype/ctype.h src/sym/sym.h
src/bpf/bpf.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/probe/internal.h:
src/lang/ptregs.h:
src/probe/probe.h:
src/ctype/ctype.h:
src/sym/sym.h:
