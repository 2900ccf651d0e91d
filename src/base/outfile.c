// See base.h. In: paths. Out: files, or why they cannot be written. Invariant: nothing is emptied or left behind before outfile_begin.
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

// *created: the file was not there before.
static int open_kept(const char *path, bool *created)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	*created = fd >= 0;
	return fd < 0 && errno == EEXIST ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : fd; // O_CREAT: a link to nothing
}

struct err *outfile_open(struct OutFile *o, const char *path)
{
	*o = (struct OutFile){.path = path, .f = stdout};
	if (!path)
		return NULL;
	int fd = open_kept(path, &o->created);
	o->f = fd < 0 ? NULL : fdopen(fd, "w");
	return o->f ? NULL : err_errno(errno, "cannot write %s", path);
}

void outfile_begin(struct OutFile *o)
{
	struct stat st;
	if (!o->begun && o->path && !fstat(fileno(o->f), &st) && S_ISREG(st.st_mode) && st.st_size && ftruncate(fileno(o->f), 0))
		fprintf(stderr, "WARNING: cannot empty %s: %s\n", o->path, strerror(errno));
	o->begun = true;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return S_ISREG(a->st_mode) && S_ISREG(b->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool outfile_is(const struct OutFile *o, const char *path)
{
	struct stat a, b;
	return o->path && !fstat(fileno(o->f), &a) && !stat(path, &b) && same_file(&a, &b);
}

bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return a && b && !stat(a, &x) && !stat(b, &y) && same_file(&x, &y);
}

static bool not_writable(int fd) // closed: hold_std_fds
{
	int mode = fcntl(fd, F_GETFL);
	return mode < 0 || (mode & O_ACCMODE) == O_RDONLY;
}

static struct err *outfile_flush(FILE *f, const char *name)
{
	int bad = fflush(f) ? errno : 0; // an error before this call is remembered without its errno
	struct pollfd p = {.fd = fileno(f)};
	if ((!bad && !ferror(f)) || bad == EPIPE || (poll(&p, 1, 0) == 1 && p.revents & POLLERR)) // pipe(7): no readers
		return NULL;
	if (not_writable(fileno(f)))
		return err_new("cannot write to %s: it is closed", name);
	return bad ? err_errno(bad, "cannot write all to %s", name) : err_new("cannot write all to %s: is the disk full?", name);
}

struct err *outfile_close(struct OutFile *o)
{
	if (!o->f)
		return NULL;
	struct err *e = outfile_flush(o->f, o->path ? o->path : "standard output");
	if (!o->path)
		return e;
	if (fclose(o->f) && !e && errno != EPIPE) // NFS and quotas tell it here
		e = err_errno(errno, "cannot write all to %s", o->path);
	o->f = NULL;
	if (o->created && !o->begun)
		unlink(o->path);
	return e;
}

int stdout_flush(int rc)
{
	struct err *e = rc ? NULL : outfile_flush(stdout, "standard output"); // not 0: it was told, or something worse was
	if (!e)
		return rc;
	fprintf(stderr, "%sERROR: %s%s\n", diag_color(DIAG_ERROR), err_text(e), diag_uncolor());
	err_free(e);
	return 1;
}

static struct err *check(const struct OutName *n, struct stat *st, bool *created)
{
	*created = false;
	if (!n->option) {
		if (not_writable(STDOUT_FILENO))
			return err_new("standard output is closed: give a file with -o");
		return fstat(STDOUT_FILENO, st) ? err_errno(errno, "standard output") : NULL;
	}
	bool there = !stat(n->path, st);
	if (there && !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)) // opening a fifo and closing it again would end its reader
		return faccessat(AT_FDCWD, n->path, W_OK, AT_EACCESS) ? err_errno(errno, "cannot write %s", n->path) : NULL;
	int fd = open_kept(n->path, created);
	if (fd < 0)
		return err_errno(errno, "cannot write %s", n->path);
	struct err *e = fstat(fd, st) ? err_errno(errno, "cannot write %s", n->path) : NULL;
	close(fd);
	return e;
}

struct err *outfiles_check(const struct OutName *names, u32 n)
{
	struct stat *st = xcalloc(n, sizeof(*st));
	bool *created = xcalloc(n, sizeof(*created));
	struct err *e = NULL;
	u32 i = 0;
	for (; !e && i < n; i++) {
		if (names[i].option && !names[i].path)
			continue;
		e = check(&names[i], &st[i], &created[i]);
		for (u32 k = 0; !e && k < i; k++)
			if (same_file(&st[i], &st[k]))
				e = err_new("%s and %s are the same file: %s", names[k].option ? names[k].option : "standard output",
					    names[i].option ? names[i].option : "standard output", names[i].path ? names[i].path : names[k].path);
	}
	while (i-- > 0)
		if (created[i])
			unlink(names[i].path);
	free(st);
	free(created);
	return e;
}

void hold_std_fds(void)
{
	static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
	for (int fd = 0; fd < (int)ARRAY_LEN(modes); fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd] | O_CLOEXEC) != fd)
			return; // no /dev/null: as it was
}
