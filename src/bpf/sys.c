// bpf(2) and perf_event_open(2). Input: plain structs; output: a descriptor or value >= 0, or -errno.
// Invariant: the only callers of the two system calls; fields newer than the build machine's headers are laid out here by hand
// (the kernel accepts any attr size whose unknown tail is zero). New descriptors are close-on-exec (the kernel makes them so).
#include "bpf/bpf.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PTR(p) ((u64)(uintptr_t)(p))

static int sys_bpf(int cmd, void *attr, u32 size)
{
	long r = syscall(__NR_bpf, cmd, attr, size);
	return r < 0 ? -errno : (int)r;
}

// Before 5.11 maps and programs counted against RLIMIT_MEMLOCK, and exceeding it reads EPERM (bpf_charge_memlock). Raises it;
// true if that changed anything, so that the call is worth repeating. Later kernels charge the memory cgroup: no effect there.
static bool raise_memlock(void)
{
	struct rlimit old, inf = {RLIM_INFINITY, RLIM_INFINITY};
	if (getrlimit(RLIMIT_MEMLOCK, &old) || old.rlim_cur == RLIM_INFINITY)
		return false;
	return setrlimit(RLIMIT_MEMLOCK, &inf) == 0;
}

// ---- BPF token (Linux 6.9): what one may not do, a bpffs may allow that was mounted for the user namespace with delegate_cmds, delegate_maps, delegate_progs and
// delegate_attachs (Documentation/bpf of the commits around 35f96de04127). The variable is libbpf's. Asked for only when something was refused.
enum { TOKEN_CREATE = 36, TOKEN_FLAG = 1 << 16, TOKEN_NOT_TRIED = -2 };
// Where each command has it: older headers lack these fields.
enum { MAP_TOKEN = 76, PROG_TOKEN = 144, BTF_FLAGS = 32, BTF_TOKEN = 36 };
union WithToken {
	union bpf_attr a;
	u8 bytes[256];
};

static int token(void)
{
	static int fd = TOKEN_NOT_TRIED;
	const char *dir = getenv("LIBBPF_BPF_TOKEN_PATH");
	struct {
		u32 flags, bpffs_fd;
	} a = {0};
	if (fd != TOKEN_NOT_TRIED)
		return fd;
	int bpffs = dir && *dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	a.bpffs_fd = (u32)bpffs;
	fd = bpffs < 0 ? -1 : MAX(sys_bpf(TOKEN_CREATE, &a, sizeof(a)), -1);
	if (bpffs >= 0)
		close(bpffs);
	return fd;
}

// The command once more, with the token; -EPERM without one. flags, at: where in attr its flags and the token's descriptor are.
static int with_token(int cmd, const union bpf_attr *attr, u32 flags, u32 at)
{
	union WithToken w = {0};
	u32 f;
	int fd = token();
	if (fd < 0)
		return -EPERM;
	memcpy(&w.a, attr, sizeof(*attr));
	memcpy(&f, w.bytes + flags, sizeof(f));
	f |= TOKEN_FLAG;
	memcpy(w.bytes + flags, &f, sizeof(f));
	memcpy(w.bytes + at, &fd, sizeof(fd));
	return sys_bpf(cmd, &w, at + sizeof(fd));
}

static void set_name(char dst[BPF_OBJ_NAME_LEN], const char *name)
{
	if (name)
		strncpy(dst, name, BPF_OBJ_NAME_LEN - 1);
}

int sys_map_create(const struct SysMap *m)
{
	union bpf_attr a = {
		.map_type = m->type,
		.key_size = m->key_size,
		.value_size = m->value_size,
		.max_entries = m->max_entries,
		.map_flags = m->flags,
		.inner_map_fd = (u32)m->inner_fd,
		.btf_fd = (u32)m->btf_fd,
		.btf_key_type_id = m->btf_key,
		.btf_value_type_id = m->btf_val,
	};
	set_name(a.map_name, m->name);
	int r = sys_bpf(BPF_MAP_CREATE, &a, sizeof(a));
	if (r == -EPERM && raise_memlock())
		r = sys_bpf(BPF_MAP_CREATE, &a, sizeof(a));
	return r == -EPERM ? with_token(BPF_MAP_CREATE, &a, offsetof(union bpf_attr, map_flags), MAP_TOKEN) : r;
}

static int elem(int cmd, int fd, const void *key, const void *val, u64 flags)
{
	union bpf_attr a = {.map_fd = (u32)fd, .key = PTR(key), .value = PTR(val), .flags = flags};
	return sys_bpf(cmd, &a, offsetof(union bpf_attr, flags) + sizeof(a.flags));
}

int sys_map_lookup(int fd, const void *key, void *val)
{
	return elem(BPF_MAP_LOOKUP_ELEM, fd, key, val, 0);
}

int sys_map_update(int fd, const void *key, const void *val, u64 flags)
{
	return elem(BPF_MAP_UPDATE_ELEM, fd, key, val, flags);
}

int sys_map_delete(int fd, const void *key)
{
	return elem(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0);
}

int sys_map_next_key(int fd, const void *key, void *next)
{
	return elem(BPF_MAP_GET_NEXT_KEY, fd, key, next, 0); // next_key shares value's place
}

static int map_batch(int cmd, int fd, void *in, void *out, void *keys, void *vals, u32 *n)
{
	union bpf_attr a = {0};
	a.batch.in_batch = PTR(in);
	a.batch.out_batch = PTR(out);
	a.batch.keys = PTR(keys);
	a.batch.values = PTR(vals);
	a.batch.count = *n;
	a.batch.map_fd = (u32)fd;
	int r = sys_bpf(cmd, &a, sizeof(a));
	// Before 5.6 the command is unknown: EINVAL, and count is not an answer.
	*n = r == 0 || r == -ENOENT || r == -ENOSPC ? a.batch.count : 0;
	return r;
}

int sys_map_lookup_batch(int fd, void *in, void *out, void *keys, void *vals, u32 *n)
{
	return map_batch(BPF_MAP_LOOKUP_BATCH, fd, in, out, keys, vals, n);
}

int sys_map_take_batch(int fd, void *in, void *out, void *keys, void *vals, u32 *n)
{
	return map_batch(BPF_MAP_LOOKUP_AND_DELETE_BATCH, fd, in, out, keys, vals, n);
}

int sys_map_update_batch(int fd, void *keys, void *vals, u32 *n)
{
	return map_batch(BPF_MAP_UPDATE_BATCH, fd, NULL, NULL, keys, vals, n);
}

int sys_map_freeze(int fd)
{
	union bpf_attr a = {.map_fd = (u32)fd};
	return sys_bpf(BPF_MAP_FREEZE, &a, sizeof(a.map_fd));
}

int sys_prog_load(const struct SysProg *p)
{
	union bpf_attr a = {
		.prog_type = p->type,
		.expected_attach_type = p->expected_attach_type,
		.insns = PTR(p->insns),
		.insn_cnt = p->ninsns,
		.license = PTR(p->license),
		.log_level = p->log_level,
		.log_buf = PTR(p->log),
		.log_size = p->log_size,
		.prog_flags = p->flags,
		.prog_btf_fd = (u32)p->btf_fd,
		.attach_btf_id = p->attach_btf_id,
		.fd_array = PTR(p->fd_array),
	};
	if (p->nfunc_info) {
		a.func_info = PTR(p->func_info);
		a.func_info_cnt = p->nfunc_info;
		a.func_info_rec_size = sizeof(struct bpf_func_info);
	}
	if (p->nline_info) {
		a.line_info = PTR(p->line_info);
		a.line_info_cnt = p->nline_info;
		a.line_info_rec_size = sizeof(struct bpf_line_info);
	}
	if (p->attach_prog_fd)
		a.attach_prog_fd = (u32)p->attach_prog_fd; // shares its place with attach_btf_obj_fd
	else
		a.attach_btf_obj_fd = (u32)p->attach_btf_obj_fd;
	set_name(a.prog_name, p->name);

	bool raised = false;
	int tries = 5; // EAGAIN: a signal came while verifying (kernel commit c3494801cd17); libbpf's number of tries
	for (;;) {
		int r = sys_bpf(BPF_PROG_LOAD, &a, sizeof(a));
		if (r == -EAGAIN && --tries > 0)
			continue;
		if (r == -EPERM && !raised && raise_memlock()) {
			raised = true;
			continue;
		}
		return r == -EPERM ? with_token(BPF_PROG_LOAD, &a, offsetof(union bpf_attr, prog_flags), PROG_TOKEN) : r;
	}
}

int sys_btf_load(const void *data, u32 size, char *log, u32 log_size)
{
	union bpf_attr a = {.btf = PTR(data), .btf_size = size};
	if (log_size) {
		a.btf_log_buf = PTR(log);
		a.btf_log_size = log_size;
		a.btf_log_level = 1;
	}
	int r = sys_bpf(BPF_BTF_LOAD, &a, sizeof(a));
	return r == -EPERM ? with_token(BPF_BTF_LOAD, &a, BTF_FLAGS, BTF_TOKEN) : r;
}

int sys_prog_test_run(int fd, struct SysTestRun *t)
{
	union bpf_attr a = {0};
	a.test.prog_fd = (u32)fd;
	a.test.ctx_in = PTR(t->ctx_in);
	a.test.ctx_size_in = t->ctx_size;
	a.test.data_in = PTR(t->data_in);
	a.test.data_size_in = t->data_size;
	a.test.repeat = t->repeat;
	a.test.flags = t->flags;
	a.test.cpu = t->cpu;
	int r = sys_bpf(BPF_PROG_TEST_RUN, &a, sizeof(a));
	t->retval = a.test.retval;
	t->duration = a.test.duration;
	return r;
}

int sys_perf_event_open(void *attr, int pid, int cpu, int group, unsigned long flags)
{
	long r = syscall(__NR_perf_event_open, attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);
	return r < 0 ? -errno : (int)r;
}

// BPF_LINK_CREATE: the four common words, then the part of the link's type.
struct LinkAttr {
	u32 prog_fd, target_fd, attach_type, flags;
	union {
		struct {
			u64 cookie;
		} perf;
		struct {
			u32 flags, cnt;
			u64 syms, addrs, cookies;
		} kprobe_multi;
		struct {
			u64 path, offsets, ref_ctr_offsets, cookies;
			u32 cnt, flags, pid, pad;
		} uprobe_multi;
		struct { // what to walk, union bpf_iter_link_info
			u64 info;
			u32 len, pad;
		} iter;
	};
};
_Static_assert(offsetof(struct LinkAttr, perf) == 16, "linux/bpf.h link_create");

int sys_link_perf_event(int prog_fd, int perf_fd, u64 cookie)
{
	struct LinkAttr a = {(u32)prog_fd, (u32)perf_fd, BPF_PERF_EVENT, 0, .perf = {cookie}};
	return sys_bpf(BPF_LINK_CREATE, &a, sizeof(a));
}

int sys_raw_tracepoint_open(const char *name, int prog_fd)
{
	union bpf_attr a = {.raw_tracepoint = {.name = PTR(name), .prog_fd = (u32)prog_fd}};
	return sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &a, sizeof(a.raw_tracepoint));
}

int sys_link_iter(int prog_fd, bool cgroups)
{
	// A cgroup iterator must be told the order (kernel commit d4ccaf58a847); without a cgroup it starts at the root.
	struct {
		u32 order, fd;
		u64 id;
	} info = {2, 0, 0}; // BPF_CGROUP_ITER_DESCENDANTS_PRE
	struct LinkAttr a = {(u32)prog_fd, 0, BPF_TRACE_ITER, 0};
	if (cgroups) {
		a.iter.info = PTR(&info);
		a.iter.len = sizeof(info);
	}
	return sys_bpf(BPF_LINK_CREATE, &a, sizeof(a));
}

int sys_link_uprobe_multi(int prog_fd, const char *path, const u64 *offs, const u64 *ref_ctr, const u64 *cookies, u32 n, u32 flags, int pid)
{
	struct LinkAttr a = {
		(u32)prog_fd, 0, flags & SYS_MULTI_SESSION ? SYS_TRACE_UPROBE_SESSION : SYS_TRACE_UPROBE_MULTI, 0,
		.uprobe_multi = {PTR(path), PTR(offs), PTR(ref_ctr), PTR(cookies), n, flags & ~SYS_MULTI_SESSION, (u32)pid},
	};
	return sys_bpf(BPF_LINK_CREATE, &a, sizeof(a));
}

int sys_link_kprobe_multi(int prog_fd, const char *const *syms, const u64 *addrs, const u64 *cookies, u32 n, u32 flags)
{
	struct LinkAttr a = {
		(u32)prog_fd, 0, flags & SYS_MULTI_SESSION ? SYS_TRACE_KPROBE_SESSION : SYS_TRACE_KPROBE_MULTI, 0,
		.kprobe_multi = {flags & ~SYS_MULTI_SESSION, n, PTR(syms), PTR(addrs), PTR(cookies)},
	};
	return sys_bpf(BPF_LINK_CREATE, &a, sizeof(a));
}

int sys_iter_create(int link_fd)
{
	union bpf_attr a = {.iter_create = {.link_fd = (u32)link_fd}};
	return sys_bpf(BPF_ITER_CREATE, &a, sizeof(a.iter_create));
}

int sys_obj_pin(int fd, const char *path)
{
	union bpf_attr a = {.pathname = PTR(path), .bpf_fd = (u32)fd};
	return sys_bpf(BPF_OBJ_PIN, &a, offsetof(union bpf_attr, file_flags) + sizeof(a.file_flags));
}

int sys_obj_get(const char *path)
{
	union bpf_attr a = {.pathname = PTR(path)};
	return sys_bpf(BPF_OBJ_GET, &a, offsetof(union bpf_attr, file_flags) + sizeof(a.file_flags));
}

static int next_id(int cmd, u32 id, u32 *next)
{
	union bpf_attr a = {.start_id = id};
	int r = sys_bpf(cmd, &a, offsetof(union bpf_attr, open_flags) + sizeof(a.open_flags));
	if (r == 0)
		*next = a.next_id;
	return r;
}

int sys_prog_next_id(u32 id, u32 *next)
{
	return next_id(BPF_PROG_GET_NEXT_ID, id, next);
}

int sys_btf_next_id(u32 id, u32 *next)
{
	return next_id(BPF_BTF_GET_NEXT_ID, id, next);
}

static int fd_by_id(int cmd, u32 id)
{
	union bpf_attr a = {.start_id = id}; // prog_id and btf_id share its place
	return sys_bpf(cmd, &a, offsetof(union bpf_attr, open_flags) + sizeof(a.open_flags));
}

int sys_prog_fd_by_id(u32 id)
{
	return fd_by_id(BPF_PROG_GET_FD_BY_ID, id);
}

int sys_btf_fd_by_id(u32 id)
{
	return fd_by_id(BPF_BTF_GET_FD_BY_ID, id);
}

int sys_obj_info(int fd, void *info, u32 *len)
{
	union bpf_attr a = {.info = {.bpf_fd = (u32)fd, .info_len = *len, .info = PTR(info)}};
	int r = sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a.info));
	if (r == 0)
		*len = a.info.info_len;
	return r;
}

int sys_enable_stats(void)
{
	union bpf_attr a = {.enable_stats = {.type = BPF_STATS_RUN_TIME}};
	return sys_bpf(BPF_ENABLE_STATS, &a, sizeof(a.enable_stats));
}
