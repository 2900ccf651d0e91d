// Symbols of files built here: stripped, split, packed, inlined; oracles are readelf, nm and addr2line -i.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "sym/internal.h"
#include "symt.h"
#include "t.h"

static char *make_dir(void)
{
	char *dir = xstrdup("/tmp/symf.XXXXXX");
	return mkdtemp(dir);
}

static void drop_dir(char *dir)
{
	run("rm -rf %s", dir);
	free(dir);
}

static struct SymObject *object_in(struct Syms *s, const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct SymObject *o = sym_object_path(s, path);
	free(path);
	return o;
}

// The file offset of a symbol in another (unstripped) file, from nm.
static u64 offset_of(struct SymObject *o, const char *dir, const char *file, const char *name)
{
	FILE *f = popenf("nm %s/%s | grep -w '%s$'", dir, file, name);
	u64 addr = 0, off = 0;
	if (fscanf(f, "%lx", &addr) != 1)
		addr = 0;
	pclose(f);
	sym_object_addr_to_off(o, addr, &off);
	return off;
}

static const char code[] = "#include <stdio.h>\n__attribute__((noinline)) static int hidden(int x) { return x * 3 + (int)(long)stdout; }\n"
			   "__attribute__((noinline)) static int other(int x) { return x ^ 77 ^ (int)(long)stderr; }\n"
			   "int main(int c, char **v) { return hidden(c) + other(c); }\n";

TEST(debug_file_by_build_id)
{
	char *dir = make_dir();
	write_text(dir, "a.c", code);
	CHECK_EQ(run("cd %s && gcc -O1 -g -Wl,--build-id -o a a.c && id=$(readelf -n a | sed -n 's/.*Build ID: //p') && "
		     "d=dbg/.build-id/$(echo $id | cut -c1-2) && "
		     "mkdir -p $d && objcopy --only-keep-debug a $d/$(echo $id | cut -c3-).debug && strip -o b a",
		     dir),
		 0);
	char *debug = xasprintf("%s/dbg", dir);
	struct Syms *s = syms_create(&(struct SymOpts){.debug_dir = debug, .lines = true});
	struct SymObject *o = object_in(s, dir, "b");
	u64 off = offset_of(o, dir, "a", "hidden");
	struct SymHit h = sym_object_off(s, o, off);
	CHECK_STR(h.name, "hidden");
	CHECK_EQ(h.line, 2); // DWARF of the debug file
	struct SymDef d;
	CHECK(sym_object_find(s, o, "other", &d));
	CHECK_EQ(d.file_off, offset_of(o, dir, "a", "other"));
	syms_destroy(s);
	// a debug file with another build id is refused
	CHECK_EQ(run("cd %s && gcc -O0 -g -Wl,--build-id -DX=1 -o c a.c && f=$(ls dbg/.build-id/*/*) && chmod u+w $f && objcopy "
		     "--only-keep-debug c $f",
		     dir),
		 0);
	s = syms_create(&(struct SymOpts){.debug_dir = debug});
	CHECK(sym_object_off(s, object_in(s, dir, "b"), off).place); // no name but its place
	syms_destroy(s);
	free(debug);
	drop_dir(dir);
}

// ---- code that no sized symbol covers. Every label below is a place with a known answer; a .symtab knows them all, a stripped file few of them.
#ifdef __aarch64__
#define BRANCH_NOT_ZERO(to) "cbnz x0, " to "\n"
#else
#define BRANCH_NOT_ZERO(to) "test %rdi,%rdi\njnz " to "\n"
#endif
static const char unsized_code[] =
	".text\n.globl sized_small\n.type sized_small,%function\nsized_small: .cfi_startproc\nnop\nret\n.size sized_small,.-sized_small\n"
	"small_rest: nop\nret\n.cfi_endproc\n"						     // .eh_frame knows better
	".globl sized\n.type sized,%function\nsized: nop\nret\n.size sized,.-sized\n"		     // ends by its size
	"after_sized: nop\nret\n.balign 16\n"						     // nobody's
	".globl unsized\nunsized: nop\n" BRANCH_NOT_ZERO("unsized_back") "nop\nret\n"		     // no size, no type, as nasm writes them
	"unsized_back: nop\nret\n.balign 16\n"						     // jumped to
	"after_unsized: nop\nnop\nret\n.skip 4096\n"
	"far_after_unsized: nop\nret\n.balign 16\n"
	"fde: .cfi_startproc\nnop\nnop\nret\n.cfi_endproc\n.balign 16\n"			     // a static function: only .eh_frame is left of it
	"after_fde: nop\nret\n.balign 16\n"
	".globl unsized_fde\nunsized_fde: .cfi_startproc\nret\nnop\nunsized_fde_end: nop\nret\n.cfi_endproc\n" // known to .eh_frame, so not by ret
	"after_unsized_fde: nop\nret\n"
	".globl last\nlast: nop\nret\nafter_last: nop\nret\n";

struct PlaceRow {
	const char *label, *name; // name NULL: none; "+": "[u.so+0x...]" of the label itself
};

static void check_places(const char *dir, const char *file, const struct PlaceRow *rows, u32 n)
{
	struct Syms *s = syms_create(&(struct SymOpts){.debug_dir = "/nonexistent", .no_debuginfod = true});
	struct SymObject *o = object_in(s, dir, file), *whole = object_in(s, dir, "u.so");
	for (u32 i = 0; i < n; i++) {
		u64 off = offset_of(whole, dir, "u.so", rows[i].label);
		struct SymHit h = sym_object_off(s, o, off);
		char *want = rows[i].name && !strcmp(rows[i].name, "+") ? xasprintf("[%s+0x%llx]", file, (unsigned long long)h.start) : rows[i].name ? xstrdup(rows[i].name) : NULL;
		bool ok = want && h.name ? !strcmp(h.name, want) : want == h.name;
		if (!ok)
			printf("# %s: %s is %s+%llu, not %s\n", file, rows[i].label, h.name ? h.name : "(nothing)", (unsigned long long)h.off, want ? want : "(nothing)");
		CHECK(off && ok);
		CHECK_EQ(h.place, rows[i].name && rows[i].name[0] == '+');
		if (h.place) {
			CHECK_EQ(h.off, 0);
			h = sym_object_off(s, o, off + 1); // all of the function is one place
			CHECK(h.place && h.off == 1 && h.name && !strcmp(h.name, want));
		}
		free(want);
	}
	syms_destroy(s);
}

TEST(what_no_sized_symbol_covers_has_no_foreign_name)
{
	static const struct PlaceRow whole[] = {
		{"sized_small", "sized_small"}, {"small_rest", "small_rest"}, {"sized", "sized"}, {"after_sized", "after_sized"}, {"unsized", "unsized"},
		{"unsized_back", "unsized_back"}, {"after_unsized", "after_unsized"}, {"far_after_unsized", "far_after_unsized"}, {"fde", "fde"},
		{"after_fde", "after_fde"}, {"unsized_fde", "unsized_fde"}, {"after_unsized_fde", "after_unsized_fde"}, {"last", "last"}, {"after_last", "after_last"}};
	static const struct PlaceRow stripped[] = {
		{"sized_small", "sized_small"}, {"small_rest", "sized_small"}, {"sized", "sized"}, {"after_sized", NULL}, {"unsized", "unsized"},
		{"unsized_back", "unsized"}, {"after_unsized", NULL}, {"far_after_unsized", NULL}, {"fde", "+"},
		{"after_fde", NULL}, {"unsized_fde", "unsized_fde"}, {"unsized_fde_end", "unsized_fde"}, {"after_unsized_fde", NULL}, {"last", "last"}, {"after_last", NULL}};
	char *dir = make_dir();
	write_text(dir, "u.s", unsized_code);
	CHECK_EQ(run("cd %s && gcc -shared -nostdlib -Wl,--build-id -o u.so u.s && strip -o s.so u.so && strip -x -o x.so u.so", dir),
		 0);
	check_places(dir, "u.so", whole, ARRAY_LEN(whole));
	check_places(dir, "s.so", stripped, ARRAY_LEN(stripped));
	check_places(dir, "x.so", stripped, ARRAY_LEN(stripped)); // .symtab is there, its local symbols are not
	drop_dir(dir);
}

// Of a stripped program .eh_frame still has the functions' bounds: the same as the symbols had.
TEST(functions_of_a_stripped_file_are_those_of_its_symbols)
{
	char *dir = make_dir();
	write_text(dir, "a.c", code);
	CHECK_EQ(run("cd %s && gcc -O1 -static -o a a.c && strip -o b a", dir), 0);
	struct Syms *s = syms_create(&(struct SymOpts){.debug_dir = "/nonexistent", .no_debuginfod = true});
	struct SymObject *a = object_in(s, dir, "a"), *b = object_in(s, dir, "b");
	char line[1024], *nm = xasprintf("%s/a", dir);
	FILE *f = popenf("nm -S %s | grep -i ' [tw] '", nm);
	u32 n = 0, same = 0, foreign = 0;
	u64 addr, size, off;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %lx", &addr, &size) != 2 || size < 2 || !sym_object_addr_to_off(a, addr, &off))
			continue;
		struct SymHit h = sym_object_off(s, a, off + size - 1), k = sym_object_off(s, b, off + size - 1);
		n++;
		same += k.place && k.start == h.start;
		foreign += k.name && !k.place && strcmp(k.name, h.name);
	}
	pclose(f);
	printf("# %u functions, %u with the same start\n", n, same);
	CHECK(n > 500);
	CHECK(same * 100 >= n * 95); // the others are assembly without .eh_frame, and functions in several pieces
	CHECK_EQ(foreign, 0);
	free(nm);
	syms_destroy(s);
	drop_dir(dir);
}

TEST(copies_of_one_build_are_one_object)
{
	char *dir = make_dir();
	write_text(dir, "a.c", code);
	CHECK_EQ(run("cd %s && gcc -O1 -Wl,--build-id -o a a.c && cp a b && cp a c && cp a d && echo x >> d && cp a e && "
		     "printf x | dd of=e bs=1 seek=40 conv=notrunc 2>/dev/null",
		     dir),
		 0);
	struct Syms *s = syms_create(NULL);
	struct SymObject *a = object_in(s, dir, "a");
	CHECK(a->build_id_len == 20);
	CHECK(object_in(s, dir, "b") == a); // as in two containers made from one image
	CHECK(object_in(s, dir, "d") != a); // another size
	CHECK(object_in(s, dir, "e") != a); // another head
	if (!geteuid()) {
		CHECK_EQ(run("chown 65534 %s/c", dir), 0);
		CHECK(object_in(s, dir, "c") != a); // somebody else's file may claim any build id
	}
	CHECK_EQ(a->id, 1);
	CHECK(sym_object(s, 1) == a);
	syms_destroy(s);
	drop_dir(dir);
}

// Copies have no section headers (memfile.c), as some files have none: one is not taken for such a file, which is not denied by it.
TEST(a_copy_from_memory_is_no_other_files_object)
{
	char *dir = make_dir();
	write_text(dir, "a.c", code);
	CHECK_EQ(run("cd %s && gcc -O1 -Wl,--build-id -o a a.c && cp a b", dir), 0);
	struct Syms *s = syms_create(NULL);
	struct SymObject *a = object_in(s, dir, "a");
	char *path = xasprintf("%s/b", dir);
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !fstat(fd, &st));
	struct SymObject *copy = object_of_copy(s, fd, &st, path, NULL);
	CHECK(copy != a && copy->denied && !a->denied);
	CHECK_EQ(run("cp %s/a %s/c", dir, dir), 0);
	CHECK(object_in(s, dir, "c") == a);
	free(path);
	syms_destroy(s);
	drop_dir(dir);
}

TEST(debug_file_by_link_and_crc)
{
	char *dir = make_dir();
	write_text(dir, "a.c", code);
	CHECK_EQ(run("cd %s && gcc -O1 -g -Wl,--build-id=none -o a a.c && mkdir .debug && objcopy --only-keep-debug a .debug/a.debug && "
		     "strip -o b a && "
		     "objcopy --add-gnu-debuglink=.debug/a.debug b",
		     dir),
		 0);
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = object_in(s, dir, "b");
	u64 off = offset_of(o, dir, "a", "hidden");
	CHECK_STR(sym_object_off(s, o, off).name, "hidden");
	syms_destroy(s);
	// under the debug directory, by the object's own directory
	CHECK_EQ(run("cd %s && mkdir -p d%s && mv .debug/a.debug d%s/", dir, dir, dir), 0);
	char *debug = xasprintf("%s/d", dir);
	s = syms_create(&(struct SymOpts){.debug_dir = debug});
	CHECK_STR(sym_object_off(s, object_in(s, dir, "b"), off).name, "hidden");
	syms_destroy(s);
	// one changed byte: the CRC differs, and a wrong name is worse than none
	CHECK_EQ(run("cd %s && mv d%s/a.debug . && printf x >> a.debug", dir, dir), 0);
	s = syms_create(NULL);
	CHECK(sym_object_off(s, object_in(s, dir, "b"), off).place); // no name but its place
	syms_destroy(s);
	free(debug);
	drop_dir(dir);
}

TEST(debug_file_from_debuginfod)
{
	void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW);
	if (!lib)
		SKIP("no libdebuginfod");
	dlclose(lib);
	char *dir = make_dir();
	write_text(dir, "a.c", code);
	CHECK_EQ(run("cd %s && gcc -O1 -g -Wl,--build-id -o a a.c && id=$(readelf -n a | sed -n 's/.*Build ID: //p') && mkdir -p "
		     "web/buildid/$id && "
		     "objcopy --only-keep-debug a web/buildid/$id/debuginfo && strip -o b a",
		     dir),
		 0);
	char *url = xasprintf("file://%s/web", dir), *cache = xasprintf("%s/cache", dir);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = object_in(s, dir, "b");
	u64 off = offset_of(o, dir, "a", "hidden");
	unsetenv("DEBUGINFOD_URLS");
	CHECK(sym_object_off(s, o, off).place); // not configured: not asked
	syms_destroy(s);
	setenv("DEBUGINFOD_URLS", url, 1);
	s = syms_create(&(struct SymOpts){.no_debuginfod = true});
	CHECK(sym_object_off(s, object_in(s, dir, "b"), off).place); // no name but its place
	syms_destroy(s);
	s = syms_create(NULL);
	CHECK_STR(sym_object_off(s, object_in(s, dir, "b"), off).name, "hidden");
	syms_destroy(s);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	free(url);
	free(cache);
	drop_dir(dir);
}

TEST(mini_debuginfo)
{
	char *dir = make_dir();
	write_text(dir, "a.c", code);
	CHECK_EQ(
	    run("cd %s && gcc -O1 -o a a.c && cp a mini && strip --strip-debug mini && objcopy -S --remove-section=.gnu.version a b && "
		"objcopy --only-keep-debug mini mini.debug && xz -k mini.debug && objcopy --add-section .gnu_debugdata=mini.debug.xz b",
		dir),
	    0);
	struct Syms *s = syms_create(&(struct SymOpts){.no_debuginfod = true});
	struct SymObject *o = object_in(s, dir, "b");
	CHECK_STR(sym_object_off(s, o, offset_of(o, dir, "a", "hidden")).name, "hidden");
	CHECK_STR(sym_object_off(s, o, offset_of(o, dir, "a", "other") + 2).name, "other");
	struct SymDef d;
	CHECK(sym_object_find(s, o, "hidden", &d));
	syms_destroy(s);
	drop_dir(dir);
}

TEST(no_section_headers)
{
	char *dir = make_dir();
	write_text(dir, "a.c",
		   "__attribute__((noinline)) int exported(int x) { return x + 1; }\nint main(int c, char **v) { return exported(c); }\n");
	static const char *const hash[] = {"gnu", "sysv"};
	for (u32 i = 0; i < 2; i++) {
		CHECK_EQ(run("cd %s && gcc -O1 -rdynamic -Wl,--hash-style=%s -o a a.c && strip -o b a", dir, hash[i]), 0);
		char *path = xasprintf("%s/b", dir);
		int fd = open(path, O_RDWR);
		Elf64_Ehdr h;
		CHECK(pread(fd, &h, sizeof(h), 0) == sizeof(h));
		CHECK_EQ(ftruncate(fd, h.e_shoff), 0);
		h.e_shoff = h.e_shnum = h.e_shstrndx = 0;
		CHECK(pwrite(fd, &h, sizeof(h), 0) == sizeof(h));
		close(fd);
		struct Syms *s = syms_create(NULL);
		struct SymObject *o = sym_object_path(s, path);
		CHECK_STR(sym_object_off(s, o, offset_of(o, dir, "a", "exported")).name, "exported");
		struct SymDef d;
		CHECK(sym_object_find(s, o, "exported", &d));
		syms_destroy(s);
		free(path);
	}
	drop_dir(dir);
}

TEST(assembly_labels_reach_to_the_next_symbol)
{
	char *dir = make_dir();
	write_text(dir, "a.s",
		   "\t.text\n\t.globl first, second\nfirst:\n\t.skip 64, 0x90\nsecond:\n\t.skip 32, 0x90\n"
		   "\t.type sized, @function\nsized:\n\t.skip 16, 0x90\ninner:\n\t.skip 16, 0x90\n\t.size sized, .-sized\n"
		   "\t.globl main\nmain:\n\tret\n");
	CHECK_EQ(run("cd %s && gcc -o a a.s 2>/dev/null", dir), 0);
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = object_in(s, dir, "a");
	u64 off = offset_of(o, dir, "a", "first");
	CHECK_STR(sym_object_off(s, o, off + 63).name, "first");
	CHECK_EQ(sym_object_off(s, o, off + 63).off, 63);
	CHECK_STR(sym_object_off(s, o, off + 64).name, "second");
	CHECK_STR(sym_object_off(s, o, off + 95).name, "second");
	CHECK_STR(sym_object_off(s, o, off + 96).name, "sized");
	CHECK_STR(sym_object_off(s, o, off + 116).name, "sized"); // a label inside a sized function is not a function
	syms_destroy(s);
	drop_dir(dir);
}

// ---- inlines and lines. The oracle is llvm-symbolizer, as binutils' addr2line -i names some frames wrongly (of two inlined functions
// beginning at one address it prints the outermost's name) and sees no inlined functions in clang's DWARF 5.
static const char inlined[] =
    "#include <cstdio>\n#include <vector>\n#include <algorithm>\n"
    "namespace ns { template <class T> struct Box { T v; inline T get() const { return v * 2; } }; }\n"
    "static inline __attribute__((always_inline)) int leaf(int x) { volatile int y = x; return y + 1; }\n"
    "static inline __attribute__((always_inline)) int middle(int x) {\n\tint a = leaf(x);\n\treturn a * leaf(x + 3);\n}\n"
    "__attribute__((noinline)) int outer(int x) {\n\tns::Box<int> b{x};\n\tint s = middle(b.get());\n\tfor (int i = 0; i < x; i++)\n\t\ts "
    "+= middle(i);\n\treturn s;\n}\n"
    "__attribute__((noinline)) int sorted(int n) { std::vector<int> v; for (int i = 0; i < n; i++) v.push_back(n - i);\n"
    "\tstd::sort(v.begin(), v.end()); return v[0]; }\n"
    "int main(int c, char **v) { return outer(c) + sorted(c); }\n";

static void against_symbolizer(const char *dir, const char *file)
{
	struct Syms *s = syms_create(&(struct SymOpts){.inlines = true, .lines = true});
	struct SymObject *o = object_in(s, dir, file);
	static const char *const fns[] = {"outer(int)", "sorted(int)", "main"};
	u32 checked = 0, deep = 0, bad = 0;
	for (u32 f = 0; f < ARRAY_LEN(fns); f++) {
		struct SymDef d;
		if (!sym_object_find(s, o, fns[f], &d)) {
			T_FAIL("no %s in %s", fns[f], file);
			continue;
		}
		struct Str addrs = {0};
		for (u64 a = d.addr; a < d.addr + d.size; a++)
			str_addf(&addrs, "0x%lx ", a);
		FILE *p = popenf("llvm-symbolizer --output-style=GNU -e %s/%s -a -f -i -C %s", dir, file, addrs.p);
		str_deinit(&addrs);
		struct SymHit hits[16];
		u32 n = 0, at = 0;
		char line[4096], where[4096];
		for (u64 a = 0; fgets(line, sizeof(line), p);) {
			line[strcspn(line, "\n")] = 0;
			if (!strncmp(line, "0x", 2)) {
				if (a && at != n)
					bad++, printf("# %lx: %u frames, llvm-symbolizer has %u\n", a, n, at);
				a = strtoull(line, NULL, 16);
				n = sym_object_off_inlined(s, o, d.file_off + (a - d.addr), hits, 16);
				at = 0;
				checked++;
				deep += n > 1;
				continue;
			}
			if (!fgets(where, sizeof(where), p))
				break;
			where[strcspn(where, "\n")] = 0;
			char *note = strstr(where, " (discriminator");
			if (note)
				*note = 0;
			char *colon = strrchr(where, ':');
			u32 want = colon ? strtoul(colon + 1, NULL, 10) : 0;
			if (at < n && (strcmp(hits[at].name ? hits[at].name : "??", line) || hits[at].line != want) && bad++ < 10)
				printf("# %lx frame %u: %s line %u, llvm-symbolizer has %s %s\n", a, at, hits[at].name, hits[at].line, line,
				       where);
			else if (at < n && want && hits[at].file && colon &&
				 strncmp(strrchr(hits[at].file, '/'), strrchr(where, '/'), strlen(strrchr(hits[at].file, '/'))) &&
				 bad++ < 10)
				printf("# %lx frame %u: file %s, llvm-symbolizer has %s\n", a, at, hits[at].file, where);
			at++;
		}
		pclose(p);
	}
	printf("# %s: %u addresses, %u inside inlined functions\n", file, checked, deep);
	CHECK(checked > 100);
	CHECK(deep > 30);
	CHECK_EQ(bad, 0);
	syms_destroy(s);
}

TEST(inlined_functions_as_llvm_symbolizer_has_them)
{
	if (run("llvm-symbolizer --version >/dev/null 2>&1"))
		SKIP("no llvm-symbolizer");
	char *dir = make_dir();
	write_text(dir, "a.cc", inlined);
	CHECK_EQ(run("cd %s && g++ -O2 -g -gdwarf-5 -o v5 a.cc && g++ -O2 -g -gdwarf-4 -o v4 a.cc && g++ -O2 -g -gz -o packed a.cc", dir),
		 0);
	against_symbolizer(dir, "v5");
	against_symbolizer(dir, "v4");
	against_symbolizer(dir, "packed");
	if (!run("cd %s && clang++-14 -O2 -g -o clang a.cc 2>/dev/null || clang++ -O2 -g -o clang a.cc 2>/dev/null", dir))
		against_symbolizer(dir, "clang");
	drop_dir(dir);
}

TEST(split_dwarf)
{
	char *dir = make_dir();
	write_text(dir, "a.cc", inlined);
	CHECK_EQ(run("cd %s && g++ -O2 -g -gsplit-dwarf -o split a.cc", dir), 0);
	struct Syms *s = syms_create(&(struct SymOpts){.inlines = true, .lines = true});
	struct SymObject *o = object_in(s, dir, "split");
	struct SymDef d;
	CHECK(sym_object_find(s, o, "outer(int)", &d));
	struct SymHit hits[8];
	u32 most = 0;
	for (u64 i = 0; i < d.size; i++)
		most = MAX(most, sym_object_off_inlined(s, o, d.file_off + i, hits, 8));
	CHECK_EQ(most, 3); // leaf in middle in outer
	syms_destroy(s);
	drop_dir(dir);
}

TEST(inlines_are_off_unless_asked_for)
{
	char *dir = make_dir();
	write_text(dir, "a.cc", inlined);
	CHECK_EQ(run("cd %s && g++ -O2 -g -o a a.cc", dir), 0);
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = object_in(s, dir, "a");
	struct SymDef d;
	CHECK(sym_object_find(s, o, "outer", &d) == false); // without parameters it is no name
	CHECK(sym_object_find(s, o, "_Z5outeri", &d));
	CHECK_STR(d.demangled, "outer(int)");
	struct SymHit hits[8];
	CHECK_EQ(sym_object_off_inlined(s, o, d.file_off + d.size / 2, hits, 8), 1);
	CHECK_STR(hits[0].name, "outer(int)");
	CHECK(!hits[0].file && !hits[0].line);
	syms_destroy(s);
	drop_dir(dir);
}

// ---- USDT
TEST(usdt_notes_as_readelf_shows_them)
{
	static const char *const files[] = {"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
					    "/usr/bin/python3.11"};
	u32 total = 0;
	for (u32 i = 0; i < ARRAY_LEN(files); i++) {
		struct Syms *s = syms_create(NULL);
		struct SymObject *o = sym_object_path(s, files[i]);
		if (!o) {
			syms_destroy(s);
			continue;
		}
		struct UsdtNote *u;
		u32 n, k = 0;
		struct err *e = sym_object_usdt(s, o, &u, &n);
		CHECK(!e);
		FILE *f = popenf("readelf -nW %s 2>/dev/null", files[i]);
		char line[4096], provider[256] = "", name[256] = "";
		u64 pc = 0, base, sem = 0;
		while (fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = 0;
			char *p = strstr(line, "Provider: ");
			if (p)
				sscanf(p + 10, "%255s", provider);
			if (p || sscanf(line, " Name: %255s", name) == 1 ||
			    sscanf(line, " Location: %lx, Base: %lx, Semaphore: %lx", &pc, &base, &sem) == 3)
				continue;
			char *args = strstr(line, "Arguments:");
			if (!args || k >= n)
				continue;
			args += strlen("Arguments:");
			args += *args == ' ';
			CHECK_STR(u[k].provider, provider);
			CHECK_STR(u[k].name, name);
			CHECK_STR(u[k].args, args);
			CHECK_EQ(u[k].pc, pc);
			u64 off;
			CHECK(sym_object_addr_to_off(o, pc, &off) && off == u[k].pc_off);
			CHECK_EQ(sem != 0, u[k].sem_off != 0);
			k++;
		}
		pclose(f);
		CHECK_EQ(k, n);
		total += n;
		syms_destroy(s);
	}
	if (!total)
		SKIP("no binary with USDT probes here");
}

// ---- damaged files
TEST(damaged_files_give_errors)
{
	char *dir = make_dir();
	write_text(dir, "a.c", code);
	CHECK_EQ(run("cd %s && gcc -g -O1 -o a a.c", dir), 0);
	char *path = xasprintf("%s/a", dir), *bad = xasprintf("%s/bad", dir);
	struct Str good = {0};
	struct err *e = read_file(path, &good, 1 << 24);
	CHECK(!e);
	srandom(1);
	for (u32 round = 0; round < 300; round++) {
		struct Str b = {0};
		str_addn(&b, good.p, round % 3 ? good.n : (size_t)random() % good.n);
		for (u32 i = 0; i < 40 && b.n; i++) {
			// half of the damage goes where it hurts: headers at the start, section headers at the end
			size_t at = i % 2   ? (size_t)random() % b.n
				    : i % 4 ? (size_t)random() % MIN(b.n, (size_t)1024)
					    : b.n - 1 - (size_t)random() % MIN(b.n, (size_t)2400);
			b.p[at] = round % 2 ? random() : 0xff;
		}
		if (b.n > 4)
			memcpy(b.p, "\177ELF\2\1", 6);
		FILE *f = fopen(bad, "w");
		fwrite(b.p, 1, b.n, f);
		fclose(f);
		struct Syms *s = syms_create(&(struct SymOpts){.inlines = true, .lines = true});
		struct SymObject *o = sym_object_path(s, bad);
		struct SymHit hits[4];
		for (u64 off = 0; o && off < b.n; off += 97)
			sym_object_off_inlined(s, o, off, hits, 4);
		struct SymDef d;
		struct UsdtNote *u;
		u32 n;
		if (o) {
			sym_object_find(s, o, "hidden", &d);
			err_free(sym_object_usdt(s, o, &u, &n));
		}
		syms_destroy(s);
		unlink(bad);
		str_deinit(&b);
	}
	str_deinit(&good);
	free(path);
	free(bad);
	drop_dir(dir);
}

T_MAIN()
