// PLT stubs by name. Input: .plt, .plt.sec, .plt.got and the relocations of the slots they jump through. Output: "foo@plt" for each stub.
// The stubs are decoded rather than counted: linkers differ in headers, order and stub size (lazy, IBT, BND, -z now, BTI), but each
// stub loads its target from one slot of the GOT, and the slot has a relocation with the name.
#include <elf.h>
#include "sym/internal.h"
#ifndef R_AARCH64_IRELATIVE // musl's elf.h ends before it
#define R_AARCH64_IRELATIVE 1032
#endif

#define MAX_PLT (16u << 20) // bytes of a section
#define MAX_RELOCS (16u << 20)
#define MAX_NAMES_READ (1u << 20)

struct Slot {
	u64 addr, addend;
	u32 sym;
};

struct Plt {
	struct ElfFile *f;
	VEC(struct Slot) slots; // by addr
	u32 nlazy;		// .rela.plt in its own order, for stubs that push their index
	struct Slot *lazy;
	const struct ElfSec *dynsym;
	u8 *syms;    // its contents; NULL: not read yet, or too large
	char *names; // ... and its strings'
	bool tried;
	u64 got; // i386: what position-independent stubs' slots are relative to (_GLOBAL_OFFSET_TABLE_), in %ebx
	VEC(struct PltStub) out;
};

static int by_addr(const void *a, const void *b)
{
	const struct Slot *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool wanted(u16 machine, u32 type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_IRELATIVE;
	case EM_386:
		return type == R_386_JMP_SLOT || type == R_386_GLOB_DAT;
	case EM_AARCH64:
		return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_IRELATIVE;
	default:
		return false;
	}
}

static u64 reloc_at(const struct ElfFile *f, const u8 *raw, u32 size, struct Slot *s)
{
	if (f->is64) { // Rela begins as Rel does
		Elf64_Rela r = {0};
		memcpy(&r, raw, size);
		*s = (struct Slot){r.r_offset, r.r_addend, ELF64_R_SYM(r.r_info)};
		return ELF64_R_TYPE(r.r_info);
	}
	Elf32_Rela r = {0};
	memcpy(&r, raw, size);
	*s = (struct Slot){r.r_offset, (u32)r.r_addend, ELF32_R_SYM(r.r_info)};
	return ELF32_R_TYPE(r.r_info);
}

static void read_relocs(struct Plt *p, const struct ElfSec *sec, bool lazy)
{
	struct ElfFile *f = p->f;
	bool rela = sec->type == SHT_RELA;
	u32 esz = f->is64 ? (rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel)) : (rela ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel));
	if (sec->off > f->size || sec->size > f->size - sec->off || sec->size / esz > MAX_RELOCS)
		return;
	u32 n = sec->size / esz, chunk = MIN(n, 4096u);
	if (lazy) {
		p->lazy = xcalloc(n + 1, sizeof(*p->lazy));
		p->nlazy = n;
	}
	u8 *buf = xmalloc((size_t)chunk * esz + 1); // .rela.dyn may be many megabytes
	for (u32 at = 0, have; at < n; at += have) {
		have = MIN(chunk, n - at);
		if (!elffile_read(f, sec->off + (u64)at * esz, buf, (u64)have * esz))
			break;
		for (u32 i = 0; i < have; i++) {
			struct Slot s;
			if (!wanted(f->machine, reloc_at(f, buf + (size_t)i * esz, esz, &s)))
				continue;
			if (lazy)
				p->lazy[at + i] = s;
			vec_push(&p->slots, s);
		}
	}
	free(buf);
}

static const struct Slot *slot_at(const struct Plt *p, u64 addr)
{
	struct Slot key = {addr, 0, 0};
	return p->slots.n ? bsearch(&key, p->slots.p, p->slots.n, sizeof(key), by_addr) : NULL;
}

// A stub's two reads of the file are as many system calls as a program has imports, so the tables are read whole unless they are large.
static void read_names(struct Plt *p)
{
	const struct ElfSec *tab = p->dynsym;
	p->tried = true;
	if (!tab || tab->link >= p->f->nsecs)
		return;
	const struct ElfSec *str = &p->f->secs[tab->link];
	p->syms = elffile_load(p->f, tab->off, tab->size, MAX_NAMES_READ);
	p->names = p->syms ? elffile_load(p->f, str->off, str->size, MAX_NAMES_READ) : NULL; // ends with a NUL
}

static char *sym_text(struct Plt *p, u32 index)
{
	const struct ElfSec *tab = p->dynsym;
	struct ElfFile *f = p->f;
	u32 esz = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	u32 st_name; // the first field in both classes
	char buf[4096];
	if (!p->tried)
		read_names(p);
	if (!tab || tab->link >= f->nsecs || index >= tab->size / esz)
		return NULL;
	const struct ElfSec *str = &f->secs[tab->link];
	if (p->names) {
		memcpy(&st_name, p->syms + (u64)index * esz, 4);
		const char *name = st_name < str->size ? p->names + st_name : "";
		return *name ? xasprintf("%.*s@plt", (int)sizeof(buf) - 1, name) : NULL;
	}
	if (!elffile_read(f, tab->off + (u64)index * esz, &st_name, 4) || st_name >= str->size)
		return NULL;
	size_t got = elffile_read_some(f, str->off + st_name, buf, MIN(sizeof(buf) - 1, str->size - st_name));
	buf[got] = 0;
	return buf[0] ? xasprintf("%s@plt", buf) : NULL;
}

static void add(struct Plt *p, u64 addr, u32 size, const struct Slot *s)
{
	if (!s)
		return;
	// IRELATIVE has no symbol: the addend is the resolver, named as objdump does.
	char *name = s->sym ? sym_text(p, s->sym) : s->addend ? xasprintf("*ABS*+0x%llx@plt", (unsigned long long)s->addend) : NULL;
	if (name)
		vec_push(&p->out, ((struct PltStub){addr, size, name}));
}

static s32 rel32(const u8 *p)
{
	s32 v;
	memcpy(&v, p, sizeof(v));
	return v;
}

// One stub of x86: [endbr] [bnd] jmp *slot(%rip)  ...  or of lazy IBT: endbr; push $index; [bnd] jmp PLT0. Of i386: jmp *slot or *slot(%ebx), and the
// index counts bytes of its relocations.
static const struct Slot *x86_stub(const struct Plt *p, u64 addr, const u8 *c, size_t n)
{
	bool is32 = p->f->machine == EM_386;
	for (size_t i = 0; i + 6 <= n; i++) {
		if (c[i] == 0xff && c[i + 1] == 0x25) {
			s64 v = rel32(c + i + 2);
			return slot_at(p, p->f->is64 ? addr + i + 6 + v : (u32)v);
		}
		if (is32 && c[i] == 0xff && c[i + 1] == 0xa3)
			return p->got ? slot_at(p, (u32)(p->got + (u64)(s64)rel32(c + i + 2))) : NULL;
		if (is32 && c[i] == 0xff && c[i + 1] == 0xb3) // PLT0
			return NULL;
		if (c[i] == 0x68) {
			u32 index = (u32)rel32(c + i + 1) / (is32 ? sizeof(Elf32_Rel) : 1);
			return index < p->nlazy ? &p->lazy[index] : NULL;
		}
		if (c[i] == 0xff && c[i + 1] == 0x35) // PLT0: push GOT[1]
			return NULL;
	}
	return NULL;
}

static void x86_section(struct Plt *p, const struct ElfSec *sec, const u8 *code)
{
	u32 step = sec->entsize == 8 || sec->entsize == 16 ? sec->entsize : 16;
	if (!strcmp(elffile_section_name(p->f, sec), ".plt.got") && sec->size >= 8)
		step = code[0] == 0xff ? 8 : 16; // old linkers write no entsize
	for (u64 at = 0; at + step <= sec->size; at += step)
		add(p, sec->addr + at, step, x86_stub(p, sec->addr + at, code + at, step));
}

// A64: [bti c] adrp x16, page; ldr x17, [x16, #off]; add x16, ...; br x17
static void a64_section(struct Plt *p, const struct ElfSec *sec, const u8 *code)
{
	for (u64 at = 0; at + 16 <= sec->size; at += 4) {
		u32 i0, i1, before = 0;
		memcpy(&i0, code + at, 4);
		memcpy(&i1, code + at + 4, 4);
		if ((i0 & 0x9f00001f) != 0x90000010 || (i1 & 0xffc003ff) != 0xf9400211)
			continue;
		u64 imm = (i0 >> 29 & 3) | (i0 >> 5 & 0x7ffff) << 2;
		u64 page = ((sec->addr + at) & ~0xfffull) + ((u64)((s64)(imm << 43) >> 43) << 12);
		if (at >= 4)
			memcpy(&before, code + at - 4, 4);
		u32 bti = before == 0xd503245f ? 4 : 0;
		add(p, sec->addr + at - bti, bti ? 24 : 16, slot_at(p, page + ((i1 >> 10 & 0xfff) << 3)));
	}
}

u32 plt_read(struct ElfFile *f, struct PltStub **out)
{
	struct Plt p = {.f = f};
	err_free(elffile_sections(f));
	for (u32 i = 0; i < f->nsecs; i++) {
		const struct ElfSec *s = &f->secs[i];
		const char *name = elffile_section_name(f, s);
		if (s->type == SHT_DYNSYM)
			p.dynsym = s;
		if (!strcmp(name, ".got.plt") || (!strcmp(name, ".got") && !p.got))
			p.got = s->addr;
		if (s->type != SHT_RELA && s->type != SHT_REL)
			continue;
		bool lazy = !strcmp(name, ".rela.plt") || !strcmp(name, ".rel.plt");
		bool dyn = !strcmp(name, ".rela.dyn") || !strcmp(name, ".rel.dyn");
		if ((lazy && !p.lazy) || (dyn && elffile_section(f, ".plt.got"))) // only .plt.got's slots are relocated there
			read_relocs(&p, s, lazy);
	}
	if (p.slots.n)
		qsort(p.slots.p, p.slots.n, sizeof(*p.slots.p), by_addr);
	for (u32 i = 0; p.slots.n && i < f->nsecs; i++) {
		const struct ElfSec *s = &f->secs[i];
		const char *name = elffile_section_name(f, s);
		if (strncmp(name, ".plt", 4) && strcmp(name, ".iplt"))
			continue;
		u8 *code = s->type == SHT_PROGBITS ? elffile_load(f, s->off, s->size, MAX_PLT) : NULL;
		if (code && f->machine == EM_AARCH64)
			a64_section(&p, s, code);
		else if (code && f->machine != EM_RISCV)
			x86_section(&p, s, code);
		free(code);
	}
	vec_deinit(&p.slots);
	free(p.lazy);
	free(p.syms);
	free(p.names);
	*out = p.out.p;
	return p.out.n;
}

u32 start_code(struct ElfFile *f)
{
	u8 code[80];
	u64 off;
	if (!elffile_vaddr_to_off(f, f->entry, &off))
		return 0;
	size_t n = elffile_read_some(f, off, code, sizeof(code));
	if (f->machine == EM_X86_64 || f->machine == EM_386) { // call __libc_start_main (direct, or through the GOT); hlt. sysdeps/{x86_64,i386}/start.S
		u8 got = f->machine == EM_386 ? 0x93 : 0x15; // *slot(%ebx), *slot(%rip)
		for (size_t i = 5; i < n; i++)
			if (code[i] == 0xf4 && (code[i - 5] == 0xe8 || (i >= 6 && code[i - 6] == 0xff && code[i - 5] == got)))
				return (u32)i + 1;
	} else if (f->machine == EM_AARCH64) { // bl __libc_start_main; bl abort. sysdeps/aarch64/start.S
		u32 insn[sizeof(code) / 4];
		memcpy(insn, code, sizeof(code));
		for (size_t i = 1; i < n / 4; i++)
			if (insn[i] >> 26 == 0x25 && insn[i - 1] >> 26 == 0x25)
				return (u32)(i + 1) * 4;
	}
	return 0;
}

bool signal_code(const struct ElfFile *f, u64 off)
{
	static const struct {
		u16 machine;
		u8 n;
		u8 code[9];
	} known[] = {
		{EM_X86_64, 9, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}},	      // mov $15,%rax; syscall
		{EM_386, 7, {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}},			      // mov $173,%eax; int $0x80
		{EM_386, 8, {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}},		      // pop %eax; mov $119,%eax; int $0x80
		{EM_RISCV, 8, {0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00}}, // li a7,139; ecall
		{EM_AARCH64, 8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}}, // mov x8, #139; svc #0
	};
	u8 code[9];
	size_t n = elffile_read_some(f, off, code, sizeof(code));
	for (u32 i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].machine == f->machine && n >= known[i].n && !memcmp(code, known[i].code, known[i].n))
			return true;
	return false;
}
