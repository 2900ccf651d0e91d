// Folded lines, the flame graph's file and the pprof encoding.
#include "out/report.h"
#include "t.h"
#include <zlib.h>

#define K(name) {.sym = name, .kernel = true, .addr = 0xffffffff81000000}
#define UF(name) {.sym = name, .module = "/bin/app", .module_off = 0x100}

static char *render_file(void (*fn)(const struct StackProfile *, FILE *), const struct StackProfile *p, size_t *n)
{
	char *buf = NULL;
	size_t len;
	FILE *f = open_memstream(&buf, &len);
	fn(p, f);
	fclose(f);
	if (n)
		*n = len;
	return buf;
}

static void check_folded(const struct StackProfile *p, const char *want)
{
	char *s = render_file(folded_write, p, NULL);
	CHECK_STR(s, want);
	free(s);
}

TEST(folded)
{
	struct Frame u[] = {UF("leaf"), UF("main")}, k[] = {K("schedule"), K("do_syscall_64")};
	struct Value label = {.kind = V_INT, .i = 7};
	struct StackSample s[] = {
		{.comm = "app", .user = u, .nuser = 2, .kern = k, .nkern = 2, .value = 3},
		{.comm = "app", .user = u, .nuser = 2, .value = 1},
		{.comm = "app", .user = u, .nuser = 2, .kern = k, .nkern = 2, .value = 4},
		{.comm = "k;w\n", .labels = &label, .nlabels = 1, .user_note = "[Missed User Stack]", .kern = k, .nkern = 1, .value = 5},
	};
	struct StackProfile p = {.samples = s, .n = 4};
	check_folded(&p, "app;main;leaf;do_syscall_64;schedule 7\napp;main;leaf 1\nk:w\\x0a;7;[Missed User Stack];schedule 5\n");
	p.delim = p.annotate = true;
	check_folded(&p, "app;main;leaf;-;do_syscall_64_[k];schedule_[k] 7\napp;main;leaf 1\nk:w\\x0a;7;[Missed User Stack];-;schedule_[k] 5\n");
}

TEST(folded_names)
{
	struct Frame u[] = {{.sym = "f", .sym_off = 26, .module = "/bin/app"}, {.module = "/lib/libx.so", .module_off = 0x20, .module_addr = 0x1020}, {.addr = 0x99}, {.module = "[vdso]"},
			    {.addr = 5, .kernel = true, .module = "nf"}};
	struct StackSample s = {.user = u, .nuser = 5, .value = 1};
	struct StackProfile p = {.samples = &s, .n = 1};
	check_folded(&p, "[unknown];[vdso];[unknown];[libx.so];f 1\n");
	struct Frame minus[] = {{.sym = "to_i"}, {.sym = "-"}, {.sym = "--", .mark = "end"}, {.sym = "main"}};
	struct StackSample named = {.user = minus, .nuser = 4, .value = 1};
	check_folded(&(struct StackProfile){.samples = &named, .n = 1}, "main;--;\\x2d;to_i 1\n"); // a method, and what lies before a waker's frames
	p.with_offsets = true;
	check_folded(&p, "0x5;[vdso+0x0];0x99;[libx.so+0x1020];f+0x1a 1\n");
}

// A function of an interpreted program: marked where that is asked for, with the line that ran only where lines are.
TEST(kinds)
{
	struct Frame a[] = {{.sym = "inl", .inlined = true, .module = "/bin/app"}, UF("read"), {.sym = "work", .lang = "python", .module = "[python]", .file = "/w.py", .line = 4},
			    {.sym = "eval", .lang = frame_lang_unknown, .module = "[unknown]"}, {.sym = "cut", .mark = frame_mark_cut, .lang = "python"}}, b[ARRAY_LEN(a)], k[] = {K("schedule")};
	memcpy(b, a, sizeof(b));
	b[2].line = 5;
	struct StackSample s[] = {{.comm = "p", .user = a, .nuser = 5, .kern = k, .nkern = 1, .value = 2}, {.comm = "p", .user = b, .nuser = 5, .kern = k, .nkern = 1, .value = 3}};
	struct StackProfile p = {.samples = s, .n = 2};
	check_folded(&p, "p;cut;eval;work;read;inl;schedule 5\n");
	p.annotate = true;
	check_folded(&p, "p;cut;eval_[j];work_[j];read;inl_[i];schedule_[k] 5\n");
	p.lang_lines = true;
	check_folded(&p, "p;cut;eval_[j];work@/w.py:4_[j];read;inl_[i];schedule_[k] 2\np;cut;eval_[j];work@/w.py:5_[j];read;inl_[i];schedule_[k] 3\n");
	profile_merge(&p, true);
	CHECK_EQ(p.n, 2);
	CHECK_EQ(profile_frame_line(&p, &b[2]), 5);
	p.lang_lines = false;
	CHECK_EQ(profile_frame_line(&p, &b[2]), 0);
	profile_merge(&p, true);
	CHECK_EQ(p.n, 1);
	CHECK_STR(frame_lang_of_object("[python]"), "python");
	for (const char *const *other = (const char *const[]){"[vdso]", "[unknown]", "[]", "python", "[python", "[pythons]", "", NULL}; *other; other++)
		CHECK(!frame_lang_of_object(*other));
}

TEST(merge)
{
	struct Frame a[] = {{.sym = "f", .sym_off = 1}}, b[] = {{.sym = "f", .sym_off = 9}};
	struct StackSample s[] = {
		{.comm = "x", .pid = 1, .user = a, .nuser = 1, .value = 1},
		{.comm = "x", .pid = 2, .user = b, .nuser = 1, .value = 2},
		{.comm = "y", .pid = 2, .user = b, .nuser = 1, .value = 4},
		{.comm = "x", .pid = 1, .user = b, .nuser = 1, .value = 8},
	};
	struct StackProfile p = {.samples = s, .n = 4};
	profile_merge(&p, true);
	CHECK_EQ(p.n, 3);
	CHECK_EQ(s[0].value, 9);
	profile_merge(&p, false);
	CHECK_EQ(p.n, 2);
	CHECK_EQ(s[0].value, 11);
	CHECK_EQ(s[1].value, 4);
}

TEST(merge_labels)
{
	static const char *const names[] = {"one", "two"};
	struct Value x = {.kind = V_STR, .text = "x", .len = 1}, none = {.kind = V_STR, .text = ""}, a[] = {x, none}, b[] = {none, x};
	struct Frame u[] = {UF("main")};
	struct StackSample s[] = {{.user = u, .nuser = 1, .labels = a, .nlabels = 2, .value = 5}, {.user = u, .nuser = 1, .labels = b, .nlabels = 2, .value = 7},
				  {.user = u, .nuser = 1, .labels = a, .nlabels = 2, .value = 1}};
	struct StackProfile p = {.samples = s, .n = 3, .label_names = names};
	profile_merge(&p, false);
	CHECK_EQ(p.n, 2); // one text, of two labels
	CHECK_EQ(p.samples[0].value, 6);
	CHECK_EQ(p.samples[1].value, 7);
}

// ---- flame graph

static void flame(const struct StackProfile *p, FILE *f)
{
	struct err *e = flame_write(p, f);
	CHECK(!e);
	err_free(e);
}

static void lacks(const char *s, const char *part)
{
	if (strstr(s, part))
		T_FAIL("\"%s\" is in the file", part);
}

static void has(const char *s, const char *part)
{
	if (!strstr(s, part))
		T_FAIL("\"%s\" is not in the file", part);
}

TEST(flame_frames)
{
	struct Frame u[] = {{.sym = "inl", .inlined = true}, UF("leaf<int>(char const&)"), UF("main"), {.sym = "mod", .lang = "php"}, {.sym = "gone", .lang = frame_lang_unknown}}, k[] = {K("schedule")};
	struct StackSample s[] = {
		{.comm = "app", .user = u, .nuser = 5, .kern = k, .nkern = 1, .value = 1500},
		{.comm = "app", .user = u + 2, .nuser = 1, .value = 500},
	};
	struct StackProfile p = {.samples = s, .n = 2, .unit = "samples", .title = "A <b>", .period_ns = 10000000, .delim = true};
	char *f = render_file(flame, &p, NULL), *again = render_file(flame, &p, NULL);
	CHECK_STR(f, again);
	has(f, ">A &lt;b&gt;</text>");
	has(f, "<title>all\n2,000 samples (20.00 s), 100.00%</title>");
	has(f, "<title>mod\n1,500 samples (15.00 s), 75.00%, php</title>");
	has(f, "<title>gone\n1,500 samples (15.00 s), 75.00%, interpreted</title>");
	has(f, "<title>main\n1,500 samples (15.00 s), 75.00%</title>");
	has(f, "<title>leaf&lt;int&gt;(char const&amp;)\n1,500 samples (15.00 s), 75.00%</title>");
	has(f, "<title>inl\n1,500 samples (15.00 s), 75.00%, inlined</title>");
	has(f, "<title>-\n");
	has(f, "<title>schedule\n1,500 samples (15.00 s), 75.00%, kernel</title><rect x=\"0%\" y=\"62\" width=\"75%\"");
	lacks(f, "http://www.w3.org/1999/xlink");
	lacks(f, "<script src");
	free(f);
	free(again);
}

TEST(flame_hostile_names)
{
	struct Frame u[] = {{.sym = "]]></script><script>alert(1)</script>"}, {.sym = "\x01\x1b[31m\xff\xed\xa0\x80\xef\xbf\xbf\xe2\x80\xae\xce\xbc\""}};
	struct StackSample s = {.comm = "<svg onload='x'>&amp;", .user = u, .nuser = 2, .value = 1};
	struct StackProfile p = {.samples = &s, .n = 1, .unit = "us"};
	size_t n;
	char *f = render_file(flame, &p, &n);
	has(f, "<title>]]&gt;&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;\n1 us, 100.00%");
	has(f, "<title>\\x01\\x1b[31m\\xff\\xed\\xa0\\x80\\xef\\xbf\\xbf\\xe2\\x80\\xae\xce\xbc&quot;\n");
	has(f, "<title>&lt;svg onload='x'&gt;&amp;amp;\n");
	for (size_t i = 0; i < n; i++)
		if (((u8)f[i] < 0x20 && f[i] != '\n' && f[i] != '\t') || !f[i])
			T_FAIL("byte %02x at %zu", (u8)f[i], i);
	free(f);
}

TEST(flame_size)
{
	enum { N = 16000, DEPTH = 40 };
	struct StackSample *s = xcalloc(N, sizeof(*s));
	struct Frame *fr = xcalloc(N * DEPTH, sizeof(*fr));
	char *names = xcalloc(N * DEPTH, 24);
	for (u32 i = 0; i < N; i++) {
		for (u32 d = 0; d < DEPTH; d++) { // leaf first: the deeper, the more different
			char *name = names + 24 * (i * DEPTH + d);
			snprintf(name, 24, "function_%u_%u", d, i >> (d / 3 < 14 ? d / 3 : 14));
			fr[i * DEPTH + d] = (struct Frame){.sym = name};
		}
		s[i] = (struct StackSample){.comm = "app", .user = fr + i * DEPTH, .nuser = DEPTH, .value = 1 + (i * 7919) % 100};
	}
	struct StackProfile p = {.samples = s, .n = N, .unit = "samples"};
	size_t n;
	char *f = render_file(flame, &p, &n);
	CHECK(n < 16000000);
	has(f, " too narrow to draw or to find");
	free(f);
	p.n = 0;
	f = render_file(flame, &p, &n);
	has(f, "No samples.");
	free(f);
	free(s);
	free(fr);
	free(names);
}

// What a person does, in a real browser: zoom into a frame, search, point at a frame.
static const char *const acts =
	"<script><![CDATA[\n"
	"var byName = {}; document.querySelectorAll('g.f').forEach(function (g) { var t = g.querySelector('text'); if (t) byName[t.textContent] = g; });\n"
	"byName.main.dispatchEvent(new MouseEvent('click', {bubbles: true}));\n"
	"var box = document.getElementById('box'); box.value = 'sched|le.f'; box.dispatchEvent(new Event('input'));\n"
	"byName.leaf.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: 50, clientY: 50}));\n"
	"]]></script></svg>\n";

// The document after chromium has shown the picture, with more behind its last frame.
static void in_browser(const struct StackProfile *p, const char *more, struct Str *dom)
{
	char dir[] = "/tmp/sonde_flame_XXXXXX", path[64], cmd[600];
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/f.svg", dir);
	char *svg = render_file(flame, p, NULL);
	FILE *f = fopen(path, "w");
	fprintf(f, "%.*s%s", (int)(strstr(svg, "</svg>\n<g id=\"tip\"") ? strlen(svg) - strlen("</svg>\n") : 0), svg, more);
	fclose(f);
	free(svg);
	snprintf(cmd, sizeof(cmd),
		 "timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
		 "--disable-component-update --disable-sync --user-data-dir=%s/ud --window-size=1000,400 --dump-dom file://%s 2>/dev/null",
		 dir, path);
	char buf[4096];
	size_t n;
	f = popen(cmd, "r");
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		str_addn(dom, buf, n);
	pclose(f);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	CHECK_EQ(system(cmd), 0);
}

TEST(flame_in_browser)
{
	if (system("command -v chromium >/dev/null 2>&1"))
		SKIP("chromium is not installed");
	struct Frame u[] = {UF("leaf"), UF("main")}, k[] = {K("schedule")}, o[] = {UF("other")};
	struct StackSample s[] = {
		{.comm = "app", .user = u, .nuser = 2, .kern = k, .nkern = 1, .value = 300},
		{.comm = "app", .user = u + 1, .nuser = 1, .value = 100},
		{.comm = "bpp", .user = o, .nuser = 1, .value = 600},
	};
	struct StackProfile p = {.samples = s, .n = 3, .unit = "samples"};
	struct Str dom = {0};
	in_browser(&p, acts, &dom);
	has(str_text(&dom), ">2 matches: 75.0 % of what is shown</text>"); // leaf, not schedule inside of it once more
	has(str_text(&dom), "300 samples, 30.00%, 75.00% of the zoomed frame"); // the tip
	has(str_text(&dom), "class=\"f above\"");
	has(str_text(&dom), "class=\"f hit\"");
	has(str_text(&dom), "<g class=\"f\" style=\"display: none;\">"); // other
	has(str_text(&dom), "width=\"75%\"");				    // leaf, drawn as part of main
	str_deinit(&dom);
}

// One deep stack beside a thousand flat ones: the page shows the foot, where all of them are, and the head with the search box.
TEST(flame_opens_at_its_foot)
{
	if (system("command -v chromium >/dev/null 2>&1"))
		SKIP("chromium is not installed");
	struct Frame deep[100], flat[] = {UF("flat")};
	for (u32 i = 0; i < ARRAY_LEN(deep); i++)
		deep[i] = (struct Frame)UF("again");
	struct StackSample s[] = {
		{.comm = "app", .user = deep, .nuser = 100, .value = 1},
		{.comm = "app", .user = flat, .nuser = 1, .value = 1000},
	};
	struct StackProfile p = {.samples = s, .n = 2, .unit = "samples"};
	struct Str dom = {0};
	in_browser(&p, "<script>document.getElementById('title').textContent = ['up', scrollY > 1000, document.getElementById('head')."
		       "getBoundingClientRect().top].join(' ');</script></svg>\n", &dom);
	has(str_text(&dom), ">up true 0</text>");
	str_deinit(&dom);
}

// ---- pprof: a decoder of just what is needed

struct Message {
	const u8 *p, *end;
};

static u64 varint(struct Message *b)
{
	u64 v = 0;
	for (int shift = 0; b->p < b->end; shift += 7) {
		u8 c = *b->p++;
		v |= (u64)(c & 0x7f) << shift;
		if (!(c & 0x80))
			break;
	}
	return v;
}

// Next field: its number; the value or the bytes.
static u32 field(struct Message *b, u64 *v, struct Message *sub)
{
	if (b->p >= b->end)
		return 0;
	u64 tag = varint(b);
	CHECK((tag & 7) == 0 || (tag & 7) == 2);
	*v = varint(b);
	if ((tag & 7) == 2) {
		CHECK(*v <= (u64)(b->end - b->p));
		*sub = (struct Message){b->p, b->p + *v};
		b->p += *v;
	}
	return (u32)(tag >> 3);
}

static u8 *unzip(const char *gz, size_t n, size_t *out)
{
	size_t cap = 1 << 20;
	u8 *buf = xmalloc(cap);
	z_stream z = {.next_in = (u8 *)gz, .avail_in = (uInt)n, .next_out = buf, .avail_out = (uInt)cap};
	CHECK_EQ(inflateInit2(&z, 15 + 16), Z_OK);
	CHECK_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
	*out = z.total_out;
	inflateEnd(&z);
	return buf;
}

// "leaf<outer<root=value,value" for each sample, the names through location, line and function.
static void describe(const u8 *data, size_t n, struct Str *out)
{
	struct Message strings[64], loc[64] = {{0}}, fn[64] = {{0}}, all = {data, data + n}, sub;
	u32 nstr = 0;
	u64 v;
	for (struct Message b = all; b.p < b.end;) {
		u32 f = field(&b, &v, &sub);
		struct Message m = sub, in;
		u64 id = 0;
		if (f == 6)
			strings[nstr++] = sub;
		if (f == 4 || f == 5) {
			CHECK_EQ(field(&m, &id, &in), 1);
			CHECK(id > 0 && id < 64);
			(f == 4 ? loc : fn)[id] = sub;
		}
	}
	CHECK(nstr > 0 && strings[0].p == strings[0].end);
	for (struct Message b = all; b.p < b.end;) {
		if (field(&b, &v, &sub) != 2)
			continue;
		struct Message s = sub, part;
		for (u32 f; (f = field(&s, &v, &part));) {
			for (struct Message ids = part; f == 1 && ids.p < ids.end;) {
				struct Message l = loc[varint(&ids)], line;
				for (u32 lf; (lf = field(&l, &v, &line));) {
					if (lf != 4)
						continue;
					u64 fid, name = 0;
					struct Message in;
					field(&line, &fid, &in);
					struct Message func = fn[fid];
					while (field(&func, &v, &in) != 2)
						;
					name = v;
					str_addf(out, "%.*s<", (int)(strings[name].end - strings[name].p), strings[name].p);
				}
			}
			for (struct Message vals = part; f == 2 && vals.p < vals.end;)
				str_addf(out, "=%llu", (unsigned long long)varint(&vals));
		}
		str_addc(out, '\n');
	}
}

static void pprof(const struct StackProfile *p, FILE *f)
{
	struct err *e = pprof_write(p, f);
	CHECK(!e);
	err_free(e);
}

TEST(pprof_samples)
{
	struct Frame u[] = {{.sym = "inl", .inlined = true, .file = "a.c", .line = 3}, {.sym = "leaf", .module = "/bin/app", .module_off = 0x10, .file = "a.c", .line = 9},
			    {.sym = "main\xff", .module = "/bin/app", .module_off = 0x80}}, k[] = {K("schedule")};
	struct StackSample s[] = {
		{.comm = "app", .pid = 12, .user = u, .nuser = 3, .kern = k, .nkern = 1, .value = 3},
		{.comm = "app", .pid = 12, .user = u + 2, .nuser = 1, .value = 200},
		{.comm = "kw", .user_note = "[Missed User Stack]", .kern = k, .nkern = 1, .value = 1},
	};
	struct StackProfile p = {.samples = s, .n = 3, .unit = "samples", .period_ns = 10, .title = "t", .start_ns = 5, .duration_ns = 6};
	size_t n, len;
	char *gz = render_file(pprof, &p, &n);
	u8 *raw = unzip(gz, n, &len);
	struct Str d = {0};
	describe(raw, len, &d);
	CHECK_STR(str_text(&d), "schedule<inl<leaf<main\\xff<=3=30\nmain\\xff<=200=2000\nschedule<[Missed User Stack]<=1=10\n");
	str_deinit(&d);
	free(raw);
	free(gz);
}
T_ALONE("it compares shares of samples and times");
T_MAIN()
