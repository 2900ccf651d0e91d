// Config variables: defaults, then the script's config block, then the environment (which wins).
#include "lang/internal.h"

void config_defaults(struct Config *c)
{
	*c = (struct Config){
		.max_map_keys = 4096,
		.max_probes = 1024,
		.max_bpf_progs = 1024,
		.max_cat_bytes = 10240,
		.log_size = (16 << 20) - 1, // the most that Linux 5.10 takes
		.on_stack_limit = 64,
		.stack_mode = STACK_MODE_BPFTRACE,
		.str_trunc_trailer = "..",
		.license = "Dual BSD/GPL",
		.stack_unit = "count",
		.stack_title = "",
		.stack_parts = "",
		.stack_events = "",
		.stack_event = "",
		.stack_form = "",
		.stack_divide = 1,
		.cpp_demangle = true,
		.language_frames = true,
		.print_maps_on_exit = true,
		.lazy_symbolication = true,
		.use_blazesym = true,
		.show_debug_info = false,
		.missing_probes = MISSING_ERROR,
		.unstable_typeinfo = 1,
	};
}

#define STRLEN_DEFAULT 1024
#define STRLEN_SMALL_KEYS 200 // two of them and a name fit into a key of 512 bytes
u32 unit_max_strlen(struct Unit *u)
{
	if (!u->config->max_strlen) // kept: who prints a text wants to know too
		u->config->max_strlen = !u->hooks->big_keys || u->hooks->big_keys() ? STRLEN_DEFAULT : STRLEN_SMALL_KEYS;
	return u->config->max_strlen;
}

enum ConfKind { CK_U32, CK_U64, CK_BOOL, CK_STR, CK_STACK_MODE, CK_MISSING, CK_LICENSE, CK_FORM, CK_SYM_CACHE, CK_UNSTABLE, CK_GONE };
static const struct ConfRow {
	const char *name;
	enum ConfKind kind;
	size_t off;
} rows[] = {
#define F(name, kind) {#name, kind, offsetof(struct Config, name)}
	F(max_strlen, CK_U32),
	F(max_map_keys, CK_U32),
	F(max_probes, CK_U32),
	F(max_bpf_progs, CK_U32),
	F(max_cat_bytes, CK_U32),
	F(log_size, CK_U32),
	F(on_stack_limit, CK_U32),
	F(perf_rb_pages, CK_U64),
	F(stack_mode, CK_STACK_MODE),
	F(str_trunc_trailer, CK_STR),
	F(stack_unit, CK_STR),
	F(stack_title, CK_STR),
	F(stack_parts, CK_STR),
	F(stack_events, CK_STR),
	F(stack_event, CK_STR),
	F(stack_form, CK_FORM),
	F(stack_divide, CK_U64),
	F(stack_slot, CK_U64),
	F(license, CK_LICENSE),
	F(cpp_demangle, CK_BOOL),
	F(language_frames, CK_BOOL),
	F(lazy_symbolication, CK_BOOL),
	F(use_blazesym, CK_BOOL),
	F(in_place, CK_BOOL),
	F(print_maps_on_exit, CK_BOOL),
	F(show_debug_info, CK_BOOL),
	F(missing_probes, CK_MISSING),
#undef F
	{"cache_user_symbols", CK_SYM_CACHE, 0},
	{"unstable_tseries", CK_UNSTABLE, offsetof(struct Config, unstable_tseries)},
	{"unstable_typeinfo", CK_UNSTABLE, offsetof(struct Config, unstable_typeinfo)},
	{"unstable_dw_ustack", CK_UNSTABLE, offsetof(struct Config, unstable_dw_ustack)},
	// features that have become stable, and options of earlier versions
	{"unstable_map_decl", CK_GONE, 0},
	{"unstable_addr", CK_GONE, 0},
	{"unstable_import", CK_GONE, 0},
	{"unstable_macro", CK_GONE, 0},
	{"unstable_import_statement", CK_GONE, 0},
	{"symbol_source", CK_GONE, 0},
	{"max_type_res_iterations", CK_GONE, 0},
};
static const char *const env_only[] = {"btf", "kernel_build", "kernel_source", "vmlinux", "color", "debug_output"};

static bool one_of(const char *val, const char *const *names, size_t n, int *out)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(val, names[i])) {
			*out = (int)i;
			return true;
		}
	return false;
}

static const char *const modes[] = {"bpftrace", "perf", "raw", "build_id"};
static const char *const missing[] = {"error", "warn", "ignore"};
static const char *const unstable[] = {"warn", "enable", "error"};

// "a,b,c" of up to max words; none at all will do.
static bool are_words(const char *s, u32 max)
{
	for (u32 n = 1; *s; n++) {
		size_t k = strspn(s, "abcdefghijklmnopqrstuvwxyz");
		if (!k || n > max || (s[k] && (s[k] != ',' || !s[k + 1])))
			return false;
		s += k + (s[k] == ',');
	}
	return true;
}

// NULL, or what is wrong with the value.
static const char *config_set(struct Unit *u, const struct ConfRow *r, const char *val)
{
	static const char *const bools[] = {"false", "true", "0", "1", "no", "yes", "off", "on"};
	static const char *const licenses[] = {"GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"};
	static const char *const forms[] = {"", "waits", "waker", "wakers", "calls"};
	static const char *const caches[] = {"PER_PROGRAM", "PER_PID", "NONE", "0", "1"};
	char *at = (char *)u->config + r->off;
	u64 v;
	int pick = 0;
	switch (r->kind) {
	case CK_U32:
		if (!parse_u64(val, &v) || v > UINT32_MAX)
			return "expects a number";
		if (r->off == offsetof(struct Config, max_strlen) && v > 1u << 20)
			return "must be at most 1048576";
		if (r->off == offsetof(struct Config, max_strlen) && !v)
			return "must be at least 1";
		if (r->off == offsetof(struct Config, log_size) && v < 128)
			v = 128; // what the kernel takes
		*(u32 *)at = (u32)v;
		return NULL;
	case CK_U64:
		if (!parse_u64(val, (u64 *)at))
			return "expects a number";
		if (r->off == offsetof(struct Config, stack_divide) && !u->config->stack_divide)
			return "must be at least 1";
		if (r->off == offsetof(struct Config, stack_slot) && u->config->stack_slot && u->config->stack_slot < 1000000)
			return "must be 0 or at least 1000000 (a millisecond)";
		return NULL;
	case CK_BOOL:
		if (parse_u64(val, &v))
			pick = v != 0;
		else if (!one_of(val, bools, ARRAY_LEN(bools), &pick))
			return "expects true, false, 1 or 0";
		*(bool *)at = pick % 2;
		return NULL;
	case CK_STR:
		if (r->off == offsetof(struct Config, stack_unit) && (!*val || strspn(val, "abcdefghijklmnopqrstuvwxyz") != strlen(val)))
			return "expects a word in small letters";
		if (r->off == offsetof(struct Config, stack_parts) && !are_words(val, STACK_PARTS_MAX))
			return "expects up to five words in small letters, separated by commas";
		if (r->off == offsetof(struct Config, stack_events) && !are_words(val, 1))
			return "expects a word in small letters";
		*(const char **)at = arena_strdup(u->arena, val);
		return NULL;
	case CK_FORM:
		if (!one_of(val, forms, ARRAY_LEN(forms), &pick))
			return "expects waits, waker, wakers or calls";
		*(const char **)at = forms[pick];
		return NULL;
	case CK_LICENSE:
		if (!one_of(val, licenses, ARRAY_LEN(licenses), &pick))
			return "expects a licence compatible with the GPL";
		*(const char **)at = licenses[pick];
		return NULL;
	case CK_STACK_MODE:
		if (!one_of(val, modes, ARRAY_LEN(modes), &pick))
			return "expects bpftrace, perf or raw";
		u->config->stack_mode = (enum StackMode)pick;
		return NULL;
	case CK_MISSING:
		if (!one_of(val, missing, ARRAY_LEN(missing), &pick))
			return "expects error, warn or ignore";
		u->config->missing_probes = pick;
		return NULL;
	case CK_SYM_CACHE: // sonde keeps one symbol table an object: every setting gives the same result
		return one_of(val, caches, ARRAY_LEN(caches), &pick) ? NULL : "expects PER_PROGRAM, PER_PID or NONE";
	case CK_GONE:
		return NULL;
	case CK_UNSTABLE:
		if (!one_of(val, unstable, ARRAY_LEN(unstable), &pick))
			return "expects error, warn or enable";
		*(u8 *)at = (u8)pick;
		return NULL;
	}
	UNREACHABLE();
}

// What is set, but changes nothing: said once, with the reason. at NULL: set by the environment.
static void warn_without_effect(struct Unit *u, const struct ConfRow *r, const struct Span *at)
{
	static const char lazy[] = "lazy_symbolication = false has no effect: names are looked up when they are printed; "
				   "user frames are kept as places in files, which have their names after the process is gone, too";
	static const char blazesym[] = "use_blazesym = false has no effect: sonde has one way to look names up, its own";
	const char *why = !u->config->lazy_symbolication && !strcmp(r->name, "lazy_symbolication") ? lazy
			: !u->config->use_blazesym && !strcmp(r->name, "use_blazesym")		    ? blazesym
													    : NULL;
	if (!why)
		return;
	if (at)
		diag_warn(u->diags, *at, "%s", why);
	else
		diag_warn_plain(u->diags, "%s", why);
}

static const struct ConfRow *find_row(const char *key)
{
	if (!strncasecmp(key, "bpftrace_", 9))
		key += 9;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcasecmp(rows[i].name, key))
			return &rows[i];
	return NULL;
}

static bool is_env_only(const char *key)
{
	int pick;
	return one_of(strncasecmp(key, "bpftrace_", 9) ? key : key + 9, env_only, ARRAY_LEN(env_only), &pick);
}

// The same in bpftrace's words, where it has some of its own.
static const char *as_bpftrace(struct Unit *u, const struct ConfRow *r, const char *key, const char *val)
{
	static const char *const valid[] = {[CK_STACK_MODE] = "bpftrace, raw, perf, and build_id", [CK_MISSING] = "ignore, warn, and error", [CK_UNSTABLE] = NULL};
	if (r->kind == CK_U32 || r->kind == CK_U64)
		return arena_printf(u->arena, "%s: expecting a number, got %s", key, val);
	if (r->kind == CK_BOOL)
		return arena_printf(u->arena, "%s: Invalid bool value: valid values are true, false, 1 or 0.", key);
	if (r->kind < (int)ARRAY_LEN(valid) && valid[r->kind])
		return arena_printf(u->arena, "%s: Invalid value for %s: valid values are %s.", key, r->name, valid[r->kind]);
	if (r->kind == CK_LICENSE)
		return arena_printf(u->arena,
				    "Invalid value for %s. Found: %s. Valid values: Dual MIT/GPL, Dual BSD/GPL, Dual MPL/GPL, GPL and additional rights, GPL v2, GPL. Read more about "
				    "BPF programs and licensing: https://docs.kernel.org/bpf/bpf_licensing.html#using-bpf-programs-in-the-linux-kernel",
				    r->name, val);
	return NULL;
}

static void from_block(struct Unit *u, struct ConfigItem *c)
{
	const struct ConfRow *r = find_row(c->key);
	if (!r && is_env_only(c->key)) {
		diag_error(u->diags, c->span, "%s: can only be set as an environment variable", c->key);
		return;
	}
	if (r && r->kind == CK_GONE)
		diag_warn(u->diags, c->span, "%s is deprecated and has no effect", r->name);
	if (!r) {
		diag_error(u->diags, c->span, "%s: not a known configuration option", c->key);
		const char *names[ARRAY_LEN(rows)];
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			names[i] = rows[i].name;
		const char *near = nearest_name(c->key, names, ARRAY_LEN(rows));
		if (near)
			diag_hint(u->diags, "did you mean '%s'?", near);
		return;
	}
	const char *val = c->val->kind == E_STR || c->val->kind == E_IDENT ? c->val->str
			  : c->val->kind == E_BOOL			   ? (c->val->ival ? "true" : "false")
									   : arena_printf(u->arena, "%llu", (unsigned long long)c->val->ival);
	const char *bad = config_set(u, r, val);
	const char *its = bad && u->diags->plain ? as_bpftrace(u, r, c->key, val) : NULL;
	if (its)
		diag_error(u->diags, c->span, "%s", its);
	else if (bad)
		diag_error(u->diags, c->span, "Invalid value for %s: it %s", c->key, bad);
	else
		warn_without_effect(u, r, &c->span);
}

void unstable_feature(struct Unit *u, enum Unstable what, struct Span at)
{
	static const char *const names[] = {[UNSTABLE_TSERIES] = "tseries", [UNSTABLE_TYPEINFO] = "typeinfo", [UNSTABLE_DW_USTACK] = "dw_ustack"};
	u8 how[] = {[UNSTABLE_TSERIES] = u->config->unstable_tseries, [UNSTABLE_TYPEINFO] = u->config->unstable_typeinfo,
		    [UNSTABLE_DW_USTACK] = u->config->unstable_dw_ustack};
	if (how[what] == 1 || u->unstable_seen >> what & 1)
		return;
	u->unstable_seen |= 1u << what;
	if (how[what] == 2 && u->diags->plain)
		diag_error(u->diags, at, "%s feature is not enabled by default. To enable this unstable feature, set the config flag to enable. unstable_%s=enable", names[what], names[what]);
	else if (how[what] == 2)
		diag_error(u->diags, at, "%s is turned off by unstable_%s=error", names[what], names[what]);
	else if (u->diags->plain)
		diag_warn_plain(u->diags, "Script is using an unstable feature: %s. To prevent this warning you must explicitly enable it in the config e.g. unstable_%s=enable", names[what], names[what]);
	else
		diag_warn(u->diags, at, "Script is using an unstable feature: %s, which may change in later versions", names[what]);
	diag_hint(u->diags, "config = { unstable_%s = enable } allows it%s", names[what], how[what] == 2 ? "" : " without this warning");
}

void config_resolve(struct Unit *u)
{
	for (struct ConfigItem *c = u->script->config; c; c = c->next)
		from_block(u, c);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[64] = "BPFTRACE_";
		for (size_t j = 0; rows[i].name[j] && j < 50; j++)
			name[9 + j] = (char)(rows[i].name[j] - (rows[i].name[j] >= 'a' && rows[i].name[j] <= 'z' ? 32 : 0));
		const char *val = u->hooks->getenv ? u->hooks->getenv(name) : NULL;
		const char *bad = val ? config_set(u, &rows[i], val) : NULL;
		if (bad)
			diag_error_plain(u->diags, "the environment variable %s=%s is not valid: it %s", name, val, bad);
		else if (val)
			warn_without_effect(u, &rows[i], NULL);
	}
}

static struct Expr setting(struct Unit *u, const struct ConfRow *r)
{
	const char *at = (const char *)u->config + r->off, *s;
	switch (r->kind) {
	case CK_BOOL:
		return (struct Expr){.kind = E_BOOL, .ival = *(const bool *)at};
	case CK_U32:
		return (struct Expr){.kind = E_INT, .ival = at == (const char *)&u->config->max_strlen ? unit_max_strlen(u) : *(const u32 *)at,
				     .type = ty_int(u->types, 8, false)};
	case CK_U64:
		return (struct Expr){.kind = E_INT, .ival = *(const u64 *)at, .type = ty_int(u->types, 8, false)};
	case CK_STACK_MODE:
		s = modes[u->config->stack_mode];
		break;
	case CK_MISSING:
		s = missing[u->config->missing_probes];
		break;
	case CK_UNSTABLE:
		s = unstable[*(const u8 *)at];
		break;
	default:
		s = *(const char *const *)at;
	}
	return (struct Expr){.kind = E_STR, .str = s, .len = (u32)strlen(s)};
}

struct Expr *config_record(struct Unit *u, struct Span at)
{
	struct Expr *rec = record_node(u, at, ARRAY_LEN(rows));
	u32 n = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].kind != CK_GONE && rows[i].kind != CK_SYM_CACHE)
			record_field_node(u, rec, n++, rows[i].name, setting(u, &rows[i]));
	rec->nargs = rec->npath = n;
	return rec;
}

void config_dump(struct Unit *u, struct Str *out)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].kind == CK_GONE || rows[i].kind == CK_SYM_CACHE)
			continue;
		struct Expr e = setting(u, &rows[i]);
		if (e.kind == E_STR)
			str_addf(out, "%s = \"%s\"\n", rows[i].name, e.str);
		else if (e.kind == E_BOOL)
			str_addf(out, "%s = %s\n", rows[i].name, e.ival ? "true" : "false");
		else
			str_addf(out, "%s = %llu\n", rows[i].name, (unsigned long long)e.ival);
	}
}
