// A tool's script: its template with the gaps filled from the options.
#include "tool/internal.h"

void add_list_test(struct Str *out, const char *what, const char *list)
{
	str_addc(out, '(');
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		str_addf(out, "%s%s == %.*s", p == list ? "" : " || ", what, (int)n, p);
		p += n + (p[n] == ',');
	}
	str_addc(out, ')');
}

void add_and(struct Str *out)
{
	if (out->n)
		str_add(out, " && ");
}

// A script string literal of untrusted option text.
void add_quoted(struct Str *out, const char *s)
{
	str_addc(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			str_addc(out, '\\');
		str_addc(out, *s);
	}
	str_addc(out, '"');
}

static void call_test(struct Str *out, const char *before, const char *text, const char *after)
{
	add_and(out);
	str_add(out, before);
	add_quoted(out, text);
	str_add(out, after);
}

// Many pids, or pids whose children count, are keys of a map; a few are compared one by one.
#define PIDS_COMPARED 8
#define PIDS_A_PROGRAM 200 // the verifier takes time by the square of a program's length
bool pids_in_map(const struct ToolOpts *o)
{
	u32 n = 1;
	for (const char *p = str_text(&o->pids); *p; p++)
		n += *p == ',';
	return o->tree || n > PIDS_COMPARED;
}

static void cpu_test(struct Str *out, const char *list)
{
	str_addc(out, '(');
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ","), lo = strcspn(p, "-,");
		str_add(out, p == list ? "" : " || ");
		if (lo < n)
			str_addf(out, "(cpu >= %.*s && cpu <= %.*s)", (int)lo, p, (int)(n - lo - 1), p + lo + 1);
		else
			str_addf(out, "cpu == %.*s", (int)n, p);
		p += n + (p[n] == ',');
	}
	str_addc(out, ')');
}

// Which threads: a condition on the current one; empty when all.
static void condition(const struct ToolOpts *o, struct Str *out)
{
	struct Str f = {0};
	if (!o->idle) { // in a pid namespace threads from outside have id 0 too
		add_and(&f);
		str_add(&f, "tid(init) != 0");
	}
	if (o->pids.n) {
		add_and(&f);
		if (pids_in_map(o))
			str_add(&f, o->tree ? "(has_key(@pids, pid) || has_key(@tree, tid(init)))" : "has_key(@pids, pid)");
		else
			add_list_test(&f, "pid", o->pids.p);
	}
	if (o->tids.n) {
		add_and(&f);
		add_list_test(&f, "tid", o->tids.p);
	}
	if (o->threads != THREADS_ALL) { // PF_KTHREAD of include/linux/sched.h
		add_and(&f);
		str_addf(&f, "(curtask.flags & 0x200000) %s 0", o->threads == THREADS_USER ? "==" : "!=");
	}
	if (o->comm)
		call_test(&f, "globmatch(comm, ", o->comm, ")");
	if (o->cgroup)
		call_test(&f, "in_cgroup(", o->cgroup, ")");
	if (o->cgroupmap)
		call_test(&f, "pinned_has(", o->cgroupmap, ", cgroup)");
	if (o->mntnsmap) // struct mnt_namespace: its number is that of /proc/PID/ns/mnt
		call_test(&f, "pinned_has(", o->mntnsmap, ", curtask.nsproxy.mnt_ns.ns.inum)");
	if (o->cpus.n) {
		add_and(&f);
		cpu_test(&f, o->cpus.p);
	}
	str_add(out, str_text(&f));
	str_deinit(&f);
}

bool gap_common(const struct ToolOpts *o, const char *name, struct Str *out)
{
	char depth[32] = "";
	if (o->depth)
		snprintf(depth, sizeof(depth), "(%llu)", (unsigned long long)o->depth);
	if (!strcmp(name, "filter")) {
		struct Str f = {0};
		condition(o, &f);
		if (f.n)
			str_addf(out, "/%s/\n", f.p);
		str_deinit(&f);
	} else if (!strcmp(name, "cond")) {
		size_t was = out->n;
		condition(o, out);
		if (out->n == was)
			str_add(out, "true");
	} else if (!strcmp(name, "me")) // each CPU has its own idle thread, all with id 0
		str_add(out, o->idle ? "(tid(init) != 0 ? (int64)tid(init) : -1 - (int64)cpu)" : "tid(init)");
	else if (!strcmp(name, "next"))
		str_add(out, o->idle ? "(args.next_pid != 0 ? (int64)args.next_pid : -1 - (int64)cpu)" : "args.next_pid");
	else if (!strcmp(name, "depth"))
		str_add(out, depth);
	else if (!strcmp(name, "keys"))
		str_addf(out, "%llu", (unsigned long long)(o->keys ? o->keys : 100000));
	else if (!strcmp(name, "id"))
		str_add(out, o->check ? "tid(init)" : o->per_thread ? "tid" : "pid"); // --check: the key of all its maps
	else if (!strcmp(name, "stacks")) {
		if (o->stacks != STACKS_KERNEL)
			str_addf(out, ", ustack%s", depth);
		if (o->stacks != STACKS_USER)
			str_addf(out, ", kstack%s", depth);
	} else
		return false;
	return true;
}

const char *stack_words(const struct ToolOpts *o)
{
	return o->stacks == STACKS_USER ? "user" : o->stacks == STACKS_KERNEL ? "kernel" : "user + kernel";
}

void thread_words(const struct ToolOpts *o, FILE *out)
{
	if (o->tree)
		fprintf(out, "PID %s and descendants", o->roots.p);
	else if (o->pids.n)
		fprintf(out, "PID %s", o->pids.p);
	else if (o->tids.n)
		fprintf(out, "TID %s", o->tids.p);
	else
		fprintf(out, "%s threads", o->threads == THREADS_USER ? "user" : o->threads == THREADS_KERNEL ? "kernel" : "all");
}

// What the filter needs besides itself, after the tool's own probes.
static void filter_probes(const struct ToolOpts *o, struct Str *out)
{
	if (!o->pids.n || !pids_in_map(o))
		return;
	str_add(out, "\n// The processes asked for");
	u32 i = 0;
	for (const char *p = str_text(&o->pids); *p;) {
		size_t n = strcspn(p, ",");
		if (i++ % PIDS_A_PROGRAM == 0)
			str_add(out, i > 1 ? "}\nbegin\n{\n" : "\nbegin\n{\n");
		str_addf(out, "\t@pids[%.*s] = 1;\n", (int)n, p);
		p += n + (p[n] == ',');
	}
	str_add(out, "}\n");
	if (o->tree)
		str_add(out, "\n// Threads and processes they make while tracing goes on, and what these make\n"
			     "tracepoint:sched:sched_process_fork\n/has_key(@pids, pid) || has_key(@tree, tid(init))/\n{\n"
			     "\t@tree[args.child_pid] = 1;\n}\n\n"
			     "tracepoint:sched:sched_process_exit\n{\n\tdelete(@tree, args.pid);\n}\n");
	str_addf(out, "\nend\n{\n\tclear(@pids);\n%s}\n", o->tree ? "\tclear(@tree);\n" : "");
}

// {{name}} is replaced by what the tool's gap function adds; {{?name}} and {{!name}} keep the rest of the line only when that is something, or nothing.
void tool_script(const struct Tool *t, const struct ToolOpts *o, struct Str *out)
{
	for (const char *p = t->template; *p;) {
		const char *open = strstr(p, "{{"), *close = open ? strstr(open, "}}") : NULL;
		if (!close) {
			str_add(out, p);
			break;
		}
		char name[32];
		struct Str text = {0};
		bool when = open[2] == '?' || open[2] == '!';
		str_addn(out, p, (size_t)(open - p));
		snprintf(name, sizeof(name), "%.*s", (int)(close - open - 2 - when), open + 2 + when);
		bool known = t->gap(o, name, &text);
		assert(known);
		(void)known;
		p = close + 2;
		if (!when)
			str_add(out, str_text(&text));
		else if ((text.n != 0) != (open[2] == '?'))
			p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n');
		str_deinit(&text);
	}
	filter_probes(o, out);
}
