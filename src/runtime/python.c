// CPython. Input: its object's .dynsym and data; the line tables of its code objects. Output: a row of offsets, lines. From 3.13 on the interpreter says itself
// where its structures keep things (pyself.c), in what its object begins each process with; before, and where that makes no sense, a table by version does.
// Invariant: a version that has no row is not guessed at. Offsets are those of release builds of CPython on 64-bit machines (Include/internal/pycore_*.h).
#include <elf.h>
#include "runtime/internal.h"

enum { SYM_RUNTIME, SYM_CODE_TYPE, SYM_VERSION, SYM_LOOP, SYM_38, SYM_39, SYM_310, SYM_CORO };
static const char *const symbols[RUNTIME_SYMBOLS] = {
	"_PyRuntime", "PyCode_Type", "Py_Version", "_PyEval_EvalFrameDefault",
	"PyCode_NewWithPosOnlyArgs", "PyFrame_GetCode", "Py_NewRef", // the first in 3.8, 3.9, 3.10
	"PyCoro_Type", "PyGen_Type", "PyAsyncGen_Type", "_PyAsyncGenASend_Type", "PyType_Type", // enum RtPyType
};

enum { LINES_NONE, LINES_311, LINES_310, LINES_39 }; // RtCode.lines_kind
#define FREE (1 << 16) // without the GIL
struct Row {
	u32 version; // major << 8 | minor, FREE
	struct RtPython py;
};
#define STR_311 .str_ascii = 48, .str_other = 72
#define STR_312 .str_ascii = 40, .str_other = 56
#define CODE_38 .code_size = 128, .code_line = 40, .code_file = 104, .code_name = 112, .code_lines = 120, STR_311
#define CODE_311 .code_size = 144, .code_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136, .lines_kind = LINES_311
#define CODE_312 .code_size = 144, .code_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136, .lines_kind = LINES_311, STR_312
// Interpreters in one process (Py_NewInterpreter), each with a state for a thread
#define STATES_37(head, state) .interps = head, .interp_threads = 8, .current = state
#define FRAME_37 .how = RT_PY_EACH, .thread_id = 176, .cframe = 24, .frame_size = 112, .frame_code = 32, .frame_prev = 24, .ip_unit = 1
// Without the GIL an object's head is 16 bytes longer
#define CODE_FREE .head = 16, .code_size = 160, .code_line = 84, .code_file = 128, .code_name = 144, .code_lines = 152, .lines_kind = LINES_311, \
	.str_ascii = 56, .str_other = 72
#define FRAME_312 .frame_code = 0, .frame_prev = 8, .frame_ip = 56, .end_value = 3, .end_hidden = 1 // owner: the C stack
// Tasks of asyncio and their coroutines (pyasync.bpf.c)
#define ASYNC .frame_locals = 72, .frame_top = 64, .tuple_items = 24
#define ASYNC_311 ASYNC, .frame_owner = 69, .coro_frame = 80, .task_coro = 136, .task_waiter = 128, .attrs = RT_PY_ATTRS_BEFORE32
#define ASYNC_312 ASYNC, .frame_owner = 70, .coro_frame = 72, .task_coro = 136, .task_waiter = 128, .attrs = RT_PY_ATTRS_BEFORE24
#define ASYNC_313 ASYNC, .frame_owner = 70, .coro_frame = 72, .task_coro = 120, .task_waiter = 112, .attrs = RT_PY_ATTRS_BEHIND
#define ASYNC_314 .frame_locals = 80, .frame_top = 64, .top_at = 1, .tuple_items = 32, .frame_owner = 74, .coro_frame = 72, .task_coro = 128, .task_waiter = 120, \
	.attrs = RT_PY_ATTRS_BEHIND
static const struct Row rows[] = {
	{0x307, {FRAME_37, STATES_37(24, 1480), .key = 1504, .frame_ip = 104, .code_size = 120, .code_line = 36, .code_file = 96, .code_name = 104, .code_lines = 112, STR_311,
		 .lines_kind = LINES_39}},
	{0x308, {FRAME_37, STATES_37(32, 1368), CODE_38, .key = 1392, .frame_ip = 104, .lines_kind = LINES_39}},
	{0x309, {FRAME_37, STATES_37(32, 568), CODE_38, .key = 584, .frame_ip = 104, .lines_kind = LINES_39}},
	{0x30a, {.how = RT_PY_EACH, STATES_37(32, 568), .thread_id = 176, .cframe = 24, .frame_size = 112, .frame_code = 32, .frame_prev = 24, .ip_unit = 2, CODE_38, .key = 584,
		 .frame_ip = 96, .lines_kind = LINES_310}},
	{0x30b, {.how = RT_PY_RECORDS, .key = 592, .interps = 40, .interp_threads = 16, .thread_id = 152, .cframe = 56, .cframe_frame = 8, .cframe_prev = 16,
		 .frame_size = 72, .frame_code = 32, .frame_prev = 48, .frame_ip = 56, .frame_end = 68, .end_value = 1, // is_entry
		 CODE_311, STR_311, .code_first = 184, ASYNC_311}},
	{0x30c, {.how = RT_PY_RECORDS, .key = 1544, .interps = 40, .interp_threads = 72, .thread_id = 136, .cframe = 56, .cframe_frame = 0, .cframe_prev = 8, .frame_size = 72, .frame_end = 70,
		 FRAME_312, CODE_312, .code_first = 192, ASYNC_312}},
	{0x30d, {.how = RT_PY_SHIMS, .key = 2160, .thread_id = 152, .cframe = 72, .frame_size = 72, .frame_end = 70, FRAME_312, CODE_312, .code_first = 200,
		 ASYNC_313}},
	{0x30e, {.how = RT_PY_SHIMS, .key = 2336, .thread_id = 152, .cframe = 72, .frame_size = 80, .frame_end = 74, FRAME_312, CODE_312, .code_first = 208,
		 ASYNC_314}},
	{FREE | 0x30d, {.how = RT_PY_SHIMS, .key = 2160, .thread_id = 152, .cframe = 72, .frame_size = 72, .frame_end = 70, FRAME_312, CODE_FREE, .code_first = 216}},
	{FREE | 0x30e, {.how = RT_PY_SHIMS, .key = 2336, .thread_id = 152, .cframe = 72, .frame_size = 80, .frame_end = 78, FRAME_312, CODE_FREE, .code_first = 232,
		 .str_shift = 6, .frame_copy = 72, .code_copies = 224, .code_copy = 8}},
};

static bool read_at(struct ElfFile *f, u64 vaddr, void *buf, u64 n)
{
	u64 off;
	return elffile_vaddr_to_off(f, vaddr, &off) && elffile_read(f, off, buf, n);
}

// Py_Version, from 3.11 on: major, minor, micro, level and serial from the highest byte on. Before: by what the object exports.
static u32 version_of(struct ElfFile *f, const struct ElfSymbol *syms, struct Str *text)
{
	u32 v = 0;
	if (syms[SYM_VERSION].name && read_at(f, syms[SYM_VERSION].addr, &v, sizeof(v))) {
		str_addf(text, "%u.%u.%u", v >> 24, v >> 16 & 0xff, v >> 8 & 0xff);
		return v >> 16;
	}
	v = syms[SYM_310].name ? 10 : syms[SYM_39].name ? 9 : syms[SYM_38].name ? 8 : 7;
	str_addf(text, "3.%u", v);
	return 3 << 8 | v;
}

// From 3.13 on _PyRuntime begins with "xdebugpy", its version, and whether it was built without the GIL: such has other offsets.
static bool without_gil(struct ElfFile *f, const struct ElfSymbol *runtime, struct Str *text)
{
	u64 head[3];
	if (!read_at(f, runtime->addr, head, sizeof(head)) || memcmp(head, "xdebugpy", 8) || !head[2])
		return false;
	str_add(text, " (free-threaded)");
	return true;
}

// Up to 3.11 what comes before the key in _PyRuntime has a lock in it, which is longer there. False: it is not known.
static bool key_of_arm64(u32 version, struct RtPython *py)
{
	if ((version & ~FREE) < 0x309)
		return false;
	if ((version & ~FREE) < 0x30c) {
		py->key += 16;
		py->current += 16;
	}
	return true;
}

// From 3.13 on: the places that it says itself, instead of the row's.
static void describe(struct ElfFile *f, const struct ElfSymbol *runtime, u32 version, struct RtPython *py)
{
	u64 words[128];
	u32 n = python_described_words(version);
	if (!n)
		return;
	bool ok = n <= ARRAY_LEN(words) && read_at(f, runtime->addr, words, n * sizeof(*words)) && python_described(words, version, version & FREE, py);
	py->source = ok ? RT_PY_DESCRIBED : RT_PY_WRONG;
}

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	const struct ElfSymbol *loop = &syms[SYM_LOOP];
	u32 v = version_of(f, syms, version);
	if (!syms[SYM_CODE_TYPE].name)
		return false;
	if (without_gil(f, &syms[SYM_RUNTIME], version))
		v |= FREE;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].version != v)
			continue;
		out->root = syms[SYM_RUNTIME].addr;
		out->code_type = syms[SYM_CODE_TYPE].addr;
		out->py = rows[i].py;
		if (f->machine == EM_AARCH64 && !key_of_arm64(v, &out->py))
			return false;
		for (u32 k = 0; k < RT_PY_TYPES; k++)
			out->types[k] = syms[SYM_CORO + k].name ? syms[SYM_CORO + k].addr : 0;
		describe(f, &syms[SYM_RUNTIME], v, &out->py);
		if (out->py.how != RT_PY_EACH)
			return true;
		out->loop = loop->addr;
		out->loop_end = loop->addr + loop->size;
		return loop->name && loop->size;
	}
	return false;
}

// ---- lines of 3.11 and later (Objects/locations.md): entries of a head byte (bit 7; bits 3-6 the kind; bits 0-2 its instructions less one) and what the
// kind says: 0-9 one byte, the same line; 10-12 two bytes, 0-2 lines on; 13 a signed number of lines; 14 that and three numbers; 15 no line.
struct Bytes {
	const u8 *p, *end;
};

static u32 varint(struct Bytes *b) // six bits a byte, the lowest first; 0x40: more follow
{
	u32 v = 0;
	for (u32 shift = 0; b->p < b->end; shift += 6) {
		u8 c = *b->p++;
		if (shift < 32)
			v |= (u32)(c & 0x3f) << shift;
		if (!(c & 0x40))
			break;
	}
	return v;
}

static u32 skip(struct Bytes *b, u32 n)
{
	b->p += MIN(n, (u32)(b->end - b->p));
	return 0;
}

static u32 entry_lines(struct Bytes *b, u32 kind) // by how many it is more
{
	u32 v;
	if (kind < 10)
		return skip(b, 1);
	if (kind < 13)
		return skip(b, 2) + kind - 10;
	if (kind == 15)
		return 0;
	v = varint(b);
	for (u32 i = 0; kind == 14 && i < 3; i++)
		varint(b);
	return v & 1 ? 0 - (v >> 1) : v >> 1;
}

static u32 line_311(struct Bytes b, u32 n, u32 pos, bool whole)
{
	const u8 *end = b.end;
	u64 at = 0;
	while (b.p < b.end) {
		u8 head = *b.p++;
		bool cut = !whole && end - b.p < 24; // an entry may go on behind it
		n += entry_lines(&b, head >> 3 & 15);
		at += 2 * ((head & 7) + 1);
		if (pos < at && !cut)
			return n;
	}
	return 0;
}

// 3.10: pairs of a number of bytes and a signed number of lines; -128: they have no line.
static u32 line_310(struct Bytes b, u32 n, u32 pos)
{
	u64 at = 0;
	for (; b.end - b.p >= 2; b.p += 2) {
		at += b.p[0];
		n += (s8)b.p[1] == -128 ? 0 : (u32)(s32)(s8)b.p[1];
		if (pos < at)
			return n;
	}
	return 0;
}

// Up to 3.9: the same pairs, of which the first says where the line begins. Whole: the last line goes on to the code's end.
static u32 line_39(struct Bytes b, u32 n, u32 pos, bool whole)
{
	u64 at = 0;
	for (; b.end - b.p >= 2; b.p += 2) {
		at += b.p[0];
		if (at > pos)
			return n;
		n += (u32)(s32)(s8)b.p[1];
	}
	return whole ? n : 0;
}

// 0: not known. Of a table that was too long to be copied whole that is so for what lies beyond.
static u32 line(const struct RtCode *c, u32 pos)
{
	struct Bytes b = {c->lines, c->lines + MIN(c->nlines, RT_CODE_LINES)};
	bool whole = c->nlines <= RT_CODE_LINES;
	u32 n = c->lines_kind == LINES_311   ? line_311(b, c->first_line, pos, whole)
		: c->lines_kind == LINES_310 ? line_310(b, c->first_line, pos)
		: c->lines_kind == LINES_39  ? line_39(b, c->first_line, pos, whole)
					     : 0;
	return n || !whole ? n : c->first_line;
}

static const char *offsets(const struct RtLang *l)
{
	return l->py.source == RT_PY_DESCRIBED ? "the interpreter's own description (_Py_DebugOffsets); the rest a table of releases in sonde"
	       : l->py.source == RT_PY_WRONG   ? "a table of releases in sonde (the interpreter's own description, _Py_DebugOffsets, makes no sense)"
					       : "a table of releases in sonde";
}

const struct Runtime python_runtime = {RT_LANG_PYTHON, "python", "[python]", symbols, find, line, .offsets_of = offsets, .on_arm64 = true};
