// Reads a file, tells its format. See input.h.
#include "input/internal.h"
#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <zlib.h>

#define MAX_BYTES ((size_t)2 << 30) // gunzipped
#define RECORDS_OF_SMALL (8u << 20) // and of a large file one more for two bytes: a frame of perf script takes as much, gzipped
#define TEXT_OF_SMALL (1u << 30) // likewise of a large one 256 bytes more for each

static const struct Format *const formats[] = {&format_pprof, &format_bpftrace, &format_perf, &format_folded}; // folded text last: it has no beginning of its own

static bool is_gzip(const char *data, size_t n)
{
	return n > 2 && (u8)data[0] == 0x1f && (u8)data[1] == 0x8b; // RFC 1952, 2.3.1
}

static struct err *gunzip(const char *data, size_t n, struct Str *out)
{
	char buf[65536];
	z_stream z = {0};
	int r = Z_OK;
	if (inflateInit2(&z, 15 + 16 /* gzip */) != Z_OK)
		return err_new("zlib cannot start");
	for (size_t given = 0; r == Z_OK && out->n < MAX_BYTES;) {
		if (!z.avail_in) {
			z.next_in = (u8 *)data + given;
			z.avail_in = (uInt)MIN(n - given, (size_t)1 << 30);
			given += z.avail_in;
		}
		z.next_out = (u8 *)buf;
		z.avail_out = sizeof(buf);
		r = inflate(&z, Z_NO_FLUSH);
		str_addn(out, buf, sizeof(buf) - z.avail_out);
		if (r == Z_STREAM_END && is_gzip(data + given - z.avail_in, n - given + z.avail_in)) // another member, as `gzip >> FILE` makes it
			r = inflateReset(&z);
	}
	inflateEnd(&z);
	return r == Z_STREAM_END ? NULL : out->n >= MAX_BYTES ? err_new("it holds more than %zu bytes", MAX_BYTES) : err_new("its gzip data are damaged or cut short");
}

// Files that hold a profile in a form that others must unpack first, by their beginning.
static struct err *what_else(const char *data, size_t n)
{
	static const struct { const char *magic; size_t n; const char *what, *advice; } known[] = {
		{"PERFILE2", 8, "perf's own file", "give the text of `perf script -i FILE`"}, {"\x28\xb5\x2f\xfd", 4, "compressed by zstd", "unpack it with `zstd -d` first"},
		{"\xfd" "7zXZ", 6, "compressed by xz", "unpack it with `xz -d` first"}, {"BZh", 3, "compressed by bzip2", "unpack it with `bzip2 -d` first"},
		{"FLR", 4, "Java's flight recording", "print it with a converter to folded stacks or pprof"}};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (n >= known[i].n && !memcmp(data, known[i].magic, known[i].n))
			return err_new("it is %s: %s", known[i].what, known[i].advice);
	return err_new("it is neither pprof, folded stacks, the text of perf script nor that of bpftrace's maps");
}

static struct err *parse_plain(struct Input *in, const struct InputWish *wish, const char *data, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (!formats[i]->is(data, n))
			continue;
		in->format = formats[i]->name;
		in->units = formats[i]->units;
		struct err *e = formats[i]->read(in, wish, data, n);
		in->prof.samples = in->samples.p;
		in->prof.n = (u32)in->samples.n;
		if (!e && in->text > in->most_text)
			e = err_new("its stacks, written out, have more than %llu bytes", (unsigned long long)in->most_text);
		if (!e && input_full(in))
			e = err_new("it has more than %llu samples, frames and names", (unsigned long long)in->most);
		if (!e && in->skipped && !in->samples.n)
			e = err_new("none of its %s is a stack: the first, %llu, %s", in->units, (unsigned long long)in->first_skipped, in->why);
		return e;
	}
	return what_else(data, n);
}

struct err *input_parse(struct Input *in, const struct InputWish *wish, const char *data, size_t n)
{
	struct Str plain = {0};
	struct err *e = NULL;
	in->prof.unit = "samples";
	in->most = RECORDS_OF_SMALL + n / 2;
	in->most_text = TEXT_OF_SMALL + 256 * (u64)n;
	bool zipped = is_gzip(data, n);
	if (zipped)
		e = gunzip(data, n, &plain);
	if (!e)
		e = zipped ? parse_plain(in, wish, str_text(&plain), plain.n) : parse_plain(in, wish, data, n);
	str_deinit(&plain);
	return e;
}

// /dev/zero, /dev/urandom: they have no end. Terminals and pipes have one (Linux, Documentation/admin-guide/devices.txt: 1 char).
static bool is_memory_device(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == 1;
}

struct err *input_load(struct Input *in, const struct InputWish *wish, const char *path)
{
	struct Str s = {0};
	if (strcmp(path, "-") && is_memory_device(path))
		return err_new("cannot read %s: it is a device, no profile", path);
	struct err *e = read_file(strcmp(path, "-") ? path : "/dev/stdin", &s, MAX_BYTES);
	if (!e) {
		e = input_parse(in, wish, str_text(&s), s.n);
		e = e ? err_wrap(e, "cannot read %s", strcmp(path, "-") ? path : "standard input") : NULL;
	}
	str_deinit(&s);
	return e;
}

void input_tell(const struct Input *in, const char *path, struct Str *json)
{
	if (!in->skipped)
		return;
	char *text = xasprintf("%s: %llu of its %s left out: the first, %llu, %s", path, (unsigned long long)in->skipped, in->units, (unsigned long long)in->first_skipped, in->why);
	str_addf(json, "{\"type\": \"left_out\", \"count\": %llu, \"msg\": ", (unsigned long long)in->skipped);
	str_add_json(json, text, strlen(text));
	str_add(json, "}\n");
	fprintf(stderr, "WARNING: %s\n", text);
	free(text);
}

void input_deinit(struct Input *in)
{
	vec_deinit(&in->samples);
	arena_deinit(&in->arena);
}
