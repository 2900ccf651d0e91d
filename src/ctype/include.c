// Where a header is: next to the file that includes it, in the working directory, under -I, in the running kernel's build tree, in the system's include directories.
// Input: the name as written. Output: a path. No header is read here.
#include "arch/arch.h"
#include "base/base.h"
#include "ctype/internal.h"
#include <sys/stat.h>
#include <sys/utsname.h>

static const char *readable(struct Arena *a, const char *dir, const char *name)
{
	struct stat st;
	char path[4096];
	int n = *dir ? snprintf(path, sizeof(path), "%s/%s", dir, name) : snprintf(path, sizeof(path), "%s", name);
	if (n >= (int)sizeof(path) || stat(path, &st) || !S_ISREG(st.st_mode) || !can_access(path, R_OK))
		return NULL;
	return arena_strdup(a, path);
}

static const char *next_to(struct Arena *a, const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	return slash ? readable(a, arena_strndup(a, file, (size_t)(slash - file)), name) : NULL;
}

// The kernel's own headers, when its build tree is installed (BPFTRACE_KERNEL_SOURCE and _BUILD name others).
static const char *in_kernel_tree(struct Arena *a, const char *name)
{
	static const char *const subs[] = {
		"include",
		HOST_KERNEL_DIR,
		HOST_KERNEL_DIR "/generated",
		"include/uapi",
		HOST_KERNEL_DIR "/uapi",
		HOST_KERNEL_DIR "/generated/uapi",
		"include/generated/uapi",
	};
	const char *env[2] = {getenv("BPFTRACE_KERNEL_BUILD"), getenv("BPFTRACE_KERNEL_SOURCE")}, *path = NULL;
	static const char *const under[2] = {"build", "source"};
	struct utsname u;
	uname(&u);
	for (size_t i = 0; i < ARRAY_LEN(env) && !path; i++) {
		const char *root = env[i] && *env[i] ? env[i] : arena_printf(a, "/lib/modules/%s/%s", u.release, under[i]);
		if (!can_access(root, X_OK))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(subs) && !path; k++)
			path = readable(a, arena_printf(a, "%s/%s", root, subs[k]), name);
	}
	return path;
}

const char *header_find(struct Cpp *p, const char *name, bool quoted, const struct CFile *from, bool *user)
{
	static const char *const system[] = {"/usr/local/include", ("/usr/include/" HOST_MULTIARCH), "/usr/include"};
	struct Arena *a = p->c->arena;
	const char *path = NULL;
	*user = true;
	if (*name == '/')
		return readable(a, "", name);
	if (quoted && from)
		path = next_to(a, from->name, name);
	if (!path && (from ? quoted && !from->header : true)) // without a file it is --include's
		path = readable(a, "", name);
	for (u32 i = 0; i < p->ndirs && !path; i++)
		path = readable(a, p->dirs[i], name);
	if (path)
		return path;
	*user = false;
	path = in_kernel_tree(a, name);
	for (size_t i = 0; i < ARRAY_LEN(system) && !path; i++)
		path = readable(a, system[i], name);
	return path;
}
