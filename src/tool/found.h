// Tools of the user's and of packages: scripts NAME.bt in the folders of the tools' path.
#ifndef SONDE_TOOL_FOUND_H
#define SONDE_TOOL_FOUND_H
#include "base/base.h"

struct FoundTool {
	char *name, *path; // path: canonical
};
struct FoundTools {
	VEC(struct FoundTool) v;
};
// All of them, by name; the first folder of the path that has a name wins. What is refused is told on stderr.
void found_list(struct FoundTools *out);
// The one of that name and its text; false: there is none, or those there are were refused (told on stderr, *refused is their number).
bool found_get(const char *name, struct FoundTool *out, struct Str *text, u32 *refused);
bool found_exists(const char *name, struct Str *path); // is there a file of that name in the path, fit or not?
void found_free(struct FoundTool *t);
void found_list_free(struct FoundTools *l);
#endif
