// What a pattern of stackcount that names nothing may have meant: an event of tracefs, a function of the C library. In: the name. Out: HINT lines.
#include "ctype/ctype.h"
#include "sym/sym.h"
#include "tool/internal.h"

static void propose_events(const char *name)
{
	const char *root;
	struct Str text = {0};
	struct err *e = tracefs_path(&root);
	char *path = e ? NULL : xasprintf("%s/available_events", root);
	if (path)
		e = read_file(path, &text, 64 << 20);
	for (const char *line = str_text(&text), *next; *line; line = next) {
		size_t n = strcspn(line, "\n"), cat = strcspn(line, ":\n");
		next = line + n + (line[n] == '\n');
		if (cat < n && n - cat - 1 == strlen(name) && !memcmp(line + cat + 1, name, n - cat - 1))
			fprintf(stderr, "HINT: did you mean 't:%.*s', the tracepoint?\n", (int)n, line);
	}
	err_free(e); // nothing to propose is no error
	str_deinit(&text);
	free(path);
}

static void propose_libc(struct Syms *syms, const char *name)
{
	char *path = NULL;
	struct SymDef def;
	struct err *e = sym_resolve_path("libc", 0, &path);
	struct SymObject *o = e ? NULL : sym_object_path(syms, path);
	if (o && sym_object_find(syms, o, name, &def) && def.is_func)
		fprintf(stderr, "HINT: did you mean 'c:%s', the C library's function?\n", name);
	err_free(e);
	free(path);
}

void propose_pattern(struct Syms *syms, const char *name, bool kernel)
{
	propose_events(name);
	if (kernel)
		propose_libc(syms, name);
}

// Asked for only where the kernel shows its addresses: else it may be there.
bool kernel_lacks(struct Syms *syms, const char *name)
{
	u64 addr;
	return !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] && !sym_kernel_addr(syms, name, NULL, &addr) &&
	       !sym_kernel_why(syms);
}
