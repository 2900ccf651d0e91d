// Points + loaded programs -> attachments.
// Invariant: after an error nothing of the program stays attached.
#include <sys/resource.h>
#include "probe/internal.h"

static const struct Provider *provider_of(enum ProbeKind k)
{
	for (u32 i = 0; i < nproviders; i++)
		if (providers[i].kind == k)
			return &providers[i];
	UNREACHABLE();
}

// The kernel runs what was attached last first for these (the list of consumers grows at its head), in order for the others. Attached in
// reverse, programs on one event run in the order of the script.
static bool runs_last_first(enum ProbeKind k)
{
	return k == PK_UPROBE || k == PK_URETPROBE || k == PK_USDT || k == PK_KPROBE || k == PK_FENTRY || k == PK_FEXIT;
}

// Each point takes up to two descriptors, and the usual soft limit is 1024.
static void raise_open_files(const struct Program *p)
{
	struct rlimit l;
	u64 want = 256;
	for (size_t i = 0; i < p->progs.n; i++)
		want += 2 * p->progs.p[i]->points.v.n + 2;
	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= want)
		return;
	l.rlim_cur = want;
	if (l.rlim_max < want) // needs CAP_SYS_RESOURCE; refused it stays, and a failing open says why
		l.rlim_max = want;
	if (!setrlimit(RLIMIT_NOFILE, &l))
		return;
	if (!getrlimit(RLIMIT_NOFILE, &l)) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static void say_point(const struct Point *pt)
{
	if (pt->where)
		fprintf(stderr, "Trying to attach probe: %s (%s)\n", pt->name, pt->where);
	else
		fprintf(stderr, "Trying to attach probe: %s\n", pt->name);
}

static void say_points(const struct Program *p)
{
	for (size_t i = 0; i < p->progs.n; i++) {
		const struct ProbeProg *pp = p->progs.p[i];
		bool own = pp->kind == PK_BEGIN || pp->kind == PK_END || pp->kind == PK_SELF || pp->kind == PK_TEST || pp->kind == PK_BENCH;
		for (size_t k = 0; k < pp->points.v.n && !pp->touch; k++)
			if (own)
				fprintf(stderr, "Attaching '%s' probe\n", pp->points.v.p[k]->name);
			else
				say_point(pp->points.v.p[k]);
	}
}

struct err *probes_attach(struct ProbeEnv *env, struct Program *p, struct Attachments *at, u64 *n)
{
	struct err *e = NULL;
	raise_open_files(p);
	if (env->verbose)
		say_points(p);
	for (size_t i = 0; !e && i < p->progs.n; i++)
		if (!runs_last_first(p->progs.p[i]->kind))
			e = provider_of(p->progs.p[i]->kind)->attach(env, p->progs.p[i], at);
	for (size_t i = p->progs.n; !e && i-- > 0;)
		if (runs_last_first(p->progs.p[i]->kind))
			e = provider_of(p->progs.p[i]->kind)->attach(env, p->progs.p[i], at);
	e = refusals_end(env, e);
	if (e) {
		attachments_undo(at);
		return e;
	}
	*n = attachments_counted(at);
	return NULL;
}

void probe_load_params(struct ProbeEnv *env, struct ProbeProg *pp, struct SysProg *sp)
{
	sp->type = provider_of(pp->kind)->prog_type;
	sp->expected_attach_type = 0;
	const struct Point *pt = pp->points.v.n ? pp->points.v.p[0] : NULL;
	switch (pp->kind) {
	case PK_TRACEPOINT:
		if (pt && pt->ctx == CTX_RAW)
			sp->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
		break;
	case PK_UPROBE: case PK_URETPROBE: case PK_USDT:
		if (uprobe_is_multi(env, pp))
			sp->expected_attach_type = SYS_TRACE_UPROBE_MULTI;
		break;
	case PK_KPROBE: case PK_KRETPROBE:
		if (kprobe_is_multi(env, pp))
			sp->expected_attach_type = pp->at_return ? SYS_TRACE_KPROBE_SESSION : SYS_TRACE_KPROBE_MULTI;
		break;
	case PK_RAWTP:
		if (pp->typed && pt) {
			sp->type = BPF_PROG_TYPE_TRACING;
			sp->expected_attach_type = BPF_TRACE_RAW_TP;
			sp->attach_btf_id = pt->btf_id;
			sp->attach_btf_obj_fd = pt->btf_obj_fd;
		}
		break;
	case PK_FENTRY: case PK_FEXIT: case PK_ITER:
		sp->expected_attach_type = pp->kind == PK_ITER	    ? BPF_TRACE_ITER
					   : pp->kind == PK_FENTRY ? BPF_TRACE_FENTRY
								    : BPF_TRACE_FEXIT;
		if (pt) {
			bool prog = pt->target && !strcmp(pt->target, "bpf") && pp->kind != PK_ITER;
			sp->attach_btf_id = pt->btf_id;
			if (prog)
				sp->attach_prog_fd = pt->btf_obj_fd;
			else
				sp->attach_btf_obj_fd = pt->btf_obj_fd;
		}
		break;
	default:
		break;
	}
	if (pp->sleepable)
		sp->flags |= BPF_F_SLEEPABLE;
}
