// A program that is loaded to see whether this kernel takes it. Input: its instructions, what it would be for. Output: its descriptor, which the caller closes. It is never attached.
#include "bpf/internal.h"
#include <linux/bpf.h>

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

bool try_kfunc(const struct SysProg *like, u32 btf_id)
{
	static const char *const refusals[] = {"is not allowed", "must be sleepable", "not support", "reserved fields"}; // the last: before Linux 5.13
	const struct BpfInsn insns[] = {INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, btf_id), MOV_IMM(0, 0), EXIT()};
	char log[1024] = "";
	struct SysProg p = *like;
	p.insns = insns;
	p.ninsns = ARRAY_LEN(insns);
	p.license = "Dual BSD/GPL";
	p.name = "sonde_try";
	p.log = log;
	p.log_size = sizeof(log);
	p.log_level = 1;
	int fd = sys_prog_load(&p);
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		if (strstr(log, refusals[i]))
			return false;
	return true;
}
