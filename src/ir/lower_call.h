// The lower column of builtins.def: each makes the IR of its call and returns the value. lower_ctx.c: task, clock, event; lower_text.c: text and
// bytes; lower_addr.c: symbols, addresses, numbers; lower_action.c: maps and actions. *_into: the result goes to base + off.
#ifndef SONDE_LOWER_CALL_H
#define SONDE_LOWER_CALL_H
#include "ir/lower.h"

#define B(name, min, max, flags, check, lower, sig, help) struct Val lower(struct Lower *l, struct Expr *e);
struct Val l_none(struct Lower *l, struct Expr *e);
#include "lang/builtins.def"
#undef B

static inline struct Val num(struct Expr *e, struct IrVal v)
{
	return val_scalar(e->type, v);
}

static inline struct Val nothing(struct Expr *e)
{
	return (struct Val){.type = e->type};
}

struct Val lower_seq_printf(struct Lower *l, struct Expr *e); // lower_seq.c
struct IrVal boot_ns(struct Lower *l); // CLOCK_BOOTTIME
struct Val into_tmp(struct Lower *l, struct Expr *e); // call_into a temporary
enum AddrSpace arg_as(struct Lower *l, const struct Expr *a); // of a pointer or number used as an address
void concat_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size);
void comm_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size, bool pad);
void str_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size, bool pad);
void buf_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 max);
void inet_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off);
struct IrVal probe_ip(struct Lower *l); // instruction pointer of the probed place
#endif
