// The parser: goldens in test/lang (NAME.in -> NAME.out, the tree and the messages), plus hostile input. RECORD=1 rewrites the .out files.
#include "t.h"
#include "lang/lang.h"
#include "lang/internal.h"
#include <glob.h>

struct Run {
	struct Arena arena;
	struct Diags diags;
	struct Script *script;
	struct Str text; // tree and messages
};

static void run_init(struct Run *r, const char *text, size_t n)
{
	*r = (struct Run){0};
	u32 f = diags_add_source(&r->diags, "stdin", text, n);
	r->script = parse_script(&r->arena, &r->diags, f);
	ast_dump(r->script, &r->text);
	diags_render(&r->diags, true, &r->text);
}

static void run_deinit(struct Run *r)
{
	str_deinit(&r->text);
	diags_deinit(&r->diags);
	arena_deinit(&r->arena);
}

static void write_text(const char *path, const struct Str *s)
{
	FILE *f = fopen(path, "w");
	CHECK(f);
	if (!f)
		return;
	fwrite(str_text(s), 1, s->n, f);
	fclose(f);
}

static void golden(const char *in)
{
	struct Str src = {0}, want = {0};
	char *out = xasprintf("%.*s.out", (int)strlen(in) - 3, in);
	struct err *e = read_file(in, &src, 1 << 20);
	CHECK(!e);
	struct Run r;
	run_init(&r, str_text(&src), src.n);
	if (getenv("RECORD"))
		write_text(out, &r.text);
	e = read_file(out, &want, 1 << 20);
	CHECK(!e);
	err_free(e);
	if (strcmp(str_text(&want), str_text(&r.text)))
		printf("# %s\n", in);
	CHECK_STR(str_text(&r.text), str_text(&want));
	run_deinit(&r);
	str_deinit(&src);
	str_deinit(&want);
	free(out);
}

TEST(goldens)
{
	glob_t g;
	CHECK_EQ(glob("test/lang/parse_*.in", 0, NULL, &g), 0);
	CHECK(g.gl_pathc > 5);
	for (size_t i = 0; i < g.gl_pathc; i++)
		golden(g.gl_pathv[i]);
	globfree(&g);
}

// Errors found in a text.
static int errors(const char *text, size_t n)
{
	struct Run r;
	run_init(&r, text, n);
	int e = r.diags.nerrors;
	run_deinit(&r);
	return e;
}

static int errors_repeat(const char *head, const char *piece, int n, const char *tail)
{
	struct Str s = {0};
	str_add(&s, head);
	for (int i = 0; i < n; i++)
		str_add(&s, piece);
	str_add(&s, tail);
	int e = errors(s.p, s.n);
	str_deinit(&s);
	return e;
}

TEST(deep_nesting)
{
	CHECK_EQ(errors_repeat("begin { $x = ", "(", 100000, "1"), 1);
	CHECK_EQ(errors_repeat("begin { $x = ", "-", 100000, "1"), 1);
	CHECK_EQ(errors_repeat("begin { $x = 1", " + 1", 100000, "; }"), 1);
	CHECK_EQ(errors_repeat("begin { $x = $y", ".a", 100000, "; }"), 1);
	CHECK_EQ(errors_repeat("begin { ", "{", 100000, ""), 1);
	CHECK_EQ(errors_repeat("begin { ", "if (1) {", 100000, ""), 1);
	CHECK_EQ(errors_repeat("begin { if (1) {}", " else if (1) {}", 100000, "}"), 1);
	CHECK_EQ(errors_repeat("begin { $x = ", "1 ? 2 : ", 100000, "3; }"), 1);
	CHECK_EQ(errors_repeat("begin { $x = 1", " ?: 1", 100000, "; }"), 1);
	CHECK_EQ(errors_repeat("begin { let $x : ", "(", 100000, "; }"), 1);
	CHECK_EQ(errors_repeat("begin { $x = ", "sizeof(", 100000, "; }"), 1);
	CHECK_EQ(errors_repeat("begin { $x = ", "@a[", 100000, "; }"), 1);
	CHECK_EQ(errors_repeat("begin { $x = ", "(uint8)", 100000, "1; }"), 1);
	CHECK_EQ(errors_repeat("begin { ", "$x = 1; ", 20000, "}"), 0);
	CHECK_EQ(errors_repeat("begin { $x = 1", " + 1", 500, "; }"), 0);
	CHECK_EQ(errors_repeat("begin { $x = ", "(", 200, "1") > 0, 1);
}

TEST(error_flood)
{
	CHECK(errors_repeat("begin { ", "$ ", 5000, "}") <= MAX_SYNTAX_ERRORS);
	CHECK(errors_repeat("", "}", 5000, "") <= MAX_SYNTAX_ERRORS);
	CHECK(errors_repeat("", "k:f { 1 + } ", 5000, "") <= MAX_SYNTAX_ERRORS);
	CHECK(errors("begin { 1\0 2 }", 14) > 0);
	CHECK_EQ(errors("", 0), 0); // nothing to do is said later
	CHECK(errors("/*", 2) > 0);
	CHECK(errors("struct x {", 10) > 0);
}

TEST(int_literals)
{
	static const struct {
		const char *text;
		u64 val;
		const char *why;
	} cases[] = {
		{"0", 0}, {"42", 42}, {"0x1F", 31}, {"0b101", 5}, {"0123", 83}, {"00", 0}, {"1e6", 1000000}, {"2e1_0", 20000000000},
		{"1_000_123_000", 1000123000}, {"123UL", 123}, {"123ull", 123}, {"0x10ULL", 16}, {"5ns", 5}, {"5us", 5000}, {"3ms", 3000000},
		{"1s", 1000000000}, {"1m", 60000000000}, {"2h", 7200000000000}, {"1d", 86400000000000}, {"18446744073709551615", UINT64_MAX},
		{"18446744073709551616", 0, "overflow error, maximum value is 18446744073709551615"},
		{"9e19", 0, "overflow error, maximum value is 18446744073709551615"},
		{"9e99999999999999999999", 0, "overflow error, maximum value is 18446744073709551615"},
		{"300000d", 0, "overflow error, maximum value is 18446744073709551615"},
		{"10e3", 0, "coefficient part of scientific literal must be 1-9"}, {"1e", 0, "invalid exponent"},
		{"1_", 0, "trailing underscore in integer literal"}, {"0x", 0, "invalid integer suffix"}, {"08", 0, "invalid octal digit"},
		{"12abc", 0, "invalid integer suffix"}, {"0x1s", 0, "invalid integer suffix"}, {"", 0, "invalid integer"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		u64 v = 0;
		const char *why = parse_int_literal(cases[i].text, strlen(cases[i].text), &v);
		CHECK_STR(why ? why : "", cases[i].why ? cases[i].why : "");
		CHECK_EQ(v, cases[i].val);
	}
}

static struct AttachSpec *attach(struct Run *r, const char *text)
{
	*r = (struct Run){0};
	return parse_attach_list(&r->arena, &r->diags, diags_add_source(&r->diags, "-l", text, strlen(text)));
}

TEST(attach_list)
{
	struct Run r;
	struct AttachSpec *a = attach(&r, "k:vfs_*,t:sched:*, uprobe:\"/a b/c\":\"f(int, char:*)\"");
	CHECK(a && a->next && a->next->next && !a->next->next->next);
	CHECK_STR(a->parts[1], "vfs_*");
	a = a->next->next;
	CHECK_EQ(a->nparts, 3);
	CHECK_STR(a->parts[1], "/a b/c");
	CHECK_STR(a->parts[2], "f(int, char:*)");
	CHECK_STR(a->text, "uprobe:/a b/c:f(int, char:*)");
	run_deinit(&r);
	CHECK(!attach(&r, "k:f {"));
	CHECK_EQ(r.diags.nerrors, 1);
	run_deinit(&r);
	CHECK(!attach(&r, ""));
	CHECK_EQ(r.diags.nerrors, 1);
	run_deinit(&r);
}

// Every node's span lies within its parent's text and is not empty.
TEST(spans)
{
	static const char text[] = "k:f /pid == 1/ { @x[pid, 2]++; print((uint8)$y.a); }";
	struct Run r;
	run_init(&r, text, sizeof(text) - 1);
	CHECK_EQ(r.diags.nerrors, 0);
	struct ProbeAst *p = r.script->probes;
#define TEXT(e) arena_strndup(&r.arena, text + (e)->span.off, (e)->span.len)
	CHECK_STR(TEXT(p), "k:f");
	CHECK_STR(TEXT(p->pred), "pid == 1");
	CHECK_STR(TEXT(p->body->e), "@x[pid, 2]++");
	CHECK_STR(TEXT(p->body->e->a), "@x[pid, 2]");
	CHECK_STR(TEXT(p->body->e->a->a), "pid, 2");
	CHECK_STR(TEXT(p->body->next->e), "print((uint8)$y.a)");
	CHECK_STR(TEXT(p->body->next->e->args[0]), "(uint8)$y.a");
	CHECK_STR(TEXT(p->body->next->e->args[0]->a), "$y.a");
	CHECK_EQ(p->body_span.off, 15);
	CHECK_EQ(p->body_span.len, sizeof(text) - 1 - 15);
	run_deinit(&r);
}

T_MAIN()
