// chain.bpf.c: the frames of interpreters that keep them in a chain, whichever interpreter: a program of a few operations (stack.h, rt_chains), which user space
// writes for each version (src/runtime/internal.h), finds the thread's innermost frame, steps from frame to frame and copies a code that is met for the first time.
// Input: the program; memory and registers of the process. Output: frames for lang.bpf.c.
// Why a program: the verifier walks each instruction here once for every stack in a script, however many interpreters there are, and an interpreter is offsets and
// some twenty operations. RT_OPS of them are run in one round of the walk; a frame that needs more takes another round, so nothing here loops without end.
// Invariant: a program is not trusted more than the process: registers, operations and lengths are masked, and a program that makes no frame is ended.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/lang_rt.h"

RT_CONST_EXTERN(u32, rt_off_tp);
RT_MAP(rt_chains, RT_MAP_ARRAY, 4, sizeof(struct RtChain), RT_CHAINS, RT_F_MMAPABLE);

#define RT_OPS 12
#define RT_ROUNDS 4096 // without a frame
#define GO (~0ULL)   // no RtLangStep: on with the next operation
#define LOST (GO - 1) // the frame cannot be told

RT_NOINLINE u64 rt_chain_begin(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;

	__builtin_memset(w->reg, 0, RT_CHAIN_REGS * 8); // a stack depends on no other
	w->reg[RT_CHAIN_ROOT] = l->root + w->bias;
	w->reg[RT_CHAIN_ROOT2] = l->code_type + w->bias;
	w->op = 0;
	w->begun = 0;
	w->copying = 0;
	w->steps = 0;
	w->record = 0;
	w->frame = 1;
	w->each = 1;
	w->group = RT_GROUP_AHEAD;
	u32 key = l->chain;
	struct RtChain *c = bpf_map_lookup_elem(&rt_chains, &key);
	w->again = c ? c->again : 0;
	return 1;
}

RT_NOINLINE u64 rt_chain_again(struct RtStackBuf *b)
{
	struct RtLangWalk *w = &b->lang;

	w->op = w->again;
	w->begun = 0;
	w->steps = 0;
	w->group = RT_GROUP_AHEAD;
	return 1;
}

// A register of the native frame at hand into w->tmp[0].
static RT_INLINE void native_reg(struct RtStackBuf *b, u64 nr)
{
	struct RtLangWalk *w = &b->lang;
	struct RtUw *u = &b->uw;
	u64 v;

	if (nr == RT_CHAIN_LEAF) {
		w->tmp[0] = u->leaf;
		return;
	}
	if (nr == RT_CHAIN_PC || nr == RT_CHAIN_OFF) {
		w->tmp[0] = u->pc - u->is_ra - (nr == RT_CHAIN_OFF ? w->bias : 0);
		return;
	}
	nr &= RT_NREGS - 1;
	RT_BARRIER(nr);
	v = u->valid & 1u << nr ? u->reg[nr] : 0;
	w->tmp[0] = v;
	if (v && u->saved & 1u << nr && bpf_probe_read_user(&w->tmp[0], 8, (void *)v))
		w->tmp[0] = 0;
}

static RT_INLINE bool is_user(u64 addr)
{
	return addr && !(addr >> RT_UW_PC_BITS);
}

static RT_INLINE void try_load(struct RtLangWalk *w, u64 addr)
{
	if (!is_user(addr)) {
		w->tmp[0] = 0;
	} else if (bpf_probe_read_user(&w->tmp[0], 8, (void *)addr)) {
		w->tmp[0] = 0;
		w->unread = addr;
	}
}

// n bytes of the process into a text of the code. At most max: of a file's name the end, of others the beginning.
static RT_INLINE u64 copy_text(struct RtLangWalk *w, u64 what, u64 n, u64 at)
{
	struct RtCode *c = &w->made.code;
	u64 len = n;

	if (!is_user(at))
		return 0;
	if (what == RT_CHAIN_NAME) {
		RT_BOUND(n, RT_CODE_NAME);
		c->name_len = n;
		return !bpf_probe_read_user(c->name, n, (void *)at);
	}
	if (what == RT_CHAIN_FILE) {
		at += n > RT_CODE_FILE ? n - RT_CODE_FILE : 0;
		RT_BOUND(n, RT_CODE_FILE);
		c->file_len = n;
		return !bpf_probe_read_user(c->file, n, (void *)at);
	}
	if (what == RT_CHAIN_LINES) {
		RT_BOUND(n, RT_CHAIN_HALF);
		c->nlines = n;
		return !bpf_probe_read_user(c->lines, n, (void *)at);
	}
	RT_BOUND(n, RT_CODE_LINES - RT_CHAIN_HALF - 8);
	*(u64 *)(c->lines + RT_CHAIN_HALF) = len;
	c->nlines = RT_CHAIN_HALF + 8 + n;
	return !bpf_probe_read_user(c->lines + RT_CHAIN_HALF + 8, n, (void *)at);
}

// The length of a text that ends with a zero is found by reading it.
static RT_INLINE u64 copy_cstr(struct RtLangWalk *w, u64 what, u64 at)
{
	struct RtCode *c = &w->made.code;
	bool name = what == RT_CHAIN_NAME;
	long n;

	if (!is_user(at))
		return 0;
	n = bpf_probe_read_user_str(name ? c->name : c->file, name ? RT_CODE_NAME : RT_CODE_FILE, (void *)at);
	if (n < 1)
		return 0;
	if (name)
		c->name_len = n - 1;
	else
		c->file_len = n - 1;
	return 1;
}

// Operations on the code that is being copied. 0: they cannot be done.
static RT_NOINLINE u64 copy_op(struct RtLangWalk *w, u64 op, u64 what, u64 v, u64 at)
{
	if (op == RT_OP_TEXT)
		return copy_text(w, what, v, at);
	if (op == RT_OP_CSTR)
		return copy_cstr(w, what, at);
	if (what == RT_CHAIN_LINES_KIND)
		w->made.code.lines_kind = v;
	else
		w->made.code.first_line = v;
	return 1;
}

static RT_INLINE void copy_begin(struct RtCode *c)
{
	__builtin_memset(c->name, 0, sizeof(c->name) + sizeof(c->file));
	__builtin_memset(c->lines, 0, 16 * 8); // what the number is made of
	c->lines_kind = 0;
	c->name_width = c->file_width = 1;
	c->name_len = c->file_len = 0;
	c->first_line = 0;
	c->nlines = 0;
}

static RT_INLINE u64 take_frame(struct RtStackBuf *b, struct RtChain *c, u64 code, u64 ident, u64 pos)
{
	struct RtLangWalk *w = &b->lang;
	u64 step;

	w->steps = 0;
	w->copying = 0;
	w->op = c->step;
	w->frame = w->reg[RT_CHAIN_NEXT];
	if (w->reg[RT_CHAIN_SURE] == RT_CHAIN_DOUBT)
		rt_uw_guess(&b->uw, RT_WHY_GUESS_INLINED);
	step = rt_lang_frame(b, code, ident, pos);
	if (step == RT_STEP_NEW) {
		w->op = c->copy;
		w->copying = 1;
		copy_begin(&w->made.code);
		return GO;
	}
	if (w->reg[RT_CHAIN_LAST])
		w->group = RT_GROUP_NONE;
	return step;
}

// Operations that seldom come, or end a frame: enum RtLangStep, GO, LOST. A global function: verified once, not once for each operation of a round.
static RT_INLINE u64 run_rare(struct RtStackBuf *b, struct RtChain *c)
{
	struct RtLangWalk *w = &b->lang;
	u64 at = (w->op - 1) & (RT_CHAIN_OPS - 1);
	RT_BARRIER(at);
	volatile struct RtOp *o = &c->op[at];
	u64 op = o->op, dst = o->dst & (RT_CHAIN_REGS - 1), a = w->reg[o->src & (RT_CHAIN_REGS - 1)], imm = (s64)o->imm;

	RT_BARRIER(dst);
	if (op == RT_OP_FRAME && w->begun && !w->copying)
		return take_frame(b, c, a, w->reg[dst], w->reg[o->arg & (RT_CHAIN_REGS - 1)]);
	if (op == RT_OP_COPIED && w->copying) {
		w->copying = 0;
		w->op = c->step;
		if (w->reg[RT_CHAIN_LAST])
			w->group = RT_GROUP_NONE;
		return RT_STEP_NEW;
	}
	if (op == RT_OP_READY && !w->begun) {
		w->begun = 1;
		b->uw.sure = w->reg[RT_CHAIN_SURE];
		w->op = o->arg;
		w->group = imm ? RT_GROUP_ON : RT_GROUP_NONE;
		if (w->again)
			w->frame = w->reg[RT_CHAIN_NEXT];
		return RT_STEP_AHEAD;
	}
	if (op == RT_OP_NONE && w->begun && !w->copying) {
		w->op = c->step;
		w->group = RT_GROUP_NONE;
		return RT_STEP_NONE;
	}
	if (op >= RT_OP_TEXT && op < RT_OP_COPIED)
		return copy_op(w, op, imm, a, w->reg[dst]) ? GO : LOST;
	w->tmp[0] = 0;
	if (op == RT_OP_NATIVE)
		native_reg(b, imm);
	else if (op == RT_OP_TRY)
		try_load(w, a + imm);
	else if (op != RT_OP_TP || !rt_off_tp || !rt_kread8(&w->tmp[0], b->uw.task + rt_off_tp))
		return LOST;
	w->reg[dst] = w->tmp[0];
	return GO;
}

RT_NOINLINE u64 rtg_chain_rare(RT_GIVEN given, u64 chain)
{
	u32 nr = chain;
	struct RtStackBuf *b = rt_given(given);
	struct RtChain *c = bpf_map_lookup_elem(&rt_chains, &nr);

	return b && c ? run_rare(b, c) : RT_STEP_NONE;
}

// One operation, whose outcome is left in memory, so that the verifier has one state after it. 0: it is a rare one, or cannot be done.
static RT_INLINE u64 run_op(struct RtLangWalk *w, struct RtChain *c)
{
	u64 at = w->op & (RT_CHAIN_OPS - 1);
	RT_BARRIER(at);
	volatile struct RtOp *o = &c->op[at];
	u64 op = o->op, dst = o->dst & (RT_CHAIN_REGS - 1), a = w->reg[o->src & (RT_CHAIN_REGS - 1)], imm = (s64)o->imm, v;

	RT_BARRIER(dst);
	w->op = at + 1;
	if (op == RT_OP_LOAD) {
		u64 n = o->arg;
		RT_BOUND(n, RT_CHAIN_LOAD);
		w->reg[dst] = 0;
		a += imm;
		if (!(a >> RT_UW_PC_BITS) && !bpf_probe_read_user(&w->reg[dst], n, (void *)a))
			return 1;
		w->unread = a;
		return 0;
	}
	if (op > RT_OP_LT || op == RT_OP_LOST)
		return 0;
	if (op >= RT_OP_EQ) {
		v = w->reg[dst] + imm;
		if (op == RT_OP_LT ? a < v : (a == v) == (op == RT_OP_EQ))
			w->op = o->arg;
		return 1;
	}
	v = a & imm;
	if (op == RT_OP_ADD)
		v = a + imm;
	else if (op == RT_OP_MUL)
		v = a + w->reg[o->arg & (RT_CHAIN_REGS - 1)] * imm;
	else if (op == RT_OP_SHR)
		v = a >> (imm & 63);
	w->reg[dst] = v;
	return 1;
}

static RT_INLINE u64 chain_lost(struct RtStackBuf *b)
{
	if (b->lang.begun || b->lang.again)
		return rt_lang_lost(b);
	b->lang.off = 1;
	b->lang.group = RT_GROUP_NONE;
	return RT_STEP_AHEAD;
}

// A round of a program: enum RtLangStep, LOST.
static RT_INLINE u64 run_round(struct RtStackBuf *b, struct RtChain *c)
{
	struct RtLangWalk *w = &b->lang;
	volatile u64 *ok = &w->tmp[1];

	if (w->steps++ >= RT_ROUNDS)
		return LOST;
	RT_LOOP(i, RT_OPS) {
		*ok = run_op(w, c);
		if (*ok)
			continue;
		u64 step = rtg_chain_rare(rt_give(b), w->chain);
		if (step != GO)
			return step;
	}
	return RT_STEP_AHEAD;
}

// The walker calls it itself: a function more between them would be one too many where loops of the script are around (8).
RT_NOINLINE u64 rtg_chain_step(RT_GIVEN given)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return RT_STEP_NONE;
	key = b->lang.chain;
	struct RtChain *c = bpf_map_lookup_elem(&rt_chains, &key);
	u64 step = c ? run_round(b, c) : LOST;
	if (step == LOST)
		return chain_lost(b);
	if (step == RT_STEP_FRAME)
		rt_lang_func_at(b, b->uw.frame);
	return step;
}
