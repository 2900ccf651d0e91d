// Texts that are there, at system calls: str() at a tracepoint cannot wait for a page that nothing has used yet. Where the kernel runs a program's callback as the thread returns
// to user space (task work), an action whose text is not in memory is put off until then: its record and its time are kept, the callback waits for the pages and runs it.
// In: a unit. Out: a test before its action, and two functions of its program: the action once more, on what was kept, and the callback.
// Invariant: an event's action runs once, whole, now or later. It is put off only if nobody can tell by the order of things: it reads what is the same later (arguments, their
// texts that the kernel does not write, who it is, its own time), adds up or prints, and no other probe of the script could come between.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "lower/internal.h"

#define PAGE 4096u
#define TEXTS_MAX 8u
#define WAITING_MAX 16384u // threads

// What is kept of an event: struct bpf_task_work, its time, its record, where its texts are.
enum { KEPT_NSECS = 8, KEPT_RECORD = 16 };

struct LateText {
	struct Expr *at;
	u32 n; // bytes that are read at most
};

struct Late {
	u32 ntexts, record; // bytes of the record
	struct LateText text[TEXTS_MAX];
	u32 map, action, callback; // ids
};

// ---- may it be put off?

static bool same_later(void *ok, struct Expr *e)
{
	switch (e->kind) {
	case E_INT: case E_BOOL: case E_STR: case E_VAR: case E_BINOP: case E_TERNARY: case E_TUPLE: case E_TUPFIELD: case E_CAST:
		return true;
	case E_UNOP:
		if (e->op < OP_PREINC && e->op != OP_DEREF)
			return true;
		break;
	case E_FIELD:
		if (e->a->builtin && e->a->builtin->id == BI_args && !e->a->nargs)
			return true;
		break;
	case E_IDENT: case E_CALL:
		switch (e->builtin ? e->builtin->id : BUILTINS) {
		case BI_nsecs:
			if (!e->nargs)
				return true;
			break;
		case BI_pid: case BI_tid: case BI_uid: case BI_gid: case BI_comm:
			if (!e->nargs)
				return true;
			break;
		case BI_args: case BI_elapsed: case BI_str: case BI_buf: case BI_printf: case BI_print: case BI_count: case BI_sum: case BI_min: case BI_max: case BI_avg:
		case BI_stats: case BI_hist: case BI_lhist: case BI_quantiles: case BI_strftime: case BI_strcontains: case BI_strncmp:
			return true;
		default:
			break;
		}
		break;
	default:
		break;
	}
	*(bool *)ok = false;
	return false;
}

static bool expr_same(struct Expr *e)
{
	bool ok = true;
	walk_expr(e, same_later, &ok);
	return ok;
}

static bool stmts_same(struct Stmt *s);

static bool stmt_same(struct Stmt *s)
{
	switch (s->kind) {
	case S_EXPR: case S_RETURN:
		return !s->e || expr_same(s->e);
	case S_ASSIGN: case S_LET: {
		bool aggr = s->e && s->e->kind == E_CALL && s->e->builtin && s->e->builtin->flags & BF_AGGR;
		if (s->lhs && s->lhs->kind != E_VAR && (s->op != OP_NONE || !aggr))
			return false;
		return (!s->lhs || !s->lhs->a || expr_same(s->lhs->a)) && (!s->e || expr_same(s->e));
	}
	case S_IF:
		return expr_same(s->e) && stmts_same(s->body) && stmts_same(s->els);
	case S_BLOCK:
		return stmts_same(s->body);
	default:
		return false;
	}
}

static bool stmts_same(struct Stmt *s)
{
	for (; s; s = s->next)
		if (!stmt_same(s))
			return false;
	return true;
}

// A system call whose own work makes neither another program of the thread nor its name.
static bool is_enter(const struct ProbeUnit *pu)
{
	for (size_t i = 0; i < pu->points.v.n; i++) {
		const struct Point *p = pu->points.v.p[i];
		if (p->kind != PK_TRACEPOINT || !p->target || strcmp(p->target, "syscalls") || !p->event || strncmp(p->event, "sys_enter_", 10) ||
		    strstr(p->event, "exec") || strstr(p->event, "write"))
			return false;
	}
	return pu->points.v.n > 0;
}

static bool nothing_between(const struct Lower *l)
{
	for (size_t i = 0; i < l->u->probes.n; i++) {
		const struct ProbeUnit *pu = l->u->probes.p[i];
		enum ProbeKind k = pu->point->kind;
		if (k != PK_BEGIN && k != PK_END && k != PK_INTERVAL && k != PK_SELF && !is_enter(pu))
			return false;
	}
	return true;
}

// ---- its texts

static struct Expr *kept_text(struct Expr *e)
{
	while (e->kind == E_CAST)
		e = e->a;
	return e->kind == E_FIELD && e->field.kept_text ? e : NULL;
}

static void add_text(struct Late *t, struct Expr *at, u32 n)
{
	if (at && n && t->ntexts < TEXTS_MAX)
		t->text[t->ntexts++] = (struct LateText){at, n};
}

static bool reads_text(const struct Expr *e)
{
	return e->kind == E_CALL && e->builtin && (e->builtin->id == BI_str || e->builtin->id == BI_buf);
}

static bool find_text(void *arg, struct Expr *e)
{
	u32 n = e->type ? e->type->size : 0;
	if (!reads_text(e))
		return true;
	if (e->nargs == 2 && e->args[1]->kind == E_INT)
		n = (u32)MIN(e->args[1]->ival, (u64)n);
	add_text(arg, kept_text(e->args[0]), n);
	return true;
}

// How many bytes are read at most behind a variable.
static bool find_longest(void *arg, struct Expr *e)
{
	u32 *n = arg;
	if (reads_text(e) && e->args[0]->kind == E_VAR)
		*n = MAX(*n, e->type->size);
	return true;
}

static void walk_stmts(struct Stmt *s, bool (*fn)(void *, struct Expr *), void *arg)
{
	for (; s; s = s->next) {
		walk_expr(s->lhs, fn, arg);
		walk_expr(s->e, fn, arg);
		if (s->kind == S_BLOCK || s->kind == S_IF)
			walk_stmts(s->body, fn, arg);
		if (s->kind == S_IF)
			walk_stmts(s->els, fn, arg);
	}
}

static void find_kept(struct Late *t, struct Stmt *s, u32 longest)
{
	for (; s; s = s->next) {
		if ((s->kind == S_ASSIGN || s->kind == S_LET) && s->e)
			add_text(t, kept_text(s->e), longest);
		if (s->kind == S_BLOCK || s->kind == S_IF)
			find_kept(t, s->body, longest);
		if (s->kind == S_IF)
			find_kept(t, s->els, longest);
	}
}

// All that may be read: whether it will be is not known before.
static void find_texts(struct Late *t, struct ProbeAst *ast)
{
	u32 longest = 0;
	walk_stmts(ast->body, find_longest, &longest);
	if (ast->pred)
		walk_expr(ast->pred, find_text, t);
	walk_stmts(ast->body, find_text, t);
	find_kept(t, ast->body, longest);
}

struct Late *late_plan(struct Lower *l)
{
	struct ProbeUnit *pu = l->pu;
	struct Late t = {0};
	const struct Record *args = pu->point->args;
	if (!is_enter(pu) || pu->nfns || !args)
		return NULL;
	find_texts(&t, pu->ast);
	if (!t.ntexts || (pu->ast->pred && !is_plain(pu->ast->pred) && !expr_same(pu->ast->pred)) || !stmts_same(pu->ast->body) || !nothing_between(l) ||
	    !l->o->task_work || !l->o->task_work())
		return NULL;
	for (u32 i = 0; i < args->nfields; i++)
		t.record = MAX(t.record, args->fields[i].off + args->fields[i].type->size);
	t.record = ALIGN_UP(t.record, 8u);
	struct Late *late = arena_new(l->u->arena, struct Late);
	*late = t;
	late->map = work_map(l, arena_printf(l->u->arena, "sonde_late%zu", l->prog->progs.n), KEPT_RECORD + t.record + 8 * t.ntexts, WAITING_MAX);
	return late;
}

// ---- now

// To `missing` if a byte of a text's first page is not there, or of its last.
static void try_text(struct Lower *l, const struct LateText *t, IrBlk missing)
{
	struct TmpMark m = tmp_mark(l);
	struct IrVal at = ir_mov(&l->b, lx_int(l, t->at)), byte = tmp_slot(l, 8);
	IrBlk some = ir_new_block(&l->b, "some_text"), there = ir_new_block(&l->b, "first_page"), over = ir_new_block(&l->b, "last_page"), end = ir_new_block(&l->b, "text_is_there");
	ir_br(&l->b, IC_UGE, at, ir_imm(NOWHERE), some, end);
	ir_set_block(&l->b, some);
	ir_br(&l->b, IC_SLT, call3(l, H_READ_USER, byte, ir_imm(1), at), ir_imm(0), missing, there);
	ir_set_block(&l->b, there);
	ir_br(&l->b, IC_UGT, ir_bin(&l->b, IR_AND, at, ir_imm(PAGE - 1)), ir_imm((s64)PAGE - MIN(t->n, PAGE)), over, end);
	ir_set_block(&l->b, over);
	ir_br(&l->b, IC_SLT, call3(l, H_READ_USER, byte, ir_imm(1), ir_bin(&l->b, IR_ADD, at, ir_imm(t->n - 1))), ir_imm(0), missing, end);
	ir_set_block(&l->b, end);
	tmp_release(l, m);
}

// Keeps the event. Goes on in `now` where that cannot be.
static void put_off(struct Lower *l, const struct Late *t, IrBlk now)
{
	struct TmpMark m = tmp_mark(l);
	struct IrVal key = tmp_slot(l, 8);
	ir_store(&l->b, key, 0, 8, call0(l, H_PID_TGID));
	struct IrVal e = work_keep(l, t->map, key, now);
	ir_store(&l->b, e, KEPT_NSECS, 8, boot_ns(l));
	for (u32 off = 8; off < t->record; off += 8) // programs may not read the first word
		ir_store(&l->b, e, (s32)(KEPT_RECORD + off), 8, ir_load(&l->b, ctx_ptr(l), (s32)off, 8, false));
	for (u32 i = 0; i < t->ntexts; i++)
		ir_store(&l->b, e, (s32)(KEPT_RECORD + t->record + 8 * i), 8, lx_int(l, t->text[i].at));
	work_ask(l, t->map, key, e, t->callback, now);
	count_loss(l, offsetof(struct RtCounters, put_off));
	lower_return(l, ir_imm(0));
	tmp_release(l, m);
}

void late_test(struct Lower *l, struct Late *t)
{
	IrBlk missing = ir_new_block(&l->b, "not_there"), now = ir_new_block(&l->b, "now");
	t->action = ir_new_func(&l->pp->ir, "late_action", 1);
	t->callback = ir_new_func(&l->pp->ir, "late", 3);
	for (u32 i = 0; i < t->ntexts; i++)
		try_text(l, &t->text[i], missing);
	ir_jmp(&l->b, now);
	ir_set_block(&l->b, missing);
	put_off(l, t, now);
	ir_jmp(&l->b, now); // (the dead block behind a return)
	ir_set_block(&l->b, now);
}

// ---- later

static void wait_for_text(struct Lower *l, const struct Late *t, u32 i, struct IrVal e)
{
	struct IrVal at = ir_mov(&l->b, ir_load(&l->b, e, (s32)(KEPT_RECORD + t->record + 8 * i), 8, false)), byte = tmp_slot(l, 8);
	call3(l, H_COPY_FROM_USER, byte, ir_imm(1), at);
	for (u32 off = PAGE; off < MIN(t->text[i].n, PAGE * 16); off += PAGE)
		call3(l, H_COPY_FROM_USER, byte, ir_imm(1), ir_bin(&l->b, IR_ADD, at, ir_imm(off)));
	call3(l, H_COPY_FROM_USER, byte, ir_imm(1), ir_bin(&l->b, IR_ADD, at, ir_imm(MIN(t->text[i].n, PAGE * 16) - 1)));
}

// Others run on this processor while the callback waits, and programs share scratch by processor: the action itself is not interrupted by them.
void late_callback(struct Lower *l, const struct Late *t)
{
	ir_enter(&l->b, t->callback, 0);
	struct IrVal e = ir_mov(&l->b, ir_param(&l->b, 2)), key = tmp_slot(l, 8);
	ir_store(&l->b, key, 0, 8, ir_load(&l->b, ir_param(&l->b, 1), 0, 8, false));
	for (u32 i = 0; i < t->ntexts; i++)
		wait_for_text(l, t, i, e);
	ir_call_kfunc(&l->b, "bpf_preempt_disable", NULL, 0);
	struct IrVal record = ir_bin(&l->b, IR_ADD, e, ir_imm(KEPT_RECORD));
	ir_call_fn(&l->b, t->action, &record, 1);
	rt_call(l, "rt_count_told", 1, ir_imm(offsetof(struct RtCounters, put_off)), ir_imm(0), ir_imm(0), ir_imm(0), ir_imm(0));
	ir_call_kfunc(&l->b, "bpf_preempt_enable", NULL, 0);
	call2(l, H_MAP_DELETE, ir_mapfd(t->map), key);
	ir_ret(&l->b, ir_imm(0));
}

u32 late_function(const struct Late *t)
{
	return t->action;
}

struct IrVal late_nsecs(struct Lower *l)
{
	return ir_load(&l->b, l->late_record, KEPT_NSECS - KEPT_RECORD, 8, false);
}
