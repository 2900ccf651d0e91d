// Runtimes whose functions the walker does not show: they are recognised, so that `sonde info -p` can say what is missing and what helps.
// Input: ELF files that processes map. Output: a row. Invariant: a name of .dynsym decides, no file name does.
#include "runtime/runtime.h"

static const struct RuntimeOther others[] = {
	{"Python", "Py_Initialize", "this version is not known (3.7 to 3.14 are): its stacks show the interpreter"},
	{"V8", "_ZN2v88internal7Version6major_E", "this version is not known (those of Node 18 and 20 are): code made at run time is left by frame pointers; names with `node --perf-basic-prof`"},
	{"Ruby", "rb_thread_current", "this version is not known (2.7 and 3.1 to 3.4 on x86-64 are): its stacks show the interpreter"},
	{"Perl", "Perl_runops_standard", "this build is not known (5.36 with threads is): its stacks show the interpreter"},
	{"LuaJIT", "luaJIT_setmode", "its stacks show the interpreter, and code made at run time has neither names nor frame pointers"},
	{"Lua", "lua_newstate", "its stacks show the interpreter in the place of its program's functions"},
	{"Erlang", "etp_otp_release", "code made at run time has frame pointers and names only with `erl +JPperf true`"},
	{".NET", "coreclr_initialize", "names of code made at run time with DOTNET_PerfMapEnabled=1"},
};

const struct RuntimeOther *runtime_other_in_file(struct ElfFile *f)
{
	const struct RuntimeOther *found = NULL;
	struct RuntimeNames names;

	if (!runtime_names(f, &names))
		return NULL;
	for (u32 i = 0; !found && i < ARRAY_LEN(others); i++)
		if (runtime_defines(f, &names, others[i].marker))
			found = &others[i];
	free(names.text);
	return found;
}
