// stack.bpf.c: captures a stack at an event, interns it by content, and returns its id.
// Input: the program's context. Output: an entry of the rt_stacks_* maps (struct RtStack) and its id.
// Invariant: an id handed out names exactly these frames; what could not be stored is counted in rt_counters, and 0 returned.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

RT_MAP(rt_stacks_16, RT_MAP_HASH, 8, sizeof(struct RtStack) + 16 * 8, 131072, RT_F_NO_PREALLOC);
RT_MAP(rt_stacks_48, RT_MAP_HASH, 8, sizeof(struct RtStack) + 48 * 8, 262144, RT_F_NO_PREALLOC);
RT_MAP(rt_stacks_128, RT_MAP_HASH, 8, sizeof(struct RtStack) + 128 * 8, 131072, RT_F_NO_PREALLOC);
RT_MAP(rt_stacks_512, RT_MAP_HASH, 8, sizeof(struct RtStack) + 512 * 8, 32768, RT_F_NO_PREALLOC);
RT_MAP(rt_stacks_1024, RT_MAP_HASH, 8, sizeof(struct RtStack) + 1024 * 8, 16384, RT_F_NO_PREALLOC);
RT_MAP(rt_stack_bufs, RT_MAP_PERCPU_ARRAY, 4, sizeof(struct RtStackBuf), RT_STACK_BUFS, 0);
RT_CONST(u32, rt_pointers, 0); // link.c: a global function can be given pointers
RT_MAP(rt_counters, RT_MAP_PERCPU_ARRAY, 4, sizeof(struct RtCounters), 1, 0);
RT_MAP(rt_trim, RT_MAP_ARRAY, 4, sizeof(struct RtTrim), 1, 0);

// kernel.perf_event_max_stack when sonde started, at most RT_KSTACK_MAX: bpf_get_stack gives no more, and clears what it does not fill.
RT_CONST(u32, rt_kstack_max, 127);
RT_CONST(u32, rt_kernel_fp, 0);	   // x86-64: the kernel unwinds itself by frame pointers ...
RT_CONST(u64, rt_ret_hook, 0);	   // ... and puts this into the place of a return address that a kretprobe waits for; 0 not known
RT_CONST(u32, rt_task_stack, 0); // bpf_get_task_stack of the current task (5.11: bpf_get_current_task_btf)

RT_NOINLINE struct RtCounters *rt_stack_counters(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&rt_counters, &zero);
}

RT_NOINLINE struct RtStackBuf *rt_stack_no_buffer(void)
{
	struct RtCounters *c = rt_stack_counters();

	if (c)
		c->scratch_busy++;
	return NULL;
}

// ---- interning
enum { STORE_FULL, STORE_COLLISION };
// Finds the stack under its id or one of the next ones, else stores it. Returns the id, or STORE_*.
static RT_INLINE u64 store(void *map, struct RtStack *st, u64 id)
{
	RT_LOOP(i, RT_STACK_PROBES) {
		u64 key = id + (i << 12);
		struct RtStack *have = bpf_map_lookup_elem(map, &key);
		if (!have) {
			long rc = bpf_map_update_elem(map, &key, st, RT_NOEXIST);
			if (!rc)
				return key;
			if (rc != -17) // EEXIST: another CPU was faster
				return STORE_FULL;
			have = bpf_map_lookup_elem(map, &key);
			if (!have)
				return STORE_FULL;
		}
		if (have->check == st->check)
			return key;
	}
	return STORE_COLLISION;
}

// A class of stacks: one of at most n frames in memory for so many. Each is verified once.
#define STORE(n) \
	struct RtStack##n { u64 words[sizeof(struct RtStack) / 8 + n]; }; \
	RT_ONCE u64 rtp_store_##n(struct RtStack##n *st, u64 id) \
	{ \
		return st ? store(&rt_stacks_##n, (struct RtStack *)st, id) : STORE_FULL; \
	}
STORE(16)
STORE(48)
STORE(128)
STORE(512)
STORE(1024)

// The st->n frames of st under id. A full class passes its stacks on to the next larger one. STORE_*: there was no place.
static RT_INLINE u64 store_small(struct RtStack *st, u64 id)
{
	u64 n = st->n, got = STORE_FULL;

	if (n <= 16)
		got = rtp_store_16((struct RtStack16 *)st, id);
	if (n <= 48 && got == STORE_FULL)
		got = rtp_store_48((struct RtStack48 *)st, id);
	if (n <= 128 && got == STORE_FULL)
		got = rtp_store_128((struct RtStack128 *)st, id);
	return got;
}

static RT_INLINE u64 store_512(struct RtStack *st, u64 id)
{
	u64 got = store_small(st, id);
	return st->n <= 512 && got == STORE_FULL ? rtp_store_512((struct RtStack512 *)st, id) : got;
}

static RT_INLINE u64 intern_new(struct RtStack *st, u64 id)
{
	u64 got = store_512(st, id);
	struct RtCounters *c;

	if (got == STORE_FULL)
		got = rtp_store_1024((struct RtStack1024 *)st, id);
	if (got > STORE_COLLISION)
		return got;
	c = rt_stack_counters();
	if (c && got == STORE_FULL)
		c->stack_full++;
	else if (c)
		c->stack_collision++;
	return RT_STACK_LOST;
}

// Is it there already? One place for each map: the kernel inlines the look-up only where the map is always the same.
static RT_INLINE bool known(void *map, u64 id, u64 check)
{
	struct RtStack *have = bpf_map_lookup_elem(map, &id);
	return have && have->check == check;
}

// Sets st->check. Returns the id that st has if it has been stored.
static RT_INLINE u64 id_of(struct RtStack *st, u64 h1, u64 h2)
{
	rt_stack_hash(&h1, &h2, (st->pid | (u64)st->flags << 32) + st->n);
	st->check = h2;
	return h1 << 12 | st->n;
}

static RT_INLINE u64 intern_id(struct RtStack *st, u64 id)
{
	u64 n = st->n, h2 = st->check;

	if (n <= 16) {
		if (known(&rt_stacks_16, id, h2))
			return id;
	} else if (n <= 48) {
		if (known(&rt_stacks_48, id, h2))
			return id;
	} else if (n <= 128) {
		if (known(&rt_stacks_128, id, h2))
			return id;
	}
	return intern_new(st, id);
}

// The st->n frames of st under an id made of the two hashes over them.
RT_NOINLINE u64 rt_stack_intern(struct RtStack *st, u64 h1, u64 h2)
{
	if (st->n == 0 || st->n > RT_STACK_MAX)
		return 0;
	return intern_id(st, id_of(st, h1, h2));
}

// The same for what comes again and again: one look at memory instead of a map's.
static RT_INLINE u64 intern_known(struct RtStackBuf *b, struct RtStack *st, u64 h1, u64 h2)
{
	u64 id, at;

	if (st->n == 0 || st->n > RT_STACK_MAX)
		return 0;
	id = id_of(st, h1, h2);
	at = id >> 12 & (RT_STACK_KNOWN - 1);
	if (b->known[at].id == id && b->known[at].check == st->check)
		return id;
	u64 got = intern_id(st, id);
	if (got == id) {
		b->known[at].id = id;
		b->known[at].check = st->check;
	}
	return got;
}

// How many frames the user stack of that id has.
RT_FN u64 rt_stack_len(u64 id)
{
	u64 n = RT_STACK_NFRAMES(id);
	struct RtStack *st;

	if (!(id & RT_STACK_LIST))
		return n;
	st = bpf_map_lookup_elem(&rt_stacks_16, &id);
	if (!st)
		st = bpf_map_lookup_elem(&rt_stacks_48, &id);
	if (!st)
		st = bpf_map_lookup_elem(&rt_stacks_128, &id);
	if (!st)
		st = bpf_map_lookup_elem(&rt_stacks_512, &id);
	if (!st)
		st = bpf_map_lookup_elem(&rt_stacks_1024, &id);
	return st ? st->total : n;
}

// ---- deep stacks
// The n frames of b from `from` on, a multiple of RT_STACK_PIECE, whose hashes are h1 and h2, become a piece. Their head is put before them: over a piece
// that is stored already. Returns its id; less than RT_STACK_LOST: an event that has interrupts off finds memory for some twenty new pieces only
// (kernel/bpf/memalloc.c).
static RT_INLINE u64 piece(struct RtStackBuf *b, u64 from, u64 n, u64 h1, u64 h2)
{
	struct RtStack *st = (struct RtStack *)(b->buf + (from & (RT_STACK_MAX - RT_STACK_PIECE)));
	u64 id;

	st->n = n;
	st->pid = b->uw.raw ? b->uw.tgid : 0;
	st->flags = RT_STACK_USER;
	st->why = RT_WHY_OK;
	st->total = 0;
	rt_stack_hash(&h1, &h2, (st->pid | (u64)RT_STACK_USER << 32) + n);
	st->check = h2;
	id = h1 << 12 | n;
	if (n == RT_STACK_PIECE && known(&rt_stacks_128, id, h2))
		return id;
	return store_small(st, id);
}

RT_NOINLINE u64 rt_stack_piece(struct RtStackBuf *b, u64 from, u64 n, u64 h1, u64 h2)
{
	return piece(b, from, n, h1, h2);
}

// The same; a global function (btfgen.c: by its name) is verified once in a program.
RT_NOINLINE u64 rtg_stack_piece(RT_GIVEN given, u64 from, u64 n, u64 h1, u64 h2)
{
	struct RtStackBuf *b = rt_given(given);

	return b ? piece(b, from, n, h1, h2) : 0;
}

// The list of pieces in b, whose head is set, and hashes of the ids. Returns its id, or RT_STACK_LOST (counted).
RT_NOINLINE u64 rt_stack_list(struct RtStackBuf *b, u64 h1, u64 h2)
{
	struct RtStack *st = (struct RtStack *)b->list;
	u64 n = st->n, id;
	struct RtCounters *c;

	rt_stack_hash(&h1, &h2, (st->pid | (u64)st->flags << 32) + n + st->total);
	st->check = h2;
	id = store_512(st, h1 << 12 | n | RT_STACK_LIST);
	if (id > STORE_COLLISION)
		return id;
	c = rt_stack_counters();
	if (c)
		c->stack_full++;
	return RT_STACK_LOST;
}

// One stack under two ids, with names and with addresses: one id for both (ustack(perf)).
RT_FN u64 rt_stack_pair(u64 names, u64 addrs)
{
	u64 h1 = 0, h2 = 0, id;

	if (names <= RT_STACK_LOST || addrs <= RT_STACK_LOST)
		return names < addrs ? names : addrs;
	struct RtStackBuf *b = rt_stack_get();
	if (!b)
		return RT_STACK_LOST;
	struct RtStack *st = (struct RtStack *)b->list;
	st->n = 2;
	st->pid = 0;
	st->flags = RT_STACK_USER | RT_STACK_IS_PAIR;
	st->why = RT_WHY_OK;
	st->total = rt_stack_len(names);
	st->frames[0] = names;
	st->frames[1] = addrs;
	rt_stack_hash(&h1, &h2, names);
	rt_stack_hash(&h1, &h2, addrs);
	id = rt_stack_list(b, h1, h2);
	return rt_stack_put(b) ? id : RT_STACK_LOST;
}

// ---- kernel stacks
// Is addr code of the tracer (BPF programs, trampolines, bpf_trace_run*, __bpf_trace_*, __traceiter_*)? Binary search among the boundaries,
// without branches: one path for the verifier. Kernel addresses are negative, so differences of two of them compare right. A global function (btfgen.c: by
// its name): it is verified once, and seldom run.
RT_NOINLINE u64 rtg_is_tracer(u64 addr)
{
	u64 lo = 0; // boundaries at or below addr
	u32 zero = 0;
	struct RtTrim *t = bpf_map_lookup_elem(&rt_trim, &zero);

	if (!t)
		return 0;
	RT_UNROLL
	for (s32 bit = RT_TRIM_BITS - 1; bit >= 0; bit--) {
		u64 at = lo + (1 << bit) - 1;
		u64 above = ~(addr - t->bound[at & (RT_TRIM_MAX - 1)]) >> 63; // 1: bound <= addr
		RT_BARRIER(above);
		lo += above << bit;
	}
	*(volatile u64 *)&t->seen[RT_TRIM_SLOT(addr)] = lo & 1 ? addr : addr & ~RT_TRIM_OURS;
	return !(lo & 1);
}

// The same few addresses come again and again, so what was found is kept, in one word: any CPU replaces it at any time.
static RT_INLINE u64 is_tracer(struct RtTrim *t, u64 addr)
{
	u64 had = *(volatile u64 *)&t->seen[RT_TRIM_SLOT(addr)];

	return (had | RT_TRIM_OURS) == addr ? had != addr : rtg_is_tracer(addr);
}

// How many of the first n frames belong to the tracer, into *out.
static RT_INLINE void count_tracer(struct RtTrim *t, u64 *frames, u64 n, volatile u32 *out)
{
	u32 i;

	for (i = 0; i < RT_TRIM_DEPTH; i++) {
		*out = i;
		if (i >= n || !is_tracer(t, frames[i]))
			return;
	}
	*out = 0;
}

#define RT_KSTACK_SHIFT 127 // deeper frames than that stay where they are
// The caller of the innermost frame, unless it is there.
static RT_INLINE u64 add_caller(u64 *frames, u64 n, u64 caller)
{
	if (n >= 2 && frames[1] == caller)
		return n;
	for (u32 i = RT_KSTACK_SHIFT; i > 1; i--) {
		frames[i] = frames[i - 1];
		asm volatile("" ::: "memory"); // or clang sees a memmove, and keeps all frames on the BPF stack at once
	}
	frames[1] = caller;
	return n + 1;
}

// A kernel that unwinds by frame pointers starts at the frame record: before the first instructions have made one, the caller is only in x30 (riscv64: x1) or
// on top of the stack (x86-64: kernels of Ubuntu; others have tables).
static RT_NOINLINE u64 fix_leaf(void *ctx, u64 *frames, u64 n, u64 src)
{
	u64 caller;

	if ((src & (RT_SRC_F_ENTRY | RT_SRC_F_USER | RT_SRC_MASK)) != (RT_SRC_F_ENTRY | RT_SRC_REGS) || n < 1 || n >= RT_STACK_MAX)
		return n;
#if RT_IS_ARM64
	caller = ((struct RtPtRegs *)ctx)->r[30] | 0xff7fULL << 48; // without pointer authentication; kernel half
#elif RT_IS_X86
	if (!rt_kernel_fp || !rt_kread8(&caller, ((struct RtPtRegs *)ctx)->sp) || caller == rt_ret_hook)
		return n;
#else
	caller = ((struct RtPtRegs *)ctx)->r[RT_R_RA];
#endif
	return add_caller(frames, n, caller);
}

// Eight frames into the two hashes: independent multiplications by odd numbers, so that a stack that differs in one frame always differs in the sum.
static RT_INLINE void hash_eight(u64 *h1, u64 *h2, const u64 *f)
{
	static const u64 k1[8] = {0x9e3779b97f4a7c15ULL, 0xbf58476d1ce4e5b9ULL, 0x94d049bb133111ebULL, 0xd6e8feb86659fd93ULL,
				  0xff51afd7ed558ccdULL, 0xc4ceb9fe1a85ec53ULL, 0x87c37b91114253d5ULL, 0x4cf5ad432745937fULL};
	static const u64 k2[8] = {0xc2b2ae3d27d4eb4fULL, 0x165667b19e3779f9ULL, 0x85ebca77c2b2ae63ULL, 0x27d4eb2f165667c5ULL,
				  0xa0761d6478bd642fULL, 0xe7037ed1a0b428dbULL, 0x8ebc6af09c88c6e3ULL, 0x589965cc75374cc3ULL};
	u64 a = 0, b = 0;

	RT_UNROLL
	for (u32 j = 0; j < 8; j++) {
		a += f[j] * k1[j];
		b += (f[j] ^ f[j] >> 32) * k2[j];
	}
	rt_stack_hash(h1, h2, a);
	*h2 += b;
}

// The hashes of a kernel stack go to st->check and out. At most RT_KSTACK_MAX / 8 rounds: the verifier walks them without bpf_loop, and all
// ends look alike to it because n is known only to memory. Frames up to the next multiple of 8 are cleared, so that whole groups are hashed.
static RT_INLINE u64 hash_kernel(struct RtStack *st)
{
	u64 n = *(volatile u32 *)&st->n & (2 * RT_KSTACK_MAX - 1), h1 = 0, h2 = 0;
	u64 zero = *(volatile u32 *)&st->total; // ... to memory: as rt_vary(), which would wait for its own stores

	for (u32 i = 0; i < 8; i++)
		st->frames[n + i] = 0;
	hash_eight(&h1, &h2, st->frames); // most have no more
	RT_LOOP_FROM(i, RT_VARIES ? zero : 0, RT_KSTACK_MAX / 8 - 1) {
		if (i * 8 + 8 >= n)
			break;
		hash_eight(&h1, &h2, &st->frames[i * 8 + 8]);
	}
	st->check = h2;
	return h1;
}

// First half: a buffer, and in b->want how many bytes of frames bpf_get_stack() shall put at b->buf + RT_KSTACK_AT. The program calls that
// itself: each BPF function between it and the kernel costs the kernel's unwinder 100 to 200 ns, as it finds such frames in no table of its own.
RT_FN struct RtStackBuf *rt_kstack_begin(u64 limit, u64 src)
{
	struct RtStackBuf *b = rt_stack_get();

	if (!b)
		return NULL;
	if (limit == 0 || limit > RT_KSTACK_MAX)
		limit = RT_KSTACK_MAX;
	if ((src & RT_SRC_MASK) >= RT_SRC_TP)
		limit += RT_TRIM_DEPTH;
	if (limit > rt_kstack_max)
		limit = rt_kstack_max;
	u64 want = b->usual >> RT_KSTACK_USUAL_SHIFT;
	if (want < RT_KSTACK_LEAST * 8)
		want = RT_KSTACK_LEAST * 8;
	b->most = limit * 8;
	b->want = want < limit * 8 ? want & ~7 : limit * 8;
	return b;
}

// The n frames of b that come after skip others, at most limit of them: interned. most: frames that were asked for.
static RT_INLINE u64 keep_kernel(struct RtStackBuf *b, u64 skip, u64 n, u64 limit, u64 most)
{
	struct RtStack *st = (struct RtStack *)(b->buf + skip);
	st->flags = 0;
	if (n + skip >= most && limit > n) {
		struct RtCounters *c = rt_stack_counters();
		st->flags = RT_STACK_CUT;
		if (c)
			c->kstack_cut++;
	}
	st->why = RT_WHY_OK;
	st->pid = 0;
	if (n > limit)
		n = limit;
	if (n == limit && limit < RT_KSTACK_MAX)
		st->why = RT_WHY_ASKED;
	st->n = n;
	st->total = 0;
	u64 h1 = hash_kernel(st);
	return intern_known(b, st, h1, st->check);
}

// A kprobe's registers are those behind its breakpoint, also where the kernel has put a jump or a call in its place (arch/x86/kernel/kprobes).
static RT_INLINE void fix_break(u64 *frames, u64 src)
{
	if (src & RT_SRC_F_BREAK)
		frames[0]--;
}

#define CALL_AT 32 // bytes from a function's beginning to where its call of a trampoline returns, at most

// Where fexit programs are the kernel may have the function jump to the trampoline, not call it (seen with 7.2): then no address of the function is on the stack. It goes into
// the place of a frame that is trimmed. skip of the n frames are; returns how many are now.
static RT_INLINE u64 with_function(struct RtStackBuf *b, struct RtTrim *t, u64 *frames, u64 skip, u64 n)
{
	u64 func = b->func;

	if (!t || !skip || is_tracer(t, func) || (skip < n && frames[skip] - func < CALL_AT))
		return skip;
	skip = (skip - 1) & (RT_TRIM_DEPTH - 1);
	frames[skip] = func;
	return skip;
}

static RT_INLINE u32 kstack_usual(u32 usual, long got)
{
	u32 now = ((u32)got + RT_KSTACK_MORE * 8) << RT_KSTACK_USUAL_SHIFT;

	return got > 0 && now > usual ? now : usual > RT_KSTACK_LEAST * 8 << RT_KSTACK_USUAL_SHIFT ? usual - 8 : usual;
}

static RT_INLINE u64 kstack_end(struct RtStackBuf *b, long got, u64 limit, u64 src, void *ctx)
{
	u64 *frames = b->buf + sizeof(struct RtStack) / 8, skip = 0, n;

	if (limit == 0 || limit > RT_KSTACK_MAX)
		limit = RT_KSTACK_MAX;
	if (got == b->want && b->most > b->want) // there may be more
		got = bpf_get_stack(ctx, frames, b->most & RT_KSTACK_MASK, 0);
	b->usual = kstack_usual(b->usual, got);
	// Before 6.13 a system call's tracepoint gives its program the registers of user space, and so no kernel stack (kernel/trace/trace_syscalls.c,
	// perf_call_bpf_enter): the task's own stack then, which begins in the helper.
	if (got < 8 && (src & RT_SRC_MASK) == RT_SRC_TP && rt_task_stack)
		got = bpf_get_task_stack(bpf_get_current_task_btf(), frames, b->most & RT_KSTACK_MASK, 0);
	if (got < 8) {
		struct RtCounters *c = rt_stack_counters();
		if ((src & RT_SRC_F_USER) || got >= 0 || got == -14) // 0, EFAULT: the event came from user space, there is no kernel stack
			return 0;
		if (c)
			c->stack_kfail++;
		return RT_STACK_LOST;
	}
	n = (u64)got >> 3 & (2 * RT_KSTACK_MAX - 1); // masks, not comparisons: the verifier would follow both ways
	if ((src & RT_SRC_MASK) >= RT_SRC_TP) {
		u32 zero = 0;
		struct RtTrim *t = bpf_map_lookup_elem(&rt_trim, &zero);
		b->skip = 0;
		if (t && t->n) // 0: not needed, or user space could not tell what is the tracer's (kptr_restrict)
			count_tracer(t, frames, n, &b->skip);
		skip = *(volatile u32 *)&b->skip & (RT_TRIM_DEPTH - 1); // from memory: the verifier forgets by which way it came
#if RT_IS_ARM64 || RT_IS_RISCV64
		// A tracepoint's registers are made up of a return address and of the frame record that holds it
		// (arch/arm64, arch/riscv: include/asm/perf_event.h, perf_arch_fetch_caller_regs): the same address twice, unless both were trimmed.
		if ((src & RT_SRC_MASK) == RT_SRC_TP && !skip && frames[0] == frames[1])
			skip = 1;
#endif
		if (src & RT_SRC_F_FUNC_IP)
			skip = with_function(b, t, frames, skip, n);
		n -= skip;
	} else {
		n = fix_leaf(ctx, frames, n, src);
		fix_break(frames, src);
	}
	return keep_kernel(b, skip, n, limit, rt_kstack_max);
}

// Second half: got is what bpf_get_stack() returned, ctx the program's context. Returns the stack's id.
RT_FN u64 rt_kstack_end(struct RtStackBuf *b, u64 got, u64 limit, u64 src, void *ctx)
{
	u64 id = kstack_end(b, (long)got, limit, src, ctx);
	return rt_stack_put(b) ? id : RT_STACK_LOST;
}

// The stack another task sleeps with. The kernel leaves the scheduler's own frames out, ksched.bpf.c puts them back. task: a trusted pointer or NULL.
RT_FN u64 rt_kstack_task(void *task, u64 limit)
{
	struct RtStackBuf *b = task ? rt_stack_get() : 0;
	u64 id = 0, n;
	long got;

	if (!b)
		return 0;
	if (limit == 0 || limit > RT_KSTACK_MAX)
		limit = RT_KSTACK_MAX;
	got = bpf_get_task_stack(task, b->buf + sizeof(struct RtStack) / 8, 128 * 8, 0);
	if (got >= 8) { // kernel threads that have ended and tasks that run have none
		n = (u64)got / 8;
		RT_BOUND(n, 128);
		n = rt_sched_frames(b, (u64)task, n);
		RT_BOUND(n, RT_KSTACK_MAX);
		id = keep_kernel(b, 0, n, limit, rt_kstack_max < 128 ? rt_kstack_max : 128);
	}
	return rt_stack_put(b) ? id : 0;
}
