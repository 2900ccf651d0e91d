// v8name.bpf.c: what a function of JavaScript is called, copied when it is met for the first time. Input: its SharedFunctionInfo, memory of the
// process, struct RtV8. Output: name, script's name and where the script lies in w->made.code, for lang.bpf.c to number and tell.
// Invariant: all that leads to a text is of the type that it must be; what is not is left out. A string's pieces are followed one in a round of the walk, V8_NODES at most.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/java_rt.h"
#include "bpfrt/v8_rt.h"

#define V8_NODES 16 // of a string
#define V8_TEXT 160 // bytes of a text, at most
#define V8_NAMES_MAX 75 // of more locals the names are in a table

// ---- texts: gathered in w->obj, v->shift bytes of v->raw each character
// The characters at v->table, n of them.
static RT_INLINE u64 v8_chars(struct RtLangWalk *w, u64 n, u64 width)
{
	struct RtV8Walk *v = &w->v8;
	u64 at = v->shift, from = v->table, room;

	n *= width;
	if (!n)
		return 1;
	if (at > V8_TEXT || (at && v->raw != width))
		return 0;
	room = V8_TEXT - at;
	if (n > room && v->end) // its end is wanted, of one piece
		from += n - room;
	if (n > room)
		n = room;
	RT_BOUND(n, V8_TEXT);
	RT_BOUND(at, V8_TEXT);
	if (from >> RT_UW_PC_BITS || bpf_probe_read_user((u8 *)w->obj + at, n, (void *)from))
		return 0;
	v->raw = width;
	v->shift = at + n;
	return 1;
}

// The string at v->acc: its characters, or what it is made of: v->acc, then v->second; 0: nothing more.
static RT_INLINE u64 v8_node(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtV8Walk *v = &w->v8;
	u64 s = v->acc, type, shape, width, n;

	if (!rtp_v8_type(w, l, s))
		return 0;
	type = w->tmp[0];
	if (type >= l->v8.t_no_string || !java_word(w, s - 1 + (l->v8.str_len & ~7u)))
		return 0;
	n = w->tmp[0] >> (l->v8.str_len & 4) * 8 & 0xffffffff;
	shape = type & l->v8.str_shape;
	width = type & l->v8.str_latin ? 1 : 2;
	v->acc = v->second;
	v->second = 0;
	if (shape == l->v8.str_flat) {
		v->table = s - 1 + l->v8.str_chars;
		return v8_chars(w, n, width);
	}
	if (shape == l->v8.str_external) {
		if (!java_word(w, s - 1 + l->v8.ext_data))
			return 0;
		v->table = w->tmp[0];
		return v8_chars(w, n, width);
	}
	if (shape == l->v8.str_sliced) { // of a flat one
		if (!java_word(w, s - 1 + l->v8.slice_offset))
			return 0;
		type = w->tmp[0] >> 32;
		if (!java_word(w, s - 1 + l->v8.slice_parent) || !RT_V8_IS_OBJECT(w->tmp[0]))
			return 0;
		s = w->tmp[0];
		if (!rtp_v8_type(w, l, s) || (w->tmp[0] & l->v8.str_shape) != l->v8.str_flat)
			return 0;
		v->table = s - 1 + l->v8.str_chars + type * width;
		return v8_chars(w, n, width);
	}
	if (shape == l->v8.str_thin) {
		v->second = v->acc;
		if (!java_word(w, s - 1 + l->v8.thin_actual))
			return 0;
	} else {
		if (shape != l->v8.str_cons || v->acc || !java_word(w, s - 1 + l->v8.cons_second))
			return 0;
		v->second = w->tmp[0];
		if (!java_word(w, s - 1 + l->v8.cons_first))
			return 0;
	}
	v->acc = w->tmp[0];
	return 1;
}

static RT_INLINE void v8_text(struct RtLangWalk *w, u64 string, u64 end)
{
	struct RtV8Walk *v = &w->v8;

	__builtin_memset(w->obj, 0, V8_TEXT);
	v->acc = string;
	v->end = end; // of a long one its end is wanted
	v->second = v->shift = v->raw = 0;
	v->nodes = 0;
}

// ---- the function
// Its name: in ScopeInfo behind the locals; functions without one have one that was made of what they were assigned to.
static RT_INLINE u64 v8_scope_name(struct RtLangWalk *w, struct RtLang *l, u64 scope)
{
	u64 n, at;

	if (!java_word(w, scope - 1 + l->v8.i_locals) || (u32)w->tmp[0])
		return 0;
	n = w->tmp[0] >> 32;
	if (n > 1 << 16)
		return 0;
	at = scope - 1 + l->v8.i_first + (n < V8_NAMES_MAX ? n * 2 : n + 1) * 8;
	if (!java_word(w, at) || !RT_V8_IS_OBJECT(w->tmp[0]))
		return 0;
	w->v8.acc = w->tmp[0];
	if (java_word(w, at + 16) && RT_V8_IS_OBJECT(w->tmp[0]))
		w->v8.other = w->tmp[0];
	return 0;
}

// The script's name and place. The text that is to be followed then is in v->acc; 0: none.
static RT_INLINE u64 v8_script(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtScriptAt *at = (struct RtScriptAt *)(w->made.code.lines + RT_CODE_SCRIPT);
	u64 *own = (u64 *)w->made.code.lines, script = w->v8.script, name;

	if (!rtp_v8_type(w, l, script) || w->tmp[0] != l->v8.t_script || !java_word(w, script - 1 + l->v8.p_name))
		return 0;
	name = w->tmp[0];
	if (!java_word(w, script - 1 + l->v8.p_id))
		return name;
	at->id = w->tmp[0];
	at->script = script;
	if (!java_word(w, script - 1 + l->v8.p_source) || !RT_V8_IS_OBJECT(w->tmp[0]) || !java_word(w, w->tmp[0] - 1 + (l->v8.str_len & ~7u)))
		return name;
	own[2] = w->tmp[0] >> (l->v8.str_len & 4) * 8 & 0xffffffff;
	w->made.code.nlines = RT_CODE_SCRIPT + sizeof(*at);
	return name;
}

RT_NOINLINE u64 rt_v8_copy(struct RtLangWalk *w, struct RtLang *l, u64 tgid)
{
	struct RtScriptAt *at = (struct RtScriptAt *)(w->made.code.lines + RT_CODE_SCRIPT);
	u64 *own = (u64 *)w->made.code.lines, name;

	if (!rtp_v8_type(w, l, w->v8.shared) || w->tmp[0] != l->v8.t_shared || rt_lang_read(w, w->v8.shared - 1, RT_V8_SHARED))
		return 0;
	__builtin_memset(&w->made.code, 0, offsetof(struct RtCode, lines) + RT_CODE_SCRIPT + sizeof(*at));
	w->made.code.first_line = own[1] = w->v8.pos >> RT_POS_BITS;
	own[0] = java_half(w, l->v8.s_literal);
	at->tgid = tgid;
	name = rt_lang_word(w, l->v8.s_name);
	w->v8.script = rt_lang_word(w, l->v8.s_script);
	w->v8.other = 0;
	if (rtp_v8_type(w, l, name) && w->tmp[0] == l->v8.t_scope) {
		w->v8.acc = 0;
		v8_scope_name(w, l, name);
		name = w->v8.acc;
	}
	v8_text(w, name, 0);
	w->v8.more = RT_V8_NAME;
	return 1;
}

RT_NOINLINE u64 rt_v8_copy_text(struct RtLangWalk *w, struct RtLang *l)
{
	struct RtV8Walk *v = &w->v8;
	u64 name;

	if (v->acc && v->nodes++ < V8_NODES && v8_node(w, l))
		return RT_STEP_AHEAD;
	if (RT_W_LACKS(w)) // what was gathered must last until then
		return RT_STEP_AHEAD;
	if (v->more == RT_V8_FILE) {
		__builtin_memcpy(w->made.code.file, w->obj, V8_TEXT);
		w->made.code.file_len = v->shift;
		w->made.code.file_width = v->raw == 2 ? 2 : 1;
		v->more = RT_V8_DONE;
		return RT_STEP_NEW;
	}
	if (!v->shift && v->other) {
		v8_text(w, v->other, 0);
		v->other = 0;
		return RT_STEP_AHEAD;
	}
	name = v8_script(w, l);
	if (RT_W_LACKS(w))
		return RT_STEP_AHEAD;
	__builtin_memcpy(w->made.code.name, w->obj, RT_CODE_NAME);
	w->made.code.name_len = v->shift < RT_CODE_NAME ? v->shift : RT_CODE_NAME;
	w->made.code.name_width = v->raw == 2 ? 2 : 1;
	v8_text(w, name, 1);
	v->more = RT_V8_FILE;
	return RT_STEP_AHEAD;
}
