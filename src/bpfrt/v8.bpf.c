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
RT_MAP_EXTERN(rt_langs);
RT_MAP_EXTERN(rt_uw_obj);

#define V8_MARKERS 128
#define V8_R9 9	     // DWARF: the interpreter's place, and its array
#define V8_R12 12

static RT_INLINE void v8_mix(u64 *h, u64 word)
{
	u64 a = (*h ^ word) * 0x9e3779b97f4a7c15ULL;
	*h = a ^ a >> 32;
}

// The type of an object, into w->tmp[0]. 0: it is none.
RT_NOINLINE u64 rt_v8_type(struct RtLangWalk *w, struct RtLang *l, u64 object)
{
	u32 off = l->v8.map_type;

	if (!RT_V8_IS_OBJECT(object) || !java_word(w, object - 1) || !RT_V8_IS_OBJECT(w->tmp[0]) || !java_word(w, w->tmp[0] - 1 + (off & ~7u)))
		return 0;
	w->tmp[0] = w->tmp[0] >> (off & 6) * 8 & JAVA_MASK16;
	return 1;
}

// The function whose frame is in w->obj (from 64 bytes below the frame pointer on): what tells it from others, into w->java.ident. 0: there is none.
static RT_NOINLINE u64 v8_function(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtV8Walk *v = &w->v8;
	u64 h = bpf_get_current_pid_tgid();

	if (!RT_V8_IS_OBJECT(v->func) || rt_lang_read(w, v->func - 1, 64))
		return 0;
	v->shared = rt_lang_word(w, l->v8.f_shared);
	v8_mix(&h, w->obj[0]); // the function's map: it is checked when a function is met
	if (!RT_V8_IS_OBJECT(v->shared) || rt_lang_read(w, v->shared - 1, RT_V8_SHARED))
		return 0;
	v8_mix(&h, w->obj[0]);
	v8_mix(&h, rt_lang_word(w, l->v8.s_name));
	v8_mix(&h, rt_lang_word(w, l->v8.s_script));
	v8_mix(&h, java_half(w, l->v8.s_literal));
	v8_mix(&h, w->java.vm);
	w->java.ident = h;
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
	v->table = array;
	if (!u->is_ra && reg_get(u, V8_R12) && u->tmp[1] == array && reg_get(u, V8_R9))
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

static RT_INLINE void v8_up(struct RtUw *u, struct RtLangWalk *w, u64 fp)
{
	u->pc = w->obj[9];
	u->reg[RT_R_SP] = fp + 16;
	u->reg[RT_R_FP] = w->obj[8];
	u->valid = 1u << RT_R_SP | 1u << RT_R_FP; // the frame by which C++ enters keeps the others, where nobody looks
	u->saved = 0;
	u->is_ra = 1;
	u->leaf = 0;
	u->ra_slot = fp + 8;
	if (!u->pc)
		rt_uw_stop(u, RT_WHY_RA_ZERO);
	else if (u->pc >> RT_UW_PC_BITS)
		rt_uw_stop(u, RT_WHY_BAD_CFA);
}

static RT_INLINE u64 v8_leave(struct RtStackBuf *b, struct RtLang *l, u64 frame)
{
	struct RtLangWalk *w = &b->lang;
	struct RtUw *u = &b->uw;
	struct RtV8Walk *v = &w->v8;
	bool builtin = frame >> 63, first = u->is_ra;
	u64 fp;

	v->more = RT_V8_DONE;
	if ((builtin && !v8_is_ours(l, w->java.lang, frame)) || !reg_get(u, RT_R_FP))
		return 0;
	fp = u->tmp[1];
	if (fp & 7 || fp < u->reg[RT_R_SP] || rt_lang_read(w, fp - 64, 80))
		return 0;
	if (!RT_V8_IS_OBJECT(w->obj[7])) { // what kind of frame it is, in the place of the function's context
		if (!builtin || !first || w->obj[7] & 1 || w->obj[7] >= V8_MARKERS)
			return 0; // as any code's
		v8_up(u, w, fp);
		return 1;
	}
	v->func = w->obj[6];
	v->kind = v8_kind(w, u, l, builtin);
	if (!first && !builtin)
		return 0;
	if (!first && v->kind != RT_V8_INTERP)
		return 0;
	v8_up(u, w, fp);
	// Baseline code keeps its bytecode where the interpreter does, and inlines nothing. Optimised code has anything there.
	if (v->kind == RT_V8_COMPILED && !(rt_v8_type(w, l, w->obj[4]) && w->tmp[0] == l->v8.t_bytecode))
		rt_uw_guess(u, RT_WHY_GUESS_INLINED);
	if (u->stop || w->java.native)
		return 1;
	if (v8_function(w, l)) {
		v->more = RT_V8_CODE;
		w->group = RT_GROUP_ON | RT_GROUP_JAVA | RT_GROUP_V8 | (first ? RT_GROUP_FIRST : 0);
	}
	return 1;
}

RT_NOINLINE u64 rtg_v8_leave(u64 slot, u64 frame)
{
	u32 key = slot;
	struct RtStackBuf *b = bpf_map_lookup_elem(&rt_stack_bufs, &key);

	if (!b)
		return 0;
	key = b->lang.java.lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	return l && l->kind == RT_LANG_V8 ? v8_leave(b, l, frame) : 0;
}

// ---- the frame's function, as a frame of a group
static RT_INLINE u64 v8_place(struct RtV8Walk *v)
{
	u64 h = v->shared;

	v8_mix(&h, v->kind == RT_V8_INTERP ? v->target + 1 : 0);
	return h;
}

static RT_INLINE u64 v8_frame(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	u64 high = w->v8.pos >> RT_POS_BITS, step;

	step = rt_lang_frame(b, w->v8.shared ^ high << RT_UW_PC_BITS, w->java.ident, w->v8.pos & RT_POS_MAX);
	if (step == RT_STEP_FRAME)
		rt_java_keep(w, w->v8.place, b->uw.frame);
	if (step == RT_STEP_NEW)
		return rt_v8_copy(w, l, b->uw.tgid) ? RT_STEP_AHEAD : RT_STEP_NONE; // no function: the frame stays what it was
	w->v8.more = RT_V8_DONE;
	w->java.more = RT_JAVA_DONE;
	return step;
}

static RT_INLINE u64 v8_step(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtV8Walk *v = &w->v8;

	w->java.more = RT_JAVA_PLACE;
	if (v->more == RT_V8_CODE) {
		v->place = v8_place(v);
		if (rt_java_kept(w, v->place) && w->tmp[1] == w->java.ident) {
			b->uw.frame = w->tmp[0];
			v->more = RT_V8_DONE;
			w->java.more = RT_JAVA_DONE;
			return RT_STEP_FRAME;
		}
		v->pos = 0;
		v->more = RT_V8_FRAME;
		if (v->kind == RT_V8_INTERP)
			rt_v8_table(w, l);
		return RT_STEP_AHEAD;
	}
	if (v->more == RT_V8_TABLE) {
		rt_v8_search(w);
		return RT_STEP_AHEAD;
	}
	if (v->more == RT_V8_FRAME)
		return v8_frame(b, l);
	if (v->more == RT_V8_DONE)
		return RT_STEP_NONE;
	u64 step = rt_v8_copy_text(w, l);
	if (step == RT_STEP_NEW)
		w->java.more = RT_JAVA_DONE;
	return step;
}

RT_NOINLINE u64 rtg_v8_step(u64 slot)
{
	u32 key = slot;
	struct RtStackBuf *b = bpf_map_lookup_elem(&rt_stack_bufs, &key);

	if (!b)
		return RT_STEP_NONE;
	key = b->lang.java.lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	u64 step = l ? v8_step(b, l) : RT_STEP_NONE;
	if (step == RT_STEP_FRAME)
		rt_lang_func_at(b, b->uw.frame);
	return step;
}
