// walk_piece.h: stacks that are deeper than the buffer, a part of unwind.bpf.c: RT_STACK_PIECE frames at a time are interned by themselves, the stack is the
// list of these. Input: frames in the buffer and their hashes. Output: the list and its hashes.
#ifndef SONDE_RT_WALK_PIECE_H
#define SONDE_RT_WALK_PIECE_H
#include "bpfrt/stack_rt.h"

#ifdef RT_UW_TASK
#define STORE_PIECE rt_stack_piece
#else
#define STORE_PIECE(b, ...) rtg_stack_piece(rt_give(b), __VA_ARGS__) // as rtg_locate() in unwind.bpf.c
#endif

// A piece of a deep stack is stored and put into the list. 1: there is no room for it, the walk ends.
static RT_INLINE u64 add_piece(struct RtStackBuf *b, u64 from, u64 n, u64 h1, u64 h2)
{
	struct RtUw *u = &b->uw;
	u64 id = STORE_PIECE(b, from, n, h1, h2), k = u->pieces;

	if (id < RT_STACK_LOST || k >= RT_STACK_PIECES)
		return rt_uw_stop(u, RT_WHY_NO_ROOM);
	b->list[sizeof(struct RtStack) / 8 + k] = id;
	rt_stack_hash(&u->all1, &u->all2, id);
	u->pieces = k + 1;
	return 0;
}

// A piece is full. When the buffer is, too, or was before, all go into the list. 1: the walk ends.
static RT_INLINE u64 end_piece(struct RtStackBuf *b)
{
	struct RtUw *u = &b->uw;
	u64 n = u->n, k = (n / RT_STACK_PIECE - 1) & (RT_STACK_MAX / RT_STACK_PIECE - 1);

	u->piece1[k] = u->h1;
	u->piece2[k] = u->h2;
	if (n < RT_STACK_MAX && !u->pieces) {
		rt_stack_hash(&u->all1, &u->all2, u->h1);
		u->all2 += u->h2;
		u->room = n + RT_STACK_PIECE;
	} else {
		if (!u->pieces) {
			u->all1 = 0;
			u->all2 = 0;
		}
		RT_LOOP(i, RT_STACK_MAX / RT_STACK_PIECE)
			if (i * RT_STACK_PIECE < n && add_piece(b, i * RT_STACK_PIECE, RT_STACK_PIECE, u->piece1[i], u->piece2[i]))
				return 1;
		u->limit -= n;
		u->room = RT_STACK_PIECE;
		u->n = 0;
	}
	u->h1 = 0;
	u->h2 = 0;
	return 0;
}

// The rest of a deep stack; u->n: frames of the last piece.
static RT_NOINLINE u64 last_piece(struct RtStackBuf *b)
{
	u64 n = b->uw.n;

	if (add_piece(b, 0, n, b->uw.h1, b->uw.h2))
		b->uw.n = RT_STACK_PIECE; // the last one that is there
	return 0;
}
#endif
