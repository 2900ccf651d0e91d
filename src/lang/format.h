// A script in its standard form, for --fmt.
#ifndef SONDE_FORMAT_H
#define SONDE_FORMAT_H
#include "lang/ast.h"

void format_script(const struct Script *s, struct Str *out); // s as parsed without errors, not expanded
#endif
