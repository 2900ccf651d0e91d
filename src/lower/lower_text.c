// Builtins on text and bytes -> IR.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "lower/internal.h"

// min(n, max) as an unsigned number the verifier knows the bound of
static struct IrVal clamp(struct Lower *l, struct IrVal n, u32 max)
{
	if (n.kind == IRO_IMM)
		return ir_imm((u64)n.imm < max ? n.imm : max);
	IrReg r = ir_new_reg(&l->b);
	IrBlk big = ir_new_block(&l->b, "big"), ok = ir_new_block(&l->b, "clamped");
	ir_set(&l->b, r, n);
	ir_br(&l->b, IC_UGT, ir_reg(r), ir_imm(max), big, ok);
	ir_set_block(&l->b, big);
	ir_set(&l->b, r, ir_imm(max));
	ir_jmp(&l->b, ok);
	ir_set_block(&l->b, ok);
	return ir_reg(r);
}

// ---- texts that are numbers until they are printed

// A map of the texts of all numbers of a kind, for programs that want their characters. Behind them: that of every other number, and the empty one.
static u32 text_map(struct Lower *l, const struct Type *t, u32 *unknown)
{
	static const struct { const char *map, *other; u32 n; } kinds[TY_KINDS] = {
		[TY_STRERROR] = {"sonde_errors", "Unknown error", 134}, // EHWPOISON is the last
		[TY_SYSCALL_NAME] = {"sonde_syscalls", "Unknown syscall", 512},
		[TY_SIGNAL_NAME] = {"sonde_signals", "N/A", 65}};
	u32 n = *unknown = kinds[t->kind].n;
	u32 id = sonde_map(l, kinds[t->kind].map, BPF_MAP_TYPE_ARRAY, 4, (n + 2) * NUMBERED_TEXT, 1, BPF_F_RDONLY_PROG);
	struct MapDef *m = l->prog->maps.p[id];
	if (m->init)
		return id;
	char *texts = arena_alloc(l->prog->arena, m->value_size);
	memset(texts, 0, m->value_size);
	for (u32 i = 0; i <= n; i++) {
		const char *s = i < n ? text_of_number(l->u, t, i) : NULL;
		snprintf(texts + (size_t)i * NUMBERED_TEXT, NUMBERED_TEXT, "%s", s ? s : kinds[t->kind].other);
	}
	m->init = texts;
	return id;
}

struct Val as_text(struct Lower *l, struct Val v)
{
	if (!ty_is_numbered(v.type))
		return v;
	u32 unknown, map = text_map(l, v.type, &unknown);
	IrReg at = ir_new_reg(&l->b);
	IrBlk some = ir_new_block(&l->b, "number"), end = ir_new_block(&l->b, "text");
	struct IrVal kept = ir_mov(&l->b, v.mem ? load_scalar(l, v) : v.v);
	ir_set(&l->b, at, ir_imm(unknown + 1));
	ir_br(&l->b, IC_EQ, kept, ir_imm(0), end, some);
	ir_set_block(&l->b, some);
	ir_set(&l->b, at, clamp(l, ir_bin(&l->b, IR_XOR, kept, ir_imm((s32)ty_text_bits(v.type))), unknown));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	struct IrVal off = ir_bin(&l->b, IR_MUL, ir_reg(at), ir_imm(NUMBERED_TEXT));
	return val_mem(ty_as_text(l->u->types, v.type), ir_bin(&l->b, IR_ADD, ir_mov(&l->b, ir_mapval(map, 0)), off), 0, AS_BPF);
}

#define UNREAD "<not in memory>"

// A text that could not be read: its page is not in memory, or nothing is there. It says so itself, where there is room.
static void say_unread(struct Lower *l, struct IrVal ret, struct IrVal addr, struct IrVal base, s32 off, u32 size)
{
	IrBlk bad = ir_new_block(&l->b, "unread"), absent = ir_new_block(&l->b, "absent"), end = ir_new_block(&l->b, "text");
	ir_br(&l->b, IC_SLT, ret, ir_imm(0), bad, end);
	ir_set_block(&l->b, bad);
	ir_br(&l->b, IC_UGE, addr, ir_imm(NOWHERE), absent, end);
	ir_set_block(&l->b, absent);
	if (!l->prog->config.helper_errors)
		count_loss(l, offsetof(struct RtCounters, strings_unread));
	if (size >= sizeof(UNREAD) && !l->o->as_bpftrace)
		store_lit_str(l, base, off, size, UNREAD, sizeof(UNREAD) - 1, false);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

void str_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size, bool pad)
{
	struct Expr *a = e->args[0];
	struct IrVal dst = addr_of(l, val_mem(NULL, base, off, AS_BPF));
	struct Val src;
	if (ty_scalar(a->type) && !ty_is_numbered(a->type)) {
		src = val_mem(NULL, lx_int(l, a), 0, arg_as(l, a));
	} else {
		src = as_text(l, lx(l, a));
		if (src.type->kind == TY_BUF)
			src.off += 4;
	}
	struct IrVal n = ir_imm(size);
	if (e->nargs == 2 && e->args[1]->kind != E_INT)
		n = clamp(l, lx_int(l, e->args[1]), size);
	else if (e->nargs == 2)
		n = ir_imm((s64)MIN((u64)size, MAX(e->args[1]->ival, 1ull)));
	else if (!ty_scalar(a->type) && src.type->kind == TY_ARRAY)
		n = ir_imm(MIN(size, src.type->n + 1));
	if (pad)
		zero_bytes(l, base, off, size);
	else
		ir_store(&l->b, base, off, 1, ir_imm(0)); // an unreadable text is an empty one
	struct IrVal from = ir_mov(&l->b, addr_of(l, src));
	struct IrVal r = read_mem(l, src.as, dst, n, from, true, a->span);
	if (src.as == AS_USER)
		say_unread(l, r, from, base, off, size);
}

struct Val l_str(struct Lower *l, struct Expr *e)
{
	if (is_text(e->args[0]) && e->nargs == 1)
		return as_text(l, lx(l, e->args[0]));
	return into_tmp(l, e);
}

void buf_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 max)
{
	struct Expr *a = e->args[0];
	struct IrVal n = ir_imm(max);
	struct Val src = ty_scalar(a->type) ? val_mem(NULL, lx_int(l, a), 0, arg_as(l, a)) : lx_place(l, a);
	if (src.ctx) {
		src.v = addr_of(l, src);
		src.off = 0;
		src.as = AS_KERNEL;
	}
	if (e->nargs == 2)
		n = clamp(l, lx_int(l, e->args[1]), max);
	ir_store(&l->b, base, off, 4, n);
	read_counted(l, src.as, addr_of(l, val_mem(NULL, base, off + 4, AS_BPF)), n, addr_of(l, src), a->span);
}

struct Val l_buf(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

static struct IrVal text(struct Lower *l, struct Expr *a, u32 *cap)
{
	struct Val m = as_text(l, lx(l, a));
	*cap = m.type->size;
	return to_bpf_mem(l, &m, m.type->size);
}

struct Val l_strlen(struct Lower *l, struct Expr *e)
{
	u32 cap;
	struct IrVal p = text(l, e->args[0], &cap);
	return num(e, rt_call(l, in_scratch(l, cap) ? "rt_strlen_long" : "rt_strlen", 2, p, ir_imm(cap), ir_imm(0), ir_imm(0), ir_imm(0)));
}

struct Val l_strstr(struct Lower *l, struct Expr *e)
{
	u32 hc, nc;
	struct IrVal h = text(l, e->args[0], &hc), n = text(l, e->args[1], &nc);
	struct IrVal r = rt_call(l, l->o->bpf_loop ? "rt_strstr_loop" : "rt_strstr", 4, h, ir_imm(hc), n, ir_imm(nc), ir_imm(0));
	if (e->builtin->id == BI_strstr)
		return num(e, r);
	// found unless negative
	struct IrVal sign = ir_bin(&l->b, IR_LSHR, r, ir_imm(63));
	return num(e, ir_bin(&l->b, IR_XOR, sign, ir_imm(1)));
}

// Both texts into a buffer of twice the room, the second where the first ends; then as much of it as there is room for.
void concat_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size)
{
	struct Val both = tmp_mem(l, e->type, 2 * size);
	struct IrVal at = addr_of(l, both), src[2];
	u32 cap[2];
	for (u32 i = 0; i < 2; i++)
		src[i] = text(l, e->args[i], &cap[i]);
	ir_store(&l->b, both.v, both.off, 1, ir_imm(0));
	struct IrVal n = read_mem(l, AS_KERNEL, at, ir_imm(MIN(size, cap[0])), src[0], true, (struct Span){0});
	struct IrVal end = clamp(l, ir_bin(&l->b, IR_SUB, n, ir_imm(1)), size - 1); // n counts the NUL
	read_mem(l, AS_KERNEL, ir_bin(&l->b, IR_ADD, at, end), ir_imm(MIN(size, cap[1])), src[1], true, (struct Span){0});
	read_mem(l, AS_KERNEL, addr_of(l, val_mem(NULL, base, off, AS_BPF)), ir_imm(size), at, true, (struct Span){0});
}

struct Val l_str_concat(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

// Whether the first n characters differ: 1 or 0, as bpftrace's strncmp() says it, without a branch.
static struct IrVal is_other(struct Lower *l, struct IrVal a, struct IrVal b, u32 n)
{
	struct IrVal d = rt_call(l, "rt_strncmp", 3, a, b, ir_imm(n), ir_imm(0), ir_imm(0));
	return ir_bin(&l->b, IR_LSHR, ir_bin(&l->b, IR_OR, d, ir_bin(&l->b, IR_SUB, ir_imm(0), d)), ir_imm(63));
}

// A literal pattern without wildcards, or with one * at its end: how many characters are to be equal. 0: any other pattern.
static u32 plain_pattern(const struct Expr *pat)
{
	if (pat->kind != E_STR)
		return 0;
	u32 n = (u32)strcspn(pat->str, "*?[");
	return n == pat->len ? n + 1 : pat->str[n] == '*' && n + 1 == pat->len ? n : 0;
}

struct Val l_globmatch(struct Lower *l, struct Expr *e)
{
	u32 sc, pc, n = plain_pattern(e->args[1]);
	struct IrVal s = text(l, e->args[0], &sc), p = text(l, e->args[1], &pc);
	if (n > sc) // longer than the text can be
		return num(e, ir_imm(0));
	if (n) {
		struct IrVal differs = is_other(l, s, p, n);
		return num(e, ir_bin(&l->b, IR_XOR, differs, ir_imm(1)));
	}
	if (!l->o->bpf_loop)
		diag_error(l->u->diags, e->span,
			   "globmatch() with more than one * at the end of a literal pattern needs bpf_loop (Linux 5.17), which this kernel does not have");
	return num(e, rt_call(l, "rt_globmatch", 4, s, ir_imm(sc), p, ir_imm(pc), ir_imm(0)));
}

struct Val l_strncmp(struct Lower *l, struct Expr *e)
{
	u32 ac, bc;
	struct IrVal a = text(l, e->args[0], &ac), b = text(l, e->args[1], &bc);
	u32 n = (u32)MIN(e->args[2]->ival, (u64)MIN(ac, bc));
	return num(e, is_other(l, a, b, n));
}

// The first n bytes of a value, with zeros behind its end, or of what a pointer points to: of that so many as there are to be, where it is known only now.
static struct IrVal bytes(struct Lower *l, struct Expr *a, u32 n, const struct IrVal *count)
{
	struct Val m;
	if (ty_scalar(a->type) && a->type->kind == TY_PTR)
		m = val_mem(a->type, lx_int(l, a), 0, arg_as(l, a));
	else if (ty_scalar(a->type) && !ty_is_numbered(a->type)) {
		m = tmp_mem(l, a->type, 8);
		ir_store(&l->b, m.v, m.off, 8, lx_int(l, a));
	} else
		m = as_text(l, lx(l, a));
	if (m.as != AS_BPF || m.type->size < n) {
		struct Val t = tmp_mem(l, m.type, n);
		u32 have = m.as == AS_BPF || count ? MIN(n, m.type->size) : n;
		if (count && a->type->kind == TY_PTR) {
			zero_bytes(l, t.v, t.off, n);
			read_counted(l, m.as, addr_of(l, t), *count, addr_of(l, m), (struct Span){0});
			return addr_of(l, t);
		}
		if (have < n)
			zero_bytes(l, t.v, t.off + (s32)have, n - have);
		copy_bytes(l, t.v, t.off, m, have);
		m = t;
	}
	return addr_of(l, m);
}

struct Val l_write_user(struct Lower *l, struct Expr *e)
{
	struct IrVal dst = ir_mov(&l->b, lx_int(l, e->args[0]));
	u32 n = (u32)e->args[2]->ival;
	struct IrVal r = call3(l, H_WRITE_USER, dst, bytes(l, e->args[1], n, NULL), ir_imm(n));
	IrReg ok = ir_new_reg(&l->b);
	IrBlk failed = ir_new_block(&l->b, "failed"), end = ir_new_block(&l->b, "written");
	ir_set(&l->b, ok, ir_imm(1));
	ir_br(&l->b, IC_EQ, r, ir_imm(0), end, failed);
	ir_set_block(&l->b, failed);
	ir_set(&l->b, ok, ir_imm(0));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return num(e, ir_reg(ok));
}

// Texts go as their address; numbers as wide as the function takes them.
struct Val l_c_function(struct Lower *l, struct Expr *e)
{
	const struct CFunc *f = e->aux;
	struct IrVal args[5] = {ir_imm(0), ir_imm(0), ir_imm(0), ir_imm(0), ir_imm(0)};
	u32 cap;
	for (u32 i = 0; i < MIN(e->nargs, ARRAY_LEN(args)); i++) {
		const struct CValue *p = &f->params[i];
		if (is_text(e->args[i]))
			args[i] = text(l, e->args[i], &cap);
		else
			args[i] = ir_mov(&l->b, lx_int(l, e->args[i]));
		if (p->size < 8)
			args[i] = ir_ext(&l->b, args[i], p->size, p->sgn);
	}
	struct IrVal r = ir_call_rt(&l->b, arena_printf(l->u->arena, RT_IMPORTED "%s", f->name), args, f->nparams);
	if (!f->result.size)
		return nothing(e);
	return num(e, f->result.size < 8 ? ir_ext(&l->b, r, f->result.size, f->result.sgn) : r);
}

// Behind the ends of two values is nothing more to compare.
static u32 memcmp_room(const struct Expr *a, const struct Expr *b)
{
	const struct Type *x = a->type, *y = b->type;
	u32 size = MAX(is_text(a) ? MAX(x->size, NUMBERED_TEXT) : x->size, is_text(b) ? MAX(y->size, NUMBERED_TEXT) : y->size);
	return x->kind == TY_PTR || y->kind == TY_PTR ? MEMCMP_MAX : MIN(size, (u32)MEMCMP_MAX);
}

struct Val l_memcmp(struct Lower *l, struct Expr *e)
{
	bool known = e->args[2]->kind == E_INT;
	u32 n = known ? (u32)e->args[2]->ival : memcmp_room(e->args[0], e->args[1]);
	if (!n)
		return num(e, ir_imm(0));
	struct IrVal count = known ? ir_imm(n) : ir_mov(&l->b, lx_int(l, e->args[2])), some = clamp(l, count, n);
	struct IrVal a = bytes(l, e->args[0], n, known ? NULL : &some), b = bytes(l, e->args[1], n, known ? NULL : &some);
	return num(e, rt_call(l, "rt_memcmp", 3, a, b, clamp(l, count, n), ir_imm(0), ir_imm(0))); // once more: kernels forget the bound of what was spilled
}
