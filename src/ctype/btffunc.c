// What BTF knows about functions, raw tracepoints, iterators and variables.
// Input: their names. Output: args records as the kernel's trampolines lay them out: u64 slots, one or more an argument.
#include "ctype/internal.h"
#include <linux/btf.h>

static const struct btf_type *proto_of(struct Btf *b, u32 func, u32 *proto)
{
	const struct btf_type *t = kbtf_type_by_id(b, func);
	*proto = t ? t->type : 0;
	t = kbtf_type_by_id(b, *proto);
	return t && BTF_INFO_KIND(t->info) == BTF_KIND_FUNC_PROTO ? t : NULL;
}

static struct err *no_btf(struct Ctypes *c, const char *what)
{
	return err_new("%s needs the kernel's type information (BTF; build the kernel with CONFIG_DEBUG_INFO_BTF=y): %s", what,
			 kbtf_why_not(c));
}

// A prototype's parameters from the first-th on. Variadic functions end with a parameter of type 0.
static struct Record *args_record(struct Ctypes *c, struct Btf *b, u32 proto, u32 first, const char *name)
{
	const struct btf_type *t = kbtf_type_by_id(b, proto);
	const struct btf_param *p = (const void *)(t + 1);
	u32 n = BTF_INFO_VLEN(t->info), slot = 0;
	struct Record *r = record_new(c, ORIGIN_FUNC, name, false, 0, 8);
	struct Origin *o = record_origin(r);
	r->fields = arena_new_n(c->arena, struct Field, n);
	for (u32 i = first; i < n && p[i].type; i++) {
		struct Field *f = &r->fields[r->nfields++];
		u64 size = kbtf_size(b, p[i].type);
		f->name = arena_strdup(c->arena, kbtf_name(b, p[i].name_off));
		if (!*f->name)
			f->name = arena_printf(c->arena, "arg%u", i - first);
		kbtf_field_type(c, b, p[i].type, f);
		f->off = slot * 8;
		slot += size > 8 && size <= 1024 ? (u32)((size + 7) / 8) : 1;
	}
	r->size = slot * 8;
	r->loaded = true;
	o->type = ty_record(c->tab, r);
	o->btf = b;
	o->id = proto;
	o->first_arg = first;
	o->module = b->module ? arena_strdup(c->arena, b->module) : NULL;
	return r;
}

const char *ctype_args_module(const struct Record *args)
{
	return record_origin(args)->module;
}

struct FuncAnswer {
	struct Record *args;
	const struct Type *ret;
	u32 id;
};

static struct FuncAnswer *find_func(struct Ctypes *c, const char *module, const char *func)
{
	struct Btf *b;
	u32 id = 0, proto;
	if (module) {
		b = kbtf_module(c, module);
		id = b ? kbtf_find(b, func, BTF_KIND_BIT(BTF_KIND_FUNC)) : 0;
	} else
		for (u32 i = 0; !id && kbtf_each(c, &i, &b);)
			id = kbtf_find(b, func, BTF_KIND_BIT(BTF_KIND_FUNC));
	const struct btf_type *t = id ? proto_of(b, id, &proto) : NULL;
	if (!t)
		return NULL;
	struct FuncAnswer *a = arena_new(c->arena, struct FuncAnswer);
	a->args = args_record(c, b, proto, 0, arena_printf(c->arena, "%s_args", func));
	a->ret = kbtf_to_type(c, b, t->type);
	a->id = id;
	return a;
}

struct err *ctype_func(struct Ctypes *c, const char *module, const char *func, struct Record **args, const struct Type **ret, u32 *btf_id)
{
	if (module && !strcmp(module, "vmlinux"))
		module = NULL;
	char *key = arena_printf(c->arena, "%s:%s", module ? module : "", func);
	struct FuncAnswer *a = map_get(&c->funcs, key);
	if (!kbtf_vmlinux(c))
		return no_btf(c, arena_printf(c->arena, "the arguments of %s", func));
	if (!a) {
		a = find_func(c, module, func);
		if (!a && module)
			return err_new("no function %s in the type information of module %s", func, module);
		if (!a)
			return err_new("no function %s in the kernel's type information (it may be inlined or not exist)", func);
		map_put(&c->funcs, key, a);
	}
	*args = a->args;
	*ret = a->ret;
	if (btf_id)
		*btf_id = a->id;
	return NULL;
}

u32 ctype_func_id(struct Ctypes *c, const char *func)
{
	struct Btf *b = kbtf_vmlinux(c);
	return b ? kbtf_find(b, func, BTF_KIND_BIT(BTF_KIND_FUNC)) : 0;
}

// The typedef's own prototype has no parameter names; a function with the same parameters has: __probestub_X (6.4), __traceiter_X (5.10).
static u32 named_proto(struct Btf *b, const char *event, u32 nparams)
{
	static const char *const prefixes[] = {"__probestub_", "__traceiter_", "__bpf_trace_"};
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		char name[256];
		u32 proto;
		if (snprintf(name, sizeof(name), "%s%s", prefixes[i], event) >= (int)sizeof(name))
			return 0;
		u32 id = kbtf_find(b, name, BTF_KIND_BIT(BTF_KIND_FUNC));
		const struct btf_type *t = id ? proto_of(b, id, &proto) : NULL;
		if (t && BTF_INFO_VLEN(t->info) == nparams)
			return proto;
	}
	return 0;
}

struct err *ctype_rawtp(struct Ctypes *c, const char *event, struct Record **args, u32 *btf_id)
{
	char *name = arena_printf(c->arena, "btf_trace_%s", event), *key = arena_printf(c->arena, "rawtp %s", event);
	struct Btf *b;
	struct FuncAnswer *a = map_get(&c->funcs, key);
	if (!kbtf_vmlinux(c))
		return no_btf(c, arena_printf(c->arena, "raw tracepoint %s's args", event));
	for (u32 i = 0; !a && kbtf_each(c, &i, &b);) {
		u32 id = kbtf_find(b, name, BTF_KIND_BIT(BTF_KIND_TYPEDEF)), to = id;
		const struct btf_type *t = id ? kbtf_skip(b, &to, NULL) : NULL;
		u32 proto = t && BTF_INFO_KIND(t->info) == BTF_KIND_PTR ? t->type : 0;
		t = kbtf_skip(b, &proto, NULL);
		if (!t || BTF_INFO_KIND(t->info) != BTF_KIND_FUNC_PROTO)
			continue;
		u32 named = named_proto(b, event, BTF_INFO_VLEN(t->info));
		a = arena_new(c->arena, struct FuncAnswer);
		a->args = args_record(c, b, named ? named : proto, 1, arena_printf(c->arena, "%s_args", name)); // the first is void *__data
		a->id = id;
		map_put(&c->funcs, key, a);
	}
	if (!a)
		return err_new("no raw tracepoint %s in the kernel's type information", event);
	*args = a->args;
	*btf_id = a->id;
	return NULL;
}

struct err *ctype_iter(struct Ctypes *c, const char *iter, struct Record **ctx, u32 *btf_id)
{
	struct Btf *b;
	char *rec = arena_printf(c->arena, "bpf_iter__%s", iter), *func = arena_printf(c->arena, "bpf_iter_%s", iter);
	if (!kbtf_vmlinux(c))
		return no_btf(c, arena_printf(c->arena, "iterator %s", iter));
	for (u32 i = 0; kbtf_each(c, &i, &b);) {
		u32 id = kbtf_find(b, rec, BTF_KIND_BIT(BTF_KIND_STRUCT)), fid = kbtf_find(b, func, BTF_KIND_BIT(BTF_KIND_FUNC)), proto;
		if (!id || !fid || !proto_of(b, fid, &proto))
			continue;
		*ctx = kbtf_to_type(c, b, id)->rec;
		kbtf_record_load(c, *ctx);
		struct Origin *o = record_origin(*ctx);
		o->module = b->module ? arena_strdup(c->arena, b->module) : NULL;
		o->iter_proto = proto;
		*btf_id = fid;
		return NULL;
	}
	return err_new("this kernel has no iterator %s (no struct %s in its type information)", iter, rec);
}

const struct Type *ctype_var(struct Ctypes *c, const char *name, u32 *btf_id)
{
	struct Btf *b = kbtf_vmlinux(c);
	u32 id = b ? kbtf_find(b, name, BTF_KIND_BIT(BTF_KIND_VAR)) : 0;
	if (!id)
		return NULL;
	if (btf_id)
		*btf_id = id;
	return kbtf_to_type(c, b, kbtf_type_by_id(b, id)->type);
}

void ctype_each_func(struct Ctypes *c, bool (*fn)(void *, const char *module, const char *name), void *arg)
{
	struct Btf *b;
	for (u32 i = 0; kbtf_each(c, &i, &b);) {
		for (u32 id = kbtf_next(b, 0); id; id = kbtf_next(b, id)) {
			const struct btf_type *t = kbtf_type_by_id(b, id);
			if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC && !fn(arg, b->module, kbtf_name(b, t->name_off)))
				return;
		}
	}
}
