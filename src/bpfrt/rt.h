// rt.h: what a runtime file (src/bpfrt/*.bpf.c) may use. One source, two targets:
//   clang -target bpf        the functions are cut into tables when sonde is built (tools/mkrt.c) and linked on demand (bpf/link.c)
//   cc -DRT_HOST             the same functions as plain C for unit tests; helpers are ordinary functions the test supplies
//                            (test/unit/rt_host.h has maps, bpf_loop and friends ready)
//
// Rules of a runtime file:
//   - Functions called by generated code: RT_FN u64 rt_name(u64 or pointer arguments, at most 5). Other functions: `static` with
//     either RT_NOINLINE (an own subprogram) or RT_INLINE.
//     All are static subprograms for the verifier (checked at each call site), so pointers to anything may be passed.
//   - The 512 bytes of stack are for the whole call chain, the generated program included: keep frames under 128 bytes.
//   - No globals but RT_MAP, RT_CONST and `static const` tables. mkrt refuses .data and .bss.
//   - Callbacks of bpf_loop/bpf_for_each_map_elem: `static long f(...)` whose address is taken; nothing else to do.
//   - bpf_loop: kernels before 6.7 verify the callback ONCE, with the context as it is at the first round, and drop the branches that
//     these values never take (fixed by kernel commit ab5cfac139ab). So whatever the callback changes in its context must be unknown to
//     the verifier when the loop starts: initialise it with rt_forget(0), and store it with rt_forget(v) so that rounds look alike
//     (few verifier states). Bound such values (mask, compare) at every use. Pointers and sizes that stay the same may be constants.
//   - Only 64-bit little-endian layouts of abi.h are shared with user space.
#ifndef SONDE_RT_H
#define SONDE_RT_H

#ifdef RT_HOST
#include "base/base.h"
#else
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define offsetof(t, m) __builtin_offsetof(t, m)
#endif
#include "bpfrt/abi.h"

#define RT_INLINE inline __attribute__((always_inline))
#define RT_NOINLINE __attribute__((noinline))
#define RT_FN __attribute__((noinline, used))
// A function that the verifier is to follow once and not once for each call, given pointers to whole structs (btfgen.c): named rtp_*, returns a number, does nothing
// when given NULL. The walker of other threads (utask.bpf.c) has its own, which reach beyond what they are given.
#ifdef RT_UW_TASK
#define RT_ONCE static RT_NOINLINE
#define RT_GIVEN u64
#else
#define RT_ONCE RT_NOINLINE
#define RT_GIVEN struct RtStackBuf * // what functions named rtg_* are given: see rt_given()
#endif
#ifdef RT_HOST
#define RT_UNROLL
#else
#define RT_UNROLL _Pragma("clang loop unroll(full)")
#endif

// ---- maps. RT_MAP(rt_counters, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct RtCounters), 1, 0);
// The same map may be declared in several files with RT_MAP_EXTERN after one RT_MAP; names start with "rt_". In code pass &name.
// A map becomes part of a Program (prog->maps) when a linked function refers to it; user space may change max_entries before load.
struct RtMapDef {
	u32 type, key_size, value_size, max_entries, flags;
	// ARRAY_OF_MAPS, HASH_OF_MAPS: the template of the inner maps (value_size is 4); else 0
	u32 inner_type, inner_key_size, inner_value_size, inner_max_entries, inner_flags;
};
#define RT_MAP(name, ...)                                                                                              \
	struct RtMapDef name __attribute__((section("sonde_maps"), used)) = {__VA_ARGS__}
#define RT_MAP_EXTERN(name) extern struct RtMapDef name

// ---- constants that user space may set before load: link_set_const(prog, "rt_max_frames", &v, 4). The verifier knows their values.
// RT_CONST(u32, rt_max_frames, 127);   read it as an ordinary variable. Initial value as given.
#ifdef RT_HOST
#define RT_CONST(T, name, init) T name = init
#define RT_CONST_EXTERN(T, name) extern T name // defined by RT_CONST in another file
#else
#define RT_CONST(T, name, init) const volatile T name __attribute__((section(".rodata.const"), used)) = init
#define RT_CONST_EXTERN(T, name) extern const volatile T name
#endif

// Constants of the kernel's UAPI that runtime code needs (linux/bpf.h); stated here so that no kernel headers are needed.
#define RT_MAP_HASH 1
#define RT_MAP_ARRAY 2
#define RT_MAP_PROG_ARRAY 3
#define RT_MAP_PERCPU_HASH 5
#define RT_MAP_PERCPU_ARRAY 6
#define RT_MAP_LRU_HASH 9
#define RT_MAP_LRU_PERCPU_HASH 10
#define RT_MAP_LPM_TRIE 11
#define RT_MAP_ARRAY_OF_MAPS 12
#define RT_MAP_HASH_OF_MAPS 13
#define RT_MAP_RINGBUF 27
#define RT_MAP_TASK_STORAGE 29
#define RT_F_NO_PREALLOC 1
#define RT_F_RDONLY_PROG (1 << 7)
#define RT_F_MMAPABLE (1 << 10)
#define RT_F_INNER_MAP (1 << 12)
#define RT_ANY 0
#define RT_NOEXIST 1
#define RT_EXIST 2
#define RT_F_USER_STACK (1ULL << 8) // bpf_get_stack; low 8 bits: frames to skip
#define RT_CURRENT_CPU 0xffffffffULL

struct task_struct;
struct pt_regs;
struct RtLpmKey {
	u32 prefixlen;
	u8 data[];
};

// ---- helpers: number, result, name, parameters (linux/bpf.h, __BPF_FUNC_MAPPER). RT_HELPERS is a list so that the two targets agree.
#define RT_HELPERS(H)                                                                                                  \
	H(1, void *, bpf_map_lookup_elem, (void *map, const void *key))                                                \
	H(2, long, bpf_map_update_elem, (void *map, const void *key, const void *val, u64 flags))                      \
	H(3, long, bpf_map_delete_elem, (void *map, const void *key))                                                  \
	H(5, u64, bpf_ktime_get_ns, (void))                                                                            \
	H(7, u32, bpf_get_prandom_u32, (void))                                                                         \
	H(8, u32, bpf_get_smp_processor_id, (void))                                                                    \
	H(12, long, bpf_tail_call, (void *ctx, void *prog_array, u32 index))                                           \
	H(14, u64, bpf_get_current_pid_tgid, (void))                                                                   \
	H(16, long, bpf_get_current_comm, (void *buf, u32 size))                                                       \
	H(35, u64, bpf_get_current_task, (void))                                                                       \
	H(67, long, bpf_get_stack, (void *ctx, void *buf, u32 size, u64 flags))                                        \
	H(112, long, bpf_probe_read_user, (void *dst, u32 size, const void *user))                                     \
	H(113, long, bpf_probe_read_kernel, (void *dst, u32 size, const void *kernel))                                 \
	H(114, long, bpf_probe_read_user_str, (void *dst, u32 size, const void *user))                                 \
	H(115, long, bpf_probe_read_kernel_str, (void *dst, u32 size, const void *kernel))                             \
	H(120, long, bpf_get_ns_current_pid_tgid, (u64 dev, u64 ino, void *pidns_info, u32 size))                      \
	H(125, u64, bpf_ktime_get_boot_ns, (void))                                                                     \
	H(130, long, bpf_ringbuf_output, (void *ringbuf, const void *data, u64 size, u64 flags))                       \
	H(131, void *, bpf_ringbuf_reserve, (void *ringbuf, u64 size, u64 flags))                                      \
	H(132, void, bpf_ringbuf_submit, (void *data, u64 flags))                                                      \
	H(133, void, bpf_ringbuf_discard, (void *data, u64 flags))                                                     \
	H(141, long, bpf_get_task_stack, (void *task, void *buf, u32 size, u64 flags))                                 \
	H(158, struct task_struct *, bpf_get_current_task_btf, (void))                                                 \
	H(164, long, bpf_for_each_map_elem, (void *map, void *callback, void *ctx, u64 flags))                         \
	H(175, struct pt_regs *, bpf_task_pt_regs, (struct task_struct *task))                                         \
	H(180, long, bpf_find_vma, (struct task_struct *task, u64 addr, void *callback, void *ctx, u64 flags))         \
	H(181, long, bpf_loop, (u32 n, void *callback, void *ctx, u64 flags))                                          \
	H(182, long, bpf_strncmp, (const char *s1, u32 s1_sz, const char *s2))                                         \
	H(148, long, bpf_copy_from_user, (void *dst, u32 size, const void *user))                                      \
	H(191, long, bpf_copy_from_user_task, (void *dst, u32 size, const void *user, void *task, u64 flags))                 \
	H(195, void *, bpf_map_lookup_percpu_elem, (void *map, const void *key, u32 cpu))
#ifdef RT_HOST
#define RT_HELPER(num, ret, name, params) extern ret name params;
#else
#define RT_HELPER(num, ret, name, params) static ret(*const name) params __attribute__((unused)) = (void *)num;
#endif
RT_HELPERS(RT_HELPER)
#undef RT_HELPER

// Bounds a u64 variable in a way clang cannot undo: the verifier sees the bound on the very register that is used next.
#ifdef RT_HOST
#define RT_BOUND(v, max)                                                                                               \
	do {                                                                                                           \
		if ((v) > (max))                                                                                       \
			(v) = (max);                                                                                   \
	} while (0)
#define RT_BARRIER(v) ((void)(v))
#define RT_FENCE() ((void)0)
#else
#define RT_BOUND(v, max) asm volatile("if %0 <= %1 goto +1; %0 = %1" : "+r"(v) : "i"(max))
#define RT_BARRIER(v) asm volatile("" : "+r"(v))
#define RT_FENCE() asm volatile("" ::: "memory") // what was written is read again
#endif

// v, but as a number the verifier knows nothing of: a spilled register whose slot is partly overwritten reads back as unknown
// (kernel/bpf/verifier.c, check_stack_write_fixed_off: scrub_spilled_slot). Flipped in between, as zeros are tracked byte by byte.
static RT_INLINE u64 rt_forget(u64 v)
{
	volatile u64 slot = v ^ 0xa5ULL << 56;
	volatile u8 *top = (volatile u8 *)&slot + 7;
	*top = (u8)(v >> 56 ^ 0xa5);
	return slot ^ 0xa5ULL << 56;
}

// A loop of at most n rounds that the verifier follows twice, not n times, where the kernel has may_goto (Linux 6.9): states of two rounds are compared by their ranges
// there. So the counter is unknown from the start, and what rounds change is best kept in memory, or begins with rt_vary(), too. For other kernels bpf/link.c puts
// "goto +0" in the place of may_goto, and the counter begins as 0: they follow each round, and want a jump as the way back (clang may place a round's end right before the next).
#ifdef RT_HOST
#define RT_VARIES 0
#define rt_vary(v) ((u64)(v))
#define RT_AGAIN true
#define RT_NEXT(i) i++
#else
RT_CONST_EXTERN(u32, rt_may_goto); // loss.bpf.c; link.c sets it
#define RT_VARIES rt_may_goto
static RT_INLINE u64 rt_vary(u64 v)
{
	return rt_may_goto ? rt_forget(v) : v;
}
#define RT_AGAIN                                                                                                       \
	({                                                                                                             \
		__label__ over, on;                                                                                    \
		bool again = true;                                                                                     \
		asm volatile goto("1: .byte 0xe5, 0; .long ((%l[over] - 1b - 8) / 8) & 0xffff; .short 0" :::: over);    \
		goto on;                                                                                               \
	over:                                                                                                          \
		again = false;                                                                                         \
	on:                                                                                                            \
		again;                                                                                                 \
	})
#define RT_NEXT(i) ({ i++; asm volatile("goto +0" : "+r"(i)); })
#endif
#define RT_LOOP(i, n) RT_LOOP_FROM(i, rt_vary(0), n)
#define RT_LOOP_FROM(i, first, n) for (u64 i = (first); i < (n) && RT_AGAIN; RT_NEXT(i)) // first: 0, unknown to the verifier if RT_VARIES

// ---- str.bpf.c. All pointers are to BPF memory (stack, map value, scratch); capacities are constants where the call is written.
// Text is NUL-terminated or fills its capacity.
#define RT_STR_MAX 1024	 // capacity of any one string
u64 rt_strlen(const char *p, u64 cap);
u64 rt_streq(const char *a, u64 acap, const char *b, u64 bcap); // 1: same text
u64 rt_strlen_long(const char *p, u64 cap);			 // the same for buffers in maps, not on the stack, in an eighth of the steps
u64 rt_streq_long(const char *a, u64 acap, const char *b, u64 bcap);
s64 rt_strncmp(const char *a, const char *b, u64 n);		 // as C, over at most n bytes that both buffers must have
s64 rt_memcmp(const void *a, const void *b, u64 n);		 // difference of the first bytes that differ
s64 rt_strstr(const char *hay, u64 haycap, const char *needle, u64 needlecap); // index or -1; 25 * haycap * needlecap verifier steps
s64 rt_strstr_loop(const char *hay, u64 haycap, const char *needle, u64 needlecap); // same with bpf_loop (FEAT_BPF_LOOP): 200 steps
u64 rt_globmatch(const char *s, u64 scap, const char *pat, u64 patcap); // 1: * ? [a-z] [!a-z] match the whole text; needs bpf_loop
// Buckets. hist: index of val with 2^k buckets per power of two (k 0..5), laid out as bpftrace does:
//   negative (as s64): 0.   val < 2^k: val + 1.   else with l = floor(log2(val)) - k:  ((l + 1) << k) + ((val >> l) & (2^k - 1)) + 1
// The highest index is that of 2^63 - 1: (64 - k) << k, so there are ((64 - k) << k) + 1 buckets: hist_nbuckets(k) of type.c.
u64 rt_log2_hist(u64 val, u64 k);
// lhist: 0 below min, else 1 + (min(val, max) - min) / step; so (max - min) / step + 2 buckets. All signed; step > 0, max >= min.
u64 rt_lhist(s64 val, s64 min, s64 max, s64 step);
// ---- loss.bpf.c. Adds 1 to the counter at that offset of this CPU's struct RtCounters, or to that of the updates of maps that returned ret.
u64 rt_count_loss(u64 off);
u64 rt_count_told(u64 off); // takes one away
u64 rt_count_map_loss(s64 ret);
// ---- aggr.bpf.c. Adds a value to a time series of n = spec >> 32 slots; spec bit 8: signed, low 8 bits: enum RtTsAgg. Times in ns.
u64 rt_tseries(struct RtTsSlot *slots, u64 val, u64 now, u64 interval, u64 spec);
// Percentiles: n buckets of one CPU are added to those of all; the bucket of the value of rank num / den, RT_BUCKETS_NONE when there is none; what the
// script gets of that bucket (0 of none): of hist and lhist the largest number that belongs to it, of quantiles its middle, and the maximum for 100 %.
// order_max is as struct RtQuantiles has it. All need bpf_loop.
u64 rt_buckets_add(struct RtBuckets *all, const u64 *part, u64 n);
u64 rt_buckets_find(struct RtBuckets *all, u64 n, u64 num, u64 den);
s64 rt_hist_top(u64 i, u64 k);
s64 rt_quantile(u64 i, u64 k, u64 order_max, u64 num, u64 den);
s64 rt_lhist_top(u64 i, u64 n, s64 min, s64 step);
#endif
