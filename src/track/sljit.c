// Regular expressions that PCRE compiles (sljit, its code generator). Input: memory of a process that maps PCRE. Output: an object for each compiled pattern, with its rows.
// The memory is sljit's own: areas of 64 KB or a multiple, each a row of blocks with their sizes, so it is known by its form. A block is one function: it begins by saving
// registers and making room, and its stack pointer stays there until it ends, but where it calls within itself: the place called takes its return address off the stack at
// once, and puts it back to return.
// Invariant: nothing in that memory is trusted: what does not have this form has no rows, and stacks are cut there as before. A block that is used again has the rows
// of its old code until user space has looked again (a tenth of a second), as with GDB's interface.
#include "track/internal.h"

#define AREA 65536u
#define AREAS_MAX (16u << 20)
#define BLOCK_MIN 32u
#define PUSHES 6

struct BlockHead {
	u64 size; // of a block in use; 0: free, 1: the area's end
	u64 prev; // size of the one before
	u64 next_free, prev_free, free_size; // of a free one
};
#define HEAD 16

static bool area_blocks(const u8 *p, u64 size, u64 at, struct Blocks *out)
{
	u64 prev = 0, off = 0;
	while (off + HEAD <= size) {
		struct BlockHead h = {0};
		memcpy(&h, p + off, MIN(sizeof(h), size - off));
		if (h.prev != prev)
			return false;
		if (h.size == 1)
			return off + HEAD == size;
		u64 n = h.size ? h.size : h.free_size;
		if (n < BLOCK_MIN || n & 7 || n > size - off)
			return false;
		if (h.size)
			vec_push(&out->v, ((struct Block){.start = at + off + HEAD, .size = n - HEAD}));
		prev = n;
		off += n;
	}
	return false;
}

// An area ends with its mark before a multiple of 64 KB; one of several may follow in the same mapping.
bool sljit_blocks(const u8 *p, u64 size, u64 at, struct Blocks *out)
{
	u64 begin = 0;
	while (begin < size) {
		u64 end = begin + AREA;
		size_t had = out->v.n;
		while (end <= size && !area_blocks(p + begin, end - begin, at + begin, out)) {
			out->v.n = had;
			end += AREA;
		}
		if (end > size)
			return false;
		begin = end;
	}
	return size != 0;
}

// ---- rows
struct Frame {
	u8 reg[PUSHES]; // DWARF
	u32 npushed;
	u64 room; // bytes below them
	u32 body; // where the room has been made
};

static u8 dwarf_of(u8 reg) // as instructions number them
{
	static const u8 of[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
	return of[reg & 15];
}

static struct RtUwRule rule_of(const struct Frame *f, u32 pushed, u64 cfa)
{
	static const u8 slots[RT_UW_SLOTS] = RT_SLOT_REGS;
	struct RtUwRule r = {.kind = RT_UW_REG, .reg = RT_R_SP, .off = (s32)cfa, .ra = -8};
	for (u32 i = 0; i < pushed; i++)
		for (u32 s = 0; s < RT_UW_SLOTS; s++)
			if (slots[s] == f->reg[i]) {
				r.saved |= (u8)(1u << s);
				r.slot[s] = (s16)(-16 - 8 * (s32)i);
			}
	return r;
}

static void row(struct UwMade *out, u64 off, struct RtUwRule r)
{
	if (out->rows.n && vec_last(&out->rows).off == off)
		out->rows.n--;
	if (!out->rows.n || memcmp(&vec_last(&out->rows).rule, &r, sizeof(r)))
		vec_push(&out->rows, ((struct MadeRow){off, r}));
}

// A register pushed or popped (50 or 58 + register, 41 before the upper ones): bytes of the instruction, 0 none.
static u32 push_or_pop(const u8 *p, u64 left, u8 op, u8 *reg)
{
	u32 n = left && p[0] == 0x41;
	if (left < n + 1u || (p[n] & 0xf8) != op)
		return 0;
	*reg = dwarf_of((u8)((p[n] & 7) | n << 3));
	return n + 1;
}

// sub, add (ec, c4) $n,%rsp: bytes of the instruction, 0 none.
static u32 room_made(const u8 *p, u64 left, u8 how, u64 *room)
{
	u32 n;
	if (left < 7 || p[0] != 0x48 || p[2] != how || (p[1] != 0x83 && p[1] != 0x81))
		return 0;
	memcpy(&n, p + 3, sizeof(n));
	*room = p[1] == 0x83 ? p[3] : n;
	return *room < 1u << 30 ? (p[1] == 0x83 ? 4 : 7) : 0;
}

static bool begin_rows(const u8 *code, u64 size, struct Frame *f, struct UwMade *out)
{
	u64 at = size > 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0; // endbr64
	u32 n;
	u8 reg;

	row(out, 0, rule_of(f, 0, 8));
	while ((n = push_or_pop(code + at, size - at, 0x50, &reg)) && f->npushed < PUSHES) {
		at += n;
		f->reg[f->npushed++] = reg;
		row(out, at, rule_of(f, f->npushed, 8 + 8 * f->npushed));
	}
	while (at + 3 < size && (code[at] & 0xf8) == 0x48 && (code[at + 1] == 0x89 || code[at + 1] == 0x8b) && code[at + 2] >> 6 == 3) // mov, registers
		at += 3;
	n = room_made(code + at, size - at, 0xec, &f->room);
	f->body = (u32)at + n;
	return n != 0;
}

// The end: room given back, registers restored in the order reversed, ret. Bytes, 0: it is not that.
static u32 end_rows(const u8 *p, u64 left, u64 off, const struct Frame *f, struct UwMade *out)
{
	u64 room;
	u32 at = room_made(p, left, 0xc4, &room), k = at, n;
	u8 reg;

	if (!at || room != f->room)
		return 0;
	for (u32 i = f->npushed; i; i--, k += n)
		if (!(n = push_or_pop(p + k, left - k, 0x58, &reg)) || reg != f->reg[i - 1])
			return 0;
	if (k >= left || p[k] != 0xc3)
		return 0;
	for (u32 i = f->npushed; i; i--) {
		row(out, off + at, rule_of(f, i, 8 + 8 * i));
		at += push_or_pop(p + at, left - at, 0x58, &reg);
	}
	row(out, off + at, rule_of(f, 0, 8));
	return at + 1;
}

bool sljit_rows(const u8 *code, u64 size, struct UwMade *out)
{
	struct Frame f = {0};
	u8 reg;

	if (!begin_rows(code, size, &f, out))
		return false;
	struct RtUwRule body = rule_of(&f, f.npushed, 8 + 8 * f.npushed + f.room), called = rule_of(&f, f.npushed, 16 + 8 * f.npushed + f.room);
	for (u64 at = f.body; at < size;) { // bytes within instructions look like some, too: no pc is there
		const u8 *p = code + at;
		u32 n = end_rows(p, size - at, at, &f, out);
		if (!n) {
			bool back = p[0] == 0xc3 || push_or_pop(p, size - at, 0x58, &reg) || (p[0] == 0x8f && size - at > 1 && !(p[1] & 0x38)); // ret; pop
			row(out, at, back ? called : body);
			n = 1;
		}
		at += n;
	}
	vec_push(&out->rows, ((struct MadeRow){size, {0}}));
	return true;
}

// ---- processes
static bool is_area(const struct ProcMap *m)
{
	return !m->obj && !m->ino && !((m->end - m->start) % AREA);
}

bool sljit_has(const struct ProcMap *maps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_area(&maps[i]))
			return true;
	return false;
}

void sljit_look(struct Jit *t, const struct ProcMap *maps, size_t n)
{
	u64 sum = 0;
	t->pcre.areas.n = 0;
	for (size_t i = 0; i < n; i++) {
		u64 size = maps[i].end - maps[i].start;
		if (!is_area(&maps[i]) || sum + size > AREAS_MAX)
			continue;
		sum += size;
		vec_push(&t->pcre.areas, ((struct CfiSeg){maps[i].start, size, 0}));
	}
}

static struct Block *block_at(struct Blocks *b, u64 start)
{
	for (size_t i = 0; i < b->v.n; i++)
		if (b->v.p[i].start == start)
			return &b->v.p[i];
	return NULL;
}

static void take_block(struct Jits *j, struct Jit *t, struct Block new, const u8 *code)
{
	struct JitHash h = {0};
	struct Block *had = block_at(&t->pcre, new.start);

	jit_hash(&h, code, new.size);
	new.hash = h.a;
	new.here = true;
	if (had && had->size == new.size && had->hash == new.hash) {
		had->here = true;
		return;
	}
	struct UwMade *made = xcalloc(1, sizeof(*made));
	struct MadeSym all = {0, new.size, "pattern of PCRE"};
	if (sljit_rows(code, new.size, made))
		new.obj = jit_object(j, new.start, new.size, &(struct MadeNames){&all, 1}, made);
	else
		uwmade_free(made);
	jit_put(t, new.start, new.size, 0, new.obj, new.obj ? PROC_MADE : PROC_MADE_NAMES);
	if (had)
		*had = new;
	else
		vec_push(&t->pcre.v, new);
}

static void retire(struct Jit *t, const struct Block *b)
{
	if (b->obj)
		jit_put(t, b->start, b->size, 0, NULL, PROC_MADE_NAMES);
}

static void read_area(struct Jits *j, struct Jit *t, const struct CfiSeg *a)
{
	struct Blocks now = {0};
	u8 *p = xmalloc(a->size);

	if (jit_read_memory(&t->tgid, a->vaddr, p, a->size) && sljit_blocks(p, a->size, a->vaddr, &now)) {
		size_t kept = 0;
		for (size_t i = 0; i < t->pcre.v.n; i++)
			if (t->pcre.v.p[i].start - a->vaddr < a->size)
				t->pcre.v.p[i].here = false;
		for (size_t i = 0; i < now.v.n; i++) { // what is gone first: other code may lie there
			struct Block *b = block_at(&t->pcre, now.v.p[i].start);
			if (b)
				b->here = b->size == now.v.p[i].size;
		}
		for (size_t i = 0; i < t->pcre.v.n; i++) {
			if (t->pcre.v.p[i].here)
				t->pcre.v.p[kept++] = t->pcre.v.p[i];
			else
				retire(t, &t->pcre.v.p[i]);
		}
		t->pcre.v.n = kept;
		for (size_t i = 0; i < now.v.n; i++)
			take_block(j, t, now.v.p[i], p + (now.v.p[i].start - a->vaddr));
	}
	vec_deinit(&now.v);
	free(p);
}

void sljit_read(struct Jits *j, struct Jit *t)
{
	for (size_t i = 0; i < t->pcre.v.n; i++)
		t->pcre.v.p[i].here = true;
	for (size_t i = 0; i < t->pcre.areas.n; i++)
		read_area(j, t, &t->pcre.areas.p[i]);
}
