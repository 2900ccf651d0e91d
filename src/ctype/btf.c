// BTF reader: bytes of /sys/kernel/btf/X -> types by id and by name.
// Input: BTF (Documentation/bpf/btf.rst), maybe damaged. Output: pointers into it. Invariant: what lies below next_id was checked to
// be inside the data; nothing past it is ever read. The types are walked only as far as a question needs, because a
// process that asks for task_struct should not page in 3 MB.
#include "ctype/internal.h"
#include <linux/btf.h>
#include <sys/mman.h>

#define BTF_MARK 64 // one offset is kept for so many types

enum { KIND_DECL_TAG = 17, KIND_TYPE_TAG = 18, KIND_ENUM64 = 19 };

static u32 kind_of(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

// Bytes after struct btf_type; UINT32_MAX: a kind this reader does not know, whose end cannot be found.
static u32 extra_size(const struct btf_type *t)
{
	u32 n = BTF_INFO_VLEN(t->info);
	switch (kind_of(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case KIND_ENUM64:
		return n * 12;
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case KIND_TYPE_TAG:
		return 0;
	default:
		return UINT32_MAX;
	}
}

// Strings end with NUL; those of vmlinux begin with the empty one, a module's do not (they go on where vmlinux's end).
static bool strings_ok(const struct btf_header *h, const char *strs, bool split)
{
	return h->str_len ? !strs[h->str_len - 1] && (split || !strs[0]) : split;
}

static bool check_header(const u8 *data, size_t size, bool split, const char **why)
{
	const struct btf_header *h = (const void *)data;
	if (size < sizeof(*h) || h->magic != BTF_MAGIC) {
		*why = "it does not start like BTF";
		return false;
	}
	size_t body = size - MIN((size_t)h->hdr_len, size);
	if (h->version != BTF_VERSION || h->hdr_len < sizeof(*h) || h->hdr_len % 4 || h->type_off % 4 || h->type_off > body ||
	    h->type_len > body - h->type_off || h->str_off > body || h->str_len > body - h->str_off ||
	    !strings_ok(h, (const char *)data + h->hdr_len + h->str_off, split)) {
		*why = "its header is damaged";
		return false;
	}
	return true;
}

static void release(void *data, size_t size, bool mapped)
{
	if (mapped)
		munmap(data, size);
	else
		free(data);
}

static u32 kbtf_scan(struct Btf *b, u32 id);

struct Btf *kbtf_from_data(void *data, size_t size, bool mapped, struct Btf *base, const char **why)
{
	if (!check_header(data, size, base != NULL, why)) {
		release(data, size, mapped);
		return NULL;
	}
	const struct btf_header *h = data;
	struct Btf *b = xcalloc(1, sizeof(*b));
	b->data = data;
	b->size = size;
	b->mapped = mapped;
	b->base = base;
	b->types = b->data + h->hdr_len + h->type_off;
	b->types_len = h->type_len;
	b->strs = (const char *)b->data + h->hdr_len + h->str_off;
	b->strs_len = h->str_len;
	b->first_id = 1;
	if (base) {
		kbtf_scan(base, UINT32_MAX);
		b->first_id = base->next_id;
		b->first_str = base->strs_len;
	}
	b->next_id = b->first_id;
	return b;
}

void kbtf_free(struct Btf *b)
{
	if (!b)
		return;
	release((void *)b->data, b->size, b->mapped);
	free(b->marks);
	free(b->index);
	numtab_deinit(&b->memo);
	free(b);
}

// The type at an offset that may not be checked yet; NULL at the end or where the data stops making sense.
static const struct btf_type *type_at(const struct Btf *b, u32 off, u32 *next)
{
	const struct btf_type *t = (const void *)(b->types + off);
	if (off > b->types_len || b->types_len - off < sizeof(*t))
		return NULL;
	u32 extra = extra_size(t);
	if (extra == UINT32_MAX || b->types_len - off - sizeof(*t) < extra)
		return NULL;
	*next = off + (u32)sizeof(*t) + extra;
	return t;
}

// Checks types up to and including id. Returns the first id not checked.
static u32 kbtf_scan(struct Btf *b, u32 id)
{
	while (!b->scanned && b->next_id <= id) {
		u32 next, nth = b->next_id - b->first_id;
		if (!type_at(b, b->next_off, &next)) {
			b->scanned = true;
			break;
		}
		if (nth % BTF_MARK == 0) {
			if (b->nmarks == b->marks_cap) {
				b->marks_cap = b->marks_cap ? b->marks_cap * 2 : 64;
				b->marks = xrealloc(b->marks, b->marks_cap * sizeof(*b->marks));
			}
			b->marks[b->nmarks++] = b->next_off;
		}
		b->next_off = next;
		b->next_id++;
	}
	return b->next_id;
}

const struct btf_type *kbtf_type_by_id(struct Btf *b, u32 id)
{
	while (b->base && id < b->first_id)
		b = b->base;
	if (!id || id < b->first_id || id >= kbtf_scan(b, id))
		return NULL;
	u32 nth = id - b->first_id, from = nth / BTF_MARK * BTF_MARK + b->first_id, off = b->marks[nth / BTF_MARK];
	if (b->cur_id > from && b->cur_id <= id) {
		from = b->cur_id;
		off = b->cur_off;
	}
	const struct btf_type *t;
	u32 next = off;
	do {
		off = next;
		t = type_at(b, off, &next);
	} while (from++ < id);
	b->cur_id = id;
	b->cur_off = off;
	return t;
}

const char *kbtf_name(const struct Btf *b, u32 off)
{
	while (b->base && off < b->first_str)
		b = b->base;
	off -= b->first_str;
	return off < b->strs_len ? b->strs + off : "";
}

const char *kbtf_type_name(struct Btf *b, u32 id)
{
	const struct btf_type *t = kbtf_type_by_id(b, id);
	return t ? kbtf_name(b, t->name_off) : NULL;
}

u32 kbtf_next(struct Btf *b, u32 id)
{
	id = id ? id + 1 : b->first_id;
	return id < kbtf_scan(b, id) ? id : 0;
}

const struct btf_type *kbtf_record(const struct Btf *b, u32 *at)
{
	const struct btf_type *t;
	u32 off = *at;
	while ((t = type_at(b, off, &off)))
		if ((kind_of(t) == BTF_KIND_STRUCT || kind_of(t) == BTF_KIND_UNION) && BTF_INFO_VLEN(t->info) && t->name_off)
			break;
	*at = off;
	return t;
}

u32 kbtf_str_offsets(const struct Btf *b, const char *name, u32 *out, u32 max)
{
	u32 n = 0;
	if (!*name || !max)
		return 0;
	if (b->base)
		n = kbtf_str_offsets(b->base, name, out, max);
	size_t len = strlen(name) + 1; // with the NUL
	for (const char *p = b->strs, *end = b->strs + b->strs_len; n < max && p < end;) {
		p = memmem(p, (size_t)(end - p), name, len);
		if (!p)
			break;
		if (p == b->strs || !p[-1])
			out[n++] = (u32)(p - b->strs) + b->first_str;
		p += len;
	}
	return n;
}

// ---- names

#define FINDS_BEFORE_INDEX 24 // listing and wildcards ask for thousands of names: then a hash pays

static u32 name_hash(const char *s)
{
	u32 h = 2166136261u;
	for (; *s; s++)
		h = (h ^ (u8)*s) * 16777619u;
	return h;
}

static void make_index(struct Btf *b)
{
	u32 n = kbtf_scan(b, UINT32_MAX) - b->first_id, size = 1024, off = 0;
	while (size < n * 2)
		size *= 2;
	b->index = xcalloc(size, sizeof(*b->index));
	b->index_size = size;
	for (u32 id = b->first_id; id < b->next_id; id++) {
		const char *name = kbtf_name(b, type_at(b, off, &off)->name_off);
		if (!*name)
			continue;
		u32 h = name_hash(name);
		while (b->index[h & (size - 1)])
			h++;
		b->index[h & (size - 1)] = id; // ids of one name lie in ascending order along the probe sequence
	}
}

static u32 find_indexed(struct Btf *b, const char *name, u32 kinds)
{
	for (u32 h = name_hash(name);; h++) {
		u32 id = b->index[h & (b->index_size - 1)];
		if (!id)
			return 0;
		const struct btf_type *t = kbtf_type_by_id(b, id);
		if ((kinds & BTF_KIND_BIT(kind_of(t))) && !strcmp(kbtf_name(b, t->name_off), name))
			return id;
	}
}

u32 kbtf_find(struct Btf *b, const char *name, u32 kinds)
{
	if (!b->index && ++b->nfinds > FINDS_BEFORE_INDEX)
		make_index(b);
	if (b->index)
		return find_indexed(b, name, kinds);
	// Names are stored once (BTF writers deduplicate), so looking for the name's offset first leaves a scan of integers.
	u32 offs[8], noffs = kbtf_str_offsets(b, name, offs, ARRAY_LEN(offs)), off = 0;
	if (!noffs)
		return 0;
	for (u32 id = b->first_id; id < kbtf_scan(b, id); id++) {
		const struct btf_type *t = type_at(b, off, &off);
		for (u32 i = 0; i < noffs; i++)
			if (t->name_off == offs[i] && (kinds & BTF_KIND_BIT(kind_of(t))))
				return id;
	}
	return 0;
}

// ---- memo

struct Memo {
	u64 id, nil; // see struct NumTab
	const struct Type *type;
};

const struct Type *kbtf_memo_get(const struct Btf *b, u32 id)
{
	const struct Memo *m = numtab_get(&b->memo, id, 0);
	return m ? m->type : NULL;
}

void kbtf_memo_put(struct Btf *b, u32 id, const struct Type *t)
{
	b->memo.size = sizeof(struct Memo);
	struct Memo *m = numtab_put(&b->memo, id, 0);
	m->type = t;
}
