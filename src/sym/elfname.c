// Symbols by name, for uprobes and uaddr(). Input: an object's own tables, then those of its debug file. Output: each defined function
// and data symbol once, in the order of addresses. Unlike the address index this reads the string tables whole, and keeps them:
// names handed out live as long as Syms.
#include <elf.h>
#include "sym/internal.h"

#define MAX_STRTAB (1u << 30)
#define MAX_VERSIONS (1u << 20) // bytes of .gnu.version_d

enum { DEF_FUNC = 1, DEF_DATA = 2, DEF_LOCAL = 4, DEF_HIDDEN = 8 /* not the default version */ };

struct Def {
	u64 addr;
	const char *name;    // without version
	const char *version; // NULL: none
	u32 size;
	u8 flags;
};

struct ElfDefs {
	struct Def *p; // in the order of the tables until sorted
	u32 n;
	char *str[4]; // string tables, owned
	u32 nstr;
	bool all; // debug file included
	bool sorted;
};

struct Versions {
	u16 *sym; // .gnu.version: a version index for each symbol
	u64 nsym;
	VEC(const char *) names; // by index
};

static const char *str_at(const char *str, u64 len, u64 at)
{
	return str && at < len ? str + at : NULL;
}

// Version definitions (LSB Core, "Symbol Version Definitions"): a chain of records, each with a chain of names of which the first counts.
static void read_verdef(struct ElfFile *f, const struct ElfSec *sec, const char *str, u64 str_len, struct Versions *v)
{
	u8 *p = elffile_load(f, sec->off, sec->size, MAX_VERSIONS);
	for (u64 at = 0, n = 0; p && n < 65536 && at <= sec->size && sec->size - at >= sizeof(Elf64_Verdef); n++) {
		Elf64_Verdef d; // the same in both classes
		Elf64_Verdaux a;
		memcpy(&d, p + at, sizeof(d));
		u64 aux = at + d.vd_aux;
		if (aux <= sec->size && sec->size - aux >= sizeof(a)) {
			memcpy(&a, p + aux, sizeof(a));
			u32 ndx = d.vd_ndx & 0x7fff;
			while (v->names.n <= ndx)
				vec_push(&v->names, NULL);
			v->names.p[ndx] = str_at(str, str_len, a.vda_name);
		}
		if (!d.vd_next)
			break;
		at += d.vd_next;
	}
	free(p);
}

static void read_versions(struct ElfFile *f, const char *str, u64 str_len, struct Versions *v)
{
	for (u32 i = 0; i < f->nsecs; i++) {
		const struct ElfSec *s = &f->secs[i];
		if (s->type == SHT_GNU_versym && !v->sym) {
			v->sym = elffile_load(f, s->off, s->size, 64u << 20);
			v->nsym = v->sym ? s->size / 2 : 0;
		} else if (s->type == SHT_GNU_verdef && !v->names.n) {
			read_verdef(f, s, str, str_len, v);
		}
	}
}

struct Gather {
	struct Syms *s;
	const struct ElfFile *main, *file;
	const char *str;
	u64 str_len;
	struct Versions ver;
	VEC(struct Def) v;
};

static bool gather(void *arg, const struct ElfSymbol *r)
{
	struct Gather *g = arg;
	if (!r->plain)
		return true;
	struct Def d = {.addr = r->addr, .size = MIN(r->size, UINT32_MAX), .name = str_at(g->str, g->str_len, r->name)};
	if (r->type == STT_FUNC || r->type == STT_GNU_IFUNC)
		d.flags = DEF_FUNC;
	else if (r->type == STT_OBJECT)
		d.flags = DEF_DATA;
	else if (r->type != STT_NOTYPE || r->bind == STB_LOCAL || r->shndx >= g->file->nsecs)
		return true;
	else // assembly without .type
		d.flags = g->file->secs[r->shndx].flags & SHF_EXECINSTR ? DEF_FUNC : DEF_DATA;
	if (r->bind == STB_LOCAL)
		d.flags |= DEF_LOCAL;
	if (!d.name || !d.name[0])
		return true;
	const char *at = strchr(d.name + 1, '@');
	if (at) {
		d.version = at + 1 + (at[1] == '@');
		d.flags |= at[1] == '@' ? 0 : DEF_HIDDEN;
		d.name = arena_strndup(&g->s->arena, d.name, at - d.name);
	} else if (r->index < g->ver.nsym) {
		u16 ndx = g->ver.sym[r->index];
		d.version = (ndx & 0x7fff) < g->ver.names.n ? g->ver.names.p[ndx & 0x7fff] : NULL;
		d.flags |= ndx & 0x8000 ? DEF_HIDDEN : 0;
	}
	vec_push(&g->v, d);
	return true;
}

static void gather_table(struct Gather *g, struct ElfDefs *d, struct ElfFile *f, u32 type)
{
	for (u32 i = 0; i < f->nsecs; i++) {
		const struct ElfSec *tab = &f->secs[i];
		if (tab->type != type || tab->link >= f->nsecs || f->secs[tab->link].type != SHT_STRTAB || d->nstr == ARRAY_LEN(d->str))
			continue;
		const struct ElfSec *str = &f->secs[tab->link];
		char *p = elffile_load(f, str->off, str->size, MAX_STRTAB);
		if (!p)
			return;
		d->str[d->nstr++] = p;
		g->file = f;
		g->str = p;
		g->str_len = str->size;
		g->ver = (struct Versions){0};
		if (type == SHT_DYNSYM)
			read_versions(f, p, str->size, &g->ver);
		err_free(elffile_symbols(f, tab, gather, g)); // what was read before an error is used
		free(g->ver.sym);
		vec_deinit(&g->ver.names);
		return;
	}
}

static int by_name(const void *a, const void *b)
{
	const struct Def *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	return c ? c : (x->flags & (DEF_LOCAL | DEF_HIDDEN)) - (y->flags & (DEF_LOCAL | DEF_HIDDEN));
}

struct Order {
	u64 addr;
	u32 index, unused;
};
_Static_assert(sizeof(struct Order) == sizeof(struct Rec16), "radix_sort");

// By address, then by name; a name that two tables have for one address is kept once.
static void sort_defs(struct ElfDefs *d)
{
	if (d->sorted)
		return;
	d->sorted = true;
	struct Order *order = xmalloc((d->n + 1) * sizeof(*order));
	struct Def *v = xmalloc((d->n + 1) * sizeof(*v));
	for (u32 i = 0; i < d->n; i++)
		order[i] = (struct Order){d->p[i].addr, i, 0};
	radix_sort(order, d->n);
	for (u32 i = 0; i < d->n; i++)
		v[i] = d->p[order[i].index];
	free(order);
	u32 out = 0;
	for (u32 i = 0, next; i < d->n; i = next) {
		for (next = i + 1; next < d->n && v[next].addr == v[i].addr;)
			next++;
		if (next - i > 1)
			qsort(v + i, next - i, sizeof(*v), by_name);
		for (u32 j = i; j < next; j++) {
			if (j > i && !strcmp(v[j].name, v[out - 1].name))
				v[out - 1].version = v[out - 1].version ? v[out - 1].version : v[j].version;
			else
				v[out++] = v[j];
		}
	}
	free(d->p);
	d->p = v;
	d->n = out;
}

static void gather_go(void *arg, const char *name, u64 addr, u64 size)
{
	struct Gather *g = arg;
	vec_push(&g->v, ((struct Def){.addr = addr, .name = name, .size = MIN(size, UINT32_MAX), .flags = DEF_FUNC | DEF_LOCAL}));
}

static struct ElfDefs *defs(struct Syms *s, struct SymObject *o, bool all)
{
	struct ElfObj *e = elf_of(o);
	if (e->defs && (e->defs->all || !all))
		return e->defs;
	struct ElfDefs *d = xcalloc(1, sizeof(*d));
	struct Gather g = {.s = s, .main = &e->file};
	err_free(elffile_sections(&e->file));
	d->all = all;
	if (all) {
		elf_symtab(s, o);
		struct ElfFile *more = elf_symtab_extra(o);
		if (more)
			gather_table(&g, d, more, SHT_SYMTAB);
	}
	gather_table(&g, d, &e->file, SHT_SYMTAB);
	if (!g.v.n) // stripped
		go_each(s, o, gather_go, &g);
	gather_table(&g, d, &e->file, SHT_DYNSYM);
	d->p = g.v.p;
	d->n = g.v.n;
	if (e->defs) { // names of the smaller list may be in use: keep its strings
		for (u32 i = 0; i < e->defs->nstr; i++)
			vec_push(&e->old_str, e->defs->str[i]);
		e->defs->nstr = 0;
		elf_defs_destroy(e->defs);
	}
	return e->defs = d;
}

void elf_defs_destroy(struct ElfDefs *d)
{
	if (!d)
		return;
	for (u32 i = 0; i < d->nstr; i++)
		free(d->str[i]);
	free(d->p);
	free(d);
}

static struct SymDef symdef(const struct ElfFile *f, const struct Def *d)
{
	struct SymDef out = {
	    .name = d->name, .addr = d->addr, .size = d->size, .is_func = d->flags & DEF_FUNC, .is_data = d->flags & DEF_DATA};
	out.is_local = d->flags & DEF_LOCAL;
	elffile_vaddr_to_off(f, d->addr, &out.file_off);
	return out;
}

struct err *sym_object_each(struct Syms *s, struct SymObject *o, bool (*fn)(void *, const struct SymDef *), void *arg)
{
	struct ElfObj *e = elf_of(o);
	if (!e)
		return err_new("%s: %s", o->path, o->why ? o->why : "not an ELF file");
	syms_lock(s);
	struct ElfDefs *d = defs(s, o, true);
	sort_defs(d);
	for (u32 i = 0; i < d->n; i++) {
		struct SymDef def = symdef(&e->file, &d->p[i]);
		if (!fn(arg, &def))
			break;
	}
	syms_unlock(s);
	return NULL;
}

// Functions before data, the default version before others, global before local; of equals the first.
static u32 badness(const struct Def *d)
{
	return (d->flags & DEF_FUNC ? 0 : 4) | (d->flags & DEF_HIDDEN ? 2 : 0) | (d->flags & DEF_LOCAL ? 1 : 0);
}

// Is raw the name asked for, but for marks a compiler appended?
static bool same_name(const char *raw, const char *name, size_t len)
{
	if (strncmp(raw, name, len))
		return false;
	if (raw[len] != '.')
		return !raw[len];
	char *clean = xstrdup(raw);
	symbol_clean(clean);
	bool same = strlen(clean) == len;
	free(clean);
	return same;
}

static const struct Def *find_raw(const struct ElfDefs *d, const char *name, size_t len, const char *version)
{
	const struct Def *best = NULL;
	for (u32 i = 0; i < d->n; i++) {
		const struct Def *x = &d->p[i];
		if (!same_name(x->name, name, len))
			continue;
		if (version && (!x->version || strcmp(x->version, version)))
			continue;
		if (!best || badness(x) < badness(best))
			best = x;
	}
	return best;
}

// The last identifier of a demangled name, "put" of "ns::map<int>::put(int)": a mangled name must contain it.
static void key_word(const char *name, const char **word, size_t *len)
{
	const char *end = name + strcspn(name, "(<");
	const char *p = end;
	while (p > name && (p[-1] == '_' || (p[-1] >= '0' && p[-1] <= '9') || ((p[-1] | 32) >= 'a' && (p[-1] | 32) <= 'z')))
		p--;
	*word = p;
	*len = end - p;
}

static const struct Def *find_demangled(const struct ElfDefs *d, const char *name)
{
	const char *word;
	size_t len;
	key_word(name, &word, &len);
	char *key = xasprintf("%.*s", (int)len, word);
	const struct Def *best = NULL;
	for (u32 i = 0; i < d->n; i++) {
		const struct Def *x = &d->p[i];
		if (x->name[0] != '_' || !strstr(x->name, key) || (best && badness(x) >= badness(best)))
			continue;
		char *text = demangle(x->name);
		if (text && !strcmp(text, name))
			best = x;
		free(text);
	}
	free(key);
	return best;
}

bool sym_object_find(struct Syms *s, struct SymObject *o, const char *name, struct SymDef *out)
{
	struct ElfObj *e = elf_of(o);
	const char *at = strchr(name, '@');
	const char *version = at && at > name ? at + 1 + (at[1] == '@') : NULL;
	size_t len = version ? (size_t)(at - name) : strlen(name);
	const struct Def *d = NULL;
	*out = (struct SymDef){0};
	if (!e || !len)
		return false;
	syms_lock(s);
	bool known_all = e->defs && e->defs->all;
	for (int all = known_all; all <= 1 && !d; all++) {
		struct ElfDefs *list = defs(s, o, all);
		d = find_raw(list, name, len, version);
		if (!d && strpbrk(name, ":(< "))
			d = find_demangled(list, name);
	}
	if (d) {
		*out = symdef(&e->file, d);
		const char *text = sym_demangle(s, d->name);
		out->demangled = text == d->name ? NULL : text;
	}
	syms_unlock(s);
	return d != NULL;
}

bool sym_object_is_32(struct SymObject *o)
{
	struct ElfObj *e = elf_of(o);
	return e && !e->file.is64;
}

// Cgo links C code behind (or before) Go's, which lies between two symbols of the linker.
bool sym_object_go_text(struct Syms *s, struct SymObject *o, u64 *lo, u64 *hi)
{
	struct SymDef first, end;
	syms_lock(s);
	struct ElfObj *e = elf_of(o);
	bool is_go = e && elffile_is_go(&e->file);
	syms_unlock(s);
	if (!is_go)
		return false;
	bool named = sym_object_find(s, o, "runtime.text", &first) && sym_object_find(s, o, "runtime.etext", &end) && first.addr < end.addr;
	*lo = named ? first.addr : 0;
	*hi = named ? end.addr : UINT64_MAX;
	return true;
}

bool sym_object_go_in_registers(struct Syms *s, struct SymObject *o)
{
	syms_lock(s);
	struct ElfObj *e = elf_of(o);
	bool yes = e && elffile_go_in_registers(&e->file);
	syms_unlock(s);
	return yes;
}

bool sym_object_addr_to_off(struct SymObject *o, u64 vaddr, u64 *file_off)
{
	struct ElfObj *e = elf_of(o);
	return e && elffile_vaddr_to_off(&e->file, vaddr, file_off);
}

// Segments are what is mapped; sections are finer, where there are any.
bool sym_object_is_code(struct SymObject *o, u64 vaddr)
{
	struct ElfObj *e = elf_of(o);
	bool exec = false, in_section = false, sections = false;
	for (u32 i = 0; e && i < e->file.nsegs; i++) {
		const struct ElfSeg *s = &e->file.segs[i];
		exec |= s->type == PT_LOAD && s->flags & PF_X && vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz;
	}
	if (!exec)
		return false;
	err_free(elffile_sections(&e->file));
	for (u32 i = 0; i < e->file.nsecs; i++) {
		const struct ElfSec *s = &e->file.secs[i];
		bool code = s->type == SHT_PROGBITS && s->flags & SHF_EXECINSTR;
		sections |= code;
		in_section |= code && vaddr >= s->addr && vaddr - s->addr < s->size;
	}
	return in_section || !sections;
}
