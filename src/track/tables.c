// Rows -> the records the kernel side searches (bpfrt/stack.h), object after object, in a thread of its own. Input: objects that processes map.
// Output: rt_uw_obj, rt_uw_dir, rt_uw_rules and the 256 KB values of rt_uw_pages.
// Invariant: what a later store points to is written before it (rules, record, directory, then the object's state), so the walker sees a whole
// table or none. Records are never moved or freed: an object is built once, whoever maps it.
#include <elf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include "runtime/runtime.h"
#include "track/internal.h"
#include "unwind/unwind.h"

#define RULES_PER_OBJECT 4096u // no file may use up the numbers of the others; libLLVM-14 has 900

struct Wish {
	struct SymObject *o;
	u32 count; // mappings seen before the thread started
	double worth;
	u32 tries; // so often something more urgent came up
	bool asked; // a stack wants it
	struct UwMade *made; // owned; NULL: the rows are its file's
};
#define MAX_TRIES 4
struct Tables {
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
	// shared with the threads that find objects
	pthread_mutex_t lock;
	pthread_cond_t more;
	VEC(struct Wish) todo;
	VEC(u32) seen; // by object id: index in todo + 1
	size_t next;   // in todo
	bool stop, started, idle;
	bool lazy; // what nobody asks for is not built
	bool again; // lazy: an object has turned out to hold a runtime, or to tell of code
	bool any_java, any_jit;
	u64 *jit; // by object: tables_jit()
	u32 nmade; // objects of code made at run time that are not built yet
	bool urgent; // since the build that is going on began, an object was found or asked for
	pthread_t thread;
};

static void *array_of(const struct Program *prog, const char *name)
{
	const struct MapDef *m = program_map(prog, name);
	return m ? m->mmapped : NULL;
}

struct err *tables_create(struct Program *prog, bool lazy, struct Tables **out)
{
	struct Tables *t = xcalloc(1, sizeof(*t));
	const struct MapDef *pages = program_map(prog, "rt_uw_pages");

	t->pages_fd = pages ? pages->fd : -1;
	t->objs = array_of(prog, "rt_uw_obj");
	t->dir = array_of(prog, "rt_uw_dir");
	t->rules_at = array_of(prog, "rt_uw_rules");
	t->langs = array_of(prog, "rt_langs");
	t->nlangs = 1;
	t->chains = array_of(prog, "rt_chains");
	t->nchains = 1;
	t->lazy = lazy;
	t->go_funcs = prog->uses_lang_func;
	if (t->pages_fd < 0 || !t->objs || !t->dir || !t->rules_at) {
		free(t);
		return err_new("the unwinder's maps are not loaded");
	}
	ruleset_init(&t->rules, RT_UW_RULES);
	t->jit = xcalloc(RT_UW_OBJS, sizeof(*t->jit));
	t->rules_out = 1;
	t->rec = xmalloc(RT_UW_VAL_SIZE);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_t mono;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&t->more, &mono);
	pthread_condattr_destroy(&mono);
	*out = t;
	return NULL;
}

// ---- storage
// n bytes (a multiple of 4) in the current value or a new one. NULL: no more values, or no memory.
static u8 *alloc_record(struct Tables *t, u32 n, u32 *entry)
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

static void publish_rules(struct Tables *t)
{
	for (; t->rules_out < t->rules.v.n; t->rules_out++)
		t->rules_at[t->rules_out] = t->rules.v.p[t->rules_out];
}

// All pages of a table. False: no room.
static bool publish_rows(struct Tables *t, const struct UwTable *tab, struct RtUwObj *o)
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
static bool add_chain(struct Tables *t, const struct Runtime *rt, struct RtLang *lang)
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
static u32 find_lang(struct Tables *t, struct ElfFile *f, struct SymObject *o)
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
		if (rt->kind == RT_LANG_PHP)
			__atomic_store_n(&t->any_jit, true, __ATOMIC_RELEASE);
	} else if (rt) {
		sym_object_note(o, xasprintf("%s: %s%s%s is not known here: its stacks show the interpreter in the place of its program's functions", o->path,
					     rt->name, version.n ? " " : "", str_text(&version)));
	}
	str_deinit(&version);
	return nr;
}

// Rows of its code, or of its loop, lead to rules that say so: the walker needs no other look-up. Without room for more rules they do not.
static void mark_rules(struct Tables *t, struct UwTable *tab, struct RtLang *lang)
{
	u64 most = 0;
	for (size_t i = 0; i < tab->rows.n; i++) {
		u32 rule = UW_ROW_RULE(tab->rows.p[i]);
		u64 off = UW_ROW_OFF(tab->rows.p[i]);
		if (lang->loop_end && off - lang->loop >= lang->loop_end - lang->loop && off - lang->cold >= lang->cold_end - lang->cold)
			continue;
		struct RtUwRule r = t->rules.v.p[rule];
		r.index |= lang->kind == RT_LANG_V8 ? RT_UW_JIT : RT_UW_LANG;
		u32 marked = rule ? ruleset_add(&t->rules, &r) : 0;
		if (marked)
			tab->rows.p[i] = UW_ROW(UW_ROW_OFF(tab->rows.p[i]), marked);
		u64 size = i + 1 < tab->rows.n ? UW_ROW_OFF(tab->rows.p[i + 1]) - off : 0;
		if (lang->kind == RT_LANG_PHP && marked && size > most) {
			most = size;
			lang->php.body = marked;
		}
	}
}

static bool end_early(void *arg)
{
	struct Tables *t = arg;
	return __atomic_load_n(&t->stop, __ATOMIC_RELAXED);
}

static bool end_if_urgent(void *arg)
{
	struct Tables *t = arg;
	return end_early(t) || __atomic_load_n(&t->urgent, __ATOMIC_RELAXED);
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

static u32 build_made(struct Tables *t, const struct UwMade *m, struct RtUwObj *out)
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
static void find_jit(struct Tables *t, struct SymObject *o, u64 what)
{
	t->jit[o->id] = what;
	if (what)
		__atomic_store_n(&t->any_jit, true, __ATOMIC_RELEASE);
}

// RT_UW_PENDING: ended before its time.
static u32 build(struct Tables *t, struct SymObject *o, bool last_try, struct RtUwObj *out)
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
	struct UwHurry hurry = {last_try ? end_early : end_if_urgent, t};
	if (!uwtable_build(&cfi, &t->rules, &tab, &hurry)) {
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

// ---- the thread

static void exchange(struct Tables *t, size_t a, size_t b)
{
	struct Wish w = t->todo.p[a];
	t->todo.p[a] = t->todo.p[b];
	t->todo.p[b] = w;
	t->seen.p[t->todo.p[a].o->id] = (u32)a + 1;
	t->seen.p[t->todo.p[b].o->id] = (u32)b + 1;
}

// There is something to build, and it is t->next. The lock is held.
static bool has_work(struct Tables *t)
{
	if (!t->lazy)
		return t->next < t->todo.n;
	for (size_t i = t->next; i < t->todo.n; i++)
		if (t->todo.p[i].asked || t->todo.p[i].made) {
			exchange(t, i, t->next);
			return true;
		}
	return false;
}

static void *work(void *arg)
{
	struct Tables *t = arg;

	// Until a table is there the stacks through its object are cut: on a busy machine this has to come first. A thread's own nice value
	// (setpriority(2)); the work is half a second for all that runs on a machine.
	setpriority(PRIO_PROCESS, 0, -20);
	err_free(privs_drop()); // the main thread says what does not go
	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (!t->stop && !has_work(t)) {
			t->idle = true;
			pthread_cond_broadcast(&t->more);
			pthread_cond_wait(&t->more, &t->lock);
		}
		t->idle = false;
		if (t->stop)
			break;
		struct Wish w = t->todo.p[t->next++];
		__atomic_store_n(&t->urgent, false, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&t->lock);
		struct RtUwObj out = {0};
		u32 state = w.made ? build_made(t, w.made, &out) : build(t, w.o, w.tries >= MAX_TRIES, &out);
		bool was_made = w.made != NULL;
		uwmade_free(w.made);
		out.state = RT_UW_PENDING;
		if (t->lazy && (t->jit[w.o->id] || (out.lang && (t->langs[out.lang].kind == RT_LANG_JAVA || t->langs[out.lang].kind == RT_LANG_V8))))
			__atomic_store_n(&t->again, true, __ATOMIC_RELEASE);
		if (state != RT_UW_PENDING) {
			t->objs[w.o->id] = out;
			__atomic_store_n(&t->objs[w.o->id].state, state, __ATOMIC_RELEASE);
		}
		pthread_mutex_lock(&t->lock);
		t->nmade -= was_made;
		if (state == RT_UW_PENDING) { // behind what is more urgent
			w.tries++;
			vec_push(&t->todo, w);
			t->seen.p[w.o->id] = (u32)t->todo.n;
		}
		pthread_cond_broadcast(&t->more); // tables_wait_for
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

// The object, if it is waiting, is built next: it changes places with the one that would be. The lock is held.
static void next_is(struct Tables *t, u32 obj)
{
	u32 at = obj < t->seen.n ? t->seen.p[obj] : 0;
	if (!at-- || at < t->next)
		return;
	t->todo.p[at].asked = true;
	exchange(t, at, t->next);
	__atomic_store_n(&t->urgent, true, __ATOMIC_RELAXED);
}

void tables_need(struct Tables *t, struct SymObject *o)
{
	if (o->id >= RT_UW_OBJS)
		return;
	pthread_mutex_lock(&t->lock);
	while (t->seen.n <= o->id)
		vec_push(&t->seen, 0);
	u32 *at = &t->seen.p[o->id];
	if (!*at) {
		struct Wish w = {o, 1, 0};
		vec_push(&t->todo, w);
		*at = (u32)t->todo.n;
		if (t->started && !t->lazy) // somebody runs it now
			next_is(t, o->id);
		pthread_cond_broadcast(&t->more);
	} else if (!t->started) {
		t->todo.p[*at - 1].count++;
	}
	pthread_mutex_unlock(&t->lock);
}

bool tables_made(struct Tables *t, struct SymObject *o, struct UwMade *made)
{
	if (o->id >= RT_UW_OBJS) {
		uwmade_free(made);
		return false;
	}
	pthread_mutex_lock(&t->lock);
	while (t->seen.n <= o->id)
		vec_push(&t->seen, 0);
	t->nmade++;
	struct Wish w = {.o = o, .count = 1, .made = made};
	vec_push(&t->todo, w);
	t->seen.p[o->id] = (u32)t->todo.n;
	if (t->started)
		next_is(t, o->id);
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
	return true;
}

bool tables_any_jit(struct Tables *t)
{
	return __atomic_load_n(&t->any_jit, __ATOMIC_ACQUIRE);
}

// Its table is not there yet. One that nobody has asked for may never be: tables_again() tells if it then matters.
static bool is_pending(const struct Tables *t, u32 obj)
{
	return !t->lazy && __atomic_load_n(&t->objs[obj].state, __ATOMIC_ACQUIRE) == RT_UW_PENDING;
}

bool tables_again(struct Tables *t)
{
	return __atomic_exchange_n(&t->again, false, __ATOMIC_ACQ_REL);
}

u64 tables_jit(struct Tables *t, u32 obj, bool *pending)
{
	if (obj >= RT_UW_OBJS)
		return 0;
	*pending |= is_pending(t, obj);
	return t->jit[obj];
}

struct RtLang *tables_row(struct Tables *t, u32 lang)
{
	return &t->langs[lang % RT_LANGS];
}

u32 tables_lang(struct Tables *t, u32 obj, bool *pending)
{
	if (obj >= RT_UW_OBJS)
		return 0;
	*pending |= is_pending(t, obj);
	return t->objs[obj].lang;
}

bool tables_php_body(struct Tables *t, u32 lang, struct RtUwRule *out)
{
	const struct RtLang *l = tables_row(t, lang);
	if (l->kind != RT_LANG_PHP || !l->php.body)
		return false;
	*out = t->rules_at[l->php.body];
	return true;
}

bool tables_any_java(struct Tables *t)
{
	return __atomic_load_n(&t->any_java, __ATOMIC_ACQUIRE);
}

void tables_hurry(struct Tables *t, u32 obj)
{
	pthread_mutex_lock(&t->lock);
	next_is(t, obj);
	pthread_cond_broadcast(&t->more); // of those that nobody had asked for
	pthread_mutex_unlock(&t->lock);
}

// Those first that help most for their price: mappings by file size.
static double worth(const struct Wish *w)
{
	struct stat st;
	return w->o->fd >= 0 && !fstat(w->o->fd, &st) ? (double)w->count / ((double)st.st_size + 65536) : 0;
}

static int by_worth(const void *a, const void *b)
{
	const struct Wish *x = a, *y = b;
	return x->worth != y->worth ? (x->worth < y->worth ? 1 : -1) : x->o->id < y->o->id ? -1 : 1;
}

struct err *tables_start(struct Tables *t)
{
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->todo.n; i++)
		t->todo.p[i].worth = worth(&t->todo.p[i]);
	if (t->todo.n)
		qsort(t->todo.p, t->todo.n, sizeof(*t->todo.p), by_worth);
	for (size_t i = 0; i < t->todo.n; i++)
		t->seen.p[t->todo.p[i].o->id] = (u32)i + 1;
	t->started = true;
	pthread_mutex_unlock(&t->lock);
	int rc = pthread_create(&t->thread, NULL, work, t);
	t->started = rc == 0;
	return rc ? err_errno(rc, "cannot start the thread that builds unwind tables") : NULL;
}

void tables_wait_for(struct Tables *t, const u32 *obj, u32 n, u64 until_ns)
{
	struct timespec end = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	for (u32 i = 0; i < n; i++)
		while (t->started && !rc && obj[i] < t->seen.n && t->seen.p[obj[i]] && t->objs[obj[i]].state == RT_UW_PENDING)
			rc = pthread_cond_timedwait(&t->more, &t->lock, &end);
	pthread_mutex_unlock(&t->lock);
}

void tables_wait_made(struct Tables *t, u64 until_ns)
{
	struct timespec end = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	while (t->started && t->nmade && !rc)
		rc = pthread_cond_timedwait(&t->more, &t->lock, &end);
	pthread_mutex_unlock(&t->lock);
}

void tables_wait(struct Tables *t, u64 until_ns)
{
	struct timespec end = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	while (t->started && !(t->idle && !has_work(t)) && !rc)
		rc = pthread_cond_timedwait(&t->more, &t->lock, &end);
	pthread_mutex_unlock(&t->lock);
}

u64 tables_bytes(const struct Tables *t)
{
	return (u64)__atomic_load_n(&t->nval, __ATOMIC_RELAXED) * RT_UW_VAL_SIZE;
}

void tables_destroy(struct Tables *t)
{
	if (!t)
		return;
	if (t->started) {
		pthread_mutex_lock(&t->lock);
		__atomic_store_n(&t->stop, true, __ATOMIC_RELAXED);
		pthread_cond_broadcast(&t->more);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->thread, NULL);
	}
	if (t->val)
		munmap(t->val, RT_UW_VAL_SIZE);
	for (size_t i = t->next; i < t->todo.n; i++)
		uwmade_free(t->todo.p[i].made);
	ruleset_deinit(&t->rules);
	free(t->jit);
	pthread_cond_destroy(&t->more);
	pthread_mutex_destroy(&t->lock);
	vec_deinit(&t->todo);
	vec_deinit(&t->seen);
	free(t->rec);
	free(t);
}
