// JSON that programs left in files. In: bytes of a file, as they are. Out: spans of them, texts. Invariant: nothing outside the span is read, whatever it holds; depth costs no stack.
#include "run/run.h"

static const char *past_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

// p is at a quote. NULL: there is no other.
static const char *past_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p < end ? p + 1 : NULL;
}

// p is at a value's first character.
static const char *past_value(const char *p, const char *end)
{
	size_t depth = 0;
	while (p && p < end) {
		if (*p == '"')
			p = past_string(p, end);
		else if (*p == '{' || *p == '[') {
			depth++;
			p++;
		} else if (*p == '}' || *p == ']') {
			if (!depth)
				return p;
			depth--;
			p++;
		} else if (!depth && (*p == ',' || *p == ':'))
			return p;
		else {
			p++;
			continue;
		}
		if (!depth)
			return p;
	}
	return depth ? NULL : p;
}

struct Json json_of(const char *text, size_t n)
{
	return (struct Json){past_space(text, text + n), text + n};
}

bool json_is(struct Json v, char open)
{
	return v.p && v.p < v.end && *v.p == open;
}

bool json_next(struct Json *of, struct Str *key, struct Json *value)
{
	const char *end = of->end, *p = of->p ? past_space(of->p, end) : end;
	bool first = p < end && (*p == '{' || *p == '['), named;
	if (p == end || (!first && *p != ','))
		return false;
	named = first ? *p == '{' : false;
	p = past_space(p + 1, end);
	const char *after = p < end && *p == '"' ? past_string(p, end) : NULL, *colon = after ? past_space(after, end) : NULL;
	named |= colon && colon < end && *colon == ':'; // after the first member only the colon tells
	str_reset(key);
	if (named) {
		if (!colon || colon == end || *colon != ':' || !json_text((struct Json){p, after}, key))
			return false;
		p = past_space(colon + 1, end);
	}
	const char *last = p < end && *p != '}' && *p != ']' && *p != ',' ? past_value(p, end) : NULL;
	*value = (struct Json){p, last};
	of->p = last;
	return last != NULL;
}

struct Json json_member(struct Json object, const char *key)
{
	struct Json found = {0}, v;
	struct Str name = {0};
	while (!found.p && json_next(&object, &name, &v))
		if (name.n == strlen(key) && !memcmp(str_text(&name), key, name.n))
			found = v;
	str_deinit(&name);
	return found;
}

static bool hex4(const char *p, const char *end, u32 *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++, p++) {
		int c = p < end ? *p : 0, d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
		if (d < 0)
			return false;
		*out = *out << 4 | (u32)d;
	}
	return true;
}

static void add_utf8(struct Str *out, u32 c)
{
	if (c < 0x80)
		str_addc(out, (char)c);
	else if (c < 0x800)
		str_addf(out, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
	else if (c < 0x10000)
		str_addf(out, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
	else
		str_addf(out, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 63)), (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
}

// *p is behind "\u"; it is left at the last character used. A surrogate alone is U+FFFD.
static bool add_escaped_char(const char **p, const char *end, struct Str *out)
{
	u32 c, low;
	if (!hex4(*p, end, &c))
		return false;
	*p += 3;
	if (c >= 0xd800 && c < 0xdc00 && end - *p > 6 && (*p)[1] == '\\' && (*p)[2] == 'u' && hex4(*p + 3, end, &low) && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		*p += 6;
	}
	add_utf8(out, !c || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c); // no text of ours holds a zero byte
	return true;
}

bool json_text(struct Json v, struct Str *out)
{
	static const char from[] = "bfnrt\"\\/", to[] = "\b\f\n\r\t\"\\/";
	if (!json_is(v, '"'))
		return false;
	for (const char *p = v.p + 1; p < v.end && *p != '"'; p++) {
		if (*p != '\\') {
			str_addc(out, *p ? *p : '?');
			continue;
		}
		const char *at = ++p < v.end && *p ? strchr(from, *p) : NULL;
		if (at)
			str_addc(out, to[at - from]);
		else if (p < v.end && *p == 'u') {
			p++;
			if (!add_escaped_char(&p, v.end, out))
				return false;
		} else
			return false;
	}
	return true;
}
