// Runtimes whose functions the walker does not show: they are recognised, so that `sonde info -p` can say what is missing and what helps.
// Input: ELF files that processes map. Output: a row. Invariant: a name of .dynsym decides, no file name does.
#include "runtime/runtime.h"

static const struct RuntimeOther others[] = {
	{"Python", "Py_Initialize", "this version is not known (3.7 to 3.14 are): its stacks show the interpreter"},
	{"V8", "_ZN2v88internal7Version6major_E", "this version is not known (those of Node 18, 20, 22, 24 and 26 are): code made at run time is left by frame pointers; names with `node --perf-basic-prof`"},
	{"Ruby", "rb_thread_current", "this version is not known (2.7 to 3.4 on x86-64 are): its stacks show the interpreter"},
	{"Perl", "Perl_runops_standard", "this build is not known (5.30 to 5.42, of even numbers, with threads are): its stacks show the interpreter"},
	{"LuaJIT", "luaJIT_setmode", "this version is not known (2.1 on x86-64 is): its stacks show the interpreter, and code made at run time has neither names nor frame pointers"},
	{"Lua", "lua_newstate", "this version is not known (5.1, 5.3 and 5.4 on x86-64 are): its stacks show the interpreter in the place of its program's functions"},
	{"Guile", "scm_boot_guile", "its stacks show the virtual machine in the place of its program's functions, and are cut at what its compiler made unless GUILE_JIT_THRESHOLD=-1 is in the environment"},
	{"SBCL", "call_into_lisp", "its functions are addresses in its core, left by the frame pointers that they keep: stacks are whole by guess"},
	{"Valgrind", "_vgnU_freeres", "its stacks are of Valgrind itself, cut at the code into which it translates the program; callgrind counts by the program's functions"},
	{"Erlang", "erl_drv_thread_self", "only the innermost function of code that its JIT has made has its name (callers, too, on x86-64); `erl +JPperf true` brings them", "functions of code that its JIT has made (OTP 25, 27 and 29), lines as far as it tells GDB of them; without the JIT its stacks show the emulator"},
	{"Chromium", "ChromeMain", "code of JavaScript and WebAssembly is left by frame pointers; names with --no-sandbox --js-flags=--perf-basic-prof"},
	{"Deno or Bun", "napi_create_function", "functions of JavaScript (but of Deno 2.9), whose code made at run time is left by frame pointers; names with `deno run --v8-flags=--perf-basic-prof`, and with BUN_JSC_useJITDump=1 in Bun's environment"},
	{"Mono", "mono_jit_init", "functions of code made at run time: stacks through it are guessed, and lack callers, unless MONO_DEBUG=disable_omit_fp is in the environment; names with `mono --jitmap`, 4 KB of them at a time"},
	{"Racket", "racket_boot", "its functions (of Racket CS): stacks are cut at its code, which keeps a stack of its own without frame pointers; `raco profile` counts by the program's functions"},
	{"Chez Scheme", "Sscheme_init", "its functions: stacks are cut at its code, which keeps a stack of its own without frame pointers"},
	{"Poly/ML", "polymain", "its functions: stacks are cut at its code, which is made at run time without frame pointers"},
	{"Haskell (GHC)", "hs_init", "callers of its functions: stacks are cut at its code, which keeps a stack of its own"},
	{"PyPy", "pypy_main_startup", "its stacks show the interpreter, and are cut at code that its compiler makes, unless it runs with --jit off"},
	{"SpiderMonkey", "_Z27JS_GetImplementationVersionv", "functions of JavaScript; not all code made at run time keeps frame pointers, so callers may be missing: gjs does without it with GJS_DISABLE_JIT=1 in its environment"},
	{"Firefox", "XRE_GetBootstrap", "functions of JavaScript; not all code made at run time keeps frame pointers, so callers may be missing: Firefox's own profiler knows them"},
	{"R", "Rf_eval", "its stacks show the interpreter in the place of its program's functions"},
	{"Tcl", "Tcl_EvalObjv", "its stacks show the interpreter in the place of its program's functions"},
	{"SWI-Prolog", "PL_initialise", "its stacks show the virtual machine in the place of its program's predicates"},
	{".NET", "g_dacTable", "names of code made at run time with DOTNET_PerfMapEnabled=1", "methods (.NET 8 and later), without lines", true},
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

// ---- code that is made at run time and tells nothing of itself
static const struct {
	const char *marker, *hint;
} makers[] = {
	{"scm_boot_guile", "Guile's compiler keeps no frame pointers; GUILE_JIT_THRESHOLD=-1 in the environment does without it"},
	{"_vgnU_freeres", "Valgrind translates the program's code, which has no stack of its own there; callgrind counts by the program's functions"},
	{"erl_drv_thread_self", "Erlang's processes have stacks of their own (known on x86-64: OTP 25, 27 and 29); with +JPperf true their code keeps frame pointers and has names"},
	{"luaJIT_setmode", "LuaJIT's code keeps no frame pointers; -joff or jit.off() does without most of it"},
	{"ChromeMain", "JavaScript, whose code keeps frame pointers; it has names with --no-sandbox --js-flags=--perf-basic-prof"},
	{"_ZN2v88internal7Version6major_E", "JavaScript, whose code keeps frame pointers; it has names with node --perf-basic-prof"},
	{"napi_create_function", "JavaScript, whose code keeps frame pointers; it has names with deno's --v8-flags=--perf-basic-prof, or BUN_JSC_useJITDump=1 in Bun's environment"},
	{"mono_jit_init", "Mono's code, which keeps frame pointers with MONO_DEBUG=disable_omit_fp in the environment; names with mono --jitmap"},
	{"racket_boot", "Racket's code keeps a stack of its own and no frame pointers; raco profile counts by the program's functions"},
	{"Sscheme_init", "Chez Scheme's code keeps a stack of its own and no frame pointers"},
	{"polymain", "Poly/ML's code keeps no frame pointers"},
	{"pypy_main_startup", "PyPy's code keeps no frame pointers; --jit off does without"},
	{"_Z27JS_GetImplementationVersionv", "JavaScript, not all of whose code keeps frame pointers; gjs does without it with GJS_DISABLE_JIT=1 in its environment"},
	{"XRE_GetBootstrap", "JavaScript, not all of whose code keeps frame pointers; Firefox's own profiler knows its functions"},
	{"LLVMCreateGDBRegistrationListener", "perhaps LLVM's code, of which nobody tells: PostgreSQL does with jit_debugging_support=on when a session begins"},
	{"pcre2_jit_compile_8", "perhaps PCRE2's compiled patterns, which keep no frame pointers; PHP does without them with pcre.jit=0"},
};

const char *runtime_made_hint(struct ElfFile *f)
{
	const char *hint = NULL;
	struct RuntimeNames names;

	if (!runtime_names(f, &names))
		return NULL;
	for (u32 i = 0; !hint && i < ARRAY_LEN(makers); i++)
		if (runtime_defines(f, &names, makers[i].marker))
			hint = makers[i].hint;
	free(names.text);
	return hint;
}
