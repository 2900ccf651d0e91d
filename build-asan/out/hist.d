build-asan/out/hist.o: src/out/hist.c src/out/report.h src/base/base.h
src/out/report.h:
src/base/base.h:
