// What differs between versions of Lua, for what recognises them (lua.c) and the program of their chain (luachain.c). Source: lstate.h, lobject.h and lopcodes.h of each.
// Invariant: offsets are of 64-bit machines.
#include "runtime/internal.h"

const struct LuaRow lua_rows[LUA_ROWS] = {
	{.version = 0x501, .thread_g = 32, .ci_bytes = 40, .ci_func = 1, .ci_pc = 3, .ci_status = 4, .ci_shift = 32, .closure = 32, .proto = 16, .proto_bytes = 88,
	 .k = 0, .code = 1, .lines = 3, .locals = 4, .upvalues = 5, .source = 6, .line = 10, .pair = 2, .ncode = 80, .nlines = 84, .nlocals = 92, .upvalue = 8,
	 .op_bits = 6, .b = 23, .c = 14, .wide = 9, .move = 0, .getupval = 4, .getglobal = 5, .gettabup = LUA_NONE, .gettable = 6, .getfield = LUA_NONE, .self = 11, .call = 28, .tailcall = 29,
	 .jmp = 22, .jmp_at = 14, .jmp_zero = 131071, .eq = 23, .extra = LUA_NONE},
	{.version = 0x503, .thread_g = 24, .ci_bytes = 72, .ci_func = 0, .ci_prev = 2, .ci_pc = 5, .ci_status = 8, .ci_shift = 16, .is_lua = 1 << 1, .lua_value = 1 << 1, .fresh = 1 << 3, .tail = 1 << 5,
	 .closure = 24, .proto = 40, .proto_bytes = 72, .k = 1, .code = 2, .lines = 4, .locals = 5, .upvalues = 6, .source = 8, .line = 0, .pair = 3, .ncode = 24, .nlines = 28, .nlocals = 36, .upvalue = 16,
	 .op_bits = 6, .b = 23, .c = 14, .wide = 9, .move = 0, .getupval = 5, .getglobal = LUA_NONE, .gettabup = 6, .gettable = 7, .getfield = LUA_NONE, .self = 12, .call = 36, .tailcall = 37,
	 .jmp = 30, .jmp_at = 14, .jmp_zero = 131071, .eq = 31, .extra = LUA_NONE},
	{.version = 0x504, .thread_g = 24, .ci_bytes = 64, .ci_func = 0, .ci_prev = 2, .ci_pc = 4, .ci_status = 7, .ci_shift = 48, .is_lua = 1 << 1, .lua_value = 0, .fresh = 1 << 2, .tail = 1 << 5,
	 .finalizer = 1 << 7, .closure = 24, .proto = 40, .proto_bytes = 80, .k = 2, .code = 3, .lines = 6, .locals = 8, .upvalues = 5, .source = 9, .line = 0, .line_shift = 32, .pair = 6, .ncode = 24,
	 .nlines = 28, .nlocals = 36, .upvalue = 16, .op_bits = 7, .b = 16, .c = 24, .wide = 8, .move = 0, .getupval = 9, .getglobal = LUA_NONE, .gettabup = 11, .gettable = LUA_NONE, .getfield = 14, .self = 20,
	 .call = 68, .tailcall = 69, .jmp = 56, .jmp_at = 7, .jmp_zero = 0xffffff, .eq = LUA_NONE, .extra = 82},
};
_Static_assert(LUA_ROW_51 == 0 && LUA_ROW_53 == 1 && LUA_ROW_54 == 2, "in the order of the table");
