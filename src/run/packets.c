// skboutput(): packets -> pcap files. In: samples of the per-CPU perf events in the map sonde_packets, each a struct RtPacket and the packet.
// Out: one file a path, raw IP packets with nanoseconds (the pcap savefile format, LINKTYPE_RAW). Invariant: a sample is copied out before
// its room is given back; lost ones are counted and reported at the end.
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include "base/base.h"
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "run/run.h"

#define PACKET_PAGES 256 // per CPU; perf_rb_pages asks for more
#define LINKTYPE_RAW 101

struct PacketRing {
	int fd;
	struct perf_event_mmap_page *page;
};
struct Packets {
	struct RunCtx *rc;
	VEC(struct PacketRing) rings;
	VEC(struct OutFile) files;
	struct OutFile **by_site; // n of them, NULL for sites that are no packets
	size_t nsites, page, bytes; // bytes: data of one ring
	int ep;
	u64 lost;
	u8 rec[1 << 16]; // a record's size is a u16
};

struct PcapHead {
	u32 magic;
	u16 major, minor;
	u32 zone, accuracy, snaplen, linktype;
};
struct PcapRecord {
	u32 sec, nsec, len, original;
};

static struct err *open_ring(struct Packets *p, struct MapDef *m, int cpu)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_BPF_OUTPUT, .sample_period = 1,
				       .sample_type = PERF_SAMPLE_RAW, .wakeup_events = 1};
	int fd = sys_perf_event_open(&attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd == -ENODEV) // the CPU is offline
		return NULL;
	if (fd < 0)
		return err_errno(-fd, "skboutput: perf event on CPU %d", cpu);
	struct PacketRing r = {fd, mmap(NULL, p->page + p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)};
	if (r.page == MAP_FAILED) {
		int e = errno;
		close(fd);
		return err_errno(e, "skboutput: a buffer of %zu bytes for CPU %d", p->bytes, cpu);
	}
	vec_push(&p->rings, r);
	struct epoll_event ev = {.events = EPOLLIN};
	int rc = sys_map_update(m->fd, &cpu, &fd, BPF_ANY);
	if (rc < 0)
		return err_errno(-rc, "skboutput: CPU %d", cpu);
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) || epoll_ctl(p->ep, EPOLL_CTL_ADD, fd, &ev))
		return err_errno(errno, "skboutput: CPU %d", cpu);
	return NULL;
}

static struct err *open_file(struct Packets *p, const char *path)
{
	for (size_t i = 0; i < p->files.n; i++)
		if (!strcmp(p->files.p[i].path, path))
			return NULL;
	struct OutFile file;
	struct err *e = outfile_open(&file, path);
	if (e)
		return err_wrap(e, "skboutput");
	for (size_t i = 0; !e && i < p->files.n; i++)
		if (outfile_is(&file, p->files.p[i].path))
			e = err_new("skboutput: %s and %s are the same file", p->files.p[i].path, path);
	vec_push(&p->files, file);
	return e;
}

static struct err *open_files(struct Packets *p, const struct Program *prog)
{
	struct err *e;
	p->nsites = prog->fmts.n;
	p->by_site = xcalloc(p->nsites + 1, sizeof(*p->by_site));
	for (size_t i = 0; i < prog->fmts.n; i++)
		if (prog->fmts.p[i]->kind == FK_SKB && (e = open_file(p, prog->fmts.p[i]->fmt)))
			return e;
	for (size_t i = 0; i < prog->fmts.n; i++)
		for (size_t k = 0; k < p->files.n && prog->fmts.p[i]->kind == FK_SKB; k++)
			if (!strcmp(p->files.p[k].path, prog->fmts.p[i]->fmt))
				p->by_site[i] = &p->files.p[k];
	return NULL;
}

struct err *packets_open(struct RunCtx *rc, struct Packets **out)
{
	struct MapDef *m = program_map(rc->prog, "sonde_packets");
	*out = NULL;
	if (!m)
		return NULL;
	struct Packets *p = xcalloc(1, sizeof(*p));
	u64 pages = PACKET_PAGES;
	while (pages < rc->prog->config.perf_rb_pages && pages < 1 << 16)
		pages *= 2;
	*p = (struct Packets){.rc = rc, .page = (size_t)sysconf(_SC_PAGESIZE), .ep = epoll_create1(EPOLL_CLOEXEC)};
	p->bytes = pages * p->page;
	struct err *e = p->ep < 0 ? err_errno(errno, "epoll_create") : open_files(p, rc->prog);
	for (u32 cpu = 0; !e && cpu < m->max_entries; cpu++)
		e = open_ring(p, m, (int)cpu);
	if (e)
		packets_close(p);
	else
		*out = p;
	return e;
}

void packets_begin(struct Packets *p)
{
	struct PcapHead h = {.magic = 0xa1b23c4d, .major = 2, .minor = 4, .snaplen = 0x40000, .linktype = LINKTYPE_RAW};
	for (size_t i = 0; p && i < p->files.n; i++) {
		outfile_begin(&p->files.p[i]);
		fwrite(&h, sizeof(h), 1, p->files.p[i].f);
	}
}

int packets_fd(const struct Packets *p)
{
	return p->ep;
}

// raw: a struct RtPacket and the packet's bytes, with padding behind.
static void write_packet(struct Packets *p, const u8 *raw, u32 size)
{
	struct RtPacket h;
	if (size < sizeof(h))
		return;
	memcpy(&h, raw, sizeof(h));
	struct OutFile *file = h.site < p->nsites ? p->by_site[h.site] : NULL;
	if (!file || h.len > size - sizeof(h) || h.offset > h.len)
		return;
	u64 t = h.nsecs + (u64)clock_to_wall(p->rc, CLOCK_BOOTTIME);
	u32 len = h.len - h.offset;
	struct PcapRecord r = {(u32)(t / 1000000000), (u32)(t % 1000000000), len, len};
	fwrite(&r, sizeof(r), 1, file->f);
	fwrite(raw + sizeof(h) + h.offset, 1, len, file->f);
}

static void take_record(struct Packets *p, const struct perf_event_header *h)
{
	const u8 *body = (const u8 *)(h + 1);
	u32 size;
	if (h->type == PERF_RECORD_LOST && h->size >= sizeof(*h) + 16) {
		u64 lost;
		memcpy(&lost, body + 8, 8); // after the event's id
		p->lost += lost;
	} else if (h->type == PERF_RECORD_SAMPLE && h->size >= sizeof(*h) + 4) {
		memcpy(&size, body, 4);
		write_packet(p, body + 4, MIN(size, (u32)(h->size - sizeof(*h) - 4)));
	}
}

void packets_take(struct Packets *p)
{
	for (size_t i = 0; p && i < p->rings.n; i++) {
		struct perf_event_mmap_page *page = p->rings.p[i].page;
		const u8 *data = (const u8 *)page + p->page;
		u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
		while (tail < head) {
			struct perf_event_header h;
			for (size_t k = 0; k < sizeof(h); k++)
				((u8 *)&h)[k] = data[(tail + k) % p->bytes];
			if (h.size < sizeof(h) || h.size > head - tail)
				break; // not ours to understand: skipped below
			size_t at = tail % p->bytes, first = MIN((size_t)h.size, p->bytes - at);
			memcpy(p->rec, data + at, first);
			memcpy(p->rec + first, data, h.size - first);
			take_record(p, (const void *)p->rec);
			tail += h.size;
		}
		__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	}
}

void packets_close(struct Packets *p)
{
	struct err *e;
	if (!p)
		return;
	packets_take(p);
	for (size_t i = 0; i < p->rings.n; i++) {
		munmap(p->rings.p[i].page, p->page + p->bytes);
		close(p->rings.p[i].fd);
	}
	for (size_t i = 0; i < p->files.n; i++)
		if ((e = outfile_close(&p->files.p[i]))) {
			fprintf(stderr, "WARNING: %s\n", err_text(e));
			err_free(e);
		}
	p->rc->packets_lost += p->lost;
	if (p->ep >= 0)
		close(p->ep);
	vec_deinit(&p->rings);
	vec_deinit(&p->files);
	free(p->by_site);
	free(p);
}
