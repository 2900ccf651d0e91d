// A program with known calls: add() is called 1000 times with n = 0..999 and returns 2 * n, name_of() 10 times with "name-N".
// usage: calls [rounds]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct pair {
	int first;
	struct pair *next;
	char label[16];
	unsigned bits : 5;
};

int global_counter = 42;
volatile long sink;

NOINLINE long add(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 2;
}

NOINLINE int name_of(const char *s, int len)
{
	sink += s[len - 1];
	return (int)strlen(s);
}

NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	__asm__ volatile("" : "+r"(g), "+r"(h));
	return a + b + c + d + e + f + g + h;
}

NOINLINE void take(struct pair *p)
{
	__asm__ volatile("" : : "r"(p) : "memory"); // everything it points to must be there
	sink += p->first;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	struct pair two = {2, NULL, "second", 3}, one = {1, &two, "first", 17};
	while (rounds--) {
		for (long i = 0; i < 1000; i++)
			sink += add(i);
		for (int i = 0; i < 10; i++) {
			char s[16];
			snprintf(s, sizeof(s), "name-%d", i);
			sink += name_of(s, (int)strlen(s));
		}
		sink += many(1, 2, 3, 4, 5, 6, 7, 8);
		take(&one);
	}
	return 0;
}
