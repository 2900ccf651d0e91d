// v8jit.bpf.c: which functions run at a place of code that V8's compilers made, with those that they have put into one another. Input: a place; memory of the
// process; struct RtV8. Output: the Code around the place; functions and their bytecodes, the innermost first, for v8.bpf.c.
// How a place is found: its Code by the function of its frame, or by the nearest beginning of instructions below that leads to a Code which holds the place. Behind the
// instructions a table has the places at which calls return; optimised code has there the number of a record of its data, which says how the frames of the functions
// would be made again if the code were left: instructions of a few numbers each, some of which say "as in that other place".
// Invariant: all is bounded; what does not fit together leaves the outer function alone, and the stack counts as a guess if others were put into it.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/java_rt.h"
#include "bpfrt/v8_rt.h"

#define V8_CODE 64	 // bytes that are read of a Code
#define V8_DATA 128	 // of its data for leaving
#define V8_ALIGN 64	 // of instructions
#define V8_SCAN 8	 // beginnings that are looked at in a round
#define V8_SCANS 256	 // such rounds
#define V8_SEARCH 20	 // steps of a search in a table
#define V8_EXIT 4	 // bytes of a way out of optimised code
#define V8_OPS 4	 // instructions in a round
#define V8_OPS_MAX 8192	 // in all
#define V8_OP 40	 // bytes of one, at most

// ---- which code
RT_ONCE u64 rtp_v8_holds(struct RtLangWalk *w, struct RtLang *l, u64 code)
{
	if (!w || !l)
		return 0;
	struct RtV8Walk *v = &w->v8;
	u64 start, bytes;

	if (!RT_V8_IS_OBJECT(code) || rt_lang_read(w, code - 1, V8_CODE))
		return 0;
	start = rt_lang_word(w, l->v8.c_start);
	bytes = java_half(w, l->v8.c_size);
	if (v->pc - start >= bytes)
		return 0;
	v->jitcode = code;
	v->start = start;
	v->bytes = bytes;
	v->deopt = rt_lang_word(w, l->v8.c_deopt);
	v->jit = java_half(w, l->v8.c_flags) >> (l->v8.kind_shift & 31) & l->v8.kind_mask;
	return 1;
}

#define V8_CODE_PLACE ((u64)0xffff << JAVA_NR_SHIFT)
// That there was none holds for some seconds.
static RT_INLINE u64 v8_none_now(void)
{
	return bpf_ktime_get_ns() >> 32 << 2 | 2;
}

static RT_INLINE u64 v8_find(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;

	if (rtp_v8_holds(w, l, v->jitcode))
		return 1;
	v->jitcode = 0;
	if (rtp_java_kept(w, v->pc ^ V8_CODE_PLACE)) {
		u64 what = w->tmp[0];
		if (what == v8_none_now())
			return 0;
		if (rtp_v8_holds(w, l, what))
			return 1;
	}
	v->at = (v->pc & ~(u64)(V8_ALIGN - 1)) - l->v8.c_stream;
	v->scans = 0;
	v->more = RT_V8_SCAN;
	return 0;
}
RT_V8_GLOBAL(v8_find)

static RT_INLINE u64 v8_scan(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;

	RT_LOOP(i, V8_SCAN) {
		u64 at = v->at;
		v->at = at - V8_ALIGN;
		if (at >> RT_UW_PC_BITS || bpf_probe_read_user(&w->tmp[2], 16, (void *)at)) {
			v->scans = V8_SCANS;
			break;
		}
		if (RT_V8_IS_OBJECT(w->tmp[2]) && rtp_v8_holds(w, l, w->tmp[3]) && v->start == at + l->v8.c_stream) {
			rtp_java_keep(w, v->pc ^ V8_CODE_PLACE, v->jitcode);
			v->more = RT_V8_JIT;
			return 1;
		}
	}
	if (++v->scans < V8_SCANS)
		return 0;
	v->jitcode = 0;
	rtp_java_keep(w, v->pc ^ V8_CODE_PLACE, v8_none_now());
	v->more = RT_V8_JIT;
	return 0;
}
RT_V8_GLOBAL(v8_scan)

// ---- what optimised code says of itself
static RT_INLINE u64 v8_element(struct RtLangWalk *w, struct RtLang *l, u32 i) // of the array in w->obj
{
	return rt_lang_word(w, l->v8.a_data + i * 8);
}

static RT_INLINE u64 v8_optimised(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;
	u64 h = RT_THREAD(w);

	if (!RT_V8_IS_OBJECT(v->deopt) || rt_lang_read(w, v->deopt - 1, V8_DATA))
		return 0;
	v->literals = v8_element(w, l, l->v8.d_literals);
	v->outer = v8_element(w, l, l->v8.d_shared);
	v->unsure = v8_element(w, l, l->v8.d_inlined) >> 32 != 0;
	v->exits = v8_element(w, l, l->v8.d_first - 3) >> 32;
	v->nexits = (v8_element(w, l, l->v8.d_first - 2) >> 32) + (v8_element(w, l, l->v8.d_first - 1) >> 32);
	rt_v8_mix(&h, v->start);
	rt_v8_mix(&h, v->deopt);
	rt_v8_mix(&h, v8_element(w, l, l->v8.d_id)); // no other compilation has it
	rt_v8_mix(&h, v->literals);
	rt_v8_mix(&h, w->java.vm);
	w->java.ident = h;
	v->ninner = v->nr = v->by_pos = 0;
	if (l->v8.d_wrapped)
		v->outer = RT_V8_IS_OBJECT(v->outer) && java_word(w, v->outer - 1 + l->v8.d_wrapped) ? w->tmp[0] : 0;
	return 1;
}
RT_V8_GLOBAL(v8_optimised)

// ---- where it says what runs at a place
static RT_INLINE u64 v8_low(u64 word, u64 bytes)
{
	return word & ((1ULL << (bytes * 8 & 63)) - 1);
}

// The number of the record of v->pc + 1, in a table of {place, number + 1, place of the way out, registers}, each of so many bytes; ~0: it has none. Where code was given up
// while it ran, the return address has become that of the way out; these have the records' order.
RT_ONCE u64 rtp_v8_record(struct RtLangWalk *w, struct RtLang *l)
{
	if (!w || !l)
		return 0;
	struct RtV8Walk *v = &w->v8;
	bool maglev = v->jit == l->v8.kind_maglev;
	u64 table = v->start + v->bytes, wanted = v->pc + 1 - v->start, lo = rt_vary(0), hi, size, how, pcs, numbers;

	if (wanted - v->exits < v->nexits * V8_EXIT)
		return (wanted - v->exits) & (V8_EXIT - 1) ? ~0ULL : (wanted - v->exits) / V8_EXIT;
	if (rt_lang_read(w, table, 16))
		return ~0ULL;
	w->tmp[1] = rt_lang_half(w, l->v8.t_config - 4); // by way of memory: else the verifier of Linux 6.1 follows each round of the loop below anew
	w->tmp[2] = rt_lang_half(w, l->v8.t_config);
	hi = (u32)((volatile u64 *)w->tmp)[1];
	how = ((volatile u64 *)w->tmp)[2];
	pcs = how >> 4 & 7;
	numbers = how >> 7 & 7;
	if (!(how & 1) || pcs > 4 || numbers > 4 || hi > 1 << 20)
		return ~0ULL;
	size = 2 * pcs + numbers + (how >> 1 & 7) + maglev;
	table += maglev ? l->v8.t_head_maglev : l->v8.t_head;
	RT_LOOP(i, V8_SEARCH) { // the first one that is not before it
		u64 mid = (lo + hi) >> 1;
		if (lo >= hi)
			break;
		if (!java_word(w, table + mid * size))
			return ~0ULL;
		if (v8_low(w->tmp[0], pcs) < wanted)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!java_word(w, table + lo * size) || v8_low(w->tmp[0], pcs) != wanted || !java_word(w, table + lo * size + pcs))
		return ~0ULL;
	return v8_low(w->tmp[0], numbers) - 1;
}

// The instruction at `at`: its code and operands (of signed ones bit 0 is the sign), and v->len.
static RT_INLINE u64 v8_op_at(struct RtLangWalk *w, struct RtLang *l, u64 at)
{
	struct RtV8Walk *v = &w->v8;
	u64 code, kind, count, acc = rt_vary(0), shift = rt_vary(0), n = rt_vary(0), len = rt_vary(1);

	if (rt_lang_read(w, at, V8_OP))
		return 0;
	code = w->obj[0] & 0xff;
	if (code >= l->v8.nops) {
		v->op[0] = code - l->v8.nops;
		v->len = 1;
		return RT_V8_OP_MATCH;
	}
	kind = l->v8.ops[code & (RT_V8_OPS - 1)];
	count = kind & RT_V8_OP_COUNT;
	RT_LOOP(i, V8_OP - 1) {
		u64 c = ((volatile u8 *)w->obj)[1 + i], inside = (n - count) >> 63, slot = n & 7;
		RT_BARRIER(c);
		RT_BARRIER(inside);
		acc |= (c & 0x7f) << (shift & 63);
		RT_BARRIER(slot);
		v->op[slot] = acc;
		u64 last = (c >> 7 ^ 1) & inside;
		len += inside;
		n += last;
		shift = (shift + 7) & (last - 1);
		acc &= last - 1;
		RT_BARRIER(acc);
		RT_BARRIER(n);
		RT_BARRIER(shift);
		RT_BARRIER(len);
	}
	v->len = len;
	return kind | 0x100;
}

RT_NOINLINE u64 rtg_v8_op(RT_GIVEN given, u64 at)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 0;
	key = b->lang.java.lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	return l ? v8_op_at(&b->lang, l, at) : 0;
}

// Where the instructions of v->pc begin. 0: it has none.
static RT_INLINE u64 v8_ops(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;
	u64 nr = rtp_v8_record(w, l), data = v->deopt - 1 + l->v8.a_data, back, index, frames;

	if (nr > 1 << 20 || !java_word(w, data + (l->v8.d_first + nr * l->v8.d_entry + 1) * 8))
		return 0;
	index = w->tmp[0] >> 32;
	if (!java_word(w, data) || !RT_V8_IS_OBJECT(w->tmp[0]))
		return 0;
	v->p = w->tmp[0] - 1 + l->v8.a_data + index;
	if (!(rtg_v8_op(rt_give(b), v->p) & RT_V8_OP_BEGIN))
		return 0;
	back = v->op[0];
	frames = v->op[2];
	v->q = back ? v->p - back : 0;
	v->p += v->len;
	if (v->q) {
		if (back > index || !(rtg_v8_op(rt_give(b), v->q) & RT_V8_OP_BEGIN))
			return 0;
		v->q += v->len;
	}
	v->left = frames >> 1;
	if (frames & 1 || !v->left || v->left > RT_V8_INNERS)
		return 0;
	v->ninner = v->ops = v->rem = 0;
	v->more = RT_V8_OPS_LEFT;
	return 1;
}
RT_V8_GLOBAL(v8_ops)

static RT_INLINE void v8_put(struct RtV8Walk *v, u64 kind)
{
	u64 i = v->ninner & (RT_V8_INNERS - 1), in = (v->op[1] >> 1 & 0x3fffffff) << 32;

	if (!(kind & (RT_V8_OP_FUNC | RT_V8_OP_BUILTIN)))
		return;
	in |= v->op[0] & 1 ? 0xffffffff : v->op[0] >> 1 & 0x7fffffff; // before the first
	if (kind & RT_V8_OP_BUILTIN)
		in |= RT_V8_IN_BUILTIN;
	RT_BARRIER(i);
	v->in[i] = in;
	v->ninner++;
	v->left--;
}

// One instruction. 0: it cannot be read.
static RT_INLINE u64 v8_next(struct RtStackBuf *b)
{
	struct RtV8Walk *v = &b->lang.v8;
	u64 kind;

	if (v->rem) {
		kind = rtg_v8_op(rt_give(b), v->q);
		if (!kind || kind & (RT_V8_OP_BEGIN | RT_V8_OP_MATCH))
			return 0;
		v8_put(v, kind);
		v->q += v->len;
		v->rem--;
		return 1;
	}
	kind = rtg_v8_op(rt_give(b), v->p);
	if (!kind || kind & RT_V8_OP_BEGIN)
		return 0;
	v->p += v->len;
	if (kind & RT_V8_OP_MATCH) {
		v->rem = v->op[0];
		return v->q && v->rem;
	}
	v8_put(v, kind);
	if (!v->q)
		return 1;
	kind = rtg_v8_op(rt_give(b), v->q);
	if (!(kind & RT_V8_OP_BEGIN)) // else it has no more
		v->q += v->len;
	return kind != 0;
}

// Some of them. 0: they make no sense; v->more == RT_V8_INNER: all functions are known.
static RT_INLINE u64 v8_ops_left(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtV8Walk *v = &b->lang.v8;
	(void)l;

	RT_LOOP(i, V8_OPS) {
		if (!v->left)
			break;
		if (v->ops++ > V8_OPS_MAX || !v8_next(b)) {
			v->ninner = 0;
			return 0;
		}
	}
	if (!v->left) {
		v->more = RT_V8_INNER;
		v->unsure = 0;
	}
	return 1;
}
RT_V8_GLOBAL(v8_ops_left)

// ---- by the code's own positions
// The compiler writes those of calls, or, if it is told to, as Node does, of all instructions, with the function that was put into the code: that of an instruction is told by
// the last one before it only if they are of all. Then they are more than the calls, at least in one code of the process.
#define V8_INLINED 16 // bytes of an entry of the list of them: the position of the call, and which function

static RT_INLINE u64 v8_places(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;
	u64 raw = v->pos, list, bytes, n = rt_vary(0);

	if (!v->dense) {
		if (rt_lang_read(w, v->start + v->bytes, 16) || v->places <= rt_lang_half(w, l->v8.t_config - 4) + 1)
			return 0;
		rtp_java_keep(w, RT_V8_DENSE_PLACE, w->java.vm);
		v->dense = 1;
	}
	if (!v->places || !java_word(w, v->deopt - 1 + l->v8.a_data + (l->v8.d_first - 4) * 8) || !RT_V8_IS_OBJECT(w->tmp[0]))
		return 0;
	list = w->tmp[0] - 1;
	if (!java_word(w, list + 8))
		return 0;
	bytes = rt_v8_length(l, w->tmp[0]);
	RT_LOOP(i, RT_V8_INNERS) {
		u64 slot = n & (RT_V8_INNERS - 1), at = (raw >> 31 & 0xffff) * V8_INLINED, in = rt_v8_offset(raw);
		RT_BARRIER(slot);
		v->in[slot] = in;
		n++;
		if (!at) {
			v->ninner = n;
			v->more = RT_V8_INNER;
			v->unsure = 0;
			break;
		}
		if (at > bytes || bpf_probe_read_user(&w->tmp[2], V8_INLINED, (void *)(list + l->v8.a_data + at - V8_INLINED)))
			break;
		raw = w->tmp[2];
		v->in[slot] = in | (u64)((u32)w->tmp[3] + 1) << 32;
	}
	return v->ninner;
}
RT_V8_GLOBAL(v8_places)

// ---- the functions
// Number v->nr of them, into v->shared and v->own; what its place is sought in: v->more. 0: it is none.
static RT_INLINE u64 v8_inner(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;
	u64 i = (v->by_pos ? v->nr : v->ninner - 1 - v->nr) & (RT_V8_INNERS - 1), in, code, literal;

	RT_BARRIER(i);
	in = v->in[i];
	v->func = v->pos = 0;
	v->more = RT_V8_FRAME;
	literal = in >> 32 & 0x3fffffff;
	if (v->by_pos && !literal--) {
		v->shared = v->outer;
	} else {
		if (!RT_V8_IS_OBJECT(v->literals) || !java_word(w, v->literals - 1 + l->v8.a_data + literal * 8))
			return 0;
		v->shared = w->tmp[0] & ~2ULL; // a weak reference
	}
	if (!rtp_v8_type(w, l, v->shared) || w->tmp[0] != l->v8.t_shared || !rtp_v8_own(w, l))
		return 0;
	if (v->by_pos)
		v->pos = (u32)in;
	if (v->by_pos || in & RT_V8_IN_BUILTIN)
		return 1;
	code = rt_lang_word(w, l->v8.s_data);
	if (!rtp_v8_type(w, l, code))
		return 1;
	if (w->tmp[0] != l->v8.t_bytecode) { // baseline code has it where others have data for leaving
		if (!java_word(w, code - 1 + l->v8.c_deopt))
			return 1;
		code = w->tmp[0];
	}
	v->table = code;
	v->target = (u64)(s64)(s32)in;
	if (v->target != ~0ULL)
		v->more = RT_V8_OPEN;
	return 1;
}
RT_V8_GLOBAL(v8_inner)
