// Functions of imported objects (cobj.c) linked into a program. Input: code with REL_RT relocations of names that begin with RT_IMPORTED. Output: the same code with
// those functions, and those that they call, appended; their maps and variables in prog->maps.
// Invariant: each function is appended once; existing instruction indexes do not change. What cannot be linked is an error that names it.
#include "bpf/internal.h"
#include <elf.h>
#include <linux/bpf.h>

#define NO_PLACE UINT32_MAX
#define R_BPF_64_64_ 1

struct Linked { // a function in this program
	struct CObj *obj;
	u32 func, at; // at: its first instruction there, NO_PLACE: not yet
	bool callback;
};
struct CLink {
	struct Program *prog;
	struct Code *code;
	VEC(struct Linked) v;
};

// Its number in l->v.
static u32 need(struct CLink *l, struct CObj *o, u32 func, bool callback)
{
	for (size_t i = 0; i < l->v.n; i++)
		if (l->v.p[i].obj == o && l->v.p[i].func == func) {
			l->v.p[i].callback |= callback;
			return (u32)i;
		}
	struct Linked new = {o, func, NO_PLACE, callback};
	vec_push(&l->v, new);
	return (u32)l->v.n - 1;
}

static bool find_at(const struct CObj *o, s64 insn, u32 *func)
{
	for (size_t i = 0; i < o->funcs.n; i++)
		if (o->funcs.p[i].start == insn) {
			*func = (u32)i;
			return true;
		}
	return false;
}

static bool find_global(const struct Program *p, const char *name, struct CObj **obj, u32 *func)
{
	for (size_t i = 0; i < p->objects.n; i++)
		for (size_t k = 0; k < p->objects.p[i]->funcs.n; k++)
			if (p->objects.p[i]->funcs.p[k].global && !strcmp(p->objects.p[i]->funcs.p[k].name, name)) {
				*obj = p->objects.p[i];
				*func = (u32)k;
				return true;
			}
	return false;
}

// ---- maps
static u32 add_map(struct Program *prog, const char *name, u32 type, u32 key, u32 value, u32 max, u32 flags)
{
	struct MapDef *m = arena_new(prog->arena, struct MapDef);
	*m = (struct MapDef){.id = (u32)prog->maps.n, .name = name, .bpf_type = type, .key_size = key, .value_size = value, .max_entries = max, .flags = flags, .fd = -1};
	vec_push(&prog->maps, m);
	return m->id;
}

static u32 map_of(struct Program *prog, struct CObj *o, struct CObjMap *m)
{
	if (!m->made)
		m->id = add_map(prog, arena_printf(prog->arena, "c_%s", m->name), m->type, m->key_size, m->value_size, m->max_entries, m->flags);
	m->made = true;
	return m->id;
}

static u32 variables_of(struct Program *prog, struct CObjSec *s)
{
	if (!s->made) {
		u32 flags = strncmp(s->name, ".rodata", 7) ? 0 : BPF_F_RDONLY_PROG;
		s->id = add_map(prog, arena_printf(prog->arena, "c_%s", s->name + 1), BPF_MAP_TYPE_ARRAY, 4, (u32)ALIGN_UP(s->size, 8ull), 1, flags);
		prog->maps.p[s->id]->init = s->data;
	}
	s->made = true;
	return s->id;
}

// ---- one function
static const Elf64_Sym *symbol_at(const struct CObj *o, u32 insn, u32 *type)
{
	for (u32 i = 0; i < o->nrels; i++)
		if (o->rels[i].r_offset == (u64)insn * 8) {
			u32 sym = (u32)ELF64_R_SYM(o->rels[i].r_info);
			*type = (u32)ELF64_R_TYPE(o->rels[i].r_info);
			return sym < o->nsyms ? &o->syms[sym] : NULL;
		}
	return NULL;
}

static struct err *unknown(const struct CObj *o, const struct CObjFunc *fn, const char *name)
{
	return err_new("%s: %s() uses %s, which no imported object defines", o->path, fn->name, *name ? name : "what");
}

// The function that a call or a load of an address means.
static struct err *callee(struct CLink *l, struct CObj *o, const struct CObjFunc *fn, const Elf64_Sym *s, s64 insn, bool callback, u32 *out)
{
	struct CObj *obj = o;
	u32 func;
	if (s && s->st_shndx == SHN_UNDEF ? !find_global(l->prog, cobj_symbol_name(o, s), &obj, &func) : !find_at(o, insn, &func))
		return unknown(o, fn, s ? cobj_symbol_name(o, s) : "");
	*out = need(l, obj, func, callback);
	return NULL;
}

static struct err *load_address(struct CLink *l, struct CObj *o, const struct CObjFunc *fn, const Elf64_Sym *s, u32 at, struct BpfInsn *in, u32 *callee_nr)
{
	struct Reloc r = {.insn = at};
	*callee_nr = NO_PLACE;
	if (s->st_shndx == o->text)
		return callee(l, o, fn, s, ((s64)s->st_value + in->imm) / 8, true, callee_nr);
	if (s->st_shndx == SHN_UNDEF && find_global(l->prog, cobj_symbol_name(o, s), &(struct CObj *){NULL}, &(u32){0}))
		return callee(l, o, fn, s, 0, true, callee_nr);
	struct CObjSec *sec = s->st_shndx < o->nsecs ? &o->secs[s->st_shndx] : NULL;
	if (sec && sec->kind == CSEC_MAPS) {
		for (size_t i = 0; i < o->maps.n; i++)
			if (!strcmp(o->maps.p[i].name, cobj_symbol_name(o, s))) {
				r.kind = REL_MAPFD;
				r.id = map_of(l->prog, o, &o->maps.p[i]);
				vec_push(&l->code->relocs, r);
				return NULL;
			}
		return unknown(o, fn, cobj_symbol_name(o, s));
	}
	if (!sec || sec->kind != CSEC_DATA)
		return unknown(o, fn, cobj_symbol_name(o, s));
	r.kind = REL_MAPVAL;
	r.id = variables_of(l->prog, sec);
	r.addend = (s64)s->st_value + in->imm;
	if (r.addend < 0 || (u64)r.addend >= sec->size)
		return cobj_damaged(o, "a variable lies outside its section");
	vec_push(&l->code->relocs, r);
	return NULL;
}

// Puts the function's code behind what there is. Its calls are pointed to their functions once all have a place: fixups.
struct Fixup {
	u32 insn, callee;
};
typedef VEC(struct Fixup) Fixups;

static struct err *append(struct CLink *l, u32 nr, Fixups *fix)
{
	struct Linked *im = &l->v.p[nr];
	struct CObj *o = im->obj;
	const struct CObjFunc *fn = &o->funcs.p[im->func];
	const u8 *text = o->secs[o->text].data;
	struct err *e = NULL;

	im->at = (u32)l->code->insns.n;
	if (fn->core)
		return err_new("%s: %s() finds fields by the kernel's types (CO-RE), which is not done here: read them in the script and pass their values", o->path, fn->name);
	for (u32 i = 0; i < fn->n; i++) {
		struct BpfInsn in;
		memcpy(&in, text + (u64)(fn->start + i) * 8, sizeof(in));
		vec_push(&l->code->insns, in);
	}
	for (u32 i = 0; !e && i < fn->n; i++) {
		u32 at = im->at + i, type = 0, to = NO_PLACE;
		struct BpfInsn in = l->code->insns.p[at];
		const Elf64_Sym *s = symbol_at(o, fn->start + i, &type);
		bool wide = in.code == (BPF_LD | BPF_IMM | BPF_DW);
		if (in.code == (BPF_JMP | BPF_CALL) && in.regs >> 4 == BPF_PSEUDO_CALL)
			e = callee(l, o, fn, s, (s ? (s64)s->st_value / 8 : (s64)fn->start + i) + in.imm + 1, false, &to);
		else if (s && wide && type == R_BPF_64_64_)
			e = load_address(l, o, fn, s, at, &in, &to);
		else if (s)
			e = unknown(o, fn, cobj_symbol_name(o, s));
		im = &l->v.p[nr]; // callee() may have moved it
		if (to != NO_PLACE)
			vec_push(fix, ((struct Fixup){at, to}));
		i += wide;
	}
	struct CodeFunc cf = {im->at, fn->name, fn->c.nparams, im->callback, NULL};
	vec_push(&l->code->funcs, cf);
	return e;
}

// Names of functions in a program's BTF are looked for among the runtime's too; rtg_* are global there. An imported one is neither.
static struct err *find_called(struct CLink *l, Fixups *fix)
{
	size_t kept = 0;
	struct Code *c = l->code;
	struct err *e = NULL;
	for (size_t i = 0; i < c->relocs.n; i++) {
		struct Reloc r = c->relocs.p[i];
		struct CObj *o;
		u32 func;
		if (r.kind != REL_RT || strncmp(r.name, RT_IMPORTED, strlen(RT_IMPORTED))) {
			c->relocs.p[kept++] = r;
			continue;
		}
		if (!find_global(l->prog, r.name + strlen(RT_IMPORTED), &o, &func))
			e = e ? e : err_new("no imported object has a function %s", r.name + strlen(RT_IMPORTED));
		else
			vec_push(fix, ((struct Fixup){r.insn, need(l, o, func, false)}));
	}
	c->relocs.n = kept;
	return e;
}

struct err *link_imports(struct Program *prog, struct Code *code)
{
	struct CLink l = {.prog = prog, .code = code};
	Fixups fix = {0};
	if (!prog->objects.n)
		return NULL;
	struct err *e = find_called(&l, &fix);
	for (u32 i = 0; !e && i < l.v.n; i++) // l.v grows
		e = append(&l, i, &fix);
	for (size_t i = 0; !e && i < code->funcs.n; i++)
		for (size_t k = 0; k < l.v.n; k++)
			if (code->funcs.p[i].insn == l.v.p[k].at)
				code->funcs.p[i].is_callback = l.v.p[k].callback; // told by a later function
	for (size_t i = 0; !e && i < fix.n; i++)
		link_point_to(code, fix.p[i].insn, l.v.p[fix.p[i].callee].at);
	vec_deinit(&l.v);
	vec_deinit(&fix);
	return e;
}
