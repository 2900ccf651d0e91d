// A mapped file that may not be opened, as far as the process has it in memory: rootless containers and AppImages keep theirs in FUSE file systems of their users', which root
// may not read. Input: /proc/PID/maps and the process's memory, which it may change at any time. Output: a file in memory, an ELF file without section headers.
// Invariant: bounded; what is not mapped is a hole of zeros. What the loader has relocated stays so, but for the addresses that sym/ and elf/ read.
#include <elf.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include "sym/internal.h"

#define PIECE 65536

// The bytes of a mapping, up to those that are not there.
static bool copy_mapping(int fd, int pid, const struct MapLine *m, u8 *buf)
{
	for (u64 at = m->start, off = m->off; at < m->end;) {
		struct iovec to = {buf, MIN(m->end - at, (u64)PIECE)}, from = {(void *)(uintptr_t)at, to.iov_len};
		ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);
		if (n <= 0)
			return at > m->start;
		if (pwrite(fd, buf, (size_t)n, (off_t)off) != n)
			return false;
		at += (u64)n;
		off += (u64)n;
	}
	return true;
}

static bool is_same(const struct MapLine *a, const struct MapLine *b)
{
	return a->ino == b->ino && a->major == b->major && a->minor == b->minor;
}

typedef VEC(struct MapLine) MapLines; // their paths are not to be looked at

// The mappings of one load of m's file: those around m whose offsets rise.
static MapLines mappings(const struct Str *maps, const struct MapLine *m)
{
	MapLines v = {0};
	struct MapLine line;
	for (const char *p = str_text(maps), *end = p + maps->n, *nl; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1) {
		if (!mapline_parse(p, (size_t)(nl - p), &line) || !is_same(&line, m))
			continue;
		if (v.n && line.off < vec_last(&v).off) {
			if (line.start > m->start)
				break;
			v.n = 0;
		}
		vec_push(&v, line);
	}
	return v;
}

// Those that cannot be copied are left out of v. Returns how many bytes the file has then, 0: more than max.
static u64 copy_all(int fd, int pid, MapLines *v, u64 max)
{
	u64 size = 0, n = v->n;
	u8 *buf = xmalloc(PIECE);
	v->n = 0;
	for (u64 i = 0; i < n; i++) {
		struct MapLine m = v->p[i];
		if (m.off > max || m.end - m.start > max - m.off) {
			size = 0;
			break;
		}
		if (!copy_mapping(fd, pid, &m, buf))
			continue;
		v->p[v->n++] = m;
		size = MAX(size, m.off + (m.end - m.start));
	}
	free(buf);
	return size;
}

// Is each segment there that the process may read? The loader maps them one by one.
static bool is_whole(const struct ElfFile *f, const MapLines *v)
{
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		u64 at = s->off, end = s->type == PT_LOAD && s->flags & PF_R ? s->off + s->filesz : 0;
		for (size_t k = 0; k < v->n && at < end; k++) { // in the order of their offsets
			const struct MapLine *m = &v->p[k];
			if (m->off <= at && at < m->off + (m->end - m->start))
				at = m->off + (m->end - m->start);
		}
		if (at < end)
			return false;
	}
	return true;
}

// No section headers: most are behind what is mapped, and so is what they tell of.
static bool drop_sections(int fd)
{
	static const u8 zeros[8];
	u8 ident[EI_NIDENT];
	if (pread(fd, ident, sizeof(ident), 0) != sizeof(ident) || memcmp(ident, ELFMAG, SELFMAG))
		return false;
	bool wide = ident[EI_CLASS] == ELFCLASS64;
	off_t at = wide ? (off_t)offsetof(Elf64_Ehdr, e_shoff) : (off_t)offsetof(Elf32_Ehdr, e_shoff), n = wide ? 8 : 4;
	off_t count = wide ? (off_t)offsetof(Elf64_Ehdr, e_shnum) : (off_t)offsetof(Elf32_Ehdr, e_shnum); // then e_shstrndx
	return pwrite(fd, zeros, (size_t)n, at) == n && pwrite(fd, zeros, 4, count) == 4;
}

// The loader has added what the file is moved by to addresses in PT_DYNAMIC (glibc).
static void move_back(int fd, const struct ElfFile *f, u64 bias)
{
	u64 word = f->is64 ? 8 : 4;
	for (u32 i = 0; bias && i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		for (u64 at = s->off; s->type == PT_DYNAMIC && at + 2 * word <= s->off + s->filesz; at += 2 * word) {
			u64 tag = 0, val = 0;
			if (!elffile_read(f, at, &tag, word) || !elffile_read(f, at + word, &val, word) || tag == DT_NULL)
				break;
			if (tag != DT_SYMTAB && tag != DT_STRTAB && tag != DT_HASH && tag != DT_GNU_HASH && tag != DT_JMPREL && tag != DT_RELA && tag != DT_REL && tag != DT_VERSYM)
				continue;
			val -= val >= bias ? bias : 0;
			if (pwrite(fd, &val, word, (off_t)(at + word)) != (ssize_t)word)
				break;
		}
	}
}

// m is of code.
static u64 bias_of(const struct ElfFile *f, const struct MapLine *m)
{
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		if (s->type == PT_LOAD && s->flags & PF_X && s->off < m->off + (m->end - m->start) && m->off < s->off + s->filesz)
			return m->start - (s->vaddr + (m->off - s->off));
	}
	return 0;
}

// -1: as far as it has been mapped by now it is none; *again: it may be soon.
static int copy_once(int pid, const struct MapLine *m, u64 max, u64 *size, bool *again)
{
	char path[64];
	struct Str maps = {0};
	struct ElfFile f = {0};
	MapLines v = {0};
	int fd = memfd_create("sonde-file", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	struct err *e = fd < 0 ? err_new("no memory file") : read_file(path, &maps, (size_t)256 << 20);
	if (!e)
		v = mappings(&maps, m);
	*size = v.n ? copy_all(fd, pid, &v, max) : 0;
	bool ok = *size && drop_sections(fd) && !(e = elffile_open(&f, fd, NULL, *size));
	*again = ok && !is_whole(&f, &v);
	if (ok)
		move_back(fd, &f, bias_of(&f, m));
	elffile_close(&f);
	vec_deinit(&v);
	str_deinit(&maps);
	err_free(e);
	if ((!ok || *again) && fd >= 0)
		close(fd);
	return ok && !*again ? fd : -1;
}

#define TRIES 20 // a millisecond apart
int memfile_copy(int pid, const struct MapLine *m, u64 max, u64 *size)
{
	bool again = true;
	int fd = -1;
	for (u32 i = 0; i < TRIES && again; i++) {
		if (i)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		fd = copy_once(pid, m, max, size, &again);
	}
	return fd;
}
