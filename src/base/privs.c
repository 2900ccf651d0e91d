// What sonde gives up once it traces, so that what it reads of other people's processes and files meets as little as the report needs. See base.h.
// In: what will still be needed. Out: a thread that is nobody's user, has the capabilities to read and no others, gains none (no_new_privs), and may make only the
// system calls that a report takes (seccomp(2)). Invariant: rights belong to threads (capabilities(7), credentials(7)), so each drops its own, and those that it
// starts afterwards have its rights; the setters of libc would change all threads, so the system calls are made here.
//
// No Landlock: who is in a domain of it may not look at processes outside (security/landlock/ptrace.c), and /proc/PID/maps of those is what names are made of.
#include "base/base.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define NOBODY 65534 // no file that matters is theirs
#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define OUR_ARCH AUDIT_ARCH_RISCV64
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CHECKED 1 // LeakSanitizer ptraces, at the end
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECKED 1
#endif
#endif

static struct PrivPlan plan;
static bool planned;
static u32 caller;
static bool caller_known;

u32 caller_uid(void)
{
	return caller_known ? caller : geteuid();
}

void privs_plan(const struct PrivPlan *p)
{
	plan = *p;
	caller = geteuid();
	caller_known = true;
#ifndef CHECKED
	planned = true;
#endif
}

// ---- the filter of system calls
enum Verdict { DENY, ALLOW, ABSENT, CLONE, BPF, IOCTL, LIMIT, SOCKET, POLICY };
enum { CALLS = 512, FILTER = 1024, RECENT = 424 /* of 5.1 on, the same on all machines: libc tries them first, and does without when they are not there */ };

static const u16 always[] = {
	// memory, threads, time
	SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk, SYS_msync, SYS_membarrier, SYS_futex, SYS_set_robust_list, SYS_get_robust_list, SYS_exit, SYS_exit_group,
	SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_set_tid_address, SYS_getcpu, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_times,
	SYS_getrusage, SYS_getrandom, SYS_restart_syscall, SYS_prctl, SYS_uname, SYS_sysinfo, SYS_getrlimit, SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime, SYS_getitimer, SYS_setitimer,
	// who we are
	SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_getpriority, SYS_sched_getparam, SYS_sched_getscheduler, SYS_getpgid, SYS_getsid, SYS_capget,
	// files: what the user nobody may do with them
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_lseek, SYS_close, SYS_fstat, SYS_newfstatat, SYS_statfs, SYS_fstatfs, SYS_openat, SYS_faccessat,
	SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_fcntl, SYS_flock, SYS_dup, SYS_dup3, SYS_pipe2, SYS_ftruncate, SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_fadvise64, SYS_sendfile, SYS_unlinkat, SYS_memfd_create,
	// waiting; signals to whom the real user may send them
	SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_rt_sigpending,
	SYS_rt_sigsuspend, SYS_sigaltstack, SYS_signalfd4, SYS_wait4, SYS_waitid, SYS_kill, SYS_tgkill, SYS_tkill, SYS_setsid, SYS_chdir, SYS_recvmsg, SYS_recvfrom, SYS_sendmsg, SYS_sendto,
	// other processes, and what is counted
	SYS_process_vm_readv, SYS_perf_event_open,
#ifdef SYS_openat2
	SYS_openat2, // containers' paths; what it is to do is in memory, where no filter looks
#endif
#ifdef SYS_statx
	SYS_statx,
#endif
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
#ifdef SYS_close_range
	SYS_close_range,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_pidfd_open
	SYS_pidfd_open, SYS_pidfd_send_signal,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
#ifdef __x86_64__
	SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_wait, SYS_epoll_create, SYS_eventfd, SYS_fork, SYS_vfork, SYS_getpgrp, SYS_time,
	SYS_arch_prctl, SYS_alarm, SYS_unlink,
#endif
};
// of a client of debuginfod's servers, with its cache of files
static const u16 of_network[] = {
	SYS_connect, SYS_bind, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_shutdown, SYS_sendmmsg, SYS_recvmmsg, SYS_socketpair, SYS_mkdirat, SYS_renameat2, SYS_linkat, SYS_fchmod,
	SYS_fchmodat, SYS_utimensat, SYS_umask,
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef __x86_64__
	SYS_mkdir, SYS_rename, SYS_link, SYS_chmod, SYS_rmdir, SYS_utimes,
#endif
};

static void fill(u8 *calls, const u16 *list, size_t n, enum Verdict v)
{
	for (size_t i = 0; i < n; i++)
		calls[list[i]] = (u8)v;
}

static void verdicts(u8 *calls)
{
	memset(calls, DENY, RECENT);
	memset(calls + RECENT, ABSENT, CALLS - RECENT);
	fill(calls, always, ARRAY_LEN(always), ALLOW);
	if (plan.network)
		fill(calls, of_network, ARRAY_LEN(of_network), ALLOW);
	calls[SYS_connect] = ALLOW; // to what SOCKET allows: getpwuid(3) asks daemons
	calls[SYS_clone] = CLONE;
	calls[SYS_clone3] = ABSENT; // its flags are in memory; libc uses clone instead
	calls[SYS_bpf] = BPF;
	calls[SYS_ioctl] = IOCTL;
	calls[SYS_prlimit64] = LIMIT;
	calls[SYS_socket] = SOCKET;
	calls[SYS_sched_setscheduler] = POLICY;
}

struct Filter {
	u32 n;
	struct sock_filter insns[FILTER];
};

static u32 put(struct Filter *f, u16 code, u32 k, u8 yes, u8 no)
{
	assert(f->n < FILTER);
	f->insns[f->n] = (struct sock_filter){code, yes, no, k};
	return f->n++;
}

static void ends(struct Filter *f, u32 action)
{
	put(f, BPF_RET | BPF_K, action, 0, 0);
}

static void load_arg(struct Filter *f, u32 i) // its lower half: all machines are little endian
{
	put(f, BPF_LD | BPF_W | BPF_ABS, (u32)offsetof(struct seccomp_data, args) + i * 8, 0, 0);
}

#define REFUSED (SECCOMP_RET_ERRNO | EPERM)
static void one_of(struct Filter *f, u32 arg, const u32 *values, size_t n, u32 is, u32 else_)
{
	load_arg(f, arg);
	for (size_t i = 0; i < n; i++) {
		put(f, BPF_JMP | BPF_JEQ | BPF_K, values[i], 0, 1);
		ends(f, is);
	}
	ends(f, else_);
}

static void bpf_commands(struct Filter *f)
{
	u32 v[24] = {BPF_MAP_CREATE, BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_MAP_GET_NEXT_KEY, BPF_PROG_TEST_RUN, BPF_OBJ_GET_INFO_BY_FD, BPF_MAP_LOOKUP_AND_DELETE_ELEM,
		     BPF_MAP_FREEZE, BPF_MAP_LOOKUP_BATCH, BPF_MAP_LOOKUP_AND_DELETE_BATCH, BPF_MAP_UPDATE_BATCH, BPF_MAP_DELETE_BATCH, BPF_ITER_CREATE};
	u32 n = 14;
	if (plan.load)
		v[n++] = BPF_PROG_LOAD;
	if (plan.attach)
		v[n++] = BPF_LINK_CREATE;
	one_of(f, 0, v, n, SECCOMP_RET_ALLOW, REFUSED);
}

static void leaf(struct Filter *f, enum Verdict v)
{
	switch (v) {
	case ALLOW:
		ends(f, SECCOMP_RET_ALLOW);
		break;
	case ABSENT:
		ends(f, SECCOMP_RET_ERRNO | ENOSYS);
		break;
	case CLONE: // threads and processes, but no namespaces
		load_arg(f, 0);
		put(f, BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET, 0, 1);
		ends(f, REFUSED);
		ends(f, SECCOMP_RET_ALLOW);
		break;
	case BPF:
		bpf_commands(f);
		break;
	case IOCTL: // not what puts words into a terminal as if they were typed, nor what ties a program to an event
		one_of(f, 1, (const u32[]){TIOCSTI, TIOCLINUX, PERF_EVENT_IOC_SET_BPF}, plan.attach ? 2 : 3, REFUSED, SECCOMP_RET_ALLOW);
		break;
	case LIMIT: // our own
		one_of(f, 0, (const u32[]){0}, 1, SECCOMP_RET_ALLOW, REFUSED);
		break;
	case POLICY: // back to what other programs have
		one_of(f, 1, (const u32[]){SCHED_OTHER}, 1, SECCOMP_RET_ALLOW, REFUSED);
		break;
	case SOCKET:
		if (plan.network)
			ends(f, SECCOMP_RET_ALLOW);
		else
			one_of(f, 0, (const u32[]){AF_UNIX}, 1, SECCOMP_RET_ALLOW, REFUSED);
		break;
	case DENY:
		ends(f, REFUSED);
	}
}

struct Range { // of numbers with one verdict: from `start` to the next one's
	u32 start;
	enum Verdict v;
};

// Found by halves: eight steps instead of a hundred, and what the kernel works out beforehand for each number (seccomp_cache_prepare) takes no time.
static void tree(struct Filter *f, const struct Range *r, u32 n)
{
	if (n == 1) {
		leaf(f, r->v);
		return;
	}
	put(f, BPF_JMP | BPF_JGE | BPF_K, r[n / 2].start, 0, 1);
	u32 over = put(f, BPF_JMP | BPF_JA, 0, 0, 0);
	tree(f, r, n / 2);
	f->insns[over].k = f->n - over - 1;
	tree(f, r + n / 2, n - n / 2);
}

static void make_filter(struct Filter *f)
{
	u8 calls[CALLS];
	struct Range ranges[CALLS + 1];
	u32 n = 0;
	verdicts(calls);
	for (u32 i = 0; i < CALLS; i++)
		if (!n || ranges[n - 1].v != (enum Verdict)calls[i])
			ranges[n++] = (struct Range){i, (enum Verdict)calls[i]};
	if (ranges[n - 1].v != ABSENT) // as numbers beyond the table are, x32's too
		ranges[n++] = (struct Range){CALLS, ABSENT};
	f->n = 0;
	put(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	put(f, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
	ends(f, REFUSED);
	put(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	tree(f, ranges, n);
}

static struct err *filter_calls(void)
{
	struct Filter f;
	make_filter(&f);
	struct sock_fprog p = {(unsigned short)f.n, f.insns};
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p) && errno != ENOSYS && errno != EINVAL) // a kernel without it
		return err_errno(errno, "seccomp");
	return NULL;
}

// ---- user and capabilities
static bool have(const struct __user_cap_data_struct *caps, enum Cap c)
{
	return caps[c / 32].effective >> c % 32 & 1;
}

// The real user stays: whose command sonde has started is whom it may tell to end.
static void become_nobody(const struct __user_cap_data_struct *caps)
{
	if (plan.files || geteuid() || !have(caps, CAP_SETUID_BIT) || !have(caps, CAP_SETGID_BIT))
		return;
	if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) || syscall(SYS_setresuid, -1, NOBODY, NOBODY))
		return; // a user namespace without such a user
}

static struct err *keep_capabilities(void)
{
	static const enum Cap kept[] = {CAP_DAC_READ_SEARCH_BIT, CAP_SYS_PTRACE_BIT, CAP_SYSLOG_BIT, CAP_PERFMON_BIT, CAP_BPF_BIT, CAP_CHECKPOINT_RESTORE_BIT};
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct now[2] = {0}, want[2] = {0};
	if (syscall(SYS_capget, &h, now))
		return err_errno(errno, "capget");
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		want[kept[i] / 32].permitted |= 1u << kept[i] % 32;
	if (plan.files)
		want[0].permitted |= 1u << CAP_DAC_OVERRIDE_BIT;
	if (plan.child)
		want[0].permitted |= 1u << CAP_KILL_BIT;
	for (int i = 0; i < 2; i++)
		want[i].effective = want[i].permitted &= now[i].permitted;
	become_nobody(now);
	return syscall(SYS_capset, &h, want) ? err_errno(errno, "capset") : NULL;
}

struct err *privs_drop(void)
{
	int sig = 0, parent = getppid();
	if (!planned)
		return NULL;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_errno(errno, "no_new_privs");
	prctl(PR_GET_PDEATHSIG, &sig); // which a change of credentials takes back
	struct err *e = keep_capabilities();
	if (sig && (prctl(PR_SET_PDEATHSIG, sig) || getppid() != parent))
		raise(sig);
	return e ? e : filter_calls();
}
