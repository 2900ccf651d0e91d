// Questions that the running kernel answers by itself: the symbol at an address, the address of a symbol. In: an address or a name. Out: what the
// kernel's own kallsyms_lookup() and kallsyms_lookup_name() find. A program of type SYSCALL (Linux 5.14), run by BPF_PROG_TEST_RUN, asks for us.
//
// Why: /proc/kallsyms as a whole costs the kernel 30-60 ms, however few names are wanted; one symbol costs 3 us here, one name 16 us (a binary search
// since Linux 6.2, commit 60443c88f3a8; before that the kernel unpacks names until it meets the one).
// Invariant: nothing is loaded before the first question; a kernel that refuses is asked once.
#include "bpf/internal.h"
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>

enum { HELPER_SNPRINTF = 165, HELPER_KALLSYMS_LOOKUP_NAME = 179 };
enum { TEXT = 1024 }; // of a symbol's text or a name: KSYM_NAME_LEN is 512, MODULE_NAME_LEN 56 (include/linux/kallsyms.h, moduleparam.h)
#define SLOW_NS 1000000u

struct Mem { // shared with the programs
	u64 addr;
	char text[TEXT];
};

struct KernAsk {
	struct Mem *mem;
	int map, fmt;
	int symbol, name; // programs; -1 refused, 0 not loaded yet
	bool slow;	  // names are looked for one by one
};

struct KernAsk *kernask_create(void)
{
	struct KernAsk *k = xcalloc(1, sizeof(*k));
	k->map = k->fmt = -1;
	return k;
}

static void close_fd(int fd)
{
	if (fd > 0)
		close(fd);
}

void kernask_destroy(struct KernAsk *k)
{
	if (!k)
		return;
	if (k->mem)
		munmap(k->mem, sizeof(*k->mem));
	close_fd(k->symbol);
	close_fd(k->name);
	close_fd(k->map);
	close_fd(k->fmt);
	free(k);
}

static bool shared_memory(struct KernAsk *k)
{
	if (k->mem)
		return true;
	struct SysMap m = {BPF_MAP_TYPE_ARRAY, 4, sizeof(*k->mem), 1, BPF_F_MMAPABLE, "sonde_ask"};
	if (k->map < 0)
		k->map = sys_map_create(&m);
	void *p = k->map < 0 ? MAP_FAILED : mmap(NULL, sizeof(*k->mem), PROT_READ | PROT_WRITE, MAP_SHARED, k->map, 0);
	if (p == MAP_FAILED)
		return false;
	k->mem = p;
	return true;
}

// The format of bpf_snprintf() must lie in a map that can no longer change (bpf-helpers(7)).
static bool format_map(struct KernAsk *k)
{
	static const char text[8] = "%pS";
	struct SysMap m = {BPF_MAP_TYPE_ARRAY, 4, sizeof(text), 1, BPF_F_RDONLY_PROG, "sonde_fmt"};
	u32 zero = 0;
	k->fmt = sys_map_create(&m);
	return k->fmt >= 0 && !sys_map_update(k->fmt, &zero, text, 0) && !sys_map_freeze(k->fmt);
}

static int load(const struct BpfInsn *insns, u32 n)
{
	struct SysProg p = {.type = BPF_PROG_TYPE_SYSCALL, .insns = insns, .ninsns = n, .license = "Dual BSD/GPL", .name = "sonde_ask", .flags = BPF_F_SLEEPABLE};
	return sys_prog_load(&p);
}

#define MAP_VALUE(dst, fd, off) INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_VALUE, 0, fd), INSN(0, 0, 0, 0, off)

static bool symbol_prog(struct KernAsk *k)
{
	if (k->symbol)
		return k->symbol > 0;
	k->symbol = -1;
	if (!shared_memory(k) || !format_map(k))
		return false;
	const struct BpfInsn insns[] = {
		MAP_VALUE(1, k->map, offsetof(struct Mem, text)), MOV_IMM(2, TEXT), MAP_VALUE(3, k->fmt, 0),
		MAP_VALUE(4, k->map, offsetof(struct Mem, addr)), MOV_IMM(5, 8), CALL(HELPER_SNPRINTF), EXIT(),
	};
	k->symbol = load(insns, ARRAY_LEN(insns));
	return k->symbol > 0;
}

static bool name_prog(struct KernAsk *k)
{
	if (k->name)
		return k->name > 0;
	k->name = -1;
	if (!shared_memory(k))
		return false;
	const struct BpfInsn insns[] = {
		MAP_VALUE(1, k->map, offsetof(struct Mem, text)), MOV_IMM(2, TEXT), MOV_IMM(3, 0), MAP_VALUE(4, k->map, offsetof(struct Mem, addr)),
		CALL(HELPER_KALLSYMS_LOOKUP_NAME), EXIT(),
	};
	k->name = load(insns, ARRAY_LEN(insns));
	return k->name > 0;
}

static bool run(int prog, s32 *result)
{
	struct SysTestRun t = {0};
	if (sys_prog_test_run(prog, &t))
		return false;
	*result = (s32)t.retval;
	return true;
}

bool kernask_symbol(void *arg, u64 addr, char *text, size_t size)
{
	struct KernAsk *k = arg;
	s32 n;
	if (!symbol_prog(k))
		return false;
	k->mem->addr = addr;
	if (!run(k->symbol, &n) || n <= 0 || n > TEXT)
		return false;
	snprintf(text, size, "%.*s", TEXT - 1, k->mem->text);
	return true;
}

int kernask_addr(void *arg, const char *name, u64 *addr)
{
	struct KernAsk *k = arg;
	s32 r;
	size_t n = strlen(name);
	if (k->slow || n >= TEXT || !name_prog(k))
		return -1;
	memset(k->mem->text, 0, TEXT); // its last byte has to be 0
	memcpy(k->mem->text, name, n);
	k->mem->addr = 0;
	u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID); // time this thread ran: on a busy machine it may wait for its turn in between
	if (!run(k->name, &r))
		return -1;
	k->slow = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start > SLOW_NS;
	*addr = k->mem->addr;
	return r == -EPERM || r == -EINVAL ? -1 : !r && *addr;
}
