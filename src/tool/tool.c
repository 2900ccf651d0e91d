// The tools' table, and how one runs: options -> script -> session -> report.
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "tool/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

static const struct Tool *const tools[] = {&tool_profile, &tool_offcputime, &tool_wakeuptime, &tool_offwaketime, &tool_stackcount};

const struct Tool *tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (!strcmp(tools[i]->name, name))
			return tools[i];
	return NULL;
}

const struct Tool *tool_called(const char *program)
{
	static const char before[] = "sonde-", after[] = "-bpfcc"; // Debian's names of bcc's tools
	size_t n = strlen(program), k = strlen(after);
	if (!strncmp(program, before, strlen(before)))
		return tool_find(program + strlen(before));
	if (n <= k || strcmp(program + n - k, after))
		return NULL;
	char *name = xasprintf("%.*s", (int)(n - k), program);
	const struct Tool *t = tool_find(name);
	free(name);
	return t;
}

size_t tool_names(const char **names, size_t max)
{
	size_t n = MIN(max, ARRAY_LEN(tools));
	for (size_t i = 0; i < n; i++)
		names[i] = tools[i]->name;
	return n;
}

void tools_help(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		fprintf(out, "%-14s %s\n", tools[i]->name, tools[i]->summary);
}

struct Running {
	const struct Tool *tool;
	const struct ToolOpts *o;
	u64 start_wall_ns, start_ns, duration_ns; // duration: 0 until probes are detached
	struct Progress progress;
	u64 next_report_ns; // -i
	FILE *out; // the session's
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

// Tells the script when tracing began or ended, which only this side knows: a scalar map of the script becomes the time `nsecs` would give
// (value and presence word, ir/lower_map.c). Scripts without that map have no use for it.
static void set_time(struct RunCtx *rc, const char *map)
{
	struct MapDef *m = program_map(rc->prog, map);
	u64 val[2] = {now_ns(CLOCK_BOOTTIME), 1};
	u32 zero = 0;
	if (m && m->scalar && m->value_size == sizeof(val) && sys_map_update(m->fd, &zero, val, 0))
		fprintf(stderr, "WARNING: cannot set %s; times include attaching and detaching\n", map);
}

static struct err *report(void *arg, struct RunCtx *rc, bool last);

// A script that makes its reports by itself prints @samples, and clears it: both is our report. At the end the session asks for it.
static bool on_map(void *arg, struct RunCtx *rc, const struct MapDef *m, bool clear)
{
	struct Running *r = arg;
	if (strcmp(m->name, "@samples"))
		return false;
	if (!clear && !r->duration_ns)
		err_free(report(r, rc, false));
	rc->exiting |= ferror(r->out) != 0;
	return true;
}

static struct err *started(void *arg, struct RunCtx *rc)
{
	struct Running *r = arg;
	FILE *out = r->out = rc->render->out;
	r->start_wall_ns = now_ns(CLOCK_REALTIME);
	r->start_ns = now_ns(CLOCK_MONOTONIC);
	r->next_report_ns = r->start_ns + r->o->interval * 1000000000ull;
	progress_init(&r->progress, r->start_ns);
	set_time(rc, "@began");
	if (r->o->tree)
		tree_attached(r->o, rc);
	if (r->tool->own_reports) {
		rc->on_map = on_map;
		rc->map_arg = r;
	}
	if (machine_form(r->o))
		return NULL;
	r->tool->header(r->o, rc, out);
	if (!r->tool->untimed && r->o->duration)
		fprintf(out, " for %llu secs.\n", (unsigned long long)r->o->duration);
	else
		fprintf(out, "... Hit Ctrl-C to end.\n");
	if (r->tool->event)
		fprintf(out, "Event: %s\n", r->tool->event(r->o));
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

static struct err *write_text(struct Running *r, const struct StackProfile *p)
{
	const struct ToolOpts *o = r->o;
	if (!machine_form(o))
		fputc('\n', r->out);
	if (o->timestamps) {
		char text[16];
		time_t t = time(NULL);
		struct tm tm;
		strftime(text, sizeof(text), "%H:%M:%S", localtime_r(&t, &tm));
		fprintf(r->out, "%s\n", text);
	}
	if (o->json)
		stacks_json(p, o, r->out);
	else if (o->folded)
		folded_write(p, r->out);
	else
		(r->tool->print ? r->tool->print : stacks_multiline)(p, o, r->out);
	return NULL;
}

static struct err *stopped(void *arg, struct RunCtx *rc)
{
	struct Running *r = arg;
	r->duration_ns = now_ns(CLOCK_MONOTONIC) - r->start_ns;
	progress_erase(&r->progress);
	set_time(rc, "@ended"); // detaching may take longer than tracing
	return NULL;
}

static struct err *report(void *arg, struct RunCtx *rc, bool last)
{
	struct Running *r = arg;
	const struct ToolOpts *o = r->o;
	struct StackSet set = {0};
	progress_erase(&r->progress);
	if (o->check)
		return r->tool->check_report(o, rc, r->out);
	u64 duration = r->duration_ns ? r->duration_ns : now_ns(CLOCK_MONOTONIC) - r->start_ns;
	struct err *e = stackset_take(&set, rc, "@samples", o);
	if (!e && r->tool->extra)
		e = r->tool->extra(&set, rc, o);
	stackset_finish(&set, o);
	if (r->tool->event)
		set.prof.title = arena_printf(&set.arena, "%s (%s)", r->tool->title, r->tool->event(o));
	set.prof.start_ns = r->start_wall_ns;
	set.prof.duration_ns = duration;
	if (!e && (machine_form(o) || (!o->flame && !o->pprof)))
		e = write_text(r, &set.prof);
	if (!e && last && r->tool->end && !machine_form(o))
		fprintf(r->out, "%s\n", r->tool->end);
	fflush(r->out);
	if (!e && o->flame)
		e = write_file(&set.prof, o->flame, flame_write);
	if (!e && o->pprof)
		e = write_file(&set.prof, o->pprof, pprof_write);
	struct RtCounters lost;
	if (set.missed)
		fprintf(stderr, "WARNING: %llu stack traces could not be displayed.%s\n", (unsigned long long)set.missed,
			read_counters(rc->prog, &lost) && lost.stack_full ? " Consider increasing --stack-storage-size." : "");
	stackset_deinit(&set);
	return e;
}

static u64 monotonic(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

// Some milliseconds early is on time: the loop's timer counts whole ones.
#define TICK_NS 1000000000ull
#define EARLY_NS 5000000ull
static bool tick(void *arg, struct RunCtx *rc)
{
	struct Running *r = arg;
	u64 now = monotonic(), every = r->tool->own_reports ? 0 : r->o->interval * 1000000000ull;
	if (!every || now + EARLY_NS < r->next_report_ns) {
		progress_tick(&r->progress, rc, r->o, now, monotonic);
		return true;
	}
	r->next_report_ns = MAX(r->next_report_ns, now - every) + every;
	err_free(report(arg, rc, false)); // takes the samples out, so that what is counted meanwhile is left for the next
	return !ferror(r->out);
}

// What would only fail after tracing is tried before it: files to be written, processes that are not there.
static bool can_write(const char *path)
{
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1, bad = errno;
	if (fd >= 0)
		unlink(path);
	else if (path && bad == EEXIST && (fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO) // a fifo without a reader yet
		return true;
	if (fd < 0 && path) {
		fprintf(stderr, "ERROR: cannot write %s: %s\n", path, strerror(errno));
		return false;
	}
	if (fd >= 0)
		close(fd);
	return true;
}

#define DEAD_TOLD 5 // by number
// List: numbers separated by commas. Some of them may be gone; all of them is a mistake.
static bool any_alive(const char *list, const char *what)
{
	u32 alive = 0, dead = 0, told = 0;
	for (int telling = 0; telling < 2; telling++)
		for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
			bool gone = kill(atoi(p), 0) && errno == ESRCH;
			if (telling && gone && ++told <= DEAD_TOLD)
				fprintf(stderr, "%s: there is no %s %d\n", alive ? "WARNING" : "ERROR", what, atoi(p));
			alive += !telling && !gone;
			dead += !telling && gone;
		}
	if (told > DEAD_TOLD)
		fprintf(stderr, "%s: there is no %s of %u more\n", alive ? "WARNING" : "ERROR", what, told - DEAD_TOLD);
	return alive || !dead;
}

int tool_main(const struct Tool *t, int argc, char **argv)
{
	struct ToolOpts o = {.tool = t, .state = -1, .min_us = 1};
	struct Str script = {0};
	int rc;
	if (!tool_parse(t, argc, argv, &o, &rc))
		goto out;
	rc = 1;
	if (!o.print_script && !o.dump &&
	    (!any_alive(str_text(&o.pids), "process") || !any_alive(str_text(&o.tids), "thread") || !can_write(o.flame) || !can_write(o.pprof)))
		goto out;
	if (o.tree)
		tree_begin(&o);
	if (t->prepare && (rc = t->prepare(&o)))
		goto out;
	tool_script(t, &o, &script);
	if (o.print_script) {
		fputs(str_text(&script), stdout);
		rc = 0;
		goto out;
	}
	struct Running r = {.tool = t, .o = &o};
	struct ToolRun run = {.arg = &r, .started = started, .report = report, .stopped = stopped, .tick = o.interval || isatty(STDERR_FILENO) ? tick : NULL,
			      .tick_ns = TICK_NS};
	struct Options so = {.text = script.p, .name = t->name, .pids = str_text(&o.pids), .warnings = false, .buf = BUF_FULL, .unwind_fp = o.unwind_fp, .json = o.json, .out_path = o.out,
			     .inlines = o.inlines, .lines = o.lines, .why_incomplete = o.why_incomplete, .stack_entries = o.stack_entries, .dump = o.dump,
			     .duration_ns = o.duration * 1000000000ull, .tool = &run};
	rc = session_run(&so);
	progress_erase(&r.progress);
out:
	str_deinit(&script);
	str_deinit(&o.pids);
	str_deinit(&o.roots);
	str_deinit(&o.tids);
	str_deinit(&o.cpus);
	str_deinit(&o.probes);
	return rc;
}
