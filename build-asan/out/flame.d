build-asan/out/flame.o: src/out/flame.c src/out/report.h src/base/base.h \
 build-asan/gen/out/flame.css.h build-asan/gen/out/flame.js.h
src/out/report.h:
src/base/base.h:
build-asan/gen/out/flame.css.h:
build-asan/gen/out/flame.js.h:
