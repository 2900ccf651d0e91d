// V8. Input: the symbols by which its object tells debuggers of its structures (v8dbg_*), its version; functions as the kernel side copied them; scripts in the memory
// of processes. Output: where the kernel side (bpfrt/v8*.bpf.c) finds things; names, scripts and lines of functions.
// What v8dbg_* does not tell is in a table of versions: fields that lie beside those that it does tell of.
// Invariant: a value that makes no sense is refused; a script counts only if it is the same before and after it was read.
#include <elf.h>
#include "runtime/internal.h"

enum { SYM_MAJOR, SYM_MINOR, SYM_CODE, SYM_SIZE };
static const char *const symbols[RUNTIME_SYMBOLS] = {"_ZN2v88internal7Version6major_E", "_ZN2v88internal7Version6minor_E", "_ZN2v88internal23DefaultEmbeddedBlobCodeEv",
	"_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv"};

// How compiled code says which functions are in it (bpfrt/v8jit.bpf.c). 0: v8dbg_* tells.
static const struct Jit {
	u16 code; // JSFunction: Code, from its SharedFunctionInfo on
	u16 deopt; // Code: data for leaving it
	u16 start, flags, size; // Code, from there on
	u16 maglev, turbofan; // kinds of code, from baseline on
	u16 first, entry; // list of places in the data for leaving
	u16 config, head, head_maglev; // table behind the instructions: where it says how wide it is, behind its length; bytes before its places
	const char *ops; // kinds of instructions there, by number: a digit: operands; before it f: a function's frame, b: a builtin's, B: begins, M: as in the other place
} jit_11_3 = {24, 0, 24, 32, 40, 1, 2, 11, 3, 4, 8, 16, "1 0 B3 B3 1 1 3 1 3 1 1 1 1 1 2 1 1 1 1 1 1 1 1 f5 f3 b3 b3 4 0 1 1 1 1 1 2 M1"},
  jit_12_4 = {0, 8, 0, 0, 0, 1, 2, 11, 3, 4, 8, 16, "f5 f3 b3 b3 2 1 3 4 3 2 1 0 B3 B3 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 1 1 1 1 2 M1"},
  jit_13_6 = {0, 8, 0, 0, 0, 1, 2, 12, 3, 8, 12, 16, "f6 f4 b3 b3 2 1 3 4 3 3 3 1 0 0 B3 B3 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 1 1 1 1 2 M1"};

static const struct Row {
	u32 version; // major << 8 | minor
	u16 literal; // SharedFunctionInfo: from its flags on
	u16 functions; // types of functions, from JSFunction's on; 0: v8dbg_* tells
	u16 data; // SharedFunctionInfo: its code; 0: v8dbg_* tells
	u16 positions; // BytecodeArray's table
	bool flags; // which has flags in its differences of bytecode
	const struct Jit *jit; // compiled code; NULL: its outer function only
} rows[] = {
	{10 << 8 | 2, 4, 17, 0, 32, false, NULL},	   // Node 18
	{11 << 8 | 3, 4, 17, 0, 32, false, &jit_11_3}, // Node 20
	{12 << 8 | 4, 4, 0, 8, 24, false, &jit_12_4},  // Node 22
	{13 << 8 | 6, 4, 0, 8, 24, false, &jit_13_6},  // Node 24
	{14 << 8 | 6, 4, 0, 8, 24, true, &jit_13_6},   // Node 26
};

// ---- what its object tells debuggers
#define V(field) offsetof(struct RtV8, field)
static const struct Told {
	const char *name; // after v8dbg_
	u16 field;
	enum { NEEDED, COMPILED, PERHAPS } how; // compiled code is not followed without it; from a row of the table above if it is not told
} told[] = {
	{"class_Map__instance_type__uint16_t", V(map_type), NEEDED}, {"type_JSFunction__JS_FUNCTION_TYPE", V(t_function), NEEDED},
	{"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", V(t_shared), NEEDED}, {"type_Script__SCRIPT_TYPE", V(t_script), NEEDED},
	{"type_ScopeInfo__SCOPE_INFO_TYPE", V(t_scope), NEEDED}, {"type_BytecodeArray__BYTECODE_ARRAY_TYPE", V(t_bytecode), NEEDED},
	{"FirstNonstringType", V(t_no_string), NEEDED}, {"class_JSFunction__shared__SharedFunctionInfo", V(f_shared), NEEDED},
	{"class_SharedFunctionInfo__function_data__Object", V(s_data), NEEDED},
	{"class_SharedFunctionInfo__name_or_scope_info__Object", V(s_name), NEEDED},
	{"class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", V(s_name), NEEDED},
	{"class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", V(s_name), NEEDED},
	{"class_SharedFunctionInfo__script_or_debug_info__HeapObject", V(s_script), NEEDED},
	{"class_SharedFunctionInfo__raw_script__Tagged_Object_", V(s_script), NEEDED},
	{"class_SharedFunctionInfo__flags__int", V(s_literal), NEEDED}, {"class_Script__source__Object", V(p_source), NEEDED},
	{"class_Script__name__Object", V(p_name), NEEDED}, {"class_Script__line_ends__Object", V(p_ends), NEEDED},
	{"scopeinfo_idx_ncontextlocals", V(i_locals), NEEDED}, {"scopeinfo_idx_first_vars", V(i_first), NEEDED},
	{"class_BytecodeArray__data__uintptr_t", V(b_data), NEEDED}, {"class_String__length__int32_t", V(str_len), NEEDED},
	{"class_SeqOneByteString__chars__char", V(str_chars), NEEDED}, {"class_ConsString__first__String", V(cons_first), NEEDED},
	{"class_ConsString__second__String", V(cons_second), NEEDED}, {"class_ThinString__actual__String", V(thin_actual), NEEDED},
	{"class_SlicedString__parent__String", V(slice_parent), NEEDED}, {"class_SlicedString__offset__SMI", V(slice_offset), NEEDED},
	{"class_ExternalString__resource__Object", V(ext_data), NEEDED}, {"StringRepresentationMask", V(str_shape), NEEDED},
	{"SeqStringTag", V(str_flat), NEEDED}, {"ConsStringTag", V(str_cons), NEEDED}, {"ExternalStringTag", V(str_external), NEEDED},
	{"SlicedStringTag", V(str_sliced), NEEDED}, {"ThinStringTag", V(str_thin), NEEDED}, {"OneByteStringTag", V(str_latin), NEEDED},
	{"class_FixedArray__data__uintptr_t", V(a_data), NEEDED}, {"class_Code__deoptimization_data__FixedArray", V(c_deopt), COMPILED},
	{"CodeKindFieldShift", V(kind_shift), COMPILED}, {"CodeKindFieldMask", V(kind_mask), COMPILED},
	{"CodeKindBaseline", V(kind_baseline), COMPILED}, {"DeoptimizationDataLiteralArrayIndex", V(d_literals), COMPILED},
	{"DeoptimizationDataOptimizationIdIndex", V(d_id), COMPILED},
	{"class_InstructionStream__instruction_start__uintptr_t", V(c_stream), COMPILED},
	{"DeoptimizationDataSharedFunctionInfoIndex", V(d_shared), COMPILED},
	{"DeoptimizationDataWrappedSharedFunctionInfoIndex", V(d_shared), COMPILED},
	{"DeoptimizationDataInlinedFunctionCountIndex", V(d_inlined), COMPILED},
	{"DeoptimizationDataWrappedSharedFunctionInfoIndex", V(d_wrapped), PERHAPS}, {"LastJSFunctionType", V(t_function_end), NEEDED},
	{"class_JSFunction__code__Tagged_Code_", V(f_code), PERHAPS}, {"class_Code__instruction_start__Address", V(c_start), COMPILED},
	{"class_Code__flags__uint32_t", V(c_flags), COMPILED}, {"class_Code__instruction_size__int", V(c_size), COMPILED},
};
#define PREFIX "v8dbg_"

struct Scan {
	struct ElfFile *f;
	const struct RuntimeNames *n;
	struct RtV8 *out;
	bool known[sizeof(struct RtV8) / 2]; // by field
	u32 smi_shift;
};

static bool read_at(struct ElfFile *f, u64 vaddr, void *buf, size_t n)
{
	u64 off;
	return elffile_vaddr_to_off(f, vaddr, &off) && elffile_read(f, off, buf, n);
}

// Zeros may lie where the file has nothing (.bss).
static u32 value_at(struct ElfFile *f, u64 vaddr)
{
	u32 v = 0;
	return read_at(f, vaddr, &v, sizeof(v)) ? v : 0;
}

static void give(struct Scan *s, u16 field, u16 v)
{
	*(u16 *)((u8 *)s->out + field) = v;
	s->known[field / 2] = true;
}

static bool all_known(const struct Scan *s, int how)
{
	for (u32 i = 0; i < ARRAY_LEN(told); i++)
		if ((int)told[i].how == how && !s->known[told[i].field / 2])
			return false;
	return true;
}

static bool on_symbol(void *arg, const struct ElfSymbol *y)
{
	struct Scan *s = arg;
	const char *name = y->plain && y->name < s->n->size ? s->n->text + y->name : "";

	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return true;
	name += strlen(PREFIX);
	if (!strcmp(name, "SmiShiftSize"))
		s->smi_shift = value_at(s->f, y->addr);
	for (u32 i = 0; i < ARRAY_LEN(told); i++) {
		if (strcmp(name, told[i].name))
			continue;
		u32 v = value_at(s->f, y->addr);
		if (v > 0xffff)
			continue;
		give(s, told[i].field, (u16)v);
	}
	return true;
}

// What the object does not tell of its version
static void from_row(struct Scan *s, const struct Row *r)
{
	struct RtV8 *v = s->out;
	const struct Jit *j = r->jit;

	if (r->functions)
		give(s, V(t_function_end), (u16)(v->t_function + r->functions - 1));
	if (r->data)
		give(s, V(s_data), r->data);
	if (!j)
		return;
	if (j->code)
		give(s, V(f_code), (u16)(v->f_shared + j->code));
	if (j->deopt)
		give(s, V(c_deopt), j->deopt);
	if (j->start) {
		give(s, V(c_start), (u16)(v->c_deopt + j->start));
		give(s, V(c_flags), (u16)(v->c_deopt + j->flags));
		give(s, V(c_size), (u16)(v->c_deopt + j->size));
	}
}

// What of compiled code's is known: else nops stays 0.
static void compiled(const struct Jit *j, struct RtV8 *v)
{
	u32 n = 0;

	if (v->f_code >= 56 || v->c_size >= 60 || v->d_literals >= 14 || v->d_id >= 14 || v->d_shared >= 14 || v->d_inlined >= 14 || v->kind_shift >= 32)
		return;
	v->d_wrapped = v->d_wrapped ? 8 : 0;
	v->kind_maglev = (u16)(v->kind_baseline + j->maglev);
	v->kind_turbofan = (u16)(v->kind_baseline + j->turbofan);
	v->d_first = j->first;
	v->d_entry = j->entry;
	v->t_config = j->config;
	v->t_head = j->head;
	v->t_head_maglev = j->head_maglev;
	for (const char *p = j->ops; *p && n < RT_V8_OPS; p += strcspn(p, " "), p += strspn(p, " ")) {
		const char *kind = strchr("fbBM", *p);
		v->ops[n++] = (u8)((kind ? RT_V8_OP_FUNC << (kind - "fbBM") : 0) | (p[kind != NULL] - '0'));
	}
	v->nops = (u16)n;
}

void v8_compiled(u32 version, struct RtV8 *v)
{
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].version == version && rows[i].jit)
			compiled(rows[i].jit, v);
}

static bool structures(struct ElfFile *f, const struct Row *r, struct RtV8 *v)
{
	struct RuntimeNames n;
	struct Scan s = {.f = f, .n = &n, .out = v};

	if (!runtime_names(f, &n))
		return false;
	err_free(elffile_symbols(f, n.tab, on_symbol, &s));
	free(n.text);
	from_row(&s, r);
	if (!all_known(&s, NEEDED) || s.smi_shift != 31) // compressed pointers are not known here
		return false;
	v->s_literal = (u16)(v->s_literal + r->literal);
	v->p_id = (u16)(v->p_ends + 8);
	v->a_shift = 32;
	v->t_function_end++;
	v->b_positions = r->positions;
	v->b_flags = r->flags;
	v->i_locals = (u16)(8 + v->i_locals * 8);
	v->i_first = (u16)(8 + v->i_first * 8);
	v->ext_data = (u16)(v->ext_data + 8);
	if (r->jit && all_known(&s, COMPILED))
		compiled(r->jit, v);
	return v->s_literal < 90 && v->s_name < 90 && v->s_script < 90 && v->f_shared < 56 && v->i_first < 128 && v->p_id < 256 && v->map_type < 64 && !(v->map_type & 1);
}

// ---- its builtins: functions say where they are, or, from 13 on, nobody does: they have no unwind information, and nothing else that is as large is without
#define BUILTINS_MIN (1u << 20)
#define BUILTINS_MAX (64u << 20)
// The word that a RELATIVE relocation puts at an address.
static u64 relocated(struct ElfFile *f, u64 vaddr)
{
	const struct ElfSec *s = elffile_section(f, ".rela.dyn");
	Elf64_Rela *r = s ? elffile_load(f, s->off, s->size, 256u << 20) : NULL;
	u64 v = 0;

	read_at(f, vaddr, &v, 8);
	for (u64 i = 0; r && i < s->size / sizeof(*r); i++)
		if (r[i].r_offset == vaddr && ELF64_R_TYPE(r[i].r_info) == R_X86_64_RELATIVE)
			v = (u64)r[i].r_addend;
	free(r);
	return v;
}

// What the functions return that say where the builtins are: "lea x(%rip),%rax; mov (%rax),%rax", "mov $x,%eax", "mov x(%rip),%eax", each before ret.
static u64 returned(struct ElfFile *f, u64 vaddr, bool pointer)
{
	u8 c[16];
	s32 d;

	if (!read_at(f, vaddr, c, sizeof(c)))
		return 0;
	u32 at = !memcmp(c, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
	if (c[at] == 0xb8) {
		memcpy(&d, c + at + 1, 4);
		return (u32)d;
	}
	if (c[at] == 0x8b && c[at + 1] == 0x05) {
		memcpy(&d, c + at + 2, 4);
		return value_at(f, vaddr + at + 6 + (u64)(s64)d);
	}
	if (c[at] != 0x48 || (c[at + 1] != 0x8d && c[at + 1] != 0x8b) || c[at + 2] != 0x05)
		return 0;
	memcpy(&d, c + at + 3, 4);
	u64 to = vaddr + at + 7 + (u64)(s64)d;
	if (c[at + 1] == 0x8d && c[at + 7] == 0xc3)
		return to;
	return pointer ? relocated(f, to) : value_at(f, to);
}

static bool builtins(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out)
{
	u64 code = syms[SYM_CODE].name ? returned(f, syms[SYM_CODE].addr, true) : 0, size = syms[SYM_SIZE].name ? returned(f, syms[SYM_SIZE].addr, false) : 0;
	u8 probe;

	if (!syms[SYM_CODE].name && runtime_hole(f, BUILTINS_MIN, &out->loop, &out->loop_end))
		return out->loop_end - out->loop <= BUILTINS_MAX;
	if (!code || size < 1 << 16 || size > BUILTINS_MAX || !read_at(f, code, &probe, 1) || !read_at(f, code + size - 1, &probe, 1))
		return false;
	out->loop = code;
	out->loop_end = code + size;
	return true;
}

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	u32 v = 0;

	if (syms[SYM_MINOR].name)
		v = value_at(f, syms[SYM_MAJOR].addr) << 8 | (value_at(f, syms[SYM_MINOR].addr) & 0xff);
	str_addf(version, "%u.%u", v >> 8, v & 0xff);
	if (f->machine != EM_X86_64)
		return false;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].version != v)
			continue;
		return builtins(f, syms, out) && structures(f, &rows[i], &out->v8);
	}
	return false;
}

// ---- texts
void v8_code_name(const struct RtCode *c, struct Str *out)
{
	if (c->name_len)
		runtime_add_text(out, c->name, MIN(c->name_len, RT_CODE_NAME), c->name_width);
	else
		str_add(out, "(anonymous)");
}

const struct Runtime v8_runtime = {RT_LANG_V8, "v8", "[v8]", symbols, find, NULL, "its own description (v8dbg_*)", v8_code_name, .lacks = "of optimised code in V8 before 11.3 the outer function only"};
