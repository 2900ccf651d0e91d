// The runtime linked into a program. Input: code with REL_RT relocations; output: the same code with the functions it calls, and those
// they call, appended, and their maps in prog->maps. Invariant: each function is appended once, in table order; existing instruction
// indexes do not change. The runtime itself is in rttab.c.
#include "bpf/internal.h"
#include <linux/bpf.h>

#define RODATA_MAP "rt_rodata"

static int find_exact(const char *name)
{
	for (u32 i = 0; i < rt_nfuncs; i++)
		if (rt_funcs[i].global && !strcmp(rt_funcs[i].name, name))
			return (int)i;
	return -1;
}

// Where the kernel has no bpf_loop, NAME_noloop is taken instead of NAME if there is one.
static int find_func(const char *name)
{
	char other[64];
	snprintf(other, sizeof(other), "%s_noloop", name);
	int i = feature_has(FEAT_BPF_LOOP) ? -1 : find_exact(other);
	return i < 0 ? find_exact(name) : i;
}

static struct MapDef *add_map(struct Program *prog, const char *name, const u32 w[5])
{
	struct MapDef *m = arena_new(prog->arena, struct MapDef);
	*m = (struct MapDef){
		.id = (u32)prog->maps.n,
		.name = name,
		.bpf_type = w[0],
		.key_size = w[1],
		.value_size = w[2],
		.max_entries = w[3],
		.flags = w[4],
		.fd = -1,
	};
	vec_push(&prog->maps, m);
	return m;
}

static struct MapDef *runtime_map(struct Program *prog, u32 index)
{
	const struct RtMapEntry *e = &rt_maps[index];
	struct MapDef *m = program_map(prog, e->name);
	if (m) { // shared with generated code, or linked before
		assert(m->bpf_type == e->w[0] && m->key_size == e->w[1] && m->value_size == e->w[2]);
		return m;
	}
	m = add_map(prog, e->name, e->w);
	if (e->w[5]) {
		struct MapDef *in = arena_new(prog->arena, struct MapDef);
		*in = (struct MapDef){.name = "rt_inner", .bpf_type = e->w[5], .key_size = e->w[6], .value_size = e->w[7],
				      .max_entries = e->w[8], .flags = e->w[9], .fd = -1};
		m->inner = in;
	}
	return m;
}

// Can global functions be given pointers to structs? Linux 5.13 is the first where they can, but there and in 6.1 bpf_map_update_elem() takes no value from such memory.
// may_goto, of 6.9, is asked for, as programs differ by that anyway.
static bool gives_pointers(void)
{
	return feature_has(FEAT_MAY_GOTO);
}

static struct MapDef *rodata_map(struct Program *prog)
{
	struct MapDef *m = program_map(prog, RODATA_MAP);
	if (m)
		return m;
	m = add_map(prog, RODATA_MAP, (const u32[5]){BPF_MAP_TYPE_ARRAY, 4, rt_rodata_size, 1, BPF_F_RDONLY_PROG});
	void *init = arena_alloc(prog->arena, rt_rodata_size + 1);
	memcpy(init, rt_rodata, rt_rodata_size);
	m->init = init;
	u32 pointers = gives_pointers();
	link_set_const(prog, "rt_pointers", &pointers, sizeof(pointers));
	return m;
}

bool link_set_const(struct Program *prog, const char *name, const void *val, u32 size)
{
	const struct MapDef *m = program_map(prog, RODATA_MAP);
	if (!m)
		return false;
	for (u32 i = 0; i < rt_nconsts; i++) {
		if (strcmp(rt_consts[i].name, name) || rt_consts[i].size != size)
			continue;
		memcpy((char *)m->init + rt_consts[i].off, val, size); // ours, see rodata_map
		return true;
	}
	return false;
}

struct Place { // of a function of the runtime
	u32 at;		  // its first instruction in the code
	bool need, is_callback;
};
struct Link {
	struct Place *funcs; // as rt_funcs
	VEC(u32) todo;
};

static void need(struct Link *l, u32 func, bool callback)
{
	struct Place *p = &l->funcs[func];
	p->is_callback |= callback;
	if (p->need)
		return;
	p->need = true;
	vec_push(&l->todo, func);
}

// All functions reachable from those in todo.
static void close_over(struct Link *l)
{
	while (l->todo.n) {
		const struct RtFunc *f = &rt_funcs[vec_pop(&l->todo)];
		for (u32 i = 0; i < f->nrelocs; i++) {
			const struct RtReloc *r = &rt_relocs[f->reloc0 + i];
			if (r->kind == RTK_CALL || r->kind == RTK_CALLBACK)
				need(l, r->target, r->kind == RTK_CALLBACK);
		}
	}
}

void link_point_to(struct Code *code, u32 insn, u32 target)
{
	struct BpfInsn *in = &code->insns.p[insn];
	u8 src = in->code == (BPF_LD | BPF_IMM | BPF_DW) ? BPF_PSEUDO_FUNC : BPF_PSEUDO_CALL;
	in->regs = (u8)((in->regs & 0xf) | src << 4);
	in->imm = (s32)target - (s32)insn - 1;
}

// MAY_GOTO: a jump that the kernel takes when it has not for very many times (bpfrt/rt.h, RT_LOOP).
static struct BpfInsn for_this_kernel(struct Program *prog, struct BpfInsn in)
{
	u32 yes = 1;
	if (in.code != MAY_GOTO)
		return in;
	if (!feature_has(FEAT_MAY_GOTO))
		return (struct BpfInsn){BPF_JMP | BPF_JA, 0, 0, 0};
	rodata_map(prog);
	link_set_const(prog, "rt_may_goto", &yes, sizeof(yes));
	return in;
}

static void append_func(struct Program *prog, struct Code *code, const struct Link *l, u32 fi)
{
	const struct RtFunc *f = &rt_funcs[fi];
	const struct BpfInsn *insns = rt_insns() + f->insn0;
	for (u32 i = 0; i < f->ninsns; i++)
		vec_push(&code->insns, for_this_kernel(prog, insns[i]));
	struct CodeFunc cf = {l->funcs[fi].at, f->name, f->nparams, l->funcs[fi].is_callback, f->points && gives_pointers() ? rt_points[f->points] : NULL};
	vec_push(&code->funcs, cf);
	for (u32 i = 0; i < f->nrelocs; i++) {
		const struct RtReloc *r = &rt_relocs[f->reloc0 + i];
		struct Reloc out = {.insn = l->funcs[fi].at + r->insn};
		switch ((enum RtRelocKind)r->kind) {
		case RTK_CALL:
		case RTK_CALLBACK:
			link_point_to(code, out.insn, l->funcs[r->target].at);
			continue;
		case RTK_MAP:
			out.kind = REL_MAPFD;
			out.id = runtime_map(prog, r->target)->id;
			break;
		case RTK_RODATA:
			out.kind = REL_MAPVAL;
			out.id = rodata_map(prog)->id;
			out.addend = r->addend;
			break;
		}
		vec_push(&code->relocs, out);
	}
}

// The functions that code calls, and where they will be.
static struct err *find_needed(struct Link *l, const struct Code *code)
{
	for (size_t i = 0; i < code->relocs.n; i++) {
		const struct Reloc *r = &code->relocs.p[i];
		if (r->kind != REL_RT)
			continue;
		int f = find_func(r->name);
		if (f < 0)
			return err_new("sonde was built without the runtime function %s", r->name);
		need(l, (u32)f, code->insns.p[r->insn].code == (BPF_LD | BPF_IMM | BPF_DW));
	}
	close_over(l);
	u32 at = (u32)code->insns.n;
	for (u32 i = 0; i < rt_nfuncs; i++)
		if (l->funcs[i].need) {
			l->funcs[i].at = at;
			at += rt_funcs[i].ninsns;
		}
	return NULL;
}

static void append_needed(struct Program *prog, struct Code *code, const struct Link *l)
{
	size_t kept = 0;
	for (size_t i = 0; i < code->relocs.n; i++) {
		const struct Reloc r = code->relocs.p[i];
		if (r.kind == REL_RT)
			link_point_to(code, r.insn, l->funcs[find_func(r.name)].at);
		else
			code->relocs.p[kept++] = r;
	}
	code->relocs.n = kept;
	for (u32 i = 0; i < rt_nfuncs; i++)
		if (l->funcs[i].need)
			append_func(prog, code, l, i);
}

struct err *link_runtime(struct Program *prog, struct Code *code)
{
	struct Link l = {.funcs = xcalloc(rt_nfuncs, sizeof(*l.funcs))};
	struct err *e = find_needed(&l, code);
	if (!e)
		append_needed(prog, code, &l);
	vec_deinit(&l.todo);
	free(l.funcs);
	return e;
}
