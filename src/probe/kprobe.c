// kprobe, kretprobe: names, patterns, offsets and addresses of kernel functions -> points.
// Invariant: event is the symbol as the kernel knows it ("finish_task_switch.isra.0"), func and name what the script called it; addr is its
// address, or 0 when the kernel shall resolve the name.
#include "base/base.h"
#include <errno.h>
#include "probe/internal.h"

static struct Point *make(struct ProbeEnv *env, const struct Provider *p, const char *module, const char *shown, const struct KFunc *f, u64 off)
{
	struct Point *pt = point_new(env, p, CTX_PT_REGS);
	pt->target = module ? module : NULL;
	pt->event = f->name;
	pt->func = shown;
	pt->addr = f->addr;
	pt->off = off;
	struct Str n = {0};
	str_add(&n, p->name); // no printf: there may be ten thousand of them
	str_addc(&n, ':');
	if (module) {
		str_add(&n, module);
		str_addc(&n, ':');
	}
	str_add(&n, shown);
	if (off)
		str_addf(&n, "+%llu", (unsigned long long)off);
	pt->name = arena_strndup(env->arena, n.p, n.n);
	str_deinit(&n);
	if (env->want_args && env->listing) // in actions the arguments and the value of a kprobe are raw
		err_free(ctype_func(env->ctypes, module, shown, &pt->args, &pt->ret, NULL));
	return pt;
}

// An int is returned in half a register: -32 would be 4294967264. Of a function named exactly, BTF tells what it returns.
static void read_return(struct ProbeEnv *env, const char *module, struct Point *pt)
{
	struct Record *args;
	const struct Type *ret = NULL;
	if (!env->want_args || env->listing || pt->kind != PK_KRETPROBE)
		return;
	err_free(ctype_func(env->ctypes, module, pt->func, &args, &ret, NULL));
	if (ret && ty_is_int(ret) && ret->size < 8)
		pt->ret = ret;
}

static bool collect_names(void *arg, const char *name, const char *module, u64 addr, char type)
{
	vec_push((NameList *)arg, name);
	return true;
}

static void hint_function(struct ProbeEnv *env, const struct Provider *p, const char *name)
{
	NameList names = {0};
	if (ctype_has_btf(env->ctypes) && ctype_func_id(env->ctypes, name))
		diag_hint(env->diags, "the kernel has a function of this name, but inlined into its callers: probe one of those");
	else {
		sym_kernel_each(env->syms, collect_names, &names);
		hint_nearest(env, name, &names, arena_printf(env->arena, "%s:", p->name));
	}
	vec_deinit(&names);
}

static bool module_loaded(struct ProbeEnv *env, const char *module)
{
	return !strcmp(module, "vmlinux") || (!strchr(module, '/') && can_access(arena_printf(env->arena, "/sys/module/%s/sections", module), F_OK)) ||
	       can_access(arena_printf(env->arena, "/sys/module/%s/coresize", module), F_OK);
}

static void no_function(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *module, const char *name)
{
	if (module && !module_loaded(env, module)) {
		probe_missing(env, spec, "module %s is not loaded, so its function %s cannot be probed", module, name);
		return;
	}
	if (probe_missing(env, spec, "no kernel function '%s'%s%s (it is missing, or inlined into its callers)", name, module ? " in module " : "",
			  module ? module : ""))
		hint_function(env, p, name);
}

static void expand_exact(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *module, const char *name,
			 u64 off, struct PointList *out)
{
	KFuncList found = {0};
	kfuncs_named(env, module, name, &found);
	if (!found.n)
		no_function(env, p, spec, module, name);
	u32 outside = 0;
	for (size_t i = 0; i < found.n; i++) {
		struct SymHit h = {0};
		if (off && found.p[i].addr)
			h = sym_kernel(env->syms, found.p[i].addr);
		if (off && h.name && off >= h.size) {
			outside++;
			continue;
		}
		struct Point *pt = make(env, p, module, name, &found.p[i], off);
		read_return(env, module, pt);
		point_add(env, spec, out, pt);
	}
	if (found.n && outside == found.n) {
		struct SymHit h = sym_kernel(env->syms, found.p[0].addr);
		diag_error(env->diags, spec->span, "Offset outside the function bounds ('%s' size is %llu)", name, (unsigned long long)h.size);
	}
	vec_deinit(&found);
}

static void expand_address(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, u64 addr, struct PointList *out)
{
	if (!env->config || !env->config->unsafe) {
		diag_error(env->diags, spec->span, "a probe at a bare address needs --unsafe: inside an instruction it crashes the kernel");
		return;
	}
	struct SymHit h = sym_kernel(env->syms, addr);
	if (p->kind == PK_KRETPROBE && h.off) {
		diag_error(env->diags, spec->span, "kretprobe needs the start of a function: 0x%llx is %s+%llu", (unsigned long long)addr, h.name,
			   (unsigned long long)h.off);
		return;
	}
	struct Point *pt = point_new(env, p, CTX_PT_REGS);
	pt->addr = addr;
	pt->func = h.name;
	pt->name = h.name ? arena_printf(env->arena, "%s:%s+%llu", p->name, h.name, (unsigned long long)h.off)
			  : arena_printf(env->arena, "%s:%llu", p->name, (unsigned long long)addr);
	point_add(env, spec, out, pt);
}

// ---- patterns
static bool same_name(const struct KFunc *a, const struct KFunc *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->module, b->module);
}

// Sorts, and drops what is there twice.
static void sort_distinct(KFuncList *l)
{
	size_t kept = 0;
	kfuncs_sort(l);
	for (size_t i = 0; i < l->n; i++)
		if (!kept || l->p[i].addr != l->p[kept - 1].addr || !same_name(&l->p[i], &l->p[kept - 1]))
			l->p[kept++] = l->p[i];
	l->n = kept;
}

struct Resolve {
	KFuncList *l;	  // sorted: of one name in several modules the entries are neighbours
	struct Map first; // name -> its first entry
	KFuncList more;	  // further functions of a name
};

static bool take_address(void *arg, const char *name, const char *module, u64 addr, char type)
{
	struct Resolve *r = arg;
	struct KFunc *f = map_get(&r->first, name);
	if (!module)
		module = "vmlinux";
	for (; f && f < r->l->p + r->l->n && !strcmp(f->name, name); f++) {
		if (strcmp(f->module, module))
			continue;
		if (f->addr)
			vec_push(&r->more, ((struct KFunc){f->name, f->module, addr}));
		else
			f->addr = addr;
	}
	return true;
}

// Addresses from kallsyms: several functions of one name become several entries. Names stay as they are when addresses are hidden.
static void add_addresses(struct ProbeEnv *env, KFuncList *l)
{
	struct Resolve r = {.l = l};
	size_t kept = 0;
	for (size_t i = 0; i < l->n; i++)
		if (!i || strcmp(l->p[i].name, l->p[i - 1].name))
			map_put(&r.first, l->p[i].name, &l->p[i]);
	sym_kernel_each(env->syms, take_address, &r);
	map_deinit(&r.first);
	for (size_t i = 0; i < l->n; i++)
		kept += l->p[i].addr != 0;
	if (kept) { // what has none is gone since ftrace listed it
		size_t n = l->n;
		l->n = 0;
		for (size_t i = 0; i < n; i++)
			if (l->p[i].addr)
				l->p[l->n++] = l->p[i];
	}
	for (size_t i = 0; i < r.more.n; i++)
		vec_push(l, r.more.p[i]);
	if (r.more.n)
		sort_distinct(l);
	vec_deinit(&r.more);
}

static void expand_pattern(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *module, const char *pattern,
			   struct PointList *out)
{
	struct ProbeCache *c = probe_cache(env);
	KFuncList found = {0};
	if (!env->listing)
		sym_kernel_prefetch(env->syms); // addresses are wanted next
	kfuncs_read(env);
	for (size_t i = 0; i < c->kfuncs.n; i++) {
		const struct KFunc *f = &c->kfuncs.p[i];
		if (glob_match(pattern, f->name) && (!module || glob_match(module, f->module)) && !kfunc_blacklisted(env, f->name))
			vec_push(&found, *f);
	}
	sort_distinct(&found);
	if (c->kfuncs_from_tracefs && found.n && !env->listing)
		add_addresses(env, &found);
	if (!found.n && probe_missing(env, spec, "no kernel function matches '%s'", pattern) && !c->kfuncs.n)
		diag_hint(env->diags, "neither tracefs' available_filter_functions nor /proc/kallsyms can be read");
	for (size_t i = 0; i < found.n; i++) {
		struct Point *pt = make(env, p, module ? found.p[i].module : NULL, found.p[i].name, &found.p[i], 0);
		pt->from_pattern = true;
		pt->traceable = c->kfuncs_from_tracefs;
		point_add(env, spec, out, pt);
	}
	vec_deinit(&found);
}

// ---- lines

// kprobe:MODULE@FILE:LINE[:COL]: where the debug information of the loaded module, or of the kernel (vmlinux), has that statement begin.
static void expand_line(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	struct SourceLine l;
	struct Str said = {0};
	u64 addr = 0;
	if (!line_parts(env, p, spec, "kprobe:MODULE@FILE:LINE[:COL]", &l))
		return;
	bool kernel = !strcmp(l.target, "vmlinux");
	if (!module_loaded(env, l.target)) {
		probe_missing(env, spec, "module %s is not loaded, so its lines cannot be probed", l.target);
		return;
	}
	enum SymLine r = sym_kernel_line(env->syms, kernel ? NULL : l.target, l.file, (u32)l.line, (u32)l.col, &addr, &said);
	struct SymHit h = r == SYM_LINE_OK ? sym_kernel(env->syms, addr) : (struct SymHit){0};
	if (r == SYM_LINE_OK && (!h.name || kernel != (!h.module || !strcmp(h.module, "vmlinux")))) {
		str_addf(&said, "no symbol is at 0x%llx, where its file has it", (unsigned long long)addr);
		r = SYM_LINE_NO_PLACE;
	}
	if (r == SYM_LINE_OK) {
		struct KFunc f = {h.name, kernel ? "vmlinux" : l.target, addr - h.off};
		point_add(env, spec, out, make(env, p, kernel ? NULL : l.target, h.name, &f, h.off));
	} else
		line_failed(env, spec, &l, r, str_text(&said));
	str_deinit(&said);
}

// ---- where ftrace keeps a function's first instructions
// Kernels without CONFIG_KPROBES_ON_FTRACE refuse kprobes there (kernel/kprobes.c, check_ftrace_location): on riscv64 at the beginning of nearly every function.
// Behind them nothing has happened yet: registers and stack are those of the entry.
static void move_behind_ftrace(struct ProbeEnv *env, struct PointList *l, size_t from)
{
	struct Kcore core;
	if (PT_HOST != PT_RISCV64 || from == l->v.n || env->listing)
		return;
	kcore_open(&core);
	for (size_t i = from; i < l->v.n; i++) {
		struct Point *pt = l->v.p[i];
		if (pt->kind != PK_KPROBE || pt->off || !pt->addr || !(pt->skip = kcode_entry_taken(&core, pt->addr)))
			continue;
		pt->where = arena_printf(env->arena, "behind the instructions that ftrace keeps, +%u", pt->skip);
	}
	kcore_close(&core);
}

static bool kernel_has_kprobes(struct ProbeEnv *env, const struct AttachSpec *spec)
{
	if (feature_has(FEAT_KPROBE))
		return true;
	if (probe_missing(env, spec, "this kernel was built without kprobes"))
		diag_hint(env->diags, "use tracepoint or rawtracepoint; -l 'tracepoint:*' lists them");
	return false;
}

static void expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	const char *name, *module = spec->nparts == 3 && spec->parts[1][0] ? spec->parts[1] : NULL;
	u64 off, addr;
	if (spec->nparts > 1 && strchr(spec->parts[1], '@')) {
		if (kernel_has_kprobes(env, spec))
			expand_line(env, p, spec, out);
		return;
	}
	if (!spec_parts(env, p, spec, 1, 2) || !spec_offset(env, p, spec, spec->parts[spec->nparts - 1], p->kind == PK_KPROBE, &name, &off))
		return;
	if (!name[0]) {
		diag_error(env->diags, spec->span, "%ss should be attached to a function or an address", p->name);
		diag_hint(env->diags, "the form is %s", p->synopsis);
		return;
	}
	if (!kernel_has_kprobes(env, spec))
		return;
	if (module && !strcmp(module, "*") && !is_wild(name))
		module = NULL;
	bool wild = is_wild(name) || (module && is_wild(module));
	if (wild && off)
		diag_error(env->diags, spec->span, "an offset needs one function, not a pattern");
	else if (wild)
		expand_pattern(env, p, spec, module, name, out);
	else if (!module && parse_u64(name, &addr))
		expand_address(env, p, spec, addr, out);
	else if (env->listing)
		expand_pattern(env, p, spec, module, name, out);
	else
		expand_exact(env, p, spec, module, name, off, out);
}

void kprobe_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	size_t from = out->v.n;
	expand(env, p, spec, out);
	move_behind_ftrace(env, out, from);
}

void kprobe_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	list_by_expand(env, p, spec, fn, arg);
}
