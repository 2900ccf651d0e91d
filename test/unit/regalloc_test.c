// The back end against the kernel: programs are run by BPF_PROG_TEST_RUN, optimised and not, with and without v4 instructions, and must leave
// in the map what the interpreter of ir_interp.h says.
#include "t.h"
#include "bpf_run.h"
#include "ir_interp.h"

static struct BpfRun run = {.map = -1};
static u64 test_ctx[12] = {1, 2, 3, 0xfedcba9876543210ULL, 0x8000000000000000ULL, ~0ULL, 1000, 0x7fffffff, 0x80000000, 77, 5, 0};
static u32 total_insns[2]; // plain, optimised

static bool has_v4;

static bool kernel_ready(void)
{
	if (run.map < 0 && !run_init(&run))
		return false;
	has_v4 = run_has_v4();
	return true;
}
#define NEED_KERNEL()                                                                                                  \
	if (!kernel_ready())                                                                                           \
	SKIP("bpf(2) is not permitted here")

static void show(const char *what, const struct IrProg *p)
{
	struct Str s = {0};
	ir_dump(p, &s);
	printf("# %s\n%s\n", what, str_text(&s));
	str_deinit(&s);
}

static bool verified(const struct IrProg *p, const char *when)
{
	struct Str why = {0};
	bool ok = ir_verify(p, &why);
	if (!ok) {
		T_FAIL("%s: %s", when, str_text(&why));
		show("program", p);
	}
	str_deinit(&why);
	return ok;
}

// One variant of p in the kernel against the interpreter's result. False when it failed.
static bool variant(const struct IrProg *p, bool opt, bool v4, const u8 *want, u64 want_ret, const u8 *start)
{
	struct IrProg c = ir_copy(p), kept = {0};
	u8 mem[RUN_VALUE];
	s64 ret = 0;
	bool ok = true;
	memcpy(mem, start, RUN_VALUE);
	if (opt) {
		ir_optimize(&c);
		ok = verified(&c, "after ir_optimize");
		kept = ir_copy(&c);
	}
	enum RunResult r = ok ? run_prog(&run, &c, v4, test_ctx, mem, &ret) : RUN_OK;
	if (r != RUN_OK) {
		size_t n = run.log ? strlen(run.log) : 0;
		T_FAIL("result %d (opt %d, v4 %d): ...%s", r, opt, v4, run.log ? run.log + (n > 1500 ? n - 1500 : 0) : "");
		ok = false;
	} else if (ok && (memcmp(mem, want, RUN_VALUE) || (s32)ret != (s32)want_ret)) {
		for (u32 i = 0; i < RUN_VALUE / 8; i++)
			if (((u64 *)mem)[i] != ((const u64 *)want)[i])
				printf("# word %u: kernel 0x%llx, interpreter 0x%llx\n", i, (long long)((u64 *)mem)[i], (long long)((const u64 *)want)[i]);
		T_FAIL("results differ (opt %d, v4 %d), return %lld, expected %lld", opt, v4, (long long)(s32)ret, (long long)(s32)want_ret);
		ok = false;
	}
	if (ok)
		total_insns[opt] += run.ninsns;
	if (!ok && p->funcs.p[0].nregs < 400) {
		show("program", p);
		if (opt)
			show("optimised", &kept);
	}
	ir_deinit(&c);
	ir_deinit(&kept);
	return ok;
}

static bool differential(const struct IrProg *p)
{
	u8 start[RUN_VALUE], want[RUN_VALUE];
	bool failed;
	for (u32 i = 0; i < RUN_VALUE; i++)
		start[i] = (u8)(i * 37 + 11);
	memcpy(want, start, RUN_VALUE);
	if (!verified(p, "as built"))
		return false;
	u64 ret = interp(p, test_ctx, want, 2000000, &failed);
	if (failed) {
		T_FAIL("the interpreter ran out of steps");
		return false;
	}
	return variant(p, false, false, want, ret, start) && variant(p, true, false, want, ret, start) && (!has_v4 || variant(p, true, true, want, ret, start));
}

static void begin(struct IrProg *p, struct IrBuild *b)
{
	*p = (struct IrProg){.name = "test"};
	*b = (struct IrBuild){.prog = p};
	ir_enter(b, ir_new_func(p, "main", 0), 0);
}

static void finish(struct IrProg *p, struct IrBuild *b, struct IrVal ret)
{
	ir_ret(b, ret);
	differential(p);
	ir_deinit(p);
}

static const s64 corner[] = {0, 1, -1, 2, -2, 3, 7, -7, 63, 64, 255, 256, 65535, INT32_MAX, INT32_MIN, (s64)UINT32_MAX, (s64)UINT32_MAX + 1, INT64_MAX,
			     INT64_MIN, INT64_MIN + 1, 0x123456789abcdef0};

// Every operation on all pairs of corner values, from registers.
TEST(arith_registers)
{
	NEED_KERNEL();
	for (u32 op = IR_ADD; op <= IR_ASHR; op++) {
		struct IrProg p;
		struct IrBuild b;
		begin(&p, &b);
		u32 at = 0;
		// the kernel must not see constants: values come from the map
		for (u32 i = 0; i < ARRAY_LEN(corner); i++)
			ir_store(&b, ir_mapval(0, 0), (s32)(i * 8), 8, ir_imm(corner[i]));
		for (u32 i = 0; i < ARRAY_LEN(corner); i++)
			for (u32 j = i % 2; j < ARRAY_LEN(corner); j += 2) {
				struct IrVal x = ir_load(&b, ir_mapval(0, 0), (s32)(i * 8), 8, false), y = ir_load(&b, ir_mapval(0, 0), (s32)(j * 8), 8, false);
				ir_store(&b, ir_mapval(0, 0), (s32)(200 + at++ * 8), 8, ir_bin(&b, op, x, y));
			}
		finish(&p, &b, ir_imm((s64)op));
	}
}

// The same with the constant on one side, which reaches other encodings.
TEST(arith_immediates)
{
	NEED_KERNEL();
	for (u32 op = IR_ADD; op <= IR_ASHR; op++) {
		struct IrProg p;
		struct IrBuild b;
		begin(&p, &b);
		u32 at = 0;
		for (u32 i = 0; i < ARRAY_LEN(corner); i++)
			for (u32 j = 3; j < 6; j++) {
				struct IrVal x = ir_load(&b, ir_ctx(), (s32)(j * 8), 8, false);
				ir_store(&b, ir_mapval(0, 0), (s32)(at++ * 8), 8, ir_bin(&b, op, x, ir_imm(corner[i])));
				ir_store(&b, ir_mapval(0, 0), (s32)(at++ * 8), 8, ir_bin(&b, op, ir_imm(corner[i]), x));
			}
		finish(&p, &b, ir_imm((s64)op));
	}
}

TEST(unary_and_sizes)
{
	NEED_KERNEL();
	struct IrProg p;
	struct IrBuild b;
	begin(&p, &b);
	u32 at = 0;
	for (u32 j = 0; j < 10; j++) {
		struct IrVal x = ir_load(&b, ir_ctx(), (s32)(j * 8), 8, false);
		ir_store(&b, ir_mapval(0, 0), (s32)(at++ * 8), 8, ir_neg(&b, x));
		for (u32 size = 1; size <= 8; size *= 2) {
			ir_store(&b, ir_mapval(0, 0), (s32)(at++ * 8), 8, ir_ext(&b, x, size, false));
			ir_store(&b, ir_mapval(0, 0), (s32)(at++ * 8), 8, ir_ext(&b, x, size, true));
			ir_store(&b, ir_mapval(0, 0), (s32)(at++ * 8), 8, ir_bswap(&b, x, size));
		}
	}
	for (u32 size = 1; size <= 8; size *= 2) {
		for (u32 k = 0; k < 8; k += size) {
			ir_store(&b, ir_mapval(0, 2000), (s32)(size * 16 + k), size, ir_load(&b, ir_mapval(0, 1000), (s32)k, size, true));
			ir_store(&b, ir_mapval(0, 3000), (s32)(size * 64 + k * 8), 8, ir_load(&b, ir_mapval(0, 1000), (s32)k, size, true));
		}
		ir_store(&b, ir_mapval(0, 3800), (s32)size * 8, size, ir_imm(-2));
		ir_store(&b, ir_mapval(0, 3900), (s32)size * 8, size, ir_imm(0x1234567890abcdef));
	}
	finish(&p, &b, ir_imm(1));
}

TEST(conditions)
{
	NEED_KERNEL();
	for (u32 size = 4; size <= 8; size += 4)
		for (u32 c = 0; c < IR_CONDS; c++) {
			struct IrProg p;
			struct IrBuild b;
			begin(&p, &b);
			u32 at = 0;
			IrReg r = ir_new_reg(&b);
			for (u32 i = 0; i < ARRAY_LEN(corner); i++)
				for (u32 j = 3; j < 9; j++) {
					struct IrVal x = ir_load(&b, ir_ctx(), (s32)(j * 8), 8, false), y = ir_imm(corner[i]);
					if (j % 2)
						y = ir_load(&b, ir_mapval(0, 0), (s32)(i * 8), 8, false);
					IrBlk t = ir_new_block(&b, "t"), f = ir_new_block(&b, "f"), end = ir_new_block(&b, "end");
					ir_br(&b, c, i % 3 ? x : y, i % 3 ? y : x, t, f);
					vec_last(&b.prog->funcs.p[0].blocks.p[b.blk].insns).size = (u8)size;
					ir_set_block(&b, t);
					ir_set(&b, r, ir_imm(1));
					ir_jmp(&b, end);
					ir_set_block(&b, f);
					ir_set(&b, r, ir_imm(0));
					ir_jmp(&b, end);
					ir_set_block(&b, end);
					ir_store(&b, ir_mapval(0, 2048), (s32)at++, 1, ir_reg(r));
				}
			finish(&p, &b, ir_imm(1));
		}
}

TEST(atomics)
{
	NEED_KERNEL();
	struct IrProg p;
	struct IrBuild b;
	begin(&p, &b);
	struct IrVal base = ir_mapval(0, 64), x = ir_load(&b, ir_ctx(), 24, 8, false), y = ir_load(&b, ir_ctx(), 48, 8, false);
	IrSlot s = ir_new_slot(&b, 8, 8);
	ir_store(&b, ir_slot(s, 0), 0, 8, y);
	for (u32 size = 4; size <= 8; size += 4) {
		ir_atomic_add(&b, base, (s32)size * 8, size, x);
		ir_atomic_add(&b, base, (s32)size * 8, size, ir_imm(5));
		ir_atomic_add(&b, ir_slot(s, 0), 0, size, ir_imm(-3));
		for (u32 op = IR_ATOMIC_ADD; op <= IR_ATOMIC_CAS; op++)
			for (u32 k = 0; k < 3; k++) {
				struct IrInsn in = {.op = (u8)op, .size = (u8)size, .off = (s32)(size * 8 + op * 16)};
				in.a = base;
				in.b = k ? x : ir_imm(0x55);
				in.d = k == 2 ? in.b.id : ir_new_reg(&b);
				if (op == IR_ATOMIC_CAS) {
					in.nargs = 1;
					in.args[0] = k ? y : ir_load(&b, base, in.off, size, false);
				}
				vec_push(&p.funcs.p[0].blocks.p[0].insns, in);
				ir_store(&b, ir_mapval(0, 1024), (s32)(size * 64 + op * 24 + k * 8), 8, ir_reg(in.d));
			}
	}
	ir_store(&b, ir_mapval(0, 8), 0, 8, ir_load(&b, ir_slot(s, 0), 0, 8, false));
	finish(&p, &b, ir_imm(1));
}

// f(a, b, c, d, e): a number that depends on the order of all five
static u32 mix_func(struct IrProg *p)
{
	struct IrBuild b = {.prog = p};
	ir_enter(&b, ir_new_func(p, "mix", 5), 0);
	struct IrVal v = ir_param(&b, 0);
	for (u32 i = 1; i < 5; i++)
		v = ir_bin(&b, IR_ADD, ir_bin(&b, IR_MUL, v, ir_imm(31)), ir_param(&b, i));
	ir_ret(&b, v);
	return b.fn;
}

// All ways to pass five of six live values: moves in parallel, in cycles, from registers that calls destroy.
TEST(parallel_moves)
{
	NEED_KERNEL();
	u32 seed = 1;
	for (u32 round = 0; round < 4; round++) {
		struct IrProg p;
		struct IrBuild b;
		begin(&p, &b);
		u32 mix = mix_func(&p);
		ir_enter(&b, 0, 0);
		struct IrVal v[5], w[5];
		for (u32 i = 0; i < 5; i++)
			v[i] = ir_load(&b, ir_ctx(), (s32)(i * 8), 8, false);
		for (u32 k = 0; k < 30; k++) {
			for (u32 i = 0; i < 5; i++) {
				seed = seed * 1103515245 + 12345;
				w[i] = round == 3 && seed >> 20 & 1 ? ir_imm(seed >> 8) : v[(seed >> 16) % 5];
			}
			if (k % 2) // a permutation
				for (u32 i = 0; i < 5; i++)
					w[i] = v[(i * (1 + k % 4) + k) % 5];
			struct IrVal r = ir_call_fn(&b, mix, w, 5);
			ir_store(&b, ir_mapval(0, 0), (s32)(k * 8), 8, r);
			if (round)
				v[k % 5] = r;
		}
		finish(&p, &b, v[0]);
	}
}

// Parameters permuted on entry.
TEST(entry_moves)
{
	NEED_KERNEL();
	struct IrProg p;
	struct IrBuild b, g;
	begin(&p, &b);
	u32 mix = mix_func(&p);
	u32 rot[4];
	for (u32 k = 0; k < 4; k++) {
		g = (struct IrBuild){.prog = &p};
		ir_enter(&g, rot[k] = ir_new_func(&p, "rot", 5), 0);
		struct IrVal w[5];
		for (u32 i = 0; i < 5; i++)
			w[i] = ir_param(&g, k == 3 ? (i ^ 1) % 5 : (i + k) % 5);
		struct IrVal r = ir_call_fn(&g, mix, w, 5);
		for (u32 i = 0; i < 5; i++) // live across a call
			r = ir_bin(&g, IR_ADD, ir_bin(&g, IR_MUL, r, ir_imm(3)), ir_param(&g, i));
		ir_ret(&g, r);
	}
	ir_enter(&b, 0, 0);
	struct IrVal v[5];
	for (u32 i = 0; i < 5; i++)
		v[i] = ir_load(&b, ir_ctx(), (s32)(i * 8), 8, false);
	for (u32 k = 0; k < 4; k++)
		ir_store(&b, ir_mapval(0, 0), (s32)(k * 8), 8, ir_call_fn(&b, rot[k], v, 5));
	finish(&p, &b, v[1]);
}

// n values live at once, over calls and in a loop: nearly all are spilled.
static void many_live(u32 n, bool calls)
{
	struct IrProg p;
	struct IrBuild b;
	begin(&p, &b);
	struct IrVal v[64];
	assert(n <= ARRAY_LEN(v));
	IrReg sum = ir_new_reg(&b), i = ir_new_reg(&b);
	for (u32 k = 0; k < n; k++)
		v[k] = ir_bin(&b, IR_MUL, ir_load(&b, ir_ctx(), (s32)(k % 11 * 8), 8, false), ir_imm(k * 7 + 1));
	ir_set(&b, sum, ir_imm(0));
	ir_set(&b, i, ir_imm(0));
	IrBlk head = ir_new_block(&b, "head"), body = ir_new_block(&b, "body"), end = ir_new_block(&b, "end");
	ir_jmp(&b, head);
	ir_set_block(&b, head);
	ir_br(&b, IC_ULT, ir_reg(i), ir_imm(3), body, end);
	ir_set_block(&b, body);
	for (u32 k = 0; k < n; k++) {
		ir_set(&b, sum, ir_bin(&b, k % 3 ? IR_ADD : IR_XOR, ir_reg(sum), v[k]));
		if (calls && k % 4 == 0)
			ir_call(&b, 8, NULL, 0);
		ir_set(&b, sum, ir_bin(&b, IR_SUB, v[(k * 5) % n], ir_reg(sum)));
		if (k % 7 == 0)
			ir_set(&b, v[k].id, ir_bin(&b, IR_ADD, v[k], ir_reg(i)));
	}
	ir_set(&b, i, ir_bin(&b, IR_ADD, ir_reg(i), ir_imm(1)));
	ir_jmp(&b, head);
	ir_set_block(&b, end);
	for (u32 k = 0; k < n; k++)
		ir_store(&b, ir_mapval(0, 0), (s32)(k * 8), 8, v[k]);
	finish(&p, &b, ir_reg(sum));
}

TEST(many_live_values)
{
	NEED_KERNEL();
	many_live(5, false);
	many_live(9, false);
	many_live(12, true);
	many_live(40, false);
	many_live(57, true);
}

// A comparison that makes an access valid must still count after the value has been to the stack and back. Kernels before 6.9 need help with that.
TEST(range_survives_spill)
{
	NEED_KERNEL();
	for (u32 n = 1; n < 12; n++) {
		struct IrProg p;
		struct IrBuild b;
		begin(&p, &b);
		struct IrVal v[12], w[12], sum = ir_imm(0), base = ir_mapval(0, 1024);
		IrBlk out = ir_new_block(&b, "out");
		for (u32 k = 0; k < n; k++) {
			v[k] = ir_load(&b, ir_mapval(0, 0), (s32)(k * 8), 1, false);
			w[k] = ir_load(&b, ir_ctx(), (s32)(k % 11 * 8), 8, false);
			v[k] = ir_bin(&b, IR_MUL, v[k], ir_imm(3));
			v[k] = ir_bin(&b, IR_UDIV, v[k], ir_imm(3));
		}
		ir_call(&b, 8, NULL, 0);
		for (u32 k = 0; k < n; k++) {
			IrBlk ok = ir_new_block(&b, "ok");
			ir_br(&b, IC_UGT, v[k], ir_imm(512), out, ok);
			ir_set_block(&b, ok);
		}
		ir_call(&b, 8, NULL, 0);
		for (u32 k = 0; k < n; k++) {
			sum = ir_bin(&b, IR_ADD, sum, ir_load(&b, ir_bin(&b, IR_ADD, base, v[k]), 8, 8, false));
			sum = ir_bin(&b, IR_XOR, sum, w[k]);
			ir_call(&b, 8, NULL, 0);
		}
		ir_store(&b, ir_mapval(0, 0), 0, 8, sum);
		ir_jmp(&b, out);
		ir_set_block(&b, out);
		finish(&p, &b, ir_imm(n));
	}
}

// Variables that are constants at first, more than there are registers, in a loop or, without one, changed by a branch.
static void constant_at_first(bool loop, struct Code *c)
{
	struct IrProg p;
	struct IrBuild b;
	begin(&p, &b);
	struct IrVal v[24], sum = ir_imm(0);
	IrReg i[12];
	IrBlk head = ir_new_block(&b, "head"), body = ir_new_block(&b, "body"), end = ir_new_block(&b, "end");
	for (u32 k = 0; k < ARRAY_LEN(v); k++)
		v[k] = ir_bin(&b, IR_MUL, ir_load(&b, ir_ctx(), (s32)(k % 11 * 8), 8, false), ir_imm(k * 7 + 1));
	for (u32 k = 0; k < ARRAY_LEN(i); k++)
		ir_set(&b, i[k] = ir_new_reg(&b), ir_imm(k));
	ir_jmp(&b, head);
	ir_set_block(&b, head);
	ir_call(&b, 8, NULL, 0);
	ir_br(&b, IC_ULT, loop ? ir_reg(i[0]) : v[3], ir_imm(9), body, end);
	ir_set_block(&b, body);
	for (u32 k = 0; k < 3 * ARRAY_LEN(v); k++)
		ir_set(&b, v[k % ARRAY_LEN(v)].id, ir_bin(&b, IR_ADD, v[k % ARRAY_LEN(v)], v[(k + 5) % ARRAY_LEN(v)]));
	ir_call(&b, 8, NULL, 0);
	for (u32 k = 0; k < ARRAY_LEN(i); k++)
		ir_set(&b, i[k], loop ? ir_bin(&b, IR_ADD, ir_reg(i[k]), ir_imm(1)) : ir_imm(7 + k));
	ir_jmp(&b, loop ? head : end);
	ir_set_block(&b, end);
	for (u32 k = 0; k < ARRAY_LEN(v); k++)
		sum = ir_bin(&b, IR_ADD, sum, v[k]);
	for (u32 k = 0; k < ARRAY_LEN(i); k++)
		sum = ir_bin(&b, IR_XOR, sum, ir_reg(i[k]));
	ir_store(&b, ir_mapval(0, 0), 0, 8, sum);
	ir_ret(&b, ir_imm(0));
	CHECK(verified(&p, "as built"));
	CHECK(!ir_compile(&p, &(struct EmitOpts){0}, c));
	ir_deinit(&p);
}

static u32 constants_on_stack(const struct Code *c)
{
	u32 n = 0;
	for (size_t k = 0; k < c->insns.n; k++)
		n += c->insns.p[k].code == (BPF_ST | BPF_MEM | BPF_DW) && (c->insns.p[k].regs & 0xf) == 10;
	return n;
}

// Verifiers before 6.4 forget a constant that is stored as one, and would see no end of the loop.
TEST(counter_of_a_loop_on_the_stack)
{
	struct Code c;
	constant_at_first(false, &c);
	CHECK(constants_on_stack(&c) > 0);
	code_deinit(&c);
	constant_at_first(true, &c);
	CHECK_EQ(constants_on_stack(&c), 0u);
	code_deinit(&c);
}

TEST(too_much_stack)
{
	struct IrProg p;
	struct IrBuild b;
	begin(&p, &b);
	struct IrVal v[200], sum = ir_imm(0);
	for (u32 k = 0; k < 200; k++)
		v[k] = ir_load(&b, ir_ctx(), (s32)(k % 11 * 8), 8, false);
	ir_call(&b, 8, NULL, 0);
	for (u32 k = 0; k < 200; k++)
		sum = ir_bin(&b, IR_ADD, sum, v[k]);
	ir_ret(&b, sum);
	struct Code c;
	struct err *e = ir_compile(&p, &(struct EmitOpts){0}, &c);
	CHECK_STR(e ? err_text(e) : NULL, "the probe needs 1568 bytes of stack, 512 is the limit");
	err_free(e);
	ir_deinit(&p);
}

// Slots whose lives do not meet share bytes; those in a loop or with a stray address do not.
TEST(slots_share)
{
	NEED_KERNEL();
	struct IrProg p;
	struct IrBuild b;
	begin(&p, &b);
	for (u32 k = 0; k < 10; k++) { // 10 * 104 bytes, one at a time
		IrSlot s = ir_new_slot(&b, 104, 8);
		for (u32 i = 0; i < 104; i += 8)
			ir_store(&b, ir_slot(s, i), 0, 8, ir_load(&b, ir_ctx(), (s32)((k + i / 8) % 11 * 8), 8, false));
		struct IrVal sum = ir_imm(0);
		for (u32 i = 0; i < 104; i += 4)
			sum = ir_bin(&b, IR_ADD, sum, ir_load(&b, ir_slot(s, 0), (s32)i, 4, true));
		ir_store(&b, ir_mapval(0, 0), (s32)(k * 8), 8, sum);
	}
	IrSlot addr = ir_new_slot(&b, 64, 8), key = ir_new_slot(&b, 4, 4), loop = ir_new_slot(&b, 8, 8);
	struct IrVal at = ir_mov(&b, ir_slot(addr, 8));
	ir_store(&b, at, 8, 8, ir_imm(42));
	ir_store(&b, ir_slot(loop, 0), 0, 8, ir_imm(1));
	IrReg i = ir_new_reg(&b);
	ir_set(&b, i, ir_imm(0));
	IrBlk head = ir_new_block(&b, "head"), body = ir_new_block(&b, "body"), end = ir_new_block(&b, "end"), hit = ir_new_block(&b, "hit"),
	      next = ir_new_block(&b, "next");
	ir_jmp(&b, head);
	ir_set_block(&b, head);
	ir_br(&b, IC_NE, ir_reg(i), ir_imm(4), body, end);
	ir_set_block(&b, body);
	ir_store(&b, ir_slot(loop, 0), 0, 8, ir_bin(&b, IR_ADD, ir_load(&b, ir_slot(loop, 0), 0, 8, false), ir_imm(3)));
	ir_store(&b, ir_slot(key, 0), 0, 4, ir_bin(&b, IR_AND, ir_reg(i), ir_imm(1)));
	struct IrVal args[2] = {ir_mapfd(0), ir_slot(key, 0)}, val = ir_call(&b, 1, args, 2);
	ir_br(&b, IC_NE, val, ir_imm(0), hit, next);
	ir_set_block(&b, hit);
	ir_atomic_add(&b, val, 800, 8, ir_load(&b, ir_slot(loop, 0), 0, 8, false));
	ir_jmp(&b, next);
	ir_set_block(&b, next);
	ir_set(&b, i, ir_bin(&b, IR_ADD, ir_reg(i), ir_imm(1)));
	ir_jmp(&b, head);
	ir_set_block(&b, end);
	finish(&p, &b, ir_load(&b, ir_slot(addr, 0), 16, 8, false));
}

TEST(callback)
{
	NEED_KERNEL();
	struct IrProg p;
	struct IrBuild b, g;
	begin(&p, &b);
	g = (struct IrBuild){.prog = &p};
	ir_enter(&g, ir_new_func(&p, "body", 2), 0);
	struct IrVal sum = ir_load(&g, ir_param(&g, 1), 8, 8, false);
	ir_store(&g, ir_param(&g, 1), 8, 8, ir_bin(&g, IR_ADD, ir_bin(&g, IR_MUL, sum, ir_imm(3)), ir_param(&g, 0)));
	IrBlk stop = ir_new_block(&g, "stop"), go = ir_new_block(&g, "go");
	ir_br(&g, IC_EQ, ir_param(&g, 0), ir_imm(6), stop, go);
	ir_set_block(&g, stop);
	ir_ret(&g, ir_imm(1));
	ir_set_block(&g, go);
	ir_ret(&g, ir_imm(0));
	ir_enter(&b, 0, 0);
	IrSlot s = ir_new_slot(&b, 16, 8);
	ir_store(&b, ir_slot(s, 0), 0, 8, ir_imm(0));
	ir_store(&b, ir_slot(s, 8), 0, 8, ir_imm(1));
	struct IrVal args[4] = {ir_imm(10), ir_func(1), ir_slot(s, 0), ir_imm(0)}, n = ir_call(&b, 181, args, 4);
	ir_store(&b, ir_mapval(0, 0), 0, 8, n);
	finish(&p, &b, ir_load(&b, ir_slot(s, 0), 8, 8, false));
}

// More than 32767 instructions between a branch and its target: relays in both directions.
TEST(far_branches)
{
	NEED_KERNEL();
	struct IrProg p;
	struct IrBuild b;
	begin(&p, &b);
	IrReg i = ir_new_reg(&b), sum = ir_new_reg(&b);
	struct IrVal x = ir_load(&b, ir_ctx(), 24, 8, false);
	ir_set(&b, i, ir_imm(0));
	ir_set(&b, sum, ir_imm(0));
	IrBlk head = ir_new_block(&b, "head"), body = ir_new_block(&b, "body"), last = ir_new_block(&b, "last");
	ir_jmp(&b, head);
	ir_set_block(&b, head);
	ir_br(&b, IC_ULT, ir_reg(i), ir_imm(2), body, last);
	ir_set_block(&b, body);
	for (u32 k = 0; k < 30000; k++) {
		ir_set(&b, sum, ir_bin(&b, k % 2 ? IR_MUL : IR_XOR, ir_reg(sum), k % 2 ? ir_imm(3 + k) : x));
		if (k % 3000 == 1) {
			IrBlk on = ir_new_block(&b, "on");
			ir_br(&b, IC_EQ, ir_reg(sum), ir_imm((s64)k), last, on); // leaves the loop, from everywhere in it
			ir_set_block(&b, on);
		}
		if (k % 10 == 0)
			ir_set(&b, sum, ir_bin(&b, IR_SMOD, ir_reg(sum), x));
	}
	ir_set(&b, i, ir_bin(&b, IR_ADD, ir_reg(i), ir_imm(1)));
	ir_jmp(&b, head);
	ir_set_block(&b, last);
	ir_store(&b, ir_mapval(0, 0), 0, 8, ir_reg(sum));
	finish(&p, &b, ir_reg(i));
	CHECK(run.ninsns > 50000);
}

// ---- random programs

struct Rand {
	struct IrProg p;
	struct IrBuild b;
	u64 s;
	IrReg var[24];
	u32 nvars, depth, budget, loops;
	IrSlot slot, key;
	u32 mix;
};

static u32 rnd(struct Rand *r, u32 n)
{
	r->s ^= r->s << 13;
	r->s ^= r->s >> 7;
	r->s ^= r->s << 17;
	return (u32)(r->s >> 20) % n;
}

static struct IrVal rnd_imm(struct Rand *r)
{
	return rnd(r, 2) ? ir_imm(corner[rnd(r, ARRAY_LEN(corner))]) : ir_imm((s64)rnd(r, 2000) - 1000);
}

static struct IrVal rnd_expr(struct Rand *r, u32 depth)
{
	switch (depth ? rnd(r, 8) : rnd(r, 2)) {
	case 0: return ir_reg(r->var[rnd(r, r->nvars)]);
	case 1: return rnd(r, 3) ? ir_reg(r->var[rnd(r, r->nvars)]) : rnd_imm(r);
	case 2: return ir_ext(&r->b, rnd_expr(r, depth - 1), 1u << rnd(r, 4), rnd(r, 2));
	case 3: return rnd(r, 2) ? ir_neg(&r->b, rnd_expr(r, depth - 1)) : ir_bswap(&r->b, rnd_expr(r, depth - 1), 1u << rnd(r, 4));
	case 4: {
		u32 size = 1u << rnd(r, 4);
		return ir_load(&r->b, rnd(r, 2) ? ir_slot(r->slot, 0) : ir_mapval(0, 1024), (s32)(rnd(r, 8) * 8), size, rnd(r, 2));
	}
	default: {
		struct IrVal x = rnd_expr(r, depth - 1), y = rnd_expr(r, depth - 1);
		return ir_bin(&r->b, IR_ADD + rnd(r, IR_ASHR - IR_ADD + 1), x, y);
	}
	}
}

static void rnd_block(struct Rand *r, u32 n);

static void rnd_if(struct Rand *r)
{
	IrBlk t = ir_new_block(&r->b, "t"), f = ir_new_block(&r->b, "f"), end = ir_new_block(&r->b, "end");
	struct IrVal x = rnd_expr(r, 1), y = rnd_expr(r, 1);
	ir_br(&r->b, rnd(r, IR_CONDS), x, y, t, f);
	if (rnd(r, 4) == 0)
		vec_last(&r->p.funcs.p[0].blocks.p[r->b.blk].insns).size = 4;
	ir_set_block(&r->b, t);
	rnd_block(r, 3);
	ir_jmp(&r->b, end);
	ir_set_block(&r->b, f);
	if (rnd(r, 2))
		rnd_block(r, 3);
	ir_jmp(&r->b, end);
	ir_set_block(&r->b, end);
}

static void rnd_loop(struct Rand *r)
{
	IrReg i = ir_new_reg(&r->b);
	IrBlk head = ir_new_block(&r->b, "head"), body = ir_new_block(&r->b, "body"), end = ir_new_block(&r->b, "end");
	ir_set(&r->b, i, ir_imm(0));
	ir_jmp(&r->b, head);
	ir_set_block(&r->b, head);
	ir_br(&r->b, IC_ULT, ir_reg(i), ir_imm(1 + rnd(r, 4)), body, end);
	ir_set_block(&r->b, body);
	rnd_block(r, 3);
	ir_set(&r->b, r->var[rnd(r, r->nvars)], ir_reg(i));
	ir_set(&r->b, i, ir_bin(&r->b, IR_ADD, ir_reg(i), ir_imm(1)));
	ir_jmp(&r->b, head);
	ir_set_block(&r->b, end);
}

static void rnd_lookup(struct Rand *r)
{
	IrBlk hit = ir_new_block(&r->b, "hit"), end = ir_new_block(&r->b, "end");
	ir_store(&r->b, ir_slot(r->key, 0), 0, 4, ir_bin(&r->b, IR_AND, rnd_expr(r, 1), ir_imm(1)));
	struct IrVal args[2] = {ir_mapfd(0), ir_slot(r->key, 0)}, v = ir_call(&r->b, 1, args, 2);
	IrReg keep = r->var[rnd(r, r->nvars)];
	ir_set(&r->b, keep, ir_imm(-5));
	ir_br(&r->b, IC_EQ, v, ir_imm(0), end, hit);
	ir_set_block(&r->b, hit);
	struct IrVal at = ir_bin(&r->b, IR_ADD, v, ir_imm(rnd(r, 50) * 8));
	ir_set(&r->b, keep, ir_load(&r->b, at, 512, 8, false));
	if (rnd(r, 2))
		ir_call(&r->b, 8, NULL, 0);
	ir_store(&r->b, at, 1024, 8, rnd_expr(r, 1));
	ir_atomic_add(&r->b, v, 1024 + 8 * (s32)rnd(r, 8), rnd(r, 2) ? 8 : 4, rnd_expr(r, 1));
	ir_jmp(&r->b, end);
	ir_set_block(&r->b, end);
}

static void rnd_statement(struct Rand *r)
{
	u32 kind = rnd(r, 15), size = 1u << rnd(r, 4);
	if (r->budget)
		r->budget--;
	switch (r->budget ? kind : 0) {
	case 7:
	case 8:
		if (r->depth < 3) {
			rnd_if(r);
			return;
		}
		break;
	case 9:
		if (r->loops < 2 && r->depth < 2) {
			r->loops++;
			rnd_loop(r);
			return;
		}
		break;
	case 10:
		rnd_lookup(r);
		return;
	case 11: {
		struct IrVal a[5];
		for (u32 i = 0; i < 5; i++)
			a[i] = rnd_expr(r, rnd(r, 4) == 0);
		ir_set(&r->b, r->var[rnd(r, r->nvars)], ir_call_fn(&r->b, r->mix, a, 5));
		return;
	}
	case 12:
		ir_store(&r->b, ir_slot(r->slot, 0), (s32)(rnd(r, 8) * 8), size, rnd_expr(r, 2));
		return;
	case 14:
		ir_set(&r->b, r->var[rnd(r, r->nvars)], ir_call(&r->b, 14, NULL, 0));
		return;
	case 13:
		ir_store(&r->b, ir_mapval(0, 1024), (s32)(rnd(r, 8) * 8), size, rnd_expr(r, 2));
		return;
	}
	struct IrVal v = rnd_expr(r, 3);
	ir_set(&r->b, r->var[rnd(r, r->nvars)], v);
}

static void rnd_block(struct Rand *r, u32 n)
{
	r->depth++;
	for (u32 i = 0; i <= n; i++)
		rnd_statement(r);
	r->depth--;
}

static bool rnd_program(u64 seed)
{
	struct Rand r = {.s = seed * 0x9e3779b97f4a7c15ULL + 1, .budget = 40};
	begin(&r.p, &r.b);
	r.mix = mix_func(&r.p);
	ir_enter(&r.b, 0, 0);
	r.nvars = 3 + rnd(&r, ARRAY_LEN(r.var) - 3);
	r.slot = ir_new_slot(&r.b, 64, 8);
	r.key = ir_new_slot(&r.b, 4, 4);
	for (u32 i = 0; i < 64; i += 8)
		ir_store(&r.b, ir_slot(r.slot, i), 0, 8, ir_imm(i * 3));
	for (u32 i = 0; i < r.nvars; i++) {
		r.var[i] = ir_new_reg(&r.b);
		ir_set(&r.b, r.var[i], rnd(&r, 3) ? ir_load(&r.b, ir_ctx(), (s32)(rnd(&r, 11) * 8), 8, false) : rnd_imm(&r));
	}
	rnd_block(&r, 5 + rnd(&r, 10));
	for (u32 i = 0; i < r.nvars; i++)
		ir_store(&r.b, ir_mapval(0, 0), (s32)(i * 8), 8, ir_reg(r.var[i]));
	for (u32 i = 0; i < 64; i += 8)
		ir_store(&r.b, ir_mapval(0, 256), (s32)i, 8, ir_load(&r.b, ir_slot(r.slot, i), 0, 8, false));
	ir_ret(&r.b, ir_reg(r.var[0]));
	bool ok = differential(&r.p);
	ir_deinit(&r.p);
	return ok;
}

TEST(random_programs)
{
	NEED_KERNEL();
	const char *from = getenv("SEED"), *count = getenv("COUNT"); // to repeat one, or to run more
	u64 first = from ? strtoull(from, NULL, 0) : 1, n = count ? strtoull(count, NULL, 0) : from ? 1 : 300;
	total_insns[0] = total_insns[1] = 0;
	for (u64 i = first; i < first + n; i++)
		if (!rnd_program(i)) {
			printf("# SEED=%llu\n", (unsigned long long)i);
			break;
		}
	printf("# instructions: %u plain, %u optimised (v3 + v4 run)\n", total_insns[0], total_insns[1]);
	run_deinit(&run);
}
T_MAIN()
