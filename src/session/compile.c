// Checked unit -> eBPF of every program, with the runtime linked in. In: s->unit. Out: s->prog, dumps on request.
// Invariant: what the IR's own checker refuses never reaches the kernel.
#include "ir/lower.h"
#include "session/state.h"
#include <linux/bpf.h>

static struct LowerOpts lower_opts(struct Session *s)
{
	struct LowerOpts o = {
		.bpf_loop = feature_has(FEAT_BPF_LOOP),
		.for_each = feature_has(FEAT_FOR_EACH_MAP_ELEM),
		.percpu_lookup = feature_has(FEAT_MAP_LOOKUP_PERCPU),
		.ktime_boot = feature_has(FEAT_KTIME_BOOT),
		.ktime_tai = feature_has(FEAT_KTIME_TAI),
		.jiffies64 = feature_has(FEAT_JIFFIES64),
		.func_ip = feature_has(FEAT_FUNC_IP),
		.no_prealloc = feature_has(FEAT_NO_PREALLOC),
		.ncpus = s->hooks.ncpus,
		.start_boot_ns = clock_ns(CLOCK_BOOTTIME),
		.tai_minus_boot = (s64)(clock_ns(CLOCK_TAI) - clock_ns(CLOCK_BOOTTIME)),
		.pid = s->o->pid,
	};
	own_pid_namespace(&o.ns_dev, &o.ns_ino);
	return o;
}

static struct err *back(struct Session *s, struct ProbeProg *pp)
{
	struct Str why = {0};
	struct EmitOpts eo = {.has_v4 = feature_has(FEAT_V4_INSNS)};
	if (!ir_verify(&pp->ir, &why)) {
		struct err *e = err_new("internal: the IR of %s is wrong: %s\nThis is a bug in sonde; please report it with the script.",
					pp->points.v.p[0]->name, str_text(&why));
		str_deinit(&why);
		return e;
	}
	ir_optimize(&pp->ir);
	struct err *e = ir_compile(&pp->ir, &eo, &pp->code);
	return e ? err_wrap(e, "%s", pp->points.v.p[0]->name) : NULL;
}

static void size_ring(struct Session *s)
{
	struct MapDef *m = program_map(&s->prog, "sonde_events");
	if (!m)
		return;
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
}

static void dump_maps(struct Session *s)
{
	for (size_t i = 0; i < s->prog.maps.n; i++) {
		struct MapDef *m = s->prog.maps.p[i];
		fprintf(s->out, "map %u %s: type %u key %u value %u max %u flags %#x", m->id, m->name, m->bpf_type, m->key_size, m->value_size,
			m->max_entries, m->flags);
		struct Str k = {0}, v = {0};
		if (m->key)
			ty_name(m->key, &k);
		if (m->val)
			ty_name(m->val, &v);
		if (m->user)
			fprintf(s->out, "  [%s] -> %s", str_text(&k), str_text(&v));
		fputc('\n', s->out);
		str_deinit(&k);
		str_deinit(&v);
	}
}

static void dump_prog(struct Session *s, struct ProbeProg *pp, u32 what)
{
	struct Str t = {0};
	if (what & DUMP_IR)
		ir_dump(&pp->ir, &t);
	if (what & DUMP_BPF)
		bpf_disasm(pp->code.insns.p, (u32)pp->code.insns.n, &t);
	fprintf(s->out, "; %s\n%s\n", pp->points.v.p[0]->name, str_text(&t));
	str_deinit(&t);
}

struct err *session_compile(struct Session *s)
{
	struct LowerOpts lo = lower_opts(s);
	if (!lower_program(&s->unit, &lo))
		return NULL; // diagnostics
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		if (s->o->dump & DUMP_IR)
			dump_prog(s, pp, DUMP_IR);
		struct err *e = back(s, pp);
		if (e)
			return e;
	}
	probes_join(&s->env, &s->prog);
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		struct err *e = link_runtime(&s->prog, &pp->code);
		if (e)
			return e;
		if (s->o->dump & DUMP_BPF)
			dump_prog(s, pp, DUMP_BPF);
	}
	size_ring(s);
	if (s->o->dump & DUMP_MAPS)
		dump_maps(s);
	return NULL;
}
