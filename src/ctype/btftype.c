// BTF types -> types of the language.
// Input: struct Btf and ids. Output: interned types; records unloaded until somebody looks inside. Invariant: every walk along type ids
// has a depth limit or a "loading" mark, so that damaged BTF with cycles ends.
#include "ctype/internal.h"
#include <linux/btf.h>

#define DEPTH_MAX 32 // modifiers in a row, arrays in arrays, pointers to pointers

enum { KIND_TYPE_TAG = 18, KIND_ENUM64 = 19 };
#define ENUM_KINDS (BTF_KIND_BIT(BTF_KIND_ENUM) | BTF_KIND_BIT(KIND_ENUM64))

struct enum64 { // struct btf_enum64, kernel 6.0
	u32 name_off, lo, hi;
};

static u32 kind_of(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

static bool is_record(const struct btf_type *t)
{
	return kind_of(t) == BTF_KIND_STRUCT || kind_of(t) == BTF_KIND_UNION;
}

static struct Btf *owner(struct Btf *b, u32 id)
{
	while (b->base && id < b->first_id)
		b = b->base;
	return b;
}

const struct btf_type *kbtf_skip(struct Btf *b, u32 *id, struct BtfTags *tags)
{
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		const struct btf_type *t = kbtf_type_by_id(b, *id);
		if (!t)
			return NULL;
		switch (kind_of(t)) {
		case KIND_TYPE_TAG:
			if (tags) {
				const char *tag = kbtf_name(b, t->name_off);
				tags->user |= !strcmp(tag, "user");
				tags->percpu |= !strcmp(tag, "percpu");
			}
			break;
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
			break;
		default:
			return t;
		}
		*id = t->type;
	}
	return NULL;
}

u64 kbtf_size(struct Btf *b, u32 id)
{
	u64 n = 1;
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		const struct btf_type *t = kbtf_skip(b, &id, NULL);
		if (!t)
			return 0;
		switch (kind_of(t)) {
		case BTF_KIND_INT:
		case BTF_KIND_FLOAT:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
		case BTF_KIND_ENUM:
		case KIND_ENUM64:
			return n * t->size;
		case BTF_KIND_PTR:
			return n * 8;
		case BTF_KIND_ARRAY: {
			const struct btf_array *a = (const void *)(t + 1);
			if (a->nelems && n > UINT32_MAX / a->nelems)
				return 0;
			n *= a->nelems;
			id = a->type;
			break;
		}
		default:
			return 0;
		}
	}
	return 0;
}

// The largest power of two that divides the size: right for whole-array reads and for tuples, which is all a type's align is used for here.
static u32 guess_align(u32 size)
{
	return !size || size % 2 ? 1 : size % 4 ? 2 : size % 8 ? 4 : 8;
}

u32 kbtf_type_align(struct Ctypes *c, struct Btf *b, u32 id)
{
	u32 align = 1;
	const struct btf_type *t = kbtf_skip(b, &id, NULL);
	for (int depth = 0; t && kind_of(t) == BTF_KIND_ARRAY && depth < DEPTH_MAX; depth++) {
		id = ((const struct btf_array *)(t + 1))->type;
		t = kbtf_skip(b, &id, NULL);
	}
	if (!t)
		return 1;
	if (!is_record(t))
		return kind_of(t) == BTF_KIND_PTR ? 8 : (u32)MAX(MIN(kbtf_size(b, id), (u64)16), (u64)1);
	const struct Type *rec = kbtf_to_type(c, b, id);
	struct Origin *o = record_origin(rec->rec);
	if (o->exact_align)
		return o->exact_align;
	o->exact_align = 1; // ends a cycle
	const struct btf_member *m = (const void *)(t + 1);
	for (u32 i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		u32 bit = BTF_INFO_KFLAG(t->info) ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset, a = kbtf_type_align(c, b, m[i].type);
		if (bit / 8 % a == 0 && t->size % a == 0) // else packed
			align = MAX(align, a);
	}
	return o->exact_align = align;
}

// ---- enums

static const struct Type *enum_type(struct Ctypes *c, struct Btf *b, u32 id, const struct btf_type *t)
{
	b = owner(b, id);
	const struct Type *ty = kbtf_memo_get(b, id);
	if (ty)
		return ty;
	struct Enum *e = arena_new(c->arena, struct Enum);
	e->name = arena_strdup(c->arena, kbtf_name(b, t->name_off));
	e->size = t->size == 1 || t->size == 2 || t->size == 8 ? t->size : 4;
	e->sgn = BTF_INFO_KFLAG(t->info);
	e->n = BTF_INFO_VLEN(t->info);
	e->consts = arena_new_n(c->arena, struct EnumConst, e->n);
	for (u32 i = 0; i < e->n; i++) {
		const struct btf_enum *v = (const struct btf_enum *)(t + 1) + i;
		const struct enum64 *v64 = (const struct enum64 *)(t + 1) + i;
		bool wide = kind_of(t) == KIND_ENUM64;
		e->consts[i].name = arena_strdup(c->arena, kbtf_name(b, wide ? v64->name_off : v->name_off));
		if (wide)
			e->consts[i].val = (s64)((u64)v64->hi << 32 | v64->lo);
		else
			e->consts[i].val = v->val;
		e->sgn |= !wide && v->val < 0; // compilers before kflag (6.0) did not say
	}
	if (e->size == 4 && !e->sgn)
		for (u32 i = 0; i < e->n; i++)
			e->consts[i].val = (u32)e->consts[i].val;
	ty = ty_enum(c->tab, e);
	kbtf_memo_put(b, id, ty);
	return ty;
}

bool kbtf_enum_const(struct Ctypes *c, const char *name, s64 *val, const struct Type **type)
{
	struct Btf *b;
	for (u32 i = 0; kbtf_each(c, &i, &b);) {
		u32 offs[8], n = kbtf_str_offsets(b, name, offs, ARRAY_LEN(offs));
		for (u32 id = n ? kbtf_next(b, 0) : 0; id; id = kbtf_next(b, id)) {
			const struct btf_type *t = kbtf_type_by_id(b, id);
			if (!(ENUM_KINDS & BTF_KIND_BIT(kind_of(t))))
				continue;
			u32 each = kind_of(t) == KIND_ENUM64 ? sizeof(struct enum64) : sizeof(struct btf_enum);
			for (u32 k = 0; k < BTF_INFO_VLEN(t->info); k++) {
				u32 off = *(const u32 *)((const char *)(t + 1) + k * each);
				for (u32 j = 0; j < n; j++) {
					if (off == offs[j]) {
						*type = enum_type(c, b, id, t);
						*val = (*type)->en->consts[k].val;
						return true;
					}
				}
			}
		}
	}
	return false;
}

// ---- records

static void adopt(struct Ctypes *c, struct Record *r, struct Btf *b, u32 id, const struct btf_type *t)
{
	struct Origin *o = record_origin(r);
	o->kind = ORIGIN_BTF;
	o->btf = b;
	o->id = id;
	r->size = t->size;
	r->align = guess_align(t->size);
	o->type = ty_record(c->tab, r); // refreshes the type's size
	kbtf_memo_put(b, id, o->type);
}

static const struct Type *record_of(struct Ctypes *c, struct Btf *b, u32 id, const struct btf_type *t)
{
	b = owner(b, id);
	const struct Type *ty = kbtf_memo_get(b, id);
	if (ty)
		return ty;
	const char *name = kbtf_name(b, t->name_off);
	bool is_union = kind_of(t) == BTF_KIND_UNION;
	char *key = *name ? arena_printf(c->arena, "%s %s", is_union ? "union" : "struct", name) : "";
	ty = *name ? map_get(&c->names, key) : NULL;
	if (ty && record_origin(ty->rec)->kind == ORIGIN_NAME) {
		adopt(c, ty->rec, b, id, t);
		return ty;
	}
	// A second struct of the same name (another file of the kernel, or the script has its own) stays apart.
	struct Record *r = record_new(c, ORIGIN_BTF, *name ? key + (is_union ? 6 : 7) : "", is_union, t->size, guess_align(t->size));
	if (*name && !ty)
		map_put(&c->names, key, (void *)record_type(r));
	adopt(c, r, b, id, t);
	return record_type(r);
}

bool kbtf_record_resolve(struct Ctypes *c, struct Record *r)
{
	struct Btf *b;
	u32 kind = BTF_KIND_BIT(r->is_union ? BTF_KIND_UNION : BTF_KIND_STRUCT);
	for (u32 i = 0; kbtf_each(c, &i, &b);) {
		u32 id = kbtf_find(b, r->name, kind);
		if (id) {
			adopt(c, r, b, id, kbtf_type_by_id(b, id));
			return true;
		}
	}
	return false;
}

// Old bit fields (before the kflag of kernel 4.20) are integers with fewer bits than bytes * 8, placed within the member.
static u32 int_bits(struct Btf *b, u32 id, u32 *extra_off)
{
	const struct btf_type *t = kbtf_skip(b, &id, NULL);
	if (!t || kind_of(t) != BTF_KIND_INT)
		return 0;
	u32 data = *(const u32 *)(t + 1), bits = BTF_INT_BITS(data);
	*extra_off = BTF_INT_OFFSET(data);
	return bits != t->size * 8 ? bits : 0;
}

// Little-endian targets only: bit n of a member is bit n of the integer that starts at its byte.
static void place(struct Field *f, u32 bit, u32 bits)
{
	f->off = bit / 8;
	if (!bits || bits > 64 || (bit % 8 == 0 && bits == f->type->size * 8))
		return;
	f->bit_off = (u8)(bit % 8);
	f->bit_size = (u8)bits;
}

static bool load(struct Ctypes *c, struct Record *r);

static bool load_member(struct Ctypes *c, struct Btf *b, const struct btf_type *t, const struct btf_member *m, struct Field *f)
{
	u32 bit = m->offset, bits = 0, extra = 0;
	*f = (struct Field){.name = arena_strdup(c->arena, kbtf_name(b, m->name_off))};
	kbtf_field_type(c, b, m->type, f);
	if (BTF_INFO_KFLAG(t->info)) {
		bit = BTF_MEMBER_BIT_OFFSET(m->offset);
		bits = BTF_MEMBER_BITFIELD_SIZE(m->offset);
	} else {
		bits = int_bits(b, m->type, &extra);
		bit += bits ? extra : 0;
	}
	place(f, bit, bits);
	if (*f->name)
		return true;
	// Names inside an anonymous member are reached without asking us again: it has to be complete.
	return f->type->kind == TY_RECORD && !record_origin(f->type->rec)->loading && load(c, f->type->rec);
}

static bool load(struct Ctypes *c, struct Record *r)
{
	struct Origin *o = record_origin(r);
	if (r->loaded)
		return true;
	if (o->kind != ORIGIN_BTF || o->loading)
		return false;
	const struct btf_type *t = kbtf_type_by_id(o->btf, o->id);
	if (!t || !is_record(t))
		return false;
	o->loading = true;
	u32 n = BTF_INFO_VLEN(t->info);
	r->fields = arena_new_n(c->arena, struct Field, n);
	for (u32 i = 0; i < n; i++)
		r->nfields += load_member(c, o->btf, t, (const struct btf_member *)(t + 1) + i, &r->fields[r->nfields]);
	o->loading = false;
	r->loaded = true;
	return true;
}

bool kbtf_record_load(struct Ctypes *c, struct Record *r)
{
	return load(c, r);
}

// ---- any type

static const struct Type *to_type(struct Ctypes *c, struct Btf *b, u32 id, int depth);

static const struct Type *int_type(struct Ctypes *c, struct Btf *b, const struct btf_type *t)
{
	u32 enc = BTF_INT_ENCODING(*(const u32 *)(t + 1));
	if (enc & BTF_INT_BOOL && t->size == 1)
		return ty_bool(c->tab);
	if (t->size == 1 && !strcmp(kbtf_name(b, t->name_off), "char"))
		return ty_char(c->tab);
	if (t->size == 16) // __int128
		return ctype_int128(c);
	if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
		return ctype_float(c, t->size);
	return ty_int(c->tab, t->size, enc & BTF_INT_SIGNED);
}

static const struct Type *ptr_type(struct Ctypes *c, struct Btf *b, u32 id, int depth)
{
	struct BtfTags tags = {0};
	const struct btf_type *t = kbtf_skip(b, &id, &tags);
	const struct Type *to = t ? to_type(c, b, id, depth) : ty_simple(c->tab, TY_VOID);
	return ty_ptr(c->tab, to, tags.user ? AS_USER : AS_KERNEL);
}

static const struct Type *to_type(struct Ctypes *c, struct Btf *b, u32 id, int depth)
{
	const struct btf_type *t = kbtf_skip(b, &id, NULL);
	if (!t || depth > DEPTH_MAX)
		return ty_simple(c->tab, TY_VOID);
	switch (kind_of(t)) {
	case BTF_KIND_INT:
		return int_type(c, b, t);
	case BTF_KIND_PTR:
		return ptr_type(c, b, t->type, depth + 1);
	case BTF_KIND_ARRAY: {
		const struct btf_array *a = (const void *)(t + 1);
		return ty_array(c->tab, to_type(c, b, a->type, depth + 1), a->nelems);
	}
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return record_of(c, b, id, t);
	case BTF_KIND_FWD:
		return ctype_named_record(c, kbtf_name(b, t->name_off), BTF_INFO_KFLAG(t->info));
	case BTF_KIND_ENUM:
	case KIND_ENUM64:
		return enum_type(c, b, id, t);
	case BTF_KIND_FLOAT:
		return ctype_float(c, t->size);
	default: // a function: only ever pointed to
		return ty_simple(c->tab, TY_VOID);
	}
}

const struct Type *kbtf_to_type(struct Ctypes *c, struct Btf *b, u32 id)
{
	return to_type(c, b, id, 0);
}

void kbtf_field_type(struct Ctypes *c, struct Btf *b, u32 id, struct Field *f)
{
	struct BtfTags tags = {0};
	const struct btf_type *t = kbtf_skip(b, &id, &tags);
	f->type = to_type(c, b, id, 0);
	if (t && kind_of(t) == BTF_KIND_PTR) {
		u32 to = t->type;
		kbtf_skip(b, &to, &tags);
		f->user_ptr = tags.user;
	}
	f->percpu = tags.percpu; // on the pointee for `T __percpu *`, on the variable's own type for per-CPU variables
}

// ---- by name

static u32 kinds_of_spelling(const char **name)
{
	if (!strncmp(*name, "struct ", 7)) {
		*name += 7;
		return BTF_KIND_BIT(BTF_KIND_STRUCT);
	}
	if (!strncmp(*name, "union ", 6)) {
		*name += 6;
		return BTF_KIND_BIT(BTF_KIND_UNION);
	}
	if (!strncmp(*name, "enum ", 5)) {
		*name += 5;
		return ENUM_KINDS;
	}
	return KBTF_RECORDS | ENUM_KINDS | BTF_KIND_BIT(BTF_KIND_TYPEDEF) | BTF_KIND_BIT(BTF_KIND_INT);
}

const struct Type *kbtf_lookup(struct Ctypes *c, const char *name)
{
	struct Btf *b;
	u32 kinds = kinds_of_spelling(&name);
	for (u32 i = 0; kbtf_each(c, &i, &b);) {
		u32 id = kbtf_find(b, name, kinds);
		if (id)
			return kbtf_to_type(c, b, id);
	}
	return NULL;
}

bool kbtf_knows_name(struct Ctypes *c, const char *name)
{
	struct Btf *b = kbtf_vmlinux(c);
	u32 off;
	return b && kbtf_str_offsets(b, name, &off, 1);
}

const char *kbtf_nearest(struct Ctypes *c, const char *name)
{
	struct Btf *b = kbtf_vmlinux(c);
	VEC(const char *) names = {0};
	const char *bare = name;
	u32 kinds = kinds_of_spelling(&bare);
	for (u32 id = b ? kbtf_next(b, 0) : 0; id; id = kbtf_next(b, id)) {
		const struct btf_type *t = kbtf_type_by_id(b, id);
		const char *n = kbtf_name(b, t->name_off);
		if (*n && (kinds & BTF_KIND_BIT(kind_of(t))))
			vec_push(&names, n);
	}
	const char *best = nearest_name(bare, names.p, names.n);
	vec_deinit(&names);
	return best ? arena_printf(c->arena, "%.*s%s", (int)(bare - name), name, best) : NULL;
}
