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

struct Group { // points of one file and process, attached the same way
	const char *path;
	int pid;
	bool at_return; // in the place of the return address
	u64 *offs, *refs, *cookies;
	const struct Point **pts;
	u32 n, cap;
	u32 nsuspect; // they stand at the end of the arrays, from cap downwards
	u32 *kinds;   // of suspects: what the kernel judges their instruction by
	bool any_ref;
	struct Refusals *refusals;
};

static bool replaces_return(const struct Point *pt)
{
	return pt->kind == PK_URETPROBE && !pt->at_ret;
}

static bool unprobeable(int code)
{
	return code == ENOTSUP || code == 524; // 524 is the kernel's own ENOTSUPP
}

static struct err *explain(const struct Point *pt, int e)
{
	if (e == EINVAL)
		return err_errno(e, "no instruction that the kernel can probe at offset 0x%llx of %s", (unsigned long long)pt->addr, pt->target);
	if (unprobeable(e))
		return err_errno(ENOTSUP, "the kernel cannot probe the instruction at offset 0x%llx of %s", (unsigned long long)pt->addr, pt->target);
	if (e == ESRCH)
		return err_errno(e, "process %d", pt->pid);
	return err_errno(e, "%s", pt->target);
}

// Linux takes the opcode of an AVX instruction for that of a plain one and executes "vpbroadcastb %esi,%ymm16" (EVEX opcode 7a) as "jp", "vzeroupper"
// as "ja": the traced program computes nonsense (arch/x86/kernel/uprobes.c, branch_setup_xol_ops looks at OPCODE1 alone; seen on 6.1 and 6.18).
// Places with such instructions are refused here. Other AVX instructions work, or the kernel refuses them for the same mistake.
enum Probed { PROBED_FINE, PROBED_SUSPECT, PROBED_MISEXECUTED };

// What Linux has refused at all times: input and output, int3 and int, far returns, hlt, cli, sti, and of two bytes syscall, ud2 and the like.
static bool seldom_probed(u32 op)
{
	switch (op) {
	case 0x6c ... 0x6f: case 0xcc ... 0xcf: case 0xe4 ... 0xe7: case 0xec ... 0xef: case 0xf1: case 0xf4: case 0xfa: case 0xfb:
	case 0x100 ... 0x10c: case 0x120 ... 0x127: case 0x130 ... 0x137: case 0x178: case 0x179: case 0x1b9: case 0x1ff:
		return true;
	}
	return false;
}

// *kind: equal for instructions that the kernel takes for the same (uprobe_init_insn: prefixes lock and segment, opcode).
static enum Probed first_insn(int fd, u64 off, u32 *kind)
{
	u8 b[15] = {0};
	struct Insn in;
	*kind = 0;
	if (PT_HOST != PT_X86_64 || fd < 0 || pread(fd, b, sizeof(b), (off_t)off) < 5)
		return PROBED_FINE;
	bool known = insn_decode(PT_HOST, b, sizeof(b), 0, &in), avx = in.op & INSN_VECTOR;
	u32 op = avx ? in.op & 0xff : in.op;
	*kind = (u32)in.lock << 16 | op;
	if (avx)
		return (op >= 0x70 && op <= 0x7f) || op == 0x90 || op == 0xe8 || op == 0xe9 || op == 0xeb ? PROBED_MISEXECUTED : PROBED_SUSPECT;
	return !known || in.lock || seldom_probed(op) ? PROBED_SUSPECT : PROBED_FINE;
}

static struct err *misexecution(const struct Point *pt)
{
	return err_new("the kernel would execute the AVX instruction at offset 0x%llx of %s wrongly; probe elsewhere, e.g. at +offset",
		       (unsigned long long)pt->addr, pt->target);
}

// One point failed. What only reads beforehand tells of nothing: the probe's own program will, and reads what is there.
static struct err *refused(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct err *cause)
{
	if (!pp->touch)
		return attach_refused(env, pp, pt, cause);
	err_free(cause);
	return NULL;
}

static int link_range(struct ProbeProg *pp, const struct Group *g, u32 from, u32 n)
{
	u32 flags = g->at_return ? SYS_MULTI_RETURN : 0;
	return sys_link_uprobe_multi(pp->fd, g->path, g->offs + from, g->any_ref ? g->refs + from : NULL, g->cookies + from, n, flags, g->pid);
}

static void linked(const struct ProbeProg *pp, struct Attachments *at, const struct Group *g, int fd, u32 n)
{
	attachments_add(at, fd, -1);
	if (pp->touch)
		return;
	attachments_count(at, n);
	g->refusals->attached += n;
}

// The kernel refuses a whole link for one bad place and does not say which: halve until it is alone.
static struct err *link_group(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, const struct Group *g, u32 from, u32 n)
{
	int fd = link_range(pp, g, from, n);
	if (fd >= 0) {
		linked(pp, at, g, fd, n);
		return NULL;
	}
	if (n == 1)
		return refused(env, pp, g->pts[from], explain(g->pts[from], -fd));
	struct err *e = link_group(env, pp, at, g, from, n / 2);
	return e ? e : link_group(env, pp, at, g, from + n / 2, n - n / 2);
}

static void put(struct Group *g, const struct Point *pt, bool suspect, u32 kind)
{
	u32 i = suspect ? g->cap - ++g->nsuspect : g->n++;
	g->kinds[i] = kind;
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
	g->at_return = replaces_return(head);
	g->n = g->nsuspect = 0;
	g->any_ref = false;
	for (size_t i = first; !e && i < l->v.n; i++) {
		const struct Point *pt = l->v.p[i];
		if (taken[i] || pt->pid != head->pid || pt->at_ret != head->at_ret || strcmp(pt->target, head->target))
			continue;
		taken[i] = true;
		u32 kind;
		enum Probed insn = first_insn(fd, pt->addr, &kind);
		if (insn == PROBED_MISEXECUTED)
			e = refused(env, pp, pt, misexecution(pt));
		else
			put(g, pt, insn == PROBED_SUSPECT, kind);
	}
	if (fd >= 0)
		close(fd);
	return e;
}

static void swap_places(struct Group *g, u32 i, u32 k)
{
	SWAP(g->offs[i], g->offs[k]);
	SWAP(g->refs[i], g->refs[k]);
	SWAP(g->cookies[i], g->cookies[k]);
	SWAP(g->kinds[i], g->kinds[k]);
	SWAP(g->pts[i], g->pts[k]);
}

// Suspects of one kind: the kernel takes all of them or none.
static struct err *link_kind(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, struct Group *g, u32 from, u32 n)
{
	int fd = link_range(pp, g, from, n);
	if (fd < 0 && !unprobeable(-fd))
		return link_group(env, pp, at, g, from, n);
	if (fd >= 0)
		linked(pp, at, g, fd, n);
	struct err *e = NULL;
	for (u32 i = 0; !e && fd < 0 && i < n; i++)
		e = refused(env, pp, g->pts[from + i], explain(g->pts[from + i], -fd));
	return e;
}

// What the kernel may refuse goes by itself: a refused link of many costs a grace period, and finding the culprits many such.
static struct err *link_all(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, struct Group *g)
{
	struct err *e = g->n ? link_group(env, pp, at, g, 0, g->n) : NULL;
	for (u32 i = g->cap - g->nsuspect, end; !e && i < g->cap; i = end) {
		end = i + 1;
		for (u32 k = end; k < g->cap; k++)
			if (g->kinds[k] == g->kinds[i])
				swap_places(g, end++, k);
		e = link_kind(env, pp, at, g, i, end - i);
	}
	return e;
}

static struct err *attach_multi(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	size_t n = pp->points.v.n;
	bool *taken = xcalloc(n, sizeof(*taken));
	struct Refusals *r = refusals_of(env, pp);
	struct Group g = {.refusals = r, .cap = (u32)n, .offs = xcalloc(n, 8), .refs = xcalloc(n, 8), .cookies = xcalloc(n, 8),
			  .kinds = xcalloc(n, sizeof(u32)), .pts = xcalloc(n, sizeof(void *))};
	struct err *e = NULL;
	for (size_t i = 0; !e && i < n; i++)
		if (!taken[i] && !(e = take_group(env, pp, taken, i, &g)))
			e = link_all(env, pp, at, &g);
	free(taken);
	free(g.offs);
	free(g.refs);
	free(g.cookies);
	free(g.kinds);
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
	attr.config = replaces_return(pt) ? pmu_retprobe_bit("uprobe") : 0;
	attr.config |= pt->ref_ctr << 32; // format/ref_ctr_offset: config:32-63
	attr.uprobe_path = (u64)(uintptr_t)pt->target;
	attr.probe_offset = pt->addr;
	int fd = open(pt->target, O_RDONLY | O_CLOEXEC);
	u32 kind;
	enum Probed insn = first_insn(fd, pt->addr, &kind);
	if (fd >= 0)
		close(fd);
	if (insn == PROBED_MISEXECUTED)
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
