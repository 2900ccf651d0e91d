// iter:kind[:pin]: BPF iterators. In: BTF (struct bpf_iter__KIND). Out: one point; attached it is a link whose file, when read, runs the program
// for every object. With a pin the link lives on in bpffs, and `cat` reads what its printf made (lower/lower_seq.c).
#include <errno.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "probe/internal.h"

#define PREFIX "bpf_iter_"
#define BPFFS "/sys/fs/bpf"

struct Kinds {
	struct ProbeEnv *env;
	NameList *names;
};

static bool take_kind(void *arg, const char *module, const char *name)
{
	struct Kinds *k = arg;
	if (!strncmp(name, PREFIX, sizeof(PREFIX) - 1) && name[sizeof(PREFIX) - 1])
		vec_push(k->names, arena_strdup(k->env->arena, name + sizeof(PREFIX) - 1));
	return true;
}

// Every bpf_iter_X function that has its struct bpf_iter__X is one (kernel: DEFINE_BPF_ITER_FUNC).
static void kinds(struct ProbeEnv *env, const char *pattern, NameList *out)
{
	NameList all = {0};
	struct Kinds k = {env, &all};
	ctype_each_func(env->ctypes, take_kind, &k);
	for (size_t i = 0; i < all.n; i++) {
		struct Record *r;
		u32 id;
		struct err *e = glob_match(pattern, all.p[i]) ? ctype_iter(env->ctypes, all.p[i], &r, &id) : err_new("not asked for");
		if (!e)
			vec_push(out, all.p[i]);
		err_free(e);
	}
	vec_deinit(&all);
	names_sort(out);
}

// Those of a map's elements (meta, map, and what an element has) want the map's descriptor when they are attached (kernel/bpf/map_iter.c).
static bool of_one_map(const struct Record *args)
{
	return args->nfields > 2 && record_field(args, "map", &(struct Field){0});
}

static struct Point *make(struct ProbeEnv *env, const struct Provider *p, const char *kind, const char *pin, struct err **why)
{
	struct Point *pt = point_new(env, p, CTX_ITER);
	pt->target = kind;
	pt->event = kind;
	pt->name = arena_printf(env->arena, "iter:%s", kind);
	if (pin)
		pt->pin = pin[0] == '/' ? pin : arena_printf(env->arena, BPFFS "/%s", pin);
	*why = ctype_iter(env->ctypes, kind, &pt->args, &pt->btf_id);
	const char *module = *why ? NULL : ctype_args_module(pt->args);
	if (module && !env->listing) {
		int fd = module_btf_fd(env, module);
		if (fd < 0)
			*why = err_errno(-fd, "the type information of module %s cannot be opened", module);
		pt->btf_obj_fd = fd;
	}
	return pt;
}

void iter_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	struct err *e;
	if (!spec_parts(env, p, spec, 1, 2))
		return;
	const char *kind = spec->parts[1], *pin = spec->nparts == 3 && spec->parts[2][0] ? spec->parts[2] : NULL;
	if (is_wild(kind) || (pin && is_wild(pin))) {
		if (!env->lenient)
			diag_error(env->diags, spec->span, "iter takes no pattern: name one kind");
		return;
	}
	struct Point *pt = make(env, p, kind, pin, &e);
	if (!e && of_one_map(pt->args)) {
		if (!env->lenient)
			diag_error(env->diags, spec->span, "iter:%s walks the elements of one map, which an iter probe cannot name", kind);
		return;
	}
	if (!e) {
		point_add(env, spec, out, pt);
		return;
	}
	if (err_code(e) == ENOSYS) { // no BTF at all
		if (!env->lenient)
			diag_error(env->diags, spec->span, "%s", err_text(e));
	} else if (probe_missing(env, spec, "iter %s not available for your kernel version.", kind)) {
		NameList names = {0};
		kinds(env, "*", &names);
		hint_nearest(env, kind, &names, "iter:");
		vec_deinit(&names);
	}
	err_free(e);
}

void iter_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	NameList names = {0};
	if (spec->nparts > 3)
		return;
	kinds(env, spec->nparts > 1 ? spec->parts[1] : "*", &names);
	for (size_t i = 0; i < names.n; i++) {
		struct err *e;
		struct Point *pt = make(env, p, names.p[i], NULL, &e);
		if (!e && !of_one_map(pt->args))
			fn(arg, pt);
		err_free(e);
	}
	vec_deinit(&names);
}

// Where nothing has mounted it (systemd does), it is mounted now; it stays, as what is pinned does.
static bool mount_bpffs(const char *path)
{
	struct statfs fs;
	if (strncmp(path, BPFFS "/", sizeof(BPFFS)) || statfs(BPFFS, &fs) || fs.f_type == BPF_FS_MAGIC)
		return false;
	return !mount("bpf", BPFFS, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700");
}

static struct err *attach_one(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	int link = sys_link_iter(pp->fd, !strcmp(pt->target, "cgroup"));
	if (link < 0)
		return err_errno(-link, "iterator");
	attachments_add(at, link, -1);
	if (!pt->pin) {
		attachments_add_iter(at, link);
		return NULL;
	}
	int r = sys_obj_pin(link, pt->pin);
	if (r < 0 && r != -EEXIST && mount_bpffs(pt->pin))
		r = sys_obj_pin(link, pt->pin);
	if (r == -EEXIST)
		return err_errno(EEXIST, "%s exists: remove it or pin elsewhere", pt->pin);
	if (r < 0)
		return err_errno(-r, "cannot pin to %s (a bpf file system must be there: mount -t bpf bpf " BPFFS ")", pt->pin);
	attachments_add_pin(at, pt->pin);
	printf("Program pinned to %s\n", pt->pin);
	return NULL;
}

struct err *iter_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return attach_each(env, pp, at, attach_one);
}
