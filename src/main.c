// Command line: the subcommand table, bpftrace's options, and which of the two names sonde was called by.
#include "base/base.h"
#include "bpf/bpf.h"
#include "help.h"
#include "session/session.h"
#include "tool/tool.h"
#include <getopt.h>
#include <signal.h>

#ifndef SONDE_VERSION
#define SONDE_VERSION "0.1.0"
#endif

static int usage_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
static int usage_error(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("ERROR: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputs("\nTry 'sonde --help'.\n", stderr);
	va_end(ap);
	return 1;
}

static bool parse_dump(const char *arg, u32 *out)
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
			return false;
		*out |= stages[i].bit;
		arg += n + (arg[n] == ',');
	}
	return true;
}

static bool parse_features(char *arg, struct Options *o)
{
	for (char *save, *f = strtok_r(arg, ",", &save); f; f = strtok_r(NULL, ",", &save)) {
		if (!strcmp(f, "uprobe_multi"))
			o->no_uprobe_multi = true;
		else if (!strcmp(f, "kprobe_multi"))
			o->no_kprobe_multi = true;
		else if (!strcmp(f, "kprobe_session"))
			o->no_kprobe_session = true;
		else
			return false;
	}
	return true;
}

// Arguments after the options: the script file unless -e gave the text, then parameters; --name=value only after "--".
static int take_params(struct Options *o, int argc, char **argv, int dashdash)
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
	return 0;
}

enum { OPT_UNSAFE = 256, OPT_INFO, OPT_INCLUDE, OPT_NO_WARNINGS, OPT_DRY_RUN, OPT_NO_FEATURE, OPT_USDT_FILE, OPT_UNWIND, OPT_TEST, OPT_BENCH, OPT_INLINES, OPT_LINES, OPT_STACKS, OPT_WHY };

static int parse_options(struct Options *o, int argc, char **argv, bool *done)
{
	static const struct option longs[] = {
		{"help", no_argument, NULL, 'h'},	       {"version", no_argument, NULL, 'V'},
		{"unsafe", no_argument, NULL, OPT_UNSAFE},     {"info", no_argument, NULL, OPT_INFO},
		{"include", required_argument, NULL, OPT_INCLUDE}, {"no-warnings", no_argument, NULL, OPT_NO_WARNINGS},
		{"dry-run", no_argument, NULL, OPT_DRY_RUN},   {"no-feature", required_argument, NULL, OPT_NO_FEATURE},
		{"usdt-file-activation", no_argument, NULL, OPT_USDT_FILE}, {"unwind", required_argument, NULL, OPT_UNWIND},
		{"test", no_argument, NULL, OPT_TEST},	       {"bench", no_argument, NULL, OPT_BENCH},
		{"inlines", no_argument, NULL, OPT_INLINES},   {"lines", no_argument, NULL, OPT_LINES},
		{"why-incomplete", no_argument, NULL, OPT_WHY},
		{"list", optional_argument, NULL, 'l'},	       {"verbose", no_argument, NULL, 'v'},
		{"pid", required_argument, NULL, 'p'},	       {"cmd", required_argument, NULL, 'c'},
		{"output", required_argument, NULL, 'o'},      {"quiet", no_argument, NULL, 'q'},
		{"warnings", no_argument, NULL, 'k'},	       {"debug", required_argument, NULL, 'd'},
		{"stack-storage-size", required_argument, NULL, OPT_STACKS}, {NULL, 0, NULL, 0}};
	static const char *dirs[64], *incs[64];
	int c, dashdash = 0;
	u64 v;
	*done = true;
	for (int i = 1; i < argc && !dashdash; i++)
		if (!strcmp(argv[i], "--"))
			dashdash = argc - i - 1;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "e:f:o:p:c:l::vqkB:d:I:hV", longs, NULL)) != -1) {
		switch (c) {
		case 'e': o->text = optarg; break;
		case 'f':
			if (strcmp(optarg, "text") && strcmp(optarg, "json"))
				return usage_error("Invalid output format \"%s\". Valid formats are text and json.", optarg);
			o->json = !strcmp(optarg, "json");
			break;
		case 'o': o->out_path = optarg; break;
		case 'p':
			if (!parse_u64(optarg, &v) || !v || v > 0x7fffffff)
				return usage_error("Failed to parse pid: pid '%s' is not a valid process id", optarg);
			if (kill((pid_t)v, 0))
				return usage_error("Failed to find process %s: there is no such process", optarg);
			o->pid = (int)v;
			break;
		case 'c': o->cmd = optarg; break;
		case 'l':
			o->list = true;
			if (optarg && !strcmp(optarg, "v"))
				o->verbose = true;
			else if (optarg)
				o->pattern = optarg;
			break;
		case 'v': o->verbose = true; break;
		case 'q': o->quiet = true; break;
		case 'k': o->helper_errors = true; break;
		case 'B':
			if (!strcmp(optarg, "none"))
				o->buf = BUF_NONE;
			else if (!strcmp(optarg, "line"))
				o->buf = BUF_LINE;
			else if (!strcmp(optarg, "full"))
				o->buf = BUF_FULL;
			else
				return usage_error("USAGE: -B must be either 'none', 'line', or 'full', not '%s'.", optarg);
			break;
		case 'd':
			if (!parse_dump(optarg, &o->dump))
				return usage_error("unknown stage '%s' for -d: ast, ir, bpf, maps, verifier or all", optarg);
			break;
		case 'I':
		case OPT_INCLUDE: {
			u32 *n = c == 'I' ? &o->ninclude_dirs : &o->nincludes;
			if (*n == ARRAY_LEN(dirs))
				return usage_error("too many -I or --include options (64 at most)");
			(c == 'I' ? dirs : incs)[(*n)++] = optarg;
			break;
		}
		case 'h': help_print(stdout, NULL); return 0;
		case 'V': printf("%s v%s\n", o->as_bpftrace ? "bpftrace" : "sonde", SONDE_VERSION); return 0;
		case OPT_UNSAFE: o->unsafe = true; break;
		case OPT_INFO: info_print(stdout); return 0;
		case OPT_NO_WARNINGS: o->warnings = false; break;
		case OPT_DRY_RUN: o->dry_run = true; break;
		case OPT_NO_FEATURE:
			if (!parse_features(optarg, o))
				return usage_error("--no-feature takes uprobe_multi, kprobe_multi and kprobe_session");
			break;
		case OPT_USDT_FILE: o->usdt_file_activation = true; break;
		case OPT_UNWIND:
			if (strcmp(optarg, "fp") && strcmp(optarg, "dwarf"))
				return usage_error("--unwind takes fp or dwarf, not '%s'", optarg);
			o->unwind_fp = !strcmp(optarg, "fp");
			break;
		case OPT_TEST: o->test = true; break;
		case OPT_BENCH: o->bench = true; break;
		case OPT_INLINES: o->inlines = true; break;
		case OPT_LINES: o->lines = true; break;
		case OPT_STACKS:
			if (!parse_u64(optarg, &o->stack_entries) || !o->stack_entries)
				return usage_error("--stack-storage-size takes a number of stacks, not '%s'", optarg);
			break;
		case OPT_WHY: o->why_incomplete = true; break;
		default:
			if (optopt)
				return usage_error("option '-%c' is unknown or lacks its value", optopt);
			return usage_error("unknown option '%s'", argv[optind - 1]);
		}
	}
	o->include_dirs = dirs;
	o->includes = incs;
	*done = false;
	return take_params(o, argc, argv, dashdash);
}

static int run_script(int argc, char **argv, bool as_bpftrace)
{
	struct Options o = {.warnings = true, .buf = BUF_LINE, .as_bpftrace = as_bpftrace};
	bool done;
	int rc = parse_options(&o, argc, argv, &done);
	if (!rc && !done) {
		if (o.pid && o.cmd)
			rc = usage_error("USAGE: Cannot use both -c and -p.");
		else if (o.list)
			rc = session_list(&o);
		else if (!o.text && !o.file) {
			help_print(stderr, NULL);
			rc = 1;
		} else
			rc = session_run(&o);
	}
	for (size_t i = 0; i < o.params.n; i++)
		free((char *)o.params.p[i].name);
	vec_deinit(&o.params);
	return rc;
}

static int cmd_info(int argc, char **argv)
{
	info_print(stdout);
	return 0;
}

static int cmd_help(int argc, char **argv)
{
	return help_print(stdout, argc > 1 ? argv[1] : NULL) ? 0 : 1;
}

static const struct {
	const char *name;
	int (*fn)(int argc, char **argv);
} commands[] = {{"info", cmd_info}, {"help", cmd_help}};

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	signal(SIGPIPE, SIG_IGN); // a closed pipe is an error of write(2), seen and acted upon where output is written
	const struct Tool *called = tool_called(name);
	if (called)
		return tool_main(called, argc, argv);
	if (argc > 1 && strcmp(name, "bpftrace")) {
		for (size_t i = 0; i < ARRAY_LEN(commands); i++)
			if (!strcmp(argv[1], commands[i].name))
				return commands[i].fn(argc - 1, argv + 1);
		const struct Tool *t = tool_find(argv[1]);
		if (t)
			return tool_main(t, argc - 1, argv + 1);
	}
	return run_script(argc, argv, !strcmp(name, "bpftrace"));
}
