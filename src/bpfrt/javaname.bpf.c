// javaname.bpf.c: what HotSpot's Java calls a method or a piece of its own code, copied when it is met for the first time. Input: its address, memory of the
// process, struct RtJava. Output: name, class, file and table of lines in w->made.code, for lang.bpf.c to number and tell.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/java_rt.h"

#define JAVA_STUB_NAME 48 // bytes that are read of a name, which is shorter

// A name: its address in w->tmp[1], its bytes in tmp[2]. ptr: where the pointer to it lies.
RT_ONCE u64 rtp_java_symbol(struct RtLangWalk *w, struct RtLang *l, u64 ptr)
{
	if (!w || !l)
		return 0;
	u64 symbol;

	if (!java_word(w, ptr))
		return 0;
	symbol = w->tmp[0];
	if (symbol & 7 || !symbol || rt_lang_read(w, symbol, 16))
		return 0;
	w->tmp[1] = symbol + l->java.s_body;
	w->tmp[2] = java_half(w, l->java.s_len) & JAVA_MASK16;
	return 1;
}

static RT_INLINE u64 java_copy_name(struct RtLangWalk *w, struct RtLang *l, u64 ptr)
{
	return rtp_java_symbol(w, l, ptr) && rt_lang_copy_name(w, 1);
}

static RT_INLINE u64 java_copy_class(struct RtLangWalk *w, struct RtLang *l, u64 ptr)
{
	u64 n;

	__builtin_memset(w->made.code.file, 0, sizeof(w->made.code.file));
	w->made.code.file_width = 1 + (l->java.digit & 1); // how numbers in the table of lines are coded
	w->made.code.file_len = 0;
	if (!rtp_java_symbol(w, l, ptr))
		return 0;
	n = w->tmp[2];
	RT_BOUND(n, RT_CODE_CLASS);
	w->made.code.lines_kind = n;
	return !bpf_probe_read_user(w->made.code.file, n, (void *)w->tmp[1]);
}

static RT_INLINE void java_copy_file(struct RtLangWalk *w, struct RtLang *l, u64 ptr) // there may be none
{
	u64 n;

	if (!rtp_java_symbol(w, l, ptr))
		return;
	n = w->tmp[2];
	RT_BOUND(n, RT_CODE_FILE - RT_CODE_CLASS);
	if (!bpf_probe_read_user(w->made.code.file + RT_CODE_CLASS, n, (void *)w->tmp[1]))
		w->made.code.file_len = n;
}

// What comes behind the table's end is no part of the number: it has addresses in it. 0 ends the table; behind 0xff two numbers follow.
// Without branches: the verifier has one state a byte.
static RT_INLINE void java_end_lines(struct RtLangWalk *w)
{
	volatile u8 *p = w->made.code.lines;
	u64 numbers = rt_vary(0), ended = rt_vary(0);

	RT_LOOP(i, 16 * 8) {
		u64 c = p[i];
		RT_BARRIER(c);
		u64 inside = (0 - numbers) >> 63, last = (c - 192) >> 63, escape = ((c ^ 0xff) - 1) >> 63, zero = (c - 1) >> 63;
		p[i] = c & (ended - 1);
		numbers += ((inside ^ 1) & escape) * 2 - (inside & last);
		ended |= (inside ^ 1) & zero;
		RT_BARRIER(numbers);
		RT_BARRIER(ended);
	}
}

static RT_INLINE void java_copy_lines(struct RtLangWalk *w, u64 addr, u64 n)
{
	__builtin_memset(w->made.code.lines, 0, 16 * 8); // what the number is made of
	w->made.code.nlines = 0;
	RT_BOUND(n, RT_CODE_LINES);
	if (n && !bpf_probe_read_user(w->made.code.lines, n, (void *)addr))
		w->made.code.nlines = n;
	java_end_lines(w);
}

// Into v->code the table of lines, and into v->pc its bytes, from the ConstMethod in w->obj.
static RT_INLINE void java_find_lines(struct RtLangWalk *w, struct RtLang *l, u64 consts)
{
	u64 code = java_half(w, l->java.c_code) & JAVA_MASK16, head = l->java.c_size + code, all = (u64)java_half(w, l->java.c_words) * 8;

	w->java.code = consts + head;
	w->java.pc = all > head && java_half(w, l->java.c_flags) & 1 ? all - head : 0;
}

// The runtime's own code: what it calls it.
static RT_NOINLINE u64 java_copy_stub(struct RtLangWalk *w, struct RtLang *l)
{
	__builtin_memset(&w->made.code, 0, offsetof(struct RtCode, lines) + 16 * 8);
	w->made.code.name_len = JAVA_STUB_NAME;
	return java_word(w, w->new_code - l->java.block + l->java.b_name) && !(w->tmp[0] >> RT_UW_PC_BITS) &&
	       !bpf_probe_read_user(w->made.code.name, JAVA_STUB_NAME, (void *)w->tmp[0]);
}

RT_NOINLINE u64 rt_java_copy(struct RtLangWalk *w, struct RtLang *l)
{
	u64 consts, pool, name, holder, file, id;

	if (w->java.kind == RT_JAVA_STUB || w->java.kind == RT_JAVA_JUMP || w->java.kind == RT_JAVA_THAW)
		return java_copy_stub(w, l);
	if (!java_word(w, w->new_code + l->java.m_const))
		return 0;
	consts = w->tmp[0];
	if (rt_lang_read(w, consts, l->java.c_size))
		return 0;
	java_find_lines(w, l, consts);
	pool = rt_lang_word(w, l->java.c_pool);
	id = java_half(w, l->java.c_id) & JAVA_MASK16; // methods of one name
	name = java_half(w, l->java.c_name) & JAVA_MASK16;
	if (rt_lang_read(w, pool, l->java.p_size))
		return 0;
	holder = rt_lang_word(w, l->java.p_holder);
	file = java_half(w, l->java.p_file) & JAVA_MASK16;
	if (!l->java.p_file) {
		if (!java_word(w, (holder + l->java.k_file) & ~7ULL))
			return 0;
		file = w->tmp[0] >> (l->java.k_file & 7) * 8 & JAVA_MASK16;
	}
	w->made.code.first_line = id;
	if (!java_copy_name(w, l, pool + l->java.p_size + name * 8) || !java_copy_class(w, l, holder + l->java.k_name))
		return 0;
	if (file)
		java_copy_file(w, l, pool + l->java.p_size + file * 8);
	java_copy_lines(w, w->java.code, w->java.pc);
	return 1;
}
