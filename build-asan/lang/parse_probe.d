build-asan/lang/parse_probe.o: src/lang/parse_probe.c src/lang/parse.h \
 src/lang/ast.h src/base/base.h src/lang/type.h src/lang/token.h
src/lang/parse.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
src/lang/token.h:
