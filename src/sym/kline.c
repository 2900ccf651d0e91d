// Lines of the kernel and of its modules -> addresses in memory. In: debug information that was made with what is loaded: the build ids are the same. Out: the address that
// a kprobe takes. Invariant: of a file without the loaded module's build id, or of a section that is not there any more, there is no address.
#include <sys/utsname.h>
#include "sym/internal.h"

#define MAX_DEP (16u << 20)

struct Wanted {
	struct Syms *s;
	const char *module; // NULL: vmlinux
	u8 id[20];
	u32 id_len;
	bool other; // there was a file of that name with another build id
};

static struct SymObject *take(struct Wanted *w, char *path)
{
	struct SymObject *o = path ? sym_object_path(w->s, path) : NULL;
	free(path);
	if (!o || !elf_of(o))
		return NULL;
	if (o->build_id_len == w->id_len && !memcmp(o->build_id, w->id, w->id_len))
		return o;
	w->other = true;
	return NULL;
}

static char *by_id(const struct Wanted *w, const char *dir)
{
	struct Str p = {0};
	str_addf(&p, "%s/.build-id/%02x/", dir, w->id[0]);
	for (u32 i = 1; i < w->id_len; i++)
		str_addf(&p, "%02x", w->id[i]);
	str_add(&p, ".debug");
	return p.p;
}

// In a folder that the user has named.
static struct SymObject *in_folder(struct Wanted *w, const char *dir, const char *release)
{
	static const char *const ends[] = {".ko.debug", ".debug", ".ko"};
	struct SymObject *o = take(w, by_id(w, dir));
	for (u32 i = 0; i < ARRAY_LEN(ends) && !o && w->module; i++)
		o = take(w, xasprintf("%s/%s%s", dir, w->module, ends[i]));
	if (!o && !w->module)
		o = take(w, xasprintf("%s/vmlinux", dir));
	return o || w->module ? o : take(w, xasprintf("%s/vmlinux-%s", dir, release));
}

// Names of modules are the same with '-' and '_'.
static bool same_module(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i] && !((a[i] == '-' || a[i] == '_') && (b[i] == '-' || b[i] == '_')))
			return false;
	return !b[n];
}

// The module's path below /lib/modules/RELEASE, where depmod(8) has listed it (malloced). NULL: it has not.
static char *installed(const char *module, const char *release)
{
	char *path = xasprintf("/lib/modules/%s/modules.dep", release), *found = NULL;
	struct Str dep = {0};
	err_free(read_file(path, &dep, MAX_DEP));
	free(path);
	for (const char *at = dep.n ? dep.p : NULL, *end; at && !found; at = end ? end + 1 : NULL) {
		end = strchr(at, '\n');
		const char *colon = strchr(at, ':'), *base = colon;
		while (base && base > at && base[-1] != '/')
			base--;
		if (colon && (!end || colon < end) && colon - base > 3 && !strncmp(colon - 3, ".ko", 3) && same_module(base, module, (size_t)(colon - 3 - base)))
			found = xasprintf("/lib/modules/%s/%.*s", release, (int)(colon - at), at);
	}
	str_deinit(&dep);
	return found;
}

static struct SymObject *find_file(struct Wanted *w)
{
	struct utsname u;
	struct SymObject *o = NULL;
	if (uname(&u))
		return NULL;
	for (u32 i = 0; i < w->s->opts.ndebug_dirs && !o; i++)
		o = in_folder(w, w->s->opts.debug_dirs[i], u.release);
	if (!o)
		o = take(w, by_id(w, w->s->debug_dir));
	if (w->module)
		return o ? o : take(w, installed(w->module, u.release));
	if (!o)
		o = take(w, xasprintf("%s/boot/vmlinux-%s", w->s->debug_dir, u.release));
	if (!o)
		o = take(w, xasprintf("%s/lib/modules/%s/vmlinux", w->s->debug_dir, u.release));
	return o ? o : take(w, xasprintf("/lib/modules/%s/build/vmlinux", u.release));
}

// A module's section in memory.
static bool section_base(const char *module, const char *section, u64 *base)
{
	struct Str text = {0};
	char *path = xasprintf("/sys/module/%s/sections/%s", module, section);
	struct err *e = read_file(path, &text, 64);
	bool ok = !e;
	err_free(e);
	free(path);
	if (ok)
		*base = strtoull(text.p, NULL, 16);
	str_deinit(&text);
	return ok && *base;
}

static enum SymLine module_place(struct Syms *s, struct SymObject *o, const char *module, u64 *addr, struct Str *said)
{
	const char *section;
	u64 off, base;
	if (!sym_object_section(s, o, *addr, &section, &off))
		return SYM_LINE_NO_CODE;
	if (!strncmp(section, ".init", 5)) {
		str_addf(said, "it is in %s of %s, which the kernel gives back once the module has begun", section, module);
		return SYM_LINE_NO_PLACE;
	}
	if (!section_base(module, section, &base)) {
		str_addf(said, "/sys/module/%s/sections/%s does not tell where that section is (kernel.kptr_restrict? not root?)", module, section);
		return SYM_LINE_NO_PLACE;
	}
	*addr = base + off;
	return SYM_LINE_OK;
}

// The kernel lies elsewhere than its file says (KASLR): as far as its first symbol does.
static enum SymLine kernel_place(struct Syms *s, struct SymObject *o, u64 *addr, struct Str *said)
{
	struct SymDef def;
	u64 at;
	if (sym_object_find(s, o, "_stext", &def) && sym_kernel_addr(s, "_stext", NULL, &at)) {
		*addr += at - def.addr;
		return SYM_LINE_OK;
	}
	str_add(said, "the kernel does not tell where it lies (kernel.kptr_restrict? not root?)");
	return SYM_LINE_NO_PLACE;
}

enum SymLine sym_kernel_line(struct Syms *s, const char *module, const char *file, u32 line, u32 col, u64 *addr, struct Str *said)
{
	struct Wanted w = {.s = s, .module = module};
	w.id_len = sym_kernel_build_id(module, w.id);
	struct SymObject *o = w.id_len > 1 ? find_file(&w) : NULL;
	if (!o) {
		str_add(said, w.id_len <= 1 ? "what is loaded has no build id, so no file can be told to be its own"
			      : w.other	    ? "files of that name have another build id than what is loaded"
					    : "--debuginfo DIR names a folder where it is: NAME.ko, NAME.ko.debug, NAME.debug (vmlinux), or .build-id/xx/yyy.debug");
		return SYM_LINE_NO_DWARF;
	}
	enum SymLine r = sym_object_line(s, o, file, line, col, addr, said);
	if (r == SYM_LINE_NO_DWARF)
		str_addf(said, "%s has none, nor has a file of its build id", o->path);
	if (r != SYM_LINE_OK)
		return r;
	str_reset(said); // the unit
	return module ? module_place(s, o, module, addr, said) : kernel_place(s, o, addr, said);
}
