// Lengths of instructions. Input: code; output: the length of its first instruction.
// Source: Intel SDM volume 2, chapter 2 and appendix A; AMD APM volume 3, appendix A (XOP, 3DNow!). 64-bit mode only.
#include "arch/arch.h"

#if defined(__x86_64__)
enum { MAP_1, MAP_0F, MAP_0F38, MAP_0F3A };

struct Code {
	const u8 *p;
	u32 n, at;	      // at > n: the bytes end inside the instruction
	bool opsize, addrsize, wide; // prefixes 66, 67; REX.W
	bool repne;
};

static u8 take(struct Code *c)
{
	return c->at++ < c->n ? c->p[c->at - 1] : 0;
}

static u32 immz(const struct Code *c)
{
	return c->opsize && !c->wide ? 2 : 4;
}

// ModRM, SIB and displacement; returns ModRM.
static u8 modrm(struct Code *c)
{
	u8 m = take(c), mod = m >> 6, rm = m & 7;
	if (mod == 3)
		return m;
	if (rm == 4 && (take(c) & 7) == 5 && mod == 0)
		c->at += 4;
	if (mod == 0 && rm == 5)
		c->at += 4;
	c->at += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return m;
}

static bool one_byte(struct Code *c, u8 op)
{
	if (op < 0x40) {
		if ((op & 7) < 4)
			modrm(c);
		else if ((op & 7) == 4)
			c->at += 1;
		else if ((op & 7) == 5)
			c->at += immz(c);
		else
			return false;
		return true;
	}
	switch (op) {
	case 0x60: case 0x61: case 0x82: case 0x9a: case 0xce: case 0xd4: case 0xd5: case 0xd6: case 0xea:
		return false; // not in 64-bit mode (d5: APX)
	case 0x63: case 0x84 ... 0x8f: case 0xd0 ... 0xd3: case 0xd8 ... 0xdf: case 0xfe: case 0xff:
		modrm(c);
		break;
	case 0x69: case 0x81: case 0xc7:
		modrm(c);
		c->at += immz(c);
		break;
	case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6:
		modrm(c);
		c->at += 1;
		break;
	case 0x68: case 0xa9:
		c->at += immz(c);
		break;
	case 0xe8: case 0xe9:
		c->at += 4;
		break;
	case 0x6a: case 0x70 ... 0x7f: case 0xa8: case 0xb0 ... 0xb7: case 0xcd: case 0xe0 ... 0xe7: case 0xeb:
		c->at += 1;
		break;
	case 0xa0 ... 0xa3:
		c->at += c->addrsize ? 4 : 8;
		break;
	case 0xb8 ... 0xbf:
		c->at += c->wide ? 8 : immz(c);
		break;
	case 0xc2: case 0xca:
		c->at += 2;
		break;
	case 0xc8:
		c->at += 3;
		break;
	case 0xf6:
		c->at += (modrm(c) >> 3 & 7) < 2;
		break;
	case 0xf7:
		c->at += (modrm(c) >> 3 & 7) < 2 ? immz(c) : 0;
		break;
	}
	return true; // the others are one byte
}

static void two_bytes(struct Code *c, u8 op)
{
	switch (op) {
	case 0x05 ... 0x09: case 0x0b: case 0x0e: case 0x30 ... 0x37: case 0x77: case 0xa0 ... 0xa2: case 0xa8 ... 0xaa: case 0xc8 ... 0xcf:
		break;
	case 0x80 ... 0x8f:
		c->at += 4;
		break;
	case 0x0f: case 0x70 ... 0x73: case 0xa4: case 0xac: case 0xba: case 0xc2: case 0xc4 ... 0xc6:
		modrm(c);
		c->at += 1;
		break;
	case 0x78: // SSE4a's extrq and insertq; vmread
		modrm(c);
		c->at += c->opsize || c->repne ? 2 : 0;
		break;
	default:
		modrm(c);
	}
}

static bool vex(struct Code *c, u32 map)
{
	u8 op = take(c);
	if (map == MAP_0F && op == 0x77)
		return true; // vzeroupper
	modrm(c);
	c->at += map == MAP_0F3A || (map == MAP_0F && ((op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6)));
	return map >= MAP_0F && map <= 6;
}

static bool decode(struct Code *c)
{
	u8 op;
	for (;; c->wide = false) { // REX counts only right before the opcode
		op = take(c);
		if ((op & 0xf0) == 0x40) {
			c->wide = op & 8;
			op = take(c);
			if ((op & 0xf0) != 0x40 && op != 0x66 && op != 0x67 && op != 0xf0 && op != 0xf2 && op != 0xf3 && (op & 0xfe) != 0x64 && (op & 0xe7) != 0x26)
				break;
			c->at--;
		} else if (op == 0x66) {
			c->opsize = true;
		} else if (op == 0x67) {
			c->addrsize = true;
		} else if (op == 0xf2) {
			c->repne = true;
		} else if (op != 0xf0 && op != 0xf3 && (op & 0xfe) != 0x64 && (op & 0xe7) != 0x26) {
			break;
		}
		if (c->at > 15)
			return false;
	}
	if (op == 0xc5) {
		take(c);
		return vex(c, MAP_0F);
	}
	if (op == 0xc4) {
		u32 map = take(c) & 0x1f;
		take(c);
		return vex(c, map);
	}
	if (op == 0x62) {
		u32 map = take(c) & 7;
		take(c);
		take(c);
		return vex(c, map);
	}
	if (op == 0x8f && c->at < c->n && (c->p[c->at] & 0x1f) >= 8) { // XOP
		u32 map = take(c) & 0x1f;
		take(c);
		take(c);
		modrm(c);
		c->at += map == 8 ? 1 : map == 10 ? 4 : 0;
		return map <= 10;
	}
	if (op != 0x0f)
		return one_byte(c, op);
	op = take(c);
	if (op == 0x38 || op == 0x3a) {
		take(c);
		modrm(c);
		c->at += op == 0x3a;
	} else {
		two_bytes(c, op);
	}
	return true;
}

u32 insn_length(const u8 *p, u32 n)
{
	struct Code c = {.p = p, .n = n};
	return decode(&c) && c.at <= n && c.at <= 15 ? c.at : 0;
}
#else
u32 insn_length(const u8 *p, u32 n)
{
	return n >= 4 ? 4 : 0;
}
#endif
