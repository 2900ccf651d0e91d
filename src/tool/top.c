// sonde top: what the machine is doing, drawn once a second.
// A collector is a process of ours that runs profile or offcputime with -i 1 and sends each report through a pipe (tool_feed); this side sums the last seconds
// and draws them. So counting goes on whatever is shown, and another view of the same costs nothing. A guard process waits for the one that draws: whatever
// ends that, the terminal is as it was.
// In: options, keys, reports of collectors. Out: the screen; text without a terminal. Invariant: no collector outlives us (PR_SET_PDEATHSIG).
#include "base/base.h"
#include "tool/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define SLICES_MAX 60		 // of each side
#define FEED_MAX (256u << 20) // bytes of one report
#define WINDOWS 1, 5, 15, 60

struct Collector {
	pid_t pid; // 0: none
	int fd, err_fd;
	struct Str in, err;
};

struct Top {
	// options
	struct TopView view;
	const char *pids;
	u64 hz, reports, rows; // reports: 0: until it is ended
	bool once, help;
	// the rest
	struct Collector collectors[TOP_SIDES];
	VEC(struct TopSlice *) slices; // oldest first
	u32 window;		       // seconds that are summed
	u32 arrived;		       // bits of sides: since the last text
	struct TopTable table, open;
	struct TopScreen screen;
	char status[160];
	bool unfolded, quit;
};

// ---- options
static struct err *set_text(void *to, const struct Option *row, const char *val)
{
	*(const char **)((char *)to + (uintptr_t)row->data) = val;
	return *val ? NULL : err_new("must not be empty");
}

static struct err *set_flag(void *to, const struct Option *row, const char *val)
{
	*(bool *)((char *)to + (uintptr_t)row->data) = true;
	return NULL;
}

static struct err *set_number(void *to, const struct Option *row, const char *val)
{
	u64 *n = (u64 *)((char *)to + (uintptr_t)row->data);
	return parse_u64(val, n) && *n ? NULL : err_new("must be a positive integer");
}

static struct err *set_sides(void *to, const struct Option *row, const char *val)
{
	((struct Top *)to)->view.sides = (u32)(uintptr_t)row->data;
	return NULL;
}

static const char *const by_names[TOP_BYS] = {"function", "stack", "process", "thread", "container"};
static struct err *set_by(void *to, const struct Option *row, const char *val)
{
	for (u32 i = 0; i < TOP_BYS; i++)
		if (!strcmp(val, by_names[i])) {
			((struct Top *)to)->view.by = i;
			return NULL;
		}
	return err_new("one of function, stack, process, thread, container");
}

#define FIELD(name) ((const void *)offsetof(struct Top, name))
#define SIDES(bits) ((const void *)(uintptr_t)(bits))
static const struct Option option_rows[] = {
	{'p', "pid", "PID,...", "only these processes", set_text, FIELD(pids)},
	{0, "by", "WHAT", "rows: function, stack, process, thread, container (function)", set_by},
	{'c', "on-cpu", NULL, "time on the processors (this unless told otherwise)", set_sides, SIDES(1 << TOP_ON)},
	{'o', "off-cpu", NULL, "time that threads wait", set_sides, SIDES(1 << TOP_OFF)},
	{'b', "both", NULL, "both", set_sides, SIDES(1 << TOP_ON | 1 << TOP_OFF)},
	{'F', "frequency", "HZ", "samples a second on each processor (99)", set_number, FIELD(hz)},
	{'1', "once", NULL, "print the first second as text, and end", set_flag, FIELD(once)},
	{'n', "reports", "N", "print so many seconds as text, and end", set_number, FIELD(reports)},
	{0, "rows", "N", "of text (20)", set_number, FIELD(rows)},
	{'h', "help", NULL, "this help", set_flag, FIELD(help)},
};

static void add_rows(struct OptionRows *rows)
{
	for (size_t i = 0; i < ARRAY_LEN(option_rows); i++)
		vec_push(&rows->v, &option_rows[i]);
}

void top_usage(FILE *out)
{
	struct OptionRows rows = {0};
	add_rows(&rows);
	fputs("USAGE: sonde top [options]\n\nWhat the machine is doing, drawn once a second: the functions, stacks, processes, threads or containers that use the\n"
	      "processors, or wait. Keys are shown in the last line; h has all. Without a terminal it prints text.\n\nOPTIONS:\n", out);
	options_help(&rows, out);
	fputs("\nEXAMPLES:\n    sonde top\n    sonde top -p 185 --by stack   stacks of a process\n    sonde top -b --by process     who computes, who waits\n"
	      "    sonde top --once              one second as text\n", out);
	vec_deinit(&rows.v);
}

void top_words(FILE *out)
{
	struct OptionRows rows = {0};
	add_rows(&rows);
	options_words(&rows, out);
	vec_deinit(&rows.v);
}

// ---- collectors
static volatile sig_atomic_t ended; // by a signal; handlers have no argument
static void on_end(int sig)
{
	ended = 1;
}

// The collector itself: a tool, whose texts go nowhere and whose warnings go to us.
static _Noreturn void collect(const struct Top *t, enum TopSide side, int feed, int err)
{
	const char *args[16];
	int n = 0, null = open("/dev/null", O_RDWR);
	char hz[24];
	setpgid(0, 0); // keys of the terminal are not for it
	for (int s = SIGHUP; s <= SIGTERM; s++)
		signal(s, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	dup2(null, 0);
	dup2(null, 1);
	dup2(err, 2);
	FILE *out = fdopen(feed, "w");
	snprintf(hz, sizeof(hz), "%llu", (unsigned long long)t->hz);
	args[n++] = side == TOP_ON ? "profile" : "offcputime";
	args[n++] = "-i";
	args[n++] = "1";
	if (side == TOP_ON) {
		args[n++] = "-F";
		args[n++] = hz;
	}
	if (t->pids) {
		args[n++] = "-p";
		args[n++] = t->pids;
	}
	if (t->view.by == TOP_THREAD)
		args[n++] = "--per-thread";
	if (t->view.by == TOP_CONTAINER) {
		args[n++] = "--by";
		args[n++] = "container";
	}
	args[n] = NULL;
	int rc = out ? tool_feed(tool_find(args[0]), n, (char **)args, out) : 1;
	fflush(stderr);
	_exit(rc);
}

static struct err *collector_start(struct Top *t, enum TopSide side)
{
	struct Collector *c = &t->collectors[side];
	int feed[2], err[2];
	if (pipe2(feed, O_CLOEXEC))
		return err_errno(errno, "pipe");
	if (pipe2(err, O_CLOEXEC)) {
		int e = errno;
		close(feed[0]);
		close(feed[1]);
		return err_errno(e, "pipe");
	}
	pid_t parent = getpid(), pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
		close(feed[0]);
		close(err[0]);
		for (u32 i = 0; i < TOP_SIDES; i++) // of another collector: it would not see that nobody reads
			if (t->collectors[i].pid) {
				close(t->collectors[i].fd);
				close(t->collectors[i].err_fd);
			}
		collect(t, side, feed[1], err[1]);
	}
	int e = errno;
	close(feed[1]);
	close(err[1]);
	if (pid < 0) {
		close(feed[0]);
		close(err[0]);
		return err_errno(e, "fork");
	}
	fcntl(feed[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	*c = (struct Collector){.pid = pid, .fd = feed[0], .err_fd = err[0]};
	return NULL;
}

static void collector_end(struct Collector *c)
{
	if (!c->pid)
		return;
	kill(c->pid, SIGTERM);
	close(c->fd);
	close(c->err_fd);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	str_deinit(&c->in);
	str_deinit(&c->err);
	*c = (struct Collector){0};
}

static void slice_free(struct TopSlice *s)
{
	input_deinit(&s->in);
	free(s);
}

// The oldest of a side that has more than it keeps, or of one that is counted no more
static void slices_trim(struct Top *t, u32 sides, u32 keep)
{
	u32 have[TOP_SIDES] = {0};
	size_t to = 0;
	for (size_t i = 0; i < t->slices.n; i++)
		have[t->slices.p[i]->side]++;
	for (size_t i = 0; i < t->slices.n; i++) {
		struct TopSlice *s = t->slices.p[i];
		if ((sides & (1u << s->side)) && have[s->side]-- > keep)
			slice_free(s);
		else
			t->slices.p[to++] = s;
	}
	t->slices.n = to;
}

// Those that the view has asked for run, and no others. Threads and containers are counted apart only for who looks at them.
static struct err *collectors_fit(struct Top *t)
{
	struct err *e = NULL;
	for (u32 side = 0; side < TOP_SIDES && !e; side++) {
		struct Collector *c = &t->collectors[side];
		bool wanted = t->view.sides & (1u << side);
		if (wanted && !c->pid)
			e = collector_start(t, side);
		else if (!wanted && c->pid) {
			collector_end(c);
			slices_trim(t, 1u << side, 0);
		}
	}
	return e;
}

static struct err *collectors_anew(struct Top *t)
{
	for (u32 side = 0; side < TOP_SIDES; side++)
		collector_end(&t->collectors[side]);
	slices_trim(t, ~0u, 0);
	return collectors_fit(t);
}

// ---- what they send
static struct err *take_report(struct Top *t, enum TopSide side, const char *data, size_t n)
{
	static const struct InputWish wish = {0};
	struct TopSlice *s = xcalloc(1, sizeof(*s));
	s->side = side;
	struct err *e = input_parse(&s->in, &wish, data, n);
	if (e || t->screen.frozen) {
		slice_free(s);
		return e;
	}
	vec_push(&t->slices, s);
	slices_trim(t, 1u << side, SLICES_MAX);
	t->arrived |= 1u << side;
	return NULL;
}

// Appends what is there; false: the other end is closed.
static bool take_bytes(int fd, struct Str *to)
{
	char buf[65536];
	ssize_t n;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		str_addn(to, buf, (size_t)n);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

// Why one has ended by itself: its last words
static struct err *collector_gone(struct Collector *c)
{
	take_bytes(c->err_fd, &c->err);
	struct Str shown = {0};
	while (c->err.n && c->err.p[c->err.n - 1] == '\n')
		c->err.p[--c->err.n] = 0;
	const char *last = strrchr(str_text(&c->err), '\n');
	last = last ? last + 1 : str_text(&c->err);
	str_add_shown(&shown, last, strlen(last));
	struct err *e = err_new("counting has ended%s%s", shown.n ? ": " : "", str_text(&shown));
	str_deinit(&shown);
	return e;
}

static struct err *collector_read(struct Top *t, enum TopSide side)
{
	struct Collector *c = &t->collectors[side];
	struct err *e = NULL;
	u64 len;
	size_t at = 0;
	bool lives = take_bytes(c->fd, &c->in);
	while (!e && c->in.n - at >= sizeof(len)) {
		memcpy(&len, c->in.p + at, sizeof(len));
		if (len > FEED_MAX)
			e = err_new("a report of %llu bytes", (unsigned long long)len);
		else if (c->in.n - at - sizeof(len) < len)
			break;
		else
			e = take_report(t, side, c->in.p + at + sizeof(len), len);
		at += sizeof(len) + len;
	}
	if (e)
		return e;
	memmove(c->in.p, c->in.p + at, c->in.n - at);
	c->in.n -= at;
	return lives ? NULL : collector_gone(c);
}

// Waits for reports, and for keys if there are any: at most half a second.
static struct err *wait_for(struct Top *t, bool keys)
{
	struct pollfd fds[1 + 2 * TOP_SIDES];
	nfds_t n = 0;
	struct err *e = NULL;
	if (keys)
		fds[n++] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
	for (u32 side = 0; side < TOP_SIDES; side++)
		if (t->collectors[side].pid) {
			fds[n++] = (struct pollfd){t->collectors[side].fd, POLLIN, 0};
			fds[n++] = (struct pollfd){t->collectors[side].err_fd, POLLIN, 0};
		}
	if (poll(fds, n, 500) < 0 && errno != EINTR)
		return err_errno(errno, "poll");
	for (u32 side = 0; side < TOP_SIDES && !e; side++)
		if (t->collectors[side].pid) {
			take_bytes(t->collectors[side].err_fd, &t->collectors[side].err);
			e = collector_read(t, side);
		}
	return e;
}

// ---- what is shown
// The last seconds of each side
static void shown_slices(const struct Top *t, struct TopSlice **out, size_t *n)
{
	u32 left[TOP_SIDES];
	*n = 0;
	for (u32 side = 0; side < TOP_SIDES; side++)
		left[side] = t->window;
	for (size_t i = t->slices.n; i-- > 0;)
		if (left[t->slices.p[i]->side]) {
			left[t->slices.p[i]->side]--;
			out[(*n)++] = t->slices.p[i];
		}
}

static void draw(struct Top *t)
{
	struct TopSlice *of[TOP_SIDES * SLICES_MAX];
	size_t n;
	shown_slices(t, of, &n);
	// The cursor stays on its row, wherever that goes.
	char *key = t->screen.at < t->table.rows.n && t->unfolded ? xasprintf("%s", t->table.rows.p[t->screen.at].key) : NULL;
	toptable_make(&t->table, of, n, &t->view);
	for (size_t i = 0; key && i < t->table.rows.n; i++)
		if (!strcmp(t->table.rows.p[i].key, key)) {
			t->screen.at = i;
			break;
		}
	free(key);
	t->screen.open = NULL;
	if (t->unfolded && t->screen.at < t->table.rows.n) {
		toprow_stacks(&t->open, of, n, &t->view, &t->table.rows.p[t->screen.at]);
		t->screen.open = &t->open;
	}
	t->screen.window = t->window;
	topview_draw(&t->table, &t->view, &t->screen);
}

// Folded stacks of what is shown, in a new file of the current folder
static void save(struct Top *t)
{
	struct TopSlice *of[TOP_SIDES * SLICES_MAX];
	size_t n;
	char path[64];
	time_t now = time(NULL);
	struct tm tm;
	t->screen.status = t->status;
	strftime(path, sizeof(path), "sonde-top-%Y%m%d-%H%M%S.folded", localtime_r(&now, &tm));
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f) {
		snprintf(t->status, sizeof(t->status), "cannot write %s: %s", path, strerror(errno));
		return;
	}
	shown_slices(t, of, &n);
	top_folded(of, n, &t->view, f);
	bool bad = ferror(f);
	bad |= fclose(f) != 0;
	snprintf(t->status, sizeof(t->status), bad ? "cannot write %s" : "written: %s", path);
}

static void window_step(struct Top *t, int by)
{
	static const u32 windows[] = {WINDOWS};
	for (size_t i = 0; i < ARRAY_LEN(windows); i++)
		if (windows[i] == t->window && i + (size_t)by < ARRAY_LEN(windows)) {
			t->window = windows[i + (size_t)by];
			return;
		}
}

static struct err *show_by(struct Top *t, enum TopBy by)
{
	enum TopBy was = t->view.by;
	t->view.by = by;
	t->screen.at = t->screen.first = 0;
	t->unfolded = false;
	bool special = by == TOP_THREAD || by == TOP_CONTAINER || was == TOP_THREAD || was == TOP_CONTAINER;
	return special && by != was ? collectors_anew(t) : NULL;
}

static struct err *show_sides(struct Top *t, u32 sides)
{
	t->view.sides = sides;
	return collectors_fit(t);
}

static void filter_key(struct Top *t, int key)
{
	char *f = t->view.filter;
	size_t n = strlen(f);
	if (key == TOPKEY_ENTER || key == TOPKEY_ESC)
		t->screen.asks = false;
	if (key == TOPKEY_ESC)
		*f = 0;
	else if (key == TOPKEY_BACK && n) {
		while (n && ((u8)f[n - 1] & 0xc0) == 0x80) // of one character
			n--;
		f[n ? n - 1 : 0] = 0;
	} else if (key >= ' ' && key < 256 && n + 1 < sizeof(t->view.filter)) {
		f[n] = (char)key;
		f[n + 1] = 0;
	}
}

static void move_by(struct Top *t, long by)
{
	size_t last = t->table.rows.n ? t->table.rows.n - 1 : 0;
	t->unfolded = false;
	if (by < 0)
		t->screen.at = t->screen.at > (size_t)-by ? t->screen.at - (size_t)-by : 0;
	else
		t->screen.at = MIN(t->screen.at + (size_t)by, last);
}

static struct err *on_key(struct Top *t, int key)
{
	long page = (long)topview_rows();
	if (t->screen.asks) {
		filter_key(t, key);
		return NULL;
	}
	t->screen.status = NULL;
	bool helped = t->screen.help;
	t->screen.help = false;
	switch (key) {
	case 'q': t->quit = true; break;
	case 'h': case '?': t->screen.help = !helped; break;
	case 'c': return show_sides(t, 1 << TOP_ON);
	case 'o': return show_sides(t, 1 << TOP_OFF);
	case 'b': return show_sides(t, 1 << TOP_ON | 1 << TOP_OFF);
	case 'f': return show_by(t, TOP_FUNCTION);
	case 's': return show_by(t, TOP_STACK);
	case 'p': return show_by(t, TOP_PROCESS);
	case 't': return show_by(t, TOP_THREAD);
	case 'n': return show_by(t, TOP_CONTAINER);
	case 'g': return show_by(t, (t->view.by + 1) % TOP_BYS);
	case 'T': t->view.total = !t->view.total; break;
	case ' ': t->screen.frozen = !t->screen.frozen; break;
	case '/': t->screen.asks = true; break;
	case 'w': save(t); break;
	case '+': window_step(t, 1); break;
	case '-': window_step(t, -1); break;
	case TOPKEY_ENTER: t->unfolded = !t->unfolded; break;
	case TOPKEY_ESC: t->view.filter[0] = 0; t->unfolded = false; break;
	case TOPKEY_UP: case 'k': move_by(t, -1); break;
	case TOPKEY_DOWN: case 'j': move_by(t, 1); break;
	case TOPKEY_PAGE_UP: move_by(t, -page); break;
	case TOPKEY_PAGE_DOWN: move_by(t, page); break;
	case TOPKEY_HOME: move_by(t, -(long)t->table.rows.n); break;
	case TOPKEY_END: move_by(t, (long)t->table.rows.n); break;
	}
	return NULL;
}

static struct err *run_screen(struct Top *t)
{
	struct err *e = topview_open();
	if (e)
		return e;
	while (!e && !t->quit && !ended) {
		draw(t);
		e = wait_for(t, true);
		for (int key; !e && (key = topview_key()) != TOPKEY_NONE;)
			e = on_key(t, key);
	}
	topview_close();
	return e;
}

static struct err *run_text(struct Top *t)
{
	struct err *e = NULL;
	for (u64 n = 0; !e && !ended && (!t->reports || n < t->reports);) {
		e = wait_for(t, false);
		if (e || t->arrived != t->view.sides)
			continue;
		struct TopSlice *of[TOP_SIDES * SLICES_MAX];
		size_t k;
		shown_slices(t, of, &k);
		toptable_make(&t->table, of, k, &t->view);
		top_text(&t->table, &t->view, (u32)MIN(t->rows, 1000000ull), stdout);
		t->arrived = 0;
		if (++n != t->reports)
			putchar('\n');
		if (fflush(stdout))
			break;
	}
	return e;
}

static int run(struct Top *t, bool screen)
{
	struct sigaction sa = {.sa_handler = on_end};
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGTTOU, SIG_IGN); // should the guard have been killed, we put the terminal right from the background
	struct err *e = collectors_fit(t);
	if (!e)
		e = screen ? run_screen(t) : run_text(t);
	for (u32 side = 0; side < TOP_SIDES; side++)
		collector_end(&t->collectors[side]);
	slices_trim(t, ~0u, 0);
	vec_deinit(&t->slices);
	toptable_deinit(&t->table);
	toptable_deinit(&t->open);
	return e ? command_failed(e) : 0;
}

// The one that draws is a child: whatever ends it, its terminal is put right by us.
static int run_guarded(struct Top *t)
{
	struct termios was;
	bool known = !tcgetattr(STDIN_FILENO, &was);
	int status = 0;
	pid_t parent = getpid(), pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(getppid() == parent ? run(t, true) : 1);
	}
	if (pid < 0)
		return command_failed(err_errno(errno, "fork"));
	signal(SIGINT, SIG_IGN); // the child has them too
	struct sigaction sa = {.sa_handler = on_end};
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		kill(pid, SIGTERM);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	topview_rescue();
	if (known)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
	fprintf(stderr, "ERROR: sonde top was ended by signal %d\n", WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int top_main(int argc, char **argv)
{
	struct Top t = {.view = {.sides = 1 << TOP_ON}, .hz = 99, .rows = 20, .window = 5};
	struct OptionRows rows = {0};
	struct OptionScan scan = {.rows = &rows, .argc = argc, .argv = argv};
	add_rows(&rows);
	options_begin(&scan);
	int rc = take_options("top", &t, &scan, NULL, NULL), rest = options_rest(&scan);
	options_end(&scan);
	vec_deinit(&rows.v);
	if (rc)
		return rc;
	if (t.help) {
		top_usage(stdout);
		return 0;
	}
	if (rest != argc)
		return usage_error("top", "unrecognized arguments: %s", argv[rest]);
	t.reports = t.once ? 1 : t.reports;
	if (t.reports || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !topview_there()) {
		t.window = 1;
		return run(&t, false);
	}
	return run_guarded(&t);
}
