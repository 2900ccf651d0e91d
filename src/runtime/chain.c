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

#define DTV 8 // of glibc's and musl's struct pthread: the table of modules

void chain_thread_value(struct ChainMaker *m, bool musl, u32 dst, u32 key, u32 by, u32 label)
{
	chain_op(m, RT_OP_TP, dst, 0, 0, 0);
	chain_add(m, by, dst, RT_GLIBC_VALUES);
	chain_if(m, key, RT_OP_LT, RT_CHAIN_ZERO, musl ? RT_MUSL_KEYS_MAX : 32, label);
	if (musl) {
		chain_jump(m, CHAIN_LOST);
		chain_label(m, label);
		chain_load(m, by, dst, RT_MUSL_VALUES, 8);
		chain_mul(m, by, by, key, 8);
		chain_op(m, RT_OP_TRY, dst, by, 0, 0);
		return;
	}
	chain_shr(m, by, key, 5);
	chain_mul(m, dst, dst, by, 8);
	chain_load(m, by, dst, RT_GLIBC_BLOCKS, 8);
	chain_label(m, label);
	chain_and(m, key, key, 31);
	chain_mul(m, by, by, key, 16);
	chain_op(m, RT_OP_TRY, dst, by, 0, 8);
}

void chain_thread_variable(struct ChainMaker *m, bool musl, u32 dst, u32 module, u32 offset)
{
	chain_op(m, RT_OP_TP, dst, 0, 0, 0);
	chain_load(m, dst, dst, DTV, 8);
	chain_mul(m, dst, dst, module, musl ? 8 : 16);
	chain_load(m, dst, dst, 0, 8);
	chain_mul(m, dst, dst, offset, 1);
	chain_load(m, dst, dst, 0, 8);
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
