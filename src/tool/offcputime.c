// offcputime: the row of the off-CPU profiler.
#include "bpf/bpf.h"
#include "tool/internal.h"

static const char offcputime_bt[] =
#include "tool/offcputime.bt.inc"
	;

// Kinds of time, as StackSample.part and as the last part of the script's key
enum { OFF_BLOCKED, OFF_RUNQ, OFF_PREEMPTED, OFF_UNFINISHED, OFF_EARLIER };
#define STATE_EARLIER 0x10000 // added to the state of threads that were away as tracing began
#define STATE_NEW 0x8000      // instead of the state of threads that never ran

static u32 wanted(const struct ToolOpts *o)
{
	return o->by ? o->by : o->state == 0 ? BY_PREEMPTED : BY_BLOCKED | BY_RUNQ | BY_PREEMPTED;
}

// Kinds are told apart (a second map update a switch) when they are shown or asked for.
static bool split(const struct ToolOpts *o)
{
	u32 by = wanted(o) & (BY_BLOCKED | BY_RUNQ);
	return (!o->folded && !o->flame && !o->pprof) || by == BY_BLOCKED || by == BY_RUNQ;
}

static bool complete(const struct ToolOpts *o)
{
	return !o->incomplete;
}

// Threads that are away when a report is made have a share in it. With -M nobody knows yet whether their wait will count.
static bool shares(const struct ToolOpts *o)
{
	return complete(o) && o->interval && !o->max_us;
}

// Elements of @off after the time and the state: id, name, stacks; $o.2 and on
static void key(const struct ToolOpts *o, struct Str *out)
{
	str_add(out, "$o.2, $o.3, $o.4");
	if (o->stacks == STACKS_BOTH)
		str_add(out, ", $o.5");
}

static void update(const struct ToolOpts *o, u32 bit, u32 kind, const char *when, const char *value, struct Str *out)
{
	if (!(wanted(o) & bit)) {
		str_add(out, "// not asked for");
		return;
	}
	str_addf(out, "%s%s%s@samples[", *when ? "if (" : "", when, *when ? ") { " : "");
	key(o, out);
	str_addf(out, ", %u] = sum(%s);%s", kind, value, *when ? " }" : "");
}

// Of threads that leave the CPU: what comes before a condition on their state, what after; nothing when all are wanted
static void state(const struct ToolOpts *o, const char *before, const char *after, struct Str *out)
{
	u32 by = wanted(o);
	if (o->state >= 0)
		str_addf(out, "%s$state == %ld%s", before, o->state, after);
	else if (!(by & BY_PREEMPTED))
		str_addf(out, "%s$state != 0%s", before, after);
	else if (by == BY_PREEMPTED)
		str_addf(out, "%s$state == 0%s", before, after);
}

static void add_state(const struct ToolOpts *o, struct Str *out)
{
	state(o, " if (", ")", out);
}

static void add_taskstate(const struct ToolOpts *o, struct Str *out)
{
	state(o, " && ", "", out);
}

static void kinds(const struct ToolOpts *o, struct Str *out)
{
	str_add(out, split(o) ? "0 blocked, 1 waiting for a CPU after that, 2 preempted" : "0 all");
	if (complete(o) && !o->check)
		str_addf(out, ", 3 still away at the end of the report, 4 away since before tracing began");
	str_add(out, "; in nanoseconds.");
}

struct OffGap {
	const char *name;
	bool (*is)(const struct ToolOpts *o);		    // {{?name}}
	void (*add)(const struct ToolOpts *o, struct Str *out); // {{name}}
};

static bool is_inside(const struct ToolOpts *o)
{
	u64 dev, ino;
	return complete(o) && own_pid_namespace(&dev, &ino);
}

static bool is_every(const struct ToolOpts *o)
{
	return o->interval;
}

static bool is_check(const struct ToolOpts *o)
{
	return o->check;
}

static bool is_flagged(const struct ToolOpts *o)
{
	return complete(o) && !o->check;
}

static bool is_newborn(const struct ToolOpts *o)
{
	return complete(o) && o->state < 0 && wanted(o) & BY_RUNQ;
}

// Threads' ids as they are shown are not the keys of --check's maps
static bool is_renamed(const struct ToolOpts *o)
{
	return o->check && is_inside(o);
}

static void add_taskshown(const struct ToolOpts *o, struct Str *out)
{
	task_id("ctx.task", true, out);
}

static void add_every(const struct ToolOpts *o, struct Str *out)
{
	str_addf(out, "%llu", (unsigned long long)o->interval);
}

static void add_earlier(const struct ToolOpts *o, struct Str *out)
{
	str_addf(out, "%#x", STATE_EARLIER);
}

static void add_new(const struct ToolOpts *o, struct Str *out)
{
	str_addf(out, "%#x", STATE_NEW);
}

// Parameters of the macros, and what is put in for them
static void add_args(const struct ToolOpts *o, struct Str *out)
{
	str_add(out, split(o) ? "@samples, $o, $away, $from, $now" : "@samples, $o, $from, $now");
}

static void add_return_args(const struct ToolOpts *o, struct Str *out)
{
	str_addf(out, "@samples, @began, %s$o, %s$tid, $now", shares(o) ? "@counted, " : "", split(o) ? "$away, " : "");
}

static void add_share_args(const struct ToolOpts *o, struct Str *out)
{
	str_addf(out, "@samples, @began, %s$o, %s$tid, $now", shares(o) ? "@off, @away, @counted, " : "", o->check ? "$away, " : "");
}

static void add_return(const struct ToolOpts *o, struct Str *out)
{
	str_add(out, "count_return(");
	add_return_args(o, out);
	str_addc(out, ')');
}

static void add_share(const struct ToolOpts *o, struct Str *out)
{
	str_add(out, "count_share(");
	add_share_args(o, out);
	str_addc(out, ')');
}

static void add_bounds(const struct ToolOpts *o, struct Str *out)
{
	str_addf(out, "$now - $o.0 >= %llu", (unsigned long long)o->min_us * 1000);
	if (o->max_us)
		str_addf(out, " && $now - $o.0 <= %llu", (unsigned long long)o->max_us * 1000);
}

static void add_preempted(const struct ToolOpts *o, struct Str *out)
{
	update(o, BY_PREEMPTED, OFF_PREEMPTED, "", "$now - $from", out);
}

static void add_blocked(const struct ToolOpts *o, struct Str *out)
{
	update(o, BY_BLOCKED, OFF_BLOCKED, "$ready > $from", "$ready - $from", out);
}

static void add_runq(const struct ToolOpts *o, struct Str *out)
{
	update(o, BY_RUNQ, OFF_RUNQ, "$now > $ready", "$now - $ready", out);
}

static void add_taskcond(const struct ToolOpts *o, struct Str *out)
{
	task_condition(o, "ctx.task", out);
}

static void add_newcond(const struct ToolOpts *o, struct Str *out)
{
	u64 dev, ino;
	task_condition(o, "$p", out);
	if (own_pid_namespace(&dev, &ino)) // a thread that the namespace does not hold has no id there
		str_addf(out, " && $p.thread_pid.level >= @level && $p.thread_pid.numbers[@level].ns.ns.inum == %llu", (unsigned long long)ino);
}

static void add_taskid(const struct ToolOpts *o, struct Str *out)
{
	o->check ? str_add(out, "ctx.task.pid") : task_id("ctx.task", o->per_thread, out);
}

static void add_newid(const struct ToolOpts *o, struct Str *out)
{
	o->check ? str_add(out, "$p.pid") : task_id("$p", o->per_thread, out);
}

static const struct OffGap gaps[] = {
	{"complete", complete, NULL}, {"inside", is_inside, NULL}, {"renamed", is_renamed, NULL}, {"taskshown", NULL, add_taskshown}, {"split", split, NULL}, {"shares", shares, NULL}, {"every", is_every, add_every}, {"check", is_check, NULL},
	{"flagged", is_flagged, NULL}, {"newborn", is_newborn, NULL}, {"kinds", NULL, kinds}, {"key", NULL, key}, {"earlier", NULL, add_earlier},
	{"new", NULL, add_new}, {"args", NULL, add_args}, {"returnargs", NULL, add_return_args}, {"shareargs", NULL, add_share_args},
	{"return", NULL, add_return}, {"share", NULL, add_share}, {"bounds", NULL, add_bounds}, {"state", NULL, add_state}, {"taskstate", NULL, add_taskstate},
	{"preempted", NULL, add_preempted}, {"blocked", NULL, add_blocked}, {"runq", NULL, add_runq}, {"taskcond", NULL, add_taskcond},
	{"newcond", NULL, add_newcond}, {"taskid", NULL, add_taskid}, {"newid", NULL, add_newid},
};

static bool gap(const struct ToolOpts *o, const char *name, struct Str *out)
{
	for (size_t i = 0; i < ARRAY_LEN(gaps); i++) {
		if (strcmp(gaps[i].name, name))
			continue;
		if (gaps[i].add && (!gaps[i].is || gaps[i].is(o)))
			gaps[i].add(o, out);
		else if (gaps[i].is && gaps[i].is(o))
			str_add(out, "yes");
		return true;
	}
	return gap_common(o, name, out);
}

static const char *check(struct ToolOpts *o)
{
	if ((o->pids.n != 0) + (o->tids.n != 0) + (o->threads != THREADS_ALL) > 1)
		return "argument -u/-k: not allowed with argument -p/--pid or -t/--tid";
	if (o->max_us && o->max_us < o->min_us)
		return "min_block_time should be less than max_block_time";
	if (o->check && (o->interval || o->incomplete || o->by || o->state >= 0 || o->max_us || o->idle))
		return "argument --check: counts all time of a thread; not allowed with -i, -M, -I, --by, --state, --complete off";
	if (!o->incomplete && !o->check && !feature_has(FEAT_FOR_EACH_MAP_ELEM)) {
		fprintf(stderr, "WARNING: threads asleep at the start or at the end are left out (--complete off): this kernel has no "
				"bpf_for_each_map_elem (Linux 5.13)\n");
		o->incomplete = true;
	}
	if (o->check) {
		o->per_thread = true;
		o->min_us = 0;
	}
	return o->folded && o->offsets ? "argument -s/--offset: not allowed with argument -f/--folded" : NULL;
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

// The user stack of threads that were asleep when tracing began was not taken.
static void row(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s)
{
	row_plain(o, a, k, value, s);
	if (!s->part[OFF_EARLIER])
		return;
	s->user_note = "[asleep since before tracing began]";
	s->kern_note = NULL;
}

const struct Tool tool_offcputime = {
	.name = "offcputime",
	.summary = "off-CPU profile: stacks of threads that wait, with the time they wait",
	.options = (const char *const[]){"p", "t", "u", "k", "U", "K", "d", "f", "A", "s", "m", "M", "I", "state", "by", "complete", "check", "per-thread", "comm",
					 "cgroup", "depth", "stack-storage-size", "hash-storage-size", "i", "flame", "pprof", "json", "o", "unwind",
					 "print-script", "dump", "h", NULL},
	.template = offcputime_bt,
	.positional = "[SECONDS]",
	.max_positional = 1,
	.unit = "us",
	.title = "Off-CPU time",
	.parts = (const char *const[]){"blocked", "runqueue", "preempted", "unfinished", "earlier"},
	.own_reports = true,
	.div = 1000,
	.gap = gap,
	.check = check,
	.prepare = prepare,
	.header = header,
	.row = row,
	.check_report = offcheck_report,
	.examples = "    sonde offcputime                  until Ctrl-C\n"
		    "    sonde offcputime 5                5 seconds\n"
		    "    sonde offcputime -f 5 > out.folded   input of flame graph tools\n"
		    "    sonde offcputime -p 185,190 -m 1000  two processes, waits of a millisecond and more\n"
		    "    sonde offcputime --by=runq 5      waiting for a CPU only\n"
		    "    sonde offcputime -K --state 2 5   kernel stacks of uninterruptible waits\n",
};
