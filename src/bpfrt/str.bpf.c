// Strings and buckets for generated code: see rt.h for what each function takes and gives.
// Invariant: no access beyond the given capacities; every loop is bounded by RT_STR_MAX, or by bpf_loop. A position that a loop found is
// returned through rt_forget(): otherwise the verifier would walk the rest of the program once for every position it can have.
#include "bpfrt/rt.h"

#ifdef RT_HOST
#define NO_UNROLL
#else
#define NO_UNROLL _Pragma("clang loop unroll(disable)")
#endif

RT_FN u64 rt_strlen(const char *p, u64 cap)
{
	u64 i;
	NO_UNROLL
	for (i = 0; i < RT_STR_MAX; i++)
		if (i >= cap || !p[i])
			break;
	return rt_forget(i);
}

// ---- eight bytes at a time, for long texts: the verifier takes 8,192 branches in a row, which are eight comparisons of 1,024 bytes byte by byte
//
// The buffers are in maps, where any alignment will do.
static RT_INLINE u64 word_at(const char *p)
{
#ifdef RT_HOST
	u64 v;
	__builtin_memcpy(&v, p, 8);
	return v;
#else
	return *(const u64 *)p;
#endif
}

// The lowest bit that is set belongs to the first byte that is zero.
static RT_INLINE u64 zero_byte(u64 w) { return (w - 0x0101010101010101ULL) & ~w & 0x8080808080808080ULL; }
static RT_INLINE u64 lowest(u64 v) { return v & -v; }

RT_FN u64 rt_strlen_long(const char *p, u64 cap)
{
	u64 i = 0, zero = 0;
	NO_UNROLL
	for (u64 n = 0; n < RT_STR_MAX / 8 && i + 8 <= cap; n++) {
		zero = zero_byte(word_at(p + i));
		if (zero)
			break;
		i += 8;
	}
	if (zero)
		return rt_forget(i + ((lowest(zero) >> 7) * 0x0001020304050607ULL >> 56));
	NO_UNROLL
	for (u64 n = 0; n < 8; n++) {
		if (i >= cap || !p[i])
			break;
		i++;
	}
	return rt_forget(i);
}

RT_FN u64 rt_streq_long(const char *a, u64 acap, const char *b, u64 bcap)
{
	u64 i = 0, end = acap < bcap ? acap : bcap;
	NO_UNROLL
	for (u64 n = 0; n < RT_STR_MAX / 8 && i + 8 <= end; n++) {
		u64 wa = word_at(a + i), differs = wa ^ word_at(b + i), zero = zero_byte(wa);
		if (differs)
			return zero && lowest(zero) < lowest(differs); // in an earlier byte
		if (zero)
			return 1;
		i += 8;
	}
	NO_UNROLL
	for (u64 n = 0; n < 8; n++) {
		char ca = i < acap ? a[i] : 0, cb = i < bcap ? b[i] : 0;
		if (ca != cb)
			return 0;
		if (!ca)
			return 1;
		i++;
	}
	return 1;
}

RT_FN u64 rt_streq(const char *a, u64 acap, const char *b, u64 bcap)
{
	NO_UNROLL
	for (u64 i = 0; i < RT_STR_MAX; i++) {
		char ca = i < acap ? a[i] : 0, cb = i < bcap ? b[i] : 0;
		if (ca != cb)
			return 0;
		if (!ca)
			return 1;
	}
	return 1;
}

RT_FN s64 rt_strncmp(const char *a, const char *b, u64 n)
{
	s64 diff = 0;
	NO_UNROLL
	for (u64 i = 0; i < RT_STR_MAX; i++) {
		if (i >= n)
			break;
		u8 ca = (u8)a[i], cb = (u8)b[i];
		diff = (s64)ca - cb;
		if (diff || !ca)
			break;
	}
	return diff;
}

RT_FN s64 rt_memcmp(const void *a, const void *b, u64 n)
{
	const u8 *pa = a, *pb = b;
	s64 diff = 0;
	NO_UNROLL
	for (u64 i = 0; i < RT_STR_MAX; i++) {
		if (i >= n)
			break;
		diff = (s64)pa[i] - pb[i];
		if (diff)
			break;
	}
	return diff;
}

// ---- strstr

enum Found { FOUND_NOT, FOUND_HERE, FOUND_NEVER }; // NEVER: the text ended, later positions cannot match either

// Does the needle begin at hay[at]?
static RT_INLINE enum Found match_at(const char *hay, u64 haycap, const char *needle, u64 needlecap, u64 at)
{
	NO_UNROLL
	for (u64 j = 0; j < RT_STR_MAX; j++) {
		char c = j < needlecap ? needle[j] : 0;
		if (!c)
			return FOUND_HERE;
		u64 k = at + j;
		RT_BARRIER(k); // one register for the check and the access
		if (k >= haycap || !hay[k])
			return FOUND_NEVER;
		if (hay[k] != c)
			return FOUND_NOT;
	}
	return FOUND_HERE;
}

RT_FN s64 rt_strstr(const char *hay, u64 haycap, const char *needle, u64 needlecap)
{
	u64 i;
	NO_UNROLL
	for (i = 0; i < RT_STR_MAX; i++) {
		enum Found f = match_at(hay, haycap, needle, needlecap, i);
		if (f == FOUND_HERE)
			return (s64)rt_forget(i);
		if (f == FOUND_NEVER)
			return -1;
	}
	return -1;
}

// The same, one comparison a step. The state is one number, position in hay and in needle, so that all steps look alike to the verifier.
#define POS_MASK 0x7ff // positions have 11 bits
struct StrstrCtx {
	const char *hay, *needle;
	u64 haycap, needlecap;
	u64 state;
	s64 found;
};

static RT_INLINE u8 char_at(const char *p, u64 cap, u64 i)
{
	RT_BARRIER(i); // one register for the check and the access
	return i < cap ? (u8)p[i] : 0;
}

static long strstr_step(u64 i, void *ctx)
{
	struct StrstrCtx *c = ctx;
	u64 at = c->state & POS_MASK, n = c->state >> 11 & POS_MASK;
	u8 want = char_at(c->needle, c->needlecap, n), have = char_at(c->hay, c->haycap, at + n);
	if (!want) {
		c->found = (s64)at;
		return 1;
	}
	if (!have) // the text ended: later positions cannot match either
		return 1;
	c->state = rt_forget(want == have ? at | (n + 1) << 11 : at + 1);
	return 0;
}

RT_FN s64 rt_strstr_loop(const char *hay, u64 haycap, const char *needle, u64 needlecap)
{
	struct StrstrCtx c = {.hay = hay, .needle = needle, .haycap = haycap, .needlecap = needlecap, .state = rt_forget(0), .found = -1};
	bpf_loop(RT_STR_MAX * (RT_STR_MAX + 1), strstr_step, &c, 0);
	return c.found;
}

// ---- glob: one step looks at one character of the pattern; after a mismatch it goes back to the last * and lets that take one more
// character. The whole state is one number, so that all steps look alike to the verifier.

struct GlobCtx {
	const char *s, *pat;
	u64 scap, patcap;
	u64 state;
	u64 result;
};
#define GLOB_STATE(si, pi, star_s, star_p, set, neg, hit)                                                              \
	((si) | (pi) << 11 | (star_s) << 22 | (star_p) << 33 | (set) << 44 | (u64)(neg) << 55 | (u64)(hit) << 56)

static RT_INLINE long glob_goto(struct GlobCtx *c, u64 state)
{
	c->state = rt_forget(state);
	return 0;
}

// 1: decided, c->result tells.
static long glob_step(u64 i, void *ctx)
{
	struct GlobCtx *c = ctx;
	u64 st = c->state;
	u64 si = st & POS_MASK, pi = st >> 11 & POS_MASK; // in the text, in the pattern
	u64 star_s = st >> 22 & POS_MASK, star_p = st >> 33 & POS_MASK; // where to go back to; star_p 0: nowhere, else after the *
	u64 set = st >> 44 & POS_MASK; // inside [...]: next character, counted from the '['; 0: outside
	bool neg = st >> 55 & 1, hit = st >> 56 & 1;
	u8 ch = char_at(c->s, c->scap, si), p = char_at(c->pat, c->patcap, pi + set);
	bool ok;

	if (set) {
		if (p == ']' && set > 1u + neg) { // "]" right after "[" or "[!" is a member
			ok = hit != neg;
			pi += set + 1;
		} else if (p) {
			u8 to = char_at(c->pat, c->patcap, pi + set + 2);
			if (set == 1 && (p == '!' || p == '^'))
				return glob_goto(c, GLOB_STATE(si, pi, star_s, star_p, 2ull, 1, 0));
			if (char_at(c->pat, c->patcap, pi + set + 1) == '-' && to && to != ']')
				return glob_goto(c, GLOB_STATE(si, pi, star_s, star_p, set + 3, neg, hit | (p <= ch && ch <= to)));
			return glob_goto(c, GLOB_STATE(si, pi, star_s, star_p, set + 1, neg, hit | (p == ch)));
		} else { // never closed: an ordinary character
			ok = ch == '[';
			pi++;
		}
	} else if (p == '*') {
		return glob_goto(c, GLOB_STATE(si, pi + 1, si, pi + 1, 0ull, 0, 0));
	} else if (!ch) { // text over: the pattern must be, too
		c->result = !p;
		return 1;
	} else if (p == '[') {
		return glob_goto(c, GLOB_STATE(si, pi, star_s, star_p, 1ull, 0, 0));
	} else {
		ok = p && (p == ch || p == '?');
		pi++;
	}
	if (ok)
		return glob_goto(c, GLOB_STATE(si + 1, pi, star_s, star_p, 0ull, 0, 0));
	if (!star_p)
		return 1;
	return glob_goto(c, GLOB_STATE(star_s + 1, star_p, star_s + 1, star_p, 0ull, 0, 0));
}

RT_FN u64 rt_globmatch(const char *s, u64 scap, const char *pat, u64 patcap)
{
	struct GlobCtx c = {.s = s, .pat = pat, .scap = scap, .patcap = patcap, .state = rt_forget(0)};
	bpf_loop((RT_STR_MAX + 1) * (RT_STR_MAX + 1), glob_step, &c, 0);
	return c.result;
}

// ---- buckets

RT_FN u64 rt_log2_hist(u64 val, u64 k)
{
	u64 v = val, l = 0;
	RT_BOUND(k, 5);
	if ((s64)val < 0)
		return 0;
	if (val >> k == 0)
		return val + 1;
	if (v >> 32) {
		l += 32;
		v >>= 32;
	}
	if (v >> 16) {
		l += 16;
		v >>= 16;
	}
	if (v >> 8) {
		l += 8;
		v >>= 8;
	}
	if (v >> 4) {
		l += 4;
		v >>= 4;
	}
	if (v >> 2) {
		l += 2;
		v >>= 2;
	}
	l += v >> 1;
	l -= k;
	return ((l + 1) << k) + (val >> l & ((1ULL << k) - 1)) + 1;
}

RT_FN u64 rt_lhist(s64 val, s64 min, s64 max, s64 step)
{
	if (val < min)
		return 0;
	if (val > max)
		val = max;
	return 1 + ((u64)val - (u64)min) / (u64)step;
}
