// A script run as a tool: found in the tools' path by its name, its getopt() rows are its options, what it says at its head is its help.
// In: NAME.bt, argv. Out: exit status. Invariant: what the script declares comes before what every tool has; how the report looks is told to both.
#include "base/base.h"
#include "lang/lang.h"
#include "tool/internal.h"

struct ScriptRow {
	struct Option row; // first: what set gets is a row
	const struct ScriptOpt *opt;
	const struct Option *also; // the row of every tool's that it is, too; NULL
};

struct ScriptTool {
	struct Tool tool; // first: tool->script says that it is one of these
	struct Arena arena;
	struct Diags diags;
	struct Str text;
	struct Script *script;
	struct OptionRows rows;
	const char *usage; // what stands before "[options]"
};

// ---- what the script says of itself

// The comment that a text begins with, without its marks; a line "#!" is none.
static void head_comment(const char *text, struct Str *out)
{
	bool block = false, any = false;
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		const char *line = p + strspn(p, " \t");
		size_t n = strcspn(line, "\n");
		if (p == text && !strncmp(p, "#!", 2))
			continue;
		if (!block && !strncmp(line, "/*", 2))
			block = true, line += 2, n -= 2;
		else if (!block && !strncmp(line, "//", 2))
			line += 2, n -= 2;
		else if (block && *line == '*' && strncmp(line, "*/", 2))
			line++, n--;
		else if (!block && (any || n)) // an empty line may come before it
			break;
		const char *end = block ? strstr(line, "*/") : NULL;
		bool last = end && end < line + n;
		n = last ? (size_t)(end - line) : n;
		line += n && *line == ' ';
		n -= n && line[-1] == ' ';
		if (n || any)
			str_addf(out, "%.*s\n", (int)n, line);
		any |= n != 0;
		if (last)
			break;
	}
	while (out->n > 1 && out->p[out->n - 1] == '\n' && out->p[out->n - 2] == '\n')
		out->p[--out->n] = 0;
}

// The first line of it, without the tool's name before a colon or dash.
static void summary(const char *text, const char *name, struct Str *out)
{
	struct Str head = {0};
	size_t n = strlen(name);
	head_comment(text, &head);
	const char *p = str_text(&head);
	if (!strncmp(p, name, n)) {
		const char *rest = p + n;
		rest += !strncmp(rest, ".bt", 3) ? 3 : 0;
		size_t mark = strspn(rest, ": \t-");
		p = mark ? rest + mark : p;
	}
	str_addn(out, p, strcspn(p, "\n"));
	str_deinit(&head);
}

// ---- options
static bool is_pid_list(const char *s)
{
	return s && *s && !s[strspn(s, "0123456789,")];
}

// A list of processes, threads or processors, as other tools take it; of ids ranges too.
static const char *list_wrong(const char *name, const char *v)
{
	struct Str list = {0};
	bool ids = !strcmp(name, "pid") || !strcmp(name, "tid"), range = *v != '-' && strchr(v, '-');
	const char *bad = ids && !range ? read_ids(&list, v) : !strcmp(name, "cpu") ? read_cpus(&list, v) : NULL;
	str_deinit(&list);
	return bad;
}

static struct err *set_param(void *to, const struct Option *row, const char *val)
{
	struct ToolOpts *o = to;
	const struct ScriptRow *r = (const struct ScriptRow *)row;
	const char *bad = NULL;
	if (r->opt->kind == OPT_NUMBER)
		bad = strspn(val + (*val == '-'), "0123456789") ? NULL : "must be an integer";
	else if (r->opt->kind == OPT_MATCH)
		bad = list_wrong(r->opt->name, val);
	if (bad)
		return err_new("%s", bad);
	if (!strcmp(r->opt->name, "tid") && is_pid_list(val)) // it ends with the last of them
		str_addf(&o->tids, "%s%s", o->tids.n ? "," : "", val);
	vec_push(&o->params, ((struct Param){r->opt->name, val}));
	return r->also && !r->also->arg == !val ? r->also->set(o, r->also, val) : NULL;
}

// Options of a script that are those of every tool if they have the same name: how the report looks.
static const struct Option *same_option(const struct OptionRows *all, const char *name)
{
	static const char *const forms[] = {"folded", "json", "delimited", "annotations", "offset", "addresses", "timestamp", "inlines", "lines",
#define OUTPUT(option, addresses, parts, what, help, write) #option,
#include "out/outputs.def"
#undef OUTPUT
	};
	for (size_t f = 0; f < ARRAY_LEN(forms); f++)
		for (size_t i = 0; !strcmp(forms[f], name) && i < all->v.n; i++)
			if (!strcmp(all->v.p[i]->name, name))
				return all->v.p[i];
	return NULL;
}

static const char *help_of(struct Arena *a, const struct ScriptOpt *o)
{
	const char *help = o->help ? o->help : "";
	bool shown = o->arg && o->def && *o->def && o->kind != OPT_MATCH && !strstr(help, "(");
	return shown ? arena_printf(a, "%s%s(%s)", help, *help ? " " : "", o->def) : help;
}

static void add_script_rows(struct ScriptTool *t, const struct OptionRows *common)
{
	for (size_t i = 0; i < t->script->opts->n; i++) {
		const struct ScriptOpt *o = &t->script->opts->p[i];
		struct ScriptRow *r = arena_new(&t->arena, struct ScriptRow);
		bool on = o->kind == OPT_FLAG && o->def && !strcmp(o->def, "true");
		r->opt = o;
		r->also = same_option(common, o->name);
		r->row = (struct Option){o->letter, o->name, on ? "[=false]" : o->arg, help_of(&t->arena, o), set_param, NULL};
		vec_push(&t->rows.v, &r->row);
	}
}

static void script_usage(const struct Tool *tool, FILE *out)
{
	const struct ScriptTool *t = (const struct ScriptTool *)tool;
	struct Str head = {0};
	head_comment(str_text(&t->text), &head);
	const char *words = t->script->uses_params ? " [ARGS]" : strstr(t->usage, ".bt") ? "" : " [SECONDS]";
	fprintf(out, "USAGE: %s%s%s\n", t->usage, t->rows.v.n ? " [options]" : "", words);
	if (head.n)
		fprintf(out, "\n%s", head.p);
	if (t->rows.v.n)
		fputs("\nOPTIONS:\n", out);
	options_help(&t->rows, out);
	str_deinit(&head);
}

// ---- the script
static bool show_diags(struct ScriptTool *t)
{
	struct Str s = {0};
	diags_render(&t->diags, false, &s);
	fputs(str_text(&s), stderr);
	str_deinit(&s);
	return t->diags.nerrors;
}

// May it take stacks? One that imports a script perhaps does there.
static bool takes_stacks(const char *text)
{
	return strstr(text, "ustack") || strstr(text, "kstack") || strstr(text, "import");
}

// What text is read from is in t->text already. False: what is wrong with the script was told.
static bool script_tool_init(struct ScriptTool *t, const char *name, const char *path, const char *usage, bool as_tool)
{
	struct OptionRows common = {0};
	struct Str line = {0};
	t->script = script_read(&t->arena, &t->diags, arena_strdup(&t->arena, path), str_text(&t->text), as_tool ? SCRIPT_FOUND : SCRIPT_USERS);
	if (show_diags(t))
		return false;
	summary(str_text(&t->text), name, &line);
	t->usage = usage;
	t->tool = (struct Tool){.name = arena_strdup(&t->arena, name), .summary = arena_strdup(&t->arena, str_text(&line)), .script = true,
				.reports = true, .usage = script_usage};
	str_deinit(&line);
	script_tool_rows(&common, takes_stacks(str_text(&t->text)));
	add_script_rows(t, &common);
	for (size_t i = 0; as_tool && i < common.v.n; i++)
		vec_push(&t->rows.v, common.v.p[i]);
	vec_deinit(&common.v);
	return true;
}

static void script_tool_deinit(struct ScriptTool *t)
{
	vec_deinit(&t->rows.v);
	diags_deinit(&t->diags);
	str_deinit(&t->text);
	arena_deinit(&t->arena);
}

// ---- running
// A script that has --pid and --tree traces the command only, any other one whatever happens while it runs.
static struct err *run_command(const struct ScriptTool *t, struct ToolOpts *o)
{
	struct err *e = command_start(o);
	if (e || !o->child)
		return e;
	if (option_find(t->script, "pid"))
		vec_push(&o->params, ((struct Param){"pid", str_text(&o->pids)}));
	o->tree = option_find(t->script, "tree") != NULL;
	if (o->tree)
		vec_push(&o->params, ((struct Param){"tree", NULL}));
	return NULL;
}

static bool pids_alive(const struct ToolOpts *o)
{
	bool alive = any_alive(str_text(&o->tids), "thread");
	for (size_t i = 0; i < o->params.n; i++)
		if (o->params.p[i].name && !strcmp(o->params.p[i].name, "pid") && is_pid_list(o->params.p[i].val))
			alive &= any_alive(o->params.p[i].val, "process");
	return alive;
}

static int run(struct ScriptTool *t, struct ToolOpts *o, const char *path)
{
	if (!o->dump && !pids_alive(o))
		return 1;
	struct err *e = run_command(t, o);
	if (e) {
		fprintf(stderr, "ERROR: %s\n", err_text(e));
		err_free(e);
		return 1;
	}
	struct Options so = {.text = str_text(&t->text), .name = path, .found = true, .warnings = true, .buf = BUF_LINE, .json = o->json, .out_path = o->out,
			     .unwind_fp = o->unwind_fp, .native = o->native, .async_frames = o->async_frames, .inlines = o->inlines, .lines = o->lines, .why_incomplete = o->why_incomplete, .strict = o->strict, .keep_privileges = o->keep_privileges,
			     .stack_entries = o->stack_entries, .dump = o->dump, .child = o->child, .duration_ns = o->duration * 1000000000ull};
	for (size_t i = 0; i < o->params.n; i++) {
		const struct Param *p = &o->params.p[i];
		vec_push(&so.params, *p);
		if (p->name && !strcmp(p->name, "pid") && is_pid_list(p->val)) // their stacks first; it ends with the last of them
			so.pids = p->val;
	}
	if (outputs_any(&o->files, false) && option_find(t->script, "files")) // --flame, --pprof, ...: to a script they are one
		vec_push(&so.params, ((struct Param){"files", NULL}));
	if (outputs_parts(&o->files) && option_find(t->script, "kinds"))
		vec_push(&so.params, ((struct Param){"kinds", NULL}));
	if (outputs_events(&o->files) && option_find(t->script, "contentions"))
		vec_push(&so.params, ((struct Param){"contentions", NULL}));
	int rc = !o->dump && !outputs_writable(o) ? 1 : stacks_run(&so, o);
	vec_deinit(&so.params);
	return command_end(o, rc);
}

static bool has_param(const struct ToolOpts *o, const char *name)
{
	for (size_t i = 0; i < o->params.n; i++)
		if (o->params.p[i].name && !strcmp(o->params.p[i].name, name))
			return true;
	return false;
}

static int take_args(struct ScriptTool *t, struct ToolOpts *o, int argc, char **argv)
{
	size_t at = command_split(argv, &argc);
	o->args = at ? argv + at : NULL;
	struct OptionScan scan = {.rows = &t->rows, .argc = argc, .argv = argv};
	options_begin(&scan);
	int rc = tool_take_options(o, &scan), i = options_rest(&scan);
	options_end(&scan);
	if (rc || o->done)
		return rc;
	const char *bad = command_wrong(o);
	if (!bad && (o->cmd || o->args) && has_param(o, "pid"))
		bad = "a command is not allowed with --pid: what it starts is traced";
	if (bad)
		return command_usage(t->tool.name, "%s", bad);
	for (; t->script->uses_params && i < argc; i++)
		vec_push(&o->params, ((struct Param){NULL, argv[i]}));
	if (i < argc && (rc = tool_take_duration(o, argv[i++])))
		return rc;
	return i < argc ? command_usage(t->tool.name, "unrecognized arguments: %s", argv[i]) : 0;
}

bool script_tool_main(const char *name, int argc, char **argv, int *rc)
{
	struct ScriptTool t = {0};
	struct FoundTool f = {0};
	u32 refused = 0;
	*rc = 1;
	if (!found_get(name, &f, &t.text, &refused)) {
		str_deinit(&t.text);
		return refused != 0; // the reason has been told
	}
	struct ToolOpts o = {.tool = &t.tool};
	char *usage = xasprintf("sonde %s", name);
	if (script_tool_init(&t, name, f.path, usage, true) && !(*rc = take_args(&t, &o, argc, argv)) && !o.done) {
		if (o.print_script)
			fputs(str_text(&t.text), stdout);
		else
			*rc = run(&t, &o, f.path);
	}
	toolopts_deinit(&o);
	script_tool_deinit(&t);
	found_free(&f);
	free(usage);
	return true;
}

// A script's page of help or words for completion.
static int show_script(const char *name, const char *path, struct Str *text, const char *usage, bool as_tool, bool words, FILE *out)
{
	struct ScriptTool t = {.text = *text};
	bool ok = script_tool_init(&t, name, path, usage, as_tool);
	if (ok && words)
		options_words(&t.rows, out);
	else if (ok)
		script_usage(&t.tool, out);
	script_tool_deinit(&t);
	return !ok;
}

bool script_tool_help(const char *name, bool words, FILE *out)
{
	struct FoundTool f = {0};
	struct Str text = {0};
	u32 refused;
	bool there = found_get(name, &f, &text, &refused);
	char *usage = xasprintf("sonde %s", name);
	if (there)
		show_script(name, f.path, &text, usage, true, words, out);
	else
		str_deinit(&text);
	found_free(&f);
	free(usage);
	return there;
}

int script_file_help(const char *path)
{
	struct Str text = {0};
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct err *e = read_file(path, &text, 16 << 20);
	if (e) {
		fprintf(stderr, "ERROR: %s\n", err_text(e));
		err_free(e);
		str_deinit(&text);
		return 1;
	}
	char *usage = xasprintf("sonde [options of sonde] %s --", path), *base = xasprintf("%.*s", (int)strcspn(name, "."), name);
	int rc = show_script(base, path, &text, usage, false, false, stdout);
	free(usage);
	free(base);
	return rc;
}

static void tell_hidden(const char *path)
{
	fprintf(stderr, "WARNING: %s is not used: sonde has a tool of that name\n", path);
}

void script_tool_hidden(const char *name)
{
	struct Str path = {0};
	if (found_exists(name, &path))
		tell_hidden(str_text(&path));
	str_deinit(&path);
}

void script_tools_help(FILE *out)
{
	struct FoundTools l = {0};
	found_list(&l);
	for (size_t i = 0; i < l.v.n; i++) {
		struct Str text = {0}, line = {0};
		struct FoundTool *f = &l.v.p[i];
		err_free(read_file(f->path, &text, 16 << 20)); // then it says nothing of itself
		summary(str_text(&text), f->name, &line);
		if (tool_find(f->name))
			tell_hidden(f->path);
		else
			fprintf(out, "%-14s %s\n", f->name, line.n ? line.p : f->path);
		str_deinit(&text);
		str_deinit(&line);
	}
	found_list_free(&l);
}

size_t script_tool_names(const char **names, size_t max, struct Arena *a)
{
	struct FoundTools l = {0};
	found_list(&l);
	size_t n = MIN(max, l.v.n);
	for (size_t i = 0; i < n; i++)
		names[i] = arena_strdup(a, l.v.p[i].name);
	found_list_free(&l);
	return n;
}
