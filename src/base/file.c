// Whole files. In: a path; out: its bytes, at most so many, or the error that says why not.
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>

struct err *read_file(const char *path, struct Str *out, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(errno, "cannot open %s", path);
	char buf[16384];
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int e = errno;
			close(fd);
			return err_errno(e, "cannot read %s", path);
		}
		if (!n)
			break;
		if (out->n + (size_t)n > max) {
			close(fd);
			return err_new("%s is larger than %zu bytes", path, max);
		}
		str_addn(out, buf, (size_t)n);
	}
	close(fd);
	return NULL;
}
