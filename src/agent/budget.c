// What the agent costs: processor time and memory of its processes, by /proc/PID, with what their programs and maps take in the kernel, by the collectors' own account;
// and what is to be given up when that is too much memory. (Too much time: each collector samples less, tool/limit.c.)
// In: pids, accounts. Out: sums since the start, the next thing to do. Invariant: the time of a process that has ended stays in the sum.
#include "agent/internal.h"
#include <time.h>
#include <unistd.h>

#define OVER_FOR 2u // intervals in a row: a table that is being made takes its memory for less than a second
#define HIGH_TENTHS 9u // of what is allowed: it grows until the second of them
#define RENEWED_FOR_NS 600000000000ull // a collector that starts anew forgets programs that are gone; it takes a second or two of a processor

// utime, stime (14, 15) and rss (24) of proc(5); the name in brackets may hold anything
static bool look(pid_t pid, u64 *cpu_ns, u64 *rss)
{
	char path[32];
	struct Str text = {0};
	unsigned long long user, sys;
	long pages;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	struct err *e = read_file(path, &text, 4096);
	const char *p = e ? NULL : strrchr(str_text(&text), ')');
	bool ok = p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %ld", &user, &sys, &pages) == 3;
	if (ok) {
		*cpu_ns = (user + sys) * (1000000000ull / (u64)sysconf(_SC_CLK_TCK));
		*rss = (u64)pages * (u64)sysconf(_SC_PAGESIZE);
	}
	err_free(e);
	str_deinit(&text);
	return ok;
}

// Resident memory in which what processes share is divided among them (Linux 4.14), else rss.
static u64 share_of_memory(pid_t pid, u64 rss)
{
	char path[40];
	struct Str text = {0};
	unsigned long long kb;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	struct err *e = read_file(path, &text, 8192);
	const char *at = e ? NULL : strstr(str_text(&text), "\nPss:");
	u64 n = at && sscanf(at + 5, "%llu", &kb) == 1 ? kb * 1024 : rss;
	err_free(e);
	str_deinit(&text);
	return n;
}

void budget_look(struct Budget *b, const struct Costs *of, u64 now_ns)
{
	struct Costs now[COSTS] = {0};
	u64 cpus[COSTS] = {0}, rss;
	for (u32 i = 0; i < COSTS; i++)
		if (of[i].pid && look(of[i].pid, &cpus[i], &rss))
			now[i] = of[i];
	for (u32 i = 0; i < COSTS; i++) { // one that has ended: what it had used last is all that is known
		bool lives = !b->last[i].pid;
		for (u32 k = 0; k < COSTS; k++)
			lives |= now[k].pid == b->last[i].pid;
		b->ended_ns += lives ? 0 : b->last_cpu[i];
		b->ended_kernel_ns += lives ? 0 : b->last[i].kernel_ns;
	}
	u64 cpu = b->ended_ns, kernel = b->ended_kernel_ns;
	for (u32 i = 0; i < COSTS; i++) {
		b->last[i] = now[i];
		b->last_cpu[i] = cpus[i];
		cpu += cpus[i];
		kernel += now[i].kernel_ns;
	}
	b->last_ns = now_ns;
	b->cpu_ns = cpu;
	b->kernel_ns = kernel;
}

// Takes a millisecond for processes of 50 MB.
void budget_weigh(struct Budget *b)
{
	u64 cpu, rss;
	b->memory = b->maps = b->judged = 0;
	for (u32 i = 0; i < COSTS; i++) {
		if (!b->last[i].pid || !look(b->last[i].pid, &cpu, &rss))
			continue;
		u64 memory = share_of_memory(b->last[i].pid, rss) + b->last[i].map_bytes;
		b->memory += memory;
		b->maps += b->last[i].map_bytes;
		b->judged += i == AGENT_SCRIPT ? 0 : memory;
	}
}

enum Lower budget_lower(struct Budget *b, bool off_cpu, bool user_stacks, u64 now_ns)
{
	b->over = b->max_memory && b->judged > b->max_memory / 10 * HIGH_TENTHS ? b->over + 1 : 0;
	if (b->over < OVER_FOR)
		return LOWER_NOTHING;
	b->over = 0;
	if (!b->renewed_ns || now_ns - b->renewed_ns > RENEWED_FOR_NS) {
		b->renewed_ns = now_ns;
		return LOWER_RENEW;
	}
	if (off_cpu)
		return LOWER_STOP;
	return user_stacks ? LOWER_STACKS : LOWER_NOTHING;
}
