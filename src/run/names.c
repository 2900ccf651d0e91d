// Names of numbers: GFP flags.
// In: a number. Out: text. Invariant: every bit of the flags is in the text.
#include "run/run.h"

// include/linux/gfp_types.h; the numbers are the same from 5.10 to 6.18 (bit 9 was __GFP_ATOMIC before 6.3, unused since).
enum {
	G_DMA = 1 << 0, G_HIGHMEM = 1 << 1, G_DMA32 = 1 << 2, G_MOVABLE = 1 << 3, G_RECLAIMABLE = 1 << 4, G_HIGH = 1 << 5, G_IO = 1 << 6, G_FS = 1 << 7,
	G_ZERO = 1 << 8, G_ATOMIC = 1 << 9, G_DIRECT = 1 << 10, G_KSWAPD = 1 << 11, G_WRITE = 1 << 12, G_NOWARN = 1 << 13, G_RETRY = 1 << 14,
	G_NOFAIL = 1 << 15, G_NORETRY = 1 << 16, G_MEMALLOC = 1 << 17, G_COMP = 1 << 18, G_NOMEMALLOC = 1 << 19, G_HARDWALL = 1 << 20,
	G_THISNODE = 1 << 21, G_ACCOUNT = 1 << 22, G_ZEROTAGS = 1 << 23,
	G_RECLAIM = G_DIRECT | G_KSWAPD, G_KERNEL = G_RECLAIM | G_IO | G_FS, G_USER = G_KERNEL | G_HARDWALL, G_HIGHUSER = G_USER | G_HIGHMEM,
	G_HIGHUSER_MOVABLE = G_HIGHUSER | G_MOVABLE,
	G_THP_LIGHT = (G_HIGHUSER_MOVABLE | G_COMP | G_NOMEMALLOC | G_NOWARN) & ~G_RECLAIM,
};

void gfp_flags_text(u64 flags, struct Str *out)
{
	static const struct {
		u32 bits;
		const char *name;
	} names[] = { // the larger sets first
		{G_THP_LIGHT | G_DIRECT, "GFP_TRANSHUGE"}, {G_THP_LIGHT, "GFP_TRANSHUGE_LIGHT"}, {G_HIGHUSER_MOVABLE, "GFP_HIGHUSER_MOVABLE"},
		{G_HIGHUSER, "GFP_HIGHUSER"}, {G_USER, "GFP_USER"}, {G_KERNEL | G_ACCOUNT, "GFP_KERNEL_ACCOUNT"}, {G_KERNEL, "GFP_KERNEL"},
		{G_RECLAIM | G_IO, "GFP_NOFS"}, {G_HIGH | G_KSWAPD, "GFP_ATOMIC"}, {G_RECLAIM, "GFP_NOIO"}, {G_KSWAPD, "GFP_NOWAIT"},
		{G_DMA, "GFP_DMA"}, {G_DMA32, "GFP_DMA32"},
		{G_HIGHMEM, "__GFP_HIGHMEM"}, {G_MOVABLE, "__GFP_MOVABLE"}, {G_RECLAIMABLE, "__GFP_RECLAIMABLE"}, {G_HIGH, "__GFP_HIGH"}, {G_IO, "__GFP_IO"},
		{G_FS, "__GFP_FS"}, {G_ZERO, "__GFP_ZERO"}, {G_ATOMIC, "__GFP_ATOMIC"}, {G_DIRECT, "__GFP_DIRECT_RECLAIM"}, {G_WRITE, "__GFP_WRITE"},
		{G_NOWARN, "__GFP_NOWARN"}, {G_RETRY, "__GFP_RETRY_MAYFAIL"}, {G_NOFAIL, "__GFP_NOFAIL"}, {G_NORETRY, "__GFP_NORETRY"},
		{G_MEMALLOC, "__GFP_MEMALLOC"}, {G_COMP, "__GFP_COMP"}, {G_NOMEMALLOC, "__GFP_NOMEMALLOC"}, {G_HARDWALL, "__GFP_HARDWALL"},
		{G_THISNODE, "__GFP_THISNODE"}, {G_ACCOUNT, "__GFP_ACCOUNT"}, {G_ZEROTAGS, "__GFP_ZEROTAGS"},
	};
	if (!flags) {
		str_addc(out, '0');
		return;
	}
	const char *sep = "";
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if ((flags & names[i].bits) != names[i].bits)
			continue;
		str_addf(out, "%s%s", sep, names[i].name);
		flags &= ~(u64)names[i].bits;
		sep = "|";
	}
	if (flags)
		str_addf(out, "%s0x%llx", sep, (unsigned long long)flags);
}
