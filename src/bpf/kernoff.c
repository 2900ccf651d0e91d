// Where the running kernel keeps what the walker follows: offsets from its BTF into the runtime's constants. Input: /sys/kernel/btf/vmlinux.
// Invariant: a field that is not found leaves its constant 0, and the walker does without it.
#include <unistd.h>
#include "bpf/bpf.h"
#include "ctype/ctype.h"

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
	{"uprobe_task", "vaddr", "rt_off_step_vaddr"},
	{"uprobe_task", "xol_vaddr", "rt_off_step_at"},
	{"task_struct", "on_cpu", "rt_off_on_cpu"},
	{"task_struct", "nvcsw", "rt_off_nvcsw"},
	{"task_struct", "nivcsw", "rt_off_nivcsw"},
	{"task_struct", "flags", "rt_off_flags"},
	{"task_struct", "comm", "rt_off_comm"},
	{"task_struct", "group_leader", "rt_off_leader"},
	{"task_struct", "thread_pid", "rt_off_thread_pid"},
	{"pid", "level", "rt_off_pid_level"},
	{"pid", "numbers", "rt_off_pid_numbers"},
	{"task_struct", "thread.sp", "rt_off_thread_sp"},
	{"inactive_task_frame", "bp", "rt_off_frame_bp"},
	{"inactive_task_frame", "ret_addr", "rt_off_frame_ret"},
	{"task_struct", "thread.cpu_context.fp", "rt_off_cpu_fp"},
	{"task_struct", "thread.cpu_context.pc", "rt_off_cpu_pc"},
	{"task_struct", "thread.fsbase", "rt_off_tp"},
	{"task_struct", "thread.uw.tp_value", "rt_off_tp"},
	{"mm_struct", "start_code", "rt_off_start_code"},
	{"mm_struct", "end_code", "rt_off_end_code"},
	{"mm_struct", "start_stack", "rt_off_start_stack"},
	{"task_struct", "start_boottime", "rt_off_start_time"},
	{"vm_area_struct", "vm_flags", "rt_off_vm_flags"},
	{"linux_binprm", "file", "rt_off_bprm_file"},
	// from here on: for the walk of a process's mappings (bpfrt/vma.bpf.c), all or none
#define VMAS 33
#define SLOTS (VMAS + 4)
#define MTIMES 3 // of the times, one pair
#define NOT_NEEDED (4 + 2 * MTIMES)
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
	{"mm_struct", "mm_lock_seq", "rt_off_mm_seq"},
	{"inode", "i_mtime_sec", "rt_off_i_mtime"}, {"inode", "i_mtime_nsec", "rt_off_i_mtime_ns"}, // 6.11
	{"inode", "__i_mtime.tv_sec", "rt_off_i_mtime"}, {"inode", "__i_mtime.tv_nsec", "rt_off_i_mtime_ns"}, // 6.7
	{"inode", "i_mtime.tv_sec", "rt_off_i_mtime"}, {"inode", "i_mtime.tv_nsec", "rt_off_i_mtime_ns"},
};

static void set(struct Program *prog, const char *constant, s64 v)
{
	u32 w = (u32)v;
	if (v >= 0)
		link_set_const(prog, constant, &w, sizeof(w));
}

bool kernoff_set(struct Program *prog)
{
	struct BtfPlace at[ARRAY_LEN(wants) + 1] = {{"thread_union"}};
	s64 off[ARRAY_LEN(wants)];
	u32 vmas = 1, shift = (u32)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));

	for (u32 i = 0; i < ARRAY_LEN(wants); i++)
		at[i + 1] = (struct BtfPlace){wants[i].rec, wants[i].field};
	btf_places(at, ARRAY_LEN(at));
	set(prog, "rt_thread_size", at[0].off);
	for (u32 i = 0; i < ARRAY_LEN(wants); i++) {
		off[i] = at[i + 1].off;
		set(prog, wants[i].constant, off[i]);
	}
	for (u32 i = VMAS; i + NOT_NEEDED < ARRAY_LEN(wants); i++)
		vmas &= off[i] >= 0;
	u32 times = 0;
	for (u32 i = ARRAY_LEN(wants) - 2 * MTIMES; i < ARRAY_LEN(wants); i += 2)
		times |= off[i] >= 0 && off[i + 1] >= 0;
	vmas &= times & feature_has(FEAT_BPF_LOOP); // older than the tree; without it the walk is one program, and the search in the tree too much for it
	vmas &= off[SLOTS] - off[SLOTS - 1] == 15 * 8 && off[SLOTS + 1] - off[SLOTS - 1] == 9 * 8; // vma.bpf.c: PIVOTS
	link_set_const(prog, "rt_uw_vmas", &vmas, sizeof(vmas));
	link_set_const(prog, "rt_page_shift", &shift, sizeof(shift));
	return vmas;
}
