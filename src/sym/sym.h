// Addresses to names, names to addresses. Lazy: nothing is read before the first question that needs it.
#ifndef SONDE_SYM_H
#define SONDE_SYM_H
#include "base/base.h"

struct Syms;
struct SymOpts {
	bool no_demangle;
	bool inlines, lines; // DWARF: per compile unit, on first use
	const char *debug_dir; // NULL: /usr/lib/debug
	const char *const *debug_dirs; // searched before it; those that do not begin with a slash lie beside the object. Copied nowhere
	u32 ndebug_dirs;
	bool no_debuginfod;    // even if DEBUGINFOD_URLS is set
};
// Threads: every function here may be called from any thread; one lock inside. The fields of a SymObject do not change once it is
// returned (priv is private to sym/). A callback runs with the lock held: it may ask again from its own thread.

struct Syms *syms_create(const struct SymOpts *o);
void syms_destroy(struct Syms *s);
void syms_trim(struct Syms *s, u64 max_bytes); // frees the kernel's table of symbols and those of objects, used longest ago first, until these take no more; names that were given stay
void syms_limit(struct Syms *s, u64 max_bytes); // tables of objects take no more at any time, but for the last one
// The same options, known later; before the first lookup.
void syms_set_names(struct Syms *s, bool demangle, bool inlines, bool lines);

// ---- result of a lookup. Strings live as long as Syms.
struct SymHit {
	const char *name;   // NULL: unresolved
	bool place;	    // name is "[object+0x...]": a function without a symbol, as an address in the object (as nm and addr2line have them)
	const char *raw;    // the mangled name that `name` is made from; NULL: name itself, or not known
	u64 off;	    // from the symbol's start
	u64 start, size;    // of the symbol
	const char *module; // kernel module without brackets, or object path, NULL unknown/vmlinux
	u64 module_off;	    // user: file offset of the address
	u64 module_addr;    // user: the address in the object, as nm and addr2line have it
	const char *file;
	u32 line;
};

// ---- what answers single questions about kernel symbols (bpf/bpf.h has the contract of both). Without it, and after many of them, the table does.
struct SymAsk {
	void *arg;
	bool (*symbol)(void *arg, u64 addr, char *text, size_t size);
	int (*addr)(void *arg, const char *name, u64 *addr);
};
void syms_set_ask(struct Syms *s, const struct SymAsk *ask); // before the first question
bool sym_kernel_quick(struct Syms *s); // do single questions cost less than reading the table?

// ---- kernel (kallsyms.c). kptr_restrict and missing root give an error once, then unresolved hits.
struct SymHit sym_kernel(struct Syms *s, u64 addr);
bool sym_kernel_addr(struct Syms *s, const char *name, const char *module, u64 *addr); // module NULL: any
bool sym_kernel_asked(struct Syms *s);	    // has anything needed the table of names so far?
void sym_kernel_prefetch(struct Syms *s);   // loads the table in a thread: the next question waits for what is left of that
const char *sym_kernel_why(struct Syms *s); // NULL: kernel addresses resolve; else why not (kptr_restrict, no /proc). Loads the table.
// Each text symbol, addresses ascending; fn returns false to stop. For wildcards over kernel functions.
void sym_kernel_each(struct Syms *s, bool (*fn)(void *, const char *name, const char *module, u64 addr, char type), void *arg);

// ---- objects: a file with code, known by (dev, inode, size, mtime) or build id, that processes map. Ids start at 1 and never change;
// bpfrt stores user frames as (object id, file offset). One path may be several objects (replaced binary, containers).
struct SymObject {
	u32 id;
	u64 dev, ino;
	char *path;	   // as the process names it; "[vdso]" for the vDSO
	u8 build_id[20];
	u32 build_id_len;  // 0 none
	// access to the file's bytes: through the fd taken when first seen, so it works after exit, delete and replace
	int fd;		   // -1: unreadable (why in `why`)
	char *why;
	bool denied;	   // no permission to open it: why says so, or it was copied from the memory of a process that maps it
	const char *hint;  // what helps stacks through code that it makes at run time, NULL nothing; set by another thread (sym_object_hint)
	char *note;	   // what is to be said once, when its frames are shown; set by another thread (sym_object_note)
	void *priv;	   // elf.c's index
};
struct SymFile {	   // a file as it was when first seen; copies of a library are one object. Lives until sym_files_close(), nothing in it changes
	struct SymFile *next; // private to sym/, as is idle
	u64 idle;	   // of an object's own file that is deleted and that nobody maps: how many reports have to be over before it may go; 0: it is none
	u32 nr;		   // in the order they were seen
	u64 dev, ino, size, mtime; // stat(2); ns
	bool seen;	   // size and mtime are known
	int fd;		   // -1: unreadable. While it is open, its inode number is no other file's
	struct SymObject *obj;
};
// Files that are deleted and not among those that somebody maps (used: their nr, ascending): a machine that builds and tests runs thousands a day, and an open one keeps
// its place on the disk. Copies of what is open elsewhere go at once, an object's own when nobody will ask for its names any more: reports more were over when it
// was found so, whose stacks are all told (0: there are none, names are asked for at the end). Malloced, n of them, NULL: none. They are not known any more, and are
// to be given to sym_files_close() once nobody has a pointer to them. *waiting: some may go later.
struct SymFile **sym_files_unused(struct Syms *s, const u32 *used, u32 nused, u64 reports, u32 *n, bool *waiting);
void sym_files_close(struct Syms *s, struct SymFile **v, u32 n); // takes v; objects whose own files these are have no names but those that were given
u32 sym_file_count(struct Syms *s); // so far
u32 sym_object_gone(struct Syms *s); // objects whose files are closed
struct ProcMap {	   // one line of /proc/PID/maps that is executable
	u64 start, end, file_off;
	struct SymObject *obj; // NULL: anonymous (JIT, stack)
	const struct SymFile *file; // NULL: no file, or none that may be opened
	u64 dev, ino;	   // as the kernel's text has them, which for some file systems (overlayfs, btrfs) is not as stat(2); ino 0: no file
	u8 made;	   // enum ProcMade: obj is of code made at run time (sym_object_made)
};
// PROC_MADE_NAMES: only names of it are known, or it is gone; PROC_MADE_STAYS: it is there also while it may not be run, since more is written beside it;
// PROC_MADE_ONCE: no other code lay there before, so frames that were taken before it was told of have its names, too
enum ProcMade { PROC_FILE, PROC_MADE, PROC_MADE_NAMES, PROC_MADE_STAYS, PROC_MADE_ONCE };
// procmaps.c: executable mappings of a live process, sorted by start; from /proc/PID/maps, files opened by
// /proc/PID/map_files/START-END, else /proc/PID/root/PATH. out is malloced. Error when the process is gone.
struct err *sym_proc_maps(struct Syms *s, int pid, struct ProcMap **out, u32 *n);
// One mapping of a file that the kernel told of: m has all but obj and file, which are set. False: the file cannot be found any more.
bool sym_proc_map(struct Syms *s, int pid, const char *path, struct ProcMap *m);
struct SymObject *sym_object(struct Syms *s, u32 id);		 // NULL if no such id
u32 sym_object_count(struct Syms *s);
void sym_object_note(struct SymObject *o, char *text); // takes the text; of several the last one counts
void sym_object_hint(struct SymObject *o, const char *text); // static
#define SYM_PIECES "pieces of " // how a hint begins where the runtime's functions are known
bool sym_pid_pieces(struct Syms *s, int pid); // what has no name of the code that the process makes at run time is pieces
void sym_object_tell(struct SymObject *o); // its note, if it has one, on stderr
const struct SymFile *sym_file_path(struct Syms *s, const char *path); // NULL if unreadable
struct SymObject *sym_object_path(struct Syms *s, const char *path); // open by path (uprobe targets); NULL if unreadable
// The vDSO that lies at start: 32-bit processes have another one, below 4 GB. NULL: none of those was seen yet.
struct SymObject *sym_object_vdso(struct Syms *s, u64 start);

// file offset in object -> symbol (.symtab, .dynsym, .gnu_debugdata, split debug files, PLT names "foo@plt"); demangled unless told not to.
struct SymHit sym_object_off(struct Syms *s, struct SymObject *o, u64 file_off);
// with inlined frames: hits[0] is the innermost; returns how many (>= 1); needs SymOpts.inlines, else 1.
u32 sym_object_off_inlined(struct Syms *s, struct SymObject *o, u64 file_off, struct SymHit *hits, u32 max);
// Does a signal trampoline begin there (known by its bytes: code that calls rt_sigreturn or sigreturn and does nothing else)?
bool sym_object_signal_return(struct SymObject *o, u64 file_off);
// virtual address in a live (or remembered) process: mapping, then perf-PID.map for anonymous code, then unresolved
struct SymHit sym_pid_addr(struct Syms *s, int pid, u64 addr);
// remember the mappings of pid now, so that its addresses resolve after it is gone; cheap if known already
struct SymHit sym_pid_jit(struct Syms *s, int pid, u64 addr); // the same of an address that was in no file
bool sym_pid_perf_map(struct Syms *s, int pid); // is there a perf-PID.map that names would be taken from?
// What helps stacks through code that lies in no file, of all objects the process maps: "one; another", "" none. Lives as long as Syms.
const char *sym_pid_hints(struct Syms *s, int pid);
void sym_pid_remember(struct Syms *s, int pid);
void sym_pid_set_maps(struct Syms *s, int pid, const struct ProcMap *maps, u32 n); // from track/procs.c

// ---- made.c: code made at run time. `span` bytes whose functions are named; offsets in it are those of frames. NULL: no memory for it
#define SYM_MADE "[jit]" // its path
struct MadeSym {
	u64 addr, size; // in the object
	const char *name;
};
struct MadeLine { // from addr on, to the next
	u64 addr;
	const char *file; // NULL: none
	u32 line;
};
struct MadeNames {
	const struct MadeSym *syms;
	u32 nsyms, nlines;
	const struct MadeLine *lines; // by address from one with a file to the next one without
};
struct SymObject *sym_object_made(struct Syms *s, u64 span, const struct MadeNames *n);

// ---- jitdump.c: jit-PID.dump, which its process maps. No locks: one thread's
struct JitCode { // a piece of code; file offsets
	u64 start, end, index;
	u64 moved; // address less the one it was first at
	u64 name, lines, lines_end, nlines;
	u64 unwind, unwind_size, unwind_hdr; // .eh_frame and .eh_frame_hdr, of that the size; unwind_size 0: none
	u32 name_len;
	bool unwind_mapped; // the process has it in memory, too
};
struct JitDump;
bool jitdump_is_name(const char *path);
struct JitDump *jitdump_open(const struct SymObject *o, int pid); // o's fd is borrowed. NULL: not one, or not owned by the process's user or root
void jitdump_destroy(struct JitDump *d);
u32 jitdump_read(struct JitDump *d); // reads what was added; returns how many pieces there are now
const struct JitCode *jitdump_code(const struct JitDump *d, u32 i); // until more is read
char *jitdump_name(struct JitDump *d, u32 i);  // malloced
u8 *jitdump_unwind(struct JitDump *d, u32 i);  // malloced; NULL none

// ---- ELF symbols by name, for uprobes and uaddr
struct SymDef {
	const char *name;     // raw (mangled, version suffix stripped)
	const char *demangled; // sym_object_find: NULL if same. sym_object_each: always NULL, ask sym_demangle for the names you need
	u64 addr, size;	      // ELF virtual address
	u64 file_off;
	bool is_func, is_data;
	bool is_local;	      // bound to its compile unit: there may be others of the name
};
// Each defined function and data symbol once, aliases too, by address; fn returns false to stop. Names live as long as Syms.
struct err *sym_object_each(struct Syms *s, struct SymObject *o, bool (*fn)(void *, const struct SymDef *), void *arg);
bool sym_object_find(struct Syms *s, struct SymObject *o, const char *name, struct SymDef *out); // raw or demangled name, "sym@@VERS"
// Lowest address where a statement of FILE:LINE[:COL] begins (col 0: any). file: the last names of a compile unit's path. units: those found.
enum SymLine { SYM_LINE_OK, SYM_LINE_NO_DWARF, SYM_LINE_NO_UNIT, SYM_LINE_AMBIGUOUS, SYM_LINE_NO_CODE, SYM_LINE_NO_PLACE };
enum SymLine sym_object_line(struct Syms *s, struct SymObject *o, const char *file, u32 line, u32 col, u64 *vaddr, struct Str *units);
// The same of the running kernel (module NULL) or of a loaded module, as an address in memory: by the file with debug information that has its build id (in the folders of
// --debuginfo, /usr/lib/debug, /lib/modules). said: the units found, or why there is no such file (SYM_LINE_NO_DWARF) or no address (SYM_LINE_NO_PLACE).
enum SymLine sym_kernel_line(struct Syms *s, const char *module, const char *file, u32 line, u32 col, u64 *addr, struct Str *said);
bool sym_object_addr_to_off(struct SymObject *o, u64 vaddr, u64 *file_off);
bool sym_object_is_code(struct SymObject *o, u64 vaddr); // does the file say that instructions are there?
bool sym_object_is_32(struct SymObject *o); // 32-bit code
// A Go program (or one with Go in it): [*lo, *hi) is Go's code, all of it if the bounds are not known. False: nothing of Go.
bool sym_object_go_text(struct Syms *s, struct SymObject *o, u64 *lo, u64 *hi);
bool sym_object_go_in_registers(struct Syms *s, struct SymObject *o); // Go passes arguments and results in registers (1.18); false: not known to
// The parts of o that are loaded, those with code first; returns how many of them are in out, 0 when o is no ELF file.
struct SymSegment {
	u64 vaddr, off, size; // size in the file
};
u32 sym_object_segments(struct SymObject *o, struct SymSegment *out, u32 max);
// Build id of the running kernel (module NULL) or of a loaded module; 0: not known
u32 sym_kernel_build_id(const char *module, u8 out[20]);
// "libc" / "c" -> /lib/x86_64-linux-gnu/libc.so.6 through ld.so.cache; a path as is; a bare program name through $PATH. With pid != 0 in
// the eyes of that process (/proc/PID/root is put in front if its root is not ours). malloced; error names what was tried.
struct err *sym_resolve_path(const char *name, int pid, char **out);
// "pthread", "libdl", "librt.so.1": one of those whose functions glibc 2.34 moved into libc, leaving empty libraries behind.
bool sym_moved_to_libc(const char *lib);

// needed.c: names of the libraries that o was linked with, as written in it ("libc.so.6"); valid during the call
void sym_object_needed(struct Syms *s, struct SymObject *o, void (*fn)(void *, const char *name), void *arg);

// usdt.c: .note.stapsdt
struct UsdtNote {
	const char *provider, *name, *args;
	u64 pc_off, sem_off; // file offsets; sem 0 none
	u64 pc;		     // virtual address
};
struct err *sym_object_usdt(struct Syms *s, struct SymObject *o, struct UsdtNote **out, u32 *n);
const char *sym_demangle(struct Syms *s, const char *raw); // cached; raw itself when not mangled
const char *sym_shown_name(struct Syms *s, const char *raw); // the same, or raw where names are not to be demangled
#endif
