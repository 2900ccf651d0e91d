// Attach points by a line of a source file: TARGET@FILE:LINE[:COL]. In: an attach point whose first part has a '@'. Out: its parts; what is said when there is no code of it.
#include "base/base.h"
#include <limits.h>
#include "probe/internal.h"

bool line_parts(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *form, struct SourceLine *out)
{
	const char *at = strrchr(spec->parts[1], '@');
	*out = (struct SourceLine){.target = arena_strndup(env->arena, spec->parts[1], (size_t)(at - spec->parts[1])), .file = at + 1};
	if (p->kind != PK_UPROBE && p->kind != PK_KPROBE)
		diag_error(env->diags, spec->span, "Source code location not allowed");
	else if (spec->nparts < 3 || spec->nparts > 4 || !*out->file || !*out->target)
		diag_error(env->diags, spec->span, "Invalid %s arguments, expected format: %s", p->name, form);
	else if (!parse_u64(spec->parts[2], &out->line) || !out->line || out->line > INT_MAX)
		diag_error(env->diags, spec->span, "Invalid line number: %s", spec->parts[2]);
	else if (spec->nparts == 4 && (!parse_u64(spec->parts[3], &out->col) || !out->col || out->col > INT_MAX))
		diag_error(env->diags, spec->span, "Invalid column number: %s", spec->parts[3]);
	else
		return true;
	return false;
}

static void no_line(struct ProbeEnv *env, const struct AttachSpec *spec, const char *why)
{
	if (env->lenient || (env->config && env->config->missing_probes != MISSING_ERROR))
		probe_missing(env, spec, "%s", why);
	else
		diag_error(env->diags, spec->span, "%s", why);
}

void line_failed(struct ProbeEnv *env, const struct AttachSpec *spec, const struct SourceLine *l, enum SymLine r, const char *said)
{
	const char *why;
	if (r == SYM_LINE_NO_DWARF)
		why = arena_printf(env->arena, "No DWARF debug info found for '%s', cannot attach by source code location.", l->target);
	else if (r == SYM_LINE_NO_UNIT)
		why = arena_printf(env->arena, "DWARF error: No compilation unit matches %s", l->file);
	else if (r == SYM_LINE_AMBIGUOUS)
		why = arena_printf(env->arena, "DWARF error: Ambiguous source path, matches multiple files: %s", said);
	else if (r == SYM_LINE_NO_PLACE)
		why = arena_printf(env->arena, "%s:%s of %s has no address: %s", l->file, spec->parts[2], l->target, said);
	else
		why = arena_printf(env->arena, "DWARF error: Unable to map '%s:%s%s%s' to address", l->file, spec->parts[2], l->col ? ":" : "",
				   l->col ? spec->parts[3] : "");
	no_line(env, spec, why);
	if (r == SYM_LINE_NO_DWARF && *said && !env->lenient)
		diag_hint(env->diags, "%s", said);
}
