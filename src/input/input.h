// Profiles from files that sonde or others wrote. One reader a format; which one it is tells the file's beginning.
// In: bytes of a file that nobody vouches for. Out: a StackProfile. Invariant: every sample of the file is in it, or counted as left out.
#ifndef SONDE_INPUT_H
#define SONDE_INPUT_H
#include "out/report.h"

struct InputWish { // what the file itself may not say
	const char *unit;    // of folded text; NULL: "samples"
	const char *value;   // pprof: the sample type's name; NULL: the file's default
	bool no_process;     // folded text: lines begin with a frame, not with a process
};
struct Input {
	struct Arena arena;
	struct StackProfile prof; // points into arena and samples
	VEC(struct StackSample) samples;
	const char *format; // "folded stacks"
	const char *units;  // "lines", what skipped counts
	u64 skipped;	    // left out
	u64 first_skipped;  // the first one's number, from 1
	const char *why;    // it was left out
	u64 records, most;  // kept of the file, and allowed; see internal.h
	u64 text, most_text; // bytes of its stacks' names, written out
};
// The whole file, gunzipped if it is gzipped; data[n] is 0. What it holds lives until input_deinit.
struct err *input_parse(struct Input *in, const struct InputWish *wish, const char *data, size_t n);
struct err *input_load(struct Input *in, const struct InputWish *wish, const char *path); // "-": standard input
void input_deinit(struct Input *in);
// What was left out, if anything: a line on standard error, an object of JSON ("left_out") at the end of json.
void input_tell(const struct Input *in, const char *path, struct Str *json);
#endif
