// Tracepoint formats: events/CATEGORY/EVENT/format of tracefs -> the record behind `args`.
//   	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
//   	field:__data_loc char[] filename;	offset:8;	size:4;	signed:0;
// Input: that text (Documentation/trace/events.rst, "Event Formats"). Output: a loaded Record with one field a line, in order.
// Invariant: offsets and sizes are the file's; the C text only says what kind of thing a field is.
#include "base/base.h"
#include "ctype/internal.h"
#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define FORMAT_MAX ((size_t)1 << 20)

// ---- where tracefs is

static bool has_events(const char *dir)
{
	char path[512];
	struct stat st;
	return snprintf(path, sizeof(path), "%s/events", dir) < (int)sizeof(path) && !stat(path, &st) && S_ISDIR(st.st_mode);
}

// A tracefs mounted somewhere else, from /proc/self/mounts: "tracefs /mnt/trace tracefs rw 0 0".
static bool mounted_elsewhere(char *out, size_t size)
{
	struct Str text = {0};
	struct err *e = read_file("/proc/self/mounts", &text, (size_t)8 << 20);
	bool found = false;
	char *save = NULL;
	for (char *line = e ? NULL : strtok_r(text.p, "\n", &save); line && !found; line = strtok_r(NULL, "\n", &save)) {
		char dir[256], type[32];
		if (sscanf(line, "%*s %255s %31s", dir, type) == 2 && !strcmp(type, "tracefs") && strlen(dir) < size && has_events(dir)) {
			memcpy(out, dir, strlen(dir) + 1);
			found = true;
		}
	}
	err_free(e);
	str_deinit(&text);
	return found;
}

struct err *tracefs_path(const char **out)
{
	static const char std[] = "/sys/kernel/tracing", debug[] = "/sys/kernel/debug/tracing";
	static char other[256]; // cache: the mount point does not move while we run
	if (has_events(std))
		*out = std;
	else if (has_events(debug))
		*out = debug;
	else if (other[0] || mounted_elsewhere(other, sizeof(other)))
		*out = other;
	else if (!mount("tracefs", std, "tracefs", 0, NULL) && has_events(std))
		*out = std;
	else if (geteuid() && !cap_have(CAP_DAC_READ_SEARCH_BIT))
		return err_new("tracefs cannot be read: run sonde as root, or give it CAP_DAC_READ_SEARCH");
	else
		return err_errno(errno, "tracefs is not mounted and could not be mounted: run 'mount -t tracefs tracefs %s'", std);
	return NULL;
}

// ---- one field

struct FormatField {
	const char *decl; // "const char * filename"
	size_t len;
	u32 off, size;
	bool sgn;
};

// "key:NUMBER;" after *p.
static bool take_number(const char **p, const char *end, const char *key, u32 *out)
{
	const char *at = memmem(*p, (size_t)(end - *p), key, strlen(key));
	u64 v = 0;
	if (!at)
		return false;
	at += strlen(key);
	const char *first = at;
	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		v = v * 10 + (u64)(*at - '0');
		if (v > UINT16_MAX) // the kernel's own limit: struct ftrace_event_field offsets fit in a page
			return false;
	}
	if (at == first || at >= end || *at != ';')
		return false;
	*p = at + 1;
	*out = (u32)v;
	return true;
}

static bool split_line(const char *line, const char *end, struct FormatField *f)
{
	u32 sgn = 0;
	const char *p = memmem(line, (size_t)(end - line), "field:", 6);
	if (!p)
		return false;
	f->decl = p + 6;
	p = memchr(f->decl, ';', (size_t)(end - f->decl));
	if (!p)
		return false;
	f->len = (size_t)(p - f->decl);
	if (!take_number(&p, end, "offset:", &f->off) || !take_number(&p, end, "size:", &f->size))
		return false;
	take_number(&p, end, "signed:", &sgn); // not there on kernels before 2.6.32
	f->sgn = sgn != 0;
	return true;
}

static bool is_word(char ch)
{
	return ch == '_' || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

// A declaration in parts: "__data_loc char[] name" -> base "char", array; "const char *const * argv" -> base "char", two pointers.
struct Decl {
	char *name, *base;
	u32 ptrs;
	bool array;
	u32 n; // elements when the text gives a number, else 0
	bool data_loc, rel_loc;
};

static bool strip_prefix(const char **s, size_t *n, const char *prefix)
{
	size_t len = strlen(prefix);
	if (*n < len || strncmp(*s, prefix, len) || (*n > len && is_word((*s)[len])))
		return false;
	*s += len;
	*n -= len;
	return true;
}

// Cuts "[...]" off the end of s; the number inside goes to *count.
static bool cut_array(const char *s, size_t *n, u32 *count)
{
	size_t end = *n;
	while (end && s[end - 1] == ' ')
		end--;
	if (!end || s[end - 1] != ']')
		return false;
	size_t open = end - 1;
	while (open && s[open] != '[')
		open--;
	if (s[open] != '[')
		return false;
	u64 v = 0;
	for (size_t i = open + 1; i < end - 1; i++) {
		if (s[i] < '0' || s[i] > '9' || v > UINT16_MAX) {
			v = 0; // a constant's name: the size tells the number
			break;
		}
		v = v * 10 + (u64)(s[i] - '0');
	}
	*count = (u32)v;
	*n = open;
	return true;
}

static bool split_decl(struct Arena *a, const struct FormatField *f, struct Decl *d)
{
	const char *s = f->decl;
	size_t n = f->len;
	*d = (struct Decl){0};
	d->data_loc = strip_prefix(&s, &n, "__data_loc");
	d->rel_loc = !d->data_loc && strip_prefix(&s, &n, "__rel_loc");
	d->array = cut_array(s, &n, &d->n);
	while (n && s[n - 1] == ' ')
		n--;
	size_t name = n;
	while (name && is_word(s[name - 1]))
		name--;
	if (name == n || !name)
		return false;
	d->name = arena_strndup(a, s + name, n - name);
	n = name;
	u32 inner;
	if (cut_array(s, &n, &inner)) {
		d->array = true;
		d->n = inner;
	}
	char *type = arena_strndup(a, s, n);
	for (char *p = type; *p; p++) {
		if (*p == '*') {
			d->ptrs++;
			*p = ' ';
		}
	}
	d->base = ctype_clean_name(a, type, n);
	return *d->base != 0;
}

// ---- types

// What "T" in "T *" points to. Unknown typedefs are looked up (this may open BTF: few events have such a field).
static const struct Type *pointee(struct Ctypes *c, const char *base)
{
	struct CInt i;
	if (!strncmp(base, "struct ", 7) || !strncmp(base, "union ", 6))
		return ctype_named_record(c, strchr(base, ' ') + 1, base[0] == 'u');
	if (cint_by_name(base, &i))
		return cint_type(c, &i);
	const struct Type *t = strcmp(base, "void") ? ctype_lookup(c, base) : NULL;
	return t ? t : ty_simple(c->tab, TY_VOID);
}

// An integer field. Arguments of system calls take 8 bytes each whatever their type: `int` and the unsigned types below are then read
// whole, as bpftrace does, others by their own size. Anything of an unknown type goes by the file's size and sign.
static const struct Type *scalar_type(struct Ctypes *c, const char *base, u32 size, bool sgn)
{
	static const char *const wide[] = {"unsigned int", "unsigned", "u32", "pid_t", "uid_t", "gid_t"};
	struct CInt i;
	if (size == 8) {
		if (!strcmp(base, "int"))
			return ty_int(c->tab, 8, true);
		for (size_t k = 0; k < ARRAY_LEN(wide); k++)
			if (!strcmp(base, wide[k]))
				return ty_int(c->tab, 8, false);
	}
	if (cint_by_name(base, &i) && i.size <= size) {
		if (!i.is_char && i.size == size)
			i.sgn = sgn; // the file knows what a typedef really is
		return cint_type(c, &i);
	}
	if (size == 1 || size == 2 || size == 4 || size == 8)
		return ty_int(c->tab, size, sgn);
	return ty_array(c->tab, ty_int(c->tab, 1, false), size);
}

static const struct Type *elem_type(struct Ctypes *c, const struct Decl *d, u32 size, bool sgn, bool user)
{
	if (d->ptrs) {
		const struct Type *t = pointee(c, d->base);
		for (u32 i = 0; i < d->ptrs; i++)
			t = ty_ptr(c->tab, t, user ? AS_USER : AS_KERNEL);
		return t;
	}
	if (!strncmp(d->base, "struct ", 7) || !strncmp(d->base, "union ", 6)) {
		const struct Type *t = ctype_lookup(c, d->base);
		if (t && t->size == size)
			return t;
	}
	if (!strncmp(d->base, "enum ", 5)) { // few events have one; its names are worth opening BTF
		const struct Type *t = ctype_lookup(c, d->base);
		if (t && t->size == size)
			return t;
	}
	return scalar_type(c, d->base, size, sgn);
}

// "char comm[16]", size 16: the element's size is what the total leaves for each, or the type's own when the text has no number.
static const struct Type *array_type(struct Ctypes *c, const struct Decl *d, const struct FormatField *f, bool user)
{
	struct CInt i;
	u32 n = d->n, each = d->ptrs ? 8 : 0;
	if (!each && n && f->size && f->size % n == 0)
		each = f->size / n;
	if (!each)
		each = cint_by_name(d->base, &i) ? i.size : 1;
	n = f->size / each;
	return ty_array(c->tab, elem_type(c, d, each, f->sgn, user), n);
}

// The elements behind a __data_loc: the text alone knows their size. cpumask_t has no [] and is an array of unsigned long.
static const struct Type *loc_type(struct Ctypes *c, const struct Decl *d, bool sgn)
{
	struct CInt i = {1, sgn, false};
	if (!strcmp(d->base, "cpumask_t") || !strcmp(d->base, "cpumask_var_t"))
		i = (struct CInt){8, false, false};
	else if (d->ptrs || !cint_by_name(d->base, &i)) {
		const struct Type *t = d->ptrs ? NULL : ctype_lookup(c, d->base);
		if (t)
			return ty_array(c->tab, t, 0);
		i.size = d->ptrs ? 8 : 1;
	}
	return ty_array(c->tab, cint_type(c, &i), 0);
}

static bool make_field(struct Ctypes *c, const struct FormatField *f, bool syscalls, struct Field *out, const char **text)
{
	struct Decl d;
	if (!split_decl(c->arena, f, &d))
		return false;
	*out = (struct Field){.name = d.name, .off = f->off, .data_loc = d.data_loc, .rel_loc = d.rel_loc};
	*text = arena_strndup(c->arena, f->decl, f->len);
	bool user = syscalls && d.ptrs;
	out->user_ptr = user;
	out->kept_text = user && d.ptrs == 1 && !strncmp(f->decl, "const char *", 12);
	if (d.data_loc || d.rel_loc) {
		if (f->size < 4)
			return false;
		out->type = loc_type(c, &d, f->sgn);
	} else if (d.array)
		out->type = array_type(c, &d, f, user);
	else if (d.ptrs && f->size != 8)
		return false;
	else
		out->type = elem_type(c, &d, f->size, f->sgn, user);
	return true;
}

// ---- the file

struct Record *tracefs_parse_format(struct Ctypes *c, const char *category, const char *event, const char *text, const char **why)
{
	VEC(struct Field) fields = {0};
	VEC(const char *) texts = {0};
	bool syscalls = !strcmp(category, "syscalls"), own = false;
	u32 size = 0, common = 0;
	*why = NULL;
	for (const char *line = text; *line && !*why;) {
		const char *end = strchrnul(line, '\n'), *shown = NULL;
		struct FormatField f;
		struct Field field;
		if (!strncmp(line, "print fmt:", 10))
			break;
		if (end == line && fields.n) // the blank line between common_* and the event's own
			own = true;
		if (split_line(line, end, &f)) {
			if (!make_field(c, &f, syscalls, &field, &shown))
				*why = "a field of it makes no sense";
			vec_push(&fields, field);
			vec_push(&texts, shown);
			size = MAX(size, f.off + f.size);
			common += !own;
		}
		line = *end ? end + 1 : end;
	}
	if (!*why && !fields.n)
		*why = "it lists no fields";
	struct Record *r = NULL;
	if (!*why) {
		const char **t = arena_new_n(c->arena, const char *, texts.n);
		memcpy(t, texts.p, texts.n * sizeof(*t));
		r = record_new(c, ORIGIN_TP, arena_printf(c->arena, "_tracepoint_%s_%s", category, event), false, size, 8);
		r->fields = arena_new_n(c->arena, struct Field, fields.n);
		memcpy(r->fields, fields.p, fields.n * sizeof(*r->fields));
		r->nfields = (u32)fields.n;
		r->loaded = true;
		record_origin(r)->first_arg = common;
		record_origin(r)->text = t;
	}
	vec_deinit(&fields);
	vec_deinit(&texts);
	return r;
}

struct err *ctype_tracepoint_args(struct Ctypes *c, const char *category, const char *event, struct Record **out)
{
	char *key = arena_printf(c->arena, "%s:%s", category, event);
	const char *dir, *why;
	*out = map_get(&c->tracepoints, key);
	if (*out)
		return NULL;
	if (!*category || !*event || strchr(category, '/') || strchr(event, '/') || *category == '.' || *event == '.')
		return err_new("'%s' is no tracepoint name", key);
	struct err *e = tracefs_path(&dir);
	if (e)
		return e;
	char *path = arena_printf(c->arena, "%s/events/%s/%s/format", dir, category, event);
	struct Str text = {0};
	e = read_file(path, &text, FORMAT_MAX);
	if (e && err_code(e) == ENOENT) {
		err_free(e);
		e = err_new("tracepoint %s does not exist on this kernel (no %s)", key, path);
	} else if (!e) {
		*out = tracefs_parse_format(c, category, event, str_text(&text), &why);
		if (*out)
			map_put(&c->tracepoints, key, *out);
		else
			e = err_new("cannot read the format of tracepoint %s in %s: %s", key, path, why);
	}
	str_deinit(&text);
	return e;
}
