// vma.bpf.c: which file lies at an address of the current process. Input: what user space has told (rt_uw_maps), and the kernel's own structures:
// task_struct.mm's tree of mappings, read without locks, since bpf_find_vma can look but once in an event that has interrupts off
// (kernel/bpf/mmap_unlock_work.h: one irq_work a CPU). Output: the walker's current mapping.
// Invariant: the tree decides. What was told holds only once it has been found there in this epoch; the epoch is another whenever the process has another
// program, or its mappings may have changed. A torn read gives no mapping or one that does hold the address. Kernels without the tree: what was told holds.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

RT_MAP(rt_uw_maps, RT_MAP_HASH, sizeof(struct RtUwKey), sizeof(struct RtUwChunk), 32768, RT_F_NO_PREALLOC);
RT_MAP(rt_uw_files, RT_MAP_HASH, sizeof(struct RtUwFile), 4, RT_UW_OBJS, RT_F_NO_PREALLOC);
RT_MAP(rt_uw_news, RT_MAP_HASH, 4, sizeof(struct RtUwFile), RT_UW_NEWS, RT_F_NO_PREALLOC);
RT_MAP_EXTERN(rt_uw_obj);
RT_MAP_EXTERN(rt_uw_events);
RT_MAP(rt_uw_node, RT_MAP_PERCPU_ARRAY, 4, 8 * 15, 1, 0); // pivots of one node: see rtg_descend

RT_CONST_EXTERN(u32, rt_off_mm);
// From BTF; rt_uw_vmas says that all are known. A maple tree (6.1): include/linux/maple_tree.h.
RT_CONST(u32, rt_uw_vmas, 0);
RT_CONST(u32, rt_off_exec_id, 0); // task_struct.self_exec_id
RT_CONST(u32, rt_off_mm_seq, 0);  // mm_struct.mm_lock_seq: counts who took the lock of the mappings for writing (6.4); 0: there is none
RT_CONST(u32, rt_off_tree, 0);	  // mm_struct.mm_mt
RT_CONST(u32, rt_off_root, 0);	  // maple_tree.ma_root
RT_CONST(u32, rt_off_vdso, 0);	  // mm_struct.context.vdso; 0 unknown
RT_CONST(u32, rt_off_pivots, 8);  // maple_range_64.pivot, maple_arange_64.pivot
RT_CONST(u32, rt_off_slots, 128); // maple_range_64.slot
RT_CONST(u32, rt_off_aslots, 80); // maple_arange_64.slot
RT_CONST(u32, rt_off_vm_start, 0);
RT_CONST(u32, rt_off_vm_end, 0);
RT_CONST(u32, rt_off_vm_pgoff, 0);
RT_CONST(u32, rt_off_vm_file, 0);
RT_CONST(u32, rt_off_vm_flags, 0); // 0 unknown
RT_CONST(u32, rt_off_f_inode, 0);
RT_CONST(u32, rt_off_i_ino, 0);
RT_CONST(u32, rt_off_i_size, 0);
RT_CONST(u32, rt_off_i_sb, 0);
RT_CONST(u32, rt_off_i_mtime, 0); // seconds
RT_CONST(u32, rt_off_i_mtime_ns, 0);
RT_CONST(u32, rt_off_s_dev, 0);
RT_CONST(u32, rt_off_user_dentry, 0); // backing_file.user_path.dentry (6.7); 0: there are none
RT_CONST(u32, rt_off_d_inode, 0);
RT_CONST(u32, rt_off_bprm_file, 0); // linux_binprm.file; 0 unknown
RT_CONST(u32, rt_page_shift, 12);

// ---- what user space has told
// Index of the last mapping of the chunk that starts at or below pc; entries beyond n start at RT_UW_NO_START.
static RT_INLINE u32 chunk_search(struct RtUwChunk *c, u64 pc)
{
	u64 lo = 0;

	RT_UNROLL
	for (s32 bit = 5; bit >= 0; bit--) {
		u64 above = ~(pc - c->map[(lo + (1 << bit)) & (RT_UW_CHUNK - 1)].start) >> 63; // 1: start <= pc
		RT_BARRIER(above);
		lo += above << bit;
	}
	return lo & (RT_UW_CHUNK - 1);
}

// Bytes of a mapping, without branches: one path for the verifier
static RT_INLINE u64 told_len(struct RtUwMapping *m)
{
	u64 made = m->obj >> 31; // RT_UW_MADE
	RT_BARRIER(made);
	return (u64)m->pages << (RT_UW_PAGE_SHIFT & (made - 1));
}

// Sets u->map_* and u->obj to the mapping of the chunks that holds pc, and returns it. NULL: none, map_len and obj are 0. Mappings other than those the
// walk began with: u->gen is cleared, so that nothing is kept in rt_uw_seen.
static RT_INLINE struct RtUwMapping *told(struct RtUw *u, struct RtUwChunk *c, u64 pc)
{
	struct RtUwKey key = {u->tgid, 0};

	u->map_len = 0;
	u->map_start = 0;
	u->obj = 0;
	u->made = 0;
	u->told = 0;
	if (!c || pc >> RT_UW_PC_BITS)
		return NULL;
	for (u32 up = 1; up < RT_UW_LEVELS; up++) {
		if (!c->level)
			break;
		key.chunk = c->map[chunk_search(c, pc)].obj;
		c = bpf_map_lookup_elem(&rt_uw_maps, &key);
		if (!c)
			return NULL;
	}
	if (c->level) // user space is about to write another set
		return NULL;
	if (c->gen != u->gen)
		u->gen = 0;
	u32 i = chunk_search(c, pc);
	struct RtUwMapping *m = &c->map[i];
	u64 len = told_len(m);
	if (pc - m->start >= len)
		return NULL;
	u->map_start = m->start;
	u->map_off = m->off;
	u->obj = m->obj & ~RT_UW_MADE;
	u->made = m->obj >> 31;
	u->map_len = len;
	u->at = (u64)key.chunk * RT_UW_CHUNK + i;
	u->told = 1;
	return m;
}

// ---- what the kernel knows
enum { LEAF = 1, RANGE = 2, ARANGE = 3 }; // enum maple_type
#define PIVOTS 15		// of a range node; an arange node has 9
#define ARANGE_PIVOTS 9
#define LEVELS 6 // 10^5 mappings in nodes that are half full
#define TYPE(tagged) ((tagged) >> 3 & 15)

// The slot for pc of a node, tagged as in the tree: its child, or what lies at pc if it is a leaf; 0: it is no node of those known. A slot reaches to its
// pivot; unused pivots are 0. Without branches: one path for the verifier. A global function (btfgen.c: by its name) is verified once and not at each level
// and each stack; the price is that it may be given numbers only. The pivots are not on the stack, of which all functions in one another have 512 bytes; an
// event that interrupts this one may replace them, which is found out as a change of the tree is: what lies there does not hold pc.
RT_NOINLINE u64 rtg_descend(u64 tagged, u64 pc)
{
	u64 node = tagged & ~255ULL, slot = 0, wide = TYPE(tagged) != ARANGE, child = 0;
	u64 *pivot = bpf_map_lookup_elem(&rt_uw_node, &child); // a key of 0

	if (!pivot || TYPE(tagged) < LEAF || TYPE(tagged) > ARANGE || bpf_probe_read_kernel(pivot, 8 * PIVOTS, (void *)(node + rt_off_pivots)))
		return 0;
	RT_UNROLL
	for (u32 i = 0; i < PIVOTS; i++) {
		u64 p = pivot[i] - 1, below = ((p - (pc - 1)) & ~p) >> 63; // 1: 0 < pivot < pc
		if (i >= ARANGE_PIVOTS)
			below &= wide;
		RT_BARRIER(below);
		slot += below;
	}
	node += slot * 8 + (wide ? rt_off_slots : rt_off_aslots);
	return rt_kread8(&child, node) ? child : 0;
}

// What names the file of an inode. A file's inode number may come back, and its bytes may be written anew: then its time is another. sb: for the use of this.
static RT_INLINE u64 name_file(struct RtUwFile *f, u64 inode, u64 *sb)
{
	u32 ns = 0;

	if (!rt_kread8(&f->ino, inode + rt_off_i_ino) || !rt_kread8(&f->size, inode + rt_off_i_size) ||
	    !rt_kread8(&f->mtime, inode + rt_off_i_mtime) || bpf_probe_read_kernel(&ns, 4, (void *)(inode + rt_off_i_mtime_ns)))
		return 0;
	f->mtime = f->mtime * 1000000000ULL + ns;
	return rt_kread8(sb, inode + rt_off_i_sb) && !bpf_probe_read_kernel(&f->dev, 4, (void *)(*sb + rt_off_s_dev));
}

static RT_NOINLINE u64 name_inode(struct RtUw *u, u64 inode)
{
	return name_file(&u->file, inode, &u->tmp[0]);
}

// The file of the mapping at vma in u->file, and its struct file in u->tmp[1]. 0: it has none.
static RT_INLINE u64 file_of(struct RtUw *u, u64 vma, u64 mm)
{
	u->file = (struct RtUwFile){0};
	u->tmp[1] = 0;
	if (!rt_kread8(&u->tmp[0], vma + rt_off_vm_file))
		return 0;
	if (!u->tmp[0]) { // special mappings: the vDSO is file 0
		u->file.size = !(u->map_start >> 32);
		return rt_off_vdso && rt_kread8(&u->tmp[0], mm + rt_off_vdso) && u->tmp[0] == u->map_start;
	}
	u->tmp[1] = u->tmp[0];
	return rt_kread8(&u->tmp[0], u->tmp[0] + rt_off_f_inode) && name_inode(u, u->tmp[0]);
}

// A number for a file that user space does not know, which finds it when it has come to know it (stack/read.c). 0: no room.
static RT_NOINLINE u64 number_new(struct RtUw *u)
{
	u64 h = (u->file.ino ^ u->file.mtime << 17 ^ u->file.size << 40 ^ (u64)u->file.dev << 44) * 0x9e3779b97f4a7c15ULL;
	u32 key = h >> (64 - RT_UW_NEW_BITS);

	RT_LOOP(i, RT_UW_NEW_TRIES) {
		bpf_map_update_elem(&rt_uw_news, &key, &u->file, RT_NOEXIST);
		struct RtUwFile *have = bpf_map_lookup_elem(&rt_uw_news, &key);
		if (!have)
			return 0;
		if (have->ino == u->file.ino && have->size == u->file.size && have->mtime == u->file.mtime && have->dev == u->file.dev) {
			u->obj = RT_UW_NEW | key;
			return 1;
		}
		key = (key + 1) & (RT_UW_NEW - 1);
	}
	return 0;
}

// The object of u->file. A stacked file system (overlayfs: containers) maps the file below it, whose inode that is, while /proc/PID/maps and perf's records
// name the one that was opened. Behind a file that is no such struct backing_file lies something else, which names no file that is known.
static RT_INLINE u64 known_file(struct RtUw *u)
{
	u32 *id = bpf_map_lookup_elem(&rt_uw_files, &u->file);
	if (!id && u->file.ino) {
		u->opened = u->file;
		if (rt_off_user_dentry && rt_kread8(&u->tmp[0], u->tmp[1] + rt_off_user_dentry) && rt_kread8(&u->tmp[0], u->tmp[0] + rt_off_d_inode) &&
		    name_inode(u, u->tmp[0]) && u->file.ino)
			id = bpf_map_lookup_elem(&rt_uw_files, &u->file);
		else
			u->file = u->opened;
		if (!id) {
			u->opened = u->file;
			u->opened.size = u->opened.mtime = RT_UW_ANY;
			id = bpf_map_lookup_elem(&rt_uw_files, &u->opened);
		}
	}
	if (id)
		u->obj = *id;
	return id != NULL;
}

// The mapping at pc: its struct vm_area_struct in u->tmp[0], u->map_*. 0: none there, or the tree changed under us.
static RT_INLINE u64 find_vma(struct RtUw *u, u64 mm, u64 pc)
{
	u64 type = RANGE, vma;

	if (!rt_kread8(&vma, mm + rt_off_tree + rt_off_root) || (vma & 3) != 2) // xa_is_node()
		return 0;
	for (u32 i = 0; i < LEVELS && type > LEAF; i++) {
		type = TYPE(vma);
		vma = rtg_descend(vma, pc);
	}
	if (type != LEAF || !vma || !rt_kread8(&u->map_start, vma + rt_off_vm_start) || !rt_kread8(&u->map_len, vma + rt_off_vm_end) ||
	    !rt_kread8(&u->map_off, vma + rt_off_vm_pgoff))
		return 0;
	u->map_len -= u->map_start;
	u->map_off <<= rt_page_shift;
	u->tmp[0] = vma;
	return pc - u->map_start < u->map_len;
}

// Can nobody have called from the mapping at vma? It may not be run, and is a file's, or a frame pointer in a file's code has led there. (A compiler of code made at run time may
// take the right to run from that for a moment, with its frames on the stack.)
#define VM_EXEC 4 // include/linux/mm.h
static RT_INLINE bool no_code(struct RtUw *u, u64 vma)
{
	if (!u->is_ra || !rt_off_vm_flags || !rt_kread8(&u->tmp[1], vma + rt_off_vm_flags) || u->tmp[1] & VM_EXEC)
		return false;
	return (!u->bare && u->by_fp == u->n + 1) || (rt_kread8(&u->tmp[1], vma + rt_off_vm_file) && u->tmp[1]);
}

// Sets u->map_* to the mapping at pc and u->obj to its object; 0: none that is known, u->unknown says whether it is a file's and obj is its number.
static RT_INLINE u64 ask_kernel(struct RtUw *u, u64 pc)
{
	u64 mm;

	u->unknown = 1;
	u->map_len = 0;
	u->obj = 0;
	if (!rt_uw_vmas || !rt_kread8(&u->tmp[0], u->task + rt_off_mm))
		return 0;
	u->gone = 1;
	mm = u->tmp[0];
	if (!mm)
		return 0;
	bool found = false;
	for (u32 try = 0; try < 2 && !found; try++)
		found = find_vma(u, mm, pc);
	if (!found) {
		u->map_len = 0;
		return 0;
	}
	if ((u->is_ra && u->reg[RT_R_SP] - u->map_start < u->map_len) || no_code(u, u->tmp[0])) { // the stack: no return address, as while a frame is changed for an exception
		u->map_len = 0;
		return 0;
	}
	u->unknown = 0;
	u->gone = 0;
	if (!file_of(u, u->tmp[0], mm)) // code made at run time
		return 0;
	if (!u->file.ino)
		u->map_off = 0;
	if (known_file(u))
		return u->obj != 0;
	u->unknown = 1;
	number_new(u);
	return 0;
}

// ---- both
// A number that changes when the process may have changed its mappings: its memory, how often it has called execve(2), how often its mappings were locked for
// writing. Kernels that do not count that have a new number each time. 0: there is no tree to look at. Not 0 otherwise.
static RT_INLINE u64 epoch(struct RtUw *u)
{
	u64 task = u->task, now;
	u32 seq = 0;

	if (!rt_uw_vmas)
		return 0;
	if (rt_off_mm_seq && rt_kread8(&u->tmp[0], task + rt_off_mm) && rt_kread8(&u->tmp[1], task + rt_off_exec_id) &&
	    !bpf_probe_read_kernel(&seq, 4, (void *)(u->tmp[0] + rt_off_mm_seq)))
		now = (u->tmp[0] + u->tmp[1]) * 0x9e3779b97f4a7c15ULL + seq;
	else
		now = bpf_ktime_get_ns();
	return now ? now : 1;
}

RT_NOINLINE u64 rt_uw_epoch(struct RtUw *u, struct RtUwChunk *c)
{
	u->gen = c ? c->gen : 0;
	u->epoch = epoch(u);
	u->jits = c ? c->jits : 0;
	u->jit_stale = c && c->jits ? rt_jit_stale(u, c->jits) : 0;
	if (u->jit_stale) // nothing of rt_uw_seen
		u->gen = 0;
	return 0;
}

// Why there is no object where user space had told of one: it cannot have the file's.
static RT_INLINE u32 why_lost(u32 obj)
{
	struct RtUwObj *o = obj ? bpf_map_lookup_elem(&rt_uw_obj, &obj) : NULL;
	u32 state = o ? o->state : RT_UW_PENDING;

	return state == RT_UW_DENIED ? RT_WHY_NO_PERM : state == RT_UW_UNREADABLE ? RT_WHY_UNREADABLE : RT_WHY_NEW_FILE;
}

// Without a branch
static RT_INLINE u32 is_zero(u32 v)
{
	u64 below = ((u64)v - 1) >> 63;
	RT_BARRIER(below);
	return below;
}

// What the kernel alone says of memory in no file does not hold for the next frame: user space may have told of code there.
static RT_INLINE u64 keep_file(struct RtUw *u)
{
	u64 found = !u->unknown & !is_zero(u->obj);

	if (!u->unknown && !found)
		u->map_len = 0;
	return found;
}

// Sets u->map_* and u->obj to the mapping that holds pc. c: the top of what was told of the process, NULL nothing. 0: no object there that is known:
// u->unknown and u->lost say more.
RT_NOINLINE u64 rt_uw_find(struct RtUw *u, struct RtUwChunk *c, u64 pc)
{
	struct RtUwMapping *m = told(u, c, pc);
	u64 jits = c ? c->jits : 0;
	u64 start = u->map_start, len = u->map_len, off = u->map_off;
	u32 obj = u->obj;

	if (jits != u->jits) // user space has told of another list meanwhile
		u->jit_stale = 1;
	u->lost = RT_WHY_NEW_FILE;
	u->unknown = !m;
	if (u->jit_stale & u->told & is_zero(obj & (u->made - 1))) {
		u->obj = 0;
		u->unknown = 1;
		return 0;
	}
	if (!rt_uw_vmas || (m && m->checked == u->epoch))
		return obj != 0;
	if (pc >> RT_UW_PC_BITS)
		return 0;
	ask_kernel(u, pc);
	u->told = 0;
	u->unknown |= u->jit_stale & is_zero(u->obj);
	if (!m) {
		if (u->unknown && u->obj) // its file is new, or what was told of the process is not whole
			rt_uw_ask_mappings(u->tgid);
		if (!u->unknown && !u->obj) // code made at run time, a moment ago
			rt_uw_ask_records(u->tgid);
		return keep_file(u);
	}
	u32 file = obj & (u->made - 1); // what the kernel has there, as an object
	if (!u->unknown && u->obj == file && (!file || u->map_start - u->map_off == start - off)) {
		if (start - u->map_start + len <= u->map_len && u->map_start <= start) { // it lies in the kernel's, which may be longer
			m->checked = u->epoch;
			u->told = 1;
			u->map_start = start;
			u->map_len = len;
			u->map_off = off;
			u->obj = obj;
			return obj != 0;
		}
	} else if (u->unknown) {
		u->lost = why_lost(obj);
	}
	if (u->lost == RT_WHY_NEW_FILE)
		rt_uw_ask_mappings(u->tgid);
	return keep_file(u);
}

// Does mapping number `at`, told in generation u->gen, hold in this epoch? Only of processes that have more than one chunk.
RT_NOINLINE u64 rt_uw_holds(struct RtUw *u, u64 at)
{
	struct RtUwKey key = {u->tgid, at / RT_UW_CHUNK};
	struct RtUwChunk *c = bpf_map_lookup_elem(&rt_uw_maps, &key);

	return c && c->gen == u->gen && c->map[at & (RT_UW_CHUNK - 1)].checked == u->epoch;
}

// A program begins (rawtracepoint:sched_process_exec): user space is woken if it does not know its file (track/pace.c). 0.
RT_NOINLINE u64 rt_uw_program(u64 bprm)
{
	struct RtUwFile file = {0};
	struct RtProcNew ev = {{RT_EV_RECORDS, 0}, 0};
	u64 at = 0, sb = 0;

	if (!rt_off_bprm_file || !rt_kread8(&at, bprm + rt_off_bprm_file) || !rt_kread8(&at, at + rt_off_f_inode) || !name_file(&file, at, &sb) ||
	    bpf_map_lookup_elem(&rt_uw_files, &file))
		return 0;
	file.size = file.mtime = RT_UW_ANY;
	if (!bpf_map_lookup_elem(&rt_uw_files, &file))
		bpf_ringbuf_output(&rt_uw_events, &ev, sizeof(ev), 0);
	return 0;
}
