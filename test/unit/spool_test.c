// Messages that wait: limits, order, what another agent finds, files that are none.
#include "agent/internal.h"
#include "t.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static char dir[] = "/root/sonde-spool-XXXXXX"; // all of whose folders are root's
static bool made;

static struct Spool open_spool(struct Queue **queues, u32 n, u64 memory, u64 disk)
{
	if (!made)
		made = mkdtemp(dir) != NULL;
	struct Spool s = {.dir = dir, .max_memory = memory, .max_disk = disk};
	struct err *e = spool_open(&s, queues, n);
	CHECK(!e);
	err_free(e);
	return s;
}

static void put(struct Spool *s, struct Queue *q, char c, size_t n, u64 samples)
{
	struct Str body = {0};
	for (size_t i = 0; i < n; i++)
		str_addc(&body, c);
	spool_put(s, q, "a=1&b=2", &body, samples);
}

static void remove_dir(void)
{
	char *cmd = xasprintf("rm -rf %s", dir);
	CHECK_EQ(system(cmd), 0);
	free(cmd);
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	made = false;
}

TEST(order_and_limits)
{
	struct Queue a = {.key = 1}, b = {.key = 2}, *qs[] = {&a, &b};
	struct Spool s = open_spool(qs, 2, 1000, 5000);
	u64 lost;
	for (u32 i = 0; i < 10; i++)
		put(&s, &a, (char)('a' + i), 900, i + 1);
	CHECK_EQ(s.disk, 4500); // five of them
	CHECK_EQ(a.n, 5);
	CHECK_EQ(s.dropped, 5);
	CHECK_EQ(s.dropped_samples, 1 + 2 + 3 + 4 + 5);
	CHECK(s.memory <= 1000);
	put(&s, &b, 'z', 100, 1); // the longer queue pays for it, if anybody
	CHECK_EQ(b.n, 1);
	struct err *e = spool_body(&s, a.first);
	CHECK(!e);
	CHECK_EQ(a.first->body.p[0], 'f');
	CHECK_EQ(a.first->size, 900);
	a.first->sending = true;
	for (u32 i = 0; i < 10; i++)
		put(&s, &a, 'y', 900, 1);
	CHECK_EQ(a.first->body.p[0], 'f'); // what is on its way stays
	spool_done(&s, &a);
	CHECK_EQ(a.first->samples, 1);
	spool_close(&s, &lost);
	CHECK_EQ(lost, 0); // all of it is in files
	remove_dir();
}

TEST(another_agent)
{
	struct Queue a = {.key = 0xfedcba9876543210}, c = {.key = 3}, *qs[] = {&a}, *others[] = {&c};
	struct Spool s = open_spool(qs, 1, 1 << 20, 1 << 20);
	u64 lost;
	put(&s, &a, '1', 10, 7);
	put(&s, &a, '2', 20000, 8);
	struct Spool second = {.dir = dir};
	struct err *e = spool_open(&second, others, 1);
	CHECK(e && strstr(err_text(e), "another agent uses"));
	err_free(e);
	spool_close(&second, &lost);
	spool_close(&s, &lost);

	a = (struct Queue){.key = 0xfedcba9876543210};
	s = open_spool(qs, 1, 1 << 20, 1 << 20);
	CHECK_EQ(a.n, 2);
	CHECK_EQ(s.disk, 20010);
	CHECK_EQ(a.first->samples, 7);
	CHECK_STR(a.first->query, "a=1&b=2");
	CHECK_EQ(a.first->next->size, 20000);
	CHECK(!(e = spool_body(&s, a.first->next)));
	CHECK_EQ(a.first->next->body.p[19999], '2');
	spool_done(&s, &a);
	spool_close(&s, &lost);

	s = open_spool(others, 1, 1 << 20, 1 << 20); // for somebody else
	CHECK_EQ(c.n, 0);
	CHECK_EQ(s.strangers, 1);
	spool_close(&s, &lost);
	remove_dir();
}

TEST(long_labels)
{
	struct Queue a = {.key = 1}, *qs[] = {&a};
	struct Spool s = open_spool(qs, 1, 100, 1 << 20);
	struct Str body = {0}, query = {0};
	u64 lost;
	for (u32 i = 0; i < 20000; i++)
		str_addc(&query, 'q');
	for (u32 i = 0; i < 1000; i++)
		str_addc(&body, 'x');
	spool_put(&s, &a, str_text(&query), &body, 7); // on disk only
	CHECK(!spool_body(&s, a.first));
	spool_close(&s, &lost);
	a = (struct Queue){.key = 1};
	s = open_spool(qs, 1, 100, 1 << 20);
	CHECK_EQ(a.n, 1);
	CHECK_EQ(s.strangers, 0);
	if (a.n) {
		CHECK_STR(a.first->query, str_text(&query));
		CHECK_EQ(a.first->samples, 7);
		CHECK_EQ(a.first->size, 1000);
	}
	spool_close(&s, &lost);
	str_deinit(&query);
	remove_dir();
}

TEST(files_that_are_none)
{
	static const struct { const char *name, *text; size_t n; } files[] = {
		{"0000000000000001-00000000000000000001", "", 0},
		{"0000000000000001-00000000000000000002", "no line", 7},
		{"0000000000000001-00000000000000000003", "query x\nbody", 12},
		{"0000000000000001-00000000000000000004", " 5\nbody", 7},
		{"0000000000000001-00000000000000000005", "q 18446744073709551616999\n", 26},
		{"something", "else", 4},
	};
	struct Queue a = {.key = 1}, *qs[] = {&a};
	struct Spool s = open_spool(qs, 1, 1 << 20, 1 << 20);
	u64 lost;
	spool_close(&s, &lost);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *path = xasprintf("%s/%s", dir, files[i].name);
		FILE *f = fopen(path, "w");
		fwrite(files[i].text, 1, files[i].n, f);
		fclose(f);
		free(path);
	}
	char *path = xasprintf("%s/0000000000000001-00000000000000000006", dir);
	CHECK(!symlink("/etc/passwd", path));
	free(path);
	s = open_spool(qs, 1, 1 << 20, 1 << 20);
	CHECK_EQ(a.n, 2); // the fourth and the fifth: a query may be empty, a number too large is the largest
	CHECK_EQ(s.strangers, 4);
	CHECK_EQ(a.first->samples, 5);
	CHECK_EQ(a.first->size, 4);
	spool_close(&s, &lost);
	remove_dir();
}

TEST(no_descriptors_are_left)
{
	struct Destination d = {.kind = SEND_OTLP, .queue = {.key = 1}};
	struct Queue *qs[] = {&d.queue};
	struct rlimit was;
	u64 lost;
	struct err *e = send_open(&(struct SendOpts){0});
	if (e) {
		err_free(e);
		SKIP("no libcurl");
	}
	d.url = xstrdup("http://127.0.0.1:9/");
	struct Spool s = open_spool(qs, 1, 100, 1 << 20);
	put(&s, &d.queue, 'x', 1000, 7); // on disk only
	CHECK(!getrlimit(RLIMIT_NOFILE, &was));
	CHECK(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, was.rlim_max}));
	send_step(&s, &d, 1, 1);
	CHECK(!setrlimit(RLIMIT_NOFILE, &was));
	CHECK_EQ(s.dropped, 0);
	CHECK_EQ(d.queue.n, 1);
	CHECK(send_next(&d, 1) > 1); // and not at once
	if (d.queue.n)
		CHECK(!spool_body(&s, d.queue.first));
	send_close(&d, 1);
	spool_close(&s, &lost);
	remove_dir();
}

TEST(memory_only)
{
	struct Queue a = {.key = 1}, *qs[] = {&a};
	struct Spool s = {.max_memory = 1000, .max_disk = 1000};
	u64 lost;
	CHECK(!spool_open(&s, qs, 1));
	for (u32 i = 0; i < 5; i++)
		put(&s, &a, 'x', 400, 10);
	CHECK_EQ(a.n, 2);
	CHECK_EQ(s.dropped_samples, 30);
	spool_close(&s, &lost);
	CHECK_EQ(lost, 20);
}

T_MAIN()

// A machine that builds runs more programs than have a counter of their own; "[others]" is one more.
TEST(the_others_have_one_counter)
{
	enum { N = SERVICES_MAX + 500 };
	static struct StackSample samples[N];
	struct StackProfile p = {.samples = samples, .n = N, .period_ns = 1};
	struct Batch b = {0};
	for (u32 i = 0; i < N; i++)
		samples[i] = (struct StackSample){.comm = xasprintf("job%u", i), .value = 2};
	alarm(20); // they were looked for without an end
	for (u32 round = 1; round <= 2; round++) {
		struct err *e = batch_take(&b, AGENT_CPU, &p, NULL, NULL, 0, NULL);
		CHECK(!e);
		err_free(e);
		CHECK_EQ(b.services.n, SERVICES_MAX + 1);
		const struct Service *others = map_get(&b.services, "[others]"), *first = map_get(&b.services, "job0");
		CHECK(others && others->values[AGENT_CPU] == 1000 * round);
		CHECK(first && first->values[AGENT_CPU] == 2 * round);
	}
	alarm(0);
	for (u32 i = 0; i < N; i++)
		free((char *)samples[i].comm);
	batch_deinit(&b);
}
