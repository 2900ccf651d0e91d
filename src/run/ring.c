// Consumer of the BPF ring buffer "sonde_events", by libbpf.
// In: the map. Out: records, in the order they were reserved. Invariant: a record is given back to the kernel only after the callback has
// returned, and one call ends although programs write as fast as it reads.
#include "run/run.h"
#include <bpf/libbpf.h>
#include <errno.h>

#define ROUND 65536 // records of one call at most: then the loop looks at its timers and signals, and comes again

struct Ring {
	struct ring_buffer *rb;
	bool (*fn)(void *, const void *, size_t); // of ring_consume, which is running
	void *arg;
	u32 n;
};

static int on_record(void *arg, void *data, size_t n)
{
	struct Ring *r = arg;
	bool more = r->fn(r->arg, data, n);
	return ++r->n < ROUND && more ? 0 : -EAGAIN; // the record has been taken
}

struct err *ring_open(struct Program *p, struct Ring **out)
{
	struct MapDef *m = program_map(p, "sonde_events");
	*out = NULL;
	if (!m)
		return NULL; // the programs send nothing
	struct Ring *r = xcalloc(1, sizeof(*r));
	r->rb = ring_buffer__new(m->fd, on_record, r, NULL);
	if (!r->rb) {
		int e = errno;
		free(r);
		return err_errno(e, "cannot map the event buffer (%u bytes)", m->max_entries);
	}
	*out = r;
	return NULL;
}

int ring_fd(struct Ring *r)
{
	return ring_buffer__epoll_fd(r->rb);
}

// Records that are complete; stops at one still being written (its writer wakes us when done). Returns how many.
u32 ring_consume(struct Ring *r, bool (*fn)(void *, const void *data, size_t n), void *arg)
{
	r->fn = fn;
	r->arg = arg;
	r->n = 0;
	ring_buffer__consume(r->rb);
	return r->n;
}

void ring_close(struct Ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->rb);
	free(r);
}
