// What the files of this folder share of a run: its state, and one function a stage. Nobody else includes this.
#ifndef SONDE_SESSION_STATE_H
#define SONDE_SESSION_STATE_H
#include "base/base.h"
#include "bpf/bpf.h"
#include "ctype/ctype.h"
#include "lang/check.h"
#include "probe/probe.h"
#include "run/run.h"
#include "session/session.h"
#include "unwind/unwind.h"
#include <time.h>

struct Session {
	const struct Options *o;
	struct Arena arena;
	struct Diags diags;
	struct TypeTab types;
	struct Program prog;
	struct Unit unit;
	struct CheckHooks hooks;
	struct ProbeEnv env;
	struct Ctypes *ctypes;
	struct Syms *syms;
	struct KernAsk *ask; // of syms
	struct Script *script;
	struct Str text;
	struct Loaded *loaded;
	struct Attachments *at;
	struct Unwind *unwind;
	struct Ring *ring;
	struct Child *child;
	struct Render render;
	struct RunCtx rc;
	FILE *out;
};

static inline u64 clock_ns(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

void session_init(struct Session *s, const struct Options *o);
void session_deinit(struct Session *s);
int session_fail(struct err *e);		    // prints and frees e; the exit status
int session_flush(FILE *out, const char *path, int rc); // rc, or 1 with a message when not all could be written; path NULL: stdout
bool session_show_diags(struct Session *s);	    // prints and forgets what has been collected; true when there were errors
struct err *session_read_script(struct Session *s); // the text and its tree, s->script
void session_fill_hooks(struct Session *s);	    // hooks.c: what the checker asks about this machine
struct err *session_compile(struct Session *s);	  // compile.c: checked unit -> code of every program; errors of the script are in s->diags
struct err *session_trace(struct Session *s);	  // trace.c: load, attach, run, report
struct err *session_run_tests(struct Session *s); // selftest.c: test: probes, --test
struct err *session_run_benches(struct Session *s); // ... bench: probes, --bench
#endif
