// Watchpoints on arguments of functions. In: addresses that the program's functions get. Out: watchpoints (watchpoint.c) on them.
// watchpoint:function+argN becomes two probes: the watchpoint, not attached yet, and a uprobe on the function that sends the argument the first
// time it sees it. With watchpoint the process stands still until the register is set, with asyncwatchpoint it runs on.
#include <errno.h>
#include <signal.h>
#include "probe/internal.h"

// The program whose function it is: of -c as it will be started, of -p through its link, which also works for a deleted file.
static const char *program(struct ProbeEnv *env)
{
	return env->cmd_path ? env->cmd_path : arena_printf(env->arena, "/proc/%d/exe", env->pid);
}

void watchpoints_prepare(struct ProbeEnv *env, struct Script *s)
{
	struct Str text = {0};
	struct ProbeAst *last = NULL;
	for (struct ProbeAst *p = s->probes; p; last = p, p = p->next)
		for (struct AttachSpec *a = p->points; a; a = a->next) {
			const struct Provider *pr = a->nparts > 1 ? provider_find(a->parts[0]) : NULL;
			const char *func;
			int arg;
			bool is = pr && (pr->kind == PK_WATCHPOINT || pr->kind == PK_ASYNCWATCHPOINT);
			if (!is || (!env->pid && !env->child) || !watch_function_form(env, a->parts[1], &func, &arg))
				continue;
			u32 i = env->nwatchfns++;
			// each address once: its register stays set
			str_addf(&text, "uprobe:\"%s\":\"%s\" /pid == %d && !@__watch%u[arg%d]/ { @__watch%u[arg%d] = 1; __watch(arg%d, %u, %d) }\n", program(env),
				 func, env->pid ? env->pid : env->child, i, arg, i, arg, arg, i, pr->kind == PK_WATCHPOINT);
		}
	if (!text.n)
		return;
	u32 file = diags_add_source(env->diags, watch_source, arena_strdup(env->arena, text.p), text.n);
	last->next = parse_script(env->arena, env->diags, file)->probes;
	str_deinit(&text);
}

// The i-th watchpoint of function form, counted as watchpoints_prepare did: points are numbered in the script's order.
static const struct Point *function_watch(const struct Program *p, u32 i, struct ProbeProg **pp)
{
	const struct Point *best = NULL;
	for (u32 after = 0, k = 0; k <= i; k++, after = best->id + 1) {
		best = NULL;
		for (size_t a = 0; a < p->progs.n; a++)
			for (size_t b = 0; b < p->progs.p[a]->points.v.n; b++) {
				const struct Point *q = p->progs.p[a]->points.v.p[b];
				bool is = (q->kind == PK_WATCHPOINT || q->kind == PK_ASYNCWATCHPOINT) && q->wp_arg >= 0;
				if (is && q->id >= after && (!best || q->id < best->id)) {
					best = q;
					*pp = p->progs.p[a];
				}
			}
		if (!best)
			return NULL;
	}
	return best;
}

struct err *watch_argument(struct ProbeEnv *env, const struct Program *prog, u32 i, u64 addr)
{
	struct ProbeProg *pp = NULL;
	const struct Point *p = function_watch(prog, i, &pp);
	struct err *e = NULL;
	bool set = !p;
	for (size_t k = 0; k < env->watches.n && !set; k++)
		set = env->watches.p[k].addr == addr && env->watches.p[k].point == p->id;
	if (!set)
		e = watch_attach(env, pp, p, addr);
	if (p && p->kind == PK_WATCHPOINT)
		kill(p->pid, SIGCONT);
	if (e && err_code(e) == ENOSPC && env->watch_full) { // said once; a function may be called with thousands of addresses
		err_free(e);
		return NULL;
	}
	env->watch_full |= e && err_code(e) == ENOSPC;
	return e ? err_wrap(e, "%s, address 0x%llx", p->name, (unsigned long long)addr) : NULL;
}
