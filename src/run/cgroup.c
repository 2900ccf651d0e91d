// Paths of cgroups.
// In: a cgroup id as bpf_get_current_cgroup_id gives it. Out: "unified:/a/b" for the unified hierarchy, "name:/c" for others that know the id.
// Invariant: a cgroup that does not exist (any more) gives the empty text.
#include "run/run.h"
#include <dirent.h>
#include <fcntl.h>
#include <mntent.h>
#include <sys/stat.h>

#define MAX_DEPTH 64
#define HANDLE_KERNFS 0xfe // FILEID_KERNFS, include/linux/exportfs.h: since 5.5 the handle of a cgroup is its id

// The kernel's own way from id to directory; needs CAP_DAC_READ_SEARCH.
static bool path_by_handle(const char *root, u64 id, char *out, size_t size)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + sizeof(u64)];
	} u = {.h = {.handle_bytes = sizeof(u64), .handle_type = HANDLE_KERNFS}};
	memcpy(u.h.f_handle, &id, sizeof(id));
	int mnt = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mnt < 0)
		return false;
	int fd = open_by_handle_at(mnt, &u.h, O_PATH | O_CLOEXEC);
	close(mnt);
	if (fd < 0)
		return false;
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, out, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	out[n] = 0;
	return true;
}

// Tells fn of each directory below dirfd, which is closed, those nearer to the root first in each branch. True: fn was content.
static bool walk_tree(int dirfd, struct Str *path, int depth, cgroup_seen fn, void *arg)
{
	DIR *d = fdopendir(dirfd);
	if (!d) {
		close(dirfd);
		return false;
	}
	bool done = false;
	size_t len = path->n;
	for (struct dirent *e; !done && (e = readdir(d));) {
		if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		str_addf(path, "/%s", e->d_name);
		done = fn(arg, e->d_ino, path->p);
		int fd = !done && depth < MAX_DEPTH ? openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (fd >= 0)
			done = walk_tree(fd, path, depth + 1, fn, arg);
		path->n = len;
		path->p[len] = 0;
	}
	closedir(d);
	return done;
}

bool cgroup_walk(const char *root, cgroup_seen fn, void *arg)
{
	struct Str path = {0};
	struct stat st;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool done = fd >= 0 && !fstat(fd, &st) && fn(arg, st.st_ino, "/");
	if (fd >= 0 && !done)
		done = walk_tree(fd, &path, 0, fn, arg);
	else if (fd >= 0)
		close(fd);
	str_deinit(&path);
	return done;
}

struct Wanted {
	u64 id;
	struct Str *path;
};

static bool is_wanted(void *arg, u64 id, const char *path)
{
	struct Wanted *w = arg;
	if (id == w->id)
		str_add(w->path, path);
	return id == w->id;
}

struct Found {
	struct Str text;
	VEC(dev_t) devs; // hierarchies the cgroup was found in: one may be mounted again elsewhere, as a container's root has it
};

static bool found_in(const struct Found *f, dev_t dev)
{
	for (size_t i = 0; i < f->devs.n; i++)
		if (f->devs.p[i] == dev)
			return true;
	return false;
}

static void add_path(const char *root, const char *name, u64 id, struct Found *f)
{
	char buf[4096];
	struct Str path = {0};
	struct stat st;
	size_t rootlen = strlen(root);
	if (stat(root, &st) || found_in(f, st.st_dev))
		return;
	if (st.st_ino != id && path_by_handle(root, id, buf, sizeof(buf)) && !strncmp(buf, root, rootlen) && buf[rootlen] == '/')
		str_add(&path, buf + rootlen);
	else
		cgroup_walk(root, is_wanted, &(struct Wanted){id, &path});
	if (path.n) {
		str_addf(&f->text, "%s%s:%s", f->text.n ? "," : "", name, path.p);
		vec_push(&f->devs, st.st_dev);
	}
	str_deinit(&path);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void cgroup_path_text(u64 id, const char *filter, struct Str *out)
{
	struct Found found = {0};
	VEC(char *) v1 = {0};
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent m;
	char buf[8192];
	while (f && getmntent_r(f, &m, buf, sizeof(buf))) {
		if (!strcmp(m.mnt_type, "cgroup"))
			vec_push(&v1, xstrdup(m.mnt_dir));
		else if (!strcmp(m.mnt_type, "cgroup2") && (!filter || !*filter || glob_match(filter, "unified")))
			add_path(m.mnt_dir, "unified", id, &found);
	}
	if (f)
		endmntent(f);
	if (v1.n)
		qsort(v1.p, v1.n, sizeof(*v1.p), by_text);
	for (size_t i = 0; i < v1.n; i++) {
		const char *base = strrchr(v1.p[i], '/');
		const char *name = base && base[1] ? base + 1 : v1.p[i];
		if (!filter || !*filter || glob_match(filter, name))
			add_path(v1.p[i], name, id, &found);
		free(v1.p[i]);
	}
	vec_deinit(&v1);
	str_addn(out, str_text(&found.text), found.text.n);
	str_deinit(&found.text);
	vec_deinit(&found.devs);
}
