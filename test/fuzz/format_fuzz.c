// Tracepoint format files with any content: a record whose fields can be printed, or a reason.
#include "ctype/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Arena a = {0};
	struct TypeTab tab;
	struct Diags d = {0};
	struct Str out = {0};
	const char *why = NULL;
	if (size > 1 << 16)
		return 0;
	typetab_init(&tab, &a);
	struct Ctypes *c = ctypes_create(&a, &tab, &d);
	char *text = arena_strndup(&a, (const char *)data, size);
	struct Record *r = tracefs_parse_format(c, size && data[0] & 1 ? "syscalls" : "x", "y", text, &why);
	assert(r || why);
	if (r)
		ctype_fields_text(c, r, &out);
	for (u32 i = 0; r && i < r->nfields; i++)
		ctype_decl_text(c, r->fields[i].type, r->fields[i].name, &out);
	str_deinit(&out);
	ctypes_destroy(c);
	typetab_deinit(&tab);
	diags_deinit(&d);
	arena_deinit(&a);
	return 0;
}
