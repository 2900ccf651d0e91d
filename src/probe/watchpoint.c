// watchpoint:address:length:mode and watchpoint:function+argN:length:mode. In: numbers. Out: points for the processor's breakpoint registers.
// The address is of a process with -p or -c, else of the kernel. The function form has no address yet: watch.c has the function's argument
// sent here, and attaches then.
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <signal.h>
#include "probe/internal.h"

struct Mode {
	const char *text; // letters in order
	u32 bits;
};
#if defined(__x86_64__)
static const struct Mode modes[] = {{"rw", HW_BREAKPOINT_RW}, {"w", HW_BREAKPOINT_W}, {"x", HW_BREAKPOINT_X}};
#define MODES "x,w,rw"
#else
static const struct Mode modes[] = {{"r", HW_BREAKPOINT_R}, {"rw", HW_BREAKPOINT_RW}, {"w", HW_BREAKPOINT_W}, {"x", HW_BREAKPOINT_X}};
#define MODES "x,w,r,rw"
#endif

static const struct Mode *find_mode(const char *text)
{
	char sorted[4] = {0};
	size_t n = strlen(text);
	if (!n || n > 3)
		return NULL;
	for (const char *c = "rwx"; *c; c++)
		if (strchr(text, *c))
			sorted[strlen(sorted)] = *c;
	if (strlen(sorted) != n)
		return NULL;
	for (u32 i = 0; i < ARRAY_LEN(modes); i++)
		if (!strcmp(modes[i].text, sorted))
			return &modes[i];
	return NULL;
}

bool watch_function_form(struct ProbeEnv *env, const char *text, const char **func, int *arg)
{
	u64 n;
	const char *plus = strrchr(text, '+');
	if (!plus || plus == text || strncmp(plus + 1, "arg", 3) || !parse_u64(plus + 4, &n) || n >= ptregs_abi[PT_HOST].nargs)
		return false;
	*func = arena_strndup(env->arena, text, (size_t)(plus - text));
	*arg = (int)n;
	return true;
}

void watchpoint_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	u64 addr = 0, len;
	const char *func = NULL;
	int arg = -1;
	if (!spec_parts(env, p, spec, 3, 3))
		return;
	if (!parse_u64(spec->parts[1], &addr) && !watch_function_form(env, spec->parts[1], &func, &arg)) {
		diag_error(env->diags, spec->span, "Invalid function/address argument: invalid integer: %s", spec->parts[1]);
		return;
	}
	if (!func && !addr) {
		diag_error(env->diags, spec->span, "watchpoint must be attached to a non-zero address");
		return;
	}
	if (!parse_u64(spec->parts[2], &len) || (len != 1 && len != 2 && len != 4 && len != 8)) {
		diag_error(env->diags, spec->span, "watchpoint length must be one of (1,2,4,8)");
		return;
	}
	const struct Mode *m = find_mode(spec->parts[3]);
	if (!m) {
		diag_error(env->diags, spec->span, "invalid watchpoint mode: %s", spec->parts[3]);
		diag_hint(env->diags, "supported modes: " MODES);
		return;
	}
	if (func && !env->pid && !env->child) {
		diag_error(env->diags, spec->span, "the function form watches one process: give -p PID or -c COMMAND");
		return;
	}
	struct Point *pt = point_new(env, p, CTX_PERF);
	pt->addr = addr;
	pt->wp_len = len;
	pt->wp_mode = m->bits;
	pt->wp_arg = arg;
	pt->event = func;
	pt->pid = env->pid ? env->pid : env->child;
	pt->target = env->cmd_path ? env->cmd_path : pt->pid ? arena_printf(env->arena, "/proc/%d/exe", pt->pid) : NULL;
	pt->perf_type = PERF_TYPE_BREAKPOINT;
	if (func)
		pt->name = arena_printf(env->arena, "%s:%s+arg%d:%llu:%s", p->name, func, arg, (unsigned long long)len, m->text);
	else
		pt->name = arena_printf(env->arena, "%s:%llu:%llu:%s", p->name, (unsigned long long)addr, (unsigned long long)len, m->text);
	point_add(env, spec, out, pt);
}

// Addresses cannot be listed.
void watchpoint_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
}

// ---- while they are set: perf events on breakpoint registers, each owned by a struct Watch until unwatch() or the end
static struct err *explain(const struct Point *pt, u64 addr, struct err *e)
{
	int code = err_code(e);
	err_free(e);
	switch (code) {
	case ENOSPC:
		return err_errno(code, "the processor's breakpoint registers are all in use");
	case EINVAL:
		return err_errno(code, "0x%llx cannot be watched: is it a multiple of its length, and %s address?", (unsigned long long)addr,
				 pt->pid ? "a user" : "a kernel");
	case ESRCH:
		return err_errno(code, "process %d", pt->pid);
	case EOPNOTSUPP: case ENOENT: case ENODEV:
		return err_errno(code, "this machine has no hardware breakpoints (virtual?)");
	default:
		return err_errno(code, "watchpoint");
	}
}

static struct Attachments *watch_new(struct ProbeEnv *env, const struct Point *p, u64 addr)
{
	struct Watch w = {addr, p->id, attachments_create()};
	vec_push(&env->watches, w);
	return w.at;
}

struct err *watch_attach(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *p, u64 addr)
{
	struct perf_event_attr model = {.type = PERF_TYPE_BREAKPOINT, .sample_period = 1, .bp_addr = addr, .bp_type = p->wp_mode};
	// perf_event_open(2): an execution breakpoint is as long as a long
	model.bp_len = p->wp_mode & HW_BREAKPOINT_X ? sizeof(long) : p->wp_len;
	struct err *e = attach_everywhere(pp, p, watch_new(env, p, addr), &model);
	if (!e)
		return NULL;
	attachments_destroy(vec_last(&env->watches).at);
	env->watches.n--;
	return explain(p, addr, e);
}

void watch_remove(struct ProbeEnv *env, u64 addr)
{
	size_t n = 0;
	for (size_t i = 0; i < env->watches.n; i++) {
		if (env->watches.p[i].addr == addr)
			attachments_destroy(env->watches.p[i].at);
		else
			env->watches.p[n++] = env->watches.p[i];
	}
	env->watches.n = n;
}

void watches_end(struct ProbeEnv *env)
{
	for (size_t i = 0; i < env->watches.n; i++)
		attachments_destroy(env->watches.p[i].at);
	vec_deinit(&env->watches);
	if (env->nwatchfns && (env->pid || env->child)) // an event may have been lost or not be answered any more
		kill(env->pid ? env->pid : env->child, SIGCONT);
	env->nwatchfns = 0;
}

static struct err *attach_one(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	return pt->wp_arg >= 0 ? NULL : watch_attach(env, pp, pt, pt->addr);
}

struct err *watchpoint_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return attach_each(env, pp, at, attach_one);
}
