// Entries (ehframe.c) and code without entries (gaps.c, gopclntab.c, pdata.c) -> rows. Output: rows ascending by file offset.
// Invariant: .eh_frame wins where both sections speak; no row reaches into the next function.
#include <elf.h>
#include <string.h>
#include "unwind/internal.h"

// ---- rows
struct Sink {
	const PackedRows *flow; // of code without entries: gopclntab.c, flow.c
	size_t flow_at;
	struct UwTable *t;
	struct RuleSet *rules;
	const struct CfiSeg *seg;
	struct Frames *f;
	u8 enc;
	u64 from; // rows before this address belong to an earlier FDE
	u64 check_end; // where a short function ended; 0: it was no short one
	const struct ElfCfi *elf;
	const struct Part *part; // only rows near it are wanted; NULL: all
	const struct UwHurry *hurry;
	bool stopped;
	u32 setcontext; // the rule of glibc's, where it has the new stack pointer; 0: the file has none
};

static void put(struct Sink *s, u64 pc, u32 rule)
{
	u64 off = pc - s->seg->vaddr + s->seg->off;
	if (s->t->rows.n && UW_ROW_OFF(vec_last(&s->t->rows)) == off)
		s->t->rows.n--; // nothing lies between: the later one holds
	if (s->t->rows.n ? UW_ROW_RULE(vec_last(&s->t->rows)) != rule : rule != 0)
		vec_push(&s->t->rows, UW_ROW(off, rule));
}

static void on_row(void *arg, u64 pc, const struct RtUwRule *r)
{
	struct Sink *s = arg;
	u32 rule = ruleset_add(s->rules, r);
	if (r->sp_kind == RT_UW_SP_MEM)
		s->setcontext = rule;
	if (!rule && r->kind != RT_UW_NONE)
		s->t->rules_full = true;
	put(s, MAX(pc, s->from), rule);
}

static u64 set_loc_pointer(void *arg, struct Bytes *b, bool *ok)
{
	struct Sink *s = arg;
	u64 v = fde_pointer(s->f, b, s->enc);
	*ok = !b->bad;
	return v;
}

// Rows of one FDE, clipped to [from, end).
static void run_fde(struct Sink *s, const struct FdeBody *d, u64 end, u16 machine)
{
	struct CfiState st = d->cie->init;
	struct Cie cie = *d->cie; // get_cie may move it
	struct CfiRun run = {&cie, machine, d->pc, end, set_loc_pointer, on_row, s};
	struct RtUwRule r;

	s->enc = cie.fde_enc;
	s->t->nfdes++;
	bool ok = cfi_run(&run, d->insns, &st);
	if (run.pc >= end)
		return;
	memset(&r, 0, sizeof(r));
	if (ok)
		cfi_rule(&st, cie.signal, machine, &r);
	else
		s->t->nbad++;
	on_row(s, run.pc, &r);
}

// Rows of swapcontext, whose one rule holds but for some of its instructions.
static void swap_rows(struct Sink *s, u64 pc, u64 end)
{
	if (!s->t->rows.n || UW_ROW_OFF(vec_last(&s->t->rows)) > pc - s->seg->vaddr + s->seg->off) // of more rules than one
		return;
	u32 rule = UW_ROW_RULE(vec_last(&s->t->rows));
	for (u64 from, to; context_swap(s->elf, s->seg, pc, end, &from, &to); pc = to) {
		put(s, from, s->setcontext);
		put(s, to, rule);
	}
}

// Rows of a function that has one rule, but keeps a register on the stack for a part of it.
static void push_rows(struct Sink *s, u64 pc, u64 end)
{
	u64 from, to;
	if (!s->t->rows.n || UW_ROW_OFF(vec_last(&s->t->rows)) > pc - s->seg->vaddr + s->seg->off || !pushes_copying(s->elf, s->seg, pc, end, &from, &to))
		return;
	u32 rule = UW_ROW_RULE(vec_last(&s->t->rows));
	struct RtUwRule pushed = s->rules->v.p[rule];
	if (pushed.kind != RT_UW_REG)
		return;
	pushed.off += 4;
	put(s, from, ruleset_add(s->rules, &pushed));
	put(s, to, rule);
}

// The next FDE of both sections: the lower address, .eh_frame first.
static struct Frames *pick(struct Frames f[2], const u32 at[2])
{
	bool has0 = at[0] < f[0].fdes.n, has1 = at[1] < f[1].fdes.n;
	if (!has0 || !has1)
		return has0 ? &f[0] : has1 ? &f[1] : NULL;
	return f[0].fdes.p[at[0]].pc <= f[1].fdes.p[at[1]].pc ? &f[0] : &f[1];
}

#define BEGIN_MAX 256 // bytes between entries in which the program begins

static u32 root_rule(struct Sink *s)
{
	struct RtUwRule root = {.kind = RT_UW_END};
	return ruleset_add(s->rules, &root);
}

// Rows of these addresses are known by following their code, or what it was made of.
static void followed(struct Sink *s, u64 from, u64 to)
{
	u64 last = (to + UW_PADDING - s->seg->vaddr + s->seg->off) >> RT_UW_PAGE_BITS;
	for (u64 page = (from - s->seg->vaddr + s->seg->off) >> RT_UW_PAGE_BITS; page <= last; page++)
		if (!s->t->followed.n || vec_last(&s->t->followed) < page)
			vec_push(&s->t->followed, (u32)page);
}

// A check that runs on into the function behind it (memmove_chk of glibc) does so through what fills lines up.
#define CHECK_MAX 32 // bytes of it
#define LINE 64
static bool runs_on(const struct Sink *s, u64 from, u64 to)
{
	const struct FlowMachine *m = gaps_machine(s->elf);
	u8 code[LINE];
	return m && s->check_end == from && to - from < LINE && elfcfi_code(s->elf, s->seg, from, code, to - from) && flow_only_padding(m, code, to - from);
}

// Between entries, from..to: what its instructions tell.
static void fill(struct Sink *s, u64 from, u64 to, bool open)
{
	if (s->elf->machine == EM_386 && s->elf->entry >= from && s->elf->entry < to && to - from <= BEGIN_MAX) { // the dynamic linker's; instructions are not followed there
		struct RtUwRule root = {.kind = RT_UW_END, .off2 = RT_UW_END_ENTRY};
		if (open)
			put(s, from, 0);
		put(s, s->elf->entry, ruleset_add(s->rules, &root));
		return;
	}
	if (open && to - from >= UW_PADDING && !runs_on(s, from, to))
		put(s, from, context_start32(s->elf, s->seg, from, to) ? root_rule(s) : 0);
	for (; s->flow_at < s->flow->n && UW_ROW_OFF(s->flow->p[s->flow_at]) < to; s->flow_at++) {
		const u64 *r = &s->flow->p[s->flow_at], pc = UW_ROW_OFF(*r);
		if (pc < from)
			continue;
		put(s, pc, UW_ROW_RULE(*r));
		followed(s, pc, s->flow_at + 1 < s->flow->n ? MIN(UW_ROW_OFF(r[1]), to) : to);
	}
}

// Of the two entries behind the one at `at`, where the second begins.
static u64 after_next(const struct Frames *f, u32 at)
{
	return at + 2 < f->fdes.n ? f->fdes.p[at + 2].pc : ~0ull;
}

// The signal trampoline's first instruction is the return address of handlers, which is looked up at the byte before. Other machines'
// trampolines begin with an instruction for that; riscv64's does not (arch/riscv/kernel/vdso/rt_sigreturn.S).
static void before_trampoline(struct Sink *s, const struct FdeBody *d, u64 end, u16 machine)
{
	struct RtUwRule r;
	if (machine != EM_RISCV || !d->cie->signal || d->pc <= end)
		return;
	cfi_rule(&d->cie->init, true, machine, &r);
	put(s, d->pc - 1, ruleset_add(s->rules, &r));
}

static void build_segment(struct Frames f[2], const struct CfiSeg *seg, struct Sink *s)
{
	u64 seg_end = seg->vaddr + seg->size, end = seg->vaddr, next, before = 0;
	u32 at[2] = {frames_first_at(&f[0], seg->vaddr), frames_first_at(&f[1], seg->vaddr)};
	struct Frames *cur;
	bool open = false; // rows so far reach to `end`

	s->seg = seg;
	s->flow_at = 0;
	while ((cur = pick(f, at))) {
		struct FdeBody d;
		const struct Fde *e = &cur->fdes.p[at[cur - f]++];
		s->stopped = uwhurry_stop(s->hurry);
		if (e->pc >= seg_end || s->stopped)
			break;
		bool far = s->part && !part_near(s->part, before, after_next(cur, at[cur - f] - 1));
		before = e->pc;
		if (!fde_parse(cur, e->at, &d, &next) || !d.cie)
			continue;
		u64 stop = MIN(d.pc + d.len, seg_end);
		s->from = MAX(d.pc, end);
		if (cur == &f[1] && at[0] < f[0].fdes.n) // .eh_frame knows better from there on
			stop = MIN(stop, f[0].fdes.p[at[0]].pc);
		if (stop <= s->from)
			continue;
		fill(s, end, s->from, open);
		s->f = cur;
		if (far)
			put(s, s->from, 0); // whatever
		else if (s->setcontext && context_start(s->elf, s->seg, d.pc, d.len))
			put(s, MAX(d.pc - 1, end), root_rule(s));
		else if (d.pc == s->elf->greenlet && d.pc)
			put(s, s->from, root_rule(s));
		else {
			before_trampoline(s, &d, end, cur->machine);
			run_fde(s, &d, stop, cur->machine);
			if (s->setcontext)
				swap_rows(s, d.pc, stop);
			if (cur->machine == EM_386)
				push_rows(s, d.pc, stop);
		}
		end = stop;
		s->check_end = d.len <= CHECK_MAX && !far ? end : 0;
		open = true;
	}
	if (open)
		put(s, end, 0);
	fill(s, end, seg_end, false);
	if (s->t->rows.n)
		put(s, seg_end, 0);
}

// ---- code without entries
static void segment_gaps(struct Frames f[2], const struct ElfCfi *e, const struct CfiSeg *seg, struct Gaps *g)
{
	u64 seg_end = seg->vaddr + seg->size, end = seg->vaddr;
	u32 at[2] = {frames_first_at(&f[0], seg->vaddr), frames_first_at(&f[1], seg->vaddr)};
	struct Frames *cur;
	while ((cur = pick(f, at))) {
		const struct Fde *entry = &cur->fdes.p[at[cur - f]++];
		uwhurry_stop(cur->hurry);
		if (entry->pc >= seg_end)
			break;
		if (!entry->end)
			continue;
		gaps_add(g, f, e, seg, end, MIN(entry->pc, seg_end));
		end = MAX(end, MIN(entry->end, seg_end));
	}
	gaps_add(g, f, e, seg, end, seg_end);
}

static bool flow_gaps(struct Frames f[2], const struct ElfCfi *e, struct RuleSet *rules, const struct UwHurry *hurry, PackedRows *out)
{
	struct Gaps g = {0};
	if (e->is_go) // without a table that can be read
		return true;
	for (size_t i = 0; i < e->segs.n; i++)
		segment_gaps(f, e, &e->segs.p[i], &g);
	return gaps_rows(&g, e, rules, hurry, out);
}

static void build_segments(const struct ElfCfi *e, struct Frames f[2], struct Sink *s)
{
	u64 min_off = 0;
	for (size_t i = 0; !s->stopped && i < e->segs.n; i++) {
		if (e->segs.p[i].off < min_off) // overlaps the one before: rows would not ascend
			continue;
		build_segment(f, &e->segs.p[i], s);
		min_off = e->segs.p[i].off + e->segs.p[i].size;
	}
}

bool uwtable_build(const struct ElfCfi *e, struct RuleSet *rules, struct UwTable *out, const struct UwHurry *hurry)
{
	struct Frames f[2];
	FlowRows told = {0};
	PackedRows flow = {0};
	struct Sink s = {.t = out, .rules = rules, .flow = &flow, .elf = e, .hurry = hurry};
	*out = (struct UwTable){0};
	bool go = go_rows(e, &told), windows = e->pdata.data != NULL, done = go || (windows && pdata_rows(e, hurry, &told));
	flow_pack(&told, rules, &flow);
	frames_list(e, f, NULL, !go, hurry); // of Go's code .debug_frame tells less: neither roots nor changes of stacks
	done = done || (!windows && flow_gaps(f, e, rules, hurry, &flow));
	if (done)
		build_segments(e, f, &s);
	done = done && !s.stopped;
	out->whole_only = s.setcontext != 0 || e->debug_frame.data; // what one entry means depends on others
	frames_deinit(f);
	vec_deinit(&flow);
	if (!done)
		uwtable_deinit(out);
	return done;
}

#define LARGE (1u << 20) // bytes of entries: some 600 KB of records
bool uwtable_is_large(const struct ElfCfi *e)
{
	return e->eh_frame.size > LARGE && !e->debug_frame.data && !e->is_go && !e->is_native_image;
}

#define DEAR (12u << 20) // bytes of code, a second's work
bool uwtable_is_dear(int fd, u64 size)
{
	struct ElfFile f;
	u64 code = 0, entries = 0;
	struct err *e = size > DEAR ? elffile_open(&f, fd, NULL, size) : NULL;
	if (size <= DEAR || e) {
		err_free(e);
		return false;
	}
	err_free(elffile_headers(&f));
	for (u32 i = 1; i < f.nsecs; i++) {
		const struct ElfSec *s = &f.secs[i];
		if (s->flags & SHF_EXECINSTR && s->type != SHT_NOBITS)
			code += s->size;
		else if (!strcmp(elffile_section_name(&f, s), ".eh_frame"))
			entries += s->size;
	}
	bool go = elffile_is_go(&f); // its own tables are quick
	elffile_close(&f);
	return code > DEAR && entries < code / 100 && !go;
}

bool uwtable_begin(const struct ElfCfi *e, struct RuleSet *rules, struct UwTable *out, const struct UwHurry *hurry)
{
	struct Frames f[2];
	PackedRows flow = {0};
	struct Part part = {.elf = e};
	struct UwTable first = {0};
	struct Sink s = {.t = &first, .rules = rules, .flow = &flow, .elf = e, .part = &part, .hurry = hurry};
	*out = (struct UwTable){0};
	frames_list(e, f, NULL, true, hurry);
	bool done = flow_gaps(f, e, rules, hurry, &flow);
	if (done) {
		build_segments(e, f, &s); // only tells which pages have code that was followed
		done = !s.stopped;
	}
	if (done) {
		part = (struct Part){e, first.followed.p, (u32)first.followed.n};
		s = (struct Sink){.t = out, .rules = rules, .flow = &flow, .elf = e, .part = &part, .hurry = hurry};
		build_segments(e, f, &s);
		done = !s.stopped;
	}
	uwtable_deinit(&first);
	frames_deinit(f);
	vec_deinit(&flow);
	if (!done)
		uwtable_deinit(out);
	return done;
}

void uwtable_part(const struct ElfCfi *e, struct RuleSet *rules, const u32 *pages, u32 n, struct UwTable *out)
{
	struct Frames f[2];
	PackedRows flow = {0};
	struct Part part = {e, pages, n};
	struct Sink s = {.t = out, .rules = rules, .flow = &flow, .elf = e, .part = &part};
	*out = (struct UwTable){0};
	frames_list(e, f, &part, true, NULL);
	build_segments(e, f, &s);
	frames_deinit(f);
}

static bool in_entry(const struct Frames *f, u64 addr)
{
	u32 next = frames_first_at(f, addr + 1);
	return next && f->fdes.p[next - 1].end > addr;
}

bool uwtable_lacks(const struct ElfCfi *e)
{
	struct Frames f[2];
	bool lacks = false;
	frames_list(e, f, NULL, true, NULL);
	for (size_t i = 0; i < e->starts.n && !lacks; i++)
		lacks = !in_entry(&f[0], e->starts.p[i]) && !in_entry(&f[1], e->starts.p[i]);
	frames_deinit(f);
	return lacks;
}

void uwtable_deinit(struct UwTable *t)
{
	vec_deinit(&t->rows);
	vec_deinit(&t->followed);
}
