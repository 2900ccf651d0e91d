// One point of a program attached: perf events and the program on them, raw tracepoints; what of many points the kernel refuses.
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
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
	bool slow = attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_HARDWARE && attr->type != PERF_TYPE_BREAKPOINT;
	bool of_cpu = !slow && cpu >= 0; // probes and tracepoints run their programs on all, wherever the event is
	attr->size = sizeof(*attr);
	attr->read_format = of_cpu ? PERF_FORMAT_TOTAL_TIME_ENABLED : 0; // attachments_away()
	int perf = sys_perf_event_open(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (perf < 0)
		return err_errno(-perf, "perf_event_open");
	struct err *e = tie(pp, at, perf, cookie, slow);
	if (!e && of_cpu)
		attachments_add_cpu(at, cpu);
	return e;
}

struct err *attach_raw(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	int fd = sys_raw_tracepoint_open(pp->typed ? NULL : pt->event, pp->fd); // a typed one was loaded for its event
	if (fd >= 0) {
		attachments_add(at, fd, -1);
		return NULL;
	}
	if (fd == -ENOENT)
		return err_errno(ENOENT, "the kernel has no tracepoint %s", pt->event);
	if (fd == -EINVAL) // bpf_probe_register: max_ctx_offset > num_args * 8
		return err_errno(EINVAL, "the program reads more arguments than %s has", pt->event);
	return err_errno(-fd, "raw tracepoint");
}

// ---- what the kernel refuses
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
		env->left_out++;
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
	if (env->config && env->config->missing_probes == MISSING_IGNORE)
		return NULL;
	env->left_out += r->refused;
	diag_warn(env->diags, r->span, "%llu of %llu places that the pattern matches cannot be probed%s%s", (unsigned long long)r->refused,
		  (unsigned long long)(r->refused + r->attached), r->first ? ", for example " : "", r->first ? err_text(r->first) : "");
	return NULL;
}

struct err *refusals_end(struct ProbeEnv *env, struct err *e)
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
