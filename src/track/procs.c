// Which process maps what. Input: /proc/PID/maps at start and after a change, what the kernel's records say (procevents.c), questions of the kernel
// side. Output: rt_uw_maps, and the objects handed to the tables.
// Invariant: /proc is read only for files not seen before; a process that has gone by then is described by the records.
// On demand a process begins with a question of the kernel side, which finds its mappings by itself meanwhile: of all others the records only tell which files there are.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include "track/internal.h"

// The tracker runs before all others: a process with thousands of mappings that changes them all the time is looked at less often. From Linux 6.1 on its
// stacks are none the worse for it.
#define LONG_NS 1000000ull
#define PAUSE 20
#define GONE_NS 2000000000ull // a dead process is kept this long: its last stacks may still be on their way

struct Procs *uwprocs_create(struct Syms *syms, const struct ProcsMaps *maps, const struct TrackOpts *o, bool on_demand, const struct ProcsOps *ops)
{
	struct Procs *p = xcalloc(1, sizeof(*p));
	p->syms = syms;
	p->fd = *maps;
	p->ops = *ops;
	p->files = uwfiles_create(maps->files);
	p->follow = o->follow && !on_demand;
	p->on_demand = on_demand;
	for (u32 i = 0; i < o->npids; i++)
		vec_push(&p->only, o->pids[i]);
	return p;
}

struct UwProc **uwproc_slot(struct Procs *p, int tgid)
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
	return p->only.n == 0 && !p->on_demand;
}

struct UwProc *uwproc_get(struct Procs *p, int tgid)
{
	struct UwProc **at = uwproc_slot(p, tgid);
	if (!*at) {
		*at = xcalloc(1, sizeof(**at));
		(*at)->tgid = tgid;
		p->n++;
	}
	return *at;
}

struct UwProc *uwproc_get_wanted(struct Procs *p, int tgid)
{
	struct UwProc *q = *uwproc_slot(p, tgid);
	return q ? q : wanted(p, tgid) ? uwproc_get(p, tgid) : NULL;
}

static void to_see(struct Procs *p, struct UwProc *q)
{
	if (q->unseen)
		return;
	vec_push(&p->unseen, q);
	q->unseen = p->unseen.n;
}

static void seen(struct Procs *p, struct UwProc *q)
{
	if (!q->unseen)
		return;
	p->unseen.p[q->unseen - 1] = vec_last(&p->unseen);
	p->unseen.p[q->unseen - 1]->unseen = q->unseen;
	p->unseen.n--;
	q->unseen = 0;
}

void uwproc_drop_pending(struct UwProc *q)
{
	for (size_t i = 0; i < q->pending.n; i++)
		free(q->pending.p[i].path);
	q->pending.n = 0;
}

static void forget(struct Procs *p, struct UwProc *q)
{
	u32 tgid = (u32)q->tgid;
	uwchunks_forget(p->fd.maps, q->tgid, &q->chunks);
	sys_map_delete(p->fd.asked, &tgid);
	p->ops.gone(p->ops.arg, q->tgid);
	*uwproc_slot(p, q->tgid) = q->next;
	seen(p, q);
	uwproc_drop_pending(q);
	vec_deinit(&q->pending);
	vec_deinit(&q->maps);
	vec_deinit(&q->made);
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
			uwproc_drop_pending(q);
			vec_deinit(&q->pending);
			vec_deinit(&q->maps);
			vec_deinit(&q->made);
			free(q);
		}
	}
	vec_deinit(&p->dirty);
	vec_deinit(&p->unseen);
	vec_deinit(&p->only);
	vec_deinit(&p->asked);
	free(p->denied);
	uwfiles_destroy(p->files);
	free(p);
}

// ---- to the kernel side
// The objects first: whoever reads a mapping finds its object asked for, and can have its table hurried.
void uwproc_publish_as(struct Procs *p, struct UwProc *q, u64 gen)
{
	for (size_t i = 0; i < q->maps.n; i++) {
		const struct ProcMap *m = &q->maps.p[i];
		if (m->obj)
			p->ops.object(p->ops.arg, m->obj, q->named);
		if (m->ino)
			uwfiles_tell(p->files, m->dev, m->ino, m->file);
		else if (m->obj && !strcmp(m->obj->path, "[vdso]"))
			uwfiles_tell_vdso(p->files, m);
	}
	MapList with = {0};
	const MapList *all = &q->maps;
	if (q->made.n) {
		maps_overlay(&q->maps, &q->made, &with);
		all = &with;
	}
	q->gen = gen;
	to_see(p, q);
	if (!uwchunks_publish(p->fd.maps, q->tgid, gen, all->p, all->n, q->jits, &q->chunks) && !p->full) {
		p->full = true;
		fprintf(stderr, "sonde: no room for the mappings of all processes: stacks of some take longer, before Linux 6.1 they are cut\n");
	}
	if (p->scanned) // names of frames that are raw addresses are asked for when the process may be gone; those alive at start can be read until then
		sym_pid_set_maps(p->syms, q->tgid, all->p, (u32)all->n);
	vec_deinit(&with);
}

void uwproc_publish(struct Procs *p, struct UwProc *q)
{
	uwproc_publish_as(p, q, ++p->gen);
}

// ---- reading
static bool maps_code_without_file(const struct UwProc *q)
{
	for (size_t i = 0; i < q->maps.n; i++)
		if (!q->maps.p[i].obj && q->maps.p[i].start >> 47 == 0)
			return true;
	return false;
}

// Each process once, however often it is tried. A number that a second one was given meanwhile counts once, too.
static void count_denied(struct Procs *p, int tgid)
{
	u32 word = (u32)tgid / 64 % (PID_LIMIT / 64);
	u64 bit = 1ull << tgid % 64;
	if (!p->denied)
		p->denied = xcalloc(PID_LIMIT / 64, sizeof(*p->denied)); // 512 KB, of which only what is written takes memory
	if (!(p->denied[word] & bit))
		__atomic_add_fetch(&p->ndenied, 1, __ATOMIC_RELAXED); // read by other threads
	p->denied[word] |= bit;
}

static bool read_proc(struct Procs *p, struct UwProc *q)
{
	struct ProcMap *maps;
	u32 n;
	struct err *e = sym_proc_maps(p->syms, q->tgid, &maps, &n);
	if (e && (err_code(e) == EACCES || err_code(e) == EPERM))
		count_denied(p, q->tgid);
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
// A mapping record of a process that is gone already. The path is the process's own; the inode must be the one it mapped.
static void apply_pending(struct Procs *p, struct UwProc *q, const struct Pending *m)
{
	const struct SymFile *f = sym_file_path(p->syms, m->path);
	if (f && f->ino != m->ino)
		f = NULL;
	maps_put(&q->maps, (struct ProcMap){m->start, m->end, f ? m->off : 0, f ? f->obj : NULL, f, f ? m->dev : 0, f ? m->ino : 0});
}

// A record whose numbers are not those that /proc has (overlayfs, on some kernels): the file by its path.
static void learn(struct Procs *p, struct UwProc *q, const struct Pending *m)
{
	for (size_t i = 0; i < q->maps.n; i++) {
		const struct ProcMap *have = &q->maps.p[i];
		if (have->file && have->start == m->start && have->file_off == m->off && have->ino != m->ino && !strcmp(have->obj->path, m->path))
			uwfiles_tell(p->files, m->dev, m->ino, have->file);
	}
}

static void refresh(struct Procs *p, struct UwProc *q)
{
	u64 began = now_ns();
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
	uwproc_drop_pending(q);
	if (!q->maps.n && q->dead)
		return;
	uwproc_publish(p, q);
	u64 now = now_ns();
	if (now - began > LONG_NS)
		q->not_before = now + (now - began) * PAUSE;
	// JIT code: its names are in a file that is found while the process lives
	if (!q->told_syms && !q->dead && maps_code_without_file(q)) {
		q->told_syms = true;
		sym_pid_remember(p->syms, q->tgid);
	}
}

// Records were lost.
static void read_again(struct Procs *p)
{
	for (u32 i = 0; i < PROC_BUCKETS; i++)
		for (struct UwProc *q = p->bucket[i]; q; q = q->next)
			if (!q->dead) {
				q->dirty = true;
				refresh(p, q);
			}
}

void uwprocs_scan(struct Procs *p)
{
	if (p->on_demand) {
		p->scanned = true;
		read_again(p);
		return;
	}
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		struct UwProc *q = uwproc_get_wanted(p, atoi(e->d_name));
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
	struct UwProc *q = uwproc_get(p, tgid);
	q->dirty = true;
	refresh(p, q);
}

void uwproc_mark(struct Procs *p, struct UwProc *q, bool dirty)
{
	if (!q->dirty && !q->changed)
		vec_push(&p->dirty, q);
	q->dirty |= dirty;
	q->changed = true;
}

void uwprocs_asked(struct Procs *p, int tgid)
{
	struct UwProc *q = *uwproc_slot(p, tgid);
	vec_push(&p->asked, tgid);
	if (q && q->not_before > now_ns())
		uwproc_mark(p, q, true);
	else
		uwprocs_new(p, tgid);
}

void uwprocs_may_ask(struct Procs *p, u32 key)
{
	vec_push(&p->asked, (int)key);
}

void uwprocs_first(struct Procs *p, int tgid, const char *path, void (*fn)(void *, struct SymObject *), void *arg)
{
	const struct First first = {p->syms, p->files, &p->ops, tgid, path};
	struct UwProc *q = tgid ? uwproc_get(p, tgid) : NULL;
	if (q) {
		q->named = true;
		uwprocs_new(p, tgid);
	}
	first_objects(&first, q ? q->maps.p : NULL, q ? q->maps.n : 0, fn, arg);
}

// ---- from time to time
// Their ends may be among the records that were lost.
static void look_for_gone(struct Procs *p)
{
	for (u32 i = 0; i < PROC_BUCKETS; i++)
		for (struct UwProc *q = p->bucket[i]; q; q = q->next)
			if (!q->dead && kill(q->tgid, 0) && errno == ESRCH) {
				q->dead = true;
				q->dead_at = 0;
			}
}

bool uwprocs_settle(struct Procs *p)
{
	u64 now = p->dirty.n ? now_ns() : 0;
	size_t later = 0;
	for (size_t i = 0; i < p->dirty.n; i++) {
		struct UwProc *q = p->dirty.p[i];
		if ((q->dirty || q->changed) && q->not_before > now && !q->dead)
			p->dirty.p[later++] = q;
		else if (q->dirty || q->changed)
			refresh(p, q);
	}
	p->dirty.n = later;
	if (p->rescan) {
		p->rescan = false;
		look_for_gone(p);
		uwprocs_scan(p);
	}
	return later;
}

void uwprocs_report(struct Procs *p)
{
	__atomic_add_fetch(&p->reports, 1, __ATOMIC_RELAXED);
}

// On demand also files of processes that are not followed: such a one is found again when a stack is taken of it.
static void let_files_go(struct Procs *p)
{
	VEC(u32) used = {0};
	for (u32 i = 0; i < PROC_BUCKETS; i++)
		for (const struct UwProc *q = p->bucket[i]; q; q = q->next)
			for (size_t k = 0; k < q->maps.n; k++)
				if (q->maps.p[k].file && (!used.n || vec_last(&used) != q->maps.p[k].file->nr))
					vec_push(&used, q->maps.p[k].file->nr);
	uwfiles_let_go(p->files, p->syms, used.p, (u32)used.n, __atomic_load_n(&p->reports, __ATOMIC_RELAXED));
	vec_deinit(&used);
}

void uwprocs_tick(struct Procs *p, u64 now_ns)
{
	if (uwfiles_tick(p->files, p->syms))
		let_files_go(p);
	for (size_t i = 0; i < p->asked.n; i++)
		sys_map_delete(p->fd.asked, &(u32){(u32)p->asked.p[i]});
	p->asked.n = 0;
	for (u32 i = 0; i < PROC_BUCKETS; i++) {
		for (struct UwProc *q = p->bucket[i], *next; q; q = next) {
			next = q->next;
			if (!q->dead || q->dirty || q->changed)
				continue;
			if ((kill(q->tgid, 0) == 0 || errno == EPERM) && q->maps.n) { // its first thread ended, others go on; or a zombie
				q->dead_at = q->dead_at ? q->dead_at : now_ns;
				if (now_ns - q->dead_at > GONE_NS && read_proc(p, q)) {
					q->dead = false;
					uwproc_publish(p, q);
				}
				continue;
			}
			q->dead_at = q->dead_at ? q->dead_at : now_ns;
			if (now_ns - q->dead_at >= GONE_NS)
				forget(p, q);
		}
	}
}

void uwprocs_look(struct Procs *p, bool (*fn)(void *arg, int tgid, const struct ProcMap *maps, size_t n), void *arg)
{
	for (size_t i = 0; i < p->unseen.n;) {
		struct UwProc *q = p->unseen.p[i];
		if (q->dead || fn(arg, q->tgid, q->maps.p, q->maps.n))
			seen(p, q);
		else
			i++;
	}
}

void uwprocs_look_again(struct Procs *p)
{
	for (u32 i = 0; i < PROC_BUCKETS; i++)
		for (struct UwProc *q = p->bucket[i]; q; q = q->next)
			to_see(p, q);
}

bool uwprocs_made(struct Procs *p, int tgid, const struct ProcMap *made, size_t n, u64 jits)
{
	struct UwProc *q = *uwproc_slot(p, tgid);
	if (!q || q->dead)
		return false;
	q->made.n = 0;
	for (size_t i = 0; i < n; i++)
		vec_push(&q->made, made[i]);
	q->jits = jits;
	if (q->maps.n)
		uwproc_publish(p, q);
	return true;
}

u32 uwprocs_count(const struct Procs *p)
{
	return p->n;
}

u32 uwprocs_denied(const struct Procs *p)
{
	return __atomic_load_n(&p->ndenied, __ATOMIC_RELAXED);
}
