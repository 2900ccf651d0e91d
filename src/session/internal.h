// What the files of this folder share of a run: its state, and one function a stage. Nobody else includes this.
#ifndef SONDE_SESSION_INTERNAL_H
#define SONDE_SESSION_INTERNAL_H
#include "base/base.h"
#include "bpf/bpf.h"
#include "ctype/ctype.h"
#include "lang/lang.h"
#include "probe/probe.h"
#include "run/run.h"
#include "session/session.h"
#include "stack/stack.h"
#include "track/track.h"

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
	VEC(struct Param) params; // of the script: its options and words
	struct PointList *lists; // of each probe of the script: its places
	u32 nlists;
	struct IrWatch watch;	 // all 0: nobody wants to see the parts of opt and emit
	struct Str text;
	struct Loaded *loaded;
	struct Attachments *at;
	struct NewCpus *newcpus; // NULL: none
	struct Track *track;
	struct Otel *otel;
	struct Ring *ring;
	struct Child *child;
	VEC(int) pids; // -p
	bool called_wrong; // options of a tool of the tools' path (script.c)
	struct Render render;
	struct RunCtx rc;
	struct OutFile output;
	FILE *out; // output's
};

void session_init(struct Session *s, const struct Options *o);
void session_deinit(struct Session *s);
// script.c
int session_fail(struct err *e);		    // prints and frees e; the exit status
bool session_show_diags(struct Session *s);	    // prints and forgets what has been collected; true when there were errors
struct err *session_read_script(struct Session *s); // the text and its tree, s->script
void session_take_params(struct Session *s);	    // params.c: s->params, and the script's options
void session_fill_hooks(struct Session *s);	    // hooks.c: what the checker asks about this machine
void session_open_objects(struct Session *s);	    // objects.c: imported files in C
const struct CFunc *session_c_function(void *s, const char *name, const char **why);
#define REFUSED 255			  // bpftrace's exit status for what the kernel refuses
int passes_run(struct Session *s);	  // passes.c: text -> programs in the kernel; -1, or the exit status when that is all
struct err *session_trace(struct Session *s); // ... attach, run, report
// front.c, compile.c: the others, in the order of base/passes.def. Errors of the script are in s->diags.
#define SCRIPT_PASS(name, also, makes) struct err *pass_##name(struct Session *s);
#include "base/passes.def"
struct err *session_run_tests(struct Session *s); // selftest.c: test: probes, --test
struct err *session_run_benches(struct Session *s); // ... bench: probes, --bench
#endif
