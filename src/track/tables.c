// Which objects get their unwind tables, and in what order: a queue, and the thread that has them built (tablemaps.c). Input: objects that processes
// map, those that stacks ask for, code made at run time. An object is built once, whoever maps it.
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include "track/internal.h"
#include "unwind/unwind.h"

struct Wish {
	struct SymObject *o;
	u32 count; // mappings seen before the thread started
	double worth;
	u32 tries; // so often something more urgent came up
	bool asked; // a stack wants it
	struct UwMade *made; // owned; NULL: the rows are its file's
};
#define MAX_TRIES 4
struct PageWish { // of an object whose table is there: one that was taken out, counted from its first
	u32 obj, page;
};
#define PAGES_MS 250 // pages that are asked for wait so long for others of their object: its entries are read once
struct Tables {
	struct TableMaps *maps;
	// shared with the threads that find objects
	pthread_mutex_t lock;
	pthread_cond_t more;
	VEC(struct Wish) todo;
	VEC(u32) seen; // by object id: index in todo + 1
	size_t next;   // in todo
	bool stop, started, idle;
	bool lazy; // what nobody asks for is not built
	VEC(struct PageWish) pages;
	u64 pages_ns; // when these are built; CLOCK_MONOTONIC
	bool trim; // a report is over
	bool again; // lazy: an object has turned out to hold a runtime, or to tell of code
	u32 nmade; // objects of code made at run time that are not built yet
	bool urgent; // since the build that is going on began, an object was found or asked for
	pthread_t thread;
};

struct err *tables_create(struct Program *prog, bool lazy, struct Tables **out)
{
	struct Tables *t = xcalloc(1, sizeof(*t));
	struct err *e = tablemaps_create(prog, lazy, &t->maps);
	if (e) {
		free(t);
		return e;
	}
	t->lazy = lazy;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_t mono;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&t->more, &mono);
	pthread_condattr_destroy(&mono);
	*out = t;
	return NULL;
}

struct TableMaps *tables_maps(struct Tables *t)
{
	return t->maps;
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

// The object holds a runtime whose code is found in its process, or tells of code made at run time.
static bool is_worth_a_look(struct Tables *t, u32 obj, u32 lang)
{
	bool pending = false;
	u32 kind = lang ? tablemaps_row(t->maps, lang)->kind : 0;
	return kind == RT_LANG_JAVA || kind == RT_LANG_V8 || tablemaps_jit(t->maps, obj, &pending);
}

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

static int by_obj(const void *a, const void *b)
{
	const struct PageWish *x = a, *y = b;
	return x->obj != y->obj ? (x->obj < y->obj ? -1 : 1) : x->page < y->page ? -1 : x->page > y->page;
}

// The lock is held on entry and return, not while pages are built.
static void build_pages(struct Tables *t)
{
	VEC(struct PageWish) todo = {0};
	VEC(struct SymObject *) objs = {0};
	VEC(u32) pages = {0};
	for (size_t i = 0; i < t->pages.n; i++)
		vec_push(&todo, t->pages.p[i]);
	t->pages.n = 0;
	qsort(todo.p, todo.n, sizeof(*todo.p), by_obj);
	for (size_t i = 0; i < todo.n; i++)
		vec_push(&objs, t->todo.p[t->seen.p[todo.p[i].obj] - 1].o);
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0, end; i < todo.n; i = end) {
		pages.n = 0;
		for (end = i; end < todo.n && todo.p[end].obj == todo.p[i].obj; end++)
			if (end == i || todo.p[end].page != todo.p[end - 1].page)
				vec_push(&pages, todo.p[end].page);
		tablemaps_again(t->maps, objs.p[i], pages.p, (u32)pages.n);
	}
	vec_deinit(&todo);
	vec_deinit(&objs);
	vec_deinit(&pages);
	pthread_mutex_lock(&t->lock);
}

static void wait_for_more(struct Tables *t)
{
	struct timespec at = {(time_t)(t->pages_ns / 1000000000u), (long)(t->pages_ns % 1000000000u)};
	if (t->pages.n)
		pthread_cond_timedwait(&t->more, &t->lock, &at);
	else
		pthread_cond_wait(&t->more, &t->lock);
}

// What there is to do besides whole tables. The lock is held.
static void do_pages(struct Tables *t)
{
	if (t->trim) {
		t->trim = false;
		pthread_mutex_unlock(&t->lock);
		tablemaps_trim(t->maps);
		pthread_mutex_lock(&t->lock);
	}
	if (t->pages.n && now_ns() >= t->pages_ns)
		build_pages(t);
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
			do_pages(t);
			if (t->stop || has_work(t) || t->trim)
				continue;
			t->idle = true;
			pthread_cond_broadcast(&t->more);
			wait_for_more(t);
		}
		t->idle = false;
		if (t->stop)
			break;
		struct Wish w = t->todo.p[t->next++];
		__atomic_store_n(&t->urgent, false, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&t->lock);
		struct RtUwObj out = {0};
		struct UwHurry hurry = {w.tries >= MAX_TRIES ? end_early : end_if_urgent, t};
		u32 state = w.made ? tablemaps_made(t->maps, w.made, &out) : tablemaps_build(t->maps, w.o, &hurry, &out);
		bool was_made = w.made != NULL;
		uwmade_free(w.made);
		if (t->lazy && is_worth_a_look(t, w.o->id, out.lang))
			__atomic_store_n(&t->again, true, __ATOMIC_RELEASE);
		if (state != RT_UW_PENDING)
			tablemaps_put(t->maps, w.o->id, state, &out);
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

bool tables_again(struct Tables *t)
{
	return __atomic_exchange_n(&t->again, false, __ATOMIC_ACQ_REL);
}

void tables_hurry(struct Tables *t, u32 obj)
{
	pthread_mutex_lock(&t->lock);
	next_is(t, obj);
	pthread_cond_broadcast(&t->more); // of those that nobody had asked for
	pthread_mutex_unlock(&t->lock);
}

void tables_page(struct Tables *t, u32 obj, u64 page)
{
	pthread_mutex_lock(&t->lock);
	if (obj < t->seen.n && t->seen.p[obj] && page < RT_UW_DIRS) {
		if (!t->pages.n)
			t->pages_ns = now_ns() + PAGES_MS * 1000000ull;
		vec_push(&t->pages, ((struct PageWish){obj, (u32)page}));
		pthread_cond_broadcast(&t->more);
	}
	pthread_mutex_unlock(&t->lock);
}

void tables_trim(struct Tables *t)
{
	pthread_mutex_lock(&t->lock);
	t->trim = t->lazy;
	pthread_cond_broadcast(&t->more);
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
		while (t->started && !rc && obj[i] < t->seen.n && t->seen.p[obj[i]] && tablemaps_state(t->maps, obj[i]) == RT_UW_PENDING)
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
	for (size_t i = t->next; i < t->todo.n; i++)
		uwmade_free(t->todo.p[i].made);
	pthread_cond_destroy(&t->more);
	pthread_mutex_destroy(&t->lock);
	vec_deinit(&t->todo);
	vec_deinit(&t->pages);
	vec_deinit(&t->seen);
	tablemaps_destroy(t->maps);
	free(t);
}
