// Scripts with any content: parsed, expanded, dumped, rendered and formatted. No crash, no hang; every node's text lies within the source and
// no tree is higher than AST_MAX_HEIGHT.
#include "lang/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

struct Seen {
	size_t size;
	u32 max_height;
};

static bool check_node(void *arg, struct Expr *e)
{
	struct Seen *s = arg;
	require((size_t)e->span.off + e->span.len <= s->size);
	require(e->height >= 1 && e->height <= s->max_height);
	require(e->nargs == 0 || e->args);
	return true;
}

static void check_tree(struct Script *s, size_t size, u32 max_height)
{
	struct Seen seen = {size, max_height};
	for (struct ProbeAst *p = s->probes; p; p = p->next) {
		require(p->points != NULL);
		require((size_t)p->span.off + p->span.len <= size && (size_t)p->body_span.off + p->body_span.len <= size);
		walk_expr(p->pred, check_node, &seen);
		walk_exprs(p->body, check_node, &seen);
	}
	for (struct Macro *m = s->macros; m; m = m->next)
		walk_expr(m->body, check_node, &seen);
	for (struct CText *c = s->ctext; c; c = c->next)
		require((size_t)c->span.off + c->span.len <= size);
}

static void fuzz_script(const char *text, size_t size)
{
	static const struct Param params[] = {{NULL, "42"}, {NULL, "a:b{"}, {"opt", NULL}};
	struct Arena a = {0};
	struct Diags d = {0};
	struct Str out = {0};
	struct Script *s = parse_script(&a, &d, diags_add_source(&d, "fuzz", text, size));
	check_tree(s, size, AST_MAX_HEIGHT);
	if (!d.nerrors && size < 4096)
		format_script(s, &out);
	s->imports = NULL; // no files here
	expand_script(s, params, ARRAY_LEN(params));
	check_tree(s, size, AST_MAX_HEIGHT);
	if (size < 4096)
		ast_dump(s, &out);
	diags_render(&d, true, &out);
	str_deinit(&out);
	diags_deinit(&d);
	arena_deinit(&a);
}

static void fuzz_attach_list(const char *text, size_t size)
{
	struct Arena a = {0};
	struct Diags d = {0};
	struct AttachSpec *ap = parse_attach_list(&a, &d, diags_add_source(&d, "fuzz", text, size));
	require(ap || d.nerrors);
	for (; ap; ap = ap->next)
		require(ap->nparts > 0 && ap->text);
	diags_deinit(&d);
	arena_deinit(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xmalloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	fuzz_script(text, size);
	fuzz_attach_list(text, size);
	free(text);
	return 0;
}
