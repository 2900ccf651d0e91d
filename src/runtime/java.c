// HotSpot. Input: the memory of a process that runs it; methods as the kernel side copied them. Output: where its structures keep what the kernel side
// (bpfrt/java.bpf.c) follows, where its heaps of code lie; names, files and lines of methods.
// HotSpot describes itself: gHotSpotVMStructs is an array of (type, field, its type, static or not, offset, address), gHotSpotVMTypes one of types and their sizes.
// The offsets are put in when the library is loaded, so they are read from a process. Invariant: counts and texts are bounded, an offset that makes no sense is refused.
#include <elf.h>
#include "runtime/runtime.h"

static const char *const symbols[RUNTIME_SYMBOLS] = {"gHotSpotVMStructs", "gHotSpotVMTypes"};

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	out->root = syms[0].addr;
	out->code_type = syms[1].addr;
	return syms[1].name;
}

// ---- what it says of itself
struct Entry { // VMStructEntry
	u64 type, field, text;
	u32 is_static, pad;
	u64 offset, address;
};
struct Type { // VMTypeEntry
	u64 name, super;
	u32 flags[4];
	u64 size;
};
#define ENTRIES_MAX 8192
#define TEXT_MAX 64

// Fields that are asked for; of two of one number the one that there is.
enum {
	HEAPS, MAJOR, RELEASE, LIST_DATA, LIST_LEN, HEAP_MEMORY, HEAP_SEGMAP, HEAP_LOG2, SPACE_LOW, SPACE_HIGH,
	B_NAME, B_SIZE, B_FRAME, B_COMPLETE, B_CODE, B_CODE_OFF, B_MOVING, B_RELOC, N_METHOD, N_ORIG_PC, N_DEOPT, N_DEOPT_OFF, N_DEOPT_MH, N_DEOPT_MH_OFF, N_PCS, N_PCS_END, N_SCOPES, N_SCOPES_OFF,
	N_META, N_FIXED, N_ID, M_CONST, C_POOL, C_WORDS, C_CODE, C_NAME, C_ID, C_FLAGS, P_HOLDER, P_FILE, K_NAME, K_FILE, S_LEN, S_BODY,
	T_BLOCK, T_CONST, T_POOL, FIELDS
};
static const struct Field {
	u32 nr;
	const char *type, *field; // field NULL: the type's size
} fields[] = {
	{HEAPS, "CodeCache", "_heaps"}, {MAJOR, "Abstract_VM_Version", "_vm_major_version"}, {RELEASE, "Abstract_VM_Version", "_s_vm_release"},
	{LIST_DATA, "GrowableArray<int>", "_data"}, {LIST_LEN, "GrowableArrayBase", "_len"}, {LIST_LEN, "GenericGrowableArray", "_len"},
	{HEAP_MEMORY, "CodeHeap", "_memory"}, {HEAP_SEGMAP, "CodeHeap", "_segmap"}, {HEAP_LOG2, "CodeHeap", "_log2_segment_size"},
	{SPACE_LOW, "VirtualSpace", "_low_boundary"}, {SPACE_HIGH, "VirtualSpace", "_high_boundary"},
	{B_NAME, "CodeBlob", "_name"}, {B_SIZE, "CodeBlob", "_size"}, {B_FRAME, "CodeBlob", "_frame_size"}, {B_COMPLETE, "CodeBlob", "_frame_complete_offset"},
	{B_CODE, "CodeBlob", "_code_begin"}, {B_CODE_OFF, "CodeBlob", "_code_offset"}, {B_MOVING, "CodeBlob", "_mutable_data"}, {B_RELOC, "CodeBlob", "_relocation_size"},
	{N_METHOD, "CompiledMethod", "_method"}, {N_METHOD, "nmethod", "_method"}, {N_ORIG_PC, "nmethod", "_orig_pc_offset"},
	{N_DEOPT, "CompiledMethod", "_deopt_handler_begin"}, {N_DEOPT_OFF, "nmethod", "_deopt_handler_offset"},
	{N_DEOPT_OFF, "nmethod", "_deopt_handler_entry_offset"}, {N_DEOPT_MH, "CompiledMethod", "_deopt_mh_handler_begin"},
	{N_DEOPT_MH_OFF, "nmethod", "_deopt_mh_handler_offset"},
	{N_PCS, "nmethod", "_scopes_pcs_offset"}, {N_PCS_END, "nmethod", "_dependencies_offset"},
	{N_SCOPES, "CompiledMethod", "_scopes_data_begin"}, {N_SCOPES_OFF, "nmethod", "_scopes_data_offset"},
	{N_META, "nmethod", "_metadata_offset"}, {N_FIXED, "nmethod", "_immutable_data"}, {N_ID, "nmethod", "_compile_id"},
	{M_CONST, "Method", "_constMethod"}, {C_POOL, "ConstMethod", "_constants"}, {C_WORDS, "ConstMethod", "_constMethod_size"},
	{C_CODE, "ConstMethod", "_code_size"}, {C_NAME, "ConstMethod", "_name_index"}, {C_ID, "ConstMethod", "_method_idnum"}, {C_FLAGS, "ConstMethod", "_flags"},
	{C_FLAGS, "ConstMethod", "_flags._flags"}, {P_HOLDER, "ConstantPool", "_pool_holder"}, {P_FILE, "ConstantPool", "_source_file_name_index"},
	{K_NAME, "Klass", "_name"}, {K_FILE, "InstanceKlass", "_source_file_name_index"}, {S_LEN, "Symbol", "_length"}, {S_BODY, "Symbol", "_body"},
	{T_BLOCK, "HeapBlock", NULL}, {T_CONST, "ConstMethod", NULL}, {T_POOL, "ConstantPool", NULL},
};
struct Found {
	u64 value[FIELDS]; // offset, size, or address of what is static
	bool have[FIELDS];
};

static bool get(const struct JavaMemory *m, u64 addr, void *buf, size_t n)
{
	return m->read(m->arg, addr, buf, n);
}

static bool get_word(const struct JavaMemory *m, u64 addr, u64 *out)
{
	return get(m, addr, out, 8);
}

static bool get_text(const struct JavaMemory *m, u64 addr, char *buf)
{
	memset(buf, 0, TEXT_MAX);
	// a text may end with its page
	size_t n = MIN((size_t)TEXT_MAX - 1, 4096 - (addr & 4095));
	if (!get(m, addr, buf, n))
		return false;
	return strlen(buf) == n && n < TEXT_MAX - 1 ? get(m, addr + n, buf + n, TEXT_MAX - 1 - n) : true;
}

static bool wanted_type(const char *type)
{
	for (u32 i = 0; i < ARRAY_LEN(fields); i++)
		if (!strcmp(fields[i].type, type))
			return true;
	return false;
}

static void found(struct Found *f, const char *type, const char *field, u64 value)
{
	for (u32 i = 0; i < ARRAY_LEN(fields); i++) {
		const struct Field *w = &fields[i];
		if (strcmp(w->type, type) || !w->field != !field || (field && strcmp(w->field, field)))
			continue;
		f->value[w->nr] = value;
		f->have[w->nr] = true;
	}
}

static bool read_fields(const struct JavaMemory *m, u64 var, struct Found *f)
{
	char type[TEXT_MAX] = "", field[TEXT_MAX];
	struct Entry e;
	u64 at, last = 0;
	bool wanted = false;

	if (!get_word(m, var, &at))
		return false;
	for (u32 i = 0; i < ENTRIES_MAX; i++, at += sizeof(e)) {
		if (!get(m, at, &e, sizeof(e)))
			return false;
		if (!e.type)
			return true;
		if (e.type != last && !get_text(m, e.type, type))
			return false;
		wanted = e.type != last ? wanted_type(type) : wanted;
		last = e.type;
		if (wanted && get_text(m, e.field, field))
			found(f, type, field, e.is_static ? e.address : e.offset);
	}
	return false;
}

static bool read_types(const struct JavaMemory *m, u64 var, struct Found *f)
{
	char name[TEXT_MAX];
	struct Type t;
	u64 at;

	if (!get_word(m, var, &at))
		return false;
	for (u32 i = 0; i < ENTRIES_MAX; i++, at += sizeof(t)) {
		if (!get(m, at, &t, sizeof(t)))
			return false;
		if (!t.name)
			return true;
		if (!get_text(m, t.name, name))
			return false;
		found(f, name, NULL, t.size);
	}
	return false;
}

// ---- into a row
#define OFFSET_MAX (RT_LANG_OBJ - 32) // of a field in what the kernel side reads

static bool fits(const struct Found *f, const u8 *need, u32 n, u64 max)
{
	for (u32 i = 0; i < n; i++)
		if (!f->have[need[i]] || f->value[need[i]] > max)
			return false;
	return true;
}

static bool row(const struct Found *f, u32 major, struct RtJava *j)
{
	static const u8 blob[] = {B_NAME, B_SIZE, B_FRAME, B_COMPLETE}, all[] = {N_METHOD, N_ORIG_PC, N_PCS, M_CONST, C_POOL, C_WORDS, C_CODE, C_NAME, C_ID, C_FLAGS,
		P_HOLDER, K_NAME, S_LEN, S_BODY, T_BLOCK, T_CONST, T_POOL}, old[] = {B_CODE, N_DEOPT, N_PCS_END, N_SCOPES, N_META},
		new[] = {B_CODE_OFF, N_DEOPT_OFF, N_SCOPES_OFF, N_FIXED, B_MOVING, B_RELOC};
	const u64 *v = f->value;
	bool later = f->have[N_FIXED];
	u64 pcs_end = v[later ? N_SCOPES_OFF : N_PCS_END];

	if (!fits(f, blob, ARRAY_LEN(blob), 120) || !fits(f, all, ARRAY_LEN(all), OFFSET_MAX) || v[S_LEN] > 12 || v[T_CONST] < 32 || v[T_CONST] > 128)
		return false;
	if (!(later ? fits(f, new, ARRAY_LEN(new), OFFSET_MAX) : fits(f, old, ARRAY_LEN(old), OFFSET_MAX)) || (!f->have[P_FILE] && !f->have[K_FILE]))
		return false;
	u16 b = (u16)v[T_BLOCK];
	if (b < 8 || b > 16)
		return false;
	*j = (struct RtJava){.block = b, .b_name = (u16)(b + v[B_NAME]), .b_size = (u16)(b + v[B_SIZE]), .b_frame = (u16)(b + v[B_FRAME]),
		.b_complete = (u16)(b + v[B_COMPLETE]), .b_code = (u16)(b + v[later ? B_CODE_OFF : B_CODE]), .b_short = later, .n_method = (u16)(b + v[N_METHOD]),
		.n_orig_pc = (u16)(b + v[N_ORIG_PC]), .n_deopt = (u16)(b + v[later ? N_DEOPT_OFF : N_DEOPT]), .n_pcs = (u16)(b + v[N_PCS]), .n_pcs_end = (u16)(b + pcs_end),
		.n_scopes = (u16)(b + v[later ? N_SCOPES_OFF : N_SCOPES]), .n_meta = (u16)(b + v[later ? B_RELOC : N_META]), .n_fixed = later ? (u16)(b + v[N_FIXED]) : 0,
		.n_moving = later ? (u16)(b + v[B_MOVING]) : 0, .n_id = f->have[N_ID] && v[N_ID] <= OFFSET_MAX ? (u16)(b + v[N_ID]) : 0,
		.m_const = (u16)v[M_CONST], .c_pool = (u16)v[C_POOL], .c_words = (u16)v[C_WORDS], .c_code = (u16)v[C_CODE], .c_name = (u16)v[C_NAME],
		.c_id = (u16)v[C_ID], .c_flags = (u16)v[C_FLAGS], .c_size = (u16)v[T_CONST], .p_holder = (u16)v[P_HOLDER], .p_file = (u16)v[P_FILE], .p_size = (u16)v[T_POOL],
		.k_name = (u16)v[K_NAME], .k_file = (u16)v[K_FILE], .s_len = (u16)v[S_LEN], .s_body = (u16)v[S_BODY], .digit = major >= 20};
	u32 mh = later ? N_DEOPT_MH_OFF : N_DEOPT_MH; // up to JDK 25
	if (f->have[mh] && v[mh] <= OFFSET_MAX)
		j->n_deopt_mh = (u16)(b + v[mh]);
	const u16 last[] = {j->n_method, j->n_orig_pc, j->n_deopt, j->n_pcs, j->n_pcs_end, j->n_scopes, j->n_meta, j->n_fixed, j->n_moving, j->n_id, j->n_deopt_mh};
	for (u32 i = 0; i < ARRAY_LEN(last); i++)
		j->n_size = MAX(j->n_size, (u16)(last[i] + 8));
	return true;
}

// ---- its heaps of code
static bool heap(const struct JavaMemory *m, const struct Found *f, u64 at, struct RtJvm *out, u32 i)
{
	const u64 *v = f->value;
	u64 high;
	u32 shift;

	if (!get_word(m, at + v[HEAP_MEMORY] + v[SPACE_LOW], &out->heap[i].low) || !get_word(m, at + v[HEAP_MEMORY] + v[SPACE_HIGH], &high) ||
	    !get_word(m, at + v[HEAP_SEGMAP] + v[SPACE_LOW], &out->heap[i].segmap) || !get(m, at + v[HEAP_LOG2], &shift, 4))
		return false;
	out->heap[i].shift = shift;
	out->heap[i].size = high - out->heap[i].low;
	return out->heap[i].low && out->heap[i].segmap && high > out->heap[i].low && out->heap[i].size >> 40 == 0 && shift >= 4 && shift <= 16;
}

static enum JavaFound heaps(const struct JavaMemory *m, const struct Found *f, struct RtJvm *out)
{
	static const u8 need[] = {LIST_DATA, HEAP_MEMORY, HEAP_SEGMAP, HEAP_LOG2, SPACE_LOW, SPACE_HIGH};
	u64 list, data, at;
	u32 n;

	if (!f->have[HEAPS] || !fits(f, need, ARRAY_LEN(need), 4096))
		return JAVA_UNKNOWN;
	if (!get_word(m, f->value[HEAPS], &list) || !list || !get(m, list + f->value[LIST_LEN], &n, 4) || !get_word(m, list + f->value[LIST_DATA], &data) || !n || !data)
		return JAVA_NOT_YET;
	for (u32 i = 0; i < MIN(n, (u32)RT_JAVA_HEAPS); i++)
		if (!get_word(m, data + i * 8, &at) || !at || !heap(m, f, at, out, i))
			return JAVA_NOT_YET;
	return JAVA_READY;
}

enum JavaFound java_look(const struct JavaMemory *m, struct RtLang *lang, struct RtJvm *jvm, struct Str *version)
{
	struct Found f = {0};
	char text[TEXT_MAX];
	u64 release;
	u32 major = 0;

	if (!read_fields(m, lang->root + m->bias, &f) || !read_types(m, lang->code_type + m->bias, &f) || !f.have[B_SIZE] || !f.value[B_SIZE])
		return JAVA_NOT_YET; // relocated, and its constructors run
	if (f.have[RELEASE] && get_word(m, f.value[RELEASE], &release) && release && get_text(m, release, text))
		str_addf(version, "%.40s", text);
	if (!f.have[MAJOR] || !get(m, f.value[MAJOR], &major, 4))
		return JAVA_UNKNOWN;
	enum JavaFound is = heaps(m, &f, jvm);
	if (is != JAVA_READY)
		return is;
	return row(&f, major, &lang->java) ? JAVA_READY : JAVA_UNKNOWN;
}

// ---- methods
// Bytes of the character at p, of n; 0: it is none (surrogates are none; Java codes what is beyond 16 bits as two of them).
static u32 utf8_bytes(const u8 *p, u32 n)
{
	u32 len = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : 0;
	if (!len || len > n || p[0] < 0x20 || (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0))
		return 0;
	for (u32 i = 1; i < len; i++)
		if (p[i] >> 6 != 2)
			return 0;
	return len;
}

static void add_utf8(const u8 *p, u32 n, bool dots, struct Str *out)
{
	for (u32 i = 0; i < n;) {
		u32 len = utf8_bytes(p + i, n - i);
		if (!len) {
			str_add(out, "\xef\xbf\xbd");
			i++;
			continue;
		}
		if (dots && p[i] == '/')
			str_addc(out, '.');
		else if (dots && p[i] == '+' && n - i > 2 && p[i + 1] == '0' && p[i + 2] == 'x') // of a hidden class
			str_addc(out, '/');
		else
			str_addn(out, (const char *)p + i, len);
		i += len;
	}
}

static void code_name(const struct RtCode *c, struct Str *out)
{
	u32 len = (u32)strnlen((const char *)c->name, MIN(c->name_len, RT_CODE_NAME));
	add_utf8(c->file, MIN(c->lines_kind, (u16)RT_CODE_CLASS), true, out);
	if (c->lines_kind >= RT_CODE_CLASS)
		str_add(out, "...");
	if (c->lines_kind)
		str_addc(out, '.');
	add_utf8(c->name, len, false, out);
}

static void code_file(const struct RtCode *c, struct Str *out)
{
	add_utf8(c->file + RT_CODE_CLASS, MIN(c->file_len, RT_CODE_FILE - RT_CODE_CLASS), false, out);
}

// The table is of bytes of five bits by how many bytecodes, three by how many lines it goes on; 0 ends it, 255: two signed numbers follow. A number is coded to the
// base 64, the lowest digit first, bytes from 192 on: more follow. From JDK 20 on (file_width 2) each byte is one more.
struct Bytes {
	const u8 *p, *end;
	u32 lowest;
};

static s32 number(struct Bytes *b)
{
	u32 sum = 0, shift = 0;
	for (u32 i = 0; i < 5 && b->p < b->end; i++, shift += 6) {
		u32 c = *b->p++;
		sum += (c - b->lowest) << shift;
		if (c < 192)
			break;
	}
	return (s32)(sum >> 1) ^ -(s32)(sum & 1);
}

// 0: not known. The table ends with a 0; of one that was too long to be copied whole lines are known up to the last place in it.
static u32 line(const struct RtCode *c, u32 pos)
{
	struct Bytes b = {c->lines, c->lines + MIN(c->nlines, RT_CODE_LINES), c->file_width == 2};
	s64 at = 0, n = 0, best_at = -1, best = 0;
	bool beyond = false;

	while (b.p < b.end && *b.p) {
		u32 v = *b.p++;
		at += v == 0xff ? number(&b) : (s32)(v >> 3);
		n += v == 0xff ? number(&b) : (s32)(v & 7);
		if (at <= pos && at >= best_at) {
			best_at = at;
			best = n;
		}
		beyond |= at > pos;
	}
	return best > 0 && best < 1 << 24 && (beyond || b.p < b.end) ? (u32)best : 0;
}

const struct Runtime java_runtime = {RT_LANG_JAVA, "java", "[java]", symbols, find, line, "its own description (gHotSpotVMStructs)", code_name, code_file};
