// Constants of C headers, known to a script whether the headers are installed or not: AF_INET, O_CREAT, EPERM, IFNAMSIZ, __NR_openat.
// Input: a name. Output: its value, as the headers of the build machine define it for the target. Kernel-internal ones are written out.
#include "base/base.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <linux/auxvec.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/io_uring.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/keyctl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/mman.h>
#include <linux/netfilter.h>
#include <linux/netlink.h>
#include <linux/nvme_ioctl.h>
#include <linux/oom.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
// After the headers, or its names would lack their values.
#include "ctype/internal.h"

// macros.list, a name a line, packed: seldom does a script have one. Then "#ifdef X, M(X), #else, NONE, #endif" for each.
static const u8 packed_names[] = {
#include "ctype_consts.gz.h"
};
// Values: their low halves, and what their high halves are: a small number, or one of these
enum { HIGH_ONES = 252, HIGH_MAX, HIGH_MIN, HIGH_NONE }; // NONE: the headers have no such name, or one of a value that is none of these
#define M(x) (u32)(s64)(x),
#define NONE 0,
static const u32 lows[] = {
#include "ctype_consts.inc"
};
#undef M
#undef NONE
#define HIGH(x) ((u64)(s64)(x) >> 32)
#define M(x) (HIGH(x) < HIGH_ONES ? HIGH(x) : HIGH(x) == 0xffffffff ? HIGH_ONES : HIGH(x) == 0x7fffffff ? HIGH_MAX : HIGH(x) == 0x80000000 ? HIGH_MIN : HIGH_NONE),
#define NONE HIGH_NONE,
static const u8 highs[] = {
#include "ctype_consts.inc"
};
#undef M

static s64 value(u32 i)
{
	static const u32 other[] = {0xffffffff, 0x7fffffff, 0x80000000};
	u64 high = highs[i] < HIGH_ONES ? highs[i] : other[highs[i] - HIGH_ONES];
	return (s64)(high << 32 | lows[i]);
}

struct KernelConst {
	const char *name;
	s64 val;
};

// Not in any header for user space, and the same in every kernel since 4.14: include/linux/sched.h, net/tcp_states.h, linux/errno.h,
// linux/fs.h. Where newer kernels made them enumerators BTF has the same values.
static const struct KernelConst kernel_consts[] = {
	{"TASK_RUNNING", 0},
	{"TASK_INTERRUPTIBLE", 1},
	{"TASK_UNINTERRUPTIBLE", 2},
	{"__TASK_STOPPED", 4},
	{"__TASK_TRACED", 8},
	{"EXIT_DEAD", 0x10},
	{"EXIT_ZOMBIE", 0x20},
	{"TASK_PARKED", 0x40},
	{"TASK_DEAD", 0x80},
	{"TASK_WAKEKILL", 0x100},
	{"TASK_WAKING", 0x200},
	{"TASK_NOLOAD", 0x400},
	{"TASK_NEW", 0x800},
	{"TASK_KILLABLE", 0x102},
	{"TASK_STOPPED", 0x104},
	{"TASK_IDLE", 0x402},
	{"TASK_NORMAL", 3},
	{"TASK_COMM_LEN", 16},
	{"MAX_PRIO", 140},
	{"MAX_RT_PRIO", 100},
	{"DEFAULT_PRIO", 120},
	{"PF_EXITING", 0x4},
	{"PF_WQ_WORKER", 0x20},
	{"PF_KTHREAD", 0x200000},
	{"TCP_ESTABLISHED", 1},
	{"TCP_SYN_SENT", 2},
	{"TCP_SYN_RECV", 3},
	{"TCP_FIN_WAIT1", 4},
	{"TCP_FIN_WAIT2", 5},
	{"TCP_TIME_WAIT", 6},
	{"TCP_CLOSE", 7},
	{"TCP_CLOSE_WAIT", 8},
	{"TCP_LAST_ACK", 9},
	{"TCP_LISTEN", 10},
	{"TCP_CLOSING", 11},
	{"TCP_NEW_SYN_RECV", 12},
	{"ERESTARTSYS", 512},
	{"ERESTARTNOINTR", 513},
	{"ERESTARTNOHAND", 514},
	{"ENOIOCTLCMD", 515},
	{"ERESTART_RESTARTBLOCK", 516},
	{"EPROBE_DEFER", 517},
	{"ENOTSUPP", 524},
	{"FMODE_READ", 1},
	{"FMODE_WRITE", 2},
	{"FMODE_LSEEK", 4},
	{"FMODE_EXEC", 0x20},
	{"NSEC_PER_SEC", 1000000000},
	{"NSEC_PER_MSEC", 1000000},
	{"NSEC_PER_USEC", 1000},
	{"USEC_PER_SEC", 1000000},
	{"USEC_PER_MSEC", 1000},
	{"MSEC_PER_SEC", 1000},
	{"SECTOR_SHIFT", 9},
	{"SECTOR_SIZE", 512},
	{"MAX_ERRNO", 4095},
};

static bool page_const(const char *name, s64 *val)
{
	s64 size = sysconf(_SC_PAGESIZE);
	if (!strcmp(name, "PAGE_SIZE"))
		*val = size;
	else if (!strcmp(name, "PAGE_SHIFT"))
		*val = __builtin_ctzll((unsigned long long)size);
	else if (!strcmp(name, "PAGE_MASK"))
		*val = -size;
	else
		return false;
	return true;
}

bool macro_kernel(const char *name, s64 *val)
{
	for (size_t i = 0; i < ARRAY_LEN(kernel_consts); i++) {
		if (!strcmp(kernel_consts[i].name, name)) {
			*val = kernel_consts[i].val;
			return true;
		}
	}
	return false;
}

bool macro_builtin(const char *name, s64 *val)
{
	static char *names; // never freed
	size_t n = strlen(name);
	u32 i = 0, size;
	if (!names)
		names = packed_get(&(struct Packed){packed_names, sizeof(packed_names)}, &size);
	for (const char *p = names, *end; (end = strchr(p, '\n')); p = end + 1, i++) {
		if ((size_t)(end - p) == n && !memcmp(p, name, n) && highs[i] != HIGH_NONE) {
			*val = value(i);
			return true;
		}
	}
	return macro_kernel(name, val) || page_const(name, val);
}
