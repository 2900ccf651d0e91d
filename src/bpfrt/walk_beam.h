// walk_beam.h: frames of Erlang's compiled code (BEAM's JIT, x86-64): a part of unwind.bpf.c. Input: the state at a frame of such code. Output: the caller's state, or
// u->stop with its reason. Invariant: as in walk_leave.h.
// Such code runs on its process's own stack, sp. What lies there are terms, the low two bits of which say what they are; return addresses have none of these set, so the
// next such word is the caller, as Erlang itself finds it. Calls of C run on the thread's own stack, just below the scheduler's registers, to which rbx points; the code behind
// the call takes the process's stack pointer back from rbp, or from the process (r13), perhaps after further calls. Pieces that modules share are called too, from places with
// whatever low bits.
// Where a function has made room on its stack, words of earlier calls lie until it has written there. Close behind the instruction that makes room, if no call or jump lies between, the
// caller is the word behind the room, where a call returns; where that is not so, as much is left out, by guess.
#ifndef SONDE_RT_WALK_BEAM_H
#define SONDE_RT_WALK_BEAM_H
#include "bpfrt/walk_mem.h"
#include "bpfrt/walk_leave.h"

#define BEAM_REGISTERS 3 // rbx
#define BEAM_PROCESS 13
#define BEAM_OWN_ROOM 256 // of rbx above the thread's own stack
#define BEAM_AHEAD 32 // places in the code that are looked at
#define BEAM_BEFORE 64 // the same: most functions have filled their room by then
#define BEAM_INSN 4
#define BEAM_FAR 0xe940 // 40 e9 n: a jump to a piece that modules share, behind the code of one
#define BEAM_SURE (1u << 16) // of u->beam: no call or jump between
#define BEAM_SUB_ADD 0xd7ffff // what sub $n,%rsp (48 83 ec n) and add $n,%rsp (48 83 c4 n) have in common: bit 19 tells them apart
#define BEAM_NEAR 40 // bits: all of the code is mmap's; what pieces push may be an address of the heap (brk), which is far from there
#define BEAM_SHARED (1 << 16) // bytes of the pieces that modules share, at most
#define BEAM_WORDS 16 // that are looked at at once for the caller
#define BEAM_PARTS 16 // times that

// n bytes of code into u->win.
static RT_INLINE u64 beam_code(struct RtUw *u, u64 at, u32 n)
{
	u->win_n = 0;
	return !bpf_probe_read_user(u->win, n, (void *)at);
}

// Loops are in global functions, which are verified once, and have no branches: the last one that fits wins.
static RT_INLINE struct RtUw *beam_at(RT_GIVEN given)
{
	struct RtStackBuf *b = rt_given(given);
	return b ? &b->uw : NULL;
}

// 1 if x (below 1 << 63) is 0. Used as a factor: Linux 6.18 looks at both outcomes of a mask.
static RT_INLINE u64 beam_zero(u64 x)
{
	u64 is = (x - 1) >> 63;
	RT_BARRIER(is);
	return is;
}

static RT_INLINE void beam_put(u64 *to, u64 is, u64 value)
{
	volatile u64 *at = to;
	u64 old = *at;
	*at = old + (value - old) * is;
}

static RT_INLINE u64 beam_insn(struct RtUw *u, u32 at)
{
#ifdef RT_HOST
	u32 insn;
	__builtin_memcpy(&insn, (u8 *)u->win + at, sizeof(insn));
	return insn;
#else
	return *(volatile u32 *)((u8 *)u->win + at); // wherever it lies
#endif
}

// Called from here on the thread's own stack: how it goes on with the process's so many bytes from here, into u->tmp[2]: 1 rbp, 2 the process, 0 none of them soon.
RT_NOINLINE u64 rtg_beam_how(RT_GIVEN given, u64 from)
{
	struct RtUw *u = beam_at(given);
	if (!u)
		return 1;
	u->tmp[2] = 0;
	if (!beam_code(u, u->pc + from, BEAM_AHEAD + BEAM_INSN))
		return 1;
	RT_LOOP(behind, BEAM_AHEAD) {
		u64 i = BEAM_AHEAD - 1 - behind;
		RT_BARRIER(i);
		u64 w = beam_insn(u, i);
		u64 rbp = beam_zero((w & 0xffffff) ^ 0xec8948), process = beam_zero((w & 0xffffff) ^ 0x658b49); // mov %rbp,%rsp; mov n(%r13),%rsp
		beam_put(&u->tmp[2], rbp + process, rbp + process * 2);
	}
	return 1;
}

// ... and where that is, into u->tmp[0].
static RT_INLINE u64 beam_own(struct RtUw *u, u64 stop)
{
	u64 how = u->tmp[2];

	if (u->leaf && !how)
		rt_uw_guess(u, RT_WHY_GUESS_RULE);
	if (!rtp_reg_get(u, how == 1 ? RT_R_FP : BEAM_PROCESS))
		return 0;
	u->tmp[0] = u->tmp[1];
	return how == 1 || rtp_read_far(u, u->tmp[1] + stop);
}

// Is the word at sp, left in u->tmp[0], where a call of the code at hand returns?
static RT_INLINE u64 beam_called(struct RtUw *u, u64 sp)
{
	if (!rtp_read8(u, sp) || u->tmp[0] < RT_UW_PAGE || u->tmp[0] >> RT_UW_PC_BITS)
		return 0;
	u64 ra = u->tmp[0];
	if (!rtp_read_far(u, ra - 8))
		return 0;
	u64 code = u->tmp[0], to = ra + (u64)(s64)(s32)(code >> 32);
	if ((code >> 24 & 0xff) == 0xe8 && u->pc - to + BEAM_SHARED >= 2 * BEAM_SHARED && rtp_read_far(u, to)) // call
		to += (u->tmp[0] & 0xffff) == BEAM_FAR ? 6 + (u64)(s64)(s32)(u->tmp[0] >> 16) : 0;
	u->tmp[0] = ra;
	return (code >> 24 & 0xff) == 0xe8 && u->pc - to + BEAM_SHARED < 2 * BEAM_SHARED;
}

// Is that word where a call of a function returns? It is left in u->tmp[0].
static RT_INLINE u64 beam_returns(struct RtUw *u, u64 sp)
{
	if (!rtp_read8(u, sp) || u->tmp[0] & 3 || u->tmp[0] < RT_UW_PAGE || u->tmp[0] >> RT_UW_PC_BITS)
		return 0;
	u64 ra = u->tmp[0];
	if (!rtp_read_far(u, ra - 8))
		return 0;
	u64 code = u->tmp[0], is = beam_zero((code >> 24 & 0xff) ^ 0xe8); // call n
	RT_UNROLL
	for (u32 i = 8; i <= 48; i += 8)
		is |= beam_zero((code >> i & 0x38ff) ^ 0x10ff); // call *...
	u->tmp[0] = ra;
	return is;
}

// Bytes that the function has made room for just now, into u->beam, perhaps with BEAM_SURE.
RT_NOINLINE u64 rtg_beam_room(RT_GIVEN given)
{
	struct RtUw *u = beam_at(given);
	if (!u)
		return 1;
	u->beam = 0;
	if (!beam_code(u, u->pc - BEAM_BEFORE, BEAM_BEFORE + BEAM_INSN))
		return 1;
	RT_LOOP(i, BEAM_BEFORE) {
		u64 w = beam_insn(u, i), op = w & 0xff, whole = (i - (BEAM_BEFORE - BEAM_INSN + 1)) >> 63;
		u64 away = beam_zero((op & 0xfc) ^ 0xe8) | beam_zero(op ^ 0xc3) | beam_zero((w & 0x38ff) ^ 0x10ff) | beam_zero((w & 0x38ff) ^ 0x20ff); // call, jmp, ret, call and jmp *...; or bytes of something else
		u64 is = beam_zero((w & BEAM_SUB_ADD) ^ (0xec8348 & BEAM_SUB_ADD)) & whole;
		beam_put(&u->beam, is | away, (u->beam & (BEAM_SURE - 1)) * away + ((w >> 24 & 0xf8) | BEAM_SURE) * (w >> 19 & 1) * is);
	}
	return 1;
}

// The lowest return address from sp on, as far as can be read at once: its place into u->tmp[1], 0 none; itself into u->tmp[0].
RT_NOINLINE u64 rtg_beam_find(RT_GIVEN given, u64 sp)
{
	struct RtUw *u = beam_at(given);
	if (!u)
		return 1;
	u->tmp[1] = 0;
	if (!(in_window(u, sp) && in_window(u, sp + (BEAM_WORDS - 1) * 8)) && !fill_here(u, sp))
		return 1;
	u64 first = (sp - u->win_at) >> 3;
	u64 lowest = u->pc - (1ull << (BEAM_NEAR - 1));
	u->tmp[2] = RT_UW_WIN;
	RT_LOOP(behind, BEAM_WORDS) {
		u64 i = BEAM_WORDS - 1 - behind;
		u64 w = u->win[(first + i) & (RT_UW_WIN / 8 - 1)];
		beam_put(&u->tmp[2], beam_zero((w & 3) | (w - RT_UW_PAGE) >> RT_UW_PC_BITS | (w - lowest) >> BEAM_NEAR), i * 8);
	}
	u64 at = sp + u->tmp[2];
	if (in_window(u, at)) {
		u->tmp[0] = window(u, at);
		u->tmp[1] = at;
	}
	return 1;
}

// The same, as far as BEAM_PARTS of these.
RT_NOINLINE u64 rtg_beam_caller(RT_GIVEN given, u64 from)
{
	struct RtUw *u = beam_at(given);
	if (!u)
		return 1;
	RT_LOOP(i, BEAM_PARTS) {
		rtg_beam_find(given, from);
		u64 end = u->win_at + u->win_n + 7;
		if (u->tmp[1] || !u->win_n)
			break;
		from = end - from < BEAM_WORDS * 8 ? end : from + BEAM_WORDS * 8;
	}
	return 1;
}

// u->beam says on the way: the frame at hand is the innermost of its process's own, or what was called was no function; then what beam_room() says.
static RT_INLINE u64 beam_leave(struct RtUw *u, RT_GIVEN given, struct RtUwRule *r)
{
	u->beam |= u->leaf;
	if (!rtp_reg_get(u, BEAM_REGISTERS))
		return rt_uw_stop(u, RT_WHY_NO_RULE);
	if (u->tmp[1] - u->reg[RT_R_SP] < BEAM_OWN_ROOM) {
		u->beam = 1;
		rtg_beam_how(given, 0);
		if (!u->tmp[2])
			rtg_beam_how(given, BEAM_AHEAD);
		if (!u->tmp[2])
			rtg_beam_how(given, 2 * BEAM_AHEAD); // binaries are built there
		if (!beam_own(u, r->off2))
			return rt_uw_stop(u, RT_WHY_NO_RULE);
		u->reg[RT_R_SP] = u->tmp[0];
	}
	u64 sp = u->reg[RT_R_SP];
	if (sp & 7)
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	if (r->off && beam_called(u, sp)) {
		u->beam = 1;
		return enter(u, u->tmp[0], sp, sp + 8);
	}
	if (u->beam && !r->off)
		rtg_beam_room(given);
	else
		u->beam = 0;
	u64 room = u->beam & (BEAM_SURE - 1);
	if (u->beam & BEAM_SURE && room && beam_returns(u, sp + room)) {
		u->beam = 0;
		return enter(u, u->tmp[0], sp + room, sp + room + 8);
	}
	u->beam = room;
	rtg_beam_caller(given, sp);
	if (u->tmp[1] - u->reg[RT_R_SP] < u->beam) { // of an earlier call, or the code at hand has no room of its own
		rt_uw_guess(u, RT_WHY_GUESS_RULE);
		rtg_beam_caller(given, u->reg[RT_R_SP] + u->beam);
	}
	u->beam = 0;
	if (!u->tmp[1])
		return rt_uw_stop(u, RT_WHY_BAD_READ);
	return enter(u, u->tmp[0], u->tmp[1], u->tmp[1] + 8);
}
#endif
