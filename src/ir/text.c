// Text form of the IR, for `sonde -d ir`, tests and bug reports. ir_dump(ir_parse(t)) == t for every t that ir_dump made.
//
//   prog "name"
//   loc FILE LINE COL                        one per script location, numbered from 1
//   func "main" params 0 regs 5
//   slot s0 16 8                             size, alignment
//   b0 "entry":
//   	v1 = load.8 [ctx +8] @1                 operands: v1 -5 s0+4 map3 val3+8 fn1 ctx;  "load.8!" is volatile
//   	v2 = call 14(v1, s0, map3)              also: call_rt "name"(...), call_kfunc "name"(...), call_fn 1(...)
//   	br.8 eq v2, 0, b1, b2
#include "ir/internal.h"
#include <ctype.h>

static void put_name(struct Str *o, const char *s)
{
	str_addc(o, '"');
	for (; s && *s; s++) {
		if (*s == '"' || *s == '\\' || (unsigned char)*s < 32 || (unsigned char)*s >= 127)
			str_addf(o, "\\x%02x", (unsigned char)*s);
		else
			str_addc(o, *s);
	}
	str_addc(o, '"');
}

static void put_reg(struct Str *o, const struct IrFunc *f, IrReg r)
{
	str_addf(o, "v%u", r);
	if (f->reg && f->reg[r] != REG_NONE)
		str_addf(o, ":r%u", f->reg[r]);
}

static void put_val(struct Str *o, const struct IrFunc *f, struct IrVal v)
{
	static const char *const name[] = {[IRO_NONE] = "none", [IRO_SLOT] = "s",   [IRO_MAPFD] = "map", [IRO_MAPVAL] = "val",
					   [IRO_FUNC] = "fn",	[IRO_CTX] = "ctx", [IRO_SPILL] = "spill"};
	if (v.kind == IRO_IMM) {
		str_addf(o, "%lld", (long long)v.imm);
		return;
	}
	if (v.kind == IRO_REG) {
		put_reg(o, f, v.id);
		return;
	}
	str_add(o, name[v.kind]);
	if (v.kind != IRO_CTX && v.kind != IRO_NONE)
		str_addf(o, "%u", v.id);
	if ((v.kind == IRO_SLOT || v.kind == IRO_MAPVAL) && v.imm)
		str_addf(o, "%+lld", (long long)v.imm);
}

static void put_args(struct Str *o, const struct IrFunc *f, const struct IrInsn *in)
{
	for (u32 i = 0; i < in->nargs; i++) {
		str_add(o, i ? ", " : "");
		put_val(o, f, in->args[i]);
	}
}

static void put_insn(struct Str *o, const struct IrFunc *f, const struct IrInsn *in)
{
	u32 flags = ir_ops[in->op].flags;
	str_add(o, "\t");
	if (in->d) {
		put_reg(o, f, in->d);
		str_add(o, " = ");
	}
	str_add(o, ir_ops[in->op].name);
	if (flags & F_SIZE)
		str_addf(o, ".%u%s", in->size, in->is_volatile ? "!" : "");
	if (in->op == IR_BR)
		str_addf(o, " %s", ir_cond_names[in->cond]);
	if (flags & F_MEM) {
		str_add(o, " [");
		put_val(o, f, in->a);
		str_addf(o, " %+d]", in->off);
	} else if (flags & F_A && in->a.kind) {
		str_add(o, " ");
		put_val(o, f, in->a);
	}
	if (flags & F_B) {
		str_add(o, ", ");
		put_val(o, f, in->b);
	}
	if (in->op == IR_ATOMIC_CAS) {
		str_add(o, ", ");
		put_args(o, f, in);
	} else if (flags & F_ARGS) {
		str_addc(o, ' ');
		if (flags & F_NAME)
			put_name(o, in->name);
		else
			str_addf(o, "%u", in->id);
		str_addc(o, '(');
		put_args(o, f, in);
		str_addc(o, ')');
	}
	if (in->op == IR_JMP)
		str_addf(o, " b%u", in->t);
	if (in->op == IR_BR)
		str_addf(o, ", b%u, b%u", in->t, in->f);
	if (in->loc)
		str_addf(o, " @%u", in->loc);
	str_addc(o, '\n');
}

void ir_dump_func(const struct IrFunc *f, struct Str *o)
{
	str_add(o, "func ");
	put_name(o, f->name);
	str_addf(o, " params %u regs %u\n", f->nparams, f->nregs);
	for (size_t k = 0; k < f->slots.n; k++) {
		const struct IrSlotDef *s = &f->slots.p[k];
		str_addf(o, "slot s%zu %u %u", k, s->size, s->align);
		if (s->fp_off)
			str_addf(o, " at fp%+d", s->fp_off);
		str_addc(o, '\n');
	}
	for (size_t k = 0; k < f->blocks.n; k++) {
		str_addf(o, "b%zu", k);
		if (f->blocks.p[k].label) {
			str_addc(o, ' ');
			put_name(o, f->blocks.p[k].label);
		}
		str_add(o, ":\n");
		for (size_t j = 0; j < f->blocks.p[k].insns.n; j++)
			put_insn(o, f, &f->blocks.p[k].insns.p[j]);
	}
}

void ir_dump(const struct IrProg *p, struct Str *o)
{
	str_add(o, "prog ");
	put_name(o, p->name);
	str_addc(o, '\n');
	for (size_t i = 0; i < p->locs.n; i++)
		str_addf(o, "loc %u %u %u\n", p->locs.p[i].file, p->locs.p[i].line, p->locs.p[i].col);
	for (size_t i = 0; i < p->funcs.n; i++)
		ir_dump_func(&p->funcs.p[i], o);
}

// ---- the way back

struct IrText {
	struct Arena *a;
	const char *p; // next character
	u32 line;
	struct Str *why;
	bool failed;
};
#define TEXT_MAX_ID (1u << 20) // vregs, blocks, slots: keeps a hostile text from asking for gigabytes

static bool PRINTF_LIKE(2, 3) fail(struct IrText *t, const char *fmt, ...)
{
	va_list ap;
	if (t->failed)
		return false;
	t->failed = true;
	str_addf(t->why, "line %u: ", t->line);
	va_start(ap, fmt);
	str_vaddf(t->why, fmt, ap);
	va_end(ap);
	return false;
}

static void blanks(struct IrText *t)
{
	while (*t->p == ' ' || *t->p == '\t')
		t->p++;
}

static bool eat(struct IrText *t, const char *s)
{
	size_t n = strlen(s);
	blanks(t);
	if (strncmp(t->p, s, n))
		return false;
	t->p += n;
	return true;
}

static bool word_is(struct IrText *t, const char *s)
{
	const char *p = t->p;
	if (eat(t, s) && !isalnum((unsigned char)*t->p) && *t->p != '_')
		return true;
	t->p = p;
	return false;
}

static bool need(struct IrText *t, const char *s)
{
	return eat(t, s) || fail(t, "expected \"%s\"", s);
}

static s64 number(struct IrText *t)
{
	bool neg = false;
	u64 v = 0;
	blanks(t);
	if (*t->p == '-' || *t->p == '+')
		neg = *t->p++ == '-';
	if (!isdigit((unsigned char)*t->p))
		fail(t, "expected a number");
	for (; isdigit((unsigned char)*t->p); t->p++) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (u64)(*t->p - '0'), &v)) {
			fail(t, "the number is too large");
			return 0;
		}
	}
	if (v > (u64)INT64_MAX + neg)
		fail(t, "the number is too large");
	return neg ? (s64)(0 - v) : (s64)v;
}

static u32 small(struct IrText *t, u32 max)
{
	s64 v = number(t);
	if (v < 0 || v > max) {
		fail(t, "%lld is out of range", (long long)v);
		return 0;
	}
	return (u32)v;
}

static const char *name(struct IrText *t)
{
	struct Str s = {0};
	if (!need(t, "\""))
		return "";
	while (*t->p && *t->p != '"' && *t->p != '\n') {
		unsigned c;
		if (t->p[0] == '\\') {
			if (t->p[1] != 'x' || !isxdigit((unsigned char)t->p[2]) || !isxdigit((unsigned char)t->p[3]) ||
			    sscanf(t->p + 2, "%2x", &c) != 1 || !c) {
				fail(t, "bad escape");
				break;
			}
			str_addc(&s, (char)c);
			t->p += 4;
		} else {
			str_addc(&s, *t->p++);
		}
	}
	need(t, "\"");
	const char *r = arena_strdup(t->a, str_text(&s));
	str_deinit(&s);
	return r;
}

static struct IrVal operand(struct IrText *t)
{
	static const struct {
		const char *prefix;
		enum IrOperandKind kind;
		bool has_off;
	} forms[] = {{"val", IRO_MAPVAL, true}, {"v", IRO_REG}, {"s", IRO_SLOT, true}, {"map", IRO_MAPFD}, {"fn", IRO_FUNC}};
	blanks(t);
	if (word_is(t, "ctx"))
		return ir_ctx();
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (!eat(t, forms[i].prefix))
			continue;
		struct IrVal v = {forms[i].kind, small(t, TEXT_MAX_ID), 0};
		if (forms[i].has_off && (*t->p == '+' || *t->p == '-'))
			v.imm = number(t);
		return v;
	}
	return ir_imm(number(t));
}

static void args(struct IrText *t, struct IrInsn *in)
{
	need(t, "(");
	while (!t->failed && !eat(t, ")")) {
		if (in->nargs == 5 || (in->nargs && !need(t, ","))) {
			fail(t, "too many arguments");
			return;
		}
		in->args[in->nargs++] = operand(t);
	}
}

static IrBlk block_ref(struct IrText *t)
{
	need(t, "b");
	return small(t, TEXT_MAX_ID);
}

static u32 opcode(struct IrText *t)
{
	blanks(t);
	size_t n = strspn(t->p, "abcdefghijklmnopqrstuvwxyz_");
	for (u32 i = 0; i < IR_OPS; i++) {
		if (strlen(ir_ops[i].name) == n && !strncmp(ir_ops[i].name, t->p, n)) {
			t->p += n;
			return i;
		}
	}
	fail(t, "unknown opcode");
	return IR_NOP;
}

static u8 condition(struct IrText *t)
{
	for (u8 i = 0; i < IR_CONDS; i++)
		if (word_is(t, ir_cond_names[i]))
			return i;
	fail(t, "unknown condition");
	return 0;
}

static void body(struct IrText *t, struct IrInsn *in)
{
	u32 flags = ir_ops[in->op].flags;
	if (flags & F_SIZE) {
		need(t, ".");
		in->size = (u8)small(t, 8);
		in->is_volatile = eat(t, "!");
	}
	if (in->op == IR_BR)
		in->cond = condition(t);
	if (flags & F_MEM) {
		need(t, "[");
		in->a = operand(t);
		s64 off = number(t);
		in->off = (s32)off;
		if (off != in->off)
			fail(t, "the offset is too large");
		need(t, "]");
	} else if (in->op == IR_RET) {
		blanks(t);
		if (*t->p && *t->p != '\n' && *t->p != '@')
			in->a = operand(t);
	} else if (flags & F_A) {
		in->a = operand(t);
	}
	if (flags & F_B) {
		need(t, ",");
		in->b = operand(t);
	}
	if (in->op == IR_ATOMIC_CAS) {
		need(t, ",");
		in->args[in->nargs++] = operand(t);
	} else if (flags & F_ARGS) {
		if (flags & F_NAME)
			in->name = name(t);
		else
			in->id = small(t, INT32_MAX);
		args(t, in);
	}
	if (in->op == IR_BR)
		need(t, ",");
	if (in->op == IR_JMP || in->op == IR_BR)
		in->t = block_ref(t);
	if (in->op == IR_BR) {
		need(t, ",");
		in->f = block_ref(t);
	}
}

static void insn(struct IrText *t, struct IrBlock *b)
{
	struct IrInsn in = {0};
	if (t->p[0] == 'v' && isdigit((unsigned char)t->p[1])) {
		t->p++;
		in.d = small(t, TEXT_MAX_ID);
		need(t, "=");
	}
	in.op = (u8)opcode(t);
	body(t, &in);
	if (eat(t, "@"))
		in.loc = small(t, INT32_MAX);
	vec_push(&b->insns, in);
}

// One line of the text; f and b are the function and block it belongs to.
static void text_line(struct IrText *t, struct IrProg *p)
{
	blanks(t);
	struct IrFunc *f = p->funcs.n ? &vec_last(&p->funcs) : NULL;
	if (word_is(t, "prog")) {
		p->name = name(t);
	} else if (word_is(t, "loc")) {
		struct IrLoc l = {small(t, INT32_MAX), small(t, INT32_MAX), small(t, INT32_MAX)};
		vec_push(&p->locs, l);
	} else if (word_is(t, "func")) {
		struct IrFunc nf = {.name = name(t)};
		need(t, "params");
		nf.nparams = small(t, 5);
		need(t, "regs");
		nf.nregs = small(t, TEXT_MAX_ID);
		vec_push(&p->funcs, nf);
	} else if (!f) {
		fail(t, "expected \"func\"");
	} else if (word_is(t, "slot")) {
		need(t, "s");
		if (small(t, TEXT_MAX_ID) != f->slots.n)
			fail(t, "slots must be numbered in order");
		struct IrSlotDef s = {small(t, 65536), small(t, 64), 0};
		vec_push(&f->slots, s);
	} else if (t->p[0] == 'b' && isdigit((unsigned char)t->p[1])) {
		struct IrBlock b = {0};
		t->p++;
		if (small(t, TEXT_MAX_ID) != f->blocks.n)
			fail(t, "blocks must be numbered in order");
		blanks(t);
		if (*t->p == '"')
			b.label = name(t);
		need(t, ":");
		vec_push(&f->blocks, b);
	} else if (!f->blocks.n) {
		fail(t, "expected a block");
	} else {
		insn(t, &vec_last(&f->blocks));
	}
	blanks(t);
	if (*t->p && *t->p != '\n')
		fail(t, "unexpected \"%.*s\"", (int)MIN(strcspn(t->p, "\n"), (size_t)10), t->p);
}

bool ir_parse(struct Arena *a, const char *text, struct IrProg *out, struct Str *why)
{
	struct IrText t = {.a = a, .p = text, .line = 1, .why = why};
	*out = (struct IrProg){0};
	while (*t.p && !t.failed) {
		blanks(&t);
		if (*t.p != '\n' && *t.p != '#')
			text_line(&t, out);
		t.p += strcspn(t.p, "\n");
		if (*t.p)
			t.p++;
		t.line++;
	}
	if (t.failed)
		ir_deinit(out);
	return !t.failed;
}
