// Programs of chains: see internal.h. Input: operations. Output: struct RtChain, or the word that they do not fit into one.
#include "runtime/internal.h"

void chain_op(struct ChainMaker *m, enum RtOpCode op, u32 dst, u32 src, u32 arg, s64 imm)
{
	m->bad |= m->n >= RT_CHAIN_OPS || dst >= RT_CHAIN_REGS || src >= RT_CHAIN_REGS || imm != (s32)imm;
	if (!m->bad)
		m->c.op[m->n++] = (struct RtOp){.op = (u8)op, .dst = (u8)dst, .src = (u8)src, .arg = (u16)arg, .imm = (s32)imm};
}

void chain_label(struct ChainMaker *m, u32 label)
{
	m->label[label % CHAIN_LABELS] = (u16)m->n;
}

bool chain_end(struct ChainMaker *m, struct RtChain *out)
{
	chain_label(m, CHAIN_LOST);
	chain_lost(m);
	for (u32 i = 0; i < m->n; i++) {
		struct RtOp *o = &m->c.op[i];
		if ((o->op >= RT_OP_EQ && o->op <= RT_OP_LT) || o->op == RT_OP_READY)
			o->arg = m->label[o->arg % CHAIN_LABELS];
	}
	m->c.step = m->label[CHAIN_STEP];
	m->c.copy = m->label[CHAIN_COPY];
	m->c.again = m->label[CHAIN_AGAIN];
	*out = m->c;
	return !m->bad;
}
