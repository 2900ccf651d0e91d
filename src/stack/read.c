// Interned stacks read back: id -> frames -> names. Input: the rt_stacks_* maps that bpfrt/stack.bpf.c fills. Output: struct Value of kind
// V_STACK, leaf first. Invariant: every frame is shown, resolved or not.
#include <linux/bpf.h>
#include "runtime/runtime.h"
#include "stack/internal.h"

static const u32 class_frames[RT_STACK_CLASSES] = RT_STACK_CLASS_FRAMES;
static const char *const class_names[RT_STACK_CLASSES] = RT_STACK_CLASS_NAMES;

struct CacheEntry { // a frame's names: frames [first, first + n) of StackReader.frames
	u64 frame;
	u32 pid, first;
	u16 n;
	u8 flags; // CE_*
	u32 asked; // of an address of a process: in which RAW_NS; 0: it stays as it is
};
enum { // the first three are part of what is asked for
	CE_USER = 1,
	CE_EXACT = 2,	   // no return address
	CE_TRAMPOLINE = 4, // the next frame was interrupted by a signal
	CE_ASKED = 7,
	CE_USED = 8,
	CE_ENTRY = 16, // of the kernel: the next frame was interrupted
};

#define RAW_NS 100000000u // so long an address of a process has the name that it had: later others may be told (perf map, dlopen), or the process is another one
#define UNNAMED_MAX 32
struct StackReader {
	struct Program *prog;
	struct Syms *syms;
	int fd[RT_STACK_CLASSES]; // borrowed
	struct RtStack *buf;	  // one entry of the largest class
	VEC(u64) deep;		  // frames of a stack of several entries
	struct CacheEntry *cache;
	u32 ncache, cap;
	VEC(struct Frame) frames;
	struct Images *images;
	struct Codes *codes; // borrowed; NULL: none
	void (*tell)(void *arg, u32 obj, u64 off); // stacks_tell_frames()
	void *tell_arg;
	struct Arena texts; // of language frames
	u64 nameless;
	u32 unnamed[UNNAMED_MAX], nunnamed; // processes
	u32 pieces; // the last process that was none of them (sym_pid_pieces)
	bool sharing;
	struct Shared *shared; // stacks_share(): open addressing, cap_shared a power of two
	u32 nshared, cap_shared;
};

struct Shared { // a stack that was read
	u64 id; // 0: free
	u32 limit;
	bool user;
	struct Value val;
};

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

u32 stacks_unnamed(const struct StackReader *r, u32 *pid)
{
	*pid = r && r->nunnamed ? r->unnamed[0] : 0;
	return r ? r->nunnamed : 0;
}

static void note_unnamed(struct StackReader *r, u32 pid)
{
	for (u32 i = 0; i < r->nunnamed; i++)
		if (r->unnamed[i] == pid)
			return;
	if (pid == r->pieces || sym_pid_pieces(r->syms, (int)pid))
		r->pieces = pid;
	else if (r->nunnamed < UNNAMED_MAX)
		r->unnamed[r->nunnamed++] = pid;
}

u64 stacks_nameless(const struct StackReader *r)
{
	return r ? r->nameless : 0;
}

void stacks_use_codes(struct StackReader *r, struct Codes *codes)
{
	r->codes = codes;
}

void stacks_tell_frames(struct StackReader *r, void (*fn)(void *arg, u32 obj, u64 off), void *arg)
{
	r->tell = fn;
	r->tell_arg = arg;
}

void stacks_share(struct StackReader *r, bool on)
{
	if (!r)
		return;
	free(r->shared);
	r->shared = NULL;
	r->nshared = r->cap_shared = 0;
	r->sharing = on;
}

// Where that stack is, or would be.
static struct Shared *shared_at(struct Shared *v, u32 cap, u64 id, bool user, u32 limit)
{
	u64 at = (id ^ user) * 0x9e3779b97f4a7c15ull >> 20 & (cap - 1);
	while (v[at].id && (v[at].id != id || v[at].user != user || v[at].limit != limit))
		at = (at + 1) & (cap - 1);
	return &v[at];
}

static void shared_grow(struct StackReader *r)
{
	u32 cap = r->cap_shared ? 2 * r->cap_shared : 256;
	struct Shared *v = xcalloc(cap, sizeof(*v));
	for (u32 i = 0; i < r->cap_shared; i++)
		if (r->shared[i].id)
			*shared_at(v, cap, r->shared[i].id, r->shared[i].user, r->shared[i].limit) = r->shared[i];
	free(r->shared);
	r->shared = v;
	r->cap_shared = cap;
}

void stacks_trim(struct StackReader *r, u32 max)
{
	if (r->ncache <= max)
		return;
	free(r->cache);
	r->cache = NULL;
	r->ncache = r->cap = 0;
	vec_deinit(&r->frames);
	arena_deinit(&r->texts);
}

void stacks_want_images(struct StackReader *r)
{
	if (!r->images)
		r->images = images_create();
}

void stacks_destroy(struct StackReader *r)
{
	if (!r)
		return;
	free(r->buf);
	vec_deinit(&r->deep);
	free(r->cache);
	vec_deinit(&r->frames);
	arena_deinit(&r->texts);
	images_destroy(r->images);
	free(r->shared);
	free(r);
}

u64 stacks_frame(const struct Program *prog, u64 frame)
{
	const struct MapDef *news = program_map(prog, "rt_uw_news"), *files = program_map(prog, "rt_uw_files");
	u32 slot = RT_FRAME_ID(frame) & ~RT_UW_NEW, id;
	struct RtUwFile f;
	if (!(frame & RT_FRAME_OBJ) || !(RT_FRAME_ID(frame) & RT_UW_NEW) || !news || !files || sys_map_lookup(news->fd, &slot, &f) < 0 ||
	    sys_map_lookup(files->fd, &f, &id) < 0 || !id)
		return frame;
	return RT_FRAME_MAKE(id, RT_FRAME_OFF(frame)) | (frame & RT_FRAME_EXACT);
}

struct SymHit stacks_raw_name(struct Syms *s, u32 pid, u64 frame, u64 back)
{
	u64 addr = RT_FRAME_ADDR(frame) - back;
	return frame & RT_FRAME_NOFILE ? sym_pid_jit(s, (int)pid, addr) : sym_pid_addr(s, (int)pid, addr);
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

// The frames of the pieces that r->buf lists.
static u64 *all_pieces(struct StackReader *r, u32 *n)
{
	u32 pieces = r->buf->n;
	u64 ids[RT_STACK_PIECES];

	if (pieces > RT_STACK_PIECES)
		return NULL;
	memcpy(ids, r->buf->frames, pieces * sizeof(*ids));
	r->deep.n = 0;
	for (u32 i = 0; i < pieces; i++) {
		const struct RtStack *st = lookup(r, ids[i]);
		if (!st || st->flags & RT_STACK_IS_LIST)
			return NULL;
		for (u32 k = 0; k < st->n; k++)
			vec_push(&r->deep, st->frames[k]);
	}
	*n = (u32)r->deep.n;
	return r->deep.p;
}

// The stack that a number stands for which was given while its memory was not there.
static u64 settled(const struct StackReader *r, u64 id)
{
	const struct MapDef *m = RT_STACK_IS_COLD(id) ? program_map(r->prog, RT_COLD_MAP) : NULL;
	struct RtCold c;
	return m && !sys_map_lookup(m->fd, &id, &c) ? c.id : id;
}

const u64 *stacks_raw(struct StackReader *r, u64 id, bool user, u32 *n, u32 *pid, u32 *flags, u32 *why)
{
	const struct RtStack *st = lookup(r, settled(r, id));
	if (!st || user != !!(st->flags & RT_STACK_USER))
		return NULL;
	if (st->flags & RT_STACK_IS_PAIR && !(st = lookup(r, st->frames[0])))
		return NULL;
	*n = st->n;
	*pid = st->pid;
	*flags = st->flags;
	*why = st->why;
	u64 *frames = st->flags & RT_STACK_IS_LIST ? all_pieces(r, n) : r->buf->frames;
	for (u32 i = 0; user && frames && i < *n; i++) {
		frames[i] = stacks_frame(r->prog, frames[i]);
		if (r->tell && frames[i] & RT_FRAME_OBJ && !RT_FRAME_IS_LANG(frames[i]))
			r->tell(r->tell_arg, RT_FRAME_ID(frames[i]), RT_FRAME_OFF(frames[i]));
	}
	return frames;
}

// ---- symbols
static struct Frame frame_of(const struct SymHit *h, u64 addr, u64 back)
{
	return (struct Frame){
		.addr = addr,
		.sym = h->name,
		.raw = h->raw,
		.sym_off = h->name ? h->off + back : 0,
		.module = h->module,
		.module_off = h->module_off ? h->module_off + back : 0,
		.module_addr = h->module_addr ? h->module_addr + back : 0,
		.file = h->file,
		.line = h->line,
		.ret = back,
	};
}

// Before Linux 5.16 the kernel leaves what it has put into the place of a return address for a kretprobe: the address of a function's beginning, with no call before it.
static bool is_return_hook(const struct SymHit *h)
{
	return h->name && (!strcmp(h->name, "kretprobe_trampoline") || !strcmp(h->name, "__kretprobe_trampoline") || !strcmp(h->name, "arch_rethook_trampoline"));
}

// back: 1 for a return address. The call is the instruction before it, which may be its function's last; the offset shown stays that of the
// return address, as bpftrace prints it.
static void resolve_kernel(struct StackReader *r, u64 addr, u64 back)
{
	struct SymHit h = sym_kernel(r->syms, addr - back);
	if (back && h.start + h.size == addr) {
		struct SymHit next = sym_kernel(r->syms, addr);
		if (is_return_hook(&next)) {
			h = next;
			back = 0;
		}
	}
	struct Frame f = frame_of(&h, addr, back);
	f.kernel = true;
	f.image = image_of_kernel(r->images, h.module);
	vec_push(&r->frames, f);
}

static const char *kept(struct StackReader *r, struct Str *s)
{
	const char *text = arena_strdup(&r->texts, str_text(s));
	str_deinit(s);
	return text;
}

// A frame of a language: its code object as the kernel side copied it.
static void resolve_lang(struct StackReader *r, u64 frame)
{
	struct Str name = {0}, file = {0};
	struct RtCode c;
	const struct Runtime *rt = codes_get(r->codes, RT_FRAME_CODE(frame), &c) ? runtime_of(c.kind) : NULL;
	struct Frame f = {.sym = "[function whose name was lost]", .module = "[unknown]", .lang = frame_lang_unknown, .module_off = frame & ~RT_FRAME_LANG, .sym_off = RT_FRAME_POS(frame)};

	if (rt) {
		runtime_code_name(&c, &name);
		runtime_code_file(&c, &file);
		f.sym = kept(r, &name);
		f.file = file.n ? kept(r, &file) : NULL;
		f.line = codes_line(r->codes, &c, RT_FRAME_POS(frame));
		f.module = rt->module;
		f.lang = rt->name;
	} else
		r->nameless++;
	vec_push(&r->frames, f);
}

#define SIGNAL_TRAMPOLINE "__restore_rt"
#define MAX_INLINED 32
// Go's signal handlers make threads call these: what they interrupted comes next as behind a trampoline, but their own frames are return addresses.
static bool is_made_call(const char *name)
{
	return name && (!strcmp(name, "runtime.sigpanic") || !strcmp(name, "runtime.sigpanic0") || !strcmp(name, "runtime.asyncPreempt"));
}

static void resolve_user(struct StackReader *r, u64 frame, u32 pid, u32 how)
{
	struct SymHit hits[MAX_INLINED];
	u64 addr = frame & RT_FRAME_OBJ ? 0 : RT_FRAME_ADDR(frame), back = !(how & CE_EXACT);
	const struct Image *image = NULL;
	u32 n = 1;

	if (RT_FRAME_IS_LANG(frame)) {
		resolve_lang(r, frame);
		return;
	}
	if (frame & RT_FRAME_OBJ) {
		struct SymObject *o = sym_object(r->syms, RT_FRAME_ID(frame));
		hits[0] = (struct SymHit){.module_off = RT_FRAME_OFF(frame) - back, .module_addr = RT_FRAME_OFF(frame) - back};
		hits[0].module = UW_UNKNOWN_FILE;
		if (o) {
			n = sym_object_off_inlined(r->syms, o, RT_FRAME_OFF(frame) - back, hits, MAX_INLINED);
			if (!hits[0].module)
				hits[0].module = o->path;
			image = image_of_object(r->images, o);
			sym_object_tell(o);
		}
	} else {
		hits[0] = stacks_raw_name(r->syms, pid, frame, back);
		if (frame & RT_FRAME_NOFILE && !hits[0].name && pid)
			note_unnamed(r, pid);
	}
	if (how & CE_TRAMPOLINE && is_made_call(hits[n - 1].name)) {
		resolve_user(r, frame, pid, how & ~(u32)(CE_EXACT | CE_TRAMPOLINE));
		return;
	}
	if ((!hits[0].name || hits[0].place) && how & CE_TRAMPOLINE) { // C libraries keep it as a local symbol, which stripping removes
		hits[0].name = SIGNAL_TRAMPOLINE;
		hits[0].off = 0;
	}
	for (u32 i = 0; i < n; i++) {
		struct Frame f = frame_of(&hits[i], addr, back);
		f.inlined = i + 1 < n;
		f.image = image;
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
		u64 at = cache_hash(e->frame, e->pid, e->flags & CE_ASKED) & (cap - 1);
		while (next[at].flags)
			at = (at + 1) & (cap - 1);
		next[at] = *e;
	}
	free(r->cache);
	r->cache = next;
	r->cap = cap;
}

// Where an interrupt or a fault enters the kernel from the kernel (x86-64, arm64): the frame after it was interrupted, its address is no return address.
static bool is_exception_entry(const char *sym)
{
	static const char *const entries[] = {"asm_exc_", "asm_sysvec_", "asm_common_interrupt", "asm_spurious_interrupt", "end_repeat_nmi", "el1h_64_",
					      "el1t_64_", "el1_irq", "el1_sync"};
	for (u32 i = 0; sym && i < ARRAY_LEN(entries); i++)
		if (!strncmp(sym, entries[i], strlen(entries[i])))
			return true;
	return false;
}

// how: CE_* of CE_ASKED
static const struct CacheEntry *resolve(struct StackReader *r, u64 frame, u32 pid, u32 how)
{
	if (!(how & CE_USER) || frame & RT_FRAME_OBJ || RT_FRAME_IS_LANG(frame))
		pid = 0;
	if (r->ncache * 2 >= r->cap)
		cache_grow(r);
	u64 at = cache_hash(frame, pid, how) & (r->cap - 1);
	u32 now = pid ? (u32)(clock_ns(CLOCK_MONOTONIC_COARSE) / RAW_NS) + 1 : 0, first = r->frames.n;
	for (; r->cache[at].flags; at = (at + 1) & (r->cap - 1)) {
		struct CacheEntry *e = &r->cache[at];
		if (e->frame != frame || e->pid != pid || (e->flags & CE_ASKED) != how)
			continue;
		if (e->asked != now) { // it is one frame
			resolve_user(r, frame, pid, how);
			r->frames.p[e->first] = r->frames.p[first];
			r->frames.n = first;
			e->asked = now;
		}
		return e;
	}
	if (how & CE_USER)
		resolve_user(r, frame, pid, how);
	else
		resolve_kernel(r, frame, !(how & CE_EXACT));
	u8 flags = how | CE_USED | (!(how & CE_USER) && is_exception_entry(r->frames.p[first].sym) ? CE_ENTRY : 0);
	r->cache[at] = (struct CacheEntry){frame, pid, first, r->frames.n - first, flags, now};
	r->ncache++;
	return &r->cache[at];
}

// Is the frame a signal trampoline, as far as it tells by itself?
static bool is_trampoline(struct StackReader *r, u64 frame)
{
	struct SymObject *o = frame & RT_FRAME_OBJ ? sym_object(r->syms, RT_FRAME_ID(frame)) : NULL;
	return o && sym_object_signal_return(o, RT_FRAME_OFF(frame));
}

// The i-th of n frames of a user stack. The walker has marked which are no return addresses. The one before such a frame is the signal trampoline, to
// whose first instruction handlers return; the last one may be, where a limit has cut the stack.
static const struct CacheEntry *resolve_nth(struct StackReader *r, const u64 *raw, u32 i, u32 n, u32 pid, bool cut)
{
	u32 how = CE_USER;
	if (raw[i] & RT_FRAME_EXACT)
		how |= CE_EXACT;
	else if (i + 1 < n ? raw[i + 1] & RT_FRAME_EXACT : cut && is_trampoline(r, raw[i]))
		how |= CE_EXACT | CE_TRAMPOLINE;
	return resolve(r, raw[i], pid, how);
}

// The virtual addresses of a stack that has names beside them, malloced; NULL: there are none.
static u64 *pair_addrs(struct StackReader *r, u64 id, u32 *n)
{
	u32 pid, flags, why;
	const struct RtStack *st = id & RT_STACK_LIST ? lookup(r, id) : NULL;
	const u64 *raw = st && st->flags & RT_STACK_IS_PAIR ? stacks_raw(r, st->frames[1], true, n, &pid, &flags, &why) : NULL;
	u64 *copy = raw ? xmalloc((*n + 1) * sizeof(*copy)) : NULL;
	if (raw)
		memcpy(copy, raw, *n * sizeof(*copy));
	return copy;
}

const char *stacks_function(struct StackReader *r, u64 frame)
{
	const struct CacheEntry *e = frame ? resolve(r, frame, 0, CE_USER | CE_EXACT) : NULL;
	const char *name = e && e->n ? r->frames.p[e->first + e->n - 1].sym : NULL; // not one that is inlined in it
	return name ? name : frame ? "[unknown]" : "";
}

static bool read_stack(struct StackReader *r, struct Arena *a, u64 id, bool user, u32 limit, struct Value *out)
{
	u32 n, pid, flags, why, total = 0, naddrs = 0;
	u64 *addrs = pair_addrs(r, id, &naddrs);
	const u64 *raw = stacks_raw(r, id, user, &n, &pid, &flags, &why);
	bool exact = true;

	if (!raw) {
		free(addrs);
		return false;
	}
	u32 all = n;
	if (naddrs != n) // the process changed its memory between the two walks
		naddrs = 0;
	if (limit && n > limit)
		n = limit;
	u32 *first = xmalloc(n * sizeof(*first));
	u16 *count = xmalloc(n * sizeof(*count));
	for (u32 i = 0; i < n; i++) {
		const struct CacheEntry *e = user ? resolve_nth(r, raw, i, all, pid, why == RT_WHY_ASKED || why == RT_WHY_LIMIT) : resolve(r, raw[i], 0, exact ? CE_EXACT : 0);
		first[i] = e->first;
		count[i] = e->n;
		total += e->n;
		exact = e->flags & CE_ENTRY;
	}
	*out = (struct Value){.kind = V_STACK, .nframes = total, .frames = arena_new_n(a, struct Frame, total ? total : 1)};
	for (u32 i = 0, at = 0; i < n; at += count[i++]) {
		memcpy(out->frames + at, r->frames.p + first[i], count[i] * sizeof(struct Frame));
		for (u32 k = 0; i < naddrs && k < count[i] && !RT_FRAME_IS_LANG(raw[i]); k++)
			out->frames[at + k].addr = RT_FRAME_ADDR(addrs[i]);
	}
	free(addrs);
	free(first);
	free(count);
	out->truncated = flags & (RT_STACK_INCOMPLETE | RT_STACK_CUT);
	out->why = flags & RT_STACK_INCOMPLETE ? why_text(why) : flags & RT_STACK_CUT ? why_text(RT_WHY_LIMIT) : NULL;
	return true;
}

bool stacks_read(struct StackReader *r, struct Arena *a, u64 id, bool user, u32 limit, struct Value *out)
{
	if (!r->sharing)
		return read_stack(r, a, id, user, limit, out);
	if (r->nshared * 2 >= r->cap_shared)
		shared_grow(r);
	struct Shared *s = shared_at(r->shared, r->cap_shared, id, user, limit);
	if (!s->id) {
		if (!read_stack(r, a, id, user, limit, out))
			return false;
		*s = (struct Shared){id, limit, user, *out};
		r->nshared++;
	}
	*out = s->val;
	return true;
}
