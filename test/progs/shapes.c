// Arguments of every shape for uprobes, once each: three(-7, 100, 'x'), whole(a struct), words({"one", "two", "three"}).
// usage: shapes [exit status]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

struct inner {
	int q;
	char c;
};
struct whole {
	int a;
	char b[10];
	uint8_t arr[4];
	struct inner in;
	struct inner *pin;
	int m[2][2];
	unsigned bf1 : 3, bf2 : 5;
	const char *str;
	int8_t neg;
	union {
		int ui;
		uint8_t uc;
	} u;
};

NOINLINE int three(int a, long b, char c)
{
	__asm__ volatile("");
	return a + (int)b + c;
}

NOINLINE int whole(struct whole *w)
{
	__asm__ volatile("" : : "r"(w) : "memory");
	return w->a;
}

NOINLINE int words(char **v)
{
	__asm__ volatile("" : : "r"(v) : "memory");
	return v[0][0];
}

int main(int argc, char **argv)
{
	struct inner other = {99, 'z'};
	struct whole w = {.a = 5, .b = "hello", .arr = {1, 2, 3, 4}, .in = {42, 'c'}, .pin = &other, .m = {{1, 2}, {3, 4}}, .bf1 = 5, .bf2 = 17,
			  .str = "pointed", .neg = -3, .u = {.ui = 65}};
	char *v[] = {"one", "two", "three", NULL};
	int sum = three(-7, 100, 'x') + whole(&w) + words(v);
	printf("shapes done\n");
	return sum ? argc > 1 ? atoi(argv[1]) : 0 : 1;
}
