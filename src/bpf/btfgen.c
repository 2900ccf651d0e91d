// BTF of a program of our own. Input: a linked ProbeProg; output: BTF bytes, func_info and line_info arrays for BPF_PROG_LOAD, or the program
// loaded with them.
// Invariant: one func_info per subprogram in instruction order beginning at 0, the first line_info of each function at its first
// instruction (kernel: check_btf_func, check_btf_line). Functions are BTF_FUNC_STATIC: callbacks of bpf_loop must be, and
// static ones are verified where they are called, with any pointer as argument. Runtime functions named rtg_* are
// global: verified once, with numbers as arguments, or, where the kernel takes such (link.c), pointers to whole structs; there those named rtp_* are, too.
// Made by hand: a handful of types, where libbpf's builder would cost more memory than the whole program.
#include "bpf/internal.h"
#include <ctype.h>
#include <linux/bpf.h>
#include <linux/btf.h>

enum { TYPE_U64 = 1, TYPE_PROTO0 = 2, NPROTOS = 6, TYPE_FUNC0 = TYPE_PROTO0 + NPROTOS };

static u32 add_string(struct Str *strs, const char *s, size_t n)
{
	u32 off = (u32)strs->n;
	str_addn(strs, s, n);
	str_addn(strs, "", 1);
	return off;
}

// The kernel wants C identifiers of at most 127 characters (btf_name_valid_identifier).
static u32 add_ident(struct Str *strs, const char *s)
{
	u32 off = (u32)strs->n;
	if (!isalpha((unsigned char)*s) && *s != '_')
		str_addc(strs, '_');
	for (u32 i = 0; s[i] && i < 120; i++)
		str_addc(strs, isalnum((unsigned char)s[i]) ? s[i] : '_');
	str_addn(strs, "", 1);
	return off;
}

static void add_type(struct Str *types, u32 name, u32 kind, u32 vlen, u32 size_or_type)
{
	struct btf_type t = {.name_off = name, .info = kind << 24 | vlen, .size = size_or_type};
	str_addn(types, (char *)&t, sizeof(t));
}

static void add_basic_types(struct Str *types, struct Str *strs)
{
	add_type(types, add_ident(strs, "u64"), BTF_KIND_INT, 0, 8);
	u32 bits = 64;
	str_addn(types, (char *)&bits, sizeof(bits));
	u32 arg_name[NPROTOS - 1];
	for (u32 i = 0; i < ARRAY_LEN(arg_name); i++)
		arg_name[i] = add_string(strs, (char[]){'a', (char)('1' + i)}, 2);
	for (u32 n = 0; n < NPROTOS; n++) {
		add_type(types, 0, BTF_KIND_FUNC_PROTO, n, TYPE_U64);
		for (u32 i = 0; i < n; i++) {
			struct btf_param p = {arg_name[i], TYPE_U64};
			str_addn(types, (char *)&p, sizeof(p));
		}
	}
}

// The prototype of a function that is given pointers (CodeFunc.points), the last of the types that are added from id *next on.
static u32 add_pointing(struct Str *types, struct Str *strs, const u16 *points, u32 nparams, u32 *next)
{
	struct btf_param params[NPROTOS - 1];
	for (u32 i = 0; i < nparams; i++) {
		params[i] = (struct btf_param){add_string(strs, (char[]){'a', (char)('1' + i)}, 2), TYPE_U64};
		if (!points[i])
			continue;
		add_type(types, add_ident(strs, "rt"), BTF_KIND_STRUCT, 0, points[i]);
		add_type(types, 0, BTF_KIND_PTR, 0, *next);
		params[i].type = *next + 1;
		*next += 2;
	}
	add_type(types, 0, BTF_KIND_FUNC_PROTO, nparams, TYPE_U64);
	str_addn(types, (char *)params, nparams * sizeof(*params));
	return (*next)++;
}

// Text of a line, without its indentation.
static const char *source_line(const struct Source *src, u32 line, size_t *n)
{
	const char *p = src->text, *end = src->text + src->len;
	while (line > 1 && p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			break;
		p = nl + 1;
		line--;
	}
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	const char *nl = memchr(p, '\n', (size_t)(end - p));
	*n = MIN((size_t)((nl ? nl : end) - p), 200u);
	return p;
}

struct LineBuild {
	VEC(struct bpf_line_info) v;
	struct Str *strs;
	// text of the line added last: consecutive instructions of one line share it
	u32 file, line, file_off, text_off;
	u16 last_file;
};

static void add_line(struct LineBuild *b, u32 insn, u32 file_off, u32 text_off, u32 line, u32 col)
{
	struct bpf_line_info li = {insn, file_off, text_off, line << 10 | MIN(col, 1023u)};
	vec_push(&b->v, li);
}

static void add_script_line(struct LineBuild *b, const struct IrProg *ir, const struct CodeLine *cl)
{
	if (cl->loc >= ir->locs.n)
		return;
	const struct IrLoc *loc = &ir->locs.p[cl->loc];
	if (!ir->diags || loc->file >= ir->diags->sources.n)
		return;
	const struct Source *src = &ir->diags->sources.p[loc->file];
	if (!b->text_off || b->line != loc->line || b->last_file != loc->file) {
		size_t n;
		const char *text = source_line(src, loc->line, &n);
		if (!b->file_off || b->last_file != loc->file)
			b->file_off = add_string(b->strs, src->name, strlen(src->name));
		b->text_off = add_string(b->strs, text, n);
		b->line = loc->line;
		b->last_file = loc->file;
	}
	add_line(b, cl->insn, b->file_off, b->text_off, loc->line, loc->col);
}

// Lines of a runtime function: its C file, one entry an instruction that begins a line.
static void add_runtime_lines(struct LineBuild *b, const char *fn, u32 from, u32 to, const u8 *is_insn)
{
	u32 text_off = 0, file_off = 0, last = 0;
	for (u32 i = from; i < to; i++) {
		const char *file = "";
		u32 line = 0;
		bool known = rt_line(fn, i - from, &file, &line);
		if (!is_insn[i] || (i > from && (!known || line == last)))
			continue;
		if (!text_off || line != last) {
			char text[160];
			snprintf(text, sizeof(text), known ? "%s() at %s:%u" : "%s()", fn, file, line);
			text_off = add_string(b->strs, text, strlen(text));
		}
		if (!file_off)
			file_off = add_string(b->strs, file, strlen(file));
		last = line;
		add_line(b, i, file_off, text_off, line, 0);
	}
}

// Line infos for all functions, ascending; funcs are sorted and begin with the program itself.
static void build_lines(const struct ProbeProg *pp, const struct CodeFunc *funcs, u32 nfuncs, struct Str *strs, struct ProgBtf *out)
{
	const struct Code *code = &pp->code;
	struct LineBuild b = {.strs = strs};
	u8 *is_insn = xcalloc(code->insns.n, 1); // 0: second half of a 16-byte instruction, which may carry no line
	for (u32 i = 0; i < code->insns.n; i++) {
		is_insn[i] = 1;
		if (code->insns.p[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	u32 k = 0;
	for (u32 f = 0; f < nfuncs; f++) {
		u32 from = funcs[f].insn, to = f + 1 < nfuncs ? funcs[f + 1].insn : (u32)code->insns.n;
		while (k < code->lines.n && code->lines.p[k].insn < from)
			k++;
		if (k >= code->lines.n || code->lines.p[k].insn >= to) {
			add_runtime_lines(&b, funcs[f].name, from, to, is_insn);
			continue;
		}
		if (code->lines.p[k].insn > from) { // prologue: the function's first line
			struct CodeLine cl = {from, code->lines.p[k].loc};
			add_script_line(&b, &pp->ir, &cl);
		}
		for (; k < code->lines.n && code->lines.p[k].insn < to; k++)
			if (is_insn[code->lines.p[k].insn] && (!b.v.n || vec_last(&b.v).insn_off < code->lines.p[k].insn))
				add_script_line(&b, &pp->ir, &code->lines.p[k]);
		if (!b.v.n || vec_last(&b.v).insn_off < from) // no usable place in the script
			add_runtime_lines(&b, funcs[f].name, from, from + 1, is_insn);
	}
	free(is_insn);
	out->lines = b.v.p;
	out->nlines = (u32)b.v.n;
}

static int by_insn(const void *a, const void *b)
{
	const struct CodeFunc *x = a, *y = b;
	return (x->insn > y->insn) - (x->insn < y->insn);
}

static void *join_parts(const struct Str *types, const struct Str *strs, u32 *size)
{
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(h),
		.type_len = (u32)types->n,
		.str_off = (u32)types->n,
		.str_len = (u32)strs->n,
	};
	*size = (u32)(sizeof(h) + types->n + strs->n);
	char *data = xmalloc(*size);
	memcpy(data, &h, sizeof(h));
	memcpy(data + sizeof(h), types->p, types->n);
	memcpy(data + sizeof(h) + types->n, strs->p, strs->n);
	return data;
}

bool progbtf_is_global(const struct CodeFunc *f)
{
	return f->points || !strncmp(f->name, "rtg_", 4);
}

void progbtf_build(const struct ProbeProg *pp, bool with_lines, struct ProgBtf *out)
{
	*out = (struct ProgBtf){0};
	VEC(struct CodeFunc) funcs = {0};
	struct CodeFunc self = {0, pp->ir.name ? pp->ir.name : "prog", 1, false, NULL};
	vec_push(&funcs, self);
	for (size_t i = 0; i < pp->code.funcs.n; i++)
		if (pp->code.funcs.p[i].insn != 0)
			vec_push(&funcs, pp->code.funcs.p[i]);
	qsort(funcs.p, funcs.n, sizeof(*funcs.p), by_insn);

	struct Str types = {0}, strs = {0}, pointing = {0};
	u32 next = TYPE_FUNC0 + (u32)funcs.n;
	add_string(&strs, "", 0);
	add_basic_types(&types, &strs);
	out->funcs = xcalloc(funcs.n, sizeof(*out->funcs));
	out->nfuncs = (u32)funcs.n;
	for (u32 i = 0; i < funcs.n; i++) {
		u32 name = add_ident(&strs, funcs.p[i].name), nparams = MIN(funcs.p[i].nparams, 5u);
		const u16 *points = funcs.p[i].points;
		u32 linkage = progbtf_is_global(&funcs.p[i]) ? BTF_FUNC_GLOBAL : BTF_FUNC_STATIC;
		add_type(&types, name, BTF_KIND_FUNC, linkage, points ? add_pointing(&pointing, &strs, points, nparams, &next) : TYPE_PROTO0 + nparams);
		out->funcs[i] = (struct bpf_func_info){funcs.p[i].insn, TYPE_FUNC0 + i};
	}
	str_addn(&types, pointing.p, pointing.n);
	if (with_lines)
		build_lines(pp, funcs.p, (u32)funcs.n, &strs, out);

	out->data = join_parts(&types, &strs, &out->size);
	str_deinit(&types);
	str_deinit(&strs);
	str_deinit(&pointing);
	vec_deinit(&funcs);
}

void progbtf_deinit(struct ProgBtf *b)
{
	free(b->data);
	free(b->funcs);
	free(b->lines);
	*b = (struct ProgBtf){0};
}

int load_with_btf(const struct ProbeProg *pp, struct SysProg *sp, bool lines)
{
	struct ProgBtf b;
	progbtf_build(pp, lines, &b);
	int btf = sys_btf_load(b.data, b.size, NULL, 0);
	if (btf >= 0) {
		sp->btf_fd = btf;
		sp->func_info = b.funcs;
		sp->nfunc_info = b.nfuncs;
		sp->line_info = b.lines;
		sp->nline_info = b.nlines;
	}
	int r = sys_prog_load(sp); // without BTF a kernel that needs it says so
	sp->btf_fd = 0;
	sp->nfunc_info = sp->nline_info = 0;
	if (btf >= 0)
		close(btf);
	progbtf_deinit(&b);
	return r;
}

static void add_member(struct Str *types, u32 name, u32 type, u32 bit)
{
	struct btf_member m = {name, type, bit};
	str_addn(types, (char *)&m, sizeof(m));
}

int task_work_map(const struct SysMap *m)
{
	enum { U64 = 1, WORK, REST, VALUE };
	struct Str types = {0}, strs = {0};
	u32 bits = 64, size;
	struct btf_array rest = {U64, U64, (m->value_size - 8) / 8};
	add_string(&strs, "", 0);
	add_type(&types, add_ident(&strs, "u64"), BTF_KIND_INT, 0, 8);
	str_addn(&types, (char *)&bits, sizeof(bits));
	add_type(&types, add_ident(&strs, "bpf_task_work"), BTF_KIND_STRUCT, 1, 8);
	add_member(&types, add_ident(&strs, "__opaque"), U64, 0);
	add_type(&types, 0, BTF_KIND_ARRAY, 0, 0);
	str_addn(&types, (char *)&rest, sizeof(rest));
	add_type(&types, add_ident(&strs, "late"), BTF_KIND_STRUCT, 2, m->value_size);
	add_member(&types, add_ident(&strs, "work"), WORK, 0);
	add_member(&types, add_ident(&strs, "rest"), REST, 64);
	void *data = join_parts(&types, &strs, &size);
	struct SysMap with = *m;
	with.btf_fd = sys_btf_load(data, size, NULL, 0);
	with.btf_key = U64;
	with.btf_val = VALUE;
	int r = with.btf_fd < 0 ? with.btf_fd : sys_map_create(&with);
	if (with.btf_fd >= 0)
		close(with.btf_fd);
	free(data);
	str_deinit(&types);
	str_deinit(&strs);
	return r;
}
