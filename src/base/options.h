// Options of a command line: one row says all there is to know of an option; parsing, the page of help and completion are made from rows.
#ifndef SONDE_OPTIONS_H
#define SONDE_OPTIONS_H
#include "base/base.h"

struct Option {
	char letter;	  // 0: only a long name
	const char *name; // NULL: only a letter
	const char *arg;  // what its value is called, in brackets when it may be left out; NULL: a flag
	const char *help; // NULL: understood, but not shown
	struct err *(*set)(void *to, const struct Option *o, const char *val); // the error says what is wrong with the value
	const void *data; // of set
};
// The rows that a command takes. Where two have the same letter or name the first one has it.
struct OptionRows {
	VEC(const struct Option *) v;
};

enum OptionFound { OPTION_NONE, OPTION_ROW, OPTION_UNKNOWN, OPTION_NO_VALUE };
struct OptionScan {
	const struct OptionRows *rows;
	int argc;
	char **argv; // reordered: options first
	bool tells;  // what is wrong is said in getopt(3)'s words
	// private
	struct option *longs;
	struct Str letters;
	char unknown[3];
};
void options_begin(struct OptionScan *s);
// The next option and its value (NULL: a flag, or none given). UNKNOWN: *text is the argument. NONE: the rest begins at options_rest().
enum OptionFound options_next(struct OptionScan *s, const struct Option **row, const char **val, const char **text);
int options_rest(const struct OptionScan *s);
void options_end(struct OptionScan *s);

void options_help(const struct OptionRows *rows, FILE *out);  // a line for each option
void options_words(const struct OptionRows *rows, FILE *out); // for completion: "-x --name ARG", "-" for what an option has not
void option_title(const struct Option *o, struct Str *out);   // "-p/--pid"
#endif
