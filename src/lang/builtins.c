// The table of builtins: names, arguments, flags, help. In: a name. Out: its row. The check column is in check_call.c, the lower column in lower/.
#include "lang/internal.h"

const struct Builtin builtins[] = {
#define B(name, min, max, flags, check, lower, sig, help) {#name, min, max, flags, BI_##name, sig, help},
#include "lang/builtins.def"
#undef B
};

const struct Builtin *builtin_find(const char *name)
{
	if (!strncmp(name, "__builtin_", 10)) // whatever macros have the name
		name += 10;
	for (size_t i = 0; i < BUILTINS; i++)
		if (i != BI___c_function && !strcmp(builtins[i].name, name)) // which stands for imported ones: resolve.c
			return &builtins[i];
	return NULL;
}

const char *builtin_nearest(const char *name)
{
	const char *names[BUILTINS];
	size_t n = 0;
	for (size_t i = 0; i < BUILTINS; i++)
		if (strncmp(builtins[i].name, "__", 2)) // sonde's own
			names[n++] = builtins[i].name;
	return nearest_name(name, names, n);
}
