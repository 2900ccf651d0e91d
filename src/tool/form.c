// How a script wants its report. In: its settings (stack_unit, stack_title, stack_divide, stack_slot, stack_parts, stack_events, stack_event). Out: struct ReportForm.
// Invariant: the built-in tools say it in their scripts too, so a printed script has the report of its tool.
#include "bpf/bpf.h"
#include "tool/internal.h"

static const struct Kind {
	const char *name;
	void (*row)(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s);
	void (*print)(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
	u32 names, kernel_stacks;
} kinds[] = {
	{"", row_named, stacks_multiline, 0, 0},
	{"waits", row_waits, stacks_multiline, 0, 0},
	{"waker", row_waker, print_waker, 2, 1},   // target, waker, its kernel stack
	{"wakers", row_wakers, print_wakers, 2, 0}, // target: id, name, stacks; then each waker likewise
	{"calls", row_named, print_calls, 0, 0},
};

void form_read(struct ReportForm *f, const struct Config *c, const char *title, struct Arena *a)
{
	*f = (struct ReportForm){.unit = c->stack_unit, .title = *c->stack_title ? c->stack_title : title, .div = c->stack_divide, .slot_ns = c->stack_slot,
				 .events = *c->stack_events ? c->stack_events : NULL, .event = *c->stack_event ? c->stack_event : NULL};
	const struct Kind *k = kinds;
	while (strcmp(k->name, c->stack_form)) // config.c knows the names too
		k++;
	f->row = k->row;
	f->print = k->print;
	f->names = k->names;
	f->kernel_stacks = k->kernel_stacks;
	for (const char *p = c->stack_parts; *p && f->nparts < STACK_PARTS_MAX; p += strcspn(p, ","), p += *p == ',')
		f->parts[f->nparts++] = arena_strndup(a, p, strcspn(p, ","));
}
