// utask.bpf.c: the user stack of a thread that sleeps: ustack in iter:task. The walker of unwind.bpf.c, compiled once more with a reader of that thread's
// memory. In: its task_struct, a pointer the verifier trusts. Out: id of the interned stack. Sleepable programs only (bpf_copy_from_user_task, Linux 5.18).
// Invariant: the thread has not run from before its registers were read until after its memory was, or it gets no stack (counted).
//
// The pointer can be had in one place only: it can be kept in no map and so not be where the walker reads. A step of the walk that lacks memory is taken
// back, the memory is read, and the step is made anew with what was read so far.
#define RT_UW_TASK
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

#define RT_TASK_READS 64 // reads that one step may need: a power of two
#define RT_TASK_READ RT_CODE_LINES // bytes of one
#define RT_TASK_TEXT RT_CODE_FILE  // at most, of one that ends with its zero
struct RtTaskRead {
	u64 addr, n;
	u64 text; // it ends with its zero, what lies behind need not be there
	s64 rc;
	u64 data[RT_TASK_READ / 8];
};
#define RT_LANG_HEAD offsetof(struct RtLangWalk, tmp) // what a step begins with
struct RtTaskBuf {
	struct RtStackBuf b;
	struct RtUw before; // the state when the step began
	u64 before_lang[RT_LANG_HEAD / 8];
	u64 busy;
	u64 nread;	    // reads that have been made for this step
	u64 nasked;	    // reads that the step has asked for in this round
	u64 lacks;	    // it asked for one more: the next
	struct RtTaskRead read[RT_TASK_READS];
};
#define RT_LACKS(b) (((struct RtTaskBuf *)(b))->lacks)
// Not per CPU: the program may sleep while it holds one.
#define RT_TASK_BUFS 4
RT_MAP(rt_task_bufs, RT_MAP_ARRAY, 4, sizeof(struct RtTaskBuf), RT_TASK_BUFS, 0);

// Offsets from BTF (sched.h, pid.h); 0 unknown.
RT_CONST(u32, rt_off_on_cpu, 0);
RT_CONST(u32, rt_off_nvcsw, 0);
RT_CONST(u32, rt_off_nivcsw, 0);
RT_CONST(u32, rt_off_flags, 0);
RT_CONST(u32, rt_off_comm, 0);
RT_CONST(u32, rt_off_leader, 0);      // task_struct.group_leader
RT_CONST(u32, rt_off_thread_pid, 0);  // task_struct.thread_pid
RT_CONST(u32, rt_off_pid_level, 0);   // pid.level
RT_CONST(u32, rt_off_pid_numbers, 0); // pid.numbers
RT_CONST_EXTERN(u32, rt_off_mm);
#define PF_KTHREAD 0x200000

// What the step asks for, as it was read already; NULL: that is noted, the step fails for now.
static RT_INLINE struct RtTaskRead *task_ask(struct RtUw *u, u64 n, u64 addr, u64 text)
{
	struct RtTaskBuf *t = (struct RtTaskBuf *)((char *)u - offsetof(struct RtTaskBuf, b.uw));
	u64 k = t->nasked;
	struct RtTaskRead *r = &t->read[k & (RT_TASK_READS - 1)];

	t->nasked = k + 1;
	if (t->lacks)
		return NULL;
	if (k < t->nread && r->addr == addr && r->n == n && r->text == text)
		return r;
	t->lacks = 1;
	t->nread = k;
	r->addr = addr;
	r->n = n;
	r->text = text;
	return NULL;
}

static RT_INLINE u64 task_read(struct RtUw *u, void *dst, u64 n, u64 addr)
{
	RT_BOUND(n, RT_TASK_READ);
	struct RtTaskRead *r = task_ask(u, n, addr, 0);
	return !r || r->rc || bpf_probe_read_kernel(dst, n, r->data);
}

// As bpf_probe_read_user_str().
static RT_INLINE s64 task_read_str(struct RtUw *u, void *dst, u64 n, u64 addr)
{
	struct RtTaskRead *r = task_ask(u, n, addr, 1);
	return r && !r->rc ? bpf_probe_read_kernel_str(dst, n, r->data) : -1;
}

static RT_INLINE struct RtUw *uw_of(struct RtLangWalk *w)
{
	return (struct RtUw *)((char *)w - offsetof(struct RtStackBuf, lang) + offsetof(struct RtStackBuf, uw));
}
#define RT_W_LACKS(w) (((struct RtTaskBuf *)((char *)(w) - offsetof(struct RtTaskBuf, b.lang)))->lacks)
#define RT_THREAD(w) (uw_of(w)->task)

// The walker, for another thread than the current one
#define bpf_probe_read_user(dst, n, addr) task_read(READER, dst, n, (u64)(addr))
#define bpf_probe_read_user_str(dst, n, addr) task_read_str(READER, dst, n, (u64)(addr))
#define bpf_get_current_comm(buf, n) bpf_probe_read_kernel(buf, n, (void *)(u->task + rt_off_comm))
#undef RT_MAP
#undef RT_CONST
#define RT_MAP(name, ...) RT_MAP_EXTERN(name)
#define RT_CONST(T, name, init) RT_CONST_EXTERN(T, name)
// ... with what it calls that reads the thread's memory
#define rt_uw_uprobes rt_uw_uprobes_task
#define rt_uw_original_return rt_uw_original_return_task
#define rt_uw_load32 rt_uw_load32_task
u64 rt_uw_uprobes(struct RtUw *u);
u64 rt_uw_original_return(struct RtUw *u);
u64 rt_uw_load32(struct RtUw *u);
#define rtg_leave32 rtg_leave32_task
#define rtg_locate rtg_locate_task
#define rtg_end_piece rtg_end_piece_task
#define rtg_leave_rare rtg_leave_rare_task
#define rt_lang_lost rt_lang_lost_task
#define rt_lang_frame rt_lang_frame_task
#define rtg_lang_begin rtg_lang_begin_task
#define rtg_lang_step rtg_lang_step_task
#define rtg_lang_new rtg_lang_new_task
#define rtg_py_trampoline rtg_py_trampoline_task
#define rt_py_begin rt_py_begin_task
#define rt_py_step rt_py_step_task
#define rt_py_again rt_py_again_task
#define rt_py_interps rt_py_interps_task
#define rt_py_scan rt_py_scan_task
#define rt_py_copy rt_py_copy_task
#define rt_chain_begin rt_chain_begin_task
#define rt_chain_again rt_chain_again_task
#define rtg_chain_rare rtg_chain_rare_task
#define rtg_chain_step rtg_chain_step_task
#define rtg_walk_anew rtg_walk_anew_task
#define rt_stack_bufs rt_task_bufs
#define rtg_java_leave rtg_java_leave_task
#define rtg_java_step rtg_java_step_task
#define rt_java_copy rt_java_copy_task
#define rt_java_lost rt_java_lost_task
#define rtg_v8_leave rtg_v8_leave_task
#define rtg_v8_step rtg_v8_step_task
#define rtg_v8_find rtg_v8_find_task
#define rtg_v8_scan rtg_v8_scan_task
#define rtg_v8_optimised rtg_v8_optimised_task
#define rtg_v8_op rtg_v8_op_task
#define rtg_v8_ops rtg_v8_ops_task
#define rtg_v8_ops_left rtg_v8_ops_left_task
#define rtg_v8_inner rtg_v8_inner_task
#define rtg_v8_places rtg_v8_places_task
#define rtg_v8_leaf rtg_v8_leaf_task
#define rt_v8_copy rt_v8_copy_task
#define rt_v8_copy_text rt_v8_copy_text_task
#define READER u
#include "bpfrt/walk_mem.h"
#undef READER
#define READER uw_of(w)
#include "bpfrt/lang_rt.h"
// ... but for lang_func and tasks that wait, which are of the current thread
#define rt_go_begin(b, l, look, frame) 0
#define rt_lang_func_at(b, frame) 0
#define rt_py_async(b, l) RT_STEP_NONE
#include "bpfrt/py.bpf.c"
#include "bpfrt/pyinterp.bpf.c"
#include "bpfrt/chain.bpf.c"
#include "bpfrt/javamethod.bpf.c"
#include "bpfrt/javaname.bpf.c"
#include "bpfrt/java.bpf.c"
#include "bpfrt/v8pos.bpf.c"
#include "bpfrt/v8name.bpf.c"
#include "bpfrt/v8jit.bpf.c"
#include "bpfrt/v8leaf.bpf.c"
#include "bpfrt/v8.bpf.c"
#include "bpfrt/lang.bpf.c"
#undef READER
#define READER u
#include "bpfrt/uprobe.bpf.c"
#include "bpfrt/compat.bpf.c"
#include "bpfrt/mem.bpf.c"
#include "bpfrt/unwind.bpf.c"

struct TaskWalk { // on the BPF stack, where the verifier knows what the pointers are
	struct RtTaskBuf *t;
	void *task;
	struct RtUwChunk *c;
};

// The step takes back what it did, and what it lacked is read.
static RT_INLINE void fetch(struct RtTaskBuf *t, void *task)
{
	struct RtUw *u = &t->b.uw;
	u64 k = t->nread, n;
	struct RtTaskRead *r = &t->read[k & (RT_TASK_READS - 1)];
	u64 page = RT_UW_PAGE - (r->addr & (RT_UW_PAGE - 1)); // bytes up to its end

	bpf_probe_read_kernel(u, sizeof(*u), &t->before);
	bpf_probe_read_kernel(&t->b.lang, RT_LANG_HEAD, t->before_lang);
	t->lacks = 0;
	if (k >= RT_TASK_READS) {
		rt_uw_stop(u, RT_WHY_BAD_READ);
		return;
	}
	t->nread = k + 1;
	n = r->n;
	if (r->text && n > page) { // the next page may not be there: the helper leaves zeros then
		u64 more = n - page;
		RT_BOUND(page, RT_TASK_TEXT);
		RT_BOUND(more, RT_TASK_TEXT);
		bpf_copy_from_user_task((char *)r->data + page, more, (void *)(r->addr + page), task, 0);
		n = page;
	}
	RT_BOUND(n, RT_TASK_READ);
	r->rc = bpf_copy_from_user_task(r->data, n, (void *)r->addr, task, 0);
}

static long task_step(u64 i, struct TaskWalk *w)
{
	struct RtTaskBuf *t = w->t;
	struct RtUw *u = &t->b.uw;

	if (t->lacks) {
		fetch(t, w->task);
	} else {
		t->nread = 0;
		bpf_probe_read_kernel(&t->before, sizeof(t->before), u);
		bpf_probe_read_kernel(t->before_lang, RT_LANG_HEAD, &t->b.lang);
	}
	t->nasked = 0;
	if (!*(volatile u32 *)&u->stop)
		walk_frame(&t->b, w->c);
	u64 end = !t->lacks && u->stop;
	return end & 1;
}

static RT_INLINE u32 read4(void *task, u32 off)
{
	u32 v = 0;
	bpf_probe_read_kernel(&v, 4, (char *)task + off);
	return v;
}

static RT_INLINE u64 read8k(u64 from)
{
	u64 v = 0;
	bpf_probe_read_kernel(&v, 8, (void *)from);
	return v;
}

// How often the thread has left a CPU; ~0: it is on one. A thread that has run between two equal answers was on the CPU at the second.
static RT_NOINLINE u64 times_away(void *task)
{
	u64 n;

	if (read4(task, rt_off_on_cpu))
		return ~0ULL;
	n = read8k((u64)task + rt_off_nvcsw);
	return n + read8k((u64)task + rt_off_nivcsw);
}

// The number of the task's process in sonde's pid namespace. sonde reads the iterator: the current task's innermost namespace is that.
static RT_NOINLINE u64 task_tgid(void *task)
{
	u64 here = read8k(bpf_get_current_task() + rt_off_thread_pid), level = 0, nr = 0;
	u64 pid = read8k(read8k((u64)task + rt_off_leader) + rt_off_thread_pid);

	if (!pid || !here || bpf_probe_read_kernel(&level, 4, (void *)(here + rt_off_pid_level)))
		return 0;
	if (level > 32 || bpf_probe_read_kernel(&nr, 4, (void *)(pid + rt_off_pid_numbers + level * 16))) // struct upid: number, namespace
		return 0;
	return nr;
}

// The registers with which the thread entered the kernel. 0: it has none of user mode.
static RT_NOINLINE u64 task_regs(struct RtStackBuf *b, void *task)
{
	u64 p = (u64)bpf_task_pt_regs(task);

	if (bpf_probe_read_kernel(&b->regs, sizeof(b->regs), (void *)p))
		return 0;
#if RT_IS_ARM64
	return !(b->regs.pstate & 15) && b->regs.pc;
#elif RT_IS_RISCV64
	return RT_USER_PC(b->regs.r[0]);
#else
	return (b->regs.cs & 3) && b->regs.ip;
#endif
}

static RT_NOINLINE u64 no_stack(struct RtStackBuf *b, u64 task, u64 src, u32 why)
{
	struct RtCounters *c = rt_stack_counters();

	if (src & RT_SRC_F_AGAIN)
		return 0;
	if (c)
		c->why[why & 31]++;
	b->uw.n = b->uw.pieces = 0;
	b->uw.task = task;
	if (rt_uw_count_ends)
		count_end(b, why);
	return 0;
}

static RT_INLINE u64 lost(void)
{
	struct RtCounters *c = rt_stack_counters();

	if (c)
		c->stack_ufail++;
	return RT_STACK_LOST;
}

static RT_INLINE u64 task_walk(struct RtTaskBuf *t, void *task, u64 limit, u64 src)
{
	struct TaskWalk w = {t, task};
	u64 away = times_away(task), id;

	if (!rt_off_on_cpu || !rt_off_nvcsw || !rt_off_nivcsw || !rt_off_thread_pid || !rt_off_leader)
		return lost();
	if (away == ~0ULL)
		return no_stack(&t->b, (u64)task, src, RT_WHY_RUNS);
	if (read4(task, rt_off_flags) & PF_KTHREAD)
		return no_stack(&t->b, (u64)task, src, RT_WHY_KTHREAD);
	if (!read8k((u64)task + rt_off_mm))
		return no_stack(&t->b, (u64)task, src, RT_WHY_EXITING);
	if (!task_regs(&t->b, task)) // the kernel's own threads of a process: io_uring, vhost
		return no_stack(&t->b, (u64)task, src, RT_WHY_KTHREAD);
	t->b.uw.trap = 0;
	w.c = walk_begin(&t->b, (u64)task, task_tgid(task), limit, src);
	t->lacks = t->nread = 0; // what it could not read is known to no step: the walk does without
	bpf_loop(RT_STACK_DEEP * 4, task_step, &w, 0);
	if (t->lacks) // the loop's last round
		rt_uw_stop(&t->b.uw, RT_WHY_LIMIT);
	end_lang(&t->b);
	walk_end(&t->b.uw, limit, src);
	if (times_away(task) != away)
		return no_stack(&t->b, (u64)task, src, RT_WHY_RUNS);
	id = finish(&t->b, limit);
	return id;
}

// The user stack of another thread, asleep. task: a trusted pointer or NULL. src: RT_SRC_F_FP.
RT_FN u64 rt_ustack_task(void *task, u64 limit, u64 src)
{
	if (!task)
		return 0;
	for (u32 i = 0; i < RT_TASK_BUFS; i++) {
		u32 key = i;
		struct RtTaskBuf *t = bpf_map_lookup_elem(&rt_task_bufs, &key);
		if (t && !__sync_val_compare_and_swap(&t->busy, 0, 1)) {
			t->b.slot = i;
			u64 id = task_walk(t, task, limit, src);
			__sync_lock_test_and_set(&t->busy, 0);
			return id;
		}
	}
	rt_stack_no_buffer();
	return RT_STACK_LOST;
}
