// Code that .NET's runtime (CoreCLR 8 to 10, and later ones whose structures are as they say) compiles at run time. Input: memory of a process that maps it. Output: objects of methods with their
// names and rows, mappings that lead to them (docs/jit.md).
// The runtime keeps its code in heaps. Each has a map: a nibble for each 32 bytes, which says where among them a method begins (0: nowhere). The word before a method leads to its header: its
// MethodDesc, which names it (clrname.c), and where its unwind information is (unwind/pdata.c). What may be run besides are pieces that jump to methods. (.NET: src/coreclr/vm/codeman.h, nibblemapmacros.h, method.hpp; docs/design/datacontracts.)
// Invariant: nothing in that memory is trusted. A heap's places are used once, but for methods that a program makes and drops (DynamicMethod): what was run before its method was found has that one's name. A method that another one has replaced at the same place, of those that a program makes and drops (DynamicMethod), has the old name until user space has
// seen the place free.
#include "track/internal.h"
#include "unwind/unwind.h"

#define PAGE 4096u
#define HEAPS_MAX 4096u
#define AREAS_MAX 4096u
#define HEAP_MAX (1ull << 30)	// bytes of a heap, and of all of a process that are looked at
#define METHOD_MAX (1u << 20) // bytes of a method
#define UNWINDS_MAX 1024u	// handlers of exceptions in a method
#define BATCH 4096u
#define BUCKET 32u  // bytes of code a nibble is for
#define WORD 256u   // ... a word of the map
#define TRIES_MAX 4096u // methods that could not be read, of a heap
#define LAST_STUB 15u	// a header up to there is no address: the code is no method
#define STUBS_MAX (256u << 10) // bytes of pieces of code that are no methods, which are looked at
#define LOOK_NS 50000000ull // how long new methods may take in a look; the others are for the next one
#define PAUSE_NS 1000000ull // a look that found any makes an object, of which there are not many: so often so long to the next one
#define HEAPS_MANY 512u // a longer list is looked at less often
#define IDLE 50u   // rounds without a new method, after which what names need is dropped

struct Heap {
	u64 at, start, end, limit, base, map; // limit: of what it may grow to; base: what the map counts from
	VEC(u32) seen; // the map as it was read
	u32 failed;
	bool here;
};
struct Area { // memory of the runtime that may be run
	u64 start, end;
	u32 looks; // so often it was no heap's
	bool here, put;
};
struct ClrProc {
	u64 table;    // what debuggers begin with (g_dacTable)
	u64 manager;  // the address of the list of heaps; 0: not known yet
	struct ClrNames *names;
	VEC(struct Heap) heaps;
	VEC(struct Area) areas;
	u32 idle, found; // looks in a row without a new method; looks with any
	u64 not_before;	 // ns
};

struct ClrProc *clrcode_create(int tgid, u64 table, u64 contract)
{
	struct ClrProc *c = xcalloc(1, sizeof(*c));
	c->table = table;
	c->names = clrnames_create(tgid, contract);
	return c;
}

void clrcode_destroy(struct ClrProc *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->heaps.n; i++)
		vec_deinit(&c->heaps.p[i].seen);
	vec_deinit(&c->heaps);
	vec_deinit(&c->areas);
	clrnames_destroy(c->names);
	free(c);
}

// A symbol of the runtime in a process; 0: it has none.
static u64 symbol(struct Jits *j, const struct ProcMap *m, const char *name)
{
	struct SymDef d;
	return sym_object_find(j->syms, m->obj, name, &d) ? jit_place_of(m, d.addr) : 0;
}

void clrcode_look(struct Jits *j, struct Jit *t, const struct ProcMap *runtime, const struct ProcMap *maps, size_t n)
{
	if (!t->clr)
		t->clr = clrcode_create(t->tgid, symbol(j, runtime, "g_dacTable"), symbol(j, runtime, "DotNetRuntimeContractDescriptor"));
	for (size_t i = 0; i < t->clr->areas.n; i++)
		t->clr->areas.p[i].here = false;
	for (size_t i = 0; i < n; i++) {
		struct Area *a = NULL;
		if (maps[i].obj || !maps[i].ino) // it writes by other mappings of the same memory, which is a file's
			continue;
		for (size_t k = 0; k < t->clr->areas.n && !a; k++)
			if (t->clr->areas.p[k].start == maps[i].start && t->clr->areas.p[k].end == maps[i].end)
				a = &t->clr->areas.p[k];
		if (a)
			a->here = true;
		else if (t->clr->areas.n < AREAS_MAX)
			vec_push(&t->clr->areas, ((struct Area){maps[i].start, maps[i].end, 0, true, false}));
	}
	size_t kept = 0;
	for (size_t i = 0; i < t->clr->areas.n; i++)
		if (t->clr->areas.p[i].here)
			t->clr->areas.p[kept++] = t->clr->areas.p[i];
	t->clr->areas.n = kept;
}

// ---- heaps' list
struct HeapNode { // HeapList
	u64 next, heap, start, end, base, map, max, reserved;
};
static bool read_heap(struct Jit *t, u64 at, struct HeapNode *h)
{
	return at % 8 == 0 && jit_read_memory(&t->tgid, at, h, sizeof(*h)) && h->start <= h->end && h->end - h->start < HEAP_MAX && h->base == (h->start & ~(u64)(PAGE - 1)) && h->max &&
	       h->max < HEAP_MAX && h->map % 4 == 0;
}

// One of the first things that debuggers are told of leads to what manages compiled code, whose first words have the list.
#define ROOTS 8
static void find_list(struct Jit *t)
{
	u64 roots[ROOTS], manager, words[ROOTS];
	struct HeapNode h;
	if (t->clr->manager || !jit_read_memory(&t->tgid, t->clr->table, roots, sizeof(roots)))
		return;
	for (u32 i = 0; i < ROOTS && !t->clr->manager; i++) {
		u32 k = (i + 4) % ROOTS; // where they have it
		if (!jit_read_memory(&t->tgid, roots[k], &manager, sizeof(manager)) || !jit_read_memory(&t->tgid, manager, words, sizeof(words)))
			continue;
		for (u32 w = 1; w < ROOTS && !t->clr->manager; w++)
			if (read_heap(t, words[w], &h))
				t->clr->manager = manager + w * 8;
	}
}

// ---- methods
struct Function { // RUNTIME_FUNCTION
	u32 from, to, unwind;
};
struct Header { // RealCodeHeader
	u64 debug, exceptions, collector, method;
	u32 nfunctions;
	struct Function first;
};

static void add_row(struct UwMade *made, u64 off, const struct RtUwRule *rule)
{
	if (!made->rows.n || memcmp(&vec_last(&made->rows).rule, rule, sizeof(*rule)))
		vec_push(&made->rows, ((struct MadeRow){off, *rule}));
}

// Rows of its functions: the method and what handles its exceptions.
static void add_rows(struct Jit *t, u64 base, u64 start, const struct Function *f, u32 n, const u8 *code, struct UwMade *made)
{
	const struct UwWindows w = {jit_read_memory, &t->tgid, base};
	UwCodeRows rows = {0};
	for (u32 i = 0; i < n; i++) {
		u64 off = base + f[i].from - start;
		rows.n = 0;
		uwwindows_rows(&w, f[i].unwind, code + off, f[i].to - f[i].from, &rows);
		for (size_t k = 0; k < rows.n; k++)
			add_row(made, off + rows.p[k].off, &rows.p[k].rule);
	}
	vec_deinit(&rows);
}

static bool take_method(struct Jit *t, u64 start, u64 header, struct Pieces *out)
{
	struct Header h;
	if (!jit_read_memory(&t->tgid, header, &h, offsetof(struct Header, first)) || !h.nfunctions || h.nfunctions > UNWINDS_MAX)
		return false;
	struct Function *f = xmalloc(h.nfunctions * sizeof(*f));
	bool ok = jit_read_memory(&t->tgid, header + offsetof(struct Header, first), f, h.nfunctions * sizeof(*f));
	u32 size = ok ? f[h.nfunctions - 1].to - f[0].from : 0;
	for (u32 i = 0; i < h.nfunctions && ok; i++)
		ok = f[i].from < f[i].to && f[i].from >= (i ? f[i - 1].to : f[0].from) && f[i].to - f[0].from <= size;
	u8 *code = ok && size <= METHOD_MAX ? xmalloc(size) : NULL;
	ok = code && jit_read_memory(&t->tgid, start, code, size);
	if (ok) {
		struct UwMade *made = xcalloc(1, sizeof(*made));
		add_rows(t, start - f[0].from, start, f, h.nfunctions, code, made);
		vec_push(&out->syms, ((struct MadeSym){start, size, clrnames_method(t->clr->names, h.method)}));
		vec_push(&out->made, made);
	}
	free(code);
	free(f);
	return ok;
}

// Pieces that jump to methods, and a few that the runtime calls: none of them has a frame, but some save a register for a moment.
static void take_stubs(struct Jit *t, u64 start, u64 size, struct Pieces *out)
{
	struct UwMade *made = xcalloc(1, sizeof(*made));
	UwCodeRows rows = {0};
	u8 *code = size <= STUBS_MAX ? xmalloc(size) : NULL;
	if (code && jit_read_memory(&t->tgid, start, code, size))
		uwstub_rows(code, size, &rows);
	if (!rows.n)
		vec_push(&made->rows, ((struct MadeRow){0, {.kind = RT_UW_REG, .reg = RT_R_SP, .off = 8, .ra = -8}}));
	for (size_t k = 0; k < rows.n; k++)
		add_row(made, rows.p[k].off, &rows.p[k].rule);
	vec_deinit(&rows);
	free(code);
	vec_push(&out->syms, ((struct MadeSym){start, size, xstrdup("dotnet-stub")}));
	vec_push(&out->made, made);
}

// False: it could not be read, or is not whole yet: the map tells of a method before its header and code are written.
static bool take(struct Jit *t, u64 start, u64 next, struct Pieces *out)
{
	u64 header;
	if (!jit_read_memory(&t->tgid, start - sizeof(header), &header, sizeof(header)) || !header)
		return false;
	if (header > LAST_STUB)
		return take_method(t, start, header, out);
	if (next <= start) // what the map says is not so
		return false;
	take_stubs(t, start, MIN(next - start, (u64)STUBS_MAX), out);
	return true;
}

// ---- heaps
#define POINTS_BACK 8u // a word whose last nibble is above this says where the method over all of its bytes begins
static u32 nibble(u32 word, u32 k)
{
	return (word & 15) > POINTS_BACK ? 0 : word >> (28 - 4 * k) & 15;
}

static u64 start_at(const struct Heap *h, size_t i, u32 k, u32 nibble)
{
	return h->base + i * WORD + k * BUCKET + (nibble - 1) * 4;
}

// Where the one behind place i, k begins; the heap's end if there is none.
static u64 next_start(const struct Heap *h, const u32 *map, size_t n, size_t i, u32 k)
{
	for (k++; i < n; i++, k = 0)
		for (; k < 8; k++)
			if (nibble(map[i], k))
				return start_at(h, i, k, nibble(map[i], k)) - sizeof(u64);
	return h->end;
}

static void forget(struct Jit *t, u64 from, u64 to)
{
	if (from < to)
		jit_put(t, from, to - from, 0, NULL, PROC_MADE_NAMES);
}

// What the map says now that it did not say, and the other way round. until: ns.
static void take_changes(struct Jit *t, struct Heap *h, u32 *map, size_t n, u64 until, struct Pieces *out)
{
	for (size_t i = 0; i < n && out->syms.n < BATCH; i++) {
		if (i < h->seen.n && h->seen.p[i] == map[i])
			continue;
		if (map[i] && now_ns() > until)
			break;
		u32 was = i < h->seen.n ? h->seen.p[i] : 0, failed = 0;
		for (u32 k = 0; k < 8; k++) {
			u32 old = nibble(was, k), new = nibble(map[i], k);
			if (old && old != new)
				forget(t, start_at(h, i, k, old), next_start(h, h->seen.p, h->seen.n, i, k));
			if (!new || new == old)
				continue;
			u64 start = start_at(h, i, k, new);
			bool later = start >= h->end; // it has come since the heap's end was read
			if (later || (!take(t, start, next_start(h, map, n, i, k), out) && h->failed++ < TRIES_MAX))
				failed |= 15u << (28 - 4 * k);
		}
		if (i == h->seen.n)
			vec_push(&h->seen, 0);
		h->seen.p[i] = map[i] & ~failed;
	}
}

static struct Heap *heap_at(struct Jit *t, u64 at, const struct HeapNode *node)
{
	struct ClrProc *c = t->clr;
	for (size_t i = 0; i < c->heaps.n; i++) {
		struct Heap *h = &c->heaps.p[i];
		if (h->at != at)
			continue;
		if (h->start == node->start && h->map == node->map)
			return h;
		h->at = 0; // another one, its place was used again
	}
	vec_push(&c->heaps, ((struct Heap){.at = at, .start = node->start, .limit = node->base + node->max + PAGE, .base = node->base, .map = node->map}));
	return &vec_last(&c->heaps);
}

static bool is_heap(const struct ClrProc *c, const struct Area *a)
{
	for (size_t i = 0; i < c->heaps.n; i++)
		if (c->heaps.p[i].base < a->end && a->start < c->heaps.p[i].limit)
			return true;
	return false;
}

// Memory that may be run and is no heap is of stubs. A heap that is being made is listed a moment after its memory: it takes two looks.
static void take_areas(struct Jit *t, struct Pieces *out)
{
	for (size_t i = 0; i < t->clr->areas.n; i++) {
		struct Area *a = &t->clr->areas.p[i];
		if (is_heap(t->clr, a)) {
			if (a->put)
				forget(t, a->start, a->end);
			a->put = false;
			a->looks = 0;
		} else if (!a->put && a->looks++) {
			take_stubs(t, a->start, a->end - a->start, out);
			a->put = true;
		}
	}
}

static void drop_heaps(struct Jit *t)
{
	struct ClrProc *c = t->clr;
	size_t kept = 0;
	for (size_t i = 0; i < c->heaps.n; i++) {
		struct Heap *h = &c->heaps.p[i];
		if (h->here) {
			c->heaps.p[kept++] = *h;
			continue;
		}
		forget(t, h->start, h->end);
		vec_deinit(&h->seen);
	}
	c->heaps.n = kept;
}

void clrcode_find(struct Jit *t, struct Pieces *out)
{
	struct ClrProc *c = t->clr;
	struct HeapNode node;
	u64 at, began = now_ns(), code = 0;

	if (began < c->not_before)
		return;
	find_list(t);
	if (!c->manager || !jit_read_memory(&t->tgid, c->manager, &at, sizeof(at)))
		return;
	for (size_t i = 0; i < c->heaps.n; i++)
		c->heaps.p[i].here = false;
	for (u32 i = 0; at && i < HEAPS_MAX && read_heap(t, at, &node); i++, at = node.next) {
		struct Heap *h = heap_at(t, at, &node);
		h->here = true;
		h->end = node.end;
	}
	if (c->heaps.n > HEAPS_MANY) // as if made to keep us busy: a twentieth of the time
		c->not_before = began + 20 * (now_ns() - began);
	if (at && c->heaps.n <= HEAPS_MAX) // the list was changed meanwhile
		return;
	drop_heaps(t);
	take_areas(t, out);
	for (size_t i = 0; i < c->heaps.n; i++) {
		struct Heap *h = &c->heaps.p[i];
		size_t n = (h->end - h->base + WORD - 1) / WORD;
		code += h->end - h->base;
		u32 *map = code <= HEAP_MAX ? xmalloc((n + 1) * sizeof(*map)) : NULL;
		if (map && n && jit_read_memory(&t->tgid, h->map, map, n * sizeof(*map)))
			take_changes(t, h, map, n, began + LOOK_NS, out);
		free(map);
	}
	c->idle = out->syms.n ? 0 : c->idle + 1;
	if (out->syms.n) { // it is compiling: the next ones will be there in a moment
		t->soon = MAX(t->soon, 2u);
		c->found++;
		c->not_before = MAX(c->not_before, began + c->found * PAUSE_NS);
	}
	if (c->idle == IDLE)
		clrnames_drop(c->names);
}

size_t clrcode_heaps(const struct ClrProc *c)
{
	return c->heaps.n;
}

void clrcode_read(struct Jits *j, struct Jit *t)
{
	struct Pieces v = {0};
	clrcode_find(t, &v);
	pieces_give(j, t, &v, PROC_MADE_ONCE);
}
