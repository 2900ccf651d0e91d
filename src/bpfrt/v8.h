// v8.h: what the kernel side (v8.bpf.c, v8pos.bpf.c, v8name.bpf.c) knows of V8's structures, and its state in a walk. A part of stack.h.
#ifndef SONDE_RT_V8_H
#define SONDE_RT_V8_H

struct RtV8 { // offsets in V8's objects and values of its tables, which its object exports (v8dbg_*). A pointer to an object is its address + 1
	u16 map_type; // in a map: what its objects are, 16 bits
	u16 t_function, t_function_end, t_shared, t_script, t_scope, t_bytecode; // such types; strings are below t_no_string
	u16 t_no_string;
	u16 f_shared; // JSFunction
	u16 s_data, s_name, s_script, s_literal; // SharedFunctionInfo: its code, or the number of a builtin; name or ScopeInfo; number in its script
	u16 p_source, p_name, p_ends, p_id; // Script
	u16 i_locals, i_first, i_extra; // ScopeInfo: count of locals; the first; words between those and the name
	u16 b_positions, b_data; // BytecodeArray: table of positions, first bytecode
	u16 str_len, str_chars; // String: length; characters of a flat one
	u16 cons_first, cons_second, thin_actual, slice_parent, slice_offset, ext_data;
	u16 str_shape, str_flat, str_cons, str_external, str_sliced, str_thin, str_latin; // of a string's type: mask, what it is; bit: a byte a character
	u16 a_data; // ByteArray: its bytes. Its length is at 8
};

enum RtV8More {
	RT_V8_DONE,
	RT_V8_CODE,  // the frame's place may be known
	RT_V8_TABLE, // its table of positions is looked through
	RT_V8_FRAME, // its position is v->pos
	RT_V8_NAME,  // its function is new: its name is copied
	RT_V8_FILE,  // and its script's
};
enum RtV8Kind { RT_V8_NONE, RT_V8_BUILTIN, RT_V8_INTERP, RT_V8_COMPILED };
struct RtV8Walk {
	u32 more, kind;
	u64 func, shared;
	u64 place; // of its code, as RtJavaSeen's
	u64 script, other; // the function's; another name of it, if it has none
	u64 nodes;
	u64 table, end; // what is still to be looked through
	// the state of the decoder, a byte after the other
	u64 acc, shift, second, code, target;
	u64 raw, pos; // sums; the one that holds at target
};
#endif
