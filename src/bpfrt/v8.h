// v8.h: what the kernel side (v8.bpf.c, v8pos.bpf.c, v8name.bpf.c) knows of V8's structures, and its state in a walk. A part of stack.h.
#ifndef SONDE_RT_V8_H
#define SONDE_RT_V8_H

#define RT_V8_OPS 64
struct RtV8 { // offsets in V8's objects and values of its tables, which its object exports (v8dbg_*). A pointer to an object is its address + 1
	u16 map_type; // in a map: what its objects are, 16 bits
	u16 t_function, t_function_end, t_shared, t_script, t_scope, t_bytecode; // such types; strings are below t_no_string
	u16 t_no_string;
	u16 f_shared; // JSFunction
	u16 s_data, s_name, s_script, s_literal; // SharedFunctionInfo: its code, or the number of a builtin; name or ScopeInfo; number in its script
	u16 p_source, p_name, p_ends, p_id; // Script
	u16 i_locals, i_first, i_extra; // ScopeInfo: count of locals; the first; words between those and the name
	u16 b_positions, b_data, b_flags; // BytecodeArray: table of positions, first bytecode; 1: the table has flags in its differences of bytecode
	u16 str_len, str_chars; // String: length; characters of a flat one
	u16 cons_first, cons_second, thin_actual, slice_parent, slice_offset, ext_data;
	u16 str_shape, str_flat, str_cons, str_external, str_sliced, str_thin, str_latin; // of a string's type: mask, what it is; bit: a byte a character
	u16 a_data; // ByteArray and FixedArray: what is in it. Its length is at 8:
	u16 a_shift; // of the word there: 32 as of all small numbers; 0 from V8 15 on, where its low half has it
	// Code that compilers made (v8jit.bpf.c). nops 0: it is not followed
	u16 f_code; // JSFunction: its Code; 0: it has a number in a table
	u16 c_deopt, c_start, c_flags, c_size; // Code: data for leaving it, or its bytecode; first instruction; kind; bytes of instructions, behind which its table lies
	u16 c_stream; // from an InstructionStream to its instructions; its Code is at 8
	u16 kind_shift, kind_mask, kind_baseline, kind_maglev, kind_turbofan; // in c_flags
	u16 d_literals, d_id, d_shared, d_inlined, d_first, d_entry; // data for leaving: words of what is in it; words of a record of its list, of which word 1 says where it is coded
	u16 d_wrapped; // its function is in an object, there; 0: it is not
	u16 t_config, t_head, t_head_maglev; // table behind the instructions: how wide it is, before which is its length; bytes before its places
	u16 nops;   // kinds of instructions of that code; a byte from there on: so many of another place's are the next ones
	u8 ops[RT_V8_OPS]; // of each: operands (RT_V8_OP_COUNT), RT_V8_OP_*
};
#define RT_V8_OP_COUNT 7
#define RT_V8_OP_FUNC 8	  // a function's frame: bytecode, number of its SharedFunctionInfo among the literals
#define RT_V8_OP_BUILTIN 16 // the same of a builtin that calls back
#define RT_V8_OP_BEGIN 32 // of a place: how far before lies the other place, frames, frames of functions
#define RT_V8_OP_MATCH 64 // the next ones are those of the other place

enum RtV8More {
	RT_V8_DONE,
	RT_V8_CODE,  // the frame's place may be known
	RT_V8_OPEN,  // the table of positions of v->table is to be looked through for v->target
	RT_V8_TABLE, // its table of positions is looked through
	RT_V8_FRAME, // its position is v->pos
	RT_V8_NAME,  // its function is new: its name is copied
	RT_V8_FILE,  // and its script's
	RT_V8_JIT,   // code made at run time: which?
	RT_V8_SCAN,  // its beginning is looked for, from v->at backwards
	RT_V8_PLACE, // optimised code: the functions of its place, from number v->nr on, may be known
	RT_V8_OPS_LEFT, // they are decoded
	RT_V8_CHAIN, // or follow from the position of the place, v->pos
	RT_V8_INNER, // that number v->nr of v->in is the next frame
};
enum RtV8Kind { RT_V8_NONE, RT_V8_BUILTIN, RT_V8_INTERP, RT_V8_COMPILED, RT_V8_OPTIMISED };
#define RT_V8_INNERS 32 // functions at a place of optimised code, at most
struct RtV8Walk {
	u32 more, kind;
	u64 func, shared;
	u64 place; // of its code, as RtJavaSeen's
	u64 script, other; // the function's; another name of it, if it has none
	u64 nodes;
	u64 table, end; // what is still to be looked through
	// the state of the decoder, a byte after the other
	u64 acc, shift, second, code, target;
	u64 flags; // all bits, or none: of b_flags
	u64 raw, pos; // sums; the one that holds at target
	u64 own;  // of the function at hand: what tells it from others
	// code made at run time
	u64 pc;   // of a return address the one before
	u64 failed; // which leaf (pc, process) is none of V8's, or is being looked at
	u32 leaf; // pc is the thread's own, and its frame has not been left
	u32 by_pos; // the functions follow from the code's own table of positions
	u32 dense; // the process's codes are known to have them of all instructions, not of calls alone
	u32 places; // so many it has
	u32 early; // of a leaf: its function is in a register, the frame does not have it yet
	u32 jit;  // enum RtV8Kind is not known yet: the code's kind, as V8 numbers them
	u64 jitcode, start, deopt, literals; // Code, its first instruction, its data
	u32 bytes; // of instructions
	u32 exits, nexits; // where ways out of it begin, and how many
	u32 scans;
	u64 at;
	u64 outer; // the function that was compiled
	u32 ninner, nr; // functions of the place, 0: not decoded; number of the next frame
	u32 unsure;	// which functions are there is not known
	u32 rem, left, ops; // instructions to come from q; frames to come; instructions so far
	u64 p, q, len;	// the place's instructions, those of the other place; bytes of the one at hand
	u64 op[8];	// its operands
	u64 in[RT_V8_INNERS]; // literal << 32 | bytecode, the outermost first; RT_V8_IN_BUILTIN. by_pos: (literal + 1, 0: outer) << 32 | position, the innermost first
};
#define RT_V8_IN_BUILTIN (1ULL << 63)
#endif
