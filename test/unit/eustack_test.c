// Whole stacks against elfutils: processes are stopped, the kernel side takes each thread's stack as it is switched out for the stop, and every pc
// is compared with `eu-stack -n 0 -p PID`. Needs root, BPF, eu-stack and a compiler; what is missing is named and skipped.
#include "t.h"
#include "stack_run.h"
#include "unwind/internal.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static struct StackRun run;
static struct err *run_err;
static bool run_ready;

// One tracer for all cases: every switch-out on the machine, user stacks of the thread that leaves.
static const char *start_run(void)
{
	static char why[4096];
	if (run_ready)
		return run_err ? why : NULL;
	run_ready = true;
	if (system("command -v eu-stack >/dev/null"))
		return "no eu-stack";
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

struct Stack {
	int tid;
	u32 n;
	u64 pc[RT_STACK_MAX + 8];
};

// eu-stack's stacks of all threads.
static u32 eu_stacks(pid_t pid, struct Stack *out, u32 max)
{
	char cmd[128], *line = NULL;
	size_t cap = 0;
	u32 n = 0;
	snprintf(cmd, sizeof(cmd), "eu-stack -n 0 -p %d 2>/dev/null", pid);
	FILE *f = popen(cmd, "r");
	while (f && getline(&line, &cap, f) > 0) {
		if (!strncmp(line, "TID ", 4) && n < max) {
			out[n++] = (struct Stack){.tid = atoi(line + 4)};
		} else if (line[0] == '#' && n && out[n - 1].n < RT_STACK_MAX + 8) {
			char *p = strstr(line, "0x");
			if (p)
				out[n - 1].pc[out[n - 1].n++] = strtoull(p, NULL, 16);
		}
	}
	if (f)
		pclose(f);
	free(line);
	return n;
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
		out->pc[i] = f[i];
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

static void show(const char *who, const struct Stack *s)
{
	printf("# %s, thread %d, %u frames:", who, s->tid, s->n);
	for (u32 i = 0; i < s->n && i < 40; i++)
		printf(" %llx", (unsigned long long)s->pc[i]);
	printf("\n");
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

// Stops the child and compares all its threads. min: frames that at least one of them must have.
static void compare(const char *name, struct Child *c, u32 min)
{
	static struct Stack eu[64], ours;
	u32 n = 0, most = 0, whole = 0;

	unwind_settle(run.unwind, 0); // its tables are built
	kill(c->pid, SIGSTOP);
	wait_stopped(c->pid);
	n = eu_stacks(c->pid, eu, ARRAY_LEN(eu));
	CHECK(n > 0);
	for (u32 i = 0; i < n; i++) {
		u32 why = 0;
		if (!our_stack(c->pid, eu[i].tid, &eu[i], &ours, &why)) {
			T_FAIL("%s: no stack of thread %d", name, eu[i].tid);
			continue;
		}
		bool same = ours.n == eu[i].n && !memcmp(ours.pc, eu[i].pc, ours.n * sizeof(u64));
		if (!same) {
			T_FAIL("%s: stacks differ (%s)", name, why_text(why));
			show("eu-stack", &eu[i]);
			show("sonde", &ours);
		}
		whole += same;
		most = MAX(most, ours.n);
	}
	printf("# %s: %u threads, %u identical, deepest %u frames\n", name, n, whole, most);
	CHECK(most >= min);
	finish(c);
}

// Does eu-stack's stack end in what is no code?
static bool eu_lost(pid_t pid, const struct Stack *s)
{
	struct ProcMap *maps;
	u32 n;
	bool code = false;
	struct err *e = sym_proc_maps(run.syms, pid, &maps, &n);
	if (e) {
		err_free(e);
		return false;
	}
	for (u32 i = 0; i < n; i++)
		code |= s->pc[s->n - 1] >= maps[i].start && s->pc[s->n - 1] < maps[i].end;
	free(maps);
	return !code;
}

// Stops the child again and again wherever it happens to be. A stack must be eu-stack's; where eu-stack gives up, ours may go on, to the root.
// Where both say nothing sensible after the same frames, nobody can: while uw_install_context_1 of libgcc runs, the registers its caller has saved
// are being replaced by those of the frame that catches.
static void compare_running(const char *name, struct Child *c, u32 stops)
{
	static struct Stack eu[64], ours;
	u32 same = 0, longer = 0, lost = 0, all = 0;

	unwind_settle(run.unwind, 0);
	for (u32 k = 0; k < stops; k++) {
		usleep((useconds_t)(1000 + random() % 9000));
		kill(c->pid, SIGSTOP);
		wait_stopped(c->pid);
		unwind_settle(run.unwind, 0);
		u32 n = eu_stacks(c->pid, eu, ARRAY_LEN(eu));
		for (u32 i = 0; i < n; i++) {
			u32 why = 0;
			if (!eu[i].n || !our_stack(c->pid, eu[i].tid, &eu[i], &ours, &why)) // a thread that has not run since we look
				continue;
			all++;
			bool prefix = ours.n >= eu[i].n && !memcmp(ours.pc, eu[i].pc, eu[i].n * sizeof(u64));
			if (prefix && ours.n == eu[i].n) {
				same++;
			} else if (prefix && why == RT_WHY_OK) {
				longer++;
			} else if (why != RT_WHY_OK && ours.n > 1 && ours.n <= eu[i].n && !memcmp(ours.pc, eu[i].pc, ours.n * sizeof(u64)) && eu_lost(c->pid, &eu[i])) {
				lost++;
			} else {
				T_FAIL("%s: stacks differ (%s)", name, why_text(why));
				show("eu-stack", &eu[i]);
				show("sonde", &ours);
			}
		}
		kill(c->pid, SIGCONT);
	}
	printf("# %s: %u stacks, %u identical, %u go on to the root where eu-stack stops, %u lost by both\n", name, all, same, longer, lost);
	CHECK(lost * 10 <= all);
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

static void scene(const char *name, const char *flags, char *scene, char *arg, u32 min)
{
	char bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-stacks-%d-%s", getpid(), name);
	if (!build(bin, "cc", flags, "test/workload/stacks.c"))
		SKIP("cannot compile the workload");
	struct Child c = spawn((char *[]){bin, scene, arg, NULL});
	CHECK(wait_ready(&c));
	usleep(200000);
	compare(name, &c, min);
	unlink(bin);
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
	compare("throw", &c, 5);
	unlink(bin);
}

// What .debug_frame alone describes.
TEST(debug_frame)
{
	START();
	scene("debug-frame", "-g -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables", "deep", "20", 20);
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
	compare(name, &c, min);
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
	compare_running(name, &c, stops);
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
TEST(node_running)
{
	START();
	running("node", (char *[]){"node", "-e", "console.log('ready'); const f = n => n < 2 ? n : f(n-1) + f(n-2); setInterval(() => { f(20); JSON.parse(JSON.stringify(process.env)) }, 0)", NULL}, 40);
}
TEST(rust_running)
{
	START();
	running("fdfind", (char *[]){"fdfind", "-u", ".", "/usr", NULL}, 30);
}
TEST(go)
{
	START();
	if (system("command -v gron >/dev/null"))
		SKIP("not installed");
	program("gron", (char *[]){"bash", "-c", "echo ready; exec gron < <(exec sleep 1000)", NULL}, 3);
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

T_MAIN()
