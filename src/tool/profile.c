// profile: the row of the sampling profiler.
#include "tool/internal.h"

static const u8 profile_bt[] = {
#include "tool/profile.bt.gz.h"
};

// Their places end with how many events there are from one sample to the next.
static bool is_counter(const char *probe)
{
	static const char *const kinds[] = {"software:*", "s:*", "hardware:*", "h:*"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (glob_match(kinds[i], probe))
			return true;
	return false;
}

static const char *check(struct ToolOpts *o)
{
	if (o->hz && o->event)
		return "argument -F/--frequency: is not allowed with -e: events are counted, see -c";
	if (o->count && o->event && !is_counter(o->event))
		return "argument -c/--count: goes with software: and hardware: events only";
	if (o->count && o->count < 10000 && !o->event) // perf_swevent_start_hrtimer's shortest
		return "argument -c/--count: the CPU clock counts nanoseconds, and the kernel's shortest period is 10000 of them";
	if ((o->max_cpu || o->max_memory) && (o->event || o->count))
		return "argument --max-cpu/--max-memory: goes with -F: events are not sampled by time";
	if ((o->max_cpu || o->max_memory) && !o->interval)
		return "argument --max-cpu/--max-memory: needs -i: the samples of a report are of one weight";
	if (!o->hz)
		o->hz = 49;
	return NULL;
}

// Events from one sample to the next, as attached; tracepoints and the like: 1.
static u64 period(const struct RunCtx *rc)
{
	for (size_t i = 0; i < rc->prog->progs.n; i++) {
		const struct ProbeProg *p = rc->prog->progs.p[i];
		if (p->points.v.n && (p->kind == PK_SOFTWARE || p->kind == PK_HARDWARE))
			return p->points.v.p[0]->rate;
	}
	return 1;
}

static void header(const struct ToolOpts *o, struct RunCtx *rc, FILE *out)
{
	fputs("Sampling at ", out);
	if (o->count || o->event)
		fprintf(out, "every %llu events of ", (unsigned long long)period(rc));
	else
		fprintf(out, "%llu Hertz of ", (unsigned long long)o->hz);
	thread_words(o, out);
	fprintf(out, " by %s stack", stack_words(o));
	if (o->cpus.n)
		fprintf(out, " on CPU#%s", o->cpus.p);
}

const struct Tool tool_profile = {
	.name = "profile",
	.own_stacks = true,
	.summary = "CPU profile: stacks of what runs, sampled",
	.options = (const char *const[]){"L", "U", "K", "u", "k", "F", "max-cpu", "max-memory", "c", "e", "d", "a", "I", "C", "A", "s", "per-thread", "unwind", "native", "async", NULL},
	.text = {profile_bt, sizeof(profile_bt)},
	.positional = "[SECONDS]",
	.max_positional = 1,
	.check = check,
	.header = header,
	.examples = "    sonde profile                     until Ctrl-C, 49 samples a second on each CPU\n"
		    "    sonde profile -F 99 5             99 Hertz, 5 seconds\n"
		    "    sonde profile -f 5 > out.folded   input of flame graph tools\n"
		    "    sonde profile --flame cpu.svg 5   a flame graph\n"
		    "    sonde profile -p 185              one process\n"
		    "    sonde profile -U | -K             user or kernel stacks only\n",
};
