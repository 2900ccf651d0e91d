// What tracing costs the machine beside this process's own time and memory: the time that its programs run in the kernel, and the memory of its maps.
// In: the loaded programs and maps. Out: nanoseconds, bytes. Invariant: the kernel counts the time of programs (of all there are on the machine, some 40 ns a run) while
// somebody has asked it to, so one second in ten is measured and stands for all.
#include "bpf/bpf.h"
#include "run/run.h"
#include <linux/bpf.h>
#include <unistd.h>

#define MEASURED_NS 900000000ull // of a second's tick
#define AGAIN_NS 9000000000ull	 // then it rests

void cost_begin(struct RunCost *c)
{
	*c = (struct RunCost){.stats_fd = -1, .last_ns = now_ns()};
}

// timers: of those that sample by time
static u64 programs_ns(const struct Program *p, u64 *timers)
{
	u64 sum = 0;
	*timers = 0;
	for (size_t i = 0; i < p->progs.n; i++) {
		struct bpf_prog_info info = {0};
		u32 len = sizeof(info);
		if (p->progs.p[i]->fd >= 0 && sys_obj_info(p->progs.p[i]->fd, &info, &len) == 0) {
			sum += info.run_time_ns;
			*timers += p->progs.p[i]->kind == PK_PROFILE ? info.run_time_ns : 0;
		}
	}
	return sum;
}

static void measured(struct RunCost *c, const struct Program *p, u64 now)
{
	u64 timers, ran = programs_ns(p, &timers);
	double lasted = (double)(now - c->began_ns);
	c->share = (double)(ran - MIN(ran, c->began_run_ns)) / lasted;
	c->timers = (double)(timers - MIN(timers, c->began_timers_ns)) / lasted;
	close(c->stats_fd);
	c->stats_fd = -1;
	c->next_ns = now + AGAIN_NS;
}

void cost_tick(struct RunCost *c, const struct Program *p, u64 now)
{
	if (c->stats_fd >= 0 && now - c->began_ns >= MEASURED_NS)
		measured(c, p, now);
	else if (c->stats_fd < 0 && now >= c->next_ns) {
		c->stats_fd = sys_enable_stats();
		c->began_ns = now;
		c->began_run_ns = programs_ns(p, &c->began_timers_ns);
		c->stale = false;
		c->next_ns = now + AGAIN_NS; // where the kernel has no such statistics (before 5.8) or lets us have none
		c->unknown = c->stats_fd < 0;
	}
	c->kernel_ns += (u64)(c->share * (double)(now - c->last_ns));
	c->last_ns = now;
}

void cost_changed(struct RunCost *c)
{
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	c->stats_fd = -1;
	c->next_ns = 0;
	c->stale = !c->unknown;
}

void cost_end(struct RunCost *c)
{
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	c->stats_fd = -1;
}

// "memlock" of a map's descriptor (bpf_map_show_fdinfo): since Linux 6.4 what it has, before that what it may come to have.
u64 cost_map_memory(int fd)
{
	char path[40];
	struct Str text = {0};
	unsigned long long n = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	struct err *e = read_file(path, &text, 4096);
	const char *at = e ? NULL : strstr(str_text(&text), "\nmemlock:");
	if (at)
		sscanf(at + 9, "%llu", &n);
	err_free(e);
	str_deinit(&text);
	return n;
}

// Does the kernel say what maps have, or what they may come to have? One that may hold 64 MB, and is empty, tells.
static bool kernel_knows(void)
{
	static int known = -1;
	if (known < 0) {
		struct SysMap m = {BPF_MAP_TYPE_HASH, 8, 1 << 16, 1024, BPF_F_NO_PREALLOC, "sonde_memory", 0};
		int fd = sys_map_create(&m);
		known = fd >= 0 && cost_map_memory(fd) < 16u << 20;
		if (fd >= 0)
			close(fd);
	}
	return known;
}

void cost_per_cpu(const struct Program *p, u64 *now, u64 *most)
{
	*now = *most = 0;
	for (size_t i = 0; i < p->maps.n; i++) {
		const struct MapDef *m = p->maps.p[i];
		bool array = m->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY, hash = m->bpf_type == BPF_MAP_TYPE_PERCPU_HASH || m->bpf_type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
		u64 all = (u64)m->max_entries * ALIGN_UP(m->value_size, 8) * possible_cpus();
		*most += array || hash ? all : 0;
		*now += array || (hash && !(m->flags & BPF_F_NO_PREALLOC)) ? all : 0;
	}
}

u64 cost_memory(const struct Program *p, const struct Track *t)
{
	u64 sum = track_memory(t);
	bool known = kernel_knows();
	for (size_t i = 0; i < p->maps.n; i++) {
		const struct MapDef *m = p->maps.p[i];
		if (m->fd >= 0 && !m->mmapped && (known || !(m->flags & BPF_F_NO_PREALLOC))) // what is mapped is resident memory of ours
			sum += cost_map_memory(m->fd);
	}
	return sum;
}
