// Options of a script. In: a parsed script, the command line's parameters. Out: its options, and their values as literals.
// Invariants: each option is one row, however often it is named; a value that is wrong is told once. The word before the first ": " of a help text is
// the name of the argument; where it has '|', the words between are the values that are allowed, with ",..." behind them a list of these.
#include "lang/internal.h"
#include <errno.h>

// ---- rows

static const char *words_between(struct Arena *a, const char *s, size_t n, const char *const **values)
{
	VEC(const char *) v = {0};
	for (size_t i = 0; i < n;) {
		size_t k = 0;
		while (i + k < n && s[i + k] != '|')
			k++;
		vec_push(&v, arena_strndup(a, s + i, k));
		i += k + 1;
	}
	const char **words = arena_new_n(a, const char *, v.n + 1);
	memcpy(words, v.p, v.n * sizeof(*v.p));
	vec_deinit(&v);
	*values = words;
	return words[0];
}

// "PID,...: these processes only": the argument and what it may be.
static void read_help(struct Arena *a, struct ScriptOpt *o, const char *text)
{
	static const char more[] = ",...";
	size_t n = strcspn(text, ": ");
	bool has_arg = n && text[n] == ':' && text[n + 1] == ' ';
	o->help = has_arg ? text + n + 2 : text;
	if (!has_arg)
		return;
	o->arg = arena_strndup(a, text, n);
	o->list = n > strlen(more) && !strcmp(o->arg + n - strlen(more), more);
	if (strchr(o->arg, '|'))
		words_between(a, text, n - (o->list ? strlen(more) : 0), &o->values);
}

static const char *literal_text(struct Arena *a, const struct Known *k)
{
	if (k->kind == E_STR)
		return k->str;
	if (k->kind == E_BOOL)
		return k->ival ? "true" : "false";
	return arena_printf(a, k->is_neg ? "%lld" : "%llu", (unsigned long long)k->ival);
}

// What the default says of the option: its kind, its text.
static void read_default(const struct Script *s, struct ScriptOpt *o, const struct Expr *def)
{
	struct Known k = {.kind = E_BOOL};
	if (def && !comptime_eval(def, &k))
		k = (struct Known){.kind = E_STR, .str = ""}; // a parameter: not known before there is a command line
	o->kind = k.kind == E_BOOL ? OPT_FLAG : k.kind == E_STR ? OPT_TEXT : OPT_NUMBER;
	o->def = literal_text(s->arena, &k);
	if (!def || def->kind != E_INT || !def->span.len)
		return;
	const char *text = s->diags->sources.p[def->span.file].text + def->span.off;
	o->unit = duration_unit(text, def->span.len);
	if (!o->unit)
		return;
	o->kind = OPT_DURATION;
	o->def = arena_strndup(s->arena, text, def->span.len);
}

static bool is_option_call(const struct Expr *e)
{
	return e->kind == E_CALL && !strncmp(e->str, "getopt", 6) && (!e->str[6] || !strcmp(e->str + 6, "_match") || !strcmp(e->str + 6, "_list")) &&
	       e->nargs && e->args[0]->kind == E_STR;
}

static struct ScriptOpt *find(const struct Script *s, const char *name, size_t n)
{
	for (size_t i = 0; s->opts && i < s->opts->n; i++)
		if (!strncmp(s->opts->p[i].name, name, n) && !s->opts->p[i].name[n])
			return &s->opts->p[i];
	return NULL;
}

const struct ScriptOpt *option_find(const struct Script *s, const char *name)
{
	return find(s, name, strlen(name));
}

static struct ScriptOpt *add_row(struct Script *s, struct ScriptOpt o)
{
	struct ScriptOpts *v = s->opts;
	if (v->n == v->cap) {
		struct ScriptOpt *was = v->p;
		v->cap = v->cap ? v->cap * 2 : 16;
		v->p = arena_new_n(s->arena, struct ScriptOpt, v->cap);
		if (v->n)
			memcpy(v->p, was, v->n * sizeof(*was));
	}
	v->p[v->n] = o;
	return &v->p[v->n++];
}

// The row of a call, made or completed. NULL: an error was told, as only `report` asks for.
static struct ScriptOpt *note_option(struct Script *s, const struct Expr *call, bool report)
{
	bool match = call->str[6] == '_', is_list = !strcmp(call->str, "getopt_list");
	const char *name = call->args[0]->str;
	size_t n = strcspn(name, "|");
	struct ScriptOpt o = {.name = arena_strndup(s->arena, name, n), .letter = name[n] ? name[n + 1] : 0, .def = "", .kind = OPT_MATCH, .span = call->span};
	const struct Expr *help = call->nargs > 2 ? call->args[2] : is_list && call->nargs > 1 ? call->args[1] : NULL;
	if (help && help->kind == E_STR)
		read_help(s->arena, &o, help->str);
	if (!match)
		read_default(s, &o, call->nargs > 1 ? call->args[1] : NULL);
	if (report && name[n] && (!name[n + 1] || name[n + 2])) {
		diag_error(s->diags, call->args[0]->span, "an option's name is a word, or a word and a letter: \"pid|p\"");
		return NULL;
	}
	if (!o.arg && o.kind != OPT_FLAG)
		o.arg = o.kind == OPT_NUMBER ? "N" : o.kind == OPT_DURATION ? "TIME" : o.kind == OPT_TEXT ? "TEXT" : "LIST";
	struct ScriptOpt *have = find(s, name, n);
	if (!have) {
		return add_row(s, o);
	}
	if (!match && have->kind != OPT_MATCH && strcmp(have->def, o.def) && report) {
		diag_error(s->diags, call->span, "Command line option '%s' needs to have the same default value in all places it is used. Previous "
						 "default value: %s", o.name, have->def);
		return NULL;
	}
	have->letter = have->letter ? have->letter : o.letter;
	if (!have->help && o.help) {
		have->help = o.help;
		have->arg = o.arg;
		have->values = o.values;
		have->list = o.list;
	}
	return have;
}

// ---- all of a script's

struct Finder {
	struct Script *s;
	struct Map seen; // macros that were entered
};

static bool look(void *arg, struct Expr *e)
{
	struct Finder *f = arg;
	if (is_option_call(e))
		note_option(f->s, e, false);
	f->s->uses_params |= e->kind == E_POSPARAM || e->kind == E_POSCOUNT;
	if ((e->kind != E_CALL && e->kind != E_IDENT) || map_has(&f->seen, e->str))
		return true;
	map_put(&f->seen, e->str, f);
	for (struct Macro *m = f->s->macros; m; m = m->next)
		if (!strcmp(m->name, e->str))
			walk_expr(m->body, look, f);
	return true;
}

void script_options(struct Script *s)
{
	struct Finder f = {.s = s};
	import_scripts(s);
	s->opts = arena_new(s->arena, struct ScriptOpts);
	for (struct ConfigItem *c = s->config; c; c = c->next)
		walk_expr(c->val, look, &f);
	for (struct MapDecl *m = s->maps; m; m = m->next)
		walk_expr(m->max, look, &f);
	for (struct ProbeAst *p = s->probes; p; p = p->next) {
		for (struct AttachSpec *a = p->points; a; a = a->next)
			for (const char *t = a->text; (t = strchr(t, '$')); t++)
				s->uses_params |= t[1] >= '0' && t[1] <= '9';
		walk_expr(p->pred, look, &f);
		walk_exprs(p->body, look, &f);
	}
	map_deinit(&f.seen);
}

struct Script *script_read(struct Arena *a, struct Diags *d, const char *name, const char *text, enum ScriptFrom from)
{
	struct Script *s = parse_script(a, d, diags_add_source(d, name, text, strlen(text)));
	s->builtin = from == SCRIPT_BUILTIN;
	s->found = from == SCRIPT_FOUND;
	script_options(s);
	return s;
}

void script_set_params(struct Script *s, const struct Param *params, size_t n)
{
	VEC(struct Param) all = {0};
	for (struct ConfigItem **c = &s->config; *c;) {
		const struct Expr *val = (*c)->val;
		if (strcmp((*c)->key, "option")) {
			c = &(*c)->next;
			continue;
		}
		if (val->kind != E_STR)
			diag_error(s->diags, val->span, "an option is a text: option = \"pid=5\"");
		else {
			const char *eq = strchr(val->str, '=');
			vec_push(&all, ((struct Param){arena_strndup(s->arena, val->str, eq ? (size_t)(eq - val->str) : val->len), eq ? eq + 1 : NULL}));
		}
		*c = (*c)->next;
	}
	for (size_t i = 0; i < n; i++)
		vec_push(&all, params[i]);
	struct Param *p = arena_new_n(s->arena, struct Param, all.n + 1);
	if (all.n)
		memcpy(p, all.p, all.n * sizeof(*p));
	s->params = p;
	s->nparams = all.n;
	vec_deinit(&all);
}

// ---- values

static const struct Param *given(const struct Script *s, const char *name)
{
	for (size_t i = s->nparams; i-- > 0;) // the last one counts
		if (s->params[i].name && !strcmp(s->params[i].name, name))
			return &s->params[i];
	return NULL;
}

const char *option_text(const struct Script *s, const char *name)
{
	const struct ScriptOpt *o = option_find(s, name);
	const struct Param *p = given(s, name);
	return p && p->val ? p->val : p ? "true" : o ? o->def : NULL;
}

static bool is_word(const char *s, const char *const *words)
{
	while (*words && strcasecmp(s, *words))
		words++;
	return *words;
}

static bool is_allowed(const struct ScriptOpt *o, const char *v)
{
	size_t n = strlen(v);
	for (const char *p = v; p <= v + n; p += strcspn(p, ",") + 1) {
		size_t k = o->list ? strcspn(p, ",") : strlen(p), i = 0;
		while (o->values[i] && (strlen(o->values[i]) != k || strncmp(o->values[i], p, k)))
			i++;
		if (!o->values[i])
			return false;
		if (!o->list)
			break;
	}
	return true;
}

static void PRINTF_LIKE(3, 4) told(struct Script *s, const struct ScriptOpt *o, const char *fmt, ...)
{
	struct Str t = {0};
	va_list ap;
	str_addf(&t, "option --%s of the script ", o->name);
	va_start(ap, fmt);
	str_vaddf(&t, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < s->diags->items.n; i++)
		if (!strcmp(s->diags->items.p[i].msg, str_text(&t))) {
			str_deinit(&t);
			return;
		}
	diag_error_plain(s->diags, "%s", str_text(&t));
	str_deinit(&t);
}

static bool flag_value(struct Script *s, const struct ScriptOpt *o, const struct Param *p)
{
	static const char *const yes[] = {"true", "1", "yes", "on", NULL}, *const no[] = {"false", "0", "no", "off", NULL};
	bool on = !p->val || is_word(p->val, yes);
	if (!on && !is_word(p->val, no))
		diag_error_plain(s->diags, "program command line option --%s expects a boolean (e.g. 'true') (value: %s)", o->name, p->val);
	return on;
}

static void read_value(struct Script *s, const struct ScriptOpt *o, const struct Param *p, struct Known *k)
{
	const char *v = p->val;
	if (o->values && o->kind != OPT_FLAG && v && !is_allowed(o, v))
		told(s, o, "takes %s, not '%s'", o->arg, v);
	if (o->kind == OPT_FLAG)
		*k = (struct Known){.kind = E_BOOL, .ival = flag_value(s, o, p)};
	else if (o->kind == OPT_TEXT || o->kind == OPT_MATCH) {
		if (!v)
			told(s, o, "takes text: --%s=TEXT", o->name);
		*k = (struct Known){.kind = E_STR, .str = v ? v : "", .len = v ? (u32)strlen(v) : 0};
	} else {
		k->kind = E_INT;
		if (!v || !param_number(v, &k->ival, &k->is_neg)) {
			if (s->diags->plain && o->kind == OPT_NUMBER)
				diag_error_plain(s->diags, v ? "program command line option --%s invalid integer (value: %s)" : "program command line option --%s expects an integer (value: %s)",
						 o->name, v ? v : "true");
			else
				told(s, o, o->kind == OPT_NUMBER ? "is a number of 64 bits, not '%s'" : "is a time (10ms, 5s), not '%s'", v ? v : "");
			k->ival = 0;
			k->is_neg = false;
		} else if (o->kind == OPT_DURATION && !v[strspn(v, "0123456789")] && __builtin_mul_overflow(k->ival, o->unit, &k->ival))
			told(s, o, "is a time (10ms, 5s), not '%s'", v);
	}
}

void option_items(const struct Script *s, const char *list, struct OptItems *out)
{
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t n = strcspn(p, ","), lo = strspn(p, "0123456789");
		const char *text = arena_strndup(s->arena, p, n), *high = lo && text[lo] == '-' ? text + lo + 1 : text;
		bool is_num = lo && (lo == n || (text[lo] == '-' && *high && !high[strspn(high, "0123456789")]));
		errno = 0;
		u64 a = strtoull(text, NULL, 10), b = strtoull(high, NULL, 10);
		vec_push(&out->v, ((struct OptItem){text, a, b, is_num && a <= b && !errno}));
	}
}

// 1 or 0: the literal is one of the items.
static int match_literal(const struct Script *s, const char *list, const struct Known *k)
{
	struct OptItems items = {0};
	bool hit = false;
	option_items(s, list, &items);
	for (size_t i = 0; i < items.v.n && !hit; i++) {
		const struct OptItem *it = &items.v.p[i];
		hit = k->kind == E_STR ? glob_match(it->text, k->str) : it->is_num && !k->is_neg && k->ival >= it->low && k->ival <= it->high;
	}
	vec_deinit(&items.v);
	return hit;
}

const char *option_list(struct Script *s, const struct Expr *call)
{
	struct Known v = {.str = ""};
	const struct ScriptOpt *o = note_option(s, call, true);
	const struct Param *p = o ? given(s, o->name) : NULL;
	if (p)
		read_value(s, o, p, &v);
	return o ? v.str : NULL;
}

bool option_value(struct Script *s, struct Expr *call)
{
	struct Known k = {.kind = E_BOOL}, of;
	bool match = !strcmp(call->str, "getopt_match");
	struct Expr *second = call->nargs > 1 ? call->args[1] : NULL;
	if (!is_option_call(call) || !strcmp(call->str, "getopt_list") || (call->nargs > 2 && call->args[2]->kind != E_STR) || (match && !second))
		return false;
	if (!match && second && !comptime_eval(second, &k))
		return false;
	const struct ScriptOpt *o = note_option(s, call, true);
	const struct Param *p = o ? given(s, o->name) : NULL;
	if (match) {
		if (p) {
			struct Known v;
			read_value(s, o, p, &v);
			if (!comptime_eval(second, &of))
				return false; // the checker makes comparisons of it
			k.ival = (u64)match_literal(s, p->val ? p->val : "", &of);
		} else
			k.ival = true;
	} else if (p)
		read_value(s, o, p, &k);
	known_put(&k, call);
	return true;
}
