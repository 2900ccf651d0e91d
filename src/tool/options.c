// Options of the tools: one table for all of them, a tool names the rows it takes.
#include "tool/internal.h"
#include <getopt.h>
#include <linux/magic.h>
#include <sys/vfs.h>

static const char *set_number(u64 *to, const char *v, bool zero_ok)
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

#define PID_LIMIT (1 << 22) // PID_MAX_LIMIT of include/linux/threads.h
static const char *set_list(struct Str *to, const char *v)
{
	for (const char *p = v;; p++) {
		size_t n = strcspn(p, ",");
		u64 id;
		char num[24];
		if (n >= sizeof(num))
			return "must be an integer";
		memcpy(num, p, n);
		num[n] = 0;
		const char *bad = set_number(&id, num, false);
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

static const char *set_cpus(struct Str *to, const char *v)
{
	for (const char *p = v;; p++) {
		size_t n = strcspn(p, ","), dash = strcspn(p, "-,");
		char num[24];
		u64 lo, hi;
		const char *bad = NULL;
		if (!n || n >= sizeof(num) || !dash)
			return n && !dash ? "must be positive" : "must be a CPU, a range or a list of them (0,2-3)";
		snprintf(num, sizeof(num), "%.*s", (int)dash, p);
		bad = set_number(&lo, num, true);
		hi = lo;
		if (!bad && dash < n) {
			snprintf(num, sizeof(num), "%.*s", (int)(n - dash - 1), p + dash + 1);
			bad = set_number(&hi, num, true);
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

// A setter a row: the field and how it is read.
#define FLAG(id, stmt)                                                                                                 \
	static const char *set_##id(struct ToolOpts *o, const char *v)                                                 \
	{                                                                                                              \
		stmt;                                                                                                  \
		return NULL;                                                                                           \
	}
#define EXCL(id, field, val, none, other)                                                                              \
	static const char *set_##id(struct ToolOpts *o, const char *v)                                                 \
	{                                                                                                              \
		if (o->field != none && o->field != val)                                                               \
			return "is not allowed with " other;                                                           \
		o->field = val;                                                                                        \
		return NULL;                                                                                           \
	}
#define NUMBER(id, field, zero_ok)                                                                                     \
	static const char *set_##id(struct ToolOpts *o, const char *v) { return set_number(&o->field, v, zero_ok); }

static const char *set_p(struct ToolOpts *o, const char *v) { return o->tids.n ? "is not allowed with -L/-t" : set_list(&o->pids, v); }
static const char *set_L(struct ToolOpts *o, const char *v) { return o->pids.n ? "is not allowed with -p" : set_list(&o->tids, v); }
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
FLAG(print_script, o->print_script = true)
FLAG(inlines, o->inlines = true)
FLAG(lines, o->lines = true)
FLAG(why, o->why_incomplete = true)
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
FLAG(flame, o->flame = v)
FLAG(pprof, o->pprof = v)
FLAG(o, o->out = v)
NUMBER(i, interval, false)
NUMBER(seconds, duration, false)
NUMBER(min, min_us, true)
NUMBER(max, max_us, false)
// MAX is written out in the message.
#define NUMBER_UP_TO(id, field, MAX)                                                                                    \
	static const char *set_##id(struct ToolOpts *o, const char *v)                                                 \
	{                                                                                                              \
		const char *bad = set_number(&o->field, v, false);                                                     \
		return bad ? bad : o->field > MAX ? "can be " #MAX " at most" : NULL;                                  \
	}
NUMBER_UP_TO(depth, depth, 1024)
NUMBER_UP_TO(keys, keys, 100000000)
NUMBER_UP_TO(storage, stack_entries, 100000000)
static const char *set_comm(struct ToolOpts *o, const char *v)
{
	o->comm = v;
	return *v ? NULL : "must not be empty";
}

static const char *set_C(struct ToolOpts *o, const char *v) { return set_cpus(&o->cpus, v); }

static const char *set_cgroup(struct ToolOpts *o, const char *v)
{
	struct statfs fs;
	if (statfs(v, &fs))
		return "is not there";
	o->cgroup = v;
	return fs.f_type == CGROUP2_SUPER_MAGIC ? NULL : "takes a directory of cgroup v2";
}

static const char *set_state(struct ToolOpts *o, const char *v)
{
	u64 n;
	const char *bad = set_number(&n, v, true);
	if (!bad && n > 0xffff)
		bad = "is a bit mask of task states: 0 runnable, 1 interruptible, 2 uninterruptible, ...";
	if (!bad)
		o->state = (long)n;
	return bad;
}

static const char *set_by(struct ToolOpts *o, const char *v)
{
	static const struct { const char *name; u32 bits; } words[] = {
		{"blocked", BY_BLOCKED}, {"runq", BY_RUNQ}, {"preempted", BY_PREEMPTED}, {"all", BY_BLOCKED | BY_RUNQ | BY_PREEMPTED}};
	for (const char *p = v; *p;) {
		size_t n = strcspn(p, ","), i;
		for (i = 0; i < ARRAY_LEN(words) && (strlen(words[i].name) != n || strncmp(words[i].name, p, n)); i++)
			;
		if (i == ARRAY_LEN(words))
			return "takes blocked, runq, preempted or all, separated by commas";
		o->by |= words[i].bits;
		p += n + (p[n] == ',');
	}
	return o->by ? NULL : "takes blocked, runq, preempted or all, separated by commas";
}

static const char *set_complete(struct ToolOpts *o, const char *v)
{
	if (strcmp(v, "on") && strcmp(v, "off"))
		return "takes on or off";
	o->incomplete = !strcmp(v, "off");
	return NULL;
}

static const char *set_chain(struct ToolOpts *o, const char *v)
{
	const char *bad = set_number(&o->chain, v, false);
	return bad ? bad : o->chain > 8 ? "can be 8 at most" : NULL;
}

static const char *set_F(struct ToolOpts *o, const char *v)
{
	return o->count ? "is not allowed with -c" : set_number(&o->hz, v, false);
}

static const char *set_c(struct ToolOpts *o, const char *v)
{
	return o->hz ? "is not allowed with -F" : set_number(&o->count, v, false);
}

static const char *set_unwind(struct ToolOpts *o, const char *v)
{
	if (strcmp(v, "fp") && strcmp(v, "dwarf"))
		return "takes fp or dwarf";
	o->unwind_fp = !strcmp(v, "fp");
	return NULL;
}

static const char *set_D(struct ToolOpts *o, const char *v)
{
	if (strcmp(v, "ir") && strcmp(v, "bpf") && strcmp(v, "ast") && strcmp(v, "maps"))
		return "takes ast, ir, bpf or maps";
	o->dump = *v == 'i' ? DUMP_IR : *v == 'b' ? DUMP_BPF : *v == 'a' ? DUMP_AST : DUMP_MAPS;
	return NULL;
}

static const char *set_h(struct ToolOpts *o, const char *v)
{
	tool_usage(o->tool, stdout);
	return "";
}

const struct ToolOption tool_options[] = {
	{'p', "pid", "PID,...", "these processes only", set_p, true},
	{'L', "tid", "TID,...", "these threads only", set_L},
	{'t', "tid", "TID,...", "these threads only", set_L},
	{'U', "user-stacks-only", NULL, "user stacks only", set_U},
	{'K', "kernel-stacks-only", NULL, "kernel stacks only", set_K},
	{'u', "user-threads-only", NULL, "user threads only", set_u},
	{'k', "kernel-threads-only", NULL, "kernel threads only", set_k},
	{'F', "frequency", "HZ", "samples a second on each CPU (49)", set_F},
	{'c', "count", "N", "sample every N events", set_c},
	{'e', "event", "PROBE", "sample at this probe (software:faults, hardware:cycles...)", set_e},
	{'d', "delimited", NULL, "a line between user and kernel stack", set_d},
	{'a', "annotations", NULL, "mark kernel frames with _[k]", set_a},
	{'I', "include-idle", NULL, "idle too", set_I},
	{'f', "folded", NULL, "one line a stack, for flame graph tools", set_f, true},
	{'C', "cpu", "CPU,...", "these CPUs only (2, 0-3, 0,2-3)", set_C},
	{'c', "cpu", "CPU", "this CPU only", set_C},
	{'m', "min-block-time", "US", "only intervals of at least that many microseconds (1)", set_min},
	{'M', "max-block-time", "US", "only intervals of at most that many microseconds", set_max},
	{0, "state", "BITMASK", "only threads that left the CPU in this state (0 runnable, 1 interruptible, 2 uninterruptible)", set_state},
	{0, "by", "WHAT,...", "count blocked, runq, preempted time, or all (all)", set_by},
	{0, "complete", "on|off", "count threads that were asleep when tracing began or ended too (on)", set_complete},
	{0, "check", NULL, "instead of stacks show for each thread that its times add up to the time that passed", set_check},
	{0, "chain", "N", "follow who woke the waker, up to N wakers", set_chain},
	{'l', "lib", "LIBRARY", "the functions are this library's", set_lib},
	{'r', "regexp", NULL, "the pattern is a POSIX extended regular expression", set_r},
	{'P', "perpid", NULL, "stacks of each process separately", set_P},
	{'T', "timestamp", NULL, "print the time of each report", set_T},
	{'v', "verbose", NULL, "show raw addresses", set_v},
	{'D', "duration", "SECONDS", "stop after SECONDS", set_seconds},
	{'A', "addresses", NULL, "show addresses", set_A},
	{'s', "offset", NULL, "show offsets within functions", set_s},
	{0, "per-thread", NULL, "one row a thread instead of a process", set_per_thread},
	{0, "comm", "GLOB", "only processes whose name matches", set_comm, true},
	{0, "cgroup", "PATH", "only members of this cgroup (a directory of cgroup v2) and those below", set_cgroup, true},
	{0, "cgroupmap", "PATH", "only cgroups whose ids are keys of this pinned map", set_cgroupmap, true},
	{0, "mntnsmap", "PATH", "only mount namespaces whose ids are keys of this pinned map", set_mntnsmap, true},
	{0, "tree", NULL, "with -p: their descendants too, also those made while tracing", set_tree, true},
	{0, "depth", "N", "at most N frames a stack", set_depth, true},
	{0, "stack-storage-size", "N", "room for N different stacks of each size class (16384 to 262144)", set_storage, true},
	{0, "hash-storage-size", "N", "keys the count map may hold (100000)", set_keys, true},
	{'i', "interval", "SECONDS", "report every SECONDS", set_i, true},
	{0, "flame", "FILE", "write a flame graph (SVG)", set_flame, true},
	{0, "pprof", "FILE", "write a pprof profile (gzipped)", set_pprof, true},
	{0, "json", NULL, "report as JSON", set_json, true},
	{'o', "output", "FILE", "write the report to FILE", set_o, true},
	{0, "unwind", "fp|dwarf", "how user stacks are walked (dwarf)", set_unwind},
	{0, "inlines", NULL, "inlined functions in user stacks (needs debug information)", set_inlines, true},
	{0, "lines", NULL, "source lines in user stacks (needs debug information)", set_lines, true},
	{0, "why-incomplete", NULL, "at the end, how many user stacks were whole and why the others were not", set_why, true},
	{0, "print-script", NULL, "print the script this runs, and stop", set_print_script, true},
	{0, "dump", "STAGE", "print what a stage of the compiler made, and stop", set_D, true},
	{'h', "help", NULL, "this help", set_h, true},
};
const u32 ntool_options = ARRAY_LEN(tool_options);

static bool takes(const struct Tool *t, const struct ToolOption *row)
{
	if (row->all)
		return true;
	for (const char *const *n = t->options; *n; n++) {
		if ((*n)[0] == row->c && (*n)[1] == '/' && row->name && !strcmp(*n + 2, row->name))
			return true;
		if ((*n)[1] && (*n)[1] != '/' && row->name && !strcmp(*n, row->name))
			return true;
		if ((*n)[1] || (*n)[0] != row->c)
			continue;
		const struct ToolOption *first = tool_options; // of the rows with that letter
		while (first->c != row->c)
			first++;
		if (first == row)
			return true;
	}
	return false;
}

void tool_usage(const struct Tool *t, FILE *out)
{
	fprintf(out, "USAGE: sonde %s [options] %s\n\n%s\n\nOPTIONS:\n", t->name, t->positional, t->summary);
	for (u32 i = 0; i < ntool_options; i++) {
		const struct ToolOption *r = &tool_options[i];
		char left[64];
		if (!takes(t, r))
			continue;
		snprintf(left, sizeof(left), "%s%c%s%s%s%s%s", r->c ? "-" : "  ", r->c ? r->c : ' ', r->c && r->name ? ", " : r->c ? "" : " ",
			 r->name ? "--" : "", r->name ? r->name : "", r->arg ? " " : "", r->arg ? r->arg : "");
		fprintf(out, "    %-34s %s\n", left, r->help);
	}
	fprintf(out, "\nEXAMPLES:\n%s", t->examples);
}

static int usage_error(const struct Tool *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int usage_error(const struct Tool *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "sonde %s: error: ", t->name);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\nTry 'sonde %s --help'.\n", t->name);
	va_end(ap);
	return 2;
}

bool tool_parse(const struct Tool *t, int argc, char **argv, struct ToolOpts *o, int *rc)
{
	struct option longs[64] = {0};
	const struct ToolOption *rows[64];
	char shorts[160] = ":";
	u32 n = 0;
	int c, which = 0;
	for (u32 i = 0; i < ntool_options && n < 63; i++) {
		const struct ToolOption *r = &tool_options[i];
		if (!takes(t, r))
			continue;
		if (r->c) {
			size_t len = strlen(shorts);
			snprintf(shorts + len, sizeof(shorts) - len, "%c%s", r->c, r->arg ? ":" : "");
		}
		longs[n] = (struct option){r->name ? r->name : "", r->arg ? required_argument : no_argument, NULL, 256};
		rows[n++] = r;
	}
	opterr = 0;
	optind = 1;
	*rc = 2;
	while ((c = getopt_long(argc, argv, shorts, longs, &which)) != -1) {
		const struct ToolOption *r = NULL;
		if (c == 256)
			r = rows[which];
		for (u32 i = 0; !r && c != '?' && i < n; i++) {
			bool longs_of = c == ':' && optopt == 256 && rows[i]->name && !strncmp(argv[optind - 1], "--", 2) &&
					!strncmp(argv[optind - 1] + 2, rows[i]->name, strlen(argv[optind - 1] + 2)); // may be shortened
			if (longs_of || rows[i]->c == (c == ':' ? optopt : c))
				r = rows[i];
		}
		if (!r && c != ':') {
			*rc = optopt && optopt != 256 ? usage_error(t, "unrecognized arguments: -%c", optopt)
						      : usage_error(t, "unrecognized arguments: %s", argv[optind - 1]);
			return false;
		}
		const char *bad = c == ':' ? "expected one argument" : r->set(o, optarg);
		if (bad && !*bad) {
			*rc = 0;
			return false;
		}
		if (bad) {
			char letter[4] = "";
			if (r->c)
				snprintf(letter, sizeof(letter), "-%c", r->c);
			*rc = usage_error(t, "argument %s%s%s%s: %s", letter, r->c && r->name ? "/" : "", r->name ? "--" : "", r->name ? r->name : "",
					  bad);
			return false;
		}
	}
	u32 extra = (u32)(argc - optind);
	if (extra && t->untimed) {
		o->pattern = argv[optind++];
		extra--;
	}
	if (extra > t->max_positional) {
		*rc = usage_error(t, "unrecognized arguments: %s", argv[optind + t->max_positional]);
		return false;
	}
	if (extra) {
		const char *bad = set_number(&o->duration, argv[optind], false);
		if (bad) {
			*rc = usage_error(t, "argument duration: %s", bad);
			return false;
		}
	}
	const char *bad = o->tree && !o->pids.n ? "--tree needs -p" : t->check ? t->check(o) : NULL;
	if (bad)
		*rc = usage_error(t, "%s", bad);
	return !bad;
}
