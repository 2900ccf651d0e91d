// The table of the files that a profile can be written to (outputs.def). Its text forms go where text goes, and are none of these.
// In: a profile, a path. Out: the file. Invariant: what could not be written whole is an error.
#include "base/base.h"
#include "out/report.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const struct Output outputs[OUTPUTS] = {
#define OUTPUT(option, addresses, parts, what, help, write) {"--" #option, what, addresses, parts, write},
#include "out/outputs.def"
#undef OUTPUT
};

static const char *place_of_number(const char *path)
{
	return path ? strstr(path, "%s") : NULL;
}

static char *path_of(const struct OutputFiles *f, u32 i)
{
	const char *path = f->path[i], *at = f->number ? place_of_number(path) : NULL;
	return at ? xasprintf("%.*s%04u%s", (int)(at - path), path, f->number, at + 2) : xstrdup(path);
}

void outputs_split(const struct OutputFiles *f, struct OutputFiles *whole, struct OutputFiles *each)
{
	*whole = *each = *f;
	for (u32 i = 0; i < OUTPUTS; i++)
		*(place_of_number(f->path[i]) ? &whole->path[i] : &each->path[i]) = NULL;
}

bool outputs_can_hold(const struct OutputFiles *f)
{
	for (u32 i = 0; i < OUTPUTS; i++) {
		struct stat st;
		if (f->path[i] && ((f->number && place_of_number(f->path[i])) || (stat(f->path[i], &st) ? errno != ENOENT : !S_ISREG(st.st_mode))))
			return false;
	}
	return true;
}

void outputs_hold(struct OutputFiles *f)
{
	for (u32 i = 0; i < OUTPUTS; i++)
		if (f->path[i] && !f->held[i])
			f->held[i] = open(f->path[i], O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666) + 1; // 0: writing it says why not
}

void outputs_close(struct OutputFiles *f)
{
	for (u32 i = 0; i < OUTPUTS; i++)
		if (f->held[i]) {
			close(f->held[i] - 1);
			f->held[i] = 0;
		}
}

// The file anew, from its beginning
static FILE *open_held(int held)
{
	struct stat st;
	int fd = fcntl(held, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && !st.st_nlink) {
		close(fd);
		errno = ENOENT; // it was deleted meanwhile: nobody would see it
		return NULL;
	}
	FILE *f = ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) ? NULL : fdopen(fd, "w");
	if (!f)
		close(fd);
	return f;
}

static struct err *output_write(const struct Output *o, const struct StackProfile *p, const char *path, const char *what, int held)
{
	FILE *f = held ? open_held(held - 1) : fopen(path, "we");
	if (!f)
		return err_errno(errno, "cannot write %s", path);
	struct err *e = o->write(p, f);
	if (fclose(f) && !e)
		e = err_errno(errno, "cannot write %s", path);
	if (!e)
		fprintf(stderr, "%s: %s of %s%s%u stack%s, %llu %s\n", path, o->what, what ? what : "", what ? ", " : "", p->n, p->n == 1 ? "" : "s",
			(unsigned long long)profile_total(p), strcmp(p->unit, "count") ? p->unit : "events");
	return e;
}

struct err *outputs_check(const struct OutputFiles *f, const char *text)
{
	struct OutName names[OUTPUTS + 1];
	char *paths[OUTPUTS];
	for (u32 i = 0; i < OUTPUTS; i++) {
		paths[i] = f->path[i] ? path_of(f, i) : NULL;
		names[i] = (struct OutName){outputs[i].title, paths[i]};
	}
	names[OUTPUTS] = (struct OutName){text ? "-o" : NULL, text};
	struct err *e = outfiles_check(names, OUTPUTS + 1);
	for (u32 i = 0; i < OUTPUTS; i++)
		free(paths[i]);
	return e;
}

bool outputs_any(const struct OutputFiles *f, bool addresses)
{
	for (u32 i = 0; i < OUTPUTS; i++)
		if (f->path[i] && (!addresses || outputs[i].addresses))
			return true;
	return false;
}

bool outputs_parts(const struct OutputFiles *f)
{
	for (u32 i = 0; i < OUTPUTS; i++)
		if (f->path[i] && outputs[i].parts)
			return true;
	return false;
}

bool outputs_events(const struct OutputFiles *f)
{
	return f->path[OUTPUT_pprof];
}

struct err *outputs_write(const struct OutputFiles *f, const struct StackProfile *p, bool addresses)
{
	struct err *e = NULL;
	for (u32 i = 0; !e && i < OUTPUTS; i++) {
		if (!f->path[i] || outputs[i].addresses != addresses)
			continue;
		char *path = path_of(f, i);
		e = output_write(&outputs[i], p, path, f->what, f->held[i]);
		free(path);
	}
	return e;
}
