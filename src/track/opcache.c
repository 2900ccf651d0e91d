// Code that PHP's opcache compiles (JIT). Input: who maps what; the rule of most of execute_ex(), which runs PHP's functions (tablemaps.c). Output: an object for the
// whole of the memory that such code is in, whose rule is that one.
// Where PHP's loop keeps its state in registers (GCC) compiled code is jumped to from within execute_ex() and runs on its frame, which it leaves as it is. So a place there
// is left as the loop is, and runs the program's frames as the loop does.
// Some of its own pieces, which come first, make room on the stack for a while; that matters where the loop's frame is counted from the stack pointer (until PHP 8.4; from rbp after).
// Invariant: the memory is what PHP maps shared without a file (/dev/zero) and may run: opcache maps that once, before the first function is compiled. While it writes
// code there the memory may not be run.
#include "runtime/runtime.h"
#include "track/internal.h"

#define STUBS 4096 // bytes of its own pieces
#define STUB 512   // of one, at most
#define STUB_ROOM 1024

// PHP's loop: its runtime's number, 0 none. *bias: address - file offset.
static u32 php_of(struct Jits *j, const struct ProcMap *maps, size_t n, u64 *bias)
{
	bool pending = false; // of no interest here
	for (size_t i = 0; i < n; i++) {
		u32 lang = maps[i].obj ? tablemaps_lang(tables_maps(j->tables), maps[i].obj->id, &pending) : 0;
		if (!lang || tablemaps_row(tables_maps(j->tables), lang)->kind != RT_LANG_PHP)
			continue;
		*bias = maps[i].start - maps[i].file_off;
		return lang;
	}
	return 0;
}

bool opcache_has(struct Jits *j, const struct ProcMap *maps, size_t n)
{
	u64 bias;
	return php_of(j, maps, n, &bias) != 0;
}

// sub or add (ec, c4) $n,%rsp: bytes of the instruction, 0 none.
static u32 room_in(const u8 *p, u8 how, u32 *room)
{
	if (p[0] != 0x48 || p[2] != how || (p[1] != 0x83 && p[1] != 0x81))
		return 0;
	memcpy(room, p + 3, sizeof(*room));
	*room = p[1] == 0x83 ? p[3] : *room;
	return *room && *room < STUB_ROOM ? (p[1] == 0x83 ? 4 : 7) : 0;
}

static void stub_row(struct UwMade *made, u64 off, const struct RtUwRule *body, u32 room)
{
	struct RtUwRule r = *body;
	r.off += (s32)room;
	vec_push(&made->rows, ((struct MadeRow){off, r}));
}

// Pieces that make room, and give back that much, or a word more that was pushed before the jump there.
void opcache_rows(struct UwMade *made, const u8 *code, u32 size, const struct RtUwRule *body)
{
	u32 room, back, n;
	for (u32 at = 0; body->reg == RT_R_SP && at + 8 < size; at++) {
		if (!(n = room_in(code + at, 0xec, &room)))
			continue;
		u32 end = at + n;
		while (end + 8 < size && end < at + STUB && !room_in(code + end, 0xc4, &back))
			end++;
		if (end + 8 >= size || end >= at + STUB || (back != room && back != room + 8))
			continue;
		if (back != room)
			stub_row(made, at, body, back - room);
		stub_row(made, at + n, body, back);
		stub_row(made, end + room_in(code + end, 0xc4, &back), body, 0);
		at = end;
	}
}

// The object of the memory as it is now. Its first pieces are written behind the mapping.
void opcache_read(struct Jits *j, struct Jit *t)
{
	const struct PhpCode *p = &t->php;
	struct RtUwRule rule;
	u8 stubs[STUBS];

	if (!tablemaps_body(tables_maps(j->tables), p->lang, &rule))
		return;
	struct MadeSym all = {0, p->size, "opcache's code"};
	struct UwMade *made = xcalloc(1, sizeof(*made));
	vec_push(&made->rows, ((struct MadeRow){0, rule}));
	if (p->size > STUBS && jit_read_memory(&t->tgid, p->start, stubs, STUBS))
		opcache_rows(made, stubs, STUBS, &rule);
	vec_push(&made->rows, ((struct MadeRow){p->size, {0}}));
	made->lang = p->lang;
	struct SymObject *o = jit_object(j, p->start, p->size, &(struct MadeNames){&all, 1}, made);
	if (o && o != p->obj)
		jit_put(t, p->start, p->size, 0, o, PROC_MADE_STAYS);
	t->php.obj = o;
}

void opcache_look(struct Jits *j, struct Jit *t, const struct ProcMap *maps, size_t n)
{
	u64 bias;
	u32 lang = php_of(j, maps, n, &bias);
	const struct ProcMap *code = NULL;

	for (size_t i = 0; i < n && !code; i++)
		code = !maps[i].obj && maps[i].ino ? &maps[i] : NULL;
	if (code && lang && code->start != t->php.start && code->end - code->start <= UINT32_MAX)
		t->php = (struct PhpCode){code->start, code->end - code->start, bias, lang, NULL};
}
