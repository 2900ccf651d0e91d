// The runtime as tables: the functions of src/bpfrt with their instructions, relocations and lines, their maps and constants.
// tools/mkrt.c makes them from build/bpfrt/*.bpf.o when sonde is built.
#include "bpf/internal.h"
#include "rt_tab.h"

#ifdef RT_PACKED // 300 KB less in a small program, some milliseconds more when it starts
#include <lzma.h>

const struct BpfInsn *rt_insns(void)
{
	static const u8 xz[] = {
#include "rt_insns.xz.h"
	};
	static struct BpfInsn *insns;
	const struct RtFunc *last = &rt_funcs[rt_nfuncs - 1];
	size_t from = 0, to = 0, size = (last->insn0 + last->ninsns) * sizeof(*insns);
	u64 most = UINT64_MAX;
	if (insns)
		return insns;
	insns = xmalloc(size);
	if (lzma_stream_buffer_decode(&most, 0, NULL, xz, &from, sizeof(xz), (u8 *)insns, &to, size) != LZMA_OK || to != size)
		abort();
	return insns;
}
#else
const struct BpfInsn *rt_insns(void)
{
	static const u8 insns[] __attribute__((aligned(8))) = {
#include "rt_insns.h"
	};
	return (const struct BpfInsn *)insns;
}
#endif

// Only a program that the kernel has rejected wants them.
static const struct RtLine *rt_lines(void)
{
	static const u8 gz[] = {
#include "rt_lines.gz.h"
	};
	static const struct RtLine *lines;
	u32 size;
	if (!lines)
		lines = packed_get(&(struct Packed){gz, sizeof(gz)}, &size);
	return lines;
}

bool rt_line(const char *fn, u32 insn, const char **file, u32 *line)
{
	for (u32 i = 0; i < rt_nfuncs; i++) {
		const struct RtFunc *f = &rt_funcs[i];
		if (strcmp(f->name, fn))
			continue;
		const struct RtLine *more = rt_lines() + f->line0;
		u16 at = 0, now = 0;
		u32 k;
		*file = f->file;
		for (k = 0; k < f->nlines && (at += more[k].insn) <= insn; k++)
			*line = now += more[k].line;
		return k != 0;
	}
	return false;
}
