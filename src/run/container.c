// Which container a cgroup is, by its path, and what the container is called, by the files of its runtime: Docker, containerd (Kubernetes, nerdctl),
// Podman, CRI-O; the kubelet's log files name the containers of any runtime. Machines of systemd-nspawn and LXC, and units of systemd, have their names in the path.
// In: a path as the mounted hierarchy has it. Out: name and id. Invariant: no server is asked; files of any content give a name or none; names are texts.
#include "run/run.h"
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>

#define ID_LEN 64
#define SHORT_ID 12
#define MAX_FILE (16u << 20)
#define MAX_NAME 512

// ---- what a path tells

static bool is_id(const char *s, size_t n)
{
	return n == ID_LEN && strspn(s, "0123456789abcdef") >= n;
}

static bool ends_so(const char *s, size_t n, const char *with)
{
	size_t k = strlen(with);
	return n > k && !memcmp(s + n - k, with, k);
}

// The id in a part of a path: "docker-ID.scope", "kubepods-podUID.slice:cri-containerd:ID", "ID". NULL: it is no container's. The processes that
// watch over a container ("libpod-conmon-ID.scope") are not in it.
static const char *id_in(const char *part, size_t n)
{
	static const char *const before[] = {"docker-", "libpod-", "crio-", "cri-containerd-", "containerd-", "nerdctl-", ""};
	n -= ends_so(part, n, ".scope") ? 6 : 0;
	const char *colon = memrchr(part, ':', n);
	if (colon) {
		n -= (size_t)(colon + 1 - part);
		part = colon + 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		size_t k = strlen(before[i]);
		if (n > k && !strncmp(part, before[i], k) && is_id(part + k, n - k))
			return part + k;
	}
	return NULL;
}

// systemd writes characters that would mean something else as \x2d (systemd-escape(1)).
static void add_unescaped(struct Str *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int hi = 0;
		if (s[i] == '\\' && i + 3 < n && s[i + 1] == 'x' && sscanf((char[]){s[i + 2], s[i + 3], 0}, "%2x", (unsigned *)&hi) == 1 && hi) {
			str_addc(out, (char)hi);
			i += 3;
		} else
			str_addc(out, s[i]);
	}
}

// A container that has its name in the path, of systemd-nspawn or LXC
static bool named_in(const char *part, size_t n, bool below_lxc, struct Str *name)
{
	static const struct { const char *before, *after; } forms[] = {{"machine-", ".scope"}, {"systemd-nspawn@", ".service"}, {"lxc.payload.", ""}};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		size_t b = strlen(forms[i].before), a = strlen(forms[i].after);
		if (n > a + b && !strncmp(part, forms[i].before, b) && !memcmp(part + n - a, forms[i].after, a)) {
			add_unescaped(name, part + b, n - a - b);
			return true;
		}
	}
	if (below_lxc)
		str_addn(name, part, n);
	return below_lxc;
}

static bool is_unit(const char *part, size_t n)
{
	return ends_so(part, n, ".service") || ends_so(part, n, ".scope");
}

// ---- what files tell

static bool read_json(const char *path, struct Str *text, struct Json *v)
{
	struct stat st;
	bool plain = !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size <= MAX_FILE;
	struct err *e = plain ? read_file(path, text, MAX_FILE) : NULL;
	bool ok = plain && !e;
	err_free(e);
	if (ok)
		*v = json_of(str_text(text), text->n);
	return ok;
}

static void set_name(struct Str *name, const struct Str *text, size_t skip)
{
	if (text->n > skip)
		str_addn(name, str_text(text) + skip, MIN(text->n - skip, (size_t)MAX_NAME));
}

// Docker: {"Name":"/web"}
static void from_docker(const char *dir, const char *id, struct Str *name)
{
	char *path = xasprintf("%s/docker/containers/%s/config.v2.json", dir, id);
	struct Str text = {0}, got = {0};
	struct Json v;
	if (read_json(path, &text, &v) && json_text(json_member(v, "Name"), &got))
		set_name(name, &got, *str_text(&got) == '/');
	str_deinit(&text);
	str_deinit(&got);
	free(path);
}

static const char *note(struct Json notes, const char *const *keys, struct Str *out)
{
	str_reset(out);
	for (; *keys; keys++)
		if (json_text(json_member(notes, *keys), out) && out->n)
			break;
	return str_text(out);
}

// The OCI runtime's config.json: Kubernetes' names are NAMESPACE/POD/CONTAINER.
static void from_bundle(const char *path, struct Str *name)
{
	static const char *const pods[] = {"io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name", NULL},
		*const spaces[] = {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace", NULL},
		*const containers[] = {"io.kubernetes.cri.container-name", "io.kubernetes.container.name", NULL},
		*const plain[] = {"nerdctl/name", "io.kubernetes.cri-o.ContainerName", NULL};
	struct Str text = {0}, pod = {0}, space = {0}, own = {0}, all = {0};
	struct Json v;
	if (read_json(path, &text, &v)) {
		struct Json notes = json_member(v, "annotations");
		if (*note(notes, pods, &pod)) {
			note(notes, spaces, &space);
			note(notes, containers, &own);
			str_addf(&all, "%s%s%s/%s", str_text(&space), space.n ? "/" : "", str_text(&pod), own.n ? str_text(&own) : "POD");
		} else
			str_add(&all, note(notes, plain, &own));
		set_name(name, &all, 0);
	}
	str_deinit(&text);
	str_deinit(&pod);
	str_deinit(&space);
	str_deinit(&own);
	str_deinit(&all);
}

// containerd: a folder for each namespace of its own
static void from_containerd(const char *root, const char *id, struct Str *name)
{
	char *dir = xasprintf("%s/run/containerd/io.containerd.runtime.v2.task", root);
	DIR *d = opendir(dir);
	for (struct dirent *e; d && !name->n && (e = readdir(d));) {
		char *path = xasprintf("%s/%s/%s/config.json", dir, e->d_name, id);
		if (*e->d_name != '.')
			from_bundle(path, name);
		free(path);
	}
	if (d)
		closedir(d);
	free(dir);
}

// Podman's list: [{"id":"...","names":["web"]}]
static void from_list(const char *path, const char *id, struct Str *name)
{
	struct Str text = {0}, key = {0}, got = {0};
	struct Json list, one, first;
	bool ok = read_json(path, &text, &list) && json_is(list, '[');
	while (ok && !name->n && json_next(&list, &key, &one)) {
		str_reset(&got);
		if (!json_text(json_member(one, "id"), &got) || strcmp(str_text(&got), id))
			continue;
		struct Json names = json_member(one, "names");
		str_reset(&got);
		if (!json_next(&names, &key, &first) || !json_text(first, &got))
			break;
		set_name(name, &got, 0);
	}
	str_deinit(&text);
	str_deinit(&key);
	str_deinit(&got);
}

// Podman and CRI-O. The names in their list are made up where it is Kubernetes', so what stands in the container's own file goes first.
static void from_storage(const char *dir, const char *id, struct Str *name)
{
	static const char *const lists[] = {"containers.json", "volatile-containers.json"};
	char *path = xasprintf("%s/containers/storage/overlay-containers/%s/userdata/config.json", dir, id);
	from_bundle(path, name);
	free(path);
	for (size_t i = 0; i < ARRAY_LEN(lists) && !name->n; i++) {
		path = xasprintf("%s/containers/storage/overlay-containers/%s", dir, lists[i]);
		from_list(path, id, name);
		free(path);
	}
}

// The kubelet's links: POD_NAMESPACE_CONTAINER-ID.log
static void from_kubelet(const char *root, const char *id, struct Str *name)
{
	char *dir = xasprintf("%s/var/log/containers", root), *end = xasprintf("-%s.log", id);
	DIR *d = opendir(dir);
	for (struct dirent *e; d && !name->n && (e = readdir(d));) {
		size_t n = strlen(e->d_name), pod = strcspn(e->d_name, "_");
		const char *space = e->d_name[pod] ? e->d_name + pod + 1 : NULL, *own = space ? strchr(space, '_') : NULL;
		if (own && ends_so(e->d_name, n, end) && own + 1 < e->d_name + n - strlen(end))
			str_addf(name, "%.*s/%.*s/%.*s", (int)(own - space), space, (int)pod, e->d_name, (int)(e->d_name + n - strlen(end) - own - 1), own + 1);
	}
	if (d)
		closedir(d);
	free(dir);
	free(end);
}

// Without root: the user's own folder. The path has "user-1000.slice".
static void from_home(const char *root, const char *path, const char *id, struct Str *name)
{
	struct passwd pw, *found = NULL;
	char buf[4096];
	const char *at = strstr(path, "/user-");
	if (!at || getpwuid_r((uid_t)strtoul(at + 6, NULL, 10), &pw, buf, sizeof(buf), &found) || !found)
		return;
	char *dir = xasprintf("%s%s/.local/share", root, pw.pw_dir);
	from_storage(dir, id, name);
	if (!name->n)
		from_docker(dir, id, name);
	free(dir);
}

static void name_of_id(const char *root, const char *path, const char *id, struct Str *name)
{
	char *dirs[] = {xasprintf("%s/var/lib", root), xasprintf("%s/run", root)};
	from_docker(dirs[0], id, name);
	if (!name->n)
		from_containerd(root, id, name);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (!name->n)
			from_storage(dirs[i], id, name);
		free(dirs[i]);
	}
	if (!name->n)
		from_kubelet(root, id, name);
	if (!name->n)
		from_home(root, path, id, name);
	if (!name->n)
		str_addn(name, id, SHORT_ID);
}

// The parts of a path, the last one first. *end: where the last one that was given begins; the whole length at first.
static const char *part_before(const char *path, size_t *end, size_t *n)
{
	size_t stop = *end;
	while (stop && path[stop - 1] == '/')
		stop--;
	size_t begin = stop;
	while (begin && path[begin - 1] != '/')
		begin--;
	*end = begin;
	*n = stop - begin;
	return stop ? path + begin : NULL;
}

void container_of_path(const char *root, const char *path, struct Str *name, struct Str *id)
{
	size_t at = strlen(path), n, unit = 0;
	const char *unit_part = NULL;
	for (const char *part; (part = part_before(path, &at, &n));) {
		const char *found = id_in(part, n);
		if (found) {
			str_addn(id, found, ID_LEN);
			name_of_id(root, path, str_text(id), name);
			return;
		}
		if (named_in(part, n, at == 5 && !strncmp(path, "/lxc/", 5), name)) {
			str_addn(id, str_text(name), name->n);
			return;
		}
		if (!unit_part && is_unit(part, n)) {
			unit_part = part;
			unit = n;
		}
	}
	if (unit_part)
		add_unescaped(name, unit_part, unit);
	else
		str_add(name, "[host]");
}
