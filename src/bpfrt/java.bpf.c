// java.bpf.c: the frames of HotSpot's Java: its code is made at run time and has no unwind information, but each piece of it (CodeBlob) says how large its frame
// is. Input: struct RtJava, where a version keeps things; struct RtJvm, the process's heaps of code; memory of the process. Output: the caller's frame, and
// in struct RtJavaWalk what the frame runs, for javamethod.bpf.c.
// How a pc finds its code: a heap has a byte for each segment of 128 bytes, by which one goes back to where the piece begins. How frames are left: the interpreter's by
// the frame pointer; compiled code by the size of its frame, which is not there yet, or no more, at the innermost frame in prologue and epilogue: told by instructions.
// Invariant: nothing is trusted: every hop, search and chain is bounded, stacks are left upwards, and what is not understood leaves the stack cut.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/java_rt.h"
#include "bpfrt/walk_mem.h"

RT_MAP(rt_jvms, RT_MAP_HASH, 4, sizeof(struct RtJvm), RT_JVMS, 0);
RT_MAP_EXTERN(rt_langs);

#define JAVA_HOPS 32	  // back to where a piece of code begins; one goes back 254 segments
#define JAVA_BLOB 144	  // bytes that are read of a CodeBlob, with what lies before it
#define JAVA_FREE 0xff	  // of a segment
#define JAVA_R13 13	  // the interpreter's place in the bytecode; as a method begins, the caller's stack pointer
#define JAVA_RBX 3	  // the method, as it begins
#define TEXT8(a, b, c, d, e, f, g, h) \
	((u64)(a) | (u64)(b) << 8 | (u64)(c) << 16 | (u64)(d) << 24 | (u64)(e) << 32 | (u64)(f) << 40 | (u64)(g) << 48 | (u64)(h) << 56)

// ---- which code
// Where the piece of code begins whose segment is number `at` of a heap, as a number of a segment, into w->tmp[1].
static RT_INLINE u64 java_begin(struct RtLangWalk *w, u64 segmap, u64 at)
{
	RT_LOOP(i, JAVA_HOPS) {
		if (!java_byte(w, segmap + at) || w->tmp[0] == JAVA_FREE || w->tmp[0] > at)
			return 0;
		if (!w->tmp[0]) {
			w->tmp[1] = at;
			return 1;
		}
		at -= w->tmp[0];
	}
	return 0;
}

// The blob of pc, into w->java.blob. 0: pc lies in none of the heaps, or in no blob.
RT_ONCE u64 rtp_java_blob(struct RtLangWalk *w, struct RtJvm *j, struct RtLang *l, u64 pc)
{
	if (!w || !j || !l)
		return 0;
	RT_LOOP(i, RT_JAVA_HEAPS) {
		u64 low = j->heap[i].low, shift = j->heap[i].shift & 31;
		if (pc - low >= j->heap[i].size)
			continue;
		if (!java_begin(w, j->heap[i].segmap, (pc - low) >> shift))
			return 0;
		w->java.blob = low + (w->tmp[1] << shift) + l->java.block;
		return 1;
	}
	return 0;
}

static RT_INLINE void java_mix(u64 *h, u64 word)
{
	u64 a = (*h ^ word) * 0x9e3779b97f4a7c15ULL;
	*h = a ^ a >> 32;
}

// Which blob it is: its length and that it is in use, which lie before it, its size and name; of compiled code the method and the number of its compilation, which
// no other has in this VM. From w->obj.
RT_ONCE u64 rtp_java_ident(struct RtLangWalk *w, struct RtLang *l)
{
	if (!w || !l)
		return 0;
	u64 h = w->java.vm;

	java_mix(&h, w->obj[0]);
	java_mix(&h, w->obj[1]);
	java_mix(&h, rt_lang_word(w, l->java.b_name));
	java_mix(&h, java_half(w, l->java.b_size) | (u64)java_half(w, l->java.b_frame) << 32);
	if (w->java.kind == RT_JAVA_CODE) {
		java_mix(&h, rt_lang_word(w, l->java.n_method));
		java_mix(&h, java_half(w, l->java.n_id));
	}
	w->java.ident = h;
	return h;
}

static RT_INLINE u32 java_kind(u64 name)
{
	switch (name) {
	case TEXT8('n', 'm', 'e', 't', 'h', 'o', 'd', 0):
	case TEXT8('n', 'a', 't', 'i', 'v', 'e', ' ', 'n'):
		return RT_JAVA_CODE;
	case TEXT8('v', 't', 'a', 'b', 'l', 'e', ' ', 'c'):
	case TEXT8('I', '2', 'C', '/', 'C', '2', 'I', ' '):
	case TEXT8('M', 'e', 't', 'h', 'o', 'd', 'H', 'a'):
		return RT_JAVA_JUMP;
	case TEXT8('I', 'n', 't', 'e', 'r', 'p', 'r', 'e'):
		return RT_JAVA_INTERP;
	}
	return RT_JAVA_STUB;
}

// What a blob's head says, which is then in w->obj.
RT_ONCE u64 rtp_java_head(struct RtLangWalk *w, struct RtJvm *j, struct RtLang *l, u64 pc)
{
	if (!w || !j || !l)
		return 0;
	struct RtJavaWalk *v = &w->java;

	v->len = JAVA_BLOB;
	if (java_read(w, l) || pc - v->blob >= java_half(w, l->java.b_size) || !java_word(w, rt_lang_word(w, l->java.b_name)))
		return 0;
	v->kind = java_kind(w->tmp[0]);
	if (v->kind == RT_JAVA_STUB && java_word(w, rt_lang_word(w, l->java.b_name) + 10) && w->tmp[0] == TEXT8('e', 's', ' ', '(', 'c', 'o', 'n', 't'))
		v->kind = RT_JAVA_THAW;
	if (v->kind == RT_JAVA_INTERP) {
		j->interp = v->interp = v->blob;
		j->interp_size = v->interp_size = java_half(w, l->java.b_size);
	} else if (v->kind == RT_JAVA_CODE) {
		v->len = l->java.n_size;
		return !java_read(w, l);
	}
	return 1;
}

// The blob of pc and what its head says. 0: there is none.
static RT_NOINLINE u64 java_find(struct RtStackBuf *b, struct RtLang *l, u64 pc)
{
	struct RtLangWalk *w = &b->lang;
	struct RtJavaWalk *v = &w->java;
	u32 tgid = b->uw.tgid;

	if (pc - v->interp < v->interp_size) {
		v->blob = v->interp;
		v->kind = RT_JAVA_INTERP;
		return 1;
	}
	if (rtp_java_kept(w, pc)) {
		u64 what = w->tmp[0], ident = w->tmp[1];
		v->blob = pc - (u32)what;
		v->kind = what >> 32 & 0xff;
		v->len = what >> 40;
		if (!java_read(w, l) && rtp_java_ident(w, l) == ident)
			return 1;
	}
	struct RtJvm *j = bpf_map_lookup_elem(&rt_jvms, &tgid);
	if (!j || !rtp_java_blob(w, j, l, pc) || !rtp_java_head(w, j, l, pc))
		return 0;
	rtp_java_ident(w, l);
	if (l->java.n_id && !((pc - v->blob) >> 32))
		rtp_java_keep(w, pc, (u32)(pc - v->blob) | (u64)v->kind << 32 | (u64)v->len << 40);
	return 1;
}

// ---- leaving
static RT_INLINE u64 java_enter(struct RtUw *u, u64 ra, u64 slot, u64 sp)
{
	if (sp <= u->reg[RT_R_SP])
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	u->pc = ra;
	u->reg[RT_R_SP] = sp;
	u->valid = 1u << RT_R_SP | (u->valid & 1u << RT_R_FP); // Java's code keeps no other register for its caller
	u->is_ra = 1;
	u->leaf = 0;
	u->ra_slot = slot;
	if (!ra)
		return rt_uw_stop(u, RT_WHY_RA_ZERO);
	if (ra >> RT_UW_PC_BITS)
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	return 1;
}

// Compiled code is called by code of the heaps: methods, the interpreter, the stub by which C calls Java.
static RT_INLINE bool java_calls(struct RtLangWalk *w, u64 ra)
{
	return ra - w->java.low < w->java.size;
}

// The return address lies at sp + n, the caller's frame pointer before it; not if own: it is still in its register.
static RT_INLINE u64 java_up(struct RtUw *u, u64 n, u64 own)
{
	u64 slot = u->reg[RT_R_SP] + n, from = own ? slot : slot - 8;

	if (own) {
		if (!rtp_read8(u, from))
			return rt_uw_stop(u, RT_WHY_BAD_READ);
		return java_enter(u, u->tmp[0], slot, slot + 8);
	}
	if (!read16(u, from))
		return rt_uw_stop(u, RT_WHY_BAD_READ);
	u->reg[RT_R_FP] = u->tmp[0];
	u->valid |= 1u << RT_R_FP;
	u->saved &= ~(1u << RT_R_FP);
	return java_enter(u, u->tmp[1], slot, slot + 8);
}

static RT_INLINE bool java_ra(struct RtLangWalk *w, struct RtUw *u, u64 n)
{
	return rtp_read8(u, u->reg[RT_R_SP] + n) && java_calls(w, u->tmp[0]);
}

// A frame that begins where the frame pointer points; sender: the caller's stack pointer is written below it.
RT_ONCE u64 rtp_java_up_fp(struct RtLangWalk *w, struct RtUw *u, u64 sender)
{
	if (!w || !u)
		return 0;
	u64 fp, sp;

	if (!rtp_reg_get(u, RT_R_FP))
		return rt_uw_stop(u, RT_WHY_NO_RULE);
	fp = u->tmp[1];
	if (fp & 7 || fp < u->reg[RT_R_SP] || rt_lang_read(w, fp - 64, 88))
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	if (!sender && w->obj[9] == ~0ULL) { // the barrier at a method's entry keeps a word above its frame
		w->obj[9] = w->obj[10];
		fp += 8;
	}
	if (sender && !u->is_ra && fp - u->reg[RT_R_SP] < 24) { // the interpreter has just begun a method: it is not in the frame yet, nor, perhaps, the caller's stack pointer
		if (fp == u->reg[RT_R_SP])
			w->obj[7] = rtp_reg_get(u, JAVA_R13) ? u->tmp[1] : 0;
		w->obj[5] = rtp_reg_get(u, JAVA_RBX) ? u->tmp[1] : 0;
		w->obj[0] = 0;
	}
	sp = sender ? w->obj[7] : fp + 16;
	if (sp <= fp || sp & 7)
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	u->reg[RT_R_FP] = w->obj[8];
	u->valid |= 1u << RT_R_FP;
	u->saved &= ~(1u << RT_R_FP);
	return java_enter(u, w->obj[9], fp + 8, sp);
}

// ---- the innermost frame: w->obj has the code from 8 bytes before pc on
enum JavaPlace {
	JAVA_WHOLE, // the frame is there
	JAVA_NONE,  // only the return address
	JAVA_PUSHED, // and the caller's frame pointer below it
	JAVA_OWN_FP, // the frame is there, but the frame pointer still the caller's
};

#define JAVA_3(word, bytes) (((word) & 0xffffff) == (bytes))
// Behind "pop %rbp": the look whether the thread shall stop, ret; and what follows if it shall.
static RT_INLINE bool java_left(u64 before, u64 code, u64 next)
{
	u32 first = code & 0xff;

	if (first == 0xc3 || JAVA_3(code, 0xa73b49) || JAVA_3(code, 0x673b49)) // ret; cmp off(%r15),%rsp
		return true;
	if (((code & 0xffff) == 0x870f || (code & 0xffff) == 0x0585) && (code >> 48 & 0xff) == 0xc3) // ja; test %eax,off(%rip); before ret
		return true;
	if ((u32)code == 0xc3028541) // test %eax,(%r10); ret
		return true;
	if (JAVA_3(code, 0x978b4d) && (code >> 56) == 0x41 && JAVA_3(next, 0xc30285)) // mov off(%r15),%r10 before that (loops have one, too)
		return true;
	if (JAVA_3(code, 0x158d4c) && (code >> 56) == 0x4d && (next & 0xffff) == 0x9789) // lea off(%rip),%r10; mov %r10,off(%r15); jmp
		return true;
	return (JAVA_3(code, 0x97894d) && code >> 56 == 0xe9) || (first == 0xe9 && JAVA_3(before >> 8, 0x97894d));
}

static RT_INLINE u32 java_entered(u64 before, u64 code, u64 bytes)
{
	if (JAVA_3(code, 0x6c8948) || JAVA_3(code, 0xac8948)) // mov %rbp,off(%rsp)
		return JAVA_OWN_FP;
	if (before >> 56 == 0x55) // push %rbp
		return bytes == 16 ? JAVA_WHOLE : JAVA_PUSHED;
	if (JAVA_3(before >> 32, 0xec8348) || JAVA_3(before >> 8, 0xec8148) || JAVA_3(code, 0x7f8141) || JAVA_3(before, 0x7f8141))
		return JAVA_WHOLE; // behind sub; at the barrier of the garbage collector, and behind it
	return JAVA_NONE;
}

RT_ONCE u64 rtp_java_place(struct RtLangWalk *w, u64 pc, u64 bytes, u64 entering)
{
	if (!w)
		return 0;
	if (rt_lang_read(w, pc - 8, 24))
		return JAVA_WHOLE;
	u64 before = w->obj[0], code = w->obj[1], next = w->obj[2];
	if (java_left(before, code, next))
		return JAVA_NONE;
	if ((code & 0xff) == 0x5d) // pop %rbp
		return JAVA_PUSHED;
	return entering ? java_entered(before, code, bytes) : JAVA_WHOLE;
}

// Compiled code has no return address at sp + n, where its frame says. What C2 puts into a method may push a word in the middle of it (comparing strings). How much
// further up the first word is that may be one; 0: none near.
#define JAVA_PUSHES 3
static RT_INLINE u64 java_pushed(struct RtLangWalk *w, struct RtUw *u, u64 n)
{
	w->tmp[0] = 0; // where the verifier does not follow values
	if (rt_lang_read(w, u->reg[RT_R_SP] + n + 8, JAVA_PUSHES * 8))
		return 0;
	for (u32 i = JAVA_PUSHES; i-- > 0;)
		if (java_calls(w, w->obj[i]))
			w->tmp[0] = (i + 1) * 8;
	return w->tmp[0];
}

static RT_INLINE u64 java_leave_sized(struct RtLangWalk *w, struct RtUw *u, u64 bytes, u64 complete)
{
	u64 place = JAVA_WHOLE, n = bytes - 8;

	if (!u->is_ra)
		place = rtp_java_place(w, w->java.pc, bytes, w->java.pc - w->java.code < complete);
	if (place == JAVA_NONE && java_ra(w, u, 0))
		return java_up(u, 0, 1);
	if (place == JAVA_PUSHED && java_ra(w, u, 8))
		return java_up(u, 8, 0);
	if (bytes < 16 || bytes > 1 << 20)
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	if (!java_ra(w, u, n)) {
		u64 more = java_pushed(w, u, n);
		if (!more || place == JAVA_OWN_FP)
			return rt_uw_stop(u, RT_WHY_BAD_CFA);
		n += more;
	}
	return java_up(u, n, place == JAVA_OWN_FP);
}

// The innermost frame of a stub of no known size: has it a frame of its own, at the frame pointer, or is that a caller's still? In the second case the address to which the
// stub returns lies below. It is the first word that is code's behind a call, for stubs keep no such in their registers.
#define JAVA_STUB_WORDS 16
RT_ONCE u64 rtp_java_bare(struct RtLangWalk *w, struct RtUw *u) // how far up that word lies; ~0: there is none below the frame pointer
{
	if (!w || !u)
		return ~0ULL;
	u64 sp = u->reg[RT_R_SP], own = rtp_reg_get(u, RT_R_FP) ? u->tmp[1] - sp : ~0ULL;

	w->tmp[1] = ~0ULL;
	if (rt_lang_read(w, sp, JAVA_STUB_WORDS * 8))
		return ~0ULL;
	RT_LOOP(i, JAVA_STUB_WORDS)
		if (java_calls(w, w->obj[i])) {
			w->tmp[1] = i;
			break;
		}
	u64 at = w->tmp[1];
	if (at >= JAVA_STUB_WORDS || at * 8 >= own || !java_word(w, w->obj[at] - 8) || (w->tmp[0] >> 24 & 0xff) != 0xe8)
		return ~0ULL;
	return at * 8;
}

static RT_INLINE u64 java_leave_stub(struct RtLangWalk *w, struct RtUw *u, bool jump, u64 bytes)
{
	u64 place, bare = ~0ULL;

	if (!u->is_ra) {
		place = rtp_java_place(w, w->java.pc, bytes, 1);
		if (place == JAVA_NONE && !jump && (w->obj[1] & 0xff) != 0xc3 && (w->obj[1] & 0xff) != 0x55)
			place = JAVA_WHOLE;
		if (place == JAVA_NONE)
			return !jump || java_ra(w, u, 0) ? java_up(u, 0, 1) : rt_uw_stop(u, RT_WHY_BAD_CFA);
		if (place == JAVA_PUSHED)
			return java_up(u, 8, 0);
		if (!bytes || bytes > 1 << 20)
			bare = rtp_java_bare(w, u);
		if (bare < JAVA_STUB_WORDS * 8)
			return java_up(u, bare, 1);
	}
	return bytes && bytes <= 1 << 20 ? java_up(u, bytes - 8, 0) : rtp_java_up_fp(w, u, 0); // -1: of no size
}

// ---- the frame at hand
// Where in its code the frame at hand is: one whose code is not to go on returns elsewhere, and has where it was.
static RT_INLINE u64 java_handler(struct RtLangWalk *w, struct RtLang *l, u32 off)
{
	return l->java.b_short ? w->java.blob + java_half(w, off) : rt_lang_word(w, off);
}

static RT_INLINE void java_at(struct RtLangWalk *w, struct RtUw *u, struct RtLang *l)
{
	struct RtJavaWalk *v = &w->java;
	bool gone = v->pc == java_handler(w, l, l->java.n_deopt) || (l->java.n_deopt_mh && v->pc == java_handler(w, l, l->java.n_deopt_mh));

	v->at = v->pc;
	if (gone && u->is_ra && java_word(w, u->reg[RT_R_SP] + java_half(w, l->java.n_orig_pc)))
		v->at = w->tmp[0];
	v->nr = 0;
	v->more = RT_JAVA_PLACE;
}

static RT_INLINE u64 java_leave(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtUw *u = &b->uw;
	struct RtJavaWalk *v = &w->java;
	u64 bytes, complete;

	v->pc = u->pc;
	v->more = RT_JAVA_DONE;
	v->skip = 0;
	if (!java_find(b, l, v->pc - u->is_ra))
		return 0;
	if (v->kind == RT_JAVA_INTERP) {
		v->bcp = !u->is_ra && rtp_reg_get(u, JAVA_R13) ? u->tmp[1] : 0;
		rtp_java_up_fp(w, u, 1);
		if (u->stop)
			return 1;
		v->method = w->obj[5];
		v->scopes = w->obj[0];
		v->more = RT_JAVA_ONE;
	} else {
		v->code = l->java.b_short ? v->blob + java_half(w, l->java.b_code) : rt_lang_word(w, l->java.b_code);
		bytes = (u64)(java_half(w, l->java.b_frame) & 0xffffff) * 8;
		complete = java_half(w, l->java.b_complete);
		if (l->java.b_short)
			complete &= JAVA_MASK16;
		if (v->kind == RT_JAVA_CODE) {
			if (!v->native)
				java_at(w, u, l);
			java_leave_sized(w, u, bytes, complete);
		} else {
			v->more = RT_JAVA_NAME;
			if (v->kind == RT_JAVA_THAW && !u->weak)
				u->weak = RT_WHY_THAWED;
			java_leave_stub(w, u, v->kind == RT_JAVA_JUMP, bytes);
		}
	}
	if (v->more && !v->native)
		w->group = RT_GROUP_FIRST | RT_GROUP_ON | RT_GROUP_JAVA;
	return 1;
}

// The process's VM, at its first frame of a walk. 0: it has none.
static RT_NOINLINE u64 java_vm(struct RtStackBuf *b)
{
	struct RtJavaWalk *v = &b->lang.java;
	u32 key = b->uw.tgid;
	struct RtJvm *j = bpf_map_lookup_elem(&rt_jvms, &key);

	v->none = !j;
	if (!j)
		return 0;
	v->lang = j->lang;
	v->vm = j->serial;
	v->interp = j->interp;
	v->interp_size = j->interp_size;
	v->low = v->size = 0;
	RT_LOOP(i, RT_JAVA_HEAPS) {
		u64 low = j->heap[i].low, end = low + j->heap[i].size;
		if (end == low)
			continue;
		if (!v->size || low < v->low) {
			v->size += v->size ? v->low - low : 0;
			v->low = low;
		}
		if (end - v->low > v->size)
			v->size = end - v->low;
	}
	return 1;
}

RT_NOINLINE u64 rtg_java_leave(RT_GIVEN given, u64 frame)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b || (!b->lang.java.lang && !java_vm(b)))
		return 0;
	key = b->lang.java.lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	return l && l->kind == RT_LANG_JAVA && !(frame >> 63) ? java_leave(b, l) : 0;
}
