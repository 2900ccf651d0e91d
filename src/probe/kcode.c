// The kernel's code, as it lies in memory. In: addresses; /proc/kcore. Out: what instructions are there. Nothing is known where it may not be read (lockdown).
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>
#include "lang/lang.h"
#include "probe/internal.h"

void kcore_open(struct Kcore *k)
{
	Elf64_Ehdr eh;
	*k = (struct Kcore){.fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC)};
	if (k->fd < 0 || pread(k->fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(Elf64_Phdr))
		return;
	size_t n = eh.e_phnum * sizeof(Elf64_Phdr);
	k->ph = xmalloc(n + 1);
	if (pread(k->fd, k->ph, n, (off_t)eh.e_phoff) == (ssize_t)n)
		k->nph = eh.e_phnum;
}

void kcore_close(struct Kcore *k)
{
	if (k->fd >= 0)
		close(k->fd);
	free(k->ph);
}

static bool kcore_read(const struct Kcore *k, u64 addr, void *buf, size_t n)
{
	for (u32 i = 0; i < k->nph; i++) {
		const Elf64_Phdr *p = &k->ph[i];
		if (p->p_type == PT_LOAD && addr >= p->p_vaddr && addr - p->p_vaddr < p->p_memsz)
			return pread(k->fd, buf, n, (off_t)(p->p_offset + (addr - p->p_vaddr))) == (ssize_t)n;
	}
	return false;
}

static u32 entry_mark(const u8 *b)
{
	static const u8 marks[][4] = {{0xf3, 0x0f, 0x1e, 0xfa}, {0x0f, 0x1f, 0x40, 0x00}, {0x66, 0x0f, 0x1f, 0x00}}; // endbr64, nops that replaced it
	for (u32 i = 0; i < ARRAY_LEN(marks); i++)
		if (!memcmp(b, marks[i], 4))
			return 4;
	return 0;
}

u32 kcode_entry_nops(const struct Kcore *k, u64 addr)
{
	static const u8 nop5[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	u8 b[9];
	if (PT_HOST != PT_X86_64 || !kcore_read(k, addr, b, sizeof(b))) // elsewhere kprobes are breakpoints anyway
		return 0;
	u32 mark = entry_mark(b);
	return memcmp(b + mark, nop5, 5) ? 0 : mark + 5;
}

// On x86-64 a program gets a kprobe's registers as they are behind the breakpoint, a byte further, and the kernel looks up there how the frame is left (arch/x86/kernel/unwind_orc.c,
// unwind_next_frame). Where the instruction is longer the same rule holds; behind one of one byte that moves the stack pointer, and was not run yet, it is another.
bool kcode_misleads(const struct Kcore *k, u64 addr, bool entry)
{
	u8 code[5], b;
	if (PT_HOST != PT_X86_64 || !kcore_read(k, addr, code, sizeof(code)))
		return false;
	b = code[entry ? entry_mark(code) : 0]; // the kernel puts a kprobe behind endbr64 (arch_adjust_kprobe_addr)
	return (b >= 0x50 && b <= 0x5f) || b == 0x9c || b == 0x9d || b == 0xc3 || b == 0xc9; // push, pop, pushf, popf, ret, leave
}

// riscv64: auipc t0 and jalr t0,t0 while somebody traces the function, else nops (arch/riscv/kernel/ftrace.c). Later kernels, which keep the auipc, refuse nothing there.
u32 kcode_entry_taken(const struct Kcore *k, u64 addr)
{
	u32 w[2];
	if (PT_HOST != PT_RISCV64 || !kcore_read(k, addr, w, sizeof(w)))
		return 0;
	bool nops = w[0] == 0x13 && w[1] == 0x13, call = (w[0] & 0xfff) == 0x297 && (w[1] & 0xfffff) == 0x282e7;
	return nops || call ? sizeof(w) : 0;
}

static bool finds_kstack(void *arg, struct Expr *e)
{
	if ((e->kind == E_IDENT || e->kind == E_CALL) && e->str && !strcmp(e->str, "kstack"))
		*(bool *)arg = true;
	return true;
}

bool takes_kstack(const struct ProbeProg *pp)
{
	bool yes = !pp->ast;
	if (pp->ast) {
		walk_expr(pp->ast->pred, finds_kstack, &yes);
		walk_exprs(pp->ast->body, finds_kstack, &yes);
	}
	return yes;
}

void kstacks_unsure(struct ProbeEnv *env, const struct ProbeProg *pp, const struct Point *pt)
{
	struct Span none = {0};
	if (!env->unsure_kstacks++) {
		diag_warn(env->diags, pp->ast ? pp->ast->span : none, "kernel stacks at %s may lack their callers or show a wrong one: the kernel looks for them as if the instruction there had been run", pt->name);
		diag_hint(env->diags, "other instructions of the function have whole ones, those of more than one byte");
	}
}
