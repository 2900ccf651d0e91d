// java.bpf.c: the frames of HotSpot's Java: its code is made at run time and has no unwind information, but each piece of it (CodeBlob) says how large its frame
// is. Input: struct RtJava, where a version keeps things; struct RtJvm, the process's heaps of code; memory of the process. Output: the caller's frame, and
// the methods that the frame runs, with those that the compiler has put into one another, as frames of positions (bci) in methods, for lang.bpf.c.
// How a pc finds its code: a heap has a byte for each segment of 128 bytes, by which one goes back to where the piece begins. How frames are left: the interpreter's by
// the frame pointer; compiled code by the size of its frame, which is not there yet, or no more, at the innermost frame in prologue and epilogue: told by instructions.
// Invariant: nothing is trusted: every hop, search and chain is bounded, stacks are left upwards, and what is not understood leaves the stack cut.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/lang_rt.h"
#include "bpfrt/walk_mem.h"

RT_MAP(rt_jvms, RT_MAP_HASH, 4, sizeof(struct RtJvm), RT_JVMS, 0);
RT_MAP_EXTERN(rt_langs);

#define JAVA_HOPS 32	  // back to where a piece of code begins; one goes back 254 segments
#define JAVA_SEARCH 24	  // steps of a search among places of code
#define JAVA_BLOB 128	  // bytes that are read of a CodeBlob
#define JAVA_STUB_NAME 48 // bytes that are read of a name, which is shorter
#define JAVA_FREE 0xff	  // of a segment
#define JAVA_R13 13	  // the interpreter's place in the bytecode
#define JAVA_MASK16 0xffffu
#define TEXT8(a, b, c, d, e, f, g, h) \
	((u64)(a) | (u64)(b) << 8 | (u64)(c) << 16 | (u64)(d) << 24 | (u64)(e) << 32 | (u64)(f) << 40 | (u64)(g) << 48 | (u64)(h) << 56)

RT_NOINLINE u64 rt_java_lost(struct RtStackBuf *b)
{
	b->lang.group = RT_GROUP_NONE;
	if (!b->uw.weak)
		b->uw.weak = RT_WHY_LANG;
	return RT_STEP_NONE;
}

static RT_INLINE u32 java_half(struct RtLangWalk *w, u32 off) // of 32 bits, at any even offset
{
	u64 word = rt_lang_word(w, off), next = rt_lang_word(w, off + 8);
	u32 shift = (off & 7) * 8;
	return shift > 32 ? word >> shift | next << (64 - shift) : word >> shift;
}

static RT_INLINE u64 java_byte(struct RtLangWalk *w, u64 addr) // into w->tmp[0]
{
	w->tmp[0] = 0;
	return !(addr >> RT_UW_PC_BITS) && !bpf_probe_read_user(&w->tmp[0], 1, (void *)addr);
}

static RT_INLINE u64 java_word(struct RtLangWalk *w, u64 addr)
{
	return !(addr >> RT_UW_PC_BITS) && !bpf_probe_read_user(&w->tmp[0], 8, (void *)addr);
}

// ---- which code
// Where the piece of code begins whose segment is number `at` of a heap, as a number of a segment, into w->tmp[1].
static RT_NOINLINE u64 java_begin(struct RtLangWalk *w, u64 segmap, u64 at)
{
	for (u32 i = 0; i < JAVA_HOPS; i++) {
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
static RT_NOINLINE u64 java_blob(struct RtLangWalk *w, struct RtJvm *j, struct RtLang *l, u64 pc)
{
	if (pc - j->interp < j->interp_size) {
		w->java.blob = j->interp;
		return 1;
	}
	for (u32 i = 0; i < RT_JAVA_HEAPS; i++) {
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

// Its kind, and what its head says, in w->obj.
static RT_NOINLINE u64 java_kind(struct RtLangWalk *w, struct RtJvm *j, struct RtLang *l, u64 pc)
{
	struct RtJavaWalk *v = &w->java;
	u64 blob = v->blob;

	if (rt_lang_read(w, blob, JAVA_BLOB) || pc - blob >= java_half(w, l->java.b_size))
		return 0;
	v->code = l->java.b_short ? blob + java_half(w, l->java.b_code) : rt_lang_word(w, l->java.b_code);
	if (!java_word(w, rt_lang_word(w, l->java.b_name)))
		return 0;
	u64 name = w->tmp[0];
	v->kind = RT_JAVA_STUB;
	if (name == TEXT8('n', 'm', 'e', 't', 'h', 'o', 'd', 0) || name == TEXT8('n', 'a', 't', 'i', 'v', 'e', ' ', 'n')) {
		v->kind = RT_JAVA_CODE;
	} else if (name == TEXT8('v', 't', 'a', 'b', 'l', 'e', ' ', 'c') || name == TEXT8('I', '2', 'C', '/', 'C', '2', 'I', ' ') ||
		   name == TEXT8('M', 'e', 't', 'h', 'o', 'd', 'H', 'a')) {
		v->kind = RT_JAVA_JUMP;
	} else if (name == TEXT8('I', 'n', 't', 'e', 'r', 'p', 'r', 'e')) {
		v->kind = RT_JAVA_INTERP;
		j->interp = blob;
		j->interp_size = java_half(w, l->java.b_size);
	}
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

// The return address lies at sp + n, the caller's frame pointer before it; not if own: it is still in its register.
static RT_NOINLINE u64 java_up(struct RtLangWalk *w, struct RtUw *u, u64 n, u64 own)
{
	u64 slot = u->reg[RT_R_SP] + n, from = own ? slot : slot - 8;

	if (rt_lang_read(w, from, 16))
		return rt_uw_stop(u, RT_WHY_BAD_READ);
	if (own)
		return java_enter(u, w->obj[0], slot, slot + 8);
	u->reg[RT_R_FP] = w->obj[0];
	u->valid |= 1u << RT_R_FP;
	u->saved &= ~(1u << RT_R_FP);
	return java_enter(u, w->obj[1], slot, slot + 8);
}

// A frame that begins where the frame pointer points; sender: the caller's stack pointer is written below it.
static RT_NOINLINE u64 java_up_fp(struct RtLangWalk *w, struct RtUw *u, u64 sender)
{
	u64 fp, sp;

	if (!reg_get(u, RT_R_FP))
		return rt_uw_stop(u, RT_WHY_NO_RULE);
	fp = u->tmp[1];
	if (fp & 7 || fp < u->reg[RT_R_SP] || rt_lang_read(w, fp - 64, 80))
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
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
#define JAVA_SUB(word) (JAVA_3(word, 0xec8348) || JAVA_3(word, 0xec8148)) // sub $imm,%rsp
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

static RT_NOINLINE u64 java_place(struct RtLangWalk *w, u64 pc, u64 bytes, u64 entering)
{
	if (rt_lang_read(w, pc - 8, 24))
		return JAVA_WHOLE;
	u64 before = w->obj[0], code = w->obj[1], next = w->obj[2];
	if (java_left(before, code, next))
		return JAVA_NONE;
	if ((code & 0xff) == 0x5d) // pop %rbp
		return JAVA_PUSHED;
	return entering ? java_entered(before, code, bytes) : JAVA_WHOLE;
}

static RT_INLINE u64 java_leave_sized(struct RtLangWalk *w, struct RtUw *u, u64 bytes, u64 complete)
{
	u64 place = JAVA_WHOLE;

	if (!u->is_ra)
		place = java_place(w, w->java.pc, bytes, w->java.pc - w->java.code < complete);
	if (place == JAVA_NONE)
		return java_up(w, u, 0, 1);
	if (place == JAVA_PUSHED)
		return java_up(w, u, 8, 0);
	if (bytes < 16 || bytes > 1 << 20)
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	return java_up(w, u, bytes - 8, place == JAVA_OWN_FP);
}

static RT_INLINE u64 java_leave_stub(struct RtLangWalk *w, struct RtUw *u, bool jump, u64 bytes)
{
	u64 place;

	if (!u->is_ra) {
		place = java_place(w, w->java.pc, bytes, 1);
		if (place == JAVA_NONE && !jump && (w->obj[1] & 0xff) != 0xc3 && (w->obj[1] & 0xff) != 0x55)
			place = JAVA_WHOLE;
		if (place == JAVA_NONE)
			return java_up(w, u, 0, 1);
		if (place == JAVA_PUSHED)
			return java_up(w, u, 8, 0);
	}
	return bytes ? java_up(w, u, bytes - 8, 0) : java_up_fp(w, u, 0);
}

// ---- what runs in compiled code
// Where the scopes of the place v->pc of an nmethod in w->obj are coded, into v->scope; 0: nowhere. pcs: `n` records {int place, int where, ..} of 16 bytes, by place.
static RT_NOINLINE u64 java_search(struct RtLangWalk *w, u64 pcs, u64 n, u64 place)
{
	u64 lo = 0, hi = n;

	w->tmp[2] = 0;
	for (u32 i = 0; i < JAVA_SEARCH; i++) {
		u64 mid = (lo + hi) >> 1;
		if (lo >= hi)
			break;
		if (!java_word(w, pcs + mid * 16))
			return 0;
		s32 at = (s32)w->tmp[0];
		if (at >= 0 && (u64)at >= place) {
			hi = mid;
			w->tmp[2] = w->tmp[0] >> 32;
		} else {
			lo = mid + 1;
		}
	}
	return (u32)w->tmp[2];
}

static RT_NOINLINE u64 java_compiled(struct RtLangWalk *w, struct RtUw *u, struct RtLang *l)
{
	struct RtJavaWalk *v = &w->java;
	struct RtJava *j = &l->java;
	u64 pc = v->pc, base = v->blob, pcs, end;

	if (rt_lang_read(w, v->blob, j->n_size))
		return 0;
	v->method = rt_lang_word(w, j->n_method);
	v->bcp = v->scopes = 0;
	v->more = RT_JAVA_ONE;
	// a frame whose code is not to go on returns elsewhere, and has where it was
	u64 deopt = j->b_short ? v->blob + java_half(w, j->n_deopt) : rt_lang_word(w, j->n_deopt);
	if (pc == deopt && u->is_ra && java_word(w, u->reg[RT_R_SP] + java_half(w, j->n_orig_pc)))
		pc = w->tmp[0];
	if (j->n_fixed)
		base = rt_lang_word(w, j->n_fixed);
	pcs = base + java_half(w, j->n_pcs);
	end = base + java_half(w, j->n_pcs_end);
	if (j->n_fixed) {
		v->scopes = base + java_half(w, j->n_scopes);
		v->metas = rt_lang_word(w, j->n_moving) + java_half(w, j->n_meta);
	} else {
		v->scopes = rt_lang_word(w, j->n_scopes);
		v->metas = base + java_half(w, j->n_meta);
	}
	if (end <= pcs || end - pcs > 1 << 24 || (pc - v->code) >> 31)
		return 1;
	v->scope = java_search(w, pcs, (end - pcs) / 16, pc - v->code);
	if (v->scope)
		v->more = RT_JAVA_SCOPES;
	return 1;
}

// A number of up to five digits to the base 64, the lowest first, from byte `digits` of w->obj on; bytes from 192 on: more follow. Into w->tmp[0].
static RT_NOINLINE u64 java_number(struct RtLangWalk *w, u64 lowest)
{
	u64 sum = 0, shift = 0;

	for (u32 i = 0; i < 5; i++) {
		u32 at = w->java.digits++ & 63;
		u64 c = rt_lang_byte(w, at);
		sum += (c - lowest) << shift;
		shift += 6;
		if (c < 192)
			break;
	}
	w->tmp[0] = (u32)sum;
	return 0;
}

// The scope at hand: its method and place into v->method and v->bcp, as a number; the one around it is the next.
static RT_INLINE u64 java_scope(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtJavaWalk *v = &w->java;
	u64 sender, method, lowest = l->java.digit;

	if (rt_lang_read(w, v->scopes + v->scope, 32))
		return 0;
	v->digits = 0;
	java_number(w, lowest);
	sender = w->tmp[0];
	java_number(w, lowest);
	method = w->tmp[0];
	java_number(w, lowest);
	v->bcp = w->tmp[0] - 1; // -1: before the first
	if (!method || method > 1 << 20 || sender >= v->scope || !java_word(w, v->metas + (method - 1) * 8)) // the outer ones are written first
		return 0;
	v->method = w->tmp[0];
	v->scope = sender;
	v->more = sender ? RT_JAVA_SCOPES : RT_JAVA_DONE;
	return 1;
}

RT_NOINLINE u64 rt_java_step(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtJavaWalk *v = &w->java;
	u64 consts, pos, size;
	bool coded = v->more == RT_JAVA_SCOPES;

	if (v->more == RT_JAVA_DONE)
		return RT_STEP_NONE;
	if (v->more == RT_JAVA_NAME) {
		v->more = RT_JAVA_DONE;
		return rt_lang_frame(b, v->blob, v->code, v->pc - v->code);
	}
	if (coded && !java_scope(w, l))
		return rt_java_lost(b);
	if (!coded)
		v->more = RT_JAVA_DONE;
	if (v->method & 7 || !java_word(w, v->method + l->java.m_const))
		return rt_java_lost(b);
	consts = w->tmp[0];
	if (consts & 7 || rt_lang_read(w, consts, l->java.c_size))
		return rt_java_lost(b);
	size = java_half(w, l->java.c_code) & JAVA_MASK16;
	pos = coded ? (u32)v->bcp : v->bcp - consts - l->java.c_size;
	if (!coded && pos >= size) // the interpreter keeps it in a register while it runs, in its frame when it calls
		pos = v->scopes - consts - l->java.c_size;
	if (pos >= size)
		pos = 0;
	return rt_lang_frame(b, v->method, consts ^ rt_lang_word(w, l->java.c_pool) << 16 ^ (u64)java_half(w, l->java.c_name) << 40, pos);
}

// ---- the frame at hand
static RT_INLINE u64 java_leave(struct RtStackBuf *b, struct RtJvm *j, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtUw *u = &b->uw;
	struct RtJavaWalk *v = &w->java;
	u64 bytes, complete;

	v->pc = u->pc;
	v->more = RT_JAVA_DONE;
	if (!java_blob(w, j, l, v->pc - u->is_ra) || !java_kind(w, j, l, v->pc - u->is_ra))
		return 0;
	bytes = (u64)(java_half(w, l->java.b_frame) & 0xffffff) * 8;
	complete = java_half(w, l->java.b_complete);
	if (l->java.b_short)
		complete &= JAVA_MASK16;
	if (v->kind == RT_JAVA_INTERP) {
		v->bcp = !u->is_ra && reg_get(u, JAVA_R13) ? u->tmp[1] : 0;
		java_up_fp(w, u, 1);
		if (u->stop)
			return 1;
		v->method = w->obj[5];
		v->scopes = w->obj[0];
		v->more = RT_JAVA_ONE;
	} else if (v->kind == RT_JAVA_CODE) {
		if (!v->native)
			java_compiled(w, u, l);
		java_leave_sized(w, u, bytes, complete);
	} else {
		v->more = RT_JAVA_NAME;
		java_leave_stub(w, u, v->kind == RT_JAVA_JUMP, bytes);
	}
	if (v->more && !v->native)
		w->group = RT_GROUP_FIRST | RT_GROUP_ON | RT_GROUP_JAVA;
	return 1;
}

RT_NOINLINE u64 rtg_java_leave(u64 slot)
{
	u32 key = slot;
	struct RtStackBuf *b = bpf_map_lookup_elem(&rt_stack_bufs, &key);

	if (!b)
		return 0;
	key = b->uw.tgid;
	struct RtJvm *j = bpf_map_lookup_elem(&rt_jvms, &key);
	if (!j) {
		b->lang.java.none = 1;
		return 0;
	}
	key = j->lang;
	b->lang.java.lang = key;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	return l && l->kind == RT_LANG_JAVA ? java_leave(b, j, l) : 0;
}

// ---- at first sight
// A name: its address in w->tmp[1], its bytes in tmp[2]. ptr: where the pointer to it lies.
static RT_NOINLINE u64 java_symbol(struct RtLangWalk *w, struct RtLang *l, u64 ptr)
{
	u64 symbol;

	if (!java_word(w, ptr))
		return 0;
	symbol = w->tmp[0];
	if (symbol & 7 || !symbol || rt_lang_read(w, symbol, 16))
		return 0;
	w->tmp[1] = symbol + l->java.s_body;
	w->tmp[2] = java_half(w, l->java.s_len) & JAVA_MASK16;
	return 1;
}

static RT_INLINE u64 java_copy_name(struct RtLangWalk *w, struct RtLang *l, u64 ptr)
{
	u64 n;

	__builtin_memset(w->made.code.name, 0, sizeof(w->made.code.name));
	if (!java_symbol(w, l, ptr))
		return 0;
	n = w->tmp[2];
	RT_BOUND(n, RT_CODE_NAME);
	w->made.code.name_len = n;
	w->made.code.name_width = 1;
	return !bpf_probe_read_user(w->made.code.name, n, (void *)w->tmp[1]);
}

static RT_INLINE u64 java_copy_class(struct RtLangWalk *w, struct RtLang *l, u64 ptr)
{
	u64 n;

	__builtin_memset(w->made.code.file, 0, sizeof(w->made.code.file));
	w->made.code.file_width = 1 + (l->java.digit & 1); // how numbers in the table of lines are coded
	w->made.code.file_len = 0;
	if (!java_symbol(w, l, ptr))
		return 0;
	n = w->tmp[2];
	RT_BOUND(n, RT_CODE_CLASS);
	w->made.code.lines_kind = n;
	return !bpf_probe_read_user(w->made.code.file, n, (void *)w->tmp[1]);
}

static RT_INLINE void java_copy_file(struct RtLangWalk *w, struct RtLang *l, u64 ptr) // there may be none
{
	u64 n;

	if (!java_symbol(w, l, ptr))
		return;
	n = w->tmp[2];
	RT_BOUND(n, RT_CODE_FILE - RT_CODE_CLASS);
	if (!bpf_probe_read_user(w->made.code.file + RT_CODE_CLASS, n, (void *)w->tmp[1]))
		w->made.code.file_len = n;
}

// What comes behind the table's end is no part of the number: it has addresses in it. 0 ends the table; behind 0xff two numbers follow.
static RT_INLINE void java_end_lines(struct RtLangWalk *w)
{
	volatile u8 *p = w->made.code.lines;
	u32 numbers = 0, ended = 0;

	for (u32 i = 0; i < 16 * 8; i++) {
		u32 c = p[i];
		if (ended)
			p[i] = 0;
		else if (numbers)
			numbers -= c < 192;
		else if (c == 0xff)
			numbers = 2;
		else if (!c)
			ended = 1;
	}
}

static RT_INLINE void java_copy_lines(struct RtLangWalk *w, u64 addr, u64 n)
{
	__builtin_memset(w->made.code.lines, 0, 16 * 8); // what the number is made of
	w->made.code.nlines = 0;
	RT_BOUND(n, RT_CODE_LINES);
	if (n && !bpf_probe_read_user(w->made.code.lines, n, (void *)addr))
		w->made.code.nlines = n;
	java_end_lines(w);
}

// Into v->code the table of lines, and into v->pc its bytes, from the ConstMethod in w->obj.
static RT_INLINE void java_find_lines(struct RtLangWalk *w, struct RtLang *l, u64 consts)
{
	u64 code = java_half(w, l->java.c_code) & JAVA_MASK16, head = l->java.c_size + code, all = (u64)java_half(w, l->java.c_words) * 8;

	w->java.code = consts + head;
	w->java.pc = all > head && java_half(w, l->java.c_flags) & 1 ? all - head : 0;
}

// The runtime's own code: what it calls it.
static RT_NOINLINE u64 java_copy_stub(struct RtLangWalk *w, struct RtLang *l)
{
	__builtin_memset(&w->made.code, 0, offsetof(struct RtCode, lines) + 16 * 8);
	w->made.code.name_len = JAVA_STUB_NAME;
	return java_word(w, w->new_code + l->java.b_name) && !(w->tmp[0] >> RT_UW_PC_BITS) &&
	       !bpf_probe_read_user(w->made.code.name, JAVA_STUB_NAME, (void *)w->tmp[0]);
}

RT_NOINLINE u64 rt_java_copy(struct RtLangWalk *w, struct RtLang *l)
{
	u64 consts, pool, name, holder, file, id;

	if (w->java.kind == RT_JAVA_STUB || w->java.kind == RT_JAVA_JUMP)
		return java_copy_stub(w, l);
	if (!java_word(w, w->new_code + l->java.m_const))
		return 0;
	consts = w->tmp[0];
	if (rt_lang_read(w, consts, l->java.c_size))
		return 0;
	java_find_lines(w, l, consts);
	pool = rt_lang_word(w, l->java.c_pool);
	id = java_half(w, l->java.c_id) & JAVA_MASK16; // methods of one name
	name = java_half(w, l->java.c_name) & JAVA_MASK16;
	if (rt_lang_read(w, pool, l->java.p_size))
		return 0;
	holder = rt_lang_word(w, l->java.p_holder);
	file = java_half(w, l->java.p_file) & JAVA_MASK16;
	if (!l->java.p_file) {
		if (!java_word(w, (holder + l->java.k_file) & ~7ULL))
			return 0;
		file = w->tmp[0] >> (l->java.k_file & 7) * 8 & JAVA_MASK16;
	}
	w->made.code.first_line = id;
	if (!java_copy_name(w, l, pool + l->java.p_size + name * 8) || !java_copy_class(w, l, holder + l->java.k_name))
		return 0;
	if (file)
		java_copy_file(w, l, pool + l->java.p_size + file * 8);
	java_copy_lines(w, w->java.code, w->java.pc);
	return 1;
}
