// The program of Lua's chain (bpfrt/chain.bpf.c). Input: the version's row (luarows.c), where its loop keeps what. Output: struct RtChain; its part that copies a code: luacode.c.
// A thread of Lua (lua_State: the program itself, a coroutine) has a chain of calls (CallInfo), of functions in Lua and in C, the innermost first. A loop runs calls
// up to one that C has made: from 5.2 on it is marked, in 5.1 it is one whose caller is C or is not at an instruction that calls. Nothing in memory says which thread
// a loop runs, so each loop is looked at before its frame is left: its thread and its call at hand are in registers. A call that is not in the chain has just returned;
// one of those before the loop's own has not begun. Coroutines have loops between the ones of who resumes them. One that was resumed behind a call of C (pcall), or
// in a function that another one has called, has calls without loops: they come where it is resumed, before lua_resume()'s own frame, or with the next loop, where that is not known.
// Invariant: each loop's call is in the chain, or the stack counts as cut.
#define LUA_PROGRAM
#include "runtime/internal.h"

#define CI_BASE_51 80	     // of a lua_State: the call that stands for its end
#define C_51 10		     // of a closure: whether it is of C
#define TYPE_THREAD 8
#define TYPE_FUNCTION 6
#define VALUE_TYPE 8	     // of a value on the stack
#define LIGHT_C 0x16	     // a value: a function in C without anything else
#define MAIN_REACH 1024	     // the first thread lies before the global state, as one object
#define AHEAD 16	     // calls before the loop's own, at most
#define BASE_CI 96	     // of a lua_State, from 5.2 on: the call that all of its calls lead to
#define OUTWARDS 250	     // calls that are followed to there, at most
#define RSP 7		     // DWARF

// Is the call whose words are at X, of a function whose closure T is then, one of Lua? On at `no`, if it is not.
static void if_not_lua(struct ChainMaker *m, const struct LuaRow *r, u32 no)
{
	if (IS_51(r)) {
		chain_load(m, T, X + r->ci_func, 0, 8);
		chain_load(m, T, T, C_51, 1);
		chain_if_not(m, T, 0, no);
		return;
	}
	chain_shr(m, T, X + r->ci_status, r->ci_shift);
	chain_and(m, T, T, r->is_lua);
	chain_if_not(m, T, r->lua_value, no);
}

// ---- at each loop
// The loop's call, which is one of the first: in 5.1 the first of the function that the loop runs.
static void search(struct ChainMaker *m, const struct LuaRow *r)
{
	chain_label(m, L_SEARCH);
	chain_set(m, N, AHEAD);
	chain_add(m, T, AT, 0);
	chain_label(m, L_LOOK);
	if (IS_51(r)) {
		chain_load(m, POS, T, r->ci_func * 8, 8);
		chain_load(m, POS, POS, 0, 8);
		chain_if(m, POS, RT_OP_EQ, PC, 0, L_FOUND);
		chain_add(m, T, T, -(s64)r->ci_bytes);
		chain_load(m, POS, L, CI_BASE_51, 8);
		chain_if(m, T, RT_OP_EQ, POS, 0, L_NOT);
	} else {
		chain_if(m, T, RT_OP_EQ, VM_CALL, 0, L_FOUND);
		chain_load(m, T, T, r->ci_prev * 8, 8);
		chain_if_is(m, T, 0, L_NOT);
	}
	chain_add(m, N, N, -1);
	chain_if_not(m, N, 0, L_LOOK);
	chain_label(m, L_NOT); // it has just returned to the first one, or to C
	if (IS_51(r)) {
		chain_load(m, POS, L, CI_BASE_51, 8);
		chain_if(m, AT, RT_OP_EQ, POS, 0, L_READY);
		chain_load(m, X, AT, 0, r->ci_bytes);
		if_not_lua(m, r, L_READY);
	} else {
		chain_op(m, RT_OP_TRY, T, VM_CALL, 0, r->ci_prev * 8);
		chain_if(m, T, RT_OP_NE, AT, 0, L_READY);
		chain_op(m, RT_OP_TRY, T, VM_CALL, 0, r->ci_status * 8);
		chain_shr(m, T, T, r->ci_shift);
		chain_and(m, T, T, r->fresh);
		chain_if_not(m, T, 0, L_READY);
	}
	chain_add(m, T, AT, 0);
	chain_set(m, VM_NEXT, 0);
	chain_label(m, L_FOUND);
	chain_add(m, VM_CALL, T, 0);
	chain_set(m, RT_CHAIN_NEXT, 1);
	chain_add(m, T, ON, 0);
	chain_set(m, ON, 1);
	chain_if_is(m, T, ON_DRAIN, CHAIN_STEP);
	chain_ready(m, CHAIN_STEP);
	chain_label(m, L_READY);
	chain_if_is(m, ON, ON_DRAIN, L_NONE);
	chain_ready(m, CHAIN_STEP);
}

// The innermost call, that at AT, has returned when values lie where its function was: the thread is told last.
static void returned(struct ChainMaker *m, const struct LuaRow *r)
{
	chain_load(m, T, AT, r->ci_func * 8, 8);
	chain_op(m, RT_OP_TRY, T, T, 0, VALUE_TYPE);
	chain_and(m, T, T, 0xf);
	chain_if_is(m, T, TYPE_FUNCTION, L_SEARCH);
	chain_op(m, RT_OP_TRY, T, AT, 0, r->ci_prev * 8);
	chain_if_is(m, T, 0, L_SEARCH);
	chain_add(m, AT, T, 0);
}

// The thread is found by the call: the outermost one of all lies in it. At a loop's own beginning and end, which only an innermost frame is at, what is in the call's
// register may be another loop's.
static void by_call(struct ChainMaker *m, const struct LuaRow *r)
{
	chain_op(m, RT_OP_NATIVE, T, 0, 0, RT_CHAIN_LEAF);
	chain_if_not(m, T, 0, L_NOWHERE);
	chain_set(m, N, OUTWARDS);
	chain_add(m, VM, VM_CALL, 0);
	chain_label(m, L_OUTWARDS);
	chain_op(m, RT_OP_TRY, T, VM, 0, r->ci_prev * 8);
	chain_if_is(m, T, 0, L_OUTERMOST);
	chain_add(m, VM, T, 0);
	chain_add(m, N, N, -1);
	chain_if_not(m, N, 0, L_OUTWARDS);
	chain_jump(m, L_NOWHERE);
	chain_label(m, L_OUTERMOST);
	chain_add(m, VM, VM, -BASE_CI);
	chain_op(m, RT_OP_TRY, T, VM, 0, TYPE);
	chain_and(m, T, T, 0xff);
	chain_if_is(m, T, TYPE_THREAD, L_THREAD);
	chain_label(m, L_NOWHERE);
}

// The thread is not where it mostly is: where a closure takes its upvalues, both it and the call, the innermost, are where the loop has put them. At the loop's own
// beginning and end, which only an innermost frame is at, it is nowhere.
static void elsewhere(struct ChainMaker *m, const struct LuaRow *r, const struct RtLua *how)
{
	for (u32 i = 0; i < RT_LUA_SPILLS && how->spill[i].thread; i++) {
		chain_op(m, RT_OP_NATIVE, T, 0, 0, RSP);
		chain_op(m, RT_OP_TRY, VM, T, 0, how->spill[i].thread);
		chain_op(m, RT_OP_TRY, VM_CALL, T, 0, how->spill[i].call);
		chain_op(m, RT_OP_TRY, T, VM, 0, r->thread_g + 8);
		chain_if(m, T, RT_OP_NE, VM_CALL, 0, L_SPILL + i);
		chain_op(m, RT_OP_TRY, T, VM, 0, TYPE);
		chain_and(m, T, T, 0xff);
		chain_set(m, VM_NEXT, 0);
		chain_if_is(m, T, TYPE_THREAD, L_THREAD);
		chain_label(m, L_SPILL + i);
	}
	if (how->other) {
		chain_op(m, RT_OP_NATIVE, VM, 0, 0, how->other);
		chain_op(m, RT_OP_TRY, T, VM, 0, TYPE);
		chain_and(m, T, T, 0xff);
		if (how->other_call) {
			chain_if_not(m, T, TYPE_THREAD, L_NOT_OTHER);
			chain_op(m, RT_OP_NATIVE, T, 0, 0, RSP);
			chain_op(m, RT_OP_TRY, N, T, 0, how->other_call);
			chain_op(m, RT_OP_TRY, T, VM, 0, r->thread_g + 8);
			chain_if(m, T, RT_OP_NE, N, 0, L_NOT_OTHER);
			chain_add(m, VM_CALL, N, 0);
			chain_set(m, VM_NEXT, 0);
			chain_jump(m, L_THREAD);
			chain_label(m, L_NOT_OTHER);
		} else {
			chain_if_is(m, T, TYPE_THREAD, L_THREAD);
		}
	}
	if (!IS_51(r))
		by_call(m, r);
	if (!how->base) {
		chain_op(m, RT_OP_NATIVE, T, 0, 0, RT_CHAIN_LEAF);
		chain_if_not(m, T, 0, L_READY);
	}
	chain_jump(m, CHAIN_LOST);
}

// Is the place at hand in lua_resume()? All loops of the thread at hand, if it is a coroutine, lie within it: the calls that are left have none.
static void resumes(struct ChainMaker *m, const struct LuaRow *r, const struct RtLang *l)
{
	if (l->resume >= l->resume_end || l->resume_end > INT32_MAX)
		return;
	chain_op(m, RT_OP_NATIVE, N, 0, 0, RT_CHAIN_OFF);
	chain_add(m, N, N, -(s64)l->resume);
	chain_set(m, T, (s64)(l->resume_end - l->resume - 1));
	chain_if(m, T, RT_OP_LT, N, 0, L_AT_LOOP);
	chain_if_is(m, AT, 0, L_READY);
	chain_load(m, T, L, r->thread_g, 8);
	chain_mul(m, T, T, L, -1);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, MAIN_REACH, L_READY);
	chain_set(m, ON, ON_REST);
	chain_ready_before(m, CHAIN_STEP);
	chain_label(m, L_AT_LOOP);
}

static void again(struct ChainMaker *m, const struct LuaRow *r, const struct RtLang *l)
{
	const struct RtLua *how = &l->lua;

	chain_set(m, RT_CHAIN_NEXT, RT_CHAIN_PERHAPS);
	chain_label(m, CHAIN_AGAIN);
	chain_set(m, ON, 0);
	chain_set(m, SEEN, 0);
	resumes(m, r, l);
	if (how->thread == RT_LUA_ON_STACK) {
		chain_op(m, RT_OP_NATIVE, T, 0, 0, RSP);
		chain_op(m, RT_OP_TRY, VM, T, 0, how->slot[0]);
	} else {
		chain_op(m, RT_OP_NATIVE, VM, 0, 0, how->thread);
	}
	if (how->base) { // a register that calls do not save is that of the innermost frame
		chain_op(m, RT_OP_NATIVE, T, 0, 0, RT_CHAIN_LEAF);
		chain_if_not(m, T, 0, L_LEAF);
		chain_set(m, VM, 0);
		chain_label(m, L_LEAF);
	}
	for (u32 i = 0; how->base && i < RT_LUA_SLOTS; i++) {
		chain_op(m, RT_OP_TRY, T, VM, 0, TYPE);
		chain_and(m, T, T, 0xff);
		chain_if_is(m, T, TYPE_THREAD, L_HAVE_THREAD);
		chain_op(m, RT_OP_NATIVE, T, 0, 0, how->base);
		chain_op(m, RT_OP_TRY, VM, T, 0, how->slot[i]);
	}
	chain_label(m, L_HAVE_THREAD);
	if (how->next)
		chain_op(m, RT_OP_NATIVE, VM_NEXT, 0, 0, how->next);
	if (IS_51(r)) {
		chain_op(m, RT_OP_NATIVE, T, 0, 0, RSP);
		chain_op(m, RT_OP_TRY, PC, T, 0, how->closure);
	} else {
		chain_op(m, RT_OP_NATIVE, VM_CALL, 0, 0, how->call);
	}
	chain_op(m, RT_OP_TRY, T, VM, 0, TYPE);
	chain_and(m, T, T, 0xff);
	chain_if_is(m, T, TYPE_THREAD, L_THREAD);
	elsewhere(m, r, how);
	chain_label(m, L_THREAD);
	chain_if(m, VM, RT_OP_EQ, L, 0, L_SAME);
	chain_if(m, VM, RT_OP_EQ, OTHER, 0, L_BACK);
	chain_if_is(m, AT, 0, L_NEW);
	chain_load(m, T, L, r->thread_g, 8);
	chain_mul(m, T, T, L, -1);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, MAIN_REACH, L_NEW);
	chain_set(m, ON, ON_DRAIN);
	chain_ready(m, CHAIN_STEP);
	chain_label(m, L_BACK);
	chain_swap(m, L, OTHER, T);
	chain_swap(m, AT, OTHER_AT, T);
	chain_label(m, L_SAME);
	chain_if_not(m, AT, 0, L_SEARCH);
	chain_set(m, RT_CHAIN_NEXT, 0); // more loops than calls
	chain_jump(m, L_READY);
	chain_label(m, L_NEW);
	chain_if_is(m, AT, 0, L_KEEP);
	chain_add(m, OTHER, L, 0);
	chain_add(m, OTHER_AT, AT, 0);
	chain_label(m, L_KEEP);
	chain_add(m, L, VM, 0);
	chain_load(m, AT, L, r->thread_g + 8, 8);
	if (!IS_51(r))
		returned(m, r);
	search(m, r);
}

// ---- a call
// Behind the loop's last one: does any of Lua come, which another loop must have?
static void ends(struct ChainMaker *m, const struct LuaRow *r)
{
	chain_if_is(m, SEEN, 0, L_MID);
	chain_if_is(m, N, 0, L_MID);
	chain_if_not(m, ON, 1, L_MID);
	if (IS_51(r)) {
		chain_if_is(m, CALLER, 0, L_ENDS);
		chain_load(m, T, CALLER, -4, 4);
		chain_and(m, T, T, (1 << r->op_bits) - 1);
		chain_if_is(m, T, r->call, L_MID);
		chain_if_is(m, T, r->tailcall, L_MID);
		chain_label(m, L_ENDS);
	} else {
		chain_and(m, T, STATUS, r->fresh);
		chain_if_is(m, T, 0, L_MID);
	}
	chain_add(m, POS, PREV, 0);
	chain_label(m, L_REST);
	chain_load(m, X, POS, 0, r->ci_bytes);
	if (IS_51(r)) {
		chain_load(m, T, L, CI_BASE_51, 8);
		chain_if(m, POS, RT_OP_EQ, T, 0, L_MID);
	} else {
		chain_if_is(m, X + r->ci_prev, 0, L_MID);
	}
	if (IS_51(r))
		chain_add(m, POS, POS, -(s64)r->ci_bytes);
	else
		chain_add(m, POS, X + r->ci_prev, 0);
	if_not_lua(m, r, L_REST);
	chain_set(m, RT_CHAIN_LAST, 1);
}

// The function's prototype at T, its words at X.
static void place(struct ChainMaker *m, const struct LuaRow *r)
{
	chain_load(m, T, FUNC, r->closure, 8);
	chain_load(m, X, T, r->proto, r->proto_bytes);
	chain_if(m, KEY, RT_OP_NE, VM_CALL, 0, L_STORED);
	chain_if(m, VM_NEXT, RT_OP_LT, X + r->code, 0, L_STORED);
	chain_load(m, POS, T, r->ncode, 4);
	chain_mul(m, POS, X + r->code, POS, 4);
	chain_if(m, POS, RT_OP_LT, VM_NEXT, 0, L_STORED);
	chain_add(m, PC, VM_NEXT, 0);
	chain_label(m, L_STORED);
	if (IS_51(r)) { // of a call that has not begun it is what another one has left there
		chain_load(m, POS, T, r->ncode, 4);
		chain_mul(m, POS, X + r->code, POS, 4);
		chain_if(m, POS, RT_OP_LT, PC, 0, L_LEFT_OVER);
		chain_if(m, X + r->code, RT_OP_LT, PC, 1, L_OWN);
		chain_label(m, L_LEFT_OVER);
		chain_add(m, PC, X + r->code, 0);
		chain_label(m, L_OWN);
	}
	chain_mul(m, POS, PC, X + r->code, -1);
	chain_shr(m, POS, POS, 2);
	chain_if_is(m, POS, 0, L_BEGUN);
	chain_add(m, POS, POS, -1);
	chain_label(m, L_BEGUN);
	if (r->version == 0x504)
		return;
	chain_if_not(m, X + r->lines, 0, L_PLACE);
	chain_set(m, POS, 0);
	chain_jump(m, L_TAKE);
	chain_label(m, L_PLACE);
	chain_mul(m, POS, X + r->lines, POS, 4);
	chain_load(m, POS, POS, 0, 4);
	chain_label(m, L_TAKE);
}

static void step(struct ChainMaker *m, const struct LuaRow *r)
{
	chain_label(m, CHAIN_STEP);
	chain_if_is(m, ON, 0, L_NONE);
	chain_if_not(m, AT, 0, L_CALL);
	chain_if_is(m, ON, ON_DRAIN, L_NEW);
	chain_label(m, L_NONE);
	chain_op(m, RT_OP_NONE, 0, 0, 0, 0);
	chain_label(m, L_CALL);
	chain_load(m, X, AT, 0, r->ci_bytes);
	chain_load(m, FUNC, X + r->ci_func, 0, 16); // a value, its type in PREV
	chain_and(m, N, PREV, 0x3f);
	chain_add(m, PC, X + r->ci_pc, 0);
	chain_shr(m, STATUS, X + r->ci_status, r->ci_shift);
	if (IS_51(r))
		chain_add(m, PREV, AT, -(s64)r->ci_bytes);
	else
		chain_add(m, PREV, X + r->ci_prev, 0);
	chain_load(m, X, PREV, 0, r->ci_bytes);
	chain_set(m, CALLER, 0);
	chain_add(m, KEY, AT, 0);
	chain_add(m, POS, N, 0); // of C: the kind of function
	if (IS_51(r)) {
		chain_load(m, N, L, CI_BASE_51, 8);
		chain_mul(m, N, PREV, N, -1);
		chain_if_is(m, N, 0, L_CALLER);
	} else {
		chain_add(m, N, X + r->ci_prev, 0);
	}
	if_not_lua(m, r, L_CALLER);
	chain_add(m, CALLER, X + r->ci_pc, 0);
	chain_label(m, L_CALLER);
	chain_set(m, RT_CHAIN_LAST, 0);
	chain_if(m, AT, RT_OP_NE, VM_CALL, 0, L_NOT_OWN);
	chain_set(m, SEEN, 1);
	chain_label(m, L_NOT_OWN);
	chain_add(m, AT, PREV, 0);
	chain_if_not(m, N, 0, L_INNER);
	chain_set(m, AT, 0); // of the thread the last
	chain_if_is(m, ON, ON_DRAIN, L_INNER);
	chain_set(m, RT_CHAIN_LAST, 1);
	chain_set(m, RT_CHAIN_NEXT, RT_CHAIN_PERHAPS);
	chain_label(m, L_INNER);
	if (IS_51(r)) {
		chain_load(m, T, FUNC, C_51, 1);
		chain_if_not(m, T, 0, L_C);
	} else {
		chain_and(m, T, STATUS, r->is_lua);
		chain_if_not(m, T, r->lua_value, L_C);
	}
	ends(m, r);
	chain_label(m, L_MID);
	if (!IS_51(r))
		chain_and(m, STATUS, STATUS, r->tail);
	chain_if_is(m, STATUS, 0, L_NAMED); // else what its caller has called is another one, which has gone
	chain_set(m, CALLER, 0);
	chain_label(m, L_NAMED);
	place(m, r);
	chain_mul(m, KEY, T, CALLER, 3);
	chain_mul(m, FUNC, X + r->source, X + r->code, 3);
	chain_mul(m, FUNC, FUNC, X + r->line, 1 << 24);
	chain_mul(m, FUNC, FUNC, CALLER, 5);
	chain_frame(m, KEY, FUNC, POS);
	chain_label(m, L_C);
	if (!IS_51(r))
		chain_if_is(m, POS, LIGHT_C, L_CLOSURE);
	chain_load(m, FUNC, FUNC, r->closure, 8);
	chain_label(m, L_CLOSURE);
	chain_set(m, PC, 0); // for copy()
	chain_mul(m, KEY, FUNC, CALLER, 3);
	chain_frame(m, KEY, CALLER, RT_CHAIN_ZERO);
}

bool lua_chain(const struct RtLang *l, struct RtChain *out)
{
	struct ChainMaker m = {0};
	u32 row = l->row % LUA_ROWS;
	const struct LuaRow *r = &lua_rows[row];

	again(&m, r, l);
	step(&m, r);
	lua_code(&m, r, row);
	return chain_end(&m, out);
}
