// A script's preamble with any content: declarations or diagnostics, always in bounded time.
#include "ctype/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Arena a = {0};
	struct TypeTab tab;
	struct Diags d = {0};
	struct Str out = {0};
	if (size > 1 << 14)
		return 0;
	setenv("BPFTRACE_BTF", "/dev/null", 1); // the declarations are the subject, and the input decides alone
	typetab_init(&tab, &a);
	struct Ctypes *c = ctypes_create(&a, &tab, &d);
	char *text = arena_strndup(&a, (const char *)data, size);
	u16 src = diags_add_source(&d, "fuzz", text, size);
	struct CText second = {.span = {(u32)(size / 2), (u32)(size - size / 2), src}}, first = {.span = {0, (u32)(size / 2), src}, .next = &second};
	ctypes_add_preamble(c, &first, NULL, 0, NULL, 0);
	diags_render(&d, true, &out);
	for (u32 i = 0; c->cpp && i < c->cpp->macros.n; i++)
		ctype_macro(c, c->cpp->macros.slots[i].key);
	u32 names = c->names.n;
	for (u32 i = 0; i < names; i++)
		ctype_struct_text(c, c->names.slots[i].key, &out);
	str_deinit(&out);
	ctypes_destroy(c);
	typetab_deinit(&tab);
	diags_deinit(&d);
	arena_deinit(&a);
	return 0;
}
