// Providers: what attach points expand to, what wrong ones say, what -l prints.
#include <signal.h>
#include "probe_fix.h"

// ---- names
TEST(provider_names)
{
	static const struct {
		const char *name;
		enum ProbeKind kind;
	} t[] = {{"BEGIN", PK_BEGIN}, {"begin", PK_BEGIN}, {"End", PK_END}, {"k", PK_KPROBE}, {"kr", PK_KRETPROBE}, {"f", PK_FENTRY}, {"fr", PK_FEXIT},
		 {"kfunc", PK_FENTRY}, {"kretfunc", PK_FEXIT}, {"t", PK_TRACEPOINT}, {"rt", PK_RAWTP}, {"u", PK_UPROBE}, {"ur", PK_URETPROBE},
		 {"U", PK_USDT}, {"p", PK_PROFILE}, {"i", PK_INTERVAL}, {"s", PK_SOFTWARE}, {"h", PK_HARDWARE}, {"w", PK_WATCHPOINT},
		 {"aw", PK_ASYNCWATCHPOINT}, {"it", PK_ITER}, {"self", PK_SELF}, {"test", PK_TEST}, {"bench", PK_BENCH}, {"Tracepoint", PK_TRACEPOINT},
		 {"k*e", PK_KPROBE}};
	for (u32 i = 0; i < ARRAY_LEN(t); i++) {
		const struct Provider *p = provider_find(t[i].name);
		CHECK(p != NULL);
		if (p)
			CHECK_EQ(p->kind, t[i].kind);
	}
	CHECK(!provider_find("T"));
	CHECK(!provider_find("kprob"));
	for (u32 i = 0; i < nproviders; i++)
		CHECK_STR(providers[i].name, probe_kind_name(providers[i].kind));
}

static void name_of(const char *text, const char *want)
{
	struct Fix f;
	fix_init(&f);
	size_t n = expand(&f, text);
	CHECK_EQ(n, 1);
	if (n == 1)
		CHECK_STR(f.points.v.p[0]->name, want);
	for (size_t i = 0; i < f.diags.items.n; i++)
		T_FAIL("%s: %s", text, f.diags.items.p[i].msg);
	fix_deinit(&f);
}

TEST(point_names)
{
	name_of("BEGIN", "begin");
	name_of("end", "end");
	name_of("self:signal:SIGUSR1", "self:signal:SIGUSR1");
	name_of("test:one", "test:one");
	name_of("bench:one", "bench:one");
	name_of("t:sched:sched_switch", "tracepoint:sched:sched_switch");
	name_of("rt:sched_switch", "rawtracepoint:vmlinux:sched_switch");
	name_of("rawtracepoint:vmlinux:sched_switch", "rawtracepoint:vmlinux:sched_switch");
	name_of("profile:hz:99", "profile:hz:99");
	name_of("i:s:1", "interval:s:1");
	name_of("interval:1s", "interval:us:1000000");
	name_of("profile:10ms", "profile:us:10000");
	name_of("interval:1_000_000", "interval:us:1000");
	name_of("s:faults:100", "software:faults:100");
	name_of("software:page-faults:", "software:page-faults");
	name_of("h:cache-misses:1e6", "hardware:cache-misses:1000000");
	name_of("w:0x1000:8:wr", "watchpoint:4096:8:rw");
	name_of("u:/proc/self/exe:traced", "uprobe:/proc/self/exe:traced");
	name_of("u:/proc/self/exe:traced+4", "uprobe:/proc/self/exe:traced+4");
	name_of("uretprobe:/proc/self/exe:traced", "uretprobe:/proc/self/exe:traced");
	name_of("usdt:/proc/self/exe:sonde:hit", "usdt:/proc/self/exe:sonde:hit");
	name_of("U:/proc/self/exe:hit", "usdt:/proc/self/exe:sonde:hit");
}

TEST(point_fields)
{
	struct Fix f;
	fix_init(&f);
	CHECK_EQ(expand(&f, "software:faults"), 1);
	CHECK_EQ(f.points.v.p[0]->rate, 100); // bpftrace's default
	CHECK_EQ(f.points.v.p[0]->perf_config, PERF_COUNT_SW_PAGE_FAULTS);
	CHECK_EQ(expand(&f, "hardware:branches"), 1);
	CHECK_EQ(f.points.v.p[0]->rate, 100000);
	CHECK_EQ(f.points.v.p[0]->perf_type, PERF_TYPE_HARDWARE);
	CHECK_EQ(expand(&f, "profile:ms:10"), 1);
	CHECK_EQ(f.points.v.p[0]->rate, 10000000);
	CHECK(!f.points.v.p[0]->is_hz);
	CHECK_EQ(f.points.v.p[0]->ctx, CTX_PERF);
	CHECK_EQ(expand(&f, "interval:hz:50"), 1);
	CHECK(f.points.v.p[0]->is_hz);
	CHECK_EQ(f.points.v.p[0]->ctx, CTX_NONE);
	CHECK_EQ(expand(&f, "self:signal:SIGUSR1"), 1);
	CHECK_EQ(f.points.v.p[0]->sig, SIGUSR1);
	CHECK_EQ(expand_using(&f, "t:sched:sched_switch", "args"), 1);
	CHECK(f.points.v.p[0]->args != NULL);
	CHECK_EQ(expand(&f, "t:sched:sched_switch"), 1);
	CHECK(f.points.v.p[0]->args == NULL); // not read when the action does not ask
	CHECK_EQ(expand(&f, "w:0x1000:4:w"), 1);
	CHECK_EQ(f.points.v.p[0]->addr, 0x1000);
	CHECK_EQ(f.points.v.p[0]->wp_len, 4);
	CHECK_EQ(f.points.v.p[0]->wp_arg, -1);
	f.env.pid = getpid();
	CHECK_EQ(expand(&f, "w:increment+arg1:4:w"), 1);
	CHECK_EQ(f.points.v.p[0]->wp_arg, 1);
	CHECK_STR(f.points.v.p[0]->event, "increment");
	fix_deinit(&f);
}

TEST(patterns)
{
	struct Fix f;
	fix_init(&f);
	CHECK(expand(&f, "tracepoint:sched:sched_*") >= 10);
	CHECK(expand(&f, "tracepoint:sched:sched_switch*") >= 1);
	CHECK(expand(&f, "t:*sched_switch") >= 1);
	CHECK(expand(&f, "t:syscalls:sys_enter_open*") >= 2);
	CHECK_EQ(expand(&f, "uprobe:/proc/self/exe:traced*"), 2);
	CHECK_STR(f.points.v.p[0]->name, "uprobe:/proc/self/exe:traced");
	CHECK_STR(f.points.v.p[1]->name, "uprobe:/proc/self/exe:traced_two");
	CHECK(expand(&f, "rt:sched_sw*") >= 1);
	CHECK(expand(&f, "trace*:sched:sched_switch") == 1);
	CHECK_EQ(f.diags.nerrors, 0);
	f.env.pid = getpid();
	CHECK_EQ(expand(&f, "uprobe:traced"), 1); // the binary of -p
	CHECK_EQ(expand(&f, "uprobe:*:traced"), 1);
	CHECK_EQ(f.points.v.p[0]->pid, getpid());
	CHECK_EQ(expand(&f, "usdt:hit"), 1);
	CHECK_EQ(expand(&f, "usdt:*:hit"), 1);
	CHECK_EQ(f.points.v.p[0]->pid, getpid());
	CHECK_EQ(f.diags.nerrors, 0);
	fix_deinit(&f);
}

TEST(errors)
{
	COMPLAINS("tracepoint:sched:sched_swich", "No matches for tracepoint sched:sched_swich.\nHINT no tracepoint sched:sched_swich in this kernel\nHINT did you mean 'tracepoint:sched:sched_switch'?\n");
	COMPLAINS("t:sced:sched_switch", "No matches for tracepoint sced:sched_switch.\nHINT no tracepoint sced:sched_switch in this kernel\nHINT did you mean 'tracepoint:sched:sched_switch'?\n");
	COMPLAINS("t:sched_switch", "tracepoint probe type requires 2 arguments, found 1\nHINT the form is tracepoint:category:event\nHINT did you mean 'tracepoint:sched:sched_switch'?\n");
	COMPLAINS("t:../..:sched_switch", "No matches for tracepoint ../..:sched_switch.\nHINT no tracepoint ../..:sched_switch in this kernel\nHINT did you mean 'tracepoint:sched:sched_switch'?\n");
	COMPLAINS("t:a:b:c", "tracepoint probe type requires 2 arguments, found 3\nHINT the form is tracepoint:category:event\n");
	COMPLAINS("t:sched:nosuch*", "Probe has no valid attach points. If this is expected, set the 'missing_probes' config variable to 'warn'.\nHINT no tracepoint matches sched:nosuch*\n");
	COMPLAINS("rt:sched_swich", "No matches for rawtracepoint sched_swich.\nHINT no raw tracepoint 'sched_swich' in this kernel\nHINT did you mean 'rawtracepoint:sched_switch'?\n");
	COMPLAINS("trakepoint:a:b", "Invalid probe type: trakepoint\nHINT did you mean 'tracepoint'?\n");
	COMPLAINS("interval:s:0", "interval frequency should be a positive integer\nHINT the form is interval:us|ms|s|hz:n or interval:1s\n");
	COMPLAINS("interval:s:-1", "interval frequency should be a positive integer\nHINT the form is interval:us|ms|s|hz:n or interval:1s\n");
	COMPLAINS("interval:s:99999999999", "interval frequency should be a positive integer\nHINT the form is interval:us|ms|s|hz:n or interval:1s\n");
	COMPLAINS("interval:min:1", "min is not an accepted unit of time\nHINT the form is interval:us|ms|s|hz:n or interval:1s\n");
	COMPLAINS("profile:99", "Invalid rate of profile probe. Minimum is 1000 or 1us. Found: 99 nanoseconds\nHINT for a frequency write profile:hz:99\n");
	COMPLAINS("profile:1x", "Invalid rate of profile probe: invalid trailing bytes: 1x\nHINT the form is profile:us|ms|s|hz:n or profile:10ms\n");
	COMPLAINS("software:fauls", "fauls is not a software probe\nHINT did you mean 'software:faults'?\n");
	COMPLAINS("software:*", "wildcards are not allowed for software probe type\nHINT list them with -l 'software:*'\n");
	COMPLAINS("software:faults:x", "Invalid count for software probe: invalid integer: x\n");
	COMPLAINS("begin:x", "begin probe type requires 0 arguments, found 1\nHINT the form is begin\n");
	COMPLAINS("self:signal:SIGKILL", "SIGKILL is not a supported signal\nHINT use SIGUSR1\n");
	COMPLAINS("self:timer:x", "timer is not a supported trigger\nHINT did you mean 'self:signal:SIGUSR1'?\n");
	COMPLAINS("u:/proc/self/exe:tracedd", "No matches for uprobe /proc/self/exe:tracedd.\nHINT no function 'tracedd' in /proc/self/exe\nHINT did you mean 'u:/proc/self/exe:traced'?\n");
	COMPLAINS("ur:/proc/self/exe:traced+4", "Offset not allowed\nHINT uretprobe: a function returns as a whole\n");
	COMPLAINS("u:/proc/self/exe:traced+x", "Invalid offset: invalid integer: x\nHINT a number follows the +, e.g. traced+0x10\n");
	COMPLAINS("u:/proc/self/exe:0x7fffffffffff", "No matches for uprobe /proc/self/exe:0x7fffffffffff.\nHINT address 0x7fffffffffff is in no code of /proc/self/exe\n");
	COMPLAINS("u:/proc/self/exe:java:x", "unsupported language type: java\nHINT the form is uprobe:binary:[cpp:]function[+offset], uprobe:binary:address or uprobe:binary@file:line[:column]\n");
	COMPLAINS("usdt:/proc/self/exe:hitt", "No matches for usdt /proc/self/exe:hitt.\nHINT no USDT probe hitt in /proc/self/exe\nHINT did you mean 'usdt:/proc/self/exe:sonde:hit'?\n");
	COMPLAINS("w:0:8:w", "watchpoint must be attached to a non-zero address\n");
	COMPLAINS("w:0x1000:3:w", "watchpoint length must be one of (1,2,4,8)\n");
	COMPLAINS("w:x+arg1:4:w", "the function form watches one process: give -p PID or -c COMMAND\n");
}

TEST(offset_outside)
{
	char *got = complaint("u:/proc/self/exe:traced+9999", 0, false);
	CHECK(strstr(got, "Offset outside the function bounds ('traced' size is "));
	free(got);
}

TEST(missing_probes_setting)
{
	struct Fix f;
	fix_init(&f);
	f.config.missing_probes = MISSING_WARN;
	CHECK_EQ(expand(&f, "t:sched:nosuch"), 1);
	CHECK(f.points.v.p[0]->absent); // stands for none, so that the action is checked
	CHECK_EQ(f.diags.nerrors, 0);
	CHECK_EQ(f.diags.items.n, 1);
	CHECK_STR(f.diags.items.p[0].msg, "No matches for tracepoint sched:nosuch. Skipping.");
	f.config.missing_probes = MISSING_IGNORE;
	CHECK_EQ(expand(&f, "uprobe:/proc/self/exe:nosuch"), 1);
	CHECK(f.points.v.p[0]->absent);
	CHECK_EQ(f.diags.items.n, 1);
	fix_deinit(&f);
}

TEST(max_probes)
{
	struct Fix f;
	fix_init(&f);
	f.config.max_probes = 5;
	CHECK_EQ(expand(&f, "t:syscalls:*"), 5);
	CHECK_EQ(f.diags.nerrors, 1);
	if (f.diags.nerrors) {
		CHECK(strstr(f.diags.items.p[0].msg, "it exceeds the current limit of 5 probes") != NULL);
		CHECK(strstr(f.diags.items.p[0].hints.p[0], "max_probes") != NULL);
	}
	fix_deinit(&f);
}

TEST(libraries_and_paths)
{
	struct Fix f;
	fix_init(&f);
	CHECK(expand(&f, "uprobe:libc:malloc") >= 1);
	CHECK(strstr(f.points.v.p[0]->target, "/libc.so.6") != NULL);
	CHECK_EQ(expand(&f, "uprobe:libc.so.6:malloc"), f.points.v.n);
	CHECK(expand(&f, "uprobe:/lib*/x86_64-linux-gnu/libc.so.[6]:malloc") >= 1 || expand(&f, "uprobe:/lib*/aarch64-linux-gnu/libc.so.[6]:malloc") >= 1);
	CHECK_EQ(expand(&f, "uprobe:/no/such/file:main"), 0);
	CHECK_EQ(expand(&f, "uprobe:/etc/passwd:main"), 0);
	CHECK_EQ(f.diags.nerrors, PT_HOST == PT_X86_64 ? 2 : 3);
	fix_deinit(&f);
}

// ---- listing
static char *listing(const char *pattern, bool verbose, u32 *n)
{
	struct Fix f;
	char *text = NULL;
	size_t len;
	fix_init(&f);
	FILE *out = open_memstream(&text, &len);
	*n = probes_list(&f.env, spec(&f, pattern), verbose, out);
	fclose(out);
	fix_deinit(&f);
	return text;
}

TEST(list_forms)
{
	static const struct {
		const char *pattern, *want;
	} t[] = {
		{"software:*", "software:alignment-faults:\nsoftware:bpf-output:\nsoftware:context-switches:\nsoftware:cpu-clock:\nsoftware:cpu-migrations:\n"
			       "software:cpu:\nsoftware:cs:\nsoftware:dummy:\nsoftware:emulation-faults:\nsoftware:faults:\nsoftware:major-faults:\n"
			       "software:minor-faults:\nsoftware:page-faults:\nsoftware:task-clock:\n"},
		{"profile:*", "profile:hz:\nprofile:ms:\nprofile:s:\nprofile:us:\n"},
		{"interval:*", "interval:hz:\ninterval:ms:\ninterval:s:\ninterval:us:\n"},
		{"hardware:*cycles", "hardware:bus-cycles:\nhardware:cpu-cycles:\nhardware:cycles:\nhardware:ref-cycles:\n"},
		{"tracepoint:sched:sched_switch", "tracepoint:sched:sched_switch\n"},
		{"t:sched_switc*", "tracepoint:sched:sched_switch\n"},
		{"uprobe:/proc/self/exe:traced*", "uprobe:/proc/self/exe:traced\nuprobe:/proc/self/exe:traced_two\n"},
		{"usdt:/proc/self/exe:*", "usdt:/proc/self/exe:sonde:hit\n"},
		{"begin", "begin\n"},
	};
	for (u32 i = 0; i < ARRAY_LEN(t); i++) {
		u32 n;
		char *got = listing(t[i].pattern, false, &n);
		CHECK_STR(got, t[i].want);
		free(got);
	}
}

TEST(list_without_provider)
{
	u32 n;
	char *got = listing("*sched_switch", false, &n);
	CHECK(strstr(got, "tracepoint:sched:sched_switch\n") != NULL);
	CHECK(strstr(got, "rawtracepoint:vmlinux:sched_switch\n") != NULL);
	free(got);
}

TEST(list_arguments)
{
	u32 n;
	char *got = listing("tracepoint:sched:sched_process_exit", true, &n);
	CHECK_EQ(n, 1);
	static const char want[] = "tracepoint:sched:sched_process_exit\n    char comm[16]\n    pid_t pid\n    int prio\n";
	if (strncmp(got, want, sizeof(want) - 1))
		T_FAIL("%s", got);
	free(got);
}

T_MAIN()
