// .eh_frame and .debug_frame -> rows. Input: sections of an untrusted file (elf/cfi.c). Output: rows ascending by file offset.
// Invariant: every offset is checked against its section; a bad entry loses its own function and nothing else; .eh_frame wins where both
// sections speak. Format: LSB core 10.6 (.eh_frame, .eh_frame_hdr), DWARF 5 6.4.1 (.debug_frame).
#include <dwarf.h>
#include <elf.h>
#include "unwind/internal.h"

struct Fde {
	u64 pc, end; // end 0: malformed
	u64 at; // offset of its entry in the section
};
struct Frames { // one section
	const struct CfiSec *sec;
	const struct Part *part; // only entries near it are listed; NULL: all
	bool eh;
	VEC(struct Fde) fdes; // by pc
	VEC(struct Cie) cies;
	u32 last_cie;
	u16 machine;
	u8 word; // bytes of an address
	const struct UwHurry *hurry;
};
struct Entry {
	struct Bytes body; // after the CIE id or pointer
	u64 next;	   // offset of the entry after it
	u64 cie;	   // offset of the CIE, or IS_CIE
};
#define IS_CIE (~0ull)

static bool read_entry(const struct Frames *f, u64 at, struct Entry *e)
{
	const struct CfiSec *s = f->sec;
	if (at >= s->size)
		return false;
	struct Bytes b = {s->data + at, s->data + s->size, false};
	u64 len = bytes_u(&b, 4), id, id_at;
	u32 id_size = 4;
	if (len == 0xffffffff) {
		len = bytes_u(&b, 8);
		id_size = f->eh ? 4 : 8;
	}
	if (b.bad || len < id_size || len > (u64)(b.end - b.p)) // 0: terminator
		return false;
	b.end = b.p + len;
	e->next = (u64)(b.end - s->data);
	id_at = (u64)(b.p - s->data);
	id = bytes_u(&b, id_size);
	if (f->eh)
		e->cie = id ? id_at - id : IS_CIE;
	else
		e->cie = id == (id_size == 8 ? ~0ull : 0xffffffff) ? IS_CIE : id;
	e->body = b;
	return e->cie == IS_CIE || e->cie < s->size;
}

static u64 address(const struct Frames *f, u64 v)
{
	return f->word == 4 ? (u32)v : v;
}

enum { PE_FORMAT = 0x0f, PE_BASE = 0x70 }; // parts of a DW_EH_PE encoding

// A pointer in DW_EH_PE encoding. 0 and b->bad for what may not occur here.
static u64 read_pointer(const struct Frames *f, struct Bytes *b, u8 enc)
{
	u64 at = f->sec->vaddr + (u64)(b->p - f->sec->data), v = 0;

	switch (enc & PE_FORMAT) {
	case DW_EH_PE_absptr:
		v = bytes_u(b, f->word);
		break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		v = bytes_u(b, 8);
		break;
	case DW_EH_PE_uleb128:
		v = bytes_uleb(b);
		break;
	case DW_EH_PE_udata2:
		v = bytes_u(b, 2);
		break;
	case DW_EH_PE_udata4:
		v = bytes_u(b, 4);
		break;
	case DW_EH_PE_sleb128:
		v = (u64)bytes_sleb(b);
		break;
	case DW_EH_PE_sdata2:
		v = (u64)(s64)(s16)bytes_u(b, 2);
		break;
	case DW_EH_PE_sdata4:
		v = (u64)(s64)(s32)bytes_u(b, 4);
		break;
	default:
		b->bad = true;
	}
	if (enc & DW_EH_PE_indirect) // indirect: not for code addresses
		b->bad = true;
	switch (enc & PE_BASE) {
	case DW_EH_PE_absptr:
		return address(f, v);
	case DW_EH_PE_pcrel:
		return address(f, v + at);
	default:
		b->bad = true;
		return 0;
	}
}

// ---- CIEs
static bool parse_augmentation(const struct Frames *f, struct Cie *c, struct Bytes *b, const char *aug)
{
	if (aug[0] != 'z')
		return aug[0] == 0;
	u64 len = bytes_uleb(b);
	if (b->bad || len > (u64)(b->end - b->p))
		return false;
	struct Bytes data = {b->p, b->p + len, false};
	b->p += len;
	c->has_z = true;
	for (aug++; *aug && !data.bad; aug++) {
		switch (*aug) {
		case 'R':
			c->fde_enc = (u8)bytes_u(&data, 1);
			break;
		case 'P': {
			u8 enc = (u8)bytes_u(&data, 1);
			read_pointer(f, &data, enc & PE_FORMAT); // of any application: only its size matters
			break;
		}
		case 'L':
			bytes_u(&data, 1);
			break;
		case 'S':
			c->signal = true;
			break;
		case 'B': // AArch64: return addresses signed with the B key
		case 'G': // AArch64: memory tagging
			break;
		default: // unknown: what follows cannot be located, but the instructions can
			return true;
		}
	}
	return !data.bad;
}

static bool parse_cie(const struct Frames *f, u64 at, struct Cie *c)
{
	struct Entry e;
	*c = (struct Cie){.at = at, .fde_enc = 0};
	if (!read_entry(f, at, &e) || e.cie != IS_CIE)
		return false;
	struct Bytes b = e.body;
	c->version = (u8)bytes_u(&b, 1);
	const u8 *aug = b.p, *nul = memchr(b.p, 0, (size_t)(b.end - b.p));
	if (!nul || (c->version != 1 && c->version != 3 && c->version != 4))
		return false;
	b.p = nul + 1;
	if (c->version == 4 && (bytes_u(&b, 1) != f->word || bytes_u(&b, 1) != 0)) // address size, segment selector size
		return false;
	c->code_align = bytes_uleb(&b);
	c->data_align = bytes_sleb(&b);
	c->ra = (u32)(c->version == 1 ? bytes_u(&b, 1) : bytes_uleb(&b));
	if (b.bad || c->ra != cfi_ra(f->machine) || !parse_augmentation(f, c, &b, (const char *)aug))
		return false;
	cfi_state_init(&c->init, f->machine);
	struct CfiRun run = {.cie = c, .machine = f->machine, .pc = 0, .end = 1};
	return cfi_run(&run, b, &c->init);
}

// NULL: malformed. The pointer is valid until the next call.
static const struct Cie *get_cie(struct Frames *f, u64 at)
{
	if (f->last_cie < f->cies.n && f->cies.p[f->last_cie].at == at)
		return f->cies.p[f->last_cie].version ? &f->cies.p[f->last_cie] : NULL;
	u32 lo = 0, hi = f->cies.n;
	while (lo < hi) { // by offset
		u32 mid = (lo + hi) / 2;
		if (f->cies.p[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == f->cies.n || f->cies.p[lo].at != at) {
		struct Cie c;
		if (!parse_cie(f, at, &c))
			c = (struct Cie){.at = at};
		vec_push(&f->cies, c);
		memmove(f->cies.p + lo + 1, f->cies.p + lo, (f->cies.n - 1 - lo) * sizeof(c));
		f->cies.p[lo] = c;
	}
	f->last_cie = lo;
	return f->cies.p[lo].version ? &f->cies.p[lo] : NULL;
}

// ---- FDEs
struct FdeBody {
	const struct Cie *cie;
	u64 pc, len;
	struct Bytes insns;
};
static bool parse_fde(struct Frames *f, u64 at, struct FdeBody *out, u64 *next)
{
	struct Entry e;
	if (!read_entry(f, at, &e))
		return false;
	*next = e.next;
	out->cie = NULL;
	if (e.cie == IS_CIE)
		return true;
	const struct Cie *c = get_cie(f, e.cie);
	if (!c)
		return true;
	struct Bytes b = e.body;
	out->pc = read_pointer(f, &b, c->fde_enc);
	out->len = read_pointer(f, &b, c->fde_enc & PE_FORMAT);
	if (c->has_z) {
		u64 n = bytes_uleb(&b);
		if (n > (u64)(b.end - b.p))
			b.bad = true;
		else
			b.p += n;
	}
	if (b.bad || !out->len || out->pc + out->len < out->pc)
		return true;
	out->insns = b;
	out->cie = c;
	return true;
}

static int by_pc(const void *a, const void *b)
{
	const struct Fde *x = a, *y = b;
	return x->pc != y->pc ? (x->pc < y->pc ? -1 : 1) : x->at < y->at ? -1 : 1;
}

// ---- a part of the file
static void keep_near(struct Frames *f)
{
	u32 n = 0;
	u64 before = 0; // pc of the entry before, which may have been dropped
	for (u32 i = 0; f->part && i < f->fdes.n; i++) {
		struct Fde d = f->fdes.p[i];
		if (part_near(f->part, before, i + 2 < f->fdes.n ? f->fdes.p[i + 2].pc : ~0ull))
			f->fdes.p[n++] = d;
		before = d.pc;
	}
	if (f->part)
		f->fdes.n = n;
}

// The linker's own sorted table: no sorting needed. False when it is absent, of an unusual form, or does not agree with what it points to
// (checked where the FDEs are read).
static u64 hdr_pc(const struct Frames *f, const struct CfiSec *hdr, u64 at, u32 i, u32 n)
{
	s32 rel;
	if (i >= n)
		return ~0ull;
	memcpy(&rel, hdr->data + at + (u64)i * 8, 4);
	return address(f, hdr->vaddr + (u64)(s64)rel);
}

static bool list_by_hdr(struct Frames *f, const struct CfiSec *hdr)
{
	if (!hdr->data || hdr->size < 12 || hdr->data[0] != 1 || hdr->data[2] != DW_EH_PE_udata4 ||
	    hdr->data[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	u32 enc = hdr->data[1] & PE_FORMAT, n;
	u32 at = 4 + (enc == DW_EH_PE_sdata8 || enc == DW_EH_PE_udata8 ? 8 : enc == DW_EH_PE_absptr ? f->word : 4u);
	if (hdr->size < at + 4u)
		return false;
	memcpy(&n, hdr->data + at, 4);
	at += 4;
	if (!n || n > (hdr->size - at) / 8)
		return false;
	u64 prev = 0;
	for (u32 i = 0; i < n; i++) {
		s32 rel[2];
		memcpy(rel, hdr->data + at + (u64)i * 8, 8);
		struct Fde d = {address(f, hdr->vaddr + (u64)(s64)rel[0]), 0, address(f, hdr->vaddr + (u64)(s64)rel[1]) - f->sec->vaddr};
		if (f->part && !part_near(f->part, i ? hdr_pc(f, hdr, at, i - 1, n) : 0, hdr_pc(f, hdr, at, i + 2, n)))
			continue;
		struct FdeBody body;
		u64 next;
		uwhurry_stop(f->hurry); // heeded when rows are made
		if (d.pc < prev || d.at >= f->sec->size || !parse_fde(f, d.at, &body, &next) || (body.cie && body.pc != d.pc)) {
			f->fdes.n = 0;
			return false;
		}
		prev = d.pc;
		d.end = body.cie ? body.pc + body.len : 0;
		vec_push(&f->fdes, d);
	}
	return true;
}

static void list_by_scan(struct Frames *f)
{
	bool sorted = true;
	struct FdeBody body;
	for (u64 at = 0, next; parse_fde(f, at, &body, &next); at = next) {
		if (!body.cie)
			continue;
		struct Fde d = {body.pc, body.pc + body.len, at};
		sorted = sorted && (!f->fdes.n || vec_last(&f->fdes).pc <= d.pc);
		vec_push(&f->fdes, d);
	}
	if (!sorted)
		qsort(f->fdes.p, f->fdes.n, sizeof(*f->fdes.p), by_pc);
	keep_near(f);
}

// ---- rows
struct Sink {
	const FlowRows *flow; // of code without entries: gopclntab.c, flow.c
	size_t flow_at;
	struct UwTable *t;
	struct RuleSet *rules;
	const struct CfiSeg *seg;
	struct Frames *f;
	u8 enc;
	u64 from; // rows before this address belong to an earlier FDE
	const struct ElfCfi *elf;
	const struct Part *part; // only rows near it are wanted; NULL: all
	const struct UwHurry *hurry;
	bool stopped;
	bool setcontext; // the file has glibc's
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
	s->setcontext |= r->sp_kind == RT_UW_SP_MEM;
	if (!rule && r->kind != RT_UW_NONE)
		s->t->rules_full = true;
	put(s, MAX(pc, s->from), rule);
}

static u64 set_loc_pointer(void *arg, struct Bytes *b, bool *ok)
{
	struct Sink *s = arg;
	u64 v = read_pointer(s->f, b, s->enc);
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

static u32 first_at(const struct Frames *f, u64 pc)
{
	u32 lo = 0, hi = f->fdes.n;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (f->fdes.p[mid].pc < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

// The next FDE of both sections: the lower address, .eh_frame first.
static struct Frames *pick(struct Frames f[2], const u32 at[2])
{
	bool has0 = at[0] < f[0].fdes.n, has1 = at[1] < f[1].fdes.n;
	if (!has0 || !has1)
		return has0 ? &f[0] : has1 ? &f[1] : NULL;
	return f[0].fdes.p[at[0]].pc <= f[1].fdes.p[at[1]].pc ? &f[0] : &f[1];
}

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

// Between entries, from..to: what its instructions tell.
static void fill(struct Sink *s, u64 from, u64 to, bool open)
{
	if (open && to - from >= UW_PADDING)
		put(s, from, context_start32(s->elf, s->seg, from, to) ? root_rule(s) : 0);
	for (; s->flow_at < s->flow->n && s->flow->p[s->flow_at].pc < to; s->flow_at++) {
		const struct FlowRow *r = &s->flow->p[s->flow_at];
		if (r->pc < from)
			continue;
		put(s, r->pc, ruleset_add(s->rules, &r->rule));
		followed(s, r->pc, s->flow_at + 1 < s->flow->n ? MIN(r[1].pc, to) : to);
	}
}

// Of the two entries behind the one at `at`, where the second begins.
static u64 after_next(const struct Frames *f, u32 at)
{
	return at + 2 < f->fdes.n ? f->fdes.p[at + 2].pc : ~0ull;
}

static void build_segment(struct Frames f[2], const struct CfiSeg *seg, struct Sink *s)
{
	u64 seg_end = seg->vaddr + seg->size, end = seg->vaddr, next, before = 0;
	u32 at[2] = {first_at(&f[0], seg->vaddr), first_at(&f[1], seg->vaddr)};
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
		if (!parse_fde(cur, e->at, &d, &next) || !d.cie)
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
		else
			run_fde(s, &d, stop, cur->machine);
		end = stop;
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
	u32 at[2] = {first_at(&f[0], seg->vaddr), first_at(&f[1], seg->vaddr)};
	struct Frames *cur;
	while ((cur = pick(f, at))) {
		const struct Fde *entry = &cur->fdes.p[at[cur - f]++];
		uwhurry_stop(cur->hurry);
		if (entry->pc >= seg_end)
			break;
		if (!entry->end)
			continue;
		gaps_add(g, e, seg, end, MIN(entry->pc, seg_end));
		end = MAX(end, MIN(entry->end, seg_end));
	}
	gaps_add(g, e, seg, end, seg_end);
}

static bool flow_gaps(struct Frames f[2], const struct ElfCfi *e, const struct UwHurry *hurry, FlowRows *out)
{
	struct Gaps g = {0};
	if (e->machine != EM_X86_64 || e->is_go) // without a table that can be read
		return true;
	for (size_t i = 0; i < e->segs.n; i++)
		segment_gaps(f, e, &e->segs.p[i], &g);
	return gaps_rows(&g, e, hurry, out);
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

static void list(const struct ElfCfi *e, struct Frames f[2], const struct Part *part, bool debug, const struct UwHurry *hurry)
{
	for (u32 i = 0; i < 2; i++)
		f[i] = (struct Frames){.sec = i ? &e->debug_frame : &e->eh_frame, .part = part, .eh = !i, .machine = e->machine, .word = e->machine == EM_386 ? 4 : 8, .hurry = hurry};
	if (e->eh_frame.data && !list_by_hdr(&f[0], &e->eh_frame_hdr))
		list_by_scan(&f[0]);
	if (e->debug_frame.data && debug)
		list_by_scan(&f[1]);
}

static void unlist(struct Frames f[2])
{
	for (u32 i = 0; i < 2; i++) {
		vec_deinit(&f[i].fdes);
		vec_deinit(&f[i].cies);
	}
}

bool uwtable_build(const struct ElfCfi *e, struct RuleSet *rules, struct UwTable *out, const struct UwHurry *hurry)
{
	struct Frames f[2];
	FlowRows flow = {0};
	struct Sink s = {.t = out, .rules = rules, .flow = &flow, .elf = e, .hurry = hurry};
	*out = (struct UwTable){0};
	bool go = go_rows(e, &flow);
	list(e, f, NULL, !go, hurry); // of Go's code .debug_frame tells less: neither roots nor changes of stacks
	bool done = go || flow_gaps(f, e, hurry, &flow);
	if (done)
		build_segments(e, f, &s);
	done = done && !s.stopped;
	out->whole_only = s.setcontext || e->debug_frame.data; // what one entry means depends on others
	unlist(f);
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

bool uwtable_begin(const struct ElfCfi *e, struct RuleSet *rules, struct UwTable *out, const struct UwHurry *hurry)
{
	struct Frames f[2];
	FlowRows flow = {0};
	struct Part part = {.elf = e};
	struct UwTable first = {0};
	struct Sink s = {.t = &first, .rules = rules, .flow = &flow, .elf = e, .part = &part, .hurry = hurry};
	*out = (struct UwTable){0};
	list(e, f, NULL, true, hurry);
	bool done = flow_gaps(f, e, hurry, &flow);
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
	unlist(f);
	vec_deinit(&flow);
	if (!done)
		uwtable_deinit(out);
	return done;
}

void uwtable_part(const struct ElfCfi *e, struct RuleSet *rules, const u32 *pages, u32 n, struct UwTable *out)
{
	struct Frames f[2];
	FlowRows flow = {0};
	struct Part part = {e, pages, n};
	struct Sink s = {.t = out, .rules = rules, .flow = &flow, .elf = e, .part = &part};
	*out = (struct UwTable){0};
	list(e, f, &part, true, NULL);
	build_segments(e, f, &s);
	unlist(f);
}

void uwtable_deinit(struct UwTable *t)
{
	vec_deinit(&t->rows);
	vec_deinit(&t->followed);
}
