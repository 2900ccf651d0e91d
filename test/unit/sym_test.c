// Symbols: checked against nm, readelf and addr2line, and with programs built here.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "sym/internal.h"
#include "t.h"

TEST(kernel_addresses_resolve_both_ways)
{
	struct Syms *s = syms_create(NULL);
	u64 addr;
	if (!sym_kernel_addr(s, "vfs_read", NULL, &addr))
		SKIP("no kernel addresses");
	struct SymHit h = sym_kernel(s, addr + 4);
	CHECK_STR(h.name, "vfs_read");
	CHECK_EQ(h.off, 4);
	CHECK(!h.module);
	CHECK(sym_kernel_why(s) == NULL);
	u64 again;
	CHECK(sym_kernel_addr(s, "vfs_read", "vmlinux", &again) && again == addr);
	CHECK(sym_kernel_addr(s, "vfs_read", NULL, &again) && again == addr); // from the index now
	CHECK(!sym_kernel_addr(s, "no_such_symbol_anywhere", NULL, &again));
	CHECK(!sym_kernel(s, 0x1000).name);
	syms_destroy(s);
}

TEST(own_process_resolves)
{
	struct Syms *s = syms_create(NULL);
	struct SymHit h = sym_pid_addr(s, getpid(), (u64)(uintptr_t)&t_own_process_resolves + 1);
	CHECK_STR(h.name, "t_own_process_resolves");
	CHECK_EQ(h.off, 1);
	syms_destroy(s);
}

T_MAIN()
