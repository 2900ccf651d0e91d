// sonde flame FILE, sonde report FILE: a profile that was recorded before, by sonde or others, in any form of output.
// In: a file (input/). Out: text, and the files asked for. Invariant: what is written holds all that was read, or standard error says what is missing.
#include "base/base.h"
#include "input/input.h"
#include "tool/internal.h"
#include <errno.h>

struct FromFile {
	const struct FromFileCommand *cmd;
	struct InputWish wish;
	struct OutputFiles files;
	const char *title, *out;
	u64 top; // rows; 0: stacks
	bool folded, json, lines, strict, help;
	struct Str left_out; // what the file has that could not be read, as JSON
};
struct FromFileCommand {
	const char *name, *does;
	struct err *(*write)(const struct StackProfile *p, FILE *out); // to standard output, unless a file or a text form is asked for; NULL: stacks as text
	const char *examples;
};
static const struct FromFileCommand commands[] = {
	{"flame", "Flame graph of a recorded profile, to standard output", flame_write,
	 "    sonde flame out.folded > cpu.svg               of folded stacks\n"
	 "    perf script | sonde flame --title CPU - > cpu.svg\n"},
	{"report", "A recorded profile in other forms: text, flame graph, page, pprof", NULL,
	 "    sonde report cpu.pb.gz                         the stacks as text\n"
	 "    sonde report --html cpu.html cpu.pb.gz         a page to explore\n"},
};

static struct err *set_file(void *to, const struct Option *row, const char *val)
{
	((struct FromFile *)to)->files.path[(uintptr_t)row->data] = val;
	return NULL;
}
static struct err *set_top(void *to, const struct Option *row, const char *val)
{
	u64 n = TOP_ROWS;
	if (val && (!parse_u64(val, &n) || !n))
		return err_new("takes a number of rows");
	((struct FromFile *)to)->top = n;
	return NULL;
}

#define FIELD(name) ((const void *)offsetof(struct FromFile, name))
static const struct Option option_rows[] = {
#define OUTPUT(option, addresses, parts, what, help, write) {0, #option, "FILE", help, set_file, (const void *)OUTPUT_##option},
#include "out/outputs.def"
#undef OUTPUT
	{'f', "folded", NULL, "print one line a stack", set_option_flag, FIELD(folded)},
	{0, "json", NULL, "print JSON", set_option_flag, FIELD(json)},
	{0, "top", "[=N]", "print the N functions with most of their own (20): self, total, object", set_top},
	{0, "lines", NULL, "names of frames with the file and line they have", set_option_flag, FIELD(lines)},
	{'o', "output", "FILE", "what is printed goes to FILE", set_option_text, FIELD(out)},
	{0, "title", "TEXT", "the heading (the file's own, or its name)", set_option_text, FIELD(title)},
	{0, "unit", "us|ns|bytes|...", "what folded stacks count (samples)", set_option_text, FIELD(wish.unit)},
	{0, "value", "TYPE", "of a pprof file's values, perf's events, maps: that one", set_option_text, FIELD(wish.value)},
	{0, "no-process", NULL, "lines of folded stacks begin with a frame, not with a process", set_option_flag, FIELD(wish.no_process)},
	{0, "strict", NULL, "exit status 3 if something in the file was left out", set_option_flag, FIELD(strict)},
	{'h', "help", NULL, "this help", set_option_flag, FIELD(help)},
};

static struct err *write_text(const struct FromFile *f, struct StackProfile *p, FILE *out)
{
	static const struct Tool tool = {.name = "report"};
	struct ToolOpts o = {.tool = &tool, .delim = p->delim, .annotate = p->annotate};
	if (f->json || (!f->folded && !f->top && !f->cmd->write)) { // perf script has a stack for each sample
		profile_merge(p, true);
		stacks_sort(p);
	}
	if (f->json) {
		stacks_json(p, &o, out);
		fputs(str_text(&f->left_out), out);
	} else if (f->folded)
		folded_write(p, out);
	else if (f->top)
		functions_top(p, f->top, out);
	else if (f->cmd->write)
		return f->cmd->write(p, out);
	else {
		stacks_multiline(p, &o, out);
		total_line(p, out);
	}
	return NULL;
}

static struct err *print_text(const struct FromFile *f, struct StackProfile *p)
{
	struct OutFile out;
	struct err *e = outfile_open(&out, f->out);
	if (e)
		return e;
	outfile_begin(&out);
	e = write_text(f, p, out.f);
	if (e && err_code(e) == EPIPE) { // who reads has seen enough
		err_free(e);
		e = NULL;
	}
	struct err *closing = outfile_close(&out);
	if (!e)
		return closing;
	err_free(closing);
	return e;
}

static struct err *write_all(const struct FromFile *f, struct StackProfile *p)
{
	bool files = outputs_any(&f->files, false);
	struct err *e = outputs_check(&f->files, f->out);
	if (!e)
		e = outputs_write(&f->files, p, true);
	if (!e)
		e = outputs_write(&f->files, p, false);
	return e || (files && !f->folded && !f->json && !f->top && !f->out) ? e : print_text(f, p);
}

struct err *input_spared(const char *path, const struct OutputFiles *files, const char *out)
{
	bool overwritten = is_same_file(path, out);
	for (u32 i = 0; i < OUTPUTS; i++)
		overwritten |= is_same_file(path, files->path[i]);
	return overwritten ? err_new("%s is what is read: it would be overwritten", path) : NULL;
}

static int from_file(struct FromFile *f, const char *path)
{
	struct Input in = {0};
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct err *e = input_spared(path, &f->files, f->out);
	if (!e && !(e = input_load(&in, &f->wish, path)))
		input_tell(&in, path, &f->left_out);
	in.prof.no_lines = !f->lines;
	in.prof.lang_lines = f->lines;
	if (f->title)
		in.prof.title = f->title;
	else if (!in.prof.title)
		in.prof.title = strcmp(path, "-") ? name : "Profile";
	if (!e)
		e = write_all(f, &in.prof);
	int rc = e ? command_failed(e) : f->strict && in.skipped ? LOSS_STATUS : 0;
	input_deinit(&in);
	str_deinit(&f->left_out);
	return rc;
}

static const struct FromFileCommand *command_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static void add_rows(struct OptionRows *rows)
{
	for (size_t i = 0; i < ARRAY_LEN(option_rows); i++)
		vec_push(&rows->v, &option_rows[i]);
}

bool fromfile_usage(const char *name, FILE *out)
{
	const struct FromFileCommand *c = command_named(name);
	struct OptionRows rows = {0};
	if (!c)
		return false;
	add_rows(&rows);
	fprintf(out, "USAGE: sonde %s [options] FILE\n\n%s.\nFILE: pprof, folded stacks, the text of perf script or of bpftrace's maps keyed by stacks; - is standard input.\n\nOPTIONS:\n", name, c->does);
	options_help(&rows, out);
	fprintf(out, "\nEXAMPLES:\n%s", c->examples);
	vec_deinit(&rows.v);
	return true;
}

bool fromfile_words(const char *name, FILE *out)
{
	struct OptionRows rows = {0};
	if (!command_named(name))
		return false;
	add_rows(&rows);
	options_words(&rows, out);
	vec_deinit(&rows.v);
	return true;
}

int fromfile_main(int argc, char **argv)
{
	struct FromFile f = {.cmd = command_named(argv[0])};
	struct OptionRows rows = {0};
	struct OptionScan scan = {.rows = &rows, .argc = argc, .argv = argv};
	add_rows(&rows);
	options_begin(&scan);
	int rc = command_options(f.cmd->name, &f, &scan, NULL, NULL), rest = options_rest(&scan);
	options_end(&scan);
	vec_deinit(&rows.v);
	if (rc)
		return rc;
	if (f.help) {
		fromfile_usage(argv[0], stdout);
		return 0;
	}
	return argc - rest == 1 ? from_file(&f, argv[rest]) : command_usage(f.cmd->name, "takes one file");
}

void fromfile_help(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(out, "%-14s %s\n", commands[i].name, commands[i].does);
}
