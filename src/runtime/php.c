// PHP, whose functions the virtual machine runs in execute_ex(). Input: its object's .dynsym and version; functions that were copied. Output: the program of its
// chain, names, lines.
// executor_globals has the innermost frame (zend_execute_data); each has the next one, its function and the instruction it is at, which has the line. Internal
// functions, written in C, have frames, too, but no loop. A loop runs several frames in one another, the last one is marked (ZEND_CALL_TOP). Where the loop keeps
// frame and instruction in registers (x86-64, built by GCC) these are newer than what the frame has.
// Invariant: a function is of a known kind and its texts are strings, or the stack counts as cut. Offsets are of builds without threads (ZTS) on 64-bit machines.
#include "runtime/internal.h"

enum { SYM_EXECUTE, SYM_GLOBALS };
static const char *const symbols[RUNTIME_SYMBOLS] = {"execute_ex", "executor_globals"};

static const struct Row {
	u32 version;	   // major << 8 | minor
	u16 current, file; // in executor_globals the innermost frame; in a function its file, then the first line
	u16 code, count;   // ... its instructions; how many they are
} rows[] = {
	{0x703, 488, 128, 64, 60}, {0x704, 488, 136, 64, 60}, {0x800, 488, 144, 72, 68},  {0x801, 488, 144, 72, 68},
	{0x802, 488, 152, 88, 80}, {0x803, 488, 144, 80, 76}, {0x804, 488, 168, 104, 96}, {0x805, 512, 168, 104, 96},
};
#define INSTRUCTION 32 // bytes

#define VERSION_TEXT "X-Powered-By: PHP/"
static u32 version_of(struct ElfFile *f, struct Str *text)
{
	const struct ElfSec *s = elffile_section(f, ".rodata");
	char *data = s ? elffile_load(f, s->off, s->size, 64u << 20) : NULL, *at = data ? memmem(data, s->size, VERSION_TEXT, strlen(VERSION_TEXT)) : NULL;
	u32 v = 0;

	if (at) { // elffile_load() puts a zero behind it
		char *end;
		at += strlen(VERSION_TEXT);
		str_addn(text, at, strspn(at, "0123456789."));
		v = (u32)strtoul(at, &end, 10) << 8;
		v |= *end == '.' ? (u32)strtoul(end + 1, NULL, 10) & 0xff : 0;
	}
	free(data);
	return v;
}

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	const struct ElfSymbol *loop = &syms[SYM_EXECUTE], *globals = &syms[SYM_GLOBALS];
	u32 v = version_of(f, version);

	if (!globals->name) {
		str_add(version, " (threads: ZTS)");
		return false;
	}
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].version != v)
			continue;
		out->row = (u16)i;
		out->root = globals->addr + rows[i].current;
		out->loop = loop->addr;
		out->loop_end = loop->addr + loop->size;
		return loop->size;
	}
	return false;
}

// A frame's words lie in the last registers, so that the next one's address is where it is to be.
enum { ROOT = RT_CHAIN_ROOT, TYPE, NAME, SCOPE, FILE_NAME, LINE, IDENT, VM_AT, VM_OPLINE, P, N, END, CODE, OPLINE = RT_CHAIN_NEXT - 6, FUNC = OPLINE + 3, INFO = OPLINE + 5 };
_Static_assert(SCOPE == TYPE + 2 && LINE == FILE_NAME + 1 && CODE == END + 1 && CODE < OPLINE, "loaded together");
enum { L_LOOK = CHAIN_OWN, L_FOUND, L_GONE, L_READY, L_TAKE, L_INTERNAL, L_FIRST, L_INNERMOST, L_LOADED, L_NOT_VM, L_VM, L_NO_LINE, L_NO_NAME, L_NO_CLASS, L_NO_FILE };
#define CALL_TOP (1 << 17)
#define INTERNAL 1
#define MAX_BEFORE 8
#define R14 14 // DWARF
#define R15 15

// A zend_string: its kind at 4, its length at 16, its bytes at 24.
static void text(struct ChainMaker *m, enum RtChainText what, u32 str)
{
	chain_load(m, P, str, 4, 1);
	chain_and(m, P, P, 15);
	chain_if_not(m, P, 6, CHAIN_LOST);
	chain_load(m, N, str, 16, 8);
	chain_add(m, P, str, 24);
	chain_text(m, what, P, N);
}

// The frame at NEXT, whose place that of the one after it takes. Without a function it stands for a generator that another one runs, or its loop has not begun.
static void load_frame(struct ChainMaker *m)
{
	chain_load(m, OPLINE, RT_CHAIN_NEXT, 0, 56);
	chain_and(m, RT_CHAIN_LAST, INFO, CALL_TOP);
	chain_if_is(m, FUNC, 0, CHAIN_STEP);
	chain_load(m, TYPE, FUNC, 0, 24);
	chain_and(m, TYPE, TYPE, 0xff);
	chain_if_is(m, TYPE, INTERNAL, L_INTERNAL);
}

// Up to the frame of the innermost loop, whose instruction is the one in its register. Code that the JIT has made uses that for other things, too, and stores the
// instruction only where it may be asked for: what lies in neither is none of the function's instructions, or an earlier one.
static void first(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, L_FIRST);
	chain_if(m, RT_CHAIN_NEXT, RT_OP_EQ, VM_AT, 0, L_INNERMOST);
	load_frame(m);
	chain_if_not(m, RT_CHAIN_LAST, 0, CHAIN_STEP);
	chain_jump(m, L_TAKE);
	chain_label(m, L_INNERMOST);
	chain_set(m, VM_AT, 0);
	load_frame(m); // of a function in C: the loop, compiled code, has done with its own
	chain_load(m, END, FUNC, r->code - 8, 16);
	if (r->count == r->code - 4)
		chain_shr(m, END, END, 32);
	else
		chain_and(m, END, END, 0x7fffffff);
	chain_mul(m, END, CODE, END, INSTRUCTION);
	chain_if(m, VM_OPLINE, RT_OP_LT, CODE, 0, L_NOT_VM);
	chain_if(m, VM_OPLINE, RT_OP_LT, END, 0, L_VM);
	chain_label(m, L_NOT_VM);
	chain_if(m, OPLINE, RT_OP_LT, CODE, 0, L_NO_LINE);
	chain_if(m, OPLINE, RT_OP_LT, END, 0, L_TAKE);
	chain_label(m, L_NO_LINE);
	chain_set(m, OPLINE, 0);
	chain_jump(m, L_LOADED);
	chain_label(m, L_VM);
	chain_add(m, OPLINE, VM_OPLINE, 0);
	chain_jump(m, L_TAKE);
}

static void step(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, CHAIN_STEP);
	chain_if_not(m, VM_AT, 0, L_FIRST);
	load_frame(m);
	chain_label(m, L_TAKE);
	chain_load(m, OPLINE, OPLINE, 24, 4);
	chain_label(m, L_LOADED);
	chain_load(m, FILE_NAME, FUNC, r->file, 12);
	chain_mul(m, IDENT, NAME, FILE_NAME, 3);
	chain_mul(m, IDENT, IDENT, LINE, 1 << 24);
	chain_frame(m, FUNC, IDENT, OPLINE);
	chain_label(m, L_INTERNAL);
	chain_set(m, RT_CHAIN_LAST, 0);
	chain_if_is(m, NAME, 0, CHAIN_STEP); // where a fiber begins
	chain_frame(m, FUNC, NAME, RT_CHAIN_ZERO);
	first(m, r);
}

static void copy(struct ChainMaker *m)
{
	chain_label(m, CHAIN_COPY);
	chain_if_is(m, NAME, 0, L_NO_NAME);
	text(m, RT_CHAIN_NAME, NAME);
	chain_label(m, L_NO_NAME);
	chain_if_is(m, SCOPE, 0, L_NO_CLASS);
	chain_load(m, SCOPE, SCOPE, 8, 8);
	text(m, RT_CHAIN_LINES, SCOPE);
	chain_label(m, L_NO_CLASS);
	chain_if_is(m, TYPE, INTERNAL, L_NO_FILE);
	text(m, RT_CHAIN_FILE, FILE_NAME);
	chain_first_line(m, LINE);
	chain_label(m, L_NO_FILE);
	chain_copied(m);
}

// The registers of the innermost loop, VM_AT and VM_OPLINE (0: not known, or found), of a frame that is among the first in the chain: those before it that are the
// last of a loop have none yet. The loop's own may have just left the chain, while what it held is freed: then it leads to the chain.
static void begin(struct ChainMaker *m)
{
	chain_load(m, RT_CHAIN_NEXT, ROOT, 0, 8);
	chain_if_is(m, RT_CHAIN_NEXT, 0, CHAIN_LOST);
	chain_op(m, RT_OP_NATIVE, VM_AT, 0, 0, R14);
	chain_op(m, RT_OP_NATIVE, VM_OPLINE, 0, 0, R15);
	chain_if(m, RT_CHAIN_NEXT, RT_OP_EQ, VM_AT, 0, L_FOUND);
	chain_if_is(m, VM_AT, 0, L_FOUND);
	chain_add(m, P, RT_CHAIN_NEXT, 0);
	chain_set(m, N, MAX_BEFORE);
	chain_label(m, L_LOOK);
	chain_load(m, P, P, 48, 8);
	chain_if(m, P, RT_OP_EQ, VM_AT, 0, L_FOUND);
	chain_if_is(m, P, 0, L_GONE);
	chain_add(m, N, N, -1);
	chain_if_not(m, N, 0, L_LOOK);
	chain_label(m, L_GONE);
	chain_op(m, RT_OP_TRY, P, VM_AT, 0, 48);
	chain_if(m, P, RT_OP_NE, RT_CHAIN_NEXT, 0, L_READY);
	chain_add(m, RT_CHAIN_NEXT, VM_AT, 0);
	chain_label(m, L_FOUND);
	chain_ready(m, CHAIN_STEP);
	chain_label(m, L_READY);
	chain_set(m, VM_AT, 0);
	chain_ready(m, CHAIN_STEP);
}

static bool chain(const struct RtLang *l, struct RtChain *out)
{
	struct ChainMaker m = {0};

	begin(&m);
	step(&m, &rows[l->row % ARRAY_LEN(rows)]);
	copy(&m);
	return chain_end(&m, out);
}

static u32 line(const struct RtCode *c, u32 pos)
{
	return pos ? pos : c->first_line;
}

// The class is among the lines, of which PHP has none.
static void code_name(const struct RtCode *c, struct Str *out)
{
	if (c->nlines) {
		runtime_add_bytes(out, c->lines, MIN(c->nlines, RT_CODE_LINES));
		str_add(out, "::");
	}
	if (c->name_len)
		runtime_add_bytes(out, c->name, MIN(c->name_len, RT_CODE_NAME));
	else
		str_add(out, "{main}"); // of a file: as exceptions' traces say it
}

const struct Runtime php_runtime = {RT_LANG_PHP, "php", "[php]", symbols, find, line, "a table of releases in sonde", code_name, runtime_file_bytes, chain, .on_arm64 = true};
