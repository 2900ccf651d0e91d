// test/workload/bare.c, built without unwind tables and without frame pointers (Makefile), also for guests that have no compiler.
#include "../workload/bare.c"
