// Ruby, whose methods the virtual machine runs in vm_exec_core(). Input: its object's .dynsym and code; methods that were copied. Output: the program of its chain,
// names, lines.
// A thread's state (ec) has its stack of control frames, an array that grows downwards, the innermost first; a fiber is another ec. Each has its sequence of
// instructions (iseq), the instruction it is at, and an environment, whose last word has flags; those of methods in C have a method entry there. The last frame of a
// loop is marked (FINISH). A stripped library does not name the loop, the thread's state or the table of names: they are where exported functions' code leads.
// Invariant: a frame is of a known kind and its texts are strings, or the stack counts as cut. Offsets are of 64-bit machines.
#include <elf.h>
#include "runtime/internal.h"

enum { SYM_CURRENT, SYM_VERSION, SYM_NAME_OF, SYM_NATIVE };
static const char *const symbols[RUNTIME_SYMBOLS] = {"rb_thread_current", "ruby_version", "rb_id2str", "ruby_native_thread_p"};

enum How { EC_BY_KEY, EC_BY_GOT, EC_BY_TLS, EC_BY_TLS_GOT }; // RtRuby.how: pthread key; TLS variable of a library, of the program itself, by its offset
static const struct Row {
	u32 version; // major << 8 | minor
	u16 frame;   // bytes of a control frame
	u16 lines;   // in an iseq's body: entries, their number 16 further, their index 24
	u8 entry;    // bytes of such an entry
	u8 wide;     // strings in place have their length in a word
	u8 fixnum;   // the first line is an object
	u8 ops;	     // the last name that is an operator
	u8 parent;   // in an iseq's body: the iseq around it, whose label is to stand for an eval's; 0: an eval's own is the same
} rows[] = {
	{0x207, 56, 120, 8, 0, 1, 168, 0},
	{0x301, 64, 120, 12, 0, 1, 169, 0},
	{0x302, 64, 112, 12, 1, 0, 169, 0},
	{0x303, 56, 112, 12, 1, 0, 169, 0},
	{0x304, 56, 112, 12, 1, 0, 170, 160},
	{0x300, 56, 120, 8, 0, 1, 168, 0},
};

// ---- finding
#define CODE 512
struct Code { // of a function
	u8 p[CODE];
	u64 at;
};

static bool load_code(const struct ElfFile *f, u64 vaddr, struct Code *c)
{
	u64 off;
	memset(c, 0, sizeof(*c));
	c->at = vaddr;
	return elffile_vaddr_to_off(f, vaddr, &off) && elffile_read_some(f, off, c->p, CODE) >= 32;
}

static u64 relative(const struct Code *c, u32 i) // what the 32 bits at i lead to
{
	s32 rel;
	memcpy(&rel, c->p + i, 4);
	return c->at + i + 4 + (u64)(s64)rel;
}

static bool is_data(const struct ElfFile *f, u64 vaddr)
{
	for (u32 i = 0; i < f->nsegs; i++)
		if (f->segs[i].type == PT_LOAD && f->segs[i].flags & PF_W && vaddr >= f->segs[i].vaddr && vaddr - f->segs[i].vaddr < f->segs[i].memsz)
			return true;
	return false;
}

// rb_thread_current() begins with the thread's ec: lea of its pair of GOT words; mov from %fs:n; mov of a GOT word, then from %fs.
static bool find_tls(const struct ElfFile *f, u64 current, struct RtLang *out)
{
	struct Code c;

	if (!load_code(f, current, &c))
		return false;
	for (u32 i = 0; i < 24; i++) {
		out->root = relative(&c, i + 4);
		if (!memcmp(c.p + i, "\x66\x48\x8d\x3d", 4) && is_data(f, out->root)) {
			out->ruby.how = EC_BY_GOT;
			return true;
		}
		if (!memcmp(c.p + i, "\x64\x48\x8b\x04\x25", 5)) {
			out->ruby.how = EC_BY_TLS;
			memcpy(&out->ruby.tls, c.p + i + 5, 4);
			return true;
		}
		out->root = relative(&c, i + 3);
		if (!memcmp(c.p + i, "\x48\x8b\x05", 3) && !memcmp(c.p + i + 7, "\x64\x48\x8b\x00", 4) && is_data(f, out->root)) {
			out->ruby.how = EC_BY_TLS_GOT;
			return true;
		}
	}
	return false;
}

// Before Ruby 3 a thread's state is behind a pthread key: ruby_native_thread_p() loads it.
static bool find_key(const struct ElfFile *f, u64 native, struct RtLang *out)
{
	struct Code c;

	if (!native || !load_code(f, native, &c))
		return false;
	for (u32 i = 0; i < 16; i++) {
		out->root = relative(&c, i + 2);
		if (c.p[i] == 0x8b && c.p[i + 1] == 0x3d && is_data(f, out->root)) {
			out->ruby.how = EC_BY_KEY;
			return true;
		}
	}
	return false;
}

#define MAX_REFS 128
struct Refs {
	u64 v[MAX_REFS];
	u32 n;
};

// Words of data that a function compares or loads.
static void find_refs(const struct ElfFile *f, const struct Code *c, struct Refs *out)
{
	for (u32 i = 0; i + 6 <= CODE && out->n < MAX_REFS; i++) {
		u64 to = relative(c, MIN(i + 2, (u32)CODE - 4));
		if ((c->p[i] == 0x8b || c->p[i] == 0x39 || c->p[i] == 0x3b) && (c->p[i + 1] & 0xc7) == 5 && is_data(f, to))
			out->v[out->n++] = to;
	}
}

// Also those of functions that it jumps to, and these (a byte that is no jump leads nowhere, or to words that are no pair).
static void find_refs_behind(const struct ElfFile *f, u64 at, u32 depth, struct Refs *out)
{
	struct Code c;

	if (!load_code(f, at, &c))
		return;
	find_refs(f, &c, out);
	for (u32 i = 0; depth && i < 64; i++)
		if (c.p[i] == 0xe9)
			find_refs_behind(f, relative(&c, i + 1), depth - 1, out);
}

// The table of names: rb_id2str(), and what it ends with a jump to, compare with its first word, the last name's number, and load the third, the names.
static u64 find_names(const struct ElfFile *f, u64 name_of)
{
	struct Refs refs = {0};

	if (name_of)
		find_refs_behind(f, name_of, 2, &refs);
	for (u32 i = 0; i < refs.n; i++)
		for (u32 k = 0; k < refs.n; k++)
			if (refs.v[k] == refs.v[i] + 16)
				return refs.v[i];
	return 0;
}

static u32 version_of(struct ElfFile *f, u64 vaddr, struct Str *text)
{
	char s[16] = "", *end;
	u64 off;

	if (!vaddr || !elffile_vaddr_to_off(f, vaddr, &off) || !elffile_read_some(f, off, s, sizeof(s) - 1))
		return 0;
	str_addn(text, s, strspn(s, "0123456789."));
	u32 v = (u32)strtoul(s, &end, 10) << 8;
	return v | (*end == '.' ? (u32)strtoul(end + 1, NULL, 10) & 0xff : 0);
}

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	u32 v = version_of(f, syms[SYM_VERSION].addr, version);

	if (f->machine != EM_X86_64)
		return false;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].version != v)
			continue;
		out->row = (u16)i;
		out->code_type = find_names(f, syms[SYM_NAME_OF].addr);
		if (!out->code_type || !(v < 0x300 ? find_key(f, syms[SYM_NATIVE].addr, out) : find_tls(f, syms[SYM_CURRENT].addr, out)))
			return false;
		out->ruby.musl = runtime_of_musl(f, version);
		return runtime_threaded_loop(f, &out->loop, &out->loop_end);
	}
	return false;
}

// ---- the program
enum { // registers
	ROOT = RT_CHAIN_ROOT, NAMES = RT_CHAIN_ROOT2,
	PC, EP = PC + 4, // a control frame; of a method in C: its definition, its name's number
	ENTRY, FLAGS = ENTRY + 2, // an environment
	ENCODED, PATH = ENCODED + 7, LABEL = PATH + 2, LINE, // an iseq's body
	BODY, IDENT, POS, END, VM_AT, FAST, P, Q,
	AT = RT_CHAIN_NEXT, // the next frame
};
#define ISEQ (PC + 2)
#define NOW Q // the frame at hand
#define T ENCODED // five words, when the code is copied
#define TOP ROOT // the outermost frame that a loop runs, once the thread is found
#define DEF PC
#define ID (PC + 1)
_Static_assert(EP == PC + 32 / 8 && LINE == ENCODED + 80 / 8 && Q < (int)RT_CHAIN_NEXT && T + 5 <= PATH, "loaded together");
enum { L_KEY = CHAIN_OWN, L_END, L_HAVE_END, L_TOP, L_HAVE_TOP, L_NOT_LAST, L_LEFT, L_NO_VM, L_MORE, L_NOT_END, L_PASSED, L_FAST, L_NOT_CODE, L_ENTRY, L_NAME, L_NAME_THERE, L_FILE, L_PATHS, L_FILE_THERE, L_SHORT, L_INDEX, L_C_COPY, L_OP,
	L_OUTER, L_EVAL, L_OWN, L_DONE };
#define FINISH 0x20
#define TYPE_EVAL 6 // of an iseq
#define LABEL_AT 80 // in its body
#define KIND 0x7fff0001
#define KIND_C 0x55550001
#define IMEMO_SVAR 0x2000
#define IMEMO_ENTRY 0x6000
#define IMEMO 0xf000
#define AT_ONCE 54 // an iseq's index of entries by position: see rank()
#define HEAD 48
#define BLOCK 80
#define T_STRING 5
#define T_ARRAY 7
#define T_MASK 31
#define ELSEWHERE (1 << 13) // a string that is not in its object; an array that is
#define R15 15 // DWARF: the loop's frame (built by GCC)

// Objects of a thread: its ec in P.
static void find_ec(struct ChainMaker *m, const struct RtRuby *r)
{
	if (r->how == EC_BY_TLS) {
		chain_op(m, RT_OP_TP, P, 0, 0, 0);
		chain_load(m, P, P, r->tls, 8);
	} else if (r->how == EC_BY_TLS_GOT) {
		chain_op(m, RT_OP_TP, P, 0, 0, 0);
		chain_load(m, Q, ROOT, 0, 8);
		chain_mul(m, P, P, Q, 1);
		chain_load(m, P, P, 0, 8);
	} else if (r->how == EC_BY_GOT) {
		chain_load(m, PC, ROOT, 0, 16);
		chain_thread_variable(m, r->musl, P, PC, PC + 1);
	} else {
		chain_load(m, Q, ROOT, 0, 4);
		chain_thread_value(m, r->musl, P, Q, PC, L_KEY);
		chain_if_is(m, P, 0, CHAIN_LOST);
		chain_load(m, P, P, 32, 8);
	}
	chain_if_is(m, P, 0, CHAIN_LOST);
}

// The innermost loop keeps its frame in a register: frames before it have no loop, or one that has not begun. It may have just left the chain.
static void begin(struct ChainMaker *m, const struct Row *r, const struct RtRuby *how)
{
	find_ec(m, how);
	chain_load(m, PC, P, 0, 24);
	chain_add(m, AT, PC + 2, 0);
	chain_mul(m, END, PC, PC + 1, 8);
	chain_add(m, END, END, -2 * r->frame); // the last one is none of the program's
	chain_if(m, END, RT_OP_LT, AT, 0, CHAIN_LOST);
	chain_label(m, L_END); // outside of all others may be a block in C
	chain_load(m, PC, END, 0, 24);
	chain_if_not(m, PC, 0, L_HAVE_END);
	chain_if_is(m, ISEQ, 0, L_HAVE_END);
	chain_add(m, END, END, -r->frame);
	chain_if(m, END, RT_OP_LT, AT, 0, CHAIN_LOST);
	chain_jump(m, L_END);
	chain_label(m, L_HAVE_END);
	chain_add(m, TOP, END, 0);
	chain_label(m, L_TOP);
	chain_load(m, Q, TOP, 32, 8);
	chain_load(m, Q, Q, 0, 8);
	chain_and(m, Q, Q, FINISH);
	chain_if_not(m, Q, 0, L_HAVE_TOP);
	chain_if(m, TOP, RT_OP_EQ, AT, 0, L_HAVE_TOP);
	chain_add(m, TOP, TOP, -r->frame);
	chain_jump(m, L_TOP);
	chain_label(m, L_HAVE_TOP);
	chain_set(m, FAST, 0);
	chain_op(m, RT_OP_NATIVE, VM_AT, 0, 0, R15);
	chain_if(m, AT, RT_OP_EQ, VM_AT, r->frame, L_LEFT);
	chain_if(m, VM_AT, RT_OP_LT, AT, 0, L_NO_VM);
	chain_if(m, END, RT_OP_LT, VM_AT, 0, L_NO_VM);
	chain_ready(m, CHAIN_STEP);
	chain_label(m, L_LEFT);
	chain_add(m, AT, VM_AT, 0);
	chain_ready(m, CHAIN_STEP);
	chain_label(m, L_NO_VM);
	chain_set(m, VM_AT, 0);
	chain_ready(m, CHAIN_STEP);
}

// A frame of a method in C: its environment has the method's entry, or an object (svar) that has it.
static void step_c(struct ChainMaker *m)
{
	chain_and(m, FLAGS, FLAGS, KIND);
	chain_if_not(m, FLAGS, KIND_C, CHAIN_STEP); // blocks in C and the like have no name
	chain_load(m, P, ENTRY, 0, 16);
	chain_and(m, P, P, IMEMO);
	chain_if_not(m, P, IMEMO_SVAR, L_ENTRY);
	chain_add(m, ENTRY, P + 1, 0);
	chain_load(m, P, ENTRY, 0, 8);
	chain_and(m, P, P, IMEMO);
	chain_label(m, L_ENTRY);
	chain_if_not(m, P, IMEMO_ENTRY, CHAIN_LOST);
	chain_load(m, DEF, ENTRY, 16, 8);
	chain_load(m, ID, DEF, 32, 8);
	chain_frame(m, DEF, ID, RT_CHAIN_ZERO);
}

static void load_frame(struct ChainMaker *m, const struct Row *r)
{
	chain_load(m, PC, AT, 0, 40);
	chain_load(m, ENTRY, EP, -16, 24);
	chain_and(m, RT_CHAIN_LAST, FLAGS, FINISH);
	chain_add(m, AT, AT, r->frame);
}

// Most frames lie behind that of the innermost loop and before the outermost that a loop runs, FAST once the first is passed: which is the last of its loop they say
// themselves. A position is bytes from the first instruction on to the next.
static void step(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, CHAIN_STEP);
	chain_if(m, AT, RT_OP_LT, FAST, 0, L_FAST);
	chain_if(m, END, RT_OP_LT, AT, 0, CHAIN_LOST);
	chain_add(m, NOW, AT, 0);
	load_frame(m, r);
	chain_if(m, NOW, RT_OP_NE, END, 0, L_NOT_END);
	chain_set(m, RT_CHAIN_NEXT, 0);
	chain_set(m, RT_CHAIN_LAST, 1);
	chain_jump(m, L_MORE);
	chain_label(m, L_NOT_END);
	chain_if(m, NOW, RT_OP_EQ, TOP, 0, L_NOT_LAST); // those after it are in C, and have no loop of their own
	chain_if(m, VM_AT, RT_OP_LT, NOW, 1, L_PASSED); // not before the loop's
	chain_label(m, L_NOT_LAST);
	chain_set(m, RT_CHAIN_LAST, 0);
	chain_jump(m, L_MORE);
	chain_label(m, L_PASSED);
	chain_add(m, FAST, TOP, 0);
	chain_jump(m, L_MORE);
	chain_label(m, L_FAST);
	load_frame(m, r);
	chain_label(m, L_MORE);
	chain_if_is(m, PC, 0, L_NOT_CODE);
	chain_load(m, BODY, ISEQ, 16, 8);
	chain_load(m, ENCODED, BODY, 8, 88);
	chain_mul(m, POS, PC, ENCODED, -1);
	chain_mul(m, IDENT, LABEL, PATH, 3);
	chain_mul(m, IDENT, IDENT, LINE, 1 << 24);
	chain_frame(m, BODY, IDENT, POS);
	chain_label(m, L_NOT_CODE);
	chain_if_not(m, ISEQ, 0, CHAIN_STEP); // a block in C
	step_c(m);
}

// A string: its kind among its flags, its bytes in place or elsewhere.
static void text(struct ChainMaker *m, const struct Row *r, enum RtChainText what, u32 str, u32 elsewhere)
{
	chain_load(m, T, str, 0, 32);
	chain_and(m, P, T, T_MASK);
	chain_if_not(m, P, T_STRING, CHAIN_LOST);
	chain_and(m, P, T, ELSEWHERE);
	chain_if_not(m, P, 0, elsewhere);
	if (r->wide) {
		chain_add(m, T + 3, str, 24);
	} else {
		chain_shr(m, T + 2, T, 14);
		chain_and(m, T + 2, T + 2, 31);
		chain_add(m, T + 3, str, 16);
	}
	chain_label(m, elsewhere);
	chain_text(m, what, T + 3, T + 2);
}

// Where the elements of an array are, into P; it is one of at least five words.
static void elements(struct ChainMaker *m, u32 array, u32 elsewhere)
{
	chain_load(m, T, array, 0, 40);
	chain_and(m, P, T, ELSEWHERE);
	chain_add(m, T, P, 0);
	chain_add(m, P, T + 4, 0);
	chain_if_is(m, T, 0, elsewhere);
	chain_add(m, P, array, 16);
	chain_label(m, elsewhere);
}

// A name by its number: symbols are in arrays of 512, each with its string and its object.
static void name_of_c(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, L_C_COPY);
	chain_add(m, IDENT, ID, 0);
	chain_if(m, ID, RT_OP_LT, RT_CHAIN_ZERO, r->ops + 1, L_OP);
	chain_shr(m, IDENT, ID, 4);
	chain_label(m, L_OP);
	chain_and(m, POS, IDENT, 511);
	chain_shr(m, IDENT, IDENT, 9);
	chain_load(m, LABEL, NAMES, 16, 8);
	elements(m, LABEL, L_OUTER);
	chain_mul(m, P, P, IDENT, 8);
	chain_load(m, LABEL, P, 0, 8);
	chain_load(m, P, LABEL, 32, 8); // so many are never in their object
	chain_mul(m, P, P, POS, 16);
	chain_load(m, LABEL, P, 0, 8);
	chain_jump(m, L_NAME);
}

// The index first, then the entries: see line(). How long the index is follows from how many instructions there are.
static void lines(struct ChainMaker *m, const struct Row *r)
{
	chain_load(m, P, BODY, 4, 4);
	chain_load(m, T, BODY, r->lines, 32);
	chain_if_is(m, T + 3, 0, L_DONE);
	chain_if(m, P, RT_OP_LT, RT_CHAIN_ZERO, AT_ONCE, L_SHORT);
	chain_add(m, P, P, 511 - AT_ONCE);
	chain_shr(m, P, P, 9);
	chain_mul(m, P, RT_CHAIN_ZERO, P, BLOCK);
	chain_add(m, P, P, HEAD);
	chain_jump(m, L_INDEX);
	chain_label(m, L_SHORT); // nine in each word; divided by nine, as is right up to 62
	chain_add(m, P, P, 8);
	chain_mul(m, P, RT_CHAIN_ZERO, P, 57);
	chain_shr(m, P, P, 9);
	chain_mul(m, P, RT_CHAIN_ZERO, P, 8);
	chain_label(m, L_INDEX);
	chain_text(m, RT_CHAIN_LINES, T + 3, P);
	chain_and(m, T + 2, T + 2, 0x7fffffff);
	chain_mul(m, T + 2, RT_CHAIN_ZERO, T + 2, r->entry);
	chain_text(m, RT_CHAIN_LINES2, T, T + 2);
	chain_set(m, P, r->entry);
	chain_lines_kind(m, P);
}

// What eval() runs is called as the method or block that it is in: from 3.4 on its own label is "<compiled>".
static void label(struct ChainMaker *m, const struct Row *r)
{
	if (!r->parent)
		return;
	chain_add(m, POS, BODY, 0);
	chain_label(m, L_EVAL);
	chain_load(m, P, POS, 0, 4);
	chain_if_not(m, P, TYPE_EVAL, L_OWN);
	chain_load(m, P, POS, r->parent, 8);
	chain_if_is(m, P, 0, L_OWN);
	chain_load(m, POS, P, 16, 8);
	chain_load(m, LABEL, POS, LABEL_AT, 8);
	chain_jump(m, L_EVAL);
	chain_label(m, L_OWN);
}

static void copy(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, CHAIN_COPY);
	chain_if_is(m, ISEQ, 0, L_C_COPY);
	label(m, r);
	chain_label(m, L_NAME);
	text(m, r, RT_CHAIN_NAME, LABEL, L_NAME_THERE);
	chain_if_is(m, ISEQ, 0, L_DONE);
	chain_load(m, P, PATH, 0, 8); // a string, or an array of it and the real path
	chain_and(m, P, P, T_MASK);
	chain_if_not(m, P, T_ARRAY, L_FILE);
	elements(m, PATH, L_PATHS);
	chain_load(m, PATH, P, 0, 8);
	chain_label(m, L_FILE);
	text(m, r, RT_CHAIN_FILE, PATH, L_FILE_THERE);
	chain_shr(m, LINE, LINE, r->fixnum);
	chain_and(m, LINE, LINE, 0x7fffffff);
	chain_first_line(m, LINE);
	lines(m, r);
	chain_label(m, L_DONE);
	chain_copied(m);
	name_of_c(m, r);
}

static bool chain(const struct RtLang *l, struct RtChain *out)
{
	struct ChainMaker m = {0};
	const struct Row *r = &rows[l->row % ARRAY_LEN(rows)];

	begin(&m, r, &l->ruby);
	step(&m, r);
	copy(&m, r);
	return chain_end(&m, out);
}

// ---- lines
static u64 word(const struct RtCode *c, u32 at)
{
	u64 v = 0;
	if (at + 8 <= MIN(c->nlines, (u32)RT_CHAIN_HALF))
		memcpy(&v, c->lines + at, 8);
	return v;
}

// How many entries begin at or before a position: the first positions' numbers are there, 7 bits each; then blocks of so many before it, so many before each word of
// the block, 9 bits each, and a bit for each position.
static u64 rank(const struct RtCode *c, u32 pos)
{
	if (pos < AT_ONCE)
		return word(c, pos / 9 * 8) >> pos % 9 * 7 & 127;
	pos -= AT_ONCE;
	u32 block = HEAD + pos / 512 * BLOCK, nr = pos % 512 / 64;
	if (block + BLOCK > RT_CHAIN_HALF)
		return 0;
	u64 before = nr ? word(c, block + 8) >> (nr - 1) * 9 & 511 : 0;
	return (u32)word(c, block) + before + (u32)__builtin_popcountll(word(c, block + 16 + nr * 8) << (63 - pos % 64));
}

// 0: it is not in what was copied of the table.
static u32 line(const struct RtCode *c, u32 pos)
{
	u64 before = rank(c, pos >= 8 ? pos / 8 - 1 : 0), at = RT_CHAIN_HALF + 8 + (before - 1) * c->lines_kind;
	u32 n;

	if (!c->lines_kind) // a method in C, or one without a table
		return c->first_line;
	if (!before || at + sizeof(n) > MIN(c->nlines, (u32)RT_CODE_LINES))
		return 0;
	memcpy(&n, c->lines + at, sizeof(n));
	return n;
}

static void code_name(const struct RtCode *c, struct Str *out)
{
	runtime_add_bytes(out, c->name, MIN(c->name_len, RT_CODE_NAME));
}

const struct Runtime ruby_runtime = {RT_LANG_RUBY, "ruby", "[ruby]", symbols, find, line, "a table of releases in sonde", code_name, runtime_file_bytes, chain};
