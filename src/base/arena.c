// Arena: chunks chained newest first; one malloc per 64 KB of small objects.
#include "base/base.h"

struct ArenaChunk {
	struct ArenaChunk *prev;
	size_t used, size;
	_Alignas(16) char data[];
};

void *arena_alloc(struct Arena *a, size_t size)
{
	size = ALIGN_UP(size ? size : 1, 16);
	struct ArenaChunk *c = a->chunk;
	if (!c || c->size - c->used < size) {
		size_t cap = MAX(size, a->chunk ? (size_t)64 << 10 : (size_t)16 << 10);
		c = xmalloc(sizeof(*c) + cap);
		c->prev = a->chunk;
		c->used = 0;
		c->size = cap;
		a->chunk = c;
	}
	void *p = c->data + c->used;
	c->used += size;
	return memset(p, 0, size);
}

char *arena_strndup(struct Arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);
	memcpy(p, s, n);
	return p;
}

char *arena_strdup(struct Arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct Arena *a, const char *fmt, ...)
{
	va_list ap;
	struct Str s = {0};
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	char *p = arena_strndup(a, str_text(&s), s.n);
	str_deinit(&s);
	return p;
}

void arena_deinit(struct Arena *a)
{
	for (struct ArenaChunk *c = a->chunk, *prev; c; c = prev) {
		prev = c->prev;
		free(c);
	}
	a->chunk = NULL;
}
