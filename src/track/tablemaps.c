// One object's rows -> the records the kernel side searches (bpfrt/stack.h): the maps of tables, and what building a table told of its object.
// Output: rt_uw_obj, rt_uw_dir, rt_uw_rules, the 256 KB values of rt_uw_pages, rt_langs, rt_chains. One thread builds; what it has told of an object any may ask.
// Invariant: what a later store points to is written before it (rules, record, directory, then the object's state), so the walker sees a whole
// table or none. Records are never moved or freed.
#include <elf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "runtime/runtime.h"
#include "track/internal.h"
#include "unwind/unwind.h"

#define RULES_PER_OBJECT 4096u // no file may use up the numbers of the others; libLLVM-14 has 900

struct TableMaps {
	int pages_fd;		   // borrowed, as are the arrays
	struct RtUwObj *objs;	   // RT_UW_OBJS
	u8 *dir;		   // RT_UW_DIRS elements of 8 bytes
	struct RtUwRule *rules_at; // RT_UW_RULES
	struct RtLang *langs;	   // RT_LANGS; NULL: nobody asks for frames of languages
	u32 nlangs;		   // in use; number 0 is none
	struct RtChain *chains;	   // RT_CHAINS
	u32 nchains;
	bool go_funcs;		   // also of Go: its functions are asked for by name
	struct RuleSet rules;
	u32 rules_out; // rules the kernel side has
	u32 ndir;
	u32 nval;      // values made
	u8 *val;       // the last one, mapped; NULL none
	u32 val_used;
	u8 *rec;       // a record being made
	bool on_demand;
	bool any_java, any_jit;
	u64 *jit; // by object: tablemaps_jit()
};

static void *array_of(const struct Program *prog, const char *name)
{
	const struct MapDef *m = program_map(prog, name);
	return m ? m->mmapped : NULL;
}

struct err *tablemaps_create(struct Program *prog, bool on_demand, struct TableMaps **out)
{
	struct TableMaps *t = xcalloc(1, sizeof(*t));
	const struct MapDef *pages = program_map(prog, "rt_uw_pages");

	t->pages_fd = pages ? pages->fd : -1;
	t->objs = array_of(prog, "rt_uw_obj");
	t->dir = array_of(prog, "rt_uw_dir");
	t->rules_at = array_of(prog, "rt_uw_rules");
	t->langs = array_of(prog, "rt_langs");
	t->nlangs = 1;
	t->chains = array_of(prog, "rt_chains");
	t->nchains = 1;
	t->on_demand = on_demand;
	t->go_funcs = prog->uses_lang_func;
	if (t->pages_fd < 0 || !t->objs || !t->dir || !t->rules_at) {
		free(t);
		return err_new("the unwinder's maps are not loaded");
	}
	ruleset_init(&t->rules, RT_UW_RULES);
	t->jit = xcalloc(RT_UW_OBJS, sizeof(*t->jit));
	t->rules_out = 1;
	t->rec = xmalloc(RT_UW_VAL_SIZE);
	*out = t;
	return NULL;
}

void tablemaps_destroy(struct TableMaps *t)
{
	if (!t)
		return;
	if (t->val)
		munmap(t->val, RT_UW_VAL_SIZE);
	ruleset_deinit(&t->rules);
	free(t->jit);
	free(t->rec);
	free(t);
}

// ---- storage
// n bytes (a multiple of 4) in the current value or a new one. NULL: no more values, or no memory.
static u8 *alloc_record(struct TableMaps *t, u32 n, u32 *entry)
{
	if (!t->val || t->val_used + n > RT_UW_VAL_SIZE) {
		u32 key = t->nval;
		if (key >= RT_UW_VALS)
			return NULL;
		struct SysMap m = {BPF_MAP_TYPE_ARRAY, 4, RT_UW_VAL_SIZE, 1, BPF_F_MMAPABLE, "rt_uw_rows", 0};
		int fd = sys_map_create(&m);
		if (fd < 0)
			return NULL;
		u8 *p = mmap(NULL, RT_UW_VAL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		bool ok = p != MAP_FAILED && sys_map_update(t->pages_fd, &key, &fd, 0) >= 0;
		close(fd); // the outer map keeps it
		if (!ok) {
			if (p != MAP_FAILED)
				munmap(p, RT_UW_VAL_SIZE);
			return NULL;
		}
		if (t->val)
			munmap(t->val, RT_UW_VAL_SIZE);
		t->val = p;
		t->val_used = 4; // no record at offset 0: entry 0 means none
		__atomic_store_n(&t->nval, t->nval + 1, __ATOMIC_RELAXED);
	}
	*entry = (t->nval - 1) << 16 | t->val_used >> 2;
	t->val_used += n;
	return t->val + t->val_used - n;
}

static void publish_rules(struct TableMaps *t)
{
	for (; t->rules_out < t->rules.v.n; t->rules_out++)
		t->rules_at[t->rules_out] = t->rules.v.p[t->rules_out];
}

// All pages of a table. False: no room.
static bool publish_rows(struct TableMaps *t, const struct UwTable *tab, struct RtUwObj *o)
{
	u64 first = UW_ROW_OFF(tab->rows.p[0]) >> RT_UW_PAGE_BITS, last = UW_ROW_OFF(vec_last(&tab->rows)) >> RT_UW_PAGE_BITS;
	u32 carry = 0;
	size_t i = 0;

	if (last - first >= RT_UW_DIRS - t->ndir)
		return false;
	for (u64 page = first; page <= last; page++) {
		size_t end = i;
		u32 entry = 0;
		while (end < tab->rows.n && UW_ROW_OFF(tab->rows.p[end]) >> RT_UW_PAGE_BITS == page)
			end++;
		if (end > i || carry) {
			u32 size = uwrec_build(tab->rows.p + i, end - i, carry, t->rec);
			u8 *at = alloc_record(t, size, &entry);
			if (!at)
				return false;
			memcpy(at, t->rec, size);
		}
		__atomic_store_n((u32 *)(t->dir + (size_t)(t->ndir + page - first) * 8), entry, __ATOMIC_RELEASE);
		if (end > i)
			carry = UW_ROW_RULE(tab->rows.p[end - 1]);
		i = end;
	}
	o->dir = t->ndir;
	o->first_page = (u32)first;
	o->npages = (u32)(last - first + 1);
	t->ndir += o->npages;
	return true;
}

// The runtime's program of its chain, which all objects of its version have in common. False: there is no room for one more.
static bool add_chain(struct TableMaps *t, const struct Runtime *rt, struct RtLang *lang)
{
	struct RtChain c;
	u32 i = 1;

	if (!rt->chain)
		return true;
	if (!t->chains || !rt->chain(lang, &c))
		return false;
	while (i < t->nchains && memcmp(&t->chains[i], &c, sizeof(c)))
		i++;
	if (i >= RT_CHAINS)
		return false;
	if (i == t->nchains)
		t->chains[t->nchains++] = c;
	lang->chain = (u16)i;
	return true;
}

// The object holds a runtime: its number, 0 none, or one whose structures are not known.
static u32 find_lang(struct TableMaps *t, struct ElfFile *f, struct SymObject *o)
{
	struct Str version = {0};
	struct RtLang lang;
	bool known;
	const struct Runtime *rt = t->langs ? runtime_in_file(f, &lang, &version, &known) : NULL;
	u32 nr = 0;

	if (!rt && t->langs && t->go_funcs && runtime_go_file(f, &lang) && t->nlangs < RT_LANGS) {
		nr = t->nlangs++;
		t->langs[nr] = lang;
	}

	if (rt && known && t->nlangs < RT_LANGS && add_chain(t, rt, &lang)) {
		nr = t->nlangs++;
		t->langs[nr] = lang;
		if (rt->kind == RT_LANG_JAVA || rt->kind == RT_LANG_V8)
			__atomic_store_n(&t->any_java, true, __ATOMIC_RELEASE);
		if (rt->kind == RT_LANG_PHP || rt->kind == RT_LANG_LUAJIT)
			__atomic_store_n(&t->any_jit, true, __ATOMIC_RELEASE);
	} else if (rt) {
		sym_object_note(o, xasprintf("%s: %s%s%s is not known here: its stacks show the interpreter in the place of its program's functions", o->path,
					     rt->name, version.n ? " " : "", str_text(&version)));
	}
	str_deinit(&version);
	return nr;
}

// Rows of its code, or of its loop, lead to rules that say so: the walker needs no other look-up. Without room for more rules they do not.
static void mark_rules(struct TableMaps *t, struct UwTable *tab, struct RtLang *lang)
{
	u64 most = 0;
	for (size_t i = 0; i < tab->rows.n; i++) {
		u32 rule = UW_ROW_RULE(tab->rows.p[i]);
		u64 off = UW_ROW_OFF(tab->rows.p[i]);
		if (lang->loop_end && off - lang->loop >= lang->loop_end - lang->loop && off - lang->cold >= lang->cold_end - lang->cold)
			continue;
		struct RtUwRule r = t->rules.v.p[rule];
		r.index |= lang->kind == RT_LANG_V8 ? RT_UW_JIT : RT_UW_LANG;
		if (lang->kind == RT_LANG_LUAJIT && r.kind == RT_UW_REG && r.reg == RT_R_SP)
			r.kind = RT_UW_LUAVM;
		u32 marked = rule ? ruleset_add(&t->rules, &r) : 0;
		if (marked)
			tab->rows.p[i] = UW_ROW(UW_ROW_OFF(tab->rows.p[i]), marked);
		u64 size = i + 1 < tab->rows.n ? UW_ROW_OFF(tab->rows.p[i + 1]) - off : 0;
		if ((lang->kind == RT_LANG_PHP || lang->kind == RT_LANG_LUAJIT) && marked && size > most) {
			most = size;
			lang->body = marked;
		}
	}
}

// A file that says it is ELF, whose headers cannot be read.
static bool is_damaged(int fd)
{
	char magic[SELFMAG];
	struct stat st;
	struct ElfFile f;
	if (pread(fd, magic, sizeof(magic), 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG) || fstat(fd, &st))
		return false;
	struct err *e = elffile_open(&f, fd, NULL, (u64)st.st_size);
	bool damaged = e != NULL;
	err_free(e);
	if (!damaged)
		elffile_close(&f);
	return damaged;
}

// ---- code made at run time
void uwmade_free(struct UwMade *m)
{
	for (size_t i = 0; m && i < m->cfi.n; i++)
		elfcfi_deinit(&m->cfi.p[i]);
	if (m) {
		vec_deinit(&m->cfi);
		vec_deinit(&m->rows);
	}
	free(m);
}

u32 tablemaps_made(struct TableMaps *t, const struct UwMade *m, struct RtUwObj *out)
{
	struct UwTable all = {0};
	t->rules.max = MIN((u32)t->rules.v.n + RULES_PER_OBJECT, (u32)RT_UW_RULES);
	for (size_t i = 0; i < m->cfi.n; i++) {
		struct UwTable one;
		uwtable_build(&m->cfi.p[i], &t->rules, &one, NULL); // its instructions are not at hand: nothing is followed, it takes no time
		for (size_t k = 0; k < one.rows.n; k++) {
			u64 row = one.rows.p[k];
			if (all.rows.n && UW_ROW_OFF(vec_last(&all.rows)) == UW_ROW_OFF(row))
				all.rows.n--; // the end of the piece before
			if (!all.rows.n || UW_ROW_RULE(vec_last(&all.rows)) != UW_ROW_RULE(row))
				vec_push(&all.rows, row);
		}
		uwtable_deinit(&one);
	}
	for (size_t i = 0; i < m->rows.n; i++) {
		const struct MadeRow *r = &m->rows.p[i];
		vec_push(&all.rows, UW_ROW(r->off, r->rule.kind == RT_UW_NONE ? 0 : ruleset_add(&t->rules, &r->rule)));
	}
	out->lang = m->lang ? m->lang | RT_UW_LANG_MADE : 0;
	publish_rules(t);
	u32 state = !all.rows.n ? RT_UW_BARE : publish_rows(t, &all, out) ? RT_UW_READY : RT_UW_FULL;
	uwtable_deinit(&all);
	return state;
}

// What the object has to do with such code.
static void find_jit(struct TableMaps *t, struct SymObject *o, u64 what)
{
	__atomic_store_n(&t->jit[o->id], what, __ATOMIC_RELEASE); // the tracker reads it while tables are built
	if (what)
		__atomic_store_n(&t->any_jit, true, __ATOMIC_RELEASE);
}

u32 tablemaps_build(struct TableMaps *t, struct SymObject *o, const struct UwHurry *hurry, struct RtUwObj *out)
{
	struct ElfCfi cfi;
	struct UwTable tab;
	u32 state = RT_UW_BARE;

	if (o->fd < 0)
		return o->denied ? RT_UW_DENIED : RT_UW_UNREADABLE;
	struct err *e = elfcfi_read(o->fd, &cfi);
	if (e) { // not ELF, another machine: frame pointers may do
		err_free(e);
		find_jit(t, o, jitdump_is_name(o->path) ? JIT_DUMP : 0);
		return is_damaged(o->fd) ? RT_UW_DAMAGED : RT_UW_BARE;
	}
	find_jit(t, o, gdbjit_descriptor(&cfi.file));
	sym_object_hint(o, runtime_made_hint(&cfi.file));
	t->rules.max = MIN((u32)t->rules.v.n + RULES_PER_OBJECT, (u32)RT_UW_RULES);
	if (!uwtable_build(&cfi, &t->rules, &tab, hurry)) {
		elfcfi_deinit(&cfi);
		return RT_UW_PENDING;
	}
	if (tab.rows.n) {
		out->lang = find_lang(t, &cfi.file, o);
		if (out->lang && t->langs[out->lang].kind != RT_LANG_JAVA)
			mark_rules(t, &tab, &t->langs[out->lang]);
		publish_rules(t);
		state = publish_rows(t, &tab, out) ? RT_UW_READY : RT_UW_FULL;
	}
	uwtable_deinit(&tab);
	elfcfi_deinit(&cfi);
	return state;
}

void tablemaps_put(struct TableMaps *t, u32 obj, u32 state, struct RtUwObj *table)
{
	u32 words[sizeof(*table) / 4], *to = (u32 *)&t->objs[obj];
	table->state = RT_UW_PENDING;
	memcpy(words, table, sizeof(words));
	for (size_t i = 0; i < ARRAY_LEN(words); i++) // the tracker and programs may be reading
		__atomic_store_n(&to[i], words[i], __ATOMIC_RELEASE);
	__atomic_store_n(&t->objs[obj].state, state, __ATOMIC_RELEASE);
}

u32 tablemaps_state(const struct TableMaps *t, u32 obj)
{
	return __atomic_load_n(&t->objs[obj].state, __ATOMIC_ACQUIRE);
}

// Its table is not there yet. One that nobody has asked for may never be: tables_again() tells if it then matters.
static bool is_pending(const struct TableMaps *t, u32 obj)
{
	return !t->on_demand && __atomic_load_n(&t->objs[obj].state, __ATOMIC_ACQUIRE) == RT_UW_PENDING;
}

u64 tablemaps_jit(struct TableMaps *t, u32 obj, bool *pending)
{
	if (obj >= RT_UW_OBJS)
		return 0;
	*pending |= is_pending(t, obj);
	return __atomic_load_n(&t->jit[obj], __ATOMIC_ACQUIRE);
}

struct RtLang *tablemaps_row(struct TableMaps *t, u32 lang)
{
	return &t->langs[lang % RT_LANGS];
}

u32 tablemaps_lang(struct TableMaps *t, u32 obj, bool *pending)
{
	if (obj >= RT_UW_OBJS)
		return 0;
	*pending |= is_pending(t, obj);
	return __atomic_load_n(&t->objs[obj].lang, __ATOMIC_ACQUIRE);
}

bool tablemaps_body(struct TableMaps *t, u32 lang, struct RtUwRule *out)
{
	const struct RtLang *l = tablemaps_row(t, lang);
	if (!l->body)
		return false;
	*out = t->rules_at[l->body];
	return true;
}

bool tablemaps_any_java(struct TableMaps *t)
{
	return __atomic_load_n(&t->any_java, __ATOMIC_ACQUIRE);
}

bool tablemaps_any_jit(struct TableMaps *t)
{
	return __atomic_load_n(&t->any_jit, __ATOMIC_ACQUIRE);
}

u64 tablemaps_bytes(const struct TableMaps *t)
{
	return (u64)__atomic_load_n(&t->nval, __ATOMIC_RELAXED) * RT_UW_VAL_SIZE;
}
