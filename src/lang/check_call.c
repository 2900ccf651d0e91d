// The table of builtins, and the types of those that give values: the check column of builtins.def. Each returns the type of the call and
// leaves in the node what its lower needs (a folded literal, a format site, the aux pointer). Actions and aggregations: check_action.c.
#include "lang/check_call.h"
#include <arpa/inet.h>
#include <time.h>

const struct Builtin builtins[] = {
#define B(name, min, max, flags, check, lower, sig, help) {#name, min, max, flags, BI_##name, check, sig, help},
#include "lang/builtins.def"
#undef B
};

const struct Builtin *builtin_find(const char *name)
{
	for (size_t i = 0; i < BUILTINS; i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	return NULL;
}

const char *builtin_nearest(const char *name)
{
	const char *names[BUILTINS];
	for (size_t i = 0; i < BUILTINS; i++)
		names[i] = builtins[i].name;
	return nearest_name(name, names, BUILTINS);
}

// ---- help for the checks below

const struct Type *t_int(struct Unit *u, u32 size, bool sgn)
{
	return ty_int(u->types, size, sgn);
}

const struct Type *t_void(struct Unit *u)
{
	return ty_simple(u->types, TY_VOID);
}

// Types the i-th argument as an integer (aggregations are read); reports anything else.
const struct Type *int_arg(struct Unit *u, struct Expr *e, u32 i)
{
	const struct Type *t = operand_type(u, check_expr(u, e->args[i]));
	if (t->kind != TY_NONE && !ty_is_int(t) && t->kind != TY_PTR)
		ERR(u, e->args[i]->span, "%s() only supports integer arguments (%s provided)", e->str, tyname(u, t));
	return t;
}

bool lit_int_arg(struct Unit *u, struct Expr *e, u32 i, s64 *out)
{
	check_expr(u, e->args[i]);
	if (e->args[i]->kind != E_INT && e->args[i]->kind != E_BOOL) {
		ERR(u, e->args[i]->span, "%s() expects an integer literal as argument %u (%s provided)", e->str, i + 1, tyname(u, e->args[i]->type));
		return false;
	}
	*out = (s64)e->args[i]->ival;
	return true;
}

const char *lit_str_arg(struct Unit *u, struct Expr *e, u32 i)
{
	const char *s;
	check_expr(u, e->args[i]);
	if (expr_lit_str(e->args[i], &s))
		return s;
	if (e->args[i]->from_param)
		return e->args[i]->str;
	ERR(u, e->args[i]->span, "%s() expects a string literal (%s provided)", e->str, tyname(u, e->args[i]->type));
	return NULL;
}

static bool mode_arg(const struct Expr *a, const char *word)
{
	return a->kind == E_IDENT && !strcmp(a->str, word);
}

static bool is_user_probe(enum ProbeKind k)
{
	return k == PK_UPROBE || k == PK_URETPROBE || k == PK_USDT;
}

u32 add_fmt_site(struct Unit *u, enum FmtKind kind, struct Expr *call, const char *fmt, u32 len, struct Expr **args, u32 nargs)
{
	struct FmtSite *f = arena_new(u->arena, struct FmtSite);
	f->kind = kind;
	f->id = (u32)u->prog->fmts.n;
	f->span = call->span;
	f->fmt = fmt;
	f->len = len;
	f->nargs = nargs;
	f->args = arena_new_n(u->arena, struct FmtArg, nargs);
	u32 off = 0;
	for (u32 i = 0; i < nargs; i++) {
		const struct Type *t = operand_type(u, args[i]->type);
		if (t->kind == TY_BOOL || (t->kind == TY_INT && t->size < 8 && !t->en && false))
			t = args[i]->type;
		off = ALIGN_UP(off, MAX(t->align, 1u));
		f->args[i] = (struct FmtArg){t, off};
		off += t->size;
	}
	f->size = ALIGN_UP(off, 8u);
	vec_push(&u->prog->fmts, f);
	u->prog->uses_events = true;
	return f->id;
}

// ---- who and where

const struct Type *c_u32(struct Unit *u, struct Expr *e) { return t_int(u, 4, false); }
const struct Type *c_u64(struct Unit *u, struct Expr *e) { return t_int(u, 8, false); }

const struct Type *c_pid(struct Unit *u, struct Expr *e)
{
	if (e->nargs && !mode_arg(e->args[0], "curr_ns") && !mode_arg(e->args[0], "init"))
		ERR(u, e->args[0]->span, "Invalid PID namespace mode: expects: curr_ns or init");
	return t_int(u, 4, false);
}

const struct Type *c_username(struct Unit *u, struct Expr *e) { return ty_simple(u->types, TY_USERNAME); }

const struct Type *c_comm(struct Unit *u, struct Expr *e)
{
	if (e->nargs) {
		// it takes a kernel function that only some kinds of program may call (kernel/bpf/helpers.c, generic_btf_ids)
		const struct Point *p = u->cur->point;
		bool raw = p->ctx == CTX_RAW && p->kind != PK_FENTRY && p->kind != PK_FEXIT;
		if (raw || p->kind == PK_BEGIN || p->kind == PK_END || p->kind == PK_SELF || p->kind == PK_TEST || p->kind == PK_BENCH)
			ERR(u, e->span, "comm(pid) can not be used in '%s' probes", probe_kind_name(p->kind));
		int_arg(u, e, 0);
	}
	return ty_str(u->types, 16);
}

static const struct Type *task_ptr(struct Unit *u)
{
	const struct Type *t = ctype_lookup(u->ctypes, "struct task_struct");
	return t ? ty_ptr(u->types, t, AS_KERNEL) : NULL;
}

static const struct Type *need_task(struct Unit *u, struct Expr *e, const struct Type *t)
{
	if (!task_ptr(u))
		ERR(u, e->span, "%s needs the kernel's BTF (/sys/kernel/btf/vmlinux)", e->str);
	if (e->kind == E_CALL && e->nargs)
		check_expr(u, e->args[0]);
	return t;
}

const struct Type *c_pcomm(struct Unit *u, struct Expr *e) { return need_task(u, e, ty_str(u->types, 16)); }
const struct Type *c_ppid(struct Unit *u, struct Expr *e) { return need_task(u, e, t_int(u, 4, false)); }

const struct Type *c_curtask(struct Unit *u, struct Expr *e)
{
	const struct Type *t = task_ptr(u);
	return t ? t : t_int(u, 8, false);
}

const struct Type *c_ncpus(struct Unit *u, struct Expr *e)
{
	make_int(u, e, u->hooks->ncpus, false);
	return e->type = t_int(u, 8, false);
}

const struct Type *c_nsecs(struct Unit *u, struct Expr *e)
{
	static const struct { const char *word; int clock; } modes[] = {
		{"boot", CLOCK_BOOTTIME}, {"monotonic", CLOCK_MONOTONIC}, {"tai", CLOCK_TAI}, {"sw_tai", 100}};
	e->ival = CLOCK_BOOTTIME;
	bool ok = !e->nargs;
	for (size_t i = 0; i < ARRAY_LEN(modes) && e->nargs; i++)
		if (mode_arg(e->args[0], modes[i].word)) {
			e->ival = (u64)modes[i].clock;
			ok = true;
		}
	if (!ok)
		ERR(u, e->args[0]->span, "Expects timestamp mode to be one of: monotonic, boot, tai, sw_tai");
	return t_int(u, 8, false);
}

const struct Type *c_cpid(struct Unit *u, struct Expr *e)
{
	if (!u->hooks->cpid && u->final)
		diag_warn(u->diags, e->span, "cpid: there is no child process (-c); it is 0");
	make_int(u, e, (u64)u->hooks->cpid, false);
	return e->type = t_int(u, 4, false);
}

const struct Type *c_has_cpid(struct Unit *u, struct Expr *e)
{
	e->kind = E_BOOL;
	e->ival = u->hooks->cpid != 0;
	e->is_lit = true;
	return ty_bool(u->types);
}

const struct Type *c_usermode(struct Unit *u, struct Expr *e)
{
	if (u->cur->point->ctx != CTX_PERF)
		ERR(u, e->span, "usermode: only the profile, software, hardware and interval probes know the interrupted mode");
	return t_int(u, 1, false);
}

// ---- the event

const struct Type *c_args(struct Unit *u, struct Expr *e)
{
	const struct Point *p = u->cur->point;
	if (!p->args) {
		switch (p->kind) {
		case PK_UPROBE:
		case PK_URETPROBE:
			ERR(u, e->span, "The args builtin needs debug information: there is none for %s", p->name);
			HINT(u, "use arg0, arg1, ...");
			break;
		case PK_KPROBE:
		case PK_USDT:
			ERR(u, e->span, "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit and uprobe probes (%s used here)",
			    probe_kind_name(p->kind));
			HINT(u, "use arg0, arg1, ...");
			break;
		default:
			ERR(u, e->span, "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit and uprobe probes (%s used here)",
			    probe_kind_name(p->kind));
		}
		return ty_none(u);
	}
	e->as = AS_BPF;
	return ty_record(u->types, p->args);
}

const struct Type *c_ctx(struct Unit *u, struct Expr *e)
{
	static const char *const names[] = {[CTX_PT_REGS] = "struct pt_regs", [CTX_PERF] = "struct bpf_perf_event_data", [CTX_RAW] = NULL,
					    [CTX_TRACEPOINT] = NULL, [CTX_ITER] = NULL, [CTX_NONE] = NULL};
	const struct Point *p = u->cur->point;
	if (p->kind == PK_ITER && p->args)
		return ty_ptr(u->types, ty_record(u->types, p->args), AS_BPF);
	const char *n = names[p->ctx];
	const struct Type *t = n ? ctype_lookup(u->ctypes, n) : NULL;
	return ty_ptr(u->types, t ? t : t_int(u, 8, false), AS_BPF);
}

const struct Type *c_retval(struct Unit *u, struct Expr *e)
{
	const struct Point *p = u->cur->point;
	if (p->kind == PK_FEXIT) {
		if (!p->ret || p->ret->kind == TY_VOID) {
			ERR(u, e->span, "The retval builtin can not be used: the function returns nothing");
			return ty_none(u);
		}
		return p->ret;
	}
	if (p->kind != PK_KRETPROBE && p->kind != PK_URETPROBE)
		ERR(u, e->span, "The retval builtin can only be used with 'kretprobe' and 'uretprobe' and 'fexit' probes");
	return t_int(u, 8, true);
}

const struct Type *c_func(struct Unit *u, struct Expr *e)
{
	const struct Point *p = u->cur->point;
	switch (p->kind) {
	case PK_KPROBE:
	case PK_KRETPROBE:
		return ty_simple(u->types, TY_KSYM);
	case PK_UPROBE:
	case PK_URETPROBE:
	case PK_FENTRY:
	case PK_FEXIT:
		if (p->func) {
			make_str(u, e, p->func, (u32)strlen(p->func));
			return e->type;
		}
		return ty_simple(u->types, TY_USYM);
	default:
		ERR(u, e->span, "The func builtin can not be used with '%s' probes", probe_kind_name(p->kind));
		return ty_none(u);
	}
}

const struct Type *c_probe(struct Unit *u, struct Expr *e)
{
	make_str(u, e, u->cur->point->name, (u32)strlen(u->cur->point->name));
	return e->type;
}

const struct Type *c_probetype(struct Unit *u, struct Expr *e)
{
	const char *s = probe_kind_name(u->cur->point->kind);
	make_str(u, e, s, (u32)strlen(s));
	return e->type;
}

const struct Type *c_reg(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	u32 size;
	if (u->cur->point->ctx != CTX_PT_REGS && u->cur->point->ctx != CTX_PERF) {
		ERR(u, e->span, "reg() can only be used with 'kprobes', 'uprobes', 'usdt' and profile probes");
		return t_int(u, 8, false);
	}
	int off = s ? u->hooks->ptregs(s, &size) : -1;
	if (s && off < 0)
		ERR(u, e->span, "'%s' is not a valid register on this architecture", s);
	e->ival = (u64)off;
	return t_int(u, 8, false);
}

const struct Type *c_stack(struct Unit *u, struct Expr *e)
{
	bool user = e->builtin->id == BI_ustack, fp = u->config->unwind_fp;
	enum StackMode mode = u->config->stack_mode;
	s64 limit = 127;
	for (u32 i = 0; i < e->nargs; i++) {
		struct Expr *a = e->args[i];
		if (a->kind == E_IDENT && !a->builtin) {
			if (mode_arg(a, "perf"))
				mode = STACK_MODE_PERF;
			else if (mode_arg(a, "raw"))
				mode = STACK_MODE_RAW;
			else if (mode_arg(a, "bpftrace"))
				mode = STACK_MODE_BPFTRACE;
			else if (mode_arg(a, "build_id") && user)
				mode = STACK_MODE_BUILD_ID;
			else if (mode_arg(a, "fp") && user)
				fp = true;
			else if (mode_arg(a, "dwarf") && user)
				fp = false;
			else
				ERR(u, a->span, "Unknown stack mode: '%s'", a->str);
		} else {
			if (lit_int_arg(u, e, i, &limit) && limit < 1)
				ERR(u, a->span, "%s([mode, ][limit]): the limit is at least 1", e->str);
			else if (limit > 1024) {
				ERR(u, a->span, "%s() limit shouldn't exceed 1024, %lld given", e->str, (long long)limit);
				limit = 1024;
			}
		}
	}
	u->prog->uses_ustack |= user;
	u->prog->uses_kstack |= !user;
	if (!e->nargs || limit == 127)
		limit = e->nargs && limit == 127 ? limit : 1024; // no limit given: whole stacks
	return ty_stack(u->types, user, mode, (u32)limit, fp);
}

// ---- values

const struct Type *c_str(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->args[0];
	const struct Type *t = check_expr(u, a);
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
	u32 max = u->config->max_strlen;
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
		ERR(u, a->span, "str() expects an integer or a pointer type as first argument (%s provided)", tyname(u, t));
	return ty_str(u->types, max);
}

const struct Type *c_buf(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	u32 max = u->config->max_strlen;
	if (e->nargs == 2) {
		int_arg(u, e, 1);
		if (e->args[1]->kind == E_INT) {
			if (e->args[1]->is_neg || (s64)e->args[1]->ival < 0)
				ERR(u, e->args[1]->span, "Builtin buf requires a non-negative length");
			max = (u32)MIN(e->args[1]->ival, (u64)max);
		}
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
	if (t->kind == TY_STR || t->kind == TY_NONE)
		return t;
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

const struct Type *c_strcap(struct Unit *u, struct Expr *e)
{
	const struct Type *t = text_arg(u, e, 0);
	if (u->final && t->kind == TY_STR)
		make_int(u, e, t->size, false);
	return e->type = t_int(u, 8, true);
}

const struct Type *c_strstr(struct Unit *u, struct Expr *e)
{
	text_arg(u, e, 0);
	text_arg(u, e, 1);
	return t_int(u, 8, true);
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
	check_expr(u, e->args[0]);
	check_expr(u, e->args[1]);
	if (lit_int_arg(u, e, 2, &n) && (n < 0 || n > 4096))
		ERR(u, e->args[2]->span, "memcmp() compares 0 to 4096 bytes");
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
	u->prog->uses_usym = true;
	return ty_simple(u->types, TY_USYM);
}

const struct Type *c_kaddr(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	u64 addr = 0;
	if (s && u->final && (!u->hooks->kaddr || !u->hooks->kaddr(u->hooks->arg, s, &addr)))
		ERR(u, e->span, "Failed to resolve kernel symbol: %s", s);
	if (u->final) {
		make_int(u, e, addr, false);
		e->kind = E_INT;
	}
	return e->type = ty_ptr(u->types, t_int(u, 8, false), AS_KERNEL);
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
		ERR(u, e->span, "Unknown percpu variable \"%s\"", s);
	e->ival = id;
	return ty_ptr(u->types, t && t->kind != TY_VOID ? t : t_int(u, 8, false), AS_KERNEL);
}

const struct Type *c_kptr(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	enum AddrSpace as = e->builtin->id == BI_kptr ? AS_KERNEL : AS_USER;
	if (t->kind == TY_PTR)
		return ty_ptr(u->types, t->elem, as);
	if (ty_is_int(t))
		return ty_ptr(u->types, t_int(u, 1, true), as);
	if (t->kind != TY_NONE)
		ERR(u, e->args[0]->span, "%s() only supports pointer arguments (%s provided)", e->str, tyname(u, t));
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
		ERR(u, e->span, "Invalid IP address: %s", s);
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
	int_arg(u, e, 1);
	if (s && u->final) {
		e->fmt = add_fmt_site(u, FK_STRFTIME, e, s, (u32)strlen(s), NULL, 0);
		e->ival = e->args[1]->kind == E_IDENT || e->args[1]->kind == E_CALL ? e->args[1]->ival : CLOCK_BOOTTIME;
		if (!e->args[1]->builtin || e->args[1]->builtin->id != BI_nsecs)
			e->ival = CLOCK_BOOTTIME;
	}
	return ty_simple(u->types, TY_STRFTIME);
}

const struct Type *c_strerror(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	return ty_simple(u->types, TY_STRERROR);
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
	if (s && (!u->hooks->cgroupid || !u->hooks->cgroupid(u->hooks->arg, s, &id)))
		ERR(u, e->span, "Failed to get the id of cgroup %s: is it there and a cgroup v2 directory?", s);
	make_int(u, e, id, false);
	return e->type = t_int(u, 8, false);
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
	u32 max = u->config->max_strlen;
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

const struct Type *c_len(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->args[0];
	if (a->kind == E_MAP && !(a->map->val && ty_is_stack(a->map->val) && a->map->scalar)) {
		a->type = t_void(u);
		return t_int(u, 8, true);
	}
	const struct Type *t = check_expr(u, a);
	if (t->kind == TY_STR || t->kind == TY_ARRAY || t->kind == TY_BUF || t->kind == TY_TUPLE) {
		ERR(u, a->span, "len() expects a map or stack to be provided (%s provided)", tyname(u, t));
		if (t->kind == TY_STR)
			HINT(u, "use strlen() for text");
	} else if (t->kind != TY_NONE && !ty_is_stack(t))
		ERR(u, a->span, "len() expects a map or stack to be provided");
	return t_int(u, 8, true);
}

struct MapSym *map_arg(struct Unit *u, struct Expr *e, const char *what)
{
	struct Expr *m = e->args[0];
	if (m->kind != E_MAP) {
		check_expr(u, m);
		ERR(u, m->span, "%s() expects a map %s", e->str, what);
		return NULL;
	}
	m->type = t_void(u);
	return m->map;
}

struct MapSym *keyed_map_arg(struct Unit *u, struct Expr *e)
{
	struct MapSym *m = map_arg(u, e, "to be provided");
	const struct Type *k = check_expr(u, e->args[1]);
	if (!m)
		return NULL;
	if (m->scalar && !m->keyed && m->val) {
		ERR(u, e->args[0]->span, "%s() expects a map with explicit keys (non-scalar map)", e->str);
		return NULL;
	}
	m->keyed = true;
	map_grow_key(u, m, e->args[1]->span, k);
	return m;
}

const struct Type *c_has_key(struct Unit *u, struct Expr *e)
{
	keyed_map_arg(u, e);
	return ty_bool(u->types);
}

const struct Type *c_find(struct Unit *u, struct Expr *e)
{
	struct MapSym *m = keyed_map_arg(u, e);
	if (e->args[2]->kind != E_VAR)
		ERR(u, e->args[2]->span, "find() stores into a scratch variable: find(@map, key, $result)");
	else if (m && m->val)
		var_grow(u, e->args[2]->var, e->args[2]->span, m->val);
	check_expr(u, e->args[2]);
	return ty_bool(u->types);
}

const struct Type *c_getopt(struct Unit *u, struct Expr *e)
{
	const char *name = lit_str_arg(u, e, 0);
	if (!name)
		return ty_none(u);
	for (u32 i = 1; i < e->nargs; i++) {
		check_expr(u, e->args[i]);
		if (!e->args[i]->is_lit)
			ERR(u, e->args[i]->span, "getopt() takes literals only");
	}
	const struct Param *p = NULL;
	for (size_t i = 0; i < u->script->nparams; i++)
		if (u->script->params[i].name && !strcmp(u->script->params[i].name, name))
			p = &u->script->params[i];
	struct Expr *def = e->nargs > 1 ? e->args[1] : NULL;
	const char *v = p ? p->val : NULL;
	u64 n = 0;
	if (!def || def->kind == E_BOOL) {
		bool on = p ? !v || !strcmp(v, "true") || !strcmp(v, "1") : def && def->ival;
		if (p && v && !on && strcmp(v, "false") && strcmp(v, "0"))
			ERR(u, e->span, "Invalid value for bool parameter --%s: '%s'. Expected true, false, 1 or 0", name, v);
		e->kind = E_BOOL;
		e->ival = on;
		e->is_lit = true;
		return ty_bool(u->types);
	}
	if (def->kind == E_STR) {
		const char *s = v ? v : def->str;
		make_str(u, e, s, (u32)strlen(s));
		return e->type;
	}
	bool neg = def->is_neg;
	n = def->ival;
	if (p) {
		neg = v && *v == '-';
		if (!v || !parse_u64(v + neg, &n)) {
			ERR(u, e->span, "Invalid value for numeric parameter --%s: '%s'", name, v ? v : "");
			n = 0;
		}
		if (neg)
			n = -n;
	}
	make_int(u, e, n, neg && n);
	return e->type;
}

const struct Type *c_is(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	if (t->kind == TY_NONE && !u->final)
		return ty_bool(u->types);
	bool v = false;
	switch (e->builtin->id) {
	case BI_is_array: v = t->kind == TY_ARRAY; break;
	case BI_is_integer: v = t->kind == TY_INT; break;
	case BI_is_literal: v = e->args[0]->is_lit; break;
	case BI_is_ptr: v = t->kind == TY_PTR; break;
	case BI_is_str: v = t->kind == TY_STR; break;
	case BI_is_unsigned_integer: v = t->kind == TY_INT && !t->sgn; break;
	default: UNREACHABLE();
	}
	e->kind = E_BOOL;
	e->ival = v;
	e->is_lit = true;
	return ty_bool(u->types);
}

const struct Type *c_default_str_length(struct Unit *u, struct Expr *e)
{
	make_int(u, e, u->config->max_strlen, false);
	return e->type = t_int(u, 8, false);
}

const struct Type *c_kfunc(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	e->kind = E_BOOL;
	e->ival = s && u->hooks->kfunc && u->hooks->kfunc(u->hooks->arg, s);
	e->is_lit = true;
	return ty_bool(u->types);
}

const struct Type *c_socket_cookie(struct Unit *u, struct Expr *e)
{
	check_expr(u, e->args[0]);
	enum ProbeKind k = u->cur->point->kind;
	if (k != PK_FENTRY && k != PK_FEXIT)
		ERR(u, e->span, "socket_cookie() can only be used with 'fentry' and 'fexit' probes");
	return t_int(u, 8, false);
}
