// Where a process that maps V8 may have code of WebAssembly: its mappings with code in no file (areas), the tables of jumps among these, with which a module's memory for code
// begins, and malloc(3)'s memory (glibc's), in which V8 keeps what it knows of the code. Input: /proc/PID/maps, memory of the process. Output: addresses, for wasmcode.c to check.
// Invariant: nothing in that memory is trusted; how much of it is read is bounded.
#include <inttypes.h>
#include <sys/uio.h>
#include "track/internal.h"

#define PAGE 4096u
#define LINE 64u		 // of a table of jumps
#define TABLES_MAX 256u
#define AREA_MAX (64ull << 20)	 // a mapping with code that is larger is not looked through: it is V8's for JavaScript
#define CODE_SPAN (1ull << 30)	 // of a module
#define HEAP_MAX (256ull << 20)  // bytes of malloc's memory that are looked through
#define ARENA (64ull << 20)	 // the C library's further ones begin at a multiple
#define MORECORE (1ull << 20)	 // where the heap cannot grow the C library maps so much at least, at any place (glibc, malloc/malloc.c: MMAP_AS_MORECORE_SIZE)
#define CROWDED_MIN (64ull << 10) // ... which may be in smaller pieces: no function was found in 3 of 30 starts with 1 MB
#define PIECE (1u << 20)
#define CODES_MAX 65536u	 // found beside those of the array
#define AREAS_NS 5000000ull	 // readings of /proc/PID/maps are no closer

bool wasmmem_has(const struct WasmMem *w, u64 at, u64 size)
{
	for (size_t i = 0; i < w->areas.n; i++)
		if (at - w->areas.p[i].vaddr < w->areas.p[i].size && size <= w->areas.p[i].vaddr + w->areas.p[i].size - at)
			return true;
	return false;
}

// ---- memory with tables of jumps
bool wasmmem_is_table(const u8 *p, u64 n, u64 at, u64 end)
{
	for (u32 slot = 5; slot <= WASM_SLOT_MAX; slot += 3) {
		u32 jumps = 0, i = 0;
		for (; n >= LINE && i + slot <= LINE && p[i] == 0xe9; i += slot) {
			s32 to;
			memcpy(&to, p + i + 1, sizeof(to));
			if (at + i + 5 + (u64)(s64)to - at - LINE >= end - at - LINE) // forward, behind the table
				break;
			jumps++;
		}
		bool rest = i + slot > LINE || jumps; // a table of few functions is filled up
		for (u32 k = i; k < LINE && i + slot <= LINE; k++)
			rest &= p[k] == 0 || p[k] == 0xcc;
		if (jumps && rest)
			return true;
	}
	return false;
}

static void take_table(struct WasmMem *w, u64 at)
{
	for (size_t i = 0; i < w->tables.n; i++)
		if (w->tables.p[i].at == at)
			return;
	if (w->tables.n < TABLES_MAX)
		vec_push(&w->tables, ((struct WasmTable){.at = at}));
}

// Where code that a jump from `at` leads to ends: a module's memory for code is one piece of addresses, but V8 gives back pages of it that it has no use for.
static u64 code_end(const struct WasmMem *w, u64 at)
{
	u64 end = at;
	for (size_t i = 0; i < w->areas.n; i++) {
		const struct CfiSeg *a = &w->areas.p[i];
		if (a->vaddr + a->size > at && a->vaddr + a->size - at < CODE_SPAN)
			end = MAX(end, a->vaddr + a->size);
	}
	return end;
}

static void read_area(struct WasmMem *w, int tgid, const struct CfiSeg *a)
{
	enum { PAGES = 256 };
	u8 buf[PAGES * LINE];
	struct iovec from[PAGES];
	u64 at = a->vaddr, end = a->vaddr + a->size, last = code_end(w, at);
	while (at < end) {
		u32 n = 0;
		for (; n < PAGES && at + n * PAGE < end; n++)
			from[n] = (struct iovec){(void *)(at + n * PAGE), LINE};
		struct iovec to = {buf, n * LINE};
		ssize_t got = process_vm_readv(tgid, &to, 1, from, n, 0);
		if (got <= 0)
			return;
		for (u32 i = 0; i < (u64)got / LINE; i++)
			if (wasmmem_is_table(buf + i * LINE, LINE, at + i * PAGE, last))
				take_table(w, at + i * PAGE);
		at += n * PAGE;
	}
}

void wasmmem_tables(struct WasmMem *w, int tgid)
{
	for (size_t i = 0; i < w->areas.n; i++)
		read_area(w, tgid, &w->areas.p[i]);
}

// ---- mappings
// One that goes on where the last ended is part of it: V8 makes pages writable by turns, and code goes across.
static void add_area(struct WasmMem *w, u64 start, u64 size)
{
	struct CfiSeg *last = w->areas.n ? &vec_last(&w->areas) : NULL;
	if (last && last->vaddr + last->size == start && last->size + size <= AREA_MAX)
		last->size += size;
	else
		vec_push(&w->areas, ((struct CfiSeg){start, size, 0}));
}

static int by_size(const void *a, const void *b)
{
	const struct CfiSeg *x = a, *y = b;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

// The C library's first memory, then what is small: the largest ones are the memory of programs of WebAssembly, which may begin where an arena could.
static void leave_small(struct WasmHeap *h)
{
	u64 sum = 0;
	size_t n = 0;
	if (h->v.n)
		qsort(h->v.p, h->v.n, sizeof(*h->v.p), by_size);
	for (size_t i = 0; i < h->v.n; i++) {
		if (h->v.p[i].size > HEAP_MAX - sum)
			continue;
		sum += h->v.p[i].size;
		h->v.p[n++] = h->v.p[i];
	}
	h->v.n = n;
}

void wasmmem_read(struct WasmMem *w, int tgid, struct WasmHeap *heap)
{
	u64 began = now_ns();
	char line[4352], path[32];
	snprintf(path, sizeof(path), "/proc/%d/maps", tgid);
	FILE *f = fopen(path, "re");
	u64 heap_end = 0;
	bool crowded = false; // something lies close behind the heap, as V8's own code does now and then
	w->areas.n = 0;
	while (f && fgets(line, sizeof(line), f)) {
		u64 start, end, ino;
		char rights[8], name[16] = "";
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64 " %15s", &start, &end, rights, &ino, name) < 4 || start >= end)
			continue;
		u64 size = end - start;
		crowded |= heap_end && start - heap_end < 2 * MORECORE;
		heap_end = strcmp(name, "[heap]") ? 0 : end;
		if (ino)
			continue;
		if (rights[2] == 'x' && !name[0] && size <= AREA_MAX)
			add_area(w, start, size);
		bool memory = rights[0] == 'r' && rights[1] == 'w' && rights[2] == '-' && (heap_end || (!name[0] && (start % ARENA == 0 || (crowded && size >= CROWDED_MIN))));
		if (memory && heap)
			vec_push(&heap->v, ((struct CfiSeg){start, size, !heap_end}));
	}
	if (heap)
		leave_small(heap);
	if (f)
		fclose(f);
	u64 now = now_ns();
	w->not_before = now + MAX((now - began) * WASM_COST, AREAS_NS);
}

// ---- malloc's memory
static void scan(const struct WasmMem *w, int tgid, const struct CfiSeg *s, u64 *words, WasmFoundList *out)
{
	u64 lo = ~0ull, hi = 0, had = 0;
	for (size_t i = 0; i < w->areas.n; i++) {
		lo = MIN(lo, w->areas.p[i].vaddr);
		hi = MAX(hi, w->areas.p[i].vaddr + w->areas.p[i].size);
	}
	for (u64 at = s->vaddr; at < s->vaddr + s->size; at += PIECE) {
		u64 n = MIN((u64)PIECE, s->vaddr + s->size - at) / sizeof(u64);
		if (!jit_read_memory(&tgid, at, words, n * sizeof(u64)))
			return;
		for (u64 i = 0; i < n && out->n < CODES_MAX; i++) {
			u64 v = words[i], before = i ? words[i - 1] : had;
			if (v - lo < hi - lo && v % 32 == 0 && before && before % 8 == 0 && !(before >> RT_UW_PC_BITS) && wasmmem_has(w, v, 0)) // code begins at a multiple of 32 or 64
				vec_push(out, ((struct WasmFound){at + i * sizeof(u64) - sizeof(u64), before}));
		}
		had = n ? words[n - 1] : 0;
	}
}

void wasmmem_scan(const struct WasmMem *w, int tgid, const struct WasmHeap *heap, WasmFoundList *out)
{
	u64 *words = xmalloc(PIECE);
	for (size_t i = 0; i < heap->v.n; i++)
		scan(w, tgid, &heap->v.p[i], words, out);
	free(words);
}

void wasmmem_deinit(struct WasmMem *w)
{
	vec_deinit(&w->areas);
	vec_deinit(&w->tables);
}
