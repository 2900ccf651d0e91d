// Points + loaded programs -> attachments.
// Invariant: after an error nothing of the program stays attached.
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include "probe/internal.h"

// ---- perf events
s64 read_number(const char *path)
{
	char buf[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, buf, sizeof(buf) - 1);
	int e = errno;
	close(fd);
	if (n < 0)
		return -e;
	buf[n] = 0;
	return strtoll(buf, NULL, 0);
}

// "0-3,6" -> 0 1 2 3 6
struct err *online_cpus(int **cpus, u32 *n)
{
	VEC(int) v = {0};
	struct Str s = {0};
	struct err *e = read_file("/sys/devices/system/cpu/online", &s, 65536);
	if (e)
		return e;
	for (char *p = s.p, *end; p && *p >= '0' && *p <= '9'; p = *end == ',' ? end + 1 : end) {
		long a = strtol(p, &end, 10), b = a;
		if (*end == '-')
			b = strtol(end + 1, &end, 10);
		for (; a <= b && a < 65536; a++)
			vec_push(&v, (int)a);
	}
	str_deinit(&s);
	if (!v.n)
		return err_new("/sys/devices/system/cpu/online names no CPU");
	*cpus = v.p;
	*n = (u32)v.n;
	return NULL;
}

int first_online_cpu(void)
{
	s64 n = read_number("/sys/devices/system/cpu/online");
	return n < 0 ? 0 : (int)n;
}

struct err *pmu_type(const char *pmu, u32 *type)
{
	char path[128];
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	s64 n = read_number(path);
	if (n < 0)
		return err_errno((int)-n, "this kernel has no %s events (%s)", pmu, path);
	*type = (u32)n;
	return NULL;
}

// "config:0" in the format file is the bit of attr.config that makes it a return probe.
u64 pmu_retprobe_bit(const char *pmu)
{
	char path[128];
	struct Str s = {0};
	u32 bit = 0;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/retprobe", pmu);
	struct err *e = read_file(path, &s, 64);
	if (!e)
		sscanf(s.p ? s.p : "", "config:%u", &bit);
	err_free(e);
	str_deinit(&s);
	return 1ull << (bit & 63);
}

static struct err *tie(struct ProbeProg *pp, struct Attachments *at, int perf, u64 cookie, bool slow)
{
	int link = sys_link_perf_event(pp->fd, perf, cookie);
	if (link >= 0) {
		attachments_add_event(at, link, perf, slow);
		return NULL;
	}
	// Before 5.15 (kernel commit b89fbfbb854c) there is no such link: EINVAL.
	if (link == -EINVAL && !ioctl(perf, PERF_EVENT_IOC_SET_BPF, pp->fd)) {
		attachments_add_event(at, -1, perf, false); // closing it is what stops the program: not to be left for later
		return NULL;
	}
	int e = link == -EINVAL ? errno : -link;
	close(perf);
	if (e == E2BIG)
		return err_errno(e, "the kernel allows 64 programs on one event");
	return err_errno(e, "cannot tie the program to the event");
}

struct err *attach_perf(struct ProbeProg *pp, struct Attachments *at, struct perf_event_attr *attr, int pid, int cpu, u64 cookie)
{
	attr->size = sizeof(*attr);
	int perf = sys_perf_event_open(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (perf < 0)
		return err_errno(-perf, "perf_event_open");
	bool slow = attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_HARDWARE && attr->type != PERF_TYPE_BREAKPOINT;
	return tie(pp, at, perf, cookie, slow);
}

// ---- attaching
static bool tolerant(const struct ProbeEnv *env)
{
	return env->config && env->config->missing_probes != MISSING_ERROR;
}

// By config missing_probes an error that names the point, a warning or nothing (NULL). Takes cause.
static struct err *attach_failed(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct err *cause)
{
	if (!tolerant(env))
		return err_wrap(cause, "Unable to attach probe: %s. If this is expected, set the 'missing_probes' config variable to 'warn'.\n"
				       "HINT: cannot attach %s", pt->name, pt->name);
	if (env->config->missing_probes == MISSING_WARN) {
		struct Span none = {0};
		diag_warn(env->diags, pp->ast ? pp->ast->span : none, "cannot attach %s: %s; skipped", pt->name, err_text(cause));
	}
	err_free(cause);
	return NULL;
}

struct Refusals *refusals_of(struct ProbeEnv *env, const struct ProbeProg *pp)
{
	struct ProbeCache *c = probe_cache(env);
	struct Span at = pp->ast ? pp->ast->span : (struct Span){0};
	for (size_t i = 0; i < c->refusals.n; i++)
		if (c->refusals.p[i]->span.off == at.off && c->refusals.p[i]->span.file == at.file)
			return c->refusals.p[i];
	struct Refusals *r = arena_new(env->arena, struct Refusals);
	r->span = at;
	vec_push(&c->refusals, r);
	return r;
}

struct err *attach_refused(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct err *cause)
{
	struct Refusals *r = refusals_of(env, pp);
	int code = err_code(cause);
	// Of a pattern's many places the kernel may not like some. What says nothing about the place is an error here too.
	if (!pt->from_pattern || code == EPERM || code == EACCES || code == EMFILE || code == ENFILE || code == ENOMEM)
		return attach_failed(env, pp, pt, cause);
	r->refused++;
	if (r->first)
		err_free(cause);
	else
		r->first = err_wrap(cause, "%s", pt->name);
	return NULL;
}

static struct err *judge(struct ProbeEnv *env, struct Refusals *r)
{
	if (!r->refused)
		return NULL;
	if (!r->attached && r->first && !tolerant(env)) {
		struct err *e = err_wrap(r->first, "none of %llu places can be probed", (unsigned long long)r->refused);
		r->first = NULL;
		return e;
	}
	if (!env->config || env->config->missing_probes != MISSING_IGNORE)
		diag_warn(env->diags, r->span, "%llu of %llu places that the pattern matches cannot be probed%s%s",
			  (unsigned long long)r->refused, (unsigned long long)(r->refused + r->attached), r->first ? ", for example " : "",
			  r->first ? err_text(r->first) : "");
	return NULL;
}

// e: passed through
static struct err *refusals_end(struct ProbeEnv *env, struct err *e)
{
	struct ProbeCache *c = probe_cache(env);
	for (size_t i = 0; i < c->refusals.n; i++) {
		if (!e)
			e = judge(env, c->refusals.p[i]);
		err_free(c->refusals.p[i]->first);
	}
	vec_deinit(&c->refusals);
	return e;
}

struct err *attach_each(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, ForPoint fn)
{
	struct Refusals *r = refusals_of(env, pp);
	struct err *e = NULL;
	for (size_t i = 0; !e && i < pp->points.v.n; i++) {
		const struct Point *pt = pp->points.v.p[i];
		e = fn(env, pp, pt, at);
		if (!e) {
			attachments_count(at, 1);
			r->attached++;
		} else
			e = attach_refused(env, pp, pt, e);
	}
	return e;
}

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
		for (size_t k = 0; k < pp->points.v.n; k++)
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
