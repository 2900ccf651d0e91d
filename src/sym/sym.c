// The public face of symbols: creation, objects by path and id, file offset -> name. See sym.h for the contract and internal.h for locking.
#include <errno.h>
#include <fcntl.h>
#include "sym/internal.h"

struct Syms *syms_create(const struct SymOpts *o)
{
	struct Syms *s = xcalloc(1, sizeof(*s));
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&s->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	if (o)
		s->opts = *o;
	s->debug_dir = xstrdup(s->opts.debug_dir ? s->opts.debug_dir : "/usr/lib/debug");
	s->opts.debug_dir = s->debug_dir;
	return s;
}

void syms_set_names(struct Syms *s, bool demangle, bool inlines, bool lines)
{
	syms_lock(s);
	s->opts.no_demangle = !demangle;
	s->opts.inlines = inlines;
	s->opts.lines = lines;
	syms_unlock(s);
}

void syms_destroy(struct Syms *s)
{
	if (!s)
		return;
	if (s->prefetching)
		pthread_join(s->prefetcher, NULL);
	procs_destroy(s);
	objects_destroy(s);
	kallsyms_destroy(s->kernel);
	debuginfod_destroy(s);
	map_deinit(&s->demangled);
	map_deinit(&s->ksyms);
	map_deinit(&s->places);
	arena_deinit(&s->arena);
	free(s->debug_dir);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void syms_lock(struct Syms *s)
{
	pthread_mutex_lock(&s->lock);
}

void syms_unlock(struct Syms *s)
{
	pthread_mutex_unlock(&s->lock);
}

// ---- objects
struct SymObject *sym_object(struct Syms *s, u32 id)
{
	syms_lock(s);
	struct SymObject *o = id && id <= s->objs.n ? s->objs.p[id - 1] : NULL;
	syms_unlock(s);
	return o;
}

u32 sym_object_count(struct Syms *s)
{
	syms_lock(s);
	u32 n = s->objs.n;
	syms_unlock(s);
	return n;
}

const struct SymFile *sym_file_path(struct Syms *s, const char *path)
{
	struct stat st;
	if (stat(path, &st) || !S_ISREG(st.st_mode)) // not even opened: a device or a FIFO
		return NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return NULL;
	}
	syms_lock(s);
	const struct SymFile *f = file_known(s, &st);
	if (f && f->fd >= 0) {
		close(fd);
	} else {
		object_of_fd(s, fd, &st, path, NULL);
		f = file_known(s, &st);
	}
	syms_unlock(s);
	return f;
}

struct SymObject *sym_object_path(struct Syms *s, const char *path)
{
	const struct SymFile *f = sym_file_path(s, path);
	return f ? f->obj : NULL;
}

struct SymObject *sym_object_vdso(struct Syms *s, u64 start)
{
	syms_lock(s);
	struct SymObject *o = object_vdso(s, 0, start, start);
	syms_unlock(s);
	return o;
}

// ---- names
static const char *demangled(struct Syms *s, const char *raw)
{
	if (raw[0] != '_')
		return raw;
	const char *known = map_get(&s->demangled, raw);
	if (known)
		return known;
	size_t n = strlen(raw);
	bool plt = n > 4 && !strcmp(raw + n - 4, "@plt");
	char *head = plt ? xasprintf("%.*s", (int)(n - 4), raw) : NULL;
	char *text = demangle(plt ? head : raw);
	const char *out = NULL;
	if (text) {
		out = plt ? arena_printf(&s->arena, "%s@plt", text) : arena_strdup(&s->arena, text);
		map_put(&s->demangled, raw, (void *)out);
	}
	free(head);
	free(text);
	return out ? out : raw;
}

const char *sym_demangle(struct Syms *s, const char *raw)
{
	syms_lock(s);
	const char *text = demangled(s, raw);
	syms_unlock(s);
	return text;
}

const char *syms_name(struct Syms *s, const char *raw)
{
	const char *text = s->opts.no_demangle ? raw : demangled(s, raw);
	return text == raw ? arena_strdup(&s->arena, raw) : text;
}

const char *syms_raw(struct Syms *s, const char *raw, const char *name)
{
	return strcmp(raw, name) ? arena_strdup(&s->arena, raw) : NULL;
}

// ---- file offset -> symbol
struct SymHit object_off(struct Syms *s, struct SymObject *o, u64 off)
{
	struct SymHit h = {.module = o->path, .module_off = off, .module_addr = off};
	struct ElfObj *e = elf_of(o);
	if (e && elffile_off_to_vaddr(&e->file, off, &h.module_addr) && !go_lookup(o, h.module_addr, &h))
		elf_lookup(s, o, h.module_addr, &h);
	return h;
}

// hits[0] has the name of the function at off. With what is inlined there, and places.
static u32 add_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max)
{
	u32 n = max > 1 || s->opts.lines ? go_inlined(s, o, hits[0].module_addr, hits, max) : 0;
	if (n)
		return n;
	return s->opts.inlines || s->opts.lines ? object_inlined(s, o, off, hits, max) : 1;
}

struct SymHit sym_object_off(struct Syms *s, struct SymObject *o, u64 off)
{
	syms_lock(s);
	struct SymHit h = object_off(s, o, off);
	add_inlined(s, o, off, &h, 1);
	syms_unlock(s);
	return h;
}

bool sym_object_signal_return(struct SymObject *o, u64 off)
{
	struct ElfObj *e = elf_of(o);
	return e && signal_code(&e->file, off);
}

u32 sym_object_off_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max)
{
	if (!max)
		return 0;
	syms_lock(s);
	hits[0] = object_off(s, o, off);
	u32 n = add_inlined(s, o, off, hits, max);
	syms_unlock(s);
	return n;
}
