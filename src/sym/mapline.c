// A line of /proc/PID/maps (proc(5)). Input: the kernel's text. Output: struct MapLine, whose path lies in the line.
#include <ctype.h>
#include "sym/internal.h"

static bool hex(const char **p, const char *end, u64 *out)
{
	u64 v = 0;
	const char *s = *p;
	for (; s < end && isxdigit((unsigned char)*s); s++) {
		if (v >> 60)
			return false;
		v = v << 4 | (*s <= '9' ? *s - '0' : (*s | 32) - 'a' + 10);
	}
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

static bool lit(const char **p, const char *end, char c)
{
	return *p < end && *(*p)++ == c;
}

bool mapline_parse(const char *p, size_t n, struct MapLine *out)
{
	const char *end = p + n;
	u64 major, minor;
	*out = (struct MapLine){0};
	if (!hex(&p, end, &out->start) || !lit(&p, end, '-') || !hex(&p, end, &out->end) || !lit(&p, end, ' ') || out->end <= out->start)
		return false;
	if (end - p < 5 || p[4] != ' ')
		return false;
	out->exec = p[2] == 'x';
	p += 5;
	if (!hex(&p, end, &out->off) || !lit(&p, end, ' ') || !hex(&p, end, &major) || !lit(&p, end, ':') || !hex(&p, end, &minor) ||
	    !lit(&p, end, ' '))
		return false;
	out->major = major;
	out->minor = minor;
	if (p == end || !isdigit((unsigned char)*p))
		return false;
	for (; p < end && isdigit((unsigned char)*p); p++)
		out->ino = out->ino * 10 + (*p - '0');
	while (p < end && *p == ' ')
		p++;
	out->path = p;
	out->path_len = end - p;
	return true;
}
