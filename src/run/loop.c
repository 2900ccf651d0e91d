// The event loop.
// In: a ring buffer, processes to watch, timers, signals. Out: handled records. Invariant: a record that is in the ring when the loop ends was
// handled; nothing waits longer than the kernel's wake-up, or a second should that get lost.
#include "run/run.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#define GOES_ON_NS 100000000ULL
#define LOOK_MS 1000 // the ring is looked at so often although nobody woke us: an event like exit() comes once, and then nothing follows it
enum LoopSource { SRC_RING, SRC_CHILD, SRC_PID, SRC_SIGNAL, SRC_PACKETS, SRC_CPUS };

// Signal handlers have no argument to reach us by: this is the only process-wide state, set up by loop_run.
static struct {
	volatile sig_atomic_t interrupts;
	volatile sig_atomic_t pending[NSIG]; // signals of self:signal probes
	volatile u64 first;		     // CLOCK_MONOTONIC of the first interrupt
	volatile int wake;		     // eventfd, -1 before the first loop
} sigs = {.wake = -1};

static void wake(void)
{
	int e = errno;
	u64 one = 1;
	if (sigs.wake >= 0 && write(sigs.wake, &one, sizeof(one)) < 0)
		(void)0; // the counter is full: it is readable anyway
	errno = e;
}

// The first one ends the loop, a second one the process as soon as the report is out, only a third one at once, without it. timeout(1) sends its
// signal twice, to us and to our group: one INTERRUPT_GAP_NS after another is the same.
#define INTERRUPT_GAP_NS 300000000ULL
static void on_interrupt(int sig)
{
	static volatile u64 last; // the handler's own
	u64 now = now_ns();
	if (sigs.interrupts && now - last < INTERRUPT_GAP_NS)
		return;
	last = now;
	if (!sigs.interrupts)
		sigs.first = now;
	if (++sigs.interrupts > 2) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	wake();
}

static void on_self_signal(int sig)
{
	if (sig > 0 && sig < NSIG)
		sigs.pending[sig] = 1;
	wake();
}

u32 loop_interrupts(void)
{
	return (u32)sigs.interrupts;
}

void loop_hold_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static struct err *catch_signals(const struct LoopOpts *o)
{
	struct sigaction sa = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
	if (sigs.wake < 0) {
		sigs.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (sigs.wake < 0)
			return err_errno(errno, "eventfd");
	}
	sigaddset(&sa.sa_mask, SIGINT);
	sigaddset(&sa.sa_mask, SIGTERM);
	sigaddset(&sa.sa_mask, SIGHUP);
	sigset_t held = sa.sa_mask;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	struct sigaction hup;
	if (!sigaction(SIGHUP, NULL, &hup) && hup.sa_handler != SIG_IGN) // nohup(1)
		sigaction(SIGHUP, &sa, NULL);
	pthread_sigmask(SIG_UNBLOCK, &held, NULL); // loop_hold_signals
	sa.sa_handler = on_self_signal;
	for (u32 i = 0; i < o->nsigs; i++)
		if (o->sigs[i] > 0 && o->sigs[i] < NSIG && sigaction(o->sigs[i], &sa, NULL))
			return err_errno(errno, "self:signal: signal %d cannot be caught", o->sigs[i]);
	return NULL;
}

struct Loop {
	struct RunCtx *rc;
	struct Ring *ring;
	const struct LoopOpts *o;
	int ep, pidfd;
	u32 next_pid;		 // of o->pids, after the one that pidfd stands for
	u64 deadline, next_tick, next_ask; // CLOCK_MONOTONIC, 0 none
	bool done;
};

static struct err *watch(struct Loop *l, int fd, enum LoopSource src)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = src};
	if (fd < 0 || !epoll_ctl(l->ep, EPOLL_CTL_ADD, fd, &ev))
		return NULL;
	return err_errno(errno, "epoll_ctl");
}

// Who has interrupted waits for commands of events before that, but not for ever; who does it twice waits for none.
#define COMMANDS_NS 3000000000ULL
static bool is_over(void)
{
	return sigs.interrupts > 1 || (sigs.interrupts && now_ns() - sigs.first > COMMANDS_NS);
}

// The loop looks at its timers and signals after each command of system(): what the command does may be events again, and they would go on for ever.
static bool on_record(void *arg, const void *data, size_t n)
{
	struct RunCtx *rc = arg;
	rc->ran_command = false;
	rc->no_commands = is_over();
	event_handle(rc, data, n);
	return !rc->ran_command;
}

void loop_drain(struct RunCtx *rc, struct Ring *ring)
{
	if (ring) {
		rc->render->batch = true;
		while (ring_consume(ring, on_record, rc))
			;
		rc->render->batch = false;
	}
	rc->render->ops->flush(rc->render);
}

// The processes of -p are watched one at a time: a list of thousands takes one descriptor. One that has ended by its turn is known to have at once.
// Without one that is left, o->goes_on decides.
static struct err *watch_next_pid(struct Loop *l)
{
	const struct LoopOpts *o = l->o;
	if (l->pidfd >= 0)
		close(l->pidfd); // leaves the epoll set
	l->pidfd = -1;
	while (l->next_pid < o->npids) {
		int pid = o->pids[l->next_pid++];
		l->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (l->pidfd >= 0)
			return watch(l, l->pidfd, SRC_PID);
		if (errno == EINVAL || errno == ENOENT) // pidfd_open wants the thread group's leader; a thread's end goes unnoticed
			return NULL;
		if (errno != ESRCH)
			return err_errno(errno, "pidfd_open(%d)", pid);
	}
	l->done |= !o->goes_on;
	l->next_ask = o->goes_on ? now_ns() : 0;
	return NULL;
}

// One sweep over what is in the ring; the output of the sweep is written at its end.
static void sweep(struct Loop *l)
{
	struct Render *r = l->rc->render;
	r->batch = true;
	ring_consume(l->ring, on_record, l->rc);
	r->batch = false;
	if (r->mode != BUF_FULL)
		r->ops->flush(r);
	report_lost_events(l->rc);
	if (ferror(r->out)) // the reader is gone and SIGPIPE is ignored
		l->done = true;
}

static void run_self_signals(struct Loop *l)
{
	u64 n;
	if (read(sigs.wake, &n, sizeof(n)) < 0)
		return;
	for (int s = 1; s < NSIG; s++) {
		if (!sigs.pending[s])
			continue;
		sigs.pending[s] = 0;
		if (l->o->on_signal)
			l->o->on_signal(l->o->sig_arg, s);
	}
}

static struct err *handle_source(struct Loop *l, enum LoopSource src)
{
	struct err *e = NULL;
	switch (src) {
	case SRC_RING:
		sweep(l);
		break;
	case SRC_CHILD:
		l->done = true;
		break;
	case SRC_PID:
		e = watch_next_pid(l);
		break;
	case SRC_SIGNAL:
		run_self_signals(l);
		break;
	case SRC_PACKETS:
		packets_take(l->rc->packets);
		break;
	case SRC_CPUS:
		l->rc->cpus_come(l->rc->period_arg);
		break;
	}
	return e;
}

static void handle_timers(struct Loop *l)
{
	u64 now = l->deadline || l->next_tick || l->next_ask ? now_ns() : 0;
	if (l->next_ask && now >= l->next_ask) {
		l->next_ask = now + GOES_ON_NS;
		l->done |= !l->o->goes_on(l->o->goes_on_arg);
	}
	if (l->next_tick && now >= l->next_tick) {
		l->next_tick += l->o->tick_ns;
		if (l->next_tick <= now) // late: no burst of ticks
			l->next_tick = now + l->o->tick_ns;
		if (!l->o->on_tick(l->o->tick_arg))
			l->done = true;
	}
	if (l->deadline && now >= l->deadline)
		l->done = true;
}

static int timeout_ms(const struct Loop *l)
{
	u64 next = l->deadline;
	if (l->next_tick && (!next || l->next_tick < next))
		next = l->next_tick;
	if (l->next_ask && (!next || l->next_ask < next))
		next = l->next_ask;
	u64 longest = l->ring ? (u64)LOOK_MS : 3600000ULL;
	if (!next)
		return (int)longest;
	u64 now = now_ns();
	return next <= now ? 0 : (int)MIN((next - now + 999999) / 1000000, longest);
}

static struct err *loop_setup(struct Loop *l)
{
	const struct LoopOpts *o = l->o;
	l->ep = epoll_create1(EPOLL_CLOEXEC);
	if (l->ep < 0)
		return err_errno(errno, "epoll_create");
	struct err *e = catch_signals(o);
	if (!e)
		e = watch(l, sigs.wake, SRC_SIGNAL);
	if (!e && l->ring)
		e = watch(l, ring_fd(l->ring), SRC_RING);
	if (!e && o->child)
		e = watch(l, child_fd(o->child), SRC_CHILD);
	if (!e && (o->npids || o->goes_on))
		e = watch_next_pid(l);
	if (!e && l->rc->packets)
		e = watch(l, packets_fd(l->rc->packets), SRC_PACKETS);
	if (!e && l->rc->cpus_fd)
		e = watch(l, l->rc->cpus_fd(l->rc->period_arg), SRC_CPUS);
	u64 now = o->duration_ns || o->tick_ns ? now_ns() : 0;
	l->deadline = o->duration_ns ? now + o->duration_ns : 0;
	l->next_tick = o->on_tick && o->tick_ns ? now + o->tick_ns : 0;
	return e;
}

struct err *loop_run(struct RunCtx *rc, struct Ring *ring, const struct LoopOpts *o)
{
	struct Loop l = {.rc = rc, .ring = ring, .o = o, .ep = -1, .pidfd = -1};
	struct err *e = loop_setup(&l);
	if (!e && ring) // what BEGIN has sent
		sweep(&l);
	while (!e && !l.done && !rc->exiting && !o->once && !sigs.interrupts) {
		struct epoll_event ev[8];
		int n = epoll_wait(l.ep, ev, ARRAY_LEN(ev), timeout_ms(&l));
		if (n < 0 && errno != EINTR)
			e = err_errno(errno, "epoll_wait");
		for (int i = 0; !e && i < n; i++)
			e = handle_source(&l, ev[i].data.u32);
		if (!n && ring)
			sweep(&l);
		handle_timers(&l);
	}
	if (!e) // those that came with what ended the loop
		run_self_signals(&l);
	if (!e && ring && !rc->exiting) { // records from before the end; without an interrupt the others' turn comes once nothing is attached
		do
			sweep(&l);
		while (rc->ran_command && sigs.interrupts);
		rc->exiting |= sigs.interrupts != 0;
	}
	rc->render->ops->flush(rc->render);
	if (l.pidfd >= 0)
		close(l.pidfd);
	if (l.ep >= 0)
		close(l.ep);
	return e;
}
