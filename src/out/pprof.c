// Profiles for pprof: a gzipped protocol buffer.
// In: stack counts. Out: the Profile message of https://github.com/google/pprof/blob/main/proto/profile.proto. Invariant: every id and every
// string index that is used is defined; string 0 is empty; every address lies in its mapping.
#include "out/internal.h"
#include <sys/utsname.h>

// ---- tables: text -> number from 1 (strings: from 0)

struct Writer {
	const struct StackProfile *p;
	struct Str out;
	struct Map strings, functions, locations;
	struct Places places;
	struct FrameIds frames;
};

static u64 string_id(struct Writer *w, const char *s)
{
	bool fresh;
	return s && *s ? number_of(&w->strings, s, &fresh) : 0;
}

// ---- mappings, locations, functions

static void put_mapping(struct Writer *w, u64 id)
{
	struct Mapping *m = &w->places.v.p[id - 1];
	struct Str s = {0};
	pb_uint(&s, MAPPING_ID, id);
	pb_uint(&s, MAPPING_START, m->start);
	pb_uint(&s, MAPPING_LIMIT, m->limit);
	pb_uint(&s, MAPPING_OFFSET, m->offset);
	pb_uint(&s, MAPPING_FILENAME, string_id(w, m->name));
	pb_uint(&s, MAPPING_BUILD_ID, string_id(w, m->build_id));
	pb_uint(&s, MAPPING_HAS_FUNCTIONS, m->names); // else readers may look for names themselves
	pb_uint(&s, MAPPING_HAS_FILENAMES, m->lines);
	pb_uint(&s, MAPPING_HAS_LINES, m->lines);
	pb_uint(&s, MAPPING_HAS_INLINES, m->inlines);
	pb_message(&w->out, PROFILE_MAPPING, &s);
}

// The first one is taken for the program's.
static void put_mappings(struct Writer *w)
{
	u64 first = 0;
	places_end(&w->places);
	for (u64 i = 1; !first && i <= w->places.v.n; i++) {
		const char *name = w->places.v.p[i - 1].name;
		if (name[0] == '/' && !strstr(name, ".so"))
			first = i;
	}
	if (first)
		put_mapping(w, first);
	for (u64 i = 1; i <= w->places.v.n; i++)
		if (i != first)
			put_mapping(w, i);
}

static u64 function_id(struct Writer *w, const struct Frame *f)
{
	struct Str name = {0}, key = {0};
	bool fresh;
	function_name(f, &name);
	const char *system = function_system_name(f, str_text(&name));
	const char *parts[] = {str_text(&name), system, f->file, f->module};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		key_text(&key, parts[i]);
	u64 id = number_of(&w->functions, str_text(&key), &fresh);
	if (fresh) {
		struct Str m = {0};
		pb_uint(&m, FUNCTION_ID, id);
		pb_uint(&m, FUNCTION_NAME, string_id(w, str_text(&name)));
		pb_uint(&m, FUNCTION_SYSTEM_NAME, string_id(w, system));
		pb_uint(&m, FUNCTION_FILENAME, string_id(w, f->file));
		pb_message(&w->out, PROFILE_FUNCTION, &m);
	}
	str_deinit(&name);
	str_deinit(&key);
	return id;
}

// Frames [0, n) at one address: inlined ones first, the function that holds them last.
static u64 new_location(struct Writer *w, const struct Frame *f, u32 n)
{
	struct Str m = {0};
	bool fresh;
	u64 addr, mapping = places_put(&w->places, &f[n - 1], &addr);
	if (mapping)
		w->places.v.p[mapping - 1].inlines |= n > 1;
	pb_uint(&m, LOCATION_MAPPING, mapping);
	pb_uint(&m, LOCATION_ADDRESS, addr);
	for (u32 i = 0; i < n; i++) {
		struct Str line = {0};
		pb_uint(&line, LINE_FUNCTION, function_id(w, &f[i]));
		pb_uint(&line, LINE_LINE, f[i].mark ? 0 : f[i].line); // a mark's is a number of its own
		pb_message(&m, LOCATION_LINE, &line);
	}
	u64 id = number_of_message(&w->locations, &m, &fresh);
	if (fresh) {
		struct Str whole = {0};
		pb_uint(&whole, LOCATION_ID, id);
		str_addn(&whole, str_text(&m), m.n);
		pb_message(&w->out, PROFILE_LOCATION, &whole);
	}
	str_deinit(&m);
	return id;
}

static u64 location_id(struct Writer *w, const struct Frame *f, u32 n)
{
	u64 *id = frameids_at(&w->frames, f, n);
	return *id ? *id : (*id = new_location(w, f, n));
}

static void put_frames(struct Writer *w, const struct Frame *f, u32 n, struct Str *ids)
{
	for (u32 i = 0; i < n;) {
		u32 k = 1;
		while (i + k < n && f[i + k - 1].inlined)
			k++;
		pb_varint(ids, location_id(w, &f[i], k));
		i += k;
	}
}

static void put_note(struct Writer *w, const char *note, struct Str *ids)
{
	struct Frame f = {.sym = note, .inlined = true};
	if (note)
		pb_varint(ids, new_location(w, &f, 1));
}

// ---- the message

static void put_label(struct Writer *w, struct Str *sample, const char *key, const char *text, u64 num)
{
	struct Str m = {0};
	pb_uint(&m, LABEL_KEY, string_id(w, key));
	if (text)
		pb_uint(&m, LABEL_STR, string_id(w, text));
	else
		pb_uint(&m, LABEL_NUM, num);
	pb_message(sample, SAMPLE_LABEL, &m);
}

static void put_sample(struct Writer *w, const struct StackSample *s)
{
	struct Str m = {0}, ids = {0}, values = {0};
	s->nkern ? put_frames(w, s->kern, s->nkern, &ids) : put_note(w, s->kern_note, &ids);
	s->nuser ? put_frames(w, s->user, s->nuser, &ids) : put_note(w, s->user_note, &ids);
	pb_message(&m, SAMPLE_LOCATION, &ids);
	pb_varint(&values, s->value);
	if (w->p->period_ns)
		pb_varint(&values, s->value * w->p->period_ns);
	for (u32 k = 0; k < w->p->nparts; k++)
		pb_varint(&values, s->part[k]);
	if (w->p->events)
		pb_varint(&values, s->events);
	pb_message(&m, SAMPLE_VALUE, &values);
	if (s->comm)
		put_label(w, &m, "comm", s->comm, 0);
	if (s->pid)
		put_label(w, &m, w->p->threads ? "tid" : "pid", NULL, s->pid);
	for (u32 i = 0; i < s->nlabels; i++) {
		struct Str text = {0}, key = {0};
		value_text(&s->labels[i], &text);
		if (w->p->label_names)
			str_add(&key, w->p->label_names[i]);
		else
			str_addf(&key, "key%u", i + 1);
		if (text.n)
			put_label(w, &m, key.p, str_text(&text), 0);
		str_deinit(&text);
		str_deinit(&key);
	}
	pb_message(&w->out, PROFILE_SAMPLE, &m);
}

static void put_type(struct Writer *w, u32 field, const char *type, const char *unit)
{
	struct Str m = {0};
	pb_uint(&m, TYPE_TYPE, string_id(w, type));
	pb_uint(&m, TYPE_UNIT, string_id(w, unit));
	pb_message(&w->out, field, &m);
}

// The value first, then what it is the sum of and of how many events, if that is known. Readers show the last type, unless there is a default.
static void put_types(struct Writer *w)
{
	const struct StackProfile *p = w->p;
	const char *type, *unit;
	profile_types(p, &type, &unit);
	put_type(w, PROFILE_SAMPLE_TYPE, type, unit);
	if (p->nparts || p->events)
		pb_uint(&w->out, PROFILE_DEFAULT_TYPE, string_id(w, type));
	if (p->period_ns) {
		put_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
		put_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	}
	for (u32 k = 0; k < p->nparts; k++)
		put_type(w, PROFILE_SAMPLE_TYPE, p->parts[k], unit);
	if (p->events)
		put_type(w, PROFILE_SAMPLE_TYPE, p->events, "count");
}

// How it was made. If that is here and now, the machine is this one.
static void put_comments(struct Writer *w)
{
	const struct StackProfile *p = w->p;
	struct utsname u;
	if (p->title)
		pb_uint(&w->out, PROFILE_COMMENT, string_id(w, p->title));
	for (u32 i = 0; i < p->ncomments; i++)
		pb_uint(&w->out, PROFILE_COMMENT, string_id(w, p->comments[i]));
	if (!p->command || uname(&u))
		return;
	char *texts[] = {xasprintf("command: %s", p->command), xasprintf("kernel: %s %s %s", u.sysname, u.release, u.machine),
			 xasprintf("machine: %s, %ld processors", u.nodename, sysconf(_SC_NPROCESSORS_ONLN))};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		pb_uint(&w->out, PROFILE_COMMENT, string_id(w, texts[i]));
		free(texts[i]);
	}
}

struct err *pprof_write(const struct StackProfile *p, FILE *out)
{
	struct Writer w = {.p = p};
	put_types(&w);
	for (u32 i = 0; i < p->n; i++)
		if (p->samples[i].value || p->samples[i].events)
			put_sample(&w, &p->samples[i]);
	put_mappings(&w);
	pb_uint(&w.out, PROFILE_TIME, p->start_ns);
	pb_uint(&w.out, PROFILE_DURATION, p->duration_ns);
	pb_uint(&w.out, PROFILE_PERIOD, p->period_ns);
	put_comments(&w);
	pb_bytes(&w.out, PROFILE_STRING, "", 0);
	for (u32 i = 0; i < w.strings.n; i++)
		pb_string(&w.out, PROFILE_STRING, w.strings.slots[i].key);
	struct err *e = gzip_write(&w.out, p->fleeting, out);
	str_deinit(&w.out);
	map_deinit(&w.strings);
	places_deinit(&w.places);
	frameids_deinit(&w.frames);
	map_deinit(&w.functions);
	map_deinit(&w.locations);
	return e;
}
