// What the passes of src/ir share: opcode properties, operand walks, constant evaluation, liveness. Private to this folder.
#ifndef SONDE_IR_INTERNAL_H
#define SONDE_IR_INTERNAL_H
#include "ir/ir.h"

enum {
	F_D = 1,
	F_A = 2,
	F_B = 4,
	F_SIZE = 8,
	F_MEM = 16,
	F_ARGS = 32,
	F_NAME = 64,
	F_TERM = 128,
	F_PURE = 256,
	F_COMM = 512,
	F_CALL = 1024,
	F_ARITH = 2048,
	F_BIN = F_D | F_A | F_B | F_PURE | F_ARITH,
};
struct IrOpInfo {
	const char *name;
	u32 flags;
};
#define IR_OPS (IR_RET + 1)
extern const struct IrOpInfo ir_ops[IR_OPS];
extern const char *const ir_cond_names[];
#define IR_CONDS (IC_SET + 1)

#define IR_MAX_USES 8
// The operands an instruction reads (any kind), as pointers into it. At most IR_MAX_USES.
u32 ir_uses(struct IrInsn *in, struct IrVal *out[IR_MAX_USES]);
u32 ir_succs(const struct IrInsn *term, IrBlk out[2]);
static inline struct IrInsn *ir_term(const struct IrBlock *b)
{
	return b->insns.n ? &b->insns.p[b->insns.n - 1] : NULL;
}
static inline bool ir_same(struct IrVal x, struct IrVal y)
{
	return x.kind == y.kind && x.id == y.id && x.imm == y.imm;
}
static inline bool ir_is_imm(struct IrVal v, s64 n)
{
	return v.kind == IRO_IMM && v.imm == n;
}
static inline bool ir_is_reg(struct IrVal v, IrReg r)
{
	return v.kind == IRO_REG && v.id == r;
}
static inline bool fits_s32(s64 v)
{
	return v == (s32)v;
}
static inline bool fits_s16(s64 v)
{
	return v == (s16)v;
}

// Constant evaluation with BPF's semantics (shifts masked, division by zero as ir.h says).
s64 ir_fold_bin(enum IrOp op, s64 x, s64 y);
s64 ir_fold_un(enum IrOp op, u32 size, s64 x); // NEG ZEXT SEXT BSWAP
bool ir_fold_cond(enum IrCond c, u32 size, s64 x, s64 y);
enum IrCond ir_cond_swap(enum IrCond c);			// a c b == b swap(c) a
bool ir_cond_invert(enum IrCond c, enum IrCond *out);		// false for IC_SET
bool ir_add_const(struct IrVal v, s64 n, struct IrVal *out);	// v + n when that is an operand again (slot, map value, immediate)

// Reachable blocks in reverse postorder, block 0 first; at[b] is the position in order or ~0u.
struct IrOrder {
	IrBlk *order;
	u32 n;
	u32 *at;
};
void ir_order(const struct IrFunc *f, struct IrOrder *o);
void ir_order_deinit(struct IrOrder *o);

// live.c: which vregs are live at block borders. Only vregs that some block reads before it writes them have a bit.
struct IrLive {
	struct IrOrder rpo;
	u32 *bit;	 // vreg -> bit + 1, or 0 for block-local ones
	IrReg *reg;	 // bit -> vreg
	u32 nbits, words;
	u64 *in, *out;	 // [rpo position][words]
};
void ir_live(const struct IrFunc *f, struct IrLive *l);
void ir_live_deinit(struct IrLive *l);
static inline bool live_has(const struct IrLive *l, const u64 *set, IrReg r)
{
	return l->bit[r] && set[(l->bit[r] - 1) / 64] >> (l->bit[r] - 1) % 64 & 1;
}

// The way to instructions (passes.c), each for function fn. NULL, or why not.
// legal.c: rewrites it so that every instruction has operands eBPF can encode (see there); sets entry.
struct err *ir_legalize(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out);
// spill.c: a round of the register allocator that left vregs without a register
struct VregInfo { // of a vreg, kept over the allocator's rounds
	u8 level;
	bool compared;	   // by size: its range may be what makes an access valid
	struct IrVal home; // IRO_NONE, IRO_SPILL or a constant: where the value can be had again
};
typedef VEC(struct VregInfo) IrVregs;
void ir_spill(struct IrFunc *f, const struct IrLive *live, IrVregs *info, const bool *spilled); // info grows with the vregs it makes
// regalloc.c: gives every vreg a register, spilling to new slots; sets reg.
struct err *ir_regalloc(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out);
#define IR_NPHYS 10
// slots.c: gives every used slot its place in the frame; slots whose lifetimes do not meet share bytes. Sets fp_off.
struct err *ir_place_slots(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out);
#define STACK_MAX 512
// emit.c
struct err *ir_encode(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out);

// The parts of the optimiser; true when they changed something. opt.c shares IrDefs with fold.c.
struct IrDefs { // one entry a vreg; valid while no instruction is added
	u32 *ndefs, *nuses;	// a parameter counts as one definition
	struct IrInsn **def;	// the only definition, NULL for none, several, or a parameter
	u8 *bits;		// the value, seen as unsigned, is below 2^bits
	u8 *vbits;		// the same, as far as the kernel's verifier sees it, too
};
// fold.c
void ir_value_bits(const struct IrFunc *f, const struct IrOrder *o, bool verifier, u8 *bits);
bool ir_simplify(struct IrInsn *in, const struct IrDefs *d); // one instruction by algebra; true when it changed
// cfg.c: folds branches, threads jumps, merges blocks, drops unreachable ones (block numbers change). True when it changed something.
bool ir_simplify_cfg(struct IrFunc *f);
// helpers.c
bool ir_call_once(struct IrFunc *f);
// opt.c
bool ir_fold(struct IrFunc *f);
bool ir_rewrite(struct IrFunc *f);
bool ir_drop_dead(struct IrFunc *f);

// bit ranges over u64 words, both ends included
bool bits_any(const u64 *w, u32 from, u32 to);
void bits_set(u64 *w, u32 from, u32 to);
#endif
