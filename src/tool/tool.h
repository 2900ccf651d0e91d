// Ready-made tools: a script in the language, embedded, with a row that maps options to the script's gaps and picks a report.
#ifndef SONDE_TOOL_H
#define SONDE_TOOL_H
#include "base/base.h"

struct Tool;
const struct Tool *tool_find(const char *name); // NULL: no such tool
const struct Tool *tool_called(const char *program); // by an installed name: sonde-profile, profile-bpfcc; NULL: none
int tool_main(const struct Tool *t, int argc, char **argv);
void tool_usage(const struct Tool *t, FILE *out);
size_t tool_names(const char **names, size_t max); // how many
void tools_help(FILE *out);
#endif
