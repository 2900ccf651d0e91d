// Maps -> IR: sonde's own maps, keys, reads, writes, and events through the ring buffer.
//
// Storage: scalar maps are arrays of one element, keyed maps are hashes; what a value looks like says bpfrt/abi.h. Aggregations (lower_aggr.c) live in
// per-CPU maps and are merged when read.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "lower/internal.h"
#include <errno.h>
#include <linux/bpf.h>

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
	return sonde_map(l, "sonde_events", BPF_MAP_TYPE_RINGBUF, 0, 0, 0, 0); // size: session
}

static u32 zero_map(struct Lower *l, u32 size)
{
	return sonde_map(l, "sonde_zero", BPF_MAP_TYPE_ARRAY, 4, MAX(size, 8u), 1, BPF_F_RDONLY_PROG);
}

struct IrVal zero_value(struct Lower *l, u32 map)
{
	return ir_mapval(zero_map(l, l->prog->maps.p[map]->value_size), 0);
}

void count_loss(struct Lower *l, u32 counter_off)
{
	struct IrVal none = ir_imm(0);
	rt_call(l, "rt_count_loss", 1, ir_imm(counter_off), none, none, none, none);
}

static void map_failure(struct Lower *l, struct MapSym *m, struct IrVal ret, struct Span at)
{
	struct IrVal none = ir_imm(0);
	rt_call(l, "rt_count_map_loss", 1, ret, none, none, none, none);
	report_failure(l, ret, "map_update_elem", at);
	l->prog->errsites.p[l->prog->errsites.n - 1]->map = m->def;
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

static void bad_decl_type(struct Lower *l, const struct MapDecl *d)
{
	diag_error(l->u->diags, d->span, "Invalid bpf map type: %s", d->type);
	diag_hint(l->u->diags, "Valid map types: percpulruhash, percpuhash, lruhash, hash");
}

// A program that has an element in its hands while user space takes it out of the map would add to what nobody reads, or to another key's. So user space
// takes a whole map out of use first: the kernel waits for the programs that may still hold it (run/mapread.c).
static void add_spare(struct Lower *l, struct MapDef *d)
{
	struct MapDef *spare = arena_new(l->u->arena, struct MapDef), *holder = arena_new(l->u->arena, struct MapDef);
	*spare = *d;
	spare->id = (u32)l->prog->maps.n;
	spare->user = false;
	spare->name = arena_printf(l->u->arena, "sonde_spare:%s", d->name);
	vec_push(&l->prog->maps, spare);
	*holder = (struct MapDef){.id = (u32)l->prog->maps.n, .name = arena_printf(l->u->arena, "sonde_held:%s", d->name), .bpf_type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
				  .key_size = 4, .value_size = 4, .max_entries = 1, .inner = d, .fd = -1};
	vec_push(&l->prog->maps, holder);
	d->spare = spare;
	d->holder = holder;
}

static void map_def(struct Lower *l, struct MapSym *m)
{
	struct MapDef *d = arena_new(l->u->arena, struct MapDef);
	bool aggr = ty_is_aggr(m->val);
	bool ours = !strncmp(m->name, "@__watch", 8); // probe/watch.c
	*d = (struct MapDef){.id = (u32)l->prog->maps.n, .name = m->name, .user = !ours && !(m->decl && m->decl->own), .val = m->val, .fd = -1};
	d->value_size = RT_VALUE_SIZE(MAX(m->val->size, 1u));
	if (m->keyed) {
		const char *names[KEY_PARTS_MAX] = {0};
		d->key = m->key;
		d->nkey_names = key_part_names(m, names, ARRAY_LEN(names));
		d->key_names = memcpy(arena_alloc(l->u->arena, sizeof(names)), names, sizeof(names));
		d->key_size = MAX(m->key->size, 1u);
		d->max_entries = l->prog->config.max_map_keys;
		d->bpf_type = aggr ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH;
		// Memory for every key up front is dear when keys are long.
		if (l->o->no_prealloc && (d->key_size + d->value_size * (aggr ? l->o->ncpus : 1)) > 128)
			d->flags = BPF_F_NO_PREALLOC;
		if (m->decl) {
			u32 t = decl_type(m->decl);
			if (!t)
				bad_decl_type(l, m->decl);
			else
				d->bpf_type = t;
			d->declared = m->decl->max && m->decl->max->kind == E_INT;
			if (d->declared)
				d->max_entries = (u32)m->decl->max->ival;
			if (d->declared && m->decl->max->ival > UINT32_MAX)
				diag_error(l->u->diags, m->decl->span, "%s cannot have that many keys: the limit is %u", m->name, UINT32_MAX);
			if (d->bpf_type == BPF_MAP_TYPE_LRU_HASH || d->bpf_type == BPF_MAP_TYPE_LRU_PERCPU_HASH)
				d->flags = 0;
		}
		if (!d->max_entries && !l->u->diags->plain) { // called bpftrace the kernel refuses it, with that exit status
			diag_error(l->u->diags, m->decl ? m->decl->span : m->span, "%s has room for no key: %s is 0", m->name,
				   d->declared ? "its size" : "max_map_keys");
			diag_hint(l->u->diags, "1 is the least");
		}
	} else {
		d->scalar = true;
		d->key_size = 4;
		d->max_entries = 1;
		d->bpf_type = aggr ? BPF_MAP_TYPE_PERCPU_ARRAY : BPF_MAP_TYPE_ARRAY;
		if (!aggr || lm_aggr_has_set(m->val)) {
			d->set_off = d->value_size;
			d->value_size += RT_VALUE_SET_SIZE;
		}
	}
	vec_push(&l->prog->maps, d);
	if (m->keyed && (l->o->own_script ? l->o->takes && aggr : m->taken))
		add_spare(l, d);
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

// The map that is in use; a new block. Calls that belong together go to one: user space may put another in its place, but waits with reading it for programs that
// have this one.
static struct IrVal in_use(struct Lower *l, struct MapSym *m, IrBlk none)
{
	if (!m->def->holder)
		return ir_mapfd(m->def->id);
	IrBlk have = ir_new_block(&l->b, "held");
	struct IrVal zero = tmp_slot(l, 8);
	ir_store(&l->b, zero, 0, 4, ir_imm(0));
	struct IrVal map = call2(l, H_MAP_LOOKUP, ir_mapfd(m->def->holder->id), zero);
	ir_br(&l->b, IC_NE, map, ir_imm(0), have, none);
	ir_set_block(&l->b, have);
	return map;
}

struct IrVal lm_call(struct Lower *l, struct MapSym *m, u32 helper, const struct IrVal *args, u32 n, s64 none)
{
	struct IrVal all[5] = {ir_mapfd(m->def->id)};
	memcpy(all + 1, args, n * sizeof(*args));
	if (!m->def->holder)
		return ir_call(&l->b, helper, all, n + 1);
	IrReg r = ir_new_reg(&l->b);
	IrBlk end = ir_new_block(&l->b, "called");
	ir_set(&l->b, r, ir_imm(none));
	all[0] = in_use(l, m, end);
	ir_set(&l->b, r, ir_call(&l->b, helper, all, n + 1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return ir_reg(r);
}

struct IrVal lm_lookup(struct Lower *l, struct MapSym *m, struct IrVal key)
{
	if (m->def->bpf_type == BPF_MAP_TYPE_ARRAY)
		return ir_mapval(m->def->id, 0);
	return lm_call(l, m, H_MAP_LOOKUP, &key, 1, 0);
}

static void set_present(struct Lower *l, struct MapSym *m, struct IrVal p)
{
	if (m->def->set_off)
		ir_store(&l->b, p, (s32)m->def->set_off, 8, ir_imm(1));
}

static void update(struct Lower *l, struct MapSym *m, struct IrVal key, struct IrVal val, struct Span at)
{
	struct IrVal r = lm_call(l, m, H_MAP_UPDATE, (struct IrVal[]){key, val, ir_imm(BPF_ANY)}, 3, -ENOENT);
	IrBlk bad = ir_new_block(&l->b, "full"), ok = ir_new_block(&l->b, "updated");
	ir_br(&l->b, IC_NE, r, ir_imm(0), bad, ok);
	ir_set_block(&l->b, bad);
	map_failure(l, m, r, at);
	ir_jmp(&l->b, ok);
	ir_set_block(&l->b, ok);
}

// The key was not added (r: what the kernel said), or is gone again (r is 0; -EEXIST: another CPU had added it). What print and clear have taken was to be counted in
// what they print: a loss. Whoever else deletes a key does it after this addition as well as before.
static void not_added(struct Lower *l, struct MapSym *m, IrReg r, IrBlk end, struct Span at)
{
	if (l->o->own_script && !m->def->holder) { // its places are not told
		map_failure(l, m, ir_reg(r), at);
		return;
	}
	IrBlk added = m->def->holder ? ir_new_block(&l->b, "taken") : end, other = ir_new_block(&l->b, "no_key"), refused = ir_new_block(&l->b, "refused");
	ir_br(&l->b, IC_EQ, ir_reg(r), ir_imm(0), added, other);
	ir_set_block(&l->b, other);
	ir_br(&l->b, IC_EQ, ir_reg(r), ir_imm(-EEXIST), added, refused);
	if (added != end) {
		struct IrVal none = ir_imm(0);
		ir_set_block(&l->b, added);
		rt_call(l, "rt_count_map_loss", 1, ir_reg(r), none, none, none, none);
		report_failure(l, ir_reg(r), "What was to be added was not: print and clear took its key, or it was deleted, in that moment.", at);
		ir_jmp(&l->b, end);
	}
	ir_set_block(&l->b, refused);
	map_failure(l, m, ir_reg(r), at);
}

// The value's address; when the key is new it is added with a zero value. Goes to `full` when there is no room.
static struct IrVal lookup_or_add(struct Lower *l, struct MapSym *m, struct IrVal key, IrBlk full, struct Span at)
{
	if (m->def->bpf_type == BPF_MAP_TYPE_ARRAY)
		return ir_mapval(m->def->id, 0);
	IrReg p = ir_new_reg(&l->b), r = ir_new_reg(&l->b);
	IrBlk have = ir_new_block(&l->b, "have"), none = m->def->scalar ? full : ir_new_block(&l->b, "none"), add = m->def->scalar ? full : ir_new_block(&l->b, "add");
	ir_set(&l->b, r, ir_imm(-ENOENT));
	struct IrVal map = in_use(l, m, none);
	ir_set(&l->b, p, call2(l, H_MAP_LOOKUP, map, key));
	ir_br(&l->b, IC_NE, ir_reg(p), ir_imm(0), have, add);
	// Where print and clear take keys one by one this one may be gone before it is found: once more.
	for (u32 tries = m->def->scalar ? 0 : m->def->holder ? 2 : 1; tries; tries--) {
		// BPF_NOEXIST: another CPU may have added it meanwhile, then the second look-up finds it
		struct IrVal zero = ir_mapval(zero_map(l, m->def->value_size), 0);
		ir_set_block(&l->b, add);
		ir_set(&l->b, r, ir_call(&l->b, H_MAP_UPDATE, (struct IrVal[]){map, key, zero, ir_imm(BPF_NOEXIST)}, 4));
		ir_set(&l->b, p, call2(l, H_MAP_LOOKUP, map, key));
		add = tries > 1 ? ir_new_block(&l->b, "again") : none;
		ir_br(&l->b, IC_NE, ir_reg(p), ir_imm(0), have, add);
	}
	if (none != full) {
		ir_set_block(&l->b, none);
		not_added(l, m, r, full, at);
		ir_jmp(&l->b, full);
	}
	ir_set_block(&l->b, have);
	return ir_reg(p);
}

// ---- reading

struct IrVal lm_ref_key(struct Lower *l, struct Expr *ref)
{
	return lm_key(l, ref->map, ref->kind == E_MAPREF ? ref->a : NULL);
}

struct Val lm_get(struct Lower *l, struct Expr *ref)
{
	struct MapSym *m = ref->map;
	const struct Type *t = m->val;
	if (ty_is_aggr(t))
		return val_scalar(ref->type, lm_aggr_int(l, m, lm_ref_key(l, ref)));
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
	struct IrVal p = lm_lookup(l, m, lm_ref_key(l, ref));
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
	struct IrVal p = lm_lookup(l, m, lm_ref_key(l, ref));
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

// ---- writing

static void assign_aggr(struct Lower *l, struct Stmt *s)
{
	struct MapSym *m = s->lhs->map;
	struct IrVal n = s->e->nargs ? lx_int(l, s->e->args[0]) : ir_imm(1);
	if (n.kind == IRO_REG)
		n = ir_mov(&l->b, n);
	struct IrVal clock = s->e->a ? ir_mov(&l->b, lx_int(l, s->e->a)) : (struct IrVal){.kind = IRO_NONE};
	IrBlk end = ir_new_block(&l->b, "aggregated");
	struct IrVal p = lookup_or_add(l, m, lm_ref_key(l, s->lhs), end, s->span);
	lm_aggr_update(l, m->val, p, n, clock);
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
	struct IrVal p = lookup_or_add(l, m, lm_ref_key(l, s->lhs), end, s->span);
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
		key = lm_ref_key(l, s->lhs);
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
	lx_into(l, s->e, v.v, v.off, t, keeps_short_text(t));
	if (t->size < m->def->value_size) // helpers read the whole value
		zero_bytes(l, v.v, v.off + (s32)t->size, m->def->value_size - t->size);
	struct IrVal key = lm_ref_key(l, s->lhs);
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
			kept_into(l, s->e, p, 0, t, m->name);
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
	struct IrVal p = lookup_or_add(l, m, lm_ref_key(l, ref), end, ref->span);
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
	struct IrVal at = lm_key(l, m, key), r = lm_call(l, m, H_MAP_DELETE, &at, 1, -ENOENT);
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
