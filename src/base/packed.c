// What is part of sonde and seldom wanted (the tools' scripts, the page's and its style, names of constants; on boards the runtime's instructions), packed when it is built: a quarter of its size.
// In: a gzip file of `make` (RFC 1952). Out: what was packed. Invariant: what was packed is what comes out; anything else is a bug of the build.
#include "base/base.h"
#include <zlib.h>

void *packed_get(const struct Packed *t, u32 *size)
{
	const u8 *end = t->gz + t->n - 4; // its last word is the length
	u32 n = end[0] | (u32)end[1] << 8 | (u32)end[2] << 16 | (u32)end[3] << 24;
	char *text = xmalloc(n + 1);
	z_stream z = {.next_in = (Bytef *)t->gz, .avail_in = (uInt)t->n, .next_out = (Bytef *)text, .avail_out = n};
	if (inflateInit2(&z, 15 + 16 /* gzip */) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END || z.avail_out)
		abort();
	inflateEnd(&z);
	text[n] = 0;
	*size = n;
	return text;
}

void packed_add(struct Str *s, const struct Packed *t)
{
	u32 n;
	char *text = packed_get(t, &n);
	str_addn(s, text, n);
	free(text);
}
