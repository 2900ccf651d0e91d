// Register allocation. Input: a legal function (legal.c). Output: every vreg in one of r0..r9; what does not fit lives in new 8-byte slots.
//
// Live ranges (with holes) are tried in order of spill weight, heaviest first, against a bit map of time per register: linear scan's
// structures, but an early long range cannot take a register from a hot short one. A vreg that finds no register is spilled: its home becomes
// a slot, or the constant it holds, and each stretch of its use becomes a vreg of its own (spill.c), until all have registers.
//
// Time: instruction i (in layout order, the first is 1; 0 is the function's entry) has three points: operands are read at 3i, a call destroys
// r0..r5 at 3i+1, the result is written at 3i+2. A range covers both its ends.
#include "ir/internal.h"

#define AT_USE(i) (3 * (i))
#define AT_CLOBBER(i) (3 * (i) + 1)
#define AT_DEF(i) (3 * (i) + 2)
#define NARGREGS 6 // r0..r5: destroyed by calls

struct Range {
	IrReg r;
	u32 from, to;
};
struct Hint {
	IrReg r, other; // other 0: register `phys`
	u8 phys;
	float w;
};
struct Alloc {
	struct IrFunc *f;
	IrVregs info;
	// of this round
	struct IrLive live;
	u32 *base;   // layout position -> time index of its first instruction
	float *freq; // layout position -> how often it runs, roughly
	u32 npoints;
	VEC(struct Range) ranges; // ordered by vreg after sort_ranges
	u32 *first_range;	  // vreg -> index; [nregs + 1] is the end
	VEC(struct Hint) hints;	  // likewise
	u32 *first_hint;
	float *weight;
	u64 *busy[IR_NPHYS];
	bool *spilled;
};

static void number_insns(struct Alloc *a)
{
	const struct IrOrder *o = &a->live.rpo;
	u32 at = 1;
	a->base = xcalloc(o->n + 1, sizeof(*a->base));
	a->freq = xcalloc(o->n + 1, sizeof(*a->freq));
	for (u32 i = 0; i < o->n; i++) {
		a->base[i] = at;
		a->freq[i] = 1;
		at += (u32)a->f->blocks.p[o->order[i]].insns.n;
	}
	a->base[o->n] = at;
	a->npoints = AT_DEF(at) + 1;
	// A jump backwards spans a loop. Nested loops multiply; the cap keeps the sums finite.
	u32 budget = o->n * 8; // marking is quadratic for many nested loops: beyond this, later ones count as straight code
	for (u32 i = 0; i < o->n; i++) {
		IrBlk succ[2];
		for (u32 k = ir_succs(ir_term(&a->f->blocks.p[o->order[i]]), succ); k--;)
			for (u32 j = o->at[succ[k]]; j <= i && budget; j++, budget--)
				a->freq[j] = MIN(a->freq[j] * 8, 4096.0f);
	}
}

static void add_range(struct Alloc *a, IrReg r, u32 from, u32 to)
{
	vec_push(&a->ranges, ((struct Range){r, from, to}));
}

static void add_hint(struct Alloc *a, struct IrVal v, IrReg other, u8 phys, float w)
{
	if (v.kind == IRO_REG && v.id != other)
		vec_push(&a->hints, ((struct Hint){v.id, other, phys, w}));
}

static void pair_hint(struct Alloc *a, IrReg d, struct IrVal v, float w)
{
	if (!d || v.kind != IRO_REG)
		return;
	add_hint(a, v, d, 0, w);
	add_hint(a, ir_reg(d), v.id, 0, w);
}

static void insn_hints(struct Alloc *a, const struct IrInsn *in, float w)
{
	u32 flags = ir_ops[in->op].flags;
	if (flags & F_CALL) {
		for (u8 i = 0; i < in->nargs; i++)
			add_hint(a, in->args[i], 0, i + 1, w);
		if (in->d)
			add_hint(a, ir_reg(in->d), 0, 0, w);
	} else if (in->op == IR_RET) {
		add_hint(a, in->a, 0, 0, w);
	} else if (in->op == IR_ATOMIC_CAS) {
		add_hint(a, in->args[0], 0, 0, w);
		if (in->d)
			add_hint(a, ir_reg(in->d), 0, 0, w);
	} else if (in->op == IR_ATOMIC_ADD || in->op == IR_ATOMIC_XCHG) {
		pair_hint(a, in->d, in->b, w);
	} else if (flags & F_A && in->op != IR_LOAD) {
		pair_hint(a, in->d, in->a, w);
		if (flags & F_COMM)
			pair_hint(a, in->d, in->b, w / 2);
	}
}

// Last point at which operand `use` of the instruction at time i must still be in its register.
static u32 use_end(const struct IrInsn *in, const struct IrVal *use, u32 i)
{
	switch (in->op) {
	case IR_ATOMIC_CAS: // r0 is loaded with the expected value first, d is copied from r0 last
		return use == &in->args[0] ? AT_USE(i) : AT_CLOBBER(i);
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG: // "d = b; fetch(a, d)"
		return in->d && use == &in->a ? AT_DEF(i) : AT_USE(i);
	default: // "d = a; d op= b", unless the operation commutes: then "d op= a" will do when b is in d
		if (!(ir_ops[in->op].flags & F_ARITH) || use != &in->b || in->d == use->id)
			return AT_USE(i);
		return ir_ops[in->op].flags & F_COMM && in->a.kind == IRO_REG ? AT_USE(i) : AT_DEF(i);
	}
}

static void insn_clobbers(struct Alloc *a, const struct IrInsn *in, u32 i)
{
	if (ir_ops[in->op].flags & F_CALL)
		for (u32 p = 0; p < NARGREGS; p++)
			bits_set(a->busy[p], AT_CLOBBER(i), AT_CLOBBER(i));
	else if (in->op == IR_ATOMIC_CAS)
		bits_set(a->busy[0], AT_CLOBBER(i), AT_CLOBBER(i));
}

// Walks a block backwards and closes ranges at definitions. end[r]: last point r is needed, 0 when it is not.
static void block_ranges(struct Alloc *a, u32 pos, u32 *end)
{
	const struct IrBlock *b = &a->f->blocks.p[a->live.rpo.order[pos]];
	const u64 *in_set = a->live.in + (size_t)pos * a->live.words, *out_set = a->live.out + (size_t)pos * a->live.words;
	for (u32 w = 0; w < a->live.words; w++)
		for (u64 m = out_set[w]; m; m &= m - 1)
			end[a->live.reg[w * 64 + (u32)__builtin_ctzll(m)]] = AT_DEF(a->base[pos + 1] - 1);
	for (size_t k = b->insns.n; k--;) {
		struct IrInsn *in = &b->insns.p[k];
		struct IrVal *use[IR_MAX_USES];
		u32 i = a->base[pos] + (u32)k;
		if (in->d) {
			add_range(a, in->d, AT_DEF(i), MAX(end[in->d], AT_DEF(i)));
			a->weight[in->d] += a->freq[pos];
			end[in->d] = 0;
		}
		for (u32 u = ir_uses(in, use); u--;) {
			if (use[u]->kind != IRO_REG)
				continue;
			u32 to = use_end(in, use[u], i);
			end[use[u]->id] = MAX(end[use[u]->id], to);
			a->weight[use[u]->id] += a->freq[pos];
		}
		insn_clobbers(a, in, i);
		insn_hints(a, in, a->freq[pos]);
	}
	u32 from = AT_USE(a->base[pos]);
	for (u32 w = 0; w < a->live.words; w++)
		for (u64 m = in_set[w]; m; m &= m - 1) {
			IrReg r = a->live.reg[w * 64 + (u32)__builtin_ctzll(m)];
			add_range(a, r, from, end[r]);
			end[r] = 0;
		}
	for (u32 k = 0; pos == 0 && k < ARRAY_LEN(a->f->entry); k++) {
		IrReg r = a->f->entry[k];
		if (!r)
			continue;
		add_range(a, r, AT_DEF(0), AT_DEF(0));
		a->weight[r] += 1;
		add_hint(a, ir_reg(r), 0, (u8)(k + 1), 1);
	}
}

// Counting sorts by vreg.
static void sort_by_vreg(struct Alloc *a)
{
	u32 n = a->f->nregs + 2;
	a->first_range = xcalloc(n + 1, sizeof(u32));
	a->first_hint = xcalloc(n + 1, sizeof(u32));
	struct Range *r = xmalloc(a->ranges.n * sizeof(*r));
	struct Hint *h = xmalloc(a->hints.n * sizeof(*h));
	for (size_t i = 0; i < a->ranges.n; i++)
		a->first_range[a->ranges.p[i].r + 2]++;
	for (size_t i = 0; i < a->hints.n; i++)
		a->first_hint[a->hints.p[i].r + 2]++;
	for (u32 i = 2; i <= n; i++) {
		a->first_range[i] += a->first_range[i - 1];
		a->first_hint[i] += a->first_hint[i - 1];
	}
	for (size_t i = 0; i < a->ranges.n; i++)
		r[a->first_range[a->ranges.p[i].r + 1]++] = a->ranges.p[i];
	for (size_t i = 0; i < a->hints.n; i++)
		h[a->first_hint[a->hints.p[i].r + 1]++] = a->hints.p[i];
	free(a->ranges.p);
	free(a->hints.p);
	a->ranges.p = r;
	a->hints.p = h;
	a->ranges.cap = a->ranges.n;
	a->hints.cap = a->hints.n;
}

// A vreg set once, to a constant, need not be stored: its home is the constant. Also notes what is compared by size.
static void look_at_uses(struct Alloc *a)
{
	u32 *defs = xcalloc(a->f->nregs + 1, sizeof(*defs));
	struct IrVal *val = xcalloc(a->f->nregs + 1, sizeof(*val));
	for (u32 k = 0; k < ARRAY_LEN(a->f->entry); k++)
		defs[a->f->entry[k]]++;
	for (u32 i = 0; i < a->live.rpo.n; i++) {
		const struct IrBlock *b = &a->f->blocks.p[a->live.rpo.order[i]];
		for (size_t k = 0; k < b->insns.n; k++) {
			const struct IrInsn *in = &b->insns.p[k];
			defs[in->d]++;
			val[in->d] = in->op == IR_MOV ? in->a : (struct IrVal){0};
			if (in->op != IR_BR || in->cond == IC_EQ || in->cond == IC_NE || in->cond == IC_SET)
				continue;
			if (!a->info.p[in->a.id].level)
				a->info.p[in->a.id].compared = true;
			if (in->b.kind == IRO_REG && !a->info.p[in->b.id].level)
				a->info.p[in->b.id].compared = true;
		}
	}
	for (IrReg r = 1; r <= a->f->nregs; r++)
		if (defs[r] == 1 && !a->info.p[r].level && val[r].kind != IRO_REG && val[r].kind != IRO_SPILL)
			a->info.p[r].home = val[r];
	free(defs);
	free(val);
}

static void compute_weights(struct Alloc *a)
{
	for (IrReg r = 1; r <= a->f->nregs; r++) {
		u32 len = 0;
		for (u32 i = a->first_range[r]; i < a->first_range[r + 1]; i++)
			len += a->ranges.p[i].to - a->ranges.p[i].from + 1;
		const struct VregInfo *v = &a->info.p[r];
		a->weight[r] /= (float)(len + 6);
		if (v->compared)
			a->weight[r] *= 4; // kernels before 5.16 forget the range of what is spilled
		if (v->level == 2)
			a->weight[r] = 1e30f;
		else if (v->home.kind && v->home.kind != IRO_SPILL)
			a->weight[r] /= 2; // having it again costs no memory access and no store
	}
}

static bool fits(const struct Alloc *a, IrReg r, u32 phys)
{
	for (u32 i = a->first_range[r]; i < a->first_range[r + 1]; i++)
		if (bits_any(a->busy[phys], a->ranges.p[i].from, a->ranges.p[i].to))
			return false;
	return true;
}

// The fixed registers that r, which has none yet, would like.
static void wish_of(const struct Alloc *a, IrReg r, float score[IR_NPHYS], float w)
{
	u32 from = a->first_hint[r], to = MIN(a->first_hint[r + 1], from + 4); // a glance, not a search
	for (u32 i = from; i < to; i++)
		if (!a->hints.p[i].other)
			score[a->hints.p[i].phys] += w;
}

static bool allocate(struct Alloc *a, IrReg r)
{
	static const u8 prefer[IR_NPHYS] = {1, 2, 3, 4, 5, 0, 6, 7, 8, 9}; // what calls keep goes last
	float score[IR_NPHYS] = {0};
	u8 best = REG_NONE;
	for (u32 i = a->first_hint[r]; i < a->first_hint[r + 1]; i++) {
		const struct Hint *h = &a->hints.p[i];
		u8 phys = h->other ? a->f->reg[h->other] : h->phys;
		if (phys != REG_NONE)
			score[phys] += h->other ? h->w : h->w * 1.25f; // a fixed register decides between equals
		else
			wish_of(a, h->other, score, h->w / 4);
	}
	for (u32 i = 0; i < IR_NPHYS; i++)
		if ((best == REG_NONE || score[prefer[i]] > score[best]) && fits(a, r, prefer[i]))
			best = prefer[i];
	if (best == REG_NONE)
		return false;
	for (u32 i = a->first_range[r]; i < a->first_range[r + 1]; i++)
		bits_set(a->busy[best], a->ranges.p[i].from, a->ranges.p[i].to);
	a->f->reg[r] = best;
	return true;
}

struct ByWeight {
	float w;
	IrReg r;
};
static int by_weight(const void *x, const void *y)
{
	const struct ByWeight *a = x, *b = y;
	if (a->w != b->w)
		return a->w < b->w ? 1 : -1;
	return a->r < b->r ? -1 : a->r > b->r;
}

// Tries everything; returns how many found no register.
static u32 allocate_all(struct Alloc *a)
{
	u32 n = 0, nspilled = 0;
	struct ByWeight *order = xcalloc(a->f->nregs + 1, sizeof(*order));
	a->f->reg = xrealloc(a->f->reg, a->f->nregs + 1);
	memset(a->f->reg, REG_NONE, a->f->nregs + 1);
	for (IrReg r = 1; r <= a->f->nregs; r++)
		if (a->first_range[r] != a->first_range[r + 1])
			order[n++] = (struct ByWeight){a->weight[r], r};
	qsort(order, n, sizeof(*order), by_weight);
	for (u32 i = 0; i < n; i++) {
		if (allocate(a, order[i].r))
			continue;
		assert(a->info.p[order[i].r].level < 2);
		a->spilled[order[i].r] = true;
		nspilled++;
	}
	free(order);
	return nspilled;
}

static u32 round_of(struct Alloc *a)
{
	u32 n = a->f->nregs + 1;
	ir_live(a->f, &a->live);
	number_insns(a);
	a->weight = xcalloc(n, sizeof(*a->weight));
	a->spilled = xcalloc(n, sizeof(*a->spilled));
	for (u32 p = 0; p < IR_NPHYS; p++)
		a->busy[p] = xcalloc(a->npoints / 64 + 1, sizeof(u64));
	u32 *end = xcalloc(n, sizeof(*end));
	for (u32 i = a->live.rpo.n; i--;)
		block_ranges(a, i, end);
	free(end);
	sort_by_vreg(a);
	look_at_uses(a);
	compute_weights(a);
	u32 nspilled = allocate_all(a);
	if (nspilled)
		ir_spill(a->f, &a->live, &a->info, a->spilled);
	ir_live_deinit(&a->live);
	for (u32 p = 0; p < IR_NPHYS; p++)
		free(a->busy[p]);
	free(a->base);
	free(a->freq);
	free(a->weight);
	free(a->spilled);
	free(a->first_range);
	free(a->first_hint);
	vec_deinit(&a->ranges);
	vec_deinit(&a->hints);
	return nspilled;
}

struct err *ir_regalloc(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out)
{
	struct IrFunc *f = &p->funcs.p[fn];
	struct Alloc a = {.f = f};
	for (IrReg r = 0; r <= f->nregs; r++)
		vec_push(&a.info, (struct VregInfo){0});
	while (round_of(&a))
		;
	vec_deinit(&a.info);
	return NULL;
}
