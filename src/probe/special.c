// begin, end, self:signal, test and bench: programs that sonde runs itself, in its own process, with BPF_PROG_TEST_RUN.
// They are raw tracepoint programs: the only type with test_run since 5.10 whose helpers include the tracing ones (kernel commit 1b4d60ec162f).
#include <signal.h>
#include <errno.h>
#include "bpf/bpf.h"
#include "probe/internal.h"

static const struct {
	const char *name;
	int sig;
} signals[] = {{"SIGUSR1", SIGUSR1}};

static bool expand_signal(struct ProbeEnv *env, const struct AttachSpec *spec, struct Point *pt)
{
	if (strcmp(spec->parts[1], "signal")) {
		diag_error(env->diags, spec->span, "%s is not a supported trigger", spec->parts[1]);
		diag_hint(env->diags, "did you mean 'self:signal:SIGUSR1'?");
		return false;
	}
	for (u32 i = 0; i < ARRAY_LEN(signals); i++)
		if (!strcmp(spec->parts[2], signals[i].name))
			pt->sig = signals[i].sig;
	if (!pt->sig) {
		diag_error(env->diags, spec->span, "%s is not a supported signal", spec->parts[2]);
		diag_hint(env->diags, "use SIGUSR1");
		return false;
	}
	pt->target = spec->parts[1];
	pt->event = spec->parts[2];
	pt->name = arena_printf(env->arena, "self:signal:%s", spec->parts[2]);
	return true;
}

void special_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	bool begin = p->kind == PK_BEGIN || p->kind == PK_END;
	u32 n = begin ? 0 : p->kind == PK_SELF ? 2 : 1;
	bool star = begin && spec->nparts == 2 && !strcmp(spec->parts[1], "*");
	if (!star && !spec_parts(env, p, spec, n, n))
		return;
	struct Point *pt = point_new(env, p, CTX_NONE);
	if (begin) {
		pt->name = p->name;
	} else if (p->kind == PK_SELF) {
		if (!expand_signal(env, spec, pt))
			return;
	} else {
		if (!spec->parts[1][0]) {
			diag_error(env->diags, spec->span, "a %s probe needs a name", p->name);
			diag_hint(env->diags, "the form is %s", p->synopsis);
			return;
		}
		pt->event = spec->parts[1];
		pt->name = arena_printf(env->arena, "%s:%s", p->name, spec->parts[1]);
	}
	point_add(env, spec, out, pt);
}

void special_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	if (p->kind != PK_SELF) {
		list_by_expand(env, p, spec, fn, arg);
		return;
	}
	for (u32 i = 0; i < ARRAY_LEN(signals); i++) {
		struct Point *pt = point_new(env, p, CTX_NONE);
		pt->name = arena_printf(env->arena, "self:signal:%s", signals[i].name);
		if (spec->nparts < 2 || glob_match(spec->text, pt->name))
			fn(arg, pt);
	}
}

// The run loop calls these programs; there is nothing to attach.
struct err *special_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return NULL;
}

static const char *prog_name(const struct ProbeProg *pp)
{
	return pp->points.v.n ? pp->points.v.p[0]->name : probe_kind_name(pp->kind);
}

struct err *probe_run_test(struct ProbeProg *pp, u32 *retval)
{
	// The context is what a raw tracepoint would pass; the kernel refuses one smaller than what the program reads.
	u64 ctx[12] = {0};
	struct SysTestRun t = {.ctx_in = ctx, .ctx_size = sizeof(ctx)};
	int r = sys_prog_test_run(pp->fd, &t);
	if (r < 0)
		return err_errno(-r, "cannot run the %s program", prog_name(pp));
	*retval = t.retval;
	return NULL;
}

struct err *probe_run_once(struct ProbeProg *pp)
{
	u32 ret;
	return probe_run_test(pp, &ret);
}

static struct err *run_stats(int fd, u64 *ns, u64 *count)
{
	struct bpf_prog_info info = {0};
	u32 len = sizeof(info);
	int r = sys_obj_info(fd, &info, &len);
	if (r < 0)
		return err_errno(-r, "cannot read run-time statistics");
	*ns = info.run_time_ns;
	*count = info.run_cnt;
	return NULL;
}

// Runs until a millisecond of program time is measured (or 100,000 runs), by the kernel's own counters: the test_run system call is not in it.
struct err *probe_run_bench(struct ProbeProg *pp, double *ns_per_run, u64 *runs)
{
	u64 ns0 = 0, n0 = 0, ns = 0, n = 0;
	struct err *e;
	int stats = sys_enable_stats();
	if (stats < 0)
		return err_errno(-stats, "cannot turn on the kernel's run-time statistics for bench");
	if ((e = run_stats(pp->fd, &ns0, &n0)))
		goto out;
	for (u32 i = 0; i < 100000 && ns < 1000000; i++) {
		if ((e = probe_run_once(pp)))
			goto out;
		if (i % 64)
			continue;
		if ((e = run_stats(pp->fd, &ns, &n)))
			goto out;
		ns -= ns0;
	}
	if ((e = run_stats(pp->fd, &ns, &n)))
		goto out;
	*runs = n - n0;
	*ns_per_run = n > n0 ? (double)(ns - ns0) / (double)(n - n0) : 0;
out:
	close(stats);
	return e;
}
