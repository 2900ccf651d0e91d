// rows.bpf.c: which rule holds at an address: objects, their directories of pages, pages' records (unwind/record.c and track/tablemaps.c lay them out).
// Input: object and file offset; the maps user space fills (stack.h). Output: number of the rule. Invariant: whatever lies in the maps,
// no access leaves its value, and the search ends after eight steps.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

RT_MAP(rt_uw_obj, RT_MAP_ARRAY, 4, sizeof(struct RtUwObj), RT_UW_OBJS, RT_F_MMAPABLE);
RT_MAP(rt_uw_dir, RT_MAP_ARRAY, 4, 4, RT_UW_DIRS, RT_F_MMAPABLE);
RT_MAP(rt_uw_pages, RT_MAP_ARRAY_OF_MAPS, 4, 4, RT_UW_VALS, 0, RT_MAP_ARRAY, 4, RT_UW_VAL_SIZE, 1, RT_F_MMAPABLE);
RT_MAP(rt_uw_events, RT_MAP_RINGBUF, 0, 0, 524288, 0); // some thousand new codes of interpreted programs at once
RT_MAP(rt_uw_asked, RT_MAP_LRU_HASH, 4, 4, 4096, 0);

// User space is asked: for the mappings of a process it has not told us about (obj 0), or to build an object's table next.
static RT_INLINE u64 ask(u32 tgid, u32 obj)
{
	struct RtProcNew ev = {{RT_EV_PROC_NEW, obj}, tgid};
	return bpf_ringbuf_output(&rt_uw_events, &ev, sizeof(ev), 0) != 0;
}

RT_NOINLINE u64 rt_uw_ask(u32 tgid, u32 obj)
{
	return ask(tgid, obj);
}

// The same, if it was not asked lately. key: of rt_uw_asked, and what the record says.
static RT_INLINE void ask_once(u32 key, u32 kind)
{
	struct RtProcNew ev = {{kind, 0}, key};
	u32 one = 1;

	if (bpf_map_update_elem(&rt_uw_asked, &key, &one, RT_NOEXIST)) // asked before
		return;
	if (bpf_ringbuf_output(&rt_uw_events, &ev, sizeof(ev), 0))
		bpf_map_delete_elem(&rt_uw_asked, &key); // full: the next stack asks again
}

RT_NOINLINE u64 rt_uw_ask_mappings(u32 tgid)
{
	ask_once(tgid, RT_EV_PROC_NEW);
	return 0;
}

RT_NOINLINE u64 rt_uw_ask_records(u32 tgid)
{
	ask_once(tgid | RT_UW_ASKED_RECORDS, RT_EV_RECORDS);
	return 0;
}

// A page's record was taken out: user space is to bring it back.
static RT_INLINE void ask_page(u32 obj, u32 page, u32 *entry)
{
	struct RtProcNew ev = {{RT_EV_UW_PAGE, obj}, page};

	*entry = RT_UW_ASKED; // should it have come back just now, user space finds this and puts it there again
	if (bpf_ringbuf_output(&rt_uw_events, &ev, sizeof(ev), 0))
		*entry = RT_UW_OUT; // full: the next stack asks again
}

// One step of record_search: cnt rows are known to begin at or below lo8; are cnt + (1 << bit)? Without branches and sign-extending shifts:
// the verifier would follow each step twice.
static RT_INLINE u32 record_step(u8 *val, u32 first, u32 len, u32 lo8, u32 cnt, u32 bit)
{
	u32 p = cnt + (1u << bit) - 1, at = (first + p) & (RT_UW_VAL_SIZE - 1);
	RT_BARRIER(at);
	u32 row = val[at];
	u32 yes = (row - lo8 - 1) >> 31 & (p - len) >> 31; // row <= lo8 and p < len
	RT_BARRIER(yes);
	return cnt + (yes << bit);
}

// Rule of the record at byte `base` of a value that holds at offset off of the page: that of the last row in its bucket that begins at or below
// it, else of the row before the bucket. A bucket has at most 255 rows (table.c). Every access is masked into the value.
static RT_INLINE u32 record_search(u8 *val, u32 base, u32 off)
{
	u32 bucket = off >> RT_UW_BUCKET_BITS & (RT_UW_BUCKETS - 1), lo8 = off & 255, cnt = 0;
	u32 at = (base + bucket * 2) & (RT_UW_VAL_SIZE - 2);
	RT_BARRIER(at);
	u32 i = *(u16 *)(val + at);
	at = (at + 2) & (RT_UW_VAL_SIZE - 2);
	u32 len = *(u16 *)(val + at) - i;
	at = (base + RT_UW_BUCKETS * 2) & (RT_UW_VAL_SIZE - 2);
	RT_BARRIER(at);
	u32 n = *(u16 *)(val + at), first = base + RT_UW_REC_LO + i;

	if (len >= 16) {
		RT_UNROLL
		for (s32 bit = 7; bit >= 4; bit--)
			cnt = record_step(val, first, len, lo8, cnt, bit);
	}
	RT_UNROLL
	for (s32 bit = 3; bit >= 0; bit--)
		cnt = record_step(val, first, len, lo8, cnt, bit);
	i = i + cnt - 1; // the first row of a page begins at 0, so this is never below 0 in a record of ours
	at = (base + RT_UW_REC_RULE(n) + i * 2) & (RT_UW_VAL_SIZE - 2);
	RT_BARRIER(at);
	return *(u16 *)(val + at);
}

// Number of the rule at file offset off of object u->obj, 0: none. RT_UW_RULES: there may be one that we lack, u->weak says why. Global for the
// benchmark, which measures it alone.
RT_FN u64 rt_uw_find_rule(struct RtUw *u, u64 off)
{
	u32 key = u->obj, page = off >> RT_UW_PAGE_BITS;
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &key);

	if (o && o->grows)
		u->gen = 0;
	if (!o || o->state != RT_UW_READY) {
		if (o && o->state == RT_UW_BARE)
			return 0;
		u->weak = !o || o->state == RT_UW_FULL ? RT_WHY_FULL
			: o->state == RT_UW_DENIED     ? RT_WHY_NO_PERM
			: o->state == RT_UW_UNREADABLE ? RT_WHY_UNREADABLE
			: o->state == RT_UW_DAMAGED    ? RT_WHY_DAMAGED
						       : RT_WHY_NO_TABLE;
		if (o && o->state == RT_UW_PENDING && !o->asked) {
			o->asked = 1;
			rt_uw_ask(u->tgid, u->obj);
		}
		return RT_UW_RULES;
	}
	page -= o->first_page;
	if (page >= o->npages)
		return 0;
	key = o->dir + page;
	u32 *entry = bpf_map_lookup_elem(&rt_uw_dir, &key);
	if (!entry || !*entry)
		return 0;
	u32 e = *entry;
	if (e >= RT_UW_ASKED) {
		u->weak = RT_WHY_NO_TABLE;
		if (e == RT_UW_OUT)
			ask_page(u->obj, page, entry);
		return RT_UW_RULES;
	}
	key = e >> 16;
	void *inner = bpf_map_lookup_elem(&rt_uw_pages, &key);
	if (!inner) { // taken out this moment
		u->weak = RT_WHY_NO_TABLE;
		return RT_UW_RULES;
	}
	key = 0;
	u8 *val = bpf_map_lookup_elem(inner, &key);
	if (!val)
		return 0;
	return record_search(val, (e & 0xffff) << 2, off & ((1 << RT_UW_PAGE_BITS) - 1));
}
