// Aggregations -> IR: one row of `aggrs` a kind. What run/ does with their values is in run/aggr.c.
// In: the type, the address of a CPU's value in its map (layout: bpfrt/abi.h), the number to add. Out: IR that adds it, or reads
// all CPUs' values.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "lower/internal.h"

// What is read of all CPUs: acc and, of values of two words, cnt. Both are 0 before the first.
struct Parts {
	IrReg acc, cnt;
};

struct LowerAggr {
	void (*update)(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock); // adds n to the value at p
	// For what a script may read (ty_is_aggr_castable, ty_aggr_in_parts): merge adds one CPU's value at p; number makes a number of
	// all, NULL: it is acc.
	void (*merge)(struct Lower *l, const struct Type *t, struct IrVal p, struct Parts r);
	struct IrVal (*number)(struct Lower *l, const struct Type *t, struct Parts r);
	bool zero_unset; // its 0 says that nothing was added: it needs no word for that
};

// Adds n to the word at p + off.
static void add_word(struct Lower *l, struct IrVal p, s32 off, struct IrVal n)
{
	ir_store(&l->b, p, off, 8, ir_bin(&l->b, IR_ADD, ir_load(&l->b, p, off, 8, false), n));
}

// ---- count, sum

static void total_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock)
{
	add_word(l, p, offsetof(struct RtTotal, total), n);
}

static void total_merge(struct Lower *l, const struct Type *t, struct IrVal p, struct Parts r)
{
	struct IrVal v = ir_load(&l->b, p, offsetof(struct RtTotal, total), 8, false);
	ir_set(&l->b, r.acc, ir_bin(&l->b, IR_ADD, ir_reg(r.acc), v));
}

// ---- avg, stats

static void avg_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock)
{
	add_word(l, p, offsetof(struct RtAvg, total), n);
	add_word(l, p, offsetof(struct RtAvg, count), ir_imm(1));
}

static void avg_merge(struct Lower *l, const struct Type *t, struct IrVal p, struct Parts r)
{
	struct IrVal v = ir_load(&l->b, p, offsetof(struct RtAvg, total), 8, false);
	ir_set(&l->b, r.acc, ir_bin(&l->b, IR_ADD, ir_reg(r.acc), v));
	ir_set(&l->b, r.cnt, ir_bin(&l->b, IR_ADD, ir_reg(r.cnt), ir_load(&l->b, p, offsetof(struct RtAvg, count), 8, false)));
}

static struct IrVal avg_number(struct Lower *l, const struct Type *t, struct Parts r)
{
	return ir_bin(&l->b, t->sgn ? IR_SDIV : IR_UDIV, ir_reg(r.acc), ir_reg(r.cnt));
}

// ---- min, max

static enum IrCond better(const struct Type *t)
{
	return t->kind == TY_MIN ? t->sgn ? IC_SLT : IC_ULT : t->sgn ? IC_SGT : IC_UGT;
}

static void minmax_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock)
{
	IrBlk cmp = ir_new_block(&l->b, "cmp"), set = ir_new_block(&l->b, "set"), end = ir_new_block(&l->b, "minmax");
	ir_br(&l->b, IC_EQ, ir_load(&l->b, p, offsetof(struct RtMinMax, is_set), 8, false), ir_imm(0), set, cmp);
	ir_set_block(&l->b, cmp);
	ir_br(&l->b, better(t), n, ir_load(&l->b, p, offsetof(struct RtMinMax, val), 8, false), set, end);
	ir_set_block(&l->b, set);
	ir_store(&l->b, p, offsetof(struct RtMinMax, val), 8, n);
	ir_store(&l->b, p, offsetof(struct RtMinMax, is_set), 8, ir_imm(1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

static void minmax_merge(struct Lower *l, const struct Type *t, struct IrVal p, struct Parts r)
{
	struct IrVal v = ir_load(&l->b, p, offsetof(struct RtMinMax, val), 8, false);
	IrBlk set = ir_new_block(&l->b, "set"), first = ir_new_block(&l->b, "first"), take = ir_new_block(&l->b, "take"),
	      next = ir_new_block(&l->b, "next");
	ir_br(&l->b, IC_NE, ir_load(&l->b, p, offsetof(struct RtMinMax, is_set), 8, false), ir_imm(0), set, next);
	ir_set_block(&l->b, set);
	ir_br(&l->b, IC_EQ, ir_reg(r.cnt), ir_imm(0), take, first);
	ir_set_block(&l->b, first);
	ir_br(&l->b, better(t), v, ir_reg(r.acc), take, next);
	ir_set_block(&l->b, take);
	ir_set(&l->b, r.acc, v);
	ir_set(&l->b, r.cnt, ir_imm(1));
	ir_jmp(&l->b, next);
	ir_set_block(&l->b, next);
}

// ---- hist, quantiles, lhist

// Adds 1 to bucket b of the n that begin at p + off.
static void bucket_update(struct Lower *l, struct IrVal p, s32 off, u32 n, struct IrVal b)
{
	IrBlk in = ir_new_block(&l->b, "bucket"), end = ir_new_block(&l->b, "hist");
	ir_br(&l->b, IC_ULT, b, ir_imm(n), in, end);
	ir_set_block(&l->b, in);
	add_word(l, ir_bin(&l->b, IR_ADD, p, ir_bin(&l->b, IR_SHL, b, ir_imm(3))), off, ir_imm(1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

static void hist_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock)
{
	bucket_update(l, p, 0, t->size / 8, rt_call(l, "rt_log2_hist", 2, n, ir_imm(t->hist_bits), ir_imm(0), ir_imm(0), ir_imm(0)));
}

static void quantiles_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock)
{
	s32 first = sizeof(struct RtQuantiles);
	IrBlk more = ir_new_block(&l->b, "max"), end = ir_new_block(&l->b, "quantiles");
	n = ir_mov(&l->b, n);
	bucket_update(l, p, first, (t->size - (u32)first) / 8, rt_call(l, "rt_log2_hist", 2, n, ir_imm(t->hist_bits), ir_imm(0), ir_imm(0), ir_imm(0)));
	struct IrVal order = ir_bin(&l->b, IR_XOR, n, ir_imm(INT64_MIN));
	ir_br(&l->b, IC_UGT, order, ir_load(&l->b, p, offsetof(struct RtQuantiles, max), 8, false), more, end);
	ir_set_block(&l->b, more);
	ir_store(&l->b, p, offsetof(struct RtQuantiles, max), 8, order);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

static void lhist_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock)
{
	bucket_update(l, p, 0, t->size / 8, rt_call(l, "rt_lhist", 4, n, ir_imm(t->lhist_min), ir_imm(t->lhist_max), ir_imm(t->lhist_step), ir_imm(0)));
}

// ---- tseries

static void tseries_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock)
{
	// Intervals of the TAI clock, as bpftrace's, so that they begin at round times of day.
	if (clock.kind == IRO_NONE)
		clock = call0(l, l->o->ktime_boot ? H_KTIME_BOOT : H_KTIME);
	struct IrVal now = ir_bin(&l->b, IR_ADD, clock, ir_imm(l->o->tai_minus_boot));
	rt_call(l, "rt_tseries", 5, p, n, now, ir_imm((s64)t->ts_interval), ir_imm((s64)((u64)t->ts_n << 32 | (u64)t->sgn << 8 | t->ts_agg)));
}

// ---- the table

static const struct LowerAggr aggrs[TY_KINDS] = {
	[TY_COUNT] = {.update = total_update, .merge = total_merge, .zero_unset = true},
	[TY_SUM] = {.update = total_update, .merge = total_merge},
	[TY_MIN] = {.update = minmax_update, .merge = minmax_merge},
	[TY_MAX] = {.update = minmax_update, .merge = minmax_merge},
	[TY_AVG] = {.update = avg_update, .merge = avg_merge, .number = avg_number},
	[TY_STATS] = {.update = avg_update, .merge = avg_merge, .number = avg_number},
	[TY_HIST] = {.update = hist_update},
	[TY_QUANTILES] = {.update = quantiles_update},
	[TY_LHIST] = {.update = lhist_update},
	[TY_TSERIES] = {.update = tseries_update},
};

bool lm_aggr_has_set(const struct Type *t)
{
	return !aggrs[t->kind].zero_unset;
}

void lm_aggr_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock)
{
	aggrs[t->kind].update(l, t, p, n, clock);
}

// Calls `each` with the address of every CPU's value.
static void each_cpu(struct Lower *l, struct MapSym *m, struct IrVal key, void (*each)(struct Lower *, const struct Type *, struct IrVal, struct Parts),
		     struct Parts r)
{
	if (!l->o->percpu_lookup)
		diag_error(l->u->diags, m->span,
			   "reading %s inside the script needs bpf_map_lookup_percpu_elem (Linux 5.19), which this kernel does not have", m->name);
	IrReg cpu = ir_new_reg(&l->b);
	ir_set(&l->b, cpu, ir_imm(0));
	key = ir_mov(&l->b, key);
	IrBlk head = ir_new_block(&l->b, "cpus"), body = ir_new_block(&l->b, "cpu"), have = ir_new_block(&l->b, "part"),
	      next = ir_new_block(&l->b, "next_cpu"), end = ir_new_block(&l->b, "merged");
	ir_jmp(&l->b, head);
	ir_set_block(&l->b, head);
	ir_br(&l->b, IC_ULT, ir_reg(cpu), ir_imm(l->o->ncpus), body, end);
	ir_set_block(&l->b, body);
	struct IrVal p = lm_call(l, m, H_PERCPU_LOOKUP, (struct IrVal[]){key, ir_reg(cpu)}, 2, 0);
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, next);
	ir_set_block(&l->b, have);
	each(l, m->val, p, r);
	ir_jmp(&l->b, next);
	ir_set_block(&l->b, next);
	ir_set(&l->b, cpu, ir_bin(&l->b, IR_ADD, ir_reg(cpu), ir_imm(1)));
	ir_jmp(&l->b, head);
	ir_set_block(&l->b, end);
}

// The values of all CPUs, merged.
static struct Parts read_parts(struct Lower *l, struct MapSym *m, struct IrVal key)
{
	struct Parts r = {ir_new_reg(&l->b), ir_new_reg(&l->b)};
	ir_set(&l->b, r.acc, ir_imm(0));
	ir_set(&l->b, r.cnt, ir_imm(0));
	each_cpu(l, m, key, aggrs[m->val->kind].merge, r);
	return r;
}

struct IrVal lm_aggr_int(struct Lower *l, struct MapSym *m, struct IrVal key)
{
	const struct LowerAggr *g = &aggrs[m->val->kind];
	struct Parts r = read_parts(l, m, key);
	return g->number ? g->number(l, m->val, r) : ir_reg(r.acc);
}

struct IrVal lm_aggr_field(struct Lower *l, struct Expr *ref, const char *name)
{
	struct Parts r = read_parts(l, ref->map, lm_ref_key(l, ref));
	if (!strcmp(name, "avg"))
		return avg_number(l, ref->map->val, r);
	return ir_reg(!strcmp(name, "count") ? r.cnt : r.acc);
}

void lm_aggr_into(struct Lower *l, struct Expr *ref, struct IrVal base, s32 off)
{
	struct Parts r = read_parts(l, ref->map, lm_ref_key(l, ref));
	ir_store(&l->b, base, off, 8, ir_reg(r.acc));
	ir_store(&l->b, base, off + 8, 8, ir_reg(r.cnt));
}

// ---- percentiles

// r.acc is the address of a struct RtBuckets.
static void buckets_merge(struct Lower *l, const struct Type *t, struct IrVal p, struct Parts r)
{
	u32 first = t->kind == TY_QUANTILES ? sizeof(struct RtQuantiles) : 0;
	struct IrVal none = ir_imm(0), part = first ? ir_bin(&l->b, IR_ADD, p, ir_imm(first)) : p;
	if (first) {
		IrBlk more = ir_new_block(&l->b, "more"), add = ir_new_block(&l->b, "add");
		struct IrVal max = ir_load(&l->b, p, offsetof(struct RtQuantiles, max), 8, false);
		ir_br(&l->b, IC_UGT, max, ir_load(&l->b, ir_reg(r.acc), offsetof(struct RtBuckets, max), 8, false), more, add);
		ir_set_block(&l->b, more);
		ir_store(&l->b, ir_reg(r.acc), offsetof(struct RtBuckets, max), 8, max);
		ir_jmp(&l->b, add);
		ir_set_block(&l->b, add);
	}
	rt_call(l, "rt_buckets_add", 3, ir_reg(r.acc), part, ir_imm((t->size - first) / 8), none, none);
}

// The second argument as num of den.
static void share(struct Lower *l, struct Expr *e, struct IrVal *num, struct IrVal *den)
{
	u64 n, d;
	*den = ir_imm(100);
	if (percentile_share(e, &n, &d)) {
		*num = ir_imm((s64)n);
		*den = ir_imm((s64)d);
		return;
	}
	*num = lx_int(l, e);
	if (num->kind == IRO_IMM || !e->type->sgn)
		return;
	IrReg r = ir_new_reg(&l->b); // less than 0 is 0
	IrBlk neg = ir_new_block(&l->b, "negative"), end = ir_new_block(&l->b, "share");
	ir_set(&l->b, r, *num);
	ir_br(&l->b, IC_SLT, *num, ir_imm(0), neg, end);
	ir_set_block(&l->b, neg);
	ir_set(&l->b, r, ir_imm(0));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	*num = ir_reg(r);
}

struct Val l_percentile(struct Lower *l, struct Expr *e)
{
	struct Expr *ref = e->args[0];
	const struct Type *t = ref->map->val;
	u32 n = (t->size - (t->kind == TY_QUANTILES ? (u32)sizeof(struct RtQuantiles) : 0)) / 8, size = (u32)sizeof(struct RtBuckets) + 8 * n;
	struct IrVal num, den, none = ir_imm(0);
	share(l, e->args[1], &num, &den);
	if (num.kind == IRO_REG)
		num = ir_mov(&l->b, num);
	struct IrVal key = lm_ref_key(l, ref);
	struct TmpMark mark = tmp_mark(l);
	struct Val all = tmp_mem(l, t, MAX(size, l->prog->config.on_stack_limit + 1)); // the verifier does not follow what lies in scratch
	struct Parts r = {.acc = ir_new_reg(&l->b)};
	ir_set(&l->b, r.acc, addr_of(l, all));
	zero_bytes(l, all.v, all.off, size);
	each_cpu(l, ref->map, key, buckets_merge, r);
	struct IrVal i = rt_call(l, "rt_buckets_find", 4, ir_reg(r.acc), ir_imm(n), num, den, none), v;
	if (t->kind == TY_QUANTILES)
		v = rt_call(l, "rt_quantile", 5, i, ir_imm(t->hist_bits), ir_load(&l->b, ir_reg(r.acc), offsetof(struct RtBuckets, max), 8, false), num, den);
	else if (t->kind == TY_HIST)
		v = rt_call(l, "rt_hist_top", 2, i, ir_imm(t->hist_bits), none, none, none);
	else
		v = rt_call(l, "rt_lhist_top", 4, i, ir_imm(n), ir_imm(t->lhist_min), ir_imm(t->lhist_step), none);
	tmp_release(l, mark);
	return val_scalar(e->type, v);
}
