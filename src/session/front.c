// The passes from text to checked unit. In: Options. Out: s->script, s->unit; what is wrong with the script is in s->diags.
#include "session/internal.h"

struct err *pass_parse(struct Session *s)
{
	return session_read_script(s);
}

struct err *pass_expand(struct Session *s)
{
	session_take_params(s);
	expand_script(s->script, s->params.p, s->params.n);
	return NULL;
}

// From here on the machine is asked, and the command stands before its first instruction.
static struct err *prepare(struct Session *s)
{
	struct err *e = feature_need_caps();
	s->child = s->o->child;
	if (!e && s->o->cmd)
		e = child_start(s->o->cmd, &s->child);
	if (e)
		return e;
	s->env.child = s->child ? child_pid(s->child) : 0;
	s->env.cmd_path = s->child ? child_path(s->child) : NULL;
	session_fill_hooks(s);
	return NULL;
}

struct err *pass_config(struct Session *s)
{
	struct err *e = prepare(s);
	if (e)
		return e;
	session_open_objects(s);
	s->unit = (struct Unit){.arena = &s->arena, .diags = &s->diags, .types = &s->types, .ctypes = s->ctypes, .script = s->script,
				.hooks = &s->hooks, .config = &s->prog.config};
	ctypes_add_preamble(s->ctypes, s->script->ctext, s->o->include_dirs.p, (u32)s->o->include_dirs.n, s->o->includes.p, (u32)s->o->includes.n);
	config_resolve(&s->unit);
	const struct Config *c = &s->prog.config;
	bool inlines = s->o->inlines || c->show_debug_info, lines = s->o->lines || c->show_debug_info;
	if ((inlines || lines) && !ctype_has_dwarf())
		fprintf(stderr, "WARNING: no inlined functions and no lines: this sonde was built without libdw\n");
	syms_set_names(s->syms, c->cpp_demangle, inlines, lines);
	return NULL;
}

// A tool waits for what it was told to trace: where none of that is there it would wait for ever. What it has for itself counts for nothing.
static const struct Point *only_absent(const struct Session *s)
{
	const struct Point *absent = NULL;
	for (u32 i = 0; i < s->nlists; i++)
		for (size_t k = 0; k < s->lists[i].v.n; k++) {
			const struct Point *pt = s->lists[i].v.p[k];
			if (pt->absent)
				absent = absent ? absent : pt;
			else if (pt->kind != PK_BEGIN && pt->kind != PK_END && pt->kind != PK_INTERVAL && pt->kind != PK_SELF)
				return NULL;
		}
	return absent;
}

struct err *pass_points(struct Session *s)
{
	watchpoints_prepare(&s->env, s->script);
	for (struct ProbeAst *p = s->script->probes; p; p = p->next)
		s->nlists++;
	if (!s->nlists && s->o->as_bpftrace) { // it says so on standard output
		fputs("No probes to attach\n", stdout);
		s->diags.nerrors++;
	} else if (!s->nlists) {
		diag_error_plain(&s->diags, "No probes to attach");
		if (s->script->dropped)
			diag_hint(&s->diags, "the predicates of all are false");
		return NULL;
	}
	s->lists = arena_new_n(&s->arena, struct PointList, s->nlists);
	probes_expand(&s->env, s->script, s->lists);
	const struct Point *absent = s->o->found ? only_absent(s) : NULL;
	if (absent)
		diag_error_plain(&s->diags, "No matches for %s", absent->name);
	return NULL;
}

struct err *pass_resolve(struct Session *s)
{
	resolve_script(&s->unit, s->lists);
	return NULL;
}

// Probes that something will run: test: and bench: ones only in their modes.
static struct err *need_something_to_do(struct Session *s)
{
	u32 n = 0;
	for (size_t i = 0; i < s->unit.probes.n; i++) {
		enum ProbeKind k = s->unit.probes.p[i]->point->kind;
		n += s->o->mode != MODE_TRACE || (k != PK_TEST && k != PK_BENCH);
	}
	if (n)
		return NULL;
	session_show_diags(s); // why, before the error hides warnings
	bool test = false;
	for (size_t i = 0; i < s->unit.probes.n; i++)
		test |= s->unit.probes.p[i]->point->kind == PK_TEST;
	if (s->o->as_bpftrace && s->unit.probes.n)
		return err_new("%s", test ? "No probes attached; use --test to run test probes." : "No probes attached; use --bench to run benchmark probes.");
	else
		diag_error_plain(&s->diags, "No probes to attach%s", s->unit.probes.n ? "; use --test to run test probes, --bench to run bench probes" : "");
	return NULL;
}

struct err *pass_check(struct Session *s)
{
	bool ok = check_unit(&s->unit);
	units_drop_absent(&s->unit);
	struct err *e = ok ? need_something_to_do(s) : NULL;
	if (e)
		return e;
	if (ok && s->unit.probes.n > s->prog.config.max_bpf_progs) {
		diag_error_plain(&s->diags, "The script makes %zu BPF programs, max_bpf_progs allows %u", s->unit.probes.n, s->prog.config.max_bpf_progs);
		diag_hint(&s->diags, "raise the limit with config = { max_bpf_progs = %zu } or BPFTRACE_MAX_BPF_PROGS=%zu", s->unit.probes.n, s->unit.probes.n);
	}
	return NULL;
}
