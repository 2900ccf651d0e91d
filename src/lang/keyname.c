// What the parts of a map's key are called, for reports that show them one by one.
// In: the key as the script writes it first, its type. Out: a name for each part, nested tuples flattened; NULL where nothing names it.
#include "lang/internal.h"

static const char *part_name(const struct Expr *e)
{
	while ((e->kind == E_CAST || e->kind == E_UNOP) && e->a)
		e = e->a;
	switch (e->kind) {
	case E_IDENT: case E_VAR: case E_FIELD:
		return e->str;
	case E_CALL: // comm(...), pid(init): the builtin; str(args.filename): what is read
		return e->nargs && builtin_find(e->str) && !(builtin_find(e->str)->flags & BF_NOARGS_OK) ? part_name(e->args[0]) : e->str;
	default:
		return NULL;
	}
}

struct NameList {
	const char **names;
	u32 n, max;
};

static void add_names(struct NameList *l, const struct Expr *e, const struct Type *t, const char *outer)
{
	if (t->kind != TY_TUPLE) {
		if (l->n < l->max)
			l->names[l->n] = outer ? outer : e ? part_name(e) : NULL;
		l->n++;
		return;
	}
	for (u32 i = 0; i < t->n; i++)
		add_names(l, e && e->kind == E_TUPLE && i < e->nargs ? e->args[i] : NULL, t->fields[i].type, t->fields[i].name);
}

u32 key_part_names(const struct MapSym *m, const char **names, u32 max)
{
	struct NameList l = {names, 0, max};
	if (m->key)
		add_names(&l, m->key_expr, m->key, NULL);
	return l.n;
}
