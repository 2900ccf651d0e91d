// What Erlang's JIT puts into GDB's list in the place of ELF files (docs/jit.md): a module's functions. Input: such a file, which nobody vouches for. Output: the module's
// range of code and its functions' names; of the module that every process ends in, the place to which its outermost function returns, as one that nothing called.
// Invariant: what does not fit into the file or the module ends the reading; the functions so far are right.
#include "track/internal.h"

#if defined(__aarch64__)
enum { OWN_RA = 30, OWN_SP = 31 }; // DWARF numbers
#else
enum { OWN_RA = 16, OWN_SP = 7 };
#endif

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
static const char prologue[] = "-CodeInfoPrologue"; // of a function's name: its first instructions
static const char bottom[] = "erts_beamasm:normal_exit/0";

static bool skip_lines(const u8 *p, u64 size, u64 *at, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct Line l;
		if (size - *at < sizeof(l))
			return false;
		memcpy(&l, p + *at, sizeof(l));
		if (size - *at - sizeof(l) < l.file_len)
			return false;
		*at += sizeof(l) + l.file_len;
	}
	return true;
}

// .eh_frame of one function that begins a stack: its return address is undefined.
static void end_here(struct JitElf *out, u64 start, u64 size)
{
	u8 ra = OWN_RA;
	struct {
		u32 cie_len, id;
		u8 cie[12];
		u32 len, back;
		u64 pc, size;
		u32 end;
	} __attribute__((packed)) *f = xmalloc(sizeof(*f));
	*f = (typeof(*f)){16, 0, {1, 0, 1, 0x78, ra, 0x0c, OWN_SP, 8, 0x07, ra}, 20, 24, start, size, 0}; // DW_CFA_def_cfa, DW_CFA_undefined
	out->cfi.segs.n = 0;
	vec_push(&out->cfi.segs, ((struct CfiSeg){start, size, 0}));
	out->cfi.eh_frame = (struct CfiSec){(u8 *)f, sizeof(*f), 0};
}

bool beamjit_parse(const u8 *p, u64 size, struct JitElf *out)
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
	at += m.name_len;
	struct Str text = {0};
	u64 root = 0, root_end = 0;
	for (u32 i = 0; i < m.nfuncs && i < MAX_FUNCS && size - at >= sizeof(struct Func); i++) {
		struct Func f;
		memcpy(&f, p + at, sizeof(f));
		const char *name = (const char *)p + at + offsetof(struct Func, pad);
		if (f.name_len < 1 || f.name_len > size - at - sizeof(f) || name[f.name_len - 1] || f.start > f.end || f.end > m.size)
			break;
		at += sizeof(f) + f.name_len;
		if (!skip_lines(p, size, &at, f.nlines))
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
		if (!strcmp(name, bottom)) {
			root = m.base + f.start - 1; // return addresses are looked up at the byte before
			root_end = m.base + f.end;
		}
	}
	out->names = text.p ? text.p : xcalloc(1, 1);
	out->names_size = text.n;
	for (size_t i = 0; i < out->syms.n; i++)
		out->syms.p[i].name = out->names + names.p[i];
	vec_deinit(&names);
	vec_push(&out->cfi.segs, ((struct CfiSeg){m.base, m.size, 0}));
	if (root > m.base) {
		end_here(out, root, root_end - root);
		vec_push(&out->syms, ((struct MadeSym){root, root_end - root, bottom}));
	}
	gdbjit_fit(out);
	return out->syms.n;
}
