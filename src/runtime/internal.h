// Private to this folder: writing the program by which the kernel side follows an interpreter's chain of frames (bpfrt/chain.bpf.c). In: operations in order, jumps to labels.
// Out: struct RtChain.
#ifndef SONDE_RUNTIME_INTERNAL_H
#define SONDE_RUNTIME_INTERNAL_H
#include "runtime/runtime.h"

#define CHAIN_LABELS 48
enum ChainLabel { CHAIN_STEP, CHAIN_COPY, CHAIN_LOST, CHAIN_OWN }; // where the parts begin; the end of the program; a runtime's own from CHAIN_OWN on
struct ChainMaker {
	struct RtChain c;
	u32 n;
	u8 label[CHAIN_LABELS];
	bool bad; // it has no room
};

void chain_op(struct ChainMaker *m, enum RtOpCode op, u32 dst, u32 src, u32 arg, s64 imm);
void chain_label(struct ChainMaker *m, u32 label); // it is here
bool chain_end(struct ChainMaker *m, struct RtChain *out); // false: it does not fit

// Registers are named by the runtime. n bytes at `at` + off into dst and those after it.
static inline void chain_load(struct ChainMaker *m, u32 dst, u32 at, s64 off, u32 n)
{
	chain_op(m, RT_OP_LOAD, dst, at, n, off);
}

static inline void chain_add(struct ChainMaker *m, u32 dst, u32 a, s64 n)
{
	chain_op(m, RT_OP_ADD, dst, a, 0, n);
}

static inline void chain_set(struct ChainMaker *m, u32 dst, s64 n)
{
	chain_op(m, RT_OP_ADD, dst, RT_CHAIN_ZERO, 0, n);
}

static inline void chain_mul(struct ChainMaker *m, u32 dst, u32 a, u32 b, s64 n) // a + b * n
{
	chain_op(m, RT_OP_MUL, dst, a, b, n);
}

static inline void chain_and(struct ChainMaker *m, u32 dst, u32 a, s64 mask)
{
	chain_op(m, RT_OP_AND, dst, a, 0, mask);
}

static inline void chain_shr(struct ChainMaker *m, u32 dst, u32 a, u32 n)
{
	chain_op(m, RT_OP_SHR, dst, a, 0, n);
}

static inline void chain_if(struct ChainMaker *m, u32 a, enum RtOpCode how, u32 b, s64 plus, u32 label) // a == b + plus: on at the label
{
	chain_op(m, how, b, a, label, plus);
}

static inline void chain_if_is(struct ChainMaker *m, u32 a, s64 n, u32 label)
{
	chain_if(m, a, RT_OP_EQ, RT_CHAIN_ZERO, n, label);
}

static inline void chain_if_not(struct ChainMaker *m, u32 a, s64 n, u32 label)
{
	chain_if(m, a, RT_OP_NE, RT_CHAIN_ZERO, n, label);
}

static inline void chain_jump(struct ChainMaker *m, u32 label)
{
	chain_if_is(m, RT_CHAIN_ZERO, 0, label);
}

static inline void chain_frame(struct ChainMaker *m, u32 code, u32 ident, u32 pos)
{
	chain_op(m, RT_OP_FRAME, ident, code, pos, 0);
}

static inline void chain_text(struct ChainMaker *m, enum RtChainText what, u32 at, u32 n)
{
	chain_op(m, RT_OP_TEXT, at, n, 0, what);
}

static inline void chain_cstr(struct ChainMaker *m, enum RtChainText what, u32 at)
{
	chain_op(m, RT_OP_CSTR, at, 0, 0, what);
}

static inline void chain_first_line(struct ChainMaker *m, u32 line)
{
	chain_op(m, RT_OP_SET, 0, line, 0, RT_CHAIN_FIRST_LINE);
}

static inline void chain_lines_kind(struct ChainMaker *m, u32 kind)
{
	chain_op(m, RT_OP_SET, 0, kind, 0, RT_CHAIN_LINES_KIND);
}

static inline void chain_copied(struct ChainMaker *m)
{
	chain_op(m, RT_OP_COPIED, 0, 0, 0, 0);
}

static inline void chain_ready(struct ChainMaker *m, u32 label)
{
	chain_op(m, RT_OP_READY, 0, 0, label, 0);
}

static inline void chain_lost(struct ChainMaker *m)
{
	chain_op(m, RT_OP_LOST, 0, 0, 0, 0);
}

// ---- texts.c: n bytes, characters of `width` bytes each (0: ASCII); bytes that are UTF-8, where they are well-formed; the code's file of such
void runtime_add_text(struct Str *out, const u8 *p, u32 n, u32 width);
void runtime_add_bytes(struct Str *out, const u8 *p, u32 n);
void runtime_file_bytes(const struct RtCode *c, struct Str *out);

// ---- scripts.c: lines of scripts of JavaScript
struct Scripts;
struct Scripts *scripts_create(void);
void scripts_destroy(struct Scripts *s);
bool scripts_wants(struct Scripts *s, const struct RtCode *c, struct RtScriptAt *at);
void scripts_add(struct Scripts *s, const struct RtCode *c, const struct JavaMemory *m, const struct RtV8 *v);
u32 scripts_line(struct Scripts *s, const struct RtCode *c, u32 pos);

// ---- cold.c: where the function at an address ends; false: there is none, or it is not known
bool runtime_function(struct ElfFile *f, u64 addr, u64 *end);
// The part of the function lo..hi that the compiler has put elsewhere, told by where its jumps lead. False: none is known.
bool runtime_cold_part(struct ElfFile *f, u64 lo, u64 hi, u64 *cold, u64 *cold_end);
// The function with the most jumps to where the interpreted program says (threaded code). False: none has many.
bool runtime_threaded_loop(struct ElfFile *f, u64 *lo, u64 *hi);
#endif
