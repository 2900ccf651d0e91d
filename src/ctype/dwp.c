// Split debug information packed into one file (NAME.dwp), and .dwo files that are not where the compiler left them. Input: these files, nobody vouches for
// them. Output: the entry of the unit that a skeleton unit stands for. libdw reads .dwo files in their place, and packages from 0.191 on only; so a unit's parts are put
// together as the .dwo file that they were.
// Format: DWARF 5, 7.3.5 (.debug_cu_index: a hash table from unit ids to rows of offsets and sizes, one column a section); before, GNU's version 2 of it.
// Invariant: a part that does not lie whole in its section makes no unit. A unit's image lives as long as its file, records refer to its entries.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#define CTYPE_DWARF
#include "ctype/internal.h"

enum { COLUMNS = 9, STRINGS = COLUMNS, MAX_DWO = 1 << 30 };
// Section names by the column's number, in version 5 and 2. Macros are not read.
static const char *const names5[COLUMNS] = {NULL, ".debug_info.dwo", NULL, ".debug_abbrev.dwo", ".debug_line.dwo", ".debug_loclists.dwo",
					    ".debug_str_offsets.dwo", NULL, ".debug_rnglists.dwo"};
static const char *const names2[COLUMNS] = {NULL, ".debug_info.dwo", NULL, ".debug_abbrev.dwo", ".debug_line.dwo", ".debug_loc.dwo", ".debug_str_offsets.dwo"};

struct Part {
	const u8 *p;
	u64 n;
};
struct DwpUnit {
	u64 id;
	u8 *image; // owned
	u64 size;
	Elf *elf;
	Dwarf *dw;
	Dwarf_Die die;
	struct Part addrs; // of the binary: its table of addresses from the unit's base on
};
struct Dwp {
	int fd;
	Elf *elf;
	struct Part index, str, sections[COLUMNS];
	const char *const *names;
	VEC(struct DwpUnit *) units; // those asked for so far
};

static struct Part section(Elf *elf, const char *want)
{
	size_t strndx;
	Elf_Scn *scn = NULL;
	GElf_Shdr h;
	if (elf_getshdrstrndx(elf, &strndx))
		return (struct Part){0};
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, strndx, h.sh_name) : NULL;
		if (!name || strcmp(name, want) || h.sh_type == SHT_NOBITS)
			continue;
		if (h.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
			break;
		Elf_Data *d = elf_rawdata(scn, NULL);
		return d && d->d_buf ? (struct Part){d->d_buf, d->d_size} : (struct Part){0};
	}
	return (struct Part){0};
}

static u32 word(const struct Part *p, u64 at)
{
	u32 v = 0;
	if (at + 4 <= p->n)
		memcpy(&v, p->p + at, 4);
	return v;
}

struct Dwp *dwp_open(const char *path)
{
	struct Dwp *d = xcalloc(1, sizeof(*d));
	d->fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	d->elf = d->fd >= 0 ? elf_begin(d->fd, ELF_C_READ, NULL) : NULL;
	if (d->elf)
		d->index = section(d->elf, ".debug_cu_index");
	u32 version = word(&d->index, 0) & 0xffff;
	if (d->index.n < 16 || (version != 5 && version != 2)) {
		dwp_close(d);
		return NULL;
	}
	d->names = version == 5 ? names5 : names2;
	d->str = section(d->elf, ".debug_str.dwo");
	for (u32 i = 0; i < COLUMNS; i++)
		if (d->names[i])
			d->sections[i] = section(d->elf, d->names[i]);
	return d;
}

static void free_image(struct DwpUnit *u)
{
	if (u->dw)
		dwarf_end(u->dw);
	if (u->elf)
		elf_end(u->elf);
	free(u->image);
	u->dw = NULL;
	u->elf = NULL;
	u->image = NULL;
	u->size = 0;
}

void dwp_close(struct Dwp *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->units.n; i++) {
		free_image(d->units.p[i]);
		free(d->units.p[i]);
	}
	vec_deinit(&d->units);
	if (d->elf)
		elf_end(d->elf);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}

// The row of a unit, from 1; 0: it is not in the package.
static u32 find_row(const struct Dwp *d, u64 id)
{
	u64 slots = word(&d->index, 12);
	if (!slots || slots & (slots - 1) || 16 + slots * 12 > d->index.n)
		return 0;
	u64 at = id & (slots - 1), step = ((id >> 32) & (slots - 1)) | 1;
	for (u64 tries = 0; tries < slots; tries++, at = (at + step) & (slots - 1)) {
		u64 have;
		u32 row = word(&d->index, 16 + slots * 8 + at * 4);
		memcpy(&have, d->index.p + 16 + at * 8, 8);
		if (have == id || !row)
			return have == id ? row : 0;
	}
	return 0;
}

static bool unit_parts(const struct Dwp *d, u32 row, struct Part *out)
{
	u64 columns = word(&d->index, 4), rows = word(&d->index, 8), ids = 16 + (u64)word(&d->index, 12) * 12;
	if (!row || row > rows || columns > COLUMNS || ids + columns * 4 * (1 + 2 * rows) > d->index.n)
		return false;
	for (u64 c = 0; c < columns; c++) {
		u32 id = word(&d->index, ids + c * 4);
		u64 off = word(&d->index, ids + columns * 4 * row + c * 4), size = word(&d->index, ids + columns * 4 * (rows + row) + c * 4);
		if (id >= COLUMNS || !d->names[id])
			continue;
		if (off + size > d->sections[id].n)
			return false;
		out[id] = (struct Part){d->sections[id].p + off, size};
	}
	out[STRINGS] = d->str; // shared by all
	return out[1].n && out[3].n;
}

// An ELF file of these sections, as the compiler would have written it.
static u8 *make_image(const struct Dwp *d, const struct Part *parts, u64 *size)
{
	struct Str names = {0};
	Elf64_Shdr h[COLUMNS + 3] = {0};
	u32 n = 1;
	u64 at = sizeof(Elf64_Ehdr);
	str_addn(&names, "", 1);
	for (u32 i = 0; i <= COLUMNS; i++) {
		if (!parts[i].n)
			continue;
		h[n++] = (Elf64_Shdr){.sh_name = (u32)names.n, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = parts[i].n, .sh_addralign = 1};
		const char *name = i == STRINGS ? ".debug_str.dwo" : d->names[i];
		str_addn(&names, name, strlen(name) + 1);
		at += parts[i].n;
	}
	h[n] = (Elf64_Shdr){.sh_name = (u32)names.n, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_addralign = 1};
	str_addn(&names, ".shstrtab", 10);
	h[n].sh_size = names.n;
	u64 table = ALIGN_UP(at + names.n, 8);
	*size = table + (n + 1) * sizeof(Elf64_Shdr);
	u8 *image = xcalloc(1, *size);
	GElf_Ehdr like;
	*(Elf64_Ehdr *)image = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB, EV_CURRENT},
		.e_type = ET_REL, .e_machine = gelf_getehdr(d->elf, &like) ? like.e_machine : EM_NONE, .e_version = EV_CURRENT, .e_shoff = table,
		.e_ehsize = sizeof(Elf64_Ehdr), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = (Elf64_Half)(n + 1), .e_shstrndx = (Elf64_Half)n};
	for (u32 i = 0, k = 1; i <= COLUMNS; i++)
		if (parts[i].n)
			memcpy(image + h[k++].sh_offset, parts[i].p, parts[i].n);
	memcpy(image + at, names.p, names.n);
	memcpy(image + table, h, (n + 1) * sizeof(*h));
	str_deinit(&names);
	return image;
}

// Addresses stay in the binary, so that the linker finds them: the package has their numbers (DWARF 5, 7.27).
static struct Part addresses_of(Dwarf_Die *skeleton)
{
	Dwarf_Attribute a;
	Dwarf_Word base;
	Dwarf *dw = dwarf_cu_getdwarf(skeleton->cu);
	struct Part all = dw ? section(dwarf_getelf(dw), ".debug_addr") : (struct Part){0};
	bool known = (dwarf_attr(skeleton, DW_AT_addr_base, &a) || dwarf_attr(skeleton, DW_AT_GNU_addr_base, &a)) && !dwarf_formudata(&a, &base);
	return known && base < all.n ? (struct Part){all.p + base, all.n - base} : (struct Part){0};
}

bool dwp_entry(struct Dwp *d, Dwarf_Die *func, Dwarf_Addr *addr)
{
	const struct DwpUnit *u = NULL;
	Dwarf_Attribute a;
	Dwarf *dw = dwarf_cu_getdwarf(func->cu);
	for (size_t i = 0; dw && i < d->units.n && !u; i++)
		u = d->units.p[i]->dw == dw ? d->units.p[i] : NULL;
	if (!u || !dwarf_attr(func, DW_AT_low_pc, &a))
		return false;
	u64 i = 0;
	u32 form = dwarf_whatform(&a), fixed = form == DW_FORM_addrx1 ? 1 : form == DW_FORM_addrx2 ? 2 : form == DW_FORM_addrx3 ? 3 : form == DW_FORM_addrx4 ? 4 : 0;
	if (!fixed && form != DW_FORM_addrx && form != DW_FORM_GNU_addr_index)
		return false;
	const u8 *p = a.valp, *end = u->image + u->size;
	if (fixed && p + fixed <= end)
		memcpy(&i, p, fixed);
	for (u32 shift = 0; !fixed && p < end && shift < 35; shift += 7) { // LEB128
		i |= (u64)(*p & 0x7f) << shift;
		if (!(*p++ & 0x80))
			break;
	}
	if (i >= u->addrs.n / 8)
		return false;
	memcpy(addr, u->addrs.p + i * 8, 8);
	return true;
}

static struct DwpUnit *known_unit(struct Dwp *d, u64 id)
{
	for (size_t i = 0; i < d->units.n; i++)
		if (d->units.p[i]->id == id)
			return d->units.p[i];
	return NULL;
}

static struct DwpUnit *add_unit(struct Dwp *d, u64 id, Dwarf_Die *skeleton)
{
	struct DwpUnit *u = xcalloc(1, sizeof(*u));
	u->id = id;
	u->addrs = addresses_of(skeleton);
	vec_push(&d->units, u);
	return u;
}

// The split unit in the image; if `checked`, it must have the unit's id.
static Dwarf_Die *open_image(struct DwpUnit *u, bool checked)
{
	uint8_t type;
	uint64_t id = 0;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	u->elf = elf_memory((char *)u->image, u->size);
	u->dw = u->elf ? dwarf_begin_elf(u->elf, DWARF_C_READ, NULL) : NULL;
	while (u->dw && !dwarf_get_units(u->dw, cu, &cu, NULL, &type, &die, NULL))
		if (type == DW_UT_split_compile && (!checked || (!dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) && id == u->id))) {
			u->die = die;
			return &u->die;
		}
	return NULL;
}

Dwarf_Die *dwp_unit(struct Dwp *d, u64 id, Dwarf_Die *skeleton)
{
	struct Part parts[COLUMNS + 1] = {0};
	struct DwpUnit *u = known_unit(d, id);
	if (u)
		return u->die.addr ? &u->die : NULL;
	if (!unit_parts(d, find_row(d, id), parts))
		return NULL;
	u = add_unit(d, id, skeleton);
	u->image = make_image(d, parts, &u->size);
	return open_image(u, false);
}

struct Dwp *dwp_empty(void)
{
	struct Dwp *d = xcalloc(1, sizeof(*d));
	d->fd = -1;
	return d;
}

static bool take_file(struct DwpUnit *u, const char *path)
{
	struct Str text = {0};
	struct err *e = read_file(path, &text, MAX_DWO);
	bool ok = !e;
	err_free(e);
	u->image = (u8 *)text.p;
	u->size = text.n;
	if (ok && open_image(u, true))
		return true;
	free_image(u); // none, or another file of that name: one elsewhere may be it
	return false;
}

Dwarf_Die *dwp_search(struct Dwp *d, const char *dirs, const char *name, u64 id, Dwarf_Die *skeleton)
{
	struct DwpUnit *u = known_unit(d, id);
	if (u)
		return u->die.addr ? &u->die : NULL;
	u = add_unit(d, id, skeleton);
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	bool found = false;
	for (size_t n; !found && *dirs; dirs += n + (dirs[n] == ':')) {
		n = strcspn(dirs, ":");
		char *whole = xasprintf("%.*s/%s", (int)n, dirs, name), *bare = xasprintf("%.*s/%s", (int)n, dirs, base);
		found = take_file(u, whole) || (slash && take_file(u, bare));
		free(whole);
		free(bare);
	}
	return found ? &u->die : NULL;
}
