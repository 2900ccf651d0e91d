build-asan/out/json.o: src/out/json.c src/out/report.h src/base/base.h
src/out/report.h:
src/base/base.h:
