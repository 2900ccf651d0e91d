// jit-PID.dump, the file in which a JIT tells what code it makes (docs/jit.md; Linux tools/perf/Documentation/jitdump-specification.txt). Input: a file the traced
// process writes while we read; it has mapped it executable, by which it is found. Output: pieces of code in the order they were made, with their names, lines and
// unwinding information; address -> name, a later piece winning over an earlier one.
// Invariant: the file is a regular one owned by root or by the process's user; every size is checked against its record and every record against the file; only
// whole records count; at most MAX_RECORDS of them are read, and of a file that makes no sense none after that place.
#include <ctype.h>
#include <elf.h>
#include "arch/arch.h"
#include "sym/internal.h"

#define MAX_RECORDS (8u << 20)
#define MAX_CODES (1u << 20)
#define MAX_NAME 4096u
#define MAX_LINES (1u << 20) // bytes of a piece's lines that are looked through, for each question
#define WINDOW 65536u
#define MAGIC 0x4A695444u
#define LOOK_NS 100000u // how often the file is looked at for names ...
#define LOOK_PAUSE 5	// ... and so many times as long as that took later at the earliest

enum { JIT_CODE_LOAD, JIT_CODE_MOVE, JIT_CODE_DEBUG_INFO, JIT_CODE_CLOSE, JIT_CODE_UNWINDING_INFO };
struct Head {
	u32 magic, version, size, machine, pad, pid;
	u64 time, flags;
};
struct Record {
	u32 id, size;
	u64 time;
};
struct Load { // then the name and the code
	u32 pid, tid;
	u64 vma, start, size, index;
};
struct Move {
	u32 pid, tid;
	u64 vma, from, to, size, index;
};
struct Debug { // then entries
	u64 start, n;
};
struct DebugEntry { // then the file's name; \xff alone: that of the entry before
	u64 addr;
	u32 line, discriminator;
};
struct Unwind { // then the data
	u64 size, hdr_size, mapped;
};
_Static_assert(sizeof(struct Head) == 40 && sizeof(struct Record) == 16 && sizeof(struct Load) == 40 && sizeof(struct Move) == 48, "as in the file");

struct JitDump {
	int fd;	  // borrowed
	u64 done; // bytes of whole records read
	struct Head head;
	u32 nrecords;
	bool bad;
	VEC(struct JitCode) v;
	struct JitCode next; // what records before that of a piece of code have told of it
	u64 next_start;
	struct NumTab by_index; // the last piece with an index
	struct Segments seg;
	u32 in_seg; // pieces of v that are in seg
	u64 look_at; // now_ns
	VEC(const char *) names; // by piece, as far as they were asked for; in the caller's arena
	u8 *win;
	u64 win_at, win_n;
};
struct ByIndex {
	u64 index, one; // see struct NumTab
	u64 code;
};

bool jitdump_is_name(const char *path)
{
	const char *p = strrchr(path, '/');
	p = p ? p + 1 : path;
	if (strncmp(p, "jit-", 4) || !isdigit((unsigned char)p[4]))
		return false;
	for (p += 4; isdigit((unsigned char)*p) || (*p == '-' && isdigit((unsigned char)p[1])); p++) // JavaScriptCore's has the thread's number, too
		;
	return !strcmp(p, ".dump");
}

struct JitDump *jitdump_from_fd(int fd)
{
	struct JitDump *d = xcalloc(1, sizeof(*d));
	d->fd = fd;
	d->by_index.size = sizeof(struct ByIndex);
	return d;
}

struct JitDump *jitdump_open(const struct SymObject *o, int pid)
{
	int inner;
	u32 uid;
	struct stat st;
	if (o->fd < 0 || !jitdump_is_name(o->path) || fstat(o->fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	if (st.st_uid && (!perfmap_locate(pid, &inner, &uid) || st.st_uid != uid)) // anybody may put one where it is looked for
		return NULL;
	return jitdump_from_fd(o->fd);
}

void jitdump_destroy(struct JitDump *d)
{
	if (!d)
		return;
	vec_deinit(&d->v);
	vec_deinit(&d->names);
	numtab_deinit(&d->by_index);
	segments_deinit(&d->seg);
	free(d->win);
	free(d);
}

// ---- bytes
static bool read_at(struct JitDump *d, u64 off, void *buf, u64 n)
{
	if (n > WINDOW || off + n < off)
		return false;
	if (off < d->win_at || off + n > d->win_at + d->win_n) {
		if (!d->win)
			d->win = xmalloc(WINDOW);
		ssize_t got = pread(d->fd, d->win, WINDOW, (off_t)off);
		d->win_at = off;
		d->win_n = got > 0 ? (u64)got : 0;
	}
	if (off + n > d->win_at + d->win_n)
		return false;
	memcpy(buf, d->win + (off - d->win_at), n);
	return true;
}

// Bytes of the text at off before its NUL; false: there is none before end.
static bool text_at(struct JitDump *d, u64 off, u64 end, u32 *len)
{
	char buf[64];
	for (u64 at = off; at < end && at - off < MAX_NAME; at += sizeof(buf)) {
		u64 n = MIN(sizeof(buf), end - at);
		const char *nul = read_at(d, at, buf, n) ? memchr(buf, 0, n) : NULL;
		if (nul) {
			*len = (u32)(at - off + (u64)(nul - buf));
			return true;
		}
	}
	return false;
}

// ---- records
static void add(struct JitDump *d, struct JitCode *c, u64 start, u64 size)
{
	c->start = start;
	c->end = start + size;
	if (!size || c->end < start || c->end >> 48 || d->v.n >= MAX_CODES)
		return;
	struct ByIndex *b = numtab_put(&d->by_index, c->index, 1);
	b->code = d->v.n;
	vec_push(&d->v, *c);
}

static void on_load(struct JitDump *d, u64 at, u64 end)
{
	struct Load l;
	struct JitCode c = d->next;
	u64 name = at + sizeof(struct Record) + sizeof(l);
	bool of_this = d->next_start == 0;
	if (name > end || !read_at(d, at + sizeof(struct Record), &l, sizeof(l)) || l.size > end - name || !text_at(d, name, end - l.size, &c.name_len))
		return;
	of_this |= d->next_start == l.start;
	if (!of_this) // lines of another
		c.lines = c.lines_end = c.nlines = 0;
	c.name = name;
	c.index = l.index;
	add(d, &c, l.start, l.size);
	d->next = (struct JitCode){0};
	d->next_start = 0;
}

static void on_move(struct JitDump *d, u64 at, u64 end)
{
	struct Move m;
	if (end - at < sizeof(struct Record) + sizeof(m) || !read_at(d, at + sizeof(struct Record), &m, sizeof(m)))
		return;
	const struct ByIndex *b = numtab_get(&d->by_index, m.index, 1);
	if (!b || d->v.p[b->code].start != m.from || d->v.p[b->code].end - d->v.p[b->code].start != m.size)
		return;
	struct JitCode c = d->v.p[b->code];
	c.moved = m.to - m.from + c.moved;
	add(d, &c, m.to, m.size);
}

static void on_debug(struct JitDump *d, u64 at, u64 end)
{
	struct Debug g;
	u64 from = at + sizeof(struct Record) + sizeof(g);
	if (from > end || !read_at(d, at + sizeof(struct Record), &g, sizeof(g)))
		return;
	d->next.lines = from;
	d->next.lines_end = MIN(end, from + MAX_LINES);
	d->next.nlines = g.n;
	d->next_start = g.start;
}

static void on_unwind(struct JitDump *d, u64 at, u64 end)
{
	struct Unwind u;
	u64 from = at + sizeof(struct Record) + sizeof(u);
	if (from > end || !read_at(d, at + sizeof(struct Record), &u, sizeof(u)) || u.size > end - from || u.hdr_size > u.size)
		return;
	d->next.unwind = from;
	d->next.unwind_size = u.size;
	d->next.unwind_hdr = u.hdr_size;
	d->next.unwind_mapped = u.mapped != 0;
}

static bool read_head(struct JitDump *d)
{
	struct Head *h = &d->head;
	if (!read_at(d, 0, h, sizeof(*h)))
		return false;
	d->bad = h->magic != MAGIC || h->version != 1 || h->size < sizeof(*h) || h->machine != HOST_MACHINE;
	d->done = h->size;
	return !d->bad;
}

// It was written anew: the head has its time. Pieces keep their numbers, of those that were read nothing is there any more.
static void begin_anew(struct JitDump *d, u64 size)
{
	struct Head h;
	if (!d->done || (size >= d->done && pread(d->fd, &h, sizeof(h), 0) == sizeof(h) && !memcmp(&h, &d->head, sizeof(h))))
		return;
	for (size_t i = 0; i < d->v.n; i++)
		d->v.p[i] = (struct JitCode){0};
	numtab_deinit(&d->by_index);
	d->next = (struct JitCode){0};
	d->done = d->next_start = 0;
	d->nrecords = d->in_seg = 0;
	d->bad = false;
}

u32 jitdump_read(struct JitDump *d)
{
	struct stat st;
	if (fstat(d->fd, &st) || (u64)st.st_size == d->done)
		return (u32)d->v.n;
	u64 size = (u64)st.st_size;
	d->win_n = 0; // it may have been read before it was whole
	begin_anew(d, size);
	if (d->bad || (!d->done && !read_head(d)))
		return (u32)d->v.n;
	for (struct Record r; size - d->done >= sizeof(r) && d->done < size; d->done += r.size) {
		if (!read_at(d, d->done, &r, sizeof(r)))
			break;
		if (r.size < sizeof(r) || ++d->nrecords > MAX_RECORDS) {
			d->bad = true;
			break;
		}
		if (r.size > size - d->done)
			break;
		u64 end = d->done + r.size;
		if (r.id == JIT_CODE_LOAD)
			on_load(d, d->done, end);
		else if (r.id == JIT_CODE_MOVE)
			on_move(d, d->done, end);
		else if (r.id == JIT_CODE_DEBUG_INFO)
			on_debug(d, d->done, end);
		else if (r.id == JIT_CODE_UNWINDING_INFO)
			on_unwind(d, d->done, end);
	}
	return (u32)d->v.n;
}

const struct JitCode *jitdump_code(const struct JitDump *d, u32 i)
{
	return &d->v.p[i];
}

char *jitdump_name(struct JitDump *d, u32 i)
{
	const struct JitCode *c = &d->v.p[i];
	char *name = xmalloc(c->name_len + 1);
	if (!read_at(d, c->name, name, c->name_len))
		name[0] = 0;
	name[c->name_len] = 0;
	return name;
}

u8 *jitdump_unwind(struct JitDump *d, u32 i)
{
	const struct JitCode *c = &d->v.p[i];
	u8 *p = c->unwind_size && c->unwind_size <= 1u << 20 ? xmalloc(c->unwind_size) : NULL;
	if (p && pread(d->fd, p, c->unwind_size, (off_t)c->unwind) != (ssize_t)c->unwind_size) {
		free(p);
		p = NULL;
	}
	return p;
}

// ---- by address
static int by_lo(const void *a, const void *b)
{
	const struct Interval *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->prio < y->prio ? -1 : 1;
}

static void rebuild(struct JitDump *d)
{
	struct Interval *v = xmalloc((d->v.n + 1) * sizeof(*v));
	for (u32 i = 0; i < d->v.n; i++)
		v[i] = (struct Interval){d->v.p[i].start, d->v.p[i].end, i, i};
	qsort(v, d->v.n, sizeof(*v), by_lo);
	segments_deinit(&d->seg);
	segments_build(&d->seg, v, (u32)d->v.n);
	d->in_seg = (u32)d->v.n;
	free(v);
}

// The line of the entry that begins last at or below addr.
static void line_at(struct JitDump *d, struct Map *names, const struct JitCode *c, u64 addr, struct SymHit *hit)
{
	struct DebugEntry e;
	u64 best = 0, named = 0, file = 0;
	u32 len = 0, file_len = 0, named_len = 0;
	for (u64 at = c->lines, left = c->nlines; left && at < c->lines_end && c->lines_end - at > sizeof(e) && read_at(d, at, &e, sizeof(e)); at += sizeof(e) + len + 1, left--) {
		u8 first = 0;
		u64 text = at + sizeof(e);
		if (!text_at(d, text, c->lines_end, &len) || !read_at(d, text, &first, 1))
			break;
		if (len != 1 || first != 0xff) {
			named = text;
			named_len = len;
		}
		u64 from = e.addr + c->moved;
		if (from < c->start || from > addr || (best && from < best))
			continue;
		best = from;
		hit->line = e.line;
		file = named;
		file_len = named_len;
	}
	char buf[MAX_NAME + 1];
	if (best && file_len && read_at(d, file, buf, file_len)) {
		buf[file_len] = 0;
		hit->file = map_keep(names, buf);
	}
}

static void look(struct JitDump *d)
{
	u64 began = now_ns();
	if (began < d->look_at)
		return;
	if (jitdump_read(d) > d->in_seg)
		rebuild(d);
	d->look_at = began + MAX((now_ns() - began) * LOOK_PAUSE, LOOK_NS);
}

bool jitdump_lookup(struct JitDump *d, struct Map *names, u64 addr, bool lines, struct SymHit *hit)
{
	look(d);
	u32 i = segments_find(&d->seg, addr);
	if (i == SEG_NONE)
		return false;
	while (d->names.n <= i)
		vec_push(&d->names, NULL);
	const struct JitCode *c = &d->v.p[i];
	if (!d->names.p[i]) {
		char *name = jitdump_name(d, i);
		d->names.p[i] = map_keep(names, name);
		free(name);
	}
	hit->name = d->names.p[i];
	hit->start = c->start;
	hit->size = c->end - c->start;
	hit->off = addr - c->start;
	if (lines && c->lines)
		line_at(d, names, c, addr, hit);
	return true;
}
