// JSON of files that container runtimes leave: any bytes are values within them, or none.
#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS 1000
static void look(struct Json v, const char *begin, const char *end, u32 depth, u32 *steps)
{
	struct Str key = {0}, text = {0};
	struct Json next;
	assert(v.p >= begin && v.p <= v.end && v.end <= end);
	json_text(v, &text);
	assert(!memchr(str_text(&text), 0, text.n));
	while (depth && *steps && json_next(&v, &key, &next)) {
		--*steps;
		look(next, begin, end, depth - 1, steps);
	}
	str_deinit(&key);
	str_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u32 steps = STEPS;
	char *text = xmalloc(size + 1);
	memcpy(text, data, size);
	look(json_of(text, size), text, text + size, 8, &steps);
	json_member(json_of(text, size), "annotations");
	free(text);
	return 0;
}
