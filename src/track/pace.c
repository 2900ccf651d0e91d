// The pace of the thread that reads the kernel's records. Input: what it reads, which files are known. Output: from which set of buffers (mmapev.c), and how soon.
// Each record as it comes is an interrupt to whoever causes it and wakes this thread, which is most of what the start of a program costs beside sonde. Where the kernel's own
// mappings decide (bpfrt/vma.bpf.c), records of known files are not needed at once. So while programs begin all the time they are gathered.
// Invariant: not while files are new, whose tables are to be built before their first stack, nor while code is made at run time, where the records tell. A program of ours looks at
// each program that begins, and wakes this thread if that is a new file; a stack that comes through such code does, too. A new library that a known program maps meanwhile, or a
// process that runs on, is met GATHER_MS later; so where the user has named processes records are read as they come.
#include <errno.h>
#include <linux/bpf.h>
#include "bpf/bpf.h"
#include "track/internal.h"

#define STORM_EXECS 8 // in STORM_MS: they are gathered, until there is none for CALM_MS
#define STORM_MS 250
#define CALM_MS 500
#define GATHER_MS 10
#define NEWS_MS 50 // after a new file
#define CODE_MS 2000 // after memory for code that is made at run time

struct Pace {
	struct Program *prog;
	struct Syms *syms;
	struct MapEvents *events; // NULL: they are not gathered
	struct ProbeProg watch;	  // which programs begin
	int prog_fd, link_fd;	  // of watch
	bool gathers;
	u64 exec_at[STORM_EXECS], nexecs; // ns
	u32 nfiles;			  // of syms
	u64 not_before;			  // ns: until then they are read as they come
};

// rt_uw_program(struct linux_binprm *), the third argument of the tracepoint
static struct err *link_watch(struct Pace *p)
{
	static const struct BpfInsn insns[] = {
		{BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1 | BPF_REG_1 << 4, 2 * sizeof(u64), 0},
		{BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL << 4, 0, -1},
		{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0},
		{BPF_JMP | BPF_EXIT, 0, 0, 0},
	};
	struct Reloc call = {.kind = REL_RT, .insn = 1, .name = "rt_uw_program"};
	for (size_t i = 0; i < ARRAY_LEN(insns); i++)
		vec_push(&p->watch.code.insns, insns[i]);
	vec_push(&p->watch.code.relocs, call);
	p->watch.ir.name = "sonde_exec";
	return link_runtime(p->prog, &p->watch.code);
}

void pace_destroy(struct Pace *p)
{
	if (!p)
		return;
	if (p->link_fd >= 0)
		close(p->link_fd);
	if (p->prog_fd >= 0)
		close(p->prog_fd);
	code_deinit(&p->watch.code);
	free(p);
}

struct Pace *pace_create(struct Program *prog, struct Syms *syms)
{
	if (!program_map(prog, "rt_uw_files") || !program_map(prog, "rt_uw_events"))
		return NULL;
	struct Pace *p = xcalloc(1, sizeof(*p));
	p->prog = prog;
	p->syms = syms;
	p->prog_fd = p->link_fd = -1;
	struct err *e = link_watch(p);
	if (!e)
		return p;
	err_free(e);
	pace_destroy(p);
	return NULL;
}

void pace_start(struct Pace *p, struct MapEvents *events)
{
	const struct SysProg base = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT};
	p->prog_fd = load_alone(p->prog, &p->watch, &base);
	p->link_fd = p->prog_fd < 0 ? -1 : sys_raw_tracepoint_open("sched_process_exec", p->prog_fd);
	if (p->link_fd < 0)
		return;
	p->events = events;
	mapev_open_gathering(events);
}

void pace_record(struct Pace *p, const struct MapEvent *e)
{
	if (e->kind == MAPEV_EXEC)
		p->exec_at[p->nexecs++ % STORM_EXECS] = e->time;
	if (e->kind == MAPEV_MMAP && !mapev_has_file(e) && e->path[0] != '[') // the vDSO
		p->not_before = MAX(p->not_before, e->time + CODE_MS * 1000000ull);
}

static bool is_storm(const struct Pace *p, u64 now)
{
	u64 oldest = p->exec_at[p->nexecs % STORM_EXECS], newest = p->exec_at[(p->nexecs + STORM_EXECS - 1) % STORM_EXECS];
	return p->gathers ? newest + CALM_MS * 1000000ull > now : oldest + STORM_MS * 1000000ull > now;
}

bool pace_set(struct Pace *p, u64 now)
{
	u32 nfiles = sym_file_count(p->syms);
	if (nfiles != p->nfiles)
		p->not_before = MAX(p->not_before, now + NEWS_MS * 1000000ull);
	p->nfiles = nfiles;
	bool gather = p->events && is_storm(p, now) && p->not_before < now;
	if (gather == p->gathers)
		return false;
	p->gathers = mapev_gather(p->events, gather) && gather;
	if (gather && !p->gathers)
		p->events = NULL;
	return !p->gathers;
}

int pace_wait_ms(const struct Pace *p, int ms)
{
	return p->gathers ? MIN(ms, GATHER_MS) : ms;
}
