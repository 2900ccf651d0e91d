build-asan/out/value.o: src/out/value.c src/out/report.h src/base/base.h
src/out/report.h:
src/base/base.h:
