// The script's text, and what is said about it. In: -e, a file or a tool's text; out: its tree, s->script; on standard error what is wrong.
#include "base/base.h"
#include "session/internal.h"

int session_fail(struct err *e)
{
	fprintf(stderr, "%sERROR: %s%s\n", diag_color(DIAG_ERROR), err_text(e), diag_uncolor());
	err_free(e);
	return 1;
}

// How a tool of the tools' path was called is wrong: lang/option.c says so without a place, the tool itself by fail(), and who uses it need not see where that
// stands.
static void find_wrong_call(struct Session *s)
{
	static const char call[] = "fail(";
	for (size_t i = 0; i < s->diags.items.n; i++) {
		struct Diag *d = &s->diags.items.p[i];
		const struct Source *src = d->has_span ? &s->diags.sources.p[d->span.file] : NULL;
		if (src && d->kind == DIAG_ERROR && d->span.off + strlen(call) <= src->len && !strncmp(src->text + d->span.off, call, strlen(call))) {
			d->has_span = false;
			s->called_wrong = true;
		}
		s->called_wrong |= !src && d->kind == DIAG_ERROR && !strncmp(d->msg, "option --", 9);
	}
}

// Prints and forgets what has been collected; true when there were errors.
bool session_show_diags(struct Session *s)
{
	struct Str text = {0};
	bool bad = s->diags.nerrors != 0;
	if (s->o->found)
		find_wrong_call(s);
	diags_render(&s->diags, s->o->warnings && !bad, &text);
	fputs(str_text(&text), stderr);
	str_deinit(&text);
	diags_forget(&s->diags);
	return bad;
}

bool is_script_text(const char *file)
{
	return strchr(file, '{') && !can_access(file, F_OK);
}

struct err *session_read_script(struct Session *s)
{
	const struct Options *o = s->o;
	if (o->text)
		str_add(&s->text, o->text);
	else {
		struct err *e = read_file(strcmp(o->file, "-") ? o->file : "/dev/stdin", &s->text, 16 << 20), *hinted;
		if (e && is_script_text(o->file)) {
			hinted = err_new("%s\nHINT: the text of a script comes after -e", err_text(e));
			err_free(e);
			return hinted;
		}
		if (e && o->as_bpftrace && err_code(e)) {
			hinted = err_new("failed to open file '%s': %s", o->file, strerror(err_code(e)));
			err_free(e);
			return hinted;
		}
		if (e)
			return e;
	}
	const char *name = o->name ? o->name : o->file && strcmp(o->file, "-") ? o->file : "stdin";
	u16 src = diags_add_source(&s->diags, name, str_text(&s->text), s->text.n);
	s->script = parse_script(&s->arena, &s->diags, src);
	s->script->builtin = o->builtin;
	s->script->found = o->found;
	return NULL;
}
