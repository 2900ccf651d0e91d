// kprobe sessions (Linux 6.10): one program and one link for entry and return of the same functions.
// Why: a link on thousands of functions takes the kernel long, and a call goes through one hook instead of two.
// Invariant: what the script can see stays as it is: order of programs on one function, counts, func, retval.
#include "probe/internal.h"

// A session finds no room for a return (as many calls lie open in the kernel as the link has reserved, 2 for each function and CPU, until
// Linux 6.14): then the kernel passes over its entry as well (fprobe_handler). With few functions that room is small: those keep two links.
#define SESSION_MIN 16
#define IS_RETURN "bpf_session_is_return"

static bool same_place(const struct Point *a, const struct Point *b)
{
	return a->addr == b->addr && a->event && b->event && !strcmp(a->event, b->event);
}

static bool same_functions(const struct ProbeProg *a, const struct ProbeProg *b)
{
	if (a->points.v.n != b->points.v.n)
		return false;
	for (size_t i = 0; i < a->points.v.n; i++)
		if (!same_place(a->points.v.p[i], b->points.v.p[i]))
			return false;
	return true;
}

// The programs of one function's return run in the order in which they were attached, which a session would change: it may only be alone.
static bool alone(const struct Program *p, const struct ProbeProg *ret)
{
	struct Map names = {0};
	bool yes = true;
	for (size_t k = 0; k < ret->points.v.n; k++)
		map_put(&names, ret->points.v.p[k]->event, (void *)ret);
	for (size_t i = 0; i < p->progs.n && yes; i++) {
		const struct ProbeProg *o = p->progs.p[i];
		if (o == ret || o->kind != PK_KRETPROBE)
			continue;
		for (size_t k = 0; k < o->points.v.n && yes; k++)
			yes = !o->points.v.p[k]->event || !map_get(&names, o->points.v.p[k]->event);
	}
	map_deinit(&names);
	return yes;
}

static struct ProbeProg *entry_of(const struct Program *p, const struct ProbeProg *ret)
{
	for (size_t i = 0; i < p->progs.n; i++) {
		struct ProbeProg *e = p->progs.p[i];
		if (e->kind == PK_KPROBE && !e->at_return && same_functions(e, ret))
			return e;
	}
	return NULL;
}

void probes_join(struct ProbeEnv *env, struct Program *p)
{
	for (size_t i = 0; i < p->progs.n;) {
		struct ProbeProg *ret = p->progs.p[i], *e;
		if (ret->kind != PK_KRETPROBE || ret->points.v.n < SESSION_MIN || env->no_kprobe_session || !kprobe_is_multi(env, ret) ||
		    !alone(p, ret) || !(e = entry_of(p, ret)) || !feature_has(FEAT_KPROBE_SESSION) || !ctype_func_id(env->ctypes, IS_RETURN) ||
		    !code_join(&e->ir, &e->code, &ret->ir, &ret->code, IS_RETURN)) {
			i++;
			continue;
		}
		e->at_return = ret;
		memmove(&p->progs.p[i], &p->progs.p[i + 1], (p->progs.n - i - 1) * sizeof(p->progs.p[0]));
		p->progs.n--;
	}
}
