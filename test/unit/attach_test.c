// Attached programs run, in the script's order, and nothing stays behind. Programs are handmade: the compiler is not needed here. Only this
// process and its own events are traced; counts of system-wide events are lower bounds.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include "attach_fix.h"

static void sleep_ms(int ms)
{
	struct timespec t = {0, ms * 1000000L};
	nanosleep(&t, NULL);
}

// Of this program's own time, whoever else is running.
static void spin_ms(int ms)
{
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

static void cause_getppid(void)
{
	for (int i = 0; i < 100; i++)
		getppid();
}
static void cause_calls(void)
{
	for (int i = 0; i < 10; i++)
		traced(i);
}
static void cause_both(void)
{
	for (int i = 0; i < 10; i++)
		traced_two(traced(i));
}
static void cause_usdt(void)
{
	for (int i = 0; i < 10; i++)
		usdt_target(i);
}
static void cause_faults(void)
{
	char *p = mmap(NULL, 200 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, 200 * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < 200; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, 200 * 4096);
}
static void cause_time(void)
{
	sleep_ms(60);
}
static void cause_cpu(void)
{
	spin_ms(60);
}
static volatile u64 watched;
static void cause_write(void)
{
	for (int i = 0; i < 5; i++)
		watched = i;
}

TEST(kinds_run)
{
	static const struct Kind kinds[] = {
		{"tracepoint:syscalls:sys_enter_getppid", cause_getppid, 100, 0, 1},
		{"tracepoint:raw_syscalls:sys_*", cause_getppid, 200, 0, 2},
		{"rawtracepoint:sys_enter", cause_getppid, 100, 0, 1},
		{"uprobe:/proc/self/exe:traced", cause_calls, 10, 10, 1},
		{"uprobe:/proc/self/exe:traced*", cause_both, 20, 20, 2},
		{"uretprobe:/proc/self/exe:traced", cause_calls, 10, 10, 1},
		{"usdt:/proc/self/exe:sonde:hit", cause_usdt, 10, 10, 1},
		{"software:page-faults:1", cause_faults, 200, 0, 1},
		{"interval:ms:5", cause_time, 3, 0, 1},
		{"interval:hz:200", cause_time, 3, 0, 1},
		{"profile:hz:999", cause_cpu, 10, 0, 1},
		{"profile:ms:2", cause_cpu, 5, 0, 1},
	};
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++)
		check_kind(&kinds[i], 0);
}

TEST(kinds_run_with_pid)
{
	static const struct Kind kinds[] = {
		{"uprobe:/proc/self/exe:traced", cause_calls, 10, 10, 1},
		{"uretprobe:traced", cause_calls, 10, 10, 1},
		{"usdt:hit", cause_usdt, 10, 10, 1},
		{"profile:hz:999", cause_cpu, 10, 120, 1},
		{"software:page-faults:1", cause_faults, 200, 260, 1},
	};
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++)
		check_kind(&kinds[i], getpid());
}

static void *spinner(void *stop)
{
	while (!*(volatile bool *)stop)
		;
	return NULL;
}

// Threads that live already belong to the process too.
TEST(profile_of_every_thread)
{
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp;
	pthread_t t;
	volatile bool stop = false;
	u64 n;
	fix_init(&f);
	f.env.pid = getpid();
	counter_init(&c);
	pthread_create(&t, NULL, spinner, (void *)&stop);
	struct Attachments *at = run(&f, &pp, &c, "profile:hz:499", &n);
	sleep_ms(100); // this thread does nothing
	stop = true;
	pthread_join(t, NULL);
	CHECK(c.slots[0] >= 5);
	attachments_destroy(at);
	close(pp.fd);
	counter_deinit(&c);
	fix_deinit(&f);
}

TEST(other_process_is_not_counted)
{
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp;
	u64 n;
	fix_init(&f);
	f.env.pid = getpid();
	counter_init(&c);
	struct Attachments *at = run(&f, &pp, &c, "uprobe:/proc/self/exe:traced", &n);
	pid_t child = fork();
	if (!child) {
		cause_calls();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	CHECK_EQ(c.slots[0], 0);
	cause_calls();
	CHECK_EQ(c.slots[0], 10);
	attachments_destroy(at);
	close(pp.fd);
	counter_deinit(&c);
	fix_deinit(&f);
}

// The way kernels without uprobe_multi go.
TEST(uprobes_without_multi)
{
	static const struct Kind kinds[] = {
		{"uprobe:/proc/self/exe:traced*", cause_both, 20, 20, 2},
		{"uretprobe:/proc/self/exe:traced", cause_calls, 10, 10, 1},
		{"usdt:/proc/self/exe:sonde:hit", cause_usdt, 10, 10, 1},
	};
	bool had = feature_has(FEAT_UPROBE_MULTI);
	feature_set(FEAT_UPROBE_MULTI, false);
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++)
		check_kind(&kinds[i], i == 1 ? getpid() : 0);
	feature_set(FEAT_UPROBE_MULTI, had);
}

TEST(usdt_semaphore)
{
	for (int multi = 0; multi < 2; multi++) {
		struct Fix f;
		struct Counter c;
		struct ProbeProg pp;
		u64 n;
		fix_init(&f);
		f.env.no_uprobe_multi = !multi;
		counter_init(&c);
		CHECK_EQ(sonde_hit_semaphore, 0);
		struct Attachments *at = run(&f, &pp, &c, "usdt:/proc/self/exe:sonde:hit", &n);
		CHECK_EQ(sonde_hit_semaphore, 1);
		attachments_destroy(at);
		CHECK_EQ(sonde_hit_semaphore, 0);
		close(pp.fd);
		counter_deinit(&c);
		fix_deinit(&f);
	}
}

TEST(watchpoint_of_this_process)
{
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp = {.fd = -1, .kind = PK_WATCHPOINT};
	struct Program prog = {0};
	u64 n = 0;
	fix_init(&f);
	f.env.pid = getpid();
	counter_init(&c);
	CHECK_EQ(expand(&f, arena_printf(&f.arena, "w:0x%llx:8:w", (unsigned long long)(uintptr_t)&watched)), 1);
	pp.points = f.points;
	load_counting(&f, &pp, &c, 0, 0);
	vec_push(&prog.progs, &pp);
	struct Attachments *at = attachments_create();
	struct err *e = probes_attach(&f.env, &prog, at, &n);
	bool none = e && strstr(err_text(e), "no hardware breakpoints");
	if (e && !none)
		T_FAIL("%s", err_text(e));
	cause_write();
	if (!e)
		CHECK_EQ(c.slots[0], 5);
	err_free(e);
	attachments_destroy(at);
	vec_deinit(&prog.progs);
	close(pp.fd);
	counter_deinit(&c);
	fix_deinit(&f);
	if (none)
		SKIP("this machine has no hardware breakpoints");
}

TEST(begin_runs_here)
{
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp = {.fd = -1, .kind = PK_BEGIN};
	u32 ret = 0;
	double ns = 0;
	fix_init(&f);
	counter_init(&c);
	CHECK_EQ(expand(&f, "begin"), 1);
	pp.points = f.points;
	load_counting(&f, &pp, &c, 0, 5);
	struct err *e = probe_run_once(&pp);
	CHECK(!e);
	CHECK_EQ(c.slots[0], 1);
	e = probe_run_test(&pp, &ret);
	CHECK(!e);
	CHECK_EQ(ret, 5);
	u64 runs = 0;
	e = probe_run_bench(&pp, &ns, &runs);
	if (e)
		T_FAIL("%s", err_text(e));
	err_free(e);
	CHECK(ns > 0 && ns < 100000);
	close(pp.fd);
	counter_deinit(&c);
	fix_deinit(&f);
}

static void cause_one_call(void)
{
	traced(1);
}
static void cause_one_usdt(void)
{
	usdt_target(1);
}
// Of a system call that no other process makes meanwhile (C libraries answer it without one): each call of it on the machine is counted. Shells begin with getppid().
static void cause_one_tracepoint(void)
{
	syscall(SYS_getcpu, NULL, NULL, NULL);
}

TEST(order)
{
	check_order("uprobe:/proc/self/exe:traced", cause_one_call, 3);
	check_order("uretprobe:/proc/self/exe:traced", cause_one_call, 3);
	check_order("usdt:/proc/self/exe:hit", cause_one_usdt, 3);
	check_order("tracepoint:syscalls:sys_enter_getcpu", cause_one_tracepoint, 3);
	feature_set(FEAT_UPROBE_MULTI, false);
	check_order("uprobe:/proc/self/exe:traced", cause_one_call, 3);
	check_order("uretprobe:/proc/self/exe:traced", cause_one_call, 3);
	feature_set(FEAT_UPROBE_MULTI, true);
}

// All or nothing.
TEST(failure_undoes_everything)
{
	struct Fix f;
	struct Counter c;
	struct Program prog = {0};
	struct ProbeProg good = {.fd = -1}, bad = {.fd = -1};
	u64 n = 0;
	fix_init(&f);
	counter_init(&c);
	CHECK_EQ(expand(&f, "tracepoint:syscalls:sys_enter_getppid"), 1);
	good.kind = PK_TRACEPOINT;
	good.points = f.points;
	load_counting(&f, &good, &c, 0, 0);
	f.points = (struct PointList){0};
	CHECK_EQ(expand(&f, "uprobe:/proc/self/exe:traced"), 1);
	bad.kind = PK_UPROBE;
	bad.points = f.points;
	load_counting(&f, &bad, &c, 0, 0);
	bad.points.v.p[0]->addr = 1ull << 40; // far beyond the file
	vec_push(&prog.progs, &good);
	vec_push(&prog.progs, &bad);
	struct Attachments *at = attachments_create();
	struct err *e = probes_attach(&f.env, &prog, at, &n);
	CHECK(e != NULL);
	if (e)
		CHECK(strstr(err_text(e), "cannot attach uprobe:/proc/self/exe:traced: ") != NULL);
	err_free(e);
	cause_getppid();
	CHECK_EQ(c.slots[0], 0);
	// Told to go on, it attaches the rest.
	f.config.missing_probes = MISSING_WARN;
	e = probes_attach(&f.env, &prog, at, &n);
	CHECK(!e);
	CHECK_EQ(n, 1);
	cause_getppid();
	CHECK(c.slots[0] >= 100);
	CHECK_EQ(f.diags.nerrors, 0);
	CHECK_EQ(f.diags.items.n, 1);
	attachments_destroy(at);
	close(good.fd);
	close(bad.fd);
	vec_deinit(&good.points.v);
	vec_deinit(&prog.progs);
	counter_deinit(&c);
	fix_deinit(&f);
}

static bool pin_works(void)
{
	struct statfs fs;
	return !statfs("/sys/fs/bpf", &fs) && fs.f_type == 0xcafe4a11; // BPF_FS_MAGIC
}

// An iterator runs when its file is read; pinned, it outlives the attachment, unless attaching as a whole failed.
TEST(iterators)
{
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp;
	u64 n = 0;
	char buf[64];
	if (!feature_has(FEAT_ITER))
		SKIP("this kernel has no BPF iterators");
	fix_init(&f);
	counter_init(&c);
	struct Attachments *at = run(&f, &pp, &c, "iter:task", &n);
	CHECK_EQ(n, 1);
	int fd = attachments_iter_open(at, 0);
	CHECK(fd >= 0);
	while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	CHECK(c.slots[0] >= 2); // this task, and once at the end
	CHECK_EQ(attachments_iter_open(at, 1), -ENOENT);
	attachments_destroy(at);
	close(pp.fd);
	vec_deinit(&f.points.v);
	if (!access("/sys/fs/bpf", W_OK) && pin_works()) {
		at = run(&f, &pp, &c, "iter:task:sonde_test_pin", &n);
		attachments_destroy(at);
		CHECK(!access("/sys/fs/bpf/sonde_test_pin", F_OK));
		unlink("/sys/fs/bpf/sonde_test_pin");
		close(pp.fd);
	}
	counter_deinit(&c);
	fix_deinit(&f);
}

TEST(hardware_without_counters)
{
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp = {.fd = -1, .kind = PK_HARDWARE};
	struct Program prog = {0};
	u64 n;
	if (feature_has(FEAT_HW_EVENTS))
		SKIP("this machine has hardware counters");
	fix_init(&f);
	counter_init(&c);
	CHECK_EQ(expand(&f, "hardware:cycles"), 1);
	pp.points = f.points;
	load_counting(&f, &pp, &c, 0, 0);
	vec_push(&prog.progs, &pp);
	struct Attachments *at = attachments_create();
	struct err *e = probes_attach(&f.env, &prog, at, &n);
	CHECK(e != NULL);
	if (e)
		CHECK(strstr(err_text(e), "exposes no hardware counters; use software:cpu-clock") != NULL);
	err_free(e);
	attachments_destroy(at);
	vec_deinit(&prog.progs);
	close(pp.fd);
	counter_deinit(&c);
	fix_deinit(&f);
}

T_MAIN()
