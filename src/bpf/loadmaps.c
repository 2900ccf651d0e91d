// Maps into the kernel, and who owns what is there. Input: the maps of a Program whose code is linked; output: descriptors in MapDef.fd, memory in MapDef.mmapped.
// Invariant: struct Loaded owns every descriptor and mapping made here and in load.c.
#include "bpf/internal.h"
#include "bpfrt/abi.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mman.h>

void map_kernel_name(const char *name, char out[16])
{
	u32 n = 0;
	if (*name == '@') {
		memcpy(out, "AT_", 3);
		n = 3;
		name++;
	}
	for (; *name && n < 15; name++)
		out[n++] = isalnum((unsigned char)*name) ? *name : '_';
	out[n] = 0;
}

#define KEY_MAX 512u // MAX_BPF_STACK: longer ones after Linux 5.10

bool map_type_is_percpu(u32 type)
{
	return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static struct err *value_error(const struct MapDef *m, int r)
{
	u32 each = sizeof(struct RtTsSlot);
	if (m->val && m->val->kind == TY_TSERIES)
		return err_errno(-r, "map %s: its value has %u bytes, a per-CPU map holds at most 32768: tseries() of %u intervals fits", m->name,
				 m->value_size, (32768 - (m->value_size - m->val->size)) / each);
	return err_errno(-r, "map %s: its value has %u bytes, a per-CPU map holds at most 32768", m->name, m->value_size);
}

// Texts of a key, and their bytes.
static void key_texts(const struct Type *t, u32 *n, u32 *bytes)
{
	if (t && t->kind == TY_TUPLE)
		for (u32 i = 0; i < t->n; i++)
			key_texts(t->fields[i].type, n, bytes);
	if (!t || t->kind != TY_STR)
		return;
	*n += 1;
	*bytes += t->size;
}

static struct err *key_error(const struct MapDef *m)
{
	u32 n = 0, bytes = 0, room;
	key_texts(m->key, &n, &bytes);
	room = m->key_size - bytes < KEY_MAX && n ? (KEY_MAX - (m->key_size - bytes)) / n : 0;
	if (room < 2)
		return err_errno(E2BIG, "map %s: its key has %u bytes, this kernel takes %u at most", m->name, m->key_size, KEY_MAX);
	return err_errno(E2BIG, "map %s: its key has %u bytes, this kernel takes %u at most: use shorter strings, config = { max_strlen = %u } or str(s, %u)",
			 m->name, m->key_size, KEY_MAX, room - 1, room - 1);
}

static struct err *map_error(const struct MapDef *m, int r)
{
	u64 bytes = (u64)m->max_entries * (m->key_size + (u64)m->value_size);
	if (r == -EPERM) {
		struct err *e = feature_need_caps();
		return e ? e : err_errno(EPERM, "cannot create map %s (memory limit? try 'ulimit -l unlimited')", m->name);
	}
	if (r != -ENOMEM && r != -E2BIG && r != -EINVAL)
		return err_errno(-r, "cannot create map %s (type %u)", m->name, m->bpf_type);
	if (map_type_is_percpu(m->bpf_type) && m->value_size > 32768) // PCPU_MIN_UNIT_SIZE
		return value_error(m, r);
	if (r == -E2BIG && m->key_size > KEY_MAX && !feature_has(FEAT_BIG_KEYS))
		return key_error(m);
	if (m->bpf_type == BPF_MAP_TYPE_RINGBUF)
		return err_errno(-r, "cannot create the event buffer of %u bytes: lower perf_rb_pages", m->max_entries);
	if (r == -EINVAL)
		return err_errno(EINVAL,
				 "cannot create map %s (type %u, key %u, value %u, entries %u, flags 0x%x): unknown to this kernel",
				 m->name, m->bpf_type, m->key_size, m->value_size, m->max_entries, m->flags);
	return err_errno(-r, "no memory for map %s: %u entries of %u + %u bytes%s, %llu MB: lower %s", m->name, m->max_entries, m->key_size,
			 m->value_size, map_type_is_percpu(m->bpf_type) ? " per CPU" : "", (unsigned long long)(bytes >> 20),
			 m->user ? "max_map_keys (--hash-storage-size of a tool), or the size of its strings (max_strlen)"
				 : "max_map_keys (--hash-storage-size of a tool) or --stack-storage-size");
}

static int create_map(const struct MapDef *m, int inner_fd)
{
	char name[16];
	map_kernel_name(m->name, name);
	struct SysMap sm = {m->bpf_type, m->key_size, m->value_size, m->max_entries, m->flags, name, inner_fd};
	return m->task_work ? task_work_map(&sm) : sys_map_create(&sm);
}

static struct err *map_in_memory(struct Loaded *l, struct MapDef *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t n = ALIGN_UP((size_t)ALIGN_UP(m->value_size, 8u) * m->max_entries, page); // array_map_mmap
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (p == MAP_FAILED)
		return err_errno(errno, "cannot map %s into memory", m->name);
	m->mmapped = p;
	struct Mapping mm = {p, n, m};
	vec_push(&l->mmaps, mm);
	return NULL;
}

// The one element of a CGROUP_ARRAY; the map keeps the cgroup, the descriptor is needed no longer.
static struct err *add_cgroup(const struct MapDef *m)
{
	u32 zero = 0;
	int dir = open(m->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_errno(errno, "cannot open %s", m->path);
	int r = sys_map_update(m->fd, &zero, &dir, BPF_ANY);
	close(dir);
	return r == -EBADF ? err_new("%s is no cgroup v2 directory", m->path) : r < 0 ? err_errno(-r, "cannot use the cgroup %s", m->path) : NULL;
}

static struct err *load_map(struct Loaded *l, struct MapDef *m)
{
	int inner = 0;
	bool held = m->inner && m->inner->holder == m;
	if (held) {
		inner = m->inner->fd;
	} else if (m->inner) { // the template is needed only while the outer map is created
		inner = create_map(m->inner, 0);
		if (inner < 0)
			return map_error(m->inner, inner);
	}
	bool pinned = m->path && m->bpf_type != BPF_MAP_TYPE_CGROUP_ARRAY;
	int fd = pinned ? sys_obj_get(m->path) : create_map(m, inner);
	if (inner && !held)
		close(inner);
	if (fd < 0)
		return pinned ? err_errno(-fd, "cannot use the map pinned at %s", m->path) : map_error(m, fd);
	m->fd = fd;
	vec_push(&l->maps, m);
	if (m->path && !pinned)
		return add_cgroup(m);
	const void *init = held ? &m->inner->fd : m->init;
	if (init) {
		u32 zero = 0;
		int r = sys_map_update(fd, &zero, init, BPF_ANY);
		if (r == 0 && (m->flags & BPF_F_RDONLY_PROG)) // frozen: the verifier may take the values as constants
			r = sys_map_freeze(fd);
		if (r < 0)
			return err_errno(-r, "cannot set the contents of map %s", m->name);
	}
	if (m->flags & BPF_F_MMAPABLE)
		return map_in_memory(l, m);
	return NULL;
}

struct err *load_maps(struct Program *p, struct Loaded **out)
{
	struct Loaded *l = xcalloc(1, sizeof(*l));
	*out = NULL;
	for (size_t i = 0; i < p->maps.n; i++) {
		struct err *e = load_map(l, p->maps.p[i]);
		if (e) {
			loaded_destroy(l);
			return e;
		}
	}
	*out = l;
	return NULL;
}

void loaded_destroy(struct Loaded *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->mmaps.n; i++) {
		munmap(l->mmaps.p[i].p, l->mmaps.p[i].n);
		l->mmaps.p[i].map->mmapped = NULL;
	}
	for (size_t i = 0; i < l->progs.n; i++) {
		close(l->progs.p[i]->fd);
		l->progs.p[i]->fd = -1;
	}
	for (size_t i = 0; i < l->maps.n; i++) {
		close(l->maps.p[i]->fd);
		l->maps.p[i]->fd = -1;
	}
	vec_deinit(&l->mmaps);
	vec_deinit(&l->progs);
	vec_deinit(&l->maps);
	free(l);
}
