// Which of its names sonde was called by, and the subcommand table.
#include "agent/agent.h"
#include "base/base.h"
#include "bpf/bpf.h"
#include "cmdline.h"
#include "complete.h"
#include "help.h"
#include "tool/tool.h"
#include <limits.h>
#include <signal.h>
#include <unistd.h>

static int run_script(int argc, char **argv, bool as_bpftrace)
{
	struct Options o = {.warnings = true, .buf = BUF_LINE, .as_bpftrace = as_bpftrace};
	bool done;
	struct ToolOpts *reports = script_opts_create();
	int rc = cmdline_parse(&o, reports, argc, argv, &done);
	if (!rc && !done)
		rc = o.list ? session_list(&o) : script_run(&o, reports);
	script_opts_destroy(reports);
	cmdline_free(&o);
	return rc;
}

static int cmd_info(int argc, char **argv)
{
	u64 pid;
	bool of_pid = argc > 1 && (!strcmp(argv[1], "-p") || !strcmp(argv[1], "--pid"));
	if (argc == 1) {
		info_print(stdout);
		return 0;
	}
	if (!of_pid || argc != 3 || !parse_u64(argv[2], &pid) || !pid || pid > INT_MAX) {
		help_info(stderr);
		return 1;
	}
	struct err *e = procinfo_print(stdout, (int)pid);
	if (e)
		fprintf(stderr, "ERROR: process %s: %s\n", argv[2], err_text(e));
	err_free(e);
	return e != NULL;
}

static int cmd_help(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "options"))
		return help_options(stdout, argv[2]) ? 0 : 1;
	if (argc > 2 && !strcmp(argv[1], "complete"))
		return complete_print(stdout, argv[2], argc - 3, argv + 3);
	return help_print(stdout, argc > 1 ? argv[1] : NULL, false) ? 0 : 1;
}

static const struct {
	const char *name;
	int (*fn)(int argc, char **argv);
} commands[] = {{"info", cmd_info}, {"help", cmd_help}, {"flame", fromfile_main}, {"report", fromfile_main}, {"diff", diff_main}, {"top", top_main}, {"agent", agent_main}};

static bool is_word(const char *s)
{
	return *s && *s != '-' && s[strcspn(s, "./")] == 0;
}

static int unknown_tool(const char *word)
{
	const char *names[256];
	struct Arena a = {0};
	size_t n = tool_names(names, ARRAY_LEN(names));
	n += script_tool_names(names + n, ARRAY_LEN(names) - n - ARRAY_LEN(commands), &a);
	for (size_t i = 0; i < ARRAY_LEN(commands) && n < ARRAY_LEN(names); i++)
		names[n++] = commands[i].name;
	const char *near = nearest_name(word, names, n);
	fprintf(stderr, "ERROR: there is no script or tool '%s'\n", word);
	if (is_script_text(word))
		fprintf(stderr, "HINT: the text of a script comes after -e: sonde -e '%s'\n", word);
	else if (near)
		fprintf(stderr, "HINT: did you mean 'sonde %s'?\n", near);
	else
		fprintf(stderr, "HINT: 'sonde help tools' lists the tools\n");
	arena_deinit(&a);
	return 1;
}

// A tool by its name: those of sonde's come before those of the tools' path. False: there is none.
static bool run_tool(const char *name, int argc, char **argv, int *rc)
{
	const struct Tool *t = tool_find(name);
	if (!t)
		return script_tool_main(name, argc, argv, rc);
	script_tool_hidden(name);
	*rc = tool_main(t, argc, argv);
	return true;
}

// A command or tool, argv[0]. False: there is none.
static bool run_word(int argc, char **argv, int *rc)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(argv[0], commands[i].name)) {
			*rc = commands[i].fn(argc, argv);
			return true;
		}
	return is_word(argv[0]) && run_tool(argv[0], argc, argv, rc);
}

static int run(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	bool as_bpftrace = !strcmp(name, "bpftrace");
	char *called = tool_called(name);
	int rc;
	if (called) {
		argv[0] = called;
		bool ran = run_word(argc, argv, &rc);
		free(called);
		if (ran)
			return rc;
		argv[0] = (char *)name;
	}
	if (argc > 1 && !as_bpftrace) {
		if (run_word(argc - 1, argv + 1, &rc))
			return rc;
		if (is_word(argv[1]) && !can_access(argv[1], F_OK)) // nor is it a file
			return unknown_tool(argv[1]);
	}
	return run_script(argc, argv, as_bpftrace);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN); // a closed pipe is an error of write(2), seen and acted upon where output is written
	hold_std_fds();
	return stdout_flush(run(argc, argv));
}
