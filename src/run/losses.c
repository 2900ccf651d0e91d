// What was lost, from the counters the kernel side keeps.
// In: the per-CPU array "rt_counters", the array "rt_sites". Out: lines on stderr, objects in JSON. Invariant: nothing is counted without being reported at the end.
#include "run/run.h"
#include "base/base.h"
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include <linux/bpf.h>

#define CHECK_NS 1000000000ULL

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

static void loss(struct RunCtx *rc, const char *what, u64 n, const char *fmt, ...) PRINTF_LIKE(4, 5);
static void loss(struct RunCtx *rc, const char *what, u64 n, const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	if (!n)
		return;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	rc->render->ops->loss(rc->render, what, n, str_text(&s));
	str_deinit(&s);
}

void report_losses(struct RunCtx *rc)
{
	struct RtCounters c;
	if (!read_counters(rc->prog, &c))
		return;
	report_new_events(rc, &c);
	if (rc->lost_events)
		loss(rc, "total_lost_events", rc->lost_events, "Total lost event count: %llu; a larger perf_rb_pages makes room for more",
		     (unsigned long long)rc->lost_events);
	loss(rc, "map_full", c.map_full, "%llu updates of maps were refused because the map was full; raise %s (%u now)",
	     (unsigned long long)c.map_full, rc->is_tool ? "--hash-storage-size" : "max_map_keys", rc->prog->config.max_map_keys);
	loss(rc, "stacks_lost", c.stack_full + c.stack_collision, "%llu stack traces could not be stored; raise --stack-storage-size",
	     (unsigned long long)(c.stack_full + c.stack_collision));
	loss(rc, "stacks_missed", c.stack_kfail + c.stack_ufail, "%llu stack traces could not be taken (%llu kernel, %llu user)",
	     (unsigned long long)(c.stack_kfail + c.stack_ufail), (unsigned long long)c.stack_kfail, (unsigned long long)c.stack_ufail);
	loss(rc, "strings_unread", c.strings_unread, "empty strings of user space: %llu (the page was not in memory, or nothing was there; -k says where)",
	     (unsigned long long)c.strings_unread);
	struct Str reasons = {0};
	u64 all, cut = stacks_cut(&c, &all, &reasons);
	if (!rc->prog->config.unwind_fp && !rc->cut_told) // by frame pointers most are, and the user chose them
		loss(rc, "user_stacks_cut", cut, "%llu of %llu user stacks are cut short (%s); --why-incomplete says where", (unsigned long long)cut,
		     (unsigned long long)all, str_text(&reasons));
	str_deinit(&reasons);
	u32 denied = c.why[RT_WHY_NO_PROC] ? track_denied(rc->track) : 0;
	loss(rc, "processes_denied", denied, "%u process%s whose mappings may not be read%s: their user stacks are cut short", denied,
	     denied == 1 ? "" : "es", cap_lacking(CAP_SYS_PTRACE_BIT));
	const char *why = rc->syms && sym_kernel_asked(rc->syms) ? sym_kernel_why(rc->syms) : NULL;
	loss(rc, "kernel_names_hidden", why != NULL, "%s", why ? why : "");
}
