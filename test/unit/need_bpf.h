// Tests that need the bpf system call: skipped, with the reason, where it may not be used.
#ifndef NEED_BPF_H
#define NEED_BPF_H
#include "bpf/bpf.h"
#include "t.h"

static const char *no_bpf(void)
{
	static char why[400];
	struct err *e = feature_need_caps();
	if (!e)
		return NULL;
	snprintf(why, sizeof(why), "%s", err_text(e));
	err_free(e);
	return why;
}
#define NEED_BPF()                                                                                                     \
	do {                                                                                                           \
		if (no_bpf())                                                                                          \
			SKIP(no_bpf());                                                                                \
	} while (0)

static inline void no_error(struct err *e)
{
	if (e)
		T_FAIL("%s", err_text(e));
	err_free(e);
}
#endif
