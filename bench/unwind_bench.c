// Unwinding: what tables cost to build and hold, what a look-up costs, and what a frame costs in the kernel beside frame pointers.
// usage: unwind_bench [--machine | FILE...]      --machine: only what building the tables of everything mapped takes
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include "../test/unit/stack_run.h"
#include "track/internal.h"
#include "unwind/unwind.h"

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// ---- tables
static void bench_table(const char *path)
{
	struct RuleSet *rules = xmalloc(sizeof(*rules));
	struct ElfCfi cfi;
	struct UwTable t;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	double t0 = cpu_ms();
	struct err *e = fd < 0 ? err_errno(errno, "cannot open") : elfcfi_read(fd, &cfi);
	if (e) {
		printf("%-44s %s\n", path, err_text(e));
		err_free(e);
		free(rules);
		return;
	}
	double t1 = cpu_ms();
	ruleset_init(rules, RT_UW_RULES);
	uwtable_build(&cfi, rules, &t, NULL);
	double t2 = cpu_ms();
	close(fd); // code is read from it
	u8 *rec = xmalloc(RT_UW_VAL_SIZE);
	u64 bytes = 0;
	u32 carry = 0;
	for (size_t i = 0, end; i < t.rows.n; i = end) {
		for (end = i; end < t.rows.n && UW_ROW_OFF(t.rows.p[end]) >> 16 == UW_ROW_OFF(t.rows.p[i]) >> 16;)
			end++;
		bytes += uwrec_build(t.rows.p + i, end - i, carry, rec);
		carry = UW_ROW_RULE(t.rows.p[end - 1]);
	}
	printf("%-44s %6u FDEs %7zu rows %5zu rules  read %5.1f ms  build %5.1f ms  pack %4.1f ms  %.2f MB, %.2f bytes a row\n", path, t.nfdes, t.rows.n,
	       (size_t)rules->v.n, t1 - t0, t2 - t1, cpu_ms() - t2, (double)bytes / 1e6, (double)bytes / (double)t.rows.n);
	free(rec);
	uwtable_deinit(&t);
	ruleset_deinit(rules);
	free(rules);
	elfcfi_deinit(&cfi);
}

// ---- everything that is mapped now
static void bench_machine(void)
{
	static struct StackRun r;
	struct timespec a, b;
	double cpu0 = cpu_ms();
	clock_gettime(CLOCK_MONOTONIC, &a);
	struct err *e = sr_load(&r, "rt_ustack", PK_PROFILE, 0, false, 0, NULL);
	if (e) {
		printf("no BPF here: %s\n", err_text(e));
		err_free(e);
		sr_end(&r);
		return;
	}
	track_settle(r.track, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	const struct MapDef *m = program_map(&r.t.prog, "rt_uw_obj");
	const struct RtUwObj *objs = m ? m->mmapped : NULL;
	u32 ready = 0;
	for (u32 i = 0; objs && i < RT_UW_OBJS; i++)
		ready += __atomic_load_n(&objs[i].state, __ATOMIC_ACQUIRE) == RT_UW_READY;
	printf("this machine: tables of %u objects, %.1f MB of records; ready %.0f ms after start (%.0f ms of CPU)\n", ready, (double)track_memory(r.track) / 1e6,
	       (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6, cpu_ms() - cpu0);
	sr_end(&r);
}

// ---- walking: time of the program by BPF_ENABLE_STATS, for two depths: the difference is the frames' alone
static bool run_ns(const char *bin, int depth, bool fp, double *ns, double *frames)
{
	static struct StackRun r;
	char arg[16];
	int p[2];
	snprintf(arg, sizeof(arg), "%d", depth);
	if (pipe(p))
		return false;
	pid_t pid = fork();
	if (!pid) {
		dup2(p[1], 1);
		execl(bin, bin, "walk", arg, NULL);
		_exit(127);
	}
	char c;
	bool ok = read(p[0], &c, 1) == 1;
	struct err *e = sr_load(&r, "rt_ustack", PK_UPROBE, 0, fp, pid, NULL);
	if (e)
		printf("%s\n", err_text(e));
	struct SymDef d;
	struct SymObject *o = e ? NULL : sym_object_path(r.syms, bin);
	ok = ok && o && sym_object_find(r.syms, o, "leaf", &d);
	if (ok)
		track_settle(r.track, 0);
	ok = ok && sr_uprobe(&r, bin, d.file_off, false, 0);
	if (ok) {
		u64 time0 = 0, cnt0 = 0;
		struct StackKey k;
		*ns = 1e9;
		for (int i = 0; i < 20 && ok; i++) { // the program may be preempted: the best of many short times counts
			usleep(50000);
			struct bpf_prog_info info = {0};
			u32 len = sizeof(info);
			ok = sys_obj_info(r.t.pp.fd, &info, &len) >= 0;
			if (ok && info.run_cnt > cnt0 + 50)
				*ns = MIN(*ns, (double)(info.run_time_ns - time0) / (double)(info.run_cnt - cnt0));
			time0 = info.run_time_ns;
			cnt0 = info.run_cnt;
		}
		u64 sum = 0, n = 0;
		for (bool first = true; sys_map_next_key(r.counts->fd, first ? NULL : &k, &k) >= 0 && n < 1000; first = false, n++)
			sum += RT_STACK_NFRAMES(k.id);
		ok = ok && n;
		*frames = (double)sum / (double)MAX(n, 1u);
	}
	err_free(e);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(p[0]);
	close(p[1]);
	sr_end(&r);
	return ok;
}

static void bench_walk(void)
{
	char bin[64], cmd[256];
	double cost[2];
	snprintf(bin, sizeof(bin), "/tmp/sonde-unwind-bench-%d", getpid());
	snprintf(cmd, sizeof(cmd), "cc -O2 -w -fno-omit-frame-pointer -o %s test/workload/stacks.c -lpthread -ldl", bin);
	if (system(cmd)) {
		printf("walk: no compiler\n");
		return;
	}
	int stats = sys_enable_stats();
	for (int fp = 0; fp < 2; fp++) {
		double ns[2], n[2];
		if (!run_ns(bin, 10, fp, &ns[0], &n[0]) || !run_ns(bin, 110, fp, &ns[1], &n[1])) {
			printf("walk: no events\n");
			break;
		}
		cost[fp] = (ns[1] - ns[0]) / (n[1] - n[0]);
		printf("%-14s %3.0f frames %6.0f ns a stack, %3.0f frames %6.0f ns: %.1f ns a frame\n", fp ? "frame pointers" : "unwind tables", n[0], ns[0], n[1], ns[1],
		       cost[fp]);
		if (fp)
			printf("ratio %.2f\n", cost[0] / cost[1]);
	}
	if (stats >= 0)
		close(stats);
	unlink(bin);
}

// ---- looking up a row alone: a program that asks for LOOKUPS random places of an object
#define LOOKUPS 256
static void lookup_code(struct TestProg *t, struct MapDef *state, struct MapDef *places)
{
	mov_reg(t, 9, 1);
	map_val(t, 6, state, 0);
	map_val(t, 7, places, 0);
	mov_imm(t, 8, 0);
	u32 loop = (u32)t->pp.code.insns.n;
	mov_reg(t, 1, 8);
	ins(t, BPF_ALU64 | BPF_LSH | BPF_K, 1, 0, 0, 3);
	mov_reg(t, 2, 7);
	ins(t, BPF_ALU64 | BPF_ADD | BPF_X, 2, 1, 0, 0);
	ins(t, BPF_LDX | BPF_MEM | BPF_DW, 2, 2, 0, 0);
	mov_reg(t, 1, 6);
	call_rt(t, "rt_uw_find_rule");
	add_imm(t, 8, 1);
	ins(t, BPF_JMP | BPF_JLT | BPF_K, 8, 0, (s16)((s32)loop - (s32)t->pp.code.insns.n - 1), LOOKUPS);
	ins(t, BPF_JMP | BPF_JLE | BPF_K, 8, 0, 4, LOOKUPS); // never: the call is there for the unwinder's maps
	mov_reg(t, 1, 9);
	mov_imm(t, 2, 0);
	mov_imm(t, 3, RT_SRC_RAW);
	call_rt(t, "rt_ustack");
	mov_imm(t, 0, 0);
	exit_insn(t);
}

static struct err *lookup_run(struct TestProg *t, struct Track **track, struct Syms *syms, const char *path)
{
	static u64 offs[LOOKUPS];
	static struct RtUw u;
	struct SysProg base = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT};
	struct ProbeProg *prog = &t->pp;
	struct ElfCfi cfi;
	u32 zero = 0;
	struct MapDef *state = add_map(t, "state", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct RtUw), 1, 0);
	struct MapDef *places = add_map(t, "places", BPF_MAP_TYPE_ARRAY, 4, sizeof(offs), 1, 0);

	lookup_code(t, state, places);
	struct err *e = link_runtime(&t->prog, &t->pp.code);
	e = e ? e : track_create(&t->prog, syms, &(struct TrackOpts){0}, track);
	e = e ? e : load_maps(&t->prog, &t->loaded);
	struct Tables *tab = NULL;
	e = e ? e : tables_create(&t->prog, false, 0, &tab);
	struct SymObject *o = e ? NULL : sym_object_path(syms, path);
	if (!o) {
		tables_destroy(tab);
		return e ? e : err_new("no such file");
	}
	tables_need(tab, o, false);
	e = tables_start(tab);
	tables_wait(tab, 0);
	e = e ? e : elfcfi_read(o->fd, &cfi);
	e = e ? e : load_progs(&t->prog, t->loaded, &prog, 1, &base, NULL);
	double best[2] = {1e9, 1e9};
	srand(1);
	for (int round = 0; !e && round < 400; round++) { // hot: the same places again; cold: others each time
		int cold = round & 1, failed;
		for (u32 i = 0; i < LOOKUPS && (cold || !round); i++)
			offs[i] = cfi.segs.p[0].off + ((u64)rand() << 16 ^ (u64)rand()) % cfi.segs.p[0].size;
		u.obj = o->id;
		sys_map_update(state->fd, &zero, &u, 0);
		sys_map_update(places->fd, &zero, offs, 0);
		struct bpf_prog_info a = {0}, b = {0};
		u32 la = sizeof(a), lb = sizeof(b);
		tp_run(t, &failed);
		if (cold) {
			for (u32 i = 0; i < LOOKUPS; i++)
				offs[i] = cfi.segs.p[0].off + ((u64)rand() << 16 ^ (u64)rand()) % cfi.segs.p[0].size;
			sys_map_update(places->fd, &zero, offs, 0);
		}
		sys_obj_info(t->pp.fd, &a, &la);
		tp_run(t, &failed);
		sys_obj_info(t->pp.fd, &b, &lb);
		if (b.run_cnt > a.run_cnt)
			best[cold] = MIN(best[cold], (double)(b.run_time_ns - a.run_time_ns) / LOOKUPS);
	}
	if (!e) {
		printf("look-up of a row: %.1f ns at random over %s, %.1f ns hot\n", best[1], path, best[0]);
		elfcfi_deinit(&cfi);
	}
	tables_destroy(tab);
	return e;
}

static void bench_lookup(const char *path)
{
	struct TestProg t;
	struct Syms *syms = syms_create(&(struct SymOpts){0});
	struct Track *track = NULL;
	int stats = sys_enable_stats();
	tp_init(&t, "lookup");
	t.pp.kind = PK_RAWTP;
	vec_push(&t.prog.progs, &t.pp);
	struct err *e = lookup_run(&t, &track, syms, path);
	if (e)
		printf("look-up of a row: %s\n", err_text(e));
	err_free(e);
	if (stats >= 0)
		close(stats);
	track_destroy(track);
	vec_deinit(&t.prog.progs);
	tp_deinit(&t);
	syms_destroy(syms);
}

int main(int argc, char **argv)
{
	static const char *const files[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/python3.11", "/usr/bin/node",
					    "/usr/lib/llvm-14/lib/libLLVM-14.so.1"};
	if (argc == 2 && !strcmp(argv[1], "--machine")) {
		bench_machine();
		return 0;
	}
	for (u32 i = 0; argc == 1 && i < ARRAY_LEN(files); i++)
		bench_table(files[i]);
	for (int i = 1; i < argc; i++)
		bench_table(argv[i]);
	bench_lookup(access("/usr/lib/llvm-14/lib/libLLVM-14.so.1", R_OK) ? "/usr/bin/python3.11" : "/usr/lib/llvm-14/lib/libLLVM-14.so.1");
	bench_machine();
	bench_walk();
	return 0;
}
