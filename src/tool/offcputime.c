// offcputime: the row of the off-CPU profiler.
#include "bpf/bpf.h"
#include "tool/internal.h"

static const char offcputime_bt[] =
#include "tool/offcputime.bt.inc"
	;

// Kinds of time, as StackSample.part
enum { OFF_BLOCKED, OFF_RUNQ, OFF_PREEMPTED, OFF_UNFINISHED };

static u32 wanted(const struct ToolOpts *o)
{
	return o->by ? o->by : o->state == 0 ? BY_PREEMPTED : BY_BLOCKED | BY_RUNQ;
}

// Kinds are told apart (a second map update a switch) when they are shown or asked for.
static bool split(const struct ToolOpts *o)
{
	u32 by = wanted(o) & (BY_BLOCKED | BY_RUNQ);
	return (!o->folded && !o->flame && !o->pprof) || by == BY_BLOCKED || by == BY_RUNQ;
}

static bool complete(const struct ToolOpts *o)
{
	return !o->incomplete && !o->interval;
}

// Elements of @off after the time and the state: id, name, stacks; $o.2 and on
static void key(const struct ToolOpts *o, struct Str *out)
{
	str_add(out, "$o.2, $o.3, $o.4");
	if (o->stacks == STACKS_BOTH)
		str_add(out, ", $o.5");
}

static void update(const struct ToolOpts *o, u32 bit, u32 kind, const char *value, struct Str *out)
{
	if (!(wanted(o) & bit)) {
		str_addf(out, "// not asked for");
		return;
	}
	if (kind == OFF_RUNQ)
		str_add(out, "if ($runq > 0) { ");
	str_add(out, "@samples[");
	key(o, out);
	str_addf(out, ", %u] = sum(%s);%s", kind, value, kind == OFF_RUNQ ? " }" : "");
}

static void state(const struct ToolOpts *o, struct Str *out)
{
	str_add(out, "(args.prev_state & 0x30) == 0");
	if (o->state >= 0)
		str_addf(out, " && $state == %ld", o->state);
	if (!(wanted(o) & BY_PREEMPTED))
		str_add(out, " && $state != 0");
	if (!(wanted(o) & (BY_BLOCKED | BY_RUNQ)))
		str_add(out, " && $state == 0");
}

static bool gap(const struct ToolOpts *o, const char *name, struct Str *out)
{
	if (!strcmp(name, "complete"))
		str_add(out, complete(o) ? "yes" : "");
	else if (!strcmp(name, "since"))
		str_add(out, complete(o) && o->state < 0 && wanted(o) & BY_BLOCKED ? "yes" : "");
	else if (!strcmp(name, "split"))
		str_add(out, split(o) ? "yes" : "");
	else if (!strcmp(name, "who")) {
		str_addf(out, ", %s, comm", o->per_thread ? "tid" : "pid");
		return gap_common(o, "stacks", out);
	} else if (!strcmp(name, "key"))
		key(o, out);
	else if (!strcmp(name, "unfinished"))
		str_add(out, split(o) ? ", 3" : "");
	else if (!strcmp(name, "bounds")) {
		str_addf(out, "$us >= %llu", (unsigned long long)o->min_us);
		if (o->max_us)
			str_addf(out, " && $us <= %llu", (unsigned long long)o->max_us);
	} else if (!strcmp(name, "state"))
		state(o, out);
	else if (!strcmp(name, "preempted"))
		update(o, BY_PREEMPTED, OFF_PREEMPTED, "$us", out);
	else if (!strcmp(name, "blocked"))
		update(o, BY_BLOCKED, OFF_BLOCKED, "$us - $runq", out);
	else if (!strcmp(name, "runq"))
		update(o, BY_RUNQ, OFF_RUNQ, "$runq", out);
	else
		return gap_common(o, name, out);
	return true;
}

static const char *check(struct ToolOpts *o)
{
	if ((o->pids.n != 0) + (o->tids.n != 0) + (o->threads != THREADS_ALL) > 1)
		return "argument -u/-k: not allowed with argument -p/--pid or -t/--tid";
	if (o->max_us && o->max_us < o->min_us)
		return "min_block_time should be less than max_block_time";
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

// Threads that were asleep when tracing began have no stack: their time has a name.
static void row(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s)
{
	row_plain(o, a, k, value, s);
	if (!k->nuser && !k->nkern)
		*(o->stacks == STACKS_KERNEL ? &s->kern_note : &s->user_note) = "[asleep since before tracing began]";
}

static struct err *asleep(struct StackSet *s, struct RunCtx *rc, const struct ToolOpts *o)
{
	u64 missed = s->missed; // those rows lack a stack, but none was lost
	struct err *e = program_map(rc->prog, "@asleep") ? stackset_read(s, rc, "@asleep", o) : NULL;
	s->missed = missed;
	return e;
}

static bool count_sleepers(const struct ToolOpts *o)
{
	return complete(o) && wanted(o) & BY_BLOCKED;
}

const struct Tool tool_offcputime = {
	.name = "offcputime",
	.summary = "off-CPU profile: stacks of threads that wait, with the time they wait",
	.options = (const char *const[]){"p", "t", "u", "k", "U", "K", "d", "f", "A", "s", "m", "M", "I", "state", "by", "complete", "per-thread", "comm",
					 "cgroup", "depth", "stack-storage-size", "hash-storage-size", "i", "flame", "pprof", "json", "o", "unwind",
					 "print-script", "dump", "h", NULL},
	.template = offcputime_bt,
	.positional = "[SECONDS]",
	.max_positional = 1,
	.unit = "us",
	.title = "Off-CPU time",
	.parts = (const char *const[]){"blocked", "runqueue", "preempted", "unfinished"},
	.sleepers = count_sleepers,
	.gap = gap,
	.check = check,
	.prepare = prepare,
	.header = header,
	.row = row,
	.extra = asleep,
	.examples = "    sonde offcputime                  until Ctrl-C\n"
		    "    sonde offcputime 5                5 seconds\n"
		    "    sonde offcputime -f 5 > out.folded   input of flame graph tools\n"
		    "    sonde offcputime -p 185,190 -m 1000  two processes, waits of a millisecond and more\n"
		    "    sonde offcputime --by=runq 5      waiting for a CPU only\n"
		    "    sonde offcputime -K --state 2 5   kernel stacks of uninterruptible waits\n",
};
