// What the files of track/ share.
#ifndef SONDE_TRACK_INTERNAL_H
#define SONDE_TRACK_INTERNAL_H
#include <pthread.h>
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "elf/elf.h"
#include "track/track.h"

// ---- mmapev.c: the kernel's own account of who maps code: one perf event per CPU (perf_event_open(2), PERF_RECORD_MMAP2)
enum MapEventKind { MAPEV_MMAP, MAPEV_EXEC, MAPEV_FORK, MAPEV_EXIT, MAPEV_LOST };
struct MapEvent {
	enum MapEventKind kind;
	int tgid, parent; // parent: FORK
	u64 time; // CLOCK_MONOTONIC, ns
	u64 start, end, off, ino;
	u32 major, minor;
	const char *path; // valid during the call
};
bool mapev_has_file(const struct MapEvent *e); // MMAP: it is of a file, not of memory alone
struct MapEvents; // owner of the descriptors and their buffers
struct err *mapev_open(struct MapEvents **out, bool seldom); // seldom: it wakes who polls once there is much to read
// A second set of buffers, which wakes who polls once there is much to read. Not with seldom.
void mapev_open_gathering(struct MapEvents *m);
bool mapev_gather(struct MapEvents *m, bool on); // records come into that set from now on, or into the first again; false: there is none
void mapev_close(struct MapEvents *m);
u32 mapev_count(const struct MapEvents *m);
int mapev_fd(const struct MapEvents *m, u32 i); // to poll
// Gives every record there is to fn, oldest first. One that is older than what was given before may still come from another CPU.
void mapev_read(struct MapEvents *m, void (*fn)(void *, const struct MapEvent *), void *arg);

// ---- pace.c: are records read as they come, or gathered?
struct Pace;
struct Pace *pace_create(struct Program *prog, struct Syms *syms); // before load; NULL: as they come
void pace_start(struct Pace *p, struct MapEvents *events); // after load, while the thread has its privileges
void pace_record(struct Pace *p, const struct MapEvent *e);
bool pace_set(struct Pace *p, u64 now); // after records were read. True: what was gathered until now is to be read at once
int pace_wait_ms(const struct Pace *p, int ms); // ms, or less: records are to be read then even if nothing wakes
void pace_destroy(struct Pace *p);

// ---- procs.c: processes and their mappings: rt_uw_maps, rt_uw_files. Used by the tracker thread only (and by track_start before there is one).
struct Procs;
struct ProcsOps {
	void (*object)(void *arg, struct SymObject *o, bool named); // an object that some process maps, one that the user has named; called again and again
	void (*gone)(void *arg, int tgid);
	void *arg;
};
// files.c: rt_uw_files. dev and ino: as the kernel's records and its inodes have them, which for some file systems (overlayfs, btrfs) are not those of stat(2).
struct UwFiles;
struct UwFiles *uwfiles_create(int fd);
void uwfiles_destroy(struct UwFiles *f);
const struct SymFile *uwfiles_known(struct UwFiles *f, u64 dev, u64 ino); // the file a record speaks of; NULL: not told of before, or changed since
void uwfiles_tell(struct UwFiles *f, u64 dev, u64 ino, const struct SymFile *file); // NULL: one that holds no program (memory, devices)
bool uwfiles_tick(struct UwFiles *f, struct Syms *s); // at each tick; true: it is time to look which nobody needs
// Closes those that are deleted and not among the nused that somebody maps (their numbers, which are sorted); reports: sym_files_unused().
void uwfiles_let_go(struct UwFiles *f, struct Syms *s, u32 *used, u32 nused, u64 reports);
void uwfiles_tell_vdso(struct UwFiles *f, const struct ProcMap *m);

// first.c: objects that a process maps or will map, each once, mapped ones first.
struct First {
	struct Syms *syms;
	struct UwFiles *files;
	const struct ProcsOps *ops; // is told of those that are not mapped
	int tgid; // in whose root the loader looks; 0: ours
	const char *path; // of a program; NULL: none
};
void first_objects(const struct First *first, const struct ProcMap *maps, size_t n, void (*fn)(void *, struct SymObject *), void *arg);

// chunks.c: rt_uw_maps
struct UwChunks { // of a process, in the kernel, besides the top
	u32 leaves, uppers;
};
bool uwchunks_publish(int fd, int tgid, u64 gen, const struct ProcMap *maps, size_t n, u64 jits, struct UwChunks *have); // jits: of struct RtUwChunk. false: no room, nothing is there
void uwchunks_forget(int fd, int tgid, struct UwChunks *have);

struct ProcsMaps { // descriptors of the kernel side's maps, borrowed
	int maps, asked, files;
};
typedef VEC(struct ProcMap) MapList;

// What procs.c and procevents.c share
#define PROC_BUCKETS 1024u
struct Pending { // a mapping record of an object not known yet
	u64 start, end, off, dev, ino;
	char *path;
};
struct UwProc {
	struct UwProc *next;
	int tgid;
	bool dirty;	// its mappings have to be read again
	bool changed;	// ... have to be published again
	bool dead;	// exit was seen
	bool told_syms;
	bool named;	// by the user, or a child of one that is
	u64 dead_at;	// ns; 0: at the next tick
	u64 time;	// of its newest record
	struct UwChunks chunks; // in the kernel
	u64 not_before; // ns: it is not looked at again before that
	u64 gen;	// their generation (struct RtUwChunk)
	size_t unseen;	// its number + 1 in Procs.unseen, 0: it is not there
	MapList maps; // by start
	MapList made; // code made at run time, as far as its makers tell, by start
	u64 jits;     // version of its list in rt_jits, of which made is; 0: none
	VEC(struct Pending) pending;
};
struct Procs {
	struct Syms *syms;
	struct ProcsMaps fd;
	struct ProcsOps ops;
	struct UwProc *bucket[PROC_BUCKETS];
	u32 n, ndenied;
	u64 *denied; // a bit a process whose mappings may not be read: it is forgotten and found again; NULL: there is none
	u64 gen;	       // the last one given
	VEC(int) only;	       // only these are looked for, their children and whoever a stack was taken of are found as well; empty: all
	bool follow, rescan, full, on_demand;
	bool scanned; // the first time
	VEC(struct UwProc *) dirty; // dirty or changed
	VEC(struct UwProc *) unseen; // of whom uwprocs_look() has not seen all
	VEC(int) asked; // keys of rt_uw_asked, of whom the kernel side asked; it may ask again after the next tick
	struct UwFiles *files;
	u64 reports;   // uwprocs_report()
};
struct UwProc **uwproc_slot(struct Procs *p, int tgid); // where it is, or would be: NULL there
struct UwProc *uwproc_get(struct Procs *p, int tgid); // it begins if it is not there
struct UwProc *uwproc_get_wanted(struct Procs *p, int tgid); // NULL: nobody asks for it
void uwproc_drop_pending(struct UwProc *q);
void uwproc_publish(struct Procs *p, struct UwProc *q); // its mappings, to the kernel side
void uwproc_publish_as(struct Procs *p, struct UwProc *q, u64 gen); // with the generation of equal ones
void uwproc_mark(struct Procs *p, struct UwProc *q, bool dirty); // for uwprocs_settle(): they changed; dirty: they are to be read again

// on_demand: processes are followed once the kernel side has asked for them; of others it is only learnt which files there are
struct Procs *uwprocs_create(struct Syms *syms, const struct ProcsMaps *maps, const struct TrackOpts *o, bool on_demand, const struct ProcsOps *ops);
void uwprocs_destroy(struct Procs *p);
void uwprocs_scan(struct Procs *p);	       // every live process; on demand those that are followed
u32 uwprocs_count(const struct Procs *p);	       // those that are known
void uwprocs_new(struct Procs *p, int tgid);
void uwprocs_asked(struct Procs *p, int tgid);   // the same, for the kernel side
void uwprocs_may_ask(struct Procs *p, u32 key); // the kernel side, with that key, after the next tick
// The mappings of tgid now (0: none); fn gets its objects, that of path (NULL: none), and the libraries that these name.
void uwprocs_first(struct Procs *p, int tgid, const char *path, void (*fn)(void *, struct SymObject *), void *arg);
void uwprocs_event(void *procs, const struct MapEvent *e); // procevents.c
bool uwprocs_settle(struct Procs *p);	       // after a batch of events: reads mappings again where they changed. True: some have to wait
void uwprocs_tick(struct Procs *p, u64 now_ns);  // now and then: forgets the dead
// Each process for whose mappings fn has not been true yet.
void uwprocs_look(struct Procs *p, bool (*fn)(void *arg, int tgid, const struct ProcMap *maps, size_t n), void *arg);
void uwprocs_look_again(struct Procs *p); // at all of them
// Code made at run time, by address, in place of what was told before; jits: version of the process's list (struct RtUwChunk), 0: it has none in rt_jits. False: there is no such process.
bool uwprocs_made(struct Procs *p, int tgid, const struct ProcMap *made, size_t n, u64 jits);
void uwprocs_report(struct Procs *p); // any thread; a report is over: stacks before it are told, and taken out of their maps
u32 uwprocs_denied(const struct Procs *p); // processes whose mappings may not be read

// ---- rowstore.c: rows of all objects in rt_uw_pages and rt_uw_dir. One thread at a time; rowstore_make(), rowstore_used() and rowstore_bytes() any.
struct RowStore; // owner of the inner maps
struct UwTable;	 // unwind/unwind.h
struct RowStore *rowstore_create(int pages_fd, u8 *dir, bool bounded); // bounded: what no stack has needed for a while is taken out when there is much
void rowstore_destroy(struct RowStore *s);
// Values made before they are needed: the kernel waits for a grace period of RCU when one is put into a map of maps, on a busy machine 20 ms
// (kernel/bpf/syscall.c, maybe_wait_bpf_programs). rowstore_ahead() says how many are missing, 0 none; they are made without anything else of the store being
// touched, while another thread may build, and then given to it.
#define ROWS_AHEAD 16u
struct RowValue {
	u32 key;
	int fd; // -1: the outer map alone has it
};
struct RowAhead {
	u32 n;
	struct RowValue v[ROWS_AHEAD];
};
u32 rowstore_ahead(struct RowStore *s, u32 need, u32 spare, struct RowAhead *a); // spare: beyond what is needed; some of them may be missing
void rowstore_make(const struct RowStore *s, struct RowAhead *a);
void rowstore_give(struct RowStore *s, const struct RowAhead *a);
u32 rowstore_values(const struct UwTable *tab); // at most so many its rows take
bool rowstore_put(struct RowStore *s, const struct UwTable *tab, struct RtUwObj *o); // tab has rows; fills o's directory. False: no room
// Of an object with pages first to last only some have their records, the others are out.
bool rowstore_begin(struct RowStore *s, const struct UwTable *tab, u64 first, u64 last, const u32 *pages, u32 n, struct RtUwObj *o);
void rowstore_again(struct RowStore *s, const struct UwTable *tab, const struct RtUwObj *o, const u32 *pages, u32 n); // records of pages of the file, ascending
// Pages are counted from the object's first.
void rowstore_pin(struct RowStore *s, const struct RtUwObj *o, u32 page); // it is never taken out
bool rowstore_is_out(const struct RowStore *s, const struct RtUwObj *o, u32 page); // it has no record, but may have one
void rowstore_used(struct RowStore *s, u32 dir); // a stack has needed this entry of the directory
void rowstore_trim(struct RowStore *s);
u64 rowstore_bytes(const struct RowStore *s);

// ---- tablemaps.c: rows of one object into rt_uw_obj, rt_uw_dir, rt_uw_pages, rt_uw_rules, rt_langs, rt_chains, and what that told of the object
struct TableMaps;
struct UwHurry; // unwind/unwind.h
// Rows of an object that sym_object_made() made, in place of those of its file.
struct MadeRow {
	u64 off;
	struct RtUwRule rule;
};
struct UwMade {
	VEC(struct ElfCfi) cfi; // segments' offsets are those of the object; all of them ascend
	VEC(struct MadeRow) rows; // in place of that, ascending; the last one ends the code
	u32 lang; // number of the runtime whose loop it is a part of, 0: none
};
void uwmade_free(struct UwMade *m);

// ---- rawcode.c: files with code that are no ELF files
struct RawFile {
	struct SymObject *obj;
	u64 hash; // of what its rows are of
	u64 at_ns, wait_ns; // when it is looked at again, and how long after that
	u32 times; // it was read
};
struct RawFiles {
	VEC(struct RawFile) v;
};
struct UwMade *rawcode_read(struct RawFiles *v, struct SymObject *o); // NULL: too large, or no file to read
struct SymObject *rawcode_changed(struct RawFiles *v, u64 now, u64 *next); // as tablemaps_changed()

struct err *tablemaps_create(struct Program *prog, bool on_demand, struct TableMaps **out); // on_demand: tables that nobody asks for may never be built
void tablemaps_destroy(struct TableMaps *t);
// By one thread. Writes the object's rows and fills out; returns RT_UW_READY or why there are none; RT_UW_PENDING: hurry ended it, or its file is closed.
// On demand a large table has no pages yet but those that cannot be made one by one.
u32 tablemaps_build(struct TableMaps *t, struct SymObject *o, const struct UwHurry *hurry, struct RtUwObj *out);
u32 tablemaps_made(struct TableMaps *t, const struct UwMade *m, struct RtUwObj *out); // the same of code made at run time
struct SymObject *tablemaps_changed(struct TableMaps *t, u64 now_ns, u64 *next); // a file with code that is no ELF file has other code than its rows are of; NULL: none, until *next
void tablemaps_put(struct TableMaps *t, u32 obj, u32 state, struct RtUwObj *table); // the kernel side sees it from now on
void tablemaps_again(struct TableMaps *t, struct SymObject *o, const u32 *pages, u32 n); // pages of it that were taken out, ascending, counted from its first
struct RowStore *tablemaps_rows(struct TableMaps *t);
void tablemaps_on_room(struct TableMaps *t, void (*room)(void *arg, u32 values), void *arg); // called before so many values of rows are stored
void tablemaps_trim(struct TableMaps *t); // on demand: what stacks have not needed for a while goes, if there is much
// By any thread.
u32 tablemaps_state(const struct TableMaps *t, u32 obj); // RT_UW_*
struct RtLang *tablemaps_row(struct TableMaps *t, u32 lang);
u32 tablemaps_lang(struct TableMaps *t, u32 obj, bool *pending); // number of the object's runtime, 0: none; pending is set if that is not known yet
bool tablemaps_body(struct TableMaps *t, u32 lang, struct RtUwRule *out); // the rule of most of PHP's or LuaJIT's loop; false: it has none
bool tablemaps_any_java(struct TableMaps *t);
bool tablemaps_any_jit(struct TableMaps *t);
u64 tablemaps_jit(struct TableMaps *t, u32 obj, bool *pending); // where the object has its list of code made at run time; JIT_DUMP: it is a jitdump; JIT_PCRE: it compiles regular expressions; JIT_CLR: it is .NET's runtime; JIT_BEAM: it is Erlang's, and does not tell; 0: none of these
#define JIT_DUMP 1
#define JIT_PCRE 2
#define JIT_CLR 3
#define JIT_BEAM 4
void tablemaps_used(struct TableMaps *t, u32 obj, u64 off); // a stack has a frame there
u64 tablemaps_bytes(const struct TableMaps *t); // of the maps it has made

// ---- tables.c: objects' tables in the background, one after the other
struct Tables; // owner of the thread and of its TableMaps
struct err *tables_create(struct Program *prog, bool lazy, double cpu, struct Tables **out); // lazy: only what stacks ask for is built; cpu: TrackOpts.tables_cpu
struct TableMaps *tables_maps(struct Tables *t);
// What building may take of a processor. A start takes its part at once, and what was saved meanwhile is kept up to as much.
#define TABLES_CREDIT_NS 1e9
struct TablesPay {
	double share;  // of a processor, in the long run; 0: as it comes
	double credit; // ns
	u64 at_ns, used_ns; // up to when that is: CLOCK_MONOTONIC, the thread's own time
};
u64 tables_pay(struct TablesPay *p, u64 now_ns, u64 used_ns); // how long it has to wait, ns
void tables_need(struct Tables *t, struct SymObject *o, bool named); // any thread; some process maps it, one that the user has named. Calls before the start are counted
void tables_hurry(struct Tables *t, u32 obj);		  // build this object before those that nobody asks for
void tables_page(struct Tables *t, u32 obj, u64 page); // likewise a page of it that was taken out
void tables_trim(struct Tables *t); // lazy: what stacks have not needed for a while is taken out, if there is much
struct err *tables_start(struct Tables *t);		  // starts the thread, the most mapped objects first
void tables_wait(struct Tables *t, u64 until_ns); // until everything asked for is built, at most until then (CLOCK_MONOTONIC)
void tables_wait_for(struct Tables *t, const u32 *obj, u32 n, u64 until_ns); // until those are built
void tables_wait_made(struct Tables *t, u64 until_ns); // until those of code made at run time are built
bool tables_made(struct Tables *t, struct SymObject *o, struct UwMade *made); // builds it in place of the object's own. Takes made. False: it can have none
void tables_on_found(struct Tables *t, void (*found)(void *arg), void *arg); // set before the start; called by threads that build: processes that map what was built just now are worth a look
bool tables_again(struct Tables *t); // since it was last asked, a table was built that makes a second look at all processes worth while
void tables_destroy(struct Tables *t);

// ---- gdbjit.c
struct JitMemory {
	bool (*read)(void *arg, u64 addr, void *buf, size_t n);
	void *arg;
};
u64 gdbjit_descriptor(struct ElfFile *f); // address of __jit_debug_descriptor in the file; JIT_PCRE: it has none, but names a function of PCRE's JIT; JIT_CLR: it exports what .NET's debuggers begin with; JIT_BEAM: it has no such symbol, but is Erlang's; 0: none of these
// What the list's head is now, added to h as bpfrt/jit.bpf.c does; *first: its first entry. 0: unreadable.
u64 gdbjit_version(const struct JitMemory *m, u64 desc, u64 h, u64 *first);
struct JitEntry {
	u64 at, file, size; // addresses; bytes of the file
};
u32 gdbjit_list(const struct JitMemory *m, u64 first, struct JitEntry *out, u32 max); // returns how many were read
struct JitElf {
	struct ElfCfi cfi; // its segments are the ranges of code, by address
	VEC(struct MadeRow) rows; // in place of unwinding information, by address
	VEC(struct MadeSym) syms; // by address, each in a range
	VEC(struct MadeLine) lines; // as those of struct MadeNames; their files are texts of the image
	char *names;
	u64 names_size;
};
bool gdbjit_parse(const u8 *image, u64 size, const struct JitMemory *m, struct JitElf *out); // false: it has no code
void gdbjit_free(struct JitElf *e);
void gdbjit_fit(struct JitElf *e); // functions by address, those that lie in a range
bool beamjit_parse(const u8 *image, u64 size, u32 stop, struct JitElf *out); // beamjit.c: the same of Erlang's form. stop: as below
#define BEAMJIT_LAYOUT 32
// One of its files, of BEAMJIT_LAYOUT bytes: *stop is where a process has its stack pointer; 0: its stacks hold frame pointers, or it is not known. False: it is another file.
bool beamjit_layout(const struct JitMemory *m, const u8 *image, u64 size, u32 *stop);
u16 gdbjit_machine(void); // EM_* of this program

// ---- jithidden.c: the list of Erlang's emulator where no symbol tells of it
#define JIT_HIDDEN 16
u32 jithidden_places(const struct ElfFile *f, u64 out[JIT_HIDDEN]); // addresses in the file where it may begin; returns how many
bool jithidden_begins(const struct JitMemory *m, u64 desc); // does it, with files of Erlang's form?
struct JitHidden {
	const struct SymObject *obj; // NULL: no such process
	u64 start;	    // of its mapping that was looked at
	u64 at[JIT_HIDDEN]; // where it may begin
	u32 n, tries;
	u64 not_before; // ns
	u64 found; // 0: not yet, or nowhere
};
void jithidden_look(struct JitHidden *h, int tgid, const struct ProcMap *emulator); // looks for it; h is then of that mapping
bool jithidden_may(const struct JitHidden *h); // it is not found, but may be soon

// ---- overlay.c: lists of mappings, by start
void maps_put(MapList *v, struct ProcMap new); // what it covers of others goes, they may be cut in two
// maps, and in those that no file lies in the pieces of `made`.
void maps_overlay(const MapList *maps, const MapList *made, MapList *out);

// ---- jits.c: rt_jits. Used by the tracker thread only.
struct Jits;
struct Jvms;
struct Jits *jits_create(int fd, struct Syms *syms, struct Tables *t, struct Procs *p, struct Jvms *jvms);
void jits_destroy(struct Jits *j);
bool jits_look(void *jits, int tgid, const struct ProcMap *maps, size_t n); // for uwprocs_look(). True: there is no more to find
bool jits_any(const struct Jits *j); // does some process tell of code?
void jits_asked(struct Jits *j, int tgid);
bool jits_round(struct Jits *j, bool tick); // true: there is more to do soon
void jits_gone(struct Jits *j, int tgid);

// ---- jvms.c: rt_jvms. Used by the tracker thread only.
struct Jvms;
struct Jvms *jvms_create(int fd, struct Tables *t);
void jvms_destroy(struct Jvms *j);
bool jvms_has(struct Jvms *j, int tgid);
bool jvms_look(void *jvms, int tgid, const struct ProcMap *maps, size_t n); // for uwprocs_look(). True: there is no more to find
void jvms_script(struct Jvms *j, int tgid, struct Codes *codes, const struct RtCodeNew *code); // of JavaScript: its script's lines are read
void jvms_gone(struct Jvms *j, int tgid);

// ---- what jits.c, jitobj.c, opcache.c, luatraces.c and sljit.c share: they make objects of code made at run time; the last three know what its maker does not tell
struct PhpCode { // opcache.c; start 0: none
	u64 start, size;
	u64 bias; // address - file offset of PHP's own object
	u32 lang;
	struct SymObject *obj;
};
struct LuaArea { // luatraces.c: LuaJIT's memory for compiled code
	u64 start, size;
	struct SymObject *obj; // NULL: it was not read yet
	bool here;
};
struct LuaCode {
	u32 lang; // 0: none
	VEC(struct LuaArea) v;
};
struct Block { // sljit.c: a piece of code
	u64 start, size, hash;
	struct SymObject *obj; // NULL: nothing was understood of it
	bool here;
};
struct Blocks {
	VEC(struct Block) v;
	VEC(struct CfiSeg) areas; // vaddr and size: memory without a file that may be run
};
struct WasmProc; // wasmcode.c
struct ClrProc; // clrcode.c
struct JitListed {
	struct JitEntry is;
	u64 hash;
	struct SymObject *obj; // NULL: nothing was understood of it
	u64 base;
	bool here;
};
struct Jit {
	int tgid;
	u32 ndesc;
	u64 desc[RT_JIT_DESCS];
	u64 version; // of the list as it was read; 0: it has to be read (again)
	u64 part;    // version of the list of which entries are a part, the rest is still to be read; 0: there is none
	u64 told;    // with maps
	VEC(struct JitListed) entries;
	const struct SymObject *dump_obj;
	struct JitDump *dump;
	u32 ndump; // pieces of it that were looked at
	u32 stop; // of Erlang (beamjit_layout)
	struct JitHidden hidden;
	MapList maps; // pieces of code, by address
	bool changed; // maps, since they were told
	bool listed;  // in rt_jits
	struct PhpCode php;
	struct LuaCode lua;
	struct Blocks pcre;
	struct WasmProc *wasm; // owned; NULL: it has no V8
	struct ClrProc *clr; // owned; NULL: it has no .NET
	u32 soon;     // looks to come
	u64 not_before; // ns
};
struct JitKnown {
	u64 h1, h2; // see struct NumTab
	struct SymObject *obj; // NULL: there was no room for one
};
struct Jits {
	int fd; // rt_jits, borrowed as is
	struct Syms *syms;
	struct Tables *tables;
	struct Procs *procs;
	struct Jvms *jvms;
	VEC(struct Jit *) v;
	struct NumTab known;
	u32 nobjects, nrefused; // pieces of code with an object, and those for which there was no room
	bool stale; // some were refused, and most of what has an object is gone; read by other threads
};

// ---- jitobj.c
struct JitHash {
	u64 a, b;
};
void jit_hash(struct JitHash *h, const void *p, size_t n);
// The object of code whose addresses count from base. Takes made, whose segments have their offsets. NULL: there is no room for one.
struct SymObject *jit_object(struct Jits *j, u64 base, u64 span, const struct MadeNames *names, struct UwMade *made);
bool jit_is_stale(const struct Jits *j); // more than half of the objects that there is room for are of code that no process has any more
// The piece at start of an object that it is `off` bytes of; NULL: nothing is known of it.
void jit_put(struct Jit *t, u64 start, u64 size, u64 off, struct SymObject *o, enum ProcMade made);
u64 jit_place_of(const struct ProcMap *m, u64 vaddr); // an address of the mapping's object, in the process; 0: it is not there
bool jit_read_memory(void *tgid, u64 addr, void *buf, size_t n); // for struct JitMemory: of the process *(int *)tgid

// ---- pieces.c
struct Pieces {
	VEC(struct MadeSym) syms; // by address; names owned
	VEC(struct UwMade *) made; // of each its rows, from 0 on; owned
};
void pieces_give(struct Jits *j, struct Jit *t, struct Pieces *v, enum ProcMade how); // makes objects of them, and leaves v empty

// ---- opcache.c: the process's JIT code of PHP
void opcache_look(struct Jits *j, struct Jit *t, const struct ProcMap *maps, size_t n);
void opcache_read(struct Jits *j, struct Jit *t);
void opcache_rows(struct UwMade *made, const u8 *code, u32 size, const struct RtUwRule *body); // of its own pieces, which come first; appends what differs from the loop's rule
bool opcache_has(struct Jits *j, const struct ProcMap *maps, size_t n);

// ---- luavm.c: rows of the places where LuaJIT's machine, the `size` bytes of code at `off` of the file, has not its whole frame
struct RuleSet;
struct UwTable;
void luavm_rows(const u8 *code, u64 off, u64 size, struct RuleSet *rules, struct UwTable *tab);

// ---- luatraces.c: code that LuaJIT has compiled
bool luatraces_has(struct Jits *j, const struct ProcMap *maps, size_t n);
void luatraces_look(struct Jits *j, struct Jit *t, const struct ProcMap *maps, size_t n);
void luatraces_read(struct Jits *j, struct Jit *t);

// ---- wasmmodule.c
#define WASM_MAGIC "\0asm\1\0\0" // and the zero behind it
struct WasmName {
	const char *p; // in the module's bytes; not a string
	u32 n;
};
struct WasmModule {
	u32 nimports, nfuncs;	// functions: those imported come first
	struct WasmName *names; // of all; n 0: none
};
bool wasmmodule_parse(const u8 *p, u64 size, struct WasmModule *m); // false: it has no functions. wasmmodule_free() either way
void wasmmodule_free(struct WasmModule *m);

// ---- wasmmem.c: where a process that maps V8 may have code of WebAssembly, and what V8 knows of it
#define WASM_SLOT_MAX 8u // bytes of a jump of a table, at most
#define WASM_COST 20	 // looks and readings of /proc/PID/maps take a twentieth of the time each, at most
struct WasmTable { // of jumps
	u64 at;
	u32 tries;
	bool known; // so is its module
};
struct WasmMem {
	VEC(struct CfiSeg) areas; // mappings without a file that may be run: vaddr, size
	VEC(struct WasmTable) tables;
	u64 not_before; // ns: a reading of the mappings
};
struct WasmHeap { // where malloc's memory is
	VEC(struct CfiSeg) v; // off: 0 for its first, 1 for others. Owned by who asked
};
struct WasmFound { // perhaps what V8 knows of a piece of code
	u64 at, module;
};
typedef VEC(struct WasmFound) WasmFoundList;
bool wasmmem_has(const struct WasmMem *w, u64 at, u64 size); // are these bytes in an area?
void wasmmem_read(struct WasmMem *w, int tgid, struct WasmHeap *heap); // areas anew, and the heap; NULL: it is not wanted
void wasmmem_tables(struct WasmMem *w, int tgid); // adds those that begin a page of an area
void wasmmem_scan(const struct WasmMem *w, int tgid, const struct WasmHeap *heap, WasmFoundList *out); // appends words of the heap that are followed by an address in an area
void wasmmem_deinit(struct WasmMem *w);
bool wasmmem_is_table(const u8 *page, u64 n, u64 at, u64 end); // for tests: do these bytes of a page at `at` begin a table, whose jumps end before `end`?

// ---- wasmcode.c: code that V8 has compiled of WebAssembly
bool wasmcode_has(struct Jits *j, const struct ProcMap *maps, size_t n);
struct WasmProc *wasmcode_create(void);
void wasmcode_destroy(struct WasmProc *w);
void wasmcode_asked(struct WasmProc *w); // a stack has met code that may be such
bool wasmcode_any(const struct WasmProc *w); // some is known
void wasmcode_read(struct Jits *j, struct Jit *t);

// ---- clrcode.c: code that .NET has compiled
struct ClrProc *clrcode_create(int tgid, u64 table, u64 contract); // addresses of what the runtime exports: g_dacTable; for clrname.c
void clrcode_destroy(struct ClrProc *c);
void clrcode_look(struct Jits *j, struct Jit *t, const struct ProcMap *runtime, const struct ProcMap *maps, size_t n); // runtime: where its object lies
void clrcode_find(struct Jit *t, struct Pieces *out); // appends what was compiled since the last look; takes what is gone out of t's maps
size_t clrcode_heaps(const struct ClrProc *c); // that it knows
void clrcode_read(struct Jits *j, struct Jit *t);

// ---- clrname.c
struct ClrNames;
struct ClrNames *clrnames_create(int tgid, u64 contract); // contract: the address of what the runtime says of its structures; 0: .NET 8, which says nothing
void clrnames_destroy(struct ClrNames *n);
void clrnames_drop(struct ClrNames *n); // what it has read of modules
char *clrnames_method(struct ClrNames *n, u64 method); // malloced; method: its MethodDesc
bool clrnames_shape_of(const char *text, u32 out[5]); // for tests: what names need of that text

// ---- sljit.c: compiled patterns of PCRE
bool sljit_has(const struct ProcMap *maps, size_t n); // may there be such code?
void sljit_look(struct Jit *t, const struct ProcMap *maps, size_t n);
void sljit_read(struct Jits *j, struct Jit *t);
// Blocks in use of the memory p, which lies at `at`: out. False: it is none of that allocator's, or being changed.
bool sljit_blocks(const u8 *p, u64 size, u64 at, struct Blocks *out);
bool sljit_rows(const u8 *code, u64 size, struct UwMade *out); // false: it does not begin as its functions do
#endif
