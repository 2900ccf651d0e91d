// A program that is loaded to see whether this kernel takes it. Input: its instructions, what it would be for. Output: its descriptor, which the caller closes. It is never attached.
#include "bpf/internal.h"

int try_load(u32 btf_id, u32 type, u32 attach_type, const struct BpfInsn *insns, u32 n, char *log, u32 log_size)
{
	struct SysProg p = {
		.type = type,
		.expected_attach_type = attach_type,
		.attach_btf_id = btf_id,
		.insns = insns,
		.ninsns = n,
		.license = "Dual BSD/GPL",
		.name = "sonde_try",
		.log = log,
		.log_size = log_size,
		.log_level = log_size ? 1 : 0,
	};
	return sys_prog_load(&p);
}
