// A program in C that has CPython in it: threads of its own run Python code, which calls back into C, and that into Python.
// usage: embed SECONDS. cc embed.c $(python3-config --embed --cflags --ldflags)
#include <Python.h>
#include <pthread.h>
#include <time.h>

static const char code[] =
	"import json, re, sqlite3, time\n"
	"import host\n"
	"def on_row(n):\n"
	"    return sum(i * i for i in range(n % 50))\n"
	"def back(n):\n"
	"    return json.dumps({'n': [host.call(on_row, i) for i in range(n)]})\n"
	"def work():\n"
	"    db = sqlite3.connect(':memory:')\n"
	"    db.create_function('f', 1, on_row)\n"
	"    db.execute('create table t (a)')\n"
	"    db.executemany('insert into t values (?)', ((i,) for i in range(200)))\n"
	"    db.execute('select sum(f(a)) from t').fetchall()\n"
	"    re.sub(r'[a-z]+', lambda m: m.group(0).upper(), back(200))\n"
	"    host.call(back, 20)\n"
	"    time.sleep(0.002)\n";

static PyObject *call(PyObject *self, PyObject *args)
{
	PyObject *f;
	int n;
	if (!PyArg_ParseTuple(args, "Oi", &f, &n))
		return NULL;
	return PyObject_CallFunction(f, "i", n);
}

static PyMethodDef methods[] = {{"call", call, METH_VARARGS, NULL}, {NULL}};
static struct PyModuleDef host = {PyModuleDef_HEAD_INIT, "host", NULL, -1, methods};
static PyObject *init_host(void)
{
	return PyModule_Create(&host);
}

static time_t ends;

__attribute__((noinline)) static void rounds_of_work(PyObject *work)
{
	while (time(NULL) < ends) {
		PyObject *r = PyObject_CallNoArgs(work);
		if (!r)
			PyErr_Print();
		Py_XDECREF(r);
	}
}

static void *a_thread(void *work)
{
	PyGILState_STATE s = PyGILState_Ensure();
	rounds_of_work(work);
	PyGILState_Release(s);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	ends = time(NULL) + atoi(argv[1]);
	PyImport_AppendInittab("host", init_host);
	Py_Initialize();
	PyObject *main = PyImport_AddModule("__main__"), *dict = PyModule_GetDict(main);
	PyObject *compiled = Py_CompileString(code, "embedded.py", Py_file_input);
	if (!compiled || !PyEval_EvalCode(compiled, dict, dict))
		return PyErr_Print(), 1;
	PyObject *work = PyDict_GetItemString(dict, "work");
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, a_thread, work);
	rounds_of_work(work);
	Py_BEGIN_ALLOW_THREADS
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	Py_END_ALLOW_THREADS
	return 0;
}
