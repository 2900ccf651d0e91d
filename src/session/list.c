// -l: the probes that a pattern or a script means. In: Options' pattern, text or file. Out: one line a probe. Invariant: nothing is attached.
#include "session/state.h"
#include <strings.h>

int session_list(const struct Options *o)
{
	struct Session s = {0};
	session_init(&s, o);
	int rc = 1;
	const char *pattern = o->pattern ? o->pattern : "*:*";
	u16 src = diags_add_source(&s.diags, "listing", pattern, strlen(pattern));
	struct AttachSpec *specs = NULL;
	if (o->text || o->file) { // the probes a program would attach
		struct err *e = session_read_script(&s);
		if (e) {
			rc = session_fail(e);
			goto out;
		}
		expand_script(s.script, o->params.p, o->params.n);
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
	} else if (!strncmp(pattern, "struct ", 7) || !strncmp(pattern, "union ", 6) || !strncmp(pattern, "enum ", 5)) {
		specs = arena_new(&s.arena, struct AttachSpec);
		*specs = (struct AttachSpec){.span = {0, (u32)strlen(pattern), src}, .text = pattern, .parts = &pattern, .nparts = 1};
	} else
		specs = parse_attach_list(&s.arena, &s.diags, src);
	if (!session_show_diags(&s) && specs) {
		rc = probes_list(&s.env, specs, o->verbose, stdout) ? 0 : 1;
		session_show_diags(&s);
	}
out:
	session_deinit(&s);
	return rc;
}
