// Perl, whose operations Perl_runops_standard() runs one after the other. Input: its object's .dynsym and version; statements that were copied. Output: the program
// of its chain, names, lines.
// An interpreter (one a thread, under the pthread key PL_thr_key) has a stack of contexts: of calls, evals, loops, blocks. A call from C may have a stack of its own
// (stackinfo), whose predecessor it names. Each context has the statement (COP: file, line) at which it was entered, so a frame's place is what the next inner
// context says, the innermost one's PL_curcop. Frames are what caller() counts: subs, formats, evals, the program itself.
// A loop's frames end with a context to which no operation returns (retop), or with the stack of contexts. An eval in code that C has called runs in a loop of its
// own (docatch()), which then runs what is left of the outer one's: that has no frames. A sub is shown from its first statement on, before it the call is.
// Invariant: what a frame is named by is of the known type, or the stack counts as cut. Offsets are of builds with threads on 64-bit machines.
#include <elf.h>
#include "runtime/internal.h"

enum { SYM_LOOP, SYM_KEY, SYM_VERSION, SYM_ENTERTRY, SYM_NAMES, SYM_CODE };
static const char *const symbols[RUNTIME_SYMBOLS] = {"Perl_runops_standard", "PL_thr_key", "PL_version", "Perl_pp_entertry", "PL_op_name", "PL_ppaddr"};

static const struct Row {
	u32 version;	      // 5.x
	u16 curcop, savestack; // in the interpreter; 16 further than curcop, curstackinfo
	u16 save_op;	      // kind of what is saved: an operation
	u16 si_type;	      // in a stackinfo
	u16 cx_size, cx_cv;   // of a context
	u16 has_try;	      // an eval may be a try block
	u16 aux_array;	      // a stash's name lies behind its array; else in its body
} rows[] = {
	{42, 0xd0, 0x28, 0x13, 0x2c, 0x68, 0x48, 1, 0},
	{40, 0xd0, 0x28, 0x13, 0x2c, 0x68, 0x48, 1, 0},
	{38, 0xd0, 0x28, 0x13, 0x2c, 0x68, 0x48, 1, 0},
	{36, 0xd0, 0x28, 0x12, 0x2c, 0x68, 0x48, 1, 0},
	{34, 0xd0, 0x28, 0x12, 0x2c, 0x68, 0x48, 1, 1},
	{32, 0xe0, 0x28, 0x12, 0x2c, 0x68, 0x48, 0, 1},
	{30, 0xe0, 0x28, 0x12, 0x28, 0x60, 0x40, 0, 1},
};

#define MAX_VERSION 99
static u32 version_of(struct ElfFile *f, u64 addr)
{
	u64 off;
	u8 v;
	return addr && elffile_vaddr_to_off(f, addr, &off) && elffile_read(f, off, &v, 1) && v <= MAX_VERSION ? v : 0;
}

// Pointers in the file, as they are once it is loaded.
#define MAX_RELOCATIONS (16u << 20) // bytes
struct Pointers {
	Elf64_Rela *p; // malloced
	u64 n;
};

static struct Pointers load_pointers(struct ElfFile *f)
{
	const struct ElfSec *s = elffile_section(f, ".rela.dyn");
	u64 size = s ? s->size / sizeof(Elf64_Rela) * sizeof(Elf64_Rela) : 0;
	Elf64_Rela *p = size ? elffile_load(f, s->off, size, MAX_RELOCATIONS) : NULL;
	return (struct Pointers){p, p ? size / sizeof(*p) : 0};
}

static u64 leads_to(struct ElfFile *f, const Elf64_Rela *r)
{
	const struct ElfSec *s = elffile_section(f, ".dynsym");
	u64 type = ELF64_R_TYPE(r->r_info), at = ELF64_R_SYM(r->r_info) * sizeof(Elf64_Sym);
	Elf64_Sym y;

	if (type == R_X86_64_RELATIVE)
		return (u64)r->r_addend;
	if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_64) || !s || at >= s->size || !elffile_read(f, s->off + at, &y, sizeof(y)))
		return 0;
	return y.st_value + (type == R_X86_64_64 ? (u64)r->r_addend : 0);
}

// Of the word at `place`; 0: none.
static u64 pointer_at(struct ElfFile *f, const struct Pointers *v, u64 place)
{
	for (u64 i = 0; i < v->n; i++)
		if (v->p[i].r_offset == place)
			return leads_to(f, &v->p[i]);
	return 0;
}

// The function of an operation, whose number is that of its name: from 5.40 on these functions are not exported.
static u64 find_operation(struct ElfFile *f, const struct Pointers *v, const struct ElfSymbol *names, const struct ElfSymbol *code, const char *name)
{
	char text[16];
	u64 off, n = strlen(name) + 1;

	for (u64 i = 0; i < v->n; i++) {
		u64 at = v->p[i].r_offset - names->addr;
		if (at < MIN(names->size, code->size) && elffile_vaddr_to_off(f, leads_to(f, &v->p[i]), &off) && elffile_read(f, off, text, n) && !memcmp(text, name, n))
			return pointer_at(f, v, code->addr + at);
	}
	return 0;
}

// docatch() has no name in a stripped file. pp_entertry() ends with a jump there, which has pp_entertry() itself as argument: its place, or a word that leads there.
static bool docatch_in(struct ElfFile *f, const struct Pointers *v, u64 entertry, struct RtLang *out)
{
	u64 off, lo, hi, size = 512, self = 0;
	u8 code[512 + 8] = {0};

	if (!elffile_vaddr_to_off(f, entertry, &off) || elffile_read_some(f, off, code, size) < 32)
		return false;
	if (runtime_function(f, entertry, &hi))
		size = MIN(size, hi - entertry);
	for (u64 i = 0; i + 5 <= size; i++) {
		s32 rel;
		memcpy(&rel, code + i + 3, sizeof(rel));
		u64 to = entertry + i + 7 + (u64)(s64)rel;
		if (code[i] == 0x48 && (code[i + 1] == 0x8d || code[i + 1] == 0x8b) && code[i + 2] == 0x35) // lea or mov, into the second argument
			self = code[i + 1] == 0x8d ? to : pointer_at(f, v, to);
		memcpy(&rel, code + i + 1, sizeof(rel));
		if ((code[i] != 0xe9 && code[i] != 0xe8) || self != entertry) // a jump or call
			continue;
		lo = entertry + i + 5 + (u64)(s64)rel;
		if (!runtime_function(f, lo, &hi))
			continue;
		out->code_type = lo;
		out->perl.docatch_size = (u32)(hi - lo);
		return true;
	}
	return false;
}

static bool find_docatch(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out)
{
	struct Pointers v = load_pointers(f);
	u64 entertry = syms[SYM_ENTERTRY].name ? syms[SYM_ENTERTRY].addr : 0;

	if (!entertry && syms[SYM_NAMES].name && syms[SYM_CODE].name)
		entertry = find_operation(f, &v, &syms[SYM_NAMES], &syms[SYM_CODE], "entertry");
	bool ok = f->machine == EM_X86_64 && entertry && docatch_in(f, &v, entertry, out);
	free(v.p);
	return ok;
}

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	const struct ElfSymbol *loop = &syms[SYM_LOOP], *key = &syms[SYM_KEY];
	u32 v = version_of(f, syms[SYM_VERSION].name ? syms[SYM_VERSION].addr : 0);

	if (v)
		str_addf(version, "5.%u", v);
	if (!key->name) {
		str_add(version, " (without threads)");
		return false;
	}
	out->perl.musl = runtime_of_musl(f, version);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].version != v)
			continue;
		out->row = (u16)i;
		out->root = key->addr;
		out->loop = loop->addr;
		out->loop_end = loop->addr + loop->size;
		return loop->size && find_docatch(f, syms, out);
	}
	return false;
}

// Registers. COPs, bodies of subs and what names them are loaded over a context's words once these are done with.
enum {
	KEY = RT_CHAIN_ROOT, DOCATCH = RT_CHAIN_ROOT2, MY, CUR, GV, SI, CXSTACK, PREV, SI_NEXT, CXIX, SI_TYPE, LEFT, AT, CX, CODE, OLD, W, CV = W + 6, PENDING, USED,
	CAUGHT, BEGINS, T, P
};
enum { LINE = W, FILE_NAME = W + 2, SEQ = W + 3, FLAGS = W + 4, DEPTH = W + 5, IDENT = W + 5, RETOP = CX + 6 };
_Static_assert(SI == CUR + 2 && SI_TYPE == CXSTACK + 4 && OLD == CX + 2 && CV == CX + 9 && P < (u32)RT_CHAIN_NEXT, "loaded together");
enum {
	L_KEY = CHAIN_OWN, L_BEGUN, L_GROUP, L_CALLED, L_END, L_NEXT, L_EVAL_BELOW, L_BACK, L_TAKE, L_SKIP, L_DEFER, L_STACK_ENDS,
	L_EMPTY, L_NONE_IDLE, L_MAIN, L_SUB, L_MULTICALL, L_BUSY, L_RUNS, L_CODE, L_RETURNS, L_BEGUN_SUB, L_NO_CODE, L_NOT_BEGUN,
	L_LEFT, L_IDLE, L_EVAL, L_EVAL_RUNS, L_EVAL_RETURNS, L_FRAME, L_CALLED_IN_OP, L_COP, L_TAKE_COP, L_COMPILING, L_FAST, L_FAST_ENDS, L_NOT_FAST, L_HAVE_CX, L_BY_GV, L_EGV, L_STASH,
	L_ONE_NAME, L_PERHAPS, L_FILE
};
_Static_assert(L_FILE < CHAIN_LABELS, "labels");
#define RSP 7 // DWARF
#define MYOP_REACH (1 << 18)
#define INTERPRETER 0x2000 // bytes of it, at least

enum { CX_SUB = 9, CX_FORMAT, CX_EVAL, CX_SUBST, CX_DEFER };
#define CX_KIND 0xf
#define CX_MULTICALL 0x10
#define CX_SUB_RE 0x40
#define CX_SUB_RE_FAKE 0x80
#define CX_EVALBLOCK 0x40
#define CX_TRY 0x80
#define SI_MAIN 1
#define SI_SORT 3
#define SAVE_KIND 0x3f
#define FAST 2 // of BEGINS: see fast()
#define USED_OUTER 2 // and the loop of the next stack's innermost context is idle
#define SV_GV 9
#define SV_CV 13
#define SV_FORMAT 14
#define SV_HAS_AUX 0x2000000
#define CV_NAMED 0x8000
#define CV_LEXICAL 0x10000
// The next context may be one without an operation to return to, but no loop runs it now: that one has ended for now; has not begun, as C code was called;
// has ended for now, and C code has called Perl again.
enum { IDLE_NO, IDLE_LOOP, IDLE_CALL, IDLE_OUTER };

static void load_stackinfo(struct ChainMaker *m, const struct Row *r)
{
	chain_load(m, CXSTACK, SI, 8, 40);
	chain_add(m, LEFT, CXIX, 1);
	chain_and(m, LEFT, LEFT, 0x7fffffff); // -1: none
	chain_mul(m, AT, CXSTACK, LEFT, r->cx_size);
	if (r->si_type > 0x28)
		chain_shr(m, SI_TYPE, SI_TYPE, 32);
	chain_and(m, SI_TYPE, SI_TYPE, 0xff);
}

// The interpreter, and whether the innermost operation is one of a loop: PL_op is none between the runs of a loop (sort, first), and on the stack where call_sv()
// has called a function in C.
static void begin(struct ChainMaker *m, const struct Row *r, bool musl)
{
	chain_load(m, W, KEY, 0, 4);
	chain_thread_value(m, musl, MY, W, P, L_KEY);
	chain_if_is(m, MY, 0, CHAIN_LOST);
	chain_load(m, CUR, MY, r->curcop, 24);
	chain_if_is(m, SI, 0, CHAIN_LOST);
	load_stackinfo(m, r);
	chain_load(m, T, MY, 8, 8);
	chain_set(m, CAUGHT, 0);
	chain_set(m, RT_CHAIN_ROOT, IDLE_LOOP);
	chain_if_is(m, T, 0, L_BEGUN);
	chain_set(m, RT_CHAIN_ROOT, IDLE_NO);
	chain_op(m, RT_OP_NATIVE, P, 0, 0, RSP);
	chain_if(m, P, RT_OP_LT, T, 0, L_BEGUN);
	chain_add(m, P, P, -MYOP_REACH);
	chain_if(m, T, RT_OP_LT, P, 0, L_BEGUN);
	chain_set(m, RT_CHAIN_ROOT, IDLE_CALL);
	chain_label(m, L_BEGUN);
	chain_set(m, PENDING, 0);
	chain_set(m, USED, 0);
	chain_set(m, BEGINS, 1);
	chain_ready(m, CHAIN_STEP);
}
#define IDLE RT_CHAIN_ROOT // once the key has been read

// A loop's frames begin: if it returns to docatch(), the next outer one has none.
static void group(struct ChainMaker *m, const struct RtLang *l)
{
	chain_label(m, CHAIN_STEP);
	chain_if_is(m, BEGINS, FAST, L_FAST);
	chain_if_is(m, BEGINS, 0, L_NEXT);
	chain_set(m, BEGINS, 0);
	chain_if_is(m, CAUGHT, 0, L_GROUP);
	chain_set(m, CAUGHT, 0);
	chain_label(m, L_END);
	chain_set(m, BEGINS, 1);
	chain_op(m, RT_OP_NONE, 0, 0, 0, 0);
	chain_label(m, L_GROUP);
	chain_op(m, RT_OP_NATIVE, T, 0, 0, RSP);
	chain_op(m, RT_OP_TRY, T, T, 0, -8);
	chain_if(m, T, RT_OP_LT, DOCATCH, 0, L_NEXT);
	chain_if(m, T, RT_OP_LT, DOCATCH, l->perl.docatch_size, L_CALLED);
	chain_jump(m, L_NEXT);
	chain_label(m, L_CALLED);
	chain_set(m, CAUGHT, 1);
}

// The next context into CX, its kind into T. Behind one without an operation to return to (PENDING) the loop's frames have ended, but for what C has put below
// the call, an eval or a block's context.
static void next(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, L_NEXT);
	chain_if_is(m, LEFT, 0, L_STACK_ENDS);
	chain_add(m, LEFT, LEFT, -1);
	chain_add(m, AT, AT, -(s64)r->cx_size);
	chain_load(m, CX, AT, 0, r->cx_cv + 8u);
	if (r->cx_cv < 0x48)
		chain_add(m, CV, CX + r->cx_cv / 8, 0);
	chain_label(m, L_HAVE_CX);
	chain_and(m, T, CX, CX_KIND);
	chain_if_is(m, PENDING, 0, L_TAKE);
	chain_if_is(m, T, CX_EVAL, L_EVAL_BELOW);
	chain_set(m, PENDING, 2);
	chain_if_is(m, T, CX_FORMAT, L_BACK);
	chain_if_is(m, T, CX_DEFER, L_TAKE);
	chain_if_not(m, T, CX_SUB, L_NEXT);
	chain_and(m, P, CX, CX_SUB_RE);
	chain_if_not(m, P, 0, L_TAKE);
	chain_label(m, L_BACK);
	chain_add(m, LEFT, LEFT, 1);
	chain_add(m, AT, AT, r->cx_size);
	chain_set(m, PENDING, 0);
	chain_set(m, USED, 0);
	chain_jump(m, L_END);
	chain_label(m, L_EVAL_BELOW);
	chain_if_not(m, PENDING, 1, L_BACK);
	chain_set(m, PENDING, 2);
	chain_if_not(m, RETOP, 0, L_BACK);
	chain_and(m, P, CX, CX_EVALBLOCK);
	chain_if_is(m, P, 0, L_BACK);
	chain_label(m, L_TAKE);
	chain_set(m, USED, 1);
	chain_if_is(m, T, CX_SUB, L_SUB);
	chain_if_is(m, T, CX_FORMAT, L_RUNS);
	chain_if_is(m, T, CX_EVAL, L_EVAL);
	chain_if_is(m, T, CX_DEFER, L_DEFER);
	chain_if_not(m, SI_TYPE, SI_SORT, L_SKIP); // a sort's block
	chain_if_is(m, LEFT, 0, L_MULTICALL);
	chain_label(m, L_SKIP);
	chain_set(m, IDLE, IDLE_NO);
	chain_jump(m, L_NEXT);
	chain_label(m, L_DEFER); // its block has a loop
	chain_set(m, IDLE, IDLE_NO);
	chain_set(m, PENDING, 0);
	chain_set(m, USED, 0);
	chain_jump(m, L_END);
}

static void stack_ends(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, L_STACK_ENDS);
	chain_if_is(m, IDLE, IDLE_LOOP, L_EMPTY); // C code is about to call, or has called
	chain_set(m, IDLE, IDLE_NO);
	chain_label(m, L_EMPTY);
	chain_if_is(m, SI_TYPE, SI_MAIN, L_MAIN);
	chain_if_not(m, USED, USED_OUTER, L_NONE_IDLE);
	chain_set(m, IDLE, IDLE_OUTER);
	chain_label(m, L_NONE_IDLE);
	chain_add(m, SI, PREV, 0);
	load_stackinfo(m, r);
	chain_add(m, T, USED, 0);
	chain_set(m, USED, 0);
	chain_set(m, PENDING, 0);
	chain_if_is(m, T, 0, L_NEXT);
	chain_jump(m, L_END);
	chain_label(m, L_MAIN);
	chain_add(m, T, PENDING, 0);
	chain_set(m, PENDING, 0);
	chain_if_not(m, T, 0, L_END);
	chain_set(m, GV, 0);
	chain_set(m, FLAGS, 1);
	chain_add(m, CODE, CUR, 0);
	chain_set(m, RT_CHAIN_NEXT, 0);
	chain_set(m, RT_CHAIN_LAST, 1);
	chain_jump(m, L_COP);
}

// A sub or format, with the body of its code in W.
static void sub(struct ChainMaker *m)
{
	chain_label(m, L_SUB);
	chain_and(m, P, CX, CX_SUB_RE_FAKE);
	chain_if_not(m, P, 0, L_SKIP);
	chain_and(m, P, CX, CX_MULTICALL);
	chain_if_is(m, P, 0, L_RUNS);
	chain_label(m, L_MULTICALL);
	chain_if_is(m, IDLE, IDLE_LOOP, L_IDLE);
	chain_if_not(m, IDLE, IDLE_OUTER, L_BUSY);
	chain_set(m, USED, 0);
	chain_set(m, RETOP, 1);
	chain_label(m, L_BUSY);
	chain_if_not(m, T, CX_SUB, L_SKIP);
	chain_label(m, L_RUNS);
	chain_set(m, IDLE, IDLE_NO);
	chain_add(m, P, RETOP, 0);
	chain_if_is(m, CV, 0, L_NO_CODE);
	chain_load(m, W, CV, 0, 16);
	chain_add(m, CV, W, 0);
	chain_shr(m, T, W + 1, 32);
	chain_and(m, T, T, 0xff);
	chain_if_is(m, T, SV_CV, L_CODE);
	chain_if_not(m, T, SV_FORMAT, CHAIN_LOST);
	chain_label(m, L_CODE);
	chain_load(m, W, CV, 0x38, 44);
	chain_add(m, GV, W, 0);
	chain_and(m, T, DEPTH, 0x7fffffff);
	chain_if(m, CUR, RT_OP_NE, OLD, 0, L_BEGUN_SUB);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, 2, L_NOT_BEGUN); // else it may have called itself
	chain_label(m, L_BEGUN_SUB);
	chain_if_is(m, T, 0, L_LEFT);
	chain_label(m, L_RETURNS);
	chain_set(m, PENDING, 1);
	chain_if_is(m, P, 0, L_FRAME);
	chain_set(m, PENDING, 0);
	chain_if_not(m, USED, 1, L_FRAME);
	chain_set(m, BEGINS, FAST);
	chain_jump(m, L_FRAME);
	chain_label(m, L_NO_CODE);
	chain_if(m, CUR, RT_OP_EQ, OLD, 0, L_NOT_BEGUN);
	chain_label(m, L_LEFT); // its last operation is at work
	chain_add(m, CUR, OLD, 0);
	chain_if_not(m, P, 0, L_NEXT);
	chain_set(m, PENDING, 1);
	chain_jump(m, L_NEXT);
	chain_label(m, L_IDLE); // no loop runs it
	chain_set(m, USED, 0);
	chain_set(m, IDLE, IDLE_NO);
	chain_add(m, CUR, OLD, 0);
	chain_jump(m, L_NEXT);
	chain_label(m, L_NOT_BEGUN); // nor has the loop, if C calls
	chain_set(m, USED, 0);
	chain_if_not(m, P, 0, L_NEXT);
	chain_set(m, IDLE, IDLE_CALL);
	chain_jump(m, L_NEXT);
}

// Behind a sub that was called by Perl most often another one is: nothing is pending, and it has begun, for it has called. What differs goes the long way.
static void fast(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, L_FAST);
	chain_if_is(m, LEFT, 0, L_FAST_ENDS);
	chain_add(m, LEFT, LEFT, -1);
	chain_add(m, AT, AT, -(s64)r->cx_size);
	chain_load(m, CX, AT, 0, r->cx_cv + 8u);
	if (r->cx_cv < 0x48)
		chain_add(m, CV, CX + r->cx_cv / 8, 0);
	chain_and(m, T, CX, CX_KIND | CX_MULTICALL | CX_SUB_RE | CX_SUB_RE_FAKE);
	chain_if_not(m, T, CX_SUB, L_NOT_FAST);
	chain_if_is(m, RETOP, 0, L_NOT_FAST);
	chain_if_is(m, CV, 0, L_NOT_FAST);
	chain_load(m, CV, CV, 0, 8);
	chain_load(m, W, CV, 0x38, 44);
	chain_add(m, GV, W, 0);
	chain_add(m, CODE, CUR, 0);
	chain_add(m, CUR, OLD, 0);
	chain_jump(m, L_COP);
	chain_label(m, L_NOT_FAST);
	chain_set(m, BEGINS, 0);
	chain_jump(m, L_HAVE_CX);
	chain_label(m, L_FAST_ENDS);
	chain_set(m, BEGINS, 0);
	chain_jump(m, L_STACK_ENDS);
}

static void eval(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, L_EVAL);
	if (r->has_try) {
		chain_and(m, P, CX, CX_TRY);
		chain_if_not(m, P, 0, L_SKIP);
	}
	chain_if_is(m, IDLE, IDLE_NO, L_EVAL_RUNS);
	chain_set(m, IDLE, IDLE_NO);
	chain_and(m, P, CX, CX_EVALBLOCK);
	chain_if_is(m, P, 0, L_EVAL_RUNS);
	chain_if_is(m, RETOP, 0, L_IDLE);
	chain_label(m, L_EVAL_RUNS);
	chain_set(m, GV, 0);
	chain_set(m, PENDING, 0);
	chain_if_not(m, RETOP, 0, L_EVAL_RETURNS);
	chain_set(m, PENDING, 1); // C that calls C may have put more of them
	chain_label(m, L_EVAL_RETURNS);
	chain_set(m, FLAGS, 0);
}

// The frame of what is at the statement CUR. The one that is being compiled is at the same place, whatever it is: then its file's name tells it from others.
static void frame(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, L_FRAME);
	chain_set(m, RT_CHAIN_LAST, 0);
	chain_set(m, RT_CHAIN_NEXT, 1);
	chain_add(m, CODE, CUR, 0);
	chain_add(m, CUR, OLD, 0);
	chain_if_is(m, PENDING, 0, L_COP);
	chain_and(m, T, CX, CX_MULTICALL);
	chain_if_not(m, T, 0, L_COP);
	chain_shr(m, P, CX, 32);
	chain_load(m, T, MY, r->savestack, 8);
	chain_mul(m, P, T, P, 8);
	chain_load(m, W, P, -16, 16); // call_sv() has kept the operation that called it
	chain_if_not(m, W, 0, L_CALLED_IN_OP);
	chain_and(m, W, W + 1, SAVE_KIND);
	chain_if_not(m, W, r->save_op, L_CALLED_IN_OP);
	chain_set(m, USED, USED_OUTER);
	chain_label(m, L_CALLED_IN_OP);
	chain_if_not(m, LEFT, 0, L_COP);
	chain_if_is(m, SI_TYPE, SI_MAIN, L_PERHAPS);
	chain_op(m, RT_OP_TRY, T, PREV, 0, 0x10); // the main stack, which has none before it, and nothing on it?
	chain_if_not(m, T, 0, L_COP);
	chain_op(m, RT_OP_TRY, T, PREV, 0, 0x20);
	chain_add(m, T, T, 1);
	chain_and(m, T, T, 0x7fffffff);
	chain_if_not(m, T, 0, L_COP);
	chain_label(m, L_PERHAPS);
	chain_set(m, RT_CHAIN_NEXT, RT_CHAIN_PERHAPS); // C has called Perl, the program is still being compiled (BEGIN, use), or it has ended (END, DESTROY)
	chain_label(m, L_COP);
	chain_load(m, W, CODE, 0x20, 32);
	chain_shr(m, LINE, LINE, 32);
	chain_mul(m, IDENT, GV, FILE_NAME, 3);
	chain_mul(m, IDENT, IDENT, FLAGS, 5);
	chain_mul(m, IDENT, IDENT, SEQ, 0x1e3779b1);
	chain_mul(m, IDENT, IDENT, LINE, 0x2545f491);
	chain_mul(m, P, CODE, MY, -1);
	chain_if(m, P, RT_OP_LT, RT_CHAIN_ZERO, INTERPRETER, L_COMPILING);
	chain_label(m, L_TAKE_COP);
	chain_frame(m, CODE, IDENT, LINE);
	chain_label(m, L_COMPILING);
	chain_op(m, RT_OP_TRY, P, FILE_NAME, 0, 6); // "(eval N"
	chain_mul(m, IDENT, IDENT, P, 7);
	chain_jump(m, L_TAKE_COP);
}

static void name(struct ChainMaker *m, enum RtChainText what, u32 hek)
{
	chain_load(m, P, hek, 4, 4);
	chain_add(m, hek, hek, 8);
	chain_text(m, what, hek, P);
}

// A sub has its name itself, with its package, or in its GV, or rather in the one that this came from (egv).
static void copy(struct ChainMaker *m, const struct Row *r)
{
	chain_label(m, CHAIN_COPY);
	chain_if_is(m, GV, 0, L_FILE);
	chain_shr(m, FLAGS, FLAGS, 32);
	chain_and(m, T, FLAGS, CV_NAMED);
	chain_if_is(m, T, 0, L_BY_GV);
	name(m, RT_CHAIN_NAME, GV);
	chain_set(m, T, 0);
	chain_and(m, P, FLAGS, CV_LEXICAL);
	chain_set(m, FLAGS, 0);
	chain_if_not(m, P, 0, L_FILE);
	chain_load(m, T, CV, 0x20, 8);
	chain_jump(m, L_STASH);
	chain_label(m, L_BY_GV);
	chain_set(m, FLAGS, 0);
	chain_load(m, CX, GV, 0, 24);
	chain_shr(m, P, CODE, 32);
	chain_and(m, P, P, 0xff);
	chain_if_not(m, P, SV_GV, CHAIN_LOST);
	chain_load(m, P, OLD, 0x38, 8);
	chain_if_is(m, P, 0, L_EGV);
	chain_load(m, CX, P, 0, 8);
	chain_label(m, L_EGV);
	chain_load(m, CX, CX, 0x20, 16);
	chain_add(m, T, CODE, 0);
	name(m, RT_CHAIN_NAME, CX);
	chain_label(m, L_STASH);
	chain_if_is(m, T, 0, L_FILE);
	chain_load(m, CX, T, 0, 24);
	chain_shr(m, P, CODE, 32);
	chain_and(m, P, P, SV_HAS_AUX);
	chain_if_is(m, P, 0, L_FILE);
	if (r->aux_array) {
		chain_load(m, P, CX, 0x18, 8);
		chain_mul(m, CX, OLD, P, 8);
		chain_add(m, CX, CX, 8);
	} else {
		chain_add(m, CX, CX, 0x20);
	}
	chain_load(m, P, CX, 0x1c, 4);
	chain_load(m, CX, CX, 0, 8);
	chain_if_is(m, CX, 0, L_FILE);
	chain_if_is(m, P, 0, L_ONE_NAME);
	chain_load(m, CX, CX, 0, 8);
	chain_if_is(m, CX, 0, L_FILE);
	chain_label(m, L_ONE_NAME);
	name(m, RT_CHAIN_LINES, CX);
	chain_label(m, L_FILE);
	chain_first_line(m, FLAGS);
	chain_cstr(m, RT_CHAIN_FILE, FILE_NAME);
	chain_copied(m);
}

static bool chain(const struct RtLang *l, struct RtChain *out)
{
	const struct Row *r = &rows[l->row % ARRAY_LEN(rows)];
	struct ChainMaker m = {0};

	begin(&m, r, l->perl.musl);
	group(&m, l);
	next(&m, r);
	stack_ends(&m, r);
	sub(&m);
	fast(&m, r);
	eval(&m, r);
	frame(&m, r);
	copy(&m, r);
	return chain_end(&m, out);
}

static u32 line(const struct RtCode *c, u32 pos)
{
	(void)c;
	return pos;
}

// The package is among the lines, of which a statement has none; the first line is 1 of the program itself, as of an eval it is 0.
static void code_name(const struct RtCode *c, struct Str *out)
{
	if (!c->name_len) {
		str_add(out, c->first_line ? "(main)" : "(eval)");
		return;
	}
	if (c->nlines) {
		runtime_add_bytes(out, c->lines, MIN(c->nlines, RT_CODE_LINES));
		str_add(out, "::");
	}
	runtime_add_bytes(out, c->name, MIN(c->name_len, RT_CODE_NAME));
}

const struct Runtime perl_runtime = {RT_LANG_PERL, "perl", "[perl]", symbols, find, line, "a table of releases in sonde", code_name, runtime_file_bytes, chain};
