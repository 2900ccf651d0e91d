// tool/slots.c, out/heat.c and what profile_merge() does with slots: nothing gets lost, whatever is divided, placed and merged.
#include "t.h"
#include "tool/internal.h"

static struct SlotShare *share(struct Arena *a, struct SlotShare *next, u64 slot, u32 kind, u64 value)
{
	struct SlotShare *x = arena_new(a, struct SlotShare);
	*x = (struct SlotShare){.next = next, .slot = slot, .value = value};
	x->part[kind] = value;
	return x;
}

static struct StackSample sample(struct SlotShare *list)
{
	struct StackSample s = {.comm = "x", .pid = 1, .slots = list};
	for (; list; list = list->next) {
		s.value += list->value;
		for (u32 k = 0; k < ARRAY_LEN(s.part); k++)
			s.part[k] += list->part[k];
	}
	return s;
}

// Slots add up to the sample, their parts to its parts.
static void check_sums(const struct StackSample *s)
{
	u64 value = 0, part[ARRAY_LEN(s->part)] = {0};
	for (const struct SlotShare *x = s->slots; x; x = x->next) {
		u64 own = 0;
		value += x->value;
		for (u32 k = 0; k < ARRAY_LEN(part); k++) {
			part[k] += x->part[k];
			own += x->part[k];
		}
		CHECK_EQ(own, x->value);
	}
	CHECK_EQ(value, s->value);
	for (u32 k = 0; k < ARRAY_LEN(part); k++)
		CHECK_EQ(part[k], s->part[k]);
}

TEST(division_loses_nothing)
{
	struct Arena a = {0};
	u64 seed = 7;
	for (u32 round = 0; round < 300; round++) {
		struct SlotShare *list = NULL;
		for (u32 i = 0; i < 1 + round % 40; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			list = share(&a, list, seed >> 60, (u32)(seed >> 33) % (1 + round % 5), (seed >> 20) % 4000);
		}
		struct StackSample s = sample(list);
		u64 was = s.value;
		slots_divide(&s, 1000);
		CHECK_EQ(s.value, was / 1000);
		check_sums(&s);
	}
	struct StackSample none = {.value = 2999, .part = {1500, 1499}}; // without slots, as ever: what is lost goes to the largest part
	slots_divide(&none, 1000);
	CHECK_EQ(none.value, 2);
	CHECK_EQ(none.part[0], 1);
	CHECK_EQ(none.part[1], 1);
	struct StackSample kindless = {.value = 1999, .slots = share(&a, share(&a, NULL, 1, 0, 999), 2, 0, 1000)}; // its form tells no kinds apart
	kindless.slots->part[0] = kindless.slots->next->part[0] = 0;
	slots_divide(&kindless, 1000);
	CHECK_EQ(kindless.value, 1);
	CHECK_EQ(kindless.slots->value + kindless.slots->next->value, 1);
	arena_deinit(&a);
}

TEST(places)
{
	struct Arena a = {0};
	const u64 width = 20000000, first = 1000; // the recording begins in slot 1000, 5 ms after its beginning
	struct StackSample s[2] = {sample(share(&a, share(&a, share(&a, NULL, first + 49, 0, 3), first - 2, 0, 4), first + SLOTS_MAX - 3, 0, 5)), sample(share(&a, NULL, first + SLOTS_MAX, 0, 6))};
	struct StackProfile p = {.samples = s, .n = 2, .start_ns = 1700000000000000000ull};
	slots_place(&p, width, first * width + 5000000, 900000000);
	CHECK_EQ(p.slots.start_ns, 1700000000000000000ull - 5000000 - 2 * width); // probes saw something two slots earlier
	CHECK_EQ(p.slots.rows, 50);
	CHECK_EQ(p.slots.outside, 6); // beyond an hour
	CHECK_EQ(p.slots.n, SLOTS_MAX);
	CHECK(!s[1].slots);
	struct SlotShare *list;
	CHECK_EQ(sample_slots(&s[0], &list), 3);
	CHECK_EQ(list[0].slot, 0);
	CHECK_EQ(list[0].value, 4);
	CHECK_EQ(list[1].slot, 51);
	CHECK_EQ(list[2].slot, SLOTS_MAX - 1);
	free(list);
	struct StackProfile none = {0};
	slots_place(&none, width, first * width, 1000000000);
	CHECK_EQ(none.slots.n, 51);
	struct StackSample wild = sample(share(&a, share(&a, NULL, 0, 0, 1), ~0ull, 0, 2)); // a script may call anything a slot
	struct StackProfile q = {.samples = &wild, .n = 1};
	slots_place(&q, 1000000000, 1ull << 60, 1);
	CHECK_EQ(q.slots.outside, 3);
	CHECK_EQ(q.slots.n, 1);
	CHECK_EQ(q.slots.rows, 1);
	arena_deinit(&a);
}

TEST(merging_joins_slots)
{
	struct Arena a = {0};
	struct StackSample s[3];
	for (u32 i = 0; i < 3; i++)
		s[i] = sample(share(&a, share(&a, NULL, i, 0, 10), 5, 1, 1));
	s[2].pid = 2;
	struct StackProfile p = {.samples = s, .n = 3};
	profile_merge(&p, true);
	CHECK_EQ(p.n, 2);
	CHECK_EQ(p.samples[0].value, 22);
	check_sums(&p.samples[0]);
	struct SlotShare *list;
	CHECK_EQ(sample_slots(&p.samples[0], &list), 3); // slot 5 once
	CHECK_EQ(list[2].slot, 5);
	CHECK_EQ(list[2].value, 2);
	CHECK_EQ(list[2].part[1], 2);
	free(list);
	profile_merge(&p, false);
	CHECK_EQ(p.n, 1);
	check_sums(&p.samples[0]);
	arena_deinit(&a);
}

TEST(rows_that_differ_in_slots_are_one)
{
	struct StackSet set = {.missed = 3};
	for (u32 i = 0; i < 100; i++) {
		struct Frame *f = arena_new_n(&set.arena, struct Frame, 2);
		f[0] = (struct Frame){.addr = i % 4, .sym = arena_printf(&set.arena, "f%u", i % 4)};
		f[1] = (struct Frame){.addr = 9, .sym = "main"};
		struct StackSample s = sample(share(&set.arena, NULL, i / 4, 0, i + 1));
		s.user = f;
		s.nuser = 2;
		vec_push(&set.samples, s);
	}
	CHECK_EQ(stackset_gather(&set), 0);
	CHECK_EQ(set.samples.n, 4);
	CHECK_EQ(set.missed, 3);
	u64 sum = 0;
	for (size_t i = 0; i < set.samples.n; i++) {
		struct SlotShare *list;
		CHECK_EQ(sample_slots(&set.samples.p[i], &list), 25);
		free(list);
		check_sums(&set.samples.p[i]);
		sum += set.samples.p[i].value;
	}
	CHECK_EQ(sum, 100 * 101 / 2);
	stackset_deinit(&set);
}

TEST(picture)
{
	struct Arena a = {0};
	// Two seconds: 8 in the first 100 ms, 1 in the last of them; nothing else but one in the middle of second 1.
	struct StackSample s = sample(share(&a, share(&a, share(&a, share(&a, NULL, 0, 0, 5), 4, 0, 3), 49, 0, 1), 75, 0, 4));
	struct StackProfile p = {.samples = &s, .n = 1, .unit = "samples", .slots = {.width_ns = 20000000, .n = 100, .rows = 50, .outside = 2}};
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	heat_text(&p, f);
	fclose(f);
	CHECK_STR(text, "When: a column is 1 s, a row the same 100 ms of each second, first ones at the foot; @ is 8 samples\n"
			"  900 ms : \n  800 ms   \n  700 ms   \n  600 ms   \n  500 ms  +\n  400 ms   \n  300 ms   \n  200 ms   \n  100 ms   \n    0 ms @ \n"
			"         |0 s\n2 samples more are not in it: it ends after 3600 s\n");
	free(text);
	p.slots = (struct ProfileSlots){.width_ns = 20000000, .n = SLOTS_MAX, .rows = 50}; // an hour: several seconds a column
	f = open_memstream(&text, &n);
	heat_text(&p, f);
	fclose(f);
	CHECK(!strncmp(text, "When: a column is 36 s", 22));
	CHECK(strstr(text, "\n         |0 s      |360 s    |720 s    |1080 s   |1440 s   |"));
	free(text);
	arena_deinit(&a);
}

T_MAIN()
