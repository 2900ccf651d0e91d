// The unwinder's user side as a whole: sizes of its maps, the thread that tracks processes, the thread that builds tables. Input: the Program
// whose code calls rt_ustack. Invariant: everything here only adds to what the kernel side can do; a failure leaves it with frame pointers,
// and says so in the stacks' reasons.
#include <errno.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <bpf/libbpf.h>
#include "base/base.h"
#include "runtime/runtime.h"
#include "track/internal.h"

#define TICK_MS 500
#define SOON_MS 10
#define LAZY_MS 20 // for who has time
#define JIT_MS 100 // while some process tells of code it makes, or its objects are not known yet: how often it is looked at

struct Track {
	struct Program *prog;
	struct Syms *syms;
	struct TrackOpts opts;
	struct MapEvents *events; // NULL: the kernel does not tell, only rt_uw_events does
	struct ring_buffer *ring;
	struct Procs *procs;
	struct Tables *tables;
	struct Jvms *jvms; // NULL: nobody asks
	struct Jits *jits; // NULL: there are no tables
	struct Codes *codes;
	pthread_t tracker;
	bool started;
	int wake_fd; // eventfd: the tracker shall look at stop and rounds
	pthread_mutex_t lock;
	pthread_cond_t round_done;
	bool stop;
	const struct TrackFirst *first; // for the next round; track_first waits for it
	VEC(u32) first_objs;
	u64 wanted, rounds; // passes the tracker shall make, and has made
	bool pending; // processes whose objects are not all known
	bool asked;   // a process was read since it was last looked what they map
	bool on_demand; // processes are followed once a stack was taken of them
	struct Pace *pace; // NULL: records are read as they come
};

static void wake(void *track)
{
	struct Track *u = track;
	u64 one = 1;
	if (write(u->wake_fd, &one, sizeof(one)) != sizeof(one))
		assert(!"eventfd"); // its counter cannot overflow: the tracker reads it
}

// One pass of the tracker from its start on.
static void wait_round(struct Track *u)
{
	pthread_mutex_lock(&u->lock);
	u64 goal = ++u->wanted;
	wake(u);
	while (u->rounds < goal)
		pthread_cond_wait(&u->round_done, &u->lock);
	pthread_mutex_unlock(&u->lock);
}

// Code objects that are in the ring buffer.
static void on_late(void *arg)
{
	struct Track *u = arg;
	if (u->started)
		wait_round(u);
}

struct Codes *track_codes(struct Track *u)
{
	return u ? u->codes : NULL;
}

struct err *track_create(struct Program *prog, struct Syms *syms, const struct TrackOpts *o, struct Track **out)
{
	struct Track *u = xcalloc(1, sizeof(*u));
	struct MapDef *maps = program_map(prog, "rt_uw_maps");
	u32 no = 0, yes = 1;

	u->prog = prog;
	u->syms = syms;
	u->opts = *o;
	u->wake_fd = -1;
	u->codes = codes_create();
	codes_set_late(u->codes, on_late, u);
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->round_done, NULL);
	*out = u;
	if (!maps)
		return NULL;
	if (!feature_has(FEAT_NO_PREALLOC)) // its memory is taken at once (stack/setup.c)
		maps->max_entries = 4096;
	if (!feature_has(FEAT_TASK_PT_REGS))
		link_set_const(prog, "rt_uw_pt_regs", &no, sizeof(no));
	if (prog->uses_async)
		link_set_const(prog, "rt_py_async_asked", &yes, sizeof(yes));
	if (prog->uses_lang_func)
		link_set_const(prog, "rt_lang_func_asked", &yes, sizeof(yes));
	bool tree = kernoff_set(prog);
	u->on_demand = tree && o->lazy && !o->npids;
	u->pace = tree && !o->lazy && !o->npids ? pace_create(prog, syms) : NULL;
	u64 dev, ino;
	if (own_pid_namespace(&dev, &ino)) {
		link_set_const(prog, "rt_ns_dev", &dev, sizeof(dev));
		link_set_const(prog, "rt_ns_ino", &ino, sizeof(ino));
	}
	return NULL;
}

static int map_fd(const struct Program *prog, const char *name)
{
	const struct MapDef *m = program_map(prog, name);
	return m ? m->fd : -1;
}

// ---- the tracker thread
static void add_code(struct Track *u, const struct RtCodeNew *code, size_t n)
{
	struct RtScriptAt at;
	codes_add(u->codes, code, n);
	if (u->jvms && codes_wants_script(u->codes, code, n, &at))
		jvms_script(u->jvms, (int)at.tgid, u->codes, code);
}

static int on_ring(void *arg, void *data, size_t n)
{
	struct Track *u = arg;
	const struct RtProcNew *ev = data;
	if (n >= sizeof(struct RtEvent) && ev->ev.kind == RT_EV_CODE)
		add_code(u, data, n);
	if (n >= sizeof(*ev) && ev->ev.kind == RT_EV_JIT)
		jits_asked(u->jits, (int)ev->tgid);
	if (n >= sizeof(*ev) && ev->ev.kind == RT_EV_RECORDS && ev->tgid) // the records were read before this
		uwprocs_may_ask(u->procs, (u32)ev->tgid);
	if (n >= sizeof(*ev) && ev->ev.kind == RT_EV_UW_PAGE && u->tables)
		tables_page(u->tables, ev->ev.id, ev->tgid);
	if (n < sizeof(*ev) || ev->ev.kind != RT_EV_PROC_NEW)
		return 0;
	if (!ev->ev.id) {
		uwprocs_asked(u->procs, (int)ev->tgid);
		u->asked = true;
	} else if (u->tables)
		tables_hurry(u->tables, ev->ev.id);
	return 0;
}

static bool look(void *arg, int tgid, const struct ProcMap *maps, size_t n)
{
	struct Track *u = arg;
	bool done = !u->jvms || jvms_look(u->jvms, tgid, maps, n);
	done &= jits_look(u->jits, tgid, maps, n);
	u->pending |= !done;
	return done;
}

static void on_record(void *arg, const struct MapEvent *e)
{
	struct Track *u = arg;
	if (u->pace)
		pace_record(u->pace, e);
	uwprocs_event(u->procs, e);
}

static bool track_round(struct Track *u, bool tick) // true: there is more to do soon
{
	if (u->events)
		mapev_read(u->events, on_record, u);
	bool more = uwprocs_settle(u->procs);
	u->pending = false;
	if (u->tables && tables_again(u->tables))
		uwprocs_look_again(u->procs);
	if (u->jits && (tablemaps_any_java(tables_maps(u->tables)) || tablemaps_any_jit(tables_maps(u->tables))))
		uwprocs_look(u->procs, look, u);
	if (u->jits)
		more |= jits_round(u->jits, tick);
	u->asked = false;
	if (u->ring)
		ring_buffer__consume(u->ring);
	return more || u->asked;
}

static void on_first(void *arg, struct SymObject *o)
{
	struct Track *u = arg;
	vec_push(&u->first_objs, o->id);
	if (u->tables)
		tables_hurry(u->tables, o->id);
}

// False: the thread shall end.
static bool woken(struct Track *u, bool by_wake)
{
	u64 n;
	pthread_mutex_lock(&u->lock);
	bool stop = u->stop;
	if (by_wake && read(u->wake_fd, &n, sizeof(n)) == sizeof(n)) {
		u64 rounds = u->wanted;
		const struct TrackFirst *first = u->rounds < rounds ? u->first : NULL; // its owner waits for this round
		pthread_mutex_unlock(&u->lock);
		track_round(u, false);
		for (size_t i = 0; first && i < first->pids.n; i++)
			uwprocs_first(u->procs, first->pids.p[i], NULL, on_first, u);
		for (size_t i = 0; first && i < first->paths.n; i++)
			uwprocs_first(u->procs, 0, first->paths.p[i], on_first, u);
		pthread_mutex_lock(&u->lock);
		u->rounds = rounds;
		pthread_cond_broadcast(&u->round_done);
	}
	pthread_mutex_unlock(&u->lock);
	return !stop;
}

static int wait_ms(const struct Track *u, bool more)
{
	int ms = more ? SOON_MS : u->pending || (u->jits && jits_any(u->jits) && !u->opts.lazy) ? JIT_MS : TICK_MS;
	return u->pace ? pace_wait_ms(u->pace, ms) : ms;
}

static void *track(void *arg)
{
	struct Track *u = arg;
	if (u->events && u->pace)
		pace_start(u->pace, u->events);
	u32 nev = u->events ? mapev_count(u->events) : 0, n = 0;
	struct pollfd *fds = xcalloc(nev + 2, sizeof(*fds));
	u64 next_tick = now_ns(), next_jit = next_tick;
	bool more = false;

	// Stacks of a new process lack its mappings until we have run: before it, if the scheduler lets us. It is microseconds for an exec. Both are a
	// thread's own (sched_setscheduler(2), setpriority(2)). The builder of tables has priority 1 at its start.
	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 2}))
		setpriority(PRIO_PROCESS, 0, -20);
	err_free(privs_drop()); // the main thread says what does not go
	fds[n++] = (struct pollfd){u->wake_fd, POLLIN, 0};
	if (u->ring)
		fds[n++] = (struct pollfd){ring_buffer__epoll_fd(u->ring), POLLIN, 0};
	for (u32 i = 0; i < nev; i++)
		fds[n++] = (struct pollfd){mapev_fd(u->events, i), POLLIN, 0};
	for (;;) {
		if (poll(fds, n, wait_ms(u, more)) < 0) {
			if (errno != EINTR)
				break;
			fds[0].revents = 0; // of the poll before: a read of the eventfd would wait
		}
		if (!woken(u, fds[0].revents))
			break;
		u64 now = now_ns();
		more = track_round(u, now >= next_jit);
		if (u->pace && pace_set(u->pace, now))
			more |= track_round(u, false);
		if (u->opts.lazy) // what comes meanwhile is read at once: a program's start is some 20 records
			poll(fds, 1, LAZY_MS);
		next_jit = now >= next_jit ? now + JIT_MS * 1000000ull : next_jit;
		if (now >= next_tick) {
			uwprocs_tick(u->procs, now);
			next_tick = now + TICK_MS * 1000000ull;
		}
	}
	free(fds);
	return NULL;
}

static void on_gone(void *arg, int tgid)
{
	struct Track *u = arg;
	jvms_gone(u->jvms, tgid);
	jits_gone(u->jits, tgid);
}

static void on_object(void *arg, struct SymObject *o, bool named)
{
	struct Track *u = arg;
	if (u->tables)
		tables_need(u->tables, o, named);
}

struct err *track_start(struct Track *u)
{
	int maps = map_fd(u->prog, "rt_uw_maps"), ring = map_fd(u->prog, "rt_uw_events");
	struct ProcsOps ops = {on_object, on_gone, u};
	struct err *e;

	if (maps < 0)
		return NULL;
	if (!u->opts.fp_only && map_fd(u->prog, "rt_uw_rules") >= 0) { // else every stack is by frame pointers
		e = tables_create(u->prog, u->opts.lazy, u->opts.tables_cpu, &u->tables);
		if (e)
			return e;
		tables_on_found(u->tables, wake, u);
	}
	int jvms = map_fd(u->prog, "rt_jvms");
	u->jvms = u->tables && jvms >= 0 ? jvms_create(jvms, u->tables) : NULL;
	struct ProcsMaps fds = {maps, map_fd(u->prog, "rt_uw_asked"), map_fd(u->prog, "rt_uw_files")};
	u->procs = uwprocs_create(u->syms, &fds, &u->opts, u->on_demand, &ops);
	e = mapev_open(&u->events, u->on_demand); // before the scan: nothing is missed between
	if (e && u->opts.verbose)
		fprintf(stderr, "sonde: %s: processes that start later are found by their first stack\n", err_text(e));
	err_free(e);
	int jits = map_fd(u->prog, "rt_jits");
	u->jits = u->tables && jits >= 0 ? jits_create(jits, u->syms, u->tables, u->procs, u->jvms) : NULL;
	u->ring = ring >= 0 ? ring_buffer__new(ring, on_ring, u, NULL) : NULL;
	uwprocs_scan(u->procs);
	u->wake_fd = eventfd(0, EFD_CLOEXEC);
	int rc = u->wake_fd < 0 ? errno : 0;
	e = u->tables && !rc ? tables_start(u->tables) : NULL;
	if (e)
		return e;
	rc = rc ? rc : thread_start(&u->tracker, NULL, track, u);
	if (rc)
		return err_errno(rc, "cannot start the thread that tracks processes");
	u->started = true;
	return NULL;
}

void track_settle(struct Track *u, u32 max_ms)
{
	if (!u->started)
		return;
	wait_round(u);
	if (u->tables)
		tables_wait(u->tables, now_ns() + (max_ms ? max_ms : 3600000u) * 1000000ull);
}

void track_first(struct Track *u, const struct TrackFirst *f, u32 max_ms)
{
	u64 end = now_ns() + max_ms * 1000000ull;
	if (!u->started)
		return;
	pthread_mutex_lock(&u->lock);
	u->first = f;
	pthread_mutex_unlock(&u->lock);
	wait_round(u);
	pthread_mutex_lock(&u->lock);
	u->first = NULL;
	pthread_mutex_unlock(&u->lock);
	if (u->tables)
		tables_wait_for(u->tables, u->first_objs.p, (u32)u->first_objs.n, end);
	u->first_objs.n = 0;
	if (u->tables && (tablemaps_any_java(tables_maps(u->tables)) || tablemaps_any_jit(tables_maps(u->tables)))) // which was not known before
		wait_round(u);
	if (u->tables)
		tables_wait_made(u->tables, end);
}

u64 track_memory(const struct Track *u)
{
	return u && u->tables ? tablemaps_bytes(tables_maps(u->tables)) : 0;
}

void track_used(void *track, u32 obj, u64 off)
{
	struct Track *u = track;
	if (u->tables)
		tablemaps_used(tables_maps(u->tables), obj, off);
}

void track_trim(struct Track *u)
{
	if (u && u->tables)
		tables_trim(u->tables);
}

void track_report(struct Track *u)
{
	if (u && u->procs)
		uwprocs_report(u->procs);
}

u32 track_denied(struct Track *u)
{
	return u && u->procs ? uwprocs_denied(u->procs) : 0;
}

u32 track_made_refused(struct Track *u)
{
	return u && u->jits ? __atomic_load_n(&u->jits->nrefused, __ATOMIC_RELAXED) : 0;
}

bool track_made_stale(struct Track *u)
{
	return u && u->jits && __atomic_load_n(&u->jits->stale, __ATOMIC_RELAXED);
}

bool track_objects_stale(struct Track *u)
{
	struct rlimit r;
	if (!u || !u->procs || getrlimit(RLIMIT_NOFILE, &r)) // each has a descriptor, too
		return false;
	u32 room = (u32)MIN(r.rlim_max, (rlim_t)RT_UW_OBJS);
	return sym_object_count(u->syms) > room / 4 * 3 && sym_object_gone(u->syms) > room / 2;
}

void track_destroy(struct Track *u)
{
	if (!u)
		return;
	if (u->started) {
		pthread_mutex_lock(&u->lock);
		u->stop = true;
		pthread_mutex_unlock(&u->lock);
		wake(u);
		pthread_join(u->tracker, NULL);
	}
	tables_destroy(u->tables);
	if (u->wake_fd >= 0)
		close(u->wake_fd);
	ring_buffer__free(u->ring);
	mapev_close(u->events);
	uwprocs_destroy(u->procs);
	pace_destroy(u->pace);
	jvms_destroy(u->jvms);
	jits_destroy(u->jits);
	codes_destroy(u->codes);
	vec_deinit(&u->first_objs);
	pthread_cond_destroy(&u->round_done);
	pthread_mutex_destroy(&u->lock);
	free(u);
}
