// Is a file a Go program, and of which form? Input: section headers and notes. Output: what decides how its functions may be probed.
// Format of .go.buildinfo: Go's debug/buildinfo/buildinfo.go; of the note: cmd/internal/buildid (name "Go", type 4).
#include <elf.h>
#include "elf/internal.h"

#define GO_BUILD_ID 4
#define MAX_NOTES (64u << 10)

static bool go_note(void *arg, u32 type, const char *name, u32 namesz, const u8 *desc, u32 descsz)
{
	bool *yes = arg;
	*yes |= type == GO_BUILD_ID && namesz == 4 && !memcmp(name, "Go\0", 4);
	return !*yes;
}

bool elffile_is_go(struct ElfFile *f)
{
	bool yes = false;
	err_free(elffile_headers(f));
	for (u32 i = 1; !yes && f->shstr && i < f->nsecs; i++) {
		const char *name = elffile_section_name(f, &f->secs[i]);
		yes = !strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab") || !strcmp(name, ".go.buildinfo") || !strcmp(name, ".note.go.buildid");
	}
	for (u32 i = 0; !yes && i < f->nsegs; i++) { // no section headers
		u64 size = MIN(f->segs[i].filesz, MAX_NOTES);
		u8 *p = f->segs[i].type == PT_NOTE ? elffile_load(f, f->segs[i].off, size, size) : NULL;
		if (p)
			elf_notes_each(p, size, 4, go_note, &yes);
		free(p);
	}
	return yes;
}

// The head of .go.buildinfo: magic, pointer size, flags; the rest of what is said here is 32 bytes in. False: there is none.
static const struct ElfSec *build_info(struct ElfFile *f, u8 head[32])
{
	err_free(elffile_headers(f));
	const struct ElfSec *s = elffile_section(f, ".go.buildinfo");
	bool ok = s && s->type != SHT_NOBITS && s->size >= 32 && elffile_read(f, s->off, head, 32) && !memcmp(head, "\xff Go buildinf:", 14);
	return ok ? s : NULL;
}

// Flag 2: the version follows as a text, as every Go since 1.18 writes it. Before, two pointers.
bool elffile_go_in_registers(struct ElfFile *f)
{
	u8 head[32];
	return build_info(f, head) && (head[15] & 2);
}

bool elffile_go_version(struct ElfFile *f, struct Str *out)
{
	u8 head[32], n;
	u64 str[2] = {0}, off;
	char text[64];
	const struct ElfSec *s = build_info(f, head);

	if (!s)
		return false;
	if (head[15] & 2) { // its length, then the text
		if (!elffile_read(f, s->off + 32, &n, 1) || n >= sizeof(text))
			return false;
		off = s->off + 33;
		str[1] = n;
	} else { // a pointer to Go's string: address, length. Position-independent programs have it only once they are loaded
		memcpy(&off, head + 16, 8);
		if (head[14] != 8 || !elffile_vaddr_to_off(f, off, &off) || !elffile_read(f, off, str, sizeof(str)) || !elffile_vaddr_to_off(f, str[0], &off))
			return false;
	}
	if (!str[1] || str[1] >= sizeof(text) || !elffile_read(f, off, text, str[1]))
		return false;
	str_add_escaped(out, text, str[1], false);
	return true;
}
