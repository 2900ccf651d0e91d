// What the files of unwind/ share.
#ifndef SONDE_UNWIND_INTERNAL_H
#define SONDE_UNWIND_INTERNAL_H
#include <pthread.h>
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "unwind/unwind.h"

// ---- trim.c
struct TextSym { // a text symbol of the kernel
	u64 addr;
	const char *module; // NULL: vmlinux; all symbols of a module have one pointer
	bool ours;	    // the tracer's
};
// Boundaries of the kernel's own code from symbols sorted by address.
void trim_bounds(const struct TextSym *s, size_t n, struct RtTrim *out);

// ---- clear.c
struct IdSet; // stack ids
void idset_destroy(struct IdSet *s);
// Deletes from the stack maps fd[] what no user map of prog refers to and what was not referred to last time either (*old). A program may have
// interned a stack and not yet written its key: one round of grace keeps those.
void stacks_sweep(struct Program *prog, const int *fd, u32 nfd, struct IdSet **old);

// ---- why.c
const char *why_text(u32 why); // enum RtWhy -> a few words, "" for RT_WHY_OK
void ends_setup(struct Program *prog);	      // before load_maps: where stacks end shall be counted
void ends_start(const struct Program *prog); // after it

// ---- mmapev.c: the kernel's own account of who maps code: one perf event per CPU (perf_event_open(2), PERF_RECORD_MMAP2)
enum MapEventKind { MAPEV_MMAP, MAPEV_EXEC, MAPEV_FORK, MAPEV_EXIT, MAPEV_LOST };
struct MapEvent {
	enum MapEventKind kind;
	int tgid, parent; // parent: FORK
	u64 start, end, off, ino;
	u32 major, minor;
	const char *path; // valid during the call
};
struct MapEvents; // owner of the descriptors and their buffers
struct err *mapev_open(struct MapEvents **out);
void mapev_close(struct MapEvents *m);
u32 mapev_count(const struct MapEvents *m);
int mapev_fd(const struct MapEvents *m, u32 i); // to poll
// Gives every record there is to fn, oldest first within a CPU.
void mapev_read(struct MapEvents *m, void (*fn)(void *, const struct MapEvent *), void *arg);

// ---- kernoff.c
void kernoff_set(struct Program *prog); // before load_maps

// ---- procs.c: processes and their mappings: rt_uw_maps, rt_uw_files. Used by the tracker thread only (and by unwind_start before there is one).
struct Procs;
struct ProcsOps {
	void (*object)(void *arg, struct SymObject *o); // an object that some process maps; called again and again
	void *arg;
};
struct ProcsMaps { // descriptors of the kernel side's maps, borrowed
	int maps, asked, files;
};
struct Procs *uwprocs_create(struct Syms *syms, const struct ProcsMaps *maps, const struct UwOpts *o, const struct ProcsOps *ops);
void uwprocs_destroy(struct Procs *p);
void uwprocs_scan(struct Procs *p);	       // every live process
void uwprocs_new(struct Procs *p, int tgid);     // asked for by the kernel side
// The mappings of tgid now (0: none); fn gets its objects, that of path (NULL: none), and the libraries that these name.
void uwprocs_first(struct Procs *p, int tgid, const char *path, void (*fn)(void *, struct SymObject *), void *arg);
void uwprocs_event(void *procs, const struct MapEvent *e);
void uwprocs_settle(struct Procs *p);	       // after a batch of events: reads mappings again where they changed
void uwprocs_tick(struct Procs *p, u64 now_ns);  // now and then: forgets the dead
u32 uwprocs_count(const struct Procs *p);

// ---- elfcfi.c: the parts of an ELF file that hold unwind information, copied into memory (the file may change under us)
struct ElfSeg { // executable PT_LOAD
	u64 vaddr, size, off; // bytes of the file
};
struct ElfSec {
	u8 *data; // owned; NULL none
	u64 size, vaddr;
};
struct ElfSrc { // where it is read from
	int fd;
	const u8 *mem; // instead of fd
	u64 size;
};
struct ElfCfi {
	struct ElfSrc src; // for elfcfi_code and elfcfi_starts, which are to be called while it is open
	u64 entry;
	struct {
		u64 off, size;
	} symtabs[2]; // .symtab, .dynsym
	bool is_go; // its functions keep frame pointers
	u16 machine; // EM_X86_64, EM_AARCH64
	VEC(struct ElfSeg) segs; // by file offset
	struct ElfSec eh_frame, eh_frame_hdr, debug_frame;
};
// NULL and no sections for a well-formed file without unwind information; an error for what is no 64-bit ELF file of this machine.
struct err *elfcfi_read(int fd, struct ElfCfi *out);		      // of a file
struct err *elfcfi_read_mem(const u8 *p, u64 n, struct ElfCfi *out); // of an image in memory, borrowed until the table is built
bool elfcfi_code(const struct ElfCfi *e, const struct ElfSeg *seg, u64 vaddr, u8 *dst, u64 n); // n bytes of the segment
typedef VEC(u64) AddrList;
void elfcfi_starts(const struct ElfCfi *e, AddrList *out); // functions that its symbols name
void elfcfi_deinit(struct ElfCfi *e);

// ---- rules.c: distinct rules, numbered; 0 is "no unwind information"
struct RuleSet {
	VEC(struct RtUwRule) v;
	u32 *index; // open addressing, 0 free, else number
	u32 nindex, max;
	u32 last[4096]; // numbers by hash: most rows repeat a rule used shortly before
};
void ruleset_init(struct RuleSet *s, u32 max); // numbers stay below max
void ruleset_deinit(struct RuleSet *s);
u32 ruleset_add(struct RuleSet *s, const struct RtUwRule *r); // 0 when full

// ---- cfi.c: the instructions of one FDE
struct Bytes { // a cursor; reading past the end sets bad and gives 0
	const u8 *p, *end;
	bool bad;
};
u64 bytes_u(struct Bytes *b, u32 size);	// 1, 2, 4 or 8 bytes
u64 bytes_uleb(struct Bytes *b);
s64 bytes_sleb(struct Bytes *b);
struct CfiState {
	struct RtUwRule r;	// CFA and registers as far as the walker can follow them
	bool ra_undef, cfa_bad; // return address undefined; CFA unknown
	bool ra_bad, sp_bad;	// return address, stack pointer of the caller found in a way the walker cannot follow
	bool ra_expr;		// return address is at register ra_reg + ra_off
	u8 ra_reg;
	s64 ra_off;
};
struct Cie {
	u64 at; // offset in its section
	u64 code_align;
	s64 data_align;
	u32 ra;
	u8 fde_enc, version;
	bool signal, has_z;
	struct CfiState init;
};
#define CFI_NO_ENC 0xff
struct CfiRun {
	const struct Cie *cie;
	u16 machine;
	u64 pc, end;			// of the FDE; pc moves
	u64 (*pointer)(void *, struct Bytes *, bool *ok); // DW_CFA_set_loc: an encoded address
	void (*row)(void *, u64 pc, const struct RtUwRule *r); // valid from pc on; called once for each change of place. NULL: a CIE's
	void *arg;
};
// Executes instructions from state *st, giving rows. False: malformed; the rows so far are right.
bool cfi_run(struct CfiRun *run, struct Bytes insns, struct CfiState *st);
void cfi_state_init(struct CfiState *st, u16 machine);
// The rule a state amounts to.
void cfi_rule(const struct CfiState *st, bool signal, u16 machine, struct RtUwRule *out);

// ---- ehframe.c: all rows of an object
#define UW_ROW(off, rule) ((u64)(off) << 16 | (rule))
#define UW_ROW_OFF(r) ((r) >> 16)
#define UW_ROW_RULE(r) ((u32)(r) & 0xffff)
struct UwTable {
	VEC(u64) rows; // UW_ROW(file offset, rule), ascending, consecutive rules differ; rule 0 ends a range
	u32 nfdes, nbad; // FDEs used, FDEs cut short because malformed
	bool rules_full;
};
void uwtable_build(const struct ElfCfi *e, struct RuleSet *rules, struct UwTable *out);
void uwtable_deinit(struct UwTable *t);

// ---- table.c: rows of objects into rt_uw_obj, rt_uw_dir, rt_uw_pages, rt_uw_rules, in the background
// One page's record from its rows (all in that page) and the rule that holds where it begins. Returns its size; out has RT_UW_VAL_SIZE bytes.
u32 uwrec_build(const u64 *rows, size_t n, u32 carry, u8 *out);
struct TablesStat {
	u32 objects, rules, values;
	u32 full;     // objects that did not fit
	u32 bad_fdes; // malformed
	u64 rows, bytes;
};
struct Tables; // owner of the thread and of the inner maps
struct err *tables_create(struct Program *prog, struct Tables **out);
void tables_need(struct Tables *t, struct SymObject *o); // any thread; once per object, further calls count how often it is mapped
void tables_hurry(struct Tables *t, u32 obj);		  // build this object next
struct err *tables_start(struct Tables *t);		  // starts the thread, the most mapped objects first
struct TablesStat tables_wait(struct Tables *t, u64 until_ns); // until everything asked for is built, at most until then (CLOCK_MONOTONIC; 0: no end)
void tables_wait_for(struct Tables *t, const u32 *obj, u32 n, u64 until_ns); // until those are built
void tables_destroy(struct Tables *t);

// ---- unwind.c: for the bench and --verbose. Waits for the tables.
struct TablesStat unwind_stat(struct Unwind *u, u32 *nprocs);
#endif
