// v8_rt.h: what V8's parts (v8.bpf.c, v8pos.bpf.c, v8name.bpf.c) give one another. Kernel side only.
#ifndef SONDE_RT_V8_RT_H
#define SONDE_RT_V8_RT_H
#include "bpfrt/lang_rt.h"

#define RT_V8_IS_OBJECT(word) (((word) & 3) == 1 && !((word) >> RT_UW_PC_BITS)) // else a small number, or none of V8's

u64 rt_v8_type(struct RtLangWalk *w, struct RtLang *l, u64 object); // into w->tmp[0]; 0: it is no object
#define RT_V8_SHARED 96 // bytes that are read of a SharedFunctionInfo
// v8name.bpf.c: the function at hand, into w->made.code: 0: it is none; then, as long as it says RT_STEP_AHEAD, its texts
u64 rt_v8_copy(struct RtLangWalk *w, struct RtLang *l, u64 tgid);
u64 rt_v8_copy_text(struct RtLangWalk *w, struct RtLang *l);
// v8pos.bpf.c
u64 rt_v8_table(struct RtLangWalk *w, struct RtLang *l); // the table of positions of the BytecodeArray v->table: v->more
u64 rt_v8_search(struct RtLangWalk *w);			 // a piece of it; at its end v->pos is the position of v->target, v->more RT_V8_FRAME
#endif
