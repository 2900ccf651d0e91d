// Tools in the path: $SONDE_PATH (folders separated by colons), ~/.config/sonde/tools, and share/sonde/tools beside the folder of sonde's program.
// In: a name, or none. Out: files and their text. Invariant: a script is code that runs with our rights, so it is read from nowhere that others could
// have put it (base/trust.c): neither the file nor a folder above it may be written to by its group or by others (but for folders that let nobody replace another's
// files, as /tmp), and all belong to root or to us. The current folder is never searched.
#include "tool/internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SCRIPT (16 << 20)

struct Folders {
	VEC(char *) v;
};

static void free_folders(struct Folders *f)
{
	for (size_t i = 0; i < f->v.n; i++)
		free(f->v.p[i]);
	vec_deinit(&f->v);
}

// share/sonde/tools of where the program was installed, wherever that is.
static char *installed_folder(void)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	for (int up = 0; n > 0 && up < 2; up++) // .../bin/sonde
		while (n > 0 && self[--n] != '/')
			;
	return n > 0 ? xasprintf("%.*s/share/sonde/tools", (int)n, self) : NULL;
}

static void folders(struct Folders *f)
{
	const char *list = getenv("SONDE_PATH"), *home = getenv("HOME");
	for (const char *p = list ? list : ""; *p; p += strcspn(p, ":"), p += *p == ':') {
		int n = (int)strcspn(p, ":");
		if (*p == '/')
			vec_push(&f->v, xasprintf("%.*s", n, p));
		else
			fprintf(stderr, "WARNING: SONDE_PATH: '%.*s' is not searched: it does not begin with /\n", n, p);
	}
	if (home && *home == '/')
		vec_push(&f->v, xasprintf("%s/.config/sonde/tools", home));
	char *own = installed_folder();
	if (own)
		vec_push(&f->v, own);
}

static bool is_tool_name(const char *s)
{
	return *s && *s != '-' && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == 0;
}

static bool exists(const char *path)
{
	struct stat st;
	return !stat(path, &st);
}

// The text of a file that is fit; what is checked is what is read.
static struct err *read_fit(const char *path, struct Str *text)
{
	struct stat st;
	char fd_path[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_errno(errno, "cannot read %s", path);
	const char *bad = fstat(fd, &st) ? strerror(errno) : !S_ISREG(st.st_mode) ? "is no file" : stat_unfit(&st, false);
	struct err *e = bad ? err_new("%s %s", path, bad) : NULL;
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd);
	if (!e)
		e = read_file(fd_path, text, MAX_SCRIPT);
	close(fd);
	return e;
}

// The file's canonical path, if it is fit; NULL: told. The folder that names it counts too, if it is a link.
static char *fit(const char *folder, const char *path)
{
	char *why = path_unfit(folder, 1);
	if (!why)
		why = path_unfit(path, 0);
	char *real = why ? NULL : realpath(path, NULL);
	if (why)
		fprintf(stderr, "WARNING: %s is not used: %s\n", path, why);
	free(why);
	return real;
}

bool found_get(const char *name, struct FoundTool *out, struct Str *text, u32 *refused)
{
	struct Folders f = {0};
	bool done = false;
	*refused = 0;
	if (is_tool_name(name))
		folders(&f);
	for (size_t i = 0; i < f.v.n && !done; i++) {
		char *path = xasprintf("%s/%s.bt", f.v.p[i], name);
		char *real = exists(path) ? fit(f.v.p[i], path) : NULL;
		struct err *e = real ? read_fit(real, text) : NULL;
		if (e)
			fprintf(stderr, "WARNING: %s is not used: %s\n", path, err_text(e));
		done = real && !e;
		*refused += !done && exists(path);
		if (done)
			*out = (struct FoundTool){xstrdup(name), real};
		else
			free(real);
		err_free(e);
		free(path);
	}
	free_folders(&f);
	return done;
}

bool found_exists(const char *name, struct Str *path)
{
	struct Folders f = {0};
	bool there = false;
	folders(&f);
	for (size_t i = 0; i < f.v.n && !there; i++) {
		str_reset(path);
		str_addf(path, "%s/%s.bt", f.v.p[i], name);
		there = exists(str_text(path));
	}
	free_folders(&f);
	return there;
}

static bool listed(const struct FoundTools *l, const char *name)
{
	for (size_t i = 0; i < l->v.n; i++)
		if (!strcmp(l->v.p[i].name, name))
			return true;
	return false;
}

static void list_folder(const char *folder, struct FoundTools *out)
{
	DIR *d = opendir(folder);
	for (struct dirent *ent; d && (ent = readdir(d));) {
		size_t n = strlen(ent->d_name);
		if (n <= 3 || strcmp(ent->d_name + n - 3, ".bt"))
			continue;
		char *name = xasprintf("%.*s", (int)n - 3, ent->d_name), *path = xasprintf("%s/%s", folder, ent->d_name), *real = NULL;
		if (is_tool_name(name) && !listed(out, name) && (real = fit(folder, path)))
			vec_push(&out->v, ((struct FoundTool){name, real}));
		else
			free(name);
		free(path);
	}
	if (d)
		closedir(d);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct FoundTool *)a)->name, ((const struct FoundTool *)b)->name);
}

void found_list(struct FoundTools *out)
{
	struct Folders f = {0};
	folders(&f);
	for (size_t i = 0; i < f.v.n; i++)
		list_folder(f.v.p[i], out);
	if (out->v.n)
		qsort(out->v.p, out->v.n, sizeof(*out->v.p), by_name);
	free_folders(&f);
}

void found_free(struct FoundTool *t)
{
	free(t->name);
	free(t->path);
}

void found_list_free(struct FoundTools *l)
{
	for (size_t i = 0; i < l->v.n; i++)
		found_free(&l->v.p[i]);
	vec_deinit(&l->v);
}
