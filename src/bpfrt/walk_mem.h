// walk_mem.h: memory and registers of the thread whose stack is walked: a part of unwind.bpf.c, and with RT_UW_TASK of utask.bpf.c, which reads another
// thread's memory in place of the current one's. Input: addresses and register numbers nobody vouches for. Output: words, or 0 where there is none.
#ifndef SONDE_RT_WALK_MEM_H
#define SONDE_RT_WALK_MEM_H
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"

// A piece of the stack from addr on, into the window: of up to RT_UW_WIN bytes, that end with their page. One call of the kernel serves several frames. 0: it cannot be read.
static RT_INLINE u64 fill_here(struct RtUw *u, u64 addr)
{
	u64 n = RT_UW_PAGE - (addr & (RT_UW_PAGE - 1));

	if (n < 8)
		n = 8;
	RT_BOUND(n, RT_UW_WIN);
	u->win_at = addr;
	u->win_n = 0;
	if (bpf_probe_read_user(u->win, n, (void *)addr)) {
		u->unread = addr;
		return 0;
	}
	u->win_n = n - 7;
	return 1;
}

// mem.bpf.c. Results go through u->tmp: the verifier then has one state to follow.
RT_ONCE u64 rtp_fill(struct RtUw *u, u64 addr); // fill_here()
RT_ONCE u64 rtp_read8(struct RtUw *u, u64 addr); // the 8 bytes at addr of the stack, into u->tmp[0]
RT_ONCE u64 rtp_reg_get(struct RtUw *u, u32 r); // register r into u->tmp[1], from where an inner frame saved it if need be; 0: not known

// Are the 8 bytes at addr in the window?
static RT_INLINE bool in_window(struct RtUw *u, u64 addr)
{
	u64 off = addr - u->win_at;
	return off < u->win_n && !(off & 7);
}

static RT_INLINE u64 window(struct RtUw *u, u64 addr)
{
	u64 i = (addr - u->win_at) >> 3 & (RT_UW_WIN / 8 - 1);
	RT_BARRIER(i);
	return u->win[i];
}

// The 16 bytes at addr, into u->tmp[0] and [1].
static RT_INLINE u64 read16(struct RtUw *u, u64 addr)
{
	if (!rtp_read8(u, addr))
		return 0;
	u64 first = u->tmp[0];
	if (!rtp_read8(u, addr + 8)) // may be another piece
		return 0;
	u->tmp[1] = u->tmp[0];
	u->tmp[0] = first;
	return 1;
}
#endif
