// Code made at run time as its maker tells of it: the JIT interface of GDB (track/gdbjit.c), jitdumps (sym/jitdump.c), the objects made of it (sym/made.c), the lists of
// mappings. Input: what test/workload/madecode.c writes, whole and damaged. The walk itself is in walk_test.c.
#include <sys/wait.h>
#include "t.h"
#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 jit # SKIP the code is of x86-64\n1..1\n");
	return 0;
}
#else
#define main madecode_main
#include "../workload/madecode.c"
#undef main
#include "sym/internal.h"
#include "track/internal.h"
#include "unwind/unwind.h"

extern char __executable_start;

static bool read_own(void *arg, u64 addr, void *buf, size_t n)
{
	(void)arg;
	memcpy(buf, (void *)addr, n);
	return true;
}
static bool read_none(void *arg, u64 addr, void *buf, size_t n)
{
	(void)arg, (void)addr, (void)buf, (void)n;
	return false;
}
static const struct JitMemory own = {read_own, NULL}, none = {read_none, NULL};

TEST(where_a_program_has_its_list)
{
	struct ElfFile f;
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY);
	CHECK(!fstat(fd, &st));
	struct err *e = elffile_open(&f, fd, NULL, (u64)st.st_size);
	CHECK(!e);
	CHECK_EQ(gdbjit_descriptor(&f), (u64)&__jit_debug_descriptor - (u64)&__executable_start);
	elffile_close(&f);
	close(fd);
	fd = open("/bin/true", O_RDONLY);
	CHECK(!fstat(fd, &st) && !elffile_open(&f, fd, NULL, (u64)st.st_size));
	CHECK_EQ(gdbjit_descriptor(&f), 0);
	elffile_close(&f);
	close(fd);
}

TEST(lists_are_read_to_an_end)
{
	struct jit_code_entry e[3] = {{&e[1], NULL, "a", 1}, {&e[2], &e[0], "b", 2}, {NULL, &e[1], "c", 3}};
	struct jit_descriptor d = {1, 1, &e[0], &e[0]};
	struct JitEntry out[8];
	u64 first, v = gdbjit_version(&own, (u64)&d, 1, &first);
	CHECK(v && first == (u64)&e[0]);
	CHECK_EQ(gdbjit_list(&own, first, out, 8), 3);
	CHECK(out[1].at == (u64)&e[1] && out[1].size == 2 && out[2].size == 3);
	d.action = 2;
	CHECK(gdbjit_version(&own, (u64)&d, 1, &first) != v);
	d.action = 1;
	e[0].size = 9; // the same place, another piece of code
	CHECK(gdbjit_version(&own, (u64)&d, 1, &first) != v);
	e[2].next = &e[0];
	CHECK_EQ(gdbjit_list(&own, (u64)&e[0], out, 8), 8);
	d.first = NULL;
	CHECK(gdbjit_version(&own, (u64)&d, 1, &first) && !first);
	CHECK_EQ(gdbjit_version(&none, (u64)&d, 1, &first), 0);
	CHECK_EQ(gdbjit_list(&none, 1, out, 8), 0);
}

static const struct RtUwRule *rule_at(const struct UwTable *t, const struct RuleSet *r, u64 off)
{
	u32 nr = 0;
	for (size_t i = 0; i < t->rows.n && UW_ROW_OFF(t->rows.p[i]) <= off; i++)
		nr = UW_ROW_RULE(t->rows.p[i]);
	return &r->v.p[nr];
}

TEST(a_file_of_the_list)
{
	static struct RuleSet rules;
	struct image m;
	struct JitElf e;
	struct UwTable t;
	fill_image(&m, 0x7f0000001120, "in", "out", 16, 1);
	CHECK(gdbjit_parse((u8 *)&m, sizeof(m), &none, &e));
	CHECK(e.cfi.segs.n == 1 && e.cfi.segs.p[0].vaddr == 0x7f0000001120 && e.cfi.segs.p[0].size == CODE);
	CHECK_EQ(e.syms.n, 2);
	CHECK_STR(e.syms.p[0].name, "in");
	CHECK_STR(e.syms.p[1].name, "out");
	CHECK(e.syms.p[1].addr == 0x7f0000001130 && e.syms.p[1].size == CODE - OUTER);
	e.cfi.segs.p[0].off = 0x120;
	ruleset_init(&rules, 512);
	CHECK(uwtable_build(&e.cfi, &rules, &t, NULL));
	static const struct {
		u32 off;
		s32 cfa;
	} want[] = {{0, 8}, {1, 16}, {6, 16}, {7, 32}, {12, 32}, {13, 16}, {14, 8}, {16, 8}, {17, 16}, {22, 16}, {23, 8}};
	for (u32 i = 0; i < ARRAY_LEN(want); i++) {
		const struct RtUwRule *r = rule_at(&t, &rules, 0x120 + want[i].off);
		CHECK(r->kind == RT_UW_REG && r->reg == 7);
		CHECK_EQ(r->off, want[i].cfa);
	}
	CHECK_EQ(rule_at(&t, &rules, 0x120 + CODE)->kind, RT_UW_NONE);
	uwtable_deinit(&t);
	ruleset_deinit(&rules);
	gdbjit_free(&e);
	fill_image(&m, 0x1000, "in", "out", 16, 0);
	CHECK(gdbjit_parse((u8 *)&m, sizeof(m), &none, &e));
	CHECK(!e.cfi.eh_frame.data && e.syms.n == 2);
	gdbjit_free(&e);
}

// LLVM's: a file still to be relocated, whose sections have the addresses they were put at; what lies there is right.
TEST(a_file_that_is_still_to_be_relocated)
{
	struct image m, loaded;
	struct JitElf e;
	struct {
		struct image m;
		Elf64_Shdr rela;
	} two;
	fill_image(&loaded, 0x2000, "in", "out", 16, 1);
	fill_image(&m, 0x2000, "in", "out", 16, 1);
	memset(&m.frame.fde, 0, sizeof(m.frame.fde));
	m.eh.e_type = ET_REL;
	m.sym[1].st_value -= 0x2000;
	m.sym[2].st_value -= 0x2000;
	m.sec[2].sh_addr = (u64)&loaded.frame;
	memcpy(&two.m, &m, sizeof(m));
	two.m.sec[5] = (Elf64_Shdr){.sh_type = SHT_RELA, .sh_info = 2, .sh_size = 24}; // in the place of the sections' names
	CHECK(!gdbjit_parse((u8 *)&two, 16, &own, &e));
	gdbjit_free(&e);
	two.m.sec[4].sh_size = 64 + sizeof(m.sections); // which are behind the symbols'
	two.m.eh.e_shstrndx = 4;
	for (u32 i = 1; i < 5; i++)
		two.m.sec[i].sh_name += 64;
	CHECK(gdbjit_parse((u8 *)&two, sizeof(two), &own, &e));
	CHECK(e.cfi.eh_frame.data && !memcmp(e.cfi.eh_frame.data, &loaded.frame, sizeof(loaded.frame)));
	CHECK(e.syms.n == 2 && e.syms.p[1].addr == 0x2000 + OUTER);
	gdbjit_free(&e);
	CHECK(gdbjit_parse((u8 *)&two, sizeof(two), &none, &e));
	CHECK(!e.cfi.eh_frame.data); // it cannot be read
	gdbjit_free(&e);
}

// ---- Erlang's form
static size_t put_module(u8 *p, u64 base, u32 size, const char *module, u32 nfuncs)
{
	memset(p, 0, 32);
	p[0] = 1;
	memcpy(p + 8, &base, 8);
	memcpy(p + 16, &nfuncs, 4);
	memcpy(p + 20, &size, 4);
	u16 len = (u16)strlen(module) + 1;
	memcpy(p + 24, &len, 2);
	memcpy(p + 26, module, len);
	return 32u + len;
}
static size_t put_func(u8 *p, u32 start, u32 end, const char *name, u32 nlines)
{
	u32 head[3] = {start, end, nlines};
	u16 len = (u16)strlen(name) + 1;
	memcpy(p, head, 12);
	memcpy(p + 12, &len, 2);
	memcpy(p + 14, name, len);
	p += 16 + len;
	for (u32 i = 0; i < nlines; i++, p += 12 + 6) {
		u32 line[2] = {start, i};
		memcpy(p, line, 8);
		memcpy(p + 8, "\6", 2);
		memcpy(p + 10, "a.erl", 6);
	}
	return 16u + len + nlines * 18;
}

static bool read_exit(void *arg, u64 addr, void *buf, size_t n)
{
	if (addr != 0x40)
		return false;
	memset(buf, 0x90, n);
	memcpy((u8 *)buf + n - 4, "\x49\x8b\x65\x58", 4); // mov 0x58(%r13),%rsp
	return true;
}

TEST(modules_of_erlang)
{
	u8 p[512];
	struct JitElf e;
	size_t n = put_module(p, 0x7f0000001000, 0x100, "lists", 3);
	n += put_func(p + n, 0, 0x20, "lists:map/2-CodeInfoPrologue", 0);
	n += put_func(p + n, 0x20, 0x80, "lists:map/2", 2);
	n += put_func(p + n, 0x80, 0x100, "lists:seq/2", 0);
	CHECK(beamjit_parse(p, n, 0, &e));
	CHECK(e.cfi.segs.n == 1 && e.cfi.segs.p[0].vaddr == 0x7f0000001000 && e.cfi.segs.p[0].size == 0x100 && !e.cfi.eh_frame.data);
	CHECK_EQ(e.syms.n, 3);
	CHECK_STR(e.syms.p[0].name, "lists:map/2");
	CHECK_STR(e.syms.p[2].name, "lists:seq/2");
	CHECK(e.syms.p[2].addr == 0x7f0000001080 && e.syms.p[2].size == 0x80);
	CHECK_EQ(e.lines.n, 2); // one without a number counts for nothing
	CHECK(e.lines.p[0].addr == 0x7f0000001020 && e.lines.p[0].line == 1 && e.lines.p[1].addr == 0x7f0000001080 && !e.lines.p[1].file);
	CHECK_STR(e.lines.p[0].file, "a.erl");
	gdbjit_free(&e);
	CHECK(beamjit_parse(p, n - 1, 0, &e)); // its last function is cut
	CHECK_EQ(e.syms.n, 2);
	gdbjit_free(&e);
	p[0] = 0; // what it says of itself
	CHECK(!beamjit_parse(p, n, 0, &e));
	gdbjit_free(&e);
	struct JitMemory m = {read_exit, NULL};
	u32 stop = 1;
	CHECK(beamjit_layout(&m, (u8[BEAMJIT_LAYOUT]){[16] = 0x40}, BEAMJIT_LAYOUT, &stop) && stop == 0x58);
	CHECK(beamjit_layout(&m, (u8[BEAMJIT_LAYOUT]){[16] = 0x41}, BEAMJIT_LAYOUT, &stop) && !stop); // it cannot be read
	CHECK(beamjit_layout(&m, (u8[BEAMJIT_LAYOUT]){[8] = 1, [16] = 0x40}, BEAMJIT_LAYOUT, &stop) && !stop); // with frame pointers
	CHECK(!beamjit_layout(&m, (u8[BEAMJIT_LAYOUT]){1}, BEAMJIT_LAYOUT, &stop)); // a module
	n = put_module(p, 0x7f0000001000, 0x100, "erts_beamasm", 2);
	n += put_func(p + n, 0, 0x40, "erts_beamasm:run_process/3", 0);
	n += put_func(p + n, 0x40, 0x60, "erts_beamasm:normal_exit/0", 0);
	CHECK(beamjit_parse(p, n, 0, &e));
	CHECK_EQ(e.rows.n, 4);
	CHECK(e.rows.p[0].off == 0x7f0000001000 && e.rows.p[0].rule.kind == RT_UW_NONE); // stacks with frame pointers
	CHECK(e.rows.p[1].off == 0x7f000000103f && e.rows.p[1].rule.kind == RT_UW_END); // the byte before: a return address leads there
	CHECK(e.rows.p[2].off == 0x7f0000001060 && e.rows.p[2].rule.kind == RT_UW_NONE);
	CHECK_STR(e.syms.p[1].name, "erts_beamasm:normal_exit/0");
	CHECK_EQ(e.syms.p[1].addr, 0x7f000000103f);
	CHECK(e.rows.p[3].off == 0x7f0000001100 && e.rows.p[3].rule.kind == RT_UW_NONE);
	gdbjit_free(&e);
#if defined(__x86_64__)
	CHECK(beamjit_parse(p, n, 0x58, &e));
	CHECK(e.rows.n == 4 && e.rows.p[0].rule.kind == RT_UW_BEAM && e.rows.p[0].rule.off == 1 && e.rows.p[0].rule.off2 == 0x58 && e.rows.p[2].rule.kind == RT_UW_BEAM);
	gdbjit_free(&e);
#endif
}

// ---- the same without a symbol
TEST(places_where_a_list_may_begin)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[3];
		u64 code[4], consts[4], data[20];
	} m = {.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(Elf64_Ehdr),
		      .e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3},
	       .code = {1}, .consts = {1}, .data = {0, 1, 0, 0, 1, 0, 5, 1ull | 1ull << 32, 0, 0, 2, 0, 0, 1, 0, 0, 7, 1, 0}};
	u64 out[JIT_HIDDEN];
	struct ElfFile f;
	m.ph[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = (u64)((u8 *)m.code - (u8 *)&m), .p_vaddr = 0x1000, .p_filesz = sizeof(m.code), .p_memsz = sizeof(m.code)};
	m.ph[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_offset = (u64)((u8 *)m.consts - (u8 *)&m), .p_vaddr = 0x2000, .p_filesz = sizeof(m.consts), .p_memsz = sizeof(m.consts)};
	m.ph[2] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = (u64)((u8 *)m.data - (u8 *)&m), .p_vaddr = 0x3000, .p_filesz = 19 * 8, .p_memsz = 0x1000};
	CHECK(!elffile_open(&f, -1, (u8 *)&m, sizeof(m)));
	CHECK_EQ(jithidden_places(&f, out), 2); // the last one is cut
	CHECK(out[0] == 0x3008 && out[1] == 0x3068);
	elffile_close(&f);
	m.ph[2].p_vaddr = 0x3004; // words lie where their addresses are multiples of 8
	CHECK(!elffile_open(&f, -1, (u8 *)&m, sizeof(m)));
	CHECK_EQ(jithidden_places(&f, out), 0);
	elffile_close(&f);
	m.ph[2].p_vaddr = 0x3000;
	m.ph[2].p_filesz = 1ull << 40;
	struct err *e = elffile_open(&f, -1, (u8 *)&m, sizeof(m));
	CHECK(e || !jithidden_places(&f, out));
	if (!e)
		elffile_close(&f);
	err_free(e);
}

struct Place { // memory of a process, of which there is no more than this
	const u8 *p;
	size_t n;
};
static bool read_place(void *arg, u64 addr, void *buf, size_t n)
{
	const struct Place *b = arg;
	if (addr < (u64)b->p || addr - (u64)b->p > b->n || n > b->n - (addr - (u64)b->p))
		return false;
	memcpy(buf, (void *)addr, n);
	return true;
}

TEST(a_list_of_erlangs_files)
{
	struct {
		struct jit_descriptor d;
		struct jit_code_entry e[3];
		u8 module[64], layout[BEAMJIT_LAYOUT];
	} m = {.d = {1, 1, NULL, &m.e[0]}, .layout = {0}};
	struct Place all = {(u8 *)&m, sizeof(m)};
	struct JitMemory mem = {read_place, &all};
	put_module(m.module, 0x7f0000001000, 0x100, "lists", 0);
	m.e[0] = (struct jit_code_entry){&m.e[1], NULL, (char *)m.module, sizeof(m.module)};
	m.e[1] = (struct jit_code_entry){&m.e[2], &m.e[0], (char *)m.module, sizeof(m.module)};
	m.e[2] = (struct jit_code_entry){NULL, &m.e[1], (char *)m.layout, sizeof(m.layout)};
	CHECK(jithidden_begins(&mem, (u64)&m.d));
	m.d.relevant = &m.e[2];
	m.d.action = 2;
	CHECK(jithidden_begins(&mem, (u64)&m.d));
#define NOT(what, as) \
	do { \
		__typeof__(what) was = what; \
		what = as; \
		CHECK(!jithidden_begins(&mem, (u64)&m.d)); \
		what = was; \
		CHECK(jithidden_begins(&mem, (u64)&m.d)); \
	} while (0)
	NOT(m.d.version, 2);
	NOT(m.d.action, 3);
	NOT(m.d.first, NULL);
	NOT(m.d.first, &m.e[1]); // another one lies before it
	NOT(m.d.first, (struct jit_code_entry *)8);
	NOT(m.e[1].prev, NULL);
	NOT(m.e[1].next, &m.e[0]); // a circle
	NOT(m.e[0].size, 31);
	NOT(m.e[0].size, 1ull << 40);
	NOT(m.e[0].file, (char *)16);
	NOT(m.e[2].size, BEAMJIT_LAYOUT + 1); // says how stacks are, but is no such file
	NOT(m.module[0], 2);
	NOT(m.module[15], 0xff); // no address
	NOT(m.module[24], 0);	 // no name
	NOT(m.module[25], 1);	 // one that is longer than the file
#undef NOT
	all.n -= 1; // cut
	CHECK(!jithidden_begins(&mem, (u64)&m.d));
	CHECK(!jithidden_begins(&none, (u64)&m.d));
}

TEST(pieces_over_what_lies_in_no_file)
{
	struct SymObject lib = {.id = 1}, made = {.id = 2};
	MapList maps = {0}, pieces = {0}, out = {0};
	vec_push(&maps, ((struct ProcMap){.start = 0x1000, .end = 0x3000, .obj = &lib}));
	vec_push(&maps, ((struct ProcMap){.start = 0x5000, .end = 0x7000}));
	maps_put(&pieces, (struct ProcMap){.start = 0x2000, .end = 0x2100, .obj = &made, .made = PROC_MADE}); // where a file lies now
	maps_put(&pieces, (struct ProcMap){.start = 0x4f00, .end = 0x5010, .file_off = 0x10, .obj = &made, .made = PROC_MADE});
	maps_put(&pieces, (struct ProcMap){.start = 0x5100, .end = 0x5200, .obj = &made, .made = PROC_MADE});
	maps_put(&pieces, (struct ProcMap){.start = 0x6ff0, .end = 0x7010, .obj = &made, .made = PROC_MADE});
	maps_put(&pieces, (struct ProcMap){.start = 0x9000, .end = 0x9010, .obj = &made, .made = PROC_MADE}); // unmapped
	maps_overlay(&maps, &pieces, &out);
	static const struct {
		u64 start, end, off;
		u32 made;
	} want[] = {{0x1000, 0x3000, 0, PROC_FILE}, {0x5000, 0x5010, 0x110, PROC_MADE}, {0x5010, 0x5100, 0, PROC_MADE_NAMES}, {0x5100, 0x5200, 0, PROC_MADE},
		    {0x5200, 0x6ff0, 0, PROC_MADE_NAMES}, {0x6ff0, 0x7000, 0, PROC_MADE}};
	CHECK_EQ(out.n, ARRAY_LEN(want));
	MapList stays = {0};
	maps_put(&pieces, (struct ProcMap){.start = 0x8000, .end = 0x9000, .obj = &made, .made = PROC_MADE_STAYS}); // may not be run now
	maps_overlay(&maps, &pieces, &stays);
	CHECK_EQ(stays.n, out.n + 1);
	CHECK(vec_last(&stays).start == 0x8000 && vec_last(&stays).obj == &made && vec_last(&stays).made == PROC_MADE);
	vec_deinit(&stays);
	for (size_t i = 0; i < MIN(out.n, ARRAY_LEN(want)); i++) {
		CHECK(out.p[i].start == want[i].start && out.p[i].end == want[i].end);
		CHECK(out.p[i].made == want[i].made && out.p[i].file_off == want[i].off);
	}
	vec_deinit(&maps);
	vec_deinit(&pieces);
	vec_deinit(&out);
}

TEST(an_object_of_code_made_at_run_time)
{
	struct Syms *s = syms_create(NULL);
	const struct MadeSym syms[] = {{0x120, 15, "made_inner"}, {0x130, 8, "_Z3outv"}};
	struct SymObject *o = sym_object_made(s, 0x138, &(struct MadeNames){syms, 2});
	CHECK(o != NULL);
	struct SymHit h = sym_object_off(s, o, 0x125);
	CHECK_STR(h.name, "made_inner");
	CHECK_EQ(h.off, 5);
	CHECK_STR(h.module, SYM_MADE);
	CHECK_STR(sym_object_off(s, o, 0x137).name, "out()");
	h = sym_object_off(s, o, 0x12f); // between them
	CHECK(!h.name || h.place);
	syms_destroy(s);
}

// A frame in code that was not known yet is an address; what is told of that code later names it, also when the process has ended. What has other code's name keeps it.
TEST(code_that_is_told_of_after_the_frame_was_taken)
{
	struct Syms *s = syms_create(NULL);
	const struct MadeSym syms[] = {{0x20, 0x20, "told_later"}};
	struct SymObject *o = sym_object_made(s, 0x40, &(struct MadeNames){syms, 1});
	struct ProcMap maps[] = {{.start = 0x10000, .end = 0x20000}, {.start = 0x30000, .end = 0x30040, .obj = o, .made = PROC_MADE_ONCE},
				 {.start = 0x40000, .end = 0x40040, .obj = o, .made = PROC_MADE_NAMES}, {.start = 0x50000, .end = 0x50040, .obj = o, .made = PROC_MADE}};
	int pid = fork();
	if (!pid)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	sym_pid_set_maps(s, pid, maps, 1);
	CHECK(!sym_pid_jit(s, pid, 0x30025).name);
	sym_pid_set_maps(s, pid, maps, ARRAY_LEN(maps));
	CHECK_STR(sym_pid_jit(s, pid, 0x30025).name, "told_later");
	CHECK_STR(sym_pid_jit(s, pid, 0x40025).name, "told_later");
	CHECK(!sym_pid_jit(s, pid, 0x10025).name && !sym_pid_jit(s, pid, 0x50025).name); // what is known of has an object: other code lay there then
	syms_destroy(s);
}

TEST(names_of_code_made_at_run_time_outlive_reports)
{
	struct Syms *s = syms_create(NULL);
	const struct MadeSym syms[] = {{0x20, 0x20, "asked_late"}};
	struct SymObject *o = sym_object_made(s, 0x40, &(struct MadeNames){syms, 1});
	CHECK(o != NULL);
	for (u32 reports = 1; reports <= 8; reports++) { // nobody maps its file
		bool waiting;
		u32 n;
		struct SymFile **v = sym_files_unused(s, NULL, 0, reports, &n, &waiting);
		CHECK(!n && !waiting);
		sym_files_close(s, v, n);
	}
	CHECK_STR(sym_object_off(s, o, 0x25).name, "asked_late");
	syms_destroy(s);
}

TEST(lines_of_code_made_at_run_time)
{
	struct Syms *s = syms_create(&(struct SymOpts){.lines = true});
	const struct MadeSym syms[] = {{0x20, 0x20, "second"}, {0x100, 0x200, "first"}};
	const struct MadeLine lines[] = {{0x104, "a.erl", 7}, {0x110, "b.hrl", 100000}, {0x111, "a.erl", 3}, {0x300, NULL, 0}, {0x24, "b.hrl", 1}, {0x40, NULL, 0}};
	static const struct {
		u64 off;
		u32 line;
		const char *file;
	} want[] = {{0x103, 0, ""}, {0x104, 7, "a.erl"}, {0x10f, 7, "a.erl"}, {0x110, 100000, "b.hrl"}, {0x111, 3, "a.erl"}, {0x2ff, 3, "a.erl"}, {0x23, 0, ""}, {0x24, 1, "b.hrl"}, {0x3f, 1, "b.hrl"}};
	struct SymObject *o = sym_object_made(s, 0x300, &(struct MadeNames){syms, 2, ARRAY_LEN(lines), lines});
	CHECK(o != NULL);
	for (u32 i = 0; i < ARRAY_LEN(want); i++) {
		struct SymHit h = sym_object_off(s, o, want[i].off);
		CHECK_EQ(h.line, want[i].line);
		CHECK_STR(h.file ? h.file : "", want[i].file);
		CHECK_STR(h.name, want[i].off < 0x100 ? "second" : "first");
	}
	syms_destroy(s);
}

// ---- PHP
TEST(pieces_of_opcache_that_make_room)
{
	static const u8 code[64] = {0x90, 0x48, 0x81, 0xec, 0x08, 1, 0, 0, 0x90, 0xff, 0xd0, 0x48, 0x81, 0xc4, 0x10, 1, 0, 0, 0xff, 0xe0}; // behind a word that was pushed
	const struct RtUwRule by_sp = {.kind = RT_UW_REG, .reg = RT_R_SP, .off = 192, .ra = -8}, by_rbp = {.kind = RT_UW_REG, .reg = 6, .off = 16, .ra = -8};
	static const struct {
		u64 at;
		s32 off;
	} want[] = {{1, 200}, {8, 192 + 0x110}, {18, 192}};
	struct UwMade *made = xcalloc(1, sizeof(*made));
	opcache_rows(made, code, sizeof(code), &by_rbp); // which the pieces leave as it is
	CHECK_EQ(made->rows.n, 0);
	opcache_rows(made, code, sizeof(code), &by_sp);
	CHECK_EQ(made->rows.n, ARRAY_LEN(want));
	for (u32 i = 0; i < made->rows.n && i < ARRAY_LEN(want); i++) {
		CHECK_EQ(made->rows.p[i].off, want[i].at);
		CHECK_EQ(made->rows.p[i].rule.off, want[i].off);
	}
	uwmade_free(made);
}

// ---- jitdumps
static void start_dump(u32 version)
{
	u32 head[10] = {0x4A695444, version, 40, EM_X86_64};
	dump = memfd_create("dump", MFD_CLOEXEC);
	CHECK_EQ(write(dump, head, sizeof(head)), sizeof(head));
}

// Asked until it is that, for the file is not looked at each time; in the end what it is.
static const char *name_at(struct JitDump *d, u64 addr, struct SymHit *h, const char *want)
{
	static struct Map names;
	const char *name = "";
	for (u32 i = 0; i < 2000; i++) {
		*h = (struct SymHit){0};
		name = jitdump_lookup(d, &names, addr, true, h) ? h->name : "";
		if (!strcmp(name, want))
			break;
		usleep(1000);
	}
	return name;
}
TEST(dump_names_lines_and_moves)
{
	static u8 code[64];
	u64 at = (u64)code;
	struct SymHit h;
	start_dump(1);
	put_load(at, "first", 16, 1);
	struct JitDump *d = jitdump_from_fd(dump);
	CHECK_STR(name_at(d, at + 15, &h, "first"), "first");
	CHECK(h.off == 15 && h.start == at && h.size == 16 && !h.line);
	CHECK_STR(name_at(d, at + 16, &h, ""), "");
	put_lines(at + 32, at + 36, "made.src"); // what was added since
	put_load(at + 32, "second", 16, 2);
	CHECK_STR(name_at(d, at + 33, &h, "second"), "second");
	CHECK_STR(h.file, "made.src");
	CHECK_EQ(h.line, 7);
	name_at(d, at + 36, &h, "second");
	CHECK_STR(h.file, "made.src");
	CHECK_EQ(h.line, 9);
	put_move(at + 32, at + 0x1000, 16, 2);
	CHECK_STR(name_at(d, at + 0x1005, &h, "second"), "second");
	CHECK_EQ(h.line, 9);
	put_move(at + 8, at + 0x2000, 16, 1); // it never was there
	CHECK_STR(name_at(d, at + 0x2000, &h, ""), "");
	put_load(at + 8, "third", 16, 3); // over the end of the first: the later one
	CHECK_STR(name_at(d, at + 20, &h, "third"), "third");
	CHECK_STR(name_at(d, at + 12, &h, "third"), "third");
	CHECK_STR(name_at(d, at + 7, &h, "first"), "first");
	put_load(at, "fourth", 16, 4); // where the first was, whose name was asked for
	CHECK_STR(name_at(d, at, &h, "fourth"), "fourth");
	jitdump_destroy(d);
	close(dump);
}

TEST(dump_with_less_lines_than_bytes)
{
	static u8 code[64];
	u64 at = (u64)code;
	struct SymHit h;
	start_dump(1);
	off_t lines = lseek(dump, 0, SEEK_CUR);
	put_lines(at, at + 4, "made.src");
	put_load(at, "first", 16, 1);
	u64 n = 1; // of the two that are there
	CHECK_EQ(pwrite(dump, &n, sizeof(n), lines + 16 + 8), sizeof(n));
	struct JitDump *d = jitdump_from_fd(dump);
	CHECK_STR(name_at(d, at + 5, &h, "first"), "first");
	CHECK_EQ(h.line, 7);
	jitdump_destroy(d);
	close(dump);
}

TEST(dump_written_anew)
{
	static u8 code[64];
	u64 at = (u64)code, later = 77;
	struct SymHit h;
	start_dump(1);
	put_load(at, "first", 16, 1);
	put_load(at + 16, "second", 16, 2);
	struct JitDump *d = jitdump_from_fd(dump);
	CHECK_STR(name_at(d, at, &h, "first"), "first");
	CHECK_EQ(pwrite(dump, &later, sizeof(later), 24), sizeof(later)); // the head's time: longer than it was
	CHECK_EQ(lseek(dump, 40, SEEK_SET), 40);
	put_load(at + 32, "third", 16, 1);
	put_load(at, "fourth", 16, 2);
	put_load(at + 48, "fifth", 16, 3);
	CHECK_STR(name_at(d, at, &h, "fourth"), "fourth");
	CHECK_STR(name_at(d, at + 48, &h, "fifth"), "fifth");
	CHECK_STR(name_at(d, at + 16, &h, ""), "");
	CHECK_EQ(jitdump_read(d), 5); // those that were have their numbers
	CHECK(jitdump_code(d, 0)->end == 0 && jitdump_code(d, 3)->start == at);
	jitdump_destroy(d);
	close(dump);
}

TEST(dump_of_parts_and_of_nonsense)
{
	static u8 code[64];
	u64 at = (u64)code;
	struct SymHit h;
	start_dump(1);
	put_load(at, "first", 16, 1);
	off_t whole = lseek(dump, 0, SEEK_CUR);
	put_load(at + 16, "second", 16, 2);
	off_t both = lseek(dump, 0, SEEK_CUR);
	CHECK_EQ(ftruncate(dump, both - 1), 0);
	struct JitDump *d = jitdump_from_fd(dump);
	CHECK_EQ(jitdump_read(d), 1); // the second is not whole yet
	CHECK_EQ(ftruncate(dump, both), 0);
	CHECK_EQ(jitdump_read(d), 2);
	jitdump_destroy(d);
	CHECK_EQ(ftruncate(dump, whole), 0);
	lseek(dump, whole, SEEK_SET);
	put_load(at + 16, "wraps", 16, 2);
	u64 huge = ~0ull;
	CHECK_EQ(pwrite(dump, &huge, 8, whole + 16 + 24), 8); // the size of its code
	put_load(at + 32, "third", 16, 3);
	d = jitdump_from_fd(dump);
	CHECK_EQ(jitdump_read(d), 2); // without that one
	CHECK_STR(name_at(d, at + 32, &h, "third"), "third");
	jitdump_destroy(d);
	u32 tiny = 3;
	CHECK_EQ(pwrite(dump, &tiny, 4, whole + 4), 4); // a record smaller than its head: nothing after it
	d = jitdump_from_fd(dump);
	CHECK_EQ(jitdump_read(d), 1);
	put_load(at + 48, "fourth", 16, 4);
	CHECK_EQ(jitdump_read(d), 1);
	jitdump_destroy(d);
	close(dump);
	start_dump(2); // a version that nobody knows
	put_load(at, "first", 16, 1);
	d = jitdump_from_fd(dump);
	CHECK_EQ(jitdump_read(d), 0);
	jitdump_destroy(d);
	close(dump);
}

TEST(dump_of_somebody_else_is_not_read)
{
	char path[] = "/tmp/jit-4711.dump";
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	struct SymObject o = {.fd = fd, .path = path};
	struct JitDump *d = jitdump_open(&o, getpid());
	CHECK(d != NULL);
	jitdump_destroy(d);
	o.path = "/tmp/jit-4711.dumpx";
	CHECK(!jitdump_open(&o, getpid()));
	CHECK(jitdump_is_name("jit-1.dump") && jitdump_is_name("/tmp/jit-11-12.dump") && !jitdump_is_name("jit-1-.dump") && !jitdump_is_name("/a/jit-.dump") && !jitdump_is_name("/jit-1.dump/x") && !jitdump_is_name("/a/jit-1x.dump"));
	o.path = path;
	unlink(path);
	if (geteuid() || fchown(fd, 65534, 65534)) {
		close(fd);
		SKIP("not root");
	}
	CHECK(!jitdump_open(&o, getpid()));
	close(fd);
}

T_MAIN()
#endif
