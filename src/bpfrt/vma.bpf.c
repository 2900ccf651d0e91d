// vma.bpf.c: which file lies at an address of the current process. Input: what user space has told (rt_uw_maps); for a process, a program or a library
// too new for that, the kernel's own structures: task_struct.mm's tree of mappings, read without locks, since bpf_find_vma can look but once in an
// event that has interrupts off (kernel/bpf/mmap_unlock_work.h: one irq_work a CPU). Output: the walker's current mapping.
// Invariant: a torn read gives no mapping or one that does hold the address; the object comes from user space (rt_uw_maps, rt_uw_files).
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

RT_MAP(rt_uw_maps, RT_MAP_HASH, sizeof(struct RtUwKey), sizeof(struct RtUwChunk), 16384, RT_F_NO_PREALLOC);
RT_MAP(rt_uw_files, RT_MAP_HASH, sizeof(struct RtUwFile), 4, RT_UW_OBJS, RT_F_NO_PREALLOC);

RT_CONST_EXTERN(u32, rt_off_mm);
// From BTF; rt_uw_vmas says that all are known. A maple tree (6.1): include/linux/maple_tree.h.
RT_CONST(u32, rt_uw_vmas, 0);
RT_CONST(u32, rt_off_exec_id, 0); // task_struct.self_exec_id
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
RT_CONST(u32, rt_off_f_inode, 0);
RT_CONST(u32, rt_off_i_ino, 0);
RT_CONST(u32, rt_off_i_size, 0);
RT_CONST(u32, rt_off_i_sb, 0);
RT_CONST(u32, rt_off_s_dev, 0);
RT_CONST(u32, rt_off_user_dentry, 0); // backing_file.user_path.dentry (6.7); 0: there are none
RT_CONST(u32, rt_off_d_inode, 0);
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

// Sets u->map_* and u->obj to the mapping of the chunks that holds pc. 0: none, map_len and obj are 0. Mappings other than those the walk began with:
// u->gen is cleared, so that nothing is kept in rt_uw_seen.
static RT_INLINE u64 told(struct RtUw *u, struct RtUwChunk *c, u64 pc)
{
	u->map_len = 0;
	u->map_start = 0;
	u->obj = 0;
	u->told = 0;
	if (!c || pc >> RT_UW_PC_BITS)
		return 0;
	if (c->nchunks > 1) {
		struct RtUwKey key = {u->tgid, 0};
		RT_UNROLL
		for (u32 i = 1; i < RT_UW_CHUNKS; i++)
			key.chunk += (c->first[i] - pc - 1) >> 63; // 1: first <= pc, without a branch
		if (key.chunk) {
			c = bpf_map_lookup_elem(&rt_uw_maps, &key);
			if (!c)
				return 0;
		}
	}
	if (c->gen != u->gen)
		u->gen = 0;
	struct RtUwMapping *m = &c->map[chunk_search(c, pc)];
	u64 len = (u64)m->pages * RT_UW_PAGE;
	if (pc - m->start >= len)
		return 0;
	u->map_start = m->start;
	u->map_off = m->off;
	u->obj = m->obj;
	u->map_len = len;
	u->told = 1;
	return 1;
}

// ---- what the kernel knows
enum { LEAF = 1, RANGE = 2, ARANGE = 3 }; // enum maple_type
#define PIVOTS 15		// of a range node; an arange node has 9
#define ARANGE_PIVOTS 9
#define LEVELS 6 // 10^5 mappings in nodes that are half full

static RT_INLINE u64 kread8(u64 *to, u64 from)
{
	return bpf_probe_read_kernel(to, 8, (void *)from) == 0;
}

// One level down: u->tmp[0] is a node, and becomes its slot for pc. Returns the node's type, 0 when it is none of those known. A slot reaches to its
// pivot; unused pivots are 0. Without branches: one path for the verifier.
static RT_NOINLINE u64 descend(struct RtUw *u, u64 pc)
{
	u64 node = u->tmp[0] & ~255ULL, type = u->tmp[0] >> 3 & 15, slot = 0, wide = type != ARANGE;

	if (type < LEAF || type > ARANGE || bpf_probe_read_kernel(u->pivot, sizeof(u->pivot), (void *)(node + rt_off_pivots)))
		return 0;
	RT_UNROLL
	for (u32 i = 0; i < PIVOTS; i++) {
		u64 p = u->pivot[i] - 1, below = ((p - (pc - 1)) & ~p) >> 63; // 1: 0 < pivot < pc
		if (i >= ARANGE_PIVOTS)
			below &= wide;
		RT_BARRIER(below);
		slot += below;
	}
	node += slot * 8 + (wide ? rt_off_slots : rt_off_aslots);
	if (!kread8(&u->tmp[0], node))
		return 0;
	return type;
}

// What names the file of an inode, in u->file.
static RT_NOINLINE u64 name_inode(struct RtUw *u, u64 inode)
{
	return kread8(&u->file.ino, inode + rt_off_i_ino) && kread8(&u->file.size, inode + rt_off_i_size) && kread8(&u->tmp[0], inode + rt_off_i_sb) &&
	       !bpf_probe_read_kernel(&u->file.dev, 4, (void *)(u->tmp[0] + rt_off_s_dev));
}

// The file of the mapping at vma in u->file, and its struct file in u->tmp[1]. 0: it has none.
static RT_NOINLINE u64 file_of(struct RtUw *u, u64 vma, u64 mm)
{
	u->file = (struct RtUwFile){0};
	u->tmp[1] = 0;
	if (!kread8(&u->tmp[0], vma + rt_off_vm_file))
		return 0;
	if (!u->tmp[0]) // special mappings: the vDSO is file 0
		return rt_off_vdso && kread8(&u->tmp[0], mm + rt_off_vdso) && u->tmp[0] == u->map_start;
	u->tmp[1] = u->tmp[0];
	return kread8(&u->tmp[0], u->tmp[0] + rt_off_f_inode) && name_inode(u, u->tmp[0]);
}

// The object of u->file. A stacked file system (overlayfs: containers) maps the file below it, whose inode that is, while /proc/PID/maps and perf's records
// name the one that was opened. Behind a file that is no such struct backing_file lies something else, which names no file that is known.
static RT_NOINLINE u64 known_file(struct RtUw *u)
{
	u32 *id = bpf_map_lookup_elem(&rt_uw_files, &u->file);
	if (!id && rt_off_user_dentry && u->tmp[1] && kread8(&u->tmp[0], u->tmp[1] + rt_off_user_dentry) &&
	    kread8(&u->tmp[0], u->tmp[0] + rt_off_d_inode) && name_inode(u, u->tmp[0]))
		id = bpf_map_lookup_elem(&rt_uw_files, &u->file);
	if (id)
		u->obj = *id;
	return id != NULL;
}

// Sets u->map_* to the mapping at pc and u->obj to its object; obj 0: none that is known, and u->unknown says whether it is a file's.
static RT_NOINLINE u64 ask_kernel(struct RtUw *u, u64 pc)
{
	u64 mm, type = RANGE, vma;

	u->unknown = 1;
	if (!rt_uw_vmas || !kread8(&u->tmp[0], bpf_get_current_task() + rt_off_mm))
		return 0;
	u->gone = 1;
	mm = u->tmp[0];
	if (!mm)
		return 0;
	if (!kread8(&u->tmp[0], mm + rt_off_tree + rt_off_root) || (u->tmp[0] & 3) != 2) // xa_is_node()
		return 0;
	for (u32 i = 0; i < LEVELS && type > LEAF; i++)
		type = descend(u, pc);
	vma = u->tmp[0];
	if (type != LEAF || !vma || !kread8(&u->map_start, vma + rt_off_vm_start) || !kread8(&u->map_len, vma + rt_off_vm_end) ||
	    !kread8(&u->map_off, vma + rt_off_vm_pgoff)) {
		u->map_len = 0;
		return 0;
	}
	u->map_len -= u->map_start;
	u->map_off <<= rt_page_shift;
	if (pc - u->map_start >= u->map_len) {
		u->map_len = 0;
		return 0;
	}
	u->unknown = 0;
	u->gone = 0;
	if (!file_of(u, vma, mm)) // code made at run time
		return 0;
	if (!u->file.ino)
		u->map_off = 0;
	u->unknown = !known_file(u);
	return !u->unknown;
}

// A number for the program that the process runs now: its memory and how often it has called execve(2). 0: not known.
static RT_INLINE u64 image_of(struct RtUw *u)
{
	u64 task = bpf_get_current_task();

	if (!rt_uw_vmas || !kread8(&u->tmp[0], task + rt_off_mm) || !kread8(&u->tmp[1], task + rt_off_exec_id))
		return 0;
	return u->tmp[0] + u->tmp[1];
}

// ---- both
// Sets u->map_* and u->obj to the mapping that holds pc. c: the process's first chunk, NULL none. 0: no object there that is known, obj is 0.
RT_NOINLINE u64 rt_uw_find(struct RtUw *u, struct RtUwChunk *c, u64 pc)
{
	if (told(u, c, pc))
		return 1;
	return pc >> RT_UW_PC_BITS ? 0 : ask_kernel(u, pc);
}

// Are the chunks those of the program that runs now? After execve(2), or when a process number comes back, they are not until user space has heard of it:
// a stack in between must not get the old program's names. What was published anew is compared once with the mapping that the kernel has at pc.
RT_NOINLINE u64 rt_uw_check(struct RtUw *u, struct RtUwChunk *c)
{
	u64 image = image_of(u), start, off;
	u32 obj;

	if (!image || c->image == image)
		return 1;
	if (c->image || !told(u, c, u->pc))
		return 0;
	start = u->map_start, off = u->map_off, obj = u->obj;
	ask_kernel(u, u->pc);
	if (start != u->map_start || (obj && off != u->map_off) || (u->obj && obj != u->obj))
		return 0;
	c->image = image;
	return 1;
}
