// A run with reports of stacks: of a tool, or of any script whose map is keyed by them. When reports are made, and where they go.
// In: options, a script. Out: text, folded, JSON; files of the whole run. Invariant: what is taken out of the map is in a report or, with files, in the
// sum of all reports, and what the script clears is in the files too.
#include "base/base.h"
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "tool/internal.h"
#include <errno.h>
#include <malloc.h>
#include <time.h>

struct Moment {
	u64 boot_ns, wall_ns, ns; // slots count from boot_ns
};
struct Running {
	const struct Tool *tool;
	struct ToolOpts *o;
	struct Arena arena;
	const struct StackMap *keyed; // a script's; NULL: none is reported
	bool in_form;	   // it is printed as a report and not as scripts print maps
	bool shown;	   // the script has printed it
	u64 negative;	   // rows of it that were left out
	u64 outside;	   // value of times for which there is no slot
	u64 start_wall_ns, start_ns, duration_ns; // duration: 0 until probes are detached
	struct Progress progress;
	struct Limit limit;
	u32 cpus_away; // as it was told
	u64 map_bytes; // of a collector's maps, when the last report was made
	u64 next_report_ns, reports; // -i; reports: made so far
	FILE *out; // the session's
	struct StackTotal total; // -i with files: of all reports
	struct OutputFiles whole, each; // files of the whole run; of each interval
	u64 start_boot_ns;
	struct Moment since, taken; // when the interval began, and when its samples were taken
	const struct StackMap *ran; // Tool.running; NULL
	struct ReportForm ran_form;
	struct Moment ran_since;
	const char *command;
};

static bool machine_form(const struct ToolOpts *o)
{
	return o->folded || o->json;
}

// Tells the script when tracing began or ended, which only this side knows: a scalar map of the script becomes that time, as `nsecs` gives it (CLOCK_BOOTTIME).
// Scripts without that map have no use for it.
#define NOT_YET UINT64_MAX
static void set_time(struct RunCtx *rc, const char *map, u64 boot_ns)
{
	if (program_map(rc->prog, map) && !set_scalar(rc, map, boot_ns))
		fprintf(stderr, "WARNING: cannot set %s; times include attaching and detaching\n", map);
}

static struct err *report(void *arg, struct RunCtx *rc, bool last);

static void told(struct err *e)
{
	if (e)
		fprintf(stderr, "WARNING: %s\n", err_text(e));
	err_free(e);
}

// How many reports a run of that duration has: the last one is made at its end, not just before it and then of the moments in between.
static bool is_last(const struct Running *r)
{
	return r->o->duration && r->o->interval && (r->reports + 1) * r->o->interval >= r->o->duration;
}

// A script that makes its reports by itself prints @samples, and clears it: both is our report. At the end the session asks for it.
static bool on_samples(void *arg, struct RunCtx *rc, struct MapDef *m, const struct MapAction *a)
{
	struct Running *r = arg;
	if (r->ran && m == r->ran->def) // at other times (tick)
		return true;
	if (strcmp(m->name, "@samples") || a->what == MAP_ZERO)
		return false;
	if (a->what != MAP_CLEAR && !r->duration_ns && !is_last(r)) {
		if (!r->ran)
			limit_look(&r->limit, r->o, rc);
		told(report(r, rc, false));
	}
	rc->exiting |= ferror(r->out) != 0;
	return true;
}

static void write_text(struct Running *r, const struct StackProfile *p)
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
	else if (o->top)
		functions_top(p, o->top, r->out);
	else {
		o->form.print(p, o, r->out);
		total_line(p, r->out);
	}
	if (!machine_form(o))
		heat_text(p, r->out);
}

// The command line of this process, as a shell would take it
static const char *own_command(struct Arena *a)
{
	struct Str raw = {0}, line = {0};
	struct err *e = read_file("/proc/self/cmdline", &raw, 65536);
	for (const char *p = str_text(&raw), *end = p + raw.n; !e && p < end; p += strlen(p) + 1) {
		bool plain = *p && !p[strcspn(p, " \t\n'\"\\$;&|<>()*?[]{}~#`!")];
		str_add(&line, line.n ? plain ? " " : " '" : plain ? "" : "'");
		for (const char *c = p; *c; c++)
			str_addf(&line, *c == '\'' ? "'\\''" : "%c", *c);
		str_add(&line, plain ? "" : "'");
	}
	const char *text = line.n ? arena_strdup(a, str_text(&line)) : NULL;
	err_free(e);
	str_deinit(&raw);
	str_deinit(&line);
	return text;
}

static void finish(struct Running *r, struct StackSet *s, bool merge)
{
	stackset_finish(s, r->o, merge);
	if (r->o->title)
		s->prof.title = r->o->title;
	else if (r->o->form.event)
		s->prof.title = arena_printf(&s->arena, "%s (%s)", r->o->form.title, r->o->form.event);
	bool whole = s == &r->total.set;
	u64 end = r->duration_ns ? r->start_ns + r->duration_ns : r->taken.ns;
	s->prof.command = r->command;
	s->prof.start_ns = whole ? r->start_wall_ns : r->since.wall_ns;
	s->prof.duration_ns = end - (whole ? r->start_ns : r->since.ns);
	if (r->o->form.slot_ns)
		slots_place(&s->prof, r->o->form.slot_ns, whole ? r->start_boot_ns : r->since.boot_ns, s->prof.duration_ns);
}

// Rows that differ in addresses stay apart in some files; in others, and in text, only with -P.
static struct err *write_outputs(struct Running *r, const struct OutputFiles *files, struct StackSet *s)
{
	bool apart = outputs_any(files, true);
	finish(r, s, !r->o->addrs && !apart);
	struct err *e = outputs_write(files, &s->prof, true);
	if (apart && !r->o->addrs)
		stackset_merge(s);
	return e ? e : outputs_write(files, &s->prof, false);
}

// To who watches us (top.c, agent/): a pprof profile, and before it what there is to know of it.
static struct err *feed(struct Running *r, const struct StackProfile *p, enum FeedSide side)
{
	FILE *to = r->o->feed;
	struct StackProfile read_at_once = *p;
	char *text = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&text, &n);
	read_at_once.fleeting = true;
	struct err *e = mem ? pprof_write(&read_at_once, mem) : err_errno(errno, "memory for a report");
	if (mem && fclose(mem) && !e)
		e = err_errno(errno, "memory for a report");
	struct FeedHead head = {.len = n, .side = side, .kernel_ns = r->limit.cost.kernel_ns, .map_bytes = r->map_bytes,
				.hz = r->limit.next_hz ? r->limit.next_hz : r->o->hz, .one_in = r->o->one_in};
	if (!e && (fwrite(&head, sizeof(head), 1, to) != 1 || fwrite(text, 1, n, to) != n || fflush(to)))
		e = err_errno(errno, "cannot send a report");
	free(text);
	return e;
}

// The files of an interval, if there are to be such, and its rows as the text has them
static struct err *end_interval(struct Running *r, struct StackSet *s, bool files)
{
	struct err *e;
	if (r->o->feed) {
		finish(r, s, true);
		e = feed(r, &s->prof, r->o->form.nparts ? FEED_WAITING : FEED_RUNNING);
	} else if (files && outputs_any(&r->each, false)) {
		e = write_outputs(r, &r->each, s);
		r->each.number++;
	} else {
		finish(r, s, !r->o->addrs);
		return NULL;
	}
	r->since = r->taken;
	return e;
}

static struct Moment moment(void)
{
	return (struct Moment){clock_ns(CLOCK_BOOTTIME), clock_ns(CLOCK_REALTIME), now_ns()};
}

// Rows are stacks, whatever slots they are made of.
static void gather(struct Running *r, struct StackSet *s)
{
	if (r->o->form.slot_ns)
		r->total.rest += stackset_gather(s);
}

// A run of many reports may be a long one: it is told when it is seen, not only at the end.
static void warn_of_cpus(struct Running *r, struct RunCtx *rc)
{
	int cpu = 0;
	bool again = false;
	u32 n = rc->cpus_away ? rc->cpus_away(rc->period_arg, &cpu, &again) : 0;
	if (n > r->cpus_away)
		fprintf(stderr, "WARNING: processors that were taken away meanwhile, or came later: %u (cpu %d%s); timers and counters %s\n", n, cpu, n > 1 ? " is one" : "",
			again ? "have not seen their first moments" : "do not see them");
	r->cpus_away = n;
}

static void warn_left_out(struct Running *r, struct RunCtx *rc, const struct StackSet *set, bool last)
{
	struct RtCounters lost;
	if (!last)
		warn_of_cpus(r, rc);
	r->negative += set->negative;
	r->outside += set->prof.slots.outside;
	if (set->missed)
		report_loss(rc, "stacks_not_shown", set->missed, "%llu stack traces could not be displayed.%s", (unsigned long long)set->missed,
			  read_counters(rc->prog, &lost) && lost.stack_full ? " Consider increasing --stack-storage-size." : "");
	if (last && r->negative)
		report_loss(rc, "rows_negative", r->negative, "%llu rows of %s are below zero, and left out", (unsigned long long)r->negative, r->keyed->def->name);
	if (last && r->o->asleep_lost)
		report_loss(rc, "asleep_left_out", 1, "threads that were asleep at the start or at the end are not counted");
	if (last)
		r->outside = MAX(r->outside, r->total.set.prof.slots.outside); // the same, or that of an hour of reports
	if (last && r->outside)
		report_loss(rc, "slots_outside", r->outside, "no slot is kept for the time of some (%u are): %llu (%s) are in no cell of the picture", SLOTS_MAX,
			  (unsigned long long)r->outside, set->prof.unit);
	if (last && r->total.rest)
		report_loss(rc, "stacks_merged", r->total.rest, "there were more different stacks than are kept over a whole run (%u frames): the others are under "
			  "[more different stacks than are kept]", TOTAL_FRAMES_MAX);
}

// Takes what is in a script's map, for the files of the whole run; form: it is printed too. Emptied: the map is empty then.
static struct err *take_part(struct Running *r, struct RunCtx *rc, bool form, bool emptied)
{
	struct StackSet set = {0};
	r->taken = moment();
	struct err *e = stackset_add(&set, rc, r->keyed->def, r->o, emptied);
	gather(r, &set);
	if (emptied && outputs_any(&r->whole, false))
		total_add(&r->total, &set);
	told(end_interval(r, &set, emptied && r->o->interval));
	if (emptied) // else it is left out again by the report that follows
		warn_left_out(r, rc, &set, false);
	r->shown |= form;
	if (!e && form)
		write_text(r, &set.prof);
	stackset_deinit(&set);
	return e;
}

// A user's script prints, clears or zeroes the map that is reported: it is printed in the form asked for, and the files have what goes away.
static bool on_keyed(void *arg, struct RunCtx *rc, struct MapDef *m, const struct MapAction *a)
{
	struct Running *r = arg;
	bool print = a->what == MAP_PRINT || a->what == MAP_PRINT_CLEAR, form = print && r->in_form;
	if (!r->keyed || m != r->keyed->def || (a->what == MAP_PRINT && !form))
		return false;
	progress_erase(&r->progress);
	if (print && !form)
		told(map_print(rc, m, a->top, a->div, true, false));
	told(take_part(r, rc, form, a->what != MAP_PRINT)); // also what is zeroed: setting it to 0 would lose what is counted meanwhile
	rc->exiting |= ferror(r->out) != 0;
	return true;
}

static struct err *take_samples(struct Running *r, struct RunCtx *rc, struct StackSet *set)
{
	if (r->o->groups)
		groups_read(r->o->groups);
	if (r->tool->script)
		return r->keyed ? stackset_add(set, rc, r->keyed->def, r->o, true) : NULL;
	struct err *e = stackset_take(set, rc, "@samples", r->o);
	return !e && r->tool->extra ? r->tool->extra(set, rc, r->o) : e;
}

// Most frames that a report needs are known by the next (stacks_trim), and tables of symbols find those that are not. A machine with servers, Java and compilers at work has
// 11 MB of them; with 1 MB kept each report read most of them anew, which was a third of what its collector took there.
#define KEPT_TABLES (8u << 20)
#define MOST_TABLES (12u << 20) // room for 313,000 symbols; node has 110,000
#define KEPT_FRAMES 24576u // 3 MB
// Any run with -i may go on for days, and what it keeps has an end, too; where nobody counts what it takes there is room for the tables of some hundred programs.
#define ANY_TABLES (64u << 20)
static void leave_memory(struct RunCtx *rc, const struct ToolOpts *o)
{
	bool counted = o->feed && o->max_cpu;
	if (!o->interval)
		return;
	syms_trim(rc->syms, counted ? KEPT_TABLES : ANY_TABLES);
	stacks_trim(rc->stacks, KEPT_FRAMES);
	if (!counted)
		return;
	track_trim(rc->track);
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

// The other map of a tool that counts on both sides.
static struct err *report_ran(struct Running *r, struct RunCtx *rc, bool last)
{
	struct StackSet set = {0};
	struct ToolOpts o = *r->o; // borrowed
	struct Moment now = moment();
	o.keyed = r->ran;
	o.form = r->ran_form;
	if (o.groups)
		groups_read(o.groups);
	struct err *e = stackset_add(&set, rc, r->ran->def, &o, true);
	if (o.max_cpu)
		r->map_bytes = cost_memory(rc->prog, rc->track);
	stackset_finish(&set, &o, true);
	set.prof.start_ns = r->ran_since.wall_ns;
	set.prof.duration_ns = (last ? r->start_ns + r->duration_ns : now.ns) - r->ran_since.ns;
	r->ran_since = now;
	e = e ? e : feed(r, &set.prof, FEED_RUNNING);
	warn_left_out(r, rc, &set, false);
	stackset_deinit(&set);
	if (o.interval)
		track_report(rc->track);
	leave_memory(rc, &o);
	return e;
}

// A collector of the agent runs for ever. Objects, of files and of code made at run time, keep their numbers, since stacks have these; who starts it again has room for others.
static void make_room(struct RunCtx *rc)
{
	bool made = track_made_stale(rc->track);
	struct RtCounters lost;
	if (read_counters(rc->prog, &lost) && lost.stack_full)
		fprintf(stderr, "WARNING: no room for more stacks: it ends, and begins anew\n");
	else if (made || track_objects_stale(rc->track))
		fprintf(stderr, "WARNING: no room for more %s, and most of what has it is gone: it ends, and begins anew\n", made ? "code made at run time" : "programs");
	else
		return;
	rc->exiting = true;
}

static struct err *report(void *arg, struct RunCtx *rc, bool last)
{
	struct Running *r = arg;
	const struct ToolOpts *o = r->o;
	struct StackSet set = {0};
	if (r->ran && last)
		told(report_ran(r, rc, true));
	bool files = outputs_any(&o->files, false), whole = outputs_any(&r->whole, false);
	progress_erase(&r->progress);
	if (r->tool->script && !r->keyed)
		return NULL;
	if (o->check)
		return r->tool->check_report(o, rc, r->out);
	r->taken = moment();
	r->reports++;
	struct err *e = take_samples(r, rc, &set);
	gather(r, &set);
	if (whole)
		(o->interval || o->form.slot_ns || r->total.set.samples.n ? total_add : total_borrow)(&r->total, &set);
	bool nothing_new = last && r->shown && !set.samples.n; // the script's own print() at its end has been the report
	if (o->feed && o->max_cpu)
		r->map_bytes = cost_memory(rc->prog, rc->track);
	struct err *writing = end_interval(r, &set, !e && o->interval && !nothing_new);
	if (!e && !o->feed && (machine_form(o) || o->top || !files || o->interval) && !nothing_new)
		write_text(r, &set.prof);
	if (!e && last && r->tool->end && !machine_form(o))
		fprintf(r->out, "%s\n", r->tool->end);
	fflush(r->out);
	e = e ? e : writing;
	if (!e && whole && last)
		e = write_outputs(r, &r->whole, &r->total.set); // the whole run, whatever the reports on the way
	warn_left_out(r, rc, &set, last);
	stackset_deinit(&set);
	if (o->interval && !r->tool->script)
		track_report(rc->track);
	if (o->feed && o->max_cpu && !last)
		make_room(rc);
	leave_memory(rc, o);
	return e;
}

// Files that cannot be opened before: one an interval, and whatever is no regular file.
static bool writes_later(void *arg)
{
	struct Running *r = arg;
	return outputs_any(&r->each, false) || !outputs_can_hold(&r->whole);
}

static void loaded(void *arg, struct RunCtx *rc)
{
	set_time(rc, "@began", NOT_YET); // what is seen while probes are attached and threads looked at is not counted
}

static struct err *started(void *arg, struct RunCtx *rc)
{
	struct Running *r = arg;
	FILE *out = r->out = rc->render->out;
	if (r->o->keyed && r->o->keyed->groups) {
		r->o->groups = groups_create();
		groups_read(r->o->groups);
	}
	r->since = r->ran_since = moment();
	r->start_wall_ns = r->since.wall_ns;
	r->start_ns = r->since.ns;
	r->start_boot_ns = r->since.boot_ns;
	if (outputs_any(&r->o->files, false))
		r->command = own_command(&r->arena);
	u64 every = r->o->interval * 1000000000ull;
	r->next_report_ns = r->start_ns + (tool_is_watched(r->o) || r->ran ? every / 2 : every); // both reports at once would take the memory of both
	progress_init(&r->progress, r->start_ns);
	limit_begin(&r->limit, r->o, rc);
	if (r->o->feed && r->o->max_cpu)
		syms_limit(rc->syms, MOST_TABLES);
	set_time(rc, "@began", clock_ns(CLOCK_BOOTTIME));
	if (r->o->tree)
		tree_attached(r->o, rc);
	if (outputs_any(&r->o->files, true))
		stacks_want_images(rc->stacks);
	if (!writes_later(r) && !r->o->keep_privileges)
		outputs_hold(&r->whole);
	rc->on_map = r->tool->script ? on_keyed : r->tool->own_reports ? on_samples : NULL;
	rc->map_arg = r;
	if (machine_form(r->o) || r->tool->script)
		return NULL;
	r->tool->header(r->o, rc, out);
	if (!r->tool->untimed && r->o->duration)
		fprintf(out, " for %llu secs.\n", (unsigned long long)r->o->duration);
	else
		fprintf(out, r->o->child ? "... until it ends.\n" : "... Hit Ctrl-C to end.\n");
	if (r->o->form.event)
		fprintf(out, "Event: %s\n", r->o->form.event);
	fflush(out);
	return NULL;
}

static struct err *stopped(void *arg, struct RunCtx *rc)
{
	struct Running *r = arg;
	r->duration_ns = now_ns() - r->start_ns;
	progress_erase(&r->progress);
	set_time(rc, "@ended", clock_ns(CLOCK_BOOTTIME)); // detaching may take longer than tracing
	return NULL;
}

// Some milliseconds early is on time: the loop's timer counts whole ones.
#define TICK_NS 1000000000ull
#define WATCHED_TICK_NS 100000000ull
#define EARLY_NS 5000000ull
static bool tick(void *arg, struct RunCtx *rc)
{
	struct Running *r = arg;
	u64 now = now_ns(), every = r->tool->own_reports && !r->ran ? 0 : r->o->interval * 1000000000ull;
	limit_tick(&r->limit, r->o, rc);
	if (!every || is_last(r) || now + EARLY_NS < r->next_report_ns) {
		progress_tick(&r->progress, rc, r->o, now, now_ns);
		return true;
	}
	r->next_report_ns = MAX(r->next_report_ns, now - every) + every;
	limit_look(&r->limit, r->o, rc); // before the samples are taken out: those that are counted meanwhile have the new weight
	told(r->ran ? report_ran(r, rc, false) : report(arg, rc, false));
	limit_reported(&r->limit, r->o);
	return !ferror(r->out) && !rc->exiting;
}

static bool goes_on(void *arg, struct RunCtx *rc)
{
	const struct ToolOpts *o = ((struct Running *)arg)->o;
	return o->tree ? tree_lives(rc) : any_lives(str_text(&o->tids));
}

// What would only fail after tracing is tried before it: files to be written, processes that are not there.
bool outputs_writable(const struct ToolOpts *o)
{
	struct OutputFiles files = o->files;
	files.number = o->interval != 0;
	struct err *e = outputs_check(&files, o->out);
	if (e)
		fprintf(stderr, "ERROR: %s\n", err_text(e));
	err_free(e);
	return !e;
}


// ---- a script of the user's
static bool claims(void *arg, const struct MapDef *m)
{
	struct Running *r = arg;
	return r->keyed && r->keyed->def == m;
}

// The map is known now, and what its values are. A built-in tool's is @samples.
// A tool with two maps: what ran is samples, whatever the other map holds.
static struct err *ready_both(struct Running *r, const struct Program *p)
{
	struct ToolOpts o = *r->o; // borrowed
	struct err *e = NULL;
	o.map = r->tool->running;
	o.form = (struct ReportForm){.unit = "samples", .title = "CPU profile", .row = row_named, .print = stacks_multiline};
	r->ran_form = o.form;
	r->ran = stackmap_pick(&o, p, &r->arena, &e);
	r->o->map = "@samples";
	if (!e)
		r->o->keyed = stackmap_pick(r->o, p, &r->arena, &e);
	return e;
}

static struct err *ready(void *arg, struct Program *p)
{
	struct Running *r = arg;
	struct err *e = NULL;
	form_read(&r->o->form, &p->config, r->tool->name, &r->arena);
	if (r->tool->running)
		return ready_both(r, p);
	if (!r->tool->script) {
		r->o->keyed = stackmap_pick(r->o, p, &r->arena, &e);
		return e;
	}
	bool must = r->o->folded || (r->o->json && stackmap_any(p)) || r->o->top || outputs_any(&r->o->files, false) || r->o->interval || r->o->map;
	r->keyed = r->o->keyed = stackmap_pick(r->o, p, &r->arena, &e);
	if (!must) { // then its maps are printed as any script's
		err_free(e);
		e = NULL;
	}
	return e;
}

int stacks_run(struct Options *so, struct ToolOpts *o)
{
	const struct Tool *t = o->tool;
	bool ends_by_itself = o->tree || o->tids.n;
	struct Running r = {.tool = t, .o = o, .limit.cost.stats_fd = -1, .in_form = t->script && (machine_form(o) || o->top || o->interval || t->reports)};
	struct ToolRun run = {.arg = &r, .goes_on = ends_by_itself ? goes_on : NULL, .loaded = loaded, .started = started, .report = report, .stopped = stopped,
			      .tick = o->interval || isatty(STDERR_FILENO) ? tick : NULL, .tick_ns = tool_is_watched(o) ? WATCHED_TICK_NS : TICK_NS, 
			      .script = t->script, .takes = o->interval && t == &tool_stackcount, .bare = machine_form(o),
			      .ready = ready, .claims = claims, .writes_later = writes_later};
	if (o->interval) {
		outputs_split(&o->files, &r.whole, &r.each);
		r.whole.what = "the whole run";
		r.each.what = "one interval";
		r.each.number = 1;
	} else
		r.whole = o->files;
	if ((o->max_cpu || o->max_memory) && outputs_any(&r.whole, false)) {
		fputs("ERROR: --max-cpu and --max-memory may change the frequency between intervals: name a file for each, with %s\n", stderr);
		return 2;
	}
	so->tool = &run;
	int rc = session_run(so);
	so->tool = NULL;
	outputs_close(&r.whole);
	progress_erase(&r.progress);
	limit_end(&r.limit);
	total_deinit(&r.total);
	groups_destroy(o->groups);
	o->groups = NULL;
	arena_deinit(&r.arena);
	return rc;
}
