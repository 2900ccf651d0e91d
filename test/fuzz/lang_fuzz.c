// Input: what an interpreter's structures hold, their layout, a code object as it came from a process. The walk of a thread whose frames are such ends within
// its limit, with a stack that is what it says; a code object's texts are UTF-8 and its lines some number. Whatever a process puts into its memory is such
// an input.
#include "t.h"
#include "out/report.h"
#include "walk_fix.h"
#include "cursor.h"

static struct {
	u64 pad, tp;
} task;

static u64 word(struct Input *in) // mostly an address in the heap or on the stack
{
	u64 v = take(in, 2);
	return v & 1 ? HEAP + (v >> 1) % sizeof(heap) / 8 * 8 : v & 2 ? STACK + (v >> 2) % sizeof(stack) / 8 * 8 : v & 4 ? TEXT + (v >> 3) % 1024 : v & 8 ? take(in, 8) : v >> 4;
}

static void put_layout(struct Input *in)
{
	struct RtLang lang = {.kind = (u32)take(in, 1) % 8 ? RT_LANG_PYTHON : 7, .root = HEAP - (TEXT - OFF), .code_type = HEAP + 8 - (TEXT - OFF)};
	u16 *p = (u16 *)&lang.py;
	u32 one = 1;
	for (u32 i = 0; i < sizeof(lang.py) / 2; i++)
		p[i] = (u16)(take(in, 1) * 8);
	lang.py.how = (u16)take(in, 1) % 3;
	lang.py.end_value &= 3;
	lang.py.frame_end |= (u16)take(in, 1) & 7;
	lang.py.ip_unit &= 2;
	lang.py.frame_owner |= (u16)take(in, 1) & 7;
	lang.py.attrs %= 3;
	lang.types[RT_PY_CORO_TYPE] = HEAP + 16 - (TEXT - OFF);
	lang.types[RT_PY_ASEND_TYPE] = HEAP + 24 - (TEXT - OFF);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
}

// A program of any operations, by which the chain is followed instead.
static void put_program(struct Input *in)
{
	struct RtLang lang = {.kind = RT_LANG_PHP, .chain = 1, .root = HEAP - (TEXT - OFF), .code_type = HEAP + 8 - (TEXT - OFF)};
	struct RtChain c = {.step = (u32)take(in, 1), .copy = (u32)take(in, 1)};
	u32 one = 1;
	for (u32 i = 0; i < RT_CHAIN_OPS; i++)
		c.op[i] = (struct RtOp){.op = (u8)(take(in, 1) % (RT_OP_NONE + 2)), .dst = (u8)take(in, 1), .src = (u8)take(in, 1), .arg = (u16)take(in, 2), .imm = (s32)take(in, take(in, 1) % 4 ? 1 : 4)};
	bpf_map_update_elem(&rt_chains, &one, &c, 0);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
}

// A runtime's own program.
static void put_chain(struct Input *in)
{
	static const struct Runtime *const all[] = {&php_runtime, &ruby_runtime, &perl_runtime, &lua_runtime, &luajit_runtime};
	const struct Runtime *rt = all[take(in, 1) % ARRAY_LEN(all)];
	struct RtLang lang = {.kind = rt->kind, .chain = 1, .row = (u16)take(in, 1), .root = HEAP - (TEXT - OFF), .code_type = HEAP + 8 - (TEXT - OFF)};
	lang.ruby = (struct RtRuby){(u32)take(in, 1) % 5, (s32)take(in, 1) * 8};
	if (rt == &lua_runtime)
		lang.lua = (struct RtLua){3, 6, 12, (u32)take(in, 1)};
	if (rt == &luajit_runtime && take(in, 1) % 4) {
		lang.luajit.cur_l = (s32)take(in, 1) * 8;
		lang.luajit.traces = (s32)take(in, 1) * 8;
		lang.luajit.state = (s32)take(in, 1) * 4;
	}
	struct RtChain c;
	u32 one = 1;
	check(rt->chain(&lang, &c));
	bpf_map_update_elem(&rt_chains, &one, &c, 0);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
}

static void put_code(struct Input *in)
{
	struct RtUwRule eval = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 64, .index = RT_UW_LANG}, c = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 16};
	u32 one = 1, loop = rule(eval), plain = rule(c), root = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, loop), UW_ROW(OFF + 0x100, plain), UW_ROW(OFF + 0x180, loop), UW_ROW(OFF + 0x300, root)}, 4);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = take(in, 1) % 8 ? 1 : 0;
}

// As frames are printed.
static void names(const struct RtCode *c, u32 pos)
{
	const struct Runtime *rt = runtime_of(c->kind);
	struct Str s = {0};
	runtime_code_name(c, &s);
	runtime_code_file(c, &s);
	for (size_t i = 0, n; i < s.n; i += n) {
		n = utf8_len(s.p + i, s.n - i);
		check(n);
	}
	str_deinit(&s);
	if (rt)
		rt->line(c, pos);
}

static void alone(struct Input *in)
{
	struct RtCode c;
	for (u32 i = 0; i < sizeof(c); i++)
		((u8 *)&c)[i] = (u8)take(in, 1);
	c.kind = (u32[]){RT_LANG_PYTHON, RT_LANG_PHP, RT_LANG_RUBY, RT_LANG_PERL, RT_LANG_LUA, RT_LANG_LUAJIT}[c.kind % 6];
	if (c.kind != RT_LANG_LUA && c.kind != RT_LANG_LUAJIT)
		c.lines_kind %= c.kind == RT_LANG_RUBY ? 13 : 5;
	names(&c, (u32)take(in, 2));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Input in = {data, data + size};

	if (take(&in, 1) % 4 == 0) {
		alone(&in);
		return 0;
	}
	start();
	codes_destroy(codes);
	codes = codes_create();
	codes_full = take(&in, 1) % 8 ? 0 : -11;
	task.tp = HEAP;
	rt_host.task = (u64)&task;
	rt_off_tp = 8;
	u64 how = take(&in, 1) % 4;
	if (how < 2)
		put_layout(&in);
	else if (how == 2)
		put_program(&in);
	else
		put_chain(&in);
	put_code(&in);
	for (u32 i = 0; i < WORDS; i++)
		stack[i] = word(&in);
	for (u32 i = 0; i < ARRAY_LEN(heap); i++)
		heap[i] = word(&in);
	heap[0x310 / 8 + 1] = HEAP + 0x800; // the value of key 0, so that most inputs get further
	rt_py_async_asked = 1;
	u64 limit = take(&in, 1) % 4 ? 100 : 0, src = RT_SRC_TP | (take(&in, 1) % 2 ? RT_SRC_F_ASYNC : 0);
	u64 before = rt_host.loop_steps, id = rt_ustack(NULL, limit, src);
	check(rt_host.loop_steps - before <= RT_STACK_DEEP);
	struct RtStack *st = result(id);
	check(st && st->n == RT_STACK_NFRAMES(id) && st->n >= 1 && st->why < RT_WHYS);
	check(rt_stack_len(id) <= (limit ? limit : RT_STACK_DEEP));
	for (u32 i = 0; i < st->n && !(st->flags & RT_STACK_IS_LIST); i++) {
		struct RtCode c;
		if (!RT_FRAME_IS_LANG(st->frames[i]))
			continue;
		check(RT_FRAME_CODE(st->frames[i]) != 0);
		if (codes_get(codes, RT_FRAME_CODE(st->frames[i]), &c))
			names(&c, RT_FRAME_POS(st->frames[i]));
	}
	rt_lang_func_asked = 1;
	u64 func = rt_lang_func(NULL, RT_SRC_TP);
	check(!func || (RT_FRAME_IS_LANG(func) && RT_FRAME_CODE(func) && !RT_FRAME_POS(func)));
	if (!codes_full && how != 2) // a program of any operations may do other things when nothing has to be copied
		check(rt_ustack(NULL, limit, src) == id); // the same thread gives the same stack
	return 0;
}
