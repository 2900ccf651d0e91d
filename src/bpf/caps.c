// May we load tracing programs? Input: this process's capabilities, seccomp state, the kernel's lockdown mode; output: an error that
// says what is missing and what to do, or NULL. Invariant: only facts the kernel tells (proc(5), capabilities(7), lockdown(7)).
#include "bpf/bpf.h"
#include <errno.h>
#include <linux/bpf.h>
#include <sys/stat.h>

enum { CAP_SYS_ADMIN_BIT = 21, CAP_PERFMON_BIT = 38, CAP_BPF_BIT = 39 };

// Value of "Field:\t..." in /proc/self/status, base 16 or 10; 0 when absent.
static u64 status_field(const char *status, const char *field, int base)
{
	const char *p = strstr(status, field);
	return p ? strtoull(p + strlen(field), NULL, base) : 0;
}

static bool in_user_namespace(void)
{
	struct Str s = {0};
	struct err *e = read_file("/proc/self/uid_map", &s, 4096);
	unsigned long in = 0, out = 0, n = 0;
	bool initial = e || (sscanf(str_text(&s), "%lu %lu %lu", &in, &out, &n) == 3 && in == 0 && out == 0 && n == 4294967295UL);
	err_free(e);
	str_deinit(&s);
	return !initial;
}

static bool lockdown_confidentiality(void)
{
	struct Str s = {0};
	struct err *e = read_file("/sys/kernel/security/lockdown", &s, 256); // absent: no lockdown, or securityfs not mounted
	bool yes = !e && strstr(str_text(&s), "[confidentiality]");
	err_free(e);
	str_deinit(&s);
	return yes;
}

// The smallest tracing program: 0 or -errno.
static int try_load(void)
{
	static const struct BpfInsn insns[] = {
		{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0},
		{BPF_JMP | BPF_EXIT, 0, 0, 0},
	};
	struct SysProg p = {.type = BPF_PROG_TYPE_TRACEPOINT, .insns = insns, .ninsns = 2, .license = "Dual BSD/GPL", .name = "sonde_probe"};
	int fd = sys_prog_load(&p);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

// 0xEFFFFFFC is PROC_PID_INIT_INO of include/linux/proc_ns.h.
bool own_pid_namespace(u64 *dev, u64 *ino)
{
	struct stat ns;
	bool nested = !stat("/proc/self/ns/pid", &ns) && ns.st_ino != 0xEFFFFFFCu;
	*dev = nested ? ns.st_dev : 0;
	*ino = nested ? ns.st_ino : 0;
	return nested;
}

struct err *feature_need_caps(void)
{
	struct Str s = {0};
	struct err *e = read_file("/proc/self/status", &s, 1 << 16);
	if (e)
		return err_wrap(e, "cannot tell which capabilities sonde has (is /proc mounted?)");
	u64 caps = status_field(str_text(&s), "\nCapEff:", 16);
	u64 seccomp = status_field(str_text(&s), "\nSeccomp:", 10);
	str_deinit(&s);

	bool admin = caps >> CAP_SYS_ADMIN_BIT & 1, bpf = caps >> CAP_BPF_BIT & 1, perfmon = caps >> CAP_PERFMON_BIT & 1;
	if (!admin && !(bpf && perfmon))
		return err_new("sonde needs root, or the capabilities CAP_BPF and CAP_PERFMON (missing: %s): run it with sudo, "
			       "or give them with 'setcap cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace+ep' on the sonde binary",
			       bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "both");
	int r = try_load();
	if (r == -ENOSYS)
		return err_new("this kernel has no bpf() system call: it must be built with CONFIG_BPF_SYSCALL=y");
	if (r == -EPERM && in_user_namespace())
		return err_new("the kernel refuses BPF programs in a user namespace (rootless container): run sonde as root of the host");
	if (r == -EPERM && seccomp == 2)
		return err_new("a seccomp filter forbids the bpf() system call: in a container, start it with --privileged, "
			       "or with --cap-add=SYS_ADMIN --security-opt seccomp=unconfined");
	if (lockdown_confidentiality())
		return err_new("kernel lockdown is in mode 'confidentiality', which forbids reading kernel memory from BPF: boot with "
			       "lockdown=integrity or lockdown=none (with Secure Boot, the distribution may choose the mode)");
	if (r < 0)
		return err_errno(-r, "the kernel refuses even the smallest tracing program (a security module, or CONFIG_BPF_EVENTS=n?)");
	return NULL;
}
