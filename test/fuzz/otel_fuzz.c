// ELF files with any content: where their thread-local record of requests lies (runtime/otel.c), nothing outside the file is read.
#include "runtime/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ElfFile f;
	struct OtelSymbol y;
	struct err *e = elffile_open(&f, -1, data, size);
	if (!e) {
		if (runtime_otel(&f, &y) && y.how == OTEL_NOT)
			abort();
		elffile_close(&f);
	}
	err_free(e);
	return 0;
}
