// What this process may do, and where it is: its capabilities (capabilities(7)), its access to files, its pid namespace.
#ifndef SONDE_CAPS_H
#define SONDE_CAPS_H
#include "base/base.h"

enum Cap { CAP_DAC_OVERRIDE_BIT = 1, CAP_DAC_READ_SEARCH_BIT = 2, CAP_SYS_PTRACE_BIT = 19, CAP_SYS_ADMIN_BIT = 21, CAP_SYSLOG_BIT = 34, CAP_PERFMON_BIT = 38, CAP_BPF_BIT = 39,
	   CAP_CHECKPOINT_RESTORE_BIT = 40 };
bool cap_have(enum Cap c); // in the effective set, or one that includes it. /proc that cannot be read: true
const char *cap_lacking(enum Cap c); // "" or " (needs CAP_NAME)", the end of a message about what was refused; static
// access(2) by the rights the process uses, which those of a binary with file capabilities are; access(2) asks for the real user's.
bool can_access(const char *path, int mode);
bool own_pid_namespace(u64 *dev, u64 *ino); // as bpf_get_ns_current_pid_tgid wants it; false and zeros: the initial one
#endif
