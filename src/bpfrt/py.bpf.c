// py.bpf.c: the frames of CPython. Input: struct RtPython, where a version keeps things; memory of the process. Output: frames of code objects and
// positions in them, for lang.bpf.c.
// How they hang together. 3.11, 3.12: the thread state, under a pthread key that _PyRuntime names, points to a record (_PyCFrame) in the C frame of the
// innermost eval loop, and that to the innermost frame the loop runs and to the record of the next outer loop. A loop runs several frames in one another
// (a call of Python from Python is no call in C); the last of them says so. From 3.13 on the thread state points to the innermost frame, and the last one of a
// loop lies in the loop's C frame. Up to 3.10 each frame is run by a loop of its own. The thread state by its key, and not by a thread-local variable, because a
// thread that has given the GIL away to wait has none there.
// Invariant: nothing is trusted: a thread state has the thread's own number in it, a code object the type of code objects; records lie ever higher.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/lang_rt.h"
#include "bpfrt/py_rt.h"

// The innermost record w->record: its frame and the next record. Garbage is found out by rt_py_step().
RT_ONCE u64 rtp_load_record(struct RtLangWalk *w, struct RtLang *l)
{
	if (!w || !l)
		return 0;
	if (w->record & 7 || !w->record || rt_lang_read(w, w->record, 24)) {
		w->record = 0;
		return 0;
	}
	w->frame = rt_lang_word(w, l->py.cframe_frame);
	w->next_record = rt_lang_word(w, l->py.cframe_prev);
	return 1;
}

// The next group begins with w->frame; which loop's it is says its last frame.
static RT_INLINE void look_ahead(struct RtLangWalk *w)
{
	w->record = 0;
	w->ahead = w->frame;
	w->steps = 0;
	w->py_kept = w->py_taken = 0;
	w->group = w->frame ? RT_GROUP_AHEAD : RT_GROUP_NONE;
}

// The frame at `at` into w->py[slot]. 0: it cannot be read.
RT_ONCE u64 rtp_read_frame(struct RtLangWalk *w, struct RtLang *l, u64 at, u64 slot)
{
	if (!w || !l)
		return 0;
	if (at & 7 || !at || slot > RT_PY_AT_HAND || rt_lang_read(w, at, l->py.frame_size))
		return 0;
	struct RtPyFrame *f = &w->py[slot];
	f->code = rt_lang_word(w, l->py.frame_code) & ~3ULL; // 3.14 has marks in the low bits
	f->pos = rt_py_position(w, l, f->code);
	f->last = l->py.how == RT_PY_EACH || rt_lang_byte(w, l->py.frame_end) == l->py.end_value;
	f->prev = rt_lang_word(w, l->py.frame_prev);
	return 1;
}

#ifdef RT_UW_TASK // a step of it may be made anew from what it had at its beginning
#define AHEAD 1
#define KEEPS false
#else
#define AHEAD 2 // frames looked at in one step
#define KEEPS (!RT_PY_ASYNC(w)) // what else is looked at for tasks (w->obj) is not kept
#endif

// A few frames further. The first ones of the group are kept.
static RT_INLINE u64 ahead(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;

	for (u32 i = 0; i < AHEAD; i++) {
		u64 at = w->ahead, slot = w->py_kept;
		bool room = KEEPS && slot < RT_PY_KEPT;
		if (!room)
			slot = RT_PY_AT_HAND;
		RT_BARRIER(slot);
		if (w->steps++ >= RT_LANG_AHEAD || slot > RT_PY_AT_HAND || !rtp_read_frame(w, l, at, slot))
			return rt_lang_lost(b);
		w->py_kept += room;
		w->ahead = w->py[slot].prev;
		if (w->py[slot].last) {
			w->record = at;
			w->group = RT_GROUP_NONE;
			break;
		}
	}
	return RT_STEP_AHEAD;
}

// Where in w->py the frame at hand is. More than RT_PY_AT_HAND: it cannot be read.
static RT_INLINE u64 frame_at_hand(struct RtLangWalk *w, struct RtLang *l)
{
	u64 slot = w->py_taken++;

	if (slot < w->py_kept && slot < RT_PY_KEPT && KEEPS)
		return slot;
	return rtp_read_frame(w, l, w->frame, RT_PY_AT_HAND) ? RT_PY_AT_HAND : RT_PY_AT_HAND + 1;
}

// The frames of a state, from its innermost record or frame on. 0: there are none.
static RT_INLINE u64 enter_state(struct RtLangWalk *w, struct RtLang *l, u64 first)
{
	w->record = w->frame = first;
	w->py_kept = w->py_taken = 0;
	if (l->py.how == RT_PY_SHIMS)
		look_ahead(w);
	return l->py.how != RT_PY_RECORDS || rtp_load_record(w, l);
}

RT_NOINLINE u64 rt_py_begin(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	u64 state, first;

	state = rt_py_state(b, l);
	first = w->tmp[0];
	w->each = l->py.how == RT_PY_EACH;
	return rt_py_interps(w, l, state) || (state && enter_state(w, l, first));
}

// The group's last frame was taken: on to the next outer loop. w->frame is the frame before it.
static RT_INLINE void next_group(struct RtLangWalk *w, struct RtLang *l)
{
	u64 had = w->record;

	w->group = RT_GROUP_NONE;
	if (l->py.how == RT_PY_EACH)
		return;
	if (l->py.how == RT_PY_SHIMS) {
		look_ahead(w);
		return;
	}
	w->record = w->next_record;
	if (w->record <= had)
		w->record = 0;
	else
		rtp_load_record(w, l);
}

// Has the frame at hand, which is in w->obj, called a coroutine's, the last one, by way of C? Then a task may have resumed that: pyasync.bpf.c looks before the frame is taken.
static RT_INLINE bool from_loop(struct RtLangWalk *w, struct RtLang *l)
{
	bool gen;

	if (!RT_PY_ASYNC(w) || !l->py.coro_frame)
		return false;
	gen = rt_lang_byte(w, l->py.frame_owner) == RT_PY_OWNER_GEN;
	if (!gen && w->async.last && w->async.at != w->record) {
		w->async.phase = RT_PY_TASK;
		w->async.nr = 0;
		return true;
	}
	w->async.last = gen ? w->frame : 0;
	w->async.at = w->record;
	return false;
}

// A few states of the thread further. The frames of the one that is found follow; if it is none the thread has none, or has no more.
static RT_INLINE u64 next_state(struct RtLangWalk *w, struct RtLang *l)
{
	bool had = w->reg[RT_PY_USED];

	if (!rt_py_scan(w, l))
		return RT_STEP_AHEAD;
	w->group = RT_GROUP_NONE;
	if (w->tmp[0]) {
		enter_state(w, l, w->tmp[0]);
	} else {
		w->again = 0;
		w->off = !had;
	}
	return RT_STEP_AHEAD;
}

RT_NOINLINE u64 rt_py_step(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	u64 slot, code, pos, ident, last;

	if (w->group & RT_GROUP_STATES)
		return next_state(w, l);
	if (w->group & RT_GROUP_AHEAD)
		return ahead(b, l);
	slot = frame_at_hand(w, l);
	RT_BARRIER(slot);
	if (slot > RT_PY_AT_HAND)
		return rt_lang_lost(b);
	struct RtPyFrame *f = &w->py[slot];
	code = f->code;
	pos = f->pos;
	last = f->last;
	if (!(last && l->py.end_hidden) && from_loop(w, l))
		return RT_STEP_AHEAD;
	w->frame = f->prev;
	if (last && l->py.end_hidden) {
		next_group(w, l);
		return RT_STEP_NONE;
	}
	if (!rt_py_code(w, l, code))
		return rt_lang_lost(b);
	ident = rt_py_ident(w, l);
	if (last)
		next_group(w, l);
	return rt_lang_frame(b, code, ident, pos);
}

// ---- trampolines of -X perf (Python/asm_trampoline.S): copies of a few instructions, one for each function
#if RT_IS_ARM64
#define CODE_BEFORE 0xd63f0060910003fdULL // mov x29,sp; blr x3
#define CODE_AFTER 0xd65f03c0a8c17bfdULL  // ldp x29,x30,[sp],16; ret
#define IS_TRAMPOLINE(before, after) ((before) == CODE_BEFORE && (after) == CODE_AFTER)
#else
// call *%rcx; around it sub $8,%rsp and add $8,%rsp; ret, or push %rbp; mov %rsp,%rbp and pop %rbp; ret (3.14)
#define IS_TRAMPOLINE(before, after) \
	(((before) >> 16 == 0xd1ff08ec8348ULL && ((after) & 0xffffffffffULL) == 0xc308c48348ULL) || ((before) >> 16 == 0xd1ffe5894855ULL && ((after) & 0xffff) == 0xc35d))
#endif

RT_NOINLINE u64 rtg_py_trampoline(RT_GIVEN given)
{
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 0;
	struct RtLangWalk *w = &b->lang;
	return b->uw.is_ra && !bpf_probe_read_user(&w->tmp[0], 16, (void *)(b->uw.pc - 8)) && IS_TRAMPOLINE(w->tmp[0], w->tmp[1]);
}

// ---- at first sight
// A string object's text: its address in w->tmp[1], its bytes in tmp[2], the bytes of a character in tmp[3]. 0: it is no such object.
RT_ONCE u64 rtp_find_text(struct RtLangWalk *w, struct RtLang *l, u64 str)
{
	if (!w || !l)
		return 0;
	u64 state, n, ascii, width;

	if (str & 7 || !str || rt_lang_read(w, str, 40 + l->py.head))
		return 0;
	state = rt_lang_word(w, 32 + l->py.head) >> (l->py.str_shift & 31);
	n = rt_lang_word(w, 16 + l->py.head);
	ascii = state >> 6 & 1;
	width = ascii ? 1 : state >> 2 & 7;
	if ((width != 1 && width != 2 && width != 4) || n >> 28)
		return 0;
	w->tmp[1] = str + (ascii ? l->py.str_ascii : l->py.str_other);
	w->tmp[2] = n * width;
	w->tmp[3] = ascii ? 0 : width;
	return 1;
}

static RT_INLINE u64 copy_name(struct RtLangWalk *w, struct RtLang *l, u64 str)
{
	return rtp_find_text(w, l, str) && rt_lang_copy_name(w, w->tmp[3]);
}

static RT_INLINE u64 copy_file(struct RtLangWalk *w, struct RtLang *l, u64 str)
{
	u64 n, at;

	__builtin_memset(w->made.code.file, 0, sizeof(w->made.code.file));
	if (!rtp_find_text(w, l, str))
		return 0;
	n = w->tmp[2];
	at = w->tmp[1] + (n > RT_CODE_FILE ? n - RT_CODE_FILE : 0);
	RT_BOUND(n, RT_CODE_FILE);
	w->made.code.file_len = n;
	w->made.code.file_width = w->tmp[3];
	return !bpf_probe_read_user(w->made.code.file, n, (void *)at);
}

static RT_INLINE u64 copy_lines(struct RtLangWalk *w, struct RtLang *l, u64 bytes)
{
	u64 n;

	__builtin_memset(w->made.code.lines, 0, 16 * 8); // what the number is made of
	w->made.code.nlines = 0;
	if (bytes & 7 || !bytes || rt_lang_read(w, bytes, 24 + l->py.head))
		return 0;
	n = rt_lang_word(w, 16 + l->py.head);
	if (n >> 28)
		return 0;
	w->made.code.nlines = n;
	RT_BOUND(n, RT_CODE_LINES);
	return !bpf_probe_read_user(w->made.code.lines, n, (void *)(bytes + 32 + l->py.head));
}

RT_NOINLINE u64 rt_py_copy(struct RtLangWalk *w, struct RtLang *l)
{
	u64 name, file, lines;

	if (rt_lang_read(w, w->new_code, l->py.code_size))
		return 0;
	name = rt_lang_word(w, l->py.code_name);
	file = rt_lang_word(w, l->py.code_file);
	lines = rt_lang_word(w, l->py.code_lines);
	w->made.code.first_line = rt_lang_half(w, l->py.code_line);
	w->made.code.lines_kind = l->py.lines_kind;
	return copy_name(w, l, name) && copy_file(w, l, file) && copy_lines(w, l, lines);
}
