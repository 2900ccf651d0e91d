// Objects of code made at run time, and the list of a process's pieces of such code. Input: functions, rows and sizes, from whoever knows them. Output: an object for
// the tables (tables.c). Invariant: equal code (same functions, sizes, rows, distances) is one object, whoever has made it.
#include <sys/uio.h>
#include "track/internal.h"

#define OBJECTS_MAX 8192u	  // each holds a file descriptor and a number of rt_uw_obj

bool jit_read_memory(void *tgid, u64 addr, void *buf, size_t n)
{
	struct iovec to = {buf, n}, from = {(void *)addr, n};
	return process_vm_readv(*(int *)tgid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

u64 jit_place_of(const struct ProcMap *m, u64 vaddr)
{
	struct SymSegment segs[16];
	u32 n = sym_object_segments(m->obj, segs, ARRAY_LEN(segs));
	for (u32 i = 0; i < n; i++)
		if (m->file_off >= (segs[i].off & ~4095ull) && m->file_off < segs[i].off + segs[i].size)
			return vaddr + (m->start - m->file_off) + (segs[i].off - segs[i].vaddr);
	return 0;
}

void jit_hash(struct JitHash *h, const void *p, size_t n)
{
	const u8 *at = p;
	for (u64 w = 0; n; at += MIN(n, sizeof(w)), n -= MIN(n, sizeof(w)), w = 0) {
		memcpy(&w, at, MIN(n, sizeof(w)));
		h->a = (h->a ^ w) * 0x9e3779b97f4a7c15ull, h->a ^= h->a >> 32;
		h->b = (h->b + w) * 0xc2b2ae3d27d4eb4full, h->b ^= h->b >> 29;
	}
}

static void hash_section(struct JitHash *h, const struct CfiSec *s, u64 base)
{
	u64 head[2] = {s->data ? s->vaddr - base : 0, s->data ? s->size : 0};
	jit_hash(h, head, sizeof(head));
	if (s->data)
		jit_hash(h, s->data, s->size);
}

static void hash_names(struct JitHash *h, const struct MadeNames *n)
{
	for (u32 i = 0; i < n->nsyms; i++) {
		u64 where[2] = {n->syms[i].addr, n->syms[i].size};
		jit_hash(h, where, sizeof(where));
		jit_hash(h, n->syms[i].name, strlen(n->syms[i].name) + 1);
	}
	for (u32 i = 0; i < n->nlines; i++) {
		const struct MadeLine *l = &n->lines[i];
		u64 what[2] = {l->addr, l->file ? l->line : 0};
		jit_hash(h, what, sizeof(what));
		if (l->file && (!i || l->file != n->lines[i - 1].file))
			jit_hash(h, l->file, strlen(l->file) + 1);
	}
}

struct SymObject *jit_object(struct Jits *j, u64 base, u64 span, const struct MadeNames *names, struct UwMade *made)
{
	struct JitHash h = {span, names->nsyms + 1};
	hash_names(&h, names);
	for (size_t i = 0; i < made->cfi.n; i++) {
		const struct ElfCfi *c = &made->cfi.p[i];
		for (size_t k = 0; k < c->segs.n; k++) {
			u64 where[2] = {c->segs.p[k].off, c->segs.p[k].size};
			jit_hash(&h, where, sizeof(where));
		}
		hash_section(&h, &c->eh_frame, base);
		hash_section(&h, &c->debug_frame, base);
		if (c->code)
			jit_hash(&h, c->code, c->file.size);
	}
	if (made->rows.n)
		jit_hash(&h, made->rows.p, made->rows.n * sizeof(*made->rows.p));
	jit_hash(&h, &made->lang, sizeof(made->lang));
	h.a |= 1;
	struct JitKnown *k = numtab_get(&j->known, h.a, h.b);
	if (k) {
		uwmade_free(made);
		return k->obj;
	}
	struct SymObject *o = j->nobjects < OBJECTS_MAX ? sym_object_made(j->syms, span, names) : NULL;
	if (!o || !tables_made(j->tables, o, made)) {
		if (!o)
			uwmade_free(made);
		__atomic_add_fetch(&j->nrefused, 1, __ATOMIC_RELAXED); // read by other threads
		numtab_put(&j->known, h.a, h.b); // counted once, however often its maker's list is read
		return NULL;
	}
	j->nobjects++;
	k = numtab_put(&j->known, h.a, h.b);
	k->obj = o;
	return o;
}

bool jit_is_stale(const struct Jits *j)
{
	u8 *seen = xcalloc(RT_UW_OBJS / 8, 1);
	u32 live = 0;
	for (size_t i = 0; i < j->v.n; i++) {
		const struct Jit *t = j->v.p[i];
		for (size_t k = 0; k < t->entries.n + t->maps.n; k++) {
			const struct ProcMap *m = k < t->entries.n ? NULL : &t->maps.p[k - t->entries.n];
			const struct SymObject *o = !m ? t->entries.p[k].obj : m->made == PROC_MADE_NAMES ? NULL : m->obj;
			u32 bit = o ? 1u << o->id % 8 : 0;
			live += o && !(seen[o->id / 8] & bit);
			if (o)
				seen[o->id / 8] |= (u8)bit;
		}
	}
	free(seen);
	return 2 * live < OBJECTS_MAX;
}

void jit_put(struct Jit *j, u64 start, u64 size, u64 off, struct SymObject *o, enum ProcMade made)
{
	maps_put(&j->maps, (struct ProcMap){.start = start, .end = start + size, .file_off = off, .obj = o, .made = made});
	j->changed = true;
}
