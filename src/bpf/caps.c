// May we load tracing programs? Input: this process's capabilities, seccomp state, the kernel's lockdown mode; output: an error that
// says what is missing and what to do, or NULL. Invariant: only facts the kernel tells (proc(5), capabilities(7), lockdown(7)).
#include "base/base.h"
#include "bpf/bpf.h"
#include <errno.h>
#include <linux/bpf.h>
#include <sys/stat.h>

// What the tools can use; man/sonde.1 and README.md name the same.
#define ALL_CAPS "cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace,cap_syslog,cap_checkpoint_restore"

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

static struct err *need_caps(const char *missing)
{
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[MAX(n, 0)] = 0;
	return err_new("sonde needs root, or the capabilities CAP_BPF and CAP_PERFMON (missing: %s): run it with sudo, or give its binary all that it "
		       "can use: setcap " ALL_CAPS "+ep %s; 'man sonde' says what each is for", missing, n > 0 ? self : "sonde");
}

void caps_print(FILE *out)
{
	static const struct {
		enum Cap cap;
		const char *name, *without;
	} useful[] = {
		{CAP_DAC_READ_SEARCH_BIT, "CAP_DAC_READ_SEARCH", "no tracepoints, so no offcputime, offwaketime, wakeuptime; no files that this user may not read"},
		{CAP_SYS_PTRACE_BIT, "CAP_SYS_PTRACE", "one-frame stacks of other users' processes"},
		{CAP_SYSLOG_BIT, "CAP_SYSLOG", "no kaddr(), and some kernel frames without a name"},
		{CAP_CHECKPOINT_RESTORE_BIT, "CAP_CHECKPOINT_RESTORE", "no names from files that were deleted or replaced while they run"},
	};
	for (u32 i = 0; i < ARRAY_LEN(useful); i++)
		if (!cap_have(useful[i].cap))
			fprintf(out, "  without %s: %s\n", useful[i].name, useful[i].without);
}

struct err *feature_need_caps(void)
{
	struct Str s = {0};
	struct err *e = read_file("/proc/self/status", &s, 1 << 16);
	if (e)
		return err_wrap(e, "cannot tell which capabilities sonde has (is /proc mounted?)");
	u64 seccomp = status_field(str_text(&s), "\nSeccomp:", 10);
	str_deinit(&s);

	bool bpf = cap_have(CAP_BPF_BIT), perfmon = cap_have(CAP_PERFMON_BIT);
	if (!bpf || !perfmon)
		return need_caps(bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "both");
	int r = try_load();
	if (r == -ENOSYS)
		return err_new("this kernel has no bpf() system call: it must be built with CONFIG_BPF_SYSCALL=y");
	if (r == -EPERM && in_user_namespace())
		return err_new("the kernel refuses BPF programs in a user namespace (rootless container): run sonde as root of the host, or have the host "
			       "mount a bpffs that delegates to this namespace (Linux 6.9) and name it with LIBBPF_BPF_TOKEN_PATH");
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
