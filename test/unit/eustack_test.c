// Whole stacks against elfutils: processes are stopped, the kernel side takes each thread's stack as it is switched out for the stop, and every pc
// is compared with `eu-stack -n 0 -p PID`; those of 32-bit processes with gdb's. Needs root, BPF, eu-stack, gdb and a compiler; what is missing is named
// and skipped.
#include "t.h"
#include "stack_run.h"
#include "stack/internal.h"
#include "unwind/internal.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

static struct StackRun run;
static struct err *run_err;
static bool run_ready;

// One tracer for all cases: every switch-out on the machine, user stacks of the thread that leaves.
static const char *start_run(void)
{
	static char why[4096];
	if (run_ready)
		return *why ? why : NULL;
	run_ready = true;
	if (system("command -v eu-stack >/dev/null")) {
		snprintf(why, sizeof(why), "no eu-stack");
		return why;
	}
	run_err = sr_load(&run, "rt_ustack", PK_RAWTP, 0, false, 0, NULL);
	if (!run_err && !sr_keep(&run, sys_raw_tracepoint_open("sched_switch", run.t.pp.fd), -1))
		run_err = err_new("cannot attach to sched_switch");
	if (run_err)
		snprintf(why, sizeof(why), "%s", err_text(run_err));
	return run_err ? why : NULL;
}

struct Child {
	pid_t pid;
	int out; // its stdout
};

static struct Child spawn(char *const *argv)
{
	int p[2];
	struct Child c = {-1, -1};
	if (pipe(p))
		return c;
	c.pid = fork();
	if (c.pid == 0) {
		dup2(p[1], 1);
		int null = open("/dev/null", O_RDWR);
		dup2(null, 2);
		dup2(null, 0);
		close(p[0]);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(p[1]);
	c.out = p[0];
	return c;
}

static void finish(struct Child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->out);
}

// True when the child printed something (it is where it wants to be).
static bool wait_ready(struct Child *c)
{
	char buf[256];
	struct pollfd p = {c->out, POLLIN, 0};
	return poll(&p, 1, 20000) == 1 && read(c->out, buf, sizeof(buf)) > 0;
}

#define ANY (~0ull) // an address that the oracle does not tell
struct Stack {
	int tid;
	u32 n;
	u64 pc[RT_STACK_MAX + 8];
};

// Stacks of all threads as `cmd` prints them: a line "TID n", or gdb's "Thread 1 (... (LWP n))" or "(process n)", then "#0 0x..." for each frame. gdb gives
// no address for a signal's trampoline.
static u32 read_stacks(const char *cmd, struct Stack *out, u32 max)
{
	char *line = NULL, *lwp;
	size_t cap = 0;
	u32 n = 0;
	FILE *f = popen(cmd, "r");
	while (f && getline(&line, &cap, f) > 0) {
		if (!strncmp(line, "TID ", 4) && n < max) {
			out[n++] = (struct Stack){.tid = atoi(line + 4)};
		} else if (!strncmp(line, "Thread ", 7) && ((lwp = strstr(line, "(LWP ")) || (lwp = strstr(line, "(process "))) && n < max) {
			out[n++] = (struct Stack){.tid = atoi(strchr(lwp, ' '))};
		} else if (line[0] == '#' && n && out[n - 1].n < RT_STACK_MAX + 8) {
			char *p = strstr(line, "0x");
			if (p || strstr(line, "<signal handler called>"))
				out[n - 1].pc[out[n - 1].n++] = p ? strtoull(p, NULL, 16) : ANY;
		}
	}
	if (f)
		pclose(f);
	free(line);
	return n;
}

static u32 eu_stacks(pid_t pid, struct Stack *out, u32 max)
{
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "eu-stack -n 0 -p %d 2>/dev/null", pid);
	return read_stacks(cmd, out, max);
}

// Of 32-bit processes elfutils' stacks end with main() at the latest; gdb's do not.
static u32 gdb_stacks(pid_t pid, struct Stack *out, u32 max)
{
	char cmd[256];
	snprintf(cmd, sizeof(cmd),
		 "gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'set print frame-info location-and-address' -ex 'set print frame-arguments none' "
		 "-ex 'set backtrace past-main on' -p %d -ex 'thread apply all bt' </dev/null 2>/dev/null",
		 pid);
	return read_stacks(cmd, out, max);
}

// Our stack of a thread, as virtual addresses. Code that is mapped twice (node does that to its builtins) is where the other one, like, has it.
static bool our_stack(pid_t pid, int tid, const struct Stack *like, struct Stack *out, u32 *why)
{
	u64 key = (u64)(u32)pid << 32 | (u32)tid, id;
	u32 n, raw_pid, flags, nmaps;
	struct ProcMap *maps;
	if (sys_map_lookup(run.last->fd, &key, &id) < 0)
		return false;
	const u64 *f = stacks_raw(run.reader, id, true, &n, &raw_pid, &flags, why);
	if (!f)
		return false;
	struct err *e = sym_proc_maps(run.syms, pid, &maps, &nmaps);
	if (e) {
		err_free(e);
		return false;
	}
	*out = (struct Stack){.tid = tid, .n = n};
	for (u32 i = 0; i < n; i++) {
		out->pc[i] = RT_FRAME_ADDR(f[i]);
		if (!(f[i] & RT_FRAME_OBJ))
			continue;
		u64 other = i < like->n ? like->pc[i] : 0;
		for (u32 k = 0; k < nmaps; k++) { // a frame may stand just past its mapping's last byte
			u64 off = RT_FRAME_OFF(f[i]);
			if (maps[k].obj && maps[k].obj->id == RT_FRAME_ID(f[i]) && off >= maps[k].file_off && off - maps[k].file_off <= maps[k].end - maps[k].start && out->pc[i] != other)
				out->pc[i] = off - maps[k].file_off + maps[k].start;
		}
	}
	free(maps);
	return true;
}

// Addresses, and where in its file each is: libraries lie elsewhere the next time.
static void show(const char *who, pid_t pid, const struct Stack *s)
{
	struct ProcMap *maps;
	u32 n = 0;
	struct err *e = sym_proc_maps(run.syms, pid, &maps, &n);
	printf("# %s, thread %d, %u frames:", who, s->tid, s->n);
	for (u32 i = 0; i < s->n && i < 40; i++) {
		printf(" %llx", (unsigned long long)s->pc[i]);
		for (u32 k = 0; k < n; k++)
			if (s->pc[i] >= maps[k].start && s->pc[i] < maps[k].end && maps[k].obj)
				printf("(%s+0x%llx)", maps[k].obj->path, (unsigned long long)(s->pc[i] - maps[k].start + maps[k].file_off));
	}
	printf("\n");
	if (e)
		err_free(e);
	else
		free(maps);
}

static void wait_stopped(pid_t pid)
{
	for (int i = 0; i < 200; i++) {
		char path[64];
		struct Str s = {0};
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		err_free(read_file(path, &s, 4096));
		char *p = s.p ? strrchr(s.p, ')') : NULL;
		bool stopped = p && p[2] == 'T';
		str_deinit(&s);
		if (stopped && i > 1)
			break;
		usleep(5000);
	}
}

// The first n frames.
static bool same_pcs(const struct Stack *ours, const struct Stack *oracle, u32 n)
{
	if (ours->n < n || oracle->n < n)
		return false;
	for (u32 i = 0; i < n; i++)
		if (ours->pc[i] != oracle->pc[i] && oracle->pc[i] != ANY)
			return false;
	return true;
}

typedef u32 (*Oracle)(pid_t pid, struct Stack *out, u32 max);

// Cut because user space has not yet read that the file was mapped, or not yet made its table: on a busy machine that takes its time.
static bool not_yet(u32 why)
{
	return why == RT_WHY_NEW_FILE || why == RT_WHY_NO_TABLE || why == RT_WHY_NO_PROC;
}

struct Compared {
	u32 threads, whole, deepest;
	bool early; // of a stack that differs: not_yet
};

// Stops the child and compares all its threads; says what differs, unless `quiet` and it is only too early.
static struct Compared compare_once(const char *name, struct Child *c, Oracle oracle, bool quiet)
{
	static struct Stack eu[64], ours;
	struct Compared r = {0};

	track_settle(run.track, 0); // its tables are built
	kill(c->pid, SIGSTOP);
	wait_stopped(c->pid);
	r.threads = oracle(c->pid, eu, ARRAY_LEN(eu));
	for (u32 i = 0; i < r.threads; i++) {
		u32 why = 0;
		if (!our_stack(c->pid, eu[i].tid, &eu[i], &ours, &why)) {
			T_FAIL("%s: no stack of thread %d", name, eu[i].tid);
			continue;
		}
		bool same = ours.n == eu[i].n && same_pcs(&ours, &eu[i], ours.n) && (why == RT_WHY_OK || oracle != gdb_stacks); // eu-stack's may end at a frame pointer of 0
		if (!same && quiet && not_yet(why)) {
			r.early = true;
		} else if (!same) {
			T_FAIL("%s: stacks differ (%s)", name, why_text(why));
			show(oracle == gdb_stacks ? "gdb" : "eu-stack", c->pid, &eu[i]);
			show("sonde", c->pid, &ours);
		}
		r.whole += same;
		r.deepest = MAX(r.deepest, ours.n);
	}
	return r;
}

// min: frames that at least one of them must have.
static void compare(const char *name, struct Child *c, u32 min, Oracle oracle)
{
	struct Compared r = {0};
	for (u32 left = 20; left > 0; left--) {
		r = compare_once(name, c, oracle, left > 1);
		if (!r.early)
			break;
		printf("# %s: not known yet, once more\n", name);
		kill(c->pid, SIGCONT);
		usleep(100000);
	}
	CHECK(r.threads > 0);
	printf("# %s: %u threads, %u identical, deepest %u frames\n", name, r.threads, r.whole, r.deepest);
	CHECK(r.deepest >= min);
	finish(c);
}

// Frames of the oracle's stack before the first that is no code: all, unless it is lost.
static u32 frames_of_code(pid_t pid, const struct Stack *s)
{
	struct ProcMap *maps;
	u32 n, k;
	bool code = true;
	struct err *e = sym_proc_maps(run.syms, pid, &maps, &n);
	if (e) {
		err_free(e);
		return s->n;
	}
	for (k = 0; k < s->n && code; k++) {
		code = s->pc[k] == ANY;
		for (u32 i = 0; i < n && !code; i++)
			code = s->pc[k] >= maps[i].start && s->pc[k] < maps[i].end;
	}
	free(maps);
	return k - !code;
}

// Both are lost at the same place, and we say so.
static bool both_lost(pid_t pid, const struct Stack *ours, const struct Stack *oracle, u32 why)
{
	u32 n = frames_of_code(pid, oracle);
	return why != RT_WHY_OK && ours->n >= MIN(n, 2) && n < oracle->n && same_pcs(ours, oracle, MIN(n, ours->n));
}

static bool in_no_file(pid_t pid, u64 pc)
{
	struct ProcMap *maps;
	u32 n;
	bool found = false;
	struct err *e = sym_proc_maps(run.syms, pid, &maps, &n);
	if (e) {
		err_free(e);
		return false;
	}
	for (u32 i = 0; i < n && !found; i++)
		found = !maps[i].ino && pc >= maps[i].start && pc < maps[i].end;
	free(maps);
	return found;
}

// In the first and last instructions of code made at run time, and of V8's builtins (which have no .eh_frame either), the frame pointer is the caller's: the oracle,
// which goes by that, leaves the caller out.
static bool leaves_out_caller(pid_t pid, bool v8, const struct Stack *oracle)
{
	static struct Stack like, ours;
	u32 why;
	if (oracle->n < 2 || oracle->n + 1 >= ARRAY_LEN(like.pc) || !(v8 || in_no_file(pid, oracle->pc[0])))
		return false;
	like = *oracle;
	memmove(like.pc + 2, oracle->pc + 1, (oracle->n - 1) * sizeof(like.pc[0]));
	like.pc[1] = ANY;
	like.n++;
	return our_stack(pid, oracle->tid, &like, &ours, &why) && ours.n == like.n && (v8 || in_no_file(pid, ours.pc[1])) && same_pcs(&ours, &like, like.n);
}

// The instruction before our second frame calls the function that our first is in, at its first bytes: __x86.get_pc_thunk.* of a stripped library, which gdb
// takes for a part of the function with the symbol before it, and then leaves out callers or is lost.
static bool just_called(pid_t pid, const struct Stack *ours)
{
	u8 b[5];
	s32 rel;
	if (ours->n < 2)
		return false;
	struct iovec to = {b, sizeof(b)}, from = {(void *)(uintptr_t)(ours->pc[1] - sizeof(b)), sizeof(b)};
	if (process_vm_readv(pid, &to, 1, &from, 1, 0) != sizeof(b) || b[0] != 0xe8)
		return false;
	memcpy(&rel, b + 1, sizeof(rel));
	return ours->pc[0] - (u32)(ours->pc[1] + (u32)rel) < 4;
}

// Stops the child again and again wherever it happens to be. A stack must be eu-stack's; where eu-stack gives up, ours may go on, to the root. gdb gives up
// with a frame that is no code (libgcc's unwinder for i386: its second one is at 0, now and then).
// Where both say nothing sensible after the same frames, nobody can: while uw_install_context_1 of libgcc runs, the registers its caller has saved
// are being replaced by those of the frame that catches.
static void compare_running(const char *name, struct Child *c, u32 stops, Oracle oracle)
{
	static struct Stack eu[64], ours;
	u32 same = 0, longer = 0, lost = 0, early = 0, left_out = 0, all = 0;

	track_settle(run.track, 0);
	for (u32 k = 0; k < stops; k++) {
		usleep((useconds_t)(1000 + random() % 9000));
		kill(c->pid, SIGSTOP);
		wait_stopped(c->pid);
		track_settle(run.track, 0);
		u32 n = oracle(c->pid, eu, ARRAY_LEN(eu));
		for (u32 i = 0; i < n; i++) {
			u32 why = 0;
			if (!eu[i].n || !our_stack(c->pid, eu[i].tid, &eu[i], &ours, &why)) // a thread that has not run since we look
				continue;
			all++;
			u32 code = frames_of_code(c->pid, &eu[i]);
			bool prefix = code && same_pcs(&ours, &eu[i], code);
			if (prefix && code == eu[i].n && ours.n == code) {
				same++;
			} else if (prefix && (why == RT_WHY_OK || why == RT_WHY_GUESS_FP || why == RT_WHY_GUESS_RULE)) {
				longer++;
			} else if (both_lost(c->pid, &ours, &eu[i], why)) {
				lost++;
			} else if (not_yet(why) && ours.n < eu[i].n && same_pcs(&ours, &eu[i], ours.n)) {
				early++;
			} else if (leaves_out_caller(c->pid, !strcmp(name, "node"), &eu[i]) || (oracle == gdb_stacks && why == RT_WHY_OK && just_called(c->pid, &ours))) {
				left_out++;
			} else {
				T_FAIL("%s: stacks differ (%s)", name, why_text(why));
				show(oracle == gdb_stacks ? "gdb" : "eu-stack", c->pid, &eu[i]);
				show("sonde", c->pid, &ours);
			}
		}
		kill(c->pid, SIGCONT);
	}
	printf("# %s: %u stacks, %u identical, %u go on to the root where the other stops, %u lost by both, %u too early, %u where it leaves out a caller\n", name, all, same, longer, lost, early, left_out);
	CHECK(early * 20 <= all); // the first ones, on a busy machine
	CHECK(lost * (oracle == gdb_stacks ? 2 : 10) <= all); // glibc's memcpy for i386 pushes a register and does not say so
	CHECK(left_out * 10 <= all);
	CHECK(all >= stops / 2);
	CHECK(same * 2 > all);
	finish(c);
}

#define START()                                                                                                                                      \
	const char *why_not = start_run();                                                                                                           \
	if (why_not)                                                                                                                                 \
	SKIP(why_not)

static bool build(const char *out, const char *cc, const char *flags, const char *src)
{
	char cmd[512];
	snprintf(cmd, sizeof(cmd), "command -v %s >/dev/null && %s -O2 -g0 -w %s -o %s %s -lpthread", cc, cc, flags, out, src);
	return system(cmd) == 0;
}

static void scene_by(Oracle oracle, const char *name, const char *flags, char *scene, char *arg, u32 min)
{
	char bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-stacks-%d-%s", getpid(), name);
	if (!build(bin, "cc", flags, "test/workload/stacks.c"))
		SKIP("cannot compile the workload");
	struct Child c = spawn((char *[]){bin, scene, arg, NULL});
	CHECK(wait_ready(&c));
	usleep(200000);
	compare(name, &c, min, oracle);
	unlink(bin);
}

static void scene(const char *name, const char *flags, char *scene, char *arg, u32 min)
{
	scene_by(eu_stacks, name, flags, scene, arg, min);
}

TEST(plain)
{
	START();
	scene("plain", "-fomit-frame-pointer", "deep", "10", 13);
}
TEST(deep_recursion)
{
	START();
	scene("recursion", "-fomit-frame-pointer", "deep", "700", 700);
}
TEST(frames_by_frame_pointer_and_expression)
{
	START();
	scene("frames", "-fomit-frame-pointer -mavx", "frames", NULL, 8);
}
TEST(signal_handler_over_qsort)
{
	START();
	scene("signal", "-fomit-frame-pointer", "signal", NULL, 10);
}
TEST(signal_on_its_own_stack)
{
	START();
	scene("altstack", "-fomit-frame-pointer", "altstack", NULL, 6);
}
TEST(threads)
{
	START();
	scene("threads", "-fomit-frame-pointer", "threads", NULL, 10);
}
TEST(static_binary)
{
	START();
	scene("static", "-fomit-frame-pointer -static", "signal", NULL, 10);
}
TEST(static_pie)
{
	START();
	scene("static-pie", "-fomit-frame-pointer -static-pie", "deep", "20", 20);
}
TEST(not_position_independent)
{
	START();
	scene("no-pie", "-fomit-frame-pointer -no-pie", "signal", NULL, 10);
}
TEST(stripped)
{
	START();
	scene("stripped", "-fomit-frame-pointer -s", "frames", NULL, 8);
}

TEST(cxx_exception)
{
	START();
	char bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-throw-%d", getpid());
	if (!build(bin, "c++", "-fomit-frame-pointer", "test/workload/throw.cc"))
		SKIP("no C++ compiler");
	struct Child c = spawn((char *[]){bin, NULL});
	CHECK(wait_ready(&c));
	usleep(100000);
	compare("throw", &c, 5, eu_stacks);
	unlink(bin);
}

// What .debug_frame alone describes.
TEST(debug_frame)
{
	START();
	scene("debug-frame", "-g -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables", "deep", "20", 20);
}

// ---- 32-bit processes
static bool can_32(const char *cc)
{
	char cmd[256], bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-m32-%d", getpid());
	snprintf(cmd, sizeof(cmd), "echo 'int main(void) { return 0; }' | %s -m32 -x c++ -o %s - 2>/dev/null && %s", cc, bin, bin);
	bool ok = system(cmd) == 0;
	unlink(bin);
	return ok;
}
#define START_32(cc)                                                                                                                                 \
	START();                                                                                                                                     \
	if (system("command -v gdb >/dev/null"))                                                                                                     \
	SKIP("no gdb");                                                                                                                              \
	if (!can_32(cc))                                                                                                                             \
	SKIP(cc " makes no 32-bit programs (gcc-multilib, g++-multilib), or the kernel runs none")
#define FLAGS_32 "-m32 -fomit-frame-pointer -idirafter /usr/include/x86_64-linux-gnu" // asm/: gcc-multilib, which has it for all, conflicts with cross compilers

TEST(i386_plain)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-plain", FLAGS_32, "deep", "10", 13);
}
TEST(i386_deep_recursion)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-recursion", FLAGS_32, "deep", "700", 700);
}
TEST(i386_frames_by_frame_pointer_and_expression)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-frames", FLAGS_32 " -mavx", "frames", NULL, 8);
}
TEST(i386_signal_handler_over_qsort)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-signal", FLAGS_32, "signal", NULL, 10);
}
TEST(i386_signal_on_its_own_stack)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-altstack", FLAGS_32, "altstack", NULL, 6); // SA_SIGINFO: a struct rt_sigframe
}
TEST(i386_threads)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-threads", FLAGS_32, "threads", NULL, 10);
}
TEST(i386_static_binary)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-static", FLAGS_32 " -static", "signal", NULL, 10);
}
TEST(i386_not_position_independent)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-no-pie", FLAGS_32 " -no-pie", "signal", NULL, 10);
}
TEST(i386_stripped)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-stripped", FLAGS_32 " -s", "frames", NULL, 8);
}
TEST(i386_debug_frame)
{
	START_32("cc");
	scene_by(gdb_stacks, "i386-debug-frame", "-g -fno-asynchronous-unwind-tables -fno-unwind-tables " FLAGS_32, "deep", "20", 20);
}
static void running_32(const char *name, const char *cc, const char *src, char *arg, char *arg2, u32 stops)
{
	char bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-stacks-%d-%s", getpid(), name);
	if (!build(bin, cc, FLAGS_32, src))
		SKIP("cannot compile the workload");
	struct Child c = spawn((char *[]){bin, arg, arg2, NULL});
	CHECK(wait_ready(&c));
	usleep(200000);
	compare_running(name, &c, stops, gdb_stacks);
	unlink(bin);
}
// The 32-bit vDSO has no rows but for its way into the kernel, and gdb loses its way there at times: the last four frames (main() and what called it)
// must be there whatever the first are, from the first stack on in which gdb agrees.
TEST(i386_vdso_running)
{
	START_32("cc");
	static struct Stack gdb[4], ours;
	char bin[64];
	u32 all = 0, whole = 0, same = 0;
	u64 root[4] = {0};
	snprintf(bin, sizeof(bin), "/tmp/sonde-stacks-%d-clock32", getpid());
	if (!build(bin, "cc", FLAGS_32, "test/workload/stacks.c"))
		SKIP("cannot compile the workload");
	struct Child c = spawn((char *[]){bin, "clock", NULL});
	CHECK(wait_ready(&c));
	usleep(200000);
	track_settle(run.track, 0);
	for (u32 k = 0; k < 60; k++) {
		u32 why = 0;
		usleep((useconds_t)(1000 + random() % 9000));
		kill(c.pid, SIGSTOP);
		wait_stopped(c.pid);
		bool have = our_stack(c.pid, c.pid, &gdb[0], &ours, &why);
		if (have && !root[0] && ours.n >= 4 && gdb_stacks(c.pid, gdb, 1) == 1 && gdb[0].n == ours.n && same_pcs(&ours, &gdb[0], ours.n))
			memcpy(root, ours.pc + ours.n - 4, sizeof(root));
		if (have && root[0]) {
			all++;
			bool rooted = why == RT_WHY_OK || why == RT_WHY_GUESS_FP; // the vDSO's own functions are left by frame pointer
			whole += rooted;
			const u64 *last = ours.pc + ours.n - 4;
			bool ok = rooted && ours.n >= 4 && ours.n <= 9 && !memcmp(last + 1, root + 1, 3 * sizeof(u64)) && last[0] - root[0] + 64 < 128;
			same += ok;
			if (!ok)
				show(why_text(why), c.pid, &ours);
		}
		kill(c.pid, SIGCONT);
	}
	printf("# i386-vdso: %u stacks, %u whole, %u of main's\n", all, whole, same);
	CHECK(all >= 30);
	CHECK_EQ(same, whole);
	CHECK(whole * 20 >= all * 19);
	finish(&c);
	unlink(bin);
}
TEST(i386_calls_running)
{
	START_32("cc");
	running_32("i386-calls", "cc", "test/workload/stacks.c", "walk", "12", 30);
}
TEST(i386_printf_running)
{
	START_32("cc");
	running_32("i386-printf", "cc", "test/workload/stacks.c", "spin", NULL, 40);
}
TEST(i386_cxx_unwinder_running)
{
	START_32("c++");
	running_32("i386-throw", "c++", "test/workload/throw.cc", "loop", NULL, 30);
}

static void program(const char *name, char *const *argv, u32 min)
{
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "command -v %s >/dev/null", argv[0]);
	if (system(cmd))
		SKIP("not installed");
	struct Child c = spawn(argv);
	CHECK(wait_ready(&c));
	usleep(200000);
	compare(name, &c, min, eu_stacks);
}

// ---- at any instruction
static void running(const char *name, char *const *argv, u32 stops)
{
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "command -v %s >/dev/null", argv[0]);
	if (system(cmd))
		SKIP("not installed");
	struct Child c = spawn(argv);
	CHECK(wait_ready(&c));
	usleep(200000);
	compare_running(name, &c, stops, eu_stacks);
}
TEST(cxx_unwinder_running)
{
	START();
	char bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-throw-%d", getpid());
	if (!build(bin, "c++", "-fomit-frame-pointer", "test/workload/throw.cc"))
		SKIP("no C++ compiler");
	running("throw", (char *[]){bin, "loop", NULL}, 60);
	unlink(bin);
}
TEST(vdso_running)
{
	START();
	char bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-stacks-%d-clock", getpid());
	if (!build(bin, "cc", "-fomit-frame-pointer", "test/workload/stacks.c"))
		SKIP("cannot compile the workload");
	running("vdso", (char *[]){bin, "clock", NULL}, 30);
	unlink(bin);
}
TEST(python3_running)
{
	START();
	running("python3",
		(char *[]){"/usr/bin/python3", "-c",
			   "import concurrent.futures as c, json, re, zlib\nprint('ready', flush=True)\n"
			   "def f(n): return f(n - 1) if n else len(zlib.compress(re.sub('1', lambda m: '2', json.dumps(list(range(999)))).encode()))\n"
			   "with c.ThreadPoolExecutor(4) as p:\n  while True: list(p.map(f, [20] * 8))",
			   NULL},
		40);
}
TEST(perl_running)
{
	START();
	running("perl", (char *[]){"perl", "-e", "$|=1; print \"ready\\n\"; sub f { my $n=shift; return $n ? f($n-1) : join ',', sort { $a cmp $b } map { s/1/2/; $_ } 1..99 } f(9) while 1", NULL}, 40);
}
TEST(sqlite3_running)
{
	START();
	running("sqlite3", (char *[]){"sh", "-c", "echo ready; exec sqlite3 :memory: \"with recursive c(x) as (values(1) union all select x+1 from c) select sum(length(hex(x)||'a')) from c\"", NULL},
		40);
}
TEST(openssl_running)
{
	START();
	running("openssl", (char *[]){"sh", "-c", "echo ready; exec openssl speed -seconds 1 sha512 aes-128-cbc rsa2048 ecdsap256", NULL}, 60);
}
TEST_RETRY(node_running, "stops anywhere, also in code that node is just writing")
{
	START();
	running("node", (char *[]){"node", "-e", "console.log('ready'); const f = n => n < 2 ? n : f(n-1) + f(n-2); setInterval(() => { f(20); JSON.parse(JSON.stringify(process.env)) }, 0)", NULL}, 40);
}
TEST(rust_running)
{
	START();
	running("fdfind", (char *[]){"fdfind", "-u", ".", "/usr", NULL}, 30);
}
TEST(python3)
{
	START();
	program("python3",
		(char *[]){"/usr/bin/python3", "-c",
			   "import time\nprint('ready', flush=True)\nclass A:\n  def __lt__(s, o): time.sleep(1000)\n"
			   "def f(n): return f(n-1) if n else sorted([A(), A()])\nlist(map(f, [20]))",
			   NULL},
		15);
}
TEST(perl)
{
	START();
	program("perl", (char *[]){"perl", "-e", "$|=1; sub f { my $n=shift; return $n ? f($n-1) : sort { sleep 1000 } (1,2) } print \"ready\\n\"; my @x = f(10);", NULL},
		6);
}
TEST(node)
{
	START();
	program("node", (char *[]){"node", "-e", "console.log('ready'); setTimeout(()=>{}, 1e6)", NULL}, 6);
}
TEST(sqlite3)
{
	START();
	program("sqlite3", (char *[]){"sh", "-c", "echo ready; exec sqlite3 :memory: \"with recursive c(x) as (values(1) union all select x+1 from c) select sum(x*x) from c\"", NULL},
		6);
}
TEST(openssl)
{
	START();
	program("openssl", (char *[]){"sh", "-c", "echo ready; exec openssl speed -seconds 1000 rsa2048", NULL}, 6);
}
TEST(end)
{
	if (run_ready)
		sr_end(&run);
	err_free(run_err);
}

T_FEW("it takes every switch of the machine, or samples");
T_LONG("it compares with eu-stack thousands of times");
T_MAIN()
