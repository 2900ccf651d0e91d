// The runtime as tables: the functions of src/bpfrt with their instructions, relocations and lines, their maps and constants.
// tools/mkrt.c makes them from build/bpfrt/*.bpf.o when sonde is built.
#include "bpf/internal.h"
#include "rt_tab.h"

#ifdef RT_PACKED // 340 KB less in a small program, some milliseconds more when it starts
#include <lzma.h>

static const void *unpacked(void **kept, const u8 *xz, size_t n, size_t size)
{
	u64 most = UINT64_MAX;
	size_t from = 0, to = 0;
	if (*kept)
		return *kept;
	*kept = xmalloc(size);
	if (lzma_stream_buffer_decode(&most, 0, NULL, xz, &from, n, *kept, &to, size) != LZMA_OK || to != size)
		abort();
	return *kept;
}

const struct BpfInsn *rt_insns(void)
{
	static const u8 xz[] = {
#include "rt_insns.xz.h"
	};
	static void *insns;
	const struct RtFunc *last = &rt_funcs[rt_nfuncs - 1];
	return unpacked(&insns, xz, sizeof(xz), (last->insn0 + last->ninsns) * sizeof(struct BpfInsn));
}

static const struct RtLine *rt_lines(void)
{
	static const u8 xz[] = {
#include "rt_lines.xz.h"
	};
	static void *lines;
	const struct RtFunc *last = &rt_funcs[rt_nfuncs - 1];
	return unpacked(&lines, xz, sizeof(xz), (last->line0 + last->nlines) * sizeof(struct RtLine));
}
#else
const struct BpfInsn *rt_insns(void)
{
	static const u8 insns[] __attribute__((aligned(8))) = {
#include "rt_insns.h"
	};
	return (const struct BpfInsn *)insns;
}

static const struct RtLine *rt_lines(void)
{
	static const u8 lines[] __attribute__((aligned(4))) = {
#include "rt_lines.h"
	};
	return (const struct RtLine *)lines;
}
#endif

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
