// perf-PID.map, how JITs publish their code's names: lines "START SIZE NAME" in hexadecimal (Linux
// tools/perf/Documentation/jit-interface.txt). Input: a file the traced process writes while we read. Output: address -> name, a later line
// winning over an earlier one. Invariant: the file is a regular one owned by root or by the process's user, at most MAX_FILE of it is read
// and MAX_LINES are kept, only whole lines count.
#include <errno.h>
#include <fcntl.h>
#include "sym/internal.h"

#define MAX_FILE (128u << 20)
#define MAX_LINES (2u << 20) // each takes some 60 bytes here, besides its name

#define EDGE 64u // bytes by which the file is known to be the one that was read
#define LOOK_NS 100000u // how often it is looked at ...
#define LOOK_PAUSE 5	// ... and so many times as long as that took later at the earliest: a large one is sorted anew

struct PerfEntry {
	u64 start, end;
	const char *name;
	bool kept; // name is a copy in the caller's arena
};

struct PerfMap {
	int fd;
	u64 done;		 // bytes of whole lines read
	u8 head[EDGE], tail[EDGE]; // the first of these, and the last
	struct stat seen;	 // as it was then
	u64 look_at;		 // now_ns
	VEC(struct PerfEntry) v; // in the file's order
	struct Segments seg;
	struct Arena arena;
};

static bool hex_field(const char **p, const char *end, u64 *out)
{
	const char *s = *p;
	u64 v = 0;
	if (end - s > 2 && s[0] == '0' && (s[1] | 32) == 'x')
		s += 2;
	const char *first = s;
	for (; s < end; s++) {
		unsigned c = (unsigned char)*s, d = c - '0';
		if (d > 9) {
			d = (c | 32) - 'a' + 10;
			if (d < 10 || d > 15)
				break;
		}
		if (v >> 60)
			return false;
		v = v << 4 | d;
	}
	if (s == first || s == end || *s != ' ')
		return false;
	*p = s + 1;
	*out = v;
	return true;
}

static void add_line(struct PerfMap *m, const char *p, const char *end)
{
	u64 start, size;
	if (m->v.n >= MAX_LINES || !hex_field(&p, end, &start) || !hex_field(&p, end, &size) || p == end || start + size <= start)
		return;
	const char *name = arena_strndup(&m->arena, p, end - p);
	vec_push(&m->v, ((struct PerfEntry){start, start + size, name, false}));
}

static int by_lo(const void *a, const void *b)
{
	const struct Interval *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->prio < y->prio ? -1 : 1;
}

static void rebuild(struct PerfMap *m)
{
	struct Interval *v = xmalloc((m->v.n + 1) * sizeof(*v));
	for (u32 i = 0; i < m->v.n; i++)
		v[i] = (struct Interval){m->v.p[i].start, m->v.p[i].end, i, i};
	qsort(v, m->v.n, sizeof(*v), by_lo);
	segments_deinit(&m->seg);
	segments_build(&m->seg, v, m->v.n);
	free(v);
}

static void edges(const struct PerfMap *m, u8 head[EDGE], u8 tail[EDGE])
{
	size_t n = MIN(m->done, EDGE);
	memset(head, 0, EDGE);
	memset(tail, 0, EDGE);
	if (pread(m->fd, head, n, 0) < 0 || pread(m->fd, tail, n, (off_t)(m->done - n)) < 0)
		memset(head, 0xff, EDGE);
}

// Is it no more what was read, with more behind it?
static bool is_anew(const struct PerfMap *m, const struct stat *st)
{
	u8 head[EDGE], tail[EDGE];
	if ((u64)st->st_size < m->done)
		return true;
	edges(m, head, tail);
	return memcmp(head, m->head, EDGE) || memcmp(tail, m->tail, EDGE);
}

static void read_lines(struct PerfMap *m, u64 size)
{
	size_t cap = MAX(MIN(size - m->done, 1u << 20), 64u << 10), have = 0;
	char *buf = xmalloc(cap);
	for (;;) {
		ssize_t n = pread(m->fd, buf + have, cap - have, m->done + have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += n;
		char *p = buf, *end = buf + have, *nl;
		for (; (nl = memchr(p, '\n', end - p)); p = nl + 1)
			add_line(m, p, nl);
		if (p == buf && have == cap) // a line of 64 KB or more: skip it
			p = end;
		m->done += p - buf;
		have = end - p;
		memmove(buf, p, have);
		if (m->done >= MAX_FILE)
			break;
	}
	free(buf);
}

// Reads what was appended since the last time, or all of it if it was written anew.
static void read_more(struct PerfMap *m)
{
	struct stat st;
	size_t before = m->v.n;
	if (fstat(m->fd, &st))
		return;
	bool same = st.st_size == m->seen.st_size && st.st_mtim.tv_sec == m->seen.st_mtim.tv_sec && st.st_mtim.tv_nsec == m->seen.st_mtim.tv_nsec;
	m->seen = st;
	if (same)
		return;
	if (is_anew(m, &st)) {
		m->done = before = 0;
		m->v.n = 0;
		arena_deinit(&m->arena);
		segments_deinit(&m->seg);
	}
	if ((u64)st.st_size > m->done && m->done < MAX_FILE)
		read_lines(m, (u64)st.st_size);
	edges(m, m->head, m->tail);
	if (m->v.n > before)
		rebuild(m);
}

// Not for each question: there are thousands in a report.
static void look(struct PerfMap *m)
{
	u64 began = now_ns();
	if (began < m->look_at)
		return;
	read_more(m);
	m->look_at = began + MAX((now_ns() - began) * LOOK_PAUSE, LOOK_NS);
}

bool perfmap_is_gone(const struct PerfMap *m)
{
	return m->seen.st_mode && !m->seen.st_nlink;
}

bool perfmap_lookup(struct PerfMap *m, struct Map *names, u64 addr, struct SymHit *hit)
{
	look(m);
	u32 i = segments_find(&m->seg, addr);
	if (i == SEG_NONE)
		return false;
	struct PerfEntry *e = &m->v.p[i];
	if (!e->kept) { // outlives the map
		e->name = map_keep(names, e->name);
		e->kept = true;
	}
	hit->name = e->name;
	hit->start = e->start;
	hit->size = e->end - e->start;
	hit->off = addr - e->start;
	return true;
}

struct PerfMap *perfmap_from_fd(int fd)
{
	struct PerfMap *m = xcalloc(1, sizeof(*m));
	m->fd = fd;
	return m;
}

// The innermost of the pids in the line "NSpid:\t1234\t7" of /proc/PID/status is what the process itself thinks its pid is.
bool perfmap_locate(int pid, int *inner, u32 *uid)
{
	char path[64];
	struct Str text = {0};
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	struct err *e = read_file(path, &text, 1 << 20);
	const char *line = e ? NULL : strstr(str_text(&text), "\nNSpid:");
	*inner = pid;
	for (const char *p = line ? line + 7 : NULL; p && *p == '\t';) {
		*inner = strtol(p, NULL, 10);
		p = strpbrk(p + 1, "\t\n");
	}
	line = e ? NULL : strstr(str_text(&text), "\nUid:");
	*uid = line ? strtoul(line + 5, NULL, 10) : 0;
	bool ok = !e;
	err_free(e);
	str_deinit(&text);
	return ok;
}

struct PerfMap *perfmap_open(const struct Root *root, int inner, u32 uid)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", inner);
	int fd = root_open(root, path, O_RDONLY | O_NOFOLLOW);
	struct stat st;
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != uid))) {
		close(fd); // anybody may write to /tmp
		fd = -1;
	}
	return fd < 0 ? NULL : perfmap_from_fd(fd);
}

void perfmap_destroy(struct PerfMap *m)
{
	if (!m)
		return;
	close(m->fd);
	vec_deinit(&m->v);
	segments_deinit(&m->seg);
	arena_deinit(&m->arena);
	free(m);
}
