// Objects of code made at run time: a file of memory that has the code's names. Input: names and places from whoever has made the code (track/jits.c). Output: an object
// as that of any file, whose functions have names after the code and its process have gone. Invariant: the file holds no code, only where it would be.
#include <elf.h>
#include <sys/mman.h>
#include "sym/internal.h"

enum { SEC_NONE, SEC_TEXT, SEC_SYMTAB, SEC_STRTAB, NSECS };
#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

struct Image { // a file being made
	Elf64_Ehdr eh;
	Elf64_Phdr text;
	Elf64_Shdr sec[NSECS];
};

static void image_head(struct Image *m, u64 span, u64 symbols, u64 texts)
{
	u64 at = sizeof(*m);
	m->eh = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_DYN, .e_machine = OWN_MACHINE, .e_version = EV_CURRENT,
			     .e_phoff = offsetof(struct Image, text), .e_shoff = offsetof(struct Image, sec), .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = NSECS, .e_shstrndx = SEC_STRTAB};
	m->text = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = span, .p_memsz = span, .p_align = 1};
	m->sec[SEC_TEXT] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = span};
	m->sec[SEC_SYMTAB] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_offset = at, .sh_size = symbols, .sh_link = SEC_STRTAB, .sh_entsize = sizeof(Elf64_Sym), .sh_info = 1};
	m->sec[SEC_STRTAB] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at + symbols, .sh_size = texts};
}

struct SymObject *sym_object_made(struct Syms *s, u64 span, const struct MadeSym *syms, u32 n)
{
	struct Str tab = {0}, texts = {0}, file = {0};
	struct Image m = {0};
	Elf64_Sym none = {0};
	struct stat st;

	str_addc(&texts, 0);
	str_addn(&tab, (char *)&none, sizeof(none));
	for (u32 i = 0; i < n; i++) {
		Elf64_Sym y = {.st_name = (u32)texts.n, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = SEC_TEXT, .st_value = syms[i].addr, .st_size = syms[i].size};
		str_addn(&tab, (char *)&y, sizeof(y));
		str_addn(&texts, syms[i].name, strlen(syms[i].name) + 1);
	}
	image_head(&m, span, tab.n, texts.n);
	str_addn(&file, (char *)&m, sizeof(m));
	str_addn(&file, tab.p, tab.n);
	str_addn(&file, texts.p, texts.n);
	struct SymObject *o = NULL;
	int fd = memfd_create("sonde-made", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, file.p, file.n) == (ssize_t)file.n && !fstat(fd, &st)) {
		syms_lock(s);
		o = object_of_fd(s, fd, &st, SYM_MADE, NULL);
		syms_unlock(s);
	} else if (fd >= 0) {
		close(fd);
	}
	str_deinit(&tab);
	str_deinit(&texts);
	str_deinit(&file);
	return o;
}
