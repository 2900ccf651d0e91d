// A process's mappings as the kernel side searches them: a tree of chunks in rt_uw_maps (bpfrt/stack.h). Input: mappings by start. Output: its elements.
// Invariant: the top is written last, and every chunk carries the generation, so a reader in between knows that it has parts of two sets.
#include "track/internal.h"

static void empty(struct RtUwChunk *c, u32 level, u64 gen)
{
	memset(c, 0, sizeof(*c));
	c->level = level;
	c->gen = gen;
	for (u32 i = 0; i < RT_UW_CHUNK; i++)
		c->map[i].start = RT_UW_NO_START;
}

struct Writer {
	int fd;
	u32 tgid;
	u64 gen;
	bool full;
	u64 jits; // of the top
};

static void put(struct Writer *w, u32 number, const struct RtUwChunk *c)
{
	struct RtUwKey key = {w->tgid, number};
	struct RtUwChunk top = *c;
	top.jits = number ? 0 : w->jits;
	w->full |= sys_map_update(w->fd, &key, &top, 0) < 0;
}

// One level above: n chunks with these starts are numbered from `first` on. Their parents: `out` has room for their starts, they are numbered from `number`.
static u32 put_level(struct Writer *w, const u64 *starts, u32 n, u32 first, u32 level, u32 number, u64 *out)
{
	u32 made = 0;
	for (u32 i = 0; i < n; made++) {
		struct RtUwChunk c;
		empty(&c, level, w->gen);
		out[made] = starts[i];
		for (; i < n && c.n < RT_UW_CHUNK; i++)
			c.map[c.n++] = (struct RtUwMapping){.start = starts[i], .obj = first + i};
		put(w, number + made, &c);
	}
	return made;
}

// Chunks of level 0, numbered from `number` on.
static u32 put_maps(struct Writer *w, const struct RtUwMapping *m, u32 n, u32 number, u64 *starts)
{
	u32 made = 0;
	for (u32 i = 0; i < n || !made; made++) {
		struct RtUwChunk c;
		empty(&c, 0, w->gen);
		c.n = MIN(n - i, (u32)RT_UW_CHUNK);
		starts[made] = n ? m[i].start : 0;
		if (c.n)
			memcpy(c.map, m + i, c.n * sizeof(*m));
		i += c.n;
		put(w, number + made, &c);
	}
	return made;
}

// 32,768 ids of rt_uw_obj are there, but a frame has room for more: what lies there is named, and counted as having no table.
static u32 take_maps(const struct ProcMap *maps, size_t n, struct RtUwMapping *out)
{
	u32 got = 0, most = 1u << 18; // RT_UW_LEVELS levels
	for (size_t i = 0; i < n && got < most; i++) {
		const struct ProcMap *m = &maps[i];
		bool rows = m->made == PROC_MADE || m->made == PROC_MADE_ONCE, named = m->obj && (!m->made || rows); // else 0: code made at run time
		u64 pages = m->made ? m->end - m->start : (m->end - m->start) / RT_UW_PAGE;
		if (m->start >> RT_UW_PC_BITS || pages >> 32 || (named && m->obj->id >= RT_UW_NEW))
			continue;
		out[got++] = (struct RtUwMapping){m->start, (u32)pages, (named ? m->obj->id : 0) | (m->made ? RT_UW_MADE : 0), m->made && !rows ? 0 : m->file_off, 0};
	}
	return got;
}

static void drop(int fd, int tgid, struct UwChunks *have, u32 leaves, u32 uppers)
{
	for (u32 i = leaves; i < have->leaves; i++)
		sys_map_delete(fd, &(struct RtUwKey){(u32)tgid, 1 + i});
	for (u32 i = uppers; i < have->uppers; i++)
		sys_map_delete(fd, &(struct RtUwKey){(u32)tgid, RT_UW_UPPER + i});
	have->leaves = MIN(have->leaves, leaves);
	have->uppers = MIN(have->uppers, uppers);
}

void uwchunks_forget(int fd, int tgid, struct UwChunks *have)
{
	sys_map_delete(fd, &(struct RtUwKey){(u32)tgid, 0});
	drop(fd, tgid, have, 0, 0);
}

bool uwchunks_publish(int fd, int tgid, u64 gen, const struct ProcMap *maps, size_t nmaps, u64 jits, struct UwChunks *have)
{
	struct Writer w = {fd, (u32)tgid, gen, false, jits};
	struct RtUwMapping *m = xmalloc((nmaps + 1) * sizeof(*m));
	u32 n = take_maps(maps, nmaps, m), leaves = 0, uppers = 0;
	u64 *starts = xmalloc((n / RT_UW_CHUNK + 2) * sizeof(*starts)), *above = xmalloc((n / RT_UW_CHUNK + 2) * sizeof(*above));

	if (n <= RT_UW_CHUNK) {
		put_maps(&w, m, n, 0, starts);
	} else {
		leaves = put_maps(&w, m, n, 1, starts);
		if (leaves > RT_UW_CHUNK)
			uppers = put_level(&w, starts, leaves, 1, 1, RT_UW_UPPER, above);
		if (uppers)
			put_level(&w, above, uppers, RT_UW_UPPER, 2, 0, starts);
		else
			put_level(&w, starts, leaves, 1, 1, 0, above);
	}
	drop(fd, tgid, have, leaves, uppers);
	*have = (struct UwChunks){leaves, uppers};
	if (w.full) // better nothing than an old set
		uwchunks_forget(fd, tgid, have);
	free(m);
	free(starts);
	free(above);
	return !w.full;
}
