// What was lost, from the counters the kernel side keeps.
// In: the per-CPU array "rt_counters", the array "rt_sites". Out: lines on stderr, objects in JSON. Invariant: nothing is counted without being reported at the end.
#include "run/run.h"
#include "base/base.h"
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include <errno.h>
#include <linux/bpf.h>
#include <unistd.h>

#define CHECK_NS 1000000000ULL
#define PUT_OFF_MS 20

bool read_counters(struct Program *p, struct RtCounters *out)
{
	memset(out, 0, sizeof(*out));
	struct MapDef *m = program_map(p, "rt_counters");
	if (!m || m->fd < 0)
		return false;
	size_t each = ALIGN_UP((size_t)m->value_size, 8), n = MIN(sizeof(*out), (size_t)m->value_size) / 8;
	bool percpu = m->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY;
	u32 key = 0, cpus = percpu ? possible_cpus() : 1;
	u64 *raw = xcalloc(cpus, each), *sum = (u64 *)out;
	bool ok = !sys_map_lookup(m->fd, &key, raw);
	for (u32 c = 0; ok && c < cpus; c++)
		for (size_t i = 0; i < n; i++)
			sum[i] += raw[c * each / 8 + i];
	free(raw);
	return ok;
}

static void report_new_events(struct RunCtx *rc, const struct RtCounters *c)
{
	u64 lost = c->lost_events + c->scratch_busy;
	if (lost > rc->lost_events)
		rc->render->ops->lost(rc->render, lost - rc->lost_events);
	rc->losses += lost > rc->lost_events;
	rc->lost_events = lost;
}

void report_sites(struct RunCtx *rc)
{
	struct MapDef *m = program_map(rc->prog, "rt_sites");
	if (!m || m->fd < 0 || rc->is_tool)
		return;
	struct RtSite *sites = xcalloc(1, m->value_size);
	u32 key = 0;
	bool ok = !sys_map_lookup(m->fd, &key, sites);
	for (size_t i = 0; ok && i < rc->prog->errsites.n; i++) {
		struct ErrSite *s = rc->prog->errsites.p[i];
		if (!s->counted || (s->slot + 1) * sizeof(*sites) > m->value_size || !sites[s->slot].count)
			continue;
		if (!s->reported)
			report_site(rc, s, sites[s->slot].ret);
		s->reported = true;
	}
	free(sites);
}

void await_put_off(struct RunCtx *rc)
{
	struct RtCounters c;
	for (u32 ms = 0; ms < PUT_OFF_MS && read_counters(rc->prog, &c) && (c.put_off || c.cold); ms++)
		usleep(1000);
}

void report_lost_events(struct RunCtx *rc)
{
	u64 now = now_ns();
	if (now - rc->lost_checked_ns < CHECK_NS)
		return;
	rc->lost_checked_ns = now;
	struct RtCounters c;
	report_sites(rc);
	if (read_counters(rc->prog, &c))
		report_new_events(rc, &c);
}

void report_loss(struct RunCtx *rc, const char *what, u64 n, const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	if (!n)
		return;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	rc->render->ops->loss(rc->render, what, n, str_text(&s));
	rc->losses++;
	str_deinit(&s);
}

// ---- what would have been enough. Each refused update is one key at most, so what there was and what was refused is room for all.

// Updates of m that were refused, by the places of the script. 0: not known by place (-k tells each at once).
static u64 refused_of(struct RunCtx *rc, const struct MapDef *m, const struct RtSite *sites, u32 size)
{
	u64 n = 0;
	for (size_t i = 0; i < rc->prog->errsites.n; i++) {
		const struct ErrSite *s = rc->prog->errsites.p[i];
		if (s->map == m && s->counted && (s->slot + 1) * sizeof(*sites) <= size && sites[s->slot].ret == -E2BIG)
			n += sites[s->slot].count;
	}
	return n;
}

static void map_full(struct RunCtx *rc, const struct MapDef *m, u64 n)
{
	unsigned long long enough = (m ? m->max_entries : rc->prog->config.max_map_keys) + n, now = enough - n;
	const char *of = rc->is_tool || !m ? "maps" : m->name;
	if (rc->is_tool)
		report_loss(rc, "map_full", n, "%llu updates of maps were refused because the map was full; raise --hash-storage-size (%llu now, %llu is enough)",
			    (unsigned long long)n, now, enough);
	else if (m && m->declared)
		report_loss(rc, "map_full", n, "%llu updates of %s were refused because the map was full; raise its size, let %s = ...(%llu): %llu is enough",
			    (unsigned long long)n, of, of, now, enough);
	else
		report_loss(rc, "map_full", n, "%llu updates of %s were refused because the map was full; raise max_map_keys (%llu now, %llu is enough)",
			    (unsigned long long)n, of, now, enough);
}

static void report_full_maps(struct RunCtx *rc, u64 total)
{
	struct MapDef *m = program_map(rc->prog, "rt_sites");
	struct RtSite *sites = m && m->fd >= 0 ? xcalloc(1, m->value_size) : NULL;
	bool known = sites && !sys_map_lookup(m->fd, &(u32){0}, sites);
	u64 told = 0;
	for (size_t i = 0; known && total && i < rc->prog->maps.n; i++) {
		u64 n = MIN(refused_of(rc, rc->prog->maps.p[i], sites, m->value_size), total - told);
		if (n)
			map_full(rc, rc->prog->maps.p[i], n);
		told += n;
	}
	free(sites);
	if (total > told)
		map_full(rc, NULL, total - told);
}

// The buffer that takes all that was lost beside what it took, in pages.
static u64 enough_pages(struct RunCtx *rc, u64 lost)
{
	struct MapDef *m = program_map(rc->prog, "sonde_events");
	u64 record = 256, page = (u64)sysconf(_SC_PAGESIZE), need, pages = 1;
	for (size_t i = 0; i < rc->prog->fmts.n; i++)
		record = MAX(record, rc->prog->fmts.p[i]->size + 32ull);
	if (!m || __builtin_mul_overflow(record, lost, &need) || need > 1u << 30)
		return 0;
	while (pages * page < need + m->max_entries)
		pages *= 2;
	return pages * page <= 1u << 30 ? pages : 0;
}

static void report_lost_output(struct RunCtx *rc, u64 no_room)
{
	struct MapDef *m = program_map(rc->prog, "sonde_events");
	unsigned long long pages = enough_pages(rc, no_room), now = m ? m->max_entries / (u64)sysconf(_SC_PAGESIZE) : 0;
	if (pages && no_room)
		report_loss(rc, "total_lost_events", rc->lost_events, "Total lost event count: %llu; raise perf_rb_pages (%llu now, %llu is enough)",
			    (unsigned long long)rc->lost_events, now, pages);
	else
		report_loss(rc, "total_lost_events", rc->lost_events, "Total lost event count: %llu; a larger perf_rb_pages makes room for more (%llu now)",
			    (unsigned long long)rc->lost_events, now);
}

static void report_lost_stacks(struct RunCtx *rc, const struct RtCounters *c)
{
	u64 most = 0, n = c->stack_full + c->stack_collision;
	for (size_t i = 0; i < rc->prog->maps.n; i++)
		if (!strncmp(rc->prog->maps.p[i]->name, "rt_stacks_", 10))
			most = MAX(most, rc->prog->maps.p[i]->max_entries);
	if (c->stack_full)
		report_loss(rc, "stacks_lost", n, "%llu stack traces could not be stored; raise --stack-storage-size (%llu is enough)", (unsigned long long)n,
			    (unsigned long long)(most + c->stack_full));
	else
		report_loss(rc, "stacks_lost", n, "%llu stack traces could not be stored: others had their numbers", (unsigned long long)n);
}

// Events at which the kernel did not run a program, because it was running one on that CPU already: an event inside another's action, or in an interrupt of it
// (bpf_prog_active and the like, kernel/trace/bpf_trace.c). Linux 5.12 counts those of some kinds, 6.7 of all but samples.
static void report_missed(struct RunCtx *rc)
{
	u64 n = rc->calls_missed;
	for (size_t i = 0; i < rc->prog->progs.n; i++) {
		struct bpf_prog_info info = {0};
		u32 len = sizeof(info);
		if (!rc->prog->progs.p[i]->touch && rc->prog->progs.p[i]->fd > 0 && !sys_obj_info(rc->prog->progs.p[i]->fd, &info, &len))
			n += info.recursion_misses;
	}
	report_loss(rc, "events_missed", n, "%llu events were missed: the kernel runs no program inside another one; trace fewer of them, or do less at each",
		    (unsigned long long)n);
}

static void report_taken_maps(struct RunCtx *rc)
{
	for (u32 i = 0; i < rc->prog->maps.n; i++) {
		const struct MapDef *m = rc->prog->maps.p[i];
		report_loss(rc, "maps_taken_in_use", m->taken_in_use,
			    "%s was printed and cleared %llu times faster than the kernel exchanges maps: what events added in those moments may be missing; print it less often", m->name,
			    (unsigned long long)m->taken_in_use);
	}
}

static void report_wide_sums(struct RunCtx *rc)
{
	for (u32 i = 0; i < rc->prog->maps.n; i++) {
		const struct MapDef *m = rc->prog->maps.p[i];
		bool sgn = m->val && m->val->sgn;
		report_loss(rc, "sums_too_large", m->wide,
			    "sums of %s of %s: %u; that is half of what 64 bits hold, and they may have passed it all and be wrong%s", m->name,
			    sgn ? "2^62 or more, or -2^62 or less" : "2^63 or more", m->wide, sgn ? "" : ". If negative numbers are among them, add (int64)n");
	}
}

void report_losses(struct RunCtx *rc)
{
	struct RtCounters c;
	rc->losses += rc->as_bpftrace && rc->places_left_out; // it says so at the start only
	report_loss(rc, "places_left_out", rc->as_bpftrace ? 0 : rc->places_left_out, "places that were not probed: %llu (the warnings at the start say which)",
		    (unsigned long long)rc->places_left_out);
	report_missed(rc);
	report_loss(rc, "kernel_stacks_cut", rc->unsure_kstacks, "kernel stacks of %llu places may lack their callers or show a wrong one (the warning at the start says why)",
		    (unsigned long long)rc->unsure_kstacks);
	report_loss(rc, "processors_missed", rc->cpus_lost, "processors that were taken away meanwhile, or came later: %u (cpu %d%s); timers and counters have not seen %s",
		    rc->cpus_lost, rc->cpu_lost, rc->cpus_lost > 1 ? " is one" : "", rc->cpus_again ? "their first moments" : "them since");
	report_loss(rc, "processors_missed", rc->cpus_unwatched, "processors that were taken away meanwhile, or came later: %u (cpu %d%s); watchpoints have not seen them since",
		    rc->cpus_unwatched, rc->cpu_unwatched, rc->cpus_unwatched > 1 ? " is one" : "");
	report_loss(rc, "packets_lost", rc->packets_lost, "%llu packets were lost: ask for more perf_rb_pages", (unsigned long long)rc->packets_lost);
	report_taken_maps(rc);
	report_wide_sums(rc);
	report_loss(rc, "commands_left", rc->commands_left, "%llu commands of system() were not run: tracing was interrupted before their turn came",
		    (unsigned long long)rc->commands_left);
	if (!read_counters(rc->prog, &c))
		return;
	c.why[RT_WHY_BAD_READ] += c.cold; // these still wait
	report_new_events(rc, &c);
	if (rc->lost_events)
		report_lost_output(rc, c.lost_events);
	report_full_maps(rc, c.map_full);
	report_loss(rc, "map_refused", c.map_refused, "%llu updates of maps were refused: the kernel had no memory at hand, was updating the same place, or print and clear took the key in that moment",
		    (unsigned long long)c.map_refused);
	report_lost_stacks(rc, &c);
	report_loss(rc, "stacks_missed", c.stack_kfail + c.stack_ufail, "%llu stack traces could not be taken (%llu kernel, %llu user)",
		    (unsigned long long)(c.stack_kfail + c.stack_ufail), (unsigned long long)c.stack_kfail, (unsigned long long)c.stack_ufail);
	report_loss(rc, "strings_unread", c.strings_unread, "strings of user space that could not be read: %llu (the page was not in memory, or nothing was there; -k says where)",
		    (unsigned long long)c.strings_unread);
	report_loss(rc, "events_waiting", c.put_off, "events left out because they still waited for a text that was not in memory: %llu (such an event is told when its system call ends)",
		    (unsigned long long)c.put_off);
	report_loss(rc, "reads_failed", c.reads_failed, "reads of memory that was not there: %llu (their values are 0; -k says where)", (unsigned long long)c.reads_failed);
	report_loss(rc, "requests_unread", c.requests_unread, "empty trace_id or span_id: %llu (it was not known yet where the process keeps them, or the page was not in memory)",
		    (unsigned long long)c.requests_unread);
	report_loss(rc, "kernel_stacks_cut", c.kstack_cut, "%llu kernel stacks are cut short: the kernel gives no more frames (kernel.perf_event_max_stack)",
		    (unsigned long long)c.kstack_cut);
	struct Str reasons = {0};
	u64 all, cut = stacks_cut(&c, &all, &reasons);
	if (!rc->prog->config.unwind_fp && !rc->cut_told) // by frame pointers most are, and the user chose them
		report_loss(rc, "user_stacks_cut", cut, "%llu of %llu user stacks are cut short (%s); --why-incomplete says where", (unsigned long long)cut,
			    (unsigned long long)all, str_text(&reasons));
	str_deinit(&reasons);
	u32 denied = c.why[RT_WHY_NO_PROC] ? track_denied(rc->track) : 0;
	report_loss(rc, "processes_denied", denied, "%u process%s whose mappings may not be read%s: their user stacks are cut short", denied,
		    denied == 1 ? "" : "es", cap_lacking(CAP_SYS_PTRACE_BIT));
	u32 refused = track_made_refused(rc->track);
	report_loss(rc, "made_code_refused", refused, "pieces of code made at run time for which there was no room: %u; they have no names, and stacks through them are cut or follow frame pointers",
		    refused);
	u64 nameless = stacks_nameless(rc->stacks);
	report_loss(rc, "code_names_lost", nameless, "functions of programs that an interpreter runs whose names were gone before they were read: %llu", (unsigned long long)nameless);
	u32 maker, makers = stacks_unnamed(rc->stacks, &maker);
	report_loss(rc, "made_code_unnamed", makers, "processes of which code made at run time has no names: %u (`sonde info -p %u` says what helps)", makers, maker);
	const char *why = rc->syms && sym_kernel_asked(rc->syms) ? sym_kernel_why(rc->syms) : NULL;
	report_loss(rc, "kernel_names_hidden", why != NULL, "%s", why ? why : "");
}
