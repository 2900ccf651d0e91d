// One firing a place: attach points of one probe that lead to the same place. In: the points of a probe that has several attach points.
// Out: the list without those that come again; the first one's name stays. Invariant: what is left out would run the same action at the
// same instruction or event. bpftrace 0.17 runs it once for each attach point. Different probes of a script at one place all run.
#include <sys/stat.h>
#include "probe/internal.h"

struct File {
	const char *path; // as in the point
	u64 dev, ino;
};

// Many points in a row are of one file.
static const struct File *file_of(const char *path, struct File *last)
{
	struct stat st;
	if (last->path && (last->path == path || !strcmp(last->path, path)))
		return last;
	if (!path || stat(path, &st))
		return NULL;
	*last = (struct File){path, st.st_dev, st.st_ino};
	return last;
}

// A text that two points share if they are one place; empty: of no kind that has places, or unknown.
static void place_key(const struct Point *p, struct File *last, struct Str *key)
{
	const struct File *f;
	str_reset(key);
	switch (p->kind) {
	case PK_UPROBE: case PK_URETPROBE: case PK_USDT:
		f = file_of(p->target, last);
		if (f)
			str_addf(key, "%d;%llx;%llx;%llx;%d", p->kind, (unsigned long long)f->dev, (unsigned long long)f->ino,
				 (unsigned long long)p->addr, p->pid);
		if (f && p->kind == PK_USDT) // arguments are the marker's
			str_addf(key, ";%s;%s", p->ns ? p->ns : "", p->event ? p->event : "");
		break;
	case PK_KPROBE: case PK_KRETPROBE:
		if (p->addr)
			str_addf(key, "%d;%llx", p->kind, (unsigned long long)(p->addr + (p->event ? p->off : 0)));
		else if (p->event)
			str_addf(key, "%d;%s;%s;%llx", p->kind, p->target ? p->target : "", p->event, (unsigned long long)p->off);
		break;
	case PK_FENTRY: case PK_FEXIT:
		if (p->event)
			str_addf(key, "%d;%s;%u;%d", p->kind, p->event, p->btf_id, p->btf_obj_fd);
		break;
	case PK_TRACEPOINT: case PK_RAWTP:
		if (p->event)
			str_addf(key, "%d;%s;%s", p->kind, p->kind == PK_TRACEPOINT && p->target ? p->target : "", p->event);
		break;
	default: // timers, counters: two of them are two
		break;
	}
}

void places_unify(struct PointList *l)
{
	struct Map seen = {0};
	struct Str key = {0};
	struct File last = {0};
	size_t w = 0;
	for (size_t i = 0; i < l->v.n; i++) {
		struct Point *p = l->v.p[i];
		place_key(p, &last, &key);
		if (key.n && map_has(&seen, key.p))
			continue;
		if (key.n)
			map_put(&seen, key.p, p);
		l->v.p[w++] = p;
	}
	l->v.n = w;
	str_deinit(&key);
	map_deinit(&seen);
}
