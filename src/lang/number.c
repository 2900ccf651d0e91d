// Integer literals: text -> value.
#include "lang/internal.h"
#include <ctype.h>

int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

bool mul_add(u64 *v, u64 mul, u64 add)
{
	return !__builtin_mul_overflow(*v, mul, v) && !__builtin_add_overflow(*v, add, v);
}

struct Suffix {
	char text[4];
	u64 factor;
};

static u64 duration_factor(const char *s, size_t n)
{
	static const struct Suffix durations[] = {
		{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000},
	};
	for (size_t i = 0; i < ARRAY_LEN(durations); i++)
		if (strlen(durations[i].text) == n && !strncmp(durations[i].text, s, n))
			return durations[i].factor;
	return 0;
}

// Suffixes: C's say nothing here, a duration is a number of nanoseconds.
static u64 suffix_factor(const char *s, size_t n, bool decimal)
{
	static const struct Suffix suffixes[] = {
		{"", 1}, {"u", 1}, {"l", 1}, {"ul", 1}, {"lu", 1}, {"ll", 1}, {"ull", 1}, {"llu", 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (strlen(suffixes[i].text) == n && !strncasecmp(suffixes[i].text, s, n))
			return suffixes[i].factor;
	return decimal ? duration_factor(s, n) : 0;
}

u64 duration_unit(const char *s, size_t n)
{
	size_t digits = 0;
	while (digits < n && (isdigit((unsigned char)s[digits]) || s[digits] == '_'))
		digits++;
	return digits ? duration_factor(s + digits, n - digits) : 0;
}

static const char overflow[] = "overflow error, maximum value is 18446744073709551615";

const char *parse_int_literal(const char *s, size_t n, u64 *out)
{
	u64 v = 0, base = 10;
	size_t i = 0, first;
	bool over = false;
	if (n > 2 && s[0] == '0' && strchr("xXbB", s[1])) {
		base = (s[1] | 0x20) == 'x' ? 16 : 2;
		i = 2;
	} else if (n > 1 && s[0] == '0' && (isdigit((unsigned char)s[1]) || s[1] == '_')) {
		base = 8;
		i = 1;
	}
	for (first = i; i < n && (s[i] == '_' || digit_value(s[i]) < (int)base); i++)
		if (s[i] != '_')
			over |= !mul_add(&v, base, (u64)digit_value(s[i]));
	if (i < n && base < 10 && isdigit((unsigned char)s[i]))
		return base == 8 ? "invalid octal digit" : "invalid binary digit";
	if (i == first)
		return "invalid integer";
	if (s[i - 1] == '_')
		return "trailing underscore in integer literal";
	if (over)
		return overflow;
	if (base == 10 && i < n && (s[i] == 'e' || s[i] == 'E')) {
		u64 power = 0;
		if (v < 1 || v > 9)
			return "coefficient part of scientific literal must be 1-9";
		for (first = ++i; i < n && (isdigit((unsigned char)s[i]) || s[i] == '_'); i++)
			if (s[i] != '_')
				power = MIN(power * 10 + (u64)(s[i] - '0'), (u64)100);
		if (i == first)
			return "invalid exponent";
		if (s[i - 1] == '_')
			return "trailing underscore in integer literal";
		for (; power; power--)
			if (!mul_add(&v, 10, 0))
				return overflow;
	}
	u64 factor = suffix_factor(s + i, n - i, base == 10);
	if (!factor)
		return "invalid integer suffix";
	if (!mul_add(&v, factor, 0))
		return overflow;
	*out = v;
	return NULL;
}

// A whole number in any base, with a sign or an exponent; no durations: "5m" is text.
bool param_number(const char *s, u64 *v, bool *neg)
{
	*neg = *s == '-';
	s += *neg;
	if (!*s || parse_int_literal(s, strlen(s), v))
		return false;
	if (!*neg)
		return true;
	if (*v > (u64)1 << 63)
		return false;
	*v = 0 - *v;
	*neg = *v != 0;
	return true;
}
