// Help texts: the command, the language (from builtins.def), probes (from the provider table), tools.
#ifndef SONDE_HELP_H
#define SONDE_HELP_H
#include "base/base.h"

// topic NULL: usage. "lang", "probes", "tools", "options", "topics" (what else it may be, but tools: "NAME<tab>HELP"), a builtin's, a probe's or a tool's name. False: unknown topic (said on stderr).
// as_bpftrace: usage as the command of that name.
bool help_options(FILE *out, const char *tool); // the options of a tool, of a script run if NULL, as completion reads them; false: no such tool
bool help_print(FILE *out, const char *topic, bool as_bpftrace);
void help_info(FILE *out); // how sonde info is called
void help_commands(FILE *out); // a line for each command that is no tool
#endif
