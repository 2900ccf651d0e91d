// lang_rt.h: what lang.bpf.c gives the runtimes of languages (py.bpf.c), and what it calls of them. Kernel side only.
#ifndef SONDE_RT_LANG_RT_H
#define SONDE_RT_LANG_RT_H
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"

#ifndef RT_UW_TASK // utask.bpf.c has its own
#define RT_LACKS(b) false // this step lacks memory and will be made anew
#define RT_W_LACKS(w) false // the same, of struct RtLangWalk
#define RT_THREAD(w) bpf_get_current_pid_tgid() // a number of the thread that is walked
#endif

// For the walker: rtg_lang_begin() at the first frame in a runtime's object, rtg_lang_step() for each frame of a group, and rtg_lang_new() if that says so.
enum RtLangStep {
	RT_STEP_NONE,  // there is no frame, the group has ended
	RT_STEP_FRAME, // it is in b->uw.frame
	RT_STEP_NEW,   // but for the number of its code
	RT_STEP_AHEAD, // the group's end was looked for, there is no frame yet
};
u64 rtg_lang_begin(RT_GIVEN given, u64 look, u64 frame);
u64 rtg_lang_step(RT_GIVEN given);
u64 rtg_lang_new(RT_GIVEN given);

u64 rtg_py_trampoline(RT_GIVEN given); // is the frame at hand, which is in no file, one that CPython calls its eval loop by (-X perf)? The function it stands for is there already

// For the runtimes
u64 rt_lang_lost(struct RtStackBuf *b); // the chain cannot be followed: RT_STEP_NONE, the stack counts as cut
// The frame at position pos of the code at `code`, of which ident is a few of its own words.
u64 rt_lang_frame(struct RtStackBuf *b, u64 code, u64 ident, u64 pos);

// py.bpf.c
u64 rt_py_begin(struct RtStackBuf *b, struct RtLang *l); // the thread's first record; 0: it has none
u64 rt_py_again(struct RtLangWalk *w, struct RtLang *l); // pyinterp.bpf.c: at a further loop, if there are several interpreters
u64 rt_py_step(struct RtStackBuf *b, struct RtLang *l);	 // as rtg_lang_step()
u64 rt_py_copy(struct RtLangWalk *w, struct RtLang *l);	 // the code object at w->new_code, into w->made.code; 0: it is none

u64 rt_py_async(struct RtStackBuf *b, struct RtLang *l); // pyasync.bpf.c: as rt_py_step(), of tasks that wait; w->async.phase

// chain.bpf.c
u64 rt_chain_begin(struct RtStackBuf *b, struct RtLang *l);
u64 rt_chain_again(struct RtStackBuf *b); // at a further loop
u64 rtg_chain_step(RT_GIVEN given); // for the walker: as rtg_lang_step(); RT_STEP_NEW: the code has been copied, too

// java.bpf.c
enum RtJavaKind { RT_JAVA_STUB, RT_JAVA_JUMP, RT_JAVA_INTERP, RT_JAVA_CODE, RT_JAVA_THAW };
enum RtJavaMore { // frames that are still to come of a piece of code
	RT_JAVA_DONE,
	RT_JAVA_NAME,	// its own name
	RT_JAVA_ONE,	// one method
	RT_JAVA_SCOPES, // those from v->scope on
	RT_JAVA_PLACE,	// those of v->at, from number v->nr on
};
u64 rtg_java_leave(RT_GIVEN given, u64 frame); // for the walker: the frame at hand. 0: its code is in a file, or it is none of Java's. Its methods are a group that comes next
u64 rtg_java_step(RT_GIVEN given); // for the walker: as rtg_lang_step()
u64 rt_java_copy(struct RtLangWalk *w, struct RtLang *l);
static RT_INLINE bool rt_java_is_method(struct RtLangWalk *w) // and no code of the runtime's own
{
	return w->java.kind == RT_JAVA_INTERP || w->java.kind == RT_JAVA_CODE;
}
u64 rt_java_lost(struct RtStackBuf *b); // the method cannot be told: as rt_lang_lost()
// v8.bpf.c
u64 rtg_v8_leave(RT_GIVEN given, u64 frame); // for the walker: as rtg_java_leave(), of a frame in V8's own object, too: `frame`, as in struct RtStack
u64 rtg_v8_step(RT_GIVEN given); // as rtg_java_step(); RT_STEP_NEW: the code has been copied, too
// langfunc.bpf.c: of walks that end at the innermost function
void rt_lang_func_at(struct RtStackBuf *b, u64 frame); // it is that of this frame of a language
u64 rt_go_begin(struct RtStackBuf *b, struct RtLang *l, u64 look, u64 frame); // it is Go's function around `look`, whose frame is at hand

// n bytes, at most RT_LANG_OBJ, into w->obj. Not 0: they cannot be read.
static RT_INLINE u64 rt_lang_read(struct RtLangWalk *w, u64 addr, u64 n)
{
	RT_BOUND(n, RT_LANG_OBJ);
	if (!(addr >> RT_UW_PC_BITS) && !bpf_probe_read_user(w->obj, n, (void *)addr))
		return 0;
	w->unread = addr;
	return 1;
}

// Parts of w->obj. Offsets come from user space and are masked.
static RT_INLINE u64 rt_lang_word(struct RtLangWalk *w, u32 off)
{
	u64 i = off >> 3 & (RT_LANG_OBJ / 8 - 1);
	RT_BARRIER(i);
	return w->obj[i];
}

static RT_INLINE u32 rt_lang_half(struct RtLangWalk *w, u32 off)
{
	return rt_lang_word(w, off) >> (off & 4) * 8;
}

static RT_INLINE u32 rt_lang_byte(struct RtLangWalk *w, u32 off)
{
	return rt_lang_word(w, off) >> (off & 7) * 8 & 0xff;
}

// The name of the code that is being made: w->tmp[2] bytes at w->tmp[1], in characters of so many bytes (0: ASCII). 0: it cannot be read.
static RT_INLINE u64 rt_lang_copy_name(struct RtLangWalk *w, u32 width)
{
	struct RtCode *c = &w->made.code;
	u64 n = w->tmp[2];

	__builtin_memset(c->name, 0, sizeof(c->name));
	RT_BOUND(n, RT_CODE_NAME);
	c->name_len = n;
	c->name_width = width;
	return !bpf_probe_read_user(c->name, n, (void *)w->tmp[1]);
}
#endif
