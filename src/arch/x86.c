// Instructions of x86-64 in 64-bit mode: one table of what follows each opcode and where the instruction goes on. Input: code nobody vouches for.
// Output: the first instruction's length, operands and branch. Invariant: nothing beyond the bytes given is read.
// Source: Intel SDM volume 2, chapter 2 and appendix A; AMD APM volume 3, appendix A (XOP, 3DNow!).
#include "arch/internal.h"

// What follows an opcode.
enum {
	MRM = 1, // ModRM, perhaps SIB and displacement
	I1 = 2,	 // an immediate or a distance of one byte ...
	I2 = 4,	 // ... of two (with I1: three)
	I4 = 8,	 // ... of four
	IZ = 16, // ... of four, or two with prefix 66
	ODD = 32, // odd() says more
	NO = 64, // not in 64-bit mode (d5: APX)
	PRE = 128, // a prefix
};
#define GOES(b) ((b) << 8)

static const u16 one_byte[256] = {
	[0x00 ... 0x03] = MRM, [0x04] = I1, [0x05] = IZ, [0x06 ... 0x07] = NO, // arithmetic, eight times the same
	[0x08 ... 0x0b] = MRM, [0x0c] = I1, [0x0d] = IZ, [0x0e] = NO,
	[0x10 ... 0x13] = MRM, [0x14] = I1, [0x15] = IZ, [0x16 ... 0x17] = NO,
	[0x18 ... 0x1b] = MRM, [0x1c] = I1, [0x1d] = IZ, [0x1e ... 0x1f] = NO,
	[0x20 ... 0x23] = MRM, [0x24] = I1, [0x25] = IZ, [0x26] = PRE, [0x27] = NO,
	[0x28 ... 0x2b] = MRM, [0x2c] = I1, [0x2d] = IZ, [0x2e] = PRE, [0x2f] = NO,
	[0x30 ... 0x33] = MRM, [0x34] = I1, [0x35] = IZ, [0x36] = PRE, [0x37] = NO,
	[0x38 ... 0x3b] = MRM, [0x3c] = I1, [0x3d] = IZ, [0x3e] = PRE, [0x3f] = NO,
	[0x40 ... 0x4f] = PRE, // REX
	[0x60 ... 0x61] = NO, [0x63] = MRM, [0x64 ... 0x67] = PRE, [0x68] = IZ, [0x69] = MRM | IZ, [0x6a] = I1, [0x6b] = MRM | I1,
	[0x70 ... 0x7f] = I1 | GOES(BRANCH_COND),
	[0x80] = MRM | I1, [0x81] = MRM | IZ, [0x82] = NO, [0x83] = MRM | I1, [0x84 ... 0x8f] = MRM,
	[0x9a] = NO, [0xa0 ... 0xa3] = ODD, [0xa8] = I1, [0xa9] = IZ, [0xb0 ... 0xb7] = I1, [0xb8 ... 0xbf] = ODD,
	[0xc0 ... 0xc1] = MRM | I1, [0xc2] = I2 | GOES(BRANCH_RET), [0xc3] = GOES(BRANCH_RET), [0xc6] = MRM | I1, [0xc7] = MRM | IZ, [0xc8] = I2 | I1,
	[0xca] = I2 | GOES(BRANCH_STOP), [0xcb] = GOES(BRANCH_STOP), [0xcd] = I1, [0xce] = NO, [0xcf] = GOES(BRANCH_STOP), // far returns
	[0xd0 ... 0xd3] = MRM, [0xd4 ... 0xd6] = NO, [0xd8 ... 0xdf] = MRM,
	[0xe0 ... 0xe3] = I1 | GOES(BRANCH_COND), [0xe4 ... 0xe7] = I1, [0xe8] = I4 | GOES(BRANCH_CALL), [0xe9] = I4 | GOES(BRANCH_JUMP), [0xea] = NO,
	[0xeb] = I1 | GOES(BRANCH_JUMP), [0xf0] = PRE, [0xf2 ... 0xf3] = PRE, [0xf4] = GOES(BRANCH_STOP), // hlt
	[0xf6 ... 0xf7] = MRM | ODD, [0xfe] = MRM, [0xff] = MRM | ODD,
};

#define NONE 0x8000 // alone, where 0 means ModRM
static const u16 after_0f[256] = {
	[0x05 ... 0x09] = NONE, [0x0b] = NONE | GOES(BRANCH_STOP), [0x0e] = NONE, [0x0f] = MRM | I1, // 0b: ud2; 0f: 3DNow!
	[0x30 ... 0x37] = NONE, [0x70 ... 0x73] = MRM | I1, [0x77] = NONE, [0x78] = MRM | ODD,
	[0x80 ... 0x8f] = I4 | GOES(BRANCH_COND),
	[0xa0 ... 0xa2] = NONE, [0xa4] = MRM | I1, [0xa8 ... 0xaa] = NONE, [0xac] = MRM | I1, [0xba] = MRM | I1,
	[0xc2] = MRM | I1, [0xc4 ... 0xc6] = MRM | I1, [0xc8 ... 0xcf] = NONE,
};

struct Code {
	const u8 *p;
	u32 n, at; // at > n: the bytes end inside the instruction
	u32 rex;
	bool opsize, addrsize, repne; // prefixes 66, 67, f2
};

static u8 take(struct Code *c)
{
	return c->at++ < c->n ? c->p[c->at - 1] : 0;
}

// n bytes, with their sign; 8 are passed over.
static s32 number(struct Code *c, u32 n)
{
	const u8 *p = c->p + c->at;
	s16 half;
	s32 word;
	c->at += n;
	if (c->at > c->n)
		return 0;
	if (n == 1)
		return (s8)*p;
	if (n == 2)
		return memcpy(&half, p, 2), half;
	return n == 4 ? memcpy(&word, p, 4), word : 0;
}

// The distance is from the next instruction, whose place is known at the end.
static s32 modrm(struct Code *c, struct Insn *in, bool *from_next)
{
	u8 m = take(c), low = m & 7, sib;
	s32 at = 0;
	in->mod = m >> 6;
	in->reg = (m >> 3 & 7) | (c->rex & 4) << 1;
	in->rm = low | (c->rex & 1) << 3;
	if (in->mod == 3)
		return 0;
	in->base = in->rm;
	if (low == 4) {
		sib = take(c);
		in->base = (sib >> 3 & 7) == 4 && !(c->rex & 2) ? (sib & 7) | (c->rex & 1) << 3 : INSN_NO_REG; // with an index it does not say the place
		low = sib & 7;
	} else {
		*from_next = !in->mod && low == 5;
	}
	if (!in->mod && low == 5) {
		in->base = INSN_NO_REG;
		at = number(c, 4);
	} else if (in->mod) {
		in->disp = number(c, in->mod == 1 ? 1 : 4);
	}
	return at;
}

static u32 immz(const struct Code *c)
{
	return c->opsize && !(c->rex & 8) ? 2 : 4;
}

// What the table has no room for.
static void odd(struct Code *c, struct Insn *in)
{
	switch (in->op) {
	case 0xa0 ... 0xa3:
		c->at += c->addrsize ? 4 : 8;
		break;
	case 0xb8 ... 0xbf:
		in->imm = number(c, in->wide ? 8 : immz(c));
		break;
	case 0xf6: case 0xf7: // test
		if ((in->reg & 7) < 2)
			in->imm = number(c, in->op == 0xf6 ? 1 : immz(c));
		break;
	case 0xff:
		in->branch = (in->reg & 6) == 2 ? BRANCH_CALL : (in->reg & 6) == 4 ? BRANCH_INDIRECT : BRANCH_NONE;
		break;
	case 0x178: // SSE4a's extrq and insertq; vmread
		c->at += c->opsize || c->repne ? 2 : 0;
	}
}

// Of an opcode in the tables.
static void operands(struct Code *c, struct Insn *in, u32 form, u64 pc)
{
	bool from_next = false;
	s32 to = form & MRM ? modrm(c, in, &from_next) : 0;
	in->branch = form >> 8 & 0x7f;
	if (form & I2)
		in->imm = number(c, 2);
	if (form & (I1 | I4 | IZ))
		in->imm = number(c, form & I1 ? 1 : form & I4 ? 4 : immz(c));
	if (form & ODD)
		odd(c, in);
	if (from_next || in->branch == BRANCH_JUMP || in->branch == BRANCH_COND || (form & I4 && in->branch == BRANCH_CALL))
		in->target = pc + c->at + (u64)(s64)(from_next ? to : in->imm);
}

// VEX, EVEX and XOP: more bytes of prefix, which name the map of opcodes. What they do to registers is not told.
static bool vector(struct Code *c, struct Insn *in, u32 lead)
{
	bool from_next;
	u32 map = lead == 0xc5 ? 1 : take(c) & (lead == 0x62 ? 7 : 0x1f);
	c->at += lead == 0x62 ? 2 : 1;
	u8 op = take(c);
	in->op = (lead == 0x8f ? INSN_XOP : INSN_VECTOR) | op;
	if (lead == 0x8f) {
		modrm(c, in, &from_next);
		c->at += map == 8 ? 1 : map == 10 ? 4 : 0;
		return map <= 10;
	}
	if (map == 1 && op == 0x77)
		return true; // vzeroupper
	modrm(c, in, &from_next);
	c->at += map == 3 || (map == 1 && after_0f[op] & I1 && (op >> 4 == 7 || op >> 4 == 0xc)); // not shld, bt and 3DNow!
	return map >= 1 && map <= 6;
}

// Prefixes; returns the opcode. REX counts only right before it.
static u32 prefixes(struct Code *c, struct Insn *in)
{
	for (;;) {
		u8 op = take(c);
		if (!(one_byte[op] & PRE) || c->at > c->n)
			return op;
		if ((op & 0xf0) == 0x40) {
			c->rex = op;
			continue;
		}
		c->rex = 0;
		c->opsize |= op == 0x66;
		c->addrsize |= op == 0x67;
		c->repne |= op == 0xf2;
		in->rep |= op == 0xf2 || op == 0xf3;
		in->lock |= op == 0xf0 || (op & 0xe7) == 0x26;
	}
}

static bool decode(struct Code *c, u64 pc, struct Insn *in)
{
	u32 op = in->op = prefixes(c, in), form = one_byte[op];
	in->wide = c->rex & 8;
	if (op == 0xc5 || op == 0xc4 || op == 0x62 || (op == 0x8f && c->at < c->n && (c->p[c->at] & 0x1f) >= 8))
		return vector(c, in, op);
	if (op == 0x0f) {
		op = take(c);
		in->op = 0x100 | op;
		form = after_0f[op] ? after_0f[op] : MRM;
		if (op == 0x38 || op == 0x3a) { // two more maps
			take(c);
			form = op == 0x38 ? MRM : MRM | I1;
		}
	}
	in->rm = (in->op & 7) | (c->rex & 1) << 3; // without ModRM the opcode says the register
	operands(c, in, form, pc);
	return !(form & (NO | PRE));
}

bool x86_decode(const u8 *p, u32 n, u64 pc, struct Insn *in)
{
	struct Code c = {.p = p, .n = n};
	*in = (struct Insn){.base = INSN_NO_REG};
	if (!decode(&c, pc, in) || c.at > n)
		return false;
	in->len = c.at;
	return true;
}
