// One function of code without .eh_frame, followed from where it begins to all its ends: what the frame is before each of its instructions (flowinsn.c, flowarm64.c).
// Input: bytes nobody vouches for. Output: marks on the instructions (FLOW_STATE), and functions it calls, queued.
// Invariant: marks stay only if every way that ends in `ret` does so with the return address on top, or a frame pointer proves the frame; what a walk did not understand is taken back.
#include "unwind/internal.h"
#include <stdlib.h>
#include <string.h>

#define RETRIES 16	 // calls of one function that may turn out not to return
#define MAX_FAR (1u << 20) // addresses in other parts
#define PROBE 8		 // instructions of a loop that probes the stack
#define HOPELESS (FLOW_IS_TRIED * 4) // then no walk from what only may be a function goes there: the work stays linear

// ---- states, each kept once
static u32 state_index(struct Flow *f, const struct FlowState *s)
{
	u32 words[sizeof(*s) / 4], h = 0;
	if (f->states.n && !memcmp(&f->states.p[f->state], s, sizeof(*s))) // most instructions leave it as it is
		return f->state;
	memcpy(words, s, sizeof(words));
	if (f->states.n * 2 >= f->nindex) {
		f->nindex = f->nindex ? f->nindex * 2 : 1024;
		free(f->index);
		f->index = xcalloc(f->nindex, sizeof(u32));
		u32 n = (u32)f->states.n;
		f->states.n = f->state = 0;
		for (u32 i = 0; i < n; i++)
			state_index(f, &f->states.p[i]); // in their order: the numbers stay
	}
	for (u32 i = 0; i < ARRAY_LEN(words); i++)
		h = (h ^ words[i]) * 0x9e3779b1u;
	h ^= h >> 15;
	for (;; h++) {
		u32 *at = &f->index[h & (f->nindex - 1)];
		if (*at && !memcmp(&f->states.p[*at - 1], s, sizeof(*s)))
			return f->state = *at - 1;
		if (*at)
			continue;
		struct FlowState copy = *s;
		vec_push(&f->states, copy);
		*at = (u32)f->states.n;
		return f->state = *at - 1;
	}
}

// ---- functions that do not return: what stands behind their calls is reached in other ways, or not at all
static struct FlowCallee *callee(struct Flow *f, u64 pc)
{
	if (f->callees.n * 2 >= f->ncallee_index) {
		f->ncallee_index = f->ncallee_index ? f->ncallee_index * 2 : 1024;
		free(f->callee_index);
		f->callee_index = xcalloc(f->ncallee_index, sizeof(u32));
		u32 n = (u32)f->callees.n;
		for (u32 i = 0; i < n; i++) {
			u32 h = (u32)(f->callees.p[i].pc * 0x9e3779b97f4a7c15ull >> 32);
			while (f->callee_index[h & (f->ncallee_index - 1)])
				h++;
			f->callee_index[h & (f->ncallee_index - 1)] = i + 1;
		}
	}
	u32 h = (u32)(pc * 0x9e3779b97f4a7c15ull >> 32);
	for (;; h++) {
		u32 *at = &f->callee_index[h & (f->ncallee_index - 1)];
		if (*at && f->callees.p[*at - 1].pc == pc)
			return &f->callees.p[*at - 1];
		if (*at)
			continue;
		struct FlowCallee fresh = {.pc = pc};
		vec_push(&f->callees, fresh);
		*at = (u32)f->callees.n;
		return &vec_last(&f->callees);
	}
}

bool flow_never_returns(const struct FlowCallee *c)
{
	return c->endless || c->dead * 2 > c->calls;
}

// ---- one function
static void judge(struct Flow *f, const struct FlowItem *it, bool ok)
{
	if (it->st.root)
		return;
	if (!ok && f->framed) {
		f->unproven = true;
		return;
	}
	*(ok ? &f->good : &f->bad) += 1;
	if (!ok && it->call.after)
		vec_push(&f->dead, it->call);
	f->lost |= !ok && !it->call.after;
}

static bool stops_after(const struct Flow *f, size_t ndead, u64 pc)
{
	for (size_t i = 0; i < ndead; i++)
		if (f->dead.p[i].after == pc)
			return true;
	return false;
}

// Leaves for target: within the function, or for another one, which finds the stack as ours was found.
static void jump_to(struct Flow *f, u64 start, const struct FlowItem *it, u64 target)
{
	struct FlowItem to = *it;
	to.pc = target;
	bool here = flow_region(f, target), left = f->m->left(&it->st, NULL, 0);
	if (here && (target == start || !flow_is_start(f, target)))
		vec_push(&f->work, to);
	else if (here || !f->parts || left) // else it may be this function's, in another part
		judge(f, it, left);
}

// Compilers begin functions at multiples of 16: padding up to one, right behind a call, is the end of a function (seldom a loop's head follows).
static bool ends_there(struct Flow *f, u64 after)
{
	struct Insn in;
	u64 pc = after;
	while (pc % 16 && flow_insn_at(f, pc, &in) && f->m->is_padding(&in))
		pc += in.len;
	return pc != after && pc % 16 == 0;
}

// Does another function begin behind the call that the item has just made?
static bool begins_behind(struct Flow *f, const struct FlowItem *it)
{
	struct Insn in;
	if (flow_begins_in(f, &it->st, it->pc))
		return true;
	return it->call.padded && it->pc % 16 == 0 && flow_insn_at(f, it->pc, &in) && f->m->makes_frame(&in);
}

// GraalVM puts a nop behind each call, its frames keep their size: what stands there is the function's own, whatever the callee does, or the next function.
static bool nop_behind(struct Flow *f, u64 after)
{
	struct FlowRegion *r = f->image ? flow_region(f, after) : NULL;
	return r && r->c->p[after - r->c->vaddr] == 0x90;
}

// A function that another one is given (a thread's start), which nothing else names or calls: where an address leads to an instruction that only beginnings have.
static void function_taken(struct Flow *f, const struct Insn *in)
{
	u64 at = f->m->takes_address ? f->m->takes_address(in) : 0;
	struct FlowRegion *r = at ? flow_region(f, at) : NULL;

	if (at && !r && f->parts && f->far.n < MAX_FAR && at % 16 == 0 && at - f->lowest < f->highest - f->lowest)
		vec_push(&f->far, at);
	if (r && !flow_is_start(f, at) && flow_is_beginning(f, at)) {
		if (r->at[at - r->c->vaddr] || r->is[at - r->c->vaddr] >= FLOW_IS_TRIED)
			vec_push(&f->taken, at);
		flow_add_start(f, at);
	}
}

// The return address is on top, nothing is saved.
static bool is_bare(const struct Flow *f, const struct FlowState *s)
{
	static const s16 none[RT_UW_SLOTS];
	return s->sp == f->m->entered.sp && s->fp == FLOW_UNKNOWN && !s->in_lr && !memcmp(s->slot, none, sizeof(none));
}

// A large frame that is made a page at a time, each touched (-fstack-clash-protection, Rust): a loop moves the stack pointer until it is where a register says. There the CFA
// is found by that register.
static bool probes_stack(struct Flow *f, struct FlowItem *it, u64 back)
{
	struct FlowState *st = &it->st;
	struct Insn in;
	size_t n = f->seen.n, i = n;

	if (!f->m->compares_stack || n < 2 || back >= it->pc || st->sp == FLOW_UNKNOWN || !st->copy_reg || !flow_insn_at(f, f->seen.p[n - 2], &in) ||
	    f->m->compares_stack(&in) != st->copy_reg)
		return false;
	while (i > 0 && n - i < PROBE && f->seen.p[i - 1] >= back && f->seen.p[i - 1] <= it->pc)
		i--;
	if (f->seen.p[i] != back)
		return false;
	for (; i < n; i++) {
		u32 *at = flow_mark(f, f->seen.p[i]);
		struct FlowState by_copy = f->states.p[FLOW_STATE(*at)];
		by_copy.sp = FLOW_UNKNOWN;
		*at = (state_index(f, &by_copy) + 1) | FLOW_NOW;
	}
	st->sp = st->copy;
	return true;
}

// Where the item goes from the instruction it has just passed; false: this way ends.
static bool go_on(struct Flow *f, u64 start, struct FlowItem *it, const struct Insn *in, enum Branch way, u32 *at)
{
	switch (way) {
	case BRANCH_RET:
		judge(f, it, f->m->left(&it->st, in, 0));
		return false;
	case BRANCH_STOP:
		return false;
	case BRANCH_INDIRECT:
		if (f->m->by_slot(&it->st, in)) { // another function
			judge(f, it, f->m->left(&it->st, NULL, f->plt_head ? f->m->plt_to : 0));
			return false;
		}
		if (it->call.after && is_bare(f, &it->st)) { // the frame that the call had is given up: no switch, another function is called at the end
			judge(f, it, true);
			return false;
		}
		if (f->keep_frames && !flow_framed(&it->st)) // no switch: another function is called at the end, perhaps with more arguments
			judge(f, it, f->m->left(&it->st, NULL, 0));
		f->jumps = true;
		*at |= FLOW_JUMPS;
		flow_switch(f, start, in, &it->st);
		return false;
	case BRANCH_JUMP:
		jump_to(f, start, it, in->target);
		return false;
	case BRANCH_COND:
		if (!probes_stack(f, it, in->target))
			jump_to(f, start, it, in->target);
		break;
	case BRANCH_CALL:
		it->call = (struct FlowCall){it->pc + in->len, in->target, false};
		if (nop_behind(f, it->call.after))
			*at |= FLOW_JUMPS; // what only exceptions lead to goes on in this state, too
		if (!in->target)
			break;
		vec_push(&f->calls, it->call);
		if (!f->keep_frames && !nop_behind(f, it->call.after) && flow_never_returns(callee(f, in->target))) // V8's compilers put a trap behind such a call
			return false;
		break;
	case BRANCH_NONE:
		function_taken(f, in);
		break;
	}
	it->pc += in->len;
	return true;
}

// The instruction at it->pc becomes part of the walk. False: none is known, or it overlaps others.
static bool take(struct Flow *f, const struct FlowItem *it, struct FlowRegion *r, u32 *at, struct Insn *in)
{
	u64 off = it->pc - r->c->vaddr, left = r->c->size - off;
	if (!f->steps || (f->found && r->is[off] >= HOPELESS) || !flow_decode(f->m, r->c->p + off, left, it->pc, in))
		return false;
	for (u32 i = 1; i < in->len; i++)
		if (at[i])
			return false;
	f->steps--;
	*at = (state_index(f, &it->st) + 1) | FLOW_NOW;
	for (u32 i = 1; i < in->len; i++)
		at[i] = FLOW_INSIDE;
	vec_push(&f->seen, it->pc);
	return true;
}

// The stack pointer was moved by a number that nobody knows.
static bool is_lost(const struct FlowState *s)
{
	return s->sp == FLOW_UNKNOWN && s->fp == FLOW_UNKNOWN && !s->copy_reg && !s->stored && !s->aligned && !s->in_lr && !s->root && !s->met;
}

// Ways meet that do not agree. One has made room for more arguments and moved the return address down with them, the other has it on top as it was: what follows, which
// cannot tell, returns by the top of the stack. Else nothing is known of the frame from here on. False: nothing was, or it is another function's code.
static bool forget_frame(struct Flow *f, struct FlowItem *it, u32 *at)
{
	struct FlowState none = {.sp = FLOW_UNKNOWN, .fp = FLOW_UNKNOWN, .low = FLOW_UNKNOWN, .met = 1};
	const struct FlowState was = f->states.p[FLOW_STATE(*at)];
	if (was.ra_copy && was.ra_copy == it->st.ra_copy && was.in_lr <= was.met && it->st.in_lr <= it->st.met) { // arguments are pushed one by one meanwhile
		none.ra_copy = was.ra_copy;
		none.in_lr = 1;
	}
	u32 mark = (state_index(f, &none) + 1) | FLOW_NOW;
	if (!(*at & FLOW_NOW) || *at == mark)
		return false;
	if (!is_lost(&was) || !is_bare(f, &it->st)) {
		it->st = none;
		f->unproven = true;
	}
	*at = 0;
	for (at++; *at == FLOW_INSIDE; at++)
		*at = 0;
	return true;
}

static void follow(struct Flow *f, u64 start, struct FlowItem it, size_t ndead)
{
	for (bool fell = false;; fell = true) {
		struct FlowRegion *r = flow_region(f, it.pc);
		u32 *at = r ? &r->at[it.pc - r->c->vaddr] : NULL;
		struct Insn in;
		bool next = fell && r && r->is[it.pc - r->c->vaddr] & FLOW_IS_START;
		if (fell && it.call.after == it.pc && !f->keep_frames && (!r || next || stops_after(f, ndead, it.pc) || begins_behind(f, &it)))
			return; // a call that does not return
		if (next) { // runs on into the next function, as if it had jumped there
			judge(f, &it, f->m->left(&it.st, NULL, 0));
			return;
		}
		if (r && *at && *at != FLOW_INSIDE) {
			bool fits = flow_same_frame(&f->states.p[FLOW_STATE(*at)], &it.st);
			if (!fits && f->framed && is_lost(&it.st) && is_bare(f, &f->states.p[FLOW_STATE(*at)]))
				return;
			if (!fits && f->framed && forget_frame(f, &it, at))
				continue;
			if (!fits && stops_after(f, f->dead.n, it.pc)) // it was come to behind a call that is to blame
				return;
			if (!fits || !(*at & (FLOW_NOW | FLOW_GUESS))) // a guess proves nothing
				judge(f, &it, fits);
			f->joined |= !(*at & FLOW_NOW);
			return;
		}
		if (!r || *at || !take(f, &it, r, at, &in)) {
			f->lost |= f->framed;
			judge(f, &it, false);
			return;
		}
		if (it.call.after == it.pc && f->m->is_padding(&in)) {
			it.call.after += in.len;
			it.call.padded = true;
		}
		f->borrowed |= f->m->borrows && f->m->borrows(&it.st, &in);
		enum Branch way = f->m->effect(&it.st, &in);
		if (!go_on(f, start, &it, &in, way, at))
			return;
	}
}

static void forget(struct Flow *f, bool failed) // what was seen
{
	for (size_t i = 0; i < f->seen.n; i++) {
		struct FlowRegion *r = flow_region(f, f->seen.p[i]);
		u64 off = f->seen.p[i] - r->c->vaddr;
		r->at[off] = 0;
		if (failed && r->is[off] < HOPELESS)
			r->is[off] += FLOW_IS_TRIED;
		for (off++; off < r->c->size && r->at[off] == FLOW_INSIDE; off++)
			r->at[off] = 0;
	}
}

void flow_forget(struct Flow *f)
{
	forget(f, true);
}

static void learn(struct Flow *f, u64 start)
{
	bool begins = f->image && start % 16 == 0 && flow_begins_in(f, NULL, start);
	bool guess = f->found && !f->good && !begins && !f->inside; // neither its beginning nor an end is sure
	for (size_t i = 0; i < f->seen.n; i++) {
		u32 *at = flow_mark(f, f->seen.p[i]);
		*at &= ~FLOW_NOW;
		if (guess || (f->unproven && !flow_entered(f->m, &f->states.p[FLOW_STATE(*at)])))
			*at |= FLOW_GUESS;
	}
	for (size_t i = 0; i < f->calls.n; i++) {
		struct FlowCallee *c = callee(f, f->calls.p[i].callee);
		c->calls++;
		c->dead += !nop_behind(f, f->calls.p[i].after) && ends_there(f, f->calls.p[i].after);
		flow_add_start(f, f->calls.p[i].callee);
	}
	for (size_t i = 0; i < f->dead.n; i++)
		callee(f, f->dead.p[i].callee)->dead++;
	if (!f->good && !f->jumps && !f->joined && !f->image)
		callee(f, start)->endless = true;
}

static void follow_all(struct Flow *f, u64 start, const struct FlowState *st, size_t ndead)
{
	struct FlowItem first = {.pc = start, .st = *st};
	f->good = f->bad = 0;
	f->lost = f->joined = f->jumps = f->unproven = f->borrowed = f->switched = false;
	f->seen.n = f->calls.n = f->work.n = 0;
	f->switches.n = f->known_switches;
	vec_push(&f->work, first);
	while (f->work.n && !f->lost)
		follow(f, start, f->work.p[--f->work.n], ndead);
}

// A function whose ends are not understood, as tail calls with other arguments: of one that keeps a frame pointer that proves where its frame is; so does its entry.
// One that gives up a frame that it has not made is jumped to by others (V8's BaselineLeaveFrame), and has theirs from the beginning.
static bool walk_framed(struct Flow *f, u64 start, const struct FlowState *st)
{
	static const struct FlowState others = {.sp = FLOW_UNKNOWN, .fp = 16, .low = FLOW_UNKNOWN, .slot = {-16}};
	f->dead.n = 0;
	f->framed = true;
	follow_all(f, start, st, 0);
	bool borrowed = f->borrowed;
	if (borrowed) {
		forget(f, false);
		follow_all(f, start, &others, 0);
	}
	f->framed = false;
	bool understood = (f->unproven || borrowed || f->good) && !f->lost;
	if (understood)
		learn(f, start);
	else
		forget(f, true);
	f->unproven = false;
	return understood;
}

static bool walk(struct Flow *f, u64 start, const struct FlowState *st, bool sure)
{
	f->dead.n = 0;
	f->unproven = false;
	if (f->stopped || uwhurry_stop(f->hurry)) {
		f->stopped = true;
		f->steps = 0;
		return false;
	}
	for (u32 try = 0; try < RETRIES; try++) {
		size_t ndead = f->dead.n;
		follow_all(f, start, st, ndead);
		if (!f->bad && (f->good || !sure || (f->switched && f->of.base != NO_REG))) {
			learn(f, start);
			return f->seen.n;
		}
		bool failed = f->lost || f->dead.n == ndead || try == RETRIES - 1;
		forget(f, failed);
		if (failed)
			break;
	}
	return f->keep_frames && !f->found && walk_framed(f, start, st);
}

bool flow_walk_one(struct Flow *f, u64 start, const struct FlowState *st, bool sure)
{
	f->known_switches = f->switches.n;
	bool understood = walk(f, start, st, sure);
	if (!understood)
		f->switches.n = f->known_switches;
	return understood;
}
