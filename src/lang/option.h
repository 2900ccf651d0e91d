// The options of a script: what getopt() and getopt_match() declare, known without running it.
#ifndef SONDE_OPTION_H
#define SONDE_OPTION_H
#include "lang/ast.h"

enum OptKind {
	OPT_FLAG,     // getopt("x"), getopt("x", true)
	OPT_NUMBER,   // getopt("x", 5)
	OPT_DURATION, // getopt("x", 10ms): nanoseconds; a number without a unit has that of the default
	OPT_TEXT,     // getopt("x", "text")
	OPT_MATCH,    // getopt_match("x", value), getopt_list("x"): numbers, ranges 0-3, globs, separated by commas
};
struct ScriptOpt {
	const char *name;
	char letter;	   // short form, 0: none
	const char *arg;   // name of its argument, as in "PID,..."; NULL: a flag
	const char *help;  // NULL: none
	const char *def;   // text of the default; "" of a list: every value
	enum OptKind kind;
	const char *const *values; // NULL-terminated: those that are allowed; NULL: any
	bool list;		   // several of them, separated by commas
	u64 unit;		   // OPT_DURATION: nanoseconds of the default's unit
	struct Span span;
};
struct ScriptOpts { // in the script's arena
	struct ScriptOpt *p;
	size_t n, cap;
};

// Parses a script, reads its imports and finds its options: script->opts. Nothing is run; what is wrong is in d.
enum ScriptFrom { SCRIPT_USERS, SCRIPT_BUILTIN, SCRIPT_FOUND }; // part of sonde; in the tools' path
struct Script *script_read(struct Arena *a, struct Diags *d, const char *name, const char *text, enum ScriptFrom from);
// The options that the script's probes, macros in use, settings and attach points ask for, in the order of the text. Reads its imports.
void script_options(struct Script *s);
// The options' values: what settings say (option = "pid=5"), which are taken out, then what the command line says.
void script_set_params(struct Script *s, const struct Param *params, size_t n);
const struct ScriptOpt *option_find(const struct Script *s, const char *name);
// Text of the value that was given, else of the default. NULL: the script has no such option.
const char *option_text(const struct Script *s, const char *name);
// A call of getopt() whose arguments are literals becomes a literal, one of getopt_match() on a literal, or of an option not given, a truth value.
// False: it has other arguments. What is wrong with it is told.
bool option_value(struct Script *s, struct Expr *call);
// The text that getopt_list(NAME) stands for, "" when the option was not given; NULL: an error was told.
const char *option_list(struct Script *s, const struct Expr *call);
// The items of a list: "5", "0-3", "a*". Texts are in the arena.
struct OptItem {
	const char *text;
	u64 low, high;
	bool is_num; // low to high
};
struct OptItems {
	VEC(struct OptItem) v;
};
void option_items(const struct Script *s, const char *list, struct OptItems *out);
#endif
