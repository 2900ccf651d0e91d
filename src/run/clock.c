// Clocks: readings of any of them as times of day, and their texts.
// In: nanoseconds of a CLOCK_*. Out: nanoseconds since 1970, text by strftime(3). Invariant: a clock's distance is taken once a run.
#include "run/run.h"
#include <time.h>

#define NSEC_PER_SEC 1000000000LL

s64 clock_to_wall(struct RunCtx *rc, u32 clock)
{
	if (clock >= ARRAY_LEN(rc->clock_off))
		clock = CLOCK_BOOTTIME;
	if (rc->clock_known & 1u << clock)
		return rc->clock_off[clock];
	s64 best = INT64_MAX;
	for (int i = 0; i < 3; i++) { // the narrowest of three sandwiches
		struct timespec w, c, w2;
		if (clock_gettime(CLOCK_REALTIME, &w) || clock_gettime((clockid_t)clock, &c) || clock_gettime(CLOCK_REALTIME, &w2))
			break;
		s64 t = w.tv_sec * NSEC_PER_SEC + w.tv_nsec, t2 = w2.tv_sec * NSEC_PER_SEC + w2.tv_nsec;
		if (t2 - t < best) {
			best = t2 - t;
			rc->clock_off[clock] = t + (t2 - t) / 2 - (c.tv_sec * NSEC_PER_SEC + c.tv_nsec);
		}
	}
	if (clock == CLOCK_TAI) // whole seconds: no jitter from the reading
		rc->clock_off[clock] = (rc->clock_off[clock] - NSEC_PER_SEC / 2) / NSEC_PER_SEC * NSEC_PER_SEC;
	rc->clock_known |= 1u << clock;
	return rc->clock_off[clock];
}

void strftime_text(struct RunCtx *rc, const char *fmt, u32 clock, u64 nsecs, struct Str *out)
{
	s64 wall = (s64)(nsecs + (clock == CLOCK_REALTIME ? 0 : (u64)clock_to_wall(rc, clock)));
	time_t sec = (time_t)(wall / NSEC_PER_SEC);
	u32 frac = (u32)(wall % NSEC_PER_SEC);
	struct tm tm;
	struct Str f = {0};
	if (wall < NSEC_PER_SEC || !localtime_r(&sec, &tm)) {
		str_add(out, "(?)");
		return;
	}
	for (const char *p = fmt; *p; p++) {
		if (p[0] == '%' && p[1] == 'f')
			str_addf(&f, "%06u", frac / 1000), p++;
		else if (p[0] == '%' && p[1] == 'k')
			str_addf(&f, "%09u", frac), p++;
		else if (p[0] == '%' && p[1] == 'l')
			str_addf(&f, "%03u", frac / 1000000), p++;
		else if (p[0] == '%' && p[1])
			str_addn(&f, p++, 2);
		else
			str_addc(&f, *p);
	}
	char buf[1024];
	size_t n = strftime(buf, sizeof(buf), str_text(&f), &tm);
	str_add(out, n ? buf : f.n ? "(?)" : "");
	str_deinit(&f);
}
