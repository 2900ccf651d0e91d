// The C declarations of scripts: the preprocessor, constant expressions, struct layout against the compiler, errors with their place.
#include "t.h"
#include "ctype/internal.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct Env {
	struct Arena a;
	struct TypeTab tab;
	struct Diags d;
	struct Ctypes *c;
};

static void env_init(struct Env *e, const char *text)
{
	*e = (struct Env){0};
	typetab_init(&e->tab, &e->a);
	e->c = ctypes_create(&e->a, &e->tab, &e->d);
	u32 file = diags_add_source(&e->d, "stdin", text, strlen(text));
	struct CText t = {.span = {0, (u32)strlen(text), file}};
	ctypes_add_preamble(e->c, &t, NULL, 0, NULL, 0);
}

static void env_deinit(struct Env *e)
{
	ctypes_destroy(e->c);
	typetab_deinit(&e->tab);
	diags_deinit(&e->d);
	arena_deinit(&e->a);
}

static void show_errors(struct Env *e)
{
	struct Str s = {0};
	diags_render(&e->d, true, &s);
	if (s.n)
		T_FAIL("unexpected:\n%s", s.p);
	str_deinit(&s);
}

// name, type, offset, bits: one member a line, anonymous ones indented.
static void dump(const struct Type *t, int depth, struct Str *out)
{
	str_addf(out, "%*s%s %s size %u align %u\n", depth, "", t->rec->is_union ? "union" : "struct", t->rec->name, t->size, t->rec->align);
	for (u32 i = 0; i < t->rec->nfields; i++) {
		const struct Field *f = &t->rec->fields[i];
		str_addf(out, "%*s%u", depth + 1, "", f->off);
		if (f->bit_size)
			str_addf(out, ":%u+%u", f->bit_off, f->bit_size);
		str_addf(out, " %s ", f->name);
		if (f->type->kind != TY_RECORD || *f->type->rec->name)
			ty_name(f->type, out);
		str_addc(out, '\n');
		if (!*f->name)
			dump(f->type, depth + 2, out);
	}
}

#define CHECK_DUMP(src, name, want)                                                                                    \
	do {                                                                                                           \
		struct Env e;                                                                                          \
		struct Str s = {0};                                                                                    \
		env_init(&e, src);                                                                                     \
		show_errors(&e);                                                                                       \
		const struct Type *t = ctype_lookup(e.c, name);                                                        \
		if (t && t->kind == TY_RECORD)                                                                         \
			dump(t, 0, &s);                                                                                \
		CHECK_STR(str_text(&s), want);                                                                         \
		str_deinit(&s);                                                                                        \
		env_deinit(&e);                                                                                        \
	} while (0)

TEST(members)
{
	CHECK_DUMP("struct Foo { int x; char y[16]; unsigned long *z; }", "struct Foo",
		   "struct Foo size 32 align 8\n 0 x int32\n 4 y int8[16]\n 24 z uint64 *\n");
	CHECK_DUMP("struct A { struct { int a; union { char b; long c; }; } in; int m[2][3]; int (*fn)(int, char *); char **v; };", "A",
		   "struct A size 56 align 8\n 0 in \n 16 m int32[3][2]\n 40 fn void *\n 48 v int8 * *\n");
	CHECK_DUMP("struct L { struct L *next, *prev; };", "struct L", "struct L size 16 align 8\n 0 next struct L *\n 8 prev struct L *\n");
	CHECK_DUMP("struct B; struct A { struct B *b; };\nstruct B { struct A a; short s; };", "struct B",
		   "struct B size 16 align 8\n 0 a struct A\n 8 s int16\n");
	CHECK_DUMP("struct A { struct { int x; }; union { int y; char z; }; char flex[]; };", "struct A",
		   "struct A size 8 align 4\n 0  \n  struct  size 4 align 4\n   0 x int32\n 4  \n  union  size 4 align 4\n"
		   "   0 y int32\n   0 z int8\n 8 flex int8[0]\n");
	CHECK_DUMP("typedef struct no_such_io FILE_t; typedef FILE_t *fp; struct F { FILE_t *f; fp g; };", "struct F",
		   "struct F size 16 align 8\n 0 f struct no_such_io *\n 8 g struct no_such_io *\n");
	CHECK_DUMP("typedef unsigned int u; typedef u v[4]; typedef struct { v x; u y:3, :5, z:24; } S;", "S",
		   "struct  size 20 align 4\n 0 x uint32[4]\n 16:0+3 y uint32\n 17:0+24 z uint32\n");
}

TEST(two_on_a_line_without_semicolon)
{
	struct Env e;
	env_init(&e, "struct A { int x; }\nstruct B { struct A a; }\nenum e { X, Y }\ntypedef struct B b_t;");
	show_errors(&e);
	const struct Type *t = ctype_lookup(e.c, "b_t");
	CHECK(t && t == ctype_lookup(e.c, "struct B"));
	env_deinit(&e);
}

TEST(enums)
{
	struct Env e;
	s64 v = 0;
	const struct Type *t;
	env_init(&e, "enum A { X, Y = 5, Z, NEG = -1, BIG = (1 << 4) | 1 };\nenum { ANON = X + 3 };\nstruct S { char a[Z]; enum A e; };"
		     "enum big { B = 0x100000000 };");
	show_errors(&e);
	CHECK(ctype_enum_const(e.c, "Z", &v, &t) && v == 6);
	CHECK_STR(t->en->name, "A");
	CHECK_EQ(t->en->n, 5);
	CHECK(t->sgn);
	CHECK(ctype_enum_const(e.c, "BIG", &v, &t) && v == 17);
	CHECK(ctype_enum_const(e.c, "ANON", &v, &t) && v == 3);
	CHECK(ctype_enum_const(e.c, "B", &v, &t) && v == 0x100000000 && t->size == 8);
	t = ctype_lookup(e.c, "struct S");
	CHECK(t && t->size == 12);
	CHECK(ctype_lookup(e.c, "enum A") && ctype_lookup(e.c, "enum A")->en);
	env_deinit(&e);
}

#define CHECK_MACRO(name, want)                                                                                        \
	do {                                                                                                           \
		const char *m_ = ctype_macro(e.c, name);                                                               \
		if (want)                                                                                              \
			CHECK_STR(m_, want ? want : "");                                                               \
		else                                                                                                   \
			CHECK(!m_);                                                                                    \
	} while (0)

TEST(macros)
{
	struct Env e;
	env_init(&e, "#define A 3\n#define B (A + 0x10)\n#define C B * 2 // x\n#define S \"text\"\n#define F(x, y) ((x) << (y))\n"
		     "#define G F(A, 4)\n#define U ~0UL\n#define W ~0U\n#define CH 'a'\n#define SELF SELF\n#define P1 P2\n#define P2 P1\n"
		     "#define CAST ((unsigned char)0x1ff)\n#define SZ sizeof(struct s)\n#define NEG (-5)\n#define EMPTY\n#define CAT(a, b) a##b\n"
		     "#define LONG_ONE 1 + \\\n 2\n#define CALLED CAT(A, BC)\n#define ABC 99\n#undef B\n#define B 4\n#define Q(x) #x\n#define QQ Q(a + b)\n"
		     "#define EXPR $x + 1\n#define SUF 10ULL\nstruct s { char c[B]; };\n");
	show_errors(&e);
	CHECK_MACRO("A", "3");
	CHECK_MACRO("B", "4");
	CHECK_MACRO("C", "8");
	CHECK_MACRO("S", "\"text\"");
	CHECK_MACRO("F", (char *)NULL);
	CHECK_MACRO("G", "48");
	CHECK_MACRO("U", "18446744073709551615");
	CHECK_MACRO("W", "4294967295");
	CHECK_MACRO("CH", "97");
	CHECK_MACRO("SELF", "SELF");
	CHECK_MACRO("P1", "P1");
	CHECK_MACRO("CAST", "255");
	CHECK_MACRO("SZ", "4");
	CHECK_MACRO("NEG", "-5");
	CHECK_MACRO("EMPTY", (char *)NULL);
	CHECK_MACRO("LONG_ONE", "3");
	CHECK_MACRO("CALLED", "99");
	CHECK_MACRO("QQ", "\"a + b\"");
	CHECK_MACRO("EXPR", "$x + 1");
	CHECK_MACRO("SUF", "10");
	CHECK_MACRO("NOT_THERE_AT_ALL", (char *)NULL);
	// without any header
	CHECK_MACRO("AF_INET", "2");
	CHECK_MACRO("IFNAMSIZ", "16");
	CHECK_MACRO("EPERM", "1");
	CHECK_MACRO("TASK_DEAD", "128");
	s64 v = 0;
	const struct Type *t;
	const char *tcp = ctype_macro(e.c, "TCP_LISTEN"); // an enumerator where there is BTF
	CHECK(tcp ? !strcmp(tcp, "10") : ctype_enum_const(e.c, "TCP_LISTEN", &v, &t) && v == 10);
	CHECK_MACRO("O_CREAT", "64");
	CHECK_MACRO("SIGKILL", "9");
	CHECK_MACRO("CLONE_VM", "256");
	CHECK_MACRO("S_IFMT", "61440");
	env_deinit(&e);
}

TEST(conditions)
{
	struct Env e;
	env_init(&e, "#define ONE 1\n#if ONE && !defined(TWO)\n#define R1 1\n#else\n#define R1 2\n#endif\n"
		     "#ifdef TWO\n#define R2 1\n#elif ONE == 2\n#define R2 2\n#elif ONE == 1\n#define R2 3\n#else\n#define R2 4\n#endif\n"
		     "#ifndef TWO\n# ifdef ONE\n#define R3 1\n# endif\n#endif\n"
		     "#if 0\n#error no\n#if 1\n#define R3 5\n#endif\n#endif\n"
		     "#if LINUX_VERSION_CODE >= KERNEL_VERSION(4, 19, 0)\n#define R4 1\n#endif\n"
		     "#if (1 ? 2 : 1/0) == 2 && -1 < 0\n#define R5 1\n#endif\n#if UNKNOWN_NAME\n#else\n#define R6 1\n#endif\n"
		     "#if defined AF_INET && AF_INET == 2\n#define R7 1\n#endif\n#if defined(__x86_64__) || defined(__aarch64__)\n#define R8 1\n#endif\n");
	show_errors(&e);
	CHECK_MACRO("R1", "1");
	CHECK_MACRO("R2", "3");
	CHECK_MACRO("R3", "1");
	CHECK_MACRO("R4", "1");
	CHECK_MACRO("R5", "1");
	CHECK_MACRO("R6", "1");
	CHECK_MACRO("R7", "1");
	CHECK_MACRO("R8", "1");
	env_deinit(&e);
}

static void check_error(const char *src, const char *want)
{
	struct Env e;
	struct Str s = {0};
	env_init(&e, src);
	diags_render(&e.d, false, &s);
	CHECK_STR(str_text(&s), want);
	str_deinit(&s);
	env_deinit(&e);
}

TEST(errors)
{
	check_error("struct A { int x; }\nstruct A { int y; };", "stdin:2:8-9: ERROR: redefinition of 'struct A'\nstruct A { int y; };\n       ~\n");
	check_error("struct A { int x; int x; };", "stdin:1:23-24: ERROR: duplicate member 'x'\nstruct A { int x; int x; };\n"
						   "                      ~\n");
	check_error("struct A { int x int y; };", "stdin:1:18-21: ERROR: ';' is missing here\nstruct A { int x int y; };\n                 ~~~\n");
	check_error("struct A { int a[-1]; };", "stdin:1:17-18: ERROR: this array cannot be that large\nstruct A { int a[-1]; };\n"
						"                ~\n");
	check_error("struct A { struct A a; };", "stdin:1:21-22: ERROR: member 'a' has the incomplete type 'struct A'\nstruct A { struct A a; };\n"
						 "                    ~\n");
	check_error("struct A { int x : 40; };", "stdin:1:20-22: ERROR: bit-field 'x' cannot have 40 bits\nstruct A { int x : 40; };\n"
						 "                   ~~\n");
	check_error("enum e { X, X };", "stdin:1:13-14: ERROR: redefinition of enumerator 'X'\nenum e { X, X };\n            ~\n");
	check_error("struct A { int a[1 / 0]; };", "stdin:1:23-24: ERROR: division by zero\nstruct A { int a[1 / 0]; };\n"
						   "                      ~\n");
	check_error("#if 1\nstruct A { int x; };", "stdin:1:2-4: ERROR: this #if has no #endif\n#if 1\n ~~\n");
	check_error("#endif", "stdin:1:2-7: ERROR: #endif without #if\n#endif\n ~~~~~\n");
	check_error("#include \"no/such.h\"", "stdin:1:10-21: ERROR: cannot find the header \"no/such.h\"\n#include \"no/such.h\"\n         ~~~~~~~~~~~\n"
					     "HINT: It is looked for next to the script, in the current directory, under each -I directory and in the "
					     "system's.\n");
	check_error("#error stop here", "stdin:1:2-7: ERROR: #error stop here\n#error stop here\n ~~~~~\n");
	check_error("#define N M\n#define M oops\nstruct A { int x[N]; };", "stdin:3:18-19: ERROR: 'oops' is no constant known here\n"
									   "struct A { int x[N]; };\n                 ~\n");
}

// An unknown type names the header that is not installed; a header alone is no error.
TEST(missing_header)
{
	struct Env e;
	struct Str s = {0};
	env_init(&e, "#include <linux/no_such_header.h>\nstruct A { no_such_type_t x; };");
	diags_render(&e.d, false, &s);
	CHECK(strstr(str_text(&s), "unknown type 'no_such_type_t'") != NULL);
	CHECK(strstr(str_text(&s), "HINT: Not installed here, and so not read: <linux/no_such_header.h>") != NULL);
	str_deinit(&s);
	env_deinit(&e);
	env_init(&e, "#include <kernel/no_such_header.h>\nstruct A { int x; };");
	show_errors(&e);
	env_deinit(&e);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

TEST(headers)
{
	struct Env e = {0};
	char dir[] = "/tmp/cdecl_test.XXXXXX", cmd[64];
	CHECK(mkdtemp(dir) != NULL);
	write_file(dir, "a.h", "#ifndef A_H\n#define A_H\n#include \"b.h\"\n#define FROM_A 7\nstruct from_a { struct from_b b; int n[FROM_A]; };\n"
			       "static inline int f(struct from_a *a) { return a->n[0]; }\nextern int v;\nint g(void);\nstruct broken { nonsense x y; };\n"
			       "enum { IN_A = 3 };\n#endif\n");
	write_file(dir, "b.h", "#pragma once\nstruct from_b { char c[3]; } __attribute__((packed));\n#include \"a.h\"\n");
	write_file(dir, "loop.h", "#include \"loop.h\"\nstruct looped { int x; };\n");
	const char *dirs[] = {dir};
	static const char text[] = "#include <a.h>\n#include <loop.h>\n#include \"a.h\"\nstruct mine { struct from_a a; };";
	typetab_init(&e.tab, &e.a);
	e.c = ctypes_create(&e.a, &e.tab, &e.d);
	u32 file = diags_add_source(&e.d, "stdin", text, strlen(text));
	struct CText t = {.span = {0, (u32)strlen(text), file}};
	const char *extra[] = {"b.h"};
	ctypes_add_preamble(e.c, &t, dirs, 1, extra, 1);
	show_errors(&e);
	const struct Type *ty = ctype_lookup(e.c, "struct mine");
	CHECK(ty && ty->size == 32);
	CHECK_MACRO("FROM_A", "7");
	s64 v = 0;
	CHECK(ctype_enum_const(e.c, "IN_A", &v, &ty) && v == 3);
	CHECK(ctype_lookup(e.c, "struct looped") != NULL);
	CHECK(!ctype_lookup(e.c, "struct broken"));
	CHECK(ctype_unresolved_hint(e.c) && strstr(ctype_unresolved_hint(e.c), "a.h:9: unknown type 'nonsense'"));
	env_deinit(&e);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	CHECK_EQ(system(cmd), 0);
}

// System headers are read only when a name needs them, and then leniently.
TEST(system_headers_are_lazy)
{
	struct Env e;
	if (access("/usr/include/netdb.h", R_OK))
		SKIP("no libc headers");
	env_init(&e, "#include <netdb.h>\n#include <linux/fs.h>\nstruct A { int x; };");
	show_errors(&e);
	CHECK(!e.c->headers);
	CHECK(ctype_lookup(e.c, "struct A") != NULL);
	CHECK_MACRO("AF_INET", "2");
	CHECK(!e.c->headers);
	const struct Type *t = ctype_lookup(e.c, "struct addrinfo");
	CHECK(t && t->size == 48 && e.c->headers);
	CHECK_MACRO("NI_MAXHOST", "1025");
	show_errors(&e);
	env_deinit(&e);
	env_init(&e, "#include <netdb.h>\n#if NI_MAXSERV == 32\nstruct A { char x[NI_MAXSERV]; };\n#endif\n");
	show_errors(&e);
	CHECK(ctype_lookup(e.c, "struct A") != NULL);
	env_deinit(&e);
}

TEST(declaration_text)
{
	struct Env e;
	struct Str s = {0};
	env_init(&e, "enum c { R, G = 4 };\nstruct A { struct { int a:3; char *p[2]; } in; union { long l; double d; }; enum c e; struct A *next; };");
	CHECK(ctype_struct_text(e.c, "struct A", &s));
	CHECK_STR(str_text(&s), "struct A {\n\tstruct {\n\t\tint a: 3;\n\t\tchar *p[2];\n\t} in;\n\tunion {\n\t\tlong l;\n\t\tdouble d;\n\t};\n"
				"\tenum c e;\n\tstruct A *next;\n};\n");
	str_reset(&s);
	CHECK(ctype_struct_text(e.c, "enum c", &s));
	CHECK_STR(str_text(&s), "enum c {\n\tR = 0,\n\tG = 4,\n};\n");
	CHECK(!ctype_struct_text(e.c, "struct no_such_struct_at_all", &s));
	str_deinit(&s);
	env_deinit(&e);
}

// ---- layout against the compiler

static u32 rnd_state = 12345;
static u32 rnd(u32 n)
{
	rnd_state = rnd_state * 1664525 + 1013904223;
	return (rnd_state >> 8) % n;
}

// A random struct; *bits: names of bit-fields go to `bits` for the run-time check.
static void random_struct(struct Str *s, int nth)
{
	static const char *const types[] = {"char", "short", "int", "long", "unsigned char", "unsigned long long", "void *", "_Bool", "u8_t", "u64_t"};
	static const char *const bit_types[] = {"int", "unsigned int", "unsigned char", "unsigned long", "short", "_Bool"};
	static const u32 max_bits[] = {32, 32, 8, 64, 16, 1};
	u32 pack = rnd(8) == 0 ? 1u << rnd(4) : 0;
	if (pack)
		str_addf(s, "#pragma pack(push, %u)\n", pack);
	bool packable = !pack; // gcc and clang disagree about packed bit-fields under #pragma pack
	str_addf(s, "%s s%d {\n", rnd(6) ? "struct" : "union", nth);
	for (u32 i = 0, n = 1 + rnd(8); i < n; i++) {
		u32 what = rnd(12), b = rnd(ARRAY_LEN(bit_types));
		const char *attr = rnd(10) ? "" : packable && rnd(2) ? " __attribute__((packed))" : " __attribute__((aligned(16)))";
		if (what < 4)
			str_addf(s, "\t%s f%u%s;\n", types[rnd(ARRAY_LEN(types))], i, attr);
		else if (what < 8)
			str_addf(s, "\t%s f%u : %u;\n", bit_types[b], i, 1 + rnd(max_bits[b]));
		else if (what == 8)
			str_addf(s, "\t%s : %u;\n", bit_types[b], rnd(3) ? rnd(max_bits[b]) + 1 : 0);
		else if (what == 9)
			str_addf(s, "\t%s f%u[%u];\n", types[rnd(ARRAY_LEN(types))], i, 1 + rnd(5));
		else if (what == 10 && nth)
			str_addf(s, "\tu%u_t f%u[2][3];\n", 8 << 3 * rnd(2), i);
		else
			str_addf(s, "\t%s { char a%u; %s b%u; };\n", rnd(2) ? "struct" : "union", i, types[rnd(ARRAY_LEN(types))], i);
	}
	str_addf(s, "}%s;\n", rnd(7) ? "" : packable && rnd(2) ? " __attribute__((packed))" : " __attribute__((aligned(32)))");
	if (pack)
		str_add(s, "#pragma pack(pop)\n");
}

static const char fixed[] =
	"typedef unsigned char u8_t; typedef unsigned long u64_t;\n"
	"struct inner { char c; long l; };\n"
	"struct a0 { char c; struct inner i; char d; };\n"
	"struct a1 { char c; struct inner i; char d; } __attribute__((packed));\n"
	"struct a2 { char c; int x __attribute__((aligned(32))); };\n"
	"struct __attribute__((packed, aligned(4))) a3 { char c; long l; short s; };\n"
	"struct a4 { int a:3; int b:30; char c; int :0; int d:1; };\n"
	"struct a5 { long a:40; long b:30; char c:7; char d:2; };\n"
	"struct a6 { char a; _Alignas(16) char b; };\n"
	"union a7 { char a[13]; int b; struct inner i; };\n"
	"struct a8 { char n[(sizeof(struct a0) + 3) & ~3]; };\n"
	"struct a9 { enum { K1 = 1, K2 } e; enum { P1 } __attribute__((packed)) p; };\n"
	"struct b0 { __int128 w; char c; };\n"
	"struct b1 { unsigned a:1, b:2, :0, c:3; unsigned char d:4; };\n"
	"struct b2 { struct { char x; } e[3]; float f; double g; };\n"
	"struct b3 { char c; struct { int i; char t; } __attribute__((packed)) in; long z; };\n"
	"struct b4 { int (*f[3])(int); char (*g)[5]; };\n"
	"struct b5 { const volatile unsigned long int * const restrict p; signed char s; long long int q; unsigned u; };\n";

// Bit-field check: with only this member set to all ones, these bits of the object are set.
static void bit_check(const struct Type *t, const char *tag, const struct Field *f, struct Str *out)
{
	str_addf(out, "\t{ %s x; memset(&x, 0, sizeof(x)); x.%s = -1; unsigned char *b = (void *)&x; for (unsigned i = 0; i < sizeof(x) * 8; i++)"
		      " if ((b[i / 8] >> i %% 8 & 1) != (i >= %u && i < %u)) { puts(\"%s.%s\"); bad = 1; break; } }\n",
		 tag, f->name, f->off * 8 + f->bit_off, f->off * 8 + f->bit_off + f->bit_size, tag, f->name);
}

static void emit_checks(const struct Type *t, struct Str *out)
{
	char tag[64];
	snprintf(tag, sizeof(tag), "%s %s", t->rec->is_union ? "union" : "struct", t->rec->name);
	str_addf(out, "\t_Static_assert(sizeof(%s) == %u, \"\");\n\t_Static_assert(_Alignof(%s) == %u, \"\");\n", tag, t->size, tag, t->rec->align);
	for (u32 i = 0; i < t->rec->nfields; i++) {
		const struct Field *f = &t->rec->fields[i];
		if (!*f->name) {
			for (u32 k = 0; k < f->type->rec->nfields; k++)
				str_addf(out, "\t_Static_assert(offsetof(%s, %s) == %u, \"\");\n", tag, f->type->rec->fields[k].name,
					 f->off + f->type->rec->fields[k].off);
		} else if (f->bit_size)
			bit_check(t, tag, f, out);
	}
}

static bool is_bitfield_in(const char *src, const char *tag, const char *name)
{
	const char *at = strstr(src, tag), *end = at ? strstr(at, "\n}") : NULL;
	char pat[32];
	snprintf(pat, sizeof(pat), " %s : ", name);
	const char *hit = at ? strstr(at, pat) : NULL;
	return hit && end && hit < end;
}

static int compile_and_run(const char *src)
{
	char path[] = "/tmp/cdecl_gcc.XXXXXX", cmd[256];
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	fputs(src, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd), "gcc -w -std=gnu17 -x c -o %s.out %s && %s.out", path, path, path);
	int rc = system(cmd);
	snprintf(cmd, sizeof(cmd), "%s.out", path);
	unlink(cmd);
	if (!rc)
		unlink(path);
	else
		printf("# see %s\n", path);
	return rc;
}

TEST(layout_as_gcc)
{
	struct Env e;
	struct Str src = {0}, prog = {0};
	if (system("command -v gcc >/dev/null 2>&1"))
		SKIP("no gcc");
	str_add(&src, fixed);
	for (int i = 0; i < 600; i++)
		random_struct(&src, i);
	env_init(&e, src.p);
	show_errors(&e);
	str_addf(&prog, "#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n%s\nint main(void)\n{\n\tint bad = 0;\n", src.p);
	u32 n = 0;
	for (u32 i = 0; i < e.c->names.n; i++) {
		const struct Type *t = e.c->names.slots[i].val;
		if (!t || t->kind != TY_RECORD || record_origin(t->rec)->kind != ORIGIN_CDECL || !*t->rec->name || !strcmp(t->rec->name, "__int128"))
			continue;
		emit_checks(t, &prog);
		for (u32 k = 0; k < t->rec->nfields; k++) {
			const struct Field *f = &t->rec->fields[k];
			char tag[40];
			snprintf(tag, sizeof(tag), " %s {", t->rec->name);
			if (*f->name && !f->bit_size && !is_bitfield_in(src.p, tag, f->name))
				str_addf(&prog, "\t_Static_assert(offsetof(%s %s, %s) == %u, \"\");\n", t->rec->is_union ? "union" : "struct", t->rec->name,
					 f->name, f->off);
		}
		n++;
	}
	str_add(&prog, "\treturn bad;\n}\n");
	CHECK(n > 400);
	CHECK_EQ(compile_and_run(prog.p), 0);
	str_deinit(&src);
	str_deinit(&prog);
	env_deinit(&e);
}

T_MAIN()
