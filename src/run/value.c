// Bytes of maps and events into values.
// In: a type and bytes laid out as type/type.h says. Out: struct Value, symbolized, in an arena. Invariant: never reads beyond type->size bytes.
#include "run/run.h"
#include "arch/arch.h"
#include "bpfrt/abi.h"
#include <arpa/inet.h>
#include <pwd.h>
#include <signal.h>
#include <time.h>

#define MAX_NESTING 16 // records in records: more is no C a tracer meets

static u64 load_uint(const u8 *p, u32 size)
{
	u64 v = 0;
	memcpy(&v, p, MIN(size, 8u)); // little endian
	return v;
}

static s64 extend(u64 v, u32 bits, bool sgn)
{
	if (bits >= 64)
		return (s64)v;
	v &= (1ULL << bits) - 1;
	return sgn && v >> (bits - 1) ? (s64)(v | ~0ULL << bits) : (s64)v;
}

static void set_text(struct Value *out, enum ValueKind kind, const char *text, size_t n)
{
	out->kind = kind;
	out->text = text;
	out->len = n;
}

static void take_str(struct Arena *a, struct Value *out, struct Str *s)
{
	set_text(out, V_SYM, arena_strndup(a, str_text(s), s->n), s->n);
	str_deinit(s);
}

static void decode_int(const struct Type *t, u64 raw, u32 bits, struct Value *out)
{
	s64 v = extend(raw, bits, t->sgn);
	if (t->kind == TY_BOOL) {
		*out = (struct Value){.kind = V_BOOL, .i = raw != 0};
	} else if (t->en) {
		*out = (struct Value){.kind = V_ENUM, .i = v};
		for (u32 i = 0; i < t->en->n && !out->text; i++)
			if (extend((u64)t->en->consts[i].val, bits, t->sgn) == v)
				out->text = t->en->consts[i].name;
	} else if (t->sgn)
		*out = (struct Value){.kind = V_INT, .i = v};
	else
		*out = (struct Value){.kind = V_UINT, .u = (u64)v};
}

bool text_is_cut(const struct RunCtx *rc, size_t n, u32 size)
{
	u32 max = rc->prog->config.max_strlen;
	return max && n == max && size == max + 1;
}

static void decode_str(struct RunCtx *rc, struct Arena *a, const u8 *p, u32 size, struct Value *out)
{
	size_t n = strnlen((const char *)p, size);
	const char *trailer = text_is_cut(rc, n, size) ? rc->prog->config.str_trunc_trailer : NULL;
	size_t m = trailer ? strlen(trailer) : 0;
	char *s = arena_alloc(a, n + m + 1);
	memcpy(s, p, n);
	if (m)
		memcpy(s + n, trailer, m);
	set_text(out, V_STR, s, n + m);
}

static void decode_sym(struct Arena *a, const struct SymHit *hit, u64 addr, struct Value *out)
{
	if (hit->name)
		set_text(out, V_SYM, hit->name, strlen(hit->name));
	else {
		out->text = addr ? arena_printf(a, "0x%llx", (unsigned long long)addr) : "0";
		set_text(out, V_SYM, out->text, strlen(out->text));
	}
}

// stack_mode=build_id: "BUILDID 0xOFFSET" a frame, the bare address where there is no object.
static void decode_build_id_stack(struct RunCtx *rc, struct Arena *a, u64 id, u32 limit, struct Value *out)
{
	struct Str s = {0};
	u32 n = 0, pid, flags, why;
	const u64 *frames = id ? stacks_raw(rc->stacks, id, true, &n, &pid, &flags, &why) : NULL;
	str_addc(&s, '\n');
	for (u32 i = 0; frames && i < MIN(n, limit); i++) {
		struct SymObject *o = frames[i] & RT_FRAME_OBJ ? sym_object(rc->syms, RT_FRAME_ID(frames[i])) : NULL;
		if (o && o->build_id_len) {
			for (u32 b = 0; b < o->build_id_len && b < sizeof(o->build_id); b++)
				str_addf(&s, "%02x", o->build_id[b]);
			str_addf(&s, " 0x%02llx\n", (unsigned long long)RT_FRAME_OFF(frames[i]));
		} else
			str_addf(&s, "%llx\n", (unsigned long long)(frames[i] & RT_FRAME_OBJ ? RT_FRAME_OFF(frames[i]) : RT_FRAME_ADDR(frames[i])));
	}
	take_str(a, out, &s);
}

static void decode_stack(struct RunCtx *rc, struct Arena *a, const struct Type *t, u64 id, struct Value *out)
{
	u32 limit = t->stack_limit ? t->stack_limit : UINT32_MAX;
	if (t->stack_mode == STACK_MODE_BUILD_ID && t->kind == TY_USTACK) {
		decode_build_id_stack(rc, a, id, limit, out);
		return;
	}
	if (id && !stacks_read(rc->stacks, a, id, t->kind == TY_USTACK, limit, out)) {
		*out = (struct Value){0};
		out->why = "lost";
	}
	if (out->truncated && rc->mark_cut) {
		struct Frame *f = arena_new_n(a, struct Frame, out->nframes + 1);
		memcpy(f, out->frames, out->nframes * sizeof(*f));
		f[out->nframes++] = (struct Frame){.sym = "[truncated]", .mark = frame_mark_cut};
		out->frames = f;
	}
	out->kind = V_STACK;
	out->style = t->stack_mode == STACK_MODE_PERF					    ? STACK_STYLE_PERF
		     : t->stack_mode == STACK_MODE_RAW || t->stack_mode == STACK_MODE_BUILD_ID ? STACK_STYLE_RAW
											       : STACK_STYLE_BPFTRACE;
}

static const struct FmtSite *fmt_site(struct RunCtx *rc, u64 id)
{
	return id < rc->prog->fmts.n ? rc->prog->fmts.p[id] : NULL;
}

static void decode_strftime(struct RunCtx *rc, struct Arena *a, const u8 *p, struct Value *out)
{
	struct RtStrftime st;
	memcpy(&st, p, sizeof(st));
	const struct FmtSite *site = fmt_site(rc, st.fmt);
	struct Str s = {0};
	strftime_text(rc, site ? site->fmt : "%s", st.clock, st.nsecs, &s);
	take_str(a, out, &s);
}

static void decode_inet(struct Arena *a, const u8 *p, struct Value *out)
{
	struct RtInet in;
	char buf[INET6_ADDRSTRLEN] = "";
	memcpy(&in, p, sizeof(in));
	if (in.af == AF_INET || in.af == AF_INET6)
		inet_ntop((int)in.af, in.addr, buf, sizeof(buf));
	set_text(out, V_SYM, arena_strdup(a, buf), strlen(buf));
}

// A text that was kept as a number (type/type.h: ty_text_bits).
static void decode_numbered(struct Arena *a, const struct Type *t, u32 kept, struct Value *out)
{
	struct passwd pw, *found = NULL;
	char buf[4096];
	const char *name;
	int nr = (int)(kept ^ ty_text_bits(t));
	if (!kept)
		name = "";
	else if (t->kind == TY_USERNAME)
		name = !getpwuid_r((uid_t)nr, &pw, buf, sizeof(buf), &found) && found ? pw.pw_name : "";
	else if (t->kind == TY_STRERROR)
		name = strerror(nr);
	else if (t->kind == TY_SIGNAL_NAME)
		name = nr > 0 && nr <= SIGRTMAX ? strsignal(nr) : nr ? "N/A" : "Unknown signal 0";
	else
		name = (name = syscall_name_of(nr)) ? name : "Unknown syscall";
	set_text(out, V_SYM, arena_strdup(a, name), strlen(name));
}

// ---- records, arrays, tuples

static void decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, u32 depth, struct Value *out);

static u32 count_fields(const struct Record *r, u32 depth)
{
	u32 n = 0;
	for (u32 i = 0; i < r->nfields; i++) {
		const struct Field *f = &r->fields[i];
		bool anon = !*f->name && f->type->kind == TY_RECORD;
		n += anon ? depth < MAX_NESTING ? count_fields(f->type->rec, depth + 1) : 0 : *f->name != 0;
	}
	return n;
}

// Of a tracepoint's record: its head, the first 8 bytes of which are not what the format says when a program sees them, and arrays that
// lie behind it.
static bool left_out(const struct Record *r, const struct Field *f)
{
	return f->data_loc || f->rel_loc || (!strncmp(f->name, "common_", 7) && r->fields[0].name && !strcmp(r->fields[0].name, "common_type"));
}

// Members of anonymous members stand beside the others. size: bytes of p that exist.
static void decode_fields(struct RunCtx *rc, struct Arena *a, const struct Record *r, const u8 *p, u32 size, u32 depth, struct Value *out, u32 *n)
{
	for (u32 i = 0; i < r->nfields; i++) {
		const struct Field *f = &r->fields[i];
		if (left_out(r, f) || f->off > size || (f->type->size > size - f->off && !f->bit_size))
			continue;
		if (!*f->name) {
			if (f->type->kind == TY_RECORD && depth < MAX_NESTING)
				decode_fields(rc, a, f->type->rec, p + f->off, f->type->size, depth + 1, out, n);
			continue;
		}
		out->names[*n] = f->name;
		struct Value *v = &out->items[(*n)++];
		if (f->bit_size)
			decode_int(f->type, load_uint(p + f->off, MIN(8u, size - f->off)) >> f->bit_off, f->bit_size, v);
		else
			decode(rc, a, f->type, p + f->off, depth + 1, v);
	}
}

static void decode_record(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, u32 depth, struct Value *out)
{
	out->kind = V_RECORD;
	if (depth > MAX_NESTING)
		return;
	u32 max = count_fields(t->rec, depth), n = 0;
	out->items = arena_new_n(a, struct Value, max);
	out->names = arena_new_n(a, const char *, max);
	decode_fields(rc, a, t->rec, p, t->size, depth, out, &n);
	out->n = n;
}

static void decode_array(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, u32 depth, struct Value *out)
{
	if (t->elem->is_char) {
		decode_str(rc, a, p, t->n, out);
		return;
	}
	out->kind = V_ARRAY;
	out->n = t->elem->size ? MIN(t->n, t->size / t->elem->size) : 0;
	out->items = arena_new_n(a, struct Value, out->n);
	for (u32 i = 0; i < out->n; i++)
		decode(rc, a, t->elem, p + (size_t)i * t->elem->size, depth + 1, &out->items[i]);
}

static void decode_tuple(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, u32 depth, struct Value *out)
{
	out->kind = ty_is_record(t) ? V_RECORD : V_TUPLE;
	out->n = t->n;
	out->items = arena_new_n(a, struct Value, t->n);
	out->names = ty_is_record(t) ? arena_new_n(a, const char *, t->n) : NULL;
	for (u32 i = 0; out->names && i < t->n; i++)
		out->names[i] = t->fields[i].name;
	for (u32 i = 0; i < t->n; i++)
		decode(rc, a, t->fields[i].type, p + t->fields[i].off, depth + 1, &out->items[i]);
}

static void decode_text(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, struct Value *out)
{
	struct RtUsym us;
	struct RtCgroupPath cg;
	struct SymHit hit;
	struct Str s = {0};
	const char *name;
	switch (t->kind) {
	case TY_KSYM:
		hit = sym_kernel(rc->syms, load_uint(p, 8));
		decode_sym(a, &hit, load_uint(p, 8), out);
		break;
	case TY_USYM:
		memcpy(&us, p, sizeof(us));
		hit = sym_pid_addr(rc->syms, (int)us.pid, us.addr);
		decode_sym(a, &hit, us.addr, out);
		break;
	case TY_MAC:
		str_addf(&s, "%02X:%02X:%02X:%02X:%02X:%02X", p[0], p[1], p[2], p[3], p[4], p[5]);
		take_str(a, out, &s);
		break;
	case TY_CGROUP_PATH:
		memcpy(&cg, p, sizeof(cg));
		cgroup_path_text(cg.id, fmt_site(rc, cg.fmt) ? fmt_site(rc, cg.fmt)->fmt : NULL, &s);
		take_str(a, out, &s);
		break;
	case TY_LANG_FUNC:
		name = stacks_function(rc->stacks, load_uint(p, 8));
		set_text(out, V_SYM, arena_strdup(a, name), strlen(name));
		break;
	default:
		UNREACHABLE();
	}
}

static void decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, u32 depth, struct Value *out)
{
	*out = (struct Value){0};
	switch (t->kind) {
	case TY_NONE: case TY_VOID: case TY_TSMODE: case TY_STACKMODE: case TY_KINDS:
		break;
	case TY_BOOL:
	case TY_INT:
		decode_int(t, load_uint(p, t->size), 8 * t->size, out);
		break;
	case TY_STR:
		decode_str(rc, a, p, t->size, out);
		break;
	case TY_BUF:
		set_text(out, V_BUF, NULL, MIN((u32)load_uint(p, 4), t->size - 4));
		out->text = arena_strndup(a, (const char *)p + 4, out->len);
		break;
	case TY_PTR:
		*out = (struct Value){.kind = V_PTR, .u = load_uint(p, 8)};
		break;
	case TY_RECORD:
		decode_record(rc, a, t, p, depth, out);
		break;
	case TY_ARRAY:
		decode_array(rc, a, t, p, depth, out);
		break;
	case TY_TUPLE:
		decode_tuple(rc, a, t, p, depth, out);
		break;
	case TY_KSTACK:
	case TY_USTACK:
		decode_stack(rc, a, t, load_uint(p, 8), out);
		break;
	case TY_INET:
		decode_inet(a, p, out);
		break;
	case TY_STRFTIME:
		decode_strftime(rc, a, p, out);
		break;
	case TY_USERNAME: case TY_STRERROR: case TY_SYSCALL_NAME: case TY_SIGNAL_NAME:
		decode_numbered(a, t, (u32)load_uint(p, 4), out);
		break;
	case TY_KSYM: case TY_USYM: case TY_MAC: case TY_CGROUP_PATH: case TY_LANG_FUNC:
		decode_text(rc, a, t, p, out);
		break;
	default: // an aggregation
		aggr_of(t)->decode(rc, a, t, p, out);
		break;
	}
}

void value_decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const void *bytes, struct Value *out)
{
	decode(rc, a, t, bytes, 0, out);
}
