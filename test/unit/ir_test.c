// The IR itself: text form, verifier messages, what the optimiser makes of small programs, small programs' code; random control flow through
// the optimiser and the back end, run on the machine of ebpf_interp.h.
#include "t.h"
#include "ebpf_interp.h"
#include "ir_interp.h"

static struct Arena arena;

static struct IrProg parse(const char *text)
{
	struct IrProg p;
	struct Str why = {0};
	if (!ir_parse(&arena, text, &p, &why))
		T_FAIL("%s", str_text(&why));
	str_deinit(&why);
	return p;
}

#define ALL_FORMS                                                                                                      \
	"prog \"a\\x22b\"\n"                                                                                           \
	"loc 0 3 9\n"                                                                                                  \
	"loc 1 4 1\n"                                                                                                  \
	"func \"main\" params 0 regs 20\n"                                                                             \
	"slot s0 16 8\n"                                                                                               \
	"slot s1 4 4\n"                                                                                                \
	"b0 \"entry\":\n"                                                                                              \
	"\tv1 = load.8 [ctx +8] @1\n"                                                                                  \
	"\tv2 = load.2! [s0+8 -4]\n"                                                                                   \
	"\tv3 = add v1, -9223372036854775808 @2\n"                                                                     \
	"\tv4 = mov val3-8\n"                                                                                          \
	"\tv5 = neg v4\n"                                                                                              \
	"\tv6 = zext.1 v5\n"                                                                                           \
	"\tv7 = bswap.2 v6\n"                                                                                          \
	"\tstore.4 [s1 +0], 9223372036854775807\n"                                                                     \
	"\tatomic_add.8 [val3 +8], v7\n"                                                                               \
	"\tv8 = atomic_add.4 [val3+16 +8], 1\n"                                                                        \
	"\tv9 = atomic_xchg.8 [s0 +0], v8\n"                                                                           \
	"\tv10 = atomic_cas.8 [s0 +0], v9, 5\n"                                                                        \
	"\tcall 14()\n"                                                                                                \
	"\tv11 = call 181(4, fn1, s0, 0)\n"                                                                            \
	"\tv12 = call_rt \"rt_str\"(v1, map2)\n"                                                                       \
	"\tv13 = call_kfunc \"bpf_x\"(ctx)\n"                                                                          \
	"\tv14 = call_fn 1(v1, v2)\n"                                                                                  \
	"\tbr.4 set v14, 3, b1, b2\n"                                                                                  \
	"b1:\n"                                                                                                        \
	"\tnop\n"                                                                                                      \
	"\tjmp b2\n"                                                                                                   \
	"b2 \"out\":\n"                                                                                                \
	"\tret v14\n"                                                                                                  \
	"func \"cb\" params 2 regs 2\n"                                                                                \
	"b0 \"entry\":\n"                                                                                              \
	"\tbr.8 sle v1, v2, b0, b1\n"                                                                                  \
	"b1:\n"                                                                                                        \
	"\tret\n"

TEST(text_round_trip)
{
	struct IrProg p = parse(ALL_FORMS);
	struct Str s = {0}, why = {0};
	ir_dump(&p, &s);
	CHECK_STR(str_text(&s), ALL_FORMS);
	CHECK(ir_verify(&p, &why));
	CHECK_STR(str_text(&why), "");
	str_deinit(&s);
	str_deinit(&why);
	ir_deinit(&p);
}

TEST(text_errors)
{
	static const char *const bad[][2] = {
		{"v1 = mov 1\n", "line 1: expected \"func\""},
		{"func \"f\" params 6 regs 0\n", "line 1: 6 is out of range"},
		{"func \"f\" params 0 regs 99999999\n", "line 1: 99999999 is out of range"},
		{"func \"f\" params 0 regs 1\nret\n", "line 2: expected a block"},
		{"func \"f\" params 0 regs 1\nb1:\n", "line 2: blocks must be numbered in order"},
		{"func \"f\" params 0 regs 1\nb0:\n\tv1 = frob 1\n", "line 3: unknown opcode"},
		{"func \"f\" params 0 regs 1\nb0:\n\tv1 = add 1\n", "line 3: expected \",\""},
		{"func \"f\" params 0 regs 1\nb0:\n\tv1 = mov 1 2\n", "line 3: unexpected \"2\""},
		{"func \"f\" params 0 regs 1\nb0:\n\tv1 = mov 9223372036854775808\n", "line 3: the number is too large"},
		{"func \"f\" params 0 regs 1\nb0:\n\tv1 = call 1(1, 2, 3, 4, 5, 6)\n", "line 3: too many arguments"},
		{"prog \"a\\q\"\n", "line 1: bad escape"},
		{"prog \"a\n", "line 1: expected \"\"\""},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct IrProg p;
		struct Str why = {0};
		CHECK(!ir_parse(&arena, bad[i][0], &p, &why));
		CHECK_STR(str_text(&why), bad[i][1]);
		str_deinit(&why);
	}
}

// body of a function with two slots and a callback next to it
static void check_rejected(const char *body, const char *want)
{
	struct Str text = {0}, why = {0};
	str_addf(&text, "func \"main\" params 0 regs 4\nslot s0 16 8\nb0:\n%sfunc \"cb\" params 1 regs 1\nb0:\n\tret 0\n", body);
	struct IrProg p = parse(str_text(&text));
	CHECK(!ir_verify(&p, &why));
	CHECK_STR(str_text(&why), want);
	ir_deinit(&p);
	str_deinit(&text);
	str_deinit(&why);
}

TEST(verify_messages)
{
	check_rejected("\tv1 = mov 1\n", "function main, block b0: the block ends without a terminator");
	check_rejected("\tjmp b1\nb1:\n", "function main, block b1: the block ends without a terminator");
	check_rejected("\tret 0\n\tret 0\n", "function main, block b0, instruction 0 (ret): a terminator in the middle of a block");
	check_rejected("\tret v1\n", "function main, block b0, instruction 0 (ret): v1 may be read before it is set");
	check_rejected("\tret v5\n", "function main, block b0, instruction 0 (ret): reads vreg v5, which does not exist");
	check_rejected("\tv1 = call 7()\n\tbr.8 eq v1, 0, b1, b2\nb1:\n\tv2 = mov 1\n\tjmp b2\nb2 \"end\":\n\tret v2\n",
		       "function main, block b2 end, instruction 0 (ret): v2 may be read before it is set");
	check_rejected("\tstore.8 [s0+8 +4], 1\n\tret\n", "function main, block b0, instruction 0 (store): reaches byte 20 of slot s0, which has 16");
	check_rejected("\tstore.8 [s1 +0], 1\n\tret\n", "function main, block b0, instruction 0 (store): slot s1 does not exist");
	check_rejected("\tstore.3 [s0 +0], 1\n\tret\n", "function main, block b0, instruction 0 (store): size 3");
	check_rejected("\tatomic_add.2 [s0 +0], 1\n\tret\n", "function main, block b0, instruction 0 (atomic_add): size 2");
	check_rejected("\tv1 = load.8 [5 +0]\n\tret\n", "function main, block b0, instruction 0 (load): the address is the constant 5");
	check_rejected("\tv1 = call_fn 1()\n\tret\n", "function main, block b0, instruction 0 (call_fn): 0 arguments for a function of 1");
	check_rejected("\tv1 = call_fn 0()\n\tret\n", "function main, block b0, instruction 0 (call_fn): function 0 does not exist");
	check_rejected("\tv1 = call 1(fn2)\n\tret\n", "function main, block b0, instruction 0 (call): function 2 does not exist");
	check_rejected("\tjmp b7\n", "function main, block b0, instruction 0 (jmp): bad condition or target");
	check_rejected("\tmov 1\n\tret\n", "function main, block b0, instruction 0 (mov): bad destination v0");
	check_rejected("\tv1 = store.8 [s0 +0], 1\n\tret\n", "function main, block b0, instruction 0 (store): bad destination v1");
	// a loop that sets v2 only in its second round
	check_rejected("\tjmp b1\nb1:\n\tv1 = call 7()\n\tbr.8 eq v1, 0, b2, b3\nb2:\n\tv2 = mov v1\n\tjmp b1\nb3:\n\tret v2\n",
		       "function main, block b3, instruction 0 (ret): v2 may be read before it is set");
}

static void check_opt(const char *body, const char *want)
{
	struct Str text = {0}, out = {0}, why = {0};
	str_addf(&text, "func \"main\" params 0 regs 20\nslot s0 64 8\n%s", body);
	struct IrProg p = parse(str_text(&text));
	if (!ir_verify(&p, &why))
		T_FAIL("%s", str_text(&why));
	ir_optimize(&p);
	ir_dump(&p, &out);
	const char *got = strstr(str_text(&out), "b0");
	CHECK_STR(got, want);
	if (!ir_verify(&p, &why))
		T_FAIL("%s", str_text(&why));
	ir_deinit(&p);
	str_deinit(&text);
	str_deinit(&out);
	str_deinit(&why);
}

TEST(opt_values)
{
	check_opt("b0:\n\tv1 = mov 6\n\tv2 = mul v1, 7\n\tv3 = mov v2\n\tret v3\n", "b0:\n\tret 42\n");
	check_opt("b0:\n\tv1 = call 7()\n\tv2 = mul v1, 8\n\tv3 = udiv v2, 16\n\tv4 = umod v3, 32\n\tret v4\n",
		  "b0:\n\tv1 = call 7()\n\tv2 = shl v1, 3\n\tv3 = lshr v2, 4\n\tv4 = and v3, 31\n\tret v4\n");
	// a loaded byte needs no extension, no mask and no signed division
	check_opt("b0:\n\tv1 = load.1 [ctx +0]\n\tv2 = zext.1 v1\n\tv3 = and v2, 255\n\tv4 = sext.4 v3\n\tv5 = sdiv v4, 10\n\tret v5\n",
		  "b0:\n\tv1 = load.1 [ctx +0]\n\tv5 = udiv v1, 10\n\tret v5\n");
	check_opt("b0:\n\tv1 = load.1 [ctx +0]\n\tv2 = sext.1 v1\n\tv3 = sext.4 v2\n\tret v3\n",
		  "b0:\n\tv1 = load.1 [ctx +0]\n\tv2 = sext.1 v1\n\tret v2\n");
	// addresses fold into accesses; a map's value and a slot are operands
	check_opt("b0:\n\tv1 = load.8 [ctx +0]\n\tv2 = add v1, 16\n\tv3 = load.8 [v2 +8]\n\tv4 = add v2, 4\n\tv5 = load.4 [v4 +0]\n\tv6 = add v3, v5\n"
		  "\tv7 = mov s0\n\tv8 = add v7, 8\n\tstore.8 [v8 +8], v6\n\tv9 = mov val2\n\tstore.8 [v9 +4], v6\n\tret 0\n",
		  "b0:\n\tv1 = load.8 [ctx +0]\n\tv3 = load.8 [v1 +24]\n\tv5 = load.4 [v1 +20]\n\tv6 = add v3, v5\n\tstore.8 [s0+8 +8], v6\n"
		  "\tstore.8 [val2+4 +0], v6\n\tret 0\n");
	// volatile loads and calls stay, their results do not
	check_opt("b0:\n\tv1 = load.8! [ctx +0]\n\tv2 = load.8 [ctx +8]\n\tv3 = call 7()\n\tv4 = atomic_add.8 [val1 +0], 1\n\tret 0\n",
		  "b0:\n\tv1 = load.8! [ctx +0]\n\tcall 7()\n\tatomic_add.8 [val1 +0], 1\n\tret 0\n");
}

TEST(opt_helpers)
{
	// who runs does not change: one call, also over branches; time does
	check_opt("b0:\n\tv1 = call 14()\n\tv2 = call 5()\n\tbr.8 eq v1, v2, b1, b2\nb1:\n\tv3 = call 14()\n\tv4 = call 5()\n\tv5 = add v3, v4\n\tret v5\n"
		  "b2:\n\tret 0\n",
		  "b0:\n\tv21 = call 14()\n\tv2 = call 5()\n\tbr.8 eq v21, v2, b1, b2\nb1:\n\tv4 = call 5()\n\tv5 = add v21, v4\n\tret v5\n"
		  "b2:\n\tret 0\n");
	// only one side has called it
	check_opt("b0:\n\tv1 = call 5()\n\tbr.8 eq v1, 0, b1, b2\nb1:\n\tv2 = call 14()\n\tv3 = call 25(v2)\n\tjmp b2\nb2:\n\tv4 = call 14()\n\tret v4\n",
		  "b0:\n\tv1 = call 5()\n\tbr.8 eq v1, 0, b1, b2\nb1:\n\tv21 = call 14()\n\tcall 25(v21)\n\tjmp b2\nb2:\n\tv21 = call 14()\n\tret v21\n");
}

TEST(opt_control_flow)
{
	check_opt("b0:\n\tv1 = mov 1\n\tbr.8 ne v1, 0, b1, b2\nb1:\n\tjmp b3\nb2:\n\tcall 7()\n\tjmp b3\nb3:\n\tret v1\n", "b0:\n\tret 1\n");
	// a condition as a value: no value is left
	check_opt("b0:\n\tv1 = call 7()\n\tbr.8 ugt v1, 9, b1, b2\nb1:\n\tv2 = mov 1\n\tjmp b3\nb2:\n\tv2 = mov 0\n\tjmp b3\n"
		  "b3:\n\tv3 = mov v2\n\tbr.8 ne v3, 0, b4, b5\nb4:\n\tcall 8()\n\tjmp b5\nb5:\n\tret 0\n",
		  "b0:\n\tv1 = call 7()\n\tbr.8 ugt v1, 9, b1, b2\nb1:\n\tcall 8()\n\tjmp b2\nb2:\n\tret 0\n");
	check_opt("b0:\n\tv1 = call 7()\n\tv2 = and v1, 4\n\tbr.8 eq v2, 0, b1, b2\nb1:\n\tret 1\nb2:\n\tret 2\n",
		  "b0:\n\tv1 = call 7()\n\tbr.8 set v1, 4, b2, b1\nb1:\n\tret 1\nb2:\n\tret 2\n");
	// the bits are of a value that is read in another block, too, and copied: it keeps its vreg
	check_opt("b0:\n\tv1 = call 7()\n\tv2 = mov v1\n\tv3 = and v1, 5\n\tbr.8 ne v3, 0, b1, b2\nb1:\n\tbr.8 eq v1, 9, b3, b2\nb2:\n\tv2 = add v2, 1\n\tjmp b3\nb3:\n\tret v2\n",
		  "b0:\n\tv1 = call 7()\n\tv2 = mov v1\n\tbr.8 set v1, 5, b1, b2\nb1:\n\tbr.8 eq v1, 9, b3, b2\nb2:\n\tv2 = add v2, 1\n\tjmp b3\nb3:\n\tret v2\n");
	// an empty loop that never ends is left alone
	check_opt("b0:\n\tjmp b1\nb1:\n\tjmp b2\nb2:\n\tjmp b1\n", "b0:\n\tjmp b1\nb1:\n\tjmp b1\n");
	// what a byte can be decides the branch
	check_opt("b0:\n\tv1 = load.1 [ctx +0]\n\tbr.8 ugt v1, 255, b1, b2\nb1:\n\tret 1\nb2:\n\tret 2\n", "b0:\n\tret 2\n");
	// counters: the first test is known, the loop turns so that its test comes last, and the copy back is the addition itself
	check_opt("b0:\n\tv1 = mov 0\n\tjmp b1\nb1:\n\tbr.8 ult v1, 9, b2, b3\nb2:\n\tcall 7()\n\tv2 = add v1, 1\n\tv1 = mov v2\n\tjmp b1\nb3:\n\tret v1\n",
		  "b0:\n\tv1 = mov 0\n\tjmp b1\nb1:\n\tcall 7()\n\tv1 = add v1, 1\n\tbr.8 ult v1, 9, b1, b2\nb2:\n\tret v1\n");
	// x and y change places in a loop: copies must not be taken for each other
	check_opt("b0:\n\tv1 = call 7()\n\tv2 = call 8()\n\tjmp b1\nb1:\n\tv3 = mov v1\n\tv1 = mov v2\n\tv2 = mov v3\n\tv4 = call 7()\n"
		  "\tbr.8 eq v4, 0, b1, b2\nb2:\n\tret v1\n",
		  "b0:\n\tv1 = call 7()\n\tv2 = call 8()\n\tjmp b1\nb1:\n\tv3 = mov v1\n\tv1 = mov v2\n\tv2 = mov v3\n\tv4 = call 7()\n"
		  "\tbr.8 eq v4, 0, b1, b2\nb2:\n\tret v1\n");
}

static void check_code(const char *body, const char *want)
{
	struct Str text = {0}, out = {0};
	struct Code c;
	str_addf(&text, "loc 0 1 1\nloc 0 2 1\nfunc \"main\" params 0 regs 20\nslot s0 16 8\n%s", body);
	struct IrProg p = parse(str_text(&text));
	ir_optimize(&p);
	struct err *e = ir_compile(&p, &(struct EmitOpts){0}, &c);
	CHECK(!e);
	code_disasm(&c, &p, &out);
	CHECK_STR(str_text(&out), want);
	code_deinit(&c);
	ir_deinit(&p);
	str_deinit(&text);
	str_deinit(&out);
}

// Typical probe bodies, instruction by instruction: a change for the worse shows here.
TEST(code_of_small_programs)
{
	// counter in a map value: @ = count() with a per-CPU or single array
	check_code("b0:\n\tatomic_add.8 [val2+8 +0], 1 @2\n\tret 0\n",
		   "main:\n; line 2\n0: (18) r2 = map[2][0]+0\n2: (b7) r1 = 1\n3: (db) lock *(u64 *)(r2 +8) += r1\n4: (b7) r0 = 0\n5: (95) exit\n");
	// @[pid] = count(): the value's pointer stays where the call left it
	check_code("b0:\n\tv1 = call 14()\n\tv2 = lshr v1, 32\n\tstore.8 [s0 +0], v2\n\tv3 = call 1(map1, s0)\n\tbr.8 eq v3, 0, b1, b2\n"
		   "b1:\n\tstore.8 [s0+8 +0], 1\n\tv4 = call 2(map1, s0, s0+8, 1)\n\tret 0\nb2:\n\tv5 = load.8 [v3 +0]\n\tv6 = add v5, 1\n"
		   "\tstore.8 [v3 +0], v6\n\tret 0\n",
		   "main:\n; line 1\n0: (85) call bpf_get_current_pid_tgid#14\n1: (77) r0 >>= 32\n2: (7b) *(u64 *)(r10 -16) = r0\n3: (18) r1 = map[1]\n"
		   "5: (bf) r2 = r10\n6: (07) r2 += -16\n7: (85) call bpf_map_lookup_elem#1\n8: (55) if r0 != 0x0 goto pc+11\n"
		   "9: (7a) *(u64 *)(r10 -8) = 1\n10: (18) r1 = map[1]\n12: (bf) r2 = r10\n13: (07) r2 += -16\n14: (bf) r3 = r10\n15: (07) r3 += -8\n"
		   "16: (b7) r4 = 1\n17: (85) call bpf_map_update_elem#2\n18: (b7) r0 = 0\n19: (95) exit\n"
		   "20: (79) r1 = *(u64 *)(r0 +0)\n21: (07) r1 += 1\n22: (7b) *(u64 *)(r0 +0) = r1\n23: (b7) r0 = 0\n24: (95) exit\n");
	// the context is kept over a call only because it is needed after it
	check_code("b0:\n\tv1 = load.8 [ctx +8]\n\tv2 = call 14()\n\tv3 = load.8 [ctx +16]\n\tv4 = add v1, v3\n\tv5 = add v4, v2\n\tret v5\n",
		   "main:\n; line 1\n0: (bf) r6 = r1\n1: (79) r7 = *(u64 *)(r6 +8)\n2: (85) call bpf_get_current_pid_tgid#14\n"
		   "3: (79) r1 = *(u64 *)(r6 +16)\n4: (0f) r1 += r7\n5: (0f) r0 += r1\n6: (95) exit\n");
}

TEST(disasm_forms)
{
	static const struct {
		struct BpfInsn in[2];
		u32 n;
		const char *text;
	} forms[] = {
		{{{0x0f, 0x21, 0, 0}}, 1, "r1 += r2"}, {{{0x04, 0x01, 0, -5}}, 1, "w1 += -5"}, {{{0x3f, 0x21, 1, 0}}, 1, "r1 s/= r2"},
		{{{0x97, 0x01, 1, 7}}, 1, "r1 s%= 7"}, {{{0xbf, 0x21, 16, 0}}, 1, "r1 = (s16)r2"}, {{{0xbc, 0x21, 0, 0}}, 1, "w1 = w2"},
		{{{0xc7, 0x01, 0, 63}}, 1, "r1 s>>= 63"}, {{{0x87, 0x03, 0, 0}}, 1, "r3 = -r3"}, {{{0xdc, 0x04, 0, 16}}, 1, "r4 = be16 r4"},
		{{{0xd4, 0x04, 0, 64}}, 1, "r4 = le64 r4"}, {{{0xd7, 0x04, 0, 32}}, 1, "r4 = bswap32 r4"},
		{{{0x79, 0x61, 8, 0}}, 1, "r1 = *(u64 *)(r6 +8)"}, {{{0x91, 0x61, -8, 0}}, 1, "r1 = *(s8 *)(r6 -8)"},
		{{{0x62, 0x0a, -4, 3}}, 1, "*(u32 *)(r10 -4) = 3"}, {{{0x73, 0x1a, -1, 0}}, 1, "*(u8 *)(r10 -1) = r1"},
		{{{0xdb, 0x21, 0, 0}}, 1, "lock *(u64 *)(r1 +0) += r2"}, {{{0xc3, 0x21, 4, 1}}, 1, "r2 = atomic_fetch_add((u32 *)(r1 +4), r2)"},
		{{{0xdb, 0x21, 0, 0xe1}}, 1, "r2 = atomic64_xchg((u64 *)(r1 +0), r2)"},
		{{{0xdb, 0x21, 0, 0xf1}}, 1, "r0 = atomic64_cmpxchg((u64 *)(r1 +0), r0, r2)"},
		{{{0x18, 0x01, 0, 1}, {0, 0, 0, 2}}, 2, "r1 = 0x200000001"}, {{{0x18, 0x11, 0, 5}, {0}}, 2, "r1 = map[fd:5]"},
		{{{0x18, 0x21, 0, 5}, {0, 0, 0, 16}}, 2, "r1 = map[fd:5][0]+16"}, {{{0x18, 0x41, 0, 9}, {0}}, 2, "r1 = func pc+9"},
		{{{0x85, 0, 0, 1}}, 1, "call bpf_map_lookup_elem#1"}, {{{0x85, 0x10, 0, -3}}, 1, "call pc-3"}, {{{0x85, 0, 0, 99999}}, 1, "call unknown#99999"},
		{{{0x85, 0x20, 0, 7}}, 1, "call kernel-function#7"}, {{{0x05, 0, -2, 0}}, 1, "goto pc-2"}, {{{0x06, 0, 0, 70000}}, 1, "gotol pc+70000"},
		{{{0x95}}, 1, "exit"}, {{{0xe5, 0, 3, 0}}, 1, "may_goto pc+3"}, {{{0x15, 0x01, 3, 0}}, 1, "if r1 == 0x0 goto pc+3"}, {{{0x6e, 0x21, 3, 0}}, 1, "if w1 s> w2 goto pc+3"},
		{{{0x45, 0x01, 3, 255}}, 1, "if r1 & 0xff goto pc+3"}, {{{0x30, 0, 0, 4}}, 1, "r0 = *(u8 *)skb[4]"},
		// no instruction at all
		{{{0xff, 0xff, -1, -1}}, 1, "BUG_alu_ff"}, {{{0x18, 0x01, 0, 0}}, 1, "BUG_ld_18"}, {{{0xf5, 0, 0, 0}}, 1, "BUG_jmp_f5"},
		{{{0xdb, 0, 0, 0x77}}, 1, "BUG_atomic_77"}, {{{0x21, 0, 0, 0}}, 1, "BUG_ldx_21"}, {{{0x02, 0, 0, 0}}, 1, "BUG_st_02"},
		{{{0x03, 0, 0, 0}}, 1, "BUG_stx_03"}};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct Str got = {0}, want = {0};
		bpf_disasm(forms[i].in, forms[i].n, &got);
		str_addf(&want, "0: (%02x) %s\n", forms[i].in[0].code, forms[i].text);
		CHECK_STR(str_text(&got), str_text(&want));
		str_deinit(&got);
		str_deinit(&want);
	}
}

// What load.c needs besides the instructions.
TEST(relocations_functions_lines)
{
	struct IrProg p = parse("loc 0 1 1\nloc 0 2 1\nloc 0 3 1\nfunc \"main\" params 0 regs 4\nslot s0 8 8\nb0:\n\tstore.8 [s0 +0], 0 @2\n"
				"\tv1 = call 181(4, fn2, s0, 0) @2\n\tv2 = call_rt \"rt_x\"(map5) @3\n\tv3 = call_kfunc \"kf\"() @3\n"
				"\tstore.8 [val7+24 +0], v2 @3\n\tret 0\n"
				"func \"unused\" params 0 regs 0\nb0:\n\tret 0\n"
				"func \"cb\" params 2 regs 3\nb0:\n\tv3 = call_fn 3(v1) @1\n\tret v3\n"
				"func \"sub\" params 1 regs 1\nb0:\n\tret v1\n");
	struct Code c;
	struct Str s = {0};
	CHECK(!ir_compile(&p, &(struct EmitOpts){0}, &c));
	code_disasm(&c, &p, &s);
	CHECK_STR(str_text(&s), "main:\n; line 2\n0: (7a) *(u64 *)(r10 -8) = 0\n1: (b7) r1 = 4\n2: (18) r2 = func pc+15\n4: (bf) r3 = r10\n5: (07) r3 += -8\n"
				"6: (b7) r4 = 0\n7: (85) call bpf_loop#181\n; line 3\n8: (18) r1 = map[5]\n10: (85) call rt_x\n11: (bf) r6 = r0\n"
				"12: (85) call kf\n13: (18) r1 = map[7][0]+0\n15: (7b) *(u64 *)(r1 +24) = r6\n16: (b7) r0 = 0\n17: (95) exit\n"
				"cb:\n; line 1\n18: (85) call pc+1\n19: (95) exit\nsub:\n; line 1\n20: (bf) r0 = r1\n21: (95) exit\n");
	CHECK_EQ(c.funcs.n, 3);
	CHECK_STR(c.funcs.p[1].name, "cb");
	CHECK_EQ(c.funcs.p[0].nparams, 1);
	CHECK_EQ(c.funcs.p[1].is_callback, true);
	CHECK_EQ(c.funcs.p[2].is_callback, false);
	static const struct Reloc want[] = {{REL_MAPFD, 8, 5}, {REL_RT, 10, 0, 0, "rt_x"}, {REL_KFUNC, 12, 0, 0, "kf"}, {REL_MAPVAL, 13, 7}};
	CHECK_EQ(c.relocs.n, ARRAY_LEN(want));
	for (size_t i = 0; i < c.relocs.n && i < ARRAY_LEN(want); i++) {
		CHECK_EQ(c.relocs.p[i].kind, want[i].kind);
		CHECK_EQ(c.relocs.p[i].insn, want[i].insn);
		CHECK_EQ(c.relocs.p[i].id, want[i].id);
		if (want[i].name)
			CHECK_STR(c.relocs.p[i].name, want[i].name);
	}
	for (size_t i = 0; i < c.lines.n; i++) // growing, one at each function's first instruction, none in the middle of a load of 64 bits
		CHECK(i == 0 || c.lines.p[i].insn > c.lines.p[i - 1].insn);
	code_deinit(&c);
	ir_deinit(&p);
	str_deinit(&s);
}

// ---- random control flow

#define NVARS 14
#define NTEMPS 64
struct Flow {
	struct IrProg p;
	struct IrBuild b;
	u64 s;
	u32 nblocks, ntemps;
	struct {
		IrReg r;
		u32 blk;
	} temp[NTEMPS];
	u32 dom[16]; // bit set: blocks that dominate
	u32 fn;	     // a callee
	IrSlot slot;
};

static u32 rnd(struct Flow *f, u32 n)
{
	f->s ^= f->s << 13;
	f->s ^= f->s >> 7;
	f->s ^= f->s << 17;
	return (u32)(f->s >> 20) % n;
}

static struct IrVal pick(struct Flow *f, u32 blk)
{
	switch (rnd(f, 6)) {
	case 0: return ir_imm((s64)rnd(f, 300) - 100);
	case 1: return ir_imm((s64)(f->s >> rnd(f, 60)));
	case 2:
	case 3:
		for (u32 tries = 0; f->ntemps && tries < 4; tries++) {
			u32 t = rnd(f, f->ntemps);
			if (f->dom[blk] >> f->temp[t].blk & 1) // in this block: made earlier, since blocks are filled front to back
				return ir_reg(f->temp[t].r);
		}
		// fallthrough
	default: return ir_reg(1 + rnd(f, NVARS));
	}
}

static void random_insn(struct Flow *f, u32 blk)
{
	struct IrVal x = pick(f, blk), y = pick(f, blk), v;
	u32 size = 1u << rnd(f, 4);
	switch (rnd(f, 10)) {
	case 0: v = ir_ext(&f->b, x, size, rnd(f, 2)); break;
	case 1: v = ir_load(&f->b, ir_mapval(0, 512), (s32)rnd(f, 64), size, rnd(f, 2)); break;
	case 2: ir_store(&f->b, rnd(f, 2) ? ir_mapval(0, 512) : ir_slot(f->slot, 0), (s32)rnd(f, 56), size, x); return;
	case 3: v = ir_load(&f->b, ir_slot(f->slot, 0), (s32)rnd(f, 56), size, rnd(f, 2)); break;
	case 4: {
		struct IrVal a[5];
		for (u32 i = 0; i < 5; i++)
			a[i] = pick(f, blk);
		v = ir_call_fn(&f->b, f->fn, a, 5);
		break;
	}
	case 5: {
		struct IrInsn in = {.op = (u8)(IR_ATOMIC_ADD + rnd(f, 3)), .size = rnd(f, 2) ? 4 : 8, .a = ir_mapval(0, 512), .b = x, .off = (s32)rnd(f, 7) * 8};
		in.nargs = in.op == IR_ATOMIC_CAS;
		in.args[0] = y;
		in.d = rnd(f, 3) ? 1 + rnd(f, NVARS) : 0;
		vec_push(&f->p.funcs.p[0].blocks.p[f->b.blk].insns, in);
		return;
	}
	default: v = ir_bin(&f->b, IR_ADD + rnd(f, IR_ASHR - IR_ADD + 1), x, y);
	}
	if (rnd(f, 3) == 0 || v.kind != IRO_REG)
		ir_set(&f->b, 1 + rnd(f, NVARS), v);
	else if (f->ntemps < NTEMPS && v.id > NVARS) {
		for (u32 i = 0; i < f->ntemps; i++)
			if (f->temp[i].r == v.id)
				return;
		f->temp[f->ntemps].r = v.id;
		f->temp[f->ntemps++].blk = blk;
	}
}

// Blocks, edges and dominators first, contents after that; a random half of the edges goes backwards.
static void random_flow(struct Flow *f, u64 seed)
{
	u32 t[16], e[16];
	*f = (struct Flow){.p = {.name = "flow"}, .s = seed * 0x9e3779b97f4a7c15ULL + 1};
	f->b = (struct IrBuild){.prog = &f->p};
	ir_enter(&f->b, ir_new_func(&f->p, "main", 0), 0);
	f->fn = ir_new_func(&f->p, "f", 5);
	struct IrBuild g = {.prog = &f->p};
	ir_enter(&g, f->fn, 0);
	struct IrVal sum = ir_param(&g, 4);
	for (u32 i = 0; i < 4; i++)
		sum = ir_bin(&g, IR_XOR, ir_bin(&g, IR_MUL, sum, ir_imm(17)), ir_param(&g, i));
	ir_ret(&g, sum);
	f->slot = ir_new_slot(&f->b, 64, 8);
	f->nblocks = 3 + rnd(f, 12);
	for (u32 i = 0; i < NVARS; i++)
		ir_new_reg(&f->b);
	for (u32 i = 1; i < f->nblocks; i++)
		ir_new_block(&f->b, NULL);
	for (u32 i = 0; i < f->nblocks; i++) {
		t[i] = 1 + rnd(f, f->nblocks - 1);
		e[i] = rnd(f, 3) ? 1 + (i + rnd(f, 3)) % (f->nblocks - 1) : t[i];
		f->dom[i] = i ? ~0u : 1;
	}
	for (bool again = true; again;) {
		again = false;
		for (u32 i = 0; i < f->nblocks - 1; i++)
			for (u32 k = 0; k < 2; k++) {
				u32 to = k ? e[i] : t[i], d = f->dom[to] & (f->dom[i] | 1u << to);
				again |= d != f->dom[to];
				f->dom[to] = d;
			}
	}
	for (u32 i = 0; i < 64; i += 8)
		ir_store(&f->b, ir_slot(f->slot, i), 0, 8, ir_imm(i));
	for (u32 i = 1; i <= NVARS; i++)
		ir_set(&f->b, i, rnd(f, 2) ? ir_load(&f->b, ir_ctx(), (s32)(i % 12 * 8), 8, false) : ir_imm((s64)rnd(f, 5) - 2));
	// temps of a block may be used in blocks it dominates, which may have a smaller number: fill in an order where dominators come first
	u32 done = 0;
	for (u32 left = f->nblocks; left;)
		for (u32 i = 0; i < f->nblocks; i++) {
			if (done >> i & 1 || (f->dom[i] != ~0u && f->dom[i] & ~done & ~(1u << i)))
				continue;
			done |= 1u << i;
			left--;
			ir_set_block(&f->b, i);
			for (u32 n = rnd(f, 9); n--;)
				random_insn(f, i);
			if (i + 1 == f->nblocks) {
				for (u32 k = 1; k <= NVARS; k++)
					ir_store(&f->b, ir_mapval(0, 0), (s32)k * 8, 8, ir_reg(k));
				ir_ret(&f->b, pick(f, i));
			} else if (t[i] == e[i]) {
				ir_jmp(&f->b, t[i]);
			} else {
				ir_br(&f->b, rnd(f, IR_CONDS), pick(f, i), pick(f, i), t[i], e[i]);
				if (rnd(f, 4) == 0)
					vec_last(&f->p.funcs.p[0].blocks.p[i].insns).size = 4;
			}
		}
}

static bool run_flow(const struct IrProg *p, const u64 *ctx, const u8 *start, const u8 *want, u64 want_ret, bool opt)
{
	struct IrProg c = ir_copy(p);
	struct Code code;
	struct Str why = {0};
	u8 mem[1024];
	u64 ret = 0;
	bool failed, ok;
	if (opt) {
		ir_optimize(&c);
		if (!ir_verify(&c, &why))
			T_FAIL("optimised: %s", str_text(&why));
		memcpy(mem, start, sizeof(mem));
		ret = interp(&c, ctx, mem, 20000, &failed);
		if (failed || ret != want_ret || memcmp(mem, want, sizeof(mem)))
			T_FAIL("the optimised IR gives another result");
	}
	struct err *e = ir_compile(&c, &(struct EmitOpts){.has_v4 = opt}, &code);
	const char *fault = e ? err_text(e) : NULL;
	memcpy(mem, start, sizeof(mem));
	if (!e)
		fault = machine_run(&code, ctx, mem, 0, &ret);
	if (fault || ret != want_ret || memcmp(mem, want, sizeof(mem)))
		T_FAIL("the code gives another result (opt %d): %s", opt, fault ? fault : "");
	ok = !t_fails;
	err_free(e);
	code_deinit(&code);
	ir_deinit(&c);
	str_deinit(&why);
	return ok;
}

TEST(random_control_flow)
{
	const char *from = getenv("SEED"), *count = getenv("COUNT");
	u64 first = from ? strtoull(from, NULL, 0) : 1, n = count ? strtoull(count, NULL, 0) : from ? 1 : 3000, ran = 0;
	static u64 ctx[12] = {1, 2, 3, 0xfedcba9876543210ULL, 0x8000000000000000ULL, ~0ULL, 1000, 0x7fffffff, 0x80000000, 77, 5, 0};
	for (u64 i = first; i < first + n && !t_fails; i++) {
		struct Flow f;
		struct Str why = {0};
		u8 start[1024], want[1024];
		bool failed;
		random_flow(&f, i);
		for (u32 k = 0; k < sizeof(start); k++)
			start[k] = (u8)(k * 7);
		memcpy(want, start, sizeof(want));
		if (!ir_verify(&f.p, &why))
			T_FAIL("as built: %s", str_text(&why));
		u64 ret = t_fails ? 0 : interp(&f.p, ctx, want, 20000, &failed);
		if (!t_fails && !failed) { // about half of them never end
			ran++;
			if (run_flow(&f.p, ctx, start, want, ret, false))
				run_flow(&f.p, ctx, start, want, ret, true);
		}
		if (t_fails) {
			struct Str s = {0};
			ir_dump(&f.p, &s);
			printf("# SEED=%llu\n%s", (unsigned long long)i, str_text(&s));
			str_deinit(&s);
		}
		str_deinit(&why);
		ir_deinit(&f.p);
	}
	printf("# %llu of %llu programs end\n", (unsigned long long)ran, (unsigned long long)n);
	CHECK(from || ran > n / 4);
}

TEST(builder)
{
	struct IrProg p = {.name = "b"};
	struct IrBuild b = {.prog = &p};
	struct Str s = {0}, why = {0};
	ir_enter(&b, ir_new_func(&p, "main", 0), 0);
	ir_set_loc(&b, 0, 1, 5);
	IrSlot slot = ir_new_slot(&b, 16, 8);
	struct IrVal at = ir_bin(&b, IR_ADD, ir_slot(slot, 0), ir_imm(8));
	ir_store(&b, at, 0, 8, ir_bin(&b, IR_SDIV, ir_imm(INT64_MIN), ir_imm(-1)));
	ir_set_loc(&b, 0, 2, 1);
	ir_store(&b, ir_bin(&b, IR_SUB, at, ir_imm(4)), 0, 4, ir_ext(&b, ir_imm(0x80), 1, true));
	ir_set_loc(&b, 0, 1, 5); // seen before
	CHECK_EQ(p.locs.n, 2);
	ir_ret(&b, ir_imm(0));
	CHECK(ir_terminated(&b));
	ir_call(&b, 7, NULL, 0); // after a return: goes where it cannot run
	ir_jmp(&b, 0);
	CHECK(ir_verify(&p, &why));
	ir_dump(&p, &s);
	CHECK_STR(str_text(&s), "prog \"b\"\nloc 0 1 5\nloc 0 2 1\nfunc \"main\" params 0 regs 1\nslot s0 16 8\nb0 \"entry\":\n"
				"\tstore.8 [s0+8 +0], -9223372036854775808 @1\n\tstore.4 [s0+4 +0], -128 @2\n\tret 0 @1\n"
				"b1 \"dead\":\n\tv1 = call 7() @1\n\tjmp b0 @1\n");
	str_deinit(&s);
	str_deinit(&why);
	ir_deinit(&p);
}

TEST(zz_free)
{
	arena_deinit(&arena);
}
T_MAIN()
