// Frames of interpreted programs: the walker of bpfrt/lang.bpf.c and py.bpf.c over the made-up memory of a CPython 3.11, and what src/runtime makes of what
// it has copied.
#include <elf.h>
#include "out/report.h"
#include "t.h"
#include "runtime/runtime.h"

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 lang # SKIP made-up frames are of x86-64\n1..1\n");
	return 0;
}
#else
#include "walk_fix.h"

// Where things are in the heap; the thread pointer is its start
#define KEY 5
#define ROOT (HEAP + 0x600)
#define STATE (HEAP + 0x900)
#define CODE_TYPE (HEAP + 0xa00)
#define PYFRAME(i) (HEAP + 0xb00 + (i) * 0x60)
#define CODE(i) (HEAP + 0xe00 + (i) * 0x100)
#define TEXTS (HEAP + 0x1400)
#define BIAS (TEXT - OFF)
static const struct RtPython py311 = {
	.key = 592, .thread_id = 152, .cframe = 56, .cframe_frame = 8, .cframe_prev = 16, .frame_size = 72, .frame_code = 32, .frame_prev = 48, .frame_ip = 56,
	.frame_end = 68, .end_value = 1, .code_size = 144, .code_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136, .code_first = 184,
	.str_ascii = 48, .str_other = 72, .lines_kind = 1};
// 3.13: the last frame of a loop lies in the loop's own; 3.9: each loop runs one frame. Both with the other places of 3.11
static const struct RtPython py313 = {
	.how = RT_PY_SHIMS, .key = 592, .thread_id = 152, .cframe = 56, .frame_size = 72, .frame_code = 32, .frame_prev = 48, .frame_ip = 56, .frame_end = 70,
	.end_value = 3, .end_hidden = 1, .code_size = 144, .code_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136, .code_first = 184,
	.str_ascii = 48, .str_other = 72, .lines_kind = 1};
static const struct RtPython py39 = {
	.how = RT_PY_EACH, .key = 592, .thread_id = 152, .cframe = 56, .frame_size = 72, .frame_code = 32, .frame_prev = 48, .frame_ip = 56, .ip_unit = 1,
	.code_size = 144, .code_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136, .str_ascii = 48, .str_other = 72, .lines_kind = 3};
// 3.14 without the GIL: heads of objects are longer, threads may run copies of a code's instructions
static const struct RtPython py314free = {
	.how = RT_PY_SHIMS, .key = 592, .thread_id = 152, .cframe = 56, .frame_size = 72, .frame_code = 32, .frame_prev = 48, .frame_ip = 56, .frame_end = 70,
	.end_value = 3, .end_hidden = 1, .code_size = 160, .code_line = 88, .code_file = 128, .code_name = 144, .code_lines = 152, .code_first = 200,
	.str_ascii = 64, .str_other = 88, .lines_kind = 1, .head = 16, .str_shift = 6, .frame_copy = 64, .code_copies = 232, .code_copy = 8};
static const struct RtPython *python; // whose memory it is
static u64 texts; // the next free place
static struct {
	u64 pad, tp;
} task;

static void put(u64 at, u64 v)
{
	memcpy((u8 *)heap + (at - HEAP), &v, 8);
}

static u64 put_str(const void *text, u64 n, u32 width)
{
	u64 at = texts, data = at + (width ? 72 : 48) + python->head;
	put(at + 16 + python->head, n);
	put(at + 32 + python->head, (u64)(width ? width << 2 : 1 << 2 | 1 << 6) << python->str_shift);
	memcpy((u8 *)heap + (data - HEAP), text, n * MAX(width, 1u));
	texts = (data + n * 4 + 15) & ~7ull;
	return at;
}

static u64 put_bytes(const void *p, u64 n)
{
	u64 at = texts, data = at + 32 + python->head;
	put(at + 16 + python->head, n);
	memcpy((u8 *)heap + (data - HEAP), p, n);
	texts = (data + n + 8) & ~7ull;
	return at;
}

static void put_code(u32 i, const char *name, const char *file, u32 line)
{
	put(CODE(i) + 8 + python->head, CODE_TYPE);
	put(CODE(i) + 72 + python->head, line);
	put(CODE(i) + 112 + python->head, put_str(file, strlen(file), 0));
	put(CODE(i) + 128 + python->head, put_str(name, strlen(name), 0));
	put(CODE(i) + 136 + python->head, put_bytes("\x80\x00\xd9\x08\x09", 5));
}

static void put_frame_of(u32 i, u64 prev, u32 entry, u64 pos)
{
	put(PYFRAME(i) + 32, CODE(i));
	put(PYFRAME(i) + 48, prev);
	put(PYFRAME(i) + 56, CODE(i) + 184 + python->head + pos);
	put(PYFRAME(i) + 64, (u64)entry << 32);
}

// The thread: in an eval loop, whose program is inner() called by outer(); it was called by C, from an eval loop with main(), from the root.
// Native frames are 48 bytes each; a loop's record is 8 bytes into its own.
static void start_python_of(const struct RtPython *py)
{
	struct RtUwRule eval = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 48, .index = RT_UW_LANG}, root = {.kind = RT_UW_END};
	struct RtLang lang = {.kind = RT_LANG_PYTHON, .root = ROOT - BIAS, .code_type = CODE_TYPE - BIAS, .py = *py};
	u32 one = 1;

	python = py;
	start();
	put_rows((u64[]){UW_ROW(OFF, rule(eval)), UW_ROW(OFF + 0x200, rule(root))}, 2);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	codes_destroy(codes);
	codes = codes_create();
	codes_full = 0;
	texts = TEXTS;
	task.tp = HEAP;
	rt_host.task = (u64)&task;
	rt_off_tp = 8;
	stack[5] = TEXT + 0x20;  // frame 1: C
	stack[11] = TEXT + 0x120; // frame 2: the outer loop
	stack[17] = TEXT + 0x210; // the root
	stack[2] = PYFRAME(0), stack[3] = STACK + 8 * 13;
	stack[14] = PYFRAME(2), stack[15] = HEAP; // the state's own, which has no frame
	put(ROOT + 592, (u64)KEY << 32 | 1);
	put(HEAP + 0x310 + KEY * 16 + 8, STATE);
	put(STATE + 152, HEAP);
	put(STATE + 56, STACK + 8);
	put_code(0, "A.inner", "/src/a.py", 10);
	put_code(1, "outer", "/src/a.py", 20);
	put_code(2, "<module>", "/src/main.py", 1);
	put_frame_of(0, PYFRAME(1), 0, 2);
	put_frame_of(1, PYFRAME(2), 1, 0);
	put_frame_of(2, 0, 1, 4);
}

static void start_python(void)
{
	start_python_of(&py311);
}

// The thread state has the innermost frame; shims in the loops' frames end their groups.
static void start_shims_of(const struct RtPython *py)
{
	start_python_of(py);
	put(STATE + 56, PYFRAME(0));
	put_frame_of(1, STACK + 8, 0, 0);
	put_frame_of(2, STACK + 8 * 24, 0, 4);
	// words of a shim that the walker reads: the frame before it, its owner
	stack[1 + 6] = PYFRAME(2), stack[1 + 8] = 3ull << 48;
	stack[24 + 6] = 0, stack[24 + 8] = 3ull << 48;
}

static void start_shims(void)
{
	start_shims_of(&py313);
}

// Two loops, 20 words each: the shims need more room than the records of start_python(). Between them C.
static void wide_loops(void)
{
	struct RtUwRule eval = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 160, .index = RT_UW_LANG}, c = eval, root = {.kind = RT_UW_END};
	c.off = 24;
	put_rows((u64[]){UW_ROW(OFF, rule(eval)), UW_ROW(OFF + 0x18, rule(c)), UW_ROW(OFF + 0x100, rule(eval)), UW_ROW(OFF + 0x200, rule(root))}, 4);
	u32 one = 1;
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	stack[19] = TEXT + 0x20;
	stack[22] = TEXT + 0x120;
	stack[42] = TEXT + 0x210;
}

static struct RtCode code_of(u64 frame)
{
	struct RtCode c = {0};
	CHECK(RT_FRAME_IS_LANG(frame) && codes_get(codes, RT_FRAME_CODE(frame), &c));
	return c;
}

static void check_lang(struct RtStack *st, u32 i, const char *name, const char *file, u32 pos)
{
	struct RtCode c = code_of(st->frames[i]);
	struct Str s = {0};
	runtime_code_name(&c, &s);
	CHECK_STR(str_text(&s), name);
	str_reset(&s);
	runtime_code_file(&c, &s);
	CHECK_STR(str_text(&s), file);
	str_deinit(&s);
	CHECK_EQ(RT_FRAME_POS(st->frames[i]), pos);
}

static void check_native(struct RtStack *st, u32 why)
{
	CHECK_EQ(st->n, 4);
	CHECK_EXACT(st, 0, TEXT);
	CHECK_FRAME(st, 1, TEXT + 0x20);
	CHECK_FRAME(st, 2, TEXT + 0x120);
	CHECK_FRAME(st, 3, TEXT + 0x210);
	CHECK_EQ(st->why, why);
}

static void check_python(struct RtStack *st)
{
	CHECK_EQ(st->n, 5);
	check_lang(st, 0, "A.inner", "/src/a.py", 2);
	check_lang(st, 1, "outer", "/src/a.py", 0);
	CHECK_FRAME(st, 2, TEXT + 0x20);
	check_lang(st, 3, "<module>", "/src/main.py", 4);
	CHECK_FRAME(st, 4, TEXT + 0x210);
	CHECK_EQ(st->why, RT_WHY_OK);
}

TEST(python_frames_take_the_place_of_the_loops)
{
	for (u32 again = 0; again < 2; again++) { // the second time all is known
		if (!again)
			start_python();
		struct RtStack *st = walk_now();
		check_python(st);
		CHECK_EQ(st->pid, 0); // the same stack in all processes
	}
}

// The loop has a range of code; C between is in the same object.
static void loops_by_range(void)
{
	struct RtUwRule plain = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 48};
	u32 loop = 1, root = 2, c = rule(plain), one = 1;

	put_rows((u64[]){UW_ROW(OFF, loop), UW_ROW(OFF + 0x18, c), UW_ROW(OFF + 0x100, loop), UW_ROW(OFF + 0x200, root)}, 4);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
}

// The same thread in PHP 8.2: inner() called by main(); between them usort(), which is in C.
#define PHPFRAME(i) (HEAP + 0xb00 + (i) * 0x40)
#define FUNCTION(i) (HEAP + 0xc00 + (i) * 0x100)
#define OPLINE(i) (HEAP + 0x1000 + (i) * 0x20)
static u64 put_php_str(const char *text)
{
	u64 at = texts;
	put(at, 6ull << 32);
	put(at + 16, strlen(text));
	memcpy((u8 *)heap + (at + 24 - HEAP), text, strlen(text));
	texts = (at + 24 + strlen(text) + 8) & ~7ull;
	return at;
}

static void put_php(u32 i, u64 kind, const char *name, const char *class, u32 line, bool top)
{
	put(PHPFRAME(i), OPLINE(i));
	put(PHPFRAME(i) + 24, FUNCTION(i));
	put(PHPFRAME(i) + 40, top ? 1 << 17 : 0);
	put(PHPFRAME(i) + 48, i < 2 ? PHPFRAME(i + 1) : 0);
	put(OPLINE(i) + 24, line);
	put(FUNCTION(i), kind);
	put(FUNCTION(i) + 8, name ? put_php_str(name) : 0);
	put(FUNCTION(i) + 16, class ? texts : 0);
	if (class) {
		u64 at = texts;
		texts += 16;
		put(at + 8, put_php_str(class));
	}
	put(FUNCTION(i) + 152, kind == 2 ? put_php_str("/src/a.php") : 1);
	put(FUNCTION(i) + 160, kind == 2 ? 3 : 0);
	put(FUNCTION(i) + 80, 8); // its instructions
	put(FUNCTION(i) + 88, OPLINE(0));
}

static void start_php(void)
{
	struct RtLang lang = {.kind = RT_LANG_PHP, .chain = 1, .row = 4, .root = ROOT - BIAS};
	struct RtChain c;
	u32 one = 1;

	start_python();
	CHECK(php_runtime.chain(&lang, &c));
	bpf_map_update_elem(&rt_chains, &one, &c, 0);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	texts = TEXTS;
	put(ROOT, PHPFRAME(0));
	put_php(0, 2, "inner", "A", 7, true);
	put_php(1, 1, "usort", NULL, 0, false);
	put_php(2, 2, NULL, NULL, 9, true);
	loops_by_range();
}

TEST(php_frames_by_a_program)
{
	for (u32 again = 0; again < 2; again++) {
		if (!again)
			start_php();
		struct RtStack *st = walk_now();
		CHECK_EQ(st->n, 5);
		check_lang(st, 0, "A::inner", "/src/a.php", 7);
		CHECK_FRAME(st, 1, TEXT + 0x20);
		check_lang(st, 2, "usort", "", 0);
		check_lang(st, 3, "{main}", "/src/a.php", 9);
		CHECK_FRAME(st, 4, TEXT + 0x210);
		CHECK_EQ(st->why, RT_WHY_OK);
	}
	regs.r14 = PHPFRAME(0), regs.r15 = OPLINE(2); // the loop's registers are newer
	check_lang(walk_now(), 0, "A::inner", "/src/a.php", 9);
	put(ROOT, PHPFRAME(1)); // it has just been left, its loop has not
	check_lang(walk_now(), 0, "A::inner", "/src/a.php", 9);
	CHECK_EQ(walk_now()->why, RT_WHY_OK);
	put(ROOT, PHPFRAME(2) + 0x800);
	for (u32 i = 0; i < 7; i++)
		put(PHPFRAME(2) + 0x800 + i * 8, i == 6 ? PHPFRAME(0) : heap[(PHPFRAME(0) - HEAP) / 8 + i]); // one is about to begin, its loop has not
	CHECK_EQ(walk_now()->n, 5);
	CHECK_EQ(walk_now()->why, RT_WHY_OK);
	regs.r15 = FUNCTION(0); // of compiled code: the frame tells; and if that is old, too, the function
	put(ROOT, PHPFRAME(0));
	check_lang(walk_now(), 0, "A::inner", "/src/a.php", 7);
	put(PHPFRAME(0), OPLINE(0) - 0x20);
	check_lang(walk_now(), 0, "A::inner", "/src/a.php", 0);
	put(PHPFRAME(0), OPLINE(8));
	check_lang(walk_now(), 0, "A::inner", "/src/a.php", 0);
	CHECK_EQ(walk_now()->why, RT_WHY_OK);
	put(ROOT, PHPFRAME(2) + 0x800);
	regs.r14 = 0x1234; // another's register
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	regs.r14 = regs.r15 = 0;
}

TEST(php_frames_that_are_none)
{
	start_php();
	put(ROOT, 0); // it has no frame yet
	check_native(walk_now(), RT_WHY_OK);
	start_php();
	put(PHPFRAME(1) + 24, 0x1234); // no function
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_php();
	put(FUNCTION(0) + 152, FUNCTION(1)); // no string
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_php();
	put(PHPFRAME(0) + 24, 0), put(PHPFRAME(0) + 48, PHPFRAME(0)); // round in a circle, without a frame
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_php();
	put(PHPFRAME(0) + 40, 0), put(PHPFRAME(0) + 48, PHPFRAME(0)); // with frames
	CHECK(walk_now()->flags & RT_STACK_INCOMPLETE);
}

// The same thread in Ruby 3.1: a block in inner(), which each(), in C, called from main.
#define EC (HEAP + 0x880)
#define VMSTACK (HEAP + 0xb00)
#define CFP(i) (VMSTACK + 0x140 + (i) * 64) // three, and the one that is none of the program's
#define ENV(i) (VMSTACK + 0x10 + (i) * 24)
#define ISEQ_OF(i) (HEAP + 0xd00 + (i) * 0xc0)
#define ENTRY_OF (HEAP + 0x1000)
#define NAMES_OF (HEAP + 0x1040)
static u64 put_ruby_str(const char *text, bool in_place)
{
	u64 at = texts, n = strlen(text), data = at + (in_place ? 16 : 32);
	put(at, in_place ? 5 | n << 14 : 5 | 1 << 13);
	put(at + 16, n);
	put(at + 24, data);
	memcpy((u8 *)heap + (data - HEAP), text, n);
	texts = (data + n + 15) & ~7ull;
	return at;
}

// Frames by position 2 and 4; entries of 12 bytes, of which the position 0 to 3 has the first.
static void put_iseq(u32 i, const char *name, u32 line, u64 kind, u64 pos, bool path_is_array)
{
	u64 body = ISEQ_OF(i) + 24, path = put_ruby_str("/src/a.rb", false), lines = texts, index = lines + 24;

	put(lines, line + 1), put(lines + 12, (u64)(line + 7));
	put(index, 1ull << 0 | 1ull << 7 | 1ull << 14 | 1ull << 21 | 2ull << 28 | 2ull << 35);
	texts += 32;
	if (path_is_array) {
		put(texts, 7 | 1 << 13);
		put(texts + 16, path);
		path = texts;
		texts += 40;
	}
	put(ISEQ_OF(i) + 16, body);
	put(body, 6ull << 32);
	put(body + 8, HEAP);
	put(body + 64, path);
	put(body + 80, put_ruby_str(name, strlen(name) < 24));
	put(body + 88, line * 2 + 1);
	put(body + 120, lines);
	put(body + 136, 2);
	put(body + 144, index);
	put(CFP(i), HEAP + 8 * (pos + 1));
	put(CFP(i) + 16, ISEQ_OF(i));
	put(CFP(i) + 32, ENV(i) + 16);
	put(ENV(i) + 16, kind);
}

#define RUBY_ROOT (HEAP + 0x60)
static void start_ruby_as(struct RtRuby how)
{
	struct RtLang lang = {.kind = RT_LANG_RUBY, .chain = 1, .row = 1, .root = RUBY_ROOT - BIAS, .code_type = NAMES_OF - BIAS, .ruby = how};
	struct RtChain c;
	u32 one = 1;

	start_python();
	CHECK(ruby_runtime.chain(&lang, &c));
	bpf_map_update_elem(&rt_chains, &one, &c, 0);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	memset((u8 *)heap + (EC - HEAP), 0, TEXTS + 0x100 - EC);
	texts = TEXTS;
	put(HEAP + 0x40, EC);
	put(EC, VMSTACK), put(EC + 8, 0x240 / 8), put(EC + 16, CFP(0));
	put_iseq(0, "block (2 levels) in inner, which is long", 10, 0x22220001 | 0x20, 2, true);
	put_iseq(2, "<main>", 0, 0x77770001 | 0x20, 4, false);
	put(CFP(1) + 32, ENV(1) + 16); // each
	put(ENV(1) + 16, 0x55550001 | 2);
	put(ENV(1), ENTRY_OF);
	put(ENTRY_OF, 0x601a);
	put(ENTRY_OF + 16, ENTRY_OF + 8);
	put(ENTRY_OF + 8 + 32, 513 << 4 | 1);
	put(NAMES_OF + 16, NAMES_OF + 0x20); // an array in which the second has the names from 512 on
	put(NAMES_OF + 0x20, 7 | 1 << 13);
	put(NAMES_OF + 0x20 + 24, NAMES_OF + 0x50);
	put(NAMES_OF + 0x50 + 32, NAMES_OF + 0x80);
	put(NAMES_OF + 0x80 + 16, put_ruby_str("each", true));
	loops_by_range();
}

static void start_ruby(void)
{
	start_ruby_as((struct RtRuby){2, 0x40, 0});
}

TEST(ruby_frames_by_a_program)
{
	for (u32 again = 0; again < 2; again++) {
		if (!again)
			start_ruby();
		struct RtStack *st = walk_now();
		CHECK_EQ(st->n, 5);
		check_lang(st, 0, "block (2 levels) in inner, which is long", "/src/a.rb", 24);
		CHECK_FRAME(st, 1, TEXT + 0x20);
		check_lang(st, 2, "each", "", 0);
		check_lang(st, 3, "<main>", "/src/a.rb", 40);
		CHECK_FRAME(st, 4, TEXT + 0x210);
		CHECK_EQ(st->why, RT_WHY_OK);
		struct RtCode c = code_of(st->frames[0]), main = code_of(st->frames[3]);
		CHECK_EQ(ruby_runtime.line(&c, 24), 11);
		CHECK_EQ(ruby_runtime.line(&c, 0), 11);
		CHECK_EQ(ruby_runtime.line(&c, 40), 17);
		CHECK_EQ(ruby_runtime.line(&c, 4808), 0);
		CHECK_EQ(ruby_runtime.line(&main, 40), 7);
	}
	regs.r15 = CFP(2); // the innermost loop's: the frames before it have none
	struct RtStack *st = walk_now();
	CHECK_EQ(st->why, RT_WHY_OK);
	CHECK_EQ(st->n, 6);
	CHECK_FRAME(st, 1, TEXT + 0x20);
	check_lang(st, 2, "block (2 levels) in inner, which is long", "/src/a.rb", 24);
	check_lang(st, 3, "each", "", 0);
	check_lang(st, 4, "<main>", "/src/a.rb", 40);
	regs.r15 = 0;
}

// The thread's state: behind a key, or a variable of a library; of a program that is linked with glibc, and with musl.
TEST(where_ruby_keeps_its_thread)
{
	enum { BY_KEY, BY_GOT };
	for (u32 i = 0; i < 4; i++) {
		struct RtRuby how = {i & 1 ? BY_GOT : BY_KEY, 0, i / 2};
		start_ruby_as(how);
		put(HEAP + 0x40, 0);
		if (how.how == BY_GOT) {
			put(RUBY_ROOT, 3), put(RUBY_ROOT + 8, 0x10); // module, place in its variables
			put(HEAP + 8, HEAP + 0x100);
			put(HEAP + 0x100 + 3 * (how.musl ? 8 : 16), HEAP + 0x180);
			put(HEAP + 0x190, EC);
		} else {
			put(RUBY_ROOT, 33);
			put(HEAP + 0x80, HEAP + 0x100);
			put(HEAP + 0x510 + 8, HEAP + 0x100); // glibc's second block
			put(HEAP + 0x100 + (how.musl ? 33 * 8 : 16 + 8), HEAP + 0x280);
			put(HEAP + 0x280 + 32, EC);
		}
		struct RtStack *st = walk_now();
		check_lang(st, 0, "block (2 levels) in inner, which is long", "/src/a.rb", 24);
		CHECK_EQ(st->n, 5);
		CHECK_EQ(st->why, RT_WHY_OK);
	}
}

TEST(ruby_frames_that_are_none)
{
	start_ruby();
	put(HEAP + 0x40, 0); // no state
	check_native(walk_now(), RT_WHY_OK);
	start_ruby();
	put(EC + 16, CFP(3)); // no frame
	check_native(walk_now(), RT_WHY_OK);
	start_ruby();
	put(ENTRY_OF, 0x501a); // no method's entry
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_ruby();
	put(ISEQ_OF(0) + 16, 0x1234); // no body
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_ruby();
	put(ISEQ_OF(0) + 24 + 80, ENTRY_OF); // no string
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_ruby();
	put(ENV(0) + 16, 0x22220001); // one loop has done with its own
	CHECK_EQ(walk_now()->n, 6);
	start_ruby();
	put(CFP(2), 0); // the outermost is a block in C: each() is the last one, and the outer loop has run its own
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 5);
	CHECK_EQ(st->why, RT_WHY_OK);
	check_lang(st, 3, "each", "", 0);
}

TEST(the_innermost_function_is_the_same_wherever_it_is)
{
	u64 at[2];
	rt_lang_func_asked = 1;
	for (u32 i = 0; i < 2; i++) {
		start_python();
		put_frame_of(0, PYFRAME(1), 0, 2 + 2 * i);
		at[i] = rt_lang_func(&regs, RT_SRC_REGS);
		CHECK_EQ(RT_FRAME_POS(at[i]), 0);
		struct RtCode c = code_of(at[i]);
		CHECK(c.name_len == 7 && !memcmp(c.name, "A.inner", 7));
		CHECK_EQ(rt_lang_func(&regs, RT_SRC_REGS), at[i]); // when all is known
	}
	CHECK_EQ(at[0], at[1]);
	CHECK_EQ(rt_lang_func(&regs, RT_SRC_REGS | RT_SRC_F_NATIVE), 0);
	put(STATE + 152, 1); // another thread's
	CHECK_EQ(rt_lang_func(&regs, RT_SRC_REGS), 0);
}

// Functions at TEXT + 0x10, 0x40, 0x100, by a table on the heap.
static void start_go(u32 wide, u32 nfuncs)
{
	static const u32 begin[] = {0x10, 0x40, 0x100};
	struct RtUwRule rule_of = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 8, .index = RT_UW_LANG}, c = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 8};
	struct RtLang lang = {.kind = RT_LANG_GO, .root = HEAP - TEXT + OFF, .go = {.text = wide ? 0 : OFF, .nfuncs = nfuncs, .wide = wide}};
	u32 one = 1;

	start_python();
	put_rows((u64[]){UW_ROW(OFF, rule(c)), UW_ROW(OFF + 0x10, rule(rule_of))}, 2);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	for (u32 i = 0; i < ARRAY_LEN(begin); i++)
		put(HEAP + (wide ? 16 : 8) * i, wide ? TEXT + begin[i] : begin[i] | 0xabcdull << 32);
}

static u64 go_func_at(u64 pc)
{
	regs.ip = pc;
	return rt_lang_func(&regs, RT_SRC_REGS);
}

TEST(a_function_of_go_by_its_table)
{
	rt_lang_func_asked = 1;
	for (u32 wide = 0; wide < 2; wide++) {
		start_go(wide, 3);
		CHECK_EQ(go_func_at(TEXT + 0x10), RT_FRAME_MAKE(1, OFF + 0x10) | RT_FRAME_EXACT);
		CHECK_EQ(go_func_at(TEXT + 0x3f), RT_FRAME_MAKE(1, OFF + 0x10) | RT_FRAME_EXACT);
		CHECK_EQ(go_func_at(TEXT + 0x40), RT_FRAME_MAKE(1, OFF + 0x40) | RT_FRAME_EXACT);
		CHECK_EQ(go_func_at(TEXT + 0xff), RT_FRAME_MAKE(1, OFF + 0x40) | RT_FRAME_EXACT);
		CHECK_EQ(go_func_at(TEXT + 0x1ff), RT_FRAME_MAKE(1, OFF + 0x100) | RT_FRAME_EXACT);
		stack[0] = TEXT + 0x51; // C, called by Go
		regs.sp = STACK;
		CHECK_EQ(go_func_at(TEXT + 4), RT_FRAME_MAKE(1, OFF + 0x40) | RT_FRAME_EXACT);
		start_go(wide, 1 << 23); // a table that goes on where there is no memory: the place itself
		CHECK_EQ(go_func_at(TEXT + 0x55), RT_FRAME_MAKE(1, OFF + 0x55) | RT_FRAME_EXACT);
	}
}

TEST(groups_that_end_in_the_loops_frame)
{
	start_shims();
	wide_loops();
	check_python(walk_now());
	start_shims();
	wide_loops();
	put_frame_of(1, PYFRAME(0), 0, 0); // the end is never found
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
}

TEST(frames_without_the_gil)
{
	for (u32 copied = 0; copied < 3; copied++) { // the code's own instructions; the thread's copy; one that cannot be read
		start_shims_of(&py314free);
		wide_loops();
		u64 copies = texts, code = copies + 32;
		put(CODE(0) + 232, copied == 2 ? 8 : copies);
		put(copies + 8 + 8, code);
		if (copied) {
			put(PYFRAME(0) + 56, code + 2);
			put(PYFRAME(0) + 64, 1);
		}
		struct RtStack *st = walk_now();
		if (copied < 2)
			check_python(st);
		else
			check_lang(st, 0, "A.inner", "/src/a.py", 0);
	}
}

static void start_each(void)
{
	start_python_of(&py39);
	put(STATE + 56, PYFRAME(0));
	put_frame_of(0, PYFRAME(2), 0, 0);
	put_frame_of(2, 0, 0, 0);
	put(PYFRAME(0) + 56, 14);
	put(PYFRAME(2) + 56, 0xffffffff); // not begun
	loops_by_range();
}

TEST(a_frame_for_each_loop)
{
	for (u32 more = 0; more < 2; more++) { // as many; a frame more
		start_each();
		put_frame_of(2, more ? PYFRAME(1) : 0, 0, 0);
		put(PYFRAME(2) + 56, 0xffffffff); // not begun
		struct RtStack *st = walk_now();
		CHECK_EQ(st->n, 4);
		check_lang(st, 0, "A.inner", "/src/a.py", 14);
		CHECK_FRAME(st, 1, TEXT + 0x20);
		check_lang(st, 2, "<module>", "/src/main.py", 0);
		CHECK_EQ(st->why, more ? RT_WHY_LANG : RT_WHY_OK);
	}
}

// The innermost loop has no frame yet, or no more: the others keep theirs.
TEST(a_loop_more_than_frames)
{
	for (u32 none = 1; none < 3; none++) {
		start_each();
		put(STATE + 56, none == 1 ? PYFRAME(2) : 0);
		struct RtStack *st = walk_now();
		CHECK_EQ(st->n, 4);
		CHECK_EXACT(st, 0, TEXT);
		CHECK_FRAME(st, 1, TEXT + 0x20);
		if (none == 1)
			check_lang(st, 2, "<module>", "/src/main.py", 0);
		else
			CHECK_FRAME(st, 2, TEXT + 0x120);
		CHECK_FRAME(st, 3, TEXT + 0x210);
		CHECK_EQ(st->why, none == 1 ? RT_WHY_OK : RT_WHY_LANG);
		st = result(rt_ustack(NULL, 4, RT_SRC_TP));
		CHECK_EQ(st ? st->n : 0, 4);
	}
}
// Two interpreters, each with a state of the thread: the inner loop is of the younger one's, and the outer of that which the thread has under its key.
#define INTERPS 640 // from ROOT on
#define INTERP(i) (HEAP + 0x8a0 + (i) * 16)
#define STATE2 (HEAP + 0x980)
static void put_interps(struct RtPython py, u64 first, u64 second)
{
	u32 one = 1;
	struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &one);

	py.interps = INTERPS;
	py.interp_threads = 8;
	py.current = INTERPS + 8;
	l->py = py;
	put(ROOT + INTERPS, INTERP(1));
	put(ROOT + INTERPS + 8, STATE2);
	put(INTERP(1), INTERP(0));
	put(INTERP(1) + 8, STATE2);
	put(INTERP(0), 0);
	put(INTERP(0) + 8, STATE);
	put(STATE2 + 8, 0);
	put(STATE2 + 152, HEAP);
	put(STATE2 + 56, first);
	put(STATE + 56, second);
}

static void start_interps(void)
{
	start_python();
	put_interps(py311, STACK + 8, STACK + 8 * 13);
	stack[3] = HEAP; // the state's own, which has no frame
}

TEST(a_thread_of_several_interpreters)
{
	start_interps();
	check_python(walk_now());
	put(ROOT + INTERPS + 8, 0); // it has given the GIL away
	check_python(walk_now());
	start_interps();
	put(HEAP + 0x310 + KEY * 16 + 8, 0); // nothing under its key
	check_python(walk_now());
	for (u32 at_work = 0; at_work < 2; at_work++) {
		start_each();
		put_interps(py39, PYFRAME(0), PYFRAME(2));
		put_frame_of(0, 0, 0, 0);
		put(PYFRAME(0) + 56, 14);
		if (!at_work)
			put(ROOT + INTERPS + 8, 0);
		struct RtStack *st = walk_now();
		check_lang(st, 0, "A.inner", "/src/a.py", 14);
		check_lang(st, 2, "<module>", "/src/main.py", 0);
		CHECK_EQ(st->why, RT_WHY_OK);
	}
	start_shims();
	put_interps(py313, PYFRAME(0), PYFRAME(2));
	stack[1 + 6] = 0;
	wide_loops();
	check_python(walk_now());
}

// Lists of interpreters and of states that lead to themselves, a state of another thread, none that has frames
TEST(interpreters_without_end)
{
	start_interps();
	put(INTERP(0), INTERP(1));
	check_python(walk_now());
	start_interps();
	put(STATE2 + 8, STATE2);
	u64 before = rt_host.loop_steps;
	CHECK_EQ(walk_now()->n, 5);
	CHECK(rt_host.loop_steps - before <= RT_STACK_DEEP);
	start_interps();
	put(STATE2 + 152, HEAP + 8);
	struct RtStack *st = walk_now();
	CHECK_EXACT(st, 0, TEXT);
	check_lang(st, 2, "<module>", "/src/main.py", 4);
	start_interps();
	put(STATE2 + 56, 0);
	put(STATE + 56, 0);
	check_native(walk_now(), RT_WHY_OK);
}
TEST(native_frames_where_they_are_asked_for)
{
	start_python();
	check_native(result(rt_ustack(NULL, 0, RT_SRC_TP | RT_SRC_F_NATIVE)), RT_WHY_OK);
}
TEST(a_limit_counts_what_is_shown)
{
	for (u32 n = 1; n < 6; n++) {
		start_python();
		struct RtStack *st = result(rt_ustack(NULL, n, RT_SRC_TP));
		CHECK(st && st->n == n);
		CHECK(st && RT_FRAME_IS_LANG(st->frames[0]));
		CHECK(st && RT_FRAME_IS_LANG(st->frames[n - 1]) == (n != 3 && n != 5));
		CHECK_EQ(st ? st->why : 0, RT_WHY_ASKED);
	}
}
#if defined(__x86_64__)
// musl 1.2: the thread pointer's 16th word points to the values.
static void start_musl(void)
{
	start_python();
	put(HEAP + 0x310 + KEY * 16 + 8, 0);
	put(HEAP + 0x80, HEAP + 0xc0);
	put(HEAP + 0xc0 + KEY * 8, STATE);
}
TEST(threads_of_musl)
{
	start_python();
	struct RtStack *st = walk_now();
	u64 n = st->n;
	CHECK(RT_FRAME_IS_LANG(st->frames[1]));
	start_musl();
	st = walk_now();
	CHECK_EQ(st->n, n);
	CHECK_EQ(st->why, RT_WHY_OK);
	CHECK(RT_FRAME_IS_LANG(st->frames[1]));
	start_musl();
	put(STATE + 152, HEAP + 8); // another thread's state
	check_native(walk_now(), RT_WHY_OK);
	start_musl();
	put(HEAP + 0x80, 0x1234567890);
	check_native(walk_now(), RT_WHY_OK);
	start_musl();
	put(ROOT + 592, 128ull << 32 | 1); // no key of musl's
	check_native(walk_now(), RT_WHY_OK);
}
#endif
TEST(threads_that_are_not_pythons)
{
	start_python();
	put(STATE + 152, HEAP + 8); // another thread's state
	check_native(walk_now(), RT_WHY_OK);
	start_python();
	put(ROOT + 592, (u64)KEY << 32); // before the key was made
	check_native(walk_now(), RT_WHY_OK);
	start_python();
	put(ROOT + 592, 2000ull << 32 | 1); // no key at all
	check_native(walk_now(), RT_WHY_OK);
	start_python();
	put(HEAP + 0x310 + KEY * 16 + 8, 0x1234567890);
	check_native(walk_now(), RT_WHY_OK);
}
TEST(what_is_no_code_object_ends_them_and_is_counted)
{
	start_python();
	put(CODE(0) + 8, CODE_TYPE + 8);
	check_native(walk_now(), RT_WHY_LANG);
	start_python();
	put(PYFRAME(2) + 32, 0x10);
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 5); // what was found before is kept
	CHECK_EQ(st->why, RT_WHY_LANG);
	CHECK_FRAME(st, 3, TEXT + 0x120);
	start_python();
	put(CODE(1) + 128, 0x18); // its name
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
}
TEST(a_chain_without_end_ends)
{
	start_python();
	put_frame_of(1, PYFRAME(0), 0, 0);
	u64 before = rt_host.loop_steps;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->why, RT_WHY_LIMIT);
	CHECK(st->flags & RT_STACK_INCOMPLETE);
	CHECK(rt_host.loop_steps - before <= RT_STACK_DEEP);
}
TEST(records_do_not_go_down)
{
	start_python();
	stack[3] = STACK + 8; // the inner one again
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 5);
	CHECK_FRAME(st, 3, TEXT + 0x120);
}
TEST(memory_that_is_used_again_has_a_new_name)
{
	start_python();
	u64 first = walk_now()->frames[0];
	put_code(0, "B.other", "/src/b.py", 33);
	struct RtStack *st = walk_now();
	CHECK(st->frames[0] != first);
	check_lang(st, 0, "B.other", "/src/b.py", 2);
	put_code(0, "A.inner", "/src/a.py", 10); // elsewhere in memory: the same content has the same number
	CHECK_EQ(walk_now()->frames[0], first);
}
TEST(a_code_that_could_not_be_told_is_told_at_its_next_sight)
{
	struct RtCode c;
	start_python();
	codes_full = -11;
	u64 first = walk_now()->frames[0];
	codes_destroy(codes);
	codes = codes_create();
	CHECK(!codes_get(codes, RT_FRAME_CODE(first), &c));
	codes_full = 0;
	CHECK_EQ(walk_now()->frames[0], first);
	CHECK(codes_get(codes, RT_FRAME_CODE(first), &c));
	codes_destroy(codes);
	codes = codes_create();
	CHECK_EQ(walk_now()->frames[0], first); // known: not once more
	CHECK(!codes_get(codes, RT_FRAME_CODE(first), &c));
}
TEST(a_number_of_two_codes_names_neither)
{
	struct RtCodeNew a = {.id = 7, .code = {.check = 1, .kind = RT_LANG_PYTHON}};
	struct RtCode c;
	start_python();
	codes_add(codes, &a, sizeof(a) - RT_CODE_LINES);
	codes_add(codes, &a, sizeof(a) - RT_CODE_LINES);
	CHECK(codes_get(codes, 7, &c));
	a.code.check = 2;
	codes_add(codes, &a, sizeof(a) - RT_CODE_LINES);
	CHECK(!codes_get(codes, 7, &c));
	codes_add(codes, &a, 10); // too short
}
TEST(names_in_other_alphabets_and_long_ones)
{
	char file[300], want[200];
	memset(file, 'd', sizeof(file));
	memcpy(file + 290, "/end.py", 7);
	snprintf(want, sizeof(want), "...%.160s", file + 137);
	start_python();
	put(CODE(0) + 128, put_str((u16[]){0x6d, 0x20ac, 0xd800}, 3, 2)); // half a surrogate pair
	put(CODE(1) + 128, put_str("m\xe9thode", 7, 1));
	put(CODE(2) + 128, put_str((u32[]){0x1f600, 0x110000}, 2, 4));
	put(CODE(2) + 112, put_str(file, 297, 0));
	struct RtStack *st = walk_now();
	check_lang(st, 0, "m\xe2\x82\xac\xef\xbf\xbd", "/src/a.py", 2);
	check_lang(st, 1, "m\xc3\xa9thode", "/src/a.py", 0);
	check_lang(st, 3, "\xf0\x9f\x98\x80\xef\xbf\xbd", want, 4);
}

// co_linetable and co_lines() of a function, by Python 3.11.2.
TEST(lines_of_311)
{
	static const u8 table[] = {0x80, 0x00, 0xe0, 0x08, 0x09, 0x88, 0x41, 0x89, 0x05, 0x80, 0x41, 0xd8, 0x07, 0x08, 0xf0, 0x00, 0x02, 0x05, 0x1b, 0xdd,
					0x0e, 0x18, 0xd8, 0x0c, 0x15, 0x98, 0x01, 0x89, 0x4d, 0xf1, 0x03, 0x01, 0x0f, 0x1b, 0xf4, 0x00, 0x01, 0x0f, 0x1b, 0xf0,
					0x00, 0x01, 0x09, 0x1b, 0xf0, 0x06, 0x02, 0x0c, 0x14, 0xf0, 0x00, 0x02, 0x0c, 0x14, 0xe0, 0x0c, 0x12, 0xf0, 0x05, 0x02,
					0x0c, 0x14, 0xf1, 0x00, 0x02, 0x0c, 0x14, 0xf4, 0x00, 0x02, 0x0c, 0x14, 0xf0, 0x00, 0x02, 0x05, 0x14};
	static const struct {
		u32 from, to, line;
	} want[] = {{0, 2, 1}, {2, 4, 3}, {4, 6, 3}, {6, 10, 3}, {10, 12, 3}, {12, 14, 4}, {14, 16, 4}, {16, 28, 5}, {28, 30, 6}, {30, 32, 6}, {32, 36, 6},
		  {36, 40, 5}, {40, 50, 5}, {50, 52, 5}, {52, 54, 8}, {54, 56, 8}, {56, 58, 10}, {58, 60, 8}, {60, 64, 8}, {64, 74, 8}, {74, 76, 8}};
	struct RtCode c = {.kind = RT_LANG_PYTHON, .lines_kind = 1, .first_line = 1, .nlines = sizeof(table)};
	memcpy(c.lines, table, sizeof(table));
	for (u32 i = 0; i < ARRAY_LEN(want); i++)
		for (u32 at = want[i].from; at < want[i].to; at += 2)
			CHECK_EQ(runtime_of(RT_LANG_PYTHON)->line(&c, at), want[i].line);
	CHECK_EQ(runtime_of(RT_LANG_PYTHON)->line(&c, 100000), 1); // beyond its end
	for (u32 n = 0; n < sizeof(table); n++) { // cut anywhere
		c.nlines = n;
		runtime_of(RT_LANG_PYTHON)->line(&c, 20);
	}
}

// The same function's co_linetable of 3.10.13 and co_lnotab of 3.9.18.
TEST(lines_of_310_and_before)
{
	static const u8 table[] = {8, 2, 4, 1, 2, 1, 6, 1, 4, 0xff, 6, 3, 2, 2, 6, 0xfe}, lnotab[] = {0, 2, 8, 1, 4, 1, 2, 1, 6, 0xff, 4, 3, 6, 2, 2, 0xfe};
	static const struct {
		u32 from, to, line;
	} want[] = {{0, 8, 3}, {8, 12, 4}, {12, 14, 5}, {14, 20, 6}, {20, 24, 5}, {24, 30, 8}, {30, 32, 10}, {32, 38, 8}};
	for (u32 kind = 2; kind < 4; kind++) {
		struct RtCode c = {.kind = RT_LANG_PYTHON, .lines_kind = (u16)kind, .first_line = 1, .nlines = sizeof(table)};
		memcpy(c.lines, kind == 2 ? table : lnotab, sizeof(table));
		for (u32 i = 0; i < ARRAY_LEN(want); i++)
			for (u32 at = want[i].from; at < want[i].to; at += 2)
				CHECK_EQ(runtime_of(RT_LANG_PYTHON)->line(&c, at), want[i].line);
	}
}

// What stands for a runtime's file in a profile tells its language when that is read back.
TEST(profiles_know_the_object_of_each_runtime)
{
	u32 n = 0;
	for (u32 kind = 0; kind < 64; kind++) {
		const struct Runtime *rt = runtime_of(kind);
		const char *lang = rt ? frame_lang_of_object(rt->module) : NULL;
		if (rt)
			CHECK_STR(lang ? lang : "", !strcmp(rt->name, "luajit") ? "lua" : rt->name); // one language, two runtimes
		n += rt != NULL;
	}
	CHECK(n >= 3);
}

// What frames a runtime has is known for a machine: of another one none is taken for known, whatever its version.
TEST(machines_of_runtimes)
{
	static const enum RtLangKind kinds[] = {RT_LANG_PYTHON, RT_LANG_PHP, RT_LANG_RUBY, RT_LANG_PERL, RT_LANG_LUA, RT_LANG_LUAJIT, RT_LANG_JAVA, RT_LANG_V8};
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct Runtime *rt = runtime_of(kinds[i]);
		CHECK(!runtime_not_on(rt, EM_X86_64));
		CHECK_EQ(!runtime_not_on(rt, EM_AARCH64), kinds[i] == RT_LANG_PYTHON || kinds[i] == RT_LANG_PHP);
		CHECK(runtime_not_on(rt, EM_RISCV) && runtime_not_on(rt, EM_386));
	}
	CHECK(strstr(runtime_not_on(runtime_of(RT_LANG_PYTHON), EM_RISCV), "(on x86-64 and arm64 only)"));
	CHECK(strstr(runtime_not_on(runtime_of(RT_LANG_JAVA), EM_AARCH64), "(on x86-64 only)"));
}

T_MAIN()
#endif
