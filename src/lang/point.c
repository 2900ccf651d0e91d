// Names of the probe kinds.
#include "lang/internal.h"

const char *probe_kind_name(enum ProbeKind k)
{
	static const char *const names[PK_KINDS] = {
		[PK_BEGIN] = "begin",
		[PK_END] = "end",
		[PK_SELF] = "self",
		[PK_TEST] = "test",
		[PK_BENCH] = "bench",
		[PK_KPROBE] = "kprobe",
		[PK_KRETPROBE] = "kretprobe",
		[PK_FENTRY] = "fentry",
		[PK_FEXIT] = "fexit",
		[PK_TRACEPOINT] = "tracepoint",
		[PK_RAWTP] = "rawtracepoint",
		[PK_UPROBE] = "uprobe",
		[PK_URETPROBE] = "uretprobe",
		[PK_USDT] = "usdt",
		[PK_PROFILE] = "profile",
		[PK_INTERVAL] = "interval",
		[PK_SOFTWARE] = "software",
		[PK_HARDWARE] = "hardware",
		[PK_WATCHPOINT] = "watchpoint",
		[PK_ASYNCWATCHPOINT] = "asyncwatchpoint",
		[PK_ITER] = "iter",
	};
	assert(k < PK_KINDS);
	return names[k];
}
