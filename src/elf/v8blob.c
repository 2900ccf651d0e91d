// Where V8's builtins are in a file that has neither symbols nor unwind tables for them (Deno). Input: sections nobody vouches for. Output: their code's addresses.
// V8 embeds them as one piece of code, with int3 between them, and of each, in .rodata, {offset, bytes, place of its metadata}; behind all of these, by which it looks them up,
// {end, number} of each (V8's src/snapshot/embedded/embedded-data.h). Numbers that count up from 0 beside ends that ascend are such a table; and the gaps that it tells of are
// padding in one place of the code.
// Invariant: every offset is checked; of the code a piece at a time is read, and what looks like its begin, READ_MAX times at most, as a whole.
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "elf/elf.h"

#define PIECE (256u << 10)
#define BUILTINS_MIN 500u
#define BUILTINS_MAX 20000u
#define CODE_MAX (64u << 20)
#define CODE_ALIGN 64
#define READ_MAX 16u
#define PAD 0xcc
#define NEAR 8192u // bytes of the code's begin whose gaps are looked at first

struct Builtin {
	u32 offset, size, metadata;
};
struct Lookup {
	u32 end, number;
};

static bool counts_up(const struct Lookup *l, u32 n, u32 first)
{
	for (u32 i = 0; i < n; i++)
		if (l[i].number != first + i || (i && l[i].end <= l[i - 1].end))
			return false;
	return true;
}

// The table of which the second part is at `at`: how many there are, owned; NULL: it is none.
static struct Builtin *read_table(const struct ElfFile *f, const struct ElfSec *s, u64 at, u32 *n)
{
	struct Lookup l[64];
	u32 last = 0;
	*n = 0;
	for (u64 off = at, end = s->off + s->size; off < end && *n < BUILTINS_MAX; off += sizeof(l)) {
		u32 i = 0, have = (u32)MIN((end - off) / sizeof(*l), ARRAY_LEN(l));
		if (!elffile_read(f, off, l, have * sizeof(*l)))
			return NULL;
		for (; i < have && l[i].number == *n + i && l[i].end > last; i++)
			last = l[i].end;
		*n += i;
		if (i < ARRAY_LEN(l))
			break;
	}
	u64 bytes = *n * sizeof(struct Builtin);
	if (*n < BUILTINS_MIN || last > CODE_MAX || at - s->off < bytes)
		return NULL;
	struct Builtin *b = elffile_load(f, at - bytes, bytes, bytes);
	for (u32 i = 0; b && i < *n; i++)
		if (!b[i].size || (u64)b[i].offset + b[i].size > last || (i ? b[i].offset < (u64)b[i - 1].offset + b[i - 1].size : b[i].offset != 0)) {
			free(b);
			b = NULL;
		}
	return b;
}

static struct Builtin *find_table(const struct ElfFile *f, const struct ElfSec *s, u32 *n)
{
	struct Lookup *l = xmalloc(PIECE);
	struct Builtin *found = NULL;
	for (u64 off = 0; off + 64 <= s->size && !found; off += PIECE - 64) {
		u64 have = MIN(s->size - off, (u64)PIECE);
		if (!elffile_read(f, s->off + off, l, have))
			break;
		for (u64 at = 0; at + 32 <= have && !found; at += 4) { // of four
			const struct Lookup *here = (const void *)((const u8 *)l + at);
			if (!here->number && counts_up(here, 4, 0))
				found = read_table(f, s, s->off + off + at, n);
		}
	}
	free(l);
	return found;
}

// Is what lies between them padding, as far as n bytes of the code reach? p: its first.
static bool fits(const struct Builtin *b, u32 nb, const u8 *p, u64 n)
{
	for (u32 i = 0; i + 1 < nb && b[i + 1].offset <= n; i++)
		for (u64 at = (u64)b[i].offset + b[i].size; at < b[i + 1].offset; at++)
			if (p[at] != PAD)
				return false;
	return true;
}

static bool find_code(const struct ElfFile *f, const struct ElfSec *s, const struct Builtin *b, u32 n, struct V8Blob *out)
{
	u64 size = (u64)b[n - 1].offset + b[n - 1].size;
	u8 *p = xmalloc(PIECE + NEAR), *all = NULL;
	bool found = false;
	u32 read = 0;
	for (u64 off = 0; off + size <= s->size && !found && read < READ_MAX; off += PIECE) {
		u64 have = MIN(s->size - off, (u64)PIECE + NEAR);
		if (!elffile_read(f, s->off + off, p, have))
			break;
		for (u64 at = (u64)-(s->addr + off) % CODE_ALIGN; at < PIECE && at + NEAR <= have && !found && read < READ_MAX; at += CODE_ALIGN) {
			if (!fits(b, n, p + at, NEAR) || off + at + size > s->size || !(all = elffile_load(f, s->off + off + at, size, CODE_MAX)))
				continue;
			read++;
			found = fits(b, n, all, size);
			free(all);
			out->code = s->addr + off + at;
		}
	}
	free(p);
	out->size = size;
	return found;
}

bool v8blob_find(const struct ElfFile *f, struct V8Blob *out)
{
	struct Builtin *b = NULL;
	bool found = false;
	u32 n = 0;

	*out = (struct V8Blob){0};
	for (u32 i = 1; i < f->nsecs && !b; i++)
		if (elffile_is_constant(&f->secs[i]))
			b = find_table(f, &f->secs[i], &n);
	for (u32 i = 1; b && i < f->nsecs && !found; i++)
		if (f->secs[i].type == SHT_PROGBITS && f->secs[i].flags & SHF_EXECINSTR)
			found = find_code(f, &f->secs[i], b, n, out);
	for (u32 i = 0; found && i < n; i++)
		vec_push(&out->starts, out->code + b[i].offset);
	free(b);
	return found;
}
