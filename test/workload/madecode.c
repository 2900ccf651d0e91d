// Code made at run time without frame pointers, of which the program tells as JIT compilers do: main -> made_outer -> made_inner -> last -> getppid, N times.
// usage: madecode HOW N [DIR]
//   gdb     by the JIT interface of GDB, an ELF file with .eh_frame and symbols
//   again   the same; for each call other code, with another frame and other names, at the same place, the one before is taken off the list
//   flip    the same at each call, from the one to the other and back, after a pause that varies; the first calls last(), the second last_second()
//   names   an ELF file with symbols only
//   some    an ELF file with symbols, and .eh_frame for made_outer only, as LLVM writes it if the other one never throws
//   many    the same as gdb, behind 8,200 other such files
//   pass    9,000 other such files, 1,000 at a time for as long as DIR says (ms), which are gone then; the same as gdb, whose code runs for a tenth of a second each time
//   dump    by DIR/jit-PID.dump, with unwinding information
//   move    the same, the code moves after half the calls
//   lines   by a jitdump with names and lines, of code that keeps frame pointers
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// ---- the interface
struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *file;
	uint64_t size;
};
struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};
struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};
__attribute__((noinline, visibility("default"))) void __jit_debug_register_code(void)
{
	__asm__ volatile("");
}

static void tell(struct jit_code_entry *e, uint32_t action)
{
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = action;
	if (action == 1) {
		e->next = __jit_debug_descriptor.first;
		if (e->next)
			e->next->prev = e;
		__jit_debug_descriptor.first = e;
	} else {
		if (e->prev)
			e->prev->next = e->next;
		else
			__jit_debug_descriptor.first = e->next;
		if (e->next)
			e->next->prev = e->prev;
	}
	__jit_debug_register_code();
}

// ---- the code
__attribute__((noinline)) void last(void)
{
	syscall(SYS_getppid);
	__asm__ volatile(""); // no jump to syscall()
}

__attribute__((noinline)) void last_second(void)
{
	syscall(SYS_getppid);
	__asm__ volatile("nop");
}

#define INNER 15
#define OUTER 16 // where it begins
#define CODE 24
// push %rbp; xor %ebp,%ebp; sub $n,%rsp; call *%rdi; add $n,%rsp; pop %rbp; ret ... push %rbx; call inner; pop %rbx; ret
static void make(unsigned char *at, unsigned char n)
{
	static const unsigned char code[CODE] = {0x55, 0x31, 0xed, 0x48, 0x83, 0xec, 0, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0, 0x5d, 0xc3, 0x90, 0x53, 0xe8, 0xea, 0xff, 0xff, 0xff, 0x5b, 0xc3};
	memcpy(at, code, CODE);
	at[6] = at[12] = n;
}

struct frame { // .eh_frame: addresses are absolute; a size of 0 ends it
	struct {
		uint32_t len, id;
		unsigned char text[16];
	} cie;
	struct {
		uint32_t len, cie;
		uint64_t pc, size;
		unsigned char text[16];
	} fde[2];
	uint32_t end;
} __attribute__((packed));

static void fill_frame(struct frame *f, uint64_t code, unsigned char n)
{
	*f = (struct frame){.cie = {20, 0, {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1}},
			    .fde = {{36, sizeof(f->cie) + 4, code, INNER, {0x41, 0x0e, 16, 0x86, 2, 0x46, 0x0e, (unsigned char)(16 + n), 0x46, 0x0e, 16, 0x41, 0x0e, 8}},
				    {36, sizeof(f->cie) + sizeof(f->fde[0]) + 4, code + OUTER, CODE - OUTER, {0x41, 0x0e, 16, 0x83, 2, 0x46, 0x0e, 8}}}};
}

struct image {
	Elf64_Ehdr eh;
	Elf64_Shdr sec[6];
	Elf64_Sym sym[3];
	struct frame frame;
	char names[64], sections[64];
};

static void leave_outer_alone(struct frame *f)
{
	f->fde[1].cie = f->fde[0].cie; // as the first one it has less to the CIE
	f->fde[0] = f->fde[1];
	f->fde[1].len = 0;
}

static void fill_image(struct image *m, uint64_t code, const char *inner, const char *outer, unsigned char n, int with_frame)
{
	static const char sections[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab";
	memset(m, 0, sizeof(*m));
	m->eh = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			     .e_shoff = offsetof(struct image, sec), .e_ehsize = sizeof(Elf64_Ehdr), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 6, .e_shstrndx = 5};
	m->sec[1] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = code, .sh_size = CODE};
	m->sec[2] = (Elf64_Shdr){.sh_name = 7, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_offset = offsetof(struct image, frame), .sh_size = with_frame ? sizeof(m->frame) : 0};
	m->sec[3] = (Elf64_Shdr){.sh_name = 17, .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct image, sym), .sh_size = sizeof(m->sym), .sh_link = 4, .sh_info = 1, .sh_entsize = sizeof(Elf64_Sym)};
	m->sec[4] = (Elf64_Shdr){.sh_name = 25, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, names), .sh_size = sizeof(m->names)};
	m->sec[5] = (Elf64_Shdr){.sh_name = 33, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, sections), .sh_size = sizeof(m->sections)};
	memcpy(m->sections, sections, sizeof(sections));
	int at = 1 + sprintf(m->names + 1, "%s", inner) + 1;
	sprintf(m->names + at, "%s", outer);
	m->sym[1] = (Elf64_Sym){.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = code, .st_size = INNER};
	m->sym[2] = (Elf64_Sym){.st_name = (uint32_t)at, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = code + OUTER, .st_size = CODE - OUTER};
	fill_frame(&m->frame, code, n);
}

// Numbers from the first on.
static struct jit_code_entry *tell_others(int first, int n, int with_frame)
{
	struct image *images = calloc((size_t)n, sizeof(*images));
	struct jit_code_entry *entries = calloc((size_t)n, sizeof(*entries));
	unsigned char *code = mmap(NULL, (size_t)n * 32, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!images || !entries || code == MAP_FAILED)
		exit(2);
	for (int i = 0; i < n; i++) {
		char inner[24], outer[24];
		make(code + i * 32, 16);
		snprintf(inner, sizeof(inner), "inner_%d", first + i);
		snprintf(outer, sizeof(outer), "outer_%d", first + i);
		fill_image(&images[i], (uint64_t)(code + i * 32), inner, outer, 16, with_frame);
		entries[i] = (struct jit_code_entry){NULL, NULL, (char *)&images[i], sizeof(*images)};
		tell(&entries[i], 1);
	}
	return entries;
}

__attribute__((noinline)) void work(unsigned ms)
{
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < (long)ms);
}

__attribute__((noinline)) void last_work(void)
{
	work(100);
	__asm__ volatile("nop; nop");
}

static void pass_others(unsigned ms)
{
	for (int i = 0; i < 9; i++) {
		struct jit_code_entry *e = tell_others(i * 1000, 1000, 1);
		work(ms);
		for (int k = 0; k < 1000; k++)
			tell(&e[k], 2);
	}
}

// ---- the file
static int dump;
static void put_record(uint32_t id, const void *a, size_t na, const void *b, size_t nb, const void *c, size_t nc)
{
	struct {
		uint32_t id, size;
		uint64_t time;
	} r = {id, (uint32_t)(16 + na + nb + nc), 1};
	char buf[512];
	memcpy(buf, &r, 16);
	memcpy(buf + 16, a, na);
	memcpy(buf + 16 + na, b, nb);
	memcpy(buf + 16 + na + nb, c, nc);
	if (write(dump, buf, 16 + na + nb + nc) < 0)
		exit(3);
}

static void open_dump(const char *dir)
{
	char path[512];
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} h = {0x4A695444, 1, 40, EM_X86_64, 0, (uint32_t)getpid(), 1, 0};
	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, getpid());
	dump = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (dump < 0 || write(dump, &h, sizeof(h)) != sizeof(h) || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
		exit(2);
}

// One function's own: addresses count from behind its code.
static void put_unwind(const unsigned char *insns, size_t n, uint32_t size)
{
	struct {
		uint32_t cie_len, id;
		unsigned char cie[12];
		uint32_t len, back;
		int32_t pc;
		uint32_t size;
		unsigned char text[20];
		uint32_t end;
		unsigned char hdr[20];
	} __attribute__((packed)) u = {16, 0, {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8}, 32, 24, -(int32_t)((size + 7) & ~7u) - 28, size, {0}, 0, {1, 0x1b, 3, 0x3b}};
	uint64_t head[3] = {sizeof(u), 20, 0};
	u.text[0] = 0;
	u.text[1] = 0x90, u.text[2] = 1; // the return address lies below the CFA
	memcpy(u.text + 3, insns, n);
	put_record(4, head, sizeof(head), &u, sizeof(u), NULL, 0);
}

static void put_load(uint64_t at, const char *name, size_t size, uint64_t index)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, at, size, index;
	} l = {(uint32_t)getpid(), (uint32_t)getpid(), at, at, size, index};
	put_record(0, &l, sizeof(l), name, strlen(name) + 1, (void *)at, size);
}

static void put_move(uint64_t from, uint64_t to, size_t size, uint64_t index)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} m = {(uint32_t)getpid(), (uint32_t)getpid(), to, from, to, size, index};
	put_record(1, &m, sizeof(m), NULL, 0, NULL, 0);
}

static void put_lines(uint64_t at, uint64_t call, const char *file)
{
	struct {
		uint64_t at, n;
	} d = {at, 2};
	struct {
		uint64_t at;
		uint32_t line, col;
		char name[16];
	} __attribute__((packed)) e = {at, 7, 0, ""};
	char text[128];
	size_t n = 24 - 8 + strlen(file) + 1;
	strcpy(e.name, file);
	memcpy(text, &e, n);
	e.at = call;
	e.line = 9;
	memcpy(e.name, "\xff", 2); // the same file
	memcpy(text + n, &e, 18);
	put_record(2, &d, sizeof(d), text, n, text + n, 18);
}

// ---- with a frame pointer: push %rbp; mov %rsp,%rbp; call *%rdi; nop; pop %rbp; ret
static const unsigned char framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x90, 0x5d, 0xc3};

static volatile int keep;
static void run(unsigned char *code, void (*leaf)(void))
{
	void (*volatile outer)(void (*)(void)) = (void (*)(void (*)(void)))(code + OUTER);
	outer(leaf);
	keep++; // no jump
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "gdb";
	int n = argc > 2 ? atoi(argv[2]) : 1, pause = argc > 4 ? atoi(argv[4]) : 50000;
	unsigned char *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at = code + 0x120;
	struct image image, other;
	struct jit_code_entry a = {NULL, NULL, (char *)&image, sizeof(image)}, b = {NULL, NULL, (char *)&other, sizeof(other)};
	static const unsigned char inner_rows[] = {0x41, 0x0e, 16, 0x86, 2, 0x46, 0x0e, 32, 0x46, 0x0e, 16, 0x41, 0x0e, 8}, outer_rows[] = {0x41, 0x0e, 16, 0x83, 2, 0x46, 0x0e, 8};

	if (code == MAP_FAILED)
		return 1;
	make(at, 16);
	fill_image(&image, (uint64_t)at, "made_inner", "made_outer", 16, strcmp(how, "names"));
	if (!strcmp(how, "some"))
		leave_outer_alone(&image.frame);
	fill_image(&other, (uint64_t)at, "second_inner", "second_outer", 0x40, 1);
	if (!strcmp(how, "dump") || !strcmp(how, "move")) {
		open_dump(argv[3]);
		put_unwind(inner_rows, sizeof(inner_rows), INNER);
		put_load((uint64_t)at, "made_inner", INNER, 1);
		put_unwind(outer_rows, sizeof(outer_rows), CODE - OUTER);
		put_load((uint64_t)at + OUTER, "made_outer", CODE - OUTER, 2);
	} else if (!strcmp(how, "lines")) {
		open_dump(argv[3]);
		memcpy(at, framed, sizeof(framed));
		put_load((uint64_t)at, "made_other", sizeof(framed), 1);
		memcpy(at + OUTER, framed, sizeof(framed));
		put_lines((uint64_t)at + OUTER, (uint64_t)at + OUTER + 4, "made.src");
		put_load((uint64_t)at + OUTER, "made_framed", sizeof(framed), 2);
	} else {
		if (!strcmp(how, "many"))
			tell_others(0, 8200, 0);
		if (!strcmp(how, "pass"))
			pass_others((unsigned)atoi(argv[3]));
		tell(&a, 1);
	}
	usleep((unsigned)pause * 8); // the tracer is not faster than the program
	for (int i = 0; i < n; i++) {
		if (strcmp(how, "flip"))
			usleep((unsigned)pause);
		if (!strcmp(how, "move") && i == n / 2) {
			memcpy(at + 0x1000, at, CODE);
			memset(at, 0xcc, CODE);
			put_move((uint64_t)at, (uint64_t)at + 0x1000, INNER, 1);
			put_move((uint64_t)at + OUTER, (uint64_t)at + 0x1000 + OUTER, CODE - OUTER, 2);
			at += 0x1000;
			usleep(600000); // files are looked at ten times a second
		}
		if (!strcmp(how, "again") && i == n / 2) {
			tell(&a, 2);
			make(at, 0x40);
			tell(&b, 1);
			usleep((unsigned)pause * 8);
		}
		if (!strcmp(how, "flip")) {
			tell(i % 2 || !i ? &a : &b, 2);
			make(at, i % 2 ? 0x40 : 16);
			tell(i % 2 ? &b : &a, 1);
			usleep((unsigned)(i * 7919 % 13) * (unsigned)pause / 13);
		}
		run(at, i % 2 && !strcmp(how, "flip") ? last_second : strcmp(how, "pass") ? last : last_work);
	}
	return 0;
}
