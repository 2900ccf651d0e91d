// Types as C text, for -lv: arguments of probes one a line, whole declarations of structs and enums.
// Input: args records, types, names. Output: text. What comes from BTF is printed by libbpf's dumper, as bpftrace does: it keeps typedef
// names, which the language's types have lost.
#include "ctype/internal.h"
#include <bpf/btf.h>
#include <bpf/libbpf.h>

struct Dumper { // one for vmlinux and one for each module asked about
	struct Btf *of;
	struct btf *btf;
	struct btf_dump *dump;
	struct Str out;
	struct Map defs; // "struct foo" -> its text: the dumper prints every type only once
	struct Dumper *next;
};

static void dump_printf(void *ctx, const char *fmt, va_list args)
{
	str_vaddf(ctx, fmt, args);
}

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static struct Dumper *dumper(struct Ctypes *c, struct Btf *b)
{
	for (struct Dumper *d = c->dumpers; d; d = d->next)
		if (d->of == b)
			return d;
	struct Dumper *base = b->base ? dumper(c, b->base) : NULL, *d = xcalloc(1, sizeof(*d));
	libbpf_print_fn_t old = libbpf_set_print(silent);
	d->of = b;
	d->btf = base ? btf__parse_raw_split(arena_printf(c->arena, "/sys/kernel/btf/%s", b->module), base->btf) : btf__new(b->data, (u32)b->size);
	if (libbpf_get_error(d->btf) || (base && !base->btf))
		d->btf = NULL; // libbpf is stricter than our reader: then there is no text
	d->dump = d->btf ? btf_dump__new(d->btf, dump_printf, &d->out, NULL) : NULL;
	if (libbpf_get_error(d->dump))
		d->dump = NULL;
	libbpf_set_print(old);
	d->next = c->dumpers;
	c->dumpers = d;
	return d;
}

void ctext_destroy(struct Ctypes *c)
{
	for (struct Dumper *d = c->dumpers, *next; d; d = next) { // modules come before the vmlinux they refer to
		next = d->next;
		btf_dump__free(d->dump);
		btf__free(d->btf);
		for (u32 i = 0; i < d->defs.n; i++)
			free(d->defs.slots[i].val);
		map_deinit(&d->defs);
		str_deinit(&d->out);
		free(d);
	}
}

// ---- types of the language as C

static void base_name(const struct Type *t, struct Str *out)
{
	static const char *const ints[2][9] = {{[1] = "unsigned char", [2] = "unsigned short", [4] = "unsigned int", [8] = "unsigned long"},
					       {[1] = "signed char", [2] = "short", [4] = "int", [8] = "long"}};
	if (t->kind == TY_RECORD)
		str_addf(out, "%s %s", t->rec->is_union ? "union" : "struct", *t->rec->name ? t->rec->name : "{...}");
	else if (t->kind == TY_INT && t->en)
		str_addf(out, "enum %s", *t->en->name ? t->en->name : "{...}");
	else if (t->kind == TY_INT)
		str_add(out, t->is_char ? "char" : ints[t->sgn][t->size]);
	else if (t->kind == TY_NONE && t->size)
		str_add(out, t->size == 4 ? "float" : t->size == 8 ? "double" : "long double");
	else if (t->kind == TY_BOOL)
		str_add(out, "_Bool");
	else
		ty_name(t, out);
}

// C's inside-out declarators: "char (*name)[5]". name may be empty.
static void c_decl(const struct Type *t, const char *name, struct Str *out)
{
	struct Str inner = {0}, tmp = {0};
	str_add(&inner, name);
	while (t->kind == TY_PTR || t->kind == TY_ARRAY) {
		tmp = (struct Str){0};
		if (t->kind == TY_ARRAY)
			str_addf(&tmp, "%s[%u]", str_text(&inner), t->n);
		else if (t->elem->kind == TY_ARRAY)
			str_addf(&tmp, "(*%s)", str_text(&inner));
		else
			str_addf(&tmp, "*%s", str_text(&inner));
		str_deinit(&inner);
		inner = tmp;
		t = t->elem;
	}
	base_name(t, out);
	if (inner.n)
		str_addf(out, "%s%s", inner.p[0] == '[' ? "" : " ", inner.p);
	str_deinit(&inner);
}

void ctype_decl_text(struct Ctypes *c, const struct Type *t, const char *name, struct Str *out)
{
	c_decl(t, "", out);
	str_addf(out, " %s", name);
}

// ---- arguments

static void btf_decl(struct Ctypes *c, struct Btf *b, u32 id, const char *name, struct Str *out)
{
	struct Dumper *d = dumper(c, b);
	LIBBPF_OPTS(btf_dump_emit_type_decl_opts, opts, .field_name = "");
	str_reset(&d->out);
	if (d->dump && !btf_dump__emit_type_decl(d->dump, id, &opts))
		str_addf(out, "    %s %s\n", str_text(&d->out), name);
}

static void proto_text(struct Ctypes *c, struct Btf *b, u32 proto, u32 first, struct Str *out)
{
	const struct btf_type *t = kbtf_type_by_id(b, proto);
	const struct btf_param *p = btf_params(t);
	for (u32 i = first; i < btf_vlen(t) && p[i].type; i++) {
		const char *name = kbtf_name(b, p[i].name_off);
		btf_decl(c, b, p[i].type, *name ? name : arena_printf(c->arena, "arg%u", i - first), out);
	}
}

bool ctype_args_elsewhere(const struct Record *args, const char *name)
{
	const struct Origin *o = record_origin(args);
	size_t n = strlen(name);
	for (u32 i = 0; o->kind == ORIGIN_UFUNC && i < o->ntext; i++) {
		size_t len = strlen(o->text[i]);
		if (len > n && !strcmp(o->text[i] + len - n, name) && o->text[i][len - n - 1] == ' ')
			return true;
	}
	return false;
}

void ctype_fields_text(struct Ctypes *c, struct Record *args, struct Str *out)
{
	const struct Origin *o = record_origin(args);
	if (o->kind == ORIGIN_TP)
		for (u32 i = o->first_arg; i < args->nfields; i++)
			str_addf(out, "    %s\n", o->text[i]);
	else if (o->kind == ORIGIN_UFUNC)
		for (u32 i = 0; i < o->ntext; i++)
			str_addf(out, "    %s\n", o->text[i]);
	else if (o->kind == ORIGIN_FUNC)
		proto_text(c, o->btf, o->id, o->first_arg, out);
	else if (o->iter_proto)
		proto_text(c, o->btf, o->iter_proto, 1, out); // without bpf_iter_meta
	else if (ctype_record_load(c, args))
		for (u32 i = 0; i < args->nfields; i++) {
			str_add(out, "    ");
			ctype_decl_text(c, args->fields[i].type, args->fields[i].name, out);
			str_addc(out, '\n');
		}
}

void ctype_ret_text(struct Ctypes *c, struct Record *args, const struct Type *ret, struct Str *out)
{
	const struct Origin *o = record_origin(args);
	const struct btf_type *t = o->kind == ORIGIN_FUNC ? kbtf_type_by_id(o->btf, o->id) : NULL;
	if (ret->kind == TY_VOID)
		return;
	if (t)
		btf_decl(c, o->btf, t->type, "retval", out);
	else {
		str_add(out, "    ");
		ctype_decl_text(c, ret, "retval", out);
		str_addc(out, '\n');
	}
}

// ---- whole declarations

static void tabs(struct Str *out, u32 n)
{
	while (n--)
		str_addc(out, '\t');
}

static void own_body(struct Ctypes *c, struct Record *r, u32 depth, struct Str *out)
{
	str_add(out, "{\n");
	for (u32 i = 0; i < r->nfields; i++) {
		const struct Field *f = &r->fields[i];
		const struct Type *t = f->type;
		tabs(out, depth + 1);
		if (t->kind == TY_RECORD && !*t->rec->name && depth < 16) {
			str_add(out, t->rec->is_union ? "union " : "struct ");
			ctype_record_load(c, t->rec);
			own_body(c, t->rec, depth + 1, out);
			str_addf(out, "%s%s", *f->name ? " " : "", f->name);
		} else
			c_decl(t, f->name, out);
		if (f->bit_size)
			str_addf(out, ": %u", f->bit_size);
		str_add(out, ";\n");
	}
	tabs(out, depth);
	str_addc(out, '}');
}

static void own_text(struct Ctypes *c, const char *name, const struct Type *t, struct Str *out)
{
	str_addf(out, "%s ", name);
	if (t->kind == TY_RECORD)
		own_body(c, t->rec, 0, out);
	else {
		str_add(out, "{\n");
		for (u32 i = 0; i < t->en->n; i++)
			str_addf(out, "\t%s = %lld,\n", t->en->consts[i].name, (long long)t->en->consts[i].val);
		str_addc(out, '}');
	}
	str_add(out, ";\n");
}

// Cuts the dumper's text in definitions: from a line "struct foo {" to the line that starts with '}'.
static void keep_definitions(struct Dumper *d)
{
	const char *start = NULL;
	for (const char *line = str_text(&d->out); *line;) {
		const char *end = strchrnul(line, '\n'), *next = *end ? end + 1 : end;
		if (!start && end > line && end[-1] == '{' && *line != '\t')
			start = line;
		else if (start && *line == '}') {
			const char *brace = strstr(start, " {");
			char *key = xasprintf("%.*s", (int)(brace - start), start);
			if (!map_has(&d->defs, key))
				map_put(&d->defs, key, xasprintf("%.*s", (int)(next - start), start));
			free(key);
			start = NULL;
		}
		line = next;
	}
}

static const char *definition(struct Ctypes *c, struct Btf *b, u32 id, const char *name)
{
	struct Dumper *d = dumper(c, b);
	if (d->dump && !map_has(&d->defs, name)) {
		str_reset(&d->out);
		if (!btf_dump__dump_type(d->dump, id))
			keep_definitions(d);
	}
	return map_get(&d->defs, name);
}

static u32 kinds_of(const char *name)
{
	if (!strncmp(name, "struct ", 7))
		return BTF_KIND_BIT(BTF_KIND_STRUCT);
	if (!strncmp(name, "union ", 6))
		return BTF_KIND_BIT(BTF_KIND_UNION);
	return strncmp(name, "enum ", 5) ? 0 : BTF_KIND_BIT(BTF_KIND_ENUM) | BTF_KIND_BIT(BTF_KIND_ENUM64);
}

bool ctype_struct_text(struct Ctypes *c, const char *name, struct Str *out)
{
	struct Btf *b;
	char *key = ctype_clean_name(c->arena, name, strlen(name));
	u32 kinds = kinds_of(key);
	const struct Type *t = kinds ? map_get(&c->names, key) : NULL;
	bool own = t && t->kind == TY_RECORD && (record_origin(t->rec)->kind == ORIGIN_CDECL || record_origin(t->rec)->kind == ORIGIN_DWARF);
	if (own && ctype_record_load(c, t->rec)) {
		own_text(c, key, t, out);
		return true;
	}
	for (u32 i = 0; kinds && kbtf_each(c, &i, &b);) {
		u32 id = kbtf_find(b, strchr(key, ' ') + 1, kinds);
		const char *text = id ? definition(c, b, id, key) : NULL;
		if (text) {
			str_add(out, text);
			return true;
		}
	}
	t = kinds ? ctype_lookup(c, key) : NULL;
	if (t && t->kind == TY_INT && t->en) {
		own_text(c, key, t, out);
		return true;
	}
	return false;
}

static bool wanted(const char *pattern, u32 kinds, const struct btf_type *t, const char *name, char *buf, size_t size)
{
	static const char *const words[] = {
		[BTF_KIND_STRUCT] = "struct", [BTF_KIND_UNION] = "union", [BTF_KIND_ENUM] = "enum", [BTF_KIND_ENUM64] = "enum"};
	u32 kind = btf_kind(t);
	if (!*name || kind >= ARRAY_LEN(words) || !words[kind] || !(kinds & BTF_KIND_BIT(kind)))
		return false;
	return snprintf(buf, size, "%s %s", words[kind], name) < (int)size && glob_match(pattern, buf);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void ctype_each_type(struct Ctypes *c, const char *pattern, bool (*fn)(void *arg, const char *name), void *arg)
{
	struct Btf *b;
	VEC(char *) names = {0};
	char buf[256], *pat = ctype_clean_name(c->arena, pattern, strlen(pattern));
	for (u32 i = 0; kinds_of(pat) && kbtf_each(c, &i, &b);) {
		for (u32 id = kbtf_next(b, 0); id; id = kbtf_next(b, id)) {
			const struct btf_type *t = kbtf_type_by_id(b, id);
			if (wanted(pat, kinds_of(pat), t, kbtf_name(b, t->name_off), buf, sizeof(buf)))
				vec_push(&names, xstrdup(buf));
		}
	}
	if (names.n)
		qsort(names.p, names.n, sizeof(*names.p), by_name);
	bool go = true;
	for (size_t i = 0; i < names.n; i++) {
		if (go && (!i || strcmp(names.p[i], names.p[i - 1])))
			go = fn(arg, names.p[i]);
		if (i)
			free(names.p[i - 1]);
	}
	if (names.n)
		free(vec_last(&names));
	vec_deinit(&names);
}
