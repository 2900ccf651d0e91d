// Who maps what, from records as the kernel gives them, in orders it may give them in. Input: records made up or real. Output: the elements of rt_uw_maps.
#include "need_bpf.h"
#include <fcntl.h>
#include <glob.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include "track/internal.h"

struct Fix {
	struct Syms *syms;
	struct Procs *procs;
	struct ProcsMaps maps;
};

static int map_of(u32 key, u32 value)
{
	struct SysMap m = {BPF_MAP_TYPE_HASH, key, value, 1024, 0, "test", 0};
	return sys_map_create(&m);
}

static u32 nobjects; // told of
static void no_object(void *arg, struct SymObject *o, bool named)
{
	(void)arg;
	(void)o;
	nobjects++;
}

static int gone; // the last one told of
static void on_gone(void *arg, int tgid)
{
	(void)arg;
	gone = tgid;
}

static struct Fix setup_as(bool on_demand)
{
	static const struct TrackOpts opts;
	struct ProcsOps ops = {no_object, on_gone, NULL};
	struct Fix f = {.maps = {map_of(sizeof(struct RtUwKey), sizeof(struct RtUwChunk)), map_of(4, 4), map_of(sizeof(struct RtUwFile), 4)}};
	f.syms = syms_create(&(struct SymOpts){0});
	f.procs = uwprocs_create(f.syms, &f.maps, &opts, on_demand, &ops);
	return f;
}

static struct Fix setup(void)
{
	return setup_as(false);
}

static void teardown(struct Fix *f)
{
	uwprocs_destroy(f->procs);
	syms_destroy(f->syms);
	close(f->maps.maps);
	close(f->maps.asked);
	close(f->maps.files);
}

// What the kernel side knows of an address of a process.
static struct RtUwMapping known_at(struct Fix *f, int tgid, u64 addr)
{
	struct RtUwKey key = {(u32)tgid, 0};
	struct RtUwChunk c;
	struct RtUwMapping none = {0};

	if (sys_map_lookup(f->maps.maps, &key, &c) || c.level)
		return none;
	for (u32 i = 0; i < c.n; i++)
		if (addr - c.map[i].start < (u64)c.map[i].pages * RT_UW_PAGE)
			return c.map[i];
	return none;
}

// The record of a mapping of this program's own code, and of one that nobody has.
static struct MapEvent own_code(u64 time)
{
	static char path[4096];
	struct MapEvent e = {.kind = MAPEV_MMAP, .tgid = getpid(), .time = time, .path = path};
	char line[4400];
	FILE *in = fopen("/proc/self/maps", "r");
	u64 at = (u64)(uintptr_t)own_code;

	while (in && fgets(line, sizeof(line), in)) {
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %4095s", &e.start, &e.end, &e.off, &e.major, &e.minor, &e.ino, path) >= 6 && at - e.start < e.end - e.start)
			break;
	}
	if (in)
		fclose(in);
	return e;
}
#define NOBODYS 0x10000u
static struct MapEvent nobodys(int tgid, u64 time)
{
	return (struct MapEvent){.kind = MAPEV_MMAP, .tgid = tgid, .time = time, .start = NOBODYS, .end = 2 * NOBODYS, .path = "//anon"};
}
static struct MapEvent exec_of(int tgid, u64 time)
{
	return (struct MapEvent){.kind = MAPEV_EXEC, .tgid = tgid, .time = time, .path = ""};
}

static void give(struct Fix *f, struct MapEvent e)
{
	uwprocs_event(f->procs, &e);
}

// In the order in which it happened: the program that called execve(2) is gone, what was mapped since is there, and /proc was not asked.
TEST(exec_then_mmap)
{
	NEED_BPF();
	struct Fix f = setup();
	give(&f, nobodys(getpid(), 10));
	give(&f, exec_of(getpid(), 20));
	give(&f, own_code(30));
	uwprocs_settle(f.procs);
	CHECK(known_at(&f, getpid(), (u64)(uintptr_t)own_code).obj != 0);
	CHECK(!known_at(&f, getpid(), NOBODYS).start);
	CHECK(!known_at(&f, getpid(), (u64)(uintptr_t)printf).obj);
	teardown(&f);
}
// The process changed its CPU between the two, and that one's records were read first: nothing it has mapped may be lost.
TEST(exec_is_read_after_its_mmap)
{
	NEED_BPF();
	struct Fix f = setup();
	give(&f, own_code(30));
	give(&f, exec_of(getpid(), 20));
	uwprocs_settle(f.procs);
	CHECK(known_at(&f, getpid(), (u64)(uintptr_t)own_code).obj != 0);
	CHECK(known_at(&f, getpid(), (u64)(uintptr_t)printf).obj != 0);
	teardown(&f);
}
TEST(mmap_is_read_after_a_later_one)
{
	NEED_BPF();
	struct Fix f = setup();
	give(&f, own_code(30));
	give(&f, nobodys(getpid(), 20));
	uwprocs_settle(f.procs);
	CHECK(known_at(&f, getpid(), (u64)(uintptr_t)own_code).obj != 0);
	CHECK(!known_at(&f, getpid(), NOBODYS).start);
	teardown(&f);
}
// A child has what its parent had when it was forked.
TEST(fork_is_read_after_the_parents_mmap)
{
	NEED_BPF();
	struct Fix f = setup();
	int child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	give(&f, own_code(10));
	give(&f, nobodys(getpid(), 30));
	give(&f, (struct MapEvent){.kind = MAPEV_FORK, .tgid = child, .parent = getpid(), .time = 20, .path = ""});
	uwprocs_settle(f.procs);
	CHECK(known_at(&f, getpid(), NOBODYS).start == NOBODYS);
	CHECK(!known_at(&f, child, NOBODYS).start);
	CHECK(known_at(&f, child, (u64)(uintptr_t)own_code).obj != 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	teardown(&f);
}
// A process that has ended made code at run time, and its number is a forked one's: that has none of it.
TEST(fork_with_the_number_of_one_that_made_code)
{
	NEED_BPF();
	struct Fix f = setup();
	struct ProcMap made = {.start = NOBODYS, .end = NOBODYS + 4096, .made = PROC_MADE};
	int child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	struct MapEvent born = {.kind = MAPEV_FORK, .tgid = child, .parent = getpid(), .time = 40, .path = ""};
	give(&f, nobodys(child, 10));
	uwprocs_settle(f.procs);
	for (u32 dead = 0; dead < 2; dead++, born.time += 20) { // the record of its end may be lost
		CHECK(uwprocs_made(f.procs, child, &made, 1, 7));
		const struct UwProc *q = *uwproc_slot(f.procs, child);
		CHECK(q->made.n == 1 && q->jits == 7);
		if (dead)
			give(&f, (struct MapEvent){.kind = MAPEV_EXIT, .tgid = child, .time = born.time - 10, .path = ""});
		gone = 0;
		give(&f, born);
		CHECK_EQ(gone, child);
		CHECK(!q->made.n && !q->jits && !q->dead);
		uwprocs_settle(f.procs);
		CHECK(known_at(&f, child, (u64)(uintptr_t)own_code).obj != 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	teardown(&f);
}
// An exit that is older than the process's newest record is that of an earlier process of its number.
TEST(exit_of_an_earlier_process)
{
	NEED_BPF();
	struct Fix f = setup();
	give(&f, own_code(30));
	give(&f, (struct MapEvent){.kind = MAPEV_EXIT, .tgid = getpid(), .time = 20, .path = ""});
	uwprocs_settle(f.procs);
	uwprocs_tick(f.procs, 1);
	uwprocs_tick(f.procs, 1000000000000);
	CHECK(known_at(&f, getpid(), (u64)(uintptr_t)own_code).obj != 0);
	teardown(&f);
}

// On demand nobody is followed before the kernel side asks, nor are children of those; but files are known before.
TEST(followed_on_demand)
{
	NEED_BPF();
	struct Fix f = setup_as(true);
	struct MapEvent e = own_code(10);
	u64 dev = makedev(e.major, e.minor);
	struct RtUwFile key = {0};
	nobjects = 0;
	uwprocs_scan(f.procs);
	CHECK_EQ(uwprocs_count(f.procs), 0);
	CHECK_EQ(nobjects, 0);
	give(&f, e);
	give(&f, (struct MapEvent){.kind = MAPEV_FORK, .tgid = getpid() + 1, .parent = getpid(), .time = 20, .path = ""});
	uwprocs_settle(f.procs);
	CHECK_EQ(uwprocs_count(f.procs), 0);
	CHECK_EQ(nobjects, 1);
	CHECK(!known_at(&f, getpid(), (u64)(uintptr_t)own_code).obj);
	CHECK(!sys_map_next_key(f.maps.files, NULL, &key) && key.ino == e.ino && key.dev == (major(dev) << 20 | minor(dev)));
	uwprocs_asked(f.procs, getpid());
	give(&f, (struct MapEvent){.kind = MAPEV_FORK, .tgid = getpid() + 1, .parent = getpid(), .time = 30, .path = ""});
	uwprocs_settle(f.procs);
	CHECK_EQ(uwprocs_count(f.procs), 1);
	CHECK(known_at(&f, getpid(), (u64)(uintptr_t)own_code).obj != 0);
	CHECK(known_at(&f, getpid(), (u64)(uintptr_t)printf).obj != 0);
	give(&f, nobodys(getpid(), 40)); // from now on it is followed
	uwprocs_settle(f.procs);
	CHECK_EQ(known_at(&f, getpid(), NOBODYS).start, NOBODYS);
	give(&f, (struct MapEvent){.kind = MAPEV_LOST, .path = ""});
	uwprocs_settle(f.procs);
	CHECK_EQ(uwprocs_count(f.procs), 1);
	CHECK(known_at(&f, getpid(), (u64)(uintptr_t)own_code).obj != 0);
	teardown(&f);
}

// A list of large files is read a part at a time, for who follows processes has others to see to; in the end it is read.
TEST(a_list_of_large_files_is_read_in_parts)
{
	NEED_BPF();
	static u64 entries[12][4], head[3];
	u64 size = 5u << 20, end = now_ns() + 60000000000u;
	struct Fix f = setup();
	struct Jits *j = jits_create(-1, f.syms, NULL, f.procs, NULL);
	struct Jit *t = xcalloc(1, sizeof(*t));
	u8 *file = xcalloc(size, 1);
	size_t n = ARRAY_LEN(entries), had = 0;
	for (size_t i = 0; i < n; i++) {
		u64 e[4] = {i + 1 < n ? (u64)entries[i + 1] : 0, 0, (u64)file, size};
		memcpy(entries[i], e, sizeof(e));
	}
	head[0] = 1;
	head[2] = (u64)entries[0];
	*t = (struct Jit){.tgid = getpid(), .ndesc = 1, .desc = {(u64)head}};
	vec_push(&j->v, t);
	bool more = jits_round(j, true);
	CHECK(more && t->entries.n > 0 && t->entries.n <= 4 && !t->version);
	while (more && now_ns() < end) {
		CHECK(t->entries.n >= had && t->entries.n <= had + 4);
		had = t->entries.n;
		usleep(1000);
		more = jits_round(j, false);
	}
	CHECK_EQ(t->entries.n, n);
	CHECK(t->version && !t->part);
	jits_destroy(j);
	free(file);
	teardown(&f);
}

// ---- the kernel's own records
struct Seen {
	u64 first, last;
	u32 n, execs, back;
};
static void on_record(void *arg, const struct MapEvent *e)
{
	struct Seen *s = arg;
	s->first = s->n++ ? s->first : e->time;
	s->back += e->time < s->last;
	s->last = e->time;
	s->execs += e->kind == MAPEV_EXEC;
}
// The record of its end is among those that were lost.
TEST(a_process_that_ended_unseen_is_forgotten)
{
	NEED_BPF();
	for (u32 on_demand = 0; on_demand < 2; on_demand++) {
		struct Fix f = setup_as(on_demand);
		pid_t child = fork();
		if (!child) {
			pause();
			_exit(0);
		}
		uwprocs_new(f.procs, child);
		CHECK(known_at(&f, child, (u64)(uintptr_t)own_code).obj != 0);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		u64 now = now_ns();
		for (u32 i = 0; i < 10; i++)
			uwprocs_tick(f.procs, now + i * 500000000ull);
		CHECK(known_at(&f, child, (u64)(uintptr_t)own_code).obj != 0);
		give(&f, (struct MapEvent){.kind = MAPEV_LOST});
		uwprocs_settle(f.procs);
		for (u32 i = 10; i < 20; i++)
			uwprocs_tick(f.procs, now + i * 500000000ull);
		CHECK(!known_at(&f, child, (u64)(uintptr_t)own_code).obj);
		teardown(&f);
	}
}

// ---- files that are deleted
static void run_dir_away(const char *dir)
{
	char *cmd = xasprintf("rm -rf %s", dir);
	CHECK_EQ(system(cmd), 0);
	free(cmd);
}

static char *copy_of_own(const char *dir, u32 nr, u32 longer, struct stat *st)
{
	char *path = xasprintf("%s/%u", dir, nr), *cmd = xasprintf("cp /proc/%d/exe %s && truncate -s +%u %s", getpid(), path, longer, path);
	CHECK_EQ(system(cmd), 0);
	CHECK_EQ(stat(path, st), 0);
	free(cmd);
	return path;
}

// A process that has mapped the file, and is gone by now.
static void ran(struct Fix *f, int tgid, const char *path, const struct stat *st, u64 time)
{
	struct MapEvent e = {.kind = MAPEV_EXEC, .tgid = tgid, .time = time};
	uwprocs_event(f->procs, &e);
	struct MapEvent m = {.kind = MAPEV_MMAP, .tgid = tgid, .time = time, .start = 0x400000, .end = 0x800000, .ino = st->st_ino,
			     .major = major(st->st_dev), .minor = minor(st->st_dev), .path = path};
	uwprocs_event(f->procs, &m);
	uwprocs_settle(f->procs);
	e.kind = MAPEV_EXIT;
	uwprocs_event(f->procs, &e);
}

// Half a minute of ticks
static void long_after(struct Fix *f, u64 *now)
{
	for (u32 i = 0; i < 60; i++, *now += 500000000)
		uwprocs_tick(f->procs, *now);
}

static void copy_of_own_was_seen(struct Fix *f, const char *dir)
{
	struct stat st;
	char *path = copy_of_own(dir, 1000, 2, &st);
	CHECK(sym_object_path(f->syms, path) != NULL);
	free(path);
}

static u32 open_files(const char *of)
{
	glob_t g = {0};
	u32 n = 0;
	glob("/proc/self/fd/*", 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		char to[4096];
		ssize_t len = readlink(g.gl_pathv[i], to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = 0;
		n += strstr(to, of) != NULL;
	}
	globfree(&g);
	return n;
}

static u32 files_told(struct Fix *f)
{
	struct RtUwFile at, next;
	u32 n = 0;
	for (int rc = sys_map_next_key(f->maps.files, NULL, &next); rc >= 0; n++, at = next, rc = sys_map_next_key(f->maps.files, &at, &next))
		;
	return n;
}

#define GONE 0x10000000 // no process has such a number
TEST(copies_that_are_deleted_are_closed)
{
	NEED_BPF();
	struct Fix f = setup();
	char dir[] = "/tmp/sonde-files.XXXXXX";
	CHECK(mkdtemp(dir));
	u64 now = now_ns();
	struct stat st;
	char *stays = copy_of_own(dir, 0, 0, &st);
	ran(&f, GONE, stays, &st, now);
	for (u32 i = 1; i <= 100; i++) {
		char *path = copy_of_own(dir, i, 0, &st);
		ran(&f, GONE + (int)i, path, &st, now);
		unlink(path);
		free(path);
	}
	CHECK_EQ(sym_object_count(f.syms), 1);
	CHECK_EQ(open_files(dir), 101);
	CHECK_EQ(files_told(&f), 101);
	long_after(&f, &now);
	CHECK_EQ(open_files(dir), 1);
	CHECK_EQ(files_told(&f), 1);
	// deleted too, but the names are its: nobody has said that all stacks are told
	unlink(stays);
	free(stays);
	long_after(&f, &now);
	CHECK_EQ(open_files(dir), 1);
	run_dir_away(dir);
	teardown(&f);
}

// In use: by a process that is there, whose program was deleted.
TEST(a_deleted_file_that_is_mapped_stays)
{
	NEED_BPF();
	struct Fix f = setup();
	char dir[] = "/tmp/sonde-files.XXXXXX";
	CHECK(mkdtemp(dir));
	u64 now = now_ns();
	struct stat st;
	char *first = copy_of_own(dir, 0, 1, &st), *path = copy_of_own(dir, 1, 1, &st); // this program is mapped, too, and a byte shorter
	int fd = open(path, O_RDONLY);
	void *p = mmap(NULL, 1 << 16, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	close(fd);
	CHECK(sym_object_path(f.syms, first) != NULL);
	uwprocs_new(f.procs, getpid());
	unlink(path);
	unlink(first);
	for (u32 i = 0; i < 5; i++) {
		uwprocs_report(f.procs);
		long_after(&f, &now);
	}
	CHECK_EQ(open_files(dir), 2); // the object's own, which the copy has its names from
	munmap(p, 1 << 16);
	uwprocs_new(f.procs, getpid());
	copy_of_own_was_seen(&f, dir);
	for (u32 i = 0; i < 5; i++) {
		uwprocs_report(f.procs);
		long_after(&f, &now);
	}
	CHECK_EQ(open_files(dir), 1); // the one that was seen just now
	free(first);
	free(path);
	run_dir_away(dir);
	teardown(&f);
}

TEST(programs_that_are_deleted_are_closed_after_reports)
{
	NEED_BPF();
	enum { N = 20 };
	struct Fix f = setup();
	char dir[] = "/tmp/sonde-files.XXXXXX";
	CHECK(mkdtemp(dir));
	u64 now = now_ns();
	struct stat st;
	for (u32 i = 0; i < N; i++) { // of different sizes: no copies
		char *path = copy_of_own(dir, i, i, &st);
		ran(&f, GONE + (int)i, path, &st, now);
		unlink(path);
		free(path);
	}
	CHECK_EQ(sym_object_count(f.syms), N);
	struct SymObject *o = sym_object(f.syms, 1);
	struct SymSegment seg;
	CHECK_EQ(sym_object_segments(o, &seg, 1), 1);
	struct SymDef d;
	CHECK(sym_object_find(f.syms, o, "uwprocs_tick", &d));
	const char *name = sym_object_off(f.syms, o, d.file_off).name;
	CHECK_STR(name, "uwprocs_tick");
	long_after(&f, &now);
	uwprocs_report(f.procs);
	uwprocs_report(f.procs);
	long_after(&f, &now);
	CHECK_EQ(sym_object_gone(f.syms), 0);
	CHECK_EQ(open_files(dir), N); // a stack of theirs may be in the report that is being made
	uwprocs_report(f.procs);
	long_after(&f, &now);
	CHECK_EQ(open_files(dir), 0);
	CHECK_EQ(sym_object_gone(f.syms), N);
	CHECK_STR(name, "uwprocs_tick"); // as it was given
	// it is built again, the same: the same object with all its names
	char *path = copy_of_own(dir, N, 0, &st);
	ran(&f, GONE + N, path, &st, now);
	CHECK(sym_object_path(f.syms, path) == o);
	CHECK_EQ(sym_object_count(f.syms), N);
	CHECK_EQ(sym_object_gone(f.syms), N - 1);
	CHECK_STR(sym_object_off(f.syms, o, d.file_off).name, "uwprocs_tick");
	unlink(path);
	free(path);
	run_dir_away(dir);
	teardown(&f);
}

static void true_runs(u32 n)
{
	for (u32 i = 0; i < n; i++) {
		int child = fork();
		if (!child) {
			cpu_set_t one;
			CPU_ZERO(&one);
			CPU_SET(i % (u32)sysconf(_SC_NPROCESSORS_ONLN), &one);
			sched_setaffinity(0, sizeof(one), &one);
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		waitpid(child, NULL, 0);
	}
}

static struct MapEvents *map_events(void)
{
	static char why[400];
	struct MapEvents *m;
	struct err *e = mapev_open(&m, false);
	if (!e)
		return m;
	snprintf(why, sizeof(why), "%s", err_text(e));
	err_free(e);
	t_skipped = why;
	return NULL;
}

static u32 ready(struct MapEvents *m)
{
	u32 n = 0;
	for (u32 i = 0; i < mapev_count(m); i++)
		n += poll(&(struct pollfd){mapev_fd(m, i), POLLIN, 0}, 1, 0) == 1;
	return n;
}

TEST(records_of_all_cpus_in_order)
{
	NEED_BPF();
	struct MapEvents *m = map_events();
	if (!m)
		return;
	struct Seen s = {0};
	u64 began = now_ns();
	true_runs(20);
	CHECK(ready(m));
	mapev_read(m, on_record, &s);
	CHECK(s.execs >= 20);
	CHECK(s.n >= 80); // forks, execs, mappings, exits
	CHECK_EQ(s.back, 0);
	CHECK(s.first >= began);
	CHECK(s.last <= now_ns());
	mapev_close(m);
}

TEST(gathered_records_wake_nobody_and_none_is_lost)
{
	NEED_BPF();
	struct MapEvents *m = map_events();
	if (!m)
		return;
	CHECK(!mapev_gather(m, true)); // there is one set only
	mapev_open_gathering(m);
	for (u32 i = 0; i < 3; i++) {
		struct Seen s = {0};
		CHECK(mapev_gather(m, true));
		mapev_read(m, on_record, &s);
		ready(m); // of before
		s = (struct Seen){0};
		true_runs(5);
		CHECK_EQ(ready(m), 0);
		CHECK(mapev_gather(m, false));
		true_runs(5);
		CHECK(ready(m));
		mapev_read(m, on_record, &s);
		CHECK(s.execs >= 10);
		CHECK_EQ(s.back, 0);
	}
	mapev_close(m);
}
T_MAIN()
