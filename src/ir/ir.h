// The IR: functions of basic blocks over virtual registers (not SSA: a vreg may be set more than once). It is the waist between
// the language and the machine: lower.c writes it through the builder below, opt/live/regalloc/emit turn it into eBPF.
//
// Every vreg holds 64 bits: a number or a pointer the verifier knows. Stack objects ("slots") are addressed memory in the
// function's own frame; spills are added by regalloc. Instructions carry the script line they come from.
#ifndef SONDE_IR_H
#define SONDE_IR_H
#include "base/base.h"

typedef u32 IrReg;  // vreg number, 0 is none
typedef u32 IrBlk;  // block index
typedef u32 IrSlot; // stack object index

enum IrOperandKind {
	IRO_NONE,
	IRO_REG,	// vreg
	IRO_IMM,	// s64 constant
	IRO_SLOT,	// address of stack object `id`, plus imm
	IRO_MAPFD,	// the map object `id` (as helpers take it)
	IRO_MAPVAL,	// address inside the value of the array map `id` (one element), plus imm
	IRO_FUNC,	// address of function `id` (callbacks)
	IRO_CTX,	// the program's context pointer; valid in functions[0] only
	IRO_SPILL,	// made by regalloc only: the 8 bytes kept in slot `id`
};
struct IrVal {
	enum IrOperandKind kind;
	u32 id;
	s64 imm;
};

enum IrOp {
	IR_NOP,
	IR_MOV,				// d = a
	IR_ADD, IR_SUB, IR_MUL,		// d = a op b, 64 bits
	IR_UDIV, IR_UMOD,		// by zero: 0, resp. a (as BPF defines)
	IR_SDIV, IR_SMOD,		// C semantics; emit.c uses v4 instructions or a sequence without them
	IR_AND, IR_OR, IR_XOR, IR_SHL, IR_LSHR, IR_ASHR,
	IR_NEG,
	IR_ZEXT, IR_SEXT,		// d = low `size` bytes of a, extended
	IR_BSWAP,			// d = low `size` bytes of a swapped, zero-extended
	IR_LOAD,			// d = *(size *)(a + off), zero-extended
	IR_STORE,			// *(size *)(a + off) = b
	IR_ATOMIC_ADD,			// *(size *)(a + off) += b, atomically; d, if set, gets the old value
	IR_ATOMIC_XCHG,			// d = old, *(a + off) = b
	IR_ATOMIC_CAS,			// if (*(a + off) == c) *(a + off) = b; d = old; c in args[0]
	IR_CALL,			// d = helper `id`(args)
	IR_CALL_RT,			// d = runtime function `name`(args) from bpfrt/
	IR_CALL_KFUNC,			// d = kernel function `name`(args)
	IR_CALL_FN,			// d = functions[id](args): a function of this program
	// terminators
	IR_JMP,				// to t
	IR_BR,				// if (a cond b) goto t else goto f; size 8 (or 4: compare low halves)
	IR_RET,				// return a
};
enum IrCond { IC_EQ, IC_NE, IC_ULT, IC_ULE, IC_UGT, IC_UGE, IC_SLT, IC_SLE, IC_SGT, IC_SGE, IC_SET };

struct IrInsn {
	u8 op, cond, size;
	bool is_volatile;	// a load that must stay although its value is unused
	IrReg d;
	struct IrVal a, b;
	s32 off;
	u32 id;			// helper number, function index
	const char *name;
	u8 nargs;
	struct IrVal args[5];
	IrBlk t, f;
	u32 loc;		// index into IrProg.locs + 1; 0 none
};

struct IrBlock {
	VEC(struct IrInsn) insns; // the last one is a terminator
	const char *label;
};
struct IrSlotDef {
	u32 size, align; // bytes; align 1,2,4,8
	s32 fp_off;	 // set by regalloc: negative offset from r10
};

struct IrFunc {
	const char *name;
	VEC(struct IrBlock) blocks; // 0 is the entry
	VEC(struct IrSlotDef) slots;
	u32 nregs;	// vregs 1..nregs
	u32 nparams;	// vregs 1..nparams hold the parameters (callbacks, subprograms); functions[0] has none: use IRO_CTX
	IrReg entry[5];	// set by legal: vregs that arrive in r1..r5, 0 where unused; regalloc may put others there
	u8 *reg;	// set by regalloc: vreg -> r0..r9, or REG_NONE for one that is never used; owned
};
#define REG_NONE 0xff

struct IrLoc {
	u32 file;
	u32 line; // 1-based
	u32 col;
};

struct IrProg;
struct Code;
struct IrWatch {
	// function fn after `pass` (a name in base/passes.def); round: of those that are repeated, from 1, else 0; c: the code so far, NULL while optimising
	void (*made)(void *arg, const struct IrProg *p, u32 fn, const char *pass, u32 round, const struct Code *c);
	void *arg;
};

// Maps an IrProg names: user maps and sonde's own. link/load turns the id into a descriptor.
struct IrProg {
	const char *name;	 // program name in the kernel, at most 15 characters are kept
	VEC(struct IrFunc) funcs; // 0 is the program itself, the rest callbacks and subprograms
	VEC(struct IrLoc) locs;
	const struct Diags *diags; // source text for line info
	const struct IrWatch *watch; // NULL; told what each pass has made
};

// ---- builder (build.c). Emits into a current function and block.
struct IrBuild {
	struct IrProg *prog;
	u32 fn;	   // current function
	IrBlk blk; // current block
	u32 loc;
};
static inline struct IrVal ir_reg(IrReg r) { return (struct IrVal){IRO_REG, r, 0}; }
static inline struct IrVal ir_imm(s64 v) { return (struct IrVal){IRO_IMM, 0, v}; }
static inline struct IrVal ir_slot(IrSlot s, s64 off) { return (struct IrVal){IRO_SLOT, s, off}; }
static inline struct IrVal ir_mapfd(u32 map) { return (struct IrVal){IRO_MAPFD, map, 0}; }
static inline struct IrVal ir_mapval(u32 map, s64 off) { return (struct IrVal){IRO_MAPVAL, map, off}; }
static inline struct IrVal ir_func(u32 fn) { return (struct IrVal){IRO_FUNC, fn, 0}; }
static inline struct IrVal ir_ctx(void) { return (struct IrVal){IRO_CTX, 0, 0}; }

u32 ir_new_func(struct IrProg *p, const char *name, u32 nparams); // with an empty entry block
void ir_enter(struct IrBuild *b, u32 fn, IrBlk blk);
IrBlk ir_new_block(struct IrBuild *b, const char *label); // label kept as pointer
void ir_set_block(struct IrBuild *b, IrBlk blk);
bool ir_terminated(const struct IrBuild *b); // the current block already ends in a terminator
void ir_set_loc(struct IrBuild *b, u32 file, u32 line, u32 col);
IrReg ir_new_reg(struct IrBuild *b);
IrSlot ir_new_slot(struct IrBuild *b, u32 size, u32 align);
struct IrVal ir_param(struct IrBuild *b, u32 n); // n-th parameter of the current function, from 0

struct IrVal ir_mov(struct IrBuild *b, struct IrVal v);			  // into a fresh vreg
void ir_set(struct IrBuild *b, IrReg d, struct IrVal v);		  // existing vreg = v
struct IrVal ir_bin(struct IrBuild *b, enum IrOp op, struct IrVal x, struct IrVal y); // folds constants
struct IrVal ir_neg(struct IrBuild *b, struct IrVal x);
struct IrVal ir_ext(struct IrBuild *b, struct IrVal x, u32 size, bool sgn);
struct IrVal ir_bswap(struct IrBuild *b, struct IrVal x, u32 size);
struct IrVal ir_load(struct IrBuild *b, struct IrVal base, s32 off, u32 size, bool sgn);
void ir_store(struct IrBuild *b, struct IrVal base, s32 off, u32 size, struct IrVal v);
void ir_atomic_add(struct IrBuild *b, struct IrVal base, s32 off, u32 size, struct IrVal v);
struct IrVal ir_call(struct IrBuild *b, u32 helper, const struct IrVal *args, u32 n);
struct IrVal ir_call_rt(struct IrBuild *b, const char *name, const struct IrVal *args, u32 n);
struct IrVal ir_call_kfunc(struct IrBuild *b, const char *name, const struct IrVal *args, u32 n);
struct IrVal ir_call_fn(struct IrBuild *b, u32 fn, const struct IrVal *args, u32 n);
void ir_jmp(struct IrBuild *b, IrBlk t);
void ir_br(struct IrBuild *b, enum IrCond c, struct IrVal x, struct IrVal y, IrBlk t, IrBlk f);
void ir_ret(struct IrBuild *b, struct IrVal v);

// ---- passes. Each may assume ir_verify passed before it, and must leave it passing.
bool ir_verify(const struct IrProg *p, struct Str *why); // structure: terminators, defined before use, slots in range, arg counts
void ir_dump(const struct IrProg *p, struct Str *out);	 // text form
void ir_dump_func(const struct IrFunc *f, struct Str *out); // of one function; once it has registers, with them: "v3:r7" (cannot be read back)
bool ir_parse(struct Arena *a, const char *text, struct IrProg *out, struct Str *why); // text form back, for tests
void ir_optimize(struct IrProg *p); // passes.c: copies and constants forward, dead code and unreachable blocks away, jump threading
void ir_deinit(struct IrProg *p);

// ---- machine code
struct BpfInsn { // as struct bpf_insn
	u8 code;
	u8 regs; // dst low nibble, src high nibble
	s16 off;
	s32 imm;
};
enum RelocKind { REL_MAPFD, REL_MAPVAL, REL_FUNC /* local pc-relative, resolved by emit */, REL_RT, REL_KFUNC };
struct Reloc {
	enum RelocKind kind;
	u32 insn;	  // index of the instruction to patch
	u32 id;		  // map
	s64 addend;	  // MAPVAL offset
	const char *name; // RT, KFUNC
};
struct CodeFunc { // a subprogram inside the code: for BTF func_info
	u32 insn;
	const char *name;
	u32 nparams;
	bool is_callback;
	const u16 *points; // of a function to be verified once that is given pointers: by parameter the bytes of the struct that it points to, 0 for a number; NULL: of another
};
struct CodeLine {
	u32 insn;
	u32 loc; // index into IrProg.locs
};
struct Code {
	VEC(struct BpfInsn) insns;
	VEC(struct Reloc) relocs;
	VEC(struct CodeFunc) funcs;
	VEC(struct CodeLine) lines;
};
struct EmitOpts {
	bool has_v4; // kernel takes sdiv/smod/movsx/bswap (6.6)
};
// passes.c; p is rewritten on the way and of no use afterwards. NULL, or why not ("probe needs 620 bytes of stack, 512 is the limit").
struct err *ir_compile(struct IrProg *p, const struct EmitOpts *o, struct Code *out);
// join.c: a becomes one program of a and b, which runs b when the kernel function is_return says so, else a; ap gets b's script lines.
// Before the runtime is linked. False: too long for its jumps, and nothing has changed.
bool code_join(struct IrProg *ap, struct Code *a, const struct IrProg *bp, const struct Code *b, const char *is_return);
void code_deinit(struct Code *c);
// disasm.c: one line an instruction, in the verifier's own style ("r1 = *(u64 *)(r6 +8)").
void bpf_disasm(const struct BpfInsn *insns, u32 n, struct Str *out);
// The same with function names, script lines (p, may be NULL) and relocations by name or map id: code before link and load.
void code_disasm(const struct Code *c, const struct IrProg *p, struct Str *out);
#endif
