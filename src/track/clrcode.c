// Code that .NET's runtime (CoreCLR 8 to 10, and later ones whose structures are as they say) compiles at run time. Input: memory of a process that maps it. Output: objects of methods with their
// names and rows, mappings that lead to them (docs/jit.md).
// The runtime keeps its code in heaps. Each has a map: a nibble for each 32 bytes, which says where among them a method begins (0: nowhere). The word before a method leads to its header: its
// MethodDesc, and where its unwind information is (unwind/pdata.c). The MethodDesc says the method's number in its module, whose metadata has the names (elf/clrmeta.c). What may be run besides
// are pieces that jump to methods. (.NET: src/coreclr/vm/codeman.h, nibblemapmacros.h, method.hpp; docs/design/datacontracts.)
// Invariant: nothing in that memory is trusted. A method that another one has replaced at the same place, of those that a program makes and drops (DynamicMethod), has the old name until user space has
// seen the place free.
#include "elf/elf.h"
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
#define METADATA_MAX (64u << 20)  // of a module
#define METADATA_ALL (256u << 20) // of all that are kept at a time
#define LOOK_NS 50000000ull // how long new methods may take in a look; the others are for the next one
#define PAUSE_NS 1000000ull // a look that found any makes an object, of which there are not many: so often so long to the next one
#define NAME_MAX_BYTES 256u
#define DYNAMIC 7u // kind of a method without metadata
#define IDLE 50u   // rounds without a new method, after which what names need is dropped

struct Heap {
	u64 at, start, end, limit, base, map; // limit: of what it may grow to; base: what the map counts from
	VEC(u32) seen; // the map as it was read
	u32 failed;
	bool here;
};
struct Module { // of methods: its metadata
	u64 at;
	u8 *bytes; // owned; NULL: it cannot be read
	struct ClrMeta meta;
};
struct Area { // memory of the runtime that may be run
	u64 start, end;
	u32 looks; // so often it was no heap's
	bool here, put;
};
// Where things are in the runtime's structures
struct Shape {
	u32 chunk_size, chunk_tokens, module, dynamic_name;
	u32 base; // in a module: its image's address; 0: by the next four, one after the other
	u32 image[4];
	bool loader; // `module` is what loaded the type, which is not always what defines it
};
struct ClrProc {
	u64 table;    // what debuggers begin with (g_dacTable)
	u64 contract; // DotNetRuntimeContractDescriptor, .NET 9 and later; 0: it has none
	u64 manager;  // the address of the list of heaps; 0: not known yet
	struct Shape shape;
	VEC(struct Heap) heaps;
	VEC(struct Module) modules;
	VEC(struct Area) areas;
	u64 metadata; // bytes of the modules'
	u32 idle, found; // looks in a row without a new method; looks with any
	u64 not_before;	 // ns
};

static void drop_modules(struct ClrProc *c)
{
	for (size_t i = 0; i < c->modules.n; i++)
		free(c->modules.p[i].bytes);
	vec_deinit(&c->modules);
	c->metadata = 0;
}

void clrcode_destroy(struct ClrProc *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->heaps.n; i++)
		vec_deinit(&c->heaps.p[i].seen);
	vec_deinit(&c->heaps);
	vec_deinit(&c->areas);
	drop_modules(c);
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
	if (!t->clr) {
		t->clr = xcalloc(1, sizeof(*t->clr));
		t->clr->table = symbol(j, runtime, "g_dacTable");
		t->clr->contract = symbol(j, runtime, "DotNetRuntimeContractDescriptor");
	}
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

// ---- the runtime's structures
static bool read_mem(struct Jit *t, u64 at, void *buf, size_t n)
{
	return at >= PAGE && jit_read_memory(&t->tgid, at, buf, n);
}

// The number at "type":{... "field": in the text that the runtime has of its structures. (docs/design/datacontracts/data_descriptor.md, the compact form.)
static bool field(const char *text, const char *type, const char *name, u32 *out)
{
	char key[64];
	snprintf(key, sizeof(key), "\"%s\":{", type);
	const char *at = strstr(text, key), *end = at ? strchr(at, '}') : NULL;
	snprintf(key, sizeof(key), "\"%s\":", name);
	at = at ? strstr(at, key) : NULL;
	if (!at || !end || at > end)
		return false;
	at += strlen(key);
	at += *at == '[';
	*out = (u32)strtoul(at, NULL, 10);
	return *at >= '0' && *at <= '9' && *out < 65536;
}

bool clrcode_shape_of(const char *text, u32 out[5])
{
	static const char *const fields[5][2] = {{"MethodDesc", "ChunkIndex"}, {"MethodDescChunk", "!"}, {"MethodDescChunk", "FlagsAndTokenRange"}, {"MethodTable", "Module"}, {"Module", "Base"}};
	bool all = true;
	for (u32 i = 0; i < 5; i++)
		all &= field(text, fields[i][0], fields[i][1], &out[i]);
	return all && out[0] == 2;
}

static void read_shape(struct Jit *t)
{
	struct ClrProc *c = t->clr;
	struct {
		char magic[8];
		u32 flags, size;
		u64 text;
	} head;
	u32 says[5];
	char *text = NULL;
	if (!c->contract) { // .NET 8 says nothing of itself
		c->shape = (struct Shape){.chunk_size = 24, .chunk_tokens = 18, .module = 24, .dynamic_name = 24, .image = {272, 8, 120, 8}, .loader = true};
		return;
	}
	if (read_mem(t, c->contract, &head, sizeof(head)) && !memcmp(head.magic, "DNCCDAC", 7) && head.size < 1u << 20) {
		text = xcalloc(head.size + 1, 1);
		if (read_mem(t, head.text, text, head.size) && clrcode_shape_of(text, says)) {
			c->shape = (struct Shape){.chunk_size = says[1], .chunk_tokens = says[2], .module = says[3], .base = says[4]};
			if (!field(text, "DynamicMethodDesc", "MethodName", &c->shape.dynamic_name))
				c->shape.dynamic_name = 0;
		}
	}
	free(text);
}

struct HeapNode { // HeapList
	u64 next, heap, start, end, base, map, max, reserved;
};
static bool read_heap(struct Jit *t, u64 at, struct HeapNode *h)
{
	return at % 8 == 0 && read_mem(t, at, h, sizeof(*h)) && h->start <= h->end && h->end - h->start < HEAP_MAX && h->base == (h->start & ~(u64)(PAGE - 1)) && h->max &&
	       h->max < HEAP_MAX && h->map % 4 == 0;
}

// One of the first things that debuggers are told of leads to what manages compiled code, whose first words have the list.
#define ROOTS 8
static void find_list(struct Jit *t)
{
	u64 roots[ROOTS], manager, words[ROOTS];
	struct HeapNode h;
	if (t->clr->manager || !read_mem(t, t->clr->table, roots, sizeof(roots)))
		return;
	for (u32 i = 0; i < ROOTS && !t->clr->manager; i++) {
		u32 k = (i + 4) % ROOTS; // where they have it
		if (!read_mem(t, roots[k], &manager, sizeof(manager)) || !read_mem(t, manager, words, sizeof(words)))
			continue;
		for (u32 w = 1; w < ROOTS && !t->clr->manager; w++)
			if (read_heap(t, words[w], &h))
				t->clr->manager = manager + w * 8;
	}
	if (t->clr->manager)
		read_shape(t);
}

// ---- names
static bool read_bytes(void *arg, u64 at, void *buf, u64 n)
{
	return read_mem(arg, at, buf, n);
}

// Where the module's image lies.
static u64 image_of(struct Jit *t, u64 module)
{
	const struct Shape *s = &t->clr->shape;
	u64 at = module;
	if (s->base)
		return read_mem(t, module + s->base, &at, sizeof(at)) ? at : 0;
	for (u32 i = 0; i < ARRAY_LEN(s->image); i++)
		if (!read_mem(t, at + s->image[i], &at, sizeof(at)))
			return 0;
	return at;
}

static struct Module *module_at(struct Jit *t, u64 at)
{
	struct ClrProc *c = t->clr;
	struct Module m = {.at = at};
	u64 addr;
	u32 size;
	for (size_t i = 0; i < c->modules.n; i++)
		if (c->modules.p[i].at == at)
			return &c->modules.p[i];
	const struct PeBytes b = {read_bytes, t, image_of(t, at)};
	if (pe_metadata(&b, &addr, &size) && size <= METADATA_MAX && c->metadata + size <= METADATA_ALL) {
		c->metadata += size;
		m.bytes = xmalloc(size);
		if (!read_mem(t, addr, m.bytes, size) || !clrmeta_open(&m.meta, m.bytes, size)) {
			free(m.bytes);
			m.bytes = NULL;
		}
	}
	vec_push(&c->modules, m);
	return &vec_last(&c->modules);
}

// .NET 8: a type that was made of a generic one belongs to what asked for it, and says elsewhere what defines it: behind the slots of its methods, if other things are there too.
static u64 defining_module(struct Jit *t, u64 type)
{
	struct {
		u32 flags, size;
		u16 flags2, token, nvirtuals, ninterfaces;
		u64 parent, module, aux, canonical, slot1, slot2;
	} mt;
	_Static_assert(sizeof(mt) == 64, "MethodTable");
	enum { HAS_COMPONENTS_OR_GENERIC = 0x80000030, HAS_OVERRIDE = 0x10, SLOTS_A_CHUNK = 8 };
	u64 module;
	if (!read_mem(t, type, &mt, sizeof(mt)))
		return 0;
	if (mt.flags & HAS_COMPONENTS_OR_GENERIC && mt.canonical & 1) { // what is shared by several
		type = mt.canonical & ~3ull;
		if (!read_mem(t, type, &mt, sizeof(mt)))
			return 0;
	}
	u32 before = (u32)__builtin_popcount(mt.flags2 & (HAS_OVERRIDE - 1));
	if (!(mt.flags & HAS_COMPONENTS_OR_GENERIC) || !(mt.flags2 & HAS_OVERRIDE))
		return mt.module;
	if (before < 2)
		return before ? mt.slot2 : mt.slot1;
	u64 chunks = (mt.nvirtuals + SLOTS_A_CHUNK - 1) / SLOTS_A_CHUNK;
	return read_mem(t, type + sizeof(mt) + (chunks + before - 2) * 8, &module, sizeof(module)) ? module : 0;
}

static u64 module_of(struct Jit *t, u64 type)
{
	u64 module;
	if (t->clr->shape.loader)
		return defining_module(t, type);
	return read_mem(t, type + t->clr->shape.module, &module, sizeof(module)) ? module : 0;
}

// Of what the program or the runtime made at run time.
static char *dynamic_name(struct Jit *t, u64 method)
{
	char name[NAME_MAX_BYTES] = "";
	u64 at = 0;
	u32 n = 0;
	if (t->clr->shape.dynamic_name && read_mem(t, method + t->clr->shape.dynamic_name, &at, sizeof(at)))
		for (; n + 1 < sizeof(name) && read_mem(t, at + n, name + n, 1) && name[n]; n++)
			;
	name[n] = 0;
	return xstrdup(n ? name : "[dynamic method]");
}

static char *name_of(struct Jit *t, u64 method)
{
	struct {
		u16 flags3, chunk_index_and_flags, slot, flags;
	} desc;
	const struct Shape *s = &t->clr->shape;
	struct Str out = {0};
	u64 type, module;
	u16 tokens;
	if (!s->chunk_size || !read_mem(t, method, &desc, sizeof(desc)))
		return xstrdup("[method]");
	if ((desc.flags & 7) == DYNAMIC)
		return dynamic_name(t, method);
	u64 chunk = method - (desc.chunk_index_and_flags & 255u) * 8u - s->chunk_size;
	if (read_mem(t, chunk, &type, sizeof(type)) && read_mem(t, chunk + s->chunk_tokens, &tokens, sizeof(tokens)) && (module = module_of(t, type))) {
		const struct Module *m = module_at(t, module);
		if (m->bytes && clrmeta_method(&m->meta, (tokens & 0xfffu) << 12 | (desc.flags3 & 0xfffu), &out)) {
			char *name = xstrdup(str_text(&out));
			str_deinit(&out);
			return name;
		}
	}
	str_deinit(&out);
	return xstrdup("[method]");
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
	const struct UwWindows w = {read_bytes, t, base};
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
	if (!read_mem(t, header, &h, offsetof(struct Header, first)) || !h.nfunctions || h.nfunctions > UNWINDS_MAX)
		return false;
	struct Function *f = xmalloc(h.nfunctions * sizeof(*f));
	bool ok = read_mem(t, header + offsetof(struct Header, first), f, h.nfunctions * sizeof(*f));
	u32 size = ok ? f[h.nfunctions - 1].to - f[0].from : 0;
	for (u32 i = 0; i < h.nfunctions && ok; i++)
		ok = f[i].from < f[i].to && f[i].from >= (i ? f[i - 1].to : f[0].from) && f[i].to - f[0].from <= size;
	u8 *code = ok && size <= METHOD_MAX ? xmalloc(size) : NULL;
	ok = code && read_mem(t, start, code, size);
	if (ok) {
		struct UwMade *made = xcalloc(1, sizeof(*made));
		add_rows(t, start - f[0].from, start, f, h.nfunctions, code, made);
		vec_push(&out->syms, ((struct MadeSym){start, size, name_of(t, h.method)}));
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
	if (code && read_mem(t, start, code, size))
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
	if (!read_mem(t, start - sizeof(header), &header, sizeof(header)) || !header)
		return false;
	if (header > LAST_STUB)
		return take_method(t, start, header, out);
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

void clrcode_read(struct Jits *j, struct Jit *t)
{
	struct ClrProc *c = t->clr;
	struct Pieces v = {0};
	struct HeapNode node;
	u64 at, began = now_ns(), code = 0;

	if (began < c->not_before)
		return;
	find_list(t);
	if (!c->manager || !read_mem(t, c->manager, &at, sizeof(at)))
		return;
	for (size_t i = 0; i < c->heaps.n; i++)
		c->heaps.p[i].here = false;
	for (u32 i = 0; at && i < HEAPS_MAX && read_heap(t, at, &node); i++, at = node.next) {
		struct Heap *h = heap_at(t, at, &node);
		h->here = true;
		h->end = node.end;
	}
	if (at) // the list was changed meanwhile
		return;
	drop_heaps(t);
	take_areas(t, &v);
	for (size_t i = 0; i < c->heaps.n; i++) {
		struct Heap *h = &c->heaps.p[i];
		size_t n = (h->end - h->base + WORD - 1) / WORD;
		code += h->end - h->base;
		u32 *map = code <= HEAP_MAX ? xmalloc((n + 1) * sizeof(*map)) : NULL;
		if (map && n && read_mem(t, h->map, map, n * sizeof(*map)))
			take_changes(t, h, map, n, began + LOOK_NS, &v);
		free(map);
	}
	c->idle = v.syms.n ? 0 : c->idle + 1;
	if (v.syms.n) { // it is compiling: the next ones will be there in a moment
		t->soon = MAX(t->soon, 2u);
		c->not_before = began + ++c->found * PAUSE_NS;
	}
	if (c->idle == IDLE)
		drop_modules(c);
	pieces_give(j, t, &v, PROC_MADE);
}
