// reach.c: what is left of a program does what the program did, and what constants rule out is not in it.
#include "t.h"
#include "bpf/internal.h"
#include "bpf_asm.h"
#include "ebpf_interp.h"

static u64 data[4] = {0, 1, 0xffffffff00000007, 64}; // of a map that nobody changes

static struct MapDef *frozen(struct TestProg *t)
{
	struct MapDef *m = add_map(t, "consts", BPF_MAP_TYPE_ARRAY, 4, sizeof(data), 1, BPF_F_RDONLY_PROG);
	m->init = data;
	return m;
}

// As patch() of load.c leaves it.
static void constant(struct TestProg *t, u8 dst, struct MapDef *m, u32 off)
{
	map_val(t, dst, m, off);
	struct BpfInsn *in = &t->pp.code.insns.p[t->pp.code.insns.n - 2];
	in->regs = (u8)(dst | BPF_PSEUDO_MAP_VALUE << 4);
	in[1].imm = (s32)off;
}

static void jump(struct TestProg *t, u8 op, u8 dst, s32 imm, s16 off)
{
	ins(t, BPF_JMP | op | BPF_K, dst, 0, off, imm);
}

static void same_end(const struct Code *before, const struct Code *after)
{
	u64 ctx[2] = {0}, was = 0, now = 0;
	const char *why = machine_run(before, ctx, (u8 *)data, 0, &was), *then = machine_run(after, ctx, (u8 *)data, 0, &now);
	CHECK_EQ(!why, !then);
	if (!why)
		CHECK_EQ(now, was);
}

TEST(a_branch_on_a_constant)
{
	struct TestProg t;
	struct Code out;
	for (u32 which = 0; which < 2; which++) {
		tp_init(&t, "prog");
		struct MapDef *m = frozen(&t);
		constant(&t, 1, m, which * 8); // 0, 1
		ins(&t, BPF_LDX | BPF_MEM | BPF_DW, 1, 1, 0, 0);
		jump(&t, BPF_JEQ, 1, 0, 2);
		mov_imm(&t, 0, 11);
		exit_insn(&t);
		mov_imm(&t, 0, 22);
		exit_insn(&t);
		code_reached(&t.prog, &t.pp.code, &out);
		CHECK_EQ(out.insns.n, 5);
		CHECK_EQ(out.insns.p[3].imm, which ? 11 : 22);
		same_end(&t.pp.code, &out);
		code_deinit(&out);
		tp_deinit(&t);
	}
}

// What others may write is not known, nor what a jump may have changed on its way here.
TEST(what_is_not_known_stays)
{
	struct TestProg t;
	struct Code out;
	tp_init(&t, "prog");
	struct MapDef *m = frozen(&t);
	m->flags = 0;
	constant(&t, 1, m, 0);
	ins(&t, BPF_LDX | BPF_MEM | BPF_DW, 1, 1, 0, 0);
	mov_imm(&t, 2, 1);
	jump(&t, BPF_JNE, 1, 5, 1); // depends
	mov_imm(&t, 2, 3);
	jump(&t, BPF_JEQ, 2, 3, 1); // two lead here: depends
	mov_imm(&t, 0, 1);
	call(&t, 7);
	jump(&t, BPF_JEQ, 0, 1, 1); // the call's
	mov_imm(&t, 0, 2);
	exit_insn(&t);
	code_reached(&t.prog, &t.pp.code, &out);
	CHECK_EQ(out.insns.n, t.pp.code.insns.n);
	CHECK(!memcmp(out.insns.p, t.pp.code.insns.p, out.insns.n * sizeof(*out.insns.p)));
	code_deinit(&out);
	tp_deinit(&t);
}

// Functions that only a dead branch calls go, those behind are called where they are now, and callbacks, too.
TEST(functions_move)
{
	struct TestProg t;
	struct Code out;
	tp_init(&t, "prog");
	mov_imm(&t, 1, 3);
	jump(&t, BPF_JLE, 1, 7, 1);				      // always, to the next but one
	ins(&t, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 4);	      // 2 -> 7
	ins(&t, BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 5); // 3 -> 9
	ins(&t, 0, 0, 0, 0, 0);
	ins(&t, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 3); // 5 -> 9
	exit_insn(&t);
	mov_imm(&t, 0, 1); // 7
	exit_insn(&t);
	jump(&t, BPF_JA, 0, 0, 0); // 9
	mov_imm(&t, 0, 9);
	exit_insn(&t);
	vec_push(&t.pp.code.funcs, ((struct CodeFunc){0, "prog", 1, false}));
	vec_push(&t.pp.code.funcs, ((struct CodeFunc){7, "dead", 1, false}));
	vec_push(&t.pp.code.funcs, ((struct CodeFunc){9, "live", 1, true}));
	code_reached(&t.prog, &t.pp.code, &out);
	CHECK_EQ(out.insns.n, 7);
	CHECK_EQ(out.funcs.n, 2);
	CHECK_EQ(out.funcs.p[1].insn, 5);
	CHECK_STR(out.funcs.p[1].name, "live");
	CHECK_EQ(out.insns.p[1].imm, 3);
	CHECK_EQ(out.insns.p[3].imm, 1);
	same_end(&t.pp.code, &out);
	code_deinit(&out);
	tp_deinit(&t);
}

static u32 seed = 1;
static u32 pick(u32 n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void random_function(struct TestProg *t, struct MapDef *m, u32 nth, u32 nfuncs, u32 *calls, u32 *ncalls)
{
	static const u8 ops[] = {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE};
	u32 at[64], jumps[64], njumps = 0, n = 8 + pick(30);
	for (u32 i = 0; i < n; i++) {
		at[i] = (u32)t->pp.code.insns.n;
		u8 dst = (u8)pick(9), src = (u8)pick(9), class = pick(2) ? BPF_JMP : BPF_JMP32;
		switch (i < 9 ? 0 : pick(9)) {
		case 0:
			mov_imm(t, i < 9 ? (u8)i : dst, (s32)pick(5) - 2);
			break;
		case 1:
			constant(t, dst, m, pick(4) * 8);
			ins(t, (u8)(BPF_LDX | BPF_MEM | (pick(2) ? BPF_DW : BPF_W)), dst, dst, 0, 0);
			break;
		case 2:
			mov_reg(t, dst, src);
			break;
		case 3:
			ins(t, BPF_ALU | BPF_MOV | BPF_X, dst, src, 0, 0);
			break;
		case 4:
			add_imm(t, dst, (s32)pick(3));
			break;
		case 5:
			if (nth + 1 < nfuncs) {
				calls[(*ncalls)++] = (u32)t->pp.code.insns.n;
				ins(t, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, (s32)(nth + 1 + pick(nfuncs - nth - 1)));
			} else {
				call(t, 7);
			}
			break;
		case 6:
			jumps[njumps++] = i;
			ins(t, BPF_JMP | BPF_JA, 0, 0, 0, 0);
			break;
		default:
			jumps[njumps++] = i;
			ins(t, (u8)(class | ops[pick(ARRAY_LEN(ops))] | (pick(2) ? BPF_X : BPF_K)), dst, 0, 0, 0);
			if (t->pp.code.insns.p[t->pp.code.insns.n - 1].code & BPF_X)
				t->pp.code.insns.p[t->pp.code.insns.n - 1].regs = (u8)(dst | src << 4);
			else
				t->pp.code.insns.p[t->pp.code.insns.n - 1].imm = (s32)pick(5) - 2;
		}
	}
	u32 end = (u32)t->pp.code.insns.n;
	exit_insn(t);
	for (u32 k = 0; k < njumps; k++) { // most of them forwards
		u32 i = jumps[k], to = pick(8) ? i + 1 + pick(n - i) : pick(n);
		t->pp.code.insns.p[at[i]].off = (s16)((s32)(to < n ? at[to] : end) - (s32)at[i] - 1);
	}
}

// Steps of a loop that does not end are not counted: both go on for ever.
TEST(random_programs_do_the_same)
{
	u64 before = 0, after = 0;
	for (u32 round = 0; round < 3000; round++) {
		struct TestProg t;
		struct Code out;
		u32 calls[128], ncalls = 0, start[3];
		tp_init(&t, "prog");
		struct MapDef *m = frozen(&t);
		for (u32 i = 0; i < 3; i++) {
			start[i] = (u32)t.pp.code.insns.n;
			vec_push(&t.pp.code.funcs, ((struct CodeFunc){start[i], "f", 1, false}));
			random_function(&t, m, i, 3, calls, &ncalls);
		}
		for (u32 i = 0; i < ncalls; i++) {
			struct BpfInsn *in = &t.pp.code.insns.p[calls[i]];
			in->imm = (s32)start[in->imm] - (s32)calls[i] - 1;
		}
		code_reached(&t.prog, &t.pp.code, &out);
		CHECK(out.insns.n <= t.pp.code.insns.n);
		same_end(&t.pp.code, &out);
		before += t.pp.code.insns.n;
		after += out.insns.n;
		code_deinit(&out);
		tp_deinit(&t);
	}
	CHECK(after < before * 3 / 4); // they are full of constants
}
// Jumps to the next instruction go, one at the end of a loop's round too.
TEST(jumps_to_what_is_next)
{
	struct TestProg t;
	struct Code out;
	tp_init(&t, "prog");
	mov_imm(&t, 0, 0);
	ins(&t, BPF_JMP | BPF_JA, 0, 0, 2, 0);
	add_imm(&t, 0, 1); // the body, before the head
	ins(&t, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	jump(&t, BPF_JLT, 0, 5, -3);
	ins(&t, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	exit_insn(&t);
	code_reached(&t.prog, &t.pp.code, &out);
	CHECK_EQ(out.insns.n, 5);
	CHECK_EQ(out.insns.p[3].code, BPF_JMP | BPF_JLT);
	CHECK_EQ(out.insns.p[4].code, BPF_JMP | BPF_EXIT);
	same_end(&t.pp.code, &out);
	code_deinit(&out);
	tp_deinit(&t);
}

T_MAIN()
