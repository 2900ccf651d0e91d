// The flame graph: one SVG file with its own style and script, no other resource.
// In: stack counts. Out: a picture that is right without its script (positions are percentages) and zooms, searches and explains with it.
// Invariant: well-formed XML whatever bytes the names of traced programs hold; the same input gives the same file.
#include "out/internal.h"
#include <errno.h>

#define ROW 17		 // pixels
#define HEAD 62		 // above the frames
#define FOOT 12
#define STATIC_WIDTH 1200 // pixels, where no script sets the width
#define STATIC_CHAR 7.3	 // width of a character there
#define MIN_PIXELS 0.1	 // narrower frames are left out
#define MAX_NAME 2000	 // bytes
#define MAX_DEPTH 4096

static const u8 script[] = {
#include "out/flame.js.gz.h"
};
static const char style[] =
#include "out/flame.css.h"
	;

enum NodeKind { NODE_ROOT, NODE_LABEL, NODE_USER, NODE_INLINE, NODE_LANG, NODE_KERNEL, NODE_NOTE };
struct Node {
	const char *name;
	enum NodeKind kind;
	const char *lang; // NODE_LANG
	struct Node *parent, *child, *next; // next: sibling
	struct Node *chain;		    // hash chain
	u32 hash, nchildren;
	u64 value; // with descendants
};
struct Tree {
	struct Arena arena;
	struct Node root;
	struct Node **buckets;
	u32 nbuckets, n;
	u32 depth;
};

// ---- the tree

static u32 hash_node(const struct Node *parent, const char *name, enum NodeKind kind)
{
	u32 h = 2166136261u ^ (u32)((uintptr_t)parent >> 4) ^ (u32)kind * 2654435761u;
	for (const char *p = name; *p; p++)
		h = (h ^ (u8)*p) * 16777619u;
	return h ^ h >> 15;
}

static void grow(struct Tree *t)
{
	u32 n = t->nbuckets ? t->nbuckets * 2 : 1024;
	struct Node **fresh = xcalloc(n, sizeof(*fresh));
	for (u32 i = 0; i < t->nbuckets; i++) {
		for (struct Node *nd = t->buckets[i], *next; nd; nd = next) {
			next = nd->chain;
			nd->chain = fresh[nd->hash & (n - 1)];
			fresh[nd->hash & (n - 1)] = nd;
		}
	}
	free(t->buckets);
	t->buckets = fresh;
	t->nbuckets = n;
}

// The child of that name, made if it is new. Names live as long as the profile.
static struct Node *step(struct Tree *t, struct Node *parent, const char *name, enum NodeKind kind, u64 value)
{
	u32 h = hash_node(parent, name, kind);
	if (t->n >= t->nbuckets)
		grow(t);
	struct Node *n = t->buckets[h & (t->nbuckets - 1)];
	while (n && (n->hash != h || n->parent != parent || n->kind != kind || strcmp(n->name, name)))
		n = n->chain;
	if (!n) {
		n = arena_new(&t->arena, struct Node);
		*n = (struct Node){.name = name, .kind = kind, .parent = parent, .next = parent->child, .hash = h};
		n->chain = t->buckets[h & (t->nbuckets - 1)];
		t->buckets[h & (t->nbuckets - 1)] = n;
		parent->child = n;
		parent->nchildren++;
		t->n++;
	}
	n->value += value;
	return n;
}

static const char *frame_name(struct Tree *t, const struct StackProfile *p, const struct Frame *f)
{
	struct Str s = {0};
	if (f->sym && !p->with_offsets)
		return f->sym;
	profile_frame_name(p, f, &s);
	const char *name = arena_strndup(&t->arena, str_text(&s), s.n);
	str_deinit(&s);
	return name;
}

static struct Node *step_user(struct Tree *t, struct Node *n, const struct StackProfile *p, const struct Frame *f, u64 value)
{
	enum NodeKind kind = f->lang && !f->mark ? NODE_LANG : f->inlined ? NODE_INLINE : NODE_USER;
	n = step(t, n, frame_name(t, p, f), kind, value);
	n->lang = f->lang;
	return n;
}

static struct Node *add_labels(struct Tree *t, struct Node *n, const struct StackProfile *p, const struct StackSample *s, enum LabelPlace at, u32 *depth)
{
	for (u32 i = 0; i < s->nlabels && *depth < MAX_DEPTH; i++) {
		struct Str text = {0};
		profile_label_row(p, s, i, at, &text);
		if (text.n) {
			n = step(t, n, arena_strndup(&t->arena, str_text(&text), text.n), NODE_LABEL, s->value);
			++*depth;
		}
		str_deinit(&text);
	}
	return n;
}

static void add_sample(struct Tree *t, const struct StackProfile *p, const struct StackSample *s)
{
	struct Node *n = &t->root;
	u32 depth = 0;
	n->value += s->value;
	n = add_labels(t, n, p, s, LABEL_OUTER, &depth);
	if (s->comm)
		n = step(t, n, s->comm, NODE_LABEL, s->value), depth++;
	n = add_labels(t, n, p, s, LABEL_INNER, &depth);
	for (u32 i = s->nuser; i-- > 0 && depth < MAX_DEPTH; depth++)
		n = step_user(t, n, p, &s->user[i], s->value);
	if (!s->nuser && s->user_note)
		n = step(t, n, s->user_note, NODE_NOTE, s->value), depth++;
	bool kern = s->nkern || s->kern_note;
	if (p->delim && kern && (s->nuser || s->user_note))
		n = step(t, n, "-", NODE_NOTE, s->value), depth++;
	for (u32 i = s->nkern; i-- > 0 && depth < MAX_DEPTH; depth++)
		n = step(t, n, frame_name(t, p, &s->kern[i]), NODE_KERNEL, s->value);
	if (!s->nkern && s->kern_note)
		step(t, n, s->kern_note, NODE_NOTE, s->value), depth++;
	t->depth = MAX(t->depth, depth);
}

static int by_name(const void *a, const void *b)
{
	const struct Node *x = *(struct Node *const *)a, *y = *(struct Node *const *)b;
	int c = strcmp(x->name, y->name);
	return c ? c : (int)x->kind - (int)y->kind;
}

// ---- text

// At most max bytes of s.
static void add_xml(struct Str *out, const char *s, size_t max)
{
	size_t n = strlen(s);
	bool cut = n > max;
	n = MIN(n, max);
	while (cut && n && ((u8)s[n] & 0xc0) == 0x80) // not within a character
		n--;
	for (size_t i = 0; i < n;) {
		size_t len = shown_len(s + i, n - i);
		switch (len == 1 ? s[i] : 0) {
		case '&':
			str_add(out, "&amp;");
			break;
		case '<':
			str_add(out, "&lt;");
			break;
		case '>':
			str_add(out, "&gt;");
			break;
		case '"':
			str_add(out, "&quot;");
			break;
		default:
			if (len)
				str_addn(out, s + i, len);
			else
				str_addf(out, "\\x%02x", (u8)s[i]);
		}
		i += MAX(len, (size_t)1);
	}
	if (cut)
		str_add(out, "..");
}

static void add_grouped(struct Str *out, u64 v)
{
	char d[32];
	int n = snprintf(d, sizeof(d), "%llu", (unsigned long long)v);
	for (int i = 0; i < n; i++) {
		str_addc(out, d[i]);
		if ((n - i - 1) % 3 == 0 && i + 1 < n)
			str_addc(out, ',');
	}
}

static void add_duration(struct Str *out, double ns)
{
	if (ns >= 1e9)
		str_addf(out, "%.2f s", ns / 1e9);
	else if (ns >= 1e6)
		str_addf(out, "%.2f ms", ns / 1e6);
	else
		str_addf(out, "%.*f us", ns < 1e3 ? 3 : 0, ns / 1e3);
}

static void add_amount(struct Str *out, const struct StackProfile *p, u64 v)
{
	const char *unit = p->unit ? p->unit : "samples";
	if (!strcmp(unit, "us")) {
		add_duration(out, (double)v * 1e3);
		return;
	}
	if (!strcmp(unit, "ns")) {
		add_duration(out, (double)v);
		return;
	}
	size_t n = strlen(unit);
	char *one = xasprintf("%.*s", (int)(v == 1 && n && unit[n - 1] == 's' ? n - 1 : n), unit);
	add_grouped(out, v);
	str_addc(out, ' ');
	add_xml(out, one, n);
	free(one);
	if (p->period_ns) {
		str_add(out, " (");
		add_duration(out, (double)v * (double)p->period_ns);
		str_addc(out, ')');
	}
}

// ---- colours: hue by kind, shade by name. Kinds differ for eyes without red or green cones, too (test/page/acts.py, pigments)

static u32 hsl(double h, double s, double l)
{
	double c = s * MIN(l, 1 - l);
	u32 rgb = 0;
	for (int i = 0; i < 3; i++) {
		static const int n[] = {0, 8, 4};
		double k = (double)n[i] + h / 30;
		while (k >= 12)
			k -= 12;
		double t = MIN(MIN(k - 3, 9 - k), 1.0);
		rgb = rgb << 8 | (u32)((l - c * MAX(t, -1.0)) * 255 + 0.5);
	}
	return rgb;
}

static u32 colour(const struct Node *n)
{
	u32 h = hash_node(NULL, n->name, 0);
	double a = (h & 0xff) / 255.0, b = (h >> 8 & 0xff) / 255.0;
	switch (n->kind) {
	case NODE_ROOT:
		return 0xd9d9d4;
	case NODE_LABEL:
		return hsl(250 + 30 * a, 0.30, 0.80 + 0.04 * b);
	case NODE_USER:
		return hsl(14 + 12 * a, 0.86, 0.62 + 0.04 * b);
	case NODE_INLINE:
		return hsl(48 + 6 * a, 0.90, 0.82 + 0.04 * b);
	case NODE_LANG:
		return hsl(300 + 16 * a, 0.30, 0.56 + 0.02 * b);
	case NODE_KERNEL:
		return hsl(202 + 10 * a, 0.70, 0.60 + 0.03 * b);
	case NODE_NOTE:
		break;
	}
	return 0xc4c4c0;
}

// ---- the picture

struct Draw {
	const struct StackProfile *p;
	FILE *out;
	u64 total, pruned, pruned_value; // frames that are too narrow, and what they hold
	u32 rows;
	struct Str s;
};

static void draw_frame(struct Draw *d, const struct Node *n, u64 start, u32 depth)
{
	double x = 100.0 * (double)start / (double)d->total, w = 100.0 * (double)n->value / (double)d->total;
	u32 y = HEAD + (d->rows - 1 - depth) * ROW;
	struct Str *s = &d->s;
	str_reset(s);
	str_add(s, "<g class=\"f\"><title>");
	add_xml(s, n->name, MAX_NAME);
	str_addc(s, '\n');
	add_amount(s, d->p, n->value);
	const char *kind = n->kind == NODE_KERNEL ? "kernel" : n->kind == NODE_INLINE ? "inlined" : n->kind == NODE_LANG ? n->lang == frame_lang_unknown ? "interpreted" : n->lang : "";
	str_addf(s, ", %.2f%%%s%s</title><rect x=\"%.7g%%\" y=\"%u\" width=\"%.7g%%\" height=\"%d\" fill=\"#%06x\"/>", w,
		 *kind ? ", " : "", kind, x, y, w, ROW - 1, colour(n));
	int room = (int)((w * STATIC_WIDTH / 100 - 6) / STATIC_CHAR);
	if (room >= 3) {
		size_t len = strlen(n->name);
		str_addf(s, "<text x=\"%.7g%%\" y=\"%u\" dx=\"3\">", x, y + 12);
		add_xml(s, n->name, len <= (size_t)room ? len : (size_t)room - 2);
		str_add(s, "</text>");
	}
	str_add(s, "</g>\n");
	fwrite(s->p, 1, s->n, d->out);
}

static bool is_drawn(const struct Draw *d, const struct Node *n)
{
	return (double)n->value * STATIC_WIDTH >= MIN_PIXELS * (double)d->total;
}

static u64 count_nodes(const struct Node *n)
{
	u64 sum = 1;
	for (const struct Node *c = n->child; c; c = c->next)
		sum += count_nodes(c);
	return sum;
}

// Rows on top of n; counts what is too narrow.
static u32 visible_depth(struct Draw *d, const struct Node *n)
{
	u32 max = 0;
	for (const struct Node *c = n->child; c; c = c->next) {
		u32 depth = 0;
		if (is_drawn(d, c))
			depth = 1 + visible_depth(d, c);
		else {
			d->pruned += count_nodes(c);
			d->pruned_value += c->value;
		}
		max = MAX(max, depth);
	}
	return max;
}

static void draw_tree(struct Draw *d, const struct Node *n, u64 start, u32 depth)
{
	draw_frame(d, n, start, depth);
	struct Node **kids = xmalloc((n->nchildren + 1) * sizeof(*kids));
	u32 k = 0;
	for (struct Node *c = n->child; c; c = c->next)
		kids[k++] = c;
	qsort(kids, k, sizeof(*kids), by_name);
	for (u32 i = 0; i < k; i++) {
		if (is_drawn(d, kids[i]))
			draw_tree(d, kids[i], start, depth + 1);
		start += kids[i]->value;
	}
	free(kids);
}

static void draw_head(struct Draw *d, u32 height)
{
	struct Str *s = &d->s;
	str_addf(s,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"flame\" version=\"1.1\" width=\"%d\" height=\"%u\">\n<style><![CDATA[\n%s]]></style>\n"
		 "<rect id=\"paper\" width=\"100%%\" height=\"100%%\" fill=\"#fcfcfa\"/>\n<text id=\"title\" x=\"50%%\" y=\"24\">",
		 STATIC_WIDTH, height, style);
	add_xml(s, d->p->title && *d->p->title ? d->p->title : "Flame graph", 300);
	str_add(s, "</text>\n<text id=\"sub\" x=\"50%\" y=\"44\">");
	add_amount(s, d->p, d->total);
	if (d->p->duration_ns) {
		str_add(s, " in ");
		add_duration(s, (double)d->p->duration_ns);
	}
	if (d->pruned) {
		str_add(s, " \302\267 ");
		double share = 100.0 * (double)d->pruned_value / (double)d->total;
		add_grouped(s, d->pruned);
		str_addf(s, " frame%s (", d->pruned == 1 ? "" : "s");
		str_addf(s, share < 10 ? "%.2g" : "%.0f", share);
		str_add(s, " %) too narrow to draw or to find");
	}
	str_add(s, "</text>\n<text id=\"reset\" x=\"12\" y=\"24\" style=\"display:none\">Reset zoom</text>\n"
		   "<g id=\"key\"><rect x=\"12\" y=\"34\" width=\"11\" height=\"11\" fill=\"#f19153\"/><text x=\"27\" y=\"44\">user</text>"
		   "<rect x=\"62\" y=\"34\" width=\"11\" height=\"11\" fill=\"#539ee2\"/><text x=\"77\" y=\"44\">kernel</text></g>\n");
	fwrite(s->p, 1, s->n, d->out);
}

static void draw_foot(struct Draw *d)
{
	fprintf(d->out,
		"<text id=\"matched\" x=\"100%%\" dx=\"-12\" y=\"52\"></text>\n"
		"<svg id=\"find\" x=\"100%%\" y=\"10\" overflow=\"visible\" style=\"display:none\"><foreignObject x=\"-212\" y=\"0\" width=\"204\" height=\"28\">"
		"<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"box\" placeholder=\"Search (/)\" aria-label=\"Search frames\"/></foreignObject></svg>\n"
		"<g id=\"tip\" style=\"display:none\"><rect id=\"tipbox\" width=\"10\" height=\"40\" rx=\"3\"/><text id=\"tipname\" x=\"8\" y=\"16\"></text>"
		"<text id=\"tipinfo\" x=\"8\" y=\"33\"></text></g>\n");
	struct Str code = {0};
	packed_add(&code, &(struct Packed){script, sizeof(script)});
	fprintf(d->out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", str_text(&code));
	str_deinit(&code);
}

struct err *flame_write(const struct StackProfile *p, FILE *out)
{
	struct Tree t = {.root = {.name = "all", .kind = NODE_ROOT}};
	for (u32 i = 0; i < p->n; i++)
		if (p->samples[i].value)
			add_sample(&t, p, &p->samples[i]);
	struct Draw d = {.p = p, .out = out, .total = t.root.value};
	d.rows = 1 + visible_depth(&d, &t.root);
	draw_head(&d, HEAD + d.rows * ROW + FOOT);
	if (d.total)
		draw_tree(&d, &t.root, 0, 0);
	else
		fprintf(out, "<text x=\"12\" y=\"%d\">No samples.</text>\n", HEAD + 12);
	draw_foot(&d);
	str_deinit(&d.s);
	free(t.buckets);
	arena_deinit(&t.arena);
	if (fflush(out) || ferror(out))
		return err_errno(errno, "writing the flame graph");
	return NULL;
}
