// The unwind table of a file against readelf's: every row of libc, libcrypto, python3, node, and some shapes made by hand.
#include "t.h"
#include "unwind/internal.h"
#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <glob.h>

// ---- readelf --debug-dump=frames-interp: for each FDE a header "LOC CFA rbx rbp ... ra" and a line for each row
enum { MAX_COLS = 40 };
struct Interp {
	struct UwTable table;
	struct RuleSet rules;
	struct ElfCfi cfi;
	int fd; // -1: closed
	// the FDE being read
	u64 start, end;
	bool cie;
	char cols[MAX_COLS][8];
	int ncols;
	u64 row_loc;
	char row[MAX_COLS][24];
	bool has_row;
	u64 checked, wrong, skipped, bad;
};

// Names by the numbers that rules have. Those of i386 are others of the same registers, but for two.
static const char *const names_64[16] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
static const char *const names_32[16] = {"eax", "edx", "ecx", "ebx", "-", "-", "ebp", "esp", "-", "-", "-", "-", "esi", "edi", "-", "-"};
static const char *const *reg_names = names_64;
static const u8 slots[RT_UW_SLOTS] = RT_SLOT_REGS;

static const struct RtUwRule *rule_at(struct Interp *t, u64 pc)
{
	for (size_t i = 0; i < t->cfi.segs.n; i++) {
		const struct CfiSeg *s = &t->cfi.segs.p[i];
		if (pc < s->vaddr || pc - s->vaddr >= s->size)
			continue;
		u64 off = pc - s->vaddr + s->off, lo = 0, hi = t->table.rows.n;
		while (lo < hi) {
			u64 mid = (lo + hi) / 2;
			if (UW_ROW_OFF(t->table.rows.p[mid]) <= off)
				lo = mid + 1;
			else
				hi = mid;
		}
		return &t->rules.v.p[lo ? UW_ROW_RULE(t->table.rows.p[lo - 1]) : 0];
	}
	return NULL;
}

static const char *cell(struct Interp *t, const char *col)
{
	for (int i = 0; i < t->ncols; i++)
		if (!strcmp(t->cols[i], col))
			return t->row[i];
	return "u";
}

// A register that readelf gives by its DWARF number, as rules have it.
static int numbered(const char *digits)
{
	static const u8 i386[8] = {0, 2, 1, 3, 7, 6, 12, 13};
	int n = atoi(digits);
	return reg_names == names_32 ? i386[n & 7] : n;
}

// "c-16" -> -16
static bool cfa_offset(const char *c, s64 *out)
{
	if (c[0] != 'c')
		return false;
	*out = strtoll(c + 1, NULL, 10);
	return true;
}

static bool same_cfa(const struct RtUwRule *r, const char *cfa)
{
	if (!strcmp(cfa, "exp"))
		return r->kind == RT_UW_PLT || r->kind == RT_UW_DEREF || r->kind == RT_UW_SIG || r->kind == RT_UW_REG || r->kind == RT_UW_BAD;
	if (r->kind != RT_UW_REG || r->reg >= 16)
		return false;
	char want[32];
	snprintf(want, sizeof(want), "%s%+d", reg_names[r->reg], r->off);
	return !strcmp(want, cfa);
}

// A row of readelf against ours at the same place. "u" stands for undefined and for "not mentioned"; "exp" is checked by its own tests.
static bool same_row(struct Interp *t, const struct RtUwRule *r)
{
	s64 off;
	if (r->kind == RT_UW_END)
		return !strcmp(cell(t, "ra"), "u");
	if (!same_cfa(r, cell(t, "CFA")))
		return false;
	if (r->kind == RT_UW_SIG)
		return !strcmp(cell(t, "ra"), "exp");
	if (r->kind == RT_UW_BAD)
		return true;
	if (cfa_offset(cell(t, "ra"), &off) ? r->ra_kind != RT_UW_RA_MEM || r->ra != off : r->ra_kind == RT_UW_RA_MEM)
		return false;
	const char *sp = cell(t, reg_names[RT_R_SP]);
	if (cfa_offset(sp, &off) ? r->sp_kind != RT_UW_SP_MEM || r->sp != off : sp[0] == 'r' ? r->sp_kind != RT_UW_SP_REG || r->sp != numbered(sp + 1) : r->sp_kind)
		return false;
	for (u32 s = 0; s < RT_UW_SLOTS; s++) {
		const char *c = cell(t, reg_names[slots[s]]);
		bool saved = r->saved >> s & 1;
		if (cfa_offset(c, &off) ? !saved || r->slot[s] != off || r->fprel >> s & 1 : !strcmp(c, "exp") ? !saved && !(r->lost >> s & 1) : saved)
			return false;
	}
	return true;
}

static void check_row(struct Interp *t)
{
	if (!t->has_row || t->cie || t->row_loc >= t->end)
		return;
	t->has_row = false;
	const struct RtUwRule *r = rule_at(t, t->row_loc);
	if (!r) { // code of a discarded section
		t->skipped++;
		return;
	}
	t->checked++;
	t->bad += r->kind == RT_UW_BAD;
	if (same_row(t, r) || t->wrong++ > 5)
		return;
	printf("# %llx: kind %u reg %u off %d ra %d/%d saved %x slots %d %d %d %d %d %d; readelf:", (unsigned long long)t->row_loc, r->kind, r->reg, r->off,
	       r->ra_kind, r->ra, r->saved, r->slot[0], r->slot[1], r->slot[2], r->slot[3], r->slot[4], r->slot[5]);
	for (int i = 0; i < t->ncols; i++)
		printf(" %s=%s", t->cols[i], t->row[i]);
	printf("\n");
}

// Two rows at one place: the later one holds, so a row is checked when the next one is elsewhere.
static void on_line(struct Interp *t, char *line)
{
	char *p = strstr(line, "pc=");
	if (p && (strstr(line, " FDE ") || strstr(line, "FDE cie="))) {
		check_row(t);
		t->start = strtoull(p + 3, &p, 16);
		t->end = strtoull(p + 2, NULL, 16);
		t->cie = false;
		t->has_row = false;
		return;
	}
	if (strstr(line, " CIE")) {
		check_row(t);
		t->cie = true;
		t->has_row = false;
		return;
	}
	while (*line == ' ')
		line++;
	if (!strncmp(line, "LOC ", 4)) {
		t->ncols = 0;
		for (char *w = strtok(line + 4, " \n"); w && t->ncols < MAX_COLS; w = strtok(NULL, " \n"))
			snprintf(t->cols[t->ncols++], sizeof(t->cols[0]), "%s", w);
		return;
	}
	u32 digits = t->cfi.machine == EM_386 ? 8 : 16;
	if (t->cie || !isxdigit((unsigned char)*line) || strlen(line) < digits + 2)
		return;
	u64 loc = strtoull(line, &p, 16);
	if (p != line + digits || *p != ' ' || strstr(p, "ZERO terminator"))
		return;
	if (t->has_row && loc != t->row_loc)
		check_row(t);
	t->row_loc = loc;
	t->has_row = true;
	int n = 0;
	for (char *w = strtok(p, " \n"); w && n < MAX_COLS; w = strtok(NULL, " \n"))
		if (*w != '(') // "r9 (r9)": in register 9, by name
			snprintf(t->row[n++], sizeof(t->row[0]), "%s", w);
	for (; n < MAX_COLS; n++)
		strcpy(t->row[n], "u");
}

// code: also what has no entries, whose instructions are read
static bool load_with(struct Interp *t, const char *path, bool code)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	memset(t, 0, sizeof(*t));
	t->fd = -1;
	ruleset_init(&t->rules, RT_UW_RULES);
	if (fd < 0)
		return false;
	struct err *e = elfcfi_read(fd, &t->cfi);
	if (code)
		t->fd = fd;
	else
		close(fd);
	if (e) {
		err_free(e);
		return false;
	}
	uwtable_build(&t->cfi, &t->rules, &t->table, NULL);
	reg_names = t->cfi.machine == EM_386 ? names_32 : names_64;
	return true;
}

static bool load(struct Interp *t, const char *path)
{
	return load_with(t, path, false);
}

static void unload(struct Interp *t)
{
	if (t->fd >= 0)
		close(t->fd);
	uwtable_deinit(&t->table);
	ruleset_deinit(&t->rules);
	elfcfi_deinit(&t->cfi);
}

static void compare(const char *path)
{
	struct Interp t;
	char cmd[512], *line = NULL;
	size_t cap = 0;

	if (access(path, R_OK))
		SKIP("no such file");
	if (system("command -v readelf >/dev/null"))
		SKIP("no readelf");
	CHECK(load(&t, path));
	snprintf(cmd, sizeof(cmd), "readelf --debug-dump=frames-interp '%s' 2>/dev/null", path);
	FILE *f = popen(cmd, "r");
	while (f && getline(&line, &cap, f) > 0)
		on_line(&t, line);
	check_row(&t);
	if (f)
		pclose(f);
	free(line);
	printf("# %s: %u FDEs, %zu rows here, %llu of readelf compared, %llu wrong, %llu the walker cannot follow\n", path, t.table.nfdes, t.table.rows.n,
	       (unsigned long long)t.checked, (unsigned long long)t.wrong, (unsigned long long)t.bad);
	CHECK(t.checked > 100);
	CHECK_EQ(t.wrong, 0);
	CHECK_EQ(t.table.nbad, 0);
	CHECK(t.bad * 5000 <= t.checked);
	unload(&t);
}

static char *found(const char *pattern)
{
	static char path[512];
	glob_t g;
	path[0] = 0;
	if (!glob(pattern, 0, NULL, &g))
		snprintf(path, sizeof(path), "%s", g.gl_pathv[0]);
	globfree(&g);
	return path;
}

TEST(libc)
{
	compare(found("/lib/*-linux-gnu/libc.so.6"));
}
TEST(libcrypto)
{
	compare(found("/usr/lib/*-linux-gnu/libcrypto.so.3"));
}
TEST(python3)
{
	compare(found("/usr/bin/python3.[0-9]*"));
}
TEST(node)
{
	const char *lib = found("/usr/lib/*-linux-gnu/libnode.so.*"); // Debian's; others have it all in the program
	compare(access(lib, R_OK) ? "/usr/bin/node" : lib);
}
TEST(libstdcxx)
{
	compare(found("/usr/lib/*-linux-gnu/libstdc++.so.6"));
}

TEST(i386_libc)
{
	compare(found("/lib32/libc.so.6"));
}
TEST(i386_libstdcxx)
{
	compare(found("/usr/lib32/libstdc++.so.6"));
}
// memmove_chk and its like: a check, then what fills the line up is run, and the function behind it.
TEST(runs_on)
{
	static const u8 check[] = {0x48, 0x39, 0xd1, 0x0f, 0x82}; // cmp %rdx,%rcx; jb
	struct Interp t;
	u32 n = 0;
	if (!load_with(&t, found("/lib/x86_64-linux-gnu/libc.so.6"), true))
		SKIP("no such file");
	for (size_t i = 0; i < t.cfi.segs.n; i++) {
		const struct CfiSeg *s = &t.cfi.segs.p[i];
		u8 *p = xmalloc(s->size);
		CHECK(elfcfi_code(&t.cfi, s, s->vaddr, p, s->size));
		for (const u8 *at = p; (at = memmem(at, s->size - (size_t)(at - p), check, sizeof(check))); at++) {
			u64 pc = s->vaddr + (u64)(at - p), behind = pc + sizeof(check) + 4;
			if (pc % 16 || behind + 16 > s->vaddr + s->size || at[9] != 0x66 || at[10] != 0x66) // a long nop
				continue;
			for (; behind % 64; behind++, n++) {
				CHECK_EQ(rule_at(&t, behind)->kind, RT_UW_REG);
				CHECK_EQ(rule_at(&t, behind)->off, 8);
			}
		}
		free(p);
	}
	CHECK(n > 0);
	printf("# %u bytes\n", n);
	unload(&t);
}

// What entries do not say: a register is on the stack while mempcpy copies (gdb's bt has a frame too many there).
TEST(i386_copying)
{
	static const u8 copy[] = {0x50, 0x89, 0xc8, 0xc1, 0xe9, 2, 0x83, 0xe0, 3, 0xf3, 0xa5, 0x89, 0xc1, 0xf3, 0xa4, 0x58};
	struct Interp t;
	u32 n = 0;
	if (!load_with(&t, "/lib32/libc.so.6", true))
		SKIP("no such file");
	for (size_t i = 0; i < t.cfi.segs.n; i++) {
		const struct CfiSeg *s = &t.cfi.segs.p[i];
		u8 *p = xmalloc(s->size);
		CHECK(elfcfi_code(&t.cfi, s, s->vaddr, p, s->size));
		for (const u8 *at = p; (at = memmem(at, s->size - (size_t)(at - p), copy, sizeof(copy))); at++, n++) {
			u64 pc = s->vaddr + (u64)(at - p);
			CHECK_EQ(rule_at(&t, pc)->off, 4);
			CHECK_EQ(rule_at(&t, pc + 1)->off, 8);
			CHECK_EQ(rule_at(&t, pc + sizeof(copy) - 1)->off, 8);
			CHECK_EQ(rule_at(&t, pc + sizeof(copy))->off, 4);
		}
		free(p);
	}
	CHECK(n > 0);
	unload(&t);
}
TEST(i386_dynamic_linker)
{
	struct Interp t;
	if (!load_with(&t, "/lib32/ld-linux.so.2", true))
		SKIP("no such file");
	CHECK_EQ(rule_at(&t, t.cfi.entry)->kind, RT_UW_END);
	CHECK_EQ(rule_at(&t, t.cfi.entry + 11)->kind, RT_UW_END); // behind its first call
	CHECK_EQ(rule_at(&t, t.cfi.entry - 8)->kind, RT_UW_NONE);
	unload(&t);
}
TEST(i386_debug_frame_and_plt)
{
	char obj[64], cmd[512];
	snprintf(obj, sizeof(obj), "/tmp/sonde-ehframe-%d-32.so", getpid());
	snprintf(cmd, sizeof(cmd), "cc -m32 -idirafter /usr/include/x86_64-linux-gnu -O2 -g -w -fno-asynchronous-unwind-tables -fno-unwind-tables -gz=zlib "
		 "-Wl,-z,lazy -o %s test/progs/frames.c 2>/dev/null", obj);
	if (system(cmd))
		SKIP("no compiler for 32-bit programs");
	struct Interp t;
	CHECK(load(&t, obj));
	CHECK(t.cfi.debug_frame.size);
	CHECK_EQ(t.cfi.machine, EM_386);
	u32 plts = 0;
	for (size_t i = 0; i < t.rules.v.n; i++)
		plts += t.rules.v.p[i].kind == RT_UW_PLT && t.rules.v.p[i].reg == 7 && t.rules.v.p[i].off == 4 && t.rules.v.p[i].off2 == 11;
	CHECK_EQ(plts, 1);
	unload(&t);
	unlink(obj);
}
// The ABI of 32-bit pointers on x86-64 is not followed, and not taken for i386.
TEST(x32_is_refused)
{
	struct ElfCfi e;
	struct {
		Elf32_Ehdr h;
		Elf32_Phdr p;
	} f = {.h = {.e_ident = "\177ELF\1\1\1", .e_machine = EM_X86_64, .e_phoff = sizeof(f.h), .e_phnum = 1, .e_phentsize = sizeof(f.p)}};
	struct err *err = elfcfi_read_mem((u8 *)&f, sizeof(f), &e);
	CHECK(err && strstr(err_text(err), "x32"));
	err_free(err);
	f.h.e_machine = EM_386;
	err = elfcfi_read_mem((u8 *)&f, sizeof(f), &e);
	CHECK(!err);
	err_free(err);
	elfcfi_deinit(&e);
}

// No .eh_frame of its own: readelf shows the rows of .debug_frame.
static void debug_frame(const char *flags)
{
	char obj[64], cmd[512];
	snprintf(obj, sizeof(obj), "/tmp/sonde-ehframe-%d.so", getpid());
	snprintf(cmd, sizeof(cmd), "command -v cc >/dev/null && cc -O2 -g -w -fno-asynchronous-unwind-tables -fno-unwind-tables -shared -fPIC -nostdlib %s -o %s -D_GNU_SOURCE -Isrc src/unwind/*.c",
		 flags, obj);
	if (system(cmd))
		SKIP("no compiler that makes .debug_frame alone");
	struct Interp t;
	CHECK(load(&t, obj));
	CHECK(!t.cfi.eh_frame.size && t.cfi.debug_frame.size);
	unload(&t);
	compare(obj);
	unlink(obj);
}
TEST(debug_frame_only)
{
	debug_frame("");
}
TEST(debug_frame_compressed)
{
	debug_frame("-gz=zlib");
}

// ---- uwtable_part(): in the pages asked for its records are those of the whole table
static const u64 *page_rows(const struct UwTable *t, u32 page, size_t *n, u32 *carry)
{
	size_t i = 0, k;
	*carry = 0;
	while (i < t->rows.n && UW_ROW_OFF(t->rows.p[i]) >> RT_UW_PAGE_BITS < page)
		*carry = UW_ROW_RULE(t->rows.p[i++]);
	for (k = i; k < t->rows.n && UW_ROW_OFF(t->rows.p[k]) >> RT_UW_PAGE_BITS == page;)
		k++;
	*n = k - i;
	return t->rows.p + i;
}

static bool is_followed(const struct UwTable *t, u32 page)
{
	for (size_t i = 0; i < t->followed.n; i++)
		if (t->followed.p[i] == page)
			return true;
	return false;
}

// Each step pages of the file are asked for at once: some beside one another, others alone.
static void parts(const char *path, u32 step)
{
	static u8 a[RT_UW_VAL_SIZE], b[RT_UW_VAL_SIZE];
	struct Interp t;
	u32 compared = 0, differ = 0;
	if (access(path, R_OK))
		SKIP("no such file");
	CHECK(load_with(&t, path, true));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	u32 last = (u32)(UW_ROW_OFF(vec_last(&t.table.rows)) >> RT_UW_PAGE_BITS);
	for (u32 first = (u32)(UW_ROW_OFF(t.table.rows.p[0]) >> RT_UW_PAGE_BITS); first <= last; first += step) {
		VEC(u32) pages = {0};
		for (u32 p = first; p < first + step && p <= last; p++)
			if ((p - first) % 4 != 2 && !is_followed(&t.table, p))
				vec_push(&pages, p);
		struct UwTable part = {0};
		struct ElfCfi few;
		struct err *e = elfcfi_read_part(fd, &few);
		CHECK(!e);
		if (pages.n)
			uwtable_part(&few, &t.rules, pages.p, (u32)pages.n, &part);
		elfcfi_deinit(&few);
		for (size_t i = 0; i < pages.n; i++) {
			size_t na, nb;
			u32 ca, cb;
			const u64 *ra = page_rows(&t.table, pages.p[i], &na, &ca), *rb = page_rows(&part, pages.p[i], &nb, &cb);
			u32 sa = uwrec_build(ra, na, ca, a), sb = uwrec_build(rb, nb, cb, b);
			compared++;
			if (sa != sb || memcmp(a, b, sa))
				differ++;
		}
		vec_deinit(&pages);
		uwtable_deinit(&part);
	}
	if (uwtable_is_large(&t.cfi)) { // the other pages
		struct UwTable begun;
		CHECK(uwtable_begin(&t.cfi, &t.rules, &begun, NULL));
		CHECK_EQ(begun.followed.n, t.table.followed.n);
		for (size_t i = 0; i < begun.followed.n; i++) {
			size_t na, nb;
			u32 ca, cb, page = begun.followed.p[i];
			const u64 *ra = page_rows(&t.table, page, &na, &ca), *rb = page_rows(&begun, page, &nb, &cb);
			u32 sa = uwrec_build(ra, na, ca, a), sb = uwrec_build(rb, nb, cb, b);
			differ += !is_followed(&t.table, page) || sa != sb || memcmp(a, b, sa);
		}
		uwtable_deinit(&begun);
	}
	close(fd);
	printf("# %s: %u pages compared, %zu known by their instructions\n", path, compared, t.table.followed.n);
	CHECK(compared > last / 4);
	CHECK_EQ(differ, 0);
	unload(&t);
}

TEST(parts_of_libcrypto)
{
	parts(found("/usr/lib/*-linux-gnu/libcrypto.so.3"), 1);
}
TEST(parts_of_python3)
{
	parts(found("/usr/bin/python3.[0-9]*"), 7);
}
TEST(parts_of_a_compiler)
{
	parts(found("/usr/lib/gcc/*-linux-gnu/*/cc1"), 16);
}
TEST(parts_of_node) // V8's builtins have no entries
{
	const char *lib = found("/usr/lib/*-linux-gnu/libnode.so.*");
	parts(access(lib, R_OK) ? "/usr/bin/node" : lib, 5);
}
TEST(parts_of_i386_libstdcxx)
{
	parts(found("/usr/lib32/libstdc++.so.6"), 3);
}
TEST(parts_without_a_sorted_table) // .eh_frame_hdr is looked at only if it is of the usual form
{
	struct Interp t;
	if (!load(&t, found("/usr/lib/*-linux-gnu/libstdc++.so.6")))
		SKIP("no such file");
	u32 page = (u32)(UW_ROW_OFF(t.table.rows.p[t.table.rows.n / 2]) >> RT_UW_PAGE_BITS);
	struct UwTable a, b;
	uwtable_part(&t.cfi, &t.rules, &page, 1, &a);
	t.cfi.eh_frame_hdr.data[0] = 2;
	uwtable_part(&t.cfi, &t.rules, &page, 1, &b);
	CHECK(a.rows.n > 100);
	CHECK(a.rows.n < t.table.rows.n / 4);
	CHECK_EQ(a.rows.n, b.rows.n);
	CHECK(a.rows.n == b.rows.n && !memcmp(a.rows.p, b.rows.p, a.rows.n * sizeof(*a.rows.p)));
	uwtable_deinit(&a);
	uwtable_deinit(&b);
	unload(&t);
}

T_MAIN()
