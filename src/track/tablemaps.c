// One object's rows -> the records the kernel side searches (bpfrt/stack.h): the maps of tables, and what building a table told of its object.
// Output: rt_uw_obj, rt_uw_dir, rt_uw_rules, rt_uw_pages (rowstore.c), rt_langs, rt_chains. One thread builds; what it has told of an object any may ask.
// Invariant: what a later store points to is written before it (rules, record, directory, then the object's state), so the walker sees a whole
// table or none.
#include <elf.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include "runtime/runtime.h"
#include "track/internal.h"
#include "unwind/unwind.h"

#define BESIDE 2u // pages on both sides come with one that is asked for: a stack often goes on there, and is cut at each that is out
#define RULES_PER_OBJECT 4096u // no file may use up the numbers of the others; libLLVM-14 has 900

struct TableMaps {
	struct RtUwObj *objs;	   // RT_UW_OBJS; borrowed, as are the other arrays
	struct RowStore *store;
	void (*room)(void *arg, u32 values); // NULL: nobody makes them ahead
	void *room_arg;
	struct RtUwRule *rules_at; // RT_UW_RULES
	struct RtLang *langs;	   // RT_LANGS; NULL: nobody asks for frames of languages
	u32 nlangs;		   // in use; number 0 is none
	struct RtChain *chains;	   // RT_CHAINS
	u32 nchains;
	bool go_funcs;		   // also of Go: its functions are asked for by name
	struct RuleSet rules;
	u32 rules_out; // rules the kernel side has
	bool on_demand;
	bool any_java, any_jit;
	u64 *jit; // by object: tablemaps_jit()
	struct RawFiles raw;
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

	t->objs = array_of(prog, "rt_uw_obj");
	u8 *dir = array_of(prog, "rt_uw_dir");
	t->rules_at = array_of(prog, "rt_uw_rules");
	t->langs = array_of(prog, "rt_langs");
	t->nlangs = 1;
	t->chains = array_of(prog, "rt_chains");
	t->nchains = 1;
	t->on_demand = on_demand;
	t->go_funcs = prog->uses_lang_func;
	if (!pages || pages->fd < 0 || !t->objs || !dir || !t->rules_at) {
		free(t);
		return err_new("the unwinder's maps are not loaded");
	}
	ruleset_init(&t->rules, RT_UW_RULES);
	t->jit = xcalloc(RT_UW_OBJS, sizeof(*t->jit));
	t->rules_out = 1;
	t->store = rowstore_create(pages->fd, dir, on_demand);
	*out = t;
	return NULL;
}

void tablemaps_destroy(struct TableMaps *t)
{
	if (!t)
		return;
	rowstore_destroy(t->store);
	ruleset_deinit(&t->rules);
	vec_deinit(&t->raw.v);
	free(t->jit);
	free(t);
}

static void publish_rules(struct TableMaps *t)
{
	for (; t->rules_out < t->rules.v.n; t->rules_out++)
		t->rules_at[t->rules_out] = t->rules.v.p[t->rules_out];
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
		const char *why = runtime_not_on(rt, f->machine);
		sym_object_note(o, xasprintf("%s: %s%s%s %s: its stacks show the interpreter in the place of its program's functions", o->path,
					     rt->name, version.n ? " " : "", str_text(&version), why ? why : "is not known here"));
	}
	str_deinit(&version);
	return nr;
}

#define MAX_MACHINE (1 << 20) // bytes of LuaJIT's

// The rule of most of its loop's code is wanted (tablemaps_body()): it takes all rows to know.
static bool has_body(const struct TableMaps *t, u32 nr)
{
	return nr && (t->langs[nr].kind == RT_LANG_PHP || t->langs[nr].kind == RT_LANG_LUAJIT);
}

static bool lies_in(u64 off, u64 from, u64 to)
{
	return off - from < to - from;
}

// Rows of its code, or of its loop, lead to rules that say so: the walker needs no other look-up. Without room for more rules they do not.
static void mark_rules(struct TableMaps *t, const struct ElfFile *f, struct UwTable *tab, u32 nr, const struct UwHurry *hurry)
{
	struct RtLang *lang = &t->langs[nr];
	u64 most = 0;
	if (!nr || lang->kind == RT_LANG_JAVA)
		return;
	for (size_t i = 0; i < tab->rows.n; i++) {
		u32 rule = UW_ROW_RULE(tab->rows.p[i]);
		u64 off = UW_ROW_OFF(tab->rows.p[i]);
		if (i % 64 == 0)
			uwhurry_stop(hurry);
		if (lang->loop_end && !lies_in(off, lang->loop, lang->loop_end) && !lies_in(off, lang->cold, lang->cold_end) && !lies_in(off, lang->resume, lang->resume_end))
			continue;
		struct RtUwRule r = t->rules.v.p[rule];
		r.index |= lang->kind == RT_LANG_V8 ? RT_UW_JIT : RT_UW_LANG;
		if (lang->kind == RT_LANG_LUAJIT && r.kind == RT_UW_REG && r.reg == RT_R_SP) {
			r.kind = RT_UW_LUAVM;
			r.off2 = lang->luajit.cur_l;
		}
		u32 marked = rule ? ruleset_add(&t->rules, &r) : 0;
		if (marked)
			tab->rows.p[i] = UW_ROW(UW_ROW_OFF(tab->rows.p[i]), marked);
		u64 size = i + 1 < tab->rows.n ? UW_ROW_OFF(tab->rows.p[i + 1]) - off : 0;
		if (has_body(t, nr) && marked && size > most) {
			most = size;
			lang->body = marked;
		}
	}
	u64 size = lang->loop_end - lang->loop;
	u8 *code = lang->kind == RT_LANG_LUAJIT ? elffile_load(f, lang->loop, size, MAX_MACHINE) : NULL;
	if (code)
		luavm_rows(code, lang->loop, size, &t->rules, tab);
	free(code);
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

// Its file was deleted and is closed (sym_files_close()): it may come back.
static bool is_closed(int fd)
{
	struct stat st;
	return !fstat(fd, &st) && S_ISCHR(st.st_mode);
}

// Each table has its number of new rules. One may be built within the building of another (hurry): returns what the end wants.
struct Budget {
	u32 max, had;
};

static struct Budget rules_begin(struct TableMaps *t)
{
	struct Budget others = {t->rules.max, (u32)t->rules.v.n};
	t->rules.max = MIN(others.had + RULES_PER_OBJECT, (u32)RT_UW_RULES);
	return others;
}

static void rules_end(struct TableMaps *t, struct Budget others)
{
	t->rules.max = MIN(others.max + (u32)t->rules.v.n - others.had, (u32)RT_UW_RULES);
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
	struct Budget others = rules_begin(t);
	for (size_t i = 0; i < m->cfi.n; i++) {
		struct UwTable one;
		uwtable_build(&m->cfi.p[i], &t->rules, &one, NULL); // what is followed of its instructions is little (jits.c)
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
	rules_end(t, others);
	publish_rules(t);
	u32 state = !all.rows.n ? RT_UW_BARE : rowstore_put(t->store, &all, out) ? RT_UW_READY : RT_UW_FULL;
	for (u32 i = 0; state == RT_UW_READY && i < out->npages; i++)
		rowstore_pin(t->store, out, i);
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

// What tablemaps_again() could not make as it was is never taken out.
static void pin(struct TableMaps *t, const struct UwTable *tab, const struct RtUwObj *o)
{
	bool all = tab->whole_only || has_body(t, o->lang);
	for (u32 i = 0; all && i < o->npages; i++)
		rowstore_pin(t->store, o, i);
	for (size_t i = 0; i < tab->followed.n; i++)
		rowstore_pin(t->store, o, tab->followed.p[i] - o->first_page);
}

void tablemaps_again(struct TableMaps *t, struct SymObject *o, const u32 *pages, u32 n)
{
	struct RtUwObj obj = t->objs[o->id];
	VEC(u32) wanted = {0};
	struct ElfCfi cfi;
	struct UwTable tab;
	for (u32 i = 0, next = 0; obj.state == RT_UW_READY && i < n; i++)
		for (u32 k = MAX(next, pages[i] - MIN(pages[i], BESIDE)); k <= pages[i] + BESIDE; next = ++k)
			if (rowstore_is_out(t->store, &obj, k))
				vec_push(&wanted, obj.first_page + k);
	struct err *e = wanted.n ? elfcfi_read_part(o->fd, &cfi) : NULL;
	if (wanted.n && !e) {
		struct Budget others = rules_begin(t);
		uwtable_part(&cfi, &t->rules, wanted.p, (u32)wanted.n, &tab);
		mark_rules(t, &cfi.file, &tab, obj.lang, NULL);
		rules_end(t, others);
		publish_rules(t);
		rowstore_again(t->store, &tab, &obj, wanted.p, (u32)wanted.n);
		uwtable_deinit(&tab);
		elfcfi_deinit(&cfi);
	}
	err_free(e);
	vec_deinit(&wanted);
}

struct RowStore *tablemaps_rows(struct TableMaps *t)
{
	return t->store;
}

void tablemaps_on_room(struct TableMaps *t, void (*room)(void *arg, u32 values), void *arg)
{
	t->room = room;
	t->room_arg = arg;
}

void tablemaps_trim(struct TableMaps *t)
{
	rowstore_trim(t->store);
}

// Both: false: hurry ended it.
static bool build_whole(struct TableMaps *t, struct ElfCfi *cfi, struct SymObject *o, const struct UwHurry *hurry, struct RtUwObj *out, u32 *state)
{
	struct UwTable tab;
	if (!uwtable_build(cfi, &t->rules, &tab, hurry))
		return false;
	if (tab.rows.n) {
		out->lang = out->lang ? out->lang : find_lang(t, &cfi->file, o);
		mark_rules(t, &cfi->file, &tab, out->lang, hurry);
		publish_rules(t);
		if (t->room)
			t->room(t->room_arg, rowstore_values(&tab));
		*state = rowstore_put(t->store, &tab, out) ? RT_UW_READY : RT_UW_FULL;
		if (*state == RT_UW_READY)
			pin(t, &tab, out);
	}
	uwtable_deinit(&tab);
	return true;
}

static bool build_large(struct TableMaps *t, struct ElfCfi *cfi, struct SymObject *o, const struct UwHurry *hurry, struct RtUwObj *out, u32 *state)
{
	struct UwTable tab;
	if (!uwtable_begin(cfi, &t->rules, &tab, hurry))
		return false;
	out->lang = find_lang(t, &cfi->file, o);
	if (has_body(t, out->lang)) {
		uwtable_deinit(&tab);
		return build_whole(t, cfi, o, NULL, out, state);
	}
	u64 first = ~0ull, last = 0;
	for (size_t i = 0; i < cfi->segs.n; i++) {
		const struct CfiSeg *s = &cfi->segs.p[i];
		first = s->size ? MIN(first, s->off >> RT_UW_PAGE_BITS) : first;
		last = s->size ? MAX(last, (s->off + s->size) >> RT_UW_PAGE_BITS) : last;
	}
	mark_rules(t, &cfi->file, &tab, out->lang, hurry);
	publish_rules(t);
	if (first <= last)
		*state = rowstore_begin(t->store, &tab, first, last, tab.followed.p, (u32)tab.followed.n, out) ? RT_UW_READY : RT_UW_FULL;
	if (*state == RT_UW_READY)
		pin(t, &tab, out);
	uwtable_deinit(&tab);
	return true;
}

static u32 build_raw(struct TableMaps *t, struct SymObject *o, struct RtUwObj *out)
{
	struct UwMade *m = rawcode_read(&t->raw, o);
	u32 state = m ? tablemaps_made(t, m, out) : RT_UW_BARE;
	uwmade_free(m);
	out->grows = m != NULL;
	return state;
}

struct SymObject *tablemaps_changed(struct TableMaps *t, u64 now_ns, u64 *next)
{
	return rawcode_changed(&t->raw, now_ns, next);
}

u32 tablemaps_build(struct TableMaps *t, struct SymObject *o, const struct UwHurry *hurry, struct RtUwObj *out)
{
	struct ElfCfi cfi;
	u32 state = RT_UW_BARE;

	if (o->fd < 0)
		return o->denied ? RT_UW_DENIED : RT_UW_UNREADABLE;
	bool closed = is_closed(o->fd);
	struct err *e = elfcfi_read(o->fd, &cfi);
	if (e && closed && !is_closed(o->fd)) { // it has come back just now
		err_free(e);
		e = elfcfi_read(o->fd, &cfi);
	}
	if (e) { // not ELF, another machine: frame pointers may do
		err_free(e);
		if (is_closed(o->fd))
			return RT_UW_PENDING;
		find_jit(t, o, jitdump_is_name(o->path) ? JIT_DUMP : 0);
		return is_damaged(o->fd) ? RT_UW_DAMAGED : jitdump_is_name(o->path) ? RT_UW_BARE : build_raw(t, o, out);
	}
	find_jit(t, o, gdbjit_descriptor(&cfi.file));
	sym_object_hint(o, runtime_made_hint(&cfi.file));
	struct Budget others = rules_begin(t);
	bool done = t->on_demand && uwtable_is_large(&cfi) ? build_large(t, &cfi, o, hurry, out, &state) : build_whole(t, &cfi, o, hurry, out, &state);
	rules_end(t, others);
	elfcfi_deinit(&cfi);
	if (t->jit[o->id] == JIT_CLR)
		sym_object_hint(o, SYM_PIECES ".NET's code, compiled a moment ago");
	u32 kind = out->lang ? tablemaps_row(t, out->lang)->kind : 0;
	if (kind == RT_LANG_JAVA)
		sym_object_hint(o, SYM_PIECES "HotSpot's code that are no method's, made as it starts");
	if (kind == RT_LANG_V8)
		sym_object_hint(o, SYM_PIECES "V8's code that are no function's (regular expressions, functions just begun); they have names with node --perf-basic-prof");
	return done ? state : RT_UW_PENDING;
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

void tablemaps_used(struct TableMaps *t, u32 obj, u64 off)
{
	const struct RtUwObj *o = obj < RT_UW_OBJS ? &t->objs[obj] : NULL;
	if (!o || tablemaps_state(t, obj) != RT_UW_READY)
		return;
	u64 page = (off >> RT_UW_PAGE_BITS) - o->first_page;
	if (page < o->npages)
		rowstore_used(t->store, o->dir + (u32)page);
}

u64 tablemaps_bytes(const struct TableMaps *t)
{
	return rowstore_bytes(t->store);
}
