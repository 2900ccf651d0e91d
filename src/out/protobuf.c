// Messages of protocol buffers, as bytes (protobuf.dev, encoding). In: fields, one after the other, or a message. Out: the message, or its fields.
// Invariant: strings that are written are UTF-8; of a message that is read nothing behind its end is.
#include "out/internal.h"
#include <errno.h>
#include <zlib.h>

void pb_varint(struct Str *s, u64 v)
{
	while (v >= 0x80) {
		str_addc(s, (char)(v | 0x80));
		v >>= 7;
	}
	str_addc(s, (char)v);
}

void pb_uint(struct Str *s, u32 field, u64 v)
{
	if (!v)
		return;
	pb_varint(s, (u64)field << 3);
	pb_varint(s, v);
}

void pb_fixed64(struct Str *s, u32 field, u64 v)
{
	if (!v)
		return;
	pb_varint(s, (u64)field << 3 | 1);
	for (u32 i = 0; i < 8; i++)
		str_addc(s, (char)(v >> (8 * i)));
}

void pb_bytes(struct Str *s, u32 field, const char *p, size_t n)
{
	pb_varint(s, (u64)field << 3 | 2);
	pb_varint(s, n);
	str_addn(s, p, n);
}

void pb_message(struct Str *s, u32 field, struct Str *msg)
{
	pb_bytes(s, field, str_text(msg), msg->n);
	str_deinit(msg);
}

void pb_string(struct Str *s, u32 field, const char *text)
{
	struct Str clean = {0};
	str_add_shown(&clean, text, strlen(text));
	pb_message(s, field, &clean);
}

void key_text(struct Str *key, const char *text)
{
	str_add(key, text ? text : "");
	str_addc(key, ';');
}

void key_number(struct Str *key, u64 v)
{
	str_addx(key, v);
	str_addc(key, ';');
}

u64 number_of(struct Map *m, const char *key, bool *fresh)
{
	u64 n = (uintptr_t)map_get(m, key);
	*fresh = !n;
	if (!n) {
		n = m->n + 1;
		map_put(m, key, (void *)(uintptr_t)n);
	}
	return n;
}

u64 number_of_message(struct Map *m, const struct Str *msg, bool *fresh)
{
	struct Str key = {0}; // in hex: it may hold any byte
	for (size_t i = 0; i < msg->n; i++) {
		str_addc(&key, "0123456789abcdef"[(u8)msg->p[i] >> 4]);
		str_addc(&key, "0123456789abcdef"[(u8)msg->p[i] & 15]);
	}
	u64 n = number_of(m, str_text(&key), fresh);
	str_deinit(&key);
	return n;
}

struct err *gzip_write(const struct Str *s, bool fast, FILE *out)
{
	u8 buf[16384];
	z_stream z = {0};
	if (deflateInit2(&z, fast ? Z_BEST_SPEED : Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16 /* gzip */, 8, Z_DEFAULT_STRATEGY) != Z_OK)
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

// ---- reading

u64 pb_number(struct Pb *b)
{
	u64 v = 0;
	for (u32 shift = 0; shift < 70; shift += 7) {
		if (b->p >= b->end)
			break;
		u8 c = *b->p++;
		v |= shift < 64 ? (u64)(c & 0x7f) << shift : 0;
		if (!(c & 0x80))
			return v;
	}
	b->bad = true;
	return 0;
}

static u64 fixed(struct Pb *b, size_t n)
{
	u64 v = 0;
	if ((size_t)(b->end - b->p) < n) {
		b->bad = true;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		v |= (u64)b->p[i] << (8 * i);
	b->p += n;
	return v;
}

bool pb_field(struct Pb *b, struct PbField *f)
{
	if (b->bad || b->p >= b->end)
		return false;
	u64 tag = pb_number(b);
	*f = (struct PbField){.number = (u32)(tag >> 3), .wire = tag & 7};
	switch (f->wire) {
	case PB_WIRE_VARINT:
		f->v = pb_number(b);
		break;
	case PB_WIRE_64:
		f->v = fixed(b, 8);
		break;
	case PB_WIRE_32:
		f->v = fixed(b, 4);
		break;
	case PB_WIRE_BYTES:
		f->v = pb_number(b);
		if (f->v > (u64)(b->end - b->p))
			b->bad = true;
		else {
			f->sub = (struct Pb){b->p, b->p + f->v};
			b->p += f->v;
		}
		break;
	default:
		b->bad = true;
	}
	return !b->bad && f->number;
}
