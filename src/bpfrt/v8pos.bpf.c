// v8pos.bpf.c: which place of the source a bytecode is of, or an instruction of optimised code. Input: a table of positions in the process's memory: pairs of differences of bytecode and
// of position, each in zigzag and in bytes of seven bits, the lowest first, bit 7: more follow; of a bytecode also inverted if it is no statement, or (b_flags, newer
// versions) without a sign and with two flags below. Output: position + 1.
// Invariant: a piece of the table is looked through in each round of the walk, and no more than V8_TABLE bytes in all.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/java_rt.h"
#include "bpfrt/v8_rt.h"

#define V8_PIECE 64
#define V8_TABLE (1 << 16)

RT_ONCE u64 rtp_v8_table(struct RtLangWalk *w, struct RtLang *l)
{
	if (!w || !l)
		return 0;
	struct RtV8Walk *v = &w->v8;
	u64 table, n, at = v->by_pos ? v->jitcode - 1 + l->v8.c_deopt + 8 : v->table - 1 + l->v8.b_positions;

	if ((!v->by_pos && (!rtp_v8_type(w, l, v->table) || w->tmp[0] != l->v8.t_bytecode)) || !java_word(w, at))
		return 0;
	table = w->tmp[0];
	if (!RT_V8_IS_OBJECT(table) || !java_word(w, table - 1 + 8))
		return 0;
	n = rt_v8_length(l, w->tmp[0]);
	if (!n || n > V8_TABLE)
		return 0;
	v->table = table - 1 + l->v8.a_data;
	v->end = v->table + n;
	v->acc = v->shift = v->second = v->raw = v->pos = v->places = 0;
	v->flags = 0 - (u64)(l->v8.b_flags & 1);
	v->code = ~0ULL; // before the first bytecode
	v->more = RT_V8_TABLE;
	return 1;
}

// One byte. Without branches: the verifier has one state then.
static RT_INLINE void v8_byte(struct RtV8Walk *v, u64 c, u64 inside)
{
	u64 acc = v->acc | (c & 0x7f) << (v->shift & 63), more = c >> 7, last = (more ^ 1) & inside, second = v->second;
	u64 value = acc >> 1 ^ (0 - (acc & 1)), first_value = value ^ (0 - (value >> 63)); // -(d + 1) is ~d
	first_value = (acc >> 2 & v->flags) | (first_value & ~v->flags);
	u64 is_code = 0 - (last & (second ^ 1)), is_pos = 0 - (last & second);

	v->code += first_value & is_code;
	v->raw += value & is_pos;
	u64 holds = ((v->target - v->code) >> 63 ^ 1) & last & second;
	u64 keep = 0 - holds;
	RT_BARRIER(keep);
	v->pos = (v->raw & keep) | (v->pos & ~keep);
	v->acc = acc & (last - 1);
	v->shift = (v->shift + 7) & (last - 1);
	v->second = second ^ last;
	v->places += last & second;
}

RT_ONCE u64 rtp_v8_search(struct RtLangWalk *w)
{
	if (!w)
		return 0;
	struct RtV8Walk *v = &w->v8;
	u64 n = v->end - v->table;

	v->more = v->by_pos ? RT_V8_CHAIN : RT_V8_FRAME;
	if (rt_lang_read(w, v->table, n < V8_PIECE ? n : V8_PIECE)) {
		v->pos = v->places = 0;
		return 0;
	}
	RT_LOOP(i, V8_PIECE) {
		u64 c = ((volatile u8 *)w->obj)[i], inside = (i - n) >> 63;
		RT_BARRIER(c);
		RT_BARRIER(inside);
		v8_byte(v, c, inside);
	}
	if (n > V8_PIECE && (v->code + 1 <= v->target + 1 || (v->by_pos && !v->dense))) {
		v->table += V8_PIECE;
		v->more = RT_V8_TABLE;
		return 0;
	}
	if (!v->by_pos)
		v->pos = rt_v8_offset(v->pos);
	return 0;
}
