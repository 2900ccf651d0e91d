// Slots of time: which share of a sample's value is of when.
// In: samples whose shares have slots as the kernel numbered them (nanoseconds since the machine's start, divided), the time of the recording. Out: the same
// with slots from 0 on. Invariant: a sample's value is the sum of its slots' values, and each of its parts the sum of theirs, but for what is told as outside.
#include "tool/internal.h"

static u64 sum_parts(const u64 *part, u32 n)
{
	u64 sum = 0;
	for (u32 k = 0; k < n; k++)
		sum += part[k];
	return sum;
}

static u32 largest_part(const u64 *part, u32 n)
{
	u32 largest = 0;
	for (u32 k = 1; k < n; k++)
		largest = part[k] > part[largest] ? k : largest;
	return largest;
}

// Of each share what the sums up to it and before it differ by, so that all shares together have what the sum has. One that is of no kind is in *value only.
static void divide_shares(struct SlotShare *list, u64 by)
{
	u64 sum[ARRAY_LEN(list->part)] = {0}, all = 0;
	for (struct SlotShare *s = list; s; s = s->next) {
		bool kinds = sum_parts(s->part, ARRAY_LEN(s->part)) != 0;
		for (u32 k = 0; k < ARRAY_LEN(sum); k++) {
			u64 before = sum[k] / by;
			sum[k] += s->part[k];
			s->part[k] = sum[k] / by - before;
		}
		u64 before = all / by;
		all += s->value;
		s->value = kinds ? sum_parts(s->part, ARRAY_LEN(s->part)) : all / by - before;
	}
}

// Ascending, each slot once: how values are rounded does not depend on how rows came together.
static void put_in_order(struct StackSample *s)
{
	struct SlotShare *list, *at = s->slots;
	u32 n = sample_slots(s, &list);
	for (u32 i = 0; i < n; i++) {
		struct SlotShare *next = at->next;
		*at = list[i];
		at->next = i + 1 < n ? next : NULL;
		at = next;
	}
	free(list);
}

// What rounding took from the parts goes to the largest, in the slot that has most of it.
void slots_divide(struct StackSample *s, u64 by)
{
	u32 n = ARRAY_LEN(s->part), largest;
	bool kinds = sum_parts(s->part, n) != 0;
	s->value /= by;
	put_in_order(s);
	divide_shares(s->slots, by);
	for (u32 k = 0; k < n; k++)
		s->part[k] /= by;
	largest = largest_part(s->part, n);
	u64 sum = sum_parts(s->part, n), lost = s->value > sum ? s->value - sum : 0;
	s->part[largest] += lost;
	struct SlotShare *most = s->slots;
	for (struct SlotShare *x = most; x; x = x->next)
		most = x->part[largest] > most->part[largest] ? x : most;
	if (most && kinds) {
		most->part[largest] += lost;
		most->value += lost;
	}
}

// Some are from before the start: probes are there a little earlier; in the files of intervals waits that ended before the thread ran again.
#define EARLIER_MAX 3000u
static u64 first_slot(const struct StackProfile *p, u64 start)
{
	u64 first = start;
	for (u32 i = 0; i < p->n; i++)
		for (const struct SlotShare *s = p->samples[i].slots; s; s = s->next)
			if (s->slot < first && start - s->slot <= EARLIER_MAX)
				first = s->slot;
	return first;
}

void slots_place(struct StackProfile *p, u64 width_ns, u64 start_ns, u64 duration_ns)
{
	u64 first = first_slot(p, start_ns / width_ns), n = (start_ns + duration_ns) / width_ns + 1 - first;
	u32 rows = (u32)MIN(MAX(1000000000ull / width_ns, 1ull), 50ull);
	p->slots = (struct ProfileSlots){.width_ns = width_ns, .start_ns = p->start_ns - (start_ns - first * width_ns), .rows = rows};
	for (u32 i = 0; i < p->n; i++)
		for (struct SlotShare **at = &p->samples[i].slots; *at;) {
			struct SlotShare *s = *at;
			s->slot -= first; // one before that, too, is beyond
			if (s->slot < SLOTS_MAX) {
				n = MAX(n, s->slot + 1);
				at = &s->next;
				continue;
			}
			p->slots.outside += s->value;
			*at = s->next;
		}
	p->slots.n = (u32)MIN(n, (u64)SLOTS_MAX);
}
