// Texts of code objects as their processes had them. Input: bytes. Output: UTF-8. Invariant: whatever a process holds, a text is bounded and well-formed.
#include "runtime/internal.h"

static void add_utf8(struct Str *out, u32 c)
{
	if (c < 0x80) {
		str_addc(out, (char)c);
	} else if (c < 0x800) {
		str_addc(out, (char)(0xc0 | c >> 6));
		str_addc(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		str_addc(out, (char)(0xe0 | c >> 12));
		str_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
		str_addc(out, (char)(0x80 | (c & 0x3f)));
	} else {
		str_addc(out, (char)(0xf0 | (c >> 18 & 7)));
		str_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		str_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
		str_addc(out, (char)(0x80 | (c & 0x3f)));
	}
}

// n bytes, characters of `width` bytes each (0: ASCII). What is no character becomes U+FFFD.
void runtime_add_text(struct Str *out, const u8 *p, u32 n, u32 width)
{
	u32 step = width == 2 || width == 4 ? width : 1;
	for (u32 i = 0; i + step <= n; i += step) {
		u32 c = 0;
		memcpy(&c, p + i, step);
		add_utf8(out, !c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || (!width && c > 0x7f) ? 0xfffd : c);
	}
}

void runtime_add_bytes(struct Str *out, const u8 *p, u32 n)
{
	for (u32 i = 0, len; i < n; i += len) {
		len = (u32)utf8_len((const char *)p + i, n - i);
		if (len && p[i])
			str_addn(out, (const char *)p + i, len);
		else
			add_utf8(out, 0xfffd);
		len = MAX(len, 1u);
	}
}

void runtime_file_bytes(const struct RtCode *c, struct Str *out)
{
	if (c->file_len >= RT_CODE_FILE) // its end
		str_add(out, "...");
	runtime_add_bytes(out, c->file, MIN(c->file_len, RT_CODE_FILE));
}
