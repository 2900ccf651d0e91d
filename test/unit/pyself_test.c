// What CPython says of its own structures (runtime/pyself.c): descriptions of real interpreters, of changed ones, and garbage.
#include "runtime/internal.h"
#include "t.h"

static u64 state = 88172645463325252ULL;
static u64 rnd(void) // xorshift
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

// What the interpreters of 3.13 and 3.14 (pyenv's 3.13.0, Debian's 3.14; x86-64) say of themselves, by the words that are used.
static const struct Described {
	u32 version, words;
	u8 at[23];
	u16 say[23];
	struct RtPython want;
} described[] = {
	{0x30d, 73, {19, 23, 24, 28, 29, 30, 31, 32, 33, 34, 35, 37, 38, 39, 43, 44, 45, 51, 65, 66, 67, 68, 69},
	 {304, 72, 152, 80, 8, 0, 56, 72, 70, 208, 112, 128, 136, 68, 200, 16, 8, 24, 16, 32, 64, 32, 16},
	 {.thread_id = 152, .interps = 632, .interp_next = 7264, .interp_threads = 7344, .cframe = 72, .frame_size = 72, .frame_end = 70, .frame_code = 0, .frame_prev = 8, .frame_ip = 56, .code_size = 144, .code_line = 68, .code_file = 112,
	  .code_name = 128, .code_lines = 136, .code_first = 200, .str_ascii = 40, .str_other = 56, .frame_owner = 70, .frame_locals = 72, .tuple_items = 24, .coro_frame = 72}},
	{0x30e, 95, {22, 26, 27, 31, 32, 33, 34, 35, 36, 39, 40, 42, 43, 44, 48, 50, 51, 57, 75, 76, 77, 78, 79},
	 {904, 72, 152, 88, 8, 0, 56, 80, 74, 216, 112, 128, 136, 68, 208, 16, 8, 32, 16, 32, 64, 32, 16},
	 {.thread_id = 152, .interps = 640, .interp_next = 7280, .interp_threads = 7360, .cframe = 72, .frame_size = 80, .frame_end = 74, .frame_code = 0, .frame_prev = 8, .frame_ip = 56, .code_size = 144, .code_line = 68, .code_file = 112,
	  .code_name = 128, .code_lines = 136, .code_first = 208, .str_ascii = 40, .str_other = 56, .frame_owner = 74, .frame_locals = 80, .frame_top = 64, .tuple_items = 32, .coro_frame = 72}},
};
static u32 describe(const struct Described *d, u64 *words)
{
	memset(words, 0, 128 * sizeof(*words));
	memcpy(words, "xdebugpy", 8);
	words[1] = d->version << 16 | 0xa0f0;
	for (u32 i = 0; i < ARRAY_LEN(d->at); i++)
		words[d->at[i]] = d->say[i];
	words[d->at[22] + 1] = 40; // of ASCII
	words[5] = d->want.interps;
	words[8] = d->want.interp_next;
	words[9] = d->want.interp_threads;
	words[d->at[0] + 2] = 8;
	if (d->version == 0x30e) {
		words[37] = 64;
		words[85] = 72;
	}
	return python_described_words(d->version);
}

TEST(python_says_where_it_keeps_things)
{
	u64 words[128];
	for (u32 i = 0; i < ARRAY_LEN(described); i++) {
		const struct Described *d = &described[i];
		struct RtPython py = {.frame_owner = d->want.frame_owner, .frame_locals = d->want.frame_locals, .frame_top = d->want.frame_top, .tuple_items = d->want.tuple_items,
			.coro_frame = 72, .cframe = 72, .thread_id = 152};
		CHECK_EQ(describe(d, words), d->words);
		CHECK(python_described(words, d->version, false, &py));
		CHECK(!memcmp(&py, &d->want, sizeof(py)));
		// another build: the frame is longer, tasks are not followed
		words[d->at[8]] += 8;
		words[d->at[3]] += 8;
		CHECK(python_described(words, d->version, false, &py));
		CHECK_EQ(py.frame_end, d->want.frame_end + 8);
		CHECK_EQ(py.frame_size, d->want.frame_size + 8);
		CHECK_EQ(py.coro_frame, 0);
		// states that lie elsewhere in their list
		words[d->at[0] + 2] = 16;
		CHECK(python_described(words, d->version, false, &py));
		CHECK_EQ(py.interps, 0);
		// of another version, with another lock, without its mark
		struct RtPython was = py;
		CHECK(!python_described(words, d->version + 1, false, &py) && !python_described(words, d->version, true, &py));
		words[0]++;
		CHECK(!python_described(words, d->version, false, &py));
		CHECK(!memcmp(&py, &was, sizeof(py)));
	}
	CHECK_EQ(python_described_words(0x30c), 0);
	CHECK_EQ(python_described_words(0x30f), 0);
}

// 3.14 without the GIL, of pointers and lengths as its headers have them: heads of objects are longer, frames say which copy of the instructions they run.
TEST(python_without_the_gil_says_where_it_keeps_things)
{
	static const struct Described d = {0x30e, 95, {22, 26, 27, 31, 32, 33, 34, 35, 36, 39, 40, 42, 43, 44, 48, 50, 51, 57, 75, 76, 77, 78, 79},
		{904, 72, 152, 88, 8, 0, 56, 80, 78, 240, 128, 144, 152, 84, 232, 32, 24, 48, 32, 48, 80, 48, 32}, {0}};
	u64 words[128];
	struct RtPython py = {.frame_copy = 8, .code_copies = 8, .str_shift = 6}, was = py;
	describe(&d, words);
	words[2] = 1;
	words[80] = 56;
	words[38] = 72;
	words[49] = 224;
	CHECK(!python_described(words, 0x30e, false, &py) && !memcmp(&py, &was, sizeof(py)));
	CHECK(python_described(words, 1 << 16 | 0x30e, true, &py));
	CHECK_EQ(py.head, 16);
	CHECK_EQ(py.frame_copy, 72);
	CHECK_EQ(py.code_copies, 224);
	CHECK_EQ(py.code_size, 160);
	CHECK_EQ(py.frame_size, 80);
	CHECK_EQ(py.str_ascii, 56);
	CHECK_EQ(py.str_other, 72);
	CHECK_EQ(py.str_shift, 6);
	was = py;
	words[49] = 240; // beyond the code object
	CHECK(!python_described(words, 1 << 16 | 0x30e, true, &py) && !memcmp(&py, &was, sizeof(py)));
}

// Whatever it says: the row as it was, or places that lie within what is read.
TEST(garbage_that_python_says_of_itself)
{
	static const u64 odd[] = {0, 1, 3, 8, 64, 511, 512, 4095, 4096, 65535, 65536, 1ull << 32, ~0ull, ~0ull - 7, 1ull << 63};
	u64 words[128];
	u32 taken = 0;
	for (u32 round = 0; round < 200000; round++) {
		const struct Described *d = &described[round & 1];
		struct RtPython py = {.coro_frame = 72}, was = py;
		describe(d, words);
		for (u32 n = 1 + (u32)rnd() % 4; n--;)
			words[3 + (u32)rnd() % (d->words - 3)] = rnd() % 2 ? odd[rnd() % ARRAY_LEN(odd)] : rnd() >> rnd() % 64;
		if (!python_described(words, d->version, false, &py)) {
			CHECK(!memcmp(&py, &was, sizeof(py)));
			continue;
		}
		taken++;
		CHECK(py.frame_size <= RT_LANG_OBJ && py.code_size <= RT_LANG_OBJ && py.head <= 64);
		CHECK(py.frame_code + 8 <= py.frame_size && py.frame_prev + 8 <= py.frame_size && py.frame_ip + 8 <= py.frame_size && py.frame_end < py.frame_size);
		CHECK(py.code_file + 8 <= py.code_size && py.code_name + 8 <= py.code_size && py.code_lines + 8 <= py.code_size && py.code_line + 4 <= py.code_size);
		CHECK(!((py.frame_code | py.frame_prev | py.frame_ip | py.code_file | py.code_name | py.code_lines | py.cframe | py.thread_id) & 7));
		CHECK(!((py.interps | py.interp_next | py.interp_threads) & 7));
		CHECK(py.cframe < 4096 && py.thread_id < 4096 && py.code_first < 4096);
	}
	CHECK(taken > 1000 && taken < 190000);
}

T_MAIN()
