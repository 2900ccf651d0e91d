build-asan/ctype/dwarf.o: src/ctype/dwarf.c src/ctype/dwarf.h \
 src/ctype/priv.h src/ctype/ctype.h src/lang/ast.h src/base/base.h \
 src/lang/type.h
src/ctype/dwarf.h:
src/ctype/priv.h:
src/ctype/ctype.h:
src/lang/ast.h:
src/base/base.h:
src/lang/type.h:
