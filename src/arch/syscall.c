// Names and numbers of system calls on this machine, from syscalls.def. In: a number or a name; out: the other. No state.
#include "arch/arch.h"

int syscall_number(const char *name)
{
	for (int nr = 0; nr < 1024; nr++) {
		const char *s = syscall_name_of(nr);
		if (s && !strcmp(s, name))
			return nr;
	}
	return -1;
}

const char *syscall_name_of(int nr)
{
	static const struct {
		const char *name;
		int x86, generic;
	} rows[] = {
#define SYSCALL(name, x86, generic) {#name, x86, generic},
#include "arch/syscalls.def"
#undef SYSCALL
	};
	for (size_t i = 0; nr >= 0 && i < ARRAY_LEN(rows); i++)
#ifdef __x86_64__
		if (rows[i].x86 == nr)
#else
		if (rows[i].generic == nr)
#endif
			return rows[i].name;
	return NULL;
}
