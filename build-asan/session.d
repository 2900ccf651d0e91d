build-asan/session.o: src/session.c src/session.h src/ir/program.h \
 src/ir/ir.h src/base/base.h src/lang/point.h src/lang/ast.h \
 src/lang/type.h src/lang/ast.h src/out/report.h src/run/run.h \
 src/ir/program.h src/lang/fmt.h src/out/report.h src/sym/sym.h \
 src/unwind/unwind.h src/ir/stack_src.h src/base/base.h src/bpf/bpf.h \
 src/ctype/ctype.h src/ir/lower.h src/lang/check.h src/ctype/ctype.h \
 src/lang/builtins.def src/lang/check.h src/lang/ptregs.h \
 src/probe/probe.h src/bpf/bpf.h src/unwind/unwind.h
src/session.h:
src/ir/program.h:
src/ir/ir.h:
src/base/base.h:
src/lang/point.h:
src/lang/ast.h:
src/lang/type.h:
src/lang/ast.h:
src/out/report.h:
src/run/run.h:
src/ir/program.h:
src/lang/fmt.h:
src/out/report.h:
src/sym/sym.h:
src/unwind/unwind.h:
src/ir/stack_src.h:
src/base/base.h:
src/bpf/bpf.h:
src/ctype/ctype.h:
src/ir/lower.h:
src/lang/check.h:
src/ctype/ctype.h:
src/lang/builtins.def:
src/lang/check.h:
src/lang/ptregs.h:
src/probe/probe.h:
src/bpf/bpf.h:
src/unwind/unwind.h:
