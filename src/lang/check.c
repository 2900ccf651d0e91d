// Types of statements, and the rounds that let types settle. In: a resolved tree. Out: every Expr.type, VarSym.type and MapSym.key/val.
// Types only ever grow (uint8 -> uint64, string[4] -> string[16]), so rounds over the whole tree end; the last round reports errors.
#include "lang/internal.h"

// ---- statements

void check_cond(struct Unit *u, struct Expr *e, const char *what)
{
	const struct Type *t = check_truth(u, e);
	if (t->kind != TY_NONE && !ty_is_int(t) && t->kind != TY_PTR)
		ERR(u, e->span, "Invalid condition in %s: '%s'", what, tyname(u, t));
}

static bool has_effect(const struct Expr *e)
{
	switch (e->kind) {
	case E_CALL:
		return !e->builtin || (e->builtin->flags & BF_VOID) || !strcmp(e->str, "delete") || !strcmp(e->str, "find");
	case E_IDENT:
		return e->builtin && (e->builtin->flags & BF_VOID);
	case E_UNOP:
		return e->op >= OP_PREINC;
	case E_TERNARY:
		return has_effect(e->b) || has_effect(e->c);
	case E_BLOCK:
		return !e->a || has_effect(e->a);
	default:
		return e->type && e->type->kind == TY_VOID;
	}
}

static bool is_aggr_call(const struct Expr *e)
{
	return e->kind == E_CALL && e->builtin && (e->builtin->flags & BF_AGGR);
}

static void check_map_decl(struct Unit *u, struct MapSym *m, struct Expr *e)
{
	// declared per-CPU kinds hold aggregations only, shared kinds no aggregations
	bool percpu = m->decl && strstr(m->decl->type, "percpu");
	bool aggr = m->val && ty_is_aggr(m->val);
	if (!m->decl || !m->val)
		return;
	if (aggr && !percpu)
		ERR(u, e->span, "Incompatible map types. Type from declaration: %s. Type from value/key type: percpuhash", m->decl->type);
	else if (!aggr && percpu)
		ERR(u, e->span, "Incompatible map types. Type from declaration: %s. Type from value/key type: hash", m->decl->type);
}

static void assign_map(struct Unit *u, struct Stmt *s)
{
	struct Expr *l = s->lhs;
	bool read = l->map->read;
	check_expr(u, l);
	l->map->read = read;
	u->aggr = s->op == OP_NONE && is_aggr_call(s->e) ? s->e : NULL;
	const struct Type *t = check_expr(u, s->e);
	if (t->kind == TY_VOID) {
		ERR(u, s->span, "Value of type 'void' cannot be assigned to a map.");
		return;
	}
	if (s->op != OP_NONE) {
		if (t->kind != TY_NONE && l->map->val && ty_is_aggr(l->map->val))
			ERR(u, s->span, "Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'", l->map->name,
			    tyname(u, t), tyname(u, l->map->val));
		else if (t->kind != TY_NONE && !ty_is_int(operand_type(u, t)) && !(l->map->val && l->map->val->kind == TY_PTR))
			ERR(u, s->span, "The %s= operator can not be used on expressions of type '%s'", op_text(s->op), tyname(u, t));
		else if (t->kind != TY_NONE && l->map->val && !ty_is_int(l->map->val) && l->map->val->kind != TY_PTR) // what no number can be added to
			ERR(u, s->span, "Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'", l->map->name,
			    t->sgn ? "int64" : "uint64", tyname(u, l->map->val));
		else if (!l->map->val || ty_is_int(l->map->val)) {
			const struct Type *have = l->map->val;
			t = operand_type(u, t);
			map_grow_val(u, l->map, s->span, have && ty_is_int(t) ? arith_type(u, s->op, have, t) : ty_int(u->types, 8, true));
		}
		return;
	}
	if (ty_is_aggr(t) && !is_aggr_call(s->e)) {
		if (!ty_is_aggr_castable(t)) {
			ERR(u, s->span, "Map value '%s' cannot be assigned from one map to another. The function that returns this type must be "
					"called directly e.g. `%s = %s(retval);`.", tyname(u, t), l->map->name, "hist");
			return;
		}
		t = operand_type(u, t);
	}
	map_grow_val(u, l->map, s->span, t);
	check_map_decl(u, l->map, l);
}

static void note_kaddr(struct Unit *u, struct VarSym *v, const struct Expr *e)
{
	u->changed |= e->kaddr && !v->kaddr;
	v->kaddr |= e->kaddr;
}

static void assign_var(struct Unit *u, struct Stmt *s)
{
	struct VarSym *v = s->lhs->var;
	const struct Type *t = check_expr(u, s->e);
	s->lhs->type = v->type;
	if (s->op == OP_NONE) {
		if (t->kind == TY_TSMODE || t->kind == TY_STACKMODE)
			ERR(u, s->span, "Value '%s' cannot be assigned to a scratch variable.", tyname(u, t));
		if (literal_fits(u, v, s->e, s->span))
			var_grow(u, v, s->span, t);
		note_kaddr(u, v, s->e);
	} else if (t->kind != TY_NONE && v->type) {
		t = operand_type(u, t);
		if (v->type->kind == TY_PTR && ty_is_int(t) && (s->op == OP_ADD || s->op == OP_SUB))
			;
		else if (u->diags->plain && !ty_is_int(v->type))
			ERR(u, s->span, "Type mismatch for $%s: trying to assign value of type 'uint64' when variable already has a type '%s'", v->name, tyname(u, v->type));
		else if (!ty_is_int(t) || !ty_is_int(v->type))
			ERR(u, s->span, "The %s= operator can not be used on expressions of types '%s', '%s'", op_text(s->op), tyname(u, v->type),
			    tyname(u, t));
		else if (!v->declared_type)
			var_grow(u, v, s->span, arith_type(u, s->op, v->type, t));
	}
	s->lhs->type = v->type ? v->type : t;
}

static void loop_variable(struct Unit *u, struct Stmt *s, const struct Type *t)
{
	if (s->lhs->var->type != t) {
		s->lhs->var->type = t;
		u->changed = true;
	}
	s->lhs->type = t;
}

static void loop_body(struct Unit *u, struct Stmt *s)
{
	u->loop_depth++;
	check_stmts(u, s->body);
	u->loop_depth--;
}

struct ForEntry {
	struct Unit *u;
	struct VarSym *v;
	struct MapSym *m;
};

// "$kv.1" -> "@map[$kv.0]"
static bool put_entry(void *arg, struct Expr *e)
{
	struct ForEntry *f = arg;
	if (e->kind == E_VAR && e->var == f->v)
		ERR(f->u, e->span, "values of %s are of type '%s': $%s has no value of its own, take $%s.0 and $%s.1", f->m->name, tyname(f->u, f->m->val), e->str,
		    e->str, e->str);
	if (e->kind != E_TUPFIELD || e->a->kind != E_VAR || e->a->var != f->v)
		return true;
	if (e->tup == 1) {
		struct Expr *key = clone_expr(f->u->arena, e);
		key->tup = 0;
		*e = (struct Expr){.kind = E_MAPREF, .span = e->span, .str = f->m->name, .len = (u32)strlen(f->m->name), .map = f->m, .a = key, .height = e->height + 1};
	}
	return false;
}

// In a loop over histograms the value is the map's entry, which print() and other loops find by its key.
static const struct Type *value_by_key(struct Unit *u, struct Stmt *s)
{
	struct ForEntry f = {u, s->lhs->var, s->e->map};
	walk_exprs(s->body, put_entry, &f);
	return ty_int(u->types, 1, false);
}

static void check_for_map(struct Unit *u, struct Stmt *s)
{
	if (s->e->kind != E_MAP) {
		check_expr(u, s->e);
		ERR(u, s->e->span, "For-loops over anything but a map or a range are not supported");
		return;
	}
	struct MapSym *m = s->e->map;
	s->e->type = ty_simple(u->types, TY_VOID);
	if (u->final && m->scalar && !m->keyed)
		ERR(u, s->e->span, "%s has no explicit keys (scalar map), and cannot be used for iteration", m->name);
	else if (u->final && !m->key)
		ERR(u, s->e->span, "Undefined map: %s", m->name);
	if (m->key && m->val) {
		const struct Type *f[2] = {m->key, operand_type(u, m->val)};
		if (f[1]->kind == TY_STATS) // its average, as of avg(); @map[$kv.0] has the rest
			f[1] = ty_int(u->types, 8, f[1]->sgn);
		if (ty_is_aggr(f[1]))
			f[1] = value_by_key(u, s);
		const struct Type *t = ty_tuple(u->types, f, NULL, 2);
		loop_variable(u, s, t);
	}
	loop_body(u, s);
}

static void check_for_range(struct Unit *u, struct Stmt *s)
{
	const struct Type *a = operand_type(u, check_expr(u, s->e)), *b = operand_type(u, check_expr(u, s->e2));
	if (a->kind != TY_NONE && a->kind != TY_INT)
		ERR(u, s->e->span, "Loop range requires an integer for the start value ('%s' provided)", tyname(u, a));
	if (b->kind != TY_NONE && b->kind != TY_INT)
		ERR(u, s->e2->span, "Loop range requires an integer for the end value ('%s' provided)", tyname(u, b));
	const struct Type *t = arith_type(u, OP_ADD, a, b), *now = s->lhs->var->type;
	if (a->is_lit && b->is_lit) // as $i = 5; what the body has set it to stays
		t = now && now->kind == TY_INT ? now : ty_lit(u->types, 8);
	loop_variable(u, s, t);
	loop_body(u, s);
}

static void check_unroll(struct Unit *u, struct Stmt *s)
{
	check_expr(u, s->e);
	if (s->e->kind != E_INT)
		ERR(u, s->e->span, "invalid unroll value: must be a literal");
	else if (s->e->is_neg || s->e->ival < 1)
		ERR(u, s->e->span, "unroll minimum value is 1");
	else if (s->e->ival > 100)
		ERR(u, s->e->span, "unroll maximum value is 100");
	check_stmts(u, s->body);
}

static void check_let(struct Unit *u, struct Stmt *s)
{
	struct VarSym *v = s->lhs->var;
	if (s->spec && !v->declared_type) {
		v->type = check_spec(u, s->spec);
		if (v->type->kind == TY_NONE)
			v->type = NULL;
		else {
			v->declared_type = true;
			u->changed = true;
		}
	}
	if (s->e) {
		const struct Type *t = check_expr(u, s->e);
		if (literal_fits(u, v, s->e, s->span))
			var_grow(u, v, s->span, t);
		note_kaddr(u, v, s->e);
	}
	if (u->final && !v->type && !s->e) {
		diag_warn(u->diags, s->span, "Variable $%s was never assigned to.", v->name);
		v->type = ty_int(u->types, 8, false);
	}
	s->lhs->type = v->type ? v->type : ty_none(u);
}

// Called bpftrace: a statement with the semicolon behind it, as its messages underline it.
static struct Span whole(const struct Unit *u, struct Span at)
{
	const struct Source *src = &u->diags->sources.p[at.file];
	size_t end = (size_t)at.off + at.len;
	while (end < src->len && (src->text[end] == ' ' || src->text[end] == '\t'))
		end++;
	if (u->diags->plain && end < src->len && src->text[end] == ';')
		at.len = (u32)(end + 1 - at.off);
	return at;
}

static void check_stmt(struct Unit *u, struct Stmt *s)
{
	switch (s->kind) {
	case S_EXPR: {
		const struct Type *t = check_expr(u, s->e);
		if (u->final && t->kind != TY_NONE && !has_effect(s->e) && !s->e->type->en)
			diag_warn(u->diags, whole(u, s->e->span), "Return value discarded.");
		break;
	}
	case S_ASSIGN:
		if (!s->lhs) {
			check_expr(u, s->e);
		} else if (s->lhs->kind == E_VAR)
			assign_var(u, s);
		else if (s->lhs->kind == E_MAP || s->lhs->kind == E_MAPREF)
			assign_map(u, s);
		else
			ERR(u, s->lhs->span, "only scratch variables and maps can be assigned to");
		break;
	case S_LET:
		check_let(u, s);
		break;
	case S_IF:
		check_cond(u, s->e, "if");
		if (s->comptime && !s->e->is_lit) {
			if (u->final && s->e->type->kind != TY_NONE)
				ERR(u, s->e->span, "Unable to evaluate at compile time.");
			break;
		}
		if (s->comptime || (s->e->kind == E_BOOL || s->e->kind == E_INT)) {
			check_stmts(u, s->e->ival ? s->body : s->els);
			if (!s->comptime && !s->e->ival) {
				u->unreached++;
				check_stmts(u, s->body); // types must hold in dead code too
				u->unreached--;
			}
			break;
		}
		check_stmts(u, s->body);
		check_stmts(u, s->els);
		break;
	case S_WHILE: {
		if (u->final)
			diag_warn(u->diags, s->span, "While loops are deprecated and may be removed in the future.");
		if (u->final && u->diags->plain)
			HINT(u, "For loops support ranges (e.g. `for ($x : $start..$end) { ... }`), and can be used in place of while. These are more easily proven to be bounded by the verifier.");
		check_cond(u, s->e, "while");
		bool never = (s->e->kind == E_BOOL || s->e->kind == E_INT) && !s->e->ival;
		u->unreached += never;
		loop_body(u, s);
		u->unreached -= never;
		break;
	}
	case S_UNROLL:
		check_unroll(u, s);
		break;
	case S_FOR_MAP:
		check_for_map(u, s);
		break;
	case S_FOR_RANGE:
		check_for_range(u, s);
		break;
	case S_RETURN:
		if (s->e) {
			const struct Type *t = operand_type(u, check_expr(u, s->e));
			if (t->kind != TY_NONE && !ty_is_int(t) && t->kind != TY_VOID)
				ERR(u, s->e->span, "return takes an integer");
		}
		break;
	case S_BREAK:
	case S_CONTINUE:
		if (!u->loop_depth)
			ERR(u, whole(u, s->span), "'%s' statement is not allowed in a probe", s->kind == S_BREAK ? "break" : "continue");
		break;
	case S_BLOCK:
		check_stmts(u, s->body);
		break;
	}
}

static bool list_ends(const struct Stmt *s);

// Is what follows never run? Blocks are not asked: the compiler makes them of what was decided before.
static bool ends(const struct Stmt *s)
{
	if (s->kind == S_IF)
		return list_ends(s->body) && list_ends(s->els);
	if (s->kind == S_EXPR && s->e->kind == E_CALL && s->e->builtin)
		return s->e->builtin->id == BI_exit;
	return s->kind == S_RETURN || s->kind == S_BREAK || s->kind == S_CONTINUE;
}

static bool list_ends(const struct Stmt *s)
{
	while (s && !ends(s))
		s = s->next;
	return s;
}

static struct MapSym *whole_map_of(const struct Stmt *s, enum BuiltinId id)
{
	const struct Expr *e = s && s->kind == S_EXPR && s->e->kind == E_CALL && s->e->builtin && s->e->builtin->id == id ? s->e : NULL;
	return e && e->nargs && e->args[0]->kind == E_MAP ? e->args[0]->map : NULL;
}

struct MapSym *stmt_takes(const struct Stmt *s)
{
	struct MapSym *m = whole_map_of(s, BI_print);
	return m && whole_map_of(s->next, BI_clear) == m ? m : NULL;
}

void check_stmts(struct Unit *u, struct Stmt *s)
{
	for (; s; s = s->next) {
		check_stmt(u, s);
		if (stmt_takes(s))
			stmt_takes(s)->taken = true;
		if (u->final && s->next && ends(s)) {
			diag_warn(u->diags, whole(u, s->next->span), u->diags->plain ? "Unreachable statement." : "Unreachable statement");
			diag_hint(u->diags, "nothing comes behind the one before it");
		}
	}
}

// ---- rounds

static void check_probe(struct Unit *u, struct ProbeUnit *pu)
{
	u->cur = pu;
	u->loop_depth = 0;
	if (pu->ast->pred) {
		const struct Type *t = check_truth(u, pu->ast->pred);
		if (t->kind != TY_NONE && !ty_is_int(t) && t->kind != TY_PTR)
			ERR(u, pu->ast->pred->span, "Invalid type for predicate: '%s'", tyname(u, t));
	}
	check_stmts(u, pu->ast->body);
}

struct MapUse {
	const char *name;
	bool found;
};

static bool uses_map(void *arg, struct Expr *e)
{
	struct MapUse *m = arg;
	m->found |= (e->kind == E_MAP || e->kind == E_MAPREF) && !strcmp(e->str, m->name);
	return !m->found;
}

// The same in what check_stmt() leaves out, since a condition is known.
static void look_in_dead_code(struct MapUse *m, struct Stmt *s)
{
	for (; s && !m->found; s = s->next) {
		if (s->kind == S_IF && s->e->is_lit)
			walk_exprs(s->e->ival ? s->els : s->body, uses_map, m);
		look_in_dead_code(m, s->body);
		look_in_dead_code(m, s->els);
	}
}

// Is the map assigned in code that is not checked: in a probe without attach points (config missing_probes), or with a predicate that is false; in a
// branch that is never taken?
static bool in_dropped_code(struct Unit *u, const char *name)
{
	struct MapUse m = {name, false};
	for (struct ProbeAst *p = u->script->dropped; p && !m.found; p = p->next)
		walk_exprs(p->body, uses_map, &m);
	for (struct ProbeAst *p = u->script->probes; p && !m.found; p = p->next) {
		bool live = false;
		for (size_t i = 0; i < u->probes.n; i++)
			live |= u->probes.p[i]->ast == p;
		if (!live)
			walk_exprs(p->body, uses_map, &m);
		else
			look_in_dead_code(&m, p->body);
	}
	return m.found;
}

// A map that is read and never assigned, or only in dropped probes, is an empty map of numbers. True: another round is due.
static bool assume_types(struct Unit *u)
{
	bool any = false;
	for (size_t i = 0; i < u->maps.n; i++) {
		struct MapSym *m = u->maps.p[i];
		bool dropped = !m->val && in_dropped_code(u, m->name);
		if (m->val || (!dropped && !m->read))
			continue;
		if (!dropped && !m->assigned) {
			diag_warn(u->diags, m->span, "Undefined map: %s", m->name);
			diag_hint(u->diags, "nothing is ever assigned to %s: it reads as 0", m->name);
		}
		m->val = ty_int(u->types, 8, true);
		any = true;
	}
	return any;
}

static void check_maps(struct Unit *u)
{
	for (size_t i = 0; i < u->maps.n; i++) {
		struct MapSym *m = u->maps.p[i];
		if (!m->val) {
			diag_error(u->diags, m->span, "Undefined map: %s", m->name);
			diag_hint(u->diags, "nothing is ever assigned to %s", m->name);
		}
		if (m->val)
			load_records(u, m->val);
		if (m->key)
			load_records(u, m->key);
		if (m->keyed && !m->key && u->diags->nerrors == 0)
			diag_error(u->diags, m->span, "the type of the key of %s could not be found out", m->name);
	}
	for (struct MapDecl *d = u->script->maps; d; d = d->next) {
		bool used = false;
		for (size_t i = 0; i < u->maps.n; i++)
			used |= u->maps.p[i]->decl == d;
		if (!used)
			diag_warn(u->diags, d->span, "Unused map: %s", d->name);
	}
}

bool check_unit(struct Unit *u)
{
	u->final = false;
	for (int round = 0; round < 64; round++) {
		u->changed = false;
		for (size_t i = 0; i < u->probes.n; i++)
			check_probe(u, u->probes.p[i]);
		if (!u->changed && !assume_types(u))
			break;
	}
	u->final = true;
	for (size_t i = 0; i < u->probes.n; i++)
		check_probe(u, u->probes.p[i]);
	check_options(u);
	if (!u->diags->nerrors)
		check_maps(u);
	return !u->diags->nerrors;
}
