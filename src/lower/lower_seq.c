// Texts that the kernel makes: printf() of a pinned iterator, for whoever reads the pinned file while no sonde runs (bpf_seq_printf), and debugf(), for
// the kernel's trace (bpf_trace_printk). In: a format that check_action.c found fit for the kernel's own formatting. Out: one helper call.
#include "lower/internal.h"

// "%-5d" -> "%-5lld": every number is passed as 64 bits. Its final NUL is counted by the kernel.
static const char *kernel_format(struct Lower *l, const struct FmtPiece *p, u32 n)
{
	struct Str s = {0};
	for (u32 i = 0; i < n; i++) {
		for (u32 k = 0; k < p[i].litlen; k++)
			str_addf(&s, p[i].lit[k] == '%' ? "%%%%" : "%c", p[i].lit[k]);
		switch (p[i].conv) {
		case 0: break;
		case 's': str_addf(&s, "%ss", p[i].spec); break;
		case 'p': str_addf(&s, "0x%sllx", p[i].spec); break;
		case 'i': str_addf(&s, "%slld", p[i].spec); break;
		default: str_addf(&s, "%sll%c", p[i].spec, p[i].conv);
		}
	}
	const char *text = arena_strdup(l->u->arena, str_text(&s));
	str_deinit(&s);
	return text;
}

// Address of the text of e in memory the kernel may read, ended by a NUL also when it is an array of char that has none.
static struct IrVal text_at(struct Lower *l, struct Expr *e)
{
	const struct Type *type = ty_as_text(l->u->types, e->type);
	struct Val t = tmp_mem(l, type, type->size + 1);
	lx_into(l, e, t.v, t.off, type, false);
	ir_store(&l->b, t.v, t.off + (s32)type->size, 1, ir_imm(0));
	return addr_of(l, t);
}

// The format, in memory of the program.
static struct Val format_at(struct Lower *l, const struct Expr *e, u32 *size)
{
	struct FmtPiece *pieces;
	u32 n = 0;
	fmt_parse(l->u->arena, e->args[0]->str, e->args[0]->len, &pieces, &n);
	const char *text = kernel_format(l, pieces, n);
	*size = (u32)strlen(text) + 1;
	struct Val fmt = tmp_mem(l, NULL, *size);
	store_lit_str(l, fmt.v, fmt.off, *size, text, *size - 1, false);
	return fmt;
}

static struct IrVal word_of(struct Lower *l, struct Expr *a)
{
	return is_text(a) || a->type->kind == TY_ARRAY ? text_at(l, a) : lx_int(l, a);
}

struct Val lower_seq_printf(struct Lower *l, struct Expr *e)
{
	u32 size, nargs = e->nargs - 1;
	struct Val fmt = format_at(l, e, &size), data = tmp_mem(l, NULL, MAX(nargs, 1u) * 8);
	for (u32 i = 0; i < nargs; i++)
		ir_store(&l->b, data.v, data.off + (s32)i * 8, 8, word_of(l, e->args[i + 1]));
	// struct bpf_iter_meta *meta is the first member of every context, struct seq_file *seq the first of that (include/linux/bpf.h)
	struct IrVal seq = ir_load(&l->b, ir_load(&l->b, ctx_ptr(l), 0, 8, false), 0, 8, false);
	struct IrVal args[5] = {seq, addr_of(l, fmt), ir_imm(size), nargs ? addr_of(l, data) : ir_imm(0), ir_imm(nargs * 8)};
	ir_call(&l->b, H_SEQ_PRINTF, args, 5);
	return nothing(e);
}

struct Val l_debugf(struct Lower *l, struct Expr *e)
{
	u32 size;
	struct Val fmt = format_at(l, e, &size);
	struct IrVal args[5] = {addr_of(l, fmt), ir_imm(size)};
	for (u32 i = 1; i < e->nargs && i <= DEBUGF_VALUES; i++)
		args[i + 1] = ir_mov(&l->b, word_of(l, e->args[i]));
	ir_call(&l->b, H_TRACE_PRINTK, args, e->nargs + 1);
	return nothing(e);
}
