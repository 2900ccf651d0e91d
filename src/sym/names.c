// What all of sym/ uses: the lock, and names as they are shown, demangled once and kept as long as Syms.
#include "sym/internal.h"

void syms_lock(struct Syms *s)
{
	pthread_mutex_lock(&s->lock);
}

void syms_unlock(struct Syms *s)
{
	pthread_mutex_unlock(&s->lock);
}

static const char *demangled(struct Syms *s, const char *raw)
{
	if (raw[0] != '_')
		return raw;
	const char *known = map_get(&s->demangled, raw);
	if (known)
		return known;
	size_t n = strlen(raw);
	bool plt = n > 4 && !strcmp(raw + n - 4, "@plt");
	char *head = plt ? xasprintf("%.*s", (int)(n - 4), raw) : NULL;
	char *text = demangle(plt ? head : raw);
	const char *out = NULL;
	if (text) {
		out = plt ? arena_printf(&s->arena, "%s@plt", text) : arena_strdup(&s->arena, text);
		map_put(&s->demangled, raw, (void *)out);
	}
	free(head);
	free(text);
	return out ? out : raw;
}

const char *sym_demangle(struct Syms *s, const char *raw)
{
	syms_lock(s);
	const char *text = demangled(s, raw);
	syms_unlock(s);
	return text;
}

const char *sym_shown_name(struct Syms *s, const char *raw)
{
	return s->opts.no_demangle ? raw : sym_demangle(s, raw);
}

const char *syms_name(struct Syms *s, const char *raw)
{
	const char *text = s->opts.no_demangle ? raw : demangled(s, raw);
	return text == raw ? map_keep(&s->kept, raw) : text;
}

const char *syms_raw(struct Syms *s, const char *raw, const char *name)
{
	return strcmp(raw, name) ? map_keep(&s->kept, raw) : NULL;
}
