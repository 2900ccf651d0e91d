// See help.h. Everything that can be derived from a table is.
#include "agent/agent.h"
#include "base/base.h"
#include "cmdline.h"
#include "help.h"
#include "lang/lang.h"
#include "probe/probe.h"
#include "tool/tool.h"

static const char usage_sonde[] =
	"USAGE: sonde [options] FILE [ARGS]          run a bpftrace script\n"
	"       sonde [options] -e 'PROGRAM' [ARGS]\n"
	"       sonde TOOL [options]                 a ready-made tool, or NAME.bt of $SONDE_PATH: sonde help tools\n"
	"       sonde top [options]                  what the machine is doing, drawn once a second\n"
	"       sonde agent [options]                profiles to servers and files, for as long as it runs\n"
	"       sonde report|flame [options] FILE    a recorded profile in other forms\n"
	"       sonde diff [options] BEFORE AFTER    what has changed between two profiles\n"
	"       sonde info [-p PID]                  what this kernel can do, or which runtimes a process has\n"
	"       sonde help [lang|probes|tools|NAME]\n";
static const char usage_bpftrace[] =
	"bpftrace - the language of bpftrace, compiled by sonde\n"
	"\n"
	"USAGE:\n"
	"    bpftrace [options] filename [ARGS]\n"
	"    bpftrace [options] - [ARGS]            the program comes from standard input\n"
	"    bpftrace [options] -e 'program' [ARGS]\n";
static const char usage_options[] =
	"\n"
	"OPTIONS:\n";
static const char usage_args[] =
	"\n"
	"ARGS are $1, $2, ... of the script; after -- also its options, read by getopt(): FILE.bt --help lists them.\n"
	"\n"
	"EXAMPLES:\n";
static const char usage_tool_example[] =
	"    sonde profile --flame cpu.svg 10\n"
	"        profile the machine for 10 s and draw a flame graph\n";
static const char usage_examples[] = // \1: the name it was called by
	"    \1 -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }'\n"
	"        files being opened\n"
	"    \1 -e 'profile:hz:99 { @[ustack, kstack] = count(); }'\n"
	"        count stacks in the kernel\n"
	"    \1 -lv 'tracepoint:sched:*'\n"
	"        list tracepoints and their arguments\n";

static void help_usage(FILE *out, bool as_bpftrace)
{
	fputs(as_bpftrace ? usage_bpftrace : usage_sonde, out);
	fputs(usage_options, out);
	cmdline_options(out, options_help);
	fputs(usage_args, out);
	if (!as_bpftrace)
		fputs(usage_tool_example, out);
	for (const char *p = usage_examples; *p; p++) {
		if (*p == '\1')
			fputs(as_bpftrace ? "bpftrace" : "sonde", out);
		else
			fputc(*p, out);
	}
}

static void help_lang(FILE *out)
{
	for (size_t i = 0; i < BUILTINS; i++)
		if (*builtins[i].sig)
			fprintf(out, "%-62s %s%s\n", builtins[i].sig, builtins[i].help, builtins[i].flags & BF_UNSAFE ? " (needs --unsafe)" : "");
}

static void help_topics(FILE *out)
{
	static const char *const pages[][2] = {{"lang", "builtins and functions of the language"}, {"probes", "kinds of probes"}, {"tools", "what is ready-made"}};
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		fprintf(out, "%s\t%s\n", pages[i][0], pages[i][1]);
	for (u32 i = 0; i < nproviders; i++)
		fprintf(out, "%s\t%s\n", providers[i].name, providers[i].help);
	for (size_t i = 0; i < BUILTINS; i++)
		if (*builtins[i].sig)
			fprintf(out, "%s\t%s\n", builtins[i].name, builtins[i].help);
}

// Commands with a page of options, beside those of fromfile.c
static const struct {
	const char *name, *does;
	void (*usage)(FILE *out);
	void (*words)(FILE *out);
} commands[] = {{"top", "What the machine is doing now: functions, stacks, processes, drawn once a second", top_usage, top_words},
		{"diff", "What has changed between two recorded profiles, and what only seems to", diff_usage, diff_words},
		{"agent", "Profiles of the whole machine to servers and files, for as long as it runs", agent_usage, agent_words}};

void help_commands(FILE *out)
{
	fromfile_help(out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(out, "%-14s %s\n", commands[i].name, commands[i].does);
}

// False: it is none.
static bool help_command(const char *name, bool words, FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, name)) {
			(words ? commands[i].words : commands[i].usage)(out);
			return true;
		}
	return words ? fromfile_words(name, out) : fromfile_usage(name, out);
}

static void help_probes(FILE *out)
{
	for (u32 i = 0; i < nproviders; i++)
		fprintf(out, "%-44s %-4s %s\n", providers[i].synopsis, providers[i].alias ? providers[i].alias : "", providers[i].help);
}

bool help_options(FILE *out, const char *tool)
{
	const struct Tool *t = tool ? tool_find(tool) : NULL;
	if (t)
		tool_words(t, out);
	else if (!tool)
		cmdline_options(out, options_words);
	else if (!help_command(tool, true, out) && !script_tool_help(tool, true, out)) {
		fprintf(stderr, "ERROR: there is no tool '%s'\n", tool);
		return false;
	}
	return true;
}

void help_info(FILE *out)
{
	fputs("USAGE: sonde info          what this kernel supports\n"
	      "       sonde info -p PID   which runtimes a process has, and what its stacks will show of them\n", out);
}

bool help_print(FILE *out, const char *topic, bool as_bpftrace)
{
	if (!topic)
		help_usage(out, as_bpftrace);
	else if (!strcmp(topic, "lang"))
		help_lang(out);
	else if (!strcmp(topic, "probes"))
		help_probes(out);
	else if (!strcmp(topic, "info"))
		help_info(out);
	else if (!strcmp(topic, "topics"))
		help_topics(out);
	else if (!strcmp(topic, "tools")) {
		tools_help(out);
		help_commands(out);
		script_tools_help(out);
	} else if (!strcmp(topic, "options"))
		help_options(out, NULL);
	else if (builtin_find(topic)) {
		const struct Builtin *b = builtin_find(topic);
		fprintf(out, "%s\n    %s\n", b->sig, b->help);
	} else if (tool_find(topic))
		tool_usage(tool_find(topic), out);
	else if (help_command(topic, false, out))
		return true;
	else if (provider_find(topic))
		fprintf(out, "%s\n    %s\n", provider_find(topic)->synopsis, provider_find(topic)->help);
	else if (!script_tool_help(topic, false, out)) {
		fprintf(stderr, "ERROR: no help on '%s': try lang, probes, tools or the name of a builtin, probe or tool\n", topic);
		return false;
	}
	return true;
}
