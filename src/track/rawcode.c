// Files with code that are no ELF files: a JIT compiler's own, deleted, mapped to be written and once more to be run (ORC's, of GStreamer and PulseAudio). Input: the file.
// Output: its bytes as code without tables, whose instructions tell (unwind/flow.c). Such a file grows while it is mapped, so it is looked at again (tables.c).
// Invariant: only so many small files are read again, each so often at most, and ever more seldom while it stays as it is; what is no code has no rows.
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "track/internal.h"

#define FILE_MAX (1u << 18)
#define BASE 0x100000ull // where it is taken to lie: address 0 is nobody's
#define TIMES 64	 // it is built, at most
#define NUMBER 8	 // bytes of one that may end the last instruction, and be 0
#define FILES 64	 // that are looked at again, at most
#define SOONEST_NS 100000000ull
#define SELDOM_NS 400000000ull

// A small regular file's bytes, n of them. NULL: it is none, or closed.
static u8 *read_all(int fd, u64 *n)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size || st.st_size > FILE_MAX)
		return NULL;
	u8 *p = xmalloc((size_t)st.st_size);
	ssize_t got = pread(fd, p, (size_t)st.st_size, 0);
	*n = got > 0 ? (u64)got : 0;
	if (*n)
		return p;
	free(p);
	return NULL;
}

static u64 hash_of(const u8 *p, u64 n)
{
	u64 h = n;
	for (u64 i = 0, word = 0; i < n; i += sizeof(word)) {
		memcpy(&word, p + i, MIN(n - i, sizeof(word)));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

struct UwMade *rawcode_read(struct RawFiles *v, struct SymObject *o)
{
	u64 n;
	u8 *p = read_all(o->fd, &n);
	if (!p)
		return NULL;
	struct RawFile *r = NULL;
	for (size_t i = 0; i < v->v.n && !r; i++)
		r = v->v.p[i].obj == o ? &v->v.p[i] : NULL;
	if (!r && v->v.n < FILES) {
		vec_push(&v->v, ((struct RawFile){.obj = o, .wait_ns = SOONEST_NS}));
		r = &vec_last(&v->v);
	}
	if (r) {
		r->hash = hash_of(p, n);
		r->times++;
	}
	struct UwMade *m = xcalloc(1, sizeof(*m));
	struct ElfCfi c = {.file = {.fd = -1, .mem = p, .size = n}, .code = p, .machine = gdbjit_machine()};
	u64 end = n;
	while (end && !p[end - 1]) // what is not written yet has no rows, though zeros look like padding
		end--;
	vec_push(&c.segs, ((struct CfiSeg){BASE, MIN(end + NUMBER, n), 0}));
	vec_push(&m->cfi, c);
	return m;
}

struct SymObject *rawcode_changed(struct RawFiles *v, u64 now, u64 *next)
{
	struct SymObject *changed = NULL;
	*next = ~0ull;
	for (size_t i = 0; i < v->v.n;) {
		struct RawFile *r = &v->v.p[i];
		u64 n;
		u8 *p = now < r->at_ns || changed ? NULL : read_all(r->obj->fd, &n);
		if (now >= r->at_ns && !changed && (!p || r->times >= TIMES)) {
			free(p);
			*r = vec_last(&v->v);
			v->v.n--;
			continue;
		}
		if (p) {
			changed = hash_of(p, n) != r->hash ? r->obj : NULL;
			r->wait_ns = changed ? SOONEST_NS : MIN(r->wait_ns * 2, SELDOM_NS);
			r->at_ns = now + r->wait_ns;
			free(p);
		}
		*next = MIN(*next, r->at_ns);
		i++;
	}
	return changed;
}
