// Profiles for OpenTelemetry: the message that OTLP/HTTP takes at /v1development/profiles (ExportProfilesServiceRequest), which is a file's ProfilesData too.
// In: stack counts. Out: fields as opentelemetry-proto's profiles/v1development/profiles.proto numbers them since 1.9. Invariant: every index that is used is
// defined; element 0 of each table is empty, and means "none"; no thing has two attributes of one key; there is always a period.
//
// A resource is what the samples are of: a container, a unit of systemd, or else the programs of one name; all stand in one message and share its tables.
#include "out/internal.h"
#include <errno.h>
#include <sys/random.h>
#include <sys/utsname.h>

enum { // field numbers
	DATA_RESOURCE = 1, DATA_DICTIONARY = 2,
	DICT_MAPPING = 1, DICT_LOCATION = 2, DICT_FUNCTION = 3, DICT_LINK = 4, DICT_STRING = 5, DICT_ATTRIBUTE = 6, DICT_STACK = 7,
	RESOURCE_RESOURCE = 1, RESOURCE_SCOPE = 2, RESOURCE_ATTRIBUTE = 1,
	SCOPE_SCOPE = 1, SCOPE_PROFILE = 2, SCOPE_NAME = 1,
	PROF_TYPE = 1, PROF_SAMPLE = 2, PROF_TIME = 3, PROF_DURATION = 4, PROF_PERIOD_TYPE = 5, PROF_PERIOD = 6, PROF_ID = 7,
	OSAMPLE_STACK = 1, OSAMPLE_ATTRIBUTES = 2, OSAMPLE_VALUES = 4,
	OMAPPING_START = 1, OMAPPING_LIMIT = 2, OMAPPING_OFFSET = 3, OMAPPING_FILENAME = 4, OMAPPING_ATTRIBUTES = 5,
	OLOCATION_MAPPING = 1, OLOCATION_ADDRESS = 2, OLOCATION_LINE = 3, OLOCATION_ATTRIBUTES = 4,
	OLINE_FUNCTION = 1, OLINE_LINE = 2,
	OFUNCTION_NAME = 1, OFUNCTION_SYSTEM_NAME = 2, OFUNCTION_FILENAME = 3,
	STACK_LOCATIONS = 1,
	ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2, // KeyValueAndUnit; KeyValue has the same numbers, but its key is a string
	ANY_STRING = 1, ANY_INT = 3,
};

struct OtlpSample {
	struct Str head; // stack and attributes
	u64 value;
};
struct Resource {
	char *name, *container, *container_id; // service.name; NULL
	struct Map index; // a sample's message without its values -> its number
	VEC(struct OtlpSample) samples;
};
struct Otlp {
	const struct StackProfile *p;
	struct Map strings, functions, locations, attributes, stacks, services; // text -> index
	struct Str function_table, location_table, attribute_table, stack_table;
	struct Places places;
	struct FrameIds frames;
	VEC(struct Resource) resources;
};

static u64 string_index(struct Otlp *w, const char *s)
{
	bool fresh;
	return s && *s ? number_of(&w->strings, s, &fresh) : 0;
}

// ---- attributes

static void put_any(struct Str *to, u32 field, const char *text, u64 num)
{
	struct Str any = {0};
	if (text)
		pb_string(&any, ANY_STRING, text);
	else {
		pb_varint(&any, ANY_INT << 3); // written also when it is 0: a value has one of its fields
		pb_varint(&any, num);
	}
	pb_message(to, field, &any);
}

// Of the dictionary; text NULL: a number
static u64 attribute_index(struct Otlp *w, const char *key, const char *text, u64 num)
{
	struct Str m = {0};
	bool fresh;
	pb_uint(&m, ATTRIBUTE_KEY, string_index(w, key));
	put_any(&m, ATTRIBUTE_VALUE, text, num);
	u64 n = number_of_message(&w->attributes, &m, &fresh);
	if (fresh)
		pb_message(&w->attribute_table, DICT_ATTRIBUTE, &m);
	else
		str_deinit(&m);
	return n;
}

static void put_resource_attribute(struct Str *to, const char *key, const char *value)
{
	struct Str m = {0};
	pb_string(&m, ATTRIBUTE_KEY, key);
	put_any(&m, ATTRIBUTE_VALUE, value, 0);
	pb_message(to, RESOURCE_ATTRIBUTE, &m);
}

// ---- frames

// The semantic conventions' names (profile.frame.type)
static const char *frame_type(const struct Frame *f)
{
	static const char *const names[][2] = {{"python", "cpython"}, {"java", "jvm"}, {"javascript", "v8js"}, {"node", "v8js"}, {"v8", "v8js"}};
	for (size_t i = 0; f->lang && i < ARRAY_LEN(names); i++)
		if (!strcmp(f->lang, names[i][0]))
			return names[i][1];
	return f->kernel ? "kernel" : f->lang ? f->lang : "native";
}

static u64 function_index(struct Otlp *w, const struct Frame *f)
{
	struct Str name = {0}, key = {0};
	bool fresh;
	function_name(f, &name);
	const char *system = function_system_name(f, str_text(&name));
	key_text(&key, str_text(&name));
	key_text(&key, system);
	key_text(&key, f->file);
	u64 n = number_of(&w->functions, str_text(&key), &fresh);
	if (fresh) {
		struct Str m = {0};
		pb_uint(&m, OFUNCTION_NAME, string_index(w, str_text(&name)));
		pb_uint(&m, OFUNCTION_SYSTEM_NAME, string_index(w, system));
		pb_uint(&m, OFUNCTION_FILENAME, string_index(w, f->file));
		pb_message(&w->function_table, DICT_FUNCTION, &m);
	}
	str_deinit(&name);
	str_deinit(&key);
	return n;
}

// Frames [0, n) at one address: inlined ones first, the function that holds them last.
static u64 new_location(struct Otlp *w, const struct Frame *f, u32 n)
{
	struct Str m = {0}, attributes = {0};
	u64 addr, mapping = places_put(&w->places, &f[n - 1], &addr);
	bool fresh;
	pb_uint(&m, OLOCATION_MAPPING, mapping);
	pb_uint(&m, OLOCATION_ADDRESS, addr);
	for (u32 i = 0; i < n; i++) {
		struct Str line = {0};
		pb_uint(&line, OLINE_FUNCTION, function_index(w, &f[i]));
		pb_uint(&line, OLINE_LINE, f[i].mark ? 0 : f[i].line); // a mark's is a number of its own
		pb_message(&m, OLOCATION_LINE, &line);
	}
	if (!f[n - 1].mark && (mapping || f[n - 1].lang)) {
		pb_varint(&attributes, attribute_index(w, "profile.frame.type", frame_type(&f[n - 1]), 0));
		pb_message(&m, OLOCATION_ATTRIBUTES, &attributes);
	}
	u64 id = number_of_message(&w->locations, &m, &fresh);
	if (fresh)
		pb_message(&w->location_table, DICT_LOCATION, &m);
	else
		str_deinit(&m);
	return id;
}

static u64 location_index(struct Otlp *w, const struct Frame *f, u32 n)
{
	u64 *id = frameids_at(&w->frames, f, n);
	return *id ? *id : (*id = new_location(w, f, n));
}

static void put_frames(struct Otlp *w, const struct Frame *f, u32 n, const char *note, struct Str *ids)
{
	struct Frame noted = {.sym = note, .inlined = true};
	if (!n && note)
		pb_varint(ids, new_location(w, &noted, 1));
	for (u32 i = 0, k; i < n; i += k) {
		for (k = 1; i + k < n && f[i + k - 1].inlined; k++)
			;
		pb_varint(ids, location_index(w, &f[i], k));
	}
}

static u64 stack_index(struct Otlp *w, const struct StackSample *s)
{
	struct Str ids = {0};
	bool fresh;
	put_frames(w, s->kern, s->nkern, s->kern_note, &ids);
	put_frames(w, s->user, s->nuser, s->user_note, &ids);
	u64 n = ids.n ? number_of_message(&w->stacks, &ids, &fresh) : 0;
	if (n && fresh) {
		struct Str m = {0};
		pb_message(&m, STACK_LOCATIONS, &ids);
		pb_message(&w->stack_table, DICT_STACK, &m);
	}
	str_deinit(&ids);
	return n;
}

// ---- samples

static const char *label_of(const struct StackProfile *p, const struct StackSample *s, const char *name)
{
	for (u32 i = 0; p->label_names && i < s->nlabels; i++)
		if (!strcmp(p->label_names[i], name) && s->labels[i].kind == V_STR)
			return s->labels[i].text;
	return "";
}

const char *sample_service(const struct StackProfile *p, const struct StackSample *s)
{
	const char *container = label_of(p, s, "container");
	return *container && strcmp(container, "[host]") ? container : s->comm && *s->comm ? s->comm : "[unknown]";
}

static struct Resource *resource_of(struct Otlp *w, const struct StackSample *s)
{
	const char *name = sample_service(w->p, s), *container = label_of(w->p, s, "container"), *id = label_of(w->p, s, "container_id");
	struct Str key = {0};
	bool fresh;
	str_addf(&key, "%s\n%s", id, name);
	u64 n = number_of(&w->services, str_text(&key), &fresh);
	str_deinit(&key);
	if (fresh) {
		struct Resource r = {.name = xstrdup(name), .container = *id ? xstrdup(container) : NULL, .container_id = *id ? xstrdup(id) : NULL};
		vec_push(&w->resources, r);
	}
	return &w->resources.p[n - 1];
}

// Labels of its own, but those that are the resource's
static void put_sample_attributes(struct Otlp *w, const struct StackSample *s, const char *part, struct Str *ids)
{
	if (s->comm && *s->comm)
		pb_varint(ids, attribute_index(w, "thread.name", s->comm, 0));
	if (s->pid)
		pb_varint(ids, attribute_index(w, w->p->threads ? "thread.id" : "process.pid", NULL, s->pid));
	for (u32 i = 0; i < s->nlabels; i++) {
		struct Str text = {0}, key = {0};
		const char *name = w->p->label_names ? w->p->label_names[i] : NULL;
		value_text(&s->labels[i], &text);
		str_add(&key, "sonde.");
		if (name)
			str_add(&key, name);
		else
			str_addf(&key, "key%u", i + 1);
		if (text.n && !(name && (!strcmp(name, "container") || !strcmp(name, "container_id"))))
			pb_varint(ids, attribute_index(w, str_text(&key), str_text(&text), 0));
		str_deinit(&text);
		str_deinit(&key);
	}
	if (part)
		pb_varint(ids, attribute_index(w, "sonde.kind", part, 0));
}

// Of one stack with the same attributes there is one sample, whatever its rows.
static void put_value(struct Otlp *w, struct Resource *r, const struct StackSample *s, u64 stack, u64 value, const char *part)
{
	struct Str head = {0}, ids = {0};
	bool fresh;
	if (!value)
		return;
	put_sample_attributes(w, s, part, &ids);
	pb_uint(&head, OSAMPLE_STACK, stack);
	if (ids.n)
		pb_message(&head, OSAMPLE_ATTRIBUTES, &ids);
	u64 n = number_of_message(&r->index, &head, &fresh);
	if (fresh)
		vec_push(&r->samples, ((struct OtlpSample){.head = head}));
	else
		str_deinit(&head);
	r->samples.p[n - 1].value += value;
}

static void put_samples(struct Resource *r, struct Str *out)
{
	for (size_t i = 0; i < r->samples.n; i++) {
		struct OtlpSample *x = &r->samples.p[i];
		struct Str values = {0};
		pb_varint(&values, x->value);
		pb_message(&x->head, OSAMPLE_VALUES, &values);
		pb_message(out, PROF_SAMPLE, &x->head);
	}
}

// Where the value is of several kinds there is a sample for each, and what is of none.
static void put_sample(struct Otlp *w, const struct StackSample *s)
{
	struct Resource *r = resource_of(w, s);
	u64 stack = stack_index(w, s), rest = s->value;
	for (u32 k = 0; k < w->p->nparts; k++) {
		put_value(w, r, s, stack, s->part[k], w->p->parts[k]);
		rest -= MIN(rest, s->part[k]);
	}
	put_value(w, r, s, stack, rest, NULL);
}

// ---- the message

static void put_type(struct Otlp *w, struct Str *to, u32 field, const char *type, const char *unit)
{
	struct Str m = {0};
	pb_uint(&m, TYPE_TYPE, string_index(w, type));
	pb_uint(&m, TYPE_UNIT, string_index(w, unit));
	pb_message(to, field, &m);
}

static void put_profile(struct Otlp *w, struct Resource *r, struct Str *scope)
{
	const struct StackProfile *p = w->p;
	const char *type, *unit;
	struct Str m = {0};
	char id[16];
	profile_types(p, &type, &unit);
	put_type(w, &m, PROF_TYPE, type, unit);
	put_samples(r, &m);
	pb_fixed64(&m, PROF_TIME, p->start_ns);
	pb_uint(&m, PROF_DURATION, p->duration_ns);
	put_type(w, &m, PROF_PERIOD_TYPE, p->period_ns ? "cpu" : type, p->period_ns ? "nanoseconds" : unit);
	pb_uint(&m, PROF_PERIOD, p->period_ns ? p->period_ns : 1); // readers divide by it
	if (getrandom(id, sizeof(id), GRND_NONBLOCK) == sizeof(id))
		pb_bytes(&m, PROF_ID, id, sizeof(id));
	pb_message(scope, SCOPE_PROFILE, &m);
}

// "NAMESPACE/POD/CONTAINER" is how run/container.c writes Kubernetes' names.
static void put_pod(struct Str *to, const char *name)
{
	const char *pod = strchr(name, '/'), *own = pod ? strchr(pod + 1, '/') : NULL;
	if (!own || strchr(own + 1, '/'))
		return;
	char *space = xasprintf("%.*s", (int)(pod - name), name), *pods = xasprintf("%.*s", (int)(own - pod - 1), pod + 1);
	put_resource_attribute(to, "k8s.namespace.name", space);
	put_resource_attribute(to, "k8s.pod.name", pods);
	put_resource_attribute(to, "k8s.container.name", own + 1);
	free(space);
	free(pods);
}

static bool attr_given(const struct StackProfile *p, const char *key)
{
	for (u32 i = 0; i < p->nattrs; i++)
		if (!strcmp(p->attrs[i].key, key))
			return true;
	return false;
}

static void put_own_attribute(struct Otlp *w, struct Str *to, const char *key, const char *value)
{
	if (value && !attr_given(w->p, key))
		put_resource_attribute(to, key, value);
}

static void put_resource(struct Otlp *w, struct Resource *r, struct Str *out)
{
	struct Str all = {0}, resource = {0}, scoped = {0}, scope = {0};
	struct utsname u;
	put_own_attribute(w, &resource, "service.name", r->name);
	if (r->container && !attr_given(w->p, "k8s.pod.name"))
		put_pod(&resource, r->container);
	put_own_attribute(w, &resource, "container.name", r->container);
	put_own_attribute(w, &resource, "container.id", r->container_id);
	if (w->p->command && !uname(&u)) { // made here and now
		put_own_attribute(w, &resource, "host.name", u.nodename);
		put_own_attribute(w, &resource, "os.type", "linux");
	}
	for (u32 i = 0; i < w->p->nattrs; i++)
		put_resource_attribute(&resource, w->p->attrs[i].key, w->p->attrs[i].value);
	pb_message(&all, RESOURCE_RESOURCE, &resource);
	pb_string(&scope, SCOPE_NAME, "sonde");
	pb_message(&scoped, SCOPE_SCOPE, &scope);
	put_profile(w, r, &scoped);
	pb_message(&all, RESOURCE_SCOPE, &scoped);
	pb_message(out, DATA_RESOURCE, &all);
}

static void put_mappings(struct Otlp *w, struct Str *dict)
{
	places_end(&w->places);
	pb_bytes(dict, DICT_MAPPING, "", 0);
	for (size_t i = 0; i < w->places.v.n; i++) {
		const struct Mapping *m = &w->places.v.p[i];
		struct Str s = {0}, attributes = {0};
		pb_uint(&s, OMAPPING_START, m->start);
		pb_uint(&s, OMAPPING_LIMIT, m->limit);
		pb_uint(&s, OMAPPING_OFFSET, m->offset);
		pb_uint(&s, OMAPPING_FILENAME, string_index(w, m->name));
		if (m->build_id && *m->build_id) {
			pb_varint(&attributes, attribute_index(w, "process.executable.build_id.gnu", m->build_id, 0));
			pb_message(&s, OMAPPING_ATTRIBUTES, &attributes);
		}
		pb_message(dict, DICT_MAPPING, &s);
	}
}

static void put_table(struct Str *dict, u32 field, const struct Str *rows)
{
	pb_bytes(dict, field, "", 0); // element 0
	str_addn(dict, str_text(rows), rows->n);
}

static void put_dictionary(struct Otlp *w, struct Str *out)
{
	struct Str dict = {0};
	put_mappings(w, &dict);
	put_table(&dict, DICT_LOCATION, &w->location_table);
	put_table(&dict, DICT_FUNCTION, &w->function_table);
	put_table(&dict, DICT_LINK, &(struct Str){0});
	put_table(&dict, DICT_ATTRIBUTE, &w->attribute_table);
	put_table(&dict, DICT_STACK, &w->stack_table);
	pb_bytes(&dict, DICT_STRING, "", 0);
	for (u32 i = 0; i < w->strings.n; i++)
		pb_string(&dict, DICT_STRING, w->strings.slots[i].key);
	pb_message(out, DATA_DICTIONARY, &dict);
}

static void otlp_deinit(struct Otlp *w)
{
	struct Map *maps[] = {&w->strings, &w->functions, &w->locations, &w->attributes, &w->stacks, &w->services};
	struct Str *tables[] = {&w->function_table, &w->location_table, &w->attribute_table, &w->stack_table};
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		map_deinit(maps[i]);
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		str_deinit(tables[i]);
	for (size_t i = 0; i < w->resources.n; i++) {
		struct Resource *r = &w->resources.p[i];
		free(r->name);
		free(r->container);
		free(r->container_id);
		map_deinit(&r->index);
		vec_deinit(&r->samples);
	}
	vec_deinit(&w->resources);
	places_deinit(&w->places);
	frameids_deinit(&w->frames);
}

struct err *otlp_write(const struct StackProfile *p, FILE *out)
{
	struct Otlp w = {.p = p};
	struct Str all = {0};
	for (u32 i = 0; i < p->n; i++)
		if (p->samples[i].value)
			put_sample(&w, &p->samples[i]);
	for (size_t i = 0; i < w.resources.n; i++)
		put_resource(&w, &w.resources.p[i], &all);
	put_dictionary(&w, &all);
	bool bad = fwrite(str_text(&all), 1, all.n, out) != all.n || fflush(out);
	otlp_deinit(&w);
	str_deinit(&all);
	return bad ? err_errno(errno, "writing the profile") : NULL;
}
