build-asan/out/folded.o: src/out/folded.c src/out/report.h \
 src/base/base.h
src/out/report.h:
src/base/base.h:
