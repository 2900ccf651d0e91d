// See base.h. In: /proc/self/status (proc(5)). Out: yes or no.
#include "base/base.h"
#include <fcntl.h>
#include <sys/stat.h>

static u64 effective(void)
{
	struct Str s = {0};
	struct err *e = read_file("/proc/self/status", &s, 1 << 16);
	const char *p = e ? NULL : strstr(str_text(&s), "\nCapEff:");
	u64 caps = p ? strtoull(p + strlen("\nCapEff:"), NULL, 16) : ~0ull;
	err_free(e);
	str_deinit(&s);
	return caps;
}

bool cap_have(enum Cap c)
{
	u64 caps = effective();
	if (c == CAP_DAC_READ_SEARCH_BIT)
		return caps >> c & 1 || caps >> CAP_DAC_OVERRIDE_BIT & 1;
	bool by_admin = c == CAP_BPF_BIT || c == CAP_PERFMON_BIT || c == CAP_CHECKPOINT_RESTORE_BIT; // include/linux/capability.h
	return caps >> c & 1 || (by_admin && caps >> CAP_SYS_ADMIN_BIT & 1);
}

const char *cap_lacking(enum Cap c)
{
	static const char *const text[] = {
		[CAP_DAC_READ_SEARCH_BIT] = " (needs CAP_DAC_READ_SEARCH)", [CAP_SYS_PTRACE_BIT] = " (needs CAP_SYS_PTRACE)",
		[CAP_SYSLOG_BIT] = " (needs CAP_SYSLOG)", [CAP_CHECKPOINT_RESTORE_BIT] = " (needs CAP_CHECKPOINT_RESTORE)",
		[CAP_BPF_BIT] = " (needs CAP_BPF)", [CAP_PERFMON_BIT] = " (needs CAP_PERFMON)", [CAP_SYS_ADMIN_BIT] = " (needs CAP_SYS_ADMIN)"};
	return cap_have(c) ? "" : text[c];
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

bool can_access(const char *path, int mode)
{
	return !faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}
