// A report of a collector into the messages that its destinations take: for OTLP all of it, for Pyroscope a profile for each service, and the file.
// In: a profile with the labels of --by container. Out: messages in the spool, a file. Invariant: what is in the messages adds up to what was in the report.
#include "agent/internal.h"
#include <errno.h>
#include <zlib.h>

const char *const agent_sides[AGENT_SIDES] = {"cpu", "offcpu", "script", "when"};

static struct err *written(struct err *(*write)(const struct StackProfile *p, FILE *out), const struct StackProfile *p, struct Str *out)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	struct err *e = f ? write(p, f) : err_errno(errno, "memory for a message");
	if (f && fclose(f) && !e)
		e = err_errno(errno, "memory for a message");
	if (e)
		free(text);
	else
		*out = (struct Str){text, n, n + 1};
	return e;
}

static struct err *gzipped(const struct Str *in, struct Str *out)
{
	z_stream z = {.next_in = (u8 *)in->p, .avail_in = (uInt)in->n};
	if (in->n > 1u << 30 || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16 /* gzip */, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_new("a message cannot be compressed");
	size_t room = deflateBound(&z, in->n);
	*out = (struct Str){xcalloc(1, room), 0, room};
	z.next_out = (u8 *)out->p;
	z.avail_out = (uInt)room;
	int r = deflate(&z, Z_FINISH);
	out->n = room - z.avail_out;
	deflateEnd(&z);
	if (r == Z_STREAM_END)
		return NULL;
	str_deinit(out);
	return err_new("a message cannot be compressed");
}

// ---- services
#define OTHERS "[others]"

static struct Service *service_of(struct Batch *b, const char *name)
{
	struct Service *s = map_get(&b->services, name);
	if (s)
		return s;
	if (b->services.n >= SERVICES_MAX && strcmp(name, OTHERS)) // which has a place beyond those
		return service_of(b, OTHERS);
	s = xcalloc(1, sizeof(*s));
	map_put(&b->services, name, s);
	return s;
}

static void add_url_text(struct Str *out, const char *s)
{
	for (; *s; s++)
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || strchr("-_.~", *s))
			str_addc(out, *s);
		else
			str_addf(out, "%%%02X", (u8)*s);
}

// Pyroscope's names of labels: letters, digits and "_"; what would end a value of one is "_" too.
static void add_label(struct Str *out, bool first, const char *key, const char *value)
{
	str_add(out, first ? "{" : ",");
	for (; *key; key++)
		str_addc(out, (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z') || (*key >= '0' && *key <= '9') ? *key : '_');
	str_addc(out, '=');
	for (; *value; value++)
		str_addc(out, strchr("{},=\"", *value) || (u8)*value < 32 ? '_' : *value);
}

static const char *label(const struct StackProfile *p, const char *name)
{
	const struct StackSample *s = p->samples;
	for (u32 i = 0; p->label_names && i < s->nlabels; i++)
		if (!strcmp(p->label_names[i], name) && s->labels[i].kind == V_STR)
			return s->labels[i].text;
	return "";
}

// "name=SERVICE.cpu{...}&from=...&until=...&format=pprof": https://grafana.com/docs/pyroscope/latest/configure-server/about-server-api
static void pyroscope_query(const struct Batch *b, const struct StackProfile *p, const char *service, enum AgentSide side, struct Str *query)
{
	struct Str name = {0};
	u64 from = p->start_ns / 1000000000ull, until = (p->start_ns + p->duration_ns + 999999999ull) / 1000000000ull;
	bool first = true;
	for (; *service; service++)
		str_addc(&name, strchr("{},=\"", *service) || (u8)*service < 32 ? '_' : *service);
	str_addf(&name, ".%s", agent_sides[side]);
	for (u32 i = 0; i < b->nattrs; i++)
		if (strcmp(b->attrs[i].key, "service.name")) { // that is the name already
			add_label(&name, first, b->attrs[i].key, b->attrs[i].value);
			first = false;
		}
	if (*label(p, "container_id")) {
		add_label(&name, first, "container_id", label(p, "container_id"));
		first = false;
	}
	if (!first)
		str_addc(&name, '}');
	str_add(query, "name=");
	add_url_text(query, str_text(&name));
	str_addf(query, "&from=%llu&until=%llu&format=pprof&spyName=sonde", (unsigned long long)from, (unsigned long long)MAX(until, from + 1));
	if (p->period_ns)
		str_addf(query, "&sampleRate=%llu", (unsigned long long)((1000000000ull + p->period_ns / 2) / p->period_ns));
	str_deinit(&name);
}

static const char *named(const struct Batch *b, const struct StackProfile *p, const struct StackSample *s)
{
	return b->service ? b->service : sample_service(p, s);
}

// Of services that are called alike the containers are told apart.
static void split(const struct Batch *b, const struct StackProfile *p, struct Map *parts)
{
	for (u32 i = 0; i < p->n; i++) {
		struct StackProfile one = *p;
		struct Str key = {0};
		one.samples = &p->samples[i];
		str_addf(&key, "%s\n%s", named(b, p, &p->samples[i]), label(&one, "container_id"));
		struct StackProfile *to = map_get(parts, str_text(&key));
		if (!to) {
			to = xcalloc(1, sizeof(*to));
			*to = *p;
			to->samples = xcalloc(p->n, sizeof(*to->samples));
			to->n = 0;
			map_put(parts, str_text(&key), to);
		}
		to->samples[to->n++] = p->samples[i];
		str_deinit(&key);
	}
}

static struct err *to_pyroscope(struct Batch *b, const struct StackProfile *p, enum AgentSide side, struct Spool *spool, struct Destination *d)
{
	struct Map parts = {0};
	struct err *e = NULL;
	split(b, p, &parts);
	for (u32 i = 0; i < parts.n; i++) {
		struct StackProfile *part = parts.slots[i].val;
		struct Str query = {0}, body = {0};
		u64 value = profile_total(part);
		if (!e && value && !(e = written(pprof_write, part, &body))) {
			pyroscope_query(b, part, named(b, part, part->samples), side, &query);
			spool_put(spool, &d->queue, str_text(&query), &body, value);
		}
		str_deinit(&query);
		free(part->samples);
		free(part);
	}
	map_deinit(&parts);
	return e;
}

static struct err *to_otlp(const struct StackProfile *p, struct Spool *spool, struct Destination *d)
{
	struct Str plain = {0}, body = {0};
	struct err *e = written(otlp_write, p, &plain);
	if (!e && !(e = gzipped(&plain, &body)))
		spool_put(spool, &d->queue, "", &body, profile_total(p));
	str_deinit(&plain);
	return e;
}

struct err *batch_take(struct Batch *b, enum AgentSide side, struct StackProfile *p, struct Spool *spool, struct Destination *d, u32 nd, struct Dir *dir)
{
	struct err *e = NULL;
	p->attrs = b->attrs;
	p->nattrs = b->nattrs;
	for (u32 i = 0; i < p->n; i++)
		service_of(b, named(b, p, &p->samples[i]))->values[side] += p->samples[i].value;
	b->reports[side]++;
	b->values[side] += profile_total(p);
	b->period_ns = p->period_ns ? p->period_ns : b->period_ns;
	if (dir && p->n) {
		struct Str body = {0};
		e = written(pprof_write, p, &body);
		if (!e)
			dir_put(dir, agent_sides[side], p->start_ns, &body);
		str_deinit(&body);
	}
	for (u32 i = 0; !e && p->n && i < nd; i++)
		e = d[i].kind == SEND_OTLP ? to_otlp(p, spool, &d[i]) : to_pyroscope(b, p, side, spool, &d[i]);
	return e;
}

void batch_deinit(struct Batch *b)
{
	for (u32 i = 0; i < b->services.n; i++)
		free(b->services.slots[i].val);
	map_deinit(&b->services);
}
