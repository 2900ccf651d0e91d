// Ready-made tools: a script in the language, embedded, with a row that says which options it takes and picks a report.
#ifndef SONDE_TOOL_H
#define SONDE_TOOL_H
#include "base/base.h"
#include "session/session.h"

struct Tool;
const struct Tool *tool_find(const char *name); // NULL: no such tool
const struct Tool *tool_called(const char *program); // by an installed name: sonde-profile, profile-bpfcc; NULL: none
int tool_main(const struct Tool *t, int argc, char **argv);
void tool_usage(const struct Tool *t, FILE *out);
void tool_words(const struct Tool *t, FILE *out); // its options, for completion
size_t tool_names(const char **names, size_t max); // how many
void tools_help(FILE *out);
// procinfo.c: the runtimes of a process
struct err *procinfo_print(FILE *out, int pid);
// fromfile.c: argv[0] is "flame" or "report"
int fromfile_main(int argc, char **argv);
void fromfile_help(FILE *out);
bool fromfile_usage(const char *name, FILE *out); // false: there is no such command
bool fromfile_words(const char *name, FILE *out); // its options, for completion

// top.c
int top_main(int argc, char **argv);
void top_usage(FILE *out);
void top_words(FILE *out);

// diff.c
int diff_main(int argc, char **argv);
void diff_usage(FILE *out);
void diff_words(FILE *out);

// ---- scripts in the tools' path (found.c)
bool script_tool_main(const char *name, int argc, char **argv, int *rc); // false: there is no such tool
bool script_tool_help(const char *name, bool words); // its help, or its options for completion, on stdout; false: likewise
void script_tool_hidden(const char *name); // tells on stderr of one that has the name of a tool of ours
int script_file_help(const char *path); // of a script given by its path: what it takes after "--"
void script_tools_help(FILE *out); // a line for each
size_t script_tool_names(const char **names, size_t max, struct Arena *a);

// ---- any script: reports of its map that is keyed by stacks, in all forms that the tools have
struct ToolOpts;
extern const struct Option report_options[]; // their setters take a struct ToolOpts
extern const u32 nreport_options;
struct ToolOpts *script_opts_create(void);
void script_opts_destroy(struct ToolOpts *o);
const char *script_opts_wrong(const struct ToolOpts *o, const struct Options *so); // options that do not go together; NULL: fine
int script_run(struct Options *so, struct ToolOpts *o); // as session_run, with the reports that o asks for
#endif
