// cold FILE: calls functions with texts in pages of FILE that nobody has used yet, and says after each call whether the text's first page is in memory then.
// Each text has a mapping of its own, so that no fault brings the page of another one along.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, CROSSES = PAGE - 4 };
struct box {
	const char *text;
};

__attribute__((noipa)) int take(const char *text, long which)
{
	return which != 0 && text == NULL;
}

__attribute__((noipa)) int deep(const struct box *b)
{
	return b == NULL;
}

static const char *cold(int fd, long page)
{
	return mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, page * PAGE);
}

static void tell(const char *what, const void *p)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);
	if (fd < 0 || pread(fd, &entry, 8, (off_t)((uintptr_t)p / PAGE * 8)) != 8)
		perror("pagemap");
	close(fd);
	printf("%s: %s\n", what, entry >> 63 ? "in memory" : "cold");
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "", O_RDWR | O_CREAT | O_TRUNC, 0600);
	const char *text[4];
	struct box box;
	if (fd < 0 || ftruncate(fd, 16 * PAGE)) {
		perror("cold");
		return 1;
	}
	for (long i = 0; i < 4; i++)
		text[i] = cold(fd, 2 * i);
	const struct box *b = (const struct box *)cold(fd, 8);
	box.text = text[3];
	if (pwrite(fd, "at its start", 13, 0) < 0 || pwrite(fd, "over the edge", 14, 2 * PAGE + CROSSES) < 0 || pwrite(fd, "left out", 9, 4 * PAGE) < 0 ||
	    pwrite(fd, "behind a pointer", 17, 6 * PAGE) < 0 || pwrite(fd, &box, sizeof(box), 8 * PAGE) < 0)
		return 1;
	take(text[0], 1);
	tell("start", text[0]);
	take(text[1] + CROSSES, 2);
	tell("edge", text[1] + CROSSES);
	take(text[2], 3);
	tell("left out", text[2]);
	deep(b);
	tell("pointer", text[3]);
	take(NULL, 4);
	return 0;
}
