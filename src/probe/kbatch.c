// Many kprobes at once on kernels without kprobe_multi: one trace event with a probe for each function (Documentation/trace/kprobetrace.rst: a
// repeated definition adds a probe to its event, 5.4), so that one perf event carries the program for all of them.
// Why: a kprobe on a function's first bytes is armed by ftrace, which walks all its records several times for each probe (5-15 ms), and a perf
// event each costs a grace period of RCU tasks trace (25 ms) when the program is taken off. Behind the 5-byte nop that ftrace owns, a
// breakpoint is enough, and nothing has happened yet: registers and stack are those of the entry. Not where the kernel would then unwind by a wrong rule (kcode.c).
// Invariant: definitions carry our pid in their group's name. They are removed at detach; a helper process removes them when we are killed.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include "lang/lang.h"
#include "probe/internal.h"

#define GROUP "sonde_"

static int open_events(int flags)
{
	const char *root;
	char path[300];
	struct err *e = tracefs_path(&root);
	if (e) {
		err_free(e);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/kprobe_events", root);
	return open(path, flags | O_CLOEXEC);
}

static bool write_line(int fd, const char *line)
{
	size_t n = strlen(line);
	return write(fd, line, n) == (ssize_t)n;
}

// Definitions "p:sonde_123/k0 _stext+1234" of process pid, or, with 0, of sondes that are gone. Returns how many events there were.
static size_t remove_events(int out, int of)
{
	int in = open_events(O_RDONLY);
	char *line = NULL, last[64] = "", group[64];
	size_t cap = 0;
	FILE *f = in >= 0 ? fdopen(in, "r") : NULL;
	NameList dead = {0};
	while (f && getline(&line, &cap, f) > 0) {
		int pid;
		char ev[24];
		if (sscanf(line, "%*[pr0-9]:" GROUP "%d/%23s", &pid, ev) != 2)
			continue;
		snprintf(group, sizeof(group), "-:" GROUP "%d/%s\n", pid, ev);
		if (strcmp(group, last) && (of ? pid == of : kill(pid, 0) && errno == ESRCH))
			vec_push(&dead, xstrdup(group));
		memcpy(last, group, sizeof(last));
	}
	free(line);
	if (f)
		fclose(f);
	for (size_t i = 0; i < dead.n; i++) {
		write_line(out, dead.p[i]); // a definition still in use elsewhere stays
		free((char *)dead.p[i]);
	}
	size_t n = dead.n;
	vec_deinit(&dead);
	return n;
}

// Unlike perf events, definitions outlive their maker. The other end of the pipe is ours alone: its end is ours, however it comes.
static void guard(struct Attachments *at)
{
	int p[2], me = getpid(), status;
	char c;
	if (attachments_guarded(at) || pipe2(p, O_CLOEXEC))
		return;
	pid_t child = fork();
	if (!child) {
		become_helper("sonde-cleanup", p, 1);
		while (read(p[0], &c, 1) < 0 && errno == EINTR)
			;
		int fd = open_events(O_WRONLY | O_APPEND);
		for (u32 i = 0; i < 100 && fd >= 0 && remove_events(fd, me); i++) // busy while the kernel still closes its perf event
			usleep(50000);
		_exit(0);
	}
	close(p[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	attachments_set_guard(at, p[1]);
}

static bool uses_func(void *arg, struct Expr *e)
{
	if (e->kind == E_IDENT && e->str && !strcmp(e->str, "func"))
		*(bool *)arg = true;
	return true;
}

// bpf_get_func_ip knows a function only at its very entry.
static bool needs_entry(const struct ProbeProg *pp)
{
	bool yes = pp->kind == PK_KRETPROBE || !pp->ast;
	if (pp->ast) {
		walk_expr(pp->ast->pred, uses_func, &yes);
		walk_exprs(pp->ast->body, uses_func, &yes);
	}
	return yes;
}

bool kbatch_fits(struct ProbeEnv *env, const struct ProbeProg *pp, u64 *text)
{
	if (pp->points.v.n < KBATCH_MIN || !sym_kernel_addr(env->syms, "_stext", "vmlinux", text))
		return false;
	for (size_t i = 0; i < pp->points.v.n; i++)
		if (pp->points.v.p[i]->addr < *text || pp->points.v.p[i]->off)
			return false;
	return true;
}

static bool define(int fd, const char *event, bool ret, u64 off)
{
	char line[128];
	// By distance from the first symbol (arm64 lists no _text): unambiguous where names repeat, and found at once in the kernel's table.
	snprintf(line, sizeof(line), "%c:" GROUP "%d/%s _stext+%llu\n", ret ? 'r' : 'p', getpid(), event, (unsigned long long)off);
	return write_line(fd, line);
}

static int definitions = -1; // kept open from the first definition on: when they are removed, sonde may no longer open it (base/privs.c)

static void undefine(const char *event)
{
	char line[128];
	snprintf(line, sizeof(line), "-:" GROUP "%d/%s\n", getpid(), event);
	write_line(definitions, line);
}

struct err *kbatch_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, u64 text, u64 *refused)
{
	char event[32];
	const char *root;
	struct Kcore core = {.fd = -1};
	int fd = open_events(O_WRONLY | O_APPEND);
	u64 done = 0;
	int first_errno = 0;
	if (fd < 0)
		return err_errno(errno, "kprobe_events");
	remove_events(fd, 0);
	guard(at);
	snprintf(event, sizeof(event), "k%u", attachments_next_def(at));
	bool ret = pp->kind == PK_KRETPROBE, at_entry = needs_entry(pp), kstack = !ret && takes_kstack(pp);
	if (!at_entry || kstack)
		kcore_open(&core);
	for (size_t i = 0; i < pp->points.v.n; i++) {
		u64 addr = pp->points.v.p[i]->addr, off = addr - text;
		u32 nops = kstack || !at_entry ? kcode_entry_nops(&core, addr) : 0, skip = pp->points.v.p[i]->skip ? pp->points.v.p[i]->skip : at_entry || (kstack && kcode_misleads(&core, addr + nops, false)) ? 0 : nops;
		if (kstack && !nops && kcode_misleads(&core, addr, true))
			kstacks_unsure(env, pp, pp->points.v.p[i]);
		bool ok = (skip && define(fd, event, ret, off + skip)) || define(fd, event, ret, off);
		if (!ok && !first_errno)
			first_errno = errno;
		done += ok;
	}
	if (definitions < 0)
		definitions = fd;
	else
		close(fd);
	if (!at_entry || kstack)
		kcore_close(&core);
	*refused = pp->points.v.n - done;
	if (!done)
		return err_errno(first_errno, "kprobe_events");
	attachments_add_def(at, event, undefine);
	err_free(tracefs_path(&root));
	s64 id = read_number(arena_printf(env->arena, "%s/events/" GROUP "%d/%s/id", root, getpid(), event));
	if (id < 0)
		return err_errno((int)-id, "the trace event of %llu kprobes", (unsigned long long)done);
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .config = (u64)id, .disabled = 1};
	struct err *e = attach_perf(pp, at, &attr, -1, first_online_cpu(), pp->points.v.p[0]->id);
	if (!e)
		attachments_count(at, done);
	return e;
}
