// jit.bpf.c: code made at run time, of which its maker tells by the JIT interface of GDB (docs/jit.md): is what user space has read of it (track/jits.c) still so?
// Input: rt_jits; the head of the process's list; the version that the mappings at hand were made of. Output: yes, or a question to user space.
// Invariant: rows of such code are used only while its list is as it was when they were read: rows and version
// are told in one (struct RtUwChunk), since a list may come to be again what it was before. Memory that is used again for the same list with other code in
// it (same place, same sizes) is not told apart; user space looks again at each new mapping of code.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

RT_MAP(rt_jits, RT_MAP_HASH, 4, sizeof(struct RtJit), RT_JITS_MAX, 0);
RT_MAP_EXTERN(rt_uw_events);

// n words at `at` into u->win, which nothing has filled yet, and into the hash. 0: they cannot be read.
static RT_INLINE u64 mix_words(struct RtUw *u, u64 at, u32 n, u64 h)
{
	if (bpf_probe_read_user(u->win, n * 8, (void *)at))
		return 0;
	RT_UNROLL
	for (u32 i = 0; i < n; i++)
		h = RT_JIT_MIX(h, u->win[i]);
	return h | 1;
}

static RT_NOINLINE u64 list_version(struct RtUw *u, u64 at, u64 h)
{
	h = mix_words(u, at, RT_JIT_HEAD / 8, h);
	return h && u->win[2] ? mix_words(u, u->win[2], RT_JIT_ENTRY / 8, h) : h;
}

RT_NOINLINE u64 rt_jit_ask(u32 tgid)
{
	struct RtProcNew ev = {{RT_EV_JIT, 0}, tgid};
	return bpf_ringbuf_output(&rt_uw_events, &ev, sizeof(ev), 0) == 0;
}

RT_NOINLINE u64 rt_jit_stale(struct RtUw *u, u64 version)
{
	u32 key = u->tgid;
	struct RtJit *j = bpf_map_lookup_elem(&rt_jits, &key);
	u64 now = 1;

	if (!j)
		return 1;
	if (u->task != bpf_get_current_task()) // another thread's list is not read
		return 1;
	RT_UNROLL
	for (u32 i = 0; i < RT_JIT_DESCS; i++)
		if (j->desc[i] && now)
			now = list_version(u, j->desc[i], now);
	if (now && now == version)
		return 0;
	if (j->asked != now || !now)
		j->asked = rt_jit_ask(u->tgid) ? now : 0;
	return 1;
}
