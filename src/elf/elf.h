// elf: what an ELF file says, for sym/ (names) and unwind/ (rows). Input: files and images nobody vouches for. Every count, offset and size is checked
// before memory is taken. Bytes come by pread from a borrowed fd or from memory, never by mmap: a file that its owner truncates while it is mapped would
// kill us with SIGBUS. No locks: a struct ElfFile is one thread's, or its owner's lock guards it.
#ifndef SONDE_ELF_H
#define SONDE_ELF_H
#include "base/base.h"

// ---- file.c: headers, sections, notes
struct ElfSec {
	u64 addr, off, size, flags, entsize;
	u32 name, type, link, info;
};
struct ElfSeg {
	u64 vaddr, off, filesz, memsz;
	u32 type, flags;
	u64 align;
};
struct PeTable {
	u32 addr, size; // size 0: there is none
};
struct ElfFile {
	int fd;	       // borrowed; -1: mem
	const u8 *mem; // borrowed
	u64 size;
	bool is64;
	u16 type, machine;
	u64 entry;
	struct ElfSeg *segs;
	u32 nsegs;
	struct ElfSec *secs; // after elffile_sections
	u32 nsecs;
	char *shstr;
	u64 shstr_len;
	bool secs_read;
	u64 shoff;
	u32 shnum, shentsize, shstrndx;
	bool is_pe; // pe.c
	struct PeTable pe_exports, pe_unwind, pe_clr; // of that: names it gives to others; .pdata; .NET's header
};
struct err *elffile_open(struct ElfFile *f, int fd, const u8 *mem, u64 size);
struct err *elffile_headers(struct ElfFile *f);	 // reads section headers once; none is no error
struct err *elffile_sections(struct ElfFile *f); // the same, or what PT_DYNAMIC tells of a file without them
void elffile_close(struct ElfFile *f);
bool elffile_read(const struct ElfFile *f, u64 off, void *buf, u64 len);
// len bytes at off and a NUL after them, malloced; NULL when outside the file, over max or unreadable
void *elffile_load(const struct ElfFile *f, u64 off, u64 len, u64 max);
// reads up to len bytes, fewer at the end of the file; returns how many
size_t elffile_read_some(const struct ElfFile *f, u64 off, void *buf, size_t len);
const struct ElfSec *elffile_section(struct ElfFile *f, const char *name); // NULL if none; needs elffile_sections
bool elffile_is_constant(const struct ElfSec *s); // loaded, neither written nor run
const char *elffile_section_name(const struct ElfFile *f, const struct ElfSec *s);
bool elffile_vaddr_to_off(const struct ElfFile *f, u64 vaddr, u64 *off);
bool elffile_read_at(const struct ElfFile *f, u64 vaddr, void *buf, u64 len); // what the file has for these addresses of one segment
bool elffile_off_to_vaddr(const struct ElfFile *f, u64 off, u64 *vaddr);
u32 elf_notes_build_id(const u8 *p, size_t n, u8 out[20]); // in notes; 0 none
u32 elffile_build_id(const struct ElfFile *f, u8 out[20]); // from PT_NOTE, else note sections if read; 0 none
// Notes in a buffer: fn(arg, type, name, name length, desc, desc length) for each whole note; stops when fn returns false.
typedef bool (*ElfNoteFn)(void *arg, u32 type, const char *name, u32 namesz, const u8 *desc, u32 descsz);
void elf_notes_each(const u8 *p, size_t n, u32 align, ElfNoteFn fn, void *arg);

// ---- go.c
bool elffile_is_go(struct ElfFile *f);		 // reads section headers; a C program with a library of Go inside, too
bool elffile_go_version(struct ElfFile *f, struct Str *out); // "go1.19.8", from .go.buildinfo; false: it does not say
bool elffile_go_in_registers(struct ElfFile *f); // Go since 1.18: arguments and results are in registers. False: before, or not known

// ---- symtab.c: one symbol table being read: fn gets each symbol that has a section (SHN_ABS and the like too); false stops.
struct ElfSymbol {
	u64 addr, size;
	u32 name;
	u8 type, bind;
	u16 shndx;
	bool plain; // has a name, and a section of the file
	u32 index;
};
struct err *elffile_symbols(const struct ElfFile *f, const struct ElfSec *tab, bool (*fn)(void *, const struct ElfSymbol *), void *arg);

// ---- dynamic.c: PT_DYNAMIC
// The libraries the file was linked with (DT_NEEDED), as their names are written in it.
#define ELF_NEEDED_MAX 1024
struct ElfNeeded {
	char *text; // owned: free(); NULL none
	const char *names[ELF_NEEDED_MAX]; // in it
	const char *runpath; // in it: directories to look in first (DT_RUNPATH, DT_RPATH), by colons; NULL: none
	u32 n;
};
void elffile_needed(const struct ElfFile *f, struct ElfNeeded *out);
// Relocations that the dynamic linker makes (DT_RELA, DT_JMPREL) of a 64-bit file; fn returns false to stop.
struct ElfReloc {
	u64 addr; // of the word
	s64 addend;
	u32 type, symbol; // symbol: its number in .dynsym, 0: none
};
void elffile_relocs(const struct ElfFile *f, bool (*fn)(void *, const struct ElfReloc *), void *arg);
bool elffile_is_program(const struct ElfFile *f); // what execve(2) starts, position-independent or not, and no library

// ---- pe.c: Windows' form of executable files (PE32+, x86-64 and arm64), which libraries of .NET have and programs under Wine. elffile_open() takes them, too: segments are its sections,
// addresses those in the image (RVA), and there are neither sections nor symbols of ELF.
bool pe_open(struct ElfFile *f); // false: it is none, or damaged
struct PeBytes {
	bool (*read)(void *arg, u64 at, void *buf, u64 n); // false: there are no such bytes
	void *arg;
	u64 base; // where the image begins
};
// Where an image in memory has .NET's metadata, which lies there as in its file, or each section at its place. False: it has none.
bool pe_metadata(const struct PeBytes *b, u64 *addr, u32 *size);
struct PeFunction {
	u64 addr;
	u32 size;
	char *name; // malloced
};
typedef VEC(struct PeFunction) PeFunctions;
void pe_exports(const struct ElfFile *f, PeFunctions *out); // functions with unwind information that it exports, by address; appends

// ---- clrmeta.c: .NET's metadata (ECMA-335, partition II, 22 and 24)
struct ClrMeta {
	const u8 *p; // borrowed
	u64 size;
	u64 strings, strings_size; // offsets in it
	u64 table[64]; // where the rows of each table begin
	u32 rows[64], row_size[64];
	u8 string_bytes, type_bytes, method_bytes; // of indices in rows
	u32 t_name, t_namespace, t_methods, m_name; // where columns are in rows of types and of methods
};
bool clrmeta_open(struct ClrMeta *m, const u8 *p, u64 size); // of a metadata root
// "Namespace.Type.Nested.Method" of number `method` of its methods (from 1 on), appended. False: there is none such.
bool clrmeta_method(const struct ClrMeta *m, u32 method, struct Str *out);

// ---- r2r.c: code that .NET's libraries were compiled to ahead of time (ReadyToRun)
void r2r_functions(const struct ElfFile *f, PeFunctions *out); // of a PE file, by address; appends

// ---- cfi.c: the parts of an ELF file that hold unwind information, copied into memory (the file may change under us)
struct CfiSeg { // executable PT_LOAD
	u64 vaddr, size, off; // bytes of the file
};
struct CfiSec {
	u8 *data; // owned; NULL none
	u64 size, vaddr;
	u64 off;  // in the file
	u8 *have; // owned; by piece: its bytes are in data. NULL: all are
};
typedef VEC(u64) AddrList;
struct ElfCfi {
	struct ElfFile file; // for elfcfi_code and elfcfi_starts, which are to be called while its fd is open
	u8 *code;	     // owned; of code made at run time: what file reads, its bytes at the offsets of segs. NULL: none
	AddrList starts;     // of such code: where its functions begin
	u64 entry;
	bool is_go; // its functions keep frame pointers
	bool is_native_image; // GraalVM's: Java's code compiled ahead, without unwind tables
	u64 greenlet; // the function of Python's module greenlet that a greenlet begins with; 0: it is none
	u16 machine; // EM_X86_64, EM_386, EM_AARCH64, EM_RISCV
	VEC(struct CfiSeg) segs; // by file offset
	struct CfiSec eh_frame, eh_frame_hdr, debug_frame;
	struct CfiSec pdata; // of a PE file: what each of its functions says for unwinding lies at addresses that this names
};
// NULL and no sections for a well-formed file without unwind information; an error for what is no ELF file of such a machine.
struct err *elfcfi_read(int fd, struct ElfCfi *out);		      // of a file; fd is borrowed
// The same, but entries are read when elfcfi_have() is told of them: what a few pages need of a large file is little. fd stays open meanwhile.
struct err *elfcfi_read_part(int fd, struct ElfCfi *out);
bool elfcfi_have(const struct ElfCfi *e, const struct CfiSec *s, u64 at, u64 n); // n bytes at `at` of the section are in its data. False: it, or the file, ends there
struct err *elfcfi_read_mem(const u8 *p, u64 n, struct ElfCfi *out); // of an image in memory, borrowed until the table is built
bool elfcfi_code(const struct ElfCfi *e, const struct CfiSeg *seg, u64 vaddr, u8 *dst, u64 n); // n bytes of the segment
bool elfcfi_starts(const struct ElfCfi *e, AddrList *out); // functions that its symbols, or starts, name. True: V8's builtins are among its code
void elfcfi_deinit(struct ElfCfi *e);

// ---- v8blob.c: V8's builtins in a file without symbols (64-bit)
struct V8Blob {
	u64 code, size; // address, bytes
	AddrList starts; // addresses where they begin, ascending; owned: vec_deinit()
};
bool v8blob_find(const struct ElfFile *f, struct V8Blob *out); // looks through the file's constants and code

// ---- gopclntab: the tables that Go's linker writes for Go's own runtime and that no stripping removes: functions, frame sizes, files, lines, inlined calls.
// docs/go.md explains the format. In: a file nobody vouches for. Out: answers about single addresses; every offset is checked against the copy.
enum GoForm { GO_1_16, GO_1_18, GO_1_20 }; // the first version that wrote it
struct GoTab {
	u8 *data; // owned, with a NUL behind it
	u64 size, vaddr;
	enum GoForm form;
	u32 quantum; // bytes that differences of addresses count in
	u64 text;    // what functions' addresses are relative to (1.18)
	u32 nfuncs;
	u64 names, cus, files, pcs, funcs; // offsets of its parts
	u64 gofunc; // address that inline trees are relative to; before 1.18 one that all of them are above. 0 not known
	u8 *inl;    // owned: the bytes from gofunc on, with what fits; NULL: not asked for
	u64 inl_size;
};
// False: the file has none, or one of a form before Go 1.16.
bool gotab_open(struct ElfFile *f, struct GoTab *t);
bool gotab_open_places(struct ElfFile *f, struct GoTab *t); // with what gotab_places() needs of inlined calls: up to 16 MB more
void gotab_close(struct GoTab *t);

struct GoFunc {
	u64 entry, end; // addresses; padding behind the function is its own
	const char *name; // in the table; "" if damaged
	u64 rec;	  // offset of its record
	u32 pcsp, pcfile, pcln, npcdata, cu;
	u8 flag, nfuncdata;
};
#define GO_F_TOP 1     // nothing calls it
#define GO_F_SPWRITE 2 // it sets the stack pointer to what its table does not tell
#define GO_F_ASM 4     // written in assembly
bool gotab_func(const struct GoTab *t, u32 i, struct GoFunc *out); // i below nfuncs; false: damaged
bool gotab_find(const struct GoTab *t, u64 vaddr, struct GoFunc *out);

// ---- a table of values by address: for (gosteps_init(&s, ...); gosteps_next(&s);) s.value holds from s.from to s.to
struct GoSteps {
	const u8 *p, *end;
	u64 from, to, limit;
	s32 value;
	u32 quantum;
	bool first;
};
void gosteps_init(struct GoSteps *s, const struct GoTab *t, const struct GoFunc *f, u32 table);
bool gosteps_next(struct GoSteps *s);

// ---- places
struct GoPlace {
	const char *name, *file; // file NULL: not known
	u32 line;
};
// The place at vaddr in f: out[0] is the innermost inlined function. Returns how many there are, at least 1.
u32 gotab_places(const struct GoTab *t, const struct GoFunc *f, u64 vaddr, struct GoPlace *out, u32 max);

// ---- gomodule.c: where the table is, and what only Go's description of the module (moduledata) tells
bool gomodule_find_table(struct ElfFile *f, u64 *off, u64 *size, u64 *vaddr);
struct GoModule {
	u64 text, gofunc; // 0 not known
};
struct GoModule gomodule_read(struct ElfFile *f, const struct GoTab *t);
#endif
