// otel.bpf.c: the request that the current thread works on, as its program publishes it for readers outside: trace_id, span_id.
// Input: where the process keeps it (rt_otel, filled by track/otel.c), memory of the process. Output: hexadecimal text, "" where there is none.
// Format: OpenTelemetry's OTEP 4947. A thread-local pointer, otel_thread_ctx_v1 (NULL: none), to a packed record: 16 bytes trace id, 8 bytes span id, one byte
// that is 1 while the record is valid, flags, and attributes that are not read here. All zero: none. Only its own thread writes a record, and it is the current one,
// so it does not change while it is read.
// Invariant: nothing is trusted: what is read are at most 32 bytes at an address the process names. An entry of another program that the process ran before, or of an
// older process of the same number, is not used (RT_OTEL_IDENT).
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

#define AGAIN_NS 100000000ull // user space is asked again so much later
#define MODULES 65536 // more than any process loads

RT_MAP(rt_otel, RT_MAP_HASH, 4, sizeof(struct RtOtel), 8192, 0); // no LRU: its locks are not for NMIs
RT_CONST_EXTERN(u32, rt_off_tp);
RT_CONST_EXTERN(u32, rt_off_mm);
RT_CONST_EXTERN(u32, rt_off_leader);
RT_CONST(u32, rt_off_start_code, 0); // in mm_struct; 0: not known, nor are those below
RT_CONST(u32, rt_off_end_code, 0);
RT_CONST(u32, rt_off_start_stack, 0);
RT_CONST(u32, rt_off_start_time, 0); // in task_struct
#define TICK_NS 10000000ull // USER_HZ

static RT_INLINE bool read_user(void *to, u32 n, u64 at)
{
	return at && !(at >> RT_UW_PC_BITS) && !bpf_probe_read_user(to, n, (void *)at);
}

// Which program the process runs; 0: none, it is a thread of the kernel.
static RT_NOINLINE u64 program_of(u64 task)
{
	u64 mm, leader, code, end, stack, start;

	if (!rt_off_start_code || !rt_kread8(&mm, task + rt_off_mm) || !mm || !rt_kread8(&leader, task + rt_off_leader))
		return 0;
	if (!rt_kread8(&code, mm + rt_off_start_code) || !rt_kread8(&end, mm + rt_off_end_code) || !rt_kread8(&stack, mm + rt_off_start_stack) ||
	    !rt_kread8(&start, leader + rt_off_start_time))
		return 0;
	return RT_OTEL_IDENT(code, end, stack, start / TICK_NS);
}

// The record's address into *at, 0: none. False: the process's memory cannot be read.
static RT_NOINLINE u64 record_of(struct RtOtel *o, u64 task, u64 *at)
{
	u64 place, blocks, n;

	*at = 0;
	if (!rt_off_tp || !rt_kread8(&place, task + rt_off_tp) || !place)
		return 0;
	if (o->kind == RT_OTEL_DTV) {
		if (!read_user(&blocks, 8, place + o->dtv) || !read_user(&n, 8, blocks + o->count))
			return 0;
		if (o->module > n || n > MODULES) // loaded after the thread last asked for a block: it has none
			return 1;
		if (!read_user(&place, 8, blocks + (u64)o->module * o->step))
			return 0;
		if (!place || place == ~0ull) // the thread has never used it
			return 1;
	}
	return read_user(at, 8, place + o->off);
}

static RT_INLINE u64 unread(void)
{
	rt_count_loss(offsetof(struct RtCounters, requests_unread));
	return 0;
}

// User space is asked for it: what tells the program.
static RT_NOINLINE u64 ask(u32 tgid, u64 ident)
{
	struct RtOtel new = {.ident = ident, .kind = RT_OTEL_ASKED, .again = bpf_ktime_get_ns() + AGAIN_NS};

	unread();
	return bpf_map_update_elem(&rt_otel, &tgid, &new, RT_ANY) ? 0 : ident; // no room: not to be asked at each event
}

// The record's first 32 bytes, zero: none. Result: 0, or user space is to be asked for the process: what tells its program.
static RT_NOINLINE u64 read_record(u64 tgid, u64 *rec)
{
	u64 task = bpf_get_current_task(), ident = program_of(task), at, result = 0;
	u32 key = tgid;
	struct RtOtel *o = bpf_map_lookup_elem(&rt_otel, &key);

	rec[0] = rec[1] = rec[2] = 0;
	if (!ident || !tgid)
		return 0;
	if (!o || o->ident != ident)
		return ask(key, ident);
	if (o->again && bpf_ktime_get_ns() >= o->again) {
		o->again = bpf_ktime_get_ns() + AGAIN_NS;
		result = ident;
	}
	if (o->kind == RT_OTEL_NONE)
		return result;
	if (o->kind == RT_OTEL_ASKED || !record_of(o, task, &at)) {
		unread();
		return result;
	}
	if (at && !read_user(rec, 25, at)) {
		rec[0] = rec[1] = rec[2] = 0;
		unread();
	} else if (!at || (rec[3] & 0xff) != 1) {
		rec[0] = rec[1] = rec[2] = 0;
	}
	return result;
}

static RT_INLINE u8 digit(u32 v)
{
	return v + (v > 9 ? 'a' - 10 : '0');
}

// n bytes as text of 2 n digits and a NUL; all of it NUL if they are zero.
static RT_INLINE void put_hex(char *dst, const volatile u8 *id, u32 n, bool any)
{
	RT_UNROLL
	for (u32 i = 0; i < n; i++) { // volatile: one byte after the other, else all of them are in the frame
		u64 v = id[i];
		((volatile char *)dst)[2 * i] = any ? digit(v >> 4) : 0;
		((volatile char *)dst)[2 * i + 1] = any ? digit(v & 15) : 0;
	}
	dst[2 * n] = 0;
}

// Text of the id into dst, 33 and 17 bytes. tgid: the process's number as user space has it. Result: as read_record().
RT_FN u64 rt_trace_id(char *dst, u64 tgid)
{
	u64 rec[4] = {0};
	u64 result = read_record(tgid, rec);

	put_hex(dst, (u8 *)rec, RT_OTEL_ID, rec[0] | rec[1]);
	return result;
}

RT_FN u64 rt_span_id(char *dst, u64 tgid)
{
	u64 rec[4] = {0};
	u64 result = read_record(tgid, rec);

	put_hex(dst, (u8 *)&rec[2], RT_OTEL_ID / 2, rec[2]);
	return result;
}
