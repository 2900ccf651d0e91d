// Which kernel code is the tracer's: boundaries for rt_trim (bpfrt/stack.h). Input: kallsyms through sym.h. Output: one map value.
// Invariant: an address counts as the kernel's own only inside the kernel's or a module's text and outside the functions listed here, so BPF
// programs, trampolines and ftrace/kprobe pages, present and future, count as the tracer's.
#include <linux/bpf.h>
#include <stdarg.h>
#include "stack/internal.h"

// Between the traced code and our program (kernel/trace/bpf_trace.c, trace_syscalls.c, include/trace/bpf_probe.h, perf.h, include/linux/tracepoint.h,
// net/bpf/test_run.c), or between a program and its callback (kernel/bpf/bpf_iter.c, task_iter.c, helpers.c). A name in the table ends there, or
// at a '.': compilers add .isra.0, .cold and the like.
static const char *const above_program[] = {
	"bpf_loop", "bpf_for_each_map_elem", "bpf_for_each_array_elem", "bpf_for_each_hash_elem", "bpf_get_stack_raw_tp", "bpf_get_stack_tp",
	"bpf_get_task_stack", "__bpf_get_stack", "__bpf_get_task_stack", "get_callchain_entry_for_task", "stack_trace_save_tsk", "trace_call_bpf",
	"perf_call_bpf_enter", "perf_call_bpf_exit", "perf_syscall_enter", "perf_syscall_exit", "bpf_prog_run_array_uprobe",
	"__bpf_prog_test_run_raw_tp", "bpf_prog_test_run_raw_tp"};
static const char *const of_iterators[] = {
	"bpf_seq_read", "task_seq_show", "__task_seq_show", "task_seq_stop", "task_file_seq_show", "__task_file_seq_show", "task_file_seq_stop",
	"task_vma_seq_show", "__task_vma_seq_show", "task_vma_seq_stop"};

static bool is_one_of(const char *const *names, u32 n, const char *name, size_t len)
{
	for (u32 i = 0; i < n; i++)
		if (strlen(names[i]) == len && !memcmp(name, names[i], len))
			return true;
	return false;
}

static bool is_tracer_func(const char *name)
{
#define P(text) {text, sizeof(text) - 1}
	static const struct { const char *text; size_t n; } prefix[] = {
		P("bpf_trace_run"), P("__bpf_trace_"), P("__traceiter_"), P("__bpf_prog_enter"), P("__bpf_prog_exit"), P("__probestub_"), P("perf_trace_"), P("bpf_iter_")};
#undef P
	if (!strchr("b_pgst", name[0]) || !strncmp(name, "__pfx_", 6)) // quick: there are 100,000 names, half of them these
		return false;
	for (u32 i = 0; i < ARRAY_LEN(prefix); i++)
		if (!strncmp(name, prefix[i].text, prefix[i].n))
			return true;
	size_t n = strcspn(name, ".");
	return is_one_of(above_program, ARRAY_LEN(above_program), name, n) || is_one_of(of_iterators, ARRAY_LEN(of_iterators), name, n);
}

struct TextSyms {
	VEC(struct TextSym) v;
};

static bool add_sym(void *arg, const char *name, const char *module, u64 addr, char type)
{
	struct TextSyms *t = arg;
	bool other = module && (!strcmp(module, "bpf") || !strncmp(module, "__builtin__", 11));

	if (other || !addr)
		return true;
	struct TextSym s = {addr, module, is_tracer_func(name)};
	vec_push(&t->v, s);
	return true;
}

static void add_bound(struct RtTrim *t, u64 addr)
{
	if (t->n && t->bound[t->n - 1] == addr) // an empty range
		t->n--;
	else if (t->n < RT_TRIM_MAX)
		t->bound[t->n++] = addr;
}

static void fill_up(struct RtTrim *t)
{
	for (u64 i = t->n; i < RT_TRIM_MAX; i++)
		t->bound[i] = ~0ull;
}

// The symbols of a text are contiguous: each reaches to the next one. After a module's or the kernel's last symbol the text ends with its page or
// where its neighbour's begins; a gap of more than a function could fill between two symbols ends it too (kernel text and init text).
#define TEXT_GAP (256u << 10)
#define PAGE_END(a) (((a) | 4095) + 1)
void trim_bounds(const struct TextSym *s, size_t n, struct RtTrim *out)
{
	bool open = false;
	out->n = 0;
	for (size_t i = 0; i < n; i++) {
		bool last = i + 1 == n || s[i + 1].module != s[i].module || s[i + 1].addr - s[i].addr > TEXT_GAP;
		if (open == s[i].ours) {
			add_bound(out, s[i].addr);
			open = !open;
		}
		if (last && open) {
			u64 end = PAGE_END(s[i].addr);
			add_bound(out, i + 1 < n ? MIN(end, s[i + 1].addr) : end);
			open = false;
		}
	}
	if (out->n & 1) // the table was full
		out->n--;
	fill_up(out);
}

// A tracepoint's registers are those of perf's handler's caller: of the traced function, or of what the kernel puts between for a second handler
// (__traceiter_*) and for system calls.
static bool captures_raw(const struct ProbeProg *pp)
{
	enum CtxKind ctx = pp->points.v.n ? pp->points.v.p[0]->ctx : CTX_RAW; // a program made by hand: assume the worst
	return (stack_src(pp->kind, ctx, STACK_WALK_MIXED, false) & RT_SRC_MASK) >= RT_SRC_TP;
}

static bool needs_trim(const struct Program *p)
{
	for (size_t i = 0; i < p->progs.n; i++)
		if (captures_raw(p->progs.p[i]))
			return true;
	return false;
}

// ---- without the table of symbols
// Raw tracepoints and tracepoints have only these between the traced function and the program: the program's own code, functions common to all and
// those that the event's macros define. When all of that can be asked for by name, everything else is the kernel's.
struct Range {
	u64 start, end;
};
struct Ranges {
	VEC(struct Range) v;
};

static int by_start(const void *a, const void *b)
{
	const struct Range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_range(struct Ranges *r, u64 start, u64 size)
{
	struct Range x = {start, start + size};
	vec_push(&r->v, x);
}

// The function of that name is the tracer's. False: there is none.
__attribute__((format(printf, 3, 4))) static bool ask(struct Syms *syms, struct Ranges *r, const char *fmt, ...)
{
	char name[256];
	u64 addr;
	struct SymHit h = {0};
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (sym_kernel_addr(syms, name, NULL, &addr))
		h = sym_kernel(syms, addr);
	if (h.name && h.size)
		add_range(r, h.start, h.size);
	return h.name && h.size;
}

#define BPF_TRACE_RUNS 12 // of as many arguments (kernel/trace/bpf_trace.c)
// Functions that every event has in common, with the names that compilers give to copies.
static void ask_common(struct Syms *syms, struct Ranges *r)
{
	static const char *const copies[] = {"", ".isra.0", ".constprop.0", ".part.0"};
	for (u32 i = 0; i < ARRAY_LEN(above_program); i++)
		for (u32 k = 0; k < ARRAY_LEN(copies); k++)
			ask(syms, r, "%s%s", above_program[i], copies[k]);
	for (u32 i = 1; i <= BPF_TRACE_RUNS; i++)
		ask(syms, r, "bpf_trace_run%u", i);
}

// __bpf_trace_* is named after the event's class, which is mostly the event itself, or one of these (include/trace/events/*.h). Of others the table tells.
static const char *const class_of[][2] = {
	{"sched_wakeup", "sched_wakeup_template"}, {"sched_waking", "sched_wakeup_template"}, {"sched_wakeup_new", "sched_wakeup_template"},
	{"sched_process_exit", "sched_process_template"}, {"sched_process_free", "sched_process_template"}, {"block_rq_issue", "block_rq"},
	{"block_rq_insert", "block_rq"}, {"block_rq_complete", "block_rq_completion"}, {"block_bio_queue", "block_bio"}, {"softirq_entry", "softirq"},
	{"softirq_exit", "softirq"}, {"softirq_raise", "softirq"}, {"net_dev_queue", "net_dev_template"}, {"netif_receive_skb", "net_dev_template"},
	{"netif_rx", "net_dev_template"}, {"page_fault_user", "exceptions"}, {"page_fault_kernel", "exceptions"}, {"hrtimer_cancel", "hrtimer_class"},
	{"timer_cancel", "timer_class"}, {"cpu_idle", "cpu"}, {"cpu_frequency", "cpu"}};

static bool ask_class(struct Syms *syms, struct Ranges *r, const char *event)
{
	bool found = ask(syms, r, "__bpf_trace_%s", event);
	for (u32 i = 0; !found && i < ARRAY_LEN(class_of); i++)
		if (!strcmp(class_of[i][0], event))
			found = ask(syms, r, "__bpf_trace_%s", class_of[i][1]);
	return found;
}

#define ASK_EVENTS 64	  // each costs two questions

static bool ask_event(struct Syms *syms, struct Ranges *r, const struct Point *pt)
{
	const char *event = pt->event;
	if (pt->kind == PK_TRACEPOINT && pt->target && !strcmp(pt->target, "syscalls"))
		event = strncmp(event, "sys_exit_", 9) ? "sys_enter" : "sys_exit";
	return event && ask(syms, r, "__traceiter_%s", event) && (pt->ctx != CTX_RAW || ask_class(syms, r, event));
}

static bool ask_program(struct Syms *syms, struct Ranges *r, const struct ProbeProg *pp, u32 *events)
{
	struct bpf_prog_info info = {0};
	u64 start[64];
	u32 size[64], len = sizeof(info);

	switch (pp->kind) {
	case PK_TRACEPOINT:
	case PK_RAWTP:
		if (!pp->points.v.n)
			return false;
		for (size_t i = 0; i < pp->points.v.n; i++)
			if (++*events > ASK_EVENTS || !ask_event(syms, r, pp->points.v.p[i]))
				return false;
		break;
	case PK_BEGIN:
	case PK_END:
	case PK_SELF:
	case PK_TEST:
	case PK_BENCH:
		break;
	default:
		return false;
	}
	info.jited_ksyms = (u64)(uintptr_t)start;
	info.jited_func_lens = (u64)(uintptr_t)size;
	info.nr_jited_ksyms = info.nr_jited_func_lens = ARRAY_LEN(size);
	if (sys_obj_info(pp->fd, &info, &len) < 0 || info.nr_jited_ksyms != info.nr_jited_func_lens || info.nr_jited_ksyms > ARRAY_LEN(size) ||
	    !info.nr_jited_ksyms)
		return false;
	for (u32 i = 0; i < info.nr_jited_ksyms; i++)
		add_range(r, start[i], size[i]);
	return true;
}

#define KERNEL_HALF (1ull << 63)

static bool ask_bounds(const struct Program *p, struct Syms *syms, struct RtTrim *out)
{
	struct Ranges r = {0};
	u32 events = 0;
	bool ok = sym_kernel_quick(syms);

	for (size_t i = 0; ok && i < p->progs.n; i++)
		if (captures_raw(p->progs.p[i]))
			ok = ask_program(syms, &r, p->progs.p[i], &events);
	if (ok) {
		ask_common(syms, &r);
		qsort(r.v.p, r.v.n, sizeof(r.v.p[0]), by_start);
		add_bound(out, KERNEL_HALF);
		u64 end = 0;
		for (size_t i = 0; i < r.v.n; i++)
			if (r.v.p[i].start >= end) { // several events have common functions
				add_bound(out, r.v.p[i].start);
				add_bound(out, end = r.v.p[i].end);
			}
		fill_up(out);
	}
	vec_deinit(&r.v);
	return ok;
}

struct err *stacks_start(struct Program *prog, struct Syms *syms)
{
	const struct MapDef *m = program_map(prog, "rt_trim");
	u32 zero = 0;

	ends_start(prog);
	if (!m || !needs_trim(prog))
		return NULL;
	struct RtTrim *trim = xcalloc(1, sizeof(*trim));
	if (!ask_bounds(prog, syms, trim)) {
		struct TextSyms t = {0};
		sym_kernel_each(syms, add_sym, &t);
		trim_bounds(t.v.p, t.v.n, trim);
		vec_deinit(&t.v);
	}
	int rc = sys_map_update(m->fd, &zero, trim, 0);
	free(trim);
	return rc < 0 ? err_errno(-rc, "cannot tell the kernel side which functions are the tracer's") : NULL;
}
