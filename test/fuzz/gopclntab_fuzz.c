// Input: the bytes of a .gopclntab, as a file of one section and one segment. Out of it come functions, values, places and rows: addresses ascend, texts
// end inside the table, rows are ascending and of known kinds.
#include <elf.h>
#include "elf/elf.h"
#include "unwind/internal.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_functions(struct ElfFile *f)
{
	struct GoTab t;
	struct GoFunc fn, found;
	struct GoPlace places[8];
	u64 work = 1 << 20; // values looked at: as many functions as there are may share one long table
	if (!gotab_open_places(f, &t))
		return;
	for (u32 i = 0; i < t.nfuncs && i < 4096 && work > t.size; i++) {
		if (!gotab_func(&t, i, &fn))
			continue;
		check(fn.entry < fn.end && (!fn.name[0] || (fn.name >= (char *)t.data && fn.name < (char *)t.data + t.size)));
		u32 n = gotab_places(&t, &fn, fn.entry + (fn.end - fn.entry) / 2, places, ARRAY_LEN(places));
		check(n >= 1 && n <= ARRAY_LEN(places));
		for (u32 k = 0; k < n; k++)
			check(strlen(places[k].name) <= t.size && (!places[k].file || strlen(places[k].file) <= t.size));
		if (gotab_find(&t, fn.entry, &found))
			check(found.entry <= fn.entry && fn.entry < found.end);
		work -= t.size;
	}
	gotab_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct RuleSet rules;
	struct ElfSec secs[2] = {{0}, {.addr = 0x500000, .size = size, .name = 1, .type = SHT_PROGBITS}};
	struct ElfSeg seg = {.vaddr = 0x500000, .filesz = size, .memsz = size, .type = PT_LOAD, .flags = PF_R | PF_W | PF_X};
	struct UwTable t;
	u8 *copy = xmalloc(size + 1);
	memcpy(copy, data, size);
	struct ElfCfi e = {.machine = EM_X86_64, .is_go = true};
	e.file = (struct ElfFile){.fd = -1, .mem = copy, .size = size, .is64 = true, .machine = EM_X86_64, .segs = &seg, .nsegs = 1, .secs = secs, .nsecs = 2,
				  .shstr = "\0.gopclntab", .shstr_len = 12, .secs_read = true};
	check_functions(&e.file);
	vec_push(&e.segs, ((struct CfiSeg){0x500000, size, 0}));
	ruleset_init(&rules, 512);
	uwtable_build(&e, &rules, &t, NULL);
	for (size_t i = 0; i < t.rows.n; i++) {
		check(UW_ROW_RULE(t.rows.p[i]) < MAX(rules.v.n, 1) && rules.v.p[UW_ROW_RULE(t.rows.p[i])].kind <= RT_UW_GO);
		check(!i || UW_ROW_OFF(t.rows.p[i]) > UW_ROW_OFF(t.rows.p[i - 1]));
	}
	uwtable_deinit(&t);
	ruleset_deinit(&rules);
	vec_deinit(&e.segs);
	free(copy);
	return 0;
}
