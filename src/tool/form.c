// How a script wants its report. In: its settings (stack_unit, stack_title, stack_divide, stack_parts, stack_event). Out: struct ReportForm.
// Invariant: the built-in tools say it in their scripts too, so a printed script has the report of its tool.
#include "bpf/bpf.h"
#include "tool/internal.h"

void form_read(struct ReportForm *f, const struct Config *c, const char *title, struct Arena *a)
{
	*f = (struct ReportForm){.unit = c->stack_unit, .title = *c->stack_title ? c->stack_title : title, .div = c->stack_divide,
				 .event = *c->stack_event ? c->stack_event : NULL};
	u32 n = 0;
	for (const char *p = c->stack_parts; *p && n < STACK_PARTS_MAX; p += strcspn(p, ","), p += *p == ',')
		f->parts[n++] = arena_strndup(a, p, strcspn(p, ","));
}
