// The runtime as tables: the functions of src/bpfrt with their instructions, relocations and lines, their maps and constants.
// tools/mkrt.c makes them from build/bpfrt/*.bpf.o when sonde is built.
#include "bpf/internal.h"
#include "rt_tab.h"

#ifdef RT_PACKED // 150 KB less in a small program, a millisecond more when it starts
const struct BpfInsn *rt_insns(void)
{
	static const u8 gz[] = {
#include "rt_insns.gz.h"
	};
	static struct BpfInsn *insns;
	u32 size;
	if (!insns)
		insns = packed_get(&(struct Packed){gz, sizeof(gz)}, &size);
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

bool rt_line(const char *fn, u32 insn, const char **file, u32 *line)
{
	for (u32 i = 0; i < rt_nfuncs; i++) {
		const struct RtFunc *f = &rt_funcs[i];
		if (strcmp(f->name, fn))
			continue;
		bool found = false;
		*file = f->file;
		for (u32 k = 0; k < f->nlines && rt_lines[f->line0 + k].insn <= insn; k++) {
			*line = rt_lines[f->line0 + k].line;
			found = true;
		}
		return found;
	}
	return false;
}
