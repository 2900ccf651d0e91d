// Maps -> IR: sonde's own maps, keys, reads, writes, aggregations, and events through the ring buffer.
//
// Storage: scalar maps are arrays of one element whose value is followed by a u64 that says it was ever set (count() needs none);
// keyed maps are hashes; aggregations live in per-CPU maps and are merged when read.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "ir/lower.h"
#include <linux/bpf.h>

#define RT_COUNTERS_SIZE sizeof(struct RtCounters)

// ---- sonde's own maps

u32 sonde_map(struct Lower *l, const char *name, u32 type, u32 key, u32 val, u32 max, u32 flags)
{
	for (size_t i = 0; i < l->prog->maps.n; i++)
		if (!strcmp(l->prog->maps.p[i]->name, name)) {
			struct MapDef *m = l->prog->maps.p[i];
			m->value_size = MAX(m->value_size, val);
			return m->id;
		}
	struct MapDef *m = arena_new(l->u->arena, struct MapDef);
	*m = (struct MapDef){.id = (u32)l->prog->maps.n, .name = name, .bpf_type = type, .key_size = key, .value_size = val, .max_entries = max,
			     .flags = flags, .fd = -1};
	vec_push(&l->prog->maps, m);
	return m->id;
}

u32 events_map(struct Lower *l)
{
	l->prog->uses_events = true;
	return sonde_map(l, "sonde_events", BPF_MAP_TYPE_RINGBUF, 0, 0, 0, 0); // size: session
}

static u32 zero_map(struct Lower *l, u32 size)
{
	return sonde_map(l, "sonde_zero", BPF_MAP_TYPE_ARRAY, 4, MAX(size, 8u), 1, BPF_F_RDONLY_PROG);
}

// A function of the program that adds 1 to a counter of this CPU: losses are rare, so it is out of the way.
static u32 loss_function(struct Lower *l)
{
	if (l->fn_count_loss)
		return l->fn_count_loss - 1;
	struct IrBuild up = l->b;
	u32 fn = ir_new_func(&l->pp->ir, "count_loss", 1);
	l->fn_count_loss = fn + 1;
	ir_enter(&l->b, fn, 0);
	l->b.loc = up.loc;
	u32 map = sonde_map(l, "rt_counters", BPF_MAP_TYPE_PERCPU_ARRAY, 4, RT_COUNTERS_SIZE, 1, 0);
	IrSlot key = ir_new_slot(&l->b, 8, 8);
	ir_store(&l->b, ir_slot(key, 0), 0, 4, ir_imm(0));
	struct IrVal off = ir_mov(&l->b, ir_param(&l->b, 0));
	struct IrVal p = call2(l, H_MAP_LOOKUP, ir_mapfd(map), ir_slot(key, 0));
	IrBlk have = ir_new_block(&l->b, "have"), in = ir_new_block(&l->b, "in"), out = ir_new_block(&l->b, "out");
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, out);
	ir_set_block(&l->b, have);
	ir_br(&l->b, IC_ULE, off, ir_imm(RT_COUNTERS_SIZE - 8), in, out);
	ir_set_block(&l->b, in);
	struct IrVal at = ir_bin(&l->b, IR_ADD, p, off);
	ir_store(&l->b, at, 0, 8, ir_bin(&l->b, IR_ADD, ir_load(&l->b, at, 0, 8, false), ir_imm(1)));
	ir_jmp(&l->b, out);
	ir_set_block(&l->b, out);
	ir_ret(&l->b, ir_imm(0));
	l->b = up;
	return fn;
}

void count_loss(struct Lower *l, u32 counter_off)
{
	struct IrVal off = ir_imm(counter_off);
	ir_call_fn(&l->b, loss_function(l), &off, 1);
}

// ---- events

struct IrVal event_reserve(struct Lower *l, u32 kind, u32 id, u32 size, IrBlk fail)
{
	struct IrVal rec = call3(l, H_RINGBUF_RESERVE, ir_mapfd(events_map(l)), ir_imm(8 + size), ir_imm(0));
	IrBlk ok = ir_new_block(&l->b, "event"), lost = ir_new_block(&l->b, "lost");
	ir_br(&l->b, IC_NE, rec, ir_imm(0), ok, lost);
	ir_set_block(&l->b, lost);
	count_loss(l, offsetof(struct RtCounters, lost_events));
	ir_jmp(&l->b, fail);
	ir_set_block(&l->b, ok);
	ir_store(&l->b, rec, 0, 8, ir_imm((s64)((u64)id << 32 | kind)));
	assert(rec.kind == IRO_REG && l->nopen < ARRAY_LEN(l->open));
	l->open[l->nopen++] = rec.id;
	return rec;
}

void event_submit(struct Lower *l, struct IrVal rec)
{
	assert(l->nopen && l->open[l->nopen - 1] == rec.id);
	l->nopen--;
	call2(l, H_RINGBUF_SUBMIT, rec, ir_imm(0));
}

// ---- the script's maps

static bool has_presence(const struct MapSym *m)
{
	return !m->def->key && m->val->kind != TY_COUNT;
}

static u32 decl_type(const struct MapDecl *d)
{
	static const struct { const char *name; u32 type; } types[] = {
		{"hash", BPF_MAP_TYPE_HASH}, {"lruhash", BPF_MAP_TYPE_LRU_HASH}, {"percpuhash", BPF_MAP_TYPE_PERCPU_HASH},
		{"percpulruhash", BPF_MAP_TYPE_LRU_PERCPU_HASH}, {"percpuarray", BPF_MAP_TYPE_PERCPU_HASH}};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(d->type, types[i].name))
			return types[i].type;
	return 0;
}

static u32 tseries_size(const struct Type *t)
{
	return t->size;
}

static void map_def(struct Lower *l, struct MapSym *m)
{
	struct MapDef *d = arena_new(l->u->arena, struct MapDef);
	bool aggr = ty_is_aggr(m->val);
	u32 size = aggr && m->val->kind == TY_TSERIES ? tseries_size(m->val) : m->val->size;
	bool ours = !strncmp(m->name, "@__watch", 8); // probe/watch.c
	*d = (struct MapDef){.id = (u32)l->prog->maps.n, .name = m->name, .user = !ours, .percpu = aggr, .val = m->val, .fd = -1};
	d->value_size = ALIGN_UP(MAX(size, 1u), 8u);
	if (m->keyed) {
		d->key = m->key;
		d->key_size = MAX(m->key->size, 1u);
		d->max_entries = l->prog->config.max_map_keys;
		d->bpf_type = aggr ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH;
		// Memory for every key up front is dear when keys are long.
		if (l->o->no_prealloc && (d->key_size + d->value_size * (aggr ? l->o->ncpus : 1)) > 128)
			d->flags = BPF_F_NO_PREALLOC;
		if (m->decl) {
			u32 t = decl_type(m->decl);
			if (!t)
				diag_error(l->u->diags, m->decl->span, "Invalid bpf map type: %s", m->decl->type);
			else
				d->bpf_type = t;
			if (m->decl->max && m->decl->max->kind == E_INT)
				d->max_entries = (u32)m->decl->max->ival;
			if (d->bpf_type == BPF_MAP_TYPE_LRU_HASH || d->bpf_type == BPF_MAP_TYPE_LRU_PERCPU_HASH)
				d->flags = 0;
		}
	} else {
		d->scalar = true;
		d->key_size = 4;
		d->max_entries = 1;
		d->bpf_type = aggr ? BPF_MAP_TYPE_PERCPU_ARRAY : BPF_MAP_TYPE_ARRAY;
		if (m->val->kind != TY_COUNT)
			d->value_size += 8; // "was set"
	}
	vec_push(&l->prog->maps, d);
	m->def = d;
	if (aggr && m->keyed)
		zero_map(l, d->value_size);
}

void lower_maps(struct Lower *l)
{
	for (size_t i = 0; i < l->u->maps.n; i++)
		map_def(l, l->u->maps.p[i]);
}

// Address of the key in BPF memory. Scalar maps: a zero index.
struct IrVal lm_key(struct Lower *l, struct MapSym *m, struct Expr *key)
{
	if (m->def->scalar) {
		struct IrVal k = tmp_slot(l, 8);
		ir_store(&l->b, k, 0, 4, ir_imm(0));
		return k;
	}
	struct Val t = tmp_mem(l, m->key, m->def->key_size);
	lx_into(l, key, t.v, t.off, m->key, true);
	return addr_of(l, t);
}

struct IrVal lm_lookup(struct Lower *l, struct MapSym *m, struct IrVal key)
{
	if (m->def->bpf_type == BPF_MAP_TYPE_ARRAY)
		return ir_mapval(m->def->id, 0);
	return call2(l, H_MAP_LOOKUP, ir_mapfd(m->def->id), key);
}

static void set_present(struct Lower *l, struct MapSym *m, struct IrVal p)
{
	if (has_presence(m))
		ir_store(&l->b, p, (s32)m->def->value_size - 8, 8, ir_imm(1));
}

static void update(struct Lower *l, struct MapSym *m, struct IrVal key, struct IrVal val, struct Span at)
{
	struct IrVal r = call4(l, H_MAP_UPDATE, ir_mapfd(m->def->id), key, val, ir_imm(BPF_ANY));
	IrBlk bad = ir_new_block(&l->b, "full"), ok = ir_new_block(&l->b, "updated");
	ir_br(&l->b, IC_NE, r, ir_imm(0), bad, ok);
	ir_set_block(&l->b, bad);
	count_loss(l, offsetof(struct RtCounters, map_full));
	report_failure(l, r, "map_update_elem", at);
	ir_jmp(&l->b, ok);
	ir_set_block(&l->b, ok);
}

// The value's address; when the key is new it is added with a zero value. Goes to `full` when there is no room.
static struct IrVal lookup_or_add(struct Lower *l, struct MapSym *m, struct IrVal key, IrBlk full, struct Span at)
{
	if (m->def->bpf_type == BPF_MAP_TYPE_ARRAY)
		return ir_mapval(m->def->id, 0);
	IrReg p = ir_new_reg(&l->b);
	IrBlk add = ir_new_block(&l->b, "add"), have = ir_new_block(&l->b, "have"), none = ir_new_block(&l->b, "none");
	ir_set(&l->b, p, lm_lookup(l, m, key));
	ir_br(&l->b, IC_NE, ir_reg(p), ir_imm(0), have, add);
	ir_set_block(&l->b, add);
	if (!m->def->scalar) {
		// BPF_NOEXIST: another CPU may have added it meanwhile, then the second look-up finds it
		struct IrVal zero = ir_mapval(zero_map(l, m->def->value_size), 0);
		struct IrVal r = call4(l, H_MAP_UPDATE, ir_mapfd(m->def->id), key, zero, ir_imm(BPF_NOEXIST));
		ir_set(&l->b, p, lm_lookup(l, m, key));
		ir_br(&l->b, IC_NE, ir_reg(p), ir_imm(0), have, none);
		ir_set_block(&l->b, none);
		count_loss(l, offsetof(struct RtCounters, map_full));
		report_failure(l, r, "map_update_elem", at);
		ir_jmp(&l->b, full);
	} else {
		ir_jmp(&l->b, none);
		ir_set_block(&l->b, none);
		ir_jmp(&l->b, full);
	}
	ir_set_block(&l->b, have);
	return ir_reg(p);
}

// ---- reading

static struct IrVal ref_key(struct Lower *l, struct Expr *ref)
{
	return lm_key(l, ref->map, ref->kind == E_MAPREF ? ref->a : NULL);
}

struct Val lm_get(struct Lower *l, struct Expr *ref)
{
	struct MapSym *m = ref->map;
	const struct Type *t = m->val;
	if (ty_is_aggr(t))
		return val_scalar(ref->type, lm_aggr_int(l, m, ref_key(l, ref)));
	if (!ty_scalar(t)) {
		struct Val tmp = tmp_mem(l, t, t->size);
		lm_into(l, ref, tmp.v, tmp.off, t, false);
		return tmp;
	}
	if (m->def->bpf_type == BPF_MAP_TYPE_ARRAY)
		return val_scalar(t, ir_load(&l->b, ir_mapval(m->def->id, 0), 0, t->size, t->sgn));
	IrReg r = ir_new_reg(&l->b);
	IrBlk have = ir_new_block(&l->b, "have"), end = ir_new_block(&l->b, "read");
	IrBlk none = l->prog->config.helper_errors ? ir_new_block(&l->b, "none") : end;
	struct IrVal p = lm_lookup(l, m, ref_key(l, ref));
	ir_set(&l->b, r, ir_imm(0));
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, none);
	if (none != end) {
		ir_set_block(&l->b, none);
		report_failure(l, ir_imm(0), "map_lookup_elem", ref->span);
		ir_jmp(&l->b, end);
	}
	ir_set_block(&l->b, have);
	ir_set(&l->b, r, ir_load(&l->b, p, 0, t->size, t->sgn));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return val_scalar(t, ir_reg(r));
}

void lm_into(struct Lower *l, struct Expr *ref, struct IrVal base, s32 off, const struct Type *t, bool pad)
{
	struct MapSym *m = ref->map;
	if (m->def->bpf_type == BPF_MAP_TYPE_ARRAY) {
		store_val(l, val_mem(m->val, ir_mapval(m->def->id, 0), 0, AS_BPF), base, off, t, pad);
		return;
	}
	IrBlk have = ir_new_block(&l->b, "have"), none = ir_new_block(&l->b, "none"), end = ir_new_block(&l->b, "read");
	struct IrVal p = lm_lookup(l, m, ref_key(l, ref));
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, none);
	ir_set_block(&l->b, have);
	store_val(l, val_mem(m->val, p, 0, AS_BPF), base, off, t, pad);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, none);
	zero_bytes(l, base, off, t->size);
	if (l->prog->config.helper_errors)
		report_failure(l, ir_imm(0), "map_lookup_elem", ref->span);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

// One CPU's part of an aggregation at p, added to acc (and cnt for averages).
static void aggr_merge(struct Lower *l, const struct Type *t, struct IrVal p, IrReg acc, IrReg cnt)
{
	struct IrVal v = ir_load(&l->b, p, 0, 8, false);
	if (t->kind == TY_MIN || t->kind == TY_MAX) {
		IrBlk set = ir_new_block(&l->b, "set"), first = ir_new_block(&l->b, "first"), take = ir_new_block(&l->b, "take"),
		      next = ir_new_block(&l->b, "next");
		ir_br(&l->b, IC_NE, ir_load(&l->b, p, 8, 8, false), ir_imm(0), set, next);
		ir_set_block(&l->b, set);
		ir_br(&l->b, IC_EQ, ir_reg(cnt), ir_imm(0), take, first);
		ir_set_block(&l->b, first);
		enum IrCond c = t->kind == TY_MIN ? t->sgn ? IC_SLT : IC_ULT : t->sgn ? IC_SGT : IC_UGT;
		ir_br(&l->b, c, v, ir_reg(acc), take, next);
		ir_set_block(&l->b, take);
		ir_set(&l->b, acc, v);
		ir_set(&l->b, cnt, ir_imm(1));
		ir_jmp(&l->b, next);
		ir_set_block(&l->b, next);
		return;
	}
	ir_set(&l->b, acc, ir_bin(&l->b, IR_ADD, ir_reg(acc), v));
	if (t->kind == TY_AVG || t->kind == TY_STATS)
		ir_set(&l->b, cnt, ir_bin(&l->b, IR_ADD, ir_reg(cnt), ir_load(&l->b, p, 8, 8, false)));
}

// All CPUs' parts of an aggregation in two words: *acc, and for averages and statistics the number of values in *cnt.
static void aggr_parts(struct Lower *l, struct MapSym *m, struct IrVal key, IrReg *accp, IrReg *cntp)
{
	if (!l->o->percpu_lookup)
		diag_error(l->u->diags, m->span,
			   "reading %s inside the script needs bpf_map_lookup_percpu_elem (Linux 5.19), which this kernel does not have", m->name);
	IrReg acc = ir_new_reg(&l->b), cnt = ir_new_reg(&l->b), cpu = ir_new_reg(&l->b);
	ir_set(&l->b, acc, ir_imm(0));
	ir_set(&l->b, cnt, ir_imm(0));
	ir_set(&l->b, cpu, ir_imm(0));
	key = ir_mov(&l->b, key);
	IrBlk head = ir_new_block(&l->b, "cpus"), body = ir_new_block(&l->b, "cpu"), have = ir_new_block(&l->b, "part"),
	      next = ir_new_block(&l->b, "next_cpu"), end = ir_new_block(&l->b, "merged");
	ir_jmp(&l->b, head);
	ir_set_block(&l->b, head);
	ir_br(&l->b, IC_ULT, ir_reg(cpu), ir_imm(l->o->ncpus), body, end);
	ir_set_block(&l->b, body);
	struct IrVal p = call3(l, H_PERCPU_LOOKUP, ir_mapfd(m->def->id), key, ir_reg(cpu));
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, next);
	ir_set_block(&l->b, have);
	aggr_merge(l, m->val, p, acc, cnt);
	ir_jmp(&l->b, next);
	ir_set_block(&l->b, next);
	ir_set(&l->b, cpu, ir_bin(&l->b, IR_ADD, ir_reg(cpu), ir_imm(1)));
	ir_jmp(&l->b, head);
	ir_set_block(&l->b, end);
	*accp = acc;
	*cntp = cnt;
}

struct IrVal lm_aggr_int(struct Lower *l, struct MapSym *m, struct IrVal key)
{
	const struct Type *t = m->val;
	IrReg acc, cnt;
	aggr_parts(l, m, key, &acc, &cnt);
	if (t->kind == TY_AVG || t->kind == TY_STATS)
		return ir_bin(&l->b, t->sgn ? IR_SDIV : IR_UDIV, ir_reg(acc), ir_reg(cnt));
	return ir_reg(acc);
}

void lm_stats_into(struct Lower *l, struct Expr *ref, struct IrVal base, s32 off)
{
	IrReg total, count;
	aggr_parts(l, ref->map, ref_key(l, ref), &total, &count);
	ir_store(&l->b, base, off, 8, ir_reg(total));
	ir_store(&l->b, base, off + 8, 8, ir_reg(count));
}

// ---- writing

static void aggr_update(struct Lower *l, const struct Type *t, struct Expr *call, struct IrVal p, struct IrVal n)
{
	switch (t->kind) {
	case TY_COUNT:
	case TY_SUM:
		ir_store(&l->b, p, 0, 8, ir_bin(&l->b, IR_ADD, ir_load(&l->b, p, 0, 8, false), n));
		return;
	case TY_AVG:
	case TY_STATS:
		ir_store(&l->b, p, 0, 8, ir_bin(&l->b, IR_ADD, ir_load(&l->b, p, 0, 8, false), n));
		ir_store(&l->b, p, 8, 8, ir_bin(&l->b, IR_ADD, ir_load(&l->b, p, 8, 8, false), ir_imm(1)));
		return;
	case TY_MIN:
	case TY_MAX: {
		IrBlk cmp = ir_new_block(&l->b, "cmp"), set = ir_new_block(&l->b, "set"), end = ir_new_block(&l->b, "minmax");
		ir_br(&l->b, IC_EQ, ir_load(&l->b, p, 8, 8, false), ir_imm(0), set, cmp);
		ir_set_block(&l->b, cmp);
		enum IrCond c = t->kind == TY_MIN ? t->sgn ? IC_SLT : IC_ULT : t->sgn ? IC_SGT : IC_UGT;
		ir_br(&l->b, c, n, ir_load(&l->b, p, 0, 8, false), set, end);
		ir_set_block(&l->b, set);
		ir_store(&l->b, p, 0, 8, n);
		ir_store(&l->b, p, 8, 8, ir_imm(1));
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, end);
		return;
	}
	case TY_HIST:
	case TY_LHIST: {
		struct IrVal b = t->kind == TY_HIST
					 ? rt_call(l, "rt_log2_hist", 2, n, ir_imm(t->hist_bits), ir_imm(0), ir_imm(0), ir_imm(0))
					 : rt_call(l, "rt_lhist", 4, n, ir_imm(t->lhist_min), ir_imm(t->lhist_max), ir_imm(t->lhist_step), ir_imm(0));
		u32 nb = t->size / 8;
		IrBlk in = ir_new_block(&l->b, "bucket"), end = ir_new_block(&l->b, "hist");
		ir_br(&l->b, IC_ULT, b, ir_imm(nb), in, end);
		ir_set_block(&l->b, in);
		struct IrVal at = ir_bin(&l->b, IR_ADD, p, ir_bin(&l->b, IR_SHL, b, ir_imm(3)));
		ir_store(&l->b, at, 0, 8, ir_bin(&l->b, IR_ADD, ir_load(&l->b, at, 0, 8, false), ir_imm(1)));
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, end);
		return;
	}
	case TY_TSERIES: {
		// Intervals of the TAI clock, as bpftrace's, so that they begin at round times of day.
		struct IrVal now = ir_bin(&l->b, IR_ADD, call0(l, l->o->ktime_boot ? H_KTIME_BOOT : H_KTIME), ir_imm(l->o->tai_minus_boot));
		rt_call(l, "rt_tseries", 5, p, n, now, ir_imm((s64)t->ts_interval), ir_imm((s64)((u64)t->ts_n << 32 | (u64)t->sgn << 8 | t->ts_agg)));
		return;
	}
	default:
		UNREACHABLE();
	}
}

static void assign_aggr(struct Lower *l, struct Stmt *s)
{
	struct MapSym *m = s->lhs->map;
	struct IrVal n = s->e->nargs ? lx_int(l, s->e->args[0]) : ir_imm(1);
	if (n.kind == IRO_REG)
		n = ir_mov(&l->b, n);
	IrBlk end = ir_new_block(&l->b, "aggregated");
	struct IrVal p = lookup_or_add(l, m, ref_key(l, s->lhs), end, s->span);
	aggr_update(l, m->val, s->e, p, n);
	set_present(l, m, p);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

static void assign_op(struct Lower *l, struct Stmt *s)
{
	struct MapSym *m = s->lhs->map;
	const struct Type *t = m->val;
	struct IrVal n = lx_int(l, s->e);
	if (n.kind == IRO_REG)
		n = ir_mov(&l->b, n);
	if (t->kind == TY_PTR && t->elem->size > 1)
		n = ir_bin(&l->b, IR_MUL, n, ir_imm(t->elem->size));
	IrBlk end = ir_new_block(&l->b, "assigned");
	struct IrVal p = lookup_or_add(l, m, ref_key(l, s->lhs), end, s->span);
	if ((s->op == OP_ADD || s->op == OP_SUB) && t->size == 8)
		ir_atomic_add(&l->b, p, 0, 8, s->op == OP_SUB ? ir_neg(&l->b, n) : n);
	else {
		struct IrVal old = ir_load(&l->b, p, 0, t->size, t->sgn);
		ir_store(&l->b, p, 0, t->size, lower_arith(l, arith_op(s->op, t), old, n, t->sgn, s->span));
	}
	set_present(l, m, p);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

// The address of the key's value, in a block of its own; *none is the block where there is no such key.
static struct IrVal find_old(struct Lower *l, struct MapSym *m, struct IrVal key, IrBlk *none)
{
	IrBlk have = ir_new_block(&l->b, "have");
	struct IrVal p = lm_lookup(l, m, key);
	*none = ir_new_block(&l->b, "none");
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, *none);
	ir_set_block(&l->b, have);
	return p;
}

// @m[key] = value. A look-up and a store take less time than bpf_map_update_elem(), which copies, locks and frees. One word is always
// replaced whole; of longer values another CPU may see a part of each, so that is left to scripts that ask for it (config in_place).
static void assign_key(struct Lower *l, struct Stmt *s)
{
	struct MapSym *m = s->lhs->map;
	const struct Type *t = m->val;
	IrBlk none, end = ir_new_block(&l->b, "assigned");
	struct Val v = tmp_mem(l, t, m->def->value_size);
	if (ty_scalar(t)) {
		struct IrVal n = lx_int(l, s->e), key;
		if (n.kind == IRO_REG)
			n = ir_mov(&l->b, n);
		key = ref_key(l, s->lhs);
		struct IrVal p = find_old(l, m, key, &none);
		ir_store(&l->b, p, 0, t->size, n);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, none);
		ir_store(&l->b, v.v, v.off, 8, ir_imm(0));
		ir_store(&l->b, v.v, v.off, t->size, n);
		update(l, m, key, addr_of(l, v), s->span);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, end);
		return;
	}
	lx_into(l, s->e, v.v, v.off, t, false);
	if (t->size < m->def->value_size) // helpers read the whole value
		zero_bytes(l, v.v, v.off + (s32)t->size, m->def->value_size - t->size);
	if (t->kind == TY_STR && m->def->value_size <= 64 && s->e->kind == E_STR)
		store_lit_str(l, v.v, v.off, t->size, s->e->str, s->e->len, true);
	struct IrVal key = ref_key(l, s->lhs);
	if (l->prog->config.in_place) {
		struct IrVal p = find_old(l, m, key, &none);
		store_val(l, v, p, 0, t, false);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, none);
	}
	update(l, m, key, addr_of(l, v), s->span);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

void lm_assign(struct Lower *l, struct Stmt *s)
{
	struct MapSym *m = s->lhs->map;
	const struct Type *t = m->val;
	if (s->op != OP_NONE) {
		assign_op(l, s);
		return;
	}
	if (ty_is_aggr(t)) {
		assign_aggr(l, s);
		return;
	}
	if (m->def->bpf_type == BPF_MAP_TYPE_ARRAY) {
		struct IrVal p = ir_mapval(m->def->id, 0);
		if (ty_scalar(t))
			ir_store(&l->b, p, 0, t->size, lx_int(l, s->e));
		else
			lx_into(l, s->e, p, 0, t, false);
		set_present(l, m, p);
		return;
	}
	assign_key(l, s);
}

// ++ and --. The value before or after, if it is used.
struct IrVal lm_incdec(struct Lower *l, struct Expr *ref, s64 by, bool post, bool used)
{
	struct MapSym *m = ref->map;
	const struct Type *t = m->val;
	IrReg r = used ? ir_new_reg(&l->b) : 0;
	IrBlk end = ir_new_block(&l->b, "incremented");
	if (used)
		ir_set(&l->b, r, ir_imm(0));
	struct IrVal p = lookup_or_add(l, m, ref_key(l, ref), end, ref->span);
	if (!used && t->size == 8)
		ir_atomic_add(&l->b, p, 0, 8, ir_imm(by));
	else {
		struct IrVal old = ir_load(&l->b, p, 0, t->size, t->sgn), now = ir_bin(&l->b, IR_ADD, old, ir_imm(by));
		ir_store(&l->b, p, 0, t->size, now);
		if (used)
			ir_set(&l->b, r, post ? old : now);
	}
	set_present(l, m, p);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return used ? ir_reg(r) : ir_imm(0);
}

struct Val lower_delete(struct Lower *l, struct Expr *e, bool used)
{
	struct Expr *me = e->args[0];
	struct MapSym *m = me->map;
	if (m->def->scalar) {
		// an array element cannot go away: it is zero and not set again, on every CPU when user space gets the word
		struct IrVal ok = ir_imm(1);
		if (m->def->bpf_type == BPF_MAP_TYPE_ARRAY) {
			zero_bytes(l, ir_mapval(m->def->id, 0), 0, m->def->value_size);
		} else {
			IrBlk end = ir_new_block(&l->b, "cleared");
			struct IrVal rec = event_reserve(l, RT_EV_CLEAR, m->def->id, 0, end);
			event_submit(l, rec);
			ir_jmp(&l->b, end);
			ir_set_block(&l->b, end);
		}
		return val_scalar(e->type, ok);
	}
	struct Expr *key = e->nargs == 2 ? e->args[1] : me->a;
	struct IrVal r = call2(l, H_MAP_DELETE, ir_mapfd(m->def->id), lm_key(l, m, key));
	if (!used)
		helper_error(l, r, "map_delete_elem", e->span, true);
	IrReg d = ir_new_reg(&l->b);
	IrBlk ok = ir_new_block(&l->b, "deleted"), end = ir_new_block(&l->b, "end");
	ir_set(&l->b, d, ir_imm(0));
	ir_br(&l->b, IC_EQ, r, ir_imm(0), ok, end);
	ir_set_block(&l->b, ok);
	ir_set(&l->b, d, ir_imm(1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return val_scalar(e->type, ir_reg(d));
}
