// Where the running kernel's records keep what is asked for, by one look at its BTF: records only, and no further than the last one that is wanted.
// Input: /sys/kernel/btf/vmlinux. Output: offsets and sizes. Invariant: what is not found is -1.
#include "ctype/internal.h"
#include <linux/btf.h>

// By a name's first two characters: most names need not be compared with all that are wanted.
static u32 bit_of(const char *name)
{
	return ((u8)name[0] * 5u + (*name ? (u8)name[1] : 0u) * 3u) & 63;
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

// What is wanted of a record, into p. Returns how many those are.
static u32 take(struct Btf *b, const struct btf_type *t, const char *name, struct BtfPlace *p, u32 n)
{
	u32 got = 0;
	for (u32 i = 0; i < n; i++) // modules of old kernels repeat names: the first counts
		if (!p[i].seen && !strcmp(name, p[i].rec)) {
			p[i].seen = true;
			p[i].off = p[i].field ? member(b, t, p[i].field, 0) : t->size;
			got++;
		}
	return got;
}

void btf_places(struct BtfPlace *p, u32 n)
{
	struct Btf *b = kbtf_running();
	u64 bits = 0;
	for (u32 i = 0; i < n; i++) {
		p[i].off = -1;
		bits |= 1ull << bit_of(p[i].rec);
	}
	const struct btf_type *t;
	for (u32 at = 0, left = n; b && left && (t = kbtf_record(b, &at));) {
		const char *name = kbtf_name(b, t->name_off);
		if (bits >> bit_of(name) & 1)
			left -= take(b, t, name, p, n);
	}
	kbtf_free(b);
}
