// A program that has several interpreters of CPython in it, as servers do (mod_wsgi): pyhost LIBRARY CODE. Each of two runs the code, the second one on another thread, too.
// It has CPython's functions by dlopen(3), so no headers of Python's are needed. 3.9 or later.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *lib;
static const char *code;

static void *function(const char *name)
{
	void *f = dlsym(lib, name);
	if (!f) {
		fprintf(stderr, "pyhost: %s\n", dlerror());
		exit(1);
	}
	return f;
}

static void run(void)
{
	int (*run_string)(const char *, void *) = (int (*)(const char *, void *))function("PyRun_SimpleStringFlags");
	if (run_string(code, NULL))
		exit(1);
}

static void *thread(void *interpreter)
{
	void *(*state_new)(void *) = (void *(*)(void *))function("PyThreadState_New");
	void (*restore)(void *) = (void (*)(void *))function("PyEval_RestoreThread");
	void *(*save)(void) = (void *(*)(void))function("PyEval_SaveThread");

	restore(state_new(interpreter));
	run();
	save();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	lib = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!lib) {
		fprintf(stderr, "pyhost: %s\n", argc == 3 ? dlerror() : "usage: pyhost LIBRARY CODE");
		return 1;
	}
	code = argv[2];
	void (*initialize)(int) = (void (*)(int))function("Py_InitializeEx");
	void *(*interpreter_new)(void) = (void *(*)(void))function("Py_NewInterpreter");
	void *(*interpreter_of)(void *) = (void *(*)(void *))function("PyThreadState_GetInterpreter");
	void (*restore)(void *) = (void (*)(void *))function("PyEval_RestoreThread");
	void *(*save)(void) = (void *(*)(void))function("PyEval_SaveThread");

	initialize(0);
	interpreter_new();
	run();
	void *state = interpreter_new();
	run();
	void *interpreter = interpreter_of(state);
	save();
	pthread_create(&other, NULL, thread, interpreter);
	pthread_join(other, NULL);
	restore(state);
	run();
	return 0;
}
