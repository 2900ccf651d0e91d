// Scripts that run in a collector. One whose maps are read as metrics sends them every so often; of one that waits for something what it prints is sent.
// In: a script. Out: reports. Invariant: what is no report goes to standard error, with the warnings.
#include "tool/internal.h"
#include <errno.h>

static struct {
	FILE *feed;
	struct Str text;
	u64 map_bytes, ticks;
	bool messages; // these are the reports
} metrics; // of this process; renderers have no argument

static bool send(void)
{
	struct FeedHead head = {.len = metrics.text.n, .map_bytes = metrics.map_bytes};
	bool ok = fwrite(&head, sizeof(head), 1, metrics.feed) == 1 && fwrite(str_text(&metrics.text), 1, head.len, metrics.feed) == head.len && !fflush(metrics.feed);
	str_reset(&metrics.text);
	return ok;
}

static void on_message(struct Render *r, enum MsgKind kind, const char *text, size_t n)
{
	struct Str shown = {0};
	str_add_shown(&shown, text, n && text[n - 1] == '\n' ? n - 1 : n);
	if (metrics.messages) {
		str_addn(&metrics.text, str_text(&shown), shown.n);
		send();
	} else
		fprintf(stderr, "%s\n", str_text(&shown));
	str_deinit(&shown);
}

static void on_map(struct Render *r, const struct MapReport *m)
{
	if (!metrics.messages)
		prometheus_map(m, &metrics.text);
}

static void on_value(struct Render *r, const struct Value *v)
{
}

static void on_attached(struct Render *r, u64 n)
{
}

static void on_lost(struct Render *r, u64 n)
{
	fprintf(stderr, "WARNING: lost %llu events\n", (unsigned long long)n);
}

static void on_loss(struct Render *r, const char *what, u64 n, const char *text)
{
	fprintf(stderr, "WARNING: %s\n", text);
}

static void on_ends(struct Render *r, const struct StackEnds *e)
{
}

static void on_error(struct Render *r, const struct RunError *e)
{
	fprintf(stderr, "%s: %s\n", e->where, e->text);
}

static void on_bench(struct Render *r, const char *const *names, const u64 *nsecs, const u64 *iters, u32 n)
{
}

static void on_end(struct Render *r)
{
}

static const struct RenderOps metric_ops = {.message = on_message, .map = on_map, .value = on_value, .attached = on_attached, .lost = on_lost, .loss = on_loss,
					    .ends = on_ends, .error = on_error, .bench = on_bench, .end = on_end, .flush = on_end};

static void read_maps(struct RunCtx *rc)
{
	str_reset(&metrics.text);
	for (size_t i = 0; i < rc->prog->maps.n; i++) {
		struct MapDef *m = rc->prog->maps.p[i];
		struct err *e = m->user ? map_print(rc, m, 0, 0, false, false) : NULL;
		if (e)
			fprintf(stderr, "WARNING: %s: %s\n", m->name, err_text(e));
		err_free(e);
	}
}

static struct err *started(void *arg, struct RunCtx *rc)
{
	return NULL;
}

static bool tick(void *arg, struct RunCtx *rc)
{
	read_maps(rc);
	if (!(metrics.ticks++ % 15))
		metrics.map_bytes = cost_memory(rc->prog, rc->track);
	return send();
}

// The session has printed the maps, as those of any script.
static struct err *report(void *arg, struct RunCtx *rc, bool last)
{
	return metrics.messages || send() ? NULL : err_new("nobody reads its maps");
}

static bool claims(void *arg, const struct MapDef *m)
{
	return false;
}

int feed_script(int argc, char **argv, FILE *feed)
{
	u64 interval;
	if (argc < 2 || !parse_u64(argv[0], &interval) || !interval)
		return 2;
	struct ToolRun run = {.script = true, .bare = true, .started = started, .tick = tick, .tick_ns = interval * 1000000000ull, .report = report, .claims = claims};
	struct Options so = {.file = argv[1], .warnings = true, .quiet = true, .buf = BUF_FULL, .tool = &run, .render_ops = &metric_ops};
	for (int i = 2; i < argc; i++)
		vec_push(&so.params, ((struct Param){NULL, argv[i]}));
	metrics.feed = feed;
	int rc = session_run(&so);
	vec_deinit(&so.params);
	str_deinit(&metrics.text);
	return rc;
}

int feed_messages(int argc, char **argv, FILE *feed)
{
	struct ToolRun run = {.script = true, .bare = true, .started = started, .report = report, .claims = claims};
	// A probe alone tells who has hit it. Lines count: the message of one is enough.
	char *text = strchr(argv[0], '{') ? xstrdup(argv[0]) : xasprintf("%s { printf(\"%%s (%%d)\\n\", comm, pid); }", argv[0]);
	struct Options so = {.text = text, .name = "--when", .warnings = true, .quiet = true, .buf = BUF_LINE, .tool = &run, .render_ops = &metric_ops};
	metrics.feed = feed;
	metrics.messages = true;
	int rc = session_run(&so);
	str_deinit(&metrics.text);
	free(text);
	return rc;
}
