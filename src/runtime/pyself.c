// What CPython 3.13 and 3.14 say of their own structures. In: the words of _Py_DebugOffsets, with which _PyRuntime begins; the row of the version. Out: the
// row with those places. What is not described is as in the row (how a thread state is found, marks in words), and tasks that wait are followed only where
// all that is described of their coroutines is as there.
// Invariant: nothing is trusted: each place lies within its structure and that within a bound, or the row is left as it was.
#include "runtime/internal.h"

#define COOKIE 0x7970677562656478ULL // "xdebugpy"
#define MAX_STRUCT 4096
enum { WORD_INTERPS = 5, WORD_INTERP_NEXT = 8, WORD_INTERP_THREADS }; // in _PyRuntime, in an interpreter
#define WORD_THREAD_NEXT 2 // from E_THREAD on
// Words of _Py_DebugOffsets: sizes of structures, each followed by places in it
enum Entry {
	E_THREAD, E_THREAD_FRAME, E_THREAD_ID,
	E_FRAME, E_FRAME_PREV, E_FRAME_CODE, E_FRAME_IP, E_FRAME_LOCALS, E_FRAME_OWNER, E_FRAME_TOP, E_FRAME_COPY,
	E_CODE, E_CODE_FILE, E_CODE_NAME, E_CODE_LINES, E_CODE_LINE, E_CODE_FIRST, E_CODE_COPIES,
	E_OBJECT, E_OBJECT_TYPE, E_TUPLE_ITEMS, E_BYTES_LENGTH, E_BYTES_DATA,
	E_STR, E_STR_STATE, E_STR_LENGTH, E_STR_ASCII, E_CORO_FRAME, ENTRIES,
};
static const struct Layout {
	u32 version, words;
	u8 at[ENTRIES]; // 0: it does not say
} layouts[] = {
	{0x30d, 73, {19, 23, 24, 28, 29, 30, 31, 32, 33, 0, 0, 34, 35, 37, 38, 39, 43, 0, 44, 45, 51, 65, 66, 67, 68, 69, 70, 0}},
	{0x30e, 95, {22, 26, 27, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 42, 43, 44, 48, 49, 50, 51, 57, 75, 76, 77, 78, 79, 80, 85}},
};

// Where each place is put, and what lies there: how many bytes, at most so far into the structure (0: anywhere).
static const struct Place {
	u8 entry, in, bytes;
	u16 max, field; // field: of struct RtPython
} places[] = {
#define AT(e, in, bytes, max, f) {e, in, bytes, max, offsetof(struct RtPython, f)}
	AT(E_THREAD_FRAME, E_THREAD, 8, 0, cframe), AT(E_THREAD_ID, E_THREAD, 8, 0, thread_id),
	AT(E_FRAME_PREV, E_FRAME, 8, RT_LANG_OBJ, frame_prev), AT(E_FRAME_CODE, E_FRAME, 8, RT_LANG_OBJ, frame_code), AT(E_FRAME_IP, E_FRAME, 8, RT_LANG_OBJ, frame_ip),
	AT(E_FRAME_OWNER, E_FRAME, 1, RT_LANG_OBJ, frame_end),
	AT(E_CODE_FILE, E_CODE, 8, RT_LANG_OBJ, code_file), AT(E_CODE_NAME, E_CODE, 8, RT_LANG_OBJ, code_name), AT(E_CODE_LINES, E_CODE, 8, RT_LANG_OBJ, code_lines),
	AT(E_CODE_LINE, E_CODE, 4, RT_LANG_OBJ, code_line), AT(E_CODE_FIRST, E_CODE, 1, 0, code_first),
};
#undef AT

static u64 entry(const struct Layout *l, const u64 *words, enum Entry e)
{
	return words[l->at[e]];
}

static bool fits(u64 at, u32 bytes, u64 size, u32 max)
{
	return size <= MAX_STRUCT && at < size && at + bytes <= size && !(at & (bytes - 1)) && (!max || at + bytes <= max);
}

static bool take(const struct Layout *l, const u64 *words, struct RtPython *py)
{
	for (u32 i = 0; i < ARRAY_LEN(places); i++) {
		const struct Place *p = &places[i];
		u64 at = entry(l, words, p->entry);
		if (!fits(at, p->bytes, entry(l, words, p->in), p->max))
			return false;
		*(u16 *)((u8 *)py + p->field) = (u16)at;
	}
	return true;
}

// The head of each object, and with it strings and bytes: the walker knows these by how much longer the head is.
static bool take_heads(const struct Layout *l, const u64 *words, struct RtPython *py)
{
	u64 head = entry(l, words, E_OBJECT) - 16, ascii = entry(l, words, E_STR_ASCII), str = entry(l, words, E_STR);

	if (head > 64 || head & 7 || entry(l, words, E_OBJECT_TYPE) != 8 + head || entry(l, words, E_BYTES_LENGTH) != 16 + head || entry(l, words, E_BYTES_DATA) != 32 + head ||
	    entry(l, words, E_STR_LENGTH) != 16 + head || entry(l, words, E_STR_STATE) != 32 + head)
		return false;
	if (ascii < 40 + head || ascii > 128 || ascii & 7 || str != ascii + 24) // what is no ASCII has three words more, the last of which does not belong to it
		return false;
	py->head = (u16)head;
	py->str_ascii = (u16)ascii;
	py->str_other = (u16)(ascii + 16);
	return true;
}

// Without the GIL threads may run copies of a code's instructions: there are as many places as in the row.
static bool take_copies(const struct Layout *l, const u64 *words, struct RtPython *py)
{
	u64 copy = entry(l, words, E_FRAME_COPY), copies = entry(l, words, E_CODE_COPIES);

	if (!py->frame_copy)
		return true;
	if (!l->at[E_FRAME_COPY] || !fits(copy, 4, entry(l, words, E_FRAME), RT_LANG_OBJ) || !fits(copies, 8, entry(l, words, E_CODE), 0))
		return false;
	py->frame_copy = (u16)copy;
	py->code_copies = (u16)copies;
	return true;
}

// Where the thread states of all interpreters are: the same words in each version. What makes no sense is not known.
static void take_interps(const struct Layout *l, const u64 *words, struct RtPython *py)
{
	u64 head = words[WORD_INTERPS], next = words[WORD_INTERP_NEXT], threads = words[WORD_INTERP_THREADS];

	py->interps = 0;
	if (!head || (head | next | threads) & ~(u64)0xfff8 || next == threads || words[l->at[E_THREAD] + WORD_THREAD_NEXT] != RT_PY_THREAD_NEXT)
		return;
	py->interps = (u16)head;
	py->interp_next = (u16)next;
	py->interp_threads = (u16)threads;
}

static u16 most(u16 a, u32 b)
{
	return (u16)MAX((u32)a, (b + 7) & ~7u);
}

// How much is read of a frame and of a code object: up to the last thing that is wanted.
static void set_sizes(struct RtPython *py)
{
	py->frame_size = most(most(most(most(0, py->frame_prev + 8u), py->frame_code + 8u), py->frame_ip + 8u), py->frame_end + 1u);
	if (py->frame_copy)
		py->frame_size = most(py->frame_size, py->frame_copy + 4u);
	py->code_size = most(most(most(most(most(0, py->code_line + 4u), py->code_file + 8u), py->code_name + 8u), py->code_lines + 8u), 16u + py->head);
}

// Of tasks the row knows more than is described. Is what is described as there?
static bool same_coroutines(const struct Layout *l, const u64 *words, const struct RtPython *row, const struct RtPython *py)
{
	return py->cframe == row->cframe && py->thread_id == row->thread_id && py->frame_end == row->frame_owner && entry(l, words, E_FRAME_LOCALS) == row->frame_locals &&
	       entry(l, words, E_TUPLE_ITEMS) == row->tuple_items && py->head == row->head && (!l->at[E_FRAME_TOP] || entry(l, words, E_FRAME_TOP) == row->frame_top) &&
	       (!l->at[E_CORO_FRAME] || entry(l, words, E_CORO_FRAME) == row->coro_frame);
}

u32 python_described_words(u32 version)
{
	for (u32 i = 0; i < ARRAY_LEN(layouts); i++)
		if (layouts[i].version == (version & 0xffff))
			return layouts[i].words;
	return 0;
}

bool python_described(const u64 *words, u32 version, bool free_threaded, struct RtPython *row)
{
	struct RtPython py = *row;
	const struct Layout *l = layouts;

	while (l < layouts + ARRAY_LEN(layouts) && l->version != (version & 0xffff))
		l++;
	if (l == layouts + ARRAY_LEN(layouts) || words[0] != COOKIE || words[1] >> 16 != l->version || words[2] != free_threaded)
		return false;
	if (!take(l, words, &py) || !take_heads(l, words, &py) || !take_copies(l, words, &py))
		return false;
	take_interps(l, words, &py);
	set_sizes(&py);
	if (py.coro_frame && !same_coroutines(l, words, row, &py))
		py.coro_frame = 0;
	*row = py;
	return true;
}
