// What a person would write in C for the one-line scripts of bench/run's section `clang`, each built with clang -O2 by -DPROG=N and loaded by bench/peer.c.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#if PROG == 0 // @ = count()
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_getppid")
int prog(void *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&counts, &zero);
	if (n)
		++*n;
	return 0;
}
#elif PROG == 1 // @[pid, comm] = count()
struct key {
	__u64 pid;
	char comm[16];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct key);
	__type(value, __u64);
} counts SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_getppid")
int prog(void *ctx)
{
	struct key k = {};
	__u64 one = 1, *n;
	k.pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(k.comm, sizeof(k.comm));
	n = bpf_map_lookup_elem(&counts, &k);
	if (n)
		++*n;
	else
		bpf_map_update_elem(&counts, &k, &one, BPF_NOEXIST);
	return 0;
}
#elif PROG == 2 // @ = hist(nsecs)
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 65);
	__type(key, __u32);
	__type(value, __u64);
} slots SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_getppid")
int prog(void *ctx)
{
	__u64 v = bpf_ktime_get_ns(), *n;
	__u32 slot = 0;
	if (v) {
		__u32 hi = v >> 32, shift, x = hi ? hi : v, r;
		r = (x > 0xffff) << 4, x >>= r;
		shift = (x > 0xff) << 3, x >>= shift, r |= shift;
		shift = (x > 0xf) << 2, x >>= shift, r |= shift;
		shift = (x > 3) << 1, x >>= shift, r |= shift;
		slot = (r | x >> 1) + (hi ? 33 : 1);
	}
	n = bpf_map_lookup_elem(&slots, &slot);
	if (n)
		++*n;
	return 0;
}
#else // @[tid] = nsecs
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} last SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_getppid")
int prog(void *ctx)
{
	__u64 tid = (__u32)bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	__u64 *v = bpf_map_lookup_elem(&last, &tid);
	if (v)
		*v = now;
	else
		bpf_map_update_elem(&last, &tid, &now, BPF_ANY);
	return 0;
}
#endif
char LICENSE[] SEC("license") = "Dual BSD/GPL";
