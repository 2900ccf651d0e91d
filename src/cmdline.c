// Options of a script run. In: argv. Out: struct Options. Invariant: one row of a table for each option; getopt's own tables are made from it.
#include "cmdline.h"
#include "bpf/bpf.h"
#include "help.h"
#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <signal.h>

int cmdline_error(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "%sERROR: ", diag_color(DIAG_ERROR));
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "%s\n", diag_uncolor());
	va_end(ap);
	return 1;
}

static int usage_error(const struct Options *o) // what is wrong has been said: a page of options would scroll it away
{
	fprintf(stderr, "Try '%s --help'.\n", o->as_bpftrace ? "bpftrace" : "sonde");
	return 1;
}

// ---- options with a value
static int set_text(struct Options *o, const char *arg)
{
	if (!*arg)
		return cmdline_error("USAGE: filename or -e 'program' required.");
	o->text = arg;
	return 0;
}

static int set_file(struct Options *o, const char *arg)
{
	o->out_path = arg;
	return 0;
}

static int set_cmd(struct Options *o, const char *arg)
{
	o->cmd = arg;
	return 0;
}

// 0 and a number of a process, or the exit status.
static int parse_pid(const char *arg, int *pid)
{
	u64 v = 0;
	s64 max = 1 << 22;
	struct Str s = {0};
	struct err *e = read_file("/proc/sys/kernel/pid_max", &s, 64); // proc_sys_kernel(5)
	if (!e)
		max = atoll(str_text(&s));
	err_free(e);
	str_deinit(&s);
	if (!parse_u64(arg, &v))
		return cmdline_error(*arg >= '0' && *arg <= '9' ? "Failed to parse pid: invalid trailing bytes: %s" : "Failed to parse pid: invalid integer: %s", arg);
	if (v > (u64)max)
		return cmdline_error("Pid out of range: %s", arg);
	*pid = (int)v;
	return 0;
}

static int set_pid(struct Options *o, const char *arg)
{
	int rc = parse_pid(arg, &o->pid);
	if (rc)
		return rc;
	if (!o->pid || (kill(o->pid, 0) && errno == ESRCH))
		return cmdline_error("Failed to attach to pid: there is no process %s", arg);
	return 0;
}

static int set_dwarf_pid(struct Options *o, const char *arg)
{
	int pid = 0, rc = parse_pid(arg, &pid);
	if (!rc)
		vec_push(&o->unwind_pids, pid);
	return rc;
}

static int set_format(struct Options *o, const char *arg)
{
	if (strcmp(arg, "text") && strcmp(arg, "json"))
		return cmdline_error("Invalid output format \"%s\"\nValid formats: 'text', 'json'", arg);
	o->json = !strcmp(arg, "json");
	return 0;
}

static int set_buffering(struct Options *o, const char *arg)
{
	static const char *const names[] = {[BUF_NONE] = "none", [BUF_LINE] = "line", [BUF_FULL] = "full"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], arg)) {
			o->buf = (enum BufMode)i;
			return 0;
		}
	return cmdline_error("USAGE: -B must be either 'line', 'full', or 'none'.");
}

static int set_stages(struct Options *o, const char *arg)
{
	static const struct { const char *name; u32 bit; } stages[] = {
		{"ast", DUMP_AST}, {"types", DUMP_AST}, {"ir", DUMP_IR}, {"bpf", DUMP_BPF}, {"maps", DUMP_MAPS}, {"verifier", DUMP_VERIFIER},
		{"codegen", DUMP_IR}, {"codegen-opt", DUMP_IR}, {"dis", DUMP_BPF}, {"libbpf", DUMP_VERIFIER}, {"all", DUMP_AST | DUMP_IR | DUMP_BPF | DUMP_MAPS}};
	while (*arg) {
		size_t n = strcspn(arg, ","), i;
		for (i = 0; i < ARRAY_LEN(stages); i++)
			if (strlen(stages[i].name) == n && !strncmp(arg, stages[i].name, n))
				break;
		if (i == ARRAY_LEN(stages))
			return cmdline_error("USAGE: invalid option for -d: %s\nStages are ast, ir, bpf, maps, verifier and all.", arg);
		o->dump |= stages[i].bit;
		arg += n + (arg[n] == ',');
	}
	return 0;
}

static int set_no_feature(struct Options *o, const char *arg)
{
	const struct { const char *name; bool *off; } features[] = {
		{"uprobe_multi", &o->no_uprobe_multi}, {"kprobe_multi", &o->no_kprobe_multi}, {"kprobe_session", &o->no_kprobe_session}};
	while (*arg) {
		size_t n = strcspn(arg, ","), i;
		for (i = 0; i < ARRAY_LEN(features); i++)
			if (strlen(features[i].name) == n && !strncmp(arg, features[i].name, n))
				break;
		if (i == ARRAY_LEN(features))
			return cmdline_error("USAGE: --no-feature can only have values 'kprobe_multi,kprobe_session,uprobe_multi'.");
		*features[i].off = true;
		arg += n + (arg[n] == ',');
	}
	return 0;
}

static int set_include_dir(struct Options *o, const char *arg)
{
	vec_push(&o->include_dirs, arg);
	return 0;
}

static int set_include(struct Options *o, const char *arg)
{
	vec_push(&o->includes, arg);
	return 0;
}

// "DIR:+DIR": a plus asks bpftrace for the check of the checksum, which is always done here.
static int set_debuginfo(struct Options *o, const char *arg)
{
	while (*arg) {
		size_t n = strcspn(arg, ":"), plus = *arg == '+';
		if (n > plus)
			vec_push(&o->debug_dirs, xasprintf("%.*s", (int)(n - plus), arg + plus));
		arg += n + (arg[n] == ':');
	}
	return 0;
}

static int set_traceable(struct Options *o, const char *arg)
{
	if (access(arg, R_OK))
		return cmdline_error("Failed to open kernel function info: Could not read functions from %s. (%s)", arg, strerror(errno));
	o->traceable = arg;
	return 0;
}

static int set_filter(struct Options *o, const char *arg)
{
	regex_t re;
	int bad = regcomp(&re, arg, REG_EXTENDED | REG_NOSUB);
	if (bad) {
		char why[200];
		regerror(bad, &re, why, sizeof(why));
		return cmdline_error("Invalid --probe-filter regex '%s': %s", arg, why);
	}
	regfree(&re);
	o->filter = arg;
	return 0;
}

static int set_mode(struct Options *o, const char *arg)
{
	static const struct { const char *name; enum RunMode mode; } modes[] = {{"test", MODE_TEST}, {"bench", MODE_BENCH}, {"format", MODE_FORMAT}};
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (!strcmp(modes[i].name, arg)) {
			if (o->mode != MODE_TRACE && o->mode != modes[i].mode)
				return cmdline_error("USAGE: --%s conflicts with existing --mode", arg);
			o->mode = modes[i].mode;
			return 0;
		}
	if (!strcmp(arg, "codegen") || !strcmp(arg, "compiler-bench"))
		return cmdline_error("--mode %s: sonde has no LLVM, there is nothing to measure or write; --mode takes bench, test and format", arg);
	return cmdline_error("USAGE: --mode can only be 'bench', 'test' or 'format'.");
}

static int set_unwind(struct Options *o, const char *arg)
{
	if (strcmp(arg, "fp") && strcmp(arg, "dwarf"))
		return cmdline_error("--unwind takes fp or dwarf, not '%s'", arg);
	o->unwind_fp = !strcmp(arg, "fp");
	return 0;
}

static int set_stacks(struct Options *o, const char *arg)
{
	if (!parse_u64(arg, &o->stack_entries) || !o->stack_entries)
		return cmdline_error("--stack-storage-size takes a number of stacks, not '%s'", arg);
	return 0;
}

static int no_llvm(struct Options *o, const char *arg)
{
	return cmdline_error("--emit-elf and --emit-llvm: sonde makes eBPF without LLVM and without an object file; -d ir and -d bpf print its code");
}

// ---- options that do more than store something
static int set_list(struct Options *o, const char *arg)
{
	o->list = true;
	if (arg && !strcmp(arg, "v"))
		o->verbose = true;
	else if (arg)
		o->pattern = arg;
	return 0;
}

static int set_helper_errors(struct Options *o, const char *arg)
{
	if (o->helper_errors)
		return cmdline_error("USAGE: -kk has been deprecated. Use a single -k for runtime warnings for errors in map lookups and probe reads.");
	o->helper_errors = true;
	return 0;
}

static int set_test(struct Options *o, const char *arg)
{
	return set_mode(o, "test");
}

static int set_bench(struct Options *o, const char *arg)
{
	return set_mode(o, "bench");
}

static int set_fmt(struct Options *o, const char *arg)
{
	return set_mode(o, "format");
}

static int set_no_warnings(struct Options *o, const char *arg)
{
	o->warnings = false;
	return 0;
}

static int nothing(struct Options *o, const char *arg)
{
	return 0;
}

static int print_help(struct Options *o, const char *arg)
{
	help_print(stdout, NULL, o->as_bpftrace);
	return 0;
}

static int print_version(struct Options *o, const char *arg)
{
	if (o->as_bpftrace)
		printf("bpftrace v%s (sonde %s)\n", BPFTRACE_LEVEL, SONDE_VERSION);
	else
		printf("sonde v%s\n", SONDE_VERSION);
	return 0;
}

static int print_info(struct Options *o, const char *arg)
{
	info_print(stdout);
	return 0;
}

#define FLAG(name) offsetof(struct Options, name)
static const struct Opt {
	int letter;	   // 0: only a long name
	const char *name;  // NULL: only a letter
	int has_arg;
	int (*set)(struct Options *, const char *arg); // NULL: the flag becomes true
	size_t flag;
	bool ends; // prints something and is all
} opts[] = {
	{'e', NULL, required_argument, set_text},
	{'f', NULL, required_argument, set_format},
	{'o', "output", required_argument, set_file},
	{'p', "pid", required_argument, set_pid},
	{'c', "cmd", required_argument, set_cmd},
	{'l', "list", optional_argument, set_list},
	{'v', "verbose", no_argument, NULL, FLAG(verbose)},
	{'q', "quiet", no_argument, NULL, FLAG(quiet)},
	{'k', "warnings", no_argument, set_helper_errors},
	{'B', NULL, required_argument, set_buffering},
	{'d', "debug", required_argument, set_stages},
	{'I', NULL, required_argument, set_include_dir},
	{'h', "help", no_argument, print_help, 0, true},
	{'V', "version", no_argument, print_version, 0, true},
	{0, "info", no_argument, print_info, 0, true},
	{0, "include", required_argument, set_include},
	{0, "unsafe", no_argument, NULL, FLAG(unsafe)},
	{0, "no-warnings", no_argument, set_no_warnings},
	{0, "dry-run", no_argument, NULL, FLAG(dry_run)},
	{0, "no-feature", required_argument, set_no_feature},
	{0, "usdt-file-activation", no_argument, NULL, FLAG(usdt_file_activation)},
	{0, "debuginfo", required_argument, set_debuginfo},
	{0, "traceable-functions", required_argument, set_traceable},
	{0, "probe-filter", required_argument, set_filter},
	{0, "dwarf-pid", required_argument, set_dwarf_pid},
	{0, "mode", required_argument, set_mode},
	{0, "test", no_argument, set_test},
	{0, "bench", no_argument, set_bench},
	{0, "fmt", no_argument, set_fmt},
	{0, "verify-llvm-ir", no_argument, nothing}, // the intermediate code is always checked
	{0, "emit-elf", required_argument, no_llvm},
	{0, "emit-llvm", required_argument, no_llvm},
	{0, "unwind", required_argument, set_unwind},
	{0, "inlines", no_argument, NULL, FLAG(inlines)},
	{0, "lines", no_argument, NULL, FLAG(lines)},
	{0, "why-incomplete", no_argument, NULL, FLAG(why_incomplete)},
	{0, "stack-storage-size", required_argument, set_stacks},
};
enum { ROW = 256 }; // getopt's value of a row

// ---- the rest of the command line
// The script file unless -e gave the text, then parameters; --name=value is an option of the script, after "--" only.
static void take_params(struct Options *o, int argc, char **argv, int dashdash)
{
	int i = optind;
	if (!o->text && !o->list && i < argc)
		o->file = argv[i++];
	else if (o->list && !o->text && i < argc) {
		if (access(argv[i], F_OK) || strchr(argv[i], ':'))
			o->pattern = argv[i++];
		else
			o->file = argv[i++];
	}
	for (; i < argc; i++) {
		struct Param p = {NULL, argv[i]};
		bool after = dashdash && i >= argc - dashdash;
		if (after && !strncmp(argv[i], "--", 2) && argv[i][2]) {
			char *name = xstrdup(argv[i] + 2), *eq = strchr(name, '=');
			if (eq)
				*eq = 0;
			p = (struct Param){name, eq ? eq + 1 : NULL};
		}
		vec_push(&o->params, p);
	}
}

static void getopt_tables(struct option *longs, char *shorts)
{
	for (size_t i = 0; i < ARRAY_LEN(opts); i++) {
		if (opts[i].name)
			*longs++ = (struct option){opts[i].name, opts[i].has_arg, NULL, ROW + (int)i};
		if (!opts[i].letter)
			continue;
		*shorts++ = (char)opts[i].letter;
		for (int k = 0; k < opts[i].has_arg; k++) // "x:" needs a value, "x::" may have one
			*shorts++ = ':';
	}
	*longs = (struct option){0};
	*shorts = 0;
}

static const struct Opt *opt_of(int c)
{
	if (c >= ROW)
		return &opts[c - ROW];
	for (size_t i = 0; i < ARRAY_LEN(opts); i++)
		if (opts[i].letter == c)
			return &opts[i];
	return NULL;
}

int cmdline_parse(struct Options *o, int argc, char **argv, bool *done)
{
	struct option longs[ARRAY_LEN(opts) + 1];
	char shorts[3 * ARRAY_LEN(opts) + 1];
	int c, dashdash = 0;
	*done = true;
	for (int i = 1; i < argc && !dashdash; i++)
		if (!strcmp(argv[i], "--"))
			dashdash = argc - i - 1;
	getopt_tables(longs, shorts);
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct Opt *opt = opt_of(c);
		if (!opt)
			return usage_error(o); // getopt has said what is wrong
		int rc = opt->set ? opt->set(o, optarg) : 0;
		if (!opt->set)
			*(bool *)((char *)o + opt->flag) = true;
		if (rc || opt->ends)
			return rc;
	}
	take_params(o, argc, argv, dashdash);
	if (o->pid && o->cmd) {
		cmdline_error("USAGE: Cannot use both -c and -p.");
		return usage_error(o);
	}
	if (!o->list && !o->text && !o->file) {
		help_print(stderr, NULL, o->as_bpftrace);
		return 1;
	}
	*done = false;
	return 0;
}

void cmdline_free(struct Options *o)
{
	for (size_t i = 0; i < o->params.n; i++)
		free((char *)o->params.p[i].name);
	for (size_t i = 0; i < o->debug_dirs.n; i++)
		free((char *)o->debug_dirs.p[i]);
	vec_deinit(&o->params);
	vec_deinit(&o->debug_dirs);
	vec_deinit(&o->include_dirs);
	vec_deinit(&o->includes);
	vec_deinit(&o->unwind_pids);
}
