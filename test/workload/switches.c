// Switches as compilers write them: by a table of distances. For flow_test.c, which follows this code without its unwind tables. Cases that only abort, a switch in a case, a
// loop whose cases jump by one table, calls that do not return before the next function.
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
NOINLINE __attribute__((noreturn)) static void stop(const char *why)
{
	if (why)
		exit(3);
	abort();
}

NOINLINE int use(long *v, int by)
{
	for (int i = 0; i < 8; i++)
		v[i] += by;
	return (int)v[by & 7];
}

struct Node {
	unsigned char kind, inner;
	struct Node *next, *down;
	long n;
};

// The loop's cases each have the jump of the loop.
int run(struct Node *n, long *out)
{
	long v[8] = {1, 2, 3};
	int sum = 0;
	for (;;) {
		switch (n->kind) {
		case 0: return sum;
		case 1: sum += use(v, 1); n = n->next; continue;
		case 2: sum -= use(v, 2); n = n->down; continue;
		case 3: sum += run(n->down, v); n = n->next; continue;
		case 4: out[0] = n->n; n = n->next; continue;
		case 5: out[1] += use(out, 3); n = n->down; continue;
		case 6: stop("six");
		case 7: sum ^= use(v, 5) * use(v, 6); n = n->next; continue;
		case 8: stop(NULL);
		case 9: out[2] = run(n->next, v) + run(n->down, v); n = n->next; continue;
		case 10: sum = use(out, sum); n = n->down; continue;
		case 11: stop("eleven");
		default: return sum + use(v, 9);
		}
	}
}

// A switch in a case, cases that abort between those that do not.
int both(struct Node *n, long *out)
{
	long v[40] = {0};
	switch (n->kind) {
	case 0: stop("begin");
	case 1: stop("again");
	case 2:
		switch (n->inner) {
		case 0: return use(v, 1) + 1;
		case 1: return use(v + 8, 2) * 3;
		case 2: stop("inner");
		case 3: return use(v + 16, 3) - 4;
		case 4: return run(n->next, v);
		case 5: return run(n->down, v + 8) + 1;
		case 6: return use(out, 7);
		case 7: return use(out, 9) / 3;
		default: stop("no such inner");
		}
	case 3: return use(v, 10) + 100;
	case 4: return use(v, 11) * run(n->next, v);
	case 5: out[5] = use(v, 12); return 7;
	case 6: return both(n->next, v) + both(n->down, out);
	case 7: stop("end");
	case 8: return use(v + 32, 13) ^ 5;
	default: stop("no such node");
	}
}

// As the last thing, where the frame is gone.
int last(struct Node *n, long *out)
{
	if (n->n)
		use(out, (int)n->n);
	switch (n->kind) {
	case 0: return use(out, 1);
	case 1: return run(n, out);
	case 2: return both(n, out);
	case 3: return last(n->next, out);
	case 4: return run(n->down, out);
	case 5: return both(n->down, out);
	case 6: return use(out + 1, 2);
	default: return 0;
	}
}
