// stack_rt.h: what stack.bpf.c, rows.bpf.c and vma.bpf.c give unwind.bpf.c. Kernel side only.
#ifndef SONDE_RT_STACK_RT_H
#define SONDE_RT_STACK_RT_H
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"

RT_MAP_EXTERN(rt_stack_bufs);

struct RtCounters *rt_stack_counters(void); // of this CPU
struct RtStackBuf *rt_stack_no_buffer(void); // counts it; NULL
u64 rt_stack_piece(struct RtStackBuf *b, u64 from, u64 n, u64 h1, u64 h2); // id of these frames; below RT_STACK_LOST: there is no room
u64 rtg_stack_piece(RT_GIVEN given, u64 from, u64 n, u64 h1, u64 h2);
u64 rt_stack_list(struct RtStackBuf *b, u64 h1, u64 h2); // id of a stack of pieces
u64 rt_stack_intern(struct RtStack *st, u64 h1, u64 h2); // id of st->frames[0..st->n), 0 lost and counted; all of the head but check is set

// rows.bpf.c
u64 rt_uw_ask(u32 tgid, u32 obj);	       // user space, for the mappings of tgid (obj 0) or the table of obj next; 1: the ring buffer is full
u64 rt_uw_ask_mappings(u32 tgid);	       // the same, if it was not asked lately (track/procs.c)
u64 rt_uw_ask_records(u32 tgid);	       // user space, to read the kernel's records at once, in which something new of tgid stands; likewise
// Number of the rule at file offset off of u->obj; 0 none; RT_UW_RULES not known, u->weak says why.
u64 rt_uw_find_rule(struct RtUw *u, u64 off);

#if RT_IS_ARM64
#define STRIP(pc) ((pc) & ((1ULL << RT_UW_PC_BITS) - 1)) // pointer authentication code
#else
#define STRIP(pc) (pc)
#endif

// uprobe.bpf.c
u64 rtg_find_instance(u64 ri, u64 slot, u64 more);
u64 rt_uw_uprobes(struct RtUw *u);	   // before the first frame: uprobes of the thread u->task
u64 rt_uw_original_return(struct RtUw *u); // u->pc is the trampoline of a uretprobe: the address in its place; 0, or 1 and the walk ends

// ksched.bpf.c: b holds n kernel frames of a task; the scheduler's are put among them. Returns how many they are now, RT_KSTACK_MAX at most.
u64 rt_sched_frames(struct RtStackBuf *b, u64 task, u64 n);
// Registers that the caller does not get back by this rule.
static RT_INLINE u32 rt_uw_lost(struct RtUwRule *r)
{
	return RT_SLOT_BITS(r->lost) | (r->lost & RT_UW_LOST_SCRATCH ? ~RT_CALLEE_SAVED : 0);
}

// compat.bpf.c: 32-bit processes
u64 rt_uw_load32(struct RtUw *u);
u64 rtg_leave32(RT_GIVEN given, u64 rule);
u64 rtg_leave32_fp(RT_GIVEN given);

// jit.bpf.c
u64 rt_jit_ask(u32 tgid); // user space shall look at the process's code made at run time. 0: it was not told
u64 rt_jit_stale(struct RtUw *u, u64 version); // 1: the process's list of code made at run time is another than that version

// vma.bpf.c
u64 rt_uw_find(struct RtUw *u, struct RtUwChunk *c, u64 pc); // 1: u->map_*, u->obj are those of pc
u64 rt_uw_epoch(struct RtUw *u, struct RtUwChunk *c); // before the first frame: u->gen, u->epoch, u->jit_stale. c: as above
u64 rt_uw_holds(struct RtUw *u, u64 at);

// 8 bytes of the kernel's memory. 0: they cannot be read.
static RT_INLINE u64 rt_kread8(u64 *to, u64 from)
{
	return bpf_probe_read_kernel(to, 8, (void *)from) == 0;
}

static RT_INLINE u64 rt_uw_stop(struct RtUw *u, u32 why)
{
	u->why = why;
	u->stop = 1;
	return 1;
}

// Functions named rtg_* are global on every kernel (btfgen.c). They are given this CPU's buffer, or, where the verifier takes no pointers as arguments of global functions and in
// utask.bpf.c, its number.
#ifdef RT_UW_TASK
#define RT_POINTERS 0
#else
RT_CONST_EXTERN(u32, rt_pointers);
#define RT_POINTERS rt_pointers
#endif
static RT_INLINE RT_GIVEN rt_give(struct RtStackBuf *b)
{
	return RT_POINTERS ? (RT_GIVEN)(u64)b : (RT_GIVEN)(u64)b->slot;
}

#define rt_given(given) rt_given_of(&rt_stack_bufs, given) // utask.bpf.c has others
static RT_INLINE struct RtStackBuf *rt_given_of(void *bufs, RT_GIVEN given)
{
	u64 v = (u64)given;
	if (RT_POINTERS)
		return (struct RtStackBuf *)v;
	RT_BARRIER(v); // a pointer must not be written as a key, not even for nothing
	u32 slot = v;
	return bpf_map_lookup_elem(bufs, &slot);
}

// The current frame is left by what nothing proves.
static RT_INLINE void rt_uw_guess(struct RtUw *u, u32 why)
{
	if (u->guess)
		return;
	u->guess = why;
	u->guess_frame = u->last_frame;
}

// A buffer of this CPU that no interrupted event is using; NULL (counted) when all are. Plain loads and stores: an interrupt between them
// has put its buffer back before we go on. Two tasks that preempt each other just there are told apart by `owner` (rt_stack_put).
static RT_INLINE struct RtStackBuf *rt_stack_get(void)
{
	for (u32 i = 0; i < RT_STACK_BUFS; i++) {
		u32 key = i;
		struct RtStackBuf *b = bpf_map_lookup_elem(&rt_stack_bufs, &key);
		if (b && !b->busy) {
			b->busy = 1;
			b->slot = i;
			b->owner = bpf_get_current_pid_tgid();
			return b;
		}
	}
	return rt_stack_no_buffer();
}

// Gives the buffer back. False when another task took it meanwhile: its contents are not to be used.
static RT_INLINE u64 rt_stack_put(struct RtStackBuf *b)
{
	u64 mine = b->owner == bpf_get_current_pid_tgid();

	b->busy = 0;
	return mine;
}

// One frame into two independent hashes, both 0 at first. ~2 ns.
static RT_INLINE void rt_stack_hash(u64 *h1, u64 *h2, u64 frame)
{
	u64 a = (*h1 ^ frame) * 0x9e3779b97f4a7c15ULL, b = (*h2 + frame) * 0xc2b2ae3d27d4eb4fULL;

	*h1 = a ^ a >> 32;
	*h2 = b ^ b >> 29;
}
#endif
