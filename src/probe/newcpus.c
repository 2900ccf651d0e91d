// Processors that come while sonde traces, for the first time or again. In: events that each processor is to have, with their programs. Out: the same events on those that come.
// The kernel takes an event off a processor that goes (away.c). Whoever reads other people's processes may not attach any more by then (base/privs.c), so a process of its own
// does it, sonde-cpus: it is begun before anything of others' is read, hears the kernel's messages of processors and of sonde nothing but what to attach before tracing, and hands the
// events back, switched off: sonde gives them the rate of the day and switches them on. Invariant: it ends when the socket to sonde does.
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "probe/internal.h"

#define ASKS 64 // events that each processor has: more are not taken up, and told as missed

struct Ask {
	struct perf_event_attr attr;
	u64 cookie;
};
struct Came {
	u32 ask;
	int cpu, error;
};
struct NewCpus {
	int sock;
	pid_t pid;
	u32 n;
	bool hz[ASKS]; // its rate is a frequency
};

// ---- messages with descriptors
#define FDS 2
union Control {
	struct cmsghdr head;
	char room[CMSG_SPACE(FDS * sizeof(int))];
};

static bool send_fds(int sock, const void *data, size_t size, const int *fds, u32 nfds)
{
	union Control c = {0};
	struct iovec v = {(void *)data, size};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	if (nfds) {
		m.msg_control = &c;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(nfds * sizeof(int))};
		memcpy(CMSG_DATA(&c.head), fds, nfds * sizeof(int));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

// Bytes; 0: the other side has ended, -1: nothing is there. Descriptors that are not there are -1.
static ssize_t take_fds(int sock, void *data, size_t size, int fds[FDS])
{
	union Control c = {0};
	struct iovec v = {data, size};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
	fds[0] = fds[1] = -1;
	ssize_t n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (h && h->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(h), MIN(h->cmsg_len - CMSG_LEN(0), FDS * sizeof(int)));
	return n;
}

static void close_fds(const int fds[FDS])
{
	for (u32 i = 0; i < FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

// ---- sonde-cpus
struct Helper {
	int sock, uevents;
	u32 n;
	struct Ask asks[ASKS];
	int progs[ASKS];
};

// The event, switched off, and its link (-1 before Linux 5.15); -errno.
static int open_on(const struct Ask *a, int prog, int cpu, int fds[FDS])
{
	struct perf_event_attr attr = a->attr;
	attr.disabled = 1;
	fds[1] = -1;
	fds[0] = sys_perf_event_open(&attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fds[0] < 0)
		return fds[0];
	fds[1] = sys_link_perf_event(prog, fds[0], a->cookie);
	if (fds[1] >= 0 || (fds[1] == -EINVAL && !ioctl(fds[0], PERF_EVENT_IOC_SET_BPF, prog)))
		return 0;
	return fds[1];
}

static void cpu_came(struct Helper *h, int cpu)
{
	for (u32 i = 0; i < h->n; i++) {
		int fds[FDS];
		struct Came c = {i, cpu, open_on(&h->asks[i], h->progs[i], cpu, fds)};
		send_fds(h->sock, &c, sizeof(c), fds, c.error ? 0 : fds[1] >= 0 ? 2 : 1);
		close_fds(fds);
	}
}

// "online@/devices/system/cpu/cpu3" and more behind it, from the kernel (nl_pid 0). Resuming tells it likewise (kernel/cpu.c, thaw_secondary_cpus).
static void uevent(struct Helper *h)
{
	char text[4096];
	struct sockaddr_nl from = {0};
	socklen_t len = sizeof(from);
	int cpu;
	ssize_t n = recvfrom(h->uevents, text, sizeof(text) - 1, MSG_DONTWAIT, (struct sockaddr *)&from, &len);
	if (n <= 0 || from.nl_pid)
		return;
	text[n] = 0;
	if (sscanf(text, "online@/devices/system/cpu/cpu%d", &cpu) == 1)
		cpu_came(h, cpu);
}

static bool take_ask(struct Helper *h) // false: sonde has ended
{
	struct Ask a;
	int fds[FDS];
	ssize_t n = take_fds(h->sock, &a, sizeof(a), fds);
	if (n == sizeof(a) && fds[0] >= 0 && h->n < ASKS) {
		h->progs[h->n] = fds[0];
		h->asks[h->n++] = a;
	} else
		close_fds(fds);
	return n != 0;
}

static void help(int sock)
{
	static struct Helper h;
	struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = 1}; // the kernel's
	keep_only("sonde-cpus", &sock, 1);
	h.sock = sock;
	h.uevents = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	if (h.uevents < 0 || bind(h.uevents, (struct sockaddr *)&all, sizeof(all)))
		_exit(0);
	privs_plan(&(struct PrivPlan){.attach = true});
	err_free(privs_drop());
	struct pollfd p[] = {{sock, POLLIN, 0}, {h.uevents, POLLIN, 0}};
	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			_exit(0);
		if (p[0].revents && !take_ask(&h))
			_exit(0);
		if (p[1].revents && !p[0].revents)
			uevent(&h);
	}
}

// ---- sonde
struct NewCpus *newcpus_start(void)
{
	int pair[2];
	if (access("/sys/devices/system/cpu/hotplug/states", F_OK) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return NULL;
	pid_t pid = fork();
	if (!pid)
		help(pair[1]);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return NULL;
	}
	struct NewCpus *c = xcalloc(1, sizeof(*c));
	c->sock = pair[0];
	c->pid = pid;
	return c;
}

void newcpus_stop(struct NewCpus *c)
{
	int status;
	if (!c)
		return;
	if (c->sock >= 0)
		close(c->sock);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	free(c);
}

int newcpus_fd(const struct NewCpus *c)
{
	return c ? c->sock : -1;
}

u32 newcpus_ask(struct NewCpus *c, int prog_fd, u64 cookie, const struct perf_event_attr *attr)
{
	struct Ask a = {*attr, cookie};
	if (!c || c->sock < 0 || c->n >= ASKS)
		return 0;
	a.attr.size = sizeof(a.attr);
	a.attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	if (!send_fds(c->sock, &a, sizeof(a), &prog_fd, 1))
		return 0;
	c->hz[c->n++] = attr->freq;
	return c->n;
}

void newcpus_take(struct NewCpus *c, struct Attachments *at)
{
	struct Came came;
	int fds[FDS];
	ssize_t n;
	while (c && c->sock >= 0 && (n = take_fds(c->sock, &came, sizeof(came), fds)) >= 0) {
		if (n != sizeof(came)) { // it has ended
			close_fds(fds);
			close(c->sock);
			c->sock = -1;
			return;
		}
		if (came.error || fds[0] < 0 || came.ask >= c->n)
			attachments_cpu_failed(at, came.cpu);
		else if (!attachments_cpu_came(at, came.ask + 1, came.cpu, fds[0], fds[1], c->hz[came.ask]))
			close_fds(fds);
	}
}
