// v8.bpf.c: the frames of V8's JavaScript. Interpreter, builtins and compiled code keep frame pointers, and below one the function that runs. Input: struct RtV8,
// where a version keeps things; rt_jvms: the process runs V8; its memory. Output: the caller's frame; the function, and its position, as a frame of a group.
// What is shown of a frame: interpreted: the function at its bytecode's position; compiled: the function. A builtin's own frame that is a function's: its name.
// Invariant: a frame is JavaScript's only if what lies there is a function by its types; what was met before counts while its words are the same, and in the same
// thread: objects move, and each isolate counts for itself.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/java_rt.h"
#include "bpfrt/v8_rt.h"
#include "bpfrt/walk_mem.h"

RT_MAP_EXTERN(rt_jvms);
RT_MAP_EXTERN(rt_uw_obj);

#define V8_MARKERS 128
#define V8_R9 9	     // DWARF: the interpreter's place, and its array
#define V8_R12 12

// The type of an object, into w->tmp[0]. 0: it is none.
RT_ONCE u64 rtp_v8_type(struct RtLangWalk *w, struct RtLang *l, u64 object)
{
	if (!w || !l)
		return 0;
	u32 off = l->v8.map_type;

	if (!RT_V8_IS_OBJECT(object) || !java_word(w, object - 1) || !RT_V8_IS_OBJECT(w->tmp[0]) || !java_word(w, w->tmp[0] - 1 + (off & ~7u)))
		return 0;
	w->tmp[0] = w->tmp[0] >> (off & 6) * 8 & JAVA_MASK16;
	return 1;
}

RT_ONCE u64 rtp_v8_own(struct RtLangWalk *w, struct RtLang *l)
{
	if (!w || !l)
		return 0;
	struct RtV8Walk *v = &w->v8;
	u64 h = RT_THREAD(w);

	if (!RT_V8_IS_OBJECT(v->shared) || rt_lang_read(w, v->shared - 1, RT_V8_SHARED))
		return 0;
	rt_v8_mix(&h, w->obj[0]);
	rt_v8_mix(&h, rt_lang_word(w, l->v8.s_name));
	rt_v8_mix(&h, rt_lang_word(w, l->v8.s_script));
	rt_v8_mix(&h, java_half(w, l->v8.s_literal));
	rt_v8_mix(&h, w->java.vm);
	v->own = h;
	return 1;
}

// The function v->func: what tells it from others, into v->own and w->java.ident. 0: there is none.
RT_ONCE u64 rtp_v8_function(struct RtLangWalk *w, struct RtLang *l)
{
	if (!w || !l)
		return 0;
	struct RtV8Walk *v = &w->v8;
	u64 map;

	if (!RT_V8_IS_OBJECT(v->func) || rt_lang_read(w, v->func - 1, 64))
		return 0;
	v->shared = rt_lang_word(w, l->v8.f_shared);
	map = w->obj[0]; // it is checked when a function is met
	if (!rtp_v8_own(w, l))
		return 0;
	w->java.ident = v->own;
	rt_v8_mix(&w->java.ident, map);
	return 1;
}

// What kind of frame it is, by what is in w->obj; the interpreter's place into v->target, what it is the place in into v->table.
static RT_INLINE u32 v8_kind(struct RtLangWalk *w, struct RtUw *u, struct RtLang *l, bool builtin)
{
	struct RtV8Walk *v = &w->v8;
	u64 array = w->obj[4], smi = w->obj[3], at = smi >> 32;

	if (!builtin)
		return RT_V8_COMPILED;
	if (!RT_V8_IS_OBJECT(array) || (u32)smi || at > 1 << 30)
		return RT_V8_BUILTIN;
	if (!u->is_ra && !(rtp_v8_type(w, l, array) && w->tmp[0] == l->v8.t_bytecode)) // a builtin without a frame: that of the code which called it
		return RT_V8_BUILTIN;
	v->table = array;
	if (!u->is_ra && rtp_reg_get(u, V8_R12) && u->tmp[1] == array && rtp_reg_get(u, V8_R9))
		at = u->tmp[1];
	v->target = at + 1 - l->v8.b_data;
	return RT_V8_INTERP;
}

static RT_INLINE u64 v8_is_ours(struct RtLang *l, u32 lang, u64 frame)
{
	u32 key = RT_FRAME_ID(frame);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &key);

	return o && o->lang == lang && RT_FRAME_OFF(frame) - l->loop < l->loop_end - l->loop;
}

static RT_INLINE void v8_group(struct RtLangWalk *w, u32 more, bool first)
{
	w->v8.more = more;
	w->group = RT_GROUP_ON | RT_GROUP_JAVA | RT_GROUP_V8 | (first ? RT_GROUP_FIRST : 0);
}

// Compiled code was left: which code it is, and what it runs, come next.
static RT_INLINE void v8_compiled(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtV8Walk *v = &w->v8;

	v->jitcode = 0;
	if (l->v8.f_code && RT_V8_IS_OBJECT(v->func) && !rt_lang_read(w, v->func - 1, 64))
		v->jitcode = rt_lang_word(w, l->v8.f_code);
	v8_group(w, RT_V8_JIT, true);
}

// The innermost frame, in code made at run time: which code it is tells whether it has its frame yet. Code that is none of V8's is tried once.
static RT_INLINE u64 v8_leave_leaf(struct RtUw *u, struct RtLangWalk *w)
{
	struct RtV8Walk *v = &w->v8;
	u64 here = u->pc ^ (u64)u->tgid << RT_UW_PC_BITS;

	if (v->failed == here) {
		v->failed = 0;
		return 0;
	}
	v->failed = here;
	v->pc = u->pc;
	v->leaf = 1;
	v->func = v->jitcode = 0;
	v8_group(w, RT_V8_JIT, true);
	return 1;
}

// Code in no file that is no function of JavaScript: of WebAssembly, perhaps (track/wasmcode.c).
#define V8_ASK_NS 100000000
static RT_NOINLINE u64 v8_ask(u32 tgid)
{
	struct RtJvm *j = bpf_map_lookup_elem(&rt_jvms, &tgid);
	u64 now = bpf_ktime_get_ns();

	if (j && now - j->interp > V8_ASK_NS) {
		j->interp = now;
		rt_jit_ask(tgid);
	}
	return 0;
}

static RT_INLINE u64 v8_leave(struct RtStackBuf *b, struct RtLang *l, u64 frame)
{
	struct RtLangWalk *w = &b->lang;
	struct RtUw *u = &b->uw;
	struct RtV8Walk *v = &w->v8;
	bool builtin = frame >> 63, called = u->is_ra, bytecode;
	u64 fp;

	v->more = RT_V8_DONE;
	v->leaf = v->by_pos = 0;
	if (!builtin && !called && l->v8.nops)
		return v8_leave_leaf(u, w);
	if ((builtin && !v8_is_ours(l, w->java.lang, frame)) || !rtp_reg_get(u, RT_R_FP))
		return 0;
	fp = u->tmp[1];
	if (fp & 7 || fp < u->reg[RT_R_SP] || rt_lang_read(w, fp - 64, 80))
		return 0;
	if (!RT_V8_IS_OBJECT(w->obj[7])) { // what kind of frame it is, in the place of the function's context
		if (!builtin)
			v8_ask(u->tgid);
		if (!called || w->obj[7] & 1 || w->obj[7] >= V8_MARKERS || (!builtin && !w->obj[7]))
			return 0; // as any code's
		rt_v8_up(u, w, fp);
		return 1;
	}
	v->func = w->obj[6];
	v->kind = v8_kind(w, u, l, builtin);
	if (!called && v->kind != RT_V8_INTERP)
		return 0;
	v->pc = u->pc - 1;
	rt_v8_up(u, w, fp);
	// Baseline code keeps its bytecode where the interpreter does, and inlines nothing. Optimised code has anything there.
	bytecode = v->kind != RT_V8_COMPILED || l->v8.nops || (rtp_v8_type(w, l, w->obj[4]) && w->tmp[0] == l->v8.t_bytecode);
	if (!bytecode)
		rt_uw_guess(u, RT_WHY_GUESS_INLINED);
	if (u->stop || w->java.native)
		return 1;
	if (v->kind == RT_V8_COMPILED && l->v8.nops)
		v8_compiled(w, l);
	else if (rtp_v8_function(w, l))
		v8_group(w, RT_V8_CODE, called);
	return 1;
}

RT_NOINLINE u64 rtg_v8_leave(RT_GIVEN given, u64 frame)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 0;
	key = b->lang.java.lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	return l && l->kind == RT_LANG_V8 ? v8_leave(b, l, frame) : 0;
}

// ---- the frame's functions, as frames of a group
#define V8_LAST (1ULL << 63) // of a frame that is kept: no other is around it in its code; without RT_FRAME_LANG: others may be in it
static RT_INLINE u64 v8_place(struct RtV8Walk *v)
{
	u64 h = v->shared;

	if (v->kind == RT_V8_OPTIMISED)
		return v->pc ^ (u64)(v->nr + 1) << JAVA_NR_SHIFT;
	rt_v8_mix(&h, v->kind == RT_V8_INTERP ? v->target + 1 : 0);
	return h;
}

// A frame of the code at hand was given: its next function, or it was the last.
static RT_INLINE void v8_given(struct RtLangWalk *w, bool last)
{
	w->v8.nr++;
	w->v8.more = last ? RT_V8_DONE : RT_V8_PLACE;
	if (last)
		w->java.more = RT_JAVA_DONE;
}

static RT_INLINE bool v8_is_last(struct RtV8Walk *v)
{
	return v->kind != RT_V8_OPTIMISED || v->nr + 1 >= v->ninner;
}

static RT_INLINE u64 v8_known(struct RtStackBuf *b)
{
	struct RtLangWalk *w = &b->lang;
	u64 frame;

	w->v8.place = v8_place(&w->v8);
	if (!rtp_java_kept(w, w->v8.place) || w->tmp[1] != w->java.ident)
		return 0;
	frame = w->tmp[0];
	if (!(frame & RT_FRAME_LANG))
		rt_uw_guess(&b->uw, RT_WHY_GUESS_INLINED);
	b->uw.frame = (frame & ~V8_LAST) | RT_FRAME_LANG;
	v8_given(w, frame & V8_LAST);
	return 1;
}

static RT_INLINE bool v8_is_function(struct RtLangWalk *w, struct RtLang *l)
{
	return rtp_v8_type(w, l, w->v8.func) && w->tmp[0] - l->v8.t_function < (u64)(l->v8.t_function_end - l->v8.t_function);
}

static RT_INLINE u64 v8_frame(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;
	u64 high = v->pos >> RT_POS_BITS, step, kept;

	if (v->func && !v8_is_function(w, l))
		return RT_STEP_NONE; // the frame stays what it was
	step = rt_lang_frame(b, v->shared ^ high << RT_UW_PC_BITS, v->own, v->pos & RT_POS_MAX);
	if (step == RT_STEP_NEW)
		return rt_v8_copy(w, l, b->uw.tgid) ? RT_STEP_AHEAD : RT_STEP_NONE;
	if (step == RT_STEP_FRAME && !(v->unsure && v->by_pos && !v->dense)) { // that may be known next time
		kept = b->uw.frame | (v8_is_last(v) ? V8_LAST : 0);
		rtp_java_keep(w, v->place, v->unsure ? kept & ~RT_FRAME_LANG : kept);
	}
	v8_given(w, v8_is_last(v));
	return step;
}

// Optimised code of which is not known what runs at its place: the function it was made of.
static RT_INLINE u64 v8_alone(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;

	if (v->unsure)
		rt_uw_guess(&b->uw, RT_WHY_GUESS_INLINED);
	v->shared = v->outer;
	if (v->nr || !rtp_v8_type(w, l, v->shared) || w->tmp[0] != l->v8.t_shared || !rtp_v8_own(w, l))
		return RT_STEP_NONE;
	v->ninner = 1;
	v->func = v->pos = 0;
	v->more = RT_V8_FRAME;
	return RT_STEP_AHEAD;
}

// The thread's own place, or a call without a way out of the code: there is no such record of them, or it makes no sense, but the code's positions tell.
static RT_INLINE void v8_by_pos(struct RtLangWalk *w)
{
	struct RtV8Walk *v = &w->v8;

	v->by_pos = 1;
	v->ninner = 0;
	v->dense = rtp_java_kept(w, RT_V8_DENSE_PLACE) && w->tmp[0] == w->java.vm;
	v->target = v->pc - v->start;
	v->more = RT_V8_OPEN;
}

static RT_INLINE u64 v8_inside(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;
	u64 known;

	if (v->more == RT_V8_PLACE) {
		if (v8_known(b))
			return RT_STEP_FRAME;
		v->more = RT_V8_INNER;
		known = v->ninner || (!v->leaf && rtg_v8_ops(rt_give(b)));
	} else if (v->more == RT_V8_CHAIN) {
		known = rtg_v8_places(rt_give(b));
	} else {
		known = v->more == RT_V8_INNER ? rtg_v8_inner(rt_give(b)) : rtg_v8_ops_left(rt_give(b));
		v->unsure |= !known;
	}
	if (!known && !v->by_pos && (!v->nr || !v->ninner)) {
		v8_by_pos(w);
		return RT_STEP_AHEAD;
	}
	return known ? RT_STEP_AHEAD : v8_alone(b, l);
}

// The function of the frame at hand alone.
static RT_INLINE u64 v8_one(struct RtLangWalk *w, struct RtLang *l)
{
	w->v8.kind = RT_V8_COMPILED;
	w->v8.unsure = 0;
	w->v8.more = RT_V8_CODE;
	return rtp_v8_function(w, l) ? RT_STEP_AHEAD : RT_STEP_NONE;
}

// The innermost frame is none of V8's, or cannot be left as such: it is looked at as any other.
static RT_INLINE u64 v8_not_ours(struct RtStackBuf *b)
{
	v8_ask(b->uw.tgid);
	b->uw.n--;
	b->uw.h1 = b->lang.h1;
	b->uw.h2 = b->lang.h2;
	b->uw.raw = b->lang.java.raw;
	return RT_STEP_NONE;
}

static RT_INLINE u64 v8_made(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;

	if (!rtg_v8_find(rt_give(b))) {
		if (v->more == RT_V8_SCAN)
			return RT_STEP_AHEAD;
		if (v->leaf)
			return v8_not_ours(b);
		rt_uw_guess(&b->uw, RT_WHY_GUESS_INLINED);
		return v8_one(w, l);
	}
	if (v->leaf && !rtg_v8_leaf(rt_give(b)))
		return v8_not_ours(b);
	v->failed = 0;
	if (b->uw.stop || w->java.native)
		return RT_STEP_NONE;
	if (v->jit == l->v8.kind_baseline)
		return v8_one(w, l);
	if ((v->jit != l->v8.kind_maglev && v->jit != l->v8.kind_turbofan) || !rtg_v8_optimised(rt_give(b)))
		return RT_STEP_NONE;
	v->kind = RT_V8_OPTIMISED;
	v->more = RT_V8_PLACE;
	return RT_STEP_AHEAD;
}

static RT_INLINE u64 v8_step(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;

	w->java.more = RT_JAVA_PLACE;
	switch (v->more) {
	case RT_V8_CODE:
		v->unsure = 0;
		if (v8_known(b))
			return RT_STEP_FRAME;
		v->pos = 0;
		v->more = v->kind == RT_V8_INTERP ? RT_V8_OPEN : RT_V8_FRAME;
		return RT_STEP_AHEAD;
	case RT_V8_OPEN:
		v->pos = 0;
		v->more = v->by_pos ? RT_V8_CHAIN : RT_V8_FRAME;
		rtp_v8_table(w, l);
		return RT_STEP_AHEAD;
	case RT_V8_TABLE:
		rtp_v8_search(w);
		return RT_STEP_AHEAD;
	case RT_V8_FRAME:
		return v8_frame(b, l);
	case RT_V8_DONE:
		return RT_STEP_NONE;
	case RT_V8_JIT:
		return v8_made(b, l);
	case RT_V8_SCAN:
		rtg_v8_scan(rt_give(b));
		return RT_STEP_AHEAD;
	case RT_V8_PLACE:
	case RT_V8_OPS_LEFT:
	case RT_V8_CHAIN:
	case RT_V8_INNER:
		return v8_inside(b, l);
	}
	u64 step = rt_v8_copy_text(w, l);
	if (step == RT_STEP_NEW)
		v8_given(w, v8_is_last(v));
	return step;
}

RT_NOINLINE u64 rtg_v8_step(RT_GIVEN given)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return RT_STEP_NONE;
	key = b->lang.java.lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	u64 step = l ? v8_step(b, l) : RT_STEP_NONE;
	if (step == RT_STEP_FRAME)
		rt_lang_func_at(b, b->uw.frame);
	return step;
}
