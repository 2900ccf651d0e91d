// Options of the tools: one table for all of them, a tool names the rows it takes.
#include "tool/internal.h"
#include <getopt.h>

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
		if (bad)
			return bad;
		str_addf(to, "%s%llu", to->n ? "," : "", (unsigned long long)id);
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
FLAG(comm, o->comm = v)
FLAG(e, o->event = v)
FLAG(C, o->cpus = v)
FLAG(flame, o->flame = v)
FLAG(pprof, o->pprof = v)
FLAG(o, o->out = v)
NUMBER(depth, depth, false)
NUMBER(keys, keys, false)
NUMBER(i, interval, false)

static const char *set_F(struct ToolOpts *o, const char *v)
{
	return o->count ? "is not allowed with -c" : set_number(&o->hz, v, false);
}

static const char *set_c(struct ToolOpts *o, const char *v)
{
	return o->hz ? "is not allowed with -F" : set_number(&o->count, v, false);
}

static const char *set_storage(struct ToolOpts *o, const char *v)
{
	u64 n; // sonde's stack storage grows as it fills: the number is checked, for scripts that give it
	return set_number(&n, v, false);
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
	{'p', "pid", "PID,...", "these processes only", set_p},
	{'L', "tid", "TID,...", "these threads only", set_L},
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
	{'f', "folded", NULL, "one line a stack, for flame graph tools", set_f},
	{'C', "cpu", "CPU", "this CPU only", set_C},
	{'A', "addresses", NULL, "show addresses", set_A},
	{'s', "offset", NULL, "show offsets within functions", set_s},
	{0, "per-thread", NULL, "one row a thread instead of a process", set_per_thread},
	{0, "comm", "GLOB", "only processes whose name matches", set_comm},
	{0, "depth", "N", "at most N frames a stack", set_depth},
	{0, "stack-storage-size", "N", "accepted for bcc's sake: storage grows by itself", set_storage},
	{0, "hash-storage-size", "N", "keys the count map may hold (1000000)", set_keys},
	{'i', "interval", "SECONDS", "report every SECONDS", set_i},
	{0, "flame", "FILE", "write a flame graph (SVG)", set_flame},
	{0, "pprof", "FILE", "write a pprof profile (gzipped)", set_pprof},
	{0, "json", NULL, "report as JSON", set_json},
	{'o', "output", "FILE", "write the report to FILE", set_o},
	{0, "unwind", "fp|dwarf", "how user stacks are walked (dwarf)", set_unwind},
	{0, "print-script", NULL, "print the script this runs, and stop", set_print_script},
	{'D', "dump", "STAGE", "print what a stage of the compiler made, and stop", set_D},
	{'h', "help", NULL, "this help", set_h},
};
const u32 ntool_options = ARRAY_LEN(tool_options);

static bool takes(const struct Tool *t, const struct ToolOption *row)
{
	for (const char *const *n = t->options; *n; n++)
		if ((row->c && (*n)[0] == row->c && !(*n)[1]) || (row->name && !strcmp(*n, row->name)))
			return true;
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
	char shorts[160] = "";
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
		for (u32 i = 0; !r && c != '?' && i < n; i++)
			if (rows[i]->c == c)
				r = rows[i];
		if (!r) {
			*rc = optopt && optopt != 256 ? usage_error(t, "option -%c is unknown or lacks its value", optopt)
						      : usage_error(t, "option %s is unknown or lacks its value", argv[optind - 1]);
			return false;
		}
		const char *bad = r->set(o, optarg);
		if (bad && !*bad) {
			*rc = 0;
			return false;
		}
		if (bad) {
			*rc = usage_error(t, "argument %s%c%s%s: %s", r->c ? "-" : "", r->c ? r->c : '-', r->c ? "/" : "", r->name ? r->name : "", bad);
			return false;
		}
	}
	u32 extra = (u32)(argc - optind);
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
	const char *bad = t->check ? t->check(o) : NULL;
	if (bad)
		*rc = usage_error(t, "%s", bad);
	return !bad;
}
