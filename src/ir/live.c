// Liveness at block borders by backward dataflow. Input: a function whose reachable blocks are terminated. Output: bit sets per block.
// Most vregs live inside one block; only those that some block reads before writing get a bit, which keeps the sets small.
#include "ir/internal.h"

struct Sets {
	u64 *gen, *kill;
};

// Gives a bit to every vreg with an upward exposed use.
static void find_global(const struct IrFunc *f, struct IrLive *l)
{
	u32 *def_in = xcalloc(f->nregs + 1, sizeof(*def_in)); // block position + 1 of the last def seen
	VEC(IrReg) regs = {0};
	for (u32 i = 0; i < l->rpo.n; i++) {
		const struct IrBlock *b = &f->blocks.p[l->rpo.order[i]];
		for (size_t k = 0; k < b->insns.n; k++) {
			struct IrVal *use[IR_MAX_USES];
			for (u32 u = ir_uses(&b->insns.p[k], use); u--;) {
				IrReg r = use[u]->id;
				if (use[u]->kind != IRO_REG || def_in[r] == i + 1 || l->bit[r])
					continue;
				vec_push(&regs, r);
				l->bit[r] = (u32)regs.n;
			}
			def_in[b->insns.p[k].d] = i + 1;
		}
	}
	free(def_in);
	l->reg = regs.p;
	l->nbits = (u32)regs.n;
	l->words = (l->nbits + 63) / 64;
}

static void local_sets(const struct IrFunc *f, const struct IrLive *l, u32 pos, u64 *gen, u64 *kill)
{
	const struct IrBlock *b = &f->blocks.p[l->rpo.order[pos]];
	for (size_t k = 0; k < b->insns.n; k++) {
		struct IrInsn *in = &b->insns.p[k];
		struct IrVal *use[IR_MAX_USES];
		for (u32 u = ir_uses(in, use); u--;) {
			u32 bit = use[u]->kind == IRO_REG ? l->bit[use[u]->id] : 0;
			if (bit-- && !(kill[bit / 64] >> bit % 64 & 1))
				gen[bit / 64] |= 1ULL << bit % 64;
		}
		u32 bit = l->bit[in->d];
		if (bit--)
			kill[bit / 64] |= 1ULL << bit % 64;
	}
}

void ir_live(const struct IrFunc *f, struct IrLive *l)
{
	*l = (struct IrLive){0};
	ir_order(f, &l->rpo);
	l->bit = xcalloc(f->nregs + 1, sizeof(*l->bit));
	find_global(f, l);
	size_t w = l->words, total = w * l->rpo.n;
	l->in = xcalloc(total, sizeof(u64));
	l->out = xcalloc(total, sizeof(u64));
	struct Sets s = {xcalloc(total, sizeof(u64)), xcalloc(total, sizeof(u64))};
	for (u32 i = 0; i < l->rpo.n; i++)
		local_sets(f, l, i, s.gen + i * w, s.kill + i * w);
	for (bool again = w > 0; again;) {
		again = false;
		for (u32 i = l->rpo.n; i--;) {
			u64 *out = l->out + i * w, *in = l->in + i * w;
			IrBlk succ[2];
			for (u32 k = ir_succs(ir_term(&f->blocks.p[l->rpo.order[i]]), succ); k--;) {
				u64 *sin = l->in + l->rpo.at[succ[k]] * w;
				for (size_t j = 0; j < w; j++)
					out[j] |= sin[j];
			}
			for (size_t j = 0; j < w; j++) {
				u64 v = s.gen[i * w + j] | (out[j] & ~s.kill[i * w + j]);
				again |= v != in[j];
				in[j] = v;
			}
		}
	}
	free(s.gen);
	free(s.kill);
}

void ir_live_deinit(struct IrLive *l)
{
	ir_order_deinit(&l->rpo);
	free(l->bit);
	free(l->reg);
	free(l->in);
	free(l->out);
	*l = (struct IrLive){0};
}
