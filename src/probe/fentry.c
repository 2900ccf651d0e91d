// fentry, fexit: kernel functions by BTF, and BPF programs (fentry:bpf[:id]:name). In: BTF. Out: points with the BTF id to load against; one
// program can serve one point only, because the id is fixed when it is loaded.
#include <errno.h>
#include "probe/internal.h"

// ---- BTF object of a module, for attach_btf_obj_fd
// Module BTF objects are found by name among all of the kernel's (there is no look-up).
int module_btf_fd(struct ProbeEnv *env, const char *module)
{
	for (u32 id = 0; !sys_btf_next_id(id, &id);) {
		struct bpf_btf_info info = {0};
		char name[64] = "";
		u32 len = sizeof(info);
		int fd = sys_btf_fd_by_id(id);
		if (fd < 0)
			continue;
		info.name = (u64)(uintptr_t)name;
		info.name_len = sizeof(name);
		if (!sys_obj_info(fd, &info, &len) && info.kernel_btf && !strcmp(name, module)) {
			vec_push(&env->owned_fds, fd);
			return fd;
		}
		close(fd);
	}
	return -ENOENT;
}

static struct Point *make(struct ProbeEnv *env, const struct Provider *p, const char *module, const char *func)
{
	struct Point *pt = point_new(env, p, CTX_RAW);
	pt->target = module;
	pt->event = func;
	pt->func = func;
	pt->name = arena_printf(env->arena, "%s:%s:%s", p->name, module, func);
	return pt;
}

// ---- kernel functions
// False: no such function in BTF (nothing said), or an error was reported.
static bool add_function(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *module, const char *func,
			 struct PointList *out, struct err **why)
{
	struct Record *args;
	const struct Type *ret;
	u32 id;
	*why = ctype_func(env->ctypes, module, func, &args, &ret, &id);
	if (*why)
		return false;
	const char *owner = ctype_args_module(args);
	struct Point *pt = make(env, p, owner ? owner : "vmlinux", func);
	pt->args = args;
	pt->ret = p->kind == PK_FEXIT || env->listing ? ret : NULL;
	pt->btf_id = id;
	if (owner && !env->listing) {
		int fd = module_btf_fd(env, owner);
		if (fd < 0) {
			*why = err_errno(-fd, "the type information of module %s cannot be opened", owner);
			return false;
		}
		pt->btf_obj_fd = fd;
	}
	point_add(env, spec, out, pt);
	return true;
}

struct Near {
	NameList *names;
	const char *module;
};

static bool take_name(void *arg, const char *module, const char *name)
{
	struct Near *n = arg;
	if (!n->module || !strcmp(n->module, module ? module : "vmlinux"))
		vec_push(n->names, name);
	return true;
}

static void hint_function(struct ProbeEnv *env, const struct Provider *p, const char *module, const char *func)
{
	KFuncList copies = {0};
	NameList names = {0};
	struct Near n = {&names, module};
	kfuncs_named(env, module, func, &copies);
	if (copies.n && strcmp(copies.p[0].name, func))
		diag_hint(env->diags, "the compiler left only %s of it, which has no type information: use %s:%s", copies.p[0].name,
			  p->kind == PK_FENTRY ? "kprobe" : "kretprobe", func);
	else if (copies.n)
		diag_hint(env->diags, "it has no type information: use %s:%s", p->kind == PK_FENTRY ? "kprobe" : "kretprobe", func);
	else {
		ctype_each_func(env->ctypes, take_name, &n);
		hint_nearest(env, func, &names, arena_printf(env->arena, "%s:", p->name));
	}
	vec_deinit(&copies);
	vec_deinit(&names);
}

static void expand_exact(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *module, const char *func,
			 struct PointList *out)
{
	struct err *e;
	if (add_function(env, p, spec, module, func, out, &e) || !e)
		return;
	if (err_code(e) == ENOSYS) { // no BTF at all
		if (!env->lenient)
			diag_error(env->diags, spec->span, "%s", err_text(e));
	} else if (probe_missing(env, spec, "no kernel function '%s' with type information%s%s", func, module ? " in module " : "", module ? module : ""))
		hint_function(env, p, module, func);
	err_free(e);
}

struct Match {
	struct ProbeEnv *env;
	const char *module, *func;
	KFuncList *out;
};

static bool take_match(void *arg, const char *module, const char *name)
{
	struct Match *m = arg;
	if (!module)
		module = "vmlinux";
	if (glob_match(m->func, name) && glob_match(m->module, module)) {
		struct KFunc f = {arena_strdup(m->env->arena, name), arena_strdup(m->env->arena, module), 0};
		vec_push(m->out, f);
	}
	return true;
}

static int by_func(const void *key, const void *elem)
{
	const struct KFunc *a = key, *b = elem;
	int c = strcmp(a->name, b->name);
	return c ? c : strcmp(a->module, b->module);
}

static int by_module(const void *a, const void *b)
{
	const struct KFunc *x = a, *y = b;
	int c = strcmp(x->module, y->module);
	return c ? c : strcmp(x->name, y->name);
}

static void expand_pattern(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *module, const char *func,
			   struct PointList *out)
{
	KFuncList found = {0};
	struct Match m = {env, module ? module : "*", func, &found};
	size_t before = out->v.n;
	ctype_each_func(env->ctypes, take_match, &m);
	kfuncs_read(env);
	struct ProbeCache *c = probe_cache(env);
	kfuncs_sort(&c->kfuncs);
	if (found.n)
		qsort(found.p, found.n, sizeof(found.p[0]), by_module);
	for (size_t i = 0; i < found.n; i++) {
		struct err *e = NULL;
		if (i && !by_module(&found.p[i], &found.p[i - 1]))
			continue;
		// Trampolines go where ftrace can patch; without its list every function with types is tried.
		if (c->kfuncs_from_tracefs && !bsearch(&found.p[i], c->kfuncs.p, c->kfuncs.n, sizeof(c->kfuncs.p[0]), by_func))
			continue;
		if (env->listing && !env->want_args)
			point_add(env, spec, out, make(env, p, found.p[i].module, found.p[i].name));
		else if (add_function(env, p, spec, found.p[i].module, found.p[i].name, out, &e))
			vec_last(&out->v)->from_pattern = true;
		err_free(e);
	}
	if (out->v.n == before)
		probe_missing(env, spec, "no kernel function with type information matches '%s'", func);
	vec_deinit(&found);
}

// ---- BPF programs
struct BpfMatch {
	struct ProbeEnv *env;
	const struct Provider *p;
	const struct AttachSpec *spec;
	u64 id; // 0 any
	const char *name;
	struct PointList *out;
};

static void add_program(const struct BpfMatch *m, u32 prog_id, int prog_fd, u32 type_id, const char *name)
{
	struct Point *pt = point_new(m->env, m->p, CTX_RAW);
	pt->target = "bpf";
	pt->event = pt->func = arena_strdup(m->env->arena, name);
	pt->name = arena_printf(m->env->arena, "%s:bpf:%u:%s", m->p->name, prog_id, name);
	pt->btf_id = type_id;
	pt->btf_obj_fd = prog_fd;
	point_add(m->env, m->spec, m->out, pt);
}

static struct Btf *program_btf(u32 btf_id)
{
	struct bpf_btf_info info = {0};
	u32 len = sizeof(info);
	int fd = sys_btf_fd_by_id(btf_id);
	struct Btf *b = NULL;
	if (fd < 0)
		return NULL;
	if (!sys_obj_info(fd, &info, &len) && info.btf_size && info.btf_size < 64 << 20) {
		u32 size = info.btf_size;
		void *data = xcalloc(1, size);
		const char *why;
		info = (struct bpf_btf_info){.btf = (u64)(uintptr_t)data, .btf_size = size};
		len = sizeof(info);
		sys_obj_info(fd, &info, &len); // what it does not fill is no BTF
		b = kbtf_from_data(data, size, false, NULL, &why);
	}
	close(fd);
	return b;
}

// A program's functions: itself and its subprograms, named in its own BTF through func_info.
static void match_program(const struct BpfMatch *m, u32 prog_id)
{
	struct bpf_prog_info info = {0};
	u32 len = sizeof(info);
	int fd = sys_prog_fd_by_id(prog_id);
	bool used = false;
	if (fd < 0 || sys_obj_info(fd, &info, &len) || !info.btf_id || !info.nr_func_info || info.func_info_rec_size < sizeof(struct bpf_func_info))
		goto out;
	u32 n = info.nr_func_info, rec = info.func_info_rec_size;
	char *recs = xcalloc(n, rec);
	u32 btf_id = info.btf_id;
	info = (struct bpf_prog_info){.nr_func_info = n, .func_info_rec_size = rec, .func_info = (u64)(uintptr_t)recs};
	len = sizeof(info);
	struct Btf *b = !sys_obj_info(fd, &info, &len) ? program_btf(btf_id) : NULL;
	for (u32 i = 0; b && i < n; i++) {
		u32 type_id = ((struct bpf_func_info *)(recs + i * rec))->type_id;
		const char *name = kbtf_type_name(b, type_id);
		if (name && glob_match(m->name, name)) {
			add_program(m, prog_id, fd, type_id, name);
			used = true;
		}
	}
	kbtf_free(b);
	free(recs);
out:
	if (used && !m->env->listing)
		vec_push(&m->env->owned_fds, fd);
	else if (fd >= 0)
		close(fd);
}

static void expand_bpf(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	struct BpfMatch m = {env, p, spec, 0, spec->parts[spec->nparts - 1], out};
	size_t before = out->v.n;
	if (spec->nparts == 2) {
		diag_error(env->diags, spec->span, "%s:bpf names no program", p->name);
		diag_hint(env->diags, "the form is %s:bpf[:id]:program; -l '%s:bpf:*' lists them", p->name, p->name);
		return;
	}
	if (spec->nparts == 4 && strcmp(spec->parts[2], "*") && (!parse_u64(spec->parts[2], &m.id) || !m.id)) {
		diag_error(env->diags, spec->span, "'%s' is no program id: a number or *", spec->parts[2]);
		return;
	}
	if (m.id)
		match_program(&m, (u32)m.id);
	else
		for (u32 id = 0; !sys_prog_next_id(id, &id);)
			match_program(&m, id);
	if (out->v.n == before && probe_missing(env, spec, "no running BPF program '%s' with type information", m.name))
		diag_hint(env->diags, "-l '%s:bpf:*' lists them", p->name);
}

static bool kernel_has_fentry(struct ProbeEnv *env, const struct AttachSpec *spec, const struct Provider *p)
{
	if (feature_has(FEAT_FENTRY))
		return true;
	const char *instead = p->kind == PK_FENTRY ? "kprobe" : "kretprobe";
	if (env->listing && !env->lenient)
		diag_warn(env->diags, spec->span, "this kernel cannot attach %s programs: there is nothing to list", p->name);
	else if (!env->listing && probe_missing(env, spec, "this kernel cannot attach %s programs (%s)", p->name, feature_note(FEAT_FENTRY)))
		diag_hint(env->diags, "use %s, or a tracepoint", feature_has(FEAT_KPROBE) ? instead : "rawtracepoint");
	return false;
}

void fentry_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	bool bpf = spec->nparts >= 2 && !strcmp(spec->parts[1], "bpf");
	if (!spec_parts(env, p, spec, 1, bpf ? 3 : 2))
		return;
	if (!kernel_has_fentry(env, spec, p))
		return;
	if (bpf) {
		expand_bpf(env, p, spec, out);
		return;
	}
	const char *module = spec->nparts == 3 && spec->parts[1][0] ? spec->parts[1] : NULL, *func = spec->parts[spec->nparts - 1];
	if (!func[0]) {
		diag_error(env->diags, spec->span, "%s names no function", p->name);
		diag_hint(env->diags, "the form is %s", p->synopsis);
		return;
	}
	if (module && !strcmp(module, "*") && !is_wild(func))
		module = NULL;
	if (is_wild(func) || (module && is_wild(module)))
		expand_pattern(env, p, spec, module, func, out);
	else
		expand_exact(env, p, spec, module, func, out);
}

void fentry_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	list_by_expand(env, p, spec, fn, arg);
}

// ---- attaching
#ifndef ENOTSUPP
#define ENOTSUPP 524 // the kernel's own, include/linux/errno.h
#endif
static struct err *attach_one(struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	int fd = sys_raw_tracepoint_open(NULL, pp->fd); // no cookie, which tracing links have since 5.19: the program has one point
	if (fd >= 0) {
		attachments_add(at, fd, -1);
		return NULL;
	}
	const char *instead = pt->kind == PK_FENTRY ? "kprobe" : "kretprobe";
	switch (-fd) {
	case ENOTSUPP: case EOPNOTSUPP: // arch_prepare_bpf_trampoline: 6 arguments at most, 12 since 6.6
		return err_new("%s takes more arguments than this kernel's trampolines for %s pass on: use %s:%s", pt->event, probe_kind_name(pt->kind),
			       instead, pt->event);
	case EPERM:
		return err_errno(EPERM, "the kernel refuses fentry (lockdown, or built without it): use %s:%s", instead, pt->event);
	case EBUSY:
		return err_new("%s is taken by another tracer, or cannot be patched", pt->event);
	case E2BIG:
		return err_new("the kernel allows 38 programs on %s", pt->event);
	default:
		return err_errno(-fd, "%s", pt->event);
	}
}

struct err *probe_load_failed(struct ProbeEnv *env, struct ProbeProg *pp, struct err *e)
{
	const struct Point *pt = pp->points.v.n ? pp->points.v.p[0] : NULL;
	if (!pt || !pt->from_pattern || (pp->kind != PK_FENTRY && pp->kind != PK_FEXIT) || err_code(e) == EPERM)
		return e;
	pp->fd = -1;
	struct err *why = err_new("the kernel lets no %s program into %s", probe_kind_name(pp->kind), pt->event);
	err_free(e);
	return attach_refused(env, pp, pt, why);
}

struct err *fentry_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	if (pp->fd < 0)
		return NULL; // refused when it was loaded
	for (size_t i = 0; i < pp->points.v.n; i++) {
		struct err *e = attach_one(pp, pp->points.v.p[i], at);
		if (!e) {
			attachments_count(at, 1);
			refusals_of(env, pp)->attached++;
		} else if ((e = attach_refused(env, pp, pp->points.v.p[i], e)))
			return e;
	}
	return NULL;
}
