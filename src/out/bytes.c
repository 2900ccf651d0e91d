// Strings and numbers as terminals and JSON take them.
// In: any bytes of a traced process. Out: appended to a Str. Invariant: what a terminal gets moves no cursor, what JSON gets is valid.
#include "out/report.h"

size_t shown_len(const char *s, size_t n)
{
	size_t len = utf8_len(s, n);
	u32 c = (u8)s[0] & (len == 1 ? 0x7f : 0xff >> (len + 1));
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((u8)s[i] & 0x3f);
	bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
	bool bidi = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069); // would turn what follows
	return control || bidi || (c & 0xfffe) == 0xfffe ? 0 : len;
}

void str_add_shown(struct Str *out, const char *s, size_t n)
{
	for (size_t i = 0, len; i < n; i += MAX(len, (size_t)1)) {
		len = shown_len(s + i, n - i);
		if (len)
			str_addn(out, s + i, len);
		else
			str_addf(out, "\\x%02x", (u8)s[i]);
	}
}

void str_add_json(struct Str *out, const char *s, size_t n)
{
	str_addc(out, '"');
	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		size_t len = utf8_len(s + i, n - i);
		if (c == '"' || c == '\\')
			str_addf(out, "\\%c", c);
		else if (c == '\n')
			str_add(out, "\\n");
		else if (c == '\r')
			str_add(out, "\\r");
		else if (c == '\t')
			str_add(out, "\\t");
		else if (c < 0x20 || !len)
			str_addf(out, "\\u%04x", c);
		else
			str_addn(out, s + i, len);
		i += MAX(len, (size_t)1);
	}
	str_addc(out, '"');
}

// RFC 8259 leaves numbers beyond a double's precision to luck: such integers become strings.
void str_add_json_uint(struct Str *out, u64 x)
{
	bool exact = x < (1ULL << 53) || ((double)x < 18446744073709551616.0 && (u64)(double)x == x);
	str_addf(out, exact ? "%llu" : "\"%llu\"", (unsigned long long)x);
}

void str_add_json_int(struct Str *out, s64 x)
{
	double d = (double)x;
	bool exact = d < 9223372036854775808.0 && (s64)d == x;
	str_addf(out, exact ? "%lld" : "\"%lld\"", (long long)x);
}
