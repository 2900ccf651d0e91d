// Input: memory of a process with a Java VM, the layout of its structures, a method as it came from one; the VM's account of itself. The walk of a thread whose
// code HotSpot has made ends within its limit, with a stack that is what it says; the account is read to an end, names are UTF-8, lines some number.
#include "t.h"
#include "out/report.h"
#include "walk_fix.h"
#include "cursor.h"

#define SEGMENTS (HEAP + 0x1800) // of the heap of code, which is the first 6 KB of the made-up heap
#define NAMES (HEAP + 0x1f00)

static u64 word(struct Input *in) // mostly an address in the heap or on the stack
{
	u64 v = take(in, 2);
	return v & 1 ? HEAP + (v >> 1) % sizeof(heap) / 8 * 8 : v & 2 ? STACK + (v >> 2) % sizeof(stack) / 8 * 8 : v & 4 ? TEXT + (v >> 3) % 1024 : v & 8 ? take(in, 8) : v >> 4;
}

static void put_vm(struct Input *in)
{
	struct RtLang lang = {.kind = RT_LANG_JAVA};
	struct RtJvm vm = {.lang = 1, .serial = 1, .heap = {{HEAP, 0x1800, SEGMENTS, 7}}};
	u16 *p = (u16 *)&lang.java;
	u32 one = 1, pid = 77;
	for (u32 i = 0; i < sizeof(lang.java) / 2; i++)
		p[i] = (u16)(take(in, 1) * 2);
	lang.java.b_name &= 0x78;
	lang.java.b_short &= 2;
	lang.java.digit = (u16)take(in, 1) & 1;
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	bpf_map_update_elem(&rt_jvms, &pid, &vm, 0);
	static const char names[] = "nmethod\0Interpreter\0    StubRoutines (1)    vtable chunks";
	memcpy((u8 *)heap + (NAMES - HEAP), names, sizeof(names));
	for (u64 blob = lang.java.block; blob + 512 < 0x1800; blob += 512) { // so that most inputs get further
		u64 name = NAMES + take(in, 1) % 6 * 8;
		if (take(in, 1) % 8)
			memcpy((u8 *)heap + blob - lang.java.block + lang.java.b_name, &name, 8);
	}
}

static void names(const struct RtCode *c, u32 pos)
{
	struct Str s = {0};
	runtime_code_name(c, &s);
	runtime_code_file(c, &s);
	for (size_t i = 0, n; i < s.n; i += n) {
		n = utf8_len(s.p + i, s.n - i);
		check(n);
	}
	str_deinit(&s);
	runtime_of(RT_LANG_JAVA)->line(c, pos);
}

static bool read_heap(void *arg, u64 addr, void *buf, size_t n)
{
	(void)arg;
	return !read_user(buf, (u32)n, (void *)addr);
}

static void account(struct Input *in)
{
	struct JavaMemory m = {read_heap, NULL, HEAP};
	struct RtLang lang = {.kind = RT_LANG_JAVA, .root = 0, .code_type = 8};
	struct RtJvm vm = {0};
	struct Str version = {0};
	for (u32 i = 0; i < ARRAY_LEN(heap); i++)
		heap[i] = word(in);
	java_look(&m, &lang, &vm, &version);
	str_deinit(&version);
}

static void alone(struct Input *in)
{
	struct RtCode c;
	for (u32 i = 0; i < sizeof(c); i++)
		((u8 *)&c)[i] = (u8)take(in, 1);
	c.kind = RT_LANG_JAVA;
	names(&c, (u32)take(in, 2));
}

static void walk_it(struct Input *in)
{
	put_rows((u64[]){UW_ROW(OFF, rule(end_rule))}, 1); // TEXT: the thread's root
	for (u32 i = 0; i < WORDS; i++)
		stack[i] = word(in);
	for (u32 i = 0; i < ARRAY_LEN(heap); i++)
		heap[i] = word(in);
	put_vm(in);
	regs.ip = HEAP + take(in, 2) % 0x1800;
	regs.sp = STACK + take(in, 1) % 64 * 8;
	regs.bp = STACK + take(in, 2) % WORDS * 8;
	regs.r13 = word(in);
	u64 limit = take(in, 1) % 4 ? 100 : 0, before = rt_host.loop_steps, id = rt_ustack(NULL, limit, RT_SRC_TP);
	check(rt_host.loop_steps - before <= RT_STACK_DEEP);
	struct RtStack *st = result(id);
	check(st && st->n == RT_STACK_NFRAMES(id) && st->n >= 1 && st->why < RT_WHYS);
	for (u32 i = 0; i < st->n && !(st->flags & RT_STACK_IS_LIST); i++) {
		struct RtCode c;
		if (RT_FRAME_IS_LANG(st->frames[i]) && codes_get(codes, RT_FRAME_CODE(st->frames[i]), &c))
			names(&c, RT_FRAME_POS(st->frames[i]));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Input in = {data, data + size};
	u64 what = take(&in, 1) % 4;

	start();
	codes_destroy(codes);
	codes = codes_create();
	if (!what)
		alone(&in);
	else if (what == 1)
		account(&in);
	else
		walk_it(&in);
	return 0;
}
