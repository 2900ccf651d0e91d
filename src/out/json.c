// The JSON renderer: one object a line.
// In: reports. Out: {"type": T, "data": ...} lines on Render.out. Invariant: types, spacing and field names are bpftrace's; each line parses.
#include "out/report.h"

static void put(struct Render *r, struct Str *s)
{
	str_addc(s, '\n');
	fwrite(s->p, 1, s->n, r->out);
	if (r->mode == BUF_NONE || (r->mode == BUF_LINE && !r->batch))
		fflush(r->out);
	str_deinit(s);
}

static void json_message(struct Render *r, enum MsgKind kind, const char *text, size_t n)
{
	static const char *const types[] = {
		[MSG_PRINTF] = "printf", [MSG_TIME] = "time", [MSG_CAT] = "cat", [MSG_JOIN] = "join", [MSG_SYSTEM] = "syscall",
	};
	struct Str s = {0};
	str_addf(&s, "{\"type\": \"%s\", \"data\": ", types[kind]);
	str_add_json(&s, text, n);
	str_addc(&s, '}');
	put(r, &s);
}

// Keys are the text form without a tuple's parentheses and without any space.
static void add_key(const struct Value *key, struct Str *out)
{
	struct Str k = {0}, bare = {0};
	value_text(key, &k);
	size_t from = 0, to = k.n;
	if (k.n >= 2 && k.p[0] == '(' && k.p[k.n - 1] == ')')
		from++, to--;
	for (size_t i = from; i < to; i++)
		if (k.p[i] != ' ')
			str_addc(&bare, k.p[i]);
	str_add_json(out, str_text(&bare), bare.n);
	str_deinit(&k);
	str_deinit(&bare);
}

static const char *map_type(const struct MapReport *m)
{
	if (m->stats)
		return "stats";
	switch (m->n ? m->entries[0].val.kind : V_NONE) {
	case V_TSERIES:
		return "tseries";
	case V_HIST:
	case V_LHIST:
		return "hist";
	default:
		return "map";
	}
}

static void json_map(struct Render *r, const struct MapReport *m)
{
	if (!m->n && !m->stats)
		return;
	struct Str s = {0};
	str_addf(&s, "{\"type\": \"%s\", \"data\": {", map_type(m));
	str_add_json(&s, m->name, strlen(m->name));
	str_add(&s, !m->scalar ? ": {" : m->n ? ": " : ": {}"); // {}: what avg() and stats() have without a value, as bpftrace
	for (u32 i = 0; i < m->n; i++) {
		if (!m->scalar) {
			str_add(&s, i ? ", " : "");
			add_key(&m->entries[i].key, &s);
			str_add(&s, ": ");
		}
		value_json(&m->entries[i].val, &s);
		if (m->scalar)
			break;
	}
	str_add(&s, m->scalar ? "}}" : "}}}");
	put(r, &s);
}

static void json_value(struct Render *r, const struct Value *v)
{
	struct Str s = {0};
	str_add(&s, "{\"type\": \"value\", \"data\": ");
	value_json(v, &s);
	str_addc(&s, '}');
	put(r, &s);
}

static void json_count(struct Render *r, const char *type, const char *what, u64 n)
{
	struct Str s = {0};
	str_addf(&s, "{\"type\": \"%s\", \"count\": %llu, \"data\": {\"%s\": %llu}}", type, (unsigned long long)n, what, (unsigned long long)n);
	put(r, &s);
}

static void json_attached(struct Render *r, u64 nprobes)
{
	json_count(r, "attached_probes", "probes", nprobes);
}

static void json_lost(struct Render *r, u64 nevents)
{
	json_count(r, "lost_events", "events", nevents);
}

static void json_loss(struct Render *r, const char *what, u64 n, const char *text)
{
	struct Str s = {0};
	str_addf(&s, "{\"type\": \"%s\", \"count\": %llu, \"msg\": ", what, (unsigned long long)n);
	str_add_json(&s, text, strlen(text));
	str_addc(&s, '}');
	put(r, &s);
}

static void add_ends(struct Str *s, const char *name, const struct StackEnds *e, bool guess)
{
	const char *comma = "";
	str_addf(s, "\"%s\": [", name);
	for (u32 i = 0; i < e->n; i++) {
		const struct StackEnd *x = &e->rows[i];
		if (x->guess != guess)
			continue;
		str_addf(s, "%s{\"count\": %llu, \"pid\": %u, \"comm\": ", comma, (unsigned long long)x->count, x->pid);
		comma = ", ";
		str_add_json(s, x->comm, strlen(x->comm));
		str_add(s, ", \"reason\": ");
		str_add_json(s, x->reason, strlen(x->reason));
		if (x->frame.sym) {
			str_add(s, ", \"symbol\": ");
			str_add_json(s, x->frame.sym, strlen(x->frame.sym));
		}
		if (x->frame.module) {
			str_add(s, ", \"module\": ");
			str_add_json(s, x->frame.module, strlen(x->frame.module));
		}
		if (x->frame.module_addr || x->frame.addr)
			str_addf(s, ", \"%s\": \"0x%llx\"", x->frame.module_addr ? "module_address" : "address",
				 (unsigned long long)(x->frame.module_addr ? x->frame.module_addr : x->frame.addr));
		str_addc(s, '}');
	}
	str_addc(s, ']');
}

static void json_ends(struct Render *r, const struct StackEnds *e)
{
	struct Str s = {0};
	str_addf(&s, "{\"type\": \"user_stacks\", \"data\": {\"stacks\": %llu, \"whole\": %llu, \"guessed\": %llu, \"kernel_threads\": %llu, \"exiting\": %llu, \"running\": %llu, \"kernel\": %llu, \"kernel_whole\": %llu, ",
		 (unsigned long long)e->stacks, (unsigned long long)e->whole, (unsigned long long)e->guessed, (unsigned long long)e->kernel_threads,
		 (unsigned long long)e->exiting, (unsigned long long)e->running, (unsigned long long)e->kernel, (unsigned long long)e->kernel_whole);
	add_ends(&s, "incomplete", e, false);
	str_add(&s, ", ");
	add_ends(&s, "guesses", e, true);
	str_add(&s, "}}");
	put(r, &s);
}

static void json_error(struct Render *r, const struct RunError *e)
{
	static const char *const types[] = {
		[RUN_ERRORF] = "errorf", [RUN_WARNF] = "warnf", [RUN_HELPER] = "helper_error", [RUN_RUNTIME] = "runtime_error",
	};
	struct Str s = {0};
	str_addf(&s, "{\"type\": \"%s\", \"msg\": ", types[e->kind]);
	str_add_json(&s, e->text, strlen(e->text));
	if (e->kind == RUN_HELPER) {
		str_add(&s, ", \"helper\": ");
		str_add_json(&s, e->helper, strlen(e->helper));
		str_addf(&s, ", \"retcode\": %lld", (long long)e->retcode);
	}
	str_add(&s, ", \"filename\": ");
	str_add_json(&s, e->file ? e->file : "", e->file ? strlen(e->file) : 0);
	str_addf(&s, ", \"line\": %u, \"col\": %u}", e->line, e->col);
	put(r, &s);
}

static void json_bench(struct Render *r, const char *const *names, const u64 *nsecs, const u64 *iters, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct Str s = {0};
		str_add(&s, "{\"type\": \"benchmark_result\", \"data\": {");
		str_add_json(&s, names[i], strlen(names[i]));
		str_addf(&s, ": {\"average\": %llu, \"iters\": %llu}}}", (unsigned long long)nsecs[i], (unsigned long long)iters[i]);
		put(r, &s);
	}
}

static void json_end(struct Render *r)
{
}

static void json_flush(struct Render *r)
{
	fflush(r->out);
}

const struct RenderOps json_render_ops = {
	.message = json_message,
	.map = json_map,
	.value = json_value,
	.attached = json_attached,
	.lost = json_lost,
	.loss = json_loss,
	.ends = json_ends,
	.error = json_error,
	.bench = json_bench,
	.end = json_end,
	.flush = json_flush,
};
