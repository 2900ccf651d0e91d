// Go's table of functions. In: the copy of .gopclntab that gomodule.c found. Out: functions, values by address, names, files, lines, inlined calls.
// Invariant: no offset is followed that lies outside the copy, no text is read that does not end in it, every loop is bounded by it.
#include "elf/elf.h"

#define MAX_TABLE (256ull << 20)
#define MAX_FUNCS (8u << 20)
#define MAX_TREE (16ull << 20)
#define HEADER_1_16 (8 + 7 * 8) // magic, padding, quantum, size of a pointer; functions, files, five offsets
#define HEADER_1_18 (8 + 8 * 8) // ... and where the text begins
enum { PCDATA_INL_TREE_INDEX = 2, FUNCDATA_INL_TREE = 3 };

static u64 get(const struct GoTab *t, u64 at, u32 size)
{
	u64 v = 0;
	if (at < t->size && size <= t->size - at)
		memcpy(&v, t->data + at, size);
	return v;
}

static const char *text_at(const struct GoTab *t, u64 at)
{
	return at < t->size ? (const char *)t->data + at : ""; // a NUL follows the copy
}

static u64 record_size(const struct GoTab *t)
{
	return t->form == GO_1_16 ? 44 : t->form == GO_1_18 ? 40 : 44;
}

// ---- the header
static bool read_header(struct GoTab *t)
{
	static const u32 magics[] = {0xfffffffa, 0xfffffff0, 0xfffffff1};
	u32 magic = (u32)get(t, 0, 4), form = 0;
	while (form < ARRAY_LEN(magics) && magics[form] != magic)
		form++;
	if (form == ARRAY_LEN(magics) || get(t, 4, 2) || get(t, 7, 1) != 8)
		return false;
	t->form = form;
	t->quantum = (u32)get(t, 6, 1);
	u64 nfuncs = get(t, 8, 8), at = form == GO_1_16 ? 24 : 32, *const parts[] = {&t->names, &t->cus, &t->files, &t->pcs, &t->funcs};
	if (t->size < (form == GO_1_16 ? HEADER_1_16 : HEADER_1_18) || !t->quantum || nfuncs > MAX_FUNCS)
		return false;
	t->nfuncs = (u32)nfuncs;
	for (u32 i = 0; i < ARRAY_LEN(parts); i++, at += 8)
		if ((*parts[i] = get(t, at, 8)) >= t->size)
			return false;
	return (nfuncs + 1) * (form == GO_1_16 ? 16 : 8) <= t->size - t->funcs;
}

bool gotab_open(struct ElfFile *f, struct GoTab *t)
{
	u64 off;
	*t = (struct GoTab){0};
	if (!f->is64 || !gomodule_find_table(f, &off, &t->size, &t->vaddr))
		return false;
	t->data = elffile_load(f, off, t->size, MAX_TABLE);
	if (!t->data || !read_header(t)) {
		gotab_close(t);
		return false;
	}
	struct GoModule m = gomodule_read(f, t);
	t->text = m.text;
	t->gofunc = m.gofunc;
	return true;
}

// Go 1.27 has types in the names of generic functions (f[go.shape.int]), which tracebacks leave out (runtime.funcNameForPrint), as linkers did before: f[...]. In the copy.
static void shorten(char *name, u64 n)
{
	char *from = memchr(name, '[', n), *to = from ? memrchr(from, ']', (size_t)(name + n - from)) : NULL;
	if (!to || to - from < 4 || !memcmp(from, "[...", 4)) // there are no types of one or two letters
		return;
	memcpy(from + 1, "...", 3);
	memmove(from + 4, to, (size_t)(name + n - to));
	memset(from + 4 + (name + n - to), 0, (size_t)(to - from - 4));
}

static void shorten_names(struct GoTab *t)
{
	u64 end = t->size, others[] = {t->cus, t->files, t->pcs, t->funcs};
	for (u32 i = 0; i < ARRAY_LEN(others); i++)
		if (others[i] > t->names)
			end = MIN(end, others[i]);
	char *p = (char *)t->data + t->names, *stop = (char *)t->data + end, *open;
	while ((open = memchr(p, '[', (size_t)(stop - p)))) {
		char *name = memrchr(p, 0, (size_t)(open - p)), *nul = memchr(open, 0, (size_t)(stop - open));
		if (!nul)
			return;
		name = name ? name + 1 : p;
		shorten(name, (u64)(nul - name));
		p = nul;
	}
}

bool gotab_open_places(struct ElfFile *f, struct GoTab *t)
{
	u64 at;
	if (!gotab_open(f, t))
		return false;
	shorten_names(t);
	if (t->gofunc && elffile_vaddr_to_off(f, t->gofunc, &at)) {
		t->inl_size = MIN(f->size - at, MAX_TREE);
		t->inl = elffile_load(f, at, t->inl_size, MAX_TREE);
	}
	if (!t->inl)
		t->inl_size = 0;
	return true;
}

void gotab_close(struct GoTab *t)
{
	free(t->data);
	free(t->inl);
	*t = (struct GoTab){0};
}

// ---- functions
static u64 entry_of(const struct GoTab *t, u32 i)
{
	return t->form == GO_1_16 ? get(t, t->funcs + 16ull * i, 8) : t->text + get(t, t->funcs + 8ull * i, 4);
}

bool gotab_func(const struct GoTab *t, u32 i, struct GoFunc *out)
{
	u64 rec = t->funcs + (t->form == GO_1_16 ? get(t, t->funcs + 16ull * i + 8, 8) : get(t, t->funcs + 8ull * i + 4, 4));
	*out = (struct GoFunc){.entry = entry_of(t, i), .end = entry_of(t, i + 1), .rec = rec};
	if (rec < t->funcs || rec >= t->size || record_size(t) > t->size - rec || out->end <= out->entry)
		return false;
	u64 at = rec + (t->form == GO_1_16 ? 8 : 4);
	out->name = text_at(t, t->names + get(t, at, 4));
	out->pcsp = (u32)get(t, at + 12, 4);
	out->pcfile = (u32)get(t, at + 16, 4);
	out->pcln = (u32)get(t, at + 20, 4);
	out->npcdata = (u32)get(t, at + 24, 4);
	out->cu = (u32)get(t, at + 28, 4);
	at = rec + record_size(t) - 4; // kind, flags, 0, number of function data
	out->flag = (u8)get(t, at + 1, 1);
	out->nfuncdata = (u8)get(t, at + 3, 1);
	return true;
}

bool gotab_find(const struct GoTab *t, u64 vaddr, struct GoFunc *out)
{
	u32 lo = 0, hi = t->nfuncs;
	while (lo < hi) { // the first that begins above vaddr
		u32 mid = lo + (hi - lo) / 2;
		if (entry_of(t, mid) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && gotab_func(t, lo - 1, out) && vaddr >= out->entry && vaddr < out->end;
}

// ---- values by address
static u32 varint(const u8 **p, const u8 *end)
{
	u32 v = 0, shift = 0;
	while (*p < end && shift < 35) {
		u8 b = *(*p)++;
		v |= shift < 32 ? (u32)(b & 0x7f) << shift : 0;
		if (!(b & 0x80))
			break;
		shift += 7;
	}
	return v;
}

void gosteps_init(struct GoSteps *s, const struct GoTab *t, const struct GoFunc *f, u32 table)
{
	u64 at = t->pcs + table;
	bool none = !table || at >= t->size; // 0: no such table
	*s = (struct GoSteps){.p = t->data + (none ? 0 : at), .end = t->data + (none ? 0 : t->size), .from = f->entry, .to = f->entry};
	s->limit = f->end;
	s->value = -1;
	s->quantum = t->quantum;
	s->first = true;
}

bool gosteps_next(struct GoSteps *s)
{
	if (s->p >= s->end || s->to >= s->limit)
		return false;
	u32 v = varint(&s->p, s->end);
	if (!v && !s->first)
		return false;
	s->first = false;
	s->value = (s32)((u32)s->value + (v & 1 ? ~(v >> 1) : v >> 1));
	s->from = s->to;
	s->to += (u64)varint(&s->p, s->end) * s->quantum;
	s->to = MIN(s->to, s->limit);
	return s->to > s->from; // else damaged, and without an end
}

static s32 value_at(const struct GoTab *t, const struct GoFunc *f, u32 table, u64 vaddr)
{
	struct GoSteps s;
	for (gosteps_init(&s, t, f, table); gosteps_next(&s);)
		if (vaddr < s.to)
			return s.value;
	return -1;
}

// ---- files, lines, inlined calls
static const char *file_at(const struct GoTab *t, const struct GoFunc *f, s32 nr)
{
	u64 at = t->cus + 4 * ((u64)f->cu + (u32)nr);
	if (nr < 0 || at >= t->files || t->files - at < 4)
		return NULL;
	u32 file = (u32)get(t, at, 4);
	return file == ~0u ? NULL : text_at(t, t->files + file);
}

static void place_at(const struct GoTab *t, const struct GoFunc *f, u64 vaddr, struct GoPlace *out)
{
	s32 line = value_at(t, f, f->pcln, vaddr);
	out->file = file_at(t, f, value_at(t, f, f->pcfile, vaddr));
	out->line = line > 0 ? (u32)line : 0;
}

// A node of a function's inline tree.
struct Node {
	const char *name;
	s32 parent_pc; // of the instruction that stands for the call, from the function's entry
};

// Offset of the function's inline tree in t->inl; ~0: none.
static u64 tree_of(const struct GoTab *t, const struct GoFunc *f)
{
	if (f->nfuncdata <= FUNCDATA_INL_TREE || f->npcdata > 64)
		return ~0ull;
	u64 at = f->rec + record_size(t) + 4ull * f->npcdata;
	if (t->form == GO_1_16) { // pointers, aligned
		at += (t->vaddr + at) & 4;
		return get(t, at + 8 * FUNCDATA_INL_TREE, 8) - t->gofunc;
	}
	u32 off = (u32)get(t, at + 4 * FUNCDATA_INL_TREE, 4);
	return off == ~0u ? ~0ull : off;
}

static bool node_at(const struct GoTab *t, u64 tree, s32 i, struct Node *out)
{
	u32 size = t->form < GO_1_20 ? 20 : 16, name;
	u64 at = tree + (u64)(u32)i * size;
	if (i < 0 || at >= t->inl_size || size > t->inl_size - at)
		return false;
	const u8 *p = t->inl + at;
	memcpy(&name, p + (t->form < GO_1_20 ? 12 : 4), 4);
	memcpy(&out->parent_pc, p + (t->form < GO_1_20 ? 16 : 8), 4);
	out->name = text_at(t, t->names + name);
	return out->name[0];
}

u32 gotab_places(const struct GoTab *t, const struct GoFunc *f, u64 vaddr, struct GoPlace *out, u32 max)
{
	u64 tree = tree_of(t, f);
	u32 index = 0, n = 0;
	if (tree < t->inl_size && f->npcdata > PCDATA_INL_TREE_INDEX)
		index = (u32)get(t, f->rec + record_size(t) + 4 * PCDATA_INL_TREE_INDEX, 4);
	while (n + 1 < max) {
		struct Node node;
		if (!index || !node_at(t, tree, value_at(t, f, index, vaddr), &node))
			break;
		place_at(t, f, vaddr, &out[n]);
		out[n++].name = node.name;
		if (node.parent_pc < 0 || f->entry + (u32)node.parent_pc >= f->end)
			break;
		vaddr = f->entry + (u32)node.parent_pc;
	}
	place_at(t, f, vaddr, &out[n]);
	out[n++].name = f->name;
	return n;
}
