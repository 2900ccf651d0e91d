// What the checker asks about this machine: addresses of symbols, ids of cgroups, pinned maps, kernel functions, the environment.
// In: names of the script. Out: numbers, or false where there is no such thing. Invariant: nothing is read that the script did not name.
#include "arch/arch.h"
#include "session/internal.h"
#include <linux/bpf.h>
#include <sys/stat.h>

static bool hook_kaddr(void *arg, const char *name, u64 *addr)
{
	struct Session *s = arg;
	return sym_kernel_addr(s->syms, name, NULL, addr);
}

static bool hook_uaddr(void *arg, const struct Point *p, const char *name, u64 *addr, u64 *size)
{
	struct Session *s = arg;
	struct SymObject *o = p->target ? sym_object_path(s->syms, p->target) : NULL;
	struct SymDef d;
	if (!o || !sym_object_find(s->syms, o, name, &d))
		return false;
	*addr = d.addr;
	*size = d.size;
	return true;
}

static bool hook_cgroupid(void *arg, const char *path, u64 *id)
{
	// the id of a cgroup v2 directory is its inode number (kernfs, 64-bit inodes)
	struct stat st;
	if (stat(path, &st))
		return false;
	*id = st.st_ino;
	return true;
}

static bool hook_pinned(void *arg, const char *path, u32 *key_size, const char **why)
{
	int fd = sys_obj_get(path);
	struct bpf_map_info info = {0};
	u32 len = sizeof(info);
	*why = fd < 0 ? strerror(-fd) : sys_obj_info(fd, &info, &len) < 0 ? "it is no map" : NULL;
	if (fd >= 0)
		close(fd);
	if (!*why && info.type != BPF_MAP_TYPE_HASH && info.type != BPF_MAP_TYPE_LRU_HASH)
		*why = "it is no hash map";
	if (!*why && info.key_size != 4 && info.key_size != 8)
		*why = "its keys are no numbers of 4 or 8 bytes";
	*key_size = info.key_size;
	return !*why;
}

static bool hook_kfunc(void *arg, const char *name)
{
	struct Session *s = arg;
	return ctype_func_id(s->ctypes, name) != 0;
}

static bool hook_kfunc_allowed(void *arg, const struct Point *pt, const char *name)
{
	struct Session *s = arg;
	struct SysProg sp = {0};
	struct ProbeProg pp = {.kind = pt->kind};
	vec_push(&pp.points.v, (struct Point *)pt);
	probe_load_params(&s->env, &pp, &sp);
	vec_deinit(&pp.points.v);
	return try_kfunc(&sp, ctype_func_id(s->ctypes, name));
}

static const char *hook_getenv(const char *name)
{
	return getenv(name);
}

static bool hook_bpf_loop(void)
{
	return feature_has(FEAT_BPF_LOOP);
}

static bool hook_big_keys(void)
{
	return feature_has(FEAT_BIG_KEYS);
}

void session_fill_hooks(struct Session *s)
{
	s->hooks = (struct CheckHooks){.arg = s, .cfunc = session_c_function, .kaddr = hook_kaddr, .uaddr = hook_uaddr, .cgroupid = hook_cgroupid, .pinned = hook_pinned,
				       .ptregs = ptregs_offset, .syscall_number = syscall_number, .syscall_name = syscall_name_of,
				       .kfunc = hook_kfunc, .kfunc_allowed = hook_kfunc_allowed, .getenv = hook_getenv, .bpf_loop = hook_bpf_loop, .big_keys = hook_big_keys, .pid = s->o->pid,
				       .cpid = s->child ? child_pid(s->child) : 0, .ncpus = possible_cpus()};
}
