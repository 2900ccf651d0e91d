// Where the lines of scripts of JavaScript begin. Input: the memory of a process that runs V8, and where a script lay in it when one of its functions was met.
// Output: lines of positions. Objects move: a script counts only if it is of its type and number, and its source is where it was, before and after it was read.
// Invariant: a script is known by its name and length; two with the same ones whose lines begin elsewhere have no lines.
#include "runtime/internal.h"

#define SOURCE_MAX (128u << 20) // bytes
#define LINES_MAX (4u << 20)
#define ALL_LINES_MAX (32u << 20) // of all scripts, which nobody frees before the end
#define SCRIPTS_MAX (1u << 16)
#define PIECE 65536

struct Script {
	u64 key, nil; // see struct NumTab
	u32 *starts;  // owned: of each line but the first
	u32 n;
	bool twice;
};
struct Seen {
	u64 key, tgid; // see struct NumTab
};
struct Scripts {
	struct NumTab known, seen;
	u64 nlines; // of those known
};

struct Scripts *scripts_create(void)
{
	struct Scripts *s = xcalloc(1, sizeof(*s));
	s->known.size = sizeof(struct Script);
	s->seen.size = sizeof(struct Seen);
	return s;
}

void scripts_destroy(struct Scripts *s)
{
	for (u32 i = 0; i < s->known.cap; i++) {
		struct Script *k = numtab_at(&s->known, i);
		if (k)
			free(k->starts);
	}
	numtab_deinit(&s->known);
	numtab_deinit(&s->seen);
	free(s);
}

static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static u64 key_of(const struct RtCode *c)
{
	u64 h = c->file_len, length = 0;

	for (u32 i = 0; i < MIN(c->file_len, RT_CODE_FILE); i++)
		h = mix(h, c->file[i]);
	memcpy(&length, c->lines + 16, sizeof(length));
	return mix(h, length) | 1;
}

// ---- reading one
static bool word(const struct JavaMemory *m, u64 addr, u64 *out)
{
	return m->read(m->arg, addr, out, 8);
}

static bool is_object(u64 v)
{
	return (v & 3) == 1 && !(v >> RT_UW_PC_BITS);
}

static bool type_of(const struct JavaMemory *m, const struct RtV8 *v, u64 object, u64 *map, u16 *out)
{
	return is_object(object) && word(m, object - 1, map) && is_object(*map) && m->read(m->arg, *map - 1 + v->map_type, out, 2);
}

struct Text {
	u64 at;	   // its first character
	u64 holder, map; // the string that holds it
	u32 n, width;
};

// Where a string's characters lie, if side by side.
static bool text_of(const struct JavaMemory *m, const struct RtV8 *v, u64 s, struct Text *out)
{
	u64 skip = 0, next;
	u32 n = 0, len;
	u16 type;

	for (u32 i = 0; i < 4; i++, s = next) {
		if (!type_of(m, v, s, &out->map, &type) || type >= v->t_no_string || !m->read(m->arg, s - 1 + v->str_len, &len, 4))
			return false;
		n = i ? n : len;
		u32 shape = type & v->str_shape;
		out->holder = s;
		out->n = n;
		out->width = type & v->str_latin ? 1 : 2;
		out->at = s - 1 + v->str_chars + skip * out->width;
		if (shape == v->str_flat)
			return skip + n <= len;
		if (shape == v->str_external)
			return word(m, s - 1 + v->ext_data, &out->at) && !skip;
		if (shape == v->str_sliced) {
			if (skip || !word(m, s - 1 + v->slice_offset, &skip) || !word(m, s - 1 + v->slice_parent, &next))
				return false;
			skip >>= 32;
		} else if (shape == v->str_thin) {
			if (!word(m, s - 1 + v->thin_actual, &next))
				return false;
		} else if (shape == v->str_cons) { // flattened: all of it is in the first
			u32 rest;
			if (!word(m, s - 1 + v->cons_second, &next) || !is_object(next) || !m->read(m->arg, next - 1 + v->str_len, &rest, 4) || rest ||
			    !word(m, s - 1 + v->cons_first, &next))
				return false;
		} else {
			return false;
		}
	}
	return false;
}

static void count_lines(struct ScriptLines *l, const u8 *p, u32 n, u32 width, u32 from)
{
	for (u32 i = 0; i < n; i++) {
		u32 c = width == 2 ? (u32)p[2 * i] | (u32)p[2 * i + 1] << 8 : p[i];
		if (c == '\n' && l->cr)
			vec_last(&l->starts) = from + i + 1;
		else if (c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029)
			vec_push(&l->starts, from + i + 1);
		l->cr = c == '\r';
	}
}

static bool read_lines(const struct JavaMemory *m, const struct Text *t, struct ScriptLines *l)
{
	u8 buf[PIECE];
	u64 all = (u64)t->n * t->width;

	for (u64 at = 0; at < all && all <= SOURCE_MAX && l->starts.n <= LINES_MAX; at += sizeof(buf)) {
		u64 n = MIN(all - at, (u64)sizeof(buf));
		if (!m->read(m->arg, t->at + at, buf, n))
			return false;
		count_lines(l, buf, (u32)(n / t->width), t->width, (u32)(at / t->width));
	}
	l->large = all > SOURCE_MAX || l->starts.n > LINES_MAX;
	return true;
}

static bool is_script(const struct JavaMemory *m, const struct RtV8 *v, const struct RtScriptAt *at, u64 *source)
{
	u64 map, id;
	u16 type;
	return type_of(m, v, at->script, &map, &type) && type == v->t_script && word(m, at->script - 1 + v->p_id, &id) && id == at->id &&
	       word(m, at->script - 1 + v->p_source, source);
}

static bool read_script(const struct JavaMemory *m, const struct RtV8 *v, const struct RtScriptAt *at, u64 length, struct ScriptLines *l)
{
	u64 source, again, map;
	struct Text t;
	u16 type;

	return is_script(m, v, at, &source) && text_of(m, v, source, &t) && t.n == length && read_lines(m, &t, l) && is_script(m, v, at, &again) && again == source &&
	       type_of(m, v, t.holder, &map, &type) && map == t.map;
}

bool scripts_wants(struct Scripts *s, const struct RtCode *c, struct RtScriptAt *at)
{
	if (c->kind != RT_LANG_V8 || c->nlines < RT_CODE_SCRIPT + sizeof(*at))
		return false;
	memcpy(at, c->lines + RT_CODE_SCRIPT, sizeof(*at));
	return !numtab_get(&s->seen, key_of(c), at->tgid) && s->seen.n < SCRIPTS_MAX;
}

bool scripts_read(const struct RtCode *c, const struct JavaMemory *m, const struct RtV8 *v, struct ScriptLines *l)
{
	struct RtScriptAt at;
	u64 length;

	memcpy(&at, c->lines + RT_CODE_SCRIPT, sizeof(at));
	memcpy(&length, c->lines + 16, sizeof(length));
	return read_script(m, v, &at, length, l);
}

void scripts_add(struct Scripts *s, const struct RtCode *c, struct ScriptLines *l)
{
	struct RtScriptAt at;

	memcpy(&at, c->lines + RT_CODE_SCRIPT, sizeof(at));
	numtab_put(&s->seen, key_of(c), at.tgid);
	struct Script *k = numtab_get(&s->known, key_of(c), 0);
	if (k)
		k->twice |= k->n != l->starts.n || (k->n && memcmp(k->starts, l->starts.p, k->n * sizeof(*k->starts)));
	if (k || l->large || s->nlines + l->starts.n > ALL_LINES_MAX)
		return;
	k = numtab_put(&s->known, key_of(c), 0);
	k->starts = l->starts.p;
	k->n = (u32)l->starts.n;
	s->nlines += k->n;
	*l = (struct ScriptLines){0};
}

u32 scripts_line(struct Scripts *s, const struct RtCode *c, u32 pos)
{
	u64 offset = (u64)c->first_line << RT_POS_BITS | pos; // + 1; 0: not known
	const struct Script *k = c->nlines >= 24 ? numtab_get(&s->known, key_of(c), 0) : NULL;

	if (!k || k->twice || !offset--)
		return 0;
	u32 lo = 0, hi = k->n; // lines that begin at offset or before it
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (k->starts[mid] <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo + 1;
}
