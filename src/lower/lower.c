// The program of each probe: statements, loops, frame, entry and exit. In: a checked unit. Out: prog->maps and prog->progs with IR.
// Loops: lower_loop.c.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "lower/internal.h"
#include <linux/bpf.h>

#define REG_VARS 24 // scalar variables kept in registers or spilled to the stack

void lower_at(struct Lower *l, struct Span s)
{
	u32 line, col;
	if (!s.len)
		return;
	span_pos(l->u->diags, s, &line, &col);
	ir_set_loc(&l->b, s.file, line, col);
}

// ---- where variables live

static void place_var(struct Lower *l, struct VarSym *v)
{
	v->reg = 0;
	v->placed = false;
	if (!v->type || v->type->kind == TY_NONE)
		return;
	if (ty_scalar(v->type)) {
		// Shared with a loop body: in a map value, whose content the verifier does not follow round by round. Beyond what registers
		// and the stack can hold: there too.
		if (!v->captured && ++l->nscalars <= REG_VARS)
			return;
		v->placed = true;
		v->place = (u32)l->scratch_vars;
		l->scratch_vars += 8;
	} else {
		v->placed = true;
		v->place = (u32)l->scratch_vars;
		l->scratch_vars += ALIGN_UP(MAX(v->type->size, 8u), 8u);
	}
}

static void plan_frame(struct Lower *l)
{
	l->has_frame = l->pu->nfns > 0;
	l->frame_size = FRAME_LOOPS;
	l->scratch_vars = l->nscalars = 0;
	for (size_t i = 0; i < l->pu->vars.n; i++)
		place_var(l, l->pu->vars.p[i]);
	l->loop_base = l->frame_size;
	l->frame_size += l->pu->nfns * 8;
}

// ---- statements

// What a program returns that has nothing to say. 0 at a tracepoint would keep the event from perf: perf_trace_run_bpf_submit(), perf_syscall_enter().
static struct IrVal done(const struct Lower *l)
{
	return ir_imm(l->pp->kind == PK_TRACEPOINT);
}

void lower_return(struct Lower *l, struct IrVal v)
{
	if (l->pp->kind == PK_TRACEPOINT)
		v = done(l);
	for (u32 i = l->nopen; i > 0; i--)
		call2(l, H_RINGBUF_DISCARD, ir_reg(l->open[i - 1]), ir_imm(0));
	if (l->in_callback) {
		ir_store(&l->b, l->frame, FRAME_RETURN, 8, ir_imm(1));
		ir_store(&l->b, l->frame, FRAME_RETVAL, 8, v);
		ir_ret(&l->b, ir_imm(1));
		l->saw_return = true;
	} else
		ir_ret(&l->b, v);
	ir_set_block(&l->b, ir_new_block(&l->b, "dead"));
}

static void lower_if(struct Lower *l, struct Stmt *s)
{
	if (s->comptime || s->e->kind == E_BOOL || s->e->kind == E_INT) {
		lower_stmts(l, s->e->ival ? s->body : s->els);
		return;
	}
	IrBlk t = ir_new_block(&l->b, "then"), end = ir_new_block(&l->b, "endif"), f = s->els ? ir_new_block(&l->b, "else") : end;
	struct TmpMark m = tmp_mark(l);
	lx_cond(l, s->e, t, f);
	tmp_release(l, m);
	ir_set_block(&l->b, t);
	lower_stmts(l, s->body);
	ir_jmp(&l->b, end);
	if (s->els) {
		ir_set_block(&l->b, f);
		lower_stmts(l, s->els);
		ir_jmp(&l->b, end);
	}
	ir_set_block(&l->b, end);
}

static void lower_assign(struct Lower *l, struct Stmt *s)
{
	if (!s->lhs) {
		lx_drop(l, s->e);
		return;
	}
	if (s->lhs->kind != E_VAR) {
		lm_assign(l, s);
		return;
	}
	struct VarSym *v = s->lhs->var;
	if (s->op == OP_NONE) {
		var_assign(l, v, s->e);
		return;
	}
	struct IrVal old = var_get(l, v);
	if (has_side_effects(s->e))
		old = ir_mov(&l->b, old);
	struct IrVal x = lx_int(l, s->e);
	if (v->type->kind == TY_PTR) {
		u32 size = v->type->elem->kind == TY_RECORD ? v->type->elem->rec->size : v->type->elem->size;
		x = ir_bin(&l->b, IR_MUL, x, ir_imm(MAX(size, 1u)));
	}
	struct IrVal now = lower_arith(l, arith_op(s->op, v->type), old, x, ty_signed(v->type) || ty_signed(s->e->type), s->span);
	if (v->type->kind == TY_INT && v->type->size < 8)
		now = ir_ext(&l->b, now, v->type->size, v->type->sgn);
	var_set(l, v, now);
}

static void lower_let(struct Lower *l, struct Stmt *s)
{
	struct VarSym *v = s->lhs->var;
	if (s->e)
		var_assign(l, v, s->e);
	else if (ty_scalar(v->type))
		var_set(l, v, ir_imm(0));
	else {
		s32 off;
		struct IrVal base = var_place(l, v, &off);
		zero_bytes(l, base, off, v->type->size);
	}
}

static void lower_stmt(struct Lower *l, struct Stmt *s)
{
	switch (s->kind) {
	case S_EXPR:
		lx_drop(l, s->e);
		break;
	case S_ASSIGN:
		lower_assign(l, s);
		break;
	case S_LET:
		lower_let(l, s);
		break;
	case S_IF:
		lower_if(l, s);
		break;
	case S_WHILE:
		lower_while(l, s);
		break;
	case S_UNROLL:
		for (u64 i = 0; i < s->e->ival; i++)
			lower_stmts(l, s->body);
		break;
	case S_FOR_RANGE:
		lower_range(l, s);
		break;
	case S_FOR_MAP:
		lower_for_map(l, s);
		break;
	case S_RETURN:
		lower_return(l, s->e ? lx_int(l, s->e) : ir_imm(0));
		break;
	case S_BREAK:
	case S_CONTINUE:
		lower_jump(l, s);
		break;
	case S_BLOCK:
		lower_stmts(l, s->body);
		break;
	}
}

// `print(@m); clear(@m);` is one event: between two, user space would clear what it has not printed.
static bool prints_and_clears(const struct Stmt *s)
{
	const struct MapSym *m = stmt_takes(s);
	return m && !m->def->scalar;
}

void lower_stmts(struct Lower *l, struct Stmt *s)
{
	for (; s; s = s->next) {
		struct TmpMark m = tmp_mark(l);
		lower_at(l, s->span);
		if (prints_and_clears(s)) {
			lower_print_map(l, s->e, true);
			s = s->next;
		} else {
			lower_stmt(l, s);
		}
		tmp_release(l, m);
	}
}

// ---- programs

// Probes that cannot be attached to one process get a test of the process id in front.
static bool needs_pid_test(const struct Lower *l)
{
	switch (l->pp->kind) {
	case PK_KPROBE: case PK_KRETPROBE: case PK_FENTRY: case PK_FEXIT: case PK_TRACEPOINT: case PK_RAWTP:
		return l->o->pid != 0;
	default:
		return false;
	}
}

static void init_frame(struct Lower *l)
{
	if (!l->has_frame)
		return;
	ir_store(&l->b, l->frame, FRAME_SCRATCH, 8, l->uses_scratch ? l->scratch : ir_imm(0));
	ir_store(&l->b, l->frame, FRAME_CTX, 8, ir_ctx());
	for (u32 off = FRAME_RETURN; off < l->frame_size; off += 8)
		ir_store(&l->b, l->frame, (s32)off, 8, ir_imm(0));
}

// Written last, when it is known what the body needs: finds this CPU's scratch and fills the frame.
static void lower_prologue(struct Lower *l)
{
	ir_set_block(&l->b, l->prologue);
	l->b.loc = 1;
	if (l->scratch_max > 32 << 10)
		diag_error(l->u->diags, l->pu->ast->span, "this probe needs %llu bytes for its variables and temporaries; the kernel gives 32768",
			   (unsigned long long)l->scratch_max);
	if (l->uses_scratch) {
		// a map value is at most 32 KB per CPU (PCPU_MIN_UNIT_SIZE)
		// Programs of different kinds can interrupt one another on one processor (a timer sample inside a uprobe): each kind has its own.
		const char *name = arena_printf(l->u->arena, "sonde_scratch%u", (u32)l->pp->kind);
		u32 map = sonde_map(l, name, BPF_MAP_TYPE_PERCPU_ARRAY, 4, (u32)ALIGN_UP(l->scratch_max, 8u), 1, 0);
		struct IrVal key = tmp_slot(l, 8);
		IrBlk have = ir_new_block(&l->b, "scratch"), none = ir_new_block(&l->b, "no_scratch");
		ir_store(&l->b, key, 0, 4, ir_imm(0));
		struct IrVal p = call2(l, H_MAP_LOOKUP, ir_mapfd(map), key);
		ir_br(&l->b, IC_NE, p, ir_imm(0), have, none);
		ir_set_block(&l->b, none);
		ir_ret(&l->b, done(l));
		ir_set_block(&l->b, have);
		ir_set(&l->b, l->scratch.id, p);
	}
	init_frame(l);
	ir_jmp(&l->b, l->body);
}

// The kernel calls an iterator once more when all objects are through, with none: that is no object, and no action. The object is the last
// pointer of the context (include/linux/bpf.h: each is in a union of 8 bytes).
static void skip_last_round(struct Lower *l)
{
	struct Record *ctx = l->pu->point->args;
	if (!ctx || (!ctx->loaded && !ctype_record_load(l->u->ctypes, ctx)))
		return;
	for (u32 i = ctx->nfields; i-- > 1;) { // the first is the iterator's own, meta
		const struct Field *f = &ctx->fields[i];
		if (f->type->kind != TY_PTR && !(f->type->kind == TY_RECORD && f->type->rec->size == 8))
			continue;
		leave_if_null(l, ir_load(&l->b, ctx_ptr(l), (s32)f->off, 8, false));
		return;
	}
}

static void lower_body(struct Lower *l)
{
	struct ProbeAst *ast = l->pu->ast;
	if (l->pp->kind == PK_ITER)
		skip_last_round(l);
	if (needs_pid_test(l)) {
		IrBlk ours = ir_new_block(&l->b, "our_pid"), other = ir_new_block(&l->b, "other_pid");
		ir_br(&l->b, IC_EQ, cur_pid(l, false, false), ir_imm(l->o->pid), ours, other);
		ir_set_block(&l->b, other);
		ir_ret(&l->b, done(l));
		ir_set_block(&l->b, ours);
	}
	bool first = l->late && ast->pred && !is_plain(ast->pred); // it may read the texts itself
	if (first)
		late_test(l, l->late);
	if (ast->pred) {
		IrBlk yes = ir_new_block(&l->b, "action"), no = ir_new_block(&l->b, "skip");
		struct TmpMark m = tmp_mark(l);
		lower_at(l, ast->pred->span);
		lx_cond(l, ast->pred, yes, no);
		tmp_release(l, m);
		ir_set_block(&l->b, no);
		ir_ret(&l->b, done(l));
		ir_set_block(&l->b, yes);
	}
	if (l->late && !first)
		late_test(l, l->late);
	lower_stmts(l, ast->body);
	if (!ir_terminated(&l->b))
		ir_ret(&l->b, done(l));
}

// The action once more, on what was kept of an event. A predicate that reads no text has decided at the event.
static void lower_late(struct Lower *l)
{
	struct ProbeAst ast = *l->pu->ast;
	struct ProbeUnit late = *l->pu, *pu = l->pu;
	if (ast.pred && is_plain(ast.pred))
		ast.pred = NULL;
	late.ast = &ast;
	const struct LowerOpts *o = l->o;
	struct LowerOpts any = *o;
	any.pid = 0; // it was this one's
	struct Late *t = l->late;
	l->o = &any;
	l->pu = &late;
	l->late = NULL;
	l->is_late = true;
	l->uses_scratch = false;
	l->stack_used = 0;
	ir_enter(&l->b, late_function(t), 0);
	l->late_record = ir_param(&l->b, 0);
	plan_frame(l);
	l->scratch_now = l->scratch_max = l->scratch_vars;
	l->scratch = ir_reg(ir_new_reg(&l->b));
	l->body = ir_new_block(&l->b, "body");
	ir_set_block(&l->b, l->body);
	lower_body(l);
	lower_prologue(l);
	l->stack_used = 0;
	late_callback(l, t);
	l->is_late = false;
	l->o = o;
	l->pu = pu;
}

static const char *kernel_name(struct Unit *u, const struct Point *p)
{
	char *s = arena_printf(u->arena, "%.15s", p->event ? p->event : probe_kind_name(p->kind));
	for (char *c = s; *c; c++)
		if (!(*c >= '0' && *c <= '9') && !(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z'))
			*c = '_';
	return s;
}

struct ProbeProg *lower_begin_prog(struct Lower *l, struct ProbeUnit *pu)
{
	struct Unit *u = l->u;
	struct ProbeProg *pp = arena_new(u->arena, struct ProbeProg);
	pp->ast = pu->ast;
	pp->kind = pu->point->kind;
	pp->points = pu->points;
	pp->fd = -1;
	pp->ir.name = kernel_name(u, pu->point);
	pp->ir.diags = u->diags;
	vec_push(&l->prog->progs, pp);

	struct Lower fresh = {.u = u, .prog = l->prog, .o = l->o, .pu = pu, .pp = pp, .slots = l->slots, .capslots = l->capslots};
	*l = fresh;
	u->cur = pu;
	l->b.prog = &pp->ir;
	u32 fn = ir_new_func(&pp->ir, pp->ir.name, 0);
	ir_enter(&l->b, fn, 0);
	lower_at(l, pu->ast->span);
	return pp;
}

static void lower_unit(struct Lower *l, struct ProbeUnit *pu)
{
	lower_begin_prog(l, pu);
	plan_frame(l);
	l->scratch_now = l->scratch_max = l->scratch_vars;
	l->scratch = ir_reg(ir_new_reg(&l->b));
	if (l->has_frame) {
		l->frame_slot = ir_new_slot(&l->b, l->frame_size, 8);
		l->frame = ir_slot(l->frame_slot, 0);
		l->stack_used = l->frame_size;
	}
	l->prologue = 0;
	l->body = ir_new_block(&l->b, "body");
	ir_set_block(&l->b, l->body);
	l->late = late_plan(l);
	lower_body(l);
	lower_prologue(l);
	if (l->late)
		lower_late(l);
	cold_calls(l);
}

bool lower_program(struct Unit *u, struct Program *prog, const struct LowerOpts *o)
{
	struct Lower l = {.u = u, .prog = prog, .o = o};
	for (size_t i = 0; i < u->fmts.n; i++)
		vec_push(&prog->fmts, u->fmts.p[i]);
	prog->uses_ustack = u->uses_ustack;
	prog->uses_lang_func = u->uses_lang_func;
	prog->uses_async = u->uses_async;
	prog->uses_kstack = u->uses_kstack;
	prog->uses_usym = u->uses_usym;
	lower_maps(&l);
	for (size_t i = 0; i < u->probes.n && !u->diags->nerrors; i++) {
		lower_touch(&l, u->probes.p[i]);
		lower_unit(&l, u->probes.p[i]);
	}
	cold_keys(&l);
	free(l.slots);
	return !u->diags->nerrors;
}
