// Memory: temporaries on the stack and in per-CPU scratch, copies, text, reads from the kernel and from processes.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "lower/internal.h"
#include <linux/bpf.h>

// Bytes moved as single loads and stores; longer copies go through a helper.
#define INLINE_COPY 64
// Stack bytes a function may use for temporaries: frames of a call chain share 512.
#define STACK_MAIN 200
#define STACK_CALLBACK 96

struct Val val_scalar(const struct Type *t, struct IrVal v)
{
	return (struct Val){.type = t, .v = v};
}

struct Val val_mem(const struct Type *t, struct IrVal base, s32 off, enum AddrSpace as)
{
	return (struct Val){.type = t, .mem = true, .v = base, .off = off, .as = as};
}

struct IrVal call0(struct Lower *l, u32 h)
{
	return ir_call(&l->b, h, NULL, 0);
}
struct IrVal call1(struct Lower *l, u32 h, struct IrVal a)
{
	return ir_call(&l->b, h, (struct IrVal[]){a}, 1);
}
struct IrVal call2(struct Lower *l, u32 h, struct IrVal a, struct IrVal b)
{
	return ir_call(&l->b, h, (struct IrVal[]){a, b}, 2);
}
struct IrVal call3(struct Lower *l, u32 h, struct IrVal a, struct IrVal b, struct IrVal c)
{
	return ir_call(&l->b, h, (struct IrVal[]){a, b, c}, 3);
}
struct IrVal call4(struct Lower *l, u32 h, struct IrVal a, struct IrVal b, struct IrVal c, struct IrVal d)
{
	return ir_call(&l->b, h, (struct IrVal[]){a, b, c, d}, 4);
}
struct IrVal rt_call(struct Lower *l, const char *name, u32 n, struct IrVal a, struct IrVal b, struct IrVal c, struct IrVal d, struct IrVal e)
{
	return ir_call_rt(&l->b, name, (struct IrVal[]){a, b, c, d, e}, n);
}

// ---- temporaries

struct IrVal scratch_base(struct Lower *l)
{
	l->uses_scratch = true;
	return l->scratch;
}

static bool slot_free(struct Lower *l, u32 size, u32 *out)
{
	for (u32 i = 0; i < l->nslots; i++)
		if (!l->slots[i].busy && l->slots[i].fn == l->b.fn && l->slots[i].size >= size && l->slots[i].size <= 2 * size + 8) {
			*out = i;
			return true;
		}
	return false;
}

// A stack object, reused after the statement, or the number, that it is for.
struct IrVal tmp_slot(struct Lower *l, u32 size)
{
	u32 i;
	size = ALIGN_UP(MAX(size, 8u), 8u);
	if (!slot_free(l, size, &i)) {
		if (l->nslots == l->capslots) {
			l->capslots = l->capslots ? l->capslots * 2 : 16;
			l->slots = xrealloc(l->slots, l->capslots * sizeof(*l->slots));
		}
		i = l->nslots++;
		l->slots[i] = (struct TmpSlot){ir_new_slot(&l->b, size, 8), size, l->b.fn, false};
		l->stack_used += size;
	}
	l->slots[i].busy = true;
	return ir_slot(l->slots[i].slot, 0);
}

bool in_scratch(const struct Lower *l, u32 size)
{
	return size > l->prog->config.on_stack_limit;
}

struct Val tmp_mem(struct Lower *l, const struct Type *t, u32 size)
{
	u32 room = l->in_callback ? STACK_CALLBACK : STACK_MAIN, i;
	if (!in_scratch(l, size) && (slot_free(l, ALIGN_UP(MAX(size, 8u), 8u), &i) || l->stack_used + size <= room))
		return val_mem(t, tmp_slot(l, size), 0, AS_BPF);
	u64 at = l->scratch_now;
	l->scratch_now = at + ALIGN_UP(size, 8u);
	l->scratch_max = MAX(l->scratch_max, l->scratch_now);
	return val_mem(t, scratch_base(l), (s32)at, AS_BPF);
}

struct TmpMark tmp_mark(struct Lower *l)
{
	struct TmpMark m = {.scratch = l->scratch_now, .nslots = l->nslots};
	for (u32 i = 0; i < l->nslots && i < 64; i++)
		m.busy |= (u64)l->slots[i].busy << i;
	return m;
}

void tmp_release(struct Lower *l, struct TmpMark m)
{
	l->scratch_now = m.scratch;
	for (u32 i = 0; i < l->nslots; i++)
		if (i < 64)
			l->slots[i].busy = m.busy >> i & 1;
		else if (i >= m.nslots)
			l->slots[i].busy = false;
}

// ---- addresses

struct IrVal addr_of(struct Lower *l, struct Val m)
{
	if (!m.off)
		return m.v;
	if (m.v.kind == IRO_SLOT || m.v.kind == IRO_MAPVAL) {
		m.v.imm += m.off;
		return m.v;
	}
	return ir_bin(&l->b, IR_ADD, m.v, ir_imm(m.off));
}

struct IrVal var_place(struct Lower *l, struct VarSym *v, s32 *off)
{
	*off = (s32)v->place;
	return scratch_base(l);
}

// ---- errors of helpers

void report_failure(struct Lower *l, struct IrVal ret, const char *what, struct Span at)
{
	struct ErrSite *s = arena_new(l->u->arena, struct ErrSite);
	bool each = l->prog->config.helper_errors;
	u32 slot = 0;
	for (size_t i = 0; i < l->prog->errsites.n; i++)
		slot += l->prog->errsites.p[i]->counted;
	*s = (struct ErrSite){.span = at, .what = what, .counted = !each, .slot = slot};
	vec_push(&l->prog->errsites, s);
	if (!each) {
		u32 size = sizeof(struct RtSite), off = slot * size;
		struct IrVal p = ir_mapval(sonde_map(l, "rt_sites", BPF_MAP_TYPE_ARRAY, 4, off + size, 1, 0), 0);
		ir_atomic_add(&l->b, p, (s32)off, 8, ir_imm(1));
		ir_store(&l->b, p, (s32)off + 8, 8, ret);
		return;
	}
	IrBlk end = ir_new_block(&l->b, "reported");
	struct IrVal rec = event_reserve(l, RT_EV_HELPER_ERR, (u32)l->prog->errsites.n - 1, 8, end);
	ir_store(&l->b, rec, 8, 8, ret);
	event_submit(l, rec);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

void helper_error(struct Lower *l, struct IrVal ret, const char *what, struct Span at, bool always)
{
	if (!always && !l->prog->config.helper_errors)
		return;
	IrBlk bad = ir_new_block(&l->b, "helper_err"), ok = ir_new_block(&l->b, "helper_ok");
	ir_br(&l->b, IC_SLT, ret, ir_imm(0), bad, ok);
	ir_set_block(&l->b, bad);
	report_failure(l, ret, what, at);
	ir_jmp(&l->b, ok);
	ir_set_block(&l->b, ok);
}

struct IrVal read_mem(struct Lower *l, enum AddrSpace as, struct IrVal dst, struct IrVal size, struct IrVal addr, bool str, struct Span at)
{
	bool user = as == AS_USER;
	u32 h = str ? user ? H_READ_USER_STR : H_READ_KERNEL_STR : user ? l->touching ? H_COPY_FROM_USER : H_READ_USER : H_READ_KERNEL;
	struct IrVal r = call3(l, h, dst, size, addr);
	static const char *const names[] = {"probe_read_kernel", "probe_read_kernel_str", "probe_read_user", "probe_read_user_str"};
	if (at.len)
		helper_error(l, r, names[user * 2 + str], at, false);
	return r;
}

// A read that may fail. What is not there is 0, as in bpftrace; --strict wants to know, but for null pointers, which scripts follow as lists end.
void read_counted(struct Lower *l, enum AddrSpace as, struct IrVal dst, struct IrVal size, struct IrVal addr, struct Span at)
{
	struct IrVal r = read_mem(l, as, dst, size, addr, false, at);
	if (!l->prog->config.count_reads || l->touching || as == AS_BPF)
		return;
	IrBlk bad = ir_new_block(&l->b, "unread"), absent = ir_new_block(&l->b, "absent"), end = ir_new_block(&l->b, "was_read");
	ir_br(&l->b, IC_SLT, r, ir_imm(0), bad, end);
	ir_set_block(&l->b, bad);
	ir_br(&l->b, IC_UGE, addr, ir_imm(NOWHERE), absent, end);
	ir_set_block(&l->b, absent);
	count_loss(l, offsetof(struct RtCounters, reads_failed));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

// ---- scalars

static struct IrVal extract_bits(struct Lower *l, struct Val m, struct IrVal whole)
{
	if (!m.bit_size)
		return whole;
	struct IrVal x = ir_bin(&l->b, IR_SHL, whole, ir_imm(64 - m.bit_off - m.bit_size));
	return ir_bin(&l->b, m.type->sgn ? IR_ASHR : IR_LSHR, x, ir_imm(64 - m.bit_size));
}

struct IrVal load_scalar(struct Lower *l, struct Val m)
{
	u32 size = m.type->size;
	bool sgn = m.type->sgn && !m.bit_size;
	if (m.bit_size) // the smallest power of two that covers the field
		for (size = 1; size * 8 < (u32)m.bit_off + m.bit_size; size *= 2)
			;
	if (m.as == AS_BPF)
		return extract_bits(l, m, ir_load(&l->b, m.v, m.off, size, sgn));
	struct IrVal t = tmp_slot(l, 8);
	read_counted(l, m.as, t, ir_imm(size), addr_of(l, m), l->prog->config.helper_errors ? l->read_at : (struct Span){0});
	return extract_bits(l, m, ir_load(&l->b, t, 0, size, sgn));
}

// ---- copies

// Widest store at offset off for at most n bytes: the stack takes aligned accesses only, and every object begins at a multiple of 8.
static u32 step_at(s32 off, u32 n)
{
	u32 step = 8;
	while (step > n || off % (s32)step)
		step /= 2;
	return step;
}

u32 load_step(s32 a, s32 b, u32 n)
{
	return step_at(a, step_at(b, n));
}

void zero_bytes(struct Lower *l, struct IrVal base, s32 off, u32 size)
{
	if (size <= INLINE_COPY * 2) {
		for (u32 step, i = 0; i < size; i += step) {
			step = step_at(off + (s32)i, size - i);
			ir_store(&l->b, base, off + (s32)i, step, ir_imm(0));
		}
		return;
	}
	// A failing bpf_probe_read_kernel clears its destination: one call instead of a loop.
	call3(l, H_READ_KERNEL, addr_of(l, val_mem(NULL, base, off, AS_BPF)), ir_imm(size), ir_imm(0));
}

void copy_bytes(struct Lower *l, struct IrVal base, s32 off, struct Val src, u32 size)
{
	if (src.ctx) { // taken whole: not all of it may be loaded directly, a tracepoint's first 8 bytes for one (kernel, tp_prog_is_valid_access)
		src.v = addr_of(l, src);
		src.off = 0;
		src.as = AS_KERNEL;
	}
	if (src.as == AS_BPF && size <= INLINE_COPY) {
		for (u32 step, i = 0; i < size; i += step) {
			step = step_at(off + (s32)i, step_at(src.off + (s32)i, size - i));
			ir_store(&l->b, base, off + (s32)i, step, ir_load(&l->b, src.v, src.off + (s32)i, step, false));
		}
		return;
	}
	read_counted(l, src.as, addr_of(l, val_mem(NULL, base, off, AS_BPF)), ir_imm(size), addr_of(l, src), (struct Span){0});
}

void store_lit_str(struct Lower *l, struct IrVal base, s32 off, u32 size, const char *s, u32 len, bool pad)
{
	u32 n = MIN(len, size - 1), used = n + 1;
	if (pad && size - used > INLINE_COPY)
		zero_bytes(l, base, off, size);
	else if (pad)
		used = size;
	for (u32 step, i = 0; i < used; i += step) {
		u64 v = 0;
		step = step_at(off + (s32)i, !pad && size - i >= 8 ? 8 : used - i);
		for (u32 k = 0; k < step && i + k < n; k++)
			v |= (u64)(u8)s[i + k] << (8 * k); // little endian, as every supported target
		ir_store(&l->b, base, off + (s32)i, step, ir_imm((s64)v));
	}
}

// A text that fits is copied with what is behind its NUL, also into keys, which are compared whole: wherever one is kept it is zero to its end.
bool keeps_short_text(const struct Type *t)
{
	if (t->kind == TY_STR)
		return t->size <= INLINE_COPY;
	for (u32 i = 0; t->kind == TY_TUPLE && i < t->n; i++)
		if (keeps_short_text(t->fields[i].type))
			return true;
	return false;
}

// An array of characters may be full, without a NUL: the helper has put one (r, the bytes it has read, is all of them) over the last.
static void last_char(struct Lower *l, struct IrVal base, s32 off, u32 size, u32 have, enum AddrSpace as, struct IrVal from, struct IrVal r)
{
	IrBlk full = ir_new_block(&l->b, "full"), end = ir_new_block(&l->b, "text");
	ir_br(&l->b, IC_EQ, r, ir_imm(have), full, end);
	ir_set_block(&l->b, full);
	if (size > have)
		ir_store(&l->b, base, off + (s32)have, 1, ir_imm(0));
	read_mem(l, as, addr_of(l, val_mem(NULL, base, off + (s32)have - 1, AS_BPF)), ir_imm(1), ir_bin(&l->b, IR_ADD, from, ir_imm(have - 1)), false,
		 (struct Span){0});
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

// Text from src (NUL-terminated within its size, or filling it) into size bytes.
void copy_str(struct Lower *l, struct IrVal base, s32 off, u32 size, struct Val src, bool pad)
{
	u32 have = src.type->kind == TY_STR ? src.type->size : size;
	if (src.as == AS_BPF && have <= INLINE_COPY) {
		u32 n = MIN(have, size);
		copy_bytes(l, base, off, src, n);
		if (n < size && pad)
			zero_bytes(l, base, off + (s32)n, size - n);
		if (n == size && have > size)
			ir_store(&l->b, base, off + (s32)size - 1, 1, ir_imm(0));
		return;
	}
	if (pad)
		zero_bytes(l, base, off, size);
	struct IrVal from = ir_mov(&l->b, addr_of(l, src));
	struct IrVal r = read_mem(l, src.as, addr_of(l, val_mem(NULL, base, off, AS_BPF)), ir_imm(MIN(size, have)), from, true, (struct Span){0});
	if (src.type->kind == TY_STR && size >= have)
		last_char(l, base, off, size, have, src.as, from, r);
}

static void store_tuple(struct Lower *l, struct Val src, struct IrVal base, s32 off, const struct Type *t, bool pad)
{
	u32 at = 0;
	for (u32 i = 0; i < t->n; i++) {
		const struct TupleField *to = &t->fields[i], *from = ty_tuple_field(src.type, to, i);
		if (to->off > at)
			zero_bytes(l, base, off + (s32)at, to->off - at);
		struct Val f = val_mem(from->type, src.v, src.off + (s32)from->off, src.as);
		if (ty_scalar(from->type))
			f = val_scalar(from->type, load_scalar(l, f));
		store_val(l, f, base, off + (s32)to->off, to->type, pad);
		at = to->off + to->type->size;
	}
	if (t->size > at)
		zero_bytes(l, base, off + (s32)at, t->size - at);
}

void store_val(struct Lower *l, struct Val src, struct IrVal base, s32 off, const struct Type *t, bool pad)
{
	if (ty_scalar(t)) {
		ir_store(&l->b, base, off, t->size, src.mem ? load_scalar(l, src) : src.v);
		return;
	}
	if (t->kind == TY_STR)
		src = as_text(l, src);
	assert(src.mem);
	switch (t->kind) {
	case TY_STR:
		copy_str(l, base, off, t->size, src, pad);
		break;
	case TY_TUPLE:
		if (src.type == t && !pad)
			copy_bytes(l, base, off, src, t->size);
		else
			store_tuple(l, src, base, off, t, pad);
		break;
	case TY_BUF:
		if (pad && src.type->size < t->size)
			zero_bytes(l, base, off, t->size);
		copy_bytes(l, base, off, src, MIN(t->size, src.type->size));
		break;
	default:
		copy_bytes(l, base, off, src, MIN(t->size, src.type->size));
		if (src.type->size < t->size)
			zero_bytes(l, base, off + (s32)src.type->size, t->size - src.type->size);
	}
}

struct IrVal to_bpf_mem(struct Lower *l, struct Val *m, u32 size)
{
	if (m->as == AS_BPF && !m->ctx)
		return addr_of(l, *m);
	struct Val t = tmp_mem(l, m->type, size);
	if (m->type->kind == TY_STR)
		copy_str(l, t.v, t.off, size, *m, true);
	else
		copy_bytes(l, t.v, t.off, *m, size);
	*m = t;
	return addr_of(l, t);
}
