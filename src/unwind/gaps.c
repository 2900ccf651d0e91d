// Code between the functions that have entries in .eh_frame. In: where such code may lie (uwtable.c), a file. Out: its bytes, or of much code its ranges (gaprows.c).
// Invariant: bounded, how much code is read, and how often a gap that only fills a line up. What lies in no section with code is not read.
#include <elf.h>
#include "unwind/internal.h"
#include <string.h>

#define MAX_WHOLE (12ull << 20) // bytes of code that are followed at once: 0.7 s and 60 MB of memory for as long
#define MAX_LOOKS 4096	      // gaps that look like padding, but are read: each may cost a page of a cold file

// Does the gap only fill a line up? Most do, and reading them all would read most of the file.
static bool fills_up(struct Gaps *g, u64 from, u64 to)
{
	return to - from < UW_PADDING && to % UW_PADDING == 0 && ++g->looks > MAX_LOOKS;
}

// n bytes at from, of the piece of the file that was read for all gaps in it; NULL: they are many, or not there.
static const u8 *look(struct Gaps *g, const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 n)
{
	if (n > UW_PIECE || from < seg->vaddr || from - seg->vaddr > seg->size || n > seg->size - (from - seg->vaddr))
		return NULL;
	if (g->seg != seg || from < g->at || from + n > g->at + g->n) {
		u64 at = MAX(from & ~(UW_PIECE - 1), seg->vaddr), end = MIN((from + n + UW_PIECE - 1) & ~(UW_PIECE - 1), seg->vaddr + seg->size);
		g->seg = NULL;
		if (!elfcfi_code(e, seg, at, g->piece, end - at))
			return NULL;
		g->seg = seg, g->at = at, g->n = end - at;
	}
	return g->piece + (from - g->at);
}

const struct FlowMachine *gaps_machine(const struct ElfCfi *e)
{
	return e->machine == EM_X86_64 ? &flow_x86 : e->machine == EM_AARCH64 && !e->is_native_image ? &flow_arm64 : NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct GapSection *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

// Linkers put data into the executable segment, too (on arm64 always): where the file tells of its sections, only those with code are read.
static void list_sections(struct Gaps *g, const struct ElfCfi *e)
{
	const struct ElfFile *f = &e->file;
	g->listed = true;
	for (u32 i = 1; i < f->nsecs; i++) {
		const struct ElfSec *s = &f->secs[i];
		if (s->type != SHT_NOBITS && s->flags & SHF_EXECINSTR && s->flags & SHF_ALLOC && s->size && s->addr + s->size > s->addr)
			vec_push(&g->sections, ((struct GapSection){s->addr, s->addr + s->size}));
	}
	if (!g->sections.n)
		return;
	qsort(g->sections.p, g->sections.n, sizeof(*g->sections.p), by_address);
	size_t apart = 1;
	for (size_t i = 1; i < g->sections.n; i++) {
		struct GapSection *last = &g->sections.p[apart - 1], s = g->sections.p[i];
		if (s.from < last->to) // of a malformed file
			last->to = MAX(last->to, s.to);
		else
			g->sections.p[apart++] = s;
	}
	g->sections.n = apart;
}

static void keep(struct Gaps *g, const struct FlowMachine *m, const u8 *p, u64 from, u64 n)
{
	if (flow_only_padding(m, p, n))
		return;
	struct FlowCode c = {from, n, memcpy(xmalloc(n), p, n)};
	vec_push(&g->code, c);
	g->size += n;
}

// arm64's signal trampoline, for which the vDSO has no entry (arch/arm64/kernel/vdso/sigreturn.S): mov x8,#139; svc #0. Its rule holds from the byte before it on, where it is
// looked up as a return address.
#define SIGRETURN_SIZE 8
static bool add_trampoline(struct Gaps *g, const struct ElfCfi *e, const u8 *p, u64 n, u64 pc)
{
	static const u8 code[SIGRETURN_SIZE] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
	struct FlowRow before = {.pc = pc - 1}, row = {.pc = pc}, end = {.pc = pc + SIGRETURN_SIZE};
	if (n < SIGRETURN_SIZE || memcmp(p, code, SIGRETURN_SIZE))
		return false;
	cfi_rule(&(struct CfiState){0}, true, e->machine, &row.rule);
	before.rule = row.rule;
	vec_push(&g->veneers, before);
	vec_push(&g->veneers, row);
	vec_push(&g->veneers, end);
	return true;
}

// Where a function returns to that a fiber of boost::context began with (make_fcontext, also PHP's and bthread's): [endbr64;] xor %rdi,%rdi; call _exit; hlt, behind a return or a
// jump by register. Nothing has called it: its return address was put there. How many bytes it has, and where it begins; 0: there is none behind `from`.
#define FIBER_END_SIZE 9
static u64 find_fiber_end(const u8 *p, u64 n, u64 from, u64 *at)
{
	static const u8 code[] = {0x48, 0x31, 0xff, 0xe8}, endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const u8 *x;
	while (from < n && (x = memmem(p + from, n - from, code, sizeof(code)))) {
		u64 off = (u64)(x - p), size = FIBER_END_SIZE;
		from = off + 1;
		if (off + FIBER_END_SIZE > n || p[off + FIBER_END_SIZE - 1] != 0xf4)
			continue;
		if (off >= sizeof(endbr) && !memcmp(p + off - sizeof(endbr), endbr, sizeof(endbr)))
			off -= sizeof(endbr), size += sizeof(endbr);
		if (off < 2 || (p[off - 1] != 0xc3 && (p[off - 2] != 0xff || (p[off - 1] & 0xf8) != 0xe0)))
			continue;
		*at = off;
		return size;
	}
	return 0;
}

static void add_fiber_end(struct Gaps *g, u64 pc, u64 size)
{
	struct RtUwRule root = {.kind = RT_UW_END, .off2 = RT_UW_END_FIBER};
	vec_push(&g->veneers, ((struct FlowRow){pc - 1, root})); // where it is looked up as a return address
	vec_push(&g->veneers, ((struct FlowRow){pc, root}));
	vec_push(&g->veneers, ((struct FlowRow){.pc = pc + size}));
}

// Code without its veneers, which have the rules of where they come from, without signal trampolines and ends of fibers.
#define MAX_VENEERS 65536 // of a file
static void split(struct Gaps *g, struct Frames f[2], const struct ElfCfi *e, const struct CfiSeg *seg, const u8 *p, u64 from, u64 n)
{
	const struct FlowMachine *m = gaps_machine(e);
	u64 done = 0, off = 0, back;
	while (off < n) {
		if (m == &flow_x86 && g->veneers.n < MAX_VENEERS) {
			u64 size = find_fiber_end(p, n, done, &off);
			if (size) {
				add_fiber_end(g, from + off, size);
				keep(g, m, p + done, from + done, off - done);
			}
			done = size ? off + size : done;
			off = size ? done : n;
			continue;
		}
		if (m != &flow_arm64 || g->veneers.n >= MAX_VENEERS) {
			off = n;
			continue;
		}
		if (add_trampoline(g, e, p + off, n - off, from + off)) {
			if (off > done)
				keep(g, m, p + done, from + done, off - done);
			done = off += SIGRETURN_SIZE;
			continue;
		}
		if (!veneer_is(f, e, seg, p + off, n - off, from + off, &back)) {
			off += 4;
			continue;
		}
		struct FlowRow row = {.pc = from + off}, end = {.pc = from + off + VENEER_SIZE};
		veneer_rule(f, back, &row.rule);
		vec_push(&g->veneers, row);
		vec_push(&g->veneers, end);
		if (off > done)
			keep(g, m, p + done, from + done, off - done);
		done = off += VENEER_SIZE;
	}
	if (n > done)
		keep(g, m, p + done, from + done, n - done);
}

static void add_parts(struct Gaps *g, const struct CfiSeg *seg, u64 from, u64 to)
{
	vec_push(&g->parts, ((struct FlowRange){seg, from, to}));
	g->parts_size += to - from;
}

static void add_code(struct Gaps *g, struct Frames f[2], const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 to)
{
	if (to <= from || fills_up(g, from, to))
		return;
	if (e->is_native_image || to - from > MAX_WHOLE || g->size + (to - from) > MAX_WHOLE) {
		add_parts(g, seg, from, to);
		return;
	}
	const u8 *near = look(g, e, seg, from, to - from);
	if (near) {
		split(g, f, e, seg, near, from, to - from);
		return;
	}
	u8 *p = xmalloc(to - from);
	if (elfcfi_code(e, seg, from, p, to - from))
		split(g, f, e, seg, p, from, to - from);
	free(p);
}

void gaps_add(struct Gaps *g, struct Frames f[2], const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 to)
{
	if (!gaps_machine(e))
		return;
	if (!g->listed && !e->is_native_image)
		list_sections(g, e);
	if (!g->sections.n) {
		add_code(g, f, e, seg, from, to);
		return;
	}
	size_t lo = 0, hi = g->sections.n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (g->sections.p[mid].to <= from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < g->sections.n && g->sections.p[lo].from < to; lo++)
		add_code(g, f, e, seg, MAX(from, g->sections.p[lo].from), MIN(to, g->sections.p[lo].to));
}
