// Where the threads of processes publish the request they work on: rt_otel. Input: processes that run at the start, those that the kernel side asks for; their mappings
// and memory. Output: an entry a process, kept by the program that it runs (RT_OTEL_IDENT), so that a new program or process under its number is asked for anew.
// Invariant: nothing is written that the process's own table of thread-local variables does not say; what is not there yet is looked for again.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "runtime/runtime.h"
#include "track/internal.h"

#define SOON_NS 20000000ull // what was not there is looked for again: a library may be loaded by then; each time after twice the time,
#define TRIES 6		    // ... at last every 1.3 s
#define MODULES 65536
#define SWEEP 1024 // looks after which entries of processes that are gone are deleted: an eighth of the room

struct Otel {
	int fd; // rt_otel, borrowed as is
	struct Syms *syms;
	struct Seen {
		bool known, has;
		struct OtelSymbol at;
	} *seen; // by the number of the object
	u32 nseen;
	u32 looks;
};

struct Otel *otel_create(struct Program *prog, struct Syms *syms)
{
	const struct MapDef *m = program_map(prog, "rt_otel");
	if (!m || m->fd < 0)
		return NULL;
	struct Otel *o = xcalloc(1, sizeof(*o));
	o->fd = m->fd;
	o->syms = syms;
	return o;
}

void otel_destroy(struct Otel *o)
{
	if (!o)
		return;
	free(o->seen);
	free(o);
}

static const struct OtelSymbol *symbol_of(struct Otel *o, const struct SymObject *obj)
{
	if (obj->id >= o->nseen) {
		u32 n = (obj->id | 63) + 1;
		o->seen = xrealloc(o->seen, n * sizeof(*o->seen));
		memset(o->seen + o->nseen, 0, (n - o->nseen) * sizeof(*o->seen));
		o->nseen = n;
	}
	struct Seen *s = &o->seen[obj->id];
	struct stat st;
	struct ElfFile f;
	if (!s->known && obj->fd >= 0 && !fstat(obj->fd, &st)) {
		struct err *e = elffile_open(&f, obj->fd, NULL, (u64)st.st_size);
		if (!e) {
			s->has = runtime_otel(&f, &s->at);
			elffile_close(&f);
		}
		err_free(e);
	}
	s->known = true;
	return s->has ? &s->at : NULL;
}

static bool read_memory(int tgid, u64 at, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)at, n};
	return process_vm_readv(tgid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

// A distance from the thread pointer that a variable may have: below it on x86-64, above two words on arm64.
static bool is_distance(s64 d)
{
#if defined(__x86_64__)
	return d < 0 && d > -(1 << 30);
#else
	return d >= 16 && d < 1 << 30;
#endif
}

static bool fill_module(struct RtOtel *out, u64 module, u64 off)
{
	if (!module || module > MODULES || off > 1u << 30)
		return false;
	out->kind = RT_OTEL_DTV;
	out->module = (u32)module;
	out->off = (s64)off;
	return true;
}

// False: the dynamic linker has not been there yet, out stays as it is.
static bool fill(int tgid, const struct OtelSymbol *y, u64 bias, struct RtOtel *out)
{
	u64 got[2] = {0}, pair[2];
	s64 d = (s64)y->value;
	if (y->how != OTEL_FIXED) {
		if (!read_memory(tgid, bias + y->got, got, y->how == OTEL_DESCRIPTOR ? 16 : 8))
			return false;
		d = (s64)got[y->how == OTEL_DESCRIPTOR];
	}
	if (y->how == OTEL_MODULE)
		return fill_module(out, got[0], y->value);
	if (y->how == OTEL_DESCRIPTOR && got[0] && !is_distance(d))
		return read_memory(tgid, got[1], pair, sizeof(pair)) && pair[1] == y->value && fill_module(out, pair[0], pair[1]);
	if (!is_distance(d))
		return false;
	out->kind = RT_OTEL_STATIC;
	out->off = d;
	return true;
}

// Where libc has the table of a thread's blocks: entries of 16 bytes behind their number (glibc), of 8 with it (musl).
static void fill_table(struct RtOtel *out, bool musl)
{
	out->step = musl ? 8 : 16;
	out->count = musl ? 0 : -16;
#if defined(__x86_64__)
	out->dtv = 8;
#else
	out->dtv = musl ? -8 : 0;
#endif
}

// The object's addresses in the process, less those in the file.
static bool bias_of(const struct SymObject *obj, const struct ProcMap *m, u64 *bias)
{
	struct SymSegment seg[64];
	u32 n = sym_object_segments((struct SymObject *)obj, seg, ARRAY_LEN(seg));
	for (u32 i = 0; i < MIN(n, ARRAY_LEN(seg)); i++)
		if (m->file_off + 4096 > seg[i].off && m->file_off < seg[i].off + seg[i].size) { // a mapping begins at a page's start
			*bias = m->start - (seg[i].vaddr - (seg[i].off - m->file_off));
			return true;
		}
	return false;
}

static void sweep(struct Otel *o)
{
	VEC(u32) gone = {0};
	u32 key, next;
	for (bool first = true; !sys_map_next_key(o->fd, first ? NULL : &key, &next); first = false) {
		key = next;
		if (kill((int)key, 0) && errno == ESRCH)
			vec_push(&gone, key);
	}
	for (size_t i = 0; i < gone.n; i++)
		sys_map_delete(o->fd, &gone.p[i]);
	vec_deinit(&gone);
}

void otel_look(struct Otel *o, int tgid, u64 ident)
{
	struct RtOtel out = {.ident = ident, .kind = RT_OTEL_NONE};
	struct RtOtel was = {0};
	bool musl = false;
	struct ProcMap *maps;
	u32 n = 0, key = (u32)tgid;
	u64 bias;

	struct err *e = sym_proc_maps(o->syms, tgid, &maps, &n);
	for (u32 i = 0; !e && i < n; i++) {
		const struct SymObject *obj = maps[i].obj;
		const struct OtelSymbol *y = obj && out.kind == RT_OTEL_NONE ? symbol_of(o, obj) : NULL;
		musl |= obj && strstr(obj->path, "/ld-musl-");
		if (y && bias_of(obj, &maps[i], &bias))
			fill(tgid, y, bias, &out);
	}
	if (!e)
		free(maps);
	err_free(e);
	fill_table(&out, musl);
	if (out.kind == RT_OTEL_NONE) {
		if (!sys_map_lookup(o->fd, &key, &was) && was.ident == ident && was.kind == RT_OTEL_NONE)
			out.tries = MIN(was.tries + 1, (u32)TRIES);
		out.again = now_ns() + (SOON_NS << out.tries);
	}
	if (++o->looks % SWEEP == 0)
		sweep(o);
	sys_map_update(o->fd, &key, &out, 0);
}

// What tells the program that a process runs; 0: it has ended, or does not say.
static u64 ident_of(int tgid)
{
	char path[40];
	struct Str text = {0};
	u64 word[29] = {0}, ident = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", tgid);
	struct err *e = read_file(path, &text, 4096);
	const char *p = e ? NULL : strrchr(str_text(&text), ')'); // a name may hold brackets
	for (u32 i = 3; p && i < ARRAY_LEN(word) && (p = strchr(p, ' ')); i++)
		word[i] = strtoull(++p, NULL, 10);
	if (word[28])
		ident = RT_OTEL_IDENT(word[26], word[27], word[28], word[22]);
	err_free(e);
	str_deinit(&text);
	return ident;
}

void otel_scan(struct Otel *o)
{
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));) {
		u64 ident = isdigit((unsigned char)e->d_name[0]) ? ident_of(atoi(e->d_name)) : 0;
		if (ident)
			otel_look(o, atoi(e->d_name), ident);
	}
	if (d)
		closedir(d);
}
