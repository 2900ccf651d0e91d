// In which order tables are built: what somebody runs or asks for comes before, and in the middle of, a large one that nobody waits for.
// Input: files of this machine. Output: the states of rt_uw_obj.
#include "need_bpf.h"
#include <dirent.h>
#include <glob.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "track/internal.h"
#include "unwind/unwind.h"

#define LARGE "/usr/lib/llvm-*/lib/libLLVM*.so*"

struct Fix {
	struct Program prog;
	struct MapDef pages, arrays[4];
	struct Syms *syms;
	struct Tables *t;
};

static void setup(struct Fix *f)
{
	static const struct {
		const char *name;
		u64 size;
	} arrays[] = {{"rt_uw_obj", RT_UW_OBJS * sizeof(struct RtUwObj)}, {"rt_uw_dir", RT_UW_DIRS * 8}, {"rt_uw_rules", RT_UW_RULES * sizeof(struct RtUwRule)},
		      {"rt_langs", RT_LANGS * sizeof(struct RtLang)}};
	struct SysMap inner = {BPF_MAP_TYPE_ARRAY, 4, RT_UW_VAL_SIZE, 1, BPF_F_MMAPABLE, "inner", 0};
	int fd = sys_map_create(&inner);
	struct SysMap outer = {BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, RT_UW_VALS, 0, "outer", fd};
	*f = (struct Fix){.pages = {.name = "rt_uw_pages", .fd = sys_map_create(&outer)}};
	close(fd);
	vec_push(&f->prog.maps, &f->pages);
	for (u32 i = 0; i < ARRAY_LEN(arrays); i++) {
		f->arrays[i] = (struct MapDef){.name = arrays[i].name, .fd = -1, .mmapped = xcalloc(1, arrays[i].size)};
		vec_push(&f->prog.maps, &f->arrays[i]);
	}
	f->syms = syms_create(&(struct SymOpts){0});
	no_error(tables_create(&f->prog, false, 0, &f->t));
}

static void teardown(struct Fix *f)
{
	tables_destroy(f->t);
	syms_destroy(f->syms);
	close(f->pages.fd);
	for (u32 i = 0; i < ARRAY_LEN(f->arrays); i++)
		free(f->arrays[i].mmapped);
	vec_deinit(&f->prog.maps);
}

static u64 soon(void)
{
	return now_ns() + 60000000000ull;
}

// Room for tables, and a large one asked for; NULL: there is no large file.
static struct SymObject *setup_large(struct Fix *f)
{
	glob_t g = {0};
	if (glob(LARGE, 0, NULL, &g))
		return NULL;
	setup(f);
	struct SymObject *large = sym_object_path(f->syms, g.gl_pathv[0]);
	globfree(&g);
	tables_need(f->t, large, false);
	return large;
}

#define ATTEMPTS 8 // on a busy machine the thread that looks may come when the large table is ready

// Small tables are asked for while the large one is built. Was that not ready when they were?
static bool small_come_first(struct Fix *f, struct SymObject *large)
{
	static const char *const small[] = {"/bin/sh", "/bin/cat", "/proc/self/exe"};
	u32 id[ARRAY_LEN(small)];

	no_error(tables_start(f->t));
	usleep(10000);
	for (u32 i = 0; i < ARRAY_LEN(small); i++) {
		struct SymObject *o = sym_object_path(f->syms, small[i]);
		tables_need(f->t, o, i == 1);
		id[i] = o->id;
	}
	tables_wait_for(f->t, id, ARRAY_LEN(id), soon());
	bool first = tablemaps_state(tables_maps(f->t), large->id) == RT_UW_PENDING;
	for (u32 i = 0; i < ARRAY_LEN(id); i++)
		CHECK_EQ(tablemaps_state(tables_maps(f->t), id[i]), RT_UW_READY);
	tables_wait(f->t, soon());
	CHECK_EQ(tablemaps_state(tables_maps(f->t), large->id), RT_UW_READY);
	return first;
}

TEST(small_tables_within_a_large_one)
{
	bool first = false;

	NEED_BPF();
	for (u32 i = 0; i < ATTEMPTS && !first; i++) {
		struct Fix f;
		struct SymObject *large = setup_large(&f);
		if (!large)
			SKIP("no large library (libLLVM)");
		first = small_come_first(&f, large);
		teardown(&f);
	}
	CHECK(first);
}

// Code made at run time whose rows are known is no work: it is not kept waiting by what the user has named.
static bool made_comes_first(struct Fix *f, struct SymObject *large)
{
	const struct MadeSym sym = {0, 64, "made"};
	struct SymObject *o = sym_object_made(f->syms, 64, &(struct MadeNames){&sym, 1});
	struct UwMade *made = xcalloc(1, sizeof(*made));
	vec_push(&made->rows, ((struct MadeRow){0, {.kind = RT_UW_REG, .reg = RT_R_SP, .off = 8, .ra = -8}}));
	vec_push(&made->rows, ((struct MadeRow){64, {0}}));
	no_error(tables_start(f->t));
	tables_need(f->t, large, true);
	usleep(10000);
	CHECK(tables_made(f->t, o, made));
	tables_wait_for(f->t, &o->id, 1, soon());
	bool first = tablemaps_state(tables_maps(f->t), large->id) == RT_UW_PENDING;
	CHECK_EQ(tablemaps_state(tables_maps(f->t), o->id), RT_UW_READY);
	tables_wait(f->t, soon());
	return first;
}

TEST(made_code_within_a_named_one)
{
	bool first = false;

	NEED_BPF();
	for (u32 i = 0; i < ATTEMPTS && !first; i++) {
		struct Fix f;
		struct SymObject *large = setup_large(&f);
		if (!large)
			SKIP("no large library (libLLVM)");
		first = made_comes_first(&f, large);
		teardown(&f);
	}
	CHECK(first);
}

static u32 fifo_threads(void) // of this process
{
	u32 n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.' && sched_getscheduler(atoi(e->d_name)) == SCHED_FIFO;
	closedir(d);
	return n;
}

// More processes compute than there are processors. What a process maps that the user has named is built by a thread of its own, which has the priority of who asks for it (the
// tracker), in the middle of a large table.
TEST(a_named_table_on_a_busy_machine)
{
	static const char *const paths[] = {"/bin/bash", "/bin/sh", "/proc/self/exe", "/usr/bin/python3", "/lib/x86_64-linux-gnu/libc.so.6"};
	u32 n = (u32)sysconf(_SC_NPROCESSORS_ONLN) * 3, late = 0, seen = 0;
	struct Fix f;

	NEED_BPF();
	struct SymObject *large = setup_large(&f);
	if (!large)
		SKIP("no large library (libLLVM)");
	pid_t *busy = xcalloc(n, sizeof(*busy));
	for (u32 i = 0; i < n; i++)
		if (!(busy[i] = fork())) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
	no_error(tables_start(f.t));
	bool first = !sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}); // as the tracker
	for (u32 i = 0; i < ARRAY_LEN(paths); i++) {
		struct SymObject *o = access(paths[i], R_OK) ? NULL : sym_object_path(f.syms, paths[i]);
		if (!o)
			continue;
		tables_need(f.t, o, true);
		tables_wait_for(f.t, &o->id, 1, soon());
		CHECK_EQ(tablemaps_state(tables_maps(f.t), o->id), RT_UW_READY);
		late += tablemaps_state(tables_maps(f.t), large->id) != RT_UW_PENDING;
		seen++;
	}
	CHECK_EQ(fifo_threads(), first ? 2 : 0);
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	CHECK(seen > 1);
	CHECK(late < seen);
	u64 end = soon();
	tables_wait(f.t, end);
	CHECK(now_ns() < end);
	CHECK_EQ(tablemaps_state(tables_maps(f.t), large->id), RT_UW_READY);
	for (u32 i = 0; i < n; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
	free(busy);
	teardown(&f);
}

TEST(the_end_does_not_wait_for_a_large_table)
{
	bool waited = true;

	NEED_BPF();
	for (u32 i = 0; i < ATTEMPTS && waited; i++) {
		struct Fix f;
		struct SymObject *large = setup_large(&f);
		if (!large)
			SKIP("no large library (libLLVM)");
		no_error(tables_start(f.t));
		usleep(10000);
		tables_destroy(f.t);
		f.t = NULL;
		waited = ((struct RtUwObj *)f.arrays[0].mmapped)[large->id].state != RT_UW_PENDING;
		teardown(&f);
	}
	CHECK(!waited);
}

// A program that was deleted before its table's turn has come, and that is built again.
TEST(a_file_that_was_closed_and_comes_back)
{
	NEED_BPF();
	struct Fix f;
	setup(&f);
	char path[] = "/tmp/sonde-tables.XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	char *cmd = xasprintf("cp /proc/%d/exe %s", getpid(), path);
	CHECK_EQ(system(cmd), 0);
	struct SymObject *o = sym_object_path(f.syms, path);
	CHECK(o != NULL);
	unlink(path);
	for (u32 i = 1; i <= 4; i++) {
		bool waiting;
		u32 n;
		struct SymFile **v = sym_files_unused(f.syms, NULL, 0, i, &n, &waiting);
		sym_files_close(f.syms, v, n);
	}
	CHECK_EQ(sym_object_gone(f.syms), 1);
	no_error(tables_start(f.t));
	tables_need(f.t, o, false);
	u64 end = soon();
	tables_wait(f.t, end);
	CHECK(now_ns() < end); // nobody tries again and again
	CHECK_EQ(tablemaps_state(tables_maps(f.t), o->id), RT_UW_PENDING);
	CHECK_EQ(system(cmd), 0);
	CHECK(sym_object_path(f.syms, path) == o);
	tables_need(f.t, o, false);
	tables_wait(f.t, soon());
	CHECK_EQ(tablemaps_state(tables_maps(f.t), o->id), RT_UW_READY);
	unlink(path);
	free(cmd);
	teardown(&f);
}

// A third of a per cent: what a start takes comes at once, what is more has to be waited for, and rest is saved up to as much as a start.
TEST(price_of_tables)
{
	const u64 s = 1000000000;
	struct TablesPay p = {.share = 0.01 / 3, .credit = TABLES_CREDIT_NS, .at_ns = 5 * s}, free = {.credit = 0};
	CHECK_EQ(tables_pay(&p, 6 * s, s), 0); // a second is used in a second: more than that is not saved up, so nothing is left
	CHECK_EQ(tables_pay(&p, 6 * s, s + s / 10) / s, 30);
	CHECK_EQ(tables_pay(&p, 37 * s, s + s / 10), 0);
	CHECK_EQ(tables_pay(&p, 1000 * s, s + s / 10), 0);
	CHECK_EQ(tables_pay(&p, 100000 * s, s + s / 10), 0);
	CHECK_EQ(tables_pay(&p, 100000 * s, 2 * s + s / 10), 0);
	CHECK_EQ(tables_pay(&p, 100000 * s, 3 * s + s / 10) / s, 300);
	CHECK_EQ(tables_pay(&free, s, 100 * s), 0);
}

T_MAIN()
