// BTF with any content: every type is made, every record loaded, every name looked up, nothing outside the data is read.
#include "ctype/internal.h"
#include <linux/btf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool one_func(void *arg, const char *module, const char *name)
{
	struct Record *args;
	const struct Type *ret;
	err_free(ctype_func(arg, NULL, name, &args, &ret, NULL));
	return true;
}

static void everything(struct Ctypes *c, struct Btf *b)
{
	for (u32 id = kbtf_next(b, 0); id; id = kbtf_next(b, id)) {
		const struct btf_type *t = kbtf_type_by_id(b, id);
		const struct Type *ty = kbtf_to_type(c, b, id), *type;
		s64 val;
		if (ty->kind == TY_RECORD)
			ctype_record_load(c, ty->rec);
		struct Field f;
		if (ty->kind == TY_RECORD && ty->rec->loaded)
			record_field(ty->rec, "x", &f);
		kbtf_type_align(c, b, id);
		kbtf_size(b, id);
		ctype_lookup(c, kbtf_name(b, t->name_off));
		ctype_enum_const(c, kbtf_name(b, t->name_off), &val, &type);
	}
	ctype_each_func(c, one_func, c);
	ctype_nearest(c, "struct nothing_like_it");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Arena a = {0};
	struct TypeTab tab;
	struct Diags d = {0};
	if (size > 1 << 16)
		return 0;
	char path[] = "/tmp/btf_fuzz.XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	setenv("BPFTRACE_BTF", path, 1);
	typetab_init(&tab, &a);
	struct Ctypes *c = ctypes_create(&a, &tab, &d);
	struct Btf *b = kbtf_vmlinux(c);
	if (b)
		everything(c, b);
	ctypes_destroy(c);
	typetab_deinit(&tab);
	diags_deinit(&d);
	arena_deinit(&a);
	unlink(path);
	return 0;
}
