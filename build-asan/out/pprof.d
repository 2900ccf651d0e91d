build-asan/out/pprof.o: src/out/pprof.c src/out/report.h src/base/base.h
src/out/report.h:
src/base/base.h:
