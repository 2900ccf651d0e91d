// The IR's text form through every pass: whatever parses and verifies must optimise, verify again, survive a round trip through text and compile
// (or be refused with a message); the disassembler takes any bytes.
#include "ir/ir.h"

static void check(bool ok, const char *what, const struct IrProg *p)
{
	if (ok)
		return;
	struct Str s = {0};
	ir_dump(p, &s);
	fprintf(stderr, "%s\n%s", what, str_text(&s));
	abort();
}

static void round_trip(const struct IrProg *p)
{
	struct Arena a = {0};
	struct Str one = {0}, two = {0}, why = {0};
	struct IrProg q;
	ir_dump(p, &one);
	check(ir_parse(&a, str_text(&one), &q, &why), "own text does not parse", p);
	ir_dump(&q, &two);
	check(!strcmp(str_text(&one), str_text(&two)), "text changes in a round trip", p);
	ir_deinit(&q);
	str_deinit(&one);
	str_deinit(&two);
	str_deinit(&why);
	arena_deinit(&a);
}

static void compile(struct IrProg *p, bool v4)
{
	struct Code c;
	struct Str s = {0};
	struct err *e = ir_compile(p, &(struct EmitOpts){.has_v4 = v4}, &c);
	err_free(e);
	if (e)
		return;
	code_disasm(&c, p, &s);
	bpf_disasm(c.insns.p, (u32)c.insns.n, &s);
	str_deinit(&s);
	code_deinit(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Arena a = {0};
	struct IrProg p;
	struct Str why = {0}, s = {0};
	char *text = arena_strndup(&a, (const char *)data, size);
	for (int opt = 0; opt < 2; opt++) {
		str_reset(&why);
		if (!ir_parse(&a, text, &p, &why))
			break;
		round_trip(&p);
		if (ir_verify(&p, &why)) {
			if (opt) {
				ir_optimize(&p);
				check(ir_verify(&p, &why), str_text(&why), &p);
			}
			compile(&p, size & 1);
		}
		ir_deinit(&p);
	}
	struct BpfInsn *insns = arena_alloc(&a, size + sizeof(*insns));
	memcpy(insns, data, size);
	bpf_disasm(insns, (u32)(size / sizeof(*insns)), &s);
	str_deinit(&s);
	str_deinit(&why);
	arena_deinit(&a);
	return 0;
}
