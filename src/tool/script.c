// A tool's script and the options that it is run with.
// In: a script of the language, the options given. Out: its parameters; its text with them as settings (--print-script). Invariant: only options that the
// script asks for are passed on.
#include "lang/lang.h"
#include "tool/internal.h"

const char *stack_words(const struct ToolOpts *o)
{
	return o->stacks == STACKS_USER ? "user" : o->stacks == STACKS_KERNEL ? "kernel" : "user + kernel";
}

void thread_words(const struct ToolOpts *o, FILE *out)
{
	if (o->child) {
		struct Str cmd = {0};
		command_words(o, &cmd);
		fprintf(out, "'%s' and its children", str_text(&cmd));
		str_deinit(&cmd);
	} else if (o->tree)
		fprintf(out, "PID %s and descendants", o->roots.p);
	else if (o->pids.n)
		fprintf(out, "PID %s", o->pids.p);
	else if (o->tids.n)
		fprintf(out, "TID %s", o->tids.p);
	else
		fprintf(out, "%s threads", o->threads == THREADS_USER ? "user" : o->threads == THREADS_KERNEL ? "kernel" : "all");
	struct Str t = {0};
	if (o->comm) {
		str_add(&t, " named ");
		str_add_shown(&t, o->comm, strlen(o->comm));
	}
	if (o->cgroup) {
		str_add(&t, " in ");
		str_add_shown(&t, o->cgroup, strlen(o->cgroup));
	}
	fputs(str_text(&t), out);
	str_deinit(&t);
}

// A script string literal of untrusted option text.
static void add_quoted(struct Str *out, const char *s)
{
	str_addc(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			str_addc(out, '\\');
		str_addc(out, *s);
	}
	str_addc(out, '"');
}

static void set_param(struct ToolOpts *o, const char *name, const struct Str *val)
{
	if (val->n)
		vec_push(&o->params, ((struct Param){name, str_text(val)}));
}

// What the script is told: of the options that were given those that it has. Lists may have been given in parts, or have grown (--tree).
void script_params(struct ToolOpts *o)
{
	struct Arena a = {0};
	struct Diags d = {0};
	size_t n = 0;
	set_param(o, "pid", &o->pids);
	set_param(o, "tid", &o->tids);
	set_param(o, "cpu", &o->cpus);
	if (tool_is_watched(o))
		str_addf(&o->early, "%llu", (unsigned long long)o->interval * 500);
	set_param(o, "early", &o->early);
	if (outputs_any(&o->files, false)) // --flame, --pprof, ...: to a script they are one
		vec_push(&o->params, ((struct Param){"files", NULL}));
	if (outputs_parts(&o->files))
		vec_push(&o->params, ((struct Param){"kinds", NULL}));
	if (outputs_events(&o->files))
		vec_push(&o->params, ((struct Param){"contentions", NULL}));
	const struct Script *s = script_read(&a, &d, o->tool->name, o->text, SCRIPT_BUILTIN);
	for (size_t i = 0; i < o->params.n; i++) {
		struct Param p = o->params.p[i];
		bool again = !option_find(s, p.name);
		for (size_t k = i + 1; k < o->params.n && !again; k++)
			again = !strcmp(o->params.p[k].name, p.name);
		if (again) // the last one counts
			continue;
		while (p.val && p.val[0] == '0' && p.val[1] >= '0' && p.val[1] <= '9') // decimal, as the tools read it
			p.val++;
		o->params.p[n++] = p;
	}
	o->params.n = n;
	diags_deinit(&d);
	arena_deinit(&a);
}

// Puts the options given into the script's settings, where they are as if they had been given to it.
void script_print(const struct ToolOpts *o, FILE *out)
{
	static const char settings[] = "config = {\n";
	const char *script = o->text, *at = strstr(script, settings);
	struct Str t = {0};
	size_t n = at ? (size_t)(at - script) + strlen(settings) : 0;
	str_addn(&t, script, n);
	for (size_t i = 0; at && i < o->params.n; i++) {
		const struct Param *p = &o->params.p[i];
		char *text = xasprintf("%s%s%s", p->name, p->val ? "=" : "", p->val ? p->val : "");
		str_add(&t, "\toption = ");
		add_quoted(&t, text);
		str_add(&t, ";\n");
		free(text);
	}
	str_add(&t, script + n);
	fputs(str_text(&t), out);
	str_deinit(&t);
}
