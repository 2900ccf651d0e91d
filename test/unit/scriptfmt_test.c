// The standard form of scripts (--fmt): its layout, and that it means the same and is its own standard form, for every script of test/lang.
#include "t.h"
#include "lang/lang.h"
#include <glob.h>

// The standard form in out, the tree in tree; false: the text is no script.
static bool form(const char *text, size_t n, struct Str *out, struct Str *tree)
{
	struct Arena a = {0};
	struct Diags d = {0};
	struct Script *s = parse_script(&a, &d, diags_add_source(&d, "stdin", text, n));
	bool ok = !d.nerrors;
	if (ok) {
		s->ctext = NULL; // C is copied, but for a semicolon
		ast_dump(s, tree);
		format_script(s, out);
	}
	diags_deinit(&d);
	arena_deinit(&a);
	return ok;
}

static void check_form(const char *text, const char *want)
{
	struct Str out = {0}, tree = {0};
	CHECK(form(text, strlen(text), &out, &tree));
	CHECK_STR(str_text(&out), want);
	str_deinit(&out);
	str_deinit(&tree);
}

TEST(layout)
{
	check_form("begin{print(1);$x=(1+2)*3- -4;@a[(1,2)]=count()}", "begin\n{\n  print(1);\n  $x = ((1 + 2) * 3) - (-4);\n  @a[1, 2] = count();\n}\n");
	check_form("begin{if($x){print(1)}else if($x==2){exit();}while($i<5){$i++}for($k:0..n()){}unroll(3){}}",
		   "begin\n{\n  if $x {\n    print(1)\n  } else if ($x == 2) {\n    exit();\n  }\n  while ($i < 5) {\n    $i++;\n  }\n"
		   "  for $k : 0..(n()) {}\n  unroll (3) {}\n}\n");
	check_form("config={max_strlen=10;stack_mode=perf}let @a=hash(10);macro m($x,y){$x+y}t:a:b,k:f/pid==1&&x/{}",
		   "config = {\n  max_strlen = 10;\n  stack_mode = perf;\n}\nlet @a = hash(10);\nmacro m($x, y)\n{\n  $x + y\n}\nt:a:b,\nk:f\n/pid == 1 && x/\n{}\n");
	check_form("end{print(\"a\\t\\x01\\\"\");print(0x1F);print(1ms);$p=(struct a *)$q->x;$f={let $z:uint8[4]=1;$z};$t=(1,)}",
		   "end\n{\n  print(\"a\\t\\x01\\\"\");\n  print(0x1F);\n  print(1ms);\n  $p = (struct a*)$q.x;\n  $f = {\n    let $z : uint8[4] = 1;\n    $z\n  };\n"
		   "  $t = (1,);\n}\n");
}

TEST(comments)
{
	check_form("#!/usr/bin/sonde\n/* head\n *  more */\nbegin { // one\n\n  print(1); // two\n  print(2); /* three */ // four\n}\n\n// five\nend{}",
		   "#!/usr/bin/sonde\n// head\n//  more\nbegin\n{\n  // one\n\n  print(1);\n  // two\n  print(2); /* three */ // four\n}\n\n// five\nend\n{}\n");
	check_form("begin {\n  // only\n}", "begin\n{\n  // only\n}\n");
}

TEST(compile_time)
{
	check_form("config={max_map_keys=getopt(\"n|N\",1ms,\"N: x\");in_place= !getopt(\"a\")}t:a:$b/getopt(\"x\")/{@k[pid,if comptime (getopt(\"u\")) {ustack}]=1;"
		   "for($p:getopt_list(\"p\")){f($p);}}",
		   "config = {\n  max_map_keys = getopt(\"n|N\", 1ms, \"N: x\");\n  in_place = !getopt(\"a\");\n}\nt:a:$b\n/getopt(\"x\")/\n{\n"
		   "  @k[pid, if comptime getopt(\"u\") { ustack }] = 1;\n  for $p : getopt_list(\"p\") {\n    f($p);\n  }\n}\n");
}

TEST(lines)
{
	check_form("begin{printf(\"a very long string that goes on and on %d %d %d %d\", 1111111111,2222222222,33333333,44444444,5555555555);}",
		   "begin\n{\n  printf(\"a very long string that goes on and on %d %d %d %d\",\n         1111111111, 2222222222, 33333333, 44444444, 5555555555);\n}\n");
	check_form("begin{if(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa==bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb&&cccccccccccccccccccccc==ddddddddddddddd){}}",
		   "begin\n{\n  if (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa == bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb &&\n      cccccccccccccccccccccc == ddddddddddddddd) {}\n}\n");
}

// What does not count: arrows, and places in made-up names.
static void plain(struct Str *s)
{
	for (char *p = s->p; p && (p = strstr(p, "->"));)
		memmove(p, p + 1, strlen(p + 1) + 1);
	for (char *p = s->p; p && (p = strstr(p, "$cond_")); p++)
		memmove(p + 6, p + 6 + strspn(p + 6, "0123456789_"), strlen(p + 6 + strspn(p + 6, "0123456789_")) + 1);
	for (char *p = s->p; p && *p; p++)
		if (!strncmp(p, "field >", 7))
			p[6] = '.';
}

static void same_meaning(const char *path)
{
	struct Str text = {0}, once = {0}, twice = {0}, tree = {0}, again = {0};
	CHECK(!read_file(path, &text, 1 << 20));
	if (form(str_text(&text), text.n, &once, &tree)) {
		CHECK(form(str_text(&once), once.n, &twice, &again));
		CHECK_STR(str_text(&twice), str_text(&once));
		plain(&tree);
		plain(&again);
		CHECK_STR(str_text(&again), str_text(&tree));
	}
	str_deinit(&text);
	str_deinit(&once);
	str_deinit(&twice);
	str_deinit(&tree);
	str_deinit(&again);
}

TEST(meaning_is_kept)
{
	static const char *const where[] = {"test/lang/*.in", "test/lang/*.bt", "test/scripts/*.bt", "/usr/sbin/*.bt"};
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(where); i++) {
		glob_t g = {0};
		if (!glob(where[i], 0, NULL, &g))
			for (size_t k = 0; k < g.gl_pathc; k++, n++)
				same_meaning(g.gl_pathv[k]);
		globfree(&g);
	}
	CHECK(n > 5);
}

T_MAIN()
