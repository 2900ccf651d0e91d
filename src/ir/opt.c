// Most of the optimiser (passes.c has the order): fold, rewrite and dead. Input: a verified function. Output: the same, cheaper; still verified.
// The program is not SSA, but a vreg with one definition behaves as if it were: ir_verify made sure that the definition comes before every use on
// every path, so the value of such a vreg, and of any expression over such vregs, is the same wherever it is visible. Other vregs are followed
// within one block only.
#include "ir/internal.h"

struct Opt {
	struct IrFunc *f;
	struct IrOrder o;
	struct IrDefs d;
	// copies of vregs with several definitions, in the current block
	struct Copy {
		struct IrVal v;
		u32 block, version; // version of v, if a vreg, when the copy was made
	} *copy;
	u32 *version;
};

static void count_defs(struct Opt *o)
{
	struct IrFunc *f = o->f;
	u32 n = f->nregs + 1;
	o->d = (struct IrDefs){xcalloc(n, sizeof(u32)), xcalloc(n, sizeof(u32)), xcalloc(n, sizeof(*o->d.def)), xcalloc(n, 1), xcalloc(n, 1)};
	for (u32 i = 1; i <= f->nparams; i++)
		o->d.ndefs[i] = 1;
	for (u32 i = 0; i < o->o.n; i++) {
		struct IrBlock *b = &f->blocks.p[o->o.order[i]];
		for (size_t k = 0; k < b->insns.n; k++) {
			struct IrInsn *in = &b->insns.p[k];
			struct IrVal *use[IR_MAX_USES];
			for (u32 u = ir_uses(in, use); u--;)
				if (use[u]->kind == IRO_REG)
					o->d.nuses[use[u]->id]++;
			if (in->d)
				o->d.def[in->d] = o->d.ndefs[in->d]++ ? NULL : in;
		}
	}
	ir_value_bits(f, &o->o, false, o->d.bits);
	ir_value_bits(f, &o->o, true, o->d.vbits);
}

static void free_defs(struct Opt *o)
{
	free(o->d.ndefs);
	free(o->d.nuses);
	free(o->d.def);
	free(o->d.bits);
	free(o->d.vbits);
}

static bool forward_use(struct Opt *o, struct IrVal *use, u32 block)
{
	struct IrVal old = *use;
	// A chain of copies; those processed earlier are already short.
	while (use->kind == IRO_REG) {
		const struct IrInsn *def = o->d.def[use->id];
		const struct Copy *c = &o->copy[use->id];
		if (def && def->op == IR_MOV && (def->a.kind != IRO_REG || o->d.ndefs[def->a.id] == 1))
			*use = def->a;
		else if (c->block == block && (c->v.kind != IRO_REG || c->version == o->version[c->v.id]))
			*use = c->v;
		else
			break;
		if (ir_same(*use, old)) // x = y; y = x; with several definitions
			break;
	}
	return !ir_same(*use, old);
}

// The address operand of a load or store must stay an address: a constant there is a script reading a fixed address, which needs a register.
static bool may_forward(const struct IrInsn *in, const struct IrVal *use, struct IrVal v)
{
	if (use == &in->a && ir_ops[in->op].flags & F_MEM)
		return v.kind != IRO_IMM;
	return true;
}

static bool forward(struct Opt *o)
{
	bool changed = false;
	o->copy = xcalloc(o->f->nregs + 1, sizeof(*o->copy));
	o->version = xcalloc(o->f->nregs + 1, sizeof(*o->version));
	for (u32 i = 0; i < o->o.n; i++) {
		struct IrBlock *b = &o->f->blocks.p[o->o.order[i]];
		for (size_t k = 0; k < b->insns.n; k++) {
			struct IrInsn *in = &b->insns.p[k];
			struct IrVal *use[IR_MAX_USES];
			for (u32 u = ir_uses(in, use); u--;) {
				struct IrVal v = *use[u];
				if (forward_use(o, &v, i + 1) && may_forward(in, use[u], v)) {
					*use[u] = v;
					changed = true;
				}
			}
			changed |= ir_simplify(in, &o->d);
			if (!in->d)
				continue;
			o->version[in->d]++;
			o->copy[in->d].block = 0;
			if (in->op == IR_MOV && !ir_is_reg(in->a, in->d))
				o->copy[in->d] = (struct Copy){in->a, i + 1, in->a.kind == IRO_REG ? o->version[in->a.id] : 0};
		}
	}
	free(o->copy);
	free(o->version);
	return changed;
}

// "if ((x & m) != 0)" in one instruction, when the AND stands right before the branch or reads something that does not change.
static bool test_bits(struct Opt *o, struct IrBlock *b)
{
	struct IrInsn *br = ir_term(b);
	if (br->op != IR_BR || br->size != 8 || (br->cond != IC_EQ && br->cond != IC_NE) || !ir_is_imm(br->b, 0) || br->a.kind != IRO_REG)
		return false;
	const struct IrInsn *and = o->d.def[br->a.id];
	if (!and || and->op != IR_AND || o->d.nuses[br->a.id] != 1)
		return false;
	if (and + 1 != br && !((and->a.kind != IRO_REG || o->d.ndefs[and->a.id] == 1) && (and->b.kind != IRO_REG || o->d.ndefs[and->b.id] == 1)))
		return false;
	if (and->b.kind == IRO_IMM && !fits_s32(and->b.imm))
		return false;
	if (br->cond == IC_EQ) {
		IrBlk x = br->t;
		br->t = br->f;
		br->f = x;
	}
	o->d.nuses[br->a.id]--;
	br->cond = IC_SET;
	br->a = and->a;
	br->b = and->b;
	o->d.nuses[br->a.kind == IRO_REG ? br->a.id : 0]++; // the AND is still there
	o->d.nuses[br->b.kind == IRO_REG ? br->b.id : 0]++;
	return true;
}

#define NEAR 64 // instructions looked at around a copy

struct Retarget {
	struct IrBlock *b;
	u64 base;		 // of the time in this block: blocks do not see each other's entries
	u64 *touched, *set_at;	 // time at which a vreg was last read or set, and set
};

static u32 count_uses(struct IrInsn *in, IrReg r, IrReg rename_to)
{
	struct IrVal *use[IR_MAX_USES];
	u32 n = 0;
	for (u32 u = ir_uses(in, use); u--;)
		if (ir_is_reg(*use[u], r)) {
			n++;
			if (rename_to)
				use[u]->id = rename_to;
		}
	return n;
}

// Instruction k is "x = t". When t is set in this block, x is not needed between there and here, and all reads of t are in this block and before
// x changes again, then t can be x from the start.
static bool become(struct Opt *o, struct Retarget *r, size_t k)
{
	struct IrInsn *in = &r->b->insns.p[k];
	IrReg t = in->a.id, x = in->d;
	if (!o->d.def[t] || !o->d.nuses[x] || r->set_at[t] <= r->base || r->touched[x] > r->set_at[t])
		return false;
	size_t def = (size_t)(r->set_at[t] - r->base - 1), end = k + 1;
	u32 left = o->d.nuses[t] - 1;
	if (left) { // read elsewhere, too
		if (k - def > NEAR)
			return false;
		for (size_t i = def + 1; i < k; i++)
			left -= count_uses(&r->b->insns.p[i], t, 0);
		for (; left && end < r->b->insns.n && end < k + NEAR; end++) {
			left -= count_uses(&r->b->insns.p[end], t, 0);
			if (r->b->insns.p[end].d == x)
				break;
		}
		if (left)
			return false;
		for (size_t i = def + 1; i < MIN(end + 1, r->b->insns.n); i++)
			if (i != k)
				count_uses(&r->b->insns.p[i], t, x);
	}
	r->b->insns.p[def].d = x;
	o->d.def[t] = NULL;
	if (o->d.def[x])
		o->d.def[x] = &r->b->insns.p[def];
	*in = (struct IrInsn){.op = IR_NOP};
	o->d.nuses[x] += o->d.nuses[t] - 1;
	r->touched[x] = r->base + k + 1;
	r->set_at[x] = r->set_at[t];
	return true;
}

static bool retarget(struct Opt *o, struct Retarget *r)
{
	bool changed = false;
	for (size_t k = 0; k < r->b->insns.n; k++) {
		struct IrInsn *in = &r->b->insns.p[k];
		struct IrVal *use[IR_MAX_USES];
		if (in->op == IR_MOV && in->a.kind == IRO_REG && in->a.id != in->d && become(o, r, k)) {
			changed = true;
			continue;
		}
		for (u32 u = ir_uses(in, use); u--;)
			if (use[u]->kind == IRO_REG)
				r->touched[use[u]->id] = r->base + k + 1;
		if (in->d)
			r->touched[in->d] = r->set_at[in->d] = r->base + k + 1;
	}
	return changed;
}

static bool local_rewrites(struct Opt *o)
{
	bool changed = false;
	struct Retarget r = {.touched = xcalloc(o->f->nregs + 1, sizeof(u64)), .set_at = xcalloc(o->f->nregs + 1, sizeof(u64))};
	for (u32 i = 0; i < o->o.n; i++) {
		r.b = &o->f->blocks.p[o->o.order[i]];
		r.base = (u64)(i + 1) << 32;
		changed |= test_bits(o, r.b);
		changed |= retarget(o, &r);
	}
	free(r.touched);
	free(r.set_at);
	return changed;
}

bool ir_drop_dead(struct IrFunc *f)
{
	struct IrLive l;
	bool changed = false;
	ir_live(f, &l);
	bool *live = xcalloc(f->nregs + 1, sizeof(*live));
	for (u32 i = 0; i < l.rpo.n; i++) {
		struct IrBlock *b = &f->blocks.p[l.rpo.order[i]];
		const u64 *in_set = l.in + (size_t)i * l.words, *out = l.out + (size_t)i * l.words;
		for (u32 w = 0; w < l.words; w++)
			for (u64 m = out[w]; m; m &= m - 1)
				live[l.reg[w * 64 + (u32)__builtin_ctzll(m)]] = true;
		for (size_t k = b->insns.n; k--;) {
			struct IrInsn *in = &b->insns.p[k];
			struct IrVal *use[IR_MAX_USES];
			bool dead = in->d && !live[in->d];
			if ((dead && ir_ops[in->op].flags & F_PURE && !in->is_volatile) || (in->op == IR_MOV && ir_is_reg(in->a, in->d)))
				*in = (struct IrInsn){.op = IR_NOP};
			else if (dead && !(ir_ops[in->op].flags & F_PURE))
				in->d = 0;
			changed |= dead && !in->is_volatile;
			live[in->d] = false;
			for (u32 u = ir_uses(in, use); u--;)
				if (use[u]->kind == IRO_REG)
					live[use[u]->id] = true;
		}
		size_t n = 0;
		for (size_t k = 0; k < b->insns.n; k++)
			if (b->insns.p[k].op != IR_NOP)
				b->insns.p[n++] = b->insns.p[k];
		b->insns.n = n;
		for (u32 w = 0; w < l.words; w++)
			for (u64 m = in_set[w]; m; m &= m - 1)
				live[l.reg[w * 64 + (u32)__builtin_ctzll(m)]] = false;
	}
	free(live);
	ir_live_deinit(&l);
	return changed;
}

static bool with_defs(struct IrFunc *f, bool (*pass)(struct Opt *))
{
	struct Opt o = {.f = f};
	ir_order(f, &o.o);
	count_defs(&o);
	bool changed = pass(&o);
	free_defs(&o);
	ir_order_deinit(&o.o);
	return changed;
}

bool ir_fold(struct IrFunc *f)
{
	return with_defs(f, forward);
}

bool ir_rewrite(struct IrFunc *f)
{
	return with_defs(f, local_rewrites);
}
