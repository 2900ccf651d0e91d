// Where frames lie, for formats that tell code by file and address (pprof, OTLP), and what the functions there are called.
// In: frames. Out: mappings, addresses, names. Invariant: every address lies in its mapping.
//
// User frames are places in files, the same for all processes. So a mapping is a loadable segment of a file as if it were loaded where its
// ELF headers say: start is p_vaddr, offset p_offset, and an address is the ELF virtual address, which is what symbolizers want (go tool
// pprof's base becomes 0, readelf and objdump show the same numbers). Mappings of two files may overlap; each location names its own. Where
// there are no segments (kernel, modules, JIT code, unreadable files) the range is that of the pages seen.
// Of return addresses the byte before is written, which is in the call.
#include "out/internal.h"

static const struct ImageSegment *segment_of(const struct Frame *f)
{
	for (u32 i = 0; f->image && !f->kernel && i < f->image->nsegs; i++)
		if (f->module_off >= f->image->segs[i].off && f->module_off - f->image->segs[i].off < f->image->segs[i].size)
			return &f->image->segs[i];
	return NULL;
}

u64 places_put(struct Places *p, const struct Frame *f, u64 *addr)
{
	const struct ImageSegment *seg = segment_of(f);
	const struct Image *image = f->image;
	const char *name = image ? image->path : f->kernel && !f->module ? "[kernel.kallsyms]" : f->module;
	bool virtual = f->module_addr && !f->module_off; // all that a file said (perf script)
	struct Mapping m = {.name = name, .build_id = image ? image->build_id : NULL, .in_file = !seg && !f->kernel && !f->addr && !virtual};
	struct Str key = {0};
	bool fresh = false;
	*addr = seg ? seg->vaddr + (f->module_off - seg->off) : m.in_file ? f->module_off : f->addr || f->kernel ? f->addr : f->module_addr;
	*addr -= f->ret && *addr;
	if (!name)
		return 0;
	if (seg) {
		m.start = seg->vaddr;
		m.limit = seg->vaddr + seg->size;
		m.offset = seg->off;
	}
	struct PlaceSeen *seen = &p->seen[((uintptr_t)name ^ (uintptr_t)seg >> 4) / 8 % PLACES_SEEN];
	u64 id = seen->name == name && seen->seg == seg && seen->image == image ? seen->id : 0;
	if (!id) {
		const u64 numbers[] = {m.start, m.limit, m.offset, seg != NULL};
		key_text(&key, image ? image->build_id : "");
		for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
			key_number(&key, numbers[i]);
		key_text(&key, name);
		id = number_of(&p->ids, str_text(&key), &fresh);
		str_deinit(&key);
		*seen = (struct PlaceSeen){image, seg, name, id};
	}
	if (fresh) {
		m.low = m.high = *addr;
		vec_push(&p->v, m);
	}
	struct Mapping *have = &p->v.p[id - 1];
	have->low = MIN(have->low, *addr);
	have->high = MAX(have->high, *addr);
	have->names |= f->sym != NULL;
	have->lines |= f->file != NULL;
	return id;
}

#define PAGE 4096ull
void places_end(struct Places *p)
{
	for (size_t i = 0; i < p->v.n; i++) {
		struct Mapping *m = &p->v.p[i];
		if (m->limit)
			continue;
		m->start = m->low & ~(PAGE - 1);
		m->limit = MAX(m->high | (PAGE - 1), (m->high | (PAGE - 1)) + 1); // not beyond the last address
		m->offset = m->in_file ? m->start : 0;
	}
}

void places_deinit(struct Places *p)
{
	map_deinit(&p->ids);
	vec_deinit(&p->v);
}

void function_name(const struct Frame *f, struct Str *name)
{
	struct Frame bare = *f; // file and line have fields of their own
	bare.file = NULL;
	profile_frame_name(&(struct StackProfile){0}, &bare, name);
}

// go tool pprof takes a system name that is the name itself for a mangled one it cannot read, and drops what is in brackets:
// "<A as T>::work" and "<B as T>::work" became one. So names that are not mangled have none if they have brackets.
const char *function_system_name(const struct Frame *f, const char *name)
{
	return f->raw ? f->raw : !f->sym || strpbrk(name, "<>[]") || strstr(name, "::") ? NULL : name;
}

void profile_types(const struct StackProfile *p, const char **type, const char **unit)
{
	static const struct { const char *ours, *type, *unit; } units[] = {
		{"us", "time", "microseconds"}, {"ns", "time", "nanoseconds"}, {"bytes", "space", "bytes"}, {"count", "events", "count"}};
	*type = p->unit ? p->unit : "samples";
	*unit = "count";
	for (size_t i = 0; p->unit && i < ARRAY_LEN(units); i++)
		if (!strcmp(units[i].ours, p->unit)) {
			*type = units[i].type;
			*unit = units[i].unit;
		}
}
