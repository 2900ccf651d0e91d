// Expansion: positional parameters and macros.
// In: the script as parsed. Out: the same with literals for $1 and $#, each macro call replaced by its body, and blocks whose value
// nobody wants turned into statements.
// Invariants: what a macro's body names is the body's alone (its variables get names of their own, its maps must be parameters), and what
// a caller passes in is expanded in the caller's terms before it is put in. A macro cannot call itself, and what comes out is bounded
// (MAX_EXPANSION nodes: expand_copy.c; AST_MAX_HEIGHT), so expansion ends.
#include "lang/internal.h"

// ---- names inside a macro's body

static int param_index(const struct Frame *f, int kind, const char *name)
{
	for (u32 i = 0; f && i < f->macro->nparams; i++)
		if ((int)f->macro->params[i].kind == kind && !strcmp(f->macro->params[i].name, name))
			return (int)i;
	return -1;
}

static void rename_var(struct Expander *x, struct Expr *e)
{
	const struct Frame *f = x->frame;
	if (!f)
		return;
	int i = param_index(f, MP_VAR, e->str);
	e->str = i >= 0 ? f->args[i]->str : arena_printf(x->a, "$%s_%u_%s", f->macro->name, f->id, e->str);
	e->len = (u32)strlen(e->str);
}

static void rename_map(struct Expander *x, struct Expr *e)
{
	const struct Frame *f = x->frame;
	if (!f)
		return;
	int i = param_index(f, MP_MAP, e->str);
	if (i < 0) {
		diag_error(x->d, e->span, "Unhygienic access to map: %s. Maps must be passed into the macro as arguments.", e->str);
		return;
	}
	e->str = f->args[i]->str;
	e->len = f->args[i]->len;
}

// let and for make a variable: not one that the caller passed in.
static void declare_var(struct Expander *x, struct Expr *var)
{
	if (x->frame && param_index(x->frame, MP_VAR, var->str) >= 0)
		diag_error(x->d, var->span, "Variable declaration shadows macro arg $%s", var->str);
	rename_var(x, var);
}

// An identifier that is a parameter: what the caller passed. A whole map becomes "{ @m }", its value, so that the body cannot change it.
static bool put_argument(struct Expander *x, struct Expr **pe)
{
	int i = param_index(x->frame, MP_EXPR, (*pe)->str);
	if (i < 0)
		return false;
	struct Expr *arg = x_copy_expr(x, x->frame->args[i], (*pe)->span);
	x_came_by(arg, arg->span.from, diags_add_arg(x->d, (*pe)->span));
	if (arg->kind == E_MAP) {
		struct Expr *block = arena_new(x->a, struct Expr);
		*block = (struct Expr){.kind = E_BLOCK, .span = arg->span, .a = arg, .height = arg->height + 1};
		arg = block;
	}
	*pe = arg;
	return true;
}

// ---- parameters of the command line

static void put_param(struct Expander *x, struct Expr *e)
{
	const char *val = param_positional(x->s->params, x->s->nparams, e->ival);
	u64 v = 0;
	bool neg = false, is_num = !val || !*val || param_number(val, &v, &neg);
	if ((!val || !*val) && x->d->plain)
		diag_warn(x->d, e->span, "Positional parameter $%llu is empty or not provided. ", (unsigned long long)e->ival);
	*e = (struct Expr){.kind = is_num ? E_INT : E_STR, .span = e->span, .ival = v, .is_neg = neg, .from_param = true, .height = 1};
	e->str = val ? val : "";
	e->len = (u32)strlen(e->str);
}

static void put_param_count(struct Expander *x, struct Expr *e)
{
	u64 n = 0;
	for (size_t i = 0; i < x->s->nparams; i++)
		n += !x->s->params[i].name;
	*e = (struct Expr){.kind = E_INT, .span = e->span, .ival = n, .height = 1};
}

static void x_points(struct Expander *x, struct ProbeAst *p)
{
	for (struct AttachSpec *ap = p->points; ap; ap = ap->next)
		if (memchr(x->d->sources.p[ap->span.file].text + ap->span.off, '$', ap->span.len))
			ap = attach_put(ap, x->a, x->d, x->s, &p->name);
}

// ---- macro calls

static bool is_recursive(struct Expander *x, const struct Macro *m, const struct Expr *call)
{
	const struct Frame *chain[64], *f = x->frame;
	u32 n = 0;
	for (; f; f = f->up) {
		if (n < ARRAY_LEN(chain))
			chain[n++] = f;
		if (f->macro == m)
			break;
	}
	if (!f)
		return false;
	struct Str s = {0};
	while (n)
		str_addf(&s, "%s > ", chain[--n]->macro->name);
	diag_error(x->d, call->span, "Recursive macro call detected. Call chain: %s%s", str_text(&s), m->name);
	str_deinit(&s);
	return true;
}

void x_args(struct Expander *x, struct Expr *e)
{
	for (u32 i = 0; i < e->nargs; i++)
		x_expr(x, &e->args[i]);
}

// str($1), str($1 + 2): the parameter's text, digits too; one that is not there is an empty text.
static void put_text_param(struct Expander *x, struct Expr *e)
{
	if (e->kind == E_BINOP && e->op == OP_ADD)
		e = e->a;
	if (e->kind != E_POSPARAM)
		return;
	const char *val = param_positional(x->s->params, x->s->nparams, e->ival);
	*e = (struct Expr){.kind = E_STR, .span = e->span, .from_param = true, .height = 1, .str = val ? val : "", .len = val ? (u32)strlen(val) : 0};
}

// tseries() puts a number where nsecs() is: a macro of that name tells its time.
static void put_clock(struct Expander *x, struct Expr *call)
{
	struct Expr *clock = arena_new(x->a, struct Expr);
	bool told = false;
	*clock = (struct Expr){.kind = E_CALL, .span = call->span, .str = "nsecs", .height = 1};
	if (!find_macro(x, clock, &told))
		return;
	x_value(x, &clock);
	call->a = clock;
}

static void x_call(struct Expander *x, struct Expr **pe)
{
	struct Expr *call = *pe;
	bool told = false;
	if (x_known_call(x, call))
		return;
	const struct Macro *m = find_macro(x, call, &told); // by the arguments as written: a parameter that holds a variable is none
	if (!m || is_recursive(x, m, call)) {
		if (m || told)
			*pe = x_placeholder(x, call->span);
		if (!m && !told) {
			if (!strcmp(call->str, "str") && call->nargs)
				put_text_param(x, call->args[0]);
			x_elements(x, call);
			if (!strcmp(call->str, "tseries"))
				put_clock(x, call);
		}
		return;
	}
	x_args(x, call);
	struct Frame f = {m, call->args, ++x->ncalls, x->frame};
	struct Expr *body = x_copy_expr(x, m->body, call->span);
	x_came_by(body, 0, diags_add_call(x->d, call->span));
	x->frame = &f;
	x_expr(x, &body);
	x->frame = f.up;
	struct Known k;
	if (comptime_eval(body, &k))
		known_put(&k, body);
	else if (!body->body && body->a && (body->a->kind == E_IDENT || body->a->kind == E_CALL)) // not a map, which the block keeps from being changed
		body = body->a;
	if (body->kind != E_CALL && body->kind != E_IDENT) // what the macro consists of keeps its place
		body->span = call->span;
	*pe = body;
}

// ---- the walk

// sizeof(name), typeof(name): a bare name may be a parameter but is no macro call, for it may be a type.
static void x_type_or_value(struct Expander *x, struct Expr **pe)
{
	if (!*pe || ((*pe)->kind == E_IDENT && put_argument(x, pe)))
		return;
	if ((*pe)->kind != E_IDENT)
		x_value(x, pe);
}

void spec_put(struct Diags *d, struct TypeSpec *t, const struct TypeSpec *is)
{
	struct TypeSpec put = *is;
	if (is->is_array && (t->ptrs || t->is_array))
		diag_error(d, t->span, "arrays of arrays and pointers to arrays are not supported");
	put.span = t->span;
	put.ptrs += t->ptrs;
	if (t->is_array) {
		put.is_array = true;
		put.array_sized = t->array_sized;
		put.array_n = t->array_n;
	}
	*t = put;
}

// sizeof(e) and the like, where e turned out to be a type.
static void type_operand(struct Expr *e)
{
	if (e->a && e->a->kind == E_TYPE) {
		e->spec = e->a->spec;
		e->a = NULL;
	}
}

// "struct T" where T is a parameter and the caller passed a name, "T" where it passed a type.
static void x_spec(struct Expander *x, struct TypeSpec *t)
{
	if (!t)
		return;
	x_type_or_value(x, &t->typeof_expr);
	if (t->typeof_expr && t->typeof_expr->kind == E_TYPE)
		spec_put(x->d, t, t->typeof_expr->spec);
	for (u32 i = 0; i < t->ntuple; i++)
		x_spec(x, t->tuple[i]);
	const char *word = t->name ? strrchr(t->name, ' ') : NULL;
	word = word ? word + 1 : t->name;
	int i = word ? param_index(x->frame, MP_EXPR, word) : -1;
	if (i < 0)
		return;
	const struct Expr *arg = x->frame->args[i];
	if (arg->kind == E_TYPE && word == t->name)
		spec_put(x->d, t, x_copy_expr(x, arg, t->span)->spec);
	else if (arg->kind == E_IDENT)
		t->name = arena_printf(x->a, "%.*s%s", (int)(word - t->name), t->name, arg->str);
	else
		diag_error(x->d, t->span, "the macro's parameter '%s' is used as the name of a type: it must be a name", word);
}

static void x_path(struct Expander *x, struct Expr *e)
{
	int i = e->npath == 1 ? param_index(x->frame, MP_EXPR, e->path[0]) : -1;
	u32 n = 1;
	const struct Expr *arg = i < 0 ? NULL : x->frame->args[i], *word = arg;
	for (; word && word->kind == E_FIELD; word = word->a) // in.y
		n++;
	if (!word || word->kind != E_IDENT)
		return;
	e->path = arena_new_n(x->a, const char *, n);
	e->npath = n;
	for (word = arg; n--; word = word->a)
		e->path[n] = word->str;
}

static void x_block(struct Expander *x, struct Expr *e)
{
	x_stmts(x, &e->body);
	if (!e->a)
		return;
	x_expr(x, &e->a);
	if (expr_has_value(e->a))
		return;
	struct Stmt **tail = &e->body;
	while (*tail)
		tail = &(*tail)->next;
	*tail = stmt_from_expr(x->a, e->a);
	e->a = NULL;
}

static void x_children(struct Expander *x, struct Expr *e)
{
	x_spec(x, e->spec);
	switch (e->kind) {
	case E_BLOCK:
		x_block(x, e);
		return;
	case E_IF:
		x_value(x, &e->a);
		if (x_prune_if(x, e))
			return;
		x_expr(x, &e->b);
		if (e->c)
			x_expr(x, &e->c);
		return;
	case E_OFFSETOF:
		x_path(x, e);
		x_type_or_value(x, &e->a);
		type_operand(e);
		return;
	case E_SIZEOF:
	case E_TYPEINFO:
		x_type_or_value(x, &e->a);
		type_operand(e);
		return;
	case E_VAR:
		rename_var(x, e);
		return;
	case E_MAP:
	case E_MAPREF:
		rename_map(x, e);
		break;
	default:
		break;
	}
	if (e->kind == E_MAPREF) {
		x_key(x, e);
		return;
	}
	struct Expr **kids[] = {&e->a, &e->b, &e->c};
	for (u32 i = 0; i < ARRAY_LEN(kids); i++)
		if (*kids[i])
			x_value(x, kids[i]);
	x_elements(x, e);
}

void x_expr(struct Expander *x, struct Expr **pe)
{
	struct Expr *e = *pe;
	if (x->full)
		return;
	if (++x->depth > 2 * AST_MAX_HEIGHT)
		x_too_large(x, e->span);
	else if (e->kind == E_POSPARAM)
		put_param(x, e);
	else if (e->kind == E_POSCOUNT)
		put_param_count(x, e);
	else if (e->kind == E_CALL)
		x_call(x, pe);
	else if (e->kind == E_IDENT) {
		if (!put_argument(x, pe))
			x_call(x, pe);
	} else
		x_children(x, e);
	x->depth--;
	expr_set_height(*pe);
	if ((*pe)->height > AST_MAX_HEIGHT) {
		x_too_large(x, (*pe)->span);
		*pe = x_placeholder(x, (*pe)->span);
	}
}

// As x_expr, where a value is needed.
void x_value(struct Expander *x, struct Expr **pe)
{
	struct Expr *was = *pe;
	bool call = was->kind == E_CALL || was->kind == E_IDENT;
	const char *name = was->str;
	bool param = was->kind == E_IDENT && param_index(x->frame, MP_EXPR, name) >= 0;
	x_expr(x, pe);
	if (x->full || expr_has_value(*pe))
		return;
	if (param)
		diag_error(x->d, (*pe)->span, "what is passed as '%s' has no value", name);
	else if (call)
		diag_error(x->d, (*pe)->span, "Macro '%s' expanded to a block instead of a block expression.", name);
	else
		diag_error(x->d, (*pe)->span, "this %s has no value", (*pe)->kind == E_IF ? "if" : "block");
	if ((*pe)->kind == E_IF)
		diag_hint(x->d, "Each branch needs a last expression without a semicolon, and there must be an else.");
	else
		diag_hint(x->d, "Try removing the semicolon from the end of the last statement in the %s.", call && !param ? "macro body" : "block");
	*pe = x_placeholder(x, (*pe)->span);
}

static const struct Expr *last_value(const struct Expr *e)
{
	while (e && e->kind == E_BLOCK)
		e = e->a;
	return e;
}

// @map = { statements; count() }: an aggregation is no value that a block could have, so the assignment becomes its last statement.
static void into_block(struct Expander *x, struct Stmt **ps)
{
	struct Stmt *s = *ps;
	const struct Expr *call = last_value(s->e);
	const struct Builtin *b = call && call->kind == E_CALL ? builtin_find(call->str) : NULL;
	if (!b || !(b->flags & BF_AGGR) || s->op != OP_NONE || !s->lhs || s->e->kind != E_BLOCK)
		return;
	struct Stmt *all = arena_new(x->a, struct Stmt), **tail = &all->body;
	*all = (struct Stmt){.kind = S_BLOCK, .span = s->span, .next = s->next, .body = s->e->body};
	while (*tail)
		tail = &(*tail)->next;
	s->e = s->e->a;
	s->next = NULL;
	*tail = s;
	into_block(x, tail);
	stmt_set_height(*tail);
	stmt_set_height(all);
	*ps = all;
}

static void x_stmt(struct Expander *x, struct Stmt **ps)
{
	struct Stmt *s = *ps;
	x_spec(x, s->spec);
	if (x_decided(x, ps))
		return;
	if (s->kind == S_EXPR) {
		x_expr(x, &s->e);
		if (s->e->kind == E_BLOCK || s->e->kind == E_IF) {
			struct Stmt *n = stmt_from_expr(x->a, s->e);
			n->next = s->next;
			*ps = s = n;
		}
	} else {
		if (s->e)
			x_value(x, &s->e);
		if (s->kind == S_IF)
			s->e = comptime_condition(s->e);
		if (s->e2)
			x_value(x, &s->e2);
		if (s->lhs && s->kind == S_ASSIGN)
			x_value(x, &s->lhs);
		else if (s->lhs)
			declare_var(x, s->lhs);
		x_stmts(x, &s->body);
		x_stmts(x, &s->els);
	}
	stmt_set_height(s);
	if (s->kind == S_ASSIGN)
		into_block(x, ps);
}

void x_stmts(struct Expander *x, struct Stmt **ps)
{
	for (; *ps && !x->full; ps = &(*ps)->next)
		x_stmt(x, ps);
}

// A probe whose predicate is false whatever happens is left out: nothing of it is looked at.
static bool x_probe(struct Expander *x, struct ProbeAst *p)
{
	if (p->pred) {
		x_value(x, &p->pred);
		p->pred = comptime_condition(p->pred);
		int t = comptime_truth(p->pred);
		if (!t)
			return false;
		if (t > 0)
			p->pred = NULL;
	}
	bool many = p->body && p->body->kind == S_FOR_MAP && !p->body->next;
	x_points(x, p);
	x_stmts(x, &p->body);
	if (many)
		split_rounds(x, p);
	return true;
}

static void x_setting(struct Expander *x, struct ConfigItem *c)
{
	struct Known k;
	if (c->val->kind <= E_IDENT) // a literal, a word
		return;
	x_value(x, &c->val);
	if (comptime_eval(c->val, &k))
		known_put(&k, c->val);
	else
		diag_error(x->d, c->val->span, "the value of %s is not known at compile time", c->key);
}

static void x_map_size(struct Expander *x, struct MapDecl *m)
{
	struct Known k;
	x_value(x, &m->max);
	if (comptime_eval(m->max, &k))
		known_put(&k, m->max);
	if (m->max->kind != E_INT || m->max->is_neg)
		diag_error(x->d, m->span, "expected positive integer for map declaration max entries");
}

void expand_script(struct Script *s, const struct Param *params, size_t nparams)
{
	struct Expander x = {.s = s, .a = s->arena, .d = s->diags};
	script_set_params(s, params, nparams);
	script_options(s);
	collect_macros(&x);
	for (struct ConfigItem *c = s->config; c; c = c->next)
		x_setting(&x, c);
	for (struct MapDecl *m = s->maps; m; m = m->next)
		x_map_size(&x, m);
	for (struct ProbeAst **p = &s->probes, *next; *p; ) {
		next = (*p)->next;
		if (x_probe(&x, *p)) {
			while (*p != next)
				p = &(*p)->next;
			continue;
		}
		struct ProbeAst *out = *p;
		*p = next;
		out->next = s->dropped;
		s->dropped = out;
	}
	forget_macros(&x);
	pair_calls(s);
}
