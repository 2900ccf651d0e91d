// Which kernel code is the tracer's: boundaries for rt_trim (bpfrt/stack.h). Input: kallsyms through sym.h. Output: one map value.
// Invariant: an address counts as the kernel's own only inside the kernel's or a module's text and outside the functions listed here, so BPF
// programs, trampolines and ftrace/kprobe pages, present and future, count as the tracer's.
#include "unwind/internal.h"

// Between the traced code and our program (kernel/trace/bpf_trace.c, trace_syscalls.c, include/trace/bpf_probe.h, perf.h, include/linux/tracepoint.h,
// net/bpf/test_run.c), or between a program and its callback (kernel/bpf/bpf_iter.c, task_iter.c, helpers.c). A name in the table ends there, or
// at a '.': compilers add .isra.0, .cold and the like.
static bool is_tracer_func(const char *name)
{
#define P(text) {text, sizeof(text) - 1}
	static const struct { const char *text; size_t n; } prefix[] = {
		P("bpf_trace_run"), P("__bpf_trace_"), P("__traceiter_"), P("__bpf_prog_enter"), P("__bpf_prog_exit"), P("__probestub_"), P("perf_trace_"), P("bpf_iter_")};
#undef P
	static const char *const whole[] = {
		"bpf_loop", "bpf_for_each_map_elem", "bpf_for_each_array_elem", "bpf_for_each_hash_elem", "bpf_get_stack_raw_tp", "bpf_get_stack_tp",
		"bpf_get_task_stack", "__bpf_get_stack", "__bpf_get_task_stack", "get_callchain_entry_for_task", "stack_trace_save_tsk", "trace_call_bpf", "perf_call_bpf_enter", "perf_call_bpf_exit", "perf_syscall_enter", "perf_syscall_exit",
		"bpf_prog_run_array_uprobe", "__bpf_prog_test_run_raw_tp", "bpf_prog_test_run_raw_tp", "bpf_seq_read", "task_seq_show",
		"__task_seq_show", "task_seq_stop", "task_file_seq_show", "__task_file_seq_show", "task_file_seq_stop", "task_vma_seq_show",
		"__task_vma_seq_show", "task_vma_seq_stop"};
	if (!strchr("b_pgst", name[0]) || !strncmp(name, "__pfx_", 6)) // quick: there are 100,000 names, half of them these
		return false;
	for (u32 i = 0; i < ARRAY_LEN(prefix); i++)
		if (!strncmp(name, prefix[i].text, prefix[i].n))
			return true;
	size_t n = strcspn(name, ".");
	for (u32 i = 0; i < ARRAY_LEN(whole); i++)
		if (strlen(whole[i]) == n && !memcmp(name, whole[i], n))
			return true;
	return false;
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
	for (u64 i = out->n; i < RT_TRIM_MAX; i++)
		out->bound[i] = ~0ull;
}

// A tracepoint's registers are those of perf's handler's caller: of the traced function, or of what the kernel puts between for a second handler
// (__traceiter_*) and for system calls.
static bool needs_trim(const struct Program *p)
{
	for (size_t i = 0; i < p->progs.n; i++) {
		const struct ProbeProg *pp = p->progs.p[i];
		enum CtxKind ctx = pp->points.v.n ? pp->points.v.p[0]->ctx : CTX_RAW; // a program made by hand: assume the worst
		if ((stack_src(pp->kind, ctx, false, false) & RT_SRC_MASK) >= RT_SRC_TP)
			return true;
	}
	return false;
}

struct err *stacks_start(struct Program *prog, struct Syms *syms)
{
	const struct MapDef *m = program_map(prog, "rt_trim");
	struct TextSyms t = {0};
	u32 zero = 0;

	if (!m || !needs_trim(prog))
		return NULL;
	sym_kernel_each(syms, add_sym, &t);
	struct RtTrim *trim = xcalloc(1, sizeof(*trim));
	trim_bounds(t.v.p, t.v.n, trim);
	int rc = sys_map_update(m->fd, &zero, trim, 0);
	free(trim);
	vec_deinit(&t.v);
	return rc < 0 ? err_errno(-rc, "cannot tell the kernel side which functions are the tracer's") : NULL;
}
