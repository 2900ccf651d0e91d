// Names. In: the expanded tree and the points of each probe. Out: units (a probe's body for one kind of context), every variable
// bound to its VarSym, every map to its MapSym, every bare word to a builtin or a constant.
#include "lang/internal.h"

// ---- units

static bool note_use(void *arg, struct Expr *e)
{
	struct ProbeUnit *pu = arg;
	if (e->kind != E_IDENT && e->kind != E_CALL)
		return true;
	const char *n = e->str;
	if (!strcmp(n, "probe"))
		pu->uses_probe = true;
	else if (!strcmp(n, "args") || !strcmp(n, "retval"))
		pu->uses_args = true;
	else if (!strcmp(n, "func") || !strcmp(n, "probetype") || !strcmp(n, "uaddr"))
		pu->uses_func = true;
	else if (!strcmp(n, "socket_cookie"))
		pu->uses_cookie = true;
	else if (!strcmp(n, "ctx"))
		pu->uses_ctx = true;
	else if (!strncmp(n, "arg", 3) && n[3] >= '0' && n[3] <= '9')
		pu->uses_argn = true;
	pu->uses_uaddr |= !strcmp(n, "uaddr");
	pu->uses_argn |= !strcmp(n, "__frame"); // the size of a return address
	return true;
}

static bool same_record(const struct Record *a, const struct Record *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->nfields != b->nfields || a->size != b->size)
		return false;
	for (u32 i = 0; i < a->nfields; i++) {
		const struct Field *x = &a->fields[i], *y = &b->fields[i];
		if (strcmp(x->name, y->name) || x->type != y->type || x->off != y->off || x->data_loc != y->data_loc)
			return false;
	}
	return true;
}

static bool same_usdt_args(const struct Point *a, const struct Point *b)
{
	if (a->nusdt_args != b->nusdt_args)
		return false;
	for (u32 i = 0; i < a->nusdt_args; i++) {
		const struct UsdtArg *x = &a->usdt_args[i], *y = &b->usdt_args[i];
		if (x->size != y->size || x->sgn != y->sgn || x->kind != y->kind || x->imm != y->imm || x->reg != y->reg ||
		    x->index != y->index || x->scale != y->scale)
			return false;
	}
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

// May point p be served by the program of unit pu, given what the body uses?
static bool unit_serves(const struct ProbeUnit *pu, const struct Point *p)
{
	const struct Point *q = pu->point;
	if (p->kind != q->kind || p->ctx != q->ctx)
		return false;
	switch (p->kind) {
	case PK_BEGIN: case PK_END: case PK_SELF: case PK_TEST: case PK_BENCH: case PK_ITER:
	case PK_FENTRY: case PK_FEXIT:
		return false; // one program each: loaded against its own target or run by itself
	default:
		break;
	}
	if (pu->uses_probe && !same_text(p->name, q->name))
		return false;
	if (pu->uses_func && p->kind != PK_KPROBE && p->kind != PK_KRETPROBE && (!same_text(p->func, q->func) || !same_text(p->target, q->target)))
		return false;
	if (pu->uses_args && (!same_record(p->args, q->args) || p->ret != q->ret))
		return false;
	if ((pu->uses_argn || pu->uses_args) && (!same_usdt_args(p, q) || p->bits32 != q->bits32 || p->arg_regs != q->arg_regs || p->narg_regs != q->narg_regs))
		return false;
	if (pu->uses_uaddr && p->at_ret && p->addr != q->addr) // counted from the probed instruction
		return false;
	if (pu->uses_cookie && p->kind == PK_RAWTP) // loaded against its own event
		return false;
	return true;
}

static void split_units(struct Unit *u, struct ProbeAst *ast, struct PointList *points)
{
	struct ProbeUnit uses = {0};
	walk_expr(ast->pred, note_use, &uses);
	walk_exprs(ast->body, note_use, &uses);
	size_t first = u->probes.n;
	for (size_t i = 0; i < points->v.n; i++) {
		struct Point *p = points->v.p[i];
		struct ProbeUnit *pu = NULL;
		for (size_t j = first; j < u->probes.n && !pu; j++)
			if (unit_serves(u->probes.p[j], p))
				pu = u->probes.p[j];
		if (!pu) {
			pu = arena_new(u->arena, struct ProbeUnit);
			*pu = uses;
			pu->point = p;
			pu->ast = ast;
			if (u->probes.n > first) {
				pu->ast = arena_new(u->arena, struct ProbeAst);
				*pu->ast = *ast;
			}
			vec_push(&u->probes, pu);
		}
		vec_push(&pu->points.v, p);
	}
	// copies of the body are made while the original is still unbound
	for (size_t j = first + 1; j < u->probes.n; j++) {
		u->probes.p[j]->ast->pred = clone_expr(u->arena, ast->pred);
		u->probes.p[j]->ast->body = clone_stmts(u->arena, ast->body);
	}
}

// ---- binding

struct Scope {
	struct Scope *up;
	VEC(struct VarSym *) vars;
};
struct Resolve {
	struct Unit *u;
	struct ProbeUnit *pu;
	struct Scope *scope;
	u32 fn;
	u32 macro_depth;
	bool widened; // a variable was
};

static void r_expr(struct Resolve *r, struct Expr *e);
static void r_stmts(struct Resolve *r, struct Stmt *s);

static struct VarSym *find_var(struct Resolve *r, const char *name)
{
	for (struct Scope *s = r->scope; s; s = s->up)
		for (size_t i = 0; i < s->vars.n; i++)
			if (!strcmp(s->vars.p[i]->name, name))
				return s->vars.p[i];
	return NULL;
}

static struct VarSym *declare(struct Resolve *r, struct Expr *e)
{
	struct VarSym *v = arena_new(r->u->arena, struct VarSym);
	v->name = e->str;
	v->span = e->span;
	v->fn = r->fn;
	vec_push(&r->scope->vars, v);
	vec_push(&r->pu->vars, v);
	e->var = v;
	return v;
}

// Until bpftrace 0.21 a variable lived in the whole probe, wherever it was first assigned. One that is used outside the block that assigns
// it lives so here: every block's variable of that name becomes the probe's, zero at its start. With let, or of a loop, it is its block's.
static struct VarSym *widen_var(struct Resolve *r, struct Expr *e)
{
	struct VarSym *wide = NULL;
	for (size_t i = 0; i < r->pu->vars.n; i++) {
		struct VarSym *v = r->pu->vars.p[i];
		if (strcmp(v->name, e->str) || v->same)
			continue;
		if (v->is_let || v->is_loop)
			return NULL;
		if (!wide)
			wide = v;
		else
			v->same = wide;
		wide->captured |= v->captured || v->fn;
	}
	if (!wide)
		return NULL;
	wide->fn = 0;
	struct Scope *top = r->scope;
	while (top->up)
		top = top->up;
	vec_push(&top->vars, wide);
	struct Stmt *let = arena_new(r->u->arena, struct Stmt);
	struct Expr *lhs = arena_new(r->u->arena, struct Expr);
	*lhs = (struct Expr){.kind = E_VAR, .span = wide->span, .str = wide->name, .var = wide, .height = 1};
	*let = (struct Stmt){.kind = S_LET, .span = wide->span, .lhs = lhs, .height = 2, .next = r->pu->ast->body};
	r->pu->ast->body = let;
	r->widened = true;
	diag_warn(r->u->diags, e->span, "Variable $%s is used outside the block that assigns it", e->str);
	diag_hint(r->u->diags, "declare it before that block: let $%s;", e->str);
	return wide;
}

static bool bind_widened(void *arg, struct Expr *e)
{
	if (e->kind == E_VAR && e->var && e->var->same)
		e->var = e->var->same;
	return true;
}

static void finish_widening(struct ProbeUnit *pu)
{
	size_t n = 0;
	walk_expr(pu->ast->pred, bind_widened, NULL);
	walk_exprs(pu->ast->body, bind_widened, NULL);
	for (size_t i = 0; i < pu->vars.n; i++)
		if (!pu->vars.p[i]->same)
			pu->vars.p[n++] = pu->vars.p[i];
	pu->vars.n = n;
}

static void use_var(struct Resolve *r, struct Expr *e)
{
	e->var = find_var(r, e->str);
	if (!e->var)
		e->var = widen_var(r, e);
	if (!e->var) {
		diag_error(r->u->diags, e->span, "Undefined or undeclared variable: $%s", e->str);
		VEC(const char *) names = {0};
		for (struct Scope *s = r->scope; s; s = s->up)
			for (size_t i = 0; i < s->vars.n; i++)
				vec_push(&names, s->vars.p[i]->name);
		const char *near = nearest_name(e->str, names.p, names.n);
		if (near)
			diag_hint(r->u->diags, "Did you mean $%s?", near);
		else if (r->pu->point->kind == PK_URETPROBE)
			diag_hint(r->u->diags, "what the entry of a call sets is there if a uprobe has the same functions, written the same");
		vec_deinit(&names);
		declare(r, e); // said once
	} else if (e->var->fn != r->fn)
		e->var->captured = true;
}

static struct MapSym *bind_map(struct Unit *u, struct Expr *e)
{
	for (size_t i = 0; i < u->maps.n; i++)
		if (!strcmp(u->maps.p[i]->name, e->str))
			return e->map = u->maps.p[i];
	struct MapSym *m = arena_new(u->arena, struct MapSym);
	m->name = e->str;
	m->span = e->span;
	for (struct MapDecl *d = u->script->maps; d; d = d->next)
		if (!strcmp(d->name, e->str))
			m->decl = d;
	vec_push(&u->maps, m);
	return e->map = m;
}

// A macro's expansion, parsed as an expression of its own source; NULL after an error.
static struct Expr *macro_tree(struct Resolve *r, const char *name, const char *text)
{
	struct Unit *u = r->u;
	char *src = arena_printf(u->arena, "begin{_=(%s);}", text);
	int before = u->diags->nerrors;
	u16 file = diags_add_source(u->diags, arena_printf(u->arena, "#define %s", name), src, strlen(src));
	struct Script *s = parse_script(u->arena, u->diags, file);
	if (u->diags->nerrors == before && s->probes && s->probes->body && s->probes->body->e)
		return s->probes->body->e;
	diag_hint(u->diags, "the macro %s expands to `%s`, which is not an expression of this language", name, text);
	return NULL;
}

// A macro's tree in the place of its name.
static void put_tree(struct Resolve *r, struct Expr *e, const struct Expr *tree)
{
	struct Span span = e->span;
	*e = *tree;
	e->span = span;
	r->macro_depth++;
	r_expr(r, e);
	r->macro_depth--;
}

static bool expand_macro(struct Resolve *r, struct Expr *e)
{
	const char *text = ctype_macro(r->u->ctypes, e->str);
	struct Expr *tree = text && r->macro_depth <= 16 ? macro_tree(r, e->str, text) : NULL;
	if (tree)
		put_tree(r, e, tree);
	return tree != NULL;
}

struct MacroArgs {
	struct Arena *arena;
	const struct Expr *call;
};

static bool put_arg(void *arg, struct Expr *e)
{
	struct MacroArgs *m = arg;
	u64 i;
	if (e->kind != E_IDENT || strncmp(e->str, "__arg", 5) || !parse_u64(e->str + 5, &i) || i >= m->call->nargs)
		return true;
	*e = *clone_expr(m->arena, m->call->args[i]);
	return false;
}

// name(args) of a #define: its text is parsed as the macro's above, with the arguments, which are trees already, put in their places.
static bool expand_macro_call(struct Resolve *r, struct Expr *e)
{
	struct Unit *u = r->u;
	u32 takes = e->nargs;
	const char *text = r->macro_depth > 16 ? NULL : ctype_macro_call(u->ctypes, e->str, e->nargs, &takes);
	if (!text && takes != e->nargs) {
		diag_error(u->diags, e->span, "the macro %s takes %u argument%s, found %u", e->str, takes, takes == 1 ? "" : "s", e->nargs);
		return true;
	}
	struct Expr *tree = text ? macro_tree(r, e->str, text) : NULL;
	if (!tree)
		return text != NULL;
	struct MacroArgs m = {u->arena, e};
	walk_expr(tree, put_arg, &m);
	put_tree(r, e, tree);
	return true;
}

static void r_ident(struct Resolve *r, struct Expr *e)
{
	struct Unit *u = r->u;
	s64 val;
	const struct Type *type;
	if (ctype_macro_own(u->ctypes, e->str) && expand_macro(r, e))
		return;
	if (!strncmp(e->str, "arg", 3) && e->str[3] >= '0' && e->str[3] <= '9' && strlen(e->str) <= 5)
		return; // check: argN
	if ((e->builtin = builtin_find(e->str))) {
		e->str = e->builtin->name;
		return;
	}
	if (ctype_enum_const(u->ctypes, e->str, &val, &type)) {
		e->kind = E_INT;
		e->ival = (u64)val;
		e->is_neg = val < 0;
		e->type = type;
		e->is_lit = true;
		return;
	}
	if (expand_macro(r, e))
		return;
	diag_error(u->diags, e->span, "Unknown identifier: '%s'", e->str);
	const char *near = builtin_nearest(e->str);
	if (!near)
		near = ctype_nearest(u->ctypes, e->str);
	const char *header = ctype_unresolved_hint(u->ctypes);
	if (near)
		diag_hint(u->diags, "did you mean '%s'?", near);
	if (header)
		diag_hint(u->diags, "%s", header);
	e->kind = E_INT;
	e->ival = 0;
}

// Words that are arguments of a builtin, not names: kstack(perf), nsecs(boot), pid(init).
static bool is_mode_arg(const struct Expr *call, const struct Expr *arg)
{
	static const char *const modes[] = {"kstack", "bpftrace perf raw build_id fp",
					    "ustack", "bpftrace perf raw build_id fp dwarf native",
					    "dw_ustack", "bpftrace perf raw build_id",
					    "nsecs",  "monotonic boot tai sw_tai",
					    "pid",    "curr_ns init",
					    "tid",    "curr_ns init"};
	if (arg->kind != E_IDENT)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(modes); i += 2) {
		if (strcmp(call->str, modes[i]))
			continue;
		const char *at = strstr(modes[i + 1], arg->str);
		size_t n = strlen(arg->str);
		if (at && (at == modes[i + 1] || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	}
	return false;
}

static void r_call(struct Resolve *r, struct Expr *e)
{
	struct Unit *u = r->u;
	e->builtin = builtin_find(e->str);
	if (e->builtin)
		e->str = e->builtin->name;
	if (!e->builtin && expand_macro_call(r, e))
		return;
	if (!e->builtin) {
		diag_error(u->diags, e->span, "Unknown function: '%s'", e->str);
		const char *near = builtin_nearest(e->str);
		if (near)
			diag_hint(u->diags, "did you mean '%s'?", near);
	}
	for (u32 i = 0; i < e->nargs; i++)
		if (!is_mode_arg(e, e->args[i]))
			r_expr(r, e->args[i]);
}

static void r_scope(struct Resolve *r, struct Stmt *s, struct Expr *value)
{
	struct Scope scope = {.up = r->scope};
	r->scope = &scope;
	r_stmts(r, s);
	if (value)
		r_expr(r, value);
	r->scope = scope.up;
	vec_deinit(&scope.vars);
}

// "word" as a type when no builtin or constant is called so, "word[2]" an array of it. NULL: it is a value.
static struct TypeSpec *as_type(struct Resolve *r, const struct Expr *a)
{
	if (a->kind == E_TYPE)
		return a->spec;
	if (a->kind == E_INDEX && a->b->kind == E_INT) {
		struct TypeSpec *t = as_type(r, a->a);
		if (!t || t->is_array)
			return NULL;
		t->is_array = t->array_sized = true;
		t->array_n = a->b->ival;
		return t;
	}
	if (a->kind != E_IDENT || builtin_find(a->str) || !ctype_lookup(r->u->ctypes, a->str))
		return NULL;
	struct TypeSpec *t = arena_new(r->u->arena, struct TypeSpec);
	*t = (struct TypeSpec){.span = a->span, .name = a->str};
	return t;
}

// sizeof(word) and the like.
static void word_to_type(struct Resolve *r, struct Expr *e)
{
	bool asks = e->kind == E_SIZEOF || e->kind == E_OFFSETOF || e->kind == E_TYPEINFO;
	struct TypeSpec *t = asks && e->a ? as_type(r, e->a) : NULL;
	if (!t)
		return;
	e->spec = t;
	e->a = NULL;
}

// typeof(word), typeof(expression)
static void r_spec(struct Resolve *r, struct TypeSpec *s)
{
	if (!s || !s->typeof_expr)
		return;
	struct TypeSpec *t = as_type(r, s->typeof_expr);
	if (t)
		spec_put(r->u->diags, s, t);
	if (s->typeof_expr)
		r_expr(r, s->typeof_expr);
}

static void r_expr(struct Resolve *r, struct Expr *e)
{
	if (!e)
		return;
	word_to_type(r, e);
	r_spec(r, e->spec);
	switch (e->kind) {
	case E_VAR:
		use_var(r, e);
		return;
	case E_IDENT:
		r_ident(r, e);
		return;
	case E_CALL:
		r_call(r, e);
		return;
	case E_MAP:
		bind_map(r->u, e);
		return;
	case E_MAPREF:
		bind_map(r->u, e);
		break;
	case E_BLOCK:
		r_scope(r, e->body, e->a);
		return;
	default:
		break;
	}
	r_expr(r, e->a);
	r_expr(r, e->b);
	r_expr(r, e->c);
	for (u32 i = 0; i < e->nargs; i++)
		r_expr(r, e->args[i]);
}

static void r_let(struct Resolve *r, struct Stmt *s)
{
	r_spec(r, s->spec);
	r_expr(r, s->e);
	struct VarSym *old = find_var(r, s->lhs->str);
	if (old) {
		diag_error(r->u->diags, s->lhs->span, "Variable $%s was already declared. Variable shadowing is not allowed.", s->lhs->str);
		s->lhs->var = old;
		return;
	}
	declare(r, s->lhs)->is_let = true;
}

// A loop body that becomes a function: the loop variable and what the body declares belong to it.
static void r_loop(struct Resolve *r, struct Stmt *s)
{
	u32 up = r->fn;
	if (s->kind == S_FOR_MAP || !r->u->hooks->bpf_loop || r->u->hooks->bpf_loop())
		r->fn = ++r->pu->nfns; // else its variables stay where the verifier follows them
	struct Scope scope = {.up = r->scope};
	r->scope = &scope;
	if (s->kind == S_WHILE)
		r_expr(r, s->e);
	else {
		struct VarSym *old = find_var(r, s->lhs->str);
		if (old)
			diag_error(r->u->diags, s->lhs->span, "Loop declaration shadows existing variable: $%s", s->lhs->str);
		declare(r, s->lhs)->is_loop = true;
	}
	r_scope(r, s->body, NULL);
	r->scope = scope.up;
	vec_deinit(&scope.vars);
	r->fn = up;
}

static void r_assign(struct Resolve *r, struct Stmt *s)
{
	r_expr(r, s->e);
	if (!s->lhs)
		return;
	if (s->lhs->kind == E_VAR && s->op == OP_NONE && !find_var(r, s->lhs->str)) {
		declare(r, s->lhs);
		return;
	}
	r_expr(r, s->lhs);
}

static void r_stmts(struct Resolve *r, struct Stmt *s)
{
	for (; s; s = s->next) {
		switch (s->kind) {
		case S_EXPR:
		case S_RETURN:
			r_expr(r, s->e);
			break;
		case S_ASSIGN:
			r_assign(r, s);
			break;
		case S_LET:
			r_let(r, s);
			break;
		case S_IF:
			r_expr(r, s->e);
			r_scope(r, s->body, NULL);
			r_scope(r, s->els, NULL);
			break;
		case S_UNROLL:
			r_expr(r, s->e);
			r_scope(r, s->body, NULL);
			break;
		case S_FOR_MAP:
		case S_FOR_RANGE:
			r_expr(r, s->e);
			r_expr(r, s->e2);
			r_loop(r, s);
			break;
		case S_WHILE:
			r_loop(r, s);
			break;
		case S_BLOCK:
			r_scope(r, s->body, NULL);
			break;
		case S_BREAK:
		case S_CONTINUE:
			break;
		}
	}
}

void resolve_script(struct Unit *u, struct PointList *lists)
{
	size_t i = 0;
	for (struct ProbeAst *p = u->script->probes; p; p = p->next, i++)
		split_units(u, p, &lists[i]);
	for (i = 0; i < u->probes.n; i++) {
		struct ProbeUnit *pu = u->probes.p[i];
		struct Scope scope = {0};
		struct Resolve r = {.u = u, .pu = pu, .scope = &scope};
		r_expr(&r, pu->ast->pred);
		r_stmts(&r, pu->ast->body);
		if (r.widened)
			finish_widening(pu);
		vec_deinit(&scope.vars);
	}
}

void units_drop_absent(struct Unit *u)
{
	size_t n = 0;
	for (size_t i = 0; i < u->probes.n; i++)
		if (!u->probes.p[i]->point->absent)
			u->probes.p[n++] = u->probes.p[i];
	u->probes.n = n;
}
