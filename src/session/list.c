// -l: the probes that a pattern or a script means. In: Options' pattern, text or file. Out: one line a probe. Invariant: nothing is attached.
#include "session/internal.h"
#include <strings.h>

int session_list(const struct Options *o)
{
	struct Session s = {0};
	session_init(&s, o);
	int rc = 1;
	struct err *e = outfile_open(&s.output, o->out_path);
	if (e) {
		session_deinit(&s);
		return session_fail(e);
	}
	const char *pattern = o->pattern ? o->pattern : "*:*";
	u32 src = diags_add_source(&s.diags, "listing", pattern, strlen(pattern));
	struct AttachSpec *specs = NULL;
	size_t len = strlen(pattern);
	if (o->pattern && len > 3 && !strcmp(pattern + len - 3, ".bt"))
		fprintf(stderr, "WARNING: there is no file '%s': it is taken as a search pattern\n", pattern);
	if (o->text || o->file) { // the probes a program would attach
		if ((e = session_read_script(&s))) {
			rc = session_fail(e);
			goto out;
		}
		session_take_params(&s);
		expand_script(s.script, s.params.p, s.params.n);
		struct AttachSpec **tail = &specs;
		for (struct ProbeAst *p = s.script->probes; p; p = p->next)
			for (struct AttachSpec *a = p->points; a; a = a->next) {
				if (a->nparts == 1 && (!strcasecmp(a->parts[0], "begin") || !strcasecmp(a->parts[0], "end")))
					continue; // run by us, attached to nothing
				struct AttachSpec *copy = arena_new(&s.arena, struct AttachSpec);
				*copy = *a;
				copy->next = NULL;
				*tail = copy;
				tail = &copy->next;
			}
	} else if (!*pattern) {
		rc = 0;
	} else if (!strncmp(pattern, "struct ", 7) || !strncmp(pattern, "union ", 6) || !strncmp(pattern, "enum ", 5)) {
		specs = arena_new(&s.arena, struct AttachSpec);
		*specs = (struct AttachSpec){.span = {0, (u32)strlen(pattern), src}, .text = pattern, .parts = &pattern, .nparts = 1};
	} else
		specs = parse_attach_list(&s.arena, &s.diags, src);
	e = o->cmd ? child_start(o->cmd, &s.child) : NULL; // for its path; it is never let go
	if (e) {
		rc = session_fail(e);
		goto out;
	}
	s.env.cmd_path = s.child ? child_path(s.child) : NULL;
	if (!session_show_diags(&s) && specs) {
		outfile_begin(&s.output);
		probes_list(&s.env, specs, o->verbose, s.output.f);
		rc = session_show_diags(&s) ? 1 : 0; // nothing found is no error
	} else if (!s.diags.nerrors && (o->text || o->file)) {
		rc = 0; // begin and end only
	}
out:
	if ((e = outfile_close(&s.output)))
		rc = session_fail(e);
	session_deinit(&s);
	return rc;
}
