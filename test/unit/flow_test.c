// Rules found from instructions alone against those the compiler wrote: the code of files that have .eh_frame, read as if they had none.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "t.h"
#include "unwind/internal.h"

struct Score {
	u64 same, wrong, unknown; // bytes; same: CFA and return address
	u64 guess;		  // marked as such: right (these are in same too) or wrong
	u64 saved;		  // of same: the registers that the walker restores, too
	u64 aside;		  // by another register than the compiler's rule: not compared
};

static const struct RtUwRule *told(const struct UwTable *t, const struct RuleSet *rules, u64 off, size_t *at)
{
	while (*at < t->rows.n && UW_ROW_OFF(t->rows.p[*at]) <= off)
		++*at;
	return &rules->v.p[*at ? UW_ROW_RULE(t->rows.p[*at - 1]) : 0];
}

static const struct RtUwRule *found(const FlowRows *flow, u64 pc, size_t *at)
{
	while (*at < flow->n && flow->p[*at].pc <= pc)
		++*at;
	return *at ? &flow->p[*at - 1].rule : NULL;
}

// On arm64 a store of x30 may come before the compiler says so: it is still in x30, too.
static bool same_cfa(const struct RtUwRule *a, const struct RtUwRule *b)
{
	if (a->kind != b->kind || a->reg != b->reg || a->off != b->off)
		return a->kind == RT_UW_END && b->kind == RT_UW_END;
	return a->ra_kind == b->ra_kind ? a->ra == b->ra : a->ra_kind == RT_UW_RA_REG && a->ra == A64_LR;
}

static bool same_saved(const struct RtUwRule *a, const struct RtUwRule *b)
{
	return a->saved == b->saved && a->ra_kind == b->ra_kind && !memcmp(a->slot, b->slot, sizeof(a->slot));
}

// Rows by frame pointers where the compiler's are, else by the stack pointer.
static void compare(const struct CfiSeg *seg, const struct UwTable *t, const struct RuleSet *rules, const struct FlowMachine *m, const FlowRows flow[2], struct Score *s)
{
	size_t at = 0, fat[2] = {0};
	u32 sp = m->arch == PT_ARM64 ? 31 : 7, fp = m->arch == PT_ARM64 ? 29 : 6, unit = m->unit;
	for (u64 pc = seg->vaddr; pc < seg->vaddr + seg->size; pc += unit) {
		const struct RtUwRule *want = told(t, rules, pc - seg->vaddr + seg->off, &at);
		const struct RtUwRule *by_fp = found(&flow[0], pc, &fat[0]), *by_sp = found(&flow[1], pc, &fat[1]);
		const struct RtUwRule *got = want->reg == sp ? by_sp : by_fp;
		if (want->kind != RT_UW_REG || (want->reg != sp && want->reg != fp))
			continue;
		if (!got || got->kind == RT_UW_NONE) {
			if (getenv("SHOW_UNKNOWN"))
				printf("# %llx unknown\n", (unsigned long long)pc);
			s->unknown += unit;
		} else if (got->kind == RT_UW_REG && got->reg != want->reg) {
			s->aside += unit;
		} else if (same_cfa(want, got)) {
			s->same += unit;
			s->guess += (got->lost & RT_UW_GUESS) ? unit : 0;
			s->saved += same_saved(want, got) ? unit : 0;
			if (getenv("SHOW_SAVED") && !same_saved(want, got))
				printf("# %llx registers %x, not %x\n", (unsigned long long)pc, got->saved, want->saved);
		} else if (got->lost & RT_UW_GUESS) {
			s->guess += unit;
		} else {
			if (getenv("SHOW"))
				printf("# %llx is %d from the CFA (%d, %d), not %d (%d, %d)\n", (unsigned long long)pc, got->off, got->ra_kind, got->ra, want->off, want->ra_kind, want->ra);
			s->wrong += unit;
		}
	}
}

// Of the file's code all, as if there were no tables; with by_sp by the stack pointer.
static void follow(const struct ElfCfi *e, const struct CfiSeg *seg, const struct FlowMachine *m, const AddrList *starts, bool by_sp, FlowRows *out)
{
	VEC(struct FlowCode) code = {0};
	for (u32 i = 1; i < e->file.nsecs; i++) {
		const struct ElfSec *s = &e->file.secs[i];
		if (!(s->flags & SHF_EXECINSTR) || s->type == SHT_NOBITS || s->addr < seg->vaddr || s->addr - seg->vaddr >= seg->size)
			continue;
		u8 *p = xmalloc(s->size);
		CHECK(elfcfi_code(e, seg, s->addr, p, s->size));
		vec_push(&code, ((struct FlowCode){s->addr, s->size, p}));
	}
	struct FlowIn in = {.machine = m, .code = code.p, .ncode = (u32)code.n, .starts = starts->p, .nstarts = (u32)starts->n, .entry = e->entry, .file = &e->file, .by_sp = by_sp};
	out->n = 0;
	flow_rows(&in, out);
	for (size_t k = 1; k < out->n; k++)
		CHECK(out->p[k - 1].pc < out->p[k].pc);
	for (size_t i = 0; i < code.n; i++)
		free((void *)code.p[i].p);
	vec_deinit(&code);
}

struct File {
	int fd;
	struct ElfCfi e;
	struct UwTable t; // as the compiler has it
	struct RuleSet rules;
};

static bool file_open(struct File *f, const char *path)
{
	f->fd = open(path, O_RDONLY);
	if (f->fd < 0)
		return false;
	struct err *bad = elfcfi_read(f->fd, &f->e);
	CHECK(!bad);
	ruleset_init(&f->rules, 1 << 16);
	uwtable_build(&f->e, &f->rules, &f->t, NULL);
	return true;
}

static void file_close(struct File *f)
{
	uwtable_deinit(&f->t);
	ruleset_deinit(&f->rules);
	elfcfi_deinit(&f->e);
	close(f->fd);
}

static struct Score score(const char *path, bool stripped)
{
	struct Score s = {0};
	struct File f;
	AddrList starts = {0};
	FlowRows flow[2] = {0};
	if (!file_open(&f, path))
		return s;
	const struct FlowMachine *m = f.e.machine == EM_AARCH64 ? &flow_arm64 : &flow_x86;
	if (!stripped)
		elfcfi_starts(&f.e, &starts);
	for (size_t i = 0; i < f.e.segs.n; i++) {
		follow(&f.e, &f.e.segs.p[i], m, &starts, false, &flow[0]);
		follow(&f.e, &f.e.segs.p[i], m, &starts, true, &flow[1]);
		compare(&f.e.segs.p[i], &f.t, &f.rules, m, flow, &s);
	}
	printf("# %s%s: %llu bytes as the compiler says (%llu with all registers), %llu otherwise, %llu unknown; %llu guessed; %llu not compared\n", path,
	       stripped ? " without symbols" : "", (unsigned long long)s.same, (unsigned long long)s.saved, (unsigned long long)s.wrong, (unsigned long long)s.unknown,
	       (unsigned long long)s.guess, (unsigned long long)s.aside);
	vec_deinit(&flow[0]);
	vec_deinit(&flow[1]);
	vec_deinit(&starts);
	file_close(&f);
	return s;
}

// Without symbols the beginnings of functions are found from calls and from what no call reaches.
static void good(const char *path, bool stripped)
{
	struct Score s = score(path, stripped);
	if (!s.same)
		SKIP("the file is not here, or of another machine");
	CHECK(s.wrong * 100 <= s.same);
	CHECK(s.unknown * 10 <= s.same);
}

// Here the compiler's rows can be compared by each register. In libc 4,080 bytes are veneers, which nobody tells of (veneer.c).
static void good_arm64(const char *path, bool stripped)
{
	struct Score s = score(path, stripped);
	if (!s.same)
		SKIP("Debian's libraries for arm64 are not here (libc6-arm64-cross)");
	CHECK(s.wrong * 5000 <= s.same);
	CHECK(s.unknown * 50 <= s.same);
	CHECK(s.guess * 500 <= s.same);
}

TEST(sqlite)
{
	good("/usr/bin/sqlite3", true);
}
TEST(libc)
{
	good("/usr/lib/x86_64-linux-gnu/libc.so.6", false);
}
TEST(libc_stripped)
{
	good("/usr/lib/x86_64-linux-gnu/libc.so.6", true);
}
TEST(bash)
{
	good("/bin/bash", true);
}
TEST(perl)
{
	good("/usr/bin/perl", true);
}

// Debian's libraries for arm64 (libc6-arm64-cross, libstdc++6-arm64-cross)
#define ARM64_LIBS "/usr/aarch64-linux-gnu/lib/"
TEST(arm64_libc)
{
	good_arm64(ARM64_LIBS "libc.so.6", false);
}
TEST(arm64_libc_stripped)
{
	good_arm64(ARM64_LIBS "libc.so.6", true);
}
TEST(arm64_libm)
{
	good_arm64(ARM64_LIBS "libm.so.6", true);
}
TEST(arm64_libstdcxx) // handlers of exceptions are reached by tables alone
{
	struct Score s = score(ARM64_LIBS "libstdc++.so.6", true);
	if (!s.same)
		SKIP("the file is not here");
	CHECK(s.wrong * 1000 <= s.same);
}
TEST(arm64_asan)
{
	good_arm64(ARM64_LIBS "libasan.so.8", true);
}

// What compilers make of our own source: -fno-schedule-insns2 leaves `push %rbp; mov %rsp,%rbp` together, which says nothing of other functions.
static void compiled_within(const char *cc, const char *flags, u32 wrong)
{
	char bin[64], cmd[600];
	snprintf(bin, sizeof(bin), "/tmp/sonde-flow-test-%d.so", getpid());
	snprintf(cmd, sizeof(cmd), "%s -w -std=gnu17 -D_GNU_SOURCE -Isrc -Ibuild/gen -fPIC -shared -g0 %s -o %s src/lang/parse*.c src/lang/token.c src/out/flame.c "
		 "src/base/*.c 2>/dev/null", cc, flags, bin);
	if (system(cmd))
		SKIP("this compiler is not here, or has no such flag");
	printf("# %s %s\n", cc, flags);
	for (u32 stripped = 0; stripped < 2; stripped++) {
		struct Score s = score(bin, stripped);
		if (!s.same)
			SKIP("code of another machine");
		CHECK(s.wrong * wrong <= s.same);
		CHECK(s.unknown * 12 <= s.same);
		CHECK(s.guess * 20 <= s.same);
	}
	unlink(bin);
}
static void compiled(const char *cc, const char *flags)
{
	compiled_within(cc, flags, 500);
}
TEST(gcc_O0)
{
	compiled("gcc", "-O0");
}
TEST(gcc_O2)
{
	compiled("gcc", "-O2 -fno-schedule-insns2");
}
TEST(gcc_O3)
{
	compiled("gcc", "-O3 -fno-schedule-insns2");
}
TEST(gcc_Os)
{
	compiled("gcc", "-Os");
}
TEST(gcc_frame_pointers)
{
	compiled("gcc", "-O2 -fno-omit-frame-pointer");
}
TEST(clang)
{
	compiled("clang", "-O2");
}
TEST(clang_frame_pointers)
{
	compiled("clang", "-O2 -fno-omit-frame-pointer");
}

#define ARM64_GCC "aarch64-linux-gnu-gcc"
TEST(arm64_gcc_O0)
{
	compiled(ARM64_GCC, "-O0");
}
TEST(arm64_gcc_O2)
{
	compiled(ARM64_GCC, "-O2");
}
TEST(arm64_gcc_O3)
{
	compiled(ARM64_GCC, "-O3 -fomit-frame-pointer");
}
TEST(arm64_gcc_Os)
{
	compiled(ARM64_GCC, "-Os");
}
TEST(arm64_gcc_signed)
{
	compiled(ARM64_GCC, "-O2 -mbranch-protection=standard -fstack-clash-protection");
}
// clang 14 tells of a frame on arm64 when all of it is there, and not of its end: between, its rows are those of before and after.
TEST(arm64_clang)
{
	compiled_within("clang --target=aarch64-linux-gnu", "-O2 -fuse-ld=/usr/bin/aarch64-linux-gnu-ld", 30);
}
TEST(arm64_clang_no_frame_pointers)
{
	compiled_within("clang --target=aarch64-linux-gnu", "-O2 -fomit-frame-pointer -fuse-ld=/usr/bin/aarch64-linux-gnu-ld", 30);
}

// ---- frames below an aligned stack, by the register or the slot that holds the CFA
// Compilers say late that a register was saved, and of the last instructions not that the CFA is still in its slot: both is right.
static bool same_realigned(const struct RtUwRule *a, const struct RtUwRule *b)
{
	for (u32 k = 0; k < RT_UW_SLOTS; k++)
		if (a->saved & b->saved & 1u << k && (a->slot[k] != b->slot[k] || (a->fprel ^ b->fprel) & 1u << k))
			return false;
	return a->kind != b->kind || (a->reg == b->reg && a->off == b->off && a->off2 == b->off2 && a->ra == b->ra);
}

static void realigned(const char *flags)
{
	char bin[64], cmd[300];
	struct File f;
	AddrList starts = {0};
	FlowRows flow = {0};
	u64 same = 0, n = 0, by_slot = 0, both = 0;
	size_t at = 0, fat = 0;
	snprintf(bin, sizeof(bin), "/tmp/sonde-flow-test-%d.so", getpid());
	snprintf(cmd, sizeof(cmd), "gcc -w %s -mavx2 -fPIC -shared -g0 test/workload/realigned.c -o %s 2>/dev/null", flags, bin);
	if (system(cmd))
		SKIP("no gcc, or it makes no such code");
	CHECK(file_open(&f, bin));
	elfcfi_starts(&f.e, &starts);
	const struct CfiSeg *seg = &f.e.segs.p[0];
	follow(&f.e, seg, &flow_x86, &starts, false, &flow);
	for (u64 pc = seg->vaddr; pc < seg->vaddr + seg->size; pc++) {
		const struct RtUwRule *want = told(&f.t, &f.rules, pc - seg->vaddr + seg->off, &at), *got = found(&flow, pc, &fat);
		if (want->kind != RT_UW_DEREF && (want->kind != RT_UW_REG || want->reg == 6 || want->reg == 7))
			continue;
		bool right = got && got->kind != RT_UW_NONE && !(got->lost & RT_UW_GUESS) && (same_realigned(want, got) || (got->kind == RT_UW_REG && got->reg == 7));
		n++;
		same += right;
		by_slot += want->kind == RT_UW_DEREF;
		both += right && want->kind == RT_UW_DEREF && got->kind == RT_UW_DEREF;
		if (!right)
			printf("# %llx: %d r%d+%d +%d, saved %x, of rbp %x, not %d r%d+%d +%d, %x, %x\n", (unsigned long long)pc, got ? got->kind : -1, got ? got->reg : 0, got ? got->off : 0, got ? got->off2 : 0,
			       got ? got->saved : 0, got ? got->fprel : 0, want->kind, want->reg, want->off, want->off2, want->saved, want->fprel);
	}
	printf("# gcc %s: %llu bytes of code, %llu by a slot\n", flags, (unsigned long long)n, (unsigned long long)by_slot);
	CHECK(by_slot > 150);
	CHECK_EQ(same, n);
	CHECK(both * 20 > by_slot * 19);
	vec_deinit(&flow);
	vec_deinit(&starts);
	file_close(&f);
	unlink(bin);
}
TEST(realigned_O1)
{
	realigned("-O1");
}
TEST(realigned_O2)
{
	realigned("-O2");
}
TEST(realigned_Os)
{
	realigned("-Os");
}

// ---- switches by a table, whose cases are followed in the state of the jump
static void switches(const char *cc, const char *flags)
{
	char bin[64], cmd[300];
	snprintf(bin, sizeof(bin), "/tmp/sonde-flow-test-%d.so", getpid());
	snprintf(cmd, sizeof(cmd), "%s -w %s -fPIC -shared -g0 test/workload/switches.c -o %s 2>/dev/null", cc, flags, bin);
	if (system(cmd))
		SKIP("this compiler is not here");
	printf("# %s %s\n", cc, flags);
	struct Score s = score(bin, true);
	CHECK(s.same > 1200);
	CHECK_EQ(s.wrong, 0);
	CHECK_EQ(s.guess, 0);
	CHECK(s.unknown * 12 <= s.same); // cases that only abort
	unlink(bin);
}
TEST(switches_gcc)
{
	switches("gcc", "-O2");
}
TEST(switches_gcc_Os)
{
	switches("gcc", "-Os");
}
TEST(switches_clang)
{
	switches("clang", "-O2");
}
TEST(switches_clang_O3)
{
	switches("clang", "-O3");
}

// A function of assembly that nothing in the code names, and whose only end is a switch (dav1d's).
TEST(only_a_switch)
{
	char bin[64], cmd[1000];
	struct File f;
	FlowRows flow = {0};
	AddrList starts = {0};
	size_t at = 0;
	u32 known = 0;
	snprintf(bin, sizeof(bin), "/tmp/sonde-flow-test-%d.so", getpid());
	snprintf(cmd, sizeof(cmd), "printf '.text\\nret\\n.balign 16\\nlea t(%%%%rip),%%%%rsi\\nmov %%%%r8d,%%%%eax\\nmovslq (%%%%rsi,%%%%rcx,4),%%%%rcx\\nadd %%%%rsi,%%%%rcx\\njmp *%%%%rcx\\n"
		 "a: inc %%%%rax\\njl a\\nret\\nb: dec %%%%rax\\njg b\\nret\\n.balign 16\\n.section .rodata\\n.balign 4\\nt: .long a-t\\n.long b-t\\n' | "
		 "gcc -x assembler - -shared -nostdlib -s -Wl,--no-ld-generated-unwind-info -o %s 2>/dev/null", bin);
	if (system(cmd))
		SKIP("no gcc");
	CHECK(file_open(&f, bin));
	for (size_t i = 0; i < f.e.segs.n; i++) {
		follow(&f.e, &f.e.segs.p[i], &flow_x86, &starts, false, &flow);
		for (u64 pc = f.e.segs.p[i].vaddr, end = pc + f.e.segs.p[i].size; pc < end; pc++) {
			const struct RtUwRule *r = found(&flow, pc, &at);
			known += r && r->kind == RT_UW_REG && r->reg == 7 && r->off == 8 && !r->lost;
		}
	}
	CHECK(known >= 45);
	vec_deinit(&flow);
	file_close(&f);
	unlink(bin);
}

// ---- frames that are made a page at a time
static void large_frames(const char *cc)
{
	char bin[64], cmd[400];
	snprintf(bin, sizeof(bin), "/tmp/sonde-flow-test-%d.so", getpid());
	snprintf(cmd, sizeof(cmd), "printf 'int use(char *); int a(int n) { char b[200000]; while (n--) use(b + n); return use(b); } int c(int n) { char b[1000000]; return n ? use(b) : use(b + n) * 2; }' | "
		 "%s -w -x c -O2 -fstack-clash-protection -fPIC -shared -g0 - -o %s 2>/dev/null", cc, bin);
	if (system(cmd))
		SKIP("this compiler is not here");
	printf("# %s\n", cc);
	struct Score s = score(bin, true);
	CHECK(s.same > 150);
	CHECK_EQ(s.wrong, 0);
	CHECK_EQ(s.guess, 0);
	CHECK(s.unknown < 20);
	unlink(bin);
}
TEST(large_frames_gcc)
{
	large_frames("gcc");
}
TEST(large_frames_clang)
{
	large_frames("clang");
}

// ---- a library of much code that has no tables, as C compiled with -fno-asynchronous-unwind-tables is (npm's libvips)
#define ALL_FUNCTIONS(n) ".text\\nfirst: ud2\\n.rept " #n "\\n.p2align 4\\npush %%rbx\\nsub $16,%%rsp\\nadd $16,%%rsp\\npop %%rbx\\nret\\n.endr\\n"
static void much(const char *text, u32 functions, bool dear)
{
	struct stat st;
	char bin[64], cmd[400];
	struct File f;
	size_t at = 0;
	u64 last = 0;
	snprintf(bin, sizeof(bin), "/tmp/sonde-flow-test-%d.so", getpid());
	snprintf(cmd, sizeof(cmd), "printf '%s' | gcc -x assembler -shared -nostdlib - -o %s 2>/dev/null", text, bin);
	if (system(cmd))
		SKIP("no gcc, or it is of another machine");
	CHECK(file_open(&f, bin));
	CHECK(!fstat(f.fd, &st));
	CHECK_EQ(uwtable_is_dear(f.fd, (u64)st.st_size), dear);
	for (size_t i = 0; i < f.e.segs.n; i++)
		last = MAX(last, f.e.segs.p[i].off + f.e.segs.p[i].size);
	CHECK(f.t.rows.n > 4 * functions);
	u32 wrong = 0;
	for (u64 off = (last - 1) / 16 * 16 + 5, n = 0; n < functions; off -= 16, n++) { // add $16,%rsp of each
		at = n ? at - MIN(at, 16) : 0;
		while (at && UW_ROW_OFF(f.t.rows.p[at]) > off)
			at--;
		const struct RtUwRule *r = told(&f.t, &f.rules, off, &at);
		wrong += r->kind != RT_UW_REG || r->reg != 7 || r->off != 32 || r->slot[1] != -16 || r->lost & RT_UW_GUESS;
	}
	CHECK_EQ(wrong, 0);
	file_close(&f);
	unlink(bin);
}
TEST(much_code) // 8 MB: at once
{
	much(ALL_FUNCTIONS(524288), 524288, false);
}
TEST(more_code) // 20 MB: in parts
{
	much(ALL_FUNCTIONS(1310720), 1310720, true);
}

// ---- shapes by hand, at address 0x1000; rows as "address:kind register+offset"
static bool keep_frames, image;
static const struct FlowMachine *machine = &flow_x86;
static void rows(const char *what, const u8 *p, u64 n, u64 entry, const char *want)
{
	struct FlowCode c = {0x1000, n, p};
	u64 start = 0x1000;
	FlowRows out = {0};
	struct Str s = {0};
	flow_rows(&(struct FlowIn){.machine = machine, .code = &c, .ncode = 1, .starts = &start, .nstarts = entry ? 0 : 1, .entry = entry, .keep_frames = keep_frames, .image = image}, &out);
	u32 sp = machine == &flow_x86 ? 7 : 31, fp = machine == &flow_x86 ? 6 : 29;
	for (size_t i = 0; i < out.n; i++) {
		const struct RtUwRule *r = &out.p[i].rule;
		str_addf(&s, "%s%llx:", i ? " " : "", (unsigned long long)(out.p[i].pc - 0x1000));
		if (r->kind == RT_UW_DEREF) {
			str_addf(&s, "*(%s+%d)+%d", r->reg == sp ? "sp" : r->reg == fp ? "bp" : "?", r->off, r->off2);
			for (u32 k = 0; k < RT_UW_SLOTS; k++)
				if (r->saved & 1 << k)
					str_addf(&s, ",%u@%s%d", k, r->fprel & 1 << k ? "bp" : "", r->slot[k]);
		} else if (r->kind == RT_UW_REG) {
			str_addf(&s, r->reg == sp ? "sp+%d" : r->reg == fp ? "bp+%d" : "r%2$u+%1$d", r->off, r->reg);
			if (r->ra_kind == RT_UW_RA_REG)
				str_addf(&s, ",ra in %d", r->ra);
			else if (machine != &flow_x86)
				str_addf(&s, ",ra@%d", r->ra);
			for (u32 k = 0; k < RT_UW_SLOTS; k++)
				if (r->saved & 1 << k)
					str_addf(&s, ",%u@%d", k, r->slot[k]);
			if (r->lost & RT_UW_GUESS)
				str_addc(&s, '?');
		} else {
			str_add(&s, r->kind != RT_UW_END ? "none" : r->off2 == RT_UW_END_ENTRY ? "entry" : "end");
		}
	}
	if (strcmp(str_text(&s), want))
		printf("# %s\n", what);
	CHECK_STR(str_text(&s), want);
	str_deinit(&s);
	vec_deinit(&out);
}
#define ROWS(what, want, ...)                                                                                          \
	do {                                                                                                           \
		static const u8 code[] = {__VA_ARGS__};                                                                \
		rows(what, code, sizeof(code), 0, want);                                                               \
	} while (0)

TEST(shapes)
{
	ROWS("push, sub, add, pop", "0:sp+8 1:sp+16,1@-16 5:sp+24,1@-16 9:sp+16,1@-16 a:sp+8",
	     0x53, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0xc3);
	ROWS("an aligned frame: by rbp", "0:sp+8 1:sp+16,0@-16 4:bp+16,0@-16 9:sp+8", 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0xc9, 0xc3);
	ROWS("an aligned frame: by the copy of rsp in rcx, which the function called leaves alone", "0:sp+8 7:r2+8 13:sp+8",
	     0x48, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x60, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x48, 0x89, 0xcc, 0xc3);
	ROWS("a copy in rbx, which is saved, and moves", "0:sp+8 1:sp+16,1@-16 8:r3+16,1@-16 c:r3+24,1@-16 10:r3+16,1@-16 13:sp+16,1@-16 14:sp+8",
	     0x53, 0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xeb, 0x08, 0x48, 0x83, 0xc3, 0x08, 0x48, 0x89, 0xdc, 0x5b, 0xc3);
	ROWS("a copy in r14, which calls keep, puts the stack pointer back; another one of it does not matter", "0:sp+8 2:sp+16,4@-16 9:sp+24,4@-16 11:sp+16,4@-16 13:sp+8",
	     0x41, 0x56, 0x49, 0x89, 0xe6, 0x48, 0x89, 0xe7, 0x50, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x4c, 0x89, 0xf4, 0x41, 0x5e, 0xc3);
	ROWS("a copy that is overwritten finds nothing", "0:none", 0x48, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xe0, 0x31, 0xc9, 0x48, 0x89, 0xcc, 0xc3);
	ROWS("a copy that is stored below: by the slot", "0:sp+8 7:r10+8 10:*(sp+8)+8 17:*(sp+16)+8 18:*(sp+8)+8 1d:sp+8", // push %rax, pop %rax on the way
	     0x49, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x28, 0x4c, 0x89, 0x54, 0x24, 0x08, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x90, 0x50, 0x58,
	     0x48, 0x8b, 0x64, 0x24, 0x08, 0xc3);
	ROWS("a copy that is stored below, found by the frame pointer (libjpeg-turbo)",
	     "0:sp+8 1:sp+16,0@-16 8:sp+20,0@-16 c:r0+16,0@-16 10:*(sp+0)+16,0@-16 13:*(bp+0)+16,0@-16 19:*(bp+0)+16,0@-16,2@bp-40 23:*(bp+0)+16,0@-16 27:sp+16,0@-16 28:sp+8",
	     0x55, 0x48, 0x89, 0xe0, 0x48, 0x83, 0xec, 0x04, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x89, 0x04, 0x24, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x65, 0xe0,
	     0x41, 0x54, 0x45, 0x31, 0xe4, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x41, 0x5c, 0x48, 0x89, 0xec, 0x5c, 0x5d, 0xc3);
	ROWS("two ways to one end", "0:sp+8 1:sp+16 6:sp+24 7:sp+16 8:sp+8", 0x50, 0x84, 0xc0, 0x74, 0x02, 0x50, 0x58, 0x58, 0xc3);
	ROWS("two ways that do not agree", "0:none", 0x50, 0x84, 0xc0, 0x74, 0x01, 0x50, 0x58, 0xc3);
	ROWS("ret with something on top: not understood", "0:none", 0x50, 0xc3);
	ROWS("the outermost frame", "0:sp+8 2:end", 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0xf4);
	ROWS("a call that does not return", "0:sp+8 4:sp+16 9:sp+8 a:sp+16,1@-16 b:sp+8",
	     0x48, 0x83, 0xec, 0x08, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x53, 0x5b, 0xc3);
	ROWS("a jump into an instruction", "0:none 4:sp+8", 0x31, 0xc0, 0xeb, 0xfd, 0xc3);
	ROWS("rbp is a frame pointer until it is overwritten", "0:sp+8 1:sp+16,0@-16 4:bp+16,0@-16 8:sp+16,0@-16 9:sp+8", // cmove %rax,%rbp
	     0x55, 0x48, 0x89, 0xe5, 0x48, 0x0f, 0x44, 0xe8, 0x5d, 0xc3);
	ROWS("with a frame pointer two ways need not agree", "0:sp+8 1:sp+16,0@-16 4:bp+16,0@-16 a:sp+8",
	     0x55, 0x48, 0x89, 0xe5, 0x84, 0xc0, 0x74, 0x01, 0x50, 0xc9, 0xc3);
	ROWS("code that is not understood behind code that is", "0:sp+8 1:none", 0xc3, 0x50, 0xc3);
	ROWS("padding behind code keeps its row", "0:sp+8 12:sp+16,1@-16 13:sp+8",
	     0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0, 0x90, 0x53, 0x5b, 0xc3);
	ROWS("a function behind a call that does not return, and padding", "0:sp+8 4:sp+16 10:sp+8 11:sp+16,1@-16 12:sp+8",
	     0x48, 0x83, 0xec, 0x08, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x53, 0x5b, 0xc3);
	// what nothing names, and no `ret` proves, is a guess
	static const u8 tiny[] = {0x50, 0xe8, 0x00, 0x00, 0x10, 0x00};
	rows("nothing but a push and a call", tiny, sizeof(tiny), 0x9999, "0:sp+8? 1:sp+16?");
	static const u8 framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xe0};
	rows("a frame pointer tells", framed, sizeof(framed), 0x9999, "0:sp+8? 1:sp+16,0@-16? 4:bp+16,0@-16");
	rows("what a symbol names is a function", tiny, sizeof(tiny), 0, "0:sp+8 1:sp+16");
	static const u8 taken[] = {0x48, 0x8d, 0x3d, 0x01, 0x00, 0x00, 0x00, 0xc3, 0x53, 0xe8, 0x00, 0x00, 0x10, 0x00}; // lea 8,%rdi; ret; 8: push %rbx; call
	static const u8 aside[] = {0x48, 0x8d, 0x3d, 0x02, 0x00, 0x00, 0x00, 0xc3, 0x53, 0xe8, 0x00, 0x00, 0x10, 0x00};
	rows("what another function is given is one", taken, sizeof(taken), 0, "0:sp+8 9:sp+16,1@-16");
	static const u8 before[] = {0x53, 0xe8, 0x00, 0x00, 0x10, 0x00, 0xeb, 0xf9, // 0: push %rbx; again: call; jmp again
				    0x48, 0x8d, 0x3d, 0xf1, 0xff, 0xff, 0xff, 0xc3}; // 8: lea 0,%rdi; ret
	rows("also if it stands before that, and nothing else is known", before, sizeof(before), 0x9999, "0:sp+8 1:sp+16,1@-16 8:sp+8");
	rows("but not from a place that no function begins with", aside, sizeof(aside), 0, "0:sp+8 8:sp+8? 9:sp+16,1@-16?");
	static const u8 start[] = {0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0x00, 0x00, 0x10, 0x00, 0xf4};
	rows("where the kernel enters", start, sizeof(start), 0x1000, "0:entry");
	static const u8 plt[] = {0xff, 0x35, 2, 2, 0, 0, 0xff, 0x25, 4, 2, 0, 0, 0x0f, 0x1f, 0x40, 0, // lld's: no .eh_frame tells of it
				 0xff, 0x25, 2, 2, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff};
	rows("a PLT", plt, sizeof(plt), 0x9999, "0:sp+16 6:sp+24 10:sp+8 1b:sp+16");
}
// V8's builtins: they end by calls of others with other arguments, by dropping their own, and behind a call that does not return there is a trap.
TEST(frames_are_kept)
{
	keep_frames = true;
	ROWS("arguments are dropped at the end", "0:sp+8 1:sp+16,0@-16 4:bp+16,0@-16 6:sp+8 9:none f:sp+8", // pop %r10; lea (%rsp,%rcx,8),%rsp; push %r10; ret
	     0x55, 0x48, 0x89, 0xe5, 0x50, 0xc9, 0x90, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3);
	ROWS("the stack pointer was moved before a jump: only what has the frame is proven", "0:sp+8 1:sp+16,0@-16 4:bp+16,0@-16 9:sp+24,0@-16?", // push %rax; mov 0(%rbp),%rbp; jmp *%rcx
	     0x55, 0x48, 0x89, 0xe5, 0x50, 0x48, 0x8b, 0x6d, 0x00, 0xff, 0xe1);
	ROWS("ways that do not agree: nothing is known where they have met", "0:sp+8 5:none", // test; je; push; jmp *%rcx
	     0x84, 0xc0, 0x74, 0x01, 0x50, 0xff, 0xe1);
	ROWS("calls return, but for those with a trap behind", "0:sp+8 1:sp+16,0@-16 4:bp+16,0@-16 10:sp+8",
	     0x55, 0x48, 0x89, 0xe5, 0xe8, 0x00, 0x00, 0x10, 0x00, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x90, 0xc9, 0xc3);
	ROWS("a return address that is taken away, and a frame made where it was: its caller's", "0:sp+8 2:none 6:sp+0,ra in 15 9:sp+8", // pop %r15; push; mov; push %rsi; push %r15; ret
	     0x41, 0x5f, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x41, 0x57, 0xc3);
	ROWS("the same, until the register has something else", "0:sp+8 1:none 5:sp+0,ra in 2 a:none", // pop %rcx; push; mov; mov $5,%ecx; push %rcx; ret
	     0x59, 0x55, 0x48, 0x89, 0xe5, 0xb9, 0x05, 0x00, 0x00, 0x00, 0x51, 0xc3);
	ROWS("a frame is given up that was not made here: others jump here with theirs", "0:bp+16,0@-16 6:sp+8", // xor; mov %rbp,%rsp; pop; nop; ret
	     0x31, 0xc0, 0x48, 0x8b, 0xe5, 0x5d, 0x90, 0xc3);
	ROWS("or put back", "0:sp+8 2:none 5:sp+8", 0x41, 0x5f, 0x90, 0x41, 0x57, 0xc3);
	ROWS("or put back above arguments that were pushed meanwhile", "0:sp+8 1:sp+0,ra in 0 c:sp+8", // pop %rax; dec %rcx; jl; push (%rbx); jmp; push %rax; nop; jmp *%rcx
	     0x58, 0x48, 0xff, 0xc9, 0x7c, 0x04, 0xff, 0x33, 0xeb, 0xf7, 0x90, 0x50, 0x90, 0xff, 0xe1);
	ROWS("room for more arguments, and the return address moved down with them: it is on top again", "0:sp+8 a:r8+8? d:none e:sp+8", // test; je; mov %rsp,%r8; sub %r10,%rsp; xor %r8d,%r8d; nop; jmp *%rcx
	     0x84, 0xc0, 0x74, 0x0a, 0x49, 0x89, 0xe0, 0x4c, 0x29, 0xd4, 0x45, 0x31, 0xc0, 0x90, 0xff, 0xe1);
	ROWS("or called: nothing is, from the beginning on", "0:none", 0x58, 0xff, 0xd0, 0x50, 0xc3); // pop %rax; call *%rax; push %rax; ret
	keep_frames = false;
}

// GraalVM's native images: a nop behind each call, which may be the function's last instruction; handlers of exceptions that no instruction leads to.
TEST(native_images)
{
	image = true;
	static const u8 code[] = {0x48, 0x83, 0xec, 0x18, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x90, 0x48, 0x83, 0xc4, 0x18, 0xc3, // sub; call; nop; add; ret
				  0x89, 0xc6, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x90, 0xeb, 0xf1, // the handler, which goes on at the add
				  0xe8, 0x00, 0x00, 0x10, 0x00, 0x90, 0xcc, // does not return
				  0x53, 0x5b, 0xc3};
	rows("a handler has the frame of its function", code, sizeof(code), 0, "0:sp+8 4:sp+32 e:sp+8 f:sp+32 20:sp+8 21:sp+16,1@-16 22:sp+8");
	static const u8 end[] = {0x48, 0x83, 0xec, 0x18, 0x84, 0xc0, 0x74, 0x02, 0xeb, 0x01, 0xcc, 0x48, 0x83, 0xc4, 0x18, 0xc3,
				 0x48, 0x83, 0xec, 0x08, 0x84, 0xc0, 0x74, 0x05, 0x48, 0x83, 0xc4, 0x08, 0xc3, 0x90, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x90,
				 0x48, 0x83, 0xc4, 0x08, 0xc3};
	rows("calls return", end, sizeof(end), 0x9999, "0:sp+8 4:sp+32 f:sp+8 14:sp+16 1c:sp+8 1d:sp+16 28:sp+8");
	static const u8 last[] = {0x48, 0x83, 0xec, 0x18, 0x48, 0x85, 0xff, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x0f, 0x1f, 0x00, 0x90,
				  0x48, 0x83, 0xec, 0x28, 0x48, 0x83, 0xc4, 0x28, 0xc3};
	rows("the next function behind a call, at a multiple of 16", last, sizeof(last), 0, "0:sp+8 4:sp+32 10:sp+8 14:sp+48 18:sp+8");
	static const u8 endless[] = {0x55, 0x53, 0x48, 0x83, 0xec, 0x08, 0xff, 0x13, 0xe8, 0x00, 0x00, 0x10, 0x00, 0xf4};
	rows("what saves two registers, and never ends, is a function", endless, sizeof(endless), 0x9999, "0:sp+8 1:sp+16,0@-16 2:sp+24,0@-16,1@-24 6:sp+32,0@-16,1@-24");
	image = false;
	rows("elsewhere it is a guess", endless, sizeof(endless), 0x9999, "0:sp+8? 1:sp+16,0@-16? 2:sp+24,0@-16,1@-24? 6:sp+32,0@-16,1@-24?");
}

// ---- arm64
#define A64(what, want, ...)                                                                                          \
	do {                                                                                                          \
		static const u32 code[] = {__VA_ARGS__};                                                              \
		rows(what, (const u8 *)code, sizeof(code), 0, want);                                                  \
	} while (0)
#define RET 0xd65f03c0
#define BL 0x94040000 // far away
#define PUSH_FP_LR 0xa9be7bfd // stp x29, x30, [sp, #-32]!
#define POP_FP_LR 0xa8c27bfd
#define FP_IS_SP 0x910003fd // mov x29, sp

TEST(arm64_shapes)
{
	machine = &flow_arm64;
	A64("a leaf", "0:sp+0,ra in 30", 0x8b010000, RET); // add x0, x0, x1
	A64("a frame record", "0:sp+0,ra in 30 4:sp+32,ra@-24,0@-32 8:bp+32,ra@-24,0@-32 10:sp+0,ra in 30", PUSH_FP_LR, FP_IS_SP, BL, POP_FP_LR, RET);
	A64("x30 and a register; loaded, they are on the stack until that moves", "0:sp+0,ra in 30 4:sp+16,ra@-16 8:sp+16,ra@-16,1@-8 18:sp+0,ra in 30",
	    0xf81f0ffe, 0xf90007f3, BL, 0xf94007f3, 0xf94003fe, 0x910043ff, RET); // str x30, [sp, #-16]!; str x19, [sp, #8]; bl; ldr x19, [sp, #8]; ldr x30, [sp]; add sp, sp, #16
	A64("clang's order: sub sp, stp, add x29", "0:sp+0,ra in 30 4:sp+48,ra in 30 8:sp+48,ra@-8,0@-16 c:bp+16,ra@-8,0@-16 14:sp+48,ra@-8,0@-16 18:sp+0,ra in 30",
	    0xd100c3ff, 0xa9027bfd, 0x910083fd, BL, 0xa9427bfd, 0x9100c3ff, RET);
	A64("signed return addresses", "0:sp+0,ra in 30 8:sp+32,ra@-24,0@-32 10:sp+0,ra in 30", 0xd503233f, PUSH_FP_LR, BL, POP_FP_LR, 0xd65f0bff); // paciasp, retaa
	A64("a large frame: its size in a register", "0:sp+0,ra in 30 4:sp+16,ra@-16 10:sp+65568,ra@-16 20:sp+16,ra@-16 24:sp+0,ra in 30",
	    0xf81f0ffe, 0xd280020c, 0xf2a0002c, 0xcb2c63ff, BL, 0xd280020c, 0xf2a0002c, 0x8b2c63ff, 0xf84107fe, RET); // mov x12, #16; movk x12, #1, lsl #16; sub sp, sp, x12
	A64("the stack pointer moves by a register: x29 finds the frame", "0:sp+0,ra in 30 4:sp+32,ra@-24,0@-32 8:bp+32,ra@-24,0@-32 18:sp+0,ra in 30",
	    PUSH_FP_LR, FP_IS_SP, 0xcb2063ff, BL, 0x910003bf, POP_FP_LR, RET); // sub sp, sp, x0; mov sp, x29
	A64("vectors on the stack", "0:sp+0,ra in 30 4:sp+16,ra in 30 8:sp+0,ra in 30", 0x6dbf27e8, 0x6cc127e8, RET); // stp d8, d9, [sp, #-16]!; ldp d8, d9, [sp], #16
	A64("the return address in another register around a call", "0:sp+0,ra in 30 8:sp+0,ra in 9 c:sp+0,ra in 30", 0xaa1e03e9, BL, 0xaa0903fe, RET);
	A64("and returned by that", "0:sp+0,ra in 30 8:sp+0,ra in 9", 0xaa1e03e9, BL, 0xd65f0120);
	A64("a call that loses the return address does not return: behind it is another function", "0:sp+0,ra in 30", BL, RET);
	A64("ret with something on the stack", "0:none", 0xd10043ff, RET);
	A64("two ways that do not agree", "0:none", 0xb4000040, 0xd10043ff, RET);
	A64("two ways to one end", "0:sp+0,ra in 30 8:sp+32,ra@-24,0@-32 10:sp+0,ra in 30", 0xb4000080, PUSH_FP_LR, BL, POP_FP_LR, RET);
	A64("the outermost frame", "0:sp+0,ra in 30 4:end", 0xd280001d, BL, 0x00000000);
	A64("a function behind a call that does not return", "0:sp+0,ra in 30 4:sp+32,ra@-24,0@-32 8:sp+0,ra in 30 c:sp+32,ra@-24,0@-32 10:sp+0,ra in 30",
	    PUSH_FP_LR, BL, PUSH_FP_LR, POP_FP_LR, RET);
	A64("a leaf behind a call that does not return", "0:sp+0,ra in 30 4:sp+32,ra@-24,0@-32 8:sp+0,ra in 30", PUSH_FP_LR, BL, 0x8b010000, RET);
	A64("a jump to another function, by x16", "0:sp+0,ra in 30 4:sp+32,ra@-24,0@-32 c:sp+0,ra in 30", PUSH_FP_LR, BL, POP_FP_LR, 0xd61f0200);
	A64("the cases of a switch", "0:sp+0,ra in 30 4:sp+32,ra@-24,0@-32 c:sp+0,ra in 30 10:sp+32,ra@-24,0@-32", PUSH_FP_LR, 0xd61f0020, POP_FP_LR, RET, BL, 0x17fffffd); // br x1; bl; b
	static const u32 plt[] = {0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f, 0xd503201f, 0xd503201f,
				  0xb0000bd0, 0xf9400211, 0x91000210, 0xd61f0220};
	rows("a PLT", (const u8 *)plt, sizeof(plt), 0x9999, "0:sp+0,ra in 30 4:sp+16,ra@-8 20:sp+0,ra in 30");
	static const u32 tiny[] = {0xd10043ff, BL};
	rows("what nothing names, and nothing proves", (const u8 *)tiny, sizeof(tiny), 0x9999, "0:sp+0,ra in 30? 4:sp+16,ra in 30?");
	static const u32 odd[] = {0x8b010000, RET};
	rows("no instruction at an odd place", (const u8 *)odd + 1, sizeof(odd) - 1, 0x9999, "0:none");
	machine = &flow_x86;
}

// Something more urgent comes up at the n-th function.
static bool at_zero(void *arg)
{
	return (*(int *)arg)-- <= 0;
}

TEST(ended_early)
{
	static const u8 code[] = {0x53, 0x5b, 0xc3, 0x50, 0x58, 0xc3}; // two functions
	struct FlowCode c = {0x1000, sizeof(code), code};
	u64 starts[] = {0x1000, 0x1003};
	for (int n = 0; n < 3; n++) {
		int left = n;
		struct UwHurry hurry = {at_zero, &left};
		FlowRows out = {0};
		bool done = flow_rows(&(struct FlowIn){.machine = &flow_x86, .code = &c, .ncode = 1, .starts = starts, .nstarts = 2, .hurry = &hurry, .keep_frames = n & 1}, &out);
		CHECK(done == (n == 2));
		CHECK((out.n > 0) == done);
		vec_deinit(&out);
	}
}
T_MAIN()
