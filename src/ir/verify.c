// Structural checks on the IR, so that a lowering bug surfaces here with a readable message and not in the kernel's verifier.
// Input: any IrProg. Output: true, or false and why. Every vreg read must be written before it on all paths from the entry.
#include "ir/internal.h"

struct Verify {
	const struct IrProg *p;
	const struct IrFunc *f;
	u32 fn;
	struct Str *why;
};

static bool PRINTF_LIKE(4, 5) bad(struct Verify *v, IrBlk b, const struct IrInsn *in, const char *fmt, ...)
{
	va_list ap;
	str_addf(v->why, "function %s", v->f->name ? v->f->name : "?");
	if (b != ~0u)
		str_addf(v->why, ", block b%u%s%s", b, v->f->blocks.p[b].label ? " " : "", v->f->blocks.p[b].label ? v->f->blocks.p[b].label : "");
	if (in)
		str_addf(v->why, ", instruction %zu (%s)", (size_t)(in - v->f->blocks.p[b].insns.p), in->op < IR_OPS ? ir_ops[in->op].name : "?");
	if (in && in->loc && in->loc <= v->p->locs.n)
		str_addf(v->why, ", script line %u", v->p->locs.p[in->loc - 1].line);
	str_add(v->why, ": ");
	va_start(ap, fmt);
	str_vaddf(v->why, fmt, ap);
	va_end(ap);
	return false;
}

static bool check_slot(struct Verify *v, IrBlk b, const struct IrInsn *in, struct IrVal o, bool mem)
{
	s64 at = o.imm + (mem ? in->off : 0), size = v->f->slots.p[o.id].size;
	if (o.imm < INT32_MIN || o.imm > INT32_MAX || at < 0 || at + (mem ? in->size : 0) > size)
		return bad(v, b, in, "reaches byte %lld of slot s%u, which has %lld", (long long)(at + (mem ? in->size : 0)), o.id, (long long)size);
	return true;
}

static bool check_operand(struct Verify *v, IrBlk b, const struct IrInsn *in, const struct IrVal *o)
{
	bool mem = o == &in->a && ir_ops[in->op].flags & F_MEM;
	switch (o->kind) {
	case IRO_REG:
		if (!o->id || o->id > v->f->nregs)
			return bad(v, b, in, "reads vreg v%u, which does not exist", o->id);
		return true;
	case IRO_SLOT:
		if (o->id >= v->f->slots.n)
			return bad(v, b, in, "slot s%u does not exist", o->id);
		return check_slot(v, b, in, *o, mem);
	case IRO_MAPVAL:
		if (o->imm != (s32)o->imm)
			return bad(v, b, in, "offset %lld into a map value", (long long)o->imm);
		return true;
	case IRO_FUNC:
		if (!o->id || o->id >= v->p->funcs.n)
			return bad(v, b, in, "function %u does not exist", o->id);
		return true;
	case IRO_CTX:
		return v->fn == 0 || bad(v, b, in, "the context is only valid in the program itself, not in a callback");
	case IRO_IMM:
		return !mem || bad(v, b, in, "the address is the constant %lld", (long long)o->imm);
	case IRO_MAPFD:
		return true;
	case IRO_SPILL: // regalloc's own
	case IRO_NONE:
		break;
	}
	return bad(v, b, in, "an operand is missing");
}

static bool size_ok(const struct IrInsn *in)
{
	switch (in->op) {
	case IR_BSWAP: return in->size == 2 || in->size == 4 || in->size == 8;
	case IR_BR:
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG:
	case IR_ATOMIC_CAS: return in->size == 4 || in->size == 8;
	default: return in->size == 1 || in->size == 2 || in->size == 4 || in->size == 8;
	}
}

static bool check_call(struct Verify *v, IrBlk b, const struct IrInsn *in)
{
	if (in->nargs > 5)
		return bad(v, b, in, "%u arguments, 5 is the limit", in->nargs);
	if (in->op == IR_ATOMIC_CAS && in->nargs != 1)
		return bad(v, b, in, "needs the expected value");
	if (ir_ops[in->op].flags & F_NAME && !in->name)
		return bad(v, b, in, "has no name");
	if (in->op != IR_CALL_FN)
		return true;
	if (!in->id || in->id >= v->p->funcs.n)
		return bad(v, b, in, "function %u does not exist", in->id);
	if (in->nargs != v->p->funcs.p[in->id].nparams)
		return bad(v, b, in, "%u arguments for a function of %u", in->nargs, v->p->funcs.p[in->id].nparams);
	return true;
}

static bool check_insn(struct Verify *v, IrBlk b, const struct IrInsn *in, bool last)
{
	if (in->op >= IR_OPS)
		return bad(v, b, in, "opcode %u does not exist", in->op);
	u32 flags = ir_ops[in->op].flags;
	if (!(flags & F_TERM) != !last)
		return bad(v, b, in, last ? "the block ends without a terminator" : "a terminator in the middle of a block");
	if (in->d > v->f->nregs || (in->d && !(flags & F_D)) || (!in->d && flags & F_PURE))
		return bad(v, b, in, "bad destination v%u", in->d);
	if (flags & F_SIZE && !size_ok(in))
		return bad(v, b, in, "size %u", in->size);
	if (flags & F_ARGS && !check_call(v, b, in))
		return false;
	if (flags & F_A && !(in->op == IR_RET && !in->a.kind) && !check_operand(v, b, in, &in->a))
		return false;
	if (flags & F_B && !check_operand(v, b, in, &in->b))
		return false;
	for (u32 i = 0; flags & F_ARGS && i < in->nargs; i++)
		if (!check_operand(v, b, in, &in->args[i]))
			return false;
	if ((in->op == IR_BR && (in->cond >= IR_CONDS || in->f >= v->f->blocks.n)) ||
	    ((in->op == IR_BR || in->op == IR_JMP) && in->t >= v->f->blocks.n))
		return bad(v, b, in, "bad condition or target");
	return true;
}

// A vreg live into the entry block (and not a parameter) may be read before it is written. Names the first reader that can see it so.
static bool check_defined(struct Verify *v)
{
	struct IrLive l;
	bool ok = true;
	ir_live(v->f, &l);
	for (u32 bit = 0; ok && bit < l.nbits; bit++) {
		IrReg r = l.reg[bit];
		if (r <= v->f->nparams || !live_has(&l, l.in, r))
			continue;
		// The first block in order that reads r while it is live into it from the entry: good enough to find the bug.
		for (u32 i = 0; ok && i < l.rpo.n; i++) {
			IrBlk b = l.rpo.order[i];
			if (!live_has(&l, l.in + (size_t)i * l.words, r))
				continue;
			for (size_t k = 0; ok && k < v->f->blocks.p[b].insns.n; k++) {
				struct IrInsn *in = &v->f->blocks.p[b].insns.p[k];
				struct IrVal *use[IR_MAX_USES];
				for (u32 u = ir_uses(in, use); ok && u--;)
					if (ir_is_reg(*use[u], r))
						ok = bad(v, b, in, "v%u may be read before it is set", r);
				if (in->d == r)
					break;
			}
		}
	}
	ir_live_deinit(&l);
	return ok;
}

static bool check_func(struct Verify *v)
{
	const struct IrFunc *f = v->f;
	if (!f->blocks.n)
		return bad(v, ~0u, NULL, "has no blocks");
	if (f->nparams > (v->fn ? 5 : 0) || f->nparams > f->nregs)
		return bad(v, ~0u, NULL, "%u parameters", f->nparams);
	for (size_t i = 0; i < f->slots.n; i++) {
		const struct IrSlotDef *s = &f->slots.p[i];
		if (!s->size || s->size > 512 || !s->align || s->align > 8 || s->align & (s->align - 1))
			return bad(v, ~0u, NULL, "slot s%zu has size %u, alignment %u", i, s->size, s->align);
	}
	for (size_t i = 0; i < f->blocks.n; i++)
		for (size_t k = 0, n = f->blocks.p[i].insns.n; k < n; k++) {
			const struct IrInsn *in = &f->blocks.p[i].insns.p[k];
			bool term = in->op < IR_OPS && ir_ops[in->op].flags & F_TERM;
			// The last instruction may be no terminator here: only reachable blocks must have one, see below.
			if (!check_insn(v, (IrBlk)i, in, k + 1 == n ? term : false))
				return false;
		}
	// Reachability needs terminators, so look at those first: every block that something jumps to, and the entry.
	bool ok = true;
	u8 *target = xcalloc(f->blocks.n, 1);
	target[0] = 1;
	for (size_t i = 0; i < f->blocks.n; i++) {
		const struct IrInsn *t = ir_term(&f->blocks.p[i]);
		IrBlk succ[2];
		for (u32 k = t ? ir_succs(t, succ) : 0; k--;)
			target[succ[k]] = 1;
	}
	for (size_t i = 0; ok && i < f->blocks.n; i++) {
		const struct IrInsn *t = ir_term(&f->blocks.p[i]);
		if (target[i] && (!t || !(ir_ops[t->op].flags & F_TERM)))
			ok = bad(v, (IrBlk)i, NULL, "the block ends without a terminator");
	}
	free(target);
	return ok && check_defined(v);
}

bool ir_verify(const struct IrProg *p, struct Str *why)
{
	if (!p->funcs.n) {
		str_add(why, "the program has no functions");
		return false;
	}
	for (u32 i = 0; i < p->funcs.n; i++) {
		struct Verify v = {p, &p->funcs.p[i], i, why};
		if (!check_func(&v))
			return false;
	}
	return true;
}
