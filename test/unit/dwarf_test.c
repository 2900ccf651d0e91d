// Arguments and types of user functions from DWARF, with binaries made by the compiler at hand.
#include "t.h"
#include "ctype/internal.h"
#include <sys/stat.h>

struct Env {
	struct Arena a;
	struct TypeTab tab;
	struct Diags d;
	struct Ctypes *c;
	char dir[64], bin[96];
};

static bool env_init(struct Env *e, const char *compiler, const char *src, const char *then)
{
	char cmd[512];
	*e = (struct Env){.dir = "/tmp/dwarf_test.XXXXXX"};
	snprintf(cmd, sizeof(cmd), "command -v %.*s >/dev/null 2>&1", (int)strcspn(compiler, " "), compiler);
	if (system(cmd))
		return false;
	CHECK(mkdtemp(e->dir) != NULL);
	snprintf(e->bin, sizeof(e->bin), "%s/prog", e->dir);
	char path[96];
	snprintf(path, sizeof(path), "%s/src.%s", e->dir, strstr(compiler, "++") ? "cc" : "c");
	FILE *f = fopen(path, "w");
	fputs(src, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd), "cd %s && %s -w -o prog %s && %s", e->dir, compiler, path, then ? then : "true");
	CHECK_EQ(system(cmd), 0);
	typetab_init(&e->tab, &e->a);
	e->c = ctypes_create(&e->a, &e->tab, &e->d);
	return true;
}

static void env_deinit(struct Env *e)
{
	char cmd[128];
	ctypes_destroy(e->c);
	typetab_deinit(&e->tab);
	diags_deinit(&e->d);
	arena_deinit(&e->a);
	snprintf(cmd, sizeof(cmd), "rm -r %s", e->dir);
	CHECK_EQ(system(cmd), 0);
}

// "name type @reg" of each listed argument, then the return type, then each parameter's text.
static void show(struct Env *e, const char *func, struct Str *out)
{
	struct Record *args;
	const struct Type *ret;
	struct err *er = ctype_uprobe_args(e->c, e->bin, func, &args, &ret);
	if (er) {
		str_addf(out, "error: %s\n", err_text(er));
		err_free(er);
		return;
	}
	for (u32 i = 0; i < args->nfields; i++) {
		str_addf(out, "%s ", args->fields[i].name);
		ty_name(args->fields[i].type, out);
		str_addf(out, " @%u\n", args->fields[i].off / 8);
	}
	str_add(out, "-> ");
	ty_name(ret, out);
	for (u32 i = 0; i < record_origin(args)->ntext; i++)
		str_addf(out, "%s%s", i ? ", " : "\n", record_origin(args)->text[i]);
}

#define CHECK_FUNC(e, func, want)                                                                                      \
	do {                                                                                                           \
		struct Str s_ = {0};                                                                                   \
		show(e, func, &s_);                                                                                    \
		CHECK_STR(str_text(&s_), want);                                                                        \
		str_deinit(&s_);                                                                                       \
	} while (0)

static const char c_source[] =
	"#include <stddef.h>\n#include <stdbool.h>\n"
	"enum color { RED, GREEN = 5 };\nunion u { int a; char b[3]; };\n"
	"struct in { int x, y; };\nstruct big { long v[4]; };\nstruct fl { float a, b; };\nstruct mix { double d; int i; };\n"
	"struct foo { char name[16]; struct in in; unsigned a : 3, b : 7; struct foo *next; int m[2][3]; struct { int anon1; union { short s; long l; }; };"
	" enum color c; bool flag; double d; int (*fn)(int); };\n"
	"typedef struct { int t; } td;\n"
	"__attribute__((noinline)) int scalars(int a, const char *s, unsigned char c, bool b, enum color e, size_t n, long seventh) { return a + b; }\n"
	"__attribute__((noinline)) struct foo *ptrs(struct foo *f, td *t, union u *u, void *p, int (*cb)(int)) { return f; }\n"
	"__attribute__((noinline)) void floats(double d, int i, float f, long j) { }\n"
	"__attribute__((noinline)) struct big aggr(struct in a, struct big b, struct fl c, struct mix m, int last) { return b; }\n"
	"static inline __attribute__((always_inline)) int inl(int x) { return x * 3; }\n"
	"int array(int v[4], char **argv) { return inl(v[0]); }\n"
	"__attribute__((noinline)) static void noargs(void) { __asm__(\"\"); }\n"
	"int main(int argc, char **argv) { struct foo f; struct big b = {0}; struct in i = {0}; struct fl x = {0}; struct mix m = {0};\n"
	" noargs(); scalars(argc, 0, 0, 0, 0, 0, 0); ptrs(&f, 0, 0, 0, 0); floats(1, 2, 3, 4); aggr(i, b, x, m, 1); return array(&argc, argv); }\n";

static void check_c(struct Env *e)
{
#if defined(__x86_64__)
	CHECK_FUNC(e, "scalars", "a int32 @0\ns int8 * @1\nc uint8 @2\nb uint8 @3\ne enum color @4\nn uint64 @5\n-> int32\n"
				 "int a, const char* s, unsigned char c, _Bool b, enum color e, size_t n, long int seventh");
	CHECK_FUNC(e, "aggr", "last int32 @3\n-> struct big\nstruct in a, struct big b, struct fl c, struct mix m, int last");
#else
	CHECK_FUNC(e, "scalars", "a int32 @0\ns int8 * @1\nc uint8 @2\nb uint8 @3\ne enum color @4\nn uint64 @5\nseventh int64 @6\n-> int32\n"
				 "int a, const char* s, unsigned char c, _Bool b, enum color e, size_t n, long int seventh");
#endif
	CHECK_FUNC(e, "ptrs", "f struct foo * @0\nt struct {} * @1\nu union u * @2\np void * @3\ncb void * @4\n-> struct foo *\n"
			      "struct foo* f, td* t, union u* u, void* p, void (*)() cb");
	CHECK_FUNC(e, "floats", "i int32 @0\nj int64 @1\n-> void\ndouble d, int i, float f, long int j");
	CHECK_FUNC(e, "array", "v int32 * @0\nargv int8 * * @1\n-> int32\nint* v, char** argv");
	CHECK_FUNC(e, "noargs", "-> void");
}

static void check_struct(struct Env *e)
{
	const struct Type *t = ctype_lookup(e->c, "struct foo");
	struct Field f;
	CHECK(t && t->kind == TY_RECORD && ctype_record_load(e->c, t->rec));
	if (!t)
		return;
	CHECK(record_field(t->rec, "name", &f) && f.off == 0 && f.type->kind == TY_ARRAY && f.type->elem->is_char && f.type->n == 16);
	CHECK(record_field(t->rec, "a", &f) && f.off == 24 && f.bit_off == 0 && f.bit_size == 3);
	CHECK(record_field(t->rec, "b", &f) && f.off == 24 && f.bit_off == 3 && f.bit_size == 7);
	CHECK(record_field(t->rec, "next", &f) && f.off == 32 && f.type->elem == t && f.type->as == AS_USER);
	CHECK(record_field(t->rec, "m", &f) && f.type->n == 2 && f.type->elem->n == 3);
	CHECK(record_field(t->rec, "l", &f) && f.off == 72);
	CHECK(record_field(t->rec, "c", &f) && f.type->en && f.type->en->n == 2 && f.type->en->consts[1].val == 5);
	CHECK(record_field(t->rec, "d", &f) && f.type->kind == TY_NONE && f.type->size == 8);
	CHECK_EQ(t->size, 104);
	CHECK(ctype_lookup(e->c, "td") && ctype_lookup(e->c, "td")->size == 4);
	CHECK(ctype_lookup(e->c, "union u") && ctype_lookup(e->c, "enum color"));
}

TEST(c_arguments)
{
	struct Env e;
	if (!env_init(&e, "gcc -g -O1", c_source, NULL))
		SKIP("no gcc");
	check_c(&e);
	check_struct(&e);
	CHECK_FUNC(&e, "inl", arena_printf(&e.a, "error: function inl of %s is inlined everywhere: there is no code to probe\n", e.bin));
	CHECK_FUNC(&e, "nothere", arena_printf(&e.a, "error: the debug information of %s has no function nothere (use arg0, arg1, ...)\n", e.bin));
	env_deinit(&e);
}

TEST(old_and_new_dwarf_and_other_compilers)
{
	static const char *const compilers[] = {"gcc -gdwarf-3 -gstrict-dwarf", "gcc -gdwarf-4 -O2 -fno-ipa-cp -fno-ipa-sra", "clang -g -O0", "gcc -g -O0 -gsplit-dwarf"};
	for (size_t i = 0; i < ARRAY_LEN(compilers); i++) {
		struct Env e;
		if (!env_init(&e, compilers[i], c_source, NULL))
			continue;
		printf("# %s\n", compilers[i]);
		CHECK_FUNC(&e, "floats", strstr(compilers[i], "clang") ? "i int32 @0\nj int64 @1\n-> void\ndouble d, int i, float f, long j"
								       : "i int32 @0\nj int64 @1\n-> void\ndouble d, int i, float f, long int j");
		check_struct(&e);
		env_deinit(&e);
	}
}

// Debug information in a file of its own, found by .gnu_debuglink.
TEST(debuglink)
{
	struct Env e;
	if (!env_init(&e, "gcc -g -O1", c_source, "objcopy --only-keep-debug prog prog.debug && strip -g prog && objcopy --add-gnu-debuglink=prog.debug prog"))
		SKIP("no gcc");
	check_c(&e);
	env_deinit(&e);
}

TEST(stripped_says_so)
{
	struct Env e;
	struct Record *args;
	const struct Type *ret;
	if (!env_init(&e, "gcc -O1", c_source, NULL))
		SKIP("no gcc");
	struct err *er = ctype_uprobe_args(e.c, e.bin, "scalars", &args, &ret);
	CHECK(er && strstr(err_text(er), "no debug information") && strstr(err_text(er), "arg0"));
	err_free(er);
	er = ctype_uprobe_args(e.c, "/etc/passwd", "x", &args, &ret);
	CHECK(er != NULL);
	err_free(er);
	er = ctype_add_dwarf(e.c, "/no/such/file");
	CHECK(er && err_code(er) == 2);
	err_free(er);
	env_deinit(&e);
}

TEST(cplusplus)
{
	struct Env e;
	struct Field f;
	if (!env_init(&e, "g++ -g -O0",
		      "namespace ns { struct Base { int b; virtual ~Base() {} }; class D : public Base { public: int d; static int st; int get(int k) const;"
		      " }; struct NT { int x; NT(const NT &); NT(); ~NT(); }; int fn(D &r, NT by_ref, const char *s) { return r.d; } }\n"
		      "int ns::D::get(int k) const { return d + k; }\nns::NT::NT() {} ns::NT::NT(const NT &) {} ns::NT::~NT() {}\n"
		      "int main() { ns::D d; ns::NT n; return ns::fn(d, n, 0) + d.get(3); }\n", NULL))
		SKIP("no g++");
	CHECK_FUNC(&e, "_ZN2ns2fnERNS_1DENS_2NTEPKc", "r struct D * @0\nby_ref struct NT * @1\ns int8 * @2\n-> int32\n"
						      "struct D& r, struct NT by_ref, const char* s");
	CHECK_FUNC(&e, "_ZNK2ns1D3getEi", "this struct D * @0\nk int32 @1\n-> int32\nconst struct D* const this, int k");
	const struct Type *t = ctype_lookup(e.c, "struct D");
	CHECK(t && ctype_record_load(e.c, t->rec));
	CHECK(t && record_field(t->rec, "b", &f) && f.off == 8);
	CHECK(t && record_field(t->rec, "d", &f) && f.off == 12);
	CHECK(t && !record_field(t->rec, "st", &f));
	env_deinit(&e);
}

T_MAIN()
