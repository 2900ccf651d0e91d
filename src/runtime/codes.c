// Code objects by their numbers. Input: what the kernel side has copied (struct RtCodeNew). Output: a code object of a frame.
// Invariant: a number that two different ones share names neither.
#include <pthread.h>
#include "runtime/runtime.h"

struct Known {
	u64 id; // 0: free
	bool twice;
	struct RtCode *code; // owned, up to the lines there are
};
struct Codes {
	pthread_mutex_t lock;
	struct Known *v; // open addressing, a power of 2, at most half of it in use
	u32 n, cap;
	void (*late)(void *);
	void *arg;
};
#define CODES_MAX (1u << 20) // of them, some 500 bytes each: a program that makes code for ever

struct Codes *codes_create(void)
{
	struct Codes *c = xcalloc(1, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void codes_destroy(struct Codes *c)
{
	if (!c)
		return;
	for (u32 i = 0; i < c->cap; i++)
		free(c->v[i].code);
	free(c->v);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void codes_set_late(struct Codes *c, void (*late)(void *), void *arg)
{
	c->late = late;
	c->arg = arg;
}

static struct Known *slot(const struct Codes *c, u64 id)
{
	u32 at = (u32)(id * 0x9e3779b97f4a7c15u >> 32);
	while (c->v[at & (c->cap - 1)].id && c->v[at & (c->cap - 1)].id != id)
		at++;
	return &c->v[at & (c->cap - 1)];
}

static void grow(struct Codes *c)
{
	struct Known *old = c->v;
	u32 n = c->cap;
	c->cap = n ? n * 2 : 256;
	c->v = xcalloc(c->cap, sizeof(*c->v));
	for (u32 i = 0; i < n; i++)
		if (old[i].id)
			*slot(c, old[i].id) = old[i];
	free(old);
}

void codes_add(struct Codes *c, const struct RtCodeNew *code, size_t bytes)
{
	size_t head = offsetof(struct RtCodeNew, code.lines), n;
	if (bytes < head || bytes < head + MIN(code->code.nlines, RT_CODE_LINES) || !code->id)
		return;
	n = MIN(bytes, sizeof(*code)) - offsetof(struct RtCodeNew, code);
	pthread_mutex_lock(&c->lock);
	if (c->n * 2 >= c->cap)
		grow(c);
	struct Known *k = slot(c, code->id);
	if (k->id) {
		k->twice |= k->code->check != code->code.check;
	} else if (c->n < CODES_MAX) {
		*k = (struct Known){code->id, false, xcalloc(1, n + 1)};
		memcpy(k->code, &code->code, n);
		c->n++;
	}
	pthread_mutex_unlock(&c->lock);
}

static bool find(struct Codes *c, u64 id, struct RtCode *out)
{
	pthread_mutex_lock(&c->lock);
	const struct Known *k = c->cap ? slot(c, id) : NULL;
	bool have = k && k->id;
	if (have) {
		size_t lines = MIN(k->code->nlines, RT_CODE_LINES);
		memset(out, 0, sizeof(*out));
		memcpy(out, k->code, offsetof(struct RtCode, lines) + lines);
		if (k->twice)
			out->kind = RT_LANG_NONE;
	}
	pthread_mutex_unlock(&c->lock);
	return have;
}

bool codes_get(struct Codes *c, u64 id, struct RtCode *out)
{
	if (!c)
		return false;
	if (!find(c, id, out)) {
		if (!c->late)
			return false;
		c->late(c->arg);
		if (!find(c, id, out))
			return false;
	}
	return out->kind != RT_LANG_NONE;
}
