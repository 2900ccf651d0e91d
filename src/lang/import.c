// Imports: reads the .bt files that a script names, those that they name, and merges their macros, probes, map declarations and C text.
// In: a parsed script. Out: the same script with nothing left in `imports`; what a file defines comes after what it imports and before
// what the importing file defines. Each file is read once, however often it is named.
// Files that others may write to are refused: sonde runs as root, and an imported script is code.
#include "lang/internal.h"
#include "ctype/ctype.h"
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#define MAX_IMPORTS 1000
#define MAX_IMPORT_DEPTH 64
#define MAX_SCRIPT_SIZE (16u << 20)

// Scripts that every script may import. One with the same name beside the importing script comes first, but not where that is part of sonde itself.
static const struct {
	const char *name, *text;
} own[] = {
	{"tasks.bt",
#include "lang/tasks.bt.inc"
	},
	{"stacks.bt",
#include "lang/stacks.bt.inc"
	},
	{"waits.bt",
#include "lang/waits.bt.inc"
	},
};

// The parts of bpftrace's standard library: what they define is there without an import.
static bool is_stdlib(const char *path)
{
	static const char *const parts[] = {"base", "map", "process", "stack", "strings", "system", "task", "test", "usdt"};
	if (strncmp(path, "stdlib", 6) || (path[6] && path[6] != '/'))
		return false;
	const char *name = path + 6 + (path[6] == '/'), *slash = strchr(name, '/');
	size_t n = slash ? (size_t)(slash - name) : strcspn(name, ".");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (n == strlen(parts[i]) && !strncmp(name, parts[i], n))
			return true;
	return !*name;
}

struct Importer {
	struct Script *into; // gets the lists; its own are put last
	struct Map seen;     // canonical paths
	const char *root_dir;
	u32 depth;
	struct CText **ctext;
	struct MapDecl **maps;
	struct Macro **macros;
	struct ProbeAst **probes;
};

#define APPEND(tail, list)                                                                                                                           \
	do {                                                                                                                                         \
		*(tail) = (list);                                                                                                                    \
		while (*(tail))                                                                                                                      \
			(tail) = &(*(tail))->next;                                                                                                   \
	} while (0)

static void merge(struct Importer *im, struct Script *s)
{
	APPEND(im->ctext, s->ctext);
	APPEND(im->maps, s->maps);
	APPEND(im->macros, s->macros);
	APPEND(im->probes, s->probes);
}

static const char *dir_of(struct Arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return ".";
	return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

static bool writable_by_others(const char *path)
{
	struct stat st;
	return !stat(path, &st) && (st.st_mode & S_IWOTH);
}

static void import_all(struct Importer *im, struct Script *s);

static void import_text(struct Importer *im, const char *name, const char *text, size_t n, bool builtin)
{
	struct Script *into = im->into, *s = parse_script(into->arena, into->diags, diags_add_source(into->diags, name, text, n));
	s->builtin = builtin;
	if (s->config)
		diag_error(into->diags, s->config->span, "config is not allowed in an imported script");
	import_all(im, s);
	merge(im, s);
}

static bool import_own(struct Importer *im, const char *name)
{
	size_t i = 0;
	while (i < ARRAY_LEN(own) && strcmp(own[i].name, name))
		i++;
	if (i == ARRAY_LEN(own))
		return false;
	if (!map_has(&im->seen, name)) { // files are there by absolute paths
		map_put(&im->seen, name, NULL);
		import_text(im, name, own[i].text, strlen(own[i].text), true);
	}
	return true;
}

// NULL, or why the file is refused, a new text. One that a tool in the path imports has to be as safe as the tool (tool/found.c); the folder that names it
// counts too, if the file is a link.
static char *refused(struct Importer *im, const char *path, const char *real)
{
	struct Arena *a = im->into->arena;
	if (!im->into->found)
		return writable_by_others(real) || writable_by_others(dir_of(a, real)) ? xstrdup("everyone may write to it or to its directory") : NULL;
	char *why = path_unfit(dir_of(a, path), 1);
	return why ? why : path_unfit(path, 0);
}

static void import_file(struct Importer *im, const struct Import *imp, const char *path)
{
	struct Script *into = im->into;
	char *real = realpath(path, NULL);
	if (!real) {
		diag_error(into->diags, imp->span, "cannot import %s: %s", path, strerror(errno));
		return;
	}
	bool known = map_has(&im->seen, real);
	if (!known)
		map_put(&im->seen, real, NULL);
	char *why = known ? NULL : refused(im, path, real);
	free(real);
	if (why)
		diag_error(into->diags, imp->span, "refusing to import %s: %s", path, why);
	else if (!known && im->seen.n > MAX_IMPORTS)
		diag_error(into->diags, imp->span, "too many imported files: %u is the limit", MAX_IMPORTS);
	bool bad = why || im->seen.n > MAX_IMPORTS;
	free(why);
	if (known || bad)
		return;
	struct Str text = {0};
	struct err *e = read_file(path, &text, MAX_SCRIPT_SIZE);
	if (e)
		diag_error(into->diags, imp->span, "%s", err_text(e));
	else
		import_text(im, arena_strdup(into->arena, path), arena_strndup(into->arena, str_text(&text), text.n), text.n, false);
	err_free(e);
	str_deinit(&text);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_script_name(const char *name)
{
	size_t n = strlen(name);
	return n > 3 && !strcmp(name + n - 3, ".bt");
}

// Every script of a directory, by name; directories in it are not entered.
static void import_dir(struct Importer *im, const struct Import *imp, const char *path)
{
	VEC(char *) names = {0};
	DIR *d = opendir(path);
	if (!d) {
		diag_error(im->into->diags, imp->span, "cannot import %s: %s", path, strerror(errno));
		return;
	}
	for (struct dirent *ent; (ent = readdir(d));)
		if (is_script_name(ent->d_name))
			vec_push(&names, xasprintf("%s/%s", path, ent->d_name));
	closedir(d);
	if (names.n)
		qsort(names.p, names.n, sizeof(*names.p), by_name);
	else
		diag_error(im->into->diags, imp->span, "cannot import %s: there is no .bt file in this directory", path);
	for (size_t i = 0; i < names.n; i++) {
		import_file(im, imp, names.p[i]);
		free(names.p[i]);
	}
	vec_deinit(&names);
}

// The path that an import means: absolute, beside the file that has the import, or beside the script. NULL: there is none.
static const char *find(struct Importer *im, const struct Script *s, const struct Import *imp)
{
	struct Arena *a = im->into->arena;
	struct stat st;
	if (imp->path[0] == '/')
		return stat(imp->path, &st) ? NULL : imp->path;
	const char *dirs[] = {dir_of(a, s->diags->sources.p[s->source].name), im->root_dir};
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		const char *path = arena_printf(a, "%s/%s", dirs[i], imp->path);
		if (!stat(path, &st))
			return path;
	}
	return NULL;
}

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);
	return n > m && !strcmp(s + n - m, with);
}

// A file in C: what it holds is looked at when its functions are called by name (bpf/cobj.c).
static void import_c(struct Importer *im, const struct Import *imp, const char *path)
{
	struct Script *into = im->into;
	char *real = realpath(path, NULL), *why = real ? refused(im, path, real) : NULL;
	if (why) {
		diag_error(into->diags, imp->span, "refusing to import %s: %s", path, why);
	} else if (real && !map_has(&im->seen, real)) {
		map_put(&im->seen, real, NULL);
		struct ImportedC *c = arena_new(into->arena, struct ImportedC);
		*c = (struct ImportedC){imp->span, arena_strdup(into->arena, path), ends(path, ".c"), into->objects};
		into->objects = c;
	}
	free(real);
	free(why);
}

static void import_all(struct Importer *im, struct Script *s)
{
	struct Diags *d = im->into->diags;
	im->depth++;
	for (const struct Import *imp = s->imports; imp; imp = imp->next) {
		struct stat st;
		const char *path = s->builtin ? NULL : find(im, s, imp);
		if (im->depth > MAX_IMPORT_DEPTH)
			diag_error(d, imp->span, "imports are nested too deeply: %u in one another is the limit", MAX_IMPORT_DEPTH);
		else if (!path && (import_own(im, imp->path) || is_stdlib(imp->path)))
			continue;
		else if (!path) {
			if (d->plain)
				diag_error(d, imp->span, "Unable to find suitable path for import");
			else
				diag_error(d, imp->span, "cannot find \"%s\" to import it", imp->path);
			if (d->plain)
				diag_hint(d, "checked: %s", imp->path);
			diag_hint(d, "Paths are relative to the directory of the script: %s", dir_of(im->into->arena, s->diags->sources.p[s->source].name));
		} else if (!stat(path, &st) && S_ISDIR(st.st_mode))
			import_dir(im, imp, path);
		else if (ends(path, ".bpf.o") || ends(path, ".bpf.c"))
			import_c(im, imp, path);
		else if (!is_script_name(path)) {
			diag_error(d, imp->span, "cannot import \"%s\": only .bt scripts, directories of them, and C (.bpf.o, .bpf.c) can be imported", imp->path);
		} else
			import_file(im, imp, path);
	}
	im->depth--;
	s->imports = NULL;
}

void import_scripts(struct Script *s)
{
	if (!s->imports)
		return;
	struct CText *ctext = NULL;
	struct MapDecl *maps = NULL;
	struct Macro *macros = NULL;
	struct ProbeAst *probes = NULL;
	struct Importer im = {.into = s, .ctext = &ctext, .maps = &maps, .macros = &macros, .probes = &probes};
	const char *name = s->diags->sources.p[s->source].name;
	im.root_dir = dir_of(s->arena, name);
	char *real = realpath(name, NULL); // a script that imports itself is read once as well
	if (real)
		map_put(&im.seen, real, NULL);
	free(real);
	import_all(&im, s);
	merge(&im, s);
	s->ctext = ctext;
	s->maps = maps;
	s->macros = macros;
	s->probes = probes;
	map_deinit(&im.seen);
}
