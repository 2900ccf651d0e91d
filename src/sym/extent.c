// How far code reaches that no symbol gives a size for. Input: .eh_frame_hdr and .eh_frame, which strip leaves, and the code itself. Output: the bounds of
// the function at an address; where the code that begins at a symbol without a size ends. Nothing is believed: each offset is checked, and the
// table, which ought to ascend, is only searched.
// Formats: LSB core 10.6 (.eh_frame, .eh_frame_hdr), DWARF 5 6.4.1; Intel SDM volume 2 appendix A; Arm ARM C4.1.
#include <dwarf.h>
#include <elf.h>
#include "arch/arch.h"
#include "sym/internal.h"

#define MAX_TABLE (256u << 20) // bytes
#define MAX_ENTRIES (1u << 20) // of .eh_frame, where they have to be read one by one
#define MAX_SWEEP (64u << 10)  // bytes of code of one symbol

// A cursor over a copy; reading past its end gives 0 and sets bad.
struct Cur {
	const u8 *p, *end;
	bool bad;
};

static u64 take(struct Cur *c, u32 size)
{
	u64 v = 0;
	if (size > (size_t)(c->end - c->p)) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->p, size);
	c->p += size;
	return v;
}

static void skip_leb(struct Cur *c)
{
	while (take(c, 1) & 0x80)
		;
}

enum { PE_FORMAT = 0x0f, PE_BASE = 0x70, PE_UNSIGNED = 0x07 }; // parts of a DW_EH_PE encoding

// A pointer in DW_EH_PE encoding enc (format only: nothing is added to it).
static u64 take_encoded(struct Cur *c, u8 enc, bool is64)
{
	switch (enc & PE_FORMAT) {
	case DW_EH_PE_absptr:
		return take(c, is64 ? 8 : 4);
	case DW_EH_PE_udata2:
		return take(c, 2);
	case DW_EH_PE_udata4:
		return take(c, 4);
	case DW_EH_PE_udata8: case DW_EH_PE_sdata8:
		return take(c, 8);
	case DW_EH_PE_sdata2:
		return (u64)(s64)(s16)take(c, 2);
	case DW_EH_PE_sdata4:
		return (u64)(s64)(s32)take(c, 4);
	default:
		c->bad = true;
		return 0;
	}
}

// The encoding of addresses in the FDEs of the CIE at off; DW_EH_PE_omit: unknown.
static u8 cie_encoding(const struct ElfFile *f, u64 off)
{
	u8 buf[256];
	struct Cur c = {buf, buf + elffile_read_some(f, off, buf, sizeof(buf)), false};
	u8 enc = DW_EH_PE_absptr;
	if (take(&c, 4) >= 0xfffffff0 || take(&c, 4)) // not a CIE of 32-bit DWARF
		return DW_EH_PE_omit;
	u8 version = (u8)take(&c, 1);
	const u8 *aug = c.p, *nul = memchr(c.p, 0, (size_t)(c.end - c.p));
	if (!nul || (version != 1 && version != 3))
		return DW_EH_PE_omit;
	c.p = nul + 1;
	skip_leb(&c); // code alignment
	skip_leb(&c); // data alignment
	if (version == 1)
		take(&c, 1); // return address register
	else
		skip_leb(&c);
	if (*aug != 'z')
		return *aug || c.bad ? DW_EH_PE_omit : enc;
	skip_leb(&c); // length
	for (aug++; *aug; aug++) {
		if (*aug == 'R')
			return (enc = (u8)take(&c, 1), c.bad ? DW_EH_PE_omit : enc);
		if (*aug == 'P') {
			u8 p = (u8)take(&c, 1);
			take_encoded(&c, p, f->is64);
		} else if (*aug == 'L')
			take(&c, 1);
		else if (*aug != 'S' && *aug != 'B' && *aug != 'G')
			return DW_EH_PE_omit;
	}
	return c.bad ? DW_EH_PE_omit : enc;
}

// The bounds in the FDE at vaddr. false: damaged, or of a kind that does not occur.
static bool fde_bounds(const struct ElfFile *f, u64 vaddr, u64 *lo, u64 *hi)
{
	u8 buf[32];
	u64 off;
	if (!elffile_vaddr_to_off(f, vaddr, &off))
		return false;
	struct Cur c = {buf, buf + elffile_read_some(f, off, buf, sizeof(buf)), false};
	u32 len = (u32)take(&c, 4), cie = (u32)take(&c, 4);
	if (c.bad || len >= 0xfffffff0 || !cie || cie > off + 4)
		return false;
	u8 enc = cie_encoding(f, off + 4 - cie);
	if (enc == DW_EH_PE_omit || ((enc & PE_BASE) && (enc & PE_BASE) != DW_EH_PE_pcrel) || enc & DW_EH_PE_indirect)
		return false;
	u64 base = (enc & PE_BASE) == DW_EH_PE_pcrel ? vaddr + (u64)(c.p - buf) : 0;
	*lo = take_encoded(&c, enc, f->is64) + base;
	u64 size = take_encoded(&c, enc & PE_UNSIGNED, f->is64);
	if (!f->is64)
		*lo = (u32)*lo;
	*hi = *lo + size;
	return !c.bad && size && *hi > *lo;
}

// ---- all functions of .eh_frame, by address
struct Fde {
	u64 lo, at; // where it begins; vaddr of its FDE
};
_Static_assert(sizeof(struct Fde) == sizeof(struct Rec16), "radix_sort");
struct Fdes {
	VEC(struct Fde) v;
};

// .eh_frame_hdr: version 1; pointer to .eh_frame of 4 bytes; number of entries udata4; entries datarel sdata4: what every linker writes.
static bool read_header(struct Fdes *t, const struct ElfFile *f, const struct ElfSeg *s)
{
	u8 head[12];
	u32 n;
	if (s->type != PT_GNU_EH_FRAME || s->filesz < sizeof(head) || !elffile_read(f, s->off, head, sizeof(head)))
		return false;
	if (head[0] != 1 || ((head[1] & 0x0f) != 0x0b && (head[1] & 0x0f) != 0x03) || head[2] != 0x03 || head[3] != 0x3b)
		return false;
	memcpy(&n, head + 8, sizeof(n));
	n = MIN(n, (u32)MIN((s->filesz - sizeof(head)) / 8, (u64)MAX_TABLE / 8));
	s32 *v = elffile_load(f, s->off + sizeof(head), (u64)n * 8, MAX_TABLE);
	for (size_t i = 0; v && i < n; i++)
		vec_push(&t->v, ((struct Fde){s->vaddr + (u64)(s64)v[2 * i], s->vaddr + (u64)(s64)v[2 * i + 1]}));
	free(v);
	return t->v.n;
}

// Static programs have no header.
static void read_section(struct Fdes *t, const struct ElfFile *f, const struct ElfSec *s)
{
	u32 len, cie;
	u64 lo, hi, at = 0;
	for (u32 i = 0; i < MAX_ENTRIES && s->size >= 8 && at <= s->size - 8; i++, at += 4 + (u64)len) {
		if (!elffile_read(f, s->off + at, &len, 4) || !elffile_read(f, s->off + at + 4, &cie, 4) || len >= 0xfffffff0)
			break;
		if (len && cie && fde_bounds(f, s->addr + at, &lo, &hi) && !(lo >> RADIX_BITS))
			vec_push(&t->v, ((struct Fde){lo, s->addr + at}));
	}
	radix_sort(t->v.p, t->v.n);
}

struct Fdes *fdes_open(struct ElfFile *f)
{
	struct Fdes *t = xcalloc(1, sizeof(*t));
	bool have = false;
	for (u32 i = 0; i < f->nsegs && !have; i++)
		have = read_header(t, f, &f->segs[i]);
	err_free(elffile_sections(f));
	const struct ElfSec *s = have ? NULL : elffile_section(f, ".eh_frame");
	if (s && s->type != SHT_NOBITS)
		read_section(t, f, s);
	return t;
}

void fdes_close(struct Fdes *t)
{
	if (t)
		vec_deinit(&t->v);
	free(t);
}

bool fdes_find(const struct Fdes *t, const struct ElfFile *f, u64 vaddr, u64 *lo, u64 *hi)
{
	size_t a = 0, b = t->v.n;
	while (a < b) { // the first that begins after vaddr
		size_t mid = (a + b) / 2;
		if (t->v.p[mid].lo <= vaddr)
			a = mid + 1;
		else
			b = mid;
	}
	return a && fde_bounds(f, t->v.p[a - 1].at, lo, hi) && *lo <= vaddr;
}

// ---- the code itself
u64 code_end(const struct ElfFile *f, u64 vaddr, u64 limit)
{
	enum PtArch arch = f->machine == EM_AARCH64 ? PT_ARM64 : f->machine == EM_RISCV ? PT_RISCV64 : PT_X86_64;
	u64 off, far = vaddr, at = vaddr;
	u32 n = (u32)MIN(limit - vaddr, (u64)MAX_SWEEP);
	if ((f->machine != EM_X86_64 && f->machine != EM_AARCH64 && f->machine != EM_RISCV) || !elffile_vaddr_to_off(f, vaddr, &off))
		return limit;
	u8 *code = xmalloc(n + 1);
	n = (u32)elffile_read_some(f, off, code, n);
	while (at - vaddr < n) {
		struct Insn in;
		if (!insn_decode(arch, code + (at - vaddr), n - (at - vaddr), at, &in))
			break;
		at += in.len;
		if (in.branch == BRANCH_COND && in.target > at && in.target < limit)
			far = MAX(far, in.target);
		if (at > far && in.branch != BRANCH_NONE && in.branch != BRANCH_CALL && in.branch != BRANCH_COND)
			break;
	}
	free(code);
	return at;
}
