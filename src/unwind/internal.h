// What the files of unwind/ share.
#ifndef SONDE_UNWIND_INTERNAL_H
#define SONDE_UNWIND_INTERNAL_H
#include "arch/arch.h"
#include "unwind/unwind.h"

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
u32 cfi_ra(u16 machine); // DWARF number of the return address
// The rule a state amounts to.
void cfi_rule(const struct CfiState *st, bool signal, u16 machine, struct RtUwRule *out);

// ---- flow.c: rules of code of x86-64 and arm64 that has no .eh_frame
struct FlowCode { // bytes of code, borrowed
	u64 vaddr, size;
	const u8 *p;
};
struct FlowRow {
	u64 pc; // from here on
	struct RtUwRule rule; // kind RT_UW_NONE: not known
};
struct FlowMachine;
struct FlowIn {
	const struct FlowMachine *machine;
	const struct FlowCode *code; // ascending, apart from one another
	u32 ncode;
	const u64 *starts; // where functions begin, as far as symbols tell; in any order
	u32 nstarts;
	u64 entry; // where the kernel enters the file, 0 none
	const struct UwHurry *hurry; // may be NULL
	const struct ElfFile *file; // where the tables of switches lie; may be NULL
	bool keep_frames; // functions may end in ways that are not understood (V8's builtins): what a frame pointer proves of them holds
	bool image; // GraalVM's native image: behind each call in compiled Java there is a nop, and what stands behind that goes on in the function
	bool by_sp; // tests compare with rules of compilers: by the stack pointer where it is known, also where a frame pointer proves the frame
};
typedef VEC(struct FlowRow) FlowRows;
// Appends rows, ascending. Code that could not be understood gets one of kind RT_UW_NONE, padding between functions none. False: in->hurry ended it.
bool flow_rows(const struct FlowIn *in, FlowRows *out);

// ---- flowparts.c: rules of much code, a part at a time
typedef VEC(u64) PackedRows; // UW_ROW(address, rule), ascending
void flow_pack(FlowRows *rows, struct RuleSet *rules, PackedRows *out); // appends; an end to rows
struct FlowRange {
	const struct CfiSeg *seg;
	u64 from, to; // addresses
};
#define FLOW_PARTS_MAX (96ull << 20) // bytes of code of one file: 5 s. Chromium's 236 MB keep frame pointers
#define FLOW_IMAGE_MAX (256ull << 20) // ... of a native image
// Of the file's code at these ranges, which are ascending and apart; in->code is not used. Appends. False: in->hurry ended it.
bool flow_parts(const struct ElfCfi *e, const struct FlowRange *ranges, size_t nranges, const struct FlowIn *in, struct RuleSet *rules, PackedRows *out);

// ---- gopclntab.c: rules of Go's code, from Go's own table. Appends rows, ascending. False: the file has no such table.
bool go_rows(const struct ElfCfi *e, FlowRows *out);

// ---- pdata.c: rows of a PE file's code, ascending; appends. False: hurry ended it.
bool pdata_rows(const struct ElfCfi *e, const struct UwHurry *hurry, FlowRows *out);

// ---- flowinsn.c, flowarm64.c: instructions as far as they move the stack
enum { RBP = 5, RSP = 4, NO_REG = INSN_NO_REG }; // numbers in instructions of x86-64
#define FLOW_UNKNOWN INT32_MIN
#define FLOW_MAX_FRAME (1 << 24)
enum FlowRoot { FLOW_ROOT = 1, FLOW_ROOT_ENTRY }; // it says so itself; the kernel enters it
enum FlowAligned { // what rbp holds in a frame below an aligned stack
	FLOW_ALIGNED_NO, // nothing that is known
	FLOW_ALIGNED_SAVED, // the address of the slot of the caller's rbp
	FLOW_ALIGNED_COPY, // the aligned stack pointer; where the copy is stored counts from it
};
struct FlowState { // before an instruction. fp is the frame pointer: rbp, x29
	s32 sp, fp; // CFA - sp; CFA - fp, FLOW_UNKNOWN while it is the caller's
	// assembly that aligns its stack copies the stack pointer to a register, which it may store below
	s32 copy;   // CFA - register
	u32 copy_reg; // its number + 1, 0 none
	s32 low; // rsp after alignment - rsp; FLOW_UNKNOWN
	s32 stored_at, stored; // rsp after alignment - slot, CFA - what is stored there; stored 0: nothing
	// compilers copy the CFA to a register (copy 0), align, and make a frame with a frame pointer below, where they store it
	s32 saved_at; // rsp after alignment - slot of the caller's rbp, 0: nowhere; with FLOW_ALIGNED_COPY: rsp after alignment - rbp
	s32 cfa_at;   // where the CFA is stored, relative to that slot; 0: nowhere
	s16 slot[RT_UW_SLOTS]; // where the caller's value is, CFA-relative; 0: in its register
	u32 root; // nothing called this: enum FlowRoot
	u8 in_lr; // arm64: x30 holds the return address; x86-64: ra_copy does, and what is on the stack is the caller's
	u8 ra_copy; // so does this register: its number + 1, 0 none
	// arm64
	s16 ra; // where it is saved, CFA-relative; 0: nowhere
	u8 number_reg; // a register that holds a number: its own + 1, 0 none
	u8 met; // ways met that do not agree: nothing is known
	u8 aligned; // what rbp holds: enum FlowAligned
	u8 fprel; // bit k: slot[k] is relative to rbp
	s32 number; // (states are compared by their bytes)
};
// What differs between machines.
struct FlowMachine {
	enum PtArch arch;
	u32 unit; // instructions lie at multiples of it
	u8 filler; // a byte that is between functions and nowhere else; 0 none
	s32 plt_from, plt_to; // bytes on the stack, beside what entered has, before a PLT's first entry and where it jumps on
	struct FlowState entered; // of a function that has just been called
	enum Branch (*effect)(struct FlowState *s, const struct Insn *in); // what it does to the state, and where it goes on
	bool (*is_padding)(const struct Insn *in); // compilers and linkers put it between functions
	// Only the beginning of a function does this: it may be one that never returns.
	bool (*makes_frame)(const struct Insn *in);
	// Behind a call, in that state (NULL: any): does another function begin at pc, of which n bytes are at p?
	bool (*begins)(const struct FlowState *s, const u8 *p, u64 n, u64 pc);
	// Nothing is left on the stack but `more` bytes, and the return address is where the caller put it: such a state proves a function's end.
	// in: what returns; NULL: it goes on to another function.
	bool (*left)(const struct FlowState *s, const struct Insn *in, s32 more);
	// Does an indirect jump lead to another function, by a slot?
	bool (*by_slot)(const struct FlowState *s, const struct Insn *in);
	bool (*borrows)(const struct FlowState *s, const struct Insn *in); // does it give up a frame that it has not made? NULL: never
	bool (*is_plt_head)(const u8 *p, u64 n); // the first entry of a PLT
	u32 (*compares_stack)(const struct Insn *in); // the number of the register that it compares the stack pointer with + 1; 0: none. NULL: it is not looked for
	u64 (*takes_address)(const struct Insn *in); // which address it puts into a register; 0: none, or not known
	void (*rule)(const struct FlowState *s, bool by_sp, struct RtUwRule *r); // r is zero before; kind RT_UW_NONE: none
};
extern const struct FlowMachine flow_x86, flow_arm64;
// The instruction at pc; false: none.
static inline bool flow_decode(const struct FlowMachine *m, const u8 *p, u64 n, u64 pc, struct Insn *in)
{
	return !(pc % m->unit) && insn_decode(m->arch, p, n, pc, in);
}
bool flow_only_padding(const struct FlowMachine *m, const u8 *p, u64 n); // n bytes of that, or zeros
// flowinsn.c, for code of x86-64 alone
enum Branch flow_effect(struct FlowState *s, const struct Insn *in);
int flow_slot(u32 reg); // among the registers that the walker restores (RT_SLOT_REGS); -1: none of them
s32 flow_moved(s32 from, s64 by); // a distance, FLOW_UNKNOWN beyond any frame
// flowstate.c
bool flow_framed(const struct FlowState *s); // the frame pointer holds the address where the caller's is saved: it finds the CFA, wherever the stack pointer is
bool flow_entered(const struct FlowMachine *m, const struct FlowState *s); // so, or nothing has been saved yet, or that alone
bool flow_same_frame(const struct FlowState *a, const struct FlowState *b); // two ways may meet
void flow_rule(const struct FlowMachine *m, const struct FlowState *s, bool by_sp, bool guess, struct RtUwRule *r); // kind RT_UW_NONE: none

// ---- context.c: where coroutines of makecontext(3) return to: the function at pc; code between entries
bool context_start(const struct ElfCfi *e, const struct CfiSeg *seg, u64 pc, u64 len);
bool context_start32(const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 to);
// The first piece of swapcontext, from *from to *to, where setcontext's rule holds.
bool context_swap(const struct ElfCfi *e, const struct CfiSeg *seg, u64 pc, u64 end, u64 *from, u64 *to);

// ---- pushes.c: i386: in the function at pc, whose entry has one rule, the stack is 4 bytes larger between two places
bool pushes_copying(const struct ElfCfi *e, const struct CfiSeg *seg, u64 pc, u64 end, u64 *from, u64 *to);

// ---- part.c: pages of a file of which rows are wanted, ascending
struct Part {
	const struct ElfCfi *elf;
	const u32 *pages;
	u32 n;
};
// Do these hang on an entry, or on one beside it? before: where the one before it begins (0: none); after: the one behind the next (~0: none)
bool part_near(const struct Part *p, u64 before, u64 after);

// ---- ehframe.c: entries of .eh_frame and .debug_frame
struct Fde {
	u64 pc, end; // end 0: malformed
	u64 at; // offset of its entry in the section
};
struct Frames { // one section
	const struct ElfCfi *elf;
	const struct CfiSec *sec;
	const struct Part *part; // only entries near it are listed; NULL: all
	bool eh;
	VEC(struct Fde) fdes; // by pc
	VEC(struct Cie) cies;
	u32 last_cie;
	u16 machine;
	u8 word; // bytes of an address
	const struct UwHurry *hurry;
};
struct FdeBody {
	const struct Cie *cie;
	u64 pc, len;
	struct Bytes insns;
};
// Lists the entries of both sections: .eh_frame's in f[0], with debug .debug_frame's in f[1]. frames_deinit() frees them.
void frames_list(const struct ElfCfi *e, struct Frames f[2], const struct Part *part, bool debug, const struct UwHurry *hurry);
void frames_deinit(struct Frames f[2]);
u32 frames_first_at(const struct Frames *f, u64 pc); // number of the first listed entry that begins at pc or above it
// The entry at an offset of its section, and where the next one begins; out->cie NULL: a CIE, or malformed. False: the section ends there.
bool fde_parse(struct Frames *f, u64 at, struct FdeBody *out, u64 *next);
u64 fde_pointer(const struct Frames *f, struct Bytes *b, u8 enc); // a pointer encoded as DW_EH_PE_* says; sets b->bad

// ---- veneer.c: instructions that linkers for arm64 have moved out of functions
#define VENEER_SIZE 8
// Do the n bytes at p, of address pc, begin with a veneer of a function that has an entry? *from: where the instruction stood.
bool veneer_is(const struct Frames f[2], const struct ElfCfi *e, const struct CfiSeg *seg, const u8 *p, u64 n, u64 pc, u64 *from);
void veneer_rule(struct Frames f[2], u64 from, struct RtUwRule *out); // the rule of that place; kind RT_UW_NONE: none

// ---- gaps.c: code without entries
#define UW_PADDING 16 // bytes between functions that are not worth a row: nothing is executed there
#define UW_PIECE 16384ull
struct GapSection {
	u64 from, to; // addresses
};
struct Gaps { // zero at first
	VEC(struct FlowCode) code;
	VEC(struct FlowRange) parts; // what is too much of it for one piece, or a native image's
	VEC(struct GapSection) sections; // with code, ascending, apart
	bool listed;
	FlowRows veneers;
	u64 size, parts_size; // bytes of both
	u32 looks;
	const struct CfiSeg *seg; // whose bytes at `at` are in piece
	u64 at, n;
	u8 piece[2 * UW_PIECE];
};
const struct FlowMachine *gaps_machine(const struct ElfCfi *e); // NULL: its code is not read. Of arm64 neither V8's builtins nor native images are
void gaps_add(struct Gaps *g, struct Frames f[2], const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 to); // no entry is for these addresses
// ---- gaprows.c: rows of that code, and an end to g. False: stopped by hurry.
bool gaps_rows(struct Gaps *g, const struct ElfCfi *e, struct RuleSet *rules, const struct UwHurry *hurry, PackedRows *out);

// ---- flow*.c: what is known of each byte of code
#define FLOW_INSIDE (~0u)    // of an instruction
#define FLOW_NOW (1u << 31)   // seen by the walk that is going on
#define FLOW_JUMPS (1u << 30) // an indirect jump
#define FLOW_GUESS (1u << 29) // part of what only looked like a function
#define FLOW_STATE(mark) (((mark) & ~(FLOW_NOW | FLOW_JUMPS | FLOW_GUESS)) - 1)
enum { FLOW_IS_START = 1, FLOW_IS_TRIED = 2 }; // a function begins; added for each walk that failed

struct FlowCall {
	u64 after; // address of the next instruction that is no padding, 0: no call
	u64 callee;
	bool padded;
};
struct FlowItem {
	u64 pc;
	struct FlowState st;
	struct FlowCall call; // the last one on the way here
};
struct FlowCallee { // a function, or the slot its address is read from
	u64 pc;
	u32 calls, dead; // how often called, and how often nothing that fits came after
	bool endless;	 // followed to all its ends: none returns
};
struct FlowSwitch {
	u64 start, table, at; // addresses; start: of what was walked, at: of its jump
	u32 base; // register that has the table's
	struct FlowState st; // there
};
struct FlowRegion {
	const struct FlowCode *c;
	u32 *at; // per byte: 0 not seen, FLOW_INSIDE, else index of the state + 1
	u8 *is; // per byte: FLOW_IS_*
};
struct Flow {
	const struct FlowMachine *m;
	struct FlowRegion *regions;
	u32 nregions, last;
	VEC(struct FlowState) states;
	u32 *index, nindex; // hash of states
	u32 state; // the last one looked up
	VEC(u64) queue;	   // functions to walk
	u32 passes; // so many are over
	bool parts; // a region is not all of the code
	u64 lowest, highest; // addresses of all of it
	VEC(u64) far; // addresses in another part that may be functions'
	VEC(u64) taken;	   // functions of which was learnt too late that another one is given them, they have been walked: for the next pass
	u64 steps;	   // instructions that may still be looked at: bounds the work on made-up code
	VEC(struct FlowSwitch) switches; // of which the cases are not followed yet
	size_t known_switches; // of them: those that this walk has not met
	VEC(u64) addresses; // that the code takes
	bool sorted; // these, which are known
	struct FlowSwitch of; // whose cases are being walked; base NO_REG: none
	bool switched; // this walk has come to a switch
	const struct ElfFile *file; // FlowIn's
	const struct UwHurry *hurry;
	bool stopped;
	// the function being walked
	VEC(struct FlowItem) work;
	VEC(u64) seen;		 // instructions
	VEC(struct FlowCall) calls, dead; // dead: those that do not return
	VEC(struct FlowCallee) callees;
	u32 *callee_index, ncallee_index;
	u32 good, bad;
	bool lost; // bad, and no call to blame
	bool joined; // code that was followed before
	bool plt_head;
	bool jumps; // indirectly: a switch, which goes on in the state it has there
	u64 only_found; // what is walked as a function, though nothing names or calls it; 0: something does
	bool found; // nothing names or calls what is walked
	bool inside; // it is part of the function before it
	bool keep_frames, image; // FlowIn's
	bool framed; // its ends need not prove it: what has a frame pointer proves itself
	bool unproven; // and one did not
	bool borrowed; // it gives up a frame that it has not made: others jump here with theirs
};
// ---- flowplace.c
int flow_ascending(const void *a, const void *b); // of words, for qsort(3)
struct FlowRegion *flow_region(struct Flow *f, u64 pc); // NULL: no code
u32 *flow_mark(struct Flow *f, u64 pc);
bool flow_insn_at(struct Flow *f, u64 pc, struct Insn *in); // false: none
bool flow_is_start(struct Flow *f, u64 pc);
void flow_add_start(struct Flow *f, u64 pc); // a function begins there: queued, once
bool flow_begins_in(struct Flow *f, const struct FlowState *st, u64 pc); // begins() there
bool flow_begins(struct Flow *f, u64 pc); // a function does there, by what is known or by its first instructions
bool flow_is_beginning(struct Flow *f, u64 pc); // is there an instruction that only beginnings have?

// ---- flowswitch.c
void flow_switch(struct Flow *f, u64 start, const struct Insn *in, const struct FlowState *st); // the walk from start has met this indirect jump, in that state

// ---- flowwalk.c
bool flow_never_returns(const struct FlowCallee *c);
// Walks from start in that state, without the cases of its switches. True: understood, its marks stay and the functions it calls are queued. Sure: it must have returned
// somewhere, or have come to code that was understood before.
bool flow_walk_one(struct Flow *f, u64 start, const struct FlowState *st, bool sure);
void flow_forget(struct Flow *f); // takes back the walk whose instructions are in f->seen

// ---- flowcases.c
bool flow_walk(struct Flow *f, u64 start, const struct FlowState *st, bool sure); // the same with the cases
void flow_takes(struct Flow *f, const struct FlowCode *c); // of parts, before the first: which addresses the code takes

// ---- flow.c, a pass at a time
void flow_open(struct Flow *f, const struct FlowIn *in); // in->machine and what stands behind entry; flow_close() frees it
void flow_code(struct Flow *f, const struct FlowCode *code, u32 n); // borrowed until the next call: what passes look at, all of it or a part
u32 flow_pass(struct Flow *f, const struct FlowIn *in); // how much is known of functions
void flow_give(const struct Flow *f, bool by_sp, FlowRows *out); // what the last pass has found; appends
void flow_close(struct Flow *f);
#endif
