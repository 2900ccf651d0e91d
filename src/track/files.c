// Files by the device and inode of the kernel's records, and what the kernel side is told of them. Input: mappings with their files (sym/), numbers of
// records. Output: rt_uw_files. Invariant: an entry is of a file that is held open, or of one that nobody may look at; the kernel side compares size
// and time of change as well, so an inode number that comes back, or a file written anew, is another file.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "track/internal.h"

struct Known {
	u64 ino, dev; // see struct NumTab
	const struct SymFile *file;
};
struct UwFiles {
	int fd; // rt_uw_files
	bool full, vdso_told[2];
	struct NumTab known;
	u32 ticks, nfiles; // of Syms when it was last looked which are unused
	bool waiting;
};
#define FILES_TICKS 8 // between two looks at which files nobody needs

struct UwFiles *uwfiles_create(int fd)
{
	struct UwFiles *f = xcalloc(1, sizeof(*f));
	f->fd = fd;
	f->known.size = sizeof(struct Known);
	return f;
}

void uwfiles_destroy(struct UwFiles *f)
{
	if (!f)
		return;
	numtab_deinit(&f->known);
	free(f);
}

// The number of a file that is closed will be another's: the kernel side forgets it before.
static void forget(struct UwFiles *f, const struct Known *k)
{
	struct RtUwFile key = {.ino = k->ino, .size = k->file->size, .mtime = k->file->mtime, .dev = major(k->dev) << 20 | minor(k->dev)};
	sys_map_delete(f->fd, &key);
}

static int by_address(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)*(void *const *)a, y = (uintptr_t)*(void *const *)b;
	return x < y ? -1 : x > y;
}

// They are going to be closed; sorts v.
static void forget_all(struct UwFiles *f, struct SymFile **v, u32 n)
{
	struct NumTab old = f->known;
	f->known = (struct NumTab){.size = old.size};
	if (n)
		qsort(v, n, sizeof(*v), by_address);
	for (u32 i = 0; i < old.cap; i++) {
		const struct Known *k = numtab_at(&old, i);
		if (k && bsearch(&k->file, v, n, sizeof(*v), by_address))
			forget(f, k);
		else if (k)
			((struct Known *)numtab_put(&f->known, k->ino, k->dev))->file = k->file;
	}
	numtab_deinit(&old);
}

static int by_nr(const void *a, const void *b)
{
	const u32 *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

bool uwfiles_tick(struct UwFiles *f, struct Syms *s)
{
	if (++f->ticks % FILES_TICKS || (!f->waiting && f->nfiles == sym_file_count(s)))
		return false;
	f->nfiles = sym_file_count(s);
	return true;
}

void uwfiles_let_go(struct UwFiles *f, struct Syms *s, u32 *used, u32 nused, u64 reports)
{
	u32 n;
	if (nused)
		qsort(used, nused, sizeof(*used), by_nr);
	struct SymFile **v = sym_files_unused(s, used, nused, reports, &n, &f->waiting);
	if (n)
		forget_all(f, v, n);
	sym_files_close(s, v, n);
}

static u64 mtime_of(const struct stat *st)
{
	return (u64)st->st_mtim.tv_sec * 1000000000u + (u64)st->st_mtim.tv_nsec;
}

const struct SymFile *uwfiles_known(struct UwFiles *f, u64 dev, u64 ino)
{
	const struct Known *k = numtab_get(&f->known, ino, dev);
	struct stat st;
	if (!k || fstat(k->file->fd, &st) || (u64)st.st_size != k->file->size || mtime_of(&st) != k->file->mtime)
		return NULL;
	return k->file;
}

static void tell(struct UwFiles *f, const struct RtUwFile *key, u32 obj)
{
	if (sys_map_update(f->fd, key, &obj, 0) >= 0 || f->full)
		return;
	f->full = true;
	fprintf(stderr, "sonde: more than %u files with code are mapped: stacks through the others are cut\n", RT_UW_OBJS);
}

void uwfiles_tell(struct UwFiles *f, u64 dev, u64 ino, const struct SymFile *file)
{
	struct RtUwFile key = {.ino = ino, .size = RT_UW_ANY, .mtime = RT_UW_ANY, .dev = major(dev) << 20 | minor(dev)}; // include/linux/kdev_t.h, MKDEV
	if (!ino)
		return;
	if (!file) { // memory that code was made in, a device
		tell(f, &key, 0);
		return;
	}
	if (file->fd >= 0) {
		struct Known *k = numtab_put(&f->known, ino, dev);
		if (k->file && k->file->nr >= file->nr) // one written anew in place is a newer one
			return;
		k->file = file;
	}
	if (file->seen) {
		key.size = file->size;
		key.mtime = file->mtime;
	} else if (!file->obj->denied) { // replaced or deleted: its number may already be another file's
		return;
	}
	tell(f, &key, file->obj->id);
}

void uwfiles_tell_vdso(struct UwFiles *f, const struct ProcMap *m)
{
	u32 small = !(m->start >> 32);
	struct RtUwFile key = {.size = small};
	if (f->vdso_told[small])
		return;
	f->vdso_told[small] = true;
	tell(f, &key, m->obj->id);
}
