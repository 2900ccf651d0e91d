// sonde top: what the machine is doing, drawn once a second.
// Collectors count (topfeed.c); this side sums the last seconds and draws them. So counting goes on whatever is shown, and another view of the same costs nothing.
// A guard process waits for the one that draws: whatever ends that, the terminal is as it was.
// In: options, keys, reports of collectors. Out: the screen; text without a terminal. Invariant: a row that is unfolded stays under the cursor, wherever it goes.
#include "base/base.h"
#include "tool/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define WINDOWS 1, 5, 15, 60

struct Top {
	// options
	struct TopView view;
	struct TopFeed feed;
	u64 reports, rows; // reports: 0: until it is ended
	bool once, help;
	// the rest
	u32 window;		       // seconds that are summed
	struct TopTable table, open;
	struct TopScreen screen;
	char status[160];
	bool unfolded, quit;
};

// ---- options
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
	{'p', "pid", "PID,...", "only these processes", set_option_text, FIELD(feed.pids)},
	{0, "by", "WHAT", "rows: function, stack, process, thread, container (function)", set_by, .values = "function|stack|process|thread|container"},
	{'c', "on-cpu", NULL, "time on the processors (this unless told otherwise)", set_sides, SIDES(1 << TOP_ON)},
	{'o', "off-cpu", NULL, "time that threads wait", set_sides, SIDES(1 << TOP_OFF)},
	{'b', "both", NULL, "both", set_sides, SIDES(1 << TOP_ON | 1 << TOP_OFF)},
	{'F', "frequency", "HZ", "samples a second on each processor (99)", set_number, FIELD(feed.hz)},
	{'1', "once", NULL, "print the first second as text, and end", set_option_flag, FIELD(once)},
	{'n', "reports", "N", "print so many seconds as text, and end", set_number, FIELD(reports)},
	{0, "rows", "N", "of text (20)", set_number, FIELD(rows)},
	{'h', "help", NULL, "this help", set_option_flag, FIELD(help)},
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

static volatile sig_atomic_t ended; // by a signal; handlers have no argument
static void on_end(int sig)
{
	ended = 1;
}

// ---- what is shown
static void draw(struct Top *t)
{
	struct TopSlice *of[TOP_SIDES * TOP_SLICES];
	size_t n;
	topfeed_last(&t->feed, &t->view, t->window, of, &n);
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
	t->screen.frozen = t->feed.frozen;
	topview_draw(&t->table, &t->view, &t->screen);
}

// Folded stacks of what is shown, in a new file of the current folder
static void save(struct Top *t)
{
	struct TopSlice *of[TOP_SIDES * TOP_SLICES];
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
	topfeed_last(&t->feed, &t->view, t->window, of, &n);
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
	return special && by != was ? topfeed_anew(&t->feed, &t->view) : NULL;
}

static struct err *show_sides(struct Top *t, u32 sides)
{
	t->view.sides = sides;
	return topfeed_fit(&t->feed, &t->view);
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
	struct TopScreen *s = &t->screen;
	if (t->unfolded && s->open_lines > s->open_room) { // there is more of it than the screen shows
		size_t most = s->open_lines - s->open_room;
		s->skip = by < 0 ? s->skip - MIN(s->skip, (size_t)-by) : MIN(s->skip + (size_t)by, most);
		return;
	}
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
	case ' ': t->feed.frozen = !t->feed.frozen; break;
	case '/': t->screen.asks = true; break;
	case 'w': save(t); break;
	case '+': window_step(t, 1); break;
	case '-': window_step(t, -1); break;
	case TOPKEY_ENTER: t->unfolded = !t->unfolded; t->screen.skip = t->screen.open_lines = 0; break;
	case TOPKEY_ESC: t->view.filter[0] = 0; t->unfolded = false; break;
	case TOPKEY_UP: case 'k': move_by(t, -1); break;
	case TOPKEY_DOWN: case 'j': move_by(t, 1); break;
	case TOPKEY_PAGE_UP: move_by(t, -page); break;
	case TOPKEY_PAGE_DOWN: move_by(t, page); break;
	case TOPKEY_HOME: move_by(t, -LONG_MAX); break;
	case TOPKEY_END: move_by(t, LONG_MAX / 2); break;
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
		e = topfeed_wait(&t->feed, true);
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
		e = topfeed_wait(&t->feed, false);
		if (e || t->feed.arrived != t->view.sides)
			continue;
		struct TopSlice *of[TOP_SIDES * TOP_SLICES];
		size_t k;
		topfeed_last(&t->feed, &t->view, t->window, of, &k);
		toptable_make(&t->table, of, k, &t->view);
		top_text(&t->table, &t->view, (u32)MIN(t->rows, 1000000ull), stdout);
		t->feed.arrived = 0;
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
	setpriority(PRIO_PROCESS, 0, -10); // a busy machine is where it is asked most, and has to answer; collectors are our children
	signal(SIGTTOU, SIG_IGN); // should the guard have been killed, we put the terminal right from the background
	struct err *e = topfeed_fit(&t->feed, &t->view);
	if (!e)
		e = screen ? run_screen(t) : run_text(t);
	if (e && t->feed.pids && !any_lives(t->feed.pids)) { // it ends with the last of them
		err_free(e);
		e = NULL;
	}
	topfeed_end(&t->feed);
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
	struct Top t = {.view = {.sides = 1 << TOP_ON}, .feed.hz = 99, .rows = 20, .window = 5};
	struct OptionRows rows = {0};
	struct OptionScan scan = {.rows = &rows, .argc = argc, .argv = argv};
	add_rows(&rows);
	options_begin(&scan);
	int rc = command_options("top", &t, &scan, NULL, NULL), rest = options_rest(&scan);
	options_end(&scan);
	vec_deinit(&rows.v);
	if (rc)
		return rc;
	if (t.help) {
		top_usage(stdout);
		return 0;
	}
	if (rest != argc)
		return command_usage("top", "unrecognized arguments: %s", argv[rest]);
	if (t.feed.pids && !any_alive(t.feed.pids, "process"))
		return 1;
	t.reports = t.once ? 1 : t.reports;
	if (t.reports || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !topview_there()) {
		t.window = 1;
		return run(&t, false);
	}
	return run_guarded(&t);
}
