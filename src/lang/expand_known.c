// What expansion settles because it is known: options, branches, elements, loops over lists of the command line. In: calls, statements and probes on the walk
// of expand.c. Out: literals, the branch that is taken, copies of a loop's body. Invariant: of what is decided against nothing is looked at.
#include "base/base.h"
#include "lang/internal.h"
#include <fts.h>
#include <sys/stat.h>

#define MAX_RANGE 65536 // numbers of one range of getopt_list()

struct Literals {
	VEC(struct Known) v;
};

// ---- lists of the command line

static bool is_option_list(const struct Expr *e)
{
	return e && e->kind == E_CALL && !strcmp(e->str, "getopt_list");
}

// The values of getopt_list(NAME) as literals; ranges are their numbers.
static void list_values(struct Expander *x, struct Expr *list, struct Literals *out)
{
	struct OptItems items = {0};
	const char *text = list->nargs && list->args[0]->kind == E_STR ? option_list(x->s, list) : NULL;
	if (!text)
		diag_error(x->d, list->span, "getopt_list() takes the name of an option");
	else if (list->nargs > 1 && list->args[1]->kind != E_STR)
		diag_error(x->d, list->args[1]->span, "the help text of getopt_list() is a string literal");
	else
		option_items(x->s, text, &items);
	for (size_t i = 0; i < items.v.n; i++) {
		const struct OptItem *it = &items.v.p[i];
		if (it->is_num && it->high - it->low > MAX_RANGE)
			diag_error(x->d, list->span, "the range %s has over %u numbers", it->text, MAX_RANGE);
		else if (!it->is_num)
			vec_push(&out->v, ((struct Known){.kind = E_STR, .str = it->text, .len = (u32)strlen(it->text)}));
		else
			for (u64 n = 0; n <= it->high - it->low; n++)
				vec_push(&out->v, ((struct Known){.kind = E_INT, .ival = it->low + n}));
	}
	vec_deinit(&items.v);
}

static u64 list_length(struct Expander *x, struct Expr *list)
{
	struct Literals values = {0};
	list_values(x, list, &values);
	u64 n = values.v.n;
	vec_deinit(&values.v);
	return n;
}

struct LoopValue {
	const char *var;
	const struct Known *value;
};

static bool put_loop_value(void *arg, struct Expr *e)
{
	const struct LoopValue *l = arg;
	if (e->kind == E_VAR && !strcmp(e->str, l->var))
		known_put(l->value, e);
	return true;
}

// for ($x : getopt_list("pid")): the body once for each value, in a block of its own.
static struct Stmt *unroll_list(struct Expander *x, const struct Stmt *loop, const struct Known *values, size_t n)
{
	struct Stmt *all = arena_new(x->a, struct Stmt), **tail = &all->body;
	*all = (struct Stmt){.kind = S_BLOCK, .span = loop->span};
	for (size_t i = 0; i < n && !x->full; i++) {
		struct Stmt *round = arena_new(x->a, struct Stmt);
		*round = (struct Stmt){.kind = S_BLOCK, .span = loop->span, .body = x_copy(x, loop->body, loop->span)};
		struct LoopValue l = {loop->lhs->str, &values[i]};
		walk_exprs(round->body, put_loop_value, &l);
		stmt_set_height(round);
		*tail = round;
		tail = &round->next;
	}
	return all;
}

// The ids of a cgroup and those below it: inode numbers of directories (kernfs). NULL: an error was told.
static struct Expr *cgroup_test(struct Expander *x, const struct Expr *call)
{
	struct Expr *chain = NULL;
	char *const paths[] = {(char *)call->args[0]->str, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *f; walk && (f = fts_read(walk));) {
		if (f->fts_info != FTS_D)
			continue;
		struct Expr *node = arena_new_n(x->a, struct Expr, 3), *id = x_copy_expr(x, call->args[1], call->span);
		node[1] = (struct Expr){.kind = E_INT, .span = call->span, .ival = f->fts_statp->st_ino, .height = 1};
		node[0] = (struct Expr){.kind = E_BINOP, .op = OP_EQ, .span = call->span, .a = id, .b = &node[1]};
		expr_set_height(&node[0]);
		if (chain) {
			node[2] = (struct Expr){.kind = E_BINOP, .op = OP_LOR, .span = call->span, .a = chain, .b = &node[0]};
			expr_set_height(&node[2]);
		}
		chain = chain ? &node[2] : &node[0];
	}
	if (walk)
		fts_close(walk);
	if (!chain)
		diag_error(x->d, call->span, "%s is not there: in_cgroup() takes a cgroup v2 directory", call->args[0]->str);
	return chain;
}

// Calls that are answered here: options, how many items a list has, the pid namespace. True: the node is a literal, or left to the checker.
bool x_known_call(struct Expander *x, struct Expr *e)
{
	struct Known k = {.kind = E_INT};
	u64 dev;
	if (map_has(&x->macros, e->str))
		return false;
	if (!strncmp(e->str, "getopt", 6) && e->kind == E_CALL && builtin_find(e->str)) {
		x_args(x, e);
		option_value(x->s, e);
		return true;
	}
	if (!strcmp(e->str, "in_cgroup") && e->kind == E_CALL && e->nargs == 2) {
		x_args(x, e);
		struct Expr *test = e->args[0]->kind == E_STR ? cgroup_test(x, e) : NULL;
		if (test)
			*e = *test;
		return true;
	}
	if (!strcmp(e->str, "pid_namespace") && !e->nargs)
		own_pid_namespace(&dev, &k.ival);
	else if (e->kind == E_CALL && !strcmp(e->str, "len") && e->nargs == 1 && is_option_list(e->args[0]))
		k.ival = list_length(x, e->args[0]);
	else
		return false;
	known_put(&k, e);
	return true;
}

// ---- branches and elements

// `if comptime` whose condition is known becomes the branch that is taken; the other one is not looked at. None taken: an empty block.
bool x_prune_if(struct Expander *x, struct Expr *e)
{
	int t = e->a->kind == E_COMPTIME ? comptime_truth(e->a->a) : -1;
	if (t < 0)
		return false;
	struct Expr *taken = t ? e->b : e->c;
	if (taken)
		x_expr(x, &taken);
	else {
		taken = arena_new(x->a, struct Expr);
		*taken = (struct Expr){.kind = E_BLOCK, .span = e->span};
	}
	*e = taken->kind == E_BLOCK && !taken->body && taken->a && taken->a->kind != E_MAP ? *taken->a : *taken;
	return true;
}

// An element `if comptime (c) { e }` is none when c is false.
static bool x_element(struct Expander *x, struct Expr **pe)
{
	bool may_go = (*pe)->kind == E_IF && !(*pe)->c && (*pe)->a->kind == E_COMPTIME;
	if (may_go)
		x_expr(x, pe);
	else
		x_value(x, pe);
	if (!may_go || (*pe)->kind != E_BLOCK || (*pe)->body || (*pe)->a) {
		if (may_go && !expr_has_value(*pe))
			x_value(x, pe); // says so
		return true;
	}
	return false;
}

// Of a tuple, a record, a call.
void x_elements(struct Expander *x, struct Expr *e)
{
	u32 n = 0;
	const char **names = e->kind == E_TUPLE && e->path ? arena_new_n(x->a, const char *, e->nargs) : NULL; // copies of a macro's body share e->path
	for (u32 i = 0; i < e->nargs; i++) {
		struct Expr *el = e->args[i];
		if (!x_element(x, &el))
			continue;
		if (names)
			names[n] = e->path[i];
		e->args[n++] = el;
	}
	e->nargs = n;
	if (names) {
		e->path = names;
		e->npath = n;
	}
}

// A key of several elements is a tuple, of one that element; a map without any is not keyed.
void x_key(struct Expander *x, struct Expr *e)
{
	bool several = e->a->kind == E_TUPLE && e->a->nargs > 1 && !e->a->path && e->a->span.off == e->a->args[0]->span.off; // no parentheses
	if (several) {
		x_elements(x, e->a);
		expr_set_height(e->a);
		if (e->a->nargs > 1)
			return;
		e->a = e->a->nargs ? e->a->args[0] : NULL;
	} else if (!x_element(x, &e->a))
		e->a = NULL;
	if (!e->a)
		e->kind = E_MAP;
}

// Statements that are settled here: `if comptime` when its condition is known, a loop over the items of an option. False: it is neither.
bool x_decided(struct Expander *x, struct Stmt **ps)
{
	struct Stmt *s = *ps, *n;
	if (s->kind == S_IF && s->comptime) {
		x_value(x, &s->e);
		int t = comptime_truth(s->e);
		if (t >= 0)
			s->body = t ? s->body : s->els;
		if (t >= 0)
			s->els = NULL;
		x_stmts(x, &s->body);
		x_stmts(x, &s->els);
		if (t >= 0)
			*s = (struct Stmt){.kind = S_BLOCK, .span = s->span, .body = s->body, .next = s->next};
	} else if (s->kind == S_FOR_MAP && is_option_list(s->e)) {
		struct Literals values = {0};
		x_args(x, s->e);
		list_values(x, s->e, &values);
		n = unroll_list(x, s, values.v.p, values.v.n);
		vec_deinit(&values.v);
		n->next = s->next;
		*ps = s = n;
		x_stmts(x, &s->body);
	} else
		return false;
	stmt_set_height(s);
	return true;
}

// ---- probes

// A probe that adds each of many values of an option to a map is several: the verifier takes time by the square of a program's length.
#define ROUNDS_A_PROGRAM 200
void split_rounds(struct Expander *x, struct ProbeAst *p)
{
	struct Stmt *all = p->body, *at = all && all->kind == S_BLOCK && !all->next ? all->body : NULL;
	for (u32 i = 1; at && i < ROUNDS_A_PROGRAM; i++)
		at = at->next && at->kind == S_BLOCK ? at->next : NULL;
	if (!at || !at->next)
		return;
	struct ProbeAst *rest = arena_new(x->a, struct ProbeAst);
	struct Stmt *body = arena_new(x->a, struct Stmt);
	*rest = *p;
	*body = (struct Stmt){.kind = S_BLOCK, .span = all->span, .body = at->next, .height = all->height};
	rest->body = body;
	p->next = rest;
	at->next = NULL;
	split_rounds(x, rest);
}
