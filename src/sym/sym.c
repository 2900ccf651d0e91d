// The public face of symbols: creation, objects by path and id. See sym.h for the contract and internal.h for locking.
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
	s->nothing = -1;
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
	map_deinit(&s->kept);
	map_deinit(&s->places);
	arena_deinit(&s->arena);
	free(s->debug_dir);
	pthread_mutex_destroy(&s->lock);
	free(s);
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
		char *whole = *path == '/' ? NULL : realpath(path, NULL); // what a stack shows is read elsewhere, too
		object_of_fd(s, fd, &st, whole ? whole : path, NULL);
		free(whole);
		f = file_known(s, &st);
	}
	syms_unlock(s);
	return f;
}

struct SymObject *sym_object_path(struct Syms *s, const char *path)
{
	syms_lock(s);
	const struct SymFile *f = sym_file_path(s, path);
	struct SymObject *o = f ? f->obj : NULL;
	syms_unlock(s);
	return o;
}

struct SymObject *sym_object_vdso(struct Syms *s, u64 start)
{
	syms_lock(s);
	struct SymObject *o = object_vdso(s, 0, start, start);
	syms_unlock(s);
	return o;
}
