// Executable mappings, forks, execs and exits as the kernel reports them. Input: ring buffers of per-CPU software events that record nothing
// but these (perf_event_open(2): attr.mmap2, attr.task, attr.comm_exec). Output: struct MapEvent.
// Invariant: a record lost by the kernel is passed on as MAPEV_LOST; records are copied out before use, the buffer is shared memory. What is there is given
// in the order of its times; a process may change its CPU in the middle of an execve(2), and of an older record the CPU may not have been read in time. A record may come
// twice in a row, from both sets of buffers, when one takes over from the other.
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include "track/internal.h"

#define RING_PAGES 16 // per CPU, a power of two; a record is about 100 bytes

struct Ring1 {
	int fd;
	bool gathers; // it wakes who polls when it is half full; else at each record, which costs whoever caused that an interrupt to itself, some 8 us
	struct perf_event_mmap_page *page;
	u64 head, tail; // of what is read now
	u64 time;	// of the record at tail
};
struct MapEvents {
	VEC(struct Ring1) rings;
	size_t page_size;
	bool both; // a ring of either kind per CPU
	_Alignas(8) u8 rec[65536]; // one record (its size is a u16) and a 0
};

static size_t ring_bytes(const struct MapEvents *m)
{
	return m->page_size * (RING_PAGES + 1);
}

static int open_cpu(struct MapEvents *m, int cpu, bool gathers, bool disabled)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = disabled,
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.exclude_kernel = 1,
		.sample_id_all = 1, // each record ends with its time
		.sample_type = PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1, // wakeup_events counts samples only (kernel/events/core.c, perf_output_sample)
		.wakeup_watermark = gathers ? (u32)(m->page_size * RING_PAGES / 2) : 1,
	};
	int fd = sys_perf_event_open(&attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fd;
	void *p = mmap(NULL, ring_bytes(m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		int e = errno;
		close(fd);
		return -e;
	}
	struct Ring1 r = {.fd = fd, .gathers = gathers, .page = p};
	vec_push(&m->rings, r);
	return 0;
}

static void close_ring(const struct MapEvents *m, const struct Ring1 *r)
{
	munmap(r->page, ring_bytes(m));
	close(r->fd);
}

static int open_set(struct MapEvents *m, bool gather, bool disabled)
{
	long ncpu = sysconf(_SC_NPROCESSORS_CONF);
	int rc = 0;
	for (int cpu = 0; cpu < ncpu; cpu++) {
		int e = open_cpu(m, cpu, gather, disabled);
		if (e && e != -ENODEV) // offline
			rc = e;
	}
	return rc;
}

struct err *mapev_open(struct MapEvents **out, bool seldom)
{
	struct MapEvents *m = xcalloc(1, sizeof(*m));

	m->page_size = (size_t)sysconf(_SC_PAGESIZE);
	int rc = open_set(m, seldom, false);
	if (rc || !m->rings.n) {
		mapev_close(m);
		return err_errno(rc ? -rc : ENODEV, "cannot watch which code processes map (perf_event_open)");
	}
	*out = m;
	return NULL;
}

void mapev_open_gathering(struct MapEvents *m)
{
	size_t had = m->rings.n;
	m->both = !open_set(m, true, true);
	while (!m->both && m->rings.n > had)
		close_ring(m, &m->rings.p[--m->rings.n]);
}

// What begins does so before the other ends.
bool mapev_gather(struct MapEvents *m, bool on)
{
	for (int begins = 1; m->both && begins >= 0; begins--)
		for (size_t i = 0; i < m->rings.n; i++)
			if ((m->rings.p[i].gathers == on) == begins)
				ioctl(m->rings.p[i].fd, begins ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	return m->both;
}

bool mapev_has_file(const struct MapEvent *e)
{
	return e->path[0] == '/' && e->path[1] != '/' && e->ino && strncmp(e->path, "/dev/zero", 9); // "//anon"; shared memory
}

void mapev_close(struct MapEvents *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->rings.n; i++)
		close_ring(m, &m->rings.p[i]);
	vec_deinit(&m->rings);
	free(m);
}

u32 mapev_count(const struct MapEvents *m)
{
	return m->rings.n;
}

int mapev_fd(const struct MapEvents *m, u32 i)
{
	return m->rings.p[i].fd;
}

struct RecMmap2 {
	struct perf_event_header h;
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;
	char path[];
};
struct RecTask { // FORK, EXIT
	struct perf_event_header h;
	u32 pid, ppid, tid, ptid;
	u64 time;
};
struct RecComm {
	struct perf_event_header h;
	u32 pid, tid;
	char comm[];
};

// rec: a whole record of h->size bytes, followed by a 0.
static void decode(const struct perf_event_header *h, u64 time, void (*fn)(void *, const struct MapEvent *), void *arg)
{
	struct MapEvent e = {0};

	if (h->type == PERF_RECORD_MMAP2 && h->size > sizeof(struct RecMmap2)) {
		const struct RecMmap2 *r = (const void *)h;
		if (r->addr + r->len <= r->addr)
			return;
		e = (struct MapEvent){.kind = MAPEV_MMAP, .tgid = (int)r->pid, .start = r->addr, .end = r->addr + r->len, .off = r->pgoff,
				      .ino = r->ino, .major = r->maj, .minor = r->min, .path = r->path};
	} else if (h->type == PERF_RECORD_COMM && h->size >= sizeof(struct RecComm) && h->misc & PERF_RECORD_MISC_COMM_EXEC) {
		e.kind = MAPEV_EXEC;
		e.tgid = (int)((const struct RecComm *)h)->pid;
	} else if ((h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT) && h->size >= sizeof(struct RecTask)) {
		const struct RecTask *r = (const void *)h;
		if (r->pid != r->tid) // a thread
			return;
		e.kind = h->type == PERF_RECORD_FORK ? MAPEV_FORK : MAPEV_EXIT;
		e.tgid = (int)r->pid;
		e.parent = (int)r->ppid;
	} else if (h->type == PERF_RECORD_LOST) {
		e.kind = MAPEV_LOST;
	} else {
		return;
	}
	e.time = time;
	if (e.tgid > 0 || e.kind == MAPEV_LOST)
		fn(arg, &e);
}

static void copy_out(const struct MapEvents *m, const struct Ring1 *r, u64 at, void *dst, size_t n)
{
	const u8 *data = (const u8 *)r->page + m->page_size;
	size_t size = m->page_size * RING_PAGES, off = at & (size - 1), part = MIN(n, size - off);
	memcpy(dst, data + off, part);
	memcpy((u8 *)dst + part, data, n - part);
}

// Is there a record at the tail? Sets its time.
static bool peek(const struct MapEvents *m, struct Ring1 *r)
{
	struct perf_event_header h;

	if (r->tail >= r->head)
		return false;
	copy_out(m, r, r->tail, &h, sizeof(h));
	if (h.size < sizeof(h) + sizeof(r->time) || h.size > r->head - r->tail) { // not as documented: give up what is there
		r->tail = r->head;
		return false;
	}
	copy_out(m, r, r->tail + h.size - sizeof(r->time), &r->time, sizeof(r->time));
	return true;
}

static void take(struct MapEvents *m, struct Ring1 *r, void (*fn)(void *, const struct MapEvent *), void *arg)
{
	struct perf_event_header *h = (void *)m->rec;

	copy_out(m, r, r->tail, m->rec, sizeof(*h));
	u16 size = h->size;
	copy_out(m, r, r->tail, m->rec, size);
	m->rec[size] = 0;
	decode(h, r->time, fn, arg);
	r->tail += size;
}

void mapev_read(struct MapEvents *m, void (*fn)(void *, const struct MapEvent *), void *arg)
{
	struct Ring1 *oldest;

	for (size_t i = 0; i < m->rings.n; i++) {
		struct Ring1 *r = &m->rings.p[i];
		r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		r->tail = r->page->data_tail;
	}
	do {
		oldest = NULL;
		for (size_t i = 0; i < m->rings.n; i++) {
			struct Ring1 *r = &m->rings.p[i];
			if (peek(m, r) && (!oldest || r->time < oldest->time))
				oldest = r;
		}
		if (oldest)
			take(m, oldest, fn, arg);
	} while (oldest);
	for (size_t i = 0; i < m->rings.n; i++)
		__atomic_store_n(&m->rings.p[i].page->data_tail, m->rings.p[i].head, __ATOMIC_RELEASE);
}
