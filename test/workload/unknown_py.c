// What looks like a Python of a version that there is none of: its runtime's symbols. "loop" stands where the interpreter's loop would.
// gcc -rdynamic. usage: unknown_py N
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

char _PyRuntime[64];
char PyCode_Type[64];
const unsigned long Py_Version = 0x036300f0; // 3.99.0

__attribute__((noinline)) void _PyEval_EvalFrameDefault(int n)
{
	while (n-- > 0)
		syscall(SYS_getppid);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	_PyEval_EvalFrameDefault(argc > 1 ? atoi(argv[1]) : 1);
	return 0;
}
