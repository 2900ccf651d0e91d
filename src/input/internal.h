// Shared by the readers.
#ifndef SONDE_INPUT_INTERNAL_H
#define SONDE_INPUT_INTERNAL_H
#include "input/input.h"

struct Format {
	const char *name, *units; // of it: "lines", "samples"
	bool (*is)(const char *data, size_t n); // by its beginning
	struct err *(*read)(struct Input *in, const struct InputWish *wish, const char *data, size_t n);
};
extern const struct Format format_pprof, format_perf, format_bpftrace, format_folded;

struct Line {
	const char *p;
	size_t n; // without its end
};
static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}
bool next_line(const char **p, const char *end, struct Line *line); // false: no more
void input_skip(struct Input *in, u64 number, const char *why);

// Samples, frames, labels and what they are told by: a file that would make more of them than Input.most is refused (input.c), else a small one could take all memory.
bool input_room(struct Input *in, u64 n); // for n more; else there is nothing to be kept of them
bool input_full(const struct Input *in); // there was no room, or too much text: a name may stand in a million stacks, and many forms are texts

// Texts of the input, one copy of each.
struct Names {
	struct Arena *arena;
	struct Map have;
	struct Str now; // that is looked for
};
const char *names_keep(struct Names *names, const char *s, size_t n);
void names_deinit(struct Names *names); // the texts stay

struct Word {
	const char *p;
	size_t n;
};
bool next_word(const char **p, const char *end, struct Word *w); // between blanks; false: no more
size_t word_span(const struct Word *w, const char *of);		 // so many of its first bytes are of these
bool read_place(struct Names *names, const char *p, const char *end, struct Frame *f); // "7f00 name+0x12 (object)"
bool read_source(struct Names *names, const char *p, const char *end, struct Frame *f); // "file.c:12"

// A stack whose frames are found root first, each with its kind.
struct InputStack {
	VEC(struct Frame) frames;
};
void input_frame(struct Input *in, struct InputStack *st, struct Frame f); // as far as there is room
// Adds a sample of them, if there is room: those of the kernel at the leaf's end are its kernel stack. Frames are copied.
void input_add(struct Input *in, struct InputStack *st, struct StackSample s);
#endif
