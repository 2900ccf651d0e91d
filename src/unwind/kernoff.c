// Where the running kernel keeps what the walker follows: offsets from its BTF into the runtime's constants. Input: /sys/kernel/btf/vmlinux.
// Invariant: a field that is not found leaves its constant 0, and the walker does without it.
#include <bpf/btf.h>
#include <unistd.h>
#include "unwind/internal.h"

struct Want {
	const char *rec, *field, *constant; // field "a.b": b in the record a is made of
};
static const struct Want wants[] = {
	{"task_struct", "stack", "rt_off_task_stack"},
	{"task_struct", "utask", "rt_off_utask"},
	{"task_struct", "mm", "rt_off_mm"},
	{"mm_struct", "uprobes_state.xol_area", "rt_off_xol"},
	{"xol_area", "vaddr", "rt_off_xol_vaddr"},
	{"uprobe_task", "return_instances", "rt_off_ri"},
	{"return_instance", "stack", "rt_off_ri_stack"},
	{"return_instance", "orig_ret_vaddr", "rt_off_ri_orig"},
	{"return_instance", "next", "rt_off_ri_next"},
	// from here on: for the walk of a process's mappings (bpfrt/vma.bpf.c), all or none
#define VMAS 9
#define SLOTS (VMAS + 4)
#define NOT_NEEDED 3
	{"task_struct", "self_exec_id", "rt_off_exec_id"},
	{"mm_struct", "mm_mt", "rt_off_tree"},
	{"maple_tree", "ma_root", "rt_off_root"},
	{"maple_range_64", "pivot", "rt_off_pivots"},
	{"maple_range_64", "slot", "rt_off_slots"},
	{"maple_arange_64", "slot", "rt_off_aslots"},
	{"vm_area_struct", "vm_start", "rt_off_vm_start"},
	{"vm_area_struct", "vm_end", "rt_off_vm_end"},
	{"vm_area_struct", "vm_pgoff", "rt_off_vm_pgoff"},
	{"vm_area_struct", "vm_file", "rt_off_vm_file"},
	{"file", "f_inode", "rt_off_f_inode"},
	{"inode", "i_ino", "rt_off_i_ino"},
	{"inode", "i_size", "rt_off_i_size"},
	{"inode", "i_sb", "rt_off_i_sb"},
	{"super_block", "s_dev", "rt_off_s_dev"},
	// ... but for these: without them the vDSO of a new process is not known at once, nor files of overlayfs
	{"backing_file", "user_path.dentry", "rt_off_user_dentry"},
	{"dentry", "d_inode", "rt_off_d_inode"},
	{"mm_struct", "context.vdso", "rt_off_vdso"},
};

// Offset in bytes of a member, through anonymous structs and unions; -1 if there is none. n: length of the first part of name.
static s64 member(const struct btf *btf, const struct btf_type *t, const char *name, int depth)
{
	size_t n = strcspn(name, ".");
	const struct btf_member *m = btf_members(t);

	for (u32 i = 0; depth < 16 && i < btf_vlen(t); i++, m++) {
		const char *mn = btf__name_by_offset(btf, m->name_off);
		s64 at = btf_member_bit_offset(t, i) / 8, in;
		if (!mn)
			continue;
		bool here = !strncmp(mn, name, n) && !mn[n];
		if (here && !name[n])
			return at;
		if (*mn && !here)
			continue;
		int id = btf__resolve_type(btf, m->type);
		const struct btf_type *mt = id >= 0 ? btf__type_by_id(btf, (u32)id) : NULL;
		if (!mt || !btf_is_composite(mt))
			continue;
		in = member(btf, mt, here ? name + n + 1 : name, depth + 1);
		if (in >= 0)
			return at + in;
	}
	return -1;
}

static void set(struct Program *prog, const char *constant, s64 v)
{
	u32 w = (u32)v;
	if (v >= 0)
		link_set_const(prog, constant, &w, sizeof(w));
}

void kernoff_set(struct Program *prog)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return;
	u32 vmas = 1, shift = (u32)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	s64 off[ARRAY_LEN(wants)];
	for (u32 i = 0; i < ARRAY_LEN(wants); i++)
		off[i] = -1;
	bool seen[ARRAY_LEN(wants)] = {false}; // modules of old kernels repeat names: the first counts
	for (u32 id = 1, n = btf__type_cnt(btf); id < n; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		if (!btf_is_composite(t) || !btf_vlen(t))
			continue;
		const char *name = btf__name_by_offset(btf, t->name_off);
		if (!strcmp(name, "thread_union"))
			set(prog, "rt_thread_size", t->size);
		for (u32 i = 0; i < ARRAY_LEN(wants); i++) {
			if (seen[i] || name[0] != wants[i].rec[0] || strcmp(name, wants[i].rec))
				continue;
			seen[i] = true;
			off[i] = member(btf, t, wants[i].field, 0);
			set(prog, wants[i].constant, off[i]);
		}
	}
	for (u32 i = VMAS; i + NOT_NEEDED < ARRAY_LEN(wants); i++)
		vmas &= off[i] >= 0;
	vmas &= off[SLOTS] - off[SLOTS - 1] == 15 * 8 && off[SLOTS + 1] - off[SLOTS - 1] == 9 * 8; // vma.bpf.c: PIVOTS
	link_set_const(prog, "rt_uw_vmas", &vmas, sizeof(vmas));
	link_set_const(prog, "rt_page_shift", &shift, sizeof(shift));
	btf__free(btf);
}
