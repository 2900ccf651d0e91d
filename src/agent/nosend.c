// Instead of send.c where there is no libcurl: static builds and small ones. Profiles go to files then, and metrics to who reads them.
#include "agent/internal.h"

struct err *send_open(const struct SendOpts *o)
{
	return err_new("this sonde was built without libcurl and cannot send: write files with --dir, serve metrics with --prometheus");
}

void send_step(struct Spool *s, struct Destination *d, u32 n, u64 now_ns)
{
}

bool send_busy(const struct Destination *d, u32 n)
{
	return false;
}

u64 send_next(const struct Destination *d, u32 n)
{
	return 0;
}

u32 send_fds(struct pollfd *fds, u32 max)
{
	return 0;
}

void send_close(struct Destination *d, u32 n)
{
	for (u32 i = 0; i < n; i++)
		free(d[i].url);
}
