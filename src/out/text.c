// The text renderer.
// In: reports. Out: lines on Render.out; messages about the run itself on Render.err. Invariant: the bytes are bpftrace's.
#include "out/report.h"
#include <errno.h>

static FILE *err_file(struct Render *r)
{
	return r->err ? r->err : stderr;
}

static void put(struct Render *r, const char *s, size_t n)
{
	if (n)
		fwrite(s, 1, n, r->out);
	if (r->mode == BUF_NONE || (r->mode == BUF_LINE && !r->batch))
		fflush(r->out);
}

static void put_err(struct Render *r, const struct Str *s)
{
	fflush(r->out); // keeps the order on a terminal
	fwrite(str_text(s), 1, s->n, err_file(r));
	fflush(err_file(r));
}

static void add_value(struct Render *r, const struct Value *v, struct Str *out)
{
	if (r->escape)
		value_text_escaped(v, out);
	else
		value_text(v, out);
}

static void text_message(struct Render *r, enum MsgKind kind, const char *text, size_t n)
{
	if (kind != MSG_JOIN && kind != MSG_SYSTEM) {
		put(r, text, n);
		return;
	}
	struct Str s = {0};
	str_addn(&s, text, n);
	str_addc(&s, '\n');
	put(r, s.p, s.n);
	str_deinit(&s);
}

// A tuple loses its parentheses as a key (and so does, in bpftrace, any text in parentheses).
static void add_key(struct Render *r, const struct Value *key, struct Str *out)
{
	struct Str k = {0};
	add_value(r, key, &k);
	if (k.n >= 2 && k.p[0] == '(' && k.p[k.n - 1] == ')')
		str_addn(out, k.p + 1, k.n - 2);
	else
		str_addn(out, str_text(&k), k.n);
	str_deinit(&k);
}

static bool is_block(const struct Value *v) // takes lines of its own
{
	return v->kind == V_HIST || v->kind == V_LHIST || v->kind == V_TSERIES;
}

static void text_map(struct Render *r, const struct MapReport *m)
{
	struct Str s = {0};
	for (u32 i = 0; i < m->n; i++) {
		const struct MapEntry *e = &m->entries[i];
		bool block = is_block(&e->val);
		str_add(&s, m->name);
		if (!m->scalar) {
			str_addc(&s, '[');
			add_key(r, &e->key, &s);
			str_addc(&s, ']');
		}
		str_add(&s, block ? ":\n" : ": ");
		add_value(r, &e->val, &s);
		str_addc(&s, '\n');
		if (s.n > 1 << 16) {
			put(r, s.p, s.n);
			str_reset(&s);
		}
	}
	put(r, str_text(&s), s.n);
	str_deinit(&s);
}

static void text_value(struct Render *r, const struct Value *v)
{
	struct Str s = {0};
	add_value(r, v, &s);
	str_addc(&s, '\n');
	put(r, s.p, s.n);
	str_deinit(&s);
}

static void text_attached(struct Render *r, u64 nprobes)
{
	struct Str s = {0};
	str_addf(&s, "Attached %llu probe%s\n", (unsigned long long)nprobes, nprobes == 1 ? "" : "s");
	put_err(r, &s);
	str_deinit(&s);
}

static void text_lost(struct Render *r, u64 nevents)
{
	struct Str s = {0};
	str_addf(&s, "Lost %llu events\n", (unsigned long long)nevents);
	put_err(r, &s);
	str_deinit(&s);
}

static void text_loss(struct Render *r, const char *what, u64 n, const char *text)
{
	struct Str s = {0};
	str_addf(&s, "%sWARNING: %s%s\n", diag_color(DIAG_WARNING), text, diag_uncolor());
	put_err(r, &s);
	str_deinit(&s);
}

static void add_escaped(const char *s, struct Str *out)
{
	str_add_escaped(out, s, strlen(s), false);
}

#define ENDS_SHOWN 40
static void text_ends(struct Render *r, const struct StackEnds *e)
{
	struct Str s = {0};
	if (e->stacks || e->kernel_threads || e->exiting || e->running || !e->kernel)
		str_addf(&s, "%llu user stacks, %llu whole (%.2f %%)", (unsigned long long)e->stacks, (unsigned long long)e->whole,
		 e->stacks ? 100.0 * (double)e->whole / (double)e->stacks : 100.0);
	if (e->guessed)
		str_addf(&s, ", %llu whole by guess (%.2f %%)", (unsigned long long)e->guessed, 100.0 * (double)e->guessed / (double)e->stacks);
	if (e->kernel_threads || e->exiting)
		str_addf(&s, "; %llu events in kernel threads and %llu in exiting processes, which have none", (unsigned long long)e->kernel_threads,
			 (unsigned long long)e->exiting);
	if (e->running)
		str_addf(&s, "; %llu running threads in iterators, which have none", (unsigned long long)e->running);
	if (e->kernel)
		str_addf(&s, "%s%llu different kernel stacks, %llu whole", s.n ? "; " : "", (unsigned long long)e->kernel, (unsigned long long)e->kernel_whole);
	str_add(&s, e->n ? "\n     COUNT      PID COMM             LAST FRAME AND REASON\n" : "\n");
	u32 shown = e->n > ENDS_SHOWN + 1 ? ENDS_SHOWN : e->n; // by count: the rest is a long tail
	for (u32 i = 0; i < shown; i++) {
		const struct StackEnd *x = &e->rows[i];
		struct Str comm = {0};
		add_escaped(x->comm, &comm);
		str_addf(&s, "%10llu %8u %-16s ", (unsigned long long)x->count, x->pid, str_text(&comm));
		str_deinit(&comm);
		if (x->frame.sym) {
			add_escaped(x->frame.sym, &s);
			str_addf(&s, "+0x%llx ", (unsigned long long)x->frame.sym_off);
		}
		const char *base = x->frame.module ? strrchr(x->frame.module, '/') : NULL;
		base = base && base[1] ? base + 1 : x->frame.module ? x->frame.module : x->frame.kernel ? "kernel" : "no file";
		str_addc(&s, '[');
		add_escaped(base, &s);
		u64 at = x->frame.module_addr ? x->frame.module_addr : x->frame.addr;
		if (at)
			str_addf(&s, "+0x%llx", (unsigned long long)at);
		str_addf(&s, "]: %s\n", x->reason);
	}
	u64 rest = 0;
	for (u32 i = shown; i < e->n; i++)
		rest += e->rows[i].count;
	if (rest)
		str_addf(&s, "%10llu in %u other places\n", (unsigned long long)rest, e->n - shown);
	put_err(r, &s);
	str_deinit(&s);
}

// What a failed map helper means to the writer of the script; else the error's own text.
static const char *helper_text(const struct RunError *e)
{
	if (!strcmp(e->helper, "map_update_elem") && e->retcode == -E2BIG)
		return "Map full; can't update element. Try increasing max_map_keys config or manually setting the max entries in a map declaration "
		       "e.g. `let @a = hash(5000)`";
	if (!strcmp(e->helper, "map_delete_elem") && e->retcode == -ENOENT)
		return "Can't delete map element because it does not exist.";
	if (!strcmp(e->helper, "map_lookup_elem"))
		return "Can't lookup map element because it does not exist.";
	return e->text;
}

static void text_error(struct Render *r, const struct RunError *e)
{
	struct Str s = {0};
	const char *text = e->kind == RUN_HELPER ? helper_text(e) : e->text;
	size_t n = strlen(text);
	if (n && text[n - 1] == '\n')
		n--;
	str_add(&s, diag_color(e->kind == RUN_ERRORF ? DIAG_ERROR : DIAG_WARNING));
	if (e->where)
		str_addf(&s, "%s: ", e->where);
	str_add(&s, e->kind == RUN_ERRORF ? "ERROR: " : "WARNING: ");
	str_addn(&s, text, n);
	str_add(&s, diag_uncolor());
	if (e->kind == RUN_HELPER)
		str_addf(&s, "\nAdditional Info - helper: %s, retcode: %lld", e->helper, (long long)e->retcode);
	str_addc(&s, '\n');
	if (e->context && (e->kind == RUN_HELPER || e->kind == RUN_RUNTIME))
		str_add(&s, e->context);
	if (e->calls)
		str_add(&s, e->calls);
	put_err(r, &s);
	str_deinit(&s);
}

static void text_bench(struct Render *r, const char *const *names, const u64 *nsecs, const u64 *iters, u32 n)
{
	int width = 40;
	for (u32 i = 0; i < n; i++)
		width = MAX(width, (int)strlen(names[i]));
	struct Str s = {0};
	if (n) {
		str_addf(&s, "%-*s%-15s%s\n", width + 1, "Benchmark", "Time(ns)", "Iterations");
		for (int i = 0; i < width + 1 + 15 + 10; i++)
			str_addc(&s, '-');
		str_addc(&s, '\n');
	}
	for (u32 i = 0; i < n; i++)
		str_addf(&s, "%-*s%-15llu%llu\n", width + 1, names[i], (unsigned long long)nsecs[i], (unsigned long long)iters[i]);
	put(r, str_text(&s), s.n);
	str_deinit(&s);
}

static void text_end(struct Render *r)
{
	put(r, "\n\n", 2);
}

static void text_flush(struct Render *r)
{
	fflush(r->out);
}

const struct RenderOps text_render_ops = {
	.message = text_message,
	.map = text_map,
	.value = text_value,
	.attached = text_attached,
	.lost = text_lost,
	.loss = text_loss,
	.ends = text_ends,
	.error = text_error,
	.bench = text_bench,
	.end = text_end,
	.flush = text_flush,
};
