// Go, whose frames are native ones: where a program keeps the table by which lang_func finds the function around an address. Input: ELF files. Output: a row
// of rt_langs. Invariant: the table was checked as gotab_open() checks it.
#include "elf/elf.h"
#include "runtime/runtime.h"

bool runtime_go_file(struct ElfFile *f, struct RtLang *out)
{
	struct GoTab t;
	struct GoFunc first, last;

	if (!elffile_is_go(f) || !gotab_open(f, &t))
		return false;
	memset(out, 0, sizeof(*out));
	out->kind = RT_LANG_GO;
	out->root = runtime_place(f, t.vaddr + t.funcs);
	out->go.wide = t.form == GO_1_16;
	out->go.text = runtime_place(f, t.text);
	out->go.nfuncs = t.nfuncs;
	bool ok = t.nfuncs && gotab_func(&t, 0, &first) && gotab_func(&t, t.nfuncs - 1, &last);
	if (ok) { // the same object may hold functions in C
		out->loop = runtime_place(f, first.entry);
		out->loop_end = runtime_place(f, last.end);
	}
	gotab_close(&t);
	return ok;
}
