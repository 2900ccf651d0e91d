// Unwinding: what tables cost to build and hold, what a look-up costs, and what a frame costs in the kernel beside frame pointers.
// usage: unwind_bench [FILE...]
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include "../test/unit/stack_run.h"
#include "unwind/internal.h"

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
	close(fd);
	double t1 = cpu_ms();
	ruleset_init(rules, RT_UW_RULES);
	uwtable_build(&cfi, rules, &t);
	double t2 = cpu_ms();
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
	unwind_settle(r.unwind, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	u32 procs;
	struct TablesStat s = unwind_stat(r.unwind, &procs);
	printf("this machine: %u processes, %u objects, %llu rows, %u rules, %.1f MB of records in %u values; ready %.0f ms after start (%.0f ms of CPU)\n", procs,
	       s.objects, (unsigned long long)s.rows, s.rules, (double)s.bytes / 1e6, s.values,
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
		unwind_settle(r.unwind, 0);
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

int main(int argc, char **argv)
{
	static const char *const files[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/python3.11", "/usr/bin/node",
					    "/usr/lib/llvm-14/lib/libLLVM-14.so.1"};
	for (u32 i = 0; argc == 1 && i < ARRAY_LEN(files); i++)
		bench_table(files[i]);
	for (int i = 1; i < argc; i++)
		bench_table(argv[i]);
	bench_machine();
	bench_walk();
	return 0;
}
