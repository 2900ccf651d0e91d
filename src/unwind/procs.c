// Which process maps what. Input: /proc/PID/maps at start and after a change, the kernel's mapping records (mmapev.c), questions of the kernel
// side. Output: rt_uw_maps, and the objects handed to the tables.
// Invariant: a mapping that a record speaks of replaces what lay there. There are no records of unmapping: what is left of it is never executed, and
// goes when its place is used again. /proc is read only for files not seen before; a process that has gone by then is described by the records.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "unwind/internal.h"

#define PROC_BUCKETS 1024u
#define KNOWN 4096u
#define GONE_NS 2000000000ull // a dead process is kept this long: its last stacks may still be on their way

struct Pending { // a mapping record of an object not known yet
	u64 start, end, off, dev, ino;
	char *path;
};
struct Known { // an object by the device and inode of the kernel's records
	u64 dev, ino, size, mtime;
	struct SymObject *obj; // NULL: free
};
struct UwProc {
	struct UwProc *next;
	int tgid;
	bool dirty;	// its mappings have to be read again
	bool changed;	// ... have to be published again
	bool dead;	// exit was seen
	bool told_syms;
	u64 dead_at;	// ns; 0: at the next tick
	u32 nchunks;	// in the kernel
	u64 gen;	// their generation (struct RtUwChunk)
	VEC(struct ProcMap) maps; // by start
	VEC(struct Pending) pending;
};
struct Procs {
	struct Syms *syms;
	struct ProcsMaps fd;
	struct ProcsOps ops;
	struct UwProc *bucket[PROC_BUCKETS];
	u32 n;
	u64 gen;	       // the last one given
	VEC(int) only;	       // trace these; empty: all
	bool follow, rescan, vdso_told;
	bool scanned; // the first time
	VEC(struct UwProc *) dirty; // dirty or changed
	struct Known known[KNOWN]; // a cache
};

struct Procs *uwprocs_create(struct Syms *syms, const struct ProcsMaps *maps, const struct UwOpts *o, const struct ProcsOps *ops)
{
	struct Procs *p = xcalloc(1, sizeof(*p));
	p->syms = syms;
	p->fd = *maps;
	p->ops = *ops;
	p->follow = o->follow;
	for (u32 i = 0; i < o->npids; i++)
		vec_push(&p->only, o->pids[i]);
	return p;
}

static struct UwProc **slot(struct Procs *p, int tgid)
{
	struct UwProc **at = &p->bucket[(u32)tgid % PROC_BUCKETS];
	while (*at && (*at)->tgid != tgid)
		at = &(*at)->next;
	return at;
}

static bool wanted(const struct Procs *p, int tgid)
{
	for (size_t i = 0; i < p->only.n; i++)
		if (p->only.p[i] == tgid)
			return true;
	return p->only.n == 0;
}

static struct UwProc *get(struct Procs *p, int tgid)
{
	struct UwProc **at = slot(p, tgid);
	if (!*at && wanted(p, tgid)) {
		*at = xcalloc(1, sizeof(**at));
		(*at)->tgid = tgid;
		p->n++;
	}
	return *at;
}

static void drop_pending(struct UwProc *q)
{
	for (size_t i = 0; i < q->pending.n; i++)
		free(q->pending.p[i].path);
	q->pending.n = 0;
}

static void unpublish(struct Procs *p, struct UwProc *q, u32 keep)
{
	for (u32 c = keep; c < q->nchunks; c++)
		sys_map_delete(p->fd.maps, &(struct RtUwKey){(u32)q->tgid, c});
	q->nchunks = MIN(q->nchunks, keep);
}

static void forget(struct Procs *p, struct UwProc *q)
{
	u32 tgid = (u32)q->tgid;
	unpublish(p, q, 0);
	sys_map_delete(p->fd.asked, &tgid);
	*slot(p, q->tgid) = q->next;
	drop_pending(q);
	vec_deinit(&q->pending);
	vec_deinit(&q->maps);
	free(q);
	p->n--;
}

void uwprocs_destroy(struct Procs *p)
{
	if (!p)
		return;
	for (u32 i = 0; i < PROC_BUCKETS; i++) {
		for (struct UwProc *q = p->bucket[i], *next; q; q = next) {
			next = q->next;
			drop_pending(q);
			vec_deinit(&q->pending);
			vec_deinit(&q->maps);
			free(q);
		}
	}
	vec_deinit(&p->dirty);
	vec_deinit(&p->only);
	free(p);
}

// ---- known objects
static u64 mtime_of(const struct stat *st)
{
	return (u64)st->st_mtim.tv_sec * 1000000000u + (u64)st->st_mtim.tv_nsec;
}

static struct Known *known_slot(struct Procs *p, u64 dev, u64 ino)
{
	return &p->known[((ino ^ dev << 20) * 0x9e3779b97f4a7c15u >> 32) % KNOWN];
}

// The object a record speaks of, if it was seen before and its file is unchanged. Syms keeps the file open, so the inode is still the same file.
static struct SymObject *known_object(struct Procs *p, u64 dev, u64 ino)
{
	struct Known *k = known_slot(p, dev, ino);
	struct stat st;
	if (!k->obj || k->dev != dev || k->ino != ino || fstat(k->obj->fd, &st) || (u64)st.st_size != k->size || mtime_of(&st) != k->mtime)
		return NULL;
	return k->obj;
}

// The kernel side finds the object in mappings that it is not told of (bpfrt/vma.bpf.c). dev and ino: as the kernel's records and its inodes have them,
// which for some file systems (overlayfs, btrfs) are not those of stat(2).
static void remember(struct Procs *p, u64 dev, u64 ino, struct SymObject *o)
{
	struct Known *k = known_slot(p, dev, ino);
	struct stat st;
	if (k->obj && k->dev == dev && k->ino == ino && k->obj->id >= o->id) // a file rewritten in place has a newer object
		return;
	if (!ino || o->fd < 0 || fstat(o->fd, &st))
		return;
	*k = (struct Known){dev, ino, (u64)st.st_size, mtime_of(&st), o};
	struct RtUwFile f = {.ino = ino, .size = k->size, .dev = major(dev) << 20 | minor(dev)}; // include/linux/kdev_t.h, MKDEV
	sys_map_update(p->fd.files, &f, &o->id, 0);
}

static void remember_vdso(struct Procs *p, struct SymObject *o)
{
	struct RtUwFile f = {0};
	if (p->vdso_told || o != sym_object_vdso(p->syms))
		return;
	p->vdso_told = true;
	sys_map_update(p->fd.files, &f, &o->id, 0);
}

// ---- to the kernel side
static void empty_chunk(struct RtUwChunk *c)
{
	memset(c, 0, sizeof(*c));
	for (u32 i = 0; i < RT_UW_CHUNKS; i++)
		c->first[i] = RT_UW_NO_START;
	for (u32 i = 0; i < RT_UW_CHUNK; i++)
		c->map[i].start = RT_UW_NO_START;
}

static u32 fill_chunks(const struct UwProc *q, struct RtUwChunk *chunks)
{
	u32 n = 0, most = RT_UW_CHUNKS * RT_UW_CHUNK;
	for (size_t i = 0; i < q->maps.n && n < most; i++) {
		const struct ProcMap *m = &q->maps.p[i];
		u32 id = m->obj && m->obj->id < RT_UW_OBJS ? m->obj->id : 0; // 0: code made at run time; told, so that it need not be looked for
		if ((!id && q->maps.n > most) || m->start >> 48)
			continue;
		struct RtUwChunk *c = &chunks[n / RT_UW_CHUNK];
		if (n % RT_UW_CHUNK == 0) {
			empty_chunk(c);
			chunks[0].first[n / RT_UW_CHUNK] = m->start;
		}
		c->map[n % RT_UW_CHUNK] = (struct RtUwMapping){m->start, (u32)((m->end - m->start) / RT_UW_PAGE), id, m->file_off};
		c->n++;
		n++;
	}
	return (n + RT_UW_CHUNK - 1) / RT_UW_CHUNK;
}

// The objects first: whoever reads a mapping finds its object asked for, and can have its table hurried. The first chunk is written last: it says how
// many there are.
static void publish_as(struct Procs *p, struct UwProc *q, u64 gen)
{
	for (size_t i = 0; i < q->maps.n; i++) {
		if (!q->maps.p[i].obj)
			continue;
		struct SymObject *o = q->maps.p[i].obj;
		p->ops.object(p->ops.arg, o);
		if (!strcmp(o->path, "[vdso]"))
			remember_vdso(p, o);
		else
			remember(p, o->dev, o->ino, o);
	}
	static const u32 most = RT_UW_CHUNKS;
	u32 room = MIN(most, (u32)(q->maps.n / RT_UW_CHUNK + 1));
	struct RtUwChunk *chunks = xmalloc(room * sizeof(*chunks));
	empty_chunk(&chunks[0]);
	u32 n = fill_chunks(q, chunks);
	if (!n)
		n = 1; // known, and maps no file
	chunks[0].nchunks = n;
	q->gen = gen;
	for (u32 c = 0; c < n; c++)
		chunks[c].gen = gen;
	for (u32 c = n; c-- > 0;)
		sys_map_update(p->fd.maps, &(struct RtUwKey){(u32)q->tgid, c}, &chunks[c], 0);
	unpublish(p, q, n);
	q->nchunks = n;
	free(chunks);
	if (p->scanned) // names of frames that are raw addresses are asked for when the process may be gone; those alive at start can be read until then
		sym_pid_set_maps(p->syms, q->tgid, q->maps.p, (u32)q->maps.n);
}

static void publish(struct Procs *p, struct UwProc *q)
{
	publish_as(p, q, ++p->gen);
}

// ---- reading
static bool maps_code_without_file(const struct UwProc *q)
{
	for (size_t i = 0; i < q->maps.n; i++)
		if (!q->maps.p[i].obj && q->maps.p[i].start >> 47 == 0)
			return true;
	return false;
}

static bool read_proc(struct Procs *p, struct UwProc *q)
{
	struct ProcMap *maps;
	u32 n;
	struct err *e = sym_proc_maps(p->syms, q->tgid, &maps, &n);
	if (e || !n) { // gone, a zombie, or a kernel thread
		err_free(e);
		return false;
	}
	free(q->maps.p);
	q->maps.p = maps;
	q->maps.n = q->maps.cap = n;
	return true;
}

// ---- changing mappings
// Puts a mapping in; what it covers of others is unmapped, they may be cut in two.
static void insert_map(struct UwProc *q, struct ProcMap new)
{
	VEC(struct ProcMap) v = {0};
	bool placed = false;

	for (size_t i = 0; i < q->maps.n; i++) {
		struct ProcMap m = q->maps.p[i], tail = m;
		if (!placed && m.start >= new.start) {
			vec_push(&v, new);
			placed = true;
		}
		if (m.end <= new.start || m.start >= new.end) {
			vec_push(&v, m);
			continue;
		}
		if (m.start < new.start) {
			m.end = new.start;
			vec_push(&v, m);
		}
		if (tail.end > new.end) {
			if (!placed) {
				vec_push(&v, new);
				placed = true;
			}
			tail.file_off += tail.obj ? new.end - tail.start : 0;
			tail.start = new.end;
			vec_push(&v, tail);
		}
	}
	if (!placed)
		vec_push(&v, new);
	free(q->maps.p);
	q->maps.p = v.p;
	q->maps.n = v.n;
	q->maps.cap = v.cap;
}

// A mapping record of a process that is gone already. The path is the process's own; the inode must be the one it mapped.
static void apply_pending(struct Procs *p, struct UwProc *q, const struct Pending *m)
{
	struct SymObject *o = sym_object_path(p->syms, m->path);
	if (o && o->ino != m->ino)
		o = NULL;
	insert_map(q, (struct ProcMap){m->start, m->end, o ? m->off : 0, o});
}

// A record of a file not known by its numbers, which /proc has since shown.
static void learn(struct Procs *p, struct UwProc *q, const struct Pending *m)
{
	for (size_t i = 0; i < q->maps.n; i++) {
		const struct ProcMap *have = &q->maps.p[i];
		if (have->start != m->start || have->file_off != m->off || !have->obj)
			continue;
		p->ops.object(p->ops.arg, have->obj);
		remember(p, m->dev, m->ino, have->obj);
	}
}

static void refresh(struct Procs *p, struct UwProc *q)
{
	bool read = q->dirty && read_proc(p, q);
	for (size_t i = 0; read && i < q->pending.n; i++)
		learn(p, q, &q->pending.p[i]);
	if (q->dirty && !read) {
		for (size_t i = 0; i < q->pending.n; i++)
			apply_pending(p, q, &q->pending.p[i]);
		if (!q->maps.n && !q->dead) { // kernel thread, or gone without a trace
			q->dead = true;
			q->dead_at = 0;
		}
	}
	q->dirty = q->changed = false;
	drop_pending(q);
	if (!q->maps.n && q->dead)
		return;
	publish(p, q);
	// JIT code: its names are in a file that is found while the process lives
	if (!q->told_syms && !q->dead && maps_code_without_file(q)) {
		q->told_syms = true;
		sym_pid_remember(p->syms, q->tgid);
	}
}

void uwprocs_scan(struct Procs *p)
{
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		struct UwProc *q = get(p, atoi(e->d_name));
		if (!q)
			continue;
		bool listed = q->dirty || q->changed; // in p->dirty
		q->dirty = true;
		refresh(p, q);
		if (q->dead && !listed)
			forget(p, q);
	}
	if (d)
		closedir(d);
	p->scanned = true;
}

void uwprocs_new(struct Procs *p, int tgid)
{
	struct UwProc *q = get(p, tgid);
	if (!q)
		return;
	q->dirty = true;
	refresh(p, q);
}

struct Found {
	struct Procs *p;
	int tgid;
	VEC(struct SymObject *) v;
};

static void add_found(struct Found *f, struct SymObject *o)
{
	for (size_t i = 0; i < f->v.n; i++)
		if (f->v.p[i] == o)
			return;
	vec_push(&f->v, o);
}

static void add_path(struct Found *f, const char *path)
{
	struct SymObject *o = sym_object_path(f->p->syms, path);
	if (!o)
		return;
	f->p->ops.object(f->p->ops.arg, o);
	remember(f->p, o->dev, o->ino, o);
	add_found(f, o);
}

static void on_needed(void *arg, const char *name)
{
	struct Found *f = arg;
	char *path;
	struct err *e = sym_resolve_path(name, f->tgid, &path);
	if (!e) {
		add_path(f, path);
		free(path);
	}
	err_free(e);
}

void uwprocs_first(struct Procs *p, int tgid, const char *path, void (*fn)(void *, struct SymObject *), void *arg)
{
	struct Found f = {p, tgid, {0}};
	if (tgid)
		uwprocs_new(p, tgid);
	struct UwProc *q = tgid ? *slot(p, tgid) : NULL;
	for (size_t i = 0; q && i < q->maps.n; i++)
		if (q->maps.p[i].obj)
			add_found(&f, q->maps.p[i].obj);
	if (path)
		add_path(&f, path);
	for (size_t i = 0; i < f.v.n; i++) // f.v grows
		sym_object_needed(p->syms, f.v.p[i], on_needed, &f);
	for (size_t i = 0; i < f.v.n; i++)
		fn(arg, f.v.p[i]);
	vec_deinit(&f.v);
}

// ---- events
static void mark(struct Procs *p, struct UwProc *q, bool dirty)
{
	if (!q->dirty && !q->changed)
		vec_push(&p->dirty, q);
	q->dirty |= dirty;
	q->changed = true;
}

static void on_fork(struct Procs *p, const struct MapEvent *e)
{
	struct UwProc *parent = *slot(p, e->parent);
	if (p->follow && p->only.n && parent && !wanted(p, e->tgid))
		vec_push(&p->only, e->tgid);
	struct UwProc *q = get(p, e->tgid);
	if (!q)
		return;
	// maps already: read in the first scan, or of an earlier process of that number
	if (!parent || q->maps.n || q->dead) {
		q->dead = false;
		q->maps.n = 0;
		mark(p, q, true);
		return;
	}
	for (size_t i = 0; i < parent->maps.n; i++)
		vec_push(&q->maps, parent->maps.p[i]);
	if (parent->changed || parent->dirty)
		publish(p, q);
	else
		publish_as(p, q, parent->gen); // the same mappings
	if (parent->dirty)
		mark(p, q, true);
}

static void on_mmap(struct Procs *p, struct UwProc *q, const struct MapEvent *e)
{
	struct SymObject *o = NULL;
	bool file = e->path[0] == '/' && e->path[1] != '/' && e->ino; // "//anon"

	if (file)
		o = known_object(p, makedev(e->major, e->minor), e->ino);
	else if (!strcmp(e->path, "[vdso]"))
		o = sym_object_vdso(p->syms);
	if (file && !o) { // a new file: it is found by way of the process
		struct Pending m = {e->start, e->end, e->off, makedev(e->major, e->minor), e->ino, xstrdup(e->path)};
		vec_push(&q->pending, m);
	} else {
		insert_map(q, (struct ProcMap){e->start, e->end, o ? e->off : 0, o});
	}
	mark(p, q, file && !o);
}

void uwprocs_event(void *procs, const struct MapEvent *e)
{
	struct Procs *p = procs;
	struct UwProc *q;

	switch (e->kind) {
	case MAPEV_LOST:
		p->rescan = true;
		return;
	case MAPEV_FORK:
		on_fork(p, e);
		return;
	case MAPEV_EXIT:
		q = *slot(p, e->tgid);
		if (q && !q->dead) {
			q->dead = true; // unless other threads live on: uwprocs_tick looks
			q->dead_at = 0;
		}
		return;
	case MAPEV_EXEC:
		q = get(p, e->tgid);
		if (!q)
			return;
		q->maps.n = 0;
		q->told_syms = false;
		drop_pending(q);
		mark(p, q, false);
		return;
	case MAPEV_MMAP:
		q = get(p, e->tgid);
		if (q)
			on_mmap(p, q, e);
		return;
	}
}

void uwprocs_settle(struct Procs *p)
{
	for (size_t i = 0; i < p->dirty.n; i++)
		if (p->dirty.p[i]->dirty || p->dirty.p[i]->changed)
			refresh(p, p->dirty.p[i]);
	p->dirty.n = 0;
	if (p->rescan) {
		p->rescan = false;
		uwprocs_scan(p);
	}
}

void uwprocs_tick(struct Procs *p, u64 now_ns)
{
	for (u32 i = 0; i < PROC_BUCKETS; i++) {
		for (struct UwProc *q = p->bucket[i], *next; q; q = next) {
			next = q->next;
			if (!q->dead || q->dirty || q->changed)
				continue;
			if (kill(q->tgid, 0) == 0 && q->maps.n) { // its first thread ended, others go on; or a zombie
				q->dead_at = q->dead_at ? q->dead_at : now_ns;
				if (now_ns - q->dead_at > GONE_NS && read_proc(p, q))
					q->dead = false;
				continue;
			}
			q->dead_at = q->dead_at ? q->dead_at : now_ns;
			if (now_ns - q->dead_at >= GONE_NS)
				forget(p, q);
		}
	}
}

u32 uwprocs_count(const struct Procs *p)
{
	return p->n;
}
