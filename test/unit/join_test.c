// code_join: two programs as one, run on the machine of ebpf_interp.h, which says whether this is a call's entry or its return.
#include "t.h"
#include "ebpf_interp.h"
#ifndef BPF_PSEUDO_FUNC
#define BPF_PSEUDO_FUNC 4
#endif

static struct Arena arena;

static void compile(const char *text, struct IrProg *p, struct Code *c)
{
	struct Str why = {0};
	*c = (struct Code){0};
	if (!ir_parse(&arena, text, p, &why) || !ir_verify(p, &why))
		T_FAIL("%s", str_text(&why));
	struct err *e = ir_compile(p, &(struct EmitOpts){0}, c);
	if (e)
		T_FAIL("%s", err_text(e));
	str_deinit(&why);
}

// Both read a word of their context and write to the map: the entry 100 + word and what its function makes of it, into words 0 and 1, or 1 into
// word 2 and home at once when the word is 0; the return the same into words 4 to 6, with another function. Each passes a callback of its own.
#define PROGRAM(name, ret, base, fn_op)                                                                                     \
	"prog \"" name "\"\nloc 0 " base " 1\nloc 0 " base " 9\n"                                                           \
	"func \"main\" params 0 regs 9\nslot s0 8 8\n"                                                                      \
	"b0:\n\tv1 = load.8 [ctx +8] @1\n\tbr.8 eq v1, 0, b1, b2\n"                                                         \
	"b1:\n\tstore.8 [val3+" base " +16], 1\n\tret " ret "\n"                                                            \
	"b2:\n\tv2 = add v1, 100 @2\n\tstore.8 [val3+" base " +0], v2\n\tv3 = call_fn 1(v1, 7)\n\tstore.8 [val3+" base " +8], v3\n" \
	"\tstore.8 [s0 +0], v3\n\tv5 = call 181(2, fn2, s0, 0)\n\tv4 = call_rt \"rt_" name "\"(v1)\n\tret " ret "\n"           \
	"func \"fn_" name "\" params 2 regs 3\nb0:\n\tv3 = " fn_op " v1, v2\n\tv3 = add v3, v1\n\tret v3\n"                   \
	"func \"cb_" name "\" params 2 regs 2\nb0:\n\tret 0\n"

static struct Code joined;
static struct IrProg entry, ret;

static void join(void)
{
	struct Code b;
	compile(PROGRAM("in", "5", "0", "mul"), &entry, &joined);
	compile(PROGRAM("out", "1", "32", "sub"), &ret, &b);
	CHECK(code_join(&entry, &joined, &ret, &b, "is_it_a_return"));
	code_deinit(&b);
}

static void unjoin(void)
{
	code_deinit(&joined);
	ir_deinit(&entry);
	ir_deinit(&ret);
}

static void check_run(bool at_return, u64 word, const u64 *want)
{
	u64 ctx[2] = {0, word}, mem[8] = {0}, r0 = 99;
	const char *fault = machine_run(&joined, ctx, (u8 *)mem, at_return, &r0);
	if (fault)
		T_FAIL("%s", fault);
	CHECK_EQ(r0, 0); // whatever the two return
	for (u32 i = 0; i < 8; i++)
		CHECK_EQ(mem[i], want[i]);
}

TEST(runs_the_one_that_the_kernel_says)
{
	join();
	for (size_t i = 0; i < joined.relocs.n; i++) { // the runtime is not there: helper 7 in its place
		if (joined.relocs.p[i].kind == REL_RT)
			joined.insns.p[joined.relocs.p[i].insn] = (struct BpfInsn){.code = BPF_JMP | BPF_CALL, .imm = 7};
	}
	check_run(false, 3, (u64[8]){103, 3 * 7 + 3});
	check_run(true, 3, (u64[8]){0, 0, 0, 0, 103, (u64)(3 - 7 + 3)});
	check_run(false, 0, (u64[8]){0, 0, 1});
	check_run(true, 0, (u64[8]){[6] = 1});
	unjoin();
}

static const struct CodeFunc *func_at(u32 insn)
{
	for (size_t i = 0; i < joined.funcs.n; i++)
		if (joined.funcs.p[i].insn == insn)
			return &joined.funcs.p[i];
	return NULL;
}

// Every call and every callback's address leads to the beginning of a function of the same program.
TEST(functions_are_found_where_they_went)
{
	join();
	u32 calls = 0, callbacks = 0;
	bool b = false;
	for (u32 i = 0; i < joined.insns.n; i++) {
		const struct BpfInsn *in = &joined.insns.p[i];
		bool wide = in->code == (BPF_LD | BPF_IMM | BPF_DW), is_rt = false;
		for (size_t k = 0; k < joined.relocs.n; k++) {
			if (joined.relocs.p[k].insn == i && joined.relocs.p[k].kind == REL_RT) {
				is_rt = true;
				CHECK_STR(joined.relocs.p[k].name, b ? "rt_out" : "rt_in");
			}
		}
		if (!is_rt && ((in->code == (BPF_JMP | BPF_CALL) && in->regs >> 4 == BPF_PSEUDO_CALL) || (wide && in->regs >> 4 == BPF_PSEUDO_FUNC))) {
			const struct CodeFunc *f = func_at((u32)((s32)i + 1 + in->imm));
			CHECK(f != NULL);
			if (f)
				CHECK_STR(f->name, wide ? b ? "cb_out" : "cb_in" : b ? "fn_out" : "fn_in");
			(wide ? callbacks++ : calls++);
		}
		b |= in->code == (BPF_JMP | BPF_EXIT); // the first exit is the entry's
		i += wide;
	}
	CHECK_EQ(calls, 2);
	CHECK_EQ(callbacks, 2);
	CHECK_EQ(joined.funcs.n, func_at(0) ? 5 : 4);
	unjoin();
}

TEST(relocations_and_lines_move_with_their_instructions)
{
	join();
	u32 mem[2] = {0}, kfuncs = 0, first_exit = 0;
	while (joined.insns.p[first_exit].code != (BPF_JMP | BPF_EXIT))
		first_exit++;
	for (size_t i = 0; i < joined.relocs.n; i++) {
		const struct Reloc *r = &joined.relocs.p[i];
		const struct BpfInsn *in = &joined.insns.p[r->insn];
		if (r->kind == REL_MAPVAL) {
			CHECK_EQ(in->code, BPF_LD | BPF_IMM | BPF_DW);
			CHECK_EQ(r->id, 3);
			mem[r->insn > first_exit]++;
		} else {
			CHECK_EQ(in->code, BPF_JMP | BPF_CALL);
			if (r->kind == REL_KFUNC) {
				CHECK_STR(r->name, "is_it_a_return");
				kfuncs++;
			}
		}
	}
	CHECK(mem[0] > 0);
	CHECK_EQ(mem[0], mem[1]);
	CHECK_EQ(kfuncs, 1);
	CHECK_EQ(entry.locs.n, 4);
	bool seen[4] = {false};
	for (size_t i = 0; i < joined.lines.n; i++) {
		CHECK(!i || joined.lines.p[i].insn > joined.lines.p[i - 1].insn); // as the kernel wants them
		CHECK(joined.lines.p[i].insn < joined.insns.n);
		CHECK(joined.lines.p[i].loc < 4);
		seen[joined.lines.p[i].loc & 3] = true;
	}
	CHECK(seen[0] && seen[1] && seen[2] && seen[3]);
	CHECK_EQ(entry.locs.p[2].line, 32);
	unjoin();
}

// Both directions: the jump to the return's code goes over all of the entry's main function.
TEST(what_is_too_long_stays_as_it_is)
{
	for (int which = 0; which < 2; which++) {
		struct Code c[2];
		compile(PROGRAM("in", "5", "0", "mul"), &entry, &c[0]);
		compile(PROGRAM("out", "1", "32", "sub"), &ret, &c[1]);
		struct BpfInsn nop = {.code = BPF_JMP | BPF_JA};
		c[which].funcs.n = 0; // all of it the main function's
		while (c[which].insns.n < 32000)
			vec_push(&c[which].insns, nop);
		size_t n = c[0].insns.n, locs = entry.locs.n;
		CHECK(!code_join(&entry, &c[0], &ret, &c[1], "is_it_a_return"));
		CHECK_EQ(c[0].insns.n, n);
		CHECK_EQ(entry.locs.n, locs);
		code_deinit(&c[0]);
		code_deinit(&c[1]);
		ir_deinit(&entry);
		ir_deinit(&ret);
	}
}

T_MAIN()
