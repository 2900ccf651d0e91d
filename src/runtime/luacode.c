// What the program of Lua's chain (luachain.c) copies of a function that is met for the first time: where it is from, its lines, its name. Input: the function's prototype,
// the call of its caller. Output: operations.
// A function has no name of its own. Tracebacks name it by the instruction that calls it: by what was last loaded to the register of the function. So a code, to us, is
// a function and the place that calls it; the name is looked for once, when it is copied.
// Invariant: what is named is what Lua itself would say, or there is no name.
#define LUA_PROGRAM
#include "runtime/internal.h"

#define OP_CLOSURE_51 36
#define OP_MMBIN_54 46
#define TYPE_STRING 4
#define TEXT 24		     // of a string
#define BACK 128	     // instructions that are looked at for a name

// Where it is from: "@" file, "=" any name, else the text itself.
static void file(struct ChainMaker *m, const struct LuaRow *r)
{
	u32 source = X + r->source;

	chain_if_is(m, source, 0, L_NO_FILE);
	chain_load(m, N, source, IS_51(r) ? 16 : TYPE, 8);
	if (!IS_51(r)) { // a short one has its length in its head
		chain_and(m, POS, N, 0x10);
		chain_shr(m, N, N, 24);
		chain_and(m, N, N, 0xff);
		chain_if_is(m, POS, 0, L_LENGTH);
		chain_load(m, N, source, 16, 8);
		chain_label(m, L_LENGTH);
	}
	chain_load(m, POS, source, TEXT, 1);
	chain_add(m, PC, source, TEXT);
	chain_if_is(m, POS, '@', L_PATH);
	chain_if_is(m, POS, '=', L_PATH);
	chain_add(m, KEY, KEY, LUA_TEXT);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, LUA_SHOWN + 1, L_TEXT);
	chain_set(m, N, LUA_SHOWN + 1);
	chain_jump(m, L_TEXT);
	chain_label(m, L_PATH);
	chain_add(m, PC, PC, 1);
	chain_add(m, N, N, -1);
	chain_label(m, L_TEXT);
	chain_text(m, RT_CHAIN_FILE, PC, N);
	chain_label(m, L_NO_FILE);
	chain_shr(m, N, X + r->line, r->line_shift);
	if (!r->line_shift)
		chain_and(m, N, N, 0x7fffffff);
	chain_first_line(m, N);
}

static void lines_54(struct ChainMaker *m, const struct LuaRow *r)
{
	chain_and(m, N, X + r->line, 0x7fffffff); // of absolute lines; they lie behind those of the instructions
	chain_if_is(m, N, 0, L_NO_ABS);
	chain_mul(m, N, RT_CHAIN_ZERO, N, 8);
	chain_text(m, RT_CHAIN_LINES, X + r->lines + 1, N);
	chain_label(m, L_NO_ABS);
	chain_if_is(m, X + r->lines, 0, L_NO_LINES);
	chain_load(m, N, T, r->nlines, 4);
	chain_text(m, RT_CHAIN_LINES2, X + r->lines, N);
	chain_label(m, L_NO_LINES);
}

static void field(struct ChainMaker *m, const struct LuaRow *r, u32 to, u32 at)
{
	chain_shr(m, to, FUNC, at);
	if (at + r->wide < 32)
		chain_and(m, to, to, (1 << r->wide) - 1);
}

// The instruction before CALLER that last loads its function's register, into FUNC, its place in PC. What a jump may leave out counts for nothing, as Lua has it.
static void scan(struct ChainMaker *m, const struct LuaRow *r)
{
	u32 first = X + r->code, set = X + 10;

	chain_label(m, L_SCAN_BEGIN);
	chain_set(m, PREV, BACK);
	chain_add(m, FUNC, CALLER, -4);
	chain_set(m, PC, 0);
	chain_label(m, L_SCAN);
	chain_if(m, FUNC, RT_OP_EQ, first, 0, L_SCANNED);
	chain_add(m, PREV, PREV, -1);
	chain_if_is(m, PREV, 0, L_SCANNED);
	chain_add(m, FUNC, FUNC, -4);
	chain_load(m, N, FUNC, 0, 4);
	chain_and(m, POS, N, (1 << r->op_bits) - 1);
	chain_if_is(m, POS, r->jmp, L_JUMP);
	chain_if_not(m, PC, 0, L_SCAN);
	chain_shr(m, T, N, r->op_bits);
	chain_and(m, T, T, 0xff);
	chain_if(m, T, RT_OP_NE, STATUS, 0, L_SCAN);
	if (r->eq != LUA_NONE) { // these have something else there
		chain_add(m, T, POS, -(s64)r->eq);
		chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, 3, L_SCAN);
	} else {
		chain_if_is(m, POS, r->extra, L_SCAN);
	}
	if (IS_51(r)) { // so have those behind a closure's, which say what it keeps
		chain_if_not(m, STATUS, 0, L_SETS);
		chain_if_is(m, POS, r->move, L_SCAN);
		chain_if_not(m, POS, r->getupval, L_SETS);
		chain_if(m, FUNC, RT_OP_EQ, first, 0, L_SETS);
		chain_load(m, T, FUNC, -4, 4);
		chain_and(m, T, T, 0x3fff);
		chain_if_is(m, T, r->move, L_SCAN);
		chain_if_is(m, T, r->getupval, L_SCAN);
		chain_and(m, T, T, 0x3f);
		chain_if_is(m, T, OP_CLOSURE_51, L_SCAN);
		chain_label(m, L_SETS);
	}
	chain_add(m, set, N, 0);
	chain_add(m, PC, FUNC, 0);
	chain_jump(m, L_SCAN);
	chain_label(m, L_JUMP);
	chain_if_is(m, PC, 0, L_SCAN);
	chain_shr(m, T, N, r->jmp_at);
	chain_add(m, T, T, 1 - (s64)r->jmp_zero);
	chain_mul(m, T, FUNC, T, 4);
	chain_if(m, T, RT_OP_LT, PC, 1, L_SCAN);
	chain_if(m, CALLER, RT_OP_LT, T, 4, L_SCAN);
	chain_set(m, PC, 0);
	chain_jump(m, IS_51(r) ? L_SCAN : L_DONE); // 5.1 follows the jump
	chain_label(m, L_SCANNED);
	chain_if_is(m, PC, 0, L_DONE);
	chain_add(m, FUNC, set, 0);
}

// A local variable by its register: the so many-th that is alive there.
static void local(struct ChainMaker *m, const struct LuaRow *r)
{
	u32 name = X + r->pair, alive = name + 1;

	chain_label(m, L_LOCAL);
	chain_load(m, T, AT, r->ci_func * 8, 8);
	chain_load(m, T, T, 0, 8);
	chain_load(m, T, T, r->closure, 8);
	field(m, r, PREV, r->b);
	chain_add(m, PREV, PREV, 1);
	chain_mul(m, PC, PC, X + r->code, -1);
	chain_shr(m, PC, PC, 2);
	chain_load(m, N, T, r->nlocals, 4);
	chain_label(m, L_LOCALS);
	chain_if_is(m, N, 0, L_DONE);
	chain_add(m, N, N, -1);
	chain_load(m, name, X + r->locals, 0, 16);
	chain_add(m, X + r->locals, X + r->locals, 16);
	chain_and(m, T, alive, 0x7fffffff);
	chain_if(m, PC, RT_OP_LT, T, 0, L_DONE);
	chain_shr(m, T, alive, 32);
	chain_if(m, T, RT_OP_LT, PC, 1, L_LOCALS);
	chain_add(m, PREV, PREV, -1);
	chain_if_not(m, PREV, 0, L_LOCALS);
	chain_add(m, T, name, 0);
	chain_jump(m, L_STRING);
}

// A constant, by its number in T, or by the operand there of which a bit says that it is one.
static void constant(struct ChainMaker *m, const struct LuaRow *r)
{
	u32 value = X + r->pair;

	chain_label(m, L_SELF);
	if (r->version == 0x504) {
		chain_and(m, N, FUNC, 1 << 15);
		chain_if_is(m, N, 0, L_DONE);
	}
	chain_label(m, L_TABLE);
	field(m, r, T, r->c);
	if (r->version != 0x504) {
		chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, 256, L_DONE);
		chain_add(m, T, T, -256);
	}
	chain_label(m, L_CONSTANT);
	chain_mul(m, T, X + r->k, T, 16);
	chain_load(m, value, T, 0, 16);
	chain_and(m, N, value + 1, 0xf);
	chain_if_not(m, N, TYPE_STRING, L_DONE);
	chain_add(m, T, value, 0);
	chain_label(m, L_STRING);
	chain_if_is(m, T, 0, L_DONE);
	chain_add(m, T, T, TEXT);
	chain_cstr(m, RT_CHAIN_NAME, T);
	chain_label(m, L_DONE);
	chain_lines_kind(m, KEY);
	chain_copied(m);
}

static void named_by(struct ChainMaker *m, u32 op, u32 label)
{
	if (op != LUA_NONE)
		chain_if_is(m, POS, op, label);
}

// The caller, whose call is at AT, and its instruction: another one than a call tells by its number which event it is that the function handles.
static void name(struct ChainMaker *m, const struct LuaRow *r)
{
	chain_label(m, L_NAME);
	if (r->finalizer) {
		chain_if_is(m, AT, 0, L_DONE);
		chain_load(m, T, AT, r->ci_status * 8, 8);
		chain_shr(m, T, T, r->ci_shift);
		chain_and(m, T, T, r->finalizer);
		chain_if_is(m, T, 0, L_CALLED);
		chain_add(m, KEY, KEY, LUA_CALLED_EVENT + LUA_EVENT_GC);
		chain_jump(m, L_DONE);
		chain_label(m, L_CALLED);
	}
	chain_if_is(m, CALLER, 0, L_DONE);
	chain_load(m, T, AT, r->ci_func * 8, 8);
	chain_load(m, T, T, 0, 8);
	chain_load(m, T, T, r->closure, 8);
	chain_load(m, X, T, r->proto, r->proto_bytes);
	chain_load(m, FUNC, CALLER, -4, 4);
	chain_and(m, POS, FUNC, (1 << r->op_bits) - 1);
	chain_shr(m, STATUS, FUNC, r->op_bits);
	chain_and(m, STATUS, STATUS, 0xff);
	chain_if_is(m, POS, r->call, L_SCAN_BEGIN);
	chain_if_is(m, POS, r->tailcall, L_SCAN_BEGIN);
	if (r->version == 0x504) { // an operation whose fast way has failed: the event is an operand
		chain_add(m, N, POS, -OP_MMBIN_54);
		field(m, r, T, r->c);
		chain_add(m, T, T, LUA_CALLED_EVENT - 1);
		chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, 3, L_EVENT);
	}
	chain_add(m, T, POS, 0);
	chain_label(m, L_EVENT);
	chain_add(m, T, T, 1);
	chain_mul(m, KEY, KEY, T, 1);
	chain_jump(m, L_DONE);
	scan(m, r);
	chain_and(m, POS, FUNC, (1 << r->op_bits) - 1);
	named_by(m, r->move, L_LOCAL);
	named_by(m, r->getupval, L_UPVALUE);
	named_by(m, r->gettabup, L_TABLE);
	named_by(m, r->gettable, L_TABLE);
	named_by(m, r->getfield, L_TABLE);
	named_by(m, r->self, L_SELF);
	named_by(m, r->getglobal, L_GLOBAL);
	chain_jump(m, L_DONE);
	chain_label(m, L_GLOBAL);
	chain_shr(m, T, FUNC, 14);
	chain_jump(m, L_CONSTANT);
	chain_label(m, L_UPVALUE);
	field(m, r, T, r->b);
	chain_mul(m, T, X + r->upvalues, T, r->upvalue);
	chain_op(m, RT_OP_TRY, T, T, 0, 0);
	chain_jump(m, L_STRING);
	local(m, r);
	constant(m, r);
}

void lua_code(struct ChainMaker *m, const struct LuaRow *r, u32 row)
{
	chain_label(m, CHAIN_COPY);
	chain_set(m, KEY, (s64)row << LUA_ROW_AT | LUA_C);
	chain_if_is(m, PC, 0, L_NAME);
	chain_set(m, KEY, (s64)row << LUA_ROW_AT);
	file(m, r);
	if (r->version == 0x504)
		lines_54(m, r);
	name(m, r);
}
