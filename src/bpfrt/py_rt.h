// py_rt.h: what py.bpf.c and pyasync.bpf.c share of CPython's structures. Kernel side only.
#ifndef SONDE_RT_PY_RT_H
#define SONDE_RT_PY_RT_H
#include "bpfrt/lang_rt.h"
#include "bpfrt/machine.h"

#define RT_PY_OWNER_GEN 1 // FRAME_OWNED_BY_GENERATOR
#define RT_PY_COPIES (1 << 20) // of a code's instructions, at most
#ifdef RT_UW_TASK // of the current thread only
#define RT_PY_ASYNC(w) false
#else
RT_CONST_EXTERN(u32, rt_py_async_asked);
#define RT_PY_ASYNC(w) (rt_py_async_asked && (w)->async.on)
#endif

RT_CONST_EXTERN(u32, rt_off_tp); // the thread pointer of user space

// glibc's struct pthread (bpfrt/langs.h). The thread pointer points to its begin; on arm64 to its end,
// and how long it is depends on the version (_thread_db_sizeof_pthread): 2.36 and 2.39; 2.41 to 2.43; 2.31; 2.35. Of another length no thread state is found.
#if RT_IS_ARM64
#define PTHREAD_SIZES {1856, 1824, 1792, 1984}
#define KEYS_INLINE 0x110
#define KEYS_BLOCKS 0x310
#else
#define PTHREAD_SIZES {0}
#define KEYS_INLINE RT_GLIBC_VALUES
#define KEYS_BLOCKS RT_GLIBC_BLOCKS
#endif
#define KEYS_MAX 1024

static RT_INLINE bool rt_py_ptr(struct RtLangWalk *w, u64 addr)
{
	if (!(addr >> RT_UW_PC_BITS) && !bpf_probe_read_user(&w->tmp[0], 8, (void *)addr))
		return 1;
	w->unread = addr;
	return 0;
}

// musl's; its threads on arm64 are not known here.
static RT_INLINE u64 rt_py_value_musl(struct RtLangWalk *w, u64 tp, u64 key)
{
	return key < RT_MUSL_KEYS_MAX && rt_py_ptr(w, tp + RT_MUSL_VALUES) && rt_py_ptr(w, w->tmp[0] + key * 8);
}

// The value that a thread has under a key, into w->tmp[0]. tp: its struct pthread.
static RT_INLINE u64 rt_py_value(struct RtLangWalk *w, u64 tp, u64 key)
{
	u64 at = tp + KEYS_INLINE;

	if (key >= KEYS_MAX)
		return 0;
	if (key >= 32) {
		if (!rt_py_ptr(w, tp + KEYS_BLOCKS + key / 32 * 8))
			return 0;
		at = w->tmp[0];
	}
	return rt_py_ptr(w, at + key % 32 * 16 + 8);
}

// Words of RtLangState.reg
enum {
	RT_PY_TP,      // the thread's number in its states: its struct pthread
	RT_PY_CURRENT, // the state that is at work, if it is this thread's
	RT_PY_USED,    // the order of the state whose frames were taken last; 0: none's were
	RT_PY_INTERP, RT_PY_STATE, RT_PY_NR, // looked at next: interpreter, its state, how many states there were
	RT_PY_BEST, RT_PY_ORDER, // the innermost state that was found, and its order
};

// The state of the thread whose struct pthread is at tp: as rt_py_state().
static RT_INLINE u64 rt_py_state_at(struct RtLangWalk *w, struct RtLang *l, u64 tp, u64 key, bool musl)
{
	u64 state;

	if (!(musl ? rt_py_value_musl(w, tp, key) : rt_py_value(w, tp, key)))
		return 0;
	state = w->tmp[0];
	if (!state || !rt_py_ptr(w, state + l->py.thread_id) || w->tmp[0] != tp || !rt_py_ptr(w, state + l->py.cframe))
		return 0;
	w->reg[RT_PY_TP] = tp;
	return state;
}

// pyinterp.bpf.c
u64 rt_py_interps(struct RtLangWalk *w, struct RtLang *l, u64 state); // are there several interpreters? Then the thread's states are looked for. state: its own by its key, 0 none
u64 rt_py_scan(struct RtLangWalk *w, struct RtLang *l); // a few of all states. Not 0: that was the last; then the innermost record, or frame, of the next one is in w->tmp[0], 0: none

// The thread's state by its key, 0: it has none. Its innermost record, or frame, into w->tmp[0].
static RT_INLINE u64 rt_py_state(struct RtStackBuf *b, struct RtLang *l)
{
	static const u16 sizes[] = PTHREAD_SIZES;
	struct RtLangWalk *w = &b->lang;
	u64 tp, key, state = 0;

	if (!rt_off_tp || !rt_kread8(&tp, b->uw.task + rt_off_tp) || !rt_py_ptr(w, l->root + w->bias + l->py.key) || !(u32)w->tmp[0])
		return 0;
	key = w->tmp[0] >> 32;
	w->reg[RT_PY_TP] = RT_IS_X86 ? tp : 0;
	RT_UNROLL
	for (u32 i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (!state)
			state = rt_py_state_at(w, l, tp - sizes[i], key, 0);
#if RT_IS_X86
	if (!state) {
		u64 unread = w->unread;
		state = rt_py_state_at(w, l, tp, key, 1);
		w->unread = state ? 0 : unread; // a thread of glibc has other things there, whose memory nobody need wait for
	}
#endif
	return state;
}

// The first of the instructions that the frame in w->obj runs: without the GIL each thread may have a copy of them. 0: it cannot be told.
static RT_INLINE u64 rt_py_first(struct RtLangWalk *w, struct RtLang *l, u64 code)
{
	u64 nr = l->py.frame_copy ? rt_lang_half(w, l->py.frame_copy) : 0;

	if (!nr)
		return code + l->py.code_first;
	return nr < RT_PY_COPIES && rt_py_ptr(w, code + l->py.code_copies) && rt_py_ptr(w, w->tmp[0] + l->py.code_copy + nr * 8) ? w->tmp[0] : 0;
}

// How far the frame in w->obj is in code.
static RT_INLINE u64 rt_py_position(struct RtLangWalk *w, struct RtLang *l, u64 code)
{
	u64 ip, first;

	if (l->py.how == RT_PY_EACH) {
		ip = rt_lang_half(w, l->py.frame_ip);
		return ip >> 31 ? 0 : ip * l->py.ip_unit;
	}
	first = rt_py_first(w, l, code);
	ip = rt_lang_word(w, l->py.frame_ip);
	return first && ip - first < 1ULL << 32 ? ip - first : 0; // before its first instruction: as if there
}

// A code object into w->obj. 0: it is none.
static RT_INLINE u64 rt_py_code(struct RtLangWalk *w, struct RtLang *l, u64 code)
{
	return !(code & 7 || rt_lang_read(w, code, l->py.code_size) || rt_lang_word(w, 8 + l->py.head) != l->code_type + w->bias);
}

static RT_INLINE u64 rt_py_ident(struct RtLangWalk *w, struct RtLang *l)
{
	return rt_lang_word(w, l->py.code_name) ^ rt_lang_word(w, l->py.code_lines) << 20 ^ (u64)rt_lang_half(w, l->py.code_line) << 40;
}
#endif
