// The runtime as tables: the functions of src/bpfrt with their instructions, relocations and lines, their maps and constants.
// tools/mkrt.c makes them from build/bpfrt/*.bpf.o when sonde is built.
#include "bpf/internal.h"
#include "rt_tab.h"

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
