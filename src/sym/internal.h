// What the files of sym/ share. Nothing here is for other folders: they use sym.h.
// Locking: every public function of sym.h that touches objects, processes or caches takes Syms.lock (recursive, so callbacks may ask
// again); functions declared here expect it to be held. sym_resolve_path and the parsers touch no Syms and need no lock.
#ifndef SONDE_SYM_INTERNAL_H
#define SONDE_SYM_INTERNAL_H
#include <pthread.h>
#include <sys/stat.h>
#include "sym/sym.h"

// ---- segments.c: intervals, possibly nested or overlapping -> one sorted list for binary search
#define SEG_NONE UINT32_MAX
struct Interval {
	u64 lo, hi; // [lo, hi)
	u32 prio;   // where intervals overlap the highest prio wins, then the one later in the array
	u32 id;
};
struct Segments {
	u64 *start; // segment i is [start[i], start[i + 1]), the last one is always a gap
	u32 *id;    // SEG_NONE: gap
	u32 n;
};
// v must be sorted by lo. Empty and inverted intervals are skipped.
void segments_build(struct Segments *out, const struct Interval *v, u32 n);
u32 segments_find(const struct Segments *s, u64 addr);	// id or SEG_NONE
u32 segments_index(const struct Segments *s, u64 addr); // index of the segment holding addr, or SEG_NONE
void segments_deinit(struct Segments *s);
// Sorts records of 16 bytes, stably, by the low RADIX_BITS of their first 8.
#define RADIX_BITS 56
struct Rec16 {
	u64 key;
	u64 rest;
} __attribute__((may_alias));
void radix_sort(void *v, u32 n);

// ---- elffile.c: bounds-checked reading of an ELF file. Bytes come by pread from a borrowed fd or from memory, never by mmap: a file
// that its owner truncates while it is mapped would kill us with SIGBUS.
struct ElfSec {
	u64 addr, off, size, flags, entsize;
	u32 name, type, link, info;
};
struct ElfSeg {
	u64 vaddr, off, filesz, memsz;
	u32 type, flags;
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
};
struct err *elffile_open(struct ElfFile *f, int fd, const u8 *mem, u64 size);
struct err *elffile_sections(struct ElfFile *f); // reads section headers once; none is no error
void elfdyn_sections(struct ElfFile *f);	 // elfdyn.c: what PT_DYNAMIC tells, for a file without them
void elffile_close(struct ElfFile *f);
bool elffile_read(const struct ElfFile *f, u64 off, void *buf, u64 len);
// len bytes at off and a NUL after them, malloced; NULL when outside the file, over max or unreadable
void *elffile_load(const struct ElfFile *f, u64 off, u64 len, u64 max);
// reads up to len bytes, fewer at the end of the file; returns how many
size_t elffile_read_some(const struct ElfFile *f, u64 off, void *buf, size_t len);
const struct ElfSec *elffile_section(struct ElfFile *f, const char *name); // NULL if none; needs elffile_sections
const char *elffile_section_name(const struct ElfFile *f, const struct ElfSec *s);
bool elffile_vaddr_to_off(const struct ElfFile *f, u64 vaddr, u64 *off);
bool elffile_off_to_vaddr(const struct ElfFile *f, u64 off, u64 *vaddr);
u32 elffile_build_id(const struct ElfFile *f, u8 out[20]); // from PT_NOTE, else note sections if read; 0 none
// Notes in a buffer: fn(arg, type, name, name length, desc, desc length) for each whole note; stops when fn returns false.
typedef bool (*ElfNoteFn)(void *arg, u32 type, const char *name, u32 namesz, const u8 *desc, u32 descsz);
void elf_notes_each(const u8 *p, size_t n, u32 align, ElfNoteFn fn, void *arg);

// ---- debugfile.c: where the symbols and DWARF of a stripped object are
struct DebugFile {
	int fd;	 // owned; -1: mem
	u8 *mem; // owned, .gnu_debugdata unpacked; NULL with fd -1: no file
	struct ElfFile file;
};
// A separate debug file (build id, .gnu_debuglink, then debuginfod if configured); false: none.
bool debugfile_find(struct Syms *s, struct SymObject *o, struct DebugFile *out);
bool debugfile_mini(struct ElfFile *f, struct DebugFile *out); // .gnu_debugdata
void debugfile_close(struct DebugFile *d);
void debuginfod_destroy(struct Syms *s);

// ---- elf.c: an object's index (SymObject.priv)
struct Root;
struct ElfObj {
	struct ElfFile file;
	bool is_elf;
	struct Root *root;	// mount root the path belongs to, for debug files; NULL: our own
	struct DebugFile debug; // after elf_debug
	bool debug_tried;
	struct ElfSymtab *symtab; // after elf_symtab
	struct ElfDefs *defs;	  // elfname.c
	VEC(char *) old_str;	  // string tables of an earlier defs
	struct DwarfIndex *dwarf; // after the first question for inlines or lines
	bool dwarf_tried;
	struct UsdtNote *usdt;
	u32 nusdt;
	bool usdt_read;
};
struct ElfObj *elf_of(struct SymObject *o);			   // NULL when not ELF or unreadable
struct ElfSymtab *elf_symtab(struct Syms *s, struct SymObject *o); // built on first use; NULL when there is no ELF
void elf_symtab_destroy(struct ElfSymtab *t);
struct ElfFile *elf_symtab_extra(struct SymObject *o);		  // the debug file or .gnu_debugdata the index took symbols from, NULL none
struct DebugFile *elf_debug(struct Syms *s, struct SymObject *o); // split debug file, looked for once; NULL none
void elf_defs_destroy(struct ElfDefs *d);
// Best symbol covering vaddr; false: none. name is demangled as the options say.
bool elf_lookup(struct Syms *s, struct SymObject *o, u64 vaddr, struct SymHit *hit);
void elf_destroy(struct ElfObj *e);

// One symbol table being read: fn gets each defined symbol; false stops.
struct RawSym {
	u64 addr, size;
	u32 name;
	u8 type, bind;
	u16 shndx;
	u32 index;
};
struct err *elf_syms_each(const struct ElfFile *f, const struct ElfSec *tab, bool (*fn)(void *, const struct RawSym *), void *arg);

// ---- plt.c: stubs of the procedure linkage table
struct PltStub {
	u64 addr;
	u32 size;
	char *name; // "foo@plt", malloced
};
u32 plt_read(struct ElfFile *f, struct PltStub **out);
// The C library's start code at the entry point, known by its bytes: stripped programs have no symbol for it. Bytes of it, 0 if it is something else.
u32 start_code(struct ElfFile *f);

// ---- dwarf.c
// hits[0] is filled by object_off; puts the inlined functions at off before it, and files and lines if asked for. Returns the count.
u32 object_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max);
void dwarf_index_destroy(struct DwarfIndex *d);

// ---- procmaps.c
struct MapLine {
	u64 start, end, off, ino;
	u32 major, minor;
	bool exec;
	const char *path; // in the line, may be empty
	size_t path_len;
};
bool procmaps_parse_line(const char *line, size_t n, struct MapLine *out);

// ---- perfmap.c
struct PerfMap;
bool perfmap_locate(int pid, int *inner, u32 *uid); // the pid in the process's own namespace and its user; false: gone
// Opens the map in a root (NULL: ours); it is read at the first look-up. NULL if there is none owned by root or uid.
struct PerfMap *perfmap_open(const struct Root *root, int inner, u32 uid);
struct PerfMap *perfmap_from_fd(int fd); // takes fd
// Reads what was added to the file when addr is not known. The name is copied to a.
bool perfmap_lookup(struct PerfMap *p, struct Arena *a, u64 addr, struct SymHit *hit);
void perfmap_destroy(struct PerfMap *p);

// ---- demangle.c
// Demangled text, malloced; NULL when raw is not mangled. Output is bounded whatever the input.
char *demangle(const char *raw);
// Cuts from name, in place, what compilers and linkers add for themselves: "@VERS", ".lto_priv.N", ".llvm.N". ".cold", ".isra.0",
// ".part.0" and ".constprop.0" stay: they tell different pieces of code apart.
void symbol_clean(char *name);

// ---- kallsyms.c
struct Kallsyms;
void kallsyms_destroy(struct Kallsyms *k);

// ---- kernask.c: single questions
#define ASK_MAX 16384 // about as long as reading the table takes
bool ask_symbol(struct Syms *s, u64 addr, struct SymHit *hit); // false: the table has to tell. hit->name NULL: no symbol there
int ask_addr(struct Syms *s, const char *name, u64 *addr);     // as SymAsk.addr
bool ask_parse(struct Syms *s, char *text, u64 addr, struct SymHit *hit); // "name+0x1f/0x80", with " [module]" after it; changes text

// ---- ldcache.c: /etc/ld.so.cache. Calls fn(arg, soname, path) for each library of this machine's own ABI; false stops.
bool ldcache_each(const u8 *p, size_t n, bool (*fn)(void *, const char *soname, const char *path), void *arg);

// ---- sym.c
struct Proc;
struct Root {
	struct Root *next;
	u64 dev, ino, mntns;
	int fd; // O_PATH
};
struct ObjKey { // identity of a file; several may lead to one object (same build id in several containers)
	struct ObjKey *next;
	u64 dev, ino, size, mtime;
	struct SymObject *obj;
};
#define SYM_BUCKETS 1024
struct Syms {
	pthread_mutex_t lock;
	struct SymOpts opts;
	char *debug_dir;
	struct Arena arena;   // every string that leaves by a SymHit
	struct Map demangled; // raw -> text in arena
	struct Kallsyms *kernel;
	struct SymAsk ask;
	u32 asked;	     // symbols, so far
	struct Map ksyms;    // names that were answered: text -> copy in arena
	pthread_t prefetcher; // of kernel
	bool prefetching;     // it was started
	VEC(struct SymObject *) objs; // owned; objs.p[id - 1]
	struct ObjKey *keys[SYM_BUCKETS];
	struct Proc *procs[SYM_BUCKETS];
	u32 nprocs, sweep_at; // proc.c
	struct Root *roots;
	struct SymObject *vdso, *vdso32;
	struct Debuginfod *debuginfod; // debugfile.c
	bool debuginfod_off;
	u64 debuginfod_wait; // seconds spent
};
void syms_lock(struct Syms *s);
void syms_unlock(struct Syms *s);
struct SymHit object_off(struct Syms *s, struct SymObject *o, u64 off);
// demangled (unless told not to) copy of raw in the arena
const char *syms_name(struct Syms *s, const char *raw);
void procs_destroy(struct Syms *s);

// ---- object.c
struct SymObject *object_of_fd(struct Syms *s, int fd, const struct stat *st, const char *path, struct Root *root); // takes fd
struct SymObject *object_known(struct Syms *s, const struct stat *st);						    // NULL: not seen yet
struct SymObject *object_unreadable(struct Syms *s, const struct stat *st, const char *path, char *why);	    // takes why
struct SymObject *object_vdso(struct Syms *s, int pid, u64 start, u64 end);
struct Root *root_of(struct Syms *s, int pid);			  // NULL: our own root
int root_open(const struct Root *r, const char *path, int flags); // path inside the root, symlinks too; -1 and errno
void objects_destroy(struct Syms *s);
#endif
