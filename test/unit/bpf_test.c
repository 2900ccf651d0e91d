// Maps and programs through sys.c, load.c, link.c: what loads, what it returns, and the errors of what does not load.
#include "t.h"
#include "bpf_asm.h"
#include "need_bpf.h"
#include "ctype/ctype.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <time.h>
#include <sys/wait.h>

static bool contains(const char *s, const char *part)
{
	if (strstr(s, part))
		return true;
	T_FAIL("\"%s\" is not in:\n%s", part, s);
	return false;
}

TEST(kernel_names)
{
	char n[16];
	map_kernel_name("@x", n);
	CHECK_STR(n, "AT_x");
	map_kernel_name("@", n);
	CHECK_STR(n, "AT_");
	map_kernel_name("kprobe:vfs_read,vfs_write", n);
	CHECK_STR(n, "kprobe_vfs_read");
	map_kernel_name("@a_very_long_name_indeed", n);
	CHECK_STR(n, "AT_a_very_long_");
}

TEST(map_elements)
{
	NEED_BPF();
	struct SysMap m = {BPF_MAP_TYPE_HASH, 4, 8, 100, 0, "test"};
	int fd = sys_map_create(&m);
	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	for (u32 k = 0; k < 10; k++) {
		u64 v = k * 100;
		CHECK_EQ(sys_map_update(fd, &k, &v, BPF_ANY), 0);
	}
	u32 k = 7, next;
	u64 v = 0;
	CHECK_EQ(sys_map_lookup(fd, &k, &v), 0);
	CHECK_EQ(v, 700);
	CHECK_EQ(sys_map_update(fd, &k, &v, BPF_NOEXIST), -EEXIST);
	CHECK_EQ(sys_map_delete(fd, &k), 0);
	CHECK_EQ(sys_map_delete(fd, &k), -ENOENT);
	u32 n = 0;
	for (int r = sys_map_next_key(fd, NULL, &next); r == 0; r = sys_map_next_key(fd, &k, &next), n++)
		k = next;
	CHECK_EQ(n, 9);
	close(fd);
}

TEST(map_batch)
{
	NEED_BPF();
	struct SysMap m = {BPF_MAP_TYPE_HASH, 4, 8, 1000, 0, "batch"};
	int fd = sys_map_create(&m);
	u64 sum = 0;
	for (u32 k = 0; k < 500; k++) {
		u64 v = k;
		sum += v;
		CHECK_EQ(sys_map_update(fd, &k, &v, BPF_ANY), 0);
	}
	static u32 keys[200];
	static u64 vals[200];
	u32 total = 0, pos, n;
	void *in = NULL;
	int r;
	do {
		n = 200;
		r = sys_map_lookup_batch(fd, in, &pos, keys, vals, &n);
		if (r == -EINVAL)
			SKIP("kernel without batch lookup");
		CHECK(r == 0 || r == -ENOENT);
		for (u32 i = 0; i < n; i++)
			sum -= vals[i];
		total += n;
		in = &pos;
	} while (r == 0);
	CHECK_EQ(total, 500);
	CHECK_EQ(sum, 0);
	close(fd);
}

TEST(load_and_run)
{
	NEED_BPF();
	struct TestProg t;
	int r;
	tp_init(&t, "answer");
	mov_imm(&t, 0, 42);
	exit_insn(&t);
	no_error(tp_load(&t, NULL));
	CHECK_EQ(tp_run(&t, &r), 42);
	CHECK_EQ(r, 0);
	tp_deinit(&t);
}

TEST(maps_are_patched_mapped_and_initialised)
{
	NEED_BPF();
	struct TestProg t;
	int r;
	static const u64 init[2] = {1000, 7};
	tp_init(&t, "patch");
	struct MapDef *cnt = add_map(&t, "@count", BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE);
	struct MapDef *ro = add_map(&t, "consts", BPF_MAP_TYPE_ARRAY, 4, 16, 1, BPF_F_RDONLY_PROG);
	ro->init = init;
	map_val(&t, 1, cnt, 0);
	mov_imm(&t, 2, 5);
	ins(&t, BPF_STX | BPF_MEM | BPF_DW, 1, 2, 0, 0);
	map_val(&t, 1, ro, 8);
	ins(&t, BPF_LDX | BPF_MEM | BPF_DW, 0, 1, 0, 0);
	exit_insn(&t);
	no_error(tp_load(&t, NULL));
	CHECK_EQ(tp_run(&t, &r), 7);
	CHECK(cnt->mmapped != NULL);
	CHECK_EQ(*(u64 *)cnt->mmapped, 5);
	u32 zero = 0;
	CHECK_EQ(sys_map_update(ro->fd, &zero, init, 0), -EPERM); // frozen
	CHECK(program_map(&t.prog, "@count") == cnt);
	CHECK(program_map(&t.prog, "@nope") == NULL);
	loaded_destroy(t.loaded);
	t.loaded = NULL;
	CHECK_EQ(cnt->fd, -1);
	CHECK_EQ(t.pp.fd, -1);
	CHECK(cnt->mmapped == NULL);
	tp_deinit(&t);
}

TEST(map_of_maps)
{
	NEED_BPF();
	struct TestProg t;
	tp_init(&t, "outer");
	struct MapDef inner = {.name = "inner", .bpf_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 10, .fd = -1};
	struct MapDef *outer = add_map(&t, "outer", BPF_MAP_TYPE_HASH_OF_MAPS, 4, 4, 10, 0);
	outer->inner = &inner;
	no_error(load_maps(&t.prog, &t.loaded));
	struct SysMap im = {BPF_MAP_TYPE_ARRAY, 4, 8, 10, 0, "in"};
	int fd = sys_map_create(&im);
	u32 key = 3;
	CHECK_EQ(sys_map_update(outer->fd, &key, &fd, 0), 0);
	close(fd);
	tp_deinit(&t);
}

TEST(map_errors_name_the_map)
{
	NEED_BPF();
	struct TestProg t;
	tp_init(&t, "big");
	struct MapDef *m = add_map(&t, "@huge", BPF_MAP_TYPE_ARRAY, 4, 1 << 30, 1 << 30, 0);
	m->user = true;
	struct err *e = load_maps(&t.prog, &t.loaded);
	CHECK(e != NULL);
	contains(err_text(e), "@huge");
	contains(err_text(e), "max_map_keys");
	CHECK(t.loaded == NULL);
	err_free(e);
	m->bpf_type = BPF_MAP_TYPE_PERCPU_HASH;
	m->value_size = 100000;
	m->max_entries = 10;
	e = load_maps(&t.prog, &t.loaded);
	CHECK(e != NULL);
	contains(err_text(e), "32768");
	err_free(e);
	tp_deinit(&t);
}

// Script of three lines; the third is at fault.
static void add_script(struct TestProg *t)
{
	static const char text[] = "BEGIN\n{\n\t@x = *(bad);\n}\n";
	diags_add_source(&t->diags, "t.bt", text, sizeof(text) - 1);
	struct IrLoc l1 = {0, 1, 1}, l3 = {0, 3, 2};
	vec_push(&t->pp.ir.locs, l1);
	vec_push(&t->pp.ir.locs, l3);
}

static void at_loc(struct TestProg *t, u32 loc)
{
	struct CodeLine cl = {(u32)t->pp.code.insns.n, loc};
	vec_push(&t->pp.code.lines, cl);
}

TEST(rejection_names_the_script_line)
{
	NEED_BPF();
	struct TestProg t;
	tp_init(&t, "begin");
	add_script(&t);
	at_loc(&t, 0);
	mov_imm(&t, 0, 0);
	ld64(&t, 2, 77);
	at_loc(&t, 1);
	ins(&t, BPF_LDX | BPF_MEM | BPF_DW, 0, 2, 0, 0); // not a pointer
	exit_insn(&t);
	struct err *e = tp_load(&t, NULL);
	CHECK(e != NULL);
	contains(err_text(e), "begin");
	contains(err_text(e), "t.bt:3: \t@x = *(bad);");
	contains(err_text(e), "invalid mem access");
	contains(err_text(e), "bug in sonde");
	contains(err_text(e), "-d bpf");
	CHECK_EQ(err_code(e), 0);
	err_free(e);
	tp_deinit(&t);
}

TEST(missing_helper_is_named)
{
	NEED_BPF();
	struct TestProg t;
	tp_init(&t, "rawtracepoint:x");
	mov_imm(&t, 1, 0);
	call(&t, BPF_FUNC_redirect); // networking only
	exit_insn(&t);
	struct err *e = tp_load(&t, NULL);
	CHECK(e != NULL);
	contains(err_text(e), "rawtracepoint:x needs the BPF helper bpf_redirect");
	CHECK(!strstr(err_text(e), "bug in sonde"));
	err_free(e);
	tp_deinit(&t);

	tp_init(&t, "x");
	call(&t, 99999);
	exit_insn(&t);
	e = tp_load(&t, NULL);
	CHECK(e != NULL);
	contains(err_text(e), "99999");
	err_free(e);
	tp_deinit(&t);
}

TEST(licence_is_named)
{
	NEED_BPF();
	struct TestProg t;
	tp_init(&t, "x");
	t.prog.config.license = "Proprietary";
	call(&t, BPF_FUNC_get_current_task);
	mov_imm(&t, 0, 0);
	exit_insn(&t);
	struct err *e = tp_load(&t, NULL);
	CHECK(e != NULL);
	contains(err_text(e), "\"Proprietary\"");
	err_free(e);
	tp_deinit(&t);
}

TEST(missing_kfunc_is_named)
{
	NEED_BPF();
	struct TestProg t;
	tp_init(&t, "x");
	reloc(&t, REL_KFUNC, 0, 0, "bpf_no_such_kfunc");
	call(&t, 0);
	exit_insn(&t);
	struct err *e = tp_load(&t, NULL);
	CHECK(e != NULL);
	contains(err_text(e), "bpf_no_such_kfunc");
	err_free(e);
	tp_deinit(&t);
}

TEST(verifier_dump_has_script_lines)
{
	NEED_BPF();
	struct TestProg t;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	struct LoadOpts o = {.dump_verifier = true, .dump = f};
	tp_init(&t, "begin");
	add_script(&t);
	at_loc(&t, 0);
	mov_imm(&t, 0, 0);
	at_loc(&t, 1);
	add_imm(&t, 0, 3);
	exit_insn(&t);
	no_error(tp_load(&t, &o));
	fclose(f);
	contains(text, "; @x = *(bad);");
	CHECK_EQ(t.pp.nverified, 3);
	free(text);
	tp_deinit(&t);
}

// main calls a callback through bpf_loop: needs func_info, PSEUDO_FUNC
TEST(callbacks_get_func_info)
{
	NEED_BPF();
	struct TestProg t;
	int r;
	tp_init(&t, "loop");
	mov_imm(&t, 1, 10);
	ins(&t, BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 5); // instruction 7
	ins(&t, 0, 0, 0, 0, 0);
	mov_imm(&t, 3, 0);
	mov_imm(&t, 4, 0);
	call(&t, BPF_FUNC_loop);
	exit_insn(&t);
	struct CodeFunc cf = {7, "callback", 2, true};
	vec_push(&t.pp.code.funcs, cf);
	mov_imm(&t, 0, 0);
	exit_insn(&t);
	struct err *e = tp_load(&t, NULL);
	if (e && strstr(err_text(e), "needs the BPF helper")) {
		err_free(e);
		tp_deinit(&t);
		SKIP("kernel without bpf_loop");
	}
	no_error(e);
	CHECK_EQ(tp_run(&t, &r), 10);
	tp_deinit(&t);
}

TEST(features)
{
	NEED_BPF();
	static const enum Feature old[] = {FEAT_RINGBUF, FEAT_RAWTP, FEAT_BATCH, FEAT_SIGNAL, FEAT_KTIME_BOOT, FEAT_JIFFIES64, FEAT_GET_STACK,
					   FEAT_GET_NS_PID, FEAT_GLOBAL_DATA_MMAP};
	for (u32 i = 0; i < ARRAY_LEN(old); i++) // 5.10, the oldest kernel supported, has them all
		if (!feature_has(old[i]))
			T_FAIL("%s: no", feature_name(old[i]));
	if (feature_has(FEAT_FENTRY) || feature_has(FEAT_TP_BTF) || feature_has(FEAT_ITER))
		CHECK(feature_has(FEAT_BTF));
	if (feature_has(FEAT_LOOP_ROUNDS))
		CHECK(feature_has(FEAT_BPF_LOOP));
	if (feature_has(FEAT_KPROBE_SESSION))
		CHECK(feature_has(FEAT_KPROBE_MULTI));
	for (enum Feature f = 0; f < FEATURES; f++) {
		CHECK(strlen(feature_note(f)) > 10);
		for (enum Feature g = 0; g < f; g++)
			CHECK(strcmp(feature_name(f), feature_name(g)) != 0);
	}
	bool had = feature_has(FEAT_BPF_LOOP);
	feature_set(FEAT_BPF_LOOP, !had);
	CHECK_EQ(feature_has(FEAT_BPF_LOOP), !had);
	feature_set(FEAT_BPF_LOOP, had);
}

// What a feature promises must hold when it is used: v4 instructions and fetching atomics run and give the right answer.
TEST(features_hold)
{
	NEED_BPF();
	struct TestProg t;
	int r;
	if (feature_has(FEAT_V4_INSNS)) {
		tp_init(&t, "v4");
		mov_imm(&t, 0, -21);
		ins(&t, BPF_ALU64 | BPF_DIV | BPF_K, 0, 0, 1, 2);
		exit_insn(&t);
		no_error(tp_load(&t, NULL));
		CHECK_EQ((s32)tp_run(&t, &r), -10);
		tp_deinit(&t);
	}
	if (feature_has(FEAT_ATOMICS)) {
		tp_init(&t, "atomic");
		mov_imm(&t, 0, 5);
		ins(&t, BPF_STX | BPF_MEM | BPF_DW, 10, 0, -8, 0);
		ins(&t, BPF_STX | BPF_ATOMIC | BPF_DW, 10, 0, -8, BPF_ADD | BPF_FETCH);
		ins(&t, BPF_LDX | BPF_MEM | BPF_DW, 1, 10, -8, 0);
		ins(&t, BPF_ALU64 | BPF_ADD | BPF_X, 0, 1, 0, 0);
		exit_insn(&t);
		no_error(tp_load(&t, NULL));
		CHECK_EQ(tp_run(&t, &r), 15); // old 5 + new 10
		tp_deinit(&t);
	}
}

TEST(info_has_the_lines_scripts_look_for)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	info_print(f);
	fclose(f);
	static const char *const lines[] = {
		"System\n  OS: Linux ", "\n  Arch: ", "\nBuild\n  version: ", "\nKernel helpers\n", "\n  probe_read_kernel_str: ",
		"\n  send_signal: ", "\n  dpath: ", "\nKernel features\n", "\n  Instruction limit: ", "\n  Loop support: ", "\n  btf: ",
		"\n  map batch: ", "\n  uprobe refcount: ", "\nMap types\n", "\n  percpu array: ", "\nProbe types\n", "\n  kprobe: ",
		"\n  tracepoint: ", "\n  fentry: ", "\n  kprobe_multi: ", "\n  uprobe_multi: ", "\n  kprobe_session: ", "\n  iter: ",
	};
	for (u32 i = 0; i < ARRAY_LEN(lines); i++)
		contains(text, lines[i]);
	free(text);
}

// ---- links. The program counts in @n; `type` as it is attached.

struct Counter {
	struct TestProg t;
	struct MapDef *n;
};

static bool counter_init(struct Counter *c, u32 type, u32 attach_type)
{
	tp_init(&c->t, "counter");
	c->n = add_map(&c->t, "@n", BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE);
	map_val(&c->t, 1, c->n, 0);
	mov_imm(&c->t, 2, 1);
	ins(&c->t, BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD);
	mov_imm(&c->t, 0, 0);
	exit_insn(&c->t);
	struct SysProg base = {.type = type, .expected_attach_type = attach_type};
	struct err *e = load_maps(&c->t.prog, &c->t.loaded);
	if (!e)
		e = load_one(&c->t.prog, c->t.loaded, &c->t.pp, &base, NULL);
	bool ok = !e;
	no_error(e);
	return ok;
}

static u64 counted(struct Counter *c)
{
	return *(volatile u64 *)c->n->mmapped;
}

__attribute__((noinline)) int probed_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

struct FindOffset {
	u64 addr, off;
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct FindOffset *f = arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		u64 start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && f->addr >= start && f->addr < start + p->p_filesz)
			f->off = f->addr - start + p->p_offset;
	}
	return 1; // the first is the program itself
}

TEST(link_uprobe_multi)
{
	NEED_BPF();
	if (!feature_has(FEAT_UPROBE_MULTI))
		SKIP(feature_note(FEAT_UPROBE_MULTI));
	struct Counter c;
	struct FindOffset f = {.addr = (u64)(uintptr_t)probed_function};
	dl_iterate_phdr(find_offset, &f);
	CHECK(f.off != 0);
	if (counter_init(&c, BPF_PROG_TYPE_KPROBE, SYS_TRACE_UPROBE_MULTI)) {
		u64 cookie = 7;
		int link = sys_link_uprobe_multi(c.t.pp.fd, "/proc/self/exe", &f.off, NULL, &cookie, 1, 0, getpid());
		CHECK(link >= 0);
		for (int i = 0; i < 5; i++)
			probed_function(i);
		CHECK_EQ(counted(&c), 5);
		close(link);
		probed_function(1);
		CHECK_EQ(counted(&c), 5);
		link = sys_link_uprobe_multi(c.t.pp.fd, "/proc/self/exe", &f.off, NULL, NULL, 1, SYS_MULTI_RETURN, getpid());
		CHECK(link >= 0);
		probed_function(1);
		CHECK_EQ(counted(&c), 6);
		close(link);
	}
	tp_deinit(&c.t);
}

TEST(link_perf_event)
{
	NEED_BPF();
	if (!feature_has(FEAT_PERF_LINK))
		SKIP(feature_note(FEAT_PERF_LINK));
	struct Counter c;
	if (counter_init(&c, BPF_PROG_TYPE_PERF_EVENT, 0)) {
		struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000000};
		int ev = sys_perf_event_open(&a, 0, -1, -1, 0);
		CHECK(ev >= 0);
		CHECK_EQ(fcntl(ev, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		int link = sys_link_perf_event(c.t.pp.fd, ev, 99);
		CHECK(link >= 0);
		struct timespec t0, t1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
		do // 30 ms of own CPU time, a sample every millisecond
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
		while ((t1.tv_sec - t0.tv_sec) * 1000000000L + t1.tv_nsec - t0.tv_nsec < 30000000);
		CHECK(counted(&c) >= 5);
		close(link);
		close(ev);
	}
	tp_deinit(&c.t);
}

TEST(link_raw_tracepoint)
{
	NEED_BPF();
	struct Counter c;
	if (counter_init(&c, BPF_PROG_TYPE_RAW_TRACEPOINT, 0)) {
		int link = sys_raw_tracepoint_open("task_newtask", c.t.pp.fd);
		CHECK(link >= 0);
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		CHECK(counted(&c) >= 1);
		close(link);
		CHECK_EQ(sys_raw_tracepoint_open("no_such_event", c.t.pp.fd), -ENOENT);
	}
	tp_deinit(&c.t);
}

TEST(link_kprobe_multi)
{
	NEED_BPF();
	if (!feature_has(FEAT_KPROBE_MULTI))
		SKIP(feature_note(FEAT_KPROBE_MULTI));
	struct Counter c;
	if (counter_init(&c, BPF_PROG_TYPE_KPROBE, SYS_TRACE_KPROBE_MULTI)) {
		static const char *const syms[] = {"bpf_fentry_test1", "bpf_fentry_test2"}, *const wrong[] = {"sonde_no_such_function"};
		int link = sys_link_kprobe_multi(c.t.pp.fd, syms, NULL, NULL, 2, 0);
		CHECK(link >= 0);
		close(link);
		CHECK(sys_link_kprobe_multi(c.t.pp.fd, wrong, NULL, NULL, 1, 0) < 0);
	}
	tp_deinit(&c.t);
}

// BTF id of a function or typedef of vmlinux, through ctype.
static u32 btf_id(bool iter, const char *name)
{
	struct Arena a = {0};
	struct TypeTab types;
	struct Diags d = {0};
	struct Record *ctx;
	u32 id = 0;
	typetab_init(&types, &a);
	struct Ctypes *c = ctypes_create(&a, &types, &d);
	if (!iter)
		id = ctype_func_id(c, name);
	else
		err_free(ctype_iter(c, name, &ctx, &id));
	ctypes_destroy(c);
	typetab_deinit(&types);
	diags_deinit(&d);
	arena_deinit(&a);
	return id;
}

TEST(link_fentry_and_fexit)
{
	NEED_BPF();
	if (!feature_has(FEAT_FENTRY))
		SKIP(feature_note(FEAT_FENTRY));
	static const u32 types[] = {BPF_TRACE_FENTRY, BPF_TRACE_FEXIT};
	for (u32 i = 0; i < ARRAY_LEN(types); i++) {
		struct TestProg t;
		tp_init(&t, "fentry");
		mov_imm(&t, 0, 0);
		exit_insn(&t);
		struct SysProg base = {.type = BPF_PROG_TYPE_TRACING, .expected_attach_type = types[i], .attach_btf_id = btf_id(false, "bpf_fentry_test1")};
		no_error(load_maps(&t.prog, &t.loaded));
		no_error(load_one(&t.prog, t.loaded, &t.pp, &base, NULL));
		int link = sys_raw_tracepoint_open(NULL, t.pp.fd);
		CHECK(link >= 0);
		close(link);
		tp_deinit(&t);
	}
}

TEST(fentry_on_nothing_is_no_bug_of_ours)
{
	NEED_BPF();
	struct TestProg t;
	tp_init(&t, "fentry:x");
	mov_imm(&t, 0, 0);
	exit_insn(&t);
	struct SysProg base = {.type = BPF_PROG_TYPE_TRACING, .expected_attach_type = BPF_TRACE_FENTRY, .attach_btf_id = 1}; // an int
	no_error(load_maps(&t.prog, &t.loaded));
	struct err *e = load_one(&t.prog, t.loaded, &t.pp, &base, NULL);
	CHECK(e != NULL);
	contains(err_text(e), "fentry:x");
	CHECK(!strstr(err_text(e), "bug in sonde"));
	err_free(e);
	tp_deinit(&t);
}

// Several are loaded by as many threads as there are processors; what is told is of the one that was refused, the others stay.
#define SEVERAL 5
static struct err *spare(void *name, struct ProbeProg *pp, struct err *e)
{
	*(const char **)name = pp->ir.name;
	err_free(e);
	return NULL;
}

TEST(large_programs_of_which_one_is_refused)
{
	NEED_BPF();
	for (u32 hook = 0; hook < 2; hook++) {
		struct TestProg t[SEVERAL];
		struct ProbeProg *pp[SEVERAL];
		struct SysProg bases[SEVERAL];
		const char *refused = NULL;
		struct LoadOpts o = {.failed = hook ? spare : NULL, .arg = &refused};
		for (u32 i = 0; i < SEVERAL; i++) {
			tp_init(&t[i], i == 2 ? "refused" : "taken");
			for (u32 k = 0; k < 2000; k++)
				mov_imm(&t[i], 1, 0);
			if (i != 2) // else r0 has no value
				mov_imm(&t[i], 0, 0);
			exit_insn(&t[i]);
			pp[i] = &t[i].pp;
			bases[i] = (struct SysProg){.type = BPF_PROG_TYPE_RAW_TRACEPOINT};
		}
		no_error(load_maps(&t[0].prog, &t[0].loaded));
		struct err *e = load_progs(&t[0].prog, t[0].loaded, pp, SEVERAL, bases, &o);
		CHECK_EQ(!e, hook);
		if (e)
			contains(err_text(e), "refused");
		else
			CHECK_STR(refused, "refused");
		for (u32 i = 0; i < SEVERAL; i++)
			CHECK_EQ(pp[i]->fd >= 0, i != 2 && (hook || i < 2));
		err_free(e);
		for (u32 i = 0; i < SEVERAL; i++)
			tp_deinit(&t[i]);
	}
}

TEST(iterator)
{
	NEED_BPF();
	if (!feature_has(FEAT_ITER))
		SKIP(feature_note(FEAT_ITER));
	struct Counter c;
	tp_init(&c.t, "iter");
	c.n = add_map(&c.t, "@n", BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE);
	map_val(&c.t, 1, c.n, 0);
	mov_imm(&c.t, 2, 1);
	ins(&c.t, BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD);
	mov_imm(&c.t, 0, 0);
	exit_insn(&c.t);
	struct SysProg base = {.type = BPF_PROG_TYPE_TRACING, .expected_attach_type = BPF_TRACE_ITER, .attach_btf_id = btf_id(true, "task")};
	no_error(load_maps(&c.t.prog, &c.t.loaded));
	no_error(load_one(&c.t.prog, c.t.loaded, &c.t.pp, &base, NULL));
	int link = sys_link_iter(c.t.pp.fd, false), it = sys_iter_create(link);
	CHECK(link >= 0 && it >= 0);
	char buf[64];
	CHECK_EQ(read(it, buf, sizeof(buf)), 0); // it prints nothing
	CHECK(counted(&c) > 1);
	close(it);
	close(link);
	tp_deinit(&c.t);
}

TEST(object_info)
{
	NEED_BPF();
	struct TestProg t;
	tp_init(&t, "kprobe:x");
	mov_imm(&t, 0, 1);
	exit_insn(&t);
	no_error(tp_load(&t, NULL));
	struct bpf_prog_info info = {0};
	u32 len = sizeof(info), id;
	CHECK_EQ(sys_obj_info(t.pp.fd, &info, &len), 0);
	CHECK_STR(info.name, "kprobe_x");
	CHECK_EQ(info.type, BPF_PROG_TYPE_RAW_TRACEPOINT);
	CHECK_EQ(sys_prog_next_id(info.id - 1, &id), 0);
	CHECK_EQ(id, info.id);
	int fd = sys_prog_fd_by_id(id);
	CHECK(fd >= 0);
	close(fd);
	tp_deinit(&t);
	CHECK_EQ(sys_prog_fd_by_id(id), -ENOENT); // nothing is left behind
}

// Nobody: the error names what is missing.
TEST(missing_capabilities_are_named)
{
	if (geteuid() != 0)
		SKIP("needs root to drop privileges");
	int p[2];
	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setuid(65534))
			_exit(2);
		struct err *e = feature_need_caps();
		dprintf(p[1], "%s", e ? err_text(e) : "nothing");
		_exit(0);
	}
	close(p[1]);
	char buf[1000] = "";
	ssize_t len = read(p[0], buf, sizeof(buf) - 1);
	CHECK(len > 0);
	close(p[0]);
	waitpid(pid, NULL, 0);
	contains(buf, "CAP_BPF and CAP_PERFMON");
	contains(buf, "missing: both");
	contains(buf, "sudo");
}

T_MAIN()
