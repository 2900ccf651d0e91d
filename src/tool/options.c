// Options of the tools: one table of those that every tool takes, one of the others, of which a tool names the ones it takes.
// In: argv. Out: struct ToolOpts.
#include "base/base.h"
#include "run/run.h"
#include "tool/internal.h"
#include <linux/magic.h>
#include <sys/vfs.h>

static const char *read_number(u64 *to, const char *v, bool zero_ok)
{
	const char *digits = *v == '-' ? v + 1 : v;
	u64 n;
	if (!*digits || strspn(digits, "0123456789") != strlen(digits))
		return "must be an integer";
	if (*v == '-')
		return "must be positive";
	if (!parse_u64(strspn(v, "0") == strlen(v) ? "0" : v + strspn(v, "0"), &n))
		return "must be an integer";
	if (!n && !zero_ok)
		return "must be nonzero";
	*to = n;
	return NULL;
}

const char *read_ids(struct Str *to, const char *v)
{
	for (const char *p = v;; p++) {
		size_t n = strcspn(p, ",");
		u64 id;
		char num[24];
		if (n >= sizeof(num))
			return "must be an integer";
		memcpy(num, p, n);
		num[n] = 0;
		const char *bad = read_number(&id, num, false);
		if (!bad && id > PID_LIMIT)
			bad = "is beyond the ids that Linux gives (4194304 at most)";
		if (bad)
			return bad;
		str_addf(to, "%s%llu", to->n ? "," : "", (unsigned long long)id);
		p += n;
		if (!*p)
			return NULL;
	}
}

const char *read_cpus(struct Str *to, const char *v)
{
	for (const char *p = v;; p++) {
		size_t n = strcspn(p, ","), dash = strcspn(p, "-,");
		char num[24];
		u64 lo, hi;
		const char *bad = NULL;
		if (!n || n >= sizeof(num) || !dash)
			return n && !dash ? "must be positive" : "must be a CPU, a range or a list of them (0,2-3)";
		snprintf(num, sizeof(num), "%.*s", (int)dash, p);
		bad = read_number(&lo, num, true);
		hi = lo;
		if (!bad && dash < n) {
			snprintf(num, sizeof(num), "%.*s", (int)(n - dash - 1), p + dash + 1);
			bad = read_number(&hi, num, true);
		}
		if (!bad && hi < lo)
			bad = "has a range that ends before it begins";
		if (!bad && hi >= (u64)sysconf(_SC_NPROCESSORS_CONF))
			bad = "names a CPU this machine has not";
		if (bad)
			return bad;
		str_addf(to, hi > lo ? "%s%llu-%llu" : "%s%llu", to->n ? "," : "", (unsigned long long)lo, (unsigned long long)hi);
		p += n;
		if (!*p)
			return NULL;
	}
}

static struct err *wrong(const char *what) // NULL: nothing
{
	return what ? err_new("%s", what) : NULL;
}

// A setter a row: the field and how it is read.
#define FLAG(id, stmt)                                                                                                 \
	static struct err *set_##id(void *to, const struct Option *row, const char *v)                                 \
	{                                                                                                              \
		struct ToolOpts *o = to;                                                                               \
		stmt;                                                                                                  \
		return NULL;                                                                                           \
	}
#define EXCL(id, field, val, none, other)                                                                              \
	static struct err *set_##id(void *to, const struct Option *row, const char *v)                                 \
	{                                                                                                              \
		struct ToolOpts *o = to;                                                                               \
		if (o->field != none && o->field != val)                                                               \
			return wrong("is not allowed with " other);                                                           \
		o->field = val;                                                                                        \
		return NULL;                                                                                           \
	}
#define NUMBER(id, field, zero_ok)                                                                                     \
	static struct err *set_##id(void *to, const struct Option *row, const char *v)                                 \
	{                                                                                                              \
		return wrong(read_number(&((struct ToolOpts *)to)->field, v, zero_ok));                                \
	}

static struct err *set_p(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	return wrong(o->tids.n ? "is not allowed with -L/-t" : read_ids(&o->pids, v));
}
static struct err *set_L(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	return wrong(o->pids.n ? "is not allowed with -p" : read_ids(&o->tids, v));
}
EXCL(U, stacks, STACKS_USER, STACKS_BOTH, "-K")
EXCL(K, stacks, STACKS_KERNEL, STACKS_BOTH, "-U")
EXCL(u, threads, THREADS_USER, THREADS_ALL, "-k")
EXCL(k, threads, THREADS_KERNEL, THREADS_ALL, "-u")
FLAG(f, o->folded = true)
FLAG(d, o->delim = true)
FLAG(a, o->annotate = true)
FLAG(I, o->idle = true)
FLAG(A, o->addrs = true)
FLAG(s, o->offsets = true)
FLAG(per_thread, o->per_thread = true)
FLAG(json, o->json = true)
FLAG(heatmap, o->heatmap = true)
FLAG(print_script, o->print_script = true)
FLAG(inlines, o->inlines = true)
FLAG(lines, o->lines = true)
FLAG(native, o->native = true)
FLAG(async, o->async_frames = true)
FLAG(why, o->why_incomplete = true)
FLAG(strict, o->strict = true)
FLAG(keep, o->keep_privileges = true)
FLAG(e, o->event = v)
FLAG(tree, o->tree = true)
FLAG(cgroupmap, o->cgroupmap = v)
FLAG(mntnsmap, o->mntnsmap = v)
FLAG(check, o->check = true)
FLAG(lib, o->lib = v)
FLAG(r, o->regex = true)
FLAG(P, o->per_pid = true)
FLAG(T, o->timestamps = true)
FLAG(v, o->addrs = true)
FLAG(title, o->title = v)
FLAG(o, o->out = v)
FLAG(cmd, o->cmd = v)
FLAG(status, o->status = true)
FLAG(map, o->map = v)
NUMBER(i, interval, false)
NUMBER(seconds, duration, false)
NUMBER(min, min_us, true)
NUMBER(max, max_us, false)
// MAX is written out in the message.
#define NUMBER_UP_TO(id, field, MAX)                                                                                    \
	static struct err *set_##id(void *to, const struct Option *row, const char *v)                                 \
	{                                                                                                              \
		struct ToolOpts *o = to;                                                                               \
		const char *bad = read_number(&o->field, v, false);                                                     \
		return wrong(bad ? bad : o->field > MAX ? "can be " #MAX " at most" : NULL);                                  \
	}
NUMBER_UP_TO(depth, depth, 1024)
NUMBER_UP_TO(keys, keys, 100000000)
NUMBER_UP_TO(storage, stack_entries, 100000000)
static struct err *set_comm(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	o->comm = v;
	return wrong(*v ? NULL : "must not be empty");
}

static struct err *set_file(void *to, const struct Option *row, const char *v)
{
	((struct ToolOpts *)to)->files.path[(uintptr_t)row->data] = v;
	return NULL;
}

static struct err *set_C(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	return wrong(read_cpus(&o->cpus, v));
}

// -c of bcc's tools is a number; what begins with a program is a command.
static bool took_command(struct ToolOpts *o, const char *v)
{
	bool is = !(*v >= '0' && *v <= '9') && child_is_command(v);
	o->cmd = is ? v : o->cmd;
	return is;
}

static struct err *set_top(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	o->top = TOP_ROWS;
	return wrong(v ? read_number(&o->top, v, false) : NULL);
}

static struct err *set_c_cpu(void *to, const struct Option *row, const char *v)
{
	return took_command(to, v) ? NULL : set_C(to, row, v);
}

static struct err *set_cgroup(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	struct statfs fs;
	if (statfs(v, &fs))
		return wrong("is not there");
	o->cgroup = v;
	return wrong(fs.f_type == CGROUP2_SUPER_MAGIC ? NULL : "takes a directory of cgroup v2");
}

static struct err *set_state(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	u64 n;
	const char *bad = read_number(&n, v, true);
	if (!bad && n > 0xffff)
		bad = "is a bit mask of task states: 0 runnable, 1 interruptible, 2 uninterruptible, ...";
	if (!bad)
		o->state = (long)n;
	return wrong(bad);
}

// Kinds of time are offcputime's alone.
static struct err *read_by(struct ToolOpts *o, const char *v, u32 allowed, const char *say)
{
	static const struct { const char *name; u32 bits; } words[] = {
		{"blocked", BY_BLOCKED}, {"runq", BY_RUNQ}, {"preempted", BY_PREEMPTED}, {"all", BY_KINDS},
		{"container", BY_CONTAINER}, {"cgroup", BY_CGROUP}, {"thread", BY_THREAD}, {"cpu", BY_CPU}};
	o->by = 0; // the last one counts
	for (const char *p = v; *p;) {
		size_t n = strcspn(p, ","), i;
		for (i = 0; i < ARRAY_LEN(words) && (strlen(words[i].name) != n || strncmp(words[i].name, p, n) || !(words[i].bits & allowed)); i++)
			;
		if (i == ARRAY_LEN(words))
			return wrong(say);
		o->by |= words[i].bits;
		p += n + (p[n] == ',');
	}
	return wrong(o->by ? NULL : say);
}

static struct err *set_by(void *to, const struct Option *row, const char *v)
{
	return read_by(to, v, BY_CONTAINER | BY_CGROUP | BY_THREAD | BY_CPU, "takes container, cgroup, thread or cpu, separated by commas");
}
static struct err *set_by_kind(void *to, const struct Option *row, const char *v)
{
	return read_by(to, v, ~0u, "takes blocked, runq, preempted or all, and container, cgroup, thread or cpu, separated by commas");
}

static struct err *set_complete(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	if (strcmp(v, "on") && strcmp(v, "off"))
		return wrong("takes on or off");
	o->incomplete = !strcmp(v, "off");
	return NULL;
}

static struct err *set_one_in(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	const char *bad = read_number(&o->one_in, v, false);
	o->incomplete |= o->one_in > 1;
	return wrong(bad ? bad : o->one_in > 1000000 ? "can be 1000000 at most" : NULL);
}

static struct err *set_chain(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	const char *bad = read_number(&o->chain, v, false);
	return wrong(bad ? bad : o->chain > 8 ? "can be 8 at most" : NULL);
}

static struct err *set_F(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	return wrong(o->count ? "is not allowed with -c" : read_number(&o->hz, v, false));
}

// "PERCENT", of a collector that takes another's place "PERCENT,HZ,N" with what was asked for at first: -F and --one-in are what the other one had come to.
static struct err *set_max_cpu(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	char *end;
	unsigned long long hz, one_in;
	o->max_cpu = strtod(v, &end);
	if (o->feed && *end == ',' && sscanf(end, ",%llu,%llu", &hz, &one_in) == 2) {
		o->limit_hz = hz;
		o->limit_one_in = one_in;
		end += strlen(end);
	}
	o->incomplete |= o->tool == &tool_offcputime || o->tool == &tool_both;
	return wrong(*v && !*end && o->max_cpu > 0 && o->max_cpu <= 100000 ? NULL : "must be a number above 0");
}

static struct err *set_max_memory(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	return wrong(read_number(&o->max_memory, v, false));
}

static struct err *set_c(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	if (took_command(o, v))
		return NULL;
	return wrong(o->hz ? "is not allowed with -F" : read_number(&o->count, v, false));
}

static struct err *set_unwind(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	if (strcmp(v, "fp") && strcmp(v, "dwarf"))
		return wrong("takes fp or dwarf");
	o->unwind_fp = !strcmp(v, "fp");
	return NULL;
}

static struct err *set_D(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	o->dump = passes_named(v, strlen(v));
	return wrong(o->dump ? NULL : "takes a name that 'sonde -d help' lists");
}

static struct err *set_h(void *to, const struct Option *row, const char *v)
{
	struct ToolOpts *o = to;
	(o->tool->usage ? o->tool->usage : tool_usage)(o->tool, stdout);
	o->done = true;
	return NULL;
}

static const struct Option own_options[] = { // a tool names those it takes
	{'L', "tid", "TID,...", "these threads only", set_L},
	{'t', "tid", "TID,...", "these threads only", set_L},
	{'U', "user-stacks-only", NULL, "user stacks only", set_U},
	{'K', "kernel-stacks-only", NULL, "kernel stacks only", set_K},
	{'u', "user-threads-only", NULL, "user threads only", set_u},
	{'k', "kernel-threads-only", NULL, "kernel threads only", set_k},
	{'F', "frequency", "HZ", "samples a second on each CPU (49)", set_F},
	{0, "max-cpu", "PERCENT", "of one processor at most, with -i: else fewer samples a second, fewer switches of threads", set_max_cpu},
	{0, "max-memory", "MB", "with BPF maps at most, with -i: else fewer samples a second, and then the end", set_max_memory},
	{'c', "count", "N", "sample every N nanoseconds of the CPU clock, or software: or hardware: events of -e (-c also takes a command, see --command)", set_c},
	{'e', "event", "PROBE", "sample at this probe (software:faults, hardware:cycles...)", set_e},
	{'d', "delimited", NULL, "a line between user and kernel stack", set_d},
	{'a', "annotations", NULL, "mark frames: _[k] kernel, _[j] of an interpreter, _[i] inlined", set_a},
	{'I', "include-idle", NULL, "idle too", set_I},
	{'C', "cpu", "CPU,...", "these CPUs only (2, 0-3, 0,2-3)", set_C},
	{'c', "cpu", "CPU", "this CPU only (-c also takes a command, see --command)", set_c_cpu},
	{'m', "min-block-time", "US", "only intervals of at least that many microseconds (1)", set_min},
	{'M', "max-block-time", "US", "only intervals of at most that many microseconds", set_max},
	{0, "state", "BITMASK", "only threads that left the CPU in this state (0 runnable, 1 interruptible, 2 uninterruptible)", set_state},
	{0, "by", "WHAT,...", "count blocked, runq, preempted time, or all (all); tell rows apart by container, cgroup, thread, cpu", set_by_kind,
	 .values = "blocked|runq|preempted|all|container|cgroup|thread|cpu,..."},
	{0, "one-in", "N", "one switch in N is looked at, and counted N times (1: all)", set_one_in},
	{0, "complete", "on|off", "count threads that were asleep when tracing began or ended too (on)", set_complete},
	{0, "check", NULL, "instead of stacks show for each thread that its times add up to the time that passed", set_check},
	{0, "chain", "N", "follow who woke the waker, up to N wakers", set_chain},
	{'l', "lib", "LIBRARY", "the functions are this library's", set_lib},
	{'r', "regexp", NULL, "the pattern is a POSIX extended regular expression", set_r},
	{'P', "perpid", NULL, "stacks of each process separately", set_P},
	{'T', "timestamp", NULL, "print the time of each report", set_T},
	{'v', "verbose", NULL, "show addresses: virtual ones, file:... in the file", set_v},
	{'D', "duration", "SECONDS", "stop after SECONDS", set_seconds},
	{'A', "addresses", NULL, "show addresses: virtual ones, file:... in the file", set_A},
	{'s', "offset", NULL, "show offsets within functions", set_s},
	{0, "per-thread", NULL, "one row a thread instead of a process", set_per_thread},
	{0, "unwind", "fp|dwarf", "how user stacks are walked (dwarf)", set_unwind},
	{0, "native", NULL, "user stacks as the processor has them, without functions of interpreted programs", set_native},
	{0, "async", NULL, "user stacks of asyncio programs (CPython 3.11 to 3.14) with the tasks that wait for the one that runs", set_async},
};
static const struct Option common_options[] = {
	{'p', "pid", "PID,...", "these processes only", set_p},
	{'f', "folded", NULL, "one line a stack, for flame graph tools", set_f},
	{0, "comm", "GLOB", "only processes whose name matches", set_comm},
	{0, "cgroup", "PATH", "only members of this cgroup (a directory of cgroup v2) and those below", set_cgroup},
	{0, "cgroupmap", "PATH", "only cgroups whose ids are keys of this pinned map", set_cgroupmap},
	{0, "mntnsmap", "PATH", "only mount namespaces whose ids are keys of this pinned map", set_mntnsmap},
	{'c', "command", "'CMD'", "run CMD, trace it and its children, and end with it; also: -- CMD ARGS", set_cmd},
	{0, "status", NULL, "end with the command's exit status", set_status},
	{0, "by", "WHAT,...", "tell rows apart by container, cgroup, thread or cpu, too: a label and the first row of pictures", set_by,
	 .values = "container|cgroup|thread|cpu,..."},
	{0, "tree", NULL, "with -p: their descendants too, also those made while tracing", set_tree},
	{0, "depth", "N", "at most N frames a stack", set_depth},
	{0, "stack-storage-size", "N", "room for N different stacks of each size class (16384 to 262144)", set_storage},
	{0, "hash-storage-size", "N", "keys the count map may hold (100000)", set_keys},
	{'i', "interval", "SECONDS", "report every SECONDS", set_i},
#define OUTPUT(option, addresses, parts, what, help, write) {0, #option, "FILE", help, set_file, (const void *)OUTPUT_##option},
#include "out/outputs.def"
	{0, "title", "TEXT", "the heading of flame graph and page", set_title},
	{0, "heatmap", NULL, "when, too: slots of 20 ms, a picture of each second in page and text; JSON has the slots", set_heatmap},
	{'j', "json", NULL, "report as JSON", set_json},
	{0, "top", "[=N]", "instead of stacks the N functions with most of their own (20): self, total, object", set_top},
	{'o', "output", "FILE", "write the report to FILE", set_o},
	{0, "inlines", NULL, "inlined functions in user stacks (needs debug information)", set_inlines},
	{0, "lines", NULL, "source lines in user stacks (of C by debug information)", set_lines},
	{0, "why-incomplete", NULL, "at the end, how many user stacks were whole and why the others were not", set_why},
	{0, "strict", NULL, "exit status 3 if anything was lost, cut or missed", set_strict},
	{0, "keep-privileges", NULL, "give up none once probes are attached (docs/security.md)", set_keep},
	{0, "print-script", NULL, "print the script this runs, and stop", set_print_script},
	{0, "dump", "STAGE", "print what a stage of the compiler made, and stop", set_D},
	{'h', "help", NULL, "this help", set_h},
};

// What a run of any script takes besides its own options (cmdline.c): reports of its map of stacks.
const struct Option report_options[] = {
	{0, "folded", NULL, "the map that is keyed by stacks: one line a stack, for flame graph tools", set_f},
	{0, "json", NULL, "... as JSON, a line for each stack (-f json: all output, maps as maps)", set_json},
#include "out/outputs.def"
#undef OUTPUT
	{0, "title", "TEXT", "the heading of flame graph and page", set_title},
	{'i', "interval", "SECONDS", "report it every SECONDS, counted from zero", set_i},
	{0, "duration", "SECONDS", "stop after SECONDS", set_seconds},
	{0, "map", "@NAME", "which map, if several are keyed by stacks", set_map},
	{0, "top", "[=N]", "the N functions with most of their own (20): self, total, object", set_top},
	{0, "delimited", NULL, "with --folded: a line between user and kernel stack", set_d},
	{0, "annotations", NULL, "with --folded: mark frames: _[k] kernel, _[j] of an interpreter, _[i] inlined", set_a},
};
const u32 nreport_options = ARRAY_LEN(report_options);

// By what a tool calls it: "p" or "flame", "c/cpu" where a letter has several rows. NULL: not in that table.
static const struct Option *named(const struct Option *table, size_t ntable, const char *n)
{
	for (const struct Option *o = table; o < table + ntable; o++) {
		bool letter = o->letter == n[0] && (!n[1] || n[1] == '/'), name = n[1] && o->name && !strcmp(o->name, n[1] == '/' ? n + 2 : n);
		if (n[1] == '/' ? letter && name : letter || name)
			return o;
	}
	return NULL;
}

static void add_rows(const struct Tool *t, struct OptionRows *rows)
{
	for (const char *const *n = t->options; *n; n++) {
		const struct Option *o = named(own_options, ARRAY_LEN(own_options), *n);
		if (o)
			vec_push(&rows->v, o);
		else // a tool may name those, too
			assert(named(common_options, ARRAY_LEN(common_options), *n));
	}
	size_t own = rows->v.n;
	for (size_t i = 0; i < ARRAY_LEN(common_options); i++) {
		bool again = false; // a tool's own row goes before that of the same name
		for (size_t k = 0; k < own && !common_options[i].letter; k++)
			again |= !strcmp(rows->v.p[k]->name, common_options[i].name);
		if (!again)
			vec_push(&rows->v, &common_options[i]);
	}
}

static const struct Option *common(const char *name)
{
	const struct Option *o = named(common_options, ARRAY_LEN(common_options), name);
	o = o ? o : named(own_options, ARRAY_LEN(own_options), name);
	return o ? o : named(report_options, nreport_options, name);
}

static void add_common(struct OptionRows *rows, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert(common(names[i]));
		vec_push(&rows->v, common(names[i]));
	}
}

void script_tool_rows(struct OptionRows *rows, bool stacks)
{
	static const char *const reports[] = {
		"folded", "d/delimited", "a/annotations",
#define OUTPUT(option, addresses, parts, what, help, write) #option,
#include "out/outputs.def"
#undef OUTPUT
		"title", "map", "top", "A/addresses", "s/offset", "T/timestamp", "i/interval", "inlines", "lines", "why-incomplete", "stack-storage-size", "unwind",
		"native", "async"};
	static const char *const always[] = {"json", "c/command", "status", "output", "strict", "keep-privileges", "print-script", "dump", "help"};
	if (stacks)
		add_common(rows, reports, ARRAY_LEN(reports));
	add_common(rows, always, ARRAY_LEN(always));
}

void tool_usage(const struct Tool *t, FILE *out)
{
	struct OptionRows rows = {0};
	add_rows(t, &rows);
	fprintf(out, "USAGE: sonde %s [options] %s\n\n%s\n\nOPTIONS:\n", t->name, t->positional, t->summary);
	options_help(&rows, out);
	fprintf(out, "\nEXAMPLES:\n%s", t->examples);
	vec_deinit(&rows.v);
}

void tool_words(const struct Tool *t, FILE *out)
{
	struct OptionRows rows = {0};
	add_rows(t, &rows);
	options_words(&rows, out);
	vec_deinit(&rows.v);
}

static void keep_param(void *to, const struct Option *row, const char *val)
{
	struct ToolOpts *o = to;
	if (!o->tool->script && (!val || o->cmd != val)) // the setter of a script's own row does it
		vec_push(&o->params, ((struct Param){row->name, val}));
}

int tool_take_options(struct ToolOpts *o, struct OptionScan *scan)
{
	return command_options(o->tool->name, o, scan, &o->done, keep_param);
}

int tool_take_duration(struct ToolOpts *o, const char *arg)
{
	const char *bad = read_number(&o->duration, arg, false);
	return bad ? command_usage(o->tool->name, "argument duration: %s", bad) : 0;
}

static int take_positional(struct ToolOpts *o, int n, char **args)
{
	const struct Tool *t = o->tool;
	if (n && t->untimed) {
		o->pattern = *args++;
		n--;
	}
	if (n > (int)t->max_positional)
		return command_usage(t->name, "unrecognized arguments: %s", args[t->max_positional]);
	return n ? tool_take_duration(o, args[0]) : 0;
}

bool tool_parse(const struct Tool *t, int argc, char **argv, struct ToolOpts *o, int *rc)
{
	struct OptionRows rows = {0};
	size_t at = command_split(argv, &argc);
	o->args = at ? argv + at : NULL;
	struct OptionScan scan = {.rows = &rows, .argc = argc, .argv = argv};
	add_rows(t, &rows);
	options_begin(&scan);
	*rc = tool_take_options(o, &scan);
	if (!*rc && !o->done)
		*rc = take_positional(o, argc - options_rest(&scan), argv + options_rest(&scan));
	options_end(&scan);
	vec_deinit(&rows.v);
	if (*rc || o->done)
		return false;
	const char *bad = o->tree && !o->pids.n ? "--tree needs -p" : command_wrong(o);
	if (o->top && (o->folded || o->json || o->by))
		bad = "--top is not allowed with -f, --json and --by";
	if (o->addrs && (o->folded || o->json || o->top))
		bad = "addresses (-A, stackcount's -v) are not allowed with -f, --json and --top";
	if (!bad && t->check)
		bad = t->check(o);
	if (bad)
		*rc = command_usage(t->name, "%s", bad);
	return !bad;
}

void toolopts_deinit(struct ToolOpts *o)
{
	str_deinit(&o->pids);
	str_deinit(&o->roots);
	str_deinit(&o->tids);
	str_deinit(&o->cpus);
	str_deinit(&o->early);
	str_deinit(&o->probes);
	vec_deinit(&o->params);
	free(o->text);
}
