// v8leaf.bpf.c: leaves the innermost frame where it is of code that V8's compilers made: it may not have its frame yet, or no more. Input: the Code (v8jit.bpf.c) and its
// instructions. Output: the caller's frame; the function, of baseline code.
// Invariant: what is not understood is not left: the walker takes the frame as any code's, by a guess.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/java_rt.h"
#include "bpfrt/v8_rt.h"
#include "bpfrt/walk_mem.h"

#define V8_ENTRY 160 // bytes at the beginning in which the frame is set up
#define V8_BEFORE 24 // bytes before pc in which it may have been given up
#define V8_RDI 5     // DWARF: the function, where code begins
#define V8_PUSH 0xe5894855u  // push %rbp; mov %rsp,%rbp
#define V8_POP 0x5de58b48u   // mov %rbp,%rsp; pop %rbp
#define V8_POP_RETN 0xc25de58bu // the same from its second byte on; ret $n, of three bytes
#define V8_RET 0xc3
#define V8_MOVABS_R12 0xbc49
#define V8_MOVABS 10 // bytes
#define V8_CALL 0xe8
#define V8_JMP 0xe9
#define V8_JMP_BYTES 5
#define V8_POP_RET 0xc35d
enum V8Place {
	V8_WHOLE,
	V8_NONE,   // the return address is on top of the stack
	V8_PUSHED, // the caller's frame pointer is, and the return address below it
	V8_TAKEN,  // the return address is in a register, for the arguments to be dropped
	V8_ODD,
};

static RT_INLINE u32 v8_four(struct RtLangWalk *w, u32 at) // bytes of w->obj
{
#ifdef RT_HOST
	u32 four;
	memcpy(&four, (u8 *)w->obj + at, sizeof(four));
	return four;
#elif RT_IS_RISCV64 // kernels of this machine take no word across its boundary
	volatile u8 *b = (u8 *)w->obj + at;
	return (u32)b[0] | (u32)b[1] << 8 | (u32)b[2] << 16 | (u32)b[3] << 24;
#else
	return *(volatile u32 *)((u8 *)w->obj + at);
#endif
}

// Where the frame is set up, from the code's beginning; ~0: nowhere. Found places go through memory: the verifier has one state for all of them then.
static RT_NOINLINE u64 v8_entry(struct RtLangWalk *w)
{
	w->tmp[2] = ~0ULL;
	if (rt_lang_read(w, w->v8.start, V8_ENTRY + 8))
		return ~0ULL;
	RT_LOOP(i, V8_ENTRY)
		if (v8_four(w, i) == V8_PUSH) {
			w->tmp[2] = i;
			break;
		}
	return *(volatile u64 *)&w->tmp[2];
}

// Baseline code begins with a call of the builtin that makes its frame, behind movabs $BYTECODE,%r12, and ends with a jump to one that gives it up. Where the call is; ~0: nowhere.
static RT_NOINLINE u64 v8_begun(struct RtLangWalk *w)
{
	w->tmp[2] = ~0ULL;
	if (rt_lang_read(w, w->v8.start, V8_ENTRY + 8))
		return ~0ULL;
	RT_LOOP(i, V8_ENTRY - V8_MOVABS)
		if ((u16)v8_four(w, i) == V8_MOVABS_R12 && (u8)v8_four(w, i + V8_MOVABS) == V8_CALL) {
			w->tmp[2] = i + V8_MOVABS;
			break;
		}
	return *(volatile u64 *)&w->tmp[2];
}

// Is there still a frame before pc? After "pop %rbp" come ret; or a look at the number of arguments, ret, and the dropping of more of them: pop to a register, lea,
// push, ret. What stands behind the last ret has a frame: code that is seldom run, which other code jumps to.
static RT_NOINLINE u64 v8_exit(struct RtLangWalk *w)
{
	w->tmp[2] = 0;
	if (rt_lang_read(w, w->v8.pc - V8_BEFORE, V8_BEFORE + 8))
		return V8_ODD;
	RT_LOOP(i, V8_BEFORE) {
		u32 four = v8_four(w, i);
		if (four == V8_POP && i + 4 <= V8_BEFORE)
			w->tmp[2] = 1;
		else if ((u8)four == V8_RET || (four == V8_POP_RETN && i + 6 <= V8_BEFORE))
			w->tmp[2] = 0;
	}
	if (!*(volatile u64 *)&w->tmp[2])
		return V8_WHOLE;
	u32 last = v8_four(w, V8_BEFORE - 4), next = v8_four(w, V8_BEFORE);
	if (last >> 16 == 0x5a41 || (next & 0xffff) == 0x5241) // pop %r10 is behind; push %r10 ahead
		return V8_TAKEN;
	return V8_NONE;
}

// Code of a regular expression begins with a jump to where its frame is made, behind the rest.
static RT_NOINLINE u64 v8_regexp(struct RtLangWalk *w)
{
	u64 off = w->v8.pc - w->v8.start, entry;

	if (rt_lang_read(w, w->v8.start, 8) || (u8)v8_four(w, 0) != V8_JMP)
		return V8_ODD;
	entry = V8_JMP_BYTES + (u64)v8_four(w, 1);
	if (entry >= w->v8.bytes || rt_lang_read(w, w->v8.start + entry, 8) || v8_four(w, 0) != V8_PUSH)
		return V8_ODD;
	if (!off || off == entry)
		return V8_NONE;
	if (off == entry + 1)
		return V8_PUSHED;
	return !rt_lang_read(w, w->v8.pc - 1, 8) && (u16)v8_four(w, 0) == V8_POP_RET ? V8_NONE : V8_WHOLE;
}

// Of code of functions.
static RT_INLINE u64 v8_function_place(struct RtUw *u, struct RtLangWalk *w, struct RtLang *l, bool baseline)
{
	u64 off = w->v8.pc - w->v8.start, entry = baseline ? v8_begun(w) : v8_entry(w), place;

	if (entry >= V8_ENTRY && w->v8.jit != l->v8.kind_maglev) // whose code for a running loop takes the frame over
		return V8_ODD;
	place = entry >= V8_ENTRY ? v8_exit(w) : off <= entry ? V8_NONE : baseline ? V8_WHOLE : off == entry + 1 ? V8_PUSHED : v8_exit(w);
	w->v8.early = off < entry + 8 && (!baseline || off <= entry);
	if (w->v8.early && rtp_reg_get(u, V8_RDI))
		w->v8.func = u->tmp[1];
	else if (place == V8_NONE && java_word(w, u->reg[RT_R_SP] - 24)) // what was its frame
		w->v8.func = w->tmp[0];
	return place;
}

static RT_INLINE u64 v8_called(struct RtUw *u, u64 pc, u64 slot)
{
	u->pc = pc;
	u->reg[RT_R_SP] = slot + 8;
	u->valid &= 1u << RT_R_SP | 1u << RT_R_FP;
	u->is_ra = 1;
	u->leaf = 0;
	u->ra_slot = slot;
	if (!pc)
		rt_uw_stop(u, RT_WHY_RA_ZERO);
	else if (pc >> RT_UW_PC_BITS)
		rt_uw_stop(u, RT_WHY_BAD_CFA);
	return 1;
}

static RT_INLINE u64 v8_whole(struct RtUw *u, struct RtLangWalk *w)
{
	u64 fp;

	if (!rtp_reg_get(u, RT_R_FP))
		return 0;
	fp = u->tmp[1];
	if (fp & 7 || fp < u->reg[RT_R_SP] || rt_lang_read(w, fp - 64, 80))
		return 0;
	if (!w->v8.early)
		w->v8.func = w->obj[6];
	rt_v8_up(u, w, fp);
	return 1;
}

static RT_INLINE u64 v8_leaf(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtUw *u = &b->uw;
	u32 jit = w->v8.jit;
	bool baseline = jit == l->v8.kind_baseline, function = baseline || jit == l->v8.kind_maglev || jit == l->v8.kind_turbofan;
	u64 sp = u->reg[RT_R_SP], place = function ? v8_function_place(u, w, l, baseline) : v8_regexp(w);

	if (place == V8_WHOLE)
		return v8_whole(u, w);
	if (place == V8_NONE)
		return java_word(w, sp) && v8_called(u, w->tmp[0], sp);
	if (place != V8_PUSHED || !java_word(w, sp))
		return 0;
	u->reg[RT_R_FP] = w->tmp[0];
	u->valid |= 1u << RT_R_FP;
	u->saved &= ~(1u << RT_R_FP);
	return java_word(w, sp + 8) && v8_called(u, w->tmp[0], sp + 8);
}
RT_V8_GLOBAL(v8_leaf)
