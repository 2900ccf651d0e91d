// A program of known values, for generated scripts (test/gen). usage: values FILE
// Each line of FILE is a row: four numbers and 2 * 144 bytes, all hexadecimal. For each row take0() to take11() are called, one after the other, with the numbers, the
// first 144 bytes as a record and its text. The record's first word is made to point to the second 144 bytes, its second word to the text (its last 32 bytes).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD 144
#define TEXT 112
#define TAKE(n) \
	__attribute__((noinline, noclone)) void take##n(long a, unsigned long b, int c, unsigned d, void *rec, const char *text) \
	{ \
		__asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(rec), "r"(text), "i"(n) : "memory"); \
	}
TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5) TAKE(6) TAKE(7) TAKE(8) TAKE(9) TAKE(10) TAKE(11)

static void (*const takes[])(long, unsigned long, int, unsigned, void *, const char *) = {take0, take1, take2, take3, take4, take5, take6, take7, take8, take9, take10,
	take11};

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	static char rec[2][RECORD] __attribute__((aligned(16)));
	unsigned long v[4];
	if (!f)
		return fprintf(stderr, "usage: values FILE\n"), 2;
	while (fscanf(f, "%lx %lx %lx %lx", &v[0], &v[1], &v[2], &v[3]) == 4) {
		for (unsigned i = 0; i < sizeof(rec); i++) {
			unsigned byte;
			if (fscanf(f, " %2x", &byte) != 1)
				return 1;
			((char *)rec)[i] = (char)byte;
		}
		for (unsigned i = 0; i < 2; i++)
			memcpy(rec[i], (void *[]){rec[!i], rec[i] + TEXT}, 2 * sizeof(void *));
		for (unsigned i = 0; i < sizeof(takes) / sizeof(*takes); i++)
			takes[i]((long)v[0], v[1], (int)v[2], (unsigned)v[3], rec[0], rec[0] + TEXT);
	}
	fclose(f);
	return 0;
}
