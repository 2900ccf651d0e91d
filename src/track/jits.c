// Code made at run time of which its maker tells: by the JIT interface of GDB, or in a jitdump with unwinding information (docs/jit.md). Input: who maps what, which objects
// hold the interface's list (tablemaps.c); memory of processes. Output: objects made of the code's functions and rows, mappings that lead to them (procs.c), rt_jits.
// Invariant: while no process maps such an object nothing is looked at. Equal code (same functions, sizes, rows, distances) is one object, whoever has made it. Code that
// is gone keeps its object, so frames have their names; its mapping leads nowhere. Code and the version of the list that it is of are published in one.
#include "track/internal.h"
#include "unwind/unwind.h"

#define ENTRIES_MAX 16384u	  // of a list
#define FILE_MAX (64u << 20)
#define COMPARED (4u << 20)	  // bytes of files that are read again when the list has changed: another may lie where one was
#define TAKEN (16u << 20)	  // bytes of files that are new, in a look ...
#define TAKEN_NS 50000000ull	  // ... and how long these may take; the rest is for the looks to come
#define SPAN_MAX (3ull << 29)	  // of an object's code: QEMU's is up to 1 GB
#define CODE_MAX (1u << 20)	  // bytes of an object, if its instructions are read
#define BATCH_SPAN (64ull << 20)  // of pieces of a jitdump that are one object
#define BATCH 4096u
#define SLOW_NS 1000000ull
#define PAUSE 5
#define LOOKS_SOON 3

struct Jits *jits_create(int fd, struct Syms *syms, struct Tables *t, struct Procs *p, struct Jvms *jvms)
{
	struct Jits *j = xcalloc(1, sizeof(*j));
	j->fd = fd;
	j->syms = syms;
	j->tables = t;
	j->procs = p;
	j->jvms = jvms;
	j->known.size = sizeof(struct JitKnown);
	return j;
}

static void jit_free(struct Jit *j)
{
	vec_deinit(&j->entries);
	vec_deinit(&j->pcre.v);
	vec_deinit(&j->pcre.areas);
	vec_deinit(&j->lua.v);
	vec_deinit(&j->maps);
	jitdump_destroy(j->dump);
	wasmcode_destroy(j->wasm);
	clrcode_destroy(j->clr);
	free(j);
}

void jits_destroy(struct Jits *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->v.n; i++)
		jit_free(j->v.p[i]);
	vec_deinit(&j->v);
	numtab_deinit(&j->known);
	free(j);
}

static struct Jit *jit_of(struct Jits *j, int tgid)
{
	for (size_t i = 0; i < j->v.n; i++)
		if (j->v.p[i]->tgid == tgid)
			return j->v.p[i];
	return NULL;
}

void jits_gone(struct Jits *j, int tgid)
{
	for (size_t i = 0; j && i < j->v.n; i++) {
		if (j->v.p[i]->tgid != tgid)
			continue;
		sys_map_delete(j->fd, &(u32){(u32)tgid});
		jit_free(j->v.p[i]);
		j->v.p[i] = vec_last(&j->v);
		j->v.n--;
		return;
	}
}

// ---- the list of GDB's interface
// Of functions without unwinding information (LLVM gives none to those that never throw: numba's are such) their instructions tell, the process's from the object's first page on.
static void take_code(struct Jit *t, struct JitElf *e, u64 span)
{
	struct ElfCfi *c = &e->cfi;
	if (span > CODE_MAX)
		return;
	for (size_t i = 0; i < e->syms.n; i++)
		vec_push(&c->starts, e->syms.p[i].addr);
	if (!uwtable_lacks(c))
		return;
	u8 *code = xcalloc(span, 1);
	for (size_t i = 0; i < c->segs.n; i++)
		if (!jit_read_memory(&t->tgid, c->segs.p[i].vaddr, code + c->segs.p[i].off, c->segs.p[i].size)) {
			free(code);
			return;
		}
	c->file = (struct ElfFile){.fd = -1, .mem = code, .size = span};
	c->code = code;
}

// An ELF file's code. Takes its unwinding information.
static void add_elf(struct Jits *j, struct Jit *t, struct JitElf *e, struct JitListed *entry)
{
	const struct CfiSeg *last = &vec_last(&e->cfi.segs);
	u64 base = e->cfi.segs.p[0].vaddr & ~4095ull, span = last->vaddr + last->size - base;
	struct UwMade *made = xcalloc(1, sizeof(*made));

	if (span > SPAN_MAX) {
		free(made);
		return;
	}
	VEC(struct CfiSeg) segs = {0};
	for (size_t i = 0; i < e->cfi.segs.n; i++) {
		e->cfi.segs.p[i].off = e->cfi.segs.p[i].vaddr - base;
		vec_push(&segs, e->cfi.segs.p[i]);
	}
	if (!e->rows.n)
		take_code(t, e, span);
	bool rows = e->cfi.eh_frame.data || e->cfi.debug_frame.data || e->cfi.code || e->rows.n;
	for (size_t i = 0; i < e->syms.n; i++)
		e->syms.p[i].addr -= base;
	for (size_t i = 0; i < e->lines.n; i++)
		e->lines.p[i].addr -= base;
	vec_push(&made->cfi, e->cfi);
	e->cfi = (struct ElfCfi){.file = {.fd = -1}};
	for (size_t i = 0; i < e->rows.n; i++)
		vec_push(&made->rows, ((struct MadeRow){e->rows.p[i].off - base, e->rows.p[i].rule}));
	struct MadeNames names = {e->syms.p, (u32)e->syms.n, (u32)e->lines.n, e->lines.p};
	entry->obj = jit_object(j, base, span, &names, made);
	entry->base = base;
	for (size_t i = 0; entry->obj && i < segs.n; i++)
		jit_put(t, segs.p[i].vaddr, segs.p[i].size, segs.p[i].off, entry->obj, rows ? PROC_MADE : PROC_MADE_NAMES);
	vec_deinit(&segs);
}

static u8 *read_file_of(struct Jit *t, const struct JitEntry *e, u64 *hash)
{
	struct JitHash h = {0};
	u8 *p = e->size && e->size <= FILE_MAX ? xmalloc(e->size) : NULL;
	*hash = 0;
	if (p && !jit_read_memory(&t->tgid, e->file, p, e->size)) {
		free(p);
		return NULL;
	}
	if (p)
		jit_hash(&h, p, e->size);
	*hash = h.a;
	return p;
}

struct ByPlace { // which of a process's entries
	u64 at, file; // see struct NumTab
	u64 nr;
};

struct Look { // at a list
	u64 compared, taken; // bytes
	u64 until; // ns
	bool rest; // not all was taken
};

static void take_entry(struct Jits *j, struct Jit *t, const struct JitEntry *e, struct NumTab *index, struct Look *look)
{
	struct JitMemory m = {jit_read_memory, &t->tgid};
	struct JitElf elf;
	struct JitListed *known = NULL;
	u64 hash;

	struct ByPlace *place = numtab_put(index, e->at, e->file);
	if (place->nr && t->entries.p[place->nr - 1].is.size == e->size)
		known = &t->entries.p[place->nr - 1];
	if (known && known->here) // a circle
		return;
	if (known && look->compared > COMPARED) {
		known->here = true;
		return;
	}
	look->rest |= !known && look->taken && (look->taken > TAKEN || now_ns() > look->until);
	if (!known && look->rest)
		return;
	u8 *image = read_file_of(t, e, &hash);
	*(known ? &look->compared : &look->taken) += 1 + (image ? e->size : 0);
	if (known && known->hash == hash) {
		known->here = true;
		free(image);
		return;
	}
	struct JitListed new = {.is = *e, .hash = hash, .here = true};
	bool is_elf = image && e->size > 4 && !memcmp(image, "\177ELF", 4);
	if (image && (is_elf ? gdbjit_parse(image, e->size, &m, &elf) : beamjit_parse(image, e->size, t->stop, &elf)))
		add_elf(j, t, &elf, &new);
	if (image)
		gdbjit_free(&elf);
	free(image);
	vec_push(&t->entries, new);
	place->nr = t->entries.n;
}

// Its code may be unmapped, or other code lie there already: its rows hold no more.
static void retire(struct Jit *t, const struct JitListed *e)
{
	for (size_t i = 0; e->obj && i < t->maps.n; i++) {
		struct ProcMap *m = &t->maps.p[i];
		if (m->obj == e->obj && m->start - m->file_off == e->base && m->made == PROC_MADE) {
			m->made = PROC_MADE_NAMES;
			m->obj = NULL;
			t->changed = true;
		}
	}
}

// How Erlang's stacks are, which holds for all entries.
static void find_layout(struct Jit *t, const struct JitEntry *list, u32 n)
{
	struct JitMemory m = {jit_read_memory, &t->tgid};
	u8 says[BEAMJIT_LAYOUT];
	while (n-- > 0)
		if (list[n].size == sizeof(says) && jit_read_memory(&t->tgid, list[n].file, says, sizeof(says)) && beamjit_layout(&m, says, sizeof(says), &t->stop))
			return;
}

static void take_list(struct Jits *j, struct Jit *t, const u64 *first, struct Look *look)
{
	struct JitMemory m = {jit_read_memory, &t->tgid};
	struct JitEntry *list = xmalloc(ENTRIES_MAX * sizeof(*list));
	size_t kept = 0;
	struct NumTab index = {.size = sizeof(struct ByPlace)};

	for (size_t i = 0; i < t->entries.n; i++) {
		struct ByPlace *place = numtab_put(&index, t->entries.p[i].is.at, t->entries.p[i].is.file);
		place->nr = i + 1;
		t->entries.p[i].here = false;
	}
	for (u32 d = 0; d < t->ndesc; d++) {
		u32 n = gdbjit_list(&m, first[d], list, ENTRIES_MAX);
		if (!t->entries.n)
			find_layout(t, list, n);
		while (n) // the newest come first
			take_entry(j, t, &list[--n], &index, look);
	}
	free(list);
	numtab_deinit(&index);
	for (size_t i = 0; i < t->entries.n; i++) {
		if (t->entries.p[i].here)
			t->entries.p[kept++] = t->entries.p[i];
		else
			retire(t, &t->entries.p[i]);
	}
	t->entries.n = kept;
}

static u64 list_version(struct Jit *t, u64 *first)
{
	struct JitMemory m = {jit_read_memory, &t->tgid};
	u64 now = 1;
	for (u32 d = 0; d < t->ndesc && now; d++)
		now = gdbjit_version(&m, t->desc[d], now, &first[d]);
	return now;
}

static void read_list(struct Jits *j, struct Jit *t)
{
	u64 first[RT_JIT_DESCS] = {0}, before;
	struct Look look = {.until = now_ns() + TAKEN_NS};
	for (u32 try = 0; try < 3; try++) { // the process goes on meanwhile
		before = list_version(t, first);
		if (!before || before == t->version)
			return;
		t->version = 0; // until what is taken is known to be of one list
		look.compared = before == t->part ? COMPARED + 1 : 0; // it is the list that these are of
		take_list(j, t, first, &look);
		u64 after = list_version(t, first);
		t->part = look.rest && after == before ? before : 0;
		if (look.rest) {
			t->soon = MAX(t->soon, 2u); // this look and another
			return;
		}
		if (after == before) {
			t->version = before;
			return;
		}
	}
}

// ---- a jitdump with unwinding information
struct DumpPiece {
	u64 start, size;
	u32 order;
	char *name;	 // owned
	struct ElfCfi cfi; // owned
};
typedef VEC(struct DumpPiece) DumpPieces;

static int by_start(const void *a, const void *b)
{
	const struct DumpPiece *x = a, *y = b;
	return x->start != y->start ? (x->start < y->start ? -1 : 1) : x->order < y->order ? -1 : 1;
}

static void piece_free(struct DumpPiece *p)
{
	elfcfi_deinit(&p->cfi);
	free(p->name);
}

// Where pieces overlap the later one is there.
static void leave_newest(DumpPieces *v)
{
	size_t n = 0;
	qsort(v->p, v->n, sizeof(*v->p), by_start);
	for (size_t i = 0; i < v->n; i++) {
		struct DumpPiece *p = &v->p[i];
		while (n && v->p[n - 1].start + v->p[n - 1].size > p->start && v->p[n - 1].order < p->order)
			piece_free(&v->p[--n]);
		if (n && v->p[n - 1].start + v->p[n - 1].size > p->start)
			piece_free(p);
		else
			v->p[n++] = *p;
	}
	v->n = n;
}

static void flush_pieces(struct Jits *j, struct Jit *t, DumpPieces *v)
{
	if (!v->n)
		return;
	leave_newest(v);
	u64 base = v->p[0].start & ~4095ull, span = vec_last(v).start + vec_last(v).size - base;
	struct UwMade *made = xcalloc(1, sizeof(*made));
	struct MadeSym *syms = xmalloc(v->n * sizeof(*syms));
	for (size_t i = 0; i < v->n; i++) {
		struct DumpPiece *p = &v->p[i];
		syms[i] = (struct MadeSym){p->start - base, p->size, p->name};
		vec_push(&p->cfi.segs, ((struct CfiSeg){p->start, p->size, p->start - base}));
		vec_push(&made->cfi, p->cfi);
		p->cfi = (struct ElfCfi){.file = {.fd = -1}};
	}
	struct SymObject *o = jit_object(j, base, span, &(struct MadeNames){syms, (u32)v->n}, made);
	for (size_t i = 0; i < v->n; i++) {
		if (o)
			jit_put(t, v->p[i].start, v->p[i].size, v->p[i].start - base, o, PROC_MADE);
		piece_free(&v->p[i]);
	}
	free(syms);
	v->n = 0;
}

// The unwinding data of a piece: .eh_frame, then .eh_frame_hdr, as the writers of such files and perf have them; the specification says it the other way round. Its
// addresses count as if it lay behind the code, at the next multiple of 8.
static bool piece_cfi(struct JitDump *d, u32 i, struct ElfCfi *out)
{
	const struct JitCode *c = jitdump_code(d, i);
	u8 *data = jitdump_unwind(d, i);
	u64 size = c->unwind_size - c->unwind_hdr, skip = 0;
	u32 id = 1;

	if (data && size >= 16) {
		memcpy(&id, data + 4, sizeof(id));
		skip = id ? c->unwind_hdr : 0; // 0: a CIE
	}
	if (!data || size < 16) { // only a head without a table: by frame pointers
		free(data);
		return false;
	}
	memmove(data, data + skip, size);
	*out = (struct ElfCfi){.file = {.fd = -1}, .machine = gdbjit_machine(), .eh_frame = {data, size, c->start + ALIGN_UP(c->end - c->start, 8ull) + skip}};
	return true;
}

static bool covers_any(const MapList *v, u64 start, u64 end)
{
	size_t lo = 0, hi = v->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (v->p[mid].end <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->n && v->p[lo].start < end;
}

static void read_dump(struct Jits *j, struct Jit *t)
{
	DumpPieces v = {0};
	u32 n = jitdump_read(t->dump);
	for (u32 i = t->ndump; i < n; i++) {
		const struct JitCode *c = jitdump_code(t->dump, i);
		struct DumpPiece p = {.start = c->start, .size = c->end - c->start, .order = i};
		if (c->end - c->start > BATCH_SPAN || !piece_cfi(t->dump, i, &p.cfi)) {
			flush_pieces(j, t, &v);
			if (!t->entries.n && covers_any(&t->maps, c->start, c->end)) // the list, if there is one, tells by itself what is there
				jit_put(t, p.start, p.size, 0, NULL, PROC_MADE_NAMES);
			continue;
		}
		p.name = jitdump_name(t->dump, i);
		if (v.n && (v.n == BATCH || MAX(p.start, v.p[0].start) - MIN(p.start, v.p[0].start) > BATCH_SPAN))
			flush_pieces(j, t, &v);
		vec_push(&v, p);
	}
	flush_pieces(j, t, &v);
	vec_deinit(&v);
	t->ndump = n;
}

// ---- processes
static bool tell(struct Jits *j, const struct Jit *t)
{
	struct RtJit row = {.bias = t->php.bias};
	memcpy(row.desc, t->desc, sizeof(row.desc));
	return sys_map_update(j->fd, &(u32){(u32)t->tgid}, &row, 0) >= 0;
}

// False: not now.
static bool refresh(struct Jits *j, struct Jit *t)
{
	u64 began = now_ns(), before = t->version;
	if (began < t->not_before)
		return false;
	if (t->ndesc)
		read_list(j, t);
	if (t->dump)
		read_dump(j, t);
	if (t->pcre.areas.n)
		sljit_read(j, t);
	if (t->php.start && (t->soon || !t->php.obj))
		opcache_read(j, t);
	if (t->lua.lang)
		luatraces_read(j, t);
	if (t->wasm)
		wasmcode_read(j, t);
	if (t->clr)
		clrcode_read(j, t);
	bool list = t->listed || t->entries.n;
	if ((list && (!t->listed || t->version != before)) || ((t->php.start || t->lua.lang) && t->changed)) // before it is mapped
		t->listed = tell(j, t) && list;
	u64 version = !list ? 0 : t->version ? t->version : RT_JITS_UNREAD;
	if (t->changed || version != t->told) {
		if (!uwprocs_made(j->procs, t->tgid, t->maps.p, t->maps.n, version))
			return true;
		t->changed = false;
		t->told = version;
	}
	u64 took = now_ns() - began;
	if (took > SLOW_NS)
		t->not_before = began + took * PAUSE;
	return true;
}

struct Found {
	u64 desc[RT_JIT_DESCS];
	u32 ndesc;
	const struct SymObject *dump;
	const struct ProcMap *clr, *beam;
	bool pcre, php, lua, wasm;
};

static void find(struct Jits *j, const struct ProcMap *maps, size_t n, struct Found *f, bool *pending)
{
	for (size_t i = 0; i < n; i++) {
		u64 what = maps[i].obj ? tablemaps_jit(tables_maps(j->tables), maps[i].obj->id, pending) : 0;
		u64 at = what > JIT_BEAM ? jit_place_of(&maps[i], what) : 0;
		if (what == JIT_DUMP)
			f->dump = maps[i].obj;
		f->pcre |= what == JIT_PCRE;
		f->clr = what == JIT_CLR ? &maps[i] : f->clr;
		f->beam = what == JIT_BEAM && !f->beam ? &maps[i] : f->beam;
		for (u32 k = 0; k < f->ndesc; k++)
			if (f->desc[k] == at)
				at = 0;
		if (at && f->ndesc < RT_JIT_DESCS)
			f->desc[f->ndesc++] = at;
	}
}

static bool is_hidden_of(const struct Jit *t, const struct ProcMap *m)
{
	return m && t->hidden.obj == m->obj && t->hidden.start == m->start;
}

bool jits_look(void *arg, int tgid, const struct ProcMap *maps, size_t n)
{
	struct Jits *j = arg;
	struct Found f = {0};
	bool pending = false;
	struct Jit *t = jit_of(j, tgid);

	find(j, maps, n, &f, &pending);
	f.php = opcache_has(j, maps, n);
	f.lua = luatraces_has(j, maps, n);
	if (jvms_has(j->jvms, tgid)) // whose own tables tell of its code
		f = (struct Found){.wasm = wasmcode_has(j, maps, n)};
	u64 told = 0;
	if (t && is_hidden_of(t, f.beam) && t->hidden.found && f.ndesc < RT_JIT_DESCS)
		f.desc[f.ndesc++] = t->hidden.found;
	if (t && (f.ndesc != t->ndesc || memcmp(f.desc, t->desc, sizeof(f.desc)))) { // another program, or a library more
		told = t->told;
		jits_gone(j, tgid);
		t = NULL;
	}
	bool pcre = f.pcre && sljit_has(maps, n); // many a program maps the library and never compiles a pattern
	if (!f.ndesc && !f.dump && !pcre && !f.php && !f.lua && !f.wasm && !f.clr && !f.beam && !t && !told)
		return !pending;
	if (!t) {
		t = xcalloc(1, sizeof(*t));
		*t = (struct Jit){.tgid = tgid, .ndesc = f.ndesc, .told = told};
		memcpy(t->desc, f.desc, sizeof(t->desc));
		vec_push(&j->v, t);
	}
	if (f.dump && f.dump != t->dump_obj) {
		jitdump_destroy(t->dump);
		t->dump = jitdump_open(f.dump, tgid);
		t->dump_obj = f.dump;
		t->ndump = 0;
	}
	if (f.php)
		opcache_look(j, t, maps, n);
	if (f.wasm && !t->wasm)
		t->wasm = wasmcode_create();
	if (f.clr)
		clrcode_look(j, t, f.clr, maps, n);
	if (f.lua)
		luatraces_look(j, t, maps, n);
	if (f.beam && !(is_hidden_of(t, f.beam) && t->hidden.found)) {
		jithidden_look(&t->hidden, tgid, f.beam);
		if (t->hidden.found && t->ndesc < RT_JIT_DESCS)
			t->desc[t->ndesc++] = t->hidden.found;
		pending |= jithidden_may(&t->hidden);
	}
	if (f.pcre || f.php) // which may have it built in
		sljit_look(t, maps, n);
	refresh(j, t);
	t->soon = LOOKS_SOON; // a piece of code is mapped before its maker tells of it
	return !pending;
}

int track_jit_files(struct Syms *syms, int pid, const struct ProcMap *maps, u32 n)
{
	struct JitMemory m = {jit_read_memory, &pid};
	struct JitEntry *list = xmalloc(ENTRIES_MAX * sizeof(*list));
	struct JitHidden hidden = {0};
	u64 seen = 0, first;
	int files = -1;
	for (u32 i = 0; i < n; i++) {
		struct SymDef d;
		u64 at = maps[i].obj && sym_object_find(syms, maps[i].obj, "__jit_debug_descriptor", &d) ? jit_place_of(&maps[i], d.addr) : 0;
		if (!at && maps[i].obj && maps[i].obj != hidden.obj && sym_object_find(syms, maps[i].obj, "erl_drv_thread_self", &d)) {
			jithidden_look(&hidden, pid, &maps[i]);
			at = hidden.found;
		}
		if (!at || at == seen)
			continue;
		seen = at;
		files = MAX(files, 0) + (gdbjit_version(&m, at, 1, &first) ? (int)gdbjit_list(&m, first, list, ENTRIES_MAX) : 0);
	}
	free(list);
	return files;
}

void jits_asked(struct Jits *j, int tgid)
{
	struct Jit *t = j ? jit_of(j, tgid) : NULL;
	if (!t)
		return;
	t->version = 0; // what the kernel side was told is said once more
	if (t->wasm)
		wasmcode_asked(t->wasm);
	if (!refresh(j, t))
		t->soon = MAX(t->soon, 1u);
}

bool jits_any(const struct Jits *j)
{
	bool any = false;
	for (size_t i = 0; i < j->v.n && !any; i++)
		any = j->v.p[i]->listed || j->v.p[i]->dump || j->v.p[i]->pcre.areas.n || j->v.p[i]->lua.lang || j->v.p[i]->clr || (j->v.p[i]->wasm && wasmcode_any(j->v.p[i]->wasm));
	return any;
}

bool jits_round(struct Jits *j, bool tick)
{
	bool more = false;
	for (size_t i = 0; i < j->v.n; i++) {
		struct Jit *t = j->v.p[i];
		if (!t->soon && !tick)
			continue;
		if (refresh(j, t))
			t->soon -= t->soon > 0;
		more |= t->soon;
	}
	if (j->nrefused)
		__atomic_store_n(&j->stale, jit_is_stale(j), __ATOMIC_RELAXED);
	return more;
}
