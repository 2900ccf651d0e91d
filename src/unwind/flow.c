// Unwind rules of x86-64 code that has no .eh_frame (musl, busybox, assembly, PLTs of lld): how far the stack pointer is from where the function
// was entered, found by following its instructions. Input: bytes nobody vouches for. Output: rows as those of .eh_frame.
// Invariant: a function's rows are given only if every way through it that ends in `ret` does so with the return address on top; other code
// keeps none, and the walker its frame pointers. Rows of what only looks like a function, and has no such end, are marked as a guess.
// Calling convention: System V ABI for AMD64, 3.2 and 3.4.1 (rbp zero: the outermost frame).
#include "unwind/internal.h"
#include <stdlib.h>
#include <string.h>

#define INSIDE (~0u)	 // of an instruction
#define NOW (1u << 31)	 // seen by the walk that is going on
#define JUMPS (1u << 30) // an indirect jump
#define GUESS (1u << 29) // part of what only looked like a function
#define STATE(mark) (((mark) & ~(NOW | JUMPS | GUESS)) - 1)
#define RETRIES 16	 // calls of one function that may turn out not to return
#define STEPS 8 // instructions looked at for each byte of code in one pass, at most
#define NEAR_JUMPS 2
#define MAX_SWITCH 16384 // bytes from an indirect jump to a case of its switch
enum { IS_START = 1, IS_TRIED = 2 }; // a function begins; added for each walk that failed
#define HOPELESS (IS_TRIED * 4) // then no walk from what only may be a function goes there: the work stays linear

struct Call {
	u64 after; // address of the next instruction that is no padding, 0: no call
	u64 callee;
	bool padded;
};
struct Item {
	u64 pc;
	struct FlowState st;
	struct Call call; // the last one on the way here
};
struct Callee { // a function, or the slot its address is read from
	u64 pc;
	u32 calls, dead; // how often called, and how often nothing that fits came after
	bool endless;	 // followed to all its ends: none returns
};
struct Region {
	const struct FlowCode *c;
	u32 *at; // per byte: 0 not seen, INSIDE, else index of the state + 1
	u8 *is; // per byte: IS_*
};
struct Flow {
	struct Region *regions;
	u32 nregions, last;
	VEC(struct FlowState) states;
	u32 *index, nindex; // hash of states
	u32 state; // the last one looked up
	VEC(u64) queue;	   // functions to walk
	u64 steps;	   // instructions that may still be looked at: bounds the work on made-up code
	const struct UwHurry *hurry;
	bool stopped;
	// the function being walked
	VEC(struct Item) work;
	VEC(u64) seen;		 // instructions
	VEC(struct Call) calls, dead; // dead: those that do not return
	VEC(struct Callee) callees;
	u32 *callee_index, ncallee_index;
	u32 good, bad;
	bool lost; // bad, and no call to blame
	bool joined; // code that was followed before
	bool plt_head;
	bool jumps; // indirectly: a switch, which goes on in the state it has there
	bool found; // nothing names or calls what is walked
	bool inside; // it is part of the function before it
	bool keep_frames, image; // FlowIn's
	bool framed; // its ends need not prove it: what has a frame pointer proves itself
	bool unproven; // and one did not
};

// ---- places
static struct Region *region_at(struct Flow *f, u64 pc)
{
	struct Region *r = &f->regions[f->last];
	if (f->nregions && pc - r->c->vaddr < r->c->size)
		return r;
	u32 lo = 0, hi = f->nregions;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (f->regions[mid].c->vaddr + f->regions[mid].c->size <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == f->nregions || pc < f->regions[lo].c->vaddr)
		return NULL;
	f->last = lo;
	return &f->regions[lo];
}

static u32 *mark_at(struct Flow *f, u64 pc)
{
	struct Region *r = region_at(f, pc);
	return r ? &r->at[pc - r->c->vaddr] : NULL;
}

static bool is_start(struct Flow *f, u64 pc)
{
	struct Region *r = region_at(f, pc);
	return r && r->is[pc - r->c->vaddr] & IS_START;
}

static void add_start(struct Flow *f, u64 pc)
{
	struct Region *r = region_at(f, pc);
	if (!r || r->is[pc - r->c->vaddr] & IS_START)
		return;
	r->is[pc - r->c->vaddr] |= IS_START;
	vec_push(&f->queue, pc);
}

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
static struct Callee *callee(struct Flow *f, u64 pc)
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
		struct Callee fresh = {.pc = pc};
		vec_push(&f->callees, fresh);
		*at = (u32)f->callees.n;
		return &vec_last(&f->callees);
	}
}

static bool never_returns(const struct Callee *c)
{
	return c->endless || c->dead * 2 > c->calls;
}

// ---- one function
static void judge(struct Flow *f, const struct Item *it, bool ok)
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
static void jump_to(struct Flow *f, u64 start, const struct Item *it, u64 target)
{
	struct Item to = *it;
	to.pc = target;
	if (region_at(f, target) && (target == start || !is_start(f, target)))
		vec_push(&f->work, to);
	else
		judge(f, it, it->st.sp == 8);
}

// Does a function begin at pc? Two registers of the caller are saved there one after the other, in the order compilers have for it.
static bool is_prologue(struct Flow *f, u64 pc)
{
	static const u8 order[] = {15, 14, 13, 12, RBP, 3};
	struct Region *r = region_at(f, pc);
	struct Insn in;
	u32 n = 0, next = 0;
	while (r && pc - r->c->vaddr < r->c->size &&
	       insn_decode(PT_X86_64, r->c->p + (pc - r->c->vaddr), r->c->size - (pc - r->c->vaddr), pc, &in) && in.op >= 0x50 && in.op < 0x58) {
		while (next < ARRAY_LEN(order) && order[next] != in.rm)
			next++;
		if (next == ARRAY_LEN(order))
			break;
		n++;
		pc += in.len;
	}
	return n >= 2;
}

// Only the beginning of a function does this: it may be one that never returns.
static bool makes_frame(const struct Insn *in)
{
	return (in->op >= 0x50 && in->op < 0x58 && flow_slot(in->rm) >= 0) ||
	       ((in->op == 0x81 || in->op == 0x83) && in->mod == 3 && in->rm == RSP && (in->reg & 7) == 5);
}

// Compilers begin functions at multiples of 16: padding up to one, right behind a call, is the end of a function (seldom a loop's head follows).
static bool ends_there(struct Flow *f, u64 after)
{
	struct Region *r = region_at(f, after);
	struct Insn in;
	u64 pc = after;
	while (r && pc - r->c->vaddr < r->c->size && pc % 16 &&
	       insn_decode(PT_X86_64, r->c->p + (pc - r->c->vaddr), r->c->size - (pc - r->c->vaddr), pc, &in) && flow_is_padding(&in))
		pc += in.len;
	return pc != after && pc % 16 == 0;
}

// Does another function begin behind the call that the item has just made?
static bool begins_behind(struct Flow *f, const struct Item *it)
{
	struct Region *r = region_at(f, it->pc);
	struct Insn in;
	if (it->st.sp > 8 && is_prologue(f, it->pc))
		return true;
	u64 off = it->pc - r->c->vaddr;
	return it->call.padded && it->pc % 16 == 0 && insn_decode(PT_X86_64, r->c->p + off, r->c->size - off, it->pc, &in) && makes_frame(&in);
}

// GraalVM puts a nop behind each call, its frames keep their size: what stands there is the function's own, whatever the callee does, or the next function.
static bool nop_behind(struct Flow *f, u64 after)
{
	struct Region *r = f->image ? region_at(f, after) : NULL;
	return r && r->c->p[after - r->c->vaddr] == 0x90;
}

// Where the item goes from the instruction it has just passed; false: this way ends.
static bool go_on(struct Flow *f, u64 start, struct Item *it, const struct Insn *in, enum Branch way, u32 *at)
{
	switch (way) {
	case BRANCH_RET:
		judge(f, it, it->st.sp == 8);
		return false;
	case BRANCH_STOP:
		return false;
	case BRANCH_INDIRECT:
		if (in->target) { // by way of a slot: another function
			judge(f, it, it->st.sp == (f->plt_head ? 24 : 8));
			return false;
		}
		if (f->keep_frames && !flow_framed(&it->st)) // no switch: another function is called at the end, perhaps with more arguments
			judge(f, it, it->st.sp == 8);
		f->jumps = true;
		*at |= JUMPS;
		return false;
	case BRANCH_JUMP:
		jump_to(f, start, it, in->target);
		return false;
	case BRANCH_COND:
		jump_to(f, start, it, in->target);
		break;
	case BRANCH_CALL:
		it->call = (struct Call){it->pc + in->len, in->target, false};
		if (nop_behind(f, it->call.after))
			*at |= JUMPS; // what only exceptions lead to goes on in this state, too
		if (!in->target)
			break;
		vec_push(&f->calls, it->call);
		if (!f->keep_frames && !nop_behind(f, it->call.after) && never_returns(callee(f, in->target))) // V8's compilers put a trap behind such a call
			return false;
		break;
	case BRANCH_NONE:
		break;
	}
	it->pc += in->len;
	return true;
}

// The instruction at it->pc becomes part of the walk. False: none is known, or it overlaps others.
static bool take(struct Flow *f, const struct Item *it, struct Region *r, u32 *at, struct Insn *in)
{
	u64 off = it->pc - r->c->vaddr, left = r->c->size - off;
	if (!f->steps || (f->found && r->is[off] >= HOPELESS) || !insn_decode(PT_X86_64, r->c->p + off, left, it->pc, in))
		return false;
	for (u32 i = 1; i < in->len; i++)
		if (at[i])
			return false;
	f->steps--;
	*at = (state_index(f, &it->st) + 1) | NOW;
	for (u32 i = 1; i < in->len; i++)
		at[i] = INSIDE;
	vec_push(&f->seen, it->pc);
	return true;
}

// Ways meet that do not agree: from here on nothing is known of the frame. False: nothing was, or it is another function's code.
static bool forget_frame(struct Flow *f, struct Item *it, u32 *at)
{
	struct FlowState none = {.sp = FLOW_UNKNOWN, .fp = FLOW_UNKNOWN, .low = FLOW_UNKNOWN};
	u32 mark = (state_index(f, &none) + 1) | NOW;
	if (!(*at & NOW) || *at == mark)
		return false;
	it->st = none;
	f->unproven = true;
	*at = 0;
	for (at++; *at == INSIDE; at++)
		*at = 0;
	return true;
}

static void follow(struct Flow *f, u64 start, struct Item it, size_t ndead)
{
	for (bool fell = false;; fell = true) {
		struct Region *r = region_at(f, it.pc);
		u32 *at = r ? &r->at[it.pc - r->c->vaddr] : NULL;
		struct Insn in;
		bool next = fell && r && r->is[it.pc - r->c->vaddr] & IS_START;
		if (fell && it.call.after == it.pc && !f->keep_frames && (!r || next || stops_after(f, ndead, it.pc) || begins_behind(f, &it)))
			return; // a call that does not return
		if (next) { // runs on into the next function, as if it had jumped there
			judge(f, &it, it.st.sp == 8);
			return;
		}
		if (r && *at && *at != INSIDE) {
			bool fits = flow_same_frame(&f->states.p[STATE(*at)], &it.st);
			if (!fits && f->framed && forget_frame(f, &it, at))
				continue;
			if (!fits || !(*at & (NOW | GUESS))) // a guess proves nothing
				judge(f, &it, fits);
			f->joined |= !(*at & NOW);
			return;
		}
		if (!r || *at || !take(f, &it, r, at, &in)) {
			f->lost |= f->framed;
			judge(f, &it, false);
			return;
		}
		if (it.call.after == it.pc && flow_is_padding(&in)) {
			it.call.after += in.len;
			it.call.padded = true;
		}
		enum Branch way = flow_effect(&it.st, &in);
		if (!go_on(f, start, &it, &in, way, at))
			return;
	}
}

static void forget(struct Flow *f, bool failed) // what was seen
{
	for (size_t i = 0; i < f->seen.n; i++) {
		struct Region *r = region_at(f, f->seen.p[i]);
		u64 off = f->seen.p[i] - r->c->vaddr;
		r->at[off] = 0;
		if (failed && r->is[off] < HOPELESS)
			r->is[off] += IS_TRIED;
		for (off++; off < r->c->size && r->at[off] == INSIDE; off++)
			r->at[off] = 0;
	}
}

static void learn(struct Flow *f, u64 start)
{
	bool begins = f->image && start % 16 == 0 && is_prologue(f, start);
	bool guess = f->found && !f->good && !begins && !f->inside; // neither its beginning nor an end is sure
	for (size_t i = 0; i < f->seen.n; i++) {
		u32 *at = mark_at(f, f->seen.p[i]);
		*at &= ~NOW;
		if (guess || (f->unproven && !flow_entered(&f->states.p[STATE(*at)])))
			*at |= GUESS;
	}
	for (size_t i = 0; i < f->calls.n; i++) {
		struct Callee *c = callee(f, f->calls.p[i].callee);
		c->calls++;
		c->dead += !nop_behind(f, f->calls.p[i].after) && ends_there(f, f->calls.p[i].after);
		add_start(f, f->calls.p[i].callee);
	}
	for (size_t i = 0; i < f->dead.n; i++)
		callee(f, f->dead.p[i].callee)->dead++;
	if (!f->good && !f->jumps && !f->joined && !f->image)
		callee(f, start)->endless = true;
}

static void follow_all(struct Flow *f, u64 start, const struct FlowState *st, size_t ndead)
{
	struct Item first = {.pc = start, .st = *st};
	f->good = f->bad = 0;
	f->lost = f->joined = f->jumps = f->unproven = false;
	f->seen.n = f->calls.n = f->work.n = 0;
	vec_push(&f->work, first);
	while (f->work.n && !f->lost)
		follow(f, start, f->work.p[--f->work.n], ndead);
}

// A function whose ends are not understood, as tail calls with other arguments: of one that keeps a frame pointer that proves where its frame is; so does its entry.
static bool walk_framed(struct Flow *f, u64 start, const struct FlowState *st)
{
	f->dead.n = 0;
	f->framed = true;
	follow_all(f, start, st, 0);
	f->framed = false;
	if (f->lost || !f->unproven)
		forget(f, true);
	else
		learn(f, start);
	bool understood = f->unproven && !f->lost;
	f->unproven = false;
	return understood;
}

// Walks from start in that state. True: understood, its marks stay and the functions it calls are queued. Sure: it must have returned
// somewhere, or have come to code that was understood before.
static bool walk(struct Flow *f, u64 start, const struct FlowState *st, bool sure)
{
	f->dead.n = 0;
	f->unproven = false;
	if (f->stopped || (f->hurry && f->hurry->stop(f->hurry->arg))) {
		f->stopped = true;
		f->steps = 0;
		return false;
	}
	for (u32 try = 0; try < RETRIES; try++) {
		size_t ndead = f->dead.n;
		follow_all(f, start, st, ndead);
		if (!f->bad && (f->good || !sure)) {
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

static struct FlowState entered(bool root)
{
	return (struct FlowState){.sp = 8, .fp = FLOW_UNKNOWN, .low = FLOW_UNKNOWN, .root = root};
}

static void walk_queue(struct Flow *f)
{
	struct FlowState st = entered(false);
	for (size_t i = 0; i < f->queue.n; i++)
		if (!*mark_at(f, f->queue.p[i]))
			walk(f, f->queue.p[i], &st, false);
	f->queue.n = 0;
}

// ---- code that nothing named: it follows a function of which it is a part (a switch reaches it), or begins one
// The first entry of a PLT: push of a slot, jump through the next one. The others come here with a number on the stack (psABI 5.2).
static bool is_plt_head(const u8 *p, u64 n)
{
	return n >= 12 && p[0] == 0xff && p[1] == 0x35 && ((p[6] == 0xff && p[7] == 0x25) || (p[6] == 0xf2 && p[7] == 0xff && p[8] == 0x25));
}

// As a part of the function before it, whose switch goes on here, in the state of one of the indirect jumps before pc, the nearest first.
static bool walk_case(struct Flow *f, u64 pc, const u32 *near)
{
	for (u32 n = 0; n < NEAR_JUMPS && near[n]; n++) {
		struct FlowState st = f->states.p[STATE(near[n])];
		if (!flow_framed(&st)) // a `ret` shall prove the stack pointer, not what this says of rbp
			st.fp = FLOW_UNKNOWN;
		if (st.sp != FLOW_UNKNOWN)
			st.copy = 0, st.copy_reg = 0;
		f->inside = f->image && pc % 16; // where none of its functions begins
		bool understood = walk(f, pc, &st, !f->inside);
		f->inside = false;
		if (understood)
			return true;
	}
	return false;
}

static void sweep(struct Flow *f, struct Region *r)
{
	struct FlowState plain = entered(false);
	struct Insn in;
	u32 near[NEAR_JUMPS] = {0};
	bool first = true; // behind code that has entries, or where a section begins: this is a function too
	for (u64 off = 0, jump = 0; off < r->c->size && f->steps;) {
		u64 pc = r->c->vaddr + off;
		u32 mark = r->at[off];
		if (mark != INSIDE && mark & JUMPS) {
			memmove(near + 1, near, sizeof(near) - sizeof(*near));
			near[0] = mark;
			jump = off;
		}
		if (near[0] && ((!mark && r->c->p[off] == 0xcc) || off - jump > MAX_SWITCH)) // between functions
			near[0] = 0;
		if (mark) {
			first = false;
			off++;
			continue;
		}
		if (!insn_decode(PT_X86_64, r->c->p + off, r->c->size - off, pc, &in)) {
			off++;
			continue;
		}
		if (r->is[off] >= IS_TRIED) {
			off += in.len;
			continue;
		}
		if (flow_is_padding(&in) || (in.op == 0 && !r->c->p[off])) {
			off += in.op ? in.len : 1;
			continue;
		}
		if (is_plt_head(r->c->p + off, r->c->size - off)) {
			f->plt_head = true;
			walk(f, pc, &(struct FlowState){.sp = 16, .fp = FLOW_UNKNOWN, .low = FLOW_UNKNOWN}, false);
			f->plt_head = false;
			off++;
			continue;
		}
		f->found = true;
		bool understood = walk_case(f, pc, near) || walk(f, pc, &plain, !first && !makes_frame(&in));
		first = false;
		f->found = false;
		if (understood) {
			walk_queue(f);
			continue;
		}
		do { // on behind the end of what was not understood
			struct FlowState none = plain;
			enum Branch way = flow_effect(&none, &in);
			off += in.len;
			if (way == BRANCH_RET || way == BRANCH_JUMP || way == BRANCH_STOP || way == BRANCH_INDIRECT)
				break;
		} while (off < r->c->size && !r->at[off] && insn_decode(PT_X86_64, r->c->p + off, r->c->size - off, r->c->vaddr + off, &in));
	}
}

// ---- rows
// The length of what no walk has taken from off on.
static u64 hole_at(const struct Region *r, u64 off)
{
	u64 end = off;
	while (end < r->c->size && !r->at[end])
		end++;
	return end - off;
}

// Ranges without instructions get a row that says so, but for padding, where nothing is executed.
static void give_rows(const struct Flow *f, const struct Region *r, FlowRows *out)
{
	u32 last = ~0u; // mark without the bits that make no difference
	for (u64 off = 0, n = 1; off < r->c->size; off += n, n = 1) {
		u32 m = r->at[off] & ~(NOW | JUMPS);
		if (!m) {
			n = hole_at(r, off);
			if (flow_only_padding(r->c->p + off, n))
				continue;
		}
		if (r->at[off] == INSIDE || m == last)
			continue;
		struct FlowRow row = {.pc = r->c->vaddr + off};
		if (m)
			flow_rule(&f->states.p[STATE(m)], m & GUESS, &row.rule);
		if (!out->n || vec_last(out).pc < r->c->vaddr || memcmp(&vec_last(out).rule, &row.rule, sizeof(row.rule)))
			vec_push(out, row);
		last = m;
	}
}

#define PASSES 3 // each knows more functions that do not return

static void pass(struct Flow *f, const struct FlowIn *in)
{
	struct FlowState root = entered(true);
	for (u32 i = 0; i < f->nregions; i++) {
		struct Region *r = &f->regions[i];
		memset(r->at, 0, r->c->size * sizeof(*r->at));
		memset(r->is, 0, r->c->size);
	}
	for (u32 i = 0; i < in->nstarts; i++)
		add_start(f, in->starts[i]);
	if (in->entry && region_at(f, in->entry)) {
		add_start(f, in->entry);
		walk(f, in->entry, &root, false);
	}
	walk_queue(f);
	for (u32 i = 0; i < f->nregions; i++)
		sweep(f, &f->regions[i]);
}

bool flow_rows(const struct FlowIn *in, FlowRows *out)
{
	struct Flow f = {.hurry = in->hurry, .keep_frames = in->keep_frames, .image = in->image};
	f.regions = xcalloc(in->ncode + 1, sizeof(*f.regions));
	f.nregions = in->ncode;
	for (u32 i = 0; i < in->ncode; i++)
		f.regions[i] = (struct Region){&in->code[i], xcalloc(in->code[i].size + 1, sizeof(u32)), xcalloc(in->code[i].size + 1, 1)};
	u64 total = 0;
	for (u32 i = 0; i < in->ncode; i++)
		total += in->code[i].size;
	f.steps = 1;
	for (u32 i = 0, known = 0, before = ~0u; i < PASSES && f.steps && !f.stopped && known != before; i++) {
		before = known; // a pass that has learnt nothing is the last
		f.steps = total * STEPS;
		pass(&f, in);
		known = 0;
		for (size_t k = 0; k < f.callees.n; k++)
			known += never_returns(&f.callees.p[k]);
	}
	for (u32 i = 0; i < f.nregions; i++) {
		if (!f.stopped)
			give_rows(&f, &f.regions[i], out);
		free(f.regions[i].at);
		free(f.regions[i].is);
	}
	free(f.regions);
	free(f.index);
	free(f.callee_index);
	vec_deinit(&f.callees);
	vec_deinit(&f.states);
	vec_deinit(&f.queue);
	vec_deinit(&f.work);
	vec_deinit(&f.seen);
	vec_deinit(&f.calls);
	vec_deinit(&f.dead);
	return !f.stopped;
}
