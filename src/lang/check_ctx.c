// Types of builtins that read the current task, the clock and the event: see internal.h.
#include "lang/internal.h"
#include <time.h>

// What probetype says.
static const char *type_of_probe(enum ProbeKind k)
{
	bool special = k == PK_BEGIN || k == PK_END || k == PK_SELF || k == PK_TEST || k == PK_BENCH;
	return special ? "special" : probe_kind_name(k);
}

// ---- who and where

const struct Type *c_u32(struct Unit *u, struct Expr *e) { return t_int(u, 4, false); }
const struct Type *c_u64(struct Unit *u, struct Expr *e) { return t_int(u, 8, false); }

const struct Type *c_pid(struct Unit *u, struct Expr *e)
{
	if (e->nargs && !mode_arg(e->args[0], "curr_ns") && !mode_arg(e->args[0], "init"))
		ERR(u, e->args[0]->span, "Invalid PID namespace mode: %s (expects: curr_ns or init)",
		    e->args[0]->kind == E_IDENT ? e->args[0]->str : tyname(u, check_expr(u, e->args[0])));
	return t_int(u, 4, false);
}

const struct Type *c_username(struct Unit *u, struct Expr *e) { return ty_simple(u->types, TY_USERNAME); }

const struct Type *c_comm(struct Unit *u, struct Expr *e)
{
	if (e->nargs) {
		// it takes a kernel function that only some kinds of program may call (kernel/bpf/helpers.c, generic_btf_ids)
		const struct Point *p = u->cur->point;
		if (u->final && kfunc_exists(u, "bpf_task_from_pid") && !u->hooks->kfunc_allowed(u->hooks->arg, p, "bpf_task_from_pid"))
			ERR(u, e->span, "comm(pid) can not be used in '%s' probes", probe_kind_name(p->kind));
		int_arg(u, e, 0);
		if (u->final)
			e->fmt = add_fmt_site(u, FK_WARNF, e, "No such process (pid=%d)", 24, e->args, 1);
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
	const struct Type *task = e->kind == E_CALL && e->nargs ? operand_type(u, check_expr(u, e->args[0])) : ty_none(u);
	if (task->kind != TY_NONE && task->kind != TY_PTR && !ty_is_int(task))
		ERR(u, e->args[0]->span, "%s() takes a struct task_struct * (%s provided)", e->str, tyname(u, task));
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
	static const struct { const char *word; int clock; u8 read_of; } modes[] = {
		{"boot", CLOCK_BOOTTIME, 0}, {"monotonic", CLOCK_MONOTONIC, CLOCK_MONOTONIC}, {"tai", CLOCK_TAI, CLOCK_TAI}, {"sw_tai", 100, CLOCK_TAI}};
	e->ival = CLOCK_BOOTTIME;
	u8 read_of = 0;
	bool ok = !e->nargs;
	for (size_t i = 0; i < ARRAY_LEN(modes) && e->nargs; i++)
		if (mode_arg(e->args[0], modes[i].word)) {
			e->ival = (u64)modes[i].clock;
			read_of = modes[i].read_of;
			ok = true;
		}
	if (!ok)
		ERR(u, e->args[0]->span,
		    u->diags->plain && e->args[0]->kind == E_IDENT ? "Invalid timestamp mode: %s" : "Expects timestamp mode to be one of: monotonic, boot, tai, sw_tai",
		    e->args[0]->str);
	return ty_of_clock(u->types, t_int(u, 8, false), read_of);
}

const struct Type *c_cpid(struct Unit *u, struct Expr *e)
{
	if (!u->hooks->cpid) // now: the node is a literal in the next round
		diag_warn(u->diags, e->span, "No child command (`-c`); cpid is zero");
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
	switch (u->cur->point->kind) {
	case PK_UPROBE: case PK_URETPROBE: case PK_USDT: case PK_BEGIN: case PK_END: case PK_SELF: case PK_TEST: case PK_BENCH:
		make_int(u, e, 1, false);
		return e->type;
	default:
		break;
	}
	if (u->cur->point->ctx != CTX_PERF)
		ERR(u, e->span, "usermode: this probe does not know the interrupted mode");
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
			if (p->arg_regs) {
				ERR(u, e->span, "The args builtin can not be used with functions of Go (%s)", p->name);
				HINT(u, "use arg0, arg1, ...: words of the arguments; a string is two, its address and its length");
				break;
			}
			if (p->bits32) {
				ERR(u, e->span, "The args builtin can not be used with 32-bit functions: they have their arguments on the stack (%s)", p->name);
				HINT(u, "*(uint32 *)(reg(\"sp\") + 4) is the first one, unless the compiler has passed it otherwise");
				break;
			}
			ERR(u, e->span, "The args builtin needs debug information: there is none for %s", p->name);
			HINT(u, "use arg0, arg1, ...");
			break;
		case PK_KPROBE:
		case PK_USDT:
			ERR(u, e->span, "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit%s uprobe probes (%s used here)",
			    u->diags->plain ? ", and" : " and", u->diags->plain ? type_of_probe(p->kind) : probe_kind_name(p->kind));
			HINT(u, "use arg0, arg1, ...");
			break;
		default:
			ERR(u, e->span, "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit%s uprobe probes (%s used here)",
			    u->diags->plain ? ", and" : " and", u->diags->plain ? type_of_probe(p->kind) : probe_kind_name(p->kind));
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
	else if (p->arg_regs && !p->narg_regs)
		ERR(u, e->span, "retval: Go returns values on the stack before 1.18, and which Go made %s is not known to be newer", p->target);
	return ty_of_register(u->types, t_int(u, 8, true), !p->arg_regs);
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
	const char *s = type_of_probe(u->cur->point->kind);
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

// Where the frame of the called function begins: the same at its entry and at its return.
const struct Type *c_frame(struct Unit *u, struct Expr *e)
{
	const struct Point *p = u->cur->point;
	u32 size;
	if (p->kind != PK_UPROBE && p->kind != PK_URETPROBE && p->kind != PK_KPROBE && p->kind != PK_KRETPROBE)
		ERR(u, e->span, "Unknown identifier: '__frame'"); // a script's: percall.c is for these only
	e->ival = (u64)u->hooks->ptregs("sp", &size);
	for (size_t i = 0; i < u->cur->points.v.n; i++)
		if (u->cur->points.v.p[i]->at_ret && u->final) {
			ERR(u, u->cur->ast->span, "%s is a function of Go: its stack may move during a call, so no variable can be kept from its entry to its return", p->func);
			break;
		}
	return t_int(u, 8, false);
}

const struct Type *c_lang_func(struct Unit *u, struct Expr *e)
{
	if (u->cur->point->kind == PK_ITER)
		ERR(u, e->span, "lang_func is of the current thread, and can not be used with 'iter' probes");
	u->uses_ustack = true;
	u->uses_lang_func = true;
	return ty_simple(u->types, TY_LANG_FUNC);
}

const struct Type *c_request_id(struct Unit *u, struct Expr *e)
{
	const char *name = e->builtin->name;
	if (u->cur->point->kind == PK_ITER)
		ERR(u, e->span, "%s is of the current thread, and can not be used with 'iter' probes", name);
	return ty_str(u->types, *name == 't' ? 33 : 17);
}

const struct Type *c_stack(struct Unit *u, struct Expr *e)
{
	bool dw = e->builtin->id == BI_dw_ustack, user = dw || e->builtin->id == BI_ustack;
	enum StackMode mode = u->config->stack_mode;
	bool lang = u->config->language_frames && !u->config->native;
	enum StackWalk by_rows = !lang ? STACK_WALK_NATIVE : u->config->async_frames ? STACK_WALK_ASYNC : STACK_WALK_MIXED;
	enum StackWalk walk = !dw && u->config->unwind_fp ? STACK_WALK_FP : by_rows;
	s64 limit = 0; // none given: whole stacks
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
			else if (mode_arg(a, "fp") && user && !dw)
				walk = STACK_WALK_FP;
			else if (mode_arg(a, "native") && user)
				walk = STACK_WALK_NATIVE;
			else if (mode_arg(a, "async") && user && !dw)
				walk = lang ? STACK_WALK_ASYNC : by_rows;
			else if (mode_arg(a, "dwarf") && user)
				walk = by_rows;
			else
				ERR(u, a->span,
				    u->diags->plain ? "Error parsing stack mode: %s: Invalid value for stack_mode: valid values are bpftrace, raw, perf, and build_id."
						    : "%s() has no mode '%s': there are bpftrace, perf, raw%s",
				    e->str, a->str, dw ? ", build_id, native, dwarf" : user ? ", build_id, fp, native, async, dwarf" : "");
		} else {
			if (i && e->args[i - 1]->kind == E_INT)
				ERR(u, e->span, "Expected stack mode as first argument");
			else if (lit_int_arg(u, e, i, &limit) && limit < 1)
				ERR(u, a->span, "%s([mode, ][limit]): the limit is at least 1", e->str);
			else if (limit > 1024) {
				ERR(u, a->span, "%s() limit shouldn't exceed 1024, %lld given", e->str, (long long)limit);
				limit = 1024;
			}
		}
	}
	if (dw)
		unstable_feature(u, UNSTABLE_DW_USTACK, e->span);
	u->uses_ustack |= user;
	u->uses_async |= user && walk == STACK_WALK_ASYNC;
	u->uses_kstack |= !user;
	return ty_stack(u->types, user, mode, (u32)limit, user ? walk : STACK_WALK_MIXED);
}
