// A made-up isolate of V8 for the walker on the host: one piece of optimised code, made of outer(), into which middle() and inner() were put. Include after walk_fix.h.
#ifndef SONDE_V8_FIX_H
#define SONDE_V8_FIX_H

enum { FUNCTION = 100, SHARED, BYTECODE, OTHER, STRING = 0 };
static const struct RtV8 layout = {
	.map_type = 12, .t_function = FUNCTION, .t_function_end = FUNCTION + 1, .t_shared = SHARED, .t_bytecode = BYTECODE, .t_script = 99, .t_scope = 98, .t_no_string = 64,
	.f_shared = 24, .s_data = 8, .s_name = 16, .s_script = 32, .s_literal = 52, .b_positions = 32, .b_data = 54, .str_len = 12, .str_chars = 16, .str_shape = 7,
	.str_latin = 8, .a_data = 16, .a_shift = 32, .f_code = 48, .c_deopt = 16, .c_start = 40, .c_flags = 48, .c_size = 56, .c_stream = 64, .kind_mask = 15, .kind_baseline = 11,
	.kind_maglev = 12, .kind_turbofan = 13, .d_literals = 2, .d_id = 5, .d_shared = 6, .d_inlined = 1, .d_first = 11, .d_entry = 3, .t_config = 4, .t_head = 8, .nops = 8,
	.ops = {RT_V8_OP_BEGIN | 3, RT_V8_OP_FUNC | 3, RT_V8_OP_BUILTIN | 3, 1, 0, 2, RT_V8_OP_MATCH | 1, 5}};
static bool newer; // as from 13.6 on, positions as from 14.6 on
// Numbers of the instructions above; from 8 on: as many as that less 8 of the other place's
enum { BEGIN, FUNC, BUILTIN, ONE, NOTHING, TWO, MATCH };

#define MAP(type) (HEAP + 0x40 + ((type) % 8) * 0x20)
#define CONTEXT (HEAP + 0x180)
#define JSFUNCTION (HEAP + 0x200)
#define CODE (HEAP + 0x240)
#define DATA (HEAP + 0x300)
#define LITERALS (HEAP + 0x400)
#define FUNC_AT(i) (HEAP + 0x480 + (i) * 0x180) // SharedFunctionInfo, its bytecode, positions, name
#define PLACES (HEAP + 0x980)			// instructions of the translation
#define START (HEAP + 0xc00)			// of the code's
#define BYTES 0x100
#define POSITIONS (HEAP + 0xe00) // of the code's instructions
#define INLINED (HEAP + 0xe80)
#define FP (STACK + 8 * 20)

static void put(u64 at, const void *p, size_t n)
{
	memcpy((u8 *)heap + (at - HEAP), p, n);
}

static void put64(u64 at, u64 v)
{
	put(at, &v, 8);
}

static void put_object(u64 at, u32 type)
{
	u16 t = (u16)type;
	put64(at, MAP(type) + 1);
	put64(MAP(type), MAP(7) + 1);
	put(MAP(type) + 12, &t, 2);
}

static void put_array(u64 at, u64 n)
{
	put_object(at, OTHER);
	put64(at + 8, n << 32);
}

static void put_function(u32 i, const char *name, u8 bytecode)
{
	u64 at = FUNC_AT(i), code = at + 0x60, table = code + 0x40, text = table + 0x20;
	u32 n = (u32)strlen(name);
	put_object(at, SHARED);
	put64(at + 8, code + 1);
	put64(at + 16, text + 1);
	put_object(code, BYTECODE);
	put64(code + 32, table + 1);
	put_array(table, 5);
	put(table + 16, (u8[]){newer ? 1 << 2 | 2 : 2, 4, (u8)(newer ? bytecode << 2 | 3 : bytecode * 2), 0x94, 3}, 5); // bytecode 0: at position 1; from `bytecode` on: at 102
	put_object(text, STRING | 8);
	put(text + 12, &n, 4);
	put(text + 16, name, n);
}

static void put_code(void)
{
	u32 bytes = BYTES, how = 1 | 1 << 4 | 1 << 7, table[3] = {newer ? 9 : 3, newer ? 3 : how, how}, size = newer ? 12 : 8, kind = 13;
	u8 entries[] = {0x20, 1, 0, 0x40, 2, 0, 0x60, 0, 0};

	put_object(CODE, OTHER);
	put64(CODE + 16, DATA + 1);
	put64(CODE + 40, START);
	put(CODE + 48, &kind, 4);
	put(CODE + 56, &bytes, 4);
	put64(START - 64, MAP(OTHER) + 1);
	put64(START - 56, CODE + 1);
	memset((u8 *)heap + (START - HEAP), 0x90, BYTES);
	put(START + 8, "\x55\x48\x89\xe5\x56\x57\x50", 7);
	put(START + 0x80, "\x48\x8b\xe5\x5d\x48\x83\xf9\x01\x7f\x03\xc2\x08\x00\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3", 22); // with a frame behind it
	put(START + 0xb0, "\x48\x8b\xe5\x5d\xc2\x08\x00\x90\x48\x8b\xe5\x5d\xc3", 13);
	put(START + BYTES, table, size);
	put(START + BYTES + size, entries, sizeof(entries));
}

static void put_data(void)
{
	// outer() at bytecode 5, middle() at 10, inner() at 20 or 22; of signed numbers bit 0 is the sign
	static const u8 first[] = {BEGIN, 0, 6, 6, FUNC, 10, 0, 2, ONE, 0x84, 1, FUNC, 20, 2, 2, ONE, 3, FUNC, 40, 4, 2};
	static const u8 second[] = {BEGIN, sizeof(first), 8, 6, MATCH, 3, ONE, 7, FUNC, 44, 4, 2};
	put_array(DATA, 20);
	put64(DATA + 16, PLACES + 1);
	put64(DATA + 16 + 8 * 1, 2ull << 32);
	put64(DATA + 16 + 8 * 2, LITERALS + 1);
	put64(DATA + 16 + 8 * 5, 77ull << 32);
	put64(DATA + 16 + 8 * 6, newer ? LITERALS + 0x40 + 1 : FUNC_AT(0) + 1);
	put64(DATA + 16 + 8 * 15, (u64)sizeof(first) << 32);
	put_array(PLACES, sizeof(first) + sizeof(second));
	put(PLACES + 16, first, sizeof(first));
	put(PLACES + 16 + sizeof(first), second, sizeof(second));
	put_array(LITERALS, 3);
	for (u32 i = 0; i < 3; i++)
		put64(LITERALS + 16 + 8 * i, FUNC_AT(i) + 1 + (i == 1) * 2); // one is weak
	if (newer) { // its function is in an object
		put_object(LITERALS + 0x40, OTHER);
		put64(LITERALS + 0x40 + 8, FUNC_AT(0) + 1);
	}
}

#define PLACE(offset, inlined) ((u64)((offset) + 1) << 1 | (u64)(inlined) << 31)

static u32 put_number(u8 *p, u64 v)
{
	u32 n = 0;
	for (; v > 127; v >>= 7)
		p[n++] = (u8)(v | 0x80);
	p[n++] = (u8)v;
	return n;
}

// Which instructions are of which of the functions, those of five changes from `first` to `count`: outer() called middle() at 11, that inner() at 21.
static void put_positions_from(u32 first, u32 count)
{
	static const struct { s64 code; u64 raw; } places[] = {{0, PLACE(10, 0)}, {0x30, PLACE(20, 1)}, {0x38, PLACE(30, 2)}, {0x60, PLACE(40, 0)}, {0x70, PLACE(50, 0)}};
	u64 calls[] = {PLACE(11, 0), 1, PLACE(21, 1), 2};
	u8 bytes[64];
	u32 n = 0;
	s64 code = -1, raw = 0;

	for (u32 i = first; i < count; i++) {
		s64 d = places[i].code - code, r = (s64)places[i].raw - raw;
		n += put_number(bytes + n, newer ? (u64)d << 2 | 2 : (u64)d << 1);
		n += put_number(bytes + n, (u64)r << 1 ^ (u64)(r >> 63));
		code = places[i].code;
		raw = (s64)places[i].raw;
	}
	put64(CODE + 24, POSITIONS + 1);
	put_array(POSITIONS, n);
	put(POSITIONS + 16, bytes, n);
	put64(DATA + 16 + 8 * 7, INLINED + 1);
	put_array(INLINED, sizeof(calls));
	put(INLINED + 16, calls, sizeof(calls));
}

static void put_positions(u32 count)
{
	put_positions_from(0, count);
}

// C at TEXT was called by the code, which was called by the root.
static void start_v8(void)
{
	struct RtLang lang = {.kind = RT_LANG_V8, .v8 = layout};
	struct RtJvm vm = {.lang = 1, .serial = 9};
	u32 one = 1, tgid = 77;

	if (newer) {
		lang.v8.f_code = 0;
		lang.v8.d_wrapped = 8;
		lang.v8.t_config = 8;
		lang.v8.t_head = 12;
		lang.v8.b_flags = 1;
	}
	start();
	put_rows((u64[]){UW_ROW(OFF, rule(rsp8)), UW_ROW(OFF + 0x200, rule(end_rule))}, 2);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	bpf_map_update_elem(&rt_jvms, &tgid, &vm, 0);
	codes_destroy(codes);
	codes = codes_create();
	put_object(CONTEXT, OTHER);
	put_object(JSFUNCTION, FUNCTION);
	put64(JSFUNCTION + 24, FUNC_AT(0) + 1);
	put64(JSFUNCTION + 48, CODE + 1);
	put_function(0, "outer", 5);
	put_function(1, "middle", 10);
	put_function(2, "inner", 21);
	put_code();
	put_data();
	stack[0] = START + 0x40;
	stack[18] = JSFUNCTION + 1, stack[19] = CONTEXT + 1, stack[20] = HEAP, stack[21] = TEXT + 0x210;
	regs.bp = FP;
	regs.di = JSFUNCTION + 1;
}
#endif
