// Objects: files with code. Input: a file a process maps, or a path. Output: one SymObject per distinct file, opened once.
// Invariant: each file's fd stays open until it is deleted and nobody needs it (sym_files_unused()), so its (dev, inode) cannot be reused
// for another file and its bytes stay readable after exit, delete and replacement. Size and mtime are part of the identity because a file
// may be rewritten in place; ctime is not: it changes when a link is removed, and a deleted binary is still the same binary.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "sym/internal.h"

static u64 mtime_ns(const struct stat *st)
{
	return (u64)st->st_mtim.tv_sec * 1000000000u + st->st_mtim.tv_nsec;
}

static struct SymFile **bucket(struct Syms *s, u64 dev, u64 ino)
{
	u64 h = (ino ^ dev << 40 ^ dev >> 24) * 0x9e3779b97f4a7c15u;
	return &s->files[h >> 54]; // 10 bits: SYM_BUCKETS
}

const struct SymFile *file_known(struct Syms *s, const struct stat *st)
{
	for (struct SymFile *f = *bucket(s, st->st_dev, st->st_ino); f; f = f->next)
		if (f->ino == st->st_ino && f->dev == st->st_dev && f->size == (u64)st->st_size && f->mtime == mtime_ns(st))
			return f;
	return NULL;
}

static void file_add(struct Syms *s, const struct stat *st, int fd, struct SymObject *o)
{
	struct SymFile **b = bucket(s, st->st_dev, st->st_ino), *f = xmalloc(sizeof(*f));
	*f =
	    (struct SymFile){*b, 0, ++s->nfiles, st->st_dev, st->st_ino, st->st_size, mtime_ns(st), S_ISREG(st->st_mode), fd, o};
	*b = f;
	if (fd >= 0 && o->priv)
		((struct ElfObj *)o->priv)->nfiles++;
}

// Each object keeps an fd: with the usual soft limit of 1024 there may be too few. Only the soft limit is raised, and only then.
static void need_fds(int highest)
{
	struct rlimit r;
	if (getrlimit(RLIMIT_NOFILE, &r) || (rlim_t)highest + 256 < r.rlim_cur || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static struct SymObject *object_new(struct Syms *s, const struct stat *st, const char *path, int fd)
{
	struct SymObject *o = xcalloc(1, sizeof(*o));
	o->id = s->objs.n + 1;
	o->dev = st->st_dev;
	o->ino = st->st_ino;
	o->path = xstrdup(path);
	o->fd = fd;
	vec_push(&s->objs, o);
	need_fds(fd);
	return o;
}

struct SymObject *object_unreadable(struct Syms *s, const struct stat *st, const char *path, int err, char *why)
{
	struct SymObject *o = object_new(s, st, path, -1);
	o->why = why;
	o->denied = err == EACCES || err == EPERM;
	file_add(s, st, -1, o);
	return o;
}

#define HEAD_BYTES 4096u
static u64 head_of(int fd)
{
	u8 head[HEAD_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	u64 h = 14695981039346656037ull;
	for (ssize_t i = 0; i < n; i++)
		h = (h ^ head[i]) * 1099511628211ull; // FNV-1a
	return h;
}

// Has its file been closed, and is this one like it?
static bool is_back(const struct ElfObj *e, int fd, const struct stat *st)
{
	return e->let_go && e->was_size == (u64)st->st_size && e->was_uid == st->st_uid && e->was_head == head_of(fd);
}

// The same file reached through another mount (images of containers on overlayfs have their own device number), or a copy: same build id,
// size, owner and head. The owner is compared so that nobody can pass a file of his off as another's.
static struct SymObject *twin(struct Syms *s, int fd, const struct stat *st, const u8 *id, u32 id_len)
{
	if (!id_len)
		return NULL;
	for (u32 i = 0; i < s->objs.n; i++) {
		struct SymObject *o = s->objs.p[i];
		struct stat old;
		if (o->build_id_len != id_len || memcmp(o->build_id, id, id_len) || o->fd < 0 || o->denied || fstat(o->fd, &old)) // denied: a copy, of what a process says
			continue;
		if (is_back(o->priv, fd, st))
			return o;
		if (old.st_size != st->st_size || old.st_uid != st->st_uid)
			continue;
		u8 a[HEAD_BYTES], b[HEAD_BYTES];
		ssize_t n = pread(fd, a, sizeof(a), 0);
		if (n > 0 && pread(o->fd, b, sizeof(b), 0) == n && !memcmp(a, b, n))
			return o;
	}
	return NULL;
}

// Its file was closed, and this is a copy: takes fd. Returns the object's own.
static int take_back(struct Syms *s, struct SymObject *o, int fd)
{
	struct ElfObj *e = o->priv;
	if (!e->let_go || dup3(fd, o->fd, O_CLOEXEC) < 0)
		return fd;
	close(fd);
	elf_table_drop(s, o); // of the empty one
	e->let_go = false;
	s->ngone--;
	return o->fd;
}

static void elf_destroy(struct ElfObj *e)
{
	elf_symtab_destroy(e->symtab);
	fdes_close(e->fdes);
	elf_defs_destroy(e->defs);
	for (u32 i = 0; i < e->old_str.n; i++)
		free(e->old_str.p[i]);
	vec_deinit(&e->old_str);
	dwarf_index_destroy(e->dwarf);
	go_drop(e);
	if (e->debug_tried)
		debugfile_close(&e->debug);
	for (u32 i = 0; i < e->nusdt; i++)
		free((char *)e->usdt[i].provider);
	free(e->usdt);
	elffile_close(&e->file);
	free(e);
}

// copied: from the memory of a process. What that says of itself makes it no other file's twin.
static struct SymObject *object_open(struct Syms *s, int fd, const struct stat *st, const char *path, struct Root *root, bool copied)
{
	struct ElfObj *e = xcalloc(1, sizeof(*e));
	struct err *err = elffile_open(&e->file, fd, NULL, (u64)lseek(fd, 0, SEEK_END)); // of a copy (memfile.c) st tells nothing
	u8 id[20];
	u32 id_len = 0;
	e->is_elf = !err;
	e->root = root;
	if (e->is_elf) {
		if (e->file.type == ET_REL) // a module of the kernel: its notes are known by sections only
			err_free(elffile_sections(&e->file));
		id_len = elffile_build_id(&e->file, id);
		struct SymObject *t = copied ? NULL : twin(s, fd, st, id, id_len);
		if (t) {
			elf_destroy(e);
			need_fds(fd);
			file_add(s, st, take_back(s, t, fd), t);
			return t;
		}
	}
	struct SymObject *o = object_new(s, st, path, fd);
	o->priv = e;
	if (err)
		o->why = xstrdup(err_text(err));
	err_free(err);
	memcpy(o->build_id, id, id_len);
	o->build_id_len = id_len;
	o->denied = copied;
	file_add(s, st, fd, o);
	return o;
}

struct SymObject *object_of_fd(struct Syms *s, int fd, const struct stat *st, const char *path, struct Root *root)
{
	return object_open(s, fd, st, path, root, false);
}

struct SymObject *object_of_copy(struct Syms *s, int fd, const struct stat *st, const char *path, struct Root *root)
{
	return object_open(s, fd, st, path, root, true);
}

struct SymObject *object_own(struct Syms *s, int fd, const struct stat *st, const char *path)
{
	struct SymObject *o = object_of_fd(s, fd, st, path, NULL);
	((struct ElfObj *)o->priv)->ours = true;
	return o;
}

// ---- the vDSO: kernel code mapped into every process, the same for all of one ABI. Copied into a memfd so that it is an object
// like any other.
static struct SymObject *vdso_from(struct Syms *s, const void *image, size_t size)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	struct stat st = {0};
	if (fd < 0 || write(fd, image, size) != (ssize_t)size || fstat(fd, &st)) {
		char *why = xasprintf("cannot copy the vDSO: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return object_unreadable(s, &st, "[vdso]", 0, why);
	}
	return object_own(s, fd, &st, "[vdso]");
}

#ifndef __LP64__
#error "sonde runs on 64-bit machines"
#endif

static struct SymObject *vdso_own(struct Syms *s)
{
	const u8 *p = (const u8 *)getauxval(AT_SYSINFO_EHDR);
	if (s->vdso || !p)
		return s->vdso;
	// The kernel maps whole pages; section headers are the last thing in the image.
	struct ElfFile f;
	struct err *e = elffile_open(&f, -1, p, 4096);
	u64 size = 4096;
	if (!e) {
		size = MAX(size, f.shoff + (u64)f.shnum * f.shentsize);
		elffile_close(&f);
	}
	err_free(e);
	s->vdso = vdso_from(s, p, ALIGN_UP(size, 4096));
	return s->vdso;
}

// A 32-bit process has another image, below 4 GB, which is read from its memory. pid 0: NULL if that has not been done.
struct SymObject *object_vdso(struct Syms *s, int pid, u64 start, u64 end)
{
	if (start >> 32)
		return vdso_own(s);
	if (s->vdso32 || !pid)
		return s->vdso32;
	char path[64], buf[16 << 10];
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, MIN(end - start, sizeof(buf)), start);
	if (fd >= 0)
		close(fd);
	struct ElfFile f;
	struct err *e = n > 0 ? elffile_open(&f, -1, (u8 *)buf, (u64)n) : err_new("unreadable");
	if (!e && f.machine == EM_386 && f.type == ET_DYN) // the process may have written to it
		s->vdso32 = vdso_from(s, buf, n);
	if (!e)
		elffile_close(&f);
	err_free(e);
	return s->vdso32;
}

// ---- files that nobody needs any more
static bool is_among(const u32 *v, u32 n, u32 nr)
{
	u32 lo = 0, hi = n;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (v[mid] < nr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && v[lo] == nr;
}

#define READ_REPORTS 3u // of a tool that makes two in turn one of each has begun after the file was found unused, and is over
static bool may_go(struct SymFile *f, const u32 *used, u32 nused, u64 reports, bool *waiting)
{
	struct stat st;
	const struct ElfObj *e = f->obj->priv;
	if (e && e->ours)
		return false;
	bool own = f->fd == f->obj->fd, deleted = f->fd >= 0 && !is_among(used, nused, f->nr) && !fstat(f->fd, &st) && !st.st_nlink;
	f->idle = deleted && own ? f->idle ? f->idle : reports + READ_REPORTS : 0;
	*waiting |= f->idle;
	return deleted && (!own || (reports && reports >= f->idle && e->nfiles == 1)); // copies have their names from it
}

struct SymFile **sym_files_unused(struct Syms *s, const u32 *used, u32 nused, u64 reports, u32 *n, bool *waiting)
{
	VEC(struct SymFile *) v = {0};
	*waiting = false;
	syms_lock(s);
	for (u32 i = 0; i < SYM_BUCKETS; i++)
		for (struct SymFile **at = &s->files[i], *f; (f = *at);) {
			if (!may_go(f, used, nused, reports, waiting)) {
				at = &f->next;
				continue;
			}
			*at = f->next;
			vec_push(&v, f);
		}
	syms_unlock(s);
	*n = (u32)v.n;
	return v.p;
}

// Threads read objects' files without the lock: the number stays open, with nothing behind it.
static void empty(struct Syms *s, struct SymObject *o)
{
	struct ElfObj *e = o->priv;
	struct stat st;
	if (s->nothing < 0)
		s->nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (s->nothing < 0 || fstat(o->fd, &st))
		return;
	u64 head = head_of(o->fd);
	e->let_go = dup3(s->nothing, o->fd, O_CLOEXEC) >= 0;
	s->ngone += e->let_go;
	e->was_size = (u64)st.st_size;
	e->was_uid = st.st_uid;
	e->was_head = head;
	elf_table_drop(s, o);
}

void sym_files_close(struct Syms *s, struct SymFile **v, u32 n)
{
	syms_lock(s);
	for (u32 i = 0; i < n; i++) {
		((struct ElfObj *)v[i]->obj->priv)->nfiles--;
		if (v[i]->fd == v[i]->obj->fd)
			empty(s, v[i]->obj);
		else
			close(v[i]->fd);
		free(v[i]);
	}
	syms_unlock(s);
	free(v);
}

u32 sym_file_count(struct Syms *s)
{
	syms_lock(s);
	u32 n = s->nfiles;
	syms_unlock(s);
	return n;
}

u32 sym_object_gone(struct Syms *s)
{
	syms_lock(s);
	u32 n = s->ngone;
	syms_unlock(s);
	return n;
}

void objects_destroy(struct Syms *s)
{
	for (u32 i = 0; i < s->objs.n; i++) {
		struct SymObject *o = s->objs.p[i];
		struct ElfObj *e = o->priv;
		if (e && e->let_go)
			close(o->fd);
		if (o->priv)
			elf_destroy(o->priv);
		free(o->path);
		free(o->why);
		free(o->note);
		free(o);
	}
	vec_deinit(&s->objs);
	for (u32 i = 0; i < SYM_BUCKETS; i++) {
		for (struct SymFile *f = s->files[i], *next; f; f = next) {
			next = f->next;
			if (f->fd >= 0)
				close(f->fd);
			free(f);
		}
	}
	if (s->nothing >= 0)
		close(s->nothing);
	for (struct Root *r = s->roots, *next; r; r = next) {
		next = r->next;
		close(r->fd);
		free(r);
	}
}

void syms_trim(struct Syms *s, u64 max_bytes)
{
	syms_lock(s);
	elf_tables_keep(s, max_bytes);
	go_tables_keep(s, max_bytes);
	kallsyms_trim(s);
	syms_unlock(s);
}

void syms_limit(struct Syms *s, u64 max_bytes)
{
	syms_lock(s);
	s->tables_max = max_bytes;
	syms_unlock(s);
}
