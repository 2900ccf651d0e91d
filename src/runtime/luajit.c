// LuaJIT 2.1, whose functions its virtual machine runs, code in assembly: recognising it, and what a copied function is called. Input: its object's .dynsym and code;
// functions that were copied. Output: where the machine keeps its thread and its traces, names, lines. The program of its chain: luajitchain.c.
// Where the thread and its base are while a trace runs, the register for that leads to (DISPATCH): how far, the machine's own code tells, which sets that base to 0 when a
// trace is left.
// Invariant: offsets are of builds with pointers of 64 bits (LJ_GC64); others, and other versions, are not known.
#include <elf.h>
#include "runtime/internal.h"

static const char *const symbols[RUNTIME_SYMBOLS] = {"luaJIT_setmode", "lua_call"};
#define VERSION_TEXT "LuaJIT 2.1."
#define MIN_MACHINE 8192 // bytes of code
#define MAX_MACHINE (1 << 20)
#define MAX_DISPATCH 8192 // bytes below r14

static bool is_2_1(struct ElfFile *f, struct Str *text)
{
	const struct ElfSec *s = elffile_section(f, ".rodata");
	char *data = s ? elffile_load(f, s->off, s->size, 64u << 20) : NULL, *at = data ? memmem(data, s->size, VERSION_TEXT, strlen(VERSION_TEXT)) : NULL;
	bool ok = at != NULL;

	if (ok) // elffile_load() puts a zero behind it
		str_addn(text, at + strlen("LuaJIT "), strspn(at + strlen("LuaJIT "), "0123456789.abcdefghijklmnopqrstuvwxyz-"));
	free(data);
	return ok;
}

// jit_base, by the only place of the machine that sets a word to 0 of those that r14 leads to: movq $0,n(%r14); the thread's own is before it. 0: not known.
static s32 thread_place(struct ElfFile *f, u64 lo, u64 hi)
{
	static const u8 movq[] = {0x49, 0xc7, 0x86}, zero[4];
	u64 off, n = hi - lo;
	s32 found = 0, at;
	u8 *p = n <= MAX_MACHINE && elffile_vaddr_to_off(f, lo, &off) ? elffile_load(f, off, n, MAX_MACHINE) : NULL;

	for (u64 i = 0; p && i + 11 <= n; i++) {
		if (memcmp(p + i, movq, sizeof(movq)) || memcmp(p + i + 7, zero, sizeof(zero)))
			continue;
		memcpy(&at, p + i + 3, sizeof(at));
		if (at >= 0 || at < -MAX_DISPATCH || (found && found != at - 8)) {
			found = 0;
			break;
		}
		found = at - 8;
	}
	free(p);
	return found;
}

// What the machine's code loads when it jumps to a trace: mov traces(%r14),%rcx; mov (%rcx,%rax,8),%rax; mov mcode(%rax),%rax; and the number of the trace at work, which
// it sets to a state of its own when one is left: movl $-2,state(%r14). One of each kind, and what they say of a trace as it is known here: else nothing is known.
static void trace_places(struct ElfFile *f, u64 lo, u64 hi, struct RtLang *out)
{
	static const u8 traces[] = {0x49, 0x8b, 0x8e}, nth[] = {0x48, 0x8b, 0x04, 0xc1, 0x48, 0x8b, 0x40, LUAJIT_TRACE_MCODE}, state[] = {0x41, 0xc7, 0x86}, left[] = {0xfe, 0xff, 0xff, 0xff};
	u64 off, n = hi - lo;
	s32 list = 0, number = 0, at;
	u8 *p = n <= MAX_MACHINE && elffile_vaddr_to_off(f, lo, &off) ? elffile_load(f, off, n, MAX_MACHINE) : NULL;
	bool odd = !p;

	for (u64 i = 0; p && i + 15 <= n; i++) {
		bool is_list = !memcmp(p + i, traces, sizeof(traces)) && !memcmp(p + i + 7, nth, sizeof(nth)), is_state = !memcmp(p + i, state, sizeof(state)) && !memcmp(p + i + 7, left, sizeof(left));
		s32 *place = is_list ? &list : &number;
		if (!is_list && !is_state)
			continue;
		memcpy(&at, p + i + 3, sizeof(at));
		odd |= at >= 0 || at < -MAX_DISPATCH || (*place && *place != at);
		*place = at;
	}
	free(p);
	if (!odd && list && number) {
		out->luajit.traces = list;
		out->luajit.state = number;
	}
}

// Are pointers of 64 bits (LJ_GC64)? lua_call() loads the top of the thread's stack, its sixth word then; Ubuntu's before 24.04 are built with ones of 32.
#define TOP 0x28
static bool has_wide_pointers(struct ElfFile *f, u64 lua_call)
{
	u64 off;
	u8 p[64] = {0};

	if (!elffile_vaddr_to_off(f, lua_call, &off) || elffile_read_some(f, off, p, sizeof(p)) < sizeof(p))
		return false;
	for (u32 i = 0; i + 4 <= sizeof(p); i++)
		if ((p[i] & 0xfb) == 0x48 && p[i + 1] == 0x8b && (p[i + 2] & 0xc7) == 0x47) // mov n(%rdi),%r
			return p[i + 3] == TOP;
	return false;
}

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	if (!is_2_1(f, version) || f->machine != EM_X86_64 || !syms[1].name || !has_wide_pointers(f, syms[1].addr) || !runtime_entered(f, syms[1].addr, &out->loop, &out->loop_end) || out->loop_end - out->loop < MIN_MACHINE)
		return false;
	out->luajit.cur_l = thread_place(f, out->loop, out->loop_end);
	if (out->luajit.cur_l)
		trace_places(f, out->loop, out->loop_end, out);
	return true;
}

// ---- names
static u32 line(const struct RtCode *c, u32 pos)
{
	return pos;
}

static void code_file(const struct RtCode *c, struct Str *out)
{
	lua_source(c, c->lines_kind & LUAJIT_TEXT, out);
}

static void code_name(const struct RtCode *c, struct Str *out)
{
	static const struct {
		u8 last; // instruction
		const char *name;
	} calls[] = {{1, "__lt"}, {3, "__le"}, {11, "__eq"}, {19, NULL}, {20, "__unm"}, {21, "__len"}, {22, "__add"}, {23, "__sub"}, {24, "__mul"}, {25, "__div"}, {26, "__mod"}, {27, "__add"},
		     {28, "__sub"}, {29, "__mul"}, {30, "__div"}, {31, "__mod"}, {32, "__add"}, {33, "__sub"}, {34, "__mul"}, {35, "__div"}, {36, "__mod"}, {37, "__pow"}, {38, "__concat"},
		     {53, NULL}, {54, "__index"}, {55, "__newindex"}, {59, "__index"}, {64, "__newindex"}, {68, NULL}, {69, "(for generator)"}};
	u32 called = c->lines_kind & LUAJIT_CALLED, i = 0;

	while (i < ARRAY_LEN(calls) && called && calls[i].last < called - 1)
		i++;
	if (c->name_len) {
		runtime_add_bytes(out, c->name, MIN(c->name_len, RT_CODE_NAME));
	} else if (called && i < ARRAY_LEN(calls) && calls[i].name) {
		str_add(out, calls[i].name);
	} else if (c->lines_kind & LUAJIT_IN_C) {
		str_add(out, "?");
	} else if (!c->first_line) {
		str_add(out, "main chunk");
	} else {
		str_add(out, "function <");
		code_file(c, out);
		str_addf(out, ":%u>", c->first_line);
	}
}

const struct Runtime luajit_runtime = {RT_LANG_LUAJIT, "luajit", "[lua]", symbols, find, line, "a table of releases in sonde", code_name, code_file, luajit_chain,
				       "functions that LuaJIT's compiler has put into a trace since its last check: they may be missing, or stand there though they have returned (luajit -joff makes no traces)"};
