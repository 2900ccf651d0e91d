// offcputime: the row of the off-CPU profiler; and that of collectors which count on both sides of the processors in one run: one walker, one set of tables, one tracker.
#include "bpf/bpf.h"
#include "tool/internal.h"

static const u8 offcputime_bt[] = {
#include "tool/offcputime.bt.gz.h"
};

// Kinds of time, as StackSample.part and as the last part of the script's key
enum { OFF_BLOCKED, OFF_RUNQ, OFF_PREEMPTED, OFF_UNFINISHED, OFF_EARLIER };

// Who may not load programs is told so later, and learns nothing of the kernel.
static bool kernel_lacks_loops(void)
{
	struct err *denied = feature_need_caps();
	bool lacks = !denied && !feature_has(FEAT_FOR_EACH_MAP_ELEM);
	err_free(denied);
	return lacks;
}

static const char *check(struct ToolOpts *o)
{
	if ((o->pids.n != 0) + (o->tids.n != 0) + (o->threads != THREADS_ALL) > 1)
		return "argument -u/-k: not allowed with argument -p/--pid or -t/--tid";
	if (o->max_us && o->max_us < o->min_us)
		return "min_block_time should be less than max_block_time";
	if (o->check && (o->heatmap || o->interval || o->incomplete || o->one_in > 1 || o->by || o->state >= 0 || o->max_us || o->idle))
		return "argument --check: counts all time of a thread; not allowed with --heatmap, -i, -M, -I, --by, --state, --one-in, --complete off";
	if (o->check && (o->folded || o->json || o->top || o->min_us != 1 || outputs_any(&o->files, false)))
		return "argument --check: shows a table of threads; not allowed with -f, --json, --top, -m, and files";
	if (o->max_cpu && !o->interval)
		return "argument --max-cpu: needs -i: it is judged interval by interval";
	if (o->max_cpu && o->check)
		return "argument --check: counts all time of a thread; not allowed with --max-cpu";
	o->one_in = o->max_cpu && !o->one_in ? 1 : o->one_in;
	if (!o->incomplete && !o->check && kernel_lacks_loops()) {
		fprintf(stderr, "WARNING: threads asleep at the start or at the end are left out (--complete off): this kernel has no "
				"bpf_for_each_map_elem (Linux 5.13)\n");
		o->incomplete = o->asleep_lost = true;
		vec_push(&o->params, ((struct Param){"complete", "off"}));
	}
	if (o->check) {
		o->per_thread = true;
		o->min_us = 0;
	}
	return o->folded && o->offsets ? "argument -s/--offset: not allowed with argument -f/--folded" : NULL;
}

static const char *check_both(struct ToolOpts *o)
{
	o->hz = o->hz ? o->hz : 49;
	return o->interval ? check(o) : "argument -i/--interval: it is for reports in intervals";
}

static int prepare(struct ToolOpts *o)
{
	if (o->threads != THREADS_KERNEL || o->stacks != STACKS_USER)
		return 0;
	fprintf(stderr, "ERROR: Displaying user stacks for kernel threads doesn't make sense.\n");
	return 2;
}

static void header(const struct ToolOpts *o, struct RunCtx *rc, FILE *out)
{
	fputs("Tracing off-CPU time (us) of ", out);
	thread_words(o, out);
	fprintf(out, " by %s stack", stack_words(o));
}

// Where the kernel lets nobody read the memory of a thread that sleeps, those that were asleep when tracing began have no user stack.
void row_waits(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s)
{
	row_named(o, a, k, value, s);
	if (!s->part[OFF_EARLIER] || feature_has(FEAT_TASK_MEMORY))
		return;
	s->user_note = "[asleep since before tracing began: no user stack before Linux 5.18]";
	s->kern_note = NULL;
}

const struct Tool tool_offcputime = {
	.name = "offcputime",
	.own_stacks = true,
	.summary = "off-CPU profile: stacks of threads that wait, with the time they wait",
	.options = (const char *const[]){"p", "t", "u", "k", "U", "K", "d", "f", "A", "s", "m", "M", "I", "state", "by", "one-in", "max-cpu", "complete", "check", "per-thread", "comm",
					 "cgroup", "depth", "stack-storage-size", "hash-storage-size", "i", "flame", "pprof", "json", "o", "unwind", "native", "async",
					 "print-script", "dump", "h", NULL},
	.text = {offcputime_bt, sizeof(offcputime_bt)},
	.positional = "[SECONDS]",
	.max_positional = 1,
	.own_reports = true,
	.check = check,
	.prepare = prepare,
	.header = header,
	.check_report = offcheck_report,
	.examples = "    sonde offcputime                  until Ctrl-C\n"
		    "    sonde offcputime 5                5 seconds\n"
		    "    sonde offcputime -f 5 > out.folded   input of flame graph tools\n"
		    "    sonde offcputime -p 185,190 -m 1000  two processes, waits of a millisecond and more\n"
		    "    sonde offcputime --by=runq 5      waiting for a CPU only\n"
		    "    sonde offcputime -K --state 2 5   kernel stacks of uninterruptible waits\n",
};

// In no list: what it counts are two profiles, which only feed_tool() tells apart.
const struct Tool tool_both = {
	.name = "both",
	.own_stacks = true,
	.summary = "stacks of what runs and of what waits, for who shows or sends both",
	.options = (const char *const[]){"p", "u", "k", "U", "K", "F", "by", "one-in", "max-cpu", "per-thread", "comm", "cgroup", "depth", "stack-storage-size", "hash-storage-size", "i", NULL},
	.text = {offcputime_bt, sizeof(offcputime_bt)},
	.positional = "",
	.own_reports = true,
	.running = "@running",
	.check = check_both,
	.header = header,
	.examples = "",
};
