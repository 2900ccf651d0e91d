// Symbols of live things: kernel, processes, system binaries, checked against nm and readelf. Debug files and DWARF: symfile_test.c.
#include <glob.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "bpf/bpf.h"
#include "sym/internal.h"
#include "symt.h"
#include "t.h"

TEST(kernel_addresses_resolve_both_ways)
{
	struct Syms *s = syms_create(NULL);
	u64 addr;
	if (!sym_kernel_addr(s, "vfs_read", NULL, &addr)) {
		syms_destroy(s);
		SKIP("no kernel addresses");
	}
	struct SymHit h = sym_kernel(s, addr + 4);
	CHECK_STR(h.name, "vfs_read");
	CHECK_EQ(h.off, 4);
	CHECK(!h.module);
	CHECK(sym_kernel_why(s) == NULL);
	u64 again;
	CHECK(sym_kernel_addr(s, "vfs_read", "vmlinux", &again) && again == addr);
	CHECK(sym_kernel_addr(s, "vfs_read", NULL, &again) && again == addr); // from the index now
	CHECK(!sym_kernel_addr(s, "no_such_symbol_anywhere", NULL, &again));
	CHECK(!sym_kernel(s, 0x1000).name);
	CHECK(!sym_kernel(s, 0xffffffffffffffff).name);
	syms_destroy(s);
}

// As a user who may not see kernel addresses: one clear reason, no wrong names.
TEST(hidden_kernel_addresses_have_a_reason)
{
	fflush(stdout);
	pid_t p = fork();
	if (!p) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		FILE *f = fopen("/proc/kallsyms", "r");
		unsigned long first = 1;
		if (!f || fscanf(f, "%lx", &first) != 1 || first)
			_exit(2); // this user sees them
		struct Syms *s = syms_create(NULL);
		u64 addr;
		const char *why = sym_kernel_why(s);
		_exit(why && strstr(why, "CAP_SYSLOG") && !sym_kernel_addr(s, "vfs_read", NULL, &addr) &&
			      !sym_kernel(s, 0xffffffff81000000).name
			  ? 0
			  : 1);
	}
	int st;
	waitpid(p, &st, 0);
	if (WIFEXITED(st) && WEXITSTATUS(st) == 2)
		SKIP("everybody sees kernel addresses here");
	CHECK_EQ(st, 0);
}

static bool count_text(void *arg, const char *name, const char *module, u64 addr, char type)
{
	*(u32 *)arg += !module; // BPF programs come and go between two readings
	return true;
}

TEST(every_kernel_function_is_the_first_name_of_its_address)
{
	struct Syms *s = syms_create(NULL);
	if (sym_kernel_why(s)) {
		syms_destroy(s);
		SKIP("no kernel addresses");
	}
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[1024], name[512], mod[128];
	u64 addr, last = 0;
	u32 n = 0, bad = 0, text = 0;
	while (fgets(line, sizeof(line), f)) {
		char type;
		mod[0] = 0;
		if (sscanf(line, "%lx %c %511s [%127[^]]", &addr, &type, name, mod) < 3 || !strchr("tTwW", type))
			continue;
		if (mod[0])
			continue;
		text++;
		if (addr == last)
			continue;
		last = addr;
		n++;
		struct SymHit h = sym_kernel(s, addr);
		if (!h.name || strcmp(h.name, name) || h.off)
			bad++;
	}
	fclose(f);
	CHECK(n > 1000);
	CHECK_EQ(bad, 0);
	u32 each = 0;
	sym_kernel_each(s, count_text, &each);
	CHECK_EQ(each, text);
	syms_destroy(s);
}

// The kernel's own answers are the table's: of every 97th function, in its middle, and of BPF programs and modules.
struct Compare {
	struct Syms *ask, *table;
	u32 n, compared, bad;
};
static bool compare_asked(void *arg, const char *name, const char *module, u64 addr, char type)
{
	struct Compare *c = arg;
	if ((c->n++ % 97 && !module) || (module && !strncmp(module, "__builtin__", 11))) // trampolines of ftrace are in the table only
		return true;
	struct SymHit want = sym_kernel(c->table, addr + 1), have = sym_kernel(c->ask, addr + 1);
	if (want.off != 1 || want.size >= 64 << 10) // another name of the same address; the last function before a gap, whose size the table does not know
		return true;
	c->compared++;
	if (!have.name || strcmp(have.name, want.name) || have.off != 1 || have.start != want.start || strcmp(have.module ? have.module : "", want.module ? want.module : "")) {
		printf("# %s+%llu [%s], not %s [%s]\n", have.name, (unsigned long long)have.off, have.module, want.name, want.module);
		c->bad++;
	}
	return true;
}

TEST(single_questions_are_answered_as_from_the_table)
{
	char text[256], hostile[][64] = {"", "x", "name+", "name+0x1", "+0x1/0x2", ".L0 +0x1/0x20 [mod]", "0xffffffff81000000", "name+0x1/0x20 [mod"};
	struct KernAsk *k = kernask_create();
	struct Compare c = {syms_create(NULL), syms_create(NULL)};
	u64 addr = 0, same = 0;
	syms_set_ask(c.ask, &(struct SymAsk){k, kernask_symbol, kernask_addr});
	if (sym_kernel_why(c.table) || !kernask_symbol(k, (u64)-4096, text, sizeof(text))) {
		syms_destroy(c.ask);
		syms_destroy(c.table);
		kernask_destroy(k);
		SKIP("this kernel does not answer single questions about its symbols, or hides its addresses");
	}
	sym_kernel_each(c.table, compare_asked, &c);
	printf("# %u compared\n", c.compared);
	CHECK(c.compared > 100);
	CHECK_EQ(c.bad, 0);
	CHECK(!sym_kernel(c.ask, 0x1000).name);
	CHECK(sym_kernel_addr(c.ask, "vfs_read", NULL, &addr) && sym_kernel_addr(c.table, "vfs_read", NULL, &same) && addr == same);
	CHECK(!sym_kernel_addr(c.ask, "no_such_symbol_anywhere", NULL, &addr));
	CHECK(!sym_kernel_asked(c.ask)); // none of it took the table
	CHECK(!sym_kernel(c.ask, (u64)-4096).name && sym_kernel_asked(c.ask)); // which may know more: trampolines of ftrace
	for (u32 i = 0; i < ARRAY_LEN(hostile); i++) {
		struct SymHit h;
		bool ok = ask_parse(c.ask, hostile[i], 0xffffffff81000001, &h);
		CHECK_EQ(ok, i >= 6);
		CHECK(i == 7 ? !strcmp(h.name, "name") && !strcmp(h.module, "mod") && h.off == 1 && h.size == 32 : !h.name);
	}
	syms_destroy(c.ask);
	syms_destroy(c.table);
	kernask_destroy(k);
}

TEST(own_process_resolves)
{
	struct Syms *s = syms_create(NULL);
	struct SymHit h = sym_pid_addr(s, getpid(), (u64)(uintptr_t)&t_own_process_resolves + 1);
	CHECK_STR(h.name, "t_own_process_resolves");
	CHECK_EQ(h.off, 1);
	syms_destroy(s);
}

TEST(tables_are_made_again)
{
	struct Syms *s = syms_create(NULL);
	u64 here = (u64)(uintptr_t)&t_own_process_resolves + 1, libc = (u64)(uintptr_t)&strfry + 1, kernel = 0;
	const char *first[3] = {0};
	bool asks = sym_kernel_addr(s, "vfs_read", NULL, &kernel);

	for (u32 round = 0; round < 3; round++) {
		const char *names[] = {sym_pid_addr(s, getpid(), here + round).name, sym_pid_addr(s, getpid(), libc + round).name,
				       asks ? sym_kernel(s, kernel + 4).name : "vfs_read"};
		CHECK(s->tables_bytes > 0);
		for (u32 i = 0; i < ARRAY_LEN(names); i++) {
			first[i] = round ? first[i] : names[i]; // names that were given stay
			CHECK_STR(names[i], first[i]);
		}
		syms_trim(s, 0);
		CHECK_EQ(s->tables_bytes, 0);
	}
	CHECK_STR(first[0], "t_own_process_resolves");
	CHECK_STR(first[1], "strfry");
	CHECK_STR(first[2], "vfs_read");
	syms_destroy(s);
}

struct Three {
	u64 addr[3];
	char *name[3];
	u32 n;
};
static void take_three(void *arg, const char *name, u64 addr, u64 size)
{
	struct Three *t = arg;
	if (t->n < 3 && !strncmp(name, "main.", 5)) {
		t->addr[t->n] = addr;
		t->name[t->n++] = xstrdup(name);
	}
}

// Go's table goes like others where these are limited, and names that were given stay.
// A collector makes the tables it has dropped again, for days: the names that come of it are those it had.
TEST(names_of_tables_made_again_are_kept_once)
{
	struct Syms *s = syms_create(NULL);
	u64 here = (u64)(uintptr_t)&t_own_process_resolves + 1, libc = (u64)(uintptr_t)&strfry + 1;
	const char *first = sym_pid_addr(s, getpid(), here).name, *other = sym_pid_addr(s, getpid(), libc).name;
	for (u32 i = 0; i < 3; i++) {
		syms_trim(s, 0);
		CHECK(sym_pid_addr(s, getpid(), here).name == first);
		CHECK(sym_pid_addr(s, getpid(), libc).name == other);
	}
	syms_destroy(s);
}

TEST(go_tables_are_read_again)
{
	char path[64], cmd[400];
	snprintf(path, sizeof(path), "/tmp/sonde-sym-go.%d", getpid());
	snprintf(cmd, sizeof(cmd), "command -v go >/dev/null && HOME=/tmp GOCACHE=/tmp/sonde-gocache GO111MODULE=off GOFLAGS= go build -ldflags=-s -o %s ./test/workload/gostacks 2>&1 | sed 's/^/# /'; test -e %s", path, path);
	if (system(cmd))
		SKIP("no go");
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = sym_object_path(s, path);
	unlink(path); // it is open
	struct Three t = {0};
	const char *first[3] = {0};
	syms_limit(s, 1000);
	CHECK(o != NULL);
	if (o)
		go_each(s, o, take_three, &t);
	CHECK_EQ(t.n, 3);
	for (u32 round = 0; round < 3; round++) {
		for (u32 i = 0; i < t.n; i++) {
			u64 off;
			CHECK(sym_object_addr_to_off(o, t.addr[i], &off));
			const char *name = sym_object_off(s, o, off + 1).name;
			CHECK(elf_of(o)->go != NULL);
			first[i] = round ? first[i] : name;
			CHECK(name == first[i]);
		}
		CHECK(go_bytes(elf_of(o)) > 100000);
		syms_trim(s, 0);
		CHECK(elf_of(o)->go == NULL);
	}
	for (u32 i = 0; i < t.n; i++) {
		CHECK_STR(first[i], t.name[i]);
		free(t.name[i]);
	}
	syms_destroy(s);
}

TEST(a_table_that_is_too_large_is_said)
{
	struct Syms *s = syms_create(NULL);
	syms_limit(s, 1000);
	struct SymHit h = sym_pid_addr(s, getpid(), (u64)(uintptr_t)&strfry + 1);
	CHECK(h.place && strstr(h.name, "[libc.so.6+0x"));
	u32 said = 0;
	for (size_t i = 0; i < s->objs.n; i++)
		said += s->objs.p[i]->note && strstr(s->objs.p[i]->note, "shown as places");
	CHECK(said > 0);
	syms_destroy(s);
}

// Every sized function nm lists: at its start and in its middle the hit must be a symbol that nm has at that start address.
static void against_nm(const char *path, const char *nm_opts)
{
	struct Syms *s = syms_create(&(struct SymOpts){.no_demangle = true});
	struct SymObject *o = sym_object_path(s, path);
	if (!o) {
		syms_destroy(s);
		return;
	}
	FILE *f = popenf("nm --defined-only -S %s %s 2>/dev/null", nm_opts, path);
	char line[16384], name[8192];
	u64 addr, size;
	char type;
	u32 n = 0, bad = 0, alias = 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %lx %c %8191s", &addr, &size, &type, name) != 4 || !strchr("tTwWi", type) || !size)
			continue;
		u64 off;
		if (!sym_object_addr_to_off(o, addr, &off))
			continue;
		n++;
		name[strcspn(name, "@")] = 0;
		struct SymHit a = sym_object_off(s, o, off), b = sym_object_off(s, o, off + size / 2);
		if (!a.name || a.off || a.start != addr)
			printf("# %s at %lx: %s+%lx\n", name, addr, a.name, a.off), bad++;
		else if (strcmp(a.name, name))
			alias++;
		if (!b.name || b.start + b.off != addr + size / 2 || b.start < addr) // or a nested symbol's
			printf("# middle of %s at %lx: %s at %lx\n", name, addr, b.name, b.start), bad++;
	}
	pclose(f);
	printf("# %s: %u functions, %u aliases\n", path, n, alias);
	CHECK(n > 20);
	CHECK_EQ(bad, 0);
	CHECK(alias * 5 < n * 3);
	syms_destroy(s);
}

TEST(functions_of_system_binaries_as_nm_lists_them)
{
	against_nm("/usr/bin/python3.11", "-D");
	against_nm("/lib/x86_64-linux-gnu/libc.so.6", "-D");
	against_nm("/lib/x86_64-linux-gnu/libcrypto.so.3", "-D");
	glob_t g; // Debian's node is a library, others' a program
	if (!glob("/usr/lib/*-linux-gnu/libnode.so.*", 0, NULL, &g))
		against_nm(g.gl_pathv[0], "-D");
	else
		against_nm("/usr/bin/node", "");
	globfree(&g);
	against_nm("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "-D");
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = 0;
	against_nm(self, "");
}

TEST(well_known_names_win_over_aliases)
{
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = sym_object_path(s, "/lib/x86_64-linux-gnu/libc.so.6");
	static const char *const names[] = {"malloc", "write", "read", "getpid", "fork", "nanosleep", "pthread_create", "qsort"};
	for (u32 i = 0; o && i < ARRAY_LEN(names); i++) {
		struct SymDef d;
		CHECK(sym_object_find(s, o, names[i], &d));
		CHECK_STR(sym_object_off(s, o, d.file_off).name, names[i]);
	}
	syms_destroy(s);
}

TEST(versioned_names_are_found)
{
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = sym_object_path(s, "/lib/x86_64-linux-gnu/libc.so.6");
	if (!o) {
		syms_destroy(s);
		SKIP("no glibc for x86-64");
	}
	struct SymDef plain, def, old;
	CHECK(sym_object_find(s, o, "memcpy", &plain));
	CHECK(sym_object_find(s, o, "memcpy@@GLIBC_2.14", &def));
	CHECK(sym_object_find(s, o, "memcpy@GLIBC_2.2.5", &old));
	CHECK(!sym_object_find(s, o, "memcpy@GLIBC_9.9", &old));
	CHECK_EQ(plain.addr, def.addr);
	CHECK(plain.is_func);
	CHECK(sym_object_find(s, o, "environ", &plain) && plain.is_data);
	syms_destroy(s);
}

struct Each {
	u32 n, dup;
	u64 addr;
	char name[256];
};

static bool each_def(void *arg, const struct SymDef *d)
{
	struct Each *e = arg;
	e->n++;
	e->dup += d->addr == e->addr && !strcmp(d->name, e->name);
	e->addr = d->addr;
	snprintf(e->name, sizeof(e->name), "%s", d->name);
	return true;
}

TEST(each_gives_every_symbol_once)
{
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = sym_object_path(s, "/proc/self/exe"); // .symtab and .dynsym
	struct Each e = {0};
	struct err *err = sym_object_each(s, o, each_def, &e);
	CHECK(!err);
	CHECK(e.n > 100);
	CHECK_EQ(e.dup, 0);
	err_free(err);
	syms_destroy(s);
}

TEST(plt_stubs_are_named)
{
	struct Syms *s = syms_create(NULL);
	char dir[] = "/tmp/symt.XXXXXX";
	CHECK(mkdtemp(dir));
	write_text(dir, "a.c",
		   "#include <stdio.h>\n#include <stdlib.h>\nint main(int c, char **v) { puts(v[0]); return getpid() + atoi(v[0]); }\n");
	static const char *const how[] = {"", "-fcf-protection=none -Wl,-z,lazy", "-fcf-protection=full -Wl,-z,now -Wl,-z,ibtplt",
					  "-static-pie"};
	for (u32 i = 0; i < ARRAY_LEN(how); i++) {
		CHECK_EQ(run("cd %s && gcc -w -O1 -o plt a.c %s", dir, how[i]), 0);
		char *path = xasprintf("%s/plt", dir);
		struct SymObject *o = sym_object_path(s, path);
		FILE *f = popenf("objdump -d %s | grep -E '^[0-9a-f]+ <[a-z_]+@plt>:'", path);
		char line[256], name[128];
		u64 addr, off;
		u32 n = 0;
		while (fgets(line, sizeof(line), f) && sscanf(line, "%lx <%127[^>]", &addr, name) == 2) {
			CHECK(sym_object_addr_to_off(o, addr + 4, &off));
			CHECK_STR(sym_object_off(s, o, off).name, name);
			n++;
		}
		pclose(f);
		CHECK(n >= 3 || strstr(how[i], "static"));
		unlink(path);
		free(path);
	}
	run("rm -rf %s", dir);
	syms_destroy(s);
}

TEST(vdso_functions)
{
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = sym_object_vdso(s, 1ull << 46);
	CHECK(o && o->fd >= 0);
	struct SymDef d;
	CHECK(sym_object_find(s, o, "__vdso_clock_gettime", &d));
	struct SymHit h = sym_object_off(s, o, d.file_off + 1);
	CHECK_STR(h.name, "clock_gettime"); // the weak alias without underscores
	CHECK_STR(h.module, "[vdso]");
	struct ProcMap *m;
	u32 n, seen = 0;
	struct err *e = sym_proc_maps(s, getpid(), &m, &n);
	for (u32 i = 0; !e && i < n; i++)
		seen += m[i].obj == o;
	CHECK_EQ(seen, 1);
	free(m);
	syms_destroy(s);
}

// ---- processes
TEST(deleted_binary_resolves_after_exit)
{
	char dir[] = "/tmp/symt.XXXXXX";
	CHECK(mkdtemp(dir));
	struct Child c = child_spawn(dir, "int here(void) { return 1; }", "");
	struct Syms *s = syms_create(NULL);
	run("rm %s/prog", dir);
	sym_pid_remember(s, c.pid);
	child_end(&c);
	struct SymHit h = sym_pid_addr(s, c.pid, c.addr + 1);
	CHECK_STR(h.name, "here");
	char *path = xasprintf("%s/prog", dir);
	CHECK_STR(h.module, path);
	// the same path again, another file: another object
	struct Child d = child_spawn(dir, "int pad(void) { return 7; } int here(void) { return 2; }", "");
	h = sym_pid_addr(s, d.pid, d.addr);
	CHECK_STR(h.name, "here");
	CHECK_STR(h.module, path);
	CHECK(sym_object_path(s, path) != sym_object(s, 1));
	child_end(&d);
	free(path);
	run("rm -rf %s", dir);
	syms_destroy(s);
}

TEST(exec_replaces_the_mappings)
{
	char dir[] = "/tmp/symt.XXXXXX";
	CHECK(mkdtemp(dir));
	struct Child c = child_spawn(dir, "int here(void) { return 1; }", "-DEXEC_ON_USR1");
	struct Syms *s = syms_create(NULL);
	CHECK_STR(sym_pid_addr(s, c.pid, c.addr).name, "here");
	kill(c.pid, SIGUSR1);
	child_wait_text(&c, "again");
	usleep(100000); // CHECK_NS
	struct SymHit h = sym_pid_addr(s, c.pid, c.addr);
	CHECK_STR(h.name, "here"); // the same program, mapped at another address
	child_end(&c);
	run("rm -rf %s", dir);
	syms_destroy(s);
}

// Asked until it is that, for the file is not looked at each time; in the end what it is.
static const char *name_in_map(struct Syms *s, u64 addr, const char *want)
{
	const char *name = sym_pid_addr(s, getpid(), addr).name;
	for (u32 i = 0; i < 2000 && (!name || strcmp(name, want)); i++) {
		usleep(5000);
		name = sym_pid_addr(s, getpid(), addr).name;
	}
	return name;
}

TEST(memfd_and_jit_code)
{
	struct Syms *s = syms_create(NULL);
	// a program in a memfd is an object
	int fd = memfd_create("prog", MFD_CLOEXEC), self = open("/proc/self/exe", O_RDONLY);
	char buf[65536];
	for (ssize_t n; (n = read(self, buf, sizeof(buf))) > 0;)
		CHECK_EQ(write(fd, buf, n), n);
	close(self);
	struct SymDef d;
	struct SymObject *me = sym_object_path(s, "/proc/self/exe");
	CHECK(sym_object_find(s, me, "t_memfd_and_jit_code", &d));
	u64 page = d.file_off & ~4095ull;
	u8 *p = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, page);
	struct SymHit h = sym_pid_addr(s, getpid(), (u64)(uintptr_t)p + d.file_off - page);
	CHECK_STR(h.name, "t_memfd_and_jit_code");
	close(fd);
	// code written to an anonymous mapping is named by the perf map, the later line wins, and lines may be added
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	u8 *jit = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 at = (u64)(uintptr_t)jit;
	FILE *f = fopen(path, "w");
	fprintf(f, "%lx 100 old one\n%lx 0x20 LazyCompile:~new thing /a b.js:1\nbad line\n%lx 10", at, at + 0x10, at + 0x200);
	fflush(f);
	usleep(60000);
	CHECK_STR(sym_pid_addr(s, getpid(), at + 0x12).name, "LazyCompile:~new thing /a b.js:1");
	CHECK_STR(sym_pid_addr(s, getpid(), at + 0x80).name, "old one");
	CHECK_EQ(sym_pid_addr(s, getpid(), at + 0x80).off, 0x80);
	CHECK_STR(sym_pid_addr(s, getpid(), at + 5).name, "old one");
	CHECK(!sym_pid_addr(s, getpid(), at + 0x201).name); // its line is not whole yet
	fprintf(f, " late\n");
	fclose(f);
	CHECK_STR(name_in_map(s, at + 0x201, "late"), "late");
	f = fopen(path, "a");
	fprintf(f, "%lx 10 later\n", at + 0x200); // where other code was
	fclose(f);
	CHECK_STR(name_in_map(s, at + 0x201, "later"), "later");
	f = fopen(path, "w"); // written anew, shorter
	fprintf(f, "%lx 10 anew\n", at + 0x300);
	fclose(f);
	CHECK_STR(name_in_map(s, at + 0x301, "anew"), "anew");
	CHECK(!sym_pid_addr(s, getpid(), at + 0x201).name);
	f = fopen(path, "w"); // longer
	fprintf(f, "%lx 10 longer\n%lx 10 other\n", at + 0x400, at + 0x500);
	fclose(f);
	CHECK_STR(name_in_map(s, at + 0x401, "longer"), "longer");
	CHECK(!sym_pid_addr(s, getpid(), at + 0x301).name);
	unlink(path);
	CHECK_STR(name_in_map(s, at + 0x401, "longer"), "longer"); // as its process ends
	f = fopen(path, "w"); // another file
	fprintf(f, "%lx 10 another\n", at + 0x400);
	fclose(f);
	CHECK_STR(name_in_map(s, at + 0x401, "another"), "another");
	unlink(path);
	munmap(jit, 4096);
	munmap(p, 8192);
	syms_destroy(s);
}

TEST(perf_map_of_somebody_else_is_not_read)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
	dprintf(fd, "1000 100 lie\n");
	if (geteuid() || fchown(fd, 65534, 65534)) {
		close(fd);
		unlink(path);
		SKIP("not root");
	}
	close(fd);
	CHECK(perfmap_open(NULL, getpid(), 1234) == NULL);
	unlink(path);
	CHECK_EQ(symlink("/etc/passwd", path), 0);
	CHECK(perfmap_open(NULL, getpid(), 1234) == NULL);
	unlink(path);
}

// A process in its own mount and pid namespace: its binary has a path that means nothing outside.
TEST(process_in_a_container)
{
	char dir[] = "/tmp/symt.XXXXXX";
	CHECK(mkdtemp(dir));
	struct Child c = child_spawn(dir, "int here(void) { return 1; }", "-DUNSHARE");
	if (c.pid < 0) {
		run("rm -rf %s", dir);
		SKIP("cannot unshare");
	}
	struct Syms *s = syms_create(NULL);
	char jit[128];
	struct SymHit h = sym_pid_addr(s, c.pid, c.addr);
	CHECK_STR(h.name, "here");
	CHECK_STR(h.module, "/inside/prog"); // as the process names it
	CHECK(access("/inside/prog", F_OK) != 0);
	snprintf(jit, sizeof(jit), "jitted_in_ns");
	CHECK_STR(sym_pid_addr(s, c.pid, c.jit + 4).name, jit); // /tmp/perf-1.map of the namespace
	char *p = NULL;
	struct err *e = sym_resolve_path("/inside/link", c.pid, &p); // an absolute symlink inside
	CHECK(!e && p && strstr(p, "/root/inside/prog"));
	err_free(e);
	struct SymObject *o = p ? sym_object_path(s, p) : NULL;
	struct SymDef d;
	CHECK(o && sym_object_find(s, o, "here", &d));
	free(p);
	child_end(&c);
	CHECK_STR(sym_pid_addr(s, c.pid, c.addr).name, "here");
	CHECK_STR(sym_pid_addr(s, c.pid, c.jit + 8).name, jit);
	run("rm -rf %s", dir);
	syms_destroy(s);
}

static void *ask(void *arg)
{
	struct Syms *s = arg;
	u64 bad = 0;
	for (u32 i = 0; i < 2000; i++) {
		struct SymHit h = sym_pid_addr(s, getpid(), (u64)(uintptr_t)&ask + i % 16);
		struct SymObject *o = sym_object(s, 1 + i % 2);
		bad += !h.name || strcmp(h.name, "ask") || !o;
		if (o)
			sym_object_off(s, o, 0x1000 + i * 16);
		bad += strcmp(sym_demangle(s, "_ZN3foo3barEiPKc"), "foo::bar(int, char const*)") != 0;
	}
	return (void *)(uintptr_t)bad;
}

TEST(several_threads_may_ask)
{
	struct Syms *s = syms_create(NULL);
	pthread_t t[4];
	for (u32 i = 0; i < ARRAY_LEN(t); i++)
		CHECK_EQ(pthread_create(&t[i], NULL, ask, s), 0);
	for (u32 i = 0; i < ARRAY_LEN(t); i++) {
		void *bad;
		pthread_join(t[i], &bad);
		CHECK_EQ((uintptr_t)bad, 0);
	}
	syms_destroy(s);
}

TEST(without_a_symbol_a_function_is_its_place_in_the_module)
{
	char dir[] = "/tmp/symt.XXXXXX";
	CHECK(mkdtemp(dir));
	struct Child c = child_spawn(dir, "__attribute__((visibility(\"hidden\"))) int here(void) { return 1; }", "-s");
	struct Syms *s = syms_create(NULL);
	struct SymHit h = sym_pid_addr(s, c.pid, c.addr);
	char *path = xasprintf("%s/prog", dir), *place = xasprintf("[prog+0x%llx]", (unsigned long long)h.start);
	CHECK(h.place && h.off == 0);
	CHECK_STR(h.name, place);
	CHECK_STR(h.module, path);
	CHECK(h.module_off > 0x1000 && h.module_off < 0x10000);
	free(place);
	child_end(&c);
	free(path);
	run("rm -rf %s", dir);
	syms_destroy(s);
}

TEST(static_program_resolves)
{
	char dir[] = "/tmp/symt.XXXXXX";
	CHECK(mkdtemp(dir));
	struct Child c = child_spawn(dir, "int here(void) { return 1; }", "-static -no-pie");
	struct Syms *s = syms_create(NULL);
	CHECK_STR(sym_pid_addr(s, c.pid, c.addr + 2).name, "here");
	child_end(&c);
	run("rm -rf %s", dir);
	syms_destroy(s);
}

TEST(gone_process_is_an_error_not_a_crash)
{
	struct Syms *s = syms_create(NULL);
	struct ProcMap *m;
	u32 n;
	struct err *e = sym_proc_maps(s, 0x3fffffff, &m, &n);
	CHECK(e && !m && !n);
	err_free(e);
	CHECK(!sym_pid_addr(s, 0x3fffffff, 0x1000).name);
	CHECK(!sym_pid_addr(s, -1, 0x1000).name);
	struct ProcMap own = {0x1000, 0x2000, 0, NULL};
	sym_pid_set_maps(s, 0x3fffffff, &own, 1);
	CHECK(!sym_pid_addr(s, 0x3fffffff, 0x1000).name);
	CHECK(!sym_object_path(s, "/dev/null"));
	CHECK(!sym_object_path(s, "/no/such"));
	CHECK(!sym_object(s, 0) && !sym_object(s, 99999));
	syms_destroy(s);
}

// A machine that builds starts thousands a second: what is kept of those that are gone has an end, and children with their parents' mappings share them.
TEST(gone_processes_have_an_end)
{
	enum { FIRST = 0x10000000, N = 100000, MAPS = 32 };
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = sym_object_path(s, "/proc/self/exe");
	CHECK(o != NULL);
	struct ProcMap maps[MAPS] = {0};
	for (u32 i = 0; i < MAPS; i++) {
		maps[i].start = 0x400000 + i * 0x200000ull;
		maps[i].end = maps[i].start + 0x100000;
		maps[i].obj = o;
	}
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < N; i++)
		sym_pid_set_maps(s, FIRST + i, maps, MAPS);
	size_t grew = mallinfo2().uordblks - before;
	CHECK(grew < 8u << 20); // lists of their own would be 75 MB
	CHECK_STR(sym_pid_addr(s, FIRST + N - 1, 0x400010).module, o->path);
	CHECK_STR(sym_pid_addr(s, FIRST + N - 10000, 0x400010).module, o->path);
	CHECK(!sym_pid_addr(s, FIRST, 0x400010).module);
	sym_pid_set_maps(s, FIRST + N - 1, maps, 1); // the others have theirs
	CHECK(!sym_pid_addr(s, FIRST + N - 1, maps[1].start).module);
	CHECK_STR(sym_pid_addr(s, FIRST + N - 2, maps[1].start).module, o->path);
	syms_destroy(s);
}

TEST(not_an_elf_file)
{
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = sym_object_path(s, "/etc/passwd");
	CHECK(o && o->why);
	struct UsdtNote *u;
	u32 n;
	struct SymDef d;
	struct err *e = sym_object_usdt(s, o, &u, &n);
	CHECK(e != NULL);
	err_free(e);
	e = sym_object_each(s, o, each_def, NULL);
	CHECK(e != NULL);
	err_free(e);
	CHECK(!sym_object_find(s, o, "root", &d));
	struct SymHit h = sym_object_off(s, o, 12);
	CHECK(!h.name);
	CHECK_EQ(h.module_off, 12);
	syms_destroy(s);
}

// ---- paths
static void resolves_to(const char *name, const char *want)
{
	char *p = NULL;
	struct err *e = sym_resolve_path(name, 0, &p);
	CHECK(!e);
	if (!e)
		CHECK_STR(p, want);
	free(p);
	err_free(e);
}

TEST(libraries_that_moved_into_libc)
{
	static const char *const yes[] = {"pthread", "libpthread", "libpthread.so.0", "dl", "librt", "libutil.so", "anl"};
	static const char *const no[] = {"", "lib", "c", "libc.so.6", "libdlfcn", "rtld", "libpthread.d/x", "/lib/librt.so.1"};
	for (u32 i = 0; i < ARRAY_LEN(yes); i++)
		CHECK(sym_moved_to_libc(yes[i]));
	for (u32 i = 0; i < ARRAY_LEN(no); i++)
		CHECK(!sym_moved_to_libc(no[i]));
}

TEST(paths_resolve)
{
	const char *libc = access("/lib/x86_64-linux-gnu/libc.so.6", F_OK) ? NULL : "/lib/x86_64-linux-gnu/libc.so.6";
	if (libc) {
		resolves_to("c", libc);
		resolves_to("libc", libc);
		resolves_to("libc.so.6", libc);
	}
	resolves_to("/etc/passwd", "/etc/passwd");
	char *p = NULL;
	struct err *e = sym_resolve_path("sh", 0, &p);
	CHECK(!e && p && strstr(p, "/sh"));
	err_free(e);
	free(p);
	e = sym_resolve_path("libc", getpid(), &p); // from the process's mappings
	CHECK(!e && p && strstr(p, "libc.so.6"));
	err_free(e);
	free(p);
	static const char *const bad[] = {"", "/etc", "/no/such", "no_such_program"};
	for (u32 i = 0; i < ARRAY_LEN(bad); i++) {
		e = sym_resolve_path(bad[i], 0, &p);
		CHECK(e && !p);
		err_free(e);
	}
}

// ---- parsers
TEST(maps_lines)
{
	struct MapLine m;
	const char *l = "7f00-8000 r-xp 00001000 fe:01 123  /a b (deleted)";
	CHECK(mapline_parse(l, strlen(l), &m));
	CHECK(m.exec && m.start == 0x7f00 && m.end == 0x8000 && m.off == 0x1000 && m.ino == 123 && m.major == 0xfe);
	CHECK_EQ(m.path_len, strlen("/a b (deleted)"));
	static const char *const bad[] = {
	    "", "x", "1-", "8000-7000 r-xp 0 0:0 0", "1-2 r-x", "1-2 r-xp 0 0:0 ", "11111111111111111-2 r-xp 0 0:0 0"};
	for (u32 i = 0; i < ARRAY_LEN(bad); i++)
		CHECK(!mapline_parse(bad[i], strlen(bad[i]), &m));
}

TEST(segments_of_nested_and_overlapping_intervals)
{
	struct Interval v[] = {{10, 50, 1, 1}, {20, 30, 2, 2}, {25, 60, 0, 3}, {60, 60, 9, 4}, {70, 80, 1, 5}, {70, 75, 1, 6}};
	struct Segments s;
	segments_build(&s, v, ARRAY_LEN(v));
	static const struct {
		u64 at;
		u32 id;
	} want[] = {{9, SEG_NONE}, {10, 1}, {19, 1}, {20, 2},	     {29, 2},
		    {30, 1},	   {49, 1}, {50, 3}, {59, 3},	     {60, SEG_NONE},
		    {70, 6},	   {74, 6}, {75, 5}, {80, SEG_NONE}, {UINT64_MAX, SEG_NONE}};
	for (u32 i = 0; i < ARRAY_LEN(want); i++)
		CHECK_EQ(segments_find(&s, want[i].at), want[i].id);
	segments_deinit(&s);
	// against painting, at random
	srandom(7);
	for (u32 round = 0; round < 200; round++) {
		struct Interval r[24];
		u32 paint[64], prio[64];
		u32 n = random() % ARRAY_LEN(r);
		for (u32 i = 0; i < n; i++)
			r[i] = (struct Interval){(i ? r[i - 1].lo : 0) + random() % 5, 0, random() % 4, i},
			r[i].hi = r[i].lo + random() % 20;
		memset(paint, 0xff, sizeof(paint));
		memset(prio, 0, sizeof(prio));
		for (u32 i = 0; i < n; i++)
			for (u64 a = r[i].lo; a < r[i].hi && a < 64; a++)
				if (paint[a] == SEG_NONE || r[i].prio >= prio[a])
					paint[a] = i, prio[a] = r[i].prio;
		segments_build(&s, r, n);
		for (u32 a = 0; a < 64; a++)
			CHECK_EQ(segments_find(&s, a), paint[a]);
		segments_deinit(&s);
	}
}

TEST(names_are_demangled)
{
	struct Syms *s = syms_create(NULL);
	static const struct {
		const char *raw, *text;
	} want[] = {
	    {"main", "main"},
	    {"_start", "_start"},
	    {"_ZN3foo3barEiPKc", "foo::bar(int, char const*)"},
	    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	    {"_Z3fooi.cold", "foo(int) [clone .cold]"},
	    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
	    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.cold", "core::fmt::Formatter::pad [clone .cold]"},
	    {"_RNvC6_123foo3bar", "123foo::bar"},
	    {"_D3std5stdio4File5closeMFZv", "std.stdio.File.close()"},
	    {"_Znwm@plt", "operator new(unsigned long)@plt"},
	    {"_Zbad", "_Zbad"},
	};
	for (u32 i = 0; i < ARRAY_LEN(want); i++)
		CHECK_STR(sym_demangle(s, want[i].raw), want[i].text);
	struct Str raw = {0}, text = {0}; // longer than libiberty likes
	str_add(&raw, "_Z1fN");
	for (u32 i = 0; i < 300; i++) {
		str_add(&raw, "6nested");
		str_add(&text, i ? "::nested" : "f(nested");
	}
	str_add(&raw, "E");
	str_add(&text, ")");
	CHECK_STR(sym_demangle(s, raw.p), text.p);
	str_deinit(&raw);
	str_deinit(&text);
	static const struct {
		const char *raw, *text;
	} clean[] = {
	    {"foo.lto_priv.0", "foo"},	{"foo.lto_priv.0.cold", "foo.cold"}, {"foo.isra.0", "foo.isra.0"}, {"foo.cold", "foo.cold"},
	    {"foo.llvm.123456", "foo"}, {"memcpy@@GLIBC_2.14", "memcpy"},    {"puts@plt", "puts@plt"},	   {".llvm.1", ".llvm.1"}};
	for (u32 i = 0; i < ARRAY_LEN(clean); i++) {
		char *p = xstrdup(clean[i].raw);
		symbol_clean(p);
		CHECK_STR(p, clean[i].text);
		free(p);
	}
	syms_destroy(s);
}

// f(pair<pair<..>,pair<..>>) with nested substitutions: 400 bytes that stand for 2^60.
TEST(a_demangling_bomb_is_given_up)
{
	struct Str raw = {0};
	str_add(&raw, "_Z1fI1AIiiE");
	for (u32 i = 0; i < 60; i++) {
		char id[8];
		if (i < 1)
			snprintf(id, sizeof(id), "S1_");
		else
			snprintf(id, sizeof(id), "S%c_", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(i + 1) % 36]);
		str_addf(&raw, "1AI%s%sE", id, id);
	}
	str_add(&raw, "EvT_");
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	free(demangle(raw.p));
	// a chain that doubles at each step
	str_reset(&raw);
	str_add(&raw, "_Z1f1AIiiE");
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	for (u32 i = 0; i < 34; i++)
		str_addf(&raw, "S_IS%c_S%c_E", digits[i], digits[i]);
	char *text = demangle(raw.p);
	CHECK(text == NULL || strlen(text) <= 65536);
	free(text);
	clock_gettime(CLOCK_MONOTONIC, &b);
	CHECK(b.tv_sec - a.tv_sec < 3);
	str_deinit(&raw);
}

T_ALONE("programs of other tests come and go among the kernel's symbols");
T_MAIN()
