// Of static programs (STATIC=1): stands in for parts of libdw and libbpf that are in the archives' tables or messages, but that sonde never comes to. Without it the
// linker takes them along, 0.4 MB: disassemblers and register names of twelve other processors, libbpf's loader of objects.
// In: nothing. Out: "there is none" to whoever asks. Invariant: nothing here is called for files of this machine (and of its 32-bit mode); what a library of another
// version has besides is taken from it (-z muldefs lets these go first).
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- libdw's table of machines (libebl/eblopenbackend.c). NULL: none, as for a machine that elfutils does not know.
#define NO_MACHINE(name) \
	void *name##_init(void);                                                                                       \
	void *name##_init(void) { return NULL; }
NO_MACHINE(sh)
NO_MACHINE(ia64)
NO_MACHINE(alpha)
NO_MACHINE(sparc)
NO_MACHINE(ppc)
NO_MACHINE(ppc64)
NO_MACHINE(s390)
NO_MACHINE(m68k)
NO_MACHINE(bpf)
NO_MACHINE(riscv)
NO_MACHINE(csky)
NO_MACHINE(tilegx)
NO_MACHINE(loongarch)
NO_MACHINE(arc)
NO_MACHINE(mips)
#ifdef __x86_64__
NO_MACHINE(arm)
NO_MACHINE(aarch64)
#else
NO_MACHINE(i386)
NO_MACHINE(x86_64)
#endif

// Its disassemblers (ebl_disasm)
int i386_disasm(void);
int i386_disasm(void) { return -1; }
int x86_64_disasm(void);
int x86_64_disasm(void) { return -1; }

// ---- what libbpf's types and ring buffers take from its loader: messages, and BTF of the kernel by number
void libbpf_print(enum libbpf_print_level level, const char *format, ...);
void libbpf_print(enum libbpf_print_level level, const char *format, ...) {}

libbpf_print_fn_t libbpf_set_print(libbpf_print_fn_t fn)
{
	return NULL;
}

long libbpf_get_error(const void *p) // NULL and errno from 1.0 on; before, an error as a pointer
{
	return (unsigned long)p >= (unsigned long)-4095 ? (long)p : p ? 0 : -errno;
}

const struct btf_type *skip_mods_and_typedefs(const struct btf *btf, __u32 id, __u32 *res_id);
const struct btf_type *skip_mods_and_typedefs(const struct btf *btf, __u32 id, __u32 *res_id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	for (int depth = 0; t && depth < 32 && (btf_is_mod(t) || btf_is_typedef(t)); depth++) {
		id = t->type;
		t = btf__type_by_id(btf, id);
	}
	if (res_id)
		*res_id = id;
	return t;
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *len);
int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *len)
{
	union bpf_attr a = {.info = {.bpf_fd = (__u32)fd, .info_len = *len, .info = (uintptr_t)info}};
	int r = (int)syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a.info));
	if (!r)
		*len = a.info.info_len;
	return r ? -errno : 0;
}

static int absent(void)
{
	errno = ENOSYS;
	return -ENOSYS;
}
int bpf_btf_load(void);
int bpf_btf_load(void) { return absent(); }
int bpf_btf_get_fd_by_id(void);
int bpf_btf_get_fd_by_id(void) { return absent(); }
