// uprobe.bpf.c: what uprobes, ours or others', do to a thread: return addresses replaced by that of the uretprobe trampoline, and instructions that are
// executed elsewhere, in the page "[uprobes]" (kernel/events/uprobes.c: xol_area; slot 0 holds the trampoline). Input: the thread's struct uprobe_task.
// Output: the walker's pc and stack pointer as they would be without probes.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

RT_CONST_EXTERN(u32, rt_off_mm);
// From BTF, 0 when unknown
RT_CONST(u32, rt_off_utask, 0);	      // task_struct.utask
RT_CONST(u32, rt_off_xol, 0);	      // mm_struct.uprobes_state.xol_area
RT_CONST(u32, rt_off_xol_vaddr, 0);   // xol_area.vaddr
RT_CONST(u32, rt_off_ri, 0);	      // uprobe_task.return_instances
RT_CONST(u32, rt_off_ri_stack, 0);    // return_instance.stack
RT_CONST(u32, rt_off_ri_orig, 0);     // return_instance.orig_ret_vaddr
RT_CONST(u32, rt_off_ri_next, 0);     // return_instance.next
RT_CONST(u32, rt_off_step_vaddr, 0);  // uprobe_task.vaddr: of the instruction that is executed elsewhere
RT_CONST(u32, rt_off_step_at, 0);     // uprobe_task.xol_vaddr: where

#define RT_UW_RIS 64 // MAX_URETPROBE_DEPTH
#define MAX_INSN 16

// The pending uretprobe, from struct return_instance ri on, whose return address was in `slot` or up to `more` bytes above it; 0: none. A global function
// (btfgen.c: by its name): verified once.
#ifndef RT_UW_TASK
RT_NOINLINE u64 rtg_find_instance(u64 ri, u64 slot, u64 more)
{
	u64 at;

	RT_LOOP(i, RT_UW_RIS) {
		if (!ri || bpf_probe_read_kernel(&at, 8, (void *)(ri + rt_off_ri_stack)))
			break;
		if (at - slot <= more)
			return ri;
		if (bpf_probe_read_kernel(&ri, 8, (void *)(ri + rt_off_ri_next)))
			break;
	}
	return 0;
}
#endif

// The same of the thread: u->tmp[1] is the true return address, u->tmp[0] the slot.
static RT_NOINLINE u64 find_instance(struct RtUw *u, u64 slot, u64 more)
{
	u64 ri = rtg_find_instance(u->ri, slot, more);

	return ri && !bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(ri + rt_off_ri_stack)) &&
	       !bpf_probe_read_kernel(&u->tmp[1], 8, (void *)(ri + rt_off_ri_orig));
}

// A return address equal to the trampoline of a pending uretprobe: the true one is kept by the kernel, under the address of the stack slot it
// was taken from (x86) or the stack pointer at function entry (arm64, riscv64): u->ra_slot.
RT_NOINLINE u64 rt_uw_original_return(struct RtUw *u)
{
	if (!find_instance(u, u->ra_slot, 0))
		return rt_uw_stop(u, RT_WHY_URETPROBE);
	u->pc = u->tmp[1];
	return u->pc >> RT_UW_PC_BITS ? rt_uw_stop(u, RT_WHY_BAD_CFA) : 0;
}

// The thread is in the trampoline, at its byte `off`: the probed function has returned, its caller has not gone on. On x86-64 the code pushes up to three
// registers around a system call, which puts the true address on the stack (Linux 6.11: arch/x86/kernel/uprobes.c, uretprobe_trampoline_entry).
static RT_NOINLINE u64 leave_trampoline(struct RtUw *u, u64 off)
{
	u64 sp = u->reg[RT_R_SP];

#if RT_IS_ARM64 || RT_IS_RISCV64
	if (!find_instance(u, sp, 0))
		return 0;
#else
	if (u->compat) { // a breakpoint and nothing else
		if (!find_instance(u, sp - 4, 0))
			return 0;
	} else if (!find_instance(u, sp - 8, 24)) { // behind the system call: pop %r11, pop %rcx, ret
		u64 slot = sp + (off <= 13 ? 16 : off <= 15 ? 8 : 0);
		if (bpf_probe_read_user(&u->tmp[1], 8, (void *)slot))
			return 0;
		u->tmp[0] = slot;
	}
	u->reg[RT_R_SP] = u->tmp[0] + (u->compat ? 4 : 8);
#endif
	if (u->tmp[1] >> RT_UW_PC_BITS)
		return 0;
	u->pc = u->tmp[1];
	u->is_ra = 1;
	u->leaf = 0;
	return 0;
}

#if RT_IS_X86
// Between a breakpoint and the kernel's handling of it pc is the byte behind the breakpoint, within the instruction that stands there in truth or behind
// it if it has one byte: push of rbp or rbx, which has not been executed when the register is not on the stack.
static RT_NOINLINE u64 before_breakpoint(struct RtUw *u)
{
	u64 word = u->compat ? 0xffffffff : ~0ULL;

	if (bpf_probe_read_user(&u->tmp[0], 8, (void *)(u->pc - 1)) || (u->tmp[0] & 0xff) != 0xcc)
		return 0;
	if (!bpf_probe_read_user(&u->tmp[1], 8, (void *)u->reg[RT_R_SP]) &&
	    ((u->tmp[1] & word) == u->reg[RT_R_FP] || (u->tmp[1] & word) == u->reg[3]))
		return 0;
	u->pc -= 1;
	return 1;
}
#endif

RT_NOINLINE u64 rt_uw_uprobes(struct RtUw *u)
{
	u64 utask, page, off;

	u->tramp = 0;
	u->ri = 0;
	if (!rt_off_utask || !rt_off_xol || !rt_off_ri_orig)
		return 0;
	if (bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(u->task + rt_off_utask)) || !u->tmp[0])
		return 0;
	utask = u->tmp[0];
	if (bpf_probe_read_kernel(&u->ri, 8, (void *)(utask + rt_off_ri)))
		u->ri = 0;
	if (bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(u->task + rt_off_mm)) || !u->tmp[0])
		return 0;
	if (bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(u->tmp[0] + rt_off_xol)) || !u->tmp[0])
		return 0;
	if (bpf_probe_read_kernel(&u->tmp[1], 8, (void *)(u->tmp[0] + rt_off_xol_vaddr)))
		return 0;
	page = u->tmp[1];
	u->tramp = STRIP(page);
	off = u->pc - page;
	if (off >= RT_UW_PAGE) {
#if RT_IS_X86
		if (u->trap)
			before_breakpoint(u);
#endif
		return 0;
	}
	if (rt_off_step_at && !bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(utask + rt_off_step_at)) && u->pc - u->tmp[0] < MAX_INSN) {
		off = u->pc - u->tmp[0];
		if (!bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(utask + rt_off_step_vaddr)))
			u->pc = u->tmp[0] + off;
		return 0;
	}
	return leave_trampoline(u, off);
}
