// The part of a function that the compiler has put elsewhere (.cold): it has unwind information of its own and, in a stripped file, no name. Input: the function's
// bytes, .eh_frame_hdr. Output: that part's bounds. Where bytes that look like a jump lead is only counted: the part most of them lead to is it, if there are
// some of them. And an interpreter's loop in a file whose names do not tell it: its instructions end with jumps to where
// the next one says, to which r14 points. And the largest function that one leads to, which an interpreter's loop is, too. And the largest piece of code that no function is known of.
#include <elf.h>
#include "runtime/internal.h"

#define MAX_CODE (4u << 20)
#define MAX_FUNCS (4u << 20)
#define MIN_JUMPS 8
#define MAX_LOOP_CODE (64u << 20)
#define MIN_THREADED 6

struct Starts {
	s32 *v; // of functions, relative to base: pairs with their entries
	u32 n;
	u64 base;
};

// .eh_frame_hdr as linkers write it (see sym/extent.c): a table by address.
static bool read_starts(const struct ElfFile *f, struct Starts *t)
{
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		u8 head[12];
		if (s->type != PT_GNU_EH_FRAME || s->filesz < sizeof(head) || !elffile_read(f, s->off, head, sizeof(head)) || head[2] != 3 || head[3] != 0x3b)
			continue;
		memcpy(&t->n, head + 8, sizeof(t->n));
		t->n = MIN(t->n, (u32)MIN((s->filesz - sizeof(head)) / 8, (u64)MAX_FUNCS));
		t->base = s->vaddr;
		t->v = elffile_load(f, s->off + sizeof(head), (u64)t->n * 8, (u64)MAX_FUNCS * 8);
		return t->v && t->n;
	}
	return false;
}

static u64 start_of(const struct Starts *t, u32 i)
{
	return t->base + (u64)(s64)t->v[2 * (size_t)i];
}

// The number of the function around an address; t->n: none.
static u32 around(const struct Starts *t, u64 addr)
{
	u32 lo = 0, hi = t->n;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (start_of(t, mid) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : t->n;
}

bool runtime_function(struct ElfFile *f, u64 addr, u64 *end)
{
	struct Starts t = {0};
	u32 nr = read_starts(f, &t) ? around(&t, addr) : t.n;
	bool ok = nr + 1 < t.n && start_of(&t, nr) == addr;

	if (ok)
		*end = start_of(&t, nr + 1);
	free(t.v);
	return ok;
}

// Where the function that starts at number i of them ends, by its entry of .eh_frame; its start: it is not read.
static u64 end_of(const struct ElfFile *f, const struct Starts *t, u32 i)
{
	u64 start = start_of(t, i), entry = t->base + (u64)(s64)t->v[2 * (size_t)i + 1], off;
	u32 head[4]; // bytes, its common part, start from here, bytes of code

	if (!elffile_vaddr_to_off(f, entry, &off) || !elffile_read(f, off, head, sizeof(head)) || entry + 8 + (u64)(s64)(s32)head[2] != start)
		return start;
	return start + head[3];
}

static u64 end_of_code(const struct ElfFile *f, u64 addr)
{
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		if (s->type == PT_LOAD && s->flags & PF_X && addr - s->vaddr < s->filesz)
			return s->vaddr + s->filesz;
	}
	return 0;
}

bool runtime_hole(struct ElfFile *f, u64 least, u64 *lo, u64 *hi)
{
	struct Starts t = {0};
	u64 best = least;

	for (u32 nr = 0, n = read_starts(f, &t) ? t.n : 0; nr < n; nr++) {
		u64 from = start_of(&t, nr), to = nr + 1 < n ? start_of(&t, nr + 1) : ~0ull;
		if (to - from <= best || to < from)
			continue;
		to = MIN(to, end_of_code(f, from));
		from = end_of(f, &t, nr);
		if (from >= to || to - from <= best)
			continue;
		best = to - from;
		*lo = from;
		*hi = to;
	}
	free(t.v);
	return best > least;
}

bool runtime_cold_part(struct ElfFile *f, u64 lo, u64 hi, u64 *cold, u64 *cold_end)
{
	struct Starts t = {0};
	u64 off;
	u32 best = 0;

	if (f->machine != EM_X86_64 || hi <= lo || !elffile_vaddr_to_off(f, lo, &off) || !read_starts(f, &t)) {
		free(t.v);
		return false;
	}
	u64 size = hi - lo;
	u8 *code = elffile_load(f, off, size, MAX_CODE);
	u32 *hits = xcalloc(t.n + 1, sizeof(*hits));
	for (u64 i = 0; code && i + 6 <= size; i++) {
		s32 rel;
		if (code[i] != 0x0f || (code[i + 1] & 0xf0) != 0x80) // a conditional jump
			continue;
		memcpy(&rel, code + i + 2, sizeof(rel));
		u64 to = lo + i + 6 + (u64)(s64)rel;
		u32 nr = to - lo < size ? t.n : around(&t, to);
		if (nr < t.n)
			hits[nr]++;
		if (nr < t.n && hits[nr] > hits[best])
			best = nr;
	}
	bool ok = hits[best] >= MIN_JUMPS && best + 1 < t.n;
	if (ok) {
		*cold = start_of(&t, best);
		*cold_end = start_of(&t, best + 1);
	}
	free(hits);
	free(code);
	free(t.v);
	return ok;
}

#define ONLY_JUMP 8 // bytes
// jmp *(%r14), jmp *n(%r14)
static bool is_threaded_jump(const u8 *p)
{
	return p[0] == 0x41 && p[1] == 0xff && (p[2] == 0x26 || p[2] == 0x66);
}

// Built for size it has one such jump, for all instructions, which it begins with: mov (%r15),%r14; mov (%r14),%rax; jmp *%rax
static bool is_only_jump(const u8 *p)
{
	return !memcmp(p, "\x4d\x8b\x37\x49\x8b\x06\xff\xe0", ONLY_JUMP);
}

static void count_threaded(const struct ElfFile *f, const struct ElfSeg *s, const struct Starts *t, u32 *hits)
{
	u8 *code = elffile_load(f, s->off, s->filesz, MAX_LOOP_CODE);

	for (u64 i = 0; code && i + ONLY_JUMP <= s->filesz; i++) {
		u32 n = is_threaded_jump(code + i) ? 1 : is_only_jump(code + i) ? MIN_THREADED : 0, nr = n ? around(t, s->vaddr + i) : t->n;
		if (nr < t->n)
			hits[nr] += n;
	}
	free(code);
}

bool runtime_threaded_loop(struct ElfFile *f, u64 *lo, u64 *hi)
{
	struct Starts t = {0};
	u32 best = 0, second = 0;

	if (f->machine != EM_X86_64 || !read_starts(f, &t)) {
		free(t.v);
		return false;
	}
	u32 *hits = xcalloc(t.n + 1, sizeof(*hits));
	for (u32 i = 0; i < f->nsegs; i++)
		if (f->segs[i].type == PT_LOAD && f->segs[i].flags & PF_X)
			count_threaded(f, &f->segs[i], &t, hits);
	for (u32 i = 0; i < t.n; i++)
		if (hits[i] > hits[best])
			best = i;
	for (u32 i = 0; i < t.n; i++)
		second = i == best ? second : MAX(second, hits[i]);
	bool ok = hits[best] >= MIN_THREADED && hits[best] >= 2 * second && best + 1 < t.n;
	if (ok) {
		*lo = start_of(&t, best);
		*hi = start_of(&t, best + 1);
	}
	free(hits);
	free(t.v);
	return ok;
}

// ---- what a function leads to
#define MAX_CALLED 512
struct Called {
	u32 v[MAX_CALLED]; // numbers of functions
	u32 n;
};

static void add_called(struct Called *c, u32 nr)
{
	for (u32 i = 0; i < c->n; i++)
		if (c->v[i] == nr)
			return;
	if (c->n < MAX_CALLED)
		c->v[c->n++] = nr;
}

// Bytes that look like a call or jump count if they lead to where a function begins, or into one (within).
static void find_called(const struct ElfFile *f, const struct Starts *t, u32 nr, bool within, struct Called *out)
{
	u64 at = start_of(t, nr), size = start_of(t, nr + 1) - at, off;
	u8 *code = size <= MAX_CODE && elffile_vaddr_to_off(f, at, &off) ? elffile_load(f, off, size, MAX_CODE) : NULL;

	for (u64 i = 0; code && i + 5 <= size; i++) {
		s32 rel;
		if (code[i] != 0xe8 && code[i] != 0xe9)
			continue;
		memcpy(&rel, code + i + 1, sizeof(rel));
		u64 to = at + i + 5 + (u64)(s64)rel;
		u32 called = around(t, to);
		if (called + 1 < t->n && called != nr && (start_of(t, called) == to) != within)
			add_called(out, called);
	}
	free(code);
}

static u64 largest(const struct Starts *t, u32 nr, u64 best, u64 *lo, u64 *hi)
{
	u64 size = start_of(t, nr + 1) - start_of(t, nr);

	if (size <= best)
		return best;
	*lo = start_of(t, nr);
	*hi = *lo + size;
	return size;
}

// Of the functions that the one at from leads to, in so many steps (calls, or jumps into the middle), the largest
static bool largest_reached(struct ElfFile *f, u64 from, u32 steps, bool within, u64 *lo, u64 *hi)
{
	struct Starts t = {0};
	struct Called c = {0};
	u64 best = 0;

	if (f->machine != EM_X86_64 || !read_starts(f, &t)) {
		free(t.v);
		return false;
	}
	u32 nr = around(&t, from);
	if (nr + 1 < t.n)
		add_called(&c, nr);
	for (u32 step = 0, done = 0; step < steps; step++)
		for (u32 end = c.n; done < end; done++)
			find_called(f, &t, c.v[done], within, &c);
	for (u32 i = 1; i < c.n; i++)
		best = largest(&t, c.v[i], best, lo, hi);
	free(t.v);
	return best != 0;
}

bool runtime_largest_called(struct ElfFile *f, u64 from, u32 steps, u64 *lo, u64 *hi)
{
	return largest_reached(f, from, steps, false, lo, hi);
}

bool runtime_entered(struct ElfFile *f, u64 from, u64 *lo, u64 *hi)
{
	return largest_reached(f, from, 1, true, lo, hi);
}
