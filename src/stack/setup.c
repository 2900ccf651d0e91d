// What the kernel side of stacks needs to know of the running kernel: room for stacks, how deep the kernel's go; of sleeping tasks (bpfrt/ksched.bpf.c) the
// scheduler's section and the kernel's unwind table. In: features, single kernel symbols. Out: sizes of rt_stacks_*, the runtime's constants.
// Invariant: what is not found leaves the constants 0, and stacks of sleeping tasks are as the kernel gives them.
#include <linux/bpf.h>
#include "stack/internal.h"

static bool set_addr(struct Program *prog, struct Syms *syms, const char *symbol, const char *constant, u64 *addr)
{
	*addr = 0;
	return sym_kernel_addr(syms, symbol, NULL, addr) && link_set_const(prog, constant, addr, sizeof(*addr));
}

// Kernels built with frame pointers have no such table (CONFIG_UNWINDER_FRAME_POINTER, arm64).
static void orc_setup(struct Program *prog, struct Syms *syms)
{
	u64 ip, orc, end;
	if (!set_addr(prog, syms, "__start_orc_unwind_ip", "rt_orc_ip", &ip) || !set_addr(prog, syms, "__start_orc_unwind", "rt_orc", &orc) ||
	    !sym_kernel_addr(syms, "__stop_orc_unwind_ip", NULL, &end))
		return;
	u32 n = end > ip && end - ip < 1ull << 24 ? (u32)((end - ip) / 4) : 0; // one s32 an entry
	link_set_const(prog, "rt_orc_n", &n, sizeof(n));
}

static void sched_setup(struct Program *prog, struct Syms *syms)
{
	bool wanted = false;
	u64 start, end;
	for (size_t i = 0; prog->uses_kstack && i < prog->progs.n; i++)
		wanted |= prog->progs.p[i]->kind == PK_ITER;
	if (!wanted || !set_addr(prog, syms, "__sched_text_end", "rt_sched_end", &end))
		return;
	set_addr(prog, syms, "__sched_text_start", "rt_sched_start", &start);
	orc_setup(prog, syms);
	if (!program_map(prog, "rt_uw_maps")) // else the tracker has seen to it
		kernoff_set(prog);
}

// Does an x86-64 kernel unwind itself by frame pointers, for lack of a table? Then callers of functions that are probed at their entry are put into the stack.
static void leaf_setup(struct Program *prog, struct Syms *syms)
{
#ifdef __x86_64__
	static const char *const hooks[] = {"arch_rethook_trampoline", "__kretprobe_trampoline", "kretprobe_trampoline"}; // 6.1, 5.16, before
	bool wanted = false;
	u64 addr;
	u32 yes = 1;
	for (size_t i = 0; prog->uses_kstack && i < prog->progs.n; i++)
		wanted |= prog->progs.p[i]->kind == PK_KPROBE;
	if (!wanted || sym_kernel_addr(syms, "__start_orc_unwind_ip", NULL, &addr))
		return;
	for (u32 i = 0; i < ARRAY_LEN(hooks); i++)
		if (set_addr(prog, syms, hooks[i], "rt_ret_hook", &addr)) { // without it a return address could not be told from the hook
			link_set_const(prog, "rt_kernel_fp", &yes, sizeof(yes));
			return;
		}
#endif
}

// Without BPF_F_NO_PREALLOC (perf_event programs before 6.1) all memory is taken at once, of every map: then there is room for fewer stacks.
static const u32 prealloc_entries[RT_STACK_CLASSES] = {16384, 32768, 8192, 1024, 256};

static void take_memory_at_once(struct Program *prog)
{
	static const char *const names[RT_STACK_CLASSES] = RT_STACK_CLASS_NAMES;
	for (size_t i = 0; i < prog->maps.n; i++)
		if (prog->maps.p[i]->bpf_type == BPF_MAP_TYPE_HASH)
			prog->maps.p[i]->flags &= ~(u32)BPF_F_NO_PREALLOC;
	for (u32 c = 0; c < RT_STACK_CLASSES; c++) {
		struct MapDef *m = program_map(prog, names[c]);
		if (m)
			m->max_entries = prealloc_entries[c];
	}
}

void stacks_setup(struct Program *prog, struct Syms *syms)
{
	struct Str text = {0};
	u64 max = 127;
	u32 yes = 1;

	sched_setup(prog, syms);
	leaf_setup(prog, syms);
	if (!feature_has(FEAT_NO_PREALLOC))
		take_memory_at_once(prog);
	if (feature_has(FEAT_TASK_PT_REGS)) // newer than what is needed
		link_set_const(prog, "rt_task_stack", &yes, sizeof(yes));
	struct err *e = read_file("/proc/sys/kernel/perf_event_max_stack", &text, 64);
	if (!e && text.n) {
		max = strtoull(text.p, NULL, 10);
		u32 v = MIN(max, RT_KSTACK_MAX);
		link_set_const(prog, "rt_kstack_max", &v, sizeof(v));
	}
	err_free(e);
	str_deinit(&text);
}
