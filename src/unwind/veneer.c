// Code that linkers for arm64 move out of a function, an instruction at a time, around errata of Cortex-A53 (843419, 835769): in its place stands a jump
// to a veneer, {the instruction; a jump back}, behind the code, for which there is no entry. Input: code between entries, the file's entries.
// Output: the rule of the place that the instruction was taken from. Invariant: only what is jumped to from there is taken for one.
// Source: binutils, --fix-cortex-a53-843419, and the code it makes.
#include <elf.h>
#include "unwind/internal.h"

// The entry that has pc, not as its first instruction; NULL none.
static const struct Fde *entry_of(const struct Frames *f, u64 pc)
{
	u32 lo = frames_first_at(f, pc);
	return lo && pc < f->fdes.p[lo - 1].end ? &f->fdes.p[lo - 1] : NULL;
}

bool veneer_is(const struct Frames f[2], const struct ElfCfi *e, const struct CfiSeg *seg, const u8 *p, u64 n, u64 pc, u64 *from)
{
	struct Insn in, back, there;
	u8 code[VENEER_SIZE / 2];
	if (e->machine != EM_AARCH64 || pc % 4 || n < VENEER_SIZE || !insn_decode(PT_ARM64, p, n, pc, &in) ||
	    !insn_decode(PT_ARM64, p + in.len, n - in.len, pc + in.len, &back))
		return false;
	if (in.branch != BRANCH_NONE || in.op == A64_NOP || in.writes & (1u << A64_FP | 1u << A64_LR | 1u << A64_SP) || back.branch != BRANCH_JUMP)
		return false;
	*from = back.target - sizeof(code);
	if (!entry_of(&f[0], *from) && !entry_of(&f[1], *from))
		return false;
	return elfcfi_code(e, seg, *from, code, sizeof(code)) && insn_decode(PT_ARM64, code, sizeof(code), *from, &there) && there.branch == BRANCH_JUMP &&
	       there.target == pc;
}

struct Place {
	struct Frames *f;
	u8 enc;
	struct RtUwRule rule;
};

static void on_row(void *arg, u64 pc, const struct RtUwRule *r)
{
	struct Place *at = arg;
	(void)pc;
	at->rule = *r; // rows ascend, and end with the place
}

static u64 set_loc(void *arg, struct Bytes *b, bool *ok)
{
	struct Place *at = arg;
	u64 v = fde_pointer(at->f, b, at->enc);
	*ok = !b->bad;
	return v;
}

void veneer_rule(struct Frames f[2], u64 from, struct RtUwRule *out)
{
	struct Frames *of = entry_of(&f[0], from) ? &f[0] : &f[1];
	const struct Fde *entry = entry_of(of, from);
	struct FdeBody d;
	u64 next;
	memset(out, 0, sizeof(*out));
	if (!entry || !fde_parse(of, entry->at, &d, &next) || !d.cie)
		return;
	struct Cie cie = *d.cie;
	struct CfiState st = cie.init;
	struct Place at = {.f = of, .enc = cie.fde_enc};
	struct CfiRun run = {&cie, of->machine, d.pc, from + 1, set_loc, on_row, &at};
	bool ok = cfi_run(&run, d.insns, &st);
	if (ok && run.pc <= from)
		cfi_rule(&st, cie.signal, of->machine, &at.rule);
	if (ok)
		*out = at.rule;
}
