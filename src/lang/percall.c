// Variables of a call: one that a uprobe sets and the uretprobe of the same functions reads is that call's own.
// In: the expanded tree. Out: the same with such a variable kept in a map of sonde's own from entry to return, keyed by the thread and the place of its
// stack where the call's frame begins, so that calls of one function in one another each have theirs.
// Invariant: the action of the uretprobe runs only for calls whose entry has set all its variables; each value is taken out of its map by that.
#include "lang/internal.h"

#define CALLS 65536 // that may be under way; of more, those that were used least lately are forgotten

#define KEY "(tid, __frame)"

struct Shared { // a variable of the calls of one uretprobe
	const char *name, *map;
};
struct Pairing {
	struct Script *s;
	struct Diags *d;
	struct ProbeAst *ret;
	VEC(struct Shared) vars;
	const char *name; // that is looked for
	bool found;
	u32 id;
};

static bool is_kind(const struct AttachSpec *ap, const char *name, const char *brief)
{
	return ap->nparts > 1 && (!strcmp(ap->parts[0], name) || !strcmp(ap->parts[0], brief));
}

static bool same_place(const struct AttachSpec *a, const struct AttachSpec *b)
{
	if (a->nparts != b->nparts)
		return false;
	for (u32 i = 1; i < a->nparts; i++)
		if (strcmp(a->parts[i], b->parts[i]))
			return false;
	return true;
}

// Does `entry` see every call whose return `ret` sees?
static bool is_entry_of(const struct ProbeAst *entry, const struct ProbeAst *ret)
{
	for (const struct AttachSpec *r = ret->points; r; r = r->next) {
		bool found = false;
		for (const struct AttachSpec *e = entry->points; e && !found; e = e->next)
			found = is_kind(e, "uprobe", "u") && same_place(e, r);
		if (!found || !is_kind(r, "uretprobe", "ur"))
			return false;
	}
	return true;
}

// ---- which variables

static bool stmt_sets(const struct Stmt *s, const char *name)
{
	for (; s; s = s->next) {
		bool sets = s->kind == S_LET || (s->kind == S_ASSIGN && s->op == OP_NONE) || s->kind == S_FOR_MAP || s->kind == S_FOR_RANGE;
		if (sets && s->lhs && s->lhs->kind == E_VAR && !strcmp(s->lhs->str, name))
			return true;
		if (stmt_sets(s->body, name) || stmt_sets(s->els, name))
			return true;
	}
	return false;
}

static bool is_loop_var(const struct Stmt *s, const char *name)
{
	for (; s; s = s->next)
		if (((s->kind == S_FOR_MAP || s->kind == S_FOR_RANGE) && !strcmp(s->lhs->str, name)) || is_loop_var(s->body, name) || is_loop_var(s->els, name))
			return true;
	return false;
}

static const struct ProbeAst *entry_that_sets(const struct Pairing *p, const char *name)
{
	for (const struct ProbeAst *e = p->s->probes; e; e = e->next)
		if (is_entry_of(e, p->ret) && stmt_sets(e->body, name) && !is_loop_var(e->body, name))
			return e;
	return NULL;
}

static bool note_var(void *arg, struct Expr *e)
{
	struct Pairing *p = arg;
	if (e->kind != E_VAR || stmt_sets(p->ret->body, e->str) || !entry_that_sets(p, e->str))
		return true;
	for (size_t i = 0; i < p->vars.n; i++)
		if (!strcmp(p->vars.p[i].name, e->str))
			return true;
	vec_push(&p->vars, ((struct Shared){e->str, arena_printf(p->s->arena, "@__call%u_%s", p->id, e->str)}));
	return true;
}

// ---- the tree

static struct Script *parse_made(struct Pairing *p, const struct Str *text)
{
	const char *t = arena_strdup(p->s->arena, str_text(text));
	return parse_script(p->s->arena, p->d, diags_add_source(p->d, "calls", t, strlen(t)));
}

// At the entry the variable is the map's value.
static bool put_map(void *arg, struct Expr *e)
{
	struct Pairing *p = arg;
	for (size_t i = 0; e->kind == E_VAR && i < p->vars.n; i++) {
		if (strcmp(p->vars.p[i].name, e->str))
			continue;
		struct Str text = {0};
		str_addf(&text, "begin { %s[" KEY "] }", p->vars.p[i].map);
		struct Span at = e->span;
		*e = *parse_made(p, &text)->probes->body->e;
		e->span = at;
		str_deinit(&text);
		return false;
	}
	return true;
}

// "let $x = 1" has become "let @m[k] = 1".
static void drop_lets(struct Stmt *s)
{
	for (; s; s = s->next) {
		drop_lets(s->body);
		drop_lets(s->els);
		if (s->kind != S_LET || s->lhs->kind == E_VAR)
			continue;
		s->kind = s->e ? S_ASSIGN : S_BLOCK;
		s->lhs = s->e ? s->lhs : NULL;
	}
}

static void keep_at_entry(struct Pairing *p)
{
	for (struct ProbeAst *e = p->s->probes; e; e = e->next) {
		if (!is_entry_of(e, p->ret))
			continue;
		walk_exprs(e->body, put_map, p);
		drop_lets(e->body);
	}
}

// What the uretprobe does, with the values taken from the maps before.
static void take_at_return(struct Pairing *p)
{
	struct Str text = {0};
	for (size_t i = 0; i < p->vars.n; i++)
		str_addf(&text, "let %s = lruhash(%u); ", p->vars.p[i].map, CALLS);
	str_add(&text, "begin { ");
	for (size_t i = 0; i < p->vars.n; i++) {
		const struct Shared *v = &p->vars.p[i];
		str_addf(&text, "let $%s; let $__have%zu = find(%s, " KEY ", $%s); if ($__have%zu) { _ = delete(%s, " KEY "); } ", v->name, i, v->map, v->name, i, v->map);
	}
	for (size_t i = 0; i < p->vars.n; i++)
		str_addf(&text, "if ($__have%zu) { ", i);
	str_add(&text, "if (true) { } ");
	for (size_t i = 0; i < p->vars.n; i++)
		str_add(&text, "} ");
	str_add(&text, "}");
	struct Script *made = parse_made(p, &text);
	str_deinit(&text);
	struct Stmt *s = made->probes->body;
	for (size_t i = 0; i < p->vars.n; i++, s = s->body) // the last statement, and what is in it
		while (s->next)
			s = s->next;
	s->e = p->ret->pred ? p->ret->pred : s->e;
	s->body = p->ret->body;
	p->ret->pred = NULL;
	p->ret->body = made->probes->body;
	struct MapDecl **tail = &p->s->maps;
	for (struct MapDecl *m = made->maps; m; m = m->next)
		m->own = true;
	while (*tail)
		tail = &(*tail)->next;
	*tail = made->maps;
}

void pair_calls(struct Script *s)
{
	struct Pairing p = {.s = s, .d = s->diags};
	for (p.ret = s->probes; p.ret; p.ret = p.ret->next, p.id++) {
		if (!p.ret->points || !is_kind(p.ret->points, "uretprobe", "ur"))
			continue;
		p.vars.n = 0;
		walk_expr(p.ret->pred, note_var, &p);
		walk_exprs(p.ret->body, note_var, &p);
		if (!p.vars.n)
			continue;
		keep_at_entry(&p);
		take_at_return(&p);
	}
	vec_deinit(&p.vars);
}
