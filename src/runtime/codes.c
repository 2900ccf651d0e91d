// Code objects by their numbers. Input: what the kernel side has copied (struct RtCodeNew). Output: a code object of a frame.
// Invariant: a number that two different ones share names neither.
#include <pthread.h>
#include "runtime/internal.h"

struct Known {
	u64 id, nil; // see struct NumTab
	bool twice;
	struct RtCode *code; // owned, up to the lines there are
};
struct Codes {
	pthread_mutex_t lock;
	struct NumTab known;
	struct Scripts *scripts;
	void (*late)(void *);
	void *arg;
};
#define CODES_MAX (1u << 20) // of them, some 500 bytes each: a program that makes code for ever

struct Codes *codes_create(void)
{
	struct Codes *c = xcalloc(1, sizeof(*c));
	c->known.size = sizeof(struct Known);
	c->scripts = scripts_create();
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void codes_destroy(struct Codes *c)
{
	if (!c)
		return;
	for (u32 i = 0; i < c->known.cap; i++) {
		struct Known *k = numtab_at(&c->known, i);
		if (k)
			free(k->code);
	}
	numtab_deinit(&c->known);
	scripts_destroy(c->scripts);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void codes_set_late(struct Codes *c, void (*late)(void *), void *arg)
{
	c->late = late;
	c->arg = arg;
}

void codes_add(struct Codes *c, const struct RtCodeNew *code, size_t bytes)
{
	size_t head = offsetof(struct RtCodeNew, code.lines), n;
	if (bytes < head || bytes < head + MIN(code->code.nlines, RT_CODE_LINES) || !code->id)
		return;
	n = MIN(bytes, sizeof(*code)) - offsetof(struct RtCodeNew, code);
	pthread_mutex_lock(&c->lock);
	struct Known *k = numtab_get(&c->known, code->id, 0);
	if (k) {
		k->twice |= k->code->check != code->code.check;
	} else if (c->known.n < CODES_MAX) {
		k = numtab_put(&c->known, code->id, 0);
		k->code = xcalloc(1, n + 1);
		memcpy(k->code, &code->code, n);
	}
	pthread_mutex_unlock(&c->lock);
}

static bool find(struct Codes *c, u64 id, struct RtCode *out)
{
	pthread_mutex_lock(&c->lock);
	const struct Known *k = numtab_get(&c->known, id, 0);
	if (k) {
		size_t lines = MIN(k->code->nlines, RT_CODE_LINES);
		memset(out, 0, sizeof(*out));
		memcpy(out, k->code, offsetof(struct RtCode, lines) + lines);
		if (k->twice)
			out->kind = RT_LANG_NONE;
	}
	pthread_mutex_unlock(&c->lock);
	return k != NULL;
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

u32 codes_line(struct Codes *c, const struct RtCode *code, u32 pos)
{
	const struct Runtime *rt = runtime_of(code->kind);
	if (!rt || rt->line)
		return rt ? rt->line(code, pos) : 0;
	pthread_mutex_lock(&c->lock);
	u32 line = scripts_line(c->scripts, code, pos);
	pthread_mutex_unlock(&c->lock);
	return line;
}

bool codes_wants_script(struct Codes *c, const struct RtCodeNew *code, size_t bytes, struct RtScriptAt *at)
{
	pthread_mutex_lock(&c->lock);
	bool wants = bytes >= offsetof(struct RtCodeNew, code.lines) + RT_CODE_SCRIPT + sizeof(*at) && scripts_wants(c->scripts, &code->code, at);
	pthread_mutex_unlock(&c->lock);
	return wants;
}

void codes_read_script(struct Codes *c, const struct RtCodeNew *code, const struct JavaMemory *m, const struct RtV8 *v)
{
	struct ScriptLines l = {0};
	if (scripts_read(&code->code, m, v, &l)) { // without the lock: it may be 128 MB
		pthread_mutex_lock(&c->lock);
		scripts_add(c->scripts, &code->code, &l);
		pthread_mutex_unlock(&c->lock);
	}
	vec_deinit(&l.starts);
}
