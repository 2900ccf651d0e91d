// Where the running kernel's records keep what is asked for, by one look at all of its BTF: names first, then types, as integers.
// Input: /sys/kernel/btf/vmlinux. Output: offsets and sizes. Invariant: what is not found is -1.
#include "ctype/internal.h"
#include <linux/btf.h>

#define SEEN 64 // strings that are the name of a wanted record
struct Names {
	u32 off[SEEN], n; // in the string section
	u64 bits;	  // off & 63 of each
};

static bool wanted(const struct BtfPlace *p, u32 n, const char *name)
{
	for (u32 i = 0; i < n; i++)
		if (*name == *p[i].rec && !strcmp(name, p[i].rec))
			return true;
	return false;
}

static void find_names(const struct Btf *b, const struct BtfPlace *p, u32 n, struct Names *out)
{
	bool first[256] = {false};
	for (u32 i = 0; i < n; i++)
		first[(u8)*p[i].rec] = true;
	for (const char *s = b->strs, *end = s + b->strs_len; s < end; s += strlen(s) + 1) { // the section ends with a NUL
		if (!first[(u8)*s] || !wanted(p, n, s) || out->n == SEEN)
			continue;
		u32 off = (u32)(s - b->strs) + b->first_str;
		out->off[out->n++] = off;
		out->bits |= 1ull << (off & 63);
	}
}

// Offset in bytes of a member, through anonymous structs and unions; -1: there is none.
static s64 member(struct Btf *b, const struct btf_type *t, const char *name, int depth)
{
	size_t n = strcspn(name, ".");
	const struct btf_member *m = (const struct btf_member *)(t + 1);
	bool bits = BTF_INFO_KFLAG(t->info);
	for (u32 i = 0; depth < 16 && i < BTF_INFO_VLEN(t->info); i++, m++) {
		const char *mn = kbtf_name(b, m->name_off);
		s64 at = (bits ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset) / 8;
		bool here = !strncmp(mn, name, n) && !mn[n];
		if (here && !name[n])
			return at;
		if (*mn && !here)
			continue;
		u32 id = m->type;
		const struct btf_type *mt = kbtf_skip(b, &id, NULL);
		if (!mt || (BTF_INFO_KIND(mt->info) != BTF_KIND_STRUCT && BTF_INFO_KIND(mt->info) != BTF_KIND_UNION))
			continue;
		s64 in = member(b, mt, here ? name + n + 1 : name, depth + 1);
		if (in >= 0)
			return at + in;
	}
	return -1;
}

void btf_places(struct BtfPlace *p, u32 n)
{
	struct Btf *b = kbtf_running();
	struct Names names = {0};
	for (u32 i = 0; i < n; i++)
		p[i].off = -1;
	if (b)
		find_names(b, p, n, &names);
	for (u32 id = b ? kbtf_next(b, 0) : 0; id; id = kbtf_next(b, id)) {
		const struct btf_type *t = kbtf_type_by_id(b, id);
		if (!t)
			break;
		if (!(names.bits >> (t->name_off & 63) & 1) || !BTF_INFO_VLEN(t->info) ||
		    (BTF_INFO_KIND(t->info) != BTF_KIND_STRUCT && BTF_INFO_KIND(t->info) != BTF_KIND_UNION))
			continue;
		u32 k = 0;
		while (k < names.n && names.off[k] != t->name_off)
			k++;
		if (k == names.n)
			continue;
		const char *name = kbtf_name(b, t->name_off);
		for (u32 i = 0; i < n; i++) // modules of old kernels repeat names: the first counts
			if (!p[i].seen && !strcmp(name, p[i].rec)) {
				p[i].seen = true;
				p[i].off = p[i].field ? member(b, t, p[i].field, 0) : t->size;
			}
	}
	kbtf_free(b);
}
