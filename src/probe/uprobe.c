// uprobe, uretprobe: names, patterns, offsets and addresses in user binaries -> points with file offsets.
// Invariant: addr of a point lies inside a PT_LOAD segment's file bytes; two points of one attach point never share a file offset.
#include "base/base.h"
#include <errno.h>
#include <limits.h>
#include <unistd.h>
#include "probe/internal.h"

struct Want { // what is looked for in one object
	const char *name, *lang;
	bool wild, cpp, with_args; // with_args: the name holds a parameter list
	bool bits32;		   // the object's code
	bool go;		   // there is Go in the object, at addresses from go_lo to go_hi
	bool go_regs;		   // ... whose functions get their arguments in registers
	u64 go_lo, go_hi;
	u64 off;
	u64 nrefused, nadded, nsizeless; // functions
	const char *refused;  // why, of the first
};
struct Found {
	const char *name; // lives as long as Syms
	u64 addr, size, file_off;
};
typedef VEC(struct Found) FoundList;
struct Scan {
	struct ProbeEnv *env;
	const struct Want *want;
	FoundList *out;
	u64 nfuncs;
};

// Length of "ns::fn<int>" in "ns::fn<int>(char const*) const". What follows the last pair is "const", "&", "[clone .cold]": no name.
static size_t without_params(const char *s)
{
	const char *close = strrchr(s, ')');
	int depth = 0;
	if (!close || strstr(close, "::"))
		return strlen(s);
	for (const char *c = close; c >= s; c--) {
		depth += (*c == ')') - (*c == '(');
		if (!depth)
			return (size_t)(c - s);
	}
	return strlen(s);
}

// Templates are demangled with their return type: "int ns::f<int>" -> "ns::f<int>". The name begins after the last blank outside brackets.
static const char *without_return(const char *s)
{
	const char *start = s;
	int depth = 0;
	for (const char *c = s; *c; c++) {
		if (!strncmp(c, "operator", 8))
			break; // "operator bool", "operator new"
		depth += (*c == '<' || *c == '(') - (*c == '>' || *c == ')');
		if (*c == ' ' && !depth)
			start = c + 1;
	}
	return start;
}

static bool demangled_matches(struct ProbeEnv *env, const struct Want *w, const char *dem)
{
	if (w->with_args)
		return w->wild ? glob_match(w->name, dem) : !strcmp(w->name, dem);
	const char *bare = arena_strndup(env->arena, dem, without_params(dem)), *name = without_return(bare);
	if (w->wild)
		return glob_match(w->name, bare) || glob_match(w->name, name);
	return !strcmp(w->name, bare) || !strcmp(w->name, name);
}

static bool matches(struct ProbeEnv *env, const struct Want *w, const struct SymDef *s)
{
	if (w->wild ? glob_match(w->name, s->name) : !strcmp(w->name, s->name))
		return true;
	if (!w->cpp && !w->with_args)
		return false;
	const char *dem = s->demangled ? s->demangled : sym_demangle(env->syms, s->name);
	return dem != s->name && demangled_matches(env, w, dem);
}

static bool collect(void *arg, const struct SymDef *s)
{
	struct Scan *sc = arg;
	if (!s->is_func)
		return true;
	sc->nfuncs++;
	if (matches(sc->env, sc->want, s)) {
		struct Found f = {s->name, s->addr, s->size, s->file_off};
		vec_push(sc->out, f);
	}
	return true;
}

static int by_offset(const void *a, const void *b)
{
	const struct Found *x = a, *y = b;
	return x->file_off < y->file_off ? -1 : x->file_off > y->file_off ? 1 : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	const struct Found *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	return c ? c : by_offset(a, b);
}

// Aliases (several names at one address) are one place: the program would run twice there. Listings keep them.
static void tidy(FoundList *l, bool keep_aliases)
{
	size_t w = 0;
	if (!l->n)
		return;
	qsort(l->p, l->n, sizeof(l->p[0]), by_offset);
	for (size_t i = 0; i < l->n; i++) {
		struct Found *last = w ? &l->p[w - 1] : NULL;
		if (!last || last->file_off != l->p[i].file_off || (keep_aliases && strcmp(last->name, l->p[i].name)))
			l->p[w++] = l->p[i];
	}
	l->n = w;
	qsort(l->p, l->n, sizeof(l->p[0]), by_name);
}

// ---- errors
struct Names {
	struct ProbeEnv *env;
	bool cpp;
	NameList list;
};

static bool add_name(void *arg, const struct SymDef *s)
{
	struct Names *n = arg;
	const char *dem = s->is_func && n->cpp ? sym_demangle(n->env->syms, s->name) : s->name;
	if (s->is_func)
		vec_push(&n->list, dem == s->name ? dem : without_return(arena_strndup(n->env->arena, dem, without_params(dem))));
	return true;
}

static void no_function(struct ProbeEnv *env, const struct AttachSpec *spec, struct SymObject *o, const char *path, const struct Want *w, u64 nfuncs)
{
	if (!nfuncs) {
		if (probe_missing(env, spec, "%s has no symbols (stripped), so '%s' cannot be found", path, w->name))
			diag_hint(env->diags, "install its debug symbols, or give an address: %s:%s:0x...", spec->parts[0], path);
		return;
	}
	if (!probe_missing(env, spec, "no function %s'%s' in %s", w->wild ? "like " : "", w->name, path))
		return;
	if (w->wild)
		return;
	struct Names names = {.env = env, .cpp = w->cpp};
	err_free(sym_object_each(env->syms, o, add_name, &names));
	hint_nearest(env, w->name, &names.list, arena_printf(env->arena, "%s:%s:%s", spec->parts[0], path, w->cpp ? "cpp:" : ""));
	vec_deinit(&names.list);
}

// ---- points
static struct Point *make(struct ProbeEnv *env, const struct Provider *p, const char *path, const struct Want *w, const char *func)
{
	struct Point *pt = point_new(env, p, CTX_PT_REGS);
	pt->target = path;
	pt->event = func;
	pt->pid = env->pid;
	struct Str n = {0};
	str_addf(&n, "%s:%s", p->name, path);
	if (w && w->lang)
		str_addf(&n, ":%s", w->lang);
	if (func)
		str_addf(&n, ":%s", func);
	if (w && w->off)
		str_addf(&n, "+%llu", (unsigned long long)w->off);
	pt->name = arena_strdup(env->arena, n.p);
	str_deinit(&n);
	return pt;
}

// ctype gives the number of the argument register times 8; the program finds the registers in struct pt_regs.
static struct Record *in_pt_regs(struct ProbeEnv *env, const struct Record *args)
{
	const struct PtAbi *abi = &ptregs_abi[PT_HOST];
	struct Record *r = arena_new(env->arena, struct Record);
	*r = *args;
	r->size = abi->size; // taken whole, the registers are copied
	r->fields = arena_new_n(env->arena, struct Field, MAX(args->nfields, 1));
	r->nfields = 0;
	for (u32 i = 0; i < args->nfields; i++) {
		struct Field f = args->fields[i];
		if (f.off / 8 >= abi->nargs)
			continue;
		f.off = (u32)abi->args[f.off / 8];
		r->fields[r->nfields++] = f;
	}
	return r;
}

static void read_args(struct ProbeEnv *env, const struct AttachSpec *spec, struct Point *pt)
{
	if (!env->want_args || !pt->event || pt->off || pt->kind != PK_UPROBE || pt->bits32 || pt->arg_regs)
		return;
	struct err *e = ctype_uprobe_args(env->ctypes, pt->target, pt->event, &pt->args, &pt->ret);
	if (e && !env->lenient && !env->listing) {
		diag_error(env->diags, spec->span, "the arguments of %s are not known by name: %s", pt->name, err_text(e));
		diag_hint(env->diags, "use arg0, arg1, ...");
	}
	if (!e && pt->args && !env->listing)
		pt->args = in_pt_regs(env, pt->args);
	err_free(e);
}

static bool is_unsafe(const struct ProbeEnv *env)
{
	return env->config && env->config->unsafe;
}

// A breakpoint inside an instruction changes what the program does.
static bool at_insn(struct ProbeEnv *env, const struct AttachSpec *spec, const char *path, const char *func, u64 file_off, u64 off, bool bits32)
{
	enum InsnAt at = !off || env->listing || is_unsafe(env) ? INSN_BEGINS
			 : bits32						     ? INSN_UNKNOWN
										     : insn_at(path, file_off - off, file_off);
	if (at == INSN_BEGINS)
		return true;
	if (at == INSN_INSIDE)
		diag_error(env->diags, spec->span, "offset %llu of %s is inside an instruction: a probe there breaks the program", (unsigned long long)off, func);
	else
		diag_error(env->diags, spec->span, "whether an instruction begins at offset %llu of %s is not known", (unsigned long long)off, func);
	diag_hint(env->diags, "the disassembly (objdump -d) shows where instructions begin; --unsafe probes anyway");
	return false;
}

static bool is_go(const struct Want *w, u64 addr)
{
	return w->go && addr >= w->go_lo && addr < w->go_hi;
}

static void find_go(struct ProbeEnv *env, struct SymObject *o, struct Want *w)
{
	w->bits32 = sym_object_is_32(o);
	w->go = sym_object_go_text(env->syms, o, &w->go_lo, &w->go_hi);
	w->go_regs = w->go && !w->bits32 && sym_object_go_in_registers(env->syms, o);
}

static struct Point *found_point(struct ProbeEnv *env, const struct Provider *p, const char *path, const struct Want *w, const struct Found *f, u64 off)
{
	struct Point *pt = make(env, p, path, w, f->name);
	pt->func = f->name ? sym_shown_name(env->syms, f->name) : NULL; // an address may be in no function that is known
	pt->addr = f->file_off + off;
	pt->sym_addr = f->addr + off;
	pt->from_pattern = w->wild;
	pt->bits32 = w->bits32;
	if (is_go(w, f->addr))
		pt->arg_regs = ptregs_go_args(PT_HOST, &pt->narg_regs);
	if (!w->go_regs)
		pt->narg_regs = 0;
	return pt;
}

// Return probes of Go functions: see gofunc.c.
static void add_returns(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *path, struct Want *w,
			const struct Found *f, struct PointList *out)
{
	OffList at = {0};
	const char *why = w->bits32 ? "its instructions are 32-bit code" : func_returns(env->arena, path, f->file_off, f->size, &at);
	if (why == func_endless && w->wild) { // as elsewhere: it is there, and nothing happens
		vec_deinit(&at);
		return;
	}
	w->nrefused += why != NULL;
	if (why && !w->refused)
		w->refused = arena_printf(env->arena, "%s of %s is a function of Go: its stack moves, so its return address must stay what it is, and %s", f->name, path, why);
	for (size_t i = 0; !why && i < at.n; i++) {
		struct Point *pt = found_point(env, p, path, w, f, at.p[i]);
		pt->off = at.p[i];
		pt->at_ret = true;
		pt->where = arena_printf(env->arena, "a function of Go: at its return instruction +%llu", (unsigned long long)pt->off);
		point_add(env, spec, out, pt);
	}
	vec_deinit(&at);
}

// A symbol of size 0 may be one of code or the end of some: a breakpoint in data changes the program.
static bool has_size(struct ProbeEnv *env, const struct AttachSpec *spec, struct Want *w, const struct Found *f)
{
	if (f->size || env->listing || is_unsafe(env))
		return true;
	w->nsizeless++;
	if (w->wild)
		return false;
	diag_error(env->diags, spec->span, "Could not determine boundary for %s (symbol has size 0)", f->name);
	diag_hint(env->diags, "the disassembly (objdump -d) shows whether code begins there; --unsafe probes anyway");
	return false;
}

static void say_sizeless(struct ProbeEnv *env, const struct AttachSpec *spec, const struct Want *w)
{
	if (!w->wild || !w->nsizeless)
		return;
	env->left_out += w->nsizeless;
	diag_warn(env->diags, spec->span, "%llu of %llu functions that the pattern matches have symbols of size 0 and are left out; --unsafe probes them",
		  (unsigned long long)w->nsizeless, (unsigned long long)w->nadded);
}

static void say_refused(struct ProbeEnv *env, const struct AttachSpec *spec, const struct Want *w)
{
	if (!w->nrefused)
		return;
	if (w->wild && w->nadded > w->nrefused) {
		env->left_out += w->nrefused;
		diag_warn(env->diags, spec->span, "%llu of %llu functions that the pattern matches cannot be probed where they return; for example %s",
			  (unsigned long long)w->nrefused, (unsigned long long)w->nadded, w->refused);
		return;
	}
	diag_error(env->diags, spec->span, "%s", w->refused);
	diag_hint(env->diags, "uprobe:FILE:FUNCTION+OFFSET probes one of its instructions, uprobe:FILE:FUNCTION its entry");
}

static void add_found(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *path, struct Want *w,
		      const struct Found *f, struct PointList *out)
{
	w->nadded++;
	if (!w->off && !has_size(env, spec, w, f))
		return;
	if (w->off && w->off >= f->size) {
		diag_error(env->diags, spec->span, "Offset outside the function bounds ('%s' size is %llu)", f->name, (unsigned long long)f->size);
		return;
	}
	if (!at_insn(env, spec, path, f->name, f->file_off + w->off, w->off, w->bits32))
		return;
	bool go = is_go(w, f->addr) && !env->listing;
	if (go && p->kind == PK_URETPROBE) {
		add_returns(env, p, spec, path, w, f, out);
		return;
	}
	u64 check = go && !w->off && !w->bits32 ? go_entry(path, f->file_off, f->size) : 0;
	struct Point *pt = found_point(env, p, path, w, f, w->off + check);
	pt->off = w->off;
	if (check)
		pt->where = arena_printf(env->arena, "a function of Go: behind the check of its stack, +%llu", (unsigned long long)check);
	read_args(env, spec, pt);
	point_add(env, spec, out, pt);
}

// A file that is no ELF file, from which code is mapped: its offsets are all there is to say.
static bool expand_raw(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *path, u64 off, struct PointList *out)
{
	struct SymObject *o = sym_object_path(env->syms, path);
	if (!o || !o->why || o->denied || env->listing)
		return false;
	if (!is_unsafe(env)) {
		diag_error(env->diags, spec->span, "cannot probe %s: %s", path, o->why);
		diag_hint(env->diags, "--unsafe probes any file, at an offset in it: what is there is not known");
		return true;
	}
	struct Point *pt = make(env, p, path, NULL, NULL);
	pt->name = arena_printf(env->arena, "%s:%llu", pt->name, (unsigned long long)off);
	pt->addr = pt->sym_addr = off;
	point_add(env, spec, out, pt);
	return true;
}

static void expand_address(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *path, u64 addr,
			   struct PointList *out)
{
	struct SymObject *o = target_object(env, spec, path);
	u64 off;
	if (!o)
		return;
	if (!sym_object_addr_to_off(o, addr, &off) || !sym_object_is_code(o, addr)) { // the kernel takes any place of the file
		probe_missing(env, spec, "address 0x%llx is in no code of %s", (unsigned long long)addr, path);
		return;
	}
	struct SymHit h = sym_object_off(env->syms, o, off);
	if (h.place) // bounds of .eh_frame may hold several functions
		h = (struct SymHit){0};
	if (p->kind == PK_URETPROBE && h.name && h.off) {
		diag_error(env->diags, spec->span, "uretprobe needs the start of a function: 0x%llx is %s+%llu", (unsigned long long)addr, h.name,
			   (unsigned long long)h.off);
		return;
	}
	if (h.name && !at_insn(env, spec, path, h.name, off, h.off, sym_object_is_32(o)))
		return;
	struct Want w = {.go = false};
	struct Found f = {h.name, addr, h.size, off};
	find_go(env, o, &w);
	if (p->kind == PK_URETPROBE && is_go(&w, addr)) {
		f.name = arena_printf(env->arena, "%llu", (unsigned long long)addr); // decimal, as bpftrace
		f.size = h.name ? h.size : 0;
		add_returns(env, p, spec, path, &w, &f, out);
		say_refused(env, spec, &w);
		return;
	}
	struct Point *pt = found_point(env, p, path, &w, &f, 0);
	pt->name = arena_printf(env->arena, "%s:%s:%llu", p->name, path, (unsigned long long)addr); // decimal, as bpftrace
	pt->event = NULL;
	pt->func = h.name;
	pt->off = h.name ? h.off : 0;
	point_add(env, spec, out, pt);
}

// uprobe:TARGET@FILE:LINE[:COL]: where the binary's debug information has that statement begin.
static void expand_line(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	struct SourceLine l;
	NameList paths = {0};
	struct Str units = {0};
	u64 addr = 0;
	if (line_parts(env, p, spec, "uprobe:TARGET@FILE:LINE[:COL]", &l) && probe_targets(env, spec, l.target, env->pid, &paths)) {
		struct SymObject *o = target_object(env, spec, paths.p[0]);
		enum SymLine r = o ? sym_object_line(env->syms, o, l.file, (u32)l.line, (u32)l.col, &addr, &units) : SYM_LINE_NO_DWARF;
		if (r == SYM_LINE_OK)
			expand_address(env, p, spec, paths.p[0], addr, out);
		else
			line_failed(env, spec, &l, r, str_text(&units));
	}
	str_deinit(&units);
	vec_deinit(&paths);
}

// One object. many: the target was a pattern, so that a file without a match is no error by itself.
static void expand_object(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *path, const struct Want *w,
			  bool many, struct PointList *out)
{
	bool lenient = env->lenient;
	env->lenient |= many;
	struct SymObject *o = target_object(env, spec, path);
	FoundList found = {0};
	struct SymDef def;
	struct Want by_raw = *w;
	if (!o)
		goto out;
	find_go(env, o, &by_raw);
	struct Scan sc = {env, &by_raw, &found, 0};
	bool direct = !w->wild && !w->cpp && sym_object_find(env->syms, o, w->name, &def);
	if (direct && !def.is_func) {
		probe_missing(env, spec, "'%s' of %s is data, not a function", w->name, path);
	} else if (direct) {
		// A local function's plain name: all functions of that name. Not for exported ones, reading every table costs 5 ms in libc.
		bool plain = def.is_local && !strcmp(def.name, w->name);
		struct Found f = {def.name, def.addr, def.size, def.file_off};
		vec_push(&found, f);
		if (plain)
			err_free(sym_object_each(env->syms, o, collect, &sc));
	} else {
		struct err *e = sym_object_each(env->syms, o, collect, &sc);
		if (e)
			probe_missing(env, spec, "the symbols of %s cannot be read: %s", path, err_text(e));
		else if (!found.n)
			no_function(env, spec, o, path, w, sc.nfuncs);
		err_free(e);
	}
	tidy(&found, env->listing);
	env->lenient = lenient;
	for (size_t i = 0; i < found.n; i++)
		add_found(env, p, spec, path, &by_raw, &found.p[i], out);
	say_refused(env, spec, &by_raw);
	say_sizeless(env, spec, &by_raw);
out:
	env->lenient = lenient;
	vec_deinit(&found);
}

static bool parse_want(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *text, const char *lang,
		       struct Want *w)
{
	*w = (struct Want){.lang = lang, .cpp = lang != NULL};
	if (lang && strcmp(lang, "cpp")) {
		diag_error(env->diags, spec->span, "unsupported language type: %s", lang);
		diag_hint(env->diags, "the form is %s", p->synopsis);
		return false;
	}
	if (!spec_offset(env, p, spec, text, p->kind == PK_UPROBE, &w->name, &w->off))
		return false;
	if (!w->name[0]) {
		diag_error(env->diags, spec->span, "%s should be attached to a function and/or address", p->name);
		diag_hint(env->diags, "the form is %s", p->synopsis);
		return false;
	}
	w->wild = is_wild(w->name) && !strstr(w->name, "operator*") && !strstr(w->name, "operator[");
	const char *paren = strchr(w->name, '('), *call = strstr(w->name, "operator()");
	w->with_args = paren && !(call && paren == call + 8 && !call[10]);
	if (w->with_args && !strpbrk(w->name, "?["))
		w->wild = w->wild && !strchr(w->name, ')'); // "f(char const*)": the star belongs to the signature
	return true;
}

void uprobe_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	// With -p the binary may be left out: the process's own.
	bool own = env->pid && (spec->nparts == 2 || (spec->nparts == 3 && !strcmp(spec->parts[1], "cpp")));
	const char *const *rest = spec->parts + (own ? 1 : 2);
	u32 nrest = spec->nparts - (own ? 1 : 2);
	struct Want w;
	NameList paths = {0};
	u64 addr;
	const char *at = spec->nparts > 1 ? strrchr(spec->parts[1], '@') : NULL;
	if (at && !can_access(spec->parts[1], F_OK)) { // no file whose name has a '@'
		expand_line(env, p, spec, out);
		return;
	}
	if (!own && !spec_parts(env, p, spec, 2, 3))
		return;
	const char *target = own ? NULL : spec->parts[1];
	if (target && !target[0]) {
		diag_error(env->diags, spec->span, "%s should have a target", p->name);
		diag_hint(env->diags, "the form is %s", p->synopsis);
		return;
	}
	if (!parse_want(env, p, spec, rest[nrest - 1], nrest == 2 ? rest[0] : NULL, &w) || !probe_targets(env, spec, target, env->pid, &paths))
		goto out;
	bool wild = target && is_wild(target), many = wild || paths.n > 1;
	if (parse_u64(w.name, &addr)) {
		if (wild)
			diag_error(env->diags, spec->span, "an address needs one binary, not a pattern");
		else if (!expand_raw(env, p, spec, paths.p[0], addr, out))
			expand_address(env, p, spec, paths.p[0], addr, out);
		goto out;
	}
	size_t before = out->v.n;
	for (size_t i = 0; i < paths.n; i++)
		expand_object(env, p, spec, paths.p[i], &w, many, out);
	if (many && out->v.n == before)
		probe_missing(env, spec, "no function '%s' in any of the %zu files of '%s'", w.name, paths.n, target);
out:
	vec_deinit(&paths);
}

void uprobe_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	list_by_expand(env, p, spec, fn, arg);
}

struct err *uprobe_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return uprobes_attach(env, pp, at);
}
