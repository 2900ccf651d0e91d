// The pipeline, one call a stage: script -> tokens -> tree -> types -> IR -> eBPF -> kernel -> events and maps -> report.
#include "session.h"
#include "base/base.h"
#include "bpf/bpf.h"
#include "ctype/ctype.h"
#include "ir/lower.h"
#include "lang/check.h"
#include "lang/ptregs.h"
#include "probe/probe.h"
#include "run/run.h"
#include "unwind/unwind.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <strings.h>
#include <time.h>

#define SETTLE_MS 1500 // at most, on a machine that is busy
#define FIRST_MS 5000  // ... for the processes that the user has named
struct Session {
	const struct Options *o;
	struct Arena arena;
	struct Diags diags;
	struct TypeTab types;
	struct Program prog;
	struct Unit unit;
	struct CheckHooks hooks;
	struct ProbeEnv env;
	struct Ctypes *ctypes;
	struct Syms *syms;
	struct Script *script;
	struct Str text;
	struct Loaded *loaded;
	struct Attachments *at;
	struct Unwind *unwind;
	struct Ring *ring;
	struct Child *child;
	struct Render render;
	struct RunCtx rc;
	FILE *out;
};

static u64 clock_ns(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

static int fail(struct err *e)
{
	fprintf(stderr, "ERROR: %s\n", err_text(e));
	err_free(e);
	return 1;
}

// Prints and forgets what has been collected; true when there were errors.
static bool show_diags(struct Session *s)
{
	struct Str text = {0};
	bool bad = s->diags.nerrors != 0;
	diags_render(&s->diags, s->o->warnings && !bad, &text);
	fputs(str_text(&text), stderr);
	str_deinit(&text);
	for (size_t i = 0; i < s->diags.items.n; i++)
		free(s->diags.items.p[i].msg);
	s->diags.items.n = 0;
	return bad;
}

// ---- what check asks

static bool hook_kaddr(void *arg, const char *name, u64 *addr)
{
	struct Session *s = arg;
	return sym_kernel_addr(s->syms, name, NULL, addr);
}

static bool hook_uaddr(void *arg, const struct Point *p, const char *name, u64 *addr, u64 *size)
{
	struct Session *s = arg;
	struct SymObject *o = p->target ? sym_object_path(s->syms, p->target) : NULL;
	struct SymDef d;
	if (!o || !sym_object_find(s->syms, o, name, &d))
		return false;
	*addr = d.addr;
	*size = d.size;
	return true;
}

static bool hook_cgroupid(void *arg, const char *path, u64 *id)
{
	// the id of a cgroup v2 directory is its inode number (kernfs, 64-bit inodes)
	struct stat st;
	if (stat(path, &st))
		return false;
	*id = st.st_ino;
	return true;
}

static bool hook_pinned(void *arg, const char *path, u32 *key_size, const char **why)
{
	int fd = sys_obj_get(path);
	struct bpf_map_info info = {0};
	u32 len = sizeof(info);
	*why = fd < 0 ? strerror(-fd) : sys_obj_info(fd, &info, &len) < 0 ? "it is no map" : NULL;
	if (fd >= 0)
		close(fd);
	if (!*why && info.type != BPF_MAP_TYPE_HASH && info.type != BPF_MAP_TYPE_LRU_HASH)
		*why = "it is no hash map";
	if (!*why && info.key_size != 4 && info.key_size != 8)
		*why = "its keys are no numbers of 4 or 8 bytes";
	*key_size = info.key_size;
	return !*why;
}

static bool hook_kfunc(void *arg, const char *name)
{
	struct Session *s = arg;
	return ctype_func_id(s->ctypes, name) != 0;
}

static const char *hook_getenv(const char *name)
{
	return getenv(name);
}

// ---- stages

static struct err *read_script(struct Session *s)
{
	const struct Options *o = s->o;
	if (o->text)
		str_add(&s->text, o->text);
	else {
		struct err *e = read_file(strcmp(o->file, "-") ? o->file : "/dev/stdin", &s->text, 16 << 20);
		if (e)
			return e;
	}
	const char *name = o->name ? o->name : o->file && strcmp(o->file, "-") ? o->file : "stdin";
	u16 src = diags_add_source(&s->diags, name, str_text(&s->text), s->text.n);
	s->script = parse_script(&s->arena, &s->diags, src);
	return NULL;
}

static void fill_hooks(struct Session *s)
{
	s->hooks = (struct CheckHooks){.arg = s, .kaddr = hook_kaddr, .uaddr = hook_uaddr, .cgroupid = hook_cgroupid, .pinned = hook_pinned, .ptregs = ptregs_offset, .syscall_number = syscall_number,
				       .kfunc = hook_kfunc, .getenv = hook_getenv, .pid = s->o->pid,
				       .cpid = s->child ? child_pid(s->child) : 0, .ncpus = possible_cpus()};
}

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

// Script text to checked unit. False: errors are in the diagnostics.
static bool front(struct Session *s)
{
	struct Unit *u = &s->unit;
	*u = (struct Unit){.arena = &s->arena, .diags = &s->diags, .types = &s->types, .ctypes = s->ctypes, .script = s->script,
			   .prog = &s->prog, .hooks = &s->hooks, .config = &s->prog.config};
	ctypes_add_preamble(s->ctypes, s->script->ctext, s->o->include_dirs, s->o->ninclude_dirs, s->o->includes, s->o->nincludes);
	config_resolve(u);
	if (s->diags.nerrors)
		return false;
	u32 n = 0;
	watchpoints_prepare(&s->env, s->script);
	for (struct ProbeAst *p = s->script->probes; p; p = p->next)
		n++;
	if (!n) {
		diag_error_plain(&s->diags, "No probes to attach");
		return false;
	}
	struct PointList *lists = arena_new_n(&s->arena, struct PointList, n);
	probes_expand(&s->env, s->script, lists);
	if (s->diags.nerrors)
		return false;
	resolve_script(u, lists);
	for (u32 i = 0; i < n; i++)
		vec_deinit(&lists[i].v);
	if (s->diags.nerrors)
		return false;
	bool ok = check_unit(u);
	units_drop_absent(u);
	return ok;
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
	if (e)
		return err_wrap(e, "%s", pp->points.v.p[0]->name);
	return link_runtime(&s->prog, &pp->code);
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

static struct err *compile(struct Session *s)
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
		if (s->o->dump & DUMP_BPF)
			dump_prog(s, pp, DUMP_BPF);
	}
	size_ring(s);
	if (s->o->dump & DUMP_MAPS)
		dump_maps(s);
	return NULL;
}

static bool kfunc_id(void *arg, const char *name, u32 *id, int *btf_fd)
{
	struct Session *s = arg;
	*id = ctype_func_id(s->ctypes, name);
	*btf_fd = 0;
	return *id != 0;
}

// Does -p leave only that process's stacks? Tracepoints and kernel functions are traced wherever they happen.
static bool one_process(const struct Session *s)
{
	for (size_t i = 0; s->o->pid && i < s->prog.progs.n; i++) {
		const struct ProbeProg *pp = s->prog.progs.p[i];
		for (size_t k = 0; k < pp->points.v.n; k++)
			if (pp->kind != PK_BEGIN && pp->kind != PK_END && pp->kind != PK_SELF && pp->points.v.p[k]->pid != s->o->pid)
				return false;
	}
	return s->o->pid != 0;
}

static struct err *load(struct Session *s)
{
	struct err *e;
	if (s->prog.uses_ustack) {
		struct UwOpts uo = {.fp_only = s->prog.config.unwind_fp, .pids = &s->o->pid, .npids = one_process(s), .follow = true,
				    .verbose = s->o->verbose, .count_ends = s->o->why_incomplete};
		if ((e = unwind_create(&s->prog, s->syms, &uo, &s->unwind)))
			return e;
	}
	bool stacks = s->prog.uses_ustack || s->prog.uses_kstack;
	if (stacks)
		stacks_setup(&s->prog);
	for (size_t i = 0; i < s->prog.maps.n; i++)
		if (s->o->stack_entries && !strncmp(s->prog.maps.p[i]->name, "rt_stacks_", 10))
			s->prog.maps.p[i]->max_entries = (u32)MIN(s->o->stack_entries, 1u << 24);
	if ((e = load_maps(&s->prog, &s->loaded)))
		return e;
	if (stacks && (e = stacks_start(&s->prog, s->syms)))
		return e;
	struct LoadOpts lo = {.dump_verifier = s->o->dump & DUMP_VERIFIER, .dump = s->out, .log_size = 0, .kfunc = kfunc_id, .arg = s};
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		struct SysProg base = {0};
		probe_load_params(&s->env, s->prog.progs.p[i], &base);
		base.license = s->prog.config.license;
		if ((e = load_prog(&s->prog, s->loaded, s->prog.progs.p[i], &base, &lo)) && (e = probe_load_failed(&s->env, s->prog.progs.p[i], e)))
			return e;
	}
	return s->unwind ? unwind_start(s->unwind) : NULL;
}

static struct err *run_kind(struct Session *s, enum ProbeKind kind, int sig)
{
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		if (pp->kind != kind || (kind == PK_SELF && pp->points.v.p[0]->sig != sig))
			continue;
		struct err *e = probe_run_once(pp);
		if (e)
			return e;
	}
	return NULL;
}

static void on_signal(void *arg, int sig)
{
	err_free(run_kind(arg, PK_SELF, sig));
}

// watchpoint:function+argN was told the argument, or unwatch() was called.
static void on_watch(void *arg, u32 id, u64 addr, bool remove)
{
	struct Session *s = arg;
	struct err *e = NULL;
	if (remove)
		watch_remove(&s->env, addr);
	else
		e = watch_argument(&s->env, &s->prog, id, addr);
	if (e)
		fprintf(stderr, "WARNING: %s\n", err_text(e));
	err_free(e);
}

static void notify_ready(void)
{
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED")) {
		fputs("__BPFTRACE_NOTIFY_PROBES_ATTACHED\n", stdout);
		fflush(stdout);
	}
	const char *path = getenv("NOTIFY_SOCKET"); // sd_notify(3)
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (!path || strlen(path) >= sizeof(a.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(a.sun_path, path, strlen(path));
	if (*path == '@')
		a.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	static const char msg[] = "READY=1\nSTATUS=Processing events...";
	if (fd >= 0) {
		if (sendto(fd, msg, sizeof(msg) - 1, MSG_NOSIGNAL, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) < 0)
			fprintf(stderr, "WARNING: cannot tell systemd that tracing has begun: %s\n", strerror(errno));
		close(fd);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct MapDef *const *)a)->name, (*(struct MapDef *const *)b)->name);
}

static struct err *print_maps(struct Session *s)
{
	VEC(struct MapDef *) maps = {0};
	struct err *e = NULL;
	if (!s->prog.config.print_maps_on_exit)
		return NULL;
	for (size_t i = 0; i < s->prog.maps.n; i++)
		if (s->prog.maps.p[i]->user)
			vec_push(&maps, s->prog.maps.p[i]);
	if (maps.n)
		qsort(maps.p, maps.n, sizeof(*maps.p), by_name);
	for (size_t i = 0; !e && i < maps.n; i++)
		e = map_print(&s->rc, maps.p[i], 0, 0, false);
	vec_deinit(&maps);
	return e;
}

// Only begin, end and iterators: nothing will ever happen after they have run.
static bool runs_once(const struct Session *s)
{
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		enum ProbeKind k = s->prog.progs.p[i]->kind;
		if (k != PK_BEGIN && k != PK_END && k != PK_ITER && k != PK_TEST && k != PK_BENCH)
			return false;
	}
	return true;
}

static bool has_kind(const struct Session *s, enum ProbeKind kind)
{
	for (size_t i = 0; i < s->prog.progs.n; i++)
		if (s->prog.progs.p[i]->kind == kind)
			return true;
	return false;
}

static bool session_tick(void *arg)
{
	struct Session *s = arg;
	return s->o->tool->tick(s->o->tool->arg, &s->rc);
}

// An iterator runs while its file is read; what it prints comes through the ring buffer.
static void read_iterators(struct Session *s)
{
	char buf[4096];
	int fd;
	for (size_t i = 0; (fd = attachments_iter_open(s->at, i)) >= 0; i++) {
		for (ssize_t n; (n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EAGAIN);)
			if (s->ring)
				loop_drain(&s->rc, s->ring);
		close(fd);
	}
}

// --test: each test probe in order; 1 when one returned something else than 0, said an error or asked for a status.
// Runs one test: its output is shown if it fails. Fails when it returns or exits with something else than 0.
static struct err *run_test(struct Session *s, struct ProbeProg *pp, bool *ok)
{
	char *text = NULL;
	size_t n = 0;
	u32 ret = 0;
	FILE *mem = open_memstream(&text, &n), *out = s->render.out;
	if (!mem)
		return err_errno(errno, "memory for the output of a test");
	s->render.out = mem;
	struct err *e = probe_run_test(pp, &ret);
	if (!e && s->ring)
		loop_drain(&s->rc, s->ring);
	s->render.out = out;
	fclose(mem);
	*ok = !ret && !s->rc.exit_code;
	if (!*ok)
		fwrite(text, 1, n, out);
	free(text);
	s->rc.exit_code = 0;
	s->rc.exiting = false;
	return e;
}

static struct err *run_tests(struct Session *s)
{
	VEC(const char *) failed = {0};
	struct err *e = NULL;
	u32 n = 0, total = 0;
	for (size_t i = 0; i < s->prog.progs.n; i++)
		total += s->prog.progs.p[i]->kind == PK_TEST;
	fprintf(s->out, "[==========] Running %u test%s.\n", total, total == 1 ? "" : "s");
	for (size_t i = 0; i < s->prog.progs.n && !e; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		bool ok = false;
		if (pp->kind != PK_TEST)
			continue;
		const char *name = pp->points.v.p[0]->event ? pp->points.v.p[0]->event : pp->points.v.p[0]->name;
		fprintf(s->out, "[ RUN      ] %s\n", name);
		u64 from = clock_ns(CLOCK_MONOTONIC);
		e = run_test(s, pp, &ok);
		fprintf(s->out, "[%s] %s (%llu us)\n", ok ? "       OK " : "  FAILED  ", name,
			(unsigned long long)(clock_ns(CLOCK_MONOTONIC) - from) / 1000);
		if (!ok)
			vec_push(&failed, name);
		n++;
	}
	u32 passed = n - (u32)failed.n;
	fprintf(s->out, "[==========] %u test%s ran.\n[  PASSED  ] %u test%s.\n", n, n == 1 ? "" : "s", passed, passed == 1 ? "" : "s");
	if (failed.n)
		fprintf(s->out, "[  FAILED  ] %zu test%s, listed below:\n", failed.n, failed.n == 1 ? "" : "s");
	for (size_t i = 0; i < failed.n; i++)
		fprintf(s->out, "[  FAILED  ] %s\n", failed.p[i]);
	s->rc.exit_code = failed.n != 0;
	vec_deinit(&failed);
	return e;
}

static struct err *run_benches(struct Session *s)
{
	VEC(const char *) names = {0};
	VEC(u64) ns = {0}, iters = {0};
	struct err *e = NULL;
	for (size_t i = 0; i < s->prog.progs.n && !e; i++) {
		struct ProbeProg *pp = s->prog.progs.p[i];
		double t = 0;
		u64 runs = 0;
		if (pp->kind != PK_BENCH)
			continue;
		e = probe_run_bench(pp, &t, &runs);
		vec_push(&names, pp->points.v.p[0]->event ? pp->points.v.p[0]->event : pp->points.v.p[0]->name);
		vec_push(&ns, (u64)(t + 0.5));
		vec_push(&iters, runs);
		if (s->ring)
			loop_drain(&s->rc, s->ring);
	}
	if (!e && names.n)
		s->render.ops->bench(&s->render, names.p, ns.p, iters.p, (u32)names.n);
	vec_deinit(&names);
	vec_deinit(&ns);
	vec_deinit(&iters);
	return e;
}

// Binaries of uprobes and USDT probes, each once.
static void add_targets(const struct Session *s, struct UwFirst *f)
{
	for (size_t i = 0; i < s->prog.progs.n; i++)
		for (size_t k = 0; k < s->prog.progs.p[i]->points.v.n; k++) {
			enum ProbeKind kind = s->prog.progs.p[i]->kind;
			const char *path = s->prog.progs.p[i]->points.v.p[k]->target;
			bool user = kind == PK_UPROBE || kind == PK_URETPROBE || kind == PK_USDT;
			if (user && path && (!f->paths.n || strcmp(vec_last(&f->paths), path)))
				vec_push(&f->paths, path);
		}
}

// The first stacks are to be whole. A command stands at its exec now: its binary is mapped, its libraries are named there.
static void settle_stacks(struct Session *s)
{
	struct UwFirst f = {0};
	if (!s->unwind)
		return;
	if (s->child)
		vec_push(&f.pids, child_pid(s->child));
	if (s->o->pid)
		vec_push(&f.pids, s->o->pid);
	for (const char *p = s->o->pids; p && *p; p += strcspn(p, ","), p += *p == ',')
		vec_push(&f.pids, atoi(p));
	add_targets(s, &f);
	if (f.pids.n || f.paths.n)
		unwind_first(s->unwind, &f, FIRST_MS);
	if (!f.pids.n && s->o->tool) // a report of whole stacks is worth the fifth of a second that all tables of a machine take
		unwind_settle(s->unwind, SETTLE_MS);
	vec_deinit(&f.pids);
	vec_deinit(&f.paths);
}

static struct err *attach_and_trace(struct Session *s)
{
	struct err *e;
	u64 n = 0;
	const struct ToolRun *tool = s->o->tool;
	if ((e = run_kind(s, PK_BEGIN, 0)))
		return e;
	s->at = attachments_create();
	if (s->child && (has_kind(s, PK_USDT) || s->unwind || s->prog.uses_usym) && (e = child_run_to_exec(s->child)))
		return e;
	if (s->prog.uses_usym && (s->child || s->o->pid)) // so that names are found after it is gone
		sym_pid_remember(s->syms, s->child ? child_pid(s->child) : s->o->pid);
	settle_stacks(s);
	e = probes_attach(&s->env, &s->prog, s->at, &n);
	show_diags(s); // places that were skipped
	if (e)
		return e;
	s->rc.attached = n;
	n -= s->env.nwatchfns; // not the script's own
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		enum ProbeKind k = s->prog.progs.p[i]->kind;
		n += k == PK_BEGIN || k == PK_END || k == PK_SELF || (k == PK_TEST && s->o->test) || (k == PK_BENCH && s->o->bench);
	}
	if (!s->o->dry_run && !s->o->test && !s->o->bench)
		loop_hold_signals();
	if (tool) { // what iterators find is part of the start
		read_iterators(s);
		if (tool->started && (e = tool->started(tool->arg, &s->rc)))
			return e;
	} else if (!s->o->quiet)
		s->render.ops->attached(&s->render, n);
	s->render.ops->flush(&s->render);
	notify_ready();
	if (s->o->dry_run)
		return NULL;
	if (s->o->test)
		return run_tests(s);
	if (s->o->bench)
		return run_benches(s);
	if (s->child && (e = child_go(s->child)))
		return e;
	if (!tool)
		read_iterators(s);
	VEC(int) sigs = {0};
	for (size_t i = 0; i < s->prog.progs.n; i++)
		if (s->prog.progs.p[i]->kind == PK_SELF)
			vec_push(&sigs, s->prog.progs.p[i]->points.v.p[0]->sig);
	struct LoopOpts lo = {.child = s->child, .pid = s->o->pid, .duration_ns = s->o->duration_ns, .on_signal = on_signal, .sigs = sigs.p,
			      .nsigs = (u32)sigs.n, .sig_arg = s};
	lo.once = runs_once(s) && !s->child; // a command runs to its end
	if (tool && tool->tick) {
		lo.on_tick = session_tick;
		lo.tick_ns = tool->tick_ns;
		lo.tick_arg = s;
	}
	e = loop_run(&s->rc, s->ring, &lo);
	vec_deinit(&sigs);
	return e;
}

static struct err *finish(struct Session *s)
{
	struct err *e;
	if (s->o->tool && s->o->tool->stopped && (e = s->o->tool->stopped(s->o->tool->arg, &s->rc)))
		return e;
	attachments_destroy(s->at);
	s->at = NULL;
	watches_end(&s->env);
	packets_close(s->rc.packets);
	s->rc.packets = NULL;
	if (s->ring)
		loop_drain(&s->rc, s->ring);
	s->rc.exiting = false; // exit() ended the tracing; what the end probes say counts again
	if ((e = run_kind(s, PK_END, 0)))
		return e;
	if (s->ring)
		loop_drain(&s->rc, s->ring);
	if (s->o->tool)
		e = s->o->tool->report(s->o->tool->arg, &s->rc, true);
	else {
		report_sites(&s->rc);
		s->render.ops->end(&s->render);
		if (!s->o->bench) // how often is no result
			e = print_maps(s);
	}
	s->rc.cut_told = s->o->why_incomplete;
	report_losses(&s->rc);
	if (s->o->why_incomplete && (s->prog.uses_ustack || s->prog.uses_kstack)) {
		struct StackEnds ends;
		stacks_ends(&s->prog, s->syms, &s->arena, &ends);
		s->render.ops->ends(&s->render, &ends);
	}
	s->render.ops->flush(&s->render);
	return e;
}

static struct err *trace(struct Session *s)
{
	struct err *e = load(s);
	if (e)
		return e;
	if (program_map(&s->prog, "sonde_events") && (e = ring_open(&s->prog, &s->ring)))
		return e;
	s->rc = (struct RunCtx){.prog = &s->prog, .syms = s->syms, .unwind = s->unwind, .render = &s->render, .warnings = s->o->warnings, .is_tool = s->o->tool,
				.start_ns = clock_ns(CLOCK_BOOTTIME), .on_watch = on_watch, .watch_arg = s};
	s->rc.stacks = stacks_create(&s->prog, s->syms);
	if ((e = packets_open(&s->rc, &s->rc.packets)))
		return e;
	if ((e = attach_and_trace(s)))
		return e;
	return s->o->dry_run ? NULL : finish(s);
}

static struct err *open_output(struct Session *s)
{
	s->out = stdout;
	if (s->o->out_path && !(s->out = fopen(s->o->out_path, "we")))
		return err_errno(errno, "cannot write %s", s->o->out_path);
	s->render = (struct Render){.out = s->out, .mode = s->o->buf, .ops = s->o->json ? &json_render_ops : &text_render_ops,
				    .escape = isatty(fileno(s->out))};
	return NULL;
}

static void session_init(struct Session *s, const struct Options *o)
{
	s->o = o;
	typetab_init(&s->types, &s->arena);
	s->prog.arena = &s->arena;
	s->prog.diags = &s->diags;
	s->prog.types = &s->types;
	config_defaults(&s->prog.config);
	s->prog.config.helper_errors = o->helper_errors;
	s->prog.config.unsafe = o->unsafe;
	s->prog.config.unwind_fp = o->unwind_fp;
	s->ctypes = ctypes_create(&s->arena, &s->types, &s->diags);
	s->syms = syms_create(&(struct SymOpts){.inlines = o->inlines, .lines = o->lines});
	s->env = (struct ProbeEnv){.arena = &s->arena, .diags = &s->diags, .ctypes = s->ctypes, .syms = s->syms, .config = &s->prog.config,
				   .pid = o->pid, .usdt_file_activation = o->usdt_file_activation, .verbose = o->verbose,
				   .no_uprobe_multi = o->no_uprobe_multi, .no_kprobe_multi = o->no_kprobe_multi,
				   .no_kprobe_session = o->no_kprobe_session};
}

static void session_deinit(struct Session *s)
{
	attachments_destroy(s->at);
	unwind_destroy(s->unwind);
	packets_close(s->rc.packets);
	stacks_destroy(s->rc.stacks);
	ring_close(s->ring);
	loaded_destroy(s->loaded);
	child_destroy(s->child);
	if (s->out && s->out != stdout)
		fclose(s->out);
	for (size_t i = 0; i < s->prog.progs.n; i++) {
		ir_deinit(&s->prog.progs.p[i]->ir);
		code_deinit(&s->prog.progs.p[i]->code);
		vec_deinit(&s->prog.progs.p[i]->points.v);
	}
	for (size_t i = 0; i < s->unit.probes.n; i++)
		vec_deinit(&s->unit.probes.p[i]->vars);
	vec_deinit(&s->unit.probes);
	vec_deinit(&s->unit.opts);
	vec_deinit(&s->unit.maps);
	vec_deinit(&s->prog.progs);
	vec_deinit(&s->prog.maps);
	vec_deinit(&s->prog.fmts);
	vec_deinit(&s->prog.errsites);
	probe_env_deinit(&s->env);
	ctypes_destroy(s->ctypes);
	syms_destroy(s->syms);
	typetab_deinit(&s->types);
	diags_deinit(&s->diags);
	str_deinit(&s->text);
	arena_deinit(&s->arena);
}

static int pipeline(struct Session *s)
{
	const struct Options *o = s->o;
	struct err *e = open_output(s);
	if (e || (e = read_script(s)))
		return fail(e);
	expand_script(s->script, o->params.p, o->params.n);
	if (show_diags(s))
		return 1;
	if ((e = feature_need_caps()))
		return fail(e);
	if (o->cmd && (e = child_start(o->cmd, &s->child)))
		return fail(e);
	s->env.child = s->child ? child_pid(s->child) : 0;
	s->env.cmd_path = s->child ? child_path(s->child) : NULL;
	fill_hooks(s);
	bool ok = front(s);
	if (o->dump & DUMP_AST) {
		struct Str t = {0};
		ast_dump(s->script, &t);
		fputs(str_text(&t), s->out);
		str_deinit(&t);
	}
	if (show_diags(s) || !ok)
		return 1;
	if ((e = compile(s)))
		return fail(e);
	if (show_diags(s))
		return 1;
	if (o->dump && !(o->dump & DUMP_VERIFIER))
		return 0;
	if ((e = trace(s)))
		return fail(e);
	return s->rc.exit_code;
}

int session_run(const struct Options *o)
{
	struct Session s = {0};
	session_init(&s, o);
	int rc = pipeline(&s);
	if (loop_interrupts() > 1) { // asked twice: the kernel cleans up faster
		fflush(NULL);
		_exit(rc);
	}
	session_deinit(&s);
	return rc;
}

int session_list(const struct Options *o)
{
	struct Session s = {0};
	session_init(&s, o);
	int rc = 1;
	const char *pattern = o->pattern ? o->pattern : "*:*";
	u16 src = diags_add_source(&s.diags, "listing", pattern, strlen(pattern));
	struct AttachSpec *specs = NULL;
	if (o->text || o->file) { // the probes a program would attach
		struct err *e = read_script(&s);
		if (e) {
			rc = fail(e);
			goto out;
		}
		expand_script(s.script, o->params.p, o->params.n);
		struct AttachSpec **tail = &specs;
		for (struct ProbeAst *p = s.script->probes; p; p = p->next)
			for (struct AttachSpec *a = p->points; a; a = a->next) {
				if (a->nparts == 1 && (!strcasecmp(a->parts[0], "begin") || !strcasecmp(a->parts[0], "end")))
					continue; // run by us, attached to nothing
				struct AttachSpec *copy = arena_new(&s.arena, struct AttachSpec);
				*copy = *a;
				copy->next = NULL;
				*tail = copy;
				tail = &copy->next;
			}
	} else if (!strncmp(pattern, "struct ", 7) || !strncmp(pattern, "union ", 6) || !strncmp(pattern, "enum ", 5)) {
		specs = arena_new(&s.arena, struct AttachSpec);
		*specs = (struct AttachSpec){.span = {0, (u32)strlen(pattern), src}, .text = pattern, .parts = &pattern, .nparts = 1};
	} else
		specs = parse_attach_list(&s.arena, &s.diags, src);
	if (!show_diags(&s) && specs) {
		rc = probes_list(&s.env, specs, o->verbose, stdout) ? 0 : 1;
		show_diags(&s);
	}
out:
	session_deinit(&s);
	return rc;
}
