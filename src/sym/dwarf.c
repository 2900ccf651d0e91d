// DWARF: inlined functions and lines. Input: .debug_info and .debug_line of an object or its split debug file, through libdw. Output: for
// an address the inlined functions around it, innermost first, and file:line; for a line its first address. Invariants: one interval table per compile unit, built
// at the first address in that unit; strings belong to libdw and live as long as Syms. DWARF is as untrusted as the file it is in: every
// walk is bounded (a DW_AT_sibling may point backwards), strings are made to end inside their section (libdw does not care), the
// ELF descriptor is of the reading kind, not the mapping one (see elf/file.c), and other files the DWARF names (.dwo, dwz) are opened only
// when the object's owner is root or the user who runs us and its root is ours: a path to a FIFO would hang us, and a container's root is no better than its users.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include "sym/internal.h"

#define MAX_DEPTH 256	     // of nested DIEs
#define MAX_DIES (16u << 20) // visited in a unit
#define MAX_RANGES (4u << 20)

typedef VEC(struct Interval) Intervals;

struct Node { // a function or an inlined copy of one
	Dwarf_Die die;
	u32 parent;	  // SEG_NONE: a function proper; always less than the node's own index
	const char *name, *raw; // once asked for
};

struct Unit {
	Dwarf_Die top;	// has the line table
	Dwarf_Die tree; // has the functions: the split unit's if there is one
	bool loaded;
	struct Node *nodes;
	u32 n;
	struct Segments seg; // address -> innermost node
};

struct Range {
	const char *start, *end;
};

struct DwarfIndex {
	Elf *elf;
	Dwarf *dw;
	bool trusted;
	VEC(struct Range) strings; // sections that hold strings
	VEC(struct Unit) units;
	struct Segments seg; // address -> unit
};

static int by_lo(const void *a, const void *b)
{
	const struct Interval *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->prio != y->prio ? (x->prio < y->prio ? -1 : 1) : (x->id < y->id ? -1 : x->id > y->id);
}

static void to_segments(struct Segments *out, Intervals *v)
{
	if (v->n)
		qsort(v->p, v->n, sizeof(*v->p), by_lo);
	segments_build(out, v->p, v->n);
	vec_deinit(v);
}

// Adds the address ranges of die; returns whether it has any.
static bool add_ranges(Dwarf_Die *die, u32 prio, u32 id, Intervals *v)
{
	Dwarf_Addr base, lo, hi;
	bool any = false;
	for (ptrdiff_t at = 0; v->n < MAX_RANGES && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0;) {
		if (lo >= hi || !lo) // 0: code the linker threw away
			continue;
		vec_push(v, ((struct Interval){lo, hi, prio, id}));
		any = true;
	}
	return any;
}

// ---- units
// A unit without ranges of its own: those of its functions.
static void add_function_ranges(Dwarf_Die *unit, u32 id, Intervals *v)
{
	Dwarf_Die die;
	u32 seen = 0;
	if (dwarf_child(unit, &die))
		return;
	for (;;) {
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			add_ranges(&die, 0, id, v);
		Dwarf_Die next;
		if (++seen > MAX_DIES || dwarf_siblingof(&die, &next) || dwarf_dieoffset(&next) <= dwarf_dieoffset(&die))
			return;
		die = next;
	}
}

static void read_units(struct DwarfIndex *d)
{
	Intervals v = {0};
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die top, sub = {0};
	while (dwarf_get_units(d->dw, cu, &cu, &version, &type, &top, d->trusted ? &sub : NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (dwarf_tag(&top) != DW_TAG_compile_unit && dwarf_tag(&top) != DW_TAG_skeleton_unit)
			continue;
		bool split = d->trusted && type == DW_UT_skeleton && sub.addr;
		vec_push(&d->units, ((struct Unit){.top = top, .tree = split ? sub : top}));
		u32 id = d->units.n - 1;
		if (!add_ranges(&top, 0, id, &v))
			add_function_ranges(&d->units.p[id].tree, id, &v);
	}
	to_segments(&d->seg, &v);
}

static bool has_dwarf(struct ElfFile *f)
{
	err_free(elffile_sections(f));
	return elffile_section(f, ".debug_info") || elffile_section(f, ".zdebug_info");
}

static bool trusted_owner(int fd)
{
	struct stat st;
	u64 sudo;
	const char *by = getenv("SUDO_UID");
	if (fstat(fd, &st) || st.st_mode & S_IWOTH)
		return false;
	return !st.st_uid || st.st_uid == caller_uid() || (by && parse_u64(by, &sudo) && st.st_uid == sudo);
}

// After dwarf_begin_elf, which has unpacked compressed sections.
static void find_strings(struct DwarfIndex *d)
{
	static const char *const names[] = {"debug_info", "debug_types", "debug_str", "debug_line_str"};
	size_t shstr;
	if (elf_getshdrstrndx(d->elf, &shstr))
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(d->elf, scn));) {
		GElf_Shdr h;
		const char *name = gelf_getshdr(scn, &h) ? elf_strptr(d->elf, shstr, h.sh_name) : NULL;
		for (u32 i = 0; name && i < ARRAY_LEN(names); i++) {
			Elf_Data *data = strcmp(name + strspn(name, ".z"), names[i]) ? NULL : elf_getdata(scn, NULL);
			if (!data || !data->d_buf || !data->d_size)
				continue;
			if (i >= 2) // string sections end with NUL; libdw's line reader trusts them to, and the copy is ours
				((char *)data->d_buf)[data->d_size - 1] = 0;
			vec_push(&d->strings, ((struct Range){data->d_buf, (char *)data->d_buf + data->d_size}));
		}
	}
}

static const char *checked(const struct DwarfIndex *d, const char *p)
{
	for (u32 i = 0; p && i < d->strings.n; i++)
		if (p >= d->strings.p[i].start && p < d->strings.p[i].end)
			return memchr(p, 0, d->strings.p[i].end - p) ? p : NULL;
	return d->trusted ? p : NULL; // of a .dwo or dwz file
}

static struct DwarfIndex *dwarf_index(struct Syms *s, struct SymObject *o)
{
	struct ElfObj *e = elf_of(o);
	if (!e || e->dwarf_tried)
		return e ? e->dwarf : NULL;
	e->dwarf_tried = true;
	struct DebugFile *debug = has_dwarf(&e->file) ? NULL : elf_debug(s, o);
	struct ElfFile *f = debug ? &debug->file : &e->file;
	if (!has_dwarf(f))
		return NULL;
	bool trusted = !e->root && trusted_owner(f->fd); // libdw would look for names of another root in ours
	if (!trusted && elffile_section(f, ".gnu_debugaltlink"))
		return NULL;
	elf_version(EV_CURRENT);
	struct DwarfIndex *d = xcalloc(1, sizeof(*d));
	d->trusted = trusted;
	d->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	d->dw = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
	if (d->dw) {
		objfile_relocate(d->elf);
		find_strings(d);
		read_units(d);
		return e->dwarf = d;
	}
	dwarf_index_destroy(d);
	return NULL;
}

void dwarf_index_destroy(struct DwarfIndex *d)
{
	if (!d)
		return;
	for (u32 i = 0; i < d->units.n; i++) {
		free(d->units.p[i].nodes);
		segments_deinit(&d->units.p[i].seg);
	}
	vec_deinit(&d->units);
	vec_deinit(&d->strings);
	segments_deinit(&d->seg);
	if (d->dw)
		dwarf_end(d->dw);
	if (d->elf)
		elf_end(d->elf);
	free(d);
}

// ---- the functions of a unit
struct Walk {
	VEC(struct Node) nodes;
	Intervals v;
	u32 seen;
};

static void walk(struct Walk *w, Dwarf_Die *parent, u32 node, u32 depth)
{
	Dwarf_Die die;
	if (depth > MAX_DEPTH || dwarf_child(parent, &die))
		return;
	for (;;) {
		u32 inside = node;
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine: {
			bool inlined = dwarf_tag(&die) == DW_TAG_inlined_subroutine;
			if (add_ranges(&die, depth, w->nodes.n, &w->v)) {
				inside = w->nodes.n;
				vec_push(&w->nodes, ((struct Node){.die = die, .parent = inlined ? node : SEG_NONE}));
				walk(w, &die, inside, depth + 1);
			} else if (!inlined) { // an abstract function: local ones may be inside
				walk(w, &die, SEG_NONE, depth + 1);
			}
			break;
		}
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_call_site:
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_common_block:
			walk(w, &die, inside, depth + 1);
			break;
		}
		Dwarf_Die next;
		if (++w->seen > MAX_DIES || dwarf_siblingof(&die, &next) || dwarf_dieoffset(&next) <= dwarf_dieoffset(&die))
			return;
		die = next;
	}
}

static void load_unit(struct Unit *u)
{
	struct Walk w = {0};
	u->loaded = true;
	walk(&w, &u->tree, SEG_NONE, 0);
	u->nodes = w.nodes.p;
	u->n = w.nodes.n;
	to_segments(&u->seg, &w.v);
}

static const char *node_name(struct Syms *s, const struct DwarfIndex *d, struct Node *n)
{
	static const u32 at[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	for (u32 i = 0; i < ARRAY_LEN(at) && !n->name; i++) {
		Dwarf_Attribute a;
		const char *raw = dwarf_attr_integrate(&n->die, at[i], &a) ? checked(d, dwarf_formstring(&a)) : NULL;
		if (raw && raw[0]) {
			n->name = syms_name(s, raw);
			n->raw = syms_raw(s, raw, n->name);
		}
	}
	return n->name;
}

static void call_site(struct Unit *u, struct Node *n, struct SymHit *h)
{
	Dwarf_Attribute a;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t nfiles;
	if (dwarf_attr(&n->die, DW_AT_call_line, &a) && !dwarf_formudata(&a, &line))
		h->line = line;
	if (dwarf_attr(&n->die, DW_AT_call_file, &a) && !dwarf_formudata(&a, &file) && !dwarf_getsrcfiles(&u->top, &files, &nfiles) &&
	    file < nfiles)
		h->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void line_of(struct Unit *u, u64 vaddr, struct SymHit *h)
{
	Dwarf_Line *l = dwarf_getsrc_die(&u->top, vaddr);
	int line;
	if (!l || dwarf_lineno(l, &line) || !line)
		return;
	h->line = line;
	h->file = dwarf_linesrc(l, NULL, NULL);
}

// The function proper when no symbol table names it.
static void name_function(struct Syms *s, const struct DwarfIndex *d, struct Node *n, u64 vaddr, struct SymHit *h)
{
	Dwarf_Addr lo, hi;
	if ((h->name && !h->place) || !node_name(s, d, n) || dwarf_lowpc(&n->die, &lo) || dwarf_highpc(&n->die, &hi) || vaddr < lo || hi < lo)
		return;
	h->name = n->name;
	h->place = false;
	h->raw = n->raw;
	h->start = lo;
	h->size = hi - lo;
	h->off = vaddr - lo;
}

u32 object_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max)
{
	struct DwarfIndex *d = dwarf_index(s, o);
	u64 vaddr;
	if (!d || !elffile_off_to_vaddr(&elf_of(o)->file, off, &vaddr))
		return 1;
	u32 id = segments_find(&d->seg, vaddr);
	if (id == SEG_NONE)
		return 1;
	struct Unit *u = &d->units.p[id];
	struct SymHit outer = hits[0], line = {0};
	if (s->opts.lines)
		line_of(u, vaddr, &line);
	u32 n = 0;
	if (max > 1 || !outer.name || outer.place) {
		if (!u->loaded)
			load_unit(u);
		u32 at = segments_find(&u->seg, vaddr);
		for (; at != SEG_NONE && u->nodes[at].parent != SEG_NONE; at = u->nodes[at].parent) {
			struct Node *node = &u->nodes[at];
			if (!s->opts.inlines || n + 1 >= max)
				break;
			if (node_name(s, d, node)) {
				hits[n] = outer;
				hits[n].name = node->name;
				hits[n].place = false;
				hits[n].raw = node->raw;
				hits[n].file = line.file;
				hits[n++].line = line.line;
			}
			if (s->opts.lines)
				call_site(u, node, &line);
		}
		while (at != SEG_NONE && u->nodes[at].parent != SEG_NONE)
			at = u->nodes[at].parent;
		if (at != SEG_NONE)
			name_function(s, d, &u->nodes[at], vaddr, &outer);
	}
	outer.file = line.file;
	outer.line = line.line;
	hits[n] = outer;
	return n + 1;
}

// ---- lines to addresses

// Is `end` the last names of path?
static bool path_ends(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);
	return k && k <= n && !strcmp(path + n - k, end) && (k == n || path[n - k - 1] == '/');
}

// With split DWARF the name is in the .dwo file; where that is not found, the table of lines has it as file 0 (DWARF 5).
static const char *unit_name(const struct DwarfIndex *d, struct Unit *u)
{
	Dwarf_Files *files;
	size_t n;
	const char *name = checked(d, dwarf_diename(&u->top));
	if (!name)
		name = checked(d, dwarf_diename(&u->tree));
	if (!name && d->trusted && dwarf_tag(&u->top) == DW_TAG_skeleton_unit && !dwarf_getsrcfiles(&u->top, &files, &n) && n)
		name = dwarf_filesrc(files, 0, NULL, NULL);
	return name;
}

// Of a unit without a file of its own (split DWARF 4, and no .dwo file there; code of several files that gcc's link-time optimiser put together): the file
// of its table of lines that is asked for.
static const char *file_of_table(const struct DwarfIndex *d, struct Unit *u, const char *file)
{
	Dwarf_Files *files;
	size_t n;
	if (!d->trusted || dwarf_getsrcfiles(&u->top, &files, &n))
		return NULL;
	for (size_t i = 1; i < n; i++) {
		const char *name = dwarf_filesrc(files, i, NULL, NULL);
		if (name && path_ends(name, file))
			return name;
	}
	return NULL;
}

// The unit's file by the name the compiler was given, or that name in the directory it ran in.
static const char *unit_file(const struct DwarfIndex *d, struct Unit *u, const char *file)
{
	Dwarf_Attribute a;
	const char *name = unit_name(d, u);
	const char *dir = dwarf_attr(&u->top, DW_AT_comp_dir, &a) ? checked(d, dwarf_formstring(&a)) : NULL;
	if (name ? !strcmp(name, "<artificial>") : dwarf_hasattr(&u->top, DW_AT_GNU_dwo_name))
		return file_of_table(d, u, file);
	if (!name)
		return NULL;
	if (path_ends(name, file))
		return name;
	if (!dir || *name == '/')
		return NULL;
	char *full = xasprintf("%s/%s", dir, name);
	bool ends = path_ends(full, file);
	free(full);
	return ends ? name : NULL;
}

// Rows of included files are not those of the unit's.
static bool is_wanted(Dwarf_Line *l, const char *file, int line, int col)
{
	int row_line, row_col;
	bool stmt;
	const char *src = dwarf_linesrc(l, NULL, NULL);
	if (dwarf_lineno(l, &row_line) || row_line != line || dwarf_linebeginstatement(l, &stmt) || !stmt)
		return false;
	return src && (path_ends(src, file) || path_ends(file, src)) && (!col || (!dwarf_linecol(l, &row_col) && row_col == col));
}

// Two units' names for one file; a table of lines has whole paths.
static bool same_file(const char *a, const char *b)
{
	return !strcmp(a, b) || ((*a == '/') != (*b == '/') && (path_ends(a, b) || path_ends(b, a)));
}

static enum SymLine line_addr(struct DwarfIndex *d, const char *file, u32 line, u32 col, u64 *vaddr, struct Str *units)
{
	const char *first = NULL;
	bool have = false;
	u32 files = 0;
	for (u32 i = 0; i < d->units.n; i++) {
		struct Unit *u = &d->units.p[i];
		const char *name = unit_file(d, u, file);
		Dwarf_Lines *rows;
		size_t n;
		Dwarf_Addr at;
		if (!name)
			continue;
		if (!first || !same_file(first, name))
			str_addf(units, "%s%s", files++ ? ", " : "", name);
		first = name;
		if (dwarf_getsrclines(&u->top, &rows, &n))
			continue;
		for (size_t r = 0; r < n; r++) {
			Dwarf_Line *l = dwarf_onesrcline(rows, r);
			if (!l || !is_wanted(l, name, (int)line, (int)col) || dwarf_lineaddr(l, &at) || (have && at >= *vaddr))
				continue;
			*vaddr = at;
			have = true;
		}
	}
	return !files ? SYM_LINE_NO_UNIT : files > 1 ? SYM_LINE_AMBIGUOUS : have ? SYM_LINE_OK : SYM_LINE_NO_CODE;
}

enum SymLine sym_object_line(struct Syms *s, struct SymObject *o, const char *file, u32 line, u32 col, u64 *vaddr, struct Str *units)
{
	syms_lock(s);
	struct DwarfIndex *d = dwarf_index(s, o);
	enum SymLine r = d ? line_addr(d, file, line, col, vaddr, units) : SYM_LINE_NO_DWARF;
	syms_unlock(s);
	return r;
}

bool sym_object_section(struct Syms *s, struct SymObject *o, u64 vaddr, const char **section, u64 *off)
{
	syms_lock(s);
	struct DwarfIndex *d = dwarf_index(s, o);
	bool ok = d && objfile_place(d->elf, vaddr, section, off);
	syms_unlock(s);
	return ok;
}
