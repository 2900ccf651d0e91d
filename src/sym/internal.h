// What the files of sym/ share. Nothing here is for other folders: they use sym.h.
// Locking: every public function of sym.h that touches objects, processes or caches takes Syms.lock (recursive, so callbacks may ask
// again); functions declared here expect it to be held. sym_resolve_path and the parsers touch no Syms and need no lock.
#ifndef SONDE_SYM_INTERNAL_H
#define SONDE_SYM_INTERNAL_H
#include <pthread.h>
#include <sys/stat.h>
#include "elf/elf.h"
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
struct GoTab;
struct ElfObj {
	struct ElfFile file;
	bool is_elf;
	u32 nfiles; // that are open
	bool ours; // a file of sonde's own memory, which nobody maps: it stays
	bool let_go; // its file is closed: what stands in its place is empty. The next three are how it is known again
	u32 was_uid;
	u64 was_size, was_head; // head: a hash of its first HEAD_BYTES
	struct Root *root;	// mount root the path belongs to, for debug files; NULL: our own
	struct DebugFile debug; // after elf_debug
	bool debug_tried;
	struct ElfSymtab *symtab; // after elf_symtab
	struct Fdes *fdes;	  // after the first place that no sized symbol covers
	struct ElfDefs *defs;	  // elfname.c
	VEC(char *) old_str;	  // string tables of an earlier defs
	struct DwarfIndex *dwarf; // after the first question for inlines or lines
	bool dwarf_tried;
	struct GoTab *go; // after the first question, NULL none
	bool go_tried;
	bool go_copied; // names that were given are copies, so it may go (syms_limit)
	u64 go_asked; // when; as a symbol table's
	struct UsdtNote *usdt;
	u32 nusdt;
	bool usdt_read;
};
static inline struct ElfObj *elf_of(struct SymObject *o) // NULL when not ELF or unreadable
{
	struct ElfObj *e = o->priv;
	return e && e->is_elf ? e : NULL;
}
struct ElfSymtab *elf_symtab(struct Syms *s, struct SymObject *o); // built on first use; NULL when there is no ELF
void elf_symtab_destroy(struct ElfSymtab *t);
void elf_table_drop(struct Syms *s, struct SymObject *o); // names that were given stay; the lock is held
void elf_tables_keep(struct Syms *s, u64 max_bytes); // frees the tables asked for longest ago, until the others take no more; the lock is held
struct ElfFile *elf_symtab_extra(struct SymObject *o);		  // the debug file or .gnu_debugdata the index took symbols from, NULL none
struct DebugFile *elf_debug(struct Syms *s, struct SymObject *o); // split debug file, looked for once; NULL none
void elf_defs_destroy(struct ElfDefs *d);
// Best symbol covering vaddr; false: none. name is demangled as the options say.
bool elf_lookup(struct Syms *s, struct SymObject *o, u64 vaddr, struct SymHit *hit);

// ---- plt.c: stubs of the procedure linkage table
struct PltStub {
	u64 addr;
	u32 size;
	char *name; // "foo@plt", malloced
};
u32 plt_read(struct ElfFile *f, struct PltStub **out);
// The C library's start code at the entry point, known by its bytes: stripped programs have no symbol for it. Bytes of it, 0 if it is something else.
u32 start_code(struct ElfFile *f);
bool signal_code(const struct ElfFile *f, u64 off);

// ---- extent.c: how far code reaches that no symbol gives a size for
struct Fdes;
struct Fdes *fdes_open(struct ElfFile *f); // empty when there is no .eh_frame
void fdes_close(struct Fdes *t);
// The function of .eh_frame that begins last at or below vaddr: [*lo, *hi). false: there is none.
bool fdes_find(const struct Fdes *t, const struct ElfFile *f, u64 vaddr, u64 *lo, u64 *hi);
// Where the code that begins at vaddr ends, by its instructions: behind the first that does not go on and over which none before it jumps forward.
u64 code_end(const struct ElfFile *f, u64 vaddr, u64 limit);

// ---- dwarf.c
// hits[0] is filled by object_off; puts the inlined functions at off before it, and files and lines if asked for. Returns the count.
u32 object_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max);
void dwarf_index_destroy(struct DwarfIndex *d);
// Of an object file (ET_REL): the section that an address of sym_object_line() lies in, and where. The name lives as long as Syms. False: it is none, or there is no such section.
bool sym_object_section(struct Syms *s, struct SymObject *o, u64 vaddr, const char **section, u64 *off);

// ---- relocate.c: addresses for the debug information of object files
typedef struct Elf Elf; // libelf's
void objfile_relocate(Elf *elf); // nothing is done with other files
bool objfile_place(Elf *elf, u64 addr, const char **section, u64 *off); // false: no section holds addr, or it is no object file

// ---- gosym.c: functions of Go, named as Go's tracebacks name them
#define GO_MAX_INLINED 32
bool go_lookup(struct Syms *s, struct SymObject *o, u64 vaddr, struct SymHit *hit);
// As object_inlined, also when nobody asked for inlined functions: Go's own tracebacks have them. 0: no code of Go.
u32 go_inlined(struct Syms *s, struct SymObject *o, u64 vaddr, struct SymHit *hits, u32 max);
void go_each(struct Syms *s, struct SymObject *o, void (*fn)(void *arg, const char *name, u64 addr, u64 size), void *arg);
u64 go_bytes(const struct ElfObj *e); // that the table takes, if it may go
void go_tables_keep(struct Syms *s, u64 max_bytes); // drops those used longest ago until the others take no more
void go_drop(struct ElfObj *e); // it is read again when it is wanted

// ---- mapline.c
struct MapLine {
	u64 start, end, off, ino;
	u32 major, minor;
	bool exec;
	const char *path; // in the line, may be empty
	size_t path_len;
};
bool mapline_parse(const char *line, size_t n, struct MapLine *out);

// ---- memfile.c: the file of mapping m of a process as far as it is in its memory, as a descriptor (the caller's), of *size bytes, at most max. -1: it is
// no ELF file, is larger, or cannot be read.
int memfile_copy(int pid, const struct MapLine *m, u64 max, u64 *size);

// ---- perfmap.c
struct PerfMap;
bool perfmap_locate(int pid, int *inner, u32 *uid); // the pid in the process's own namespace and its user; false: gone
// Opens the map in a root (NULL: ours); it is read at the first look-up. NULL if there is none owned by root or uid.
struct PerfMap *perfmap_open(const struct Root *root, int inner, u32 uid);
struct PerfMap *perfmap_from_fd(int fd); // takes fd
bool perfmap_is_gone(const struct PerfMap *p); // it was removed, or another put in its place
// The last line that has addr in what the file is now, but for the last tenth of a millisecond. The name is kept in names.
bool perfmap_lookup(struct PerfMap *p, struct Map *names, u64 addr, struct SymHit *hit);
void perfmap_destroy(struct PerfMap *p);

// ---- jitdump.c
struct JitDump *jitdump_from_fd(int fd); // fd is borrowed
// The last piece that has addr in what the file is now, but for the last tenth of a millisecond. Name and file are kept in names.
bool jitdump_lookup(struct JitDump *d, struct Map *names, u64 addr, bool lines, struct SymHit *hit);

// ---- demangle.c
// Demangled text, malloced; NULL when raw is not mangled. Output is bounded whatever the input.
char *demangle(const char *raw);
// Cuts from name, in place, what compilers and linkers add for themselves: "@VERS", ".lto_priv.N", ".llvm.N". ".cold", ".isra.0",
// ".part.0" and ".constprop.0" stay: they tell different pieces of code apart.
void symbol_clean(char *name);

// ---- kallsyms.c
struct Kallsyms;
void kallsyms_destroy(struct Kallsyms *k);
void kallsyms_trim(struct Syms *s); // the table goes where the kernel answers single questions; the lock is held

// ---- kernask.c: single questions
#define ASK_MAX 16384 // about as long as reading the table takes
bool ask_symbol(struct Syms *s, u64 addr, struct SymHit *hit); // false: the table has to tell. hit->name NULL: no symbol there
int ask_addr(struct Syms *s, const char *name, u64 *addr);     // as SymAsk.addr
bool ask_parse(struct Syms *s, char *text, u64 addr, struct SymHit *hit); // "name+0x1f/0x80", with " [module]" after it; changes text

// ---- ldcache.c: /etc/ld.so.cache. Calls fn(arg, soname, path) for each library of this machine's own ABI, or of i386; false stops.
bool ldcache_each(const u8 *p, size_t n, bool bits32, bool (*fn)(void *, const char *soname, const char *path), void *arg);

// ---- sym.c
struct Proc;
struct MapsList;
struct Root {
	struct Root *next;
	u64 dev, ino, mntns;
	int fd; // O_PATH
};
#define SYM_BUCKETS 1024
#define SYM_RECENT 64 // lists of mappings that the next process may have, too
struct Syms {
	pthread_mutex_t lock;
	struct SymOpts opts;
	char *debug_dir;
	struct Arena arena;   // other strings that leave by a SymHit
	struct Map demangled; // raw -> text in arena
	struct Map places;    // "[object+0x...]" -> copy in arena
	struct Kallsyms *kernel;
	struct SymAsk ask;
	u32 asked;	     // symbols, so far
	struct Map kept;     // names that left, each once however often its table was made: a run of days is told the same ones again and again
	pthread_t prefetcher; // of kernel
	bool prefetching;     // it was started
	VEC(struct SymObject *) objs; // owned; objs.p[id - 1]
	u64 tables_bytes, tables_max, tables_asked; // of symbols; 0: as many as there are; questions so far
	struct SymFile *files[SYM_BUCKETS];
	u32 nfiles;
	u64 copied; // bytes of files that may not be opened (memfile.c)
	int nothing; // an empty file; -1: not open yet
	u32 ngone;   // objects that have it in the place of theirs
	struct Proc *procs[SYM_BUCKETS];
	u32 nprocs, sweep_at; // proc.c
	struct MapsList *recent[SYM_RECENT];
	u64 used; // when a process was used last
	struct Root *roots;
	struct SymObject *vdso, *vdso32;
	struct Debuginfod *debuginfod; // debugfile.c
	bool debuginfod_off;
	u64 debuginfod_wait; // seconds spent
};

// ---- names.c
void syms_lock(struct Syms *s);
void syms_unlock(struct Syms *s);
// demangled (unless told not to) copy of raw that lives as long as Syms
const char *syms_name(struct Syms *s, const char *raw);
const char *syms_raw(struct Syms *s, const char *raw, const char *name); // the same of raw itself; NULL when name is the same

struct SymHit object_off(struct Syms *s, struct SymObject *o, u64 off); // offset.c
void procs_destroy(struct Syms *s);					 // proc.c

// ---- object.c
struct SymObject *object_of_fd(struct Syms *s, int fd, const struct stat *st, const char *path, struct Root *root); // takes fd
struct SymObject *object_of_copy(struct Syms *s, int fd, const struct stat *st, const char *path, struct Root *root); // of a file that may not be opened, from memory: denied
struct SymObject *object_own(struct Syms *s, int fd, const struct stat *st, const char *path); // the same of a memfd of ours
const struct SymFile *file_known(struct Syms *s, const struct stat *st);					    // NULL: not seen yet
// st: NULL but for device and inode if it could not be had. err: errno; takes why.
struct SymObject *object_unreadable(struct Syms *s, const struct stat *st, const char *path, int err, char *why);
struct SymObject *object_vdso(struct Syms *s, int pid, u64 start, u64 end);
void objects_destroy(struct Syms *s);

// ---- root.c
struct Root *root_of(struct Syms *s, int pid);			  // NULL: our own root
int root_open(const struct Root *r, const char *path, int flags); // path inside the root, symlinks too; -1 and errno
#endif
