// Processors that perf events do not see any more. Input: events of single processors, and since when. Output: how many processors were away for a time, or came later.
// The kernel takes an event off a processor that goes offline (kernel/events/core.c, perf_event_exit_cpu) and does not put it back; nor is there an event of a processor that
// came after the start. It tells nobody, but the time for which it had the event (PERF_FORMAT_TOTAL_TIME_ENABLED) stands still. Suspending the machine takes all but one offline.
#include <unistd.h>
#include "probe/internal.h"

#define SKEW_NS 100000000ull // the two clocks may differ, and the event begins a little before it is noted
#define SKEW_PART 500 // ... and by that part of the time: adjtimex(2) may change one of them by 1 in 2,000

struct Counted { // read(2) of such an event
	u64 value, enabled_ns;
};

static bool was_away(const struct CpuEvent *e, u64 now)
{
	struct Counted c;
	if (read(e->fd, &c, sizeof(c)) != sizeof(c))
		return true;
	return c.enabled_ns + SKEW_NS + (now - e->since_ns) / SKEW_PART < now - e->since_ns;
}

static bool has_cpu(const int *cpus, u32 n, int cpu)
{
	for (u32 i = 0; i < n; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

static void add_cpu(CpuList *away, int cpu)
{
	if (!has_cpu(away->p, (u32)away->n, cpu))
		vec_push(away, cpu);
}

// Processors that are there now, and have no event though others have.
static void add_new(const struct CpuEvent *v, size_t n, CpuList *away)
{
	int *cpus;
	u32 ncpus;
	struct err *e = online_cpus(&cpus, &ncpus);
	for (u32 i = 0; !e && i < ncpus; i++) {
		bool seen = false, everywhere = false;
		for (size_t k = 0; k < n; k++) {
			everywhere |= v[k].everywhere;
			seen |= v[k].everywhere && v[k].cpu == cpus[i];
		}
		if (everywhere && !seen)
			add_cpu(away, cpus[i]);
	}
	if (!e)
		free(cpus);
	err_free(e);
}

u32 attachments_away(const struct Attachments *at, int *cpu)
{
	CpuList away = {0};
	size_t n = 0;
	const struct CpuEvent *v = at ? attachments_cpus(at, &n) : NULL;
	u64 now = now_ns();
	for (size_t i = 0; i < n; i++)
		if (was_away(&v[i], now))
			add_cpu(&away, v[i].cpu);
	add_new(v, n, &away);
	u32 found = (u32)away.n;
	if (found)
		*cpu = away.p[0];
	vec_deinit(&away);
	return found;
}
