// kprobe, kretprobe, fentry, fexit: only where the kernel has them (the guests of test/vm do). The functions behind getpgid(2) are probed.
#include <errno.h>
#include <fcntl.h>
#include "attach_fix.h"

#if defined(__x86_64__)
#define SYS "__x64_sys_"
#else
#define SYS "__arm64_sys_"
#endif

#define NEED(feature)                                                                                                  \
	if (!feature_has(feature))                                                                                     \
	SKIP("this kernel has no such probes")

static void cause_getpgid(void)
{
	for (int i = 0; i < 100; i++)
		getpgid(0);
}

static void cause_one(void)
{
	getpgid(0);
}

TEST(kprobe_kinds)
{
	NEED(FEAT_KPROBE);
	static const struct Kind kinds[] = {
		{"kprobe:" SYS "getpgid", cause_getpgid, 100, 0, 1},
		{"k:vmlinux:" SYS "getpgid", cause_getpgid, 100, 0, 1},
		{"kretprobe:" SYS "getpgid", cause_getpgid, 100, 0, 1},
		{"kprobe:" SYS "getpgi*", cause_getpgid, 100, 0, 1},
		{"kretprobe:" SYS "getpgi*", cause_getpgid, 100, 0, 1},
	};
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++)
		check_kind(&kinds[i], 0);
}

TEST(fentry_kinds)
{
	NEED(FEAT_FENTRY);
	static const struct Kind kinds[] = {
		{"fentry:" SYS "getpgid", cause_getpgid, 100, 0, 1},
		{"fexit:vmlinux:" SYS "getpgid", cause_getpgid, 100, 0, 1},
	};
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++)
		check_kind(&kinds[i], 0);
}

static void many(const char *text, bool no_multi)
{
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp;
	u64 n = 0;
	fix_init(&f);
	f.env.no_kprobe_multi = no_multi;
	counter_init(&c);
	struct Attachments *at = run(&f, &pp, &c, text, &n);
	CHECK(n >= 20);
	CHECK(n <= f.points.v.n);
	cause_getpgid();
	CHECK(c.slots[0] >= 100);
	attachments_destroy(at);
	u64 got = c.slots[0];
	cause_getpgid();
	CHECK_EQ(c.slots[0], got);
	close(pp.fd);
	counter_deinit(&c);
	fix_deinit(&f);
}

// Functions with and without a suffix, counted at once; nothing remains in kprobe_events.
TEST(many_kprobes)
{
	NEED(FEAT_KPROBE);
	const char *root;
	char path[300];
	err_free(tracefs_path(&root));
	snprintf(path, sizeof(path), "%s/kprobe_events", root);
	int fd = open(path, O_WRONLY | O_APPEND);
	CHECK(write(fd, "p:sonde_99999999/k0 vfs_read\n", 29) == 29); // as a killed sonde leaves it
	close(fd);
	many("kprobe:" SYS "get*", false);
	many("kretprobe:" SYS "get*", false);
	if (feature_has(FEAT_KPROBE_MULTI)) {
		many("kprobe:" SYS "get*", true);
		many("kretprobe:" SYS "get*", true);
	}
	struct Str s = {0};
	err_free(read_file(path, &s, 1 << 20));
	CHECK(!strstr(str_text(&s), "sonde"));
	str_deinit(&s);
}

TEST(kprobe_names)
{
	NEED(FEAT_KPROBE);
	struct Fix f;
	fix_init(&f);
	CHECK_EQ(expand(&f, "k:vfs_read"), 1);
	CHECK_STR(f.points.v.p[0]->name, "kprobe:vfs_read");
	CHECK_STR(f.points.v.p[0]->func, "vfs_read");
	CHECK(f.points.v.p[0]->addr != 0);
	CHECK_EQ(expand(&f, "kprobe:vfs_read+4"), 1);
	CHECK_STR(f.points.v.p[0]->name, "kprobe:vfs_read+4");
	CHECK_EQ(expand(&f, "kr:vfs_read"), 1);
	CHECK_STR(f.points.v.p[0]->name, "kretprobe:vfs_read");
	// A function the compiler has cloned keeps the name of the source.
	CHECK(expand(&f, "kprobe:finish_task_switch") >= 1);
	CHECK_STR(f.points.v.p[0]->name, "kprobe:finish_task_switch");
	CHECK(!strncmp(f.points.v.p[0]->event, "finish_task_switch", 18));
	CHECK(expand(&f, "kprobe:vfs_re*") >= 3);
	CHECK(expand(&f, "kprobe:vmlinux:vfs_re*") >= 3);
	CHECK_STR(f.points.v.p[0]->target, "vmlinux");
	CHECK(!strncmp(f.points.v.p[0]->name, "kprobe:vmlinux:vfs_re", 21));
	CHECK_EQ(f.diags.nerrors, 0);
	fix_deinit(&f);
}

TEST(kprobe_errors)
{
	NEED(FEAT_KPROBE);
	COMPLAINS("kprobe:vfs_raed", "no kernel function 'vfs_raed'\nHINT did you mean 'kprobe:vfs_read'?\n");
	COMPLAINS("kprobe:nosuchmod:vfs_read", "module nosuchmod is not loaded, so its function vfs_read cannot be probed\n");
	COMPLAINS("kretprobe:vfs_read+4", "kretprobe cannot be attached at an offset: a function returns as a whole\n");
	COMPLAINS("kprobe:vfs_re*+4", "an offset needs one function, not a pattern\n");
	COMPLAINS("kprobe:0xffffffff81000000", "a probe at a bare address needs --unsafe: inside an instruction it crashes the kernel\n");
	COMPLAINS("kprobe:nosuch_*_x", "no kernel function matches 'nosuch_*_x'\n");
	char *got = complaint("kprobe:vfs_read+99999", 0, false);
	CHECK(!strncmp(got, "offset 99999 is outside of vfs_read, which is at most ", 54));
	free(got);
}

TEST(fentry_names)
{
	NEED(FEAT_FENTRY);
	struct Fix f;
	fix_init(&f);
	CHECK_EQ(expand(&f, "fentry:vfs_read"), 1);
	CHECK_STR(f.points.v.p[0]->name, "fentry:vmlinux:vfs_read");
	CHECK(f.points.v.p[0]->args && f.points.v.p[0]->args->nfields == 4);
	CHECK(f.points.v.p[0]->btf_id != 0);
	CHECK_EQ(expand(&f, "fr:vfs_read"), 1);
	CHECK(f.points.v.p[0]->ret != NULL);
	CHECK(expand(&f, "f:vfs_re*") >= 3);
	CHECK_EQ(f.diags.nerrors, 0);
	fix_deinit(&f);
	COMPLAINS("fentry:vfs_raed", "no kernel function 'vfs_raed' with type information\nHINT did you mean 'fentry:vfs_read'?\n");
}

// What the kernel refuses is explained when attaching.
TEST(blacklisted)
{
	NEED(FEAT_KPROBE);
	struct Fix f;
	struct Counter c;
	struct ProbeProg pp = {.fd = -1, .kind = PK_KPROBE};
	struct Program prog = {0};
	u64 n;
	fix_init(&f);
	counter_init(&c);
	if (!kfunc_blacklisted(&f.env, "do_int3") || !expand(&f, "kprobe:do_int3")) {
		counter_deinit(&c);
		fix_deinit(&f);
		SKIP("no do_int3 on this kernel's blacklist");
	}
	pp.points = f.points;
	load_counting(&f, &pp, &c, 0, 0);
	vec_push(&prog.progs, &pp);
	struct Attachments *at = attachments_create();
	struct err *e = probes_attach(&f.env, &prog, at, &n);
	CHECK(e && strstr(err_text(e), "cannot attach kprobe:do_int3: do_int3 is on the kernel's kprobe blacklist"));
	err_free(e);
	attachments_destroy(at);
	vec_deinit(&prog.progs);
	close(pp.fd);
	counter_deinit(&c);
	fix_deinit(&f);
}

TEST(kprobe_order)
{
	NEED(FEAT_KPROBE);
	check_order("kprobe:" SYS "getpgid", cause_one, 3);
	check_order("kretprobe:" SYS "getpgid", cause_one, 3);
}

TEST(fentry_order)
{
	NEED(FEAT_FENTRY);
	check_order("fentry:" SYS "getpgid", cause_one, 3);
	check_order("fexit:" SYS "getpgid", cause_one, 3);
}

T_MAIN()
