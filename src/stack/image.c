// The files that frames are from, for reports that name them by build id and place. In: objects, names of kernel modules. Out: one struct
// Image for each. Invariant: an image does not move and is made once.
#include "stack/internal.h"

#define SEGMENTS_MAX 64

struct Images {
	struct Arena arena;
	VEC(struct Image *) objects; // by id
	struct Map kernel;	     // by module, "" the kernel proper
};

struct Images *images_create(void)
{
	return xcalloc(1, sizeof(struct Images));
}

void images_destroy(struct Images *m)
{
	if (!m)
		return;
	vec_deinit(&m->objects);
	map_deinit(&m->kernel);
	arena_deinit(&m->arena);
	free(m);
}

static void set_build_id(struct Image *g, const u8 *id, u32 len)
{
	for (u32 i = 0; i < len && 2 * i + 2 < sizeof(g->build_id); i++)
		snprintf(g->build_id + 2 * i, 3, "%02x", id[i]);
}

const struct Image *image_of_object(struct Images *m, struct SymObject *o)
{
	struct SymSegment segs[SEGMENTS_MAX];
	if (!m)
		return NULL;
	while (m->objects.n <= o->id)
		vec_push(&m->objects, NULL);
	if (m->objects.p[o->id])
		return m->objects.p[o->id];
	struct Image *g = m->objects.p[o->id] = arena_new(&m->arena, struct Image);
	g->path = arena_strdup(&m->arena, o->path);
	set_build_id(g, o->build_id, o->build_id_len);
	g->nsegs = sym_object_segments(o, segs, SEGMENTS_MAX);
	g->segs = arena_new_n(&m->arena, struct ImageSegment, g->nsegs + 1);
	for (u32 i = 0; i < g->nsegs; i++)
		g->segs[i] = (struct ImageSegment){segs[i].vaddr, segs[i].off, segs[i].size};
	return g;
}

const struct Image *image_of_kernel(struct Images *m, const char *module)
{
	u8 id[20];
	if (!m)
		return NULL;
	struct Image *g = map_get(&m->kernel, module ? module : "");
	if (g)
		return g;
	g = arena_new(&m->arena, struct Image);
	g->path = module ? arena_printf(&m->arena, "[%s]", module) : "[kernel.kallsyms]";
	set_build_id(g, id, sym_kernel_build_id(module, id));
	map_put(&m->kernel, module ? module : "", g);
	return g;
}
