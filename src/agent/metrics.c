// What the agent tells Prometheus of itself and of what it has counted (text format 0.0.4, https://prometheus.io/docs/instrumenting/exposition_formats/).
// In: the agent's counters. Out: text. Invariant: counters only grow while the agent lives; a label's value may hold any text.
#include "agent/internal.h"

static void help(struct Str *out, const char *name, const char *type, const char *what)
{
	str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, what, name, type);
}

static void plain(struct Str *out, const char *name, const char *type, const char *what, double v)
{
	help(out, name, type, what);
	str_addf(out, "%s %.15g\n", name, v);
}

static void labelled(struct Str *out, const char *name, const char *label, const char *value, double v)
{
	str_addf(out, "%s{%s=\"", name, label);
	prometheus_label(out, value);
	str_addf(out, "\"} %.15g\n", v);
}

static void services(const struct Agent *a, struct Str *out, enum AgentSide side, const char *name, const char *what, double unit)
{
	help(out, name, "counter", what);
	for (u32 i = 0; i < a->batch.services.n; i++) {
		const struct Service *s = a->batch.services.slots[i].val;
		if (s->values[side])
			labelled(out, name, "service", a->batch.services.slots[i].key, (double)s->values[side] * unit);
	}
}

static void destinations(const struct Agent *a, struct Str *out)
{
	static const struct { const char *name, *type, *what; size_t at; } rows[] = {
		{"sonde_agent_messages_sent_total", "counter", "Messages that a server has taken.", offsetof(struct Destination, sent)},
		{"sonde_agent_samples_sent_total", "counter", "Values of the profiles in them (samples, microseconds off CPU).", offsetof(struct Destination, sent_samples)},
		{"sonde_agent_messages_refused_total", "counter", "Messages that a server will not take, lost.", offsetof(struct Destination, refused)},
		{"sonde_agent_samples_refused_total", "counter", "Values of the profiles in them.", offsetof(struct Destination, refused_samples)},
		{"sonde_agent_tries_total", "counter", "Requests begun.", offsetof(struct Destination, tries)}};
	for (size_t k = 0; a->nto && k < ARRAY_LEN(rows); k++) {
		help(out, rows[k].name, rows[k].type, rows[k].what);
		for (u32 i = 0; i < a->nto; i++)
			labelled(out, rows[k].name, "url", a->to[i].url, (double)*(const u64 *)((const char *)&a->to[i] + rows[k].at));
	}
	if (a->nto)
		help(out, "sonde_agent_messages_waiting", "gauge", "Messages that no server has taken yet.");
	for (u32 i = 0; i < a->nto; i++)
		labelled(out, "sonde_agent_messages_waiting", "url", a->to[i].url, a->to[i].queue.n);
}

void metrics_text(const struct Agent *a, struct Str *out)
{
	services(a, out, AGENT_CPU, "sonde_cpu_samples_total", "Samples taken on a processor.", 1);
	if (a->off_cpu)
		services(a, out, AGENT_OFFCPU, "sonde_offcpu_seconds_total", "Time of threads off the processors.", 1e-6);
	plain(out, "sonde_agent_frequency_hertz", "gauge", "Samples a second on each processor.", a->batch.period_ns ? 1e9 / (double)a->batch.period_ns : (double)a->hz);
	plain(out, "sonde_agent_cpu_seconds_total", "counter", "Processor time of the agent and of what counts for it.", (double)a->budget.cpu_ns * 1e-9);
	plain(out, "sonde_agent_kernel_seconds_total", "counter", "Processor time that its programs have run in the kernel, whoever ran there.", (double)a->budget.kernel_ns * 1e-9);
	plain(out, "sonde_agent_memory_bytes", "gauge", "Memory of all that, with what it has in the kernel.", (double)a->budget.memory);
	plain(out, "sonde_agent_map_bytes", "gauge", "Of that in the kernel.", (double)a->budget.maps);
	plain(out, "sonde_agent_given_up", "gauge", "What was given up for --max-memory: 1 time off the processors, 2 users' stacks too.", a->kernel_only ? 2 : a->off_stopped);
	help(out, "sonde_agent_reports_total", "counter", "Intervals that were reported.");
	for (u32 i = 0; i < AGENT_SIDES; i++)
		if (a->batch.reports[i])
			labelled(out, "sonde_agent_reports_total", "kind", agent_sides[i], (double)a->batch.reports[i]);
	help(out, "sonde_agent_collector_starts_total", "counter", "Starts of what counts; more than one: it had ended by itself.");
	for (u32 i = 0; i < AGENT_SIDES; i++)
		if (a->starts[i])
			labelled(out, "sonde_agent_collector_starts_total", "kind", agent_sides[i], (double)a->starts[i]);
	plain(out, "sonde_agent_uncounted_seconds_total", "counter", "Time between a collector that had ended and the next one.", (double)a->uncounted_ns * 1e-9);
	plain(out, "sonde_agent_warnings_total", "counter", "Warnings of the collectors: events, stacks or rows that were lost.", (double)a->warnings);
	destinations(a, out);
	help(out, "sonde_agent_spool_bytes", "gauge", "Messages that wait.");
	labelled(out, "sonde_agent_spool_bytes", "where", "memory", (double)a->spool.memory);
	labelled(out, "sonde_agent_spool_bytes", "where", "disk", (double)a->spool.disk);
	plain(out, "sonde_agent_messages_dropped_total", "counter", "Messages for which there was no room, lost.", (double)a->spool.dropped);
	plain(out, "sonde_agent_samples_dropped_total", "counter", "Values of the profiles in them.", (double)a->spool.dropped_samples);
	if (a->dir.path) {
		plain(out, "sonde_agent_files_written_total", "counter", "Files written.", (double)a->dir.files);
		plain(out, "sonde_agent_files_removed_total", "counter", "Files removed for new ones.", (double)a->dir.removed);
		plain(out, "sonde_agent_files_failed_total", "counter", "Files that could not be written.", (double)a->dir.failed);
	}
	if (a->record[AGENT_CPU].n) {
		plain(out, "sonde_agent_records_total", "counter", "Records written.", (double)a->records);
		plain(out, "sonde_agent_records_skipped_total", "counter", "Records asked for within ten seconds of another.", (double)a->records_skipped);
	}
	str_add(out, str_text(&a->script_metrics));
}
