// Scripts that test and time themselves: test: probes under --test, bench: probes under --bench.
// In: loaded programs. Out: a line for each; exit status 1 when a test failed. Invariant: the output of a test that passes is not shown.
#include "session/state.h"
#include <errno.h>

// Runs one test: its output is shown if it fails. Fails when it returns or exits with something else than 0.
static struct err *run_test(struct Session *s, struct ProbeProg *pp, bool *ok)
{
	char *text = NULL;
	size_t n = 0;
	u32 ret = 0;
	FILE *mem = open_memstream(&text, &n), *out = s->render.out;
	if (!mem)
		return err_errno(errno, "memory for the output of a test");
	s->render.out = mem;
	struct err *e = probe_run_test(pp, &ret);
	if (!e && s->ring)
		loop_drain(&s->rc, s->ring);
	s->render.out = out;
	fclose(mem);
	*ok = !ret && !s->rc.exit_code;
	if (!*ok)
		fwrite(text, 1, n, out);
	free(text);
	s->rc.exit_code = 0;
	s->rc.exiting = false;
	return e;
}

struct err *session_run_tests(struct Session *s)
{
	VEC(const char *) failed = {0};
	struct err *e = NULL;
	u32 n = 0, total = 0;
	for (size_t i = 0; i < s->prog.progs.n; i++)
		total += s->prog.progs.p[i]->kind == PK_TEST;
	fprintf(s->out, "[==========] Running %u test%s.\n", total, total == 1 ? "" : "s");
	for (size_t i = 0; i < s->prog.progs.n && !e; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		bool ok = false;
		if (pp->kind != PK_TEST)
			continue;
		const char *name = pp->points.v.p[0]->event ? pp->points.v.p[0]->event : pp->points.v.p[0]->name;
		fprintf(s->out, "[ RUN      ] %s\n", name);
		u64 from = clock_ns(CLOCK_MONOTONIC);
		e = run_test(s, pp, &ok);
		fprintf(s->out, "[%s] %s (%llu us)\n", ok ? "       OK " : "  FAILED  ", name,
			(unsigned long long)(clock_ns(CLOCK_MONOTONIC) - from) / 1000);
		if (!ok)
			vec_push(&failed, name);
		n++;
	}
	u32 passed = n - (u32)failed.n;
	fprintf(s->out, "[==========] %u test%s ran.\n[  PASSED  ] %u test%s.\n", n, n == 1 ? "" : "s", passed, passed == 1 ? "" : "s");
	if (failed.n)
		fprintf(s->out, "[  FAILED  ] %zu test%s, listed below:\n", failed.n, failed.n == 1 ? "" : "s");
	for (size_t i = 0; i < failed.n; i++)
		fprintf(s->out, "[  FAILED  ] %s\n", failed.p[i]);
	s->rc.exit_code = failed.n != 0;
	vec_deinit(&failed);
	return e;
}

struct err *session_run_benches(struct Session *s)
{
	VEC(const char *) names = {0};
	VEC(u64) ns = {0}, iters = {0};
	struct err *e = NULL;
	for (size_t i = 0; i < s->prog.progs.n && !e; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		double t = 0;
		u64 runs = 0;
		if (pp->kind != PK_BENCH)
			continue;
		e = probe_run_bench(pp, &t, &runs);
		vec_push(&names, pp->points.v.p[0]->event ? pp->points.v.p[0]->event : pp->points.v.p[0]->name);
		vec_push(&ns, (u64)(t + 0.5));
		vec_push(&iters, runs);
		if (s->ring)
			loop_drain(&s->rc, s->ring);
	}
	if (!e && names.n)
		s->render.ops->bench(&s->render, names.p, ns.p, iters.p, (u32)names.n);
	vec_deinit(&names);
	vec_deinit(&ns);
	vec_deinit(&iters);
	return e;
}
