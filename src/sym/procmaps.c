// /proc/PID/maps -> executable mappings with their objects. Input: the kernel's text (proc(5)); the paths in it are chosen by the
// traced process. Invariant: a mapping without a readable file is still listed (obj NULL or obj->why), so that one bad file does
// not spoil its process.
#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include "sym/internal.h"

// The kernel writes a newline in a path as \012; " (deleted)" is its own addition when the file has no link left.
static char *map_path(const struct MapLine *m, bool deleted)
{
	size_t n = m->path_len, o = 0;
	static const char mark[] = " (deleted)";
	if (deleted && n > sizeof(mark) && !memcmp(m->path + n - (sizeof(mark) - 1), mark, sizeof(mark) - 1))
		n -= sizeof(mark) - 1;
	char *p = xmalloc(n + 1);
	for (size_t i = 0; i < n; i++) {
		if (n - i >= 4 && !memcmp(m->path + i, "\\012", 4)) {
			p[o++] = '\n';
			i += 3;
		} else {
			p[o++] = m->path[i];
		}
	}
	p[o] = 0;
	return p;
}

// Memory files hold JIT code as often as programs.
static bool is_memory_file(const struct MapLine *m)
{
	static const char *const prefix[] = {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage", "/dev/shm/"};
	for (u32 i = 0; i < ARRAY_LEN(prefix); i++)
		if (m->path_len >= strlen(prefix[i]) && !memcmp(m->path, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

static int open_mapped(int pid, const struct MapLine *m, const char *path, struct stat *st, int *why)
{
	char link[96];
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)m->start, (unsigned long long)m->end);
	int fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	*why = errno;
	if (fd < 0 && path[0] == '/' && *why != EMFILE && *why != ENFILE) {
		// No CAP_CHECKPOINT_RESTORE, or the mapping is gone: by name, and only if it is still the mapped inode.
		char proot[64];
		snprintf(proot, sizeof(proot), "/proc/%d/root", pid);
		struct Root r = {.fd = open(proot, O_PATH | O_DIRECTORY | O_CLOEXEC)};
		if (r.fd >= 0) {
			fd = root_open(&r, path, O_RDONLY);
			close(r.fd);
		}
		bool own = r.fd < 0 && errno == EACCES; // another user's process (Linux 6.16 shows its maps to CAP_PERFMON): by our own path
		if (own && !stat(path, st) && S_ISREG(st->st_mode)) // nothing else may be opened
			fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd >= 0 && (fstat(fd, st) || st->st_ino != m->ino || (own && st->st_dev != makedev(m->major, m->minor)))) {
			close(fd);
			fd = -1;
			*why = ESTALE;
		}
	}
	if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode))) {
		close(fd);
		*why = EINVAL;
		return -1;
	}
	return fd;
}

static char *why_text(int errnum)
{
	switch (errnum) {
	case EMFILE:
	case ENFILE:
		return xasprintf("too many open files: raise the limit (ulimit -n)");
	case ESTALE:
	case ENOENT:
		return xasprintf("the mapped file was replaced or deleted, and /proc/PID/map_files may not be read (needs CAP_CHECKPOINT_RESTORE)");
	default:
		return xasprintf("cannot open: %s", strerror(errnum));
	}
}

// A file that may not be opened: what the process has of it in memory.
#define COPIED_MAX (512ull << 20) // bytes of all such files: who owns them may have as many as he likes
static bool from_memory(struct Syms *s, int pid, const struct MapLine *m, const struct stat *st, const char *path, int why)
{
	u64 size;
	int fd = why == EACCES || why == EPERM ? memfile_copy(pid, m, COPIED_MAX - s->copied, &size) : -1;
	if (fd < 0)
		return false;
	s->copied += size;
	object_of_copy(s, fd, st, path, root_of(s, pid));
	return true;
}

// NULL: none that may be opened.
static const struct SymFile *mapped_file(struct Syms *s, int pid, const struct MapLine *m)
{
	char link[96];
	struct stat st = {0};
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)m->start, (unsigned long long)m->end);
	bool have = stat(link, &st) == 0;
	if (have && !S_ISREG(st.st_mode)) // a device: opening it could do things
		return NULL;
	const struct SymFile *f = have ? file_known(s, &st) : NULL;
	if (f)
		return f;
	char *path = map_path(m, have ? st.st_nlink == 0 : true);
	int why = 0;
	int fd = open_mapped(pid, m, path, &st, &why);
	if (fd < 0) {
		if (!have)
			st = (struct stat){.st_dev = makedev(m->major, m->minor), .st_ino = m->ino};
		if (!file_known(s, &st) && !from_memory(s, pid, m, &st, path, why))
			object_unreadable(s, &st, path, why, why_text(why));
		f = file_known(s, &st);
	} else if ((f = file_known(s, &st))) {
		close(fd);
	} else {
		char magic[4];
		if (is_memory_file(m) && (pread(fd, magic, 4, 0) != 4 || memcmp(magic, "\177ELF", 4))) {
			close(fd); // JIT code
		} else {
			object_of_fd(s, fd, &st, path, root_of(s, pid));
			f = file_known(s, &st);
		}
	}
	free(path);
	return f;
}

static struct ProcMap mapping(struct Syms *s, int pid, const struct MapLine *m)
{
	struct ProcMap p = {m->start, m->end, m->off, .dev = makedev(m->major, m->minor), .ino = m->ino};
	if (m->path_len == 6 && !memcmp(m->path, "[vdso]", 6))
		p.obj = object_vdso(s, pid, m->start, m->end);
	else if (m->ino && m->path_len && m->path[0] == '/')
		p.file = mapped_file(s, pid, m);
	if (p.file)
		p.obj = p.file->obj;
	if (!p.obj)
		p.file_off = 0;
	return p;
}

bool sym_proc_map(struct Syms *s, int pid, const char *path, struct ProcMap *m)
{
	struct MapLine line = {.start = m->start, .end = m->end, .off = m->file_off, .major = major(m->dev), .minor = minor(m->dev), .ino = m->ino,
			       .exec = true, .path = path, .path_len = strlen(path)};
	char link[96];
	struct stat st;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)m->start, (unsigned long long)m->end);
	bool have = !stat(link, &st);
	if (have ? st.st_ino != m->ino : errno != EACCES) // gone, replaced, or not for us: what /proc says as a whole is clearer
		return false;
	syms_lock(s);
	*m = mapping(s, pid, &line);
	syms_unlock(s);
	return true;
}

struct err *sym_proc_maps(struct Syms *s, int pid, struct ProcMap **out, u32 *n)
{
	char path[64];
	struct Str text = {0};
	*out = NULL;
	*n = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	struct err *e = read_file(path, &text, (size_t)256 << 20);
	if (e) {
		str_deinit(&text);
		return e;
	}
	VEC(struct ProcMap) v = {0};
	syms_lock(s);
	for (const char *p = str_text(&text), *end = p + text.n; p < end;) {
		const char *nl = memchr(p, '\n', end - p);
		size_t len = nl ? (size_t)(nl - p) : (size_t)(end - p);
		struct MapLine m;
		if (mapline_parse(p, len, &m) && m.exec) {
			vec_push(&v, mapping(s, pid, &m));
		}
		p += len + (nl != NULL);
	}
	syms_unlock(s);
	str_deinit(&text);
	*out = v.p;
	*n = v.n;
	return NULL;
}
