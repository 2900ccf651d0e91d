// Files that results go to: what was in one is gone only once there is something to put in its place.
#ifndef SONDE_OUTFILE_H
#define SONDE_OUTFILE_H
#include "base/base.h"

struct OutFile {
	const char *path; // NULL: standard output
	FILE *f;
	bool created, begun;
};
// Opens path for writing (NULL: standard output) and leaves what is in it. May wait for a fifo's reader, as open(2) does.
struct err *outfile_open(struct OutFile *o, const char *path);
void outfile_begin(struct OutFile *o); // from now on o->f may be written to: the file is emptied; more calls do nothing
bool outfile_is(const struct OutFile *o, const char *path); // is path the regular file that o writes to, by whatever name?
// Writes the rest out and closes; a file that was made and never begun is removed. What could not be written is an error; a reader that left
// (`| head`) has all it wanted.
struct err *outfile_close(struct OutFile *o);
// For standard output, as a process's end: rc, or 1 when something could not be written, which is told
int stdout_flush(int rc);

struct OutName {
	const char *option, *path; // "--flame" and what was given with it; NULL: not given
};
// Before hours of tracing: can all of them be written, and are no two of them one file? Files that are not there are not left behind.
// A row without an option is standard output.
struct err *outfiles_check(const struct OutName *names, u32 n);
// A standard descriptor that is closed would be the number of the next file opened. Opens them so that using them fails as before.
void hold_std_fds(void);
#endif
