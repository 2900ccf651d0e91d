// What Erlang's JIT puts into GDB's list in the place of ELF files (docs/jit.md): a module's functions. Input: such a file, which nobody vouches for. Output: the module's
// range of code, its functions' names and how they are left (bpfrt/walk_beam.h); of the place to which a process's outermost function returns, and of the scheduler's loop, that
// a stack ends there.
// Invariant: what does not fit into the file or the module ends the reading; the functions so far are right.
#include "track/internal.h"

#define OWN_SP 7 // DWARF
#define EXIT_CODE 80 // bytes of normal_exit/0
struct Module { // then the name, from byte 26 on; functions begin behind 32 bytes and the name's
	u32 kind, pad;
	u64 base;
	u32 nfuncs, size;
	u16 name_len;
	char name[6];
};
struct Func { // the name begins at byte 14, what follows behind 16 bytes and the name's
	u32 start, end, nlines;
	u16 name_len, pad;
};
struct Line {
	u32 start, line;
	u16 file_len, pad;
};
_Static_assert(sizeof(struct Module) == 32 && sizeof(struct Func) == 16 && sizeof(struct Line) == 12, "as in memory");
#define KIND_MODULE 1
#define MAX_FUNCS 65536u
#define MAX_LINES 1048576u
static const char prologue[] = "-CodeInfoPrologue"; // of a function's name: its first instructions
static const char bottom[] = "erts_beamasm:normal_exit/0";
static const char scheduler[] = "global::process_main"; // of a thread's own stack, which it never leaves
static const char *const shared[] = {"global", "erts_beamasm"}; // modules of pieces that others call

// The lines of a function; their files' names are those of the file itself. What is not in order, or outside of it, has none.
static bool take_lines(const u8 *p, u64 size, u64 *at, const struct Func *f, u64 base, struct JitElf *out)
{
	u64 last = f->start;
	bool whole = true;
	for (u32 i = 0; i < f->nlines; i++) {
		struct Line l = {0};
		memcpy(&l, p + *at, MIN(size - *at, (u64)sizeof(l)));
		whole = size - *at >= sizeof(l) && size - *at - sizeof(l) >= l.file_len;
		if (!whole)
			break;
		const char *file = (const char *)p + *at + offsetof(struct Line, pad);
		bool good = l.file_len > 1 && l.line && l.start >= last && l.start < f->end && memchr(file, 0, l.file_len);
		if (good && out->lines.n < MAX_LINES) {
			vec_push(&out->lines, ((struct MadeLine){base + l.start, file, l.line}));
			last = l.start;
		}
		*at += sizeof(l) + l.file_len;
	}
	if (out->lines.n && vec_last(&out->lines).file)
		vec_push(&out->lines, ((struct MadeLine){base + f->end, NULL, 0}));
	return whole;
}

// Where a stack ends, and how all other code is left.
struct Root {
	u64 start, end;   // end 0: not here
	const char *name; // of the byte before it, to which return addresses belong; NULL: nothing returns to it
};

static void rows(struct JitElf *out, const struct Module *m, const struct Root *root, u32 stop, bool shared)
{
	struct RtUwRule end = {.kind = RT_UW_END}, code = {0};

#if defined(__x86_64__)
	if (stop)
		code = (struct RtUwRule){.kind = RT_UW_BEAM, .reg = OWN_SP, .off = shared, .off2 = (s32)stop};
#endif
	if (!root->end && !stop)
		return;
	if (!root->end || root->start > m->base)
		vec_push(&out->rows, ((struct MadeRow){m->base, code}));
	if (root->end) {
		vec_push(&out->rows, ((struct MadeRow){root->start, end}));
		if (root->end < m->base + m->size)
			vec_push(&out->rows, ((struct MadeRow){root->end, code}));
	}
	vec_push(&out->rows, ((struct MadeRow){m->base + m->size, {0}}));
}

// The instruction by which a process goes on with its own stack: mov n(%r13),%rsp.
static u32 stop_in(const u8 *code, u32 n)
{
	for (u32 i = 0; i + 4 <= n; i++)
		if (code[i] == 0x49 && code[i + 1] == 0x8b && code[i + 2] == 0x65)
			return code[i + 3];
	return 0;
}

bool beamjit_layout(const struct JitMemory *m, const u8 *p, u64 size, u32 *stop)
{
	struct {
		u32 kind, pad;
		u32 layout, pad2;
		u64 exit; // normal_exit/0
		u64 unknown;
	} says;
	u8 code[EXIT_CODE];

	_Static_assert(sizeof(says) == BEAMJIT_LAYOUT, "as in memory");
	if (size < sizeof(says))
		return false;
	memcpy(&says, p, sizeof(says));
	*stop = 0;
	if (!says.kind && !says.layout && m->read(m->arg, says.exit, code, sizeof(code)))
		*stop = stop_in(code, sizeof(code));
	return !says.kind;
}

static bool is_shared(const char *module, size_t n)
{
	for (u32 i = 0; i < ARRAY_LEN(shared); i++)
		if (n > strlen(shared[i]) && !memcmp(module, shared[i], strlen(shared[i]) + 1))
			return true;
	return false;
}

bool beamjit_parse(const u8 *p, u64 size, u32 stop, struct JitElf *out)
{
	struct Module m;
	u64 at = sizeof(m);
	VEC(u32) names = {0};

	*out = (struct JitElf){.cfi = {.file = {.fd = -1}, .machine = gdbjit_machine()}};
	if (size < sizeof(m))
		return false;
	memcpy(&m, p, sizeof(m));
	if (m.kind != KIND_MODULE || !m.size || !m.base || (m.base + m.size) >> RT_UW_PC_BITS || m.name_len > size - at)
		return false;
	bool is_pieces = is_shared((const char *)p + offsetof(struct Module, name), m.name_len);
	at += m.name_len;
	struct Str text = {0};
	struct Root root = {0};
	for (u32 i = 0; i < m.nfuncs && i < MAX_FUNCS && size - at >= sizeof(struct Func); i++) {
		struct Func f;
		memcpy(&f, p + at, sizeof(f));
		const char *name = (const char *)p + at + offsetof(struct Func, pad);
		if (f.name_len < 1 || f.name_len > size - at - sizeof(f) || name[f.name_len - 1] || f.start > f.end || f.end > m.size)
			break;
		at += sizeof(f) + f.name_len;
		if (!take_lines(p, size, &at, &f, m.base, out))
			break;
		if (f.start == f.end)
			continue;
		size_t len = f.name_len - 1;
		if (len > sizeof(prologue) - 1 && !memcmp(name + len - (sizeof(prologue) - 1), prologue, sizeof(prologue) - 1))
			len -= sizeof(prologue) - 1;
		vec_push(&names, (u32)text.n);
		str_addn(&text, name, len);
		str_addc(&text, 0);
		vec_push(&out->syms, ((struct MadeSym){m.base + f.start, f.end - f.start, NULL}));
		if (!strcmp(name, bottom) && f.start)
			root = (struct Root){m.base + f.start - 1, m.base + f.end, bottom};
		else if (!strcmp(name, scheduler))
			root = (struct Root){m.base + f.start, m.base + f.end, NULL};
	}
	out->names = text.p ? text.p : xcalloc(1, 1);
	out->names_size = text.n;
	for (size_t i = 0; i < out->syms.n; i++)
		out->syms.p[i].name = out->names + names.p[i];
	vec_deinit(&names);
	vec_push(&out->cfi.segs, ((struct CfiSeg){m.base, m.size, 0}));
	rows(out, &m, &root, stop, is_pieces);
	if (root.name)
		vec_push(&out->syms, ((struct MadeSym){root.start, root.end - root.start, root.name}));
	gdbjit_fit(out);
	return out->syms.n;
}
