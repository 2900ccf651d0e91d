// Messages that wait to be sent: in memory, and in files of a directory, where they outlive the agent. What does not fit within the limits goes, the oldest first,
// and is counted.
// In: messages, the directory of an earlier agent. Out: the oldest message of a destination. Invariant: a file is whole or is not there; two agents never share
// a directory.
#include "agent/internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MESSAGE_MAX (256u << 20)

static void message_free(struct Message *m)
{
	free(m->file);
	free(m->query);
	str_deinit(&m->body);
	free(m);
}

static void queue_add(struct Queue *q, struct Message *m)
{
	if (!q->first)
		q->end = &q->first;
	m->next = NULL;
	*q->end = m;
	q->end = &m->next;
	q->n++;
}

static void unkeep_body(struct Spool *s, struct Message *m)
{
	if (m->body.n)
		s->memory -= m->size;
	str_deinit(&m->body);
}

static void take(struct Spool *s, struct Queue *q, struct Message **at)
{
	struct Message *m = *at;
	unkeep_body(s, m);
	if (m->file) {
		unlinkat(s->dir_fd, m->file, 0);
		s->disk -= m->size;
	}
	*at = m->next;
	if (q->end == &m->next)
		q->end = at;
	q->n--;
	message_free(m);
}

void spool_done(struct Spool *s, struct Queue *q)
{
	take(s, q, &q->first);
}

// The oldest that is not on its way just now; false: there is none
static bool drop(struct Spool *s, struct Queue *q)
{
	struct Message **at = &q->first;
	while (*at && (*at)->sending)
		at = &(*at)->next;
	if (!*at)
		return false;
	s->dropped++;
	s->dropped_samples += (*at)->samples;
	take(s, q, at);
	return true;
}

// The queue that holds most goes first: a server that answers does not pay for one that is away.
static struct Queue *longest(const struct Spool *s)
{
	struct Queue *most = NULL;
	for (u32 i = 0; i < s->nqueues; i++)
		if (s->queues[i]->n && (!most || s->queues[i]->n > most->n))
			most = s->queues[i];
	return most;
}

// Makes room for n bytes on disk.
static void trim_disk(struct Spool *s, u64 n)
{
	struct Queue *q;
	while (s->disk + n > s->max_disk && (q = longest(s)) && drop(s, q))
		;
}

// Bodies that are on disk too are let go, then whole messages, the oldest first.
static void trim_memory(struct Spool *s)
{
	struct Queue *q;
	for (u32 i = 0; i < s->nqueues; i++)
		for (struct Message *m = s->queues[i]->first; m && s->memory > s->max_memory; m = m->next)
			if (m->file && !m->sending)
				unkeep_body(s, m);
	while (s->memory > s->max_memory && (q = longest(s)) && drop(s, q))
		;
}

// ---- files: "QUERY SAMPLES\n" and the body

static bool write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t k = write(fd, p, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static struct err *write_file(struct Spool *s, struct Message *m, const char *name)
{
	struct Str head = {0};
	int fd = openat(s->dir_fd, "new.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(errno, "cannot write in %s", s->dir);
	str_addf(&head, "%s %llu\n", m->query, (unsigned long long)m->samples);
	bool ok = write_all(fd, str_text(&head), head.n) && write_all(fd, str_text(&m->body), m->body.n);
	str_deinit(&head);
	int e = errno;
	if (close(fd) && ok) {
		ok = false;
		e = errno;
	}
	if (ok && renameat(s->dir_fd, "new.tmp", s->dir_fd, name)) {
		ok = false;
		e = errno;
	}
	if (ok)
		return NULL;
	unlinkat(s->dir_fd, "new.tmp", 0);
	return err_errno(e, "cannot write in %s", s->dir);
}

void spool_put(struct Spool *s, struct Queue *q, const char *query, struct Str *body, u64 samples)
{
	struct Message *m = xcalloc(1, sizeof(*m));
	m->query = xstrdup(query);
	m->body = *body;
	m->size = body->n;
	m->samples = samples;
	*body = (struct Str){0};
	if (s->dir) {
		char *name = xasprintf("%016llx-%020llu", (unsigned long long)q->key, (unsigned long long)++s->serial);
		trim_disk(s, m->size);
		struct err *e = m->size <= s->max_disk ? write_file(s, m, name) : err_new("a message of %zu bytes is more than --spool-size", m->size);
		if (e) { // it goes on in memory
			fprintf(stderr, "WARNING: %s\n", err_text(e));
			err_free(e);
			free(name);
		} else {
			m->file = name;
			s->disk += m->size;
		}
	}
	queue_add(q, m);
	s->memory += m->size;
	trim_memory(s);
}

// Reads the head; with body also the rest.
static struct err *read_message(struct Spool *s, struct Message *m, bool body)
{
	char *head = NULL; // as long as it is: labels stand in it
	size_t cap = 0;
	struct stat st;
	struct err *e = NULL;
	int fd = openat(s->dir_fd, m->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_errno(errno, "cannot read %s/%s", s->dir, m->file);
	FILE *f = fdopen(fd, "r");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MESSAGE_MAX || getline(&head, &cap, f) < 0) {
		fclose(f);
		free(head);
		return err_new("%s/%s is none of ours", s->dir, m->file);
	}
	char *space = strrchr(head, ' '), *end;
	u64 samples = space ? strtoull(space + 1, &end, 10) : 0;
	if (!space || *end != '\n')
		e = err_new("%s/%s is none of ours", s->dir, m->file);
	else {
		*space = 0;
		m->samples = samples;
		m->size = (size_t)st.st_size - strlen(head) - strlen(space + 1) - 1;
		if (!m->query)
			m->query = xstrdup(head);
	}
	char buf[65536];
	for (size_t n; !e && body && (n = fread(buf, 1, sizeof(buf), f));)
		str_addn(&m->body, buf, n);
	fclose(f);
	free(head);
	if (!e && body && m->body.n != m->size)
		e = err_new("%s/%s has changed", s->dir, m->file);
	return e;
}

struct err *spool_body(struct Spool *s, struct Message *m)
{
	if (m->body.n || !m->file)
		return NULL;
	struct err *e = read_message(s, m, true);
	if (e)
		str_deinit(&m->body);
	else
		s->memory += m->size;
	return e;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name + 17, (*b)->d_name + 17); // by the number, whatever the destination
}

static int is_message(const struct dirent *d)
{
	return strlen(d->d_name) == 37 && d->d_name[16] == '-' && strspn(d->d_name, "0123456789abcdef") == 16 && strspn(d->d_name + 17, "0123456789") == 20;
}

static struct err *read_left(struct Spool *s)
{
	struct dirent **names;
	int n = scandir(s->dir, &names, is_message, by_name);
	if (n < 0)
		return err_errno(errno, "cannot read %s", s->dir);
	for (int i = 0; i < n; i++) {
		u64 key = strtoull(names[i]->d_name, NULL, 16), serial = strtoull(names[i]->d_name + 17, NULL, 10);
		struct Queue *q = NULL;
		for (u32 k = 0; k < s->nqueues; k++)
			if (s->queues[k]->key == key)
				q = s->queues[k];
		s->serial = MAX(s->serial, serial);
		struct Message *m = xcalloc(1, sizeof(*m));
		m->file = xstrdup(names[i]->d_name);
		struct err *e = q ? read_message(s, m, false) : NULL;
		if (e)
			fprintf(stderr, "WARNING: %s\n", err_text(e));
		if (e || !q) {
			s->strangers++;
			message_free(m);
		} else {
			queue_add(q, m);
			s->disk += m->size;
		}
		err_free(e);
		free(names[i]);
	}
	free(names);
	return NULL;
}

static struct err *make_dir(const char *path)
{
	struct err *e = NULL;
	char *text = xstrdup(path);
	for (char *at = text + 1; !e; at++)
		if (*at == '/' || !*at) {
			char was = *at;
			*at = 0;
			if (mkdir(text, 0700) && errno != EEXIST)
				e = err_errno(errno, "cannot make %s", text);
			*at = was;
			if (!was)
				break;
		}
	free(text);
	return e;
}

struct err *spool_open(struct Spool *s, struct Queue **queues, u32 nqueues)
{
	s->queues = queues;
	s->nqueues = nqueues;
	s->dir_fd = s->lock_fd = -1;
	s->serial = clock_ns(CLOCK_REALTIME);
	if (!s->dir)
		return NULL;
	struct err *e = make_dir(s->dir);
	if (e)
		return e;
	char *unfit = path_unfit(s->dir, 0);
	if (unfit) {
		e = err_new("will not keep messages in %s: %s", s->dir, unfit);
		free(unfit);
		return e;
	}
	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->lock_fd = s->dir_fd < 0 ? -1 : openat(s->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return err_errno(errno, "cannot write in %s", s->dir);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB))
		return err_new("another agent uses %s: give this one a directory of its own with --spool", s->dir);
	if ((e = read_left(s)))
		return e;
	trim_disk(s, 0);
	return NULL;
}

void spool_close(struct Spool *s, u64 *lost_samples)
{
	*lost_samples = 0;
	for (u32 i = 0; i < s->nqueues; i++)
		while (s->queues[i]->first) {
			struct Message *m = s->queues[i]->first;
			if (!m->file)
				*lost_samples += m->samples;
			s->queues[i]->first = m->next;
			message_free(m);
		}
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
}
