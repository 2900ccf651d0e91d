// tool/total.c: what the reports of a run add up to, and what happens when its memory is full.
#include "t.h"
#include "tool/internal.h"

// A report of one row whose texts and frames go away with it.
static void add_report(struct StackTotal *t, const char *comm, u32 pid, u64 first, u32 nframes, u64 value)
{
	struct StackSet s = {0};
	struct Frame *f = arena_alloc(&s.arena, nframes * sizeof(*f));
	for (u32 i = 0; i < nframes; i++)
		f[i] = (struct Frame){.addr = first + i, .sym = arena_printf(&s.arena, "f%llu", (unsigned long long)first + i), .module = arena_strdup(&s.arena, "/bin/x")};
	struct StackSample x = {.comm = arena_strdup(&s.arena, comm), .pid = pid, .user = f, .nuser = nframes, .value = value, .part = {value - 1, 1}};
	vec_push(&s.samples, x);
	total_add(t, &s);
	stackset_deinit(&s);
}

TEST(equal_rows_add_up)
{
	struct StackTotal t = {0};
	for (u32 i = 0; i < 3000; i++) // over several sizes of the table
		for (u32 again = 0; again < 3; again++)
			add_report(&t, "a", 1, i * 10, 3, i + 1);
	add_report(&t, "b", 1, 0, 3, 7);  // another name, another process, one frame less: rows of their own
	add_report(&t, "a", 2, 0, 3, 8);
	add_report(&t, "a", 1, 0, 2, 9);
	CHECK_EQ(t.set.samples.n, 3003);
	CHECK_EQ(t.rest, 0);
	u64 sum = 0, parts = 0;
	for (size_t i = 0; i < t.set.samples.n; i++) {
		sum += t.set.samples.p[i].value;
		parts += t.set.samples.p[i].part[0] + t.set.samples.p[i].part[1];
	}
	CHECK_EQ(sum, 3 * (3000 * 3001 / 2) + 7 + 8 + 9);
	CHECK_EQ(parts, sum);
	CHECK_EQ(t.set.samples.p[2999].value, 9000);
	CHECK_STR(t.set.samples.p[2999].user[2].sym, "f29992");
	CHECK_STR(t.set.samples.p[2999].user[2].module, "/bin/x");
	CHECK_EQ(t.set.samples.p[3002].nuser, 2);
	total_deinit(&t);
}

TEST(beyond_the_limit_nothing_is_lost)
{
	struct StackTotal t = {.max_frames = 10};
	for (u32 round = 0; round < 2; round++)
		for (u32 i = 0; i < 5; i++)
			add_report(&t, "a", 1, i * 10, 4, 100 + i);
	CHECK_EQ(t.set.samples.n, 3); // two with four frames, and the others' row
	CHECK_EQ(t.rest, 6);
	CHECK_EQ(t.nframes, 8);
	CHECK_EQ(t.set.samples.p[0].value, 200);
	CHECK_EQ(t.set.samples.p[1].value, 202);
	CHECK_EQ(t.set.samples.p[2].value, 2 * (102 + 103 + 104));
	CHECK_EQ(t.set.samples.p[2].nuser, 0);
	CHECK_STR(t.set.samples.p[2].user_note, "[more different stacks than are kept]");
	total_deinit(&t);
}

// A program that computes in the first 30 % of each cycle has 30 % of the samples, whatever its cycle and however seldom it is sampled. A rate that was asked for is kept.
TEST(rates_that_are_lowered_meet_all_of_a_second)
{
	static const double cycles[] = {0.1, 0.2, 0.25, 0.5, 0.6, 0.75, 1, 1.5, 2};
	struct ToolOpts o = {.limit_hz = 99};
	CHECK_EQ(limit_period_ns(&o, 99), 1000000000 / 99);
	CHECK_EQ(limit_period_ns(&(struct ToolOpts){.hz = 1}, 1), 1000000000); // nothing lowers it
	for (u64 hz = 1; hz < 99; hz++)
		for (u32 k = 0; k < ARRAY_LEN(cycles); k++) {
			double period = (double)limit_period_ns(&o, hz) / 1e9, seen = 0, n = 60 / period;
			CHECK(period * (double)hz > 1 && period * (double)hz < 1.1);
			for (u32 i = 0; i < (u32)n; i++) {
				double at = i * period / cycles[k];
				seen += at - (double)(u64)at < 0.3;
			}
			CHECK(seen / n > 0.23 && seen / n < 0.37);
		}
}

// Intervals of a run whose cost is `fixed` and some for each sample, of which 1 is allowed. Out: the rate at the end, how many intervals took too much.
static double run_limited(struct LimitTurns *t, double rate, double fixed, double each, u32 intervals, u32 *too_much)
{
	*too_much = 0;
	for (u32 i = 0; i < intervals; i++) {
		double share = fixed + rate * each;
		enum LimitTurn turn = limit_turn(t, share, 1, rate < 19);
		*too_much += share > 1;
		CHECK_EQ(turn == LIMIT_LESS, share > 1);
		if (turn == LIMIT_LESS)
			rate = MAX(rate / 2, 1.0);
		else if (turn == LIMIT_MORE)
			rate = MIN(rate * 2, 19.0);
	}
	return rate;
}

TEST(what_was_lowered_comes_back_when_there_is_room)
{
	struct LimitTurns t = {0};
	u32 too_much;
	double rate = run_limited(&t, 19, 0.4, 0.005, 100, &too_much);
	CHECK(rate == 19 && !too_much);
	rate = run_limited(&t, rate, 1.5, 0.005, 20, &too_much); // a build goes on
	CHECK(rate == 1 && too_much == 20);
	rate = run_limited(&t, rate, 0.5, 0.005, 30, &too_much); // half of what is allowed is there at any rate
	CHECK(rate == 19 && !too_much);
	rate = run_limited(&t, rate, 0.2, 0.08, 600, &too_much); // 19 are too much, 9.5 are not, but leave no room
	CHECK(rate == 9.5 && too_much == 1);
	rate = run_limited(&t, rate, 0.1, 0.11, 600, &too_much); // at 4.75 there seems to be room for twice as much
	CHECK(rate >= 4.75 && rate <= 9.5 && too_much > 1 && too_much < 20);
	rate = run_limited(&t, rate, 0.1, 0.01, 200, &too_much);
	CHECK(rate == 19 && !too_much);
}

T_MAIN()
