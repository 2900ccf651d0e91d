// A script of the user's, run with reports of the map that is keyed by stacks: what `sonde SCRIPT --flame FILE` does.
// In: options. Out: exit status. Invariant: without options for reports it is the plain run.
#include "tool/internal.h"

struct ToolOpts *script_opts_create(void)
{
	struct ToolOpts *o = xcalloc(1, sizeof(*o));
	return o;
}

void script_opts_destroy(struct ToolOpts *o)
{
	toolopts_deinit(o);
	free(o);
}

static bool wants_reports(const struct ToolOpts *o)
{
	return o->folded || o->json || outputs_any(&o->files, false) || o->interval || o->map || o->top;
}

const char *script_opts_wrong(const struct ToolOpts *o, const struct Options *so)
{
	bool files = outputs_any(&o->files, false);
	if (o->top && (o->folded || o->json || so->json))
		return "--top is not allowed with --folded and --json";
	if (o->map && !o->folded && !o->json && !files && !o->interval && !o->top)
		return "--map needs a form: --folded, --json, --flame, --html, --pprof, --top or --interval";
	if ((o->delim || o->annotate) && !o->folded && !o->interval)
		return "--delimited and --annotations need --folded";
	if (o->folded && o->json)
		return "--folded is not allowed with --json";
	if (o->folded && so->json)
		return "--folded is not allowed with -f json";
	if (wants_reports(o) && so->mode != MODE_TRACE)
		return "there is no report of stacks with --test, --bench and --fmt";
	return NULL;
}

int script_run(struct Options *so, struct ToolOpts *o)
{
	const char *name = so->file && strcmp(so->file, "-") ? so->file : "sonde";
	struct Tool t = {.name = name, .script = true};
	so->duration_ns = o->duration * 1000000000ull;
	if (!wants_reports(o))
		return session_run(so);
	o->tool = &t;
	o->out = so->out_path;
	so->json |= o->json;
	o->lines = so->lines;
	o->keep_privileges = so->keep_privileges;
	if (!so->dump && !outputs_writable(o))
		return 1;
	return stacks_run(so, o);
}
