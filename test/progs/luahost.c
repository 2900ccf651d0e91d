// A program that runs a Lua script in a library, as applications do: luahost [-r] LIBRARY SCRIPT [ARG...]. -r: as a coroutine, which it resumes until that ends, as HAProxy does. It has the interpreter's functions by dlopen(3), so no headers of Lua's are needed.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct lua_State lua_State;

// The function on top of the thread's stack, until it does not yield any more.
static int resume(void *lib, lua_State *l)
{
	int (*resume_5_1)(lua_State *, int) = (int (*)(lua_State *, int))dlsym(lib, "lua_resume");
	int (*resume_5_3)(lua_State *, lua_State *, int) = (int (*)(lua_State *, lua_State *, int))dlsym(lib, "lua_resume");
	int (*resume_5_4)(lua_State *, lua_State *, int, int *) = (int (*)(lua_State *, lua_State *, int, int *))dlsym(lib, "lua_resume");
	bool is_5_1 = !dlsym(lib, "lua_callk"), is_5_4 = dlsym(lib, "lua_closeslot");
	int status, results;

	do {
		status = is_5_1 ? resume_5_1(l, 0) : is_5_4 ? resume_5_4(l, NULL, 0, &results) : resume_5_3(l, NULL, 0);
	} while (status == 1); // LUA_YIELD
	return status;
}

int main(int argc, char **argv)
{
	bool coroutine = argc > 1 && !strcmp(argv[1], "-r");
	argc -= coroutine;
	argv += coroutine;
	void *lib = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!lib) {
		fprintf(stderr, "luahost: %s\n", argc > 2 ? dlerror() : "usage: luahost [-r] LIBRARY SCRIPT [ARG...]");
		return 1;
	}
	lua_State *(*newstate)(void) = (lua_State * (*)(void)) dlsym(lib, "luaL_newstate");
	void (*openlibs)(lua_State *) = (void (*)(lua_State *))dlsym(lib, "luaL_openlibs");
	int (*load_5_2)(lua_State *, const char *, const char *) = (int (*)(lua_State *, const char *, const char *))dlsym(lib, "luaL_loadfilex");
	int (*load_5_1)(lua_State *, const char *) = (int (*)(lua_State *, const char *))dlsym(lib, "luaL_loadfile");
	int (*call_5_2)(lua_State *, int, int, int, long, void *) = (int (*)(lua_State *, int, int, int, long, void *))dlsym(lib, "lua_pcallk");
	int (*call_5_1)(lua_State *, int, int, int) = (int (*)(lua_State *, int, int, int))dlsym(lib, "lua_pcall");
	void (*createtable)(lua_State *, int, int) = (void (*)(lua_State *, int, int))dlsym(lib, "lua_createtable");
	void *(*pushstring)(lua_State *, const char *) = (void *(*)(lua_State *, const char *))dlsym(lib, "lua_pushstring");
	void (*rawseti)(lua_State *, int, long long) = (void (*)(lua_State *, int, long long))dlsym(lib, "lua_rawseti");
	void (*setglobal)(lua_State *, const char *) = (void (*)(lua_State *, const char *))dlsym(lib, "lua_setglobal");
	void (*setfield)(lua_State *, int, const char *) = (void (*)(lua_State *, int, const char *))dlsym(lib, "lua_setfield");
	const char *(*tolstring)(lua_State *, int, size_t *) = (const char *(*)(lua_State *, int, size_t *))dlsym(lib, "lua_tolstring");
	lua_State *l = newstate();

	openlibs(l);
	createtable(l, argc - 3, 0);
	for (int i = 3; i < argc; i++) {
		pushstring(l, argv[i]);
		rawseti(l, -2, i - 2);
	}
	if (setglobal)
		setglobal(l, "arg");
	else
		setfield(l, -10002, "arg"); // LUA_GLOBALSINDEX
	lua_State *(*newthread)(lua_State *) = (lua_State * (*)(lua_State *)) dlsym(lib, "lua_newthread");
	if (coroutine)
		l = newthread(l);
	int bad = load_5_1 ? load_5_1(l, argv[2]) : load_5_2(l, argv[2], NULL);
	if (!bad && coroutine)
		bad = resume(lib, l);
	else if (!bad)
		bad = call_5_1 ? call_5_1(l, 0, 0, 0) : call_5_2(l, 0, 0, 0, 0, NULL);
	if (bad)
		fprintf(stderr, "luahost: %s\n", tolstring(l, -1, NULL));
	return bad;
}
