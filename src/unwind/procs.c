// Which process maps what. Input: /proc/PID/maps at start and after a change, the kernel's mapping records (mmapev.c), questions of the kernel
// side. Output: rt_uw_maps, and the objects handed to the tables.
// Invariant: the map holds only mappings the process had at some time since it was last seen to change; a process that was gone before its maps
// could be read is described by the records alone.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include "unwind/internal.h"

#define PROC_BUCKETS 1024u
#define GONE_NS 2000000000ull // a dead process is kept this long: its last stacks may still be on their way

struct Pending { // a mapping record not yet seen in /proc/PID/maps
	u64 start, end, off, ino;
	char *path;
};
struct UwProc {
	struct UwProc *next;
	int tgid;
	bool dirty;	// its mappings changed since they were read
	bool dead;	// exit was seen
	bool told_syms;
	u64 dead_at;	// ns; 0: at the next tick
	u32 nchunks;	// in the kernel
	VEC(struct ProcMap) maps; // by start
	VEC(struct Pending) pending;
};
struct Procs {
	struct Syms *syms;
	int maps_fd, asked_fd; // borrowed
	struct ProcsOps ops;
	struct UwProc *bucket[PROC_BUCKETS];
	u32 n;
	VEC(int) only;	       // trace these; empty: all
	bool follow, rescan;
	VEC(struct UwProc *) dirty;
};

struct Procs *uwprocs_create(struct Syms *syms, int maps_fd, int asked_fd, const struct UwOpts *o, const struct ProcsOps *ops)
{
	struct Procs *p = xcalloc(1, sizeof(*p));
	p->syms = syms;
	p->maps_fd = maps_fd;
	p->asked_fd = asked_fd;
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
		sys_map_delete(p->maps_fd, &(struct RtUwKey){(u32)q->tgid, c});
	q->nchunks = MIN(q->nchunks, keep);
}

static void forget(struct Procs *p, struct UwProc *q)
{
	u32 tgid = (u32)q->tgid;
	unpublish(p, q, 0);
	sys_map_delete(p->asked_fd, &tgid);
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
	u32 n = 0;
	for (size_t i = 0; i < q->maps.n && n < RT_UW_CHUNKS * RT_UW_CHUNK; i++) {
		const struct ProcMap *m = &q->maps.p[i];
		if (!m->obj || m->obj->id >= RT_UW_OBJS)
			continue;
		struct RtUwChunk *c = &chunks[n / RT_UW_CHUNK];
		if (n % RT_UW_CHUNK == 0) {
			empty_chunk(c);
			chunks[0].first[n / RT_UW_CHUNK] = m->start;
		}
		c->map[n % RT_UW_CHUNK] = (struct RtUwMapping){m->start, (u32)((m->end - m->start) / RT_UW_PAGE), m->obj->id, m->file_off};
		c->n++;
		n++;
	}
	return (n + RT_UW_CHUNK - 1) / RT_UW_CHUNK;
}

// The first chunk is written last: it says how many there are.
static void publish(struct Procs *p, struct UwProc *q)
{
	static const u32 most = RT_UW_CHUNKS;
	u32 room = MIN(most, (u32)(q->maps.n / RT_UW_CHUNK + 1));
	struct RtUwChunk *chunks = xmalloc(room * sizeof(*chunks));
	empty_chunk(&chunks[0]);
	u32 n = fill_chunks(q, chunks);
	if (!n)
		n = 1; // known, and maps no file
	chunks[0].nchunks = n;
	for (u32 c = n; c-- > 0;)
		sys_map_update(p->maps_fd, &(struct RtUwKey){(u32)q->tgid, c}, &chunks[c], 0);
	unpublish(p, q, n);
	q->nchunks = n;
	free(chunks);
	for (size_t i = 0; i < q->maps.n; i++)
		if (q->maps.p[i].obj)
			p->ops.object(p->ops.arg, q->maps.p[i].obj);
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

// A mapping record of a process that has gone already: put in by hand. The path is the process's own; the inode must be the one it mapped.
static void apply_pending(struct Procs *p, struct UwProc *q, const struct Pending *m)
{
	struct SymObject *o = NULL;
	if (m->path[0] == '/' && m->ino) {
		o = sym_object_path(p->syms, m->path);
		if (o && o->ino != m->ino)
			o = NULL;
	} else if (!strcmp(m->path, "[vdso]")) {
		o = sym_object_vdso(p->syms);
	}
	size_t kept = 0;
	for (size_t i = 0; i < q->maps.n; i++) // what it covers has been unmapped
		if (q->maps.p[i].end <= m->start || q->maps.p[i].start >= m->end)
			q->maps.p[kept++] = q->maps.p[i];
	q->maps.n = kept;
	struct ProcMap new = {m->start, m->end, o ? m->off : 0, o};
	vec_push(&q->maps, new);
	for (size_t i = q->maps.n - 1; i && q->maps.p[i - 1].start > new.start; i--) {
		q->maps.p[i] = q->maps.p[i - 1];
		q->maps.p[i - 1] = new;
	}
}

static void refresh(struct Procs *p, struct UwProc *q)
{
	q->dirty = false;
	if (!read_proc(p, q)) {
		for (size_t i = 0; i < q->pending.n; i++)
			apply_pending(p, q, &q->pending.p[i]);
		if (!q->maps.n && !q->dead) { // kernel thread, or gone without a trace
			q->dead = true;
			q->dead_at = 0;
			return;
		}
	}
	drop_pending(q);
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
		refresh(p, q);
		if (q->dead && !q->dirty)
			forget(p, q);
	}
	if (d)
		closedir(d);
}

void uwprocs_new(struct Procs *p, int tgid)
{
	struct UwProc *q = get(p, tgid);
	if (q)
		refresh(p, q);
}

// ---- events
static void mark(struct Procs *p, struct UwProc *q)
{
	if (!q->dirty)
		vec_push(&p->dirty, q);
	q->dirty = true;
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
		mark(p, q);
		return;
	}
	for (size_t i = 0; i < parent->maps.n; i++)
		vec_push(&q->maps, parent->maps.p[i]);
	publish(p, q);
	if (parent->dirty)
		mark(p, q);
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
		mark(p, q);
		return;
	case MAPEV_MMAP:
		q = get(p, e->tgid);
		if (!q)
			return;
		struct Pending m = {e->start, e->end, e->off, e->ino, xstrdup(e->path)};
		vec_push(&q->pending, m);
		mark(p, q);
		return;
	}
}

void uwprocs_settle(struct Procs *p)
{
	for (size_t i = 0; i < p->dirty.n; i++)
		if (p->dirty.p[i]->dirty)
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
			if (!q->dead || q->dirty)
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
