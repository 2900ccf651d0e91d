// Loads a program that takes a stack at each event and keeps its id with a tgid and a count, for tests and benches of stacks.
// The program: key = {pid_tgid, stack id}; counts[key] += 1; last[pid_tgid] = stack id.
#ifndef SONDE_TEST_STACK_RUN_H
#define SONDE_TEST_STACK_RUN_H
#include "bpf_asm.h"
#include "ctype/ctype.h"
#include "stack/stack.h"
#include "track/track.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include <errno.h>
#include <linux/perf_event.h>

struct StackRun {
	struct TestProg t;
	struct MapDef *counts, *last;
	struct Syms *syms;
	struct KernAsk *ask;
	struct Track *track;
	struct StackReader *reader;
	int link[64], perf[64];
	u32 nlinks;
};
struct StackKey {
	u64 pid_tgid, id; // of bpf_get_current_pid_tgid: tgid << 32 | tid
};

// As lower_ctx.c does. The context is in register 6.
static inline void sr_kstack(struct TestProg *t, u64 limit, u64 src)
{
	mov_imm(t, 1, (s32)limit);
	mov_imm(t, 2, (s32)src);
	call_rt(t, "rt_kstack_begin");
	ins(t, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 14, 0);
	mov_reg(t, 7, 0);
	mov_reg(t, 1, 6);
	mov_reg(t, 2, 7);
	add_imm(t, 2, (s32)RT_KSTACK_AT);
	ins(t, BPF_LDX | BPF_MEM | BPF_W, 3, 7, offsetof(struct RtStackBuf, want), 0);
	ins(t, BPF_ALU64 | BPF_AND | BPF_K, 3, 0, 0, RT_KSTACK_MASK);
	mov_imm(t, 4, 0);
	call(t, BPF_FUNC_get_stack);
	mov_reg(t, 1, 7);
	mov_reg(t, 2, 0);
	mov_imm(t, 3, (s32)limit);
	mov_imm(t, 4, (s32)src);
	mov_reg(t, 5, 6);
	call_rt(t, "rt_kstack_end");
}

static inline void sr_ustack(struct TestProg *t, const char *fn, u64 limit, u64 src)
{
	mov_reg(t, 1, 6);
	mov_imm(t, 2, (s32)limit);
	mov_imm(t, 3, (s32)src);
	call_rt(t, src & RT_SRC_F_FP ? "rt_ustack_fp" : fn);
}

// fn: "rt_kstack" or "rt_ustack". Only events of process tgid are counted (0: of all).
static inline void sr_code(struct StackRun *r, const char *fn, u64 limit, u64 src, int tgid)
{
	struct TestProg *t = &r->t;
	u32 jump = 0;

	mov_reg(t, 6, 1);
	call(t, 14); // bpf_get_current_pid_tgid
	ins(t, BPF_STX | BPF_MEM | BPF_DW, 10, 0, -16, 0);
	ins(t, BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
	if (tgid) {
		jump = (u32)t->pp.code.insns.n;
		ins(t, BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, tgid);
	}
	if (!strcmp(fn, "rt_kstack"))
		sr_kstack(t, limit, src);
	else
		sr_ustack(t, fn, limit, src);
	ins(t, BPF_STX | BPF_MEM | BPF_DW, 10, 0, -8, 0);
	map_fd(t, 1, r->last);
	mov_reg(t, 2, 10);
	add_imm(t, 2, -16);
	mov_reg(t, 3, 10);
	add_imm(t, 3, -8);
	mov_imm(t, 4, 0);
	call(t, 2);
	map_fd(t, 1, r->counts);
	mov_reg(t, 2, 10);
	add_imm(t, 2, -16);
	call(t, 1);
	ins(t, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0);
	ins(t, BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0);
	add_imm(t, 1, 1);
	ins(t, BPF_STX | BPF_MEM | BPF_DW, 0, 1, 0, 0);
	ins(t, BPF_JMP | BPF_JNE | BPF_K, 0, 0, 9, 0);
	ins(t, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -24, 1);
	map_fd(t, 1, r->counts);
	mov_reg(t, 2, 10);
	add_imm(t, 2, -16);
	mov_reg(t, 3, 10);
	add_imm(t, 3, -24);
	mov_imm(t, 4, 0);
	call(t, 2);
	if (tgid)
		t->pp.code.insns.p[jump].off = (s16)(t->pp.code.insns.n - jump - 1);
	mov_imm(t, 0, 0);
	exit_insn(t);
}

static bool sr_entry; // the next program is for function entries only
static struct Point *sr_point; // the next program's: with it, single questions about kernel symbols are answered

// Loads; kind decides the program type and src. NULL, or what went wrong.
static inline struct err *sr_load(struct StackRun *r, const char *fn, enum ProbeKind kind, u64 limit, bool fp, int tgid, const struct TrackOpts *o)
{
	static const u32 types[PK_KINDS] = {
		[PK_PROFILE] = BPF_PROG_TYPE_PERF_EVENT, [PK_RAWTP] = BPF_PROG_TYPE_RAW_TRACEPOINT, [PK_TRACEPOINT] = BPF_PROG_TYPE_TRACEPOINT,
		[PK_UPROBE] = BPF_PROG_TYPE_KPROBE, [PK_URETPROBE] = BPF_PROG_TYPE_KPROBE, [PK_KPROBE] = BPF_PROG_TYPE_KPROBE,
		[PK_SOFTWARE] = BPF_PROG_TYPE_PERF_EVENT,
	};
	bool perf = types[kind] == BPF_PROG_TYPE_PERF_EVENT;
	struct err *e;

	memset(r, 0, sizeof(*r));
	tp_init(&r->t, "stacks");
	r->t.pp.kind = kind;
	vec_push(&r->t.prog.progs, &r->t.pp);
	r->counts = add_map(&r->t, "counts", BPF_MAP_TYPE_HASH, sizeof(struct StackKey), 8, 400000, 0);
	r->last = add_map(&r->t, "last", BPF_MAP_TYPE_HASH, 8, 8, 65536, 0);
	sr_code(r, fn, limit, stack_src(kind, perf ? CTX_PERF : CTX_RAW, fp ? STACK_WALK_FP : STACK_WALK_NATIVE, sr_entry), tgid); // native: what the oracles see
	r->syms = syms_create(&(struct SymOpts){0});
	if (sr_point) {
		vec_push(&r->t.pp.points.v, sr_point);
		r->ask = kernask_create();
		syms_set_ask(r->syms, &(struct SymAsk){r->ask, kernask_symbol, kernask_addr});
	}
	e = link_runtime(&r->t.prog, &r->t.pp.code);
	if (!e) {
		stacks_setup(&r->t.prog, r->syms);
		e = track_create(&r->t.prog, r->syms, o ? o : &(struct TrackOpts){0}, &r->track);
	}
	e = e ? e : load_maps(&r->t.prog, &r->t.loaded);
	struct SysProg base = {.type = types[kind]};
	struct LoadOpts lo = {0};
	e = e ? e : load_one(&r->t.prog, r->t.loaded, &r->t.pp, &base, &lo);
	e = e ? e : stacks_start(&r->t.prog, r->syms);
	e = e ? e : track_start(r->track);
	if (!e) {
		r->reader = stacks_create(&r->t.prog, r->syms);
		stacks_use_codes(r->reader, track_codes(r->track));
	}
	return e;
}

static inline void sr_end(struct StackRun *r)
{
	for (u32 i = 0; i < r->nlinks; i++) {
		if (r->link[i] >= 0)
			close(r->link[i]);
		if (r->perf[i] >= 0)
			close(r->perf[i]);
	}
	stacks_destroy(r->reader);
	track_destroy(r->track);
	vec_deinit(&r->t.prog.progs);
	tp_deinit(&r->t);
	vec_deinit(&r->t.pp.points.v);
	syms_destroy(r->syms);
	kernask_destroy(r->ask);
}

static inline void sr_detach(struct StackRun *r)
{
	for (u32 i = 0; i < r->nlinks; i++) {
		if (r->link[i] >= 0)
			close(r->link[i]);
		if (r->perf[i] >= 0)
			close(r->perf[i]);
	}
	r->nlinks = 0;
}

static inline bool sr_keep(struct StackRun *r, int link, int perf)
{
	r->link[r->nlinks] = link;
	r->perf[r->nlinks++] = perf;
	return link >= 0;
}

// CPU samples of every CPU.
static inline bool sr_profile(struct StackRun *r, u64 hz)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_CPU_CLOCK, .sample_freq = hz, .freq = 1};
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	for (int c = 0; c < n && c < 64; c++) {
		int fd = sys_perf_event_open(&a, -1, c, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 || !sr_keep(r, sys_link_perf_event(r->t.pp.fd, fd, 0), fd))
			return false;
	}
	return true;
}

static inline bool sr_tracepoint(struct StackRun *r, const char *path)
{
	struct Str s = {0};
	char file[256];
	const char *root = "";
	struct err *e = tracefs_path(&root);
	snprintf(file, sizeof(file), "%s/events/%s/id", root, path);
	if (!e)
		e = read_file(file, &s, 64);
	struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(a), .config = e ? 0 : strtoull(s.p, NULL, 10), .sample_period = 1};
	err_free(e);
	str_deinit(&s);
	int fd = sys_perf_event_open(&a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 && sr_keep(r, sys_link_perf_event(r->t.pp.fd, fd, 0), fd);
}

static inline bool sr_uprobe(struct StackRun *r, const char *path, u64 off, bool ret, int pid)
{
	struct Str s = {0};
	struct err *e = read_file("/sys/bus/event_source/devices/uprobe/type", &s, 64);
	struct perf_event_attr a = {.type = e ? 0 : (u32)atoi(s.p), .size = sizeof(a), .config = ret, .config1 = (u64)(uintptr_t)path, .config2 = off,
				    .sample_period = 1};
	err_free(e);
	str_deinit(&s);
	int fd = sys_perf_event_open(&a, pid ? pid : -1, pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 && sr_keep(r, sys_link_perf_event(r->t.pp.fd, fd, 0), fd);
}

// Every key and count; fn returns false to stop.
static inline void sr_each(struct StackRun *r, bool (*fn)(void *, const struct StackKey *, u64 count), void *arg)
{
	struct StackKey k, next;
	for (bool first = true; sys_map_next_key(r->counts->fd, first ? NULL : &k, &next) >= 0; first = false) {
		u64 n = 0;
		k = next;
		if (sys_map_lookup(r->counts->fd, &k, &n) >= 0 && !fn(arg, &k, n))
			return;
	}
}
#endif
