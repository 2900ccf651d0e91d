// Functions in C that a script imports: objects made elsewhere (import "x.bpf.o"). Input: an ELF file of clang -target bpf -g. Output: its functions by name, with
// the types of their parameters; their code is appended to the programs that call them (cobjlink.c), as the runtime's is.
// What of an object is understood: functions in .text, its variables (each section becomes an array of one element) and maps as libbpf's SEC(".maps") has them. An
// object whose code needs another loader is an error where it is used: fields placed by the kernel's types (CO-RE), names that nobody defines.
// Invariant: the file is not trusted to be well-formed: offsets and counts are checked as elf/ does, and what is damaged is an error with the file's name.
#include "bpf/internal.h"
#include <bpf/btf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TEXT (8u << 20)  // bytes of code
#define MAX_DATA (64u << 20) // ... of a section of variables
#define MAX_TAB (64u << 20)

struct err *cobj_damaged(const struct CObj *o, const char *what)
{
	return err_new("%s: %s", o->path, what);
}

// ---- sections
static struct err *read_table(struct CObj *o, struct ElfFile *f)
{
	const struct ElfSec *tab = elffile_section(f, ".symtab"), *str = tab && tab->link < f->nsecs ? &f->secs[tab->link] : NULL;
	if (!str)
		return cobj_damaged(o, "it has no symbols");
	char *syms = elffile_load(f, tab->off, tab->size, MAX_TAB), *strs = elffile_load(f, str->off, str->size, MAX_TAB);
	if (syms && strs) {
		o->nsyms = (u32)(tab->size / sizeof(Elf64_Sym));
		o->syms = arena_alloc(o->arena, tab->size + 1);
		memcpy(o->syms, syms, o->nsyms * sizeof(*o->syms));
		o->strs = arena_strndup(o->arena, strs, str->size);
		o->nstrs = (u32)str->size;
	}
	free(syms);
	free(strs);
	return o->syms ? NULL : cobj_damaged(o, "its symbols lie outside the file");
}

const char *cobj_symbol_name(const struct CObj *o, const Elf64_Sym *s)
{
	return s->st_name < o->nstrs ? o->strs + s->st_name : "";
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static struct err *read_section(struct CObj *o, struct ElfFile *f, u32 i)
{
	const struct ElfSec *sec = &f->secs[i];
	const char *name = elffile_section_name(f, sec);
	struct CObjSec *out = &o->secs[i];
	out->name = arena_strdup(o->arena, name);
	out->size = sec->size;
	bool data = begins(name, ".rodata") || begins(name, ".data"), zero = begins(name, ".bss");
	if (!strcmp(name, ".text"))
		out->kind = CSEC_TEXT;
	else if (!strcmp(name, ".maps"))
		out->kind = CSEC_MAPS;
	else if ((data || zero) && sec->size)
		out->kind = CSEC_DATA;
	if (out->kind == CSEC_DATA && sec->size > MAX_DATA)
		return cobj_damaged(o, "a section of variables is larger than 64 MiB");
	if (zero || (out->kind != CSEC_TEXT && out->kind != CSEC_DATA))
		return NULL;
	u8 *p = elffile_load(f, sec->off, sec->size, out->kind == CSEC_TEXT ? MAX_TEXT : MAX_DATA);
	if (!p)
		return cobj_damaged(o, "a section lies outside the file, or has over 8 MiB of code");
	out->data = arena_alloc(o->arena, sec->size + 8);
	memcpy(out->data, p, sec->size);
	free(p);
	if (out->kind == CSEC_TEXT)
		o->text = i;
	return NULL;
}

static struct err *read_relocs(struct CObj *o, struct ElfFile *f)
{
	for (u32 i = 0; i < f->nsecs; i++) {
		const struct ElfSec *sec = &f->secs[i];
		if (sec->type != SHT_REL || sec->info != o->text)
			continue;
		void *p = elffile_load(f, sec->off, sec->size, MAX_TAB);
		if (!p)
			return cobj_damaged(o, "its relocations lie outside the file");
		o->nrels = (u32)(sec->size / sizeof(Elf64_Rel));
		o->rels = arena_alloc(o->arena, sec->size + 1);
		memcpy(o->rels, p, o->nrels * sizeof(*o->rels));
		free(p);
	}
	return NULL;
}

static struct err *read_functions(struct CObj *o)
{
	u64 size = o->secs[o->text].size;
	for (u32 i = 0; i < o->nsyms; i++) {
		const Elf64_Sym *s = &o->syms[i];
		if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx != o->text)
			continue;
		if (s->st_value % 8 || s->st_size % 8 || !s->st_size || s->st_value > size || s->st_size > size - s->st_value)
			return cobj_damaged(o, "a function lies outside its section");
		struct CObjFunc fn = {.name = cobj_symbol_name(o, s), .start = (u32)(s->st_value / 8), .n = (u32)(s->st_size / 8),
				      .global = ELF64_ST_BIND(s->st_info) != STB_LOCAL};
		vec_push(&o->funcs, fn);
	}
	return NULL;
}

// ---- types
// What a parameter or result is in a register. False: it is none that a script can give or take.
static bool value_of(const struct btf *btf, u32 id, struct CValue *out)
{
	int plain = id ? btf__resolve_type(btf, id) : 0; // through typedef, const, volatile
	const struct btf_type *t = plain > 0 ? btf__type_by_id(btf, (u32)plain) : NULL;
	*out = (struct CValue){0};
	if (!t || btf_is_void(t))
		return id == 0 || (t && btf_is_void(t)) || plain == 0;
	out->size = (u8)MIN(t->size, 255u);
	if (btf_is_ptr(t))
		*out = (struct CValue){.size = 8, .ptr = true};
	else if (btf_is_int(t))
		out->sgn = btf_int_encoding(t) & BTF_INT_SIGNED;
	else if (btf_kind(t) == BTF_KIND_ENUM || btf_kind(t) == BTF_KIND_ENUM64)
		out->sgn = btf_kflag(t);
	else
		return false;
	return out->size == 1 || out->size == 2 || out->size == 4 || out->size == 8;
}

static void read_proto(struct CObj *o, const struct btf *btf, struct CObjFunc *fn)
{
	int id = btf__find_by_name_kind(btf, fn->name, BTF_KIND_FUNC);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL, *proto = t ? btf__type_by_id(btf, t->type) : NULL;
	if (!proto || !btf_is_func_proto(proto))
		return;
	fn->c.name = fn->name;
	fn->c.nparams = btf_vlen(proto);
	bool good = fn->c.nparams <= ARRAY_LEN(fn->c.params) && value_of(btf, proto->type, &fn->c.result);
	for (u32 i = 0; good && i < fn->c.nparams; i++) // ... and no `...`, which is a parameter of no type
		good = value_of(btf, btf_params(proto)[i].type, &fn->c.params[i]) && fn->c.params[i].size;
	fn->callable = good;
}

static const char *name_at(const struct btf *btf, u32 off)
{
	const char *name = btf__name_by_offset(btf, off);
	return name ? name : "";
}

static u32 array_length(const struct btf *btf, u32 id) // of int (*x)[N]: how libbpf writes numbers into types
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_array(t) ? btf_array(t)->nelems : 0;
}

static u32 pointed_size(const struct btf *btf, u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	s64 n = t && btf_is_ptr(t) ? btf__resolve_size(btf, t->type) : 0;
	return n > 0 && n < 1 << 20 ? (u32)n : 0;
}

// One map of SEC(".maps"): a variable whose struct's members say what it is.
static struct err *read_map(struct CObj *o, const struct btf *btf, const struct btf_type *var)
{
	int id = btf__resolve_type(btf, var->type);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
	struct CObjMap m = {.name = arena_strdup(o->arena, name_at(btf, var->name_off))};
	for (u32 i = 0; t && btf_is_struct(t) && i < btf_vlen(t); i++) {
		const struct btf_member *f = &btf_members(t)[i];
		const char *name = name_at(btf, f->name_off);
		if (!strcmp(name, "type"))
			m.type = array_length(btf, f->type);
		else if (!strcmp(name, "max_entries"))
			m.max_entries = array_length(btf, f->type);
		else if (!strcmp(name, "map_flags"))
			m.flags = array_length(btf, f->type);
		else if (!strcmp(name, "key_size"))
			m.key_size = array_length(btf, f->type);
		else if (!strcmp(name, "value_size"))
			m.value_size = array_length(btf, f->type);
		else if (!strcmp(name, "key"))
			m.key_size = pointed_size(btf, f->type);
		else if (!strcmp(name, "value"))
			m.value_size = pointed_size(btf, f->type);
		else
			return err_new("%s: the map %s has a member '%s', which is not understood here", o->path, m.name, name);
	}
	if (!m.type)
		return err_new("%s: the map %s does not say its type", o->path, m.name);
	vec_push(&o->maps, m);
	return NULL;
}

static struct err *read_maps(struct CObj *o, const struct btf *btf)
{
	struct err *e = NULL;
	int id = btf__find_by_name_kind(btf, ".maps", BTF_KIND_DATASEC);
	const struct btf_type *sec = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
	for (u32 i = 0; !e && sec && i < btf_vlen(sec); i++) {
		const struct btf_type *var = btf__type_by_id(btf, btf_var_secinfos(sec)[i].type);
		if (var && btf_is_var(var))
			e = read_map(o, btf, var);
	}
	return e;
}

// .BTF.ext (linux Documentation/bpf/btf.rst): header; core_relo: size of a record, then for each section its name, how many, records that begin with an
// offset in it. Such an instruction is right only once a loader has put the field's offset into it.
static void mark_core(struct CObj *o, const struct btf *btf, const u8 *p, u64 size)
{
	u32 h[8], rec, at;
	if (size < sizeof(h))
		return;
	memcpy(h, p, sizeof(h)); // magic, hdr_len, func_info off and len, line_info off and len, core_relo off and len
	if (h[1] < sizeof(h) || h[1] > size || h[6] > size - h[1] || h[7] > size - h[1] - h[6] || h[7] < 4)
		return;
	p += h[1] + h[6];
	memcpy(&rec, p, 4);
	for (at = 4; rec >= 4 && rec < 256 && h[7] - at >= 8;) {
		u32 head[2];
		memcpy(head, p + at, 8);
		at += 8;
		const char *sec = name_at(btf, head[0]);
		for (u32 i = 0; i < head[1] && h[7] - at >= rec; i++, at += rec) {
			u32 off;
			memcpy(&off, p + at, 4);
			for (size_t k = 0; !strcmp(sec, ".text") && k < o->funcs.n; k++)
				if (off / 8 >= o->funcs.p[k].start && off / 8 < o->funcs.p[k].start + o->funcs.p[k].n)
					o->funcs.p[k].core = true;
		}
	}
}

static struct err *read_types(struct CObj *o, struct ElfFile *f)
{
	const struct ElfSec *sec = elffile_section(f, ".BTF"), *ext = elffile_section(f, ".BTF.ext");
	u8 *p = sec ? elffile_load(f, sec->off, sec->size, MAX_TAB) : NULL, *q = ext ? elffile_load(f, ext->off, ext->size, MAX_TAB) : NULL;
	struct btf *btf = p ? btf__new(p, (u32)sec->size) : NULL;
	struct err *e = btf ? read_maps(o, btf) : cobj_damaged(o, "it does not say what its functions take: compile it with -g");
	for (size_t i = 0; !e && i < o->funcs.n; i++)
		read_proto(o, btf, &o->funcs.p[i]);
	if (!e && q)
		mark_core(o, btf, q, ext->size);
	btf__free(btf);
	free(p);
	free(q);
	return e;
}

static struct err *read_object(struct CObj *o, struct ElfFile *f)
{
	if (!f->is64 || f->machine != EM_BPF)
		return cobj_damaged(o, "it is no object for BPF: clang -target bpf -O2 -g -c makes one");
	struct err *e = elffile_sections(f);
	if (e)
		return e;
	o->secs = arena_new_n(o->arena, struct CObjSec, f->nsecs + 1);
	o->nsecs = f->nsecs;
	for (u32 i = 0; !e && i < f->nsecs; i++)
		e = read_section(o, f, i);
	if (!e && !o->text)
		e = cobj_damaged(o, "it has no functions in .text (those with a SEC() are programs of their own)");
	if (!e)
		e = read_table(o, f);
	if (!e)
		e = read_relocs(o, f);
	if (!e)
		e = read_functions(o);
	return e ? e : read_types(o, f);
}

struct err *cobj_open(struct Arena *a, const char *path, int fd, struct CObj **out)
{
	struct CObj *o = arena_new(a, struct CObj);
	struct stat st;
	struct ElfFile f;
	*out = o;
	o->arena = a;
	o->path = arena_strdup(a, path);
	if (fstat(fd, &st))
		return err_errno(errno, "%s", path);
	struct err *e = elffile_open(&f, fd, NULL, (u64)st.st_size);
	if (e) {
		err_free(e);
		return cobj_damaged(o, "it is no object for BPF: clang -target bpf -O2 -g -c makes one");
	}
	e = read_object(o, &f);
	elffile_close(&f);
	return e;
}

void cobj_deinit(struct CObj *o)
{
	vec_deinit(&o->funcs);
	vec_deinit(&o->maps);
}

const struct CFunc *cobj_function(struct CObj *const *objs, u32 n, const char *name, const char **why)
{
	*why = NULL;
	for (u32 i = 0; i < n; i++)
		for (size_t k = 0; k < objs[i]->funcs.n; k++) {
			const struct CObjFunc *fn = &objs[i]->funcs.p[k];
			if (!fn->global || strcmp(fn->name, name))
				continue;
			if (!fn->callable)
				*why = "takes or returns what is neither a number nor a pointer, or more than 5 arguments";
			return fn->callable ? &fn->c : NULL;
		}
	return NULL;
}
