// pyasync.bpf.c: tasks of asyncio that wait for the one at hand. Input: the frame of a coroutine that nothing but the event loop called; memory of the process.
// Output: the coroutines of the tasks that wait for its task, innermost first, one task after the other, as frames for lang.bpf.c.
//
// How they hang together. An event loop, be it asyncio's or one in C (uvloop), resumes a task by a function of the task in C, which holds the task while it runs the
// coroutine: so it lies on the stack, between the interpreter's loop that runs the coroutine and the next outer one. It is the task if its coroutine has the frame that was met,
// it waits for nothing, and its type is a type whose objects are as large as a task and have no items (words of the stack also point into frames and tuples, where a class and the
// coroutine may lie just as far from each other). A task is a future. Who waits for a future has left a
// callback with it, which has the task that waits (a method of the task in C), and that task says what it waits for: when both agree, it waits. gather(), wait(),
// wait_for(), shield() and TaskGroup leave callbacks of their own, which have the future that the task waits for in a closure, among arguments, in the group.
// A task that waits has its outermost coroutine, and each coroutine on top of its stack what it awaits.
// Invariant: no task is shown that does not itself say that it waits for the future its predecessor completes; of helpers only those of asyncio's own files are
// looked into. Each round of the walk is one step of this, and there are RT_PY_ASYNC_STEPS.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/lang_rt.h"
#include "bpfrt/py_rt.h"

RT_CONST(u32, rt_py_async_asked, 0); // the script has stacks with tasks that wait: else the verifier passes this by

// Where 3.11 to 3.14 keep things alike (Modules/_asynciomodule.c, Lib/asyncio/events.py, Include/cpython/)
#define PY_TYPE 8
#define PY_TYPE_SIZE 32 // of a type: bytes of its objects; then of each of their items
#define PY_CFUNCTION_SELF 24 // builtin method
#define PY_FUTURE_CALLBACK 24
#define PY_FUTURE_CALLBACKS 40 // the others: a list of tuples
#define PY_LIST_SIZE 16	    // of a tuple, too
#define PY_LIST_ITEMS 24
#define PY_CELL_VALUE 16
#define PY_FUNCTION_CODE 48
#define PY_FUNCTION_CLOSURE 72
#define PY_METHOD_FUNCTION 16 // and functools.partial
#define PY_METHOD_SELF 24
#define PY_ASEND_GEN 16
#define PY_STR_LENGTH 16
#define PY_STR_STATE 32

// The word at addr. 0: it cannot be read, or is that.
static RT_INLINE u64 py_word(struct RtLangWalk *w, u64 addr)
{
	w->tmp[0] = 0;
	if (!addr || addr & 7 || addr >> RT_UW_PC_BITS || bpf_probe_read_user(&w->tmp[0], 8, (void *)addr))
		return 0;
	return w->tmp[0];
}

static RT_INLINE bool py_is_type(u64 type, u64 want, u64 bias)
{
	return want && type == want + bias;
}

static RT_INLINE bool py_is_coro(struct RtLang *l, u64 type, u64 bias)
{
	return py_is_type(type, l->types[RT_PY_CORO_TYPE], bias) || py_is_type(type, l->types[RT_PY_GEN_TYPE], bias) || py_is_type(type, l->types[RT_PY_AGEN_TYPE], bias);
}

// A word of the stack: is it the task that runs the coroutine a->last?
static RT_NOINLINE u64 py_is_task(struct RtLangWalk *w, struct RtLang *l, u64 task)
{
	u64 coro = task >> 16 ? py_word(w, task + l->py.task_coro) : 0, type;

	if (!coro || coro + l->py.coro_frame != w->async.last || py_word(w, task + l->py.task_waiter))
		return 0;
	type = py_word(w, task + PY_TYPE);
	if (!type || !py_is_type(py_word(w, type + PY_TYPE), l->types[RT_PY_TYPE_TYPE], w->bias) || bpf_probe_read_user(&w->tmp[2], 16, (void *)(type + PY_TYPE_SIZE)))
		return 0;
	return w->tmp[2] >= l->py.task_coro + 8u && !(w->tmp[2] >> 16) && !w->tmp[3];
}

static RT_NOINLINE u64 py_callback(struct RtLangWalk *w, struct RtLang *l, u64 future, u64 nr)
{
	u64 list, pair;

	if (!future || !nr)
		return future ? py_word(w, future + PY_FUTURE_CALLBACK) : 0;
	list = py_word(w, future + PY_FUTURE_CALLBACKS);
	if (!list || nr > py_word(w, list + PY_LIST_SIZE))
		return 0;
	pair = py_word(w, py_word(w, list + PY_LIST_ITEMS) + (nr - 1) * 8);
	return pair ? py_word(w, pair + l->py.tuple_items) : 0;
}

// The callback cb of a future is that of a task which waits for it: then its coroutines come next.
static RT_NOINLINE u64 py_waits(struct RtLangWalk *w, struct RtLang *l, u64 cb, u64 future)
{
	struct RtPyAsync *a = &w->async;
	u64 task = cb ? py_word(w, cb + PY_CFUNCTION_SELF) : 0, coro;

	if (!task || py_word(w, task + l->py.task_waiter) != future)
		return 0;
	coro = py_word(w, task + l->py.task_coro);
	if (!coro || !py_is_coro(l, py_word(w, coro + PY_TYPE), w->bias))
		return 0;
	a->task = task;
	a->coro = coro;
	a->n = a->low = 0;
	a->phase = RT_PY_AWAITS;
	return 1;
}

#define TASKS_0 0x2f6f69636e797361ULL // "asyncio/tasks.py", as two words
#define TASKS_1 0x79702e736b736174ULL
#define GROUPS_0 0x676b7361742f6f69ULL // "io/taskgroups.py"
#define GROUPS_1 0x79702e7370756f72ULL
enum { FILE_OTHER, FILE_TASKS, FILE_GROUPS };

// Whose a function is, by the end of the name of its code's file.
static RT_NOINLINE u64 py_file_of(struct RtLangWalk *w, struct RtLang *l, u64 code)
{
	u64 name, n, at;

	if (!code || py_word(w, code + PY_TYPE) != l->code_type + w->bias)
		return FILE_OTHER;
	name = py_word(w, code + l->py.code_file);
	if (!name || !(py_word(w, name + PY_STR_STATE) >> 6 & 1))
		return FILE_OTHER;
	n = py_word(w, name + PY_STR_LENGTH);
	at = name + l->py.str_ascii + n - 16;
	if (n < 16 || n >> 16 || bpf_probe_read_user(&w->tmp[2], 16, (void *)at))
		return FILE_OTHER;
	if (w->tmp[2] == TASKS_0 && w->tmp[3] == TASKS_1)
		return FILE_TASKS;
	return w->tmp[2] == GROUPS_0 && w->tmp[3] == GROUPS_1 ? FILE_GROUPS : FILE_OTHER;
}

// Where the attributes of an object lie that has a few of its own; 0: in a dictionary.
static RT_INLINE u64 py_attributes(struct RtLangWalk *w, struct RtLang *l, u64 obj)
{
	u64 at;

	if (l->py.attrs == RT_PY_ATTRS_BEHIND)
		return obj + 24;
	if (l->py.attrs == RT_PY_ATTRS_BEFORE32)
		return py_word(w, obj - 32);
	at = py_word(w, obj - 24);
	return at & 1 ? at + 1 : 0;
}

// cb is the callback of a helper: what it has at hand comes next. 0: it is somebody else's.
static RT_NOINLINE u64 py_closure(struct RtLangWalk *w, u64 cb)
{
	struct RtPyAsync *a = &w->async;

	a->item = 0;
	a->list_kind = RT_PY_CELLS;
	a->list = py_word(w, cb + PY_FUNCTION_CLOSURE);
	return a->list;
}

static RT_NOINLINE u64 py_bound(struct RtLangWalk *w, struct RtLang *l, u64 cb, u64 file)
{
	struct RtPyAsync *a = &w->async;
	u64 self = py_word(w, cb + PY_METHOD_SELF);

	a->item = 0;
	a->list_kind = RT_PY_ARGS;
	a->list = self;
	if (!self || file != FILE_GROUPS)
		return self;
	a->list_kind = RT_PY_VALUES; // in which order depends on how the file was compiled
	a->list = py_attributes(w, l, self);
	return a->list;
}

static RT_INLINE u64 py_helper(struct RtLangWalk *w, struct RtLang *l, u64 cb)
{
	u64 file = py_file_of(w, l, py_word(w, cb + PY_FUNCTION_CODE)), f;

	if (file)
		return file == FILE_TASKS && py_closure(w, cb);
	f = py_word(w, cb + PY_METHOD_FUNCTION);
	file = f ? py_file_of(w, l, py_word(w, f + PY_FUNCTION_CODE)) : FILE_OTHER;
	return file && py_bound(w, l, cb, file);
}

// The next future that a helper has at hand, 0: there are no more.
static RT_NOINLINE u64 py_next_item(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtPyAsync *a = &w->async;
	u64 i = a->item, at;

	a->item = i + 1;
	if (a->list_kind == RT_PY_VALUES) {
		at = i < RT_PY_ATTRIBUTES ? py_word(w, a->list + i * 8) : 0;
		return i < RT_PY_ATTRIBUTES && !at ? 1 : at;
	}
	if (i >= RT_PY_ITEMS || i >= py_word(w, a->list + PY_LIST_SIZE))
		return 0;
	at = py_word(w, a->list + l->py.tuple_items + i * 8);
	if (a->list_kind == RT_PY_CELLS && at)
		at = py_word(w, at + PY_CELL_VALUE);
	return at ? at : 1; // no future
}

// Who waits for a->future, by its callback a->nr.
static RT_INLINE void py_find_waiter(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtPyAsync *a = &w->async;
	u64 nr = a->nr, cb = nr < RT_PY_CALLBACKS ? py_callback(w, l, a->future, nr) : 0;

	a->nr = nr + 1;
	if (!cb)
		a->phase = RT_PY_SYNC;
	else if (!py_waits(w, l, cb, a->future) && py_helper(w, l, cb))
		a->phase = RT_PY_LIST;
}

static RT_INLINE void py_find_in_list(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtPyAsync *a = &w->async;
	u64 future = py_next_item(w, l);

	if (!future)
		a->phase = RT_PY_WAITER;
	else if (!py_waits(w, l, py_callback(w, l, future, 0), future))
		py_waits(w, l, py_callback(w, l, future, 1), future);
}

// What a coroutine awaits: the object on top of its stack.
static RT_NOINLINE u64 py_awaited(struct RtLangWalk *w, struct RtLang *l, u64 coro)
{
	u64 frame = coro + l->py.coro_frame, at = frame + l->py.frame_locals, top = py_word(w, frame + l->py.frame_top);

	if (!l->py.top_at)
		top = at + (top & 0xffffffff) * 8;
	return top > at && top - at < 1 << 16 ? py_word(w, top - 8) & ~3ULL : 0;
}

static RT_INLINE void py_next_coro(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtPyAsync *a = &w->async;
	u64 coro = a->coro, type = coro ? py_word(w, coro + PY_TYPE) : 0, n = a->n & (RT_PY_COROS - 1);

	if (py_is_type(type, l->types[RT_PY_ASEND_TYPE], w->bias)) {
		a->coro = py_word(w, coro + PY_ASEND_GEN);
	} else if (py_is_coro(l, type, w->bias)) {
		RT_BARRIER(n);
		a->coros[n] = coro;
		a->n++;
		if (a->n - a->low > RT_PY_COROS)
			a->low = a->n - RT_PY_COROS;
		a->coro = py_awaited(w, l, coro);
	} else {
		a->phase = RT_PY_FRAMES;
	}
}

// The next frame of the task that waits, further out.
static RT_INLINE u64 py_next_frame(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtPyAsync *a = &w->async;
	u64 n = (a->n - 1) & (RT_PY_COROS - 1), code, pos;

	if (a->n == a->low) {
		if (a->low && !b->uw.weak) // outer ones had no room
			b->uw.weak = RT_WHY_LANG;
		a->future = a->task;
		a->nr = 0;
		a->phase = RT_PY_WAITER;
		return RT_STEP_AHEAD;
	}
	a->n--;
	RT_BARRIER(n);
	if (rt_lang_read(w, a->coros[n] + l->py.coro_frame, l->py.frame_size))
		return rt_lang_lost(b);
	code = rt_lang_word(w, l->py.frame_code) & ~3ULL;
	pos = rt_py_position(w, l, code);
	if (!rt_py_code(w, l, code))
		return rt_lang_lost(b);
	return rt_lang_frame(b, code, rt_py_ident(w, l), pos);
}

// The frame at hand called a coroutine's. If a task resumed that, those that wait for it come before the frame. In the next words of the stack:
static RT_INLINE void py_find_task(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtPyAsync *a = &w->async;
	u64 at = a->at;

	a->at = at + RT_PY_WORDS * 8;
	if (a->nr++ >= RT_PY_STACK / RT_PY_WORDS || (w->record && at >= w->record) || bpf_probe_read_user(w->obj, RT_PY_WORDS * 8, (void *)at)) {
		a->last = 0;
		a->phase = RT_PY_SYNC;
		return;
	}
	for (u32 i = 0; i < RT_PY_WORDS; i++) {
		u64 task = w->obj[i];
		if (!py_is_task(w, l, task))
			continue;
		a->last = 0;
		a->future = task;
		a->nr = 0;
		a->phase = RT_PY_WAITER;
		return;
	}
}

RT_NOINLINE u64 rt_py_async(struct RtStackBuf *b, struct RtLang *l)
{
	struct RtLangWalk *w = &b->lang;
	struct RtPyAsync *a = &w->async;
	u32 phase = a->phase;

	if (a->steps++ >= RT_PY_ASYNC_STEPS)
		return rt_lang_lost(b);
	if (phase == RT_PY_FRAMES)
		return py_next_frame(b, l);
	if (phase == RT_PY_TASK)
		py_find_task(w, l);
	else if (phase == RT_PY_WAITER)
		py_find_waiter(w, l);
	else if (phase == RT_PY_LIST)
		py_find_in_list(w, l);
	else
		py_next_coro(w, l);
	return RT_STEP_AHEAD;
}
