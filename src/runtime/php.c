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
} rows[] = {
	{0x703, 488, 128}, {0x704, 488, 136}, {0x800, 488, 144}, {0x801, 488, 144}, {0x802, 488, 152}, {0x803, 488, 144}, {0x804, 488, 168},
};

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

enum { ROOT = RT_CHAIN_ROOT, AT, OPLINE, FUNC = OPLINE + 3, INFO = OPLINE + 5, PREV, TYPE, NAME, SCOPE, FILE_NAME, LINE, IDENT, VM_AT, VM_OPLINE, BEFORE, P, N };
_Static_assert(FUNC == OPLINE + 24 / 8 && PREV == OPLINE + 48 / 8 && INFO + 1 == PREV && SCOPE == TYPE + 2 && LINE == FILE_NAME + 1, "loaded together");
enum { L_LOOK = CHAIN_OWN, L_FOUND, L_GONE, L_READY, L_TAKE, L_NONE, L_INTERNAL, L_STORED, L_NO_NAME, L_NO_CLASS, L_NO_FILE };
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

static void step(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, CHAIN_STEP);
	chain_load(m, OPLINE, AT, 0, 56);
	chain_and(m, RT_CHAIN_LAST, INFO, CALL_TOP);
	chain_if_is(m, FUNC, 0, L_NONE);
	chain_load(m, TYPE, FUNC, 0, 24);
	chain_and(m, TYPE, TYPE, 0xff);
	chain_if_is(m, TYPE, INTERNAL, L_INTERNAL);
	chain_if(m, AT, RT_OP_NE, VM_AT, 0, L_STORED);
	chain_add(m, OPLINE, VM_OPLINE, 0);
	chain_set(m, BEFORE, 0);
	chain_jump(m, L_TAKE);
	chain_label(m, L_STORED);
	chain_if_is(m, BEFORE, 0, L_TAKE);
	chain_if_not(m, RT_CHAIN_LAST, 0, L_NONE);
	chain_label(m, L_TAKE);
	chain_load(m, FILE_NAME, FUNC, r->file, 12);
	chain_load(m, OPLINE, OPLINE, 24, 4);
	chain_mul(m, IDENT, NAME, FILE_NAME, 3);
	chain_mul(m, IDENT, IDENT, LINE, 1 << 24);
	chain_add(m, AT, PREV, 0);
	chain_add(m, RT_CHAIN_NEXT, PREV, 0);
	chain_frame(m, FUNC, IDENT, OPLINE);
	chain_label(m, L_INTERNAL);
	chain_set(m, RT_CHAIN_LAST, 0);
	chain_add(m, AT, PREV, 0);
	chain_add(m, RT_CHAIN_NEXT, PREV, 0);
	chain_frame(m, FUNC, NAME, RT_CHAIN_ZERO);
	chain_label(m, L_NONE); // it stands for a generator that another one runs, or its loop has not begun
	chain_add(m, AT, PREV, 0);
	chain_jump(m, CHAIN_STEP);
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

// The registers of the innermost loop, VM_AT and VM_OPLINE, of a frame that is among the first in the chain: those BEFORE it that are the last of a loop have none
// yet. The loop's own may have just left the chain, while what it held is freed: then it leads to the chain.
static void begin(struct ChainMaker *m)
{
	chain_load(m, AT, ROOT, 0, 8);
	chain_if_is(m, AT, 0, CHAIN_LOST);
	chain_op(m, RT_OP_NATIVE, VM_AT, 0, 0, R14);
	chain_op(m, RT_OP_NATIVE, VM_OPLINE, 0, 0, R15);
	chain_if_is(m, VM_AT, 0, L_READY);
	chain_add(m, P, AT, 0);
	chain_set(m, N, MAX_BEFORE);
	chain_set(m, BEFORE, 0);
	chain_label(m, L_LOOK);
	chain_if(m, P, RT_OP_EQ, VM_AT, 0, L_FOUND);
	chain_if_is(m, P, 0, L_GONE);
	chain_load(m, P, P, 48, 8);
	chain_add(m, N, N, -1);
	chain_if_not(m, N, 0, L_LOOK);
	chain_label(m, L_GONE);
	chain_op(m, RT_OP_TRY, P, VM_AT, 0, 48);
	chain_if(m, P, RT_OP_NE, AT, 0, L_READY);
	chain_add(m, AT, VM_AT, 0);
	chain_label(m, L_FOUND);
	chain_set(m, BEFORE, 1);
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

const struct Runtime php_runtime = {RT_LANG_PHP, "php", "[php]", symbols, find, line, "a table of releases in sonde", code_name, runtime_file_bytes, chain};
