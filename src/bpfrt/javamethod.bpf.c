// javamethod.bpf.c: the methods that a frame of Java runs, with those that the compiler has put into one another. Input: what java.bpf.c found of the frame; memory of
// the process; struct RtJava. Output: frames of positions (bci) in methods, for lang.bpf.c.
// Invariant: what was found at a place of code counts as long as the words of its blob are the same (RtJavaWalk.ident); what is not understood leaves the stack cut.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/java_rt.h"

RT_MAP(rt_java_seen, RT_MAP_ARRAY, 4, sizeof(struct RtJavaSeen), 1 << RT_JAVA_SEEN_BITS, 0);
RT_MAP_EXTERN(rt_langs);

#define JAVA_SEARCH 24	  // steps of a search among places of code

RT_NOINLINE u64 rt_java_lost(struct RtStackBuf *b)
{
	b->lang.group = RT_GROUP_NONE;
	if (!b->uw.weak)
		b->uw.weak = RT_WHY_LANG;
	return RT_STEP_NONE;
}

// ---- places met before
static RT_INLINE u32 java_slot(u64 place, u64 vm)
{
	return ((place ^ vm << 40) * 0x9e3779b97f4a7c15ULL) >> (64 - RT_JAVA_SEEN_BITS);
}

RT_ONCE u64 rtp_java_keep(struct RtLangWalk *w, u64 place, u64 what)
{
	if (!w)
		return 0;
	u32 key = java_slot(place, w->java.vm);
	u64 ident = w->java.ident;
	struct RtJavaSeen *e = bpf_map_lookup_elem(&rt_java_seen, &key);

	if (e && !RT_W_LACKS(w)) {
		e->ident = ident;
		e->what = what;
		e->check = place ^ RT_LANG_SEEN_MIX(ident, what);
	}
	return 0;
}

RT_ONCE u64 rtp_java_kept(struct RtLangWalk *w, u64 place)
{
	if (!w)
		return 0;
	u32 key = java_slot(place, w->java.vm);
	struct RtJavaSeen *e = bpf_map_lookup_elem(&rt_java_seen, &key);

	if (!e)
		return 0;
	w->tmp[0] = e->what;
	w->tmp[1] = e->ident;
	return (e->check ^ RT_LANG_SEEN_MIX(w->tmp[1], w->tmp[0])) == place;
}

// ---- what runs in compiled code
// Where the scopes of the place v->pc of an nmethod in w->obj are coded, into v->scope; 0: nowhere. pcs: `n` records {int place, int where, ..} of 16 bytes, by place.
RT_ONCE u64 rtp_java_search(struct RtLangWalk *w, u64 pcs, u64 n, u64 place)
{
	if (!w)
		return 0;
	u64 lo = rt_vary(0), hi = n;

	w->tmp[2] = 0;
	RT_LOOP(i, JAVA_SEARCH) {
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

// What the code at v->at runs is to be read: v->more. 0: it cannot be.
RT_ONCE u64 rtp_java_compiled(struct RtLangWalk *w, struct RtLang *l)
{
	if (!w || !l)
		return 0;
	struct RtJavaWalk *v = &w->java;
	struct RtJava *j = &l->java;
	u64 base = v->blob, pcs, end;

	if (java_read(w, l))
		return 0;
	v->method = rt_lang_word(w, j->n_method);
	v->bcp = v->scopes = 0;
	v->more = RT_JAVA_ONE;
	v->skip = v->nr;
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
	if (end <= pcs || end - pcs > 1 << 24 || (v->at - v->code) >> 31)
		return 1;
	v->scope = rtp_java_search(w, pcs, (end - pcs) / 16, v->at - v->code);
	if (v->scope)
		v->more = RT_JAVA_SCOPES;
	return 1;
}

// A number of up to five digits to the base 64, the lowest first, from byte `digits` of w->obj on; bytes from 192 on: more follow. Into w->tmp[0].
RT_ONCE u64 rtp_java_number(struct RtLangWalk *w, u64 lowest)
{
	if (!w)
		return 0;
	u64 sum = rt_vary(0), shift = rt_vary(0);

	RT_LOOP(i, 5) {
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
	rtp_java_number(w, lowest);
	sender = w->tmp[0];
	rtp_java_number(w, lowest);
	method = w->tmp[0];
	rtp_java_number(w, lowest);
	v->bcp = w->tmp[0] - 1; // -1: before the first
	if (!method || method > 1 << 20 || sender >= v->scope || !java_word(w, v->metas + (method - 1) * 8)) // the outer ones are written first
		return 0;
	v->method = w->tmp[0];
	v->scope = sender;
	v->more = sender ? RT_JAVA_SCOPES : RT_JAVA_DONE;
	return 1;
}

#define JAVA_LAST (1ULL << 63) // of a frame that is kept: no other is around it
#define JAVA_NRS 0x7fffu
static RT_INLINE u64 java_place_nr(struct RtJavaWalk *v)
{
	return v->at ^ (u64)(v->nr + 1) << JAVA_NR_SHIFT;
}

// The next frame of compiled code, as it was found before.
static RT_INLINE u64 java_again(struct RtStackBuf *b)
{
	struct RtJavaWalk *v = &b->lang.java;

	if (!rtp_java_kept(&b->lang, java_place_nr(v)) || b->lang.tmp[1] != v->ident)
		return 0;
	b->uw.frame = b->lang.tmp[0] & ~JAVA_LAST;
	if (b->lang.tmp[0] & JAVA_LAST || v->nr >= JAVA_NRS)
		v->more = RT_JAVA_DONE;
	v->nr++;
	return 1;
}

// The frame of v->method, and v->bcp: coded as a number.
static RT_INLINE u64 java_method(struct RtStackBuf *b, struct RtLang *l, bool coded)
{
	struct RtLangWalk *w = &b->lang;
	struct RtJavaWalk *v = &w->java;
	u64 consts, pos, size;

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

static RT_INLINE u64 java_step(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtJavaWalk *v = &w->java;
	u64 step;

	if (v->more == RT_JAVA_DONE)
		return RT_STEP_NONE;
	if (v->more == RT_JAVA_NAME) {
		v->more = RT_JAVA_DONE;
		return rt_lang_frame(b, v->blob, v->ident, v->pc - v->code);
	}
	if (v->more == RT_JAVA_PLACE) {
		if (java_again(b))
			return RT_STEP_FRAME;
		if (!rtp_java_compiled(w, l))
			return rt_java_lost(b);
	}
	bool coded = v->more == RT_JAVA_SCOPES;
	if (coded && !java_scope(w, l))
		return rt_java_lost(b);
	if (!coded)
		v->more = RT_JAVA_DONE;
	if (v->skip) { // it is in the stack already
		v->skip--;
		return v->more == RT_JAVA_DONE ? RT_STEP_NONE : RT_STEP_AHEAD;
	}
	step = java_method(b, l, coded);
	if (step == RT_STEP_FRAME && v->kind == RT_JAVA_CODE && l->java.n_id)
		rtp_java_keep(w, java_place_nr(v), b->uw.frame | (v->more == RT_JAVA_DONE ? JAVA_LAST : 0));
	v->nr++;
	return step;
}

// The walker calls it itself, as rtg_chain_step().
RT_NOINLINE u64 rtg_java_step(RT_GIVEN given)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return RT_STEP_NONE;
	key = b->lang.java.lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	u64 step = l ? java_step(b, l) : rt_java_lost(b);
	if (step == RT_STEP_FRAME && rt_java_is_method(&b->lang))
		rt_lang_func_at(b, b->uw.frame);
	return step;
}
