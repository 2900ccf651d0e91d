// Windows' unwind information for x86-64 (.pdata), which .NET's code has on Linux too, and what runs under Wine. Input: what a function says of its beginning, and its instructions, neither
// vouched for. Output: rows. The information tells what the function's beginning has done at each of its instructions; that holds to its end but where it is undone, of which it says
// nothing: its instructions are looked at one by one. (Microsoft, "x64 exception handling"; .NET: src/coreclr/vm/amd64, UWOP_SET_FPREG_LARGE.)
// Invariant: each instruction is looked at once; what is not understood has the function's frame.
#include <elf.h>
#include <string.h>
#include "unwind/internal.h"

enum { PUSH, ALLOC_LARGE, ALLOC_SMALL, SET_FPREG, SAVE, SAVE_FAR, EPILOG, SPARE, SAVE_XMM, SAVE_XMM_FAR, MACHINE_FRAME, SET_FPREG_LARGE };
#define CHAINED 4	// flag: what another function has done came before
#define MAX_CHAIN 8
#define MAX_CODE (16u << 20) // bytes of a function

struct Info {
	u8 version_flags, prolog, ncodes, frame;
	struct {
		u8 at, op;
	} code[256 + 6]; // behind them the chained function's entry
};

static bool read_info(const struct UwWindows *w, u32 at, struct Info *out)
{
	u64 addr = w->base + at;
	if (!w->read(w->arg, addr, out, 4) || (out->version_flags & 7) != 1)
		return false;
	u32 codes = ALIGN_UP(out->ncodes, 2u) * 2u, chain = out->version_flags >> 3 & CHAINED ? 12 : 0;
	return !(codes + chain) || w->read(w->arg, addr + 4, out->code, codes + chain);
}

static u32 slots_of(const struct Info *i, u32 k)
{
	switch (i->code[k].op & 15) {
	case ALLOC_LARGE:
		return i->code[k].op >> 4 ? 3 : 2;
	case SAVE:
	case SAVE_XMM:
		return 2;
	case SAVE_FAR:
	case SAVE_XMM_FAR:
	case SET_FPREG_LARGE:
		return 3;
	default:
		return 1;
	}
}

static u32 operand(const struct Info *i, u32 k, u32 bytes)
{
	u32 v = 0;
	memcpy(&v, (const u8 *)&i->code[k] + 2, bytes);
	return v;
}

static bool set_slot(struct FlowState *s, u32 reg, s64 off)
{
	int k = flow_slot(reg);
	if (k < 0)
		return true;
	if (off < INT16_MIN || off >= 0)
		return false;
	s->slot[k] = (s16)off;
	return true;
}

static bool sets_frame(const struct Info *i, struct FlowState *s, u32 above)
{
	if ((i->frame & 15) == RBP)
		s->fp = flow_moved(s->sp, -(s64)above);
	return s->fp != FLOW_UNKNOWN || (i->frame & 15) != RBP;
}

static bool apply(const struct Info *i, u32 k, struct FlowState *s)
{
	u32 info = i->code[k].op >> 4, n;
	switch (i->code[k].op & 15) {
	case PUSH:
		s->sp = flow_moved(s->sp, 8);
		return s->sp != FLOW_UNKNOWN && set_slot(s, info, -(s64)s->sp);
	case ALLOC_LARGE:
		n = info ? operand(i, k, 4) : operand(i, k, 2) * 8;
		s->sp = flow_moved(s->sp, n);
		return s->sp != FLOW_UNKNOWN;
	case ALLOC_SMALL:
		s->sp = flow_moved(s->sp, info * 8 + 8);
		return s->sp != FLOW_UNKNOWN;
	case SET_FPREG:
		return sets_frame(i, s, (i->frame >> 4) * 16u);
	case SET_FPREG_LARGE:
		n = operand(i, k, 4);
		return n < FLOW_MAX_FRAME / 16 && sets_frame(i, s, n * 16);
	case SAVE:
		return set_slot(s, info, (s64)operand(i, k, 2) * 8 - s->sp);
	case SAVE_FAR:
		return set_slot(s, info, (s64)operand(i, k, 4) - s->sp);
	case EPILOG:
	case SPARE:
	case SAVE_XMM:
	case SAVE_XMM_FAR:
		return true;
	default: // of the machine's own frames nothing is known here
		return false;
	}
}

static void put(UwCodeRows *out, size_t first, u64 off, const struct FlowState *st)
{
	struct UwCodeRow row = {.off = off};
	flow_rule(&flow_x86, st, false, false, &row.rule);
	if (out->n > first && vec_last(out).off == off)
		out->n--;
	if (out->n == first || memcmp(&vec_last(out).rule, &row.rule, sizeof(row.rule)))
		vec_push(out, row);
}

// The beginning: a row behind each instruction that moves the stack, and *st, which holds from *end on. What is listed last comes first, and before that what was chained.
static bool beginning(const struct UwWindows *w, u32 at, u32 depth, u64 n, struct FlowState *st, u32 *end, UwCodeRows *out, size_t first)
{
	struct Info i;
	u8 order[256];
	u32 nops = 0, chained[3];
	if (depth > MAX_CHAIN || !read_info(w, at, &i))
		return false;
	if (i.version_flags >> 3 & CHAINED) {
		memcpy(chained, (const u8 *)i.code + ALIGN_UP(i.ncodes, 2u) * 2u, sizeof(chained));
		if (!beginning(w, chained[2], depth + 1, 0, st, end, out, first))
			return false;
	}
	if (n)
		put(out, first, 0, st);
	for (u32 k = 0; k < i.ncodes; k += slots_of(&i, k))
		order[nops++] = (u8)k;
	while (nops--) {
		u32 k = order[nops];
		if (k + slots_of(&i, k) > i.ncodes || !apply(&i, k, st))
			return false;
		if (i.code[k].at < n && i.code[k].at >= vec_last(out).off)
			put(out, first, i.code[k].at, st);
	}
	*end = i.prolog;
	return true;
}

bool uwwindows_rows(const struct UwWindows *w, u32 info, const u8 *code, u64 n, UwCodeRows *out)
{
	struct FlowState frame = flow_x86.entered, st;
	size_t first = out->n;
	struct Insn in;
	u32 end;

	if (!n || n > MAX_CODE || !beginning(w, info, 0, n, &frame, &end, out, first)) {
		out->n = first;
		vec_push(out, ((struct UwCodeRow){0}));
		return false;
	}
	st = frame;
	for (u64 off = end; off < n && insn_decode(PT_X86_64, code + off, n - off, off, &in); off += in.len) {
		put(out, first, off, &st);
		enum Branch way = flow_effect(&st, &in);
		if (way == BRANCH_JUMP || way == BRANCH_RET || way == BRANCH_STOP || way == BRANCH_INDIRECT)
			st = frame;
	}
	return true;
}

// ---- a file's functions
struct Entry {
	u32 from, to, info;
};
static bool read_image(void *arg, u64 addr, void *buf, u64 n)
{
	return elffile_read_at(arg, addr, buf, n);
}

static int by_begin(const void *a, const void *b)
{
	const struct Entry *x = a, *y = b;
	return x->from != y->from ? (x->from < y->from ? -1 : 1) : 0;
}

static const struct CfiSeg *segment_of(const struct ElfCfi *e, u64 from, u64 to)
{
	for (size_t i = 0; i < e->segs.n; i++)
		if (from >= e->segs.p[i].vaddr && to - e->segs.p[i].vaddr <= e->segs.p[i].size)
			return &e->segs.p[i];
	return NULL;
}

// An entry may lead to another one, which has what there is.
static bool direct(const struct ElfCfi *e, struct Entry *f)
{
	struct Entry other;
	for (u32 i = 0; f->info & 1 && i < MAX_CHAIN; i++) {
		if (!elffile_read_at(&e->file, f->info & ~1u, &other, sizeof(other)))
			return false;
		f->info = other.info;
	}
	return !(f->info & 1);
}

// Code without an entry has no frame: "leaf functions".
static void between(FlowRows *out, u64 from, u64 to)
{
	struct FlowRow row = {.pc = from};
	flow_rule(&flow_x86, &flow_x86.entered, false, false, &row.rule);
	if (from < to)
		vec_push(out, row);
}

bool pdata_rows(const struct ElfCfi *e, const struct UwHurry *hurry, FlowRows *out)
{
	const struct UwWindows w = {read_image, (void *)&e->file, 0};
	size_t n = e->pdata.size / sizeof(struct Entry);
	struct Entry *v = (struct Entry *)e->pdata.data;
	const struct CfiSeg *seg = NULL;
	UwCodeRows rows = {0};
	VEC(u8) code = {0};
	u64 end = 0;
	bool stopped = false;

	qsort(v, n, sizeof(*v), by_begin);
	for (size_t i = 0; i < n && !stopped; i++) {
		struct Entry f = v[i];
		const struct CfiSeg *in = f.to > f.from ? segment_of(e, f.from, f.to) : NULL;
		stopped = uwhurry_stop(hurry);
		if (!in || f.from < end || f.to - f.from > MAX_CODE)
			continue;
		if (in != seg && in->vaddr < end) // it lies over the one before
			continue;
		if (in != seg) {
			if (seg)
				between(out, end, seg->vaddr + seg->size);
			end = in->vaddr;
			seg = in;
		}
		between(out, end, f.from);
		while (code.n < f.to - f.from)
			vec_push(&code, 0);
		rows.n = 0;
		if (!direct(e, &f) || !elfcfi_code(e, seg, f.from, code.p, f.to - f.from))
			vec_push(&rows, ((struct UwCodeRow){0}));
		else
			uwwindows_rows(&w, f.info, code.p, f.to - f.from, &rows);
		for (size_t k = 0; k < rows.n; k++)
			vec_push(out, ((struct FlowRow){f.from + rows.p[k].off, rows.p[k].rule}));
		end = f.to;
	}
	if (seg)
		between(out, end, seg->vaddr + seg->size);
	vec_deinit(&rows);
	vec_deinit(&code);
	return !stopped;
}
