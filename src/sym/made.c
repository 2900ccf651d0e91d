// Objects of code made at run time: a file of memory that has the code's names. Input: names, lines and places from whoever has made the code (track/jits.c). Output: an
// object as that of any file, whose functions have names and lines (DWARF 4: a unit of its own, whose line program has a sequence for each run of lines) after the code and
// its process have gone. Invariant: the file holds no code, only where it would be.
#include <elf.h>
#include <sys/mman.h>
#include "arch/arch.h"
#include "sym/internal.h"

enum { SEC_NONE, SEC_TEXT, SEC_SYMTAB, SEC_STRTAB, SEC_ABBREV, SEC_INFO, SEC_LINE, NSECS };

struct Image { // a file being made
	Elf64_Ehdr eh;
	Elf64_Phdr text;
	Elf64_Shdr sec[NSECS];
};

// ---- lines
#define FILES_MAX 1024u // of an object; lines of further ones are left out
#define OPCODE_BASE 10
enum { LNS_COPY = 1, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_SET_FILE };
enum { LNE_END = 1, LNE_ADDRESS };

static void put(struct Str *out, const void *p, size_t n)
{
	str_addn(out, p, n);
}

static void put_uleb(struct Str *out, u64 v)
{
	for (; v > 127; v >>= 7)
		str_addc(out, (char)(v | 128));
	str_addc(out, (char)v);
}

static void put_sleb(struct Str *out, s64 v)
{
	for (; v > 63 || v < -64; v >>= 7)
		str_addc(out, (char)((v & 127) | 128));
	str_addc(out, (char)(v & 127));
}

typedef VEC(const char *) Files;

// A file's number, from 1 on; 0: there are too many.
static u32 file_nr(Files *files, const char *name, u32 last)
{
	if (last && !strcmp(files->p[last - 1], name))
		return last;
	for (u32 i = 0; i < files->n; i++)
		if (!strcmp(files->p[i], name))
			return i + 1;
	if (files->n == FILES_MAX)
		return 0;
	vec_push(files, name);
	return (u32)files->n;
}

static void line_program(struct Str *out, const struct MadeLine *lines, u32 n, Files *files)
{
	u64 at = 0;
	u32 file = 1, line = 1, last = 0;
	bool open = false;
	for (u32 i = 0; i < n; i++) {
		u32 nr = lines[i].file ? file_nr(files, lines[i].file, last) : 0;
		if (!open && !nr)
			continue;
		if (!open) {
			put(out, (u8[]){0, 9, LNE_ADDRESS}, 3);
			put(out, &lines[i].addr, 8);
			file = line = 1;
		} else {
			str_addc(out, LNS_ADVANCE_PC);
			put_uleb(out, lines[i].addr - at);
		}
		at = lines[i].addr;
		open = nr;
		if (!nr) {
			put(out, (u8[]){0, 1, LNE_END}, 3);
			continue;
		}
		if (nr != file) {
			str_addc(out, LNS_SET_FILE);
			put_uleb(out, nr);
		}
		if (lines[i].line != line) {
			str_addc(out, LNS_ADVANCE_LINE);
			put_sleb(out, (s64)lines[i].line - line);
		}
		str_addc(out, LNS_COPY);
		file = last = nr;
		line = lines[i].line;
	}
}

static void put_sized(struct Str *out, const struct Str *body)
{
	u32 n = (u32)body->n;
	put(out, &n, sizeof(n));
	put(out, body->p, body->n);
}

static void make_lines(const struct MadeNames *names, u64 span, struct Str *abbrev, struct Str *info, struct Str *out)
{
	static const u8 unit[] = {1, 0x11, 0, 0x10, 0x17, 0x11, 1, 0x12, 7, 0, 0, 0}; // compile_unit: stmt_list sec_offset, low_pc addr, high_pc data8
	static const u8 head[] = {1, 1, 1, 0xfb, 14, OPCODE_BASE, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0}; // ... lengths of opcodes, no folders
	struct Str program = {0}, table = {0}, body = {0};
	Files files = {0};
	u16 version = 4;
	u64 lo = 1, size = span - lo; // 0 is code that a linker threw away

	line_program(&program, names->lines, names->nlines, &files);
	put(&table, head, sizeof(head));
	for (size_t i = 0; i < files.n; i++) {
		put(&table, files.p[i], strlen(files.p[i]) + 1);
		put(&table, (u8[3]){0}, 3);
	}
	str_addc(&table, 0);
	put(&body, &version, sizeof(version));
	put_sized(&body, &table);
	put(&body, program.p, program.n);
	put_sized(out, &body);
	put(abbrev, unit, sizeof(unit));
	body.n = 0;
	put(&body, &version, sizeof(version));
	put(&body, (u8[]){0, 0, 0, 0, 8, 1, 0, 0, 0, 0}, 10); // abbreviations from 0 on, addresses of 8 bytes; the unit: lines from 0 on
	put(&body, &lo, 8);
	put(&body, &size, 8);
	put_sized(info, &body);
	str_deinit(&program);
	str_deinit(&table);
	str_deinit(&body);
	vec_deinit(&files);
}

// ---- the file
static void image_head(struct Image *m, u64 span)
{
	m->eh = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_DYN, .e_machine = HOST_MACHINE, .e_version = EV_CURRENT,
			     .e_phoff = offsetof(struct Image, text), .e_shoff = offsetof(struct Image, sec), .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = NSECS, .e_shstrndx = SEC_STRTAB};
	m->text = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = span, .p_memsz = span, .p_align = 1};
	m->sec[SEC_TEXT] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = span};
	m->sec[SEC_SYMTAB] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_link = SEC_STRTAB, .sh_entsize = sizeof(Elf64_Sym), .sh_info = 1};
	m->sec[SEC_STRTAB] = (Elf64_Shdr){.sh_type = SHT_STRTAB};
	m->sec[SEC_ABBREV] = m->sec[SEC_INFO] = m->sec[SEC_LINE] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_addralign = 1};
}

static u32 add_text(struct Str *texts, const char *text)
{
	u32 at = (u32)texts->n;
	str_addn(texts, text, strlen(text) + 1);
	return at;
}

static void symbols(const struct MadeNames *names, struct Str *tab, struct Str *texts)
{
	Elf64_Sym none = {0};
	str_addn(tab, (char *)&none, sizeof(none));
	for (u32 i = 0; i < names->nsyms; i++) {
		const struct MadeSym *from = &names->syms[i];
		Elf64_Sym y = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = SEC_TEXT, .st_value = from->addr, .st_size = from->size};
		y.st_name = add_text(texts, from->name);
		str_addn(tab, (char *)&y, sizeof(y));
	}
}

static void make_file(const struct MadeNames *names, u64 span, struct Str *file)
{
	static const char *const debug[] = {".debug_abbrev", ".debug_info", ".debug_line"};
	struct Str body[NSECS] = {0};
	struct Image m = {0};
	u64 at = sizeof(m);

	image_head(&m, span);
	str_addc(&body[SEC_STRTAB], 0);
	symbols(names, &body[SEC_SYMTAB], &body[SEC_STRTAB]);
	if (names->nlines) {
		for (u32 i = 0; i < ARRAY_LEN(debug); i++)
			m.sec[SEC_ABBREV + i].sh_name = add_text(&body[SEC_STRTAB], debug[i]);
		make_lines(names, span, &body[SEC_ABBREV], &body[SEC_INFO], &body[SEC_LINE]);
	}
	for (u32 i = SEC_SYMTAB; i < NSECS; i++) {
		m.sec[i].sh_offset = at;
		m.sec[i].sh_size = body[i].n;
		at += body[i].n;
	}
	str_addn(file, (char *)&m, sizeof(m));
	for (u32 i = SEC_SYMTAB; i < NSECS; i++) {
		str_addn(file, body[i].p, body[i].n);
		str_deinit(&body[i]);
	}
}

struct SymObject *sym_object_made(struct Syms *s, u64 span, const struct MadeNames *names)
{
	struct Str file = {0};
	struct SymObject *o = NULL;
	struct stat st;

	make_file(names, span, &file);
	int fd = memfd_create("sonde-made", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, file.p, file.n) == (ssize_t)file.n && !fstat(fd, &st)) {
		syms_lock(s);
		o = object_own(s, fd, &st, SYM_MADE);
		syms_unlock(s);
	} else if (fd >= 0) {
		close(fd);
	}
	str_deinit(&file);
	return o;
}
