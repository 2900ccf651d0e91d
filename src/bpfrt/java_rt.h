// java_rt.h: reading HotSpot's structures, for java.bpf.c, javamethod.bpf.c and javaname.bpf.c. Kernel side only.
#ifndef SONDE_RT_JAVA_RT_H
#define SONDE_RT_JAVA_RT_H
#include "bpfrt/lang_rt.h"

#define JAVA_MASK16 0xffffu

static RT_INLINE u32 java_half(struct RtLangWalk *w, u32 off) // of 32 bits, at any even offset
{
	u64 word = rt_lang_word(w, off), next = rt_lang_word(w, off + 8);
	u32 shift = (off & 7) * 8;
	return shift > 32 ? word >> shift | next << (64 - shift) : word >> shift;
}

static RT_INLINE u64 java_byte(struct RtLangWalk *w, u64 addr) // into w->tmp[0]
{
	w->tmp[0] = 0;
	return !(addr >> RT_UW_PC_BITS) && !bpf_probe_read_user(&w->tmp[0], 1, (void *)addr);
}

static RT_INLINE u64 java_word(struct RtLangWalk *w, u64 addr)
{
	w->asked = addr; // kept there: what lives over the call would take more of the BPF stack than there is
	if (!(addr >> RT_UW_PC_BITS) && !bpf_probe_read_user(&w->tmp[0], 8, (void *)addr))
		return 1;
	w->unread = *(volatile u64 *)&w->asked;
	return 0;
}

// The blob at v->blob, with what lies before it, into w->obj. Not 0: it cannot be read.
static RT_INLINE u64 java_read(struct RtLangWalk *w, struct RtLang *l)
{
	return rt_lang_read(w, w->java.blob - l->java.block, w->java.len);
}

// javamethod.bpf.c: places met before
#define JAVA_NR_SHIFT RT_UW_PC_BITS // a place: pc, and above it the number of the method there, 0: the blob
RT_ONCE u64 rtp_java_keep(struct RtLangWalk *w, u64 place, u64 what);
RT_ONCE u64 rtp_java_kept(struct RtLangWalk *w, u64 place); // what is known of a place and of which blob, into w->tmp[0] and [1]
#endif
