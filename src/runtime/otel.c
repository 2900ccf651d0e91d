// Where a program or library keeps the request its threads work on, for bpfrt/otel.bpf.c. Input: an ELF file. Output: how the thread-local variable
// otel_thread_ctx_v1 is found in a process that has loaded the file (OpenTelemetry's OTEP 4947).
// A thread-local variable has no address of its own. In a program it lies at a fixed distance from the thread pointer, which follows from the size of the program's
// thread-local memory (ELF Handling For Thread-Local Storage, sections 3.4.2 and 3.4.6; for arm64 the ABI's "Thread local storage", two words lie between). For a library
// the dynamic linker writes into a word of the library's table (GOT) what it has decided; the relocation of that word says what will be there:
//   TPOFF (TPREL)    the distance from the thread pointer
//   DTPMOD           the number of the module in which the variable lies at the symbol's value
//   TLSDESC          two words: a function, and its argument: the distance, or the address of {module, offset}
// Invariant: what the file says is checked again in the process (track/otel.c).
#include <elf.h>
#include "runtime/runtime.h"

#define SYMBOL "otel_thread_ctx_v1"

struct Look {
	struct OtelSymbol *out;
	const struct RuntimeNames *names;
	u32 symbol; // its number, 0: not found
	u16 machine;
};

static bool on_symbol(void *arg, const struct ElfSymbol *y)
{
	struct Look *l = arg;
	u64 room = y->name < l->names->size ? l->names->size - y->name : 0;
	if (y->type != STT_TLS || !y->plain || room < sizeof(SYMBOL) || memcmp(l->names->text + y->name, SYMBOL, sizeof(SYMBOL)))
		return true;
	l->symbol = y->index;
	l->out->value = y->addr;
	return false;
}

static enum OtelHow how_of(u16 machine, u32 type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_TPOFF64 ? OTEL_DISTANCE : type == R_X86_64_DTPMOD64 ? OTEL_MODULE : type == R_X86_64_TLSDESC ? OTEL_DESCRIPTOR : OTEL_NOT;
	return type == R_AARCH64_TLS_TPREL ? OTEL_DISTANCE : type == R_AARCH64_TLS_DTPMOD ? OTEL_MODULE : type == R_AARCH64_TLSDESC ? OTEL_DESCRIPTOR : OTEL_NOT;
}

// One that names the symbol, or, where the linker has bound it (-Bsymbolic), one without a symbol that means the same place.
static bool on_reloc(void *arg, const struct ElfReloc *r)
{
	struct Look *l = arg;
	enum OtelHow how = how_of(l->machine, r->type);
	bool bound = !r->symbol && (how == OTEL_MODULE || (u64)r->addend == l->out->value);
	if (how == OTEL_NOT || (r->symbol != l->symbol && !bound))
		return true;
	l->out->how = how;
	l->out->got = r->addr;
	return r->symbol == 0; // the symbol's own is better
}

// The distance of a program's variable from the thread pointer.
static bool distance(const struct ElfFile *f, struct OtelSymbol *out)
{
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		u64 mask = s->align ? s->align - 1 : 0;
		if (s->type != PT_TLS || (s->align & mask) || s->memsz > 1ull << 40)
			continue;
		if (f->machine == EM_X86_64) // its end, rounded up, is the thread pointer
			out->value -= s->memsz + ((0 - s->vaddr - s->memsz) & mask);
		else
			out->value += 16 + ((s->vaddr - 16) & mask);
		out->how = OTEL_FIXED;
		return true;
	}
	return false;
}

bool runtime_otel(struct ElfFile *f, struct OtelSymbol *out)
{
	struct RuntimeNames n;
	struct Look l = {.out = out, .names = &n, .machine = f->machine};

	*out = (struct OtelSymbol){0};
	if (!f->is64 || (f->machine != EM_X86_64 && f->machine != EM_AARCH64) || !runtime_names(f, &n))
		return false;
	if (memmem(n.text, n.size, SYMBOL, sizeof(SYMBOL)))
		err_free(elffile_symbols(f, n.tab, on_symbol, &l));
	free(n.text);
	if (!l.symbol)
		return false;
	if (elffile_is_program(f))
		return distance(f, out);
	elffile_relocs(f, on_reloc, &l);
	return out->how != OTEL_NOT;
}
