// Builder: appends instructions to a function's blocks. Input: calls from lower*.c. Output: an IrProg that ir_verify accepts as long as
// every block gets a terminator. Instructions after a terminator go to a fresh unreachable block, so callers need not look.
#include "ir/internal.h"

static struct IrFunc *fn(const struct IrBuild *b)
{
	return &b->prog->funcs.p[b->fn];
}

static struct IrInsn *emit(struct IrBuild *b, struct IrInsn in)
{
	if (ir_terminated(b))
		b->blk = ir_new_block(b, "dead");
	struct IrBlock *blk = &fn(b)->blocks.p[b->blk];
	in.loc = b->loc;
	vec_push(&blk->insns, in);
	return &vec_last(&blk->insns);
}

static struct IrVal emit_d(struct IrBuild *b, struct IrInsn in)
{
	in.d = ir_new_reg(b);
	emit(b, in);
	return ir_reg(in.d);
}

u32 ir_new_func(struct IrProg *p, const char *name, u32 nparams)
{
	struct IrFunc f = {.name = name, .nregs = nparams, .nparams = nparams};
	vec_push(&f.blocks, (struct IrBlock){.label = "entry"});
	vec_push(&p->funcs, f);
	return (u32)p->funcs.n - 1;
}

void ir_enter(struct IrBuild *b, u32 fnid, IrBlk blk)
{
	b->fn = fnid;
	b->blk = blk;
}

IrBlk ir_new_block(struct IrBuild *b, const char *label)
{
	vec_push(&fn(b)->blocks, (struct IrBlock){.label = label});
	return (IrBlk)fn(b)->blocks.n - 1;
}

void ir_set_block(struct IrBuild *b, IrBlk blk)
{
	b->blk = blk;
}

bool ir_terminated(const struct IrBuild *b)
{
	const struct IrInsn *t = ir_term(&fn(b)->blocks.p[b->blk]);
	return t && ir_ops[t->op].flags & F_TERM;
}

void ir_set_loc(struct IrBuild *b, u32 file, u32 line, u32 col)
{
	struct IrProg *p = b->prog;
	// Statements come in order: the location wanted is most often among the last few.
	for (size_t i = p->locs.n, stop = i > 8 ? i - 8 : 0; i > stop; i--) {
		const struct IrLoc *l = &p->locs.p[i - 1];
		if (l->file == file && l->line == line && l->col == col) {
			b->loc = (u32)i;
			return;
		}
	}
	vec_push(&p->locs, ((struct IrLoc){file, line, col}));
	b->loc = (u32)p->locs.n;
}

IrReg ir_new_reg(struct IrBuild *b)
{
	return ++fn(b)->nregs;
}

IrSlot ir_new_slot(struct IrBuild *b, u32 size, u32 align)
{
	vec_push(&fn(b)->slots, ((struct IrSlotDef){size, align, 0}));
	return (IrSlot)fn(b)->slots.n - 1;
}

struct IrVal ir_param(struct IrBuild *b, u32 n)
{
	assert(n < fn(b)->nparams);
	return ir_reg(n + 1);
}

struct IrVal ir_mov(struct IrBuild *b, struct IrVal v)
{
	return emit_d(b, (struct IrInsn){.op = IR_MOV, .a = v});
}

void ir_set(struct IrBuild *b, IrReg d, struct IrVal v)
{
	emit(b, (struct IrInsn){.op = IR_MOV, .d = d, .a = v});
}

struct IrVal ir_bin(struct IrBuild *b, enum IrOp op, struct IrVal x, struct IrVal y)
{
	struct IrVal r;
	if (x.kind == IRO_IMM && y.kind == IRO_IMM)
		return ir_imm(ir_fold_bin(op, x.imm, y.imm));
	if (op == IR_ADD && y.kind == IRO_IMM && ir_add_const(x, y.imm, &r))
		return r;
	if (op == IR_ADD && x.kind == IRO_IMM && ir_add_const(y, x.imm, &r))
		return r;
	if (op == IR_SUB && y.kind == IRO_IMM && y.imm != INT64_MIN && ir_add_const(x, -y.imm, &r))
		return r;
	return emit_d(b, (struct IrInsn){.op = (u8)op, .a = x, .b = y});
}

static struct IrVal unary(struct IrBuild *b, enum IrOp op, struct IrVal x, u32 size)
{
	if (x.kind == IRO_IMM)
		return ir_imm(ir_fold_un(op, size, x.imm));
	return emit_d(b, (struct IrInsn){.op = (u8)op, .size = (u8)size, .a = x});
}

struct IrVal ir_neg(struct IrBuild *b, struct IrVal x)
{
	return unary(b, IR_NEG, x, 8);
}

struct IrVal ir_ext(struct IrBuild *b, struct IrVal x, u32 size, bool sgn)
{
	return size == 8 ? x : unary(b, sgn ? IR_SEXT : IR_ZEXT, x, size);
}

struct IrVal ir_bswap(struct IrBuild *b, struct IrVal x, u32 size)
{
	return unary(b, size == 1 ? IR_ZEXT : IR_BSWAP, x, size);
}

struct IrVal ir_load(struct IrBuild *b, struct IrVal base, s32 off, u32 size, bool sgn)
{
	struct IrVal v = emit_d(b, (struct IrInsn){.op = IR_LOAD, .size = (u8)size, .a = base, .off = off});
	return sgn ? ir_ext(b, v, size, true) : v;
}

void ir_store(struct IrBuild *b, struct IrVal base, s32 off, u32 size, struct IrVal v)
{
	emit(b, (struct IrInsn){.op = IR_STORE, .size = (u8)size, .a = base, .off = off, .b = v});
}

void ir_atomic_add(struct IrBuild *b, struct IrVal base, s32 off, u32 size, struct IrVal v)
{
	emit(b, (struct IrInsn){.op = IR_ATOMIC_ADD, .size = (u8)size, .a = base, .off = off, .b = v});
}

static struct IrVal call(struct IrBuild *b, struct IrInsn in, const struct IrVal *args, u32 n)
{
	assert(n <= 5);
	in.nargs = (u8)n;
	if (n)
		memcpy(in.args, args, n * sizeof(*args));
	return emit_d(b, in);
}

struct IrVal ir_call(struct IrBuild *b, u32 helper, const struct IrVal *args, u32 n)
{
	return call(b, (struct IrInsn){.op = IR_CALL, .id = helper}, args, n);
}

struct IrVal ir_call_rt(struct IrBuild *b, const char *name, const struct IrVal *args, u32 n)
{
	return call(b, (struct IrInsn){.op = IR_CALL_RT, .name = name}, args, n);
}

struct IrVal ir_call_kfunc(struct IrBuild *b, const char *name, const struct IrVal *args, u32 n)
{
	return call(b, (struct IrInsn){.op = IR_CALL_KFUNC, .name = name}, args, n);
}

struct IrVal ir_call_fn(struct IrBuild *b, u32 fnid, const struct IrVal *args, u32 n)
{
	return call(b, (struct IrInsn){.op = IR_CALL_FN, .id = fnid}, args, n);
}

void ir_jmp(struct IrBuild *b, IrBlk t)
{
	emit(b, (struct IrInsn){.op = IR_JMP, .t = t});
}

void ir_br(struct IrBuild *b, enum IrCond c, struct IrVal x, struct IrVal y, IrBlk t, IrBlk f)
{
	emit(b, (struct IrInsn){.op = IR_BR, .cond = (u8)c, .size = 8, .a = x, .b = y, .t = t, .f = f});
}

void ir_ret(struct IrBuild *b, struct IrVal v)
{
	emit(b, (struct IrInsn){.op = IR_RET, .a = v});
}

void ir_deinit(struct IrProg *p)
{
	for (size_t i = 0; i < p->funcs.n; i++) {
		struct IrFunc *f = &p->funcs.p[i];
		for (size_t j = 0; j < f->blocks.n; j++)
			vec_deinit(&f->blocks.p[j].insns);
		vec_deinit(&f->blocks);
		vec_deinit(&f->slots);
		free(f->reg);
	}
	vec_deinit(&p->funcs);
	vec_deinit(&p->locs);
	*p = (struct IrProg){0};
}
