// See complete.h. In: the words typed. Out: candidates from the tables that options, tools, help topics and probes are rows of. Invariant: nothing is attached, and
// each candidate replaces the whole word that is being written.
#include "complete.h"
#include "cmdline.h"
#include "help.h"
#include "lang/lang.h"
#include "probe/probe.h"
#include "session/session.h"
#include "tool/tool.h"
#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <sys/mman.h>

#define PROBES_TEXT_MAX (64u << 20)

struct Completing {
	FILE *out;
	const char *cur;    // what is written of the word, or of its last part
	const char *before; // the part of the word before cur: "--by=", "1,"
};

static void offer(const struct Completing *c, const char *word, size_t n, const char *help)
{
	size_t have = strlen(c->cur);
	if (n >= have && !strncmp(word, c->cur, have))
		fprintf(c->out, "%s%.*s%s%s\n", c->before, (int)n, word, help && *help ? "\t" : "", help ? help : "");
}

static void offer_word(const struct Completing *c, const char *word, const char *help)
{
	offer(c, word, strlen(word), help);
}

static void offer_files(const struct Completing *c, const char *what)
{
	if (!*c->before) // the shells look for names of files by the whole word
		fprintf(c->out, ":%s\n", what);
}

// What print writes, to be freed.
static char *printed(void (*print)(FILE *, const char *), const char *arg)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return xstrdup("");
	print(f, arg);
	fclose(f);
	return text ? text : xstrdup("");
}

// The next line of *p, ended by a 0. NULL: none.
static char *next_line(char **p)
{
	char *line = *p, *end = line + strcspn(line, "\n");
	if (!*line)
		return NULL;
	*p = *end ? end + 1 : end;
	*end = 0;
	return line;
}

// Lines of a name, space, its help.
static void offer_lines(const struct Completing *c, char *text)
{
	for (char *p = text, *line; (line = next_line(&p));) {
		size_t n = strcspn(line, " \t");
		offer(c, line, n, line + n + strspn(line + n, " \t"));
	}
	free(text);
}

static void print_tools(FILE *f, const char *arg)
{
	tools_help(f);
	help_commands(f);
	script_tools_help(f);
}

static void print_topics(FILE *f, const char *arg)
{
	help_print(f, "topics", false);
}

static void print_passes(FILE *f, const char *arg)
{
	passes_list(f);
}

static void print_options(FILE *f, const char *tool)
{
	help_options(f, tool);
}

// The first line of passes_list() is a heading; parts of a pass are further in; "name, other name   what it makes".
static void offer_passes(const struct Completing *c)
{
	char *text = printed(print_passes, NULL), *p = text, *line = next_line(&p);
	while (line && (line = next_line(&p)))
		for (bool more = true; more;) {
			line += strspn(line, " ");
			size_t n = strcspn(line, " ,");
			offer(c, line, n, NULL);
			more = line[n] == ',';
			line += n + more;
		}
	free(text);
}

// ---- values of options
static void offer_processes(const struct Completing *c, bool names)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	while (d && (e = readdir(d))) {
		char path[sizeof(e->d_name) + 16];
		struct Str comm = {0}, shown = {0};
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		err_free(read_file(path, &comm, 64)); // gone meanwhile: then it has no name
		if (comm.n && comm.p[comm.n - 1] == '\n')
			comm.p[--comm.n] = 0;
		for (const char *s = str_text(&comm); *s; s++) // a process chooses its name: nothing in it may end the line or move the cursor
			str_addc(&shown, (unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s);
		if (!names)
			offer_word(c, e->d_name, str_text(&shown));
		else if (shown.n)
			offer_word(c, str_text(&shown), NULL);
		str_deinit(&comm);
		str_deinit(&shown);
	}
	if (d)
		closedir(d);
}

static void offer_cpus(const struct Completing *c)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	for (long i = 0; i < n; i++) {
		char num[24];
		snprintf(num, sizeof(num), "%ld", i);
		offer_word(c, num, NULL);
	}
}

// "a|b|c"; what is a name for a value and not a value has capitals or dots.
static void offer_choices(const struct Completing *c, const char *v)
{
	for (size_t n; *v; v += n, v += *v == '|') {
		n = strcspn(v, "|,");
		if (n && islower((unsigned char)*v))
			offer(c, v, n, NULL);
		if (v[n] == ',')
			return;
	}
}

// ---- probes
// The names that -l would list.
static char *listed(const char *pattern)
{
	struct Str text = {0};
	int fd = memfd_create("probes", MFD_CLOEXEC);
	char *path = xasprintf("/proc/self/fd/%d", fd);
	struct Options o = {.list = true, .pattern = pattern, .out_path = path};
	if (fd >= 0 && !session_list(&o))
		err_free(read_file(path, &text, PROBES_TEXT_MAX));
	if (fd >= 0)
		close(fd);
	free(path);
	char *out = xstrdup(str_text(&text));
	str_deinit(&text);
	return out;
}

static void offer_paths(const struct Completing *c, size_t kind_len)
{
	char *pattern = xasprintf("%s*", c->cur + kind_len);
	glob_t g = {0};
	if (!glob(pattern, GLOB_MARK, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++) {
			size_t n = strlen(g.gl_pathv[i]);
			char *word = xasprintf("%.*s%s%s", (int)kind_len, c->cur, g.gl_pathv[i], n && g.gl_pathv[i][n - 1] == '/' ? "" : ":");
			offer_word(c, word, NULL);
			free(word);
		}
	globfree(&g);
	free(pattern);
}

static void offer_probes(const struct Completing *c)
{
	const char *colon = strchr(c->cur, ':');
	if (!colon) {
		for (u32 i = 0; i < nproviders; i++) {
			char *word = xasprintf("%s%s", providers[i].name, strchr(providers[i].synopsis, ':') ? ":" : "");
			offer_word(c, word, providers[i].help);
			free(word);
		}
		return;
	}
	char *kind = xasprintf("%.*s", (int)(colon - c->cur), c->cur);
	const struct Provider *p = provider_find(kind);
	bool in_file = p && (p->kind == PK_UPROBE || p->kind == PK_URETPROBE || p->kind == PK_USDT), second = strchr(colon + 1, ':') != NULL;
	if (p && in_file && !second)
		offer_paths(c, (size_t)(colon + 1 - c->cur));
	else if (p && (colon[1] || p->kind == PK_TRACEPOINT) && !strpbrk(c->cur, "*?[")) { // of functions there are too many to be listed
		char *pattern = xasprintf("%s%s*%s", p->name, colon, p->kind == PK_TRACEPOINT && !second ? ":*" : "");
		char *text = listed(pattern), *at = text, *line;
		while ((line = next_line(&at))) { // with the spelling that was used: "t:"
			char *word = xasprintf("%s%s", kind, line + strcspn(line, ":"));
			offer_word(c, word, NULL);
			free(word);
		}
		free(text);
		free(pattern);
	}
	free(kind);
}

// ---- one option, of a line of options_words()
struct OptionWords {
	char letter, name[64], value[200]; // 0, "": it has none
};

static bool read_option(const char *line, struct OptionWords *o)
{
	char letter[8] = "", name[sizeof(o->name)] = "", value[sizeof(o->value)] = "";
	if (sscanf(line, "%7s %63s %199s", letter, name, value) != 3)
		return false;
	o->letter = letter[1];
	snprintf(o->name, sizeof(o->name), "%s", name[1] ? name : "");
	snprintf(o->value, sizeof(o->value), "%s", strcmp(value, "-") ? value : "");
	return true;
}

// The option that word is ("-p", "--pid"), of the n bytes that count. False: none.
static bool find_option(const char *words, const char *word, size_t n, struct OptionWords *o)
{
	char *text = xstrdup(words), *p = text, *line;
	bool found = false;
	while (!found && (line = next_line(&p)))
		found = read_option(line, o) && ((n == 2 && word[0] == '-' && word[1] == o->letter) || (n == strlen(o->name) && !strncmp(word, o->name, n)));
	free(text);
	return found;
}

static void offer_options(const struct Completing *c, const char *words)
{
	char *text = xstrdup(words), *p = text, *line;
	struct OptionWords o;
	while ((line = next_line(&p))) {
		const char *help = strchr(line, '\t');
		char letter[3] = "-";
		if (!read_option(line, &o))
			continue;
		letter[1] = o.letter;
		if (*o.name)
			offer_word(c, o.name, help ? help + 1 : NULL);
		if (o.letter)
			offer_word(c, letter, help ? help + 1 : NULL);
	}
	free(text);
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static void offer_value(const struct Completing *c, const char *v)
{
	const char *comma = strrchr(c->cur, ',');
	size_t n = strlen(v);
	struct Completing last = *c;
	char *before = NULL;
	if (comma && n > 4 && !strcmp(v + n - 4, ",...")) { // the last one of several
		before = xasprintf("%s%.*s", c->before, (int)(comma + 1 - c->cur), c->cur);
		last.before = before;
		last.cur = comma + 1;
	}
	if (begins(v, "FILE") || begins(v, "PATH") || begins(v, "LIBRARY") || begins(v, "'CMD'"))
		offer_files(c, "files");
	else if (begins(v, "DIR"))
		offer_files(c, "dirs");
	else if (begins(v, "PID") || begins(v, "TID"))
		offer_processes(&last, false);
	else if (begins(v, "GLOB"))
		offer_processes(&last, true);
	else if (begins(v, "CPU"))
		offer_cpus(&last);
	else if (begins(v, "PASS") || begins(v, "STAGE"))
		offer_passes(&last);
	else if (begins(v, "PROBE"))
		offer_probes(c);
	else if (strchr(v, '|'))
		offer_choices(&last, v);
	free(before);
}

// ---- words that are no options
static void offer_first(const struct Completing *c)
{
	offer_word(c, "help", "of a tool, a probe, a builtin");
	offer_word(c, "info", "what this kernel can do");
	offer_lines(c, printed(print_tools, NULL));
}

static bool lists_probes(int n, char **words)
{
	for (int i = 0; i < n; i++)
		if (begins(words[i], "-l") || !strcmp(words[i], "--list"))
			return true;
	return false;
}

static bool is_tool(const char *word)
{
	char *text = printed(print_tools, NULL), *p = text, *line;
	bool is = false;
	while (!is && (line = next_line(&p)))
		is = strcspn(line, " ") == strlen(word) && begins(line, word);
	free(text);
	return is;
}

// first: no word before it was one that is no option.
static void offer_argument(const struct Completing *c, const char *tool, bool first, int n, char **words)
{
	bool own = tool && tool_find(tool);
	if (!tool && first && !lists_probes(n, words))
		offer_first(c);
	if (!tool ? lists_probes(n, words) : own ? tool_takes_pattern(tool_find(tool)) : strchr(c->cur, ':') != NULL)
		offer_probes(c);
	if (!own)
		offer_files(c, "files");
}

static void complete(struct Completing *c, const char *tool, const char *options, int n, char **words)
{
	struct OptionWords o = {0};
	const char *last = n > 1 ? words[n - 2] : "", *eq = strchr(c->cur, '=');
	for (int i = 0; i < n - 1; i++)
		if (!strcmp(words[i], "--")) { // a command, or arguments of a script
			offer_files(c, "files");
			return;
		}
	if (begins(c->cur, "--") && eq) {
		char *before = xasprintf("%.*s=", (int)(eq - c->cur), c->cur);
		bool is = find_option(options, c->cur, (size_t)(eq - c->cur), &o);
		c->before = before;
		c->cur = eq + 1;
		if (is)
			offer_value(c, o.value);
		free(before);
	} else if (*last == '-' && last[1] && find_option(options, last, strlen(last), &o) && *o.value && *o.value != '[')
		offer_value(c, o.value);
	else if (*c->cur == '-')
		offer_options(c, options);
	else
		offer_argument(c, tool, n < 2, n - 1, words);
}

// The tool that a name of a program is, to be freed; NULL: none.
static char *called_tool(const char *program)
{
	const char *name = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
	return tool_called(name);
}

int complete_print(FILE *out, const char *program, int n, char **words)
{
	struct Completing c = {out, n ? words[n - 1] : "", ""};
	char *tool = called_tool(program), *options = NULL;
	if (!tool && n > 1 && !strcmp(words[0], "help")) {
		if (n == 2) {
			offer_lines(&c, printed(print_tools, NULL));
			offer_lines(&c, printed(print_topics, NULL));
		}
		return 0;
	}
	if (!tool && n > 1 && !strcmp(words[0], "info"))
		options = xstrdup("-p --pid PID\tthe runtimes of a process\n");
	else if (!tool && n > 1 && is_tool(words[0]))
		tool = xstrdup(words[0]);
	if (tool && n && !strcmp(words[0], tool)) {
		n--;
		words++;
	}
	if (!options)
		options = printed(print_options, tool);
	complete(&c, tool, options, n, words);
	free(options);
	free(tool);
	return 0;
}
