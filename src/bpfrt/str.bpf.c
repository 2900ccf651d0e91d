// Strings and buckets for generated code: see rt.h for what each function takes and gives.
// Invariant: no access beyond the given capacities; every loop is bounded by RT_STR_MAX, or by bpf_loop. A position that a loop found is
// returned through forget(): otherwise the verifier would walk the rest of the program once for every position it can have.
#include "bpfrt/rt.h"

#ifdef RT_HOST
#define NO_UNROLL
#else
#define NO_UNROLL _Pragma("clang loop unroll(disable)")
#endif

// v, but as a number the verifier knows nothing of: a spilled register whose slot is partly overwritten reads back as unknown
// (kernel/bpf/verifier.c, check_stack_write_fixed_off: scrub_spilled_slot).
static RT_INLINE u64 forget(u64 v)
{
	volatile u64 slot = v;
	volatile u8 *top = (volatile u8 *)&slot + 7;
	*top = (u8)(v >> 56);
	return slot;
}

RT_FN u64 rt_strlen(const char *p, u64 cap)
{
	u64 i;
	NO_UNROLL
	for (i = 0; i < RT_STR_MAX; i++)
		if (i >= cap || !p[i])
			break;
	return forget(i);
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
			return (s64)forget(i);
		if (f == FOUND_NEVER)
			return -1;
	}
	return -1;
}

struct StrstrCtx {
	const char *hay, *needle;
	u64 haycap, needlecap;
	s64 found;
};

static long strstr_step(u64 i, void *ctx)
{
	struct StrstrCtx *c = ctx;
	u64 haycap = c->haycap;
	i &= 0x7ff; // bpf_loop passes less than RT_STR_MAX; the verifier does not know
	enum Found f = match_at(c->hay, haycap, c->needle, c->needlecap, i);
	if (f == FOUND_HERE)
		c->found = (s64)i;
	return f != FOUND_NOT;
}

RT_FN s64 rt_strstr_loop(const char *hay, u64 haycap, const char *needle, u64 needlecap)
{
	struct StrstrCtx c = {hay, needle, haycap, needlecap, -1};
	bpf_loop(RT_STR_MAX, strstr_step, &c, 0);
	return c.found;
}

// ---- glob: one step is one look at the pattern; after a mismatch it goes back to the last * and lets that take one more character.

struct GlobCtx {
	const char *s, *pat;
	u64 scap, patcap;
	u64 si, pi;	    // where we are
	u64 star_s, star_p; // where to go back to; star_p 0: no * yet (else position after it)
	u64 result;
};

static RT_INLINE char char_at(const char *p, u64 cap, u64 i)
{
	return i < cap ? p[i] : 0;
}

#define GLOB_SET_MAX 32 // characters of one [...], more never match

// [abc], [a-z], [!a-z] from just after the '['. Sets *end to the position after ']'; 0: no closing bracket.
static RT_INLINE bool set_matches(const char *pat, u64 patcap, u64 pi, char ch, u64 *end)
{
	bool negate = char_at(pat, patcap, pi) == '!', hit = false, range = false;
	u8 prev = 0;
	*end = 0;
	if (negate)
		pi++;
	NO_UNROLL
	for (u64 n = 0; n < GLOB_SET_MAX; n++) {
		u8 c = (u8)char_at(pat, patcap, pi + n), next = (u8)char_at(pat, patcap, pi + n + 1);
		if (!c)
			break;
		if (c == ']' && n) {
			*end = pi + n + 1;
			break;
		}
		if (range) {
			hit |= (u8)ch >= prev && (u8)ch <= c;
			range = false;
		} else if (c == '-' && n && next != ']') {
			range = true;
		} else {
			hit |= c == (u8)ch;
			prev = c;
		}
	}
	return hit != negate;
}

// 1: decided, c->result tells.
static RT_INLINE long glob_step(struct GlobCtx *c)
{
	u64 si = c->si, pi = c->pi, scap = c->scap, patcap = c->patcap;
	char ch, p;
	if (si > RT_STR_MAX || pi > RT_STR_MAX)
		return 1;
	ch = char_at(c->s, scap, si);
	p = char_at(c->pat, patcap, pi);
	if (p == '*') {
		c->star_p = pi + 1;
		c->star_s = si;
		c->pi = pi + 1;
		return 0;
	}
	if (!ch) { // text over: the pattern must be, too
		c->result = !p;
		return 1;
	}
	u64 next = pi + 1;
	bool ok = p == ch || p == '?';
	if (p == '[') {
		u64 end;
		ok = set_matches(c->pat, patcap, pi + 1, ch, &end);
		if (end)
			next = end;
		else
			ok = ch == '['; // no set: the character itself
	}
	if (ok && p) {
		c->si = si + 1;
		c->pi = next;
		return 0;
	}
	if (!c->star_p)
		return 1;
	c->pi = c->star_p;
	c->si = ++c->star_s;
	return 0;
}

static long glob_callback(u64 i, void *ctx)
{
	return glob_step(ctx);
}

RT_FN u64 rt_globmatch(const char *s, u64 scap, const char *pat, u64 patcap)
{
	struct GlobCtx c = {.s = s, .pat = pat, .scap = scap, .patcap = patcap};
	bpf_loop((RT_STR_MAX + 1) * (RT_STR_MAX + 1), glob_callback, &c, 0);
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
