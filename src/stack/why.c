// Why stacks end where they do: words for enum RtWhy, and the figures of --why-incomplete. Input: rt_uw_ends, filled by the kernel side when asked to,
// and the interned kernel stacks. Output: struct StackEnds. Invariant: every event that took a user stack is counted in exactly one of its numbers.
#include <linux/bpf.h>
#include "stack/internal.h"

static const char *const texts[RT_WHYS] = {
	[RT_WHY_OK] = "",
	[RT_WHY_NO_PROC] = "the process was not known yet",
	[RT_WHY_NO_MAPPING] = "code outside every known file, without frame pointers",
	[RT_WHY_NO_TABLE] = "unwind table not ready",
	[RT_WHY_BAD_READ] = "stack memory could not be read",
	[RT_WHY_BAD_CFA] = "frame address out of order",
	[RT_WHY_NO_RULE] = "unwind rule needs a register that is lost",
	[RT_WHY_FP_END] = "frame pointer chain broken",
	[RT_WHY_LIMIT] = "deeper than the frame limit",
	[RT_WHY_KTHREAD] = "kernel thread",
	[RT_WHY_EXITING] = "the process is exiting or in execve, its memory is gone",
	[RT_WHY_RA_ZERO] = "return address 0 in a function that starts no thread",
	[RT_WHY_FP_ZERO] = "frame pointer 0 in a function that starts no thread",
	[RT_WHY_ASKED] = "",
	[RT_WHY_URETPROBE] = "return address replaced by a uretprobe, at the moment the kernel does so",
	[RT_WHY_NO_ROOM] = "a deep stack, no memory for its outer frames",
	[RT_WHY_GUESS_FP] = "left by frame pointer, not by unwind information; callers may be missing",
	[RT_WHY_GUESS_INLINED] = "optimised code (JavaScript; LuaJIT's traces), of which is not known what was inlined there; functions may be missing (node --no-turbo-inlining and luajit -joff have none)",
	[RT_WHY_GUESS_RULE] = "left by a rule that was guessed from instructions; callers may be missing",
	[RT_WHY_RUNS] = "the thread was running",
	[RT_WHY_NEW_FILE] = "code of a file just mapped, or made at run time just now, not known yet",
	[RT_WHY_NO_PERM] = "no permission to read the file with the code",
	[RT_WHY_UNREADABLE] = "the file with the code cannot be read",
	[RT_WHY_LANG] = "frames of an interpreted program that could not be read",
	[RT_WHY_THAWED] = "a virtual thread that waited, its outer frames are in the heap",
	[RT_WHY_NO_CALL] = "code that was not called: it keeps a stack of its own",
	[RT_WHY_DAMAGED] = "the file with the code has damaged ELF headers",
	[RT_WHY_FULL] = "no room for another unwind table",
};

const char *why_text(u32 why)
{
	return why < RT_WHYS ? texts[why] : "unknown reason";
}

static bool is_guess(u32 why)
{
	return why == RT_WHY_GUESS_FP || why == RT_WHY_GUESS_RULE || why == RT_WHY_GUESS_INLINED;
}

u64 stacks_cut(const struct RtCounters *c, u64 *all, struct Str *reasons)
{
	u64 cut = 0;
	*all = 0;
	for (u32 w = 0; w < RT_WHYS; w++) {
		if (w == RT_WHY_KTHREAD || w == RT_WHY_EXITING || w == RT_WHY_RUNS) // no user stack at all
			continue;
		*all += c->why[w];
		if (!c->why[w] || !texts[w][0] || is_guess(w))
			continue;
		str_addf(reasons, "%s%s %llu", cut ? ", " : "", texts[w], (unsigned long long)c->why[w]);
		cut += c->why[w];
	}
	return cut;
}

// ---- counting
void stacks_count_ends(struct Program *prog)
{
	struct MapDef *m = program_map(prog, "rt_uw_ends");
	u32 on = 1;
	if (!m)
		return;
	m->max_entries = RT_UW_ENDS;
	link_set_const(prog, "rt_uw_count_ends", &on, sizeof(on));
}

// The entries that take what has no room; of one entry: nobody asked for the counts.
void ends_start(const struct Program *prog)
{
	const struct MapDef *m = program_map(prog, "rt_uw_ends");
	struct RtUwEndCount none = {0};
	for (u32 w = 0; m && m->max_entries > 1 && w < RT_WHYS; w++)
		sys_map_update(m->fd, &(struct RtUwEnd){.why = (u16)w}, &none, 0);
}

// ---- reading
// Where a thread or a program begins: C, C++ and Rust (libc), Go.
static bool is_root(const char *sym)
{
	static const char *const roots[] = {"_start", "__libc_start_main", "main", "clone", "__clone", "clone3", "__clone3", "start_thread", "RtlUserThreadStart", "_dl_start_user",
					    "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart", "runtime.mstart.abi0", "runtime.rt0_go",
					    "runtime.rt0_go.abi0", // where Go changes to another stack: asm_amd64.s marks these TOPFRAME
					    "runtime.mcall", "runtime.mcall.abi0", "runtime.systemstack", "runtime.systemstack.abi0",
					    "runtime.clone", "runtime.clone.abi0",
					    "fiber_entryPoint", // of D
					    "runtime.kickoff"}; // of gccgo: a goroutine
	for (u32 i = 0; sym && i < ARRAY_LEN(roots); i++)
		if (!strcmp(sym, roots[i]))
			return true;
	return false;
}

// Where the kernel enters from user space, takes an interrupt or starts a thread: x86-64, arm64, riscv64. Prefixes, as the rest of the names varies.
static bool is_kernel_root(const char *sym)
{
	static const char *const roots[] = {"entry_", "asm_", "ret_from_fork", "secondary_startup", "common_startup", "start_kernel", "start_secondary",
					    "x86_64_start", "do_SYSENTER", "el0", "el1", "__primary_switched", "__secondary_switched", "end_repeat_nmi",
					    "paranoid_entry", "error_entry", "int3", "native_iret", "handle_exception", "smp_callin", "secondary_start_common"};
	for (u32 i = 0; sym && i < ARRAY_LEN(roots); i++)
		if (!strncmp(sym, roots[i], strlen(roots[i])))
			return true;
	return false;
}

static struct Frame frame_at(struct Syms *syms, const struct RtUwEnd *k, u64 frame)
{
	u64 back = !(frame & RT_FRAME_EXACT), off = RT_FRAME_OFF(frame) - back;
	bool in_file = frame & RT_FRAME_OBJ;
	struct SymObject *o = in_file ? sym_object(syms, RT_FRAME_ID(frame)) : NULL;
	struct SymHit h = {0};
	if (RT_FRAME_IS_LANG(frame)) // the reason says it all
		return (struct Frame){.module_off = off};
	if (o)
		h = sym_object_off(syms, o, off);
	else if (frame && !in_file)
		h = stacks_raw_name(syms, k->tgid, frame, back);
	return (struct Frame){.addr = in_file ? 0 : RT_FRAME_ADDR(frame), .sym = h.name, .sym_off = h.name ? h.off + back : 0,
			      .module = h.module ? h.module : o ? o->path : in_file ? UW_UNKNOWN_FILE : NULL,
			      .module_off = in_file ? off + back : h.module_off, .module_addr = h.module_addr ? h.module_addr + back : 0};
}

static void add_row(struct StackEnds *e, struct Arena *a, const struct StackEnd *row)
{
	for (u32 i = 0; i < e->n; i++) { // another place in the same function, or in code made at run time
		struct StackEnd *r = &e->rows[i];
		if (r->pid == row->pid && !strcmp(r->reason, row->reason) && r->guess == row->guess && r->frame.module == row->frame.module &&
		    r->frame.sym == row->frame.sym && (r->frame.sym || r->frame.module_addr == row->frame.module_addr) && !strcmp(r->comm, row->comm)) {
			r->count += row->count;
			if (!r->frame.sym && r->frame.addr != row->frame.addr)
				r->frame.addr = 0; // no single one
			return;
		}
	}
	if (e->n == e->cap) {
		struct StackEnd *more = arena_new_n(a, struct StackEnd, e->cap * 2 + 64);
		if (e->n)
			memcpy(more, e->rows, e->n * sizeof(*more));
		e->rows = more;
		e->cap = e->cap * 2 + 64;
	}
	e->rows[e->n++] = *row;
}

static void add(struct StackEnds *e, struct Arena *a, const struct Program *prog, struct Syms *syms, const struct RtUwEnd *k, const struct RtUwEndCount *c)
{
	struct StackEnd row = {.count = c->count, .pid = k->tgid, .reason = why_text(k->why)};

	if (k->why == RT_WHY_KTHREAD || k->why == RT_WHY_EXITING || k->why == RT_WHY_RUNS) {
		*(k->why == RT_WHY_KTHREAD ? &e->kernel_threads : k->why == RT_WHY_EXITING ? &e->exiting : &e->running) += c->count;
		return;
	}
	e->stacks += c->count;
	if (k->why != RT_WHY_OK && k->why != RT_WHY_ASKED)
		row.frame = frame_at(syms, k, stacks_frame(prog, k->frame));
	bool root = k->why == RT_WHY_OK || k->why == RT_WHY_ASKED ||
		    ((k->why == RT_WHY_RA_ZERO || k->why == RT_WHY_FP_ZERO) && is_root(row.frame.sym));
	if (root && !k->guess) {
		e->whole += c->count;
		return;
	}
	if (root || is_guess(k->why)) {
		e->guessed += c->count;
		row.guess = true;
		row.reason = why_text(k->guess ? k->guess : k->why); // 0: of those that had no room
	}
	bool inlined = (k->guess ? k->guess : k->why) == RT_WHY_GUESS_INLINED; // says what helps
	if (!inlined && !RT_FRAME_IS_LANG(k->frame) && !(k->frame & RT_FRAME_OBJ) && k->why != RT_WHY_NEW_FILE && k->why != RT_WHY_NO_PROC && !row.frame.sym) { // code in no file of which nobody tells
		const char *hints = sym_pid_hints(syms, (int)k->tgid);
		row.reason = *hints ? arena_printf(a, "%s: %s", row.reason, hints) : row.reason;
	}
	row.comm = arena_strndup(a, c->comm, strnlen(c->comm, sizeof(c->comm)));
	add_row(e, a, &row);
}

// Kernel stacks have no counts of events: each different one counts once.
static void add_kernel(struct StackEnds *e, struct Arena *a, struct Syms *syms, const struct Program *prog)
{
	static const char *const names[] = RT_STACK_CLASS_NAMES;
	struct RtStack *st = xmalloc(sizeof(*st) + RT_STACK_MAX * sizeof(u64));

	for (u32 c = 0; c < RT_STACK_CLASSES; c++) {
		const struct MapDef *m = program_map(prog, names[c]);
		u64 id;
		for (bool first = true; m && sys_map_next_key(m->fd, first ? NULL : &id, &id) >= 0; first = false) {
			if (sys_map_lookup(m->fd, &id, st) < 0 || st->flags & RT_STACK_USER || !st->n || st->n > RT_STACK_MAX)
				continue;
			struct SymHit h = sym_kernel(syms, st->frames[st->n - 1] - (st->n > 1));
			struct StackEnd row = {.count = 1, .comm = "[kernel]"};
			row.frame = (struct Frame){.addr = st->frames[st->n - 1], .sym = h.name, .sym_off = h.off + (st->n > 1), .module = h.module, .kernel = true};
			e->kernel++;
			if ((st->why == RT_WHY_ASKED || is_kernel_root(h.name)) && !(st->flags & RT_STACK_CUT)) {
				e->kernel_whole++;
				continue;
			}
			row.reason = st->flags & RT_STACK_CUT ? "deeper than kernel.perf_event_max_stack" : "the kernel's unwinder went no further";
			add_row(e, a, &row);
		}
	}
	free(st);
}

static int by_count(const void *x, const void *y)
{
	const struct StackEnd *a = x, *b = y;
	return a->count != b->count ? (a->count < b->count ? 1 : -1) : a->pid < b->pid ? -1 : a->pid > b->pid;
}

void stacks_ends(const struct Program *prog, struct Syms *syms, struct Arena *a, struct StackEnds *out)
{
	const struct MapDef *m = program_map(prog, "rt_uw_ends");
	struct RtUwEnd key;
	struct RtUwEndCount c;

	*out = (struct StackEnds){0};
	for (u32 i = 1; i <= sym_object_count(syms); i++) // also of those that no report shows
		sym_object_tell(sym_object(syms, i));
	for (bool first = true; m && sys_map_next_key(m->fd, first ? NULL : &key, &key) >= 0; first = false)
		if (sys_map_lookup(m->fd, &key, &c) >= 0 && c.count)
			add(out, a, prog, syms, &key, &c);
	add_kernel(out, a, syms, prog);
	if (out->n)
		qsort(out->rows, out->n, sizeof(*out->rows), by_count);
}
