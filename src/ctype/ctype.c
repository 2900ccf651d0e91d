// Front of ctype: who is asked for a name, and what was answered before.
// Input: C spellings. Output: types of type/type.h. Invariant: the same spelling always gives the same type.
#include "ctype/internal.h"
#include <ctype.h>

struct Ctypes *ctypes_create(struct Arena *a, struct TypeTab *tab, struct Diags *d)
{
	struct Ctypes *c = arena_new(a, struct Ctypes);
	c->arena = a;
	c->tab = tab;
	c->diags = d;
	return c;
}

void ctypes_destroy(struct Ctypes *c)
{
	if (!c)
		return;
	map_deinit(&c->names);
	map_deinit(&c->tracepoints);
	map_deinit(&c->funcs);
	map_deinit(&c->consts);
	preamble_destroy(c);
	ctext_destroy(c);
	dwarfset_destroy(c->dwarf);
	btfset_destroy(c->btf);
}

struct Record *record_new(struct Ctypes *c, enum OriginKind kind, const char *name, bool is_union, u32 size, u32 align)
{
	struct Record *r = arena_new(c->arena, struct Record);
	struct Origin *o = arena_new(c->arena, struct Origin);
	r->name = name;
	r->is_union = is_union;
	r->size = size;
	r->align = align ? align : 1;
	r->origin = o;
	o->kind = kind;
	r->is_args = kind == ORIGIN_TP || kind == ORIGIN_FUNC || kind == ORIGIN_UFUNC;
	o->type = ty_record(c->tab, r);
	return r;
}

const struct Type *ctype_named_record(struct Ctypes *c, const char *name, bool is_union)
{
	char *key = arena_printf(c->arena, "%s %s", is_union ? "union" : "struct", name);
	const struct Type *t = map_get(&c->names, key);
	if (!t) {
		t = record_type(record_new(c, ORIGIN_NAME, key + (is_union ? 6 : 7), is_union, 0, 0));
		map_put(&c->names, key, (void *)t);
	}
	return t;
}

// ---- integers by name

struct CIntName {
	const char *name;
	struct CInt i;
};

// Typedefs that are the same in the kernel and in user space on every 64-bit Linux (include/linux/types.h,
// asm-generic/posix_types.h), and the language's own names. dev_t and timer_t differ between the two and are left out.
static const struct CIntName cint_names[] = {
	{"uint8", {1, false}},	  {"uint16", {2, false}},   {"uint32", {4, false}},   {"uint64", {8, false}},  {"int8", {1, true}},
	{"int16", {2, true}},	  {"int32", {4, true}},	    {"int64", {8, true}},     {"u8", {1, false}},      {"u16", {2, false}},
	{"u32", {4, false}},	  {"u64", {8, false}},	    {"s8", {1, true}},	      {"s16", {2, true}},      {"s32", {4, true}},
	{"s64", {8, true}},	  {"__u8", {1, false}},	    {"__u16", {2, false}},    {"__u32", {4, false}},   {"__u64", {8, false}},
	{"__s8", {1, true}},	  {"__s16", {2, true}},	    {"__s32", {4, true}},     {"__s64", {8, true}},    {"uint8_t", {1, false}},
	{"uint16_t", {2, false}}, {"uint32_t", {4, false}}, {"uint64_t", {8, false}}, {"int8_t", {1, true}},   {"int16_t", {2, true}},
	{"int32_t", {4, true}},	  {"int64_t", {8, true}},   {"size_t", {8, false}},   {"ssize_t", {8, true}},  {"uintptr_t", {8, false}},
	{"intptr_t", {8, true}},  {"ptrdiff_t", {8, true}}, {"pid_t", {4, true}},     {"tid_t", {4, true}},	{"uid_t", {4, false}},
	{"gid_t", {4, false}},	  {"loff_t", {8, true}},    {"off_t", {8, true}},     {"ino_t", {8, false}},   {"umode_t", {2, false}},
	{"key_t", {4, true}},	  {"clockid_t", {4, true}}, {"time64_t", {8, true}},  {"gfp_t", {4, false}},   {"sector_t", {8, false}},
	{"uint", {4, false}},	  {"ushort", {2, false}},   {"ulong", {8, false}},    {"unchar", {1, false}},  {"u_char", {1, false}},
	{"u_short", {2, false}},  {"u_int", {4, false}},    {"u_long", {8, false}},   {"__be16", {2, false}},  {"__be32", {4, false}},
	{"__be64", {8, false}},	  {"__le16", {2, false}},   {"__le32", {4, false}},   {"__le64", {8, false}},  {"bool", {1, false}},
	{"_Bool", {1, false}},	  {"wchar_t", {4, true}},   {"wint_t", {4, false}},
};

// The words of a C integer type in any order: "long unsigned int", "unsigned".
static bool cint_words(const char *s, struct CInt *out)
{
	int nlong = 0, nshort = 0, nchar = 0, nint = 0, uns = 0, sgn = 0, n = 0;
	while (*s) {
		size_t len = strcspn(s, " ");
		static const char *const words[] = {"long", "short", "char", "int", "unsigned", "signed"};
		int *const counts[] = {&nlong, &nshort, &nchar, &nint, &uns, &sgn};
		size_t i = 0;
		while (i < ARRAY_LEN(words) && (strlen(words[i]) != len || strncmp(words[i], s, len)))
			i++;
		if (i == ARRAY_LEN(words))
			return false;
		++*counts[i];
		n++;
		s += len;
		s += strspn(s, " ");
	}
	if (!n || nlong > 2 || nshort > 1 || nchar > 1 || nint > 1 || uns + sgn > 1 || (nlong && nshort) || (nchar && nlong + nshort + nint))
		return false;
	*out = (struct CInt){nchar ? 1 : nshort ? 2 : nlong ? 8 : 4, !uns, nchar && !uns && !sgn};
	return true;
}

bool cint_by_name(const char *name, struct CInt *out)
{
	if (cint_words(name, out))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(cint_names); i++) {
		if (!strcmp(cint_names[i].name, name)) {
			*out = cint_names[i].i;
			return true;
		}
	}
	return false;
}

const struct Type *cint_type(struct Ctypes *c, const struct CInt *i)
{
	return i->is_char ? ty_char(c->tab) : ty_int(c->tab, i->size, i->sgn);
}

// Words that change neither size nor meaning of a type for a reader of memory.
static bool is_qualifier(const char *w, size_t n)
{
	static const char *const words[] = {"const",  "volatile", "restrict", "__restrict", "__user",	"__kernel", "__rcu",
					    "__iomem", "__percpu", "__force",  "__seg_gs",   "__seg_fs", "_Atomic",  "__const"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == n && !strncmp(words[i], w, n))
			return true;
	return false;
}

char *ctype_clean_name(struct Arena *a, const char *name, size_t len)
{
	char *out = arena_alloc(a, len + 1), *o = out;
	for (size_t i = 0; i < len;) {
		if (isspace((unsigned char)name[i])) {
			i++;
			continue;
		}
		size_t n = 1;
		while (i + n < len && !isspace((unsigned char)name[i + n]))
			n++;
		if (!is_qualifier(name + i, n)) {
			if (o != out)
				*o++ = ' ';
			memcpy(o, name + i, n);
			o += n;
		}
		i += n;
	}
	*o = 0;
	return out;
}

// ---- the questions

// A record that is known by name only gets its definition: from the binaries of uprobes, else from BTF.
static bool resolve_named(struct Ctypes *c, struct Record *r)
{
	struct Origin *o = record_origin(r);
	if (o->kind == ORIGIN_NAME && c->dwarf)
		dwarf_lookup(c, arena_printf(c->arena, "%s %s", r->is_union ? "union" : "struct", r->name));
	return o->kind != ORIGIN_NAME || kbtf_record_resolve(c, r);
}

static const struct Type *resolved(struct Ctypes *c, const struct Type *t)
{
	return t && t->kind == TY_RECORD && !resolve_named(c, t->rec) ? NULL : t;
}

// "foo" for a struct or union foo of the preamble.
static const struct Type *bare_record(struct Ctypes *c, const char *name)
{
	static const char *const tags[] = {"struct", "union"};
	for (size_t i = 0; c->cpp && i < ARRAY_LEN(tags); i++) {
		const struct Type *t = map_get(&c->names, arena_printf(c->arena, "%s %s", tags[i], name));
		if (t && record_origin(t->rec)->kind == ORIGIN_CDECL)
			return t;
	}
	return NULL;
}

const struct Type *ctype_float(struct Ctypes *c, u32 size)
{
	return ty_intern(c->tab, (struct Type){.kind = TY_NONE, .size = size, .align = MAX(size, 1u)});
}

const struct Type *ctype_int128(struct Ctypes *c)
{
	const struct Type *t = map_get(&c->names, "struct __int128");
	if (t)
		return t;
	struct Record *r = record_new(c, ORIGIN_CDECL, "__int128", false, 16, 16);
	r->nfields = 2;
	r->fields = arena_new_n(c->arena, struct Field, 2);
	r->fields[0] = (struct Field){.name = "lo", .type = ty_int(c->tab, 8, false)};
	r->fields[1] = (struct Field){.name = "hi", .type = ty_int(c->tab, 8, false), .off = 8};
	r->loaded = true;
	map_put(&c->names, "struct __int128", (void *)record_type(r));
	return record_type(r);
}

const struct Type *ctype_lookup_known(struct Ctypes *c, const char *name)
{
	struct CInt i;
	char *key = ctype_clean_name(c->arena, name, strlen(name));
	if (map_has(&c->names, key))
		return resolved(c, map_get(&c->names, key));
	const struct Type *bare = bare_record(c, key);
	if (bare)
		return bare;
	if (!strcmp(key, "void"))
		return ty_simple(c->tab, TY_VOID);
	if (!strcmp(key, "__int128") || !strcmp(key, "unsigned __int128") || !strcmp(key, "__int128 unsigned"))
		return ctype_int128(c);
	if (!strcmp(key, "bool") || !strcmp(key, "_Bool"))
		return ty_bool(c->tab);
	if (cint_by_name(key, &i))
		return cint_type(c, &i);
	const struct Type *t = dwarf_lookup(c, key);
	if (!t)
		t = kbtf_lookup(c, key);
	if (!map_has(&c->names, key)) // making the type may have entered the name
		map_put(&c->names, key, (void *)t);
	return t;
}

const struct Type *ctype_lookup(struct Ctypes *c, const char *name)
{
	const struct Type *t = ctype_lookup_known(c, name);
	return t || !preamble_read_headers(c) ? t : ctype_lookup_known(c, name);
}

bool ctype_record_load(struct Ctypes *c, struct Record *rec)
{
	struct Origin *o = record_origin(rec);
	if (rec->loaded)
		return true;
	if (!resolve_named(c, rec))
		return preamble_read_headers(c) && rec->loaded;
	if (o->kind == ORIGIN_DWARF)
		return dw_record_load(c, rec);
	return o->kind == ORIGIN_BTF && kbtf_record_load(c, rec);
}

static bool preamble_const(struct Ctypes *c, const char *name, s64 *val, const struct Type **type)
{
	const struct CConst *k = map_get(&c->consts, name);
	if (!k || !k->type)
		return false;
	*val = k->val;
	*type = k->type;
	return true;
}

bool ctype_enum_const(struct Ctypes *c, const char *name, s64 *val, const struct Type **type)
{
	return preamble_const(c, name, val, type) || kbtf_enum_const(c, name, val, type) ||
	       (preamble_read_headers(c) && preamble_const(c, name, val, type));
}

bool ctype_has_btf(struct Ctypes *c)
{
	return kbtf_vmlinux(c) != NULL;
}

const char *ctype_nearest(struct Ctypes *c, const char *name)
{
	return kbtf_nearest(c, ctype_clean_name(c->arena, name, strlen(name)));
}
