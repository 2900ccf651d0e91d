// Argument specifications of USDT notes: "-4@%edi", "8@16(%rbp)", "4@$5", "8@sym(%rip)", "8@(%rax,%rbx,8)", "-4@[sp, 12]", "8@x0".
// Format: "User Space Probe Implementation" of SystemTap (sdt.h): [size[type]@]operand, operands as the assembler writes them.
// In: text from an untrusted file. Out: struct UsdtArg; size 0 marks an argument that exists but cannot be read.
#include <errno.h>
#include "probe/internal.h"

struct Cur {
	const char *p;
	enum PtArch arch;
	const struct UsdtSymbols *syms;
};

static void blanks(struct Cur *c)
{
	while (*c->p == ' ' || *c->p == '\t')
		c->p++;
}

static bool eat(struct Cur *c, char ch)
{
	blanks(c);
	if (*c->p != ch)
		return false;
	c->p++;
	return true;
}

static bool at_end(const struct Cur *c)
{
	return !*c->p || *c->p == ' ' || *c->p == '\t';
}

static bool integer(struct Cur *c, s64 *out)
{
	char *end;
	const char *s = c->p + (*c->p == '-' || *c->p == '+');
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	// Unsigned numbers over 2^63 are written for pointers.
	*out = *c->p == '-' ? strtoll(c->p, &end, 0) : (s64)strtoull(c->p, &end, 0);
	c->p = end;
	return !errno;
}

// A register, without its '%'. Vector and segment registers are none: pt_regs does not hold them.
static bool reg(struct Cur *c, s16 *off, u32 *width)
{
	char name[16];
	size_t n = 0;
	while (n < sizeof(name) - 1 && ((c->p[n] >= 'a' && c->p[n] <= 'z') || (c->p[n] >= '0' && c->p[n] <= '9')))
		n++;
	memcpy(name, c->p, n);
	name[n] = 0;
	c->p += n;
	int r = n ? ptregs_offset_of(c->arch, name, width) : -1;
	*off = (s16)r;
	return r >= 0;
}

static bool symbol_char(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' || ch == '$' || ch == '@';
}

// "sym", "sym+8", "8+sym", "sym-4" -> virtual address
static bool symbol(struct Cur *c, u64 *vaddr)
{
	char name[256];
	size_t n = 0;
	s64 add = 0, more = 0;
	if (integer(c, &add) && *c->p++ != '+')
		return false;
	while (n < sizeof(name) - 1 && symbol_char(c->p[n]))
		n++;
	memcpy(name, c->p, n);
	name[n] = 0;
	c->p += n;
	if ((*c->p == '+' || *c->p == '-') && !integer(c, &more))
		return false;
	if (!n || !c->syms || !c->syms->find || !c->syms->find(c->syms->arg, name, vaddr))
		return false;
	*vaddr += (u64)add + (u64)more;
	return true;
}

// ---- x86: disp(base,index,scale)
static bool x86_memory(struct Cur *c, struct UsdtArg *a)
{
	s64 scale;
	a->kind = UA_MEM;
	a->reg = a->index = -1;
	a->scale = 1;
	if (*c->p == '%') {
		c->p++;
		if (!reg(c, &a->reg, NULL))
			return false;
	}
	if (eat(c, ',')) {
		blanks(c);
		if (*c->p == '%') {
			c->p++;
			if (!reg(c, &a->index, NULL))
				return false;
		}
		if (eat(c, ',')) {
			blanks(c);
			if (!integer(c, &scale) || (scale != 1 && scale != 2 && scale != 4 && scale != 8))
				return false;
			a->scale = (u8)scale;
		}
	}
	return eat(c, ')') && (a->reg >= 0 || a->index >= 0);
}

// The address of a symbol does not depend on where the file is mapped when it is counted from the probe itself: the probe fires with
// ip = base + pc, the object lies at base + vaddr.
static bool x86_symbol(struct Cur *c, struct UsdtArg *a)
{
	u64 vaddr;
	if (!symbol(c, &vaddr) || strncmp(c->p, "(%rip)", 6))
		return false;
	c->p += 6;
	a->kind = UA_MEM;
	a->reg = ptregs_abi[PT_X86_64].ip;
	a->index = -1;
	a->scale = 1;
	a->imm = (s64)(vaddr - c->syms->pc);
	return true;
}

static bool x86_operand(struct Cur *c, struct UsdtArg *a, u32 *width)
{
	if (*c->p == '%') {
		c->p++;
		a->kind = UA_REG;
		return reg(c, &a->reg, width);
	}
	if (*c->p == '$') {
		c->p++;
		a->kind = UA_CONST;
		return integer(c, &a->imm);
	}
	const char *start = c->p;
	integer(c, &a->imm); // a displacement, perhaps none
	if (*c->p == '(') {
		c->p++;
		return x86_memory(c, a) && a->reg != ptregs_abi[PT_X86_64].ip; // a bare number(%rip) says nothing about where
	}
	c->p = start;
	a->imm = 0;
	return x86_symbol(c, a);
}

// ---- arm64: [base], [base, disp], [base, index], [base, index, lsl n]
static bool arm64_memory(struct Cur *c, struct UsdtArg *a)
{
	s64 shift;
	a->kind = UA_MEM;
	blanks(c);
	if (!reg(c, &a->reg, NULL))
		return false;
	if (eat(c, ',')) {
		blanks(c);
		if (*c->p == '#')
			c->p++;
		if (!integer(c, &a->imm) && !reg(c, &a->index, NULL))
			return false;
		if (a->index >= 0 && eat(c, ',')) {
			blanks(c);
			if (strncmp(c->p, "lsl", 3))
				return false;
			c->p += 3;
			blanks(c);
			if (*c->p == '#')
				c->p++;
			if (!integer(c, &shift) || shift < 0 || shift > 3)
				return false;
			a->scale = (u8)(1 << shift);
		}
	}
	return eat(c, ']');
}

static bool arm64_operand(struct Cur *c, struct UsdtArg *a, u32 *width)
{
	if (*c->p == '[') {
		c->p++;
		return arm64_memory(c, a);
	}
	if (*c->p == '#' || *c->p == '$')
		c->p++;
	a->kind = UA_CONST;
	if (integer(c, &a->imm))
		return true;
	if ((*c->p == 'x' || *c->p == 'w') && !strncmp(c->p + 1, "zr", 2)) { // the zero register
		*width = *c->p == 'w' ? 4 : 8;
		c->p += 3;
		return true;
	}
	a->kind = UA_REG;
	return reg(c, &a->reg, width);
}

// "-4@", "8@", "4f@": false when there is no size, which is allowed
static bool size_prefix(struct Cur *c, struct UsdtArg *a, bool *is_float)
{
	const char *start = c->p;
	s64 n;
	*is_float = false;
	if (integer(c, &n)) {
		if (*c->p == 'f')
			*is_float = c->p++ != NULL;
		if (*c->p == '@' && (n == 1 || n == 2 || n == 4 || n == 8 || n == -1 || n == -2 || n == -4 || n == -8)) {
			c->p++;
			a->sgn = n < 0;
			a->size = (u8)(n < 0 ? -n : n);
			return true;
		}
	}
	c->p = start;
	*is_float = false;
	return false;
}

// To the blank after the operand; brackets may hold blanks.
static void skip_operand(struct Cur *c)
{
	for (int depth = 0; *c->p && (depth > 0 || !at_end(c)); c->p++)
		depth += (*c->p == '[' || *c->p == '(') - (*c->p == ']' || *c->p == ')');
}

// A constant is written as the compiler likes it, $-1 or $4294967295: it has the size and the sign of its descriptor.
static void fit_constant(struct UsdtArg *a)
{
	u32 unused = 64 - 8 * a->size;
	u64 v = (u64)a->imm << unused;
	a->imm = a->sgn ? (s64)v >> unused : (s64)(v >> unused);
}

// ---- riscv64: n, reg, disp(base)
static bool riscv64_operand(struct Cur *c, struct UsdtArg *a)
{
	a->kind = UA_CONST;
	if (integer(c, &a->imm)) {
		if (*c->p != '(')
			return true;
		c->p++;
		a->kind = UA_MEM;
		return reg(c, &a->reg, NULL) && eat(c, ')');
	}
	if (!strncmp(c->p, "zero", 4)) {
		c->p += 4;
		return true;
	}
	a->kind = UA_REG;
	return reg(c, &a->reg, NULL);
}

u32 usdt_args_parse(const char *spec, enum PtArch arch, const struct UsdtSymbols *syms, struct UsdtArg *out, u32 max, bool *bad)
{
	struct Cur c = {spec, arch, syms};
	u32 n = 0;
	if (bad)
		*bad = false;
	for (blanks(&c); *c.p && n < max; blanks(&c)) {
		struct UsdtArg a = {.reg = -1, .index = -1, .scale = 1};
		bool is_float;
		u32 width = 8;
		bool sized = size_prefix(&c, &a, &is_float);
		const char *operand = c.p;
		bool ok = arch == PT_X86_64  ? x86_operand(&c, &a, &width)
			  : arch == PT_ARM64 ? arm64_operand(&c, &a, &width)
					     : riscv64_operand(&c, &a);
		if (!ok || !at_end(&c) || is_float) {
			c.p = operand;
			skip_operand(&c);
			a = (struct UsdtArg){.reg = -1, .index = -1, .scale = 1};
			if (bad)
				*bad = true;
		} else if (!sized)
			a.size = (u8)width; // a register as wide as it is named, else a long
		if (a.kind == UA_CONST && a.size)
			fit_constant(&a);
		out[n++] = a;
	}
	return n;
}
