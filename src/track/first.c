// Which objects a program maps or will map: what it maps now, its own file, and what these need (DT_NEEDED), theirs too. Input: mappings, a path, the loader's rules (sym/).
// Output: each object once, those that are mapped first. Invariant: what is found by a path is told to the kernel side, too, so that its table is there when it is mapped.
#include "track/internal.h"

struct Found {
	const struct First *first;
	VEC(struct SymObject *) v;
};

static void add_found(struct Found *f, struct SymObject *o)
{
	for (size_t i = 0; i < f->v.n; i++)
		if (f->v.p[i] == o)
			return;
	vec_push(&f->v, o);
}

static void add_path(struct Found *f, const char *path)
{
	const struct First *first = f->first;
	const struct SymFile *file = sym_file_path(first->syms, path);
	if (!file)
		return;
	first->ops->object(first->ops->arg, file->obj, true);
	uwfiles_tell(first->files, file->dev, file->ino, file);
	add_found(f, file->obj);
}

static void on_needed(void *arg, const char *name)
{
	struct Found *f = arg;
	char *path;
	struct err *e = sym_resolve_path(name, f->first->tgid, &path);
	if (!e) {
		add_path(f, path);
		free(path);
	}
	err_free(e);
}

void first_objects(const struct First *first, const struct ProcMap *maps, size_t n, void (*fn)(void *, struct SymObject *), void *arg)
{
	struct Found f = {first, {0}};
	for (size_t i = 0; i < n; i++)
		if (maps[i].obj)
			add_found(&f, maps[i].obj);
	if (first->path)
		add_path(&f, first->path);
	for (size_t i = 0; i < f.v.n; i++) // f.v grows
		sym_object_needed(first->syms, f.v.p[i], on_needed, &f);
	for (size_t i = 0; i < f.v.n; i++)
		fn(arg, f.v.p[i]);
	vec_deinit(&f.v);
}
