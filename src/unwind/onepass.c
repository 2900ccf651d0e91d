// Unwind rules of one function of code made at run time that V8 has compiled of WebAssembly: it keeps a frame pointer, but blocks that call nothing may have no frame, so its
// instructions are followed. Input: its bytes, which nobody vouches for. Output: rows, counted from its beginning.
// Invariant: each byte is looked at once, whatever the bytes are. Where two ways meet that do not agree, what the stack pointer says of the function is marked as a guess;
// what no way leads to has the state of the function's switch, or of its frame.
#include "unwind/internal.h"
#include <string.h>

struct Way {
	u64 at;
	struct FlowState st;
};
struct OnePass {
	const u8 *p;
	u64 n;
	u32 *mark; // per byte: 0 not seen, FLOW_INSIDE, else index of the state + 1
	VEC(struct FlowState) states;
	VEC(struct Way) ways;
	struct FlowState other; // of what no way leads to
	bool has_other, guess, sweeping;
	bool stubs; // what no way leads to has `other` from the beginning
};

static const struct FlowState framed = {.sp = FLOW_UNKNOWN, .fp = 16, .low = FLOW_UNKNOWN, .slot = {-16}};

static bool is_padding(u8 byte) // int3, nop
{
	return byte == 0xcc || byte == 0x90;
}

static void note(struct OnePass *w, const struct FlowState *st, bool jump)
{
	if (w->sweeping || (!jump && (w->has_other || !flow_framed(st))))
		return;
	w->other = *st;
	w->has_other = true;
}

// Did another way come here? A part of it is no instruction of this one.
static bool was_here(struct OnePass *w, u64 at, const struct FlowState *st)
{
	u32 m = w->mark[at];
	if (!m)
		return false;
	if ((m == FLOW_INSIDE || !flow_same_frame(&w->states.p[m - 1], st)) && !w->sweeping)
		w->guess = true;
	return true;
}

static void take(struct OnePass *w, u64 at, u32 len, const struct FlowState *st)
{
	if (!w->states.n || memcmp(&vec_last(&w->states), st, sizeof(*st)))
		vec_push(&w->states, *st);
	w->mark[at] = (u32)w->states.n;
	for (u64 i = at + 1; i < at + len; i++) {
		w->guess |= w->mark[i] && !w->sweeping;
		w->mark[i] = w->mark[i] ? w->mark[i] : FLOW_INSIDE;
	}
}

static void follow(struct OnePass *w, u64 at, struct FlowState st)
{
	struct Insn in;
	while (at < w->n && !was_here(w, at, &st) && insn_decode(PT_X86_64, w->p + at, w->n - at, at, &in)) {
		take(w, at, in.len, &st);
		note(w, &st, false);
		enum Branch way = flow_effect(&st, &in);
		if (way == BRANCH_CALL && !flow_framed(&st)) // V8 calls with a frame only; Liftoff's functions have theirs made by what they call first
			st = framed;
		if (way == BRANCH_INDIRECT)
			note(w, &st, true);
		if (way == BRANCH_COND && in.target < w->n)
			vec_push(&w->ways, ((struct Way){in.target, st}));
		if (way == BRANCH_JUMP && in.target < w->n)
			at = in.target;
		else if (way == BRANCH_JUMP || way == BRANCH_RET || way == BRANCH_STOP || way == BRANCH_INDIRECT)
			return;
		else
			at += in.len;
	}
}

static void follow_all(struct OnePass *w, u64 at, struct FlowState st)
{
	vec_push(&w->ways, ((struct Way){at, st}));
	while (w->ways.n) {
		struct Way way = w->ways.p[--w->ways.n];
		follow(w, way.at, way.st);
	}
}

static void give(const struct OnePass *w, UwCodeRows *out)
{
	for (u64 off = 0; off < w->n; off++) {
		struct UwCodeRow row = {.off = off};
		if (w->mark[off] == FLOW_INSIDE)
			continue;
		if (w->mark[off])
			flow_rule(&flow_x86, &w->states.p[w->mark[off] - 1], false, w->guess, &row.rule);
		else if (is_padding(w->p[off]))
			continue;
		if (w->stubs && row.rule.kind == RT_UW_NONE) // data among them, or what no way leads to
			flow_rule(&flow_x86, &w->other, false, false, &row.rule);
		row.rule.saved &= 1; // what V8 pushes but rbp it does not save
		memset(row.rule.slot + 1, 0, sizeof(row.rule.slot) - sizeof(row.rule.slot[0]));
		if (!out->n || off == 0 || memcmp(&vec_last(out).rule, &row.rule, sizeof(row.rule)))
			vec_push(out, row);
	}
}

// other: the state of what no way leads to; NULL: as the function tells.
static void rows(const u8 *p, u64 n, const struct FlowState *other, UwCodeRows *out)
{
	struct OnePass w = {.p = p, .n = n, .mark = xcalloc(n + 1, sizeof(u32))};

	w.stubs = w.sweeping = w.has_other = other;
	if (other)
		w.other = *other;
	follow_all(&w, 0, flow_x86.entered);
	w.sweeping = true;
	for (u64 off = 1; w.has_other && off < n; off++) // where a piece begins: what is no instruction there is not tried byte by byte
		if (!w.mark[off] && !is_padding(p[off]) && (w.mark[off - 1] || is_padding(p[off - 1])))
			follow_all(&w, off, w.other);
	give(&w, out);
	free(w.mark);
	vec_deinit(&w.states);
	vec_deinit(&w.ways);
}

void uwcode_rows(const u8 *p, u64 n, UwCodeRows *out)
{
	rows(p, n, NULL, out);
}

void uwstub_rows(const u8 *p, u64 n, UwCodeRows *out)
{
	rows(p, n, &flow_x86.entered, out);
}
