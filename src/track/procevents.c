// What the kernel's records of mappings, forks, executions and ends (mmapev.c) say of processes. Input: one after the other, of all processors, seldom out of order.
// Output: struct Procs as procs.c keeps it: what changed is marked, uwprocs_settle() reads and publishes it.
// Invariant: a mapping that a record speaks of replaces what lay there. There are no records of unmapping: what is left of it is never executed, and goes when its place is
// used again.
#include <sys/sysmacros.h>
#include "track/internal.h"

// What was known of its number is another program's.
static void begin_anew(struct Procs *p, struct UwProc *q)
{
	if (q->jits || q->made.n)
		p->ops.gone(p->ops.arg, q->tgid);
	q->maps.n = q->made.n = 0;
	q->jits = 0;
	q->told_syms = false;
	uwproc_drop_pending(q);
}

static void on_fork(struct Procs *p, const struct MapEvent *e)
{
	struct UwProc *parent = *uwproc_slot(p, e->parent);
	struct UwProc *q = p->follow && parent ? uwproc_get(p, e->tgid) : uwproc_get_wanted(p, e->tgid);
	if (!q)
		return;
	q->named = parent && parent->named;
	// maps already: read in the first scan, or of an earlier process of that number. Or newer ones (see on_late).
	if (!parent || parent->time > e->time || q->time > e->time || q->maps.n || q->dead) {
		q->dead = false;
		if (q->time > e->time)
			q->maps.n = 0;
		else
			begin_anew(p, q);
		uwproc_mark(p, q, true);
		return;
	}
	for (size_t i = 0; i < parent->maps.n; i++)
		vec_push(&q->maps, parent->maps.p[i]);
	if (parent->changed || parent->dirty || parent->jits || parent->made.n)
		uwproc_publish(p, q);
	else
		uwproc_publish_as(p, q, parent->gen); // the same mappings
	if (parent->dirty)
		uwproc_mark(p, q, true);
}

// It is found by way of the whole process.
static void wait_for_proc(struct UwProc *q, const struct MapEvent *e)
{
	struct Pending late = {e->start, e->end, e->off, makedev(e->major, e->minor), e->ino, xstrdup(e->path)};
	vec_push(&q->pending, late);
}

// A file that somebody maps: when a stack comes through it, its process may be gone.
static void learn_file(struct Procs *p, const struct MapEvent *e)
{
	u64 dev = makedev(e->major, e->minor);
	const struct SymFile *f = mapev_has_file(e) && !uwfiles_known(p->files, dev, e->ino) ? sym_file_path(p->syms, e->path) : NULL;
	if (!f || f->ino != e->ino || (major(dev) && dev != f->dev)) // a path of another namespace; overlayfs and btrfs have numbers of their own for stat(2)
		return;
	p->ops.object(p->ops.arg, f->obj, false);
	uwfiles_tell(p->files, dev, e->ino, f);
}

static bool has_map(const struct UwProc *q, const struct ProcMap *m)
{
	for (size_t i = 0; i < q->maps.n; i++) {
		const struct ProcMap *have = &q->maps.p[i];
		if (have->start == m->start && have->end == m->end && !have->obj && have->ino == m->ino && have->dev == m->dev)
			return true;
	}
	return false;
}

static void on_mmap(struct Procs *p, struct UwProc *q, const struct MapEvent *e)
{
	struct ProcMap m = {e->start, e->end, e->off, .dev = makedev(e->major, e->minor), .ino = e->ino};
	bool path = mapev_has_file(e);
	bool vdso = !strcmp(e->path, "[vdso]");
	bool found = !path || (m.file = uwfiles_known(p->files, m.dev, m.ino)) || sym_proc_map(p->syms, q->tgid, e->path, &m);

	if (m.file)
		m.obj = m.file->obj;
	else if (vdso)
		m.obj = sym_object_vdso(p->syms, e->start);
	if (!m.obj)
		m.file_off = 0;
	if (!path && !vdso && has_map(q, &m)) // it may be run again
		return;
	if (found) {
		maps_put(&q->maps, m);
	} else { // gone already, perhaps
		wait_for_proc(q, e);
	}
	uwproc_mark(p, q, !found || (vdso && !m.obj)); // the vDSO of the first 32-bit process is read from its memory
}

// A record older than one that was heeded, since they came from two CPUs: the order in which they change the mappings is lost, /proc has what came of it.
static void on_late(struct Procs *p, struct UwProc *q, const struct MapEvent *e)
{
	if (e->kind == MAPEV_MMAP && e->path[0] == '/') // of a process that will be gone by then
		wait_for_proc(q, e);
	if (e->kind != MAPEV_EXIT)
		uwproc_mark(p, q, true);
}

void uwprocs_event(void *procs, const struct MapEvent *e)
{
	struct Procs *p = procs;
	struct UwProc *q;

	if (e->kind == MAPEV_LOST) {
		p->rescan = true;
		return;
	}
	if (e->kind == MAPEV_FORK) {
		on_fork(p, e);
		return;
	}
	q = e->kind == MAPEV_EXIT ? *uwproc_slot(p, e->tgid) : uwproc_get_wanted(p, e->tgid);
	if (!q) {
		if (p->on_demand && e->kind == MAPEV_MMAP)
			learn_file(p, e);
		return;
	}
	if (e->time < q->time) {
		on_late(p, q, e);
		return;
	}
	q->time = e->time;
	if (e->kind == MAPEV_EXIT && !q->dead) {
		q->dead = true; // unless other threads live on: uwprocs_tick looks
		q->dead_at = 0;
	} else if (e->kind == MAPEV_EXEC) {
		begin_anew(p, q);
		uwproc_mark(p, q, false);
	} else if (e->kind == MAPEV_MMAP) {
		on_mmap(p, q, e);
	}
}
