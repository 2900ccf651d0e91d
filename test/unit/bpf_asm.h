// A few lines of assembler for tests that load handmade programs.
#ifndef SONDE_TEST_BPF_ASM_H
#define SONDE_TEST_BPF_ASM_H
#include "bpf/bpf.h"
#include <linux/bpf.h>

struct TestProg {
	struct Program prog;
	struct Arena arena;
	struct Diags diags;
	struct ProbeProg pp;
	struct Loaded *loaded;
};

static inline void tp_init(struct TestProg *t, const char *name)
{
	memset(t, 0, sizeof(*t));
	t->prog.arena = &t->arena;
	t->prog.diags = &t->diags;
	t->prog.config.license = "Dual BSD/GPL";
	t->pp.ir.name = name;
	t->pp.ir.diags = &t->diags;
	t->pp.fd = -1;
}

static inline void tp_deinit(struct TestProg *t)
{
	loaded_destroy(t->loaded);
	vec_deinit(&t->prog.maps);
	vec_deinit(&t->pp.code.insns);
	vec_deinit(&t->pp.code.relocs);
	vec_deinit(&t->pp.code.funcs);
	vec_deinit(&t->pp.code.lines);
	vec_deinit(&t->pp.ir.locs);
	diags_deinit(&t->diags);
	arena_deinit(&t->arena);
}

static inline void ins(struct TestProg *t, u8 code, u8 dst, u8 src, s16 off, s32 imm)
{
	struct BpfInsn in = {code, (u8)(dst | src << 4), off, imm};
	vec_push(&t->pp.code.insns, in);
}
static inline void mov_imm(struct TestProg *t, u8 dst, s32 v) { ins(t, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, v); }
static inline void mov_reg(struct TestProg *t, u8 dst, u8 src) { ins(t, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0); }
static inline void add_imm(struct TestProg *t, u8 dst, s32 v) { ins(t, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, v); }
static inline void ld64(struct TestProg *t, u8 dst, u64 v)
{
	ins(t, BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (s32)v);
	ins(t, 0, 0, 0, 0, (s32)(v >> 32));
}
static inline void call(struct TestProg *t, u32 helper) { ins(t, BPF_JMP | BPF_CALL, 0, 0, 0, (s32)helper); }
static inline void exit_insn(struct TestProg *t) { ins(t, BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }
static inline void reloc(struct TestProg *t, enum RelocKind kind, u32 id, s64 addend, const char *name)
{
	struct Reloc r = {kind, (u32)t->pp.code.insns.n, id, addend, name};
	vec_push(&t->pp.code.relocs, r);
}
static inline void call_rt(struct TestProg *t, const char *name)
{
	reloc(t, REL_RT, 0, 0, name);
	call(t, 0);
}
static inline void map_val(struct TestProg *t, u8 dst, struct MapDef *m, s64 off)
{
	reloc(t, REL_MAPVAL, m->id, off, NULL);
	ld64(t, dst, 0);
}
static inline void map_fd(struct TestProg *t, u8 dst, struct MapDef *m)
{
	reloc(t, REL_MAPFD, m->id, 0, NULL);
	ld64(t, dst, 0);
}
static inline struct MapDef *add_map(struct TestProg *t, const char *name, u32 type, u32 key, u32 val, u32 max, u32 flags)
{
	struct MapDef *m = arena_new(&t->arena, struct MapDef);
	*m = (struct MapDef){.id = (u32)t->prog.maps.n, .name = name, .bpf_type = type, .key_size = key, .value_size = val,
			     .max_entries = max, .flags = flags, .fd = -1};
	vec_push(&t->prog.maps, m);
	return m;
}

static inline struct err *load_one(struct Program *p, struct Loaded *l, struct ProbeProg *pp, const struct SysProg *base, const struct LoadOpts *o)
{
	return load_progs(p, l, &pp, 1, base, o);
}

// Links, loads as a raw tracepoint program; NULL or the error.
static inline struct err *tp_load(struct TestProg *t, const struct LoadOpts *o)
{
	struct SysProg base = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT};
	struct err *e = link_runtime(&t->prog, &t->pp.code);
	if (!e)
		e = load_maps(&t->prog, &t->loaded);
	if (!e)
		e = load_one(&t->prog, t->loaded, &t->pp, &base, o);
	return e;
}

// Runs it once with BPF_PROG_TEST_RUN; the 32 bits it returns, or -errno in *err.
static inline u32 tp_run(struct TestProg *t, int *err)
{
	u64 ctx[4] = {0};
	struct SysTestRun tr = {.ctx_in = ctx, .ctx_size = sizeof(ctx)};
	*err = sys_prog_test_run(t->pp.fd, &tr);
	return tr.retval;
}
#endif
