// Mount roots of processes. Input: a process. Output: its root, NULL when it is our own; files opened below a root as the process would see them.
// Invariant: no symbolic link leads out of a root.
#include <fcntl.h>
#include <sys/syscall.h>
#include <linux/openat2.h>
#include "sym/internal.h"

struct Root *root_of(struct Syms *s, int pid)
{
	char path[64];
	struct stat st, own, ns, own_ns;
	snprintf(path, sizeof(path), "/proc/%d/root/.", pid);
	if (stat(path, &st) || stat("/", &own))
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	if (stat(path, &ns) || stat("/proc/self/ns/mnt", &own_ns))
		return NULL;
	if (st.st_dev == own.st_dev && st.st_ino == own.st_ino && ns.st_ino == own_ns.st_ino)
		return NULL;
	for (struct Root *r = s->roots; r; r = r->next)
		if (r->dev == st.st_dev && r->ino == st.st_ino && r->mntns == ns.st_ino)
			return r;
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	struct Root *r = xmalloc(sizeof(*r));
	*r = (struct Root){s->roots, st.st_dev, st.st_ino, ns.st_ino, fd};
	return s->roots = r;
}

int root_open(const struct Root *r, const char *path, int flags)
{
	flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK); // openat2 takes no other flags beside O_PATH
	if (!r)
		return open(path, flags);
	// An absolute symlink inside a container must not lead out of it (openat2, Linux 5.6).
	struct open_how how = {.flags = flags, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	return syscall(SYS_openat2, r->fd, path, &how, sizeof(how));
}
