// Code that V8 has compiled of WebAssembly. Input: memory of a process that maps V8. Output: objects of functions with their names and rows, mappings that lead to them.
// V8 tells nobody of this code, but keeps of each module (NativeModule) the bytes it was made of, and of each piece of code (WasmCode) what follows. A module's memory for code
// begins, at a page, with a table of jumps, one a function, of 5 or 8 bytes. WasmCode is {module, address of the instructions, one or two addresses of what is known of them, u32 bytes of
// the instructions, two to five words more, u32 number of the function...}; the one of the table of jumps is found among the memory of malloc(3) by the table's address. The module has
// {address, size} of the bytes, and an array of the WasmCode of each function that is compiled. Which words these are differs from version to version: they are known by what is in them.
// Invariant: nothing in that memory is trusted. A module is taken only if its bytes are those of a module, and each code that its array has is of it and has the number of its place. Memory for
// code that was freed and used again has the old name until user space has looked again, a tenth of a second.
#include <elf.h>
#include "runtime/runtime.h"
#include "track/internal.h"
#include "unwind/unwind.h"

#define PAGE 4096u
#define TRIES 3			 // so often a table's module is looked for, and four times as often a module's array
#define MODULE_WORDS 128u
#define BYTES_MAX (256ull << 20) // of a module
#define CODE_MAX (16u << 20)	 // of a function
#define BATCH 4096u
#define LOOK_NS 90000000ull	 // looks are no closer: each tick of a tenth of a second may bring one

struct V8Code { // WasmCode
	u64 module, start, meta;
	u32 word[14];
};
_Static_assert(sizeof(struct V8Code) == 80, "as in memory");
struct Module {
	u64 at, codes; // codes 0: not found yet, no function may have been compiled
	u32 size, number; // which words of a code are its bytes and its function's number
	u8 *bytes;     // owned
	struct WasmModule is;
	u64 *seen; // by function: its WasmCode when it was last looked at; owned
	u32 tries, late; // late: readings of the areas in a row after which code lay in none of them
};
struct WasmProc {
	struct WasmMem mem;
	VEC(struct Module) modules;
	bool asked;
	u64 not_before; // ns
};
struct WasmProc *wasmcode_create(void)
{
	struct WasmProc *w = xcalloc(1, sizeof(*w));
	w->asked = true;
	return w;
}

void wasmcode_destroy(struct WasmProc *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->modules.n; i++) {
		wasmmodule_free(&w->modules.p[i].is);
		free(w->modules.p[i].bytes);
		free(w->modules.p[i].seen);
	}
	vec_deinit(&w->modules);
	wasmmem_deinit(&w->mem);
	free(w);
}

void wasmcode_asked(struct WasmProc *w)
{
	w->asked = true;
}

bool wasmcode_any(const struct WasmProc *w)
{
	return w->modules.n;
}

bool wasmcode_has(struct Jits *j, const struct ProcMap *maps, size_t n)
{
	bool pending = false; // of no interest here
	if (gdbjit_machine() != EM_X86_64)
		return false;
	for (size_t i = 0; i < n; i++) {
		u32 lang = maps[i].obj ? tablemaps_lang(tables_maps(j->tables), maps[i].obj->id, &pending) : 0;
		if (lang && tablemaps_row(tables_maps(j->tables), lang)->kind == RT_LANG_V8)
			return true;
	}
	return false;
}

// ---- modules
static struct Module *module_at(struct WasmProc *w, u64 at)
{
	for (size_t i = 0; i < w->modules.n; i++)
		if (w->modules.p[i].at == at)
			return &w->modules.p[i];
	return NULL;
}

// The module's bytes: one of its words leads to {address, size} of them.
static bool read_bytes(struct Jit *t, const u64 *words, struct Module *m)
{
	for (u32 i = 0; i < MODULE_WORDS; i++) {
		u64 bytes[2];
		u8 magic[8];
		if (words[i] % 8 || words[i] < PAGE || !jit_read_memory(&t->tgid, words[i], bytes, sizeof(bytes)) || bytes[1] < sizeof(magic) || bytes[1] > BYTES_MAX ||
		    !jit_read_memory(&t->tgid, bytes[0], magic, sizeof(magic)) || memcmp(magic, WASM_MAGIC, sizeof(magic)))
			continue;
		m->bytes = xmalloc(bytes[1]);
		if (jit_read_memory(&t->tgid, bytes[0], m->bytes, bytes[1]) && wasmmodule_parse(m->bytes, bytes[1], &m->is))
			return true;
		wasmmodule_free(&m->is);
		free(m->bytes);
		m->bytes = NULL;
	}
	return false;
}

static bool is_of(struct Jit *t, const struct Module *m, u64 at, struct V8Code *c)
{
	return at && at % 8 == 0 && jit_read_memory(&t->tgid, at, c, sizeof(*c)) && c->module == m->at;
}

static bool read_code(struct Jit *t, const struct Module *m, u64 at, struct V8Code *c)
{
	return is_of(t, m, at, c) && wasmmem_has(&t->wasm->mem, c->start, 0);
}

static bool has_size(const struct Jit *t, const struct V8Code *c, u32 size)
{
	return size && size <= CODE_MAX && wasmmem_has(&t->wasm->mem, c->start, size);
}

// Is `codes` the array? Some function is compiled, and the same words of all that are looked at are bytes and number. How many are compiled, 0: it is none.
#define LOOKED 64
static u32 words_in(struct Jit *t, const struct Module *m, const u64 *codes, u32 *size, u32 *number)
{
	u64 sum[3] = {0};
	u32 looked = 0, compiled = 0, may[3] = {0x78, 0, 0x1e0}; // bytes are word 0 or 2; the number is three to six words behind them
	for (u32 i = 0; i < m->is.nfuncs; i++) {
		struct V8Code c;
		compiled += codes[i] != 0;
		if (!codes[i] || looked == LOOKED)
			continue;
		if (!is_of(t, m, codes[i], &c))
			return 0;
		if (!wasmmem_has(&t->wasm->mem, c.start, 0)) // V8 has got memory for it since they were read
			continue;
		for (u32 k = 3; k < 9; k++)
			for (u32 s = 0; s < 3; s += 2)
				if (c.word[k] != m->is.nimports + i || !c.word[s] || c.word[s] > CODE_MAX)
					may[s] &= ~(1u << k);
		sum[0] += c.word[0];
		sum[2] += c.word[2];
		looked++;
	}
	*size = may[0] && !(may[2] && sum[2] > sum[0]) ? 0 : 2; // a small number is the size of something, too
	*number = may[*size] ? (u32)__builtin_ctz(may[*size]) : 0;
	return looked && *number ? compiled : 0;
}

// Other arrays of some of its codes may look like it while few functions are compiled: of several the one with most of them, also if that is another than before.
static void find_codes(struct Jit *t, struct Module *m)
{
	u32 best = 0, bytes, number;
	u64 words[MODULE_WORDS], size = m->is.nfuncs * sizeof(u64), *codes = xmalloc(size), was = m->codes;
	m->tries += !was;
	if (was && jit_read_memory(&t->tgid, was, codes, size))
		best = words_in(t, m, codes, &bytes, &number);
	for (u32 i = 0; jit_read_memory(&t->tgid, m->at, words, sizeof(words)) && i < MODULE_WORDS; i++) {
		u64 first;
		struct V8Code c;
		if (words[i] % 8 || words[i] < PAGE || !jit_read_memory(&t->tgid, words[i], &first, sizeof(first)))
			continue;
		if ((first && !is_of(t, m, first, &c)) || !jit_read_memory(&t->tgid, words[i], codes, size))
			continue;
		u32 n = words_in(t, m, codes, &bytes, &number);
		if (n > best) {
			best = n;
			m->codes = words[i];
			m->size = bytes;
			m->number = number;
		}
	}
	if (m->codes != was)
		memset(m->seen, 0, size);
	free(codes);
}

static struct Module *take_module(struct Jit *t, u64 at)
{
	struct Module m = {.at = at};
	u64 words[MODULE_WORDS];
	struct Module *known = module_at(t->wasm, at);
	if (known)
		return known;
	if (at % 8 || at < PAGE || !jit_read_memory(&t->tgid, at, words, sizeof(words)) || !read_bytes(t, words, &m))
		return NULL;
	m.seen = xcalloc(m.is.nfuncs, sizeof(*m.seen));
	vec_push(&t->wasm->modules, m);
	return &vec_last(&t->wasm->modules);
}

// ---- pieces of code
static char *name_of(const struct Module *m, u32 number)
{
	if (number >= m->is.nimports + m->is.nfuncs) // it has none: its tables of jumps
		return xasprintf("wasm-jumps");
	if (number < m->is.nimports)
		return xasprintf("wasm-to-js");
	const struct WasmName *n = &m->is.names[number];
	return n->n ? xasprintf("%.*s", (int)n->n, n->p) : xasprintf("wasm-function[%u]", number);
}

// Functions were put into it: their bytes' table (three words behind those of the code, in versions that have it) is not empty. V8 alone knows which one runs where.
static bool has_inner(const struct Module *m, const struct V8Code *c)
{
	return m->number > m->size + 3 && c->word[m->size + 3];
}

// False: its memory could not be read, or is none of the areas that are known.
static bool take_code(struct Jit *t, const struct Module *m, const struct V8Code *c, struct Pieces *out)
{
	u32 size = c->word[m->size];
	u8 *code = has_size(t, c, size) ? xmalloc(size) : NULL;
	bool read = code && jit_read_memory(&t->tgid, c->start, code, size);
	if (read) {
		UwCodeRows rows = {0};
		struct UwMade *made = xcalloc(1, sizeof(*made));
		if (c->word[m->number] >= m->is.nimports + m->is.nfuncs) // nothing but jumps
			vec_push(&made->rows, ((struct MadeRow){0, {.kind = RT_UW_REG, .reg = RT_R_SP, .off = 8, .ra = -8}}));
		else
			uwcode_rows(code, size, &rows);
		for (size_t i = 0; i < rows.n; i++) {
			struct RtUwRule r = rows.p[i].rule;
			r.lost |= r.kind == RT_UW_REG && has_inner(m, c) ? RT_UW_GUESS : 0;
			vec_push(&made->rows, ((struct MadeRow){rows.p[i].off, r}));
		}
		vec_push(&out->syms, ((struct MadeSym){c->start, size, name_of(m, c->word[m->number])}));
		vec_push(&out->made, made);
		vec_deinit(&rows);
	}
	free(code);
	return read;
}

// A function has other code than it had. V8 gets memory for code page by page, so it may lie in a page that came after the areas were read: they are read once more, now or in the next round.
static void take_other(struct Jit *t, struct Module *m, u32 i, u64 at, const struct V8Code *c, struct Pieces *out)
{
	bool taken = take_code(t, m, c, out);
	if (!taken && m->late < TRIES) {
		if (now_ns() < t->wasm->mem.not_before)
			return;
		wasmmem_read(&t->wasm->mem, t->tgid, NULL);
		taken = take_code(t, m, c, out);
		m->late++;
		if (!taken)
			return;
	}
	if (taken)
		m->late = 0;
	m->seen[i] = at;
}

static void take_new(struct Jit *t, struct Module *m, struct Pieces *out)
{
	u64 size = m->is.nfuncs * sizeof(u64), *codes = xmalloc(size);
	if (jit_read_memory(&t->tgid, m->codes, codes, size)) {
		for (u32 i = 0; i < m->is.nfuncs && out->syms.n < BATCH; i++) {
			struct V8Code c;
			if (codes[i] == m->seen[i])
				continue;
			if (codes[i] && (!is_of(t, m, codes[i], &c) || c.word[m->number] != m->is.nimports + i)) { // it was another array
				m->codes = 0;
				memset(m->seen, 0, size);
				t->wasm->asked = true;
				break;
			}
			if (codes[i])
				take_other(t, m, i, codes[i], &c, out);
			else
				m->seen[i] = 0;
		}
	}
	free(codes);
}

// Each page of a table looks like one.
static void is_table_of(struct WasmProc *w, u64 at, const struct Module *m)
{
	for (size_t i = 0; m && i < w->mem.tables.n; i++)
		w->mem.tables.p[i].known |= w->mem.tables.p[i].at - at <= (u64)m->is.nfuncs * WASM_SLOT_MAX;
}

static void find_arrays(struct Jit *t)
{
	for (size_t i = 0; i < t->wasm->modules.n; i++)
		if (t->wasm->modules.p[i].codes || t->wasm->modules.p[i].tries < TRIES * 4)
			find_codes(t, &t->wasm->modules.p[i]);
}

// Modules whose code begins with a table that is not known yet, and what code of theirs is found besides: the old one of a function that still runs, and what calls JavaScript.
static void find_modules(struct Jit *t, const struct WasmHeap *heap, struct Pieces *out)
{
	struct WasmProc *w = t->wasm;
	WasmFoundList found = {0};
	wasmmem_scan(&w->mem, t->tgid, heap, &found);
	for (size_t i = 0; i < w->mem.tables.n; i++)
		w->mem.tables.p[i].tries++;
	for (size_t i = 0; i < found.n; i++) {
		struct V8Code c;
		if (!jit_read_memory(&t->tgid, found.p[i].at, &c, sizeof(c)))
			continue;
		for (size_t k = 0; k < w->mem.tables.n; k++)
			if (w->mem.tables.p[k].at == c.start && !w->mem.tables.p[k].known)
				is_table_of(w, c.start, take_module(t, c.module));
	}
	find_arrays(t);
	for (size_t i = 0; i < found.n && out->syms.n < BATCH; i++) {
		struct Module *m = module_at(w, found.p[i].module);
		struct V8Code c;
		if (m && m->codes && read_code(t, m, found.p[i].at, &c) && (c.word[m->number] == ~0u || c.word[m->number] < m->is.nimports + m->is.nfuncs))
			take_code(t, m, &c, out);
	}
	vec_deinit(&found);
}

static void look(struct Jit *t, struct Pieces *out)
{
	struct WasmProc *w = t->wasm;
	struct WasmHeap heap = {0};
	u64 began = now_ns();
	bool tables = false;

	wasmmem_read(&w->mem, t->tgid, &heap);
	wasmmem_tables(&w->mem, t->tgid);
	for (size_t i = 0; i < w->mem.tables.n; i++)
		tables |= !w->mem.tables.p[i].known && w->mem.tables.p[i].tries < TRIES;
	if (tables)
		find_modules(t, &heap, out);
	else
		find_arrays(t);
	vec_deinit(&heap.v);
	u64 now = now_ns();
	w->not_before = now + MAX((now - began) * WASM_COST, LOOK_NS);
}

void wasmcode_read(struct Jits *j, struct Jit *t)
{
	struct WasmProc *w = t->wasm;
	struct Pieces v = {0};

	if (w->asked && now_ns() >= w->not_before) {
		w->asked = false;
		look(t, &v);
		pieces_give(j, t, &v, PROC_MADE_STAYS); // what the modules have now goes before what is found of it
	}
	for (size_t i = 0; i < w->modules.n; i++)
		if (w->modules.p[i].codes)
			take_new(t, &w->modules.p[i], &v);
	pieces_give(j, t, &v, PROC_MADE_STAYS);
}
