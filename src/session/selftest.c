// Scripts that test and time themselves: test: probes under --test, bench: probes under --bench.
// In: loaded programs. Out: a line for each; exit status 1 when a test failed. Invariant: the output of a test that passes is not shown.
#include "session/internal.h"
#include <errno.h>

static void result_json(struct Session *s, const char *name, u64 ns, bool ok, const char *text, size_t n)
{
	struct Str t = {0};
	str_add(&t, "{\"type\": \"test_result\", \"data\": {");
	str_add_json(&t, name, strlen(name));
	str_addf(&t, ": {\"duration\": %llu, \"passed\": %s, \"output\": ", (unsigned long long)ns, ok ? "true" : "false");
	str_add_json(&t, text, n);
	str_add(&t, "}}}\n");
	fwrite(t.p, 1, t.n, s->out);
	str_deinit(&t);
}

// Runs one test: its output is shown if it fails. Fails when it returns or exits with something else than 0 or tells an error.
static struct err *run_test(struct Session *s, struct ProbeProg *pp, const char *name, bool *ok)
{
	char *text = NULL;
	u64 from = clock_ns(CLOCK_MONOTONIC), errors = s->rc.errors;
	size_t n = 0;
	u32 ret = 0;
	FILE *mem = open_memstream(&text, &n), *out = s->render.out, *err = s->render.err;
	const struct RenderOps *ops = s->render.ops;
	if (!mem)
		return err_errno(errno, "memory for the output of a test");
	s->render.out = s->render.err = mem;
	s->render.ops = &text_render_ops; // in JSON the text is one field
	struct err *e = probe_run_test(pp, &ret);
	if (!e && s->ring)
		loop_drain(&s->rc, s->ring);
	s->render.out = out;
	s->render.err = err;
	s->render.ops = ops;
	fclose(mem);
	*ok = !ret && !s->rc.exit_code && s->rc.errors == errors;
	if (s->o->json)
		result_json(s, name, clock_ns(CLOCK_MONOTONIC) - from, *ok, text, n);
	else if (!*ok)
		fwrite(text, 1, n, out);
	free(text);
	s->rc.exit_code = 0;
	s->rc.exiting = false;
	return e;
}

typedef VEC(const char *) Names;

static void summary(struct Session *s, u32 n, const Names *failed)
{
	u32 passed = n - (u32)failed->n;
	fprintf(s->out, "[==========] %u test%s ran.\n[  PASSED  ] %u test%s.\n", n, n == 1 ? "" : "s", passed, passed == 1 ? "" : "s");
	if (failed->n)
		fprintf(s->out, "[  FAILED  ] %zu test%s, listed below:\n", failed->n, failed->n == 1 ? "" : "s");
	for (size_t i = 0; i < failed->n; i++)
		fprintf(s->out, "[  FAILED  ] %s\n", failed->p[i]);
}

struct err *session_run_tests(struct Session *s)
{
	Names failed = {0};
	struct err *e = NULL;
	u32 n = 0, total = 0;
	for (size_t i = 0; i < s->prog.progs.n; i++)
		total += s->prog.progs.p[i]->kind == PK_TEST;
	bool text = !s->o->json;
	if (text)
		fprintf(s->out, "[==========] Running %u tests.\n", total);
	for (size_t i = 0; i < s->prog.progs.n && !e; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		bool ok = false;
		if (pp->kind != PK_TEST)
			continue;
		const char *name = pp->points.v.p[0]->event ? pp->points.v.p[0]->event : pp->points.v.p[0]->name;
		if (text)
			fprintf(s->out, "[ RUN      ] %s\n", name);
		u64 from = clock_ns(CLOCK_MONOTONIC);
		e = run_test(s, pp, name, &ok);
		if (text)
			fprintf(s->out, "[%s] %s (%llu us)\n", ok ? "       OK " : "  FAILED  ", name,
			(unsigned long long)(clock_ns(CLOCK_MONOTONIC) - from) / 1000);
		if (!ok)
			vec_push(&failed, name);
		n++;
	}
	s->rc.exit_code = failed.n != 0;
	if (text)
		summary(s, n, &failed);
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
