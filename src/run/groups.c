// What cgroups are called. In: the mounted tree of cgroup v2, read whenever asked to. Out: path and container of each id. Invariant: what was there at one
// of the readings keeps its names when it is gone; a container's name is looked up when its cgroup is first seen, for its files go with it.
#include "run/run.h"
#include <mntent.h>

struct Seen {
	u64 id, one;
	struct Group g;
};
struct Groups {
	struct NumTab tab;
	struct Arena arena;
	char *root; // NULL: there is no cgroup v2
};

static char *mounted_at(void)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent m;
	char buf[8192], *root = NULL;
	while (f && !root && getmntent_r(f, &m, buf, sizeof(buf)))
		if (!strcmp(m.mnt_type, "cgroup2"))
			root = xstrdup(m.mnt_dir);
	if (f)
		endmntent(f);
	return root;
}

struct Groups *groups_create(void)
{
	struct Groups *g = xcalloc(1, sizeof(*g));
	g->tab.size = sizeof(struct Seen);
	g->root = mounted_at();
	return g;
}

void groups_destroy(struct Groups *g)
{
	if (!g)
		return;
	numtab_deinit(&g->tab);
	arena_deinit(&g->arena);
	free(g->root);
	free(g);
}

static struct Group *add(struct Groups *g, u64 id, const char *path)
{
	struct Str name = {0}, container = {0};
	struct Seen *s = numtab_put(&g->tab, id, 1);
	container_of_path("", path, &name, &container);
	s->g = (struct Group){arena_strdup(&g->arena, path), arena_strdup(&g->arena, str_text(&name)), arena_strdup(&g->arena, str_text(&container))};
	str_deinit(&name);
	str_deinit(&container);
	return &s->g;
}

// A number may be that of another cgroup later (32-bit inode numbers): the path tells. The name of a container may come after its cgroup.
static bool see(void *arg, u64 id, const char *path)
{
	struct Groups *g = arg;
	struct Seen *s = numtab_get(&g->tab, id, 1);
	size_t n = s ? strlen(s->g.container) : 0;
	bool unnamed = s && n < strlen(s->g.container_id) && !strncmp(s->g.container, s->g.container_id, n);
	if (!s || unnamed || strcmp(s->g.path, path))
		add(g, id, path);
	return false;
}

void groups_read(struct Groups *g)
{
	if (g->root)
		cgroup_walk(g->root, see, g);
}

bool groups_find(struct Groups *g, u64 id, struct Group *out)
{
	struct Seen *s = numtab_get(&g->tab, id, 1);
	if (s)
		*out = s->g;
	else {
		const char *number = arena_printf(&g->arena, "cgroup %llu", (unsigned long long)id);
		*out = (struct Group){number, number, ""};
	}
	return s != NULL;
}
