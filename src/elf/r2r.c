// Functions of code that .NET's libraries were compiled to ahead of time. Input: a PE file nobody vouches for. Output: where its methods are and their names.
// Methods of generic types and generic methods are listed once for each set of types they were compiled for; all have the method's own name.
// (.NET: docs/design/coreclr/botr/readytorun-format.md; its compressed numbers, arrays and hash tables: src/coreclr/vm/nativeformatreader.h.)
// Invariant: every address is checked against the file; each entry costs a bounded number of readings.
#include <elf.h>
#include "elf/internal.h"

#define MAX_METADATA (64u << 20)
#define MAX_IMAGE (256ull << 20)
#define MAX_TYPE 64 // a type's depth in a signature
enum { RUNTIME_FUNCTIONS = 102, METHOD_ENTRIES = 103, INSTANCE_ENTRIES = 109 };

struct Image {
	const struct ElfFile *f;
	u32 function_size; // bytes of an entry of the table of functions
	struct PeTable functions, methods, instances;
	u8 *bytes[3]; // of these, in that order
	struct ClrMeta meta;
	u32 *method_of; // by function: number of the method that begins there, 0 none
	u32 nfunctions;
};

struct ClrHeader { // ECMA-335, II.25.3.3
	u32 size;
	u16 major, minor;
	struct PeTable metadata;
	u32 flags, entry;
	struct PeTable resources, strong_name, code_manager, vtable_fixups, export_jumps, native;
};
_Static_assert(sizeof(struct ClrHeader) == 72, "ECMA-335");

static u8 *load_table(const struct ElfFile *f, struct PeTable t, u64 max)
{
	u64 off;
	return t.size && elffile_vaddr_to_off(f, t.addr, &off) ? elffile_load(f, off, t.size, max) : NULL;
}

// ---- numbers
struct Reader {
	const u8 *p;
	u64 size, at;
	bool bad;
};

static u8 next_byte(struct Reader *r)
{
	if (r->at >= r->size) {
		r->bad = true;
		return 0;
	}
	return r->p[r->at++];
}

static u32 bytes_at(struct Reader *r, u32 n)
{
	u32 v = 0;
	for (u32 i = 0; i < n; i++)
		v |= (u32)next_byte(r) << 8 * i;
	return v;
}

// Of the native format: the first byte's low bits say how many follow.
static u32 number(struct Reader *r)
{
	u32 first = next_byte(r), more = first & 1 ? first & 2 ? first & 4 ? first & 8 ? 4 : 3 : 2 : 1 : 0;
	if (more == 4)
		return bytes_at(r, 4);
	return first >> (more + 1) | bytes_at(r, more) << (7 - more);
}

static s32 signed_number(struct Reader *r)
{
	u64 from = r->at;
	u32 v = number(r), bits = (u32)(r->at - from) == 5 ? 32 : 7 * (u32)(r->at - from);
	return bits < 32 && v >> (bits - 1) & 1 ? (s32)(v | ~0u << bits) : (s32)v;
}

// Of signatures (ECMA-335, II.23.2): the first byte's high bits say how many follow.
static u32 packed(struct Reader *r)
{
	u32 b = next_byte(r);
	if (!(b & 0x80))
		return b;
	if (!(b & 0x40))
		return (b & 0x3f) << 8 | next_byte(r);
	b = (b & 0x1f) << 24;
	b |= (u32)next_byte(r) << 16;
	b |= (u32)next_byte(r) << 8;
	return b | next_byte(r);
}

// ---- methods
static void put_method(struct Image *m, u32 function, u32 method)
{
	if (function < m->nfunctions && method)
		m->method_of[function] = method;
}

// What stands behind a method: its function's number.
static void read_entry(struct Image *m, struct Reader r, u32 method)
{
	u32 id = number(&r);
	if (!r.bad)
		put_method(m, id & 1 ? id >> 2 : id >> 1, method);
}

// An array: for each sixteen elements a tree, whose nodes say where a half begins.
static bool find_element(const struct Reader *array, u32 width, u32 i, struct Reader *out)
{
	struct Reader r = *array;
	r.at += (u64)(i / 16) * width;
	r.at = array->at + bytes_at(&r, width);
	for (u32 bit = 8; bit; bit >>= 1) {
		struct Reader next = r;
		u32 v = number(&next);
		if (next.bad)
			return false;
		if (i & bit && v & 2) {
			r.at += v >> 2;
			continue;
		}
		if (!(i & bit) && v & 1) {
			r = next;
			continue;
		}
		if (v & 3 || v >> 2 != (i & 15))
			return false;
		r = next;
		break;
	}
	*out = r;
	return true;
}

static void read_methods(struct Image *m)
{
	struct Reader r = {.p = m->bytes[1], .size = m->methods.size}, entry;
	u32 head = number(&r), width = head & 3 ? (head & 3) * 2 : 1; // 1, 2 or 4
	if (r.bad || (head & 3) == 3)
		return;
	for (u32 i = 0; i < MIN(head >> 2, m->meta.rows[6]); i++)
		if (find_element(&r, width, i, &entry))
			read_entry(m, entry, i + 1);
}

// ---- instances: types and a method, of which only the method counts
enum { PTR = 0x0f, BYREF, VALUETYPE, CLASS, VAR, ARRAY, GENERICINST, TYPEDBYREF, FNPTR = 0x1b, OBJECT, SZARRAY, MVAR, CMOD_REQD, CMOD_OPT, // ECMA-335, II.23.1.16
       VAR_ZAPSIG = 0x3b, NATIVE_VALUETYPE_ZAPSIG = 0x3d, CANON_ZAPSIG, MODULE_ZAPSIG, PINNED = 0x45 };

// Over one type. False: it is of another module, or not understood.
static bool skip_type(struct Reader *r, u32 depth)
{
	u32 n;
	if (r->bad || depth > MAX_TYPE)
		return false;
	switch (next_byte(r)) {
	case PTR:
	case BYREF:
	case SZARRAY:
	case NATIVE_VALUETYPE_ZAPSIG:
	case PINNED:
		return skip_type(r, depth + 1);
	case VALUETYPE:
	case CLASS:
	case VAR:
	case MVAR:
	case VAR_ZAPSIG:
		packed(r);
		return !r->bad;
	case ARRAY:
		if (!skip_type(r, depth + 1))
			return false;
		packed(r); // rank
		for (u32 k = 0; k < 2; k++)
			for (n = packed(r); n && !r->bad; n--)
				packed(r);
		return !r->bad;
	case GENERICINST:
		if (!skip_type(r, depth + 1))
			return false;
		for (n = packed(r); n; n--)
			if (!skip_type(r, depth + 1))
				return false;
		return true;
	case MODULE_ZAPSIG:
		packed(r);
		return skip_type(r, depth + 1);
	case CMOD_REQD:
	case CMOD_OPT:
		packed(r);
		return skip_type(r, depth + 1);
	case FNPTR:
		return false;
	default:
		return true;
	}
}

enum { METHOD_INSTANTIATION = 0x04, SLOT = 0x08, MEMBER_REF = 0x10, CONSTRAINED = 0x20, OWNER_TYPE = 0x40, OTHER_CONTEXT = 0x80 };
static void read_instance(struct Image *m, struct Reader r)
{
	u32 flags = packed(&r), method, n;
	if (flags & OTHER_CONTEXT) // the method is of a module that only the program knows
		return;
	bool own = !(flags & (SLOT | MEMBER_REF));
	if (flags & OWNER_TYPE) {
		struct Reader outer = r;
		u8 what = next_byte(&outer);
		own &= what != MODULE_ZAPSIG && !(what == GENERICINST && next_byte(&outer) == MODULE_ZAPSIG);
		if (!skip_type(&r, 0))
			return;
	}
	method = packed(&r);
	if (flags & METHOD_INSTANTIATION)
		for (n = packed(&r); n; n--)
			if (!skip_type(&r, 0))
				return;
	if (flags & CONSTRAINED && !skip_type(&r, 0))
		return;
	if (own && !r.bad)
		read_entry(m, r, method);
}

// A hash table: of each bucket where its entries begin; an entry is a byte of the hash and how far from there what is listed lies.
static void read_instances(struct Image *m)
{
	struct Reader r = {.p = m->bytes[2], .size = m->instances.size};
	u32 head = next_byte(&r), width = head & 3 ? (head & 3) * 2 : 1;
	u64 base = r.at, buckets = 1ull << (head >> 2);
	if (r.bad || (head & 3) == 3 || buckets > r.size)
		return;
	for (u64 b = 0; b < buckets; b++) {
		struct Reader ends = r;
		ends.at = base + b * width;
		u64 at = base + bytes_at(&ends, width), end = base + bytes_at(&ends, width);
		for (struct Reader e = {r.p, r.size, at, ends.bad}; !e.bad && e.at < end;) {
			next_byte(&e);
			u64 from = e.at;
			struct Reader listed = {r.p, r.size, from + (u64)(s64)signed_number(&e), false};
			if (!e.bad && listed.at < r.size)
				read_instance(m, listed);
		}
	}
}

// ---- the file
static bool read_header(struct Image *m)
{
	struct ClrHeader clr;
	struct {
		char signature[4];
		u16 major, minor;
		u32 flags, n;
	} head;
	struct {
		u32 type;
		struct PeTable at;
	} section;
	if (m->f->pe_clr.size < sizeof(clr) || !elffile_read_at(m->f, m->f->pe_clr.addr, &clr, sizeof(clr)) || !clr.native.size ||
	    !elffile_read_at(m->f, clr.native.addr, &head, sizeof(head)) || memcmp(head.signature, "RTR", 4))
		return false;
	for (u32 i = 0; i < MIN(head.n, 64u); i++) {
		if (!elffile_read_at(m->f, clr.native.addr + sizeof(head) + i * sizeof(section), &section, sizeof(section)))
			return false;
		if (section.type == RUNTIME_FUNCTIONS)
			m->functions = section.at;
		if (section.type == METHOD_ENTRIES)
			m->methods = section.at;
		if (section.type == INSTANCE_ENTRIES)
			m->instances = section.at;
	}
	u8 *metadata = load_table(m->f, clr.metadata, MAX_METADATA);
	if (metadata && clrmeta_open(&m->meta, metadata, clr.metadata.size))
		return true;
	free(metadata);
	m->meta.p = NULL;
	return false;
}

static u32 function_word(const struct Image *m, u32 i, u32 word)
{
	u32 v;
	memcpy(&v, m->bytes[0] + (u64)i * m->function_size + word * 4, sizeof(v));
	return v;
}

// A method is its function and those behind it that belong to none: its handlers of exceptions.
static void give(const struct Image *m, PeFunctions *out)
{
	for (u32 i = 0, next; i < m->nfunctions; i = next) {
		struct Str name = {0};
		for (next = i + 1; next < m->nfunctions && !m->method_of[next];)
			next++;
		u32 from = function_word(m, i, 0), to = m->function_size == 12 ? function_word(m, next - 1, 1) : next < m->nfunctions ? function_word(m, next, 0) : from + 4;
		if (m->method_of[i] && to > from && clrmeta_method(&m->meta, m->method_of[i], &name))
			vec_push(out, ((struct PeFunction){from, to - from, xstrdup(str_text(&name))}));
		str_deinit(&name);
	}
}

void r2r_functions(const struct ElfFile *f, PeFunctions *out)
{
	struct Image m = {.f = f, .function_size = f->machine == EM_X86_64 ? 12 : 8};
	if (read_header(&m)) {
		m.bytes[0] = load_table(f, m.functions, MAX_IMAGE);
		m.bytes[1] = load_table(f, m.methods, MAX_IMAGE);
		m.bytes[2] = load_table(f, m.instances, MAX_IMAGE);
		m.nfunctions = m.bytes[0] ? m.functions.size / m.function_size : 0;
		m.method_of = xcalloc(m.nfunctions + 1u, sizeof(*m.method_of));
		if (m.bytes[1])
			read_methods(&m);
		if (m.bytes[2])
			read_instances(&m);
		give(&m, out);
	}
	free(m.method_of);
	for (u32 i = 0; i < ARRAY_LEN(m.bytes); i++)
		free(m.bytes[i]);
	free((void *)m.meta.p);
}
