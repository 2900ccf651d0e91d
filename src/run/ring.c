// Consumer of the BPF ring buffer "sonde_events".
// In: the map. Out: records, in the order they were reserved. Invariant: a record is given back to the kernel only after the callback has
// returned. Layout and memory order: Documentation/bpf/ringbuf.rst and kernel/bpf/ringbuf.c.
#include "run/run.h"
#include "bpf/bpf.h"
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>

struct Ring {
	int fd; // the map's, not owned
	size_t size, page;
	u64 *consumer; // page 0, writable
	const u64 *producer; // page 1; the data follow, mapped twice in a row so that no record wraps
	const u8 *data;
};

struct err *ring_open(struct Program *p, struct Ring **out)
{
	struct MapDef *m = program_map(p, "sonde_events");
	*out = NULL;
	if (!m)
		return NULL; // the programs send nothing
	struct Ring *r = xcalloc(1, sizeof(*r));
	r->fd = m->fd;
	r->size = m->max_entries;
	r->page = (size_t)sysconf(_SC_PAGESIZE);
	void *c = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	void *d = c == MAP_FAILED ? MAP_FAILED : mmap(NULL, r->page + 2 * r->size, PROT_READ, MAP_SHARED, m->fd, (off_t)r->page);
	if (d == MAP_FAILED) {
		int e = errno;
		if (c != MAP_FAILED)
			munmap(c, r->page);
		free(r);
		return err_errno(e, "cannot map the event buffer (%u bytes)", m->max_entries);
	}
	r->consumer = c;
	r->producer = d;
	r->data = (const u8 *)d + r->page;
	*out = r;
	return NULL;
}

int ring_fd(struct Ring *r)
{
	return r->fd;
}

// Records that were complete when it was called; stops at one still being written (its writer wakes us when done). Returns how many.
u32 ring_consume(struct Ring *r, void (*fn)(void *, const void *data, size_t n), void *arg)
{
	u64 end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE), pos = *r->consumer;
	u32 n = 0;
	while (pos < end) {
		const u32 *head = (const u32 *)(r->data + (pos & (r->size - 1)));
		u32 len = __atomic_load_n(head, __ATOMIC_ACQUIRE);
		if (len & BPF_RINGBUF_BUSY_BIT)
			break;
		u32 bytes = len & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (!(len & BPF_RINGBUF_DISCARD_BIT)) {
			fn(arg, head + 2, bytes);
			n++;
		}
		pos += ALIGN_UP((u64)bytes + BPF_RINGBUF_HDR_SZ, 8u);
		__atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
	}
	return n;
}

void ring_close(struct Ring *r)
{
	if (!r)
		return;
	munmap(r->consumer, r->page);
	munmap((void *)r->producer, r->page + 2 * r->size);
	free(r);
}
