// Symbol index of an object. Input: .symtab, .dynsym, .gnu_debugdata, a split debug file and the PLT, whichever there are.
// Output: address -> best symbol in one binary search; symbols by name. Invariants: names stay in the file and are read (and
// demangled) when a symbol is first hit, so the index costs 16 bytes a symbol and no string table is kept in memory; every symbol
// lies inside an executable segment, so a hostile size or address reaches nothing.
#include <elf.h>
#include "sym/internal.h"

#define MAX_SYMBOL_NAME (64u << 10)

enum SymSource { SRC_SYMTAB, SRC_DYNSYM, SRC_MINI, SRC_PLT, NSRC }; // in order of preference for one address

struct Sym {
	u64 addr : 56, src : 2, not_func : 1, local : 1, no_size : 1;
	u32 size, name;
};
_Static_assert(sizeof(struct Sym) == sizeof(struct Rec16), "radix_sort");

struct Names { // where the names of a source are
	const struct ElfFile *file;
	u64 off, size;
};

struct ElfSymtab {
	struct Sym *syms; // by address
	u32 n;
	struct Segments seg; // id: index of the first symbol of an address
	u64 *ends;	     // of symbols without size, as far as their instructions tell; 0 not asked yet
	bool whole;	     // .symtab has not lost its local symbols: between two symbols there is no other function
	const char **names, **raws; // as syms, filled on hits
	struct Names src[NSRC];
	struct PltStub *plt;
	u32 nplt;
	struct DebugFile mini;
	struct ElfFile *extra; // the split debug file's, if symbols came from it
	u64 bytes, asked; // it takes; when (Syms.tables_asked)
};

static const struct ElfSec *table(const struct ElfFile *f, u32 type)
{
	for (u32 i = 0; i < f->nsecs; i++)
		if (f->secs[i].type == type && f->secs[i].size)
			return &f->secs[i];
	return NULL;
}

static struct Names names_of(const struct ElfFile *f, const struct ElfSec *tab)
{
	struct Names n = {f, 0, 0};
	if (tab->link < f->nsecs && f->secs[tab->link].type == SHT_STRTAB) {
		n.off = f->secs[tab->link].off;
		n.size = f->secs[tab->link].size;
	}
	return n;
}

// ---- collecting what is code
struct Collect {
	const struct ElfFile *main, *file; // main: whose segments count
	VEC(struct Sym) v;
	enum SymSource src;
	u32 nfunc, nlocal;
	const struct ElfSeg *seg; // of the symbol before
	u64 max; // bytes that a table may take; 0: any number
	bool too_many; // one was left out for that
};

static const struct ElfSeg *exec_segment(const struct ElfFile *f, u64 addr)
{
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		if (s->type == PT_LOAD && s->flags & PF_X && addr >= s->vaddr && addr - s->vaddr < s->memsz)
			return s;
	}
	return NULL;
}

static bool collect(void *arg, const struct ElfSymbol *r)
{
	struct Collect *c = arg;
	if (!r->plain)
		return true;
	bool func = r->type == STT_FUNC || r->type == STT_GNU_IFUNC;
	c->nlocal += r->bind == STB_LOCAL && r->type != STT_SECTION;
	if (!func) {
		if ((r->type != STT_NOTYPE && r->type != STT_OBJECT) || r->shndx >= c->file->nsecs ||
		    !(c->file->secs[r->shndx].flags & SHF_EXECINSTR))
			return true;
		// $x, $d: marks of code and data of these machines, no names (ELF for the Arm 64-bit architecture, "Mapping symbols")
		u16 m = c->main->machine;
		if (r->type == STT_NOTYPE && r->bind == STB_LOCAL && (m == EM_AARCH64 || m == EM_ARM || m == EM_RISCV))
			return true;
	}
	u64 addr = r->addr;
	if (c->main->machine == EM_ARM && func)
		addr &= ~1ull; // Thumb
	if (!c->seg || addr < c->seg->vaddr || addr - c->seg->vaddr >= c->seg->memsz)
		c->seg = exec_segment(c->main, addr);
	if (!c->seg || addr >> 56)
		return true;
	c->nfunc += func;
	vec_push(&c->v, ((struct Sym){addr, c->src, !func, r->bind == STB_LOCAL, !r->size, MIN(r->size, UINT32_MAX), r->name}));
	return true;
}

#define BYTES_A_SYMBOL 40u // while a table is made, at least
static u32 collect_table(struct Collect *c, struct ElfSymtab *t, struct ElfFile *f, u32 type, enum SymSource src)
{
	err_free(elffile_sections(f));
	const struct ElfSec *tab = table(f, type);
	if (!tab)
		return 0;
	if (c->max && tab->size / (f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)) > c->max / BYTES_A_SYMBOL) {
		c->too_many = true;
		return 0;
	}
	c->file = f;
	c->src = src;
	c->nfunc = c->nlocal = 0;
	t->src[src] = names_of(f, tab);
	err_free(elffile_symbols(f, tab, collect, c)); // what was read before an error is used
	return c->nfunc;
}

static u32 rank(const struct Sym *y)
{
	return y->src << 3 | y->not_func << 2 | y->local << 1 | y->no_size;
}

// Keeps of each address only the symbols of the best rank, the largest first. Returns the new count.
static u32 keep_best(struct Sym *v, u32 n)
{
	u32 out = 0;
	for (u32 i = 0, next; i < n; i = next) {
		u32 best = i, first = out;
		for (next = i; next < n && v[next].addr == v[i].addr; next++)
			if (rank(&v[next]) < rank(&v[best]))
				best = next;
		u32 r = rank(&v[best]);
		for (u32 j = i; j < next; j++) {
			if (rank(&v[j]) != r)
				continue;
			v[out] = v[j];
			if (v[out].size > v[first].size) {
				struct Sym swap = v[first];
				v[first] = v[out];
				v[out] = swap;
			}
			out++;
		}
	}
	return out;
}

// Where an unsized symbol must end: its section's end, so that the padding after the last one is no function.
static u64 section_end(const struct ElfFile *f, u64 addr, u64 limit)
{
	for (u32 i = 0; i < f->nsecs; i++) {
		const struct ElfSec *s = &f->secs[i];
		if (s->flags & SHF_EXECINSTR && addr >= s->addr && addr - s->addr < s->size)
			return MIN(s->addr + s->size, limit);
	}
	return limit;
}

// A symbol without size (assembly) reaches to the next one, unless a sized one covers it; of nested sized ones the inner wins.
static void build_segments(struct ElfSymtab *t, const struct ElfFile *f)
{
	struct Interval *v = xmalloc((t->n + 1) * sizeof(*v));
	u32 nv = 0;
	const struct ElfSeg *seg = NULL;
	for (u32 i = 0, next; i < t->n; i = next) {
		const struct Sym *y = &t->syms[i];
		u64 addr = y->addr;
		for (next = i + 1; next < t->n && t->syms[next].addr == addr;)
			next++;
		if (!seg || addr < seg->vaddr || addr - seg->vaddr >= seg->memsz)
			seg = exec_segment(f, addr);
		u64 end = seg->vaddr + seg->memsz;
		if (y->size) {
			end = MIN(end, addr + y->size);
		} else {
			end = section_end(f, addr, end);
			if (next < t->n)
				end = MIN(end, t->syms[next].addr);
		}
		v[nv] = (struct Interval){addr, end, y->size ? nv + 1 : 0, i};
		nv++;
	}
	segments_build(&t->seg, v, nv);
	free(v);
}

static void add_plt(struct Collect *c, struct ElfSymtab *t, struct ElfFile *f)
{
	t->nplt = plt_read(f, &t->plt);
	for (u32 i = 0; i < t->nplt; i++)
		if (exec_segment(f, t->plt[i].addr) && !(t->plt[i].addr >> 56))
			vec_push(&c->v, ((struct Sym){t->plt[i].addr, SRC_PLT, false, false, false, t->plt[i].size, i}));
}

// A PE file's: those that it exports, and .NET's, whose names are made of several.
static void add_compiled(struct Collect *c, struct ElfSymtab *t, const struct ElfFile *f)
{
	PeFunctions v = {0};
	pe_exports(f, &v);
	r2r_functions(f, &v);
	t->plt = xrealloc(t->plt, (t->nplt + v.n + 1) * sizeof(*t->plt));
	for (size_t i = 0; i < v.n; i++) {
		vec_push(&c->v, ((struct Sym){v.p[i].addr, SRC_PLT, false, false, false, v.p[i].size, t->nplt}));
		t->plt[t->nplt++] = (struct PltStub){v.p[i].addr, v.p[i].size, v.p[i].name};
	}
	vec_deinit(&v);
}

// Stacks end there: a name for it belongs to every program, as a stub without a name of its own.
static void add_start(struct Collect *c, struct ElfSymtab *t, struct ElfFile *f)
{
	u32 size = exec_segment(f, f->entry) && !(f->entry >> 56) ? start_code(f) : 0;
	if (!size)
		return;
	t->plt = xrealloc(t->plt, (t->nplt + 1) * sizeof(*t->plt));
	t->plt[t->nplt] = (struct PltStub){f->entry, size, xstrdup("_start")};
	vec_push(&c->v, ((struct Sym){f->entry, SRC_PLT, false, false, false, size, t->nplt++}));
}

struct DebugFile *elf_debug(struct Syms *s, struct SymObject *o)
{
	struct ElfObj *e = elf_of(o);
	if (!e->debug_tried) {
		e->debug_tried = true;
		debugfile_find(s, o, &e->debug);
	}
	return e->debug.fd >= 0 ? &e->debug : NULL;
}

// The debug file's table holds all of the stripped one's, which is dropped: two string tables behind one source are not needed.
static bool collect_debug(struct Syms *s, struct SymObject *o, struct Collect *c, struct ElfSymtab *t)
{
	struct DebugFile *d = elf_debug(s, o);
	struct Collect more = {.main = c->main, .max = c->max};
	struct Names keep = t->src[SRC_SYMTAB];
	if (!d || !collect_table(&more, t, &d->file, SHT_SYMTAB, SRC_SYMTAB)) {
		t->src[SRC_SYMTAB] = keep;
		vec_deinit(&more.v);
		return false;
	}
	for (size_t i = 0; i < c->v.n; i++)
		if (c->v.p[i].src != SRC_SYMTAB)
			vec_push(&more.v, c->v.p[i]);
	vec_deinit(&c->v);
	*c = more;
	t->extra = &d->file;
	return true;
}

// What the kept parts of a table take, about: symbols, two names each, a segment or two; what was unpacked.
static u64 bytes_of(const struct ElfSymtab *t)
{
	return t->n * (u64)(sizeof(*t->syms) + 2 * sizeof(*t->names)) + t->seg.n * (u64)(sizeof(u64) + sizeof(u32)) + t->nplt * (u64)(sizeof(*t->plt) + 32) +
	       (t->mini.mem ? t->mini.file.size : 0);
}

struct ElfSymtab *elf_symtab(struct Syms *s, struct SymObject *o)
{
	struct ElfObj *e = elf_of(o);
	if (e && e->symtab)
		e->symtab->asked = ++s->tables_asked;
	if (!e || e->symtab)
		return e ? e->symtab : NULL;
	if (s->tables_max)
		elf_tables_keep(s, s->tables_max);
	struct ElfSymtab *t = e->symtab = xcalloc(1, sizeof(*t));
	t->asked = ++s->tables_asked;
	t->mini.fd = -1;
	struct Collect c = {.main = &e->file, .max = s->tables_max};
	u32 own = collect_table(&c, t, &e->file, SHT_SYMTAB, SRC_SYMTAB);
	t->whole = c.nlocal;
	u32 dyn = collect_table(&c, t, &e->file, SHT_DYNSYM, SRC_DYNSYM);
	// A stripped file may keep a few symbols (strip --keep-symbol): fewer than .dynsym has, so look for the rest elsewhere.
	if (!own || own < dyn) {
		t->whole = collect_debug(s, o, &c, t);
		if (!t->whole && debugfile_mini(&e->file, &t->mini)) // it has no labels of assembly
			collect_table(&c, t, &t->mini.file, SHT_SYMTAB, SRC_MINI);
	}
	if (c.too_many && !c.v.n)
		sym_object_note(o, xasprintf("%s: it has more symbols than %llu MB hold: its functions are shown as places in it", o->path, (unsigned long long)(s->tables_max >> 20)));
	if (!c.too_many)
		add_plt(&c, t, &e->file);
	if (!c.too_many && e->file.is_pe)
		add_compiled(&c, t, &e->file);
	add_start(&c, t, &e->file);
	t->syms = c.v.p;
	radix_sort(t->syms, c.v.n);
	t->n = keep_best(t->syms, c.v.n);
	t->syms = xrealloc(t->syms, (t->n + 1) * sizeof(*t->syms));
	t->names = xcalloc(t->n + 1, sizeof(*t->names)); // zero pages until hit
	t->raws = xcalloc(t->n + 1, sizeof(*t->raws));
	build_segments(t, &e->file);
	t->bytes = bytes_of(t);
	s->tables_bytes += t->bytes;
	return t;
}

struct ElfFile *elf_symtab_extra(struct SymObject *o)
{
	struct ElfSymtab *t = elf_of(o)->symtab;
	return t->extra ? t->extra : t->mini.mem ? &t->mini.file : NULL;
}

void elf_symtab_destroy(struct ElfSymtab *t)
{
	if (!t)
		return;
	debugfile_close(&t->mini);
	for (u32 i = 0; i < t->nplt; i++)
		free(t->plt[i].name);
	free(t->plt);
	free(t->syms);
	free(t->names);
	free(t->ends);
	free(t->raws);
	segments_deinit(&t->seg);
	free(t);
}

// Names that were found are in s->arena: a table is only what finds more of them, and is made again when that is wanted.
static void drop(struct Syms *s, struct ElfObj *e)
{
	s->tables_bytes -= e->symtab->bytes;
	elf_symtab_destroy(e->symtab);
	e->symtab = NULL;
	fdes_close(e->fdes);
	e->fdes = NULL;
}

void elf_table_drop(struct Syms *s, struct SymObject *o)
{
	struct ElfObj *e = elf_of(o);
	if (e && e->symtab)
		drop(s, e);
}

void elf_tables_keep(struct Syms *s, u64 max_bytes)
{
	while (s->tables_bytes > max_bytes) {
		struct ElfObj *oldest = NULL;
		for (size_t i = 0; i < s->objs.n; i++) {
			struct ElfObj *e = elf_of(s->objs.p[i]);
			if (e && e->symtab && e->symtab->bytes && (!oldest || e->symtab->asked < oldest->symtab->asked))
				oldest = e;
		}
		if (!oldest)
			return;
		drop(s, oldest);
	}
}

// ---- names
// Reads the name at n->off + at into out.
static bool read_name(const struct Names *n, u64 at, struct Str *out)
{
	str_reset(out);
	while (n->file && at < n->size && out->n < MAX_SYMBOL_NAME) {
		char buf[256];
		size_t got = elffile_read_some(n->file, n->off + at, buf, MIN(sizeof(buf), n->size - at));
		size_t len = strnlen(buf, got);
		str_addn(out, buf, len);
		if (len < got)
			return out->n > 0;
		if (!got)
			return false;
		at += got;
	}
	return false;
}

// Of two names of equal rank: fewer leading underscores, then the shorter, then the alphabet.
static bool better_name(const char *a, const char *b)
{
	size_t ua = strspn(a, "_"), ub = strspn(b, "_"), la = strlen(a), lb = strlen(b);
	if (ua != ub)
		return ua < ub;
	return la != lb ? la < lb : strcmp(a, b) < 0;
}

static const char *sym_name(struct Syms *s, struct ElfSymtab *t, u32 i)
{
	if (t->names[i])
		return t->names[i];
	if (t->syms[i].src == SRC_PLT) {
		const char *raw = t->plt[t->syms[i].name].name;
		t->names[i] = syms_name(s, raw);
		t->raws[i] = syms_raw(s, raw, t->names[i]);
		return t->names[i];
	}
	struct Str best = {0}, name = {0};
	for (u32 j = i; j < t->n && t->syms[j].addr == t->syms[i].addr && j - i < 64; j++) {
		if (!read_name(&t->src[t->syms[j].src], t->syms[j].name, &name))
			continue;
		symbol_clean(name.p);
		name.n = strlen(name.p);
		if (name.n && (!best.n || better_name(name.p, best.p))) {
			struct Str swap = best;
			best = name;
			name = swap;
		}
	}
	t->names[i] = best.n ? syms_name(s, best.p) : "";
	t->raws[i] = best.n ? syms_raw(s, best.p, t->names[i]) : NULL;
	str_deinit(&best);
	str_deinit(&name);
	return t->names[i];
}

// ---- places that no sized symbol covers
static bool function_at(struct ElfObj *e, u64 vaddr, u64 *lo, u64 *hi)
{
	if (!e->fdes)
		e->fdes = fdes_open(&e->file);
	return fdes_find(e->fdes, &e->file, vaddr, lo, hi);
}

// Does symbol i, which has no size, reach to vaddr, in its segment? Not past its own function, into another function, or, where other symbols may have
// been stripped, past the code that can be reached from it without a jump to elsewhere.
static bool reaches(struct ElfObj *e, u32 i, u64 vaddr)
{
	struct ElfSymtab *t = e->symtab;
	u64 addr = t->syms[i].addr, lo, hi;
	if (vaddr == addr)
		return true;
	if (function_at(e, vaddr, &lo, &hi)) {
		if (lo > addr)
			return false;
		if (addr < hi)
			return vaddr < hi;
	}
	if (t->whole)
		return true;
	if (!t->ends)
		t->ends = xcalloc(t->n, sizeof(*t->ends));
	if (!t->ends[i])
		t->ends[i] = code_end(&e->file, addr, t->seg.start[segments_index(&t->seg, addr) + 1]);
	return vaddr < t->ends[i];
}

static const char *place_name(struct Syms *s, struct SymObject *o, u64 vaddr)
{
	struct Str text = {0};
	str_add_place(&text, o->path, vaddr);
	const char *name = map_get(&s->places, str_text(&text));
	if (!name)
		map_put(&s->places, str_text(&text), (void *)(name = arena_strdup(&s->arena, str_text(&text))));
	str_deinit(&text);
	return name;
}

bool elf_lookup(struct Syms *s, struct SymObject *o, u64 vaddr, struct SymHit *hit)
{
	struct ElfObj *e = elf_of(o);
	struct ElfSymtab *t = elf_symtab(s, o);
	u32 i = t ? segments_find(&t->seg, vaddr) : SEG_NONE;
	u64 lo, hi;
	if (i != SEG_NONE && !t->syms[i].size && !reaches(e, i, vaddr))
		i = SEG_NONE;
	if (t && i == SEG_NONE && function_at(e, vaddr, &lo, &hi) && vaddr < hi) { // a function without a symbol, or with one whose size is too small
		i = segments_find(&t->seg, lo);
		if (i == SEG_NONE || t->syms[i].addr != lo) {
			hit->name = place_name(s, o, lo);
			hit->place = true;
			hit->start = lo;
			hit->size = hi - lo;
			hit->off = vaddr - lo;
			return true;
		}
	}
	const char *name = i == SEG_NONE ? "" : sym_name(s, t, i);
	if (!name[0])
		return false;
	hit->name = name;
	hit->raw = t->raws[i];
	hit->start = t->syms[i].addr;
	hit->size = t->syms[i].size;
	hit->off = vaddr - hit->start;
	return true;
}

u32 sym_object_segments(struct SymObject *o, struct SymSegment *out, u32 max)
{
	struct ElfObj *e = elf_of(o);
	u32 n = 0;
	for (int exec = 1; e && exec >= 0; exec--)
		for (u32 i = 0; i < e->file.nsegs; i++) {
			const struct ElfSeg *s = &e->file.segs[i];
			bool fits = s->off + s->filesz > s->off && s->vaddr + s->filesz > s->vaddr;
			if (s->type == PT_LOAD && !!(s->flags & PF_X) == exec && fits && n < max)
				out[n++] = (struct SymSegment){s->vaddr, s->off, s->filesz};
		}
	return n;
}
