// The runtime as tables: the functions of src/bpfrt with their instructions, relocations and lines, their maps and constants.
// tools/mkrt.c makes them from build/bpfrt/*.bpf.o when sonde is built.
#include "bpf/internal.h"
#include "rt_tab.h"

#ifdef RT_PACKED // 200 KB less in a small program, a millisecond more when it starts
static const void *unpacked(void **kept, const u8 *gz, size_t n)
{
	u32 size;
	if (!*kept)
		*kept = packed_get(&(struct Packed){gz, n}, &size);
	return *kept;
}

const struct BpfInsn *rt_insns(void)
{
	static const u8 gz[] = {
#include "rt_insns.gz.h"
	};
	static void *insns;
	return unpacked(&insns, gz, sizeof(gz));
}

static const struct RtLine *rt_lines(void)
{
	static const u8 gz[] = {
#include "rt_lines.gz.h"
	};
	static void *lines;
	return unpacked(&lines, gz, sizeof(gz));
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
