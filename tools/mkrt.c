// mkrt INSNS LINES OBJECT...: the runtime objects -> one C table, when sonde is built.
// Input: build/bpfrt/*.bpf.o (ELF64 from clang -target bpf -g, our own sources); output for src/bpf/rttab.c: the functions' instructions as they are
// (8 bytes each) into the file of the first argument, their lines into that of the second (struct RtLine, the difference from the one before),
// build/gen/rt_tab.h on stdout.
// Invariant: everything a function needs is resolved here by index (other functions, maps, bytes of the read-only data), so that
// sonde parses nothing when it runs. Anything link.c could not honour stops the build with a message.
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/btf.h>

#ifndef EM_BPF
#define EM_BPF 247
#endif
enum { R_BPF_64_64_ = 1, R_BPF_64_32_ = 10, MAP_WORDS = 10 };

static void die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("mkrt: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static void *grow(void *p, size_t n, size_t size)
{
	if (n & (n - 1) && n) // capacity is the next power of two
		return p;
	p = realloc(p, (n ? n * 2 : 1) * size);
	if (!p)
		die("out of memory");
	return p;
}
#define PUSH(arr, n, ...) ((arr) = grow((arr), (n), sizeof(*(arr))), (arr)[(n)++] = __VA_ARGS__)

struct Obj {
	const char *path, *file; // file: "str.bpf.c"
	unsigned char *data;
	size_t size;
	Elf64_Ehdr *eh;
	Elf64_Shdr *sh;
	Elf64_Sym *syms;
	size_t nsyms;
	const char *strs;
	int text;	  // section index, 0 none
	long *ro_off;	  // section index -> offset in the merged read-only data, -1
};
struct Fn {
	const char *name;
	int obj;
	uint64_t start, size; // bytes in its object's .text
	bool global;
	unsigned nparams;
	unsigned points[5]; // of a parameter that points to a struct, that one's bytes; else 0
};
struct MapDef {
	const char *name;
	uint32_t w[MAP_WORDS];
};
struct Const {
	const char *name;
	size_t off, size;
};

static struct Obj *objs;
static struct Fn *fns;
static struct MapDef *maps;
static struct Const *consts;
static unsigned char *ro;
static size_t nobjs, nfns, nmaps, nconsts, nro;

static const char *sym_name(const struct Obj *o, const Elf64_Sym *s) { return o->strs + s->st_name; }
static const char *sec_name(const struct Obj *o, int i)
{
	return (const char *)o->data + o->sh[o->eh->e_shstrndx].sh_offset + o->sh[i].sh_name;
}
static bool begins(const char *s, const char *prefix) { return !strncmp(s, prefix, strlen(prefix)); }

static int find_section(const struct Obj *o, const char *name)
{
	for (int i = 1; i < o->eh->e_shnum; i++)
		if (!strcmp(sec_name(o, i), name))
			return i;
	return 0;
}

static void open_obj(const char *path)
{
	struct Obj o = {.path = path};
	const char *slash = strrchr(path, '/');
	char *file = strdup(slash ? slash + 1 : path);
	if (strlen(file) < 2 || strcmp(file + strlen(file) - 2, ".o"))
		die("%s: not an object", path);
	file[strlen(file) - 1] = 'c';
	o.file = file;
	FILE *f = fopen(path, "rb");
	if (!f)
		die("%s: %s", path, strerror(errno));
	fseek(f, 0, SEEK_END);
	o.size = (size_t)ftell(f);
	rewind(f);
	o.data = malloc(o.size + 1);
	if (!o.data || fread(o.data, 1, o.size, f) != o.size)
		die("%s: cannot read", path);
	fclose(f);
	o.eh = (Elf64_Ehdr *)o.data;
	if (o.size < sizeof(*o.eh) || memcmp(o.eh->e_ident, ELFMAG, SELFMAG) || o.eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    o.eh->e_machine != EM_BPF)
		die("%s: not a BPF object", path);
	o.sh = (Elf64_Shdr *)(o.data + o.eh->e_shoff);
	o.text = find_section(&o, ".text");
	int st = find_section(&o, ".symtab");
	if (!st)
		die("%s: no symbols", path);
	o.syms = (Elf64_Sym *)(o.data + o.sh[st].sh_offset);
	o.nsyms = o.sh[st].sh_size / sizeof(Elf64_Sym);
	o.strs = (const char *)o.data + o.sh[o.sh[st].sh_link].sh_offset;
	PUSH(objs, nobjs, o);
}

// Sections: what is allowed, and the read-only data merged.
static void scan_sections(struct Obj *o)
{
	o->ro_off = malloc(sizeof(long) * o->eh->e_shnum);
	for (int i = 0; i < o->eh->e_shnum; i++) {
		const char *name = sec_name(o, i);
		const Elf64_Shdr *s = &o->sh[i];
		o->ro_off[i] = -1;
		if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size || i == o->text || !strcmp(name, "sonde_maps")) {
			if (begins(name, ".rel.rodata"))
				die("%s: pointers in read-only data (%s): write a switch as a chain of ifs", o->path, name);
			continue;
		}
		if (begins(name, ".BTF"))
			continue;
		if (!begins(name, ".rodata"))
			die("%s: section %s: variables must be RT_MAP, RT_CONST or static const", o->path, name);
		nro = (nro + 7) & ~(size_t)7;
		o->ro_off[i] = (long)nro;
		ro = realloc(ro, nro + s->sh_size + 8);
		memset(ro + nro, 0, s->sh_size + 8);
		memcpy(ro + nro, o->data + s->sh_offset, s->sh_size);
		nro += s->sh_size;
	}
}

static void scan_symbols(int oi)
{
	struct Obj *o = &objs[oi];
	for (size_t i = 0; i < o->nsyms; i++) {
		const Elf64_Sym *s = &o->syms[i];
		const char *name = sym_name(o, s);
		int type = ELF64_ST_TYPE(s->st_info);
		bool global = ELF64_ST_BIND(s->st_info) != STB_LOCAL;
		if (s->st_shndx == SHN_UNDEF || s->st_shndx >= SHN_LORESERVE)
			continue;
		if (type == STT_FUNC) {
			if (s->st_shndx != o->text)
				die("%s: %s: functions must be in .text", o->path, name);
			PUSH(fns, nfns, (struct Fn){name, oi, s->st_value, s->st_size, global, 0, {0}});
		} else if (type == STT_OBJECT && !strcmp(sec_name(o, s->st_shndx), "sonde_maps")) {
			struct MapDef m = {.name = name};
			if (s->st_size != sizeof(m.w))
				die("%s: %s: not made by RT_MAP", o->path, name);
			memcpy(m.w, o->data + o->sh[s->st_shndx].sh_offset + s->st_value, sizeof(m.w));
			for (size_t k = 0; k < nmaps; k++)
				if (!strcmp(maps[k].name, name))
					die("%s: map %s is defined twice", o->path, name);
			PUSH(maps, nmaps, m);
		} else if (type == STT_OBJECT && !strcmp(sec_name(o, s->st_shndx), ".rodata.const")) {
			for (size_t k = 0; k < nconsts; k++)
				if (!strcmp(consts[k].name, name))
					die("%s: constant %s is defined twice", o->path, name);
			PUSH(consts, nconsts, (struct Const){name, (size_t)o->ro_off[s->st_shndx] + s->st_value, s->st_size});
		}
	}
}

static int fn_at(int oi, uint64_t off)
{
	for (size_t i = 0; i < nfns; i++)
		if (fns[i].obj == oi && fns[i].start == off)
			return (int)i;
	die("%s: no function at .text+%llu", objs[oi].path, (unsigned long long)off);
	return -1;
}

static int fn_by_name(const char *name)
{
	for (size_t i = 0; i < nfns; i++)
		if (fns[i].global && !strcmp(fns[i].name, name))
			return (int)i;
	return -1;
}

// ---- parameters, from the object's BTF

static size_t btf_extra(const struct btf_type *t)
{
	unsigned vlen = BTF_INFO_VLEN(t->info);
	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT: case BTF_KIND_VAR: case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT: case BTF_KIND_UNION:
		return vlen * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return vlen * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64: case BTF_KIND_DATASEC:
		return vlen * 12;
	case BTF_KIND_FUNC_PROTO:
		return vlen * sizeof(struct btf_param);
	default:
		return 0;
	}
}

// Bytes of the struct that a parameter of this type points to; 0: it is a number.
static unsigned points_to(const struct btf_type **types, unsigned id, const char *fn)
{
	bool pointer = false;
	for (;; id = types[id]->type)
		switch (id ? BTF_INFO_KIND(types[id]->info) : BTF_KIND_UNKN) {
		case BTF_KIND_TYPEDEF: case BTF_KIND_CONST: case BTF_KIND_VOLATILE:
			break;
		case BTF_KIND_PTR:
			if (pointer)
				die("%s: a parameter points to a pointer", fn);
			pointer = true;
			break;
		case BTF_KIND_STRUCT:
			return types[id]->size;
		default:
			if (pointer)
				die("%s: a parameter points to what is no struct", fn);
			return 0;
		}
}

static void scan_params(struct Fn *f, const struct btf_type **types, const struct btf_type *proto)
{
	const struct btf_param *p = (const void *)(proto + 1);
	f->nparams = BTF_INFO_VLEN(proto->info);
	if (!f->global || (!begins(f->name, "rtp_") && !begins(f->name, "rtg_")))
		return;
	if (f->nparams > 5)
		die("%s has more than 5 parameters", f->name);
	for (unsigned i = 0; i < f->nparams; i++)
		if ((f->points[i] = points_to(types, p[i].type, f->name)) > UINT16_MAX)
			die("%s: a parameter points to more than 65535 bytes", f->name);
}

static bool gives_pointers(const struct Fn *f)
{
	return f->points[0] | f->points[1] | f->points[2] | f->points[3] | f->points[4];
}

static void scan_btf(int oi)
{
	const struct Obj *o = &objs[oi];
	int si = find_section(o, ".BTF");
	if (!si && (!o->text || !o->sh[o->text].sh_size)) // of another machine only
		return;
	if (!si)
		die("%s: no BTF: compile with -g", o->path);
	const unsigned char *base = o->data + o->sh[si].sh_offset;
	const struct btf_header *h = (const void *)base;
	const unsigned char *p = base + h->hdr_len + h->type_off, *end = p + h->type_len;
	const char *strs = (const char *)base + h->hdr_len + h->str_off;
	const struct btf_type **types = NULL;
	size_t n = 0;
	PUSH(types, n, NULL); // ids count from 1
	while (p < end) {
		const struct btf_type *t = (const void *)p;
		PUSH(types, n, t);
		p += sizeof(*t) + btf_extra(t);
	}
	for (size_t i = 1; i < n; i++) {
		if (BTF_INFO_KIND(types[i]->info) != BTF_KIND_FUNC)
			continue;
		for (size_t k = 0; k < nfns; k++)
			if (fns[k].obj == oi && !strcmp(fns[k].name, strs + types[i]->name_off))
				scan_params(&fns[k], types, types[types[i]->type]);
	}
	free(types);
}

// ---- output

enum Kind { RTK_CALL, RTK_CALLBACK, RTK_MAP, RTK_RODATA }; // as in src/bpf/internal.h

static size_t nrelocs_out;
static void out_reloc(unsigned insn, enum Kind kind, int target, long addend)
{
	printf("\t{%u, %d, %d, %ld},\n", insn, kind, target, addend);
	nrelocs_out++;
}

static const Elf64_Sym *reloc_at(const struct Obj *o, uint64_t off, unsigned *type)
{
	int ri = find_section(o, ".rel.text");
	if (!ri)
		return NULL;
	const Elf64_Rel *r = (const void *)(o->data + o->sh[ri].sh_offset);
	for (size_t i = 0; i < o->sh[ri].sh_size / sizeof(*r); i++)
		if (r[i].r_offset == off) {
			*type = ELF64_R_TYPE(r[i].r_info);
			return &o->syms[ELF64_R_SYM(r[i].r_info)];
		}
	return NULL;
}

// A 16-byte load whose address the object leaves open.
static void load_reloc(int oi, const struct Fn *f, unsigned insn, const Elf64_Sym *s, int32_t imm)
{
	const struct Obj *o = &objs[oi];
	const char *name = sym_name(o, s);
	if (s->st_shndx == SHN_UNDEF) {
		for (size_t k = 0; k < nmaps; k++)
			if (!strcmp(maps[k].name, name)) {
				out_reloc(insn, RTK_MAP, (int)k, 0);
				return;
			}
		for (size_t k = 0; k < nconsts; k++)
			if (!strcmp(consts[k].name, name)) {
				out_reloc(insn, RTK_RODATA, 0, (long)consts[k].off + imm);
				return;
			}
		int k = fn_by_name(name);
		if (k < 0)
			die("%s: %s refers to %s, which no runtime file defines", o->path, f->name, name);
		out_reloc(insn, RTK_CALLBACK, k, 0);
	} else if (s->st_shndx == o->text) {
		out_reloc(insn, RTK_CALLBACK, fn_at(oi, s->st_value + (uint64_t)imm), 0);
	} else if (!strcmp(sec_name(o, s->st_shndx), "sonde_maps")) {
		for (size_t k = 0; k < nmaps; k++)
			if (ELF64_ST_TYPE(s->st_info) == STT_OBJECT && !strcmp(maps[k].name, name)) {
				out_reloc(insn, RTK_MAP, (int)k, 0);
				return;
			}
		die("%s: %s: a map must be referred to by name", o->path, f->name);
	} else if (o->ro_off[s->st_shndx] >= 0) {
		out_reloc(insn, RTK_RODATA, 0, o->ro_off[s->st_shndx] + (long)s->st_value + imm);
	} else {
		die("%s: %s refers to section %s", o->path, f->name, sec_name(o, s->st_shndx));
	}
}

static void out_relocs(const struct Fn *f)
{
	const struct Obj *o = &objs[f->obj];
	const struct bpf_insn *in = (const void *)(o->data + o->sh[o->text].sh_offset + f->start);
	for (unsigned i = 0; i < f->size / 8; i++) {
		unsigned type = 0;
		const Elf64_Sym *s = reloc_at(o, f->start + i * 8, &type);
		if (in[i].code == (BPF_JMP | BPF_CALL) && in[i].src_reg == BPF_PSEUDO_CALL) {
			int target;
			if (s && s->st_shndx == SHN_UNDEF) {
				target = fn_by_name(sym_name(o, s));
				if (target < 0)
					die("%s: %s calls %s, which no runtime file defines", o->path, f->name, sym_name(o, s));
			} else {
				long long from = s ? (long long)s->st_value / 8 - 1 : (long long)(f->start / 8 + i);
				target = fn_at(f->obj, (uint64_t)(s ? from + 1 + in[i].imm + 1 : from + in[i].imm + 1) * 8);
			}
			out_reloc(i, RTK_CALL, target, 0);
		} else if (s && in[i].code == (BPF_LD | BPF_IMM | BPF_DW) && type == R_BPF_64_64_) {
			load_reloc(f->obj, f, i, s, in[i].imm);
		} else if (s) {
			die("%s: %s: relocation of type %u at instruction %u is not understood", o->path, f->name, type, i);
		}
		if (in[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
}

// Lines of .text from .BTF.ext (linux Documentation/bpf/btf.rst): header, then per section {name, count, records}.
static size_t out_lines(const struct Fn *f, FILE *to)
{
	const struct Obj *o = &objs[f->obj];
	int si = find_section(o, ".BTF.ext");
	if (!si)
		return 0;
	const unsigned char *base = o->data + o->sh[si].sh_offset;
	const uint32_t *h = (const void *)base; // magic/version/flags, hdr_len, func_info off/len, line_info off/len
	const uint32_t *li = (const void *)(base + h[1] + h[4]);
	uint32_t len = h[5], rec = li[0], pos = 4;
	size_t count = 0;
	uint16_t last[2] = {0}; // instruction, line
	while (pos + 8 <= len) {
		const uint32_t *sec = (const void *)((const unsigned char *)li + pos);
		for (uint32_t k = 0; k < sec[1]; k++) {
			const uint32_t *r = (const void *)((const unsigned char *)(sec + 2) + k * rec);
			if (r[0] >= f->start && r[0] < f->start + f->size) {
				uint16_t now[2] = {(uint16_t)((r[0] - f->start) / 8), (uint16_t)(r[3] >> 10)};
				uint16_t more[2] = {(uint16_t)(now[0] - last[0]), (uint16_t)(now[1] - last[1])};
				fwrite(more, 1, sizeof(more), to);
				memcpy(last, now, sizeof(now));
				count++;
			}
		}
		pos += 8 + sec[1] * rec;
	}
	return count;
}

int main(int argc, char **argv)
{
	for (int i = 3; i < argc; i++)
		open_obj(argv[i]);
	for (size_t i = 0; i < nobjs; i++)
		scan_sections(&objs[i]);
	for (size_t i = 0; i < nobjs; i++)
		scan_symbols((int)i);
	for (size_t i = 0; i < nobjs; i++)
		scan_btf((int)i);
	for (size_t i = 0; i < nfns; i++)
		if (fns[i].global && fn_by_name(fns[i].name) != (int)i)
			die("%s: another file has a function %s, too", objs[fns[i].obj].path, fns[i].name);

	size_t *reloc0 = calloc(nfns + 1, sizeof(size_t)), *line0 = calloc(nfns + 1, sizeof(size_t));
	size_t *insn0 = calloc(nfns + 1, sizeof(size_t));
	FILE *insns = fopen(argv[1], "w"), *lines = fopen(argv[2], "w");
	if (!insns || !lines)
		die("cannot write %s", argv[insns ? 2 : 1]);
	for (size_t i = 0; i < nfns; i++) {
		const struct Obj *o = &objs[fns[i].obj];
		const uint8_t *p = o->data + o->sh[o->text].sh_offset + fns[i].start;
		insn0[i + 1] = insn0[i] + fns[i].size / 8;
		fwrite(p, 1, fns[i].size, insns);
		line0[i + 1] = line0[i] + out_lines(&fns[i], lines);
	}
	if (fclose(insns) || fclose(lines))
		die("cannot write %s or %s", argv[1], argv[2]);
	printf("// Made by tools/mkrt.c from src/bpfrt/*.bpf.c.\nconst struct RtReloc rt_relocs[] = {\n");
	for (size_t i = 0; i < nfns; i++) {
		out_relocs(&fns[i]);
		reloc0[i + 1] = nrelocs_out;
	}
	printf("\t{0}\n};\nconst struct RtFunc rt_funcs[] = {\n");
	unsigned npoints = 0;
	for (size_t i = 0; i < nfns; i++)
		printf("\t{\"%s\", \"%s\", %u, %d, %u, %zu, %zu, %zu, %zu, %zu, %zu},\n", fns[i].name, objs[fns[i].obj].file, fns[i].nparams,
		       fns[i].global, gives_pointers(&fns[i]) ? ++npoints : 0, insn0[i], insn0[i + 1] - insn0[i], reloc0[i], reloc0[i + 1] - reloc0[i], line0[i], line0[i + 1] - line0[i]);
	if (npoints > UINT8_MAX)
		die("more than 255 functions are given pointers");
	printf("\t{0}\n};\nconst u16 rt_points[][5] = {\n\t{0},\n");
	for (size_t i = 0; i < nfns; i++)
		if (gives_pointers(&fns[i]))
			printf("\t{%u, %u, %u, %u, %u},\n", fns[i].points[0], fns[i].points[1], fns[i].points[2], fns[i].points[3], fns[i].points[4]);
	printf("};\nconst struct RtMapEntry rt_maps[] = {\n");
	for (size_t i = 0; i < nmaps; i++) {
		printf("\t{\"%s\", {", maps[i].name);
		for (int k = 0; k < MAP_WORDS; k++)
			printf("%u,%s", maps[i].w[k], k == MAP_WORDS - 1 ? "}},\n" : " ");
	}
	printf("\t{0}\n};\nconst struct RtConstEntry rt_consts[] = {\n");
	for (size_t i = 0; i < nconsts; i++)
		printf("\t{\"%s\", %zu, %zu},\n", consts[i].name, consts[i].off, consts[i].size);
	printf("\t{0}\n};\nconst u8 rt_rodata[] = {");
	for (size_t i = 0; i < nro; i++)
		printf("%s%u,", i % 32 ? "" : "\n\t", ro[i]);
	printf("\n\t0\n};\nconst u32 rt_nfuncs = %zu, rt_nconsts = %zu, rt_rodata_size = %zu;\n", nfns, nconsts, nro);
	return 0;
}
