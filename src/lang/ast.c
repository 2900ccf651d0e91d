// The tree: heights, statements from expressions, text form.
#include "lang/internal.h"
#include "ctype/ctype.h"

static u32 list_height(const struct Stmt *s)
{
	u32 h = 0;
	for (; s; s = s->next)
		h = MAX(h, s->height);
	return h;
}

static u32 spec_height(const struct TypeSpec *t)
{
	u32 h = 0;
	if (!t)
		return 0;
	for (u32 i = 0; i < t->ntuple; i++) {
		u32 inner = spec_height(t->tuple[i]) + 1; // not in MAX: it evaluates its arguments twice
		h = MAX(h, inner);
	}
	return MAX(h, t->typeof_expr ? t->typeof_expr->height : 0);
}

void expr_set_height(struct Expr *e)
{
	u32 h = MAX(list_height(e->body), spec_height(e->spec));
	for (u32 i = 0; i < e->nargs; i++)
		h = MAX(h, e->args[i]->height);
	h = MAX(h, e->a ? e->a->height : 0);
	h = MAX(h, e->b ? e->b->height : 0);
	h = MAX(h, e->c ? e->c->height : 0);
	e->height = h + 1;
}

void stmt_set_height(struct Stmt *s)
{
	u32 h = MAX(list_height(s->body), list_height(s->els));
	h = MAX(h, spec_height(s->spec));
	h = MAX(h, s->lhs ? s->lhs->height : 0);
	h = MAX(h, s->e ? s->e->height : 0);
	h = MAX(h, s->e2 ? s->e2->height : 0);
	s->height = h + 1;
}

bool expr_has_value(const struct Expr *e)
{
	if (e->kind == E_BLOCK)
		return e->a != NULL;
	if (e->kind == E_IF)
		return e->c && expr_has_value(e->b) && expr_has_value(e->c);
	return true;
}

// The statements of an E_BLOCK, its value as the last one.
static struct Stmt *block_stmts(struct Arena *a, struct Expr *block)
{
	struct Stmt **tail = &block->body;
	while (*tail)
		tail = &(*tail)->next;
	if (block->a)
		*tail = stmt_from_expr(a, block->a);
	return block->body;
}

struct Stmt *stmt_from_expr(struct Arena *a, struct Expr *e)
{
	struct Stmt *s = arena_new(a, struct Stmt);
	s->span = e->span;
	if (e->kind == E_BLOCK) {
		s->kind = S_BLOCK;
		s->body = block_stmts(a, e);
	} else if (e->kind == E_IF) {
		s->kind = S_IF;
		s->comptime = e->a->kind == E_COMPTIME;
		s->e = s->comptime ? e->a->a : e->a;
		s->body = block_stmts(a, e->b);
		if (e->c)
			s->els = e->c->kind == E_BLOCK ? block_stmts(a, e->c) : stmt_from_expr(a, e->c);
	} else {
		s->kind = S_EXPR;
		s->e = e;
	}
	stmt_set_height(s);
	return s;
}

const char *op_text(enum Op op)
{
	static const char *const text[] = {
		[OP_NONE] = "", [OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*", [OP_DIV] = "/", [OP_MOD] = "%", [OP_AND] = "&", [OP_OR] = "|",
		[OP_XOR] = "^", [OP_SHL] = "<<", [OP_SHR] = ">>", [OP_LAND] = "&&", [OP_LOR] = "||", [OP_EQ] = "==", [OP_NE] = "!=",
		[OP_LT] = "<", [OP_LE] = "<=", [OP_GT] = ">", [OP_GE] = ">=", [OP_NEG] = "-", [OP_NOT] = "!", [OP_BNOT] = "~",
		[OP_DEREF] = "*", [OP_ADDR] = "&", [OP_PREINC] = "++", [OP_PREDEC] = "--", [OP_POSTINC] = "++", [OP_POSTDEC] = "--",
	};
	return text[op];
}

// ---- text form

struct Dump {
	const struct Script *script;
	struct Str *out;
};

static void line(struct Dump *d, u32 depth, const struct Type *type, const char *fmt, ...) PRINTF_LIKE(4, 5);
static void line(struct Dump *d, u32 depth, const struct Type *type, const char *fmt, ...)
{
	for (u32 i = 0; i < depth; i++)
		str_addc(d->out, ' ');
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(d->out, fmt, ap);
	va_end(ap);
	if (type) {
		str_add(d->out, " [");
		ty_name(type, d->out);
		str_addc(d->out, ']');
	}
	str_addc(d->out, '\n');
}

static void add_quoted(struct Str *out, const char *s, size_t n)
{
	str_addc(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"' || s[i] == '\\')
			str_addc(out, '\\');
		str_add_escaped(out, s + i, 1, false);
	}
	str_addc(out, '"');
}

static void add_spec(struct Str *out, const struct TypeSpec *t)
{
	if (t->ntuple || (t->name && !strcmp(t->name, "tuple"))) {
		str_addc(out, '(');
		for (u32 i = 0; i < t->ntuple; i++) {
			str_add(out, i ? "," : "");
			add_spec(out, t->tuple[i]);
		}
		str_addc(out, ')');
	} else
		str_add(out, t->name ? t->name : "typeof");
	if (t->str_size)
		str_addf(out, "[%llu]", (unsigned long long)t->str_size);
	for (u32 i = 0; i < t->ptrs; i++)
		str_add(out, i ? "*" : " *");
	if (t->is_array && t->array_sized)
		str_addf(out, "[%llu]", (unsigned long long)t->array_n);
	else if (t->is_array)
		str_add(out, "[]");
}

static void dump_expr(struct Dump *d, u32 depth, const struct Expr *e);
static void dump_stmts(struct Dump *d, u32 depth, const struct Stmt *s);

static void dump_spec(struct Dump *d, u32 depth, const struct TypeSpec *t)
{
	struct Str s = {0};
	add_spec(&s, t);
	line(d, depth, NULL, "type %s", str_text(&s));
	str_deinit(&s);
	if (t->typeof_expr)
		dump_expr(d, depth + 1, t->typeof_expr);
	for (u32 i = 0; i < t->ntuple; i++)
		if (t->tuple[i]->typeof_expr)
			dump_spec(d, depth + 1, t->tuple[i]);
}

static const char *expr_word(const struct Expr *e)
{
	static const char *const words[] = {
		[E_INT] = "int", [E_BOOL] = "bool", [E_STR] = "string", [E_IDENT] = "identifier", [E_POSPARAM] = "param",
		[E_POSCOUNT] = "param count", [E_VAR] = "variable", [E_MAP] = "map", [E_MAPREF] = "map access", [E_FIELD] = "field",
		[E_TUPFIELD] = "tuple field", [E_INDEX] = "index", [E_UNOP] = "unop", [E_BINOP] = "binop", [E_TERNARY] = "ternary",
		[E_CAST] = "cast", [E_TUPLE] = "tuple", [E_CALL] = "call", [E_BLOCK] = "block", [E_SIZEOF] = "sizeof",
		[E_OFFSETOF] = "offsetof", [E_COMPTIME] = "comptime", [E_TYPEINFO] = "typeinfo", [E_TYPE] = "type", [E_IF] = "if",
	};
	return words[e->kind];
}

// What a node says beside its kind.
static void add_detail(struct Str *s, const struct Expr *e)
{
	switch (e->kind) {
	case E_INT:
		if (e->is_neg)
			str_addf(s, " %lld", (long long)e->ival);
		else
			str_addf(s, " %llu", (unsigned long long)e->ival);
		break;
	case E_BOOL:
		str_add(s, e->ival ? " true" : " false");
		break;
	case E_STR:
		str_addc(s, ' ');
		add_quoted(s, e->str, e->len);
		break;
	case E_POSPARAM:
		str_addf(s, " $%llu", (unsigned long long)e->ival);
		break;
	case E_VAR:
		str_addf(s, " $%s", e->str);
		break;
	case E_IDENT:
	case E_MAP:
	case E_MAPREF:
	case E_CALL:
		str_addf(s, " %s", e->str);
		break;
	case E_FIELD:
		str_addf(s, " %s%s", e->arrow ? "->" : ".", e->str);
		break;
	case E_TUPFIELD:
		str_addf(s, " .%u", e->tup);
		break;
	case E_UNOP:
		str_addf(s, " %s%s", op_text(e->op), e->op == OP_POSTINC || e->op == OP_POSTDEC ? " postfix" : "");
		break;
	case E_BINOP:
		str_addf(s, " %s", op_text(e->op));
		break;
	case E_OFFSETOF:
		for (u32 i = 0; i < e->npath; i++)
			str_addf(s, "%s%s", i ? "." : " ", e->path[i]);
		break;
	default:
		break;
	}
	if (e->from_param) {
		str_add(s, " from param ");
		add_quoted(s, e->str, e->len);
	}
}

static void dump_expr(struct Dump *d, u32 depth, const struct Expr *e)
{
	struct Str s = {0};
	add_detail(&s, e);
	line(d, depth, e->type, "%s%s", expr_word(e), str_text(&s));
	str_deinit(&s);
	if (e->spec)
		dump_spec(d, depth + 1, e->spec);
	for (u32 i = 0; i < e->nargs; i++)
		dump_expr(d, depth + 1, e->args[i]);
	dump_stmts(d, depth + 1, e->body);
	const struct Expr *kids[] = {e->a, e->b, e->c};
	for (u32 i = 0; i < ARRAY_LEN(kids); i++)
		if (kids[i])
			dump_expr(d, depth + 1, kids[i]);
}

static const char *stmt_word(const struct Stmt *s)
{
	static const char *const words[] = {
		[S_EXPR] = "expr", [S_ASSIGN] = "=", [S_LET] = "let", [S_IF] = "if", [S_WHILE] = "while", [S_UNROLL] = "unroll",
		[S_FOR_MAP] = "for", [S_FOR_RANGE] = "for range", [S_RETURN] = "return", [S_BREAK] = "break", [S_CONTINUE] = "continue",
		[S_BLOCK] = "block",
	};
	return words[s->kind];
}

static void dump_stmt(struct Dump *d, u32 depth, const struct Stmt *s)
{
	if (s->kind == S_ASSIGN)
		line(d, depth, NULL, "%s=%s", op_text(s->op), s->lhs ? "" : " discard");
	else
		line(d, depth, NULL, "%s%s", stmt_word(s), s->comptime ? " comptime" : "");
	const struct Expr *kids[] = {s->lhs, s->e, s->e2};
	if (s->spec)
		dump_spec(d, depth + 1, s->spec);
	for (u32 i = 0; i < ARRAY_LEN(kids); i++)
		if (kids[i])
			dump_expr(d, depth + 1, kids[i]);
	if (s->kind == S_IF)
		line(d, depth + 1, NULL, "then");
	dump_stmts(d, depth + 1 + (s->kind == S_IF), s->body);
	if (s->els)
		line(d, depth + 1, NULL, "else");
	dump_stmts(d, depth + 2, s->els);
}

static void dump_stmts(struct Dump *d, u32 depth, const struct Stmt *s)
{
	for (; s; s = s->next)
		dump_stmt(d, depth, s);
}

static void dump_preamble(struct Dump *d, const struct Script *s)
{
	for (const struct CText *c = s->ctext; c; c = c->next) {
		struct Str q = {0};
		add_quoted(&q, s->diags->sources.p[c->span.file].text + c->span.off, c->span.len);
		line(d, 1, NULL, "c %s", str_text(&q));
		str_deinit(&q);
	}
	for (const struct ConfigItem *c = s->config; c; c = c->next) {
		line(d, 1, NULL, "config %s", c->key);
		dump_expr(d, 2, c->val);
	}
	for (const struct Import *i = s->imports; i; i = i->next)
		line(d, 1, NULL, "import %s", i->path);
	for (const struct MapDecl *m = s->maps; m; m = m->next) {
		line(d, 1, NULL, "map %s %s", m->name, m->type);
		dump_expr(d, 2, m->max);
	}
	for (const struct Macro *m = s->macros; m; m = m->next) {
		line(d, 1, NULL, "macro %s", m->name);
		for (u32 i = 0; i < m->nparams; i++)
			line(d, 2, NULL, "param %s%s", m->params[i].kind == MP_VAR ? "$" : "", m->params[i].name);
		dump_expr(d, 2, m->body);
	}
}

static void dump_probe(struct Dump *d, const struct ProbeAst *p)
{
	if (p->name)
		line(d, 1, NULL, "probe %s", p->name);
	else
		line(d, 1, NULL, "probe");
	for (const struct AttachSpec *a = p->points; a; a = a->next) {
		struct Str s = {0};
		for (u32 i = 0; i < a->nparts; i++) {
			str_addc(&s, ' ');
			add_quoted(&s, a->parts[i], strlen(a->parts[i]));
		}
		line(d, 2, NULL, "at%s", str_text(&s));
		str_deinit(&s);
	}
	if (p->pred) {
		line(d, 2, NULL, "predicate");
		dump_expr(d, 3, p->pred);
	}
	dump_stmts(d, 2, p->body);
}

void ast_dump(const struct Script *s, struct Str *out)
{
	struct Dump d = {s, out};
	str_add(out, "script\n");
	dump_preamble(&d, s);
	for (const struct ProbeAst *p = s->probes; p; p = p->next)
		dump_probe(&d, p);
}
