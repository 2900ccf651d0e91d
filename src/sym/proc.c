// Processes: address -> symbol through remembered mappings. Input: /proc/PID/maps (or what track/procs.c saw), perf-PID.map, jit-PID.dump.
// Output: SymHit. Invariant: an answer comes from mappings read while the process was the same one (start time and executable are
// compared when they were last checked more than CHECK_NS ago), and stays possible after it has gone.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include "sym/internal.h"

#define CHECK_NS 50000000u    // how long a process is taken to be the one it was
#define REREAD_NS 20000000u   // how often an unknown address may read its maps again ...
#define REREAD_PAUSE 5	      // ... and so many times as long as that took later at the earliest
#define PERFMAP_NS 100000000u // how often a perf map that is missing, or was removed, is looked for
#define STALE_NS 1000000000u  // when known maps are read again: a library may have been replaced by another at its address

#define MANY_PROCS 8192u
#define KEEP_NS 60000000000u // a process that is gone is remembered at least so long
#define MOST_GONE 32768u     // ... unless there are more: a machine that starts thousands a second may have four million numbers for them

// The mappings of a process, by start. Those of a child are its parent's until it executes a program.
struct MapsList {
	u32 refs, n;
	struct ProcMap v[];
};

struct Proc {
	struct Proc *next;
	int pid;
	struct MapsList *list; // NULL: none
	const struct ProcMap *maps; // in list
	u32 n;
	struct PerfMap *perf;
	u64 perf_tried; // when the file was last looked for
	struct JitDump *dump; // among its mappings
	bool located;	// the next three are known: where its perf map is or will be, even when the process is gone by then
	int inner;
	u32 uid;
	struct Root *root;
	bool managed;	// sym_pid_set_maps keeps it up to date
	u64 start_time; // of the process, in ticks; with exe: which process and which program the maps are of
	u64 exe_dev, exe_ino;
	u64 used, checked, read_at, reread_at; // coarse_ns; reread_at: the maps may be read again for an unknown address
};

static u64 coarse_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

static void list_put(struct MapsList *l)
{
	if (l && !--l->refs)
		free(l);
}

static void set_list(struct Proc *p, struct MapsList *l) // takes l
{
	list_put(p->list);
	p->list = l;
	p->maps = l ? l->v : NULL;
	p->n = l ? l->n : 0;
}

static int by_start(const void *a, const void *b)
{
	const struct ProcMap *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

// What is remembered of mappings; their files may be gone by the time that it is asked for.
static bool same_maps(const struct ProcMap *a, const struct ProcMap *b, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (a[i].start != b[i].start || a[i].end != b[i].end || a[i].file_off != b[i].file_off || a[i].obj != b[i].obj || a[i].made != b[i].made)
			return false;
	return true;
}

// One with these mappings: that of a process told lately, where it is the same.
static struct MapsList *list_of(struct Syms *s, const struct ProcMap *maps, u32 n)
{
	u64 h = n;
	for (u32 i = 0; i < n; i++)
		h = (h ^ maps[i].start ^ maps[i].end << 20) * 0x9e3779b97f4a7c15u;
	struct MapsList **recent = &s->recent[h >> 58], *l = *recent;
	_Static_assert(SYM_RECENT == 1 << (64 - 58), "recent");
	if (!l || l->n != n || !same_maps(l->v, maps, n)) {
		l = xmalloc(sizeof(*l) + n * sizeof(*maps));
		l->refs = 1; // s->recent's
		l->n = n;
		for (u32 i = 0; i < n; i++) {
			l->v[i] = maps[i];
			l->v[i].file = NULL;
		}
		qsort(l->v, n, sizeof(*l->v), by_start);
		list_put(*recent);
		*recent = l;
	}
	l->refs++;
	return l;
}

static void proc_forget(struct Proc *p)
{
	set_list(p, NULL);
	perfmap_destroy(p->perf);
	jitdump_destroy(p->dump);
	p->perf = NULL;
	p->dump = NULL;
	p->perf_tried = 0;
	p->located = false;
}

// Drops those that are gone and were not used since; used: when the others were.
static void drop_gone(struct Syms *s, u64 since, u64 *used, u32 *n)
{
	*n = 0;
	for (u32 i = 0; i < SYM_BUCKETS; i++) {
		for (struct Proc **at = &s->procs[i], *p; (p = *at);) {
			bool gone = kill(p->pid, 0) && errno == ESRCH;
			if (!gone || p->used >= since) {
				if (gone)
					used[(*n)++] = p->used;
				at = &p->next;
				continue;
			}
			*at = p->next;
			proc_forget(p);
			free(p);
			s->nprocs--;
		}
	}
}

static int by_number(const void *a, const void *b)
{
	const u64 *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

// A trace of days sees millions of processes: once there are many, those that are gone and were not asked for lately are dropped, and of too many the older half.
static void sweep(struct Syms *s)
{
	u64 now = coarse_ns(), *used = xmalloc(s->nprocs * sizeof(*used));
	u32 n;
	drop_gone(s, now - MIN(now, KEEP_NS), used, &n);
	if (n >= MOST_GONE) {
		qsort(used, n, sizeof(*used), by_number);
		drop_gone(s, used[n - MOST_GONE / 2], used, &n);
	}
	free(used);
	s->sweep_at = MAX(MIN(s->nprocs * 2, s->nprocs - n + MOST_GONE), MANY_PROCS);
}

// Now, but later than the use before: of two the older can be told.
static u64 use(struct Syms *s)
{
	return s->used = MAX(coarse_ns(), s->used + 1);
}

static struct Proc *proc_get(struct Syms *s, int pid)
{
	struct Proc **b = &s->procs[(u32)pid % SYM_BUCKETS];
	for (struct Proc *p = *b; p; p = p->next)
		if (p->pid == pid) {
			p->used = use(s);
			return p;
		}
	if (s->nprocs >= MAX(s->sweep_at, MANY_PROCS))
		sweep(s);
	struct Proc *p = xcalloc(1, sizeof(*p));
	s->nprocs++;
	p->pid = pid;
	p->used = use(s);
	p->next = *b;
	return *b = p;
}

void procs_destroy(struct Syms *s)
{
	for (u32 i = 0; i < SYM_BUCKETS; i++) {
		for (struct Proc *p = s->procs[i], *next; p; p = next) {
			next = p->next;
			proc_forget(p);
			free(p);
		}
		s->procs[i] = NULL;
	}
	for (u32 i = 0; i < SYM_RECENT; i++) {
		list_put(s->recent[i]);
		s->recent[i] = NULL;
	}
}

// Start time, field 22 of /proc/PID/stat: after the comm, which may hold anything, even ")". false: the process is gone.
static bool identity(int pid, u64 *start, u64 *dev, u64 *ino)
{
	char path[64], buf[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	buf[n] = 0;
	const char *p = strrchr(buf, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return false;
	*start = strtoull(p + 1, NULL, 10);
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	bool ok = !stat(path, &st); // fails for zombies and kernel threads
	*dev = ok ? st.st_dev : 0;
	*ino = ok ? st.st_ino : 0;
	return true;
}

static void open_perf_map(struct Syms *s, struct Proc *p)
{
	if ((p->perf && !perfmap_is_gone(p->perf)) || (p->perf_tried && coarse_ns() - p->perf_tried < PERFMAP_NS))
		return;
	p->perf_tried = coarse_ns();
	if (!p->located && perfmap_locate(p->pid, &p->inner, &p->uid)) {
		p->root = root_of(s, p->pid);
		p->located = true;
	}
	struct PerfMap *new = p->located ? perfmap_open(p->root, p->inner, p->uid) : perfmap_open(NULL, p->pid, caller_uid());
	if (new) {
		perfmap_destroy(p->perf);
		p->perf = new;
	}
}

bool sym_pid_perf_map(struct Syms *s, int pid)
{
	int inner;
	u32 uid;
	syms_lock(s);
	struct PerfMap *m = perfmap_locate(pid, &inner, &uid) ? perfmap_open(root_of(s, pid), inner, uid) : NULL;
	bool there = m;
	perfmap_destroy(m);
	syms_unlock(s);
	return there;
}

static bool may_be_jit(const struct ProcMap *m)
{
	return (!m->obj || !elf_of(m->obj)) && !(m->start >> 63); // the highest is [vsyscall]
}

// A JIT unmaps its dump when it ends: it is opened while it is there.
static void expect_dump(struct Proc *p)
{
	for (u32 i = 0; i < p->n && !p->dump; i++)
		if (p->maps[i].made == PROC_FILE && p->maps[i].obj && !elf_of(p->maps[i].obj))
			p->dump = jitdump_open(p->maps[i].obj, p->pid);
}

// Looked for as soon as there is code without a file: where a process's perf map is cannot be asked once it is gone.
static void expect_perf_map(struct Syms *s, struct Proc *p)
{
	expect_dump(p);
	for (u32 i = 0; i < p->n; i++) {
		if (may_be_jit(&p->maps[i])) {
			open_perf_map(s, p);
			return;
		}
	}
}

static void read_maps(struct Syms *s, struct Proc *p)
{
	struct ProcMap *maps;
	u32 n;
	p->read_at = coarse_ns();
	struct err *e = sym_proc_maps(s, p->pid, &maps, &n);
	p->reread_at = p->read_at + REREAD_NS + (coarse_ns() - p->read_at) * REREAD_PAUSE;
	if (e || !n) { // gone, or a zombie: keep what is known
		err_free(e);
		return;
	}
	set_list(p, list_of(s, maps, n));
	free(maps);
	expect_perf_map(s, p);
}

// Reads the mappings if they are not known or of another process that had this pid before.
static void refresh(struct Syms *s, struct Proc *p)
{
	if (p->managed || (p->checked && coarse_ns() - p->checked < CHECK_NS))
		return;
	u64 start, dev, ino;
	p->checked = coarse_ns();
	if (!identity(p->pid, &start, &dev, &ino) || (!ino && p->n))
		return;
	bool same = p->n && start == p->start_time && dev == p->exe_dev && ino == p->exe_ino;
	if (same && p->checked - p->read_at < STALE_NS)
		return;
	if (!same)
		proc_forget(p);
	p->start_time = start;
	p->exe_dev = dev;
	p->exe_ino = ino;
	read_maps(s, p);
}

static const struct ProcMap *find(const struct Proc *p, u64 addr)
{
	u32 lo = 0, hi = p->n;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (p->maps[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->n && addr >= p->maps[lo].start ? &p->maps[lo] : NULL;
}

static void by_perf_map(struct Syms *s, struct Proc *p, u64 addr, struct SymHit *h)
{
	open_perf_map(s, p);
	if (p->perf && perfmap_lookup(p->perf, &s->kept, addr, h))
		return;
	if (p->dump)
		jitdump_lookup(p->dump, &s->kept, addr, s->opts.lines, h);
}

struct SymHit sym_pid_addr(struct Syms *s, int pid, u64 addr)
{
	struct SymHit h = {0};
	if (pid <= 0)
		return h;
	syms_lock(s);
	struct Proc *p = proc_get(s, pid);
	refresh(s, p);
	const struct ProcMap *m = find(p, addr);
	if (!m && coarse_ns() > p->reread_at) { // mapped since (dlopen, JIT)
		read_maps(s, p);
		m = find(p, addr);
	}
	if (m && m->obj) {
		h = object_off(s, m->obj, addr - m->start + m->file_off);
		if (s->opts.lines)
			object_inlined(s, m->obj, h.module_off, &h, 1);
	}
	if (!h.name && (!m || may_be_jit(m)))
		by_perf_map(s, p, addr, &h);
	syms_unlock(s);
	return h;
}

struct SymHit sym_pid_jit(struct Syms *s, int pid, u64 addr)
{
	struct SymHit h = {0};
	if (pid <= 0)
		return h;
	syms_lock(s);
	struct Proc *p = proc_get(s, pid);
	refresh(s, p);
	const struct ProcMap *m = find(p, addr);
	if (m && (m->made == PROC_MADE_NAMES || m->made == PROC_MADE_ONCE) && m->obj) // PROC_MADE: what is known of has an object, this was taken when it was not
		h = object_off(s, m->obj, addr - m->start + m->file_off);
	if (!h.name)
		by_perf_map(s, p, addr, &h);
	syms_unlock(s);
	return h;
}

static const char *hint_of(const struct ProcMap *m)
{
	return m->obj ? __atomic_load_n(&m->obj->hint, __ATOMIC_ACQUIRE) : NULL;
}

static bool is_perhaps(const char *hint)
{
	return !strncmp(hint, "perhaps ", 8);
}

bool sym_pid_pieces(struct Syms *s, int pid)
{
	bool pieces = false;
	syms_lock(s);
	const struct Proc *p = pid > 0 ? proc_get(s, pid) : NULL;
	for (u32 i = 0; p && i < p->n && !pieces; i++) {
		const char *hint = hint_of(&p->maps[i]);
		pieces = hint && !strncmp(hint, SYM_PIECES, sizeof(SYM_PIECES) - 1);
	}
	syms_unlock(s);
	return pieces;
}

#define HINTS_MAX 2
const char *sym_pid_hints(struct Syms *s, int pid)
{
	const char *have[HINTS_MAX], *text = "";
	u32 n = 0;
	if (pid <= 0)
		return text;
	syms_lock(s);
	const struct Proc *p = proc_get(s, pid);
	bool tells = false; // of its code: where it is cut it is another's; or it is known whose it is
	for (u32 i = 0; i < p->n && !tells; i++) {
		const char *hint = hint_of(&p->maps[i]);
		tells = p->maps[i].made == PROC_MADE || p->maps[i].made == PROC_MADE_ONCE || (hint && !is_perhaps(hint));
	}
	for (u32 i = 0; i < p->n; i++) {
		const char *hint = hint_of(&p->maps[i]);
		if (hint && tells && is_perhaps(hint))
			hint = NULL;
		for (u32 k = 0; k < n; k++)
			if (have[k] == hint)
				hint = NULL;
		if (!hint || n == HINTS_MAX)
			continue;
		have[n] = hint;
		text = n++ ? arena_printf(&s->arena, "%s; %s", text, hint) : hint;
	}
	syms_unlock(s);
	return text;
}

void sym_pid_remember(struct Syms *s, int pid)
{
	if (pid <= 0)
		return;
	syms_lock(s);
	refresh(s, proc_get(s, pid));
	syms_unlock(s);
}

// Is anything known of it that another process or program of this number would not have? Its mappings are told anew anyway.
static bool has_names(const struct Proc *p)
{
	return p->perf || p->dump || p->located || p->perf_tried;
}

static void identify(struct Proc *p)
{
	u64 start, dev, ino;
	if (!identity(p->pid, &start, &dev, &ino) || (start == p->start_time && (!ino || (ino == p->exe_ino && dev == p->exe_dev))))
		return;
	proc_forget(p); // another process or program: its perf map is not this one's
	p->start_time = start;
	p->exe_dev = dev;
	p->exe_ino = ino;
}

// For each fork and exec of the machine: a process without code of its own making is not asked in /proc who it is (three system calls and two paths).
void sym_pid_set_maps(struct Syms *s, int pid, const struct ProcMap *maps, u32 n)
{
	if (pid <= 0)
		return;
	syms_lock(s);
	struct Proc *p = proc_get(s, pid);
	bool jit = false;
	for (u32 i = 0; i < n && !jit; i++)
		jit = may_be_jit(&maps[i]);
	if (jit || has_names(p))
		identify(p);
	set_list(p, list_of(s, maps, n));
	p->managed = true;
	p->read_at = coarse_ns();
	p->reread_at = p->read_at + REREAD_NS;
	expect_perf_map(s, p);
	syms_unlock(s);
}
