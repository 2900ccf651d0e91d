// Processors that perf events do not see any more. Input: events of single processors, and since when. Output: how many processors were away for a time, or came later.
// newcpus.c makes new events for processors that come; what is told here is where it could not, and the moments until it did.
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
static void add_new(const struct CpuEvent *v, size_t n, const int *cpus, u32 ncpus, CpuList *away)
{
	for (u32 i = 0; i < ncpus; i++) {
		bool seen = false, everywhere = false;
		for (size_t k = 0; k < n; k++) {
			everywhere |= v[k].everywhere;
			seen |= v[k].everywhere && v[k].cpu == cpus[i];
		}
		if (everywhere && !seen)
			add_cpu(away, cpus[i]);
	}
}

// One that is away still, of which it would have been heard had it come in between, has run nothing that was not seen.
static bool is_only_away(const struct Attachments *at, const struct CpuEvent *e, const int *cpus, u32 ncpus)
{
	return e->group && newcpus_fd(attachments_newcpus(at)) >= 0 && ncpus && !has_cpu(cpus, ncpus, e->cpu);
}

u32 attachments_away(const struct Attachments *at, int *cpu, bool *again)
{
	CpuList away = {0};
	const CpuList *failed;
	size_t n = 0;
	int *cpus = NULL;
	u32 ncpus = 0;
	if (!at)
		return 0;
	const CpuList *came = attachments_came(at, &failed);
	const struct CpuEvent *v = attachments_cpus(at, &n);
	u64 now = now_ns();
	err_free(online_cpus(&cpus, &ncpus));
	for (size_t i = 0; i < n; i++)
		if (was_away(&v[i], now) && !is_only_away(at, &v[i], cpus, ncpus))
			add_cpu(&away, v[i].cpu);
	add_new(v, n, cpus, ncpus, &away);
	for (size_t i = 0; i < failed->n; i++)
		add_cpu(&away, failed->p[i]);
	*again = !away.n;
	for (size_t i = 0; i < came->n; i++)
		add_cpu(&away, came->p[i]);
	u32 found = (u32)away.n;
	if (found)
		*cpu = away.p[0];
	vec_deinit(&away);
	free(cpus);
	return found;
}
