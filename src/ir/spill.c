// Rewriting of vregs that found no register. In: a function, its liveness, which vregs are spilled. Out: the function without them: the home of each is a new
// 8-byte slot or the constant it holds, and each stretch between two calls in which it is used is a vreg of its own (level 1). One that again finds no
// register is cut down to single instructions (level 2); those always fit: an instruction reads at most three.
#include "ir/internal.h"

struct Refresh {
	u32 pos; // block that begins with `store`
	IrReg v;
	struct IrInsn store;
};
struct Rewrite {
	struct IrFunc *f;
	const struct IrLive *live;
	IrVregs *info;
	const bool *spilled;
	u32 nblocks; // before edges got blocks of their own
	u32 *npreds; // of the block at a layout position
	bool loops;  // the verifier walks each round of one: see spills_imm()
	VEC(struct Refresh) refresh;
	VEC(struct IrInsn) out;
	IrReg *cur;	 // spilled vreg -> the vreg that holds its value now
	u32 *cur_when;	 // valid while this equals `when`
	u32 when, nregs; // a new stretch begins at each block and after each call
	u32 loc;
};

static IrReg new_vreg(struct Rewrite *w, u8 level, struct IrVal home)
{
	vec_push(w->info, ((struct VregInfo){level, false, home}));
	return ++w->f->nregs;
}

static bool is_spilled(const struct Rewrite *w, IrReg r)
{
	return r <= w->nregs && w->spilled[r];
}

static void put(struct Rewrite *w, struct IrInsn in)
{
	in.loc = w->loc;
	vec_push(&w->out, in);
}

static void spill_store(struct Rewrite *w, struct IrVal home, struct IrVal v)
{
	put(w, (struct IrInsn){.op = IR_STORE, .size = 8, .a = ir_slot(home.id, 0), .b = v});
}

// Verifiers before 6.4 forget a constant that is stored into the frame as an immediate, and know one that comes from a register. Only a loop whose rounds they
// walk needs it: without its counter's first value they see no end.
static bool spills_imm(const struct Rewrite *w, struct IrVal v)
{
	return v.kind == IRO_IMM && fits_s32(v.imm) && !w->loops;
}

static bool is_spill_store(const struct IrInsn *in, struct IrVal home, IrReg r)
{
	return in->op == IR_STORE && in->size == 8 && in->a.kind == IRO_SLOT && home.kind == IRO_SPILL && in->a.id == home.id && ir_is_reg(in->b, r);
}

static void rewrite_use(struct Rewrite *w, struct IrInsn *in, struct IrVal *use)
{
	IrReg r = use->id;
	if (use->kind != IRO_REG || !is_spilled(w, r))
		return;
	struct IrVal home = w->info->p[r].home;
	u8 level = w->info->p[r].level;
	if (level && is_spill_store(in, home, r))
		return; // the store that fills the home: this short piece of r stays
	if (w->cur_when[r] == w->when) {
		*use = ir_reg(w->cur[r]);
		return;
	}
	// Places where emit builds any operand in the register that wants it.
	if (in->op == IR_MOV || in->op == IR_RET || (ir_ops[in->op].flags & F_ARGS && use >= in->args && use < in->args + 5)) {
		*use = home;
		return;
	}
	IrReg t = new_vreg(w, level + 1, home);
	put(w, (struct IrInsn){.op = IR_MOV, .d = t, .a = home});
	w->cur[r] = t;
	w->cur_when[r] = w->when;
	*use = ir_reg(t);
}

static void rewrite_insn(struct Rewrite *w, struct IrInsn in)
{
	struct IrVal *use[IR_MAX_USES];
	w->loc = in.loc;
	if (in.op == IR_STORE && in.is_volatile && in.b.kind == IRO_REG && is_spilled(w, in.b.id))
		return; // a refresh, see below: not worth a register of its own
	for (u32 u = ir_uses(&in, use), k = 0; k < u; k++)
		rewrite_use(w, &in, use[k]);
	// Level 1 has no stretches: what a use loaded serves this instruction alone. Its `cur` entries must not be seen again.
	if (ir_ops[in.op].flags & F_CALL)
		w->when++;
	IrReg d = in.d;
	if (!d || !is_spilled(w, d)) {
		put(w, in);
		return;
	}
	struct VregInfo *v = &w->info->p[d];
	struct IrVal home = v->home;
	if (v->level) { // a reload goes away; a computed value stays up to its store
		if (in.op != IR_MOV || !ir_same(in.a, home))
			put(w, in);
		return;
	}
	if (home.kind != IRO_SPILL)
		return; // a constant
	if (in.op == IR_MOV && (in.a.kind == IRO_REG || spills_imm(w, in.a))) {
		spill_store(w, home, in.a);
		w->cur_when[d] = 0;
		return;
	}
	in.d = new_vreg(w, 1, home);
	put(w, in);
	spill_store(w, home, ir_reg(in.d));
	w->cur[d] = in.d;
	w->cur_when[d] = w->when;
}

static void forget_tiny(struct Rewrite *w, const struct IrInsn *in)
{
	struct IrInsn copy = *in;
	struct IrVal *use[IR_MAX_USES];
	for (u32 u = ir_uses(&copy, use); u--;)
		if (use[u]->kind == IRO_REG && is_spilled(w, use[u]->id) && w->info->p[use[u]->id].level)
			w->cur_when[use[u]->id] = 0;
}

static void rewrite_entry(struct Rewrite *w)
{
	for (u32 k = 0; k < ARRAY_LEN(w->f->entry); k++) {
		IrReg r = w->f->entry[k];
		if (!r || !is_spilled(w, r) || w->info->p[r].level)
			continue;
		struct IrVal home = w->info->p[r].home;
		IrReg t = new_vreg(w, 1, home);
		w->f->entry[k] = t;
		spill_store(w, home, ir_reg(t));
		w->cur[r] = t;
		w->cur_when[r] = w->when;
	}
}

// A branch has compared a spilled value by size, from register t: the verifier now knows more about t, and nothing about the slot, so what the
// comparison proved would be lost at the next reload. (The verifier ties the two together when the value had a known range as it was spilled;
// kernels before 6.9 also only when a move had given it an id.) Store t again where the branch goes.
static void refresh_edge(struct Rewrite *w, IrReg v, IrReg t, IrBlk *edge, u32 loc)
{
	struct IrBlock *made = *edge >= w->nblocks ? &w->f->blocks.p[*edge] : NULL; // for the other operand of this branch
	u32 pos = w->live->rpo.at[made ? ir_term(made)->t : *edge];
	if (!live_has(w->live, w->live->in + (size_t)pos * w->live->words, v))
		return;
	struct IrInsn store = {.op = IR_STORE, .size = 8, .a = ir_slot(w->info->p[v].home.id, 0), .b = ir_reg(t), .is_volatile = true, .loc = loc};
	if (made) {
		struct IrInsn jump = vec_pop(&made->insns);
		vec_push(&made->insns, store);
		vec_push(&made->insns, jump);
		return;
	}
	if (w->npreds[pos] == 1) { // comes later in the order: its only way in is from here
		vec_push(&w->refresh, ((struct Refresh){pos, v, store}));
		return;
	}
	struct IrBlock between = {.label = "refresh"};
	vec_push(&between.insns, store);
	vec_push(&between.insns, ((struct IrInsn){.op = IR_JMP, .t = *edge, .loc = loc}));
	vec_push(&w->f->blocks, between);
	*edge = (IrBlk)w->f->blocks.n - 1;
}

static void refresh_after(struct Rewrite *w, struct IrInsn old, IrBlk blk)
{
	struct IrVal was[2] = {old.a, old.b};
	if (old.op != IR_BR || old.cond == IC_EQ || old.cond == IC_NE || old.cond == IC_SET)
		return;
	for (u32 k = 0; k < 2; k++) {
		if (was[k].kind != IRO_REG || !is_spilled(w, was[k].id) || w->info->p[was[k].id].level ||
		    w->info->p[was[k].id].home.kind != IRO_SPILL)
			continue;
		struct IrInsn br = *ir_term(&w->f->blocks.p[blk]);
		IrReg t = k ? br.b.id : br.a.id;
		refresh_edge(w, was[k].id, t, &br.t, br.loc);
		refresh_edge(w, was[k].id, t, &br.f, br.loc);
		*ir_term(&w->f->blocks.p[blk]) = br;
	}
}

static void begin_block(struct Rewrite *w, u32 pos)
{
	w->out.n = 0;
	w->when++;
	if (pos == 0)
		rewrite_entry(w);
	for (size_t i = 0; i < w->refresh.n; i++) {
		struct Refresh *r = &w->refresh.p[i];
		if (r->pos != pos)
			continue;
		vec_push(&w->out, r->store);
		w->cur[r->v] = r->store.b.id;
		w->cur_when[r->v] = w->when;
		w->refresh.p[i--] = vec_pop(&w->refresh);
	}
}

static void look_at_edges(struct Rewrite *w)
{
	const struct IrOrder *o = &w->live->rpo;
	w->npreds = xcalloc(o->n, sizeof(*w->npreds));
	w->npreds[0] = 1; // the entry
	for (u32 i = 0; i < o->n; i++) {
		IrBlk succ[2];
		for (u32 k = ir_succs(ir_term(&w->f->blocks.p[o->order[i]]), succ); k--;) {
			w->npreds[o->at[succ[k]]]++;
			w->loops |= o->at[succ[k]] <= i;
		}
	}
}

void ir_spill(struct IrFunc *f, const struct IrLive *live, IrVregs *info, const bool *spilled)
{
	struct Rewrite w = {.f = f, .live = live, .info = info, .spilled = spilled, .nregs = f->nregs, .nblocks = (u32)f->blocks.n};
	look_at_edges(&w);
	w.cur = xcalloc(w.nregs + 1, sizeof(*w.cur));
	w.cur_when = xcalloc(w.nregs + 1, sizeof(*w.cur_when));
	for (IrReg r = 1; r <= w.nregs; r++)
		if (spilled[r] && !info->p[r].home.kind) {
			vec_push(&f->slots, ((struct IrSlotDef){8, 8, 0}));
			info->p[r].home = (struct IrVal){IRO_SPILL, (u32)f->slots.n - 1, 0};
		}
	for (u32 i = 0; i < live->rpo.n; i++) {
		struct IrBlock *b = &f->blocks.p[live->rpo.order[i]];
		struct IrInsn term = *ir_term(b);
		begin_block(&w, i);
		for (size_t k = 0; k < b->insns.n; k++) {
			rewrite_insn(&w, b->insns.p[k]);
			forget_tiny(&w, &b->insns.p[k]);
		}
		b->insns.n = 0;
		for (size_t k = 0; k < w.out.n; k++)
			vec_push(&b->insns, w.out.p[k]);
		refresh_after(&w, term, live->rpo.order[i]);
	}
	for (IrReg r = 1; r <= w.nregs; r++)
		if (spilled[r] && info->p[r].level == 1)
			info->p[r].level = 2;
	vec_deinit(&w.out);
	vec_deinit(&w.refresh);
	free(w.npreds);
	free(w.cur);
	free(w.cur_when);
}
