// May a file be trusted as code? In: a path, or its stat(2). Out: NULL, or why not. Invariant: what passes can be replaced by root and ourselves only:
// neither the file nor a folder above it may be written to by its group or by others, but for folders that let nobody replace another's files (/tmp).
#include "base/base.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

const char *stat_unfit(const struct stat *st, bool sticky_ok)
{
	bool keeps = sticky_ok && st->st_mode & S_ISVTX;
	if (st->st_uid && st->st_uid != caller_uid())
		return "belongs to neither root nor you";
	if (st->st_mode & S_IWOTH && !keeps)
		return "may be written to by others";
	if (st->st_mode & S_IWGRP && !keeps)
		return "may be written to by its group";
	return NULL;
}

char *path_unfit(const char *path, int up)
{
	char *real = realpath(path, NULL), *why = real ? NULL : xasprintf("%s: %s", path, strerror(errno));
	for (; real && !why; up++) {
		struct stat st;
		const char *step = *real ? real : "/", *bad = lstat(step, &st) ? strerror(errno) : stat_unfit(&st, up > 1);
		if (bad)
			why = xasprintf("%s %s", step, bad);
		if (!*real)
			break;
		*strrchr(real, '/') = 0;
	}
	free(real);
	return why;
}
