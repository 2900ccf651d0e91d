// DWARF entries -> types of the language.
// Input: entries of a user binary, maybe damaged. Output: interned types; records are loaded when somebody looks inside; pointers are
// user pointers. Invariant: walks along references have a depth limit.
#define CTYPE_DWARF
#include "ctype/internal.h"

#define DEPTH_MAX 32

static const char *name_of(const Dwarf_Die *die)
{
	const char *n = dwarf_diename((Dwarf_Die *)die);
	return n ? n : "";
}

static u64 number(Dwarf_Die *die, unsigned attr, u64 none)
{
	Dwarf_Attribute a;
	Dwarf_Word v;
	return dwarf_attr_integrate(die, attr, &a) && !dwarf_formudata(&a, &v) ? v : none;
}

bool dw_type_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute a;
	return dwarf_attr_integrate(die, DW_AT_type, &a) && dwarf_formref_die(&a, out);
}

static bool is_modifier(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
	       tag == DW_TAG_atomic_type || tag == DW_TAG_packed_type || tag == DW_TAG_immutable_type;
}

bool dw_peel(const Dwarf_Die *die, Dwarf_Die *out)
{
	*out = *die;
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		Dwarf_Die next;
		if (!is_modifier(dwarf_tag(out)))
			return true;
		if (!dw_type_of(out, &next))
			return false;
		*out = next;
	}
	return false;
}

static u32 byte_size(Dwarf_Die *die)
{
	u64 n = number(die, DW_AT_byte_size, 0);
	return n <= UINT32_MAX / 2 ? (u32)n : 0;
}

// ---- simple types

static const struct Type *base_type(struct Ctypes *c, Dwarf_Die *die)
{
	u32 size = byte_size(die);
	u64 enc = number(die, DW_AT_encoding, 0);
	bool power = size == 1 || size == 2 || size == 4 || size == 8;
	if (enc == DW_ATE_float || enc == DW_ATE_complex_float || enc == DW_ATE_imaginary_float || enc == DW_ATE_decimal_float)
		return ctype_float(c, size);
	if (size == 1 && !strcmp(name_of(die), "char"))
		return ty_char(c->tab);
	if (size == 16)
		return ctype_int128(c);
	return power ? ty_int(c->tab, size, enc == DW_ATE_signed || enc == DW_ATE_signed_char) : ctype_float(c, size);
}

static char *memo_key(struct Ctypes *c, struct DwFile *f, const Dwarf_Die *die)
{
	return arena_printf(c->arena, "%p:%llx", (void *)f, (unsigned long long)(uintptr_t)die->addr);
}

static const struct Type *enum_type(struct Ctypes *c, struct DwFile *f, Dwarf_Die *die)
{
	char *key = memo_key(c, f, die);
	const struct Type *t = map_get(&c->dwarf->memo, key);
	if (t)
		return t;
	VEC(struct EnumConst) consts = {0};
	struct Enum *e = arena_new(c->arena, struct Enum);
	Dwarf_Die child;
	e->name = arena_strdup(c->arena, name_of(die));
	e->size = byte_size(die);
	if (e->size != 1 && e->size != 2 && e->size != 8)
		e->size = 4;
	for (bool more = !dwarf_child(die, &child); more; more = !dwarf_siblingof(&child, &child)) {
		Dwarf_Attribute a;
		Dwarf_Sword v;
		if (dwarf_tag(&child) != DW_TAG_enumerator || !dwarf_attr(&child, DW_AT_const_value, &a) || dwarf_formsdata(&a, &v))
			continue;
		struct EnumConst k = {arena_strdup(c->arena, name_of(&child)), v};
		e->sgn |= v < 0;
		vec_push(&consts, k);
	}
	e->n = (u32)consts.n;
	e->consts = arena_new_n(c->arena, struct EnumConst, consts.n);
	if (consts.n)
		memcpy(e->consts, consts.p, consts.n * sizeof(*consts.p));
	vec_deinit(&consts);
	t = ty_enum(c->tab, e);
	map_put(&c->dwarf->memo, key, (void *)t);
	return t;
}

// ---- records

static bool is_record(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static u32 guess_align(Dwarf_Die *die, u32 size)
{
	u64 a = number(die, DW_AT_alignment, 0);
	return a && a <= 4096 ? (u32)a : !size || size % 2 ? 1 : size % 4 ? 2 : size % 8 ? 4 : 8;
}

// A struct has an entry in each unit that uses it: one name is one struct in a binary, as long as the sizes agree.
static const struct Type *record_of(struct Ctypes *c, struct DwFile *f, Dwarf_Die *die)
{
	Dwarf_Die def = *die;
	bool is_union = dwarf_tag(die) == DW_TAG_union_type;
	const char *name = name_of(die);
	char *memo = memo_key(c, f, die), *key = arena_printf(c->arena, "%s %s", is_union ? "union" : "struct", name);
	const struct Type *t = map_get(&c->dwarf->memo, memo);
	if (t)
		return t;
	const struct Type *known = *name ? map_get(&c->names, key) : NULL;
	bool declared = dwarf_hasattr(die, DW_AT_declaration);
	struct Origin *ko = known ? record_origin(known->rec) : NULL;
	if (ko && ko->kind == ORIGIN_DWARF && (declared || known->size == byte_size(die))) {
		map_put(&c->dwarf->memo, memo, (void *)known);
		return known;
	}
	if (declared && !dw_find_type(f, dwarf_tag(die), name, &def))
		return *name ? ctype_named_record(c, name, is_union) : ty_simple(c->tab, TY_VOID);
	u32 size = byte_size(&def), align = guess_align(&def, size);
	bool named = ko && ko->kind == ORIGIN_NAME;
	struct Record *r = named ? known->rec : record_new(c, ORIGIN_DWARF, arena_strdup(c->arena, name), is_union, size, align);
	struct Origin *o = record_origin(r);
	struct DwDie *d = arena_new(c->arena, struct DwDie);
	*d = (struct DwDie){f, def};
	r->size = size;
	r->align = align;
	o->kind = ORIGIN_DWARF;
	o->die = d;
	o->type = ty_record(c->tab, r);
	map_put(&c->dwarf->memo, memo, (void *)o->type);
	if (*name && !known)
		map_put(&c->names, key, (void *)o->type);
	return o->type;
}

// DW_AT_data_member_location: a constant, or (old compilers) "DW_OP_plus_uconst N".
static bool member_offset(Dwarf_Die *die, u64 *out)
{
	Dwarf_Attribute a;
	Dwarf_Word v;
	Dwarf_Op *ops;
	size_t n;
	*out = 0;
	if (!dwarf_attr_integrate(die, DW_AT_data_member_location, &a))
		return true; // union members and DWARF 4+ bit-fields have none
	if (!dwarf_formudata(&a, &v)) {
		*out = v;
		return true;
	}
	if (dwarf_getlocation(&a, &ops, &n) || n != 1 || ops[0].atom != DW_OP_plus_uconst)
		return false;
	*out = ops[0].number;
	return true;
}

static void bitfield(Dwarf_Die *die, struct Field *f)
{
	u64 bits = number(die, DW_AT_bit_size, 0), at = number(die, DW_AT_data_bit_offset, UINT64_MAX);
	if (!bits || bits > 64)
		return;
	if (at == UINT64_MAX) { // DWARF 2/3: from the most significant bit of the storage unit (section 5.5.6 of DWARF 3)
		u64 unit = number(die, DW_AT_byte_size, f->type->size) * 8, from_top = number(die, DW_AT_bit_offset, 0);
		if (unit > 64 || from_top + bits > unit)
			return;
		at = (u64)f->off * 8 + unit - from_top - bits;
	}
	if (at / 8 > UINT32_MAX)
		return;
	f->off = (u32)(at / 8);
	f->bit_off = (u8)(at % 8);
	f->bit_size = f->bit_off || bits != (u64)f->type->size * 8 ? (u8)bits : 0;
}

static bool load(struct Ctypes *c, struct Record *r);

static bool load_member(struct Ctypes *c, struct DwFile *file, Dwarf_Die *die, struct Field *f)
{
	Dwarf_Die type;
	u64 off;
	int tag = dwarf_tag(die);
	bool base = tag == DW_TAG_inheritance;
	if ((tag != DW_TAG_member && !base) || dwarf_hasattr(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_external) ||
	    dwarf_hasattr(die, DW_AT_virtuality) || !dw_type_of(die, &type) || !member_offset(die, &off) || off > UINT32_MAX)
		return false;
	*f = (struct Field){.name = base ? "" : arena_strdup(c->arena, name_of(die)), .type = dw_to_type(c, file, &type), .off = (u32)off};
	f->user_ptr = f->type->kind == TY_PTR;
	bitfield(die, f);
	if (*f->name)
		return true;
	// Base classes and anonymous members are looked through without asking us again.
	return f->type->kind == TY_RECORD && !record_origin(f->type->rec)->loading && load(c, f->type->rec);
}

static bool load(struct Ctypes *c, struct Record *r)
{
	struct Origin *o = record_origin(r);
	struct DwDie *d = o->die;
	VEC(struct Field) fields = {0};
	Dwarf_Die child;
	if (r->loaded)
		return true;
	if (o->kind != ORIGIN_DWARF || o->loading)
		return false;
	o->loading = true;
	for (bool more = !dwarf_child(&d->die, &child); more; more = !dwarf_siblingof(&child, &child)) {
		struct Field f;
		if (load_member(c, d->file, &child, &f))
			vec_push(&fields, f);
	}
	o->loading = false;
	r->nfields = (u32)fields.n;
	r->fields = arena_new_n(c->arena, struct Field, fields.n);
	if (fields.n)
		memcpy(r->fields, fields.p, fields.n * sizeof(*fields.p));
	r->loaded = true;
	vec_deinit(&fields);
	return true;
}

bool dw_record_load(struct Ctypes *c, struct Record *r)
{
	return load(c, r);
}

// ---- any type

static u64 array_count(Dwarf_Die *subrange)
{
	u64 n = number(subrange, DW_AT_count, UINT64_MAX), last = number(subrange, DW_AT_upper_bound, UINT64_MAX);
	return n != UINT64_MAX ? n : last < UINT32_MAX ? last + 1 : 0;
}

static u32 array_dims(Dwarf_Die *die, u64 *dims, u32 max)
{
	Dwarf_Die child;
	u32 n = 0;
	for (bool more = !dwarf_child(die, &child); more && n < max; more = !dwarf_siblingof(&child, &child))
		if (dwarf_tag(&child) == DW_TAG_subrange_type)
			dims[n++] = array_count(&child);
	return n;
}

static const struct Type *to_type(struct Ctypes *c, struct DwFile *f, const Dwarf_Die *die, int depth)
{
	Dwarf_Die t, to;
	if (!die || depth > DEPTH_MAX || !dw_peel(die, &t))
		return ty_simple(c->tab, TY_VOID);
	int tag = dwarf_tag(&t);
	if (is_record(tag))
		return record_of(c, f, &t);
	switch (tag) {
	case DW_TAG_base_type:
		return base_type(c, &t);
	case DW_TAG_enumeration_type:
		return enum_type(c, f, &t);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return ty_ptr(c->tab, to_type(c, f, dw_type_of(&t, &to) ? &to : NULL, depth + 1), AS_USER);
	case DW_TAG_ptr_to_member_type:
		return ty_int(c->tab, 8, false);
	case DW_TAG_array_type: {
		u64 dims[8];
		u32 n = array_dims(&t, dims, ARRAY_LEN(dims));
		const struct Type *ty = to_type(c, f, dw_type_of(&t, &to) ? &to : NULL, depth + 1);
		for (; n; n--)
			ty = ty_array(c->tab, ty, dims[n - 1] <= UINT32_MAX / MAX(ty->size, 1u) ? (u32)dims[n - 1] : 0);
		return ty;
	}
	default:
		return ty_simple(c->tab, TY_VOID); // functions: only ever pointed to
	}
}

const struct Type *dw_to_type(struct Ctypes *c, struct DwFile *f, const Dwarf_Die *die)
{
	return to_type(c, f, die, 0);
}

static void type_text(const Dwarf_Die *die, struct Str *out, int depth)
{
	Dwarf_Die t, to;
	if (!die || depth > DEPTH_MAX) {
		str_add(out, "void");
		return;
	}
	t = *die;
	int tag = dwarf_tag(&t);
	const Dwarf_Die *inner = dw_type_of(&t, &to) ? &to : NULL;
	if (is_record(tag) || tag == DW_TAG_enumeration_type) {
		const char *word = tag == DW_TAG_union_type ? "union" : tag == DW_TAG_enumeration_type ? "enum" : "struct";
		str_addf(out, "%s %s", word, *name_of(&t) ? name_of(&t) : "<anonymous>");
	} else if (tag == DW_TAG_const_type && inner && dwarf_tag(&to) == DW_TAG_pointer_type) {
		type_text(inner, out, depth + 1);
		str_add(out, " const");
	} else if (tag == DW_TAG_const_type) {
		str_add(out, "const ");
		type_text(inner, out, depth + 1);
	} else if (tag == DW_TAG_pointer_type && inner && dwarf_tag(&to) == DW_TAG_subroutine_type)
		str_add(out, "void (*)()");
	else if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
		type_text(inner, out, depth + 1);
		str_add(out, tag == DW_TAG_pointer_type ? "*" : tag == DW_TAG_reference_type ? "&" : "&&");
	} else if (tag == DW_TAG_array_type) {
		u64 dims[8];
		u32 n = array_dims(&t, dims, ARRAY_LEN(dims));
		type_text(inner, out, depth + 1);
		for (u32 i = 0; i < n; i++)
			str_addf(out, "[%llu]", (unsigned long long)dims[i]);
	} else if (is_modifier(tag) && tag != DW_TAG_typedef)
		type_text(inner, out, depth + 1);
	else
		str_add(out, *name_of(&t) ? name_of(&t) : "<unknown type>");
}

void dw_type_text(const Dwarf_Die *die, struct Str *out)
{
	type_text(die, out, 0);
}

// System V ABI for x86-64, 3.2.3: an eightbyte with anything but floating point in it is INTEGER class.
static u32 int_eightbytes(const Dwarf_Die *die, u64 off, u32 size, int depth)
{
	Dwarf_Die t, child, to;
	u32 mask = 0;
	if (depth > 8 || !dw_peel(die, &t))
		return 0;
	if (is_record(dwarf_tag(&t))) {
		for (bool more = !dwarf_child(&t, &child); more; more = !dwarf_siblingof(&child, &child)) {
			u64 at;
			int tag = dwarf_tag(&child);
			if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) && !dwarf_hasattr(&child, DW_AT_declaration) &&
			    dw_type_of(&child, &to) && member_offset(&child, &at))
				mask |= int_eightbytes(&to, off + at + number(&child, DW_AT_data_bit_offset, 0) / 8, size, depth + 1);
		}
		return mask;
	}
	if (dwarf_tag(&t) == DW_TAG_array_type) {
		Dwarf_Die elem;
		u64 dims[1];
		if (!dw_type_of(&t, &to) || !dw_peel(&to, &elem) || !array_dims(&t, dims, 1))
			return 0;
		u32 each = MAX(byte_size(&elem), 1u);
		for (u64 i = 0; i < dims[0] && off + i * each < size; i++)
			mask |= int_eightbytes(&to, off + i * each, size, depth + 1);
		return mask;
	}
	u64 enc = dwarf_tag(&t) == DW_TAG_base_type ? number(&t, DW_AT_encoding, 0) : 0;
	return enc == DW_ATE_float || enc == DW_ATE_complex_float || off >= 16 ? 0 : 1u << (off / 8);
}

u32 dw_int_eightbytes(const Dwarf_Die *die, u32 size)
{
	return int_eightbytes(die, 0, size, 0);
}
