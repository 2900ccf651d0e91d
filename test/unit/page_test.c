// The report page's file: its data, and that no name leaves the element it stands in.
#include "out/report.h"
#include "t.h"

static char *page(const struct StackProfile *p)
{
	char *buf = NULL;
	size_t len;
	FILE *f = open_memstream(&buf, &len);
	struct err *e = page_write(p, f);
	CHECK(!e);
	err_free(e);
	fclose(f);
	CHECK_EQ(strlen(buf), len);
	return buf;
}

static u32 count(const char *s, const char *part)
{
	u32 n = 0;
	for (s = strstr(s, part); s; s = strstr(s + 1, part))
		n++;
	return n;
}

// The data's line that begins so.
static void check_line(const char *text, const char *begin, const char *want)
{
	const char *at = strstr(text, begin);
	size_t n = at ? strcspn(at, "\n") : 0;
	char *line = xasprintf("%.*s", (int)n, at ? at : "");
	CHECK_STR(line, want);
	free(line);
}

TEST(data)
{
	struct Frame u[] = {{.sym = "inl", .inlined = true, .file = "a.rs", .line = 3}, {.sym = "leaf", .module = "/bin/app", .file = "a.rs", .line = 9}, {.sym = "main", .raw = "_ZN4mainEv", .module = "/bin/app"}};
	struct Frame k[] = {{.sym = "schedule", .kernel = true}};
	struct Value label = {.kind = V_STR, .text = "web", .len = 3};
	struct StackSample s[] = {
		{.comm = "app", .pid = 7, .user = u, .nuser = 3, .kern = k, .nkern = 1, .value = 5, .part = {2, 3}, .labels = &label, .nlabels = 1},
		{.comm = "app", .pid = 8, .user = u + 2, .nuser = 1, .value = 1ull << 60 | 1, .part = {1}},
		{.comm = "kw", .user_note = "[Missed User Stack]", .value = 0},
	};
	struct StackProfile p = {.samples = s, .n = 3, .unit = "us", .title = "t", .parts = (const char *const[]){"blocked", "runqueue"}, .nparts = 2,
				 .label_names = (const char *const[]){"container"}, .start_ns = 5000000, .duration_ns = 7};
	char *f = page(&p), *again = page(&p);
	CHECK_STR(f, again);
	check_line(f, "{\"title\"", "{\"title\":\"t\",\"command\":\"\",\"unit\":\"us\",\"threads\":0,\"period\":0,\"start\":5,\"duration\":7,");
	check_line(f, "\"frames\"", "\"frames\":{\"name\":[1,3,5,6,7],\"object\":[2,2,0,0,0],\"file\":[0,4,4,0,0],\"line\":[0,9,3,0,0],\"kind\":[0,0,1,2,3],\"language\":[3,4,4,1,0]},");
	check_line(f, "\"nodes\"", "\"nodes\":{\"parent\":[0,0,1,2,3,0],\"frame\":[0,0,1,2,3,4]},");
	check_line(f, "\"samples\"", "\"samples\":{\"node\":[4,1,5],\"value\":[5,\"1152921504606846977\",0],\"pid\":[7,8,0],\"process\":[8,8,9]},");
	check_line(f, "\"parts\"", "\"parts\":[{\"name\":\"blocked\",\"value\":[2,1,0]},{\"name\":\"runqueue\",\"value\":[3,0,0]}],");
	check_line(f, "\"labels\"", "\"labels\":[{\"name\":\"container\",\"value\":[10,0,0]}],");
	check_line(f, "\"strings\"", "\"strings\":[\"\",\"main\",\"/bin/app\",\"leaf\",\"a.rs\",\"inl\",\"schedule\",\"[Missed User Stack]\",\"app\",\"kw\",\"web\"]}");
	free(f);
	free(again);
}

TEST(hostile_names)
{
	struct Frame u[] = {{.sym = "</script><script>alert(1)</script>"}, {.sym = "\x01\x1b[31m\xff\xed\xa0\x80\xef\xbf\xbf\xe2\x80\xae\xce\xbc\"\\\n"}, {.sym = "<!--<script>"}};
	struct StackSample s = {.comm = "<svg onload='x'>", .user = u, .nuser = 3, .value = 1};
	struct StackProfile p = {.samples = &s, .n = 1, .unit = "us", .title = "</title><b>&amp;"};
	char *f = page(&p), *empty;
	CHECK(strstr(f, "\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\""));
	CHECK(strstr(f, "\"\\\\x01\\\\x1b[31m\\\\xff\\\\xed\\\\xa0\\\\x80\\\\xef\\\\xbf\\\\xbf\\\\xe2\\\\x80\\\\xae\xce\xbc\\\"\\\\\\\\x0a\""));
	CHECK(strstr(f, "<title>&#60;/title>&#60;b>&#38;amp;</title>"));
	p.n = 0;
	empty = page(&p);
	CHECK_EQ(count(f, "<script"), count(empty, "<script"));
	CHECK_EQ(count(f, "</script"), count(empty, "</script"));
	CHECK_EQ(count(f, "<!--"), 0);
	for (const char *c = f; *c; c++)
		if ((u8)*c < 0x20 && *c != '\n' && *c != '\t')
			T_FAIL("byte %02x", (u8)*c);
	free(f);
	free(empty);
}
T_MAIN()
