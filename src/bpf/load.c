// Maps and programs into the kernel. Input: a Program whose code is linked; output: descriptors in MapDef.fd and ProbeProg.fd.
// Invariant: struct Loaded owns every descriptor and mapping made here. The first attempt asks for no log and carries only what the
// kernel needs; a rejected program is loaded again with line info and a log, from which vlog.c makes the error.
#include "bpf/internal.h"
#include "bpfrt/abi.h"
#include "ctype/ctype.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/mman.h>

struct Mapping {
	void *p;
	size_t n;
	struct MapDef *map;
};

struct Loaded {
	VEC(struct MapDef *) maps;
	VEC(struct ProbeProg *) progs;
	VEC(struct Mapping) mmaps;
};

void map_kernel_name(const char *name, char out[16])
{
	u32 n = 0;
	if (*name == '@') {
		memcpy(out, "AT_", 3);
		n = 3;
		name++;
	}
	for (; *name && n < 15; name++)
		out[n++] = isalnum((unsigned char)*name) ? *name : '_';
	out[n] = 0;
}

// ---- maps

#define KEY_MAX 512u // MAX_BPF_STACK: longer ones after Linux 5.10

bool map_type_is_percpu(u32 type)
{
	return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static struct err *value_error(const struct MapDef *m, int r)
{
	u32 each = sizeof(struct RtTsSlot);
	if (m->val && m->val->kind == TY_TSERIES)
		return err_errno(-r, "map %s: its value has %u bytes, a per-CPU map holds at most 32768: tseries() of %u intervals fits", m->name,
				 m->value_size, (32768 - (m->value_size - m->val->size)) / each);
	return err_errno(-r, "map %s: its value has %u bytes, a per-CPU map holds at most 32768", m->name, m->value_size);
}

// Texts of a key, and their bytes.
static void key_texts(const struct Type *t, u32 *n, u32 *bytes)
{
	if (t && t->kind == TY_TUPLE)
		for (u32 i = 0; i < t->n; i++)
			key_texts(t->fields[i].type, n, bytes);
	if (!t || t->kind != TY_STR)
		return;
	*n += 1;
	*bytes += t->size;
}

static struct err *key_error(const struct MapDef *m)
{
	u32 n = 0, bytes = 0, room;
	key_texts(m->key, &n, &bytes);
	room = m->key_size - bytes < KEY_MAX && n ? (KEY_MAX - (m->key_size - bytes)) / n : 0;
	if (room < 2)
		return err_errno(E2BIG, "map %s: its key has %u bytes, this kernel takes %u at most", m->name, m->key_size, KEY_MAX);
	return err_errno(E2BIG, "map %s: its key has %u bytes, this kernel takes %u at most: use shorter strings, config = { max_strlen = %u } or str(s, %u)",
			 m->name, m->key_size, KEY_MAX, room - 1, room - 1);
}

static struct err *map_error(const struct MapDef *m, int r)
{
	u64 bytes = (u64)m->max_entries * (m->key_size + (u64)m->value_size);
	if (r == -EPERM) {
		struct err *e = feature_need_caps();
		return e ? e : err_errno(EPERM, "cannot create map %s (memory limit? try 'ulimit -l unlimited')", m->name);
	}
	if (r != -ENOMEM && r != -E2BIG && r != -EINVAL)
		return err_errno(-r, "cannot create map %s (type %u)", m->name, m->bpf_type);
	if (map_type_is_percpu(m->bpf_type) && m->value_size > 32768) // PCPU_MIN_UNIT_SIZE
		return value_error(m, r);
	if (r == -E2BIG && m->key_size > KEY_MAX && !feature_has(FEAT_BIG_KEYS))
		return key_error(m);
	if (m->bpf_type == BPF_MAP_TYPE_RINGBUF)
		return err_errno(-r, "cannot create the event buffer of %u bytes: lower perf_rb_pages", m->max_entries);
	if (r == -EINVAL)
		return err_errno(EINVAL,
				 "cannot create map %s (type %u, key %u, value %u, entries %u, flags 0x%x): unknown to this kernel",
				 m->name, m->bpf_type, m->key_size, m->value_size, m->max_entries, m->flags);
	return err_errno(-r, "no memory for map %s: %u entries of %u + %u bytes%s, %llu MB: lower %s", m->name, m->max_entries, m->key_size,
			 m->value_size, map_type_is_percpu(m->bpf_type) ? " per CPU" : "", (unsigned long long)(bytes >> 20),
			 m->user ? "max_map_keys (--hash-storage-size of a tool), or the size of its strings (max_strlen)"
				 : "max_map_keys (--hash-storage-size of a tool) or --stack-storage-size");
}

static int create_map(const struct MapDef *m, int inner_fd)
{
	char name[16];
	map_kernel_name(m->name, name);
	struct SysMap sm = {m->bpf_type, m->key_size, m->value_size, m->max_entries, m->flags, name, inner_fd};
	return m->task_work ? task_work_map(&sm) : sys_map_create(&sm);
}

static struct err *map_in_memory(struct Loaded *l, struct MapDef *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t n = ALIGN_UP((size_t)ALIGN_UP(m->value_size, 8u) * m->max_entries, page); // array_map_mmap
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (p == MAP_FAILED)
		return err_errno(errno, "cannot map %s into memory", m->name);
	m->mmapped = p;
	struct Mapping mm = {p, n, m};
	vec_push(&l->mmaps, mm);
	return NULL;
}

// The one element of a CGROUP_ARRAY; the map keeps the cgroup, the descriptor is needed no longer.
static struct err *add_cgroup(const struct MapDef *m)
{
	u32 zero = 0;
	int dir = open(m->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_errno(errno, "cannot open %s", m->path);
	int r = sys_map_update(m->fd, &zero, &dir, BPF_ANY);
	close(dir);
	return r == -EBADF ? err_new("%s is no cgroup v2 directory", m->path) : r < 0 ? err_errno(-r, "cannot use the cgroup %s", m->path) : NULL;
}

static struct err *load_map(struct Loaded *l, struct MapDef *m)
{
	int inner = 0;
	bool held = m->inner && m->inner->holder == m;
	if (held) {
		inner = m->inner->fd;
	} else if (m->inner) { // the template is needed only while the outer map is created
		inner = create_map(m->inner, 0);
		if (inner < 0)
			return map_error(m->inner, inner);
	}
	bool pinned = m->path && m->bpf_type != BPF_MAP_TYPE_CGROUP_ARRAY;
	int fd = pinned ? sys_obj_get(m->path) : create_map(m, inner);
	if (inner && !held)
		close(inner);
	if (fd < 0)
		return pinned ? err_errno(-fd, "cannot use the map pinned at %s", m->path) : map_error(m, fd);
	m->fd = fd;
	vec_push(&l->maps, m);
	if (m->path && !pinned)
		return add_cgroup(m);
	const void *init = held ? &m->inner->fd : m->init;
	if (init) {
		u32 zero = 0;
		int r = sys_map_update(fd, &zero, init, BPF_ANY);
		if (r == 0 && (m->flags & BPF_F_RDONLY_PROG)) // frozen: the verifier may take the values as constants
			r = sys_map_freeze(fd);
		if (r < 0)
			return err_errno(-r, "cannot set the contents of map %s", m->name);
	}
	if (m->flags & BPF_F_MMAPABLE)
		return map_in_memory(l, m);
	return NULL;
}

struct err *load_maps(struct Program *p, struct Loaded **out)
{
	struct Loaded *l = xcalloc(1, sizeof(*l));
	*out = NULL;
	for (size_t i = 0; i < p->maps.n; i++) {
		struct err *e = load_map(l, p->maps.p[i]);
		if (e) {
			loaded_destroy(l);
			return e;
		}
	}
	*out = l;
	return NULL;
}

void loaded_destroy(struct Loaded *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->mmaps.n; i++) {
		munmap(l->mmaps.p[i].p, l->mmaps.p[i].n);
		l->mmaps.p[i].map->mmapped = NULL;
	}
	for (size_t i = 0; i < l->progs.n; i++) {
		close(l->progs.p[i]->fd);
		l->progs.p[i]->fd = -1;
	}
	for (size_t i = 0; i < l->maps.n; i++) {
		close(l->maps.p[i]->fd);
		l->maps.p[i]->fd = -1;
	}
	vec_deinit(&l->mmaps);
	vec_deinit(&l->progs);
	vec_deinit(&l->maps);
	free(l);
}

// ---- programs

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
		if (!strncmp(c->funcs.p[i].name, "rtg_", 4)) // global by its BTF
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
