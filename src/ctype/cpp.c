// The small C preprocessor: #include, #define, #if, #pragma pack. Tokens are made by clex.c, macros replaced by cmacro.c.
// Input: text of the script's preamble or of a header. Output: tokens with macros expanded. Invariant: whatever the input, the work
// is bounded (CPP_TOKS_MAX tokens, CPP_FILES_MAX files, CPP_DEPTH_MAX of them and CPP_NEST_MAX macros in one another).
#include "ctype/internal.h"

#define CPP_FILES_MAX 600
#define CPP_FILE_SIZE_MAX ((size_t)8 << 20)

struct CCond {
	bool outer;  // the text around it is live
	bool active; // the current branch is
	bool taken;  // some branch was
	bool in_else;
	struct Span at;
};

// ---- directives

static void complain(struct Cpp *p, const struct CTok *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void complain(struct Cpp *p, const struct CTok *at, const char *fmt, ...)
{
	va_list ap;
	struct Str s = {0};
	if (p->lenient || at->file->header)
		return;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	diag_error(p->c->diags, ctok_span(at), "%s", s.p);
	str_deinit(&s);
}

static bool live(const struct Cpp *p)
{
	return !p->conds.n || vec_last(&p->conds)->active;
}

static void do_define(struct Cpp *p, const struct CTok *t, size_t n, const struct CTok *hash)
{
	if (!n || t->kind != CT_IDENT) {
		complain(p, n ? t : hash, "#define needs a name");
		return;
	}
	struct CMacro *m = arena_new(p->c->arena, struct CMacro);
	m->name = ctok_text(p->c->arena, t);
	size_t i = 1;
	if (n > 1 && ctok_is(&t[1], "(") && !t[1].space) {
		m->func = true;
		m->params = arena_new_n(p->c->arena, const char *, n);
		for (i = 2; i < n && !ctok_is(&t[i], ")"); i++) {
			if (ctok_is(&t[i], "...")) {
				m->variadic = true;
				if (!m->nparams || ctok_is(&t[i - 1], ","))
					m->params[m->nparams++] = "__VA_ARGS__";
			} else if (t[i].kind == CT_IDENT)
				m->params[m->nparams++] = ctok_text(p->c->arena, &t[i]);
			else if (!ctok_is(&t[i], ",")) {
				complain(p, &t[i], "a macro's parameters are names");
				return;
			}
		}
		if (i == n) {
			complain(p, &t[1], "the parameter list of macro '%s' is not closed", m->name);
			return;
		}
		i++;
	}
	cpp_put_macro(p, m, t + i, n - i);
}

// A condition of the script itself may ask for what only a system header knows; inside headers such names are just not defined.
static bool asks_headers(const struct Cpp *p, const struct CTok *at)
{
	return !p->lenient && !at->file->header;
}

static bool is_defined(struct Cpp *p, const struct CTok *t)
{
	char *name = ctok_text(p->c->arena, t);
	s64 v;
	if (cpp_macro(p, name) || macro_builtin(name, &v))
		return true;
	if (!asks_headers(p, t))
		return false;
	preamble_read_headers(p->c);
	return p->c->headers && cpp_macro(p->c->headers, name);
}

// "defined X", "defined(X)" -> 1 or 0; __has_include(...) and its like -> 0.
static void resolve_defined(struct Cpp *p, const struct CTok *t, size_t n, struct CToks *out)
{
	for (size_t i = 0; i < n; i++) {
		struct CTok r = t[i];
		if (ctok_is(&r, "defined") && i + 1 < n) {
			bool paren = ctok_is(&t[i + 1], "(") && i + 3 < n;
			const struct CTok *name = &t[i + 1 + paren];
			r.kind = CT_NUM;
			r.text = is_defined(p, name) ? "1" : "0";
			r.len = 1;
			i += paren ? 3 : 1;
		} else if (r.kind == CT_IDENT && r.len > 6 && !strncmp(r.text, "__has_", 6) && i + 1 < n && ctok_is(&t[i + 1], "(")) {
			int depth = 0;
			for (i++; i < n; i++) {
				depth += ctok_is(&t[i], "(") - ctok_is(&t[i], ")");
				if (!depth)
					break;
			}
			r.kind = CT_NUM;
			r.text = "0";
			r.len = 1;
		}
		cpp_emit(p, out, r);
	}
}

static bool eval_once(struct Cpp *p, const struct CToks *line, const struct CTok *hash, bool last, struct CValue *v, bool *unresolved)
{
	struct CToks all = {0};
	cpp_expand(p, line->p, line->n, &all);
	struct CExpr e = {.c = p->c, .tok = all.p, .end = ctoks_end(&all)};
	bool ok = cexpr_eval(&e, v) && e.tok == e.end;
	*unresolved = e.unresolved || !ok;
	if (!ok && last)
		complain(p, e.err_at && e.err_at < e.end ? e.err_at : hash, "#if: %s", e.err ? e.err : "something is left after the expression");
	vec_deinit(&all);
	return ok;
}

static bool eval_if(struct Cpp *p, const struct CTok *t, size_t n, const struct CTok *hash)
{
	struct CToks line = {0};
	struct CValue v = {0};
	bool unresolved, ask = asks_headers(p, hash);
	resolve_defined(p, t, n, &line);
	bool ok = eval_once(ask && p->c->headers ? p->c->headers : p, &line, hash, !ask, &v, &unresolved);
	if (ask && unresolved) {
		preamble_read_headers(p->c);
		ok = eval_once(p->c->headers ? p->c->headers : p, &line, hash, false, &v, &unresolved);
		if (!ok) // once more for the message, which the headers' silence swallows
			ok = eval_once(p, &line, hash, true, &v, &unresolved);
	}
	vec_deinit(&line);
	return ok && v.v;
}

static void push_cond(struct Cpp *p, bool value, const struct CTok *at)
{
	struct CCond *c = arena_new(p->c->arena, struct CCond);
	c->outer = live(p);
	c->active = c->outer && value;
	c->taken = value;
	c->at = ctok_span(at);
	vec_push(&p->conds, c);
}

static void do_else(struct Cpp *p, const struct CTok *dir, const struct CTok *t, size_t n)
{
	struct CCond *c = p->conds.n > p->cond_base ? vec_last(&p->conds) : NULL;
	if (!c || c->in_else) {
		complain(p, dir, "#%.*s without #if", (int)dir->len, dir->text);
		return;
	}
	c->in_else = ctok_is(dir, "else");
	bool value = c->outer && !c->taken;
	if (value && ctok_is(dir, "elif"))
		value = eval_if(p, t, n, dir);
	else if (value && !c->in_else) // elifdef, elifndef
		value = n && is_defined(p, t) == ctok_is(dir, "elifdef");
	c->active = value;
	c->taken |= value;
}

static bool do_condition(struct Cpp *p, const struct CTok *dir, const struct CTok *t, size_t n)
{
	if (ctok_is(dir, "if"))
		push_cond(p, live(p) && eval_if(p, t, n, dir), dir);
	else if (ctok_is(dir, "ifdef") || ctok_is(dir, "ifndef")) {
		if (!n || t->kind != CT_IDENT)
			complain(p, dir, "#%.*s needs a name", (int)dir->len, dir->text);
		push_cond(p, n && is_defined(p, t) == ctok_is(dir, "ifdef"), dir);
	} else if (ctok_is(dir, "else") || ctok_is(dir, "elif") || ctok_is(dir, "elifdef") || ctok_is(dir, "elifndef"))
		do_else(p, dir, t, n);
	else if (ctok_is(dir, "endif")) {
		if (p->conds.n <= p->cond_base)
			complain(p, dir, "#endif without #if");
		else
			(void)vec_pop(&p->conds);
	} else
		return false;
	return true;
}

static void do_include(struct Cpp *p, const struct CTok *dir, const struct CTok *t, size_t n, struct CToks *out)
{
	struct CToks expanded = {0};
	struct Str name = {0};
	if (n && t->kind == CT_IDENT) { // #include MACRO
		cpp_expand(p, t, n, &expanded);
		t = expanded.p;
		n = expanded.n;
	}
	bool quoted = n && t->kind == CT_STR && t->len >= 2;
	size_t close = 0;
	if (quoted)
		str_addn(&name, t->text + 1, t->len - 2);
	else if (n && ctok_is(t, "<")) {
		// Taken from the text: "sys/socket.h" is several tokens, "linux/../x" too.
		for (close = 1; close < n && !ctok_is(&t[close], ">"); close++)
			str_addn(&name, t[close].text, t[close].len);
	}
	if (!name.n || (!quoted && close == n))
		complain(p, n ? t : dir, "#include needs \"FILE\" or <FILE>");
	else
		cpp_include(p, name.p, quoted, dir->file, span_join(ctok_span(t), ctok_span(&t[close])), out);
	vec_deinit(&expanded);
	str_deinit(&name);
}

static void do_pragma(struct Cpp *p, const struct CTok *dir, const struct CTok *t, size_t n, struct CToks *out)
{
	if (n && ctok_is(t, "once"))
		map_put(&p->pragma_once, dir->file->name, p);
	if (n < 3 || !ctok_is(t, "pack") || !ctok_is(&t[1], "("))
		return;
	struct Str s = {0};
	for (size_t i = 2; i < n && !ctok_is(&t[i], ")"); i++)
		str_addn(&s, t[i].text, t[i].len);
	struct CTok pack = *dir;
	pack.kind = CT_PACK;
	pack.text = arena_strdup(p->c->arena, str_text(&s));
	pack.len = (u32)s.n;
	cpp_emit(p, out, pack);
	str_deinit(&s);
}

// A line "# name ...": t[0] is the '#', n counts the whole line.
static void directive(struct Cpp *p, const struct CTok *t, size_t n, struct CToks *out)
{
	const struct CTok *dir = t + 1;
	if (n < 2 || (dir->kind == CT_NUM && n >= 2)) // null directive, line marker
		return;
	if (do_condition(p, dir, t + 2, n - 2) || !live(p))
		return;
	if (ctok_is(dir, "define"))
		do_define(p, t + 2, n - 2, dir);
	else if (ctok_is(dir, "undef")) {
		if (n > 2)
			map_put(&p->macros, ctok_text(p->c->arena, t + 2), NULL);
	} else if (ctok_is(dir, "include") || ctok_is(dir, "include_next"))
		do_include(p, dir, t + 2, n - 2, out);
	else if (ctok_is(dir, "pragma"))
		do_pragma(p, dir, t + 2, n - 2, out);
	else if (ctok_is(dir, "error")) {
		u32 from = n > 2 ? t[2].off : dir->off, to = t[n - 1].off + t[n - 1].len;
		complain(p, dir, "#error %.*s", n > 2 ? (int)(to - from) : 0, dir->file->text + from);
	} else if (!ctok_is(dir, "warning") && !ctok_is(dir, "line") && !ctok_is(dir, "ident") && !ctok_is(dir, "import"))
		complain(p, dir, "unknown preprocessor directive #%.*s", (int)dir->len, dir->text);
}

void cpp_text(struct Cpp *p, const struct CFile *f, struct CToks *out)
{
	struct CToks in = {0};
	cpp_lex(f, &in);
	for (size_t i = 0, end; i < in.n && !cpp_out_of_room(p); i = end) {
		bool hash = in.p[i].bol && ctok_is(&in.p[i], "#");
		end = i + 1;
		if (hash) {
			while (end < in.n && !in.p[end].bol)
				end++;
			directive(p, &in.p[i], end - i, out);
			continue;
		}
		while (end < in.n && !(in.p[end].bol && ctok_is(&in.p[end], "#")))
			end++;
		if (live(p))
			cpp_expand(p, &in.p[i], end - i, out);
	}
	vec_deinit(&in);
}

void cpp_end(struct Cpp *p)
{
	if (p->conds.n && !p->lenient) {
		diag_error(p->c->diags, p->conds.p[0]->at, "this #if has no #endif");
		p->conds.n = 0;
	}
	if (cpp_out_of_room(p) && !p->lenient)
		diag_error_plain(p->c->diags, "the preamble's macros expand to more than %zu tokens, or are over %u in one another", CPP_TOKS_MAX, CPP_NEST_MAX);
}

// ---- headers

void cpp_header(struct Cpp *p, const char *path, struct Span at, struct CToks *out)
{
	struct Str text = {0};
	if (p->depth >= CPP_DEPTH_MAX || p->nfiles >= CPP_FILES_MAX || map_has(&p->pragma_once, path))
		return;
	struct err *e = read_file(path, &text, CPP_FILE_SIZE_MAX);
	if (!e) {
		struct CFile *f = arena_new(p->c->arena, struct CFile);
		*f = (struct CFile){.name = arena_strdup(p->c->arena, path), .len = text.n, .header = true, .at = at};
		f->text = arena_strndup(p->c->arena, str_text(&text), text.n);
		size_t base = p->cond_base;
		p->cond_base = p->conds.n; // a header can neither open nor close an #if of its includer
		p->nfiles++;
		p->depth++;
		cpp_text(p, f, out);
		p->depth--;
		p->conds.n = p->cond_base;
		p->cond_base = base;
	}
	err_free(e);
	str_deinit(&text);
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

// Headers a compiler brings along: what is in them is known anyway.
static bool compilers_own(const char *name)
{
	static const char *const names[] = {"stddef.h", "stdbool.h", "stdarg.h", "stdint.h", "stdalign.h", "stdnoreturn.h", "float.h", "limits.h"};
	return is_among(name, names, ARRAY_LEN(names));
}

static bool in_system_folder(const char *name)
{
	static const char *const folders[] = {"arch", "block", "drivers", "fs", "init", "io_uring", "ipc", "kernel", "lib", "mm", "security", "virt", // of the kernel's tree
					      "acpi", "arpa", "asm", "asm-generic", "bits", "crypto", "cxl", "drm", "generated", "gnu", "keys", "kvm", "linux",
					      "media", "misc", "mtd", "net", "netinet", "netipx", "nfs", "pcmcia", "protocols", "ras", "rdma", "rpc", "scsi",
					      "soc", "sound", "sys", "target", "trace", "uapi", "ufs", "vdso", "video", "xen"};
	size_t n = strcspn(name, "/");
	for (size_t i = 0; name[n] && i < ARRAY_LEN(folders); i++)
		if (strlen(folders[i]) == n && !strncmp(name, folders[i], n))
			return true;
	return false;
}

// May be absent without harm: linux/..., net/..., sys/..., whose types BTF has, and what the C library has beside these. Constants: macros.list.
static bool may_be_absent(const char *name)
{
	static const char *const names[] = {"dirent.h", "elf.h", "errno.h", "fcntl.h", "inttypes.h", "netdb.h", "poll.h", "pthread.h", "sched.h", "signal.h",
					    "stdio.h", "stdlib.h", "string.h", "strings.h", "syscall.h", "time.h", "ucontext.h", "unistd.h"};
	return in_system_folder(name) || compilers_own(name) || is_among(name, names, ARRAY_LEN(names));
}

void cpp_include(struct Cpp *p, const char *name, bool quoted, const struct CFile *from, struct Span at, struct CToks *out)
{
	bool user = false;
	const char *path = header_find(p, name, quoted, from, &user);
	if (path && (user || p->lenient)) {
		cpp_header(p, path, at, out);
	} else if (path) { // the system's: read when a name stays unknown without it
		if (!map_has(&p->seen, path)) {
			map_put(&p->seen, path, p);
			vec_push(&p->system, path);
		}
	} else if (quoted && !p->lenient && (!from || !from->header)) {
		diag_error(p->c->diags, at, "cannot find the header \"%s\"", name);
		diag_hint(p->c->diags, "It is looked for next to the script, in the current directory, under each -I directory and in the system's.");
	} else if (!p->lenient && !may_be_absent(name) && (!from || !from->header)) {
		static const char what[] = "'%s' file not found";
		if (from)
			diag_error(p->c->diags, at, what, name);
		else
			diag_error_plain(p->c->diags, what, name);
		diag_hint(p->c->diags, "It is looked for %sunder each -I directory and in the system's. Is its package installed?", from ? "" : "in the current directory, ");
	} else if (!map_has(&p->seen, name) && !compilers_own(name)) {
		map_put(&p->seen, name, p);
		vec_push(&p->missing, arena_strdup(p->c->arena, name));
	}
}

struct Cpp *cpp_create(struct Ctypes *c, const char *const *dirs, u32 ndirs, bool lenient)
{
	struct Cpp *p = arena_new(c->arena, struct Cpp);
	p->c = c;
	p->dirs = dirs;
	p->ndirs = ndirs;
	p->lenient = lenient;
	return p;
}

void cpp_destroy(struct Cpp *p)
{
	if (!p)
		return;
	map_deinit(&p->macros);
	map_deinit(&p->pragma_once);
	map_deinit(&p->seen);
	vec_deinit(&p->conds);
	vec_deinit(&p->system);
	vec_deinit(&p->missing);
}
