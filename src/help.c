// See help.h. Everything that can be derived from a table is.
#include "help.h"
#include "lang/check.h"
#include "probe/probe.h"
#include "tool/tool.h"

static const char usage_sonde[] =
	"USAGE: sonde [options] FILE [ARGS]          run a bpftrace script\n"
	"       sonde [options] -e 'PROGRAM' [ARGS]\n"
	"       sonde TOOL [options]                 a ready-made tool: sonde help tools\n"
	"       sonde info | help [lang|probes|tools|NAME]\n";
static const char usage_bpftrace[] =
	"bpftrace - the language of bpftrace, compiled by sonde\n"
	"\n"
	"USAGE:\n"
	"    bpftrace [options] filename [ARGS]\n"
	"    bpftrace [options] - [ARGS]            the program comes from standard input\n"
	"    bpftrace [options] -e 'program' [ARGS]\n";
static const char usage_options[] =
	"\n"
	"OPTIONS:\n"
	"    -e 'PROGRAM'     run this program\n"
	"    -p, --pid PID    trace this process only, end with it\n"
	"    -c, --cmd 'CMD'  run CMD once probes are attached, end with it\n"
	"    -l, --list [PATTERN|FILE]  list probes; with -v (-lv) their arguments\n"
	"    -o, --output FILE  write to FILE instead of stdout\n"
	"    -f text|json     output format\n"
	"    -B none|line|full  output buffering (line)\n"
	"    -q, --quiet      keep messages quiet\n"
	"    -v, --verbose    say what is attached\n"
	"    -k, --warnings   report errors of reads and map updates inside the script\n"
	"    --no-warnings    no warnings\n"
	"    -I DIR           search DIR for C headers\n"
	"    --include FILE   as #include FILE at the top of the script\n"
	"    --unsafe         allow system(), signal(), override()\n"
	"    --usdt-file-activation  activate USDT semaphores of every process that has the file mapped\n"
	"    --unwind fp|dwarf  how user stacks are walked (dwarf: .eh_frame tables, in the kernel)\n"
	"    --dwarf-pid PID  have the unwind tables of this process too before tracing starts\n"
	"    --inlines, --lines  inlined functions and source lines in user stacks (needs debug information)\n"
	"    --why-incomplete  at the end, how many user stacks were whole and why the others were not\n"
	"    --stack-storage-size N  room for N different stacks of each size class (16384 to 262144)\n"
	"    --debuginfo DIR[:DIR]  search these directories for debug information first\n"
	"    --traceable-functions FILE  kernel functions that may be traced, as in tracefs' available_filter_functions\n"
	"    --probe-filter REGEX  only probes whose name matches\n"
	"    --test, --bench  run the test: or bench: probes of the script (also --mode test, bench)\n"
	"    --no-feature LIST  do without uprobe_multi, kprobe_multi, kprobe_session\n"
	"    --fmt            print the script in its standard form\n"
	"    --dry-run        end once everything is attached\n"
	"    -d, --debug STAGE  print what a stage made and stop: ast, ir, bpf, maps; verifier goes on\n"
	"    --info           what this kernel supports\n"
	"    -V, --version    version\n"
	"    -h, --help       this\n"
	"\n"
	"ARGS are $1, $2, ... of the script; after -- also --name=value, read by getopt().\n"
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

static void help_probes(FILE *out)
{
	for (u32 i = 0; i < nproviders; i++)
		fprintf(out, "%-44s %-4s %s\n", providers[i].synopsis, providers[i].alias ? providers[i].alias : "", providers[i].help);
}

bool help_print(FILE *out, const char *topic, bool as_bpftrace)
{
	if (!topic)
		help_usage(out, as_bpftrace);
	else if (!strcmp(topic, "lang"))
		help_lang(out);
	else if (!strcmp(topic, "probes"))
		help_probes(out);
	else if (!strcmp(topic, "tools"))
		tools_help(out);
	else if (builtin_find(topic)) {
		const struct Builtin *b = builtin_find(topic);
		fprintf(out, "%s\n    %s\n", b->sig, b->help);
	} else if (tool_find(topic))
		tool_usage(tool_find(topic), out);
	else if (provider_find(topic))
		fprintf(out, "%s\n    %s\n", provider_find(topic)->synopsis, provider_find(topic)->help);
	else {
		fprintf(stderr, "ERROR: no help on '%s': try lang, probes, tools or the name of a builtin, probe or tool\n", topic);
		return false;
	}
	return true;
}
