// mem.bpf.c: reading the stack and the registers of the thread that is walked: see walk_mem.h. A part of utask.bpf.c, too.
#include "bpfrt/walk_mem.h"

RT_ONCE u64 rtp_fill(struct RtUw *u, u64 addr)
{
	return u && fill_here(u, addr);
}

RT_ONCE u64 rtp_read8(struct RtUw *u, u64 addr)
{
	if (!u || (!in_window(u, addr) && !rtp_fill(u, addr)))
		return 0;
	u->tmp[0] = window(u, addr);
	return 1;
}

RT_ONCE u64 rtp_reg_get(struct RtUw *u, u32 r)
{
	r &= RT_NREGS - 1;
	u32 bit = 1u << r;
	if (!u || !(u->valid & bit))
		return 0;
	if (u->saved & bit) {
		u64 at = u->reg[r];
		if (bpf_probe_read_user(&u->reg[r], 8, (void *)at)) {
			u->unread = at;
			u->valid &= ~bit;
			return 0;
		}
		u->saved &= ~bit;
	}
	u->tmp[1] = u->reg[r];
	return 1;
}
