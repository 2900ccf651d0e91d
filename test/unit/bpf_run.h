// Runs IR in the kernel for the tests: one array map whose only value holds inputs and results, BPF_PROG_TEST_RUN as a raw tracepoint.
// Raw bpf(2): the tests of src/ir must not depend on src/bpf.
#ifndef SONDE_TEST_BPF_RUN_H
#define SONDE_TEST_BPF_RUN_H
#include "ir/ir.h"
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <sys/syscall.h>

#define RUN_VALUE 4096 // bytes of the map's value
enum RunResult { RUN_OK, RUN_NO_KERNEL, RUN_REJECTED, RUN_COMPILE };

struct BpfRun {
	int map;	// map 0 of the programs
	u32 ninsns;	// of the last program
	char *log;	// verifier's, of the last program rejected
};

static long bpf_sys(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static bool run_init(struct BpfRun *r)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = RUN_VALUE, .max_entries = 1};
	*r = (struct BpfRun){.map = (int)bpf_sys(BPF_MAP_CREATE, &a)};
	return r->map >= 0;
}

// Does this kernel take v4 instructions (6.6)?
static bool run_has_v4(void)
{
	struct BpfInsn insns[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0}, {BPF_ALU64 | BPF_MOV | BPF_X, 0, 8, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0}};
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = (u64)(uintptr_t)insns, .insn_cnt = ARRAY_LEN(insns)};
	a.license = (u64)(uintptr_t) "Dual BSD/GPL";
	int fd = (int)bpf_sys(BPF_PROG_LOAD, &a);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void run_deinit(struct BpfRun *r)
{
	if (r->map >= 0)
		close(r->map);
	free(r->log);
	*r = (struct BpfRun){.map = -1};
}

// BTF with one function type per arity and one FUNC per function: callbacks need func_info.
static int run_btf(const struct Code *c, struct bpf_func_info *info)
{
	struct Str t = {0}, s = {0};
	str_addn(&s, "", 1);
	str_add(&s, "int");
	str_addn(&s, "", 1);
	struct btf_type it = {1, BTF_KIND_INT << 24, {8}};
	u32 enc = BTF_INT_SIGNED << 24 | 64;
	str_addn(&t, (char *)&it, sizeof(it));
	str_addn(&t, (char *)&enc, 4);
	u32 id = 1;
	for (size_t i = 0; i < c->funcs.n; i++) {
		u32 np = c->funcs.p[i].nparams;
		struct btf_type proto = {0, BTF_KIND_FUNC_PROTO << 24 | np, {1}};
		str_addn(&t, (char *)&proto, sizeof(proto));
		for (u32 k = 0; k < np; k++) {
			struct btf_param bp = {1, 1};
			str_addn(&t, (char *)&bp, sizeof(bp));
		}
		struct btf_type fn = {(u32)s.n, BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC, {id + 1}};
		str_addn(&t, (char *)&fn, sizeof(fn));
		str_addf(&s, "f%zu", i);
		str_addn(&s, "", 1);
		id += 2;
		info[i] = (struct bpf_func_info){c->funcs.p[i].insn, id};
	}
	struct btf_header h = {.magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(h), .type_len = (u32)t.n, .str_off = (u32)t.n, .str_len = (u32)s.n};
	struct Str all = {0};
	str_addn(&all, (char *)&h, sizeof(h));
	str_addn(&all, t.p, t.n);
	str_addn(&all, s.p, s.n);
	union bpf_attr a = {.btf = (u64)(uintptr_t)all.p, .btf_size = (u32)all.n};
	int fd = (int)bpf_sys(BPF_BTF_LOAD, &a);
	str_deinit(&all);
	str_deinit(&t);
	str_deinit(&s);
	return fd;
}

static void run_relocate(struct BpfRun *r, struct Code *c)
{
	for (size_t i = 0; i < c->relocs.n; i++) {
		assert(c->relocs.p[i].kind == REL_MAPFD || c->relocs.p[i].kind == REL_MAPVAL);
		c->insns.p[c->relocs.p[i].insn].imm = r->map;
	}
}

static int run_load(struct BpfRun *r, struct Code *c)
{
	struct bpf_func_info info[8];
	assert(c->funcs.n <= ARRAY_LEN(info));
	run_relocate(r, c);
	r->ninsns = (u32)c->insns.n;
	int btf = c->funcs.n > 1 ? run_btf(c, info) : -1;
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = (u64)(uintptr_t)c->insns.p, .insn_cnt = (u32)c->insns.n};
	a.license = (u64)(uintptr_t) "Dual BSD/GPL";
	if (btf >= 0) {
		a.prog_btf_fd = (u32)btf;
		a.func_info = (u64)(uintptr_t)info;
		a.func_info_cnt = (u32)c->funcs.n;
		a.func_info_rec_size = sizeof(info[0]);
	}
	int fd = (int)bpf_sys(BPF_PROG_LOAD, &a);
	if (fd < 0) { // again, for the log
		free(r->log);
		r->log = xcalloc(1, 1 << 20);
		a.log_level = 1;
		a.log_size = 1 << 20;
		a.log_buf = (u64)(uintptr_t)r->log;
		fd = (int)bpf_sys(BPF_PROG_LOAD, &a);
		if (fd < 0 && !r->log[0])
			snprintf(r->log, 64, "errno %d", errno);
	}
	if (btf >= 0)
		close(btf);
	return fd;
}

// Compiles (and so consumes) p, loads it and runs it on ctx (12 words) with the map's value set to mem; mem gets the value afterwards.
static enum RunResult run_prog(struct BpfRun *r, struct IrProg *p, bool v4, const u64 *ctx, u8 mem[RUN_VALUE], s64 *ret)
{
	struct Code c;
	u32 key = 0;
	struct err *e = ir_compile(p, &(struct EmitOpts){.has_v4 = v4}, &c);
	if (e) {
		free(r->log);
		r->log = xstrdup(err_text(e));
		err_free(e);
		return RUN_COMPILE;
	}
	int fd = run_load(r, &c);
	code_deinit(&c);
	if (fd < 0)
		return errno == EPERM ? RUN_NO_KERNEL : RUN_REJECTED;
	union bpf_attr up = {.map_fd = (u32)r->map, .key = (u64)(uintptr_t)&key, .value = (u64)(uintptr_t)mem};
	long rc = bpf_sys(BPF_MAP_UPDATE_ELEM, &up);
	union bpf_attr a = {.test = {.prog_fd = (u32)fd, .ctx_in = (u64)(uintptr_t)ctx, .ctx_size_in = 96}};
	rc = rc ? rc : bpf_sys(BPF_PROG_TEST_RUN, &a);
	rc = rc ? rc : bpf_sys(BPF_MAP_LOOKUP_ELEM, &up);
	close(fd);
	if (ret)
		*ret = (s32)a.test.retval;
	assert(!rc);
	return RUN_OK;
}
#endif
