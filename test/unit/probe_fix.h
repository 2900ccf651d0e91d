// What the tests of probe/ share: a fixture, attach points from text, functions and a USDT probe to trace in this very program.
#ifndef PROBE_FIX_H
#define PROBE_FIX_H
#include "probe/internal.h"
#include "t.h"

// ---- a process-wide fixture, made new for each case
struct Fix {
	struct Arena arena;
	struct Diags diags;
	struct TypeTab types;
	struct Config config;
	struct ProbeEnv env;
	struct PointList points;
};

static void fix_init(struct Fix *f)
{
	struct SymOpts so = {0};
	memset(f, 0, sizeof(*f));
	f->config.max_probes = 1024;
	typetab_init(&f->types, &f->arena);
	f->env = (struct ProbeEnv){.arena = &f->arena, .diags = &f->diags, .config = &f->config};
	f->env.ctypes = ctypes_create(&f->arena, &f->types, &f->diags);
	f->env.syms = syms_create(&so);
}

static void fix_deinit(struct Fix *f)
{
	vec_deinit(&f->points.v);
	probe_env_deinit(&f->env);
	syms_destroy(f->env.syms);
	ctypes_destroy(f->env.ctypes);
	typetab_deinit(&f->types);
	diags_deinit(&f->diags);
	arena_deinit(&f->arena);
}

// One attach point as the parser hands it over: parts split at ':' outside quotes.
static struct AttachSpec *spec(struct Fix *f, const char *text)
{
	struct AttachSpec *s = arena_new(&f->arena, struct AttachSpec);
	struct Str part = {0}, whole = {0};
	bool quoted = false;
	s->span = (struct Span){0, (u32)strlen(text), diags_add_source(&f->diags, "stdin", text, strlen(text))};
	s->parts = arena_new_n(&f->arena, const char *, 16);
	for (const char *c = text;; c++) {
		if (!*c || (*c == ':' && !quoted)) {
			s->parts[s->nparts++] = arena_strdup(&f->arena, str_text(&part));
			str_reset(&part);
		} else if (*c == '"')
			quoted = !quoted;
		else
			str_addc(&part, *c);
		if (!*c)
			break;
		if (*c != '"')
			str_addc(&whole, *c);
	}
	s->text = arena_strdup(&f->arena, str_text(&whole));
	str_deinit(&part);
	str_deinit(&whole);
	return s;
}

static size_t expand_using(struct Fix *f, const char *text, const char *ident)
{
	struct Expr e = {.kind = E_IDENT, .str = ident};
	struct Stmt st = {.kind = S_EXPR, .e = &e};
	struct ProbeAst p = {.points = spec(f, text), .body = &st};
	struct Script s = {.arena = &f->arena, .diags = &f->diags, .probes = &p};
	p.span = p.points->span;
	f->points.v.n = 0;
	probes_expand(&f->env, &s, &f->points);
	return f->points.v.n;
}

static size_t expand(struct Fix *f, const char *text)
{
	return expand_using(f, text, "pid");
}

// Everything the diagnostics say about one attach point, a line each, without the quoted source.
__attribute__((unused)) static char *complaint(const char *text, int pid, bool unsafe)
{
	struct Fix f;
	struct Str s = {0};
	fix_init(&f);
	f.env.pid = pid;
	f.config.unsafe = unsafe;
	size_t n = expand(&f, text);
	if (n)
		str_addf(&s, "%zu points\n", n);
	for (size_t i = 0; i < f.diags.items.n; i++) {
		str_addf(&s, "%s\n", f.diags.items.p[i].msg);
		for (size_t h = 0; h < f.diags.items.p[i].hints.n; h++)
			str_addf(&s, "HINT %s\n", f.diags.items.p[i].hints.p[h]);
	}
	fix_deinit(&f);
	return s.p ? s.p : xstrdup("");
}

#define COMPLAINS(text, want)                                                                                          \
	do {                                                                                                           \
		char *t_c = complaint(text, 0, false);                                                                 \
		CHECK_STR(t_c, want);                                                                                  \
		free(t_c);                                                                                             \
	} while (0)

__attribute__((noinline, noclone, used, retain)) int traced(int x)
{
	__asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop" : "+r"(x));
	return x + 1;
}
__attribute__((noinline, noclone, used, retain)) int traced_two(int x)
{
	__asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop" : "+r"(x));
	return x + 2;
}
// A USDT probe as sys/sdt.h lays it out, by hand: provider sonde, name hit, arguments 4@x and 8@$7, with a semaphore.
__attribute__((section(".probes"), used)) volatile unsigned short sonde_hit_semaphore;
#if defined(__x86_64__)
#define ARG0 "-4@%[x] 8@$7 2@sonde_hit_semaphore(%%rip)"
#else
#define ARG0 "-4@%w[x] 8@7"
#endif
__attribute__((noinline, noclone)) void usdt_target(int x)
{
	__asm__ volatile("990:	nop\n"
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte sonde_hit_semaphore\n"
			 ".asciz \"sonde\"\n.asciz \"hit\"\n.asciz \"" ARG0 "\"\n"
			 "994: .balign 4\n.popsection\n"
			 ".ifndef _.stapsdt.base\n"
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n"
			 :
			 : [x] "r"(x));
}

#endif
