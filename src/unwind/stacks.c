// Interned stacks read back: id -> frames -> names. Input: the rt_stacks_* maps that bpfrt/stack.bpf.c fills. Output: struct Value of kind
// V_STACK, leaf first. Invariant: every frame is shown, resolved or not.
#include <linux/bpf.h>
#include "unwind/internal.h"

static const u32 class_frames[RT_STACK_CLASSES] = RT_STACK_CLASS_FRAMES;
static const char *const class_names[RT_STACK_CLASSES] = RT_STACK_CLASS_NAMES;

struct CacheEntry { // a frame's names: frames [first, first + n) of StackReader.frames
	u64 frame;
	u32 pid, first;
	u16 n;
	u8 flags; // CE_*
};
enum { CE_USED = 1, CE_EXACT = 2, CE_USER = 4, CE_SIGNAL = 8 };

struct StackReader {
	struct Program *prog;
	struct Syms *syms;
	int fd[RT_STACK_CLASSES]; // borrowed
	struct RtStack *buf;	  // one stack of the largest class
	struct CacheEntry *cache;
	u32 ncache, cap;
	VEC(struct Frame) frames;
	struct IdSet *old; // stacks no map referred to at the last stacks_clear
};

// Without BPF_F_NO_PREALLOC (perf_event programs before 6.1) all memory is taken at once: then there is room for fewer stacks.
static const u32 prealloc_entries[RT_STACK_CLASSES] = {16384, 32768, 8192, 1024, 256};

void stacks_setup(struct Program *prog)
{
	struct Str text = {0};
	u64 max = 127;
	u32 yes = 1;

	for (u32 c = 0; c < RT_STACK_CLASSES; c++) {
		struct MapDef *m = program_map(prog, class_names[c]);
		if (!m || feature_has(FEAT_NO_PREALLOC))
			continue;
		m->flags &= ~(u32)BPF_F_NO_PREALLOC;
		m->max_entries = prealloc_entries[c];
	}
	if (feature_has(FEAT_TASK_PT_REGS)) // newer than what is needed
		link_set_const(prog, "rt_task_stack", &yes, sizeof(yes));
	struct err *e = read_file("/proc/sys/kernel/perf_event_max_stack", &text, 64);
	if (!e && text.n) {
		max = strtoull(text.p, NULL, 10);
		u32 v = MIN(max, RT_KSTACK_MAX);
		link_set_const(prog, "rt_kstack_max", &v, sizeof(v));
	}
	err_free(e);
	str_deinit(&text);
}

struct StackReader *stacks_create(struct Program *prog, struct Syms *syms)
{
	struct StackReader *r = xcalloc(1, sizeof(*r));
	r->prog = prog;
	r->syms = syms;
	for (u32 c = 0; c < RT_STACK_CLASSES; c++) {
		struct MapDef *m = program_map(prog, class_names[c]);
		r->fd[c] = m ? m->fd : -1;
	}
	return r;
}

void stacks_destroy(struct StackReader *r)
{
	if (!r)
		return;
	free(r->buf);
	free(r->cache);
	vec_deinit(&r->frames);
	idset_destroy(r->old);
	free(r);
}

// A stack is in the class of its size, or in a larger one when that was full.
static const struct RtStack *lookup(struct StackReader *r, u64 id)
{
	u32 n = RT_STACK_NFRAMES(id);

	if (!n || n > RT_STACK_MAX)
		return NULL;
	if (!r->buf)
		r->buf = xmalloc(sizeof(struct RtStack) + RT_STACK_MAX * sizeof(u64));
	for (u32 c = 0; c < RT_STACK_CLASSES; c++) {
		if (class_frames[c] < n || r->fd[c] < 0 || sys_map_lookup(r->fd[c], &id, r->buf) < 0)
			continue;
		return r->buf->n == n ? r->buf : NULL;
	}
	return NULL;
}

const u64 *stacks_raw(struct StackReader *r, u64 id, bool user, u32 *n, u32 *pid, u32 *flags, u32 *why)
{
	const struct RtStack *st = lookup(r, id);
	if (!st || user != !!(st->flags & RT_STACK_USER))
		return NULL;
	*n = st->n;
	*pid = st->pid;
	*flags = st->flags;
	*why = st->why;
	return st->frames;
}

// ---- symbols
static struct Frame frame_of(const struct SymHit *h, u64 addr, u64 back)
{
	return (struct Frame){
		.addr = addr,
		.sym = h->name,
		.sym_off = h->name ? h->off + back : 0,
		.module = h->module,
		.module_off = h->module_off ? h->module_off + back : 0,
		.file = h->file,
		.line = h->line,
	};
}

// back: 1 for a return address. The call is the instruction before it, which may be its function's last; the offset shown stays that of the
// return address, as bpftrace prints it.
static void resolve_kernel(struct StackReader *r, u64 addr, u64 back)
{
	struct SymHit h = sym_kernel(r->syms, addr - back);
	struct Frame f = frame_of(&h, addr, back);
	f.kernel = true;
	vec_push(&r->frames, f);
}

#define MAX_INLINED 32
static void resolve_user(struct StackReader *r, u64 frame, u32 pid, u64 back)
{
	struct SymHit hits[MAX_INLINED];
	u32 n = 1;

	if (frame & RT_FRAME_OBJ) {
		struct SymObject *o = sym_object(r->syms, RT_FRAME_ID(frame));
		hits[0] = (struct SymHit){.module_off = RT_FRAME_OFF(frame) - back};
		if (o) {
			n = sym_object_off_inlined(r->syms, o, RT_FRAME_OFF(frame) - back, hits, MAX_INLINED);
			if (!hits[0].module)
				hits[0].module = o->path;
		}
	} else {
		hits[0] = sym_pid_addr(r->syms, pid, frame - back);
	}
	for (u32 i = 0; i < n; i++) {
		struct Frame f = frame_of(&hits[i], frame & RT_FRAME_OBJ ? 0 : frame, back);
		f.inlined = i + 1 < n;
		vec_push(&r->frames, f);
	}
}

static u64 cache_hash(u64 frame, u32 pid, u32 flags)
{
	u64 h = (frame ^ (u64)pid << 40 ^ flags) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static void cache_grow(struct StackReader *r)
{
	u32 cap = r->cap ? r->cap * 2 : 1024;
	struct CacheEntry *next = xcalloc(cap, sizeof(*next));
	for (u32 i = 0; i < r->cap; i++) {
		struct CacheEntry *e = &r->cache[i];
		if (!e->flags)
			continue;
		u64 at = cache_hash(e->frame, e->pid, e->flags & (CE_EXACT | CE_USER)) & (cap - 1);
		while (next[at].flags)
			at = (at + 1) & (cap - 1);
		next[at] = *e;
	}
	free(r->cache);
	r->cache = next;
	r->cap = cap;
}

// Signal trampolines: the frame after one was interrupted, its address is no return address.
static bool is_signal_return(const char *sym)
{
	return sym && (!strcmp(sym, "__restore_rt") || !strcmp(sym, "__kernel_rt_sigreturn") || !strcmp(sym, "__restore"));
}

static const struct CacheEntry *resolve(struct StackReader *r, u64 frame, u32 pid, bool user, bool exact)
{
	u32 flags = (exact ? CE_EXACT : 0) | (user ? CE_USER : 0);
	if (!user || frame & RT_FRAME_OBJ)
		pid = 0;
	if (r->ncache * 2 >= r->cap)
		cache_grow(r);
	u64 at = cache_hash(frame, pid, flags) & (r->cap - 1);
	for (; r->cache[at].flags; at = (at + 1) & (r->cap - 1)) {
		const struct CacheEntry *e = &r->cache[at];
		if (e->frame == frame && e->pid == pid && (e->flags & (CE_EXACT | CE_USER)) == flags)
			return e;
	}
	u32 first = r->frames.n;
	if (user)
		resolve_user(r, frame, pid, !exact);
	else
		resolve_kernel(r, frame, !exact);
	if (is_signal_return(r->frames.p[first].sym))
		flags |= CE_SIGNAL;
	// an address of a living process may get a name later (perf map, dlopen): not remembered
	r->cache[at] = (struct CacheEntry){frame, pid, first, r->frames.n - first, flags | CE_USED};
	r->ncache++;
	return &r->cache[at];
}

bool stacks_read(struct StackReader *r, struct Arena *a, u64 id, bool user, u32 limit, struct Value *out)
{
	u32 n, pid, flags, why, total = 0;
	const u64 *raw = stacks_raw(r, id, user, &n, &pid, &flags, &why);
	bool exact = true;

	if (!raw)
		return false;
	if (limit && n > limit)
		n = limit;
	u32 first[RT_STACK_MAX];
	u16 count[RT_STACK_MAX];
	for (u32 i = 0; i < n; i++) {
		const struct CacheEntry *e = resolve(r, raw[i], pid, user, exact);
		first[i] = e->first;
		count[i] = e->n;
		total += e->n;
		exact = e->flags & CE_SIGNAL;
	}
	*out = (struct Value){.kind = V_STACK, .nframes = total, .frames = arena_new_n(a, struct Frame, total ? total : 1)};
	for (u32 i = 0, at = 0; i < n; at += count[i++])
		memcpy(out->frames + at, r->frames.p + first[i], count[i] * sizeof(struct Frame));
	out->truncated = flags & (RT_STACK_INCOMPLETE | RT_STACK_CUT);
	out->why = flags & RT_STACK_INCOMPLETE ? why_text(why) : flags & RT_STACK_CUT ? why_text(RT_WHY_LIMIT) : NULL;
	return true;
}

void stacks_clear(struct StackReader *r)
{
	stacks_sweep(r->prog, r->fd, RT_STACK_CLASSES, &r->old);
}
