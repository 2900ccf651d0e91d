// Profiles as files of a directory: one for each report, the oldest removed when they are more than is allowed.
// In: a profile. Out: its file. Invariant: a file is whole or is not there; only files that have our names are counted and removed.
#include "agent/internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// "sonde-cpu-20261123T153649.123Z.pb.gz", "sonde-record_cpu-20261123T153649.123Z.html"
static int is_ours(const struct dirent *d)
{
	const char *name = d->d_name, *dash = strncmp(name, "sonde-", 6) ? NULL : strchr(name + 6, '-');
	size_t n = dash ? strlen(dash) : 0;
	return (n == 27 && !strcmp(dash + 20, "Z.pb.gz")) || (n == 25 && !strcmp(dash + 20, "Z.html"));
}

static const char *time_of(const char *name)
{
	return strrchr(name, '-');
}

static int by_time(const struct dirent **a, const struct dirent **b)
{
	return strcmp(time_of((*a)->d_name), time_of((*b)->d_name));
}

struct err *dir_trim(struct Dir *d)
{
	struct dirent **names;
	struct stat st;
	u64 sum = 0;
	int n = scandir(d->path, &names, is_ours, by_time);
	if (n < 0)
		return err_errno(errno, "cannot read %s", d->path);
	for (int i = n; i-- > 0;) { // from the newest
		char *path = xasprintf("%s/%s", d->path, names[i]->d_name);
		if (!lstat(path, &st) && S_ISREG(st.st_mode) && (sum += (u64)st.st_size) > d->max_bytes && i + 1 < n && !unlink(path)) {
			d->removed++;
			sum -= (u64)st.st_size;
		}
		free(path);
		free(names[i]);
	}
	free(names);
	return NULL;
}

struct err *dir_open(struct Dir *d)
{
	if (mkdir(d->path, 0755) && errno != EEXIST)
		return err_errno(errno, "cannot make %s", d->path);
	if (access(d->path, W_OK | X_OK))
		return err_errno(errno, "cannot write in %s", d->path);
	return dir_trim(d);
}

static struct err *put(struct Dir *d, const char *what, u64 start_ns, const struct Str *body)
{
	char stamp[32];
	struct tm tm;
	time_t secs = (time_t)(start_ns / 1000000000ull);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", gmtime_r(&secs, &tm));
	char *path = xasprintf("%s/sonde-%s-%s.%03uZ.pb.gz", d->path, what, stamp, (u32)(start_ns / 1000000 % 1000)), *tmp = xasprintf("%s/.sonde-%d.tmp", d->path, getpid());
	struct err *e = NULL;
	int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	bool ok = f && fwrite(str_text(body), 1, body->n, f) == body->n;
	if (f && fclose(f))
		ok = false;
	if (!ok || rename(tmp, path)) {
		e = err_errno(errno, "cannot write %s", path);
		unlink(tmp);
	} else {
		d->files++;
		d->written += body->n;
	}
	free(path);
	free(tmp);
	return e ? e : dir_trim(d);
}

void dir_put(struct Dir *d, const char *what, u64 start_ns, const struct Str *body)
{
	struct err *e = put(d, what, start_ns, body);
	if (e && !d->failed++)
		fprintf(stderr, "WARNING: %s\n", err_text(e));
	err_free(e);
}
