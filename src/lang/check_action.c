// Types of builtins that do something (printf, print, delete, ...) and of aggregations: see internal.h.
#include "lang/internal.h"
#include <signal.h>

// ---- actions

static bool conv_takes(char conv, const struct Type *t)
{
	bool num = ty_is_int(t) || t->kind == TY_PTR || ty_is_aggr_castable(t) || t->kind == TY_KSYM || t->kind == TY_USYM;
	switch (conv) {
	case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'c': case 'p': case 'g':
		return num;
	case 's':
		return t->kind != TY_VOID; // numbers print as numbers
	case 'r': case 'h': case 'e':
		return t->kind == TY_BUF;
	default:
		return false;
	}
}

// The letter of what C would take for a conversion and the language has as text; 0: there is none.
static char no_conversion(const char *fmt)
{
	for (const char *p = strchr(fmt, '%'); p; p = strchr(p + 1, '%')) {
		p += 1 + strspn(p + 1, "-+ #0123456789.*'");
		if (*p && strchr("aAeEfFgGnmd", *p) && (*p != 'd' || p[-1] == '*') && (*p != 'g' || p[1] != 'r'))
			return *p == 'd' ? '*' : *p;
		if (!*p)
			return 0;
	}
	return 0;
}

// A conversion per argument, and one that goes with its type.
static void check_format(struct Unit *u, struct Expr *e, const char *fmt, struct Expr **args, u32 nargs)
{
	struct FmtPiece *pieces;
	u32 n = 0, used = 0;
	const char *bad = fmt_parse(u->arena, fmt, (u32)strlen(fmt), &pieces, &n);
	if (bad) {
		ERR(u, e->span, "%s", bad);
		return;
	}
	for (u32 i = 0; i < n; i++) {
		if (!pieces[i].conv)
			continue;
		if (used < nargs) {
			const struct Type *t = args[used]->type;
			if (pieces[i].conv == 's' && t->kind == TY_PTR && t->elem->size == 1) {
				diag_warn(u->diags, args[used]->span, "%s: %%s prints the address of this '%s'", e->str, tyname(u, t));
				HINT(u, "use str() to read text from an address");
			}
			if (t->kind != TY_NONE && !conv_takes(pieces[i].conv, t)) {
				const char *conv = pieces[i].conv == 'h' ? "rh" : pieces[i].conv == 'e' ? "rx" : pieces[i].conv == 'g' ? "gr" : (char[]){pieces[i].conv, 0};
				if (u->diags->plain)
					ERR(u, e->span, "unsupported format specifier for type '%s': %s", tyname(u, t), conv);
				else
					ERR(u, args[used]->span, "%s: %%%s specifier expects a value of type %s (%s supplied)", e->str, conv,
				    pieces[i].conv == 's' ? "string" : strchr("rhe", pieces[i].conv) ? "buffer" : "integer", tyname(u, t));
			}
		}
		used++;
	}
	if (used > nargs)
		ERR(u, e->span, "%s: Not enough arguments for format string (%u supplied, %u expected)", e->str, nargs, used);
	else if (used < nargs) {
		char c = no_conversion(fmt);
		ERR(u, e->span, "%s: Too many arguments for format string (%u supplied, %u expected)", e->str, nargs, used);
		if (c)
			HINT(u, "%%%c is no conversion here: there are d i u x X o s c p r rx rh", c);
	}
}

// Where the kernel makes the text (kernel/trace/bpf_trace.c, bpf_bprintf_prepare).
static void check_kernel_format(struct Unit *u, struct Expr *e, const char *fmt, const char *who, u32 max)
{
	struct FmtPiece *pieces;
	u32 n = 0;
	if (fmt_parse(u->arena, fmt, (u32)strlen(fmt), &pieces, &n))
		return;
	if (e->nargs > max + 1)
		ERR(u, e->span, "%s takes at most %u values", who, max);
	for (const char *c = fmt; *c; c++)
		if ((u8)*c >= 0x7f)
			ERR(u, e->args[0]->span, "%s takes ASCII only", who);
	for (u32 i = 0, a = 1; i < n && a < e->nargs; i++, a++) {
		const struct Type *t = ty_as_text(u->types, e->args[a]->type);
		bool text = t->kind == TY_STR || (t->kind == TY_ARRAY && t->elem->size == 1);
		if (!pieces[i].conv)
			continue;
		if (!strchr("diuxXsp", pieces[i].conv) || strpbrk(pieces[i].spec, "#'.") || (pieces[i].conv == 's') != text)
			ERR(u, e->args[a]->span, "%s prints numbers with %%d %%u %%x %%p and text with %%s, without precision", who);
	}
}

// A pinned iterator runs for whoever reads its file, when no sonde is there to take events.
void check_pinned(struct Unit *u, const struct Expr *e)
{
	static const u8 events[] = {BI_print, BI_errorf, BI_warnf, BI_cat, BI_system, BI_time, BI_join, BI_exit, BI_clear, BI_zero, BI_unwatch, BI_assert};
	if (u->cur->point->pin && memchr(events, (int)e->builtin->id, sizeof(events))) {
		ERR(u, e->span, "%s cannot be used in a pinned iterator: nobody waits for what it sends", e->str);
		HINT(u, "printf() writes to the pinned file");
	}
}

const struct Type *c_printf(struct Unit *u, struct Expr *e)
{
	const char *fmt = lit_str_arg(u, e, 0);
	bool known = true;
	for (u32 i = 1; i < e->nargs; i++) {
		const struct Type *t = check_expr(u, e->args[i]);
		known &= t->kind != TY_NONE;
		if (t->kind == TY_VOID || (ty_is_aggr(t) && !ty_is_aggr_castable(t)))
			ERR(u, e->args[i]->span, "%s: a value of type '%s' cannot be formatted", e->str, tyname(u, t));
	}
	if (!fmt || !u->final || !known)
		return t_void(u);
	check_format(u, e, fmt, e->args + 1, e->nargs - 1);
	if (u->cur->point->pin) {
		if (e->builtin->id == BI_printf)
			check_kernel_format(u, e, fmt, "printf in a pinned iterator", 12);
		return t_void(u);
	}
	enum FmtKind kind = e->builtin->id == BI_errorf	  ? FK_ERRORF
			    : e->builtin->id == BI_warnf  ? FK_WARNF
			    : e->builtin->id == BI_cat	  ? FK_CAT
			    : e->builtin->id == BI_system ? FK_SYSTEM
							  : FK_PRINTF;
	e->fmt = add_fmt_site(u, kind, e, fmt, e->args[0]->len, e->args + 1, e->nargs - 1);
	return t_void(u);
}

const struct Type *c_debugf(struct Unit *u, struct Expr *e)
{
	const char *fmt = lit_str_arg(u, e, 0);
	bool known = true;
	for (u32 i = 1; i < e->nargs; i++)
		known &= check_expr(u, e->args[i])->kind != TY_NONE;
	if (!fmt || !u->final || !known)
		return t_void(u);
	check_format(u, e, fmt, e->args + 1, e->nargs - 1);
	check_kernel_format(u, e, fmt, "debugf()", DEBUGF_VALUES);
	diag_warn(u->diags, e->span, "The debugf() builtin is not recommended for production use. For more information see bpf_trace_printk in bpf-helpers(7).");
	return t_void(u);
}

bool prints_entry(const struct Expr *a, const struct Type *t)
{
	return a->kind == E_MAPREF && ty_is_aggr(t) && !ty_is_aggr_castable(t) && !ty_aggr_in_parts(t);
}

const struct Type *c_print(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->args[0];
	s64 n;
	for (u32 i = 1; i < e->nargs; i++) {
		if (lit_int_arg(u, e, i, &n) && n < 0)
			ERR(u, e->args[i]->span, "print() only takes non-negative integers");
		else if (i == 2 && !n)
			ERR(u, e->args[i]->span, "print() cannot divide by zero");
	}
	if (a->kind == E_MAP && a->map) {
		a->type = t_void(u);
		if (u->final && !a->map->val)
			ERR(u, a->span, "Undefined map: %s", a->map->name);
		return t_void(u);
	}
	const struct Type *t = check_expr(u, a);
	if (t->kind == TY_VOID || t->kind == TY_TSMODE || t->kind == TY_STACKMODE)
		ERR(u, a->span, "%s type passed to print() is not printable", tyname(u, t));
	if (e->nargs > 1 && (a->kind != E_MAPREF || u->diags->plain))
		ERR(u, e->span, "Non-map print() only takes 1 argument, %u found", e->nargs);
	else if (e->nargs > 1)
		ERR(u, e->span, "Single-value (i.e. indexed) map prints cannot be combined with extra arguments");
	if (prints_entry(a, t))
		return t_void(u);
	if (u->final && t->kind != TY_NONE) {
		e->fmt = add_fmt_site(u, FK_PRINT_VALUE, e, "", 0, &a, 1);
		if (ty_is_aggr(t) && a->kind == E_MAPREF) { // print(@m[k]): one entry, read by the kernel side as an integer or copied whole
			u->fmts.p[e->fmt]->args[0].type = operand_type(u, t);
		} else if (ty_is_aggr(t) && !ty_is_aggr_castable(t)) { // no place to read the processors' parts from
			ERR(u, a->span, "print() of a %s takes the map itself, no expression that gives it", tyname(u, t));
			HINT(u, "print(@map), or print(@map[key]) of stats(); if (...) { print(@a) } else { print(@b) } chooses one");
		}
	}
	return t_void(u);
}

const struct Type *c_fail(struct Unit *u, struct Expr *e)
{
	const char *fmt = lit_str_arg(u, e, 0);
	struct Str s = {0};
	u32 arg = 1;
	for (u32 i = 1; i < e->nargs; i++)
		check_expr(u, e->args[i]);
	if (!fmt || !u->final || u->unreached)
		return t_void(u);
	struct FmtPiece *p;
	u32 n = 0;
	const char *bad = fmt_parse(u->arena, fmt, (u32)strlen(fmt), &p, &n);
	for (u32 i = 0; !bad && i < n; i++) {
		str_addn(&s, p[i].lit, p[i].litlen);
		if (!p[i].conv || arg >= e->nargs)
			continue;
		struct Expr *a = e->args[arg++];
		if (a->kind == E_STR)
			str_add(&s, a->str);
		else if (a->is_lit)
			str_addf(&s, "%lld", (long long)a->ival);
		else
			ERR(u, a->span, "fail() takes literals only");
	}
	ERR(u, e->span, "%s", bad ? bad : str_text(&s));
	str_deinit(&s);
	return t_void(u);
}

const struct Type *c_static_assert(struct Unit *u, struct Expr *e)
{
	check_expr(u, e->args[0]);
	const char *s = lit_str_arg(u, e, 1);
	if (!u->final)
		return t_void(u);
	if (!e->args[0]->is_lit)
		ERR(u, e->args[0]->span, "the condition of static_assert() is not known at compile time");
	else if (!e->args[0]->ival)
		ERR(u, e->span, "%s", s ? s : "static assertion failed");
	return t_void(u);
}

const struct Type *c_assert(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 1);
	check_cond(u, e->args[0], "assert");
	if (s && u->final) {
		struct Str f = {0};
		str_add(&f, "assert failed: ");
		for (; *s; s++) {
			if (*s == '%')
				str_addc(&f, '%');
			str_addc(&f, *s);
		}
		e->fmt = add_fmt_site(u, FK_ERRORF, e, arena_strdup(u->arena, str_text(&f)), (u32)f.n, NULL, 0);
		str_deinit(&f);
	}
	return t_void(u);
}

const struct Type *c_assert_str(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	if (t->kind != TY_STR && t->kind != TY_NONE && !ty_is_numbered(t))
		ERR(u, e->span, "a string is expected here (%s provided)", tyname(u, t));
	return t_void(u);
}

const struct Type *c_time(struct Unit *u, struct Expr *e)
{
	const char *s = e->nargs ? lit_str_arg(u, e, 0) : "%H:%M:%S\n";
	if (s && u->final)
		e->fmt = add_fmt_site(u, FK_TIME, e, s, (u32)strlen(s), NULL, 0);
	return t_void(u);
}

const struct Type *c_join(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	if (t->kind != TY_NONE && !ty_is_int(t) && t->kind != TY_PTR)
		ERR(u, e->args[0]->span, "join() only supports int or pointer arguments (%s provided)", tyname(u, t));
	const char *sep = e->nargs == 2 ? lit_str_arg(u, e, 1) : " ";
	if (sep && u->final)
		e->fmt = add_fmt_site(u, FK_JOIN, e, sep, (u32)strlen(sep), NULL, 0);
	return t_void(u);
}

const struct Type *c_exit(struct Unit *u, struct Expr *e)
{
	if (e->nargs)
		int_arg(u, e, 0);
	return t_void(u);
}

const struct Type *c_mapop(struct Unit *u, struct Expr *e)
{
	map_arg(u, e);
	return t_void(u);
}

const struct Type *c_delete(struct Unit *u, struct Expr *e)
{
	struct Expr *m = e->args[0];
	if (e->nargs == 2) {
		keyed_map_arg(u, e);
		return ty_bool(u->types);
	}
	if (m->kind == E_MAPREF) { // delete(@x[k])
		check_expr(u, m);
		return ty_bool(u->types);
	}
	if (m->kind != E_MAP) {
		check_expr(u, m);
		ERR(u, m->span, "delete() expects a map argument");
		return ty_bool(u->types);
	}
	m->type = t_void(u);
	if (m->map->keyed && m->map->key)
		ERR(u, e->span, "call to delete() with a single argument expects a map without explicit keys (scalar map)");
	return ty_bool(u->types);
}

static int sig_number(const char *s)
{
	static const struct { const char *name; int nr; } sigs[] = {
#define S(x) {#x, SIG##x}
		S(HUP), S(INT), S(QUIT), S(ILL), S(TRAP), S(ABRT), S(IOT), S(BUS), S(FPE), S(KILL), S(USR1), S(SEGV), S(USR2), S(PIPE),
		S(ALRM), S(TERM), S(STKFLT), S(CHLD), S(CONT), S(STOP), S(TSTP), S(TTIN), S(TTOU), S(URG), S(XCPU), S(XFSZ), S(VTALRM),
		S(PROF), S(WINCH), S(IO), S(POLL), S(PWR), S(SYS)};
#undef S
	if (!strncmp(s, "SIG", 3))
		s += 3;
	for (size_t i = 0; i < ARRAY_LEN(sigs); i++)
		if (!strcmp(s, sigs[i].name))
			return sigs[i].nr;
	return -1;
}

const struct Type *c_signal(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->args[0];
	enum ProbeKind k = u->cur->point->kind;
	bool own = k == PK_BEGIN || k == PK_END || k == PK_SELF || k == PK_TEST || k == PK_BENCH;
	if (own && u->diags->plain)
		ERR(u, e->span, "%s() can not be used for this probetype special", e->str);
	else if (own || k == PK_INTERVAL)
		ERR(u, e->span, u->diags->plain ? "%s() can not be used for this probetype %s" : "%s() can not be used in '%s' probes: the process is %s", e->str,
		    probe_kind_name(k), own ? "sonde's own" : "any that happens to run");
	const char *s = a->from_param && a->kind != E_INT ? a->str : NULL;
	check_expr(u, a);
	if (s || expr_lit_str(a, &s)) {
		int nr = sig_number(s);
		u64 v;
		if (nr < 0 && parse_u64(s, &v) && v < 65)
			nr = (int)v;
		if (nr < 0)
			ERR(u, a->span, "%s is not a valid signal", s);
		else
			make_int(u, a, (u64)nr, false);
	} else
		int_arg(u, e, 0);
	if (a->kind == E_INT && (a->ival < 1 || a->ival > 64))
		ERR(u, a->span, "%lld is not a valid signal, allowed range: [1,64]", (long long)a->ival);
	return t_void(u);
}

// src: text, an array, a record or a number as its bytes, a pointer as what it points to.
const struct Type *c_write_user(struct Unit *u, struct Expr *e)
{
	s64 n = 0;
	const struct Type *dst = check_expr(u, e->args[0]);
	bytes_arg(u, e, 1);
	if (dst->kind != TY_NONE && dst->kind != TY_PTR && !ty_is_int(dst))
		ERR(u, e->args[0]->span, "write_user() expects an address (%s provided)", tyname(u, dst));
	if (lit_int_arg(u, e, 2, &n) && (n < 1 || n > 4096))
		ERR(u, e->args[2]->span, "write_user() writes 1 to 4096 bytes");
	return ty_bool(u->types);
}

const struct Type *c_override(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	if (u->cur->point->kind != PK_KPROBE)
		ERR(u, e->span, "override can not be used with \"%s\" probes", probe_kind_name(u->cur->point->kind));
	return t_void(u);
}

const struct Type *c_unwatch(struct Unit *u, struct Expr *e)
{
	int_arg(u, e, 0);
	return t_void(u);
}

// The kernel takes a packet only from a pointer it has itself handed to the program.
static bool is_own_arg(const struct Expr *e)
{
	bool name = e->kind == E_IDENT || e->kind == E_CALL;
	if (e->kind == E_FIELD && e->a)
		return (e->a->kind == E_IDENT || e->a->kind == E_CALL) && !strcmp(e->a->str, "args");
	return name && !strcmp(e->str, "retval");
}

const struct Type *c_skboutput(struct Unit *u, struct Expr *e)
{
	const char *path = lit_str_arg(u, e, 0);
	const struct Type *t = check_expr(u, e->args[1]);
	s64 off = 0;
	int_arg(u, e, 2);
	if (lit_int_arg(u, e, 3, &off) && (off < 0 || off > 0xffff))
		ERR(u, e->args[3]->span, "skboutput() takes an offset from 0 to 65535");
	if (u->cur->point->kind != PK_FENTRY && u->cur->point->kind != PK_FEXIT)
		wrong_probe(u, e, "skboutput can only be used with 'fentry' and 'fexit' probes");
	else if (t->kind != TY_NONE && (t->kind != TY_PTR || t->elem->kind != TY_RECORD || strcmp(t->elem->rec->name, "sk_buff"))) {
		ERR(u, e->args[1]->span, "skboutput() takes a struct sk_buff * (%s provided)", tyname(u, t));
	} else if (t->kind != TY_NONE && !is_own_arg(e->args[1])) {
		ERR(u, e->args[1]->span, "skboutput() takes the packet straight from the probe's arguments, as args.skb");
	}
	if (path && u->final)
		e->fmt = add_fmt_site(u, FK_SKB, e, path, (u32)strlen(path), NULL, 0);
	return t_int(u, 8, true);
}

const char watch_source[] = "watchpoint"; // of what sonde writes for watchpoints of functions

// __watch(address, number of the watchpoint, stop the process?) stops the thread that calls it: a script may not, without --unsafe.
const struct Type *c_watch(struct Unit *u, struct Expr *e)
{
	if (u->diags->sources.p[e->span.file].name != watch_source)
		ERR(u, e->span, "Unknown function: '__watch'");
	for (u32 i = 0; i < e->nargs; i++)
		int_arg(u, e, i);
	return t_void(u);
}

// ---- aggregations

const struct Type *c_aggr(struct Unit *u, struct Expr *e)
{
	const struct Type *t = e->nargs ? int_arg(u, e, 0) : NULL;
	bool sgn = t && t->kind == TY_INT && t->sgn;
	return ty_aggr(u->types, ty_aggr_kind(e->builtin->name), sgn);
}

const struct Type *c_hist(struct Unit *u, struct Expr *e)
{
	s64 bits = 0;
	int_arg(u, e, 0);
	if (e->nargs == 2 && lit_int_arg(u, e, 1, &bits) && (bits < 0 || bits > 5)) {
		ERR(u, e->args[1]->span, "hist: bits %lld must be 0..5", (long long)bits);
		bits = 0;
	}
	return ty_hist(u->types, (u32)bits);
}

const struct Type *c_quantiles(struct Unit *u, struct Expr *e)
{
	const struct Type *t = int_arg(u, e, 0);
	return ty_quantiles(u->types, t && t->kind == TY_INT && t->sgn);
}

static void lhist_too_fine(struct Unit *u, const struct Expr *e, s64 range, s64 step)
{
	ERR(u, e->span, "lhist() too many buckets, must be <= 1000 (would need %lld)", (long long)(range / step));
	HINT(u, "a step of %lld is enough", (long long)(range / 1001 + 1));
}

const struct Type *c_lhist(struct Unit *u, struct Expr *e)
{
	s64 min = 0, max = 1, step = 1;
	int_arg(u, e, 0);
	bool ok = lit_int_arg(u, e, 1, &min); // all are checked, whichever is wrong
	ok = lit_int_arg(u, e, 2, &max) && ok;
	ok = lit_int_arg(u, e, 3, &step) && ok;
	if (ok && step <= 0)
		ERR(u, e->span, "lhist() step must be >= 1 (%lld provided)", (long long)step);
	else if (ok && min < 0)
		ERR(u, e->span, "lhist() min must be non-negative (provided min %lld)", (long long)min);
	else if (ok && min > max)
		ERR(u, e->span, "lhist() min must be less than max (provided min %lld and max %lld)", (long long)min, (long long)max);
	else if (ok && max - min < step)
		ERR(u, e->span, "lhist() step is too large for the given range (provided step %lld for range %lld)", (long long)step,
		    (long long)(max - min));
	else if (ok && (max - min) / step > 1000)
		lhist_too_fine(u, e, max - min, step);
	else if (ok)
		return ty_lhist(u->types, min, max, step);
	return ty_lhist(u->types, 0, 1, 1);
}

// What the script's macro nsecs() tells.
static void tseries_clock(struct Unit *u, struct Expr *e)
{
	const struct Type *t = e->a ? operand_type(u, check_expr(u, e->a)) : NULL;
	if (t && t->kind != TY_NONE && !ty_is_int(t))
		ERR(u, e->span, "nsecs() of this script tells the time of tseries(): it must be a number (%s provided)", tyname(u, t));
}

const struct Type *c_tseries(struct Unit *u, struct Expr *e)
{
	static const char *const aggs[] = {[TS_AGG_AVG] = "avg", [TS_AGG_MAX] = "max", [TS_AGG_MIN] = "min", [TS_AGG_SUM] = "sum"};
	s64 interval = 1, n = 1;
	unstable_feature(u, UNSTABLE_TSERIES, e->span);
	const struct Type *t = int_arg(u, e, 0);
	bool ok = lit_int_arg(u, e, 1, &interval);
	ok = lit_int_arg(u, e, 2, &n) && ok;
	tseries_clock(u, e);
	enum TsAgg agg = TS_AGG_LAST;
	if (e->nargs == 4) {
		const char *s = lit_str_arg(u, e, 3);
		for (size_t i = 1; s && i < ARRAY_LEN(aggs); i++)
			if (aggs[i] && !strcmp(s, aggs[i]))
				agg = (enum TsAgg)i;
		if (s && agg == TS_AGG_LAST)
			ERR(u, e->args[3]->span, "tseries() expects one of the following aggregation functions: avg, max, min, sum (\"%s\" provided)", s);
	}
	if (ok && interval < 1)
		ERR(u, e->args[1]->span, "tseries() interval_ns must be >= 1 (%lld provided)", (long long)interval);
	else if (ok && (n < 1 || n > 1000000))
		ERR(u, e->args[2]->span, "tseries() num_intervals must be >= 1 and <= 1000000 (%lld provided)", (long long)n);
	else if (ok)
		return ty_tseries(u->types, (u64)interval, (u32)n, agg, t->kind == TY_INT && t->sgn);
	return ty_tseries(u->types, 1, 1, TS_AGG_LAST, false);
}
