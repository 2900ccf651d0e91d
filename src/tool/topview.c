// The terminal of `sonde top`, by ncurses(3X): draws a table, reads keys.
// In: rows, where the cursor stands. Out: what is on the screen; keys. Invariant: every line is cut to the screen's width, whatever is in it, and nothing
// that a name holds reaches the terminal but printable characters (toprows.c has seen to that).
#include "tool/internal.h"

#ifdef SONDE_CURSES
#include <curses.h>
#include <term.h>
#include <locale.h>
#include <unistd.h>
#include <wchar.h>

bool topview_there(void)
{
	return true;
}

struct err *topview_open(void)
{
	setlocale(LC_CTYPE, "");
	SCREEN *s = newterm(NULL, stdout, stdin);
	if (!s)
		return err_new("terminal type '%s' is not known: set TERM, or print text with --once", getenv("TERM") ? getenv("TERM") : "");
	set_term(s);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	return NULL;
}

void topview_close(void)
{
	if (!isendwin())
		endwin();
}

void topview_rescue(void)
{
	int err;
	if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return;
	for (size_t i = 0; i < 4; i++) {
		const char *text = (const char *[]){keypad_local, exit_attribute_mode, cursor_normal, exit_ca_mode}[i];
		if (text)
			putp(text);
	}
	fflush(stdout);
}

// Text in one line, cut where the screen ends: columns are counted, not bytes.
static void line_at(int y, const char *text, int attr)
{
	wchar_t wide[1024];
	size_t n = 0;
	int x = 0;
	mbstate_t state = {0};
	for (const char *p = text, *end = text + strlen(text); p < end && n < ARRAY_LEN(wide) - 1;) {
		wchar_t c;
		size_t k = mbrtowc(&c, p, (size_t)(end - p), &state);
		if (k == 0 || k > (size_t)(end - p)) { // no character of this locale
			c = L'?';
			k = 1;
			state = (mbstate_t){0};
		}
		int w = wcwidth(c);
		if (w < 0) {
			c = L'?';
			w = 1;
		}
		if (x + w > COLS)
			break;
		x += w;
		wide[n++] = c;
		p += k;
	}
	wide[n] = 0;
	move(y, 0);
	attrset(attr);
	addnwstr(wide, (int)n);
	for (; x < COLS; x++)
		addch(' ');
	attrset(A_NORMAL);
}

size_t topview_rows(void)
{
	return LINES > 4 ? (size_t)LINES - 4 : 1; // heading, columns, an empty line, keys
}

static void keys_line(const struct TopScreen *s, const struct TopView *v)
{
	struct Str text = {0};
	if (s->asks)
		str_addf(&text, "Only stacks with: %s_   (Enter: take it, Esc: all)", v->filter);
	else if (s->status)
		str_add(&text, s->status);
	else if (s->open && s->open_lines > s->open_room)
		str_addf(&text, "lines %zu to %zu of %zu   Up Down PgUp PgDn Home End  move   Enter fold   q quit", s->skip + 1, s->skip + s->open_room, s->open_lines);
	else
		str_add(&text, "h help  q quit  c on-CPU  o off-CPU  b both  g rows  Enter unfold  / filter");
	line_at(LINES - 1, str_text(&text), A_REVERSE);
	str_deinit(&text);
}

static void draw_help(void)
{
	static const char *const texts[] = {
		"c  on the processors    o  waiting    b  both, largest on-CPU first",
		"g  next kind of rows: f functions, s stacks, p processes, t threads,",
		"   n containers",
		"Enter  the row's stacks, unfolded     Up Down PgUp PgDn Home End  move, in",
		"   stacks that are longer than the screen too",
		"/  only stacks whose process, pid or a frame has a text; Esc  all again",
		"T  functions by what they have with their calls, or by themselves",
		"+ -  seconds that are summed: 1, 5, 15, 60",
		"Space  freeze: nothing new is taken    w  save as folded stacks    q  quit",
		"",
		"100 % is one processor, or one thread that waits, all the time.",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts) && (int)i + 3 < LINES - 1; i++)
		line_at((int)i + 3, texts[i], A_NORMAL);
}

// The stacks of the row at the cursor, as lines; those of a heading begin with their share.
static void open_text(const struct TopTable *open, const struct TopView *v, struct Str *out)
{
	for (size_t i = 0; i < open->rows.n; i++) {
		const struct TopRow *r = &open->rows.p[i];
		str_add(out, "      ");
		for (u32 side = 0; side < TOP_SIDES; side++)
			if (v->sides & (1u << side))
				str_addf(out, "%.1f %% ", top_share(open, side, r->own[side]));
		str_addf(out, "%s\n", r->what);
		for (const char *p = r->name; *p; p += strcspn(p, "\n"), p += *p == '\n')
			str_addf(out, "        %.*s\n", (int)strcspn(p, "\n"), p);
	}
}

// From line y on, as far as there is room, s->skip of them left out; the line after them.
static int draw_open(const struct TopView *v, struct TopScreen *s, int y)
{
	struct Str text = {0}, line = {0};
	size_t n = 0;
	open_text(s->open, v, &text);
	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	s->open_lines = n;
	s->open_room = y < LINES - 1 ? (size_t)(LINES - 1 - y) : 0;
	s->skip = n > s->open_room ? MIN(s->skip, n - s->open_room) : 0;
	n = 0;
	for (const char *p = str_text(&text); *p && y < LINES - 1; p += strcspn(p, "\n") + 1)
		if (n++ >= s->skip) {
			str_reset(&line);
			str_addn(&line, p, strcspn(p, "\n"));
			line_at(y++, str_text(&line), p[6] == ' ' ? A_NORMAL : A_BOLD);
		}
	str_deinit(&text);
	str_deinit(&line);
	return y;
}

void topview_draw(const struct TopTable *t, const struct TopView *v, struct TopScreen *s)
{
	struct Str line = {0};
	size_t rows = topview_rows();
	erase();
	str_addf(&line, "sonde top%s: ", s->frozen ? " (frozen)" : "");
	top_heading(t, v, &line);
	str_addf(&line, ", %u s", s->window);
	line_at(0, str_text(&line), A_BOLD);
	str_reset(&line);
	top_columns(v, &line);
	line_at(1, str_text(&line), A_REVERSE);
	if (s->at >= t->rows.n)
		s->at = t->rows.n ? t->rows.n - 1 : 0;
	s->first = s->open || s->at < s->first ? s->at : s->at >= s->first + rows ? s->at - rows + 1 : s->first;
	int y = 2;
	for (size_t i = s->first; i < t->rows.n && y < LINES - 1 && !s->help; i++) {
		str_reset(&line);
		top_line(t, v, &t->rows.p[i], &line);
		line_at(y++, str_text(&line), i == s->at ? A_REVERSE : A_NORMAL);
		if (i == s->at && s->open)
			y = draw_open(v, s, y);
	}
	if (s->help)
		draw_help();
	else if (!t->rows.n)
		line_at(3, t->elapsed[TOP_ON] + t->elapsed[TOP_OFF] > 0 ? "nothing was seen" : "the first second is being counted ...", A_NORMAL);
	keys_line(s, v);
	refresh();
	str_deinit(&line);
}

int topview_key(void)
{
	static const struct {
		int curses, ours;
	} keys[] = {{ERR, TOPKEY_NONE}, {KEY_UP, TOPKEY_UP}, {KEY_DOWN, TOPKEY_DOWN}, {KEY_PPAGE, TOPKEY_PAGE_UP}, {KEY_NPAGE, TOPKEY_PAGE_DOWN},
		    {KEY_HOME, TOPKEY_HOME}, {KEY_END, TOPKEY_END}, {KEY_ENTER, TOPKEY_ENTER}, {'\r', TOPKEY_ENTER}, {'\n', TOPKEY_ENTER},
		    {KEY_BACKSPACE, TOPKEY_BACK}, {127, TOPKEY_BACK}, {8, TOPKEY_BACK}, {27, TOPKEY_ESC}};
	int c = getch();
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].curses == c)
			return keys[i].ours;
	return c > 0 && c < 256 ? c : 0; // KEY_RESIZE: drawn anew
}
#else
bool topview_there(void) { return false; }
struct err *topview_open(void) { return err_new("this sonde was built without ncurses"); }
void topview_close(void) {}
void topview_rescue(void) {}
void topview_draw(const struct TopTable *t, const struct TopView *v, struct TopScreen *s) {}
int topview_key(void) { return TOPKEY_NONE; }
size_t topview_rows(void) { return 0; }
#endif
