// Attaching programs to places in user files: uprobe, uretprobe and usdt points. One uprobe_multi link for each file and process where the
// kernel has them (6.6), else a perf event per point. A USDT semaphore is the kernel's business in both (ref_ctr_offset, 4.20).
#include <errno.h>
#include <fcntl.h>
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
	u32 n, cap;
	u32 nsuspect; // they stand at the end of the arrays, from cap downwards
	bool any_ref;
	struct Refusals *refusals;
};

static struct err *explain(const struct Point *pt, int e)
{
	if (e == EINVAL)
		return err_errno(e, "no instruction that the kernel can probe at offset 0x%llx of %s", (unsigned long long)pt->addr, pt->target);
	if (e == ENOTSUP || e == 524) // 524 is the kernel's own ENOTSUPP
		return err_errno(ENOTSUP, "the kernel cannot probe the instruction at offset 0x%llx of %s", (unsigned long long)pt->addr, pt->target);
	if (e == ESRCH)
		return err_errno(e, "process %d", pt->pid);
	return err_errno(e, "%s", pt->target);
}

// Linux takes the opcode of an AVX instruction for that of a plain one and executes "vpbroadcastb %esi,%ymm16" (EVEX opcode 7a) as "jp", "vzeroupper"
// as "ja": the traced program computes nonsense (arch/x86/kernel/uprobes.c, branch_setup_xol_ops looks at OPCODE1 alone; seen on 6.1 and 6.18).
// Places with such instructions are refused here. Other AVX instructions work, or the kernel refuses them for the same mistake.
enum Insn { INSN_FINE, INSN_SUSPECT, INSN_MISEXECUTED };

static enum Insn first_insn(int fd, u64 off)
{
#if defined(__x86_64__)
	u8 b[8] = {0};
	if (fd < 0 || pread(fd, b, sizeof(b), (off_t)off) < 5 || (b[0] != 0xc5 && b[0] != 0xc4 && b[0] != 0x62))
		return INSN_FINE;
	u8 op = b[0] == 0xc5 ? b[2] : b[0] == 0xc4 ? b[3] : b[4];
	return (op >= 0x70 && op <= 0x7f) || op == 0x90 || op == 0xe8 || op == 0xe9 || op == 0xeb ? INSN_MISEXECUTED : INSN_SUSPECT;
#else
	return INSN_FINE;
#endif
}

static struct err *misexecution(const struct Point *pt)
{
	return err_new("the kernel would execute the AVX instruction at offset 0x%llx of %s wrongly; probe elsewhere, e.g. at +offset",
		       (unsigned long long)pt->addr, pt->target);
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
		g->refusals->attached += n;
		return NULL;
	}
	if (n == 1)
		return attach_refused(env, pp, g->pts[from], explain(g->pts[from], -fd), g->refusals);
	struct err *e = link_group(env, pp, at, g, from, n / 2);
	return e ? e : link_group(env, pp, at, g, from + n / 2, n - n / 2);
}

static void put(struct Group *g, const struct Point *pt, bool suspect)
{
	u32 i = suspect ? g->cap - ++g->nsuspect : g->n++;
	g->offs[i] = pt->addr;
	g->refs[i] = pt->ref_ctr;
	g->cookies[i] = pt->id;
	g->any_ref |= pt->ref_ctr != 0;
	g->pts[i] = pt;
}

static struct err *take_group(struct ProbeEnv *env, struct ProbeProg *pp, bool *taken, size_t first, struct Group *g)
{
	const struct PointList *l = &pp->points;
	const struct Point *head = l->v.p[first];
	struct err *e = NULL;
	int fd = open(head->target, O_RDONLY | O_CLOEXEC);
	g->path = head->target;
	g->pid = head->pid;
	g->n = g->nsuspect = 0;
	g->any_ref = false;
	for (size_t i = first; !e && i < l->v.n; i++) {
		const struct Point *pt = l->v.p[i];
		if (taken[i] || pt->pid != head->pid || strcmp(pt->target, head->target))
			continue;
		taken[i] = true;
		enum Insn insn = first_insn(fd, pt->addr);
		if (insn == INSN_MISEXECUTED)
			e = attach_refused(env, pp, pt, misexecution(pt), g->refusals);
		else
			put(g, pt, insn == INSN_SUSPECT);
	}
	if (fd >= 0)
		close(fd);
	return e;
}

// What the kernel may refuse goes alone: a refused link of many costs a grace period, and finding the culprits many such.
static struct err *link_all(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, struct Group *g)
{
	struct err *e = g->n ? link_group(env, pp, at, g, 0, g->n) : NULL;
	for (u32 i = 0; !e && i < g->nsuspect; i++)
		e = link_group(env, pp, at, g, g->cap - 1 - i, 1);
	return e;
}

static struct err *attach_multi(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	size_t n = pp->points.v.n;
	bool *taken = xcalloc(n, sizeof(*taken));
	struct Refusals r = {0};
	struct Group g = {.refusals = &r, .cap = (u32)n, .offs = xcalloc(n, 8), .refs = xcalloc(n, 8), .cookies = xcalloc(n, 8),
			  .pts = xcalloc(n, sizeof(void *))};
	struct err *e = NULL;
	for (size_t i = 0; !e && i < n; i++)
		if (!taken[i] && !(e = take_group(env, pp, taken, i, &g)))
			e = link_all(env, pp, at, &g);
	free(taken);
	free(g.offs);
	free(g.refs);
	free(g.cookies);
	free(g.pts);
	return refusals_end(env, pp, &r, e);
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
	int fd = open(pt->target, O_RDONLY | O_CLOEXEC);
	enum Insn insn = first_insn(fd, pt->addr);
	if (fd >= 0)
		close(fd);
	if (insn == INSN_MISEXECUTED)
		return misexecution(pt);
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
