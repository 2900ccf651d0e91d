// Shared by the agent's files: what is counted comes as reports (tool/collector.c), is made into messages (batch.c), waits in the spool (spool.c) and goes to its
// destination (send.c) or into a directory (dir.c); metrics.c tells of all that, scrape.c lets Prometheus read it, budget.c keeps the price.
#ifndef SONDE_AGENT_INTERNAL_H
#define SONDE_AGENT_INTERNAL_H
#include "agent/agent.h"
#include "input/input.h"
#include "out/report.h"
#include "tool/tool.h"

// ---- spool.c: messages that wait, oldest first
struct Message {
	struct Message *next;
	char *file;  // NULL: only in memory
	char *query; // behind the URL; "": nothing
	struct Str body; // empty: only on disk
	size_t size;
	u64 samples;
	bool sending; // its body is in use
};
struct Queue {
	u64 key; // of its destination: part of the files' names
	struct Message *first, **end;
	u32 n;
};
struct Spool {
	const char *dir; // NULL: memory only
	int dir_fd, lock_fd;
	u64 max_memory, max_disk, memory, disk; // bytes
	u64 serial;
	u64 dropped, dropped_samples; // messages for which there was no room
	u64 strangers; // files for other destinations
	struct Queue **queues;
	u32 nqueues;
};
struct err *spool_open(struct Spool *s, struct Queue **queues, u32 nqueues); // what an earlier agent left for them waits in them
void spool_put(struct Spool *s, struct Queue *q, const char *query, struct Str *body, u64 samples); // takes body
struct err *spool_body(struct Spool *s, struct Message *m); // m->body is there
void spool_done(struct Spool *s, struct Queue *q); // its first message has arrived, or nobody will take it
void spool_close(struct Spool *s, u64 *lost_samples); // what is in memory only is lost

// ---- send.c: HTTP, by libcurl; nosend.c: a build without
enum SendKind { SEND_OTLP, SEND_PYROSCOPE };
struct Destination {
	enum SendKind kind;
	char *url; // of the messages' place
	struct Queue queue;
	void *easy; // a transfer that runs; NULL
	struct Str answer; // its beginning
	bool endless;	   // the answer was longer than ANSWER_MAX
	void *headers;
	char error[256];
	u64 next_ns, retry_after_s; // CLOCK_MONOTONIC
	u32 failures; // in a row
	u64 sent, sent_samples, refused, refused_samples, tries; // messages
};
struct SendOpts {
	const char *const *headers; // "Name: value", nheaders of them
	u32 nheaders;
	const char *ca; // file of certificates; NULL: the system's
};
struct err *send_open(const struct SendOpts *o); // libcurl is there
void send_step(struct Spool *s, struct Destination *d, u32 n, u64 now_ns); // begins and ends transfers; never waits
bool send_busy(const struct Destination *d, u32 n);
u64 send_next(const struct Destination *d, u32 n); // when there is something to begin; CLOCK_MONOTONIC, 0: nothing
struct pollfd;
u32 send_fds(struct pollfd *fds, u32 max); // what transfers wait for
void send_close(struct Destination *d, u32 n);

// ---- dir.c: profiles as files
struct Dir {
	const char *path;
	u64 max_bytes, written, files, removed, failed;
};
struct err *dir_open(struct Dir *d);
struct err *dir_trim(struct Dir *d); // as many of our files as are allowed
void dir_put(struct Dir *d, const char *what, u64 start_ns, const struct Str *body);

// ---- batch.c: a report into messages
enum AgentSide { AGENT_CPU, AGENT_OFFCPU, AGENT_SCRIPT, AGENT_WHEN, AGENT_SIDES }; // what collectors count
extern const char *const agent_sides[AGENT_SIDES]; // "cpu", "offcpu", "script", "when"
struct Service {
	u64 values[AGENT_SIDES]; // samples; microseconds off CPU
};
struct Batch {
	const struct ProfileAttr *attrs;
	u32 nattrs;
	const char *service; // NULL: each container, unit or program is one
	u64 values[AGENT_SIDES], reports[AGENT_SIDES];
	u64 period_ns; // of the last report that has one
	struct Map services; // name -> struct Service *
};
struct err *batch_take(struct Batch *b, enum AgentSide side, struct StackProfile *p, struct Spool *spool, struct Destination *d, u32 nd, struct Dir *dir); // dir NULL: none
void batch_deinit(struct Batch *b);
#define SERVICES_MAX 1000 // that have a counter of their own; the others are one

// ---- record.c: the last seconds
#define RECORD_MAX (16u << 20) // bytes of reports that are kept of a side
struct Recorder {
	struct RecordSlot {
		struct Str report; // as it came
	} *slots;
	u32 n, next, have; // have: of the n, the newest of which is before next
	u64 bytes;
	bool cut; // there were more bytes than RECORD_MAX
	u32 unsent; // reports since the last that was made into messages
};
struct Combined { // several reports as one; each sample in its second (StackSample.slots)
	struct Input *in;
	u32 nin;
	struct Arena arena;
	VEC(struct StackSample) samples;
	VEC(const char *) names;
	VEC(u8) places;
	struct StackProfile prof;
};
void record_open(struct Recorder *r, u32 seconds);
void record_put(struct Recorder *r, const char *data, size_t n);
struct err *record_combine(const struct Recorder *r, u32 last, struct Combined *c); // combined_deinit() also after an error
void combined_deinit(struct Combined *c);
struct err *record_write(struct Recorder *r, const char *dir, const char *what, const char *why); // two files, told on standard error
void record_close(struct Recorder *r);

// ---- budget.c: what we cost
struct Costs { // of a process, by itself
	pid_t pid; // 0: it does not run
	u64 kernel_ns, map_bytes; // struct FeedHead
};
enum { COSTS = AGENT_SIDES + 1 }; // of a collector for each side, and us
struct Budget {
	double max_cpu; // per cent of one processor
	u64 max_memory; // bytes
	u64 cpu_ns, kernel_ns; // of us and the collectors, since the start: of processes; in programs in the kernel
	u32 over; // times in a row that there was too much memory
	u64 memory, maps, judged; // bytes now: all of them; of that maps in the kernel; all but --script's
	u64 last_ns, weighed_ns, renewed_ns;
	struct Costs last[COSTS];
	u64 last_cpu[COSTS];
	u64 ended_ns, ended_kernel_ns; // of collectors that are gone
};
void budget_look(struct Budget *b, const struct Costs *of, u64 now_ns); // time, each second; of: COSTS of them
void budget_weigh(struct Budget *b); // memory, now and then
// What is to be done about too much memory. One is renewed first; if that does not help for ten minutes time off the processors is given up, and then users' stacks.
enum Lower { LOWER_NOTHING, LOWER_RENEW, LOWER_STOP, LOWER_STACKS };
enum Lower budget_lower(struct Budget *b, bool off_cpu, bool user_stacks, u64 now_ns);

// ---- metrics.c, scrape.c
struct Agent;
void metrics_text(const struct Agent *a, struct Str *out); // Prometheus' text format, version 0.0.4
#define SCRAPES 8 // at once
struct Scrape {
	int fd; // -1: nobody listens
	struct ScrapeClient {
		int fd; // -1: free
		u64 since_ns;
		struct Str in, out;
		size_t at;
	} clients[SCRAPES];
	u64 served, bad;
};
struct err *scrape_open(struct Scrape *s, const char *place); // "PORT", "ADDR:PORT", "[::1]:PORT"
u32 scrape_fds(const struct Scrape *s, struct pollfd *fds);
void scrape_step(struct Scrape *s, const struct Agent *a, u64 now_ns);
void scrape_close(struct Scrape *s);

// ---- agent.c
#define DESTINATIONS_MAX 8
struct Agent {
	u64 hz, interval, one_in;
	u64 now_hz, now_one_in; // what counts has come to, to keep --max-cpu; 0: no report yet
	bool off_cpu;
	struct Destination to[DESTINATIONS_MAX];
	u32 nto;
	struct Spool spool;
	struct Dir dir;
	struct Batch batch;
	struct Budget budget;
	struct Scrape scrape;
	u64 starts[AGENT_SIDES], warnings, uncounted_ns;
	bool off_stopped, kernel_only; // given up, to keep --max-memory
	struct Recorder record[AGENT_OFFCPU + 1];
	u64 records, records_skipped; // written; asked for too soon after another
	struct Str script_metrics; // the last report of --script
};
// options.c
struct Setup {
	struct Agent a;
	VEC(struct ProfileAttr) attrs;
	VEC(const char *) headers;
	const char *prometheus, *spool, *ca, *pids, *script, *when;
	u64 spool_mb, memory_mb, dir_mb, record_s, max_memory_mb;
	bool help, spool_none;
	struct Arena arena;
};
int agent_run(struct Setup *s); // agent.c; the exit status
#endif
