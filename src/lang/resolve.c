// Names. In: the expanded tree and the points of each probe. Out: units (units.c), in each every variable
// bound to its VarSym, every map to its MapSym, every bare word to a builtin or a constant.
#include "lang/internal.h"

struct Scope {
	struct Scope *up;
	struct Map vars; // name -> struct VarSym
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
	struct VarSym *v = NULL;
	for (struct Scope *s = r->scope; s && !v; s = s->up)
		v = map_get(&s->vars, name);
	return v;
}

static struct VarSym *declare(struct Resolve *r, struct Expr *e)
{
	struct VarSym *v = arena_new(r->u->arena, struct VarSym);
	v->name = e->str;
	v->span = e->span;
	v->fn = r->fn;
	map_put(&r->scope->vars, v->name, v);
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
	map_put(&top->vars, wide->name, wide);
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
		const char *shown = *e->str == '$' && strrchr(e->str, '_') ? strrchr(e->str, '_') + 1 : e->str; // a macro's own: $MACRO_N_NAME
		diag_error(r->u->diags, e->span, "Undefined or undeclared variable: $%s", shown);
		VEC(const char *) names = {0};
		for (struct Scope *s = r->scope; s; s = s->up)
			for (u32 i = 0; i < s->vars.n; i++)
				vec_push(&names, s->vars.slots[i].key);
		const char *near = nearest_name(e->str, names.p, names.n);
		if (near)
			diag_hint(r->u->diags, "Did you mean $%s?", near);
		else if (r->pu->point->kind == PK_URETPROBE)
			diag_hint(r->u->diags, "what the entry of a call sets is there if a uprobe (of a kretprobe: a kprobe) has the same functions, written the same");
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
	m->began_keyed = e->kind == E_MAPREF;
	for (struct MapDecl *d = u->script->maps; d; d = d->next)
		if (!strcmp(d->name, e->str))
			m->decl = d;
	vec_push(&u->maps, m);
	return e->map = m;
}

// A macro's expansion, parsed as an expression of its own source; NULL if it is none.
static struct Expr *parse_macro(struct Unit *u, const char *name, const char *text)
{
	u32 file = diags_add_source(u->diags, u->diags->plain ? name : arena_printf(u->arena, "#define %s", name), text, strlen(text));
	struct Diags said = {.sources = u->diags->sources};
	struct Expr *e = parse_expression(u->arena, &said, file);
	diags_forget(&said);
	vec_deinit(&said.items);
	return e;
}

// May the tree stand in the script once more? All that #defines become is bounded: two uses of the next one in each would double it again and again.
static bool macro_room(struct Unit *u, const struct Expr *tree, struct Span at)
{
	u32 n = count_nodes(tree);
	if (!u->macros_full && n > MAX_EXPANSION - u->macro_nodes) {
		diag_error(u->diags, at, "the expansion of #defines is too large: it has over %u parts of expressions", MAX_EXPANSION);
		u->macros_full = true;
	}
	if (u->macros_full)
		return false;
	u->macro_nodes += n;
	return true;
}

static struct Expr *zero_at(struct Unit *u, struct Span at)
{
	struct Expr *e = arena_new(u->arena, struct Expr);
	*e = (struct Expr){.kind = E_INT, .span = at, .height = 1};
	return e;
}

// The same, for one use of the macro.
static struct Expr *macro_tree(struct Resolve *r, const char *name, const char *text, struct Span at)
{
	struct Unit *u = r->u;
	char *key = xasprintf("%s %s", name, text);
	struct Expr *tree = map_get(&u->macros, key);
	if (!tree && (tree = parse_macro(u, name, text)))
		map_put(&u->macros, key, tree);
	free(key);
	if (!tree)
		diag_error(u->diags, at, "unable to expand macro as an expression: %s", text);
	if (!tree || !macro_room(u, tree, at))
		return zero_at(u, at);
	tree = clone_expr(u->arena, tree);
	x_came_by(tree, 0, diags_add_call(u->diags, at));
	return tree;
}

// A macro's tree in the place of its name.
static void put_tree(struct Resolve *r, struct Expr *e, const struct Expr *tree)
{
	struct Span span = e->span;
	*e = *tree;
	if (e->kind == E_INT || e->kind == E_STR) // has no parts: what is wrong is its use
		e->span = span;
	r->macro_depth++;
	r_expr(r, e);
	r->macro_depth--;
}

static bool expand_macro(struct Resolve *r, struct Expr *e)
{
	const char *text = ctype_macro(r->u->ctypes, e->str);
	struct Expr *tree = text && r->macro_depth <= 16 ? macro_tree(r, e->str, text, e->span) : NULL;
	if (tree)
		put_tree(r, e, tree);
	return tree != NULL;
}

struct MacroArgs {
	struct Unit *u;
	const struct Expr *call;
};

static bool put_arg(void *arg, struct Expr *e)
{
	struct MacroArgs *m = arg;
	u64 i;
	if (e->kind != E_IDENT || strncmp(e->str, "__arg", 5) || !parse_u64(e->str + 5, &i) || i >= m->call->nargs)
		return true;
	const struct Expr *put = m->call->args[i];
	struct Span param = e->span;
	*e = *(macro_room(m->u, put, m->call->span) ? clone_expr(m->u->arena, put) : zero_at(m->u, put->span));
	x_came_by(e, e->span.from, diags_add_arg(m->u->diags, param));
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
	struct Expr *tree = text ? macro_tree(r, e->str, text, e->span) : NULL;
	if (!tree)
		return text != NULL;
	struct MacroArgs m = {u, e};
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
	if (near && !strcmp(near, e->str))
		diag_hint(u->diags, "'%s' is a type", near);
	else if (near)
		diag_hint(u->diags, "did you mean '%s'?", near);
	if (header)
		diag_hint(u->diags, "%s", header);
	e->kind = E_INT;
	e->ival = 0;
}

static bool is_known_word(struct Unit *u, const char *name)
{
	s64 val;
	const struct Type *type;
	return builtin_find(name) || ctype_enum_const(u->ctypes, name, &val, &type) || ctype_macro(u->ctypes, name) ||
	       (!strncmp(name, "arg", 3) && name[3] >= '0' && name[3] <= '9');
}

// Words that are arguments of a builtin, not names: kstack(perf), nsecs(boot), pid(init). One that is nothing is no mode, which the builtin's check tells.
static bool is_mode_arg(struct Unit *u, const struct Expr *call, const struct Expr *arg)
{
	static const char *const modes[] = {"kstack", "bpftrace perf raw build_id fp",
					    "ustack", "bpftrace perf raw build_id fp dwarf native async",
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
		return (at && (at == modes[i + 1] || at[-1] == ' ') && (at[n] == ' ' || !at[n])) || !is_known_word(u, arg->str);
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
	const char *why = NULL;
	const struct CFunc *c = e->builtin || !u->hooks->cfunc ? NULL : u->hooks->cfunc(u->hooks->arg, e->str, &why);
	if (c) {
		e->builtin = &builtins[BI___c_function];
		e->aux = (void *)c;
	} else if (why) {
		diag_error(u->diags, e->span, "%s() %s", e->str, why);
	} else if (!e->builtin) {
		diag_error(u->diags, e->span, "Unknown function: '%s'", e->str);
		const char *near = builtin_nearest(e->str);
		if (near)
			diag_hint(u->diags, "did you mean '%s'?", near);
	}
	for (u32 i = 0; i < e->nargs; i++)
		if (!is_mode_arg(u, e, e->args[i]))
			r_expr(r, e->args[i]);
	r_expr(r, e->a);
}

static void r_scope(struct Resolve *r, struct Stmt *s, struct Expr *value)
{
	struct Scope scope = {.up = r->scope};
	r->scope = &scope;
	r_stmts(r, s);
	if (value)
		r_expr(r, value);
	r->scope = scope.up;
	map_deinit(&scope.vars);
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
	if (!e || diags_full(r->u->diags))
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
	map_deinit(&scope.vars);
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
	for (; s && !diags_full(r->u->diags); s = s->next) {
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
		units_split(u, p, &lists[i]);
	for (i = 0; i < u->probes.n; i++) {
		struct ProbeUnit *pu = u->probes.p[i];
		struct Scope scope = {0};
		struct Resolve r = {.u = u, .pu = pu, .scope = &scope};
		r_expr(&r, pu->ast->pred);
		r_stmts(&r, pu->ast->body);
		if (r.widened)
			finish_widening(pu);
		map_deinit(&scope.vars);
	}
}
