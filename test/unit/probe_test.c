// Providers: what attach points expand to, what wrong ones say, and that attached programs run. Programs are handmade: the compiler is not
// needed here. Only this process and its own events are traced; counts of system-wide events are lower bounds.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "probe/internal.h"
#include "t.h"

// ---- a process-wide fixture, made new for each case
struct Fix {
	struct Arena arena;
	struct Diags diags;
	struct TypeTab types;
	struct Config config;
	struct ProbeEnv env;
	struct PointList points;
};

static void fix_init(struct Fix *f)
{
	struct SymOpts so = {0};
	memset(f, 0, sizeof(*f));
	f->config.max_probes = 1024;
	typetab_init(&f->types, &f->arena);
	f->env = (struct ProbeEnv){.arena = &f->arena, .diags = &f->diags, .config = &f->config};
	f->env.ctypes = ctypes_create(&f->arena, &f->types, &f->diags);
	f->env.syms = syms_create(&so);
}

static void fix_deinit(struct Fix *f)
{
	vec_deinit(&f->points.v);
	probe_env_deinit(&f->env);
	syms_destroy(f->env.syms);
	ctypes_destroy(f->env.ctypes);
	typetab_deinit(&f->types);
	diags_deinit(&f->diags);
	arena_deinit(&f->arena);
}

// One attach point as the parser hands it over: parts split at ':' outside quotes.
static struct AttachSpec *spec(struct Fix *f, const char *text)
{
	struct AttachSpec *s = arena_new(&f->arena, struct AttachSpec);
	struct Str part = {0}, whole = {0};
	bool quoted = false;
	s->span = (struct Span){0, (u32)strlen(text), diags_add_source(&f->diags, "stdin", text, strlen(text))};
	s->parts = arena_new_n(&f->arena, const char *, 16);
	for (const char *c = text;; c++) {
		if (!*c || (*c == ':' && !quoted)) {
			s->parts[s->nparts++] = arena_strdup(&f->arena, str_text(&part));
			str_reset(&part);
		} else if (*c == '"')
			quoted = !quoted;
		else
			str_addc(&part, *c);
		if (!*c)
			break;
		if (*c != '"')
			str_addc(&whole, *c);
	}
	s->text = arena_strdup(&f->arena, str_text(&whole));
	str_deinit(&part);
	str_deinit(&whole);
	return s;
}

static size_t expand_using(struct Fix *f, const char *text, const char *ident)
{
	struct Expr e = {.kind = E_IDENT, .str = ident};
	struct Stmt st = {.kind = S_EXPR, .e = &e};
	struct ProbeAst p = {.points = spec(f, text), .body = &st};
	struct Script s = {.arena = &f->arena, .diags = &f->diags, .probes = &p};
	p.span = p.points->span;
	f->points.v.n = 0;
	probes_expand(&f->env, &s, &f->points);
	return f->points.v.n;
}

static size_t expand(struct Fix *f, const char *text)
{
	return expand_using(f, text, "pid");
}

// Everything the diagnostics say about one attach point, a line each, without the quoted source.
static char *complaint(const char *text, int pid)
{
	struct Fix f;
	struct Str s = {0};
	fix_init(&f);
	f.env.pid = pid;
	size_t n = expand(&f, text);
	if (n)
		str_addf(&s, "%zu points\n", n);
	for (size_t i = 0; i < f.diags.items.n; i++) {
		str_addf(&s, "%s\n", f.diags.items.p[i].msg);
		for (size_t h = 0; h < f.diags.items.p[i].hints.n; h++)
			str_addf(&s, "HINT %s\n", f.diags.items.p[i].hints.p[h]);
	}
	fix_deinit(&f);
	return s.p ? s.p : xstrdup("");
}

#define COMPLAINS(text, want)                                                                                          \
	do {                                                                                                           \
		char *t_c = complaint(text, 0);                                                                        \
		CHECK_STR(t_c, want);                                                                                  \
		free(t_c);                                                                                             \
	} while (0)

// ---- programs: a counter in an array map, and the order in which programs ran
#define SLOTS 16
struct Counter {
	int map;
	u64 *slots; // [0] counts runs of all, [k] is 1 + the number of runs before program k's last one
};

static void counter_init(struct Counter *c)
{
	struct SysMap m = {.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = SLOTS * 8, .max_entries = 1, .flags = BPF_F_MMAPABLE, .name = "counter"};
	c->map = sys_map_create(&m);
	CHECK(c->map >= 0);
	c->slots = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, c->map, 0);
	CHECK(c->slots != MAP_FAILED);
}

static void counter_deinit(struct Counter *c)
{
	munmap(c->slots, 4096);
	close(c->map);
}

#define INSN(c, d, s, o, i) ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define INSN_MAX 12
// slots[k] = fetch_add(&slots[0], 1) + 1; return ret. slot 0: count only.
static u32 counting_insns(struct bpf_insn *p, int map, int slot, int ret)
{
	u32 n = 0;
	p[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_VALUE, 0, map);
	p[n++] = INSN(0, 0, 0, 0, 0);
	p[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 1);
	p[n++] = INSN(BPF_STX | BPF_DW | BPF_ATOMIC, 1, 2, 0, BPF_ADD | BPF_FETCH);
	p[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, 1);
	if (slot)
		p[n++] = INSN(BPF_STX | BPF_DW | BPF_MEM, 1, 2, (s16)(slot * 8), 0);
	p[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, ret);
	p[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return n;
}

static int load_counting(struct Fix *f, struct ProbeProg *pp, const struct Counter *c, int slot, int ret)
{
	struct bpf_insn insns[INSN_MAX];
	static char log[65536];
	struct SysProg sp = {.license = "Dual BSD/GPL", .name = "test"};
	sp.ninsns = counting_insns(insns, c->map, slot, ret);
	sp.insns = (const void *)insns;
	probe_load_params(&f->env, pp, &sp);
	pp->fd = sys_prog_load(&sp);
	if (pp->fd < 0) {
		sp.log = log;
		sp.log_size = sizeof(log);
		sp.log_level = 1;
		sys_prog_load(&sp);
		T_FAIL("load: %s %s", strerror(-pp->fd), log);
	}
	return pp->fd;
}

// Expands text, loads one counting program for all its points and attaches it. NULL when something failed (said).
static struct Attachments *run(struct Fix *f, struct ProbeProg *pp, const struct Counter *c, const char *text, u64 *n)
{
	struct Program prog = {.arena = &f->arena, .diags = &f->diags};
	struct Attachments *at = attachments_create();
	*pp = (struct ProbeProg){.fd = -1};
	if (!expand(f, text)) {
		for (size_t i = 0; i < f->diags.items.n; i++)
			T_FAIL("%s: %s", text, f->diags.items.p[i].msg);
		return at;
	}
	pp->kind = f->points.v.p[0]->kind;
	pp->points = f->points;
	if (load_counting(f, pp, c, 1, 0) < 0)
		return at;
	vec_push(&prog.progs, pp);
	struct err *e = probes_attach(&f->env, &prog, at, n);
	if (e)
		T_FAIL("%s: %s", text, err_text(e));
	err_free(e);
	vec_deinit(&prog.progs);
	return at;
}

__attribute__((noinline, noclone)) int probe_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}
__attribute__((noinline, noclone)) int probe_target_two(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}
// A USDT probe as sys/sdt.h lays it out, by hand: provider sonde, name hit, arguments 4@x and 8@$7, with a semaphore.
__attribute__((section(".probes"), used)) volatile unsigned short sonde_hit_semaphore;
#if defined(__x86_64__)
#define ARG0 "-4@%[x] 8@$7 2@sonde_hit_semaphore(%%rip)"
#else
#define ARG0 "-4@%w[x] 8@7"
#endif
__attribute__((noinline, noclone)) void usdt_target(int x)
{
	__asm__ volatile("990:	nop\n"
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte sonde_hit_semaphore\n"
			 ".asciz \"sonde\"\n.asciz \"hit\"\n.asciz \"" ARG0 "\"\n"
			 "994: .balign 4\n.popsection\n"
			 ".ifndef _.stapsdt.base\n"
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n"
			 :
			 : [x] "r"(x));
}

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
	name_of("u:/proc/self/exe:probe_target", "uprobe:/proc/self/exe:probe_target");
	name_of("u:/proc/self/exe:probe_target+4", "uprobe:/proc/self/exe:probe_target+4");
	name_of("uretprobe:/proc/self/exe:probe_target", "uretprobe:/proc/self/exe:probe_target");
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
	CHECK_EQ(expand(&f, "uprobe:/proc/self/exe:probe_target*"), 2);
	CHECK_STR(f.points.v.p[0]->name, "uprobe:/proc/self/exe:probe_target");
	CHECK_STR(f.points.v.p[1]->name, "uprobe:/proc/self/exe:probe_target_two");
	CHECK(expand(&f, "rt:sched_sw*") >= 1);
	CHECK(expand(&f, "trace*:sched:sched_switch") == 1);
	CHECK_EQ(f.diags.nerrors, 0);
	f.env.pid = getpid();
	CHECK_EQ(expand(&f, "uprobe:probe_target"), 1); // the binary of -p
	CHECK_EQ(expand(&f, "uprobe:*:probe_target"), 1);
	CHECK_EQ(f.points.v.p[0]->pid, getpid());
	CHECK_EQ(expand(&f, "usdt:hit"), 1);
	CHECK_EQ(expand(&f, "usdt:*:hit"), 1);
	CHECK_EQ(f.points.v.p[0]->pid, getpid());
	CHECK_EQ(f.diags.nerrors, 0);
	fix_deinit(&f);
}

TEST(errors)
{
	COMPLAINS("tracepoint:sched:sched_swich", "no tracepoint sched:sched_swich in this kernel\nHINT did you mean 'tracepoint:sched:sched_switch'?\n");
	COMPLAINS("t:sced:sched_switch", "no tracepoint sced:sched_switch in this kernel\nHINT did you mean 'tracepoint:sched:sched_switch'?\n");
	COMPLAINS("t:sched_switch", "a tracepoint is named by category and event\nHINT did you mean 'tracepoint:sched:sched_switch'?\n");
	COMPLAINS("t:../..:sched_switch", "no tracepoint ../..:sched_switch in this kernel\nHINT did you mean 'tracepoint:sched:sched_switch'?\n");
	COMPLAINS("t:a:b:c", "tracepoint takes 2 parts after its name, found 3\nHINT the form is tracepoint:category:event\n");
	COMPLAINS("t:sched:nosuch*", "no tracepoint matches sched:nosuch*\n");
	COMPLAINS("rt:sched_swich", "no raw tracepoint 'sched_swich' in this kernel\nHINT did you mean 'rawtracepoint:sched_switch'?\n");
	COMPLAINS("trakepoint:a:b", "unknown probe type 'trakepoint'\nHINT did you mean 'tracepoint'?\n");
	COMPLAINS("interval:s:0", "'0' is no positive number in range\nHINT the form is interval:us|ms|s|hz:n or interval:1s\n");
	COMPLAINS("interval:s:-1", "'-1' is no positive number in range\nHINT the form is interval:us|ms|s|hz:n or interval:1s\n");
	COMPLAINS("interval:s:99999999999", "'99999999999' is no positive number in range\nHINT the form is interval:us|ms|s|hz:n or interval:1s\n");
	COMPLAINS("interval:min:1", "'min' is no unit of time\nHINT the form is interval:us|ms|s|hz:n or interval:1s\n");
	COMPLAINS("profile:99", "99 nanoseconds are too short for profile: at least 1us\nHINT for a frequency write profile:hz:99\n");
	COMPLAINS("profile:1x", "'1x' is no duration\nHINT the form is profile:us|ms|s|hz:n or profile:10ms\n");
	COMPLAINS("software:fauls", "'fauls' is no software event\nHINT did you mean 'software:faults'?\n");
	COMPLAINS("software:*", "software takes no pattern: name one event\nHINT list them with -l 'software:*'\n");
	COMPLAINS("software:faults:x", "'x' is no positive count for software\n");
	COMPLAINS("begin:x", "begin takes 0 parts after its name, found 1\nHINT the form is begin\n");
	COMPLAINS("self:signal:SIGKILL", "'SIGKILL' is no signal that self can wait for\nHINT use SIGUSR1\n");
	COMPLAINS("self:timer:x", "self knows no trigger 'timer'\nHINT did you mean 'self:signal:SIGUSR1'?\n");
	COMPLAINS("u:/proc/self/exe:probe_targett",
		  "no function 'probe_targett' in /proc/self/exe\nHINT did you mean 'u:/proc/self/exe:probe_target'?\n");
	COMPLAINS("u:/proc/self/exe:probe_target+9999", NULL);
	COMPLAINS("ur:/proc/self/exe:probe_target+4", "uretprobe cannot be attached at an offset: a function returns as a whole\n");
	COMPLAINS("u:/proc/self/exe:probe_target+x", "'x' is no offset: a number follows the +, e.g. probe_target+0x10\n");
	COMPLAINS("u:/proc/self/exe:0x7fffffffffff", "address 0x7fffffffffff is in no code of /proc/self/exe\n");
	COMPLAINS("u:/proc/self/exe:java:x",
		  "unknown language 'java' between binary and function\nHINT the form is uprobe:binary:[cpp:]function[+offset] or uprobe:binary:address\n");
	COMPLAINS("usdt:/proc/self/exe:hitt", "no USDT probe hitt in /proc/self/exe\nHINT did you mean 'usdt:/proc/self/exe:sonde:hit'?\n");
	COMPLAINS("w:0:8:w", "a watchpoint needs an address other than 0\n");
	COMPLAINS("w:0x1000:3:w", "a watchpoint is 1, 2, 4 or 8 bytes long, not '3'\n");
	COMPLAINS("w:x+arg1:4:w", "the function form watches one process: give -p PID or -c COMMAND\n");
}

TEST(missing_probes_setting)
{
	struct Fix f;
	fix_init(&f);
	f.config.missing_probes = MISSING_WARN;
	CHECK_EQ(expand(&f, "t:sched:nosuch"), 0);
	CHECK_EQ(f.diags.nerrors, 0);
	CHECK_EQ(f.diags.items.n, 1);
	CHECK_STR(f.diags.items.p[0].msg, "no tracepoint sched:nosuch in this kernel; skipped");
	f.config.missing_probes = MISSING_IGNORE;
	CHECK_EQ(expand(&f, "uprobe:/proc/self/exe:nosuch"), 0);
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
		CHECK(strstr(f.diags.items.p[0].msg, "more than 5 probes: tracepoint:syscalls:") != NULL);
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
		{"uprobe:/proc/self/exe:probe_target*", "uprobe:/proc/self/exe:probe_target\nuprobe:/proc/self/exe:probe_target_two\n"},
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
	CHECK(!strncmp(got, "tracepoint:sched:sched_process_exit\n    char comm[16]\n    pid_t pid\n    int prio\n", 80));
	free(got);
}
