// .eh_frame and .debug_frame: which functions have an entry, and what stands in it. Input: sections of an untrusted file (elf/cfi.c). Output: entries by address.
// Invariant: every offset is checked against its section; a bad entry loses its own function and nothing else.
// Format: LSB core 10.6 (.eh_frame, .eh_frame_hdr), DWARF 5 6.4.1 (.debug_frame).
#include <dwarf.h>
#include <elf.h>
#include "unwind/internal.h"

struct Entry {
	struct Bytes body; // after the CIE id or pointer
	u64 next;	   // offset of the entry after it
	u64 cie;	   // offset of the CIE, or IS_CIE
};
#define IS_CIE (~0ull)

static bool read_entry(const struct Frames *f, u64 at, struct Entry *e)
{
	const struct CfiSec *s = f->sec;
	if (at >= s->size || !elfcfi_have(f->elf, s, at, MIN(12, s->size - at)))
		return false;
	struct Bytes b = {s->data + at, s->data + s->size, false};
	u64 len = bytes_u(&b, 4), id, id_at;
	u32 id_size = 4;
	if (len == 0xffffffff) {
		len = bytes_u(&b, 8);
		id_size = f->eh ? 4 : 8;
	}
	if (b.bad || len < id_size || !elfcfi_have(f->elf, s, (u64)(b.p - s->data), len)) // 0: terminator
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
u64 fde_pointer(const struct Frames *f, struct Bytes *b, u8 enc)
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
			fde_pointer(f, &data, enc & PE_FORMAT); // of any application: only its size matters
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
bool fde_parse(struct Frames *f, u64 at, struct FdeBody *out, u64 *next)
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
	out->pc = fde_pointer(f, &b, c->fde_enc);
	out->len = fde_pointer(f, &b, c->fde_enc & PE_FORMAT);
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

// ---- the linker's own sorted table, .eh_frame_hdr: no sorting needed
struct Hdr {
	const struct CfiSec *sec;
	u64 at; // of its entries: 4 bytes the address, 4 that of the entry in .eh_frame, both from the section on
	u32 n;
};

// False: it is not there, or of an unusual form.
static bool open_hdr(const struct Frames *f, const struct CfiSec *s, struct Hdr *h)
{
	if (!s->data || s->size < 12 || !elfcfi_have(f->elf, s, 0, MIN(16, s->size)))
		return false;
	if (s->data[0] != 1 || s->data[2] != DW_EH_PE_udata4 || s->data[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	u32 enc = s->data[1] & PE_FORMAT;
	u32 at = 4 + (enc == DW_EH_PE_sdata8 || enc == DW_EH_PE_udata8 ? 8 : enc == DW_EH_PE_absptr ? f->word : 4u);
	if (s->size < at + 4u)
		return false;
	memcpy(&h->n, s->data + at, 4);
	h->sec = s;
	h->at = at + 4;
	return h->n && h->n <= (s->size - h->at) / 8;
}

// Entry i; pc ~0: there is none. Whether it agrees with what it points to is checked where that is read.
static struct Fde hdr_entry(const struct Frames *f, const struct Hdr *h, u32 i)
{
	s32 rel[2];
	u64 at = h->at + (u64)i * 8;
	if (i >= h->n || !elfcfi_have(f->elf, h->sec, at, 8))
		return (struct Fde){.pc = ~0ull};
	memcpy(rel, h->sec->data + at, 8);
	return (struct Fde){address(f, h->sec->vaddr + (u64)(s64)rel[0]), 0, address(f, h->sec->vaddr + (u64)(s64)rel[1]) - f->sec->vaddr};
}

// The first entry at or above pc.
static u32 hdr_at(const struct Frames *f, const struct Hdr *h, u64 pc)
{
	u32 lo = 0, hi = h->n;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (hdr_entry(f, h, mid).pc < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct EntrySpan { // of entries
	u32 first, end;
};
typedef VEC(struct EntrySpan) EntrySpans;

static int by_first(const void *a, const void *b)
{
	const struct EntrySpan *x = a, *y = b;
	return x->first < y->first ? -1 : x->first > y->first;
}

// All entries that part_near() can want, ascending and apart.
static void hdr_spans(const struct Frames *f, const struct Hdr *h, EntrySpans *out)
{
	const struct Part *p = f->part;
	for (size_t k = 0; k < p->elf->segs.n; k++) {
		const struct CfiSeg *s = &p->elf->segs.p[k];
		for (u32 i = 0; i < p->n; i++) {
			u64 off = (u64)p->pages[i] << RT_UW_PAGE_BITS, end = off + (1ull << RT_UW_PAGE_BITS);
			if (end <= s->off || off >= s->off + s->size)
				continue;
			u64 from = MAX(off, s->off) - s->off + s->vaddr, to = end - s->off + s->vaddr;
			u32 a = hdr_at(f, h, from - MIN(from, UW_PADDING)), b = hdr_at(f, h, to);
			vec_push(out, ((struct EntrySpan){a - MIN(a, 2u), MIN(b + 1, h->n)}));
		}
	}
	if (out->n)
		qsort(out->p, out->n, sizeof(*out->p), by_first);
	size_t n = MIN(out->n, 1);
	for (size_t i = 1; i < out->n; i++)
		if (out->p[i].first > out->p[n - 1].end)
			out->p[n++] = out->p[i];
		else
			out->p[n - 1].end = MAX(out->p[n - 1].end, out->p[i].end);
	out->n = n;
}

// False: the table does not agree with what it points to.
static bool list_span(struct Frames *f, const struct Hdr *h, struct EntrySpan s)
{
	u64 prev = f->fdes.n ? vec_last(&f->fdes).pc : 0;
	for (u32 i = s.first; i < s.end; i++) {
		struct Fde d = hdr_entry(f, h, i);
		if (f->part && !part_near(f->part, i ? hdr_entry(f, h, i - 1).pc : 0, hdr_entry(f, h, i + 2).pc))
			continue;
		struct FdeBody body;
		u64 next;
		uwhurry_stop(f->hurry); // heeded when rows are made
		if (d.pc < prev || d.at >= f->sec->size || !fde_parse(f, d.at, &body, &next) || (body.cie && body.pc != d.pc))
			return false;
		prev = d.pc;
		d.end = body.cie ? body.pc + body.len : 0;
		vec_push(&f->fdes, d);
	}
	return true;
}

static bool list_by_hdr(struct Frames *f, const struct CfiSec *sec)
{
	struct Hdr h;
	EntrySpans spans = {0};
	if (!open_hdr(f, sec, &h))
		return false;
	if (f->part)
		hdr_spans(f, &h, &spans);
	else
		vec_push(&spans, ((struct EntrySpan){0, h.n}));
	bool ok = true;
	for (size_t i = 0; ok && i < spans.n; i++)
		ok = list_span(f, &h, spans.p[i]);
	if (!ok)
		f->fdes.n = 0;
	vec_deinit(&spans);
	return ok;
}

static void list_by_scan(struct Frames *f)
{
	bool sorted = true;
	struct FdeBody body;
	for (u64 at = 0, next; fde_parse(f, at, &body, &next); at = next) {
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

// ---- both sections
void frames_list(const struct ElfCfi *e, struct Frames f[2], const struct Part *part, bool debug, const struct UwHurry *hurry)
{
	for (u32 i = 0; i < 2; i++)
		f[i] = (struct Frames){.elf = e, .sec = i ? &e->debug_frame : &e->eh_frame, .part = part, .eh = !i, .machine = e->machine, .word = e->machine == EM_386 ? 4 : 8, .hurry = hurry};
	if (e->eh_frame.data && !list_by_hdr(&f[0], &e->eh_frame_hdr))
		list_by_scan(&f[0]);
	if (e->debug_frame.data && debug)
		list_by_scan(&f[1]);
}

void frames_deinit(struct Frames f[2])
{
	for (u32 i = 0; i < 2; i++) {
		vec_deinit(&f[i].fdes);
		vec_deinit(&f[i].cies);
	}
}

u32 frames_first_at(const struct Frames *f, u64 pc)
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
