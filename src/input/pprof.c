// pprof: the Profile message (https://github.com/google/pprof/blob/main/proto/profile.proto) that sonde, Go and many others write.
// In: the message's bytes. Out: samples of one of its types of values. Invariant: an id or an index that the file does not define is an empty name, never
// a place outside.
#include "input/internal.h"
#include "out/report.h"

// Numbers of a repeated field: packed, or one by one.
typedef VEC(u64) Numbers;
static void add_numbers(struct Input *in, Numbers *to, const struct PbField *f)
{
	struct Pb b = f->sub;
	if (f->wire != PB_WIRE_BYTES && to->n <= in->most)
		vec_push(to, f->v);
	while (b.p < b.end && !b.bad && to->n <= in->most) {
		u64 v = pb_number(&b);
		if (!b.bad)
			vec_push(to, v);
	}
	if (to->n > in->most)
		in->records = in->most + 1;
}

// ---- what the file defines

struct Function {
	u64 id, name, system, file;
};
struct Mapping {
	u64 id, file, start, limit, offset, build_id;
	struct Image *image; // what it says of it; NULL: its frames have not been met yet
	const char *module; // of the kernel's frames in it; likewise
};
struct Location {
	u64 id, mapping, addr;
	u32 first, n; // of lines
};
struct CodeLine {
	u64 function, line;
};
struct ValueType {
	u64 type, unit;
};
#define NO_EVENTS (~0u)
struct Reader {
	struct Input *in;
	const struct InputWish *wish;
	VEC(const char *) strings;
	VEC(struct Function) functions;
	VEC(struct Mapping) mappings;
	VEC(struct Location) locations;
	VEC(struct CodeLine) lines;
	VEC(struct Pb) samples;
	VEC(struct ValueType) types;
	struct ValueType period_type;
	u64 default_type, period;
	Numbers comments;
	u32 value;	     // number of the values that are taken
	u64 scale;	     // they are multiplied by it
	u32 parts[ARRAY_LEN((struct StackSample){0}.part)], nparts; // numbers of the values that they are the sum of, so far
	u32 events;	     // number of the value that says how many events they are of; NO_EVENTS
	struct Map keys;     // labels: name -> number + 1
	struct InputStack st;
};

static const char *string(const struct Reader *r, u64 i)
{
	return i < r->strings.n ? r->strings.p[i] : "";
}

static int by_id(const void *a, const void *b) // id is the first member of each
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;
	return x < y ? -1 : x > y;
}
#define SORT_BY_ID(v) ((v).n ? qsort((v).p, (v).n, sizeof(*(v).p), by_id) : (void)0)
#define FIND(v, id) ((v).n ? bsearch(&(u64){id}, (v).p, (v).n, sizeof(*(v).p), by_id) : NULL)

static void read_function(struct Reader *r, struct Pb b)
{
	struct Function x = {0};
	for (struct PbField f; pb_field(&b, &f);)
		switch (f.number) {
		case FUNCTION_ID: x.id = f.v; break;
		case FUNCTION_NAME: x.name = f.v; break;
		case FUNCTION_SYSTEM_NAME: x.system = f.v; break;
		case FUNCTION_FILENAME: x.file = f.v; break;
		}
	if (input_room(r->in, 1))
		vec_push(&r->functions, x);
}

static void read_mapping(struct Reader *r, struct Pb b)
{
	struct Mapping x = {0};
	for (struct PbField f; pb_field(&b, &f);)
		switch (f.number) {
		case MAPPING_ID: x.id = f.v; break;
		case MAPPING_START: x.start = f.v; break;
		case MAPPING_LIMIT: x.limit = f.v; break;
		case MAPPING_OFFSET: x.offset = f.v; break;
		case MAPPING_FILENAME: x.file = f.v; break;
		case MAPPING_BUILD_ID: x.build_id = f.v; break;
		}
	if (input_room(r->in, 1))
		vec_push(&r->mappings, x);
}

static void read_line(struct Reader *r, struct Pb b)
{
	struct CodeLine x = {0};
	for (struct PbField f; pb_field(&b, &f);)
		if (f.number == LINE_FUNCTION)
			x.function = f.v;
		else if (f.number == LINE_LINE)
			x.line = f.v;
	if (input_room(r->in, 1))
		vec_push(&r->lines, x);
}

static void read_location(struct Reader *r, struct Pb b)
{
	struct Location x = {.first = (u32)r->lines.n};
	for (struct PbField f; pb_field(&b, &f);)
		switch (f.number) {
		case LOCATION_ID: x.id = f.v; break;
		case LOCATION_MAPPING: x.mapping = f.v; break;
		case LOCATION_ADDRESS: x.addr = f.v; break;
		case LOCATION_LINE: read_line(r, f.sub); break;
		}
	x.n = (u32)r->lines.n - x.first;
	if (input_room(r->in, 1))
		vec_push(&r->locations, x);
}

static struct ValueType read_type(struct Pb b)
{
	struct ValueType x = {0};
	for (struct PbField f; pb_field(&b, &f);)
		if (f.number == TYPE_TYPE)
			x.type = f.v;
		else if (f.number == TYPE_UNIT)
			x.unit = f.v;
	return x;
}

static void read_definition(struct Reader *r, const struct PbField *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		if (input_room(r->in, 1))
			vec_push(&r->types, read_type(f->sub));
		break;
	case PROFILE_SAMPLE:
		if (input_room(r->in, 1))
			vec_push(&r->samples, f->sub);
		break;
	case PROFILE_MAPPING:
		read_mapping(r, f->sub);
		break;
	case PROFILE_LOCATION:
		read_location(r, f->sub);
		break;
	case PROFILE_FUNCTION:
		read_function(r, f->sub);
		break;
	case PROFILE_STRING:
		if (input_room(r->in, 1))
			vec_push(&r->strings, arena_strndup(&r->in->arena, (const char *)f->sub.p, (size_t)(f->sub.end - f->sub.p)));
		break;
	case PROFILE_TIME:
		r->in->prof.start_ns = f->v;
		break;
	case PROFILE_DURATION:
		r->in->prof.duration_ns = f->v;
		break;
	case PROFILE_PERIOD_TYPE:
		r->period_type = read_type(f->sub);
		break;
	case PROFILE_PERIOD:
		r->period = f->v;
		break;
	case PROFILE_COMMENT:
		add_numbers(r->in, &r->comments, f);
		break;
	case PROFILE_DEFAULT_TYPE:
		r->default_type = f->v;
		break;
	}
}

// ---- which values

static struct err *no_such_type(const struct Reader *r)
{
	struct Str names = {0};
	for (size_t i = 0; i < r->types.n; i++)
		str_addf(&names, "%s%s", i ? ", " : "", string(r, r->types.p[i].type));
	struct err *e = err_new("it has no values named %s, but %s", r->wish->value, str_text(&names));
	str_deinit(&names);
	return e;
}

// As pprof: the default one, else the last. But of samples and their time the samples, whose period says the time.
static struct err *choose_value(struct Reader *r)
{
	u32 n = (u32)r->types.n, last = n - 1;
	if (!n)
		return err_new("it does not say what its values are");
	const char *want = r->wish->value ? r->wish->value : string(r, r->default_type);
	r->value = !strcmp(string(r, r->period_type.unit), "nanoseconds") && r->period && !strcmp(string(r, r->types.p[0].unit), "count") ? 0 : last;
	u32 i = 0;
	while (i < n && strcmp(string(r, r->types.p[i].type), want))
		i++;
	if (i == n && r->wish->value)
		return no_such_type(r);
	if (i < n && *want)
		r->value = i;
	return NULL;
}

static void set_unit(struct Reader *r)
{
	static const struct { const char *unit, *as; u64 scale; } units[] = {
		{"nanoseconds", "ns", 1}, {"microseconds", "us", 1}, {"milliseconds", "us", 1000}, {"seconds", "us", 1000000}, {"bytes", "bytes", 1}};
	struct StackProfile *p = &r->in->prof;
	const char *type = string(r, r->types.p[r->value].type), *unit = string(r, r->types.p[r->value].unit);
	r->scale = 1;
	struct Str shown = {0}; // it stands in messages
	const char *name = strcmp(unit, "count") ? unit : !strcmp(type, "events") ? "count" : *type ? type : "count";
	str_add_shown(&shown, name, strlen(name));
	p->unit = arena_strdup(&r->in->arena, str_text(&shown));
	str_deinit(&shown);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (!strcmp(units[i].unit, unit)) {
			p->unit = units[i].as;
			r->scale = units[i].scale;
		}
	if (!r->value && !strcmp(unit, "count") && !strcmp(string(r, r->period_type.unit), "nanoseconds"))
		p->period_ns = r->period;
}

// The other types of that unit: kinds of the same, if they add up in every sample (read_parts).
static void choose_parts(struct Reader *r)
{
	for (u32 i = 0; i < r->types.n; i++)
		if (i != r->value && !strcmp(string(r, r->types.p[i].unit), string(r, r->types.p[r->value].unit))) {
			if (r->nparts == ARRAY_LEN(r->parts)) {
				r->nparts = 0;
				return;
			}
			r->parts[r->nparts++] = i;
		}
	if (r->nparts < 2)
		r->nparts = 0;
}

// Go's name of how often something was waited for, beside how long, and ours.
static void choose_events(struct Reader *r)
{
	r->events = NO_EVENTS;
	for (u32 i = 0; i < r->types.n; i++)
		if (i != r->value && !strcmp(string(r, r->types.p[i].type), "contentions"))
			r->events = i;
	r->in->prof.events = r->events != NO_EVENTS ? string(r, r->types.p[r->events].type) : NULL;
}

static void name_parts(struct Reader *r)
{
	const char **names = arena_new_n(&r->in->arena, const char *, r->nparts + 1);
	for (u32 k = 0; k < r->nparts; k++)
		names[k] = string(r, r->types.p[r->parts[k]].type);
	r->in->prof.parts = r->nparts ? names : NULL;
	r->in->prof.nparts = r->nparts;
}

// ---- samples

static bool is_kernel(const char *object, u64 addr)
{
	return !strncmp(object, "[kernel", 7) || (object[0] == '[' && addr >> 63);
}

static const char *module_name(struct Reader *r, struct Mapping *m, const char *object, bool kernel)
{
	if (!kernel)
		return *object ? object : NULL;
	size_t n = strlen(object);
	if (!strncmp(object, "[kernel", 7) || n < 3)
		return NULL;
	return m->module ? m->module : (m->module = arena_strndup(&r->in->arena, object + 1, n - 2));
}

// The file says where its mappings were, which may be no place of the file on this machine.
static const struct Image *image_of(struct Reader *r, struct Mapping *m)
{
	if (m->image)
		return m->image;
	struct Image *image = m->image = arena_alloc(&r->in->arena, sizeof(*image));
	image->path = string(r, m->file);
	snprintf(image->build_id, sizeof(image->build_id), "%s", string(r, m->build_id));
	if (m->limit > m->start) {
		image->segs = arena_alloc(&r->in->arena, sizeof(*image->segs));
		*image->segs = (struct ImageSegment){m->start, m->offset, m->limit - m->start};
		image->nsegs = 1;
	}
	return image;
}

static void add_frames(struct Reader *r, const struct Location *l)
{
	struct Mapping *m = FIND(r->mappings, l->mapping);
	const char *object = m ? string(r, m->file) : "";
	struct Frame f = {.kernel = is_kernel(object, l->addr)};
	f.module = module_name(r, m, object, f.kernel);
	f.lang = f.kernel ? NULL : frame_lang_of_object(object);
	f.module_addr = f.kernel ? 0 : l->addr;
	if (m && (*object || m->build_id))
		f.image = image_of(r, m);
	f.module_off = m && !f.kernel ? l->addr - m->start + m->offset : 0;
	f.addr = f.kernel || !f.module ? l->addr : 0;
	if (!l->n)
		input_frame(r->in, &r->st, f);
	for (u32 i = l->n; i-- > 0;) { // the innermost line is the first
		const struct CodeLine *line = &r->lines.p[l->first + i];
		const struct Function *fn = FIND(r->functions, line->function);
		const char *name = fn ? string(r, fn->name) : "", *raw = fn ? string(r, fn->system) : "", *file = fn ? string(r, fn->file) : "";
		f.sym = *name ? name : *raw ? raw : NULL;
		f.raw = *raw && strcmp(raw, name) ? raw : NULL;
		f.file = *file && (line->line || f.lang) ? file : NULL;
		f.line = (u32)line->line;
		f.inlined = i + 1 < l->n;
		input_frame(r->in, &r->st, f);
	}
}

static void name_label(struct Reader *r, const char *key)
{
	if (!map_has(&r->keys, key))
		map_put(&r->keys, key, (void *)(uintptr_t)(r->keys.n + 1));
}

static void read_label(struct Reader *r, struct Pb b, struct StackSample *s)
{
	u64 key = 0, str = 0, num = 0;
	for (struct PbField f; pb_field(&b, &f);)
		switch (f.number) {
		case LABEL_KEY: key = f.v; break;
		case LABEL_STR: str = f.v; break;
		case LABEL_NUM: num = f.v; break;
		}
	const char *name = string(r, key), *text = string(r, str);
	if (!strcmp(name, "comm"))
		s->comm = text;
	else if (!*text && !strcmp(name, r->in->prof.threads ? "tid" : "pid")) // a text of that name is a label as any other
		s->pid = (u32)num;
	else if (!*text && !strcmp(name, "bytes"))
		; // the size of an allocation, which Go's heap profiles have beside each stack: a number of its kind, not a group
	else if (!s->labels)
		name_label(r, name); // the first time round
	else {
		uintptr_t at = (uintptr_t)map_get(&r->keys, name);
		text = *text || !input_room(r->in, 1) ? text : arena_printf(&r->in->arena, "%lld", (long long)num);
		((struct Value *)s->labels)[at - 1] = (struct Value){.kind = V_STR, .text = text, .len = strlen(text)};
	}
}

static void read_labels(struct Reader *r, struct Pb b, struct StackSample *s)
{
	for (struct PbField f; pb_field(&b, &f);)
		if (f.number == SAMPLE_LABEL)
			read_label(r, f.sub, s);
}

// Labels may differ from sample to sample; all get room for all.
static void make_labels(struct Reader *r, struct StackSample *s)
{
	u32 n = r->keys.n;
	if (!n || !input_room(r->in, n))
		return;
	struct Value *v = arena_new_n(&r->in->arena, struct Value, n);
	for (u32 i = 0; i < n; i++)
		v[i] = (struct Value){.kind = V_STR, .text = ""};
	s->labels = v;
	s->nlabels = n;
}

static void read_parts(struct Reader *r, const Numbers *values, struct StackSample *s)
{
	u64 left = values->p[r->value];
	for (u32 k = 0; k < r->nparts; k++) {
		u64 v = r->parts[k] < values->n ? values->p[r->parts[k]] : ~0ull;
		if (v > left) {
			r->nparts = 0;
			return;
		}
		s->part[k] = v * r->scale;
		left -= v;
	}
	if (left)
		r->nparts = 0;
}

static void read_sample(struct Reader *r, u64 number, Numbers *locations, Numbers *values)
{
	struct StackSample s = {0};
	struct Pb b = r->samples.p[number];
	locations->n = values->n = r->st.frames.n = 0;
	for (struct PbField f; pb_field(&b, &f);)
		if (f.number == SAMPLE_LOCATION)
			add_numbers(r->in, locations, &f);
		else if (f.number == SAMPLE_VALUE)
			add_numbers(r->in, values, &f);
	make_labels(r, &s);
	read_labels(r, r->samples.p[number], &s);
	for (size_t i = locations->n; i-- > 0;) {
		const struct Location *l = FIND(r->locations, locations->p[i]);
		if (l)
			add_frames(r, l);
	}
	if (r->value >= values->n)
		input_skip(r->in, number + 1, "has no value of that type");
	else if ((s64)values->p[r->value] < 0)
		input_skip(r->in, number + 1, "has a value below zero");
	else if (values->p[r->value] > UINT64_MAX / r->scale)
		input_skip(r->in, number + 1, "has a value that is too large");
	else {
		s.value = values->p[r->value] * r->scale;
		read_parts(r, values, &s);
		if (r->events < values->n && (s64)values->p[r->events] > 0)
			s.events = values->p[r->events];
		input_add(r->in, &r->st, s);
	}
}

static bool has_string(const struct Reader *r, const char *s)
{
	for (size_t i = 0; i < r->strings.n; i++)
		if (!strcmp(r->strings.p[i], s))
			return true;
	return false;
}

static void read_samples(struct Reader *r)
{
	Numbers locations = {0}, values = {0};
	r->in->prof.threads = has_string(r, "tid") && !has_string(r, "pid"); // with both, the thread is a label
	for (size_t i = 0; i < r->samples.n; i++)
		read_labels(r, r->samples.p[i], &(struct StackSample){0});
	if (r->keys.n) {
		const char **names = arena_new_n(&r->in->arena, const char *, r->keys.n);
		for (u32 i = 0; i < r->keys.n; i++)
			names[i] = arena_strdup(&r->in->arena, r->keys.slots[i].key);
		r->in->prof.label_names = names;
	}
	for (size_t i = 0; i < r->samples.n && !input_full(r->in); i++)
		read_sample(r, i, &locations, &values);
	for (size_t i = 0; !r->nparts && i < r->in->samples.n; i++) {
		struct StackSample *s = &r->in->samples.p[i];
		memset(s->part, 0, sizeof(s->part));
		s->part[0] = s->value;
	}
	name_parts(r);
	vec_deinit(&locations);
	vec_deinit(&values);
}

static bool is_pprof(const char *data, size_t n)
{
	struct Pb b = {(const u8 *)data, (const u8 *)data + n};
	bool strings = false, types = false;
	for (struct PbField f; pb_field(&b, &f) && f.number <= 64;) {
		strings |= f.number == PROFILE_STRING && f.wire == PB_WIRE_BYTES && !f.v; // string 0 is empty
		types |= f.number == PROFILE_SAMPLE_TYPE && f.wire == PB_WIRE_BYTES;
	}
	return !b.bad && b.p == b.end && strings && types;
}

// The first comment is the title, unless it says how the file was made, as the others.
static void keep_comments(struct Reader *r)
{
	struct StackProfile *p = &r->in->prof;
	const char **texts = arena_new_n(&r->in->arena, const char *, r->comments.n + 1);
	for (size_t i = 0; i < r->comments.n; i++) {
		const char *text = string(r, r->comments.p[i]);
		if (!i && *text && !strstr(text, ": "))
			p->title = text;
		else if (*text)
			texts[p->ncomments++] = text;
	}
	p->comments = texts;
}

static struct err *read_pprof(struct Input *in, const struct InputWish *wish, const char *data, size_t n)
{
	struct Reader r = {.in = in, .wish = wish};
	struct Pb b = {(const u8 *)data, (const u8 *)data + n};
	for (struct PbField f; pb_field(&b, &f);)
		read_definition(&r, &f);
	SORT_BY_ID(r.functions);
	SORT_BY_ID(r.mappings);
	SORT_BY_ID(r.locations);
	struct err *e = choose_value(&r);
	if (!e) {
		set_unit(&r);
		choose_parts(&r);
		choose_events(&r);
		keep_comments(&r);
		read_samples(&r);
	}
	vec_deinit(&r.strings);
	vec_deinit(&r.functions);
	vec_deinit(&r.mappings);
	vec_deinit(&r.locations);
	vec_deinit(&r.lines);
	vec_deinit(&r.samples);
	vec_deinit(&r.types);
	vec_deinit(&r.comments);
	vec_deinit(&r.st.frames);
	map_deinit(&r.keys);
	return e;
}

const struct Format format_pprof = {"pprof", "samples", is_pprof, read_pprof};
