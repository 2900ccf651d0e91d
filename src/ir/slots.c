// Places stack objects and spills in the frame. Input: a function after register allocation. Output: IrSlotDef.fp_off.
// A slot lives from an access to the last access that a path can reach; a store of the whole slot ends the life before it. A slot whose address
// goes into a vreg lives everywhere. (A callee cannot keep the address: the verifier forbids returning or storing a stack pointer.)
#include "ir/internal.h"

#define CELL 8
#define MAX_CELLS 512 // far beyond the limit: sharing is only worth the time while the frame may still fit

struct Life {
	u32 slot, from, to;
};
struct Slots {
	struct IrFunc *f;
	struct IrOrder o;
	u32 n, words;
	u32 *base; // layout position -> first instruction
	u32 npoints;
	u64 *escaped;	    // slots whose address is taken
	u64 *gen, *kill;    // per block, for the backward direction
	u64 *before, *after; // per block: accessed on some path to its start; needed after its end
	u64 *after_in;	    // needed at its start
	u64 *touched;	    // accessed in the block
	VEC(struct Life) lives; // ordered by slot after sort_lives
	u32 *first;	    // slot -> index in lives; [n] is the end
};

static bool has(const u64 *set, u32 i)
{
	return set[i / 64] >> i % 64 & 1;
}

static void add(u64 *set, u32 i)
{
	set[i / 64] |= 1ULL << i % 64;
}

static u32 slots_of(struct IrInsn *in, u32 out[IR_MAX_USES], u32 *overwritten, u64 *escaped)
{
	struct IrVal *use[IR_MAX_USES];
	u32 n = 0, flags = ir_ops[in->op].flags;
	*overwritten = ~0u;
	for (u32 u = ir_uses(in, use); u--;) {
		struct IrVal *v = use[u];
		if (v->kind != IRO_SLOT && v->kind != IRO_SPILL)
			continue;
		out[n++] = v->id;
		bool address = v->kind == IRO_SLOT && !(flags & F_CALL) && !(flags & F_MEM && v == &in->a);
		if (address && escaped)
			add(escaped, v->id);
	}
	if (in->op == IR_STORE && in->a.kind == IRO_SLOT)
		*overwritten = in->a.id;
	return n;
}

static void block_sets(struct Slots *s, u32 pos)
{
	struct IrBlock *b = &s->f->blocks.p[s->o.order[pos]];
	u64 *gen = s->gen + (size_t)pos * s->words, *kill = s->kill + (size_t)pos * s->words, *touched = s->touched + (size_t)pos * s->words;
	for (size_t k = 0; k < b->insns.n; k++) {
		struct IrInsn *in = &b->insns.p[k];
		u32 ids[IR_MAX_USES], over, n = slots_of(in, ids, &over, s->escaped);
		while (n--) {
			add(touched, ids[n]);
			if (ids[n] == over && in->size == s->f->slots.p[over].size) { // with that size it can only start at offset 0
				if (!has(gen, over))
					add(kill, over);
			} else if (!has(kill, ids[n])) {
				add(gen, ids[n]);
			}
		}
	}
}

static void flow(struct Slots *s)
{
	u32 w = s->words;
	for (bool again = true; again;) {
		again = false;
		for (u32 i = s->o.n; i--;) {
			IrBlk succ[2];
			u64 *out = s->after + (size_t)i * w, *in = s->after_in + (size_t)i * w;
			for (u32 k = ir_succs(ir_term(&s->f->blocks.p[s->o.order[i]]), succ); k--;)
				for (u32 j = 0; j < w; j++)
					out[j] |= s->after_in[(size_t)s->o.at[succ[k]] * w + j];
			for (u32 j = 0; j < w; j++) {
				u64 v = s->gen[(size_t)i * w + j] | (out[j] & ~s->kill[(size_t)i * w + j]);
				again |= v != in[j];
				in[j] = v;
			}
		}
	}
	for (bool again = true; again;) {
		again = false;
		for (u32 i = 0; i < s->o.n; i++) {
			IrBlk succ[2];
			for (u32 k = ir_succs(ir_term(&s->f->blocks.p[s->o.order[i]]), succ); k--;)
				for (u32 j = 0; j < w; j++) {
					u64 *to = &s->before[(size_t)s->o.at[succ[k]] * w + j];
					u64 v = *to | s->before[(size_t)i * w + j] | s->touched[(size_t)i * w + j];
					again |= v != *to;
					*to = v;
				}
		}
	}
}

static void add_life(struct Slots *s, u32 slot, u32 from, u32 to)
{
	vec_push(&s->lives, ((struct Life){slot, from, to}));
}

// Backwards through one block. end[slot]: last instruction at which it is alive, 0 when it is not.
static void block_life(struct Slots *s, u32 pos, u32 *end, u32 *first)
{
	struct IrBlock *b = &s->f->blocks.p[s->o.order[pos]];
	const u64 *before = s->before + (size_t)pos * s->words, *after = s->after + (size_t)pos * s->words;
	const u64 *touched = s->touched + (size_t)pos * s->words;
	u32 from = s->base[pos], to = s->base[pos + 1] - 1;
	for (u32 w = 0; w < s->words; w++)
		for (u64 m = after[w] & (before[w] | touched[w]); m; m &= m - 1)
			end[w * 64 + (u32)__builtin_ctzll(m)] = to;
	for (size_t k = 0; k < b->insns.n; k++) {
		u32 ids[IR_MAX_USES], over, n = slots_of(&b->insns.p[k], ids, &over, NULL);
		while (n--)
			if (!first[ids[n]])
				first[ids[n]] = from + (u32)k;
	}
	for (size_t k = b->insns.n; k--;) {
		u32 ids[IR_MAX_USES], over, n = slots_of(&b->insns.p[k], ids, &over, NULL), at = from + (u32)k;
		while (n--) {
			u32 id = ids[n];
			if (!end[id])
				end[id] = at;
			bool kills = id == over && b->insns.p[k].size == s->f->slots.p[id].size;
			if (kills || (at == first[id] && !has(before, id))) {
				add_life(s, id, at, end[id]);
				end[id] = 0;
			}
		}
	}
	for (u32 w = 0; w < s->words; w++)
		for (u64 m = before[w] | touched[w]; m; m &= m - 1) {
			u32 id = w * 64 + (u32)__builtin_ctzll(m);
			if (end[id])
				add_life(s, id, from, end[id]);
			end[id] = first[id] = 0;
		}
}

static void sort_lives(struct Slots *s)
{
	struct Life *to = xmalloc(s->lives.n * sizeof(*to));
	s->first = xcalloc(s->n + 2, sizeof(*s->first));
	for (size_t i = 0; i < s->lives.n; i++)
		s->first[s->lives.p[i].slot + 2]++;
	for (u32 i = 2; i < s->n + 2; i++)
		s->first[i] += s->first[i - 1];
	for (size_t i = 0; i < s->lives.n; i++)
		to[s->first[s->lives.p[i].slot + 1]++] = s->lives.p[i];
	free(s->lives.p);
	s->lives.p = to;
}

static bool meets(const struct Slots *s, u32 slot, const u64 *cell)
{
	for (u32 i = s->first[slot]; cell && i < s->first[slot + 1]; i++)
		if (bits_any(cell, s->lives.p[i].from, s->lives.p[i].to))
			return true;
	return false;
}

// Lowest place, counted from r10 downwards in cells, where no living neighbour is. Big objects first, so that spills fill the gaps.
static u32 place_all(struct Slots *s)
{
	u64 *cell[MAX_CELLS] = {0};
	u32 used = 0, biggest = 0;
	for (u32 id = 0; id < s->n; id++)
		biggest = MAX(biggest, s->f->slots.p[id].size);
	for (u32 want = (biggest + CELL - 1) / CELL; want; want--)
		for (u32 id = 0; id < s->n; id++) {
			struct IrSlotDef *d = &s->f->slots.p[id];
			u32 ncells = (d->size + CELL - 1) / CELL, at = 0, k;
			if (s->first[id] == s->first[id + 1] || ncells != want)
				continue;
			for (; at + ncells <= MAX_CELLS; at++) {
				for (k = 0; k < ncells && !meets(s, id, cell[at + k]); k++)
					;
				if (k == ncells)
					break;
				at += k;
			}
			if (at + ncells > MAX_CELLS) {
				used = MAX(used, (u32)MAX_CELLS) + ncells;
				continue;
			}
			for (k = at; k < at + ncells; k++) {
				if (!cell[k])
					cell[k] = xcalloc(s->npoints / 64 + 1, sizeof(u64));
				for (u32 i = s->first[id]; i < s->first[id + 1]; i++)
					bits_set(cell[k], s->lives.p[i].from, s->lives.p[i].to);
			}
			d->fp_off = -(s32)((at + ncells) * CELL);
			used = MAX(used, at + ncells);
		}
	for (u32 i = 0; i < MAX_CELLS; i++)
		free(cell[i]);
	return used * CELL;
}

struct err *ir_place_slots(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out)
{
	struct IrFunc *f = &p->funcs.p[fn];
	struct Slots s = {.f = f, .n = (u32)f->slots.n, .words = ((u32)f->slots.n + 63) / 64};
	if (!s.n)
		return NULL;
	ir_order(f, &s.o);
	size_t total = (size_t)s.words * s.o.n;
	u64 **sets[] = {&s.gen, &s.kill, &s.before, &s.after, &s.after_in, &s.touched};
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		*sets[i] = xcalloc(total, sizeof(u64));
	s.escaped = xcalloc(s.words, sizeof(u64));
	s.base = xcalloc(s.o.n + 1, sizeof(*s.base));
	s.npoints = 1;
	for (u32 i = 0; i < s.o.n; i++) {
		s.base[i] = s.npoints;
		s.npoints += (u32)f->blocks.p[s.o.order[i]].insns.n;
	}
	s.base[s.o.n] = s.npoints;
	for (u32 i = 0; i < s.o.n; i++)
		block_sets(&s, i);
	flow(&s);
	u32 *end = xcalloc(s.n, sizeof(*end)), *first = xcalloc(s.n, sizeof(*first));
	for (u32 i = 0; i < s.o.n; i++)
		block_life(&s, i, end, first);
	for (u32 i = 0; i < s.n; i++)
		if (has(s.escaped, i))
			add_life(&s, i, 0, s.npoints);
	sort_lives(&s);
	u32 frame = place_all(&s);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		free(*sets[i]);
	free(s.escaped);
	free(s.first);
	vec_deinit(&s.lives);
	free(s.base);
	free(end);
	free(first);
	ir_order_deinit(&s.o);
	return frame > STACK_MAX ? err_new("%s needs %u bytes of stack, %u is the limit", fn ? f->name : "the probe", frame, STACK_MAX) : NULL;
}
