// The table of runtimes, and what they have in common. Input: ELF files that processes map; code objects that the kernel side has copied from their memory.
// Output: the runtime, its texts.
#include <elf.h>
#include "runtime/internal.h"

static const struct Runtime *const runtimes[] = {&python_runtime, &java_runtime, &php_runtime, &ruby_runtime, &perl_runtime, &v8_runtime, &v8_bare_runtime, &luajit_runtime, &lua_runtime};

const struct Runtime *runtime_of(u32 kind)
{
	for (u32 i = 0; i < ARRAY_LEN(runtimes); i++)
		if (runtimes[i]->kind == kind)
			return runtimes[i];
	return NULL;
}

// ---- recognising
struct Search {
	const struct Runtime *rt;
	const char *strtab;
	u64 size;
	struct ElfSymbol found[RUNTIME_SYMBOLS];
};

static bool on_symbol(void *arg, const struct ElfSymbol *y)
{
	struct Search *s = arg;
	for (u32 i = 0; i < RUNTIME_SYMBOLS && s->rt->symbols[i]; i++)
		if (y->plain && y->name < s->size && !strcmp(s->strtab + y->name, s->rt->symbols[i]))
			s->found[i] = *y;
	return true;
}

// Most objects hold none: their names are looked through, not their symbols.
static bool names(const char *strtab, u64 size, const char *marker)
{
	return memmem(strtab, size, marker, strlen(marker) + 1);
}

// An address of the object as the walker counts: a file offset, if it were in the segment with code.
u64 runtime_place(const struct ElfFile *f, u64 vaddr)
{
	for (u32 i = 0; i < f->nsegs; i++)
		if (f->segs[i].type == PT_LOAD && f->segs[i].flags & PF_X)
			return vaddr - f->segs[i].vaddr + f->segs[i].off;
	return vaddr;
}

// The symbols of a runtime that the object defines. False: not the one that marks it.
static bool find_symbols(struct ElfFile *f, const struct RuntimeNames *n, struct Search *s)
{
	s->strtab = n->text;
	s->size = n->size;
	if (!names(n->text, n->size, s->rt->symbols[0]))
		return false;
	err_free(elffile_symbols(f, n->tab, on_symbol, s));
	return s->found[0].name;
}

bool runtime_defines(struct ElfFile *f, const struct RuntimeNames *n, const char *symbol)
{
	const char *const symbols[RUNTIME_SYMBOLS] = {symbol};
	struct Runtime one = {.symbols = symbols};
	struct Search s = {.rt = &one};
	return find_symbols(f, n, &s);
}

// Where a thread has its state, registers in which a loop keeps its frame, instructions that are looked at: all of these are a machine's.
const char *runtime_not_on(const struct Runtime *rt, u16 machine)
{
	if (machine == EM_X86_64 || (machine == EM_AARCH64 && rt->on_arm64))
		return NULL;
	return rt->on_arm64 ? "is not read on this processor (on x86-64 and arm64 only)" : "is not read on this processor (on x86-64 only)";
}

const struct Runtime *runtime_in_file(struct ElfFile *f, struct RtLang *out, struct Str *version, bool *known)
{
	const struct Runtime *rt = NULL;
	struct RuntimeNames n;

	memset(out, 0, sizeof(*out));
	*known = false;
	if (!runtime_names(f, &n))
		return NULL;
	for (u32 i = 0; !rt && i < ARRAY_LEN(runtimes); i++) {
		struct Search s = {.rt = runtimes[i]};
		if (!find_symbols(f, &n, &s))
			continue;
		*known = s.rt->find(f, s.found, out, version) && !runtime_not_on(s.rt, f->machine);
		if (s.rt->if_found && !version->n)
			continue;
		rt = s.rt;
		out->kind = rt->kind;
		out->root = runtime_place(f, out->root);
		out->code_type = runtime_place(f, out->code_type);
		for (u32 k = 0; k < ARRAY_LEN(out->types); k++)
			out->types[k] = out->types[k] ? runtime_place(f, out->types[k]) : 0;
		if (*known && rt->chain && runtime_cold_part(f, out->loop, out->loop_end, &out->cold, &out->cold_end)) {
			out->cold = runtime_place(f, out->cold);
			out->cold_end = runtime_place(f, out->cold_end);
		}
		if (out->resume_end) {
			out->resume = runtime_place(f, out->resume);
			out->resume_end = runtime_place(f, out->resume_end);
		}
		if (out->loop_end) {
			out->loop = runtime_place(f, out->loop);
			out->loop_end = runtime_place(f, out->loop_end);
		}
	}
	free(n.text);
	return rt;
}

// ---- texts
void runtime_code_name(const struct RtCode *c, struct Str *out)
{
	const struct Runtime *rt = runtime_of(c->kind);
	if (rt && rt->code_name)
		rt->code_name(c, out);
	else
		runtime_add_text(out, c->name, MIN(c->name_len, RT_CODE_NAME), c->name_width);
}

void runtime_code_file(const struct RtCode *c, struct Str *out)
{
	const struct Runtime *rt = runtime_of(c->kind);
	if (rt && rt->code_file) {
		rt->code_file(c, out);
		return;
	}
	if (c->file_len >= RT_CODE_FILE) // its end
		str_add(out, "...");
	runtime_add_text(out, c->file, MIN(c->file_len, RT_CODE_FILE), c->file_width);
}
