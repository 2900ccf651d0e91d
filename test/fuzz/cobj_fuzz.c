// Objects in C that a script imports, with any content: opened, and each function that can be called linked into a program, nothing outside the file is read.
#include <sys/mman.h>
#include <unistd.h>
#include "bpf/internal.h"
#include <linux/bpf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void link_all(struct Arena *a, struct CObj *o)
{
	for (size_t i = 0; i < o->funcs.n && i < 64; i++) {
		struct Program p = {.arena = a};
		struct Code code = {0};
		struct BpfInsn call = {BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL << 4, 0, -1}, end = {BPF_JMP | BPF_EXIT, 0, 0, 0};
		struct Reloc r = {.kind = REL_RT, .insn = 0, .name = arena_printf(a, RT_IMPORTED "%s", o->funcs.p[i].name)};
		const char *why;
		vec_push(&p.objects, o);
		cobj_function(p.objects.p, 1, o->funcs.p[i].name, &why);
		vec_push(&code.insns, call);
		vec_push(&code.insns, end);
		vec_push(&code.relocs, r);
		for (u32 k = 0; k < o->nsecs; k++)
			o->secs[k].made = false;
		for (size_t k = 0; k < o->maps.n; k++)
			o->maps.p[k].made = false;
		err_free(link_imports(&p, &code));
		code_deinit(&code);
		vec_deinit(&p.maps);
		vec_deinit(&p.objects);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Arena a = {0};
	struct CObj *o = NULL;
	if (size > 1 << 18)
		return 0;
	int fd = memfd_create("cobj_fuzz", 0);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	struct err *e = cobj_open(&a, "fuzz", fd, &o);
	if (!e)
		link_all(&a, o);
	err_free(e);
	cobj_deinit(o);
	close(fd);
	arena_deinit(&a);
	return 0;
}
