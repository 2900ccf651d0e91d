// Options of a script run. In: argv. Out: struct Options. Invariant: one row of a table for each option, which its line of help is made from too.
#include "base/base.h"
#include "cmdline.h"
#include "bpf/bpf.h"
#include "help.h"
#include "version.h" // made by package/version
#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <sys/stat.h>

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

// What the rows' setters fill.
struct CmdLine {
	struct Options *o;
	struct ToolOpts *reports; // of report_options
	const char *script; // the first word that names a script, if it comes before --help; NULL
	int rc;	   // with done
	bool done; // something was printed which is all that was asked for
	void (*more)(FILE *); // what helps to mend an error, printed below it; NULL
};

static struct Options *opts_of(void *to)
{
	return ((struct CmdLine *)to)->o;
}

static void done(void *to)
{
	((struct CmdLine *)to)->done = true;
}

// ---- options with a value
static struct err *set_text(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	if (!*arg)
		return err_new("USAGE: filename or -e 'program' required.");
	o->text = arg;
	return NULL;
}

static struct err *set_file(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	o->out_path = arg;
	return NULL;
}

static struct err *set_cmd(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	o->cmd = arg;
	return NULL;
}

// A number of a process, or what is wrong with it.
static struct err *parse_pid(const char *arg, int *pid)
{
	u64 v = 0;
	s64 max = 1 << 22;
	struct Str s = {0};
	struct err *e = read_file("/proc/sys/kernel/pid_max", &s, 64); // proc_sys_kernel(5)
	if (!e)
		max = atoll(str_text(&s));
	err_free(e);
	str_deinit(&s);
	if (*arg == '-' && parse_u64(arg + 1, &v))
		return err_new("Pid out of range: %llu", (unsigned long long)-v);
	if (!parse_u64(arg, &v))
		return err_new(*arg >= '0' && *arg <= '9' ? "Failed to parse pid: invalid trailing bytes: %s" : "Failed to parse pid: invalid integer: %s", arg);
	if (v > (u64)max)
		return err_new("Pid out of range: %s", arg);
	*pid = (int)v;
	return NULL;
}

static struct err *set_pid(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	struct err *e = parse_pid(arg, &o->pid);
	if (e)
		return e;
	if (!o->pid || (kill(o->pid, 0) && errno == ESRCH))
		return err_new("Failed to attach to pid: there is no process %s", arg);
	return NULL;
}

static struct err *set_dwarf_pid(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	int pid = 0;
	struct err *e = parse_pid(arg, &pid);
	if (!e)
		vec_push(&o->unwind_pids, pid);
	return e;
}

static struct err *set_format(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	if (strcmp(arg, "text") && strcmp(arg, "json"))
		return err_new("Invalid output format \"%s\"\nValid formats: 'text', 'json'", arg);
	o->json = !strcmp(arg, "json");
	return NULL;
}

static struct err *set_buffering(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	static const char *const names[] = {[BUF_NONE] = "none", [BUF_LINE] = "line", [BUF_FULL] = "full"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], arg)) {
			o->buf = (enum BufMode)i;
			return NULL;
		}
	return err_new("USAGE: -B must be either 'line', 'full', or 'none'.");
}

static struct err *set_stages(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	if (!strcmp(arg, "help")) {
		passes_list(stdout);
		done(to);
		return NULL;
	}
	while (*arg) {
		size_t n = strcspn(arg, ",");
		u32 bits = passes_named(arg, n);
		if (!bits) {
			((struct CmdLine *)to)->more = o->as_bpftrace ? NULL : passes_list;
			return err_new("USAGE: invalid option for -d: %.*s", (int)n, arg);
		}
		o->dump |= bits;
		arg += n + (arg[n] == ',');
	}
	return NULL;
}

static struct err *set_no_feature(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	const struct { const char *name; bool *off; } features[] = {
		{"uprobe_multi", &o->no_uprobe_multi}, {"kprobe_multi", &o->no_kprobe_multi}, {"kprobe_session", &o->no_kprobe_session},
		{"task_work", &o->no_task_work}};
	while (*arg) {
		size_t n = strcspn(arg, ","), i;
		for (i = 0; i < ARRAY_LEN(features); i++)
			if (strlen(features[i].name) == n && !strncmp(arg, features[i].name, n))
				break;
		if (i == ARRAY_LEN(features))
			return err_new("USAGE: --no-feature can only have values 'kprobe_multi,kprobe_session,%suprobe_multi'.", o->as_bpftrace ? "" : "task_work,");
		*features[i].off = true;
		arg += n + (arg[n] == ',');
	}
	return NULL;
}

static struct err *set_include_dir(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	vec_push(&o->include_dirs, arg);
	return NULL;
}

static struct err *set_include(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	vec_push(&o->includes, arg);
	return NULL;
}

// Each directory counts from here, if there is one of that name, and then from the traced binary's.
static void add_debug_dir(struct Options *o, char *dir)
{
	char *here = *dir == '/' ? NULL : realpath(dir, NULL);
	if (here)
		vec_push(&o->debug_dirs, here);
	vec_push(&o->debug_dirs, dir);
}

// "DIR:+DIR": a plus asks bpftrace for the check of the checksum, which is always done here.
static struct err *set_debuginfo(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	while (*arg) {
		size_t n = strcspn(arg, ":"), plus = *arg == '+';
		if (n > plus)
			add_debug_dir(o, xasprintf("%.*s", (int)(n - plus), arg + plus));
		arg += n + (arg[n] == ':');
	}
	return NULL;
}

static struct err *set_traceable(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	if (!can_access(arg, R_OK))
		return err_new("Failed to open kernel function info: Could not read functions from %s. (%s)", arg, strerror(errno));
	o->traceable = arg;
	return NULL;
}

static struct err *set_filter(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	regex_t re;
	int bad = regcomp(&re, arg, REG_EXTENDED | REG_NOSUB);
	if (bad) {
		char why[200];
		regerror(bad, &re, why, sizeof(why));
		return err_new("Invalid --probe-filter regex '%s': %s", arg, why);
	}
	regfree(&re);
	o->filter = arg;
	return NULL;
}

// --mode MODE, or a row that has the mode's name.
static struct err *set_mode(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	arg = row->data ? row->data : arg;
	static const struct { const char *name; enum RunMode mode; } modes[] = {{"test", MODE_TEST}, {"bench", MODE_BENCH}, {"format", MODE_FORMAT}};
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (!strcmp(modes[i].name, arg)) {
			if (o->mode != MODE_TRACE && o->mode != modes[i].mode)
				return err_new("USAGE: --%s conflicts with existing --mode", arg);
			o->mode = modes[i].mode;
			return NULL;
		}
	if (!strcmp(arg, "codegen") || !strcmp(arg, "compiler-bench"))
		return err_new("--mode %s: sonde has no LLVM, there is nothing to measure or write; --mode takes bench, test and format", arg);
	return err_new("USAGE: --mode can only be 'bench', 'test' or 'format'.");
}

static struct err *set_unwind(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	if (strcmp(arg, "fp") && strcmp(arg, "dwarf"))
		return err_new("--unwind takes fp or dwarf, not '%s'", arg);
	o->unwind_fp = !strcmp(arg, "fp");
	return NULL;
}

static struct err *set_stacks(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	if (!parse_u64(arg, &o->stack_entries) || !o->stack_entries)
		return err_new("--stack-storage-size takes a number of stacks, not '%s'", arg);
	return NULL;
}

static struct err *no_llvm(void *to, const struct Option *row, const char *arg)
{
	return err_new("--emit-elf and --emit-llvm: sonde makes eBPF without LLVM and without an object file; -d ir and -d bpf print its code");
}

// ---- options that do more than store something
static struct err *set_list(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	o->list = true;
	if (arg && !strcmp(arg, "v"))
		o->verbose = true;
	else if (arg)
		o->pattern = arg;
	return NULL;
}

static struct err *set_helper_errors(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	if (o->helper_errors)
		return err_new("USAGE: -kk has been deprecated. Use a single -k for runtime warnings for errors in map lookups and probe reads.");
	o->helper_errors = true;
	return NULL;
}

static struct err *set_no_warnings(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	o->warnings = false;
	return NULL;
}

static struct err *nothing(void *to, const struct Option *row, const char *arg)
{
	return NULL;
}

// Behind the name of a script it asks for the script's own options.
static struct err *print_help(void *to, const struct Option *row, const char *arg)
{
	struct CmdLine *c = to;
	if (c->script && !c->o->as_bpftrace)
		c->rc = script_file_help(c->script);
	else
		help_print(stdout, NULL, c->o->as_bpftrace);
	done(to);
	return NULL;
}

static struct err *print_version(void *to, const struct Option *row, const char *arg)
{
	struct Options *o = opts_of(to);
	if (o->as_bpftrace)
		printf("bpftrace v%s (sonde %s)\n", BPFTRACE_LEVEL, SONDE_VERSION);
	else
		printf("sonde v%s\n", SONDE_VERSION);
	done(to);
	return NULL;
}

static struct err *print_info(void *to, const struct Option *row, const char *arg)
{
	info_print(stdout);
	done(to);
	return NULL;
}

static struct err *set_flag(void *to, const struct Option *row, const char *arg)
{
	*(bool *)((char *)opts_of(to) + (size_t)row->data) = true;
	return NULL;
}

#define FLAG(name) set_flag, (const void *)offsetof(struct Options, name)
static const struct Option options[] = {
	{'e', NULL, "'PROGRAM'", "run this program", set_text},
	{'p', "pid", "PID", "trace this process only, end with it", set_pid},
	{'c', "cmd", "'CMD'", "run CMD once probes are attached, end with it", set_cmd},
	{'l', "list", "[PATTERN|FILE]", "list probes; with -v (-lv) their arguments", set_list},
	{'o', "output", "FILE", "write to FILE instead of stdout", set_file},
	{'f', NULL, "text|json", "output format", set_format},
	{'B', NULL, "none|line|full", "output buffering (line)", set_buffering},
	{'q', "quiet", NULL, "keep messages quiet", FLAG(quiet)},
	{'v', "verbose", NULL, "say what is attached", FLAG(verbose)},
	{'k', "warnings", NULL, "report errors of reads and map updates inside the script", set_helper_errors},
	{0, "no-warnings", NULL, "no warnings", set_no_warnings},
	{'I', NULL, "DIR", "search DIR for C headers", set_include_dir},
	{0, "include", "FILE", "as #include FILE at the top of the script", set_include},
	{0, "unsafe", NULL, "allow system(), signal(), override()", FLAG(unsafe)},
	{0, "usdt-file-activation", NULL, "activate USDT semaphores of every process that has the file mapped", FLAG(usdt_file_activation)},
	{0, "unwind", "fp|dwarf", "how user stacks are walked (dwarf: .eh_frame tables, in the kernel)", set_unwind},
	{0, "native", NULL, "user stacks as the processor has them: the interpreter's frames in the place of its program's functions", FLAG(native)},
	{0, "async", NULL, "user stacks of asyncio programs (CPython 3.11 to 3.14) with the tasks that wait for the one that runs", FLAG(async_frames)},
	{0, "dwarf-pid", "PID", "have the unwind tables of this process too before tracing starts", set_dwarf_pid},
	{0, "inlines", NULL, "inlined functions in user stacks (needs debug information)", FLAG(inlines)},
	{0, "lines", NULL, "source lines in user stacks (of C by debug information)", FLAG(lines)},
	{0, "why-incomplete", NULL, "at the end, how many user stacks were whole and why the others were not", FLAG(why_incomplete)},
	{0, "strict", NULL, "exit status 3 if anything was lost, cut or missed", FLAG(strict)},
	{0, "keep-privileges", NULL, "give up none once probes are attached (docs/security.md)", FLAG(keep_privileges)},
	{0, "stack-storage-size", "N", "room for N different stacks of each size class (16384 to 262144)", set_stacks},
	{0, "debuginfo", "DIR[:DIR]", "search these directories for debug information first", set_debuginfo},
	{0, "traceable-functions", "FILE", "kernel functions that may be traced, as in tracefs' available_filter_functions", set_traceable},
	{0, "probe-filter", "REGEX", "only probes whose name matches", set_filter},
	{0, "test", NULL, "run the test: probes of the script (also --mode test)", set_mode, "test"},
	{0, "bench", NULL, "run the bench: probes of the script (also --mode bench)", set_mode, "bench"},
	{0, "no-feature", "LIST", "do without uprobe_multi, kprobe_multi, kprobe_session, task_work", set_no_feature, .values = "uprobe_multi|kprobe_multi|kprobe_session|task_work,..."},
	{0, "fmt", NULL, "print the script in its standard form", set_mode, "format"},
	{0, "dry-run", NULL, "end once everything is attached", FLAG(dry_run)},
	{'d', "debug", "PASS,...", "print what a pass made and stop: ast, ir, opt, bpf, maps; verifier goes on; -d help: all", set_stages},
	{0, "info", NULL, "what this kernel supports", print_info},
	{'V', "version", NULL, "version", print_version},
	{'h', "help", NULL, "this", print_help},
	// bpftrace's, of no use here
	{0, "mode", "MODE", NULL, set_mode},
	{0, "verify-llvm-ir", NULL, NULL, nothing}, // the intermediate code is always checked
	{0, "emit-elf", "FILE", NULL, no_llvm},
	{0, "emit-llvm", "FILE", NULL, no_llvm},
};

static void add_rows(struct OptionRows *rows)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		vec_push(&rows->v, &options[i]);
	for (size_t i = 0; i < nreport_options; i++)
		vec_push(&rows->v, &report_options[i]);
}

void cmdline_options(FILE *out, void (*print)(const struct OptionRows *, FILE *))
{
	struct OptionRows rows = {0};
	add_rows(&rows);
	print(&rows, out);
	vec_deinit(&rows.v);
}

// ---- the rest of the command line
// The script file unless -e gave the text, then parameters; --name=value is an option of the script, after "--" only.
static void take_params(struct Options *o, int i, int argc, char **argv, int dashdash)
{
	if (!o->text && !o->list && i < argc)
		o->file = argv[i++];
	else if (o->list && !o->text && i < argc) {
		if (!can_access(argv[i], F_OK) || strchr(argv[i], ':'))
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

// Where nothing is there is nothing to be found: more likely a slip than meant.
static void warn_no_dir(const char *option, const char *dir)
{
	struct stat st;
	int bad = stat(dir, &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (bad)
		fprintf(stderr, "%sWARNING: %s %s: %s%s\n", diag_color(DIAG_WARNING), option, dir, strerror(bad), diag_uncolor());
}

static void check_dirs(const struct Options *o)
{
	for (size_t i = 0; o->warnings && i < o->include_dirs.n; i++)
		warn_no_dir("-I", o->include_dirs.p[i]);
	for (size_t i = 0; o->warnings && i < o->debug_dirs.n; i++)
		if (*o->debug_dirs.p[i] == '/') // others are relative to the traced binary
			warn_no_dir("--debuginfo", o->debug_dirs.p[i]);
}

// Setters of the tools' say only what is wrong with the value.
static int value_error(const struct Option *row, struct err *e)
{
	struct Str title = {0};
	if (row >= report_options && row < report_options + nreport_options) {
		option_title(row, &title);
		str_addc(&title, ' ');
	}
	int rc = cmdline_error("%s%s", str_text(&title), err_text(e));
	str_deinit(&title);
	return rc;
}

// Options, up to the first one that is wrong or is all that was asked for: the exit status. *rest: the first argument that is none.
static int take_options(struct CmdLine *c, int argc, char **argv, int *rest)
{
	struct OptionRows rows = {0};
	struct OptionScan scan = {.rows = &rows, .argc = argc, .argv = argv, .tells = true};
	const struct Option *row;
	const char *val, *text;
	enum OptionFound found;
	struct err *e = NULL;
	add_rows(&rows);
	options_begin(&scan);
	while ((found = options_next(&scan, &row, &val, &text)) == OPTION_ROW)
		if ((e = row->set(row >= report_options && row < report_options + nreport_options ? (void *)c->reports : c, row, val)) || c->done)
			break;
	*rest = options_rest(&scan);
	options_end(&scan);
	vec_deinit(&rows.v);
	int rc = e ? value_error(row, e) : found == OPTION_UNKNOWN ? usage_error(c->o) : 0; // getopt has said what is wrong
	err_free(e);
	if (rc && c->more)
		c->more(stderr);
	return rc;
}

int cmdline_parse(struct Options *o, struct ToolOpts *reports, int argc, char **argv, bool *done)
{
	struct CmdLine c = {.o = o, .reports = reports};
	int dashdash = 0, rest = 0, rc;
	for (int i = 1; i < argc && !dashdash; i++) {
		size_t n = strlen(argv[i]);
		if (!strcmp(argv[i], "--"))
			dashdash = argc - i - 1;
		if (i + 1 < argc && n > 3 && !strcmp(argv[i] + n - 3, ".bt") && (!strcmp(argv[i + 1], "--help") || !strcmp(argv[i + 1], "-h")))
			c.script = argv[i];
	}
	rc = take_options(&c, argc, argv, &rest);
	*done = c.done;
	if (rc || c.done)
		return rc ? rc : c.rc;
	take_params(o, rest, argc, argv, dashdash);
	if (o->pid && o->cmd) {
		cmdline_error("USAGE: Cannot use both -c and -p.");
		return usage_error(o);
	}
	const char *bad = script_opts_wrong(reports, o);
	if (bad) {
		cmdline_error("%s", bad);
		return usage_error(o);
	}
	if (!o->list && !o->text && !o->file) {
		help_print(stderr, NULL, o->as_bpftrace);
		return 1;
	}
	check_dirs(o);
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
