// printf formats: parsing, and formatting an integer, a string and a buffer with whatever was accepted.
#include "run_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Fake f;
	struct FmtPiece *pieces;
	struct Str out = {0};
	u32 n = 0;
	if (size > 4096)
		return 0;
	fake_init(&f, &text_render_ops);
	char *fmt = arena_strndup(&f.arena, (const char *)data, size);
	if (!fmt_parse(&f.arena, fmt, (u32)size, &pieces, &n)) {
		const struct Type *t[3] = {ty_int(&f.types, 8, true), ty_str(&f.types, 8), ty_buf(&f.types, 8)};
		u8 payload[12] = {8, 0, 0, 0, 'a', 0xff, '\n', '~', 'x', 0, 0x80, '%'};
		for (u32 i = 0; i < 3; i++) {
			struct FmtArg args[4] = {{t[i], 0}, {t[i], 0}, {t[i], 0}, {t[i], 0}};
			struct FmtSite s = {.kind = FK_PRINTF, .fmt = fmt, .len = (u32)size, .args = args, .nargs = 4, .size = t[i]->size};
			bool fits = true; // the compiler checks conversions against types
			for (u32 k = 0; k < n; k++)
				fits &= strlen(pieces[k].spec) < 6; // and a width of a megabyte is only slow
			if (fits)
				format_site(&f.rc, &s, payload, t[i]->size, &out);
		}
	}
	str_deinit(&out);
	fake_deinit(&f);
	return 0;
}
