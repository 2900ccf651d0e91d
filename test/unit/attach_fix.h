// Attaching in tests: handmade programs that count, and checks that they run, stop and keep their order.
#ifndef ATTACH_FIX_H
#define ATTACH_FIX_H
#include <sys/mman.h>
#include "probe_fix.h"

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

// ---- each kind: attach, cause events, count, detach, cause more: no more counted
struct Kind {
	const char *text;
	void (*cause)(void);
	u64 least, most; // runs; most 0: no bound
	u64 points;
};

static void check_kind(const struct Kind *k, int pid)
{
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp;
	u64 n = 0;
	fix_init(&f);
	f.env.pid = pid;
	counter_init(&c);
	struct Attachments *at = run(&f, &pp, &c, k->text, &n);
	CHECK_EQ(n, k->points);
	k->cause();
	u64 got = __atomic_load_n(&c.slots[0], __ATOMIC_RELAXED);
	if (got < k->least || (k->most && got > k->most))
		T_FAIL("%s ran %llu times, expected %llu to %llu", k->text, (unsigned long long)got, (unsigned long long)k->least,
		       (unsigned long long)k->most);
	attachments_destroy(at);
	got = __atomic_load_n(&c.slots[0], __ATOMIC_RELAXED);
	k->cause();
	CHECK_EQ(__atomic_load_n(&c.slots[0], __ATOMIC_RELAXED), got); // detached
	close(pp.fd);
	counter_deinit(&c);
	fix_deinit(&f);
}

// Several probes on one event run in the order of the script.
static void check_order(const char *text, void (*cause)(void), u32 nprogs)
{
	struct Fix f;
	struct Counter c;
	struct Program prog = {0};
	struct ProbeProg pp[SLOTS];
	u64 n;
	fix_init(&f);
	counter_init(&c);
	for (u32 i = 0; i < nprogs; i++) {
		pp[i] = (struct ProbeProg){.fd = -1};
		f.points = (struct PointList){0};
		if (expand(&f, text) != 1) {
			T_FAIL("%s: %zu points", text, f.points.v.n);
			return;
		}
		pp[i].kind = f.points.v.p[0]->kind;
		pp[i].points = f.points;
		load_counting(&f, &pp[i], &c, (int)i + 1, 0);
		vec_push(&prog.progs, &pp[i]);
	}
	struct Attachments *at = attachments_create();
	struct err *e = probes_attach(&f.env, &prog, at, &n);
	if (e)
		T_FAIL("%s", err_text(e));
	err_free(e);
	CHECK_EQ(n, nprogs);
	cause();
	attachments_destroy(at);
	for (u32 i = 0; i < nprogs; i++)
		if (!c.slots[i + 1] || (i && c.slots[i + 1] != c.slots[i] + 1))
			T_FAIL("%s: program %u ran as number %llu, the one before as %llu", text, i + 1, (unsigned long long)c.slots[i + 1],
			       (unsigned long long)c.slots[i]);
	for (u32 i = 0; i < nprogs; i++) {
		close(pp[i].fd);
		vec_deinit(&pp[i].points.v);
	}
	f.points = (struct PointList){0};
	vec_deinit(&prog.progs);
	counter_deinit(&c);
	fix_deinit(&f);
}

#endif
