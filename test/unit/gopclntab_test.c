// Rows of Go's code against what Go's linker says in .debug_frame, for every byte of text; and the shapes of files they come in.
#include "t.h"
#include "elf/elf.h"
#include "unwind/internal.h"
#include <elf.h>
#include <fcntl.h>

#define GO_ENV "HOME=/tmp GOCACHE=/tmp/sonde-gocache GO111MODULE=off GOFLAGS= "

static bool build(const char *out, const char *env, const char *flags, const char *dir)
{
	char cmd[512];
	snprintf(cmd, sizeof(cmd), "command -v go >/dev/null && " GO_ENV "%s go build %s -o %s ./test/workload/%s 2>&1 | sed 's/^/# /'; test -e %s",
		 env, flags, out, dir, out);
	unlink(out);
	return !system(cmd);
}

struct Table {
	struct ElfCfi cfi;
	struct RuleSet rules;
	struct UwTable t;
	size_t at; // row that holds at the place looked up last
};

// hide: without the sections, so that only .debug_frame speaks
static bool load(struct Table *t, const char *path, bool hide)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	memset(t, 0, sizeof(*t));
	ruleset_init(&t->rules, RT_UW_RULES);
	struct err *e = fd < 0 ? err_new("cannot open") : elfcfi_read(fd, &t->cfi);
	CHECK(!e);
	if (e) {
		err_free(e);
		return false;
	}
	u32 nsecs = t->cfi.file.nsecs, nsegs = t->cfi.file.nsegs;
	if (hide)
		t->cfi.file.nsecs = t->cfi.file.nsegs = 0;
	uwtable_build(&t->cfi, &t->rules, &t->t, NULL);
	t->cfi.file.nsecs = nsecs, t->cfi.file.nsegs = nsegs;
	close(fd);
	return true;
}

static void unload(struct Table *t)
{
	uwtable_deinit(&t->t);
	ruleset_deinit(&t->rules);
	elfcfi_deinit(&t->cfi);
}

static const struct RtUwRule *rule_at(struct Table *t, u64 off) // off ascends from call to call
{
	while (t->at < t->t.rows.n && UW_ROW_OFF(t->t.rows.p[t->at]) <= off)
		t->at++;
	return &t->rules.v.p[t->at ? UW_ROW_RULE(t->t.rows.p[t->at - 1]) : 0];
}

// At each row of either: the same CFA, or a rule that .debug_frame has no words for.
TEST(rows_are_those_of_debug_frame)
{
	char bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-go-%d", getpid());
	if (!build(bin, "CGO_ENABLED=0", "", "gostacks"))
		SKIP("no Go");
	struct Table go, dw;
	u64 same = 0, roots = 0, other = 0, wrong = 0, none = 0;
	CHECK(load(&go, bin, false) && load(&dw, bin, true));
	for (size_t i = 0, k = 0; i < go.t.rows.n || k < dw.t.rows.n;) {
		u64 a = i < go.t.rows.n ? UW_ROW_OFF(go.t.rows.p[i]) : ~0ull, b = k < dw.t.rows.n ? UW_ROW_OFF(dw.t.rows.p[k]) : ~0ull, off = MIN(a, b);
		i += a == off;
		k += b == off;
		const struct RtUwRule *r = rule_at(&go, off), *d = rule_at(&dw, off);
		if (d->kind == RT_UW_NONE)
			continue;
		if (r->kind == RT_UW_END)
			roots++;
		else if (r->kind == RT_UW_NONE)
			none++; // padding that .debug_frame counts to the function
		else if (r->kind != RT_UW_REG || r->reg != RT_R_SP || r->ra_kind == RT_UW_RA_EXACT)
			other++;
		else if (d->kind == RT_UW_REG && d->reg == RT_R_SP && d->off == r->off && r->ra == d->ra)
			same++;
		else if (wrong++ < 5)
			printf("# offset %llx: CFA = rsp + %d, .debug_frame: %u: r%u + %d\n", (unsigned long long)off, r->off, d->kind, d->reg, d->off);
	}
	printf("# %zu rows, .debug_frame has %zu; %llu the same, %llu wrong; "
	       "%llu of roots, %llu of switches, signals and changed stack pointers, %llu of padding\n",
	       go.t.rows.n, dw.t.rows.n, (unsigned long long)same, (unsigned long long)wrong, (unsigned long long)roots, (unsigned long long)other,
	       (unsigned long long)none);
	CHECK(same > 20000);
	CHECK_EQ(wrong, 0);
	CHECK(roots > 0 && roots < 60);
	CHECK(other > 0 && other < 400);
	unload(&go);
	unload(&dw);
	unlink(bin);
}

// Which rules the functions have that change stacks, wherever the linker has put the table. ways: from the thread's own stack to the goroutine's, two, and with
// C also back.
static void shape(const char *env, const char *flags, const char *dir, const char *section, u32 ways)
{
	char bin[64];
	snprintf(bin, sizeof(bin), "/tmp/sonde-go-%d", getpid());
	if (!build(bin, env, flags, dir))
		SKIP("no Go, or no C compiler for it");
	struct Table t;
	struct GoTab tab;
	u32 kinds[RT_UW_GO + 1] = {0}, exact = 0, curg = 0, grows = 0;
	CHECK(load(&t, bin, false));
	for (size_t i = 0; i < t.rules.v.n; i++) {
		const struct RtUwRule *r = &t.rules.v.p[i];
		kinds[r->kind]++;
		exact += r->ra_kind == RT_UW_RA_EXACT;
		curg += r->kind == RT_UW_GO && r->slot[RT_UW_GO_CURG] && r->slot[RT_UW_GO_M] && r->off < 0 && r->ra_kind == RT_UW_RA_MEM;
		grows += r->kind == RT_UW_GO && r->slot[RT_UW_GO_CURG] && !r->off2 && r->ra_kind == RT_UW_RA_GO;
	}
	CHECK(t.t.rows.n > 5000);
	CHECK(!section || elffile_section(&t.cfi.file, section));
	CHECK(kinds[RT_UW_GO] == ways && curg == 1 && grows == 1);
	CHECK(kinds[RT_UW_DEPTH] == 1 && kinds[RT_UW_SIG] >= 1 && kinds[RT_UW_END] == 1 && exact > 0);
	int fd = open(bin, O_RDONLY | O_CLOEXEC);
	struct ElfFile f;
	CHECK(!elffile_open(&f, fd, NULL, (u64)lseek(fd, 0, SEEK_END)));
	CHECK(gotab_open_places(&f, &tab) && tab.text && tab.gofunc);
	gotab_close(&tab);
	elffile_close(&f);
	close(fd);
	unload(&t);
	unlink(bin);
}
TEST(stripped)
{
	shape("CGO_ENABLED=0", "-ldflags='-s -w'", "gostacks", ".gopclntab", 2);
}
TEST(position_independent)
{
	shape("CGO_ENABLED=0", "-buildmode=pie", "gostacks", ".data.rel.ro.gopclntab", 2);
}
TEST(with_c)
{
	shape("CGO_ENABLED=1", "", "gocgo", ".gopclntab", 3);
}
TEST(with_c_position_independent) // where the table has no section of its own
{
	shape("CGO_ENABLED=1", "-buildmode=pie", "gocgo", NULL, 3);
}

// go tool nm has the symbols of .symtab: "address kind name". Those of the calling convention of assembly end in .abi0.
static bool same_name(const char *ours, char *nm)
{
	char *abi = strstr(nm, ".abi0");
	if (abi && !abi[5])
		*abi = 0;
	return !strcmp(ours, nm);
}
TEST(names_are_those_of_go_tool_nm)
{
	char bin[64], cmd[256], line[4096], name[4096], kind;
	struct ElfFile f;
	struct GoTab t;
	struct GoFunc fn;
	unsigned long long addr;
	u32 same = 0, wrong = 0;
	snprintf(bin, sizeof(bin), "/tmp/sonde-go-%d", getpid());
	if (!build(bin, "CGO_ENABLED=0", "", "gostacks"))
		SKIP("no Go");
	int fd = open(bin, O_RDONLY | O_CLOEXEC);
	CHECK(!elffile_open(&f, fd, NULL, (u64)lseek(fd, 0, SEEK_END)));
	CHECK(gotab_open_places(&f, &t));
	snprintf(cmd, sizeof(cmd), GO_ENV "go tool nm %s", bin);
	FILE *nm = popen(cmd, "r");
	while (nm && fgets(line, sizeof(line), nm)) {
		if (sscanf(line, "%llx %c %4095s", &addr, &kind, name) != 3 || (kind != 'T' && kind != 't') || strstr(name, "runtime.text") ||
		    strstr(name, "runtime.etext") || !strncmp(name, "go.", 3) || !strncmp(name, "_rt0", 4) ||
		    !strncmp(name, "type..", 6)) // which have blanks and dots of their own
			continue;
		name[strcspn(name, "[")] = 0; // type arguments, which the table leaves out
		char ours[4096] = "";
		if (gotab_find(&t, addr, &fn) && fn.entry == addr)
			snprintf(ours, sizeof(ours), "%.*s", (int)strcspn(fn.name, "["), fn.name);
		if (same_name(ours, name))
			same++;
		else if (wrong++ < 5)
			printf("# %llx: %s, nm has %s\n", addr, ours, name);
	}
	if (nm)
		pclose(nm);
	printf("# %u names the same, %u not, of %u functions\n", same, wrong, t.nfuncs);
	CHECK(same > 3000);
	CHECK_EQ(wrong, 0);
	gotab_close(&t);
	elffile_close(&f);
	close(fd);
	unlink(bin);
}

T_MAIN()
