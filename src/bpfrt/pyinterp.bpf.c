// pyinterp.bpf.c: the states of a thread where several interpreters of CPython are in one process (Py_NewInterpreter: mod_wsgi). Input: the list of interpreters in
// _PyRuntime. Output: the state whose frames come next, for py.bpf.c.
// A thread has a state for each interpreter whose code it has run. By its key it has the first of them up to 3.11, and the one at work from 3.12 on. Where one interpreter's
// code has called another's, the inner one's frames come first. In 3.11 and 3.12 that is the one whose record lies lowest on the stack. Otherwise it is the one at work; the
// others in the order of the list, which begins with the youngest: who made an interpreter is outside of it.
// Invariant: a state has the thread's own number in it; the list may be of any length, and be changed meanwhile.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/lang_rt.h"
#include "bpfrt/py_rt.h"

#define PY_STATES 8   // looked at in one step
#define PY_STEPS 1024 // of them

// Which frames come before others': the lower one's. 0: the state has none.
static RT_INLINE u64 order_of_state(struct RtLangWalk *w, struct RtLang *l, u64 state)
{
	u64 record;

	if (!rt_py_ptr(w, state + l->py.cframe) || !w->tmp[0])
		return 0;
	if (l->py.how != RT_PY_RECORDS)
		return state == w->reg[RT_PY_CURRENT] ? 1 : w->reg[RT_PY_NR] + 1;
	record = w->tmp[0];
	return rt_py_ptr(w, record + l->py.cframe_frame) && w->tmp[0] ? record : 0;
}

// The next state, or the next interpreter. 0: there is none.
static RT_INLINE bool look_at_state(struct RtLangWalk *w, struct RtLang *l)
{
	u64 state = w->reg[RT_PY_STATE], interp, order;

	if (!state) {
		if (!rt_py_ptr(w, w->reg[RT_PY_INTERP]) || !w->tmp[0])
			return 0;
		interp = w->tmp[0];
		w->reg[RT_PY_INTERP] = interp + l->py.interp_next;
		if (!rt_py_ptr(w, interp + l->py.interp_threads))
			return 0;
		w->reg[RT_PY_STATE] = w->tmp[0];
		return 1;
	}
	if (!rt_py_ptr(w, state + RT_PY_THREAD_NEXT))
		return 0;
	w->reg[RT_PY_STATE] = w->tmp[0];
	w->reg[RT_PY_NR]++;
	if (!rt_py_ptr(w, state + l->py.thread_id))
		return 0;
	if (w->tmp[0] != w->reg[RT_PY_TP])
		return 1;
	order = order_of_state(w, l, state);
	if (order > w->reg[RT_PY_USED] && order < w->reg[RT_PY_ORDER]) {
		w->reg[RT_PY_BEST] = state;
		w->reg[RT_PY_ORDER] = order;
	}
	return 1;
}

static RT_INLINE void begin_states(struct RtLangWalk *w, struct RtLang *l)
{
	w->reg[RT_PY_INTERP] = l->root + w->bias + l->py.interps;
	w->reg[RT_PY_STATE] = w->reg[RT_PY_NR] = w->reg[RT_PY_BEST] = 0;
	w->reg[RT_PY_ORDER] = -1ULL;
	w->steps = 0;
	w->group = RT_GROUP_STATES;
}

RT_NOINLINE u64 rt_py_interps(struct RtLangWalk *w, struct RtLang *l, u64 state)
{
	u64 head = l->root + w->bias + l->py.interps;

	if (!l->py.interps || !w->reg[RT_PY_TP] || !rt_py_ptr(w, head) || !w->tmp[0])
		return 0;
	if (state && (!rt_py_ptr(w, w->tmp[0] + l->py.interp_next) || !w->tmp[0])) // the only one
		return 0;
	if (l->py.current)
		state = rt_py_ptr(w, l->root + w->bias + l->py.current) ? w->tmp[0] : 0;
	w->reg[RT_PY_CURRENT] = state;
	w->reg[RT_PY_USED] = 0;
	w->again = 1;
	begin_states(w, l);
	return 1;
}

RT_NOINLINE u64 rt_py_again(struct RtLangWalk *w, struct RtLang *l)
{
	if (!w->off && !(w->frame && (w->each || w->record)))
		begin_states(w, l);
	return 0;
}

RT_NOINLINE u64 rt_py_scan(struct RtLangWalk *w, struct RtLang *l)
{
	RT_LOOP(i, PY_STATES) {
		if (w->steps++ < PY_STEPS && look_at_state(w, l))
			continue;
		w->reg[RT_PY_USED] = w->reg[RT_PY_ORDER];
		if (!w->reg[RT_PY_BEST] || !rt_py_ptr(w, w->reg[RT_PY_BEST] + l->py.cframe))
			w->tmp[0] = 0;
		return 1;
	}
	return 0;
}
