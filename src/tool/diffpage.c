// The page of sonde diff: both profiles as one, each stack with what it was before and after.
// In: two profiles, what is known of how much runs vary. Out: a file. Invariant: a stack that only one of them has is in the page.
#include "tool/internal.h"

// Number of the label in names, which it joins if it is new.
static u32 label_number(const char **names, u32 *n, const char *name)
{
	u32 i = 0;
	while (i < *n && strcmp(names[i], name))
		i++;
	if (i == *n)
		names[(*n)++] = name;
	return i;
}

static u32 label_count(const struct StackProfile *p)
{
	u32 n = 0;
	for (u32 i = 0; i < p->n; i++)
		n = MAX(n, p->samples[i].nlabels);
	return n;
}

struct Both {
	struct Arena arena;
	const char **labels; // of either
	u32 nlabels;
	VEC(struct StackSample) samples;
};

static void add_profile(struct Both *b, const struct StackProfile *p, u32 part)
{
	u32 n = label_count(p), *at = arena_new_n(&b->arena, u32, n + 1);
	for (u32 k = 0; k < n; k++)
		at[k] = label_number(b->labels, &b->nlabels, p->label_names && p->label_names[k] ? p->label_names[k] : arena_printf(&b->arena, "key %u", k + 1));
	for (u32 i = 0; i < p->n; i++) {
		struct StackSample s = p->samples[i];
		struct Value *v = arena_new_n(&b->arena, struct Value, b->nlabels + 1);
		for (u32 k = 0; k < b->nlabels; k++)
			v[k] = (struct Value){.kind = V_STR, .text = ""};
		for (u32 k = 0; k < s.nlabels; k++)
			v[at[k]] = s.labels[k];
		s.labels = v;
		s.nlabels = b->nlabels;
		memset(s.part, 0, sizeof(s.part));
		s.part[part] = s.value;
		vec_push(&b->samples, s);
	}
}

struct err *diffpage_write(const struct StackProfile *before, const struct StackProfile *after, const struct ProfileDiff *d, const char *title, const struct OutputFiles *files)
{
	static const char *const parts[] = {"before", "after"};
	struct Both b = {0};
	b.labels = arena_new_n(&b.arena, const char *, label_count(before) + label_count(after) + 1);
	add_profile(&b, before, 0);
	add_profile(&b, after, 1);
	struct StackProfile p = {.samples = b.samples.p, .n = (u32)b.samples.n, .unit = before->unit, .title = title, .parts = parts, .nparts = ARRAY_LEN(parts),
				 .label_names = b.labels, .diff = d, .threads = before->threads && after->threads};
	struct err *e = outputs_write(files, &p, false);
	vec_deinit(&b.samples);
	arena_deinit(&b.arena);
	return e;
}
