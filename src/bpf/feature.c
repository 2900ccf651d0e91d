// What this kernel can do. Input: nothing; output: yes or no per feature, each found out by trying it once (a tiny program, map or link
// that touches nothing) and remembered. Invariant: no kernel version is ever looked at; a try that leaves something behind in the
// kernel (a program, a map, a link) closes it before it returns.
#include "base/base.h"
#include "bpf/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

enum { // helper numbers newer than 6.1's headers or not worth including by name
	HELPER_KTIME_TAI = 208,
	HELPER_LOOKUP_PERCPU = 195,
};

static int load(u32 type, u32 attach_type, const struct BpfInsn *insns, u32 n, char *log, u32 log_size)
{
	return try_load(0, type, attach_type, insns, n, log, log_size);
}

static int load_empty(u32 type, u32 attach_type)
{
	const struct BpfInsn insns[] = {MOV_IMM(0, 0), EXIT()};
	return load(type, attach_type, insns, ARRAY_LEN(insns), NULL, 0);
}

// ---- helpers

// The verifier names a helper it does not know, or not for this program type, before it looks at the arguments.
static bool log_accepts_helper(int r, const char *log)
{
	if (r >= 0)
		return true;
	return *log && !strstr(log, "unknown func ") && !strstr(log, "invalid func ") && !strstr(log, "cannot use helper ");
}

bool helper_known(u32 prog_type, u32 helper)
{
	const struct BpfInsn insns[] = {CALL(helper), EXIT()};
	char log[4096] = "";
	int r = prog_type == BPF_PROG_TYPE_TRACING ? try_load_iter(insns, ARRAY_LEN(insns), log, sizeof(log)) : load(prog_type, 0, insns, ARRAY_LEN(insns), log, sizeof(log));
	close_ok(r);
	return log_accepts_helper(r, log);
}

static bool try_tp_helper(u32 helper) { return helper_known(BPF_PROG_TYPE_TRACEPOINT, helper); }
static bool try_kprobe_helper(u32 helper) { return helper_known(BPF_PROG_TYPE_KPROBE, helper); }
static bool try_tracing_helper(u32 helper) { return helper_known(BPF_PROG_TYPE_TRACING, helper); }

// ---- maps

bool map_type_known(u32 type)
{
	struct SysMap m = {type, 4, 4, 1, 0, "sonde_try"};
	if (type == BPF_MAP_TYPE_STACK_TRACE)
		m.value_size = 8;
	if (type == BPF_MAP_TYPE_RINGBUF) {
		m.key_size = m.value_size = 0;
		m.max_entries = (u32)sysconf(_SC_PAGESIZE);
	}
	if (type == BPF_MAP_TYPE_LPM_TRIE) {
		m.key_size = 8;
		m.flags = BPF_F_NO_PREALLOC;
	}
	return close_ok(sys_map_create(&m));
}

static bool try_map(u32 type) { return map_type_known(type); }

// Perf event programs may use a hash map that allocates: the kernel's own memory allocator for BPF (bpf_mem_alloc) is there.
static bool try_no_prealloc(u32 arg)
{
	struct SysMap m = {BPF_MAP_TYPE_HASH, 4, 4, 1, BPF_F_NO_PREALLOC, "sonde_try"};
	int map = sys_map_create(&m);
	if (map < 0)
		return false;
	const struct BpfInsn insns[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map), {0}, MOV_IMM(0, 0), EXIT(),
	};
	bool ok = close_ok(load(BPF_PROG_TYPE_PERF_EVENT, 0, insns, ARRAY_LEN(insns), NULL, 0));
	close(map);
	return ok;
}

static bool try_batch(u32 arg)
{
	struct SysMap m = {BPF_MAP_TYPE_HASH, 4, 4, 1, 0, "sonde_try"};
	int map = sys_map_create(&m);
	u32 out, key, val, n = 0;
	if (map < 0)
		return false;
	int r = sys_map_lookup_batch(map, NULL, &out, &key, &val, &n);
	close(map);
	return r == 0;
}

static bool try_big_keys(u32 size)
{
	struct SysMap m = {BPF_MAP_TYPE_HASH, size, 4, 1, 0, "sonde_try"};
	return close_ok(sys_map_create(&m));
}

static bool try_global_data(u32 arg)
{
	struct SysMap m = {BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE, "sonde_try"};
	int map = sys_map_create(&m);
	if (map < 0)
		return false;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (p != MAP_FAILED)
		munmap(p, page);
	const struct BpfInsn insns[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_VALUE, 0, map), {0}, MOV_IMM(0, 0), EXIT(),
	};
	bool ok = close_ok(load(BPF_PROG_TYPE_TRACEPOINT, 0, insns, ARRAY_LEN(insns), NULL, 0));
	close(map);
	return ok && p != MAP_FAILED;
}

// ---- instructions

static bool try_atomics(u32 arg)
{
	const struct BpfInsn insns[] = {
		MOV_IMM(0, 0),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 0, -8, 0),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 0, -8, BPF_ADD | BPF_FETCH),
		EXIT(),
	};
	return close_ok(load(BPF_PROG_TYPE_TRACEPOINT, 0, insns, ARRAY_LEN(insns), NULL, 0));
}

static bool try_may_goto(u32 arg)
{
	const struct BpfInsn insns[] = {MOV_IMM(0, 0), INSN(BPF_JMP | 0xe0, 0, 0, 1, 0), MOV_IMM(0, 1), EXIT()};
	return close_ok(load(BPF_PROG_TYPE_TRACEPOINT, 0, insns, ARRAY_LEN(insns), NULL, 0));
}

static bool try_v4(u32 arg)
{
	const struct BpfInsn insns[] = {
		MOV_IMM(0, -7),
		INSN(BPF_ALU64 | BPF_DIV | BPF_K, 0, 0, 1, 2),	   // r0 s/= 2
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 0, 32, 0),	   // r0 = (s32)r0
		INSN(BPF_ALU64 | BPF_END | BPF_TO_LE, 0, 0, 0, 32), // r0 = bswap32 r0
		MOV_IMM(0, 0),
		EXIT(),
	};
	return close_ok(load(BPF_PROG_TYPE_TRACEPOINT, 0, insns, ARRAY_LEN(insns), NULL, 0));
}

// Is a callback verified for the rounds after the first, too? This one reads through a number in its second round; a kernel that takes
// it has looked at the first alone, and would drop from a program the branches that only later rounds take (commit ab5cfac139ab).
static bool try_loop_rounds(u32 arg)
{
	struct BpfInsn insns[] = {
		MOV_IMM(1, 0),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 1, -8, 0),
		MOV_IMM(1, 2),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 7), {0}, // the callback, 11
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -8),
		MOV_IMM(4, 0),
		CALL(BPF_FUNC_loop),
		MOV_IMM(0, 0),
		EXIT(),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 3, 2, 0, 0),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 3, 0, 1, 1),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 3, 0, 0),
		MOV_IMM(3, 1),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 2, 3, 0, 0),
		MOV_IMM(0, 0),
		EXIT(),
	};
	struct CodeFunc callback = {11, "callback", 2, true};
	struct ProbeProg pp = {.ir = {.name = "sonde_try"}};
	pp.code.insns.p = insns;
	pp.code.insns.n = ARRAY_LEN(insns);
	pp.code.funcs.p = &callback;
	pp.code.funcs.n = 1;
	char log[4096] = "";
	struct SysProg sp = {
		.type = BPF_PROG_TYPE_TRACEPOINT,
		.insns = insns,
		.ninsns = ARRAY_LEN(insns),
		.license = "Dual BSD/GPL",
		.name = "sonde_try",
		.log = log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	close_ok(load_with_btf(&pp, &sp, false));
	return strstr(log, "R3 invalid mem access") != NULL;
}

// ---- attaching

static bool try_perf_link(u32 arg)
{
	int prog = load_empty(BPF_PROG_TYPE_TRACEPOINT, 0);
	if (prog < 0)
		return false;
	int r = sys_link_perf_event(prog, -1, 0); // EBADF for the perf event when the command is known, else EINVAL
	close(prog);
	return r == -EBADF;
}

static bool try_uprobe_multi(u32 arg)
{
	static const u64 off = 0;
	int prog = load_empty(BPF_PROG_TYPE_KPROBE, SYS_TRACE_UPROBE_MULTI);
	if (prog < 0)
		return false;
	int r = sys_link_uprobe_multi(prog, "/", &off, NULL, NULL, 1, 0, 0); // "/" is no regular file: EBADF
	close(prog);
	return r == -EBADF;
}

// A bad pointer to the addresses is found after everything that tells whether the kernel has the link: EFAULT.
static bool try_kprobe_multi(u32 attach_type)
{
	int prog = load_empty(BPF_PROG_TYPE_KPROBE, attach_type);
	if (prog < 0)
		return false;
	int r = sys_link_kprobe_multi(prog, NULL, (const u64 *)8, NULL, 1, attach_type == SYS_TRACE_KPROBE_SESSION ? SYS_MULTI_SESSION : 0);
	close(prog);
	return r == -EFAULT;
}

static bool try_rawtp(u32 arg)
{
	int prog = load_empty(BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
	if (prog < 0)
		return false;
	int r = sys_raw_tracepoint_open("sonde_no_such_event", prog);
	close(prog);
	return r == -ENOENT;
}

// A program for a uprobe_multi link that waits for a page of the process it runs in.
static bool try_sleepable_uprobes(u32 arg)
{
	const struct BpfInsn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, -8),
		MOV_IMM(2, 1), MOV_IMM(3, 0),
		CALL(BPF_FUNC_copy_from_user),
		MOV_IMM(0, 0),
		EXIT(),
	};
	struct SysProg p = {.type = BPF_PROG_TYPE_KPROBE, .expected_attach_type = SYS_TRACE_UPROBE_MULTI, .insns = insns, .ninsns = ARRAY_LEN(insns),
			    .license = "Dual BSD/GPL", .name = "sonde_try", .flags = BPF_F_SLEEPABLE};
	return feature_has(FEAT_UPROBE_MULTI) && close_ok(sys_prog_load(&p));
}

// Paths under the event sources of perf: which kinds perf_event_open(2) takes.
static const char *const pmu_paths[] = {
	"/sys/bus/event_source/devices/kprobe/type",
	"/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset",
	"/sys/kernel/btf/vmlinux",
};
static bool try_path(u32 which)
{
	return can_access(pmu_paths[which], R_OK);
}

static bool try_hardware(u32 arg)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
	};
	return close_ok(sys_perf_event_open(&a, 0, -1, -1, 0));
}

// BTF objects have names since modules have BTF (5.11): the kernel fills them in.
static bool try_module_btf(u32 arg)
{
	struct ProbeProg pp = {.ir = {.name = "sonde_try"}};
	struct ProgBtf pb;
	progbtf_build(&pp, false, &pb);
	int fd = sys_btf_load(pb.data, pb.size, NULL, 0);
	progbtf_deinit(&pb);
	if (fd < 0)
		return false;
	char name[16];
	struct bpf_btf_info info = {.name = (u64)(uintptr_t)name, .name_len = sizeof(name)};
	u32 len = sizeof(info);
	int r = sys_obj_info(fd, &info, &len);
	close(fd);
	return r == 0;
}

// ---- the table

struct Row {
	const char *name;
	const char *note; // since which kernel, and what sonde does without it
	bool (*try)(u32 arg);
	u32 arg;
};

static const struct Row rows[FEATURES] = {
	[FEAT_RINGBUF] = {"ringbuf", "Linux 5.8; events cannot be reported without it", try_map, BPF_MAP_TYPE_RINGBUF},
	[FEAT_BPF_LOOP] = {"bpf_loop",
		"Linux 5.17; long loops and the unwinder are unrolled or cut short without it, and globmatch() takes a literal pattern with one * at its end at most",
		try_tp_helper, BPF_FUNC_loop},
	[FEAT_FOR_EACH_MAP_ELEM] = {"for_each_map_elem",
		"Linux 5.13; 'for' over maps needs it",
		try_tp_helper, BPF_FUNC_for_each_map_elem},
	[FEAT_PERF_LINK] = {"perf_link", "Linux 5.15; ioctl(PERF_EVENT_IOC_SET_BPF) is used without it", try_perf_link, 0},
	[FEAT_UPROBE_MULTI] = {"uprobe_multi", "Linux 6.6; user probes are attached one by one without it", try_uprobe_multi, 0},
	[FEAT_KPROBE_MULTI] = {"kprobe_multi",
		"Linux 5.18 with CONFIG_FPROBE; kernel probes are attached one by one without it",
		try_kprobe_multi, SYS_TRACE_KPROBE_MULTI},
	[FEAT_KPROBE_SESSION] = {"kprobe_session",
		"Linux 6.10 with CONFIG_FPROBE; entry and return are attached separately without it",
		try_kprobe_multi, SYS_TRACE_KPROBE_SESSION},
	[FEAT_KPROBE] = {"kprobe", "CONFIG_KPROBE_EVENTS; kprobe and kretprobe need it", try_path, 0},
	[FEAT_FENTRY] = {"fentry", "Linux 5.5 with BTF (arm64: 6.4); fentry and fexit need it", try_fentry, 0},
	[FEAT_TP_BTF] = {"tp_btf", "Linux 5.5 with BTF; raw tracepoints read their arguments with probe_read without it", try_tp_btf, 0},
	[FEAT_RAWTP] = {"raw_tp", "Linux 4.17; rawtracepoint needs it", try_rawtp, 0},
	[FEAT_BTF] = {"btf", "CONFIG_DEBUG_INFO_BTF; kernel types must be declared in the script without it", try_path, 2},
	[FEAT_MODULE_BTF] = {"module btf",
		"Linux 5.11 with CONFIG_DEBUG_INFO_BTF_MODULES; types and functions of modules are unknown without it",
		try_module_btf, 0},
	[FEAT_NO_PREALLOC] = {"no_prealloc", "Linux 6.1; maps take their full memory at start without it", try_no_prealloc, 0},
	[FEAT_BIG_KEYS] = {"big keys", "after Linux 5.10; str() reads at most 200 bytes by default without it, as a key of a map has 512", try_big_keys, 1024},
	[FEAT_BATCH] = {"map batch", "Linux 5.6; maps are read element by element without it", try_batch, 0},
	[FEAT_MAY_GOTO] = {"may_goto", "Linux 6.9; programs with user stacks take longer to load without it", try_may_goto, 0},
	[FEAT_V4_INSNS] = {"v4 instructions", "Linux 6.6; signed division and byte swaps take several instructions without it", try_v4, 0},
	[FEAT_TASK_PT_REGS] = {"task_pt_regs",
		"Linux 5.15; user stacks from kernel events begin at frame pointers without it",
		try_tp_helper, BPF_FUNC_task_pt_regs},
	[FEAT_GET_NS_PID] = {"get_ns_current_pid_tgid",
		"Linux 5.7; pid and tid are those of the initial namespace without it",
		try_tp_helper, BPF_FUNC_get_ns_current_pid_tgid},
	[FEAT_D_PATH] = {"dpath", "Linux 5.10 with BTF; path() needs it", try_tracing_helper, BPF_FUNC_d_path},
	[FEAT_STRNCMP] = {"strncmp", "Linux 5.17; strings are compared by generated code without it", try_tp_helper, BPF_FUNC_strncmp},
	[FEAT_WRITE_USER] = {"probe_write_user", "write_user() needs it; kernels locked down for integrity refuse it", try_tp_helper, BPF_FUNC_probe_write_user},
	[FEAT_SIGNAL] = {"send_signal", "Linux 5.3; signal() needs it", try_tp_helper, BPF_FUNC_send_signal},
	[FEAT_KTIME_BOOT] = {"get_boot_ns", "Linux 5.8; times stop during suspend without it", try_tp_helper, BPF_FUNC_ktime_get_boot_ns},
	[FEAT_KTIME_TAI] = {"get_tai_ns", "Linux 6.1; nsecs(tai) needs it", try_tp_helper, HELPER_KTIME_TAI},
	[FEAT_JIFFIES64] = {"jiffies64", "Linux 5.6; jiffies needs it", try_tp_helper, BPF_FUNC_jiffies64},
	[FEAT_ITER] = {"iter", "Linux 5.8 with BTF; iter probes need it", try_iter, 0},
	[FEAT_TASK_MEMORY] = {"copy_from_user_task",
		"Linux 5.18; ustack is empty in iter:task without it, and threads asleep since before tracing began have no user stack",
		try_task_memory, 0},
	[FEAT_SLEEPABLE_UPROBES] = {"sleepable uprobes",
		"Linux 6.6; str() in a uprobe waits for a page that is not in memory with it, and is <not in memory> without it",
		try_sleepable_uprobes, 0},
	[FEAT_TASK_WORK] = {"task work",
		"Linux 6.18; at the entry of a system call a text that is not in memory is waited for with it, and is <not in memory> without it",
		try_task_work, 0},
	[FEAT_GET_STACK] = {"get_stack", "Linux 4.18; kstack needs it", try_tp_helper, BPF_FUNC_get_stack},
	[FEAT_FUNC_IP] = {"get_func_ip", "Linux 5.15; func in kretprobes is known for one function each without it", try_kprobe_helper, BPF_FUNC_get_func_ip},
	[FEAT_MAP_LOOKUP_PERCPU] = {"lookup_percpu_elem",
		"Linux 5.19; a script cannot read its own per-CPU aggregations without it",
		try_tp_helper, HELPER_LOOKUP_PERCPU},
	[FEAT_UPROBE_REFCTR] = {"uprobe refcount",
		"Linux 4.20; USDT semaphores are raised by writing to processes without it",
		try_path, 1},
	[FEAT_HW_EVENTS] = {"hardware events",
		"needs a CPU with counters (most virtual machines hide them); profile uses the CPU clock without them",
		try_hardware, 0},
	[FEAT_ATOMICS] = {"atomics", "Linux 5.12; atomic operations give no old value without it", try_atomics, 0},
	[FEAT_LOOP_ROUNDS] = {"loop rounds",
		"Linux 6.7; variables of loops are kept out of the verifier's sight without it",
		try_loop_rounds, 0},
	[FEAT_GLOBAL_DATA_MMAP] = {"global data", "Linux 5.5; nothing works without it", try_global_data, 0},
};

static enum { UNKNOWN, NO, YES } answers[FEATURES]; // cache: filled by feature_has, overruled by feature_set

bool feature_has(enum Feature f)
{
	assert(f < FEATURES);
	u8 known = __atomic_load_n(&answers[f], __ATOMIC_RELAXED); // two threads that ask at once both try
	if (known == UNKNOWN) {
		known = rows[f].try(rows[f].arg) ? YES : NO;
		__atomic_store_n(&answers[f], known, __ATOMIC_RELAXED);
	}
	return known == YES;
}

const char *feature_name(enum Feature f)
{
	return rows[f].name;
}

const char *feature_note(enum Feature f)
{
	return rows[f].note;
}

void feature_set(enum Feature f, bool has)
{
	answers[f] = has ? YES : NO;
}

u32 verifier_insn_limit(void)
{
	const struct BpfInsn insns[] = {MOV_IMM(0, 0), EXIT()};
	char log[1024] = "";
	int fd = load(BPF_PROG_TYPE_TRACEPOINT, 0, insns, ARRAY_LEN(insns), log, sizeof(log));
	const char *p = strstr(log, "(limit ");
	close_ok(fd);
	return p ? (u32)strtoul(p + strlen("(limit "), NULL, 10) : 0;
}

bool bounded_loops(void)
{
	const struct BpfInsn insns[] = {
		MOV_IMM(0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 1),
		INSN(BPF_JMP | BPF_JLT | BPF_K, 0, 0, -2, 4),
		EXIT(),
	};
	return close_ok(load(BPF_PROG_TYPE_TRACEPOINT, 0, insns, ARRAY_LEN(insns), NULL, 0));
}

bool prog_type_known(u32 type)
{
	return close_ok(load_empty(type, 0));
}
