// Expansion: goldens test/lang/expand_*.in (a first line "// params: ..." is the command line), imports, limits. RECORD=1 rewrites.
#include "t.h"
#include "lang/lang.h"
#include <glob.h>
#include <sys/stat.h>

struct Run {
	struct Arena arena;
	struct Diags diags;
	struct Script *script;
	struct Str text;
};

// Takes "a b --c=d" as the command line.
static size_t split_params(struct Arena *a, const char *s, size_t n, struct Param *out, size_t max)
{
	char *line = arena_strndup(a, s, n), *save = NULL;
	size_t k = 0;
	for (char *w = strtok_r(line, " ", &save); w && k < max; w = strtok_r(NULL, " ", &save)) {
		char *eq = strchr(w, '=');
		if (!strncmp(w, "--", 2) && w[2]) {
			if (eq)
				*eq = 0;
			out[k++] = (struct Param){w + 2, eq ? eq + 1 : NULL};
		} else
			out[k++] = (struct Param){NULL, w};
	}
	return k;
}

static void run_init(struct Run *r, const char *name, const char *text, size_t n)
{
	static const char head[] = "// params: ";
	struct Param params[32];
	size_t nparams = 0;
	*r = (struct Run){0};
	if (n > sizeof(head) && !memcmp(text, head, sizeof(head) - 1))
		nparams = split_params(&r->arena, text + sizeof(head) - 1, strcspn(text, "\n") - sizeof(head) + 1, params, ARRAY_LEN(params));
	r->script = parse_script(&r->arena, &r->diags, diags_add_source(&r->diags, name, text, n));
	expand_script(r->script, params, nparams);
	ast_dump(r->script, &r->text);
	diags_render(&r->diags, true, &r->text);
}

static void run_deinit(struct Run *r)
{
	str_deinit(&r->text);
	diags_deinit(&r->diags);
	arena_deinit(&r->arena);
}

static void golden(const char *in)
{
	struct Str src = {0}, want = {0};
	char *out = xasprintf("%.*s.out", (int)strlen(in) - 3, in);
	CHECK(!read_file(in, &src, 1 << 20));
	struct Run r;
	run_init(&r, "stdin", str_text(&src), src.n);
	FILE *f = getenv("RECORD") ? fopen(out, "w") : NULL;
	if (f) {
		fwrite(str_text(&r.text), 1, r.text.n, f);
		fclose(f);
	}
	struct err *e = read_file(out, &want, 1 << 20);
	CHECK(!e);
	err_free(e);
	CHECK_STR(str_text(&r.text), str_text(&want));
	run_deinit(&r);
	str_deinit(&src);
	str_deinit(&want);
	free(out);
}

TEST(goldens)
{
	glob_t g;
	CHECK_EQ(glob("test/lang/expand_*.in", 0, NULL, &g), 0);
	CHECK(g.gl_pathc >= 3);
	for (size_t i = 0; i < g.gl_pathc; i++)
		golden(g.gl_pathv[i]);
	globfree(&g);
}

static void put(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	CHECK(f);
	if (f) {
		fputs(text, f);
		fclose(f);
	}
	free(path);
}

static void clean(const char *dir)
{
	char *cmd = xasprintf("rm -r '%s'", dir);
	CHECK_EQ(system(cmd), 0);
	free(cmd);
}

// Runs the script as DIR/main.bt.
static void run_in(struct Run *r, const char *dir, const char *text)
{
	static char name[64]; // the run keeps it
	snprintf(name, sizeof(name), "%s/main.bt", dir);
	put(dir, "main.bt", text);
	run_init(r, name, text, strlen(text));
}

// The options of a script that is not run: of its settings, predicates, branches that are not taken, macros that it calls.
TEST(options)
{
	static const char text[] =
		"config = { max_map_keys = getopt(\"keys\", 5, \"N: room\") }\n"
		"macro used() { getopt_match(\"pid|p\", pid, \"PID,...: processes\") }\n"
		"macro unused() { getopt(\"never\") }\n"
		"begin /used() && getopt(\"by\", \"all\", \"a|b|all,...: which\") != \"\"/ { if comptime (0) { print(getopt(\"wait|w\", 10ms)); } print($1); }\n"
		"end { print(getopt(\"keys\", 5)); print(getopt(\"on\", true, \"on|off: switch\")); print(getopt(\"flag|f\", false, \"a flag\")); }\n";
	struct Arena a = {0};
	struct Diags d = {0};
	struct Script *s = script_read(&a, &d, "stdin", text, false);
	struct Str t = {0};
	for (size_t i = 0; i < s->opts->n; i++) {
		const struct ScriptOpt *o = &s->opts->p[i];
		str_addf(&t, "%s %c %d [%s] %s (%s)%s", o->name, o->letter ? o->letter : '-', o->kind, o->arg ? o->arg : "", o->help ? o->help : "", o->def,
			 o->list ? " list" : "");
		for (u32 v = 0; o->values && o->values[v]; v++)
			str_addf(&t, " %s", o->values[v]);
		str_addc(&t, '\n');
	}
	CHECK_EQ(d.nerrors, 0);
	CHECK(s->uses_params);
	CHECK(!option_find(s, "never"));
	CHECK_STR(str_text(&t), "keys - 1 [N] room (5)\n"
				"pid p 4 [PID,...] processes () list\n"
				"by - 3 [a|b|all,...] which (all) list a b all\n"
				"wait w 2 [TIME]  (10ms)\n"
				"on - 0 [on|off] switch (true) on off\n"
				"flag f 0 [] a flag (false)\n");
	str_deinit(&t);
	diags_deinit(&d);
	arena_deinit(&a);
}

TEST(imports)
{
	char dir[] = "/tmp/sonde-expand-XXXXXX";
	CHECK(mkdtemp(dir));
	put(dir, "a.bt", "import \"b.bt\"; import \"main.bt\"; begin { a }");
	put(dir, "b.bt", "import \"a.bt\"; #define B 1\nlet @m = hash(1); macro b(x) { x } begin { b }");
	put(dir, "cfg.bt", "config = { x = 1 }\nbegin { 1 }");
	put(dir, "bad.bt", "begin { 1 + }");
	put(dir, "other.c", "int x;");
	struct Run r;
	run_in(&r, dir, "import \"a.bt\";\nimport \"b.bt\";\nbegin { b(1) }");
	CHECK_EQ(r.diags.nerrors, 1); // "b" in b.bt is a call without its argument
	CHECK(!r.script->imports && r.script->macros && r.script->maps && r.script->ctext);
	int n = 0;
	for (struct ProbeAst *p = r.script->probes; p; p = p->next)
		n++;
	CHECK_EQ(n, 3);
	// b.bt, a.bt, main.bt
	CHECK_STR(r.script->probes->next->body->e->str, "a");
	run_deinit(&r);
	static const char *const wrong[][2] = {
		{"import \"cfg.bt\";", "config is not allowed in an imported script"},
		{"import \"none.bt\";", "cannot find \"none.bt\" to import it"},
		{"import \"other.c\";", "cannot import \"other.c\": only .bt scripts"},
		{"import \"bad.bt\";", "bad.bt:1:13-14: ERROR: syntax: expected expression, found }"},
	};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char *text = xasprintf("%s\nbegin { 1 }", wrong[i][0]);
		run_in(&r, dir, text);
		CHECK_EQ(r.diags.nerrors, 1);
		CHECK(strstr(str_text(&r.text), wrong[i][1]));
		run_deinit(&r);
		free(text);
	}
	clean(dir);
}

TEST(import_directory)
{
	char dir[] = "/tmp/sonde-expand-XXXXXX";
	CHECK(mkdtemp(dir));
	char *sub = xasprintf("%s/lib", dir);
	CHECK_EQ(mkdir(sub, 0755), 0);
	struct Run r;
	run_in(&r, dir, "import \"lib\";\nbegin { 1 }");
	CHECK(strstr(str_text(&r.text), "there is no .bt file in this directory"));
	run_deinit(&r);
	put(sub, "2.bt", "begin { two() }");
	put(sub, "1.bt", "begin { one() }");
	put(sub, "x.txt", "no script");
	run_in(&r, dir, "import \"lib\";\nbegin { 1 }");
	CHECK_EQ(r.diags.nerrors, 0);
	CHECK_STR(r.script->probes->body->e->str, "one");
	CHECK_STR(r.script->probes->next->body->e->str, "two");
	run_deinit(&r);
	CHECK_EQ(chmod(sub, 0777), 0);
	run_in(&r, dir, "import \"lib/1.bt\";\nbegin { 1 }");
	CHECK(strstr(str_text(&r.text), "everyone may write to it or to its directory"));
	run_deinit(&r);
	free(sub);
	clean(dir);
}

static int errors(const struct Str *s)
{
	struct Run r;
	run_init(&r, "stdin", s->p, s->n);
	int e = r.diags.nerrors;
	run_deinit(&r);
	return e;
}

// m0 calls m1 twice, m1 calls m2 twice, ...: 2^40 nodes if nobody stopped it.
TEST(blow_up)
{
	struct Str s = {0};
	for (int i = 0; i < 40; i++)
		str_addf(&s, "macro m%d(x) { m%d(x + x) + m%d(x) }\n", i, i + 1, i + 1);
	str_add(&s, "macro m40(x) { x }\nbegin { print(m0(1)); }");
	CHECK_EQ(errors(&s), 1);
	str_reset(&s);
	for (int i = 0; i < 3000; i++)
		str_addf(&s, "macro m%d() { m%d() + 1 }\n", i, i + 1);
	str_add(&s, "macro m3000() { 1 }\nbegin { print(m0()); }");
	CHECK_EQ(errors(&s), 1);
	str_reset(&s);
	for (int i = 0; i < 18; i++) // what is inside a type counts: 2^18 is below the limit, with the nodes around it above
		str_addf(&s, "macro m%d(x) { m%d(sizeof(typeof(x + x))) }\n", i, i + 1);
	str_add(&s, "macro m18(x) { x }\nbegin { print(m0(1)); }");
	CHECK_EQ(errors(&s), 1);
	str_deinit(&s);
}

T_MAIN()
