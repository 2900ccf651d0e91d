// Which of its names sonde was called by, and the subcommand table.
#include "base/base.h"
#include "bpf/bpf.h"
#include "cmdline.h"
#include "help.h"
#include "tool/tool.h"
#include <signal.h>
#include <unistd.h>

static int run_script(int argc, char **argv, bool as_bpftrace)
{
	struct Options o = {.warnings = true, .buf = BUF_LINE, .as_bpftrace = as_bpftrace};
	bool done;
	int rc = cmdline_parse(&o, argc, argv, &done);
	if (!rc && !done)
		rc = o.list ? session_list(&o) : session_run(&o);
	cmdline_free(&o);
	return rc;
}

static int cmd_info(int argc, char **argv)
{
	info_print(stdout);
	return 0;
}

static int cmd_help(int argc, char **argv)
{
	return help_print(stdout, argc > 1 ? argv[1] : NULL, false) ? 0 : 1;
}

static const struct {
	const char *name;
	int (*fn)(int argc, char **argv);
} commands[] = {{"info", cmd_info}, {"help", cmd_help}};

static bool is_word(const char *s)
{
	return *s && *s != '-' && s[strcspn(s, "./")] == 0;
}

static int unknown_tool(const char *word)
{
	const char *names[16];
	size_t n = tool_names(names, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(commands) && n < ARRAY_LEN(names); i++)
		names[n++] = commands[i].name;
	const char *near = nearest_name(word, names, n);
	fprintf(stderr, "ERROR: there is no script or tool '%s'\n", word);
	if (near)
		fprintf(stderr, "HINT: did you mean 'sonde %s'?\n", near);
	else
		fprintf(stderr, "HINT: 'sonde help tools' lists the tools\n");
	return 1;
}

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
	if (argc > 1 && strcmp(name, "bpftrace") && is_word(argv[1]) && access(argv[1], F_OK)) // neither a file nor a tool
		return unknown_tool(argv[1]);
	return run_script(argc, argv, !strcmp(name, "bpftrace"));
}
