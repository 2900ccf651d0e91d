// wakeuptime and offwaketime: rows of the tools that name wakers.
// A row is one list of frames, in the order both tools print it and the reverse of the folded order: [source of the chain ...] waker, its frames root to
// leaf, "--", the target's frames leaf to root. Marks among the frames have `mark` set to one of the texts below. A waker's kernel stack comes whole, and with
// -U too: it tells whether an interrupt woke. Of it --depth frames are shown, with -U none.
#include "bpf/bpf.h"
#include "tool/internal.h"

static const u8 wakeuptime_bt[] = {
#include "tool/wakeuptime.bt.gz.h"
};
static const u8 offwaketime_bt[] = {
#include "tool/offwaketime.bt.gz.h"
};

static const char mark_task[] = "task", mark_line[] = "line", mark_end[] = "end";

static struct Frame mark(const char *kind, const char *name, u64 pid)
{
	return (struct Frame){.sym = name, .mark = kind, .line = (u32)pid};
}

static const char not_woken[] = "[not woken yet]";
static const char not_seen[] = "[waker not seen]"; // the kernel told nobody: it hides events of a sandbox's own threads, interrupts of these too

// What a wake-up from an interrupt comes from: nobody, the current thread only happened to run. NULL: from a thread. *n: frames up to the entry of
// the interrupt, the rest is the interrupted thread's. A soft interrupt that a thread runs itself (a packet it sends to this machine) is its own doing.
static const char *interrupt_source(const struct Value *k, u32 *n)
{
	static const char *const entries[] = {"asm_sysvec_*", "asm_common_interrupt", "asm_exc_nmi", "el1h_64_irq", "el0t_64_irq", "el1_interrupt",
					      "el0_interrupt", "handle_riscv_irq", "run_ksoftirqd"};
	static const struct { const char *frame, *name; } sources[] = {
		{"net_rx_action", "[network packet]"},	{"__napi_poll*", "[network packet]"},	{"bio_endio", "[disk completion]"},
		{"blk_mq_end_request*", "[disk completion]"}, {"blk_update_request", "[disk completion]"}, {"blk_done_softirq", "[disk completion]"},
		{"hrtimer_interrupt", "[timer interrupt]"}, {"hrtimer_run_queues", "[timer interrupt]"}, {"run_timer_softirq", "[timer interrupt]"},
		{"hrtimer_run_softirq", "[timer interrupt]"},
	};
	u32 entry = 0;
	for (u32 i = 0; k && i < k->nframes && !entry; i++)
		for (size_t e = 0; k->frames[i].sym && e < ARRAY_LEN(entries); e++)
			if (glob_match(entries[e], k->frames[i].sym))
				entry = i + 1;
	if (!entry)
		return NULL;
	*n = entry;
	for (u32 i = 0; i < entry; i++)
		for (size_t e = 0; k->frames[i].sym && e < ARRAY_LEN(sources); e++)
			if (glob_match(sources[e].frame, k->frames[i].sym))
				return sources[e].name;
	return "[interrupt]";
}

static u32 shown_frames(const struct ToolOpts *o, u32 n)
{
	return o->depth && o->depth < n ? (u32)o->depth : n;
}

// ---- wakeuptime

static const char *wakeup_check(struct ToolOpts *o)
{
	o->stacks = STACKS_KERNEL;
	if (o->pids.n && o->threads == THREADS_USER)
		return "use either -p or -u.";
	return o->max_us && o->max_us < o->min_us ? "min_block_time should be less than max_block_time" : NULL;
}

static void wakeup_header(const struct ToolOpts *o, struct RunCtx *rc, FILE *out)
{
	fputs("Tracing blocked time (us) by kernel stack", out);
}

// Key: target, waker, the waker's kernel stack
void row_waker(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s)
{
	const struct Value *st = k->kern[0];
	u32 n = st->nframes;
	const char *source = interrupt_source(st, &n);
	n = shown_frames(o, n);
	struct Frame *f = arena_new_n(a, struct Frame, n + 1);
	f[0] = mark(mark_task, k->strs[0], 0);
	if (n)
		memcpy(f + 1, st->frames, n * sizeof(*f));
	s->comm = source ? source : *k->strs[1] ? k->strs[1] : not_woken;
	s->kern = f;
	s->nkern = n + 1;
	if (!n && st->why)
		s->kern_note = "[Missed Kernel Stack]";
}

static void task_line(const char *what, const char *comm, u32 pid, bool with_pid, FILE *out)
{
	struct Str t = {0};
	str_add_shown(&t, comm ? comm : "", comm ? strlen(comm) : 0);
	fprintf(out, "    %-16s %s", what, str_text(&t));
	fprintf(out, with_pid ? " %u\n" : "\n", pid);
	str_deinit(&t);
}

void print_waker(const struct StackProfile *p, const struct ToolOpts *o, FILE *out)
{
	u64 total = profile_total(p);
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		task_line("target:", s->kern[0].sym, 0, false, out);
		for (u32 k = 1; k < s->nkern; k++)
			frame_line(p, &s->kern[k], o, "    ", out);
		if (s->kern_note)
			fprintf(out, "    %s\n", s->kern_note);
		task_line("waker:", s->comm, 0, false, out);
		labels_line(p, s, "    ", out);
		fprintf(out, "        %llu\n", (unsigned long long)s->value);
		share_line(s->value, total, "        ", out);
		fputc('\n', out);
	}
}

const struct Tool tool_wakeuptime = {
	.name = "wakeuptime",
	.summary = "who wakes waiting threads: kernel stacks of wakers, with the time the woken had been blocked",
	.options = (const char *const[]){"p", "u", "v", "f", "m", "M", "s", "comm", "cgroup", "depth", "stack-storage-size", "hash-storage-size", "i",
					 "flame", "pprof", "json", "o", "print-script", "dump", "h", NULL},
	.text = {wakeuptime_bt, sizeof(wakeuptime_bt)},
	.positional = "[SECONDS]",
	.max_positional = 1,
	.own_reports = true,
	.check = wakeup_check,
	.header = wakeup_header,
	.examples = "    sonde wakeuptime                  until Ctrl-C\n"
		    "    sonde wakeuptime 5                5 seconds\n"
		    "    sonde wakeuptime -f 5 > out.folded   input of flame graph tools\n"
		    "    sonde wakeuptime -p 185 -m 1000   who wakes process 185 from waits of a millisecond and more\n",
};

// ---- offwaketime

static const char *offwake_check(struct ToolOpts *o)
{
	if ((o->pids.n != 0) + (o->tids.n != 0) + (o->threads != THREADS_ALL) > 1)
		return "argument -u/-k: not allowed with argument -p/--pid or -t/--tid";
	if (!feature_has(FEAT_ITER))
		vec_push(&o->params, ((struct Param){"sleepers", "off"}));
	return o->max_us && o->max_us < o->min_us ? "min_block_time should be less than max_block_time" : NULL;
}

static int offwake_prepare(struct ToolOpts *o)
{
	if (o->threads != THREADS_KERNEL || o->stacks != STACKS_USER)
		return 0;
	fprintf(stderr, "ERROR: Displaying user stacks for kernel threads doesn't make sense.\n");
	return 2;
}

static void offwake_header(const struct ToolOpts *o, struct RunCtx *rc, FILE *out)
{
	fprintf(out, "Tracing blocked time (us) by %s off-CPU and waker stack", stack_words(o));
}

static void add_frames(struct Frame *f, u32 *n, const struct Value *v, u32 nframes, bool reverse)
{
	for (u32 i = 0; v && i < nframes; i++)
		f[(*n)++] = v->frames[reverse ? nframes - 1 - i : i];
}

// Only user stacks were asked for: the target has no kernel stack, and its wakers' are not shown.
static bool user_only(const struct KeyParts *k)
{
	return k->nuser > k->nkern;
}

// Waker h of the row
static const struct Value *waker_kernel(const struct KeyParts *k, u32 h)
{
	u32 i = h - user_only(k);
	return i < k->nkern ? k->kern[i] : NULL;
}

// Waker h of the row: who, and where it stood, root first.
static void add_waker(const struct ToolOpts *o, const struct KeyParts *k, u32 h, struct Frame *f, u32 *n)
{
	const struct Value *u = h < k->nuser ? k->user[h] : NULL, *kern = waker_kernel(k, h);
	u32 nkern = kern ? kern->nframes : 0;
	const char *source = interrupt_source(kern, &nkern);
	nkern = user_only(k) ? 0 : shown_frames(o, nkern);
	f[(*n)++] = mark(mark_task, source ? source : k->strs[h], source ? 0 : k->ints[h]);
	if (!source)
		add_frames(f, n, u, u ? u->nframes : 0, true);
	if (o->delim && !source && u && u->nframes && nkern)
		f[(*n)++] = mark(mark_line, "-", 0);
	add_frames(f, n, kern, nkern, true);
	f[(*n)++] = mark(mark_end, "--", 0);
}

// Key: target id, name, stacks; then for each hop id, name, stacks; with -i whether it still waits
void row_wakers(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s)
{
	u32 last = 0, total = 8, n = 0, unused;
	for (u32 h = 1; h < k->nstrs && *k->strs[h]; h++) {
		last = h;
		if (interrupt_source(waker_kernel(k, h), &unused))
			break;
	}
	for (u32 h = 0; h <= last; h++)
		total += 3 + (h < k->nuser ? k->user[h]->nframes : 0);
	for (u32 i = 0; i < k->nkern; i++)
		total += k->kern[i]->nframes;
	struct Frame *f = arena_new_n(a, struct Frame, total);
	for (u32 h = last; h >= 1; h--)
		add_waker(o, k, h, f, &n);
	if (!last) {
		bool waits = k->nints > k->nstrs && k->ints[k->nints - 1];
		f[n++] = mark(mark_task, waits ? not_woken : not_seen, 0);
		f[n++] = mark(mark_end, "--", 0);
	}
	struct KeyParts target = *k;
	struct StackSample plain = {0};
	if (user_only(k))
		target.nkern = 0;
	plain.pid = k->nints ? (u32)k->ints[0] : 0;
	plain.comm = k->strs[0];
	plain.part[0] = value;
	row_stacks(&target, &plain);
	plain.value = value;
	if (!plain.nkern && plain.kern_note)
		f[n++] = mark(mark_line, plain.kern_note, 0);
	add_frames(f, &n, target.nkern ? k->kern[0] : NULL, plain.nkern, false);
	*s = plain;
	s->kern = f;
	s->nkern = n;
}

void print_wakers(const struct StackProfile *p, const struct ToolOpts *o, FILE *out)
{
	u64 total = profile_total(p);
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		bool own = false; // the target's own kernel stack has begun
		for (u32 k = 0; k < s->nkern; k++) {
			const struct Frame *f = &s->kern[k];
			own |= f->mark != mark_task && f->mark != mark_end;
			if (f->mark == mark_task)
				task_line("waker:", f->sym, f->line, true, out);
			else if (f->mark == mark_end) {
				task_line("--", "--", 0, false, out);
				own = false;
			} else if (f->mark == mark_line)
				fprintf(out, "    %s\n", f->sym);
			else
				frame_line(p, f, o, "    ", out);
		}
		if (o->delim && own && s->nuser)
			fputs("    -\n", out);
		for (u32 k = 0; k < s->nuser; k++)
			frame_line(p, &s->user[k], o, "    ", out);
		if (s->user_note)
			fprintf(out, "    %s\n", s->user_note);
		task_line("target:", s->comm, s->pid, true, out);
		labels_line(p, s, "    ", out);
		fprintf(out, "        %llu\n", (unsigned long long)s->value);
		share_line(s->value, total, "        ", out);
		fputc('\n', out);
	}
}

const struct Tool tool_offwaketime = {
	.name = "offwaketime",
	.summary = "off-CPU time by the stack of the waiting thread and of the thread that wakes it, or by the chain of wakers",
	.options = (const char *const[]){"p", "t", "u", "k", "U", "K", "d", "f", "m", "M", "state", "chain", "per-thread", "comm", "cgroup", "depth",
					 "stack-storage-size", "hash-storage-size", "i", "flame", "pprof", "json", "o", "unwind", "native", "async", "print-script",
					 "dump", "h", NULL},
	.text = {offwaketime_bt, sizeof(offwaketime_bt)},
	.positional = "[SECONDS]",
	.max_positional = 1,
	.own_reports = true,
	.check = offwake_check,
	.prepare = offwake_prepare,
	.header = offwake_header,
	.examples = "    sonde offwaketime                 until Ctrl-C\n"
		    "    sonde offwaketime -f 5 > out.folded  input of flame graph tools\n"
		    "    sonde offwaketime -p 185 -m 1000  waits of a millisecond and more\n"
		    "    sonde offwaketime --chain 4 5     who woke the waker, up to four wakers\n",
};
