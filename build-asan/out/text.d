build-asan/out/text.o: src/out/text.c src/out/report.h src/base/base.h
src/out/report.h:
src/base/base.h:
