// Ready-made tools: a script in the language, embedded, with a row that says which options it takes and picks a report.
#ifndef SONDE_TOOL_H
#define SONDE_TOOL_H
#include "base/base.h"
#include "session/session.h"

struct Tool;
const struct Tool *tool_find(const char *name); // NULL: no such tool
char *tool_called(const char *program); // the name in "sonde-NAME" and "NAME-bpfcc", to be freed; NULL: it is called otherwise
int tool_main(const struct Tool *t, int argc, char **argv);
void tool_usage(const struct Tool *t, FILE *out);
void tool_words(const struct Tool *t, FILE *out); // its options, for completion
size_t tool_names(const char **names, size_t max); // how many
bool tool_takes_pattern(const struct Tool *t); // is its argument a pattern of probes?
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

// ---- for commands
// usage.c: prints what is wrong with a command line; the exit status
int command_usage(const char *command, const char *fmt, ...) PRINTF_LIKE(2, 3);
int command_failed(struct err *e); // likewise; texts of files may be in it; frees e
// All options, until *done (NULL: all there are); took, if any, is told of each that was set. 0, or the exit status after an error was printed.
int command_options(const char *command, void *to, struct OptionScan *scan, const bool *done, void (*took)(void *to, const struct Option *row, const char *val));
// Setters of rows whose data is the offset of a const char * or a bool in what they set
struct err *set_option_text(void *to, const struct Option *row, const char *val); // must not be empty
struct err *set_option_flag(void *to, const struct Option *row, const char *val);
bool any_lives(const char *list); // "1,2,3": processes or threads, has one of them not ended? (tree.c)
bool any_alive(const char *list, const char *what); // likewise before tracing: those that are gone are told, as a mistake if all are (tool.c)
// collector.c: a process that counts for us
typedef int CollectorRun(int argc, char **argv, FILE *feed); // its main(); reports go to feed, each behind its length as a u64; the exit status
CollectorRun feed_tool;	  // a built-in tool's name, or "both" (off-CPU time and samples of what runs), and its options, with -i; reports are pprof profiles, gzipped
CollectorRun feed_messages; // a script's text, or a probe; reports are what it prints, or who has hit the probe
CollectorRun feed_script; // INTERVAL (seconds), a script's file and its arguments; reports are its maps as metrics (out/prometheus.c)
enum FeedSide { FEED_RUNNING, FEED_WAITING }; // what a report is of
struct Collector {
	pid_t pid; // 0: none
	int fd, err_fd;
	enum FeedSide side; // of the report that is given to take
	struct Str in, err, why; // why: its last error
	bool sent, refused; // a report; refused: it ended by itself, with a status that says so, and had sent none
	u64 kernel_ns, map_bytes; // by its last report: how long its programs have run, what its maps have beside its process's memory
	u64 hz, one_in; // by its last report, from then on: samples a second, switches of threads of which one is looked at; 0: no report, or it does not count those
};
// args: NULL-terminated. What we have open the collector has not.
struct err *collector_start(struct Collector *c, CollectorRun *run, const char *const *args);
// Gives take each report that has come whole; an error: take's, or it has ended, with its last words
struct err *collector_read(struct Collector *c, struct err *(*take)(void *arg, const char *data, size_t n), void *arg);
void collector_end(struct Collector *c); // and waits until it is gone

// ---- scripts in the tools' path (found.c)
bool script_tool_main(const char *name, int argc, char **argv, int *rc); // false: there is no such tool
bool script_tool_help(const char *name, bool words, FILE *out); // its help, or its options for completion; false: likewise
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
