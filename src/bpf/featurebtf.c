// Features that are tried with the kernel's own types (BTF): what attaches to functions and objects of the kernel, and what a script's task work calls. Input: nothing; output: yes or
// no, as feature.c asks, which remembers it. Invariant: as there.
#include "base/base.h"
#include "bpf/internal.h"
#include "ctype/ctype.h"
#include <errno.h>
#include <linux/bpf.h>

enum { HELPER_COPY_FROM_USER_TASK = 191 }; // newer than headers

// The names of things in BTF that a try needs; opened for one try.
struct BtfUse {
	struct Arena arena;
	struct TypeTab types;
	struct Diags diags;
	struct Ctypes *c;
};

static void btf_use(struct BtfUse *b)
{
	*b = (struct BtfUse){0};
	typetab_init(&b->types, &b->arena);
	b->c = ctypes_create(&b->arena, &b->types, &b->diags);
}

static void btf_unuse(struct BtfUse *b)
{
	ctypes_destroy(b->c);
	typetab_deinit(&b->types);
	diags_deinit(&b->diags);
	arena_deinit(&b->arena);
}

static int load_tracing(u32 attach_type, u32 btf_id, const struct BpfInsn *insns, u32 n, char *log, u32 log_size)
{
	return btf_id ? try_load(btf_id, BPF_PROG_TYPE_TRACING, attach_type, insns, n, log, log_size) : -ENOENT;
}

static u32 iter_btf_id(void)
{
	struct BtfUse b;
	struct Record *ctx;
	u32 id = 0;
	btf_use(&b);
	struct err *e = ctype_iter(b.c, "task", &ctx, &id);
	if (e)
		id = 0;
	err_free(e);
	btf_unuse(&b);
	return id;
}

int try_load_iter(const struct BpfInsn *insns, u32 n, char *log, u32 log_size)
{
	return load_tracing(BPF_TRACE_ITER, iter_btf_id(), insns, n, log, log_size);
}

// Loading says little (arm64 6.1 loads but cannot attach): attached for a moment to a function that only the kernel's own tests call.
bool try_fentry(u32 arg)
{
	static const char *const names[] = {"bpf_fentry_test1", "sched_fork"};
	const struct BpfInsn insns[] = {MOV_IMM(0, 0), EXIT()};
	struct BtfUse b;
	u32 id = 0;
	btf_use(&b);
	for (u32 i = 0; i < ARRAY_LEN(names) && !id; i++)
		id = ctype_func_id(b.c, names[i]);
	btf_unuse(&b);
	int prog = load_tracing(BPF_TRACE_FENTRY, id, insns, ARRAY_LEN(insns), NULL, 0);
	if (prog < 0)
		return false;
	int link = sys_raw_tracepoint_open(NULL, prog);
	close(prog);
	return close_ok(link);
}

bool try_tp_btf(u32 arg)
{
	const struct BpfInsn insns[] = {MOV_IMM(0, 0), EXIT()};
	struct BtfUse b;
	struct Record *args;
	u32 id = 0;
	btf_use(&b);
	struct err *e = ctype_rawtp(b.c, "sched_switch", &args, &id);
	if (e)
		id = 0;
	err_free(e);
	btf_unuse(&b);
	return close_ok(load_tracing(BPF_TRACE_RAW_TP, id, insns, ARRAY_LEN(insns), NULL, 0));
}

bool try_iter(u32 arg)
{
	const struct BpfInsn insns[] = {MOV_IMM(0, 0), EXIT()};
	return close_ok(try_load_iter(insns, ARRAY_LEN(insns), NULL, 0));
}

// A sleepable iterator over tasks that reads their memory, loaded as a whole: the kernel has the helper, and knows the iterator's task for one.
bool try_task_memory(u32 arg)
{
	struct BtfUse b;
	struct Record *ctx;
	struct Field task;
	u32 id = 0;
	btf_use(&b);
	struct err *e = ctype_iter(b.c, "task", &ctx, &id);
	bool found = !e && record_field(ctx, "task", &task);
	err_free(e);
	btf_unuse(&b);
	if (!found)
		return false;
	const struct BpfInsn insns[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 4, 1, (s16)task.off, 0),
		MOV_IMM(0, 0),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 6, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, -8),
		MOV_IMM(2, 8), MOV_IMM(3, 0), MOV_IMM(5, 0),
		CALL(HELPER_COPY_FROM_USER_TASK),
		MOV_IMM(0, 0),
		EXIT(),
	};
	struct SysProg p = {.type = BPF_PROG_TYPE_TRACING, .expected_attach_type = BPF_TRACE_ITER, .attach_btf_id = id, .insns = insns,
			    .ninsns = ARRAY_LEN(insns), .license = "Dual BSD/GPL", .name = "sonde_try", .flags = BPF_F_SLEEPABLE};
	return close_ok(sys_prog_load(&p));
}

// What lower_late.c calls, the first as this tries it; BTF ids, 0 before that. Finding a name takes a table of all of them, 2 ms. now: its name where the verifier passes the last
// argument by itself (7.0); it is looked for first, since the type information then has the old one, too.
static struct {
	const char *name, *now;
	u32 id;
} late_funcs[] = {{"bpf_task_work_schedule_resume_impl", "bpf_task_work_schedule_resume", 0}, {"bpf_preempt_disable", NULL, 0}, {"bpf_preempt_enable", NULL, 0}};

static u32 late_func_id(struct Ctypes *c, u32 i)
{
	u32 id = late_funcs[i].now ? ctype_func_id(c, late_funcs[i].now) : 0;
	return id ? id : ctype_func_id(c, late_funcs[i].name);
}

u32 feature_func_id(const char *name)
{
	for (u32 i = 0; i < ARRAY_LEN(late_funcs); i++)
		if (!strcmp(late_funcs[i].name, name))
			return late_funcs[i].id;
	return 0;
}

// A program of a tracepoint that asks for a callback as its thread returns to user space, which is loaded only. The value of its map says what the kernel keeps there.
bool try_task_work(u32 arg)
{
	struct SysMap m = {BPF_MAP_TYPE_HASH, 8, 16, 1, BPF_F_NO_PREALLOC, "sonde_try"};
	struct BtfUse b;
	bool all = true;
	btf_use(&b);
	for (u32 i = 0; i < ARRAY_LEN(late_funcs) && all; i++)
		all = (late_funcs[i].id = late_func_id(b.c, i)) != 0;
	btf_unuse(&b);
	u32 id = late_funcs[0].id;
	int map = all ? task_work_map(&m) : -1;
	if (map < 0)
		return false;
	struct BpfInsn insns[] = {
		INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map), {0},
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -8),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 10, 0), // to 17
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 0, 0, 0),
		CALL(BPF_FUNC_get_current_task_btf),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 6, 0, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 3, BPF_PSEUDO_MAP_FD, 0, map), {0},
		INSN(BPF_LD | BPF_IMM | BPF_DW, 4, BPF_PSEUDO_FUNC, 0, 5), {0}, // the callback, 19
		MOV_IMM(5, 0),
		INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (s32)id),
		MOV_IMM(0, 0),
		EXIT(),
		MOV_IMM(0, 0),
		EXIT(),
	};
	struct CodeFunc callback = {19, "callback", 3, true};
	struct ProbeProg pp = {.ir = {.name = "sonde_try"}};
	pp.code.insns.p = insns;
	pp.code.insns.n = ARRAY_LEN(insns);
	pp.code.funcs.p = &callback;
	pp.code.funcs.n = 1;
	struct SysProg sp = {.type = BPF_PROG_TYPE_TRACEPOINT, .insns = insns, .ninsns = ARRAY_LEN(insns), .license = "Dual BSD/GPL", .name = "sonde_try"};
	bool ok = close_ok(load_with_btf(&pp, &sp, false));
	close(map);
	return ok;
}
