// Profiles for pprof: a gzipped protocol buffer.
// In: stack counts. Out: the Profile message of https://github.com/google/pprof/blob/main/proto/profile.proto. Invariant: every id and every
// string index that is used is defined; string 0 is empty; every address lies in its mapping.
//
// User frames are places in files, the same for all processes. So a mapping is a loadable segment of a file as if it were loaded where its
// ELF headers say: start is p_vaddr, offset p_offset, and an address is the ELF virtual address, which is what symbolizers want (go tool
// pprof's base becomes 0, readelf and objdump show the same numbers). Mappings of two files may overlap; each location names its own. Where
// there are no segments (kernel, modules, JIT code, unreadable files) the range is that of the pages seen.
// Of return addresses the byte before is written, which is in the call.
#include "out/report.h"
#include <errno.h>
#include <sys/utsname.h>
#include <zlib.h>

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

struct Mapping {
	const char *name, *build_id;
	u64 start, limit, offset; // of a segment; limit 0: as seen
	u64 low, high;		  // addresses seen
	bool in_file;		  // addresses without a segment are offsets in the file
	bool names, lines, inlines;
};
struct Writer {
	const struct StackProfile *p;
	struct Str out;
	struct Map strings, functions, locations;
	struct Map mapping_ids; // what a mapping is of -> id, which is its index + 1
	VEC(struct Mapping) mappings;
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

// ---- mappings, locations, functions

static const struct ImageSegment *segment_of(const struct Frame *f)
{
	for (u32 i = 0; f->image && !f->kernel && i < f->image->nsegs; i++)
		if (f->module_off >= f->image->segs[i].off && f->module_off - f->image->segs[i].off < f->image->segs[i].size)
			return &f->image->segs[i];
	return NULL;
}

// Where f is: its mapping's id (0: none is known) and its address in there.
static u64 place_of(struct Writer *w, const struct Frame *f, u64 *addr)
{
	const struct ImageSegment *seg = segment_of(f);
	const struct Image *image = f->image;
	const char *name = image ? image->path : f->kernel && !f->module ? "[kernel.kallsyms]" : f->module;
	bool virtual = f->module_addr && !f->module_off; // all that a file said (perf script)
	struct Mapping m = {.name = name, .build_id = image ? image->build_id : NULL, .in_file = !seg && !f->kernel && !f->addr && !virtual};
	struct Str key = {0};
	bool fresh;
	*addr = seg ? seg->vaddr + (f->module_off - seg->off) : m.in_file ? f->module_off : f->addr || f->kernel ? f->addr : f->module_addr;
	*addr -= f->ret && *addr;
	if (!name)
		return 0;
	if (seg) {
		m.start = seg->vaddr;
		m.limit = seg->vaddr + seg->size;
		m.offset = seg->off;
	}
	str_addf(&key, "%p;%llx;%d;%s", (const void *)image, (unsigned long long)m.offset, seg != NULL, name);
	u64 id = number_of(&w->mapping_ids, str_text(&key), &fresh);
	str_deinit(&key);
	if (fresh) {
		m.low = m.high = *addr;
		vec_push(&w->mappings, m);
	}
	struct Mapping *have = &w->mappings.p[id - 1];
	have->low = MIN(have->low, *addr);
	have->high = MAX(have->high, *addr);
	have->names |= f->sym != NULL;
	have->lines |= f->file != NULL;
	return id;
}

#define PAGE 4096ull
static void put_mapping(struct Writer *w, u64 id)
{
	struct Mapping *m = &w->mappings.p[id - 1];
	struct Str s = {0};
	if (!m->limit) {
		m->start = m->low & ~(PAGE - 1);
		m->limit = MAX(m->high | (PAGE - 1), (m->high | (PAGE - 1)) + 1); // not beyond the last address
		m->offset = m->in_file ? m->start : 0;
	}
	put_uint(&s, MAPPING_ID, id);
	put_uint(&s, MAPPING_START, m->start);
	put_uint(&s, MAPPING_LIMIT, m->limit);
	put_uint(&s, MAPPING_OFFSET, m->offset);
	put_uint(&s, MAPPING_FILENAME, string_id(w, m->name));
	put_uint(&s, MAPPING_BUILD_ID, string_id(w, m->build_id));
	put_uint(&s, MAPPING_HAS_FUNCTIONS, m->names); // else readers may look for names themselves
	put_uint(&s, MAPPING_HAS_FILENAMES, m->lines);
	put_uint(&s, MAPPING_HAS_LINES, m->lines);
	put_uint(&s, MAPPING_HAS_INLINES, m->inlines);
	put_message(&w->out, PROFILE_MAPPING, &s);
}

// The first one is taken for the program's.
static void put_mappings(struct Writer *w)
{
	u64 first = 0;
	for (u64 i = 1; !first && i <= w->mappings.n; i++) {
		const char *name = w->mappings.p[i - 1].name;
		if (name[0] == '/' && !strstr(name, ".so"))
			first = i;
	}
	if (first)
		put_mapping(w, first);
	for (u64 i = 1; i <= w->mappings.n; i++)
		if (i != first)
			put_mapping(w, i);
}

// go tool pprof takes a system name that is the name itself for a mangled one it cannot read, and drops what is in brackets:
// "<A as T>::work" and "<B as T>::work" became one. So names that are not mangled have none if they have brackets.
static const char *system_name(const struct Frame *f, const char *name)
{
	return f->raw ? f->raw : !f->sym || strpbrk(name, "<>[]") || strstr(name, "::") ? NULL : name;
}

static u64 function_id(struct Writer *w, const struct Frame *f)
{
	struct Str name = {0}, key = {0};
	bool fresh;
	struct Frame bare = *f; // file and line have fields of their own
	bare.file = NULL;
	profile_frame_name(&(struct StackProfile){0}, &bare, &name);
	const char *system = system_name(f, str_text(&name));
	str_addf(&key, "%s;%s;%s;%s", str_text(&name), system ? system : "", f->file ? f->file : "", f->module ? f->module : "");
	u64 id = number_of(&w->functions, str_text(&key), &fresh);
	if (fresh) {
		struct Str m = {0};
		put_uint(&m, FUNCTION_ID, id);
		put_uint(&m, FUNCTION_NAME, string_id(w, str_text(&name)));
		put_uint(&m, FUNCTION_SYSTEM_NAME, string_id(w, system));
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
	struct Str key = {0}, m = {0};
	bool fresh;
	u64 addr, mapping = place_of(w, &f[n - 1], &addr);
	if (mapping)
		w->mappings.p[mapping - 1].inlines |= n > 1;
	for (u32 i = 0; i < n; i++)
		str_addf(&key, "%s:%u;", f[i].sym ? f[i].sym : "", f[i].line);
	str_addf(&key, "%llu;%llx", (unsigned long long)mapping, (unsigned long long)addr);
	u64 id = number_of(&w->locations, str_text(&key), &fresh);
	str_deinit(&key);
	if (!fresh)
		return id;
	put_uint(&m, LOCATION_ID, id);
	put_uint(&m, LOCATION_MAPPING, mapping);
	put_uint(&m, LOCATION_ADDRESS, addr);
	for (u32 i = 0; i < n; i++) {
		struct Str line = {0};
		put_uint(&line, LINE_FUNCTION, function_id(w, &f[i]));
		put_uint(&line, LINE_LINE, f[i].mark ? 0 : f[i].line); // a mark's is a number of its own
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
	for (u32 k = 0; k < w->p->nparts; k++)
		put_varint(&values, s->part[k]);
	put_message(&m, SAMPLE_VALUE, &values);
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
	put_message(&w->out, PROFILE_SAMPLE, &m);
}

// proto3 strings are UTF-8. Other bytes become \xNN, and control characters, which go tool pprof would give to the terminal.
static void put_string(struct Writer *w, const char *s)
{
	struct Str clean = {0};
	str_add_shown(&clean, s, strlen(s));
	put_message(&w->out, PROFILE_STRING, &clean);
}

static void put_type(struct Writer *w, u32 field, const char *type, const char *unit)
{
	struct Str m = {0};
	put_uint(&m, TYPE_TYPE, string_id(w, type));
	put_uint(&m, TYPE_UNIT, string_id(w, unit));
	put_message(&w->out, field, &m);
}

// The value first, then what it is the sum of, if that is known. Readers show the last type, unless there is a default.
static void put_types(struct Writer *w)
{
	static const struct { const char *ours, *type, *unit; } units[] = {
		{"us", "time", "microseconds"}, {"ns", "time", "nanoseconds"}, {"bytes", "space", "bytes"}, {"count", "events", "count"}};
	const struct StackProfile *p = w->p;
	const char *type = p->unit ? p->unit : "samples", *unit = "count";
	for (size_t i = 0; p->unit && i < ARRAY_LEN(units); i++)
		if (!strcmp(units[i].ours, p->unit)) {
			type = units[i].type;
			unit = units[i].unit;
		}
	put_type(w, PROFILE_SAMPLE_TYPE, type, unit);
	if (p->nparts)
		put_uint(&w->out, PROFILE_DEFAULT_TYPE, string_id(w, type));
	if (p->period_ns) {
		put_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
		put_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	}
	for (u32 k = 0; k < p->nparts; k++)
		put_type(w, PROFILE_SAMPLE_TYPE, p->parts[k], unit);
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

// How it was made. If that is here and now, the machine is this one.
static void put_comments(struct Writer *w)
{
	const struct StackProfile *p = w->p;
	struct utsname u;
	if (p->title)
		put_uint(&w->out, PROFILE_COMMENT, string_id(w, p->title));
	for (u32 i = 0; i < p->ncomments; i++)
		put_uint(&w->out, PROFILE_COMMENT, string_id(w, p->comments[i]));
	if (!p->command || uname(&u))
		return;
	char *texts[] = {xasprintf("command: %s", p->command), xasprintf("kernel: %s %s %s", u.sysname, u.release, u.machine),
			 xasprintf("machine: %s, %ld processors", u.nodename, sysconf(_SC_NPROCESSORS_ONLN))};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		put_uint(&w->out, PROFILE_COMMENT, string_id(w, texts[i]));
		free(texts[i]);
	}
}

struct err *pprof_write(const struct StackProfile *p, FILE *out)
{
	struct Writer w = {.p = p};
	put_types(&w);
	for (u32 i = 0; i < p->n; i++)
		if (p->samples[i].value)
			put_sample(&w, &p->samples[i]);
	put_mappings(&w);
	put_uint(&w.out, PROFILE_TIME, p->start_ns);
	put_uint(&w.out, PROFILE_DURATION, p->duration_ns);
	put_uint(&w.out, PROFILE_PERIOD, p->period_ns);
	put_comments(&w);
	put_bytes(&w.out, PROFILE_STRING, "", 0);
	for (u32 i = 0; i < w.strings.n; i++)
		put_string(&w, w.strings.slots[i].key);
	struct err *e = write_gzip(&w.out, out);
	str_deinit(&w.out);
	map_deinit(&w.strings);
	map_deinit(&w.mapping_ids);
	vec_deinit(&w.mappings);
	map_deinit(&w.functions);
	map_deinit(&w.locations);
	return e;
}
