// Programs into the kernel. Input: programs whose code is linked, maps that are loaded; output: descriptors in ProbeProg.fd.
// Invariant: the first attempt asks for no log and carries only what the kernel needs; a rejected program is loaded again with line info and a log, from
// which vlog.c makes the error.
#include "bpf/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>

struct Fds { // for SysProg.fd_array: [0] is not used (offset 0 means vmlinux)
	VEC(int) v;
};

static struct err *patch_kfunc(struct ProbeProg *pp, const struct Reloc *r, const struct LoadOpts *o, struct Fds *fds)
{
	u32 id = 0;
	int btf_fd = 0;
	if (!o || !o->kfunc || !o->kfunc(o->arg, r->name, &id, &btf_fd))
		return err_new("this kernel has no function %s that BPF programs may call", r->name);
	struct BpfInsn *in = &pp->code.insns.p[r->insn];
	in->regs = BPF_PSEUDO_KFUNC_CALL << 4;
	in->imm = (s32)id;
	in->off = 0;
	if (btf_fd > 0) {
		size_t k = 1;
		if (!fds->v.n)
			vec_push(&fds->v, 0);
		while (k < fds->v.n && fds->v.p[k] != btf_fd)
			k++;
		if (k == fds->v.n)
			vec_push(&fds->v, btf_fd);
		in->off = (s16)k;
	}
	return NULL;
}

static struct err *patch(struct Program *p, struct ProbeProg *pp, const struct LoadOpts *o, struct Fds *fds)
{
	for (size_t i = 0; i < pp->code.relocs.n; i++) {
		const struct Reloc *r = &pp->code.relocs.p[i];
		struct BpfInsn *in = &pp->code.insns.p[r->insn];
		switch (r->kind) {
		case REL_MAPFD:
		case REL_MAPVAL:
			assert(in->code == (BPF_LD | BPF_IMM | BPF_DW) && r->id < p->maps.n && p->maps.p[r->id]->fd >= 0);
			in[0].regs = (u8)((in[0].regs & 0xf) | (r->kind == REL_MAPFD ? BPF_PSEUDO_MAP_FD : BPF_PSEUDO_MAP_VALUE) << 4);
			in[0].imm = p->maps.p[r->id]->fd;
			in[1].imm = r->kind == REL_MAPFD ? 0 : (s32)r->addend;
			break;
		case REL_KFUNC: {
			struct err *e = patch_kfunc(pp, r, o, fds);
			if (e)
				return e;
			break;
		}
		case REL_FUNC: // emit resolved it
			break;
		case REL_RT:
			UNREACHABLE(); // link_runtime must have run
		}
	}
	return NULL;
}

static bool needs_btf(const struct Code *c)
{
	for (size_t i = 0; i < c->insns.n; i++)
		if (c->insns.p[i].code == (BPF_LD | BPF_IMM | BPF_DW) && c->insns.p[i].regs >> 4 == BPF_PSEUDO_FUNC)
			return true;
	for (size_t i = 0; i < c->funcs.n; i++)
		if (progbtf_is_global(&c->funcs.p[i]))
			return true;
	return false;
}

#define LOG_MAX (16u << 20) // the most that 5.10 takes is UINT_MAX >> 8 (bpf_check); later kernels keep the log's tail

static u32 log_room(const struct LoadOpts *o)
{
	return o && o->log_size ? MIN(o->log_size, LOG_MAX - 1) : LOG_MAX - 1;
}

// Loads once more with a log and makes an error of it. The log buffer is only touched as far as the kernel writes.
static struct err *explain(struct Program *p, struct ProbeProg *pp, struct SysProg *sp, const struct LoadOpts *o, int first)
{
	sp->log_size = log_room(o);
	sp->log = xcalloc(1, sp->log_size);
	sp->log_level = first == -E2BIG ? 4 : 1;
	int r = load_with_btf(pp, sp, true);
	if (r == -ENOSPC) { // 6.3 and older keep a long log's beginning, and what is wrong stands at its end: that and statistics alone
		sp->log_level = 4;
		r = load_with_btf(pp, sp, true);
	}
	if (r >= 0) { // accepted now: the first failure was a passing one
		close(r);
		free(sp->log);
		sp->log = NULL;
		return err_errno(-first, "the kernel refused the program of %s and accepted it a moment later: try again", prog_label(pp));
	}
	struct err *e = vlog_error(p, pp, sp, r == -ENOSPC ? first : r);
	free(sp->log);
	sp->log = NULL;
	return e;
}

static void dump_log(struct ProbeProg *pp, struct SysProg *sp, const struct LoadOpts *o)
{
	sp->log_size = log_room(o);
	sp->log = xcalloc(1, sp->log_size);
	sp->log_level = 2 | 4; // BPF_LOG_LEVEL2 | BPF_LOG_STATS
	int r = load_with_btf(pp, sp, true);
	fprintf(o->dump, "verifier log of %s:\n%s\n", prog_label(pp), sp->log);
	pp->nverified = vlog_processed(sp->log);
	if (r >= 0)
		close(r);
	if (!pp->nverified) { // 6.3 and older stop with ENOSPC when the log is full: statistics alone
		sp->log_level = 4;
		r = sys_prog_load(sp);
		pp->nverified = vlog_processed(sp->log);
		if (r >= 0)
			close(r);
	}
	free(sp->log);
	sp->log = NULL;
	sp->log_level = sp->log_size = 0;
}

static bool prints_into_trace(const struct Code *code)
{
	for (size_t i = 0; i < code->insns.n; i++) {
		const struct BpfInsn *in = &code->insns.p[i];
		if (in->code == (BPF_JMP | BPF_CALL) && !(in->regs >> 4) && (in->imm == BPF_FUNC_trace_printk || in->imm == BPF_FUNC_trace_vprintk))
			return true;
	}
	return false;
}

#define TRACE_PRINTK_MS 1000

// The verifier has the event switched on that carries what is printed into the trace, newer kernels (6.18) do it a little later, from a work queue: what
// comes before is gone. Its file says "0" until then.
static void await_trace_printk(void)
{
	const char *root;
	char path[256], on = 0;
	struct err *e = tracefs_path(&root);
	err_free(e);
	if (e)
		return;
	snprintf(path, sizeof(path), "%s/events/bpf_trace/bpf_trace_printk/enable", root);
	for (int ms = 0; ms < TRACE_PRINTK_MS; ms++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		bool got = fd >= 0 && read(fd, &on, 1) == 1;
		if (fd >= 0)
			close(fd);
		if (!got || on != '0')
			return;
		usleep(1000);
	}
}

static int load_whole(struct ProbeProg *pp, struct SysProg *sp)
{
	return needs_btf(&pp->code) ? load_with_btf(pp, sp, false) : sys_prog_load(sp);
}

static bool uses_may_goto(const struct Code *code)
{
	for (size_t i = 0; i < code->insns.n; i++)
		if (code->insns.p[i].code == MAY_GOTO)
			return true;
	return false;
}

// What the verifier would take out as dead is not given to it. Logs are of the whole code: its lines are known by instruction. Where it follows each round of a loop, without
// may_goto, it remembers states at jumps, and finds fewer that are alike with fewer of them: programs with user stacks were too large for Linux 6.1 so.
static int load_reached(const struct Program *p, struct ProbeProg *pp, struct SysProg *whole)
{
	struct ProbeProg small = *pp;
	struct SysProg sp = *whole;
	if (!uses_may_goto(&pp->code))
		return load_whole(pp, whole);
	code_reached(p, &pp->code, &small.code);
	sp.insns = small.code.insns.p;
	sp.ninsns = (u32)small.code.insns.n;
	int fd = load_whole(&small, &sp);
	code_deinit(&small.code);
	return fd < 0 ? load_whole(pp, whole) : fd;
}

// ---- programs side by side
struct LoadJob {
	struct ProbeProg *pp;
	struct SysProg sp;
	struct Fds fds; // sp.fd_array
	char name[16];	// sp.name
	int fd;		// or -errno
};
struct LoadJobs {
	const struct Program *p;
	struct LoadJob *v;
	size_t n;
};

static void load_job(void *arg, size_t i)
{
	struct LoadJobs *j = arg;
	struct LoadJob *job = &j->v[i];
	job->fd = load_reached(j->p, job->pp, &job->sp);
}

static struct err *prepare(struct Program *p, const struct SysProg *base, const struct LoadOpts *o, struct LoadJob *job)
{
	struct ProbeProg *pp = job->pp;
	struct err *e = patch(p, pp, o, &job->fds);
	map_kernel_name(pp->ir.name ? pp->ir.name : "sonde", job->name);
	job->sp = *base;
	job->sp.insns = pp->code.insns.p;
	job->sp.ninsns = (u32)pp->code.insns.n;
	job->sp.license = p->config.license ? p->config.license : "Dual BSD/GPL";
	job->sp.name = job->name;
	job->sp.fd_array = job->fds.v.p;
	if (!e && o && o->dump_verifier)
		dump_log(pp, &job->sp, o);
	return e;
}

static struct err *take(struct Program *p, struct Loaded *l, const struct LoadOpts *o, struct LoadJob *job)
{
	struct ProbeProg *pp = job->pp;
	if (job->fd < 0) {
		struct err *e = explain(p, pp, &job->sp, o, job->fd);
		return o && o->failed ? o->failed(o->arg, pp, e) : e;
	}
	pp->fd = job->fd;
	job->fd = -1;
	vec_push(&l->progs, pp);
	if (prints_into_trace(&pp->code))
		await_trace_printk();
	return NULL;
}

#define LARGE 1000u // instructions: a thread's start takes as long as a few hundred of them

// The verifier takes 0.1 s for a program that has user stacks, on one processor.
static u32 load_threads(struct ProbeProg *const *progs, size_t n)
{
	cpu_set_t cpus;
	u32 large = 0;
	for (size_t i = 0; i < n; i++)
		large += progs[i]->code.insns.n >= LARGE;
	return large < 2 || sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : MIN(large, (u32)CPU_COUNT(&cpus));
}

struct err *load_progs(struct Program *p, struct Loaded *l, struct ProbeProg *const *progs, size_t n, const struct SysProg *bases, const struct LoadOpts *o)
{
	struct LoadJobs j = {p, xcalloc(n, sizeof(*j.v)), 0};
	struct err *e = NULL;
	for (; !e && j.n < n; j.n++) {
		j.v[j.n].pp = progs[j.n];
		j.v[j.n].fd = -1;
		e = prepare(p, &bases[j.n], o, &j.v[j.n]);
	}
	if (!e)
		side_by_side(n, load_threads(progs, n), load_job, &j);
	for (size_t i = 0; !e && i < n; i++)
		e = take(p, l, o, &j.v[i]);
	for (size_t i = 0; i < j.n; i++) {
		if (j.v[i].fd >= 0) // behind an error
			close(j.v[i].fd);
		vec_deinit(&j.v[i].fds.v);
	}
	free(j.v);
	return e;
}

int load_alone(struct Program *p, struct ProbeProg *pp, const struct SysProg *base)
{
	struct LoadJob job = {.pp = pp};
	struct err *e = prepare(p, base, NULL, &job);
	int fd = e ? -err_code(e) : load_reached(p, pp, &job.sp);
	err_free(e);
	vec_deinit(&job.fds.v);
	return fd;
}
