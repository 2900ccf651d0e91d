// A tool's script: its template with the gaps filled from the options.
#include "tool/internal.h"

static void list_test(struct Str *out, const char *what, const char *list)
{
	str_addc(out, '(');
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		str_addf(out, "%s%s == %.*s", p == list ? "" : " || ", what, (int)n, p);
		p += n + (p[n] == ',');
	}
	str_addc(out, ')');
}

static void and_(struct Str *out)
{
	if (out->n)
		str_add(out, " && ");
}

// A script string literal of untrusted option text.
static void quote(struct Str *out, const char *s)
{
	str_addc(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			str_addc(out, '\\');
		str_addc(out, *s);
	}
	str_addc(out, '"');
}

static void filter(const struct ToolOpts *o, struct Str *out)
{
	struct Str f = {0};
	if (!o->idle) {
		and_(&f);
		str_add(&f, "tid != 0");
	}
	if (o->pids.n) {
		and_(&f);
		list_test(&f, "pid", o->pids.p);
	}
	if (o->tids.n) {
		and_(&f);
		list_test(&f, "tid", o->tids.p);
	}
	if (o->threads != THREADS_ALL) { // PF_KTHREAD of include/linux/sched.h
		and_(&f);
		str_addf(&f, "(curtask.flags & 0x200000) %s 0", o->threads == THREADS_USER ? "==" : "!=");
	}
	if (o->comm) {
		and_(&f);
		str_add(&f, "globmatch(comm, ");
		quote(&f, o->comm);
		str_addc(&f, ')');
	}
	if (o->cpus) {
		and_(&f);
		list_test(&f, "cpu", o->cpus);
	}
	if (f.n)
		str_addf(out, "/%s/\n", f.p);
	str_deinit(&f);
}

bool gap_common(const struct ToolOpts *o, const char *name, struct Str *out)
{
	char depth[32] = "";
	if (o->depth)
		snprintf(depth, sizeof(depth), "(%llu)", (unsigned long long)o->depth);
	if (!strcmp(name, "filter"))
		filter(o, out);
	else if (!strcmp(name, "keys"))
		str_addf(out, "%llu", (unsigned long long)(o->keys ? o->keys : 1000000));
	else if (!strcmp(name, "id"))
		str_add(out, o->per_thread ? "tid" : "pid");
	else if (!strcmp(name, "stacks")) {
		if (o->stacks != STACKS_KERNEL)
			str_addf(out, ", ustack%s", depth);
		if (o->stacks != STACKS_USER)
			str_addf(out, ", kstack%s", depth);
	} else
		return false;
	return true;
}

void tool_script(const struct Tool *t, const struct ToolOpts *o, struct Str *out)
{
	for (const char *p = t->template; *p;) {
		const char *open = strstr(p, "{{"), *close = open ? strstr(open, "}}") : NULL;
		if (!close) {
			str_add(out, p);
			return;
		}
		char name[32];
		str_addn(out, p, (size_t)(open - p));
		snprintf(name, sizeof(name), "%.*s", (int)(close - open - 2), open + 2);
		bool known = t->gap(o, name, out);
		assert(known);
		(void)known;
		p = close + 2;
	}
}
