// Names, files, lines and inlined calls of Go's functions. Input: the table that every Go program carries (elf/gopclntab.c), stripped or not. Output: what Go's
// own tracebacks say. Invariant: the table is read at the first question about the object and its texts live as long as Syms; where tables are limited
// (Go's compiler has one of 21 MB) it may go after each, and texts are copies.
#include "elf/elf.h"
#include "sym/internal.h"

u64 go_bytes(const struct ElfObj *e)
{
	return e->go && e->go_copied ? e->go->size + e->go->inl_size : 0;
}

// Apart from tables of symbols: one of Go's would push all of these out.
void go_tables_keep(struct Syms *s, u64 max_bytes)
{
	for (;;) {
		struct ElfObj *oldest = NULL;
		u64 bytes = 0;
		for (size_t i = 0; i < s->objs.n; i++) {
			struct ElfObj *e = elf_of(s->objs.p[i]);
			u64 takes = e ? go_bytes(e) : 0;
			bytes += takes;
			if (takes && (!oldest || e->go_asked < oldest->go_asked))
				oldest = e;
		}
		if (!oldest || bytes <= max_bytes)
			return;
		go_drop(oldest);
	}
}

static const char *kept(struct Syms *s, struct SymObject *o, const char *text)
{
	return text && elf_of(o)->go_copied ? map_keep(&s->kept, text) : text;
}

static const struct GoTab *table(struct Syms *s, struct SymObject *o)
{
	struct ElfObj *e = elf_of(o);
	if (e)
		e->go_asked = ++s->tables_asked;
	if (e && !e->go_tried) {
		if (s->tables_max)
			go_tables_keep(s, s->tables_max);
		struct GoTab t;
		e->go_tried = true;
		err_free(elffile_sections(&e->file)); // as sym/ reads them, from PT_DYNAMIC too
		if (gotab_open_places(&e->file, &t)) {
			e->go = xmalloc(sizeof(*e->go));
			*e->go = t;
			e->go_copied = s->tables_max != 0;
		}
	}
	return e ? e->go : NULL;
}

void go_drop(struct ElfObj *e)
{
	if (e->go)
		gotab_close(e->go);
	free(e->go);
	e->go = NULL;
	e->go_tried = false;
}

bool go_lookup(struct Syms *s, struct SymObject *o, u64 vaddr, struct SymHit *hit)
{
	const struct GoTab *t = table(s, o);
	struct GoFunc f;
	if (!t || !gotab_find(t, vaddr, &f) || !f.name[0])
		return false;
	hit->name = kept(s, o, f.name);
	hit->start = f.entry;
	hit->size = f.end - f.entry;
	hit->off = vaddr - f.entry;
	return true;
}

u32 go_inlined(struct Syms *s, struct SymObject *o, u64 vaddr, struct SymHit *hits, u32 max)
{
	const struct GoTab *t = table(s, o);
	struct GoPlace places[GO_MAX_INLINED];
	struct SymHit outer = hits[0];
	struct GoFunc f;
	if (!t || !gotab_find(t, vaddr, &f))
		return 0;
	u32 n = gotab_places(t, &f, vaddr, places, MIN(max, GO_MAX_INLINED));
	for (u32 i = 0; i < n; i++) {
		hits[i] = outer;
		hits[i].name = i + 1 < n ? kept(s, o, places[i].name) : outer.name;
		hits[i].file = s->opts.lines ? kept(s, o, places[i].file) : NULL;
		hits[i].line = s->opts.lines ? places[i].line : 0;
	}
	return n;
}

void go_each(struct Syms *s, struct SymObject *o, void (*fn)(void *arg, const char *name, u64 addr, u64 size), void *arg)
{
	const struct GoTab *t = table(s, o);
	struct GoFunc f;
	for (u32 i = 0; t && i < t->nfuncs; i++)
		if (gotab_func(t, i, &f) && f.name[0])
			fn(arg, kept(s, o, f.name), f.entry, f.end - f.entry);
}
