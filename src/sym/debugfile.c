// Where the symbols and DWARF of a stripped object are. Input: build id, .gnu_debuglink and .gnu_debugdata of the object. Output: an open
// debug file that was made from the same link. Invariant: a file found by name is taken only if its build id is the object's, or,
// without one, if its CRC is the one in .gnu_debuglink; it is a regular file and not the object itself.
//
// Order: the directories of --debuginfo, DIR/.build-id/xx/rest.debug, beside the object, .debug/, DIR/path-of-the-object/, debuginfod if DEBUGINFOD_URLS is set
// (GDB manual, "Separate Debug Files"). For an object of a container DIR is looked for outside first, then inside.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <time.h>
#include <zlib.h>
#include "sym/internal.h"

#define MAX_MINI (256u << 20) // unpacked .gnu_debugdata
#define MAX_LZMA_MEM (256u << 20)
#define DEBUGINFOD_BUDGET 120 // seconds of waiting in all, then it is given up

void debugfile_close(struct DebugFile *d)
{
	if (d->fd >= 0)
		close(d->fd);
	free(d->mem);
	elffile_close(&d->file);
	*d = (struct DebugFile){.fd = -1};
}

static bool crc_matches(int fd, u32 want)
{
	size_t cap = 256 << 10;
	u8 *buf = xmalloc(cap);
	u32 crc = 0;
	ssize_t n;
	for (u64 at = 0; (n = pread(fd, buf, cap, at)) > 0; at += n)
		crc = crc32(crc, buf, n);
	free(buf);
	return n == 0 && crc == want;
}

// Takes fd.
static bool accept(struct SymObject *o, int fd, const u32 *crc, struct DebugFile *out)
{
	struct stat st, own;
	*out = (struct DebugFile){.fd = -1};
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || fstat(o->fd, &own) || (st.st_ino == own.st_ino && st.st_dev == own.st_dev)) {
		close(fd);
		return false;
	}
	struct DebugFile d = {.fd = fd};
	struct err *e = elffile_open(&d.file, fd, NULL, st.st_size);
	if (!e)
		e = elffile_sections(&d.file);
	u8 id[20];
	u32 len = e ? 0 : elffile_build_id(&d.file, id);
	bool ok = !e && d.file.machine == elf_of(o)->file.machine;
	if (len && o->build_id_len)
		ok = ok && len == o->build_id_len && !memcmp(id, o->build_id, len);
	else
		ok = ok && crc && crc_matches(fd, *crc);
	err_free(e);
	if (ok)
		*out = d;
	else
		debugfile_close(&d);
	return ok;
}

static bool by_build_id(struct SymObject *o, const char *dir, struct DebugFile *out)
{
	if (o->build_id_len < 2)
		return false;
	struct Str p = {0};
	str_addf(&p, "%s/.build-id/%02x/", dir, o->build_id[0]);
	for (u32 i = 1; i < o->build_id_len; i++)
		str_addf(&p, "%02x", o->build_id[i]);
	str_add(&p, ".debug");
	struct Root *r = elf_of(o)->root;
	bool ok = accept(o, root_open(NULL, p.p, O_RDONLY), NULL, out) || (r && accept(o, root_open(r, p.p, O_RDONLY), NULL, out));
	str_deinit(&p);
	return ok;
}

// The object's .gnu_debuglink: file name (malloced) and CRC. NULL: it has none, or one that is no bare file name, which could lead us elsewhere.
static char *debuglink(struct SymObject *o, u32 *crc)
{
	struct ElfObj *e = elf_of(o);
	err_free(elffile_sections(&e->file));
	const struct ElfSec *sec = elffile_section(&e->file, ".gnu_debuglink");
	char *link = sec && sec->size >= 8 ? elffile_load(&e->file, sec->off, sec->size, 4096) : NULL;
	size_t at = link ? ALIGN_UP(strlen(link) + 1, 4) : 0;
	if (link && at + 4 <= sec->size && link[0] && !strchr(link, '/')) {
		memcpy(crc, link + at, 4);
		return link;
	}
	free(link);
	return NULL;
}

// The object's folder, from the root on, without a slash behind it (malloced).
static char *folder_of(const struct SymObject *o)
{
	char *whole = *o->path == '/' ? NULL : realpath(o->path, NULL); // as a script names it
	const char *path = whole ? whole : o->path, *slash = strrchr(path, '/');
	char *folder = xasprintf("%.*s", slash ? (int)(slash - path) : 0, path);
	free(whole);
	return folder;
}

static bool by_link(struct Syms *s, struct SymObject *o, const char *folder, const char *link, u32 crc, struct DebugFile *out)
{
	struct ElfObj *e = elf_of(o);
	const struct {
		const char *before, *after;
	} where[] = {{"", ""}, {"", "/.debug"}, {s->debug_dir, ""}};
	bool ok = false;
	for (u32 i = 0; i < ARRAY_LEN(where) && !ok; i++) {
		char *path = xasprintf("%s%s%s/%s", where[i].before, folder, where[i].after, link);
		ok = accept(o, root_open(e->root, path, O_RDONLY), &crc, out);
		if (!ok && where[i].before[0] && e->root)
			ok = accept(o, root_open(NULL, path, O_RDONLY), &crc, out);
		free(path);
	}
	return ok;
}

// --debuginfo: by build id, by the link's name, and by that below the object's directory.
static bool in_user_dirs(struct Syms *s, struct SymObject *o, const char *folder, const char *link, u32 crc, struct DebugFile *out)
{
	bool ok = false;
	for (u32 i = 0; i < s->opts.ndebug_dirs && !ok; i++) {
		const char *given = s->opts.debug_dirs[i];
		char *dir = *given == '/' ? xstrdup(given) : xasprintf("%s/%s", folder, given);
		ok = by_build_id(o, dir, out);
		for (u32 k = 0; k < 2 && link && !ok; k++) {
			char *path = xasprintf("%s%s/%s", dir, k ? folder : "", link);
			ok = accept(o, root_open(NULL, path, O_RDONLY), &crc, out);
			free(path);
		}
		free(dir);
	}
	return ok;
}

static bool local_file(struct Syms *s, struct SymObject *o, struct DebugFile *out)
{
	u32 crc = 0; // of a debug link
	char *link = debuglink(o, &crc), *slash = strrchr(o->path, '/'), *folder = folder_of(o);
	if (!link && o->build_id_len) // the build id tells whether it is the right one
		link = xasprintf("%s.debug", slash ? slash + 1 : o->path);
	bool ok = in_user_dirs(s, o, folder, link, crc, out) || by_build_id(o, s->debug_dir, out) || (link && by_link(s, o, folder, link, crc, out));
	free(folder);
	free(link);
	return ok;
}

// ---- debuginfod: only if the user configured it, and only then is its library (and libcurl) loaded
struct Debuginfod {
	void *client;
	int (*find)(void *client, const unsigned char *build_id, int len, char **path);
	void (*end)(void *client);
};

static u64 seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static struct Debuginfod *debuginfod(struct Syms *s)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (s->debuginfod || s->debuginfod_off || s->opts.no_debuginfod || !urls || !urls[0])
		return s->debuginfod_off ? NULL : s->debuginfod;
	s->debuginfod_off = true; // until everything is there
	void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return NULL;
	void *(*begin)(void) = (void *(*)(void))dlsym(lib, "debuginfod_begin");
	struct Debuginfod *d = xcalloc(1, sizeof(*d));
	d->find = (int (*)(void *, const unsigned char *, int, char **))dlsym(lib, "debuginfod_find_debuginfo");
	d->end = (void (*)(void *))dlsym(lib, "debuginfod_end");
	d->client = begin && d->find && d->end ? begin() : NULL;
	if (!d->client) {
		dlclose(lib);
		free(d);
		return NULL;
	}
	s->debuginfod_off = false;
	return s->debuginfod = d;
}

void debuginfod_destroy(struct Syms *s)
{
	struct Debuginfod *d = s->debuginfod;
	if (!d)
		return;
	d->end(d->client); // the library stays loaded: libcurl below it keeps global state
	free(d);
	s->debuginfod = NULL;
}

static bool by_debuginfod(struct Syms *s, struct SymObject *o, struct DebugFile *out)
{
	struct Debuginfod *d = o->build_id_len ? debuginfod(s) : NULL;
	if (!d)
		return false;
	u64 before = seconds();
	int fd = d->find(d->client, o->build_id, o->build_id_len, NULL);
	s->debuginfod_wait += seconds() - before;
	// -ENOENT: the server has none of this file. Anything else is trouble that would cost a time-out for every object.
	if ((fd < 0 && fd != -ENOENT) || s->debuginfod_wait > DEBUGINFOD_BUDGET)
		s->debuginfod_off = true;
	return accept(o, fd, NULL, out);
}

bool debugfile_find(struct Syms *s, struct SymObject *o, struct DebugFile *out)
{
	*out = (struct DebugFile){.fd = -1};
	if (o->path[0] == '[') // vDSO: its build id is in the distribution's kernel debug package, and its symbols are in itself
		return false;
	return local_file(s, o, out) || by_debuginfod(s, o, out);
}

// ---- .gnu_debugdata: an xz-packed ELF file with the symbols that .dynsym lacks (Fedora's "MiniDebugInfo")
static u8 *unpack(const u8 *p, size_t n, size_t *out_n)
{
	lzma_stream z = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&z, MAX_LZMA_MEM, 0) != LZMA_OK)
		return NULL;
	size_t cap = MIN(n * 4 + 65536, MAX_MINI);
	u8 *out = malloc(cap);
	lzma_ret r = out ? LZMA_OK : LZMA_MEM_ERROR;
	z.next_in = p, z.avail_in = n;
	z.next_out = out, z.avail_out = cap;
	while (r == LZMA_OK) {
		r = lzma_code(&z, LZMA_FINISH);
		if (r != LZMA_OK || z.avail_out)
			continue;
		size_t more = MIN(cap, MAX_MINI - cap);
		u8 *bigger = more ? realloc(out, cap + more) : NULL;
		if (!bigger) {
			r = LZMA_MEM_ERROR;
			break;
		}
		out = bigger;
		z.next_out = out + cap, z.avail_out = more;
		cap += more;
	}
	*out_n = z.total_out;
	lzma_end(&z);
	if (r == LZMA_STREAM_END)
		return out;
	free(out);
	return NULL;
}

bool debugfile_mini(struct ElfFile *f, struct DebugFile *out)
{
	*out = (struct DebugFile){.fd = -1};
	err_free(elffile_sections(f));
	const struct ElfSec *sec = elffile_section(f, ".gnu_debugdata");
	u8 *packed = sec ? elffile_load(f, sec->off, sec->size, 64u << 20) : NULL;
	size_t n = 0;
	u8 *mem = packed ? unpack(packed, sec->size, &n) : NULL;
	free(packed);
	if (!mem)
		return false;
	struct DebugFile d = {.fd = -1, .mem = mem};
	struct err *e = elffile_open(&d.file, -1, mem, n);
	if (!e)
		e = elffile_sections(&d.file);
	bool ok = !e && d.file.machine == f->machine;
	err_free(e);
	if (ok)
		*out = d;
	else
		debugfile_close(&d);
	return ok;
}
