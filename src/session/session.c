// The pipeline, one call a stage: script -> tokens -> tree -> types -> IR -> eBPF -> kernel -> events and maps -> report.
#include "lang/format.h"
#include "session/state.h"
#include <errno.h>
#include <poll.h>

int session_fail(struct err *e)
{
	fprintf(stderr, "%sERROR: %s%s\n", diag_color(DIAG_ERROR), err_text(e), diag_uncolor());
	err_free(e);
	return 1;
}

// Prints and forgets what has been collected; true when there were errors.
bool session_show_diags(struct Session *s)
{
	struct Str text = {0};
	bool bad = s->diags.nerrors != 0;
	diags_render(&s->diags, s->o->warnings && !bad, &text);
	fputs(str_text(&text), stderr);
	str_deinit(&text);
	for (size_t i = 0; i < s->diags.items.n; i++)
		free(s->diags.items.p[i].msg);
	s->diags.items.n = 0;
	return bad;
}

struct err *session_read_script(struct Session *s)
{
	const struct Options *o = s->o;
	if (o->text)
		str_add(&s->text, o->text);
	else {
		struct err *e = read_file(strcmp(o->file, "-") ? o->file : "/dev/stdin", &s->text, 16 << 20);
		if (e)
			return e;
	}
	const char *name = o->name ? o->name : o->file && strcmp(o->file, "-") ? o->file : "stdin";
	u16 src = diags_add_source(&s->diags, name, str_text(&s->text), s->text.n);
	s->script = parse_script(&s->arena, &s->diags, src);
	return NULL;
}

// Probes that something will run: test: and bench: ones only in their modes.
static bool anything_to_do(struct Session *s)
{
	u32 n = 0;
	for (size_t i = 0; i < s->unit.probes.n; i++) {
		enum ProbeKind k = s->unit.probes.p[i]->point->kind;
		n += s->o->mode != MODE_TRACE || (k != PK_TEST && k != PK_BENCH);
	}
	if (n)
		return true;
	session_show_diags(s); // why, before the error hides warnings
	diag_error_plain(&s->diags, "No probes to attach%s", s->unit.probes.n ? "; use --test to run test probes, --bench to run bench probes" : "");
	return false;
}

// Script text to checked unit. False: errors are in the diagnostics.
static bool front(struct Session *s)
{
	struct Unit *u = &s->unit;
	*u = (struct Unit){.arena = &s->arena, .diags = &s->diags, .types = &s->types, .ctypes = s->ctypes, .script = s->script,
			   .prog = &s->prog, .hooks = &s->hooks, .config = &s->prog.config};
	ctypes_add_preamble(s->ctypes, s->script->ctext, s->o->include_dirs.p, (u32)s->o->include_dirs.n, s->o->includes.p, (u32)s->o->includes.n);
	config_resolve(u);
	if (s->diags.nerrors)
		return false;
	u32 n = 0;
	watchpoints_prepare(&s->env, s->script);
	for (struct ProbeAst *p = s->script->probes; p; p = p->next)
		n++;
	if (!n) {
		diag_error_plain(&s->diags, "No probes to attach");
		return false;
	}
	struct PointList *lists = arena_new_n(&s->arena, struct PointList, n);
	probes_expand(&s->env, s->script, lists);
	if (s->diags.nerrors)
		return false;
	resolve_script(u, lists);
	for (u32 i = 0; i < n; i++)
		vec_deinit(&lists[i].v);
	if (s->diags.nerrors)
		return false;
	bool ok = check_unit(u);
	units_drop_absent(u);
	if (ok && !anything_to_do(s))
		return false;
	return ok;
}

static struct err *open_output(struct Session *s)
{
	s->out = stdout;
	if (s->o->out_path && !(s->out = fopen(s->o->out_path, "we")))
		return err_errno(errno, "cannot write %s", s->o->out_path);
	s->render = (struct Render){.out = s->out, .mode = s->o->buf, .ops = s->o->json ? &json_render_ops : &text_render_ops,
				    .escape = isatty(fileno(s->out))};
	return NULL;
}

void session_init(struct Session *s, const struct Options *o)
{
	s->o = o;
	typetab_init(&s->types, &s->arena);
	s->prog.arena = &s->arena;
	s->prog.diags = &s->diags;
	s->prog.types = &s->types;
	config_defaults(&s->prog.config);
	s->prog.config.helper_errors = o->helper_errors;
	s->prog.config.unsafe = o->unsafe;
	s->prog.config.unwind_fp = o->unwind_fp;
	s->ctypes = ctypes_create(&s->arena, &s->types, &s->diags);
	s->syms = syms_create(&(struct SymOpts){.inlines = o->inlines, .lines = o->lines, .debug_dirs = o->debug_dirs.p, .ndebug_dirs = (u32)o->debug_dirs.n});
	s->ask = kernask_create();
	syms_set_ask(s->syms, &(struct SymAsk){s->ask, kernask_symbol, kernask_addr});
	s->env = (struct ProbeEnv){.arena = &s->arena, .diags = &s->diags, .ctypes = s->ctypes, .syms = s->syms, .config = &s->prog.config,
				   .pid = o->pid, .usdt_file_activation = o->usdt_file_activation, .verbose = o->verbose,
				   .no_uprobe_multi = o->no_uprobe_multi, .no_kprobe_multi = o->no_kprobe_multi,
				   .no_kprobe_session = o->no_kprobe_session, .traceable = o->traceable, .filter = o->filter};
}

void session_deinit(struct Session *s)
{
	attachments_destroy(s->at);
	unwind_destroy(s->unwind);
	packets_close(s->rc.packets);
	stacks_destroy(s->rc.stacks);
	ring_close(s->ring);
	loaded_destroy(s->loaded);
	child_destroy(s->child);
	if (s->out && s->out != stdout)
		fclose(s->out);
	for (size_t i = 0; i < s->prog.progs.n; i++)
		for (struct ProbeProg *pp = s->prog.progs.p[i]; pp; pp = pp->at_return) {
			ir_deinit(&pp->ir);
			code_deinit(&pp->code);
			vec_deinit(&pp->points.v);
		}
	for (size_t i = 0; i < s->unit.probes.n; i++)
		vec_deinit(&s->unit.probes.p[i]->vars);
	vec_deinit(&s->unit.probes);
	vec_deinit(&s->unit.opts);
	vec_deinit(&s->unit.maps);
	vec_deinit(&s->prog.progs);
	vec_deinit(&s->prog.maps);
	vec_deinit(&s->prog.fmts);
	vec_deinit(&s->prog.errsites);
	probe_env_deinit(&s->env);
	ctypes_destroy(s->ctypes);
	syms_destroy(s->syms);
	kernask_destroy(s->ask);
	typetab_deinit(&s->types);
	diags_deinit(&s->diags);
	str_deinit(&s->text);
	arena_deinit(&s->arena);
}

static int print_formatted(struct Session *s)
{
	struct Str t = {0};
	if (session_show_diags(s))
		return 1;
	format_script(s->script, &t);
	fputs(str_text(&t), s->out);
	str_deinit(&t);
	return 0;
}

static int pipeline(struct Session *s)
{
	const struct Options *o = s->o;
	struct err *e = open_output(s);
	if (e || (e = session_read_script(s)))
		return session_fail(e);
	if (o->mode == MODE_FORMAT)
		return print_formatted(s);
	expand_script(s->script, o->params.p, o->params.n);
	if (session_show_diags(s))
		return 1;
	if ((e = feature_need_caps()))
		return session_fail(e);
	if (o->cmd && (e = child_start(o->cmd, &s->child)))
		return session_fail(e);
	s->env.child = s->child ? child_pid(s->child) : 0;
	s->env.cmd_path = s->child ? child_path(s->child) : NULL;
	session_fill_hooks(s);
	bool ok = front(s);
	if (o->dump & DUMP_AST) {
		struct Str t = {0};
		ast_dump(s->script, &t);
		fputs(str_text(&t), s->out);
		str_deinit(&t);
	}
	if (session_show_diags(s) || !ok)
		return 1;
	if ((e = session_compile(s)))
		return session_fail(e);
	if (session_show_diags(s))
		return 1;
	if (o->dump && !(o->dump & DUMP_VERIFIER) && !o->as_bpftrace) // bpftrace goes on
		return 0;
	if ((e = session_trace(s)))
		return session_fail(e) && o->as_bpftrace ? 255 : 1; // bpftrace's status for what the kernel refuses
	return s->rc.exit_code;
}

// A full disk must not look like a short report. A reader that left (`| head`) has all it wanted.
int session_flush(FILE *out, const char *path, int rc)
{
	int bad = fflush(out) ? errno : 0; // an error before this call is remembered without its errno
	struct pollfd p = {.fd = fileno(out)};
	if ((!bad && !ferror(out)) || bad == EPIPE || (poll(&p, 1, 0) == 1 && p.revents & POLLERR)) // pipe(7): no readers
		return rc;
	path = path ? path : "standard output";
	return session_fail(bad ? err_errno(bad, "cannot write all to %s", path) : err_new("cannot write all to %s: is the disk full?", path));
}

int session_run(const struct Options *o)
{
	struct Session s = {0};
	session_init(&s, o);
	int rc = pipeline(&s);
	if (s.out)
		rc = session_flush(s.out, o->out_path, rc);
	if (loop_interrupts() > 1) { // asked twice: the kernel cleans up faster
		fflush(NULL);
		_exit(rc);
	}
	session_deinit(&s);
	return rc;
}
