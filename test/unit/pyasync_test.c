// Tasks of asyncio that wait for the one that runs: the walk of bpfrt/pyasync.bpf.c over the made-up memory of a CPython 3.11.
#include "t.h"
#include "runtime/runtime.h"

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 pyasync # SKIP made-up frames are of x86-64\n1..1\n");
	return 0;
}
#else
#include "walk_fix.h"

// Where things are in the heap; the thread pointer is its start. Objects are as far apart as the largest of them
#define KEY 5
#define ROOT (HEAP + 0x600)
#define STATE (HEAP + 0x900)
#define CODE_TYPE (HEAP + 0xa00)
#define CORO_TYPE (HEAP + 0xa10)
#define TASK_TYPE (HEAP + 0xa20)
#define TYPE_TYPE (HEAP + 0xa60)
#define CLASS (HEAP + 0xa90)
#define OBJ(i) (HEAP + 0xb00 + (i) * 0xa0)
#define CODE(i) (HEAP + 0x1400 + (i) * 0x90)
#define TEXTS (HEAP + 0x1a00)
#define BIAS (TEXT - OFF)
enum { FRAME_OFF = 80, LOCALS = 72, TASK_AT = 10 };
enum { RUN, LOOP, CORO1, CORO2, CORO3, TASK1, TASK2, WAKE2, FUTURE, OTHER, LIST }; // objects
static const struct RtPython py311 = {
	.key = 592, .thread_id = 152, .cframe = 56, .cframe_frame = 8, .cframe_prev = 16, .frame_size = 72, .frame_code = 32, .frame_prev = 48, .frame_ip = 56,
	.frame_end = 68, .end_value = 1, .code_size = 144, .code_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136, .code_first = 184,
	.str_ascii = 48, .str_other = 72, .lines_kind = 1, .frame_owner = 69, .frame_locals = LOCALS, .frame_top = 64, .coro_frame = FRAME_OFF, .task_coro = 136,
	.task_waiter = 128, .attrs = RT_PY_ATTRS_BEFORE32, .tuple_items = 24};
static u64 texts; // the next free place
static struct {
	u64 pad, tp;
} task;

static void put(u64 at, u64 v)
{
	memcpy((u8 *)heap + (at - HEAP), &v, 8);
}

static u64 put_str(const char *text)
{
	u64 at = texts, n = strlen(text);
	put(at + 16, n);
	put(at + 32, 1 << 2 | 1 << 6);
	memcpy((u8 *)heap + (at + 48 - HEAP), text, n);
	texts = (at + 48 + n + 7) & ~7ull;
	return at;
}

static u64 put_lines(void)
{
	u64 at = texts;
	put(at + 16, 2);
	put(at + 32, 0x80);
	texts = at + 40;
	return at;
}

static void put_code(u32 i, const char *name, u64 file)
{
	put(CODE(i) + 8, CODE_TYPE);
	put(CODE(i) + 72, i + 1);
	put(CODE(i) + 112, file);
	put(CODE(i) + 128, put_str(name));
	put(CODE(i) + 136, put_lines());
}

// A frame of code number i that is the last of its loop; owner 1: a coroutine's, whose stack has the object `top`.
static void put_frame_of(u64 at, u32 i, u64 prev, u32 owner, u64 top)
{
	put(at + 32, CODE(i));
	put(at + 48, prev);
	put(at + 56, CODE(i) + 184 + 2 * i);
	put(at + 64, 1ull << 32 | (u64)owner << 40 | (top ? 2 : 0));
	put(at + LOCALS, HEAP); // a local
	put(at + LOCALS + 8, top);
}

static void put_coro(u32 obj, u32 code, u64 prev, u64 awaits)
{
	put(OBJ(obj) + 8, CORO_TYPE);
	put_frame_of(OBJ(obj) + FRAME_OFF, code, prev, 1, awaits);
}

// A loop runs the coroutine of task 1; C has the task on the stack and was called by a loop with Handle._run(). For task 1 task 2 waits, by its outermost coroutine 2, which awaits 3.
static void start_tasks(void)
{
	struct RtUwRule eval = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 48, .index = RT_UW_LANG}, root = {.kind = RT_UW_END};
	struct RtLang lang = {.kind = RT_LANG_PYTHON, .root = ROOT - BIAS, .code_type = CODE_TYPE - BIAS, .py = py311,
			      .types = {[RT_PY_CORO_TYPE] = CORO_TYPE - BIAS, [RT_PY_TYPE_TYPE] = TYPE_TYPE - BIAS}};
	u32 one = 1;

	start();
	put_rows((u64[]){UW_ROW(OFF, rule(eval)), UW_ROW(OFF + 0x200, rule(root))}, 2);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	codes_destroy(codes);
	codes = codes_create();
	texts = TEXTS;
	task.tp = HEAP;
	rt_host.task = (u64)&task;
	rt_off_tp = 8;
	rt_py_async_asked = 1;
	stack[5] = TEXT + 0x20;	  // C
	stack[11] = TEXT + 0x120; // the outer loop
	stack[17] = TEXT + 0x210; // the root
	stack[2] = OBJ(CORO1) + FRAME_OFF, stack[3] = STACK + 8 * 13;
	stack[6] = OBJ(CORO1), stack[7] = 12345, stack[8] = ~0ull, stack[9] = STACK, stack[TASK_AT] = OBJ(TASK1);
	stack[14] = OBJ(RUN), stack[15] = HEAP;
	put(ROOT + 592, (u64)KEY << 32 | 1);
	put(HEAP + 0x310 + KEY * 16 + 8, STATE);
	put(STATE + 152, HEAP);
	put(STATE + 56, STACK + 8);
	u64 file = put_str("/lib/asyncio/tasks.py");
	put_code(0, "_run", file);
	put_code(1, "runs", file);
	put_code(2, "outer", file);
	put_code(3, "waits", file);
	put_frame_of(OBJ(RUN), 0, 0, 0, 0);
	put_coro(CORO1, 1, OBJ(RUN), OBJ(OTHER));
	put_coro(CORO2, 2, 0, OBJ(CORO3));
	put_coro(CORO3, 3, 0, OBJ(OTHER));
	put(TASK_TYPE + 8, TYPE_TYPE);
	put(TASK_TYPE + 32, 152), put(TASK_TYPE + 40, 0);
	put(OBJ(TASK1) + 8, TASK_TYPE);
	put(OBJ(TASK1) + 136, OBJ(CORO1));
	put(OBJ(TASK1) + 24, OBJ(WAKE2));
	put(OBJ(WAKE2) + 24, OBJ(TASK2));
	put(OBJ(TASK2) + 128, OBJ(TASK1));
	put(OBJ(TASK2) + 136, OBJ(CORO2));
}

static struct RtStack *walk_async(void)
{
	struct RtStack *st = result(rt_ustack(NULL, 0, RT_SRC_TP | RT_SRC_F_ASYNC));
	return st ? st : &none;
}

static const char *name_of(u64 frame)
{
	static struct RtCode c;
	static char text[RT_CODE_NAME + 1];
	if (!RT_FRAME_IS_LANG(frame) || !codes_get(codes, RT_FRAME_CODE(frame), &c))
		return "";
	snprintf(text, sizeof(text), "%.*s", (int)c.name_len, c.name);
	return text;
}

static void check_names(const struct RtStack *st, const char *const *want)
{
	u32 n = 0;
	for (; want[n]; n++)
		CHECK_STR(n < st->n ? name_of(st->frames[n]) : "none", want[n]);
	CHECK_EQ(st->n, n);
}
#define CHECK_STACK(st, ...) check_names(st, (const char *const[]){__VA_ARGS__, NULL})
#define WITHOUT "runs", "", "_run", ""
#define WITH "runs", "", "waits", "outer", "_run", ""

TEST(a_task_that_waits_comes_before_the_event_loop)
{
	start_tasks();
	CHECK_STACK(walk_now(), WITHOUT);
	struct RtStack *st = walk_async();
	CHECK_STACK(st, WITH);
	CHECK_EQ(st->why, RT_WHY_OK);
	CHECK_EQ(RT_FRAME_POS(st->frames[2]), 6);
	rt_py_async_asked = 0;
	CHECK_STACK(walk_async(), WITHOUT);
}

// Wherever C keeps it; what has the coroutine at the same place but is no object is not it.
TEST(the_task_is_one_of_the_words_on_the_stack)
{
	start_tasks();
	stack[TASK_AT] = 0;
	CHECK_STACK(walk_async(), WITHOUT);
	stack[4] = OBJ(TASK1);
	CHECK_STACK(walk_async(), WITH);
	start_tasks();
	put(TASK_TYPE + 8, TASK_TYPE);
	CHECK_STACK(walk_async(), WITHOUT);
}

// The locals of a frame, of which one is a class and another the coroutine, come before the task.
TEST(words_that_lie_as_in_a_task_are_none)
{
	for (u32 i = 0; i < 4; i++) {
		start_tasks();
		stack[TASK_AT - 1] = OBJ(OTHER);
		put(OBJ(OTHER) + 8, CLASS);
		put(OBJ(OTHER) + 136, OBJ(CORO1));
		put(OBJ(OTHER) + 24, 0);
		put(CLASS + 8, TYPE_TYPE);
		put(CLASS + 32, i == 0 ? 56 : i == 1 ? 1 << 16 : 152);
		put(CLASS + 40, i == 2 ? 8 : 0);
		put(OBJ(OTHER) + 128, i == 3 ? OBJ(FUTURE) : 0); // waits, and so does not run
		CHECK_STACK(walk_async(), WITH);
	}
	put(OBJ(OTHER) + 128, 0); // else it is taken for one
	CHECK_STACK(walk_async(), WITHOUT);
}

TEST(a_task_that_waits_for_something_else_is_not_shown)
{
	start_tasks();
	put(OBJ(TASK2) + 128, OBJ(OTHER));
	CHECK_STACK(walk_async(), WITHOUT);
	start_tasks();
	put(OBJ(CORO2) + 8, CODE_TYPE); // no coroutine
	CHECK_STACK(walk_async(), WITHOUT);
	start_tasks();
	put(OBJ(TASK1) + 136, OBJ(CORO2)); // another task
	CHECK_STACK(walk_async(), WITHOUT);
}

// Callbacks of others come first: they are in a list from the second on.
TEST(the_callback_that_waits_is_one_of_a_few)
{
	start_tasks();
	put(OBJ(TASK1) + 24, OBJ(OTHER));
	put(OBJ(TASK1) + 40, OBJ(LIST));
	put(OBJ(LIST) + 16, 2);
	put(OBJ(LIST) + 24, OBJ(LIST) + 32);
	put(OBJ(LIST) + 32, OBJ(LIST) + 48), put(OBJ(LIST) + 40, OBJ(LIST) + 80);
	put(OBJ(LIST) + 48 + 24, OBJ(OTHER));
	put(OBJ(LIST) + 80 + 24, OBJ(WAKE2));
	CHECK_STACK(walk_async(), WITH);
	put(OBJ(LIST) + 16, 1);
	CHECK_STACK(walk_async(), WITHOUT);
}

// A function of asyncio's that closes over the future which task 2 waits for.
static void start_helper(void)
{
	start_tasks();
	put(OBJ(TASK1) + 24, OBJ(OTHER));
	put(OBJ(OTHER) + 48, CODE(0));
	put(OBJ(OTHER) + 72, OBJ(LIST));
	put(OBJ(LIST) + 16, 2);
	put(OBJ(LIST) + 24, OBJ(LIST) + 48), put(OBJ(LIST) + 32, OBJ(LIST) + 80); // cells
	put(OBJ(LIST) + 48 + 16, 5);
	put(OBJ(LIST) + 80 + 16, OBJ(FUTURE));
	put(OBJ(FUTURE) + 24, OBJ(WAKE2));
	put(OBJ(TASK2) + 128, OBJ(FUTURE));
}

TEST(a_helper_with_a_closure)
{
	start_helper();
	CHECK_STACK(walk_async(), WITH);
	put(CODE(0) + 112, put_str("/src/asyncio/other.py")); // somebody else's
	CHECK_STACK(walk_async(), WITHOUT);
}

// A method of a TaskGroup, whose future is among its attributes.
TEST(a_group)
{
	start_tasks();
	put_code(4, "done", put_str("/lib/asyncio/taskgroups.py"));
	put(OBJ(TASK1) + 24, OBJ(OTHER));
	put(OBJ(OTHER) + 16, OBJ(LIST));
	put(OBJ(OTHER) + 24, OBJ(LIST) + 96);
	put(OBJ(LIST) + 48, CODE(4));
	put(OBJ(LIST) + 96 - 32, OBJ(LIST));
	put(OBJ(LIST) + 16, OBJ(FUTURE)); // attribute 2
	put(OBJ(FUTURE) + 24, OBJ(WAKE2));
	put(OBJ(TASK2) + 128, OBJ(FUTURE));
	CHECK_STACK(walk_async(), WITH);
}

// A task that waits for itself, and a coroutine that awaits itself: each is followed so long, and the stack counts as cut.
TEST(chains_without_end_end)
{
	start_helper();
	put(OBJ(TASK2) + 24, OBJ(OTHER));
	CHECK_EQ(walk_async()->why, RT_WHY_LANG);
	start_tasks();
	put(OBJ(CORO3) + FRAME_OFF + LOCALS + 8, OBJ(CORO3));
	CHECK_EQ(walk_async()->why, RT_WHY_LANG);
}

T_MAIN()
#endif
