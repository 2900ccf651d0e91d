// Variables of a call: one that a uprobe sets and the uretprobe of the same functions reads is that call's own; so it is with kprobe and kretprobe.
// In: the expanded tree. Out: the same with such a variable kept in a map of sonde's own from entry to return, keyed by the thread and the place of its
// stack where the call's frame begins, so that calls of one function in one another each have theirs.
// Several uretprobes of the same functions share the variables; the entry notes how many there are, and the last of them to run takes the values out.
// Invariant: the action of a uretprobe runs only for calls whose entry has set all its variables; no value stays in its map after the return.
#include "lang/internal.h"

#define CALLS 65536 // that may be under way; of more, those that were used least lately are forgotten

#define KEY "(tid, __frame)"

struct Shared { // a variable of the calls of one uretprobe
	const char *name, *map;
	u64 readers; // bit i: uretprobe i of Pairing.rets
};
struct Pairing {
	struct Script *s;
	struct Diags *d;
	struct ProbeAst *ret;
	VEC(struct ProbeAst *) rets; // of the same functions; ret is one of them
	u32 at;			     // which
	VEC(struct Shared) vars;     // of all of them
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

static const struct Kind { // of entry and return
	const char *entry, *entry_short, *ret, *ret_short;
} kinds[] = {{"uprobe", "u", "uretprobe", "ur"}, {"kprobe", "k", "kretprobe", "kr"}};

// NULL: the attach point is none of a function's return.
static const struct Kind *kind_of_ret(const struct AttachSpec *ap)
{
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++)
		if (is_kind(ap, kinds[i].ret, kinds[i].ret_short))
			return &kinds[i];
	return NULL;
}

// Does `entry` see every call whose return `ret` sees?
static bool is_entry_of(const struct ProbeAst *entry, const struct ProbeAst *ret)
{
	for (const struct AttachSpec *r = ret->points; r; r = r->next) {
		bool found = false;
		const struct Kind *k = kind_of_ret(r);
		for (const struct AttachSpec *e = entry->points; e && k && !found; e = e->next)
			found = is_kind(e, k->entry, k->entry_short) && same_place(e, r);
		if (!found)
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
	for (size_t i = 0; i < p->vars.n; i++) {
		if (strcmp(p->vars.p[i].name, e->str))
			continue;
		p->vars.p[i].readers |= 1ULL << p->at;
		return true;
	}
	vec_push(&p->vars, ((struct Shared){e->str, arena_printf(p->s->arena, "@__call%u_%s", p->id, e->str), 1ULL << p->at}));
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

static const char *left_map(const struct Pairing *p)
{
	return arena_printf(p->s->arena, "@__call%u__left", p->id);
}

// Before all the entry does: how many uretprobes are to run.
static void note_left(struct Pairing *p, struct ProbeAst *e)
{
	struct Str text = {0};
	str_addf(&text, "begin { %s[" KEY "] = %zu; }", left_map(p), p->rets.n);
	struct Stmt *s = parse_made(p, &text)->probes->body;
	str_deinit(&text);
	s->next = e->body;
	e->body = s;
}

static void keep_at_entry(struct Pairing *p)
{
	for (struct ProbeAst *e = p->s->probes; e; e = e->next) {
		if (!is_entry_of(e, p->ret))
			continue;
		walk_exprs(e->body, put_map, p);
		drop_lets(e->body);
		if (p->rets.n > 1)
			note_left(p, e);
	}
}

// Takes the values out of the maps, by the last uretprobe of the call.
static void delete_values(const struct Pairing *p, struct Str *text)
{
	if (p->rets.n == 1)
		return;
	str_addf(text, "let $__left; _ = find(%s, " KEY ", $__left); if ($__left > 1) { %s[" KEY "] = $__left - 1; } else { _ = delete(%s, " KEY "); ", left_map(p),
		 left_map(p), left_map(p));
	for (size_t i = 0; i < p->vars.n; i++)
		str_addf(text, "_ = delete(%s, " KEY "); ", p->vars.p[i].map);
	str_add(text, "} ");
}

static void declare_maps(struct Pairing *p, struct Str *text)
{
	for (size_t i = 0; i < p->vars.n; i++)
		str_addf(text, "let %s = lruhash(%u); ", p->vars.p[i].map, CALLS);
	if (p->rets.n > 1)
		str_addf(text, "let %s = lruhash(%u); ", left_map(p), CALLS);
}

static void add_maps(struct Script *s, struct MapDecl *made)
{
	struct MapDecl **tail = &s->maps;
	for (struct MapDecl *m = made; m; m = m->next)
		m->own = true;
	while (*tail)
		tail = &(*tail)->next;
	*tail = made;
}

// What uretprobe p->at does, with the values found in the maps before.
static void take_at_return(struct Pairing *p)
{
	struct Str text = {0};
	u64 me = 1ULL << p->at;
	if (!p->at)
		declare_maps(p, &text);
	str_add(&text, "begin { ");
	for (size_t i = 0; i < p->vars.n; i++) {
		const struct Shared *v = &p->vars.p[i];
		if (!(v->readers & me))
			continue;
		str_addf(&text, "let $%s; let $__have%zu = find(%s, " KEY ", $%s); ", v->name, i, v->map, v->name);
		if (p->rets.n == 1)
			str_addf(&text, "if ($__have%zu) { _ = delete(%s, " KEY "); } ", i, v->map);
	}
	delete_values(p, &text);
	u32 depth = 0;
	for (size_t i = 0; i < p->vars.n; i++)
		if (p->vars.p[i].readers & me)
			str_addf(&text, "if ($__have%zu) { ", i), depth++;
	str_add(&text, "if (true) { } ");
	for (u32 i = 0; i < depth; i++)
		str_add(&text, "} ");
	str_add(&text, "}");
	struct Script *made = parse_made(p, &text);
	str_deinit(&text);
	struct Stmt *s = made->probes->body;
	for (u32 i = 0; i <= depth; i++) { // the last statement, and what is in it
		s = i ? s->body : s;
		while (s->next)
			s = s->next;
	}
	s->e = p->ret->pred ? p->ret->pred : s->e;
	s->body = p->ret->body;
	p->ret->pred = NULL;
	p->ret->body = made->probes->body;
	add_maps(p->s, made->maps);
}

// ---- which uretprobes are of the same functions

static bool covers(const struct AttachSpec *all, const struct AttachSpec *some)
{
	for (; some; some = some->next) {
		bool found = false;
		for (const struct AttachSpec *a = all; a && !found; a = a->next)
			found = kind_of_ret(a) && kind_of_ret(a) == kind_of_ret(some) && same_place(a, some);
		if (!found)
			return false;
	}
	return true;
}

static bool is_ret(const struct ProbeAst *r)
{
	return r->points && kind_of_ret(r->points);
}

// Those from `first` on with exactly its functions: each runs for every call.
static void find_rets(struct Pairing *p, struct ProbeAst *first)
{
	p->rets.n = 0;
	for (struct ProbeAst *r = first; r && p->rets.n < 64; r = r->next)
		if (is_ret(r) && covers(r->points, first->points) && covers(first->points, r->points))
			vec_push(&p->rets, r);
}

// Leaves in p->rets those that read such a variable, with the variables.
static void find_vars(struct Pairing *p)
{
	size_t n = 0;
	p->vars.n = 0;
	for (size_t i = 0; i < p->rets.n; i++) {
		p->ret = p->rets.p[i];
		p->at = (u32)n;
		u64 readers = 0;
		walk_expr(p->ret->pred, note_var, p);
		walk_exprs(p->ret->body, note_var, p);
		for (size_t k = 0; k < p->vars.n; k++)
			readers |= p->vars.p[k].readers;
		if (readers >> n & 1)
			p->rets.p[n++] = p->ret;
	}
	p->rets.n = n;
}

void pair_calls(struct Script *s)
{
	struct Pairing p = {.s = s, .d = s->diags};
	VEC(struct ProbeAst *) done = {0};
	for (struct ProbeAst *r = s->probes; r; r = r->next, p.id++) {
		bool is_done = !is_ret(r);
		for (size_t i = 0; i < done.n && !is_done; i++)
			is_done = done.p[i] == r;
		if (is_done)
			continue;
		find_rets(&p, r);
		for (size_t i = 0; i < p.rets.n; i++)
			vec_push(&done, p.rets.p[i]);
		find_vars(&p);
		if (!p.vars.n)
			continue;
		p.ret = p.rets.p[0];
		keep_at_entry(&p);
		for (p.at = 0; p.at < p.rets.n; p.at++) {
			p.ret = p.rets.p[p.at];
			take_at_return(&p);
		}
	}
	vec_deinit(&p.vars);
	vec_deinit(&p.rets);
	vec_deinit(&done);
}
