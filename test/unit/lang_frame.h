// A frame of an interpreted program: what its code object, as it was sent, is called. For tests of runtimes over made-up memory.
#ifndef SONDE_LANG_FRAME_H
#define SONDE_LANG_FRAME_H
#include "runtime/runtime.h"
#include "t.h"

// Checks name and file of the i-th frame; its code object is left in *c.
static inline void check_frame_names(struct Codes *codes, const struct RtStack *st, u32 i, const char *name, const char *file, struct RtCode *c)
{
	struct Str s = {0};
	*c = (struct RtCode){0};
	CHECK(i < st->n && RT_FRAME_IS_LANG(st->frames[i]));
	CHECK(codes_get(codes, RT_FRAME_CODE(st->frames[i]), c));
	runtime_code_name(c, &s);
	CHECK_STR(str_text(&s), name);
	str_reset(&s);
	runtime_code_file(c, &s);
	CHECK_STR(str_text(&s), file);
	str_deinit(&s);
}
#endif
