// Ring buffer records with any content: dropped or handled, never read past their end.
#include "run_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void site(struct Fake *f, enum FmtKind kind, const char *fmt, const struct Type *t)
{
	struct FmtSite *s = arena_new(&f->arena, struct FmtSite);
	struct FmtArg *a = arena_new(&f->arena, struct FmtArg);
	a->type = t;
	*s = (struct FmtSite){.kind = kind, .fmt = fmt, .len = (u32)strlen(fmt), .args = a, .nargs = 1, .size = t->size};
	vec_push(&f->prog.fmts, s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Fake f;
	if (!size)
		return 0;
	fake_init(&f, data[0] & 1 ? &json_render_ops : &text_render_ops);
	f.render.escape = data[0] & 2;
	f.prog.config.unsafe = false;
	const struct Type *parts[] = {ty_int(&f.types, 4, true), ty_str(&f.types, 16), ty_simple(&f.types, TY_INET), ty_buf(&f.types, 8)};
	site(&f, FK_PRINTF, "%d\n", ty_int(&f.types, 8, false));
	site(&f, FK_PRINTF, "[%-5s]\n", ty_str(&f.types, 32));
	site(&f, FK_PRINT_VALUE, "", ty_tuple(&f.types, parts, NULL, 4));
	site(&f, FK_PRINT_VALUE, "", ty_hist(&f.types, 2));
	site(&f, FK_PRINT_VALUE, "", ty_lhist(&f.types, -5, 5, 1));
	site(&f, FK_PRINT_VALUE, "", ty_tseries(&f.types, 1000, 4, TS_AGG_AVG, true));
	site(&f, FK_PRINT_VALUE, "", ty_simple(&f.types, TY_STRFTIME));
	site(&f, FK_PRINT_VALUE, "", ty_aggr(&f.types, TY_STATS, true));
	site(&f, FK_JOIN, ",", ty_int(&f.types, 8, false));
	struct ErrSite es = {.what = "probe_read"};
	vec_push(&f.prog.errsites, &es);
	for (size_t at = 1; at < size;) { // length, record, length, record ...
		size_t n = MIN((size_t)data[at], size - at - 1);
		u8 *copy = malloc(n ? n : 1);
		memcpy(copy, data + at + 1, n);
		if (n >= 8)
			memset(copy + 1, 0, 3), memset(copy + 5, 0, 3); // kind and id near what exists
		event_handle(&f.rc, copy, n);
		free(copy);
		at += n + 1;
		f.rc.exiting = false;
	}
	vec_deinit(&f.prog.errsites);
	fake_deinit(&f);
	return 0;
}
