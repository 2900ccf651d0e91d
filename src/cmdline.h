// The options of a script run, as bpftrace's man page has them and sonde's own.
#ifndef SONDE_CMDLINE_H
#define SONDE_CMDLINE_H
#include "session/session.h"

#ifndef SONDE_VERSION
#define SONDE_VERSION "0.1.0"
#endif
// The version of bpftrace whose language, options and output these are: scripts ask `bpftrace --version` for it.
#define BPFTRACE_LEVEL "0.27.1"

// Fills o, whose as_bpftrace is set already; texts point into argv. 0, or the exit status after an error was printed. *done: what was asked
// for (help, version) has been printed.
int cmdline_parse(struct Options *o, int argc, char **argv, bool *done);
void cmdline_free(struct Options *o);
int cmdline_error(const char *fmt, ...) PRINTF_LIKE(1, 2); // prints it, returns 1
#endif
