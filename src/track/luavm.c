// Where LuaJIT's machine has not its whole C frame: where C enters it, and where it returns to C. Its unwind information, one rule for all of its code, is of the whole frame.
// Input: the machine's code; rows, of which that rule's are marked (RT_UW_LUAVM). Output: the same rows, with others at these places.
// The machine is assembly, the same in all builds for x86-64 but for the size of its frame: push %rbp; push %rbx; push %r15; push %r14; sub $n,%rsp, and add $n,%rsp; pop %r14;
// pop %r15; pop %rbx; pop %rbp; ret (vm_x64.dasc, saveregs, restoreregs). What was pushed lies where the rule has it.
#include "track/internal.h"
#include "unwind/unwind.h"

struct Piece { // in bytes
	u8 code[11], n;
	u8 frame; // where in it the frame's size is
	struct {
		u8 at, depth; // from there on the return address is so far up, in words: 1, just above the stack pointer; 0: the whole frame
	} step[7];
};
static const struct Piece pieces[] = {
	{{0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec}, 10, 9, {{0, 1}, {1, 2}, {2, 3}, {4, 4}, {6, 5}, {10, 0}}},
	{{0x48, 0x83, 0xc4, 0, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d, 0xc3}, 11, 3, {{4, 5}, {6, 4}, {8, 3}, {9, 2}, {10, 1}, {11, 0}}},
};
#define WORDS 5 // of the frame above n: four registers and the return address

static const struct Piece *piece_at(const u8 *p, u64 left, s32 cfa)
{
	for (u32 i = 0; i < ARRAY_LEN(pieces); i++) {
		const struct Piece *x = &pieces[i];
		u32 rest = x->frame + 1u;
		if (left >= x->n && p[x->frame] + WORDS * 8 == cfa && !memcmp(p, x->code, x->frame) && !memcmp(p + rest, x->code + rest, x->n - rest))
			return x;
	}
	return NULL;
}

// The machine's rule where the return address is `depth` words up: registers that lie below the stack pointer still have their values, or have them again.
static u32 rule_at(struct RuleSet *rules, u32 whole, u32 depth)
{
	struct RtUwRule r = rules->v.p[whole];
	if (!depth)
		return whole;
	r.kind = RT_UW_REG;
	r.off = (s32)depth * 8;
	r.off2 = 0;
	r.index = 0;
	for (u32 s = 0; s < RT_UW_SLOTS; s++)
		if (r.slot[s] + r.off < 0)
			r.saved &= (u8) ~(1u << s);
	return ruleset_add(rules, &r);
}

static void add_row(struct UwTable *to, u64 off, u32 rule)
{
	if (to->rows.n && UW_ROW_OFF(to->rows.p[to->rows.n - 1]) == off)
		to->rows.n--;
	if (!to->rows.n || UW_ROW_RULE(to->rows.p[to->rows.n - 1]) != rule)
		vec_push(&to->rows, UW_ROW(off, rule));
}

void luavm_rows(const u8 *code, u64 off, u64 size, struct RuleSet *rules, struct UwTable *tab)
{
	struct UwTable out = *tab;
	out.rows.p = NULL;
	out.rows.n = out.rows.cap = 0;
	for (size_t i = 0; i < tab->rows.n; i++) {
		u64 at = UW_ROW_OFF(tab->rows.p[i]), end = i + 1 < tab->rows.n ? UW_ROW_OFF(tab->rows.p[i + 1]) : at;
		u32 whole = UW_ROW_RULE(tab->rows.p[i]);
		struct RtUwRule r = rules->v.p[whole];
		add_row(&out, at, whole);
		for (u64 a = MAX(at, off); r.kind == RT_UW_LUAVM && a < MIN(end, off + size); a++) {
			const struct Piece *x = piece_at(code + (a - off), MIN(end, off + size) - a, r.off);
			for (u32 k = 0; x && k < ARRAY_LEN(x->step) && (!k || x->step[k].at); k++) {
				u32 rule = rule_at(rules, whole, x->step[k].depth);
				if (rule && a + x->step[k].at < end)
					add_row(&out, a + x->step[k].at, rule);
			}
		}
	}
	vec_deinit(&tab->rows);
	*tab = out;
}
