// Where functions of Go may be probed. Go moves a goroutine's stack when it grows and reads every return address on it, so the kernel's return probes,
// which replace return addresses, crash such programs ("unexpected return pc"); and a function that finds its stack too small begins again at its first
// instruction, where a probe would count the call twice. In: the bytes of a function. Out: its return instructions; the place behind its check for room.
// Invariant: what cannot be followed to its end gives no place. Go's prologue: cmd/internal/obj/x86/obj6.go and arm64/obj7.go, stacksplit.
#include <fcntl.h>
#include <unistd.h>
#include "probe/internal.h"

#define MAX_FUNC (8u << 20)
#define PROLOGUE 16 // instructions that the check for room has at most

struct FuncCode {
	u8 *p; // owned
	u64 n;
};
const char func_endless[] = "it never returns";

static bool code_read(struct FuncCode *c, const char *path, u64 off, u64 size)
{
	*c = (struct FuncCode){0};
	int fd = size && size <= MAX_FUNC ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	c->p = xmalloc(size);
	c->n = size;
	bool ok = pread(fd, c->p, size, (off_t)off) == (ssize_t)size;
	close(fd);
	if (!ok)
		free(c->p);
	return ok;
}

// Targets are offsets in the function; len is 0 where no instruction is known.
static struct Insn insn_of(const struct FuncCode *c, u64 at)
{
	struct Insn in = {0};
	if (at < c->n)
		insn_decode(PT_HOST, c->p + at, c->n - at, at, &in);
	return in;
}

static bool leaves(const struct FuncCode *c, const struct Insn *in)
{
	return (in->branch == BRANCH_JUMP || in->branch == BRANCH_COND) && in->target >= c->n;
}

const char *func_returns(struct Arena *a, const char *path, u64 off, u64 size, OffList *out)
{
	struct FuncCode c;
	u64 indirect = 0;
	const char *why = NULL;
	if (!code_read(&c, path, off, size))
		return size ? "its code cannot be read" : "where it ends is not known";
	struct Insn in;
	for (u64 at = 0; !why && at < c.n; at += in.len) {
		in = insn_of(&c, at);
		if (!in.len)
			why = arena_printf(a, "the instruction at +%llu is not known", (unsigned long long)at);
		else if (leaves(&c, &in))
			why = arena_printf(a, "it leaves by a jump at +%llu, and what it jumps to returns", (unsigned long long)at);
		else if (in.branch == BRANCH_RET)
			vec_push(out, at);
		else if (in.branch == BRANCH_INDIRECT)
			indirect = at;
	}
	// Beside returns an indirect jump is that of a switch; a function that only jumps is a wrapper.
	if (!why && !out->n)
		why = indirect ? arena_printf(a, "it leaves by a jump at +%llu, and what it jumps to returns", (unsigned long long)indirect) : func_endless;
	free(c.p);
	return why;
}

// Is the code at `at` what a function does whose stack is too small: one call, then a jump to its beginning?
static bool is_again(const struct FuncCode *c, s64 at)
{
	u32 calls = 0;
	for (u32 i = 0; i < 64 && at > 0; i++) {
		struct Insn in = insn_of(c, (u64)at);
		calls += in.branch == BRANCH_CALL;
		if (in.branch == BRANCH_JUMP)
			return !in.target && calls == 1;
		if (!in.len || (in.branch != BRANCH_NONE && in.branch != BRANCH_CALL))
			return false;
		at += in.len;
	}
	return false;
}

u64 go_entry(const char *path, u64 off, u64 size)
{
	struct FuncCode c;
	u64 entry = 0;
	if (!code_read(&c, path, off, size))
		return 0;
	struct Insn in = insn_of(&c, 0);
	for (u64 at = 0, i = 0; i < PROLOGUE && in.len && (in.branch == BRANCH_NONE || in.branch == BRANCH_COND); i++) {
		at += in.len;
		if (in.branch == BRANCH_COND && is_again(&c, (s64)in.target))
			entry = at; // a frame of many KB is checked in two steps
		in = insn_of(&c, at);
	}
	free(c.p);
	return entry;
}
