// Types: interning, layout and names.
// In: the parts of a type. Out: one `struct Type` for each distinct type, alive as long as the arena.
// Invariant: two types are equal exactly when their pointers are; sizes and alignments are those of the C layout in bpfrt/abi.h.
#include "type/type.h"
#include "bpfrt/abi.h"

// Kinds whose layout and name need no parameter. Sizes: struct Rt* of bpfrt/abi.h. Names: what the language calls them in messages.
static const struct {
	u32 size, align;
	const char *name;
	bool sgn;
	enum { AGGR_ANY = 1, AGGR_INT = 2, AGGR_SGN = 4, AGGR_PARTS = 8 } aggr; // the ty_is_aggr() family; 0: not what an aggregation leaves
} simple_kinds[TY_KINDS] = {
	[TY_NONE] = {0, 1, "none"},
	[TY_VOID] = {0, 1, "void"},
	[TY_BOOL] = {1, 1, "bool"},
	[TY_KSTACK] = {8, 8, "kstack"},
	[TY_USTACK] = {8, 8, "ustack"},
	[TY_KSYM] = {8, 8, "ksym_t"},
	[TY_USYM] = {16, 8, "usym_t"},
	[TY_INET] = {20, 4, "inet"},
	[TY_MAC] = {6, 1, "mac_address"},
	[TY_STRFTIME] = {16, 8, "timestamp"},
	[TY_CGROUP_PATH] = {16, 8, "cgroup_path_t"},
	[TY_USERNAME] = {4, 4, "username"},
	[TY_STRERROR] = {4, 4, "string[64]", true},
	[TY_SYSCALL_NAME] = {4, 4, "string[64]", true},
	[TY_SIGNAL_NAME] = {4, 4, "string[64]", true},
	[TY_LANG_FUNC] = {8, 8, "lang_func_t"},
	[TY_TSMODE] = {0, 1, "timestamp_mode"},
	[TY_STACKMODE] = {0, 1, "stack_mode"},
	// aggregations; those of size 0 have parameters
	[TY_COUNT] = {sizeof(struct RtTotal), 8, "count_t", .aggr = AGGR_ANY | AGGR_INT},
	[TY_SUM] = {sizeof(struct RtTotal), 8, "sum_t", .aggr = AGGR_ANY | AGGR_INT | AGGR_SGN},
	[TY_MIN] = {sizeof(struct RtMinMax), 8, "min_t", .aggr = AGGR_ANY | AGGR_INT | AGGR_SGN},
	[TY_MAX] = {sizeof(struct RtMinMax), 8, "max_t", .aggr = AGGR_ANY | AGGR_INT | AGGR_SGN},
	[TY_AVG] = {sizeof(struct RtAvg), 8, "avg_t", .aggr = AGGR_ANY | AGGR_INT | AGGR_SGN},
	[TY_STATS] = {sizeof(struct RtAvg), 8, "stats_t", .aggr = AGGR_ANY | AGGR_SGN | AGGR_PARTS},
	[TY_HIST] = {0, 8, "hist_t", .aggr = AGGR_ANY},
	[TY_QUANTILES] = {0, 8, "quantiles_t", .aggr = AGGR_ANY},
	[TY_LHIST] = {0, 8, "lhist_t", .aggr = AGGR_ANY},
	[TY_TSERIES] = {0, 8, "tseries_t", .aggr = AGGR_ANY},
};

#define NAME_MAX_LEN 65536  // then "..."
#define FIELD_VISITS 100000 // members looked at for one name

void typetab_init(struct TypeTab *t, struct Arena *a)
{
	*t = (struct TypeTab){.arena = a, .nbuckets = 64};
	t->buckets = xcalloc(t->nbuckets, sizeof(*t->buckets));
}

void typetab_deinit(struct TypeTab *t)
{
	free(t->buckets);
	*t = (struct TypeTab){0};
}

static u32 mix(u32 h, u64 v)
{
	for (int i = 0; i < 8; i++)
		h = (h ^ (u8)(v >> 8 * i)) * 16777619u;
	return h;
}

static u32 hash_type(const struct Type *t)
{
	u32 h = mix(2166136261u, (u64)t->kind << 32 | t->n);
	// A record's size may become known after its type was made (forward declaration): it is no part of its identity.
	if (t->kind != TY_RECORD)
		h = mix(h, t->size);
	h = mix(h, (u64)t->sgn | (u64)t->is_char << 1 | (u64)t->is_lit << 3 | (u64)t->reg << 4 | (u64)t->clock << 8);
	h = mix(h, (u64)t->as << 8 | (u64)t->stack_mode << 16 | (u64)t->ts_agg << 24 | (u64)t->stack_walk << 32);
	h = mix(h, (uintptr_t)t->elem);
	h = mix(h, (uintptr_t)t->rec);
	h = mix(h, (uintptr_t)t->en);
	h = mix(h, (u64)t->stack_limit << 32 | t->hist_bits);
	h = mix(h, (u64)t->lhist_min);
	h = mix(h, (u64)t->lhist_max);
	h = mix(h, (u64)t->lhist_step);
	h = mix(h, t->ts_interval ^ t->ts_n);
	for (u32 i = 0; t->kind == TY_TUPLE && i < t->n; i++)
		h = mix(h, (uintptr_t)t->fields[i].type);
	return h;
}

static bool same_type(const struct Type *a, const struct Type *b)
{
	if (a->hash != b->hash || a->kind != b->kind || a->sgn != b->sgn || a->is_char != b->is_char || a->is_lit != b->is_lit || a->reg != b->reg || a->clock != b->clock || a->as != b->as)
		return false;
	if (a->kind != TY_RECORD && a->size != b->size)
		return false;
	if (a->elem != b->elem || a->n != b->n || a->rec != b->rec || a->en != b->en)
		return false;
	if (a->stack_mode != b->stack_mode || a->stack_limit != b->stack_limit || a->stack_walk != b->stack_walk)
		return false;
	if (a->hist_bits != b->hist_bits || a->lhist_min != b->lhist_min || a->lhist_max != b->lhist_max || a->lhist_step != b->lhist_step)
		return false;
	if (a->ts_interval != b->ts_interval || a->ts_n != b->ts_n || a->ts_agg != b->ts_agg)
		return false;
	for (u32 i = 0; a->kind == TY_TUPLE && i < a->n; i++)
		if (a->fields[i].type != b->fields[i].type || !a->fields[i].name != !b->fields[i].name ||
		    (a->fields[i].name && strcmp(a->fields[i].name, b->fields[i].name)))
			return false;
	return true;
}

static void grow(struct TypeTab *t)
{
	u32 n = t->nbuckets * 2;
	const struct Type **fresh = xcalloc(n, sizeof(*fresh));
	for (u32 i = 0; i < t->nbuckets; i++) {
		for (const struct Type *ty = t->buckets[i], *next; ty; ty = next) {
			next = ty->next;
			((struct Type *)ty)->next = fresh[ty->hash & (n - 1)];
			fresh[ty->hash & (n - 1)] = ty;
		}
	}
	free(t->buckets);
	t->buckets = fresh;
	t->nbuckets = n;
}

const struct Type *ty_intern(struct TypeTab *t, struct Type key)
{
	key.hash = hash_type(&key);
	for (const struct Type *ty = t->buckets[key.hash & (t->nbuckets - 1)]; ty; ty = ty->next)
		if (same_type(ty, &key))
			return ty;
	if (t->n >= t->nbuckets)
		grow(t);
	if (key.fields) {
		struct TupleField *copy = arena_new_n(t->arena, struct TupleField, key.n);
		memcpy(copy, key.fields, key.n * sizeof(*copy));
		key.fields = copy;
	}
	struct Type *ty = arena_new(t->arena, struct Type);
	*ty = key;
	ty->next = t->buckets[key.hash & (t->nbuckets - 1)];
	t->buckets[key.hash & (t->nbuckets - 1)] = ty;
	t->n++;
	return ty;
}

const struct Type *ty_simple(struct TypeTab *t, enum TyKind k)
{
	assert(k < TY_KINDS && simple_kinds[k].name && (simple_kinds[k].size || !simple_kinds[k].aggr));
	return ty_intern(t, (struct Type){.kind = k, .size = simple_kinds[k].size, .align = simple_kinds[k].align, .sgn = simple_kinds[k].sgn});
}

const struct Type *ty_int(struct TypeTab *t, u32 size, bool sgn)
{
	assert(size == 1 || size == 2 || size == 4 || size == 8);
	return ty_intern(t, (struct Type){.kind = TY_INT, .size = size, .align = size, .sgn = sgn});
}

const struct Type *ty_of_clock(struct TypeTab *t, const struct Type *num, u8 clock)
{
	struct Type key = *num;
	key.clock = clock;
	return num->clock == clock ? num : ty_intern(t, key);
}

const struct Type *ty_of_register(struct TypeTab *t, const struct Type *num, bool reg)
{
	struct Type key = *num;
	key.reg = reg;
	return num->reg == reg ? num : ty_intern(t, key);
}

const struct Type *ty_of_space(struct TypeTab *t, const struct Type *num, enum AddrSpace as)
{
	struct Type key = *num;
	key.as = as;
	return num->as == as ? num : ty_intern(t, key);
}

const struct Type *ty_lit(struct TypeTab *t, u32 size)
{
	return ty_intern(t, (struct Type){.kind = TY_INT, .size = size, .align = size, .sgn = true, .is_lit = true});
}

bool ty_signed(const struct Type *t)
{
	return t->sgn && !t->is_lit;
}

const struct Type *ty_char(struct TypeTab *t)
{
	return ty_intern(t, (struct Type){.kind = TY_INT, .size = 1, .align = 1, .sgn = true, .is_char = true});
}

const struct Type *ty_bool(struct TypeTab *t)
{
	return ty_simple(t, TY_BOOL);
}

const struct Type *ty_enum(struct TypeTab *t, struct Enum *e)
{
	return ty_intern(t, (struct Type){.kind = TY_INT, .size = e->size, .align = e->size, .sgn = e->sgn, .en = e});
}

const struct Type *ty_str(struct TypeTab *t, u32 size)
{
	return ty_intern(t, (struct Type){.kind = TY_STR, .size = size, .align = 1});
}

const struct Type *ty_as_text(struct TypeTab *t, const struct Type *of)
{
	return ty_is_numbered(of) ? ty_str(t, NUMBERED_TEXT) : of;
}

const struct Type *ty_buf(struct TypeTab *t, u32 max_bytes)
{
	return ty_intern(t, (struct Type){.kind = TY_BUF, .size = 4 + max_bytes, .align = 4});
}

const struct Type *ty_ptr(struct TypeTab *t, const struct Type *to, enum AddrSpace as)
{
	return ty_intern(t, (struct Type){.kind = TY_PTR, .size = 8, .align = 8, .elem = to, .as = as});
}

const struct Type *ty_record(struct TypeTab *t, struct Record *r)
{
	const struct Type *ty = ty_intern(t, (struct Type){.kind = TY_RECORD, .size = r->size, .align = MAX(r->align, 1u), .rec = r});
	if (ty->size != r->size || ty->align != MAX(r->align, 1u)) { // loaded since
		((struct Type *)ty)->size = r->size;
		((struct Type *)ty)->align = MAX(r->align, 1u);
	}
	return ty;
}

const struct Type *ty_array(struct TypeTab *t, const struct Type *elem, u32 n)
{
	u64 size = (u64)elem->size * n;
	return ty_intern(t, (struct Type){.kind = TY_ARRAY, .size = (u32)MIN(size, (u64)UINT32_MAX), .align = elem->align, .elem = elem, .n = n});
}

bool ty_is_record(const struct Type *t)
{
	return t->kind == TY_TUPLE && t->n && t->fields[0].name;
}

const struct TupleField *ty_tuple_field(const struct Type *t, const struct TupleField *like, u32 i)
{
	if (!like->name)
		return i < t->n && !t->fields[i].name ? &t->fields[i] : NULL;
	for (u32 k = 0; k < t->n; k++)
		if (t->fields[k].name && !strcmp(t->fields[k].name, like->name))
			return &t->fields[k];
	return NULL;
}

const struct Type *ty_tuple(struct TypeTab *t, const struct Type *const *fields, const char *const *names, u32 n)
{
	struct Type key = {.kind = TY_TUPLE, .n = n, .align = 1};
	struct TupleField *f = xcalloc(n, sizeof(*f));
	u64 off = 0;
	for (u32 i = 0; i < n; i++) {
		u32 align = MAX(fields[i]->align, 1u);
		off = ALIGN_UP(off, align);
		f[i] = (struct TupleField){fields[i], (u32)off, names ? names[i] : NULL};
		off += fields[i]->size;
		key.align = MAX(key.align, align);
	}
	off = ALIGN_UP(off, key.align);
	key.size = (u32)MIN(off, (u64)UINT32_MAX);
	key.fields = f;
	const struct Type *ty = ty_intern(t, key);
	free(f);
	return ty;
}

const struct Type *ty_stack(struct TypeTab *t, bool user, enum StackMode mode, u32 limit, enum StackWalk walk)
{
	return ty_intern(t, (struct Type){.kind = user ? TY_USTACK : TY_KSTACK,
					  .size = 8,
					  .align = 8,
					  .stack_mode = mode,
					  .stack_limit = limit,
					  .stack_walk = walk});
}

const struct Type *ty_aggr(struct TypeTab *t, enum TyKind k, bool sgn)
{
	assert(simple_kinds[k].aggr && simple_kinds[k].size);
	return ty_intern(t, (struct Type){.kind = k, .size = simple_kinds[k].size, .align = 8, .sgn = sgn && simple_kinds[k].aggr & AGGR_SGN});
}

enum TyKind ty_aggr_kind(const char *call)
{
	size_t n = strlen(call);
	enum TyKind k = TY_NONE;
	while (k < TY_KINDS && !(simple_kinds[k].aggr && !strncmp(simple_kinds[k].name, call, n) && !strcmp(simple_kinds[k].name + n, "_t")))
		k++;
	return k;
}

// Power-of-two buckets of an s64, each power split into 2^bits. Index of v:
//   v < 0: 0;   v < 2^bits: v + 1 (one bucket for each value);   else, with l = floor(log2 v):
//   ((l - bits + 1) << bits) + (v >> (l - bits) & (2^bits - 1)) + 1.
// The largest v has l = 62, so the largest index is (64 - bits) << bits.
u32 hist_nbuckets(u32 bits)
{
	return ((64 - bits) << bits) + 1;
}

const struct Type *ty_hist(struct TypeTab *t, u32 bits)
{
	assert(bits <= 5);
	return ty_intern(t, (struct Type){.kind = TY_HIST, .size = 8 * hist_nbuckets(bits), .align = 8, .hist_bits = bits});
}

const struct Type *ty_quantiles(struct TypeTab *t, bool sgn)
{
	u32 size = (u32)sizeof(struct RtQuantiles) + 8 * hist_nbuckets(QUANTILE_BITS);
	return ty_intern(t, (struct Type){.kind = TY_QUANTILES, .size = size, .align = 8, .hist_bits = QUANTILE_BITS, .sgn = sgn});
}

const struct Type *ty_lhist(struct TypeTab *t, s64 min, s64 max, s64 step)
{
	assert(step > 0 && max > min);
	u64 n = ((u64)max - (u64)min) / (u64)step + 2; // below min, [min, max) by step, from max on
	assert(n <= UINT32_MAX / 8);
	return ty_intern(t, (struct Type){.kind = TY_LHIST, .size = (u32)(8 * n), .align = 8, .lhist_min = min, .lhist_max = max, .lhist_step = step});
}

const struct Type *ty_tseries(struct TypeTab *t, u64 interval, u32 n, enum TsAgg agg, bool sgn)
{
	assert(n <= UINT32_MAX / sizeof(struct RtTsSlot));
	return ty_intern(t, (struct Type){.kind = TY_TSERIES,
					  .size = n * (u32)sizeof(struct RtTsSlot),
					  .align = 8,
					  .sgn = sgn,
					  .ts_interval = interval,
					  .ts_n = n,
					  .ts_agg = agg});
}

// Bounded in depth and length: an anonymous record of a hostile DWARF file may contain itself, even twice.
static void add_name(const struct Type *t, struct Str *out, u32 depth)
{
	static const char *const modes[] = {[STACK_MODE_BPFTRACE] = "", [STACK_MODE_PERF] = "(perf)", [STACK_MODE_RAW] = "(raw)", [STACK_MODE_BUILD_ID] = "(build_id)"};
	if (depth > 32 || out->n > NAME_MAX_LEN) {
		str_add(out, "...");
		return;
	}
	switch (t->kind) {
	case TY_INT:
		if (t->en)
			str_addf(out, "enum %s", t->en->name);
		else
			str_addf(out, "%sint%u", t->sgn ? "" : "u", 8 * t->size);
		break;
	case TY_STR:
		str_add(out, "string");
		if (t->size)
			str_addf(out, "[%u]", t->size);
		break;
	case TY_BUF:
		str_addf(out, "buffer[%u]", t->size);
		break;
	case TY_PTR:
		add_name(t->elem, out, depth + 1);
		str_add(out, " *");
		break;
	case TY_ARRAY:
		add_name(t->elem, out, depth + 1);
		str_addf(out, "[%u]", t->n);
		break;
	case TY_RECORD:
		str_add(out, t->rec->is_union ? "union " : "struct ");
		if (t->rec->name && *t->rec->name) {
			str_add(out, t->rec->name);
			break;
		}
		str_addc(out, '{');
		for (u32 i = 0; i < t->rec->nfields; i++) {
			str_add(out, i ? "," : "");
			add_name(t->rec->fields[i].type, out, depth + 1);
		}
		str_addc(out, '}');
		break;
	case TY_TUPLE:
		str_add(out, ty_is_record(t) ? "record { " : "(");
		for (u32 i = 0; i < t->n; i++) {
			str_add(out, !i ? "" : ty_is_record(t) ? ", " : ",");
			if (t->fields[i].name)
				str_addf(out, ".%s = ", t->fields[i].name);
			add_name(t->fields[i].type, out, depth + 1);
		}
		str_add(out, ty_is_record(t) ? " }" : ")");
		break;
	default:
		if (ty_aggr_has_sign(t) && !t->sgn)
			str_addc(out, 'u');
		str_add(out, ty_kind_name(t->kind));
		str_add(out, ty_is_stack(t) ? modes[t->stack_mode] : "");
	}
}

const char *ty_kind_name(enum TyKind k)
{
	return simple_kinds[k].name;
}

void ty_name(const struct Type *t, struct Str *out)
{
	add_name(t, out, 0);
}

bool ty_is_aggr(const struct Type *t)
{
	return simple_kinds[t->kind].aggr;
}

bool ty_is_aggr_castable(const struct Type *t)
{
	return simple_kinds[t->kind].aggr & AGGR_INT;
}

bool ty_aggr_has_sign(const struct Type *t)
{
	return simple_kinds[t->kind].aggr & AGGR_SGN;
}

bool ty_aggr_in_parts(const struct Type *t)
{
	return simple_kinds[t->kind].aggr & AGGR_PARTS;
}

static bool find_field(const struct Record *r, const char *name, struct Field *out, u32 depth, u32 *budget)
{
	for (u32 i = 0; i < r->nfields && *budget; i++) {
		const struct Field *f = &r->fields[i];
		--*budget;
		if (*f->name) {
			if (strcmp(f->name, name))
				continue;
			*out = *f;
			return true;
		}
		if (f->type->kind == TY_RECORD && depth < 32 && find_field(f->type->rec, name, out, depth + 1, budget)) {
			out->off += f->off;
			return true;
		}
	}
	return false;
}

// Fields that have another name on other kernels, with the same meaning: a script may use either.
static const struct { const char *record, *name, *other; } renamed[] = {
	{"task_struct", "__state", "state"}, // Linux 5.14, 2f064a59a11f
	{"task_struct", "state", "__state"},
};

// The members of anonymous members must be loaded (ctype_record_load does it for the record and what is anonymous in it).
bool record_field(const struct Record *r, const char *name, struct Field *out)
{
	u32 budget = FIELD_VISITS;
	bool found = *name && find_field(r, name, out, 0, &budget);
	for (size_t i = 0; !found && i < ARRAY_LEN(renamed); i++)
		if (!strcmp(renamed[i].name, name) && !strcmp(r->name, renamed[i].record))
			found = find_field(r, renamed[i].other, out, 0, &budget);
	return found;
}
