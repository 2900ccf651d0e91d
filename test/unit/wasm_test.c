// WebAssembly that V8 has compiled: a module's bytes (track/wasmmodule.c), tables of jumps (wasmmem.c), rows of a function's code (unwind/onepass.c). Input: bytes as V8 14.6, 12.4 and 11.3
// had them, whole and damaged. The whole of it, in processes, is in test/run/v8.t.
#include "t.h"
#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 wasm # SKIP the code is of x86-64\n1..1\n");
	return 0;
}
#else
#include "track/internal.h"
#include "unwind/unwind.h"

static const u8 module[] = {0, 'a', 's', 'm', 1, 0, 0, 0,
	1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f,					      // a type
	2, 21, 3, 1, 'e', 1, 'f', 0, 0, 1, 'e', 1, 'm', 2, 0, 1, 1, 'e', 1, 'g', 3, 0x7f, 0, // imports: a function, memory, a global
	3, 4, 3, 0, 0, 0,							      // three functions
	7, 9, 2, 1, 'x', 0, 1, 1, 'y', 0, 3,					      // exports: 1, 3
	0, 15, 4, 'n', 'a', 'm', 'e', 1, 8, 2, 1, 2, 'a', 'b', 3, 1, 'c'};	      // names: 1, 3

static bool is_name(const struct WasmModule *m, u32 i, const char *want)
{
	return m->names[i].n == strlen(want) && !memcmp(m->names[i].p, want, m->names[i].n);
}

TEST(a_modules_functions)
{
	struct WasmModule m;
	u8 bytes[sizeof(module)];
	memcpy(bytes, module, sizeof(bytes));
	CHECK(wasmmodule_parse(bytes, sizeof(bytes), &m));
	CHECK(m.nimports == 1 && m.nfuncs == 3);
	CHECK(is_name(&m, 0, "") && is_name(&m, 1, "ab") && is_name(&m, 2, "") && is_name(&m, 3, "c"));
	wasmmodule_free(&m);
	for (u64 n = 0; n < sizeof(bytes); n++) { // cut anywhere: what was read is right
		u8 *part = xmalloc(n + !n);
		memcpy(part, bytes, n);
		if (wasmmodule_parse(part, n, &m))
			CHECK(m.nimports == 1 && m.nfuncs == 3 && (is_name(&m, 1, "") || is_name(&m, 1, "x") || is_name(&m, 1, "ab")));
		wasmmodule_free(&m);
		free(part);
	}
	bytes[0] = 1;
	CHECK(!wasmmodule_parse(bytes, sizeof(bytes), &m));
	wasmmodule_free(&m);
}

TEST(where_a_modules_code_begins)
{
	u8 five[64] = {0xe9, 0x7b, 8, 0, 0, 0xe9, 0x80, 8, 0, 0}, eight[64], one[64] = {0xe9, 0x7b, 8};
	for (u32 i = 0; i < 64; i += 8)
		memcpy(eight + i, "\xe9\x7b\x08\0\0\xcc\xcc\xcc", 8);
	CHECK(wasmmem_is_table(five, 64, 0x10000, 0x20000) && wasmmem_is_table(eight, 64, 0x10000, 0x20000) && wasmmem_is_table(one, 64, 0x10000, 0x20000));
	CHECK(!wasmmem_is_table(five, 64, 0x10000, 0x10400)); // they lead elsewhere
	CHECK(!wasmmem_is_table(five, 63, 0x10000, 0x20000));
	one[40] = 1;
	CHECK(!wasmmem_is_table(one, 64, 0x10000, 0x20000));
}

static const struct UwCodeRow *row_at(const UwCodeRows *v, u64 off)
{
	const struct UwCodeRow *r = NULL;
	for (size_t i = 0; i < v->n && v->p[i].off <= off; i++)
		r = &v->p[i];
	return r;
}

static bool is_rule(const UwCodeRows *v, u64 off, u32 reg, s32 cfa, bool guess)
{
	const struct UwCodeRow *r = row_at(v, off);
	return r && r->rule.kind == RT_UW_REG && r->rule.reg == reg && r->rule.off == cfa && !!(r->rule.lost & RT_UW_GUESS) == guess;
}

TEST(a_function_with_a_frame_and_a_way_without_one)
{
	static const u8 code[] = {0x83, 0xf8, 2,		  // 0 cmp $2,%eax
				  0x7c, 15,			  // 3 jl 20
				  0x55, 0x48, 0x89, 0xe5,	  // 5 push %rbp; mov %rsp,%rbp
				  0x6a, 8, 0x53,		  // 9 push $8; push %rbx
				  0xe8, 0, 1, 0, 0,		  // 12 call
				  0xc9, 0xc3, 0xcc,		  // 17 leave; ret
				  0x31, 0xc0, 0xc3};		  // 20 xor %eax,%eax; ret
	UwCodeRows v = {0};
	uwcode_rows(code, sizeof(code), &v);
	CHECK(is_rule(&v, 0, RT_R_SP, 8, false) && is_rule(&v, 5, RT_R_SP, 8, false) && is_rule(&v, 6, RT_R_SP, 16, false));
	CHECK(is_rule(&v, 9, RT_R_FP, 16, false) && is_rule(&v, 12, RT_R_FP, 16, false) && is_rule(&v, 17, RT_R_FP, 16, false));
	CHECK(is_rule(&v, 18, RT_R_SP, 8, false) && is_rule(&v, 20, RT_R_SP, 8, false));
	CHECK_EQ(row_at(&v, 12)->rule.saved, 1); // rbx is none that V8 saves
	vec_deinit(&v);
}

TEST(a_frame_that_a_callee_makes)
{
	static const u8 code[] = {0x41, 0xbc, 5, 0, 0, 0,   // 0 mov $5,%r12d
				  0xe8, 0, 1, 0, 0,	    // 6 call
				  0x48, 0x83, 0xec, 0x18,   // 11 sub $24,%rsp
				  0xe8, 0, 1, 0, 0,	    // 15 call
				  0x48, 0x89, 0xec, 0x5d, 0xc3}; // 20 mov %rbp,%rsp; pop %rbp; ret
	UwCodeRows v = {0};
	uwcode_rows(code, sizeof(code), &v);
	CHECK(is_rule(&v, 6, RT_R_SP, 8, false) && is_rule(&v, 11, RT_R_FP, 16, false) && is_rule(&v, 15, RT_R_FP, 16, false));
	CHECK(is_rule(&v, 24, RT_R_SP, 8, false));
	vec_deinit(&v);
}

TEST(ways_that_do_not_agree)
{
	static const u8 code[] = {0x74, 1,   // 0 je 3
				  0x50,	     // 2 push %rax
				  0xc3, 0xc3}; // 3 ret
	UwCodeRows v = {0};
	uwcode_rows(code, sizeof(code), &v);
	CHECK(is_rule(&v, 0, RT_R_SP, 8, true) && row_at(&v, 3)->rule.lost & RT_UW_GUESS);
	vec_deinit(&v);
	uwcode_rows(code, 0, &v);
	CHECK_EQ(v.n, 0);
	vec_deinit(&v);
}

T_MAIN()
#endif
