// Where the members of a struct or union go.
// Input: members in order with their types and attributes. Output: offsets, bits, size and alignment as gcc and clang compute them on
// x86-64 and AArch64 (System V ABI, "Aggregates and Unions" and "Bit-Fields"). Invariant: pos never decreases in a struct.
#include "ctype/internal.h"

u32 ctype_align_of(struct Ctypes *c, const struct Type *t)
{
	if (t->kind == TY_ARRAY)
		return ctype_align_of(c, t->elem);
	if (t->kind != TY_RECORD)
		return MAX(t->align, 1u);
	struct Origin *o = record_origin(t->rec);
	if (o->kind == ORIGIN_NAME)
		ctype_record_load(c, t->rec);
	return o->kind == ORIGIN_BTF ? kbtf_type_align(c, o->btf, o->id) : MAX(t->rec->align, 1u);
}

// AAPCS64: unnamed bit-fields align the whole like named ones, ": 0" even when packed; x86-64: they do not.
#ifdef __aarch64__
#define ANON_BITS_ALIGN 1
#else
#define ANON_BITS_ALIGN 0
#endif

struct Pos {
	u64 bits, max; // next free bit; end of the largest member of a union
	u32 align;
};

static u64 align_bits(u64 bits, u32 bytes)
{
	return ALIGN_UP(bits, (u64)bytes * 8);
}

// What a member is aligned to; #pragma pack limits even __attribute__((aligned)).
static u32 member_align(const struct CLayout *l, const struct CMember *m, u32 natural)
{
	u32 align = MAX(l->packed || m->packed ? 1 : natural, m->align);
	return l->pack ? MIN(align, l->pack) : align;
}

static void place_bitfield(struct Pos *p, const struct CLayout *l, struct CMember *m, u32 natural)
{
	u64 unit = (u64)m->f.type->size * 8;
	bool packed = l->packed || m->packed;
	u32 align = member_align(l, m, natural);
	if (m->align)
		p->bits = align_bits(p->bits, align);
	if (!m->bits) { // ": 0" ends the unit
		p->bits = align_bits(p->bits, natural);
		p->align = MAX(p->align, ANON_BITS_ALIGN ? natural : 1u);
		return;
	}
	if (*m->f.name || ANON_BITS_ALIGN)
		p->align = MAX(p->align, align);
	// A bit-field does not straddle units of its type, unless packed one way or the other.
	if (!packed && !l->pack && p->bits / unit != (p->bits + m->bits - 1) / unit)
		p->bits = align_bits(p->bits, natural);
	m->f.off = (u32)(p->bits / 8);
	m->f.bit_off = (u8)(p->bits % 8);
	m->f.bit_size = (u8)m->bits;
	if (!m->f.bit_off && m->bits == unit)
		m->f.bit_size = 0;
	p->bits += m->bits;
}

static void place_member(struct Ctypes *c, struct Pos *p, const struct CLayout *l, struct CMember *m)
{
	u32 natural = ctype_align_of(c, m->f.type);
	if (m->bitfield) {
		place_bitfield(p, l, m, natural);
		return;
	}
	u32 align = member_align(l, m, natural);
	p->bits = align_bits(p->bits, align);
	m->f.off = (u32)(p->bits / 8);
	p->bits += (u64)m->f.type->size * 8;
	p->align = MAX(p->align, align);
}

bool clayout(struct Ctypes *c, struct Record *r, const struct CLayout *l, struct CMember *m, u32 n)
{
	struct Pos p = {.align = 1};
	r->fields = arena_new_n(c->arena, struct Field, n);
	r->nfields = 0;
	for (u32 i = 0; i < n; i++) {
		if (l->is_union)
			p.bits = 0;
		place_member(c, &p, l, &m[i]);
		p.max = MAX(p.max, p.bits);
		if (p.max / 8 > UINT32_MAX / 2)
			return false;
		if (*m[i].f.name || m[i].f.type->kind == TY_RECORD)
			r->fields[r->nfields++] = m[i].f;
	}
	r->align = MAX(p.align, l->align);
	r->size = (u32)ALIGN_UP((p.max + 7) / 8, (u64)r->align);
	r->loaded = true;
	return true;
}
