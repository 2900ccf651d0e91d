// Shared by the writers of out/: protocol buffers, tables of what was written already, where frames lie in files.
#ifndef SONDE_OUT_INTERNAL_H
#define SONDE_OUT_INTERNAL_H
#include "base/base.h"
#include "out/report.h"

// ---- protobuf.c: fields are appended in the order of the calls; a message in a message is its length and its bytes (protobuf.dev, encoding)
void pb_varint(struct Str *s, u64 v);
void pb_uint(struct Str *s, u32 field, u64 v); // 0 is the default and left out
void pb_fixed64(struct Str *s, u32 field, u64 v); // likewise
void pb_bytes(struct Str *s, u32 field, const char *p, size_t n);
void pb_message(struct Str *s, u32 field, struct Str *msg); // msg is freed
void pb_string(struct Str *s, u32 field, const char *text); // proto3 strings are UTF-8: other bytes become \xNN, and control characters, which readers would give to a terminal
void key_text(struct Str *key, const char *text); // NULL: none. Both: a part of a key for number_of()
void key_number(struct Str *key, u64 v);
// The number of key in m, from 1; fresh: it has just got it
u64 number_of(struct Map *m, const char *key, bool *fresh);
u64 number_of_message(struct Map *m, const struct Str *msg, bool *fresh); // likewise: what differs in anything that is written is two
struct err *gzip_write(const struct Str *s, bool fast, FILE *out); // for messages about the profile

// ---- frameids.c: ids of frames that were written already
struct FrameId {
	const struct Frame *f; // n of them, at one address; borrowed
	u32 n;
	u64 id;
};
struct FrameIds {
	VEC(struct FrameId) v;
	u32 *slots, nslots; // index in v + 1
};
// Where the id of frames f[0] to f[n - 1] is kept, until the next call; 0: they are new. They live as long as t.
u64 *frameids_at(struct FrameIds *t, const struct Frame *f, u32 n);
void frameids_deinit(struct FrameIds *t);

// ---- places.c: where code lies in files, as pprof and OTLP have it
struct Mapping {
	const char *name, *build_id;
	u64 start, limit, offset; // of a segment; limit 0: as seen, until places_end()
	u64 low, high;		  // addresses seen
	bool in_file;		  // addresses without a segment are offsets in the file
	bool names, lines, inlines;
};
#define PLACES_SEEN 64u
struct PlaceSeen { // of frames that have the same of these the mapping is the same
	const struct Image *image;
	const struct ImageSegment *seg;
	const char *name;
	u64 id; // 0: none
};
struct Places {
	struct PlaceSeen seen[PLACES_SEEN]; // by a hash
	struct Map ids; // what a mapping is of -> id, which is its index + 1
	VEC(struct Mapping) v;
};
u64 places_put(struct Places *p, const struct Frame *f, u64 *addr); // f's mapping's id (0: none is known), and its address in there
void places_end(struct Places *p); // every mapping has its range
void places_deinit(struct Places *p);
// The name of what f runs, for a message of its own; what it was made from (NULL: nothing that readers may take apart).
void function_name(const struct Frame *f, struct Str *name);
const char *function_system_name(const struct Frame *f, const char *name);
// Names of p's values by pprof's conventions: "samples" and "count", "time" and "microseconds"
void profile_types(const struct StackProfile *p, const char **type, const char **unit);
#endif
