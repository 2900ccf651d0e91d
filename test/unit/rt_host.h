// The runtime of src/bpfrt on the host: include this, then the .bpf.c files under test (compiled with RT_HOST defined by this header).
// Maps are real (see rt_host_update/rt_host_lookup to fill and read them), reading of memory and the like go through hooks in rt_host.
// Invariant: one thread, one CPU; a lookup's pointer stays valid until its element is deleted, as in the kernel.
#ifndef SONDE_RT_HOST_H
#define SONDE_RT_HOST_H
#ifndef RT_HOST
#define RT_HOST
#endif
#include "bpfrt/rt.h"
#include <errno.h>
#include <time.h>

// What a test may replace. Defaults: memory is this process's own, no stack, pid 1.
static struct {
	long (*read_user)(void *dst, u32 size, const void *src);
	long (*read_kernel)(void *dst, u32 size, const void *src);
	long (*get_stack)(void *ctx, void *buf, u32 size, u64 flags);
	long (*ringbuf_output)(void *ringbuf, const void *data, u64 size, u64 flags);
	long (*tail_call)(void *ctx, void *prog_array, u32 index);
	struct pt_regs *(*task_pt_regs)(struct task_struct *);
	u64 pid_tgid, task;
	u32 cpu;
	u64 loop_steps; // callbacks run by bpf_loop so far
} rt_host = {.pid_tgid = 1ULL << 32 | 1};

struct RtHostElem {
	struct RtHostElem *next;
	void *key, *val;
};
struct RtHostMap {
	const struct RtMapDef *def;
	struct RtHostElem *elems;
	u32 n;
	struct RtHostMap *next;
};
static struct RtHostMap *rt_host_maps;

static struct RtHostMap *rt_host_map(const void *def)
{
	for (struct RtHostMap *m = rt_host_maps; m; m = m->next)
		if (m->def == def)
			return m;
	struct RtHostMap *m = xcalloc(1, sizeof(*m));
	*m = (struct RtHostMap){def, NULL, 0, rt_host_maps};
	rt_host_maps = m;
	return m;
}

// Forgets all elements of all maps.
static inline void rt_host_reset(void)
{
	while (rt_host_maps) {
		struct RtHostMap *m = rt_host_maps;
		while (m->elems) {
			struct RtHostElem *e = m->elems;
			m->elems = e->next;
			free(e->key);
			free(e->val);
			free(e);
		}
		rt_host_maps = m->next;
		free(m);
	}
}

static bool rt_host_is_array(u32 type)
{
	return type == RT_MAP_ARRAY || type == RT_MAP_PERCPU_ARRAY || type == RT_MAP_PROG_ARRAY || type == RT_MAP_ARRAY_OF_MAPS;
}
static bool rt_host_is_outer(u32 type) { return type == RT_MAP_ARRAY_OF_MAPS || type == RT_MAP_HASH_OF_MAPS; }
// The value of a map of maps is a pointer to the inner map's RtMapDef.
static u32 rt_host_val_size(const struct RtMapDef *d) { return rt_host_is_outer(d->type) ? (u32)sizeof(void *) : d->value_size; }

// Longest stored prefix of an LPM trie that matches, else exact.
static struct RtHostElem **rt_host_find(struct RtHostMap *m, const void *key, bool lpm)
{
	struct RtHostElem **best = NULL;
	u32 best_len = 0;
	for (struct RtHostElem **e = &m->elems; *e; e = &(*e)->next) {
		if (!lpm) {
			if (!memcmp((*e)->key, key, m->def->key_size))
				return e;
			continue;
		}
		const struct RtLpmKey *k = (*e)->key, *want = key;
		u32 bits = k->prefixlen, i = 0;
		if (bits > want->prefixlen)
			continue;
		while (i < bits && !((k->data[i / 8] ^ want->data[i / 8]) >> (7 - i % 8) & 1))
			i++;
		if (i == bits && (!best || bits >= best_len)) {
			best = e;
			best_len = bits;
		}
	}
	return best;
}

static struct RtHostElem *rt_host_add(struct RtHostMap *m, const void *key)
{
	struct RtHostElem *e = xcalloc(1, sizeof(*e));
	e->key = xmalloc(m->def->key_size + 1);
	memcpy(e->key, key, m->def->key_size);
	e->val = xcalloc(1, rt_host_val_size(m->def) + 8);
	e->next = m->elems;
	m->elems = e;
	m->n++;
	return e;
}

void *bpf_map_lookup_elem(void *map, const void *key)
{
	struct RtHostMap *m = rt_host_map(map);
	struct RtHostElem **e = rt_host_find(m, key, m->def->type == RT_MAP_LPM_TRIE);
	void *val = e ? (*e)->val : NULL;
	if (!val && rt_host_is_array(m->def->type) && !rt_host_is_outer(m->def->type)) {
		u32 i;
		memcpy(&i, key, 4);
		val = i < m->def->max_entries ? rt_host_add(m, key)->val : NULL;
	}
	if (val && rt_host_is_outer(m->def->type))
		memcpy(&val, val, sizeof(val));
	return val;
}

long bpf_map_update_elem(void *map, const void *key, const void *val, u64 flags)
{
	struct RtHostMap *m = rt_host_map(map);
	struct RtHostElem **e = rt_host_find(m, key, false), *el = e ? *e : NULL;
	if (rt_host_is_array(m->def->type)) {
		u32 i;
		memcpy(&i, key, 4);
		if (flags == RT_NOEXIST)
			return -EEXIST;
		if (i >= m->def->max_entries)
			return -E2BIG;
	} else if (el ? flags == RT_NOEXIST : flags == RT_EXIST) {
		return el ? -EEXIST : -ENOENT;
	} else if (!el && m->n >= m->def->max_entries) {
		if (m->def->type != RT_MAP_LRU_HASH && m->def->type != RT_MAP_LRU_PERCPU_HASH)
			return -E2BIG;
		struct RtHostElem **last = &m->elems; // the oldest goes
		while ((*last)->next)
			last = &(*last)->next;
		free((*last)->key);
		free((*last)->val);
		free(*last);
		*last = NULL;
		m->n--;
	}
	if (!el)
		el = rt_host_add(m, key);
	memcpy(el->val, val, rt_host_val_size(m->def));
	return 0;
}

long bpf_map_delete_elem(void *map, const void *key)
{
	struct RtHostMap *m = rt_host_map(map);
	struct RtHostElem **e = rt_host_find(m, key, false);
	if (!e)
		return -ENOENT;
	struct RtHostElem *el = *e;
	*e = el->next;
	free(el->key);
	free(el->val);
	free(el);
	m->n--;
	return 0;
}

void *bpf_map_lookup_percpu_elem(void *map, const void *key, u32 cpu) { return cpu == rt_host.cpu ? bpf_map_lookup_elem(map, key) : NULL; }

long bpf_for_each_map_elem(void *map, void *callback, void *ctx, u64 flags)
{
	long (*fn)(void *, const void *, void *, void *) = (long (*)(void *, const void *, void *, void *))callback;
	long n = 0;
	for (struct RtHostElem *e = rt_host_map(map)->elems, *next; e; e = next) {
		next = e->next;
		n++;
		if (fn(map, e->key, e->val, ctx))
			break;
	}
	return n;
}

long bpf_loop(u32 n, void *callback, void *ctx, u64 flags)
{
	long (*fn)(u64, void *) = (long (*)(u64, void *))callback;
	if (n > 1u << 23)
		return -E2BIG;
	for (u32 i = 0; i < n; i++) {
		rt_host.loop_steps++;
		if (fn(i, ctx))
			return i + 1;
	}
	return n;
}

static long rt_host_read(long (*hook)(void *, u32, const void *), void *dst, u32 size, const void *src)
{
	if (hook)
		return hook(dst, size, src);
	memcpy(dst, src, size);
	return 0;
}
long bpf_probe_read_user(void *dst, u32 size, const void *user) { return rt_host_read(rt_host.read_user, dst, size, user); }
long bpf_copy_from_user(void *dst, u32 size, const void *user) { return rt_host_read(rt_host.read_user, dst, size, user); }
long bpf_probe_read_kernel(void *dst, u32 size, const void *kernel) { return rt_host_read(rt_host.read_kernel, dst, size, kernel); }

static long rt_host_read_str(long (*hook)(void *, u32, const void *), char *dst, u32 size, const char *src)
{
	for (u32 i = 0; i < size; i++) {
		if (rt_host_read(hook, dst + i, 1, src + i)) {
			memset(dst, 0, size);
			return -EFAULT;
		}
		if (i == size - 1)
			dst[i] = 0;
		if (!dst[i])
			return i + 1;
	}
	return 0;
}
long bpf_probe_read_user_str(void *dst, u32 size, const void *user) { return rt_host_read_str(rt_host.read_user, dst, size, user); }
long bpf_probe_read_kernel_str(void *dst, u32 size, const void *k) { return rt_host_read_str(rt_host.read_kernel, dst, size, k); }

u64 bpf_ktime_get_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}
u64 bpf_ktime_get_boot_ns(void) { return bpf_ktime_get_ns(); }
u32 bpf_get_prandom_u32(void) { return (u32)random(); }
u32 bpf_get_smp_processor_id(void) { return rt_host.cpu; }
u64 bpf_get_current_pid_tgid(void) { return rt_host.pid_tgid; }
long bpf_get_ns_current_pid_tgid(u64 dev, u64 ino, void *pidns_info, u32 size) { return -EINVAL; } // rt_ns_ino is 0 here
long bpf_get_current_comm(void *buf, u32 size)
{
	snprintf(buf, size, "%s", "host");
	return 0;
}
u64 bpf_get_current_task(void) { return rt_host.task; }
struct task_struct *bpf_get_current_task_btf(void) { return (struct task_struct *)(uintptr_t)rt_host.task; }
struct pt_regs *bpf_task_pt_regs(struct task_struct *task) { return rt_host.task_pt_regs ? rt_host.task_pt_regs(task) : NULL; }
long bpf_get_stack(void *ctx, void *buf, u32 size, u64 flags) { return rt_host.get_stack ? rt_host.get_stack(ctx, buf, size, flags) : -EFAULT; }
long bpf_get_task_stack(void *task, void *buf, u32 size, u64 flags) { return bpf_get_stack(task, buf, size, flags); }
long bpf_tail_call(void *ctx, void *prog_array, u32 index) { return rt_host.tail_call ? rt_host.tail_call(ctx, prog_array, index) : -ENOENT; }
long bpf_find_vma(struct task_struct *task, u64 addr, void *callback, void *ctx, u64 flags) { return -ENOENT; }
long bpf_strncmp(const char *s1, u32 n, const char *s2) { return strncmp(s1, s2, n); }
long bpf_ringbuf_output(void *ringbuf, const void *data, u64 size, u64 flags)
{
	return rt_host.ringbuf_output ? rt_host.ringbuf_output(ringbuf, data, size, flags) : 0;
}
// A reserved record: its size and ring buffer, then the data.
struct RtHostRecord {
	void *ringbuf;
	u64 size;
};
void *bpf_ringbuf_reserve(void *ringbuf, u64 size, u64 flags)
{
	struct RtHostRecord *r = xcalloc(1, sizeof(*r) + size);
	*r = (struct RtHostRecord){ringbuf, size};
	return r + 1;
}
void bpf_ringbuf_submit(void *data, u64 flags)
{
	struct RtHostRecord *r = (struct RtHostRecord *)data - 1;
	bpf_ringbuf_output(r->ringbuf, data, r->size, flags);
	free(r);
}
void bpf_ringbuf_discard(void *data, u64 flags) { free((struct RtHostRecord *)data - 1); }
#endif
