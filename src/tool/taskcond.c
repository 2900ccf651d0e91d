// The options' filters on threads other than the current one: those an iterator shows, and those that are just made.
// In: options. Out: a condition of the language. Invariant: it holds for the threads for which the condition on the current thread (script.c) does,
// but that a cgroup made below the one asked for after this does not count.
#include "bpf/bpf.h"
#include "tool/internal.h"
#include <fts.h>
#include <sys/stat.h>

// An id of a task as `pid` and `tid` give it: in sonde's own pid namespace, which the tasks that its iterator shows are all in. thread: the task's own
// id, else its process's. The script has set @level to the namespace's depth.
void task_id(const char *task, bool thread, struct Str *out)
{
	u64 dev, ino;
	if (own_pid_namespace(&dev, &ino))
		str_addf(out, "%s.%sthread_pid.numbers[@level].nr", task, thread ? "" : "group_leader.");
	else
		str_addf(out, "%s.%s", task, thread ? "pid" : "tgid");
}

// A cgroup's id is the inode number of its directory (kernfs).
static void cgroup_test(const char *id, const char *root, struct Str *out)
{
	struct Str ids = {0};
	char *const paths[] = {(char *)root, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *f; walk && (f = fts_read(walk));)
		if (f->fts_info == FTS_D)
			str_addf(&ids, "%s%llu", ids.n ? "," : "", (unsigned long long)f->fts_statp->st_ino);
	if (walk)
		fts_close(walk);
	add_list_test(out, id, str_text(&ids));
	str_deinit(&ids);
}

static void pinned_test(const char *map, const char *task, const char *key, struct Str *out)
{
	if (!map)
		return;
	add_and(out);
	str_add(out, "pinned_has(");
	add_quoted(out, map);
	str_addf(out, ", %s.%s)", task, key);
}

void task_condition(const struct ToolOpts *o, const char *task, struct Str *out)
{
	struct Str f = {0}, what = {0};
	task_id(task, false, &what);
	if (o->pids.n && pids_in_map(o))
		str_addf(&f, o->tree ? "(has_key(@pids, %s) || has_key(@tree, %s.pid))" : "has_key(@pids, %s)", str_text(&what), task);
	else if (o->pids.n)
		add_list_test(&f, str_text(&what), o->pids.p);
	if (o->tids.n) {
		add_and(&f);
		str_reset(&what);
		task_id(task, true, &what);
		add_list_test(&f, str_text(&what), o->tids.p);
	}
	if (o->threads != THREADS_ALL) { // PF_KTHREAD of include/linux/sched.h
		add_and(&f);
		str_addf(&f, "(%s.flags & 0x200000) %s 0", task, o->threads == THREADS_USER ? "==" : "!=");
	}
	if (o->comm) {
		add_and(&f);
		str_addf(&f, "globmatch(%s.comm, ", task);
		add_quoted(&f, o->comm);
		str_addc(&f, ')');
	}
	if (o->cgroup) {
		add_and(&f);
		str_reset(&what);
		str_addf(&what, "%s.cgroups.dfl_cgrp.kn.id", task);
		cgroup_test(str_text(&what), o->cgroup, &f);
	}
	pinned_test(o->cgroupmap, task, "cgroups.dfl_cgrp.kn.id", &f);
	pinned_test(o->mntnsmap, task, "nsproxy.mnt_ns.ns.inum", &f);
	str_add(out, f.n ? str_text(&f) : "true");
	str_deinit(&f);
	str_deinit(&what);
}
