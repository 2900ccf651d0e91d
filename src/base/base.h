// base: what every other folder may use and what knows nobody: memory arena, vectors, string builder,
// name and number maps, diagnostics with spans, runtime errors. No kernel, no globals.
#ifndef SONDE_BASE_H
#define SONDE_BASE_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SWAP(a, b) do { __typeof__(a) swapped = (a); (a) = (b); (b) = swapped; } while (0)
#define ALIGN_UP(n, a) (((n) + (a) - 1) / (a) * (a))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define PID_LIMIT (1 << 22) // no process has this number, or a larger one: PID_MAX_LIMIT of include/linux/threads.h
#define UNREACHABLE() (assert(!"unreachable"), __builtin_unreachable())

// ---- clocks, in nanoseconds
static inline u64 clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}
static inline u64 now_ns(void) // since boot, without the time asleep: for waits and deadlines
{
	return clock_ns(CLOCK_MONOTONIC);
}

// ---- arena: memory freed whole. Allocation never fails (the process aborts when memory is out).
struct Arena {
	struct ArenaChunk *chunk;
};
void *arena_alloc(struct Arena *a, size_t size); // zeroed, 16-byte aligned
char *arena_strdup(struct Arena *a, const char *s);
char *arena_strndup(struct Arena *a, const char *s, size_t n);
char *arena_printf(struct Arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void arena_deinit(struct Arena *a);
#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_new_n(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (n)))

// ---- heap allocation that aborts when memory is out
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

// ---- vector: VEC(int) v = {0}; vec_push(&v, 3); v.p[i]; v.n; vec_deinit(&v)
#define VEC(T)                                                                                                         \
	struct {                                                                                                       \
		T *p;                                                                                                  \
		size_t n, cap;                                                                                         \
	}
#define vec_push(v, x)                                                                                                 \
	do {                                                                                                           \
		if ((v)->n == (v)->cap) {                                                                              \
			(v)->cap = (v)->cap ? (v)->cap * 2 : 8;                                                        \
			(v)->p = xrealloc((v)->p, (v)->cap * sizeof(*(v)->p));                                         \
		}                                                                                                      \
		(v)->p[(v)->n++] = (x);                                                                                \
	} while (0)
#define vec_last(v) ((v)->p[(v)->n - 1])
#define vec_pop(v) ((v)->p[--(v)->n])
#define vec_deinit(v) (free((v)->p), (v)->p = NULL, (v)->n = (v)->cap = 0)

// ---- string builder: always NUL-terminated once something was added; str_deinit frees it
struct Str {
	char *p;
	size_t n, cap;
};
void str_addn(struct Str *s, const char *p, size_t n);
void str_add(struct Str *s, const char *p);
void str_addc(struct Str *s, char c);
void str_addx(struct Str *s, u64 v); // in hexadecimal digits, without printf(3)'s price
void str_addf(struct Str *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void str_vaddf(struct Str *s, const char *fmt, va_list ap);
static inline const char *str_text(const struct Str *s)
{
	return s->p ? s->p : "";
}
void str_reset(struct Str *s); // n = 0, memory kept
void str_deinit(struct Str *s);
size_t utf8_len(const char *s, size_t n); // length of the valid UTF-8 sequence at s (RFC 3629), 0 if it is none; n > 0

// ---- name map: string -> pointer, insertion order kept. Keys are copied.
struct Map {
	struct MapSlot *slots; // in insertion order
	u32 n, cap;
	u32 *index; // open addressing, 0 = empty, else slot + 1
	u32 nindex;
};
struct MapSlot {
	char *key;
	void *val;
};
void *map_get(const struct Map *m, const char *key); // NULL when absent
bool map_has(const struct Map *m, const char *key);
void map_put(struct Map *m, const char *key, void *val); // replaces
const char *map_keep(struct Map *m, const char *key); // the map's own copy, the same each time; of a map that has no values
void map_deinit(struct Map *m);

// ---- entries by two numbers, not both 0: each begins with these, two u64. An entry moves when the next is put.
struct NumTab {
	char *v;
	u32 n, cap;
	u32 size; // of an entry, a multiple of 8: to be set before the first
};
void *numtab_get(const struct NumTab *t, u64 a, u64 b); // NULL when absent
void *numtab_put(struct NumTab *t, u64 a, u64 b);	 // found, or new with zeros behind its numbers
void *numtab_at(const struct NumTab *t, u32 i);		 // for i from 0 to cap: NULL where there is none
void numtab_deinit(struct NumTab *t);			 // size is kept

// ---- runtime errors: NULL is success; the caller owns and frees (err_free) or passes on.
struct err;
struct err *err_new(const char *fmt, ...) PRINTF_LIKE(1, 2);
struct err *err_wrap(struct err *cause, const char *fmt, ...) PRINTF_LIKE(2, 3); // takes cause
struct err *err_errno(int errnum, const char *fmt, ...) PRINTF_LIKE(2, 3);	  // ": strerror(errnum)" is added
const char *err_text(const struct err *e);					  // whole chain, "what: cause"
int err_code(const struct err *e);						  // errno of the innermost cause, or 0
void err_free(struct err *e);

// ---- sources, spans and diagnostics
struct Source {
	const char *name; // as shown: a path, or "stdin" for -e
	const char *text; // NUL-terminated
	size_t len;
	u32 *lines, nlines; // offsets at which lines begin, ascending
};
struct Span {
	u32 off, len; // bytes in the source's text
	u32 file;     // index in Diags.sources
	u32 from;     // in the body of a macro: the call that it came in by, index in Diags.calls; 0: none
};
enum DiagKind { DIAG_ERROR, DIAG_WARNING };
struct Diag {
	enum DiagKind kind;
	struct Span span;
	bool has_span;
	char *msg;
	VEC(char *) hints;
};
struct DiagCall {
	struct Span at;
	bool is_arg; // where a macro's body has what the call passed in
};
struct Diags {
	VEC(struct Source) sources;
	VEC(struct Diag) items;
	VEC(struct DiagCall) calls; // of macros; [0] is none
	int nerrors;
	u32 told[2]; // by kind, also those that are not kept
	bool passed_over; // the last one was not kept
	bool plain; // without the hints and the words that bpftrace does not have
};
u32 diags_add_source(struct Diags *d, const char *name, const char *text, size_t len); // keeps the pointers
void diag_error(struct Diags *d, struct Span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_warn(struct Diags *d, struct Span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_warn_plain(struct Diags *d, const char *fmt, ...) PRINTF_LIKE(2, 3);  // ... no place in the script
void diag_error_plain(struct Diags *d, const char *fmt, ...) PRINTF_LIKE(2, 3); // no place in the script
void diag_hint(struct Diags *d, const char *fmt, ...) PRINTF_LIKE(2, 3);	     // to the diagnostic added last
// A call of a macro: what to put into `from` of what the macro's body has there; and the place of a parameter there: for what the call passed in.
u32 diags_add_call(struct Diags *d, struct Span call);
u32 diags_add_arg(struct Diags *d, struct Span param);
// "PLACE: ERROR: expanded from", line and underline, for each call around the place.
void diags_add_calls_of(const struct Diags *d, struct Span at, enum DiagKind kind, struct Str *out);
struct Span span_join(struct Span a, struct Span b);
void span_pos(const struct Diags *d, struct Span s, u32 *line, u32 *col); // 1-based
// "file:line:c1-c2", the columns as bpftrace prints them (c1 first, c2 one past the last).
void span_text(const struct Diags *d, struct Span s, struct Str *out);
// Renders "NAME:L:C1-C2: ERROR: msg", the source line, the underline, "HINT: ...".
void diags_render(const struct Diags *d, bool warnings, struct Str *out);
// Escape sequences around the first line of a message on standard error: as BPFTRACE_COLOR says, else only on a terminal. "" when there are none.
const char *diag_color(enum DiagKind kind);
const char *diag_uncolor(void);
bool diags_full(const struct Diags *d); // more errors would not be shown: nobody need look for them
void diags_forget(struct Diags *d); // what has been said, but not that there were errors
void diags_deinit(struct Diags *d);

// ---- small text helpers
bool glob_match(const char *pat, const char *s);	     // * ? [a-z] [!a-z], whole string
bool glob_has_wild(const char *pat);			     // contains * or ? or [
const char *nearest_name(const char *want, const char *const *names, size_t n); // by edit distance, NULL if none is near
bool parse_u64(const char *s, u64 *out);		     // whole string, decimal / 0x / 0 octal
struct err *read_file(const char *path, struct Str *out, size_t max);
// packed.c
struct Packed { // a gzip file that is part of sonde
	const u8 *gz;
	size_t n;
};
void *packed_get(const struct Packed *t, u32 *size); // size in bytes, a zero follows; the caller frees it
void packed_add(struct Str *s, const struct Packed *t); // to a text

// trust.c: NULL, or why a file cannot be trusted as code. sticky_ok: a folder like /tmp will do. up: 0 if path is the file, 1 if it is the file's folder;
// all folders above are looked at, and the answer is a new text.
struct stat;
const char *stat_unfit(const struct stat *st, bool sticky_ok);
char *path_unfit(const char *path, int up);
// Appends s with control characters (except \n and \t when keep_ws) escaped as \xNN: names from traced processes to a terminal.
void str_add_escaped(struct Str *out, const char *s, size_t n, bool keep_ws);
void str_add_place(struct Str *s, const char *path, u64 addr); // "[name+0x12]" of an address in a file; "[vdso]" has its brackets already

// ---- What this process may do, and where it is: its capabilities (capabilities(7)), its access to files, its pid namespace.
enum Cap { CAP_DAC_OVERRIDE_BIT = 1, CAP_DAC_READ_SEARCH_BIT = 2, CAP_KILL_BIT = 5, CAP_SETGID_BIT = 6, CAP_SETUID_BIT = 7, CAP_SYS_PTRACE_BIT = 19, CAP_SYS_ADMIN_BIT = 21, CAP_SYSLOG_BIT = 34, CAP_PERFMON_BIT = 38, CAP_BPF_BIT = 39,
	   CAP_CHECKPOINT_RESTORE_BIT = 40 };
bool cap_have(enum Cap c); // in the effective set, or one that includes it. /proc that cannot be read: true
const char *cap_lacking(enum Cap c); // "" or " (needs CAP_NAME)", the end of a message about what was refused; static
// access(2) by the rights the process uses, which those of a binary with file capabilities are; access(2) asks for the real user's.
bool can_access(const char *path, int mode);
// What is given up when tracing has begun (privs.c): privs_plan() says what will still be needed, before threads are started; without it nothing is given up.
struct PrivPlan {
	bool files;   // files are written that are not open yet, by whoever may: the user stays, and CAP_DAC_OVERRIDE
	bool network; // servers are asked for debug files
	bool child;   // a command of ours may have to be ended, whatever user it has become
	bool attach;  // probes are attached later on
	bool load;    // programs are loaded later on: those that ask the kernel for names
};
void privs_plan(const struct PrivPlan *p);
struct err *privs_drop(void); // of the calling thread, and those it starts
u32 caller_uid(void); // the effective user before any of it: whose files are trusted
// As pthread_create(3); signals that others send are the main thread's alone (thread.c).
int thread_start(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
// one(arg, i) for each i below n, in any order, by so many threads at once (64 at most; the calling one is among them); returns when all are done.
void side_by_side(size_t n, u32 threads, void (*one)(void *arg, size_t i), void *arg);
bool own_pid_namespace(u64 *dev, u64 *ino); // as bpf_get_ns_current_pid_tgid wants it; false and zeros: the initial one

// ---- Options of a command line: one row says all there is to know of an option; parsing, the page of help and completion are made from rows.
struct Option {
	char letter;	  // 0: only a long name
	const char *name; // NULL: only a letter
	const char *arg;  // what its value is called, in brackets when it may be left out; NULL: a flag
	const char *help; // NULL: understood, but not shown
	struct err *(*set)(void *to, const struct Option *o, const char *val); // the error says what is wrong with the value
	const void *data; // of set
	const char *values; // what completion offers where arg does not say it: "a|b", "a|b,..." of several; NULL
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
void options_words(const struct OptionRows *rows, FILE *out); // for completion: "-x --name ARG<tab>HELP", "-" for what an option has not; ARG is the values, if the row has them
void option_title(const struct Option *o, struct Str *out);   // "-p/--pid"

// ---- Files that results go to: what was in one is gone only once there is something to put in its place.
struct OutFile {
	const char *path; // NULL: standard output
	FILE *f;
	bool created, begun;
};
// Opens path for writing (NULL: standard output) and leaves what is in it. May wait for a fifo's reader, as open(2) does.
struct err *outfile_open(struct OutFile *o, const char *path);
void outfile_begin(struct OutFile *o); // from now on o->f may be written to: the file is emptied; more calls do nothing
bool outfile_is(const struct OutFile *o, const char *path); // is path the regular file that o writes to, by whatever name?
bool is_same_file(const char *a, const char *b); // regular files, by any names; NULL is none
// Writes the rest out and closes; a file that was made and never begun is removed. What could not be written is an error; a reader that left
// (`| head`) has all it wanted.
struct err *outfile_close(struct OutFile *o);
// For standard output, as a process's end: rc, or 1 when something could not be written, which is told
int stdout_flush(int rc);

struct OutName {
	const char *option, *path; // "--flame" and what was given with it; NULL: not given
};
// Before hours of tracing: can all of them be written, and are no two of them one file? Files that are not there are not left behind.
// A row without an option is standard output.
struct err *outfiles_check(const struct OutName *names, u32 n);
// A standard descriptor that is closed would be the number of the next file opened. Opens them so that using them fails as before.
void hold_std_fds(void);
#endif
