// run: from attached programs to reports. Event loop, ring buffer, map reading, the child of -c.
#ifndef SONDE_RUN_H
#define SONDE_RUN_H
#include "lang/lang.h"
#include "lower/program.h"
#include "out/report.h"
#include "stack/stack.h"
#include "sym/sym.h"
#include "track/track.h"

// What the script does with a map as a whole.
struct MapAction {
	enum { MAP_PRINT, MAP_PRINT_CLEAR, MAP_CLEAR, MAP_ZERO } what;
	u64 top, div; // of print
};
struct RunCtx {
	struct Program *prog;
	struct Syms *syms;
	struct StackReader *stacks;
	struct Track *track; // NULL when no ustack is used
	struct Packets *packets; // NULL without skboutput()
	struct Render *render;
	bool warnings;
	bool as_bpftrace; // called so: printf cuts numbers as it does
	bool mark_cut; // a stack that is cut short ends in a line that says so
	bool cut_told; // another report speaks of user stacks that are cut short
	bool is_tool; // the script is a template of ours: its places mean nothing to the user
	int exit_code;
	bool exiting;
	bool (*on_map)(void *, struct RunCtx *, struct MapDef *m, const struct MapAction *); // tools: asked before it happens; true: that is done with. NULL
	void *map_arg;
	u64 start_ns; // CLOCK_BOOTTIME at start, for elapsed
	void (*on_watch)(void *, u32 id, u64 addr, bool remove); // RT_EV_WATCH, RT_EV_UNWATCH
	void *watch_arg;
	struct err *(*set_period)(void *, u64 period_ns); // of profile:hz probes, from now on
	// Processors that came again, or later, with the number of one; *again: timers and counters see them, but for their first moments; else not any more. NULL: not known.
	u32 (*cpus_away)(void *, int *cpu, bool *again);
	int (*cpus_fd)(void *); // readable when processors have come (cpus_come takes them up); -1: never. NULL with cpus_away
	void (*cpus_come)(void *);
	void *period_arg;
	struct Otel *otel; // NULL: the script has neither trace_id nor span_id
	u64 attached; // attach points
	u64 errors;   // errorf() and failures told so far
	u64 losses;   // times that something lost, cut or missed was told, of any kind; a failure of the script's own actions is one
	u64 places_left_out; // that the script names and that are not probed; told at the start
	u64 unsure_kstacks; // places whose kernel stacks may lack callers; told at the start
	u64 packets_lost; // known when packets are closed
	bool ran_command; // system(), by the record handled last
	bool no_commands; // their time is over (loop.c)
	u64 commands_left; // commands of system() that were not run
	u32 cpus_lost; // cpus_away(), as it was when probes were detached
	int cpu_lost; // ... one of them
	u32 cpus_unwatched; // the same of watchpoints
	int cpu_unwatched;
	bool cpus_again; // ... they are seen again
	u64 calls_missed; // by what programs are attached to, known when they are detached (attachments_missed)
	u64 lost_events, lost_checked_ns; // losses.c: reported so far, when last looked (CLOCK_MONOTONIC)
	s64 clock_off[12];		  // value.c: wall clock minus CLOCK_*, taken at first use
	u16 clock_known;		  // bit per clock
};

// value.c: bytes -> Value, symbolized; everything allocated in a
// Has a text of n bytes, in a buffer of size, lost its end? As bpftrace has it, if it is as long as str() reads at most. An array of characters may be full.
bool text_is_cut(const struct RunCtx *rc, size_t n, u32 size);
void value_decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const void *bytes, struct Value *out);
// clock.c
// Text of a timestamp of CLOCK_* `clock` by a strftime(3) format in which also %f %l %k are micro-, milli- and nanoseconds. "(?)" if it cannot be.
void strftime_text(struct RunCtx *rc, const char *fmt, u32 clock, u64 nsecs, struct Str *out);
s64 clock_to_wall(struct RunCtx *rc, u32 clock); // add to a reading of that clock to get nanoseconds since 1970
// aggr.c: what is done with the values of an aggregation, laid out as bpfrt/abi.h says; p has the bytes of the type t
struct Aggr {
	void (*merge)(const struct Type *t, u32 size, u8 *acc, const u8 *p); // adds one CPU's value, or its first `size` bytes, to acc
	bool (*is_wide)(const struct Type *t, u32 size, const u8 *p); // a sum in it is so large that another such one may pass 64 bits; NULL: none can be
	u64 (*number)(const struct Type *t, const u8 *p); // what printf's %d shows, signed as t is; NULL: it is no single number
	u64 (*rank)(const struct Type *t, const u8 *p);	  // what a map is sorted by, signed as t is; NULL: by key
	void (*decode)(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, struct Value *out); // what out/ makes text and JSON of
	bool (*is_empty)(const struct Value *v); // nothing was added, and there is nothing to show of it; NULL: there is always something
	void (*finish)(struct Arena *a, const struct Type *t, struct MapReport *r); // once all entries are decoded; NULL: nothing
	bool stats; // JSON calls a map of it "stats"
};
const struct Aggr *aggr_of(const struct Type *t); // ty_is_aggr(t)
// cgroup.c: "unified:/a/b,name:/c" for a cgroup id in the hierarchies whose name matches filter (NULL or "": all)
void cgroup_path_text(u64 id, const char *filter, struct Str *out);
// Each cgroup of the hierarchy mounted at root, "/" first; fn gives true when it has seen enough, and so does cgroup_walk then.
typedef bool (*cgroup_seen)(void *arg, u64 id, const char *path);
bool cgroup_walk(const char *root, cgroup_seen fn, void *arg);
// container.c: the innermost container that a path of a cgroup tells of, else the systemd unit. name "[host]": neither; id "": no container.
// root: where the files lie that runtimes keep of their containers, "" for /.
void container_of_path(const char *root, const char *path, struct Str *name, struct Str *id);
// json.c: reads JSON (RFC 8259) that programs left in files: values are spans of its text, looked into one by one
struct Json { // a value, or what is left of an object or an array
	const char *p, *end; // p NULL: there is none
};
struct Json json_of(const char *text, size_t n);
// The next member of an object, the next element of an array (key stays empty). False: there is none, or the text is damaged.
bool json_next(struct Json *of, struct Str *key, struct Json *value);
struct Json json_member(struct Json object, const char *key); // the first one of that name
bool json_is(struct Json v, char open); // begins so: '{', '[', '"'
bool json_text(struct Json v, struct Str *out); // appends a string's bytes; false: it is none
// groups.c: cgroups (v2) by id, those that were there at any groups_read()
struct Group {
	const char *path, *container, *container_id; // "": none
};
struct Groups;
struct Groups *groups_create(void);
void groups_destroy(struct Groups *g);
void groups_read(struct Groups *g);
bool groups_find(struct Groups *g, u64 id, struct Group *out); // texts live as long as g; false: never seen, its number is its path
// names.c
void gfp_flags_text(u64 flags, struct Str *out);

// mapread.c: reads, merges per-CPU values, sorts as bpftrace does; top 0 = all, div 0/1 = none
struct err *map_read(struct RunCtx *rc, struct Arena *a, struct MapDef *m, u64 top, u64 div, struct MapReport *out);
// All entries of a hash map, deleted as they are read: between this and the next one nothing is lost but what a program adds to an entry just now.
struct err *map_take(struct RunCtx *rc, struct Arena *a, struct MapDef *m, struct MapReport *out);
// asked: by print(), which shows a scalar map that was never set as 0; at the end such a map is not shown.
struct err *map_print(struct RunCtx *rc, struct MapDef *m, u64 top, u64 div, bool asked, bool take); // take: the map is empty then
struct err *map_print_entry(struct RunCtx *rc, struct MapDef *m, const void *key); // nothing where it is not there
// Copies of all entries, per-CPU values merged: n times key (key_size bytes) and value (val_size bytes, as the type of the map's values)
struct MapDump {
	u8 *keys, *vals;
	u32 n, key_size, val_size;
	u32 wide; // entries whose sums may have passed 64 bits
};
struct err *map_dump(const struct MapDef *m, struct MapDump *out);
void map_dump_free(struct MapDump *d);
// cold.c: ids of stacks in the place of numbers that stood for them, in the keys of a map's entries
void cold_keys_settle(const struct MapDef *m, struct MapDump *d);
// merge.c: adds a processor's value to acc
void map_merge_one(const struct Type *t, u32 size, void *acc, const void *value);
// One value from those of all CPUs, laid out as the kernel hands them out (each at a multiple of 8 bytes). True: sums in it may have passed 64 bits.
bool map_merge(const struct Type *t, u32 value_size, const void *percpu, u32 ncpus, void *out);
u32 possible_cpus(void);
struct err *map_clear(struct MapDef *m);
struct err *map_zero(struct MapDef *m);

// event.c: one ring buffer record
void event_handle(struct RunCtx *rc, const void *data, size_t n);
// format.c: printf-like formatting of a site's payload into text. printf conversions as bpftrace's: %d %u %x %s %r %rx %rh %p %c ...
void format_site(struct RunCtx *rc, const struct FmtSite *site, const void *payload, size_t n, struct Str *out);
// (formats are parsed by lang's fmt_parse, the same at compile time and here)

// ring.c
struct Ring;
struct err *ring_open(struct Program *p, struct Ring **out); // the map named "sonde_events"
int ring_fd(struct Ring *r);
u32 ring_consume(struct Ring *r, bool (*fn)(void *, const void *data, size_t n), void *arg); // fn: false leaves what comes behind its record
void ring_close(struct Ring *r);

// packets.c: what skboutput() sends
struct Packets;
struct err *packets_open(struct RunCtx *rc, struct Packets **out); // NULL: the script has none. Opens the files
void packets_begin(struct Packets *p); // tracing has begun: the files are emptied and get their heads; NULL: nothing
int packets_fd(const struct Packets *p);			   // readable when packets are there
void packets_take(struct Packets *p);				   // writes them to their files
void packets_close(struct Packets *p);				   // the rest too; what was lost is rc->packets_lost

// child.c: -c CMD
struct Child;
struct err *child_start(const char *cmd, struct Child **out); // forked, stopped before (after for usdt) exec
struct err *child_start_args(char **argv, struct Child **out); // likewise; its words as they are
bool child_is_command(const char *cmd); // does it begin with a program that is there?
int child_pid(struct Child *c);
const char *child_path(const struct Child *c); // of its program
struct err *child_go(struct Child *c);
struct err *child_run_to_exec(struct Child *c); // runs it up to its first instruction; child_go lets it go on
int child_fd(struct Child *c); // readable when it ended
int child_end(struct Child *c); // ends it if it runs; its exit status as a shell gives it
void child_destroy(struct Child *c);

// loop.c: runs until exit(), signal, child or -p process end, or deadline_ns (0 none)
struct LoopOpts {
	struct Child *child;
	const int *pids; // -p: the loop ends when the last of them has ended
	u32 npids;
	bool (*goes_on)(void *); // then, or from the start if there are none, asked every GOES_ON_NS: is there something left to trace? NULL: no
	void *goes_on_arg;
	u64 duration_ns;
	bool once; // nothing is attached but BEGIN/END: handle what is there and return
	bool (*on_tick)(void *); // every tick_ns: progress line, interval reports; false: stop
	u64 tick_ns;
	void *tick_arg;
	void (*on_signal)(void *, int sig); // self:signal programs
	const int *sigs;
	u32 nsigs;
	void *sig_arg;
};
// SIGINT, SIGTERM and SIGHUP wait until the loop runs: whoever is told that all is attached may interrupt at once and still gets the output.
void loop_hold_signals(void);
struct err *loop_run(struct RunCtx *rc, struct Ring *ring, const struct LoopOpts *o);
u32 loop_interrupts(void); // SIGINTs, SIGTERMs and SIGHUPs that have come
// Handles the records that are in the ring now (discards them while rc->exiting). After the loop: detach, loop_drain, rc->exiting = false,
// run END, loop_drain.
void loop_drain(struct RunCtx *rc, struct Ring *ring);
// cost.c: what tracing costs beside our own time and memory
struct RunCost {
	int stats_fd;			   // the kernel counts while it is open; -1
	u64 began_ns, began_run_ns, began_timers_ns, next_ns; // of the measurement; CLOCK_MONOTONIC
	u64 last_ns, kernel_ns;		   // up to the last tick; that its programs have run, by what was measured
	double share, timers;		   // of one processor, of the last measurement: 0.01 is a per cent; of that, programs that sample by time
	bool stale;			   // something was changed since the last measurement was begun
	bool unknown;			   // the kernel does not tell
};
void cost_begin(struct RunCost *c);
void cost_tick(struct RunCost *c, const struct Program *p, u64 now_ns); // each second
void cost_changed(struct RunCost *c); // what programs do from now on costs something else: it is measured soon
void cost_end(struct RunCost *c);
u64 cost_memory(const struct Program *p, const struct Track *t); // bytes of its maps that are no memory of a process
// Bytes of the values that maps have for each processor (kernel/bpf/arraymap.c, hashtab.c: in steps of 8): from the start, and when the maps are full.
void cost_per_cpu(const struct Program *p, u64 *now, u64 *most);
u64 cost_map_memory(int fd); // bytes, as the kernel has it: before Linux 6.4 what the map may come to have
// losses.c: counters summed over CPUs; prints what was lost to stderr / the renderer
void report_site(struct RunCtx *rc, const struct ErrSite *site, s64 ret); // event.c: the warning of one failure
void report_sites(struct RunCtx *rc); // places of the script where a helper failed, each once
void report_loss(struct RunCtx *rc, const char *what, u64 n, const char *fmt, ...) PRINTF_LIKE(4, 5); // n of one kind, unless that is 0
void await_put_off(struct RunCtx *rc);	   // once nothing is attached: events that are about to be told (lower_late.c) are; not those of a system call that lasts
void report_losses(struct RunCtx *rc);	   // all kinds, at the end
void report_lost_events(struct RunCtx *rc); // "Lost N events" since the last call; looks at most once a second
struct RtCounters;
bool read_counters(struct Program *p, struct RtCounters *out); // false: the programs have none
#endif
