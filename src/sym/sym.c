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

struct SymObject *sym_object_path(struct Syms *s, const char *path)
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
	struct SymObject *o = object_known(s, &st);
	if (o && o->fd >= 0)
		close(fd);
	else
		o = object_of_fd(s, fd, &st, path, NULL);
	syms_unlock(s);
	return o;
}

struct SymObject *sym_object_vdso(struct Syms *s)
{
	syms_lock(s);
	struct SymObject *o = object_vdso(s, 0, 0, 0);
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

// ---- file offset -> symbol
struct SymHit object_off(struct Syms *s, struct SymObject *o, u64 off)
{
	struct SymHit h = {.module = o->path, .module_off = off};
	struct ElfObj *e = elf_of(o);
	u64 vaddr;
	if (e && elffile_off_to_vaddr(&e->file, off, &vaddr))
		elf_lookup(s, o, vaddr, &h);
	return h;
}

struct SymHit sym_object_off(struct Syms *s, struct SymObject *o, u64 off)
{
	syms_lock(s);
	struct SymHit h = object_off(s, o, off);
	if (s->opts.lines)
		object_inlined(s, o, off, &h, 1);
	syms_unlock(s);
	return h;
}

u32 sym_object_off_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max)
{
	if (!max)
		return 0;
	syms_lock(s);
	hits[0] = object_off(s, o, off);
	u32 n = s->opts.inlines || s->opts.lines ? object_inlined(s, o, off, hits, max) : 1;
	syms_unlock(s);
	return n;
}
