// /etc/ld.so.cache. Input: the file's bytes (glibc sysdeps/generic/dl-cache.h: "glibc-ld.so.cache1.1" tables, perhaps behind the older
// "ld.so-1.7.0" one). Output: soname and path of each library of this machine's ABI, in the file's order (best version first).
// Invariant: offsets that lead outside or to an unterminated string are skipped.
#include "sym/internal.h"

struct Entry {
	s32 flags;
	u32 key, value; // offsets of strings, from the start of the header
	u32 osversion;
	u64 hwcap;
};
_Static_assert(sizeof(struct Entry) == 24, "dl-cache.h struct file_entry_new");

#if defined(__x86_64__)
#define ABI_FLAGS 0x0303 // FLAG_X8664_LIB64 | FLAG_ELF_LIBC6
#elif defined(__aarch64__)
#define ABI_FLAGS 0x0a03
#elif defined(__riscv)
#define ABI_FLAGS 0x1003
#else
#define ABI_FLAGS 0x0003
#endif

#define ABI_FLAGS_32 0x0003 // i386; other machines' 32-bit libraries have flags of their own

static const char *string_at(const u8 *p, size_t n, u32 at)
{
	return at < n && memchr(p + at, 0, n - at) ? (const char *)p + at : NULL;
}

bool ldcache_each(const u8 *p, size_t n, bool bits32, bool (*fn)(void *, const char *soname, const char *path), void *arg)
{
	static const char magic[] = "glibc-ld.so.cache1.1", old_magic[] = "ld.so-1.7.0";
	if (n >= 16 && !memcmp(p, old_magic, sizeof(old_magic) - 1)) {
		u32 nlibs; // struct cache_file: magic[11], padding, unsigned nlibs, entries of 12 bytes, then the new header, 8-aligned
		memcpy(&nlibs, p + 12, 4);
		u64 skip = ALIGN_UP(16 + (u64)nlibs * 12, 8);
		if (skip >= n)
			return false;
		p += skip;
		n -= skip;
	}
	if (n < 48 || memcmp(p, magic, sizeof(magic) - 1))
		return false;
	u32 nlibs;
	memcpy(&nlibs, p + 20, 4);
	for (u64 i = 0; i < nlibs && 48 + (i + 1) * sizeof(struct Entry) <= n; i++) {
		struct Entry e;
		memcpy(&e, p + 48 + i * sizeof(e), sizeof(e));
		const char *key = string_at(p, n, e.key), *value = string_at(p, n, e.value);
		if (e.flags == (bits32 ? ABI_FLAGS_32 : ABI_FLAGS) && key && value && !fn(arg, key, value))
			return true;
	}
	return true;
}
