// Records of the ring buffer become actions and output.
// In: one record as bpfrt/abi.h lays it out. Out: calls of the renderer. Invariant: a record that is too short for its kind is dropped, never
// read past its end.
#include "run/run.h"
#include "bpfrt/abi.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

// A message about the run itself on stderr, as "ERROR: ...".
static void complain(struct RunCtx *rc, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void complain(struct RunCtx *rc, const char *fmt, ...)
{
	va_list ap;
	FILE *f = rc->render->err ? rc->render->err : stderr;
	rc->render->ops->flush(rc->render);
	va_start(ap, fmt);
	fputs("ERROR: ", f);
	vfprintf(f, fmt, ap);
	fputc('\n', f);
	va_end(ap);
}

static void check(struct RunCtx *rc, struct err *e)
{
	if (e)
		complain(rc, "%s", err_text(e));
	err_free(e);
}

// ---- errors of the script

// Source line and underline of a span: what diags_render puts after its first line.
static void span_context(struct RunCtx *rc, struct Span at, struct Str *out)
{
	struct Diags d = *rc->prog->diags;
	struct Str s = {0};
	memset(&d.items, 0, sizeof(d.items));
	at.from = 0;
	diag_warn(&d, at, "x");
	diags_render(&d, true, &s);
	const char *nl = strchr(str_text(&s), '\n');
	str_add(out, nl ? nl + 1 : "");
	str_deinit(&s);
	free(d.items.p[0].msg);
	vec_deinit(&d.items);
}

static void report_error(struct RunCtx *rc, struct Span at, struct RunError *e)
{
	struct Str where = {0}, ctx = {0}, calls = {0};
	const struct Diags *d = rc->prog->diags;
	if (d && at.file < d->sources.n) {
		span_text(d, at, &where);
		span_context(rc, at, &ctx);
		span_pos(d, at, &e->line, &e->col);
		diags_add_calls_of(d, at, e->kind == RUN_ERRORF ? DIAG_ERROR : DIAG_WARNING, &calls);
		e->calls = calls.n ? calls.p : NULL;
		e->file = d->sources.p[at.file].name;
		e->where = str_text(&where);
		e->context = str_text(&ctx);
	}
	rc->errors += e->kind != RUN_WARNF;
	rc->render->ops->error(rc->render, e);
	str_deinit(&where);
	str_deinit(&ctx);
	str_deinit(&calls);
}

void report_site(struct RunCtx *rc, const struct ErrSite *site, s64 ret)
{
	struct RunError e = {.kind = RUN_HELPER, .helper = site->what, .retcode = ret};
	rc->losses++;
	if (!rc->warnings)
		return;
	struct Str text = {0};
	const char *number = strstr(site->what, "{}");
	e.text = strerror(ret < 0 ? (int)-ret : (int)ret);
	if (strchr(site->what, ' ')) { // not a helper's name but what went wrong
		e.kind = RUN_RUNTIME;
		str_addn(&text, site->what, number ? (size_t)(number - site->what) : strlen(site->what));
		if (number)
			str_addf(&text, "%llu%s", (unsigned long long)ret, number + 2);
		e.text = str_text(&text);
	}
	report_error(rc, site->span, &e);
	str_deinit(&text);
}

static void handle_helper_error(struct RunCtx *rc, const struct RtEvent *ev, const void *payload, size_t n)
{
	s64 ret;
	if (n < sizeof(ret) || ev->id >= rc->prog->errsites.n)
		return;
	memcpy(&ret, payload, sizeof(ret));
	report_site(rc, rc->prog->errsites.p[ev->id], ret);
}

// ---- the actions behind a format site

static void handle_time(struct RunCtx *rc, const struct FmtSite *site)
{
	struct Str s = {0};
	strftime_text(rc, site->fmt, CLOCK_REALTIME, clock_ns(CLOCK_REALTIME), &s);
	rc->render->ops->message(rc->render, MSG_TIME, str_text(&s), s.n);
	str_deinit(&s);
}

// At most max bytes of a file; a regular file, a pipe or /proc alike.
static void handle_cat(struct RunCtx *rc, const char *path)
{
	struct Str s = {0};
	size_t max = rc->prog->config.max_cat_bytes;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char buf[4096];
	ssize_t n = fd < 0 ? -1 : 1;
	while (n > 0 && s.n < max) {
		n = read(fd, buf, MIN(sizeof(buf), max - s.n));
		if (n > 0)
			str_addn(&s, buf, (size_t)n);
	}
	int e = errno;
	if (fd >= 0)
		close(fd);
	rc->render->ops->message(rc->render, MSG_CAT, str_text(&s), s.n);
	if (n < 0)
		complain(rc, rc->as_bpftrace ? "failed to open file '%s' (%s)" : "failed to open file '%s': %s", path, strerror(e));
	str_deinit(&s);
}

static void run_shell(const char *cmd, int out, int parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execl("/bin/sh", "sh", "-c", cmd, (char *)NULL);
	_exit(127);
}

// Runs the command to its end; what it writes to stdout and stderr goes to our output.
static void handle_system(struct RunCtx *rc, const char *cmd)
{
	int p[2], parent = getpid();
	if (!rc->prog->config.unsafe) {
		complain(rc, "system() not allowed in safe mode. Use '--unsafe'.");
		return;
	}
	if (rc->no_commands) {
		rc->commands_left++;
		return;
	}
	rc->ran_command = true;
	if (pipe2(p, O_CLOEXEC)) {
		complain(rc, "system(): pipe: %s", strerror(errno));
		return;
	}
	rc->render->ops->flush(rc->render);
	pid_t pid = fork();
	if (!pid)
		run_shell(cmd, p[1], parent);
	int fork_errno = errno;
	close(p[1]);
	struct Str s = {0};
	char buf[4096];
	ssize_t n;
	while (pid > 0 && ((n = read(p[0], buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0)
			str_addn(&s, buf, (size_t)n);
	close(p[0]);
	int status = 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	rc->render->ops->message(rc->render, MSG_SYSTEM, str_text(&s), s.n);
	if (pid < 0)
		complain(rc, "Error executing program: fork: %s", strerror(fork_errno));
	else if (!WIFEXITED(status))
		complain(rc, "Error executing program: killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		complain(rc, "Error executing program: command exited with code %d", WEXITSTATUS(status));
	str_deinit(&s);
}

static void handle_join(struct RunCtx *rc, const struct FmtSite *site, const u8 *p, size_t n)
{
	u64 count;
	struct Str s = {0};
	if (n < sizeof(count))
		return;
	memcpy(&count, p, sizeof(count));
	p += sizeof(count);
	n -= sizeof(count);
	for (u64 i = 0; i < MIN(count, (u64)RT_JOIN_MAX) && i * RT_JOIN_STRIDE < n; i++) {
		const char *arg = (const char *)p + i * RT_JOIN_STRIDE;
		size_t len = strnlen(arg, MIN((size_t)RT_JOIN_STRIDE, n - i * RT_JOIN_STRIDE));
		if (!len)
			break;
		if (i)
			str_addn(&s, site->fmt, site->len);
		if (rc->render->escape)
			str_add_shown(&s, arg, len);
		else
			str_addn(&s, arg, len);
	}
	rc->render->ops->message(rc->render, MSG_JOIN, str_text(&s), s.n);
	str_deinit(&s);
}

static void handle_print_value(struct RunCtx *rc, const struct FmtSite *site, const u8 *p, size_t n)
{
	struct Arena a = {0};
	struct Value v;
	const struct FmtArg *arg = site->args;
	u8 *copy = NULL;
	if (!site->nargs)
		return;
	size_t need = (size_t)arg->off + arg->type->size;
	if (n < need) {
		copy = xcalloc(1, need);
		memcpy(copy, p, n);
		p = copy;
	}
	value_decode(rc, &a, arg->type, p + arg->off, &v);
	rc->render->ops->value(rc->render, &v);
	free(copy);
	arena_deinit(&a);
}

static void handle_fmt(struct RunCtx *rc, const struct FmtSite *site, const u8 *p, size_t n)
{
	struct Str s = {0};
	struct RunError e = {0};
	switch (site->kind) {
	case FK_PRINTF:
		format_site(rc, site, p, n, &s);
		rc->render->ops->message(rc->render, MSG_PRINTF, str_text(&s), s.n);
		break;
	case FK_PRINT_VALUE:
		handle_print_value(rc, site, p, n);
		break;
	case FK_TIME:
		handle_time(rc, site);
		break;
	case FK_CAT:
		format_site(rc, site, p, n, &s);
		handle_cat(rc, str_text(&s));
		break;
	case FK_SYSTEM:
		format_site(rc, site, p, n, &s);
		handle_system(rc, str_text(&s));
		break;
	case FK_ERRORF:
	case FK_WARNF:
		if (site->kind == FK_WARNF && !rc->warnings)
			break;
		format_site(rc, site, p, n, &s);
		e.kind = site->kind == FK_ERRORF ? RUN_ERRORF : RUN_WARNF;
		e.text = str_text(&s);
		report_error(rc, site->span, &e);
		break;
	case FK_JOIN:
		handle_join(rc, site, p, n);
		break;
	case FK_STRFTIME:
	case FK_CGROUP_PATH: // parts of other values, no records of their own
	case FK_SKB:	     // packets.c
		break;
	}
	str_deinit(&s);
}

static void handle_map(struct RunCtx *rc, const struct RtEvent *ev, const void *payload, size_t n)
{
	struct RtPrintMap pm = {0};
	if (ev->id >= rc->prog->maps.n)
		return;
	struct MapDef *m = rc->prog->maps.p[ev->id];
	bool print = ev->kind == RT_EV_PRINT_MAP;
	if (print && n < sizeof(pm))
		return;
	if (print)
		memcpy(&pm, payload, sizeof(pm));
	struct MapAction a = {ev->kind == RT_EV_CLEAR ? MAP_CLEAR : ev->kind == RT_EV_ZERO ? MAP_ZERO : pm.take ? MAP_PRINT_CLEAR : MAP_PRINT, pm.top, pm.div};
	if (rc->on_map && rc->on_map(rc->map_arg, rc, m, &a))
		return;
	if (print)
		check(rc, map_print(rc, m, pm.top, pm.div, true, pm.take));
	else
		check(rc, a.what == MAP_CLEAR ? map_clear(m) : map_zero(m));
}

void event_handle(struct RunCtx *rc, const void *data, size_t n)
{
	struct RtEvent ev;
	u64 arg = 0;
	if (n < sizeof(ev))
		return;
	memcpy(&ev, data, sizeof(ev));
	const u8 *p = (const u8 *)data + sizeof(ev);
	n -= sizeof(ev);
	if (n >= sizeof(arg))
		memcpy(&arg, p, sizeof(arg));
	if (rc->exiting) // exit() was called: what comes after it never happened
		return;
	switch (ev.kind) {
	case RT_EV_FMT:
	case RT_EV_JOIN:
		if (ev.id < rc->prog->fmts.n)
			handle_fmt(rc, rc->prog->fmts.p[ev.id], p, n);
		break;
	case RT_EV_PRINT_ENTRY:
		if (ev.id < rc->prog->maps.n && n >= rc->prog->maps.p[ev.id]->key_size)
			check(rc, map_print_entry(rc, rc->prog->maps.p[ev.id], p));
		break;
	case RT_EV_PRINT_MAP:
	case RT_EV_CLEAR:
	case RT_EV_ZERO:
		handle_map(rc, &ev, p, n);
		break;
	case RT_EV_EXIT:
		rc->exit_code = (int)arg;
		rc->exiting = true;
		break;
	case RT_EV_HELPER_ERR:
		handle_helper_error(rc, &ev, p, n);
		break;
	case RT_EV_WATCH:
	case RT_EV_UNWATCH:
		if (rc->on_watch && n >= sizeof(arg))
			rc->on_watch(rc->watch_arg, ev.id, arg, ev.kind == RT_EV_UNWATCH);
		break;
	case RT_EV_OTEL:
		if (rc->otel && n >= 16) {
			u64 tgid;
			memcpy(&tgid, p + 8, sizeof(tgid));
			otel_look(rc->otel, (int)tgid, arg);
		}
		break;
	default:
		break;
	}
}
