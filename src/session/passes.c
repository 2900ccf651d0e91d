// The list of the passes (base/passes.def): runs them in order and prints what those that -d names have made. In: s, initialised. Out: programs in the
// kernel. Invariant: a pass that left an error in s->diags is the last one (but parse: what expand finds is told with it).
#include "session/internal.h"

typedef struct err *(*PassRun)(struct Session *s);
typedef void (*PassShow)(struct Session *s, const struct ProbeProg *pp, struct Str *out);

// ---- what a pass made, as text. Those with a program are called once for each.
static void show_parse(struct Session *s, const struct ProbeProg *pp, struct Str *out)
{
	ast_dump(s->script, out);
}
#define show_expand show_parse
#define show_check show_parse

static void show_config(struct Session *s, const struct ProbeProg *pp, struct Str *out)
{
	config_dump(&s->unit, out);
}

static void show_points(struct Session *s, const struct ProbeProg *pp, struct Str *out)
{
	u32 i = 0;
	for (const struct ProbeAst *p = s->script->probes; p; p = p->next, i++) {
		str_add(out, "probe");
		for (const struct AttachSpec *a = p->points; a; a = a->next)
			str_addf(out, "%s %s", a == p->points ? "" : ",", a->text);
		str_addc(out, '\n');
		for (size_t k = 0; k < s->lists[i].v.n; k++)
			str_addf(out, "\t%s%s\n", s->lists[i].v.p[k]->name, s->lists[i].v.p[k]->absent ? " (not here)" : "");
	}
}

static void show_resolve(struct Session *s, const struct ProbeProg *pp, struct Str *out)
{
	static const char *const ctx[] = {[CTX_NONE] = "nothing", [CTX_PT_REGS] = "pt_regs", [CTX_PERF] = "perf event", [CTX_TRACEPOINT] = "tracepoint",
					  [CTX_RAW] = "arguments", [CTX_ITER] = "iterator"};
	for (size_t i = 0; i < s->unit.probes.n; i++) {
		const struct ProbeUnit *u = s->unit.probes.p[i];
		str_addf(out, "unit %s (places: %zu), context: %s\n", u->point->name, u->points.v.n, ctx[u->point->ctx]);
		for (size_t k = 0; k < u->vars.n; k++)
			str_addf(out, "\t$%s%s\n", u->vars.p[k]->name, u->vars.p[k]->captured ? " (shared with a loop's function)" : "");
	}
	for (size_t i = 0; i < s->unit.maps.n; i++)
		str_addf(out, "map %s\n", s->unit.maps.p[i]->name);
}

static void show_lower(struct Session *s, const struct ProbeProg *pp, struct Str *out)
{
	ir_dump(&pp->ir, out);
}
#define show_opt show_lower

static void show_emit(struct Session *s, const struct ProbeProg *pp, struct Str *out)
{
	code_disasm(&pp->code, &pp->ir, out);
}
#define show_join show_emit

static void show_link(struct Session *s, const struct ProbeProg *pp, struct Str *out)
{
	bpf_disasm(pp->code.insns.p, (u32)pp->code.insns.n, out);
}

static void show_maps(struct Session *s, const struct ProbeProg *pp, struct Str *out)
{
	for (size_t i = 0; i < s->prog.maps.n; i++) {
		const struct MapDef *m = s->prog.maps.p[i];
		str_addf(out, "map %u %s: type %u key %u value %u max %u flags %#x", m->id, m->name, m->bpf_type, m->key_size, m->value_size,
			 m->max_entries, m->flags);
		if (m->user) {
			str_add(out, "  [");
			if (m->key)
				ty_name(m->key, out);
			str_add(out, "] -> ");
			if (m->val)
				ty_name(m->val, out);
		}
		str_addc(out, '\n');
	}
}
#define show_load NULL // the kernel's log is printed while loading


// ---- the list
enum PassKind { OF_SCRIPT, PART };
static const struct Pass {
	const char *name, *also, *makes;
	enum PassKind kind;
	PassRun run; // NULL: a part, which the pass before it runs
	PassShow show;
} passes[] = {
#define SCRIPT_PASS(name, also, makes) {#name, also, makes, OF_SCRIPT, pass_##name, show_##name},
#define OPT_PASS(name, function, again, makes) {#name, "", makes, PART},
#define CODE_PASS(name, function, makes) {#name, "", makes, PART},
#include "base/passes.def"
};
static_assert(ARRAY_LEN(passes) <= 32, "Options.dump has a bit for each");

static bool has_word(const char *words, const char *w, size_t n)
{
	for (; *words; words += strcspn(words, " "), words += *words == ' ')
		if (strcspn(words, " ") == n && !strncmp(words, w, n))
			return true;
	return false;
}

u32 passes_named(const char *name, size_t n)
{
	u32 bits = 0;
	if (n == 3 && !strncmp(name, "all", n))
		return passes_named("ast", 3) | passes_named("ir", 2) | passes_named("bpf", 3) | passes_named("maps", 4);
	for (size_t i = 0; i < ARRAY_LEN(passes); i++)
		if (has_word(passes[i].name, name, n) || has_word(passes[i].also, name, n))
			bits |= 1u << i;
	return bits;
}

bool pass_wanted(const struct Options *o, const char *name)
{
	return o->dump & passes_named(name, strlen(name));
}

void passes_list(FILE *f)
{
	fprintf(f, "Passes, in order, and what -d prints of each:\n");
	for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
		const struct Pass *p = &passes[i];
		char names[64];
		int n = snprintf(names, sizeof(names), "%s", p->name);
		for (const char *w = p->also; *w; w += strcspn(w, " "), w += *w == ' ')
			n += snprintf(names + n, sizeof(names) - (size_t)n, ", %.*s", (int)strcspn(w, " "), w);
		if (*p->makes)
			fprintf(f, "  %s%-*s  %s\n", p->kind == PART ? "  " : "", p->kind == PART ? 22 : 24, names, p->makes);
	}
	fprintf(f, "  %-24s  %s\n", "all", "ast, ir, bpf and maps");
}

static void put_shown(struct Session *s, const struct Str *t)
{
	outfile_begin(&s->output);
	fputs(str_text(t), s->out);
}

static void show(struct Session *s, const struct Pass *p)
{
	struct Str t = {0};
	bool each = p->show == show_lower || p->show == show_emit || p->show == show_link;
	for (size_t i = 0; each && i < s->prog.progs.n; i++) {
		str_addf(&t, "; %s%s: %s\n", s->prog.progs.p[i]->points.v.p[0]->name, s->prog.progs.p[i]->touch ? " (beforehand)" : "", p->name);
		p->show(s, s->prog.progs.p[i], &t);
		str_addc(&t, '\n');
	}
	if (!each)
		p->show(s, NULL, &t);
	put_shown(s, &t);
	str_deinit(&t);
}

// A part of opt or emit has gone over a function.
static void made(void *arg, const struct IrProg *ir, u32 fn, const char *pass, u32 round, const struct Code *c)
{
	struct Session *s = arg;
	struct Str t = {0};
	if (!pass_wanted(s->o, pass))
		return;
	for (size_t i = 0; i < s->prog.progs.n; i++)
		if (&s->prog.progs.p[i]->ir == ir)
			str_addf(&t, "; %s: %s", s->prog.progs.p[i]->points.v.p[0]->name, pass);
	if (round)
		str_addf(&t, ", round %u", round);
	str_addc(&t, '\n');
	if (!strcmp(pass, "encode"))
		code_disasm(c, ir, &t);
	else
		ir_dump_func(&ir->funcs.p[fn], &t);
	str_addc(&t, '\n');
	put_shown(s, &t);
	str_deinit(&t);
}

// Does -d want to see a part of opt or emit?
static bool watches(const struct Options *o)
{
	for (size_t i = 0; i < ARRAY_LEN(passes); i++)
		if (o->dump >> i & 1 && passes[i].kind == PART)
			return true;
	return false;
}

// After a pass: what it made, and what it has to say. True: the script is wrong.
static bool after(struct Session *s, const struct Pass *p)
{
	bool bad = s->diags.nerrors != 0;
	bool typing = p->run == pass_config || p->run == pass_points || p->run == pass_resolve || p->run == pass_check;
	if (bad ? typing && pass_wanted(s->o, "check") : p->show && s->o->dump >> (p - passes) & 1)
		show(s, bad ? &passes[0] : p); // the tree helps, too, where it could not be given types
	bool last = p->run == pass_expand || p->run == pass_check || p->run == pass_maps; // warnings come when it is known that there are no errors
	return ((bad && p->run != pass_parse) || last) && session_show_diags(s);
}

int passes_run(struct Session *s)
{
	const struct Options *o = s->o;
	if (watches(o))
		s->watch = (struct IrWatch){made, s};
	for (const struct Pass *p = passes; p < passes + ARRAY_LEN(passes); p++) {
		if (!p->run)
			continue;
		if (p->run == pass_load && o->dump && !pass_wanted(o, "load") && !o->as_bpftrace) // bpftrace goes on
			return 0;
		struct err *e = p->run(s);
		if (e)
			return session_fail(e) && (p->run == pass_load || p->run == pass_check) && o->as_bpftrace ? REFUSED : 1;
		if (after(s, p))
			return 1;
	}
	return -1;
}
