// Names in .NET's metadata. Input: the bytes of a module's metadata, from a file or from a process's memory, which nobody vouches for. Output: names of methods.
// Invariant: every offset and row is checked against the bytes. (ECMA-335, 6th edition, partition II: 24.2 the streams, 22 the tables.)
#include "elf/internal.h"

enum { TYPE_DEF = 0x02, METHOD_DEF = 0x06, NESTED_CLASS = 0x29, NTABLES = 0x2d };
#define MAX_NESTED 16

// Columns of a table's rows: bytes, a heap, one table, or one of several tables (a coded index).
enum { U2 = 1, U4, STR, GUID, BLOB, ONE = 0x40, ANY = 0x80 };
#define T(table) (ONE | (table))
enum { TypeDefOrRef, HasConstant, HasCustomAttribute, HasFieldMarshal, HasDeclSecurity, MemberRefParent, HasSemantics, MethodDefOrRef, MemberForwarded, Implementation,
       CustomAttributeType, ResolutionScope };
#define C(which) (ANY | (which))
static const struct {
	u8 bits, tables[22]; // 0 behind the first ends them
} coded[] = {
	[TypeDefOrRef] = {2, {0x02, 0x01, 0x1b}},
	[HasConstant] = {2, {0x04, 0x08, 0x17}},
	[HasCustomAttribute] = {5, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b}},
	[HasFieldMarshal] = {1, {0x04, 0x08}},
	[HasDeclSecurity] = {2, {0x02, 0x06, 0x20}},
	[MemberRefParent] = {3, {0x02, 0x01, 0x1a, 0x06, 0x1b}},
	[HasSemantics] = {1, {0x14, 0x17}},
	[MethodDefOrRef] = {1, {0x06, 0x0a}},
	[MemberForwarded] = {1, {0x04, 0x06}},
	[Implementation] = {2, {0x26, 0x23, 0x27}},
	[CustomAttributeType] = {3, {0x06, 0x0a}},
	[ResolutionScope] = {2, {0x1a, 0x23, 0x01}},
};
// Up to the last one that is wanted: where a table begins follows from the sizes of those before it.
static const u8 columns[NESTED_CLASS + 1][10] = {
	[0x00] = {U2, STR, GUID, GUID, GUID},
	[0x01] = {C(ResolutionScope), STR, STR},
	[TYPE_DEF] = {U4, STR, STR, C(TypeDefOrRef), T(0x04), T(METHOD_DEF)},
	[0x03] = {T(0x04)},
	[0x04] = {U2, STR, BLOB},
	[0x05] = {T(METHOD_DEF)},
	[METHOD_DEF] = {U4, U2, U2, STR, BLOB, T(0x08)},
	[0x07] = {T(0x08)},
	[0x08] = {U2, U2, STR},
	[0x09] = {T(TYPE_DEF), C(TypeDefOrRef)},
	[0x0a] = {C(MemberRefParent), STR, BLOB},
	[0x0b] = {U2, C(HasConstant), BLOB},
	[0x0c] = {C(HasCustomAttribute), C(CustomAttributeType), BLOB},
	[0x0d] = {C(HasFieldMarshal), BLOB},
	[0x0e] = {U2, C(HasDeclSecurity), BLOB},
	[0x0f] = {U2, U4, T(TYPE_DEF)},
	[0x10] = {U4, T(0x04)},
	[0x11] = {BLOB},
	[0x12] = {T(TYPE_DEF), T(0x14)},
	[0x13] = {T(0x14)},
	[0x14] = {U2, STR, C(TypeDefOrRef)},
	[0x15] = {T(TYPE_DEF), T(0x17)},
	[0x16] = {T(0x17)},
	[0x17] = {U2, STR, BLOB},
	[0x18] = {U2, T(METHOD_DEF), C(HasSemantics)},
	[0x19] = {T(TYPE_DEF), C(MethodDefOrRef), C(MethodDefOrRef)},
	[0x1a] = {STR},
	[0x1b] = {BLOB},
	[0x1c] = {U2, C(MemberForwarded), STR, T(0x1a)},
	[0x1d] = {U4, T(0x04)},
	[0x1e] = {U4, U4},
	[0x1f] = {U4},
	[0x20] = {U4, U2, U2, U2, U2, U4, BLOB, STR, STR},
	[0x21] = {U4},
	[0x22] = {U4, U4, U4},
	[0x23] = {U2, U2, U2, U2, U4, BLOB, STR, STR, BLOB},
	[0x24] = {U4, T(0x23)},
	[0x25] = {U4, U4, U4, T(0x23)},
	[0x26] = {U4, STR, BLOB},
	[0x27] = {U4, U4, STR, STR, C(Implementation)},
	[0x28] = {U4, U4, STR, C(Implementation)},
	[NESTED_CLASS] = {T(TYPE_DEF), T(TYPE_DEF)},
};

static u32 column_bytes(const struct ClrMeta *m, u8 heaps, u8 column)
{
	u32 most = 0, bits = 0;
	if (column == U2 || column == U4)
		return column == U2 ? 2 : 4;
	if (column == STR || column == GUID || column == BLOB)
		return heaps & 1u << (column - STR) ? 4 : 2;
	if (column & ANY) {
		const u8 *tables = coded[column & ~ANY].tables;
		bits = coded[column & ~ANY].bits;
		for (u32 i = 0; i < sizeof(coded[0].tables) && (!i || tables[i]); i++)
			most = MAX(most, m->rows[tables[i]]);
	} else {
		most = m->rows[column & ~ONE];
	}
	return most < 1u << (16 - bits) ? 2 : 4;
}

// How far from a row's begin its column number n is.
static u32 column_at(const struct ClrMeta *m, u8 heaps, u32 table, u32 n)
{
	u32 at = 0;
	for (u32 i = 0; i < n; i++)
		at += column_bytes(m, heaps, columns[table][i]);
	return at;
}

static u64 word(const struct ClrMeta *m, u64 at, u32 bytes) // 0 beyond the end
{
	u64 v = 0;
	if (at <= m->size && bytes <= m->size - at)
		memcpy(&v, m->p + at, bytes);
	return v;
}

static bool open_tables(struct ClrMeta *m, u64 at, u64 size)
{
	u8 heaps = (u8)word(m, at + 6, 1);
	u64 valid = word(m, at + 8, 8), rows = at + 24, end = at + size;
	for (u32 i = 0; i < 64; i++)
		if (valid >> i & 1) {
			m->rows[i] = (u32)word(m, rows, 4);
			rows += 4;
		}
	for (u32 i = 0; i <= NESTED_CLASS; i++) {
		u32 n = 0;
		while (n < sizeof(columns[i]) && columns[i][n])
			n++;
		m->row_size[i] = column_at(m, heaps, i, n);
		m->table[i] = rows;
		rows += (u64)m->rows[i] * m->row_size[i];
		if (rows > end)
			return false;
	}
	m->string_bytes = heaps & 1 ? 4 : 2;
	m->type_bytes = (u8)column_bytes(m, heaps, T(TYPE_DEF));
	m->method_bytes = (u8)column_bytes(m, heaps, T(METHOD_DEF));
	m->t_name = column_at(m, heaps, TYPE_DEF, 1);
	m->t_namespace = column_at(m, heaps, TYPE_DEF, 2);
	m->t_methods = column_at(m, heaps, TYPE_DEF, 5);
	m->m_name = column_at(m, heaps, METHOD_DEF, 3);
	return true;
}

bool clrmeta_open(struct ClrMeta *m, const u8 *p, u64 size)
{
	*m = (struct ClrMeta){.p = p, .size = size};
	u64 version = word(m, 12, 4), at = 16 + version, tables = 0, tables_size = 0;
	if (word(m, 0, 4) != 0x424a5342 || version > 255) // "BSJB"
		return false;
	u32 n = (u32)word(m, at + 2, 2);
	at += 4;
	for (u32 i = 0; i < MIN(n, 16u); i++) {
		u64 off = word(m, at, 4), bytes = word(m, at + 4, 4);
		const char *name = at + 8 < size ? (const char *)p + at + 8 : "";
		size_t len = strnlen(name, at + 8 < size ? MIN(size - at - 8, 32u) : 0);
		if (off > size || bytes > size - off)
			return false;
		if (len == 2 && !memcmp(name, "#~", 2))
			tables = off, tables_size = bytes;
		if (len == 8 && !memcmp(name, "#Strings", 8))
			m->strings = off, m->strings_size = bytes;
		at += 8 + ALIGN_UP(len + 1, 4);
	}
	return tables && m->strings && open_tables(m, tables, tables_size);
}

static u64 cell(const struct ClrMeta *m, u32 table, u32 row, u32 column, u32 bytes) // rows count from 1 on
{
	return row - 1 < m->rows[table] ? word(m, m->table[table] + (u64)(row - 1) * m->row_size[table] + column, bytes) : 0;
}

static u32 add_string(const struct ClrMeta *m, u64 at, struct Str *out)
{
	size_t n = at < m->strings_size ? strnlen((const char *)m->p + m->strings + at, MIN(m->strings_size - at, 1024u)) : 0;
	if (n)
		str_addn(out, (const char *)m->p + m->strings + at, n);
	return (u32)n;
}

// The last type whose methods begin at or before it.
static u32 type_of(const struct ClrMeta *m, u32 method)
{
	u32 lo = 0, hi = m->rows[TYPE_DEF];
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (cell(m, TYPE_DEF, mid + 1, m->t_methods, m->method_bytes) <= method)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

// The type that it stands in; 0: none.
static u32 outer_of(const struct ClrMeta *m, u32 type)
{
	u32 lo = 0, hi = m->rows[NESTED_CLASS];
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (cell(m, NESTED_CLASS, mid + 1, 0, m->type_bytes) < type)
			lo = mid + 1;
		else
			hi = mid;
	}
	return cell(m, NESTED_CLASS, lo + 1, 0, m->type_bytes) == type ? (u32)cell(m, NESTED_CLASS, lo + 1, m->type_bytes, m->type_bytes) : 0;
}

bool clrmeta_method(const struct ClrMeta *m, u32 method, struct Str *out)
{
	u32 types[MAX_NESTED], n = 0;
	if (method - 1 >= m->rows[METHOD_DEF])
		return false;
	for (u32 t = type_of(m, method); t && n < MAX_NESTED; t = outer_of(m, t))
		types[n++] = t;
	if (n && add_string(m, cell(m, TYPE_DEF, types[n - 1], m->t_namespace, m->string_bytes), out))
		str_addc(out, '.');
	while (n--) {
		add_string(m, cell(m, TYPE_DEF, types[n], m->t_name, m->string_bytes), out);
		str_addc(out, '.');
	}
	return add_string(m, cell(m, METHOD_DEF, method, m->m_name, m->string_bytes), out);
}
