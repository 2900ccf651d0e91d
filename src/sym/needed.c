// The libraries a file names (DT_NEEDED): what a program that has just been started will map. Input: the file. Output: names as
// written; of a 32-bit file paths, since a name stands for the 64-bit library, and of one that names directories of its own where they hold it.
// Invariant: every name lies whole in the file's string table.
#include <unistd.h>
#include "sym/internal.h"

#define MAX_CACHE (64u << 20)

struct Find {
	const char *name;
	char *path;
};

static bool is_it(void *arg, const char *soname, const char *path)
{
	struct Find *f = arg;
	if (strcmp(f->name, soname))
		return true;
	f->path = xstrdup(path);
	return false;
}

// The library in one of the directories that the file names, malloced; NULL: in none. $ORIGIN is the file's own directory.
static char *in_runpath(const struct SymObject *o, const char *runpath, const char *name)
{
	struct Str s = {0};
	char *found = NULL;
	for (const char *p = runpath; p && *p; p = *p ? p + 1 : p) {
		size_t n = strcspn(p, ":"), var = !strncmp(p, "$ORIGIN", 7) ? 7 : !strncmp(p, "${ORIGIN}", 9) ? 9 : 0;
		const char *slash = strrchr(o->path, '/');
		str_reset(&s);
		if (var && slash)
			str_addn(&s, o->path, (size_t)(slash - o->path));
		str_addn(&s, p + var, n - MIN(var, n));
		str_addf(&s, "/%s", name);
		p += n;
		if (*str_text(&s) == '/' && !access(str_text(&s), R_OK)) {
			found = xstrdup(str_text(&s));
			break;
		}
	}
	str_deinit(&s);
	return found;
}

void sym_object_needed(struct Syms *s, struct SymObject *o, void (*fn)(void *, const char *name), void *arg)
{
	struct ElfNeeded d = {0};
	syms_lock(s);
	struct ElfObj *e = elf_of(o);
	bool bits32 = e && !e->file.is64;
	struct Str cache = {0};
	if (bits32)
		err_free(read_file("/etc/ld.so.cache", &cache, MAX_CACHE));
	if (e)
		elffile_needed(&e->file, &d);
	syms_unlock(s);
	for (u32 i = 0; i < d.n; i++) {
		struct Find f = {.name = d.names[i]};
		if (bits32 && cache.n)
			ldcache_each((const u8 *)cache.p, cache.n, true, is_it, &f);
		else if (!bits32)
			f.path = in_runpath(o, d.runpath, d.names[i]);
		if (!bits32 || f.path)
			fn(arg, f.path ? f.path : f.name);
		free(f.path);
	}
	str_deinit(&cache);
	free(d.text);
}
