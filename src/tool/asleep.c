// Threads that slept while tracing went on: no event ever told of them, /proc does.
// In: the threads that were seen (map @seen), the options' filters. Out: samples with the kernel stack /proc/PID/task/TID/stack shows, which is the one
// they went to sleep with. Invariant: a thread that ran or was born while tracing is not among them. proc(5).
#include "bpf/bpf.h"
#include "tool/internal.h"
#include <ctype.h>
#include <dirent.h>

#define PF_KTHREAD 0x200000 // include/linux/sched.h

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;
	return x < y ? -1 : x > y;
}

static bool in_list(const struct Str *list, u64 id)
{
	const char *p = str_text(list);
	for (; *p; p += *p == ',') {
		char *end;
		if (strtoull(p, &end, 10) == id)
			return true;
		p = end;
	}
	return !list->n;
}

// Task states as letters (fs/proc/array.c) and as the scheduler's bits
static long state_bit(char letter)
{
	static const char letters[] = "RSDTtXZPI";
	const char *at = strchr(letters, letter);
	return !at || !letter ? -1 : at == letters ? 0 : 1L << (at - letters - 1);
}

struct Task {
	char comm[64], state;
	u64 flags;
};

// /proc/PID/task/TID/stat: "TID (comm) S ppid pgrp session tty tpgid flags ..."; the name may hold anything
static bool read_task(const char *dir, struct Task *t)
{
	char path[96];
	struct Str s = {0};
	snprintf(path, sizeof(path), "%s/stat", dir);
	struct err *e = read_file(path, &s, 4096);
	char *open = e ? NULL : strchr(str_text(&s), '('), *close = e ? NULL : strrchr(str_text(&s), ')');
	bool ok = open && close && close > open;
	if (ok) {
		snprintf(t->comm, sizeof(t->comm), "%.*s", (int)(close - open - 1), open + 1);
		ok = sscanf(close + 1, " %c %*d %*d %*d %*d %*d %llu", &t->state, (unsigned long long *)&t->flags) == 2;
	}
	err_free(e);
	str_deinit(&s);
	return ok;
}

static bool wanted(const struct ToolOpts *o, const struct Task *t)
{
	bool kernel = t->flags & PF_KTHREAD;
	long bit = state_bit(t->state);
	if (bit <= 0 || bit & 0x30) // runs, or ends
		return false;
	return (o->threads == THREADS_ALL || kernel == (o->threads == THREADS_KERNEL)) && (o->state < 0 || o->state == bit) &&
	       (!o->comm || glob_match(o->comm, t->comm));
}

// Lines "[<0>] name+0x12/0x34 [module]", leaf first
static void read_stack(const char *dir, struct Arena *a, struct StackSample *s)
{
	char path[96];
	struct Str text = {0};
	snprintf(path, sizeof(path), "%s/stack", dir);
	struct err *e = read_file(path, &text, 1 << 16);
	u32 lines = 0;
	for (const char *p = str_text(&text); !e && *p; p++)
		lines += *p == '\n';
	struct Frame *f = arena_new_n(a, struct Frame, lines + 1);
	for (const char *p = str_text(&text); !e && *p && s->nkern < lines;) {
		size_t len = strcspn(p, "\n");
		const char *name = memchr(p, ' ', len);
		size_t n = name ? strcspn(name + 1, "+ \n") : 0;
		if (n) {
			const char *off = name + 1 + n;
			f[s->nkern++] = (struct Frame){.sym = arena_strndup(a, name + 1, n), .sym_off = *off == '+' ? strtoull(off + 1, NULL, 16) : 0,
						       .kernel = true};
		}
		p += len + (p[len] == '\n');
	}
	s->kern = f;
	err_free(e);
	str_deinit(&text);
}

static void add_thread(struct Sleepers *out, const struct ToolOpts *o, u64 pid, u64 tid)
{
	struct Task t = {0};
	char dir[64];
	snprintf(dir, sizeof(dir), "/proc/%llu/task/%llu", (unsigned long long)pid, (unsigned long long)tid);
	if (!in_list(&o->tids, tid) || !read_task(dir, &t) || !wanted(o, &t))
		return;
	struct StackSample s = {.pid = (u32)(o->per_thread ? tid : pid), .comm = arena_strdup(&out->arena, t.comm)};
	if (o->stacks != STACKS_USER)
		read_stack(dir, &out->arena, &s);
	if (o->stacks != STACKS_KERNEL && !(t.flags & PF_KTHREAD))
		s.user_note = "[asleep while tracing]";
	else if (!s.nkern)
		s.kern_note = "[asleep while tracing]";
	vec_push(&out->v, s);
}

static struct err *seen_threads(struct RunCtx *rc, u64 **ids, u32 *n)
{
	struct MapDump d = {0};
	struct MapDef *m = program_map(rc->prog, "@seen");
	*ids = NULL;
	*n = 0;
	struct err *e = m ? map_dump(m, &d) : NULL;
	if (!e && m && d.n) {
		*ids = xcalloc(d.n, sizeof(**ids));
		for (u32 i = 0; i < d.n; i++)
			memcpy(&(*ids)[i], d.keys + (size_t)i * d.key_size, MIN(d.key_size, 8u));
		*n = d.n;
		qsort(*ids, *n, sizeof(**ids), by_number);
	}
	map_dump_free(&d);
	return e;
}

struct err *sleepers_collect(struct Sleepers *out, struct RunCtx *rc, const struct ToolOpts *o)
{
	u64 *seen;
	u32 n;
	struct err *e = seen_threads(rc, &seen, &n);
	DIR *procs = e || o->cgroup ? NULL : opendir("/proc");
	for (struct dirent *p; procs && (p = readdir(procs));) {
		char dir[64];
		u64 pid;
		if (!isdigit((unsigned char)*p->d_name) || !parse_u64(p->d_name, &pid) || !in_list(&o->pids, pid))
			continue;
		snprintf(dir, sizeof(dir), "/proc/%llu/task", (unsigned long long)pid);
		DIR *tasks = opendir(dir);
		for (struct dirent *t; tasks && (t = readdir(tasks));) {
			u64 tid;
			if (isdigit((unsigned char)*t->d_name) && parse_u64(t->d_name, &tid) && !(n && bsearch(&tid, seen, n, sizeof(*seen), by_number)))
				add_thread(out, o, pid, tid);
		}
		if (tasks)
			closedir(tasks);
	}
	if (procs)
		closedir(procs);
	free(seen);
	return e;
}

void sleepers_deinit(struct Sleepers *s)
{
	vec_deinit(&s->v);
	arena_deinit(&s->arena);
}
