// Programs into the kernel (the last pass); then probes attached, events and maps to the report, and everything detached again.
// In: s->prog, compiled. Out: what the script prints, s->rc.exit_code. Invariant: whatever fails, session_deinit takes back what was made.
#include "session/internal.h"
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SETTLE_MS 1500 // at most, on a machine that is busy
#define FIRST_MS 15000 // ... for the processes that the user has named, and for threads that sleep: their stacks are taken once

static bool kfunc_id(void *arg, const char *name, u32 *id, int *btf_fd)
{
	struct Session *s = arg;
	*id = feature_func_id(name);
	if (!*id)
		*id = ctype_func_id(s->ctypes, name);
	*btf_fd = 0;
	return *id != 0;
}

static struct err *load_failed(void *arg, struct ProbeProg *pp, struct err *e)
{
	return probe_load_failed(&((struct Session *)arg)->env, pp, e);
}

// Does -p leave only that process's stacks? Tracepoints and kernel functions are traced wherever they happen.
static bool one_process(const struct Session *s)
{
	for (size_t i = 0; s->o->pid && i < s->prog.progs.n; i++) {
		const struct ProbeProg *pp = s->prog.progs.p[i];
		for (size_t k = 0; k < pp->points.v.n; k++)
			if (pp->kind != PK_BEGIN && pp->kind != PK_END && pp->kind != PK_SELF && pp->points.v.p[k]->pid != s->o->pid)
				return false;
	}
	return s->o->pid != 0;
}

// Only begin, end and iterators: nothing will ever happen after they have run.
static bool runs_once(const struct Session *s)
{
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		enum ProbeKind k = s->prog.progs.p[i]->kind;
		if (k != PK_BEGIN && k != PK_END && k != PK_ITER && k != PK_TEST && k != PK_BENCH)
			return false;
	}
	return true;
}

// Is there something that each processor has an event of its own for? Watchpoints are set by whom they are told of, later.
static bool is_on_each_cpu(const struct Session *s)
{
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		const struct ProbeProg *pp = s->prog.progs.p[i];
		for (size_t k = 0; k < pp->points.v.n; k++)
			if ((pp->kind == PK_PROFILE || pp->kind == PK_SOFTWARE || pp->kind == PK_HARDWARE) && !pp->points.v.p[k]->pid)
				return true;
	}
	return false;
}

// What tracing and its report do without is given up (base/privs.c), but not where the script runs commands: they would be without it, too.
static void plan_privileges(struct Session *s)
{
	const struct ToolRun *tool = s->o->tool;
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (s->o->keep_privileges || s->o->dry_run || s->o->mode != MODE_TRACE)
		return;
	if (runs_once(s) && !s->child && !s->prog.uses_ustack && !s->prog.uses_usym) // it has run before anything of other people's could be read
		return;
	for (size_t i = 0; i < s->prog.fmts.n; i++)
		if (s->prog.fmts.p[i]->kind == FK_SYSTEM)
			return;
	struct PrivPlan p = {.network = urls && *urls, .child = s->child || s->o->cmd, .attach = s->env.nwatchfns != 0, .load = !tool || s->prog.uses_kstack};
	p.files = p.network || (tool && tool->writes_later && tool->writes_later(tool->arg));
	privs_plan(&p);
}

struct LoadRun {
	struct Session *s;
	struct SysProg *bases; // of each program
};

static void *load(void *arg)
{
	const struct LoadRun *r = arg;
	struct Session *s = r->s;
	struct LoadOpts lo = {.dump_verifier = pass_wanted(s->o, "load"), .dump = s->out, .log_size = s->prog.config.log_size, .kfunc = kfunc_id, .failed = load_failed, .arg = s};
	return load_progs(&s->prog, s->loaded, s->prog.progs.p, s->prog.progs.n, r->bases, &lo);
}

// While the verifier is at work, processes are looked up and the first of their tables made.
static struct err *load_and_track(struct Session *s)
{
	struct LoadRun r = {s, xcalloc(s->prog.progs.n, sizeof(*r.bases))};
	struct err *e = NULL;
	pthread_t t;
	void *loaded;
	for (size_t i = 0; i < s->prog.progs.n; i++)
		probe_load_params(&s->env, s->prog.progs.p[i], &r.bases[i]);
	bool side = s->track && !thread_start(&t, NULL, load, &r);
	if (s->track)
		e = track_start(s->track);
	if (side)
		pthread_join(t, &loaded);
	else
		loaded = load(&r);
	free(r.bases);
	if (!e)
		return loaded;
	err_free(loaded);
	return e;
}

struct err *pass_load(struct Session *s)
{
	struct err *e;
	if (s->o->tool && s->o->tool->ready && (e = s->o->tool->ready(s->o->tool->arg, &s->prog)))
		return e;
	if (!s->o->dry_run && s->o->mode == MODE_TRACE && is_on_each_cpu(s))
		s->newcpus = newcpus_start();
	plan_privileges(s);
	if (s->prog.uses_ustack) {
		bool only = s->o->only_pids || one_process(s);
		struct TrackOpts to = {.lazy = s->o->lazy_tables, .tables_cpu = s->o->tables_cpu, .fp_only = s->prog.config.unwind_fp, .pids = s->pids.p, .npids = only ? (u32)s->pids.n : 0, .follow = true,
				       .verbose = s->o->verbose};
		if ((e = track_create(&s->prog, s->syms, &to, &s->track)))
			return e;
		if (s->o->why_incomplete)
			stacks_count_ends(&s->prog);
	}
	if (program_map(&s->prog, "rt_otel"))
		kernoff_set(&s->prog);
	bool stacks = s->prog.uses_ustack || s->prog.uses_kstack;
	if (stacks)
		stacks_setup(&s->prog, s->syms);
	for (size_t i = 0; i < s->prog.maps.n; i++)
		if (s->o->stack_entries && !strncmp(s->prog.maps.p[i]->name, "rt_stacks_", 10))
			s->prog.maps.p[i]->max_entries = (u32)MIN(s->o->stack_entries, 1u << 24);
	if ((e = load_maps(&s->prog, &s->loaded)))
		return e;
	if ((e = load_and_track(s)))
		return e;
	return stacks ? stacks_start(&s->prog, s->syms) : NULL;
}

static struct err *run_kind(struct Session *s, enum ProbeKind kind, int sig)
{
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		if (pp->kind != kind || (kind == PK_SELF && pp->points.v.p[0]->sig != sig))
			continue;
		struct err *e = probe_run_once(pp);
		if (e)
			return e;
	}
	return NULL;
}

static void on_signal(void *arg, int sig)
{
	err_free(run_kind(arg, PK_SELF, sig));
}

// watchpoint:function+argN was told the argument, or unwatch() was called.
static void on_watch(void *arg, u32 id, u64 addr, bool remove)
{
	struct Session *s = arg;
	struct err *e = NULL;
	if (remove)
		watch_remove(&s->env, addr);
	else
		e = watch_argument(&s->env, &s->prog, id, addr);
	if (e)
		fprintf(stderr, "WARNING: %s\n", err_text(e));
	err_free(e);
}

static void notify_ready(void)
{
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED")) {
		fputs("__BPFTRACE_NOTIFY_PROBES_ATTACHED\n", stdout);
		fflush(stdout);
	}
	const char *path = getenv("NOTIFY_SOCKET"); // sd_notify(3)
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (!path || strlen(path) >= sizeof(a.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(a.sun_path, path, strlen(path));
	if (*path == '@')
		a.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	static const char msg[] = "READY=1\nSTATUS=Processing events...";
	if (fd >= 0) {
		if (sendto(fd, msg, sizeof(msg) - 1, MSG_NOSIGNAL, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) < 0)
			fprintf(stderr, "WARNING: cannot tell systemd that tracing has begun: %s\n", strerror(errno));
		close(fd);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct MapDef *const *)a)->name, (*(struct MapDef *const *)b)->name);
}

static struct err *print_maps(struct Session *s)
{
	VEC(struct MapDef *) maps = {0};
	const struct ToolRun *tool = s->o->tool;
	struct err *e = NULL;
	if (!s->prog.config.print_maps_on_exit)
		return NULL;
	for (size_t i = 0; i < s->prog.maps.n; i++)
		if (s->prog.maps.p[i]->user && !(tool && tool->claims(tool->arg, s->prog.maps.p[i])))
			vec_push(&maps, s->prog.maps.p[i]);
	if (maps.n)
		qsort(maps.p, maps.n, sizeof(*maps.p), by_name);
	for (size_t i = 0; !e && i < maps.n; i++)
		e = map_print(&s->rc, maps.p[i], 0, 0, false, false);
	vec_deinit(&maps);
	return e;
}

static bool has_kind(const struct Session *s, enum ProbeKind kind)
{
	for (size_t i = 0; i < s->prog.progs.n; i++)
		if (s->prog.progs.p[i]->kind == kind)
			return true;
	return false;
}

static bool session_goes_on(void *arg)
{
	struct Session *s = arg;
	return s->o->tool->goes_on(s->o->tool->arg, &s->rc);
}

static bool session_tick(void *arg)
{
	struct Session *s = arg;
	return s->o->tool->tick(s->o->tool->arg, &s->rc);
}

static struct err *set_period(void *arg, u64 period_ns)
{
	return attachments_set_period(((struct Session *)arg)->at, period_ns);
}

static u32 cpus_away(void *arg, int *cpu, bool *again)
{
	struct Session *s = arg;
	newcpus_take(s->newcpus, s->at);
	return attachments_away(s->at, cpu, again);
}

// Watchpoints have attachments of their own, and nobody sets them anew: of the kernel's memory only CAP_SYS_ADMIN may (kernel/events/hw_breakpoint.c, hw_breakpoint_parse), which sonde-cpus
// has given up.
static u32 cpus_unwatched(const struct Session *s, int *cpu)
{
	u32 n = 0;
	bool again;
	for (size_t i = 0; !n && i < s->env.watches.n; i++)
		n = attachments_away(s->env.watches.p[i].at, cpu, &again);
	return n;
}

static int cpus_fd(void *arg)
{
	return newcpus_fd(((struct Session *)arg)->newcpus);
}

static void cpus_come(void *arg)
{
	struct Session *s = arg;
	newcpus_take(s->newcpus, s->at);
}

// An iterator runs while its file is read; what it prints comes through the ring buffer.
static void read_iterators(struct Session *s)
{
	char buf[4096];
	int fd;
	for (size_t i = 0; (fd = attachments_iter_open(s->at, i)) >= 0; i++) {
		for (ssize_t n; (n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EAGAIN);)
			if (s->ring)
				loop_drain(&s->rc, s->ring);
		close(fd);
	}
}

// Binaries of uprobes and USDT probes, each once.
static void add_targets(const struct Session *s, struct TrackFirst *f)
{
	for (size_t i = 0; i < s->prog.progs.n; i++)
		for (size_t k = 0; k < s->prog.progs.p[i]->points.v.n; k++) {
			enum ProbeKind kind = s->prog.progs.p[i]->kind;
			const char *path = s->prog.progs.p[i]->points.v.p[k]->target;
			bool user = kind == PK_UPROBE || kind == PK_URETPROBE || kind == PK_USDT;
			if (user && path && (!f->paths.n || strcmp(vec_last(&f->paths), path)))
				vec_push(&f->paths, path);
		}
}

// Do threads that sleep get their user stacks? Those are of any process, and there is but one chance.
static bool stacks_of_sleepers(const struct Session *s)
{
	for (size_t i = 0; i < s->prog.progs.n; i++)
		if (s->prog.progs.p[i]->kind == PK_ITER && s->prog.progs.p[i]->sleepable)
			return true;
	return false;
}

// The first stacks are to be whole. A command stands at its exec now: its binary is mapped, its libraries are named there.
static void settle_stacks(struct Session *s)
{
	struct TrackFirst f = {0};
	if (!s->track)
		return;
	if (s->child)
		vec_push(&f.pids, child_pid(s->child));
	for (size_t i = 0; i < s->o->unwind_pids.n; i++)
		vec_push(&f.pids, s->o->unwind_pids.p[i]);
	for (size_t i = 0; i < s->pids.n; i++)
		vec_push(&f.pids, s->pids.p[i]);
	add_targets(s, &f);
	if (f.pids.n || f.paths.n)
		track_first(s->track, &f, FIRST_MS);
	// a report of whole stacks is worth the fifth of a second that all tables of a machine take
	if (s->o->tool ? !f.pids.n : stacks_of_sleepers(s))
		track_settle(s->track, stacks_of_sleepers(s) ? FIRST_MS : s->o->settle_ms ? s->o->settle_ms : SETTLE_MS);
	vec_deinit(&f.pids);
	vec_deinit(&f.paths);
}

// -v: on a machine with many processors maps with a value for each may be large.
static void say_memory(const struct Session *s)
{
	u64 now, most;
	cost_per_cpu(&s->prog, &now, &most);
	fprintf(stderr, "Per-CPU maps: %u processors, %.1f MB now, at most %.1f MB\n", possible_cpus(), (double)now / 1e6, (double)most / 1e6);
}

static struct err *attach_and_trace(struct Session *s)
{
	struct err *e;
	u64 n = 0;
	const struct ToolRun *tool = s->o->tool;
	bool own = tool && !tool->script;
	if ((e = run_kind(s, PK_BEGIN, 0)))
		return e;
	s->at = attachments_create();
	attachments_use(s->at, s->newcpus);
	if (s->child && (tool || has_kind(s, PK_USDT) || s->track || s->prog.uses_usym) && (e = child_run_to_exec(s->child)))
		return e;
	if (s->prog.uses_usym && (s->child || s->o->pid)) // so that names are found after it is gone
		sym_pid_remember(s->syms, s->child ? child_pid(s->child) : s->o->pid);
	settle_stacks(s);
	if (s->otel)
		otel_scan(s->otel);
	if (tool && tool->loaded)
		tool->loaded(tool->arg, &s->rc);
	if (s->o->verbose)
		say_memory(s);
	e = probes_attach(&s->env, &s->prog, s->at, &n);
	s->rc.places_left_out = s->env.left_out;
	s->rc.unsure_kstacks = s->env.unsure_kstacks;
	session_show_diags(s); // places that were skipped
	if (e)
		return e;
	s->rc.attached = n;
	n -= s->env.nwatchfns; // not the script's own
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		enum ProbeKind k = s->prog.progs.p[i]->kind;
		n += k == PK_BEGIN || k == PK_END || k == PK_SELF || (k == PK_TEST && s->o->mode == MODE_TEST) || (k == PK_BENCH && s->o->mode == MODE_BENCH);
	}
	if (!s->o->dry_run && s->o->mode == MODE_TRACE)
		loop_hold_signals();
	if (!s->o->dry_run || s->o->json) { // a dry run has no results
		outfile_begin(&s->output);
		packets_begin(s->rc.packets);
	}
	if (own) // what iterators find is part of the start
		read_iterators(s);
	if (tool && tool->started && (e = tool->started(tool->arg, &s->rc)))
		return e;
	if (!own && !s->o->quiet && s->o->mode == MODE_TRACE && !(s->o->dry_run && s->o->as_bpftrace))
		s->render.ops->attached(&s->render, n);
	s->render.ops->flush(&s->render);
	notify_ready();
	if (s->o->dry_run)
		return NULL;
	if (s->o->mode == MODE_TEST)
		return session_run_tests(s);
	if (s->o->mode == MODE_BENCH)
		return session_run_benches(s);
	if (s->child && (e = child_go(s->child)))
		return e;
	if ((e = privs_drop())) {
		fprintf(stderr, "WARNING: privileges are kept: %s\n", err_text(e));
		err_free(e);
	}
	if (!own)
		read_iterators(s);
	VEC(int) sigs = {0};
	for (size_t i = 0; i < s->prog.progs.n; i++)
		if (s->prog.progs.p[i]->kind == PK_SELF)
			vec_push(&sigs, s->prog.progs.p[i]->points.v.p[0]->sig);
	struct LoopOpts lo = {.child = s->child, .pids = s->pids.p, .npids = (u32)s->pids.n, .duration_ns = s->o->duration_ns, .on_signal = on_signal, .sigs = sigs.p,
			      .nsigs = (u32)sigs.n, .sig_arg = s};
	lo.once = runs_once(s) && !s->child; // a command runs to its end
	if (tool && tool->goes_on) {
		lo.goes_on = session_goes_on;
		lo.goes_on_arg = s;
	}
	if (tool && tool->tick) {
		lo.on_tick = session_tick;
		lo.tick_ns = tool->tick_ns;
		lo.tick_arg = s;
	}
	e = loop_run(&s->rc, s->ring, &lo);
	vec_deinit(&sigs);
	return e;
}

static struct err *finish(struct Session *s)
{
	struct err *e = NULL;
	if (s->o->tool && s->o->tool->stopped && (e = s->o->tool->stopped(s->o->tool->arg, &s->rc)))
		return e;
	s->rc.calls_missed = attachments_missed(s->at);
	s->rc.cpus_lost = cpus_away(s, &s->rc.cpu_lost, &s->rc.cpus_again);
	s->rc.cpus_unwatched = cpus_unwatched(s, &s->rc.cpu_unwatched);
	attachments_destroy(s->at);
	s->at = NULL;
	newcpus_stop(s->newcpus);
	s->newcpus = NULL;
	await_put_off(&s->rc);
	watches_end(&s->env);
	packets_close(s->rc.packets);
	s->rc.packets = NULL;
	if (s->ring)
		loop_drain(&s->rc, s->ring);
	s->rc.exiting = false; // exit() ended the tracing; what the end probes say counts again
	if ((e = run_kind(s, PK_END, 0)))
		return e;
	if (s->ring)
		loop_drain(&s->rc, s->ring);
	const struct ToolRun *tool = s->o->tool;
	bool own = tool && !tool->script;
	report_sites(&s->rc);
	if (!own && !(tool && tool->bare))
		s->render.ops->end(&s->render);
	if (!own && s->o->mode != MODE_BENCH) // how often is no result
		e = print_maps(s);
	if (!e && tool)
		e = tool->report(tool->arg, &s->rc, true);
	s->rc.cut_told = s->o->why_incomplete;
	report_losses(&s->rc);
	if (s->o->why_incomplete && (s->prog.uses_ustack || s->prog.uses_kstack)) {
		struct StackEnds ends;
		stacks_ends(&s->prog, s->syms, &s->arena, &ends);
		s->render.ops->ends(&s->render, &ends);
	}
	s->render.ops->flush(&s->render);
	if (s->o->strict && s->rc.losses)
		s->rc.exit_code = LOSS_STATUS;
	return e;
}

struct err *session_trace(struct Session *s)
{
	struct err *e;
	if (program_map(&s->prog, "sonde_events") && (e = ring_open(&s->prog, &s->ring)))
		return e;
	s->otel = otel_create(&s->prog, s->syms);
	s->rc = (struct RunCtx){.prog = &s->prog, .syms = s->syms, .track = s->track, .otel = s->otel, .render = &s->render, .warnings = s->o->warnings, .is_tool = s->o->tool && !s->o->tool->script,
				.start_ns = clock_ns(CLOCK_BOOTTIME), .on_watch = on_watch, .watch_arg = s, .set_period = set_period, .cpus_away = cpus_away, .cpus_fd = cpus_fd, .cpus_come = cpus_come, .period_arg = s, .mark_cut = !s->o->as_bpftrace, .as_bpftrace = s->o->as_bpftrace};
	s->rc.stacks = stacks_create(&s->prog, s->syms);
	stacks_use_codes(s->rc.stacks, track_codes(s->track));
	if (s->track && s->o->lazy_tables)
		stacks_tell_frames(s->rc.stacks, track_used, s->track);
	if ((e = packets_open(&s->rc, &s->rc.packets)))
		return e;
	if ((e = attach_and_trace(s)))
		return e;
	return s->o->dry_run ? NULL : finish(s);
}
