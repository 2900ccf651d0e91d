// Attaching programs to kernel functions: a kprobe_multi link (5.18) when ftrace can patch all of them, one trace event for many
// (kbatch.c), else a perf event each. Refusals are explained.
#include <errno.h>
#include "probe/internal.h"

// Decided before loading: a program for the link cannot go to a single kprobe, nor the other way round. ftrace's own list is the proof that the
// link will be accepted; single names are not looked up there, reading it costs more than a kprobe.
bool kprobe_is_multi(struct ProbeEnv *env, const struct ProbeProg *pp)
{
	if (env->no_kprobe_multi || !pp->points.v.n)
		return false;
	for (size_t i = 0; i < pp->points.v.n; i++)
		if (!pp->points.v.p[i]->traceable || pp->points.v.p[i]->off)
			return false;
	return feature_has(FEAT_KPROBE_MULTI);
}

// Of a return probe the kernel wants the function's first instruction.
static bool keeps_entry(const struct Point *pt)
{
	struct Kcore core;
	if (pt->kind != PK_KRETPROBE || !pt->addr)
		return false;
	kcore_open(&core);
	bool yes = kcode_entry_taken(&core, pt->addr);
	kcore_close(&core);
	return yes;
}

static struct err *explain(struct ProbeEnv *env, const struct Point *pt, int e)
{
	const char *fn = pt->event ? pt->event : "this address";
	if (pt->event && kfunc_blacklisted(env, pt->event))
		return err_new("%s is on the kernel's kprobe blacklist (tracing it could crash the kernel)", fn);
	switch (e) {
	case EILSEQ:
		return err_new("the offset is inside an instruction of %s", fn);
	case ENOENT:
		return err_new("the kernel has no function %s", fn);
	case EADDRNOTAVAIL:
		return err_new("several functions are called %s, and their addresses are hidden (kernel.kptr_restrict)", fn);
	case EINVAL:
		if (keeps_entry(pt))
			return err_new("this kernel has no kretprobe for %s, whose first instructions ftrace keeps: fexit:%s has its return", fn, fn);
		return err_new("the kernel does not let kprobes into %s (notrace, or not text)", fn);
	case EPERM: case EACCES:
		return err_errno(e, "not permitted (root? lockdown?)");
	default:
		return err_errno(e, "%s", fn);
	}
}

// ---- one link
struct Multi {
	const char **names;
	u64 *addrs;
	struct PointList *points;
	bool by_addr;
};

static int link_range(struct ProbeProg *pp, const struct Multi *m, size_t from, size_t n)
{
	u32 flags = pp->at_return ? SYS_MULTI_SESSION : pp->kind == PK_KRETPROBE ? SYS_MULTI_RETURN : 0;
	return sys_link_kprobe_multi(pp->fd, m->by_addr ? NULL : m->names + from, m->by_addr ? m->addrs + from : NULL, NULL, (u32)n, flags);
}

// The kernel refuses all for one it does not like; halving finds those.
static struct err *link_some(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, struct Multi *m, size_t from, size_t n)
{
	int fd = link_range(pp, m, from, n);
	if (fd >= 0) {
		attachments_add(at, fd, -1);
		attachments_count(at, pp->at_return ? 2 * n : n);
		refusals_of(env, pp)->attached += n;
		return NULL;
	}
	if (fd != -EINVAL && fd != -ESRCH && fd != -ENOENT && fd != -EBUSY && n > 1) // not the fault of one
		return err_errno(-fd, "cannot attach %zu functions from %s on", n, m->points->v.p[from]->name);
	if (n == 1) {
		const struct Point *pt = m->points->v.p[from];
		return attach_refused(env, pp, pt, explain(env, pt, fd == -ESRCH ? ENOENT : -fd));
	}
	struct err *e = link_some(env, pp, at, m, from, n / 2);
	return e ? e : link_some(env, pp, at, m, from + n / 2, n - n / 2);
}

static struct err *attach_multi(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	size_t n = pp->points.v.n;
	struct Multi m = {xcalloc(n, sizeof(char *)), xcalloc(n, 8), &pp->points, true};
	for (size_t i = 0; i < n; i++) {
		const struct Point *pt = pp->points.v.p[i];
		m.names[i] = pt->event;
		m.addrs[i] = pt->addr;
		m.by_addr &= pt->addr != 0;
	}
	struct err *e = link_some(env, pp, at, &m, 0, n);
	free(m.names);
	free(m.addrs);
	return e;
}

// ---- one by one
// Before it is attached: then the breakpoint is what stands there.
static bool has_unsure_kstacks(struct ProbeEnv *env, const struct ProbeProg *pp, const struct Point *pt)
{
	struct Kcore core;
	u64 addr = pt->addr;
	if (pp->kind != PK_KPROBE || !takes_kstack(pp) || (!addr && !(pt->event && sym_kernel_addr(env->syms, pt->event, pt->target, &addr))))
		return false;
	kcore_open(&core);
	bool yes = kcode_misleads(&core, pt->event ? addr + pt->off : addr, pt->event && !pt->off);
	kcore_close(&core);
	return yes;
}

static struct err *attach_one(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	struct perf_event_attr attr = {.disabled = 1}; // as for tracepoints: the program runs all the same
	u32 type;
	struct err *e = pmu_type("kprobe", &type);
	if (e)
		return err_wrap(e, "this kernel was built without kprobes: use tracepoint or rawtracepoint");
	attr.type = type;
	attr.config = pp->kind == PK_KRETPROBE ? pmu_retprobe_bit("kprobe") : 0;
	if (pt->addr)
		attr.kprobe_addr = pt->addr + pt->off * (pt->event != NULL) + pt->skip;
	else {
		attr.kprobe_func = (u64)(uintptr_t)(pt->target ? arena_printf(env->arena, "%s:%s", pt->target, pt->event) : pt->event);
		attr.probe_offset = pt->off;
	}
	bool unsure = has_unsure_kstacks(env, pp, pt);
	e = attach_perf(pp, at, &attr, -1, first_online_cpu(), pt->id);
	int code = e ? err_code(e) : 0;
	if (!e && unsure)
		kstacks_unsure(env, pp, pt);
	if (!code)
		return e;
	err_free(e);
	return explain(env, pt, code);
}

struct err *kprobe_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	u64 text, refused = 0;
	if (kprobe_is_multi(env, pp))
		return attach_multi(env, pp, at);
	if (!kbatch_fits(env, pp, &text))
		return attach_each(env, pp, at, attach_one);
	struct err *e = kbatch_attach(env, pp, at, text, &refused);
	if (e) { // no kprobe_events, or nothing in it was accepted: singly there are reasons
		err_free(e);
		return attach_each(env, pp, at, attach_one);
	}
	struct Refusals *r = refusals_of(env, pp);
	r->refused += refused;
	r->attached += pp->points.v.n - refused;
	return NULL;
}
