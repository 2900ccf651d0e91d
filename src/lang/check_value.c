// Types of builtins that work a value out of their arguments (text, bytes, symbols, addresses): see internal.h.
#include "base/base.h"
#include "lang/internal.h"
#include <arpa/inet.h>
#include <time.h>

const struct Type *c_str(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->args[0];
	const struct Type *t = ty_as_text(u->types, check_expr(u, a));
	if (a->from_param && a->str && e->nargs == 1) {
		make_str(u, e, a->str, (u32)strlen(a->str));
		return e->type;
	}
	if (a->kind == E_BINOP && a->op == OP_ADD && a->a->from_param && a->b->kind == E_INT) { // str($1 + 2)
		u64 n = strlen(a->a->str);
		if (a->b->ival > n)
			ERR(u, a->span, "cannot use an offset (%llu) beyond the end of the parameter \"%s\"", (unsigned long long)a->b->ival, a->a->str);
		else {
			make_str(u, e, a->a->str + a->b->ival, (u32)(n - a->b->ival));
			return e->type;
		}
	}
	const char *lit;
	if (e->nargs == 2 && e->args[1]->kind == E_INT && !e->args[1]->is_neg && expr_lit_str(a, &lit) && a->len >= e->args[1]->ival) { // as bpftrace: so many characters
		make_str(u, e, arena_strndup(u->arena, lit, e->args[1]->ival), (u32)e->args[1]->ival);
		return e->type;
	}
	if (e->nargs == 1 && a->kind == E_INT && !a->is_neg) { // as bpftrace: no address, but the digits
		const char *digits = arena_printf(u->arena, "%llu", (unsigned long long)a->ival);
		make_str(u, e, digits, (u32)strlen(digits));
		return e->type;
	}
	u32 max = unit_max_strlen(u) + (e->nargs == 1); // a length that is given counts the NUL, the usual one does not
	if (e->nargs == 2) {
		const struct Type *n = int_arg(u, e, 1);
		(void)n;
		if (e->args[1]->kind == E_INT) {
			if (e->args[1]->is_neg)
				ERR(u, e->args[1]->span, "str() length must not be negative");
			else if (e->args[1]->ival < max)
				max = MAX((u32)e->args[1]->ival, 1u);
		}
	}
	if (t->kind == TY_NONE)
		return ty_str(u->types, max);
	if (t->kind == TY_STR)
		return e->nargs == 2 ? ty_str(u->types, MIN(max, t->size)) : t;
	if (t->kind == TY_ARRAY && t->elem->size == 1)
		return ty_str(u->types, MIN(max, t->n + 1));
	if (!ty_is_int(t) && t->kind != TY_PTR && t->kind != TY_BUF)
		ERR(u, a->span, "str() expects a string, integer or a pointer type as first argument (%s provided)", tyname(u, t));
	return ty_str(u->types, max);
}

const struct Type *c_buf(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	u32 max = unit_max_strlen(u);
	if (e->nargs == 2) {
		int_arg(u, e, 1);
		if (e->args[1]->kind == E_INT) {
			if (e->args[1]->is_neg || (s64)e->args[1]->ival < 0)
				ERR(u, e->args[1]->span, "Builtin buf requires a non-negative length");
			max = (u32)MIN(e->args[1]->ival, (u64)max);
		}
		if (t->kind == TY_ARRAY || t->kind == TY_STR || t->kind == TY_RECORD) // behind it is what other values left
			max = MIN(max, t->size);
	} else if (t->kind == TY_ARRAY || t->kind == TY_STR || t->kind == TY_RECORD)
		max = MIN(max, t->size);
	else if (t->kind != TY_NONE)
		ERR(u, e->span, "buf() expects a length argument for non-array type %s", tyname(u, t));
	if (t->kind != TY_NONE && !ty_is_int(t) && t->kind != TY_PTR && t->kind != TY_ARRAY && t->kind != TY_STR && t->kind != TY_RECORD)
		ERR(u, e->args[0]->span, "buf() expects an integer, a pointer or an array (%s provided)", tyname(u, t));
	return ty_buf(u->types, max);
}

// Text arguments: a string, a char array, or a pointer to char (read as str() would).
static const struct Type *text_arg(struct Unit *u, struct Expr *e, u32 i)
{
	const struct Type *t = check_expr(u, e->args[i]);
	struct Expr *call = e->args[i];
	const char *late = call->nargs == 1 && call->args[0]->kind == E_INT ? text_of_number(u, t, (s64)call->args[0]->ival) : NULL;
	if (late) {
		make_str(u, call, late, (u32)strlen(late));
		return call->type;
	}
	if (t->kind == TY_STR || t->kind == TY_NONE || ty_is_numbered(t))
		return ty_as_text(u->types, t);
	if ((t->kind == TY_PTR && ty_is_int(t->elem) && t->elem->size == 1) || (t->kind == TY_ARRAY && t->elem->size == 1)) {
		// wrap into str(...): everything after sees a string
		struct Expr *s = arena_new(u->arena, struct Expr);
		*s = (struct Expr){.kind = E_CALL, .span = e->args[i]->span, .str = "str", .builtin = builtin_find("str"), .nargs = 1};
		s->args = arena_new_n(u->arena, struct Expr *, 1);
		s->args[0] = e->args[i];
		e->args[i] = s;
		return check_expr(u, s);
	}
	ERR(u, e->args[i]->span, "%s() expects a string argument (%s provided)", e->str, tyname(u, t));
	return ty_none(u);
}

const struct Type *c_strlen(struct Unit *u, struct Expr *e)
{
	text_arg(u, e, 0);
	if (e->args[0]->kind == E_STR) {
		make_int(u, e, strlen(e->args[0]->str), false);
		return e->type;
	}
	return t_int(u, 8, false);
}

// As documented: the room of a text or an array; of what a pointer points to only the length is known.
const struct Type *c_strcap(struct Unit *u, struct Expr *e)
{
	const struct Type *of = check_expr(u, e->args[0]);
	if (of->kind == TY_PTR) {
		e->builtin = builtin_find("strlen");
		e->str = e->builtin->name;
		return c_strlen(u, e);
	}
	const struct Type *t = of->kind == TY_ARRAY && of->elem->size == 1 ? of : text_arg(u, e, 0);
	if (u->final && (t->kind == TY_STR || t->kind == TY_ARRAY))
		make_int(u, e, t->size, false);
	return e->type = t_int(u, 8, true);
}

const struct Type *c_strstr(struct Unit *u, struct Expr *e)
{
	text_arg(u, e, 0);
	text_arg(u, e, 1);
	return t_int(u, 8, true);
}

const struct Type *c_str_concat(struct Unit *u, struct Expr *e)
{
	const struct Type *a = text_arg(u, e, 0), *b = text_arg(u, e, 1);
	if (a->kind != TY_STR || b->kind != TY_STR)
		return ty_str(u->types, 1);
	return ty_str(u->types, MAX(1u, MIN(unit_max_strlen(u), a->size + b->size - 1)));
}

// A function in C: numbers and pointers, and texts where it takes a pointer.
const struct Type *c_c_function(struct Unit *u, struct Expr *e)
{
	const struct CFunc *f = e->aux;
	if (e->nargs != f->nparams)
		ERR(u, e->span, "%s() takes %u argument%s, not %u", f->name, f->nparams, f->nparams == 1 ? "" : "s", e->nargs);
	for (u32 i = 0; i < e->nargs; i++) {
		const struct Type *t = ty_as_text(u->types, operand_type(u, check_expr(u, e->args[i])));
		bool number = t->kind == TY_INT || t->kind == TY_BOOL || t->kind == TY_PTR || t->kind == TY_NONE;
		if (!number && !(t->kind == TY_STR && i < f->nparams && f->params[i].ptr))
			ERR(u, e->args[i]->span, "%s() takes a %s as argument %u (%s provided)", f->name, i < f->nparams && f->params[i].ptr ? "pointer" : "number", i + 1,
			    tyname(u, t));
	}
	if (!f->result.size)
		return t_void(u);
	return f->result.ptr ? ty_ptr(u->types, t_void(u), AS_NONE) : t_int(u, f->result.size, f->result.sgn);
}

const struct Type *c_strcontains(struct Unit *u, struct Expr *e)
{
	c_strstr(u, e);
	return ty_bool(u->types);
}

const struct Type *c_globmatch(struct Unit *u, struct Expr *e)
{
	c_strstr(u, e);
	return ty_bool(u->types);
}

const struct Type *c_strncmp(struct Unit *u, struct Expr *e)
{
	s64 n = 0;
	text_arg(u, e, 0);
	text_arg(u, e, 1);
	if (lit_int_arg(u, e, 2, &n) && n < 0)
		ERR(u, e->args[2]->span, "strncmp() size must not be negative");
	return t_int(u, 8, true);
}

const struct Type *c_memcmp(struct Unit *u, struct Expr *e)
{
	s64 n = 0;
	bytes_arg(u, e, 0);
	bytes_arg(u, e, 1);
	int_arg(u, e, 2);
	if (e->args[2]->kind == E_INT && lit_int_arg(u, e, 2, &n) && (n < 0 || n > MEMCMP_MAX))
		ERR(u, e->args[2]->span, "memcmp() compares 0 to %d bytes", MEMCMP_MAX);
	return t_int(u, 8, true);
}

const struct Type *c_ksym(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	return ty_simple(u->types, TY_KSYM);
}

const struct Type *c_usym(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	u->uses_usym = true;
	return ty_simple(u->types, TY_USYM);
}

const struct Type *c_kaddr(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	u64 addr = 0;
	if (s && u->final && (!u->hooks->kaddr || !u->hooks->kaddr(u->hooks->arg, s, &addr)))
		ERR(u, e->span, "Failed to resolve kernel symbol: %s%s", s, cap_lacking(CAP_SYSLOG_BIT));
	if (u->final) {
		make_int(u, e, addr, false);
		e->kind = E_INT;
	}
	e->kaddr = true;
	return e->type = t_int(u, 8, false);
}

static bool is_user_probe(enum ProbeKind k)
{
	return k == PK_UPROBE || k == PK_URETPROBE || k == PK_USDT;
}

const struct Type *c_uaddr(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	u64 addr = 0, size = 8;
	if (!is_user_probe(u->cur->point->kind)) {
		ERR(u, e->span, "uaddr() can only be used with 'uprobe', 'uretprobe' and 'usdt' probes");
		return ty_none(u);
	}
	if (s && (!u->hooks->uaddr || !u->hooks->uaddr(u->hooks->arg, u->cur->point, s, &addr, &size)))
		ERR(u, e->span, "Could not resolve symbol: %s:%s", u->cur->point->target, s);
	e->ival = addr;
	u32 width = size == 1 || size == 2 || size == 4 ? (u32)size : 8;
	return ty_ptr(u->types, t_int(u, width, false), AS_USER);
}

const struct Type *c_percpu_kaddr(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	if (e->nargs == 2)
		int_arg(u, e, 1);
	u32 id = 0;
	const struct Type *t = s ? ctype_var(u->ctypes, s, &id) : NULL;
	if (s && !t)
		ERR(u, e->span, u->diags->plain ? "Could not resolve variable \"%s\" from BTF" : "Unknown percpu variable \"%s\"", s);
	e->ival = id;
	return ty_ptr(u->types, t && t->kind != TY_VOID ? t : t_int(u, 8, false), AS_KERNEL);
}

const struct Type *c_kptr(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	enum AddrSpace as = e->builtin->id == BI_kptr ? AS_KERNEL : AS_USER;
	if (t->kind == TY_PTR)
		return ty_ptr(u->types, t->elem, as);
	if (ty_is_int(t)) // stays what it is
		return ty_of_space(u->types, ty_int(u->types, t->size, t->sgn), as);
	if (t->kind != TY_NONE)
		ERR(u, e->args[0]->span, "%s() only supports integer or pointer arguments (%s provided)", e->str, tyname(u, t));
	return t;
}

const struct Type *c_ntop(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[e->nargs - 1]);
	if (e->nargs == 2)
		int_arg(u, e, 0);
	bool ok = ty_is_int(t) || t->kind == TY_NONE || ((t->kind == TY_ARRAY || t->kind == TY_STR) && (t->size == 4 || t->size == 16)) ||
		  (t->kind == TY_RECORD && (t->size == 4 || t->size == 16)) ||
		  (t->kind == TY_PTR && (t->elem->size == 4 || t->elem->size == 16));
	if (!ok)
		ERR(u, e->args[e->nargs - 1]->span, "ntop() expects an integer, char[4] or char[16] argument (%s provided)", tyname(u, t));
	return ty_simple(u->types, TY_INET);
}

const struct Type *c_pton(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	if (!s)
		return ty_none(u);
	u8 *addr = arena_alloc(u->arena, 16);
	u32 n = strchr(s, ':') ? 16 : 4;
	if (inet_pton(n == 4 ? AF_INET : AF_INET6, s, addr) != 1)
		ERR(u, e->span, u->diags->plain && !strpbrk(s, ".:") ? "pton() expects an string argument of an IPv4/IPv6 address, got %s" : "Invalid IP address: %s", s);
	e->aux = addr;
	e->as = AS_BPF;
	return ty_array(u->types, t_int(u, 1, false), n);
}

const struct Type *c_macaddr(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	bool ok = ((t->kind == TY_ARRAY || t->kind == TY_STR) && t->size == 6) || t->kind == TY_PTR || ty_is_int(t) || t->kind == TY_NONE;
	if (!ok)
		ERR(u, e->args[0]->span, "macaddr() argument must be 6 bytes long (%s provided)", tyname(u, t));
	return ty_simple(u->types, TY_MAC);
}

const struct Type *c_bswap(struct Unit *u, struct Expr *e)
{
	const struct Type *t = int_arg(u, e, 0);
	if (e->args[0]->kind == E_INT) {
		u64 v = e->args[0]->ival, out = 0;
		for (u32 i = 0; i < t->size; i++)
			out |= (v >> (8 * i) & 0xff) << (8 * (t->size - 1 - i));
		make_int(u, e, out, false);
	}
	return ty_is_int(t) ? t_int(u, t->size, false) : t_int(u, 8, false);
}

const struct Type *c_strftime(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	const struct Type *time = int_arg(u, e, 1);
	if (s && u->final) {
		e->fmt = add_fmt_site(u, FK_STRFTIME, e, s, (u32)strlen(s), NULL, 0);
		e->ival = time->clock ? time->clock : CLOCK_BOOTTIME;
	}
	return ty_simple(u->types, TY_STRFTIME);
}

const struct Type *c_strerror(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	return ty_simple(u->types, TY_STRERROR);
}

const struct Type *c_signal_name(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	return ty_simple(u->types, TY_SIGNAL_NAME);
}

const struct Type *c_syscall_name(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	return ty_simple(u->types, TY_SYSCALL_NAME);
}

const struct Type *c_cgroupid(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	u64 id = 0;
	if (!s) // stays a call: the last round reports it
		return t_int(u, 8, false);
	if (!u->hooks->cgroupid || !u->hooks->cgroupid(u->hooks->arg, s, &id)) // now: the node is a literal in the next round
		diag_error(u->diags, e->span, "Failed to get the id of cgroup %s: is it there and a cgroup v2 directory?", s);
	make_int(u, e, id, false);
	return e->type = t_int(u, 8, false);
}

const struct Type *c_in_cgroup(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	u64 id;
	if (s && e->nargs > 1) // else expand.c has made comparisons of it
		ERR(u, e->args[0]->span, "in_cgroup() of an id takes a path that is written out");
	if (s && (!u->hooks->cgroupid || !u->hooks->cgroupid(u->hooks->arg, s, &id)))
		ERR(u, e->span, "%s is not there: in_cgroup() takes a cgroup v2 directory", s);
	return ty_bool(u->types);
}

const struct Type *c_pinned_has(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0), *why = "no way to open it";
	u32 key = 0;
	int_arg(u, e, 1);
	if (s && (!u->hooks->pinned || !u->hooks->pinned(u->hooks->arg, s, &key, &why)))
		ERR(u, e->args[0]->span, "cannot use the map pinned at %s: %s", s, why);
	e->fmt = key;
	return ty_bool(u->types);
}

const struct Type *c_cgroup_path(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	const char *s = e->nargs == 2 ? lit_str_arg(u, e, 1) : "";
	if (s && u->final)
		e->fmt = add_fmt_site(u, FK_CGROUP_PATH, e, s, (u32)strlen(s), NULL, 0);
	return ty_simple(u->types, TY_CGROUP_PATH);
}

const struct Type *c_path(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	u32 max = unit_max_strlen(u);
	s64 n;
	if (e->nargs == 2 && lit_int_arg(u, e, 1, &n) && n > 0 && n < max)
		max = (u32)n;
	const struct Type *r = t->kind == TY_PTR ? t->elem : t;
	if (t->kind != TY_NONE && !(r->kind == TY_RECORD && !strcmp(r->rec->name, "path")))
		ERR(u, e->args[0]->span, "path() only supports 'struct path' argument (%s provided)", tyname(u, t));
	enum ProbeKind k = u->cur->point->kind;
	if (k != PK_FENTRY && k != PK_FEXIT && k != PK_ITER)
		ERR(u, e->span, "The path function can only be used with 'fentry', 'fexit', 'iter' probes");
	return ty_str(u->types, max);
}

const struct Type *c_socket_cookie(struct Unit *u, struct Expr *e)
{
	check_expr(u, e->args[0]);
	enum ProbeKind k = u->cur->point->kind;
	if (k != PK_FENTRY && k != PK_FEXIT && k != PK_RAWTP)
		wrong_probe(u, e, "socket_cookie() can only be used with 'fentry', 'fexit' and 'rawtracepoint' probes");
	return t_int(u, 8, false);
}
