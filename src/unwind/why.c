// Why user stacks end early: words for enum RtWhy, and the report of --why-incomplete.
#include "unwind/internal.h"

static const char *const texts[RT_WHYS] = {
	[RT_WHY_OK] = "",
	[RT_WHY_NO_PROC] = "the process was not known yet",
	[RT_WHY_NO_MAPPING] = "code outside every known file, without frame pointers",
	[RT_WHY_NO_TABLE] = "unwind table not ready",
	[RT_WHY_BAD_READ] = "stack memory could not be read",
	[RT_WHY_BAD_CFA] = "frame address out of order",
	[RT_WHY_NO_RULE] = "unwind rule needs a register that is lost",
	[RT_WHY_FP_END] = "frame pointer chain broken",
	[RT_WHY_LIMIT] = "deeper than the frame limit",
	[RT_WHY_KTHREAD] = "kernel thread",
	[RT_WHY_EXITING] = "the process is exiting and has no memory any more",
};

const char *why_text(u32 why)
{
	return why < RT_WHYS ? texts[why] : "unknown reason";
}
