// Lua of PUC-Rio, whose functions luaV_execute() runs: recognising it, and what a copied function is called. Input: its object's .dynsym and code; functions that were
// copied. Output: where the loop keeps what, names, lines.
// The loop has no name in a library: it is the largest function that lua_call() leads to. Its state is in registers that are saved over calls, which its first
// instructions tell: the thread (lua_State, the first argument), the call at hand (CallInfo), the instruction that comes next. Of 5.1, which keeps no CallInfo, the
// function at hand, on its stack. The program of its chain: luachain.c.
// Invariant: what is not found as it is known makes a version that is not known.
#include <elf.h>
#include "runtime/internal.h"

static const char *const symbols[RUNTIME_SYMBOLS] = {"lua_newstate", "lua_ident", "lua_callk", "lua_call", "luaJIT_setmode", "lua_resume"};
enum { SYM_MARK, SYM_IDENT, SYM_CALLK, SYM_CALL, SYM_JIT, SYM_RESUME };

static u32 version_of(struct ElfFile *f, u64 ident, struct Str *text)
{
	char s[64] = "", *at, *end;
	u64 off;

	if (!ident || !elffile_vaddr_to_off(f, ident, &off) || !elffile_read_some(f, off, s, sizeof(s) - 1) || !(at = strstr(s, ": Lua ")))
		return 0;
	at += strlen(": Lua ");
	str_addn(text, at, strspn(at, "0123456789."));
	u32 v = (u32)strtoul(at, &end, 10) << 8;
	return v | (*end == '.' ? (u32)strtoul(end + 1, NULL, 10) & 0xff : 0);
}

// ---- what the loop keeps where. Instructions of x86-64: REX.W, opcode, ModRM.
#define MAX_LOOP (1u << 17)
#define BEGINNING 160 // bytes
#define LOAD 0x8b
#define STORE 0x89
static const u8 dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
enum { RBP = 6, RSP = 7 }; // DWARF
#define RDI 7 // as numbered in instructions: the first argument, which no call saves
#define IS_SAVED(r) ((r) == 3 || (r) == 5 || (r) >= 12) // over calls: rbx, rbp, r12 to r15

// A load or store of eight bytes at base + disp (one byte): its registers, as numbered in instructions.
static bool is_move(const u8 *p, u8 opcode, u32 disp, u32 *base, u32 *reg)
{
	*base = (p[2] & 7u) | (p[0] & 1u) << 3;
	*reg = (p[2] >> 3 & 7u) | (p[0] & 4u) << 1;
	return (p[0] & 0xf8) == 0x48 && p[1] == opcode && (p[2] & 0xc0) == 0x40 && (p[2] & 7) != 4 && p[3] == disp;
}

// mov %from,%to at p.
static bool is_copy(const u8 *p, u32 from, u32 *to)
{
	*to = (p[2] & 7u) | (p[0] & 1u) << 3;
	return (p[0] & 0xfe) == (0x48 | (from & 8) >> 1) && p[1] == STORE && (p[2] & 0xf8) == (0xc0 | (from & 7) << 3);
}

// mov %rdi to a register that is saved.
static bool find_thread(const u8 *code, u32 n, u32 *reg)
{
	for (u32 i = 0; i + 3 <= n; i++)
		if (is_copy(code + i, RDI, reg) && IS_SAVED(*reg))
			return true;
	return false;
}

// Builds for size (-Os) have it on the stack, always: mov %rdi,disp(%rsp).
static bool find_home(const u8 *code, u32 n, s32 *disp)
{
	for (u32 i = 0; i + 5 <= n; i++) {
		*disp = code[i + 2] == 0x7c ? (s8)code[i + 4] : 0;
		if (code[i] == 0x48 && code[i + 1] == STORE && (code[i + 2] == 0x7c || code[i + 2] == 0x3c) && code[i + 3] == 0x24)
			return true;
	}
	return false;
}

// Is it moved on to r8 to r11, which are not saved, as Ubuntu's 5.4 does? Then the loop puts it onto its stack around calls, most often to the same place.
static bool is_moved_on(const u8 *code, u32 n, u32 from, u32 *to)
{
	for (u32 i = 0; i + 3 <= n; i++)
		if (is_copy(code + i, from, to) && *to >= 8 && *to < 12)
			return true;
	return false;
}

// mov %reg,disp(%rbp) or disp(%rsp): where most often, and up to three places more.
#define MANY 8
#define SOME 3
static bool find_slots(const u8 *code, u32 n, u32 reg, struct RtLua *out)
{
	u32 hits[2][256] = {0}, sum[2] = {0}, most = 0;
	for (u32 i = 0; i + 5 <= n; i++) {
		const u8 *p = code + i;
		bool by_rsp = (p[2] & 7) == 4 && p[3] == 0x24;
		if (p[0] != 0x4c || p[1] != STORE || (p[2] & 0xf8) != (0x40 | (reg & 7) << 3) || (!by_rsp && (p[2] & 7) != 5))
			continue;
		hits[by_rsp][p[by_rsp ? 4 : 3]]++;
		sum[by_rsp]++;
	}
	u32 k = sum[1] > sum[0];
	out->base = k ? RSP : RBP;
	out->thread = dwarf[reg];
	for (u32 i = 0; i < RT_LUA_SLOTS; i++) {
		u32 best = 0;
		for (u32 at = 0; at < 256; at++)
			best = hits[k][at] > hits[k][best] ? at : best;
		most = MAX(most, hits[k][best]);
		out->slot[i] = hits[k][best] >= SOME ? (s8)best : out->slot[0];
		hits[k][best] = 0;
	}
	return most >= MANY;
}

// What the next instruction is loaded from.
static bool find_call(const u8 *code, u32 n, u32 disp, u32 thread, u32 *reg)
{
	u32 to;
	for (u32 i = 0; i + 4 <= n; i++)
		if (is_move(code + i, LOAD, disp, reg, &to) && IS_SAVED(*reg) && *reg != thread)
			return true;
	return false;
}

// What is stored there most often, before whatever may fail.
static bool find_next(const u8 *code, u32 n, u32 disp, u32 at, u32 *reg)
{
	u32 hits[16] = {0}, best = 0, base, from;
	for (u32 i = 0; i + 4 <= n; i++)
		if (is_move(code + i, STORE, disp, &base, &from) && base == at && IS_SAVED(from))
			hits[from]++;
	for (u32 i = 0; i < 16; i++)
		if (hits[i] > hits[best])
			best = i;
	*reg = best;
	return hits[best] >= 4;
}

// mov %rax,disp(%rsp); mov 0x20(%rax),%rax: the closure, then its function.
static bool find_closure(const u8 *code, u32 n, u32 *disp)
{
	for (u32 i = 0; i + 9 <= n; i++) {
		u32 wide = !memcmp(code + i, "\x48\x89\x44\x24", 4);
		*disp = wide ? code[i + 4] : 0;
		if ((wide || !memcmp(code + i, "\x48\x89\x04\x24", 4)) && !memcmp(code + i + 4 + wide, "\x48\x8b\x40\x20", 4))
			return true;
	}
	return false;
}

// mov %reg,disp(%rsp) at p.
static bool is_spill(const u8 *p, u32 reg, s32 *disp)
{
	*disp = (s8)p[4];
	return p[0] == (0x48 | (reg & 8) >> 1) && p[1] == STORE && p[2] == (0x44 | (reg & 7) << 3) && p[3] == 0x24;
}

// Where a closure takes its upvalues, some builds need the registers of thread and call for other values: both are put onto the stack, one not far from the other, or
// the thread is moved to another register that is saved (5.1, which has no call; Ubuntu's 5.4, which puts the call onto the stack then).
#define NEAR 24 // bytes
#define AROUND 128
static void find_spills(const u8 *code, u32 n, u32 thread, u32 call, struct RtLua *out)
{
	u32 nr = 0;
	for (u32 i = BEGINNING + NEAR; i + NEAR + 5 <= n && nr < RT_LUA_SPILLS; i++) {
		if (!is_spill(code + i, thread, &out->spill[nr].thread))
			continue;
		u32 k = i - NEAR;
		while (k < i + NEAR && !is_spill(code + k, call, &out->spill[nr].call))
			k++;
		nr += k < i + NEAR;
	}
	for (u32 i = BEGINNING + NEAR; i + AROUND <= n && nr < RT_LUA_SPILLS; i++) { // the thread by way of a register that calls do not save
		if (!is_spill(code + i, call, &out->spill[nr].call))
			continue;
		u32 k = i - NEAR, by;
		while (k < i + NEAR && (!is_copy(code + k, thread, &by) || IS_SAVED(by)))
			k++;
		u32 end = k < i + NEAR ? i + AROUND - 5 : k;
		while (k < end && !is_spill(code + k, by, &out->spill[nr].thread))
			k++;
		nr += k < end;
	}
	if (nr < RT_LUA_SPILLS)
		out->spill[nr].thread = out->spill[nr].call = 0;
}

// With a call: is it put onto the stack near there?
static void find_other(const u8 *code, u32 n, u32 thread, u32 call, struct RtLua *out)
{
	for (u32 i = BEGINNING; i + NEAR + 5 <= n && !out->other; i++) {
		u32 to, k = i;
		if (!is_copy(code + i, thread, &to) || !IS_SAVED(to))
			continue;
		while (call && k < i + NEAR && !is_spill(code + k, call, &out->other_call))
			k++;
		out->other = k < i + NEAR ? dwarf[to] : 0;
	}
	if (!out->other || !call)
		out->other_call = 0;
}

static bool find_state(const u8 *code, u32 n, const struct LuaRow *r, struct RtLua *out)
{
	u32 begin = MIN(n, (u32)BEGINNING), thread, call = 0, next = 0, moved;
	bool saved = find_thread(code, begin, &thread);

	if (!saved && !find_home(code, begin, &out->slot[0]))
		return false;
	thread = saved ? thread : RDI;
	out->thread = saved ? dwarf[thread] : RT_LUA_ON_STACK;
	if (saved && is_moved_on(code, begin, thread, &moved) && (r->version != 0x504 || !find_slots(code, n, moved, out)))
		return false;
	if (r->version == 0x501) {
		if (!find_closure(code, begin, &out->closure) || !find_next(code, n, 0x30, thread, &next))
			return false;
		find_other(code, n, thread, 0, out);
	} else if (!find_call(code, begin, r->ci_pc * 8, thread, &call)) {
		return false;
	} else {
		out->call = dwarf[call];
		if (saved && !out->base)
			find_spills(code, n, thread, call, out);
		else if (saved)
			find_other(code, n, moved, call, out);
	}
	if (r->version == 0x504 && !find_next(code, n, r->ci_pc * 8, call, &next))
		return false;
	out->next = r->version == 0x503 ? 0 : dwarf[next]; // which the call itself has, always
	return true;
}

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	const struct ElfSymbol *call = syms[SYM_CALLK].name ? &syms[SYM_CALLK] : &syms[SYM_CALL];
	u32 v = version_of(f, syms[SYM_IDENT].name ? syms[SYM_IDENT].addr : 0, version);
	const struct LuaRow *r = NULL;
	u64 off;

	if (syms[SYM_JIT].name)
		str_add(version, "(LuaJIT)");
	for (u32 i = 0; i < LUA_ROWS; i++)
		if (lua_rows[i].version == v)
			r = &lua_rows[out->row = (u16)i];
	if (!r || f->machine != EM_X86_64 || !call->name || !runtime_largest_called(f, call->addr, 3, &out->loop, &out->loop_end))
		return false;
	if (syms[SYM_RESUME].name && syms[SYM_RESUME].size < MAX_LOOP) {
		out->resume = syms[SYM_RESUME].addr;
		out->resume_end = out->resume + syms[SYM_RESUME].size;
	}
	u64 size = out->loop_end - out->loop;
	u8 *code = size <= MAX_LOOP && elffile_vaddr_to_off(f, out->loop, &off) ? elffile_load(f, off, size, MAX_LOOP) : NULL;
	bool ok = code && find_state(code, (u32)size, r, &out->lua);
	free(code);
	return ok;
}

// ---- lines: of 5.4 an instruction has its line's difference from the one before, or LINE_ABS, and the line is in a table of its own
#define LINE_ABS (-128)
static u32 line(const struct RtCode *c, u32 pos)
{
	u32 copied = MIN(c->nlines, (u32)RT_CODE_LINES), first = RT_CHAIN_HALF + 8, nr = 0, abs[2];
	s64 at = c->first_line;

	if ((c->lines_kind >> LUA_ROW_AT & 3) != LUA_ROW_54)
		return pos;
	if (copied <= first || pos >= copied - first)
		return 0;
	for (u32 i = 0; i <= pos; i++) {
		s8 delta = (s8)c->lines[first + i];
		at += delta;
		if (delta != LINE_ABS)
			continue;
		if (nr >= RT_CHAIN_HALF / sizeof(abs))
			return 0;
		memcpy(abs, c->lines + nr++ * sizeof(abs), sizeof(abs));
		if (abs[0] != i)
			return 0;
		at = abs[1];
	}
	return at > 0 && at <= INT32_MAX ? (u32)at : 0;
}

// ---- names
static const char *const events[] = {"index", "newindex", "gc", "mode", "len", "eq", "add", "sub", "mul", "mod", "pow", "div", "idiv", "band", "bor", "bxor", "shl", "shr", "unm", "bnot", "lt",
	"le", "concat", "call", "close"};
enum { EVENT_INDEX, EVENT_NEWINDEX, EVENT_LEN = 4, EVENT_EQ, EVENT_ADD, EVENT_UNM = 18, EVENT_BNOT, EVENT_LT, EVENT_LE, EVENT_CONCAT, EVENT_CLOSE = 24, EVENT_ITERATOR = 100, EVENT_NONE };
static const struct { // instructions that call, from first to last
	u8 row, first, last, event; // of several the first one's event
} calls[] = {
	{LUA_ROW_51, 33, 33, EVENT_ITERATOR},
	{LUA_ROW_53, 6, 7, EVENT_INDEX}, {LUA_ROW_53, 8, 8, EVENT_NEWINDEX}, {LUA_ROW_53, 10, 10, EVENT_NEWINDEX}, {LUA_ROW_53, 12, 12, EVENT_INDEX}, {LUA_ROW_53, 13, 24, EVENT_ADD}, {LUA_ROW_53, 25, 26, EVENT_UNM},
	{LUA_ROW_53, 28, 28, EVENT_LEN}, {LUA_ROW_53, 29, 29, EVENT_CONCAT}, {LUA_ROW_53, 31, 31, EVENT_EQ}, {LUA_ROW_53, 32, 33, EVENT_LT}, {LUA_ROW_53, 41, 41, EVENT_ITERATOR},
	{LUA_ROW_54, 11, 14, EVENT_INDEX}, {LUA_ROW_54, 15, 18, EVENT_NEWINDEX}, {LUA_ROW_54, 20, 20, EVENT_INDEX}, {LUA_ROW_54, 49, 50, EVENT_UNM}, {LUA_ROW_54, 52, 52, EVENT_LEN}, {LUA_ROW_54, 53, 53, EVENT_CONCAT},
	{LUA_ROW_54, 54, 54, EVENT_CLOSE}, {LUA_ROW_54, 57, 57, EVENT_EQ}, {LUA_ROW_54, 58, 59, EVENT_LT}, {LUA_ROW_54, 62, 63, EVENT_LT}, {LUA_ROW_54, 64, 65, EVENT_LT}, {LUA_ROW_54, 70, 70, EVENT_CLOSE},
	{LUA_ROW_54, 76, 76, EVENT_ITERATOR},
};

// By which operation it was called.
static u32 event_of(u32 row, u32 called)
{
	if (called >= LUA_CALLED_EVENT)
		return called - LUA_CALLED_EVENT;
	for (u32 i = 0; i < ARRAY_LEN(calls); i++) {
		u32 nr = called - 1 - calls[i].first;
		if (called && calls[i].row == row && called - 1 >= calls[i].first && called - 1 <= calls[i].last)
			return calls[i].event == EVENT_INDEX || calls[i].event == EVENT_NEWINDEX ? calls[i].event : calls[i].event + nr;
	}
	return EVENT_NONE;
}

void lua_source(const struct RtCode *c, bool text, struct Str *out)
{
	u32 n = MIN(c->file_len, (u32)RT_CODE_FILE), i = 0;

	if (!text) {
		runtime_file_bytes(c, out);
		return;
	}
	while (i < n && c->file[i] != '\n' && c->file[i] != '\r')
		i++;
	bool whole = i == n && n <= LUA_SHOWN;
	str_add(out, "[string \"");
	runtime_add_bytes(out, c->file, MIN(i, (u32)LUA_SHOWN));
	str_add(out, whole ? "\"]" : "...\"]");
}

static void code_file(const struct RtCode *c, struct Str *out)
{
	lua_source(c, c->lines_kind & LUA_TEXT, out);
}

// As tracebacks say it: by what the caller has called it, else by where it is defined.
static void code_name(const struct RtCode *c, struct Str *out)
{
	u32 row = c->lines_kind >> LUA_ROW_AT & 3, ev = event_of(row, c->lines_kind & LUA_CALLED);

	if (c->name_len) {
		runtime_add_bytes(out, c->name, MIN(c->name_len, RT_CODE_NAME));
	} else if (ev == EVENT_ITERATOR) {
		str_add(out, row == LUA_ROW_51 ? "(for generator)" : "for iterator");
	} else if (ev < ARRAY_LEN(events)) {
		str_addf(out, "%s%s", row == LUA_ROW_53 || ev == LUA_EVENT_GC ? "__" : "", events[ev]);
	} else if (c->lines_kind & LUA_C) {
		str_add(out, "?");
	} else if (!c->first_line) {
		str_add(out, "main chunk");
	} else {
		str_add(out, "function <");
		code_file(c, out);
		str_addf(out, ":%u>", c->first_line);
	}
}

const struct Runtime lua_runtime = {RT_LANG_LUA, "lua", "[lua]", symbols, find, line, "its loop's first instructions, and a table of releases in sonde", code_name, code_file, lua_chain};
