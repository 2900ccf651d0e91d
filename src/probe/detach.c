// What is attached, and its end. Every descriptor of an attachment has one owner: struct Attachments.
// Detaching has a quick half and a slow one. Closing the links stops the programs; each close waits for grace periods of RCU, so many are
// closed side by side. After that the perf events of tracepoints and probes are empty, but taking one down waits for another grace period
// under the kernel's event_mutex, one after the other, 35 ms each (kernel/trace/trace_event_perf.c, perf_trace_event_unreg): a script on
// 700 system calls would hang for half a minute at Ctrl-C. Several such events are therefore left to a child process that does nothing but
// exit.
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "probe/internal.h"

enum { LINK_PERF_EVENT = 7, LINK_KPROBE_MULTI = 8, EVENT_KPROBE = 3, EVENT_KRETPROBE = 4 }; // enum bpf_link_type, bpf_perf_event_type
typedef VEC(int) FdList;
struct Attachments {
	FdList links, perfs;
	FdList slow;	    // perf events without a program once their links are closed
	FdList iters;	    // of links
	FdList timers;	    // perf events of perfs whose rate is a frequency
	VEC(struct CpuEvent) cpus; // those of perfs that see one processor only
	int last_link;	    // of the event added last; -1: none
	struct NewCpus *newcpus; // borrowed
	CpuList came, failed; // processors that came: with events, without
	u64 period_ns;	    // that was set; 0: that of the script
	VEC(char *) pins;
	VEC(char *) defs;   // definitions of trace events, and what takes one away
	void (*undefine)(const char *event);
	u32 ndefs;	    // names given so far
	int guard;	    // pipe to the process that removes definitions when this one is gone; 0 none
	u64 n;
};

struct Attachments *attachments_create(void)
{
	return xcalloc(1, sizeof(struct Attachments));
}

void attachments_add(struct Attachments *at, int link_fd, int perf_fd)
{
	attachments_add_event(at, link_fd, perf_fd, false);
}

void attachments_add_event(struct Attachments *at, int link_fd, int perf_fd, bool slow)
{
	at->last_link = link_fd;
	if (link_fd >= 0)
		vec_push(&at->links, link_fd);
	if (perf_fd >= 0 && slow)
		vec_push(&at->slow, perf_fd);
	else if (perf_fd >= 0)
		vec_push(&at->perfs, perf_fd);
}

size_t attachments_events(const struct Attachments *at)
{
	return at->perfs.n;
}

void attachments_add_timers(struct Attachments *at, size_t from)
{
	for (size_t i = from; i < at->perfs.n; i++)
		vec_push(&at->timers, at->perfs.p[i]);
}

void attachments_add_cpu(struct Attachments *at, int cpu)
{
	vec_push(&at->cpus, ((struct CpuEvent){vec_last(&at->perfs), at->last_link, cpu, false, 0, now_ns()}));
}

void attachments_everywhere(struct Attachments *at, size_t from, u32 group)
{
	for (size_t i = from; i < at->cpus.n; i++) {
		at->cpus.p[i].everywhere = true;
		at->cpus.p[i].group = group;
	}
}

const struct CpuEvent *attachments_cpus(const struct Attachments *at, size_t *n)
{
	*n = at->cpus.n;
	return at->cpus.p;
}

// ---- processors that come
void attachments_use(struct Attachments *at, struct NewCpus *c)
{
	at->newcpus = c;
}

struct NewCpus *attachments_newcpus(const struct Attachments *at)
{
	return at->newcpus;
}

const CpuList *attachments_came(const struct Attachments *at, const CpuList **failed)
{
	*failed = &at->failed;
	return &at->came;
}

static void list_cpu(CpuList *l, int cpu)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->p[i] == cpu)
			return;
	vec_push(l, cpu);
}

void attachments_cpu_failed(struct Attachments *at, int cpu)
{
	list_cpu(&at->failed, cpu);
}

// Does its time go on?
static bool still_counts(int fd)
{
	u64 first[2], then[2];
	if (read(fd, first, sizeof(first)) != sizeof(first))
		return false;
	for (u64 start = now_ns(); now_ns() - start < 100000;)
		;
	return read(fd, then, sizeof(then)) == sizeof(then) && then[1] > first[1];
}

// Out of the list; it is closed by the caller.
static void forget_fd(FdList *l, int fd)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->p[i] == fd) {
			l->p[i] = l->p[--l->n];
			return;
		}
}

static void drop_event(struct Attachments *at, size_t i)
{
	struct CpuEvent e = at->cpus.p[i];
	at->cpus.p[i] = at->cpus.p[--at->cpus.n];
	forget_fd(&at->links, e.link);
	forget_fd(&at->perfs, e.fd);
	forget_fd(&at->timers, e.fd);
	if (e.link >= 0)
		close(e.link);
	close(e.fd);
}

bool attachments_cpu_came(struct Attachments *at, u32 group, int cpu, int perf_fd, int link_fd, bool hz)
{
	for (size_t i = at->cpus.n; i-- > 0;)
		if (at->cpus.p[i].group == group && at->cpus.p[i].cpu == cpu) {
			if (still_counts(at->cpus.p[i].fd))
				return false;
			drop_event(at, i);
		}
	if (hz && at->period_ns && ioctl(perf_fd, PERF_EVENT_IOC_PERIOD, &at->period_ns))
		return false;
	attachments_add_event(at, link_fd, perf_fd, false);
	attachments_add_cpu(at, cpu);
	vec_last(&at->cpus).everywhere = true;
	vec_last(&at->cpus).group = group;
	if (hz)
		vec_push(&at->timers, perf_fd);
	list_cpu(ioctl(perf_fd, PERF_EVENT_IOC_ENABLE, 0) ? &at->failed : &at->came, cpu);
	return true;
}

// The kernel makes a period of a frequency when it opens a clock's event (kernel/events/core.c, perf_swevent_init_hrtimer), so it is one that is set.
struct err *attachments_set_period(struct Attachments *at, u64 period_ns)
{
	at->period_ns = period_ns;
	for (size_t i = 0; i < at->timers.n; i++)
		if (ioctl(at->timers.p[i], PERF_EVENT_IOC_PERIOD, &period_ns))
			return err_errno(errno, "cannot sample every %llu ns", (unsigned long long)period_ns);
	return NULL;
}

void attachments_add_def(struct Attachments *at, const char *event, void (*undefine)(const char *event))
{
	at->undefine = undefine;
	vec_push(&at->defs, xstrdup(event));
}

bool attachments_guarded(const struct Attachments *at)
{
	return at->guard > 0;
}

void attachments_set_guard(struct Attachments *at, int pipe_fd)
{
	at->guard = pipe_fd;
}

u32 attachments_next_def(struct Attachments *at)
{
	return at->ndefs++;
}

void attachments_add_iter(struct Attachments *at, int link_fd)
{
	vec_push(&at->iters, link_fd);
}

int attachments_iter_open(struct Attachments *at, u32 i)
{
	return i < at->iters.n ? sys_iter_create(at->iters.p[i]) : -ENOENT;
}

void attachments_add_pin(struct Attachments *at, const char *path)
{
	vec_push(&at->pins, xstrdup(path));
}

void attachments_count(struct Attachments *at, u64 n)
{
	at->n += n;
}

u64 attachments_counted(const struct Attachments *at)
{
	return at->n;
}

// struct bpf_link_info (include/uapi/linux/bpf.h) of these kinds; headers before 6.7 end earlier.
union LinkInfo {
	struct { u32 type, id, prog_id; } head;
	struct { u64 head[2], addrs; u32 count, flags; u64 missed; } kprobe_multi;
	struct { u64 head[2]; u32 event, pad; u64 name; u32 name_len, offset; u64 addr, missed; } perf;
	u8 all[128];
};

u64 attachments_missed(const struct Attachments *at)
{
	u64 n = 0;
	for (size_t i = 0; at && i < at->links.n; i++) {
		union LinkInfo info = {0};
		u32 len = sizeof(info);
		if (sys_obj_info(at->links.p[i], &info, &len))
			continue;
		if (info.head.type == LINK_KPROBE_MULTI)
			n += info.kprobe_multi.missed;
		else if (info.head.type == LINK_PERF_EVENT && (info.perf.event == EVENT_KPROBE || info.perf.event == EVENT_KRETPROBE))
			n += info.perf.missed;
	}
	return n;
}

// ---- closing side by side
static void close_one(void *fds, size_t i)
{
	close(((const FdList *)fds)->p[i]);
}

// Threads that wait together share grace periods.
#define CLOSE_THREADS 64
static void close_all(FdList *fds)
{
	side_by_side(fds->n, CLOSE_THREADS, close_one, fds);
	fds->n = 0;
}

// ---- the slow half
static int cmp_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

static bool close_between(unsigned from, unsigned to)
{
#ifdef SYS_close_range
	if (from > to || !syscall(SYS_close_range, from, to, 0))
		return true;
#endif
	return false;
}

void become_helper(const char *name, const int *fds, size_t n)
{
	if (fork()) // the grandchild is nobody's zombie
		_exit(0);
	keep_only(name, fds, n);
}

void keep_only(const char *name, const int *fds, size_t n)
{
	unsigned from = 0;
	setsid();
	if (chdir("/")) {
		// stays where it is: only a busy mount would mind
	}
	prctl(PR_SET_NAME, name);
	for (size_t i = 0; i < n; i++) {
		if (fds[i] > 0)
			close_between(from, (unsigned)fds[i] - 1);
		from = (unsigned)fds[i] + 1;
	}
	close_between(from, ~0u);
}

#define LINGER_MIN 2
static void close_slow(FdList *fds, bool now)
{
	pid_t pid = -1;
	int status;
	if (!now && fds->n >= LINGER_MIN) {
		qsort(fds->p, fds->n, sizeof(int), cmp_int);
		pid = fork();
		if (!pid) { // keeps the events alone, so that nobody waits for our end of a pipe; exiting closes them
			become_helper("sonde-detach", fds->p, fds->n);
			_exit(0);
		}
	}
	// With the child holding them these are not the last descriptors; without it (no more processes) they are, and this takes its time.
	for (size_t i = 0; i < fds->n; i++)
		close(fds->p[i]);
	fds->n = 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

static void detach(struct Attachments *at)
{
	close_all(&at->links);
	close_all(&at->perfs);
	close_slow(&at->slow, at->defs.n > 0); // a definition is busy until its event is gone
	at->iters.n = 0;
	at->cpus.n = at->came.n = at->failed.n = 0;
	for (size_t i = 0; i < at->defs.n; i++) {
		at->undefine(at->defs.p[i]);
		free(at->defs.p[i]);
	}
	at->defs.n = 0;
	at->n = 0;
	if (at->guard)
		close(at->guard);
	at->guard = 0;
}

static void forget_pins(struct Attachments *at, bool remove)
{
	for (size_t i = 0; i < at->pins.n; i++) {
		if (remove)
			unlink(at->pins.p[i]);
		free(at->pins.p[i]);
	}
	at->pins.n = 0;
}

void attachments_undo(struct Attachments *at)
{
	forget_pins(at, true);
	detach(at);
}

void attachments_destroy(struct Attachments *at)
{
	if (!at)
		return;
	forget_pins(at, false);
	detach(at);
	vec_deinit(&at->links);
	vec_deinit(&at->perfs);
	vec_deinit(&at->slow);
	vec_deinit(&at->iters);
	vec_deinit(&at->timers);
	vec_deinit(&at->cpus);
	vec_deinit(&at->came);
	vec_deinit(&at->failed);
	vec_deinit(&at->pins);
	vec_deinit(&at->defs);
	free(at);
}
