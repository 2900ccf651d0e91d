// Unwind rules of code that has no .eh_frame (musl, busybox, assembly, PLTs; x86-64, arm64): how far the stack pointer is from where the function
// was entered, found by following its instructions. Here: which functions there are, and what their marks (flowwalk.c) amount to. Input: bytes nobody vouches for. Output: rows as those of .eh_frame.
// Invariant: a function's rows are given only if every way through it that ends in `ret` does so with the return address on top; other code
// keeps none, and the walker its frame pointers. Rows of what only looks like a function, and has no such end, are marked as a guess.
// What differs between machines: flowx86.c, flowarm64.c.
#include "unwind/internal.h"
#include <stdlib.h>
#include <string.h>

#define STEPS 8 // instructions looked at for each byte of code in one pass, at most
#define NEAR_JUMPS 2
#define MAX_SWITCH 16384 // bytes from an indirect jump to a case of its switch

static void walk_queue(struct Flow *f)
{
	struct FlowState st = f->m->entered;
	for (size_t i = 0; i < f->queue.n; i++)
		if (!*flow_mark(f, f->queue.p[i]))
			flow_walk(f, f->queue.p[i], &st, false);
	f->queue.n = 0;
}

// ---- code that nothing named: it follows a function of which it is a part (a switch reaches it), or begins one
// The others come to a PLT's first entry.
static void walk_plt_head(struct Flow *f, u64 pc)
{
	struct FlowState st = f->m->entered;
	st.sp += f->m->plt_from;
	f->plt_head = true;
	flow_walk(f, pc, &st, false);
	f->plt_head = false;
}

// As a part of the function before it, whose switch goes on here, in the state of one of the indirect jumps before pc, the nearest first.
static bool walk_case(struct Flow *f, u64 pc, const u32 *near)
{
	for (u32 n = 0; n < NEAR_JUMPS && near[n]; n++) {
		struct FlowState st = f->states.p[FLOW_STATE(near[n])];
		if (!flow_framed(&st)) // a `ret` shall prove the stack pointer, not what this says of rbp
			st.fp = FLOW_UNKNOWN;
		if (st.sp != FLOW_UNKNOWN)
			st.copy = 0, st.copy_reg = 0;
		f->inside = f->image && pc % 16; // where none of its functions begins
		bool understood = flow_walk(f, pc, &st, !f->inside);
		f->inside = false;
		if (understood)
			return true;
	}
	return false;
}

// What lies before is padding, or ends with a byte that returns and padding end with: no instruction goes on here.
static bool ends_before(const struct FlowRegion *r, u64 off)
{
	u8 last = off ? r->c->p[off - 1] : 0xcc;
	return last == 0xcc || last == 0xc3 || last == 0x90 || !last;
}

static void sweep(struct Flow *f, struct FlowRegion *r)
{
	const struct FlowMachine *m = f->m;
	struct Insn in;
	u32 near[NEAR_JUMPS] = {0};
	bool first = true; // behind code that has entries, or where a section begins: this is a function too
	for (u64 off = 0, jump = 0; off < r->c->size && f->steps;) {
		u64 pc = r->c->vaddr + off;
		u32 mark = r->at[off];
		if (mark != FLOW_INSIDE && mark & FLOW_JUMPS) {
			memmove(near + 1, near, sizeof(near) - sizeof(*near));
			near[0] = mark;
			jump = off;
		}
		if (near[0] && ((!mark && m->filler && r->c->p[off] == m->filler) || off - jump > MAX_SWITCH)) // between functions
			near[0] = 0;
		if (mark) {
			first = false;
			off++;
			continue;
		}
		if (!flow_decode(m, r->c->p + off, r->c->size - off, pc, &in)) {
			off++;
			continue;
		}
		if (r->is[off] >= FLOW_IS_TRIED && (pc % 16 || !m->makes_frame(&in))) {
			off += in.len;
			continue;
		}
		bool zero = m->unit == 1 && !in.op && !r->c->p[off];
		if (zero || m->is_padding(&in)) {
			off += zero ? 1 : in.len;
			continue;
		}
		if (m->is_plt_head(r->c->p + off, r->c->size - off)) {
			walk_plt_head(f, pc);
			off++;
			continue;
		}
		f->found = true;
		bool understood = walk_case(f, pc, near);
		if (!understood) {
			f->only_found = pc;
			understood = flow_walk(f, pc, &m->entered, !first && !m->makes_frame(&in));
			f->only_found = 0;
			if (understood && f->good && f->passes && (m->makes_frame(&in) || (pc % 16 == 0 && ends_before(r, off))))
				vec_push(&f->taken, pc); // known in the next pass; the first one goes on behind calls that do not return
		}
		first = false;
		f->found = false;
		if (understood) {
			walk_queue(f);
			continue;
		}
		do { // on behind the end of what was not understood
			struct FlowState none = m->entered;
			enum Branch way = m->effect(&none, &in);
			off += in.len;
			if (way == BRANCH_RET || way == BRANCH_JUMP || way == BRANCH_STOP || way == BRANCH_INDIRECT)
				break;
		} while (off < r->c->size && !r->at[off] && !flow_begins(f, r->c->vaddr + off) && flow_decode(m, r->c->p + off, r->c->size - off, r->c->vaddr + off, &in));
	}
}

// ---- rows
bool flow_only_padding(const struct FlowMachine *m, const u8 *p, u64 n)
{
	struct Insn in;
	for (u64 off = 0; off < n;) {
		if (m->unit == 1 && !p[off]) {
			off++;
			continue;
		}
		if (!insn_decode(m->arch, p + off, n - off, 0, &in) || !m->is_padding(&in))
			return false;
		off += in.len;
	}
	return true;
}

// The length of what no walk has taken from off on.
static u64 hole_at(const struct FlowRegion *r, u64 off)
{
	u64 end = off;
	while (end < r->c->size && !r->at[end])
		end++;
	return end - off;
}

// Ranges without instructions get a row that says so, but for padding, where nothing is executed.
static void give_rows(const struct Flow *f, const struct FlowRegion *r, bool by_sp, FlowRows *out)
{
	u32 last = ~0u; // mark without the bits that make no difference
	for (u64 off = 0, n = 1; off < r->c->size; off += n, n = 1) {
		u32 m = r->at[off] & ~(FLOW_NOW | FLOW_JUMPS);
		if (!m) {
			n = hole_at(r, off);
			if (flow_only_padding(f->m, r->c->p + off, n))
				continue;
		}
		if (r->at[off] == FLOW_INSIDE || m == last)
			continue;
		struct FlowRow row = {.pc = r->c->vaddr + off};
		if (m)
			flow_rule(f->m, &f->states.p[FLOW_STATE(m)], by_sp, m & FLOW_GUESS, &row.rule);
		if (!out->n || vec_last(out).pc < r->c->vaddr || memcmp(&vec_last(out).rule, &row.rule, sizeof(row.rule)))
			vec_push(out, row);
		last = m;
	}
}

static void pass(struct Flow *f, const struct FlowIn *in)
{
	struct FlowState root = f->m->entered;
	root.root = FLOW_ROOT_ENTRY;
	for (u32 i = 0; i < f->nregions; i++) {
		struct FlowRegion *r = &f->regions[i];
		memset(r->at, 0, r->c->size * sizeof(*r->at));
		memset(r->is, 0, r->c->size);
	}
	for (u32 i = 0; i < in->nstarts; i++)
		flow_add_start(f, in->starts[i]);
	for (size_t i = 0; i < f->taken.n; i++)
		flow_add_start(f, f->taken.p[i]);
	for (size_t i = 0; i < f->far.n; i++)
		if (flow_is_beginning(f, f->far.p[i]))
			flow_add_start(f, f->far.p[i]);
	for (size_t i = 0; i < f->callees.n; i++)
		if (f->callees.p[i].calls)
			flow_add_start(f, f->callees.p[i].pc);
	if (in->entry && flow_region(f, in->entry)) {
		flow_add_start(f, in->entry);
		flow_walk(f, in->entry, &root, false);
	}
	walk_queue(f);
	for (u32 i = 0; i < f->nregions; i++)
		sweep(f, &f->regions[i]);
}

void flow_open(struct Flow *f, const struct FlowIn *in)
{
	*f = (struct Flow){.m = in->machine, .hurry = in->hurry, .file = in->file, .of = {.base = NO_REG}, .keep_frames = in->keep_frames, .image = in->image};
}

void flow_code(struct Flow *f, const struct FlowCode *code, u32 n)
{
	for (u32 i = 0; i < f->nregions; i++) {
		free(f->regions[i].at);
		free(f->regions[i].is);
	}
	free(f->regions);
	f->regions = xcalloc(n + 1, sizeof(*f->regions));
	f->nregions = n;
	f->last = 0;
	for (u32 i = 0; i < n; i++)
		f->regions[i] = (struct FlowRegion){&code[i], xcalloc(code[i].size + 1, sizeof(u32)), xcalloc(code[i].size + 1, 1)};
}

u32 flow_pass(struct Flow *f, const struct FlowIn *in)
{
	u64 total = 0;
	for (u32 i = 0; i < f->nregions; i++)
		total += f->regions[i].c->size;
	f->steps = total * STEPS;
	pass(f, in);
	f->passes++;
	u32 known = (u32)f->taken.n;
	for (size_t k = 0; k < f->callees.n; k++)
		known += flow_never_returns(&f->callees.p[k]);
	return known;
}

void flow_give(const struct Flow *f, bool by_sp, FlowRows *out)
{
	for (u32 i = 0; !f->stopped && i < f->nregions; i++)
		give_rows(f, &f->regions[i], by_sp, out);
}

void flow_close(struct Flow *f)
{
	flow_code(f, NULL, 0);
	free(f->regions);
	free(f->index);
	free(f->callee_index);
	vec_deinit(&f->callees);
	vec_deinit(&f->states);
	vec_deinit(&f->queue);
	vec_deinit(&f->taken);
	vec_deinit(&f->far);
	vec_deinit(&f->switches);
	vec_deinit(&f->addresses);
	vec_deinit(&f->work);
	vec_deinit(&f->seen);
	vec_deinit(&f->calls);
	vec_deinit(&f->dead);
}

#define PASSES 3 // each knows more functions, and which do not return
bool flow_rows(const struct FlowIn *in, FlowRows *out)
{
	struct Flow f;
	flow_open(&f, in);
	flow_code(&f, in->code, in->ncode);
	for (u32 i = 0, known = 0, before = ~0u; i < PASSES && !f.stopped && known != before; i++) {
		before = known; // a pass that has learnt nothing is the last
		known = flow_pass(&f, in);
		if (!f.steps)
			break;
	}
	flow_give(&f, in->by_sp, out);
	bool done = !f.stopped;
	flow_close(&f);
	return done;
}
