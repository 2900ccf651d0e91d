// What stands behind the script on its command line, as the script's options say. In: words and --name=value, as given. Out: s->params for
// expand_script(). Invariant: "--name value" and "-n value" are taken together only where the script declares an option that has a value; all other
// words are what they are in bpftrace.
#include "lang/lang.h"
#include "session/internal.h"

static const struct ScriptOpt *with_letter(const struct Script *s, char c)
{
	for (size_t i = 0; i < s->opts->n; i++)
		if (c && s->opts->p[i].letter == c)
			return &s->opts->p[i];
	return NULL;
}

// The value in the next word, which is used up; NULL: there is none.
static const char *next_word(const struct Options *o, size_t *i)
{
	return *i + 1 < o->params.n && !o->params.p[*i + 1].name ? o->params.p[++*i].val : NULL;
}

// "-x", "-xVALUE", "-xyz" of flags. False: it begins with no letter of the script's.
static bool take_letters(struct Session *s, const char *word, size_t *i)
{
	const struct ScriptOpt *o = *word == '-' ? with_letter(s->script, word[1]) : NULL;
	if (!o)
		return false;
	for (const char *p = word + 1; o; o = with_letter(s->script, *++p)) {
		if (o->arg) {
			vec_push(&s->params, ((struct Param){o->name, p[1] ? p + 1 : next_word(s->o, i)}));
			break;
		}
		vec_push(&s->params, ((struct Param){o->name, NULL}));
		if (p[1] && !with_letter(s->script, p[1]))
			diag_error_plain(&s->diags, "the script has no option -%c (in %s)", p[1], word);
	}
	return true;
}

void session_take_params(struct Session *s)
{
	const struct Options *o = s->o;
	script_options(s->script);
	for (size_t i = 0; i < o->params.n; i++) {
		struct Param p = o->params.p[i];
		const struct ScriptOpt *opt = p.name ? option_find(s->script, p.name) : NULL;
		if (!p.name && take_letters(s, p.val, &i))
			continue;
		if (opt && !p.val && opt->arg)
			p.val = next_word(o, &i);
		vec_push(&s->params, p);
	}
}
