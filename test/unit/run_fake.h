// Fakes for what run/ asks others for, so that its tests do not hang on this machine's kernel and processes: weak, so the linker keeps them
// in place of the library's.
#ifndef SONDE_RUN_FAKE_H
#define SONDE_RUN_FAKE_H
#include "run/run.h"
#include "bpfrt/abi.h"

#define WEAK __attribute__((weak))

// Stack N has frames of f1+1, f2+2, ... fN+N.
WEAK bool stacks_read(struct StackReader *r, struct Arena *a, u64 id, bool user, u32 limit, struct Value *out)
{
	u32 n = RT_STACK_NFRAMES(id);
	if (!n)
		return false;
	out->nframes = MIN(n, limit);
	out->frames = arena_new_n(a, struct Frame, n);
	for (u32 i = 0; i < n; i++)
		out->frames[i] = (struct Frame){.addr = 0x1000 + i, .sym = arena_printf(a, "%c%u", user ? 'u' : 'k', i + 1), .sym_off = i + 1, .kernel = !user};
	return true;
}
WEAK const u64 *stacks_raw(struct StackReader *r, u64 id, bool user, u32 *n, u32 *pid, u32 *flags, u32 *why)
{
	static const u64 frames[] = {0x1234, 0x5678};
	*n = 2;
	return frames;
}
WEAK const char *stacks_function(struct StackReader *r, u64 frame)
{
	return "function";
}
WEAK struct SymHit sym_kernel(struct Syms *s, u64 addr)
{
	return addr == 0x1000 ? (struct SymHit){.name = "do_thing", .off = 0} : (struct SymHit){0};
}
WEAK struct SymHit sym_pid_addr(struct Syms *s, int pid, u64 addr)
{
	return addr == 0x1000 ? (struct SymHit){.name = "main", .off = 0} : (struct SymHit){0};
}
WEAK struct SymObject *sym_object(struct Syms *s, u32 id)
{
	return NULL;
}

// A run context that renders into memory.
struct Fake {
	struct Arena arena;
	struct TypeTab types;
	struct Diags diags;
	struct Program prog;
	struct Render render;
	struct RunCtx rc;
	char *out, *err;
	size_t outlen, errlen;
};
__attribute__((unused)) static void fake_init(struct Fake *f, const struct RenderOps *ops)
{
	memset(f, 0, sizeof(*f));
	typetab_init(&f->types, &f->arena);
	f->prog.arena = &f->arena;
	f->prog.types = &f->types;
	f->prog.diags = &f->diags;
	f->prog.config.str_trunc_trailer = "..";
	f->prog.config.max_cat_bytes = 10240;
	f->prog.config.unsafe = true;
	f->render = (struct Render){.ops = ops, .mode = BUF_LINE, .out = open_memstream(&f->out, &f->outlen), .err = open_memstream(&f->err, &f->errlen)};
	f->rc = (struct RunCtx){.prog = &f->prog, .render = &f->render, .warnings = true};
}
__attribute__((unused)) static const char *fake_out(struct Fake *f)
{
	fflush(f->render.out);
	return f->out;
}
__attribute__((unused)) static const char *fake_err(struct Fake *f)
{
	fflush(f->render.err);
	return f->err;
}
__attribute__((unused)) static void fake_deinit(struct Fake *f)
{
	fclose(f->render.out);
	fclose(f->render.err);
	free(f->out);
	free(f->err);
	vec_deinit(&f->prog.fmts);
	vec_deinit(&f->prog.maps);
	vec_deinit(&f->prog.errsites);
	diags_deinit(&f->diags);
	typetab_deinit(&f->types);
	arena_deinit(&f->arena);
}
#endif
