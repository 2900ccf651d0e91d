// The passes over the IR, in the order of base/passes.def. Input: a verified program. Output: cheaper IR, then code of all functions that are called, main
// first. Whoever wants to see what a pass has made sets IrProg.watch.
#include "ir/internal.h"
#include <linux/bpf.h>

#define ROUNDS 6

enum { ONCE, AGAIN };
static const struct OptPass {
	const char *name;
	bool (*run)(struct IrFunc *f); // true: it changed something
	bool again;
} opt_passes[] = {
#define OPT_PASS(name, function, again, makes) {#name, function, again},
#include "base/passes.def"
};
static const struct CodePass {
	const char *name;
	struct err *(*run)(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out);
} code_list[] = {
#define CODE_PASS(name, function, makes) {#name, function},
#include "base/passes.def"
};

static void made(const struct IrProg *p, u32 fn, const char *pass, u32 round, const struct Code *c)
{
	if (p->watch)
		p->watch->made(p->watch->arg, p, fn, pass, round, c);
}

static void optimize(struct IrProg *p, u32 fn)
{
	struct IrFunc *f = &p->funcs.p[fn];
	const struct OptPass *pass = opt_passes, *end = opt_passes + ARRAY_LEN(opt_passes), *last;
	for (; pass < end; pass = last) {
		last = pass + 1;
		while (pass->again && last < end && last->again)
			last++;
		bool again = true;
		for (u32 round = 1; again && round <= (pass->again ? ROUNDS : 1); round++) {
			again = false;
			for (const struct OptPass *k = pass; k < last; k++) {
				again |= k->run(f);
				made(p, fn, k->name, pass->again ? round : 0, NULL);
			}
		}
	}
}

void ir_optimize(struct IrProg *p)
{
	for (u32 i = 0; i < p->funcs.n; i++)
		optimize(p, i);
}

static struct err *code_passes(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out)
{
	struct err *e = NULL;
	for (size_t i = 0; !e && i < ARRAY_LEN(code_list); i++) {
		e = code_list[i].run(p, fn, o, out);
		if (!e)
			made(p, fn, code_list[i].name, 0, out);
	}
	return e;
}

// Local calls and callback addresses: imm is relative to the next instruction for both (fixup_call_args, BPF_PSEUDO_FUNC in check_ld_imm).
// at[fn]: index in c->funcs.
static void resolve_funcs(struct Code *c, const u32 *at)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->relocs.n; i++) {
		struct Reloc r = c->relocs.p[i];
		if (r.kind != REL_FUNC) {
			c->relocs.p[kept++] = r;
			continue;
		}
		struct CodeFunc *f = &c->funcs.p[at[r.id]];
		struct BpfInsn *in = &c->insns.p[r.insn];
		in->imm = (s32)f->insn - (s32)r.insn - 1;
		f->is_callback |= in->code == (BPF_LD | BPF_IMM | BPF_DW);
	}
	c->relocs.n = kept;
}

struct err *ir_compile(struct IrProg *p, const struct EmitOpts *o, struct Code *out)
{
	struct err *err = NULL;
	*out = (struct Code){0};
	// Only functions that something names: to the kernel one that is never called is unreachable code.
	u32 *at = xmalloc(p->funcs.n * sizeof(*at)), *todo = xcalloc(p->funcs.n, sizeof(*todo)), n = 1;
	memset(at, 0xff, p->funcs.n * sizeof(*at));
	at[0] = 0;
	for (u32 i = 0; !err && i < n; i++) {
		size_t rel = out->relocs.n;
		err = code_passes(p, todo[i], o, out);
		for (; rel < out->relocs.n; rel++) {
			const struct Reloc *r = &out->relocs.p[rel];
			if (r->kind != REL_FUNC || at[r->id] != ~0u)
				continue;
			at[r->id] = n;
			todo[n++] = r->id;
		}
	}
	if (err)
		code_deinit(out);
	else
		resolve_funcs(out, at);
	free(at);
	free(todo);
	return err;
}
