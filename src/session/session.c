// One run: the passes (passes.c) from the script to the kernel, then tracing and its report (trace.c).
#include "lang/lang.h"
#include "session/internal.h"

static struct err *open_output(struct Session *s)
{
	struct err *e = outfile_open(&s->output, s->o->out_path);
	if (e && s->o->as_bpftrace) {
		int why = err_code(e);
		err_free(e);
		return err_errno(why, "Failed to open output file: \"%s\"", s->o->out_path);
	}
	if (e)
		return e;
	s->out = s->output.f;
	if (s->o->file && outfile_is(&s->output, s->o->file))
		return err_new("%s is the script: -o would overwrite it", s->o->out_path);
	s->render = (struct Render){.out = s->out, .mode = s->o->buf, .ops = s->o->render_ops ? s->o->render_ops : s->o->json ? &json_render_ops : &text_render_ops,
				    .escape = isatty(fileno(s->out))};
	return NULL;
}

void session_init(struct Session *s, const struct Options *o)
{
	s->o = o;
	s->diags.plain = o->as_bpftrace;
	if (o->pid)
		vec_push(&s->pids, o->pid);
	for (const char *p = o->pids; p && *p; p += strcspn(p, ","), p += *p == ',')
		vec_push(&s->pids, atoi(p));
	typetab_init(&s->types, &s->arena);
	s->prog.arena = &s->arena;
	s->prog.diags = &s->diags;
	s->prog.types = &s->types;
	config_defaults(&s->prog.config);
	s->prog.config.helper_errors = o->helper_errors;
	s->prog.config.count_reads = o->strict && !o->helper_errors && (!o->tool || o->tool->script);
	s->prog.config.unsafe = o->unsafe;
	s->prog.config.unwind_fp = o->unwind_fp;
	s->prog.config.native = o->native;
	s->prog.config.async_frames = o->async_frames;
	s->ctypes = ctypes_create(&s->arena, &s->types, &s->diags);
	ctype_debug_dirs(s->ctypes, o->debug_dirs.p, (u32)o->debug_dirs.n);
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
	newcpus_stop(s->newcpus);
	track_destroy(s->track);
	otel_destroy(s->otel);
	packets_close(s->rc.packets);
	stacks_destroy(s->rc.stacks);
	ring_close(s->ring);
	loaded_destroy(s->loaded);
	if (s->child != s->o->child)
		child_destroy(s->child);
	for (size_t i = 0; i < s->prog.progs.n; i++)
		for (struct ProbeProg *pp = s->prog.progs.p[i]; pp; pp = pp->at_return) {
			ir_deinit(&pp->ir);
			code_deinit(&pp->code);
			vec_deinit(&pp->points.v);
		}
	for (u32 i = 0; i < s->nlists; i++)
		vec_deinit(&s->lists[i].v);
	for (size_t i = 0; i < s->unit.probes.n; i++)
		vec_deinit(&s->unit.probes.p[i]->vars);
	vec_deinit(&s->unit.probes);
	vec_deinit(&s->unit.fmts);
	vec_deinit(&s->unit.maps);
	vec_deinit(&s->pids);
	vec_deinit(&s->params);
	for (size_t i = 0; i < s->prog.objects.n; i++)
		cobj_deinit(s->prog.objects.p[i]);
	vec_deinit(&s->prog.objects);
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
	struct err *e = session_read_script(s);
	if (e)
		return session_fail(e);
	if (session_show_diags(s))
		return 1;
	format_script(s->script, &t);
	outfile_begin(&s->output);
	fputs(str_text(&t), s->out);
	str_deinit(&t);
	return 0;
}

static int pipeline(struct Session *s)
{
	const struct Options *o = s->o;
	struct err *e = open_output(s);
	if (e)
		return session_fail(e);
	if (o->mode == MODE_FORMAT)
		return print_formatted(s);
	int rc = passes_run(s);
	if (rc >= 0)
		return s->called_wrong ? 2 : rc;
	if ((e = session_trace(s)))
		return session_fail(e) && o->as_bpftrace ? REFUSED : 1;
	return s->rc.exit_code;
}

int session_run(const struct Options *o)
{
	struct Session s = {0};
	session_init(&s, o);
	int rc = pipeline(&s);
	struct err *e = outfile_close(&s.output); // a full disk must not look like a short report
	if (e)
		rc = session_fail(e);
	if (loop_interrupts() > 1) { // asked twice: the kernel cleans up faster
		fflush(NULL);
		_exit(rc);
	}
	session_deinit(&s);
	return rc;
}
