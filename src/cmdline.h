// The options of a script run, as bpftrace's man page has them and sonde's own.
#ifndef SONDE_CMDLINE_H
#define SONDE_CMDLINE_H
#include "session/session.h"
#include "tool/tool.h"

// The version of bpftrace whose language, options and output these are: scripts ask `bpftrace --version` for it.
#define BPFTRACE_LEVEL "0.27.1"

// Fills o, whose as_bpftrace is set already; texts point into argv. 0, or the exit status after an error was printed. *done: what was asked
// for (help, version) has been printed. reports: script_opts_create()
int cmdline_parse(struct Options *o, struct ToolOpts *reports, int argc, char **argv, bool *done);
void cmdline_free(struct Options *o);
struct OptionRows;
void cmdline_options(FILE *out, void (*print)(const struct OptionRows *, FILE *)); // hands its rows to one of base/options.c
int cmdline_error(const char *fmt, ...) PRINTF_LIKE(1, 2); // prints it, returns 1
#endif
