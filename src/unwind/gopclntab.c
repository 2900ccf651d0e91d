// Rows of Go's code. In: the table of functions that every Go program carries (elf/gopclntab.c; docs/go.md), and the instructions of the few functions that
// change stacks. Out: rows for all of Go's text. Invariant: where the table does not tell where the frame ends, a row says so or ends the stack as a root.
// Source: what Go's runtime does in its own tracebacks; the names of the functions that are no ordinary ones are those of Go 1.16 to 1.26.
#include <elf.h>
#include "elf/elf.h"
#include "unwind/internal.h"

#define MAX_CODE (64u << 10) // bytes of a function that is read
#define MAX_SP 0x7fff0000    // of a frame
#define MAX_ROWS (4u << 20)  // Go's compiler has 110,000

struct GoRows {
	const struct ElfCfi *elf;
	const struct GoTab *tab;
	FlowRows *out;
	struct RtUwRule go; // kind RT_UW_GO: what runtime.systemstack tells of the runtime's records; RT_UW_NONE: not understood
};
enum { RAX, RDX = 2, RBX }; // numbers in instructions, beside those of internal.h
enum GoKind {
	GO_PLAIN,
	GO_ROOT,    // nothing called it, or what did is on another stack
	GO_SWITCH,  // ... once it has changed the stack pointer
	GO_CLONE,   // ... in the child, which is what stands behind the parent's return
	GO_SYSTEM,  // calls a function on the thread's own stack
	GO_GROW,    // ... that copies the goroutine's stack to a larger one and never returns: where its caller goes on the goroutine's record says
	GO_C_CALL,  // ... calls C there
	GO_C_BACK,  // C has called Go, which goes on on the goroutine's stack
	GO_FAKE,    // nobody calls it: its first address stands for a place in a function that left the goroutine's stack
	GO_FROM_C,  // C or the kernel calls it: it saves the registers that C wants kept
	GO_INJECTED, // the kernel's signal made it look called: its caller was interrupted
};
static const struct {
	const char *name;
	enum GoKind kind;
} kinds[] = {
	{"runtime.goexit", GO_ROOT}, {"runtime.mstart", GO_ROOT}, {"runtime.rt0_go", GO_ROOT}, {"runtime.mcall", GO_SWITCH},
	{"_rt0_amd64_linux", GO_ROOT}, {"_rt0_amd64", GO_ROOT}, // the kernel begins there: argc lies where a return address would
	{"runtime.systemstack", GO_SYSTEM}, {"runtime.morestack", GO_GROW}, {"runtime.gogo", GO_SWITCH}, {"gogo", GO_SWITCH},
	{"runtime.clone", GO_CLONE}, {"runtime.asmcgocall", GO_C_CALL}, {"runtime.cgocallback", GO_C_BACK}, {"runtime.systemstack_switch", GO_FAKE},
	{"crosscall2", GO_FROM_C}, {"runtime.sigtramp", GO_FROM_C}, {"runtime.cgoSigtramp", GO_FROM_C}, {"runtime.asyncPreempt", GO_INJECTED},
	{"runtime.sigpanic", GO_INJECTED}, {"runtime.sigpanic0", GO_INJECTED},
};

static enum GoKind kind_of(const struct GoFunc *f)
{
	bool may = !strncmp(f->name, "runtime.", 8) || strchr("_cg", f->name[0]); // most functions have other names: a tenth of a table's time
	for (u32 i = 0; may && i < ARRAY_LEN(kinds); i++)
		if (!strcmp(f->name, kinds[i].name))
			return kinds[i].kind;
	return f->flag & GO_F_TOP ? GO_ROOT : GO_PLAIN;
}

static void add(struct GoRows *g, u64 pc, const struct RtUwRule *r)
{
	struct FlowRow row = {pc, *r};
	if (g->out->n && vec_last(g->out).pc > pc) // a damaged table
		return;
	if (g->out->n && vec_last(g->out).pc == pc) // nothing lies between
		g->out->n--;
	vec_push(g->out, row);
}

// The frame is sp bytes, below the return address. Compiled functions with a frame keep the caller's rbp next to that.
static struct RtUwRule frame_rule(s32 sp, bool saves_rbp)
{
	if (sp < 0 || sp > MAX_SP)
		return (struct RtUwRule){.kind = RT_UW_BAD};
	struct RtUwRule r = {.kind = RT_UW_REG, .reg = RT_R_SP, .off = sp + 8, .ra = -8};
	if (sp >= 8 && saves_rbp) {
		r.saved = 1;
		r.slot[0] = -16;
	}
	return r;
}

static void one_row(struct GoRows *g, u64 pc, enum RtUwKind kind)
{
	add(g, pc, &(struct RtUwRule){.kind = kind});
}

struct Code {
	u8 *p;
	u64 n, entry;
};

static bool read_code(const struct GoRows *g, const struct GoFunc *f, struct Code *c)
{
	*c = (struct Code){.n = f->end - f->entry, .entry = f->entry};
	if (c->n > MAX_CODE)
		return false;
	c->p = xmalloc(c->n + 1);
	for (size_t i = 0; i < g->elf->segs.n; i++)
		if (elfcfi_code(g->elf, &g->elf->segs.p[i], f->entry, c->p, c->n))
			return true;
	free(c->p);
	return false;
}

// ---- functions whose frames the table tells
// The return address is in the register that the instruction before popped it into: vfork(2)'s parent and child share the stack (syscall.rawVforkSyscall).
static bool popped_rule(const struct GoRows *g, const struct GoFunc *f, u64 from, struct RtUwRule *r)
{
	u8 code[2];
	bool have = false;
	for (size_t i = 0; i < g->elf->segs.n && from >= f->entry + 2 && from <= f->end && !have; i++)
		have = elfcfi_code(g->elf, &g->elf->segs.p[i], from - 2, code, sizeof(code));
	if (!have)
		return false;
	u32 pop = code[0] << 8 | code[1];
	if (pop < 0x415c || pop > 0x415f) // r12 to r15, which neither the kernel nor a function called loses
		return false;
	*r = (struct RtUwRule){.kind = RT_UW_REG, .reg = RT_R_SP, .off = 0, .ra_kind = RT_UW_RA_REG, .ra = (s16)(12 + pop - 0x415c)};
	return true;
}

static void plain_rows(struct GoRows *g, const struct GoFunc *f, enum GoKind kind)
{
	struct GoSteps s;
	if (kind == GO_FAKE) // as a return address it is looked up at the byte before
		add(g, f->entry - 1, &(struct RtUwRule){.kind = RT_UW_REG, .reg = RT_R_SP, .off = 8, .ra = -8});
	for (gosteps_init(&s, g->tab, f, f->pcsp); gosteps_next(&s);) {
		struct RtUwRule r = frame_rule(s.value, true);
		if (s.value == -8)
			popped_rule(g, f, s.from, &r);
		if (kind == GO_INJECTED && r.kind == RT_UW_REG)
			r.ra_kind = RT_UW_RA_EXACT;
		add(g, s.from, &r);
	}
	if (s.to < f->end)
		add(g, MAX(s.to, f->entry), &(struct RtUwRule){.kind = RT_UW_NONE});
}

// ---- functions that set the stack pointer themselves: their instructions, in the order of addresses
// A walk over a function's instructions, with the line of its table that holds at each.
struct CodeWalk {
	struct Code c;
	struct GoSteps t;
	bool known;
	u64 at;
	struct Insn in; // at `at`
};

static bool walk_begin(struct CodeWalk *w, struct GoRows *g, const struct GoFunc *f)
{
	*w = (struct CodeWalk){0};
	if (!read_code(g, f, &w->c)) {
		one_row(g, f->entry, RT_UW_BAD);
		return false;
	}
	gosteps_init(&w->t, g->tab, f, f->pcsp);
	w->known = gosteps_next(&w->t);
	return true;
}

static bool walk_next(struct CodeWalk *w)
{
	w->at += w->in.len;
	if (w->at >= w->c.n)
		return false;
	while (w->known && w->t.to <= w->c.entry + w->at)
		w->known = gosteps_next(&w->t);
	return w->known && insn_decode(PT_X86_64, w->c.p + w->at, w->c.n - w->at, w->c.entry + w->at, &w->in);
}

static void walk_end(struct CodeWalk *w, struct GoRows *g, const struct GoFunc *f)
{
	if (w->t.to < f->end)
		one_row(g, MAX(w->t.to, f->entry), RT_UW_NONE);
	free(w->c.p);
}

static bool is_mov(const struct Insn *in)
{
	return in->wide && (in->op == 0x89 || in->op == 0x8b);
}
// The register a mov between registers writes and the one it reads; for a load the one it writes.
static u32 mov_to(const struct Insn *in)
{
	return in->op == 0x8b ? in->reg : in->mod == 3 ? in->rm : NO_REG;
}
static u32 mov_from(const struct Insn *in)
{
	return in->mod != 3 ? NO_REG : in->op == 0x8b ? in->rm : in->reg;
}

struct Switch { // before an instruction
	bool away;   // the stack pointer is on another stack, or aligned
	u32 copy;    // register that C keeps and that holds the stack pointer as it was, NO_REG none
	s32 copy_sp; // what the table said there
	s32 old_sp;  // GO_C_CALL: what the table said where rdx got the stack pointer
	s32 saved;   // ... where on the new stack that is kept; FLOW_UNKNOWN
	s32 g, depth; // ... or the goroutine, and how far below the top of its stack
	bool child;  // GO_CLONE
	struct Insn before[2];
};

// mov %rdi,G(%rsp); mov 8(%rdi),%rdi; sub %rdx,%rdi; mov %rdi,DEPTH(%rsp): the stack may move, so how deep it is is kept, not where
static void c_call_saves(struct Switch *s, const struct Insn *in)
{
	const struct Insn *a = &s->before[1], *b = &s->before[0];
	if (!s->away || in->op != 0x89 || in->mod == 3 || in->base != RSP)
		return;
	if (in->reg == RDX)
		s->saved = in->disp;
	else if (b->op == 0x29 && b->mod == 3 && b->reg == RDX && b->rm == in->reg && a->op == 0x8b && a->reg == in->reg && a->disp == 8)
		s->depth = in->disp;
	else if (s->depth == FLOW_UNKNOWN)
		s->g = in->disp;
}

static void step(struct Switch *s, const struct Insn *in, enum GoKind kind, s32 sp)
{
	bool is_ret = in->op == 0xc3, jumps = in->op == 0xe9 || in->op == 0xeb || (in->op == 0xff && (in->reg & 7) == 4);
	if (kind == GO_C_CALL)
		c_call_saves(s, in);
	if (is_mov(in) && mov_from(in) == RSP && mov_to(in) == RDX)
		s->old_sp = sp;
	if (is_mov(in) && mov_to(in) == RSP) {
		s->away = !s->away;
	} else if (in->op == 0x83 && in->mod == 3 && in->rm == RSP && (in->reg & 7) == 4) { // and: aligned
		s->away = true;
	} else if (is_mov(in) && mov_from(in) == RSP && flow_slot(mov_to(in)) > 0 && !s->away) {
		s->copy = mov_to(in);
		s->copy_sp = sp;
	} else if (is_mov(in) && s->copy != NO_REG && mov_to(in) == s->copy) {
		s->copy = NO_REG;
	} else if (is_ret || jumps) { // what follows is reached from elsewhere
		s->away = false;
		s->child |= is_ret;
		s->saved = s->g = s->depth = FLOW_UNKNOWN;
	}
	if (!s->away)
		s->saved = s->g = s->depth = FLOW_UNKNOWN;
	s->before[1] = s->before[0];
	s->before[0] = *in;
}

static struct RtUwRule switch_rule(const struct Switch *s, enum GoKind kind, s32 sp, const struct RtUwRule *go)
{
	static const u8 dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}; // numbers in instructions -> DWARF's
	struct RtUwRule r = frame_rule(sp, false);
	if (kind == GO_CLONE && s->child) {
		r = (struct RtUwRule){.kind = RT_UW_END};
	} else if (s->copy != NO_REG) {
		r = frame_rule(s->copy_sp, false);
		r.reg = dwarf[s->copy];
		r.sp_kind = RT_UW_SP_OTHER;
	} else if (s->away && s->saved != FLOW_UNKNOWN) {
		r = (struct RtUwRule){.kind = RT_UW_DEREF, .reg = RT_R_SP, .off = s->saved, .off2 = s->old_sp + 8, .ra = -8, .sp_kind = RT_UW_SP_OTHER};
	} else if (s->away && s->depth != FLOW_UNKNOWN && s->g != FLOW_UNKNOWN) {
		r = (struct RtUwRule){.kind = RT_UW_DEPTH, .reg = RT_R_SP, .off = s->g, .off2 = s->old_sp + 8, .ra = -8, .sp_kind = RT_UW_SP_OTHER};
		r.slot[0] = (s16)s->depth;
	} else if (s->away && (kind == GO_SYSTEM || kind == GO_GROW || kind == GO_C_BACK) && go->kind) {
		r = *go;
		r.off2 = kind == GO_GROW ? 0 : sp + 8;
		if (kind == GO_C_BACK)
			r.slot[RT_UW_GO_CURG] = 0;
		if (kind == GO_GROW) { // struct gobuf: the stack pointer, then the place
			r.ra_kind = RT_UW_RA_GO;
			r.ra = 8;
		}
	} else if (s->away) {
		r = (struct RtUwRule){.kind = kind == GO_SWITCH ? RT_UW_END : RT_UW_BAD};
	}
	return r;
}

// The child of clone, what follows a switch and what is in the middle of one get rules of their own, all else the table's.
static void switch_rows(struct GoRows *g, const struct GoFunc *f, enum GoKind kind)
{
	struct Switch s = {.copy = NO_REG, .saved = FLOW_UNKNOWN, .g = FLOW_UNKNOWN, .depth = FLOW_UNKNOWN};
	struct RtUwRule last = {0};
	struct CodeWalk w;
	if (!walk_begin(&w, g, f))
		return;
	while (walk_next(&w)) {
		struct RtUwRule r = switch_rule(&s, kind, w.t.value, &g->go);
		if (memcmp(&r, &last, sizeof(r)))
			add(g, w.c.entry + w.at, &r);
		last = r;
		step(&s, &w.in, kind, w.t.value);
	}
	walk_end(&w, g, f);
}

// ---- C and Go
// At its first instructions it stores what C's callers want kept: mov %reg,OFF(%rsp).
static void from_c_rows(struct GoRows *g, const struct GoFunc *f)
{
	struct RtUwRule saves = {0};
	struct CodeWalk w;
	bool calls = false;
	if (!walk_begin(&w, g, f))
		return;
	while (walk_next(&w)) {
		const struct Insn *in = &w.in;
		struct RtUwRule r = frame_rule(w.t.value, false);
		r.saved = w.t.value > 0 ? saves.saved : 0;
		memcpy(r.slot, saves.slot, sizeof(r.slot));
		add(g, w.c.entry + w.at, &r);
		int slot = flow_slot(in->reg);
		calls |= in->op == 0xe8 || (in->op == 0xff && (in->reg & 7) == 2);
		if (!calls && in->op == 0x89 && in->wide && in->mod != 3 && in->base == RSP && slot >= 0) {
			saves.saved |= (u8)(1u << slot);
			saves.slot[slot] = (s16)(in->disp - w.t.value - 8);
		}
	}
	walk_end(&w, g, f);
}

// mov $15,%rax (or %eax); syscall: rt_sigreturn. The return address is its first instruction, and is looked up at the byte before.
static bool signal_return_rows(struct GoRows *g, const struct GoFunc *f)
{
	static const u8 wide[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}, narrow[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
	struct Code c;
	if (f->end - f->entry > 64 || !(f->flag & GO_F_ASM || g->tab->form == GO_1_16) || strncmp(f->name, "runtime.sigreturn", 17) || !read_code(g, f, &c))
		return false;
	bool is = (c.n >= sizeof(wide) && !memcmp(c.p, wide, sizeof(wide))) || (c.n >= sizeof(narrow) && !memcmp(c.p, narrow, sizeof(narrow)));
	free(c.p);
	if (is) // struct ucontext begins at the stack pointer
		add(g, f->entry - 1, &(struct RtUwRule){.kind = RT_UW_SIG, .reg = RT_R_SP, .off = 160});
	return is;
}

static void function_rows(struct GoRows *g, const struct GoFunc *f)
{
	enum GoKind kind = kind_of(f);
	if (kind == GO_ROOT)
		one_row(g, f->entry, RT_UW_END);
	else if (kind == GO_FROM_C)
		from_c_rows(g, f);
	else if (f->flag & GO_F_SPWRITE || (kind != GO_PLAIN && kind != GO_FAKE && kind != GO_INJECTED))
		switch_rows(g, f, kind);
	else if (!signal_return_rows(g, f))
		plain_rows(g, f, kind);
}

// An address, as the walker adds it to what a place in the function is mapped at, less its offset in the file.
static bool go_loaded(const struct GoRows *g, const struct GoFunc *f, u64 vaddr, s32 *at)
{
	u64 off, to;
	if (!elffile_vaddr_to_off(&g->elf->file, f->entry, &off))
		return false;
	to = vaddr - (f->entry - off);
	*at = (s32)to;
	return to <= INT32_MAX;
}

// What runtime.systemstack says of the runtime's records, at its begin:
//	mov %fs:G,%rax (or mov $G,%rcx; mov %fs:(%rcx),%rax)	g, the goroutine that runs; in a library mov AT(%rip),%rcx, where the loader puts G
//	mov M(%rax),%rbx					its thread's record
//	cmp GSIGNAL(%rbx),%rax; ... mov G0(%rbx),%rdx; ... cmp CURG(%rbx),%rax
//	mov SP(%rdx),%rbx; mov %rbx,%rsp			the thread's own stack (or mov SP(%rdx),%rsp)
static void learn(struct GoRows *g, const struct GoFunc *f)
{
	struct RtUwRule r = {.kind = RT_UW_GO, .reg = RT_R_SP, .ra = -8, .sp_kind = RT_UW_SP_OTHER};
	struct Insn in, last = {0};
	u32 seen = 0, cmps = 0;
	struct Code c;
	if (!read_code(g, f, &c))
		return;
	for (u64 at = 0; at < c.n && insn_decode(PT_X86_64, c.p + at, c.n - at, c.entry + at, &in); last = in, at += in.len) {
		const u8 *p = c.p + at;
		bool ends = is_mov(&in) && mov_to(&in) == RSP;
		if (!(seen & 1) && *p == 0x64 && in.op == 0x8b) { // the address of g is the instruction's last 4 bytes, or the last 4 of the one before, or where that reads it
			bool by_register = in.len < 8;
			r.slot[RT_UW_GO_LOADED] = by_register && last.op == 0x8b && last.target;
			if (r.slot[RT_UW_GO_LOADED] ? !go_loaded(g, f, last.target, &r.off) : by_register && last.op != 0xc7)
				continue;
			if (!r.slot[RT_UW_GO_LOADED])
				memcpy(&r.off, by_register ? p - 4 : p + in.len - 4, 4);
			seen |= 1;
		} else if (seen & 1 && in.op == 0x8b && in.mod != 3 && in.base == RAX && in.reg == RBX) {
			r.slot[RT_UW_GO_M] = (s16)in.disp, seen |= 2;
		} else if ((in.op == 0x39 || in.op == 0x3b) && in.mod != 3 && in.base == RBX && in.reg == RAX && cmps++) {
			r.slot[RT_UW_GO_CURG] = (s16)in.disp, seen |= 4;
		} else if (in.op == 0x8b && in.mod != 3 && in.base == RBX && in.reg == RDX) {
			r.slot[RT_UW_GO_G0] = (s16)in.disp, seen |= 8;
		} else if (in.op == 0x8b && in.mod != 3 && in.base == RDX && in.disp > 0) {
			r.slot[RT_UW_GO_SP] = (s16)in.disp, seen |= 16;
		}
		if (ends)
			break;
	}
	if (seen == 31)
		g->go = r;
	free(c.p);
}

bool go_rows(const struct ElfCfi *e, FlowRows *out)
{
	struct ElfFile f = e->file;
	struct GoTab tab;
	struct GoFunc fn;
	u64 end = 0;
	if (e->machine != EM_X86_64 || !gotab_open(&f, &tab))
		return false;
	struct GoRows g = {.elf = e, .tab = &tab, .out = out};
	for (u32 i = 0; i < tab.nfuncs && !g.go.kind; i++)
		if (gotab_func(&tab, i, &fn) && kind_of(&fn) == GO_SYSTEM)
			learn(&g, &fn);
	for (u32 i = 0; i < tab.nfuncs && out->n < MAX_ROWS; i++) {
		if (!gotab_func(&tab, i, &fn) || fn.entry < end) // damaged: rows ascend
			continue;
		if (end && fn.entry > end)
			one_row(&g, end, RT_UW_NONE);
		function_rows(&g, &fn);
		end = fn.end;
	}
	if (end)
		one_row(&g, end, RT_UW_NONE);
	gotab_close(&tab);
	return end;
}
