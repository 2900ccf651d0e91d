// Loops -> IR. In: loop statements of a checked unit. Out: callbacks of bpf_loop and bpf_for_each_map_elem, so that the number of rounds
// needs no proof. What a callback shares with the program lives in one stack object of the program, the frame, whose address is the
// callback's context argument.
// Invariant: a loop that does not run all its rounds is counted and told.
#include "base/base.h"
#include "lower/internal.h"

// ---- loops as callbacks

struct Saved { // of the function around a callback
	struct IrBuild b;
	struct IrVal frame, scratch;
	bool in_callback, saw_return;
	u32 stack_used;
	struct Loop *loop;
	u32 nopen, nloops;
};

static struct Saved enter_callback(struct Lower *l, const char *name, u32 nparams, u32 ctx_param, struct Loop *loop, u32 *fn)
{
	struct Saved s = {l->b, l->frame, l->scratch, l->in_callback, l->saw_return, l->stack_used, l->loop, l->nopen, l->nloops++};
	*fn = ir_new_func(&l->pp->ir, name, nparams);
	ir_enter(&l->b, *fn, 0);
	l->b.loc = s.b.loc;
	l->frame = ir_mov(&l->b, ir_param(&l->b, ctx_param));
	l->scratch = ir_load(&l->b, l->frame, FRAME_SCRATCH, 8, false);
	l->in_callback = true;
	l->saw_return = false;
	l->stack_used = 0;
	l->nopen = 0;
	*loop = (struct Loop){.up = l->loop, .callback = true};
	l->loop = loop;
	return s;
}

static bool leave_callback(struct Lower *l, const struct Saved *s)
{
	bool returned = l->saw_return;
	ir_ret(&l->b, ir_imm(0));
	l->b = s->b;
	l->frame = s->frame;
	l->scratch = s->scratch;
	l->in_callback = s->in_callback;
	l->saw_return = s->saw_return || (returned && s->in_callback);
	l->stack_used = s->stack_used;
	l->loop = s->loop;
	l->nopen = s->nopen;
	l->nloops = s->nloops;
	return returned;
}

static struct IrVal frame_addr(struct Lower *l)
{
	return l->frame;
}

// After a loop whose body may return from the probe.
static void pass_return_on(struct Lower *l)
{
	IrBlk ret = ir_new_block(&l->b, "returned"), go = ir_new_block(&l->b, "go_on");
	ir_br(&l->b, IC_NE, ir_load(&l->b, l->frame, FRAME_RETURN, 8, false), ir_imm(0), ret, go);
	ir_set_block(&l->b, ret);
	ir_ret(&l->b, l->in_callback ? ir_imm(1) : ir_load(&l->b, l->frame, FRAME_RETVAL, 8, false));
	if (l->in_callback)
		l->saw_return = true;
	ir_set_block(&l->b, go);
}

static void call_loop(struct Lower *l, struct IrVal rounds, u32 fn, bool returned)
{
	call4(l, H_LOOP, rounds, ir_func(fn), frame_addr(l), ir_imm(0));
	if (returned)
		pass_return_on(l);
}

static u32 loop_slot(struct Lower *l, const struct Stmt *s)
{
	return l->loop_base + (s->lhs->var->fn - 1) * 8;
}

// ---- many rounds
//
// A bpf_loop has at most 1 << 23 rounds (BPF_MAX_LOOPS). Longer loops are batches of them, each run by a callback of an outer bpf_loop.
// The last round of a full batch runs no body: bpf_loop returns how many rounds there were, also when the body ended the loop, so only a
// round in which it never does tells the two apart.

#define ROUNDS ((1 << 23) - 1)
#define WHILE_BATCHES 16  // 134 million rounds: a loop that never ends must not hold its processor for ever
#define RANGE_BATCHES 128 // 1.07 billion: a range says how many it wants
#define FRAMES 8	  // functions in one another that the verifier takes (MAX_CALL_FRAMES)
#define FRAMES_RT 3	  // of bpfrt that a loop's body may call, one in the other (those of kstack)

static u32 loop_height(const struct Stmt *s);

static bool block_height(void *max, struct Expr *e)
{
	if (e->kind != E_BLOCK)
		return true;
	*(u32 *)max = MAX(*(u32 *)max, loop_height(e->body));
	walk_expr(e->a, block_height, max);
	return false;
}

// Of one statement: how many loops are in one another.
static u32 stmt_height(const struct Stmt *s)
{
	u32 n = MAX(loop_height(s->body), loop_height(s->els));
	walk_expr(s->lhs, block_height, &n);
	walk_expr(s->e, block_height, &n);
	walk_expr(s->e2, block_height, &n);
	return n + (s->kind == S_WHILE || s->kind == S_FOR_RANGE || s->kind == S_FOR_MAP);
}

static u32 loop_height(const struct Stmt *s)
{
	u32 max = 0;
	for (; s; s = s->next)
		max = MAX(max, stmt_height(s));
	return max;
}

// A batch is one function more. Of three or more loops in one another the outer ones do without: their limit is that of one bpf_loop.
static bool in_batches(const struct Lower *l, const struct Stmt *s)
{
	u32 height = stmt_height(s);
	return 1 + l->nloops + height + height /* batches, from the innermost on */ + FRAMES_RT <= FRAMES;
}

static struct IrVal round_number(struct Lower *l)
{
	return ir_ext(&l->b, ir_param(&l->b, 0), 4, false);
}

// In a callback: round n only says so, by its result.
static void round_without_body(struct Lower *l, struct IrVal round, u32 n, const struct Stmt *told, s64 result)
{
	IrBlk last = ir_new_block(&l->b, "last_round"), go = ir_new_block(&l->b, "round");
	ir_br(&l->b, IC_EQ, round, ir_imm(n), last, go);
	ir_set_block(&l->b, last);
	if (told)
		report_failure(l, ir_imm(0), arena_printf(l->u->arena, "The loop was ended after %u rounds", n * (n == ROUNDS ? 1 : ROUNDS)), told->span);
	ir_ret(&l->b, ir_imm(result));
	ir_set_block(&l->b, go);
}

// The callback of the outer loop: one batch. next is what a further one begins with.
static void end_batch(struct Lower *l, struct IrVal rounds, u32 body, IrBlk next)
{
	IrBlk done = ir_new_block(&l->b, "done");
	struct IrVal r = call4(l, H_LOOP, rounds, ir_func(body), frame_addr(l), ir_imm(0));
	ir_br(&l->b, IC_EQ, r, ir_imm(ROUNDS + 1), next, done);
	ir_set_block(&l->b, done);
	ir_ret(&l->b, ir_imm(1));
	ir_set_block(&l->b, next);
}

static u32 while_body(struct Lower *l, struct Stmt *s, bool batches, bool *returned)
{
	struct Loop loop;
	u32 fn;
	struct Saved up = enter_callback(l, "while", 2, 1, &loop, &fn);
	round_without_body(l, round_number(l), ROUNDS, batches ? NULL : s, !batches);
	IrBlk body = ir_new_block(&l->b, "body"), done = ir_new_block(&l->b, "done");
	struct TmpMark m = tmp_mark(l);
	lx_cond(l, s->e, body, done);
	tmp_release(l, m);
	ir_set_block(&l->b, done);
	ir_ret(&l->b, ir_imm(1));
	ir_set_block(&l->b, body);
	lower_stmts(l, s->body);
	*returned = leave_callback(l, &up);
	return fn;
}

static void while_callback(struct Lower *l, struct Stmt *s)
{
	struct Loop loop;
	bool returned, batches = in_batches(l, s);
	u32 fn, body = while_body(l, s, batches, &returned);
	if (!batches) {
		call_loop(l, ir_imm(ROUNDS + 1), body, returned);
		return;
	}
	struct Saved up = enter_callback(l, "while_batch", 2, 1, &loop, &fn);
	round_without_body(l, round_number(l), WHILE_BATCHES, s, 1);
	end_batch(l, ir_imm(ROUNDS + 1), body, ir_new_block(&l->b, "next"));
	leave_callback(l, &up);
	call_loop(l, ir_imm(WHILE_BATCHES + 1), fn, returned);
}

// Where a range's numbers are. Batches change the start, so it must not be where the verifier of kernels before 6.7 sees it: that looks
// at the first batch only. Those of a range in one batch stay as they are.
struct Range {
	bool batches;
	s32 off; // start; in batches: in scratch, and then the end
	struct IrVal start, n;
};

static struct IrVal range_base(struct Lower *l, const struct Range *r)
{
	return r->batches ? scratch_base(l) : l->frame;
}

static u32 range_body(struct Lower *l, struct Stmt *s, const struct Range *r, bool *returned)
{
	struct Loop loop;
	u32 fn;
	struct Saved up = enter_callback(l, "range", 2, 1, &loop, &fn);
	struct IrVal i = round_number(l);
	if (r->batches)
		round_without_body(l, i, ROUNDS, NULL, 0);
	var_set(l, s->lhs->var, ir_bin(&l->b, IR_ADD, ir_load(&l->b, range_base(l, r), r->off, 8, false), i));
	lower_stmts(l, s->body);
	*returned = leave_callback(l, &up);
	return fn;
}

static u32 range_batch(struct Lower *l, const struct Range *r, u32 body)
{
	struct Loop loop;
	u32 fn;
	struct Saved up = enter_callback(l, "range_batch", 2, 1, &loop, &fn);
	IrBlk full = ir_new_block(&l->b, "full"), run = ir_new_block(&l->b, "batch"), next = ir_new_block(&l->b, "next");
	struct IrVal start = ir_mov(&l->b, ir_load(&l->b, range_base(l, r), r->off, 8, false));
	IrReg n = ir_new_reg(&l->b);
	ir_set(&l->b, n, ir_bin(&l->b, IR_SUB, ir_load(&l->b, range_base(l, r), r->off + 8, 8, false), start));
	ir_br(&l->b, IC_UGT, ir_reg(n), ir_imm(ROUNDS), full, run);
	ir_set_block(&l->b, full);
	ir_set(&l->b, n, ir_imm(ROUNDS + 1));
	ir_jmp(&l->b, run);
	ir_set_block(&l->b, run);
	end_batch(l, ir_reg(n), body, next);
	ir_store(&l->b, range_base(l, r), r->off, 8, ir_bin(&l->b, IR_ADD, start, ir_imm(ROUNDS)));
	leave_callback(l, &up);
	return fn;
}

static struct IrVal settled(struct Lower *l, struct IrVal v)
{
	return v.kind == IRO_IMM ? v : ir_mov(&l->b, v);
}

// Fits into one bpf_loop, as far as can be known now.
static bool is_short(const struct Stmt *s, const struct Range *r, struct IrVal end)
{
	if (r->start.kind == IRO_IMM && end.kind == IRO_IMM)
		return (u64)end.imm - (u64)r->start.imm <= ROUNDS + 1;
	return s->e->type->size <= 2 && s->e2->type->size <= 2;
}

static void range_callback(struct Lower *l, struct Stmt *s)
{
	struct Range r = {.start = settled(l, lx_int(l, s->e))};
	struct IrVal end = settled(l, lx_int(l, s->e2));
	bool returned, brief = is_short(s, &r, end);
	u32 most = ROUNDS + 1;
	IrBlk some = ir_new_block(&l->b, "range"), after = ir_new_block(&l->b, "range_end");
	IrBlk fits = ir_new_block(&l->b, "fits"), bad = ir_new_block(&l->b, "too_long");
	r.batches = !brief && in_batches(l, s);
	if (r.batches) {
		most = ROUNDS * RANGE_BATCHES;
		r.off = (s32)l->scratch_now;
		l->scratch_now += 16;
		l->scratch_max = MAX(l->scratch_max, l->scratch_now);
		ir_store(&l->b, range_base(l, &r), r.off + 8, 8, end);
	} else
		r.off = (s32)loop_slot(l, s);
	ir_store(&l->b, range_base(l, &r), r.off, 8, r.start);
	r.n = ir_bin(&l->b, IR_SUB, end, r.start);
	ir_br(&l->b, s->lhs->var->type->sgn ? IC_SLT : IC_ULT, r.start, end, some, after);
	ir_set_block(&l->b, some);
	if (!brief) { // else none of it: the number may be a mistake, and nothing stops a program in the kernel
		ir_br(&l->b, IC_UGT, r.n, ir_imm(most), bad, fits);
		ir_set_block(&l->b, bad);
		report_failure(l, r.n, arena_printf(l->u->arena, "The range was not run: it has {} rounds, the limit is %u", most), s->span);
		ir_jmp(&l->b, after);
		ir_set_block(&l->b, fits);
	}
	u32 body = range_body(l, s, &r, &returned);
	if (r.batches)
		call_loop(l, ir_imm(RANGE_BATCHES + 1), range_batch(l, &r, body), returned);
	else
		call_loop(l, r.n, body, returned);
	ir_jmp(&l->b, after);
	ir_set_block(&l->b, after);
}

// ---- the same without bpf_loop: the verifier walks every round

static void plain_while(struct Lower *l, struct Stmt *s)
{
	IrBlk head = ir_new_block(&l->b, "while"), body = ir_new_block(&l->b, "body"), end = ir_new_block(&l->b, "endwhile");
	struct Loop loop = {.up = l->loop, .brk = end, .cont = head};
	ir_jmp(&l->b, head);
	ir_set_block(&l->b, head);
	lx_cond(l, s->e, body, end);
	ir_set_block(&l->b, body);
	l->loop = &loop;
	lower_stmts(l, s->body);
	l->loop = loop.up;
	ir_jmp(&l->b, head);
	ir_set_block(&l->b, end);
}

static void plain_range(struct Lower *l, struct Stmt *s)
{
	struct VarSym *v = s->lhs->var;
	IrReg i = ir_new_reg(&l->b);
	ir_set(&l->b, i, lx_int(l, s->e));
	struct IrVal end = ir_mov(&l->b, lx_int(l, s->e2));
	IrBlk head = ir_new_block(&l->b, "range"), round = ir_new_block(&l->b, "round"), body = ir_new_block(&l->b, "body"), next = ir_new_block(&l->b, "next"),
	      out = ir_new_block(&l->b, "endrange");
	struct Loop loop = {.up = l->loop, .brk = out, .cont = next};
	ir_jmp(&l->b, head);
	ir_set_block(&l->b, head);
	// No range gets to that number. A comparison whose outcome is known makes the counter one that matters (mark_chain_precision): where the end is not known, rounds
	// with different counters are the same to verifiers before 5.17 in functions that the body calls, and such loops endless.
	ir_br(&l->b, IC_EQ, ir_reg(i), ir_imm(INT64_MIN), out, round);
	ir_set_block(&l->b, round);
	ir_br(&l->b, v->type->sgn ? IC_SLT : IC_ULT, ir_reg(i), end, body, out);
	ir_set_block(&l->b, body);
	var_set(l, v, ir_reg(i));
	l->loop = &loop;
	lower_stmts(l, s->body);
	l->loop = loop.up;
	ir_jmp(&l->b, next);
	ir_set_block(&l->b, next);
	ir_set(&l->b, i, ir_bin(&l->b, IR_ADD, ir_reg(i), ir_imm(1)));
	ir_jmp(&l->b, head);
	ir_set_block(&l->b, out);
}

void lower_while(struct Lower *l, struct Stmt *s)
{
	if (l->o->bpf_loop)
		while_callback(l, s);
	else
		plain_while(l, s);
}

void lower_range(struct Lower *l, struct Stmt *s)
{
	if (l->o->bpf_loop)
		range_callback(l, s);
	else
		plain_range(l, s);
}

// ---- over a map

void lower_for_map(struct Lower *l, struct Stmt *s)
{
	struct MapSym *m = s->e->map;
	struct VarSym *v = s->lhs->var;
	struct Loop loop;
	u32 fn;
	if (!l->o->for_each) {
		diag_error(l->u->diags, s->span, "a loop over a map needs bpf_for_each_map_elem (Linux 5.13), which this kernel does not have");
		return;
	}
	struct Saved up = enter_callback(l, "for_map", 4, 3, &loop, &fn); // (map, key, value, ctx)
	struct IrVal key = ir_mov(&l->b, ir_param(&l->b, 1)), val = ir_mov(&l->b, ir_param(&l->b, 2));
	s32 off;
	struct IrVal base = var_place(l, v, &off);
	const struct TupleField *kf = &v->type->fields[0], *vf = &v->type->fields[1];
	struct Val k = val_mem(m->key, key, 0, AS_BPF), x = val_mem(m->val, val, 0, AS_BPF);
	store_val(l, k, base, off + (s32)kf->off, kf->type, false);
	if (ty_is_aggr(m->val) && !ty_is_aggr_castable(m->val) && !ty_aggr_in_parts(m->val))
		ir_store(&l->b, base, off + (s32)vf->off, vf->type->size, ir_imm(0)); // it is the map's entry where it is used
	else if (ty_is_aggr(m->val))
		ir_store(&l->b, base, off + (s32)vf->off, vf->type->size, lm_aggr_int(l, m, key));
	else
		store_val(l, x, base, off + (s32)vf->off, vf->type, false);
	lower_stmts(l, s->body);
	bool returned = leave_callback(l, &up);
	lm_call(l, m, H_FOR_EACH, (struct IrVal[]){ir_func(fn), frame_addr(l), ir_imm(0)}, 3, 0);
	if (returned)
		pass_return_on(l);
}

void lower_jump(struct Lower *l, struct Stmt *s)
{
	if (l->loop->callback)
		ir_ret(&l->b, ir_imm(s->kind == S_BREAK));
	else
		ir_jmp(&l->b, s->kind == S_BREAK ? l->loop->brk : l->loop->cont);
	ir_set_block(&l->b, ir_new_block(&l->b, "dead"));
}

