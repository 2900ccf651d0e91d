// See "Options" in base.h. In: rows, argv. Out: which rows were given, with their values. Invariant: getopt's own tables are made from the rows, and there is
// no limit to their number.
#include "base/base.h"
#include <getopt.h>

enum { ROW = 256 }; // getopt's value of a row with a long name; those with a letter only come as their letter

static int wants(const struct Option *o)
{
	return !o->arg ? no_argument : *o->arg == '[' ? optional_argument : required_argument;
}

static const struct Option *with_letter(const struct OptionRows *rows, int c)
{
	for (size_t i = 0; i < rows->v.n; i++)
		if (c && rows->v.p[i]->letter == c)
			return rows->v.p[i];
	return NULL;
}

static bool has_name(const struct OptionRows *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (rows->v.p[i]->name && !strcmp(rows->v.p[i]->name, name))
			return true;
	return false;
}

void options_begin(struct OptionScan *s)
{
	size_t nlongs = 0;
	s->longs = xcalloc(s->rows->v.n + 1, sizeof(*s->longs));
	s->letters = (struct Str){0};
	if (!s->tells)
		str_addc(&s->letters, ':'); // getopt(3): a value that is missing is told apart
	for (size_t i = 0; i < s->rows->v.n; i++) {
		const struct Option *o = s->rows->v.p[i];
		if (o->name && !has_name(s->rows, i, o->name))
			s->longs[nlongs++] = (struct option){o->name, wants(o), NULL, ROW + (int)i};
		if (o->letter && with_letter(s->rows, o->letter) == o)
			str_addf(&s->letters, "%c%s", o->letter, wants(o) == no_argument ? "" : wants(o) == required_argument ? ":" : "::");
	}
	opterr = s->tells;
	optind = 0; // also what getopt remembers of an earlier scan
}

enum OptionFound options_next(struct OptionScan *s, const struct Option **row, const char **val, const char **text)
{
	int c = getopt_long(s->argc, s->argv, str_text(&s->letters), s->longs, NULL), of = c == ':' ? optopt : c;
	*val = *text = NULL;
	*row = NULL;
	if (c == -1)
		return OPTION_NONE;
	if (c == '?') { // of several letters in one word only one is wrong
		snprintf(s->unknown, sizeof(s->unknown), "-%c", optopt);
		*text = optopt && optopt < ROW ? s->unknown : s->argv[optind - 1];
		return OPTION_UNKNOWN;
	}
	*row = of >= ROW ? s->rows->v.p[of - ROW] : with_letter(s->rows, of);
	*val = optarg;
	return c == ':' ? OPTION_NO_VALUE : OPTION_ROW;
}

int options_rest(const struct OptionScan *s)
{
	return MIN(optind, s->argc);
}

void options_end(struct OptionScan *s)
{
	free(s->longs);
	str_deinit(&s->letters);
}

void options_help(const struct OptionRows *rows, FILE *out)
{
	for (size_t i = 0; i < rows->v.n; i++) {
		const struct Option *o = rows->v.p[i];
		bool letter = o->letter && with_letter(rows, o->letter) == o, name = o->name && !has_name(rows, i, o->name);
		struct Str left = {0};
		if (!o->help || !(letter || name))
			continue;
		if (letter)
			str_addf(&left, "-%c%s", o->letter, name ? ", " : "");
		else
			str_add(&left, "    ");
		if (name)
			str_addf(&left, "--%s", o->name);
		if (o->arg)
			str_addf(&left, " %s", o->arg);
		fprintf(out, "    %-34s %s\n", str_text(&left), o->help);
		str_deinit(&left);
	}
}

void options_words(const struct OptionRows *rows, FILE *out)
{
	for (size_t i = 0; i < rows->v.n; i++) {
		const struct Option *o = rows->v.p[i];
		if (!o->help)
			continue;
		bool letter = o->letter && with_letter(rows, o->letter) == o, name = o->name && !has_name(rows, i, o->name);
		if (letter || name)
			fprintf(out, "-%.*s -%s%s %s\t%s\n", letter, &o->letter, name ? "-" : "", name ? o->name : "", o->values ? o->values : o->arg ? o->arg : "-", o->help);
	}
}

void option_title(const struct Option *o, struct Str *out)
{
	if (o->letter)
		str_addf(out, "-%c%s", o->letter, o->name ? "/" : "");
	if (o->name)
		str_addf(out, "--%s", o->name);
}
