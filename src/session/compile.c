// The passes from checked unit to eBPF of every program, with the runtime linked in. In: s->unit. Out: s->prog.
// Invariant: what the IR's own checker refuses never reaches the kernel.
#include "base/base.h"
#include "lower/program.h"
#include "session/internal.h"
#include <linux/bpf.h>

static bool task_work(void)
{
	return feature_has(FEAT_TASK_WORK);
}

// Where nothing can be swapped out a thread's stack is there.
static bool cold_stacks(void)
{
	struct Str s = {0};
	err_free(read_file("/proc/swaps", &s, 1 << 16));
	const char *first = strchr(str_text(&s), '\n');
	bool any = first && first[1];
	str_deinit(&s);
	return any && task_work();
}

static bool task_memory(void)
{
	return feature_has(FEAT_TASK_MEMORY);
}

static bool has_uprobes(const struct Session *s)
{
	for (size_t i = 0; i < s->unit.probes.n; i++) {
		enum ProbeKind k = s->unit.probes.p[i]->point->kind;
		if (k == PK_UPROBE || k == PK_URETPROBE || k == PK_USDT)
			return true;
	}
	return false;
}

static struct LowerOpts lower_opts(struct Session *s)
{
	struct LowerOpts o = {
		.bpf_loop = feature_has(FEAT_BPF_LOOP),
		.for_each = feature_has(FEAT_FOR_EACH_MAP_ELEM),
		.percpu_lookup = feature_has(FEAT_MAP_LOOKUP_PERCPU),
		.task_memory = task_memory,
		.task_work = s->o->no_task_work ? NULL : task_work,
		.cold_stacks = s->o->no_task_work ? NULL : s->o->swap ? task_work : cold_stacks,
		.ktime_boot = feature_has(FEAT_KTIME_BOOT),
		.ktime_tai = feature_has(FEAT_KTIME_TAI),
		.jiffies64 = feature_has(FEAT_JIFFIES64),
		.func_ip = feature_has(FEAT_FUNC_IP),
		.no_prealloc = feature_has(FEAT_NO_PREALLOC),
		.sleepable_uprobes = has_uprobes(s) && !s->env.no_uprobe_multi && feature_has(FEAT_SLEEPABLE_UPROBES),
		.own_script = s->o->builtin,
		.takes = s->o->tool && s->o->tool->takes,
		.as_bpftrace = s->o->as_bpftrace,
		.ncpus = s->hooks.ncpus,
		.start_boot_ns = clock_ns(CLOCK_BOOTTIME),
		.tai_minus_boot = (s64)(clock_ns(CLOCK_TAI) - clock_ns(CLOCK_BOOTTIME)),
		.pid = s->o->pid,
	};
	own_pid_namespace(&o.ns_dev, &o.ns_ino);
	return o;
}

struct err *pass_lower(struct Session *s)
{
	struct LowerOpts lo = lower_opts(s);
	lower_program(&s->unit, &s->prog, &lo); // errors are diagnostics
	for (size_t i = 0; s->watch.made && i < s->prog.progs.n; i++)
		s->prog.progs.p[i]->ir.watch = &s->watch;
	return NULL;
}

static struct err *optimize(struct ProbeProg *pp)
{
	struct Str why = {0};
	if (!ir_verify(&pp->ir, &why)) {
		struct err *e = err_new("internal: the IR of %s is wrong: %s\nThis is a bug in sonde; please report it with the script.",
					pp->points.v.p[0]->name, str_text(&why));
		str_deinit(&why);
		return e;
	}
	ir_optimize(&pp->ir);
	return NULL;
}

struct err *pass_opt(struct Session *s)
{
	struct err *e = NULL;
	for (size_t i = 0; !e && i < s->prog.progs.n; i++)
		e = optimize(s->prog.progs.p[i]);
	return e;
}

struct err *pass_emit(struct Session *s)
{
	struct EmitOpts eo = {.has_v4 = feature_has(FEAT_V4_INSNS)};
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		struct err *e = ir_compile(&pp->ir, &eo, &pp->code);
		if (e)
			return err_wrap(e, "%s", pp->points.v.p[0]->name);
	}
	return NULL;
}

struct err *pass_join(struct Session *s)
{
	probes_join(&s->env, &s->prog);
	return NULL;
}

struct err *pass_link(struct Session *s)
{
	struct err *e = NULL;
	for (size_t i = 0; !e && i < s->prog.progs.n; i++)
		e = link_imports(&s->prog, &s->prog.progs.p[i]->code);
	for (size_t i = 0; !e && i < s->prog.progs.n; i++)
		e = link_runtime(&s->prog, &s->prog.progs.p[i]->code);
	return e;
}

// The maps are all there now; what is left is the ring buffer's size.
struct err *pass_maps(struct Session *s)
{
	struct MapDef *m = program_map(&s->prog, "sonde_events");
	if (!m)
		return NULL;
	u64 bytes = 128 << 10;
	for (size_t i = 0; i < s->prog.fmts.n; i++)
		if (s->prog.fmts.p[i]->kind != FK_STRFTIME && s->prog.fmts.p[i]->kind != FK_CGROUP_PATH)
			bytes = 1 << 20;
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		enum ProbeKind k = s->prog.progs.p[i]->kind;
		bool rare = k == PK_BEGIN || k == PK_END || k == PK_INTERVAL || k == PK_SELF;
		if (!rare && bytes >= 1 << 20)
			bytes = 4 << 20;
	}
	if (s->prog.config.perf_rb_pages) {
		u64 want = s->prog.config.perf_rb_pages * (u64)sysconf(_SC_PAGESIZE);
		for (bytes = 4096; bytes < want && bytes < 1u << 30; bytes *= 2)
			;
	}
	m->max_entries = (u32)bytes;
	return NULL;
}
