// The report page: one HTML file with its own style, scripts and data, no other resource.
// In: stack counts. Out: the page; its data are a table of texts, the different frames and a tree of stacks as arrays of numbers, and samples that
// end at nodes of that tree. Invariant: no byte of a traced program's names is markup or script; the same input gives the same file.
#include "out/internal.h"
#include <errno.h>

static const u8 body[] = {
#include "out/page.html.gz.h"
};
static const u8 style[] = {
#include "out/page.css.gz.h"
};
static const u8 script_data[] = {
#include "out/page_data.js.gz.h"
};
static const u8 script_tree[] = {
#include "out/page_tree.js.gz.h"
};
static const u8 script_draw[] = {
#include "out/page_draw.js.gz.h"
};
static const u8 script_compare[] = {
#include "out/page_compare.js.gz.h"
};
static const u8 script_table[] = {
#include "out/page_table.js.gz.h"
};
static const u8 script_heat[] = {
#include "out/page_heat.js.gz.h"
};
static const u8 script_view[] = {
#include "out/page_view.js.gz.h"
};
static const u8 script_main[] = {
#include "out/page_main.js.gz.h"
};
#define TEXT(name) {name, sizeof(name)}
static const struct Packed scripts[] = { // each needs those before it
	TEXT(script_data), TEXT(script_tree), TEXT(script_compare), TEXT(script_draw), TEXT(script_table), TEXT(script_heat), TEXT(script_view), TEXT(script_main)};
static const struct Packed styles = TEXT(style), html = TEXT(body);

enum FrameKind { FRAME_USER, FRAME_INLINED, FRAME_KERNEL, FRAME_NOTE, FRAME_LANG = 5 }; // page_data.js, KINDS
struct PageFrame {
	u32 name, object, file, line; // texts by number
	enum FrameKind kind;
	u32 language;
};
struct PageNode {
	u32 parent, frame;
};
struct Page {
	const struct StackProfile *p;
	struct Map texts;  // text -> number + 1; 0 is ""
	struct Map frames; // name, object, file, line, kind -> number + 1
	VEC(struct PageFrame) frame;
	VEC(struct PageNode) node; // 0: the root of all
	u32 *slots, nslots;	   // node, found by parent and frame
	VEC(u32) ends;		   // node of each sample
};

// ---- languages: told by who found the frame, by the source file's name or by how the name is mangled, never guessed from the name itself

static const struct { const char *suffix, *name; } by_suffix[] = {
	{".c", "C"}, {".cc", "C++"}, {".cpp", "C++"}, {".cxx", "C++"}, {".hpp", "C++"}, {".rs", "Rust"}, {".go", "Go"}, {".py", "Python"}, {".java", "Java"},
	{".js", "JavaScript"}, {".mjs", "JavaScript"}, {".ts", "TypeScript"}, {".rb", "Ruby"}, {".pl", "Perl"}, {".php", "PHP"}, {".zig", "Zig"}, {".d", "D"}, {".swift", "Swift"}};
static const char *const languages[] = {"", "kernel", "C", "C++", "Rust", "Go", "Python", "Java", "JavaScript", "TypeScript", "Ruby", "Perl", "PHP", "Zig", "D", "Swift"};
_Static_assert(ARRAY_LEN(languages) < 31, "the page keeps them as bits of a number");

// Rust's older form is that of C++ with a hash behind: "17h" and 16 hexadecimal digits (rustc book, symbol mangling).
static bool is_old_rust(const char *raw)
{
	size_t n = strlen(raw);
	return n > 20 && raw[n - 1] == 'E' && !strncmp(raw + n - 20, "17h", 3) && strspn(raw + n - 17, "0123456789abcdef") == 16;
}

static const char *language_name(const struct Frame *f)
{
	const char *dot = f->file ? strrchr(f->file, '.') : NULL;
	if (f->kernel)
		return "kernel";
	for (size_t i = 0; dot && i < ARRAY_LEN(by_suffix); i++)
		if (!strcmp(dot, by_suffix[i].suffix))
			return by_suffix[i].name;
	if (f->raw && (!strncmp(f->raw, "_R", 2) || (!strncmp(f->raw, "_ZN", 3) && is_old_rust(f->raw))))
		return "Rust";
	return f->raw && !strncmp(f->raw, "_Z", 2) ? "C++" : "";
}

static u32 language_of(const struct Frame *f)
{
	const char *name = f->lang ? f->lang : language_name(f);
	for (u32 i = 0; i < ARRAY_LEN(languages); i++)
		if (!strcasecmp(languages[i], name))
			return i;
	return 0; // one that the page has no name for
}

// ---- tables

static u32 text_id(struct Page *g, const char *s)
{
	bool fresh;
	return s && *s ? (u32)number_of(&g->texts, s, &fresh) : 0;
}

static u32 frame_id(struct Page *g, const struct PageFrame *f)
{
	char key[80];
	bool fresh;
	snprintf(key, sizeof(key), "%x,%x,%x,%x,%x,%x", f->name, f->object, f->file, f->line, (unsigned)f->kind, f->language);
	u64 id = number_of(&g->frames, key, &fresh);
	if (fresh)
		vec_push(&g->frame, *f);
	return (u32)id - 1;
}

static u32 frame_of(struct Page *g, const struct Frame *f)
{
	struct Str name = {0};
	struct Frame bare = *f; // file and line have fields of their own
	bare.file = NULL;
	profile_frame_name(g->p, &bare, &name);
	struct PageFrame x = {.name = text_id(g, str_text(&name)), .object = text_id(g, f->module), .file = text_id(g, f->file), .line = profile_frame_line(g->p, f),
			      .kind = f->kernel ? FRAME_KERNEL : f->mark ? FRAME_NOTE : f->lang ? FRAME_LANG : f->inlined ? FRAME_INLINED : FRAME_USER, .language = language_of(f)};
	str_deinit(&name);
	return frame_id(g, &x);
}

static u32 *node_slot(struct Page *g, u32 parent, u32 frame)
{
	u32 h = parent * 2654435761u ^ frame * 2246822519u;
	for (h ^= h >> 15;; h++) {
		u32 *slot = &g->slots[h & (g->nslots - 1)];
		if (!*slot || (g->node.p[*slot].parent == parent && g->node.p[*slot].frame == frame))
			return slot;
	}
}

static u32 step(struct Page *g, u32 parent, u32 frame)
{
	if (g->node.n * 2 >= g->nslots) {
		g->nslots = g->nslots ? g->nslots * 2 : 1024;
		free(g->slots);
		g->slots = xcalloc(g->nslots, sizeof(*g->slots));
		for (u32 i = 1; i < g->node.n; i++)
			*node_slot(g, g->node.p[i].parent, g->node.p[i].frame) = i;
	}
	u32 *slot = node_slot(g, parent, frame);
	if (!*slot) {
		*slot = (u32)g->node.n;
		vec_push(&g->node, ((struct PageNode){parent, frame}));
	}
	return *slot;
}

static u32 add_frames(struct Page *g, u32 at, const struct Frame *f, u32 n, const char *note)
{
	for (u32 i = n; i-- > 0;)
		at = step(g, at, frame_of(g, &f[i]));
	if (!n && note)
		at = step(g, at, frame_id(g, &(struct PageFrame){.name = text_id(g, note), .kind = FRAME_NOTE}));
	return at;
}

static void add_samples(struct Page *g)
{
	vec_push(&g->node, ((struct PageNode){0}));
	for (u32 i = 0; i < g->p->n; i++) {
		const struct StackSample *s = &g->p->samples[i];
		u32 at = add_frames(g, 0, s->user, s->nuser, s->user_note);
		vec_push(&g->ends, add_frames(g, at, s->kern, s->nkern, s->kern_note));
	}
}

// ---- JSON within a page: no "<", so that no text ends the element it stands in (HTML, 4.12.1.3)

static void add_text(struct Str *out, const char *s)
{
	struct Str shown = {0}, json = {0};
	str_add_shown(&shown, s, strlen(s));
	str_add_json(&json, str_text(&shown), shown.n);
	for (const char *p = str_text(&json); *p; p++)
		if (*p == '<')
			str_add(out, "\\u003c");
		else
			str_addc(out, *p);
	str_deinit(&shown);
	str_deinit(&json);
}

static void add_name(struct Str *out, const char *key, const char *s)
{
	str_addf(out, "\"%s\":", key);
	add_text(out, s ? s : "");
	str_addc(out, ',');
}

// "key":[x,x,...] of expr for each i < n
#define ADD_ARRAY(out, key, n, expr)                                                                                   \
	do {                                                                                                           \
		str_addf(out, "\"%s\":[", key);                                                                        \
		for (u32 i = 0; i < (n); i++) {                                                                        \
			str_add(out, i ? "," : "");                                                                    \
			str_add_json_uint(out, expr);                                                                  \
		}                                                                                                      \
		str_addc(out, ']');                                                                                    \
	} while (0)

static void add_frame_arrays(struct Page *g, struct Str *out)
{
	u32 n = (u32)g->frame.n;
	str_add(out, "\"frames\":{");
	ADD_ARRAY(out, "name", n, g->frame.p[i].name);
	str_addc(out, ',');
	ADD_ARRAY(out, "object", n, g->frame.p[i].object);
	str_addc(out, ',');
	ADD_ARRAY(out, "file", n, g->frame.p[i].file);
	str_addc(out, ',');
	ADD_ARRAY(out, "line", n, g->frame.p[i].line);
	str_addc(out, ',');
	ADD_ARRAY(out, "kind", n, (u64)g->frame.p[i].kind);
	str_addc(out, ',');
	ADD_ARRAY(out, "language", n, g->frame.p[i].language);
	str_add(out, "},\n\"nodes\":{");
	ADD_ARRAY(out, "parent", g->node.n, g->node.p[i].parent);
	str_addc(out, ',');
	ADD_ARRAY(out, "frame", g->node.n, g->node.p[i].frame);
	str_add(out, "},\n");
}

static void add_sample_arrays(struct Page *g, struct Str *out)
{
	const struct StackSample *s = g->p->samples;
	u32 n = g->p->n;
	str_add(out, "\"samples\":{");
	ADD_ARRAY(out, "node", n, g->ends.p[i]);
	str_addc(out, ',');
	ADD_ARRAY(out, "value", n, s[i].value);
	str_addc(out, ',');
	ADD_ARRAY(out, "pid", n, s[i].pid);
	str_addc(out, ',');
	ADD_ARRAY(out, "process", n, text_id(g, s[i].comm));
	str_add(out, "},\n\"parts\":[");
	for (u32 k = 0; g->p->parts && k < g->p->nparts; k++) {
		str_add(out, k ? ",{" : "{");
		add_name(out, "name", g->p->parts[k]);
		ADD_ARRAY(out, "value", n, s[i].part[k]);
		str_addc(out, '}');
	}
	str_add(out, "],\n");
}

static u32 label_id(struct Page *g, const struct StackSample *s, u32 k)
{
	struct Str text = {0};
	if (k < s->nlabels)
		value_text(&s->labels[k], &text);
	u32 id = text_id(g, str_text(&text));
	str_deinit(&text);
	return id;
}

static void add_labels(struct Page *g, struct Str *out)
{
	u32 n = 0;
	for (u32 i = 0; i < g->p->n; i++)
		n = MAX(n, g->p->samples[i].nlabels);
	str_add(out, "\"labels\":[");
	for (u32 k = 0; k < n; k++) {
		char number[32];
		snprintf(number, sizeof(number), "key %u", k + 1);
		str_add(out, k ? ",{" : "{");
		add_name(out, "name", g->p->label_names && g->p->label_names[k] ? g->p->label_names[k] : number);
		ADD_ARRAY(out, "value", g->p->n, label_id(g, &g->p->samples[i], k));
		str_addc(out, '}');
	}
	str_add(out, "],\n");
	if (n && g->p->label_places && g->p->label_places[0] == LABEL_OUTER) // the first row of the pictures
		add_name(out, "group", g->p->label_names[0]);
}

struct SampleSlot {
	u32 sample;
	struct SlotShare share;
};

// What happened when, as page_heat.js reads it
static void add_slots(struct Page *g, struct Str *out)
{
	const struct ProfileSlots *t = &g->p->slots;
	VEC(struct SampleSlot) all = {0};
	if (!t->width_ns)
		return;
	for (u32 i = 0; i < g->p->n; i++) {
		struct SlotShare *list;
		u32 n = sample_slots(&g->p->samples[i], &list);
		for (u32 k = 0; k < n; k++)
			vec_push(&all, ((struct SampleSlot){i, list[k]}));
		free(list);
	}
	u32 n = (u32)all.n;
	str_addf(out, "\"heat\":{\"width\":%llu,\"rows\":%u,\"n\":%u,\"start\":%llu,\"outside\":", (unsigned long long)t->width_ns, t->rows, t->n, (unsigned long long)(t->start_ns / 1000000));
	str_add_json_uint(out, t->outside);
	str_addc(out, ',');
	ADD_ARRAY(out, "sample", n, all.p[i].sample);
	str_addc(out, ',');
	ADD_ARRAY(out, "slot", n, all.p[i].share.slot);
	str_addc(out, ',');
	ADD_ARRAY(out, "value", n, all.p[i].share.value);
	str_add(out, ",\"parts\":[");
	for (u32 k = 0; g->p->parts && k < g->p->nparts; k++) {
		str_add(out, k ? ",[" : "[");
		for (u32 i = 0; i < n; i++) {
			str_add(out, i ? "," : "");
			str_add_json_uint(out, all.p[i].share.part[k]);
		}
		str_addc(out, ']');
	}
	str_add(out, "]},\n");
	vec_deinit(&all);
}

static void add_diff(struct Page *g, struct Str *out)
{
	const struct ProfileDiff *d = g->p->diff;
	if (!d)
		return;
	str_add(out, "\"diff\":{");
	add_name(out, "before", d->before);
	add_name(out, "after", d->after);
	str_addf(out, "\"counts\":%s,\"alpha\":%g,\"least\":%llu,\"spread\":%.17g,\"any\":%.17g,\"own\":%.17g,", d->counts ? "true" : "false", d->alpha, (unsigned long long)d->least,
		 d->spread, d->any, d->own);
	ADD_ARRAY(out, "names", d->nspreads, text_id(g, d->spreads[i].name));
	str_add(out, ",\"self\":[");
	for (u32 i = 0; i < d->nspreads; i++)
		str_addf(out, "%s%.17g", i ? "," : "", d->spreads[i].self);
	str_add(out, "],\"total\":[");
	for (u32 i = 0; i < d->nspreads; i++)
		str_addf(out, "%s%.17g", i ? "," : "", d->spreads[i].total);
	str_add(out, "]},\n");
}

static const char *command_of(const struct StackProfile *p)
{
	for (u32 i = 0; !p->command && i < p->ncomments; i++)
		if (!strncmp(p->comments[i], "command: ", 9))
			return p->comments[i] + 9;
	return p->command;
}

static void add_data(struct Page *g, struct Str *out)
{
	const struct StackProfile *p = g->p;
	str_addc(out, '{');
	add_name(out, "title", p->title);
	add_name(out, "command", command_of(p));
	add_name(out, "unit", p->unit ? p->unit : "samples");
	str_addf(out, "\"threads\":%d,\"period\":%llu,\"start\":%llu,\"duration\":%llu,\n", p->threads, (unsigned long long)p->period_ns, (unsigned long long)(p->start_ns / 1000000),
		 (unsigned long long)p->duration_ns);
	add_frame_arrays(g, out);
	add_sample_arrays(g, out);
	add_labels(g, out);
	add_slots(g, out);
	add_diff(g, out);
	str_add(out, "\"languages\":[");
	for (u32 i = 0; i < ARRAY_LEN(languages); i++)
		str_addf(out, "%s\"%s\"", i ? "," : "", languages[i]);
	str_add(out, "],\n\"strings\":[\"\""); // last: the others have found their texts
	for (u32 i = 0; i < g->texts.n; i++) {
		str_addc(out, ',');
		add_text(out, g->texts.slots[i].key);
	}
	str_add(out, "]}\n");
}

// ---- the page

static void add_markup(struct Str *out, const char *s)
{
	struct Str shown = {0};
	str_add_shown(&shown, s, strlen(s));
	for (const char *p = str_text(&shown); *p; p++)
		if (*p == '&' || *p == '<')
			str_addf(out, "&#%d;", *p);
		else
			str_addc(out, *p);
	str_deinit(&shown);
}

struct err *page_write(const struct StackProfile *p, FILE *out)
{
	struct Page g = {.p = p};
	struct Str s = {0};
	add_samples(&g);
	str_add(&s, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
	add_markup(&s, p->title && *p->title ? p->title : "Profile");
	str_add(&s, "</title>\n<style>\n");
	packed_add(&s, &styles);
	str_add(&s, "</style></head>\n<body>\n");
	packed_add(&s, &html);
	str_add(&s, "<script type=\"application/json\" id=\"data\">");
	add_data(&g, &s);
	str_add(&s, "</script>\n");
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		str_add(&s, "<script>\n");
		packed_add(&s, &scripts[i]);
		str_add(&s, "</script>\n");
	}
	str_add(&s, "</body></html>\n");
	fwrite(s.p, 1, s.n, out);
	str_deinit(&s);
	map_deinit(&g.texts);
	map_deinit(&g.frames);
	vec_deinit(&g.frame);
	vec_deinit(&g.node);
	vec_deinit(&g.ends);
	free(g.slots);
	return fflush(out) || ferror(out) ? err_errno(errno, "writing the report page") : NULL;
}
