// What a script calls a binary -> a path that can be opened. Input: "/a/path", "python3", "libc", "c", "libc.so.6", and the process in
// whose eyes it is meant. Output: a path from our own root (with /proc/PID/root in front for another process).
#include "arch/arch.h"
#include "base/base.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "sym/internal.h"

#define MAX_CACHE (64u << 20)

struct Lookup {
	const char *name; // without "lib"
	size_t len;
	const char *root; // "" or "/proc/PID/root"
	char *found;
};

// "libc.so.6", "libc.so", "libc-2.31.so" for "c"; an exact file name for "libc.so.6".
static bool is_library(const struct Lookup *k, const char *file)
{
	if (strstr(k->name, ".so"))
		return !strncmp(file, "lib", 3) && !strcmp(file + 3, k->name);
	return !strncmp(file, "lib", 3) && !strncmp(file + 3, k->name, k->len) && !strncmp(file + 3 + k->len, ".so", 3) &&
	       (file[k->len + 6] == 0 || file[k->len + 6] == '.');
}

// A file that is an ELF object: "libc.so" in /usr/lib is a linker script.
static bool is_elf(const char *path)
{
	char magic[4] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool ok = fd >= 0 && read(fd, magic, 4) == 4 && !memcmp(magic, "\177ELF", 4);
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool take(struct Lookup *k, const char *path)
{
	char *full = xasprintf("%s%s", k->root, path);
	if (is_elf(full)) {
		k->found = full;
		return true;
	}
	free(full);
	return false;
}

static bool cached(void *arg, const char *soname, const char *path)
{
	struct Lookup *k = arg;
	return !(is_library(k, soname) && take(k, path));
}

static void in_maps(struct Lookup *k, int pid)
{
	char path[64];
	struct Str text = {0};
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	struct err *e = read_file(path, &text, (size_t)256 << 20);
	for (char *p = text.p, *nl; !e && !k->found && p && (nl = strchr(p, '\n')); p = nl + 1) {
		struct MapLine m;
		*nl = 0;
		if (!mapline_parse(p, nl - p, &m) || !m.exec || !m.path_len)
			continue;
		const char *base = strrchr(m.path, '/');
		if (base && (is_library(k, base + 1) || (strncmp(base + 1, "lib", 3) == 0 && !strcmp(base + 4, k->name))))
			take(k, m.path);
	}
	err_free(e);
	str_deinit(&text);
}

static void in_cache(struct Lookup *k)
{
	char *path = xasprintf("%s/etc/ld.so.cache", k->root);
	struct Str text = {0};
	struct err *e = read_file(path, &text, MAX_CACHE);
	if (!e)
		ldcache_each((const u8 *)text.p, text.n, false, cached, k);
	err_free(e);
	str_deinit(&text);
	free(path);
}

// Without a cache (musl, minimal images): the directories a loader looks in. Of several versions the last by name.
static void in_dirs(struct Lookup *k)
{
	static const char *const dirs[] = {
		"/lib64",
		"/usr/lib64",
		"/lib",
		"/usr/lib",
		"/usr/local/lib",
		"/lib/" HOST_MULTIARCH,
		"/usr/lib/" HOST_MULTIARCH,
	};
	for (u32 i = 0; i < ARRAY_LEN(dirs) && !k->found; i++) {
		char *dir = xasprintf("%s%s", k->root, dirs[i]), *best = NULL;
		DIR *d = opendir(dir);
		for (struct dirent *e; d && (e = readdir(d));) {
			if (!is_library(k, e->d_name) || (best && strcmp(e->d_name, best) < 0))
				continue;
			char *full = xasprintf("%s/%s", dir, e->d_name);
			if (is_elf(full)) {
				free(best);
				best = xstrdup(e->d_name);
			}
			free(full);
		}
		if (best)
			k->found = xasprintf("%s/%s", dir, best);
		free(best);
		if (d)
			closedir(d);
		free(dir);
	}
}

static char *library(const char *name, int pid, const char *root)
{
	struct Lookup k = {.name = strncmp(name, "lib", 3) ? name : name + 3, .root = root};
	k.len = strlen(k.name);
	if (!k.len)
		return NULL;
	if (pid)
		in_maps(&k, pid);
	if (!k.found)
		in_cache(&k);
	if (!k.found)
		in_dirs(&k);
	return k.found;
}

// The first ELF program of that name in $PATH; a script of that name (a wrapper, a version manager's shim) only if there is no other.
static char *program(const char *name, const char *root)
{
	const char *path = getenv("PATH");
	char *script = NULL;
	if (!path || root[0])
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	for (const char *p = path, *end; *p; p = end + (*end == ':')) {
		end = strchrnul(p, ':');
		if (*p != '/') // empty or relative: nothing a root tool should follow
			continue;
		char *full = xasprintf("%s%.*s/%s", root, (int)(end - p), p, name);
		struct stat st;
		bool runs = !stat(full, &st) && S_ISREG(st.st_mode) && can_access(full, X_OK);
		if (runs && is_elf(full)) {
			free(script);
			return full;
		}
		if (runs && !script)
			script = full;
		else
			free(full);
	}
	return script;
}

static bool same_root(int pid)
{
	char path[64];
	struct stat a, b, na, nb;
	snprintf(path, sizeof(path), "/proc/%d/root/.", pid);
	if (stat(path, &a) || stat("/", &b))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	if (stat(path, &na) || stat("/proc/self/ns/mnt", &nb))
		return false;
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino && na.st_ino == nb.st_ino;
}

// An absolute symlink below /proc/PID/root would lead into our own root: replaces full by a path without symlinks.
static char *straighten(char *full, const char *root)
{
	struct Root r = {.fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	int fd = r.fd < 0 ? -1 : root_open(&r, full + strlen(root), O_PATH);
	char link[32], real[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = fd < 0 ? -1 : readlink(link, real, sizeof(real) - 1);
	if (n > 0 && real[0] == '/') {
		real[n] = 0;
		free(full);
		full = xasprintf("%s%s", root, real);
	}
	if (fd >= 0)
		close(fd);
	if (r.fd >= 0)
		close(r.fd);
	return full;
}

struct err *sym_resolve_path(const char *name, int pid, char **out)
{
	char root[32] = "";
	struct stat st;
	*out = NULL;
	if (!name[0])
		return err_new("no path given");
	if (pid && !same_root(pid))
		snprintf(root, sizeof(root), "/proc/%d/root", pid);
	if (strchr(name, '/')) {
		bool prefix = name[0] == '/' && strncmp(name, "/proc/", 6);
		char *full = xasprintf("%s%s", prefix ? root : "", name);
		if (prefix && root[0])
			full = straighten(full, root);
		if (stat(full, &st)) {
			struct err *e = err_errno(errno, "cannot open %s", full);
			free(full);
			return e;
		}
		if (!S_ISREG(st.st_mode)) {
			struct err *e = err_new("%s is not a file", full);
			free(full);
			return e;
		}
		*out = full;
		return NULL;
	}
	bool lib_first = !strncmp(name, "lib", 3) || strstr(name, ".so");
	*out = lib_first ? library(name, pid, root) : program(name, root);
	if (!*out)
		*out = lib_first ? program(name, root) : library(name, pid, root);
	if (*out) {
		if (root[0])
			*out = straighten(*out, root);
		return NULL;
	}
	const char *base = strncmp(name, "lib", 3) ? name : name + 3;
	return err_new("no program %s in $PATH and no library lib%s.so in %s%s/etc/ld.so.cache or the library directories; give a path",
		       name, base, pid ? "the process, " : "", root);
}

bool sym_moved_to_libc(const char *lib)
{
	static const char *const moved[] = {"pthread", "dl", "rt", "util", "anl"};
	const char *name = strncmp(lib, "lib", 3) ? lib : lib + 3;
	for (size_t i = 0; i < ARRAY_LEN(moved) && !strchr(name, '/'); i++) {
		size_t n = strlen(moved[i]);
		if (!strncmp(name, moved[i], n) && (!name[n] || name[n] == '.'))
			return true;
	}
	return false;
}
