// --tree: the descendants of the processes given with -p.
// In: the list of pids, /proc. Out: their descendants, before tracing as pids of the script, and once more after attaching as keys of its map @pids.
// Invariant: a child made at any time is traced: until its parent's forks are seen by the script, /proc shows it. proc(5).
#include "bpf/bpf.h"
#include "tool/internal.h"
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>

struct Family {
	u64 pid, parent;
	bool member;
};

static bool read_family(const char *pid, struct Family *f)
{
	char path[64];
	const char *close;
	struct Str s = {0};
	f->member = false;
	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	struct err *e = parse_u64(pid, &f->pid) ? read_file(path, &s, 4096) : err_new("no process");
	bool ok = !e && (close = strrchr(str_text(&s), ')')) && sscanf(close + 1, " %*c %llu", (unsigned long long *)&f->parent) == 1;
	err_free(e);
	str_deinit(&s);
	return ok;
}

static bool listed(const struct Str *pids, u64 id)
{
	char *end;
	for (const char *p = str_text(pids); *p; p = end + (*end == ','))
		if (strtoull(p, &end, 10) == id)
			return true;
	return false;
}

// Appends the descendants of o->pids that are not in it.
static void add_descendants(struct Str *pids)
{
	VEC(struct Family) all = {0};
	struct Family f;
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && read_family(e->d_name, &f)) {
			f.member = listed(pids, f.pid);
			vec_push(&all, f);
		}
	if (d)
		closedir(d);
	for (bool again = true; again;) { // a parent may stand after its child
		again = false;
		for (size_t i = 0; i < all.n; i++) {
			if (all.p[i].member)
				continue;
			for (size_t k = 0; k < all.n && !all.p[i].member; k++)
				all.p[i].member = all.p[k].member && all.p[k].pid == all.p[i].parent;
			if (!all.p[i].member)
				continue;
			str_addf(pids, ",%llu", (unsigned long long)all.p[i].pid);
			again = true;
		}
	}
	vec_deinit(&all);
}

void tree_begin(struct ToolOpts *o)
{
	str_add(&o->roots, str_text(&o->pids));
	add_descendants(&o->pids);
}

void tree_attached(const struct ToolOpts *o, struct RunCtx *rc)
{
	struct MapDef *m = program_map(rc->prog, "@pids");
	struct Str now = {0};
	u64 one = 1, pid, last = 0, left = 0;
	str_add(&now, str_text(&o->pids));
	add_descendants(&now);
	char *p = (char *)str_text(&now) + o->pids.n, *end;
	for (; *p == ','; p = end) {
		pid = strtoull(p + 1, &end, 10);
		if (!m || m->value_size != sizeof(one) || m->key_size > sizeof(pid) || sys_map_update(m->fd, &pid, &one, 0)) {
			left++;
			last = pid;
		}
	}
	report_loss(rc, "processes_not_traced", left, "%llu processes are not traced, for example %llu", (unsigned long long)left, (unsigned long long)last);
	str_deinit(&now);
}

// A thread that is not its process's first has no pidfd, and is gone when it has ended; a process may wait for its parent to ask for its status.
static bool lives(u64 id)
{
	int fd = (int)syscall(SYS_pidfd_open, (int)id, 0);
	if (fd < 0)
		return errno != ESRCH;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool ended = poll(&p, 1, 0) == 1;
	close(fd);
	return !ended;
}

bool any_lives(const char *list)
{
	char *end;
	for (const char *p = list; *p; p = end + (*end == ','))
		if (lives(strtoull(p, &end, 10)))
			return true;
	return false;
}

// Those born while tracing are in @tree until they end, by ids that need not be ours (a pid namespace); the others in @pids.
bool tree_lives(struct RunCtx *rc)
{
	struct MapDef *pids = program_map(rc->prog, "@pids"), *tree = program_map(rc->prog, "@tree");
	u64 at = 0, next = 0;
	if (!pids || !tree || pids->key_size > sizeof(at) || tree->key_size > sizeof(at) || !sys_map_next_key(tree->fd, NULL, &next))
		return true;
	next = 0;
	for (bool first = true; !sys_map_next_key(pids->fd, first ? NULL : &at, &next); first = false, at = next)
		if (lives(next))
			return true;
	return false;
}
