// The list of GDB's JIT interface in a program that has it without a symbol, as Erlang's emulator is built from OTP 29 on (Debian's). Input: the emulator's file; memory of a process that runs it; nobody vouches
// for either. Output: where the list begins.
// In the file it is {u32 version 1, u32 0, 0, 0}, somewhere in data: there are few such places. That it is one of them the process says, once it has told of code: the first entry
// has none before it, the next one has it before, and their files have Erlang's form.
// Invariant: a file's data up to DATA_MAX bytes are read, once for each process; of memory a few words for each place, every TRY_NS until it is found, after TRIES of these when mappings change.
#include <elf.h>
#include <sys/stat.h>
#include "track/internal.h"

#define DATA_MAX (4u << 20)
#define TRY_NS 50000000ull // from one look at memory to the next
#define TRIES 1200u // a minute at least: an emulator without a compiler has no list
#define ENTRIES 4u // of the list that are looked at
#define ENTRY_MAX (64u << 20) // bytes of a file
#define MODULE_HEAD 32u

u32 jithidden_places(const struct ElfFile *f, u64 out[JIT_HIDDEN])
{
	static const u64 empty[RT_JIT_HEAD / 8] = {1};
	u32 n = 0;
	for (u32 i = 0; f->is64 && i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		u8 *data = s->type == PT_LOAD && s->flags & PF_W && !(s->flags & PF_X) ? elffile_load(f, s->off, s->filesz, DATA_MAX) : NULL;
		for (u64 at = -s->vaddr & 7; data && n < JIT_HIDDEN && at + sizeof(empty) <= s->filesz; at += 8)
			if (!memcmp(data + at, empty, sizeof(empty)))
				out[n++] = s->vaddr + at;
		free(data);
	}
	return n;
}

// What Erlang puts into the list: a module, or how its stacks are.
static bool is_file(const struct JitMemory *m, u64 at, u64 size)
{
	u8 p[MODULE_HEAD];
	u32 kind;
	u64 base;
	u16 name;
	if (size < sizeof(p) || size > ENTRY_MAX || !m->read(m->arg, at, p, sizeof(p)))
		return false;
	memcpy(&kind, p, sizeof(kind));
	memcpy(&base, p + 8, sizeof(base));
	memcpy(&name, p + 24, sizeof(name));
	if (!kind)
		return size == BEAMJIT_LAYOUT;
	return kind == 1 && base && !(base >> RT_UW_PC_BITS) && name > 1 && name <= size - 26;
}

bool jithidden_begins(const struct JitMemory *m, u64 desc)
{
	u64 head[RT_JIT_HEAD / 8], e[RT_JIT_ENTRY / 8], before = 0;
	if (!m->read(m->arg, desc, head, sizeof(head)) || (u32)head[0] != 1 || head[0] >> 32 > 2 || !head[2])
		return false;
	u64 at = head[2];
	for (u32 i = 0; at && i < ENTRIES; i++) {
		if (at % 8 || !m->read(m->arg, at, e, sizeof(e)) || e[1] != before || !is_file(m, e[2], e[3]))
			return false;
		before = at;
		at = e[0];
	}
	return true;
}

static u32 places_in(int fd, u64 *out)
{
	struct ElfFile f;
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return 0;
	struct err *e = elffile_open(&f, fd, NULL, (u64)st.st_size);
	u32 n = e ? 0 : jithidden_places(&f, out);
	if (!e)
		elffile_close(&f);
	err_free(e);
	return n;
}

void jithidden_look(struct JitHidden *h, int tgid, const struct ProcMap *emulator)
{
	struct JitMemory m = {jit_read_memory, &tgid};
	if (h->obj != emulator->obj || h->start != emulator->start) {
		*h = (struct JitHidden){.obj = emulator->obj, .start = emulator->start};
		h->n = places_in(emulator->obj->fd, h->at);
		for (u32 i = 0; i < h->n; i++)
			h->at[i] = jit_place_of(emulator, h->at[i]);
	}
	u64 now = now_ns();
	if (h->found || now < h->not_before)
		return;
	h->not_before = now + TRY_NS;
	h->tries += h->tries < TRIES;
	for (u32 i = 0; i < h->n && !h->found; i++)
		h->found = h->at[i] && jithidden_begins(&m, h->at[i]) ? h->at[i] : 0;
}

bool jithidden_may(const struct JitHidden *h)
{
	return h->n && !h->found && h->tries < TRIES;
}
