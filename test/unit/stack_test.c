// Stacks through the kernel: no frame of the tracer on top, whole from function entry, from behind return probes, from the vDSO, for processes and
// libraries that come later; 200,000 different stacks without loss. Needs root and BPF; what is missing is named and skipped.
#include "t.h"
#include "stack_run.h"
#include "stack/internal.h"
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

struct Child {
	pid_t pid;
	int in, out;
};
static struct Child spawn(char *const *argv)
{
	int p[2], q[2];
	struct Child c = {-1, -1, -1};
	if (pipe(p) || pipe(q))
		return c;
	c.pid = fork();
	if (c.pid == 0) {
		dup2(p[1], 1);
		dup2(q[0], 0);
		close(p[0]);
		close(q[1]);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(p[1]);
	close(q[0]);
	c.out = p[0];
	c.in = q[1];
	return c;
}
static void finish(struct Child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->in);
	close(c->out);
}
static bool said(struct Child *c, int ms)
{
	char buf[256];
	struct pollfd p = {c->out, POLLIN, 0};
	return poll(&p, 1, ms) == 1 && read(c->out, buf, sizeof(buf)) > 0;
}

static const char *build(const char *cc_flags, const char *src, const char *tag)
{
	static char bin[8][96];
	static u32 n;
	char cmd[512], *b = bin[n++ % 8];
	snprintf(b, sizeof(bin[0]), "/tmp/sonde-stack-test-%d-%s", getpid(), tag);
	snprintf(cmd, sizeof(cmd), "command -v cc >/dev/null && cc -O2 -w %s -o %s %s -lpthread -ldl", cc_flags, b, src);
	return system(cmd) ? NULL : b;
}
static u64 symbol_off(struct Syms *s, const char *bin, const char *name)
{
	struct SymObject *o = sym_object_path(s, bin);
	struct SymDef d;
	return o && sym_object_find(s, o, name, &d) ? d.file_off : 0;
}

// ---- reading what a run has collected
struct Want {
	struct StackRun *r;
	int tgid; // 0 any
	bool user;
	const char *const *top; // names from the leaf on; NULL-terminated
	const char *root;	// name of the last frame
	u64 stacks, matching, events, good_events, none;
	char first_bad[1024];
};
static bool tracer_name(const char *s)
{
	static const char *const bad[] = {"bpf_trace_run", "bpf_trampoline", "__bpf_trace_", "__traceiter_", "bpf_get_stack", "perf_trace_"};
	for (u32 i = 0; s && i < ARRAY_LEN(bad); i++)
		if (!strncmp(s, bad[i], strlen(bad[i])))
			return true;
	return s && !strncmp(s, "bpf_prog_", 9) && strspn(s + 9, "0123456789abcdef") >= 16; // the tag of a program, not bpf_prog_load()
}
static void note(struct Want *w, const struct Value *v)
{
	struct Str s = {0};
	if (w->first_bad[0])
		return;
	str_addf(&s, "%s:", v->why ? v->why : "");
	for (u32 i = 0; i < v->nframes && i < 30; i++)
		str_addf(&s, " %s(%s+%llx)", v->frames[i].sym ? v->frames[i].sym : "?", v->frames[i].module ? v->frames[i].module : "", (unsigned long long)v->frames[i].module_off);
	snprintf(w->first_bad, sizeof(w->first_bad), "%s", s.p);
	str_deinit(&s);
}
static bool on_stack(void *arg, const struct StackKey *k, u64 count)
{
	struct Want *w = arg;
	struct Arena a = {0};
	struct Value v;
	if (w->tgid && k->pid_tgid >> 32 != (u64)w->tgid)
		return true;
	w->events += count;
	if (!k->id) {
		w->none += count;
		return true;
	}
	if (!stacks_read(w->r->reader, &a, k->id, w->user, 0, &v)) {
		T_FAIL("id %llx is not in the maps", (unsigned long long)k->id);
		return true;
	}
	w->stacks++;
	bool ok = true;
	for (u32 i = 0; ok && w->top && w->top[i]; i++)
		ok = i < v.nframes && v.frames[i].sym && !strcmp(v.frames[i].sym, w->top[i]);
	for (u32 i = 0; ok && i < v.nframes; i++)
		ok = !tracer_name(v.frames[i].sym);
	if (ok && w->root)
		ok = v.nframes && v.frames[v.nframes - 1].sym && !v.why &&
		     !strcmp(v.frames[v.nframes - 1].sym, w->root);
	w->matching += ok;
	w->good_events += ok ? count : 0;
	if (!ok)
		note(w, &v);
	arena_deinit(&a);
	return true;
}
static struct RtCounters counters(struct StackRun *r)
{
	struct RtCounters sum = {0};
	struct MapDef *m = program_map(&r->t.prog, "rt_counters");
	static struct RtCounters c[1024];
	u32 zero = 0;
	if (m && sys_map_lookup(m->fd, &zero, c) >= 0)
		for (int i = 0; i < libbpf_num_possible_cpus(); i++)
			for (u32 k = 0; k < sizeof(sum) / 8; k++)
				((u64 *)&sum)[k] += ((u64 *)&c[i])[k];
	return sum;
}

#define LOAD(...)                                                                                                                                    \
	static struct StackRun r;                                                                                                                    \
	struct err *load_err = sr_load(&r, __VA_ARGS__);                                                                                             \
	if (load_err) {                                                                                                                              \
		static char why[2048];                                                                                                               \
		snprintf(why, sizeof(why), "%s", err_text(load_err));                                                                                \
		bool missing = err_code(load_err) == EPERM;                                                                                          \
		err_free(load_err);                                                                                                                  \
		sr_end(&r);                                                                                                                          \
		if (missing)                                                                                                                         \
			SKIP(why);                                                                                                                   \
		T_FAIL("%s", why);                                                                                                                   \
		return;                                                                                                                              \
	}

static void all_match(struct Want *w)
{
	sr_each(w->r, on_stack, w);
	printf("# %llu stacks of %llu events, %llu as they should be\n", (unsigned long long)w->stacks, (unsigned long long)w->events, (unsigned long long)w->matching);
	CHECK(w->stacks > 0);
	CHECK_EQ(w->matching, w->stacks);
	if (w->first_bad[0])
		printf("# first other: %s\n", w->first_bad);
}

// ---- no frames of the tracer
static void sleep_some(void)
{
	for (int i = 0; i < 50; i++)
		usleep(2000);
}
TEST(kernel_stack_of_raw_tracepoint)
{
	LOAD("rt_kstack", PK_RAWTP, 0, false, getpid(), NULL);
	CHECK(sr_keep(&r, sys_raw_tracepoint_open("sched_switch", r.t.pp.fd), -1));
	sleep_some();
	sr_detach(&r);
	all_match(&(struct Want){.r = &r, .top = (const char *[]){"__schedule", NULL}});
	CHECK_EQ(counters(&r).stack_kfail, 0);
	sr_end(&r);
}
TEST(kernel_stack_of_two_raw_tracepoints) // with two programs the kernel goes through __traceiter_*
{
	LOAD("rt_kstack", PK_RAWTP, 0, false, getpid(), NULL);
	CHECK(sr_keep(&r, sys_raw_tracepoint_open("sched_switch", r.t.pp.fd), -1));
	CHECK(sr_keep(&r, sys_raw_tracepoint_open("sched_switch", r.t.pp.fd), -1));
	sleep_some();
	sr_detach(&r);
	all_match(&(struct Want){.r = &r, .top = (const char *[]){"__schedule", NULL}});
	sr_end(&r);
}
// The tracer's functions are asked for by name; /proc/kallsyms is not read, neither for them nor for the names of the frames.
static void asked(enum ProbeKind kind, enum CtxKind ctx, u32 programs)
{
	struct Point pt = {.kind = kind, .ctx = ctx, .target = "sched", .event = "sched_switch"};
	u64 addr;
	sr_point = &pt;
	LOAD("rt_kstack", kind, 0, false, getpid(), NULL);
	sr_point = NULL;
	if (kernask_addr(r.ask, "bpf_trace_run1", &addr) < 1) {
		sr_end(&r);
		SKIP("this kernel does not answer single questions about its symbols");
	}
	for (u32 i = 0; i < programs; i++)
		CHECK(kind == PK_RAWTP ? sr_keep(&r, sys_raw_tracepoint_open("sched_switch", r.t.pp.fd), -1) : sr_tracepoint(&r, "sched/sched_switch"));
	sleep_some();
	sr_detach(&r);
	all_match(&(struct Want){.r = &r, .top = (const char *[]){"__schedule", NULL}});
	CHECK(!sym_kernel_asked(r.syms));
	sr_end(&r);
}
TEST(kernel_stack_of_raw_tracepoint_without_kallsyms)
{
	asked(PK_RAWTP, CTX_RAW, 1);
}
TEST(kernel_stack_of_two_raw_tracepoints_without_kallsyms)
{
	asked(PK_RAWTP, CTX_RAW, 2);
}
TEST(kernel_stack_of_tracepoint_without_kallsyms)
{
	asked(PK_TRACEPOINT, CTX_TRACEPOINT, 1);
}
TEST(kernel_stack_of_tracepoint)
{
	LOAD("rt_kstack", PK_TRACEPOINT, 0, false, getpid(), NULL);
	if (!sr_tracepoint(&r, "sched/sched_switch")) {
		sr_end(&r);
		SKIP("no tracepoints");
	}
	sleep_some();
	sr_detach(&r);
	all_match(&(struct Want){.r = &r, .top = (const char *[]){"__schedule", NULL}});
	sr_end(&r);
}
TEST_RETRY(kernel_stack_of_samples, "a share of samples")
{
	LOAD("rt_kstack", PK_PROFILE, 0, false, getpid(), NULL); // another tracer on the machine may be hit at work: most must do
	CHECK(sr_profile(&r, 997));
	struct Str s = {0};
	for (int i = 0; i < 100; i++) {
		str_reset(&s);
		err_free(read_file("/proc/kallsyms", &s, 4 << 20));
	}
	str_deinit(&s);
	sr_detach(&r);
	struct Want w = {.r = &r};
	sr_each(&r, on_stack, &w);
	printf("# %llu stacks, %llu as they should be; %s\n", (unsigned long long)w.stacks, (unsigned long long)w.matching, w.first_bad);
	CHECK(w.stacks > 0 && w.matching * 10 >= w.stacks * 9);
	sr_end(&r);
}
TEST(kernel_stack_limit)
{
	LOAD("rt_kstack", PK_RAWTP, 3, false, getpid(), NULL);
	CHECK(sr_keep(&r, sys_raw_tracepoint_open("sched_switch", r.t.pp.fd), -1));
	sleep_some();
	sr_detach(&r);
	struct Want w = {.r = &r, .top = (const char *[]){"__schedule", NULL}};
	all_match(&w);
	struct StackKey k;
	CHECK(sys_map_next_key(r.counts->fd, NULL, &k) >= 0);
	CHECK_EQ(RT_STACK_NFRAMES(k.id), 3);
	sr_end(&r);
}

// ---- probes of functions
static void probed(const char *flags, const char *tag, bool pending)
{
	const char *bin = build(flags, "test/workload/stacks.c", tag);
	if (!bin)
		SKIP("cannot compile the workload");
	struct Child c = spawn((char *[]){(char *)bin, "calls", NULL});
	CHECK(said(&c, 10000));
	sr_entry = !pending;
	LOAD("rt_ustack", PK_UPROBE, 0, false, c.pid, NULL);
	sr_entry = false;
	u64 leaf = symbol_off(r.syms, bin, "leaf"), outer = symbol_off(r.syms, bin, "outer"), middle = symbol_off(r.syms, bin, "middle");
	CHECK(leaf && outer && middle);
	track_settle(r.track, 0);
	CHECK(sr_uprobe(&r, bin, leaf, false, 0));
	if (pending) { // events of the return probes are counted too: their stacks begin in the caller
		CHECK(sr_uprobe(&r, bin, middle, true, 0));
		CHECK(sr_uprobe(&r, bin, outer, true, 0));
	}
	usleep(300000);
	sr_detach(&r);
	struct Want w = {.r = &r, .user = true, .root = "_start"};
	sr_each(&r, on_stack, &w);
	printf("# %llu stacks of %llu events, %llu whole\n", (unsigned long long)w.stacks, (unsigned long long)w.events, (unsigned long long)w.matching);
	CHECK(w.events > 3); // a busy machine gives few samples
	CHECK_EQ(w.stacks, pending ? 3 : 1);
	CHECK_EQ(w.matching, w.stacks);
	if (w.first_bad[0])
		printf("# first other: %s\n", w.first_bad);
	struct Want at_leaf = {.r = &r, .user = true, .root = "_start", .top = (const char *[]){"leaf", "middle", "outer", "main", NULL}};
	sr_each(&r, on_stack, &at_leaf);
	CHECK_EQ(at_leaf.matching, 1);
	finish(&c);
	unlink(bin);
	sr_end(&r);
}
TEST(function_entry)
{
	probed("-fomit-frame-pointer", "entry", false);
}
TEST(function_entry_without_unwind_information)
{
	probed("-fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables", "entryfp", false);
}
TEST(pending_return_probes)
{
	probed("-fomit-frame-pointer", "pending", true);
}

// True when the child has used the processor for ms milliseconds from now on, however busy the machine is; false after 30 s.
static u64 used_ms(pid_t pid)
{
	char path[64];
	struct Str s = {0};
	unsigned long long user = 0, sys = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	err_free(read_file(path, &s, 4096));
	char *p = s.p ? strrchr(s.p, ')') : NULL;
	bool ok = p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &sys) == 2;
	str_deinit(&s);
	return ok ? (user + sys) * 1000 / (u64)sysconf(_SC_CLK_TCK) : 0;
}
static bool worked(pid_t pid, u64 ms)
{
	u64 start = used_ms(pid);
	for (int i = 0; i < 3000; i++) {
		if (used_ms(pid) >= start + ms)
			return true;
		usleep(10000);
	}
	return false;
}

// ---- samples of a program that starts or changes while tracing
static void sampled(char *const *argv, bool before, const char *send, double at_least, const char *root, const char *must)
{
	struct Child c = {-1, -1, -1};
	if (before) {
		c = spawn(argv);
		CHECK(said(&c, 10000));
	}
	LOAD("rt_ustack", PK_PROFILE, 0, false, 0, NULL);
	track_settle(r.track, 0);
	CHECK(sr_profile(&r, 499));
	if (!before) {
		c = spawn(argv);
		CHECK(said(&c, 10000));
	}
	if (send)
		CHECK_EQ(write(c.in, send, strlen(send)), (long)strlen(send));
	CHECK(worked(c.pid, 700));
	sr_detach(&r);
	struct Want w = {.r = &r, .user = true, .root = root, .tgid = c.pid};
	sr_each(&r, on_stack, &w);
	printf("# %llu stacks of %llu samples, %llu samples whole\n", (unsigned long long)w.stacks, (unsigned long long)w.events,
	       (unsigned long long)w.good_events);
	CHECK(w.events > 3); // a busy machine gives few samples
	CHECK((double)w.good_events >= at_least * (double)w.events);
	if (w.first_bad[0])
		printf("# first other: %s\n", w.first_bad);
	if (must) { // some stack goes through it
		struct Want m = {.r = &r, .user = true, .tgid = c.pid, .top = (const char *[]){must, NULL}};
		sr_each(&r, on_stack, &m);
		CHECK(m.matching > 0);
	}
	finish(&c);
	sr_end(&r);
}
TEST(name_of_an_interpreted_function_is_lost)
{
	struct Program prog = {0};
	struct StackReader *r = stacks_create(&prog, NULL);
	CHECK_EQ(stacks_nameless(r), 0);
	CHECK_STR(stacks_function(r, RT_FRAME_LANG | 5), "[function whose name was lost]");
	CHECK_EQ(stacks_nameless(r), 1);
	stacks_destroy(r);
}

TEST(vdso)
{
	const char *bin = build("-fomit-frame-pointer", "test/workload/stacks.c", "vdso");
	if (!bin)
		SKIP("cannot compile the workload");
	sampled((char *[]){(char *)bin, "clock", NULL}, true, NULL, 1, "_start", NULL);
	unlink(bin);
}
TEST_RETRY(started_later, "a share of the first samples")
{
	const char *bin = build("-fomit-frame-pointer", "test/workload/stacks.c", "later");
	if (!bin)
		SKIP("cannot compile the workload");
	sampled((char *[]){(char *)bin, "spin", NULL}, false, NULL, 0.9, "_start", NULL); // the first milliseconds are counted, not guessed
	unlink(bin);
}
TEST_RETRY(library_loaded_later, "a share of the first samples")
{
	const char *bin = build("-fomit-frame-pointer", "test/workload/stacks.c", "dl"), *lib = build("-shared -fPIC", "test/workload/lib.c", "dl.so");
	if (!bin || !lib)
		SKIP("cannot compile the workload");
	sampled((char *[]){(char *)bin, "dlopen", (char *)lib, NULL}, true, "\n", 0.9, "_start", "spin");
	unlink(bin);
	unlink(lib);
}
// A frame in a file that was met before it was known: its object is found by what the kernel has of the file, and nothing else of the frame changes.
TEST(frame_of_a_file_known_later)
{
	LOAD("rt_ustack", PK_RAWTP, 0, false, getpid(), NULL);
	struct RtUwFile file = {.ino = 1ull << 60, .size = 3, .mtime = 4, .dev = 5};
	u32 slot = 6, other = 7, id = 8;
	u64 place = RT_FRAME_MAKE(RT_UW_NEW | slot, 0x1234), unknown = RT_FRAME_MAKE(RT_UW_NEW | other, 0x1234);
	CHECK(sys_map_update(program_map(&r.t.prog, "rt_uw_news")->fd, &slot, &file, 0) >= 0);
	CHECK_EQ(stacks_frame(&r.t.prog, place), place);
	CHECK(sys_map_update(program_map(&r.t.prog, "rt_uw_files")->fd, &file, &id, 0) >= 0);
	CHECK_EQ(stacks_frame(&r.t.prog, place), RT_FRAME_MAKE(id, 0x1234));
	CHECK_EQ(stacks_frame(&r.t.prog, place | RT_FRAME_EXACT), RT_FRAME_MAKE(id, 0x1234) | RT_FRAME_EXACT);
	CHECK_EQ(stacks_frame(&r.t.prog, unknown), unknown);
	sr_end(&r);
}
TEST(deleted_binary)
{
	const char *bin = build("-fomit-frame-pointer", "test/workload/stacks.c", "gone");
	char cmd[256];
	if (!bin)
		SKIP("cannot compile the workload");
	snprintf(cmd, sizeof(cmd), "(sleep 0.3; rm %s)&  exec %s spin", bin, bin);
	struct Child c = spawn((char *[]){"sh", "-c", cmd, NULL});
	CHECK(said(&c, 10000));
	for (int i = 0; i < 2000 && !access(bin, F_OK); i++)
		usleep(10000);
	CHECK(access(bin, F_OK) != 0);
	LOAD("rt_ustack", PK_PROFILE, 0, false, 0, NULL);
	track_settle(r.track, 0);
	CHECK(sr_profile(&r, 499));
	CHECK(worked(c.pid, 400));
	sr_detach(&r);
	all_match(&(struct Want){.r = &r, .user = true, .root = "_start", .tgid = c.pid});
	finish(&c);
	sr_end(&r);
}

// ---- what old kernels lack
static void old_kernel(enum ProbeKind kind)
{
	const char *bin = build("-fomit-frame-pointer", "test/workload/stacks.c", "old");
	static const enum Feature lacks[] = {FEAT_BPF_LOOP, FEAT_TASK_PT_REGS, FEAT_NO_PREALLOC};
	if (!bin)
		SKIP("cannot compile the workload");
	struct Child c = spawn((char *[]){(char *)bin, "walk", "40", NULL});
	CHECK(said(&c, 10000));
	for (u32 i = 0; i < ARRAY_LEN(lacks); i++)
		feature_set(lacks[i], false);
	LOAD("rt_ustack", kind, 0, false, c.pid, NULL);
	track_settle(r.track, 0);
	cpu_set_t one, all;
	CPU_ZERO(&one);
	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	for (int cpu = 0; !CPU_COUNT(&one) && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	CHECK(!sched_setaffinity(c.pid, sizeof(one), &one) && !sched_setaffinity(0, sizeof(one), &one)); // each of our wake-ups switches it out
	CHECK(kind == PK_PROFILE ? sr_profile(&r, 499) : sr_keep(&r, sys_raw_tracepoint_open("sched_switch", r.t.pp.fd), -1));
	for (int i = 0; i < 50; i++)
		usleep(10000);
	CHECK(!sched_setaffinity(0, sizeof(all), &all));
	sr_detach(&r);
	all_match(&(struct Want){.r = &r, .user = true, .root = "_start", .tgid = c.pid});
	for (u32 i = 0; i < ARRAY_LEN(lacks); i++)
		feature_set(lacks[i], true);
	finish(&c);
	unlink(bin);
	sr_end(&r);
}
TEST(old_kernel_samples)
{
	old_kernel(PK_PROFILE);
}
TEST(old_kernel_raw_tracepoint)
{
	old_kernel(PK_RAWTP);
}

// ---- many stacks
TEST(two_hundred_thousand_stacks)
{
	enum { N = 200000 };
	const char *bin = build("-fomit-frame-pointer", "test/workload/stacks.c", "paths");
	struct Child c[2];
	u64 ids = 0, events = 0;
	if (!bin)
		SKIP("cannot compile the workload");
	for (u32 i = 0; i < 2; i++) {
		c[i] = spawn((char *[]){(char *)bin, "paths", "200000", NULL});
		CHECK(said(&c[i], 10000));
	}
	LOAD("rt_ustack", PK_UPROBE, 0, false, 0, NULL);
	track_settle(r.track, 0);
	CHECK(sr_uprobe(&r, bin, symbol_off(r.syms, bin, "leaf"), false, 0));
	CHECK_EQ(write(c[0].in, "\n", 1), 1);
	CHECK(said(&c[0], 60000));
	CHECK_EQ(write(c[1].in, "\n", 1), 1); // another process of the same binary: the same stacks
	CHECK(said(&c[1], 60000));
	sr_detach(&r);
	struct StackKey k;
	u32 missing = 0, n, pid, flags, why;
	for (bool first = true; sys_map_next_key(r.counts->fd, first ? NULL : &k, &k) >= 0; first = false) {
		u64 v = 0;
		CHECK(sys_map_lookup(r.counts->fd, &k, &v) >= 0);
		events += v;
		if (k.pid_tgid >> 32 == (u64)c[0].pid) {
			ids++;
			missing += !stacks_raw(r.reader, k.id, true, &n, &pid, &flags, &why) || why || pid;
		}
	}
	struct RtCounters cnt = counters(&r);
	u64 stored = 0, key, next;
	const char *const names[] = RT_STACK_CLASS_NAMES;
	for (u32 i = 0; i < RT_STACK_CLASSES; i++) {
		int fd = program_map(&r.t.prog, names[i])->fd;
		for (bool first = true; sys_map_next_key(fd, first ? NULL : &key, &next) >= 0; first = false, stored++)
			key = next;
	}
	printf("# %llu events, %llu stacks in one process, %llu stored for both, %llu lost\n", (unsigned long long)events, (unsigned long long)ids,
	       (unsigned long long)stored, (unsigned long long)(cnt.stack_full + cnt.stack_collision));
	CHECK_EQ(cnt.stack_full + cnt.stack_collision + cnt.scratch_busy, 0);
	CHECK_EQ(events, 4 * N);
	CHECK_EQ(ids, N);
	CHECK_EQ(stored, N);
	CHECK_EQ(missing, 0);
	finish(&c[0]);
	finish(&c[1]);
	unlink(bin);
	sr_end(&r);
}

T_FEW("it takes every switch of the machine, or samples");
T_LONG("half a minute of storms");
T_MAIN()
