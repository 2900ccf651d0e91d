// The workload of `make demo-story`: two services with known answers (scripts/demo-story.sh). One thread each, so that what waits is what works.
// usage: story shop SECONDS [new]    price_cart: sum_items, apply_discounts (new: three times as long), then write_audit waits in wait_for_disk
//        story thumbs SECONDS FROM TO   resize_image; from second FROM to TO rebuild_index in its place; the times of its first call and after its last are printed
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") // no tail call

static volatile unsigned long sink;

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define WORK(name, step) /* each its own code: equal functions become one */ \
	NOINLINE static void name(double ms) \
	{ \
		for (double end = seconds(CLOCK_THREAD_CPUTIME_ID) + ms / 1e3; seconds(CLOCK_THREAD_CPUTIME_ID) < end;) \
			for (int i = 0; i < 100000; i++) \
				sink += (unsigned long)i * step; \
	}
WORK(sum_items, 3)
WORK(apply_discounts, 5)
WORK(resize_image, 7)
WORK(rebuild_index, 9)

NOINLINE static void price_cart(int new)
{
	sum_items(6);
	apply_discounts(new ? 6 : 2);
	KEEP;
}

NOINLINE static void wait_for_disk(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
	KEEP;
}

NOINLINE static void write_audit(void)
{
	wait_for_disk();
	KEEP;
}

static void tell(int *told)
{
	printf("%.3f\n", seconds(CLOCK_REALTIME));
	fflush(stdout);
	++*told;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	double begin = seconds(CLOCK_MONOTONIC), now = 0, end = atof(argv[2]), from = argc > 4 ? atof(argv[3]) : 0, to = argc > 4 ? atof(argv[4]) : 0;
	int shop = !strcmp(argv[1], "shop"), told = 0;
	prctl(PR_SET_NAME, argv[1]);
	for (; now < end; now = seconds(CLOCK_MONOTONIC) - begin) {
		if (shop) {
			price_cart(argc > 3);
			write_audit();
		} else if (now >= from && now < to) {
			if (!told)
				tell(&told);
			rebuild_index(8);
		} else {
			if (told == 1)
				tell(&told);
			resize_image(8);
		}
	}
	return 0;
}
