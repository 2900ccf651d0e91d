// The tools' table, and how one runs: options -> script -> session -> report.
#include "bpf/bpf.h"
#include "tool/internal.h"
#include <errno.h>
#include <time.h>

static const struct Tool *const tools[] = {&tool_profile};

const struct Tool *tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (!strcmp(tools[i]->name, name))
			return tools[i];
	return NULL;
}

void tools_help(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		fprintf(out, "%-14s %s\n", tools[i]->name, tools[i]->summary);
}

struct Running {
	const struct Tool *tool;
	const struct ToolOpts *o;
	u64 start_wall_ns, start_ns;
	FILE *out;
};

static u64 now_ns(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

static bool machine_form(const struct ToolOpts *o)
{
	return o->folded || o->json;
}

static struct err *started(void *arg, struct RunCtx *rc)
{
	struct Running *r = arg;
	FILE *out = r->out;
	r->start_wall_ns = now_ns(CLOCK_REALTIME);
	r->start_ns = now_ns(CLOCK_MONOTONIC);
	if (machine_form(r->o))
		return NULL;
	r->tool->header(r->o, out);
	if (r->o->duration)
		fprintf(out, " for %llu secs.\n", (unsigned long long)r->o->duration);
	else
		fprintf(out, "... Hit Ctrl-C to end.\n");
	fflush(out);
	return NULL;
}

static struct err *write_file(const struct StackProfile *p, const char *path, struct err *(*fn)(const struct StackProfile *, FILE *))
{
	FILE *f = fopen(path, "we");
	if (!f)
		return err_errno(errno, "cannot write %s", path);
	struct err *e = fn(p, f);
	if (fclose(f) && !e)
		e = err_errno(errno, "cannot write %s", path);
	return e;
}

static struct err *report(void *arg, struct RunCtx *rc, bool last)
{
	struct Running *r = arg;
	struct StackSet set = {0};
	struct err *e = stackset_read(&set, rc, "@samples", r->o);
	set.prof.start_ns = r->start_wall_ns;
	set.prof.duration_ns = now_ns(CLOCK_MONOTONIC) - r->start_ns;
	if (!e && r->o->json)
		stacks_json(&set.prof, r->out);
	else if (!e && r->o->folded)
		folded_write(&set.prof, r->out);
	else if (!e && !r->o->flame && !r->o->pprof) {
		fputc('\n', r->out);
		stacks_multiline(&set.prof, r->o, r->out);
	}
	if (!e && r->o->flame)
		e = write_file(&set.prof, r->o->flame, flame_write);
	if (!e && r->o->pprof)
		e = write_file(&set.prof, r->o->pprof, pprof_write);
	fflush(r->out);
	stackset_deinit(&set);
	return e;
}

static bool tick(void *arg, struct RunCtx *rc)
{
	err_free(report(arg, rc, false));
	map_clear(program_map(rc->prog, "@samples"));
	return true;
}

int tool_main(const struct Tool *t, int argc, char **argv)
{
	struct ToolOpts o = {.tool = t, .state = -1};
	struct Str script = {0};
	int rc;
	if (!tool_parse(t, argc, argv, &o, &rc))
		goto out;
	tool_script(t, &o, &script);
	if (o.print_script) {
		fputs(str_text(&script), stdout);
		rc = 0;
		goto out;
	}
	struct Running r = {.tool = t, .o = &o, .out = stdout};
	if (o.out && !(r.out = fopen(o.out, "we"))) {
		fprintf(stderr, "sonde %s: error: cannot write %s: %s\n", t->name, o.out, strerror(errno));
		rc = 2;
		goto out;
	}
	struct ToolRun run = {.arg = &r, .started = started, .report = report, .tick = o.interval ? tick : NULL,
			      .tick_ns = o.interval * 1000000000ull};
	struct Options so = {.text = script.p, .name = t->name, .warnings = false, .buf = BUF_FULL, .unwind_fp = o.unwind_fp, .dump = o.dump,
			     .duration_ns = o.duration * 1000000000ull, .tool = &run};
	rc = session_run(&so);
	if (r.out != stdout)
		fclose(r.out);
out:
	str_deinit(&script);
	str_deinit(&o.pids);
	str_deinit(&o.tids);
	return rc;
}
