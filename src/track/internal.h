// What the files of track/ share.
#ifndef SONDE_TRACK_INTERNAL_H
#define SONDE_TRACK_INTERNAL_H
#include <pthread.h>
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "track/track.h"

// ---- mmapev.c: the kernel's own account of who maps code: one perf event per CPU (perf_event_open(2), PERF_RECORD_MMAP2)
enum MapEventKind { MAPEV_MMAP, MAPEV_EXEC, MAPEV_FORK, MAPEV_EXIT, MAPEV_LOST };
struct MapEvent {
	enum MapEventKind kind;
	int tgid, parent; // parent: FORK
	u64 time; // CLOCK_MONOTONIC, ns
	u64 start, end, off, ino;
	u32 major, minor;
	const char *path; // valid during the call
};
struct MapEvents; // owner of the descriptors and their buffers
struct err *mapev_open(struct MapEvents **out);
void mapev_close(struct MapEvents *m);
u32 mapev_count(const struct MapEvents *m);
int mapev_fd(const struct MapEvents *m, u32 i); // to poll
// Gives every record there is to fn, oldest first. One that is older than what was given before may still come from another CPU.
void mapev_read(struct MapEvents *m, void (*fn)(void *, const struct MapEvent *), void *arg);

// ---- procs.c: processes and their mappings: rt_uw_maps, rt_uw_files. Used by the tracker thread only (and by track_start before there is one).
struct Procs;
struct ProcsOps {
	void (*object)(void *arg, struct SymObject *o); // an object that some process maps; called again and again
	void (*gone)(void *arg, int tgid);
	void *arg;
};
// files.c: rt_uw_files. dev and ino: as the kernel's records and its inodes have them, which for some file systems (overlayfs, btrfs) are not those of stat(2).
struct UwFiles;
struct UwFiles *uwfiles_create(int fd);
void uwfiles_destroy(struct UwFiles *f);
const struct SymFile *uwfiles_known(struct UwFiles *f, u64 dev, u64 ino); // the file a record speaks of; NULL: not told of before, or changed since
void uwfiles_tell(struct UwFiles *f, u64 dev, u64 ino, const struct SymFile *file); // NULL: one that holds no program (memory, devices)
void uwfiles_tell_vdso(struct UwFiles *f, const struct ProcMap *m);

// chunks.c: rt_uw_maps
struct UwChunks { // of a process, in the kernel, besides the top
	u32 leaves, uppers;
};
bool uwchunks_publish(int fd, int tgid, u64 gen, const struct ProcMap *maps, size_t n, struct UwChunks *have); // false: no room, nothing is there
void uwchunks_forget(int fd, int tgid, struct UwChunks *have);

struct ProcsMaps { // descriptors of the kernel side's maps, borrowed
	int maps, asked, files;
};
struct Procs *uwprocs_create(struct Syms *syms, const struct ProcsMaps *maps, const struct TrackOpts *o, const struct ProcsOps *ops);
void uwprocs_destroy(struct Procs *p);
void uwprocs_scan(struct Procs *p);	       // every live process
void uwprocs_new(struct Procs *p, int tgid);
void uwprocs_asked(struct Procs *p, int tgid);   // the same, for the kernel side
// The mappings of tgid now (0: none); fn gets its objects, that of path (NULL: none), and the libraries that these name.
void uwprocs_first(struct Procs *p, int tgid, const char *path, void (*fn)(void *, struct SymObject *), void *arg);
void uwprocs_event(void *procs, const struct MapEvent *e);
bool uwprocs_settle(struct Procs *p);	       // after a batch of events: reads mappings again where they changed. True: some have to wait
void uwprocs_tick(struct Procs *p, u64 now_ns);  // now and then: forgets the dead
// Each process for whose mappings fn has not been true yet.
void uwprocs_look(struct Procs *p, bool (*fn)(void *arg, int tgid, const struct ProcMap *maps, size_t n), void *arg);
u32 uwprocs_denied(const struct Procs *p); // processes whose mappings may not be read

// ---- tables.c: rows of objects into rt_uw_obj, rt_uw_dir, rt_uw_pages, rt_uw_rules, in the background
struct Tables; // owner of the thread and of the inner maps
struct err *tables_create(struct Program *prog, struct Tables **out);
void tables_need(struct Tables *t, struct SymObject *o); // any thread; once per object, further calls count how often it is mapped
void tables_hurry(struct Tables *t, u32 obj);		  // build this object next
struct err *tables_start(struct Tables *t);		  // starts the thread, the most mapped objects first
void tables_wait(struct Tables *t, u64 until_ns); // until everything asked for is built, at most until then (CLOCK_MONOTONIC)
void tables_wait_for(struct Tables *t, const u32 *obj, u32 n, u64 until_ns); // until those are built
void tables_destroy(struct Tables *t);

struct RtLang *tables_row(struct Tables *t, u32 lang);
u32 tables_lang(struct Tables *t, u32 obj, bool *pending); // number of the object's runtime, 0: none; pending is set if that is not known yet
bool tables_any_java(struct Tables *t);

// ---- jvms.c: rt_jvms. Used by the tracker thread only.
struct Jvms;
struct Jvms *jvms_create(int fd, struct Tables *t);
void jvms_destroy(struct Jvms *j);
bool jvms_look(void *jvms, int tgid, const struct ProcMap *maps, size_t n); // for uwprocs_look(). True: there is no more to find
void jvms_script(struct Jvms *j, int tgid, struct Codes *codes, const struct RtCodeNew *code); // of JavaScript: its script's lines are read
void jvms_gone(struct Jvms *j, int tgid);
#endif
