// Which objects get their unwind tables, and in what order: queues, and the two threads that have them built in turn (tablemaps.c). Input: objects that processes
// map, those that stacks ask for, code made at run time. An object is built once, whoever maps it.
#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include "track/internal.h"
#include "unwind/unwind.h"

struct Wish {
	struct SymObject *o;
	u32 count; // mappings seen before the thread started
	double worth;
	bool taken; // it is built, or being built
	bool dear;  // takes seconds: only if a stack asks for it, or somebody maps it while we look
	u32 haste; // enum Haste: it is in that queue
	struct UwMade *made; // owned; NULL: the rows are its file's
};
struct PageWish { // of an object whose table is there: one that was taken out, counted from its first
	u32 obj, page;
};
#define PAGES_MS 250 // pages that are asked for wait so long for others of their object: its entries are read once
#define FIRST_NS 1000000000ull // processor time, at the start, for which the thread goes before all other programs
#define SPARE 3u // values for rows that are made ahead, beyond what an object needs
// What comes first. Builds of what is less urgent wait meanwhile.
enum Haste {
	HASTE_MADE,  // code made at run time whose rows are known: no work, and it may end in ten milliseconds
	HASTE_NAMED, // a process maps it that the user has named: its first stacks may come in ten milliseconds
	HASTE_ASKED, // a stack wants it
	HASTE_NEW,   // mapped while we look: somebody runs it
	HASTE_QUEUES,
	HASTE_NONE = HASTE_QUEUES, // what all processes had mapped before: by worth
	HASTE_IDLE,
};
struct Queue {
	VEC(u32) objs; // by id, in the order they came
	size_t next;
};
struct Tables {
	struct TableMaps *maps;
	// shared with the threads that find objects
	pthread_mutex_t lock;
	pthread_cond_t more;
	VEC(struct Wish) todo;
	VEC(u32) seen; // by object id: index in todo + 1
	size_t next;   // in todo: what comes before is taken
	struct Queue queue[HASTE_QUEUES];
	u32 first; // enum Haste: no queue before this one has anything
	bool stop, started, idle;
	bool lazy; // what nobody asks for is not built
	VEC(struct PageWish) pages;
	u64 pages_ns; // when these are built; CLOCK_MONOTONIC
	bool trim; // a report is over
	u64 raw_ns; // when files that are no ELF files are looked at again; CLOCK_MONOTONIC
	struct TablesPay pay;
	u32 again; // lazy: an object has turned out to hold a runtime, or to tell of code. A word: not every machine exchanges bytes
	void (*found)(void *arg); // ... or not lazy; NULL: nobody wants to know
	void *found_arg;
	u32 nmade; // objects of code made at run time that are not built yet
	u32 building; // enum Haste of what the thread is at, which may become more urgent meanwhile
	u32 at;	      // ... its object's id; RT_UW_OBJS: none
	pthread_t thread;
	// The thread for HASTE_NAMED, which no other program of the machine keeps waiting. Who has the baton builds: the other thread gives it away where hurry() is
	// called, and runs at this one's priority until then (PTHREAD_PRIO_INHERIT). It is taken before the lock.
	pthread_t named;
	bool has_named;
	pthread_mutex_t baton;
	pthread_cond_t more_named;
};

struct err *tables_create(struct Program *prog, bool lazy, double cpu, struct Tables **out)
{
	struct Tables *t = xcalloc(1, sizeof(*t));
	struct err *e = tablemaps_create(prog, lazy, &t->maps);
	if (e) {
		free(t);
		return e;
	}
	t->lazy = lazy;
	t->pay = (struct TablesPay){.share = cpu / 100, .credit = TABLES_CREDIT_NS, .at_ns = now_ns()};
	t->first = HASTE_QUEUES;
	t->building = HASTE_IDLE;
	t->at = RT_UW_OBJS;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_t mono;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&t->more, &mono);
	pthread_condattr_destroy(&mono);
	pthread_cond_init(&t->more_named, NULL);
	pthread_mutexattr_t inherit;
	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&t->baton, &inherit);
	pthread_mutexattr_destroy(&inherit);
	*out = t;
	return NULL;
}

struct TableMaps *tables_maps(struct Tables *t)
{
	return t->maps;
}

// The object holds a runtime whose code is found in its process, or tells of code made at run time.
static bool is_worth_a_look(struct Tables *t, u32 obj, u32 lang)
{
	bool pending = false;
	u32 kind = lang ? tablemaps_row(t->maps, lang)->kind : 0;
	return kind == RT_LANG_JAVA || kind == RT_LANG_V8 || kind == RT_LANG_PHP || kind == RT_LANG_LUAJIT || tablemaps_jit(t->maps, obj, &pending);
}

static bool next_in(struct Tables *t, u32 haste, size_t *at)
{
	struct Queue *q = &t->queue[haste];
	for (; q->next < q->objs.n; q->next++) {
		*at = t->seen.p[q->objs.p[q->next]] - 1;
		if (!t->todo.p[*at].taken && t->todo.p[*at].haste == haste) // else it is in a more urgent one, or waits for its file
			return true;
	}
	q->next = q->objs.n = 0;
	return false;
}

// What is to be built next that is more urgent than `than`, and not the other thread's: its index in todo. False: nothing. The lock is held.
static bool find_next(struct Tables *t, u32 than, size_t *at)
{
	u32 i = 0, end = MIN(than, HASTE_QUEUES);
	while (i < end && !next_in(t, i, at))
		i++;
	__atomic_store_n(&t->first, i, __ATOMIC_RELAXED);
	if (t->has_named && i == HASTE_NAMED)
		while (++i < end && !next_in(t, i, at))
			;
	if (i < end)
		return true;
	while (t->next < t->todo.n && (t->todo.p[t->next].taken || t->todo.p[t->next].dear))
		t->next++;
	*at = t->next;
	return than > HASTE_NONE && !t->lazy && t->next < t->todo.n;
}

static bool hurry(void *arg);

// The lock is held.
static void is_at(struct Tables *t, u32 obj)
{
	t->at = obj;
	__atomic_store_n(&t->building, obj < RT_UW_OBJS ? t->todo.p[t->seen.p[obj] - 1].haste : HASTE_IDLE, __ATOMIC_RELAXED);
}

// The baton and the lock are held, the lock not while it is built.
static void build(struct Tables *t, size_t at)
{
	struct Wish w = t->todo.p[at];
	bool made = w.made != NULL;
	t->todo.p[at].taken = true;
	t->todo.p[at].made = NULL;
	u32 before = t->at;
	is_at(t, w.o->id);
	pthread_mutex_unlock(&t->lock);
	struct RtUwObj out = {0};
	struct UwHurry h = {hurry, t};
	u32 state = made ? tablemaps_made(t->maps, w.made, &out) : tablemaps_build(t->maps, w.o, &h, &out);
	uwmade_free(w.made);
	if (state != RT_UW_PENDING)
		tablemaps_put(t->maps, w.o->id, state, &out);
	if (is_worth_a_look(t, w.o->id, out.lang)) {
		if (t->lazy)
			__atomic_store_n(&t->again, 1u, __ATOMIC_RELEASE);
		if (t->found)
			t->found(t->found_arg);
	}
	pthread_mutex_lock(&t->lock);
	if (state == RT_UW_PENDING) { // when somebody maps it again
		t->todo.p[at].taken = false;
		t->todo.p[at].haste = HASTE_NONE;
		t->next += t->next == at;
	}
	is_at(t, before);
	t->nmade -= made;
	t->raw_ns = 0; // it may be such a file
	pthread_cond_broadcast(&t->more); // tables_wait_for
}

// Called again and again while a table is being built, which may take a tenth of a second: what is more urgent is built first. True: an end to all.
static bool hurry(void *arg)
{
	struct Tables *t = arg;
	bool more = true;
	size_t at;
	while (more && __atomic_load_n(&t->first, __ATOMIC_RELAXED) < __atomic_load_n(&t->building, __ATOMIC_RELAXED) && !__atomic_load_n(&t->stop, __ATOMIC_RELAXED)) {
		pthread_mutex_unlock(&t->baton); // whoever waits for it has it now
		pthread_mutex_lock(&t->baton);
		pthread_mutex_lock(&t->lock);
		more = find_next(t, t->building, &at);
		if (more)
			build(t, at);
		pthread_mutex_unlock(&t->lock);
	}
	return __atomic_load_n(&t->stop, __ATOMIC_RELAXED);
}

// The lock is held, but not while the other thread builds.
static void take_baton(struct Tables *t)
{
	pthread_mutex_unlock(&t->lock);
	pthread_mutex_lock(&t->baton);
	pthread_mutex_lock(&t->lock);
}

// Values for rows that are to come. The baton is held, by the thread that is not for the named ones not while the kernel makes them: what is built then is done
// before it goes on.
static void make_room(void *arg, u32 values)
{
	struct Tables *t = arg;
	struct RowStore *s = tablemaps_rows(t->maps);
	struct RowAhead ahead;
	bool named = __atomic_load_n(&t->building, __ATOMIC_RELAXED) <= HASTE_NAMED;
	if (!rowstore_ahead(s, values, named ? 0 : SPARE, &ahead))
		return;
	if (!named)
		pthread_mutex_unlock(&t->baton);
	rowstore_make(s, &ahead);
	if (!named)
		pthread_mutex_lock(&t->baton);
	rowstore_give(s, &ahead);
}

static void *work_named(void *arg)
{
	struct Tables *t = arg;
	size_t at;
	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		if (!next_in(t, HASTE_NAMED, &at)) {
			pthread_cond_wait(&t->more_named, &t->lock);
			continue;
		}
		take_baton(t);
		while (!t->stop && next_in(t, HASTE_NAMED, &at))
			build(t, at);
		pthread_mutex_unlock(&t->baton);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
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
	u64 when = MIN(t->pages.n ? t->pages_ns : ~0ull, t->raw_ns);
	struct timespec at = {(time_t)(when / 1000000000u), (long)(when % 1000000000u)};
	if (when != ~0ull)
		pthread_cond_timedwait(&t->more, &t->lock, &at);
	else
		pthread_cond_wait(&t->more, &t->lock);
}

// The object, if it is waiting, is built before all that is less urgent. The lock is held.
static void is_urgent(struct Tables *t, u32 obj, u32 haste)
{
	u32 at = obj < t->seen.n ? t->seen.p[obj] : 0;
	if (!at || t->todo.p[at - 1].haste <= haste)
		return;
	t->todo.p[at - 1].haste = haste;
	if (t->todo.p[at - 1].taken) { // what is less urgent does not come before its end any more
		if (obj == t->at)
			is_at(t, obj);
		return;
	}
	vec_push(&t->queue[haste].objs, obj);
	__atomic_store_n(&t->first, MIN(t->first, haste), __ATOMIC_RELAXED);
	if (haste == HASTE_NAMED && !t->has_named) // by the tracker, whose priority it takes over
		t->has_named = !thread_start(&t->named, NULL, work_named, t);
	pthread_cond_broadcast(haste == HASTE_NAMED && t->has_named ? &t->more_named : &t->more);
}

// A file that is no ELF file, whose code has changed, is built again. The lock is held, not all the time, and the baton is not. False: it is not time to look, and the lock was held.
static bool look_again(struct Tables *t)
{
	if (now_ns() < t->raw_ns)
		return false;
	u64 next;
	take_baton(t);
	pthread_mutex_unlock(&t->lock);
	const struct SymObject *o = tablemaps_changed(t->maps, now_ns(), &next);
	pthread_mutex_lock(&t->lock);
	t->raw_ns = next;
	if (o) {
		struct Wish *w = &t->todo.p[t->seen.p[o->id] - 1];
		w->taken = false;
		w->haste = HASTE_NONE;
		is_urgent(t, o->id, HASTE_ASKED);
	}
	pthread_mutex_unlock(&t->baton);
	return true;
}

// What there is to do besides whole tables. The lock is held, not all the time. False: nothing.
static bool do_pages(struct Tables *t)
{
	bool trim = t->trim, pages = t->pages.n && now_ns() >= t->pages_ns;
	if (trim) {
		t->trim = false;
		pthread_mutex_unlock(&t->lock);
		tablemaps_trim(t->maps);
		pthread_mutex_lock(&t->lock);
	}
	if (pages)
		build_pages(t);
	return trim || pages;
}

u64 tables_pay(struct TablesPay *p, u64 now_ns, u64 used_ns)
{
	if (p->share <= 0)
		return 0;
	p->credit = MIN(p->credit + p->share * (double)(now_ns - p->at_ns), TABLES_CREDIT_NS) - (double)(used_ns - p->used_ns);
	p->at_ns = now_ns;
	p->used_ns = used_ns;
	return p->credit < 0 ? (u64)(-p->credit / p->share) + 1 : 0;
}

// The thread has used what it may: it waits until that is more. The lock is held, not while it waits.
static bool pay(struct Tables *t)
{
	u64 now = now_ns(), wait = tables_pay(&t->pay, now, clock_ns(CLOCK_THREAD_CPUTIME_ID)), until = now + wait;
	if (!wait)
		return false;
	struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
	pthread_cond_timedwait(&t->more, &t->lock, &at);
	return true;
}

static void *work(void *arg)
{
	struct Tables *t = arg;
	size_t at;

	// Until a table is there the stacks through its object are cut: on a busy machine this has to come first. A thread's own nice value
	// (setpriority(2)); the work is half a second for all that runs on a machine. It counts among the tasks of one session or cgroup only (sched(7),
	// "The autogroup feature"), so that beside forty busy ones it would be a fortieth of the machine: a real-time policy does not.
	setpriority(PRIO_PROCESS, 0, -20);
	bool first = !t->lazy && t->pay.share <= 0 && !sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1});
	err_free(privs_drop()); // the main thread says what does not go
	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		if (first && clock_ns(CLOCK_THREAD_CPUTIME_ID) > FIRST_NS)
			first = sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0}) != 0;
		if (pay(t))
			continue;
		if (find_next(t, HASTE_IDLE, &at)) {
			take_baton(t);
			if (find_next(t, HASTE_IDLE, &at)) // again: the lock was not held
				build(t, at);
			pthread_mutex_unlock(&t->baton);
			continue;
		}
		if (do_pages(t) || look_again(t))
			continue;
		t->idle = true;
		pthread_cond_broadcast(&t->more);
		wait_for_more(t);
		t->idle = false;
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void add_wish(struct Tables *t, struct SymObject *o, struct UwMade *made)
{
	struct Wish w = {.o = o, .count = 1, .haste = HASTE_NONE, .made = made};
	vec_push(&t->todo, w);
	t->seen.p[o->id] = (u32)t->todo.n;
}

void tables_need(struct Tables *t, struct SymObject *o, bool named)
{
	if (o->id >= RT_UW_OBJS)
		return;
	pthread_mutex_lock(&t->lock);
	while (t->seen.n <= o->id)
		vec_push(&t->seen, 0);
	if (!t->seen.p[o->id])
		add_wish(t, o, NULL);
	else if (!t->started)
		t->todo.p[t->seen.p[o->id] - 1].count++;
	if (t->started && !t->lazy)
		is_urgent(t, o->id, named ? HASTE_NAMED : HASTE_NEW);
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
	bool rows = !made->cfi.n;
	t->nmade++;
	add_wish(t, o, made);
	is_urgent(t, o->id, rows ? HASTE_MADE : HASTE_ASKED);
	pthread_mutex_unlock(&t->lock);
	return true;
}

void tables_on_found(struct Tables *t, void (*found)(void *arg), void *arg)
{
	t->found = found;
	t->found_arg = arg;
}

bool tables_again(struct Tables *t)
{
	return __atomic_exchange_n(&t->again, 0u, __ATOMIC_ACQ_REL);
}

void tables_hurry(struct Tables *t, u32 obj)
{
	pthread_mutex_lock(&t->lock);
	is_urgent(t, obj, HASTE_ASKED);
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
static void weigh(struct Wish *w)
{
	struct stat st;
	if (w->o->fd < 0 || fstat(w->o->fd, &st))
		return;
	w->worth = (double)w->count / ((double)st.st_size + 65536);
	w->dear = uwtable_is_dear(w->o->fd, (u64)st.st_size);
}

static int by_worth(const void *a, const void *b)
{
	const struct Wish *x = a, *y = b;
	return x->worth != y->worth ? (x->worth < y->worth ? 1 : -1) : x->o->id < y->o->id ? -1 : 1;
}

struct err *tables_start(struct Tables *t)
{
	tablemaps_on_room(t->maps, make_room, t);
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->todo.n; i++)
		weigh(&t->todo.p[i]);
	if (t->todo.n)
		qsort(t->todo.p, t->todo.n, sizeof(*t->todo.p), by_worth);
	for (size_t i = 0; i < t->todo.n; i++)
		t->seen.p[t->todo.p[i].o->id] = (u32)i + 1;
	t->started = true;
	pthread_mutex_unlock(&t->lock);
	int rc = thread_start(&t->thread, NULL, work, t);
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

static bool all_done(struct Tables *t)
{
	size_t at;
	return t->idle && t->at == RT_UW_OBJS && !find_next(t, HASTE_IDLE, &at) && t->first != HASTE_NAMED;
}

void tables_wait(struct Tables *t, u64 until_ns)
{
	struct timespec end = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	while (t->started && !all_done(t) && !rc)
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
		pthread_cond_broadcast(&t->more_named);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->thread, NULL);
		if (t->has_named)
			pthread_join(t->named, NULL);
	}
	for (size_t i = 0; i < t->todo.n; i++)
		uwmade_free(t->todo.p[i].made);
	pthread_cond_destroy(&t->more);
	pthread_cond_destroy(&t->more_named);
	pthread_mutex_destroy(&t->baton);
	pthread_mutex_destroy(&t->lock);
	vec_deinit(&t->todo);
	vec_deinit(&t->pages);
	for (u32 i = 0; i < HASTE_QUEUES; i++)
		vec_deinit(&t->queue[i].objs);
	vec_deinit(&t->seen);
	tablemaps_destroy(t->maps);
	free(t);
}
