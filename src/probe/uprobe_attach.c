// Attaching programs to places in user files: uprobe, uretprobe and usdt points. One uprobe_multi link for each file and process where the
// kernel has them (6.6), else a perf event per point. A USDT semaphore is the kernel's business in both (ref_ctr_offset, 4.20).
#include <errno.h>
#include "probe/internal.h"

bool uprobe_is_multi(const struct ProbeEnv *env, const struct ProbeProg *pp)
{
	// Also for a single place: the handler runs without building a trace record, and needs one descriptor instead of two.
	return !env->no_uprobe_multi && feature_has(FEAT_UPROBE_MULTI);
}

struct Group { // points of one file and process
	const char *path;
	int pid;
	u64 *offs, *refs, *cookies;
	const struct Point **pts;
	u32 n;
	bool any_ref;
};

static struct err *explain(const struct Point *pt, int e)
{
	if (e == EINVAL)
		return err_errno(e, "no instruction that the kernel can probe at offset 0x%llx of %s", (unsigned long long)pt->addr, pt->target);
	if (e == ENOTSUP)
		return err_errno(e, "the kernel cannot probe the instruction at offset 0x%llx of %s", (unsigned long long)pt->addr, pt->target);
	if (e == ESRCH)
		return err_errno(e, "process %d", pt->pid);
	return err_errno(e, "%s", pt->target);
}

static int link_range(struct ProbeProg *pp, const struct Group *g, u32 from, u32 n)
{
	u32 flags = pp->kind == PK_URETPROBE ? SYS_MULTI_RETURN : 0;
	return sys_link_uprobe_multi(pp->fd, g->path, g->offs + from, g->any_ref ? g->refs + from : NULL, g->cookies + from, n, flags, g->pid);
}

// The kernel refuses a whole link for one bad place and does not say which: halve until it is alone.
static struct err *link_group(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, const struct Group *g, u32 from, u32 n)
{
	int fd = link_range(pp, g, from, n);
	if (fd >= 0) {
		attachments_add(at, fd, -1);
		attachments_count(at, n);
		return NULL;
	}
	if (n == 1)
		return attach_failed(env, pp, g->pts[from], explain(g->pts[from], -fd));
	struct err *e = link_group(env, pp, at, g, from, n / 2);
	return e ? e : link_group(env, pp, at, g, from + n / 2, n - n / 2);
}

static void take_group(const struct PointList *l, bool *taken, size_t first, struct Group *g)
{
	const struct Point *head = l->v.p[first];
	g->path = head->target;
	g->pid = head->pid;
	for (size_t i = first; i < l->v.n; i++) {
		const struct Point *pt = l->v.p[i];
		if (taken[i] || pt->pid != head->pid || strcmp(pt->target, head->target))
			continue;
		taken[i] = true;
		g->offs[g->n] = pt->addr;
		g->refs[g->n] = pt->ref_ctr;
		g->cookies[g->n] = pt->id;
		g->any_ref |= pt->ref_ctr != 0;
		g->pts[g->n++] = pt;
	}
}

static struct err *attach_multi(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	size_t n = pp->points.v.n;
	bool *taken = xcalloc(n, sizeof(*taken));
	struct Group g = {.offs = xcalloc(n, 8), .refs = xcalloc(n, 8), .cookies = xcalloc(n, 8), .pts = xcalloc(n, sizeof(void *))};
	struct err *e = NULL;
	for (size_t i = 0; !e && i < n; i++) {
		if (taken[i])
			continue;
		g.n = 0;
		g.any_ref = false;
		take_group(&pp->points, taken, i, &g);
		e = link_group(env, pp, at, &g, 0, g.n);
	}
	free(taken);
	free(g.offs);
	free(g.refs);
	free(g.cookies);
	free(g.pts);
	return e;
}

static struct err *attach_event(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	struct perf_event_attr attr = {.disabled = 1}; // as for tracepoints: the program runs all the same
	u32 type;
	struct err *e = pmu_type("uprobe", &type);
	if (e)
		return e;
	attr.type = type;
	attr.config = pp->kind == PK_URETPROBE ? pmu_retprobe_bit("uprobe") : 0;
	attr.config |= pt->ref_ctr << 32; // format/ref_ctr_offset: config:32-63
	attr.uprobe_path = (u64)(uintptr_t)pt->target;
	attr.probe_offset = pt->addr;
	if (pt->ref_ctr >> 32)
		return err_new("the semaphore lies beyond 4 GB of %s", pt->target);
	e = attach_perf(pp, at, &attr, pt->pid ? pt->pid : -1, pt->pid ? -1 : first_online_cpu(), pt->id);
	int code = e ? err_code(e) : 0;
	if (!code)
		return e;
	err_free(e);
	return explain(pt, code);
}

struct err *uprobes_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return uprobe_is_multi(env, pp) ? attach_multi(env, pp, at) : attach_each(env, pp, at, attach_event);
}
