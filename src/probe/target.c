// What stands in the place of the binary in uprobe and usdt probes -> files. In: a name from the script, a process. Out: paths that the
// kernel can open from our mount namespace (/proc/PID/root/... for a process in another one). No path is given twice.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include "probe/internal.h"

static bool is_elf(const char *path)
{
	char magic[4];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	bool ok = !fstat(fd, &st) && S_ISREG(st.st_mode) && pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
	close(fd);
	return ok;
}

static void glob_into(struct ProbeEnv *env, const char *pattern, NameList *paths)
{
	glob_t g = {0};
	if (!glob(pattern, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++)
			if (is_elf(g.gl_pathv[i]))
				vec_push(paths, arena_strdup(env->arena, g.gl_pathv[i]));
	globfree(&g);
}

static void from_pattern(struct ProbeEnv *env, const char *target, NameList *paths)
{
	if (strchr(target, '/')) {
		glob_into(env, target, paths);
		return;
	}
	const char *dirs = getenv("PATH");
	for (const char *d = dirs ? dirs : "/usr/sbin:/usr/bin:/sbin:/bin"; *d;) {
		size_t n = strcspn(d, ":");
		if (n)
			glob_into(env, arena_printf(env->arena, "%.*s/%s", (int)n, d, target), paths);
		d += n + (d[n] == ':');
	}
}

// Executable file mappings of a process; seen holds "device:inode" so that one file comes once.
static struct err *from_maps(struct ProbeEnv *env, int pid, struct Map *seen, NameList *paths)
{
	struct Str s = {0};
	struct err *e = read_file(arena_printf(env->arena, "/proc/%d/maps", pid), &s, 256 << 20);
	if (e)
		return e;
	char *save = NULL, key[64], perms[8], dev[24];
	for (char *line = s.p ? strtok_r(s.p, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long ino;
		int at = 0;
		if (sscanf(line, "%*x-%*x %7s %*x %23s %llu %n", perms, dev, &ino, &at) != 3 || !at || !strchr(perms, 'x') || line[at] != '/')
			continue;
		snprintf(key, sizeof(key), "%s:%llu", dev, ino);
		if (map_has(seen, key))
			continue;
		map_put(seen, key, seen);
		char *path = NULL;
		struct err *bad = sym_resolve_path(line + at, pid, &path); // in the process's own mount namespace
		if (!bad)
			vec_push(paths, arena_strdup(env->arena, path));
		err_free(bad); // deleted since: cannot be probed by path
		free(path);
	}
	str_deinit(&s);
	return NULL;
}

static struct err *from_every_process(struct ProbeEnv *env, struct Map *seen, NameList *paths)
{
	struct dirent *d;
	DIR *dir = opendir("/proc");
	if (!dir)
		return err_errno(errno, "cannot read /proc");
	while ((d = readdir(dir))) {
		u64 pid;
		if (isdigit((unsigned char)d->d_name[0]) && parse_u64(d->d_name, &pid) && pid <= INT_MAX)
			err_free(from_maps(env, (int)pid, seen, paths)); // ended since, or not ours to read
	}
	closedir(dir);
	return NULL;
}

// The command of -c has not begun: its program and the libraries it is linked with are not mapped yet.
struct Linked {
	struct ProbeEnv *env;
	NameList *paths;
};

static void add_once(struct ProbeEnv *env, const char *path, NameList *paths)
{
	struct stat a, b;
	if (stat(path, &a))
		return;
	for (size_t i = 0; i < paths->n; i++)
		if (!stat(paths->p[i], &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
			return;
	vec_push(paths, arena_strdup(env->arena, path));
}

static void add_linked(void *arg, const char *name)
{
	struct Linked *l = arg;
	char *path = NULL;
	struct err *e = sym_resolve_path(name, 0, &path);
	if (!e)
		add_once(l->env, path, l->paths);
	err_free(e);
	free(path);
}

static void from_command(struct ProbeEnv *env, NameList *paths)
{
	struct SymObject *o = sym_object_path(env->syms, env->cmd_path);
	struct Linked l = {env, paths};
	add_once(env, env->cmd_path, paths);
	if (o && !o->why)
		sym_object_needed(env->syms, o, add_linked, &l);
}

// The libc beside a library that may be an empty one: a script that names it by its short name means the functions.
static void add_libc(struct ProbeEnv *env, NameList *paths)
{
	const char *path = vec_last(paths), *slash = strrchr(path, '/');
	const char *libc = slash ? arena_printf(env->arena, "%.*s/libc.so.6", (int)(slash - path), path) : NULL;
	if (libc && is_elf(libc))
		vec_push(paths, libc);
}

static struct err *one_path(struct ProbeEnv *env, const char *target, int pid, NameList *paths)
{
	char *path = NULL;
	struct err *e = sym_resolve_path(target, pid, &path);
	if (!e) {
		vec_push(paths, arena_strdup(env->arena, path));
		if (!strncmp(target, "lib", 3) && sym_moved_to_libc(target))
			add_libc(env, paths);
	}
	free(path);
	return e;
}

// The program that a process runs. The link itself works from every mount namespace and for deleted files, a readable path is nicer.
static struct err *program_of(struct ProbeEnv *env, int pid, NameList *paths)
{
	char link[64], path[PATH_MAX];
	struct stat a, b;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return err_errno(errno == ENOENT ? ESRCH : errno, "the program of process %d is unknown", pid);
	path[n] = 0;
	const char *in_root = arena_printf(env->arena, "/proc/%d/root%s", pid, path), *shown = link;
	bool known = !stat(link, &a);
	if (known && !stat(path, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		shown = path;
	else if (known && !stat(in_root, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		shown = in_root; // another mount namespace
	vec_push(paths, arena_strdup(env->arena, shown));
	return NULL;
}

bool probe_targets(struct ProbeEnv *env, const struct AttachSpec *spec, const char *target, int pid, NameList *paths)
{
	struct err *e = NULL;
	size_t before = paths->n;
	if (!target) {
		e = program_of(env, pid, paths);
	} else if (!strcmp(target, "*")) {
		struct Map seen = {0};
		e = pid ? from_maps(env, pid, &seen, paths) : from_every_process(env, &seen, paths);
		map_deinit(&seen);
		if (!pid && env->cmd_path)
			from_command(env, paths);
	} else if (is_wild(target)) {
		from_pattern(env, target, paths);
	} else
		e = one_path(env, target, pid, paths);
	if (!e && paths->n > before)
		return true;
	if (e && target && !env->listing && !env->lenient && env->config && env->config->missing_probes == MISSING_ERROR) {
		diag_error(env->diags, spec->span, "%s target file '%s' does not exist or is not executable", env->provider->name, target);
		diag_hint(env->diags, "%s", err_text(e));
	} else if (e)
		probe_missing(env, spec, "%s", err_text(e));
	else
		probe_missing(env, spec, "no program or library matches '%s'", target ? target : "");
	err_free(e);
	return false;
}

struct SymObject *target_object(struct ProbeEnv *env, const struct AttachSpec *spec, const char *path)
{
	struct SymObject *o = sym_object_path(env->syms, path);
	if (o && !o->why)
		return o;
	if (!o)
		probe_missing(env, spec, "cannot read %s: %s", path, strerror(errno));
	else
		probe_missing(env, spec, "cannot probe %s: %s", path, o->why);
	return NULL;
}
