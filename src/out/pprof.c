// Profiles for pprof: a gzipped protocol buffer.
// In: stack counts. Out: the Profile message of https://github.com/google/pprof/blob/main/proto/profile.proto. Invariant: every id and every
// string index that is used is defined; string 0 is empty.
#include "out/report.h"
#include <errno.h>
#include <zlib.h>

enum { // field numbers of profile.proto
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6, PROFILE_TIME = 9,
	PROFILE_DURATION = 10, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12, PROFILE_COMMENT = 13,
	TYPE_TYPE = 1, TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3,
	LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3,
	MAPPING_ID = 1, MAPPING_LIMIT = 3, MAPPING_FILENAME = 5, MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4,
	LINE_FUNCTION = 1, LINE_LINE = 2,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4,
};

// ---- protocol buffers: fields are written in order, messages in messages as length and bytes

static void put_varint(struct Str *s, u64 v)
{
	while (v >= 0x80) {
		str_addc(s, (char)(v | 0x80));
		v >>= 7;
	}
	str_addc(s, (char)v);
}

static void put_uint(struct Str *s, u32 field, u64 v)
{
	if (!v) // the default is left out
		return;
	put_varint(s, (u64)field << 3);
	put_varint(s, v);
}

static void put_bytes(struct Str *s, u32 field, const char *p, size_t n)
{
	put_varint(s, (u64)field << 3 | 2);
	put_varint(s, n);
	str_addn(s, p, n);
}

static void put_message(struct Str *s, u32 field, struct Str *msg)
{
	put_bytes(s, field, str_text(msg), msg->n);
	str_deinit(msg);
}

// ---- tables: text -> number from 1 (strings: from 0)

struct Writer {
	const struct StackProfile *p;
	struct Str out;
	struct Map strings, mappings, functions, locations;
};

static u64 number_of(struct Map *m, const char *key, bool *fresh)
{
	u64 n = (uintptr_t)map_get(m, key);
	*fresh = !n;
	if (!n) {
		n = m->n + 1;
		map_put(m, key, (void *)(uintptr_t)n);
	}
	return n;
}

static u64 string_id(struct Writer *w, const char *s)
{
	bool fresh;
	return s && *s ? number_of(&w->strings, s, &fresh) : 0;
}

static u64 mapping_id(struct Writer *w, const struct Frame *f)
{
	bool fresh;
	const char *name = f->kernel ? f->module ? f->module : "[kernel.kallsyms]" : f->module;
	if (!name)
		return 0;
	u64 id = number_of(&w->mappings, name, &fresh);
	if (fresh) {
		struct Str m = {0};
		put_uint(&m, MAPPING_ID, id);
		put_uint(&m, MAPPING_LIMIT, UINT64_MAX); // addresses are file offsets: no two objects share a range that matters
		put_uint(&m, MAPPING_FILENAME, string_id(w, name));
		put_uint(&m, MAPPING_HAS_FUNCTIONS, 1);
		put_message(&w->out, PROFILE_MAPPING, &m);
	}
	return id;
}

static u64 function_id(struct Writer *w, const struct Frame *f)
{
	struct Str name = {0}, key = {0};
	bool fresh;
	struct Frame bare = *f; // file and line have fields of their own
	bare.file = NULL;
	profile_frame_name(&(struct StackProfile){0}, &bare, &name);
	str_addf(&key, "%s;%s;%s", str_text(&name), f->file ? f->file : "", f->module ? f->module : "");
	u64 id = number_of(&w->functions, str_text(&key), &fresh);
	if (fresh) {
		struct Str m = {0};
		put_uint(&m, FUNCTION_ID, id);
		put_uint(&m, FUNCTION_NAME, string_id(w, str_text(&name)));
		put_uint(&m, FUNCTION_SYSTEM_NAME, string_id(w, str_text(&name)));
		put_uint(&m, FUNCTION_FILENAME, string_id(w, f->file));
		put_message(&w->out, PROFILE_FUNCTION, &m);
	}
	str_deinit(&name);
	str_deinit(&key);
	return id;
}

// Frames [0, n) at one address: inlined ones first, the function that holds them last.
static u64 location_id(struct Writer *w, const struct Frame *f, u32 n)
{
	const struct Frame *outer = &f[n - 1];
	u64 addr = outer->module && !outer->kernel ? outer->module_off : outer->addr;
	struct Str key = {0}, m = {0};
	bool fresh;
	for (u32 i = 0; i < n; i++)
		str_addf(&key, "%s:%u;", f[i].sym ? f[i].sym : "", f[i].line);
	str_addf(&key, "%s;%llx", outer->kernel ? "[k]" : outer->module ? outer->module : "", (unsigned long long)addr);
	u64 id = number_of(&w->locations, str_text(&key), &fresh);
	str_deinit(&key);
	if (!fresh)
		return id;
	u64 mapping = mapping_id(w, outer);
	put_uint(&m, LOCATION_ID, id);
	put_uint(&m, LOCATION_MAPPING, mapping);
	put_uint(&m, LOCATION_ADDRESS, addr);
	for (u32 i = 0; i < n; i++) {
		struct Str line = {0};
		put_uint(&line, LINE_FUNCTION, function_id(w, &f[i]));
		put_uint(&line, LINE_LINE, f[i].line);
		put_message(&m, LOCATION_LINE, &line);
	}
	put_message(&w->out, PROFILE_LOCATION, &m);
	return id;
}

static void put_frames(struct Writer *w, const struct Frame *f, u32 n, struct Str *ids)
{
	for (u32 i = 0; i < n;) {
		u32 k = 1;
		while (i + k < n && f[i + k - 1].inlined)
			k++;
		put_varint(ids, location_id(w, &f[i], k));
		i += k;
	}
}

static void put_note(struct Writer *w, const char *note, struct Str *ids)
{
	struct Frame f = {.sym = note, .inlined = true};
	if (note)
		put_varint(ids, location_id(w, &f, 1));
}

// ---- the message

static void put_label(struct Writer *w, struct Str *sample, const char *key, const char *text, u64 num)
{
	struct Str m = {0};
	put_uint(&m, LABEL_KEY, string_id(w, key));
	if (text)
		put_uint(&m, LABEL_STR, string_id(w, text));
	else
		put_uint(&m, LABEL_NUM, num);
	put_message(sample, SAMPLE_LABEL, &m);
}

static void put_sample(struct Writer *w, const struct StackSample *s)
{
	struct Str m = {0}, ids = {0}, values = {0};
	s->nkern ? put_frames(w, s->kern, s->nkern, &ids) : put_note(w, s->kern_note, &ids);
	s->nuser ? put_frames(w, s->user, s->nuser, &ids) : put_note(w, s->user_note, &ids);
	put_message(&m, SAMPLE_LOCATION, &ids);
	put_varint(&values, s->value);
	if (w->p->period_ns)
		put_varint(&values, s->value * w->p->period_ns);
	put_message(&m, SAMPLE_VALUE, &values);
	if (s->comm)
		put_label(w, &m, "comm", s->comm, 0);
	if (s->pid)
		put_label(w, &m, "pid", NULL, s->pid);
	for (u32 i = 0; i < s->nlabels; i++) {
		struct Str text = {0}, key = {0};
		value_text(&s->labels[i], &text);
		str_addf(&key, "key%u", i + 1);
		put_label(w, &m, key.p, str_text(&text), 0);
		str_deinit(&text);
		str_deinit(&key);
	}
	put_message(&w->out, PROFILE_SAMPLE, &m);
}

// proto3 strings are UTF-8: other bytes become '?'.
static void put_string(struct Writer *w, const char *s)
{
	struct Str clean = {0};
	for (size_t n = strlen(s), i = 0, len; i < n; i += MAX(len, (size_t)1)) {
		len = utf8_len(s + i, n - i);
		if (len)
			str_addn(&clean, s + i, len);
		else
			str_addc(&clean, '?');
	}
	put_message(&w->out, PROFILE_STRING, &clean);
}

static void put_type(struct Writer *w, u32 field, const char *type, const char *unit)
{
	struct Str m = {0};
	put_uint(&m, TYPE_TYPE, string_id(w, type));
	put_uint(&m, TYPE_UNIT, string_id(w, unit));
	put_message(&w->out, field, &m);
}

static void put_types(struct Writer *w)
{
	const struct StackProfile *p = w->p;
	const char *unit = p->unit ? p->unit : "samples";
	if (!strcmp(unit, "us"))
		put_type(w, PROFILE_SAMPLE_TYPE, "time", "microseconds");
	else if (!strcmp(unit, "ns"))
		put_type(w, PROFILE_SAMPLE_TYPE, "time", "nanoseconds");
	else if (!strcmp(unit, "bytes"))
		put_type(w, PROFILE_SAMPLE_TYPE, "space", "bytes");
	else
		put_type(w, PROFILE_SAMPLE_TYPE, strcmp(unit, "count") ? unit : "events", "count");
	if (p->period_ns) {
		put_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
		put_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	}
}

static struct err *write_gzip(const struct Str *s, FILE *out)
{
	u8 buf[16384];
	z_stream z = {0};
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16 /* gzip */, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_new("writing the profile: zlib cannot start");
	int r = Z_OK;
	size_t given = 0;
	while (r != Z_STREAM_END) {
		if (!z.avail_in && given < s->n) {
			z.next_in = (u8 *)s->p + given;
			z.avail_in = (uInt)MIN(s->n - given, (size_t)1 << 30);
			given += z.avail_in;
		}
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		r = deflate(&z, given == s->n ? Z_FINISH : Z_NO_FLUSH);
		fwrite(buf, 1, sizeof(buf) - z.avail_out, out);
	}
	deflateEnd(&z);
	return fflush(out) || ferror(out) ? err_errno(errno, "writing the profile") : NULL;
}

struct err *pprof_write(const struct StackProfile *p, FILE *out)
{
	struct Writer w = {.p = p};
	put_types(&w);
	for (u32 i = 0; i < p->n; i++)
		if (p->samples[i].value)
			put_sample(&w, &p->samples[i]);
	put_uint(&w.out, PROFILE_TIME, p->start_ns);
	put_uint(&w.out, PROFILE_DURATION, p->duration_ns);
	put_uint(&w.out, PROFILE_PERIOD, p->period_ns);
	if (p->title)
		put_uint(&w.out, PROFILE_COMMENT, string_id(&w, p->title));
	put_bytes(&w.out, PROFILE_STRING, "", 0);
	for (u32 i = 0; i < w.strings.n; i++)
		put_string(&w, w.strings.slots[i].key);
	struct err *e = write_gzip(&w.out, out);
	str_deinit(&w.out);
	map_deinit(&w.strings);
	map_deinit(&w.mappings);
	map_deinit(&w.functions);
	map_deinit(&w.locations);
	return e;
}
