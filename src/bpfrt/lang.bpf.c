// lang.bpf.c: frames of languages whose programs an interpreter runs, whatever the runtime: when to ask which one, and the numbers of code objects.
// Input: rt_langs, which user space fills; memory of the process. Output: frames for the walker (unwind.bpf.c), records of new codes.
// Invariant: a code's number is made of its content, so it is the same in all processes and for ever; what lies at an address is looked at each time, so
// memory that is used again has no name of something else. Each round of the walk is one frame: a chain without end ends as a deep stack does.
// A runtime is a file of its own with its functions begin, step and copy: see those of CPython in py.bpf.c, and the calls below.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/lang_rt.h"
#include "bpfrt/py_rt.h"

RT_MAP(rt_langs, RT_MAP_ARRAY, 4, sizeof(struct RtLang), RT_LANGS, RT_F_MMAPABLE);
RT_MAP(rt_lang_seen, RT_MAP_ARRAY, 4, sizeof(struct RtLangSeen), 1 << RT_LANG_SEEN_BITS, 0);
RT_MAP_EXTERN(rt_uw_events);
RT_MAP_EXTERN(rt_uw_obj);
RT_MAP_EXTERN(rt_jits);

// ---- what the runtimes use
RT_NOINLINE u64 rt_lang_lost(struct RtStackBuf *b)
{
	b->lang.off = 1;
	b->lang.group = RT_GROUP_NONE;
	if (!b->uw.weak)
		b->uw.weak = RT_WHY_LANG;
	return RT_STEP_NONE;
}

// ---- numbers of codes
#define HASHED (offsetof(struct RtCode, lines) / 8 + 16) // words that the number is made of: all but most of the lines

// The number of the content of w->made.code, which user space is told. Not 0.
static RT_NOINLINE u64 number_code(struct RtLangWalk *w)
{
	u64 h1 = 0, h2 = 0;

	w->made.code.check = 0;
	RT_LOOP(i, HASHED)
		rt_stack_hash(&h1, &h2, ((volatile u64 *)&w->made.code)[i]);
	w->made.code.check = h2;
	w->made.id = h1 >> (64 - RT_CODE_BITS) | 1;
	return w->made.id;
}

static RT_NOINLINE u64 tell_code(struct RtLangWalk *w)
{
	u64 n = w->made.code.nlines;

	RT_BOUND(n, RT_CODE_LINES);
	w->made.ev.kind = RT_EV_CODE;
	w->made.ev.id = 0;
	return bpf_ringbuf_output(&rt_uw_events, &w->made, offsetof(struct RtCodeNew, code.lines) + n, 0);
}

static RT_INLINE u32 place_of(struct RtUw *u, u64 code)
{
	return ((code ^ (u64)u->tgid << 48) * 0x9e3779b97f4a7c15ULL) >> (64 - RT_LANG_SEEN_BITS);
}

RT_NOINLINE u64 rt_lang_frame(struct RtStackBuf *b, u64 code, u64 ident, u64 pos)
{
	struct RtUw *u = &b->uw;
	u32 key = place_of(u, code);
	struct RtLangSeen *e = bpf_map_lookup_elem(&rt_lang_seen, &key);

	u->frame = RT_FRAME_LANG | (pos < RT_POS_MAX ? pos : RT_POS_MAX);
	ident = (ident ^ u->tgid) * 0x9e3779b97f4a7c15ULL ^ u->gen;
	b->lang.new_code = code;
	b->lang.new_ident = ident;
	if (!e)
		return RT_STEP_NEW;
	u64 had = e->ident, id = e->id;
	if (had != ident || (e->check ^ RT_LANG_SEEN_MIX(had, id)) != code)
		return RT_STEP_NEW;
	u->frame |= (id & ((1ULL << RT_CODE_BITS) - 1)) << RT_POS_BITS;
	return RT_STEP_FRAME;
}

static RT_INLINE u64 made_bias(struct RtStackBuf *b)
{
	u32 key = b->uw.tgid;
	struct RtJit *j = bpf_map_lookup_elem(&rt_jits, &key);

	b->lang.bias = j ? j->bias : 0;
	return j != NULL;
}

static RT_INLINE u64 further_loop(struct RtStackBuf *b)
{
	u32 key = b->lang.lang;

	if (b->lang.chain)
		return rt_chain_again(b);
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	return l ? rt_py_again(&b->lang, l) : 0;
}

// ---- several runtimes on a stack
// The frame at hand is of runtime nr, the one before of another. What was left of nr's frames goes on, if there were some. 0: they are to begin; nothing but two are kept.
static RT_NOINLINE u64 switch_to(struct RtStackBuf *b, u32 nr)
{
	struct RtLangWalk *w = &b->lang;
	volatile u64 *now = (u64 *)&w->now, *other = (u64 *)&w->other;
	bool had = w->other.lang;

	if (had && w->other.lang != nr) {
		rt_lang_lost(b);
		return 1;
	}
	RT_LOOP(i, sizeof(struct RtLangState) / 8) {
		u64 v = now[i];
		now[i] = other[i];
		other[i] = v;
	}
	w->py_kept = w->py_taken = 0; // what is read again
	if (had && w->again)
		further_loop(b);
	return had;
}

// ---- what the walker calls; global functions (btfgen.c: by their names) are verified once in a program
// The first frame in a runtime's object, one in another's than the last, or a further one whose loop is to be looked at: frame as in struct RtStack, of a place at `look`.
RT_NOINLINE u64 rtg_lang_begin(RT_GIVEN given, u64 look, u64 frame)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 1;
	u32 object = RT_FRAME_ID(frame), further = b->lang.lang && b->lang.look;
	bool moved = object != b->lang.object;
	key = object;
	b->lang.look = 0;
	b->lang.object = object;
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &key);
	key = o ? o->lang : 0;
	u32 nr = key & ~RT_UW_LANG_MADE;
	if (b->lang.lang && (!moved || nr == b->lang.lang)) {
		if (further)
			further_loop(b);
		return 0;
	}
	if (b->lang.lang && switch_to(b, nr))
		return 0;
	b->lang.bias = look - RT_FRAME_OFF(frame);
	if (key & RT_UW_LANG_MADE)
		key = made_bias(b) ? key & ~RT_UW_LANG_MADE : 0;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	b->lang.lang = key;
	b->lang.each = b->lang.again = 0;
	if (l && l->kind == RT_LANG_GO)
		rt_go_begin(b, l, look, frame);
	b->lang.chain = l ? l->chain : 0;
	b->lang.off = !key || !l || !(l->chain ? rt_chain_begin(b, l) : l->kind == RT_LANG_PYTHON && rt_py_begin(b, l));
	return 0;
}

// The frame at hand has a code whose place was not met before, or held another: its number. As rtg_lang_step().
RT_NOINLINE u64 rtg_lang_new(RT_GIVEN given)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return RT_STEP_NONE;
	struct RtLangWalk *w = &b->lang;
	bool java = w->group & RT_GROUP_JAVA;
	key = java ? w->java.lang : w->lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	bool copied = w->group & RT_GROUP_V8 || (l && l->chain && !java);
	if (!l || !(copied || (java ? rt_java_copy(w, l) : rt_py_copy(w, l))))
		return java ? rt_java_lost(b) : rt_lang_lost(b);
	if (RT_LACKS(b))
		return RT_STEP_NONE;
	w->made.code.kind = l->kind;
	u64 id = number_code(w), code = w->new_code, ident = w->new_ident;
	b->uw.frame |= id << RT_POS_BITS;
	if (!java || w->group & RT_GROUP_V8 || rt_java_is_method(w))
		rt_lang_func_at(b, b->uw.frame);
	if (tell_code(w)) // no room now: at its next sight
		return RT_STEP_FRAME;
	key = place_of(&b->uw, code);
	struct RtLangSeen *e = bpf_map_lookup_elem(&rt_lang_seen, &key);
	if (e) {
		e->ident = ident;
		e->id = id;
		e->check = code ^ RT_LANG_SEEN_MIX(ident, id);
	}
	return RT_STEP_FRAME;
}

// The frame at hand of the group at hand, into b->uw.frame: enum RtLangStep. Those of Java and of a chain are rtg_java_step() and rtg_chain_step().
RT_NOINLINE u64 rtg_lang_step(RT_GIVEN given)
{
	u32 key;
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return RT_STEP_NONE;
	key = b->lang.lang;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key);
	u64 step = !l ? rt_lang_lost(b) : RT_PY_ASYNC(&b->lang) && b->lang.async.phase ? rt_py_async(b, l) : rt_py_step(b, l);
	if (step == RT_STEP_FRAME)
		rt_lang_func_at(b, b->uw.frame);
	return step;
}
